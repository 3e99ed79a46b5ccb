//! Additive cell patches on a CPU: a preconditioner for stretched cells.

use super::Elliptic;
use super::cell::CellShape;
use super::level::CellOperator;
use super::mesh::{Mesh, Node};
use super::separable::SeparableShape;
use super::transposed::{NONE, Transposed};
use crate::backend::Scalar;
use crate::backend::cpu::{Cpu, Vector};
use crate::error::{Error, Result, check_length, invalid};
use crate::level::CellPatches;
use crate::memory;
use crate::sync::lock;
use patchmg_cpu::{IndexedKernels, Prepared, SeparableCells, indexed_width};
use rayon::prelude::*;
use std::sync::{Arc, Mutex};

/// `P = Σ_c R_cᵀ W_c Ã_c⁻¹ W_c R_c` over the cells with nodes that are smoothed: the patch of a cell has these of its nodes, those on its
/// faces included.
///
/// `Ã_c` is [separable](super::separable), and `W_c² = diag(Ã_c) / (m diag(A))` if `m` patches have a node: if all `Ã_c` were
/// diagonal, `P` would be the inverse diagonal of `A`. So a coefficient that jumps within a cell does no harm.
pub(super) struct ForestCellPatches<T> {
    cpu: Arc<Cpu>,
    kernels: Box<dyn IndexedKernels<T>>,
    cells: SeparableCells<T>,
    /// From the places of patches to nodes.
    gather: Transposed,
    /// Local results of all patches.
    sums: Mutex<Vec<T>>,
}

/// Bytes of them, if all cells have one.
pub(super) fn bytes<T>(system: &Elliptic) -> u64 {
    let (mesh, n) = (&system.mesh, system.degree() + 1);
    let (places, entries) = (mesh.cells().all().len(), mesh.cells().cells() * mesh.dim() * n * n);
    let words = (3 * places + entries) * size_of::<T>();
    Transposed::bytes(mesh.kinds().len(), places) + (words + places * size_of::<u32>()) as u64
}

impl<T: Scalar + Prepared> ForestCellPatches<T> {
    /// With `1 / A_ii` at nodes that are smoothed.
    ///
    /// # Errors
    /// Those of the coefficient; [`Error::OutOfMemory`].
    pub fn new(cpu: &Arc<Cpu>, system: &Elliptic, inverse_diagonal: &[T]) -> Result<Self> {
        let mesh = &*system.mesh;
        let (dim, n, places) = (mesh.dim(), mesh.degree() + 1, mesh.cells().nodes_a_cell());
        let width = indexed_width::<T>(cpu.sweep().simd);
        let is_smoothed = |node: u32| mesh.kinds()[node as usize] == Node::Smoothed;
        let has_patch = |cell: usize| mesh.numbering().leaf_nodes(cell).any(is_smoothed);
        let cells: Vec<usize> = (0..mesh.cells().cells()).into_par_iter().filter(|&cell| has_patch(cell)).collect();
        let mut nodes = patch_nodes(mesh, &cells, width)?;
        let gather = Transposed::new(&nodes, mesh.kinds().len())?;
        let mut weights: Vec<T> = memory::zeros(nodes.len())?;
        let mut inverse_eigenvalues: Vec<T> = memory::zeros(nodes.len())?;
        let entries = dim * n * n;
        let mut functions: Vec<T> = memory::zeros(nodes.len() / places * entries)?;

        let (shape, operator) = (SeparableShape::new(mesh)?, CellOperator::<T>::on_cells(system, has_patch)?);
        let batches = cells.par_chunks(width).zip(nodes.par_chunks_exact(places * width));
        let tables = weights
            .par_chunks_exact_mut(places * width)
            .zip(inverse_eigenvalues.par_chunks_exact_mut(places * width))
            .zip(functions.par_chunks_exact_mut(entries * width));
        batches.zip(tables).try_for_each(|((cells, nodes), ((weights, inverse_eigenvalues), functions))| {
            for (lane, &cell) in cells.iter().enumerate() {
                let own = shape.of_cell(cell, operator.metric_of(cell))?;
                for place in 0..places {
                    let at = place * width + lane;
                    inverse_eigenvalues[at] = T::from_f64(own.inverse_eigenvalues[place]);
                    // The weight stays 0 where nothing is smoothed.
                    if nodes[at] != NONE {
                        let node = nodes[at] as usize;
                        let square = own.diagonal[place] * inverse_diagonal[node].to_f64() / gather.count(node) as f64;
                        weights[at] = T::from_f64(square.sqrt());
                    }
                }
                let by_rows = own.functions.iter().flat_map(|matrix| matrix.row_iter());
                let entries = by_rows.flat_map(|row| row.iter().copied().collect::<Vec<f64>>());
                for (entry, value) in entries.enumerate() {
                    functions[entry * width + lane] = T::from_f64(value);
                }
            }
            Ok::<_, Error>(())
        })?;
        // They read any node, and nobody reads their results.
        nodes.par_iter_mut().for_each(|node| *node = if *node == NONE { 0 } else { *node });
        let kernels = T::indexed(&CellShape::<T>::new(mesh)?.matrices(mesh.degree()))
            .ok_or_else(|| invalid("degree", mesh.degree(), "1 to 8 in 2D, 1 to 6 in 3D"))?;
        Ok(Self {
            cpu: cpu.clone(),
            kernels,
            sums: Mutex::new(memory::zeros(nodes.len())?),
            cells: SeparableCells { nodes, weights, functions, inverse_eigenvalues },
            gather,
        })
    }
}

/// Nodes of cells in lanes, [`NONE`] in the places of those that are not smoothed, and of lanes behind the last cell.
fn patch_nodes(mesh: &Mesh, cells: &[usize], width: usize) -> Result<Vec<u32>> {
    let places = mesh.cells().nodes_a_cell();
    let mut nodes: Vec<u32> = memory::zeros(cells.len().div_ceil(width) * places * width)?;
    nodes.par_chunks_exact_mut(places * width).zip(cells.par_chunks(width)).for_each(|(nodes, cells)| {
        nodes.fill(NONE);
        for (lane, &cell) in cells.iter().enumerate() {
            for (place, node) in mesh.numbering().leaf_nodes(cell).enumerate() {
                if mesh.kinds()[node as usize] == Node::Smoothed {
                    nodes[place * width + lane] = node;
                }
            }
        }
    });
    Ok(nodes)
}

impl<T: Scalar + Prepared> CellPatches<Cpu, T> for ForestCellPatches<T> {
    fn apply_axpby(&self, alpha: f64, x: &Vector<T>, beta: f64, y: &mut Vector<T>) -> Result<()> {
        check_length("y", x.len(), y.len())?;
        let sums = &mut *lock(&self.sums);
        self.kernels.solve_separable(self.cpu.sweep(), &self.cells, x, sums);
        let [of_x, of_y] = [alpha, beta].map(T::from_f64);
        self.cpu.install(|| {
            self.gather.for_each_sum(sums, y, |sum, y| {
                *y = if beta == 0.0 { of_x * sum } else { T::fma(of_y, *y, of_x * sum) };
            });
        });
        Ok(())
    }
}
