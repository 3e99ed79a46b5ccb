//! A dense matrix along an axis of a tensor, `y = (I ⊗ Q ⊗ I) x`, by products of small matrices (`mma.sync`) in `f64`, whatever the scalar of
//! the vectors: what fast diagonalization of a whole box is made of.
//!
//! Where the other directions of a tensor are counted together, `x` is a matrix of `columns` rows and `outer * inner` lines across them. A block
//! computes a tile of [`ROWS`] rows and [`LINES`] lines of `y`, its warps beside each other in the lines. It runs through the columns in steps of
//! [`STEP`]: while it multiplies with what one step brought to shared memory, what the next one needs is copied there.
//!
//! There are two modules, by what a device has: [`ampere`] with products m8n8k4, [`hopper`] with m16n8k4.

/// A module of products: its kernels, and what the list says of it.
macro_rules! module {
    ($Product:ty, $kind:literal, $name:literal, needs_hopper: $needs_hopper:literal) => {
        use super::{DenseShape, multiply};
        use crate::scalar::Real;
        use cuda_std::shared::Word;
        #[cfg(not(target_arch = "nvptx64"))]
        use {
            crate::any_size,
            crate::kernels::Module,
            crate::typed::{Kind, Sample},
            std::boxed::Box,
        };

        crate::kernels! {
            by any_size;

            /// `y = (I ⊗ Q ⊗ I) x` along the rows of tensors.
            Along = along(
                /// [Arranged](super::arranged).
                matrix: *const f64,
                x: *const T,
                /// Another vector than `x`.
                y: *mut T,
                shape: DenseShape,
                /// 1 to add to `y`, 0 to overwrite it.
                add: u32,
            ), super::block(true, size_of::<T>());

            /// The same across rows, along one of the other directions.
            Across = across(
                /// [Arranged](super::arranged).
                matrix: *const f64,
                x: *const T,
                /// Another vector than `x`.
                y: *mut T,
                shape: DenseShape,
                /// 1 to add to `y`, 0 to overwrite it.
                add: u32,
            ), super::block(false, size_of::<T>());
        }

        /// Its one module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const MODULE: Module = KIND.module(0, 0);

        #[cfg(not(target_arch = "nvptx64"))]
        pub(crate) static KIND: Kind = Kind {
            name: $kind,
            is_of_paper: false,
            needs_hopper: $needs_hopper,
            spaces: std::vec::Vec::new,
            module_name: |_, _| $name.into(),
            rows: ROWS,
            traced: |_| ([0; 3], super::LINES * super::ROWS),
            samples: [sample::<f32>, sample::<f64>],
        };

        /// Of one block that is full.
        #[cfg(not(target_arch = "nvptx64"))]
        fn sample<T: Real + Word>(name: &str) -> Sample {
            match name {
                "along" => |_, memory| {
                    let (matrix, x, y) = (memory.cast_const().cast(), memory.cast_const().cast(), memory.cast());
                    Some(Box::new(Along::<T> { matrix, x, y, shape: DenseShape::of_block(true), add: 0 }))
                },
                _ => |_, memory| {
                    let (matrix, x, y) = (memory.cast_const().cast(), memory.cast_const().cast(), memory.cast());
                    Some(Box::new(Across::<T> { matrix, x, y, shape: DenseShape::of_block(false), add: 0 }))
                },
            }
        }

        /// See [`Along`].
        ///
        /// # Safety
        /// Launched with [`DenseShape::blocks`]; the matrix is [arranged](super::arranged), the vectors are as the shape says, which the kernels
        /// [take](DenseShape::is_taken).
        #[inline(always)]
        pub unsafe fn along<T: Real + Word>(matrix: *const f64, x: *const T, y: *mut T, shape: DenseShape, add: u32) {
            // SAFETY: the caller's promise.
            unsafe { multiply::<$Product, T, true>(matrix, x, y, shape, add) }
        }

        /// See [`Across`].
        ///
        /// # Safety
        /// Launched with [`DenseShape::blocks`]; the matrix is [arranged](super::arranged), the vectors are as the shape says, which the kernels
        /// [take](DenseShape::is_taken).
        #[inline(always)]
        pub unsafe fn across<T: Real + Word>(matrix: *const f64, x: *const T, y: *mut T, shape: DenseShape, add: u32) {
            // SAFETY: the caller's promise.
            unsafe { multiply::<$Product, T, false>(matrix, x, y, shape, add) }
        }
    };
}

