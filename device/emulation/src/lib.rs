//! The kernels of the list on the host, for tests and for inspection where there is no GPU: the functions that the
//! entry points call, with the same arguments.

mod boxes;

use bytemuck::Pod;
use cuda_std::emulate::{Launch, Trace};
use cuda_std::shared::Word;
use patchmg_device::kernels::{DEGREES_3D, KernelSpec, Module, Operation, patch_nodes};
use patchmg_device::matrices::{
    CellMatrices, DgOperatorMatrices, DgSolveMatrices, DgTransferMatrices, FirstStepMatrices, ProlongationMatrices,
    RestrictionMatrices, Scaled, SmootherMatrices,
};
use patchmg_device::patch::{DgGrid, Grid};
use patchmg_device::scalar::Real;
use patchmg_device::typed::Sample;
use patchmg_device::variants::step::Data;
use patchmg_device::variants::{self, Sizes, Step};
use patchmg_device::{blas1, dg, operator, point, smoother, tensor_core, transfer};
use std::any::Any;

/// What a kernel is called with, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments<'a> {
    /// The struct of 1D matrices, as bytes; zeros if there is none.
    pub matrices: Option<&'a [u8]>,
    /// Device addresses of the entry point, in its order.
    pub vectors: &'a [*mut u8],
    /// Cells in each direction.
    pub cells: [u32; 3],
    /// Color or class.
    pub color: u32,
    /// Cells or patches that a block marches through, or repetitions.
    pub chunk: u32,
    /// Entries of the vectors of a vector operation.
    pub entries: u64,
    /// The struct of a kernel of `kernels!`, which takes nothing else; zeros if there is none.
    pub typed: Option<&'a dyn Any>,
}

// SAFETY: addresses; who calls a kernel promises that its threads may use them.
unsafe impl Sync for Arguments<'_> {}

impl Arguments<'_> {
    fn matrices<P: Pod>(&self) -> P {
        self.matrices.map_or_else(P::zeroed, bytemuck::pod_read_unaligned)
    }

    fn vector<T>(&self, index: usize) -> *mut T {
        self.vectors[index].cast()
    }
}

/// What a thread of a kernel does, on the promise of [`Kernel::run`].
type Body = Box<dyn Fn(&Arguments) + Sync>;

/// A kernel of the list.
pub struct Kernel {
    spec: KernelSpec,
    body: Body,
    /// Cells in each direction for which a block has all its patches.
    cells: [u32; 3],
    /// Of a vector that such a block uses.
    words: usize,
    sample: Sample,
}

impl Kernel {
    /// A kernel of a module, by its entry in the list; its launch may be another than listed.
    pub fn new(module: Module, spec: KernelSpec) -> Option<Self> {
        let body = match spec.scalar {
            "f32" => body::<f32, f64>(module, spec.operation)?,
            _ => body::<f64, f32>(module, spec.operation)?,
        };
        let (cells, words) = block(module, &spec);
        let sample: Sample = match (module, spec.operation) {
            (Module::Typed { kind, .. }, Operation::Typed(name)) => {
                kind.samples[usize::from(spec.scalar == "f64")](name)
            }
            _ => |_, _| None,
        };
        Some(Self { spec, body, cells, words, sample })
    }

    /// Runs the kernel for all threads of the grid of blocks.
    ///
    /// # Safety
    /// The vectors are as many and as long as the kernel uses them with this grid, and `matrices` are what it takes.
    pub unsafe fn run(&self, blocks: [u32; 3], arguments: Arguments) {
        self.launch(blocks).run(|| (self.body)(&arguments));
    }

    /// What a block with all its patches asks of shared memory.
    pub fn trace(&self) -> Trace {
        // Which numbers is all the same: no kernel branches on them.
        let mut vectors: Vec<_> = (0..VECTORS).map(|_| vec![0.0_f64; self.words]).collect();
        let vectors: Vec<_> = vectors.iter_mut().map(|vector| vector.as_mut_ptr().cast()).collect();
        let (cells, entries) = (self.cells, self.words as u64);
        let typed = (self.sample)(cells, vectors[0]);
        // Of a march one step.
        let typed = typed.as_deref();
        let arguments = Arguments { vectors: &vectors, cells, chunk: 1, entries, typed, ..Arguments::default() };
        // The promise of `run`: the first block uses the first `words` entries of the vectors.
        self.launch([1, 1, 1]).trace(|| (self.body)(&arguments))
    }

