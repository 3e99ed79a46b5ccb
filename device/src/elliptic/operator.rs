//! `Cᵀ A_cell C u` of each cell: `C` interpolates lines that hang, and
//!
//! ```text
//! A_cell = Σ_ij D_iᵀ G_ij D_j + Vᵀ s V,
//! ```
//!
//! `V = B ⊗ B ⊗ B` from nodes to Gauss points, `D_i` the derivatives there, with `E` in the place of the `B` of direction `i`, `G` and `s`
//! diagonal. Lines go along the last direction at nodes, then along the middle one, and along x at Gauss points, and back.

#[cfg(not(target_arch = "nvptx64"))]
use super::MinBlocks;
use super::lines::{CellMatrices, Place, Tensor, add_transposed, times, transposed};
use super::writes::{Target, read_nodes};
use super::{Groups, HangingLines};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::ptr::ldg;
use cuda_std::thread::sync_threads;

#[cfg(not(target_arch = "nvptx64"))]
const MIN_BLOCKS: MinBlocks =
    MinBlocks([[12, 12, 12, 12, 10, 6, 5, 4], [8, 8, 8, 8, 6, 4, 4, 3]], [[12, 9, 10, 5, 4, 4], [8, 6, 8, 3, 2, 2]]);

/// See [`Apply`](super::Apply) and, for cells with lines that hang, [`ApplyHanging`](super::ApplyHanging).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize, hanging: bool) -> Block {
    let groups = Groups::new(DIM, N);
    Block {
        threads: groups.threads(),
        min_blocks: match hanging {
            true => MIN_BLOCKS.of_hanging(groups, scalar_bytes),
            false => MIN_BLOCKS.of(groups, scalar_bytes),
        },
        shared_bytes: DIM * Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: if hanging { 4 * (DIM - 1) } else { 2 * DIM - 1 },
    }
}

/// The coefficients at Gauss points.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Metric<T> {
    /// `G`, by lines along x, word by word; if there are weights that of each cell.
    pub tensor: *const T,
    /// `s` in the same way; null where it is 0.
    pub reaction: *const T,
    /// What the numbers of a cell are multiplied by at each point, by lines along x; null where each point has its own.
    pub weights: *const T,
}

// SAFETY: null pointers are values.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Metric<T> {}

/// What becomes of derivatives and values at Gauss points.
pub trait AtPoints<T: Real, const DIM: usize, const N: usize>: Copy {
    /// Derivatives in each direction, in 2D `x` and `z`, on the thread's line along x, become what is multiplied with those of the basis.
    ///
    /// # Safety
    /// The numbers are those of the cells of the place.
    unsafe fn times(self, place: Place<DIM, N>, derivatives: [&mut [T; N]; 3]);

    /// Whether values count, too.
    fn reacts(self) -> bool;

    /// What a value is multiplied by, on the thread's line along x.
    ///
    /// # Safety
    /// As for [`Self::times`].
    unsafe fn reaction(self, place: Place<DIM, N>, layer: usize) -> T;
}

impl<T: Real, const DIM: usize, const N: usize> AtPoints<T, DIM, N> for Metric<T> {
    #[inline(always)]
    unsafe fn times(self, place: Place<DIM, N>, derivatives: [&mut [T; N]; 3]) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.weights.is_null() {
                times_metric::<T, DIM, N, false>(self, place, derivatives);
            } else {
                times_metric::<T, DIM, N, true>(self, place, derivatives);
            }
        }
    }

    #[inline(always)]
    fn reacts(self) -> bool {
        !self.reaction.is_null()
    }

    #[inline(always)]
    unsafe fn reaction(self, place: Place<DIM, N>, layer: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { reaction(self, place, layer) }
    }
}

/// See [`Apply`](super::Apply).
///
/// # Safety
/// One block for each group of the tables, with the threads of [`block`]; nodes are those of `x` and of the target, for which
/// [`Target::put`] has more.
#[inline(always)]
pub unsafe fn apply<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    nodes: *const u32,
    metric: Metric<T>,
    x: *const T,
    target: Target<T>,
) {
    let (place, last) = (Place::<DIM, N>::of_thread(), DIM - 1);
    // SAFETY: the caller's promise.
    unsafe {
        let u = read_nodes(nodes, place, last, x);
        let u = times_cell(matrices, metric, place, u);
        target.put::<DIM, N, true>(nodes, Tensor::new(0, place), [last, last], u);
    }
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
    metric: Metric<T>,
    x: *const T,
    target: Target<T>,
) {
    let (place, last) = (Place::<DIM, N>::of_thread(), DIM - 1);
    // SAFETY: the caller's promise.
    unsafe {
        let lines = HangingLines(ldg(lines.add(place.slot())));
        let own = Tensor::new(0, place);
        let u = own.interpolate(&matrices.halves, lines, read_nodes(nodes, place, 0, x));
        let u = times_cell(matrices, metric, place, u);
        let u = own.interpolate_transposed(&matrices.halves, lines, [last, 0], u);
        target.put::<DIM, N, false>(nodes, own, [0, 0], u);
    }
}

