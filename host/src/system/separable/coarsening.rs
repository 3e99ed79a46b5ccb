//! Which neighbouring cells become one on the next coarser mesh.
//!
//! Vertex patches reduce an error that oscillates along short edges, however smooth it is along long ones. So neighbours merge where both
//! are short: at most `τ` times as wide as the narrowest cell of the other directions. With coefficients `c` widths are `h / √c`.
//!
//! Where only few cells are short, a coarser mesh has nearly as many cells, and many such levels cost more than the iterations that they save. So on
//! graded meshes `τ` grows until enough cells are gone, or it has reached a bound.

use super::line::{Ends, Line, WHOLE};
use crate::mesh::COARSENED_BELOW;

/// If too little merges, `τ` grows by this factor.
const GROWTH: f64 = 1.2;
/// Enough is gone if a coarser mesh has at most this part of the cells.
const ENOUGH: f64 = 0.75;

/// Meshes that are solved directly, by fast diagonalization of the whole box: those of at most so many nodes in every direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectNodes {
    /// All of them. The coarsest mesh is one; if the finest is, it is the only one.
    All(usize),
    /// Except the finest.
    Coarse(usize),
}

impl DirectNodes {
    /// The number of nodes.
    pub fn most(self) -> usize {
        match self {
            Self::All(most) | Self::Coarse(most) => most,
        }
    }
}

/// On graded cells in 2D and 3D, unless others are asked for. Those of more nodes would take longer to set up than some solves without them.
const GRADED_DIRECT_NODES: [usize; 2] = [257, 513];

/// The same on equal cells. Up to so many nodes a direct solution takes less time on an H200 than a V-cycle from there down, and about as much on a CPU
/// (docs/boxes.md).
const UNIFORM_DIRECT_NODES: [usize; 2] = [129, 193];

/// How `τ` is chosen, and where coarsening ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Its first value.
    pub start: f64,
    /// From so much on it grows only if nothing merges.
    pub bound: f64,
    pub direct_nodes: DirectNodes,
}

impl Rule {
    /// Of equal cells in each direction, which lose half of the cells of a direction or nothing.
    pub const fn uniform(dim: usize) -> Self {
        let direct_nodes = DirectNodes::Coarse(UNIFORM_DIRECT_NODES[dim - 2]);
        Self { start: COARSENED_BELOW, bound: COARSENED_BELOW, direct_nodes }
    }

    /// Of graded cells. Larger values make fewer levels and cost iterations.
    pub const fn graded(dim: usize, degree: usize) -> Self {
        let [start, bound] = match degree {
            1 => [2.0, 2.0],
            2 => [2.0, 4.0],
            _ => [3.0, 4.0],
        };
        Self { start, bound, direct_nodes: DirectNodes::All(GRADED_DIRECT_NODES[dim - 2]) }
    }
}

/// Indices of the breakpoints of each direction that the next coarser mesh has; none on the coarsest mesh, which is one patch.
pub(super) fn kept_breakpoints(lines: &[Line], diffusion: &[f64], rule: Rule) -> Option<Vec<Vec<usize>>> {
    let width = |d: usize, cell: usize| lines[d].axis.width(cell) / diffusion[d].sqrt();
    let cells = |d: usize| lines[d].axis.cells();
    let is_merged = |d: &usize| !lines[*d].is_short();
    let narrowest: Vec<f64> =
        (0..lines.len()).map(|d| (0..cells(d)).map(|cell| width(d, cell)).fold(f64::INFINITY, f64::min)).collect();
    if lines.iter().all(Line::is_whole) {
        return None;
    }
    let fine: usize = (0..lines.len()).map(cells).product();
    let mut tau = rule.start;
    loop {
        let kept = |d: usize| {
            let others = (0..lines.len()).filter(|&other| other != d).filter(is_merged);
            let limit = tau * others.map(|other| narrowest[other]).fold(f64::INFINITY, f64::min);
            let is_narrow = |cell: usize| is_merged(&d) && width(d, cell) <= limit;
            merged(&lines[d], is_narrow)
        };
        let kept: Vec<_> = (0..lines.len()).map(kept).collect();
        let coarse: usize = kept.iter().map(|kept| kept.len() - 1).product();
        if coarse < fine && (coarse as f64 <= ENOUGH * fine as f64 || tau >= rule.bound) {
            return Some(kept);
        }
        tau *= GROWTH;
    }
}

/// Pairs of narrow cells merge: those of a run of such cells from its end with the narrower cell on.
fn merged(line: &Line, is_narrow: impl Fn(usize) -> bool) -> Vec<usize> {
    let (cells, width) = (line.axis.cells(), |cell| line.axis.width(cell));
    // Breakpoint `i` is between the cells `i - 1` and `i`.
    let mut gone = Vec::new();
    let narrow: Vec<usize> = (0..cells).filter(|&cell| is_narrow(cell)).collect();
    for run in narrow.chunk_by(|cell, next| cell + 1 == *next) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let skipped = if width(last) < width(first) { run.len() % 2 } else { 0 };
        gone.extend(run[skipped..].chunks_exact(2).map(|pair| pair[1]));
    }
    // Two colors need an even number of patches around a period.
    let left = cells - gone.len();
    if line.ends == Ends::Periodic && left > WHOLE && !left.is_multiple_of(2) {
        let widest = (0..gone.len()).max_by(|&a, &b| width(gone[a]).total_cmp(&width(gone[b])));
        widest.map(|index| gone.remove(index));
    }
    (0..=cells).filter(|breakpoint| gone.binary_search(breakpoint).is_err()).collect()
}
