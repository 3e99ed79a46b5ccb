//! The choice of a smoother.

use super::fourth_kind::MOST;
use super::{AdditivePatchSmoother, Chebyshev, ChebyshevFourthKind, Jacobi, PatchSmoother, PointGaussSeidel, Smoother};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::level::SharedLevel;
use crate::system::{Smoothers, System};

/// Which smoother a level has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SmootherConfig {
    /// Multiplicative vertex patches, [`PatchSmoother`]. On boxes [`Poisson::suitable_smoother`](crate::system::Poisson::suitable_smoother) and
    /// [`Separable::suitable_smoother`](crate::system::Separable::suitable_smoother) say where another one takes fewer iterations.
    #[default]
    Patch,
    /// Additive vertex patches, [`AdditivePatchSmoother`].
    AdditivePatch {
        /// Factor of the correction, above 0 and below 2.
        damping: f64,
    },
    /// Gauss-Seidel dof by dof, [`PointGaussSeidel`].
    PointGaussSeidel,
    /// Damped Jacobi iteration, [`Jacobi`].
    Jacobi {
        /// Factor of the correction, above 0 and below 2.
        damping: f64,
    },
    /// Chebyshev iteration over Jacobi's, [`Chebyshev`].
    Chebyshev {
        /// Degree of the polynomial, and so residuals a step; at least 1.
        degree: usize,
        /// Largest over smallest eigenvalue of those that are smoothed; above 1.
        range: f64,
    },
    /// Chebyshev iteration over [patches of cells](crate::level::Level::cell_patches), [`Chebyshev`]: for stretched cells.
    ChebyshevPatch {
        /// Degree of the polynomial, and so residuals a step; at least 1.
        degree: usize,
        /// Largest over smallest eigenvalue of those that are smoothed; above 1.
        range: f64,
    },
    /// Chebyshev iteration of the fourth kind over Jacobi's, [`ChebyshevFourthKind`].
    ChebyshevFourthKind {
        /// Degree of the polynomial, and so residuals a step; 1 to 6.
        degree: usize,
    },
}

