//! Levels on the CPU.

use super::forms::{ContinuousForm, ContinuousForms, DiscontinuousForms, inverse_sums};
use super::{Lattice, PRODUCTS, PatchKernel, Poisson};
use super::{bytes, check_color, colors, inverse_diagonal, is_solved, level_bytes, only_solved, vector_of};
use crate::backend::Scalar;
use crate::backend::cpu::{Cpu, Vector};
use crate::error::{Error, Result, check_length};
use crate::level::{Level, Patches, SharedLevel};
use crate::memory;
use crate::operator::LinearOperator;
use crate::space::{Family, Space};
use crate::system::Runs;
use crate::system::scalar::in_scalar;
use patchmg_cpu::{Continuous, Discontinuous, GaussSeidel, Kernels, Prepared, Reaction};
use patchmg_device::patch::{Ends, Grid};
use patchmg_device::with_degree;
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
        level_bytes::<Self, T>(system)
    }
}

/// A [`Space`] made ready.
struct PoissonLevel<T: Prepared + Scalar> {
    cpu: Arc<Cpu>,
    space: Space,
    colors: Vec<usize>,
    /// None on a coarsest level that is only [solved](is_solved).
    kernels: Option<Box<dyn Kernels<T>>>,
    /// Of continuous elements.
    point: Option<GaussSeidel<T>>,
    lattice: Lattice<Cpu, T>,
}

impl<T: Scalar + Prepared> PoissonLevel<T> {
    fn new(cpu: &Arc<Cpu>, space: &Space) -> Result<Self> {
        let unsupported = || unsupported(space.degree());
        let (kernels, point) = match space.axes()[0].family() {
            _ if is_solved(space) => (None, None),
            Family::Continuous => {
                let forms = ContinuousForms::new(space)?;
                let (by_size, sizes) = forms.by_size();
                let rows = by_size.iter().map(|form| form.point_rows()).collect();
                let point = GaussSeidel::new(forms.grid(), space.dim(), rows, sizes);
                (
                    Some(
                        T::continuous(continuous(space.dim(), forms.grid(), (by_size, sizes), 0.0)?)
                            .ok_or_else(unsupported)?,
                    ),
                    Some(point),
                )
            }
            Family::Discontinuous => {
                let forms = DiscontinuousForms::new(space)?;
                (Some(T::discontinuous(discontinuous(&forms, space)?).ok_or_else(unsupported)?), None)
            }
        };
        Ok(Self {
            cpu: cpu.clone(),
            space: space.clone(),
            colors: colors(space),
            kernels,
            point,
            lattice: Lattice::new(&**cpu, space)?,
        })
    }

    fn kernels(&self) -> Result<&dyn Kernels<T>> {
        self.kernels.as_deref().ok_or_else(only_solved)
    }

    /// That a vector is of the level.
    fn check(&self, what: &'static str, vector: &Vector<T>) -> Result<()> {
        check_length(what, self.space.storage(), vector.len())
    }

    /// That a vector is of the next coarser level.
    fn check_coarse(&self, vector: &Vector<T>) -> Result<()> {
        check_length("coarse", self.lattice.coarse_storage()?, vector.len())
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
        self.kernels()?.apply(self.cpu.sweep(), x, y);
        Ok(())
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.check("r", r)?;
        self.kernels()?.residual(self.cpu.sweep(), b, x, r);
        Ok(())
    }
}

impl<T: Scalar + Prepared> Level<Cpu, T> for PoissonLevel<T> {
    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.check_coarse(coarse)?;
        match &self.lattice.transfer {
            Some(transfer) => transfer.restrict_residual(self, b, x, coarse)?,
            None => self.kernels()?.restrict_residual(self.cpu.sweep(), b, x, coarse),
        }
        Ok(())
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check_coarse(coarse)?;
        self.check("x", x)?;
        match &self.lattice.transfer {
            Some(transfer) => transfer.prolongate_add(&*self.cpu, coarse, x)?,
            None => self.kernels()?.prolongate_add(self.cpu.sweep(), coarse, x),
        }
        Ok(())
    }

    fn solve(&self, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check("b", b)?;
        self.check("x", x)?;
        self.lattice.solve(self, b, x)
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
        self.kernels()?;
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
        self.kernels()?.smooth_color(self.cpu.sweep(), check_color(&self.space, color)?, b, x);
        Ok(())
    }

    fn prolongate_and_smooth_first(&self, coarse: &Vector<T>, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        self.smooth_color(0, b, x)
    }
}

