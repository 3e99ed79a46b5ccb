//! The arguments: their names, defaults and help.

use crate::choices;
use crate::systems::{FlowArgs, ForestArgs, ProductArgs, SystemName};
use clap::{Args, Id, Parser, Subcommand};
use patchmg::measure::Protocol;
use patchmg::solve::{Cycle, Method, Precision};
use std::path::PathBuf;

/// Solves elliptic PDEs with high-order finite elements by matrix-free geometric multigrid with vertex-patch smoothers,
/// on NVIDIA GPUs and on CPUs.
#[derive(Debug, Parser)]
#[command(
    name = "patchmg",
    version,
    arg_required_else_help = true,
    after_help = "\
Example:
  patchmg solve --dim 3 --degree 4 --refine 5

Exit codes: 0 converged, 1 internal error or a result that cannot be written, 2 wrong usage or input,
3 not converged within --max-iters, stagnated or diverged, 4 no such device, no driver, or out of memory,
5 slower than --against allows. PATCHMG_LOG=debug logs to standard error."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve a model problem and report residuals, errors and times.
    Solve(Box<SolveArgs>),
    /// Time the parts of a model problem and its solution.
    Bench(Box<BenchArgs>),
    /// List the GPU kernels: registers, shared memory, spills, barriers, instructions and bank conflicts. Needs no GPU.
    Kernels(KernelsArgs),
    /// Show what was built in, which devices are there, and what would run by default.
    Info(InfoArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg solve --dim 3 --degree 4 --refine 5
  patchmg solve --dim 2 --degree 7 --refine 6 --solver gmres --precision mixed --plot history.svg
  patchmg solve --problem one --backend cpu --threads 8 --json - > result.json
  patchmg solve --dim 2 --degree 3 --refine 4 --vtu solution.vtu
  patchmg solve --cells 3,2,1 --size 1.5,1,0.5 --refine 3
  patchmg solve --system poisson-dg --solver fgmres --rtol 1e-8 --backend cpu
  patchmg solve --system stokes --dim 2 --degree 3 --solver fgmres --problem cavity --vtu flow.vtu
  patchmg solve --system elliptic --mesh lshape --degree 2 --refine 3 --adapt 6
  patchmg solve --system elliptic --mesh part.msh --degree 3 --refine 2
  patchmg solve --system poisson-dg --degree 7 --solver fgmres --precision mixed --engine mma-swizzled

Residuals are Euclidean and relative to that of the right-hand side. Times are in seconds, memory in bytes.")]
pub struct SolveArgs {
    #[command(flatten)]
    pub case: CaseArgs,
    /// Write the result as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write the solution, and its error where it is known, for ParaView: Lagrange cells of degree K. A name that ends in .pvd is that
    /// of a list: the solution of each cycle is a file beside it.
    #[arg(long, value_name = "FILE")]
    pub vtu: Option<PathBuf>,
    /// Draw the residual history; the name of the file ends in .svg or .png.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print nothing but errors (and what --json - asks for).
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
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

A suite writes DIR/NAME.json row by row, DIR/NAME.csv and DIR/NAME.svg at the end of an experiment, and DIR/README.md;
run again, it goes on where it stopped. Results of another version, of other settings or of another machine, damaged ones,
and files that no suite wrote are left as they are, and the exit code is 2, unless --resume or --fresh says what becomes of
them. Times are in seconds, those of one application; on a GPU between two events.

--against matches rows by what was measured and where, and compares times, rates and iterations. The exit code is 5 if
one is worse than before by more than --margin, or is missing, and 2 if the results cannot be compared: another device,
precision or problem, or a file that holds no results.")]
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
    /// Times that everything is timed: 1 to 1000000. [default: 5, of a suite 3]
    #[arg(long, value_name = "N", value_parser = repetitions, allow_hyphen_values = true)]
    pub repetitions: Option<usize>,
    /// Write the result as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
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

/// Many experiments instead of one problem.
#[derive(Debug, Args)]
pub struct SuiteArgs {
    /// Run a list of experiments: paper1, those of the paper; paper2, the Stokes equations; paper3, elliptic equations on forests;
    /// paper4, discontinuous elements and tensor cores; speed, parts beside the limit of memory and whole solves.
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
    /// Leave out problems of a suite with more unknowns. [default: 2200000000]
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
    case.into_iter().filter(|id| !machine.contains(id)).chain(["json".into()]).collect()
}

/// Heading of options that choose kernels of the papers instead of the fastest ones.
pub const PAPERS: &str = "Kernels of papers 1 and 4, to compare with";

/// A model problem, how to solve it and where.
#[derive(Debug, Args)]
pub struct CaseArgs {
    /// Equation and discretization.
    #[arg(long, value_enum, default_value_t)]
    pub system: SystemName,
    /// Dimension. [default: that of --cells, else 3]
    #[arg(long, value_name = "2|3", value_parser = dimension, allow_hyphen_values = true)]
    pub dim: Option<usize>,
    /// Polynomial degree: 1 to 10 in 2D, 1 to 8 in 3D and with discontinuous elements; of stokes k of RT_k, 1 to 8 in 2D, 1 to 5 in
    /// 3D.
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = whole, allow_hyphen_values = true)]
    pub degree: usize,
    /// Refinements of the base cells, each of which becomes 2^L cells a direction.
    #[arg(long, value_name = "L", default_value_t = 4, value_parser = whole, allow_hyphen_values = true)]
    pub refine: usize,
    /// Base cells in each direction. [default: 1 in each]
    #[arg(long, value_name = "X,Y[,Z]", value_delimiter = ',', value_parser = positive, allow_hyphen_values = true)]
    pub cells: Vec<usize>,
    /// Side lengths of the domain, a rectangle or a box with a corner in the origin. [default: 1 in each direction]
    #[arg(long, value_name = "X,Y[,Z]", value_delimiter = ',', value_parser = length, allow_hyphen_values = true)]
    pub size: Vec<f64>,
    /// Right-hand side and boundary values; those of continuous elements are zero. [default: sine, of stokes paper2, of elliptic
    /// that of the mesh]
    #[arg(long, value_parser = choices::problem())]
    pub problem: Option<String>,
    /// Solver; the Krylov methods are preconditioned by one V-cycle. [default: fmg, of elliptic cg]
    #[arg(long, value_parser = choices::method())]
    pub solver: Option<Method>,
    /// Basis vectors of gmres and fgmres, which restart after as many iterations; at least 1. [default: 10, of stokes 30]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub restart: Option<usize>,
    /// Order in which a cycle visits the levels.
    #[arg(long, value_parser = choices::cycle(), default_value = Cycle::default().name())]
    pub cycle: Cycle,
    /// Smoother of the cycle. [default: patch, of elliptic chebyshev]
    #[arg(long, value_enum)]
    pub smoother: Option<Smoother>,
    /// Degree of the polynomial of --smoother chebyshev or chebyshev-patch, at least 1, or chebyshev4, 1 to 6. [default: 5 for
    /// chebyshev, 3 for chebyshev-patch, 2 for chebyshev4]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub smoother_degree: Option<usize>,
    /// Factor of the smoother's correction, above 0 and below 2. [default: 1/4 in 2D and 1/8 in 3D for additive-patch, 2/3
    /// for jacobi; others have none]
    #[arg(long, value_name = "W", value_parser = damping, allow_hyphen_values = true)]
    pub damping: Option<f64>,
    /// Structure of the patch smoother. [default: fused]
    #[arg(long, value_parser = choices::structure(), help_heading = PAPERS)]
    pub kernel: Option<String>,
    /// Optimization level of the patch smoother's kernel. [default: register]
    #[arg(long, value_parser = choices::variant(), help_heading = PAPERS)]
    pub variant: Option<String>,
    /// Solver on a patch. [default: fdm, of stokes exact]
    #[arg(long, value_parser = choices::local_solver(), help_heading = PAPERS)]
    pub local: Option<String>,
    /// What a thread of the patch smoother owns. [default: column]
    #[arg(long, value_parser = choices::thread_structure(), help_heading = PAPERS)]
    pub thread_structure: Option<String>,
    /// Patches of a block of the patch smoother. [default: the kernel's own]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true, help_heading = PAPERS)]
    pub patches_per_block: Option<usize>,
    #[command(flatten)]
    pub flow: FlowArgs,
    #[command(flatten)]
    pub forest: ForestArgs,
    #[command(flatten)]
    pub products: ProductArgs,
    /// Scalar type.
    #[arg(long, value_parser = choices::precision(), default_value = Precision::default().name())]
    pub precision: Precision,
    /// Converged once the relative residual is at most this; above 0 and below 1. For minimal-surface, that of each of Newton's
    /// corrections. [default: 1e-9, for minimal-surface 1e-4]
    #[arg(long, value_name = "R", value_parser = tolerance, allow_hyphen_values = true)]
    pub rtol: Option<f64>,
    /// Iterations at most, and steps of Newton's method; at least 1.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = positive, allow_hyphen_values = true)]
    pub max_iters: usize,
    #[command(flatten)]
    pub machine: MachineArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg kernels smooth --dim 3 --scalar f64
  patchmg kernels --degree 4 --json kernels.json
  patchmg kernels --sass poisson_cg_3d_q4_smooth_f64

Columns: threads, patches, shared memory in bytes and barriers of a block; registers of a thread, and bytes of local
memory that it spills registers to or has on its stack; instructions in the text of the PTX (multiply-adds, loads and
stores, whole-number arithmetic), those in a loop once. Wavefronts are passes through shared memory for one patch (for
the block where there are no patches), computed from the addresses that every warp of a full block accesses; conflicts
are those of them that bank conflicts cause.

Registers and spills are those that ptxas finds. It is looked for in PATCHMG_PTXAS, in bin/ of CUDA_HOME and CUDA_PATH,
and in PATH. A folder PATCHMG_PTX_DIR with PTX of the same names, for example one that --ptx-folder wrote, wins over the
PTX in the program.")]
pub struct KernelsArgs {
    /// Only kernels whose name contains this.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Only kernels of this dimension.
    #[arg(long, value_name = "2|3", value_parser = dimension, allow_hyphen_values = true)]
    pub dim: Option<usize>,
    /// Only kernels of this polynomial degree.
    #[arg(long, value_name = "K", value_parser = whole, allow_hyphen_values = true)]
    pub degree: Option<usize>,
    /// Only kernels in this scalar.
    #[arg(long, value_enum)]
    pub scalar: Option<Scalar>,
    /// Only kernels that take so many patches a block, with that many. [default: each kernel's own number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub patches_per_block: Option<u32>,
    /// Architecture that ptxas assembles for: sm_80 or a newer one.
    #[arg(long, value_name = "SM", default_value = "sm_90")]
    pub arch: String,
    /// Print the PTX of one kernel and nothing else.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "dim", "degree", "scalar", "patches_per_block", "sass", "json", "arch"])]
    pub ptx: Option<String>,
    /// Print the machine code of one kernel and nothing else; takes ptxas and nvdisasm.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "dim", "degree", "scalar", "patches_per_block", "json"])]
    pub sass: Option<String>,
    /// Write the list as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write the PTX of the modules that hold these kernels, as a GPU is given it, to a folder, and list nothing.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["ptx", "sass", "json", "arch"])]
    pub ptx_folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  patchmg info --json -")]
pub struct InfoArgs {
    /// Write it as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = None)]
pub struct MachineArgs {
    /// Where to compute; auto is the GPU if there is one.
    #[arg(long, value_enum, default_value_t)]
    pub backend: BackendChoice,
    /// Number of the GPU, from 0 on, as `patchmg info` lists them.
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub device: Option<usize>,
    /// Threads of the CPU, at most 4 for each core that the process may use. [default: one for each]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub threads: Option<usize>,
}

/// Choices that only the command line has; their JSON name is the one here.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$value_meta:meta])* $value:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name { $($(#[$value_meta])* $value),+ }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                clap::ValueEnum::to_possible_value(self).map_or(Ok(()), |value| f.write_str(value.get_name()))
            }
        }
    };
}

