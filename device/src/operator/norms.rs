//! Norms of the residual in 3D, without the residual: what the operator would store is squared and summed up instead.

use crate::blas1::{block_sum, sum_barriers};
use crate::kernels::Shape;
use crate::layout::Shared;
use crate::matrices::{CellMatrices, Scaled};
use crate::operator::Output;
use crate::operator::cells::{Equal, Without};
use crate::operator::nodes::{Copies, Outputs, Planes};
use crate::operator::planes::planes;
use crate::operator::tile::{self, Tile};
use crate::patch::Grid;
use crate::scalar::{Real, Value};
use core::cell::Cell;
use cuda_std::thread;

/// `norms[block] = |b - A x|` over the outputs of a block, blocks counted along x, then y, then z.
///
/// # Safety
/// As of [`apply_3d`](super::apply_3d), with a number for each block in `norms`.
#[inline(always)]
pub unsafe fn residual_norms_3d<const K: usize, const C: usize, const H: usize>(
    scaled: &Scaled<CellMatrices<f64, C, H>, f64>,
    b: *const f64,
    x: *const f64,
    norms: *mut f64,
    cells: [u32; 3],
    chunk: u32,
) {
    let squares = Cell::new(0.0);
    let on = Squares { grid: Grid { cells, degree: K as u32 }, sum: &squares };
    // SAFETY: the caller's promise; nothing is stored.
    unsafe {
        let (cells, output) = (Equal { reaction: Without }, Output { b, y: core::ptr::null_mut() });
        planes::<f64, f64, _, _, true, K, C, H>(scaled, on, cells, x, output, chunk)
    };
    // Others may still read products.
    thread::sync_threads();
    let sum = block_sum(squares.get(), const { Tile::of(K, size_of::<f64>()).threads() });
    if thread::thread_idx_x() == 0 {
        let row = thread::block_idx_y() + thread::grid_dim_y() * thread::block_idx_z();
        let block = thread::block_idx_x() as usize + thread::grid_dim_x() as usize * row as usize;
        // SAFETY: the caller's promise.
        unsafe { *norms.add(block) = <f64 as Real>::sqrt(sum) };
    }
}

/// Its shape on a block.
pub const fn shape(degree: usize) -> Shape {
    let shape = tile::shape(degree, size_of::<f64>(), size_of::<f64>());
    assert!(shape.words >= shape.columns);
    Shape { barriers: shape.barriers + 1 + sum_barriers(shape.columns), ..shape }
}

/// Blocks that a multiprocessor should hold: one less than of the operator where the sum would spill.
pub const fn min_blocks(degree: usize) -> u32 {
    let blocks = tile::min_blocks(degree, size_of::<f64>());
    if matches!(degree, 3 | 5 | 6) { blocks - 1 } else { blocks }
}

/// The nodes of a grid, and the sum of the calling thread's squares.
#[derive(Clone, Copy)]
struct Squares<'a> {
    grid: Grid,
    sum: &'a Cell<f64>,
}

impl<const K: usize> Planes<f64, K> for Squares<'_> {
    type Copies = Copies<f64>;

    #[inline(always)]
    fn layers(self) -> u32 {
        Planes::<f64, K>::layers(self.grid)
    }

    #[inline(always)]
    fn first_layer(self, own: u32) -> u32 {
        Planes::<f64, K>::first_layer(self.grid, own)
    }

    #[inline(always)]
    fn copies(self, tile: Tile, x: *const f64, layer: u32, left: usize, below: usize) -> Copies<f64> {
        Planes::<f64, K>::copies(self.grid, tile, x, layer, left, below)
    }

    #[inline(always)]
    unsafe fn copy(self, copies: &mut Copies<f64>, tile: Tile, plane: Shared<f64>, index: usize) {
        // SAFETY: the caller's promise.
        unsafe { Planes::<f64, K>::copy(self.grid, copies, tile, plane, index) }
    }
}

impl<const K: usize> Outputs<f64, K> for Squares<'_> {
    #[inline(always)]
    fn column(self, is_one: bool, x: usize, y: usize) -> (u32, bool) {
        Outputs::<f64, K>::column(self.grid, is_one, x, y)
    }

    #[inline(always)]
    unsafe fn b(self, first: u32, b: *const f64, z: u32) -> [f64; K] {
        // SAFETY: the caller's promise.
        unsafe { Outputs::<f64, K>::b(self.grid, first, b, z) }
    }

    #[inline(always)]
    fn load(self, b: [f64; K], z: u32) -> [f64; K] {
        Outputs::<f64, K>::load(self.grid, b, z)
    }

    #[inline(always)]
    unsafe fn store<const C: usize>(self, is_stored: bool, first: u32, _y: *mut f64, z: u32, values: &[[f64; K]; C]) {
        if !is_stored {
            return;
        }
        let mut sum = self.sum.get();
        for local in 0..K {
            for y in 0..K {
                // Those of the boundary are no outputs, as of the grid's `store`.
                if (y > 0 || first as usize >= self.grid.row()) && (local > 0 || z > 0) {
                    sum = f64::fma(values[local][y], values[local][y], sum);
                }
            }
        }
        self.sum.set(sum);
    }
}
