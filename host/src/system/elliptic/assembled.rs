//! The coarsest mesh, solved by a factorization.

use super::level::CellOperator;
use super::mesh::Mesh;
use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::memory;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

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
        for cell in 0..mesh.cells().cells() {
            let read = mesh.cells().of(cell);
            operator.for_each_column(cell, |column, entries| {
                let Some(j) = number[read[column] as usize] else { return };
                for (&node, &entry) in read.iter().zip(entries) {
                    if let Some(i) = number[node as usize] {
                        matrix[(i, j)] += entry;
                    }
                }
            });
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
        (&self.nodes, self.factor.inverse())
    }

    /// `x = A⁻¹ b`.
    pub fn solve<T: Scalar>(&self, b: &[T], x: &mut [T]) {
        let mut values = DVector::from_iterator(self.nodes.len(), self.nodes.iter().map(|&node| b[node].to_f64()));
        self.factor.solve_mut(&mut values);
        x.fill(T::ZERO);
        self.nodes.iter().zip(values.iter()).for_each(|(&node, &value)| x[node] = T::from_f64(value));
    }
}
