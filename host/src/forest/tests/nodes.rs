//! Numbers of nodes and constraints, against coordinates.

use super::{in_other_words, point_key, pseudo_random, refine_where, rotations};
use crate::fe::gauss_lobatto_points;
use crate::forest::{Cell, CoarseMesh, Forest, Numbering, max_level};
use glam::DVec3;
use std::collections::HashSet;

/// Number of nodes and of hanging ones, after a look at all of them.
///
/// A node has the same coordinates from all leaves, no two nodes that do not hang have the same ones, and constraints hold for
/// a polynomial of degree `k`: maps of trees are multilinear, so it is in `Q_k` of each cell.
fn checked(forest: &Forest, degree: usize) -> [usize; 2] {
    let numbering = Numbering::new(forest, degree).unwrap();
    let (points, n) = (gauss_lobatto_points(degree), degree + 1);
    let mut coordinates = vec![None; numbering.nodes()];
    for (leaf, cell) in forest.leaves().iter().enumerate() {
        assert_eq!(numbering.leaf_nodes(leaf).count(), n.pow(forest.dim() as u32));
        for (i, node) in numbering.leaf_nodes(leaf).enumerate() {
            let place = forest.point(cell, [i % n, i / n % n, i / n / n].map(|i| points[i]));
            let known: &mut DVec3 = coordinates[node as usize].get_or_insert(place);
            assert!(known.distance(place) < 1e-13, "node {node} of leaf {leaf}: {known} {place}");
        }
    }
    let coordinates: Vec<DVec3> = coordinates.into_iter().map(|place| place.expect("a leaf has each node")).collect();
    let free: Vec<usize> = (0..numbering.nodes()).filter(|&node| !numbering.hangs(node)).collect();
    let distinct: HashSet<[i64; 3]> = free.iter().map(|&node| point_key(coordinates[node])).collect();
    assert_eq!(distinct.len(), free.len());

    let function = |node: u32| {
        let place = coordinates[node as usize];
        (0.7 * place.x - 0.4 * place.y + 0.6 * place.z + 0.3).powi(degree as i32) - place.y
    };
    let mut constrained = HashSet::new();
    numbering.for_each_constraint(|constraint| {
        assert!(constrained.insert(constraint.node) && numbering.hangs(constraint.node as usize));
        assert!([n, n * n][..forest.dim() - 1].contains(&constraint.nodes.len()));
        assert_eq!(constraint.nodes.len(), constraint.weights.len());
        assert!(constraint.nodes.iter().all(|&node| !numbering.hangs(node as usize)), "a chain of constraints");
        let value: f64 = constraint.nodes.iter().zip(constraint.weights).map(|(&node, w)| w * function(node)).sum();
        assert!((value - function(constraint.node)).abs() < 1e-12, "{constraint:?}");
    });
    assert_eq!(constrained.len(), numbering.hanging_nodes());
    assert_eq!(free.len() + constrained.len(), numbering.nodes());
    [numbering.nodes(), numbering.hanging_nodes()]
}

/// Uniform, one side refined, and one corner of it refined once more.
fn checked_in_three(mesh: &CoarseMesh, degree: usize, side: impl Fn(DVec3) -> bool) -> [[usize; 2]; 3] {
    let uniform = Forest::new(mesh.clone()).refine_uniformly(1).unwrap();
    let half = refine_where(&uniform, &side);
    let corner = refine_where(&half, |place| side(place) && place.y < 0.3);
    assert!(corner.leaves().len() > half.leaves().len() && half.leaves().len() > uniform.leaves().len());
    [uniform, half, corner].map(|forest| checked(&forest, degree))
}

#[test]
fn two_trees_may_meet_in_any_orientation() {
    for dim in [2, 3] {
        let cells = &[2, 1, 1][..dim];
        let mesh = CoarseMesh::of_box(cells, &cells.iter().map(|&n| n as f64).collect::<Vec<_>>()).unwrap();
        for degree in [1, 3, 4] {
            let left = checked_in_three(&mesh, degree, |place| place.x < 1.0);
            let right = checked_in_three(&mesh, degree, |place| place.x > 1.0);
            for rotation in 0..rotations(dim).len() {
                let mesh = in_other_words(&mesh, |cell| if cell == 1 { rotation } else { 0 }, rotation as u64 + 1);
                assert_eq!(checked_in_three(&mesh, degree, |place| place.x < 1.0), left, "rotation {rotation}");
                assert_eq!(checked_in_three(&mesh, degree, |place| place.x > 1.0), right, "rotation {rotation}");
            }
        }
    }
}

