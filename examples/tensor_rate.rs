//! How near the contractions of the operator of discontinuous elements come to what the tensor cores of a GPU can do in `f64`.
//!
//!     cargo run --release --example tensor_rate > tensor-rate.jsonl

use patchmg::Result;
use patchmg::backend::Backend;
use patchmg::backend::cuda::Cuda;
use patchmg::measure::Protocol;
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg_device::tensor_core::{contractions::operations, list::listed};

/// Degrees with patches of 8 and 16 nodes a direction, and refinements: 134 million unknowns.
const SIZES: [(usize, usize); 2] = [(3, 7), (7, 6)];
const REPEATS: u32 = 20;
const PROTOCOL: Protocol = Protocol { warmup: 2, repetitions: 5 };

fn main() -> Result<()> {
    patchmg::backend::cuda::add_modules(patchmg_paper_kernels::MODULES);
    let gpu = Cuda::new(0)?;
    let device = gpu.info();
    for (degree, refine) in SIZES {
        let space = Space::discontinuous(Mesh::unit_cube(3, refine)?, degree)?;
        let (nodes, dofs) = (2 * (degree + 1), space.dofs());
        for kernel in listed(nodes).into_iter().filter(|listed| listed.contracts(nodes)).map(|listed| listed.kernel) {
            let seconds = gpu.contraction_time(&space, kernel, REPEATS, PROTOCOL)?;
            let flops = operations(nodes) as f64 * dofs as f64 / nodes.pow(3) as f64;
            println!(
                "{}",
                serde_json::json!({
                    "nodes": nodes, "dofs": dofs, "kernel": kernel.to_string(), "contractions_s": seconds,
                    "tflops": 1e-12 * flops / seconds, "gdof_per_s": 1e-9 * dofs as f64 / seconds,
                    "repeats": REPEATS, "warmup": PROTOCOL.warmup, "repetitions": PROTOCOL.repetitions,
                    "device": device.name, "driver": device.driver, "cuda_api": device.cuda_api,
                    "commit": option_env!("PATCHMG_COMMIT"),
                })
            );
        }
    }
    Ok(())
}
