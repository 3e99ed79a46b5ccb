//! The 1D matrices of continuous elements as kernels take them, and what of them is known before there is a mesh.

use super::unsupported_degree;
use crate::backend::Scalar;
use crate::error::Result;
use crate::mesh::Mesh;
use crate::space::Space;
use crate::system::poisson::bytes;
use crate::system::poisson::forms::ContinuousForms;
use cuda_builder::ptx::Constants;
use patchmg_device::kernels::{Module, Operation};
use patchmg_device::matrices::{self, Scaled};
use patchmg_device::scalar::Real;
use patchmg_device::smoother::interpolated_nodes;
use patchmg_device::with_degree;

/// The structs of [`patchmg_device::matrices`], of cells of size 1, with the factors of a level.
pub(super) struct Matrices {
    pub smoother: Box<[u8]>,
    /// Of the first color in 2D with a correction.
    pub first_step: Box<[u8]>,
    pub operator: Box<[u8]>,
    pub restriction: Box<[u8]>,
    pub prolongation: Box<[u8]>,
}

impl Matrices {
    pub fn new<T: Scalar>(forms: &ContinuousForms) -> Result<Self> {
        with_degree!(
            forms.degree(),
            K => {
                const H: usize = (K + 1).div_ceil(2);
                let unit = forms.unit();
                let factors = matrices::factors(forms.dim(), forms.factors()).map(T::from_f64);
                const E: usize = interpolated_nodes(K);
                Ok(Self {
                    smoother: bytes(&unit.smoother_matrices::<T, K, { 2 * K - 1 }>().scaled(forms.dim(), factors)),
                    first_step: bytes(&unit.first_step_matrices::<T, K, { 2 * K - 1 }, E>().scaled(factors)),
                    operator: bytes(&Scaled { matrices: unit.cell_matrices::<T, { K + 1 }, H>(), factors }),
                    restriction: bytes(&Scaled { matrices: unit.restriction_matrices::<T, { 2 * K + 1 }, H>(), factors }),
                    prolongation: bytes(&unit.prolongation_matrices::<T, { K + 1 }>()),
                })
            },
            else Err(unsupported_degree(forms.degree(), "1 to 10"))
        )
    }
}

/// What kernels of a module take of the matrices, whatever the mesh.
pub(super) fn constants(dim: usize, degree: usize) -> Result<Vec<Constants>> {
    let module = Module::PoissonCg { dim, degree };
    let Matrices { smoother, first_step, operator, restriction, prolongation } =
        Matrices::new::<f32>(&ContinuousForms::new(&Space::new(Mesh::unit_cube(dim, 1)?, degree)?)?)?;
    // The factors, behind the matrices, are the mesh's.
    let matrices = |scaled: &[u8]| scaled[..scaled.len() - size_of::<[f32; 3]>()].to_vec();
    let entries = module.kernels().into_iter().filter(|spec| spec.scalar == <f32 as Real>::NAME);
    let constants = entries.filter_map(|spec| {
        let bytes = match spec.operation {
            Operation::Smooth => matrices(&smoother),
            Operation::SmoothFirst => matrices(&first_step),
            Operation::Apply | Operation::Residual => matrices(&operator),
            Operation::RestrictResidual => matrices(&restriction),
            Operation::ProlongateAdd | Operation::ProlongateEdges => prolongation.to_vec(),
            _ => return None,
        };
        Some(Constants { entry: spec.name, bytes })
    });
    Ok(constants.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::bytes_of;

    #[test]
    fn matrices_are_those_of_the_instructions_whatever_the_mesh() {
        for mesh in [
            Mesh::unit_cube(2, 3),
            Mesh::unit_cube(3, 1),
            Mesh::unit_cube(3, 2),
            Mesh::of_box(&[3, 2], &[1.0, 5.0], 2),
            Mesh::of_box(&[1, 2, 3], &[1.0, 0.3, 7.0], 1),
        ] {
            let mesh = mesh.unwrap();
            let dim = mesh.dim();
            let forms = ContinuousForms::new(&Space::new(mesh, 3).unwrap()).unwrap();
            let Matrices { smoother, first_step, operator, restriction, prolongation } =
                Matrices::new::<f32>(&forms).unwrap();
            let constants = constants(dim, 3).unwrap();
            for (operation, matrices) in [
                (Operation::Smooth, smoother),
                (Operation::SmoothFirst, first_step),
                (Operation::Apply, operator),
                (Operation::RestrictResidual, restriction),
                (Operation::ProlongateAdd, prolongation),
            ] {
                let entry = Module::PoissonCg { dim, degree: 3 }.kernel::<f32>(operation).name;
                let Some(known) = constants.iter().find(|known| known.entry == entry) else {
                    assert_eq!((operation, dim), (Operation::SmoothFirst, 3));
                    continue;
                };
                let factors = matrices.strip_prefix(&*known.bytes).unwrap();
                let expected = matrices::factors(dim, forms.factors()).map(|factor| factor as f32);
                assert!(factors.is_empty() || factors == bytes_of(&expected), "{entry}");
            }
        }
    }
}
