//! Kelly's indicator against one that evaluates all at single points.

use super::super::{Elliptic, ForestFunction};
use super::{anisotropic, meshes};
use crate::fe::{Element, Quadrature};
use glam::{DMat3, DVec3};

/// Point, Jacobian matrix and gradient at a point of a cell, by sums over all nodes.
fn at(u: &ForestFunction, cell: usize, x: [f64; 3]) -> (DVec3, DMat3, DVec3) {
    let (mesh, dim) = (u.mesh(), u.mesh().dim());
    let mapping = mesh.mapping().unwrap();
    let shape = Element::new(mapping.degree()).unwrap();
    let weight = |element: &Element, slope: Option<usize>, i: usize| -> f64 {
        let n = element.degree() + 1;
        let factor = |d: usize| {
            let row = if slope == Some(d) { element.derivatives(x[d]) } else { element.values(x[d]) };
            row[i / n.pow(d as u32) % n]
        };
        (0..dim).map(factor).product()
    };
    let (positions, values) = (mapping.positions(cell), mesh.values_of(cell, u.values()));
    let position = |slope| positions.iter().enumerate().map(|(i, &x)| weight(&shape, slope, i) * x).sum::<DVec3>();
    let (mut jacobian, mut gradient) = (DMat3::IDENTITY, DVec3::ZERO);
    for d in 0..dim {
        *jacobian.col_mut(d) = position(Some(d));
        gradient[d] = values.iter().enumerate().map(|(i, value)| weight(mesh.element(), Some(d), i) * value).sum();
    }
    (position(None), jacobian, jacobian.inverse().transpose() * gradient)
}

fn indicators(u: &ForestFunction, kappa: impl Fn(DVec3) -> DMat3) -> Vec<f64> {
    let (mesh, dim) = (u.mesh(), u.mesh().dim());
    let (forest, rule) = (mesh.forest(), Quadrature::gauss(mesh.degree() + 1).unwrap());
    let mut squares = vec![0.0; forest.leaves().len()];
    for inner in forest.inner_faces().unwrap() {
        let normal = usize::from(inner.face / 2);
        let n = rule.points.len();
        for q in 0..n.pow(dim as u32 - 1) {
            let (mut x, mut weight, mut rest) = ([0.0; 3], 1.0, q);
            x[normal] = f64::from(inner.face % 2);
            for d in (0..dim).filter(|&d| d != normal) {
                (x[d], weight, rest) = (rule.points[rest % n], weight * rule.weights[rest % n], rest / n);
            }
            let (point, jacobian, own) = at(u, inner.leaf as usize, x);
            let (_, _, other) = at(u, inner.other as usize, forest.across(&inner, x));
            let surface = jacobian.determinant() * jacobian.inverse().row(normal);
            let jump = (kappa(point) * (own - other)).dot(surface.normalize());
            let integral = weight * surface.length() * jump * jump;
            [inner.leaf, inner.other].into_iter().for_each(|cell| squares[cell as usize] += integral);
        }
    }
    let diagonal = |cell: usize| {
        let corner =
            |number: usize| at(u, cell, [0, 1, 2].map(|d| if d < dim { (number >> d & 1) as f64 } else { 0.0 })).0;
        let corners = 0..1 << dim;
        corners.map(|number| corner(number).distance(corner((1 << dim) - 1 - number))).fold(0.0, f64::max)
    };
    squares.into_iter().enumerate().map(|(cell, square)| (diagonal(cell) / 24.0 * square).sqrt()).collect()
}

/// On meshes whose trees meet in several orientations, with faces that hang.
#[test]
fn traces_are_those_of_single_points() {
    for (forest, degree) in meshes() {
        for mapping_degree in [None, Some(1)] {
            let equation = super::Equation { mapping_degree, ..anisotropic() };
            let system = Elliptic::new(&forest, degree, equation.clone()).unwrap();
            let values = (0..system.nodes()).map(|i| ((i * i) as f64).sin()).collect();
            let u = ForestFunction::new(&system, values);
            let expected = indicators(&u, |point| equation.diffusion.at(forest.dim(), point).unwrap());
            let found = u.kelly_indicators(&equation).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
            }
        }
    }
}
