//! Model problems.

use super::{Flow, FlowErrors, Stokes};
use crate::error::{Error, Result};
use crate::memory;
use crate::problem::{ExactSolution, Field, add_boundary_integrals, load_vector_with};
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
        for (component, space) in system.velocity_spaces().iter().enumerate() {
            let block = &mut load[layout.blocks()[component].clone()];
            match self {
                Self::Vortex(vortex) => {
                    let exact = Exact { vortex: *vortex, lengths: mesh.lengths(), dim: mesh.dim() };
                    let f = |point: DVec3| {
                        system.mass() * exact.velocity(component, point, [0; 3])
                            - system.viscosity() * exact.laplacian(component, point)
                            + exact.pressure_gradient(point)[component]
                    };
                    block.copy_from_slice(&load_vector_with(space, &f, MORE_POINTS)?);
                }
                Self::Cavity if component == 0 => {
                    let (last, top) = (mesh.dim() - 1, mesh.lengths()[mesh.dim() - 1]);
                    let lid = |point: DVec3| if point[last] == top { 1.0 } else { 0.0 };
                    add_boundary_integrals(space, &system.tangential_load(0)?, &lid, block)?;
                }
                Self::Cavity => {}
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
        let exact = Exact { vortex, lengths: mesh.lengths(), dim: mesh.dim() };
        let components: Vec<_> = (0..mesh.dim()).map(|component| Velocity { exact, component }).collect();
        let components: Vec<_> = components.iter().map(|component| component as &dyn ExactSolution).collect();
        Ok(Some(FlowErrors {
            velocity: Some(flow.velocity_error_to(&components)?),
            pressure_l2: Some(flow.pressure().error_to(&Pressure { exact })?.l2),
            largest_divergence,
        }))
    }
}

/// [`Vortex`] on a box.
#[derive(Clone, Copy)]
struct Exact {
    vortex: Vortex,
    lengths: [f64; 3],
    dim: usize,
}

impl Exact {
    /// `φ`'s derivative of an order up to 3, at `x / l`, with respect to `x`.
    fn factor(&self, direction: usize, x: f64, order: usize) -> f64 {
        let (Vortex { mu, sigma }, l) = (self.vortex, self.lengths[direction]);
        let t = x / l;
        // (p e)' = (p' - 2 (t - μ) / σ² p) e for a polynomial p and the Gaussian e.
        let mut polynomial = vec![0.0, 0.0, 1.0, -2.0, 1.0];
        for _ in 0..order {
            let mut next = vec![0.0; polynomial.len() + 1];
            for (power, coefficient) in polynomial.iter().enumerate() {
                if power > 0 {
                    next[power - 1] += power as f64 * coefficient;
                }
                next[power] += 2.0 * mu / (sigma * sigma) * coefficient;
                next[power + 1] -= 2.0 / (sigma * sigma) * coefficient;
            }
            polynomial = next;
        }
        let value = polynomial.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
        let gaussian = (-(t - mu).powi(2) / (sigma * sigma)).exp() / (2.0 * PI * sigma * sigma).sqrt();
        value * gaussian / l.powi(order as i32)
    }

    /// A derivative of `ψ`.
    fn stream(&self, point: DVec3, orders: [usize; 3]) -> f64 {
        (0..self.dim).map(|d| self.factor(d, point[d], orders[d])).product()
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

    fn laplacian(&self, component: usize, point: DVec3) -> f64 {
        let second = |d: usize| {
            let mut orders = [0; 3];
            orders[d] = 2;
            self.velocity(component, point, orders)
        };
        (0..self.dim).map(second).sum()
    }

    fn pressure(&self, point: DVec3) -> f64 {
        (0..self.dim).map(|d| (2.0 * PI * point[d] / self.lengths[d]).cos()).product()
    }

    fn pressure_gradient(&self, point: DVec3) -> DVec3 {
        let mut gradient = DVec3::ZERO;
        for along in 0..self.dim {
            gradient[along] = (0..self.dim)
                .map(|d| {
                    let frequency = 2.0 * PI / self.lengths[d];
                    let angle = frequency * point[d];
                    if d == along { -frequency * angle.sin() } else { angle.cos() }
                })
                .product();
        }
        gradient
    }
}

/// A component of the velocity.
struct Velocity {
    exact: Exact,
    component: usize,
}

impl Field for Velocity {
    fn value(&self, point: DVec3) -> f64 {
        self.exact.velocity(self.component, point, [0; 3])
    }
}

impl ExactSolution for Velocity {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let slope = |d: usize| {
            let mut orders = [0; 3];
            orders[d] = 1;
            if d < self.exact.dim { self.exact.velocity(self.component, point, orders) } else { 0.0 }
        };
        DVec3::new(slope(0), slope(1), slope(2))
    }
}

struct Pressure {
    exact: Exact,
}

impl Field for Pressure {
    fn value(&self, point: DVec3) -> f64 {
        self.exact.pressure(point)
    }
}

impl ExactSolution for Pressure {
    fn gradient(&self, point: DVec3) -> DVec3 {
        self.exact.pressure_gradient(point)
    }
}
