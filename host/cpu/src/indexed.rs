//! The operator of cells that lie anywhere: each has a list of its nodes, and a metric of its own.
//!
//! Cells come in batches of as many as a register has lanes, and batches in [parts](Parts), which sum up at nodes.

use super::lanes::{CACHE_LINE, Lanes, SimdLevel, Vectorized, prefetch_far};
use super::parts::{Batches, LOCAL, PartKernel, Parts, Sums};
use super::separable::{self, SeparableCells};
use super::sweep::{Shared, Sweep};
use core::marker::PhantomData;
use patchmg_device::contract::Centrosymmetric;
use patchmg_device::elliptic::HangingLines;
use patchmg_device::scalar::Value;
use patchmg_device::with_degree;
use pulp::{Simd, WithSimd};

/// The 1D matrices of all cells, by rows, `k + 1` of them as long.
#[derive(Clone, Debug)]
pub struct IndexedMatrices {
    /// 2 or 3.
    pub dim: usize,
    /// `k`.
    pub degree: usize,
    /// From nodes to Gauss points.
    pub values: Vec<f64>,
    /// From values at Gauss points to derivatives there.
    pub derivatives: Vec<f64>,
    /// From a parent to its lower and upper child.
    pub children: [Vec<f64>; 2],
}

/// What cells have of their own. Cell `c` is lane `c % width` of batch `c / width`, the width being [`indexed_width`].
#[derive(Clone, Debug)]
pub struct IndexedCells<T> {
    /// Of the nodes that a cell reads: those of a batch's lanes, for each of its `(k + 1)^dim` places, for each batch.
    pub parts: Parts,
    /// The lower triangle of a symmetric tensor by rows, and the word of the mass if there is one: of a batch's lanes, for each
    /// word, for each Gauss point unless there are `weights`, for each batch.
    pub metric: Vec<T>,
    /// Whether there is a word of the mass.
    pub has_mass: bool,
    /// Of each Gauss point of a cell, if the metric is that of the whole cell times these; else empty.
    pub weights: Vec<T>,
    /// Cells with lines that hang, ascending.
    pub hanging: Vec<(u32, HangingLines)>,
}

/// The operator of cells with lists of nodes.
pub trait IndexedKernels<T>: Send + Sync {
    /// `y_i = f(i, (sum_c Cᵀ A_c C x)_i)` over the batches that are named, ascending, or over all, for the nodes `i` below the length
    /// of `y`; `C` interpolates lines that hang, and `sums` says `f`.
    ///
    /// # Panics
    /// If a list is not as long as it must be, or there is no batch of a number.
    fn apply(&self, sweep: Sweep, cells: &IndexedCells<T>, batches: Option<&[u32]>, x: &[T], sums: Sums<T>);

    /// `W S (Σ_d Λ_d)⁻¹ Sᵀ W x` of all cells to their places in `sums`, which are those of `nodes`; `S` is the product over
    /// directions.
    ///
    /// # Panics
    /// If a list is not as long as it must be, or a node is not below the length of `x`.
    fn solve_separable(&self, sweep: Sweep, cells: &SeparableCells<T>, x: &[T], sums: &mut [T]);
}

/// Cells of a batch.
pub fn indexed_width<T: Vectorized>(simd: SimdLevel) -> usize {
    struct Width<T>(PhantomData<T>);
    impl<T: Vectorized> WithSimd for Width<T> {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            Lanes::<S, T>::WIDTH
        }
    }
    simd.dispatch(Width(PhantomData::<T>))
}

/// The kernels of a degree; `None` if it has none.
///
/// # Panics
/// If a matrix is not as large as it must be.
pub fn kernels<T: Vectorized>(matrices: &IndexedMatrices) -> Option<Box<dyn IndexedKernels<T>>> {
    Some(if matrices.dim == 2 {
        with_degree!(@ matrices.degree, K, {
            Box::new(Element::<T, 2, { K + 1 }, { (K + 2) / 2 }, { K + 1 }>::new(matrices))
        }, return None, 1 2 3 4 5 6 7 8)
    } else {
        with_degree!(@ matrices.degree, K, {
            Box::new(Element::<T, 3, { K + 1 }, { (K + 2) / 2 }, { (K + 1) * (K + 1) }>::new(matrices))
        }, return None, 1 2 3 4 5 6)
    })
}

/// The matrices of a dimension and degree: `N = k + 1`, `H = ceil(N / 2)`, `L` lines of a cell along a direction.
struct Element<T, const D: usize, const N: usize, const H: usize, const L: usize> {
    /// `B` and its transpose.
    values: [Centrosymmetric<T, N, H>; 2],
    /// `D` and its transpose: rows that are mirror images differ in sign.
    derivatives: [Centrosymmetric<T, N, H>; 2],
    children: [[[T; N]; N]; 2],
}