#[cfg(any(not(target_arch = "nvptx64"), module = "dense_ampere"))]
pub mod ampere;
#[cfg(any(not(target_arch = "nvptx64"), module = "dense_hopper"))]
pub mod hopper;

use crate::mma::{LANES, Product};
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use bytemuck::{Pod, Zeroable};
use cuda_std::shared::{CHUNK, Dynamic, Word, wait_for_copies};
use cuda_std::thread;

/// Rows of `y` that a block computes.
pub const ROWS: usize = 64;
/// Lines of it.
pub const LINES: usize = WARPS * LINES_OF_WARP;
/// Columns of the matrix that a block multiplies with at a time.
pub const STEP: usize = 16;

const WARPS: usize = 4;
const LINES_OF_WARP: usize = 32;
const THREADS: usize = WARPS * LANES;

/// Rows of a fragment of the matrix: of one product or of two.
const TILE: usize = 16;
/// Columns of it, and lines of a fragment of `x`.
const INNER: usize = 4;
const WIDTH: usize = 8;
/// Fragments of a warp's tile.
const TILES: usize = ROWS / TILE;
const WIDTHS: usize = LINES_OF_WARP / WIDTH;

/// Words of the matrix that a step takes.
const MATRIX: usize = ROWS * STEP;

/// Where entries of `x` lie in shared memory: along the axis, or across it. Rows begin such that those which lanes read together lie in different
/// banks.
const fn pitch(is_along: bool, scalar_bytes: usize) -> usize {
    match (is_along, scalar_bytes) {
        (true, _) => STEP + 4,
        (false, 8) => LINES + 4,
        (false, _) => LINES + 8,
    }
}

/// Words of `x` that a step takes.
const fn words(is_along: bool, scalar_bytes: usize) -> usize {
    pitch(is_along, scalar_bytes) * if is_along { LINES } else { STEP }
}

/// How the kernels are launched.
#[cfg(not(target_arch = "nvptx64"))]
const fn block(is_along: bool, scalar_bytes: usize) -> Block {
    let shared_bytes = 2 * (MATRIX * size_of::<f64>() + words(is_along, scalar_bytes) * scalar_bytes);
    Block { threads: THREADS, min_blocks: 2, shared_bytes, barriers: 1 }
}

/// Sizes of the tensors, and the part of the matrix that has entries: `x` is `[outer][columns][inner]`, `y` is `[outer][rows][inner]`, `inner`
/// fastest.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenseShape {
    pub outer: u32,
    pub rows: u32,
    pub columns: u32,
    pub inner: u32,
    /// The first row that has entries, and how many rows follow with it. Of others the products are zero.
    pub first_row: u32,
    pub row_count: u32,
    /// The same of columns; of tensors with `inner = 1` whole chunks.
    pub first_column: u32,
    pub column_count: u32,
}

// SAFETY: eight `u32` without padding.
unsafe impl Zeroable for DenseShape {}
// SAFETY: as above.
unsafe impl Pod for DenseShape {}

impl DenseShape {
    /// Of one block, which is full, and one step: along the axis or across it.
    #[cfg(not(target_arch = "nvptx64"))]
    const fn of_block(is_along: bool) -> Self {
        let (lines, rows, columns) = (LINES as u32, ROWS as u32, STEP as u32);
        let [outer, inner] = if is_along { [lines, 1] } else { [1, lines] };
        Self { outer, rows, columns, inner, first_row: 0, row_count: rows, first_column: 0, column_count: columns }
    }

    /// Lines across the axis.
    const fn lines(self) -> u64 {
        self.outer as u64 * self.inner as u64
    }

