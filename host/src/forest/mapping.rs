//! Where cells lie: polynomial mappings.

use super::cell::Cell;
use super::leaves::Forest;
use crate::error::Result;
use crate::fe::Element;
use crate::memory;
use glam::DVec3;

/// Polynomial mappings of degree `m` from `[0, 1]^dim` to cells of a forest, each given by the positions of its Gauss-Lobatto
/// nodes.
#[derive(Clone, Debug)]
pub struct Mapping {
    degree: usize,
    nodes: usize,
    positions: Vec<DVec3>,
}

impl Mapping {
    /// Of some cells, leaves or those of a level, with nodes on the multilinear maps of their trees.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a degree that elements cannot have;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(forest: &Forest, cells: &[Cell], degree: usize) -> Result<Self> {
        let element = Element::new(degree)?;
        let (n, nodes) = (degree + 1, (degree + 1).pow(forest.dim() as u32));
        memory::check((cells.len() * nodes * size_of::<DVec3>()) as u64)?;
        let mut positions = Vec::with_capacity(cells.len() * nodes);
        let x = |i: usize| element.nodes()[i];
        for cell in cells {
            positions.extend((0..nodes).map(|i| forest.point(cell, [x(i % n), x(i / n % n), x(i / n / n)])));
        }
        Ok(Self { degree, nodes, positions })
    }

    /// Polynomial degree `m`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The same mappings, by the Gauss-Lobatto nodes of another degree, not below theirs.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn at_degree(&self, degree: usize) -> Result<Self> {
        let (from, to) = (Element::new(self.degree)?, Element::new(degree)?);
        let rows: Vec<Vec<f64>> = to.nodes().iter().map(|&x| from.values(x)).collect();
        let (n, m) = (self.degree + 1, degree + 1);
        let dim = if self.nodes == n * n { 2 } else { 3 };
        let nodes = m.pow(dim);
        memory::check((self.positions.len() / self.nodes * nodes * size_of::<DVec3>()) as u64)?;
        let mut positions = Vec::with_capacity(self.positions.len() / self.nodes * nodes);
        for cell in self.positions.chunks_exact(self.nodes) {
            positions.extend((0..nodes).map(|i| {
                let weight = |j: usize| {
                    let z = if dim == 3 { rows[i / m / m][j / n / n] } else { 1.0 };
                    rows[i % m][j % n] * rows[i / m % m][j / n % n] * z
                };
                cell.iter().enumerate().map(|(j, &position)| weight(j) * position).sum::<DVec3>()
            }));
        }
        Ok(Self { degree, nodes, positions })
    }

    /// Positions of the nodes of a cell, `(m + 1)^dim`, in lexicographic order, x fastest.
    ///
    /// # Panics
    /// Unless there is such a cell.
    pub fn positions(&self, cell: usize) -> &[DVec3] {
        &self.positions[self.nodes * cell..self.nodes * (cell + 1)]
    }
}
