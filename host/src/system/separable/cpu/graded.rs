//! The operator and steps of the smoother where cells differ, or are odd in number: each cell has factors of its own, each patch eigenpairs.

use super::super::Separable;
use super::super::line::{Ends, Line};
use super::{Extended, Lattice};
use crate::backend::Scalar;
use crate::backend::cpu::Cpu;
use crate::error::Result;
use crate::fe::{assemble_multiples, generalized_eigenpairs};
use crate::operator::vector_bytes;
use crate::system::System;
use crate::system::poisson::cpu::unsupported;
use nalgebra::DMatrix;
use patchmg_cpu::{Factors, LatticeKernels, MAX_LANES, Prepared, graded_words};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The kernels of a lattice.
pub(super) fn extended<T: Scalar + Prepared>(
    cpu: &Arc<Cpu>,
    system: &Separable,
    lattice: Lattice,
) -> Result<Extended<T, dyn LatticeKernels<T>>> {
    let (dim, grid, reaction) = (system.dim(), lattice.grid, system.equation().reaction);
    let element = system.lines()[0].axis.element();
    let cell = [element.mass(), element.stiffness()];
    let (mut eigenpairs, mut factors) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
    for (d, (line, &coefficient)) in system.lines().iter().zip(system.diffusion()).enumerate() {
        let cells = lattice.smoothed[d].clone().map(|cell| i64::from(cell) - i64::from(lattice.cells[d].start));
        let widths: Vec<f64> = cells.map(|cell| width(line, cell)).collect();
        let of_width = |h: &f64| Factors { mass: T::from_f64(*h), stiffness: T::from_f64(coefficient / h) };
        factors[d] = widths.iter().map(of_width).collect();
        eigenpairs[d] = eigenpairs_of_patches(&cell, coefficient, &widths)?;
    }
    // Symmetric ones: columns are rows.
    let cell = cell.map(|matrix| matrix.as_slice().to_vec());
    let mut kept = [const { Vec::new() }; 3];
    for (d, of_vertices) in system.kept_patches().iter().flatten().enumerate().take(dim) {
        // On a lattice a period has a patch twice.
        kept[d] = of_vertices.iter().copied().cycle().take(lattice.smoothed[d].len() - 1).collect();
        debug_assert!(system.lines()[d].joins_ends() || kept[d].len() == of_vertices.len());
    }
    let (smoothed, integrated) = (lattice.smoothed.clone(), lattice.cells.clone());
    let reaction = T::from_f64(reaction);
    let space = patchmg_cpu::Graded { dim, grid, smoothed, factors, eigenpairs, kept, integrated, cell, reaction };
    let kernels = T::graded(space).ok_or_else(|| unsupported(grid.degree as usize))?;
    Extended::new(cpu, system, lattice, kernels, 1.0)
}

/// Bytes of eigenpairs and factors, at most.
pub(super) fn bytes<T: Scalar>(system: &Separable) -> u64 {
    let words = graded_words(system.space().degree()) + FACTORS;
    let of_line = |line: &Line| vector_bytes::<T>(1, words * (line.axis.cells() + 2 * MAX_LANES));
    system.lines().iter().map(of_line).sum()
}

/// Numbers of the factors of a patch and of half a tile of the operator: of mass and stiffness, for two cells and one.
const FACTORS: usize = 2 * (2 + 1);

/// Width of a cell of a line, or of the next one beyond an end.
fn width(line: &Line, cell: i64) -> f64 {
    let cells = line.axis.cells() as i64;
    let inside = match line.ends {
        Ends::Periodic => cell.rem_euclid(cells),
        // A mirror image.
        Ends::Open(_) => cell.clamp(0, cells - 1),
    };
    line.axis.width(inside as usize)
}

/// The eigenpairs of the patches of neighbouring cells of such widths, in their order; mass and stiffness matrix are those of a cell of size 1.
fn eigenpairs_of_patches<T: Scalar>(
    [mass, stiffness]: &[DMatrix<f64>; 2],
    coefficient: f64,
    widths: &[f64],
) -> Result<Vec<T>> {
    let mut known: HashMap<[u64; 2], Vec<T>> = HashMap::new();
    let mut all = Vec::new();
    for widths in widths.array_windows::<2>() {
        let of_pair = match known.entry(widths.map(f64::to_bits)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mass = assemble_multiples(mass, widths);
                let stiffness = assemble_multiples(stiffness, &widths.map(|width| coefficient / width));
                new.insert(numbers(&mass, &stiffness)?)
            }
        };
        all.extend_from_slice(of_pair);
    }
    Ok(all)
}

/// Those of a patch, as kernels take them.
fn numbers<T: Scalar>(mass: &DMatrix<f64>, stiffness: &DMatrix<f64>) -> Result<Vec<T>> {
    let inner = mass.nrows() - 2;
    let interior = |matrix: &DMatrix<f64>| matrix.view((1, 1), (inner, inner)).into_owned();
    let pairs = generalized_eigenpairs(&interior(stiffness), &interior(mass))?;
    let functions = pairs.vectors.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
    Ok(functions.chain(pairs.values.iter().copied()).map(T::from_f64).collect())
}
