//! Meshes of Gmsh: types of elements, orientation, curved cells, numbers of boundaries.

use super::geometry::volume;
use super::gmsh_text::{CELLS, MeshText, dim, listings, unit_nodes};
use super::*;
use crate::backend::cpu::Cpu;
use crate::forest::Mapping;
use crate::krylov::Stopping;
use crate::solve::{Config, Method, Precision, Solver};
use crate::system::ModelProblem;
use crate::system::elliptic::{Elliptic, EllipticProblem, Equation, Norms};
use std::collections::HashMap;
use std::sync::Arc;

const VERSIONS: [&str; 2] = ["2.2", "4.1"];

fn read(text: &MeshText, version: &str) -> CoarseMesh {
    CoarseMesh::from_gmsh(text.write(version)).unwrap()
}

/// Curves a cell as far as its type can: multilinear, of the serendipity element, or of degree 2 in each direction.
fn curved(code: u64) -> impl Fn(DVec3) -> DVec3 {
    let in_space = move |x: DVec3| if dim(code) == 2 { x.with_z(0.0) } else { x };
    let is_3d = if dim(code) == 3 { 1.0 } else { 0.0 };
    move |x: DVec3| {
        let bilinear = DVec3::new(x.x * x.y, -0.5 * x.x * x.y, is_3d * (x.x * x.y * x.z + x.y * x.z));
        let serendipity = DVec3::new(x.x * x.x * x.y, x.x * x.x - x.y * x.y * x.x, is_3d * x.z * x.z * x.x * x.y);
        let quadratic = DVec3::new(x.x * x.x * x.y * x.y, 0.5 * x.y * x.y * x.x * x.x, 0.0)
            + is_3d * DVec3::new(0.0, x.z * x.z * x.x * x.x * x.y, (x.x * x.y * x.z).powi(2));
        let amounts = match code {
            3 | 5 => [0.2, 0.0, 0.0],
            16 | 17 => [0.2, 0.1, 0.0],
            _ => [0.2, 0.1, 0.1],
        };
        in_space(x + amounts[0] * bilinear + amounts[1] * serendipity + amounts[2] * quadratic)
    }
}

#[test]
fn nodes_of_cells_are_in_the_order_of_the_manual() {
    let mut random = pseudo_random(1);
    for code in CELLS {
        let map = curved(code);
        for version in VERSIONS {
            let mesh = read(&MeshText::of_cell(code, &map), version);
            assert_eq!((mesh.dim(), mesh.cells(), mesh.vertices().len()), (dim(code), 1, 1 << dim(code)));
            for _ in 0..100 {
                let x = [0, 1, 2].map(|d| if d < dim(code) { random(1000) as f64 / 999.0 } else { 0.0 });
                let distance = mesh.point(0, x).distance(map(DVec3::from(x)));
                assert!(distance < 1e-15 * 8.0, "type {code}, {x:?}: {distance:e}");
            }
        }
    }
}

/// Any mapping of degree 2 or more is the cell's own map, also in refined cells.
#[test]
fn volumes_of_curved_cells_are_exact() {
    const H: f64 = 0.3;
    let bulge = |x: f64| 4.0 * H * x * (1.0 - x);
    // The top is a parabola; only a hexahedron of 27 nodes can bulge in the middle of a face alone.
    let raised = |x: DVec3, by: f64| if x.z > 0.0 { x.with_z(x.z * (1.0 + by)) } else { x };
    type Map = Box<dyn Fn(DVec3) -> DVec3>;
    let cases: [(u64, Map, f64); 5] = [
        (16, Box::new(move |x| x.with_y(x.y * (1.0 + bulge(x.x)))), 1.0 + 2.0 * H / 3.0),
        (10, Box::new(move |x| x.with_y(x.y * (1.0 + bulge(x.x)))), 1.0 + 2.0 * H / 3.0),
        (17, Box::new(move |x| raised(x, bulge(x.x))), 1.0 + 2.0 * H / 3.0),
        (12, Box::new(move |x| raised(x, bulge(x.x))), 1.0 + 2.0 * H / 3.0),
        (12, Box::new(move |x| raised(x, bulge(x.x) * bulge(x.y) / H)), 1.0 + 4.0 * H / 9.0),
    ];
    for (code, map, exact) in cases {
        let forest = Forest::new(read(&MeshText::of_cell(code, map), "4.1")).refine_uniformly(1).unwrap();
        let forest = refine_where(&forest, |x| x.x < 0.5 && x.y < 0.5);
        for degree in [2, 3] {
            let error = (volume(&forest, degree) - exact).abs();
            assert!(error < 1e-14, "type {code}, degree {degree}: {error:e}");
        }
        // Straight pieces are off.
        assert!((volume(&forest, 1) - exact).abs() > 1e-3);
    }
}

