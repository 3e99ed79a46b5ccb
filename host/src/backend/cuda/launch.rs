//! Every kernel launch. Arguments are those of `patchmg_device::entries`, in that order, each by value.

use super::calls::{self, check};
use super::gpu::Gpu;
use super::level::Level;
use super::memory::Vector;
use super::modules;
use super::smoother::{PatchSmoother, Variant};
use crate::backend::Scalar;
use crate::error::{Error, Result};
use bytemuck::bytes_of;
use cust::sys::{CUdeviceptr, CUfunction};
use patchmg_device::blas1::{DOT_BLOCKS, VECTORS};
use patchmg_device::kernels::{KernelSpec, Module, Operation};
use patchmg_device::operator::planes::Tile;
use patchmg_device::operator::rows;
use patchmg_device::point;
use patchmg_device::transfer::restriction;
use std::ffi::c_void;
use std::sync::Arc;

/// Blocks of a vector operation for each multiprocessor: as many as are resident, twice.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 16;
/// Blocks that march for each multiprocessor in 3D, if a level has so many cells.
const BLOCKS_WANTED: u32 = 4;
/// The same in 2D, where blocks are smaller.
const BLOCKS_WANTED_2D: u32 = 16;
/// Cells or patches that a block marches through at most, in 3D.
const LONGEST_CHUNK: u32 = 16;
/// The same in 2D.
const LONGEST_CHUNK_2D: u32 = 64;
/// Parameters that a kernel may have.
const PARAMETERS: usize = 8;

/// An entry point of a loaded module.
pub(super) struct Kernel {
    function: CUfunction,
    spec: KernelSpec,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    pub fn new(function: CUfunction, spec: KernelSpec) -> Self {
        Self { function, spec }
    }

    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// Its name, and the blocks of it that a multiprocessor holds.
    pub fn resident_blocks(&self, gpu: &Gpu) -> Result<(String, u32)> {
        gpu.enter()?;
        let mut blocks = 0;
        let (threads, shared) = (self.spec.threads as i32, self.spec.shared_bytes as usize);
        // SAFETY: the driver writes a number; the function is one of a loaded module.
        let code =
            unsafe { calls::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, shared) };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok((self.spec.name.clone(), blocks as u32))
    }

    /// # Safety
    /// `arguments` are the bytes of the kernel's parameters, at most [`PARAMETERS`], and what they point to is as long
    /// as the kernel makes use of with this grid. The module is loaded on `gpu`.
    unsafe fn launch(&self, gpu: &Gpu, [x, y, z]: [u32; 3], arguments: &[&[u8]]) -> Result<()> {
        gpu.enter()?;
        let mut pointers = [std::ptr::null_mut::<c_void>(); PARAMETERS];
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = argument.as_ptr().cast_mut().cast();
        }
        let (threads, shared, stream) = (self.spec.threads, self.spec.shared_bytes, gpu.stream());
        let (arguments, extra) = (pointers.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the caller's promise; the driver copies the arguments before it returns.
        let code =
            unsafe { calls::cuLaunchKernel(self.function, x, y, z, threads, 1, 1, shared, stream, arguments, extra) };
        check("cuLaunchKernel", code)
    }
}

