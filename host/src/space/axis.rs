//! One direction of a space.

use crate::fe::Element;
use std::ops::Range;
use std::sync::Arc;

/// How functions continue from cell to cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Family {
    /// Neighbours share the node between them; unless the ends are unknowns, functions are zero there.
    #[default]
    Continuous,
    /// Every cell has nodes of its own.
    Discontinuous,
}

/// Piecewise polynomials on equal cells of an interval that begins at 0, by values at the nodes of an element.
///
/// Nodes are counted from the lower end on. Those of cell `c` are `c s ..= c s + k`, with the [stride](Self::stride) `s`: `k` if
/// cells share the node between them, `k + 1` if each has its own.
#[derive(Clone, Debug)]
pub struct Axis {
    family: Family,
    element: Arc<Element>,
    cells: usize,
    cell_size: f64,
    has_ends: bool,
}

impl Axis {
    /// `cells` cells of a size, by an element.
    pub fn new(family: Family, element: &Arc<Element>, cells: usize, cell_size: f64) -> Self {
        Self { family, element: element.clone(), cells, cell_size, has_ends: family == Family::Discontinuous }
    }

    /// The same with the nodes at both ends as unknowns, too, so that functions there may be anything.
    pub(crate) fn with_ends(&self) -> Self {
        Self { has_ends: true, ..self.clone() }
    }

    /// How functions continue from cell to cell.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The element, on the reference cell.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// The same with other cells.
    pub(super) fn on(&self, cells: usize, cell_size: f64) -> Self {
        Self { cells, cell_size, ..self.clone() }
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.element.degree()
    }

    /// Cells.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Length of a cell.
    pub fn cell_size(&self) -> f64 {
        self.cell_size
    }

    /// From the first node of a cell to that of the next one.
    pub fn stride(&self) -> usize {
        match self.family {
            Family::Continuous => self.degree(),
            Family::Discontinuous => self.degree() + 1,
        }
    }

    /// All nodes, each once.
    pub fn all_nodes(&self) -> usize {
        self.cells * self.stride() + usize::from(self.family == Family::Continuous)
    }

    /// Nodes that are stored: the last one of continuous elements is left out if it is no unknown.
    pub fn stored_nodes(&self) -> usize {
        if self.has_ends { self.all_nodes() } else { self.cells * self.stride() }
    }

    /// Nodes that are unknowns.
    pub fn unknown_nodes(&self) -> Range<usize> {
        usize::from(!self.has_ends)..self.stored_nodes()
    }

    /// Coordinate of a node.
    pub fn coordinate(&self, node: usize) -> f64 {
        let (cell, local) = (node / self.stride(), node % self.stride());
        (cell as f64 + self.element.nodes()[local]) * self.cell_size
    }
}
