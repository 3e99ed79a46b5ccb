//! Problems with known solutions, or with values of other programs.

use super::equation::{Diffusion, Equation};
use super::flux::{Flux, MinimalSurface};
use super::problem::EllipticProblem;
use crate::choice::named_choice;
use crate::error::Result;
use crate::forest::CoarseMesh;
use crate::problem::{ExactSolution, Field};
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;
use std::sync::Arc;

/// Problems of paper 3 and of deal.II's tutorials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Benchmark {
    /// `-Δu = 0` with `u = r^(2/3) sin(2/3 φ)` around the corner of an L, or the edge of an extruded one (paper 3, section 4.1).
    Corner,
    /// `u = sin(π(x + y))`, `κ = 1 + 10^6 prod_e cos²(2π x_e + e / 10)`, `e` from 1 to the dimension (paper 3, section 4.2).
    Shell,
    /// `f = 1`, `u = 0` on the boundary, `κ = 1 + 1/2 prod_e sin 2π x_e`, for the unit cube.
    Variable,
    /// The same `κ` and `f`, `u = xy` on the boundary, but no flux where `x = 1`.
    VariableNeumann,
    /// The same with `κ ∂u/∂n = 1` where `x = 1`.
    VariableFlux,
    /// `-Δu = 1`, `u = 0` where `x = -1` and no flux through the rest of the boundary (paper 3, section 4.1).
    HyperL,
    /// The graph of least area with `u = sin(frequency π(x + y))` on the boundary (paper 3, section 4.3).
    MinimalSurface {
        /// 1 in the paper's text, 2 in its tables.
        frequency: u32,
    },
}

/// Sides that are unlike the others, as [`Benchmark::number_sides`] numbers them.
const OTHER_SIDE: u32 = 1;

impl Benchmark {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Corner,
        Self::Shell,
        Self::Variable,
        Self::VariableNeumann,
        Self::VariableFlux,
        Self::HyperL,
        Self::MinimalSurface { frequency: 1 },
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corner => "corner",
            Self::Shell => "shell",
            Self::Variable => "variable",
            Self::VariableNeumann => "variable-neumann",
            Self::VariableFlux => "variable-flux",
            Self::HyperL => "hyper-l",
            Self::MinimalSurface { .. } => "minimal-surface",
        }
    }

    /// Gives the sides of a mesh their numbers.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the mesh does not have the side.
    pub fn number_sides(self, mesh: &mut CoarseMesh) -> Result<()> {
        match self {
            Self::VariableNeumann | Self::VariableFlux => mesh.set_boundary_where(OTHER_SIDE, |point| point.x == 1.0),
            Self::HyperL => mesh.set_boundary_where(OTHER_SIDE, |point| point.x == -1.0),
            _ => Ok(()),
        }
    }

    /// Coefficients and kinds of sides.
    pub fn equation(self, dim: usize) -> Equation {
        let natural = match self {
            Self::VariableNeumann | Self::VariableFlux => BTreeSet::from([OTHER_SIDE]),
            Self::HyperL => BTreeSet::from([0]),
            _ => BTreeSet::new(),
        };
        let diffusion = match self {
            Self::Corner | Self::HyperL | Self::MinimalSurface { .. } => Diffusion::scalar(|_| 1.0),
            Self::Shell => Diffusion::scalar(move |point| shell_coefficient(dim, point)),
            _ => Diffusion::scalar(move |point| {
                1.0 + 0.5 * (0..dim).map(|d| (2.0 * PI * point[d]).sin()).product::<f64>()
            }),
        };
        let flux = match self {
            Self::MinimalSurface { .. } => Some(Arc::new(MinimalSurface) as Arc<dyn Flux>),
            _ => None,
        };
        Equation { natural, diffusion, flux, ..Equation::default() }
    }

    /// Right-hand side, data and solution.
    pub fn problem(self, dim: usize) -> EllipticProblem {
        let mut problem = match self {
            Self::Corner | Self::MinimalSurface { .. } => EllipticProblem::new(|_| 0.0),
            Self::Shell => EllipticProblem::new(move |point| shell_right_hand_side(dim, point)),
            _ => EllipticProblem::new(|_| 1.0),
        };
        match self {
            Self::Corner => problem = problem.with_exact(0, Corner),
            Self::Shell => problem = problem.with_exact(0, Wave),
            Self::VariableNeumann | Self::VariableFlux => {
                problem.values = BTreeMap::from([(0, Arc::new(|point: DVec3| point.x * point.y) as _)]);
            }
            Self::MinimalSurface { frequency } => {
                let wave = move |point: DVec3| (f64::from(frequency) * PI * (point.x + point.y)).sin();
                problem.values = BTreeMap::from([(0, Arc::new(wave) as _)]);
            }
            Self::Variable | Self::HyperL => {}
        }
        if self == Self::VariableFlux {
            problem.fluxes = BTreeMap::from([(OTHER_SIDE, Arc::new(|_| 1.0) as _)]);
        }
        problem
    }
}

named_choice!(Benchmark, "problem");

/// `r^(2/3) sin(2/3 φ)`, `φ` from one side of the re-entrant corner at the origin to the other; 0 where the L has no points.
#[derive(Clone, Copy, Debug)]
struct Corner;

impl Field for Corner {
    fn value(&self, point: DVec3) -> f64 {
        if point.x >= 0.0 && point.y >= 0.0 {
            return 0.0;
        }
        point.truncate().length().powf(2.0 / 3.0) * (2.0 / 3.0 * (PI + point.y.atan2(-point.x))).sin()
    }
}

impl ExactSolution for Corner {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let (angle, r) = (PI + point.y.atan2(-point.x), point.truncate().length());
        let (sin, cos) = (2.0 / 3.0 * angle).sin_cos();
        let [outward, around] = [DVec3::new(point.x, point.y, 0.0), DVec3::new(point.y, -point.x, 0.0)].map(|v| v / r);
        2.0 / 3.0 * r.powf(-1.0 / 3.0) * (sin * outward + cos * around)
    }
}

/// `sin(π(x + y))`.
#[derive(Clone, Copy, Debug)]
struct Wave;

impl Field for Wave {
    fn value(&self, point: DVec3) -> f64 {
        (PI * (point.x + point.y)).sin()
    }
}

impl ExactSolution for Wave {
    fn gradient(&self, point: DVec3) -> DVec3 {
        PI * (PI * (point.x + point.y)).cos() * DVec3::new(1.0, 1.0, 0.0)
    }
}

const CONTRAST: f64 = 1e6;

/// `2π x_e + e / 10`, `e = d + 1`.
fn shell_angle(point: DVec3, d: usize) -> f64 {
    2.0 * PI * point[d] + 0.1 * (d as f64 + 1.0)
}

fn shell_coefficient(dim: usize, point: DVec3) -> f64 {
    1.0 + CONTRAST * (0..dim).map(|d| shell_angle(point, d).cos().powi(2)).product::<f64>()
}

/// `-∇κ · ∇u - κ Δu`.
fn shell_right_hand_side(dim: usize, point: DVec3) -> f64 {
    let slope = |d: usize| {
        let others = (0..dim).filter(|&e| e != d).map(|e| shell_angle(point, e).cos().powi(2)).product::<f64>();
        let (sin, cos) = shell_angle(point, d).sin_cos();
        -4.0 * PI * CONTRAST * sin * cos * others
    };
    let gradient = Wave.gradient(point);
    let laplace = -2.0 * PI * PI * Wave.value(point);
    -(0..2).map(|d| slope(d) * gradient[d]).sum::<f64>() - shell_coefficient(dim, point) * laplace
}
