//! Levels of discontinuous elements. Arguments of kernels are those of `patchmg_device::entries`, in that order, each by
//! value.

use super::boxes::{self, BoxKernels};
use super::smoother::unsupported_kernel;
use super::{LevelKernels, constants, promised, unsupported_degree};
use crate::backend::Scalar;
use crate::backend::cuda::Vector;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::{Kernel, Marching};
use crate::error::{Error, Result};
use crate::space::Space;
use crate::system::poisson::bytes;
use crate::system::poisson::forms::DiscontinuousForms;
use cust::sys::CUdeviceptr;
use patchmg_device::dg::{self, operator::Tile};
use patchmg_device::kernels::{Module, Operation, PatchKernel};
use patchmg_device::matrices::DgOperatorMatrices;
use patchmg_device::patch::{DgGrid, bit, color_count};
use patchmg_device::with_degree;
use std::sync::Arc;

/// Layers of cells that a block of the operator marches through at most, in 2D and in 3D.
const LONGEST_CHUNK: [u32; 2] = [64, 16];

/// LevelKernels of one space and scalar, and what they take.
pub(super) struct Discontinuous<T: Scalar> {
    dim: usize,
    grid: DgGrid,
    contractions: Contractions<T>,
    restrict: Kernel,
    prolongate_add: Kernel,
    transfer: Box<[u8]>,
    /// `b - A x`, before patches or a coarse level take it: patches that share a face couple, so all those of a color take
    /// the residual of what was before.
    between: Vector<T>,
}

/// Who does the operator and the patches.
enum Contractions<T: Scalar> {
    Columns(Columns<T>),
    Products(BoxKernels<T>),
}

/// Columns in registers.
struct Columns<T: Scalar> {
    apply: Marching,
    residual: Marching,
    solve: Kernel,
    operator_matrices: Box<[u8]>,
    solve_matrices: Box<[u8]>,
    /// Inverse eigenvalues of the patches.
    table: Vector<T>,
}

/// The structs of [`patchmg_device::matrices`].
struct Matrices {
    operator: Box<[u8]>,
    solve: Box<[u8]>,
    transfer: Box<[u8]>,
}

/// Whether there are kernels of a choice.
///
/// # Errors
/// [`Error::Unsupported`], with those that there are.
pub(super) fn check<T: Scalar>(gpu: &Gpu, space: &Space, choice: PatchKernel) -> Result<()> {
    match choice {
        PatchKernel::Register => Ok(()),
        PatchKernel::Products(products) => boxes::check::<T>(gpu, space, products),
        PatchKernel::Paper1 { .. } => Err(unsupported_kernel(choice, &PatchKernel::Register.to_string())),
    }
}

impl<T: Scalar> Discontinuous<T> {
    pub fn new(gpu: &Arc<Gpu>, forms: &DiscontinuousForms, choice: PatchKernel) -> Result<Self> {
        check::<T>(gpu, forms.space(), choice)?;
        let (dim, degree, grid) = (forms.dim(), forms.degree(), forms.grid());
        let module = Module::PoissonDg { dim, degree };
        let kernel = |operation| promised(gpu, module, module.kernel::<T>(operation));
        let Matrices { operator, solve, transfer } = Matrices::new::<T>(forms)?;
        let longest = LONGEST_CHUNK[dim - 2].min(grid.cells[dim - 1]);
        // Not every solve launches both.
        let marching = |operation| {
            let kernel = Kernel::new(gpu, module, module.kernel::<T>(operation), constants);
            Marching::new(kernel, longest, move |chunk| Tile::of(dim, degree).blocks(grid, chunk))
        };
        let contractions = match choice {
            PatchKernel::Products(products) => Contractions::Products(BoxKernels::new(gpu, forms, products)?),
            _ => Contractions::Columns(Columns {
                apply: marching(Operation::Apply),
                residual: marching(Operation::Residual),
                solve: kernel(if dg::solve::is_thin(dim, grid.cells) {
                    Operation::SolveThin
                } else {
                    Operation::Solve
                })?,
                operator_matrices: operator,
                solve_matrices: solve,
                table: Vector::uploaded(gpu, &forms.solve_table::<T>())?,
            }),
        };
        Ok(Self {
            dim,
            grid,
            contractions,
            restrict: kernel(Operation::Restrict)?,
            prolongate_add: kernel(Operation::ProlongateAdd)?,
            transfer,
            between: Vector::zeros(gpu, grid.storage(dim))?,
        })
    }

    /// A transfer's kernel, for the whole tiling.
    ///
    /// # Safety
    /// It takes these vectors.
    unsafe fn transfer(&self, gpu: &Gpu, kernel: &Kernel, vectors: [CUdeviceptr; 2]) -> Result<()> {
        let cells = self.grid.cells;
        let blocks = dg::blocks(self.dim, kernel.spec().patches, |direction| cells[direction] / 2);
        // SAFETY: the caller's promise.
        unsafe { kernel.launch_on_vectors(gpu, blocks, Some(&self.transfer), &vectors, cells, &[]) }
    }
}