    /// Blocks; none if the tensors have no line.
    pub const fn blocks(self) -> [u32; 3] {
        [self.row_count.div_ceil(ROWS as u32) * self.lines().div_ceil(LINES as u64) as u32, 1, 1]
    }

    /// Whether the kernels take tensors of such a shape, which begin at these entries of `x` and `y`: rows of `x` are whole chunks, and those of `y`
    /// across the axis pairs.
    pub const fn is_taken<T>(self, [from, to]: [usize; 2]) -> bool {
        let chunk = (CHUNK / size_of::<T>()) as u32;
        let row = if self.inner == 1 { self.columns | self.first_column | self.column_count } else { self.inner };
        let blocks = self.lines().div_ceil(LINES as u64) * self.row_count.div_ceil(ROWS as u32) as u64;
        let is_there = self.row_count > 0 && self.column_count > 0;
        let is_aligned = from.is_multiple_of(chunk as usize) && to.is_multiple_of(2);
        is_there && row.is_multiple_of(chunk) && is_aligned && blocks < 1 << 24
    }
}

/// Words of a matrix as the kernels take it.
pub const fn matrix_words(rows: usize, columns: usize) -> usize {
    rows.next_multiple_of(ROWS) * columns.next_multiple_of(STEP)
}

/// The entries of a matrix as the kernels take them: for each [`ROWS`] of its rows, and for each fragment of four columns, the fragments below
/// each other, of which lane `4 g + t` of a warp has rows `g` and `g + 8` and column `t`; rows and columns that there are not are zero.
#[cfg(not(target_arch = "nvptx64"))]
pub fn arranged(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> std::vec::Vec<f64> {
    let inners = columns.next_multiple_of(STEP) / INNER;
    (0..matrix_words(rows, columns))
        .map(|index| {
            let (lane, part) = (index % LANES, index / LANES % 2);
            let (tile, rest) = (index / (2 * LANES) % TILES, index / (2 * LANES * TILES));
            let (inner, block) = (rest % inners, rest / inners);
            let row = block * ROWS + tile * TILE + part * WIDTH + lane / INNER;
            let column = inner * INNER + lane % INNER;
            if row < rows && column < columns { entry(row, column) } else { 0.0 }
        })
        .collect()
}

/// Products of [`TILE`] rows: of one instruction, or of two.
trait Rows: Product<Scalar = f64, B = [f64; 1]> {
    /// `sums += a b`, with a lane's elements of rows `g` and `g + 8`.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    unsafe fn add(a: [f64; 2], b: f64, sums: &mut [f64; 4]);
}

/// A thread's part of what its block copies in a step.
#[derive(Clone, Copy)]
struct Copies<T> {
    /// Of the block's rows of the matrix.
    matrix: *const f64,
    /// In the first column.
    x: *const T,
    /// Along the axis, entries from a line to the next one; across it, from a column to the next one.
    distance: usize,
    /// That have entries.
    columns: usize,
    /// Lines before the block's.
    first_line: usize,
    lines: usize,
    thread: usize,
}

impl<T: Real + Word> Copies<T> {
    const CHUNK: usize = CHUNK / size_of::<T>();

    /// Starts to copy what the columns from `column` on need to a half of shared memory.
    ///
    /// # Safety
    /// All threads of the block come here; nobody reads that half until the copies have ended, and a barrier is behind that.
    #[inline(always)]
    unsafe fn start<const ALONG: bool>(&self, column: usize, matrix: Dynamic<f64>, x: Dynamic<T>) {
        const OF_MATRIX: usize = CHUNK / size_of::<f64>();
        // SAFETY: the caller's promise; the matrix has whole steps, and what is asked of `x` is of its lines and columns, or of others in the place
        // of those that there are not: the matrix is zero there, or the results are not stored.
        unsafe {
            let source = self.matrix.add(column * ROWS);
            for i in 0..MATRIX / OF_MATRIX / THREADS {
                let word = (self.thread + i * THREADS) * OF_MATRIX;
                matrix.copy_chunk_async(word as u32, source.add(word));
            }
            if ALONG {
                let chunks = STEP / Self::CHUNK;
                let (line, part) = (self.thread / chunks, self.thread % chunks * Self::CHUNK);
                let wanted = column + part;
                let column = if wanted < self.columns { wanted } else { self.columns - Self::CHUNK };
                for i in 0..LINES * chunks / THREADS {
                    let line = line + i * (THREADS / chunks);
                    let wanted = self.first_line + line;
                    let place = if wanted < self.lines { wanted } else { self.lines - 1 } * self.distance + column;
                    x.copy_chunk_async((line * pitch(true, size_of::<T>()) + part) as u32, self.x.add(place));
                }
            } else {
                let chunks = LINES / Self::CHUNK;
                let (row, part) = (self.thread / chunks, self.thread % chunks * Self::CHUNK);
                for i in 0..STEP * chunks / THREADS {
                    let row = row + i * (THREADS / chunks);
                    let wanted = column + row;
                    let place = if wanted < self.columns { wanted } else { self.columns - 1 } * self.distance;
                    x.copy_chunk_async((row * pitch(false, size_of::<T>()) + part) as u32, self.x.add(place));
                }
            }
        }
    }
}

/// `y = value`, or `y += value`.
///
/// # Safety
/// The entry is the thread's own.
#[inline(always)]
unsafe fn put<T: Real>(y: *mut T, value: f64, add: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        let old = if add == 0 { 0.0 } else { (*y).to_f64() };
        *y = T::from_f64(old + value);
    }
}

