//! Estimates of the error in each cell.

use super::equation::Equation;
use super::forest_function::ForestFunction;
use super::metric::checked_determinant;
use super::traces::{OnFace, Traces};
use crate::backend::cpu::parallel::try_map;
use crate::error::Result;
use crate::fe::{Element, Quadrature};
use crate::forest::{Mapping, Part};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

impl ForestFunction {
    /// Kelly's indicator: `η_K² = h_K / 24 sum_F ∫_F [κ ∂u/∂n]²` over the inner faces `F` of a cell `K`, `h_K` being the
    /// longest diagonal; of a face that hangs, its parts (Kelly, Gago, Zienkiewicz and Babuška, *International Journal for
    /// Numerical Methods in Engineering* 19, 1983, 1593-1619; with these factors in deal.II). Gauss's rule has `k + 1` points a
    /// direction. Faces on the boundary count for nothing.
    ///
    /// # Errors
    /// Those of a coefficient that is not allowed at a point, and of inverted cells;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn kelly_indicators(&self, equation: &Equation) -> Result<Vec<f64>> {
        let (mesh, dim, mapping) = (self.mesh(), self.mesh().dim(), self.mesh().mapping()?);
        let rule = Quadrature::gauss(mesh.degree() + 1)?;
        let shape = Element::new(mapping.at_least_degree(0).0)?;
        let faces = Faces {
            function: self,
            mapping,
            values: Traces::new(dim, mesh.element(), &rule),
            positions: Traces::new(dim, &shape, &rule),
        };
        let (forest, n) = (mesh.forest(), rule.points.len());
        let inner_faces = forest.inner_faces()?;
        let integral = |face: usize| -> Result<f64> {
            let inner = &inner_faces[face];
            let contact = forest.contact(inner);
            let own = faces.of(inner.leaf, OnFace { face: inner.face, parts: [Part::All; 2] });
            let other = faces.of(inner.other, OnFace { face: inner.other_face, parts: contact.parts });
            let mut integral = 0.0;
            for q in 0..n.pow(dim as u32 - 1) {
                let place = [q % n, q / n];
                let in_other =
                    contact.from.map(|(axis, reversed)| if reversed { n - 1 - place[axis] } else { place[axis] });
                let in_other = in_other[0] + if dim == 3 { n * in_other[1] } else { 0 };
                let (AtPoint { point, gradient, surface }, other) = (own.at(q)?, other.at(in_other)?);
                let jump = (equation.diffusion.at(dim, point)? * (gradient - other.gradient)).dot(surface);
                let weight: f64 = (0..dim - 1).map(|t| rule.weights[place[t]]).product();
                // `surface` is the unit normal times the surface element.
                integral += weight * jump * jump / surface.length();
            }
            Ok(integral)
        };
        let mut squares = vec![0.0; forest.leaves().len()];
        for (inner, integral) in inner_faces.iter().zip(try_map(inner_faces.len(), integral)?) {
            squares[inner.leaf as usize] += integral;
            squares[inner.other as usize] += integral;
        }
        let indicators = squares.into_par_iter().enumerate();
        Ok(indicators.map(|(cell, square)| (diameter(dim, &mapping.positions(cell)) / 24.0 * square).sqrt()).collect())
    }
}

/// A function and the mapping on faces of cells.
struct Faces<'a> {
    function: &'a ForestFunction,
    mapping: &'a Mapping,
    values: Traces,
    positions: Traces,
}

impl Faces<'_> {
    fn of(&self, cell: u32, on: OnFace) -> OfCell {
        let cell = cell as usize;
        let values = self.function.mesh().values_of(cell, self.function.values());
        let (_, positions) = self.mapping.at_least_degree(cell);
        let (values, positions) = (self.values.of(on, &values), self.positions.of(on, positions));
        OfCell { cell, normal: usize::from(on.face / 2), values, positions }
    }
}

/// The traces of one cell.
struct OfCell {
    cell: usize,
    normal: usize,
    values: [Vec<f64>; 4],
    positions: [Vec<DVec3>; 4],
}

impl OfCell {
    /// # Errors
    /// As for [`checked_determinant`].
    fn at(&self, q: usize) -> Result<AtPoint> {
        let [x, y, z, points] = &self.positions;
        let (jacobian, point) = (DMat3::from_cols(x[q], y[q], z.get(q).copied().unwrap_or(DVec3::Z)), points[q]);
        let (determinant, inverse) = (checked_determinant(&jacobian, self.cell, point)?, jacobian.inverse());
        let [x, y, z, _] = &self.values;
        let by_cell = DVec3::new(x[q], y[q], z.get(q).copied().unwrap_or(0.0));
        // Nanson's formula.
        Ok(AtPoint { point, gradient: inverse.transpose() * by_cell, surface: determinant * inverse.row(self.normal) })
    }
}

/// A point of a face.
struct AtPoint {
    point: DVec3,
    /// `∇u`.
    gradient: DVec3,
    /// The unit normal times the surface element.
    surface: DVec3,
}

/// The longest diagonal of a cell.
fn diameter(dim: usize, positions: &[DVec3]) -> f64 {
    let n = (positions.len() as f64).powf(1.0 / dim as f64).round() as usize;
    let corner = |number: usize| {
        let index = [0, 1, 2].map(|d| (number >> d & 1) * (n - 1));
        positions[index[0] + n * (index[1] + n * index[2])]
    };
    let corners = 1 << dim;
    (0..corners).map(|number| corner(number).distance(corner(corners - 1 - number))).fold(0.0, f64::max)
}
