//! A matrix along an axis of a tensor: `y = (I ⊗ Q ⊗ I) x`, the matrix with few entries a row or dense, of any degree.
//!
//! A thread owns an entry of `y`. A block is a box of threads, as many as fit along `inner`, where entries are beside each other,
//! then along the rows, then along `outer`: powers of two, so that shifts tell where a thread is.

mod outer;

use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::{any_size, kernels::Module, typed::Block, typed::Kind};
use bytemuck::{Pod, Zeroable};
use cuda_std::thread;
pub use outer::{OuterShape, PLANES, outer_products};

/// Threads of a block.
pub const THREADS: usize = 256;
/// Blocks in y; as many of them as there must be are in z, because either is at most 65535.
const OUTER_BLOCKS: u32 = 1 << 15;

/// Sizes of the tensors and of the matrix: `x` is `[outer][columns][inner]`, `y` is `[outer][rows][inner]`, `inner` fastest.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisShape {
    pub outer: u32,
    pub rows: u32,
    pub columns: u32,
    pub inner: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for AxisShape {}
// SAFETY: as above.
unsafe impl Pod for AxisShape {}

impl AxisShape {
    /// Blocks for a thread an entry of `y`; none if `y` has no entry.
    pub const fn blocks(self) -> [u32; 3] {
        let [inner, row, outer] = self.tiles();
        let outer_blocks = if outer < OUTER_BLOCKS { outer } else { OUTER_BLOCKS };
        [inner * row, outer_blocks, outer.div_ceil(OUTER_BLOCKS)]
    }

    /// Binary logarithms of a block's threads along `inner`, the rows and `outer`.
    #[inline(always)]
    const fn bits(self) -> [u32; 3] {
        const ALL: u32 = THREADS.ilog2();
        let inner = bits_of(self.inner, ALL);
        let row = bits_of(self.rows, ALL - inner);
        [inner, row, ALL - inner - row]
    }

    /// Blocks that it takes along each of them.
    #[inline(always)]
    const fn tiles(self) -> [u32; 3] {
        let [inner, row, outer] = self.bits();
        [self.inner.div_ceil(1 << inner), self.rows.div_ceil(1 << row), self.outer.div_ceil(1 << outer)]
    }

    /// Where in `y` a thread's entry is, `[inner, row, outer]`, if there is one.
    #[inline(always)]
    fn place(self, [x, y, z]: [u32; 3], thread: u32) -> Option<[u32; 3]> {
        let ([inner_bits, row_bits, outer_bits], [tiles, ..]) = (self.bits(), self.tiles());
        // Never 0 where there are entries; the compiler leaves out the panic of a division by 0.
        let tiles = if tiles == 0 { 1 } else { tiles };
        let (row_thread, outer_thread) = (thread >> inner_bits, thread >> (inner_bits + row_bits));
        let inner = ((x % tiles) << inner_bits) + (thread & ((1 << inner_bits) - 1));
        let row = ((x / tiles) << row_bits) + (row_thread & ((1 << row_bits) - 1));
        let outer = ((z * OUTER_BLOCKS + y) << outer_bits) + outer_thread;
        (inner < self.inner && row < self.rows && outer < self.outer).then_some([inner, row, outer])
    }
}

/// The binary logarithm of the least power of two that is not below `size`, at most `most`.
#[inline(always)]
const fn bits_of(size: u32, most: u32) -> u32 {
    let bits = u32::BITS - size.saturating_sub(1).leading_zeros();
    if bits < most { bits } else { most }
}

crate::kernels! {
    by any_size;

    /// `y = (I ⊗ Q ⊗ I) x`, or `y += (I ⊗ Q ⊗ I) x`: sums over ascending columns, which begin with 0 or with `y`.
    Apply = apply(
        /// Entry `t` of row `i` at `t * rows + i`, for `t < count[i]`.
        entries: *const T,
        /// Column of a row's entry 0.
        first: *const u32,
        /// Entries of a row, at most `columns - first[i]`.
        count: *const u32,
        x: *const T,
        /// Another vector than `x`.
        y: *mut T,
        shape: AxisShape,
        /// 1 to add to `y`, 0 to overwrite it.
        add: u32,
    ), Block::of(THREADS);

    /// `y = sum_r f_r0 ⊗ f_r1 ⊗ f_r2`, or `y += ..`: sums of outer products of vectors along x, y and z.
    OuterProducts = outer_products(
        /// Of each product its factor along x, that along y and that along z, one after the other.
        factors: *const f64,
        y: *mut T,
        shape: OuterShape,
        /// 1 to add to `y`, 0 to overwrite it.
        add: u32,
    ), Block::of(THREADS);
}

/// Its one module.
#[cfg(not(target_arch = "nvptx64"))]
pub const MODULE: Module = KIND.module(0, 0);

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) static KIND: Kind = Kind {
    name: "axis",
    is_of_paper: false,
    needs_hopper: false,
    spaces: std::vec::Vec::new,
    module_name: |_, _| "axis".into(),
    rows: ROWS,
    traced: |_| ([0; 3], 1),
    samples: [|_| |_, _| None; 2],
};

/// See [`Apply`].
///
/// # Safety
/// Launched with [`THREADS`] threads a block and [`AxisShape::blocks`]; the matrix and the vectors are as the arguments say.
#[inline(always)]
pub unsafe fn apply<T: Real>(
    entries: *const T,
    first: *const u32,
    count: *const u32,
    x: *const T,
    y: *mut T,
    shape: AxisShape,
    add: u32,
) {
    let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
    let Some(place) = shape.place(block, thread::thread_idx_x()) else { return };
    let [inner, row, outer] = place.map(|index| index as usize);
    let (rows, columns, stride) = (shape.rows as usize, shape.columns as usize, shape.inner as usize);
    // SAFETY: the caller's promise; `count` columns from `first` on are in the matrix, and the entry of `y` is the thread's own.
    unsafe {
        let y = y.add((outer * rows + row) * stride + inner);
        let mut x = x.add((outer * columns + *first.add(row) as usize) * stride + inner);
        let mut entries = entries.add(row);
        let mut sum = if add == 0 { T::ZERO } else { *y };
        // The assembler loads four columns before it adds the first.
        for _ in 0..*count.add(row) {
            sum = T::fma(*entries, *x, sum);
            (entries, x) = (entries.add(rows), x.add(stride));
        }
        *y = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn every_entry_has_one_thread() {
        let sizes = [[1, 1, 1], [3, 5, 7], [1, 300, 2], [1, 9, 200], [700, 2, 3], [33, 70, 2], [1, 2, 1 << 23]];
        for [inner, rows, outer] in sizes {
            let shape = AxisShape { outer, rows, columns: 1, inner };
            let mut owners = vec![0_u8; (inner * rows * outer) as usize];
            let [blocks_x, blocks_y, blocks_z] = shape.blocks();
            assert!(blocks_y < 1 << 16 && blocks_z < 1 << 16);
            for block in 0..blocks_x * blocks_y * blocks_z {
                let block = [block % blocks_x, block / blocks_x % blocks_y, block / blocks_x / blocks_y];
                for thread in 0..THREADS as u32 {
                    if let Some([i, row, o]) = shape.place(block, thread) {
                        owners[((o * rows + row) * inner + i) as usize] += 1;
                    }
                }
            }
            assert!(owners.iter().all(|&owners| owners == 1), "{shape:?}");
        }
    }

    #[test]
    fn no_entry_needs_no_block() {
        for [outer, rows, inner] in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
            assert!(AxisShape { outer, rows, columns: 1, inner }.blocks().contains(&0));
        }
    }
}
