//! Writing a patch's rows back: patches of different classes share nodes, the first to touch one overwrites it.

use super::batch::Batch;
use super::lanes::{Lanes, MAX_LANES, Vectorized};
use super::sweep::Shared;
use patchmg_device::patch::{Grid, bit, touches_first};
use pulp::Simd;

/// What becomes of a value that a patch contributes to a node.
pub trait Output<T>: Copy + Send + Sync {
    /// `first` is true for the first contribution to a node.
    ///
    /// # Safety
    /// `offset` must lie in the vectors, and no other thread may use it now.
    unsafe fn put(&self, offset: usize, value: T, first: bool);
}

/// `y = sum of contributions`.
#[derive(Clone, Copy)]
pub struct Sum<T> {
    pub y: Shared<T>,
}

impl<T: Vectorized> Output<T> for Sum<T> {
    #[inline(always)]
    unsafe fn put(&self, offset: usize, value: T, first: bool) {
        // SAFETY: the caller's.
        unsafe {
            let y = self.y.pointer().add(offset);
            *y = if first { value } else { *y + value };
        }
    }
}

/// `r = b - sum of contributions`.
#[derive(Clone, Copy)]
pub struct Difference<'a, T> {
    pub b: &'a [T],
    pub r: Shared<T>,
}

impl<T: Vectorized> Output<T> for Difference<'_, T> {
    #[inline(always)]
    unsafe fn put(&self, offset: usize, value: T, first: bool) {
        // SAFETY: the caller's; `b` is as long as `r`.
        unsafe {
            let r = self.r.pointer().add(offset);
            *r = if first { *self.b.get_unchecked(offset) } else { *r } - value;
        }
    }
}

/// [`Sum`] or [`Difference`], known when a row is written: one kernel serves both.
#[derive(Clone, Copy)]
pub enum SumOrDifference<'a, T> {
    Sum(Sum<T>),
    Difference(Difference<'a, T>),
}

/// Where the rows of a class's patches go.
#[derive(Clone, Copy)]
pub struct ClassRows<'a, O> {
    /// The patches.
    pub batch: &'a Batch,
    /// Their offsets.
    pub offsets: &'a [usize; MAX_LANES],
    /// Where nodes are stored.
    pub grid: Grid,
    /// Their class.
    pub class: u32,
    /// What is done with the values.
    pub output: O,
}

impl<O> ClassRows<'_, O> {
    /// Puts row `(y, z)` of all patches; nodes on the domain boundary are left out. In 2D, `z` is `None`.
    ///
    /// # Safety
    /// The patches must have `N` nodes a direction in the grid that the output's vectors belong to.
    #[inline(always)]
    pub unsafe fn put<S: Simd, T: Vectorized, const N: usize>(&self, row: &[Lanes<S, T>; N], y: usize, z: Option<usize>)
    where
        O: Output<T>,
    {
        let is_end = |node: usize| node == 0 || node + 1 == N;
        let mut first = touches_first(bit(self.class, 1), is_end(y));
        if let Some(z) = z {
            first &= touches_first(bit(self.class, 2), is_end(z));
        }
        let end_first = first && touches_first(bit(self.class, 0), true);
        let offset = self.grid.offset_3d(0, y, z.unwrap_or(0));
        let rows = Lanes::transpose(row);
        for lane in 0..self.batch.active {
            let boundary = |direction, node| self.batch.on_boundary(lane, direction, node, N);
            if boundary(1, y) || z.is_some_and(|z| boundary(2, z)) {
                continue;
            }
            let base = self.offsets[lane] + offset;
            // SAFETY: the caller's; patches of a class share no node.
            unsafe {
                if !boundary(0, 0) {
                    self.output.put(base, rows[lane][0], end_first);
                }
                for x in 1..N - 1 {
                    self.output.put(base + x, rows[lane][x], first);
                }
                if !boundary(0, N - 1) {
                    self.output.put(base + N - 1, rows[lane][N - 1], end_first);
                }
            }
        }
    }
}
