//! Where cells lie: volumes, boundaries, and what neighbours have in common.

use super::*;
use crate::fe::{Element, Quadrature};
use crate::forest::{Manifold, Mapping};
use std::collections::HashMap;
use std::f64::consts::PI;

/// `∫ det J` of all leaves, by Gauss's rule that is exact.
pub(super) fn volume(forest: &Forest, degree: usize) -> f64 {
    let mapping = Mapping::new(forest, forest.leaves(), degree).unwrap();
    let (element, n, dim) = (Element::new(degree).unwrap(), degree + 1, forest.dim());
    let rule = Quadrature::gauss(3 * degree).unwrap();
    let rows: Vec<_> = rule.points.iter().map(|&x| (element.values(x), element.derivatives(x))).collect();
    let m = rows.len();
    let of_cell = |cell: usize| -> f64 {
        let at_point = |q: usize| {
            let q = [q % m, q / m % m, q / m / m];
            let column = |slope: usize| -> DVec3 {
                if slope >= dim {
                    return DVec3::Z;
                }
                let weight = |i: usize| -> f64 {
                    let factor = |d: usize| {
                        let i = [i % n, i / n % n, i / n / n][d];
                        if d == slope { rows[q[d]].1[i] } else { rows[q[d]].0[i] }
                    };
                    (0..dim).map(factor).product()
                };
                mapping.positions(cell).iter().enumerate().map(|(i, &position)| weight(i) * position).sum()
            };
            let weight: f64 = (0..dim).map(|d| rule.weights[q[d]]).product();
            weight * column(0).cross(column(1)).dot(column(2))
        };
        (0..m.pow(dim as u32)).map(at_point).sum()
    };
    (0..forest.leaves().len()).map(of_cell).sum()
}

/// The polynomial of a cell at the boundary is off by `h^(m + 1)`, but for even `m` by `h^(m + 2)`: Gauss-Lobatto points.
#[test]
fn volumes_of_round_domains_converge() {
    let ball = 4.0 / 3.0 * PI;
    let domains = [
        (CoarseMesh::disk(1.0), PI, 4),
        (CoarseMesh::annulus(0.5, 1.0, 5), 0.75 * PI, 4),
        (CoarseMesh::ball(1.0), ball, 2),
        (CoarseMesh::shell(0.5, 1.0), ball * 7.0 / 8.0, 2),
        (CoarseMesh::cylinder(1.0, 2.0, 1), 2.0 * PI, 2),
    ];
    for (coarse, exact, finest) in domains {
        let coarse = coarse.unwrap();
        for degree in 1..=if coarse.dim() == 2 { 4 } else { 3 } {
            let error = |refinements: usize| {
                let forest = Forest::new(coarse.clone()).refine_uniformly(refinements).unwrap();
                (volume(&forest, degree) / exact - 1.0).abs()
            };
            let [coarse_error, fine_error] = [error(finest - 1), error(finest)];
            let order = (coarse_error / fine_error).log2();
            assert!(
                order > degree as f64 + 0.8 || fine_error < 1e-13,
                "degree {degree}, order {order}, error {fine_error:e}"
            );
        }
    }
}

#[test]
fn leaves_agree_where_they_meet_and_lie_on_the_boundary() {
    let meshes =
        [CoarseMesh::disk(1.0), CoarseMesh::ball(1.0), CoarseMesh::shell(0.5, 1.0), CoarseMesh::cylinder(1.0, 1.0, 1)];
    for (coarse, seed) in meshes.into_iter().zip(1..) {
        let coarse = coarse.unwrap();
        let forest = Forest::new(coarse.clone()).refine_uniformly(2).unwrap();
        let numbering = Numbering::new(&forest, 3).unwrap();
        let mapping = Mapping::new(&forest, forest.leaves(), 3).unwrap();
        let mut known = HashMap::new();
        let mut common = 0;
        for leaf in 0..forest.leaves().len() {
            let own = mapping.positions(leaf);
            for (node, &position) in numbering.leaf_nodes(leaf).zip(own.iter()) {
                common += usize::from(known.contains_key(&node));
                let first: &DVec3 = known.entry(node).or_insert(position);
                assert!(first.distance(position) < 1e-14, "mesh {seed}, node {node}: {first} and {position}");
            }
        }
        assert!(known.len() == numbering.nodes() && common > 0, "no node is met from two sides");
    }
}

