//! What is done with vectors on the host.

use super::Separable;
use super::line::{Line, Rows};
use crate::backend::cpu::parallel::try_for_each_chunk;
use crate::error::Result;
use crate::memory;
use pulp::{Arch, NullaryFnOnce};
use std::convert::Infallible;

/// `y += (I ⊗ Q ⊗ I) x` for a square matrix along a direction of tensors of these sizes.
pub(super) fn add_product(rows: &Rows, sizes: [usize; 3], direction: usize, x: &[f64], y: &mut [f64]) {
    let (inner, nodes) = (sizes[..direction].iter().product::<usize>(), sizes[direction]);
    let (arch, y) = (Arch::new(), &mut y[..sizes.iter().product()]);
    // Along x a row of nodes is one task, across it a row of the result.
    let (len, tasks_of_matrix) = if direction == 0 { (nodes, 1) } else { (inner, nodes) };
    let Ok(()) = try_for_each_chunk(y, len, |task, y| -> Result<(), Infallible> {
        let x = &x[task / tasks_of_matrix * nodes * inner..][..nodes * inner];
        let rows = if direction == 0 { rows } else { &rows[task % nodes..][..1] };
        arch.dispatch(AddProduct { rows, inner, x, y });
        Ok(())
    });
}

/// Adds products of some rows of a matrix with tensors `[column][inner]`.
struct AddProduct<'a> {
    rows: &'a [Vec<(usize, f64)>],
    inner: usize,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl NullaryFnOnce for AddProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { rows, inner, x, y } = self;
        if inner == 1 {
            for (row, y) in rows.iter().zip(y) {
                for &(column, entry) in row {
                    *y += entry * x[column];
                }
            }
            return;
        }
        for (row, y) in rows.iter().zip(y.chunks_exact_mut(inner)) {
            for &(column, entry) in row {
                for (y, x) in y.iter_mut().zip(&x[column * inner..]) {
                    *y += entry * x;
                }
            }
        }
    }
}

/// `A x` with 1D matrices `(M, K)` of each direction: the sum of all products with `K` in one direction and `M` in the others.
pub(super) fn product(matrices: &[(Rows, Rows)], sizes: [usize; 3], x: &[f64]) -> Result<Vec<f64>> {
    // With the directions so far: the product of all `M`, and the sum.
    let (mut masses, mut sum) = (memory::copy(x)?, memory::zeros(x.len())?);
    let mut next: Vec<f64> = memory::zeros(x.len())?;
    for (d, (mass, stiffness)) in matrices.iter().enumerate() {
        next.fill(0.0);
        add_product(stiffness, sizes, d, &masses, &mut next);
        if d > 0 {
            add_product(mass, sizes, d, &sum, &mut next);
        }
        std::mem::swap(&mut sum, &mut next);
        if d + 1 < matrices.len() {
            next.fill(0.0);
            add_product(mass, sizes, d, &masses, &mut next);
            std::mem::swap(&mut masses, &mut next);
        }
    }
    Ok(sum)
}

/// Sets all but the unknowns to zero.
pub(super) fn keep_unknowns(system: &Separable, vector: &mut [f64]) {
    let [row, rows, _] = system.space().stored_nodes();
    let [along_x, along_y, along_z] = [0, 1, 2].map(|d| system.lines().get(d).map_or(0..1, Line::unknowns));
    let Ok(()) = try_for_each_chunk(vector, row, |index, entries| -> std::result::Result<(), Infallible> {
        if along_y.contains(&(index % rows)) && along_z.contains(&(index / rows)) {
            entries[..along_x.start].fill(0.0);
            entries[along_x.end..].fill(0.0);
        } else {
            entries.fill(0.0);
        }
        Ok(())
    });
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
