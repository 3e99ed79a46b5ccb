//! The exact solution on the patches of a color, all of them at once, an axis after the other.

use super::Stokes;
use super::forms::{LineForms, PatchForms};
use super::level::{Product, Workspace};
use super::schur::pseudo_inverse;
use crate::backend::{AxisMatrix, Backend, Scalar, Tensors};
use crate::error::Result;
use crate::layout::Layout;
use crate::system::System;
use nalgebra::DMatrix;
use patchmg_device::patch::{Ends, bit, color_count};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The patches of a color: with `F`, `G` the residuals of velocity and pressure on them,
///
/// ```text
/// S P = B A⁻¹ F - G,    U = A⁻¹ (F - Bᵀ P),
/// ```
///
/// in eigenfunctions, where `A` is diagonal and `B` acts along one axis (paper 2, section 3.2, with `S⁺` stored instead of conjugate
/// gradients).
pub(super) struct ColorPatches<B: Backend, T: Scalar> {
    /// To eigenfunctions and back, of each block.
    analysis: Vec<Product<B, T>>,
    synthesis: Vec<Product<B, T>>,
    /// `1 / (s + ν Σ λ)` of each component.
    inverse_eigenvalues: Vec<B::Vector<T>>,
    /// `-B` of each component, and its transpose.
    divergence: Vec<Product<B, T>>,
    gradient: Vec<Product<B, T>>,
    /// Pressures from the place of their nodes to patch after patch, and back.
    gather: B::AxisMatrix<T>,
    scatter: B::AxisMatrix<T>,
    /// `S⁺` of patches alike, and their number.
    schur: Vec<(B::AxisMatrix<T>, usize)>,
    blocks: Vec<Range<usize>>,
    /// Nodes of the pressure on a patch.
    patch_nodes: usize,
}

/// Where a direction's patches of a color are: their first stored nodes, and the ends that they touch.
fn along(cells: usize, stride: usize, bit: u32) -> impl Iterator<Item = (usize, Ends)> + Clone {
    (0..color_count(cells as u32, bit) as usize).map(move |index| {
        let cell = 2 * index + bit as usize;
        (cell * stride, Ends::of_patch(cells as u32, cell as u32))
    })
}

/// `S` or another matrix of a patch, for all patches of a direction: `block` is placed `offset` nodes behind a patch's first one.
fn repeated<'a>(
    nodes: usize,
    patches: impl Iterator<Item = (usize, Ends)>,
    block: impl Fn(Ends) -> DMatrix<f64> + 'a,
    [row_offset, column_offset]: [usize; 2],
) -> AxisMatrix<f64> {
    let mut rows = vec![Vec::new(); nodes];
    for (first, ends) in patches {
        let block = block(ends);
        for (i, j) in (0..block.nrows()).flat_map(|i| (0..block.ncols()).map(move |j| (i, j))) {
            rows[first + row_offset + i].push((first + column_offset + j, block[(i, j)]));
        }
    }
    AxisMatrix::from_rows(nodes, &rows)
}

