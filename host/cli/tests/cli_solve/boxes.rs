//! Boxes with sides, coefficients, graded cells and expressions.

use crate::{json, refused, solve, tags};
use serde_json::Value;

fn number(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("no {name} in {report}"))
}

/// Where patches hold a single unknown, cells are stretched and all sides are Dirichlet's, Chebyshev iteration is the default.
#[test]
fn smoothers_suit_the_cells() {
    let smoother = |arguments: &[&str]| {
        let options = ["--dim", "3", "--degree", "1", "--refine", "3", "--solver", "gmres", "--rhs", "1"];
        let kept = options.chunks(2).filter(|pair| !arguments.contains(&pair[0])).flatten().copied();
        json(&kept.chain(arguments.iter().copied()).collect::<Vec<_>>())
    };
    let of_patches: [&[&str]; 9] = [
        &[],
        &["--size", "1,1,1.4"],
        &["--size", "1,10,10", "--side", "x-=neumann"],
        &["--diffusion", "100,100,100"],
        &["--cells", "2,1,3", "--size", "2,1,3"],
        &["--grading", "x=1.2"],
        &["--degree", "2", "--grading", "x=1000"],
        &["--size", "1,10,10", "--variant", "register"],
        &["--system", "poisson-dg", "--grading", "x=1000"],
    ];
    for arguments in of_patches {
        assert_eq!(smoother(arguments)["smoother"], "patch", "{arguments:?}");
    }
    let of_chebyshev: [&[&str]; 6] = [
        &["--size", "1,1,1.6"],
        &["--size", "1,10,10"],
        &["--size", "1,10,10", "--side", "x-=dirichlet:1"],
        &["--diffusion", "1,1,0.01"],
        &["--grading", "x=1000,z=100:both"],
        &["--cells", "3,2,2", "--grading", "x=0/0.1/0.2/1"],
    ];
    for arguments in of_chebyshev {
        let report = smoother(arguments);
        let options = &report["options"];
        assert_eq!([&report["smoother"], &options["smoother"]], ["chebyshev4"; 2], "{arguments:?}");
        assert_eq!(options["smoother-degree"], 3, "{arguments:?}");
        assert!(number(&report, "iterations") < 10.0, "{arguments:?}");
        let given = [arguments, &["--smoother", "patch"]].concat();
        assert_eq!(smoother(&given)["smoother"], "patch", "{given:?}");
    }
}

/// Polynomials of the space are found to rounding errors.
#[test]
fn all_options_together_are_the_equation() {
    // -2 u_xx - u_yy / 2 + 3 u = f for u = x² y.
    let exact = [
        "--degree",
        "2",
        "--cells",
        "3,2",
        "--size",
        "1.5,1",
        "--diffusion",
        "2,0.5",
        "--reaction",
        "3",
        "--rhs",
        "3 * x^2 * y - 4 * y",
        "--exact",
        "x^2 * y",
        "--rtol",
        "1e-12",
    ];
    for grading in [&[][..], &["--grading", "x=100,y=20:both"], &["--grading", "x=0/0.2/1/1.5,y=0.1"]] {
        for sides in [
            &[][..],
            &["--side", "x-=dirichlet", "--side", "x+=neumann:6*y", "--side", "y-=neumann:-0.5*x^2"],
            &[
                "--side",
                "x-=neumann",
                "--side",
                "x+=neumann:6*y",
                "--side",
                "y-=neumann:-0.5*x^2",
                "--side",
                "y+=neumann:0.5*x^2",
            ],
        ] {
            for system in ["poisson-cg", "poisson-dg"] {
                let found = json(&[&["--system", system], &exact[..], grading, sides].concat());
                assert!(number(&found, "l2_error") < 1e-10 && number(&found, "h1_error") < 1e-8, "{sides:?}: {found}");
                let names = ["system", "kernel", "problem"].map(|name| found[name].clone());
                assert_eq!(names, [system, "axes", "given"].map(Value::from));
            }
        }
    }
}