/// One color of the patch smoother.
pub(super) fn smooth<T: Scalar>(
    gpu: &Arc<Gpu>,
    level: &Level<T>,
    color: usize,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<()> {
    level.check(gpu)?;
    b.check(gpu, "b", level.storage())?;
    x.check(gpu, "x", level.storage())?;
    if color >= level.colors() as usize {
        let allowed = format!("below {}", level.colors());
        return Err(Error::InvalidArgument { name: "color", value: color.to_string(), allowed });
    }
    let color = color as u32;
    match &level.smoother {
        PatchSmoother::Register { kernel, table } => {
            let Some(blocks) = level.color_blocks(kernel, color) else { return Ok(()) };
            let (table, b, x) = (table.pointer(), b.pointer(), x.pointer());
            let arguments = [
                &level.matrices.smoother,
                bytes_of(&table),
                bytes_of(&b),
                bytes_of(&x),
                bytes_of(&level.grid.cells),
                bytes_of(&color),
            ];
            // SAFETY: vectors of the level, checked above; the table is `table_words` long.
            unsafe { kernel.launch(gpu, blocks, &arguments) }
        }
        PatchSmoother::Variant(variant) => smooth_variant(gpu, level, variant, color, [b.pointer(), x.pointer()]),
    }
}

/// One color by kernels of paper 1; `[b, x]` are vectors of the level.
fn smooth_variant<T: Scalar>(
    gpu: &Arc<Gpu>,
    level: &Level<T>,
    variant: &Variant<T>,
    color: u32,
    [b, x]: [CUdeviceptr; 2],
) -> Result<()> {
    let pointer = |vector: &Option<Vector<T>>| vector.as_ref().map_or(0, Vector::pointer);
    let (table, inverse, r) = (variant.table.pointer(), pointer(&variant.inverse), pointer(&variant.residual));
    if variant.is_global {
        // SAFETY: three vectors of the level; a global smoother has its residual.
        unsafe { launch_operator(gpu, level, &level.kernels.residual, &[b, x, r])? };
    }
    for kernel in &variant.kernels {
        let Some(blocks) = level.color_blocks(kernel, color) else { return Ok(()) };
        let arguments = [
            bytes_of(&table),
            bytes_of(&inverse),
            bytes_of(&b),
            bytes_of(&r),
            bytes_of(&x),
            bytes_of(&level.grid.cells),
            bytes_of(&color),
        ];
        // SAFETY: tables as long as the kernels of the list take them, vectors of the level; what is null is not used.
        unsafe { kernel.launch(gpu, blocks, &arguments)? };
    }
    Ok(())
}

/// `y = A x`.
pub(super) fn apply<T: Scalar>(gpu: &Arc<Gpu>, level: &Level<T>, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
    level.check(gpu)?;
    x.check(gpu, "x", level.storage())?;
    y.check(gpu, "y", level.storage())?;
    let (x, y) = (x.pointer(), y.pointer());
    // SAFETY: vectors of the level, checked above.
    unsafe { launch_operator(gpu, level, &level.kernels.apply, &[x, y]) }
}

/// `r = b - A x`.
pub(super) fn residual<T: Scalar>(
    gpu: &Arc<Gpu>,
    level: &Level<T>,
    b: &Vector<T>,
    x: &Vector<T>,
    r: &mut Vector<T>,
) -> Result<()> {
    level.check(gpu)?;
    b.check(gpu, "b", level.storage())?;
    x.check(gpu, "x", level.storage())?;
    r.check(gpu, "r", level.storage())?;
    let vectors = [b.pointer(), x.pointer(), r.pointer()];
    // SAFETY: vectors of the level, checked above.
    unsafe { launch_operator(gpu, level, &level.kernels.residual, &vectors) }
}

/// The product or the residual.
///
/// # Safety
/// The kernel takes `vectors` behind the matrices.
unsafe fn launch_operator<T: Scalar>(
    gpu: &Gpu,
    level: &Level<T>,
    kernel: &Kernel,
    vectors: &[CUdeviceptr],
) -> Result<()> {
    let degree = level.grid.degree as usize;
    let blocks = |chunk| match level.dim {
        2 => rows::strip(degree).blocks(level.grid, chunk, 0),
        _ => Tile::of(degree).blocks(level.grid, chunk),
    };
    let chunk = chunk(gpu, level.dim, blocks, level.grid.cells);
    // SAFETY: the caller's promise.
    unsafe { launch_vectors(gpu, level, kernel, blocks(chunk), &level.matrices.operator, vectors, &[chunk]) }
}

/// Cells or patches, of so many in a direction, that a block marches through: many, because it begins one early, but not
/// so many that multiprocessors stay idle.
fn chunk(gpu: &Gpu, dim: usize, blocks: impl Fn(u32) -> [u32; 3], all: u32) -> u32 {
    let (longest, wanted) =
        if dim == 2 { (LONGEST_CHUNK_2D, BLOCKS_WANTED_2D) } else { (LONGEST_CHUNK, BLOCKS_WANTED) };
    chunk_of(longest.min(all), wanted * gpu.multiprocessors(), blocks)
}

/// The longest chunk, halved until there are so many blocks.
fn chunk_of(longest: u32, wanted: u32, blocks: impl Fn(u32) -> [u32; 3]) -> u32 {
    let mut chunk = longest;
    while chunk > 1 && blocks(chunk).iter().product::<u32>() < wanted {
        chunk /= 2;
    }
    chunk
}

/// `coarse = Pᵀ (b - A x)`.
pub(super) fn restrict_residual<T: Scalar>(
    gpu: &Arc<Gpu>,
    fine: &Level<T>,
    b: &Vector<T>,
    x: &Vector<T>,
    coarse: &mut Vector<T>,
) -> Result<()> {
    fine.check(gpu)?;
    b.check(gpu, "b", fine.storage())?;
    x.check(gpu, "x", fine.storage())?;
    coarse.check(gpu, "coarse", fine.coarse_storage()?)?;
    let vectors = [b.pointer(), x.pointer(), coarse.pointer()];
    let (kernel, matrices) = (&fine.kernels.restrict_residual, &fine.matrices.restriction);
    let strip = restriction::strip(fine.dim, fine.grid.degree as usize);
    let chunk = chunk(gpu, fine.dim, |chunk| strip.blocks(fine.grid, chunk, 0), strip.along(fine.grid));
    // The classes in the order in which they write and add.
    for class in 0..strip.classes() {
        let blocks = strip.blocks(fine.grid, chunk, class);
        if !blocks.contains(&0) {
            // SAFETY: two vectors of the level and one of the next coarser, checked above.
            unsafe { launch_vectors(gpu, fine, kernel, blocks, matrices, &vectors, &[class, chunk])? };
        }
    }
    Ok(())
}

/// A kernel on vectors of a level.
///
/// # Safety
/// It takes `matrices`, then `vectors`, then cells and `numbers`: a class, and the length of a chunk.
unsafe fn launch_vectors<T: Scalar>(
    gpu: &Gpu,
    level: &Level<T>,
    kernel: &Kernel,
    blocks: [u32; 3],
    matrices: &[u8],
    vectors: &[CUdeviceptr],
    numbers: &[u32],
) -> Result<()> {
    let mut arguments = vec![matrices];
    arguments.extend(vectors.iter().map(bytes_of));
    arguments.push(bytes_of(&level.grid.cells));
    arguments.extend(numbers.iter().map(bytes_of));
    // SAFETY: the caller's promise.
    unsafe { kernel.launch(gpu, blocks, &arguments) }
}

/// `x += P coarse`.
pub(super) fn prolongate_add<T: Scalar>(
    gpu: &Arc<Gpu>,
    fine: &Level<T>,
    coarse: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<()> {
    fine.check(gpu)?;
    coarse.check(gpu, "coarse", fine.coarse_storage()?)?;
    x.check(gpu, "x", fine.storage())?;
    let kernel = &fine.kernels.prolongate_add;
    let Some(blocks) = fine.tiling_blocks(kernel) else { return Ok(()) };
    let (coarse, x) = (coarse.pointer(), x.pointer());
    let arguments = [&fine.matrices.prolongation, bytes_of(&coarse), bytes_of(&x), bytes_of(&fine.grid.cells)];
    // SAFETY: a vector of the level and one of the next coarser, checked above.
    unsafe { kernel.launch(gpu, blocks, &arguments) }
}

/// A sweep of point Gauss-Seidel: the colors ascending, or descending.
pub(super) fn point_gauss_seidel<T: Scalar>(
    gpu: &Arc<Gpu>,
    level: &Level<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
    reverse: bool,
) -> Result<()> {
    level.check(gpu)?;
    b.check(gpu, "b", level.storage())?;
    x.check(gpu, "x", level.storage())?;
    let (kernel, dim) = (&level.kernels.point_gauss_seidel, level.dim as u32);
    let (rows, b, x) = (level.point_rows.pointer(), b.pointer(), x.pointer());
    let colors = point::colors(level.dim, level.grid.degree as usize);
    for index in 0..colors {
        let color = if reverse { colors - 1 - index } else { index };
        let dofs = (0..dim).map(|direction| point::Class::of(level.grid, color, direction).count).product();
        let Some(blocks) = stride_blocks(dofs, kernel.spec.threads, u32::MAX) else { continue };
        let arguments = [bytes_of(&rows), bytes_of(&b), bytes_of(&x), bytes_of(&level.grid.cells), bytes_of(&color)];
        // SAFETY: vectors of the level, checked above; a thread for every dof of the color.
        unsafe { kernel.launch(gpu, blocks, &arguments)? };
    }
    Ok(())
}

/// Vector operations in one scalar.
pub(super) struct Blas1 {
    axpby: Kernel,
    diagonal_axpby: Kernel,
    convert: Kernel,
    dots: Kernel,
    sum_partials: Kernel,
    add_combination: Kernel,
}

impl Blas1 {
    pub fn new<T: Scalar>(gpu: &Gpu) -> Result<Self> {
        let kernel = |operation| modules::kernel(gpu, Module::Blas1, Module::Blas1.kernel::<T>(operation));
        Ok(Self {
            axpby: kernel(Operation::Axpby)?,
            diagonal_axpby: kernel(Operation::DiagonalAxpby)?,
            convert: kernel(Operation::Convert)?,
            dots: kernel(Operation::Dots)?,
            sum_partials: modules::kernel(gpu, Module::Blas1, Module::Blas1.kernel::<f64>(Operation::SumPartials))?,
            add_combination: kernel(Operation::AddCombination)?,
        })
    }

    /// `y = alpha x + beta y`.
    pub fn axpby<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        alpha: f64,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        x.check(gpu, "x", y.len())?;
        y.check(gpu, "y", y.len())?;
        let Some(blocks) = elementwise(gpu, &self.axpby, y.len()) else { return Ok(()) };
        let (alpha, beta, n) = (T::from_f64(alpha), T::from_f64(beta), y.len() as u64);
        let (x, y) = (x.pointer(), y.pointer());
        let arguments = [bytes_of(&alpha), bytes_of(&x), bytes_of(&beta), bytes_of(&y), bytes_of(&n)];
        // SAFETY: two vectors of `n` entries, checked above.
        unsafe { self.axpby.launch(gpu, blocks, &arguments) }
    }

    /// `y = alpha D x + beta y`.
    pub fn diagonal_axpby<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        alpha: f64,
        d: &Vector<T>,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        d.check(gpu, "d", y.len())?;
        x.check(gpu, "x", y.len())?;
        y.check(gpu, "y", y.len())?;
        let Some(blocks) = elementwise(gpu, &self.diagonal_axpby, y.len()) else { return Ok(()) };
        let (alpha, beta, n) = (T::from_f64(alpha), T::from_f64(beta), y.len() as u64);
        let (d, x, y) = (d.pointer(), x.pointer(), y.pointer());
        let arguments = [bytes_of(&alpha), bytes_of(&d), bytes_of(&x), bytes_of(&beta), bytes_of(&y), bytes_of(&n)];
        // SAFETY: three vectors of `n` entries, checked above.
        unsafe { self.diagonal_axpby.launch(gpu, blocks, &arguments) }
    }

    /// `y = alpha x`, `S` and `T` not the same; of the operations of `T`.
    pub fn convert<S: Scalar, T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        alpha: f64,
        x: &Vector<S>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        assert_ne!(S::NAME, T::NAME);
        x.check(gpu, "x", y.len())?;
        y.check(gpu, "y", y.len())?;
        let Some(blocks) = elementwise(gpu, &self.convert, y.len()) else { return Ok(()) };
        let (x, n, y) = (x.pointer(), y.len() as u64, y.pointer());
        // SAFETY: two vectors of `n` entries, checked above, `x` in the other scalar.
        unsafe { self.convert.launch(gpu, blocks, &[bytes_of(&alpha), bytes_of(&x), bytes_of(&y), bytes_of(&n)]) }
    }

    /// `sums[first + j] = x_j · y` for at most [`VECTORS`] vectors, by `partials`, [`DOT_BLOCKS`] for each.
    pub fn dots<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        xs: &[&Vector<T>],
        y: &Vector<T>,
        partials: &mut Vector<f64>,
        sums: &mut Vector<f64>,
        first: usize,
    ) -> Result<()> {
        let (pointers, count) = pointers(gpu, xs, y)?;
        partials.check(gpu, "partial sums", VECTORS * DOT_BLOCKS)?;
        assert!(first + xs.len() <= sums.len());
        let (n, y, partials) = (y.len() as u64, y.pointer(), partials.pointer());
        let arguments = [bytes_of(&pointers), bytes_of(&count), bytes_of(&y), bytes_of(&n), bytes_of(&partials)];
        // SAFETY: `count` vectors and `y` of `n` entries, `partials` of `VECTORS` rows, checked above.
        unsafe { self.dots.launch(gpu, [DOT_BLOCKS as u32, 1, 1], &arguments)? };
        let out = sums.pointer() + (first * size_of::<f64>()) as u64;
        // SAFETY: `count` rows were written just now, and `out` has room for `count` sums.
        unsafe { self.sum_partials.launch(gpu, [count, 1, 1], &[bytes_of(&partials), bytes_of(&out)]) }
    }

    /// `y += sum_j c_j x_j` for at most [`VECTORS`] vectors and as many coefficients.
    pub fn add_combination<T: Scalar>(
        &self,
        gpu: &Arc<Gpu>,
        coefficients: &[f64],
        xs: &[&Vector<T>],
        y: &mut Vector<T>,
    ) -> Result<()> {
        let (pointers, count) = pointers(gpu, xs, y)?;
        let Some(blocks) = elementwise(gpu, &self.add_combination, y.len()) else { return Ok(()) };
        let mut factors = [0.0; VECTORS];
        factors[..coefficients.len()].copy_from_slice(coefficients);
        let (n, y) = (y.len() as u64, y.pointer());
        let arguments = [bytes_of(&factors), bytes_of(&pointers), bytes_of(&count), bytes_of(&y), bytes_of(&n)];
        // SAFETY: `count` vectors and `y` of `n` entries, checked above.
        unsafe { self.add_combination.launch(gpu, blocks, &arguments) }
    }
}

