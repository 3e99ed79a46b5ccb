//! The faces of a patch in the eigenbasis: transforms by `Sᵀ M` of all nodes, or of the interior ones alone.

use super::operator::column;
use super::workspace::workspace;
use patchmg_device::matrices::SmootherMatrices;
use patchmg_device::scalar::{Real, Value};

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

/// `Sᵀ M_II` on the interior of a line.
#[inline(always)]
pub fn inner<T: Real, V: Value<T>, const K: usize, const M: usize, const N: usize>(
    matrices: &SmootherMatrices<T, K, M>,
    line: &[V; N],
) -> [V; M] {
    matrices.mass.analyze(&column(|i| line[i + 1]))
}

/// Adds the end nodes to the transform of a line's interior.
#[inline(always)]
fn add_ends<T: Real, V: Value<T>, const K: usize, const M: usize>(
    matrices: &SmootherMatrices<T, K, M>,
    mut line: [V; M],
    first: V,
    last: V,
) -> [V; M] {
    let (sum, difference) = (first + last, first - last);
    for f in 0..M {
        let ends = if SmootherMatrices::<T, K, M>::is_even(f) { sum } else { difference };
        line[f] = V::fma(matrices.mass_boundary[f], ends, line[f]);
    }
    line
}

/// `Sᵀ M` of all nodes of a line.
#[inline(always)]
pub fn full<T: Real, V: Value<T>, const K: usize, const M: usize, const N: usize>(
    matrices: &SmootherMatrices<T, K, M>,
    line: &[V; N],
) -> [V; M] {
    add_ends(matrices, inner(matrices, line), line[0], line[N - 1])
}

impl<V: Copy, const M: usize, const N: usize> Face<V, M, N> {
    /// An x-face, `p = y`, `q = z`: `inner` is `full`, and not written.
    #[inline(always)]
    pub fn transform_all<T: Real, const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>)
    where
        V: Value<T>,
    {
        for q in 0..N {
            self.rows[q] = full(matrices, &self.nodes[q]);
        }
        for p in 0..M {
            let line: [V; M] = full(matrices, &column::<V, N>(|q| self.rows[q][p]));
            for q in 0..M {
                self.full[q][p] = line[q];
            }
        }
    }

    /// A y-face, `p = x`, `q = z`: the lines at the ends of `x` belong to x-faces.
    #[inline(always)]
    pub fn transform_inner_rows<T: Real, const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>)
    where
        V: Value<T>,
    {
        for p in 0..N {
            let line: [V; M] = full(matrices, &column::<V, N>(|q| self.nodes[q][p]));
            for q in 0..M {
                self.columns[q][p] = line[q];
            }
        }
        for q in 0..M {
            let line = &self.columns[q];
            self.inner[q] = inner(matrices, line);
            self.full[q] = add_ends(matrices, self.inner[q], line[0], line[N - 1]);
        }
    }

    /// A z-face, `p = x`, `q = y`: all its boundary lines belong to x- and y-faces.
    #[inline(always)]
    pub fn transform_inner<T: Real, const K: usize>(&mut self, matrices: &SmootherMatrices<T, K, M>)
    where
        V: Value<T>,
    {
        for p in 0..N {
            let nodes: [V; N] = column(|q| self.nodes[q][p]);
            let interior: [V; M] = inner(matrices, &nodes);
            for q in 0..M {
                self.columns[q][p] = interior[q];
            }
            // Only the ends of the columns are needed apart from the interior: `full` adds them along `q`.
            let all = add_ends(matrices, interior, nodes[0], nodes[N - 1]);
            for q in 0..M {
                self.rows[p][q] = all[q];
            }
        }
        for q in 0..M {
            self.inner[q] = inner(matrices, &self.columns[q]);
            self.full[q] = full(matrices, &column::<V, N>(|p| self.rows[p][q]));
        }
    }
}