pub(in crate::system) fn unsupported(degree: usize) -> Error {
    let available = String::from("1 to 10, in 3D and with discontinuous elements 1 to 8");
    Error::Unsupported { backend: "cpu", what: "degree", asked: degree.to_string(), available }
}

fn rounded<T: Scalar>(numbers: Vec<f64>) -> Vec<T> {
    numbers.into_iter().map(T::from_f64).collect()
}

/// What kernels of continuous elements take, on all cells of a grid, with the form that each direction has by its number, and `s` of a
/// reaction `s u`; with a reaction no other direction has the form of x.
pub(in crate::system) fn continuous<T: Scalar>(
    dim: usize,
    grid: Grid,
    (forms, of_direction): (&[ContinuousForm], [usize; 3]),
    s: f64,
) -> Result<Continuous<T>> {
    let along = |d: usize| &forms[of_direction[d]];
    let eigenvalues = (0..dim).map(|d| (1.0, along(d).eigenvalues()));
    // `s` is in the vectors of x.
    let vectors = |of: fn(&ContinuousForm) -> Vec<f64>| {
        let scale = |d: usize| if d == 0 { s } else { 1.0 };
        let vector = |d: usize| rounded(of(along(d)).into_iter().map(|entry| scale(d) * entry).collect());
        [0, 1, 2].map(|d| if d < dim { vector(d) } else { Vec::new() })
    };
    let reaction = (s != 0.0).then(|| Reaction {
        functions: vectors(ContinuousForm::mass_sums),
        nodes: vectors(ContinuousForm::patch_mass_sums),
        coarse: vectors(ContinuousForm::coarse_mass_sums),
    });
    let of_form = |form: usize| if form == of_direction[0] { s } else { 0.0 };
    with_degree!(
        grid.degree as usize,
        K => {
            const N: usize = 2 * K + 1;
            const H: usize = (K + 1).div_ceil(2);
            let operator = |(index, form): (usize, &ContinuousForm)| {
                bytes(&form.operator_matrices_with_reaction::<T, N, { K + 1 }>(of_form(index)))
            };
            let restriction = |(index, form): (usize, &ContinuousForm)| {
                bytes(&form.shifted_restriction_matrices_with_reaction::<T, N, H>(of_form(index)))
            };
            Ok(Continuous {
                dim,
                grid,
                smoothed: grid.cells.map(|cells| 0..cells),
                integrated: grid.cells.map(|cells| 0..cells),
                sizes: of_direction,
                inverse_eigenvalues: rounded(inverse_sums(eigenvalues, s).collect()),
                reaction,
                smoother: forms.iter().map(|form| bytes(&form.smoother_matrices::<T, K, { 2 * K - 1 }>())).collect(),
                operator: forms.iter().enumerate().map(operator).collect(),
                restriction: forms.iter().enumerate().map(restriction).collect(),
                prolongation: bytes(&along(0).prolongation_matrices::<T, { K + 1 }>()),
            })
        },
        else Err(unsupported(grid.degree as usize))
    )
}

fn discontinuous<T: Scalar>(forms: &DiscontinuousForms, space: &Space) -> Result<Discontinuous<T>> {
    let (by_size, sizes) = forms.by_size();
    let inverse_eigenvalues = |classes: usize| {
        let ends = |direction: usize| match classes >> direction & 1 {
            0 => Ends::Neither,
            _ => forms.ends_of_class(direction, 1),
        };
        rounded(forms.inverse_eigenvalues([0, 1, 2].map(ends)))
    };
    with_degree!(@
        forms.degree(),
        K,
        {
            const C: usize = K + 1;
            const H: usize = C.div_ceil(2);
            const N: usize = 2 * C;
            Ok(Discontinuous {
                dim: forms.dim(),
                grid: forms.grid(),
                sizes,
                cell: by_size.iter().map(|form| bytes(&form.cell_matrices::<T, C, H>())).collect(),
                transfer: bytes(&forms.along(0).transfer_matrices::<T, N, C, H>()),
                vectors: by_size
                    .iter()
                    .map(|form| Ends::ALL.map(|ends| form.patch_vectors::<T, N>(ends).concat()))
                    .collect(),
                inverse_eigenvalues: (0..1 << forms.dim()).map(inverse_eigenvalues).collect(),
                residual: memory::zeros(space.storage())?,
            })
        },
        Err(unsupported(forms.degree())),
        1 2 3 4 5 6 7 8
    )
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;
