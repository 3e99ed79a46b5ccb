//! The operator, layer by layer: a block owns a tile of cells in x and y and marches along the last direction, a cell a
//! step.
//!
//! A thread keeps columns of the current cell's nodes, and of the next one's, in registers, so that `M u` and `L u` along
//! the last direction, with what lies behind both faces, go to shared memory without a read. Lines along the other
//! directions follow there, in place. Of the cells beside the tile only the traces on its faces are kept, half a normal
//! derivative and a value ([`DgCellMatrices`](crate::matrices::DgCellMatrices)): traces in one direction commute with `M` in
//! the others. No two blocks write one node.

use crate::kernels::Shape;
use crate::patch::DgGrid;

/// The cells of a block in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// In x and in the middle direction.
    cells: [usize; 2],
    /// Nodes of a cell, in x and in the middle direction.
    nodes: [usize; 2],
    /// Columns of a thread.
    columns: usize,
    /// Cells that a thread marches through along x.
    run: usize,
}

impl Tile {
    /// By degree.
    pub const fn of(dim: usize, degree: usize) -> Self {
        let c = degree + 1;
        if dim == 2 {
            const CELLS: [usize; 8] = [64, 32, 32, 16, 16, 16, 16, 8];
            return Self { cells: [CELLS[degree - 1], 1], nodes: [c, 1], columns: 1, run: 1 };
        }
        let (cells, columns, run) = match degree {
            1 => ([16, 8], 4, 4),
            2 => ([16, 4], 3, 4),
            3 => ([8, 4], 2, 2),
            4 => ([4, 4], 2, 2),
            5 => ([4, 4], 3, 2),
            _ => ([4, 2], 2, 2),
        };
        Self { cells, nodes: [c, c], columns, run }
    }

    /// Nodes in a row.
    #[inline(always)]
    const fn row(self) -> usize {
        self.cells[0] * self.nodes[0]
    }

    /// Rows of a plane.
    #[inline(always)]
    const fn rows(self) -> usize {
        self.cells[1] * self.nodes[1]
    }

    /// Planes of the layer.
    #[inline(always)]
    const fn planes(self) -> usize {
        self.nodes[0]
    }

    /// Words from row to row: odd, so that lines along x meet every bank once.
    #[inline(always)]
    const fn pitch(self) -> usize {
        self.row() | 1
    }

    /// Words of a layer.
    #[inline(always)]
    const fn layer(self) -> usize {
        self.planes() * self.rows() * self.pitch()
    }

    /// Words of the traces on the two faces in x: two sides, two traces.
    #[inline(always)]
    const fn x_faces(self) -> usize {
        4 * self.planes() * self.rows()
    }

    /// The same in the middle direction, of which 2D has none.
    #[inline(always)]
    const fn middle_faces(self) -> usize {
        if self.nodes[1] == 1 { 0 } else { 4 * self.planes() * self.row() }
    }

    #[inline(always)]
    const fn threads(self) -> usize {
        self.row() * self.rows() / self.columns
    }

    /// The smallest level with such a tile and cells beyond it.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn grid(self) -> DgGrid {
        let [x, y] = self.cells;
        let most = if x > y { x } else { y };
        DgGrid { cells: 2 * most as u32, degree: self.nodes[0] as u32 - 1 }
    }

    /// Blocks for a level, in chunks of so many layers.
    pub const fn blocks(self, grid: DgGrid, chunk: u32) -> [u32; 3] {
        let cells = grid.cells;
        let middle = if self.nodes[1] == 1 { 1 } else { cells.div_ceil(self.cells[1] as u32) };
        [cells.div_ceil(self.cells[0] as u32), middle, cells.div_ceil(chunk)]
    }
}

/// Columns of a thread.
pub const fn columns(dim: usize, degree: usize) -> usize {
    Tile::of(dim, degree).columns
}

/// Blocks that a multiprocessor should hold.
pub const fn min_blocks(_dim: usize, _degree: usize, _scalar_bytes: usize) -> u32 {
    1
}

