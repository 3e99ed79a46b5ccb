//! `patchmg kernels`.

use super::progress::Progress;
use super::{filter, missing_assembler};
use crate::inspect::{self, Assembler, Filter, KernelReport, Selection, Wavefronts};
use patchmg_cli::args::KernelsArgs;
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
        let assembler =
            assembler.ok_or_else(|| Error::Tool { program: "ptxas".into(), message: missing_assembler() })?;
        Console::Stdout.line(assembler.sass(&ptx)?.trim_end());
    } else if let Some(folder) = &args.ptx_folder {
        let count = inspect::write_ptx(&selection(args)?, folder)?;
        Console::Stdout.line(format!("PTX of {count} modules written to {}", folder.display()));
    } else {
        list(args, assembler.as_ref())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn selection(args: &KernelsArgs) -> Result<Selection, Failure> {
    let names = args.name.clone().into_iter().collect();
    Ok(Selection::of(&Filter { patches: args.patches_per_block, ..filter(names, &args.filter) })?)
}

/// Prints each kernel as soon as it is assembled.
fn list(args: &KernelsArgs, assembler: Option<&Assembler>) -> Result<(), Failure> {
    result::check("json", args.json.as_deref())?;
    let console = result::console(args.json.as_deref(), false);
    let ptxas_version = assembler.map(Assembler::version).transpose()?;
    let selection = selection(args)?;
    let columns = if args.wide { &WIDE[..] } else { &NARROW[..] };
    let names = selection.kernels().map(|spec| spec.name.len()).max().unwrap_or(0).max(KERNEL.len());
    let count = selection.kernels().count();

    let progress = Progress::new(console, count);
    progress.line(row(names, KERNEL, columns, |column| column.heading.to_owned()));
    let mut kernels = Vec::with_capacity(count);
    let done = selection.reports(assembler, |kernel| {
        progress.line(row(names, &kernel.name, columns, |column| (column.cell)(&kernel)));
        progress.advance(1);
        kernels.push(kernel);
    });
    progress.finish();
    done?;

    let more = if args.wide { "" } else { "; spills and shared memory in bytes, --wide has all columns" };
    console.line(format_args!("\n{count} kernels{more}"));
    console.line(match &ptxas_version {
        Some(version) => format!("registers and spills for {}, ptxas {version}", args.arch),
        None => format!("registers and spills: ptxas {}", missing_assembler()),
    });
    if let Some(path) = &args.json {
        let (version, commit) = (patchmg_cli::VERSION, patchmg_cli::COMMIT);
        result::write_json(&List { version, commit, arch: &args.arch, ptxas_version, kernels }, path)?;
    }
    Ok(())
}

const KERNEL: &str = "kernel";

/// A column of numbers; a wider number moves those behind it.
struct Column {
    heading: &'static str,
    width: usize,
    cell: fn(&KernelReport) -> String,
}

const fn column(heading: &'static str, width: usize, cell: fn(&KernelReport) -> String) -> Column {
    Column { heading, width, cell }
}

/// With the longest name, of 64 characters, 120 characters.
const NARROW: [Column; 8] = [
    column("regs", 4, registers),
    column("spills", 6, spills),
    column("shared", 6, shared),
    column("bars", 4, barriers),
    column("fma", 4, fma),
    column("int", 4, integer),
    column("waves", 6, |kernel| short(of_patch_or_block(kernel).wavefronts)),
    column("confl", 6, |kernel| short(of_patch_or_block(kernel).excess)),
];

const WIDE: [Column; 15] = [
    column("threads", 7, |kernel| kernel.threads.to_string()),
    column("patches", 7, |kernel| kernel.patches.to_string()),
    column("registers", 9, registers),
    column("shared/B", 8, shared),
    column("spills/B", 8, spills),
    column("stack/B", 7, |kernel| text(kernel.stack_bytes)),
    column("barriers", 8, barriers),
    column("fma", 5, fma),
    column("ld.global", 9, |kernel| text(kernel.instructions.map(|mix| mix.load_global))),
    column("st.global", 9, |kernel| text(kernel.instructions.map(|mix| mix.store_global))),
    column("ld.shared", 9, |kernel| text(kernel.instructions.map(|mix| mix.load_shared))),
    column("st.shared", 9, |kernel| text(kernel.instructions.map(|mix| mix.store_shared))),
    column("integer", 7, integer),
    column("wavefronts", 10, |kernel| decimal(of_patch_or_block(kernel).wavefronts)),
    column("conflicts", 9, |kernel| decimal(of_patch_or_block(kernel).excess)),
];

fn row(names: usize, name: &str, columns: &[Column], cell: impl Fn(&Column) -> String) -> String {
    let cells = columns.iter().map(|column| format!("  {:>width$}", cell(column), width = column.width));
    format!("{name:names$}{}", cells.collect::<String>())
}

fn registers(kernel: &KernelReport) -> String {
    text(kernel.registers)
}

fn spills(kernel: &KernelReport) -> String {
    text(kernel.spill_store_bytes.zip(kernel.spill_load_bytes).map(|(store, load)| store + load))
}

fn shared(kernel: &KernelReport) -> String {
    kernel.shared_bytes.to_string()
}

fn barriers(kernel: &KernelReport) -> String {
    kernel.barriers.to_string()
}

fn fma(kernel: &KernelReport) -> String {
    text(kernel.instructions.map(|mix| mix.fma_f32 + mix.fma_f64))
}

fn integer(kernel: &KernelReport) -> String {
    text(kernel.instructions.map(|mix| mix.integer))
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

/// The same in at most six characters, below a million.
fn short(value: f64) -> String {
    if value < 999.95 { decimal(value) } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_fits_120_columns() {
        let selection = Selection::of(&Filter::default()).unwrap();
        let names = selection.kernels().map(|spec| spec.name.len()).max().unwrap();
        assert!(row(names, KERNEL, &NARROW, |column| column.heading.to_owned()).len() <= 120);
        for column in NARROW.iter().chain(&WIDE) {
            assert!(column.heading.len() <= column.width, "{}", column.heading);
        }
        assert_eq!([0.0, 7.25, 999.94, 999.96, 12345.6].map(short), ["0", "7.2", "999.9", "1000", "12346"]);
    }
}
