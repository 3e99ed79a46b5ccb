//! Nodes that the operator in 3D [marches](super::planes) through, and those of boxes with zero on the boundary.

use crate::layout::Shared;
use crate::operator::tile::Tile;
use crate::patch::Grid;
use crate::scalar::Real;
use cuda_std::hint::made_here;
use cuda_std::shared::Word;
use cuda_std::thread;

/// A scalar of nodes that becomes `T` without rounding.
pub trait NodeOf<T>: Real + Word {
    fn widen<const L: usize>(values: [Self; L]) -> [T; L];
}

impl<T: Real + Word> NodeOf<T> for T {
    #[inline(always)]
    fn widen<const L: usize>(values: [T; L]) -> [T; L] {
        values
    }
}

impl NodeOf<f64> for f32 {
    #[inline(always)]
    fn widen<const L: usize>(values: [f32; L]) -> [f64; L] {
        values.map(f64::from)
    }
}

/// How nodes of a vector in `X` lie in planes.
pub trait Planes<X: Word, const K: usize>: Copy {
    /// A thread's part of the copies of planes.
    type Copies;

    /// Layers of cells along z that have outputs. The last plane of a layer belongs to the next one.
    fn layers(self) -> u32;

    /// The first layer that the outputs of those from `own` on depend on. It may be -1, wrapped: the image of a layer beyond the lower side,
    /// whose planes have wrapped numbers, too.
    fn first_layer(self, own: u32) -> u32;

    /// Copies of the planes from a layer on, for the tile whose outputs begin at node `(left, below)`.
    fn copies(self, tile: Tile, x: *const X, layer: u32, left: usize, below: usize) -> Self::Copies;

    /// Starts to copy plane `index`, counted from the first of `copies`, to `plane`; called with 0, 1, 2 and so on, in this order.
    ///
    /// # Safety
    /// Outputs depend on this plane, and nobody reads or writes `plane` in shared memory before the copies have ended.
    unsafe fn copy(self, copies: &mut Self::Copies, tile: Tile, plane: Shared<X>, index: usize);
}

/// Which nodes are outputs, and how these lie in vectors.
pub trait Outputs<T: Real, const K: usize>: Copy {
    /// For the column whose first node is `(x, y)`: an offset that [`Self::b`] and [`Self::store`] take as `first`, 0 if they do not use it, and
    /// whether one of its nodes is stored. `is_one` is false for threads without a column.
    fn column(self, is_one: bool, x: usize, y: usize) -> (u32, bool);

    /// `b` at a column's nodes of plane `z`.
    ///
    /// # Safety
    /// The vector is of these nodes, the plane one whose products are added to outputs, and [`Self::column`] said that the column has some.
    unsafe fn b(self, first: u32, b: *const T, z: u32) -> [T; K];

    /// [`Self::b`] as often as images count the products at each node of the plane.
    fn load(self, b: [T; K], z: u32) -> [T; K];

    /// Stores a column's outputs of a cell's planes but the last, from plane `z` on, if [`Self::column`] said that it has some.
    ///
    /// # Safety
    /// The planes are of the vector, and no other thread writes these nodes.
    unsafe fn store<const C: usize>(self, is_stored: bool, first: u32, y: *mut T, z: u32, values: &[[T; K]; C]);
}

impl<X: Real + Word, const K: usize> Planes<X, K> for Grid {
    type Copies = Copies<X>;

    #[inline(always)]
    fn layers(self) -> u32 {
        self.cells[2]
    }

    /// The cell below adds to the first plane of outputs.
    #[inline(always)]
    fn first_layer(self, own: u32) -> u32 {
        if own > 0 { own - 1 } else { 0 }
    }

    #[inline(always)]
    fn copies(self, tile: Tile, x: *const X, layer: u32, left: usize, below: usize) -> Copies<X> {
        let grid = Grid { degree: K as u32, ..self };
        Copies::new(tile, grid, x.wrapping_add(grid.offset_3d(0, 0, layer as usize * K)), left, below)
    }

    #[inline(always)]
    unsafe fn copy(self, copies: &mut Copies<X>, tile: Tile, plane: Shared<X>, _index: usize) {
        // SAFETY: the caller's promise.
        unsafe { copies.start(tile, plane) }
    }
}

impl<T: Real, const K: usize> Outputs<T, K> for Grid {
    #[inline(always)]
    fn column(self, is_one: bool, x: usize, y: usize) -> (u32, bool) {
        (self.offset_2d(x, y) as u32, is_one && self.is_interior(0, x) && y < self.nodes(1))
    }

