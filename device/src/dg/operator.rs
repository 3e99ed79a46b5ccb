//! The operator, layer by layer: a block owns a tile of cells in x and y and marches along the last direction, a cell a
//! step.
//!
//! A thread keeps columns of the current cell's nodes in registers, so that `M u` and `L u` along the last direction, with
//! what lies behind both faces, go to shared memory without a read. Lines along the other directions follow there, in place.
//! Of the cells beside the tile only the traces on its faces are kept, half a normal derivative and a value
//! ([`DgCellMatrices`](crate::matrices::DgCellMatrices)): traces in one direction commute with `M` in the others. No two
//! blocks write one node.

mod line;
mod tile;

use crate::kernels::Shape;
pub use tile::Tile;

/// Columns of a thread.
pub const fn columns(dim: usize, degree: usize) -> usize {
    Tile::of(dim, degree).columns
}

/// Blocks that a multiprocessor should hold: as many as have registers without spills.
pub const fn min_blocks(dim: usize, degree: usize, scalar_bytes: usize) -> u32 {
    const BLOCKS: [[[u32; 8]; 2]; 2] = [
        [[16, 16, 16, 16, 16, 12, 10, 10], [12, 16, 10, 10, 9, 8, 5, 6]],
        [[10, 4, 10, 5, 5, 2, 5, 1], [7, 3, 7, 3, 3, 2, 2, 1]],
    ];
    BLOCKS[dim - 2][scalar_bytes / 8][degree - 1]
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
    use super::line::{Behind, Line};
    use crate::dg::Strides;
    use crate::layout::{Column, Shared};
    use crate::matrices::DgCellMatrices;
    use crate::patch::DgGrid;
    use crate::scalar::Real;
    use cuda_std::hint::{made_here, opaque};
    use cuda_std::shared::Word;
    use cuda_std::thread;

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

        /// The first node beside the tile of so many nodes, on a side, and the step to the next one.
        #[inline(always)]
        fn beside(&self, side: usize, nodes: usize) -> (usize, isize) {
            if side == 0 { (self.first.wrapping_sub(1), -1) } else { (self.first + nodes, 1) }
        }
    }

    /// Lines of a layer in shared memory along one direction.
    struct Lines<T> {
        direction: Direction,
        /// Words from node to node.
        stride: usize,
        /// What lies behind the tile's ends: lower derivatives, lower values, upper ones.
        faces: Shared<T>,
        /// Lines of the layer.
        count: usize,
    }

    /// A thread's column of nodes in the current layer.
    #[derive(Clone, Copy)]
    struct OwnColumn<T, const C: usize> {
        line: Line<T, C>,
        /// What the cell below adds.
        lower: Behind<T>,
    }

    /// A block, and what it computes with. What a thread finds out about its place it finds out anew in every phase, because
    /// that takes fewer registers.
    struct Block<'a, T, const C: usize, const H: usize, const MID: usize> {
        matrices: &'a DgCellMatrices<T, C, H>,
        x: *const T,
        cells: u32,
    }

    impl<T: Real + Word, const C: usize, const H: usize, const MID: usize> Block<'_, T, C, H, MID> {
        const IS_3D: bool = MID > 1;
        const TILE: Tile = Tile::of(if MID > 1 { 3 } else { 2 }, C - 1);
        /// Words from plane to plane of a layer.
        const PLANE: usize = Self::TILE.pitch() * Self::TILE.rows();

        #[inline(always)]
        fn strides(&self) -> Strides {
            Strides::of(self.grid(), Self::IS_3D)
        }

        #[inline(always)]
        fn grid(&self) -> DgGrid {
            DgGrid { cells: made_here(self.cells), degree: C as u32 - 1 }
        }

        #[inline(always)]
        fn along_x(&self) -> Direction {
            Direction::new(self.grid(), made_here(thread::block_idx_x()), Self::TILE.cells[0])
        }

        #[inline(always)]
        fn along_middle(&self) -> Direction {
            Direction::new(self.grid(), made_here(thread::block_idx_y()), Self::TILE.cells[1])
        }

        /// Of a layer `M u`, in the end with `M` in all directions but x.
        #[inline(always)]
        fn mass() -> Shared<T> {
            Shared::at(0)
        }

        /// Of a layer what becomes `A u`.
        #[inline(always)]
        fn sum() -> Shared<T> {
            Shared::at(Self::TILE.layer())
        }

        #[inline(always)]
        fn middle_faces() -> Shared<T> {
            Shared::at(2 * Self::TILE.layer())
        }

        /// Those of a layer are read while those of the next one are written.
        #[inline(always)]
        fn x_faces(layer: u32) -> Shared<T> {
            let tile = Self::TILE;
            Shared::at(2 * tile.layer() + tile.middle_faces() + (layer & 1) as usize * tile.x_faces())
        }

        /// Calls `body` for the thread's share of so many tasks.
        #[inline(always)]
        fn share(tasks: usize, body: impl Fn(usize)) {
            let thread = made_here(thread::thread_idx_x()) as usize;
            for round in 0..tasks.div_ceil(Self::TILE.threads()) {
                let task = thread + round * Self::TILE.threads();
                // Without a condition if all threads have a task: then constants are loaded once a warp.
                if (round + 1) * Self::TILE.threads() <= tasks || task < tasks {
                    body(task);
                }
            }
        }

        /// What lies behind a face, by the nodes of the cell there from the face on.
        ///
        /// # Safety
        /// `face` and the nodes behind it, `step` apart, are of the vector.
        #[inline(always)]
        unsafe fn trace(&self, face: *const T, step: isize) -> Behind<T> {
            let mut nodes = [T::ZERO; C];
            for t in 0..C {
                // SAFETY: the caller's promise.
                nodes[t] = unsafe { *face.offset(t as isize * step) };
            }
            Line(nodes).seen_from(self.matrices, 0)
        }

        /// Of the cells beside the tile in a layer, what they add to it, not yet contracted.
        ///
        /// # Safety
        /// The layer is one of the grid.
        #[inline(always)]
        unsafe fn read_faces(&self, layer: u32) {
            let tile = Self::TILE;
            let (strides, along_x, middle) = (self.strides(), self.along_x(), self.along_middle());
            let plane = |z: usize| (layer as usize * C + z) * strides.column;
            let store = |faces: Shared<T>, count: usize, side: usize, index: usize, pair: Behind<T>| {
                for which in 0..2 {
                    faces.set((2 * side + which) * count + index, pair[which]);
                }
            };
            let count = tile.planes() * tile.rows();
            Self::share(2 * count, |task| {
                let (side, index) = (task / count, task % count);
                let (row, z) = (index % tile.rows(), index / tile.rows());
                if !along_x.is_end(side) && (!Self::IS_3D || row < middle.cells * C) {
                    let (node, step) = along_x.beside(side, tile.row());
                    let row = if Self::IS_3D { (middle.first + row) * strides.row } else { 0 };
                    // SAFETY: nodes of the cell beside the tile.
                    let pair = unsafe { self.trace(self.x.wrapping_add(node + row + plane(z)), step) };
                    store(Self::x_faces(layer), count, side, index, pair);
                }
            });
            if Self::IS_3D {
                let count = tile.planes() * tile.row();
                Self::share(2 * count, |task| {
                    let (side, index) = (task / count, task % count);
                    let (column, z) = (index % tile.row(), index / tile.row());
                    if !middle.is_end(side) && column < along_x.cells * C {
                        let (node, step) = middle.beside(side, tile.rows());
                        let face = node.wrapping_mul(strides.row) + along_x.first + column + plane(z);
                        // SAFETY: as above.
                        let pair = unsafe { self.trace(self.x.wrapping_add(face), step * strides.row as isize) };
                        store(Self::middle_faces(), count, side, index, pair);
                    }
                });
            }
        }

        /// `M` along the last direction of `width` lines of each kind on faces.
        #[inline(always)]
        fn contract_faces(&self, faces: Shared<T>, width: usize) {
            Self::share(4 * width, |task| {
                let column = Column { start: task / width * (C * width) + task % width, stride: width };
                faces.write(column, &self.matrices.mass.apply::<T, C>(&faces.read::<C>(column)));
            });
        }

        /// Along the middle direction `L u + M s`, and `M u`, in place; `M` of the faces in x.
        #[inline(always)]
        fn contract_middle(&self, layer: u32) {
            let tile = Self::TILE;
            let (count, faces) = (tile.planes() * tile.row(), Self::middle_faces());
            let lines = Lines { direction: self.along_middle(), stride: tile.pitch(), faces, count };
            Self::share(count, |task| {
                let start = task % tile.row() + task / tile.row() * Self::PLANE;
                self.contract::<true>(&lines, task, start, 0);
            });
            let faces = Self::x_faces(layer);
            Self::share(tile.x_faces() / C, |task| {
                let column = Column { start: task * C, stride: 1 };
                faces.write(column, &self.matrices.mass.apply::<T, C>(&faces.read::<C>(column)));
            });
        }

        /// Along x `L u + M s`, in place.
        #[inline(always)]
        fn contract_x(&self, layer: u32) {
            let tile = Self::TILE;
            let (count, faces) = (tile.planes() * tile.rows(), Self::x_faces(layer));
            let lines = Lines { direction: self.along_x(), stride: 1, faces, count };
            Self::share(count * (tile.cells[0] / tile.run), |task| {
                let (index, run) = (task % count, task / count * tile.run);
                self.contract::<false>(&lines, index, index * tile.pitch(), run);
            });
        }

        /// `L u + M s` of a run of cells from `first` on in line `index`, which begins at word `start`, and along the middle direction `M u`, in
        /// place. Cells outside the domain hold zeros.
        #[inline(always)]
        fn contract<const IS_MIDDLE: bool>(&self, lines: &Lines<T>, index: usize, start: usize, first: usize) {
            let (matrices, u, s) = (self.matrices, Self::mass(), Self::sum());
            let Lines { direction, stride, faces, count } = *lines;
            let column = |cell: usize| Column { start: start + cell * C * stride, stride };
            let line = |cell: usize| Line(u.read::<C>(column(cell)));
            let behind_end = |side: usize| [0, 1].map(|which| faces.get((2 * side + which) * count + index));
            let mut lower = if first > 0 {
                line(first - 1).seen_from(matrices, 1)
            } else if direction.at_end[0] {
                line(0).at_boundary(matrices, 0)
            } else {
                behind_end(0)
            };
            // Opaque, or the constants of all cells are kept in registers; in degree 6 the loop keeps more of them.
            let is_unrolled = IS_MIDDLE && C == 7 && size_of::<T>() == 8;
            let run = Self::TILE.run;
            for step in 0..if is_unrolled { run } else { opaque(run as u32) as usize } {
                let cell = first + step;
                // Read again as the next cell: it would take too many registers until then.
                let upper = if cell + 1 < direction.cells {
                    line(cell + 1).seen_from(matrices, 0)
                } else if direction.at_end[1] {
                    line(cell).at_boundary(matrices, 1)
                } else {
                    behind_end(1)
                };
                let own = line(cell);
                let other = s.read::<C>(column(cell));
                let faces = [lower, upper];
                lower = own.seen_from(matrices, 1);
                // Where registers are few, both products one after the other.
                let is_apart = IS_MIDDLE && C > 7;
                own.contract(matrices, Some(&other), faces, |node, sum, mass| {
                    s.set(column(cell).start + node * stride, sum);
                    if IS_MIDDLE && !is_apart {
                        u.set(column(cell).start + node * stride, mass);
                    }
                });
                if is_apart {
                    u.write(column(cell), &matrices.mass.apply::<T, C>(&u.read::<C>(column(cell))));
                }
            }
        }

        /// Where a thread's columns are: calls `body` with the number of each, the column in the layer and the offset of its
        /// first node in layer 0, or none outside the domain.
        #[inline(always)]
        fn columns<const COLUMNS: usize>(&self, mut body: impl FnMut(usize, Column, Option<usize>)) {
            let tile = Self::TILE;
            let (strides, along_x, middle) = (self.strides(), self.along_x(), self.along_middle());
            let thread = made_here(thread::thread_idx_x()) as usize;
            let (x, first_row) = (thread % tile.row(), thread / tile.row());
            for number in 0..COLUMNS {
                let row = first_row + number * (tile.rows() / COLUMNS);
                let is_inside = x < along_x.cells * C && (!Self::IS_3D || row < middle.cells * C);
                let offset = along_x.first + x + if Self::IS_3D { (middle.first + row) * strides.row } else { 0 };
                let column = Column { start: x + tile.pitch() * row, stride: Self::PLANE };
                body(number, column, is_inside.then_some(offset));
            }
        }

        /// Nodes of a column in a layer, zeros outside the domain.
        ///
        /// # Safety
        /// The layer is one of the grid, and the vector of it.
        #[inline(always)]
        unsafe fn nodes(&self, vector: *const T, offset: Option<usize>, layer: u32) -> [T; C] {
            let mut values = [T::ZERO; C];
            if let Some(offset) = offset {
                let stride = self.strides().column;
                let start = vector.wrapping_add(offset + layer as usize * C * stride);
                for z in 0..C {
                    // SAFETY: a node of the vector.
                    values[z] = unsafe { *start.add(z * stride) };
                }
            }
            values
        }
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
        let block = Block::<T, C, H, MID> { matrices, x, cells };
        let (mass, sum) = (Block::<T, C, H, MID>::mass(), Block::<T, C, H, MID>::sum());
        let first = thread::block_idx_z() * chunk;
        let end = if first + chunk < cells { first + chunk } else { cells };

        let none = OwnColumn { line: Line([T::ZERO; C]), lower: [T::ZERO; 2] };
        let mut columns = [none; COLUMNS];
        block.columns::<COLUMNS>(|number, _, offset| {
            // SAFETY (both): layers of the grid.
            let line = Line(unsafe { block.nodes(x, offset, first) });
            let lower = if first > 0 {
                Line(unsafe { block.nodes(x, offset, first - 1) }).seen_from(matrices, 1)
            } else {
                line.at_boundary(matrices, 0)
            };
            columns[number] = OwnColumn { line, lower };
        });

        for turn in 0..end - first + 1 {
            // Opaque, or the compiler takes the first turns out of the loop.
            let layer = first + opaque(turn);
            if layer > first {
                block.contract_x(layer - 1);
            }
            if layer < end {
                // SAFETY: a layer of the grid.
                unsafe { block.read_faces(layer) };
            }
            thread::sync_threads();

            block.columns::<COLUMNS>(|number, column, offset| {
                if layer > first {
                    // SAFETY: a layer of the grid; for a residual there is `b`.
                    let b = if RESIDUAL { unsafe { block.nodes(b, offset, layer - 1) } } else { [T::ZERO; C] };
                    let values = sum.read::<C>(column);
                    if let Some(offset) = offset {
                        let stride = block.strides().column;
                        let start = y.wrapping_add(offset + (layer - 1) as usize * C * stride);
                        for z in 0..C {
                            let value = if RESIDUAL { b[z] - values[z] } else { values[z] };
                            // SAFETY: a node of the vector, that no other thread writes.
                            unsafe { *start.add(z * stride) = value };
                        }
                    }
                }
                if layer < end {
                    let OwnColumn { line, lower } = columns[number];
                    let mut next = line;
                    let upper = if layer + 1 < cells {
                        // SAFETY: a layer of the grid.
                        next = Line(unsafe { block.nodes(x, offset, layer + 1) });
                        next.seen_from(matrices, 0)
                    } else {
                        line.at_boundary(matrices, 1)
                    };
                    line.contract(matrices, None, [lower, upper], |node, of_sum, of_mass| {
                        sum.set(column.start + node * column.stride, of_sum);
                        mass.set(column.start + node * column.stride, of_mass);
                    });
                    columns[number] = OwnColumn { line: next, lower: line.seen_from(matrices, 1) };
                }
            });
            if layer < end {
                block.contract_faces(Block::<T, C, H, MID>::x_faces(layer), Block::<T, C, H, MID>::TILE.rows());
                if MID > 1 {
                    block.contract_faces(Block::<T, C, H, MID>::middle_faces(), Block::<T, C, H, MID>::TILE.row());
                }
            }
            thread::sync_threads();

            if MID > 1 {
                if layer < end {
                    block.contract_middle(layer);
                }
                thread::sync_threads();
            }
        }
    }
}
