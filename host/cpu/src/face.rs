//! The faces of a patch in the eigenbasis: transforms by `Sᵀ M` of all nodes, or of the interior ones alone.

use super::lanes::{Lanes, Vectorized};
use super::lines::{Analyze, LineMap, Lines, contract};
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

/// `Sᵀ M` of all nodes of a line.
struct AnalyzeAll<'a, T, const K: usize, const M: usize>(&'a SmootherMatrices<T, K, M>);

impl<T: Real, const K: usize, const M: usize, const N: usize> LineMap<T, 1, N, M> for AnalyzeAll<'_, T, K, M> {
    #[inline(always)]
    fn map<V: Value<T>>(&self, [line]: &[[V; N]; 1]) -> [V; M] {
        let mut interior = [V::ZERO; M];
        interior.copy_from_slice(&line[1..=M]);
        let mut functions = self.0.mass.analyze(&interior);
        let ends = [line[0] + line[N - 1], line[0] - line[N - 1]];
        for f in 0..M {
            let ends = ends[usize::from(!SmootherMatrices::<T, K, M>::is_even(f))];
            functions[f] = V::fma(self.0.mass_boundary[f], ends, functions[f]);
        }
        functions
    }
}

/// `Sᵀ M` of all nodes of lines.
#[inline(always)]
pub fn analyze_all<S: Simd, T: Vectorized, const K: usize, const M: usize, const N: usize>(
    matrices: &SmootherMatrices<T, K, M>,
    x: &[Lanes<S, T>],
    from: Lines<N>,
    y: &mut [Lanes<S, T>],
    to: Lines<M>,
) {
    contract(AnalyzeAll(matrices), [x], from, y, to);
}

/// `Sᵀ M` of the interior nodes of lines.
#[inline(always)]
pub fn analyze_interior<S: Simd, T: Vectorized, const K: usize, const M: usize, const N: usize>(
    matrices: &SmootherMatrices<T, K, M>,
    x: &[Lanes<S, T>],
    from: Lines<N>,
    y: &mut [Lanes<S, T>],
    to: Lines<M>,
) {
    contract(Analyze(&matrices.mass), [x], from.interior(), y, to);
}

impl<S: Simd, T: Vectorized, const M: usize, const N: usize> Face<Lanes<S, T>, M, N> {
    /// An x-face, `p = y`, `q = z`: `inner` is `full`, and not written. `matrices` are those along `p` and `q`.
    #[inline(always)]
    pub fn transform_all<const K: usize>(&mut self, [along_p, along_q]: [&SmootherMatrices<T, K, M>; 2]) {
        let Self { nodes, rows, full, .. } = self;
        analyze_all(along_p, nodes.as_flattened(), Lines::<N>::rows(N), rows.as_flattened_mut(), Lines::rows(N));
        analyze_all(along_q, rows.as_flattened(), Lines::<N>::columns(M), full.as_flattened_mut(), Lines::columns(M));
    }

    /// A y-face, `p = x`, `q = z`: the lines at the ends of `x` belong to x-faces.
    #[inline(always)]
    pub fn transform_inner_rows<const K: usize>(&mut self, [along_p, along_q]: [&SmootherMatrices<T, K, M>; 2]) {
        let Self { nodes, columns, full, inner, .. } = self;
        let (nodes, columns) = (nodes.as_flattened(), columns.as_flattened_mut());
        analyze_all(along_q, nodes, Lines::<N>::columns(N), columns, Lines::columns(N));
        analyze_interior(along_p, columns, Lines::<N>::rows(M), inner.as_flattened_mut(), Lines::rows(M));
        analyze_all(along_p, columns, Lines::<N>::rows(M), full.as_flattened_mut(), Lines::rows(M));
    }

    /// A z-face, `p = x`, `q = y`: all its boundary lines belong to x- and y-faces.
    #[inline(always)]
    pub fn transform_inner<const K: usize>(&mut self, [along_p, along_q]: [&SmootherMatrices<T, K, M>; 2]) {
        let Self { nodes, rows, columns, full, inner } = self;
        let (nodes, columns) = (nodes.as_flattened(), columns.as_flattened_mut());
        analyze_interior(along_q, nodes, Lines::<N>::columns(N), columns, Lines::columns(N));
        analyze_interior(along_p, columns, Lines::<N>::rows(M), inner.as_flattened_mut(), Lines::rows(M));
        analyze_all(along_q, nodes, Lines::<N>::columns(N), rows.as_flattened_mut(), Lines::rows(N));
        analyze_all(along_p, rows.as_flattened(), Lines::<N>::columns(M), full.as_flattened_mut(), Lines::rows(M));
    }
}