/// Its shape on a block: `M u` and `L u` of a layer, its faces in the middle direction, and those in x of two layers.
pub const fn shape(dim: usize, degree: usize) -> Shape {
    let tile = Tile::of(dim, degree);
    let words = 2 * tile.layer() + tile.middle_faces() + 2 * tile.x_faces();
    Shape { columns: tile.threads(), patches: 1, words, barriers: dim }
}

pub use device::apply;

mod device {
    use super::Tile;
    use crate::contract::Centrosymmetric;
    use crate::dg::Strides;
    use crate::layout::{Column, Shared};
    use crate::matrices::DgCellMatrices;
    use crate::patch::DgGrid;
    use crate::scalar::Real;
    use cuda_std::hint::opaque;
    use cuda_std::shared::Word;
    use cuda_std::thread;

    /// What a face adds to a line of nodes that ends on it: to the node there, and times `n_t` to all of them.
    type Behind<T> = [T; 2];

    /// Nodes along a direction of a cell, and half their outward normal derivatives on its lower and its upper face.
    #[derive(Clone, Copy)]
    struct Line<T, const C: usize> {
        nodes: [T; C],
        slopes: [T; 2],
    }

    impl<T: Real, const C: usize> Line<T, C> {
        #[inline(always)]
        fn new<const H: usize>(matrices: &DgCellMatrices<T, C, H>, nodes: [T; C]) -> Self {
            Self { nodes, slopes: matrices.trace.apply(&nodes) }
        }

        #[inline(always)]
        fn end(&self, side: usize) -> T {
            self.nodes[side * (C - 1)]
        }

        /// What it adds to the cell that sees it from a side.
        #[inline(always)]
        fn seen_from<const H: usize>(&self, matrices: &DgCellMatrices<T, C, H>, side: usize) -> Behind<T> {
            behind(matrices, self.slopes[side], self.end(side))
        }

        /// What the boundary adds to it on a side.
        #[inline(always)]
        fn at_boundary(&self, side: usize) -> Behind<T> {
            [-self.slopes[side], -self.end(side)]
        }

        /// `L` times the line and `M` times `other`, with what lies behind both faces.
        #[inline(always)]
        fn stiffness<const H: usize>(
            &self,
            matrices: &DgCellMatrices<T, C, H>,
            other: Option<&[T; C]>,
            faces: [Behind<T>; 2],
        ) -> [T; C] {
            let [lower, upper] = faces;
            let mut sum = [(T::ZERO, T::ZERO); H];
            matrices.stiffness.add_split(&self.nodes, &mut sum);
            if let Some(other) = other {
                matrices.mass.add_split(other, &mut sum);
            }
            matrices.lift.add_split(&[lower[1], upper[1]], &mut sum);
            let mut result: [T; C] = Centrosymmetric::<T, C, H>::join(&sum);
            result[0] = result[0] + lower[0];
            result[C - 1] = result[C - 1] + upper[0];
            result
        }
    }

    /// Of a neighbour's half normal derivative and value.
    #[inline(always)]
    fn behind<T: Real, const C: usize, const H: usize>(
        matrices: &DgCellMatrices<T, C, H>,
        slope: T,
        value: T,
    ) -> Behind<T> {
        [T::fma(-matrices.penalty[0], value, slope), value]
    }

    /// A direction of a level, and the tile's cells in it that lie in the domain.
    #[derive(Clone, Copy)]
    struct Direction {
        /// First node of the tile.
        first: usize,
        /// Cells in the domain.
        cells: usize,
        /// Whether the tile ends at the domain's ends.
        at_end: [bool; 2],
    }

    impl Direction {
        #[inline(always)]
        fn new(grid: DgGrid, block: u32, cells: usize) -> Self {
            let (first, all) = (block as usize * cells, grid.cells as usize);
            let left = all - first;
            let is_last = left <= cells;
            let at_end = [first == 0, is_last];
            Self { first: first * grid.cell_nodes(), cells: if is_last { left } else { cells }, at_end }
        }

        /// Whether the tile ends at the domain's end on a side, which is not known when compiling.
        #[inline(always)]
        fn is_end(&self, side: usize) -> bool {
            if side == 0 { self.at_end[0] } else { self.at_end[1] }
        }

