//! The stored inverse of the whole local matrix of a patch.

use super::Stokes;
use super::dense::{Coupled, DensePatches, PatchMatrices, Shared, Tables};
use super::forms::PatchForms;
use super::patches::PatchPlace;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::sync::lock;
use crate::system::System;
use nalgebra::{DMatrix, DVector, Dyn};
use std::sync::{Arc, Mutex};

/// The patches of a color, each solved by the product with one dense matrix (paper 2's direct solver).
pub(super) struct InversePatches<B: Backend, T: Scalar> {
    matrices: DensePatches<B, T>,
    /// Of all dofs, patch after patch.
    gathered: Shared<[B::Vector<T>; 2]>,
}

impl<B: Backend, T: Scalar> InversePatches<B, T> {
    /// Of the patches in each direction.
    pub fn new(backend: &B, system: &Stokes, patches: &[Vec<PatchPlace>], tables: &mut Tables<B, T>) -> Result<Self> {
        let layout = system.layout();
        let gathered = match &tables.gathered {
            Some(gathered) => gathered.clone(),
            None => {
                let vector = || backend.zeros(layout.storage());
                tables.gathered.insert(Arc::new(Mutex::new([vector()?, vector()?]))).clone()
            }
        };
        let matrices = DensePatches::new(backend, patches, layout.storage(), tables, &Inverses(system))?;
        Ok(Self { matrices, gathered })
    }

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the color's patches.
    pub fn add_solutions(&self, backend: &B, r: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let gathered = &mut *lock(&self.gathered);
        self.matrices.multiply(backend, r, gathered)?;
        self.matrices.place(backend, gathered, x, true)
    }
}

/// One matrix for all dofs of a patch, in nodes.
struct Inverses<'a>(&'a Stokes);

impl PatchMatrices for Inverses<'_> {
    fn of_kind(&self, kind: &[usize], patch: &[PatchPlace]) -> Result<Arc<Vec<Coupled>>> {
        let inverse = local_inverse(self.0, kind, &patch.iter().map(|place| place.forms).collect::<Vec<_>>())?;
        Ok(Arc::new(vec![((0..inverse.nrows()).collect(), inverse)]))
    }

    /// A patch that mirrors another has its dofs in reverse order, and a mirror turns the component across it.
    fn places(&self, patch: &[PatchPlace]) -> Vec<(usize, f64)> {
        let (layout, space) = (self.0.layout(), self.0.pressure_space());
        let mut places = Vec::with_capacity(self.0.patch_dofs());
        for (block, range) in layout.blocks().iter().enumerate() {
            let along = |d: usize| -> Vec<usize> {
                let Some(place) = patch.get(d) else { return vec![0] };
                // The first node of a continuous axis lies on the patch's boundary.
                let nodes = place.first + usize::from(d == block)..place.first + place.forms.constant.len();
                if place.is_mirrored { nodes.rev().collect() } else { nodes.collect() }
            };
            let sign = if patch.get(block).is_some_and(|place| place.is_mirrored) { -1.0 } else { 1.0 };
            let [xs, ys, zs] = [0, 1, 2].map(along);
            for (&z, &y) in zs.iter().flat_map(|z| ys.iter().map(move |y| (z, y))) {
                places.extend(xs.iter().map(|&x| (range.start + space.offset([x, y, z]), sign)));
            }
        }
        places
    }
}

/// Dofs of a block of a patch in each direction; components of the velocity come before the pressure.
fn block_sizes(patch: &[&PatchForms], block: usize) -> Vec<usize> {
    let along = |(d, forms): (usize, &&PatchForms)| forms.constant.len() - usize::from(d == block);
    patch.iter().enumerate().map(along).collect()
}