pub(crate) use choice;

choice!(Smoother {
    /// Multiplicative vertex patches, colored
    #[default]
    Patch,
    /// Additive vertex patches, damped
    AdditivePatch,
    /// Gauss-Seidel dof by dof: lexicographic on the CPU, colored on a GPU
    PointGs,
    /// Damped Jacobi
    Jacobi,
    /// Chebyshev iteration over Jacobi
    Chebyshev,
    /// Chebyshev iteration over additive patches of cells, for stretched cells; elliptic on a CPU alone
    ChebyshevPatch,
    /// Chebyshev iteration of the fourth kind over Jacobi
    Chebyshev4,
});
choice!(Scalar {
    /// Single precision
    F32,
    /// Double precision
    #[default]
    F64,
});
choice!(BackendChoice {
    /// The GPU if there is one, else the CPU
    #[default]
    Auto,
    /// All cores of the CPU
    Cpu,
    /// An NVIDIA GPU
    Cuda,
});

fn dimension(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|dim| [2, 3].contains(dim)).ok_or_else(|| String::from("must be 2 or 3"))
}

fn damping(text: &str) -> Result<f64, String> {
    let allowed = |damping: &f64| *damping > 0.0 && *damping < 2.0;
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number above 0 and below 2"))
}

/// Any; the library says which are allowed.
pub fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| String::from("must be a number"))
}

fn tolerance(text: &str) -> Result<f64, String> {
    let allowed = |rtol: &f64| *rtol > 0.0 && *rtol < 1.0;
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number above 0 and below 1"))
}

fn length(text: &str) -> Result<f64, String> {
    let allowed = |length: &f64| *length > 0.0 && length.is_finite();
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number above 0"))
}

fn percent(text: &str) -> Result<f64, String> {
    let allowed = |percent: &f64| (0.0..f64::INFINITY).contains(percent);
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number of percent, at least 0"))
}

pub fn whole(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| String::from("must be a whole number"))
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| String::from("must be a whole number, at least 1"))
}

fn warmup(text: &str) -> Result<usize, String> {
    times(text, 0)
}

fn repetitions(text: &str) -> Result<usize, String> {
    times(text, 1)
}

fn times(text: &str, least: usize) -> Result<usize, String> {
    let allowed = least..=Protocol::MOST;
    let refused = || format!("must be a whole number from {least} to {}", Protocol::MOST);
    text.parse().ok().filter(|times| allowed.contains(times)).ok_or_else(refused)
}