#[test]
fn neighbours_agree_where_they_meet() {
    for code in CELLS {
        let listings = listings(code);
        for listing in [&listings[0], &listings[listings.len() / 2 + 1], &listings[listings.len() - 1]] {
            let coarse = read(&MeshText::of_two_cells(code, listing, curved(code)), "2.2");
            let forest = Forest::new(coarse).refine_uniformly(1).unwrap();
            let numbering = Numbering::new(&forest, 3).unwrap();
            let mapping = Mapping::new(&forest, forest.leaves(), 3).unwrap();
            let mut known: HashMap<u32, DVec3> = HashMap::new();
            for leaf in 0..forest.leaves().len() {
                let own = mapping.positions(leaf);
                for (node, &position) in numbering.leaf_nodes(leaf).zip(own.iter()) {
                    let first = known.entry(node).or_insert(position);
                    assert!(first.distance(position) < 1e-14, "type {code}: {first} and {position}");
                }
            }
            assert_eq!(known.len(), numbering.nodes());
        }
    }
}

/// `-Δu = x + y²` on cells refined once, and once more near a point.
fn solved(coarse: CoarseMesh, backend: &Arc<Cpu>) -> Norms {
    let forest = Forest::new(coarse).refine_uniformly(1).unwrap();
    let forest = refine_where(&forest, |center| center.distance(DVec3::new(1.2, 0.3, 0.2)) < 0.5);
    let system = Elliptic::new(&forest, 2, Equation::default()).unwrap();
    let problem = EllipticProblem::new(|point| point.x + point.y * point.y);
    let stopping = Stopping { rtol: 1e-13, ..Stopping::default() };
    let smoother = crate::multigrid::SmootherConfig::Chebyshev { degree: 5, range: 12.0 };
    let config = Config { method: Method::Cg, precision: Precision::F64, smoother, stopping, ..Config::default() };
    let load = problem.load(&system).unwrap();
    let solution = Solver::new(backend, &system, &config).unwrap().solve(&load).unwrap();
    problem.with_boundary_values(solution.u).unwrap().norms().unwrap()
}

#[test]
fn solutions_do_not_depend_on_how_a_cell_is_listed() {
    let backend = Cpu::new(None).map(Arc::new).unwrap();
    for code in CELLS {
        let listings = listings(code);
        assert_eq!(listings.len(), if dim(code) == 2 { 8 } else { 48 });
        let norms =
            |listing: &Vec<usize>| solved(read(&MeshText::of_two_cells(code, listing, curved(code)), "4.1"), &backend);
        let first = norms(&listings[0]);
        assert!(first.l2 > 1e-4);
        for listing in &listings[1..] {
            let other = norms(listing);
            for (a, b) in [(first.l2, other.l2), (first.h1, other.h1), (first.largest, other.largest)] {
                assert!((a / b - 1.0).abs() < 1e-11, "type {code}, {listing:?}: {a} and {b}");
            }
        }
    }
}

#[test]
fn physical_groups_number_boundary_faces() {
    for (cell, side) in [(3, 1), (16, 8), (10, 8)] {
        let mut text = MeshText::of_two_cells(cell, &listings(cell)[5], |x| x);
        let number =
            |text: &MeshText, x: f64, y: f64| text.nodes.iter().find(|node| node.1 == DVec3::new(x, y, 0.0)).unwrap().0;
        let side = |text: &MeshText, [x, y, to_x, to_y]: [f64; 4], group: i64, own: u64| {
            let mut nodes = vec![number(text, x, y), number(text, to_x, to_y)];
            if side == 8 {
                nodes.push(number(text, 0.5 * (x + to_x), 0.5 * (y + to_y)));
            }
            (own, side, group, nodes)
        };
        let elements = [
            side(&text, [0.0, 1.0, 1.0, 1.0], 7, 3),
            // The sign is an orientation.
            side(&text, [2.0, 1.0, 2.0, 0.0], -8, 4),
            // No boundary.
            side(&text, [1.0, 1.0, 1.0, 0.0], 9, 5),
            side(&text, [0.0, 0.0, 1.0, 0.0], 0, 6),
        ];
        text.elements.extend(elements);
        // The center of a circle, for example.
        text.nodes.push((5000, DVec3::new(9.0, 9.0, 9.0)));
        text.elements.push((7, 15, 3, vec![5000]));
        for version in VERSIONS {
            let mesh = read(&text, version);
            let of_side = |is_on: &dyn Fn(DVec3) -> bool| {
                let faces = (0..2).flat_map(|cell| (0..4).map(move |face| (cell, face)));
                let mut numbers: Vec<u32> = faces
                    .filter(|&(cell, face)| {
                        let mut x = [0.5; 3];
                        x[face / 2] = (face % 2) as f64;
                        is_on(mesh.point(cell, x))
                    })
                    .filter_map(|(cell, face)| mesh.boundary(cell, face))
                    .collect();
                numbers.sort_unstable();
                numbers
            };
            assert_eq!(of_side(&|x| x.y == 1.0), [0, 7], "type {cell}");
            assert_eq!(of_side(&|x| x.x == 2.0), [8]);
            assert_eq!(of_side(&|x| x.x == 0.0), [0]);
            assert_eq!(of_side(&|x| x.y == 0.0), [0, 0]);
            assert_eq!(of_side(&|x| x.x == 1.0), [0; 0]);
        }
    }
}

