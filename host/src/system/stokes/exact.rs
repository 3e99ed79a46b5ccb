//! Known solutions.

use super::{Stokes, Vortex};
use crate::mesh::Mesh;
use crate::problem::{ExactSolution, Factors, Field};
use glam::DVec3;
use std::f64::consts::PI;

/// A velocity that is the curl of a product `ψ = Π φ(x_i / l_i)`, and the pressure `Π cos(2 π x_i / l_i)`.
pub(super) struct Exact {
    factor: Factor,
    lengths: [f64; 3],
    dim: usize,
}

/// `φ`.
enum Factor {
    /// That of a [`Vortex`].
    Bump {
        vortex: Vortex,
        /// Of each order of derivatives, the polynomial beside the Gaussian.
        polynomials: Vec<[f64; COEFFICIENTS]>,
    },
    /// `sin(π x)`, and for the first direction divided by `π`.
    Sine,
}

/// Derivatives of `φ` up to the third.
const ORDERS: usize = 4;
/// Polynomials beside the Gaussian have one degree more each, from 4 on.
const COEFFICIENTS: usize = 4 + ORDERS;

impl Exact {
    pub fn taylor_green(mesh: &Mesh) -> Self {
        Self { factor: Factor::Sine, lengths: mesh.lengths(), dim: mesh.dim() }
    }

    pub fn vortex(vortex: Vortex, mesh: &Mesh) -> Self {
        let Vortex { mu, sigma } = vortex;
        let mut polynomials = vec![[0.0; COEFFICIENTS]; ORDERS];
        polynomials[0][2..5].copy_from_slice(&[1.0, -2.0, 1.0]);
        for order in 1..ORDERS {
            // (p e)' = (p' - 2 (t - μ) / σ² p) e for a polynomial p and the Gaussian e.
            let (before, next) = polynomials.split_at_mut(order);
            let (before, next, factor) = (&before[order - 1], &mut next[0], 2.0 / (sigma * sigma));
            for power in 0..COEFFICIENTS {
                let slope = before.get(power + 1).map_or(0.0, |coefficient| (power + 1) as f64 * coefficient);
                let lower = if power > 0 { before[power - 1] } else { 0.0 };
                next[power] = slope + factor * (mu * before[power] - lower);
            }
        }
        Self { factor: Factor::Bump { vortex, polynomials }, lengths: mesh.lengths(), dim: mesh.dim() }
    }

    /// A derivative of `φ(x / l)`.
    fn factor(&self, direction: usize, x: f64, order: usize) -> f64 {
        let l = self.lengths[direction];
        let t = x / l;
        let value = match &self.factor {
            Factor::Bump { vortex: Vortex { mu, sigma }, polynomials } => {
                let value = polynomials[order].iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
                let gaussian = (-(t - mu).powi(2) / (sigma * sigma)).exp() / (2.0 * PI * sigma * sigma).sqrt();
                value * gaussian
            }
            Factor::Sine => {
                // Zero at both ends without rounding: nothing flows through the boundary.
                let wave = if order.is_multiple_of(2) { (PI * t.min(1.0 - t)).sin() } else { (PI * t).cos() };
                let sign = if order % 4 < 2 { 1.0 } else { -1.0 };
                sign * wave * PI.powi(order as i32) / if direction == 0 { PI } else { 1.0 }
            }
        };
        value / l.powi(order as i32)
    }

    /// A factor of the pressure, or its derivative.
    fn pressure_factor(&self, direction: usize, x: f64, order: usize) -> f64 {
        let frequency = 2.0 * PI / self.lengths[direction];
        if order == 0 { (frequency * x).cos() } else { -frequency * (frequency * x).sin() }
    }

    /// A derivative of `ψ`.
    fn stream(&self, point: DVec3, orders: [usize; 3]) -> f64 {
        (0..self.dim).map(|d| self.factor(d, point[d], orders[d])).product()
    }

