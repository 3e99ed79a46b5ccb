//! Trees that meet in any orientation.

use super::*;
use crate::forest::tests::{in_other_words, refine_where, rotations};
use crate::krylov::Info;

/// What must not depend on the frames of trees: a product, the diagonal, and a solution, by place of the nodes, and residuals.
fn results(coarse: &CoarseMesh, degree: usize) -> (Vec<[f64; 6]>, Info) {
    let forest = Forest::new(coarse.clone()).refine_uniformly(1).unwrap();
    // Lines and faces hang where the trees meet.
    let forest = refine_where(&forest, |center| center.x > 1.0 && center.y < 0.5);
    let kappa = |x: DVec3| DMat3::from_diagonal(DVec3::new(1.0 + x.x, 2.0 + x.y * x.z, 3.0 - x.z));
    let diffusion = Diffusion::tensor(move |x| kappa(x) + DMat3::from_cols_array(&[0.2; 9]));
    let system = Elliptic::new(&forest, degree, Equation { diffusion, ..Equation::default() }).unwrap();
    let (mesh, cpu) = (&system.mesh, Arc::new(Cpu::new(None).unwrap()));
    assert!(mesh.numbering().hanging_nodes() > 0);
    let mut places = vec![DVec3::NAN; mesh.kinds().len()];
    let positions = mesh.node_positions().unwrap();
    for cell in 0..system.cells() {
        let own = positions.positions(cell);
        mesh.numbering().leaf_nodes(cell).zip(own.iter()).for_each(|(node, &place)| places[node as usize] = place);
    }
    let level = Runs::<Elliptic>::level::<f64>(&cpu, &system).unwrap();
    let nodes = mesh.numbering().in_order_of_leaves().map(|node| node as usize);
    let unknowns: Vec<usize> = nodes.filter(|&node| mesh.kinds()[node].is_unknown()).collect();
    let vector = |u: &dyn Fn(DVec3) -> f64| level.vector_of(&mut |unknown| u(places[unknowns[unknown]])).unwrap();
    let x = vector(&|place| (3.0 * place.x).sin() * (2.0 * place.y).cos() + place.z);
    let mut product = level.vector().unwrap();
    level.apply(&x, &mut product).unwrap();
    let inverse = level.inverse_diagonal().unwrap();
    let load = vector(&|place| 1.0 + place.x * place.y - place.z);
    let config = Config {
        method: Method::Cg,
        smoother: SmootherConfig::Jacobi { damping: 0.6 },
        stopping: Stopping { rtol: 1e-12, ..Stopping::default() },
        ..Config::default()
    };
    let solution = Solver::new(&cpu, &system, &config).unwrap().solve(&load).unwrap();
    let of_node = |&node: &usize| {
        let [x, y, z] = places[node].to_array();
        [x, y, z, product[node], inverse[node], solution.u.values()[node]]
    };
    let mut found: Vec<_> = unknowns.iter().map(of_node).collect();
    let key = |row: &[f64; 6]| [row[2], row[1], row[0]].map(|x| (1e9 * x).round() as i64);
    found.sort_by_key(key);
    (found, solution.info)
}

/// In 3D two trees meet in 8 ways, in 2D in 2: numbers are those of trees that are aligned, to rounding.
#[test]
fn orientations_of_trees_change_rounding_alone() {
    for (dim, degree) in [(2, 4), (3, 2), (3, 3)] {
        let cells = &[2, 1, 1][..dim];
        let mesh = CoarseMesh::of_box(cells, &[2.0, 1.0, 1.0][..dim]).unwrap();
        let (expected, info) = results(&mesh, degree);
        assert!(info.converged, "{info:?}");
        for rotation in 1..rotations(dim).len() {
            let turned = in_other_words(&mesh, |cell| if cell == 1 { rotation } else { 0 }, rotation as u64);
            let (found, turned_info) = results(&turned, degree);
            assert_eq!(turned_info.iterations, info.iterations, "{dim}D, rotation {rotation}");
            for column in 0..6 {
                let of = |rows: &[[f64; 6]]| rows.iter().map(|row| row[column]).collect::<Vec<_>>();
                let name = format!("{dim}D, rotation {rotation}, column {column}");
                assert_close(&name, &of(&found), &of(&expected), if column == 5 { 1e-11 } else { 1e-13 });
            }
        }
    }
}
