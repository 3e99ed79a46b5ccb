//! The patches of a color, which are solved on all of them at once.

use super::axis_by_axis::Workspace;
use super::dense::Tables;
use super::diagonalized::Diagonalized;
use super::forms::{LineForms, PatchForms};
use super::inverse::InversePatches;
use super::schur::Schur;
use super::{LocalSolver, Stokes};
use crate::backend::{AxisMatrix, Backend, Scalar};
use crate::error::Result;
use crate::operator::vector_bytes;
use crate::system::System;
use crate::system::axes::{matrix_bytes, places_bytes};
use nalgebra::DMatrix;
use patchmg_device::patch::{Ends, bit};
use std::sync::Arc;

/// The patches of a color with their [local solver](LocalSolver).
pub(super) enum ColorPatches<B: Backend, T: Scalar> {
    /// Exact, or by conjugate gradients.
    Diagonalized(Box<Diagonalized<B, T>>),
    Inverse(InversePatches<B, T>),
}

/// A patch in a direction.
#[derive(Clone, Copy)]
pub(super) struct PatchPlace<'a> {
    /// Its first stored node.
    pub first: usize,
    /// Patches at the upper end are of the kind of those at the lower one.
    pub kind: usize,
    /// Whether it mirrors the patch at the lower end.
    pub is_mirrored: bool,
    pub forms: &'a PatchForms,
}

/// Patches of a color in a direction: around every other vertex, or the one cell that there is.
pub(super) fn count(cells: usize, bit: u32) -> usize {
    if cells == 1 { 1 - bit as usize } else { (cells - bit as usize) / 2 }
}

/// The patches of a color in a direction.
pub(super) fn along(forms: &LineForms, cells: usize, bit: u32) -> Vec<PatchPlace<'_>> {
    let place = |index: usize| {
        let cell = 2 * index + bit as usize;
        let ends = if cells == 1 { Ends::Both } else { Ends::of_patch(cells as u32, cell as u32) };
        let is_mirrored = ends == Ends::Upper;
        let kind = if is_mirrored { Ends::Lower } else { ends } as usize;
        PatchPlace { first: cell * forms.stride(), kind, is_mirrored, forms: forms.patch(ends) }
    };
    (0..count(cells, bit)).map(place).collect()
}

/// All cells of a direction as one patch.
pub(super) fn whole(forms: &PatchForms) -> Vec<PatchPlace<'_>> {
    vec![PatchPlace { first: 0, kind: Ends::Both as usize, is_mirrored: false, forms }]
}

/// The ends of patches for each combination of the directions' classes, that of x fastest: class 0 touches no end of the
/// domain, class 1 touches one or, in a direction of two cells, both. None of combinations without patches.
pub(super) fn classes(system: &Stokes) -> Vec<Option<Vec<Ends>>> {
    let (dim, cells) = (system.mesh().dim(), system.mesh().cells_along());
    let ends = |d: usize, touches: bool| match (cells[d], touches) {
        (2, true) => Some(Ends::Both),
        (2, false) => None,
        // Patches at the upper end have the Schur complement of those at the lower one.
        (_, true) => Some(Ends::Lower),
        (_, false) => Some(Ends::Neither),
    };
    (0..1 << dim).map(|class| (0..dim).map(|d| ends(d, class >> d & 1 == 1)).collect()).collect()
}

/// `S⁺` of the patches with these ends.
///
/// # Errors
/// Those of [`Schurs::of`](super::schur::Schurs::of).
pub(super) fn schur(system: &Stokes, forms: &[LineForms], ends: &[Ends]) -> Result<Arc<Schur>> {
    let patch: Vec<_> = forms.iter().zip(ends).map(|(forms, &ends)| forms.patch(ends)).collect();
    let kind: Vec<_> = ends.iter().map(|&ends| ends as usize).collect();
    system.schur.of(system, &kind, &patch)
}

/// Entries of `S⁺` of all [`classes`].
pub(super) fn schur_entries(system: &Stokes) -> usize {
    let nodes = 2 * (system.degree() + 1);
    // In a direction where parities couple, modes squared; else half of that.
    let entries = |ends: Ends| nodes * if matches!(ends, Ends::Lower | Ends::Upper) { nodes } else { nodes / 2 };
    classes(system).into_iter().flatten().map(|ends| ends.into_iter().map(entries).product::<usize>()).sum()
}