impl<B: Backend, T: Scalar> ColorPatches<B, T> {
    /// Of a color that has patches.
    pub fn new(backend: &B, system: &Stokes, forms: &[LineForms], color: usize) -> Result<Self> {
        let (dim, cells) = (forms.len(), system.mesh().cells_along());
        let stored = system.pressure_space().stored_nodes();
        let stride = forms[0].stride();
        let patches = |d: usize| along(cells[d], stride, bit(color as u32, d));
        let matrix = |d: usize, block: &dyn Fn(&PatchForms) -> DMatrix<f64>, offsets| {
            let of_ends = |ends| block(forms[d].patch(ends));
            Ok::<_, crate::Error>(Arc::new(backend.axis_matrix::<T>(&repeated(
                stored[d],
                patches(d),
                of_ends,
                offsets,
            ))?))
        };
        // Of each direction: eigenfunctions of the continuous and of the discontinuous axis, and the divergence.
        let transforms = |transposed: bool| {
            let oriented = move |matrix: &DMatrix<f64>| if transposed { matrix.transpose() } else { matrix.clone() };
            let each = |d: usize| {
                let continuous = matrix(d, &|forms| oriented(&forms.continuous.vectors), [1, 1])?;
                let discontinuous = matrix(d, &|forms| oriented(&forms.discontinuous.vectors), [0, 0])?;
                Ok([continuous, discontinuous])
            };
            (0..dim).map(each).collect::<Result<Vec<_>>>()
        };
        let products = |transposed: bool| -> Result<Vec<Product<B, T>>> {
            let matrices = transforms(transposed)?;
            let of_block = |block: usize| {
                let axis = |d: usize| matrices[d][usize::from(d != block)].clone();
                Product::new(stored, (0..dim).map(|d| (d, axis(d))).collect())
            };
            Ok((0..=dim).map(of_block).collect())
        };
        let mut divergence = Vec::new();
        let mut gradient = Vec::new();
        for d in 0..dim {
            divergence.push(Product::new(stored, vec![(d, matrix(d, &|forms| -&forms.divergence, [0, 1])?)]));
            gradient.push(Product::new(stored, vec![(d, matrix(d, &|forms| -forms.divergence.transpose(), [1, 0])?)]));
        }
        let eigenvalues = (0..dim).map(|component| {
            let inverse = inverse_eigenvalues(system, forms, component, &patches);
            let rounded: Vec<T> = inverse.into_iter().map(T::from_f64).collect();
            let mut vector = backend.zeros(rounded.len())?;
            backend.upload(&rounded, &mut vector)?;
            Ok(vector)
        });
        let (schur, order) = schur(backend, system, forms, &patches)?;
        let (gather, scatter) = permutations(order, stored.iter().product());
        Ok(Self {
            analysis: products(true)?,
            synthesis: products(false)?,
            inverse_eigenvalues: eigenvalues.collect::<Result<_>>()?,
            divergence,
            gradient,
            gather: backend.axis_matrix(&gather)?,
            scatter: backend.axis_matrix(&scatter)?,
            schur,
            blocks: Layout::of(&system.spaces).blocks().to_vec(),
            patch_nodes: forms[0].patch_nodes().pow(dim as u32),
        })
    }

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the color's patches.
    pub fn add_solutions(
        &self,
        backend: &B,
        r: &B::Vector<T>,
        x: &mut B::Vector<T>,
        work: &mut Workspace<B, T>,
    ) -> Result<()> {
        let Workspace { temporary, pressure, velocity, between, .. } = work;
        let dim = velocity.len();
        let pressures = &self.blocks[dim];
        self.analysis[dim].apply(backend, temporary, (r, pressures.start), (between, 0), false)?;
        backend.axpby(-1.0, between, 0.0, pressure)?;
        for (component, velocity) in velocity.iter_mut().enumerate() {
            let place = self.blocks[component].start;
            self.analysis[component].apply(backend, temporary, (r, place), (velocity, 0), false)?;
            backend.diagonal_axpby(1.0, &self.inverse_eigenvalues[component], velocity, 0.0, between)?;
            self.divergence[component].apply(backend, temporary, (between, 0), (pressure, 0), true)?;
        }
        let (all, [one, other]) = (Tensors { inner: 1, outer: 1, from: 0, to: 0 }, &mut *temporary);
        backend.apply_along_axis(&self.gather, all, pressure, one, false)?;
        let mut first = 0;
        for (schur, count) in &self.schur {
            let patches = Tensors { inner: 1, outer: *count, from: first, to: first };
            backend.apply_along_axis(schur, patches, one, other, false)?;
            first += count * self.patch_nodes;
        }
        backend.apply_along_axis(&self.scatter, all, other, pressure, false)?;
        for (component, velocity) in velocity.iter_mut().enumerate() {
            let inverse = &self.inverse_eigenvalues[component];
            self.gradient[component].apply(backend, temporary, (pressure, 0), (between, 0), false)?;
            backend.axpby(-1.0, between, 1.0, velocity)?;
            backend.diagonal_axpby(1.0, inverse, velocity, 0.0, between)?;
            self.synthesis[component].apply(
                backend,
                temporary,
                (between, 0),
                (x, self.blocks[component].start),
                true,
            )?;
        }
        self.synthesis[dim].apply(backend, temporary, (pressure, 0), (x, pressures.start), true)
    }
}

