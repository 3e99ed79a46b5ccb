//! A direction of a box: its cells, what holds at its ends, and its 1D matrices on all entries of a row of nodes. Rows and columns of those
//! that are no unknowns are empty.

use crate::backend::AxisMatrix;
use crate::fe::{largest_row_sum, stiffness_fixed_point, stiffness_in_fixed_point};
use crate::space::{Axis, Family};
use nalgebra::DMatrix;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::ops::Range;

/// What holds at the ends of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Whether the lower end is Neumann's, and the upper one. At the others `u` is given: continuous elements have no unknown there,
    /// discontinuous ones take it weakly.
    Open([bool; 2]),
    /// One end is the other; the last node of continuous elements is the first one.
    Periodic,
}

/// Entries of each row, `(column, value)`.
pub(super) type Rows = Vec<Vec<(usize, f64)>>;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// All of its nodes are stored.
    pub axis: Axis,
    pub ends: Ends,
    /// Whether it is one patch although it is not [short](Self::is_short): the level is solved directly.
    pub is_solved: bool,
}

/// A direction of so many cells is one patch: there, vertex patches would not couple its ends.
pub(super) const WHOLE: usize = 3;

/// The part of the smallest eigenvalue that the error of all eigenvalues, which is one of the largest, may be.
const EIGENVALUE_ERROR: f64 = 1e-3;

impl Line {
    pub fn new(axis: Axis, ends: Ends) -> Self {
        Self { axis, ends, is_solved: false }
    }

    pub fn nodes(&self) -> usize {
        self.axis.all_nodes()
    }

    /// Entries of a row of nodes, which are the rows of its matrices.
    pub fn stored(&self) -> usize {
        self.axis.stored_nodes()
    }

    pub fn is_discontinuous(&self) -> bool {
        self.axis.family() == Family::Discontinuous
    }

    /// Whether its last node is its first one.
    pub fn joins_ends(&self) -> bool {
        self.ends == Ends::Periodic && !self.is_discontinuous()
    }

    /// Whether `u` is given at the lower end (0) or at the upper one (1).
    pub fn is_given(&self, side: usize) -> bool {
        matches!(self.ends, Ends::Open(natural) if !natural[side])
    }

    pub fn unknowns(&self) -> Range<usize> {
        match self.ends {
            _ if self.is_discontinuous() => 0..self.nodes(),
            Ends::Open([lower, upper]) => usize::from(!lower)..self.nodes() - usize::from(!upper),
            Ends::Periodic => 0..self.nodes() - 1,
        }
    }

    /// The unknown that is the value at a node.
    pub fn unknown(&self, node: usize) -> Option<usize> {
        let node = if self.joins_ends() { node % (self.nodes() - 1) } else { node };
        self.unknowns().contains(&node).then_some(node)
    }

    /// Whether constants are in the null space of its stiffness matrix.
    pub fn has_constants(&self) -> bool {
        matches!(self.ends, Ends::Periodic | Ends::Open([true, true]))
    }

    /// The same with values at both ends, unless they are one.
    pub fn with_open_ends(&self) -> Self {
        let ends = if self.ends == Ends::Periodic { Ends::Periodic } else { Ends::Open([true; 2]) };
        Self { ends, ..self.clone() }
    }

    /// Whether it has no vertex patches of its own, and no kernels.
    pub fn is_short(&self) -> bool {
        self.axis.cells() <= WHOLE
    }

    /// Whether it is one patch.
    pub fn is_whole(&self) -> bool {
        self.is_solved || self.is_short()
    }

    /// Whether its eigenpairs are known well enough for a direct solution: they are found to rounding of the largest eigenvalue, which is some
    /// `4 (k² / h)²` for the smallest width `h` (of degree 1 `12 / h²`), while the smallest one is about `(π / L)²`.
    pub fn has_good_eigenpairs(&self) -> bool {
        let widths = (0..self.axis.cells()).map(|cell| self.axis.width(cell));
        let (length, narrowest) =
            widths.fold((0.0, f64::INFINITY), |(sum, least), width| (sum + width, width.min(least)));
        let degree = self.axis.element().degree() as f64;
        f64::EPSILON * 4.0 * (degree * degree * length / (PI * narrowest)).powi(2) <= EIGENVALUE_ERROR
    }