/// A matrix of a patch, for all patches of a direction: `block` is placed so many nodes behind a patch's first one.
pub(super) fn repeated(
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
        Ok(match system.local_solver_here() {
            LocalSolver::Inverse => Self::Inverse(InversePatches::new(backend, system, patches, tables)?),
            LocalSolver::Exact | LocalSolver::SchurCg { .. } => {
                Self::Diagonalized(Box::new(Diagonalized::new(backend, system, patches, tables)?))
            }
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
        match self {
            Self::Diagonalized(patches) => patches.add_solutions(backend, r, x, work),
            Self::Inverse(patches) => patches.add_solutions(backend, r, x),
        }
    }
}

/// Bytes of the patches of all colors of a level, with vectors that only their local solver needs; some 1D matrices are a little
/// smaller than said here.
pub(super) fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (mesh, block, storage) = (system.mesh(), system.pressure_space().storage(), system.layout().storage());
    let (dim, cells, stride) = (mesh.dim(), mesh.cells_along(), system.degree() + 1);
    let (is_whole, local) = (system.is_one_patch(), system.local_solver_here());
    let line = |d: usize, width: usize| matrix_bytes::<T>(cells[d] * stride, width);
    let of_color = |color: u32| -> u64 {
        let patches = |d: usize| if is_whole { 1 } else { count(cells[d], bit(color, d)) };
        let width = |d: usize| if is_whole { cells[d] * stride } else { cells[d].min(2) * stride };
        // Eigenvalues of each component; to eigenfunctions and back, the divergence and its transpose.
        let eigenvalues = vector_bytes::<T>(dim, block);
        let lines = (0..dim).map(|d| 3 * line(d, width(d)) + 3 * line(d, width(d) - 1)).sum::<u64>();
        let all_patches: usize = (0..dim).map(patches).product();
        match local {
            LocalSolver::Exact => {
                // The order of pressures there and back.
                let pressures = all_patches * (0..dim).map(width).product::<usize>();
                eigenvalues + lines + matrix_bytes::<T>(pressures, 1) + matrix_bytes::<T>(block, 1)
            }
            LocalSolver::SchurCg { .. } => {
                // Sums over patches and means of patches, there and back.
                let sums = (0..dim).map(|d| 2 * (matrix_bytes::<T>(patches(d), width(d)) + line(d, 1)));
                eigenvalues + lines + sums.sum::<u64>()
            }
            LocalSolver::Inverse => {
                matrix_bytes::<T>(all_patches * system.patch_dofs(), 1) + matrix_bytes::<T>(storage, 1)
            }
        }
    };
    let has_patches = |color: &u32| (0..dim).all(|d| count(cells[d], bit(*color, d)) > 0);
    let colors = if is_whole { 1 } else { 1 << dim };
    let shared = match local {
        LocalSolver::Exact => schur_bytes::<T>(system),
        LocalSolver::SchurCg { .. } => {
            vector_bytes::<T>(4, block) + vector_bytes::<T>(3, (0..dim).map(|d| cells[d] / 2).product())
        }
        LocalSolver::Inverse => {
            let dofs = system.patch_dofs();
            vector_bytes::<T>(2, storage) + system.patch_kinds() as u64 * matrix_bytes::<T>(dofs, dofs)
        }
    };
    (0..colors).filter(has_patches).map(of_color).sum::<u64>() + shared
}

/// `S⁺` of all kinds of patches, by parities.
fn schur_bytes<T: Scalar>(system: &Stokes) -> u64 {
    let (dim, cells) = (system.mesh().dim(), system.mesh().cells_along());
    let (stride, is_whole) = (system.degree() + 1, system.is_one_patch());
    // In a direction, of each kind: modes of each parity.
    let split = |modes: usize| vec![modes.div_ceil(2), modes / 2];
    let kinds = |d: usize| match (is_whole, cells[d]) {
        (true, cells) | (false, cells @ (1 | 2)) => vec![split(cells * stride)],
        (false, _) => vec![split(2 * stride), vec![2 * stride]],
    };
    // Products over directions of the sizes of groups, or of their squares, summed over kinds and groups.
    let sum = |d: usize, power: u32| kinds(d).iter().flatten().map(|modes| modes.pow(power)).sum::<usize>();
    let [rows, entries] = [1, 2].map(|power| (0..dim).map(|d| sum(d, power)).product());
    vector_bytes::<T>(1, entries) + places_bytes(rows)
}