#[test]
fn quadrangles_are_the_faces_of_hexahedra() {
    let faces = [(5, 3, 4), (17, 16, 8), (12, 10, 9)];
    for (cell, code, count) in faces {
        let mut text = MeshText::of_cell(cell, |x| x);
        // The face x = 1 as a quadrangle; its axes are y and z.
        let unit = unit_nodes(code).into_iter().map(|x| DVec3::new(1.0, x.x, x.y));
        let nodes: Vec<u64> =
            unit.filter_map(|x| text.nodes.iter().find(|node| node.1 == x).map(|node| node.0)).collect();
        assert_eq!(nodes.len(), count);
        text.elements.push((2, code, 4, nodes));
        // An edge, which is ignored.
        text.elements.push((3, 1, 5, vec![1, 2]));
        for version in VERSIONS {
            let mesh = read(&text, version);
            let numbers = [0, 1, 2, 3, 4, 5].map(|face| mesh.boundary(0, face).unwrap());
            assert_eq!(numbers, [0, 4, 0, 0, 0, 0], "type {cell}");
        }
    }
}

#[test]
fn planes_of_any_z_are_2d() {
    let text = MeshText::of_cell(3, |x| x.with_z(-2.5));
    assert!(read(&text, "2.2").vertices().iter().all(|vertex| vertex.z == 0.0));
    let noisy = MeshText::of_cell(10, |x| x.with_z(1e-17 * x.x));
    assert_eq!(read(&noisy, "4.1").point(0, [0.3, 0.7, 0.0]).z, 0.0);
}

/// A straight cell of a mesh that has curved ones elsewhere keeps its map.
#[test]
fn straight_cells_stay_straight_beside_curved_ones() {
    for (straight, other) in [(3, 16), (5, 17), (5, 12)] {
        let map = curved(straight);
        let mut text = MeshText::of_cell(straight, &map);
        let apart = MeshText::of_cell(other, |x| curved(other)(x) + 5.0 * DVec3::X);
        text.nodes.extend(apart.nodes.into_iter().map(|(number, place)| (100 + number, place)));
        let nodes = apart.elements[0].3.iter().map(|number| 100 + number).collect();
        text.elements.push((2, other, 0, nodes));
        let mesh = read(&text, "4.1");
        let in_space = |x: [f64; 3]| if mesh.dim() == 2 { [x[0], x[1], 0.0] } else { x };
        for x in [[0.2, 0.7, 0.4], [0.5, 0.5, 0.5], [0.9, 0.1, 1.0]].map(in_space) {
            assert!(mesh.point(0, x).distance(map(DVec3::from(x))) < 1e-14, "type {straight}");
            let expected = curved(other)(DVec3::from(x)) + 5.0 * DVec3::X;
            assert!(mesh.point(1, x).distance(expected) < 1e-14, "type {other}");
        }
    }
}

/// Maps of degree 2 have no manifolds beside them.
#[test]
fn curved_cells_are_on_no_manifold() {
    let mut mesh = read(&MeshText::of_cell(10, curved(10)), "2.2");
    let message = mesh.set_manifold(crate::forest::Manifold::Cylindrical).unwrap_err().to_string();
    assert_eq!(message, "a manifold is Cylindrical, but must be on a mesh of cells without nodes of their own");
    let mut straight = read(&MeshText::of_cell(3, curved(3)), "2.2");
    assert!(straight.set_manifold(crate::forest::Manifold::Cylindrical).is_ok());
}
