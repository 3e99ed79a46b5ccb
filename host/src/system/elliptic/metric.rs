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
    shape: Element,
    values: DMatrix<f64>,
    derivatives: DMatrix<f64>,
}

/// A point of a rule in a cell.
pub(super) struct Place {
    pub point: DVec3,
    /// `J`: derivatives by the cell's coordinates are its columns; in 2D the third is `e_z`.
    pub jacobian: DMat3,
    /// `w`.
    pub gauss_weight: f64,
    /// `w det J`.
    pub weight: f64,
}

impl Geometry {
    /// With Gauss's rule of so many points a direction.
    pub fn new(mesh: &Mesh, points: usize) -> Result<Self> {
        let mapping = mesh.mapping()?;
        let shape = Element::new(mapping.degree())?;
        let rule = Quadrature::gauss(points)?;
        let values = at_points(&rule.points, |x| shape.values(x));
        let derivatives = at_points(&rule.points, |x| shape.derivatives(x));
        Ok(Self { dim: mesh.dim(), rule, mapping, shape, values, derivatives })
    }

    /// Calls `visit` with each point of a cell, x fastest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with cell and point if the cell is inverted there; those of `visit`.
    pub fn for_each_point(&self, cell: usize, mut visit: impl FnMut(usize, Place) -> Result<()>) -> Result<()> {
        let positions = self.mapping.positions(cell);
        let points = self.mapped(positions, None);
        let columns: Vec<_> = (0..self.dim).map(|d| self.mapped(positions, Some(d))).collect();
        let m = self.rule.points.len();
        for (q, &point) in points.iter().enumerate() {
            let mut jacobian = DMat3::IDENTITY;
            columns.iter().enumerate().for_each(|(d, column)| *jacobian.col_mut(d) = column[q]);
            let index = [q % m, q / m % m, q / m / m];
            let gauss_weight: f64 = (0..self.dim).map(|d| self.rule.weights[index[d]]).product();
            let weight = gauss_weight * checked_determinant(&jacobian, cell, point)?;
            visit(q, Place { point, jacobian, gauss_weight, weight })?;
        }
        Ok(())
    }

    /// What rounding of positions changes of a cell's derivatives, relative to these.
    pub fn rounding(&self, cell: usize) -> f64 {
        let positions = self.mapping.positions(cell);
        let largest = positions.iter().fold(0.0_f64, |largest, position| largest.max(position.abs().max_element()));
        let shortest = positions.windows(2).map(|pair| pair[0].distance(pair[1])).fold(f64::INFINITY, f64::min);
        f64::EPSILON * largest / shortest
    }

    /// The mapping at the points of the rule, or its derivative in a direction.
    fn mapped(&self, positions: &[DVec3], slope: Option<usize>) -> Vec<DVec3> {
        let mut values = positions.to_vec();
        for d in 0..self.dim {
            let matrix = if slope == Some(d) { &self.derivatives } else { &self.values };
            let (rows, columns) = matrix.shape();
            let inner = rows.pow(d as u32);
            let of_row = |line: &[DVec3], row: usize, i: usize| -> DVec3 {
                (0..columns).map(|column| matrix[(row, column)] * line[column * inner + i]).sum()
            };
            let lines = values.chunks_exact(columns * inner);
            values =
                lines.flat_map(|line| (0..rows * inner).map(move |i| of_row(line, i / inner, i % inner))).collect();
        }
        values
    }

    /// `J` at any point of a cell, whose coordinates are from 0 to 1, and where it is.
    fn jacobian(&self, cell: usize, x: [f64; 3]) -> (DVec3, DMat3) {
        let values = x.map(|x| self.shape.values(x));
        let mut jacobian = DMat3::IDENTITY;
        for d in 0..self.dim {
            let mut rows = values.clone();
            rows[d] = self.shape.derivatives(x[d]);
            *jacobian.col_mut(d) = self.sum(cell, &rows);
        }
        (self.sum(cell, &values), jacobian)
    }

    /// `∇u` at any point of a cell, for values at the nodes of an element.
    ///
    /// # Errors
    /// As for [`Self::for_each_point`].
    pub fn gradient(&self, cell: usize, x: [f64; 3], element: &Element, own: &[f64]) -> Result<DVec3> {
        let (point, jacobian) = self.jacobian(cell, x);
        checked_determinant(&jacobian, cell, point)?;
        let (values, slopes) = (x.map(|x| element.values(x)), x.map(|x| element.derivatives(x)));
        let n = element.degree() + 1;
        let by_cell = [0, 1, 2].map(|slope| {
            if slope >= self.dim {
                return 0.0;
            }
            let factor = |d: usize, i: usize| match d {
                _ if d >= self.dim => 1.0,
                _ if d == slope => slopes[d][i],
                _ => values[d][i],
            };
            let weight = |i: usize| factor(0, i % n) * factor(1, i / n % n) * factor(2, i / n / n);
            own.iter().enumerate().map(|(i, value)| weight(i) * value).sum()
        });
        Ok(jacobian.inverse().transpose() * DVec3::from_array(by_cell))
    }

    /// Of a point on a face across direction `normal`: where it is, and the unit normal times the surface element.
    ///
    /// # Errors
    /// As for [`Self::for_each_point`].
    pub fn surface(&self, cell: usize, x: [f64; 3], normal: usize) -> Result<(DVec3, DVec3)> {
        let (point, jacobian) = self.jacobian(cell, x);
        let determinant = checked_determinant(&jacobian, cell, point)?;
        // Nanson's formula.
        Ok((point, determinant * jacobian.inverse().row(normal)))
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
