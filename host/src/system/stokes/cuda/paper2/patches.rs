//! Solutions on the patches of a color.

use super::super::super::inverse::local_inverse;
use super::super::super::level::Parts;
use super::super::super::patches::classes;
use super::super::super::{LocalSolver, Stokes};
use super::super::{parts, parts_bytes};
use super::module;
use crate::backend::Scalar;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector};
use crate::error::Result;
use crate::operator::vector_bytes;
use patchmg_device::patch::Ends;
use patchmg_device::stokes::Fields;
use patchmg_device::stokes::Paper2;
use patchmg_device::stokes::paper2::local::{self, SchurTable};
use patchmg_device::stokes::paper2::{Direct, Schur, SchurConflictFree};
use std::sync::Arc;

/// The [local solver](LocalSolver) of a system with its tables; the exact one is that of the default kernels.
pub(super) enum Patches<T: Scalar> {
    Default(Box<dyn Parts<Cuda, T>>),
    Direct { kernel: TypedKernel<Direct<T>>, inverses: Vector<T>, dofs: u32 },
    Schur { kernel: TypedKernel<Schur<T>>, table: Vector<T>, steps: u32 },
    SchurConflictFree { kernel: TypedKernel<SchurConflictFree<T>>, table: Vector<T>, steps: u32 },
}

impl<T: Scalar> Patches<T> {
    pub fn new(cuda: &Arc<Cuda>, system: &Stokes, level: Paper2) -> Result<Self> {
        let (gpu, module) = (&cuda.gpu, module(system));
        let table = || Vector::uploaded(gpu, &schur_table::<T>(system)?);
        Ok(match (system.local_solver_here(), level) {
            (LocalSolver::Exact, _) => Self::Default(parts(cuda, system)?),
            (LocalSolver::Inverse, _) => Self::Direct {
                kernel: TypedKernel::new(gpu, module)?,
                inverses: Vector::uploaded(gpu, &inverses::<T>(system)?)?,
                dofs: system.patch_dofs() as u32,
            },
            (LocalSolver::SchurCg { steps }, Paper2::ConflictFree) => {
                Self::SchurConflictFree { kernel: TypedKernel::new(gpu, module)?, table: table()?, steps: steps as u32 }
            }
            (LocalSolver::SchurCg { steps }, _) => {
                Self::Schur { kernel: TypedKernel::new(gpu, module)?, table: table()?, steps: steps as u32 }
            }
        })
    }

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color.
    ///
    /// # Safety
    /// Two vectors of the level, whose fields these are.
    pub unsafe fn add_solutions(&self, cuda: &Cuda, fields: Fields, r: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let blocks = local::blocks(fields.cells, fields.color);
        let (gpu, from, to) = (&cuda.gpu, r.as_ptr(), x.as_mut_ptr());
        // SAFETY, in all: the caller's promise, and tables of the level's patches.
        match self {
            Self::Default(parts) => parts.add_solutions(fields.color as usize, r, x),
            Self::Direct { kernel, inverses, dofs } => {
                let arguments = Direct { inverses: inverses.as_ptr(), dofs: *dofs, r: from, x: to, fields };
                unsafe { kernel.launch(gpu, blocks, arguments) }
            }
            Self::Schur { kernel, table, steps } => {
                let arguments = Schur { table: table.as_ptr(), steps: *steps, r: from, x: to, fields };
                unsafe { kernel.launch(gpu, blocks, arguments) }
            }
            Self::SchurConflictFree { kernel, table, steps } => {
                let arguments = SchurConflictFree { table: table.as_ptr(), steps: *steps, r: from, x: to, fields };
                unsafe { kernel.launch(gpu, blocks, arguments) }
            }
        }
    }
}

/// The inverse of each kind of patch, in the order of [`Direct::inverses`].
pub(super) fn inverses<T: Scalar>(system: &Stokes) -> Result<Vec<T>> {
    let forms = (0..3).map(|d| system.line_forms(d)).collect::<Result<Vec<_>>>()?;
    let mut inverses = Vec::new();
    for kind in classes(system).into_iter().flatten() {
        let patch: Vec<_> = forms.iter().zip(&kind).map(|(forms, &ends)| forms.patch(ends)).collect();
        let numbers: Vec<_> = kind.iter().map(|&ends| ends as usize).collect();
        let inverse = local_inverse(system, &numbers, &patch)?;
        inverses.extend(inverse.iter().map(|&entry| T::from_f64(entry)));
    }
    Ok(inverses)
}

/// [`SchurTable`] of each direction and of each of [`Ends`].
pub(super) fn schur_table<T: Scalar>(system: &Stokes) -> Result<Vec<T>> {
    let nodes = 2 * (system.degree() + 1);
    let mut tables = Vec::new();
    for d in 0..3 {
        let forms = system.line_forms(d)?;
        for ends in Ends::ALL {
            let patch = forms.patch(ends);
            for pairs in [&patch.discontinuous, &patch.continuous] {
                for matrix in [&pairs.vectors.transpose(), &pairs.vectors] {
                    tables.extend_from_slice(matrix.clone().resize(nodes, nodes, 0.0).as_slice());
                }
            }
            for matrix in [&patch.divergence, &patch.divergence.transpose()] {
                tables.extend_from_slice(matrix.clone().resize(nodes, nodes, 0.0).as_slice());
            }
            tables.extend(patch.discontinuous.values.iter().map(|value| system.viscosity * value));
            tables.extend(patch.continuous.values.iter().map(|value| system.mass + system.viscosity * value));
            tables.push(1.0);
            tables.extend_from_slice(patch.constant.normalize().as_slice());
        }
    }
    Ok(tables.into_iter().map(T::from_f64).collect())
}

/// Bytes of the tables.
pub(super) fn bytes<T: Scalar>(system: &Stokes) -> u64 {
    match system.local_solver_here() {
        LocalSolver::Exact => parts_bytes::<T>(system),
        LocalSolver::Inverse => vector_bytes::<T>(1, system.patch_kinds() * system.patch_dofs().pow(2)),
        LocalSolver::SchurCg { .. } => vector_bytes::<T>(1, 12 * SchurTable::new(2 * (system.degree() + 1)).words()),
    }
}
