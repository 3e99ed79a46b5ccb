//! A space made ready for a GPU: its kernels, and the 1D matrices as the bytes that these take.

use super::gpu::Gpu;
use super::launch::Kernel;
use super::memory::Vector;
use super::modules;
use super::smoother::PatchSmoother;
use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::space::{ContinuousSpace, Space};
use bytemuck::{Pod, bytes_of};
use patchmg_device::kernels::{Module, Operation, PatchKernel};
use patchmg_device::patch::{Grid, bit, color_count};
use patchmg_device::with_degree;
use std::sync::Arc;

/// A space made ready for a GPU.
pub struct Level<T: Scalar> {
    pub(super) dim: usize,
    pub(super) grid: Grid,
    pub(super) kernels: Kernels,
    pub(super) matrices: Matrices,
    pub(super) smoother: PatchSmoother<T>,
    /// Rows of the 1D matrices, for point Gauss-Seidel.
    pub(super) point_rows: Vector<T>,
}

/// Kernels of one space and scalar.
pub(super) struct Kernels {
    pub apply: Kernel,
    pub residual: Kernel,
    pub restrict_residual: Kernel,
    pub prolongate_add: Kernel,
    pub point_gauss_seidel: Kernel,
}

/// The structs of [`patchmg_device::matrices`], typed by degree there, as bytes.
pub(super) struct Matrices {
    pub smoother: Box<[u8]>,
    pub operator: Box<[u8]>,
    pub restriction: Box<[u8]>,
    pub prolongation: Box<[u8]>,
}

impl<T: Scalar> Level<T> {
    pub(super) fn new(gpu: &Arc<Gpu>, space: &Space, choice: PatchKernel) -> Result<Self> {
        let space = space.continuous("cuda")?;
        let (dim, degree) = (space.dim(), space.degree());
        let module = Module::PoissonCg { dim, degree };
        let kernel = |operation| modules::kernel(gpu, module, module.kernel::<T>(operation));
        let matrices = Matrices::new::<T>(space)?;
        Ok(Self {
            dim,
            grid: space.grid(),
            kernels: Kernels {
                apply: kernel(Operation::Apply)?,
                residual: kernel(Operation::Residual)?,
                restrict_residual: kernel(Operation::RestrictResidual)?,
                prolongate_add: kernel(Operation::ProlongateAdd)?,
                point_gauss_seidel: kernel(Operation::PointGaussSeidel)?,
            },
            matrices,
            smoother: PatchSmoother::new(gpu, space, choice)?,
            point_rows: Vector::uploaded(gpu, &space.point_rows::<T>())?,
        })
    }

    /// That it was made for `gpu`.
    pub(super) fn check(&self, gpu: &Arc<Gpu>) -> Result<()> {
        let table = self.smoother.table();
        table.check(gpu, "level", table.len())
    }

    /// Length of its vectors.
    pub(super) fn storage(&self) -> usize {
        self.grid.storage(self.dim)
    }

    /// Colors of the patches.
    pub(super) fn colors(&self) -> u32 {
        1 << self.dim
    }

    /// Length of the next coarser level's vectors.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for the coarsest level.
    pub(super) fn coarse_storage(&self) -> Result<usize> {
        if self.grid.cells < 4 {
            return Err(Error::InvalidArgument {
                name: "level",
                value: format!("{} cells a direction", self.grid.cells),
                allowed: String::from("a level with a coarser one, of at least 4 cells a direction"),
            });
        }
        Ok(Grid { cells: self.grid.cells / 2, ..self.grid }.storage(self.dim))
    }

    /// Blocks for a color of patches; none if it has no patch.
    pub(super) fn color_blocks(&self, kernel: &Kernel, color: u32) -> Option<[u32; 3]> {
        let cells = self.grid.cells;
        blocks(self.dim, kernel.spec().patches, |direction| color_count(cells, bit(color, direction)))
    }

    /// Blocks for the whole tiling.
    pub(super) fn tiling_blocks(&self, kernel: &Kernel) -> Option<[u32; 3]> {
        blocks(self.dim, kernel.spec().patches, |_| self.grid.cells / 2)
    }
}

