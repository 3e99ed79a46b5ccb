//! Values at the nodes of the next coarser mesh, each from one cell of the finer one: a child of the coarse cell, or the same cell.

use super::lines::{Halves, Place, Tensor};
use super::newton::read_line;
use super::{HangingLines, NONE, STAYS};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::ptr::ldg;
use cuda_std::thread::sync_threads;

/// The 1D matrices, by rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParentMatrices<T, const N: usize> {
    /// From the nodes of each child to those nodes of its parent that lie in it; other rows are 0.
    pub parents: Halves<T, N>,
    /// Of lines that hang.
    pub halves: Halves<T, N>,
}

/// See [`Interpolate`](super::Interpolate) and, for cells with lines that hang, [`InterpolateHanging`](super::InterpolateHanging).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize, hanging: bool) -> Block {
    Block {
        threads: Place::<DIM, N>::STEP,
        min_blocks: 1,
        shared_bytes: Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: (DIM - 1) * if hanging { 2 } else { 1 },
    }
}

/// See [`Interpolate`](super::Interpolate).
///
/// # Safety
/// One block for each group of the tables, with the threads of [`block`]. Nodes are entries of `u`; a target is [`NONE`] or an entry of
/// `coarse`, and no entry is a target twice.
#[inline(always)]
pub unsafe fn interpolate<T: Real, const DIM: usize, const N: usize>(
    matrices: &ParentMatrices<T, N>,
    nodes: *const u32,
    children: *const u32,
    targets: *const u32,
    u: *const T,
    coarse: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    // SAFETY: the caller's promise.
    unsafe {
        let u = read_line(nodes, place, u);
        to_parents(&matrices.parents, children, targets, place, u, coarse);
    }
}

/// See [`InterpolateHanging`](super::InterpolateHanging).
///
/// # Safety
/// As for [`interpolate`].
#[inline(always)]
pub unsafe fn interpolate_hanging<T: Real, const DIM: usize, const N: usize>(
    matrices: &ParentMatrices<T, N>,
    nodes: *const u32,
    lines: *const u32,
    children: *const u32,
    targets: *const u32,
    u: *const T,
    coarse: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    // SAFETY: the caller's promise.
    unsafe {
        let lines = HangingLines(ldg(lines.add(place.slot())));
        let u = Tensor::new(0, place).interpolate(&matrices.halves, lines, read_line(nodes, place, u));
        to_parents(&matrices.parents, children, targets, place, u, coarse);
    }
}

/// From lines along the last direction to those along x.
///
/// # Safety
/// As for [`interpolate`].
#[inline(always)]
unsafe fn to_parents<T: Real, const DIM: usize, const N: usize>(
    parents: &Halves<T, N>,
    children: *const u32,
    targets: *const u32,
    place: Place<DIM, N>,
    u: [T; N],
    coarse: *mut T,
) {
    let (own, last) = (Tensor::new(0, place), DIM - 1);
    // SAFETY: the caller's promise.
    let child = unsafe { ldg(children.add(place.slot())) };
    let along = |direction: usize, u: [T; N]| match child {
        STAYS => u,
        child => parents.to_child(child >> direction & 1 == 1, &u),
    };
    own.write(last, &along(last, u));
    sync_threads();
    if DIM == 3 {
        own.write(1, &along(1, own.read(1)));
        sync_threads();
    }
    let u = along(0, own.read(0));
    for layer in 0..N {
        // SAFETY: as above; nobody else writes to this target.
        unsafe {
            let target = ldg(targets.add(place.first(1) + layer * Place::<DIM, N>::STEP));
            if target != NONE {
                *coarse.add(target as usize) = u[layer];
            }
        }
    }
}
