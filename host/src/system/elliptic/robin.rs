//! Robin's condition: `∫ α u v` over faces on the boundary, as a matrix.

use super::Elliptic;
use super::boundary::for_each_face_point;
use super::cell::CellShape;
use super::equation::Equation;
use super::mesh::Mesh;
use crate::backend::Scalar;
use crate::error::{Result, invalid};
use crate::memory;
use rayon::prelude::*;

/// The rows of nodes on faces with Robin's condition, `C` included: nodes that hang have none. There are few.
#[derive(Debug)]
pub(super) struct RobinRows<T> {
    /// Node of each row, ascending.
    pub nodes: Vec<u32>,
    /// Entries of row `r` are those from `first[r]` to `first[r + 1]`.
    pub first: Vec<u32>,
    /// Node of each entry.
    pub columns: Vec<u32>,
    pub entries: Vec<T>,
}

impl<T: Scalar> RobinRows<T> {
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) where `α` is negative or not finite, and for `2^32` entries of all faces;
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(mesh: &Mesh, equation: &Equation) -> Result<Self> {
        let [_, entries] = rows_and_entries(mesh, equation);
        u32::try_from(entries)
            .map_err(|_| invalid("the number of entries of faces with Robin's condition", entries, "below 2^32"))?;
        memory::check((entries * size_of::<(u32, u32, f64)>()) as u64)?;
        let mut triplets = Vec::with_capacity(entries);
        if !equation.robin.is_empty() {
            let shape = CellShape::new(mesh)?;
            let (mut face, mut last) = (Face::default(), None);
            for_each_face_point(mesh, mesh.mapping()?, |at| {
                let Some(alpha) = equation.robin.get(&at.number) else { return Ok(()) };
                if last.replace((at.cell, at.face)) != Some((at.cell, at.face)) {
                    face.take(&mut triplets);
                    face = Face::new(mesh, at.cell, at.face);
                }
                let mut basis = at.basis.to_vec();
                if let Some(lines) = mesh.cells().hanging_of(at.cell) {
                    shape.interpolate_transposed(lines, &mut basis);
                }
                face.add(at.weight * alpha.at("the coefficient of Robin's condition", at.point)?, &basis);
                Ok(())
            })?;
            face.take(&mut triplets);
        }
        // Stable: sums are over ascending faces.
        triplets.sort_by_key(|&(row, column, _)| (row, column));
        let mut own = Self { nodes: Vec::new(), first: Vec::new(), columns: Vec::new(), entries: Vec::new() };
        for entry in triplets.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (row, column, _) = entry[0];
            if own.nodes.last() != Some(&row) {
                own.nodes.push(row);
                own.first.push(own.columns.len() as u32);
            }
            own.columns.push(column);
            own.entries.push(T::from_f64(entry.iter().map(|(_, _, value)| value).sum()));
        }
        own.first.push(own.columns.len() as u32);
        Ok(own)
    }

    /// Row after row: its node, and columns with entries.
    pub fn rows(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = (usize, T)>)> {
        self.nodes.iter().enumerate().map(|(row, &node)| (node as usize, self.row(row)))
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, T)> {
        let range = self.first[row] as usize..self.first[row + 1] as usize;
        self.columns[range.clone()].iter().map(|&column| column as usize).zip(self.entries[range].iter().copied())
    }

    /// Row `row` of the product with `x`.
    fn times_row(&self, row: usize, x: &[T]) -> T {
        self.row(row).fold(T::ZERO, |sum, (column, entry)| T::fma(entry, x[column], sum))
    }

    /// The entry of the product with `x` at a node.
    pub fn times(&self, node: usize, x: &[T]) -> T {
        self.nodes.binary_search(&(node as u32)).map_or(T::ZERO, |row| self.times_row(row, x))
    }

    /// `y += sign R x` at nodes that are wanted.
    pub fn add(&self, sign: f64, x: &[T], y: &mut [T], is_wanted: impl Fn(usize) -> bool) {
        if self.nodes.is_empty() {
            return;
        }
        let product = |row| self.times_row(row, x);
        let products: Vec<T> = (0..self.nodes.len()).into_par_iter().with_min_len(1 << 8).map(product).collect();
        let wanted = self.nodes.iter().zip(products).filter(|(node, _)| is_wanted(**node as usize));
        wanted.for_each(|(&node, product)| y[node as usize] = T::fma(T::from_f64(sign), product, y[node as usize]));
    }
}

/// Rows and entries of all faces with the condition, each counted alone.
fn rows_and_entries(mesh: &Mesh, equation: &Equation) -> [usize; 2] {
    if equation.robin.is_empty() {
        return [0; 2];
    }
    let forest = mesh.forest();
    let has = |leaf, face| forest.boundary(leaf, face).is_some_and(|number| equation.robin.contains_key(&number));
    let faces = |leaf| (0..2 * mesh.dim()).filter(|&face| has(leaf, face)).count();
    let faces: usize = forest.leaves().iter().map(faces).sum();
    let nodes = (mesh.degree() + 1).pow(mesh.dim() as u32 - 1);
    [faces * nodes, faces * nodes * nodes]
}

/// Bytes of the rows of a system, or a few more: faces share rows.
pub(super) fn bytes<T>(system: &Elliptic) -> u64 {
    let [rows, entries] = rows_and_entries(&system.mesh, &system.equation);
    let numbers = if rows == 0 { 0 } else { 2 * rows + 1 };
    (numbers * size_of::<u32>() + entries * (size_of::<u32>() + size_of::<T>())) as u64
}

/// The matrix of one face.
#[derive(Default)]
struct Face {
    /// Node of the cell, and its number.
    nodes: Vec<(usize, u32)>,
    /// By rows.
    matrix: Vec<f64>,
}

impl Face {
    fn new(mesh: &Mesh, cell: usize, face: usize) -> Self {
        let (k, stride) = (mesh.degree(), (mesh.degree() + 1).pow(face as u32 / 2));
        let all = mesh.cells().of(cell).iter().copied().enumerate();
        let nodes: Vec<_> = all.filter(|(i, _)| i / stride % (k + 1) == k * (face % 2)).collect();
        Self { matrix: vec![0.0; nodes.len() * nodes.len()], nodes }
    }

    /// Adds `weight * basis basisᵀ`.
    fn add(&mut self, weight: f64, basis: &[f64]) {
        for (row, (i, _)) in self.matrix.chunks_exact_mut(self.nodes.len()).zip(&self.nodes) {
            let factor = weight * basis[*i];
            row.iter_mut().zip(&self.nodes).for_each(|(entry, (j, _))| *entry += factor * basis[*j]);
        }
    }

    /// Moves the entries, with row and column.
    fn take(&mut self, triplets: &mut Vec<(u32, u32, f64)>) {
        let nodes = self.nodes.iter().map(|(_, node)| *node);
        let places = nodes.clone().flat_map(|row| nodes.clone().map(move |column| (row, column)));
        triplets.extend(places.zip(self.matrix.drain(..)).map(|((row, column), value)| (row, column, value)));
    }
}
