//! How the equations on a vertex patch are solved.

use super::Stokes;
use crate::choice::named_choice;
use crate::error::{Error, Result};
use crate::units::bytes;

/// Steps of conjugate gradients at most.
const MOST_STEPS: usize = 1000;
/// Bytes that the stored inverses of a level may take in `f64`: enough for `RT_4` in 3D.
const MOST_BYTES: u64 = 2 << 30;

/// The solver of the equations on a vertex patch. The coarsest mesh is solved exactly with each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalSolver {
    /// Fast diagonalization, and the stored pseudo-inverse of the Schur complement, by parities.
    #[default]
    Exact,
    /// Fast diagonalization, and so many steps of conjugate gradients for the Schur complement, preconditioned by the mass matrix of
    /// the pressure (paper 2, section 3.2). Not a linear map: a Krylov method must be flexible.
    SchurCg {
        /// 1 to 1000.
        steps: usize,
    },
    /// The stored pseudo-inverse of the whole local matrix (the paper's direct solver).
    Inverse,
}

impl LocalSolver {
    /// Steps of conjugate gradients by default: as many as the paper has on average.
    pub const STEPS: usize = 15;
    /// All of them, conjugate gradients with [`Self::STEPS`].
    pub const ALL: [Self; 3] = [Self::Exact, Self::SchurCg { steps: Self::STEPS }, Self::Inverse];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::SchurCg { .. } => "schur-cg",
            Self::Inverse => "inverse",
        }
    }
}

named_choice!(LocalSolver, "local");

impl Stokes {
    /// With another solver on patches.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a number of steps that is not from 1 to 1000, and for inverses that would take more than 2 GiB on
    /// a level in `f64`.
    pub fn with_local_solver(self, local: LocalSolver) -> Result<Self> {
        match local {
            LocalSolver::SchurCg { steps } if !(1..=MOST_STEPS).contains(&steps) => Err(Error::InvalidArgument {
                name: "local-steps",
                value: steps.to_string(),
                allowed: format!("from 1 to {}", MOST_STEPS),
            }),
            LocalSolver::Inverse if self.inverse_bytes() > MOST_BYTES => Err(Error::InvalidArgument {
                name: "local",
                value: format!("inverse, which would store {} of inverses on a level", bytes(self.inverse_bytes())),
                allowed: format!("one that stores at most {}, as exact and schur-cg do", bytes(MOST_BYTES)),
            }),
            _ => Ok(Self { local, ..self }),
        }
    }

    /// The solver on patches.
    pub fn local_solver(&self) -> LocalSolver {
        self.local
    }

    /// The solver on the patches of this mesh: the coarsest one is solved exactly.
    pub(super) fn local_solver_here(&self) -> LocalSolver {
        if self.mesh().coarser().is_none() { LocalSolver::Exact } else { self.local }
    }

    /// Whether machines have kernels of their own for this mesh: with the exact solver, but for a coarsest mesh that is no
    /// vertex patch.
    pub(super) fn has_kernels(&self) -> bool {
        self.local_solver_here() == LocalSolver::Exact && self.has_patches()
    }

    /// Whether this mesh has vertex patches: all but a coarsest one with an odd number of cells.
    pub(super) fn has_patches(&self) -> bool {
        self.mesh().coarser().is_some() || self.mesh().is_patch()
    }

    /// Dofs of a vertex patch: of the velocity without normal components on its boundary, and of the pressure.
    pub(super) fn patch_dofs(&self) -> usize {
        let (dim, nodes) = (self.mesh().dim(), 2 * (self.degree + 1));
        dim * (nodes - 1) * nodes.pow(dim as u32 - 1) + nodes.pow(dim as u32)
    }

    /// Kinds of vertex patches of a mesh that is not the coarsest: at the end of a direction or not; two cells are one kind.
    pub(super) fn patch_kinds(&self) -> usize {
        let mesh = self.mesh();
        mesh.cells_along()[..mesh.dim()].iter().map(|&cells| if cells == 2 { 1 } else { 2 }).product()
    }

    /// Bytes of the inverses of a level in `f64`.
    fn inverse_bytes(&self) -> u64 {
        (self.patch_kinds() * self.patch_dofs().pow(2) * size_of::<f64>()) as u64
    }
}
