//! Tensor kernels against the CPU backend, on random vectors, in every dimension and degree.

use super::compare::{assert_close, assert_identical, distance, downloaded, random, tolerance, uploaded};
use crate::Suite;
use patchmg::Result;
use patchmg::backend::cpu::Cpu;
use patchmg::backend::{Backend, Scalar};
use patchmg::level::SharedLevel;
use patchmg::mesh::Mesh;
use patchmg::multigrid::{Multigrid, SmootherConfig, VCycle};
use patchmg::operator::LinearOperator;
use patchmg::space::Space;
use patchmg::system::{Poisson, Runs};
use patchmg_device::kernels::{DEGREES_2D, DEGREES_3D};
use patchmg_device::patch::DgGrid;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Apply,
    ApplyRounded,
    Residual,
    ResidualNorm,
    SmoothColors,
    RestrictResidual,
    ProlongateAdd,
    ProlongateAndSmooth,
    VCycle,
}

const OPERATIONS: [Operation; 9] = [
    Operation::Apply,
    Operation::ApplyRounded,
    Operation::Residual,
    Operation::ResidualNorm,
    Operation::SmoothColors,
    Operation::RestrictResidual,
    Operation::ProlongateAdd,
    Operation::ProlongateAndSmooth,
    Operation::VCycle,
];

pub fn add<T: Scalar>(suite: &mut Suite) {
    let cases = DEGREES_2D.map(|degree| (2, degree)).chain(DEGREES_3D.map(|degree| (3, degree)));
    for (dim, degree) in cases {
        let space = move || Space::new(Mesh::unit_cube(dim, refine(dim, degree))?, degree);
        add_space::<T>(suite, format!("spaces::{dim}d::q{degree}"), space);
    }
    for (dim, degree) in DgGrid::DEGREES.flat_map(|degree| [(2, degree), (3, degree)]) {
        // Patches at the ends and one between, several between, and cells beyond a block of the operator.
        for refine in [2, 3, dg_refine(dim, degree)] {
            let space = move || Space::discontinuous(Mesh::unit_cube(dim, refine)?, degree);
            add_space::<T>(suite, format!("spaces::dg::{dim}d::q{degree}::level{refine}"), space);
        }
    }
}

/// Boxes: all directions coarsened, one or two of them, odd numbers of cells below, one patch in a direction, and edges that are
/// no powers of two.
const BOXES: [(&[usize], &[f64]); 8] = [
    (&[12, 8], &[1.5, 1.0]),
    (&[8, 16], &[1.0, 20.0]),
    (&[32, 2], &[1.0, 3.0]),
    (&[6, 20], &[0.7, 1.9]),
    (&[6, 4, 8], &[1.5, 1.0, 2.0]),
    (&[8, 4, 8], &[1.0, 7.0, 1.3]),
    (&[4, 8, 6], &[1.0, 0.1, 5.0]),
    (&[2, 6, 10], &[1.0, 1.0, 1.0]),
];

/// Operations on boxes, by few degrees.
pub fn add_boxes<T: Scalar>(suite: &mut Suite) {
    for (number, (cells, lengths)) in BOXES.into_iter().enumerate() {
        // Of even numbers of cells, half as many are refined once.
        let base: Vec<_> = cells.iter().map(|cells| cells / 2).collect();
        let mesh = Mesh::of_box(&base, lengths, 1).expect("boxes that there are");
        for degree in if cells.len() == 2 { vec![1, 3, 4, 7, 10] } else { vec![1, 2, 4, 5, 8] } {
            let name = format!("spaces::boxes::{number}::q{degree}");
            add_space::<T>(suite, name, move || Space::new(mesh, degree));
        }
        for degree in [1, 3, 4, 8] {
            let name = format!("spaces::boxes::dg::{number}::q{degree}");
            add_space::<T>(suite, name, move || Space::discontinuous(mesh, degree));
        }
    }
}

fn add_space<T: Scalar>(suite: &mut Suite, name: String, space: impl Fn() -> Result<Space> + Copy + Send + 'static) {
    for operation in OPERATIONS {
        suite.test(format!("{name}::{operation:?}::{}", T::NAME), move |gpu| {
            let (space, cpu) = (space()?, Arc::new(Cpu::new(None)?));
            let found = run::<_, T>(operation, gpu, &space)?;
            let expected = run::<_, T>(operation, &cpu, &space)?;
            if assert_close(&found, &expected, tolerance::<T>()).is_err() {
                // Patches of long cells are ill-conditioned. The GPU, which subtracts no reference value from `u`, is up to 6.4
                // times as far from the result in `f64` as the CPU (2D, degree 10).
                let exact = run::<_, f64>(operation, &cpu, &space)?;
                let allowed = tolerance::<T>().max(8.0 * distance(&expected, &exact));
                let found: Vec<_> = found.iter().map(|value| value.to_f64()).collect();
                assert_close(&found, &exact, allowed)?;
            }
            assert_identical(&found, &run::<_, T>(operation, gpu, &space)?)
        });
    }
}