/// `A_cell u`, from lines along the last direction to such lines.
///
/// # Safety
/// As for [`AtPoints::times`].
#[inline(always)]
pub unsafe fn times_cell<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    points: impl AtPoints<T, DIM, N>,
    place: Place<DIM, N>,
    u: [T; N],
) -> [T; N] {
    let (last, CellMatrices { values, slopes, .. }) = (DIM - 1, matrices);
    let tensors = [0, 1, 2].map(|number| Tensor::new(number, place));
    let [other, of_last, of_middle] = tensors;
    other.write(last, &times(values, &u));
    of_last.write(last, &times(slopes, &u));
    sync_threads();
    if DIM == 3 {
        let line = other.read(1);
        of_middle.write(1, &times(slopes, &line));
        other.write(1, &times(values, &line));
        of_last.write(1, &times(values, &of_last.read(1)));
        sync_threads();
    }
    // SAFETY: the caller's promise.
    unsafe { at_gauss_points(matrices, points, place, tensors) };
    sync_threads();
    if DIM == 3 {
        let line = add_transposed(slopes, &of_middle.read(1), transposed(values, &other.read(1)));
        other.write(1, &line);
        of_last.write(1, &transposed(values, &of_last.read(1)));
        sync_threads();
    }
    add_transposed(slopes, &of_last.read(last), transposed(values, &other.read(last)))
}

/// The same from lines along x to such lines: of values, and of derivatives in the last direction and, in 3D, in the middle one.
///
/// # Safety
/// As for [`times_cell`].
#[inline(always)]
unsafe fn at_gauss_points<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    points: impl AtPoints<T, DIM, N>,
    place: Place<DIM, N>,
    [other, of_last, of_middle]: [Tensor<T, DIM, N>; 3],
) {
    let CellMatrices { values, slopes, .. } = matrices;
    let mut x = times(slopes, &other.read(0));
    let mut z = times(values, &of_last.read(0));
    let mut y = if DIM == 3 { times(values, &of_middle.read(0)) } else { z };
    // SAFETY: the caller's promise.
    unsafe { points.times(place, [&mut x, &mut y, &mut z]) };
    of_last.write(0, &transposed(values, &z));
    if DIM == 3 {
        of_middle.write(0, &transposed(values, &y));
    }
    let mut sum = transposed(slopes, &x);
    if points.reacts() {
        let mut u = times(values, &other.read(0));
        for layer in 0..N {
            // SAFETY: as above.
            u[layer] = unsafe { points.reaction(place, layer) } * u[layer];
        }
        sum = add_transposed(values, &u, sum);
    }
    other.write(0, &sum);
}

/// Derivatives in each direction, in 2D `x` and `z`, become `Σ_j G_ij` times these.
///
/// # Safety
/// As for [`times_cell`].
#[inline(always)]
unsafe fn times_metric<T: Real, const DIM: usize, const N: usize, const CONSTANT: bool>(
    metric: Metric<T>,
    place: Place<DIM, N>,
    [x, y, z]: [&mut [T; N]; 3],
) {
    let (groups, step) = (const { Groups::new(DIM, N) }, Place::<DIM, N>::STEP);
    let tensor =
        metric.tensor.wrapping_add(if CONSTANT { groups.words() * place.slot() } else { place.first(groups.words()) });
    for layer in 0..N {
        // SAFETY: the caller's promise.
        let weight = if CONSTANT { unsafe { weight(metric, place, layer) } } else { T::ZERO };
        let word = |word: usize| {
            let place = if CONSTANT { word } else { (word * N + layer) * step };
            // SAFETY: as above.
            let value = unsafe { ldg(tensor.wrapping_add(place)) };
            if CONSTANT { weight * value } else { value }
        };
        if DIM == 2 {
            let [xx, xz, zz] = [word(0), word(1), word(2)];
            (x[layer], z[layer]) = (T::fma(xz, z[layer], xx * x[layer]), T::fma(zz, z[layer], xz * x[layer]));
        } else {
            let [xx, xy, yy, xz, yz, zz] = [word(0), word(1), word(2), word(3), word(4), word(5)];
            let dot = |a: T, b: T, c: T| T::fma(c, z[layer], T::fma(b, y[layer], a * x[layer]));
            (x[layer], y[layer], z[layer]) = (dot(xx, xy, xz), dot(xy, yy, yz), dot(xz, yz, zz));
        }
    }
}

/// `s` at a point of the thread's line along x.
///
/// # Safety
/// As for [`times_cell`].
#[inline(always)]
unsafe fn reaction<T: Real, const DIM: usize, const N: usize>(
    metric: Metric<T>,
    place: Place<DIM, N>,
    layer: usize,
) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        if metric.weights.is_null() {
            ldg(metric.reaction.add(place.first(1) + layer * Place::<DIM, N>::STEP))
        } else {
            weight(metric, place, layer) * ldg(metric.reaction.add(place.slot()))
        }
    }
}

/// What the numbers of the cell are multiplied by at a point of the thread's line along x.
///
/// # Safety
/// As for [`times_cell`].
#[inline(always)]
unsafe fn weight<T: Real, const DIM: usize, const N: usize>(
    metric: Metric<T>,
    place: Place<DIM, N>,
    layer: usize,
) -> T {
    // SAFETY: the caller's promise.
    unsafe { ldg(metric.weights.add(layer * const { Groups::new(DIM, N).lines() } + place.line_of_cell())) }
}
