//! Estimates of the error in each cell.

use super::equation::Equation;
use super::forest_function::ForestFunction;
use super::metric::Geometry;
use crate::backend::cpu::parallel::try_map;
use crate::error::Result;
use crate::fe::Quadrature;
use glam::DVec3;

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
        let (mesh, dim) = (self.mesh(), self.mesh().dim());
        let geometry = Geometry::new(mesh, mesh.degree() + 1)?;
        let rule = Quadrature::gauss(mesh.degree() + 1)?;
        let forest = mesh.forest();
        let mut squares = vec![0.0; forest.leaves().len()];
        let inner_faces = forest.inner_faces();
        let integral = |face: usize| -> Result<f64> {
            let inner = &inner_faces[face];
            let normal = usize::from(inner.face / 2);
            let tangents: Vec<usize> = (0..dim).filter(|&d| d != normal).collect();
            let n = rule.points.len();
            let mut integral = 0.0;
            for q in 0..n.pow(dim as u32 - 1) {
                let place = [q % n, q / n];
                let mut x = [0.0; 3];
                x[normal] = f64::from(inner.face % 2);
                tangents.iter().zip(place).for_each(|(&d, q)| x[d] = rule.points[q]);
                let own = self.gradient_in(&geometry, inner.leaf as usize, x)?;
                let other = self.gradient_in(&geometry, inner.other as usize, forest.across(inner, x))?;
                let (point, surface) = geometry.surface(inner.leaf as usize, x, normal)?;
                let jump = (equation.diffusion.at(dim, point)? * (own - other)).dot(surface);
                let weight: f64 = (0..dim - 1).map(|t| rule.weights[place[t]]).product();
                // `surface` is the unit normal times the surface element.
                integral += weight * jump * jump / surface.length();
            }
            Ok(integral)
        };
        for (inner, integral) in inner_faces.iter().zip(try_map(inner_faces.len(), integral)?) {
            squares[inner.leaf as usize] += integral;
            squares[inner.other as usize] += integral;
        }
        let positions = mesh.mapping()?;
        let indicator =
            |(cell, square): (usize, f64)| (diameter(dim, positions.positions(cell)) / 24.0 * square).sqrt();
        Ok(squares.into_iter().enumerate().map(indicator).collect())
    }

    fn gradient_in(&self, geometry: &Geometry, cell: usize, x: [f64; 3]) -> Result<DVec3> {
        let mesh = self.mesh();
        let own = mesh.values_of(cell, self.values());
        geometry.gradient(cell, x, mesh.element(), &own)
    }
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
