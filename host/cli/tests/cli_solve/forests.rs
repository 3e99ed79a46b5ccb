//! Elliptic equations on forests.

use crate::common::{USAGE, patchmg, stderr, stdout};
use crate::{json, refused, solve, tags};
use serde_json::Value;

fn elliptic(options: &[&str]) -> Value {
    json(&[&["--system", "elliptic", "--degree", "2"], options].concat())
}

/// Numbers of deal.II for the same cycles; `tests/elliptic.rs` has more of them.
#[test]
fn cycles_refine_where_the_corner_is() {
    let report = elliptic(&["--mesh", "lshape", "--refine", "2", "--adapt", "3", "--marking", "corner"]);
    let cycles = report["cycles"].as_array().unwrap();
    assert_eq!(cycles.len(), 4);
    let column = |name: &str| -> Vec<f64> { cycles.iter().map(|cycle| cycle[name].as_f64().unwrap()).collect() };
    assert_eq!(column("cells"), [48.0, 57.0, 66.0, 75.0]);
    let falls = |name: &str| column(name).windows(2).all(|pair| pair[1] < pair[0]);
    assert!(falls("l2_error") && falls("estimate"), "{cycles:?}");
    assert!(column("iterations").iter().all(|&iterations| iterations <= 6.0));
    assert!(column("nodes").iter().zip(column("dofs")).all(|(nodes, dofs)| *nodes > dofs));
    let last = &cycles[3];
    for name in ["cells", "dofs", "iterations", "l2_error", "residual_history"] {
        assert_eq!(report[name], last[name], "{name}");
    }
    assert_eq!(
        (&report["solver"], &report["smoother"], &report["problem"]),
        (&"cg".into(), &"chebyshev".into(), &"corner".into())
    );
}

#[test]
fn every_mesh_has_a_problem() {
    let refine = |mesh: &'static str| if mesh == "cylinder" { "1" } else { "2" };
    for mesh in ["box", "lshape", "shell", "disk", "cylinder", "hyper-l", "lshape-extruded"] {
        let dim = if ["cylinder", "hyper-l", "lshape-extruded"].contains(&mesh) { "3" } else { "2" };
        let report = elliptic(&["--mesh", mesh, "--dim", dim, "--refine", refine(mesh)]);
        assert_eq!(report["converged"], true, "{mesh}");
        assert!(report["cycles"][0]["max_nodal"].as_f64().unwrap() > 0.0);
    }
    let marked = elliptic(&["--mesh", "disk", "--dim", "2", "--refine", "1", "--adapt", "1", "--marking", "dorfler"]);
    assert!(marked["cells"].as_u64().unwrap() > 20);
    let global = elliptic(&["--mesh", "lshape", "--refine", "2", "--adapt", "2", "--smoothing", "global"]);
    assert_eq!(global["converged"], true);
    let jacobi = elliptic(&["--mesh", "lshape", "--refine", "2", "--smoother", "jacobi"]);
    let less = elliptic(&["--mesh", "lshape", "--refine", "2", "--smoother-degree", "2"]);
    assert!(jacobi["iterations"].as_u64() > less["iterations"].as_u64());
}

