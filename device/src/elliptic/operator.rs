//! `Cᵀ A_cell C u` of each cell: `C` interpolates lines that hang, and
//!
//! ```text
//! A_cell = Bᵀ (Σ_ij D_iᵀ G_ij D_j + s) B,
//! ```
//!
//! `B` from nodes to Gauss points, `D` derivatives there, `G` and `s` diagonal.

use super::lines::{CellMatrices, Place, Tensor, times, transposed};
use super::{Groups, HangingLines};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::ptr::ldg;
use cuda_std::thread::sync_threads;

/// Blocks that a multiprocessor should hold: at most 8 in `f64` and 12 in `f32`, as many as have registers without spills.
#[cfg(not(target_arch = "nvptx64"))]
const fn min_blocks(dim: usize, nodes: usize, scalar_bytes: usize) -> usize {
    const BLOCKS_2D: [[usize; 8]; 2] = [[12, 12, 12, 12, 12, 12, 10, 8], [8, 8, 8, 8, 6, 5, 4, 4]];
    const BLOCKS_3D: [[usize; 6]; 2] = [[12, 12, 12, 12, 8, 9], [8, 8, 8, 8, 2, 2]];
    if dim == 2 { BLOCKS_2D[scalar_bytes / 8][nodes - 2] } else { BLOCKS_3D[scalar_bytes / 8][nodes - 2] }
}

/// See [`Apply`](super::Apply) and, for cells with lines that hang, [`ApplyHanging`](super::ApplyHanging).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize, hanging: bool) -> Block {
    Block {
        threads: Groups::new(DIM, N).threads(),
        min_blocks: min_blocks(DIM, N, scalar_bytes),
        shared_bytes: DIM * Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: 3 * DIM - 1 + if hanging { 2 * (DIM - 1) } else { 0 },
    }
}

/// What the operator takes beside matrices and vectors, from the first group on.
#[derive(Clone, Copy)]
struct Tables<T> {
    nodes: *const u32,
    lines: *const u32,
    metric: *const T,
    reaction: *const T,
}

/// See [`Apply`](super::Apply).
///
/// # Safety
/// One block for each group of the tables, with the threads of [`block`]; nodes are those of `x`.
#[inline(always)]
pub unsafe fn apply<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    nodes: *const u32,
    metric: *const T,
    reaction: *const T,
    x: *const T,
    sums: *mut T,
) {
    let tables = Tables { nodes, lines: core::ptr::null(), metric, reaction };
    // SAFETY: the caller's promise.
    unsafe { apply_cells::<T, DIM, N, false>(matrices, tables, x, sums) }
}

/// See [`ApplyHanging`](super::ApplyHanging).
///
/// # Safety
/// As for [`apply`].
#[inline(always)]
pub unsafe fn apply_hanging<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    nodes: *const u32,
    lines: *const u32,
    metric: *const T,
    reaction: *const T,
    x: *const T,
    sums: *mut T,
) {
    let tables = Tables { nodes, lines, metric, reaction };
    // SAFETY: the caller's promise.
    unsafe { apply_cells::<T, DIM, N, true>(matrices, tables, x, sums) }
}

#[inline(always)]
unsafe fn apply_cells<T: Real, const DIM: usize, const N: usize, const HANGING: bool>(
    matrices: &CellMatrices<T, N>,
    tables: Tables<T>,
    x: *const T,
    sums: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    let (last, own) = (DIM - 1, Tensor::new(0, place));
    let (first, step) = (place.first(1), Place::<DIM, N>::STEP);
    let mut u = [T::ZERO; N];
    for layer in 0..N {
        // SAFETY: the caller's promise.
        u[layer] = unsafe { ldg(x.add(ldg(tables.nodes.add(first + layer * step)) as usize)) };
    }
    // SAFETY: as above.
    let lines = HangingLines(if HANGING { unsafe { ldg(tables.lines.add(place.slot())) } } else { 0 });
    if HANGING {
        // These operations commute.
        own.write(0, &place.interpolate(matrices, lines, 0, u));
        sync_threads();
        if DIM == 3 {
            own.write(1, &place.interpolate(matrices, lines, 1, own.read(1)));
            sync_threads();
        }
        u = place.interpolate(matrices, lines, last, own.read(last));
    }
    // SAFETY: as above.
    let mut u = unsafe { at_gauss_points(matrices, &tables, place, u) };
    // From lines along the last direction to those along x.
    own.write(last, &transposed(&matrices.values, &u));
    sync_threads();
    if DIM == 3 {
        own.write(1, &transposed(&matrices.values, &own.read(1)));
        sync_threads();
    }
    u = transposed(&matrices.values, &own.read(0));
    if HANGING {
        own.write(0, &place.interpolate_transposed(matrices, lines, 0, u));
        sync_threads();
        if DIM == 3 {
            own.write(1, &place.interpolate_transposed(matrices, lines, 1, own.read(1)));
            sync_threads();
        }
        u = place.interpolate_transposed(matrices, lines, last, own.read(last));
    }
    for layer in 0..N {
        // SAFETY: as above; the place is the thread's own.
        unsafe { *sums.add(first + layer * step) = u[layer] };
    }
}

