//! The arguments: their names, defaults and help.

mod arrangement;
mod case;
mod kernels;
mod sizes;
mod values;
mod written;

use arrangement::arranged;
pub(crate) use case::choice;
pub use case::{BackendChoice, CaseArgs, MachineArgs, PAPERS, Scalar, Smoother};
use clap::{Args, Id, Parser, Subcommand};
pub use kernels::{CompareArgs, CompileArgs, FastMath, KernelFilterArgs, KernelsArgs};
pub use sizes::Sizes;
use std::path::PathBuf;
pub use values::{number, whole};
use values::{percent, positive, repetitions, warmup};
pub(crate) use written::{path, text, written};

/// Solves elliptic PDEs with high-order finite elements by matrix-free geometric multigrid with vertex-patch smoothers,
/// on NVIDIA GPUs and on CPUs.
#[derive(Debug, Parser)]
#[command(
    name = "patchmg",
    version = crate::VERSION_AND_COMMIT,
    arg_required_else_help = true,
    max_term_width = 120,
    after_help = "\
Example:
  patchmg solve --dim 3 --degree 4 --refine 5

Exit codes: 0 converged, 1 internal error or a result that cannot be written, 2 wrong usage or input, \
3 not converged within --max-iters, stagnated or diverged, 4 no such device, no driver, or out of memory, \
5 slower than --against allows. PATCHMG_LOG=debug logs to standard error."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The arguments of a program.
pub trait CommandLine: Parser {
    /// Whether phases and their times are asked for.
    fn is_verbose(&self) -> bool;
}