/// A tensor: node `(x, y, z)` is entry `x` of row `y + N z`.
pub(super) type Tensor<S, T, const N: usize, const L: usize> = [[Lanes<S, T>; N]; L];

/// A line of a tensor along a direction, at `i` and `a` in the others.
#[inline(always)]
pub(super) fn line<V: Value<T>, T, const N: usize, const L: usize>(
    tensor: &[[V; N]; L],
    [d, i, a]: [usize; 3],
) -> [V; N] {
    if d == 0 {
        return tensor[i + N * a];
    }
    let mut column = [V::ZERO; N];
    for j in 0..N {
        column[j] = if d == 1 { tensor[j + N * a][i] } else { tensor[a + N * j][i] };
    }
    column
}

#[inline(always)]
pub(super) fn set_line<V: Value<T>, T, const N: usize, const L: usize>(
    tensor: &mut [[V; N]; L],
    [d, i, a]: [usize; 3],
    values: &[V; N],
) {
    if d == 0 {
        tensor[i + N * a] = *values;
        return;
    }
    for j in 0..N {
        if d == 1 {
            tensor[j + N * a][i] = values[j];
        } else {
            tensor[a + N * j][i] = values[j];
        }
    }
}

impl<T: Vectorized, const D: usize, const N: usize, const H: usize, const L: usize> Element<T, D, N, H, L> {
    const PLANES: usize = L / N;
    const NODES: usize = N * L;

    fn new(matrices: &IndexedMatrices) -> Self {
        let IndexedMatrices { values, derivatives, children, .. } = matrices;
        for matrix in [values, derivatives, &children[0], &children[1]] {
            assert_eq!(matrix.len(), N * N, "entries of a matrix");
        }
        let both = |matrix: &[f64]| {
            [Centrosymmetric::new(|i, j| matrix[N * i + j]), Centrosymmetric::new(|i, j| matrix[N * j + i])]
        };
        let child = |matrix: &[f64]| core::array::from_fn(|i| core::array::from_fn(|j| T::from_f64(matrix[N * i + j])));
        Self {
            values: both(values),
            derivatives: both(derivatives),
            children: [child(&children[0]), child(&children[1])],
        }
    }

    const fn words(has_mass: bool) -> usize {
        (if D == 2 { 3 } else { 6 }) + has_mass as usize
    }

    /// `B` along all directions, or its transpose.
    #[inline(always)]
    fn interpolate<S: Simd>(&self, transposed: usize, u: &mut Tensor<S, T, N, L>, ahead: &mut Ahead) {
        for d in 0..D {
            for a in 0..Self::PLANES {
                ahead.step();
                for i in 0..N {
                    let values = self.values[transposed].apply::<_, N>(&line::<_, T, N, L>(u, [d, i, a]));
                    set_line::<_, T, N, L>(u, [d, i, a], &values);
                }
            }
        }
    }

    #[inline(always)]
    fn slopes<S: Simd>(&self, d: usize, u: &Tensor<S, T, N, L>, slopes: &mut Tensor<S, T, N, L>, ahead: &mut Ahead) {
        for a in 0..Self::PLANES {
            ahead.step();
            for i in 0..N {
                let values = self.derivatives[0].apply_anti(&line::<_, T, N, L>(u, [d, i, a]));
                set_line::<_, T, N, L>(slopes, [d, i, a], &values);
            }
        }
    }

    /// The transpose, added.
    #[inline(always)]
    fn add_slopes<S: Simd>(
        &self,
        d: usize,
        slopes: &Tensor<S, T, N, L>,
        u: &mut Tensor<S, T, N, L>,
        ahead: &mut Ahead,
    ) {
        for a in 0..Self::PLANES {
            ahead.step();
            for i in 0..N {
                let added = self.derivatives[1].apply_anti(&line::<_, T, N, L>(slopes, [d, i, a]));
                let mut sum = line::<_, T, N, L>(u, [d, i, a]);
                for j in 0..N {
                    sum[j] = sum[j] + added[j];
                }
                set_line::<_, T, N, L>(u, [d, i, a], &sum);
            }
        }
    }