    fn launch(&self, grid: [u32; 3]) -> Launch {
        Launch { grid, threads: self.spec.threads, shared_bytes: self.spec.shared_bytes }
    }
}

/// Addresses that a kernel takes at most.
const VECTORS: usize = 5;
/// Layers of a thread at most, in the kernels of paper 1.
const LAYERS: usize = patch_nodes(*DEGREES_3D.end()).1;

/// Cells of a level on which the first block of color 0, of class 0 and of the tiling has all its patches, and what of a
/// vector these use: the planes of the patches that are first in all directions but x.
fn block(module: Module, spec: &KernelSpec) -> ([u32; 3], usize) {
    if let Module::TensorCore { nodes, .. } = module {
        // Two boxes a direction, of which the first reads the faces of the others; a patch of as many cells.
        let tables = tensor_core::operator::table_words(nodes).max(tensor_core::solve::table_words(nodes));
        return ([2; 3], (2 * nodes).pow(3).max(tables));
    }
    if let Module::Typed { kind, .. } = module {
        return (kind.traced)(module);
    }
    let Some((dim, degree)) = module.space() else {
        return ([0; 3], blas1::PARTIAL_ROWS * blas1::DOT_BLOCKS);
    };
    if let Module::PoissonDg { .. } = module {
        let tile = dg::operator::Tile::of(dim, degree).grid();
        let patches = DgGrid::cube((2 * spec.patches).next_power_of_two().max(4), degree as u32);
        let grid = if spec.operation.marches() { tile } else { patches };
        let tables = dg::solve::table_words(dim, degree, true);
        return (grid.cells, grid.storage(dim).max(tables));
    }
    if spec.operation.marches() {
        let scalar_bytes = if spec.scalar == "f32" { 4 } else { 8 };
        let grid = match spec.operation {
            Operation::RestrictResidual => transfer::restriction::strip(dim, degree).grid(),
            _ if dim == 2 => operator::rows::strip(degree).grid(),
            _ => operator::tile::Tile::of(degree, scalar_bytes).grid(),
        };
        return (grid.cells, grid.storage(dim));
    }
    let (interior, all) = patch_nodes(degree);
    // Every second patch of a direction, two cells each, is of class 0.
    let grid = Grid::cube((4 * spec.patches).next_power_of_two(), degree as u32);
    let end = if dim == 2 { grid.offset_2d(grid.row(), all - 1) } else { grid.offset_3d(grid.row(), all - 1, all - 1) };
    let other = match spec.operation {
        Operation::Variant(Step::FusedInverse, _) => interior.pow(2 * dim as u32),
        Operation::PointGaussSeidel => grid.storage(dim),
        Operation::Variant(..) => variants::table_words(degree),
        _ => smoother::table_words(dim, degree),
    };
    (grid.cells, other.max(end + 1))
}

/// Calls a function generic in the patch's sizes for a degree of the list.
macro_rules! of_degree {
    ($degree:expr, $function:ident::<$t:ident>($operation:expr), $($value:literal)+) => {
        match $degree {
            $($value => {
                const K: usize = $value;
                const E: usize = smoother::interpolated_nodes(K);
                $function::<$t, K, { 2 * K - 1 }, { 2 * K + 1 }, { K + 1 }, { (K + 1).div_ceil(2) }, E>($operation)
            })+
            _ => None,
        }
    };
}

/// Calls [`discontinuous`] for a dimension and a degree of the list.
macro_rules! of_dg_degree {
    ($dim:expr, $degree:expr, $operation:expr, $t:ident, $($value:literal)+) => {
        match ($dim, $degree) {
            $((2, $value) => {
                const C: usize = $value + 1;
                const COLUMNS: usize = dg::operator::columns(2, $value);
                discontinuous::<$t, C, { C.div_ceil(2) }, { 2 * C }, 1, 1, COLUMNS>($operation)
            }
            (3, $value) => {
                const C: usize = $value + 1;
                const COLUMNS: usize = dg::operator::columns(3, $value);
                discontinuous::<$t, C, { C.div_ceil(2) }, { 2 * C }, C, { 2 * C }, COLUMNS>($operation)
            })+
            _ => None,
        }
    };
}