/// The pseudo-inverse of the local matrix `[A Bᵀ; B 0]`, in nodes:
///
/// ```text
/// [A⁻¹ - W B A⁻¹, W; Wᵀ, -S⁺],    W = A⁻¹ Bᵀ S⁺,
/// ```
///
/// first in eigenfunctions, where `A` is diagonal and `B` acts along one axis.
///
/// # Errors
/// Those of [`pseudo_inverse`](super::schur::pseudo_inverse).
pub(super) fn local_inverse(system: &Stokes, kind: &[usize], patch: &[&PatchForms]) -> Result<DMatrix<f64>> {
    let dim = patch.len();
    let sizes: Vec<Vec<usize>> = (0..=dim).map(|block| block_sizes(patch, block)).collect();
    let lens: Vec<usize> = sizes.iter().map(|sizes| sizes.iter().product()).collect();
    let pressures = lens[dim];
    let mut schur = DMatrix::zeros(pressures, pressures);
    for (modes, inverse) in &*system.schur.of(system, kind, patch)? {
        for (j, &column) in modes.iter().enumerate() {
            modes.iter().enumerate().for_each(|(i, &row)| schur[(row, column)] = inverse[(i, j)]);
        }
    }
    let gradients: Vec<_> = patch.iter().map(|forms| -forms.divergence.transpose()).collect();
    let gradient = |component: usize| {
        let gradients = &gradients;
        (0..dim).map(move |d| (d == component).then_some(&gradients[d]))
    };
    let eigenvalues: Vec<_> = (0..dim).map(|component| inverse_eigenvalues(system, component, patch)).collect();
    let w: Vec<DMatrix<f64>> = (0..dim)
        .map(|component| {
            let sizes = [&sizes[dim][..], &[pressures]].concat();
            let matrices: Vec<_> = gradient(component).chain([None]).collect();
            let mut product =
                contract(schur.clone(), &sizes, &matrices).reshape_generic(Dyn(lens[component]), Dyn(pressures));
            product.row_iter_mut().zip(&eigenvalues[component]).for_each(|(mut row, value)| row *= *value);
            product
        })
        .collect();
    let in_modes = |row: usize, column: usize| match (row == dim, column == dim) {
        (true, true) => -&schur,
        (true, false) => w[column].transpose(),
        (false, true) => w[row].clone(),
        (false, false) => {
            let sizes = [&[lens[row]], &sizes[dim][..]].concat();
            let matrices: Vec<_> = [None].into_iter().chain(gradient(column)).collect();
            let product = contract(w[row].clone(), &sizes, &matrices);
            let mut block = -product.reshape_generic(Dyn(lens[row]), Dyn(lens[column]));
            for (j, (mut column_of_block, value)) in block.column_iter_mut().zip(&eigenvalues[column]).enumerate() {
                column_of_block *= *value;
                if row == column {
                    column_of_block[j] += value;
                }
            }
            block
        }
    };
    let vectors = |block: usize| {
        let along =
            move |d: usize| if d == block { &patch[d].continuous.vectors } else { &patch[d].discontinuous.vectors };
        (0..dim).map(move |d| Some(along(d)))
    };
    let mut whole = DMatrix::zeros(lens.iter().sum(), lens.iter().sum());
    let first = |block: usize| lens[..block].iter().sum::<usize>();
    for (row, column) in (0..=dim).flat_map(|row| (0..=dim).map(move |column| (row, column))) {
        let sizes = [&sizes[row][..], &sizes[column][..]].concat();
        let matrices: Vec<_> = vectors(row).chain(vectors(column)).collect();
        let block = contract(in_modes(row, column), &sizes, &matrices);
        let shape = (lens[row], lens[column]);
        whole
            .view_mut((first(row), first(column)), shape)
            .copy_from(&block.reshape_generic(Dyn(shape.0), Dyn(shape.1)));
    }
    Ok(0.5 * (&whole + whole.transpose()))
}

/// `1 / (s + ν Σ λ)` of the eigenfunctions of a component on a patch.
fn inverse_eigenvalues(system: &Stokes, component: usize, patch: &[&PatchForms]) -> DVector<f64> {
    let mut sums = vec![0.0];
    for (d, forms) in patch.iter().enumerate() {
        let values = if d == component { &forms.continuous.values } else { &forms.discontinuous.values };
        sums = values.iter().flat_map(|value| sums.iter().map(move |sum| sum + value)).collect();
    }
    DVector::from_vec(sums).map(|sum| 1.0 / (system.mass + system.viscosity * sum))
}

/// A tensor of these sizes, the first index fastest, with a matrix along each axis or none; the last index counts columns.
fn contract(tensor: DMatrix<f64>, sizes: &[usize], matrices: &[Option<&DMatrix<f64>>]) -> DMatrix<f64> {
    // Each axis is the first once, and becomes the last.
    sizes.iter().zip(matrices).fold(tensor, |tensor, (&size, matrix)| {
        let rest = tensor.len() / size;
        let lines = tensor.reshape_generic(Dyn(size), Dyn(rest));
        matrix.map_or_else(|| lines.transpose(), |matrix| (matrix * &lines).transpose())
    })
}
