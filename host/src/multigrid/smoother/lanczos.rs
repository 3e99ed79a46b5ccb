//! Eigenvalues of `P A` by Lanczos' method, `P` being a preconditioner.

use super::preconditioning::Preconditioning;
use crate::backend::{Backend, Scalar, unit_roundoff};
use crate::error::{Error, Result};
use crate::level::Level;

/// A direction is in the null space if `|p · A p|` is at most so many unit roundoffs times the largest eigenvalue times `p · P⁻¹ p`. On boxes of 4
/// cells a direction, in `f32`, it is at most 0.5 in the null space, and at least 11 elsewhere.
const ROUNDING: f64 = 8.0;

/// The tridiagonal matrix that the coefficients of conjugate gradients give (Saad, Iterative Methods for Sparse Linear Systems,
/// section 6.7.3). Its eigenvalues lie between those of `P A`; the smallest falls with each step, and the largest rises.
pub(super) struct Lanczos<'a, B: Backend, S: Scalar> {
    level: &'a dyn Level<B, S>,
    preconditioner: &'a Preconditioning<B, S>,
    residual: &'a mut B::Vector<S>,
    direction: &'a mut B::Vector<S>,
    /// `P r`, then `A p`.
    work: &'a mut B::Vector<S>,
    matrix: Tridiagonal,
    first_product: f64,
    last_product: f64,
    last_alpha: f64,
    /// `p · P⁻¹ p`.
    square: f64,
    /// Whether another step would be rounding.
    is_exhausted: bool,
}

impl<'a, B: Backend, S: Scalar> Lanczos<'a, B, S> {
    /// For the right-hand side in `residual`; these vectors change.
    pub fn new(
        level: &'a dyn Level<B, S>,
        preconditioner: &'a Preconditioning<B, S>,
        residual: &'a mut B::Vector<S>,
        [direction, work]: [&'a mut B::Vector<S>; 2],
    ) -> Self {
        let matrix = Tridiagonal::default();
        let [first_product, last_product, last_alpha, square] = [0.0; 4];
        Self {
            level,
            preconditioner,
            residual,
            direction,
            work,
            matrix,
            first_product,
            last_product,
            last_alpha,
            square,
            is_exhausted: false,
        }
    }

    /// Goes on until there are so many steps in all; fewer if the Krylov space then holds the solution, or a vector of the null space: the
    /// right-hand side need not be orthogonal to constants.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if it meets a negative eigenvalue; those of the backend.
    pub fn advance(&mut self, steps: usize) -> Result<&Tridiagonal> {
        let Self { level, preconditioner, residual, direction, work, matrix, .. } = self;
        let backend = level.backend();
        while matrix.diagonal.len() < steps && !self.is_exhausted {
            preconditioner.axpby(*level, level.storage(), 1.0, residual, 0.0, work)?;
            let product = backend.dot(residual, work)?;
            let is_first = matrix.diagonal.is_empty();
            if is_first {
                self.first_product = product;
            } else if product <= self.first_product * f64::from(f32::EPSILON).powi(2) {
                // What is left is rounding.
                self.is_exhausted = true;
                break;
            }
            let beta = if is_first { 0.0 } else { product / self.last_product };
            backend.axpby(1.0, work, beta, direction)?;
            level.apply(direction, work)?;
            let energy = backend.dot(direction, work)?;
            // The residual is orthogonal to the last direction.
            self.square = product + beta * beta * self.square;
            if energy.abs() <= ROUNDING * unit_roundoff::<S>() * matrix.largest_entry() * self.square {
                self.is_exhausted = true;
                break;
            }
            if energy <= 0.0 {
                return Err(Error::NotPositiveDefinite { what: "operator" });
            }
            let alpha = product / energy;
            let mut entry = 1.0 / alpha;
            if !is_first {
                entry += beta / self.last_alpha;
                matrix.off_diagonal.push(beta.sqrt() / self.last_alpha);
            }
            matrix.diagonal.push(entry);
            backend.axpby(-alpha, work, 1.0, residual)?;
            (self.last_product, self.last_alpha) = (product, alpha);
        }
        Ok(matrix)
    }
}

/// A symmetric tridiagonal matrix.
#[derive(Debug, Default)]
pub(super) struct Tridiagonal {
    diagonal: Vec<f64>,
    off_diagonal: Vec<f64>,
}

impl Tridiagonal {
    /// Its order.
    pub fn order(&self) -> usize {
        self.diagonal.len()
    }

    /// The largest entry of the diagonal, a lower bound of the largest eigenvalue; 0 if there is none.
    fn largest_entry(&self) -> f64 {
        self.diagonal.iter().copied().fold(0.0, f64::max)
    }

    /// The smallest eigenvalue, where all are positive.
    pub fn smallest(&self) -> f64 {
        self.eigenvalue(1)
    }

    /// The largest eigenvalue, where all are positive.
    pub fn largest(&self) -> f64 {
        self.eigenvalue(self.order())
    }

    /// The `number`-th eigenvalue, ascending from 1, by bisection (Golub and Van Loan, *Matrix Computations*, section 8.4.1).
    fn eigenvalue(&self, number: usize) -> f64 {
        let off = |i: Option<&f64>| i.map_or(0.0, |entry| entry.abs());
        let rows = self.diagonal.iter().enumerate();
        // Gershgorin's theorem.
        let above = rows.map(|(i, entry)| {
            entry + off(self.off_diagonal.get(i)) + off(i.checked_sub(1).and_then(|i| self.off_diagonal.get(i)))
        });
        let (mut lower, mut upper) = (0.0, above.fold(0.0, f64::max));
        loop {
            let middle = 0.5 * (lower + upper);
            if middle <= lower || middle >= upper {
                return upper;
            }
            if self.count_below(middle) >= number { upper = middle } else { lower = middle }
        }
    }

    /// Eigenvalues below a number: negative pivots of what is left when it is subtracted from the diagonal.
    fn count_below(&self, number: f64) -> usize {
        let squares = std::iter::once(0.0).chain(self.off_diagonal.iter().map(|entry| entry * entry));
        let (mut pivot, mut count) = (1.0, 0);
        for (entry, square) in self.diagonal.iter().zip(squares) {
            pivot = entry - number - square / pivot;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of the second difference are `2 - 2 cos(iπ / (n + 1))`.
    #[test]
    fn eigenvalues_are_found() {
        for n in [1, 2, 7, 300] {
            let matrix = Tridiagonal { diagonal: vec![2.0; n], off_diagonal: vec![-1.0; n - 1] };
            for number in [1, n.div_ceil(2), n] {
                let half = number as f64 * std::f64::consts::FRAC_PI_2 / (n as f64 + 1.0);
                let (found, expected) = (matrix.eigenvalue(number), 4.0 * half.sin().powi(2));
                assert!((found / expected - 1.0).abs() < 1e-11, "{n}, {number}: {found}, not {expected}");
            }
            assert_eq!((matrix.smallest(), matrix.largest()), (matrix.eigenvalue(1), matrix.eigenvalue(n)));
        }
    }
}
