//! One direction of a space.

use crate::fe::Element;
use patchmg_device::patch::ROW_MULTIPLE;
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

/// Piecewise polynomials on the cells of an interval that begins at 0, by values at the nodes of an element. Cells are equal, or
/// graded: those between given breakpoints.
///
/// Nodes are counted from the lower end on. Those of cell `c` are `c s ..= c s + k`, with the [stride](Self::stride) `s`: `k` if
/// cells share the node between them, `k + 1` if each has its own.
#[derive(Clone, Debug)]
pub struct Axis {
    family: Family,
    element: Arc<Element>,
    cells: usize,
    /// The mean one, if cells are graded.
    cell_size: f64,
    /// Of graded cells, from 0 to the length of the interval.
    breakpoints: Option<Arc<[f64]>>,
    has_ends: bool,
    is_padded: bool,
}

impl Axis {
    /// `cells` cells of a size, by an element.
    pub fn new(family: Family, element: &Arc<Element>, cells: usize, cell_size: f64) -> Self {
        let has_ends = family == Family::Discontinuous;
        Self { family, element: element.clone(), cells, cell_size, breakpoints: None, has_ends, is_padded: false }
    }

    /// The cells between breakpoints that ascend from 0, by an element.
    pub(crate) fn graded(family: Family, element: &Arc<Element>, breakpoints: Arc<[f64]>) -> Self {
        let cells = breakpoints.len().saturating_sub(1);
        let cell_size = breakpoints.last().map_or(0.0, |length| length / cells as f64);
        Self { breakpoints: Some(breakpoints), ..Self::new(family, element, cells, cell_size) }
    }

    /// The same with the nodes at both ends as unknowns, too, so that functions there may be anything.
    pub(crate) fn with_ends(&self) -> Self {
        Self { has_ends: true, ..self.clone() }
    }

    /// The same with zeros stored behind the nodes up to a multiple of [`ROW_MULTIPLE`] entries, so that rows of nodes along it are aligned.
    pub(crate) fn padded(&self) -> Self {
        Self { is_padded: true, ..self.clone() }
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
    pub(crate) fn on(&self, cells: usize, cell_size: f64) -> Self {
        Self { cells, cell_size, breakpoints: None, ..self.clone() }
    }

    /// The element, to share.
    pub(crate) fn shared_element(&self) -> &Arc<Element> {
        &self.element
    }

    /// Polynomial degree `k`.
    pub fn degree(&self) -> usize {
        self.element.degree()
    }

    /// Cells.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Length of a cell; the mean one, if cells are graded.
    pub fn cell_size(&self) -> f64 {
        self.cell_size
    }

    /// Whether all cells are equal.
    pub fn is_uniform(&self) -> bool {
        self.breakpoints.is_none()
    }

    /// Length of a cell by its number, from 0 on.
    ///
    /// # Panics
    /// If cells are graded, and there is none of that number.
    pub fn width(&self, cell: usize) -> f64 {
        self.breakpoints.as_ref().map_or(self.cell_size, |breakpoints| breakpoints[cell + 1] - breakpoints[cell])
    }

    /// Coordinate of a point of a cell, which lies at `x` in the reference cell `[0, 1]`.
    ///
    /// # Panics
    /// As for [`Self::width`].
    pub fn at(&self, cell: usize, x: f64) -> f64 {
        match &self.breakpoints {
            None => (cell as f64 + x) * self.cell_size,
            // Both ends are exact, so that a coordinate does not depend on the cell that it is taken from.
            Some(breakpoints) if x == 1.0 => breakpoints[cell + 1],
            Some(breakpoints) => breakpoints[cell] + x * self.width(cell),
        }
    }

    /// The cell that holds a coordinate of the interval, and where in the reference cell: of two cells the upper one.
    pub fn locate(&self, coordinate: f64) -> (usize, f64) {
        match &self.breakpoints {
            None => {
                let cell = ((coordinate / self.cell_size) as usize).min(self.cells - 1);
                (cell, coordinate / self.cell_size - cell as f64)
            }
            Some(breakpoints) => {
                let cell = breakpoints[1..self.cells].partition_point(|&breakpoint| breakpoint <= coordinate);
                (cell, (coordinate - breakpoints[cell]) / self.width(cell))
            }
        }
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

    /// Entries of a row of nodes: the last node of continuous elements is left out if it is no unknown, and zeros may follow.
    pub fn stored_nodes(&self) -> usize {
        let nodes = self.unknown_nodes().end;
        if self.is_padded { nodes.next_multiple_of(ROW_MULTIPLE as usize) } else { nodes }
    }

    /// Nodes that are unknowns.
    pub fn unknown_nodes(&self) -> Range<usize> {
        usize::from(!self.has_ends)..if self.has_ends { self.all_nodes() } else { self.cells * self.stride() }
    }

    /// Coordinate of a node.
    pub fn coordinate(&self, node: usize) -> f64 {
        let (cell, local) = (node / self.stride(), node % self.stride());
        match &self.breakpoints {
            // The last node is that of no further cell.
            Some(breakpoints) if cell == self.cells => breakpoints[cell],
            _ => self.at(cell, self.element.nodes()[local]),
        }
    }
}
