//! From a mesh to the next coarser one: values at its nodes.

use super::cell::{CellShape, LineMatrix};
use super::mesh::Mesh;
use super::transfer::{families, place_in_family};
use super::transposed::NONE;
use crate::backend::Scalar;
use crate::error::{Result, invalid};
use crate::memory;
use nalgebra::DMatrix;
use rayon::prelude::*;
use std::sync::Arc;

/// The interpolation of functions of a mesh at the nodes of the next coarser one: what linearizes coarser levels.
pub(super) struct Interpolation<T> {
    fine: Arc<Mesh>,
    /// The first children of refined cells.
    families: Vec<u32>,
    /// From the nodes of children, `2k + 1` a direction, to those of their parent.
    matrix: LineMatrix<T>,
    /// Where each node of the coarser mesh takes its value: its place in families, or behind these its node of the finer mesh, or
    /// [`NONE`] if it hangs.
    sources: Vec<u32>,
}

/// By rows: each node of a parent, whose value is that of the child it is in.
pub(super) fn from_children(fine: &Mesh) -> DMatrix<f64> {
    let (k, element) = (fine.degree(), fine.element());
    let mut matrix = DMatrix::zeros(k + 1, 2 * k + 1);
    for (i, &x) in element.nodes().iter().enumerate() {
        let child = usize::from(x > 0.5);
        let row = element.values(2.0 * x - child as f64);
        row.into_iter().enumerate().for_each(|(j, entry)| matrix[(i, child * k + j)] = entry);
    }
    matrix
}

impl<T: Scalar> Interpolation<T> {
    pub fn new(coarse: &Mesh, fine: &Arc<Mesh>) -> Result<Self> {
        let nodes = coarse.cells().nodes_a_cell();
        let (mut of_families, mut sources) = (Vec::new(), memory::zeros(coarse.kinds().len())?);
        sources.fill(NONE);
        for (cell, first, _) in families(coarse.forest(), fine.forest()).filter(|(_, _, is_refined)| *is_refined) {
            for (i, node) in coarse.numbering().leaf_nodes(cell).enumerate() {
                sources[node as usize] = (of_families.len() * nodes + i) as u32;
            }
            of_families.push(first as u32);
        }
        let places = of_families.len() * nodes;
        if places + fine.kinds().len() >= NONE as usize {
            let found = places + fine.kinds().len();
            return Err(invalid("the number of places that nodes take values from", found, "below 2^32 - 1"));
        }
        for (cell, first, _) in families(coarse.forest(), fine.forest()).filter(|(_, _, is_refined)| !is_refined) {
            for (node, own) in coarse.numbering().leaf_nodes(cell).zip(fine.numbering().leaf_nodes(first)) {
                // Where it hangs on the finer mesh a refined neighbour has it.
                if !fine.numbering().hangs(own as usize) {
                    sources[node as usize] = places as u32 + own;
                }
            }
        }
        let hanging = (0..sources.len()).filter(|&node| coarse.numbering().hangs(node));
        hanging.for_each(|node| sources[node] = NONE);
        let matrix = LineMatrix::new(&from_children(fine));
        Ok(Self { fine: fine.clone(), families: of_families, matrix, sources })
    }

    /// Nodes of the coarser mesh.
    pub fn coarse_storage(&self) -> usize {
        self.sources.len()
    }

    /// Values at the nodes of the coarser mesh that do not hang, 0 at others; with memory for what families have.
    pub fn apply(&self, shape: &CellShape<T>, u: &[T], coarse: &mut [T], values: &mut Vec<T>) {
        let (fine, k, dim) = (&*self.fine, self.fine.degree(), self.fine.dim());
        let nodes = fine.cells().nodes_a_cell();
        let needed = self.families.len() * nodes;
        values.resize(values.len().max(needed), T::ZERO);
        let families = self.families.par_iter().zip(values.par_chunks_exact_mut(nodes));
        families.for_each_init(
            || (Vec::new(), vec![T::ZERO; (2 * k + 1).pow(dim as u32)], Vec::new()),
            |(own, family, other), (&first, values)| {
                family.resize((2 * k + 1).pow(dim as u32), T::ZERO);
                for child in 0..1 << dim {
                    let cell = first as usize + child;
                    own.clear();
                    own.extend(fine.cells().of(cell).iter().map(|&node| u[node as usize]));
                    if let Some(lines) = fine.cells().hanging_of(cell) {
                        shape.interpolate(lines, own);
                    }
                    own.iter().enumerate().for_each(|(i, &value)| family[place_in_family(k, child, i)] = value);
                }
                for d in 0..dim {
                    self.matrix.apply((k + 1).pow(d as u32), family, other);
                    std::mem::swap(family, other);
                }
                values.copy_from_slice(family);
            },
        );
        coarse.par_iter_mut().zip(&self.sources).with_min_len(1 << 12).for_each(|(coarse, &source)| {
            *coarse = match source as usize {
                _ if source == NONE => T::ZERO,
                place if place < needed => values[place],
                place => u[place - needed],
            };
        });
    }
}
