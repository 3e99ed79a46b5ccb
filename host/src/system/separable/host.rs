//! What is done with vectors on the host.

use super::Separable;
use super::line::Rows;
use crate::backend::cpu::parallel::try_for_each_chunk;
use crate::error::Result;
use crate::memory;

/// `(I ⊗ Q ⊗ I) x` for a square matrix along a direction of tensors of these sizes.
pub(super) fn apply(rows: &Rows, sizes: [usize; 3], direction: usize, x: &[f64]) -> Result<Vec<f64>> {
    let (inner, nodes) = (sizes[..direction].iter().product::<usize>(), sizes[direction]);
    let all = sizes.iter().product();
    let mut y = memory::zeros(x.len())?;
    try_for_each_chunk(&mut y[..all], inner, |line, y| -> Result<()> {
        let (outer, row) = (line / nodes, line % nodes);
        for &(column, entry) in &rows[row] {
            let x = &x[(outer * nodes + column) * inner..][..inner];
            y.iter_mut().zip(x).for_each(|(y, x)| *y += entry * x);
        }
        Ok(())
    })?;
    Ok(y)
}

/// Adds entries at the ends of periods to those at their starts, and sets them to zero.
pub(super) fn fold_periods(system: &Separable, vector: &mut [f64]) {
    for_each_end(system, |start, end| {
        vector[start] += vector[end];
        vector[end] = 0.0;
    });
}

/// Entries at the ends of periods become those at their starts.
pub(super) fn close_periods(system: &Separable, vector: &mut [f64]) {
    for_each_end(system, |start, end| vector[end] = vector[start]);
}

/// The offsets of all pairs of nodes that are one, a direction after the other.
fn for_each_end(system: &Separable, mut visit: impl FnMut(usize, usize)) {
    let sizes = system.space().stored_nodes();
    for (d, line) in system.lines().iter().enumerate().filter(|(_, line)| line.joins_ends()) {
        let (inner, last) = (sizes[..d].iter().product::<usize>(), line.nodes() - 1);
        for (outer, index) in
            (0..sizes[d + 1..].iter().product()).flat_map(|outer| (0..inner).map(move |index| (outer, index)))
        {
            let start: usize = outer * sizes[d] * inner + index;
            visit(start, start + last * inner);
        }
    }
}
