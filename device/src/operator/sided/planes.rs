//! In 3D, plane by plane: the [march](crate::operator::planes) of boxes with zero on the boundary, on other nodes.

use super::Sides;
use crate::layout::Shared;
use crate::operator::nodes::{Outputs, Planes};
use crate::operator::tile::Tile;
use crate::patch::{Direction, Directions};
use crate::scalar::Real;
use cuda_std::hint::made_here;
use cuda_std::shared::Word;
use cuda_std::thread;

/// Where the planes of a tile begin.
pub struct Copies<T> {
    x: *const T,
    /// The tile's first output in x and y.
    left: usize,
    below: usize,
    /// It may be negative: that of an image.
    first_plane: i32,
    /// Whether all of the tile's nodes in x and y are stored where they lie.
    is_within: bool,
}

/// The place in x and y of the thread's first output, computed again at each call.
#[inline(always)]
fn place<T, const K: usize>() -> [u32; 2] {
    let (tile, thread) = (const { Tile::of(K, size_of::<T>()) }, made_here(thread::thread_idx_x()));
    let (row, rows) = (tile.row() as u32, (tile.cells[1] * K) as u32);
    [thread::block_idx_x() * row + thread % row, thread::block_idx_y() * rows + thread / row * K as u32]
}

impl<T: Real + Word, const K: usize> Planes<T, K> for Sides {
    type Copies = Copies<T>;

    #[inline(always)]
    fn layers(self) -> u32 {
        self.directions.0[2].output_cells()
    }

    /// Every layer has one below it, the first one its image.
    #[inline(always)]
    fn first_layer(self, own: u32) -> u32 {
        own.wrapping_sub(1)
    }

    #[inline(always)]
    fn copies(self, tile: Tile, x: *const T, layer: u32, left: usize, below: usize) -> Copies<T> {
        let Directions([of_x, of_y, _]) = self.directions;
        let has_all = |of: Direction, first: usize, cells: usize| {
            of.has_all(K, first as i32 - K as i32, (first + K * cells) as u32)
        };
        let is_within = has_all(of_x, left, tile.cells[0]) && has_all(of_y, below, tile.cells[1]);
        Copies { x, left, below, first_plane: layer as i32 * K as i32, is_within }
    }

    /// In whole chunks, or with images one node at a time.
    #[inline(always)]
    unsafe fn copy(self, copies: &mut Copies<T>, tile: Tile, plane: Shared<T>, index: usize) {
        let sides = self.remade();
        let Directions([of_x, of_y, of_z]) = sides.directions;
        let [row, of_plane] = sides.pitches(K);
        let z = of_z.line(K, copies.first_plane).node(index);
        let x = copies.x.wrapping_add((u64::from(of_plane) * u64::from(z)) as usize);
        let [left, below] = [copies.left, copies.below].map(|node| made_here(node as u32) as usize);
        if copies.is_within {
            let (thread, step) = (made_here(thread::thread_idx_x()) as usize, tile.copied_lines());
            let (column, first) = (thread % tile.chunks(), thread / tile.chunks());
            let node = (left + column * tile.chunk - K - tile.before()) as u32 + row * (below + first - K) as u32;
            let (x, target) = (x.wrapping_add(node as usize), first * tile.node_pitch + column * tile.chunk);
            for turn in 0..tile.lines().div_ceil(step) {
                if first < step && turn * step + first < tile.lines() {
                    let source = x.wrapping_add((row * (turn * step) as u32) as usize);
                    // SAFETY: a chunk of a row of the vector.
                    unsafe { plane.copy_chunk(target + turn * step * tile.node_pitch, source) };
                }
            }
            return;
        }
        // Neighbouring threads have neighbouring nodes of a line, and groups of threads lines.
        let (thread, width) = (made_here(thread::thread_idx_x()) as usize, tile.nodes());
        let (lanes, groups) =
            if width < tile.threads() { (width, tile.threads() / width) } else { (tile.threads(), 1) };
        let (group, lane) = (thread / lanes, thread % lanes);
        // Nodes behind the last cell with outputs are read by nobody.
        let [last_x, last_y] = [of_x, of_y].map(|of| (of.output_cells() as usize + 1) * K);
        for start in (0..width).step_by(lanes) {
            let node = start + lane;
            if node >= width || group >= groups || left + node > last_x {
                continue;
            }
            let x = x.wrapping_add(of_x.line(K, left as i32 - K as i32).node(node) as usize);
            for turn in 0..tile.lines().div_ceil(groups) {
                let line = turn * groups + group;
                if line < tile.lines() && below + line <= last_y {
                    let y = of_y.line(K, below as i32 - K as i32).node(line);
                    // SAFETY: a node of the vector, or the image of one.
                    unsafe { plane.copy(tile.before() + line * tile.node_pitch + node, x.add((row * y) as usize)) };
                }
            }
        }
    }
}