/// The same of two neighbours by one access: halves of a sector would be written one after the other.
///
/// # Safety
/// Both entries are the thread's own; on a GPU they are aligned together.
#[inline(always)]
unsafe fn put_pair<T: Real>(y: *mut T, values: [f64; 2], add: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        if size_of::<T>() == size_of::<f64>() {
            let y = y.cast::<Doubles>();
            let [first, second] = if add == 0 { [0.0; 2] } else { (*y).0 };
            *y = Doubles([first + values[0], second + values[1]]);
        } else {
            let y = y.cast::<Floats>();
            let [first, second] = if add == 0 { [0.0; 2] } else { (*y).0.map(f64::from) };
            *y = Floats([(first + values[0]) as f32, (second + values[1]) as f32]);
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        put(y, values[0], add);
        put(y.add(1), values[1], add);
    }
}

#[cfg(target_arch = "nvptx64")]
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Doubles([f64; 2]);

#[cfg(target_arch = "nvptx64")]
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Floats([f32; 2]);

/// `y = (I ⊗ Q ⊗ I) x`, or `y += ..`: along the axis, where `inner` is 1, or across it.
///
/// # Safety
/// Launched as [`block`] and [`DenseShape::blocks`] say; the matrix is [`arranged`], the vectors are as the shape says, which the kernels
/// [take](DenseShape::is_taken).
#[inline(always)]
unsafe fn multiply<P: Rows, T: Real + Word, const ALONG: bool>(
    matrix: *const f64,
    x: *const T,
    y: *mut T,
    shape: DenseShape,
    add: u32,
) {
    // There are fewer than 2^31 lines.
    let (inner, row_blocks) = (shape.inner, shape.row_count.div_ceil(ROWS as u32));
    // Never 0 where there are entries; the compiler leaves out the panic of a division by 0.
    let (inner, row_blocks) = (if inner == 0 { 1 } else { inner }, if row_blocks == 0 { 1 } else { row_blocks });
    let (lines, block, thread) = (shape.outer * inner, thread::block_idx_x(), thread::thread_idx_x() as usize);
    let (first_row, first_line) = ((block % row_blocks) as usize * ROWS, block / row_blocks * LINES as u32);
    let (lane, warp) = (thread % LANES, thread / LANES);
    let steps = (shape.column_count as usize).div_ceil(STEP);
    // Where in a tensor with so many entries along the axis a line begins.
    let begin = |line: u32, size: u32| match ALONG {
        true => line as usize * size as usize,
        false => (line / inner) as usize * size as usize * inner as usize + (line % inner) as usize,
    };
    // From an entry of a line to the next one.
    let next = if ALONG { 1 } else { inner as usize };

    let chunk = CHUNK / size_of::<T>();
    let wanted = first_line + (thread % (LINES / chunk) * chunk) as u32;
    let line = if wanted < lines { wanted } else { lines - chunk as u32 };
    let of_thread = if ALONG { 0 } else { begin(line, shape.columns) };
    // SAFETY: the matrix has whole blocks of rows; the line is one of the tensor.
    let copies = unsafe {
        Copies {
            matrix: matrix.add(first_row * steps * STEP),
            x: x.add(of_thread + shape.first_column as usize * next),
            distance: if ALONG { shape.columns as usize } else { next },
            columns: shape.column_count as usize,
            first_line: first_line as usize,
            lines: lines as usize,
            thread,
        }
    };
    let of_x = const { words(ALONG, size_of::<T>()) };
    let place = |half: usize| {
        let matrix = Dynamic::<f64>::at((half * MATRIX) as u32);
        let before = 2 * MATRIX * size_of::<f64>() / size_of::<T>() + half * of_x;
        (matrix, Dynamic::<T>::at(before as u32))
    };

    let mut sums = [[[0.0; 4]; WIDTHS]; TILES];
    let (group, member) = (lane / 4, lane % 4);
    let line_of_warp = warp * LINES_OF_WARP + group;
    // SAFETY: the caller's promise; all threads of a block run through the same steps.
    unsafe {
        let (to_matrix, to_x) = place(0);
        copies.start::<ALONG>(0, to_matrix, to_x);
        for step in 0..steps {
            wait_for_copies();
            thread::sync_threads();
            let (of_matrix, of_x) = place(step % 2);
            if step + 1 < steps {
                let (to_matrix, to_x) = place((step + 1) % 2);
                copies.start::<ALONG>((step + 1) * STEP, to_matrix, to_x);
            }
            for inner in 0..STEP / INNER {
                let mut right = [0.0; WIDTHS];
                for width in 0..WIDTHS {
                    let (line, column) = (line_of_warp + width * WIDTH, inner * INNER + member);
                    let pitch = const { pitch(ALONG, size_of::<T>()) };
                    let word = if ALONG { line * pitch + column } else { column * pitch + line };
                    right[width] = of_x.get(word as u32).to_f64();
                }
                for tile in 0..TILES {
                    let word = |part: usize| ((inner * TILES + tile) * 2 + part) * LANES + lane;
                    let left = [of_matrix.get(word(0) as u32), of_matrix.get(word(1) as u32)];
                    for width in 0..WIDTHS {
                        P::add(left, right[width], &mut sums[tile][width]);
                    }
                }
            }
        }
        let y_first = y.add(shape.first_row as usize * next);
        for width in 0..WIDTHS {
            let line = first_line + (warp * LINES_OF_WARP + width * WIDTH + 2 * member) as u32;
            let start = begin(line, shape.rows);
            for tile in 0..TILES {
                for part in 0..2 {
                    let row = first_row + tile * TILE + part * WIDTH + group;
                    if row < shape.row_count as usize && line < lines {
                        let pair = [sums[tile][width][2 * part], sums[tile][width][2 * part + 1]];
                        let y = y_first.add(start + row * next);
                        if ALONG {
                            put(y, pair[0], add);
                            if line + 1 < lines {
                                put(y.add(shape.rows as usize), pair[1], add);
                            }
                        } else {
                            put_pair(y, pair, add);
                        }
                    }
                }
            }
        }
        // Rows without entries.
        let line = first_line + thread as u32;
        if add == 0 && first_row == 0 && line < lines {
            let y = y.add(begin(line, shape.rows));
            for row in 0..shape.first_row as usize {
                *y.add(row * next) = T::ZERO;
            }
            for row in (shape.first_row + shape.row_count) as usize..shape.rows as usize {
                *y.add(row * next) = T::ZERO;
            }
        }
    }
}

const _: () = assert!(THREADS == LINES, "a thread clears the rows without entries of a line");
