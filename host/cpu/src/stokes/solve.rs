//! Exact solutions on the patches of a color: with `F`, `G` the residuals of velocity and pressure on a patch,
//!
//! ```text
//! S P = B A⁻¹ F - G,    U = A⁻¹ (F - Bᵀ P),    S = B A⁻¹ Bᵀ
//! ```
//!
//! (paper 2, section 3.2) in eigenfunctions of each direction, where `A` is diagonal and `B = -Σ D_i` acts along one
//! direction. `S⁺` is stored, by parities.

use super::functions::{Across, AcrossOf, AxisFunctions};
use crate::batch::Batch;
use crate::lanes::{Lanes, Vectorized};
use crate::rows::{self, Put, Rows};
use crate::sweep::{BatchKernel, Shared};
use crate::workspace::workspace;
use patchmg_device::contract::Parity;
use patchmg_device::patch::{DgGrid, Ends};
use patchmg_device::scalar::Value;
use pulp::{Simd, WithSimd};

/// A block of `S⁺`, symmetric, and the modes that it couples, counted with `x` fastest.
pub type Coupled<T> = (Vec<usize>, Vec<T>);

/// The patches of a color that touch the same ends of the domain: `C` nodes a cell, `N = 2 C` of a patch, of which
/// `M = N - 1` are unknowns along a component; `D` components, `NZ` planes.
pub struct Solve<'a, T, const D: usize, const C: usize, const N: usize, const M: usize, const NZ: usize> {
    pub functions: &'a [AxisFunctions<T, C, N, M>],
    pub ends: [Ends; 3],
    /// `1 / (s + ν Σ λ)` of each component, `x` fastest, `N` entries in each direction.
    pub inverse_eigenvalues: &'a [Vec<T>],
    pub schur: &'a [Coupled<T>],
    pub grid: DgGrid,
    /// From a field to the next one.
    pub distance: usize,
    pub residual: &'a [T],
    pub x: Shared<T>,
}

/// As the component that a field is: none, so that it has all nodes in every direction.
const PRESSURE: usize = 3;

/// Nodes or modes of a field, `[z][y][x]`.
type Tensor<V, const N: usize, const NZ: usize> = [[[V; N]; N]; NZ];

workspace! {
    /// Components of the velocity, the pressure, and modes in the order of `S⁺`.
    pub struct Workspace<V, const D: usize, const N: usize, const NZ: usize> {
        velocity: [[[[V; N]; N]; NZ]; D],
        pressure: [[[V; N]; N]; NZ],
        modes: [[[V; N]; N]; NZ],
    }
}

/// Lines along a direction of a tensor with `N` nodes a row.
#[derive(Clone, Copy)]
struct Lines {
    first: usize,
    counts: [usize; 2],
    apart: [usize; 2],
    /// From a node of a line to the next one.
    step: usize,
}

impl Lines {
    /// Those through unknowns of a field, that of component `own`: it has no first node along itself.
    #[inline(always)]
    const fn new(nodes: usize, planes: usize, own: usize, direction: usize) -> Self {
        let (strides, sizes) = ([1, nodes, nodes * nodes], [nodes, nodes, planes]);
        let across = match direction {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        };
        let mut lines = Self { first: 0, counts: [0; 2], apart: [0; 2], step: strides[direction] };
        let mut i = 0;
        while i < 2 {
            lines.counts[i] = sizes[across[i]];
            lines.apart[i] = strides[across[i]];
            if across[i] == own {
                lines.counts[i] -= 1;
                lines.first = strides[own];
            }
            i += 1;
        }
        lines
    }
}

/// `N` nodes of a line.
///
/// # Safety
/// They must be entries of the tensor.
#[inline(always)]
unsafe fn read<S: Simd, T: Vectorized, const N: usize>(tensor: *const Lanes<S, T>, step: usize) -> [Lanes<S, T>; N] {
    let mut nodes = [Lanes::ZERO; N];
    for i in 0..N {
        // SAFETY: the caller's.
        nodes[i] = unsafe { *tensor.add(i * step) };
    }
    nodes
}