#[test]
fn all_eight_orientations_of_a_common_face_occur() {
    let mesh = CoarseMesh::of_box(&[2, 1, 1], &[2.0, 1.0, 1.0]).unwrap();
    let mut seen = HashSet::new();
    for rotation in 0..24 {
        let mesh = in_other_words(&mesh, |cell| if cell == 1 { rotation } else { 0 }, rotation as u64 + 1);
        mesh.entities().for_each_image(0, [8, 1, 2], 8, |tree, x| {
            let along_face: Vec<u32> = x.into_iter().filter(|x| x % 8 != 0).collect();
            assert!(tree == 1 || x == [8, 1, 2]);
            seen.extend((tree == 1).then_some(along_face));
        });
    }
    assert_eq!(seen.len(), 8);
}

#[test]
fn many_trees_may_meet_in_any_orientation() {
    let near = |place: DVec3| place.distance(DVec3::new(0.4, 0.2, 0.1)) < 0.7;
    let meshes = [
        (CoarseMesh::of_box(&[3, 2], &[1.5, 1.0]), [2, 5]),
        (CoarseMesh::disk(1.0), [3, 8]),
        (CoarseMesh::annulus(0.5, 1.0, 7), [1, 6]),
        (CoarseMesh::of_box(&[2, 2, 2], &[1.0, 1.0, 1.0]), [2, 3]),
        (CoarseMesh::ball(1.0), [2, 4]),
        (CoarseMesh::shell(0.5, 1.0), [1, 3]),
        (CoarseMesh::cylinder(0.8, 0.5, 2), [3, 6]),
    ];
    for (seed, (mesh, degrees)) in (1..).zip(meshes) {
        let (mesh, mut random) = (mesh.unwrap(), pseudo_random(seed));
        let rotations = rotations(mesh.dim()).len() as u64;
        for degree in degrees {
            let all = |mesh: &CoarseMesh| {
                let first = refine_where(&Forest::new(mesh.clone()), near);
                let second = refine_where(&first, near);
                [checked(&first, degree), checked(&second, degree)]
            };
            let expected = all(&mesh);
            assert!(expected[1][1] > 0);
            for _ in 0..3 {
                let other = in_other_words(&mesh, |_| random(rotations) as usize, seed);
                assert_eq!(all(&other), expected, "mesh {seed}, degree {degree}");
            }
        }
    }
}

/// `prod_d (n_d k + 1)` for `n_d` cells in direction `d`.
#[test]
fn uniform_forests_have_as_many_nodes_as_lattices() {
    for degree in 1..=8 {
        let forest = Forest::new(CoarseMesh::of_box(&[3, 1], &[3.0, 1.0]).unwrap()).refine_uniformly(2).unwrap();
        assert_eq!(checked(&forest, degree), [(12 * degree + 1) * (4 * degree + 1), 0]);
    }
    for degree in 1..=6 {
        let forest = Forest::new(CoarseMesh::of_box(&[1, 2, 1], &[1.0; 3]).unwrap()).refine_uniformly(1).unwrap();
        assert_eq!(checked(&forest, degree), [(2 * degree + 1).pow(2) * (4 * degree + 1), 0]);
    }
}

/// Four cells around a vertex; two of them do not share the edge that they have at the same place.
#[test]
fn a_slit_has_nodes_on_both_sides() {
    let whole = CoarseMesh::of_box(&[2, 2], &[2.0, 2.0]).unwrap();
    let mut vertices = whole.vertices().to_vec();
    let mut cells: Vec<u32> = (0..4).flat_map(|cell| whole.cell(cell).to_vec()).collect();
    // The slit runs from the middle to the right; the upper cell has a vertex of its own at its end.
    vertices.push(vertices[5]);
    cells[13] = 9;
    let slit = CoarseMesh::new(2, vertices, cells).unwrap();
    assert_eq!([slit.boundary(1, 3), slit.boundary(3, 2), slit.boundary(0, 3)], [Some(0), Some(0), None]);
    for degree in 1..=3 {
        let forest = Forest::new(slit.clone()).refine_uniformly(1).unwrap();
        let numbering = Numbering::new(&forest, degree).unwrap();
        assert_eq!(numbering.nodes(), (4 * degree + 1).pow(2) + 2 * degree);
        // Only the vertex in the middle balances cells on both sides.
        let forest = refine_where(&forest, |place| place.x > 1.0 && place.y > 1.0);
        let corner = DVec3::new(1.75, 1.25, 0.0);
        let forest = refine_where(&forest, |place| place.distance(corner) < 0.25);
        let below = |leaf: &&Cell| forest.point(leaf, [0.5; 3]).distance(DVec3::new(1.75, 0.75, 0.0)) < 1e-12;
        assert_eq!(forest.leaves().iter().find(below).map(|leaf| leaf.level), Some(1));
    }
}

