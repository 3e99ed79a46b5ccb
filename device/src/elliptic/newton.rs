//! Nonlinear equations on cells, `-div F(∇u) + s u = f` with `F(p) = φ(|p|²) p`: their residual, and the metric of their derivative.
//!
//! With the metric `G` of `κ = 1`, weights `w det J` and derivatives `g` by the coordinates of the cell,
//!
//! ```text
//! |∇u|² = g · G g / (w det J),   w det J J⁻¹ F = φ G g,   w det J J⁻¹ ∂F/∂p J⁻ᵀ = φ G + 2 φ' / (w det J) (G g) (G g)ᵀ.
//! ```

use super::lines::{CellMatrices, Place, Tensor};
use super::operator::{AtPoints, Metric, times_cell};
use super::{Groups, HangingLines};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::ptr::ldg;

/// See [`Evaluate`](super::Evaluate) and, for cells with lines that hang, [`EvaluateHanging`](super::EvaluateHanging).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block<const DIM: usize, const N: usize>(scalar_bytes: usize, hanging: bool) -> Block {
    Block {
        threads: Groups::new(DIM, N).threads(),
        min_blocks: 1,
        shared_bytes: DIM * Place::<DIM, N>::tensor_words() * scalar_bytes,
        barriers: 2 * (DIM - 1) * if hanging { 2 } else { 1 },
    }
}

/// `φ(t) = (ε² + t)^(m / 4)`, its factor `ε²` and `m`: what kernels know of fluxes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// `ε²`.
    pub offset: f64,
    /// `m`.
    pub quarters: i32,
}

impl PowerLaw {
    /// `φ` and `2 φ'`.
    #[inline(always)]
    fn at<T: Real>(self, square: T) -> [T; 2] {
        let base = T::from_f64(self.offset) + square;
        let (mut power, mut factor) = (T::from_f64(1.0), base.sqrt().sqrt());
        let mut left = self.quarters.unsigned_abs();
        while left > 0 {
            if left & 1 == 1 {
                power = power * factor;
            }
            factor = factor * factor;
            left >>= 1;
        }
        if self.quarters < 0 {
            power = power.reciprocal();
        }
        [power, T::from_f64(0.5 * self.quarters as f64) * power * base.reciprocal()]
    }
}

/// Where a flux is evaluated.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FluxPoints<T> {
    /// With the metric of `κ = 1` at each point, and `s`.
    pub geometry: Metric<T>,
    /// `1 / (w det J)`, by lines along x.
    pub inverse_weights: *const T,
    /// Becomes the metric of the derivative; null if nobody needs it.
    pub derivative: *mut T,
    pub law: PowerLaw,
}

// SAFETY: null pointers and zeros are values, also those of `PowerLaw`.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for FluxPoints<T> {}

impl<T: Real, const DIM: usize, const N: usize> AtPoints<T, DIM, N> for FluxPoints<T> {
    /// Derivatives become `φ G g`.
    #[inline(always)]
    unsafe fn times(self, place: Place<DIM, N>, [x, y, z]: [&mut [T; N]; 3]) {
        let (groups, step) = (const { Groups::new(DIM, N) }, Place::<DIM, N>::STEP);
        let words = place.first(groups.words());
        let (tensor, derivative) = (self.geometry.tensor.wrapping_add(words), self.derivative.wrapping_add(words));
        let inverse_weights = self.inverse_weights.wrapping_add(place.first(1));
        for layer in 0..N {
            // SAFETY: the caller's promise.
            let word = |word: usize| unsafe { ldg(tensor.wrapping_add((word * N + layer) * step)) };
            let set = |word: usize, value: T| {
                if !self.derivative.is_null() {
                    // SAFETY: as above; the place is the thread's own.
                    unsafe { *derivative.wrapping_add((word * N + layer) * step) = value };
                }
            };
            // SAFETY: as above.
            let inverse_weight = unsafe { ldg(inverse_weights.wrapping_add(layer * step)) };
            if DIM == 2 {
                let [xx, xz, zz] = [word(0), word(1), word(2)];
                let [a, c] = [T::fma(xz, z[layer], xx * x[layer]), T::fma(zz, z[layer], xz * x[layer])];
                let [phi, twice] = self.law.at(inverse_weight * T::fma(c, z[layer], a * x[layer]));
                (x[layer], z[layer]) = (phi * a, phi * c);
                let [of_a, of_c] = [twice * inverse_weight * a, twice * inverse_weight * c];
                set(0, T::fma(of_a, a, phi * xx));
                set(1, T::fma(of_a, c, phi * xz));
                set(2, T::fma(of_c, c, phi * zz));
            } else {
                let [xx, xy, yy, xz, yz, zz] = [word(0), word(1), word(2), word(3), word(4), word(5)];
                let dot = |a: T, b: T, c: T| T::fma(c, z[layer], T::fma(b, y[layer], a * x[layer]));
                let [a, b, c] = [dot(xx, xy, xz), dot(xy, yy, yz), dot(xz, yz, zz)];
                let [phi, twice] = self.law.at(inverse_weight * dot(a, b, c));
                (x[layer], y[layer], z[layer]) = (phi * a, phi * b, phi * c);
                let [of_a, of_b, of_c] = [a, b, c].map(|value| twice * inverse_weight * value);
                set(0, T::fma(of_a, a, phi * xx));
                set(1, T::fma(of_a, b, phi * xy));
                set(2, T::fma(of_b, b, phi * yy));
                set(3, T::fma(of_a, c, phi * xz));
                set(4, T::fma(of_b, c, phi * yz));
                set(5, T::fma(of_c, c, phi * zz));
            }
        }
    }

