//! The step of [`smooth`](super::smooth) by products of small matrices: warps multiply tiles of `8 x 8` functions and nodes on tensor cores, in
//! `f64` whatever the vectors' scalar, so that `x` needs no shift by the value at a vertex. In 3D it is that of [`volume`], in 2D that of [`plane`].
//!
//! They transform `x` with zeros on the unknowns, and so only the faces of a patch, or its edges, by the two parts of `T = Sᵀ M_IB`: `T_E` of both ends
//! and `T_I` of the nodes between.
//!
//! A product of two directions stays in registers: what a lane has of the first product's columns is what the second one takes of its
//! left factor, if the rows of its right one are in that order, that of a [`ProductTable`].

mod plane;
mod table;
mod volume;

pub use table::ProductTable;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::arranged;

use super::left_out::LeftOut;
use super::smooth::{Along, patch_of};
use crate::mma::{LANES, M8N8K4, Product};
#[cfg(not(target_arch = "nvptx64"))]
use crate::patch::Directions;
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use table::{STEP, TILE};

/// Whether elements of a degree and vectors of such scalars have them: where a step takes less time with them on an H200. Matrices of lower degrees
/// leave too much of a tile empty; degrees 9 and 10 in 2D would need three tiles a direction. In 3D and `f32` the other kernel is faster for
/// degree 5; for degree 6 the two have not been compared.
pub const fn are_for(dim: usize, degree: usize, scalar_bytes: usize) -> bool {
    match (dim, scalar_bytes) {
        (2, _) => degree >= 3 && degree <= 8,
        (_, 8) => degree >= 4,
        _ => degree == 4 || degree >= 7,
    }
}

/// Arguments of [`Smooth`](super::Smooth).
#[derive(Clone, Copy)]
pub struct Step<T> {
    pub tables: *const T,
    pub starts: *const u32,
    pub b: *const T,
    pub x: *mut T,
    pub left_out: LeftOut,
}

impl<T: Real> Step<T> {
    /// What a lane takes of the patch of the color with an index in a direction, whose nodes lie so far from each other.
    ///
    /// # Safety
    /// There is such a patch.
    #[inline(always)]
    unsafe fn side<const K: usize>(self, d: usize, index: u32, distance: usize, lane: usize) -> Side<T, K> {
        // SAFETY: the caller's promise.
        let along =
            unsafe { patch_of(self.tables, self.starts, self.left_out.directions, self.left_out.color, d, index) };
        Side { along, distance, lane }
    }
}

/// Of a direction's functions and unknowns, at most.
const TILES: usize = 2;
const STEPS: usize = 4;

/// See [`Smooth`](super::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(dim: usize, degree: usize, scalar_bytes: usize) -> Block {
    if dim == 2 { plane::block(degree, scalar_bytes) } else { volume::block(degree, scalar_bytes) }
}

/// Blocks for the patches of a color; none if there are no patches.
#[cfg(not(target_arch = "nvptx64"))]
pub fn blocks(dim: usize, degree: usize, directions: Directions, color: u32) -> [u32; 3] {
    directions.blocks(dim, color, if dim == 2 { plane::PATCHES } else { volume::patches(degree) })
}

/// See [`Smooth`](super::Smooth).
///
/// # Safety
/// Launched as [`block`] and [`blocks`] say, with tables of the level's patches, and vectors of its nodes.
#[inline(always)]
pub unsafe fn smooth<T: Real, const DIM: usize, const K: usize, const M: usize>(step: Step<T>) {
    // SAFETY: the caller's promise.
    unsafe {
        match DIM {
            2 => plane::smooth::<T, K, M>(step),
            _ => volume::smooth::<T, K, M>(step),
        }
    }
}

type Sums = [[[f64; 2]; TILES]; TILES];

/// What a lane has of a matrix: entries of a row of each tile, in steps.
type Factor = [[f64; STEPS]; TILES];

/// `sums + left * right`.
///
/// # Safety
/// All lanes of the warp come here together.
#[inline(always)]
unsafe fn add(left: f64, right: f64, sums: &mut [f64; 2]) {
    // SAFETY: the caller's promise.
    *sums = unsafe { M8N8K4::multiply_add(&[left], &[right], sums) };
}

/// What a lane takes of a patch in a direction.
#[derive(Clone, Copy)]
struct Side<T, const K: usize> {
    along: Along<T>,
    /// From a node to the next one.
    distance: usize,
    lane: usize,
}

impl<T: Real, const K: usize> Side<T, K> {
    const TABLE: ProductTable = ProductTable::new(K);
    const TILES: usize = ProductTable::new(K).tiles;

    #[inline(always)]
    fn entry(&self, place: usize, index: usize) -> f64 {
        // SAFETY: a part of the patch's table.
        unsafe { self.along.entry(place, index) }.to_f64()
    }

