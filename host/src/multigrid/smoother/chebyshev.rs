//! Chebyshev iteration, preconditioned by the diagonal or by patches of cells.

use super::Smoother;
use super::lanczos::Lanczos;
use super::preconditioning::Preconditioning;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::level::{Level, SharedLevel};
use crate::operator::vector_bytes;

/// Steps of the estimate of the largest eigenvalue.
const ESTIMATE_STEPS: usize = 10;
/// The estimate is from below; so many times as large is taken for an upper bound.
const SAFETY: f64 = 1.2;
/// The least number of steps, and the most, of the estimate of the smallest eigenvalue. Each time that they are doubled, it falls; it
/// is taken when it falls by less than [`SETTLED`].
const SMALLEST_STEPS: [usize; 2] = [32, 1 << 12];
const SETTLED: f64 = 0.1;

/// Chebyshev iteration of degree `m` for `P A`, `P` being the inverse diagonal of `A` or [patches of cells](Level::cell_patches)
/// (Saad, Iterative Methods for Sparse Linear Systems, algorithm 12.1; Adams, Brezina, Hu and Tuminaro, J. Comput. Phys. 188, 2003).
///
/// A step multiplies the error by `T_m((θ - P A) / δ) / T_m(θ / δ)`, small on `[θ - δ, θ + δ] = [b / range, b]`. The
/// bound `b` is 1.2 times the largest eigenvalue that 10 steps of Lanczos' method find, the coefficients being those of
/// conjugate gradients for a right-hand side whose unknown `i` is `i mod 11 - 5`: as in deal.II.
pub struct Chebyshev<B: Backend, S: Scalar> {
    level: SharedLevel<B, S>,
    degree: usize,
    range: f64,
    /// If degree and range follow from estimates: by what the energy norm of every error is multiplied at most.
    reduction: Option<f64>,
    scaled: Scaled<B, S>,
}

impl<B: Backend, S: Scalar> Chebyshev<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates, for vectors of `storage` entries.
    pub fn bytes(storage: usize, is_nonlinear: bool) -> u64 {
        Scaled::<B, S>::bytes(storage, is_nonlinear)
    }

    /// Over the diagonal of a level; estimates the largest eigenvalue.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if the estimate meets a negative eigenvalue; those of the backend.
    pub fn new(level: &SharedLevel<B, S>, degree: usize, range: f64) -> Result<Self> {
        Self::over(level, Preconditioning::Diagonal(level.inverse_diagonal()?), degree, range)
    }

    /// The same over patches of cells.
    ///
    /// # Errors
    /// Those of [`Self::new`] and [`Level::cell_patches`].
    pub fn over_cell_patches(level: &SharedLevel<B, S>, degree: usize, range: f64) -> Result<Self> {
        Self::over(level, Preconditioning::CellPatches, degree, range)
    }

    fn over(
        level: &SharedLevel<B, S>,
        preconditioner: Preconditioning<B, S>,
        degree: usize,
        range: f64,
    ) -> Result<Self> {
        let scaled = Scaled::new(&**level, preconditioner, false)?;
        Ok(Self { level: level.clone(), degree, range, reduction: None, scaled })
    }

    /// Over the diagonal and for all eigenvalues, of the degree that multiplies the energy norm of every error by `reduction` at most: estimates the
    /// smallest one, too.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub(in crate::multigrid) fn solver(level: &SharedLevel<B, S>, reduction: f64) -> Result<Self> {
        let scaled = Scaled::new(&**level, Preconditioning::Diagonal(level.inverse_diagonal()?), true)?;
        let mut own = Self { level: level.clone(), degree: 1, range: 1.0, reduction: Some(reduction), scaled };
        own.follow_estimates();
        Ok(own)
    }

    /// Sets degree and range by the estimates, if they are not given.
    fn follow_estimates(&mut self) {
        if let Some(reduction) = self.reduction {
            self.range = self.scaled.bound / self.scaled.smallest;
            let [center, radius] = self.center_and_radius();
            self.degree = ((1.0 / reduction).acosh() / (center / radius).acosh()).ceil() as usize;
        }
    }

    /// `θ` and `δ`.
    fn center_and_radius(&self) -> [f64; 2] {
        let Self { range, scaled: Scaled { bound, .. }, .. } = self;
        [0.5 * (bound + bound / range), 0.5 * (bound - bound / range)]
    }

    /// `[θ - δ, θ + δ]`.
    pub fn interval(&self) -> [f64; 2] {
        let [center, radius] = self.center_and_radius();
        [center - radius, center + radius]
    }
}

/// What iterations for `P A` need: an upper bound of its eigenvalues, and two vectors whose entries mean nothing.
pub(super) struct Scaled<B: Backend, S: Scalar> {
    pub preconditioner: Preconditioning<B, S>,
    pub bound: f64,
    /// A lower bound, or 0 if it was not asked for.
    smallest: f64,
    pub residual: B::Vector<S>,
    pub direction: B::Vector<S>,
    /// On a level that can be linearized: the estimate's right-hand side, and its work space.
    again: Option<[B::Vector<S>; 2]>,
}

