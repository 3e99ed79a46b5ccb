//! Functions on rectangles and boxes, and the model problems made of them.

use crate::error::{Error, Result};
use crate::mesh::Mesh;
use glam::DVec3;
use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// A scalar function on a rectangle or a box; any closure `Fn(DVec3) -> f64` is one. In 2D the third coordinate is 0.
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

/// `scale sin(πx / l_x) sin(πy / l_y) [sin(πz / l_z)]`, zero on the boundary of the box of side lengths `l`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SineProduct {
    /// 2 or 3.
    pub dim: usize,
    /// The value in the middle.
    pub scale: f64,
    /// `l`; in 2D the third counts for nothing.
    pub lengths: DVec3,
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
        self.scale_of(direction) * (PI * x / self.lengths[direction]).sin()
    }
    fn factor_derivative(&self, direction: usize, x: f64) -> f64 {
        let length = self.lengths[direction];
        self.scale_of(direction) * (PI / length) * (PI * x / length).cos()
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

/// `scale cos(πx / l_x) cos(πy / l_y) [cos(πz / l_z)]`: the product of sines, half a box further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosineProduct {
    /// 2 or 3.
    pub dim: usize,
    /// The value in the origin.
    pub scale: f64,
    /// `l`; in 2D the third counts for nothing.
    pub lengths: DVec3,
}

impl CosineProduct {
    fn sine(&self) -> SineProduct {
        SineProduct { dim: self.dim, scale: self.scale, lengths: self.lengths }
    }

    fn half(&self) -> DVec3 {
        0.5 * self.lengths
    }
}

impl Field for CosineProduct {
    fn value(&self, point: DVec3) -> f64 {
        self.sine().value(point + self.half())
    }
    fn factors(&self) -> Option<&dyn Factors> {
        Some(self)
    }
}

impl Factors for CosineProduct {
    fn factor(&self, direction: usize, x: f64) -> f64 {
        self.sine().factor(direction, x + self.half()[direction])
    }
    fn factor_derivative(&self, direction: usize, x: f64) -> f64 {
        self.sine().factor_derivative(direction, x + self.half()[direction])
    }
}

impl ExactSolution for CosineProduct {
    fn gradient(&self, point: DVec3) -> DVec3 {
        self.sine().gradient(point + self.half())
    }
}

/// A model problem `-Δu = f` with given `u` on the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// `f = 1`, `u = 0` on the boundary; the solution has no closed form.
    One,
    /// `u = prod_i sin(πx_i / l_i)` on the box of side lengths `l`, zero on the boundary, so `f = π² sum_i 1 / l_i² u`.
    Sine,
    /// `u = prod_i cos(πx_i / l_i)`, not zero on the boundary, so `f = π² sum_i 1 / l_i² u`.
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

    /// `f` on a mesh's box.
    pub fn right_hand_side(self, mesh: &Mesh) -> Box<dyn Field> {
        let lengths = &mesh.lengths()[..mesh.dim()];
        let scale = lengths.iter().map(|length| 1.0 / (length * length)).sum::<f64>() * PI * PI;
        match self {
            Self::One => Box::new(Constant(1.0)),
            Self::Sine => Box::new(sine(mesh, scale)),
            Self::Cosine => Box::new(cosine(mesh, scale)),
        }
    }

    /// `u` on the boundary of a mesh's box, where it is not zero.
    pub fn boundary_values(self, mesh: &Mesh) -> Option<Box<dyn Field>> {
        match self {
            Self::One | Self::Sine => None,
            Self::Cosine => Some(Box::new(cosine(mesh, 1.0))),
        }
    }

    /// `u` on a mesh's box, where it is known.
    pub fn solution(self, mesh: &Mesh) -> Option<Box<dyn ExactSolution>> {
        match self {
            Self::One => None,
            Self::Sine => Some(Box::new(sine(mesh, 1.0))),
            Self::Cosine => Some(Box::new(cosine(mesh, 1.0))),
        }
    }
}

fn sine(mesh: &Mesh, scale: f64) -> SineProduct {
    SineProduct { dim: mesh.dim(), scale, lengths: DVec3::from_array(mesh.lengths()) }
}

fn cosine(mesh: &Mesh, scale: f64) -> CosineProduct {
    CosineProduct { dim: mesh.dim(), scale, lengths: DVec3::from_array(mesh.lengths()) }
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