/// Addresses of 1 to [`VECTORS`] vectors as long as `y`, and their number.
fn pointers<T: Scalar>(gpu: &Arc<Gpu>, xs: &[&Vector<T>], y: &Vector<T>) -> Result<([CUdeviceptr; VECTORS], u32)> {
    assert!((1..=VECTORS).contains(&xs.len()));
    y.check(gpu, "y", y.len())?;
    let mut pointers = [0; VECTORS];
    for (pointer, x) in pointers.iter_mut().zip(xs) {
        x.check(gpu, "x", y.len())?;
        *pointer = x.pointer();
    }
    Ok((pointers, xs.len() as u32))
}

/// Blocks for an operation on `n` entries, which goes on in strides of the grid; none if there is no entry.
fn elementwise(gpu: &Gpu, kernel: &Kernel, n: usize) -> Option<[u32; 3]> {
    stride_blocks(n, kernel.spec.threads, gpu.multiprocessors() * BLOCKS_PER_MULTIPROCESSOR)
}

fn stride_blocks(n: usize, threads: u32, most: u32) -> Option<[u32; 3]> {
    (n > 0).then(|| [n.div_ceil(threads as usize).min(most as usize) as u32, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_long_as_leaves_no_multiprocessor_idle() {
        let tiles = |tiles: u32, cells: u32| move |chunk: u32| [tiles, 1, cells.div_ceil(chunk)];
        assert_eq!(chunk_of(16, 528, tiles(256, 64)), 16);
        assert_eq!(chunk_of(16, 528, tiles(64, 32)), 2);
        assert_eq!(chunk_of(8, 528, tiles(4, 8)), 1);
        assert_eq!(chunk_of(2, 4, tiles(4, 2)), 2);
    }

    #[test]
    fn enough_blocks_for_every_entry_and_no_more_than_are_useful() {
        assert_eq!(stride_blocks(0, 256, 100), None);
        assert_eq!(stride_blocks(1, 256, 100), Some([1, 1, 1]));
        assert_eq!(stride_blocks(256, 256, 100), Some([1, 1, 1]));
        assert_eq!(stride_blocks(257, 256, 100), Some([2, 1, 1]));
        assert_eq!(stride_blocks(1 << 40, 256, 100), Some([100, 1, 1]));
    }
}
