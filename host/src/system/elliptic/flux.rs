//! Fluxes of nonlinear equations.

use glam::{DMat3, DVec3};
use std::fmt;

/// The flux `F(x, p)` of a nonlinear equation `-div F(x, ∇u) + s u = f`, by its value and its derivative.
pub trait Flux: fmt::Debug + Send + Sync + 'static {
    /// `F(x, p)` at a point, for a gradient. In 2D both have no z.
    fn value(&self, point: DVec3, gradient: DVec3) -> DVec3;

    /// `∂F/∂p`, symmetric positive definite; in 2D its upper left 2 x 2 entries.
    fn derivative(&self, point: DVec3, gradient: DVec3) -> DMat3;
}

/// `F(p) = p / (1 + |p|²)^(1/2)`: the graph of the solution has the least area of all with its boundary (paper 3, section 4.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct MinimalSurface;

impl MinimalSurface {
    /// `(1 + |p|²)^(1/2)`: the area of the graph over a unit of area.
    pub fn area(gradient: DVec3) -> f64 {
        (1.0 + gradient.length_squared()).sqrt()
    }
}

impl Flux for MinimalSurface {
    fn value(&self, _point: DVec3, gradient: DVec3) -> DVec3 {
        gradient / Self::area(gradient)
    }

    fn derivative(&self, _point: DVec3, gradient: DVec3) -> DMat3 {
        let area = Self::area(gradient);
        let outer = DMat3::from_cols(gradient * gradient.x, gradient * gradient.y, gradient * gradient.z);
        (DMat3::IDENTITY - outer / (area * area)) / area
    }
}
