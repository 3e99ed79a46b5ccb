//! The step in 2D: a warp has a patch, and keeps all that it computes in registers.
//!
//! With the edges' transforms `X = T_y x_X` and `Y = T_x x_Y`, and `Y_I` without the nodes at the ends,
//!
//! ```text
//! x̂ = T_E,x X + T_E,y Y_I
//! ```
//!
//! One right factor has the four edges as columns, and one product adds what these contribute.

use super::table::{Lane, STEP, TILE};
use super::{NO_SUMS, STEPS, Side, Step, TILES, add, add_column, add_end, both};
use crate::mma::LANES;
use crate::patch::bit;
use crate::scalar::{Real, Value};
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::{Select, loads_together};
use cuda_std::thread;

/// Patches of a block, side by side in x, which share tables of y in the cache.
pub const PATCHES: usize = 4;

/// See [`Smooth`](crate::separable::graded::Smooth).
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(degree: usize, scalar_bytes: usize) -> Block {
    // Such that nothing spills.
    let min_blocks = match degree {
        ..=4 => 8,
        _ if scalar_bytes == 8 => 3,
        _ => 4,
    };
    Block { threads: LANES * PATCHES, min_blocks, shared_bytes: 0, barriers: 0 }
}

/// A warp's patch, and the lane.
struct Patch<T, const K: usize, const M: usize> {
    x_side: Side<T, K>,
    y_side: Side<T, K>,
    lane: Lane,
    x: *mut T,
    /// Whether all nodes lie where they are stored, and all unknowns are there.
    is_within: bool,
}

/// Offsets of what a lane takes of right factors; of another node where there is none, because there the matrices are zero.
struct Offsets {
    /// Of the unknowns, rows along y and columns along x.
    unknowns: [[usize; STEPS]; TILES],
    /// Of the edges, which are columns: both normal to x, then both normal to y; of each the nodes between its ends, and one of these.
    edges: [usize; STEPS],
    ends: usize,
}

impl<T: Real, const K: usize, const M: usize> Patch<T, K, M> {
    const TILES: usize = M.div_ceil(TILE);
    const STEPS: usize = M.div_ceil(STEP);

    /// By the offset of a node in a direction.
    #[inline(always)]
    fn offsets(&self, of: impl Fn(&Side<T, K>, usize) -> usize) -> Offsets {
        let Self { x_side, y_side, lane, .. } = self;
        let mut unknowns = [[0; STEPS]; TILES];
        for tile in 0..Self::TILES {
            let in_x = of(x_side, 1 + lane.row + TILE * tile);
            for step in 0..Self::STEPS {
                unknowns[tile][step] = in_x + of(y_side, 1 + lane.every_fourth(step));
            }
        }
        // Columns `2 e` and `2 e + 1` are both edge `e`; sums of the first one are taken.
        let edge = lane.row / 2;
        let (is_normal_to_x, end) = (edge < 2, 2 * K * (edge % 2));
        let of_edge = |node: usize| {
            let [in_x, in_y] = if is_normal_to_x { [end, node] } else { [node, end] };
            of(x_side, in_x) + of(y_side, in_y)
        };
        let mut edges = [0; STEPS];
        for step in 0..Self::STEPS {
            edges[step] = of_edge(1 + lane.every_fourth(step));
        }
        Offsets { unknowns, edges, ends: of_edge(2 * K * (lane.member % 2)) }
    }

    /// Offset of an unknown in a direction, if there is one. It is found again, and not kept, which would take registers.
    #[inline(always)]
    fn unknown(&self, side: &Side<T, K>, unknown: usize) -> Option<usize> {
        if self.is_within { (unknown < M).then(|| side.offset_within(1 + unknown)) } else { side.unknown(unknown) }
    }

