//! The coarsest mesh, solved by a factorization.

use super::level::CellOperator;
use super::mesh::Mesh;
use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::memory;
#[cfg(feature = "cuda")]
use nalgebra::DVectorViewMut;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rayon::prelude::*;

/// More unknowns are not solved by a dense factorization.
pub(super) const MOST: usize = 4096;

/// `A = L Lᵀ` for the unknowns of a small mesh, dense.
#[derive(Debug)]
pub(super) struct Factor {
    /// Nodes of the unknowns.
    nodes: Vec<usize>,
    factor: Cholesky<f64, Dyn>,
}

impl Factor {
    /// # Errors
    /// [`Error::NotPositiveDefinite`]; [`Error::OutOfMemory`].
    pub fn new(mesh: &Mesh, operator: &CellOperator<f64>) -> Result<Self> {
        let kinds = mesh.kinds();
        let nodes: Vec<usize> = (0..kinds.len()).filter(|&node| kinds[node].is_unknown()).collect();
        memory::check((nodes.len() * nodes.len() * size_of::<f64>()) as u64)?;
        let mut number = vec![None; kinds.len()];
        nodes.iter().enumerate().for_each(|(i, &node)| number[node] = Some(i));
        let mut matrix = DMatrix::zeros(nodes.len(), nodes.len());
        let columns = |cell: usize| {
            let mut columns = Vec::new();
            operator.for_each_column(cell, |_, entries| columns.extend_from_slice(entries));
            columns
        };
        let of_cells: Vec<Vec<f64>> = (0..mesh.cells().cells()).into_par_iter().map(columns).collect();
        for (cell, columns) in of_cells.iter().enumerate() {
            let read = mesh.cells().of(cell);
            for (&column, entries) in read.iter().zip(columns.chunks_exact(read.len())) {
                let Some(j) = number[column as usize] else { continue };
                for (&node, &entry) in read.iter().zip(entries) {
                    if let Some(i) = number[node as usize] {
                        matrix[(i, j)] += entry;
                    }
                }
            }
        }
        for (row, entries) in operator.robin.rows() {
            let Some(i) = number[row] else { continue };
            let unknowns = entries.filter_map(|(column, entry)| Some((number[column]?, entry)));
            unknowns.for_each(|(j, entry)| matrix[(i, j)] += entry);
        }
        let factor =
            Cholesky::new(matrix).ok_or(Error::NotPositiveDefinite { what: "operator on the coarsest mesh" })?;
        Ok(Self { nodes, factor })
    }

    /// Nodes of the unknowns, and the entries of the inverse, which is symmetric.
    #[cfg(feature = "cuda")]
    pub fn inverse(&self) -> (&[usize], DMatrix<f64>) {
        let count = self.nodes.len();
        let mut inverse = DMatrix::identity(count, count);
        let columns = inverse.as_mut_slice().par_chunks_mut(count.max(1));
        columns.for_each(|column| self.factor.solve_mut(&mut DVectorViewMut::from_slice(column, count)));
        (&self.nodes, inverse)
    }

    /// `x = A⁻¹ b`.
    pub fn solve<T: Scalar>(&self, b: &[T], x: &mut [T]) {
        let mut values = DVector::from_iterator(self.nodes.len(), self.nodes.iter().map(|&node| b[node].to_f64()));
        self.factor.solve_mut(&mut values);
        x.fill(T::ZERO);
        self.nodes.iter().zip(values.iter()).for_each(|(&node, &value)| x[node] = T::from_f64(value));
    }
}