impl SmootherConfig {
    /// As on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::AdditivePatch { .. } => "additive-patch",
            Self::PointGaussSeidel => "point-gs",
            Self::Jacobi { .. } => "jacobi",
            Self::Chebyshev { .. } => "chebyshev",
            Self::ChebyshevPatch { .. } => "chebyshev-patch",
            Self::ChebyshevFourthKind { .. } => "chebyshev4",
        }
    }

    /// Additive patches with damping `1 / 2^dim`: so many patches overlap at a dof inside of a cell, so that no eigenvalue
    /// of the correction is above 1.
    pub fn additive_patch(dim: usize) -> Self {
        Self::AdditivePatch { damping: 0.5f64.powi(dim as i32) }
    }

    /// Jacobi with damping 2/3, which is right for low degrees and safe for all: the eigenvalues of `D⁻¹ A` are below 3.
    pub fn jacobi() -> Self {
        Self::Jacobi { damping: 2.0 / 3.0 }
    }

    /// Chebyshev of degree 5 and range 15, as in deal.II's tutorial program step-37.
    pub fn chebyshev() -> Self {
        Self::Chebyshev { degree: 5, range: 15.0 }
    }

    /// Chebyshev over patches of cells, of degree 3 and range 12.
    pub fn chebyshev_patch() -> Self {
        Self::ChebyshevPatch { degree: 3, range: 12.0 }
    }

    /// Whether it asks levels for patches.
    pub(crate) fn has_patches(&self) -> bool {
        matches!(self, Self::Patch | Self::AdditivePatch { .. } | Self::ChebyshevPatch { .. })
    }

    /// Chebyshev of the fourth kind, of degree 2.
    pub fn chebyshev_fourth_kind() -> Self {
        Self::ChebyshevFourthKind { degree: 2 }
    }

    /// Whether the values are allowed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn check(&self) -> Result<()> {
        let invalid =
            |name, value: String, allowed: &str| Err(Error::InvalidArgument { name, value, allowed: allowed.into() });
        match *self {
            Self::AdditivePatch { damping } | Self::Jacobi { damping } if !(damping > 0.0 && damping < 2.0) => {
                invalid("damping", format!("{damping:?}"), "above 0 and below 2")
            }
            Self::Chebyshev { degree: 0, .. } | Self::ChebyshevPatch { degree: 0, .. } => {
                invalid("degree of the Chebyshev polynomial", "0".into(), "at least 1")
            }
            Self::ChebyshevFourthKind { degree } if !(1..=MOST).contains(&degree) => invalid(
                "degree of the Chebyshev polynomial of the fourth kind",
                degree.to_string(),
                &format!("1 to {MOST}"),
            ),
            Self::Chebyshev { range, .. } | Self::ChebyshevPatch { range, .. }
                if !(range > 1.0 && range.is_finite()) =>
            {
                invalid("range of the Chebyshev polynomial", format!("{range:?}"), "above 1")
            }
            _ => Ok(()),
        }
    }

    /// Whether V-cycles of a system converge with it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn check_system(&self, system: &impl System) -> Result<()> {
        let is_strong = matches!(self, Self::Patch | Self::Chebyshev { .. } | Self::ChebyshevFourthKind { .. });
        let allowed = match system.smoothers() {
            Smoothers::Any => return Ok(()),
            Smoothers::Strong if is_strong => return Ok(()),
            Smoothers::Patches if *self == Self::Patch => return Ok(()),
            Smoothers::Strong => "patch, chebyshev or chebyshev4 with discontinuous elements",
            Smoothers::Patches => "patch: with a pressure the diagonal has zeros",
        };
        Err(Error::InvalidArgument { name: "smoother", value: self.name().into(), allowed: allowed.into() })
    }

    /// Makes it for a level.
    ///
    /// # Errors
    /// Those of [`Self::check`] and of the level: [`Error::Unsupported`] for what it does not have.
    pub fn build<B: Backend, S: Scalar>(&self, level: &SharedLevel<B, S>) -> Result<Box<dyn Smoother<B, S>>> {
        self.check()?;
        Ok(match *self {
            Self::Patch => Box::new(PatchSmoother::new(level)?),
            Self::AdditivePatch { damping } => Box::new(AdditivePatchSmoother::new(level, damping)?),
            Self::PointGaussSeidel => Box::new(PointGaussSeidel::new(level)),
            Self::Jacobi { damping } => Box::new(Jacobi::new(level, damping)?),
            Self::Chebyshev { degree, range } => Box::new(Chebyshev::new(level, degree, range)?),
            Self::ChebyshevPatch { degree, range } => Box::new(Chebyshev::over_cell_patches(level, degree, range)?),
            Self::ChebyshevFourthKind { degree } => Box::new(ChebyshevFourthKind::new(level, degree)?),
        })
    }

    /// Words of memory that a step moves for an unknown: every vector read or written once an operation, by the patches
    /// once a color. Where a residual is [stored](System::stores_residuals), it is written before.
    pub fn words_per_dof(&self, system: &impl System) -> f64 {
        let (colors, patches) = (1 << system.dim(), if system.stores_residuals() { 3 + 3 } else { 3 });
        let words = match *self {
            Self::Patch => patches * colors,
            // The residual; a color's zeros, patches, and sum.
            Self::AdditivePatch { .. } => 3 + (1 + patches + 3) * colors,
            Self::PointGaussSeidel => 3,
            Self::Jacobi { .. } => 3 + 4,
            // The residual, the direction, and the sum; tables of patches are not counted.
            Self::Chebyshev { degree, .. }
            | Self::ChebyshevPatch { degree, .. }
            | Self::ChebyshevFourthKind { degree } => (3 + 4 + 3) * degree,
        };
        words as f64
    }

    /// Bytes of the vectors of `storage` entries that [`Self::build`] allocates on the machine, those in use while it runs
    /// included, on a level that is that of a [nonlinear](System::is_nonlinear) system or of a linear one.
    pub fn bytes<B: Backend, S: Scalar>(&self, storage: usize, is_nonlinear: bool) -> u64 {
        match self {
            Self::Patch | Self::PointGaussSeidel => 0,
            Self::AdditivePatch { .. } => AdditivePatchSmoother::<B, S>::bytes(storage),
            Self::Jacobi { .. } => Jacobi::<B, S>::bytes(storage),
            Self::Chebyshev { .. } | Self::ChebyshevPatch { .. } => Chebyshev::<B, S>::bytes(storage, is_nonlinear),
            Self::ChebyshevFourthKind { .. } => ChebyshevFourthKind::<B, S>::bytes(storage, is_nonlinear),
        }
    }
}
