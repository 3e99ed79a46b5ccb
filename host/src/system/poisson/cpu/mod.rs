//! Levels on the CPU.

use super::{PRODUCTS, PatchKernel, Poisson, bytes, check_color, colors, inverse_diagonal, level_bytes, vector_of};
use crate::backend::Scalar;
use crate::backend::cpu::{Cpu, Vector, check};
use crate::error::{Error, Result};
use crate::level::{Level, Patches, SharedLevel};
use crate::memory;
use crate::operator::LinearOperator;
use crate::space::{ContinuousSpace, DiscontinuousSpace, Space};
use crate::system::{Runs, System};
use patchmg_cpu::{Continuous, Discontinuous, GaussSeidel, Kernels, Prepared};
use patchmg_device::patch::Ends;
use patchmg_device::with_degree;
use std::any::{Any, TypeId};
use std::sync::Arc;

impl Runs<Poisson> for Cpu {
    fn check<T: Scalar>(&self, system: &Poisson) -> Result<()> {
        let kernel = system.kernel();
        let (what, available) = match kernel {
            PatchKernel::Register => return Ok(()),
            PatchKernel::Paper1 { .. } => ("kernel of the patch smoother", PatchKernel::Register.to_string()),
            PatchKernel::Products(_) => (PRODUCTS, String::from("none")),
        };
        Err(Error::Unsupported { backend: "cpu", what, asked: kernel.to_string(), available })
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Poisson) -> Result<SharedLevel<Self, T>> {
        self.check::<T>(system)?;
        let space = system.space();
        in_scalar(
            || Ok(Arc::new(PoissonLevel::<f32>::new(self, space)?)),
            || Ok(Arc::new(PoissonLevel::<f64>::new(self, space)?)),
        )
    }

    fn level_bytes<T: Scalar>(system: &Poisson) -> u64 {
        level_bytes::<T>(system)
    }
}

/// The level in the scalar that `T` is: kernels are compiled for `f32` and `f64`, not for any `T`.
fn in_scalar<T: Scalar>(
    single: impl FnOnce() -> Result<SharedLevel<Cpu, f32>>,
    double: impl FnOnce() -> Result<SharedLevel<Cpu, f64>>,
) -> Result<SharedLevel<Cpu, T>> {
    let is_single = TypeId::of::<T>() == TypeId::of::<f32>();
    let level: Box<dyn Any> = if is_single { Box::new(single()?) } else { Box::new(double()?) };
    Ok(*level.downcast().expect("a scalar is f32 or f64"))
}

/// A [`Space`] made ready.
struct PoissonLevel<T: Prepared> {
    cpu: Arc<Cpu>,
    space: Space,
    /// Entries of the coarse level's vectors.
    coarse_storage: usize,
    colors: Vec<usize>,
    kernels: Box<dyn Kernels<T>>,
    /// Of continuous elements.
    point: Option<GaussSeidel<T>>,
}

impl<T: Scalar + Prepared> PoissonLevel<T> {
    fn new(cpu: &Arc<Cpu>, space: &Space) -> Result<Self> {
        let dim = space.dim();
        let (coarse_storage, kernels, point) = match space {
            Space::Continuous(space) => {
                let point = GaussSeidel::new(space.grid(), dim, space.point_rows());
                (space.grid().coarser().storage(dim), T::continuous(continuous(space)?), Some(point))
            }
            Space::Discontinuous(space) => {
                (space.grid().coarser().storage(dim), T::discontinuous(discontinuous(space)?), None)
            }
        };
        let kernels = kernels.ok_or_else(|| unsupported(space.degree()))?;
        let (cpu, space, colors) = (cpu.clone(), space.clone(), colors(space));
        Ok(Self { cpu, space, coarse_storage, colors, kernels, point })
    }

    /// That a vector is of the level.
    fn check(&self, what: &'static str, vector: &Vector<T>) -> Result<()> {
        check(what, self.space.storage(), vector.len())
    }

    /// That a vector is of the next coarser level.
    fn check_coarse(&self, vector: &Vector<T>) -> Result<()> {
        check("coarse", self.coarse_storage, vector.len())
    }
}

impl<T: Scalar + Prepared> LinearOperator<Cpu, T> for PoissonLevel<T> {
    fn backend(&self) -> &Arc<Cpu> {
        &self.cpu
    }