impl<T: Scalar> LevelKernels for Discontinuous<T> {
    unsafe fn apply(&self, gpu: &Gpu, x: CUdeviceptr, y: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.contractions {
                Contractions::Columns(Columns { apply, operator_matrices, .. }) => {
                    apply.launch(gpu, operator_matrices, &[x, y], self.grid.cells)
                }
                Contractions::Products(products) => products.operator(gpu, [0, x, y]),
            }
        }
    }

    unsafe fn residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, r: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.contractions {
                Contractions::Columns(Columns { residual, operator_matrices, .. }) => {
                    residual.launch(gpu, operator_matrices, &[b, x, r], self.grid.cells)
                }
                Contractions::Products(products) => products.operator(gpu, [b, x, r]),
            }
        }
    }

    unsafe fn smooth_color(&self, gpu: &Gpu, color: u32, b: CUdeviceptr, x: CUdeviceptr) -> Result<()> {
        let (cells, r) = (self.grid.cells, self.between.pointer());
        let count = |direction: usize| color_count(cells[direction], bit(color, direction));
        if (0..self.dim).any(|direction| count(direction) == 0) {
            return Ok(());
        }
        // SAFETY: vectors of the level, and its tables.
        unsafe {
            self.residual(gpu, b, x, r)?;
            match &self.contractions {
                Contractions::Columns(Columns { solve, solve_matrices, table, .. }) => {
                    let blocks = dg::blocks(self.dim, solve.spec().patches, count);
                    let vectors = [table.pointer(), r, x];
                    solve.launch_on_vectors(gpu, blocks, Some(solve_matrices), &vectors, cells, &[color])
                }
                Contractions::Products(products) => products.solve(gpu, [0, 1, 2].map(count), color, [r, x]),
            }
        }
    }

    unsafe fn point_gauss_seidel(&self, _: &Gpu, _: CUdeviceptr, _: CUdeviceptr, _: bool) -> Result<()> {
        Err(Error::Unsupported {
            backend: "cuda",
            what: "space with point Gauss-Seidel",
            asked: "discontinuous".into(),
            available: "continuous".into(),
        })
    }

    unsafe fn restrict_residual(&self, gpu: &Gpu, b: CUdeviceptr, x: CUdeviceptr, coarse: CUdeviceptr) -> Result<()> {
        let r = self.between.pointer();
        // SAFETY: the caller's promise; the residual is a vector of the level.
        unsafe {
            self.residual(gpu, b, x, r)?;
            self.transfer(gpu, &self.restrict, [r, coarse])
        }
    }

    unsafe fn prolongate_add(&self, gpu: &Gpu, coarse: CUdeviceptr, x: CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.transfer(gpu, &self.prolongate_add, [coarse, x]) }
    }

    fn smoother(&self) -> &[Kernel] {
        match &self.contractions {
            Contractions::Columns(columns) => std::slice::from_ref(&columns.solve),
            Contractions::Products(products) => products.smoother(),
        }
    }
}

impl Matrices {
    fn new<T: Scalar>(forms: &DiscontinuousForms) -> Result<Self> {
        let form = forms.along(0);
        with_degree!(@ forms.degree(), K, {
            const H: usize = (K + 1).div_ceil(2);
            Ok(Self {
                operator: bytes(&DgOperatorMatrices::new(forms.dim(), form.cell_matrices::<T, { K + 1 }, H>(), forms.factors())),
                solve: bytes(&forms.solve_matrices::<T, { 2 * K + 2 }, { K + 1 }>()),
                transfer: bytes(&form.transfer_matrices::<T, { 2 * K + 2 }, { K + 1 }, H>()),
            })
        }, Err(unsupported_degree(forms.degree(), "1 to 8")), 1 2 3 4 5 6 7 8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::check;
    use super::*;
    use crate::mesh::Mesh;

    fn check_parameters<T: Scalar>(dim: usize, degree: usize) {
        let space = Space::discontinuous(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap();
        let forms = DiscontinuousForms::new(&space).unwrap();
        let Matrices { operator, solve, transfer } = Matrices::new::<T>(&forms).unwrap();
        assert_eq!(forms.solve_table::<T>().len(), dg::solve::table_words(dim, degree, false));
        check::<T>(
            Module::PoissonDg { dim, degree },
            &[
                (Operation::Apply, &[operator.len(), 8, 8, 12, 4]),
                (Operation::Residual, &[operator.len(), 8, 8, 8, 12, 4]),
                (Operation::Solve, &[solve.len(), 8, 8, 8, 12, 4]),
                (Operation::SolveThin, &[solve.len(), 8, 8, 8, 12, 4]),
                (Operation::Restrict, &[transfer.len(), 8, 8, 12]),
                (Operation::ProlongateAdd, &[transfer.len(), 8, 8, 12]),
            ],
        );
    }

    #[test]
    fn arguments_have_the_sizes_of_the_kernels_parameters_and_fit_the_constant_bank() {
        for degree in DgGrid::DEGREES {
            for dim in [2, 3] {
                check_parameters::<f32>(dim, degree);
                check_parameters::<f64>(dim, degree);
            }
        }
    }
}