impl CommandLine for Cli {
    fn is_verbose(&self) -> bool {
        match &self.command {
            Command::Solve(args) => args.case.verbose,
            Command::Bench(args) => args.case.verbose,
            Command::Converge(args) => args.case.verbose,
            Command::Kernels(_) | Command::Compile(_) | Command::Compare(_) => false,
            Command::Info(_) | Command::Completions(_) | Command::Man(_) => false,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve a model problem and report residuals, errors and times.
    Solve(Box<SolveArgs>),
    /// Time the parts of a model problem and its solution.
    Bench(Box<BenchArgs>),
    /// Solve on finer and finer meshes, or for several degrees: errors, orders of convergence, iterations and times.
    Converge(Box<ConvergeArgs>),
    /// List the GPU kernels: registers, shared memory, spills, barriers, instructions and bank conflicts. Needs no GPU.
    Kernels(KernelsArgs),
    /// Compile GPU kernels with other options, or from another checkout, to a folder of PTX. Needs no GPU.
    Compile(CompileArgs),
    /// Compare GPU kernels of two folders of PTX: registers, shared memory, instructions; on a GPU also times.
    Compare(CompareArgs),
    /// Show what was built in, which devices are there, and what would run by default.
    Info(InfoArgs),
    /// Print a script that completes the command line in a shell.
    Completions(CompletionsArgs),
    /// Print the manual page of the program, or of a command.
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(
    mut_args(arranged),
    after_help = "\
Examples:
  patchmg solve --dim 3 --degree 4 --refine 5
  patchmg solve --system stokes --dim 2 --degree 3 --solver fgmres --problem cavity --vtu flow.vtu
  patchmg solve --system elliptic --mesh lshape --degree 2 --refine 3 --adapt 6

patchmg solve --help has all options and what their values mean.",
    after_long_help = "\
Examples:
  patchmg solve --dim 3 --degree 4 --refine 5
  patchmg solve --dim 2 --degree 7 --refine 6 --solver gmres --precision mixed --plot history.svg
  patchmg solve --problem one --backend cpu --threads 8 --json - > result.json
  patchmg solve --dim 2 --degree 3 --refine 4 --vtu solution.vtu
  patchmg solve --dim 2 --degree 3 --refine 4 --npz solution.npz
  patchmg solve --dim 2 --degree 3 --refine 4 --start-from solution.npz --rtol 1e-12
  patchmg solve --cells 3,2,1 --size 1.5,1,0.5 --refine 3
  patchmg solve --system poisson-dg --solver fgmres --rtol 1e-8 --backend cpu
  patchmg solve --system stokes --dim 2 --degree 3 --solver fgmres --problem cavity --vtu flow.vtu
  patchmg solve --system elliptic --mesh lshape --degree 2 --refine 3 --adapt 6
  patchmg solve --system elliptic --mesh part.msh --degree 3 --refine 2
  patchmg solve --system poisson-dg --degree 7 --solver fgmres --engine mma-swizzled
  patchmg solve problem.toml --refine 6
  patchmg solve result.json --backend cpu

Residuals are Euclidean and relative to that of the right-hand side. Times are in seconds."
)]
pub struct SolveArgs {
    #[command(flatten)]
    pub case: CaseArgs,
    /// Write the result as a JSON object; - is standard output, which then holds nothing else
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write the solution for ParaView
    ///
    /// Lagrange cells of degree K, with the error where it is known. A name that ends in .pvd is that of a list: the solution of each
    /// cycle is a file beside it.
    #[arg(long, value_name = "FILE")]
    pub vtu: Option<PathBuf>,
    /// Type of coordinates and values in --vtu: f32, about 7 digits, makes files smaller
    #[arg(long, value_enum, default_value_t, requires = "vtu")]
    pub vtu_scalar: Scalar,
    /// Write the solution for NumPy, and for --start-from
    ///
    /// An archive that numpy.load reads: `values` at the nodes, and `points`, the nodes, in f64; of stokes `velocity_x`, `velocity_y`,
    /// `velocity_z` and `pressure`, each with its nodes, `velocity_x_points` and so on.
    #[arg(long, value_name = "FILE.npz")]
    pub npz: Option<PathBuf>,
    /// Draw the residual history, as .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Compute no errors, where the solution is known
    ///
    /// Results then have none, as where the solution is not known. Not with --system elliptic, which refines its mesh by them.
    #[arg(long)]
    pub no_errors: bool,
    /// Solve nothing: say what memory each level and the solver take, and what is free. The exit code is 0 whether it fits or not.
    #[arg(long)]
    pub dry_run: bool,
    /// Print nothing but errors (and what --json - asks for).
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    mut_args(arranged),
    after_help = "\
Examples:
  patchmg bench --dim 3 --degree 3 --refine 5 --solver gmres --precision mixed
  patchmg bench --suite speed --output now --against earlier --margin 5

patchmg bench --help has all options.",
    after_long_help = "\
Examples:
  patchmg bench --dim 3 --degree 3 --refine 5 --solver gmres --precision mixed
  patchmg bench --backend cuda --degree 7 --refine 7 --repetitions 5 --json bench.json
  patchmg bench --suite paper1 --output results
  patchmg bench --suite paper1 --only table3 --only figure9 --quick
  patchmg bench --suite paper2 --only table1
  patchmg bench --suite paper3 --only table3 --max-dofs 5000000
  patchmg bench --suite paper4 --only figure8
  patchmg bench --suite paper1 --output results --report paper1.md
  patchmg bench --suite paper1 --output results --resume
  patchmg bench --suite speed --output now --against earlier --margin 5
  patchmg bench --against earlier/smoother.json --result now/smoother.json

A suite writes DIR/NAME.json row by row, DIR/NAME.csv and DIR/NAME.svg at the end of an experiment, and DIR/README.md; \
run again, it goes on where it stopped. Results of another version, of other settings or of another machine, damaged ones, \
and files that no suite wrote are left as they are, and the exit code is 2, unless --resume or --fresh says what becomes of \
them. Times are in seconds, those of one application; on a GPU between two events.

--against matches rows by what was measured and where, and compares times, rates and iterations. The exit code is 5 if \
one is worse than before by more than --margin, or is missing, and 2 if the results cannot be compared: another device, \
precision or problem, or a file that holds no results."
)]
pub struct BenchArgs {
    #[command(flatten)]
    pub case: CaseArgs,
    #[command(flatten)]
    pub suite: SuiteArgs,
    #[command(flatten)]
    pub against: AgainstArgs,
    /// Times that everything is done before it is timed, at most 1000000.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = warmup, allow_hyphen_values = true)]
    pub warmup: usize,
    /// Times that everything is timed: 1 to 1000000 [default: 5, of a suite 3]
    #[arg(long, value_name = "N", value_parser = repetitions, allow_hyphen_values = true)]
    pub repetitions: Option<usize>,
    /// Write the result as a JSON object; - is standard output, which then holds nothing else
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Solve nothing: say what memory each level and the solver take, and what is free. The exit code is 0 whether it fits or not.
    #[arg(long)]
    pub dry_run: bool,
    /// Print nothing but errors (and what --json - asks for).
    #[arg(long)]
    pub quiet: bool,
}

impl BenchArgs {
    /// Whether `patchmg-lab` does it: a suite, or a comparison.
    pub(crate) fn is_of_the_laboratory(&self) -> bool {
        self.suite.name.is_some() || self.against.against.is_some()
    }
}

#[derive(Debug, Args)]
#[command(
    mut_args(arranged),
    mut_arg("degree", |degree| degree.value_name("K|K..K|K,K").value_parser(Sizes::several).long_help(
        "Polynomial degrees, each of which gets a table: 3, or 1..4, which has both ends, or 1,3,7.")),
    mut_arg("refine", |refine| refine.value_name("L|L..L|L,L").value_parser(Sizes::several).default_value("2..4").long_help(
        "Refinements of the base cells, each of which becomes 2^L cells a direction: 3, or 2..6, which has both ends, or 2,4,6.")),
    after_help = "\
Examples:
  patchmg converge --dim 2 --degree 3 --refine 2..6
  patchmg converge --dim 2 --degree 1..4 --refine 2..6 --rtol 1e-12 --plot errors.svg

patchmg converge --help has all options.",
    after_long_help = "\
Examples:
  patchmg converge --dim 2 --degree 3 --refine 2..6
  patchmg converge --dim 2 --degree 1..4 --refine 2..6 --rtol 1e-12 --plot errors.svg
  patchmg converge --dim 2 --degree 1..8 --refine 3 --csv errors.csv
  patchmg converge --system stokes --dim 2 --degree 2 --refine 2..5 --solver fgmres --latex e.tex
  patchmg converge --system elliptic --dim 2 --rhs \"2*sin(x)*sin(y)\" --exact \"sin(x)*sin(y)\"

The solution must be known. Errors are absolute: those of u (of the velocity) in L2, those of its gradient in L2 as the H1 error, \
those of the pressure in L2. The mesh size h is the longest edge of the base cells over 2^L. The order of an error is that from \
the row before to this one, log(e1 / e2) / log(h1 / h2). If the solver does not converge for a row, the row says so, the \
others follow, and the exit code is 3.")]
pub struct ConvergeArgs {
    #[command(flatten)]
    pub case: CaseArgs,
    /// Write the results as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write the table as comma-separated values with all digits, times in seconds.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the table as a tabular of LaTeX, which needs no package.
    #[arg(long, value_name = "FILE")]
    pub latex: Option<PathBuf>,
    /// Draw the errors over the number of unknowns, of several degrees those in L2, as .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print nothing but errors (and what --json - asks for).
    #[arg(long)]
    pub quiet: bool,
}

/// Many experiments instead of one problem.
#[derive(Debug, Args)]
pub struct SuiteArgs {
    /// Run a list of experiments: paper1, paper2, paper3, paper4 or speed
    ///
    /// paper1 has those of the paper, paper2 the Stokes equations, paper3 elliptic equations on forests, paper4 discontinuous elements and
    /// tensor cores, speed parts beside the limit of memory and whole solves.
    #[arg(long = "suite", value_name = "NAME", conflicts_with_all = single_case())]
    pub name: Option<String>,
    /// Run this experiment of the suite alone; may be given several times.
    #[arg(long, value_name = "NAME", requires = "name")]
    pub only: Vec<String>,
    /// Folder for the results of a suite; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "results", requires = "name")]
    pub output: PathBuf,
    /// Small problems, to see that all works.
    #[arg(long, requires = "name")]
    pub quick: bool,
    /// Leave out problems of a suite with more unknowns [default: 2200000000]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true, requires = "name")]
    pub max_dofs: Option<usize>,
    /// Run nothing: write the results in --output into this page of Markdown, between the marks of each experiment, and draw
    /// their pictures.
    #[arg(long, value_name = "FILE.md", requires = "name", conflicts_with_all = ["only", "quick", "max_dofs", "fresh", "resume"])]
    pub report: Option<PathBuf>,
    /// Go on in a folder of another version: keep rows whose GPU kernels are the same, record the others again. Rows of a CPU,
    /// where nothing is hashed, are kept if version and commit are the same.
    #[arg(long, requires = "name", conflicts_with = "fresh")]
    pub resume: bool,
    /// Record all again, and replace what an earlier run left in the folder.
    #[arg(long, requires = "name")]
    pub fresh: bool,
}

/// Comparison with an earlier run.
#[derive(Debug, Args)]
pub struct AgainstArgs {
    /// Compare with an earlier run: a file that --json wrote, or a file or the folder of a suite.
    #[arg(long, value_name = "FILE|DIR")]
    pub against: Option<PathBuf>,
    /// Run nothing: compare these results with those of --against.
    #[arg(long, value_name = "FILE|DIR", requires = "against", conflicts_with = "name", conflicts_with_all = single_case())]
    pub result: Option<PathBuf>,
    /// How much slower a median may be than in the results of --against, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent, allow_hyphen_values = true, requires = "against")]
    pub margin: f64,
}

/// Options of one problem, which a suite chooses itself.
fn single_case() -> Vec<Id> {
    let ids = |args: clap::Command| args.get_arguments().map(|argument| argument.get_id().clone()).collect::<Vec<_>>();
    let (machine, case) = (
        ids(MachineArgs::augment_args(clap::Command::default())),
        ids(CaseArgs::augment_args(clap::Command::default())),
    );
    case.into_iter().filter(|id| !machine.contains(id)).chain(["json".into(), "dry_run".into()]).collect()
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  patchmg info --json -")]
pub struct InfoArgs {
    /// Write it as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg completions bash > ~/.local/share/bash-completion/completions/patchmg
  patchmg completions zsh > ~/.zfunc/_patchmg
  patchmg completions fish > ~/.config/fish/completions/patchmg.fish

zsh looks in ~/.zfunc if ~/.zshrc has fpath+=~/.zfunc before compinit.")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

choice!(Shell {
    /// bash, with its package bash-completion
    #[default]
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
});

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg man > patchmg.1
  patchmg man solve > patchmg-solve.1
  man ./patchmg-solve.1")]
pub struct ManArgs {
    /// A command, solve for example.
    pub command: Option<String>,
}
