//! Functions of a point as lists of operations, which a GPU compiles.

use super::Scalar;
use super::cpu::parallel::try_for_each_chunk;
use crate::error::{Result, check_at_least, check_length, invalid};
use glam::DVec3;
use std::convert::Infallible;

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Negative,
    Sin,
    Cos,
    Tan,
    Exp,
    /// To the base e.
    Log,
    Sqrt,
    Abs,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Negative, Self::Sin, Self::Cos, Self::Tan, Self::Exp, Self::Log, Self::Sqrt, Self::Abs];
}

/// A function of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    /// Not a number if an argument is none, other than [`f64::min`].
    Min,
    /// As [`Self::Min`].
    Max,
    /// The angle of the point `(x, y)`, of `y` and `x`.
    Atan2,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Add, Self::Subtract, Self::Multiply, Self::Divide, Self::Power, Self::Min, Self::Max, Self::Atan2];
}

/// A step of a [`Program`], which works on a stack of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Puts a number on the stack.
    Constant(f64),
    /// Puts a coordinate of the point on the stack: 0 for x, 1 for y, 2 for z.
    Coordinate(usize),
    /// Replaces the last number.
    One(Function),
    /// Replaces the last two numbers, the last one being the second argument.
    Two(Operation),
}

/// A function of a point by operations one after the other, in postfix notation. Machines can evaluate it in their own memory
/// ([`Backend::evaluate`](super::Backend::evaluate)).
///
/// ```
/// use patchmg::backend::{Function, Operation, Program, Step};
///
/// # fn main() -> patchmg::Result<()> {
/// // exp(x * y)
/// let steps = [Step::Coordinate(0), Step::Coordinate(1), Step::Two(Operation::Multiply), Step::One(Function::Exp)];
/// let program = Program::new(steps)?;
/// assert_eq!(program.value([0.5, 3.0, 0.0].into()), 1.5_f64.exp());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    steps: Vec<Step>,
    /// Numbers that are on the stack at a time.
    depth: usize,
}

/// Stacks of so many numbers are no allocation.
const SHALLOW: usize = 16;
/// Points that a thread takes at a time.
const PIECE: usize = 256;

impl Program {
    /// From its steps, which leave one number.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) if a step finds too few numbers, for a coordinate other than 0, 1 and 2,
    /// and if not one number is left.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Result<Self> {
        let steps: Vec<_> = steps.into_iter().collect();
        let (mut numbers, mut depth) = (0, 0);
        for (index, step) in steps.iter().enumerate() {
            let taken = match *step {
                Step::Coordinate(coordinate) if coordinate > 2 => {
                    return Err(invalid("coordinate of a program", coordinate, "0, 1 or 2"));
                }
                Step::Constant(_) | Step::Coordinate(_) => 0,
                Step::One(_) => 1,
                Step::Two(_) => 2,
            };
            if numbers < taken {
                return Err(invalid("step of a program", format!("{index}: {step:?}"), "one that finds its arguments"));
            }
            numbers = numbers - taken + 1;
            depth = depth.max(numbers);
        }
        if numbers != 1 {
            return Err(invalid("numbers that a program leaves", numbers, 1));
        }
        Ok(Self { steps, depth })
    }

    /// The same number everywhere.
    pub fn constant(value: f64) -> Self {
        Self { steps: vec![Step::Constant(value)], depth: 1 }
    }

    /// Its steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The value at a point.
    pub fn value(&self, point: DVec3) -> f64 {
        self.run(&point.to_array())
    }

    /// The gradient at a point, by dual numbers. Where there is none, as of `abs(x)` for `x = 0`, it is that of one side.
    pub fn gradient(&self, point: DVec3) -> DVec3 {
        let dual = |d: usize| Dual { value: point[d], gradient: [0, 1, 2].map(|e| f64::from(e == d)) };
        self.run(&[0, 1, 2].map(dual)).gradient.into()
    }

    fn run<T: Number>(&self, point: &[T; 3]) -> T {
        if self.depth <= SHALLOW {
            self.run_on(&mut [T::constant(0.0); SHALLOW], point)
        } else {
            self.run_on(&mut vec![T::constant(0.0); self.depth], point)
        }
    }

    fn run_on<T: Number>(&self, stack: &mut [T], point: &[T; 3]) -> T {
        let mut top = 0;
        for step in &self.steps {
            match *step {
                Step::Constant(value) => {
                    stack[top] = T::constant(value);
                    top += 1;
                }
                Step::Coordinate(coordinate) => {
                    stack[top] = point[coordinate];
                    top += 1;
                }
                Step::One(function) => stack[top - 1] = function.of(stack[top - 1]),
                Step::Two(operation) => {
                    top -= 1;
                    stack[top - 1] = operation.of(stack[top - 1], stack[top]);
                }
            }
        }
        stack[0]
    }
}