    #[inline(always)]
    unsafe fn b(self, first: u32, b: *const T, z: u32) -> [T; K] {
        let (mut values, grid) = ([T::ZERO; K], self.remade());
        let origin = b.wrapping_add(made_here(first) as usize + grid.plane() as usize * z as usize);
        for y in 0..K {
            // SAFETY: nodes of the column, behind the last plane in the guard.
            values[y] = unsafe { *origin.add(grid.local_3d(0, y, 0)) };
        }
        values
    }

    #[inline(always)]
    fn load(self, b: [T; K], _z: u32) -> [T; K] {
        b
    }

    #[inline(always)]
    unsafe fn store<const C: usize>(self, is_stored: bool, first: u32, y: *mut T, z: u32, values: &[[T; K]; C]) {
        if !is_stored {
            return;
        }
        let (output, z, grid) = (y, z as usize, self.remade());
        let origin = output.wrapping_add(first as usize + grid.plane() as usize * z);
        for local in 0..K {
            for y in 0..K {
                // Nodes of the boundary stay zero.
                if (y > 0 || first as usize >= grid.row()) && (local > 0 || z > 0) {
                    // SAFETY: the caller's promise; an unknown.
                    unsafe { *origin.add(grid.local_3d(0, y, local)) = values[local][y] };
                }
            }
        }
    }
}

/// A thread's part of the copy of a plane of nodes: one column of chunks of it, some lines at a time.
pub struct Copies<T> {
    /// The chunk of the column in the first line, of the next plane; it may lie outside of the domain.
    source: *const T,
    /// Entry of that chunk in shared memory.
    target: usize,
    /// Turns in which the line has nodes of the domain; none if the column has none. What others would copy is read by
    /// nobody whose result is stored.
    turns: [u32; 2],
    grid: Grid,
}

impl<T: Real + Word> Copies<T> {
    /// From the plane of a grid that begins at `plane`, for the tile whose outputs begin at node `(left, below)`.
    #[inline(always)]
    fn new(tile: Tile, grid: Grid, plane: *const T, left: usize, below: usize) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let (column, first) = (thread % tile.chunks(), thread / tile.chunks());
        let (step, k, last, last_line) = (tile.copied_lines(), tile.degree, grid.nodes(0), grid.nodes(1));
        let x = (left + column * tile.chunk) as i32 - (k + tile.before()) as i32;
        let y = (below + first) as i32 - k as i32;
        let lines = if below + tile.lines() < last_line + k + 1 { tile.lines() } else { last_line + k + 1 - below };
        let turns = |lines: i32| clamp(lines, tile.lines()).div_ceil(step) as u32;
        let has_nodes = first < step && x >= 0 && x <= last as i32;
        Self {
            source: plane.wrapping_offset(y as isize * last as isize + x as isize),
            target: first * tile.node_pitch + column * tile.chunk,
            turns: [turns(-y), if has_nodes { turns((lines - first) as i32) } else { 0 }],
            grid,
        }
    }

    /// Starts to copy the next plane.
    ///
    /// # Safety
    /// The plane is of a vector that begins at a chunk and has whole ones, and nobody reads `plane` before the copies
    /// have ended.
    #[inline(always)]
    unsafe fn start(&mut self, tile: Tile, plane: Shared<T>) {
        let grid = self.grid.remade();
        // Not on a grid with an odd number of patches a row, of odd degree, in `f32`.
        if tile.chunk == 2 || grid.row().is_multiple_of(tile.chunk) {
            // SAFETY: rows are whole chunks; the caller's promise.
            self.each_line(tile, grid, |target, source| unsafe { plane.copy_chunk(target, source) });
        } else {
            self.each_line(tile, grid, |target, source| {
                for word in 0..tile.chunk {
                    // SAFETY: as above: behind its last row a vector has the rest of a chunk.
                    unsafe { plane.copy(target + word, source.wrapping_add(word)) };
                }
            });
        }
        self.source = self.source.wrapping_add(grid.plane() as usize);
    }

    /// Copies the thread's chunk of each line that has nodes of the domain.
    #[inline(always)]
    fn each_line(&self, tile: Tile, grid: Grid, copy: impl Fn(usize, *const T)) {
        let mut source = self.source;
        for turn in 0..tile.lines().div_ceil(tile.copied_lines()) {
            if (self.turns[0]..self.turns[1]).contains(&(turn as u32)) {
                copy(self.target + turn * tile.copied_lines() * tile.node_pitch, source);
            }
            source = source.wrapping_add(tile.copied_lines() * grid.row());
        }
    }
}

/// `value` as an index of `0..=last`.
#[inline(always)]
fn clamp(value: i32, last: usize) -> usize {
    if value < 0 {
        0
    } else if value as usize > last {
        last
    } else {
        value as usize
    }
}