    /// `f` of a component, as products.
    pub fn right_hand_side(&self, component: usize, system: &Stokes) -> Vec<Term<'_>> {
        let mut terms = Vec::new();
        for &(sign, direction) in self.terms(component) {
            let mut orders = [0; 3];
            orders[direction] = 1;
            terms.push(Term { exact: self, scale: sign * system.mass(), orders, is_pressure: false });
            for d in 0..self.dim {
                let mut orders = orders;
                orders[d] += 2;
                terms.push(Term { exact: self, scale: -sign * system.viscosity(), orders, is_pressure: false });
            }
        }
        let mut orders = [0; 3];
        orders[component] = 1;
        terms.push(Term { exact: self, scale: 1.0, orders, is_pressure: true });
        terms.retain(|term| term.scale != 0.0);
        terms
    }

    /// The terms of a component of the velocity: a sign and the direction of the derivative of `ψ`.
    fn terms(&self, component: usize) -> &'static [(f64, usize)] {
        match (self.dim, component) {
            (2, 0) => &[(1.0, 1)],
            (2, _) => &[(-1.0, 0)],
            (_, 0) => &[(1.0, 1), (1.0, 2)],
            (_, 1) => &[(-1.0, 0), (-1.0, 2)],
            _ => &[(-1.0, 0), (1.0, 1)],
        }
    }

    /// A derivative of a component of the velocity.
    fn velocity(&self, component: usize, point: DVec3, orders: [usize; 3]) -> f64 {
        let term = |&(sign, direction): &(f64, usize)| {
            let mut orders = orders;
            orders[direction] += 1;
            sign * self.stream(point, orders)
        };
        self.terms(component).iter().map(term).sum()
    }

    /// The velocity; in 2D without third component.
    pub fn velocity_at(&self, point: DVec3) -> DVec3 {
        let component = |d: usize| if d < self.dim { self.velocity(d, point, [0; 3]) } else { 0.0 };
        DVec3::from_array([0, 1, 2].map(component))
    }

    fn pressure(&self, point: DVec3, orders: [usize; 3]) -> f64 {
        (0..self.dim).map(|d| self.pressure_factor(d, point[d], orders[d])).product()
    }
}

/// A derivative of `ψ` or of the pressure, times a number.
pub(super) struct Term<'a> {
    exact: &'a Exact,
    scale: f64,
    orders: [usize; 3],
    is_pressure: bool,
}

impl Field for Term<'_> {
    fn value(&self, point: DVec3) -> f64 {
        let Self { exact, scale, orders, is_pressure } = *self;
        scale * if is_pressure { exact.pressure(point, orders) } else { exact.stream(point, orders) }
    }

    fn products(&self) -> Option<Vec<&dyn Factors>> {
        Some(vec![self])
    }
}

impl Factors for Term<'_> {
    fn factor(&self, direction: usize, x: f64) -> f64 {
        self.factor_derivative_of(direction, x, 0)
    }

    fn factor_derivative(&self, direction: usize, x: f64) -> f64 {
        self.factor_derivative_of(direction, x, 1)
    }
}

impl Term<'_> {
    fn factor_derivative_of(&self, direction: usize, x: f64, order: usize) -> f64 {
        let Self { exact, scale, orders, is_pressure } = *self;
        let factor = if is_pressure { Exact::pressure_factor } else { Exact::factor };
        let scale = if direction == 0 { scale } else { 1.0 };
        scale * factor(exact, direction, x, orders[direction] + order)
    }
}

/// A component of the velocity.
pub(super) struct Velocity<'a> {
    pub exact: &'a Exact,
    pub component: usize,
}

impl Field for Velocity<'_> {
    fn value(&self, point: DVec3) -> f64 {
        self.exact.velocity(self.component, point, [0; 3])
    }
}

impl ExactSolution for Velocity<'_> {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let slope = |d: usize| {
            let mut orders = [0; 3];
            orders[d] = 1;
            if d < self.exact.dim { self.exact.velocity(self.component, point, orders) } else { 0.0 }
        };
        DVec3::new(slope(0), slope(1), slope(2))
    }
}

/// The pressure.
pub(super) struct Pressure<'a> {
    pub exact: &'a Exact,
}

impl Field for Pressure<'_> {
    fn value(&self, point: DVec3) -> f64 {
        self.exact.pressure(point, [0; 3])
    }
}

impl ExactSolution for Pressure<'_> {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let slope = |d: usize| {
            let mut orders = [0; 3];
            orders[d] = 1;
            if d < self.exact.dim { self.exact.pressure(point, orders) } else { 0.0 }
        };
        DVec3::new(slope(0), slope(1), slope(2))
    }
}
