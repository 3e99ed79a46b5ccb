//! Functions on the unit square and cube, and the model problems made of them.

use crate::error::{Error, Result};
use crate::space::Space;
use glam::DVec3;
use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// A scalar function on the unit square or cube; any closure `Fn(DVec3) -> f64` is one. In 2D the third coordinate is 0.
pub trait Field: Sync {
    /// The value at a point.
    fn value(&self, point: DVec3) -> f64;
    /// The factors, if the function is a product of functions of one coordinate each: with them, integrals over the mesh
    /// need values on three lines instead of in the whole domain.
    fn factors(&self) -> Option<&dyn Factors> {
        None
    }
}

impl<F: Fn(DVec3) -> f64 + Sync> Field for F {
    fn value(&self, point: DVec3) -> f64 {
        self(point)
    }
}

/// `f(x, y, z) = f_0(x) f_1(y) f_2(z)`; in 2D without the last one.
pub trait Factors: Sync {
    /// `f_direction(x)`.
    fn factor(&self, direction: usize, x: f64) -> f64;
    /// Its derivative.
    fn factor_derivative(&self, direction: usize, x: f64) -> f64;
}

/// A known solution: a field with its gradient.
pub trait ExactSolution: Field {
    /// The gradient at a point; in 2D its third component counts for nothing.
    fn gradient(&self, point: DVec3) -> DVec3;
}

/// `f = c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant(pub f64);

impl Field for Constant {
    fn value(&self, _point: DVec3) -> f64 {
        self.0
    }
    fn factors(&self) -> Option<&dyn Factors> {
        Some(self)
    }
}

impl Factors for Constant {
    fn factor(&self, direction: usize, _x: f64) -> f64 {
        if direction == 0 { self.0 } else { 1.0 }
    }
    fn factor_derivative(&self, _direction: usize, _x: f64) -> f64 {
        0.0
    }
}

/// `scale sin(πx) sin(πy) [sin(πz)]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SineProduct {
    /// 2 or 3.
    pub dim: usize,
    /// The value in the middle.
    pub scale: f64,
}

impl SineProduct {
    fn scale_of(&self, direction: usize) -> f64 {
        if direction == 0 { self.scale } else { 1.0 }
    }
}

impl Field for SineProduct {
    fn value(&self, point: DVec3) -> f64 {
        (0..self.dim.min(3)).map(|d| self.factor(d, point[d])).product()
    }
    fn factors(&self) -> Option<&dyn Factors> {
        Some(self)
    }
}

impl Factors for SineProduct {
    fn factor(&self, direction: usize, x: f64) -> f64 {
        self.scale_of(direction) * (PI * x).sin()
    }
    fn factor_derivative(&self, direction: usize, x: f64) -> f64 {
        self.scale_of(direction) * PI * (PI * x).cos()
    }
}

impl ExactSolution for SineProduct {
    fn gradient(&self, point: DVec3) -> DVec3 {
        let dim = self.dim.min(3);
        let component = |along: usize| {
            let factor = |d: usize| {
                if d == along { self.factor_derivative(d, point[d]) } else { self.factor(d, point[d]) }
            };
            if along < dim { (0..dim).map(factor).product() } else { 0.0 }
        };
        DVec3::new(component(0), component(1), component(2))
    }
}

/// `scale cos(πx) cos(πy) [cos(πz)]`: the product of sines, half a unit further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosineProduct {
    /// 2 or 3.
    pub dim: usize,
    /// The value in the origin.
    pub scale: f64,
}

impl CosineProduct {
    fn sine(&self) -> SineProduct {
        SineProduct { dim: self.dim, scale: self.scale }
    }
}

impl Field for CosineProduct {
    fn value(&self, point: DVec3) -> f64 {
        self.sine().value(point + 0.5)
    }
    fn factors(&self) -> Option<&dyn Factors> {
        Some(self)
    }
}

impl Factors for CosineProduct {
    fn factor(&self, direction: usize, x: f64) -> f64 {
        self.sine().factor(direction, x + 0.5)
    }
    fn factor_derivative(&self, direction: usize, x: f64) -> f64 {
        self.sine().factor_derivative(direction, x + 0.5)
    }
}

impl ExactSolution for CosineProduct {
    fn gradient(&self, point: DVec3) -> DVec3 {
        self.sine().gradient(point + 0.5)
    }
}

/// A model problem `-Δu = f` with given `u` on the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// `f = 1`, `u = 0` on the boundary; the solution has no closed form.
    One,
    /// `u = prod_i sin(πx_i)`, zero on the boundary, so `f = d π² u`.
    Sine,
    /// `u = prod_i cos(πx_i)`, not zero on the boundary, so `f = d π² u`.
    Cosine,
}

impl Problem {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Sine, Self::Cosine];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Sine => "sine",
            Self::Cosine => "cosine",
        }
    }

    /// `f`, in `dim` dimensions.
    pub fn right_hand_side(self, dim: usize) -> Box<dyn Field> {
        match self {
            Self::One => Box::new(Constant(1.0)),
            Self::Sine => Box::new(SineProduct { dim, scale: dim as f64 * PI * PI }),
            Self::Cosine => Box::new(CosineProduct { dim, scale: dim as f64 * PI * PI }),
        }
    }

    /// `u` on the boundary, where it is not zero.
    pub fn boundary_values(self, dim: usize) -> Option<Box<dyn Field>> {
        match self {
            Self::One | Self::Sine => None,
            Self::Cosine => Some(Box::new(CosineProduct { dim, scale: 1.0 })),
        }
    }

    /// Whether functions of a space can have its boundary values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if they cannot.
    pub fn check(self, space: &Space) -> Result<()> {
        match (self.boundary_values(space.dim()), space) {
            (Some(_), Space::Continuous(_)) => Err(Error::InvalidArgument {
                name: "problem",
                value: self.name().into(),
                allowed: "zero on the boundary with continuous elements: one or sine".into(),
            }),
            _ => Ok(()),
        }
    }

    /// `u`, where it is known.
    pub fn solution(self, dim: usize) -> Option<Box<dyn ExactSolution>> {
        match self {
            Self::One => None,
            Self::Sine => Some(Box::new(SineProduct { dim, scale: 1.0 })),
            Self::Cosine => Some(Box::new(CosineProduct { dim, scale: 1.0 })),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Problem {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|problem| problem.name() == name).ok_or_else(|| Error::InvalidArgument {
            name: "problem",
            value: name.into(),
            allowed: Self::ALL.map(Self::name).join(", "),
        })
    }
}
