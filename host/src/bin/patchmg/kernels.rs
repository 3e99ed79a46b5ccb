//! `patchmg kernels`.

use crate::args::{KernelsArgs, Scalar};
use crate::console::Console;
use crate::failure::Failure;
use crate::result;
use patchmg::Error;
use patchmg::inspect::{self, Assembler, Filter, KernelReport, Wavefronts};
use patchmg::output::table::Table;
use serde::Serialize;
use std::process::ExitCode;

/// In the order of the JSON object.
#[derive(Serialize)]
struct List<'a> {
    version: &'static str,
    commit: &'static str,
    /// What registers and spills are for.
    arch: &'a str,
    /// None if there is no assembler.
    ptxas_version: Option<String>,
    kernels: Vec<KernelReport>,
}

pub fn run(args: &KernelsArgs) -> Result<ExitCode, Failure> {
    let assembler = Assembler::find(&args.arch)?;
    if let Some(name) = &args.ptx {
        Console::Stdout.line(inspect::kernel_ptx(name)?.trim_end());
    } else if let Some(name) = &args.sass {
        let ptx = inspect::kernel_ptx(name)?;
        let assembler = assembler.ok_or_else(|| Error::Tool { program: "ptxas".into(), message: missing() })?;
        Console::Stdout.line(assembler.sass(&ptx)?.trim_end());
    } else {
        list(args, assembler.as_ref())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &KernelsArgs, assembler: Option<&Assembler>) -> Result<(), Failure> {
    result::check("json", args.json.as_deref())?;
    let scalar = args.scalar.map(|scalar| match scalar {
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
    });
    let filter = Filter { name: args.name.clone(), dim: args.dim, degree: args.degree, scalar };
    let console = result::console(args.json.as_deref(), false);
    let ptxas_version = assembler.map(Assembler::version).transpose()?;
    let kernels = inspect::reports(&filter, assembler)?;
    console.line(table(&kernels));
    console.line(match &ptxas_version {
        Some(version) => format!("{} kernels; registers and spills for {}, ptxas {version}", kernels.len(), args.arch),
        None => format!("{} kernels; registers and spills: ptxas {}", kernels.len(), missing()),
    });
    if let Some(path) = &args.json {
        let (version, commit) = (result::VERSION, result::COMMIT);
        result::write_json(&List { version, commit, arch: &args.arch, ptxas_version, kernels }, path)?;
    }
    Ok(())
}

fn missing() -> String {
    format!("not found: {}", Assembler::INSTALL)
}

fn table(kernels: &[KernelReport]) -> Table {
    let mut table = Table::new([
        "kernel",
        "threads",
        "patches",
        "registers",
        "shared/B",
        "spills/B",
        "stack/B",
        "barriers",
        "fma",
        "ld.global",
        "st.global",
        "ld.shared",
        "st.shared",
        "integer",
        "wavefronts",
        "conflicts",
    ]);
    for kernel in kernels {
        let KernelReport { name, threads, patches, shared_bytes, barriers, shared_memory, .. } = kernel;
        let spills = kernel.spill_store_bytes.zip(kernel.spill_load_bytes).map(|(store, load)| store + load);
        let mix = kernel.instructions;
        let counts = [
            mix.map(|mix| mix.fma_f32 + mix.fma_f64),
            mix.map(|mix| mix.load_global),
            mix.map(|mix| mix.store_global),
            mix.map(|mix| mix.load_shared),
            mix.map(|mix| mix.store_shared),
            mix.map(|mix| mix.integer),
        ];
        let wavefronts = match shared_memory.patch {
            Some(Wavefronts { wavefronts, excess }) => [wavefronts, excess].map(decimal),
            None => [shared_memory.block.wavefronts, shared_memory.block.excess].map(|count| count.to_string()),
        };
        let block = [name.clone(), threads.to_string(), patches.to_string(), text(kernel.registers)];
        let memory = [shared_bytes.to_string(), text(spills), text(kernel.stack_bytes), barriers.to_string()];
        table.row(block.into_iter().chain(memory).chain(counts.map(text)).chain(wavefronts));
    }
    table
}

/// A number, or a dash where it is not known.
fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(|| String::from("-"), |value| value.to_string())
}

/// With one decimal, unless it is whole.
fn decimal(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