    /// The sum of the matrices of cells.
    fn assemble(&self, mut cell: impl FnMut(usize) -> DMatrix<f64>) -> Rows {
        let mut rows: Rows = vec![Vec::new(); self.stored()];
        for index in 0..self.axis.cells() {
            let (first, matrix) = (index * self.axis.stride(), cell(index));
            for (i, j) in (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j))) {
                if let (Some(row), Some(column)) = (self.unknown(first + i), self.unknown(first + j)) {
                    add_entry(&mut rows[row], column, matrix[(i, j)]);
                }
            }
        }
        rows
    }

    /// `∫ φ_i φ_j`.
    pub fn mass(&self) -> Rows {
        let mass = self.axis.element().mass();
        self.assemble(|cell| &mass * self.axis.width(cell))
    }

    /// `c ∫ φ_i' φ_j'` in numbers of so many binary digits. Rows in the interior sum to zero exactly, in any order.
    ///
    /// A row has entries of at most two cells. The fixed-point numbers of a cell are coarse enough for the rows of its neighbours, too, so
    /// that the row of a common node has a sum without rounding ([`FixedPoint::of_row_sums`](crate::fe::FixedPoint::of_row_sums)).
    ///
    /// Of discontinuous elements it is the [interior penalty form](Self::interior_penalty).
    pub fn stiffness(&self, coefficient: f64, digits: u32) -> Rows {
        if self.is_discontinuous() {
            return self.interior_penalty(coefficient, digits);
        }
        let (element, cells) = (self.axis.element(), self.axis.cells());
        let stiffness = element.stiffness();
        let factor = |cell: usize| coefficient / self.axis.width(cell);
        let neighbours = |cell: usize| match self.ends {
            Ends::Periodic => [(cell + cells - 1) % cells, cell, (cell + 1) % cells],
            Ends::Open(_) => [cell.saturating_sub(1), cell, (cell + 1).min(cells - 1)],
        };
        let mut known: HashMap<[u64; 2], DMatrix<f64>> = HashMap::new();
        self.assemble(|cell| {
            let largest = neighbours(cell).into_iter().map(factor).fold(0.0, f64::max);
            let of_cell = || {
                let (scaled, nodes) = (&stiffness * factor(cell), element.nodes());
                let largest = largest * largest_row_sum(&stiffness);
                stiffness_in_fixed_point(stiffness_fixed_point(largest, nodes.len(), digits), &scaled, nodes)
            };
            known.entry([factor(cell), largest].map(f64::to_bits)).or_insert_with(of_cell).clone()
        })
    }

    /// From the unknowns of a line whose cells are those between the kept ones of this line's breakpoints.
    pub fn prolongation(&self, coarse: &Self, kept: &[usize]) -> Rows {
        let (element, stride, mut rows) = (self.axis.element(), self.axis.stride(), vec![Vec::new(); self.stored()]);
        for (coarse_cell, cells) in kept.windows(2).enumerate() {
            let (parts, start) = (cells[1] - cells[0], self.axis.at(cells[0], 0.0));
            let length = self.axis.at(cells[1] - 1, 1.0) - start;
            for cell in cells[0]..cells[1] {
                for (local, &node) in element.nodes().iter().enumerate() {
                    let x = match (parts, self.axis.is_uniform()) {
                        (1, _) => node,
                        (_, true) => ((cell - cells[0]) as f64 + node) / parts as f64,
                        (_, false) => (self.axis.at(cell, node) - start) / length,
                    };
                    let Some(row) = self.unknown(cell * stride + local) else { continue };
                    let columns = element.values(x).into_iter().enumerate().filter(|&(_, value)| value != 0.0);
                    rows[row] = columns
                        .filter_map(|(j, value)| Some((coarse.unknown(coarse_cell * stride + j)?, value)))
                        .collect();
                }
            }
        }
        rows
    }

    /// The vertices that have a patch, if there is more than one.
    pub fn patch_vertices(&self) -> Range<usize> {
        let cells = self.axis.cells();
        match self.ends {
            Ends::Open([lower, upper]) => usize::from(!lower)..cells + usize::from(upper),
            Ends::Periodic => 0..cells,
        }
    }

    /// Entries of a row, at most: of the mass matrix and of the stiffness matrix.
    pub fn row_widths(&self) -> [usize; 2] {
        let stride = self.axis.stride();
        let widths = if self.is_discontinuous() { [stride, 2 * stride + 1] } else { [2 * stride + 1; 2] };
        widths.map(|width| width.min(self.nodes()))
    }

    /// The same of the prolongation and of the restriction.
    pub fn transfer_widths(&self) -> [usize; 2] {
        let stride = self.axis.stride();
        if self.is_discontinuous() { [stride, 2 * stride] } else { [stride + 1, 4 * stride] }
    }

    /// The unknowns of each patch by colors: those around every other vertex, or all.
    pub fn patches(&self) -> Vec<Vec<Vec<usize>>> {
        if self.is_whole() {
            return vec![vec![self.unknowns().collect()]];
        }
        let (stride, vertices) = (self.axis.stride(), self.patch_vertices());
        // Nodes that are different.
        let count = self.nodes() - usize::from(self.joins_ends());
        // Neighbours of continuous elements share the nodes between them, and patches have none on their boundaries.
        let first = usize::from(!self.is_discontinuous());
        let mut colors = vec![Vec::new(); 2];
        for vertex in vertices.clone() {
            let nodes = (first..2 * stride).map(|node| vertex * stride + node);
            // The sum is `stride` nodes behind the one that is meant.
            let patch = match self.ends {
                Ends::Open(_) => {
                    nodes.filter(|node| (stride..count + stride).contains(node)).map(|n| n - stride).collect()
                }
                Ends::Periodic => nodes.map(|node| (node + count - stride) % count).collect(),
            };
            colors[(vertex - vertices.start) % 2].push(patch);
        }
        colors
    }

    /// Whether a patch of the color reaches around the period: that at the first vertex, where both ends meet.
    pub fn has_joining_patch(&self, color: usize) -> bool {
        self.ends == Ends::Periodic && !self.is_whole() && color == 0
    }

    /// Functions of its one patch, if it is one: those of a direction whose rows are whole chunks, of 16 bytes in `f32`, are as many as make their
    /// rows so, too.
    pub fn whole_functions(&self) -> usize {
        const CHUNK: usize = 4;
        let (unknowns, stored) = (self.unknowns().len(), self.stored());
        if stored.is_multiple_of(CHUNK) { unknowns.next_multiple_of(CHUNK) } else { unknowns }
    }

    /// Functions of all patches of each color, and of the largest one: what [`Self::patches`] has, without making them.
    pub fn patch_sizes(&self) -> Vec<[usize; 2]> {
        if self.is_whole() {
            return vec![[self.whole_functions(); 2]];
        }
        let (stride, vertices) = (self.axis.stride(), self.patch_vertices());
        let [full, half] = if self.is_discontinuous() { [2 * stride, stride] } else { [2 * stride - 1, stride] };
        let of_color = |color: usize| {
            // Patches at an end have the unknowns of one cell.
            let is_half = |vertex: &usize| self.ends != Ends::Periodic && [0, self.axis.cells()].contains(vertex);
            let halves = [vertices.start, vertices.end - 1]
                .iter()
                .filter(|v| is_half(v) && (*v - vertices.start) % 2 == color)
                .count();
            [(vertices.len() - color).div_ceil(2) * full - halves * (full - half), full]
        };
        vec![of_color(0), of_color(1)]
    }

    /// Rows as banded matrices to be summed up: beside the diagonal, and beyond a period.
    pub fn pieces(&self, columns: usize, rows: &Rows) -> Vec<AxisMatrix<f64>> {
        let is_full = |row: &Vec<(usize, f64)>| 2 * row.len() > columns;
        if self.ends != Ends::Periodic || self.is_short() || rows.iter().any(is_full) {
            return vec![AxisMatrix::from_rows(columns, rows)];
        }
        let is_near =
            |row: usize, column: usize| 2 * (column * rows.len()).abs_diff(row * columns) <= columns * rows.len();
        let piece = |near: bool| -> Rows {
            let of_row = |(row, entries): (usize, &Vec<(usize, f64)>)| {
                entries.iter().copied().filter(|&(column, _)| is_near(row, column) == near).collect()
            };
            rows.iter().enumerate().map(of_row).collect()
        };
        let pieces = [true, false].map(piece).into_iter().filter(|rows| rows.iter().any(|row| !row.is_empty()));
        pieces.map(|rows| AxisMatrix::from_rows(columns, &rows)).collect()
    }
}

