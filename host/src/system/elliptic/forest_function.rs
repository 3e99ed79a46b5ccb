//! Functions on the leaves of a forest.

use super::Elliptic;
use super::cell::at_points;
use super::mesh::Mesh;
use super::metric::Geometry;
use crate::error::{Error, Result};
use crate::fe::Quadrature;
use crate::problem::{ErrorNorms, ExactSolution};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// A function of the continuous elements on a forest.
#[derive(Clone, Debug)]
pub struct ForestFunction {
    mesh: Arc<Mesh>,
    /// At all nodes, also those that hang.
    values: Vec<f64>,
}

/// Sizes of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norms {
    /// `(∫ u²)^(1/2)`.
    pub l2: f64,
    /// `(∫ |∇u|²)^(1/2)`.
    pub h1: f64,
    /// The largest `|u|` at a node.
    pub largest: f64,
}

impl ForestFunction {
    /// With values at nodes; those at hanging nodes follow.
    pub(super) fn new(system: &Elliptic, mut values: Vec<f64>) -> Self {
        system.mesh.interpolate_hanging(&mut values);
        Self { mesh: system.mesh.clone(), values }
    }

    pub(super) fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Adds values at all nodes.
    pub(super) fn add(&mut self, values: &[f64]) {
        self.values.iter_mut().zip(values).for_each(|(own, value)| *own += value);
    }

    /// Values at all nodes, also those that hang, in the order of [`Numbering`](crate::forest::Numbering).
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Its norms, by Gauss's rule of `k + 2` points a direction.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a value is not finite.
    pub fn norms(&self) -> Result<Norms> {
        let ErrorNorms { l2, h1 } = self.integrate(|_| (0.0, DVec3::ZERO))?;
        Ok(Norms { l2, h1, largest: self.values.iter().fold(0.0, |largest, value| value.abs().max(largest)) })
    }

    /// Norms of the difference to a known function, by the same rule.
    ///
    /// # Errors
    /// As for [`Self::norms`], also for the values of `u`.
    pub fn error_to(&self, u: &(impl ExactSolution + ?Sized)) -> Result<ErrorNorms> {
        self.integrate(|point| (u.value(point), u.gradient(point)))
    }

    fn integrate(&self, exact: impl Fn(DVec3) -> (f64, DVec3) + Sync) -> Result<ErrorNorms> {
        let (mesh, dim, n) = (&*self.mesh, self.mesh.dim(), self.mesh.degree() + 1);
        let geometry = Geometry::new(mesh, n + 1)?;
        let points = Quadrature::gauss(geometry.points())?.points;
        let values = at_points(&points, |x| mesh.element().values(x));
        let slopes = at_points(&points, |x| mesh.element().derivatives(x));
        let of_cell = |cell: usize| -> Result<[f64; 2]> {
            let own = mesh.values_of(cell, &self.values);
            let mut sums = [0.0; 2];
            geometry.for_each_point(cell, |q, place| {
                let index = [q % (n + 1), q / (n + 1) % (n + 1), q / (n + 1) / (n + 1)];
                let sum = |slope: Option<usize>| -> f64 {
                    let entry = |d: usize, i: usize| match d {
                        _ if d >= dim => 1.0,
                        _ if slope == Some(d) => slopes[(index[d], i)],
                        _ => values[(index[d], i)],
                    };
                    let weight = |i: usize| entry(0, i % n) * entry(1, i / n % n) * entry(2, i / n / n);
                    own.iter().enumerate().map(|(i, value)| weight(i) * value).sum()
                };
                let by_cell = DVec3::from_array([0, 1, 2].map(|d| if d < dim { sum(Some(d)) } else { 0.0 }));
                let gradient = place.jacobian.inverse().transpose() * by_cell;
                let (value, mut exact_gradient) = exact(place.point);
                if dim == 2 {
                    exact_gradient.z = 0.0;
                }
                sums[0] += place.weight * (sum(None) - value).powi(2);
                sums[1] += place.weight * (gradient - exact_gradient).length_squared();
                Ok(())
            })?;
            match sums.into_iter().find(|sum| !sum.is_finite()) {
                None => Ok(sums),
                Some(value) => Err(Error::NotFinite { what: "integral", value, place: format!("cell {cell}") }),
            }
        };
        let cells: Vec<Result<[f64; 2]>> = (0..mesh.cells().cells()).into_par_iter().map(of_cell).collect();
        let mut sums = [0.0; 2];
        for cell in cells {
            let cell = cell?;
            sums = [sums[0] + cell[0], sums[1] + cell[1]];
        }
        Ok(ErrorNorms { l2: sums[0].sqrt(), h1: sums[1].sqrt() })
    }
}