impl<T: Real, const K: usize> Outputs<T, K> for Sides {
    #[inline(always)]
    fn column(self, is_one: bool, x: usize, y: usize) -> (u32, bool) {
        let [of_x, of_y, _] = self.directions.0;
        (0, is_one && of_x.is_unknown(K, x as u32) && (y as u32) < of_y.output_cells() * K as u32)
    }

    /// Zero where the solution is given.
    #[inline(always)]
    unsafe fn b(self, _first: u32, b: *const T, z: u32) -> [T; K] {
        let (mut values, sides) = ([T::ZERO; K], self.remade());
        if sides.directions.0[2].is_unknown(K, z) {
            let ([x, y], [row, plane]) = (place::<T, K>(), sides.pitches(K));
            let origin = b.wrapping_add((x + row * y) as usize + plane as usize * z as usize);
            let [has_first, has_others] = sides.unknowns(K, 1, y);
            for y in 0..K {
                if if y == 0 { has_first } else { has_others } {
                    // SAFETY: an unknown of the column.
                    values[y] = unsafe { *origin.add((row * y as u32) as usize) };
                }
            }
        }
        values
    }

    /// As often as outputs count, which are halved.
    #[inline(always)]
    fn load(self, b: [T; K], z: u32) -> [T; K] {
        let (mut values, sides, [x, y]) = (b, self.remade(), place::<T, K>());
        let others = sides.weight::<T>(2.0, K, 0, x) * sides.weight(2.0, K, 2, z);
        values[0] = sides.weight::<T>(2.0, K, 1, y) * values[0];
        for y in 0..K {
            values[y] = others * values[y];
        }
        values
    }

    #[inline(always)]
    unsafe fn store<const C: usize>(self, is_stored: bool, _first: u32, y: *mut T, z: u32, values: &[[T; K]; C]) {
        if !is_stored {
            return;
        }
        let (output, sides) = (y, self.remade());
        let ([x, y], [row, plane]) = (place::<T, K>(), sides.pitches(K));
        let origin = output.wrapping_add((x + row * y) as usize + plane as usize * z as usize);
        let (in_y, in_z) = (sides.unknowns(K, 1, y), sides.unknowns(K, 2, z));
        let (of_x, of_y, of_z): (T, T, T) =
            (sides.weight(0.5, K, 0, x), sides.weight(0.5, K, 1, y), sides.weight(0.5, K, 2, z));
        for local in 0..K {
            let (has_plane, weight) = if local == 0 { (in_z[0], of_x * of_z) } else { (in_z[1], of_x) };
            for y in 0..K {
                let (has_row, weight) = if y == 0 { (in_y[0], weight * of_y) } else { (in_y[1], weight) };
                if has_plane && has_row {
                    let offset = (plane * local as u32 + row * y as u32) as usize;
                    // SAFETY: the caller's promise; an unknown.
                    unsafe { *origin.add(offset) = weight * values[local][y] };
                }
            }
        }
    }
}