        /// The node that is `node` nodes away from the tile, on a side, of `nodes` nodes in the tile.
        #[inline(always)]
        fn beside(&self, side: usize, nodes: usize) -> (usize, isize) {
            if side == 0 { (self.first.wrapping_sub(1), -1) } else { (self.first + nodes, 1) }
        }
    }

    /// Lines of the layer in shared memory along one direction.
    struct Lines<T> {
        direction: Direction,
        /// Words from node to node.
        stride: usize,
        /// `u`, and what `M` is to be applied to.
        sources: [Shared<T>; 2],
        /// What lies behind the tile's ends: lower derivatives, lower values, upper ones.
        faces: Shared<T>,
        /// Lines of the layer.
        count: usize,
    }

    impl<T: Real + Word> Lines<T> {
        /// `L u + M s` of the cells `first..first + run` in line `index`, which begins at word `start`, and if asked for
        /// `M u`, in place.
        #[inline(always)]
        fn contract<const WITH_MASS: bool, const C: usize, const H: usize>(
            &self,
            matrices: &DgCellMatrices<T, C, H>,
            index: usize,
            start: usize,
            cells: core::ops::Range<usize>,
        ) {
            let Self { direction, stride, sources: [u, s], faces, count } = *self;
            let column = |cell: usize| Column { start: start + cell * C * stride, stride };
            let line = |cell: usize| Line::new(matrices, u.read::<C>(column(cell)));
            let halo = |side: usize| [0, 1].map(|which| faces.get((2 * side + which) * count + index));
            if cells.start >= direction.cells {
                return;
            }
            let mut own = line(cells.start);
            let mut lower = if cells.start > 0 {
                line(cells.start - 1).seen_from(matrices, 1)
            } else if direction.at_end[0] {
                own.at_boundary(0)
            } else {
                halo(0)
            };
            for cell in cells {
                if cell < direction.cells {
                    let mut next = own;
                    let upper = if cell + 1 < direction.cells {
                        next = line(cell + 1);
                        next.seen_from(matrices, 0)
                    } else if direction.at_end[1] {
                        own.at_boundary(1)
                    } else {
                        halo(1)
                    };
                    let sum = own.stiffness(matrices, Some(&s.read::<C>(column(cell))), [lower, upper]);
                    s.write(column(cell), &sum);
                    if WITH_MASS {
                        u.write(column(cell), &matrices.mass.apply::<T, C>(&own.nodes));
                    }
                    lower = own.seen_from(matrices, 1);
                    own = next;
                }
            }
        }
    }

    /// A thread's column of nodes: of the current cell and of the next one.
    #[derive(Clone, Copy)]
    struct OwnColumn<T, const C: usize> {
        own: Line<T, C>,
        next: [T; C],
        /// What the cell below adds.
        lower: Behind<T>,
    }

