//! Transfers between a mesh and the next coarser one: from the nodes of a refined cell to those of its children, one child after the
//! other, and back. A thread has a line of a refined cell.

use super::lines::{Halves, Place, Tensor};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Groups, MinBlocks};
use super::{HangingLines, NONE};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::opaque;
use cuda_std::ptr::ldg;
use cuda_std::thread::sync_threads;

#[cfg(not(target_arch = "nvptx64"))]
const MIN_BLOCKS: MinBlocks =
    MinBlocks([[12, 12, 12, 12, 12, 10, 10, 10], [8, 8, 8, 8, 8, 7, 6, 5]], [[12, 9, 12, 3, 1, 3], [8, 6, 8, 2, 2, 1]]);

/// See [`Prolongate`](super::Prolongate) and [`Restrict`](super::Restrict).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize) -> Block {
    Block {
        threads: Place::<DIM, N>::STEP,
        min_blocks: MIN_BLOCKS.of(Groups::new(DIM, N), scalar_bytes),
        shared_bytes: 2 * Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: 2 * DIM - 1,
    }
}

/// See [`Prolongate`](super::Prolongate).
///
/// # Safety
/// One block for each group of the tables, with the threads of [`block`]; nodes are those of `coarse`, targets [`NONE`] or nodes of `x`, none
/// of them twice.
#[inline(always)]
pub unsafe fn prolongate<T: Real, const DIM: usize, const N: usize>(
    halves: &Halves<T, N>,
    nodes: *const u32,
    lines: *const u32,
    targets: *const u32,
    coarse: *const T,
    x: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    let (first, step, last) = (place.first(1), Place::<DIM, N>::STEP, DIM - 1);
    let [own, other] = [0, 1].map(|number| Tensor::new(number, place));
    let mut u = [T::ZERO; N];
    for layer in 0..N {
        // SAFETY: the caller's promise.
        u[layer] = unsafe { ldg(coarse.add(ldg(nodes.add(first + layer * step)) as usize)) };
    }
    // SAFETY: as above.
    let lines = HangingLines(unsafe { ldg(lines.add(place.slot())) });
    u = own.interpolate(halves, lines, u);
    let mut targets = targets.wrapping_add(place.first(1 << DIM));
    let mut z = 0;
    // Not unrolled.
    while z < opaque(2) {
        let along_last = halves.to_child(z == 1, &u);
        if DIM == 2 {
            other.write(last, &along_last);
            // SAFETY: as above.
            unsafe { add_children(halves, &other, &mut targets, x) };
        } else {
            own.write(last, &along_last);
            sync_threads();
            let mut y = 0;
            while y < opaque(2) {
                other.write(1, &halves.to_child(y == 1, &own.read(1)));
                // SAFETY: as above.
                unsafe { add_children(halves, &other, &mut targets, x) };
                y += 1;
            }
        }
        z += 1;
    }
}

/// Adds to `x` the lines along x of two children side by side.
#[inline(always)]
unsafe fn add_children<T: Real, const DIM: usize, const N: usize>(
    halves: &Halves<T, N>,
    values: &Tensor<T, DIM, N>,
    targets: &mut *const u32,
    x: *mut T,
) {
    sync_threads();
    let along_x = values.read(0);
    let mut child = 0;
    while child < opaque(2) {
        let u = halves.to_child(child == 1, &along_x);
        for layer in 0..N {
            // SAFETY: the caller's promise; nobody else adds to this target.
            unsafe {
                let target = ldg(targets.wrapping_add(layer * Place::<DIM, N>::STEP));
                if target != NONE {
                    let entry = x.add(target as usize);
                    *entry = *entry + u[layer];
                }
            }
        }
        *targets = targets.wrapping_add(N * Place::<DIM, N>::STEP);
        child += 1;
    }
    sync_threads();
}

/// See [`Restrict`](super::Restrict).
///
/// # Safety
/// One block for each group of the tables, with the threads of [`block`]; targets are [`NONE`] or nodes of `r`.
#[inline(always)]
pub unsafe fn restrict<T: Real, const DIM: usize, const N: usize>(
    halves: &Halves<T, N>,
    lines: *const u32,
    targets: *const u32,
    r: *const T,
    sums: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    let (first, step, last) = (place.first(1), Place::<DIM, N>::STEP, DIM - 1);
    let [own, other] = [0, 1].map(|number| Tensor::new(number, place));
    let mut targets = targets.wrapping_add(place.first(1 << DIM));
    let (mut u, mut z) = ([T::ZERO; N], 0);
    // Not unrolled.
    while z < opaque(2) {
        if DIM == 2 {
            // SAFETY: the caller's promise.
            unsafe { sum_children(halves, &other, &mut targets, r) };
            u = halves.add_from_child(z == 1, &other.read(last), u);
            sync_threads();
        } else {
            let (mut along_y, mut y) = ([T::ZERO; N], 0);
            while y < opaque(2) {
                // SAFETY: as above.
                unsafe { sum_children(halves, &other, &mut targets, r) };
                along_y = halves.add_from_child(y == 1, &other.read(1), along_y);
                sync_threads();
                y += 1;
            }
            own.write(1, &along_y);
            sync_threads();
            u = halves.add_from_child(z == 1, &own.read(last), u);
        }
        z += 1;
    }
    // SAFETY: as above.
    let lines = HangingLines(unsafe { ldg(lines.add(place.slot())) });
    u = own.interpolate_transposed(halves, lines, [last, 0], u);
    for layer in 0..N {
        // SAFETY: as above; the place is the thread's own.
        unsafe { *sums.add(first + layer * step) = u[layer] };
    }
}

/// Lines along x of two children side by side, restricted to one.
#[inline(always)]
unsafe fn sum_children<T: Real, const DIM: usize, const N: usize>(
    halves: &Halves<T, N>,
    values: &Tensor<T, DIM, N>,
    targets: &mut *const u32,
    r: *const T,
) {
    let (mut sum, mut child) = ([T::ZERO; N], 0);
    while child < opaque(2) {
        let mut u = [T::ZERO; N];
        for layer in 0..N {
            // SAFETY: the caller's promise.
            unsafe {
                let target = ldg(targets.wrapping_add(layer * Place::<DIM, N>::STEP));
                if target != NONE {
                    u[layer] = ldg(r.add(target as usize));
                }
            }
        }
        sum = halves.add_from_child(child == 1, &u, sum);
        *targets = targets.wrapping_add(N * Place::<DIM, N>::STEP);
        child += 1;
    }
    values.write(0, &sum);
    sync_threads();
}