/// `Other` is the scalar that is not `T`.
fn body<T: Real + Word, Other: Real>(module: Module, operation: Operation) -> Option<Body> {
    match module {
        Module::PoissonCg { dim: 2, degree } => of_degree!(degree, poisson_2d::<T>(operation), 1 2 3 4 5 6 7 8 9 10),
        Module::PoissonCg { degree, .. } => of_degree!(degree, poisson_3d::<T>(operation), 1 2 3 4 5 6 7 8),
        Module::PoissonDg { dim, degree } => of_dg_degree!(dim, degree, operation, T, 1 2 3 4 5 6 7 8),
        Module::PatchVariants { dim, degree } => patch_variant::<T>(operation, Sizes::new(dim, degree)),
        Module::TensorCore { nodes, .. } => boxes::body(nodes, operation),
        Module::Blas1 => vector_operation::<T, Other>(operation),
        Module::Typed { .. } => typed::<T>(module, operation),
    }
}

/// A kernel of `kernels!`.
fn typed<T: Real>(module: Module, operation: Operation) -> Option<Body> {
    let row = module.rows::<T>().into_iter().find(|row| row.spec.operation == operation)?;
    // SAFETY: the promise of `Kernel::run`.
    Some(Box::new(move |a| unsafe { row.run(a.typed) }))
}

fn patch_variant<T: Real + Word>(operation: Operation, sizes: Sizes) -> Option<Body> {
    let Operation::Variant(step, variant) = operation else { return None };
    Some(Box::new(move |a| {
        let (table, inverse) = (a.vector::<T>(0).cast_const(), a.vector::<T>(1).cast_const());
        let data = Data { table, inverse, b: a.vector::<T>(2).cast_const(), r: a.vector(3), x: a.vector(4) };
        // SAFETY: the promise of `Kernel::run`.
        unsafe { variants::step::step::<T, LAYERS>((step, variant, sizes), data, a.cells, a.color) }
    }))
}

