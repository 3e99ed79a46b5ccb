//! A 1D matrix along one axis of a tensor: `y = (I ⊗ Q ⊗ I) x`, for coarsening in single directions and the solution
//! on the coarsest box.
//!
//! Work is shared out by lines of `y`, or pieces of them, and every entry is one sum in one order: results depend neither
//! on the number of threads nor on the SIMD level.

use super::lanes::Vectorized;
use super::sweep::{Shared, Sweep};
use core::ops::Range;

/// A matrix with at most `width` neighbouring entries a row: row `i` has `entries[t * rows + i]`, `t < count[i]`, in
/// columns `first[i] + t`.
///
/// Behind the entries of a row there are zeros up to `width`; `count[i] <= width`, and `first[i] + width <= columns` for every row.
#[derive(Clone, Debug)]
pub struct AxisMatrix<T> {
    pub rows: usize,
    pub columns: usize,
    pub width: usize,
    pub first: Vec<u32>,
    pub count: Vec<u32>,
    pub entries: Vec<T>,
}

/// Entries of a line that are summed up at a time: as few as stay in the L1 cache, with those of a line of `x`.
const PIECE: usize = 1024;
/// Rows along x that are summed up together, each over as many entries as the longest one has: behind its own there are zeros.
const TOGETHER: usize = 32;

/// `y = (I ⊗ Q ⊗ I) x`, or `y += ..` if `add`: `x` is `[outer][columns][inner]`, `y` is `[outer][rows][inner]`, `inner`
/// fastest. What a vector holds behind these entries is neither read nor written. The sum of an entry is over ascending
/// columns, and with `add` begins with the old value.
///
/// # Panics
/// If a vector is too short, or the matrix is not as [`AxisMatrix`] says.
pub fn apply_along_axis<T: Vectorized>(
    sweep: Sweep,
    matrix: &AxisMatrix<T>,
    inner: usize,
    outer: usize,
    x: &[T],
    y: &mut [T],
    add: bool,
) {
    let &AxisMatrix { rows, columns, width, ref first, ref count, ref entries } = matrix;
    assert!(first.len() == rows && count.len() == rows && entries.len() == rows * width);
    assert!(count.iter().all(|&count| count as usize <= width));
    assert!(first.iter().all(|&first| first as usize + width <= columns));
    let (x, y) = (&x[..outer * columns * inner], &mut y[..outer * rows * inner]);
    if y.is_empty() {
        return;
    }
    let (entries, y) = (outer * rows, Shared::new(y));
    let along = Along { matrix, inner, x, y, add };
    // Along x every line of `y` is a piece. In the other directions all rows take a piece of the same lines one after the
    // other, while it is in cache.
    let pieces = inner.div_ceil(PIECE);
    let (count, each) = if inner == 1 { (outer, rows) } else { (entries * pieces, inner.min(PIECE)) };
    let work = |range: Range<usize>| {
        sweep.simd.dispatch(
            #[inline(always)]
            || {
                for index in range {
                    // SAFETY: pieces lie in `y`, and no two of them have an entry in common.
                    unsafe {
                        if inner == 1 {
                            along.whole_line(index);
                        } else {
                            along.piece(index / (rows * pieces), index % rows, index / rows % pieces);
                        }
                    }
                }
            },
        );
    };
    sweep.share_out(count, each, &work);
}

struct Along<'a, T> {
    matrix: &'a AxisMatrix<T>,
    inner: usize,
    x: &'a [T],
    y: Shared<T>,
    add: bool,
}

impl<T: Vectorized> Along<'_, T> {
    /// Entries of `y`, zero or what they are, to add to.
    ///
    /// # Safety
    /// They must lie in `y`, and nobody else may use them meanwhile.
    #[allow(clippy::mut_from_ref)] // `y` is borrowed as shared among threads, for disjoint entries
    #[inline(always)]
    unsafe fn sums(&self, first: usize, len: usize) -> &mut [T] {
        // SAFETY: the caller's.
        let sums = unsafe { core::slice::from_raw_parts_mut(self.y.pointer().add(first), len) };
        if !self.add {
            sums.fill(T::ZERO);
        }
        sums
    }

    /// All entries of a line of `y` along x.
    ///
    /// # Safety
    /// There must be such a line, and nobody else may use it meanwhile.
    #[inline(always)]
    unsafe fn whole_line(&self, line: usize) {
        let AxisMatrix { rows, columns, first, count, entries, .. } = self.matrix;
        let x = &self.x[line * columns..][..*columns];
        // SAFETY: the caller's.
        let sums = unsafe { self.sums(line * rows, *rows) };
        let groups = sums.chunks_mut(TOGETHER).zip(first.chunks(TOGETHER)).zip(count.chunks(TOGETHER));
        for (group, ((sums, first), count)) in groups.enumerate() {
            for t in 0..count.iter().fold(0, |most: u32, &count| most.max(count)) as usize {
                for ((sum, entry), first) in sums.iter_mut().zip(&entries[t * rows + group * TOGETHER..]).zip(first) {
                    *sum = T::fma(*entry, x[*first as usize + t], *sum);
                }
            }
        }
    }

    /// A piece of row `row` of the result, which lies across the axis.
    ///
    /// # Safety
    /// There must be such a piece, and nobody else may use it meanwhile.
    #[inline(always)]
    unsafe fn piece(&self, outer: usize, row: usize, piece: usize) {
        let (AxisMatrix { rows, columns, first, count, entries, .. }, inner) = (self.matrix, self.inner);
        let start = piece * PIECE;
        let x = &self.x[(outer * columns + first[row] as usize) * inner + start..];
        // SAFETY: the caller's.
        let sums = unsafe { self.sums((outer * rows + row) * inner + start, PIECE.min(inner - start)) };
        for t in 0..count[row] as usize {
            let entry = entries[t * rows + row];
            for (sum, x) in sums.iter_mut().zip(&x[t * inner..]) {
                *sum = T::fma(entry, *x, *sum);
            }
        }
    }
}