/// A number that carries derivatives along, or does not.
trait Number: Copy {
    fn constant(value: f64) -> Self;
    fn value(self) -> f64;
    /// `f(self)`, from `f` and `f'` there.
    fn one(self, value: f64, slope: impl FnOnce() -> f64) -> Self;
    /// `f(self, other)`, from `f` and its partial derivatives there.
    fn two(self, other: Self, value: f64, slopes: impl FnOnce() -> [f64; 2]) -> Self;
}

impl Number for f64 {
    fn constant(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn one(self, value: f64, _: impl FnOnce() -> f64) -> Self {
        value
    }

    fn two(self, _: Self, value: f64, _: impl FnOnce() -> [f64; 2]) -> Self {
        value
    }
}

#[derive(Clone, Copy)]
struct Dual {
    value: f64,
    gradient: [f64; 3],
}

/// A derivative that does not count may be infinite, as that of `x^2` by its exponent.
fn times(slope: f64, derivative: f64) -> f64 {
    if derivative == 0.0 { 0.0 } else { slope * derivative }
}

impl Number for Dual {
    fn constant(value: f64) -> Self {
        Self { value, gradient: [0.0; 3] }
    }

    fn value(self) -> f64 {
        self.value
    }

    fn one(self, value: f64, slope: impl FnOnce() -> f64) -> Self {
        let slope = slope();
        Self { value, gradient: self.gradient.map(|derivative| times(slope, derivative)) }
    }

    fn two(self, other: Self, value: f64, slopes: impl FnOnce() -> [f64; 2]) -> Self {
        let [a, b] = slopes();
        let gradient = [0, 1, 2].map(|d| times(a, self.gradient[d]) + times(b, other.gradient[d]));
        Self { value, gradient }
    }
}

// `backend/cuda/expression/code.rs` writes the same as PTX.
impl Function {
    fn of<T: Number>(self, argument: T) -> T {
        let x = argument.value();
        match self {
            Self::Negative => argument.one(-x, || -1.0),
            Self::Sin => argument.one(x.sin(), || x.cos()),
            Self::Cos => argument.one(x.cos(), || -x.sin()),
            Self::Tan => argument.one(x.tan(), || 1.0 + x.tan().powi(2)),
            Self::Exp => argument.one(x.exp(), || x.exp()),
            Self::Log => argument.one(x.ln(), || 1.0 / x),
            Self::Sqrt => argument.one(x.sqrt(), || 0.5 / x.sqrt()),
            Self::Abs => argument.one(x.abs(), || x.signum()),
        }
    }
}

impl Operation {
    fn of<T: Number>(self, first: T, second: T) -> T {
        let (a, b) = (first.value(), second.value());
        let choose = |is_first: bool| if is_first { first } else { second };
        match self {
            Self::Add => first.two(second, a + b, || [1.0, 1.0]),
            Self::Subtract => first.two(second, a - b, || [1.0, -1.0]),
            Self::Multiply => first.two(second, a * b, || [b, a]),
            Self::Divide => first.two(second, a / b, || [1.0 / b, -a / (b * b)]),
            Self::Power => first.two(second, a.powf(b), || [b * a.powf(b - 1.0), a.powf(b) * a.ln()]),
            // Unlike f64::min and max, these hide no NaN.
            Self::Min => choose(a <= b || a.is_nan()),
            Self::Max => choose(a >= b || a.is_nan()),
            Self::Atan2 => first.two(second, a.atan2(b), || [b / (a * a + b * b), -a / (a * a + b * b)]),
        }
    }
}

/// Points of a tensor grid: all combinations of coordinates along x, y and z, x fastest. Each has a weight, the product of those of
/// its coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedGrid {
    sizes: [usize; 3],
    /// Along x, y and z, one after the other.
    points: Vec<f64>,
    weights: Vec<f64>,
}

impl WeightedGrid {
    /// From coordinates and their weights along x, y and z; axes that are left out, such as the third one in 2D, have the point 0 with
    /// the weight 1.
    ///
    /// # Errors
    /// [`SizeMismatch`](crate::Error::SizeMismatch) unless there is a weight for each coordinate.
    pub fn new(axes: &[[&[f64]; 2]]) -> Result<Self> {
        let axes = [0, 1, 2].map(|d| axes.get(d).copied().unwrap_or([&[0.0], &[1.0]]));
        for [points, weights] in axes {
            check_length("weights of coordinates", points.len(), weights.len())?;
        }
        Ok(Self {
            sizes: axes.map(|[points, _]| points.len()),
            points: axes.map(|[points, _]| points).concat(),
            weights: axes.map(|[_, weights]| weights).concat(),
        })
    }