/// The kernels of a space, from the functions of its dimension; arguments as in `entries`.
macro_rules! poisson {
    ($name:ident, $dim:literal, $smooth:ident, $apply:ident) => {
        fn $name<
            T: Real + Word,
            const K: usize,
            const M: usize,
            const N: usize,
            const C: usize,
            const H: usize,
            const E: usize,
        >(
            operation: Operation,
        ) -> Option<Body> {
            // SAFETY, throughout: the promise of `Kernel::run`.
            let body: Body = match operation {
                Operation::Smooth => Box::new(|a| unsafe {
                    let (matrices, table) =
                        (a.matrices::<Scaled<SmootherMatrices<T, K, M>, T>>(), smoother::Table::new(a.vector(0)));
                    smoother::$smooth::<T, K, M, N>(&matrices, table, a.vector(1), a.vector(2), a.cells, a.color)
                }),
                Operation::Apply => Box::new(|a| unsafe {
                    let output = operator::Output { b: std::ptr::null(), y: a.vector(1) };
                    let matrices = a.matrices::<Scaled<CellMatrices<T, C, H>, T>>();
                    operator::$apply::<T, false, K, C, H>(&matrices, a.vector(0), output, a.cells, a.chunk)
                }),
                Operation::Residual => Box::new(|a| unsafe {
                    let output = operator::Output { b: a.vector(0), y: a.vector(2) };
                    let matrices = a.matrices::<Scaled<CellMatrices<T, C, H>, T>>();
                    operator::$apply::<T, true, K, C, H>(&matrices, a.vector(1), output, a.cells, a.chunk)
                }),
                Operation::ApplyRounded if $dim == 3 => Box::new(|a| unsafe {
                    let matrices = a.matrices::<Scaled<CellMatrices<f64, C, H>, f64>>();
                    operator::apply_rounded_3d::<K, C, H>(&matrices, a.vector(0), a.vector(1), a.cells, a.chunk)
                }),
                Operation::ResidualNorms if $dim == 3 => Box::new(|a| unsafe {
                    let (b, x, norms) = (a.vector(0), a.vector(1), a.vector(2));
                    let matrices = a.matrices::<Scaled<CellMatrices<f64, C, H>, f64>>();
                    operator::residual_norms_3d::<K, C, H>(&matrices, b, x, norms, a.cells, a.chunk)
                }),
                Operation::RestrictResidual => Box::new(|a| unsafe {
                    let (b, x, coarse) = (a.vector(0), a.vector(1), a.vector(2));
                    let matrices = a.matrices::<Scaled<RestrictionMatrices<T, N, H>, T>>();
                    transfer::restrict_residual::<T, $dim, K, N, C, H>(
                        &matrices, b, x, coarse, a.cells, a.color, a.chunk,
                    )
                }),
                Operation::ProlongateAdd => Box::new(|a| unsafe {
                    let matrices = a.matrices::<ProlongationMatrices<T, C>>();
                    let levels = transfer::levels::Closed::new(a.cells, K);
                    transfer::prolongate_add::<T, $dim, K, N, C>(&matrices, a.vector(0), a.vector(1), levels)
                }),
                Operation::PointGaussSeidel => Box::new(|a| unsafe {
                    point::gauss_seidel::<T, $dim, K>(a.vector(0), a.vector(1), a.vector(2), a.cells, a.color)
                }),
                Operation::SmoothFirst if $dim == 2 => Box::new(|a| unsafe {
                    let (matrices, table) =
                        (a.matrices::<Scaled<FirstStepMatrices<T, K, M, E>, T>>(), smoother::Table::new(a.vector(0)));
                    let (coarse, b, x) = (a.vector(1), a.vector(2), a.vector(3));
                    smoother::smooth_first_2d::<T, K, M, N, E>(&matrices, table, coarse, b, x, a.cells)
                }),
                Operation::ProlongateEdges if $dim == 2 => Box::new(|a| unsafe {
                    let matrices = a.matrices::<ProlongationMatrices<T, C>>();
                    transfer::prolongate_edges::<T, K, N, C>(&matrices, a.vector(0), a.vector(1), a.cells)
                }),
                _ => return None,
            };
            Some(body)
        }
    };
}
poisson!(poisson_2d, 2, smooth_2d, apply_2d);
poisson!(poisson_3d, 3, smooth_3d, apply_3d);

/// The kernels of a space of discontinuous elements; sizes and arguments as in `entries`.
fn discontinuous<
    T: Real + Word,
    const C: usize,
    const H: usize,
    const N: usize,
    const MID: usize,
    const PATCH_MID: usize,
    const COLUMNS: usize,
>(
    operation: Operation,
) -> Option<Body> {
    use dg::{operator, solve, transfer};
    // SAFETY, throughout: the promise of `Kernel::run`.
    let body: Body = match operation {
        Operation::Apply => Box::new(|a| unsafe {
            let (matrices, x, y) = (a.matrices::<DgOperatorMatrices<T, C, H>>(), a.vector(0), a.vector(1));
            operator::apply::<T, false, C, H, MID, COLUMNS>(&matrices, std::ptr::null(), x, y, a.cells, a.chunk)
        }),
        Operation::Residual => Box::new(|a| unsafe {
            let (b, x, r) = (a.vector(0), a.vector(1), a.vector(2));
            let matrices = a.matrices::<DgOperatorMatrices<T, C, H>>();
            operator::apply::<T, true, C, H, MID, COLUMNS>(&matrices, b, x, r, a.cells, a.chunk)
        }),
        Operation::Solve => Box::new(|a| unsafe {
            let (matrices, table, r, x) =
                (a.matrices::<DgSolveMatrices<T, N, C>>(), a.vector(0), a.vector(1), a.vector(2));
            solve::solve::<T, N, C, PATCH_MID, false>(&matrices, table, r, x, a.cells, a.color)
        }),
        Operation::SolveThin => Box::new(|a| unsafe {
            let (matrices, table, r, x) =
                (a.matrices::<DgSolveMatrices<T, N, C>>(), a.vector(0), a.vector(1), a.vector(2));
            solve::solve::<T, N, C, PATCH_MID, true>(&matrices, table, r, x, a.cells, a.color)
        }),
        Operation::Restrict => Box::new(|a| unsafe {
            let matrices = a.matrices::<DgTransferMatrices<T, N, C, H>>();
            transfer::restrict::<T, N, C, H, PATCH_MID>(&matrices, a.vector(0), a.vector(1), a.cells)
        }),
        Operation::ProlongateAdd => Box::new(|a| unsafe {
            let matrices = a.matrices::<DgTransferMatrices<T, N, C, H>>();
            transfer::prolongate_add::<T, N, C, H, PATCH_MID>(&matrices, a.vector(0), a.vector(1), a.cells)
        }),
        _ => return None,
    };
    Some(body)
}