#[test]
fn nodes_of_boundary_faces_are_on_the_sphere() {
    for coarse in [CoarseMesh::disk(2.0).unwrap(), CoarseMesh::ball(2.0).unwrap()] {
        let forest = Forest::new(coarse).refine_uniformly(2).unwrap();
        let mapping = Mapping::new(&forest, forest.leaves(), 4).unwrap();
        let mut count = 0;
        for (number, leaf) in forest.leaves().iter().enumerate() {
            for face in (0..2 * forest.dim()).filter(|&face| forest.boundary(leaf, face).is_some()) {
                for (i, position) in mapping.positions(number).iter().enumerate() {
                    if i / 5_usize.pow(face as u32 / 2) % 5 == 4 * (face % 2) {
                        // Inside of faces that is only so for the polynomial's order: their nodes are means on the sphere.
                        assert!((position.length() - 2.0).abs() < 1e-14, "{position}");
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 50);
    }
}

#[test]
fn manifolds_have_their_means() {
    let sphere = Manifold::Spherical { center: DVec3::new(1.0, 0.0, 0.0) };
    let points = [DVec3::new(3.0, 0.0, 0.0), DVec3::new(1.0, 1.0, 0.0)];
    let mean = sphere.mean(&points, &[2.0 / 3.0, 1.0 / 3.0]);
    let expected = DVec3::new(1.0, 0.0, 0.0) + 5.0 / 3.0 * DVec3::new((PI / 6.0).cos(), (PI / 6.0).sin(), 0.0);
    assert!(mean.distance(expected) < 1e-15, "{mean}");
    let ends = [DVec3::new(2.0, 0.0, 0.0), DVec3::new(0.0, 2.0, 1.0)];
    let mean = Manifold::Cylindrical.mean(&ends, &[0.5, 0.5]);
    assert!(mean.distance(DVec3::new(2.0_f64.sqrt(), 2.0_f64.sqrt(), 0.5)) < 1e-15, "{mean}");
    let parabola = Manifold::Projected(std::sync::Arc::new(|point: DVec3| point.with_y(point.x * point.x)));
    assert_eq!(parabola.mean(&[DVec3::ZERO, DVec3::new(1.0, 1.0, 0.0)], &[0.5, 0.5]), DVec3::new(0.5, 0.25, 0.0));
}

/// Every coarse edge and face may have a manifold of its own.
#[test]
fn sides_may_be_put_on_a_manifold() {
    let mut coarse = CoarseMesh::of_box(&[1, 1], &[1.0, 1.0]).unwrap();
    coarse.set_boundary_where(3, |point| point.y == 1.0).unwrap();
    let hill = |point: DVec3| point.with_y(1.0 + point.x * (1.0 - point.x));
    coarse.set_boundary_manifold(3, Manifold::Projected(std::sync::Arc::new(hill))).unwrap();
    let forest = Forest::new(coarse.clone()).refine_uniformly(1).unwrap();
    assert!((volume(&forest, 2) - 7.0 / 6.0).abs() < 1e-14);
    let message = coarse.set_boundary_manifold(4, Manifold::Cylindrical).unwrap_err().to_string();
    assert_eq!(message, "boundary number is 4, but must be that of a boundary face");
    let message = coarse.set_boundary_where(5, |point| point.x == 2.0).unwrap_err().to_string();
    assert_eq!(message, "the number of boundary faces is 0 for number 5, but must be at least 1");
}
