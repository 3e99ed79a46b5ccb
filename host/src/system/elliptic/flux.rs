//! Fluxes of nonlinear equations.

use glam::{DMat3, DVec3};
pub use patchmg_device::elliptic::PowerLaw;
use std::fmt;

/// The flux `F(x, p)` of a nonlinear equation `-div F(x, ∇u) + s u = f`, by its value and its derivative.
pub trait Flux: fmt::Debug + Send + Sync + 'static {
    /// `F(x, p)` at a point, for a gradient. In 2D both have no z.
    fn value(&self, point: DVec3, gradient: DVec3) -> DVec3;

    /// `∂F/∂p`, symmetric positive definite; in 2D its upper left 2 x 2 entries.
    fn derivative(&self, point: DVec3, gradient: DVec3) -> DMat3;

    /// The `φ` with `F = φ(|p|²) p`, if it is one that GPU kernels know. The host evaluates all other fluxes, also for levels on a GPU,
    /// which takes the iterate to the host and the coefficients back in each step.
    fn power_law(&self) -> Option<PowerLaw> {
        None
    }
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

    fn power_law(&self) -> Option<PowerLaw> {
        Some(PowerLaw { offset: 1.0, quarters: -2 })
    }
}

/// `F(g) = (ε² + |g|²)^((p - 2) / 2) g`, `p > 1` or `ε > 0`: that of the p-Laplacian for `ε = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PLaplacian {
    /// `p`.
    pub p: f64,
    /// `ε`: where it is 0, the equation degenerates at points without a gradient.
    pub epsilon: f64,
}

impl Flux for PLaplacian {
    fn value(&self, _point: DVec3, gradient: DVec3) -> DVec3 {
        (self.epsilon.powi(2) + gradient.length_squared()).powf(0.5 * self.p - 1.0) * gradient
    }

    fn derivative(&self, _point: DVec3, gradient: DVec3) -> DMat3 {
        let square = self.epsilon.powi(2) + gradient.length_squared();
        let outer = DMat3::from_cols(gradient * gradient.x, gradient * gradient.y, gradient * gradient.z);
        square.powf(0.5 * self.p - 1.0) * (DMat3::IDENTITY + outer * ((self.p - 2.0) / square))
    }

    /// If `2 p` is a whole number, not above 20.
    fn power_law(&self) -> Option<PowerLaw> {
        let quarters = 2.0 * self.p - 4.0;
        let is_known = quarters.fract() == 0.0 && quarters.abs() <= 16.0;
        is_known.then(|| PowerLaw { offset: self.epsilon.powi(2), quarters: quarters as i32 })
    }
}
