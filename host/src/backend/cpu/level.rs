//! A space made ready for the CPU: its 1D matrices, behind an interface that hides dimension and degree.

use super::batch::{Patches, Selection};
use super::dg;
use super::lanes::Vectorized;
use super::operator::{Apply, Apply2d, Apply3d};
use super::point::GaussSeidel;
use super::scatter::{Difference, Output, Sum};
use super::smoother::{Smooth, Smooth2d, Smooth3d};
use super::sweep::{Shared, Sweep};
use super::transfer::{Prolongate, Prolongate2d, Prolongate3d, Restrict, Restrict2d, Restrict3d};
use crate::error::{Error, Result};
use crate::space::{ContinuousSpace, Space};
use patchmg_device::matrices::{OperatorMatrices, ProlongationMatrices, RestrictionMatrices, SmootherMatrices};
use patchmg_device::patch::Grid;
use patchmg_device::with_degree;

/// The tensor kernels of a level. Vectors are as long as its storage, or as the coarse level's.
pub trait Kernels<T>: Send {
    /// `y = A x`.
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]);
    /// `r = b - A x`.
    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]);
    /// One color of the smoother.
    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]);
    /// `coarse = Pᵀ (b - A x)`.
    fn restrict_residual(&self, sweep: Sweep, b: &[T], x: &[T], coarse: &mut [T]);
    /// `x += P coarse`.
    fn prolongate_add(&self, sweep: Sweep, coarse: &[T], x: &mut [T]);
}

/// A [`Space`] made ready.
pub struct Level<T> {
    /// Entries of its vectors.
    pub(super) storage: usize,
    /// Entries of the coarse level's vectors.
    pub(super) coarse_storage: usize,
    pub(super) dim: usize,
    pub(super) kernels: Box<dyn Kernels<T>>,
    /// Of continuous elements.
    pub(super) point: Option<GaussSeidel<T>>,
}

/// Scalars that there are kernels for. They are compiled here, once, and not in every crate that uses the library: the
/// choice of dimension, degree and SIMD level makes them many.
pub trait Prepared: Vectorized {
    /// The kernels of a space.
    fn kernels(space: &Space) -> Result<Box<dyn Kernels<Self>>>;
}

macro_rules! prepared {
    ($($t:ident)+) => {$(
        impl Prepared for $t {
            fn kernels(space: &Space) -> Result<Box<dyn Kernels<Self>>> {
                match space {
                    Space::Continuous(space) => kernels::<$t>(space),
                    Space::Discontinuous(space) => dg::kernels::<$t>(space),
                }
            }
        }
    )+};
}
prepared!(f32 f64);

/// No kernels for a degree.
pub(super) fn unsupported(degree: usize, available: &str) -> Error {
    Error::Unsupported { backend: "cpu", what: "degree", asked: degree.to_string(), available: available.into() }
}

fn kernels<T: Vectorized>(space: &ContinuousSpace) -> Result<Box<dyn Kernels<T>>> {
    let unsupported = || unsupported(space.degree(), "1 to 10");
    Ok(if space.dim() == 2 {
        with_degree!(space.degree(), K => {
            Box::new(Element::<T, 2, K, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 2) / 2 }>::new(space))
        }, else return Err(unsupported()))
    } else {
        with_degree!(@ space.degree(), K, {
            Box::new(Element::<T, 3, K, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 2) / 2 }>::new(space))
        }, return Err(unsupported()), 1 2 3 4 5 6 7 8)
    })
}

impl<T: Prepared> Level<T> {
    pub(super) fn new(space: &Space) -> Result<Self> {
        let dim = space.dim();
        let (coarse_storage, point) = match space {
            Space::Continuous(space) => (space.grid().coarser().storage(dim), Some(GaussSeidel::new(space))),
            Space::Discontinuous(space) => (space.grid().coarser().storage(dim), None),
        };
        Ok(Self { storage: space.storage(), coarse_storage, dim, kernels: T::kernels(space)?, point })
    }
}