/// # Safety
/// As for [`read`].
#[inline(always)]
unsafe fn write<V: Copy, const N: usize>(nodes: [V; N], tensor: *mut V, step: usize) {
    for i in 0..N {
        // SAFETY: the caller's.
        unsafe { *tensor.add(i * step) = nodes[i] };
    }
}

/// What is done on a line of tensors whose nodes lie at the same places.
trait LineWork {
    /// On the line that begins at an entry.
    ///
    /// # Safety
    /// The line must lie in the tensors, which nobody else uses.
    unsafe fn run(&self, first: usize, step: usize);
}

/// Work on all lines, as a function of its own, which all kernels of a degree share.
struct EachLine<'a, W> {
    work: &'a W,
    lines: &'a Lines,
}

impl<W: LineWork> WithSimd for EachLine<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Lines { first, counts, apart, step } = *self.lines;
        for second in 0..counts[1] {
            for index in 0..counts[0] {
                // SAFETY: that of `each_line`.
                unsafe { self.work.run(first + index * apart[0] + second * apart[1], step) };
            }
        }
    }
}

/// # Safety
/// The lines must lie in the tensors, which nobody else uses.
#[inline(always)]
unsafe fn each_line<S: Simd, T: Vectorized>(lines: Lines, work: &impl LineWork) {
    Lanes::<S, T>::vectorize_apart(EachLine { work, lines: &lines });
}

/// Nodes to functions of the discontinuous axis.
struct Analyze<'a, F, V, const N: usize, const M: usize> {
    functions: &'a F,
    tensor: *mut V,
}

/// Functions of the discontinuous axis to nodes.
struct Synthesize<'a, F, V, const N: usize, const M: usize> {
    functions: &'a F,
    tensor: *mut V,
}

/// Nodes of a component along its direction to functions, divided by the eigenvalues; adds their divergence to the pressure's.
struct Forward<'a, F, T, V, const C: usize, const N: usize, const M: usize> {
    continuous: &'a Parity<T, C>,
    across: &'a F,
    inverse_eigenvalues: *const T,
    velocity: *mut V,
    pressure: *mut V,
}

/// `U = A⁻¹ F - A⁻¹ Bᵀ P` of a component, whose `A⁻¹ F` there is, along its direction, back to nodes.
struct Backward<'a, F, T, V, const C: usize, const N: usize, const M: usize> {
    continuous: &'a Parity<T, C>,
    across: &'a F,
    inverse_eigenvalues: *const T,
    velocity: *mut V,
    pressure: *const V,
}

macro_rules! line_work {
    ($($name:ident: $work:ident, $first:ident, $step:ident => $body:block)+) => {$(
        impl<S: Simd, T: Vectorized, F: Across<T, N, M>, const N: usize, const M: usize> LineWork
            for $name<'_, F, Lanes<S, T>, N, M>
        {
            #[inline(always)]
            unsafe fn run(&self, $first: usize, $step: usize) {
                let $work = self;
                // SAFETY: the caller's.
                unsafe { $body }
            }
        }
    )+};
}
line_work! {
    Analyze: work, first, step => {
        let line = work.tensor.add(first);
        write(work.functions.analyze(&read::<S, T, N>(line, step)), line, step);
    }
    Synthesize: work, first, step => {
        let line = work.tensor.add(first);
        write(work.functions.synthesize(&read::<S, T, N>(line, step)), line, step);
    }
}

impl<S: Simd, T: Vectorized, F: Across<T, N, M>, const C: usize, const N: usize, const M: usize> LineWork
    for Forward<'_, F, T, Lanes<S, T>, C, N, M>
{
    #[inline(always)]
    unsafe fn run(&self, first: usize, step: usize) {
        // SAFETY (this block): the caller's.
        unsafe {
            let (line, pressure) = (self.velocity.add(first), self.pressure.add(first));
            let mut modes = self.continuous.analyze(&read::<S, T, M>(line.add(step), step));
            for m in 0..M {
                modes[m] = Lanes::scale(*self.inverse_eigenvalues.add(first + m * step), modes[m]);
            }
            write(modes, line, step);
            let (mut sums, derivative) = (read::<S, T, N>(pressure, step), self.across.derivative(&modes));
            for n in 0..N {
                sums[n] = sums[n] + derivative[n];
            }
            write(sums, pressure, step);
        }
    }
}

