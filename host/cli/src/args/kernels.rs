//! The arguments of `kernels`, `compile` and `compare`, which look at GPU kernels.

use super::case::Scalar;
use super::values::{dimension, positive, whole};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which kernels of the list.
#[derive(Clone, Debug, Args)]
pub struct KernelFilterArgs {
    /// Only kernels of this dimension.
    #[arg(long, value_name = "2|3", value_parser = dimension, allow_hyphen_values = true)]
    pub dim: Option<usize>,
    /// Only kernels of this polynomial degree.
    #[arg(long, value_name = "K", value_parser = whole, allow_hyphen_values = true)]
    pub degree: Option<usize>,
    /// Only kernels in this scalar.
    #[arg(long, value_enum)]
    pub scalar: Option<Scalar>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg kernels smooth --dim 3 --scalar f64
  patchmg kernels --degree 4 --json kernels.json
  patchmg kernels --sass poisson_cg_3d_q4_smooth_f64

Columns: registers of a thread (regs), and bytes of local memory that it spills registers to or, with --wide, has on its \
stack; of a block bytes of dynamic shared memory, barriers (bars) and, with --wide, threads and patches; instructions in the \
text of the PTX (multiply-adds, whole-number arithmetic; with --wide also loads and stores), those in a loop once. \
Wavefronts (waves) are passes through shared memory for one patch (for the block where there are no patches), computed from \
the addresses that every warp of a full block accesses; conflicts (confl) are those of them that bank conflicts cause.

Registers and spills are those that ptxas finds. It is looked for in PATCHMG_PTXAS, in bin/ of CUDA_HOME and CUDA_PATH, \
and in PATH. A folder PATCHMG_PTX_DIR with PTX of the same names, for example one that --ptx-folder or `patchmg compile` \
wrote, wins over the PTX in the program.")]
pub struct KernelsArgs {
    /// Only kernels whose name contains this.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub filter: KernelFilterArgs,
    /// Only kernels that take so many patches a block, with that many [default: each kernel's own number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub patches_per_block: Option<u32>,
    /// Architecture that ptxas assembles for: sm_80 or a newer one.
    #[arg(long, value_name = "SM", default_value = "sm_90")]
    pub arch: String,
    /// List all columns, with their whole names: wider than 120 characters.
    #[arg(long)]
    pub wide: bool,
    /// Print the PTX of one kernel and nothing else.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "dim", "degree", "scalar", "patches_per_block", "sass", "json", "arch", "wide"])]
    pub ptx: Option<String>,
    /// Print the machine code of one kernel and nothing else; takes ptxas and nvdisasm.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "dim", "degree", "scalar", "patches_per_block", "json", "wide"])]
    pub sass: Option<String>,
    /// Write the list as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write the PTX of the modules that hold these kernels, as a GPU is given it, to a folder, and list nothing.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["ptx", "sass", "json", "arch", "wide"])]
    pub ptx_folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg compile short --only axis --unroll-limit 1000
  patchmg compile contracted --dim 3 --degree 4 --fast-math contract --arch sm_90
  patchmg compile scheduled --only poisson_cg_3d --llvm-arg=-nvptx-sched4reg
  patchmg compile other --device ../other/device --only smooth --min-blocks 2
  patchmg compare built-in short
  PATCHMG_PTX_DIR=short patchmg solve

Run it in a checkout of patchmg; it takes the compiler that builds the checkout. FOLDER gets a file MODULE.ptx for each module \
that holds one of the kernels, and compile.json, which says how they were compiled. What an earlier `patchmg compile` wrote there is \
replaced; a folder with other PTX, or with PTX that was changed since, is refused. Files that are needed between runs go to \
target/compile of the checkout.

The list of kernels is that of the program: names, launch shapes and shared memory. PTX that differs from it (a barrier more \
than in the source, an array in local memory) is written, and the difference is said.")]
pub struct CompileArgs {
    /// Folder for the PTX; made if it is not there.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Only modules with a kernel whose name contains this; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    #[command(flatten)]
    pub filter: KernelFilterArgs,
    /// The device crate: the folder device of a checkout with changes to compare, whose other crates it takes, too.
    #[arg(long, value_name = "FOLDER", default_value = "device")]
    pub device: PathBuf,
    /// Architecture to compile for, sm_80 or a newer one, also as compute_80; modules with larger products in f64 take
    /// at least sm_90 [default: sm_80]
    #[arg(long, value_name = "SM")]
    pub arch: Option<String>,
    /// Largest size, in LLVM's units of about an instruction, that a loop over constant bounds may have to be unrolled fully
    /// [default: 200000]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub unroll_limit: Option<usize>,
    /// Blocks that a multiprocessor should hold, 1 to 32, which limits the registers of a thread [default: each kernel's own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub min_blocks: Option<u32>,
    /// What to round less exactly for speed; several with commas between them.
    #[arg(long, value_name = "PIECE", value_enum, value_delimiter = ',')]
    pub fast_math: Vec<FastMath>,
    /// Argument of LLVM, beside those that are always given or, of the same name, instead of them; may be given several times.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub llvm_arg: Vec<String>,
    /// Print nothing but errors.
    #[arg(long)]
    pub quiet: bool,
}

/// What rounding may be given up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FastMath {
    /// A product and a sum become one multiply-add, also where the source rounds both
    Contract,
    /// Quotients in f32 by div.approx, whose error is 2 units in the last place
    DivideF32,
    /// Square roots in f32 by sqrt.approx
    SqrtF32,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmg compare built-in short
  patchmg compare before after --only smooth --scalar f64 --all
  patchmg compare built-in short --json comparison.json
  patchmg compare built-in short --time -- --dim 3 --degree 4 --refine 5 --precision mixed

A and B are folders of PTX, as `patchmg compile` or `patchmg kernels --ptx-folder` writes them, or built-in: the PTX in the \
program. The modules of the folders are compared; A and B must both have them. Registers and spills are those that ptxas finds, \
instructions are counted in the text of the PTX, those in a loop once. Wavefronts and bank conflicts are not among them, because \
they are computed from the source in the program (`patchmg kernels`).

--time runs `patchmg bench` with the options behind -- on a GPU, with A and B by turns, each in a process of its own. A time is the \
median of the medians of the runs, its spread is that of these medians. Without differences in the kernels that the problem \
launches, times differ by noise alone, which is said.")]
pub struct CompareArgs {
    /// Folder of PTX, or built-in.
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// What to compare with it.
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Only kernels whose name contains this; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    #[command(flatten)]
    pub filter: KernelFilterArgs,
    /// Architecture that ptxas assembles for: sm_80 or a newer one.
    #[arg(long, value_name = "SM", default_value = "sm_90")]
    pub arch: String,
    /// Show all kernels and quantities, not only those that differ.
    #[arg(long)]
    pub all: bool,
    /// Also time a problem on a GPU with A and B by turns.
    #[arg(long)]
    pub time: bool,
    /// Runs of the problem with each of A and B.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = positive, allow_hyphen_values = true, requires = "time")]
    pub runs: usize,
    /// The problem to time: options of `patchmg bench`.
    #[arg(value_name = "BENCH OPTION", last = true, requires = "time")]
    pub bench: Vec<String>,
    /// Write the comparison as one JSON object; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print nothing but errors (and what --json - asks for).
    #[arg(long)]
    pub quiet: bool,
}
