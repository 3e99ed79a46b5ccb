//! Writing a patch's rows back: patches of different classes share nodes, the first to touch one overwrites it.
//!
//! As [contractions](super::lines), that of long rows is a function of its own that all kernels share.

use super::batch::Batch;
use super::lanes::{Lanes, MAX_LANES, Vectorized};
use super::sweep::Shared;
use patchmg_device::patch::{Grid, bit, touches_first};
use pulp::{Simd, WithSimd};

/// What becomes of the values that patches contribute to nodes.
#[derive(Clone, Copy)]
pub enum Output<'a, T> {
    /// `y = sum of contributions`.
    Sum { y: Shared<T> },
    /// `r = b - sum of contributions`.
    Difference { b: &'a [T], r: Shared<T> },
}

impl<T: Vectorized> Output<'_, T> {
    /// `first` is true for the first contribution to a node.
    ///
    /// # Safety
    /// `offset` must lie in the vectors, and no other thread may use it now.
    #[inline(always)]
    unsafe fn put(&self, offset: usize, value: T, first: bool) {
        // SAFETY: the caller's; `b` is as long as `r`.
        unsafe {
            match self {
                Self::Sum { y } => {
                    let y = y.pointer().add(offset);
                    *y = if first { value } else { *y + value };
                }
                Self::Difference { b, r } => {
                    let r = r.pointer().add(offset);
                    *r = if first { *b.get_unchecked(offset) } else { *r } - value;
                }
            }
        }
    }
}

/// Where the rows of a class's patches go.
#[derive(Clone, Copy)]
pub struct ClassRows<'a, T> {
    /// The patches.
    pub batch: &'a Batch,
    /// Their offsets.
    pub offsets: &'a [usize; MAX_LANES],
    /// Where nodes are stored.
    pub grid: Grid,
    /// Their class.
    pub class: u32,
    /// What is done with the values.
    pub output: Output<'a, T>,
}

impl<T: Vectorized> ClassRows<'_, T> {
    /// Puts the rows of a plane of all patches; nodes on the domain boundary are left out. In 2D, `y` is `None`; in 3D, the
    /// plane is that of `y`, and its rows lie behind each other in `z`.
    ///
    /// # Safety
    /// The patches must have `N` nodes a direction in the grid that the output's vectors belong to.
    #[inline(always)]
    pub unsafe fn put<S: Simd, const N: usize>(self, plane: &[[Lanes<S, T>; N]; N], y: Option<usize>) {
        Lanes::<S, T>::vectorize::<N, _>(&Put { plane, y, rows: self });
    }

    /// Puts row `(y, z)`. In 2D, `z` is `None`.
    ///
    /// # Safety
    /// As for [`Self::put`].
    #[inline(always)]
    unsafe fn put_row<S: Simd, const N: usize>(&self, row: &[Lanes<S, T>; N], y: usize, z: Option<usize>) {
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

struct Put<'a, S: Simd, T: Vectorized, const N: usize> {
    plane: &'a [[Lanes<S, T>; N]; N],
    y: Option<usize>,
    rows: ClassRows<'a, T>,
}

impl<S: Simd, T: Vectorized, const N: usize> WithSimd for &Put<'_, S, T, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        for (index, row) in self.plane.iter().enumerate() {
            let (y, z) = self.y.map_or((index, None), |y| (y, Some(index)));
            // SAFETY: the caller's of `ClassRows::put`.
            unsafe { self.rows.put_row(row, y, z) };
        }
    }
}