    /// `y = A x`, or `b - A x` if `RESIDUAL`, for `chunk` layers of cells. `MID` are the nodes of a cell in the middle
    /// direction, `C` or in 2D 1, and `COLUMNS` those of a thread.
    ///
    /// # Safety
    /// Launched as its [`shape`](super::shape) and [`Tile::blocks`] say; the vectors are of the grid.
    #[inline(always)]
    pub unsafe fn apply<
        T: Real + Word,
        const RESIDUAL: bool,
        const C: usize,
        const H: usize,
        const MID: usize,
        const COLUMNS: usize,
    >(
        matrices: &DgCellMatrices<T, C, H>,
        b: *const T,
        x: *const T,
        y: *mut T,
        cells: u32,
        chunk: u32,
    ) {
        let tile = const { Tile::of(if MID == 1 { 2 } else { 3 }, C - 1) };
        let (is_3d, threads) = (MID > 1, tile.threads());
        let grid = DgGrid { cells, degree: C as u32 - 1 };
        let strides = Strides::of(grid, is_3d);
        let thread = thread::thread_idx_x() as usize;
        let along_x = Direction::new(grid, thread::block_idx_x(), tile.cells[0]);
        let middle = Direction::new(grid, thread::block_idx_y(), tile.cells[1]);
        let first = thread::block_idx_z() * chunk;
        let end = if first + chunk < cells { first + chunk } else { cells };

        let (mass, sum) = (Shared::<T>::at(0), Shared::<T>::at(tile.layer()));
        let middle_faces = Shared::<T>::at(2 * tile.layer());
        let x_faces = |layer: u32| {
            Shared::<T>::at(2 * tile.layer() + tile.middle_faces() + (layer & 1) as usize * tile.x_faces())
        };

        // Columns: neighbours along x, then every so many rows.
        let (column_x, first_row) = (thread % tile.row(), thread / tile.row());
        let row_of = |column: usize| first_row + column * (tile.rows() / COLUMNS);
        let is_column = |column: usize| column_x < along_x.cells * C && (!is_3d || row_of(column) < middle.cells * C);
        // Of the first node of a column in a layer.
        let offset = |column: usize, layer: u32| {
            let row = if is_3d { (middle.first + row_of(column)) * strides.row } else { 0 };
            along_x.first + column_x + row + layer as usize * C * strides.column
        };
        let nodes = |column: usize, vector: *const T, layer: u32| -> [T; C] {
            let mut values = [T::ZERO; C];
            if is_column(column) {
                for z in 0..C {
                    // SAFETY: a node of the vector.
                    values[z] = unsafe { *vector.add(offset(column, layer) + z * strides.column) };
                }
            }
            values
        };
        let in_layer = |column: usize| Column {
            start: column_x + tile.pitch() * row_of(column),
            stride: tile.pitch() * tile.rows(),
        };
        let first_column = |column: usize| {
            let lower = if first > 0 {
                Line::new(matrices, nodes(column, x, first - 1)).seen_from(matrices, 1)
            } else {
                [T::ZERO; 2]
            };
            let own = Line::new(matrices, nodes(column, x, first));
            let next = if first + 1 < cells { nodes(column, x, first + 1) } else { [T::ZERO; C] };
            OwnColumn { own, next, lower }
        };
        let mut columns = [first_column(0); COLUMNS];
        for column in 1..COLUMNS {
            columns[column] = first_column(column);
        }
        let mut right: [[T; C]; COLUMNS] = [[T::ZERO; C]; COLUMNS];

        for turn in 0..end - first + 1 {
            // Opaque, or the compiler takes the first turns out of the loop.
            let layer = first + opaque(turn);
            if layer > first {
                if RESIDUAL {
                    for column in 0..COLUMNS {
                        right[column] = nodes(column, b, layer - 1);
                    }
                }
                let count = tile.planes() * tile.rows();
                let lines =
                    Lines { direction: along_x, stride: 1, sources: [mass, sum], faces: x_faces(layer - 1), count };
                let tasks = count * (tile.cells[0] / tile.run);
                for round in 0..tasks.div_ceil(threads) {
                    let task = thread + round * threads;
                    if task < tasks {
                        let (index, run) = (task % count, task / count * tile.run);
                        lines.contract::<false, C, H>(matrices, index, index * tile.pitch(), run..run + tile.run);
                    }
                }
            }
            if layer < end {
                // Traces of what lies beside the tile.
                let plane = |z: usize| (layer as usize * C + z) * strides.column;
                let trace = |source: *const T, step: isize| {
                    let mut value = T::ZERO;
                    let mut slope = T::ZERO;
                    for t in 0..C {
                        // SAFETY: a node of the cell beside the tile, which is one of the grid.
                        let node = unsafe { *source.offset(t as isize * step) };
                        if t == 0 {
                            value = node;
                        }
                        slope = T::fma(matrices.normal[t], node, slope);
                    }
                    behind(matrices, slope, value)
                };
                let count = tile.planes() * tile.rows();
                for round in 0..(2 * count).div_ceil(threads) {
                    let task = thread + round * threads;
                    let (side, index) = (task / count, task % count);
                    let (row, z) = (index % tile.rows(), index / tile.rows());
                    if side < 2 && !along_x.is_end(side) && (!is_3d || row < middle.cells * C) {
                        let (node, step) = along_x.beside(side, tile.row());
                        let row = if is_3d { (middle.first + row) * strides.row } else { 0 };
                        let pair = trace(x.wrapping_add(node + row + plane(z)), step);
                        for which in 0..2 {
                            x_faces(layer).set((2 * side + which) * count + index, pair[which]);
                        }
                    }
                }
                let count = tile.planes() * tile.row();
                for round in 0..if is_3d { (2 * count).div_ceil(threads) } else { 0 } {
                    let task = thread + round * threads;
                    let (side, index) = (task / count, task % count);
                    let (column, z) = (index % tile.row(), index / tile.row());
                    if side < 2 && !middle.is_end(side) && column < along_x.cells * C {
                        let (node, step) = middle.beside(side, tile.rows());
                        let source = x.wrapping_add(node.wrapping_mul(strides.row) + along_x.first + column + plane(z));
                        let pair = trace(source, step * strides.row as isize);
                        for which in 0..2 {
                            middle_faces.set((2 * side + which) * count + index, pair[which]);
                        }
                    }
                }
            }
            thread::sync_threads();

            if layer > first {
                for column in 0..COLUMNS {
                    let values = sum.read::<C>(in_layer(column));
                    if is_column(column) {
                        let offset = offset(column, layer - 1);
                        for z in 0..C {
                            let value = if RESIDUAL { right[column][z] - values[z] } else { values[z] };
                            // SAFETY: a node of the vector, that no other thread writes.
                            unsafe { *y.add(offset + z * strides.column) = value };
                        }
                    }
                }
            }
            if layer < end {
                for column in 0..COLUMNS {
                    let OwnColumn { own, next, mut lower } = columns[column];
                    let next = Line::new(matrices, next);
                    let upper = if layer + 1 < cells { next.seen_from(matrices, 0) } else { own.at_boundary(1) };
                    if layer == 0 {
                        lower = own.at_boundary(0);
                    }
                    mass.write(in_layer(column), &matrices.mass.apply::<T, C>(&own.nodes));
                    sum.write(in_layer(column), &own.stiffness(matrices, None, [lower, upper]));
                    lower = own.seen_from(matrices, 1);
                    let is_read = layer + 2 < cells && layer + 1 < end;
                    let after = if is_read { nodes(column, x, layer + 2) } else { [T::ZERO; C] };
                    columns[column] = OwnColumn { own: next, next: after, lower };
                }
                // `M` along the last direction of the faces.
                let contract = |faces: Shared<T>, width: usize| {
                    for round in 0..(4 * width).div_ceil(threads) {
                        let task = thread + round * threads;
                        if task < 4 * width {
                            let start = task / width * (C * width) + task % width;
                            let column = Column { start, stride: width };
                            faces.write(column, &matrices.mass.apply::<T, C>(&faces.read::<C>(column)));
                        }
                    }
                };
                contract(x_faces(layer), tile.rows());
                if is_3d {
                    contract(middle_faces, tile.row());
                }
            }
            thread::sync_threads();

            if is_3d {
                if layer < end {
                    let count = tile.planes() * tile.row();
                    let lines = Lines {
                        direction: middle,
                        stride: tile.pitch(),
                        sources: [mass, sum],
                        faces: middle_faces,
                        count,
                    };
                    for round in 0..count.div_ceil(threads) {
                        let task = thread + round * threads;
                        if task < count {
                            let (column, z) = (task % tile.row(), task / tile.row());
                            let start = column + z * (tile.pitch() * tile.rows());
                            lines.contract::<true, C, H>(matrices, task, start, 0..tile.cells[1]);
                        }
                    }
                    // `M` along the middle direction of the faces in x.
                    let tasks = tile.x_faces() / C;
                    for round in 0..tasks.div_ceil(threads) {
                        let task = thread + round * threads;
                        if task < tasks {
                            let column = Column { start: task * C, stride: 1 };
                            let faces = x_faces(layer);
                            faces.write(column, &matrices.mass.apply::<T, C>(&faces.read::<C>(column)));
                        }
                    }
                }
                thread::sync_threads();
            }
        }
    }
}
