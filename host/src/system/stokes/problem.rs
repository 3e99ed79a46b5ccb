//! Model problems.

use super::{Flow, FlowErrors, Stokes};
use crate::error::{Error, Result};
use crate::memory;
use crate::mesh::Mesh;
use crate::problem::{ExactSolution, Factors, Field, load_vector_with};
use crate::system::{ModelProblem, System};
use glam::DVec3;
use std::f64::consts::PI;

/// Points of the load vector's rule a direction beyond `k + 1`. Only if a gradient is integrated accurately does the velocity not see it.
const MORE_POINTS: usize = 3;

/// A model problem of the Stokes equations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Problem {
    /// That of paper 2.
    Vortex(Vortex),
    /// The driven cavity: `f = 0`, and the wall of the upper end of the last direction moves in direction x with velocity 1.
    Cavity,
}

/// A velocity that is the curl of `ψ = Π φ(x_i)` and vanishes on the boundary, and the pressure `Π cos(2 π x_i)` (paper 2, equations
/// 11 to 13), with
///
/// ```text
/// φ(x) = x² (x - 1)² exp(-(x - μ)² / σ²) / √(2 π σ²)
/// ```
///
/// and `x_i / l_i` for `x_i` on a box of side lengths `l`; in 3D the curl is that of `(ψ, -ψ, ψ)` up to sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vortex {
    /// `μ`, where `φ` is largest, about.
    pub mu: f64,
    /// `σ`, how wide it is.
    pub sigma: f64,
}

impl Default for Vortex {
    /// `μ = 0.5`, `σ = 1`: the paper does not say which.
    fn default() -> Self {
        Self { mu: 0.5, sigma: 1.0 }
    }
}

impl Problem {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vortex(_) => "paper2",
            Self::Cavity => "cavity",
        }
    }
}

impl ModelProblem for Problem {
    type System = Stokes;
    type Errors = FlowErrors;

    fn check(&self, _system: &Stokes) -> Result<()> {
        match self {
            Self::Vortex(Vortex { sigma, .. }) if !(*sigma > 0.0 && sigma.is_finite()) => {
                Err(Error::InvalidArgument { name: "sigma", value: sigma.to_string(), allowed: "above 0".into() })
            }
            Self::Vortex(Vortex { mu, .. }) if !mu.is_finite() => {
                Err(Error::InvalidArgument { name: "mu", value: mu.to_string(), allowed: "a finite number".into() })
            }
            _ => Ok(()),
        }
    }

    fn load(&self, system: &Stokes) -> Result<Vec<f64>> {
        let (layout, mesh) = (system.layout(), system.mesh());
        let mut load = memory::zeros(layout.storage())?;
        match self {
            Self::Vortex(vortex) => {
                for (component, space) in system.velocity_spaces().iter().enumerate() {
                    let block = &mut load[layout.blocks()[component].clone()];
                    for term in Exact::new(*vortex, mesh).right_hand_side(component, system) {
                        let integrals = load_vector_with(space, &term, MORE_POINTS)?;
                        block.iter_mut().zip(integrals).for_each(|(sum, integral)| *sum += integral);
                    }
                }
            }
            Self::Cavity => {
                let (last, top) = (mesh.dim() - 1, mesh.lengths()[mesh.dim() - 1]);
                let lid = |point: DVec3| if point[last] == top { DVec3::X } else { DVec3::ZERO };
                system.add_boundary_load(&lid, &mut load)?;
            }
        }
        Ok(load)
    }

    fn errors(&self, flow: &Flow) -> Result<Option<FlowErrors>> {
        let largest_divergence = flow.largest_divergence()?;
        let Self::Vortex(vortex) = *self else {
            return Ok(Some(FlowErrors { velocity: None, pressure_l2: None, largest_divergence }));
        };
        let mesh = flow.pressure().space().mesh();
        let exact = Exact::new(vortex, mesh);
        let components: Vec<_> = (0..mesh.dim()).map(|component| Velocity { exact: &exact, component }).collect();
        let components: Vec<_> = components.iter().map(|component| component as &dyn ExactSolution).collect();
        Ok(Some(FlowErrors {
            velocity: Some(flow.velocity_error_to(&components)?),
            pressure_l2: Some(flow.pressure().error_to(&Pressure { exact: &exact })?.l2),
            largest_divergence,
        }))
    }
}

/// [`Vortex`] on a box.
struct Exact {
    vortex: Vortex,
    lengths: [f64; 3],
    dim: usize,
    /// Of each order of derivatives of `φ`, the polynomial beside the Gaussian.
    polynomials: [[f64; Self::COEFFICIENTS]; Self::ORDERS],
}

impl Exact {
    /// Derivatives of `φ` up to the third.
    const ORDERS: usize = 4;
    /// Each has one degree more, from 4 on.
    const COEFFICIENTS: usize = 4 + Self::ORDERS;

    fn new(vortex: Vortex, mesh: &Mesh) -> Self {
        let Vortex { mu, sigma } = vortex;
        let mut polynomials = [[0.0; Self::COEFFICIENTS]; Self::ORDERS];
        polynomials[0][2..5].copy_from_slice(&[1.0, -2.0, 1.0]);
        for order in 1..Self::ORDERS {
            // (p e)' = (p' - 2 (t - μ) / σ² p) e for a polynomial p and the Gaussian e.
            let (before, next) = polynomials.split_at_mut(order);
            let (before, next, factor) = (&before[order - 1], &mut next[0], 2.0 / (sigma * sigma));
            for power in 0..Self::COEFFICIENTS {
                let slope = before.get(power + 1).map_or(0.0, |coefficient| (power + 1) as f64 * coefficient);
                let lower = if power > 0 { before[power - 1] } else { 0.0 };
                next[power] = slope + factor * (mu * before[power] - lower);
            }
        }
        Self { vortex, lengths: mesh.lengths(), dim: mesh.dim(), polynomials }
    }

    /// A derivative of `φ(x / l)`.
    fn factor(&self, direction: usize, x: f64, order: usize) -> f64 {
        let (Vortex { mu, sigma }, l) = (self.vortex, self.lengths[direction]);
        let t = x / l;
        let value = self.polynomials[order].iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
        let gaussian = (-(t - mu).powi(2) / (sigma * sigma)).exp() / (2.0 * PI * sigma * sigma).sqrt();
        value * gaussian / l.powi(order as i32)
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
    fn right_hand_side(&self, component: usize, system: &Stokes) -> Vec<Term<'_>> {
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

    fn pressure(&self, point: DVec3, orders: [usize; 3]) -> f64 {
        (0..self.dim).map(|d| self.pressure_factor(d, point[d], orders[d])).product()
    }
}

/// A derivative of `ψ` or of the pressure, times a number.
struct Term<'a> {
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

    fn factors(&self) -> Option<&dyn Factors> {
        Some(self)
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
struct Velocity<'a> {
    exact: &'a Exact,
    component: usize,
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

struct Pressure<'a> {
    exact: &'a Exact,
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
