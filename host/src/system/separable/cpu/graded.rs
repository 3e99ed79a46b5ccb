//! Steps of the smoother where cells differ, or are odd in number: each patch has 1D matrices of its own.

use super::super::Separable;
use super::super::level::Steps;
use super::super::line::{Ends, Line};
use super::Lattice;
use crate::backend::cpu::{Cpu, Vector};
use crate::backend::{Backend, Scalar};
use crate::error::{Result, check_length};
use crate::fe::{assemble_multiples, generalized_eigenpairs};
use crate::operator::vector_bytes;
use crate::sync::lock;
use crate::system::System;
use crate::system::poisson::cpu::unsupported;
use nalgebra::DMatrix;
use patchmg_cpu::{GradedKernels, MAX_LANES, Prepared, graded_words};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

/// See the module.
pub(super) struct Graded<T> {
    cpu: Arc<Cpu>,
    kernels: Box<dyn GradedKernels<T>>,
    lattice: Lattice,
    /// Entries of the level's vectors.
    storage: usize,
    /// `x` and `b` on the lattice.
    vectors: Mutex<[Vector<T>; 2]>,
}

impl<T: Scalar + Prepared> Graded<T> {
    pub fn new(cpu: &Arc<Cpu>, system: &Separable, lattice: Lattice) -> Result<Self> {
        let (dim, grid, reaction) = (system.dim(), lattice.grid, system.equation().reaction);
        let mut matrices = [Vec::new(), Vec::new(), Vec::new()];
        for (d, (line, &coefficient)) in system.lines().iter().zip(system.diffusion()).enumerate() {
            // A reaction is in the matrices of x.
            matrices[d] = patches(line, coefficient, if d == 0 { reaction } else { 0.0 })?;
        }
        let smoothed = lattice.smoothed.clone();
        let space = patchmg_cpu::Graded { dim, grid, smoothed, matrices, reaction: T::from_f64(reaction) };
        let vector = || cpu.zeros::<T>(grid.storage(dim));
        Ok(Self {
            cpu: cpu.clone(),
            kernels: T::graded(space).ok_or_else(|| unsupported(grid.degree as usize))?,
            lattice,
            storage: system.space().storage(),
            vectors: Mutex::new([vector()?, vector()?]),
        })
    }
}

/// Bytes of the matrices, at most.
pub(super) fn bytes<T: Scalar>(system: &Separable) -> u64 {
    let words = graded_words(system.space().degree());
    let of_line = |line: &Line| vector_bytes::<T>(1, words * (line.axis.cells() + 2 * MAX_LANES));
    system.lines().iter().map(of_line).sum()
}

/// The matrices of all patches of a direction, in their order: those around vertices from the first that has one on.
fn patches<T: Scalar>(line: &Line, coefficient: f64, reaction: f64) -> Result<Vec<T>> {
    let (element, cells) = (line.axis.element(), line.axis.cells());
    let width = |cell: isize| {
        let inside = match line.ends {
            Ends::Periodic => cell.rem_euclid(cells as isize),
            // A mirror image.
            Ends::Open(_) => cell.clamp(0, cells as isize - 1),
        };
        line.axis.width(inside as usize)
    };
    let mut known: HashMap<[u64; 2], Vec<T>> = HashMap::new();
    let mut all = Vec::new();
    // A period has a patch at both ends, which are one.
    let vertices = if line.joins_ends() { 0..cells + 1 } else { line.patch_vertices() };
    for vertex in vertices {
        let widths = [width(vertex as isize - 1), width(vertex as isize)];
        let of_pair = match known.entry(widths.map(f64::to_bits)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mass = assemble_multiples(&element.mass(), &widths);
                let stiffness = assemble_multiples(&element.stiffness(), &widths.map(|width| coefficient / width));
                new.insert(numbers(&mass, &stiffness, reaction)?)
            }
        };
        all.extend_from_slice(of_pair);
    }
    Ok(all)
}

/// Those of a patch, as kernels take them.
fn numbers<T: Scalar>(mass: &DMatrix<f64>, stiffness: &DMatrix<f64>, reaction: f64) -> Result<Vec<T>> {
    let inner = mass.nrows() - 2;
    let interior = |matrix: &DMatrix<f64>| matrix.view((1, 1), (inner, inner)).into_owned();
    let pairs = generalized_eigenpairs(&interior(stiffness), &interior(mass))?;
    let rows = |matrix: &DMatrix<f64>, first: usize| -> Vec<f64> {
        matrix.rows(first, inner).row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect()
    };
    let mut numbers = rows(mass, 1);
    numbers.extend(rows(&(stiffness + mass * reaction), 1));
    numbers.extend(rows(&pairs.vectors, 0));
    numbers.extend(pairs.values.iter());
    numbers.extend(mass.rows(1, inner).column_sum().iter());
    Ok(numbers.into_iter().map(T::from_f64).collect())
}

impl<T: Scalar + Prepared> Steps<Cpu, T> for Graded<T> {
    fn smooth(&self, colors: &[usize], b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        check_length("b", self.storage, b.len())?;
        check_length("x", self.storage, x.len())?;
        let [extended, load] = &mut *lock(&self.vectors);
        let kernel = |color, b: &[T], x: &mut [T]| self.kernels.smooth_color(self.cpu.sweep(), color, b, x);
        self.lattice.smooth(&self.cpu, colors, (b, 1.0, load), (x, extended), kernel);
        Ok(())
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        Ok(Vec::new())
    }
}