/// Adds to the entry of a row.
pub(super) fn add_entry(row: &mut Vec<(usize, f64)>, column: usize, value: f64) {
    match row.iter_mut().find(|(other, _)| *other == column) {
        Some((_, sum)) => *sum += value,
        None => row.push((column, value)),
    }
}

/// `Σ c_i Q_i`.
pub(super) fn sum<const N: usize>(terms: [(f64, &Rows); N]) -> Rows {
    let mut rows: Rows = vec![Vec::new(); terms[0].1.len()];
    for (factor, matrix) in terms.into_iter().filter(|&(factor, _)| factor != 0.0) {
        for (row, entries) in rows.iter_mut().zip(matrix) {
            for &(column, value) in entries {
                add_entry(row, column, factor * value);
            }
        }
    }
    rows
}

/// With so many columns.
pub(super) fn transposed(columns: usize, rows: &Rows) -> Rows {
    let mut transposed: Rows = vec![Vec::new(); columns];
    for (i, row) in rows.iter().enumerate() {
        row.iter().for_each(|&(column, value)| transposed[column].push((i, value)));
    }
    transposed
}

/// The entries of some rows and columns.
pub(super) fn part(rows: &Rows, nodes: &[usize]) -> DMatrix<f64> {
    let mut part = DMatrix::zeros(nodes.len(), nodes.len());
    for (i, &row) in nodes.iter().enumerate() {
        for &(column, value) in &rows[row] {
            if let Some(j) = nodes.iter().position(|&node| node == column) {
                part[(i, j)] = value;
            }
        }
    }
    part
}

/// The diagonal.
pub(super) fn diagonal(rows: &Rows) -> Vec<f64> {
    let entry =
        |(i, row): (usize, &Vec<(usize, f64)>)| row.iter().find(|&&(column, _)| column == i).map_or(0.0, |&(_, v)| v);
    rows.iter().enumerate().map(entry).collect()
}
