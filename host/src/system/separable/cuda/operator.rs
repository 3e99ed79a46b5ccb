//! The operator by kernels.

use super::super::Separable;
use super::super::level::Products;
use super::{Cells, Common};
use crate::backend::Scalar;
use crate::backend::cuda::launch::{Chunk, TypedKernel};
use crate::backend::cuda::{Cuda, Vector};
use crate::error::Result;
use patchmg_device::patch::Directions;
use patchmg_device::{separable, typed};
use std::sync::Arc;

/// Most layers of cells that a block has one after the other.
pub const LONGEST_CHUNK: u32 = 32;

/// What the kernels of a kind of cells take besides vectors.
pub trait Matrices<T: Scalar>: Send + Sync {
    const CELLS: Cells;
    type Apply: typed::Arguments<Scalar = T>;
    type Residual: typed::Arguments<Scalar = T>;

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, launch: Launch) -> Self::Apply;

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>, launch: Launch) -> Self::Residual;
}

/// What they take of a level, and layers of cells of a block.
#[derive(Clone, Copy)]
pub struct Launch {
    pub directions: Directions,
    pub chunk: u32,
}

/// The operator's kernels of a level.
pub struct Operator<T: Scalar, M: Matrices<T>> {
    level: Common,
    matrices: M,
    apply: TypedKernel<M::Apply>,
    residual: TypedKernel<M::Residual>,
    /// Of both.
    chunks: [Chunk; 2],
}

impl<T: Scalar, M: Matrices<T>> Operator<T, M> {
    pub fn new(cuda: &Arc<Cuda>, system: &Separable, matrices: M) -> Result<Self> {
        let (level, gpu) = (Common::new(cuda, system), &cuda.gpu);
        let longest = LONGEST_CHUNK.min(level.directions.0[level.dim - 1].output_cells());
        let (apply, residual) = (M::CELLS.kernel(gpu, system)?, M::CELLS.kernel(gpu, system)?);
        Ok(Self { level, matrices, apply, residual, chunks: [longest; 2].map(Chunk::at_most) })
    }
}

fn blocks<T: Scalar>(level: &Common, chunk: u32) -> [u32; 3] {
    separable::operator_blocks::<T>(level.dim, level.degree, level.directions, chunk)
}

impl<T: Scalar, M: Matrices<T>> Products<Cuda, T> for Operator<T, M> {
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let level = &self.level;
        level.check(&[("x", x), ("y", y)])?;
        let chunk = self.apply.chunk(&level.cuda.gpu, &self.chunks[0], |chunk| blocks::<T>(level, chunk))?;
        let arguments = self.matrices.apply(x, y, Launch { directions: level.directions, chunk });
        // SAFETY: vectors of the level, checked above, two of them, and its matrices.
        unsafe { self.apply.launch(&level.cuda.gpu, blocks::<T>(level, chunk), arguments) }
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        let level = &self.level;
        level.check(&[("b", b), ("x", x), ("r", r)])?;
        let chunk = self.residual.chunk(&level.cuda.gpu, &self.chunks[1], |chunk| blocks::<T>(level, chunk))?;
        let arguments = self.matrices.residual(b, x, r, Launch { directions: level.directions, chunk });
        // SAFETY: as above.
        unsafe { self.residual.launch(&level.cuda.gpu, blocks::<T>(level, chunk), arguments) }
    }
}