/// `(Σ_ij D_iᵀ G_ij D_j + s) B u`, from lines along the last direction to such lines.
#[inline(always)]
unsafe fn at_gauss_points<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    tables: &Tables<T>,
    place: Place<DIM, N>,
    u: [T; N],
) -> [T; N] {
    let last = DIM - 1;
    let [own, along_x, along_y] = [0, 1, 2].map(|number| Tensor::new(number, place));
    own.write(last, &times(&matrices.values, &u));
    sync_threads();
    if DIM == 3 {
        own.write(1, &times(&matrices.values, &own.read(1)));
        sync_threads();
    }
    let u = times(&matrices.values, &own.read(0));
    own.write(0, &u);
    along_x.write(0, &times(&matrices.derivatives, &u));
    sync_threads();
    if DIM == 3 {
        along_y.write(1, &times(&matrices.derivatives, &own.read(1)));
        sync_threads();
    }
    let u = own.read(last);
    let mut slope = times(&matrices.derivatives, &u);
    // SAFETY: the caller's promise.
    let mut sum = unsafe { times_reaction(tables.reaction, place, u) };
    // SAFETY: as above.
    unsafe { times_metric(tables.metric, place, [along_x, along_y], &mut slope) };
    sync_threads();
    along_x.write(0, &transposed(&matrices.derivatives, &along_x.read(0)));
    if DIM == 3 {
        along_y.write(1, &transposed(&matrices.derivatives, &along_y.read(1)));
    }
    let of_last = transposed(&matrices.derivatives, &slope);
    sync_threads();
    let of_x = along_x.read(last);
    let of_y = if DIM == 3 { along_y.read(last) } else { of_x };
    for layer in 0..N {
        let of_others = if DIM == 3 { sum[layer] + of_x[layer] + of_y[layer] } else { sum[layer] + of_x[layer] };
        sum[layer] = of_others + of_last[layer];
    }
    sum
}

/// Slopes in each direction, those along the last one in registers, become `Σ_j G_ij slope_j`.
#[inline(always)]
unsafe fn times_metric<T: Real, const DIM: usize, const N: usize>(
    metric: *const T,
    place: Place<DIM, N>,
    [x, y]: [Tensor<T, DIM, N>; 2],
    along_last: &mut [T; N],
) {
    let (groups, step) = (const { Groups::new(DIM, N) }, Place::<DIM, N>::STEP);
    let metric = metric.wrapping_add(place.first(groups.words()));
    // Layer by layer, so that few numbers are in registers.
    for layer in 0..N {
        // SAFETY: the caller's promise.
        let word = |word: usize| unsafe { ldg(metric.wrapping_add((word * N + layer) * step)) };
        let last = along_last[layer];
        if DIM == 2 {
            let [xx, xy, yy] = [word(0), word(1), word(2)];
            let along_x = x.get(1, layer);
            x.set(1, layer, T::fma(xy, last, xx * along_x));
            along_last[layer] = T::fma(yy, last, xy * along_x);
        } else {
            let [xx, xy, yy, xz, yz, zz] = [word(0), word(1), word(2), word(3), word(4), word(5)];
            let (along_x, along_y) = (x.get(2, layer), y.get(2, layer));
            let dot = |a: T, b: T, c: T| T::fma(c, last, T::fma(b, along_y, a * along_x));
            x.set(2, layer, dot(xx, xy, xz));
            y.set(2, layer, dot(xy, yy, yz));
            along_last[layer] = dot(xz, yz, zz);
        }
    }
}

/// `s u`.
#[inline(always)]
unsafe fn times_reaction<T: Real, const DIM: usize, const N: usize>(
    reaction: *const T,
    place: Place<DIM, N>,
    mut u: [T; N],
) -> [T; N] {
    if reaction.is_null() {
        return [T::ZERO; N];
    }
    let reaction = reaction.wrapping_add(place.first(1));
    for layer in 0..N {
        // SAFETY: the caller's promise.
        u[layer] = unsafe { ldg(reaction.wrapping_add(layer * Place::<DIM, N>::STEP)) } * u[layer];
    }
    u
}
