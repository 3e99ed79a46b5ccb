//! A space made ready for the CPU.

use crate::backend::Scalar;
use crate::error::{Error, Result};
use crate::memory;
use crate::space::{ContinuousSpace, DiscontinuousSpace, Space};
use bytemuck::{Pod, bytes_of};
use patchmg_cpu::{Continuous, Discontinuous, GaussSeidel, Kernels};
use patchmg_device::patch::Ends;
use patchmg_device::with_degree;

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

impl<T: Scalar> Level<T> {
    pub(super) fn new(space: &Space) -> Result<Self> {
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
        Ok(Self { storage: space.storage(), coarse_storage, dim, kernels, point })
    }
}

fn unsupported(degree: usize) -> Error {
    let available = String::from("1 to 10, in 3D and with discontinuous elements 1 to 8");
    Error::Unsupported { backend: "cpu", what: "degree", asked: degree.to_string(), available }
}

fn bytes(matrices: &impl Pod) -> Box<[u8]> {
    bytes_of(matrices).into()
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
