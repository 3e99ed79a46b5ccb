//! Functions on rectangles and boxes.

use crate::backend::{Function, Operation, Program, Step};
use glam::DVec3;
use std::f64::consts::PI;

/// A scalar function on a rectangle or a box; any closure `Fn(DVec3) -> f64` is one. In 2D the third coordinate is 0.
pub trait Field: Sync {
    /// The value at a point.
    fn value(&self, point: DVec3) -> f64;
    /// The products, if the function is a sum of products of functions of one coordinate each: with them, integrals over the
    /// mesh need values on three lines for each product instead of in the whole domain.
    fn products(&self) -> Option<Vec<&dyn Factors>> {
        None
    }
    /// The function as a program, if it is one that a machine can evaluate in its own memory.
    fn program(&self) -> Option<Program> {
        None
    }
}

impl Field for Program {
    fn value(&self, point: DVec3) -> f64 {
        Self::value(self, point)
    }
    fn program(&self) -> Option<Program> {
        Some(self.clone())
    }
}

impl ExactSolution for Program {
    fn gradient(&self, point: DVec3) -> DVec3 {
        Self::gradient(self, point)
    }
}

impl<F: Fn(DVec3) -> f64 + Sync> Field for F {
    fn value(&self, point: DVec3) -> f64 {
        self(point)
    }
}

/// A product `f_0(x) f_1(y) f_2(z)`; in 2D without the last factor.
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
    fn products(&self) -> Option<Vec<&dyn Factors>> {
        Some(vec![self])
    }
    fn program(&self) -> Option<Program> {
        Some(Program::constant(self.0))
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

impl ExactSolution for Constant {
    fn gradient(&self, _point: DVec3) -> DVec3 {
        DVec3::ZERO
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

    /// The product at a point that is moved by so much.
    fn program_from(&self, start: DVec3) -> Option<Program> {
        let (multiply, divide) = (Step::Two(Operation::Multiply), Step::Two(Operation::Divide));
        let factor = |d: usize| {
            let coordinate = [Step::Coordinate(d), Step::Constant(start[d]), Step::Two(Operation::Add)];
            let argument = [Step::Constant(PI), multiply, Step::Constant(self.lengths[d]), divide];
            [&coordinate[..], &argument, &[Step::One(Function::Sin), multiply]].concat()
        };
        let factors = (0..self.dim.min(3)).flat_map(factor);
        Program::new([Step::Constant(self.scale)].into_iter().chain(factors)).ok()
    }
}

impl Field for SineProduct {
    fn value(&self, point: DVec3) -> f64 {
        (0..self.dim.min(3)).map(|d| self.factor(d, point[d])).product()
    }
    fn products(&self) -> Option<Vec<&dyn Factors>> {
        Some(vec![self])
    }
    fn program(&self) -> Option<Program> {
        self.program_from(DVec3::ZERO)
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
    fn products(&self) -> Option<Vec<&dyn Factors>> {
        Some(vec![self])
    }
    fn program(&self) -> Option<Program> {
        self.sine().program_from(self.half())
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