    /// Lines of one lane that hang, or the transpose. `u` has the lanes of each node side by side.
    fn hang(&self, lines: HangingLines, transposed: bool, u: &mut [T], [lane, width]: [usize; 2]) {
        for d in 0..D {
            let matrix = &self.children[usize::from(lines.is_upper(d))];
            for a in 0..Self::PLANES {
                for i in 0..N {
                    if !lines.has(d, [i, a], N) {
                        continue;
                    }
                    let node = |j: usize| match d {
                        0 => j + N * (i + N * a),
                        1 => i + N * (j + N * a),
                        _ => i + N * (a + N * j),
                    };
                    let mut values = [<T as Value<T>>::ZERO; N];
                    for (row, value) in values.iter_mut().enumerate() {
                        for j in 0..N {
                            let entry = if transposed { matrix[j][row] } else { matrix[row][j] };
                            *value = T::fma(entry, u[node(j) * width + lane], *value);
                        }
                    }
                    values.iter().enumerate().for_each(|(j, value)| u[node(j) * width + lane] = *value);
                }
            }
        }
    }
}

impl<T: Vectorized, const D: usize, const N: usize, const H: usize, const L: usize> IndexedKernels<T>
    for Element<T, D, N, H, L>
{
    fn apply(&self, sweep: Sweep, cells: &IndexedCells<T>, batches: Option<&[u32]>, x: &[T], sums: Sums<T>) {
        let width = indexed_width::<T>(sweep.simd);
        let count = cells.parts.batches();
        let points = if cells.weights.is_empty() { Self::NODES } else { 1 };
        assert_eq!(cells.parts.places(), count * Self::NODES * width, "nodes of whole batches");
        assert_eq!(cells.metric.len(), count * points * Self::words(cells.has_mass) * width, "words of the metric");
        assert!(cells.weights.is_empty() || cells.weights.len() == Self::NODES, "a weight for each point");
        cells.parts.sum(sweep, &Operator { element: self, cells }, batches, x, sums);
    }

    fn solve_separable(&self, sweep: Sweep, cells: &SeparableCells<T>, x: &[T], sums: &mut [T]) {
        let width = indexed_width::<T>(sweep.simd);
        let SeparableCells { nodes, weights, functions, inverse_eigenvalues } = cells;
        let count = nodes.len() / (Self::NODES * width);
        assert_eq!(nodes.len(), count * Self::NODES * width, "nodes of whole batches");
        assert_eq!(functions.len(), count * D * N * N * width, "entries of functions");
        assert!(weights.len() == nodes.len() && inverse_eigenvalues.len() == nodes.len(), "a number for each place");
        assert!(sums.len() >= nodes.len(), "places for all results");
        let sums = Shared::new(sums);
        sweep.share_out_by(1, count, width * (N - 1).pow(D as u32), &|range| {
            sweep.simd.dispatch(separable::Part::<T, D, N, L> { cells, range, x, sums });
        });
    }
}

/// Memory that will be read, asked for step by step.
struct Ahead {
    next: *const u8,
    end: *const u8,
    /// Bytes that a step asks for.
    step: usize,
}

impl Ahead {
    /// In so many steps.
    #[inline(always)]
    fn new<T>(begin: *const T, len: usize, steps: usize) -> Self {
        let (next, bytes) = (begin.cast::<u8>(), len * size_of::<T>());
        Self { next, end: next.wrapping_add(bytes), step: bytes.div_ceil(steps).next_multiple_of(CACHE_LINE) }
    }

    #[inline(always)]
    fn step(&mut self) {
        let end = self.end.min(self.next.wrapping_add(self.step));
        while self.next < end {
            prefetch_far(self.next);
            self.next = self.next.wrapping_add(CACHE_LINE);
        }
    }
}

/// The operator of some cells.
struct Operator<'a, T, const D: usize, const N: usize, const H: usize, const L: usize> {
    element: &'a Element<T, D, N, H, L>,
    cells: &'a IndexedCells<T>,
}

impl<T: Vectorized, const D: usize, const N: usize, const H: usize, const L: usize> PartKernel<T>
    for Operator<'_, T, D, N, H, L>
{
    #[inline(always)]
    fn add<S: Simd>(&self, batches: Batches, local: &[u16], x: &[T; LOCAL], sums: &mut [T; LOCAL]) {
        let places = N * L * Lanes::<S, T>::WIDTH;
        let mut tensors = [[[Lanes::<S, T>::ZERO; N]; L]; 4];
        for index in 0..batches.len() {
            let batch = batches.get(index);
            let local = &local[batch * places..(batch + 1) * places];
            let values: &mut [T] = bytemuck::cast_slice_mut(tensors[0].as_flattened_mut());
            for (value, &node) in values.iter_mut().zip(local) {
                *value = x[node as usize];
            }
            let next = if index + 1 < batches.len() { batches.get(index + 1) } else { batch + 1 };
            let len = self.words_a_batch(Lanes::<S, T>::WIDTH);
            // Memory is busy while cells are contracted: the metric alone takes as long.
            let mut ahead = Ahead::new(self.cells.metric.as_ptr().wrapping_add(next * len), len, 4 * D * L / N);
            self.run(batch, &mut ahead, &mut tensors);
            let values: &[T] = bytemuck::cast_slice(tensors[0].as_flattened());
            for (&value, &node) in values.iter().zip(local) {
                sums[node as usize] = sums[node as usize] + value;
            }
        }
    }
}