    fn storage(&self) -> usize {
        self.space.storage()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.check("x", x)?;
        self.check("y", y)?;
        self.kernels.apply(self.cpu.sweep(), x, y);
        Ok(())
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.check("r", r)?;
        self.kernels.residual(self.cpu.sweep(), b, x, r);
        Ok(())
    }
}

impl<T: Scalar + Prepared> Level<Cpu, T> for PoissonLevel<T> {
    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.check_coarse(coarse)?;
        self.kernels.restrict_residual(self.cpu.sweep(), b, x, coarse);
        Ok(())
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check_coarse(coarse)?;
        self.check("x", x)?;
        self.kernels.prolongate_add(self.cpu.sweep(), coarse, x);
        Ok(())
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<Vector<T>> {
        vector_of(&*self.cpu, &self.space, value)
    }

    fn inverse_diagonal(&self) -> Result<Vector<T>> {
        inverse_diagonal(&*self.cpu, &self.space)
    }

    fn patches(&self) -> Result<&dyn Patches<Cpu, T>> {
        Ok(self)
    }

    fn point_gauss_seidel(&self, b: &Vector<T>, x: &mut Vector<T>, reverse: bool) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        let point = self.point.as_ref().ok_or_else(|| Error::Unsupported {
            backend: "cpu",
            what: "space with point Gauss-Seidel",
            asked: "discontinuous".into(),
            available: "continuous".into(),
        })?;
        self.cpu.sweep().simd.dispatch(
            #[inline(always)]
            || point.sweep(b, x, reverse),
        );
        Ok(())
    }
}

impl<T: Scalar + Prepared> Patches<Cpu, T> for PoissonLevel<T> {
    fn colors(&self) -> &[usize] {
        &self.colors
    }

    fn smooth_color(&self, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.kernels.smooth_color(self.cpu.sweep(), check_color(&self.space, color)?, b, x);
        Ok(())
    }

    fn prolongate_and_smooth_first(&self, coarse: &Vector<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        self.smooth_color(0, b, x)
    }
}

fn unsupported(degree: usize) -> Error {
    let available = String::from("1 to 10, in 3D and with discontinuous elements 1 to 8");
    Error::Unsupported { backend: "cpu", what: "degree", asked: degree.to_string(), available }
}

fn rounded<T: Scalar>(numbers: Vec<f64>) -> Vec<T> {
    numbers.into_iter().map(T::from_f64).collect()
}

fn continuous<T: Scalar>(space: &ContinuousSpace) -> Result<Continuous<T>> {
    with_degree!(
        space.degree(),
        K => {
            const N: usize = 2 * K + 1;
            const H: usize = (K + 1).div_ceil(2);
            Ok(Continuous {
                dim: space.dim(),
                grid: space.grid(),
                inverse_eigenvalues: rounded(space.inverse_eigenvalues()),
                smoother: bytes(&space.smoother_matrices::<T, K, { 2 * K - 1 }>()),
                operator: bytes(&space.operator_matrices::<T, N, { K + 1 }>()),
                restriction: bytes(&space.shifted_restriction_matrices::<T, N, H>()),
                prolongation: bytes(&space.prolongation_matrices::<T, { K + 1 }>()),
            })
        },
        else Err(unsupported(space.degree()))
    )
}

fn discontinuous<T: Scalar>(space: &DiscontinuousSpace) -> Result<Discontinuous<T>> {
    let grid = space.grid();
    let at_end = if grid.cells == 2 { Ends::Both } else { Ends::Lower };
    let of_class = |class: usize| if class == 0 { Ends::Neither } else { at_end };
    let inverse_eigenvalues = |classes: usize| {
        rounded(space.inverse_eigenvalues([0, 1, 2].map(|direction| of_class(classes >> direction & 1))))
    };
    with_degree!(@
        space.degree(),
        K,
        {
            const C: usize = K + 1;
            const H: usize = C.div_ceil(2);
            const N: usize = 2 * C;
            Ok(Discontinuous {
                dim: space.dim(),
                grid,
                cell: bytes(&space.cell_matrices::<T, C, H>()),
                transfer: bytes(&space.transfer_matrices::<T, N, C, H>()),
                vectors: Ends::ALL.map(|ends| space.patch_vectors::<T, N>(ends).concat()),
                inverse_eigenvalues: (0..1 << space.dim()).map(inverse_eigenvalues).collect(),
                residual: memory::zeros(grid.storage(space.dim()))?,
            })
        },
        Err(unsupported(space.degree())),
        1 2 3 4 5 6 7 8
    )
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;
