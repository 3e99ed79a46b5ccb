//! Levels on a GPU: what has a kernel by it, all else by matrices along axes.

mod equal;
mod graded;
mod operator;
#[cfg(test)]
mod tests;

use super::level::{self, Kernels, Products, SeparableLevel, Steps};
use super::patches;
use super::{Equation, Separable};
use crate::backend::Scalar;
use crate::backend::cuda::gpu::Gpu;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector, modules};
use crate::error::Result;
use crate::level::SharedLevel;
use crate::mesh::Mesh;
use crate::operator::vector_bytes;
use crate::system::{Runs, System};
use cuda_builder::ptx::Constants;
use equal::EqualMatrices;
use graded::GradedMatrices;
use operator::Operator;
use patchmg_device::kernels::Module;
use patchmg_device::patch::{Direction, Directions};
use patchmg_device::separable::graded as graded_kernels;
use patchmg_device::separable::{self, Apply, ProlongateAdd, Residual, RestrictResidual, Smooth};
use patchmg_device::typed::{Arguments, Kind};
use std::sync::Arc;

impl Runs<Separable> for Cuda {
    fn check<T: Scalar>(&self, system: &Separable) -> Result<()> {
        Cells::of(system).map_or(Ok(()), |cells| modules::require(cells.module(system)))
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(SeparableLevel::new(self, system, kernels(self, system)?)?))
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(SeparableLevel::for_products(self, system, products(self, system)?)?))
    }

    fn level_bytes<T: Scalar>(system: &Separable) -> u64 {
        match Cells::of(system) {
            Some(cells) if system.is_large_patch() => {
                let of_products = if cells == Cells::Graded { graded::sizes_bytes::<T>(system) } else { 0 };
                level::bytes_of_solution::<T>(system) + of_products
            }
            Some(Cells::Equal) => {
                level::bytes_with_kernels::<Self, T>(system, equal::has_transfers(system))
                    + vector_bytes::<T>(1, equal::table_words(system))
            }
            Some(Cells::Graded) => {
                level::bytes_with_kernels::<Self, T>(system, false)
                    + graded::tables_bytes::<T>(system)
                    + graded::sizes_bytes::<T>(system)
            }
            None => level::bytes::<Self, T>(system) + patches::bytes::<T>(system),
        }
    }
}

/// The kernels of a level.
fn kernels<T: Scalar>(cuda: &Arc<Cuda>, system: &Separable) -> Result<Kernels<Cuda, T>> {
    if system.is_large_patch() {
        return Ok(Kernels { products: products(cuda, system)?, ..Kernels::NONE });
    }
    let steps: Box<dyn Steps<Cuda, T>> = match Cells::of(system) {
        Some(Cells::Equal) => Box::new(equal::Equal::new(cuda, system)?),
        Some(Cells::Graded) => Box::new(graded::Graded::new(cuda, system)?),
        None => return Ok(Kernels::NONE),
    };
    let (products, transfers) = (products(cuda, system)?, equal::transfers(cuda, system)?);
    Ok(Kernels { steps: Some(steps), products, transfers })
}

/// Those of the operator, if there are some.
fn products<T: Scalar>(cuda: &Arc<Cuda>, system: &Separable) -> Result<Option<Box<dyn Products<Cuda, T>>>> {
    Ok(match Cells::of(system) {
        Some(Cells::Equal) => Some(Box::new(Operator::new(cuda, system, EqualMatrices::new(system)?)?)),
        Some(Cells::Graded) => Some(Box::new(Operator::new(cuda, system, GradedMatrices::new(cuda, system)?)?)),
        None => None,
    })
}

/// The cells of a level that has kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Those of a direction are equal.
    Equal,
    /// They have any sizes.
    Graded,
}

impl Cells {
    /// None where a direction has at most three cells, for discontinuous elements, and where a plane has more nodes than 32 bits count.
    fn of(system: &Separable) -> Option<Self> {
        let (lines, [row, rows, _]) = (system.lines(), system.space().stored_nodes());
        let is_other = lines.iter().any(|line| line.is_short() || line.is_discontinuous());
        if is_other || row.checked_mul(rows).is_none_or(|plane| u32::try_from(plane).is_err()) {
            return None;
        }
        let is_uniform = lines.iter().all(|line| line.axis.is_uniform());
        Some(if is_uniform { Cells::Equal } else { Cells::Graded })
    }

