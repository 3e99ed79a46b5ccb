//! Writing rows of nodes that no other cell or patch writes.

use crate::batch::{Batch, Offsets};
use crate::lanes::{Lanes, Vectorized};
use crate::sweep::Shared;
use pulp::Simd;

/// `x[offset..][..R] = row` from every active lane's offset on.
///
/// # Safety
/// These entries must lie in the vector, and no other thread may use them now.
#[inline(always)]
pub unsafe fn put<S: Simd, T: Vectorized, const R: usize>(
    row: &[Lanes<S, T>; R],
    x: Shared<T>,
    batch: &Batch,
    lanes: &Offsets,
    offset: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if Lanes::<S, T>::has_blocks::<R>() && batch.active == Lanes::<S, T>::WIDTH {
        // SAFETY: the caller's.
        return unsafe { Lanes::scatter_blocks(row, x.pointer().add(offset), &lanes.now) };
    }
    let rows = Lanes::transpose(row);
    for lane in 0..batch.active {
        for node in 0..R {
            // SAFETY: the caller's.
            unsafe { *x.pointer().add(lanes.now[lane] + offset + node) = rows[lane][node] };
        }
    }
}

/// `x[offset..][..R] += row` from every active lane's offset on.
///
/// # Safety
/// As for [`put`].
#[inline(always)]
pub unsafe fn add<S: Simd, T: Vectorized, const R: usize>(
    row: &[Lanes<S, T>; R],
    x: Shared<T>,
    batch: &Batch,
    lanes: &Offsets,
    offset: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut sum: [Lanes<S, T>; R] = Lanes::gather(x.pointer(), lanes, offset);
        for node in 0..R {
            sum[node] = sum[node] + row[node];
        }
        put(&sum, x, batch, lanes, offset);
    }
}