impl<T: Vectorized, const D: usize, const N: usize, const H: usize, const L: usize> Operator<'_, T, D, N, H, L> {
    /// From the values of cells to what they add to the sums at their places, in the first tensor; each plane of lines that are
    /// contracted is a step of `ahead`.
    #[inline(always)]
    fn run<S: Simd>(
        &self,
        batch: usize,
        ahead: &mut Ahead,
        [u, along_x, along_y, along_z]: &mut [Tensor<S, T, N, L>; 4],
    ) {
        let width = Lanes::<S, T>::WIDTH;
        let from = self.cells.hanging.partition_point(|(cell, _)| (*cell as usize) < batch * width);
        let hanging =
            || self.cells.hanging[from..].iter().take_while(|(cell, _)| (*cell as usize) < (batch + 1) * width);
        for &(cell, lines) in hanging() {
            let values = bytemuck::cast_slice_mut(u.as_flattened_mut());
            self.element.hang(lines, false, values, [cell as usize % width, width]);
        }
        self.element.interpolate(0, u, ahead);
        self.element.slopes(0, u, along_x, ahead);
        self.element.slopes(1, u, along_y, ahead);
        if D == 3 {
            self.element.slopes(2, u, along_z, ahead);
        }
        self.times_metric(batch, u, [along_x, along_y, along_z]);
        self.element.add_slopes(0, along_x, u, ahead);
        self.element.add_slopes(1, along_y, u, ahead);
        if D == 3 {
            self.element.add_slopes(2, along_z, u, ahead);
        }
        self.element.interpolate(1, u, ahead);
        for &(cell, lines) in hanging() {
            let values = bytemuck::cast_slice_mut(u.as_flattened_mut());
            self.element.hang(lines, true, values, [cell as usize % width, width]);
        }
    }

    /// Words of the metric of a batch.
    #[inline(always)]
    fn words_a_batch(&self, width: usize) -> usize {
        let points = if self.cells.weights.is_empty() { N * L } else { 1 };
        points * Element::<T, D, N, H, L>::words(self.cells.has_mass) * width
    }

    /// Slopes become fluxes, and values those times the mass.
    #[inline(always)]
    fn times_metric<S: Simd>(
        &self,
        batch: usize,
        u: &mut Tensor<S, T, N, L>,
        [along_x, along_y, along_z]: [&mut Tensor<S, T, N, L>; 3],
    ) {
        let (width, has_mass) = (Lanes::<S, T>::WIDTH, self.cells.has_mass);
        let words = Element::<T, D, N, H, L>::words(has_mass);
        let is_constant = !self.cells.weights.is_empty();
        let len = self.words_a_batch(width);
        let metric = &self.cells.metric[batch * len..(batch + 1) * len];
        for row in 0..L {
            for i in 0..N {
                let q = i + N * row;
                let words_of = &metric[if is_constant { 0 } else { q * words * width }..][..words * width];
                // SAFETY: there are as many words of as many lanes.
                let word = |number: usize| unsafe { Lanes::<S, T>::load(words_of.as_ptr().add(number * width)) };
                let weighted = |value: Lanes<S, T>| match is_constant {
                    true => Lanes::<S, T>::scale(self.cells.weights[q], value),
                    false => value,
                };
                let zero = Lanes::<S, T>::ZERO;
                let (x, y) = (along_x[row][i], along_y[row][i]);
                let (xx, xy, yy) = (word(0), word(1), word(2));
                if D == 2 {
                    along_x[row][i] = weighted(xy.times_add(y, xx.times_add(x, zero)));
                    along_y[row][i] = weighted(yy.times_add(y, xy.times_add(x, zero)));
                } else {
                    let z = along_z[row][i];
                    let (xz, yz, zz) = (word(3), word(4), word(5));
                    along_x[row][i] = weighted(xz.times_add(z, xy.times_add(y, xx.times_add(x, zero))));
                    along_y[row][i] = weighted(yz.times_add(z, yy.times_add(y, xy.times_add(x, zero))));
                    along_z[row][i] = weighted(zz.times_add(z, yz.times_add(y, xz.times_add(x, zero))));
                }
                u[row][i] = if has_mass { weighted(word(words - 1).times_add(u[row][i], zero)) } else { zero };
            }
        }
    }
}