/// Of deal.II 9.4.1; more of it is with the library's tests.
#[test]
fn newtons_method_has_a_list_of_steps() {
    fn film<'a>(options: &[&'a str]) -> Vec<&'a str> {
        [&["--system", "elliptic", "--problem", "minimal-surface"], options].concat()
    }
    let report = json(&film(&["--dim", "2", "--degree", "4", "--refine", "3"]));
    let steps = report["newton"].as_array().unwrap();
    assert_eq!((steps.len(), report["iterations"].as_u64(), report["rtol"].as_f64()), (7, Some(7), Some(1e-4)));
    assert_eq!(report["residual_history"].as_array().unwrap().len(), 8);
    assert!(steps[6]["residual"].as_f64().unwrap() <= 1e-12);
    assert_eq!((&steps[0]["step_length"], &steps[0]["linear_iterations"]), (&1.0.into(), &5.into()));
    let [area, norm] = [&report["area"], &report["cycles"][0]["l2_norm"]].map(|number| number.as_f64().unwrap());
    assert!((area / 5.749640183422 - 1.0).abs() < 1e-11 && (norm / 0.5937370545572 - 1.0).abs() < 1e-9);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("film.json");
    let few = film(&["--dim", "2", "--frequency", "2", "--max-iters", "3", "--json", path.to_str().unwrap()]);
    let output = solve(&few);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains("not converged after 3 iterations"), "{}", stdout(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((&report["converged"], &report["reason"]), (&false.into(), &"max-iters".into()));
    assert_eq!(report["residual_history"].as_array().unwrap().len(), 4);
}

