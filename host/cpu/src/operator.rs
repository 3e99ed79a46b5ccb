//! `y = A x` and `r = b - A x`, patch by patch over the tiling: in 2D `A = S ⊗ M + M ⊗ S` on a patch, in 3D
//! `A = S ⊗ M ⊗ M + M ⊗ S ⊗ M + M ⊗ M ⊗ S`, by sum factorization (two and seven 1D products a column).
//!
//! Constants are in the null space of a patch's `A`: it is applied to `x` less the value at the patch's middle node, so that
//! rounding is relative to what `x` varies on a patch, and the result for a constant is exactly zero.

use super::batch::{Batch, Patches};
use super::lanes::{Lanes, Vectorized};
use super::scatter::{ClassRows, SumOrDifference};
use super::sweep::PatchKernel;
use super::workspace::workspace;
use patchmg_device::matrices::OperatorMatrices;
use patchmg_device::patch::Grid;
use pulp::Simd;

/// One class of the operator.
pub struct Apply<'a, T, const N: usize, const C: usize> {
    pub matrices: &'a OperatorMatrices<T, N, C>,
    pub patches: &'a Patches,
    pub class: u32,
    pub x: &'a [T],
    pub output: SumOrDifference<'a, T>,
}

/// [`Apply`] in 2D.
pub struct Apply2d<'a, T, const N: usize, const C: usize>(pub Apply<'a, T, N, C>);
/// [`Apply`] in 3D.
pub struct Apply3d<'a, T, const N: usize, const C: usize>(pub Apply<'a, T, N, C>);

impl<T: Vectorized, const N: usize, const C: usize> Apply<'_, T, N, C> {
    /// Writes row `(y, z)` of the result.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn put<S: Simd>(&self, batch: &Batch, row: &[Lanes<S, T>; N], y: usize, z: Option<usize>) {
        let (offsets, grid, class) = (&batch.fine.now, self.patches.grid, self.class);
        // SAFETY: the caller's.
        unsafe {
            match self.output {
                SumOrDifference::Sum(output) => ClassRows { batch, offsets, grid, class, output }.put(row, y, z),
                SumOrDifference::Difference(output) => ClassRows { batch, offsets, grid, class, output }.put(row, y, z),
            }
        }
    }

    /// `M` and `S` times row `(y, z)` of the patches less `shift`.
    ///
    /// # Safety
    /// As for [`PatchKernel::run`].
    #[inline(always)]
    unsafe fn along_x<S: Simd>(&self, batch: &Batch, y: usize, z: usize, shift: Lanes<S, T>) -> [[Lanes<S, T>; N]; 2] {
        // SAFETY: a patch's nodes are stored, in the guard if need be.
        let row = unsafe { less(shift, self.x, batch, self.patches.grid.offset_3d(0, y, z)) };
        [self.matrices.mass.apply(&row), self.matrices.stiffness.apply(&row)]
    }
}

