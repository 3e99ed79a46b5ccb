//! Transfer between a space and that on the next coarser mesh by a matrix along each coarsened axis, one after the other.

use super::{Product, matrix_bytes, prolongation};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::space::{Family, Space};
use std::sync::Arc;

/// `P` and `Pᵀ` of a space.
pub struct AxisTransfer<B: Backend, T: Scalar> {
    prolongation: Product<B, T>,
    restriction: Product<B, T>,
}

/// The directions in which the next coarser mesh has half as many cells; none on the coarsest one.
fn coarsened(space: &Space) -> Vec<usize> {
    let directions = space.mesh().coarsened_directions().unwrap_or_default();
    (0..space.dim()).filter(|&d| directions[d]).collect()
}

impl<B: Backend, T: Scalar> AxisTransfer<B, T> {
    /// Its matrices on a machine, if there is a coarser mesh.
    pub fn new(backend: &B, space: &Space) -> Result<Option<Self>> {
        let (directions, nodes) = (coarsened(space), space.stored_nodes());
        if directions.is_empty() {
            return Ok(None);
        }
        let (mut coarse, mut down, mut up) = (nodes, Vec::new(), Vec::new());
        for d in directions {
            let matrix = prolongation(&space.axes()[d]);
            up.push((d, Arc::new(backend.axis_matrix(&matrix)?)));
            down.push((d, Arc::new(backend.axis_matrix(&matrix.transposed())?)));
            coarse[d] /= 2;
        }
        // Down, tensors become shorter; up, the last direction first, they become longer as late as they can.
        up.reverse();
        Ok(Some(Self {
            prolongation: Product::between(coarse, nodes, up),
            restriction: Product::between(nodes, coarse, down),
        }))
    }

    /// Entries that each of the two temporary vectors has at least: one direction is coarse and the others are fine.
    pub fn temporary(space: &Space) -> usize {
        if coarsened(space).len() < 2 { 0 } else { space.stored_nodes().iter().product::<usize>() / 2 }
    }

    /// Bytes of the matrices; at an end of the domain rows have fewer entries.
    pub fn bytes(space: &Space) -> u64 {
        let of_axis = |d: usize| {
            let (axis, rows) = (&space.axes()[d], space.stored_nodes()[d]);
            let [up, down] = match axis.family() {
                Family::Continuous => [axis.stride() + 1, 4 * axis.stride()],
                Family::Discontinuous => [axis.stride(), 2 * axis.stride()],
            };
            matrix_bytes::<T>(rows, up) + matrix_bytes::<T>(rows / 2, down)
        };
        coarsened(space).into_iter().map(of_axis).sum()
    }

    /// `coarse = Pᵀ fine`, for the tensors that begin at these entries.
    pub fn restrict(
        &self,
        backend: &B,
        temporary: &mut [B::Vector<T>; 2],
        fine: (&B::Vector<T>, usize),
        coarse: (&mut B::Vector<T>, usize),
    ) -> Result<()> {
        self.restriction.apply(backend, temporary, fine, coarse, false)
    }

    /// `fine += P coarse`, in the same way.
    pub fn prolongate_add(
        &self,
        backend: &B,
        temporary: &mut [B::Vector<T>; 2],
        coarse: (&B::Vector<T>, usize),
        fine: (&mut B::Vector<T>, usize),
    ) -> Result<()> {
        self.prolongation.apply(backend, temporary, coarse, fine, true)
    }
}
