//! The faces of a patch in the eigenbasis: transforms by `Sᵀ M` of all nodes, or of the interior ones alone.

use super::lanes::{Lanes, Vectorized};
use super::lines::{Analyze, Lines, contract};
use super::workspace::workspace;
use patchmg_device::matrices::SmootherMatrices;
use patchmg_device::scalar::{Real, Value};
use pulp::Simd;

workspace! {
    /// The sum, or the difference, of two opposite faces.
    pub struct Face<V, const M: usize, const N: usize> {
        /// Its nodes, `[q][p]`, `p` being the lower of its two directions.
        pub nodes: [[V; N]; N],
        /// The transform of all nodes, `[function of q][function of p]`.
        pub full: [[V; M]; M],
        /// The transform without the boundary lines that faces of a lower direction have.
        pub inner: [[V; M]; M],
        rows: [[V; M]; N],
        columns: [[V; N]; M],
    }
}

/// Sums and differences of the nodes of opposite faces, or lines, each less `middle`.
#[inline(always)]
pub fn opposite<T: Real, V: Value<T>>(first: &mut [V], last: &mut [V], middle: &V) {
    for (first, last) in first.iter_mut().zip(last) {
        let nodes = [*first, *last];
        *first = (nodes[0] - *middle) + (nodes[1] - *middle);
        *last = nodes[0] - nodes[1];
    }
}

/// Adds the end nodes of lines to the transform of their interior: line `l` of `y` has those of line `l` of `x`.
#[inline(always)]
pub fn add_ends<T: Real, V: Value<T>, const K: usize, const M: usize, const N: usize>(
    matrices: &SmootherMatrices<T, K, M>,
    x: &[V],
    from: Lines<N>,
    y: &mut [V],
    to: Lines<M>,
) {
    assert!(from.count == to.count && from.end() <= x.len() && to.end() <= y.len());
    for line in 0..to.count {
        let first = from.first + line * from.apart;
        let (first, last) = (x[first], x[first + (N - 1) * from.step]);
        let ends = [first + last, first - last];
        for f in 0..M {
            let value = &mut y[to.first + line * to.apart + f * to.step];
            *value =
                V::fma(matrices.mass_boundary[f], ends[usize::from(!SmootherMatrices::<T, K, M>::is_even(f))], *value);
        }
    }
}

impl<S: Simd, T: Vectorized, const M: usize, const N: usize> Face<Lanes<S, T>, M, N> {
    /// An x-face, `p = y`, `q = z`: `inner` is `full`, and not written.
    #[inline(always)]
    pub fn transform_all<const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>) {
        let (nodes, rows) = (self.nodes.as_flattened(), self.rows.as_flattened_mut());
        contract(Analyze(&matrices.mass), [nodes], Lines::<N>::rows(N).interior(), rows, Lines::<M>::rows(N));
        add_ends(matrices, nodes, Lines::<N>::rows(N), rows, Lines::rows(N));
        self.transform_rows(matrices, Lines::columns(M));
    }

    /// A y-face, `p = x`, `q = z`: the lines at the ends of `x` belong to x-faces.
    #[inline(always)]
    pub fn transform_inner_rows<const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>) {
        self.transform_columns(matrices);
        add_ends(
            matrices,
            self.nodes.as_flattened(),
            Lines::<N>::columns(N),
            self.columns.as_flattened_mut(),
            Lines::columns(N),
        );
        self.transform_interior_of_columns(matrices);
        self.full = self.inner;
        let (columns, full) = (self.columns.as_flattened(), self.full.as_flattened_mut());
        add_ends(matrices, columns, Lines::<N>::rows(M), full, Lines::rows(M));
    }

    /// A z-face, `p = x`, `q = y`: all its boundary lines belong to x- and y-faces.
    #[inline(always)]
    pub fn transform_inner<const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>) {
        self.transform_columns(matrices);
        self.transform_interior_of_columns(matrices);
        for p in 0..N {
            for f in 0..M {
                self.rows[p][f] = self.columns[f][p];
            }
        }
        let (nodes, rows) = (self.nodes.as_flattened(), self.rows.as_flattened_mut());
        add_ends(matrices, nodes, Lines::<N>::columns(N), rows, Lines::rows(N));
        self.transform_rows(matrices, Lines::rows(M));
    }

    /// The interior of all columns of nodes, to `columns`.
    #[inline(always)]
    fn transform_columns<const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>) {
        let (nodes, columns) = (self.nodes.as_flattened(), self.columns.as_flattened_mut());
        contract(Analyze(&matrices.mass), [nodes], Lines::<N>::columns(N).interior(), columns, Lines::<M>::columns(N));
    }

    /// `inner` from `columns`.
    #[inline(always)]
    fn transform_interior_of_columns<const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>) {
        let (columns, inner) = (self.columns.as_flattened(), self.inner.as_flattened_mut());
        contract(Analyze(&matrices.mass), [columns], Lines::<N>::rows(M).interior(), inner, Lines::<M>::rows(M));
    }

    /// `full` from the columns of `rows`, each to one of these lines.
    #[inline(always)]
    fn transform_rows<const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>, to: Lines<M>) {
        let (rows, full) = (self.rows.as_flattened(), self.full.as_flattened_mut());
        contract(Analyze(&matrices.mass), [rows], Lines::<N>::columns(M).interior(), full, to);
        add_ends(matrices, rows, Lines::<N>::columns(M), full, to);
    }
}