#[test]
fn nodes_on_the_finest_level_are_found() {
    for dim in [2, 3] {
        let mut forest = Forest::new(if dim == 2 { CoarseMesh::disk(1.0) } else { CoarseMesh::ball(1.0) }.unwrap());
        for _ in 0..max_level(dim) {
            let mut flags = vec![crate::forest::Adaptation::Keep; forest.leaves().len()];
            *flags.last_mut().unwrap() = crate::forest::Adaptation::Refine;
            forest = forest.adapt(&flags).unwrap();
        }
        let numbering = Numbering::new(&forest, 2).unwrap();
        assert!(numbering.hanging_nodes() > 0 && numbering.degree() == 2);
        let leaves: Vec<HashSet<u32>> =
            (0..forest.leaves().len()).map(|leaf| numbering.leaf_nodes(leaf).collect()).collect();
        assert!(leaves.iter().all(|nodes| nodes.len() == 3_usize.pow(dim as u32)));
        // The last family: (2 k + 1)^dim nodes.
        let last: HashSet<u32> = leaves[leaves.len() - (1 << dim)..].iter().flatten().copied().collect();
        assert_eq!(last.len(), 5_usize.pow(dim as u32));
    }
}

#[test]
fn degrees_out_of_range_are_refused() {
    for (mesh, dim, most) in [(CoarseMesh::disk(1.0), 2, 8), (CoarseMesh::ball(1.0), 3, 6)] {
        let forest = Forest::new(mesh.unwrap());
        for degree in [0, most + 1] {
            let message = Numbering::new(&forest, degree).unwrap_err().to_string();
            assert_eq!(message, format!("degree is {degree}, but must be 1 to {most} in {dim}D"));
        }
    }
}

#[test]
fn pieces_change_no_number() {
    for (mesh, degree) in [(CoarseMesh::disk(1.0).unwrap(), 3), (CoarseMesh::ball(1.0).unwrap(), 2)] {
        let mut random = pseudo_random(7);
        let all = rotations(mesh.dim()).len() as u64;
        let forest = Forest::new(in_other_words(&mesh, |_| random(all) as usize, 7)).refine_uniformly(1).unwrap();
        let forest = refine_where(&forest, |place| place.x > 0.1);
        let whole = Numbering::new(&forest, degree).unwrap();
        let nodes = |numbering: &Numbering, leaf| numbering.leaf_nodes(leaf).collect::<Vec<_>>();
        for length in [1, 7, 32] {
            let pieces = Numbering::in_pieces(&forest, degree, length).unwrap();
            assert_eq!((pieces.nodes(), pieces.hanging_nodes()), (whole.nodes(), whole.hanging_nodes()));
            assert_eq!(pieces.cell_nodes().unwrap().all(), whole.cell_nodes().unwrap().all());
            for leaf in 0..forest.leaves().len() {
                assert_eq!(nodes(&pieces, leaf), nodes(&whole, leaf));
            }
        }
        // Nodes are numbered as leaves first have them, before others those of the finest leaves alone.
        let is_coarse = |leaf: &usize| usize::from(forest.leaves()[*leaf].level) + 1 < forest.levels();
        let of_coarse: HashSet<u32> =
            (0..forest.leaves().len()).filter(is_coarse).flat_map(|leaf| nodes(&whole, leaf)).collect();
        let mut known = [0, (whole.nodes() - of_coarse.len()) as u32];
        let (mut in_order, mut seen) = (whole.in_order_of_leaves(), HashSet::new());
        for leaf in 0..forest.leaves().len() {
            let new: HashSet<u32> = whole.leaf_nodes(leaf).filter(|&node| seen.insert(node)).collect();
            assert_eq!(new, in_order.by_ref().take(new.len()).collect());
            for is_coarse in [false, true] {
                let new: HashSet<u32> =
                    new.iter().copied().filter(|node| of_coarse.contains(node) == is_coarse).collect();
                let first = &mut known[usize::from(is_coarse)];
                assert_eq!(new, (*first..*first + new.len() as u32).collect());
                *first += new.len() as u32;
            }
        }
        assert_eq!((in_order.next(), known[1] as usize), (None, whole.nodes()));
    }
}