#[test]
fn cycles_end_where_they_are_told() {
    let dofs = |report: &Value| -> Vec<u64> {
        let cycles = report["cycles"].as_array().unwrap().iter();
        cycles.map(|cycle| cycle["dofs"].as_u64().unwrap()).collect()
    };
    let corner = |options: &[&str]| elliptic(&[&["--mesh", "lshape", "--refine", "2"], options].concat());
    let found = dofs(&corner(&["--until-dofs", "700"]));
    assert!(found.len() > 2 && found[found.len() - 1] >= 700 && found[found.len() - 2] < 700, "{found:?}");
    assert_eq!(dofs(&corner(&["--until-dofs", "700", "--adapt", "1"])).len(), 2);
    let estimates: Vec<f64> = corner(&["--until-estimate", "0.05"])["cycles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cycle| cycle["estimate"].as_f64().unwrap())
        .collect();
    let (last, others) = estimates.split_last().unwrap();
    assert!(*last <= 0.05 && !others.is_empty() && others.iter().all(|estimate| *estimate > 0.05), "{estimates:?}");
    refused(&["--system", "elliptic", "--until-estimate", "0"], &["--until-estimate", "'0'", "must be positive"]);
}

/// With the same solution, and fewer steps or a smaller first residual.
#[test]
fn cycles_begin_with_the_last_solution() {
    let film = |guess: &[&str]| {
        let film = ["--mesh", "disk", "--problem", "minimal-surface", "--refine", "2", "--adapt", "1"];
        elliptic(&[&film, guess].concat())
    };
    let (from_last, from_zero) = (film(&[]), film(&["--initial-guess", "zero"]));
    let steps = |report: &Value| report["cycles"][1]["iterations"].as_u64().unwrap();
    assert!(steps(&from_last) < steps(&from_zero), "{} and {}", steps(&from_last), steps(&from_zero));
    let [area, expected] = [&from_last, &from_zero].map(|report| report["area"].as_f64().unwrap());
    assert!((area / expected - 1.0).abs() < 1e-12);
    let corner = ["--mesh", "lshape", "--refine", "3", "--adapt", "1", "--initial-guess", "last"];
    let history = &elliptic(&corner)["residual_history"];
    assert!(history[0].as_f64().unwrap() < 0.1, "{history}");
}

#[test]
fn all_cycles_are_files_of_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corner.pvd");
    let lshape = ["--system", "elliptic", "--mesh", "lshape", "--degree", "2", "--refine", "2", "--adapt", "2"];
    let output = solve(&[&lshape[..], &["--vtu", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let list = std::fs::read_to_string(&path).unwrap();
    for cycle in 0..3 {
        let name = format!("corner-{cycle}.vtu");
        assert!(list.contains(&format!("timestep=\"{cycle}\" group=\"\" part=\"0\" file=\"{name}\"")), "{list}");
        assert!(tags(folder.path().join(name)).contains("Name=\"level\""));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
}

/// A file of the tree.
fn tree(name: &str) -> String {
    format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The file says what the dimension is; its cells are curved.
#[test]
fn meshes_are_read_from_files_of_gmsh() {
    let ring = tree("examples/ring.msh");
    let solved = |more: &[&str]| -> Value {
        let output = patchmg(&[&["solve", "--backend", "cpu", "--system", "elliptic", "--json", "-"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(stdout(&output)).unwrap()
    };
    let report = solved(&["--mesh", &ring, "--degree", "3", "--refine", "2", "--adapt", "1"]);
    assert_eq!((&report["dim"], &report["problem"]), (&2.into(), &"variable".into()));
    assert_eq!(report["cycles"][0]["cells"], 64);
    assert!(report["cells"].as_u64().unwrap() > 64 && report["converged"] == true);
    // The problem has values on all sides, whatever groups they are in.
    let error = |refine: &str| {
        let report = solved(&["--mesh", &ring, "--degree", "2", "--problem", "shell", "--refine", refine]);
        report["l2_error"].as_f64().unwrap()
    };
    assert!(error("4") < error("3") / 4.0);
    let solid = solved(&["--mesh", &tree("tests/data/cylinder.msh"), "--degree", "2", "--refine", "1"]);
    assert_eq!((&solid["dim"], &solid["cells"]), (&3.into(), &32.into()));
}

/// A file of Gmsh with `n x n` squares in the unit square; its lower side is group 3, its right one group 5, the others are in none.
pub fn square(n: usize) -> String {
    let node = |i: usize, j: usize| 1 + i + (n + 1) * j;
    let places = (0..=n).flat_map(|j| (0..=n).map(move |i| (i, j)));
    let nodes: String =
        places.map(|(i, j)| format!("{} {} {} 0\n", node(i, j), i as f64 / n as f64, j as f64 / n as f64)).collect();
    let lower = (0..n).map(|i| format!("1 2 3 1 {} {}", node(i, 0), node(i + 1, 0)));
    let right = (0..n).map(|j| format!("1 2 5 2 {} {}", node(n, j), node(n, j + 1)));
    let cells = (0..n * n)
        .map(|cell| (cell % n, cell / n))
        .map(|(i, j)| format!("3 2 1 1 {} {} {} {}", node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)));
    let elements: Vec<String> = lower.chain(right).chain(cells).collect();
    let lines: String = (1..).zip(&elements).map(|(number, element)| format!("{number} {element}\n")).collect();
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}\n{nodes}$EndNodes\n$Elements\n{}\n{lines}$EndElements\n",
        (n + 1) * (n + 1),
        elements.len()
    )
}

/// The coarsest mesh has 6241 unknowns, too many for a factorization.
#[test]
fn large_files_of_gmsh_are_solved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("square.msh");
    std::fs::write(&path, square(40)).unwrap();
    let large = elliptic(&["--mesh", path.to_str().unwrap(), "--refine", "1"]);
    let refined = elliptic(&["--mesh", "box", "--dim", "2", "--cells", "5,5", "--refine", "4"]);
    assert_eq!((&large["dofs"], &large["converged"]), (&refined["dofs"], &true.into()));
    let iterations = |report: &Value| report["iterations"].as_u64().unwrap();
    assert!(iterations(&large) <= iterations(&refined) + 1, "{large}");
    let norm = |report: &Value| report["cycles"][0]["l2_norm"].as_f64().unwrap();
    assert!((norm(&large) / norm(&refined) - 1.0).abs() < 1e-8);
}

#[test]
fn sides_have_conditions_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("square.msh");
    std::fs::write(&path, square(3)).unwrap();
    let path = path.to_str().unwrap();
    let solved = |sides: &[&str]| -> [f64; 2] {
        let sides: Vec<&str> = sides.iter().flat_map(|side| ["--side", side]).collect();
        let report = elliptic(&[&["--mesh", path, "--refine", "2", "--rtol", "1e-11"][..], &sides].concat());
        ["max_nodal", "l2_norm"].map(|name| report["cycles"][0][name].as_f64().unwrap())
    };
    let close = |[found, expected]: [[f64; 2]; 2], tolerance: f64| {
        (0..2).all(|i| (found[i] / expected[i] - 1.0).abs() < tolerance)
    };
    let plain = solved(&[]);
    assert!(close([solved(&["3=dirichlet", "0=dirichlet:0"]), plain], 1e-9));
    // A constant more on all sides is a constant more everywhere.
    let raised = solved(&["0=dirichlet:2", "3=dirichlet:2", "5=dirichlet:2"]);
    assert!((raised[0] - 2.0 - plain[0]).abs() < 1e-9, "{raised:?}, {plain:?}");
    // Robin's condition is between Neumann's and Dirichlet's.
    let (free, flux) = (solved(&["3=neumann"]), solved(&["3=neumann:1"]));
    assert!(close([solved(&["3=robin:0:1"]), flux], 1e-9) && close([solved(&["3=robin:1e9:0"]), plain], 1e-6));
    let between = solved(&["3=robin:2:0", "5=dirichlet:0"]);
    assert!((0..2).all(|i| plain[i] < between[i] && between[i] < free[i] && free[i] < flux[i]));

    let bad = |sides: &[&str], parts: &[&str]| {
        let output = patchmg(&[&["solve", "--system", "elliptic", "--mesh", path, "--backend", "cpu"], sides].concat());
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        parts.iter().for_each(|part| assert!(stderr(&output).contains(part), "no '{part}' in {}", stderr(&output)));
    };
    bad(&["--side", "4=neumann"], &["'4=neumann:0'", "--side", "numbers {0, 3, 5}"]);
    bad(&["--side", "3=neumann", "--side", "3=dirichlet"], &["--side", "boundary 3 is given twice"]);
    bad(&["--side", "x-=neumann"], &["--side", "'x-=neumann:0'", "numbers {0, 3, 5}"]);
    bad(&["--side", "3=periodic"], &["--side", "'3=periodic'", "belongs to --system poisson-cg"]);
    bad(&["--side", "3=robin:-1:0"], &["--side", "ALPHA must be 0 or positive"]);
    bad(&["--side", "3=neumann", "--problem", "corner"], &["--side", "belongs to --problem variable"]);
    bad(
        &["--side", "0=neumann", "--side", "3=neumann", "--side", "5=neumann"],
        &["natural sides is {0, 3, 5}", "constants would be free"],
    );
    refused(
        &["--system", "stokes", "--side", "3=neumann"],
        &["--side", "belongs to --system poisson-cg, poisson-dg, elliptic"],
    );
}

/// Before a cell is made.
#[test]
fn refinement_past_memory_is_refused() {
    for options in [&["--refine", "15"][..], &["--mesh", "hyper-l", "--dim", "3", "--refine", "9", "--degree", "4"]] {
        let output = patchmg(&[&["solve", "--backend", "cpu", "--system", "elliptic"], options].concat());
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("the host has ") && stderr(&output).contains(" needs "),
            "{}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn bad_files_of_meshes_are_refused() {
    let forest = |arguments: &[&str], parts: &[&str]| {
        let output = patchmg(&[&["solve", "--backend", "cpu", "--system", "elliptic"], arguments].concat());
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
        parts.iter().for_each(|part| assert!(stderr(&output).contains(part), "no '{part}' in {}", stderr(&output)));
    };
    forest(&["--mesh", "none.msh"], &["'none.msh'", "--mesh", "No such file"]);
    forest(&["--mesh", "part.vtk"], &["'part.vtk'", "--mesh", "lshape", "FILE.msh"]);
    forest(&["--mesh", &tree("examples/ring.msh"), "--dim", "3"], &["--dim", "'3'", "must be 2 with --mesh"]);
    forest(&["--mesh", &tree("examples/ring.msh"), "--cells", "2,2"], &["--cells", "belongs to --mesh box"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("triangle.msh");
    let text = std::fs::read_to_string(tree("tests/data/square-ring.msh")).unwrap();
    std::fs::write(&path, text.replace("22 3 2 0 1 2 6 7 3", "22 2 2 0 1 2 6 7")).unwrap();
    let path = path.to_str().unwrap();
    forest(
        &["--mesh", path],
        &["--mesh", "line 39: element 22 is a triangle of 3 nodes (type 2)", "a hexahedron of 8"],
    );
    refused(&["--mesh", path], &["--mesh", "belongs to --system elliptic"]);
}

#[test]
fn what_forests_do_not_take_is_refused() {
    let forest = |arguments: &[&'static str], parts: &[&str]| {
        refused(&[&["--system", "elliptic"], arguments].concat(), parts);
    };
    forest(&["--mesh", "lshape", "--dim", "3"], &["--dim", "'3'", "must be 2 with --mesh lshape"]);
    forest(&["--mesh", "shell", "--cells", "2,2"], &["--cells", "belongs to --mesh box"]);
    forest(
        &["--mesh", "disk", "--problem", "variable-flux"],
        &["--problem", "'variable-flux'", "mesh that disk does not have"],
    );
    forest(&["--problem", "sine"], &["--problem", "'sine'", "corner, shell", "--system elliptic"]);
    forest(&["--frequency", "2"], &["--frequency", "'2'", "belongs to --problem minimal-surface"]);
    forest(&["--problem", "minimal-surface", "--frequency", "0"], &["--frequency", "'0'", "at least 1"]);
    forest(&["--smoother", "patch"], &["--smoother", "'patch'", "chebyshev, chebyshev-patch, chebyshev4 or jacobi"]);
    refused(&["--smoother", "chebyshev-patch"], &["--smoother", "'chebyshev-patch'", "belongs to --system elliptic"]);
    forest(
        &["--problem", "minimal-surface", "--dim", "2", "--smoother", "chebyshev-patch"],
        &["--smoother", "'chebyshev-patch'", "chebyshev, chebyshev4 or jacobi for a nonlinear equation"],
    );
    forest(&["--mesh", "disk", "--inner-radius", "0.8"], &["--inner-radius", "'0.8'", "belongs to --mesh shell"]);
    forest(&["--mesh", "shell", "--inner-radius", "1"], &["--inner-radius", "'1'", "above 0 and below 1"]);
    forest(&["--variant", "basic"], &["--variant", "'basic'", "not there with --system elliptic"]);
    forest(&["--backend", "cpu", "--writes", "atomics"], &["--writes", "'atomics'", "cpu has: gather"]);
    refused(&["--writes", "colors"], &["--writes", "'colors'", "belongs to --system elliptic"]);
    forest(&["--adapt", "2", "--refine-fraction", "1.5"], &["refine fraction is 1.5", "from 0 to 1"]);
    forest(&["--marking", "ball", "--refine-fraction", "0.5"], &["--refine-fraction", "not there with --marking ball"]);
    forest(&["--marking", "dorfler", "--coarsen-fraction", "0"], &["--coarsen-fraction", "--marking dorfler"]);
    forest(&["--adapt", "some"], &["--adapt", "'some'", "whole number"]);
    forest(&["--degree", "9"], &["--degree", "'9'", "1 to 8 in 2D"]);
    forest(&["--smoother", "jacobi", "--smoother-degree", "3"], &["--smoother-degree", "'3'", "--smoother chebyshev"]);
    forest(&["--smoother", "chebyshev4", "--smoother-degree", "7"], &["polynomial of the fourth kind", "7", "1 to 6"]);
    refused(&["--mesh", "shell"], &["--mesh", "'shell'", "belongs to --system elliptic", "poisson-cg"]);
    refused(&["--system", "stokes", "--adapt", "1"], &["--adapt", "'1'", "belongs to --system elliptic"]);
}
