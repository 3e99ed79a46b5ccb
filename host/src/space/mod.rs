//! Finite element spaces: products of axes, their numbering and coordinates.

mod axis;

use crate::error::{Error, Result, check_length};
use crate::fe::Element;
use crate::memory;
use crate::mesh::Mesh;
pub use axis::{Axis, Family};
use glam::DVec3;
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};
use patchmg_device::patch::DgGrid;
use patchmg_device::scalar::Real;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A space of tensor-product elements on the cells of a rectangle or a box: a product of two or three axes. A direction whose cells are
/// graded has as many of them as the mesh, of other sizes.
///
/// Vectors are in the storage order of [`patchmg_device::patch`]: the stored nodes of each axis, `x` fastest. If an axis is
/// continuous, one entry more is readable, and they are padded to a multiple of four.
#[derive(Clone, Debug)]
pub struct Space {
    mesh: Mesh,
    /// In each direction.
    axes: Vec<Axis>,
}

impl Space {
    /// Continuous `Q_k`, zero on the boundary; `k` is 1 to 10 in 2D, 1 to 8 in 3D.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another degree, or if a vector would not fit the address space.
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        Self::of_family(Family::Continuous, mesh, degree)
    }

    /// Discontinuous `Q_k`; `k` is 1 to 8.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn discontinuous(mesh: Mesh, degree: usize) -> Result<Self> {
        Self::of_family(Family::Discontinuous, mesh, degree)
    }

    /// The same family and degree in every direction.
    pub(crate) fn of_family(family: Family, mesh: Mesh, degree: usize) -> Result<Self> {
        match family {
            Family::Continuous => {
                let degrees = if mesh.dim() == 2 { DEGREES_2D } else { DEGREES_3D };
                check_degree(degree, degrees, format_args!("in {}D", mesh.dim()))?;
            }
            Family::Discontinuous => {
                check_degree(degree, DgGrid::DEGREES, format_args!("with discontinuous elements"))?;
            }
        }
        let element = Arc::new(Element::new(degree)?);
        let axis = |d: usize| Axis::new(family, &element, mesh.cells_along()[d], mesh.cell_sizes()[d]);
        Self::of_axes(mesh, (0..mesh.dim()).map(axis).collect())
    }

    /// An axis for each direction of a mesh.
    pub(crate) fn of_axes(mesh: Mesh, axes: Vec<Axis>) -> Result<Self> {
        let space = Self { mesh, axes };
        space.check_addressable()?;
        Ok(space)
    }

    /// Vectors of `f64` must be addressable; a mesh's limit ensures that on 64 bits, so this is for smaller machines.
    fn check_addressable(&self) -> Result<()> {
        let nodes: u128 = self.axes.iter().map(|axis| axis.stored_nodes() as u128 + 1).product();
        if nodes * 8 <= isize::MAX as u128 {
            return Ok(());
        }
        let [x, y, z] = self.mesh.cells_along();
        Err(Error::InvalidArgument {
            name: "cells",
            value: format!("{x} x {y} x {z}"),
            allowed: format!("such that a vector has at most {} bytes, not {}", isize::MAX, nodes * 8),
        })
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// In each direction.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.mesh.dim()
    }

    /// Whether all axes are of a family.
    pub fn is(&self, family: Family) -> bool {
        self.axes.iter().all(|axis| axis.family() == family)
    }

    /// Polynomial degree `k` of the first axis; of the spaces that [`Self::new`] and [`Self::discontinuous`] make, of all.
    pub fn degree(&self) -> usize {
        self.axes[0].degree()
    }

    /// The space of the same elements on the next coarser mesh, unless this one is on the coarsest or has graded cells, which only
    /// [`Separable`](crate::system::Separable) merges.
    pub fn coarser(&self) -> Option<Result<Self>> {
        if !self.axes.iter().all(Axis::is_uniform) {
            return None;
        }
        let mesh = self.mesh.coarser()?;
        let (cells, sizes) = (mesh.cells_along(), mesh.cell_sizes());
        let axes = self.axes.iter().enumerate().map(|(d, axis)| axis.on(cells[d], sizes[d]));
        Some(Self::of_axes(mesh, axes.collect()))
    }

    /// Stored nodes in each direction; in 2D 1 in the third.
    pub fn stored_nodes(&self) -> [usize; 3] {
        [0, 1, 2].map(|d| self.axes.get(d).map_or(1, Axis::stored_nodes))
    }

    /// Unknowns.
    pub fn dofs(&self) -> usize {
        self.axes.iter().map(|axis| axis.unknown_nodes().len()).product()
    }

    /// Length of its vectors.
    pub fn storage(&self) -> usize {
        if self.is(Family::Discontinuous) {
            return self.stored_nodes().iter().product();
        }
        // Up to the node behind the last one in every direction.
        let behind = [0, 1, 2].map(|d| self.axes.get(d).map_or(0, Axis::stored_nodes));
        (self.offset(behind) + 1).next_multiple_of(4)
    }

    /// Where node `(x, y, z)` lies; in 2D `z` counts for nothing and the point's third coordinate is 0.
    pub fn point(&self, node: [usize; 3]) -> DVec3 {
        let mut point = DVec3::ZERO;
        for (d, axis) in self.axes.iter().enumerate() {
            // Rounded, all cells together may be longer than the box.
            point[d] = axis.coordinate(node[d]).min(self.mesh.lengths()[d]);
        }
        point
    }

    /// Offset of node `(x, y, z)` in a vector; in 2D `z` must be 0.
    pub fn offset(&self, [x, y, z]: [usize; 3]) -> usize {
        let [nodes_x, nodes_y, _] = self.stored_nodes();
        x + nodes_x * (y + nodes_y * z)
    }

    /// The same of a node that is an unknown.
    pub(crate) fn offset_of_unknown(&self, node: [usize; 3]) -> Option<usize> {
        let is_unknown = self.axes.iter().zip(node).all(|(axis, node)| axis.unknown_nodes().contains(&node));
        is_unknown.then(|| self.offset(node))
    }

    /// The nodes that are unknowns, in the order of dofs: lexicographic, `x` fastest; `z` is 0 in 2D.
    pub fn unknowns(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [along_x, along_y, along_z] = [0, 1, 2].map(|d| self.axes.get(d).map_or(0..1, Axis::unknown_nodes));
        along_z.flat_map(move |z| {
            let row = along_x.clone();
            along_y.clone().flat_map(move |y| row.clone().map(move |x| [x, y, z]))
        })
    }

    /// That a vector of so many entries can be one of the space.
    pub(crate) fn check_storage(&self, what: &'static str, found: usize) -> Result<()> {
        check_length(what, self.storage(), found)
    }

    /// The unknowns of a vector in storage order, in the order of dofs.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] unless `stored` has [`Self::storage`] entries.
    pub fn to_dofs<T: Real>(&self, stored: &[T]) -> Result<Vec<T>> {
        self.check_storage("vector in storage order", stored.len())?;
        Ok(self.unknowns().map(|node| stored[self.offset(node)]).collect())
    }

    /// The vector in storage order with the given unknowns; other entries are zero.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`] unless `dofs` has [`Self::dofs`] entries, [`Error::OutOfMemory`].
    pub fn from_dofs<T: Real>(&self, dofs: &[T]) -> Result<Vec<T>> {
        check_length("vector of dofs", self.dofs(), dofs.len())?;
        let mut stored: Vec<T> = memory::zeros(self.storage())?;
        for (node, &value) in self.unknowns().zip(dofs) {
            stored[self.offset(node)] = value;
        }
        Ok(stored)
    }
}

fn check_degree(degree: usize, degrees: RangeInclusive<usize>, of_what: std::fmt::Arguments) -> Result<()> {
    if degrees.contains(&degree) {
        return Ok(());
    }
    let allowed = format!("{} to {} {of_what}", degrees.start(), degrees.end());
    Err(Error::InvalidArgument { name: "degree", value: degree.to_string(), allowed })
}

#[cfg(test)]
mod tests;
