//! What any system does by matrices along axes.

mod product;
mod transfer;

use crate::backend::{AxisMatrix, Scalar};
use crate::operator::vector_bytes;
use crate::space::{Axis, Family};
use patchmg_device::dense;
pub(super) use product::{AxisSum, Product};
pub(super) use transfer::AxisTransfer;

/// Bytes of a matrix along an axis with so many entries a row.
pub(super) fn matrix_bytes<T: Scalar>(rows: usize, width: usize) -> u64 {
    vector_bytes::<T>(rows, width) + places_bytes(rows)
}

/// Bytes of the second form that a machine may keep of a large [dense matrix](crate::backend::Backend::dense_axis_matrix).
pub(super) fn dense_bytes(rows: usize, columns: usize) -> u64 {
    vector_bytes::<f64>(1, dense::matrix_words(rows, columns))
}

/// Bytes of the first columns of so many rows, and of the numbers of their entries.
pub(super) fn places_bytes(rows: usize) -> u64 {
    2 * (rows * size_of::<u32>()) as u64
}

/// From the stored nodes of the axis of half as many cells to those of an axis: the basis of a coarse cell at the nodes of its halves.
fn prolongation(axis: &Axis) -> AxisMatrix<f64> {
    let (element, stride, coarse_nodes) = (axis.element(), axis.stride(), axis.stored_nodes() / 2);
    let row = |node: usize| -> Vec<(usize, f64)> {
        let (cell, local) = (node / stride, node % stride);
        let values = element.values(0.5 * ((cell % 2) as f64 + element.nodes()[local]));
        let columns = values.into_iter().enumerate().map(|(j, value)| (cell / 2 * stride + j, value));
        // Nodes of continuous elements on the boundary are no unknowns; the last one is not stored.
        match axis.family() {
            Family::Continuous if node == 0 => Vec::new(),
            Family::Continuous => columns.filter(|&(column, _)| (1..coarse_nodes).contains(&column)).collect(),
            Family::Discontinuous => columns.collect(),
        }
    };
    AxisMatrix::from_rows(coarse_nodes, &(0..axis.stored_nodes()).map(row).collect::<Vec<_>>())
}