impl<B: Backend, S: Scalar> Scaled<B, S> {
    /// Bytes of the vectors that [`Self::new`] allocates. The estimate gives one back where there is only one estimate.
    pub fn bytes(storage: usize, is_nonlinear: bool) -> u64 {
        vector_bytes::<S>(if is_nonlinear { 5 } else { 4 }, storage)
    }

    /// With a bound of the eigenvalues, or with one of either side for `of_all`.
    ///
    /// # Errors
    /// Those of [`Lanczos::advance`].
    pub fn new(level: &dyn Level<B, S>, preconditioner: Preconditioning<B, S>, of_all: bool) -> Result<Self> {
        let mut residual = level.vector_of(&mut |i| (i % 11) as f64 - 5.0)?;
        let (mut direction, mut work) = (level.vector()?, level.vector()?);
        let again = match level.nonlinear() {
            Err(_) => None,
            Ok(_) => {
                let mut start = level.vector()?;
                level.backend().axpby(1.0, &residual, 0.0, &mut start)?;
                Some(start)
            }
        };
        let vectors = [&mut direction, &mut work];
        let [smallest, bound] = bounds(level, &preconditioner, &mut residual, vectors, of_all)?;
        Ok(Self { preconditioner, bound, smallest, residual, direction, again: again.map(|start| [start, work]) })
    }

    /// For the level's operator, which has changed.
    ///
    /// # Errors
    /// Those of [`Self::new`], and of a level that cannot be linearized.
    pub fn update(&mut self, level: &dyn Level<B, S>) -> Result<()> {
        let Self { preconditioner, bound, smallest, residual, direction, again } = self;
        preconditioner.update(level)?;
        if let Some([start, work]) = again {
            level.backend().axpby(1.0, start, 0.0, residual)?;
            [*smallest, *bound] = bounds(level, preconditioner, residual, [direction, work], *smallest > 0.0)?;
        }
        Ok(())
    }
}

/// Bounds of the eigenvalues of `P A`, for the right-hand side in `residual`; 0 for a lower one that is not asked for.
fn bounds<B: Backend, S: Scalar>(
    level: &dyn Level<B, S>,
    preconditioner: &Preconditioning<B, S>,
    residual: &mut B::Vector<S>,
    vectors: [&mut B::Vector<S>; 2],
    of_all: bool,
) -> Result<[f64; 2]> {
    let mut lanczos = Lanczos::new(level, preconditioner, residual, vectors);
    if !of_all {
        return Ok([0.0, SAFETY * lanczos.advance(ESTIMATE_STEPS)?.largest()]);
    }
    let [mut steps, most] = SMALLEST_STEPS;
    let mut smallest = lanczos.advance(steps)?.smallest();
    loop {
        steps *= 2;
        let matrix = lanczos.advance(steps)?;
        let last = std::mem::replace(&mut smallest, matrix.smallest());
        if smallest > (1.0 - SETTLED) * last || steps >= most {
            return Ok([smallest, SAFETY * matrix.largest()]);
        }
    }
}

impl<B: Backend, S: Scalar> Chebyshev<B, S> {
    /// A step, from `x` or from 0.
    fn iterate(&mut self, from_zero: bool, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        let [center, radius] = self.center_and_radius();
        let Self { level, scaled: Scaled { preconditioner, residual, direction, .. }, .. } = self;
        let (backend, entries) = (level.backend(), level.smoothed_entries());
        let ratio = center / radius;
        let mut rho = 1.0 / ratio;
        let mut factors = (1.0 / center, 0.0);
        if from_zero {
            backend.set_zero(x)?;
        }
        for number in 0..self.degree {
            let (of_residual, of_direction) = factors;
            // The residual of 0 is `b`.
            let (residual, of_x) = if from_zero && number == 0 {
                (b, 0.0)
            } else {
                level.smoothed_residual(b, x, residual)?;
                (&*residual, 1.0)
            };
            preconditioner.axpby(&**level, entries, of_residual, residual, of_direction, direction)?;
            backend.axpby_first(entries, 1.0, direction, of_x, x)?;
            let next = 1.0 / (2.0 * ratio - rho);
            factors = (2.0 * next / radius, next * rho);
            rho = next;
        }
        Ok(())
    }
}

impl<B: Backend, S: Scalar> Smoother<B, S> for Chebyshev<B, S> {
    fn step(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.iterate(false, b, x)
    }

    fn step_from_zero(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.iterate(true, b, x)
    }

    fn step_adjoint(&mut self, b: &B::Vector<S>, x: &mut B::Vector<S>) -> Result<()> {
        self.step(b, x)
    }

    fn update(&mut self) -> Result<()> {
        self.scaled.update(&*self.level)?;
        self.follow_estimates();
        Ok(())
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn level(&self) -> &dyn Level<B, S> {
        &*self.level
    }
}