impl<S: Simd, T: Vectorized, F: Across<T, N, M>, const C: usize, const N: usize, const M: usize> LineWork
    for Backward<'_, F, T, Lanes<S, T>, C, N, M>
{
    #[inline(always)]
    unsafe fn run(&self, first: usize, step: usize) {
        // SAFETY (this block): the caller's.
        unsafe {
            let line = self.velocity.add(first);
            let gradient = self.across.gradient(&read::<S, T, N>(self.pressure.add(first), step));
            let mut modes = read::<S, T, M>(line, step);
            for m in 0..M {
                modes[m] = Lanes::fma(*self.inverse_eigenvalues.add(first + m * step), gradient[m], modes[m]);
            }
            *line = Lanes::ZERO;
            write(self.continuous.synthesize(&modes), line.add(step), step);
        }
    }
}

/// `P = S⁺ q` from `-q`, in its place.
struct Schur<'a, T, V> {
    blocks: &'a [Coupled<T>],
    pressure: &'a mut [V],
    modes: &'a mut [V],
}

/// Rows of a product that are summed up side by side.
const ROWS: usize = 8;

impl<S: Simd, T: Vectorized> WithSimd for Schur<'_, T, Lanes<S, T>> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let Self { blocks, pressure, modes } = self;
        for (places, matrix) in blocks {
            let modes = &mut modes[..places.len()];
            for (mode, place) in modes.iter_mut().zip(places) {
                *mode = Lanes::ZERO - pressure[*place];
            }
            let mut first = 0;
            while first + ROWS <= places.len() {
                rows_of_product::<S, T, ROWS>(matrix, modes, first, places, pressure);
                first += ROWS;
            }
            if first + 4 <= places.len() {
                rows_of_product::<S, T, 4>(matrix, modes, first, places, pressure);
                first += 4;
            }
            if first + 2 <= places.len() {
                rows_of_product::<S, T, 2>(matrix, modes, first, places, pressure);
                first += 2;
            }
            if first < places.len() {
                rows_of_product::<S, T, 1>(matrix, modes, first, places, pressure);
            }
        }
    }
}

/// `R` rows of a symmetric matrix times modes, to their places.
#[inline(always)]
fn rows_of_product<S: Simd, T: Vectorized, const R: usize>(
    matrix: &[T],
    modes: &[Lanes<S, T>],
    first: usize,
    places: &[usize],
    result: &mut [Lanes<S, T>],
) {
    let mut sums = [Lanes::<S, T>::ZERO; R];
    for (column, mode) in matrix.chunks_exact(places.len()).zip(modes) {
        let column = &column[first..first + R];
        for r in 0..R {
            sums[r] = Lanes::fma(column[r], *mode, sums[r]);
        }
    }
    for r in 0..R {
        result[places[first + r]] = sums[r];
    }
}

/// Calls a function with the functions of a direction, whatever their type.
macro_rules! with_across {
    ($across:expr, $functions:ident => $body:expr) => {
        match $across {
            AcrossOf::Symmetric($functions) => $body,
            AcrossOf::General($functions) => $body,
        }
    };
}