    fn kind(self) -> &'static Kind {
        if self == Cells::Equal { &separable::KIND } else { &separable::graded::KIND }
    }

    fn module(self, system: &Separable) -> Module {
        self.kind().module(system.dim(), system.space().degree())
    }

    /// A kernel of the module.
    fn kernel<A: Arguments>(self, gpu: &Gpu, system: &Separable) -> Result<TypedKernel<A>> {
        TypedKernel::with_constants(gpu, self.module(system), constants)
    }
}

/// What kernels of a module take of their 1D matrices, whatever the equation and the mesh: in `f32` all but factors.
pub(crate) fn constants(module: Module) -> Result<Vec<Constants>> {
    let is_of = |cells: &Cells, dim, degree| cells.kind().module(dim, degree) == module;
    let known = module.space().and_then(|(dim, degree)| {
        let cells = [Cells::Equal, Cells::Graded].into_iter().find(|cells| is_of(cells, dim, degree))?;
        Some((cells, dim, degree))
    });
    let Some((cells, dim, degree)) = known else { return Ok(Vec::new()) };
    let system = Separable::new(Mesh::unit_cube(dim, 2)?, degree, Equation::default())?;
    let of = |entry: String, matrices: &[f32], others: usize| {
        let known = &matrices[..matrices.len() - others];
        Constants { entry, bytes: bytemuck::cast_slice(known).to_vec() }
    };
    // Behind the matrices are factors and the reaction's, behind those of the smoother sums between.
    let operator = equal::cell_matrices::<f32>(&system)?;
    let of_operator = |entry| of(entry, &operator, 3 + 1);
    Ok(match cells {
        Cells::Graded => vec![
            of_operator(graded_kernels::Apply::<f32>::spec(module).name),
            of_operator(graded_kernels::Residual::<f32>::spec(module).name),
        ],
        Cells::Equal => {
            let (smoother, _) = equal::matrices(&system)?;
            let (restriction, prolongation) =
                (equal::restriction_matrices::<f32>(&system)?, equal::prolongation_matrices::<f32>(&system)?);
            vec![
                of(Smooth::<f32>::spec(module).name, &smoother, 3 + degree + 1),
                of_operator(Apply::<f32>::spec(module).name),
                of_operator(Residual::<f32>::spec(module).name),
                of(RestrictResidual::<f32>::spec(module).name, &restriction, 3 + 1),
                of(ProlongateAdd::<f32>::spec(module).name, &prolongation, 0),
            ]
        }
    })
}

/// What kernels need of a level.
struct Common {
    cuda: Arc<Cuda>,
    directions: Directions,
    dim: usize,
    degree: usize,
    storage: usize,
}

impl Common {
    fn new(cuda: &Arc<Cuda>, system: &Separable) -> Self {
        let (directions, space) = (directions(system), system.space());
        Self { cuda: cuda.clone(), directions, dim: system.dim(), degree: space.degree(), storage: space.storage() }
    }

    /// That vectors, with their names, are of this level and on its machine.
    fn check<T: Scalar>(&self, vectors: &[(&'static str, &Vector<T>)]) -> Result<()> {
        vectors.iter().try_for_each(|(name, vector)| vector.check(&self.cuda.gpu, name, self.storage))
    }
}

fn directions(system: &Separable) -> Directions {
    let mut directions = [Direction { cells: 1, first: 0, patches: 1, is_periodic: 0 }; 3];
    for (direction, line) in directions.iter_mut().zip(system.lines()) {
        let vertices = line.patch_vertices();
        *direction = Direction {
            cells: line.axis.cells() as u32,
            first: vertices.start as u32,
            patches: vertices.len() as u32,
            is_periodic: line.joins_ends().into(),
        };
    }
    Directions(directions)
}