/// `1 / (s + ν Σ λ)` where the eigenfunctions of a component have their place, 0 elsewhere.
fn inverse_eigenvalues<P: Iterator<Item = (usize, Ends)>>(
    system: &Stokes,
    forms: &[LineForms],
    component: usize,
    patches: &impl Fn(usize) -> P,
) -> Vec<f64> {
    let stored = system.pressure_space().stored_nodes();
    let line = |d: usize| -> Vec<Option<f64>> {
        let mut values = vec![None; stored[d]];
        for (first, ends) in patches(d) {
            let PatchForms { continuous, discontinuous, .. } = forms[d].patch(ends);
            let (begin, pairs) = if d == component { (first + 1, continuous) } else { (first, discontinuous) };
            pairs.values.iter().enumerate().for_each(|(f, &value)| values[begin + f] = Some(value));
        }
        values
    };
    let lines: Vec<_> = (0..forms.len()).map(line).collect();
    let value = |d: usize, node: usize| lines.get(d).map_or(Some(0.0), |line| line[node]);
    let mut inverse = Vec::with_capacity(stored.iter().product());
    for z in 0..stored[2] {
        for y in 0..stored[1] {
            let across = value(1, y).zip(value(2, z));
            inverse.extend((0..stored[0]).map(|x| match across.zip(value(0, x)) {
                Some(((y, z), x)) => 1.0 / (system.mass + system.viscosity * (x + y + z)),
                None => 0.0,
            }));
        }
    }
    inverse
}

/// What patches of a color have in common with others: where a direction is symmetric, and which of its ends differ.
type Kind = Vec<Ends>;

/// `S⁺` of each kind of patches with their number, and the pressures' places, patch after patch in this order.
#[allow(clippy::type_complexity)] // two lists, named above
fn schur<B: Backend, T: Scalar, P: Iterator<Item = (usize, Ends)>>(
    backend: &B,
    system: &Stokes,
    forms: &[LineForms],
    patches: &impl Fn(usize) -> P,
) -> Result<(Vec<(B::AxisMatrix<T>, usize)>, Vec<usize>)> {
    let (dim, space) = (forms.len(), system.pressure_space());
    // Patches at the upper end have the numbers of those at the lower one.
    let kind = |ends: Ends| if ends == Ends::Upper { Ends::Lower } else { ends };
    let lines: Vec<Vec<_>> = (0..dim).map(|d| patches(d).map(|(first, ends)| (first, kind(ends))).collect()).collect();
    let mut of_kind: BTreeMap<Vec<usize>, (Kind, Vec<[usize; 3]>)> = BTreeMap::new();
    for index in 0..lines.iter().map(Vec::len).product() {
        let (mut rest, mut first, mut ends) = (index, [0; 3], Vec::new());
        for (d, line) in lines.iter().enumerate() {
            first[d] = line[rest % line.len()].0;
            ends.push(line[rest % line.len()].1);
            rest /= line.len();
        }
        let key = ends.iter().map(|&ends| ends as usize).collect();
        of_kind.entry(key).or_insert_with(|| (ends, Vec::new())).1.push(first);
    }
    let (n, mut matrices, mut order) = (forms[0].patch_nodes(), Vec::new(), Vec::new());
    for (ends, firsts) in of_kind.values() {
        let patch: Vec<_> = ends.iter().zip(forms).map(|(&ends, forms)| forms.patch(ends)).collect();
        let symmetric: Vec<_> = ends.iter().map(|&ends| ends != Ends::Lower).collect();
        let inverse = pseudo_inverse(&patch, &symmetric, system.mass, system.viscosity)?;
        let dense = AxisMatrix::dense(inverse.nrows(), inverse.ncols(), |i, j| inverse[(i, j)]);
        matrices.push((backend.axis_matrix(&dense)?, firsts.len()));
        for first in firsts {
            for local in 0..n.pow(dim as u32) {
                let local = [local % n, local / n % n, local / (n * n)];
                order.push(space.offset([0, 1, 2].map(|d| first[d] + local[d])));
            }
        }
    }
    Ok((matrices, order))
}

/// The matrix that brings nodes into an order, and the one that brings them back; nodes that are not in it become zero.
fn permutations(order: Vec<usize>, nodes: usize) -> (AxisMatrix<f64>, AxisMatrix<f64>) {
    let mut scatter =
        AxisMatrix { rows: nodes, columns: order.len(), width: 1, first: vec![0; nodes], entries: vec![0.0; nodes] };
    for (place, &node) in order.iter().enumerate() {
        scatter.first[node] = place as u32;
        scatter.entries[node] = 1.0;
    }
    let first = order.into_iter().map(|node| node as u32).collect::<Vec<_>>();
    let gather = AxisMatrix { rows: first.len(), columns: nodes, width: 1, entries: vec![1.0; first.len()], first };
    (gather, scatter)
}
