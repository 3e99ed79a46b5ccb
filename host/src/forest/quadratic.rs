//! Maps of degree 2 in each direction.

use super::cell::Cell;
use glam::DVec3;

/// `sum_i x_i prod_d l_(i_d)(x_d)` over `3^dim` nodes, x fastest, with the Lagrange polynomials of the points 0, 1/2 and 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quadratic<'a> {
    dim: usize,
    nodes: &'a [DVec3],
}

fn values(x: f64) -> [f64; 3] {
    [(1.0 - x) * (1.0 - 2.0 * x), 4.0 * x * (1.0 - x), x * (2.0 * x - 1.0)]
}

fn derivatives(x: f64) -> [f64; 3] {
    [4.0 * x - 3.0, 4.0 - 8.0 * x, 4.0 * x - 1.0]
}

impl<'a> Quadratic<'a> {
    pub fn new(dim: usize, nodes: &'a [DVec3]) -> Self {
        Self { dim, nodes }
    }

    /// Image of a point of `[0, 1]^dim`.
    pub fn point(&self, x: [f64; 3]) -> DVec3 {
        self.sum(x.map(values))
    }

    /// Determinant of the Jacobian matrix.
    pub fn determinant(&self, x: [f64; 3]) -> f64 {
        let column = |d: usize| {
            let mut factors = x.map(values);
            factors[d] = derivatives(x[d]);
            self.sum(factors)
        };
        column(0).cross(column(1)).dot(if self.dim == 3 { column(2) } else { DVec3::Z })
    }

    /// Images of points of a cell, which have these coordinates in each direction, x fastest.
    pub fn points(&self, cell: &Cell, along: &[f64], points: &mut [DVec3]) {
        let n = along.len();
        let factors: Vec<_> = along.iter().map(|&x| cell.in_tree([x; 3]).map(values)).collect();
        for (i, point) in points.iter_mut().enumerate() {
            *point = self.sum([factors[i % n][0], factors[i / n % n][1], factors[i / n / n % n][2]]);
        }
    }

    fn sum(&self, factors: [[f64; 3]; 3]) -> DVec3 {
        let weight = |i: usize| {
            let z = if self.dim == 3 { factors[2][i / 9] } else { 1.0 };
            factors[0][i % 3] * factors[1][i / 3 % 3] * z
        };
        self.nodes.iter().enumerate().map(|(i, &node)| weight(i) * node).sum()
    }
}
