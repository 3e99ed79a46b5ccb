//! Solutions on the patches of a color by fast diagonalization, an axis after the other.

use super::axis_by_axis::Workspace;
use super::dense::{Coupled, DensePatches, PatchMatrices, Tables};
use super::forms::PatchForms;
use super::patches::{PatchPlace, repeated};
use super::schur_cg::SchurCg;
use super::{LocalSolver, Stokes};
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::layout::Layout;
use crate::system::axes::Product;
use nalgebra::DMatrix;
use std::ops::Range;
use std::sync::Arc;

/// The patches of a color: with `F`, `G` the residuals of velocity and pressure on them,
///
/// ```text
/// S P = B A⁻¹ F - G,    U = A⁻¹ (F - Bᵀ P),
/// ```
///
/// in eigenfunctions, where `A` is diagonal and `B` acts along one axis (paper 2, section 3.2).
pub(super) struct Diagonalized<B: Backend, T: Scalar> {
    /// To eigenfunctions and back, of each block.
    analysis: Vec<Product<B, T>>,
    synthesis: Vec<Product<B, T>>,
    velocity: VelocityModes<B, T>,
    pressure: PressureSolver<B, T>,
    blocks: Vec<Range<usize>>,
}

/// `A⁻¹` and `B` in eigenfunctions.
pub(super) struct VelocityModes<B: Backend, T: Scalar> {
    /// `1 / (s + ν Σ λ)` of each component.
    pub inverse_eigenvalues: Vec<B::Vector<T>>,
    /// `-B` of each component, and its transpose.
    pub divergence: Vec<Product<B, T>>,
    pub gradient: Vec<Product<B, T>>,
}

/// Solves `S P = g`.
enum PressureSolver<B: Backend, T: Scalar> {
    /// `S⁺`, stored.
    Stored(DensePatches<B, T>),
    Cg(SchurCg<B, T>),
}

impl<B: Backend, T: Scalar> Diagonalized<B, T> {
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
        let inverse_eigenvalues = eigenvalues.collect::<Result<_>>()?;
        let pressure = match system.local_solver_here() {
            LocalSolver::SchurCg { steps } => {
                PressureSolver::Cg(SchurCg::new(backend, system, patches, steps, tables)?)
            }
            _ => {
                let len = stored.iter().product();
                PressureSolver::Stored(DensePatches::new(backend, patches, len, tables, &StoredSchur(system))?)
            }
        };
        Ok(Self {
            analysis: products(true)?,
            synthesis: products(false)?,
            velocity: VelocityModes { inverse_eigenvalues, divergence, gradient },
            pressure,
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
        let VelocityModes { inverse_eigenvalues, divergence, gradient } = &self.velocity;
        let dim = inverse_eigenvalues.len();
        let pressures = &self.blocks[dim];
        let Workspace { temporary, pressure, velocity, between, .. } = &mut *work;
        self.analysis[dim].apply(backend, temporary, (r, pressures.start), (between, 0), false)?;
        backend.axpby(-1.0, between, 0.0, pressure)?;
        for (component, velocity) in velocity.iter_mut().enumerate() {
            let place = self.blocks[component].start;
            self.analysis[component].apply(backend, temporary, (r, place), (velocity, 0), false)?;
            backend.diagonal_axpby(1.0, &inverse_eigenvalues[component], velocity, 0.0, between)?;
            divergence[component].apply(backend, temporary, (between, 0), (pressure, 0), true)?;
        }
        match &self.pressure {
            PressureSolver::Stored(schur) => {
                schur.multiply(backend, pressure, temporary)?;
                schur.place(backend, temporary, pressure, false)?;
            }
            PressureSolver::Cg(cg) => cg.solve(backend, &self.velocity, work)?,
        }
        let Workspace { temporary, pressure, velocity, between, .. } = work;
        for (component, velocity) in velocity.iter_mut().enumerate() {
            let inverse = &inverse_eigenvalues[component];
            gradient[component].apply(backend, temporary, (pressure, 0), (between, 0), false)?;
            backend.axpby(-1.0, between, 1.0, velocity)?;
            backend.diagonal_axpby(1.0, inverse, velocity, 0.0, between)?;
            let place = self.blocks[component].start;
            self.synthesis[component].apply(backend, temporary, (between, 0), (x, place), true)?;
        }
        self.synthesis[dim].apply(backend, temporary, (pressure, 0), (x, pressures.start), true)
    }
}

/// `S⁺`, in eigenfunctions.
struct StoredSchur<'a>(&'a Stokes);

impl PatchMatrices for StoredSchur<'_> {
    fn of_kind(&self, kind: &[usize], patch: &[PatchPlace]) -> Result<Arc<Vec<Coupled>>> {
        self.0.schur.of(self.0, kind, &patch.iter().map(|place| place.forms).collect::<Vec<_>>())
    }

    fn places(&self, patch: &[PatchPlace]) -> Vec<(usize, f64)> {
        let space = self.0.pressure_space();
        let along = |d: usize| patch.get(d).map_or(0..1, |place| place.first..place.first + place.forms.constant.len());
        let line = |y: usize, z: usize| along(0).map(move |x| (space.offset([x, y, z]), 1.0));
        along(2).flat_map(|z| along(1).flat_map(move |y| line(y, z))).collect()
    }
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