/// The matrices of continuous elements of one dimension and degree.
struct Element<T, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize> {
    grid: Grid,
    smoother: SmootherMatrices<T, K, M>,
    inverse_eigenvalues: Vec<T>,
    operator: OperatorMatrices<T, N, C>,
    restriction: RestrictionMatrices<T, N, H>,
    prolongation: ProlongationMatrices<T, C>,
}

impl<T: Vectorized, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    Element<T, DIM, K, M, N, C, H>
{
    fn new(space: &ContinuousSpace) -> Self {
        Self {
            grid: space.grid(),
            smoother: space.smoother_matrices(),
            inverse_eigenvalues: space.inverse_eigenvalues().into_iter().map(T::from_f64).collect(),
            operator: space.operator_matrices(),
            restriction: space.shifted_restriction_matrices(),
            prolongation: space.prolongation_matrices(),
        }
    }

    /// All classes of the operator, one after the other.
    fn apply_classes<O: Output<T>>(&self, sweep: Sweep, x: &[T], output: O) {
        for class in 0..1 << DIM {
            let patches = &Patches::new(self.grid, DIM, Selection::Class(class));
            let apply = Apply { matrices: &self.operator, patches, class, x, output };
            // SAFETY: the vectors are the level's, and the patches are those of the class.
            unsafe {
                match DIM {
                    2 => sweep.run(patches, &Apply2d(apply)),
                    _ => sweep.run(patches, &Apply3d(apply)),
                }
            }
        }
    }
}

impl<T: Vectorized, const DIM: usize, const K: usize, const M: usize, const N: usize, const C: usize, const H: usize>
    Kernels<T> for Element<T, DIM, K, M, N, C, H>
{
    fn apply(&self, sweep: Sweep, x: &[T], y: &mut [T]) {
        self.apply_classes(sweep, x, Sum { y: Shared::new(y) });
    }

    fn residual(&self, sweep: Sweep, b: &[T], x: &[T], r: &mut [T]) {
        self.apply_classes(sweep, x, Difference { b, r: Shared::new(r) });
    }

    fn smooth_color(&self, sweep: Sweep, color: u32, b: &[T], x: &mut [T]) {
        let patches = &Patches::new(self.grid, DIM, Selection::Color(color));
        let Self { smoother: matrices, inverse_eigenvalues, .. } = self;
        let smooth = Smooth { matrices, inverse_eigenvalues, patches, b, x: Shared::new(x) };
        // SAFETY: the vectors are the level's, and the patches are those of a color.
        unsafe {
            match DIM {
                2 => sweep.run(patches, &Smooth2d::<T, K, M, N>(smooth)),
                _ => sweep.run(patches, &Smooth3d::<T, K, M, N>(smooth)),
            }
        }
    }

    fn restrict_residual(&self, sweep: Sweep, b: &[T], x: &[T], coarse: &mut [T]) {
        let coarse = Shared::new(coarse);
        for class in 0..1 << DIM {
            let patches = &Patches::new(self.grid, DIM, Selection::Class(class));
            let restrict = Restrict { matrices: &self.restriction, patches, class, b, x, coarse };
            // SAFETY: the vectors are the level's and the coarse level's, and the patches are those of the class.
            unsafe {
                match DIM {
                    2 => sweep.run(patches, &Restrict2d::<T, N, C, H>(restrict)),
                    _ => sweep.run(patches, &Restrict3d::<T, N, C, H>(restrict)),
                }
            }
        }
    }

    fn prolongate_add(&self, sweep: Sweep, coarse: &[T], x: &mut [T]) {
        let patches = &Patches::new(self.grid, DIM, Selection::Tiling);
        let prolongate = Prolongate { matrices: &self.prolongation, patches, coarse, x: Shared::new(x) };
        // SAFETY: the vectors are the level's and the coarse level's, and the patches are the tiling.
        unsafe {
            match DIM {
                2 => sweep.run(patches, &Prolongate2d::<T, N, C>(prolongate)),
                _ => sweep.run(patches, &Prolongate3d::<T, N, C>(prolongate)),
            }
        }
    }
}
