//! The exact solution on the patches of a color, all of them at once, an axis after the other.

use super::Stokes;
use super::axis_by_axis::Workspace;
use super::forms::{LineForms, PatchForms};
use super::product::Product;
use crate::backend::{AxisMatrix, Backend, Scalar, Tensors};
use crate::error::Result;
use crate::layout::Layout;
use nalgebra::DMatrix;
use patchmg_device::patch::{Ends, color_count};
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
    /// `S⁺` of patches alike, by parities.
    schur: Vec<PlacedSchur<B, T>>,
    blocks: Vec<Range<usize>>,
}

/// A patch in a direction: its first stored node, what kind it is of, and its forms.
#[derive(Clone, Copy)]
pub(super) struct PatchPlace<'a> {
    first: usize,
    kind: usize,
    forms: &'a PatchForms,
}

/// The patches of a color in a direction.
pub(super) fn along(forms: &LineForms, cells: usize, bit: u32) -> Vec<PatchPlace<'_>> {
    let place = |index: usize| {
        let cell = 2 * index + bit as usize;
        let ends = Ends::of_patch(cells as u32, cell as u32);
        // Patches at the upper end have the numbers of those at the lower one.
        let kind = if ends == Ends::Upper { Ends::Lower } else { ends } as usize;
        PatchPlace { first: cell * forms.stride(), kind, forms: forms.patch(ends) }
    };
    (0..color_count(cells as u32, bit) as usize).map(place).collect()
}

/// All cells of a direction as one patch.
pub(super) fn whole(forms: &PatchForms) -> Vec<PatchPlace<'_>> {
    vec![PatchPlace { first: 0, kind: Ends::Both as usize, forms }]
}

/// A matrix of a patch, for all patches of a direction: `block` is placed so many nodes behind a patch's first one.
fn repeated(
    nodes: usize,
    patches: &[PatchPlace],
    block: &dyn Fn(&PatchForms) -> DMatrix<f64>,
    [row_offset, column_offset]: [usize; 2],
) -> AxisMatrix<f64> {
    let mut rows = vec![Vec::new(); nodes];
    for &PatchPlace { first, forms, .. } in patches {
        let block = block(forms);
        for (i, j) in (0..block.nrows()).flat_map(|i| (0..block.ncols()).map(move |j| (i, j))) {
            rows[first + row_offset + i].push((first + column_offset + j, block[(i, j)]));
        }
    }
    AxisMatrix::from_rows(nodes, &rows)
}

