//! That the assembler makes of the tensor-core kernels the instructions that they are named for. Without an assembler and
//! a disassembler every test is ignored; with `PATCHMG_REQUIRE_ASSEMBLER=1` it fails instead.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use patchmg_lab::inspect::{Assembler, kernel_ptx};
use std::process::ExitCode;

/// Kernels, and the product that each must and no other one may have.
const KERNELS: [(&str, Option<&str>); 16] = [
    ("tensor_core_n8_apply_fma_f64", None),
    ("tensor_core_n8_apply_wmma_f64", Some("DMMA.8x8x4")),
    ("tensor_core_n8_apply_mma_f64_m8n8k4", Some("DMMA.8x8x4")),
    ("tensor_core_n8_apply_mma_swizzled_f64_m8n8k4", Some("DMMA.8x8x4")),
    ("tensor_core_n8_sm90_apply_mma_swizzled_f64_m16n8k4", Some("DMMA.16x8x4")),
    ("tensor_core_n16_sm90_apply_mma_swizzled_f64_m16n8k8", Some("DMMA.16x8x8")),
    ("tensor_core_n16_sm90_apply_mma_swizzled_f64_m16n8k16", Some("DMMA.16x8x16")),
    ("tensor_core_n16_sm90_solve_mma_swizzled_f64_m16n8k4_read_only", Some("DMMA.16x8x4")),
    ("tensor_core_n16_apply_mma_swizzled_tf32", Some("HMMA.1688.F32.TF32")),
    ("tensor_core_n16_apply_mma_f16", Some("HMMA.16816.F32")),
    ("tensor_core_n16_apply_mma_swizzled_f16", Some("HMMA.16816.F32")),
    ("tensor_core_n16_solve_mma_swizzled_f16_corrected", Some("HMMA.16816.F32")),
    ("tensor_core_n16_apply_mma_swizzled_bf16", Some("HMMA.16816.F32.BF16")),
    ("tensor_core_n8_solve_mma_swizzled_bf16", Some("HMMA.16816.F32.BF16")),
    ("tensor_core_n18_sm90_apply_mma_swizzled_f64_m16n8k4_read_only", Some("DMMA.16x8x4")),
    ("tensor_core_n18_solve_mma_swizzled_f16_corrected_read_only", Some("HMMA.16816.F32")),
];

/// What reads four matrices of halves from shared memory, and transposes them: both are in these kernels, none is in others.
const LOADS: [&str; 2] = ["LDSM.16.M88.4", "LDSM.16.MT88.4"];
const LOADED_AS_MATRICES: [&str; 3] = [
    "tensor_core_n16_apply_mma_swizzled_f16",
    "tensor_core_n16_apply_mma_swizzled_bf16",
    "tensor_core_n8_solve_mma_swizzled_bf16",
];

fn main() -> ExitCode {
    patchmg_lab::add_paper_kernels();
    let listed = KERNELS.map(|(kernel, instruction)| (kernel.to_owned(), instruction));
    let trials = listed.into_iter().chain(smoothers()).map(|(kernel, instruction)| {
        Trial::ignorable_test(format!("{kernel}::{}", instruction.unwrap_or("none")), move || {
            check(&kernel, instruction)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Steps of the smoother of graded boxes, of all degrees that have products.
fn smoothers() -> impl Iterator<Item = (String, Option<&'static str>)> {
    let of = |dim, degrees: &'static [usize], scalar| {
        degrees.iter().map(move |degree| format!("separable_graded_{dim}d_q{degree}_smooth_{scalar}"))
    };
    let in_2d = ["f64", "f32"].into_iter().flat_map(move |scalar| of(2, &[3, 4, 5, 6, 7, 8], scalar));
    let in_3d = of(3, &[4, 5, 6, 7, 8], "f64").chain(of(3, &[4, 7, 8], "f32"));
    in_2d.chain(in_3d).map(|kernel| (kernel, Some("DMMA.8x8x4")))
}

fn missing(what: &'static str) -> Result<Completion, Failed> {
    match std::env::var_os("PATCHMG_REQUIRE_ASSEMBLER") {
        None => Ok(Completion::ignored_with(what)),
        Some(_) => Err(format!("{what}: {}", Assembler::INSTALL).into()),
    }
}

fn check(kernel: &str, instruction: Option<&str>) -> Result<Completion, Failed> {
    let ptx = kernel_ptx(kernel)?;
    let Some(assembler) = Assembler::find("sm_90")? else {
        return missing("no ptxas");
    };
    let sass = match assembler.sass(&ptx) {
        Err(patchmg_cli::error::Error::Tool { program, .. }) if program == "nvdisasm" => {
            return missing("no nvdisasm");
        }
        sass => sass?,
    };
    let products: Vec<_> =
        sass.split_whitespace().filter(|word| word.starts_with("DMMA") || word.starts_with("HMMA")).collect();
    // Lanes that take different arms of a branch would wait for each other in both.
    if let Some(line) = sass.lines().find(|line| line.contains("WARPSYNC") && line.contains('@')) {
        return Err(format!("products stand in both arms of a branch: {}", line.trim()).into());
    }
    let loads = LOADS.map(|load| sass.split_whitespace().any(|word| word == load));
    if loads != [LOADED_AS_MATRICES.contains(&kernel); 2] {
        return Err(format!("has {LOADS:?}: {loads:?}").into());
    }
    match instruction {
        None if products.is_empty() => Ok(Completion::Completed),
        Some(instruction) if !products.is_empty() && products.iter().all(|&word| word == instruction) => {
            Ok(Completion::Completed)
        }
        _ => Err(format!("{} products: {products:?}", products.len()).into()),
    }
}
