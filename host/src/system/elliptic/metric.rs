//! Geometry and coefficients at Gauss points.

use super::cell::at_points;
use super::mesh::Mesh;
use crate::error::{Error, Result};
use crate::fe::{Element, Quadrature};
use crate::forest::Mapping;
use glam::{DMat3, DVec3};
use nalgebra::DMatrix;

/// Words that the operator has at a point: `det J w J⁻¹ κ J⁻ᵀ`, its lower triangle by rows, then `det J w s`.
pub(super) fn words(dim: usize) -> usize {
    if dim == 2 { 4 } else { 7 }
}

/// Values and derivatives of the mapping at the points of Gauss's rule in each direction.
pub(super) struct Geometry {
    dim: usize,
    rule: Quadrature,
    mapping: Mapping,
    values: DMatrix<f64>,
    derivatives: DMatrix<f64>,
}

/// A point of a rule in a cell.
pub(super) struct Place {
    pub point: DVec3,
    /// `J`: derivatives by the cell's coordinates are its columns; in 2D the third is `e_z`.
    pub jacobian: DMat3,
    /// `w det J`.
    pub weight: f64,
}

impl Geometry {
    /// With Gauss's rule of so many points a direction.
    pub fn new(mesh: &Mesh, points: usize) -> Result<Self> {
        let mapping = mesh.mapping()?;
        let element = Element::new(mapping.degree())?;
        let rule = Quadrature::gauss(points)?;
        let values = at_points(&rule.points, |x| element.values(x));
        let derivatives = at_points(&rule.points, |x| element.derivatives(x));
        Ok(Self { dim: mesh.dim(), rule, mapping, values, derivatives })
    }

    /// Number of points in each direction.
    pub fn points(&self) -> usize {
        self.rule.points.len()
    }

    /// Calls `visit` with each point of a cell, x fastest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with cell and point if the cell is inverted there; those of `visit`.
    pub fn for_each_point(&self, cell: usize, mut visit: impl FnMut(usize, Place) -> Result<()>) -> Result<()> {
        let m = self.rule.points.len();
        for q in 0..m.pow(self.dim as u32) {
            let index = [q % m, q / m % m, q / m / m];
            let mut rows = [0, 1, 2].map(|d| self.values.row(index[d]).iter().copied().collect::<Vec<_>>());
            let point = self.sum(cell, &rows);
            let mut jacobian = DMat3::IDENTITY;
            for d in 0..self.dim {
                let values = std::mem::replace(&mut rows[d], self.derivatives.row(index[d]).iter().copied().collect());
                *jacobian.col_mut(d) = self.sum(cell, &rows);
                rows[d] = values;
            }
            let weight: f64 = (0..self.dim).map(|d| self.rule.weights[index[d]]).product();
            let weight = weight * checked_determinant(&jacobian, cell, point)?;
            visit(q, Place { point, jacobian, weight })?;
        }
        Ok(())
    }

    /// `sum_i x_i prod_d rows_d[i_d]` over the nodes of the mapping.
    fn sum(&self, cell: usize, rows: &[Vec<f64>; 3]) -> DVec3 {
        let n = self.mapping.degree() + 1;
        let weight = |i: usize| {
            let z = if self.dim == 3 { rows[2][i / n / n] } else { 1.0 };
            rows[0][i % n] * rows[1][i / n % n] * z
        };
        self.mapping.positions(cell).iter().enumerate().map(|(i, &position)| weight(i) * position).sum()
    }
}

fn checked_determinant(jacobian: &DMat3, cell: usize, point: DVec3) -> Result<f64> {
    let determinant = jacobian.determinant();
    if determinant > 0.0 {
        return Ok(determinant);
    }
    Err(Error::InvalidArgument {
        name: "the Jacobian determinant",
        value: format!("{determinant:e} in cell {cell} at {point}"),
        allowed: "positive: the cell is inverted there".into(),
    })
}