    #[inline(always)]
    fn reacts(self) -> bool {
        AtPoints::<T, DIM, N>::reacts(self.geometry)
    }

    #[inline(always)]
    unsafe fn reaction(self, place: Place<DIM, N>, layer: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.geometry.reaction(place, layer) }
    }
}

/// Values at the nodes of the thread's line, by which `nodes` lie, too.
///
/// # Safety
/// `nodes` lists the nodes of the place's cells, and each is an entry of `x`.
#[inline(always)]
pub unsafe fn read_line<T: Real, const DIM: usize, const N: usize>(
    nodes: *const u32,
    place: Place<DIM, N>,
    x: *const T,
) -> [T; N] {
    let mut u = [T::ZERO; N];
    for layer in 0..N {
        // SAFETY: the caller's promise.
        u[layer] = unsafe { ldg(x.add(ldg(nodes.add(place.first(1) + layer * Place::<DIM, N>::STEP)) as usize)) };
    }
    u
}

/// Leaves local results of the thread's line.
///
/// # Safety
/// There are as many as nodes of all groups.
#[inline(always)]
pub unsafe fn leave_line<T: Real, const DIM: usize, const N: usize>(sums: *mut T, place: Place<DIM, N>, u: [T; N]) {
    for layer in 0..N {
        // SAFETY: the caller's promise; the place is the thread's own.
        unsafe { *sums.add(place.first(1) + layer * Place::<DIM, N>::STEP) = u[layer] };
    }
}

/// See [`Evaluate`](super::Evaluate).
///
/// # Safety
/// One block for each group of the tables, with the threads of [`block`]; nodes are those of `u`, and there are as many sums as nodes of
/// all groups.
#[inline(always)]
pub unsafe fn evaluate<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    nodes: *const u32,
    points: FluxPoints<T>,
    u: *const T,
    sums: *mut T,
) {
    let place = Place::<DIM, N>::of_thread();
    // SAFETY: the caller's promise.
    unsafe {
        let u = times_cell(matrices, points, place, read_line(nodes, place, u));
        leave_line(sums, place, u);
    }
}

/// See [`EvaluateHanging`](super::EvaluateHanging).
///
/// # Safety
/// As for [`evaluate`].
#[inline(always)]
pub unsafe fn evaluate_hanging<T: Real, const DIM: usize, const N: usize>(
    matrices: &CellMatrices<T, N>,
    nodes: *const u32,
    lines: *const u32,
    points: FluxPoints<T>,
    u: *const T,
    sums: *mut T,
) {
    let (place, last) = (Place::<DIM, N>::of_thread(), DIM - 1);
    // SAFETY: the caller's promise.
    unsafe {
        let lines = HangingLines(ldg(lines.add(place.slot())));
        let own = Tensor::new(0, place);
        let u = own.interpolate(&matrices.halves, lines, read_line(nodes, place, u));
        let u = times_cell(matrices, points, place, u);
        leave_line(sums, place, own.interpolate_transposed(&matrices.halves, lines, [last, 0], u));
    }
}