    /// The step on the patch.
    ///
    /// # Safety
    /// All lanes of the warp come here together; `b` and `x` are vectors of the level, and nobody else writes the patch's unknowns.
    #[inline(always)]
    unsafe fn smooth(&self, b: *const T) {
        let Self { x_side, y_side, lane, x, is_within } = self;
        let Offsets { unknowns, edges, ends } = match is_within {
            true => self.offsets(Side::offset_within),
            false => self.offsets(Side::offset),
        };
        // SAFETY: the caller's promise. No patch of the color has nodes of edges as unknowns; where there is no node, a lane reads an unknown of its own
        // patch, times zero, before `loads_together`, and so before any lane writes.
        unsafe {
            let mut values = [[0.0; STEPS]; TILES];
            for tile in 0..Self::TILES {
                for step in 0..Self::STEPS {
                    values[tile][step] = (*b.add(unknowns[tile][step])).to_f64();
                }
            }
            let mut edge_values = [0.0; STEPS];
            for step in 0..Self::STEPS {
                edge_values[step] = (*x.add(edges[step])).to_f64();
            }
            let end_values = (*x.add(ends)).to_f64();
            loads_together();
            let (of_x, of_y) = (x_side.transform(0), y_side.transform(0));
            let [mut along_x, mut along_y] = [[[0.0; 2]; TILES]; 2];
            add_column::<M>(&of_x.inner, &edge_values, &mut along_x);
            let inner_along_x = along_x;
            add_end::<M>(&of_x.ends, end_values, &mut along_x);
            add_column::<M>(&of_y.inner, &edge_values, &mut along_y);
            add_end::<M>(&of_y.ends, end_values, &mut along_y);

            let mut sums = both::<M>(&y_side.analysis(), &values, &x_side.analysis());
            let mut transforms = NO_SUMS;
            let edges_of_x = Select::new(lane.member < 2);
            for row in 0..Self::TILES {
                let [coupling, end] = y_side.ends(lane.row + TILE * row, lane.member % 2);
                let left = [coupling, end].map(|of_y| edges_of_x.of(along_y[row][0], of_y));
                for column in 0..Self::TILES {
                    let [coupling, end] = x_side.ends(lane.column() + TILE * column, lane.member % 2);
                    add(left[0], edges_of_x.of(coupling, along_x[column][0]), &mut sums[column][row]);
                    add(left[1], edges_of_x.of(end, inner_along_x[column][0]), &mut transforms[column][row]);
                }
            }

            let mut functions = [[0.0; STEPS]; TILES];
            for row in 0..Self::TILES {
                let over_y = y_side.value(lane.row + TILE * row);
                for step in 0..Self::STEPS {
                    let value = x_side.value(lane.every_fourth(step)) + over_y;
                    let (sum, transform) = (sums[step / 2][row][step % 2], transforms[step / 2][row][step % 2]);
                    functions[row][step] = f64::fma(sum, value.reciprocal(), -transform);
                }
            }

            let back = both::<M>(&x_side.synthesis(), &functions, &y_side.synthesis());
            for tile in 0..Self::TILES {
                let in_x = self.unknown(x_side, lane.row + TILE * tile);
                for step in 0..Self::STEPS {
                    if let (Some(in_x), Some(in_y)) = (in_x, self.unknown(y_side, lane.every_fourth(step))) {
                        *x.add(in_x + in_y) = T::from_f64(back[step / 2][tile][step % 2]);
                    }
                }
            }
        }
    }
}

/// See [`Smooth`](crate::separable::graded::Smooth).
///
/// # Safety
/// Launched as [`block`] says and with as many blocks as [`super::blocks`], with tables of the level's patches, and vectors of its nodes.
#[inline(always)]
pub unsafe fn smooth<T: Real, const K: usize, const M: usize>(step: Step<T>) {
    let (directions, color) = (step.left_out.directions, step.left_out.color);
    let thread = thread::thread_idx_x() as usize;
    let number = thread::block_idx_x() * PATCHES as u32 + (thread / LANES) as u32;
    let index = [number, thread::block_idx_y(), 0];
    if number >= directions.0[0].of_color(bit(color, 0)) {
        return;
    }
    // SAFETY: there is such a patch, here and below; warps take the same ways, and the vectors are those of the level.
    unsafe {
        if step.left_out.all(2, index, 1) {
            return;
        }
        let lane = thread % LANES;
        let x_side = step.side(0, index[0], 1, lane);
        let y_side = step.side(1, index[1], directions.0[0].row(K) as usize, lane);
        let is_within = directions.0[0].is_within(x_side.along.vertex, x_side.along.vertex)
            && directions.0[1].is_within(y_side.along.vertex, y_side.along.vertex);
        Patch::<T, K, M> { x_side, y_side, lane: Lane::new(lane), x: step.x, is_within }.smooth(step.b);
    }
}