impl<B: Backend, T: Scalar> ColorPatches<B, T> {
    /// Of the patches in each direction.
    pub fn new(backend: &B, system: &Stokes, patches: &[Vec<PatchPlace>], tables: &mut Tables<B, T>) -> Result<Self> {
        let (dim, stored) = (patches.len(), system.pressure_space().stored_nodes());
        let matrix = |d: usize, block: &dyn Fn(&PatchForms) -> DMatrix<f64>, offsets| {
            let rows = repeated(stored[d], &patches[d], block, offsets);
            Ok::<_, crate::Error>(Arc::new(backend.axis_matrix::<T>(&rows)?))
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
            let inverse = inverse_eigenvalues(system, component, patches);
            let rounded: Vec<T> = inverse.into_iter().map(T::from_f64).collect();
            let mut vector = backend.zeros(rounded.len())?;
            backend.upload(&rounded, &mut vector)?;
            Ok(vector)
        });
        let (schur, order) = schur(backend, system, patches, tables)?;
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
        for PlacedSchur { matrix, first, patches } in &self.schur {
            let patches = Tensors { inner: 1, outer: *patches, from: *first, to: *first };
            backend.apply_along_axis(matrix, patches, one, other, false)?;
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

/// `S⁺` of modes of one parity, for so many patches from an entry on.
struct PlacedSchur<B: Backend, T: Scalar> {
    matrix: Arc<B::AxisMatrix<T>>,
    first: usize,
    patches: usize,
}

/// `1 / (s + ν Σ λ)` where the eigenfunctions of a component have their place, 0 elsewhere.
fn inverse_eigenvalues(system: &Stokes, component: usize, patches: &[Vec<PatchPlace>]) -> Vec<f64> {
    let stored = system.pressure_space().stored_nodes();
    let line = |d: usize| -> Vec<Option<f64>> {
        let mut values = vec![None; stored[d]];
        for &PatchPlace { first, forms, .. } in &patches[d] {
            let (begin, pairs) =
                if d == component { (first + 1, &forms.continuous) } else { (first, &forms.discontinuous) };
            pairs.values.iter().enumerate().for_each(|(f, &value)| values[begin + f] = Some(value));
        }
        values
    };
    let lines: Vec<_> = (0..patches.len()).map(line).collect();
    let value = |d: usize, node: usize| lines.get(d).map_or(Some(0.0), |line| line[node]);
    let mut inverse = Vec::with_capacity(stored.iter().product());
    for (z, y) in (0..stored[2]).flat_map(|z| (0..stored[1]).map(move |y| (z, y))) {
        let across = value(1, y).zip(value(2, z));
        inverse.extend((0..stored[0]).map(|x| match across.zip(value(0, x)) {
            Some(((y, z), x)) => 1.0 / (system.mass + system.viscosity * (x + y + z)),
            None => 0.0,
        }));
    }
    inverse
}

/// `S⁺` of each kind of patches of a level, on the machine: colors share them.
pub(super) struct Tables<B: Backend, T: Scalar>(BTreeMap<Vec<usize>, Vec<SchurTable<B, T>>>);

/// `S⁺` of the modes of one parity.
struct SchurTable<B: Backend, T: Scalar> {
    modes: Vec<usize>,
    matrix: Arc<B::AxisMatrix<T>>,
}

impl<B: Backend, T: Scalar> Tables<B, T> {
    /// None yet.
    pub fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Of a kind.
    fn of(
        &mut self,
        backend: &B,
        system: &Stokes,
        kind: &[usize],
        patch: &[&PatchForms],
    ) -> Result<&[SchurTable<B, T>]> {
        if !self.0.contains_key(kind) {
            let schur = system.schur.of(system, kind, patch)?;
            let upload = |(modes, inverse): &(Vec<usize>, DMatrix<f64>)| {
                let dense = AxisMatrix::dense(inverse.nrows(), inverse.ncols(), |i, j| inverse[(i, j)]);
                Ok(SchurTable { modes: modes.clone(), matrix: Arc::new(backend.axis_matrix(&dense)?) })
            };
            self.0.insert(kind.to_vec(), schur.iter().map(upload).collect::<Result<_>>()?);
        }
        Ok(&self.0[kind])
    }
}

/// Tables in the order in which they are applied, and the pressures' places in that order.
type OrderedSchur<B, T> = (Vec<PlacedSchur<B, T>>, Vec<usize>);

/// `S⁺` of each kind of patches, and the pressures' places in the order in which it takes them: patch after patch, those of a kind
/// and of a parity beside each other.
fn schur<B: Backend, T: Scalar>(
    backend: &B,
    system: &Stokes,
    patches: &[Vec<PatchPlace>],
    tables: &mut Tables<B, T>,
) -> Result<OrderedSchur<B, T>> {
    let mut of_kind: BTreeMap<Vec<usize>, Vec<Vec<PatchPlace>>> = BTreeMap::new();
    for index in 0..patches.iter().map(Vec::len).product() {
        let mut rest = index;
        let mut patch = Vec::new();
        for line in patches {
            patch.push(line[rest % line.len()]);
            rest /= line.len();
        }
        of_kind.entry(patch.iter().map(|place| place.kind).collect()).or_default().push(patch);
    }
    let (space, mut placed, mut order) = (system.pressure_space(), Vec::new(), Vec::new());
    for (kind, patches) in of_kind {
        let forms: Vec<_> = patches[0].iter().map(|place| place.forms).collect();
        let sizes = [0, 1, 2].map(|d| forms.get(d).map_or(1, |forms| forms.constant.len()));
        for SchurTable { modes, matrix } in tables.of(backend, system, &kind, &forms)? {
            placed.push(PlacedSchur { matrix: matrix.clone(), first: order.len(), patches: patches.len() });
            for (patch, mode) in patches.iter().flat_map(|patch| modes.iter().map(move |&mode| (patch, mode))) {
                let mode = [mode % sizes[0], mode / sizes[0] % sizes[1], mode / (sizes[0] * sizes[1])];
                let first = |d: usize| patch.get(d).map_or(0, |place| place.first);
                order.push(space.offset([0, 1, 2].map(|d| first(d) + mode[d])));
            }
        }
    }
    Ok((placed, order))
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