impl Matrices {
    fn new<T: Scalar>(space: &ContinuousSpace) -> Result<Self> {
        with_degree!(
            space.degree(),
            K => Ok(Self {
                smoother: bytes(&space.smoother_matrices::<T, K, { 2 * K - 1 }>()),
                operator: bytes(&space.cell_matrices::<T, { K + 1 }, { (K + 1).div_ceil(2) }>()),
                restriction: bytes(&space.restriction_matrices::<T, { 2 * K + 1 }, { (K + 1).div_ceil(2) }>()),
                prolongation: bytes(&space.prolongation_matrices::<T, { K + 1 }>()),
            }),
            else Err(Error::Unsupported {
                backend: "cuda",
                what: "degree",
                asked: space.degree().to_string(),
                available: String::from("1 to 10"),
            })
        )
    }
}

fn bytes(matrices: &impl Pod) -> Box<[u8]> {
    bytes_of(matrices).into()
}

/// Grid of blocks for `count(direction)` patches, `patches` of a block side by side in x.
fn blocks(dim: usize, patches: u32, count: impl Fn(usize) -> u32) -> Option<[u32; 3]> {
    let blocks = [count(0).div_ceil(patches), count(1), if dim == 3 { count(2) } else { 1 }];
    (!blocks.contains(&0)).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;
    use patchmg_device::point;
    use patchmg_device::smoother::table_words;

    #[test]
    fn blocks_cover_the_patches_once() {
        assert_eq!(blocks(2, 3, |direction| [7, 5][direction]), Some([3, 5, 1]));
        assert_eq!(blocks(3, 4, |direction| [8, 2, 3][direction]), Some([2, 2, 3]));
        assert_eq!(blocks(3, 4, |direction| [8, 0, 3][direction]), None);
        assert_eq!(blocks(2, 4, |direction| [0, 1][direction]), None);
    }

    /// Bytes of an entry point's parameters, as its PTX declares them: `.u64`, `.f32`, or `.b8 name[bytes]`.
    fn parameters(ptx: &str, entry: &str) -> Vec<usize> {
        let list = ptx.split(&format!(".entry {entry}(")).nth(1).unwrap().split(')').next().unwrap();
        let bytes = |parameter: &str| match parameter.split_once('[') {
            Some((_, bytes)) => bytes.trim_end().trim_end_matches(']').parse().unwrap(),
            None if parameter.contains(".u64") || parameter.contains(".f64") => 8,
            None => 4,
        };
        list.split(',').map(bytes).collect()
    }

    fn check_parameters<T: Scalar>(dim: usize, degree: usize) {
        let space = ContinuousSpace::new(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap();
        let matrices = Matrices::new::<T>(&space).unwrap();
        assert_eq!(space.smoother_table::<T>().len(), table_words(dim, degree));
        assert_eq!(space.point_rows::<T>().len(), point::table_words(degree));
        let module = Module::PoissonCg { dim, degree };
        let Some(ptx) = modules::ptx(&module.name()) else { return };
        let Matrices { smoother, operator, restriction, prolongation } = &matrices;
        for (operation, expected) in [
            (Operation::Smooth, vec![smoother.len(), 8, 8, 8, 4, 4]),
            (Operation::Apply, vec![operator.len(), 8, 8, 4, 4]),
            (Operation::Residual, vec![operator.len(), 8, 8, 8, 4, 4]),
            (Operation::RestrictResidual, vec![restriction.len(), 8, 8, 8, 4, 4, 4]),
            (Operation::ProlongateAdd, vec![prolongation.len(), 8, 8, 4]),
            (Operation::PointGaussSeidel, vec![8, 8, 8, 4, 4]),
        ] {
            let entry = module.kernel::<T>(operation).name;
            assert_eq!(expected, parameters(ptx, &entry), "{entry}");
        }
    }

    #[test]
    fn arguments_have_the_sizes_of_the_kernels_parameters() {
        for (dim, degree) in (1..=10).map(|k| (2, k)).chain((1..=8).map(|k| (3, k))) {
            check_parameters::<f32>(dim, degree);
            check_parameters::<f64>(dim, degree);
        }
    }

    /// CUDA before 12.1 takes 4096 bytes of parameters.
    #[test]
    fn parameters_fit_the_constant_bank() {
        for (dim, degree) in (1..=10).map(|k| (2, k)).chain((1..=8).map(|k| (3, k))) {
            let space = ContinuousSpace::new(Mesh::unit_cube(dim, 1).unwrap(), degree).unwrap();
            let matrices = Matrices::new::<f64>(&space).unwrap();
            for bytes in [&matrices.smoother, &matrices.operator, &matrices.restriction, &matrices.prolongation] {
                assert!(bytes.len() + 4 * 8 <= 4096, "{} bytes in {dim}D, degree {degree}", bytes.len());
            }
        }
    }
}