/// Vector operations, all of their vectors the first one.
fn vector_operation<T: Real, Other: Real>(operation: Operation) -> Option<Body> {
    const COUNT: u32 = blas1::VECTORS as u32;
    const NONE: blas1::Coefficients = blas1::Coefficients([0.0; blas1::VECTORS]);
    fn vectors<T>(a: &Arguments) -> blas1::Vectors<T> {
        blas1::Vectors([a.vector::<T>(0).cast_const(); blas1::VECTORS])
    }
    // SAFETY, throughout: the promise of `Kernel::run`.
    let body: Body = match operation {
        Operation::Axpby => {
            Box::new(|a| unsafe { blas1::axpby(T::ZERO, a.vector(0), T::ZERO, a.vector(1), a.entries) })
        }
        Operation::Divide => {
            Box::new(|a| unsafe { blas1::divide::<T>(a.vector(0), a.vector(0), a.vector(1), a.entries) })
        }
        Operation::DiagonalAxpby => Box::new(|a| unsafe {
            blas1::diagonal_axpby(T::ZERO, a.vector(0), a.vector(0), T::ZERO, a.vector(1), a.entries)
        }),
        Operation::Convert => {
            Box::new(|a| unsafe { blas1::convert::<Other, T>(1.0, a.vector(0), a.vector(1), a.entries) })
        }
        Operation::Dots => {
            Box::new(|a| unsafe { blas1::dots::<T>(vectors(a), COUNT, a.vector(1), a.entries, a.vector(2)) })
        }
        Operation::SumPartials => Box::new(|a| unsafe { blas1::sum_partials(a.vector(0), a.vector(1)) }),
        Operation::Combine => {
            Box::new(|a| unsafe { blas1::combine::<T, T>(NONE, vectors(a), COUNT, 1.0, a.vector(1), a.entries) })
        }
        Operation::CombineRounded => {
            Box::new(|a| unsafe { blas1::combine::<Other, T>(NONE, vectors(a), COUNT, 1.0, a.vector(1), a.entries) })
        }
        Operation::CombineDots => Box::new(|a| unsafe {
            blas1::combine_dots::<T>(NONE, vectors(a), COUNT, a.vector(1), a.entries, a.vector(2));
        }),
        Operation::NormRounded => {
            Box::new(|a| unsafe { blas1::norm_rounded::<T, Other>(a.vector(0), a.vector(1), a.entries, a.vector(2)) })
        }
        _ => return None,
    };
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_the_list_is_here_and_all_its_threads_pass_its_barriers_without_hazards() {
        let mut hazards = Vec::new();
        for module in Module::all() {
            for spec in module.kernels() {
                let (name, operation, barriers) = (spec.name.clone(), spec.operation, spec.barriers);
                let kernel = Kernel::new(module, spec).unwrap_or_else(|| panic!("{name} is not here"));
                let trace = kernel.trace();
                hazards.extend(trace.hazards().into_iter().map(|hazard| format!("{name}: {hazard}")));
                let passed = trace.barriers().unwrap_or_else(|| panic!("{name} may hang"));
                // A loop passes its barriers many times.
                let has_steps =
                    matches!(operation, Operation::Typed("schur" | "schur_conflict_free" | "prolongate" | "restrict"));
                let is_march = matches!(operation, Operation::Typed("apply" | "residual" | "restrict_residual"))
                    && name.starts_with("separable");
                if operation.marches() || has_steps || is_march {
                    assert!(passed >= barriers, "{name}");
                } else {
                    assert_eq!(passed, barriers, "{name}");
                }
            }
        }
        assert!(hazards.is_empty(), "threads race in shared memory:\n{}", hazards.join("\n"));
    }
}
