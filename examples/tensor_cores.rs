//! The operator of discontinuous elements in 3D on a GPU: by columns in registers, the default, and by products of small
//! matrices on CUDA cores and tensor cores (paper 4, figures 5 to 10): throughput, and the error of operands of few bits
//! against the default in `f64`. Boxes of `N` nodes a direction are patches where `N` is even, else cells.
//!
//!     cargo run --release --example tensor_cores -- 7 8 16 > results.jsonl

use patchmg::backend::cuda::Cuda;
use patchmg::backend::{Backend, PatchKernel, Scalar};
use patchmg::measure::{Protocol, Timing, measure};
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg::{Error, Result};
use serde_json::json;

/// Unknowns of a problem, about.
const DOFS: f64 = 1.4e8;
const PROTOCOL: Protocol = Protocol { warmup: 2, repetitions: 5 };

fn main() -> Result<()> {
    let gpu = Cuda::new(0)?;
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    for nodes in if sizes.is_empty() { vec![8, 16] } else { sizes } {
        let patchwise = nodes % 2 == 0 && nodes > 2;
        let degree = if patchwise { nodes / 2 } else { nodes } - 1;
        let refine = (DOFS.cbrt() / (degree + 1) as f64).log2().round();
        let space = Space::discontinuous(Mesh::unit_cube(3, refine as usize)?, degree)?;
        // A normal distribution, as in the paper: the sum of twelve uniform numbers is one for all that is seen here.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let x: Vec<f64> = (0..space.storage()).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect();
        let level = gpu.level::<f64>(&space, PatchKernel::default())?;
        let (mut vector, mut y) = (gpu.zeros::<f64>(x.len())?, gpu.zeros::<f64>(x.len())?);
        gpu.upload(&x, &mut vector)?;
        let timing = measure(&gpu, PROTOCOL, || gpu.apply(&level, &vector, &mut y))?;
        let mut exact = vec![0.0; x.len()];
        gpu.download(&y, &mut exact)?;
        drop((vector, y, level));

        report(&gpu, &space, nodes, "f64", "register", timing, Some(0.0));
        all::<f64>(&gpu, &space, nodes, patchwise, &x, &exact)?;
        all::<f32>(&gpu, &space, nodes, patchwise, &x, &exact)?;
    }
    Ok(())
}

/// Every choice of a scalar.
fn all<T: Scalar>(gpu: &Cuda, space: &Space, nodes: usize, patchwise: bool, x: &[f64], exact: &[f64]) -> Result<()> {
    let Space::Discontinuous(discontinuous) = space else { unreachable!("made so") };
    let rounded: Vec<T> = x.iter().map(|&value| T::from_f64(value)).collect();
    let (mut vector, mut y) = (gpu.zeros::<T>(x.len())?, gpu.zeros::<T>(x.len())?);
    gpu.upload(&rounded, &mut vector)?;
    if T::NAME == "f32" {
        let level = gpu.level::<T>(space, PatchKernel::default())?;
        let timing = measure(gpu, PROTOCOL, || gpu.apply(&level, &vector, &mut y))?;
        report(gpu, space, nodes, T::NAME, "register", timing, Some(error(gpu, &y, exact)?));
    }
    for kernel in Cuda::box_choices::<T>(nodes) {
        let boxes = match gpu.box_kernels::<T>(discontinuous, kernel, patchwise) {
            Err(Error::Unsupported { .. }) => continue,
            found => found?,
        };
        let timing = measure(gpu, PROTOCOL, || boxes.apply(&vector, &mut y))?;
        report(gpu, space, nodes, T::NAME, &kernel.to_string(), timing, Some(error(gpu, &y, exact)?));
    }
    Ok(())
}

/// `|y - exact| / |exact|` in the Euclidean norm.
fn error<T: Scalar>(gpu: &Cuda, y: &<Cuda as Backend>::Vector<T>, exact: &[f64]) -> Result<f64> {
    let mut values = vec![T::ZERO; exact.len()];
    gpu.download(y, &mut values)?;
    let difference: f64 = values.iter().zip(exact).map(|(value, exact)| (value.to_f64() - exact).powi(2)).sum();
    Ok((difference / exact.iter().map(|exact| exact * exact).sum::<f64>()).sqrt())
}

fn report(gpu: &Cuda, space: &Space, nodes: usize, scalar: &str, kernel: &str, timing: Timing, error: Option<f64>) {
    let dofs = space.dofs();
    println!(
        "{}",
        json!({
            "nodes": nodes, "degree": space.degree(), "dofs": dofs, "scalar": scalar, "kernel": kernel,
            "median_s": timing.median_s, "min_s": timing.min_s, "max_s": timing.max_s,
            "gdof_per_s": 1e-9 * dofs as f64 / timing.median_s, "relative_error": error,
            "warmup": PROTOCOL.warmup, "repetitions": PROTOCOL.repetitions,
            "device": gpu.info().name, "driver": gpu.info().driver, "commit": option_env!("PATCHMG_COMMIT"),
        })
    );
}