impl<T: Vectorized, const D: usize, const C: usize, const N: usize, const M: usize, const NZ: usize>
    Solve<'_, T, D, C, N, M, NZ>
{
    #[inline(always)]
    fn across(&self, direction: usize) -> &AcrossOf<T, C, N> {
        &self.functions[direction].across[self.ends[direction] as usize]
    }

    /// Rows of plane `z` of a field.
    #[inline(always)]
    fn plane(&self, field: usize, z: usize) -> Rows {
        Rows { first: field * self.distance + self.grid.offset_3d(0, 0, z), apart: self.grid.row() }
    }

    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, batch: &Batch, field: usize, tensor: &mut Tensor<Lanes<S, T>, N, NZ>) {
        for z in 0..NZ {
            // SAFETY: a patch's nodes are stored.
            unsafe {
                rows::load(self.residual.as_ptr(), &batch.fine, self.plane(field, z), &Lanes::ZERO, &mut tensor[z])
            };
        }
    }

    /// # Safety
    /// As for [`BatchKernel::run`].
    #[inline(always)]
    unsafe fn add<S: Simd>(&self, batch: &Batch, field: usize, tensor: &Tensor<Lanes<S, T>, N, NZ>) {
        for z in 0..NZ {
            // SAFETY: patches of a color share no node.
            unsafe { rows::store(&tensor[z], Put::Add, self.x, batch, &batch.fine, self.plane(field, z)) };
        }
    }

    /// All directions but `own`, to functions or back.
    #[inline(always)]
    fn transform<S: Simd>(&self, own: usize, is_analysis: bool, tensor: &mut Tensor<Lanes<S, T>, N, NZ>) {
        let tensor = tensor.as_mut_ptr().cast::<Lanes<S, T>>();
        for direction in (0..D).filter(|&direction| direction != own) {
            let lines = Lines::new(N, NZ, own, direction);
            with_across!(self.across(direction), functions => {
                // SAFETY: all lines of the tensor, which is borrowed.
                unsafe {
                    if is_analysis {
                        each_line::<S, T>(lines, &Analyze::<_, _, N, M> { functions, tensor });
                    } else {
                        each_line::<S, T>(lines, &Synthesize::<_, _, N, M> { functions, tensor });
                    }
                }
            });
        }
    }
}

impl<T: Vectorized, const D: usize, const C: usize, const N: usize, const M: usize, const NZ: usize> BatchKernel<T>
    for Solve<'_, T, D, C, N, M, NZ>
{
    type Workspace<S: Simd> = Workspace<Lanes<S, T>, D, N, NZ>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, batch: &Batch, work: &mut Self::Workspace<S>) {
        let Workspace { velocity, pressure, modes } = work;
        // SAFETY: the caller's.
        unsafe { self.load(batch, D, pressure) };
        self.transform(PRESSURE, true, pressure);
        for own in 0..D {
            // SAFETY: the caller's.
            unsafe { self.load(batch, own, &mut velocity[own]) };
            self.transform(own, true, &mut velocity[own]);
            let lines = Lines::new(N, NZ, own, own);
            with_across!(self.across(own), across => {
                let forward = Forward::<_, _, _, C, N, M> {
                    continuous: &self.functions[own].continuous,
                    across,
                    inverse_eigenvalues: self.inverse_eigenvalues[own].as_ptr(),
                    velocity: velocity[own].as_mut_ptr().cast::<Lanes<S, T>>(),
                    pressure: pressure.as_mut_ptr().cast(),
                };
                // SAFETY: all lines of the tensors, which are borrowed; there are as many eigenvalues as entries.
                unsafe { each_line::<S, T>(lines, &forward) };
            });
        }
        let [pressures, modes] = [&mut *pressure, modes].map(|tensor| tensor.as_flattened_mut().as_flattened_mut());
        Lanes::<S, T>::vectorize_apart(Schur { blocks: self.schur, pressure: pressures, modes });
        for own in 0..D {
            let lines = Lines::new(N, NZ, own, own);
            with_across!(self.across(own), across => {
                let backward = Backward::<_, _, _, C, N, M> {
                    continuous: &self.functions[own].continuous,
                    across,
                    inverse_eigenvalues: self.inverse_eigenvalues[own].as_ptr(),
                    velocity: velocity[own].as_mut_ptr().cast::<Lanes<S, T>>(),
                    pressure: pressure.as_ptr().cast(),
                };
                // SAFETY: as above.
                unsafe { each_line::<S, T>(lines, &backward) };
            });
            self.transform(own, false, &mut velocity[own]);
            // SAFETY: the caller's.
            unsafe { self.add(batch, own, &velocity[own]) };
        }
        self.transform(PRESSURE, false, pressure);
        // SAFETY: the caller's.
        unsafe { self.add(batch, D, pressure) };
    }
}
