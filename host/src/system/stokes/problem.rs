//! Model problems.

use super::exact::{Exact, Pressure, Velocity};
use super::{Flow, FlowErrors, Stokes};
use crate::error::{Error, Result};
use crate::memory;
use crate::mesh::Mesh;
use crate::problem::{ExactSolution, load_vector_with};
use crate::system::{ModelProblem, System};
use glam::DVec3;

/// Points of the load vector's rule a direction beyond `k + 1`. Only if a gradient is integrated accurately does the velocity not see it.
const MORE_POINTS: usize = 3;

/// A model problem of the Stokes equations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Problem {
    /// That of paper 2.
    Vortex(Vortex),
    /// The driven cavity: `f = 0`, and the wall of the upper end of the last direction moves in direction x with velocity 1.
    Cavity,
    /// Vortices as those of Taylor and Green, which turn along the boundary and do not cross it: the curl of `ψ = Π sin(π x_i / l_i) / π`
    /// as in [`Vortex`], on the unit square `(sin πx cos πy, -cos πx sin πy)`, and the pressure `Π cos(2 π x_i / l_i)`. `f` is such
    /// that they are steady.
    TaylorGreen,
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
            Self::TaylorGreen => "taylor-green",
        }
    }

    /// The exact solution, if it is known.
    fn exact(self, mesh: &Mesh) -> Option<Exact> {
        match self {
            Self::Vortex(vortex) => Some(Exact::vortex(vortex, mesh)),
            Self::Cavity => None,
            Self::TaylorGreen => Some(Exact::taylor_green(mesh)),
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
        let Some(exact) = self.exact(mesh) else {
            let (last, top) = (mesh.dim() - 1, mesh.lengths()[mesh.dim() - 1]);
            let lid = |point: DVec3| if point[last] == top { DVec3::X } else { DVec3::ZERO };
            system.add_boundary_load(&lid, &mut load)?;
            return Ok(load);
        };
        for (component, space) in system.velocity_spaces().iter().enumerate() {
            let block = &mut load[layout.blocks()[component].clone()];
            for term in exact.right_hand_side(component, system) {
                let integrals = load_vector_with(space, &term, MORE_POINTS)?;
                block.iter_mut().zip(integrals).for_each(|(sum, integral)| *sum += integral);
            }
        }
        if *self == Self::TaylorGreen {
            system.add_boundary_load(&|point| exact.velocity_at(point), &mut load)?;
        }
        Ok(load)
    }

    fn errors(&self, flow: &Flow) -> Result<Option<FlowErrors>> {
        let largest_divergence = flow.largest_divergence()?;
        let mesh = flow.pressure().space().mesh();
        let Some(exact) = self.exact(mesh) else {
            return Ok(Some(FlowErrors { velocity: None, pressure_l2: None, largest_divergence }));
        };
        let components: Vec<_> = (0..mesh.dim()).map(|component| Velocity { exact: &exact, component }).collect();
        let components: Vec<_> = components.iter().map(|component| component as &dyn ExactSolution).collect();
        Ok(Some(FlowErrors {
            velocity: Some(flow.velocity_error_to(&components)?),
            pressure_l2: Some(flow.pressure().error_to(&Pressure { exact: &exact })?.l2),
            largest_divergence,
        }))
    }
}