workspace! {
    /// The tensor after the contraction along `x` with `M` and with `S`, `[y][x]`.
    pub struct Workspace2d<V, const N: usize> {
        mass: [[V; N]; N],
        stiffness: [[V; N]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> PatchKernel<T> for Apply2d<'_, T, N, C> {
    type Workspace<S: Simd> = Workspace2d<Lanes<S, T>, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let OperatorMatrices { mass, stiffness } = self.0.matrices;
        // SAFETY: the caller's.
        let shift = unsafe { middle::<S, T, N>(self.0.x, batch, self.0.patches.grid, 2) };
        for y in 0..N {
            // SAFETY: the caller's.
            [work.mass[y], work.stiffness[y]] = unsafe { self.0.along_x(batch, y, 0, shift) };
        }
        for x in 0..N {
            let (m, s) = (column(|y| work.mass[y][x]), column(|y| work.stiffness[y][x]));
            let sum: [_; N] = stiffness.apply_sum(&m, mass, &s);
            for y in 0..N {
                work.mass[y][x] = sum[y];
            }
        }
        for y in 0..N {
            // SAFETY: the caller's.
            unsafe { self.0.put(batch, &work.mass[y], y, None) };
        }
    }
}

workspace! {
    /// A plane after the contraction along `x`, `[y][x]`; the tensor after those along `x` and `y`, `[z][y][x]`: with
    /// `M` in both, and with `S` in one of them, summed; rows of the result, `[z][x]`.
    pub struct Workspace3d<V, const N: usize> {
        mass: [[V; N]; N],
        stiffness: [[V; N]; N],
        mass_mass: [[[V; N]; N]; N],
        mass_stiffness: [[[V; N]; N]; N],
        result: [[V; N]; N],
    }
}

impl<T: Vectorized, const N: usize, const C: usize> PatchKernel<T> for Apply3d<'_, T, N, C> {
    type Workspace<S: Simd> = Workspace3d<Lanes<S, T>, N>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let OperatorMatrices { mass, stiffness } = self.0.matrices;
        // SAFETY: the caller's.
        let shift = unsafe { middle::<S, T, N>(self.0.x, batch, self.0.patches.grid, 3) };
        for z in 0..N {
            for y in 0..N {
                // SAFETY: the caller's.
                [work.mass[y], work.stiffness[y]] = unsafe { self.0.along_x(batch, y, z, shift) };
            }
            for x in 0..N {
                let (m, s) = (column(|y| work.mass[y][x]), column(|y| work.stiffness[y][x]));
                let (mm, ms): ([_; N], [_; N]) = (mass.apply(&m), stiffness.apply_sum(&m, mass, &s));
                for y in 0..N {
                    work.mass_mass[z][y][x] = mm[y];
                    work.mass_stiffness[z][y][x] = ms[y];
                }
            }
        }
        for y in 0..N {
            for x in 0..N {
                let (mm, ms) = (column(|z| work.mass_mass[z][y][x]), column(|z| work.mass_stiffness[z][y][x]));
                let sum: [_; N] = stiffness.apply_sum(&mm, mass, &ms);
                for z in 0..N {
                    work.result[z][x] = sum[z];
                }
            }
            for z in 0..N {
                // SAFETY: the caller's.
                unsafe { self.0.put(batch, &work.result[z], y, Some(z)) };
            }
        }
    }
}

/// The value of `x` at the middle node of patches with `N` nodes a direction.
///
/// # Safety
/// As for [`PatchKernel::run`].
#[inline(always)]
pub unsafe fn middle<S: Simd, T: Vectorized, const N: usize>(
    x: &[T],
    batch: &Batch,
    grid: Grid,
    dim: usize,
) -> Lanes<S, T> {
    let node = |direction: usize| if direction < dim { N / 2 } else { 0 };
    // SAFETY: a patch's nodes are stored.
    let [value] = unsafe { Lanes::gather(x.as_ptr(), &batch.fine, grid.offset_3d(node(0), node(1), node(2))) };
    value
}

/// The `N` nodes of `x` from an offset in the patches on, less `shift`.
///
/// # Safety
/// As for [`PatchKernel::run`].
#[inline(always)]
pub unsafe fn less<S: Simd, T: Vectorized, const N: usize>(
    shift: Lanes<S, T>,
    x: &[T],
    batch: &Batch,
    offset: usize,
) -> [Lanes<S, T>; N] {
    // SAFETY: the caller's.
    let nodes: [_; N] = unsafe { Lanes::gather(x.as_ptr(), &batch.fine, offset) };
    column(|i| nodes[i] - shift)
}

/// `[entry(0), .., entry(N - 1)]`.
#[inline(always)]
pub fn column<V: Copy, const N: usize>(entry: impl Fn(usize) -> V) -> [V; N] {
    let mut column = [entry(0); N];
    for i in 1..N {
        column[i] = entry(i);
    }
    column
}