    /// Coordinates along x, y and z.
    pub fn sizes(&self) -> [usize; 3] {
        self.sizes
    }

    /// Points.
    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Coordinates and weights as a GPU takes them: those along x, those along y and those along z, one after the other.
    #[cfg(feature = "cuda")]
    pub(crate) fn axes(&self) -> [&[f64]; 2] {
        [&self.points, &self.weights]
    }

    /// That a function has such a derivative, and that there is an entry for each point.
    pub(crate) fn check(&self, derivative: Option<usize>, entries: usize) -> Result<()> {
        if let Some(direction) = derivative.filter(|&direction| direction > 2) {
            return Err(invalid("direction of a derivative", direction, "0, 1 or 2"));
        }
        check_at_least("y", self.len(), entries)
    }

    /// The point of an index, and its weight.
    fn at(&self, index: usize) -> (DVec3, f64) {
        let [x, y, _] = self.sizes;
        let place = [index % x, x + index / x % y, x + y + index / (x * y)];
        (DVec3::from_array(place.map(|i| self.points[i])), place.iter().map(|&i| self.weights[i]).product())
    }

    /// [`Backend::evaluate`](super::Backend::evaluate) for a vector as long as the grid, by the threads of the caller.
    pub(crate) fn evaluate<T: Scalar>(&self, f: &Program, derivative: Option<usize>, y: &mut [T], subtract: bool) {
        let Ok(()) = try_for_each_chunk(y, PIECE, |piece, y| {
            for (index, y) in y.iter_mut().enumerate() {
                let (point, weight) = self.at(piece * PIECE + index);
                let value = derivative.map_or_else(|| f.value(point), |d| f.gradient(point)[d]);
                *y = T::from_f64(weight * value - if subtract { y.to_f64() } else { 0.0 });
            }
            Ok::<_, Infallible>(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_do_not_leave_one_number_are_refused() {
        let add = Step::Two(Operation::Add);
        for (steps, part) in [
            (&[][..], "numbers that a program leaves is 0"),
            (&[Step::Constant(1.0), Step::Coordinate(0)], "numbers that a program leaves is 2"),
            (&[Step::Constant(1.0), add], "1: Two(Add)"),
            (&[Step::One(Function::Exp)], "0: One(Exp)"),
            (&[Step::Coordinate(3)], "coordinate of a program is 3"),
        ] {
            let message = Program::new(steps.iter().copied()).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_deep_stack_gives_the_same() {
        let count = 3 * SHALLOW;
        let numbers = (0..count).map(|_| Step::Coordinate(1));
        let sums = (1..count).map(|_| Step::Two(Operation::Add));
        let program = Program::new(numbers.chain(sums)).unwrap();
        let point = DVec3::new(0.0, 0.5, 0.0);
        assert_eq!(program.value(point), 0.5 * count as f64);
        assert_eq!(program.gradient(point), DVec3::new(0.0, count as f64, 0.0));
    }

    #[test]
    fn points_of_a_grid_have_products_of_weights() {
        let axes = [[&[1.0, 2.0][..], &[3.0, 4.0]], [&[5.0, 6.0, 7.0], &[1.0, 2.0, 3.0]]];
        let grid = WeightedGrid::new(&axes).unwrap();
        assert_eq!((grid.sizes(), grid.len()), ([2, 3, 1], 6));
        assert_eq!(grid.at(3), (DVec3::new(2.0, 6.0, 0.0), 8.0));
        let f = Program::new([Step::Coordinate(0), Step::Coordinate(1), Step::Two(Operation::Multiply)]).unwrap();
        let mut y = [f64::NAN; 6];
        grid.evaluate(&f, None, &mut y, false);
        assert_eq!(y, [15.0, 40.0, 36.0, 96.0, 63.0, 168.0]);
        grid.evaluate(&f, Some(1), &mut y, true);
        assert_eq!(y[2..4], [6.0 - 36.0, 16.0 - 96.0]);
        assert!(WeightedGrid::new(&[[&[1.0], &[]]]).is_err());
        assert!(grid.check(Some(2), 6).is_ok() && grid.check(None, 5).is_err());
        assert!(grid.check(Some(3), 6).unwrap_err().to_string().contains("direction of a derivative is 3"));
    }
}
