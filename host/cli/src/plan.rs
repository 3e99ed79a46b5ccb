//! What `--dry-run` says: the memory that a solve takes.

use crate::args::CaseArgs;
use crate::case::parameters;
use crate::console::Console;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::result;
use crate::systems::{Offered, with_system};
use patchmg::memory::Memory;
use patchmg::multigrid::hierarchy;
use patchmg::output::table::{Table, bytes, count};
use patchmg::output::vtu;
use patchmg::solve::Case;
use patchmg::system::{Runs, System};
use patchmg::{Error, operator::vector_bytes};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;

/// In the order of the JSON object.
#[derive(Serialize)]
struct Plan {
    /// Coarse to fine; none if the mesh alone does not fit.
    levels: Vec<PlannedLevel>,
    /// The solver's vectors and its operator, right-hand side and solution.
    solver_bytes: u64,
    /// All of these on the machine, or what the mesh takes of the host at least.
    needed_bytes: u64,
    free_bytes: u64,
    /// Of the host's memory, beside a GPU's: right-hand side and solution.
    host_bytes: Option<u64>,
    /// Of the host's memory, to write `--vtu`, and of the file, both at most.
    vtu_bytes: Option<[u64; 2]>,
    fits: bool,
    /// What repeats the plan.
    options: Map<String, Value>,
    version: &'static str,
    commit: &'static str,
}

#[derive(Serialize)]
struct PlannedLevel {
    cells: usize,
    dofs: usize,
    /// Its tables and vectors on the machine.
    bytes: u64,
}

/// Where a plan goes.
pub struct Output<'a> {
    pub console: Console,
    pub json: Option<&'a Path>,
    /// How the solution would be written.
    pub vtu: Option<vtu::Config>,
}

/// Says what a solve would take, whether that is there or not; allocates none of it but a forest.
///
/// # Errors
/// What a solve is refused for before it starts, but for too little memory, and for the file of `--start-from`, which is not read.
pub fn run(args: &CaseArgs, output: &Output) -> Result<ExitCode, Failure> {
    result::check("json", output.json)?;
    with_system!(args.kind(), Problem => {
        args.check_options()?;
        let case = Problem::case(args);
        let plan = match Machine::choose(&args.machine, output.console)? {
            Machine::Cpu(backend) => planned(&*backend, args, case, output),
            #[cfg(feature = "cuda")]
            Machine::Cuda(backend) => planned(&*backend, args, case, output),
        }?;
        if let Some(path) = output.json {
            result::write_json(&plan, path)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn planned<P: Offered, B: Runs<P::System>>(
    backend: &B,
    args: &CaseArgs,
    case: Result<Case<P>, Failure>,
    output: &Output,
) -> Result<Plan, Failure> {
    let case = match case {
        Ok(case) => case,
        Err(failure) => return without_mesh(args, failure, output.console),
    };
    match case.check(backend) {
        Ok(()) | Err(Error::OutOfMemory { .. }) => {}
        Err(error) => return Err(P::refused(args, error)),
    }
    let device = backend.info();
    let memory = case.config.memory_plan::<_, B>(&case.system)?;
    let systems = hierarchy(&case.system)?;
    let levels = systems.iter().zip(memory.levels.iter()).map(|(system, &bytes)| PlannedLevel {
        cells: system.cells(),
        dofs: system.layout().dofs(),
        bytes,
    });
    let on_host = vector_bytes::<f64>(2, case.system.layout().storage());
    let host_bytes = device.backend.is_gpu().then_some(on_host);
    let vtu_bytes = output.vtu.map(|config| P::most_vtu_bytes(&case, &config)).transpose()?;
    let needed = memory.total();
    let host_needs = host_bytes.unwrap_or(0).max(vtu_bytes.map_or(0, |[_, memory]| memory));
    let plan = Plan {
        levels: levels.collect(),
        solver_bytes: memory.solver,
        needed_bytes: needed,
        free_bytes: device.memory_free,
        host_bytes,
        vtu_bytes: vtu_bytes.map(|[file, memory]| [memory, file]),
        fits: needed <= device.memory_free && host_needs <= Memory::now().free,
        options: args.effective(&case, &device).options(),
        version: crate::VERSION,
        commit: crate::COMMIT,
    };
    output.console.line(parameters(args, &P::smoother_in_words(&case), &device, needed));
    plan.show(args, output.console);
    Ok(plan)
}

/// If there is not even the memory for the mesh.
fn without_mesh(args: &CaseArgs, failure: Failure, console: Console) -> Result<Plan, Failure> {
    let Some([needed_bytes, free_bytes]) = failure.needed_and_free() else { return Err(failure) };
    console.line(format_args!("it does not fit: {failure}"));
    Ok(Plan {
        levels: Vec::new(),
        solver_bytes: 0,
        needed_bytes,
        free_bytes,
        host_bytes: None,
        vtu_bytes: None,
        fits: false,
        options: args.options(),
        version: crate::VERSION,
        commit: crate::COMMIT,
    })
}

impl Plan {
    fn show(&self, args: &CaseArgs, console: Console) {
        let mut table = Table::new(["level", "cells", "dofs", "memory"]);
        for (index, level) in self.levels.iter().enumerate() {
            table.row([(index + 1).to_string(), count(level.cells), count(level.dofs), bytes(level.bytes)]);
        }
        table.row(["solver", "", "", &bytes(self.solver_bytes)]);
        table.row(["all", "", "", &bytes(self.needed_bytes)]);
        console.line(table);
        let host = |what: &str, needed| {
            console.line(format_args!("host       {} for {what}, {} free", bytes(needed), bytes(Memory::now().free)));
        };
        if let Some(needed) = self.host_bytes {
            host("right-hand side and solution", needed);
        }
        if let Some([needed, file]) = self.vtu_bytes {
            host(&format!("a VTU file of at most {}", bytes(file)), needed);
        }
        let mesh = if args.refines_where_it_matters() { " on the first mesh" } else { "" };
        let fits = if self.fits { "it fits" } else { "it does not fit" };
        console.line(format_args!("{fits}{mesh}; nothing was solved"));
    }
}