    #[inline(always)]
    fn factor(&self, start: usize) -> Factor {
        let mut factor = [[0.0; STEPS]; TILES];
        for tile in 0..Self::TILES {
            for step in 0..2 * Self::TILES {
                factor[tile][step] = self.entry(start + LANES * (2 * Self::TILES * tile + step), self.lane);
            }
        }
        factor
    }

    #[inline(always)]
    fn analysis(&self) -> Factor {
        self.factor(Self::TABLE.analysis())
    }

    #[inline(always)]
    fn synthesis(&self) -> Factor {
        self.factor(Self::TABLE.synthesis())
    }

    /// `T` as left (0) or right (1) factor.
    #[inline(always)]
    fn transform(&self, factor: usize) -> WithEnds {
        let start = Self::TABLE.transform(factor);
        let mut ends = [0.0; TILES];
        for tile in 0..Self::TILES {
            ends[tile] = self.entry(start + Self::TABLE.matrix() + LANES * tile, self.lane);
        }
        WithEnds { inner: self.factor(start), ends }
    }

    /// The eigenvalue of a function.
    #[inline(always)]
    fn value(&self, function: usize) -> f64 {
        self.entry(Self::TABLE.functions(0), function)
    }

    /// What couples a function to an end, negative, and its `T_E` there.
    #[inline(always)]
    fn ends(&self, function: usize, end: usize) -> [f64; 2] {
        [1, 3].map(|part| self.entry(Self::TABLE.functions(part), TILE * Self::TILES * end + function))
    }

    /// Offset of the node of the level that a node of the patch is, or the last node for those behind; of the vertex, if there is none.
    #[inline(always)]
    fn offset(&self, node: usize) -> usize {
        let vertex = (self.along.vertex * K as u32) as usize;
        self.distance * self.along.node::<K>(node.min(2 * K)).unwrap_or(vertex)
    }

    /// The same of a patch whose nodes all lie where they are stored.
    #[inline(always)]
    fn offset_within(&self, node: usize) -> usize {
        self.distance * ((self.along.vertex as usize - 1) * K + node.min(2 * K))
    }

    /// That of an unknown, if there is one.
    #[inline(always)]
    fn unknown(&self, unknown: usize) -> Option<usize> {
        let node = self.along.node::<K>(unknown + 1)?;
        (unknown < 2 * K - 1).then_some(self.distance * node)
    }
}

/// `T` in parts.
#[derive(Clone, Copy)]
struct WithEnds {
    inner: Factor,
    ends: [f64; TILES],
}

/// Adds `left * values`, a column of tiles, to sums.
///
/// # Safety
/// All lanes of the warp come here together.
#[inline(always)]
unsafe fn add_column<const M: usize>(left: &Factor, values: &[f64; STEPS], sums: &mut [[f64; 2]; TILES]) {
    let (tiles, steps) = const { (M.div_ceil(TILE), M.div_ceil(STEP)) };
    for step in 0..steps {
        for row in 0..tiles {
            // SAFETY: the caller's promise.
            unsafe { add(left[row][step], values[step], &mut sums[row]) };
        }
    }
}

/// Adds what an end makes of a column of tiles.
///
/// # Safety
/// As of [`add_column`].
#[inline(always)]
unsafe fn add_end<const M: usize>(left: &[f64; TILES], value: f64, sums: &mut [[f64; 2]; TILES]) {
    for row in 0..const { M.div_ceil(TILE) } {
        // SAFETY: the caller's promise.
        unsafe { add(left[row], value, &mut sums[row]) };
    }
}

/// Adds products of sums, as left factors, to others. `right` has pairs of steps.
///
/// # Safety
/// As of [`add_column`].
#[inline(always)]
unsafe fn add_along_rows<const M: usize>(first: &Sums, right: &Factor, sums: &mut Sums) {
    let tiles = const { M.div_ceil(TILE) };
    for inner in 0..tiles {
        for i in 0..2 {
            // Others have no function.
            if TILE * inner + i < M {
                for row in 0..tiles {
                    for column in 0..tiles {
                        // SAFETY: the caller's promise.
                        unsafe { add(first[inner][row][i], right[column][2 * inner + i], &mut sums[column][row]) };
                    }
                }
            }
        }
    }
}

const NO_SUMS: Sums = [[[0.0; 2]; TILES]; TILES];

/// `left * values * rightᵀ`, by columns of tiles.
///
/// # Safety
/// As of [`add_column`].
#[inline(always)]
unsafe fn both<const M: usize>(left: &Factor, values: &[[f64; STEPS]; TILES], right: &Factor) -> Sums {
    let (mut first, mut sums) = (NO_SUMS, NO_SUMS);
    // SAFETY: the caller's promise.
    unsafe {
        // Not a loop, which would not be unrolled: sums would lie in memory.
        add_column::<M>(left, &values[0], &mut first[0]);
        if M > TILE {
            add_column::<M>(left, &values[1], &mut first[1]);
        }
        add_along_rows::<M>(&first, right, &mut sums);
    }
    sums
}