#[test]
fn problems_with_names_take_sides_and_coefficients() {
    let plain = json(&["--problem", "sine"]);
    let sides = ["--side", "x-=neumann", "--side", "y+=neumann"];
    for system in ["poisson-cg", "poisson-dg"] {
        let sine = ["--problem", "sine", "--system", system];
        let plain = json(&sine);
        assert_eq!(plain["kernel"], "fused");
        for arguments in [&["--diffusion", "1,2"][..], &["--reaction", "5"], &["--grading", "x=3"], &sides] {
            let found = json(&[arguments, &sine].concat());
            let ratio = number(&found, "l2_error") / number(&plain, "l2_error");
            assert!(ratio > 0.5 && ratio < 10.0, "{arguments:?}: {found}");
            assert!(found["iterations"].as_u64() <= Some(plain["iterations"].as_u64().unwrap() + 2));
        }
    }
    // cosine has values on the boundary, of continuous elements, too.
    let cosine = json(&["--problem", "cosine"]);
    assert!((number(&cosine, "l2_error") / number(&plain, "l2_error") - 1.0).abs() < 0.5, "{cosine}");
    let periodic = ["x-", "x+", "y-", "y+"].map(|side| format!("{side}=periodic"));
    let sides: Vec<_> = periodic.iter().flat_map(|side| ["--side", side]).collect();
    let data = ["--rhs", "4 * pi^2 * sin(2*pi*x)", "--exact", "7 + sin(2*pi*x)"];
    for system in ["poisson-cg", "poisson-dg"] {
        let found = json(&[&sides[..], &data, &["--system", system]].concat());
        assert!(number(&found, "l2_error") < 1e-4, "the mean counts for nothing: {found}");
    }
}

/// Sides that say what is so anyway change the kernels, not the residuals.
#[test]
fn discontinuous_elements_by_general_kernels_have_the_residuals_of_fast_ones() {
    let given = ["--system", "poisson-dg", "--rhs", "exp(x)*y", "--boundary", "x-y", "--solver", "gmres"];
    let sides: Vec<_> = ["x-", "x+", "y-", "y+"].map(|side| format!("{side}=dirichlet:x-y")).into();
    let sides: Vec<_> = sides.iter().flat_map(|side| ["--side", side]).collect();
    let without_boundary: Vec<_> = given.iter().filter(|part| !["--boundary", "x-y"].contains(part)).copied().collect();
    let (fast, general) = (json(&given), json(&[&without_boundary[..], &sides, &["--direct-nodes", "0"]].concat()));
    assert_eq!([&fast["kernel"], &general["kernel"]], ["fused", "axes"]);
    let history = |report: &Value| -> Vec<f64> {
        report["residual_history"].as_array().unwrap().iter().map(|residual| residual.as_f64().unwrap()).collect()
    };
    assert_eq!(history(&fast).len(), history(&general).len());
    for (fast, general) in history(&fast).into_iter().zip(history(&general)) {
        assert!((general / fast - 1.0).abs() < 1e-4, "{general} {fast}");
    }
}

/// Beginning with its solution, a solve ends at once.
#[test]
fn solutions_by_discontinuous_elements_can_be_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.npz").to_str().unwrap().to_string();
    let case =
        ["--system", "poisson-dg", "--grading", "x=10", "--side", "y+=neumann:1", "--rhs", "x", "--solver", "gmres"];
    let case = [&case[..], &["--direct-nodes", "0"]].concat();
    let written = json(&[&case[..], &["--rtol", "1e-10", "--npz", &path]].concat());
    let again = json(&[&case[..], &["--start-from", &path]].concat());
    assert!(written["iterations"].as_u64() > Some(2) && again["iterations"] == 0, "{again}");
}

/// Up to a number of nodes, which results name, and on equal cells if it is asked for.
#[test]
fn graded_cells_are_solved_directly() {
    let graded = ["--grading", "x=1000,y=100:both", "--rhs", "x", "--solver", "gmres", "--degree", "4"];
    let direct = json(&graded);
    assert_eq!((&direct["iterations"], &direct["options"]["direct-nodes"]), (&1.into(), &257.into()), "{direct}");
    let levels = json(&[&graded[..], &["--direct-nodes", "0"]].concat());
    assert!(levels["iterations"].as_u64() > Some(2) && levels["options"]["direct-nodes"] == 0, "{levels}");
    let sided = json(&["--rhs", "x", "--solver", "gmres", "--side", "x-=neumann:0"]);
    assert!(sided["iterations"].as_u64() > Some(2) && sided["options"]["direct-nodes"] == "coarse:129", "{sided}");
    let equal = ["--rhs", "x", "--solver", "gmres", "--degree", "4", "--refine", "3", "--direct-nodes"];
    assert_eq!(json(&[&equal[..], &["33"]].concat())["iterations"], 1);
    assert!(json(&[&equal[..], &["32"]].concat())["iterations"].as_u64() > Some(2));
    // Fast kernels are those of plain boxes, whose meshes are coarsened as far as they can be.
    assert_eq!(json(&["--rhs", "x", "--direct-nodes", "0"])["kernel"], json(&["--rhs", "x"])["kernel"]);
    let words = |arguments: &[&str]| String::from_utf8(solve(arguments).stdout).unwrap();
    assert!(words(&graded).contains("smoother   none: the mesh is solved directly, by fast diagonalization"));
}

