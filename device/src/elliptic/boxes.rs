//! `Cᵀ A_cell C u` of cells that are boxes with a constant coefficient, in the frame of the cell:
//!
//! ```text
//! A_cell = g_x K ⊗ M ⊗ M + g_y M ⊗ K ⊗ M + g_z M ⊗ M ⊗ K + s M ⊗ M ⊗ M,
//! ```
//!
//! with the factor of x first, `g_d = κ det J / h_d²` and `s` times `det J` for sides `h_d`; in 2D without the third factors.

use super::HangingLines;
use super::lines::{BoxMatrices, Place, Tensor, add_times, times};
use super::writes::{Target, read_nodes};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Groups, MinBlocks};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::ptr::ldg;
use cuda_std::thread::sync_threads;

#[cfg(not(target_arch = "nvptx64"))]
const MIN_BLOCKS: MinBlocks =
    MinBlocks([[12, 12, 12, 12, 12, 8, 4, 4], [8, 8, 8, 8, 6, 5, 2, 2]], [[12, 9, 12, 6, 4, 4], [8, 6, 8, 4, 2, 3]]);

/// See [`ApplyBoxes`](super::ApplyBoxes) and, for cells with lines that hang, [`ApplyBoxesHanging`](super::ApplyBoxesHanging).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize, hanging: bool) -> Block {
    let groups = Groups::new(DIM, N);
    Block {
        threads: groups.threads(),
        min_blocks: match hanging {
            true => MIN_BLOCKS.of_hanging(groups, scalar_bytes),
            false => MIN_BLOCKS.of(groups, scalar_bytes),
        },
        shared_bytes: 2 * Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: if hanging { 3 * (DIM - 1) } else { DIM },
    }
}

/// See [`ApplyBoxes`](super::ApplyBoxes).
///
/// # Safety
/// As for [`apply`](super::operator::apply).
#[inline(always)]
pub unsafe fn apply_boxes<T: Real, const DIM: usize, const N: usize>(
    matrices: &BoxMatrices<T, N>,
    nodes: *const u32,
    metric: *const T,
    x: *const T,
    target: Target<T>,
) {
    let (place, last) = (Place::<DIM, N>::of_thread(), DIM - 1);
    // SAFETY: the caller's promise.
    unsafe {
        let u = read_nodes(nodes, place, last, x);
        let u = times_boxes(matrices, metric, place, u);
        target.put::<DIM, N, true>(nodes, Tensor::new(0, place), [last, 0], u);
    }
}

/// See [`ApplyBoxesHanging`](super::ApplyBoxesHanging).
///
/// # Safety
/// As for [`apply`](super::operator::apply).
#[inline(always)]
pub unsafe fn apply_boxes_hanging<T: Real, const DIM: usize, const N: usize>(
    matrices: &BoxMatrices<T, N>,
    nodes: *const u32,
    lines: *const u32,
    metric: *const T,
    x: *const T,
    target: Target<T>,
) {
    let (place, last) = (Place::<DIM, N>::of_thread(), DIM - 1);
    // SAFETY: the caller's promise.
    unsafe {
        let lines = HangingLines(ldg(lines.add(place.slot())));
        let own = Tensor::new(0, place);
        let u = own.interpolate(&matrices.halves, lines, read_nodes(nodes, place, 0, x));
        let u = times_boxes(matrices, metric, place, u);
        let u = own.interpolate_transposed(&matrices.halves, lines, [0, last], u);
        target.put::<DIM, N, false>(nodes, own, [0, last], u);
    }
}

/// From lines along the last direction to those along x.
///
/// # Safety
/// `metric` has the numbers of the thread's cell.
#[inline(always)]
unsafe fn times_boxes<T: Real, const DIM: usize, const N: usize>(
    matrices: &BoxMatrices<T, N>,
    metric: *const T,
    place: Place<DIM, N>,
    u: [T; N],
) -> [T; N] {
    let (last, BoxMatrices { mass, stiffness, .. }) = (DIM - 1, matrices);
    let metric = metric.wrapping_add((DIM + 1) * place.slot());
    // SAFETY: the caller's promise.
    let number = |index: usize| unsafe { ldg(metric.wrapping_add(index)) };
    // `M u` and the terms with one derivative, in the directions that are done.
    let [masses, slopes] = [0, 1].map(|number| Tensor::new(number, place));
    masses.write(last, &times(mass, &u));
    slopes.write(last, &scaled(number(last), times(stiffness, &u)));
    sync_threads();
    if DIM == 3 {
        let (u, of_last) = (masses.read(1), slopes.read(1));
        masses.write(1, &times(mass, &u));
        slopes.write(1, &add_times(mass, &of_last, scaled(number(1), times(stiffness, &u))));
        sync_threads();
    }
    let (u, mut others) = (masses.read(0), slopes.read(0));
    let reaction = number(DIM);
    for layer in 0..N {
        others[layer] = T::fma(reaction, u[layer], others[layer]);
    }
    add_times(mass, &others, scaled(number(0), times(stiffness, &u)))
}

#[inline(always)]
fn scaled<T: Real, const N: usize>(factor: T, mut x: [T; N]) -> [T; N] {
    for i in 0..N {
        x[i] = factor * x[i];
    }
    x
}