/// More cells than a block of the operator has in a direction.
fn dg_refine(dim: usize, degree: usize) -> usize {
    match (dim, degree) {
        (2, 1) => 7,
        (2, 2..=3) => 6,
        (2, _) => 5,
        (_, 1) => 5,
        _ => 4,
    }
}

/// Several patches a direction, in one row more than a block has; and in 3D not too many nodes.
pub fn refine(dim: usize, degree: usize) -> usize {
    match (dim, degree) {
        (2, 1) => 6,
        (2, _) => 4,
        (_, 1) => 4,
        (_, 2..=4) => 3,
        _ => 2,
    }
}

/// What an operation makes of random vectors. What it is to overwrite holds other numbers before.
fn run<B: Runs<Poisson>, T: Scalar>(operation: Operation, backend: &Arc<B>, space: &Space) -> Result<Vec<T>> {
    let vector = |seed, space: &Space| uploaded(&**backend, &space.from_dofs(&random::<T>(seed, space.dofs()))?);
    let len = space.storage();
    let (b, mut x, mut y) = (vector(1, space)?, vector(2, space)?, vector(3, space)?);
    if let Operation::VCycle = operation {
        Multigrid::<B, T>::new(backend, &Poisson::from(space), &SmootherConfig::default(), VCycle::default())?
            .cycle(&b, &mut x)?;
        return downloaded(&**backend, &x, len);
    }
    if let Operation::ApplyRounded = operation {
        let level = backend.level_for_products::<T>(&Poisson::from(space))?;
        let rounded = uploaded(&**backend, &space.from_dofs(&random::<f32>(2, space.dofs()))?)?;
        level.apply_rounded(&rounded, &mut x, &mut y)?;
        return downloaded(&**backend, &y, len);
    }
    let level = backend.level::<T>(&Poisson::from(space))?;
    let coarser = space.coarser().expect("more than one patch")?;
    let mut coarse = vector(4, &coarser)?;
    match operation {
        Operation::Apply => level.apply(&x, &mut y)?,
        Operation::Residual => level.residual(&b, &x, &mut y)?,
        Operation::ResidualNorm => {
            let norm = level.residual_norm(&b, &x, &mut y)?;
            // What it may overwrite is as good a vector as before.
            level.residual(&b, &x, &mut y)?;
            let mut values = downloaded(&**backend, &y, len)?;
            values.push(T::from_f64(norm / (len as f64).sqrt()));
            return Ok(values);
        }
        Operation::RestrictResidual => {
            level.restrict_residual(&b, &x, &mut coarse)?;
            return downloaded(&**backend, &coarse, coarser.storage());
        }
        Operation::ProlongateAdd => {
            level.prolongate_add(&coarse, &mut x)?;
            return downloaded(&**backend, &x, len);
        }
        Operation::ProlongateAndSmooth => {
            level.patches()?.prolongate_and_smooth_first(&coarse, &b, &mut x)?;
            (1..1 << space.dim()).try_for_each(|color| level.patches()?.smooth_color(color, &b, &mut x))?;
            return downloaded(&**backend, &x, len);
        }
        Operation::ApplyRounded | Operation::SmoothColors | Operation::VCycle => {
            return smooth_colors(&**backend, space, &level);
        }
    }
    downloaded(&**backend, &y, len)
}

/// Every color on its own from the same start, one after the other.
pub fn smooth_colors<B: Backend, T: Scalar>(backend: &B, space: &Space, level: &SharedLevel<B, T>) -> Result<Vec<T>> {
    let host = |seed| space.from_dofs(&random::<T>(seed, space.dofs()));
    let b = uploaded(backend, &host(1)?)?;
    let mut results = Vec::new();
    for color in 0..1 << space.dim() {
        let mut x = uploaded(backend, &host(2)?)?;
        level.patches()?.smooth_color(color, &b, &mut x)?;
        results.extend(downloaded::<B, T>(backend, &x, space.storage())?);
    }
    Ok(results)
}