/// Expressions alone are solved by the kernels that named problems have, in as many iterations, to the same residuals.
#[test]
fn expressions_that_are_zero_on_the_boundary_have_the_fast_kernels() {
    let sine = json(&["--problem", "sine"]);
    let data = ["--rhs", "2 * pi^2 * sin(pi*x) * sin(pi*y)", "--exact", "sin(pi*x) * sin(pi*y)"];
    for more in [&[][..], &["--system", "poisson-dg"]] {
        let sine = if more.is_empty() { sine.clone() } else { json(&[more, &["--problem", "sine"]].concat()) };
        let given = json(&[&data[..], more].concat());
        for name in ["kernel", "variant", "local", "iterations", "dofs"] {
            assert_eq!(given[name], sine[name], "{name}");
        }
        assert!((number(&given, "l2_error") / number(&sine, "l2_error") - 1.0).abs() < 1e-9);
    }
    assert_eq!(json(&["--rhs", "1"])["residual_history"], json(&["--problem", "one"])["residual_history"]);
    assert_eq!(json(&["--rhs", "1", "--boundary", "0"])["kernel"], sine["kernel"]);
    assert_eq!(json(&["--rhs", "1", "--boundary", "x"])["kernel"], "axes");
    // Nitsche's method takes values on the boundary.
    let dg = json(&["--system", "poisson-dg", "--rhs", "-2*y", "--exact", "x^2 * y", "--rtol", "1e-12"]);
    assert!(number(&dg, "l2_error") < 1e-10, "{dg}");
}

