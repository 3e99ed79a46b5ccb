//! Finite element spaces on a mesh: element, numbering, and the 1D matrices and eigenpairs that kernels take.

mod continuous;
mod discontinuous;

use crate::error::{Error, Result};
use crate::fe::Element;
use crate::memory;
use crate::mesh::Mesh;
pub use continuous::ContinuousSpace;
pub use discontinuous::DiscontinuousSpace;
use glam::DVec3;
use nalgebra::DMatrix;
pub use patchmg_device::patch::Ends;
use patchmg_device::scalar::Real;
use std::ops::{Range, RangeInclusive};

/// A space of tensor-product elements on a uniform mesh of the unit square or cube, with the form that discretizes `-Δ`
/// in it.
///
/// Nodes are counted in each direction. Those of cell `c` are `c s ..= c s + k`, with the [stride](Self::cell_stride) `s`:
/// `k` if cells share the node between them, `k + 1` if each has its own.
#[derive(Clone, Debug)]
pub enum Space {
    /// Continuous elements, zero on the boundary.
    Continuous(ContinuousSpace),
    /// Discontinuous elements, by the symmetric interior penalty method.
    Discontinuous(DiscontinuousSpace),
}

impl Space {
    /// Continuous `Q_k`: [`ContinuousSpace::new`].
    ///
    /// # Errors
    /// Those of [`ContinuousSpace::new`].
    pub fn new(mesh: Mesh, degree: usize) -> Result<Self> {
        ContinuousSpace::new(mesh, degree).map(Self::Continuous)
    }

    /// Discontinuous `Q_k`: [`DiscontinuousSpace::new`].
    ///
    /// # Errors
    /// Those of [`DiscontinuousSpace::new`].
    pub fn discontinuous(mesh: Mesh, degree: usize) -> Result<Self> {
        DiscontinuousSpace::new(mesh, degree).map(Self::Discontinuous)
    }

    /// As a continuous space, for what is made for these alone.
    ///
    /// # Errors
    /// [`Error::Unsupported`] of `backend` for another one.
    pub fn continuous(&self, backend: &'static str) -> Result<&ContinuousSpace> {
        match self {
            Self::Continuous(space) => Ok(space),
            Self::Discontinuous(_) => Err(Error::Unsupported {
                backend,
                what: "space",
                asked: "discontinuous".into(),
                available: "continuous".into(),
            }),
        }
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        match self {
            Self::Continuous(space) => space.mesh(),
            Self::Discontinuous(space) => space.mesh(),
        }
    }

    /// The 1D element, on the reference cell.
    pub fn element(&self) -> &Element {
        match self {
            Self::Continuous(space) => space.element(),
            Self::Discontinuous(space) => space.element(),
        }
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.mesh().dim()
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.element().degree()
    }

    /// The space of the same kind and degree on the next coarser mesh, unless this one is a single patch.
    pub fn coarser(&self) -> Option<Result<Self>> {
        let mesh = self.mesh().coarser()?;
        Some(match self {
            Self::Continuous(_) => Self::new(mesh, self.degree()),
            Self::Discontinuous(_) => Self::discontinuous(mesh, self.degree()),
        })
    }

    /// From the first node of a cell to that of the next one, in a direction.
    pub fn cell_stride(&self) -> usize {
        match self {
            Self::Continuous(_) => self.degree(),
            Self::Discontinuous(_) => self.degree() + 1,
        }
    }

    /// Nodes that a row stores: those of continuous elements leave out the last one, which is no unknown.
    pub fn row(&self) -> usize {
        self.mesh().cells_per_direction() as usize * self.cell_stride()
    }

    /// Nodes of a direction that are unknowns.
    pub fn unknown_nodes(&self) -> Range<usize> {
        match self {
            Self::Continuous(_) => 1..self.row(),
            Self::Discontinuous(_) => 0..self.row(),
        }
    }

    /// Unknowns.
    pub fn dofs(&self) -> usize {
        self.unknown_nodes().len().pow(self.dim() as u32)
    }

    /// Length of its vectors, in the storage order of [`patchmg_device::patch`].
    pub fn storage(&self) -> usize {
        match self {
            Self::Continuous(space) => space.grid().storage(self.dim()),
            Self::Discontinuous(space) => space.grid().storage(self.dim()),
        }
    }

    /// Coordinate of node `index` of a direction.
    pub fn coordinate(&self, index: usize) -> f64 {
        let (cell, node) = (index / self.cell_stride(), index % self.cell_stride());
        (cell as f64 + self.element().nodes()[node]) * self.mesh().cell_size()
    }

    /// Where node `(x, y, z)` lies; in 2D `z` must be 0 and the point's third coordinate is 0.
    pub fn point(&self, node: [usize; 3]) -> DVec3 {
        DVec3::from_array(node.map(|index| self.coordinate(index)))
    }

    /// Offset of node `(x, y, z)` in a vector; in 2D `z` must be 0.
    pub fn offset(&self, [x, y, z]: [usize; 3]) -> usize {
        match self {
            Self::Continuous(space) => space.grid().offset_3d(x, y, z),
            Self::Discontinuous(space) => space.grid().offset_3d(x, y, z),
        }
    }

    /// The nodes that are unknowns, in the order of dofs: lexicographic, `x` fastest; `z` is 0 in 2D.
    pub fn unknowns(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let nodes = self.unknown_nodes();
        let planes = if self.dim() == 2 { 0..1 } else { nodes.clone() };
        planes.flat_map(move |z| {
            let row = nodes.clone();
            nodes.clone().flat_map(move |y| row.clone().map(move |x| [x, y, z]))
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

    /// `1 / A_ii` for every unknown `i`, in storage order; other entries are zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn inverse_diagonal<T: Real>(&self) -> Result<Vec<T>> {
        let diagonals = match self {
            Self::Continuous(space) => space.diagonals(),
            Self::Discontinuous(space) => space.diagonals(),
        };
        let mut inverse: Vec<T> = memory::zeros(self.storage())?;
        for node in self.unknowns() {
            // `A_ii` of one direction more: its stiffness times the mass so far, and its mass times the stiffness so far.
            let add = |(m, s): (f64, f64), &node: &usize| {
                let (mass, stiffness) = diagonals[node];
                (mass * m, stiffness * m + mass * s)
            };
            let (_, entry) = node[..self.dim()].iter().fold((1.0, 0.0), add);
            inverse[self.offset(node)] = T::from_f64(1.0 / entry);
        }
        Ok(inverse)
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
}

fn degree_out_of_range(degree: usize, degrees: RangeInclusive<usize>, of_what: std::fmt::Arguments) -> Error {
    let allowed = format!("{} to {} {of_what}", degrees.start(), degrees.end());
    Error::InvalidArgument { name: "degree", value: degree.to_string(), allowed }
}

/// Vectors of `f64`, `row` entries a direction, must be addressable; a mesh's limit ensures that on 64 bits, so this is for
/// smaller machines.
fn check_storage(mesh: Mesh, row: usize) -> Result<()> {
    let nodes = (row as u128).pow(mesh.dim() as u32);
    if nodes * 8 <= isize::MAX as u128 {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        name: "refine",
        value: mesh.refine().to_string(),
        allowed: format!("such that a vector has at most {} bytes, not {}", isize::MAX, nodes * 8),
    })
}

fn entries(matrix: &DMatrix<f64>) -> impl Fn(usize, usize) -> f64 {
    |i, j| matrix[(i, j)]
}

#[cfg(test)]
mod tests;
