//! `patchmg kernels`.

use crate::inspect::{self, Assembler, Filter, KernelReport, Wavefronts};
use patchmg::output::table::Table;
use patchmg_cli::args::{KernelsArgs, Scalar};
use patchmg_cli::console::Console;
use patchmg_cli::error::Error;
use patchmg_cli::failure::Failure;
use patchmg_cli::result;
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
    } else if let Some(folder) = &args.ptx_folder {
        let count = inspect::write_ptx(&filter(args), folder)?;
        Console::Stdout.line(format!("PTX of {count} modules written to {}", folder.display()));
    } else {
        list(args, assembler.as_ref())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(args: &KernelsArgs) -> Filter {
    let scalar = args.scalar.map(|scalar| match scalar {
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
    });
    let (name, patches) = (args.name.clone(), args.patches_per_block);
    Filter { name, dim: args.dim, degree: args.degree, scalar, patches }
}

fn list(args: &KernelsArgs, assembler: Option<&Assembler>) -> Result<(), Failure> {
    result::check("json", args.json.as_deref())?;
    let console = result::console(args.json.as_deref(), false);
    let ptxas_version = assembler.map(Assembler::version).transpose()?;
    let kernels = inspect::reports(&filter(args), assembler)?;
    console.line(table(&kernels));
    console.line(match &ptxas_version {
        Some(version) => format!("{} kernels; registers and spills for {}, ptxas {version}", kernels.len(), args.arch),
        None => format!("{} kernels; registers and spills: ptxas {}", kernels.len(), missing()),
    });
    if let Some(path) = &args.json {
        let (version, commit) = (patchmg_cli::VERSION, patchmg_cli::COMMIT);
        result::write_json(&List { version, commit, arch: &args.arch, ptxas_version, kernels }, path)?;
    }
    Ok(())
}

fn missing() -> String {
    format!("not found: {}", Assembler::INSTALL)
}

/// Heading and cell of a column.
type Column = (&'static str, fn(&KernelReport) -> String);

const COLUMNS: [Column; 16] = [
    ("kernel", |kernel| kernel.name.clone()),
    ("threads", |kernel| kernel.threads.to_string()),
    ("patches", |kernel| kernel.patches.to_string()),
    ("registers", |kernel| text(kernel.registers)),
    ("shared/B", |kernel| kernel.shared_bytes.to_string()),
    ("spills/B", |kernel| {
        text(kernel.spill_store_bytes.zip(kernel.spill_load_bytes).map(|(store, load)| store + load))
    }),
    ("stack/B", |kernel| text(kernel.stack_bytes)),
    ("barriers", |kernel| kernel.barriers.to_string()),
    ("fma", |kernel| text(kernel.instructions.map(|mix| mix.fma_f32 + mix.fma_f64))),
    ("ld.global", |kernel| text(kernel.instructions.map(|mix| mix.load_global))),
    ("st.global", |kernel| text(kernel.instructions.map(|mix| mix.store_global))),
    ("ld.shared", |kernel| text(kernel.instructions.map(|mix| mix.load_shared))),
    ("st.shared", |kernel| text(kernel.instructions.map(|mix| mix.store_shared))),
    ("integer", |kernel| text(kernel.instructions.map(|mix| mix.integer))),
    ("wavefronts", |kernel| decimal(of_patch_or_block(kernel).wavefronts)),
    ("conflicts", |kernel| decimal(of_patch_or_block(kernel).excess)),
];

fn table(kernels: &[KernelReport]) -> Table {
    let mut table = Table::new(COLUMNS.map(|(heading, _)| heading));
    for kernel in kernels {
        table.row(COLUMNS.map(|(_, cell)| cell(kernel)));
    }
    table
}

fn of_patch_or_block(kernel: &KernelReport) -> Wavefronts<f64> {
    let Wavefronts { wavefronts, excess } = kernel.shared_memory.block;
    let block = Wavefronts { wavefronts: wavefronts as f64, excess: excess as f64 };
    kernel.shared_memory.patch.unwrap_or(block)
}

/// A number, or a dash where it is not known.
fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(|| String::from("-"), |value| value.to_string())
}

/// With one decimal, unless it is whole.
fn decimal(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