#[test]
fn files_for_paraview_have_the_nodes_of_all_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solution.vtu");
    let output = solve(&["--grading", "x=10", "--vtu", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    // 8 cells of degree 3 a direction.
    assert!(tags(path).contains("NumberOfPoints=\"625\""));
}

#[test]
fn contradictions_are_refused() {
    let given = |arguments: &[&str], parts: &[&str]| refused(&[arguments, &["--json", "-"]].concat(), parts);
    given(&["--side", "x-=periodic"], &["--side", "'x-=periodic'", "needs --side x+=periodic, too"]);
    given(&["--side", "y+=periodic", "--side", "y-=neumann"], &["'y+=periodic'", "needs --side y-=periodic, too"]);
    given(&["--side", "x-=neumann", "--side", "x-=dirichlet"], &["--side", "x- is given twice"]);
    given(&["--side", "z-=neumann"], &["--side", "'z-=neumann:0'", "must be of x-, x+, y-, y+ in 2D"]);
    given(&["--side", "3=neumann"], &["--side", "'3=neumann:0'", "must be of x-, x+, y-, y+ in 2D"]);
    given(&["--side", "x-=neumann:z"], &["--side", "has z"]);
    given(&["--side", "x-=robin:1:0"], &["--side", "robin belongs to --system elliptic"]);
    given(&["--side", "x-=flux:1"], &["--side", "PLACE=neumann:FLUX"]);
    given(&["--diffusion", "1"], &["--diffusion", "must be 2 numbers in 2D"]);
    for bad in ["0", "-1", "NaN", "inf"] {
        given(&["--diffusion", &format!("1,{bad}")], &["--diffusion", "1e-12 to 1e12"]);
    }
    given(&["--reaction", "-1"], &["--reaction", "'-1.0'", "0 to 1e12"]);
    given(&["--reaction", "NaN"], &["--reaction", "0 to 1e12"]);
    given(&["--grading", "x=0"], &["--grading", "'x=0'", "a ratio of widths from 1e-6 to 1e6"]);
    given(&["--grading", "x=NaN"], &["--grading", "a ratio of widths from 1e-6 to 1e6"]);
    given(&["--grading", "x=2,x=3"], &["--grading", "x is given twice"]);
    given(&["--grading", "z=2"], &["--grading", "must be of x or y in 2D"]);
    given(&["--grading", "x=0/0.5"], &["--grading", "'x=0/0.5'", "breakpoints that ascend from 0 to 1"]);
    given(&["--grading", "x=0/0.1/0.2/1"], &["--grading", "8 cells are a multiple, not 3"]);
    given(&["--grading", "x"], &["--grading", "must be D=R"]);
    given(
        &["--system", "stokes", "--side", "x-=neumann"],
        &["--side", "belongs to --system poisson-cg, poisson-dg, elliptic"],
    );
    given(&["--system", "elliptic", "--grading", "x=2"], &["--grading", "belongs to --system poisson-cg, poisson-dg"]);
    given(
        &["--system", "elliptic", "--direct-nodes", "9"],
        &["--direct-nodes", "belongs to --system poisson-cg, poisson-dg"],
    );
    given(&["--direct-nodes", "-1"], &["'-1'", "--direct-nodes"]);
    given(&["--direct-nodes", "2050"], &["--direct-nodes", "'2050'", "must be 0 to 2049"]);
    given(&["--direct-nodes", "9", "--kernel", "separate"], &["--kernel", "or direct solutions"]);
    let dg = |arguments: &[&str], parts: &[&str]| given(&[&["--system", "poisson-dg"], arguments].concat(), parts);
    dg(&["--side", "x-=periodic"], &["--side", "'x-=periodic'", "needs --side x+=periodic, too"]);
    dg(&["--side", "x-=robin:1:0"], &["--side", "robin belongs to --system elliptic"]);
    dg(&["--reaction", "-1"], &["--reaction", "'-1.0'", "0 to 1e12"]);
    dg(&["--grading", "x=2", "--degree", "9"], &["--degree", "'9'", "1 to 8 with discontinuous elements"]);
    dg(&["--grading", "x=2", "--kernel", "separate"], &["--kernel", "is not there with sides"]);
    dg(&["--dim", "3", "--reaction", "2", "--engine", "mma"], &["--engine", "is not there with sides"]);
    for smoother in ["point-gs", "additive-patch", "jacobi"] {
        let parts = ["--smoother", smoother, "patch, chebyshev or chebyshev4 with discontinuous"];
        dg(&["--grading", "x=2", "--smoother", smoother], &parts);
    }
    dg(&["--side", "y-=dirichlet:log(x-2)", "--rhs", "1"], &["boundary value is not finite: NaN at ["]);
    given(
        &["--system", "elliptic", "--problem", "given", "--side", "x-=neumann"],
        &["--side", "boundaries of the numbers"],
    );
    given(&["--problem", "sine", "--rhs", "1"], &["--rhs", "belongs to --problem given, and --problem is sine"]);
    given(&["--problem", "sine", "--side", "x-=neumann:1"], &["--side", "whose data follow from its solution"]);
    given(
        &[
            "--boundary",
            "x",
            "--side",
            "x-=neumann",
            "--side",
            "x+=neumann",
            "--side",
            "y-=neumann",
            "--side",
            "y+=dirichlet",
        ],
        &["--boundary", "each side has a --side"],
    );
    given(&["--grading", "x=2", "--kernel", "separate"], &["--kernel", "is not there with sides"]);
    given(&["--grading", "x=2", "--smoother", "point-gs"], &["--smoother", "must be patch, additive-patch, jacobi"]);
    let neumann = ["x-", "x+", "y-", "y+"].map(|side| format!("{side}=neumann"));
    let sides: Vec<_> = neumann.iter().flat_map(|side| ["--side", side]).collect();
    given(
        &[&sides[..], &["--rhs", "1"]].concat(),
        &["the integral of the right-hand side and of the fluxes", "otherwise there is no solution"],
    );
    given(&["--rhs", "1/(x-x)"], &["right-hand side is not finite: inf at ["]);
    given(&["--boundary", "log(x-2)"], &["boundary value is not finite: NaN at ["]);
}
