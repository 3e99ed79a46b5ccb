//! Point Gauss-Seidel, a color at a time: `x_i += (b_i - (A x)_i) / A_ii` for all dofs `i` of the color at once.
//!
//! In one direction two nodes couple if they share a cell. So nodes fall into `k + 1` classes of nodes that do not: the
//! vertices `1, 3, ..`; the vertices `2, 4, ..`; and, for each `a` in `1..k`, the `a`-th node inside of every cell. A
//! color is a class in every direction. Row `i` of a 1D matrix is a row of a patch's matrix, all `2k + 1` entries of the
//! middle one for a vertex, the first `k + 1` for a node inside of a cell, which `(A x)_i` takes direction by direction:
//! matrices of the cells as they are, `h_d M` and `A / h_d` in direction `d`.

use crate::kernels::{Shape, patch_nodes};
use crate::patch::{Grid, color_count};

/// Threads of a block; a thread owns a dof.
pub const THREADS: usize = 128;

/// Its shape on a block: there are no patches, and no thread needs another.
pub const fn shape() -> Shape {
    Shape { columns: THREADS, patches: 1, words: 0, barriers: 0 }
}

/// Blocks that a multiprocessor should hold: as many as have registers without spills, where a remainder by the degree takes none.
pub const fn min_blocks(degree: usize) -> u32 {
    if degree > 1 && degree.is_power_of_two() { 12 } else { 1 }
}

/// Words of the table of rows: direction by direction, x first, [`direction_words`] each.
pub const fn table_words(dim: usize, degree: usize) -> usize {
    dim * direction_words(degree)
}

/// Words of the rows of one direction: for every row `1..=k` of a patch's matrices that of the mass, then that of the stiffness.
#[inline(always)]
pub const fn direction_words(degree: usize) -> usize {
    2 * degree * patch_nodes(degree).1
}

/// Number of colors, `(k + 1)^dim`; the class in `x` changes fastest.
pub const fn colors(dim: usize, degree: usize) -> u32 {
    (degree as u32 + 1).pow(dim as u32)
}

/// A class of nodes of one direction: `first`, `first + step`, ..
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl Class {
    /// Of a color, in one direction.
    #[inline(always)]
    pub const fn of(grid: Grid, color: u32, direction: u32) -> Self {
        let (degree, cells) = (grid.degree, grid.cells[direction as usize]);
        let class = color / (degree + 1).pow(direction) % (degree + 1);
        let (first, step, count) = match class {
            0 | 1 => ((1 + class) * degree, 2 * degree, color_count(cells, class)),
            _ => (class - 1, degree, cells),
        };
        Self { first: first as usize, step: step as usize, count: count as usize }
    }
}

/// A row of the 1D matrices of all cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// First node that couples.
    pub first: usize,
    /// Nodes that couple, boundary included.
    pub len: usize,
    /// Position of the node itself among them, and its row of a patch's matrices.
    pub own: usize,
}

impl Row {
    /// Of a node that is not on the boundary.
    #[inline(always)]
    pub const fn of(degree: usize, node: usize) -> Self {
        let inside = node % degree;
        let (own, len) = if inside == 0 { (degree, 2 * degree + 1) } else { (inside, degree + 1) };
        Self { first: node - own, len, own }
    }

    /// Where its entries begin in its direction's part of the table: those of the mass, or of the stiffness.
    #[inline(always)]
    pub const fn mass(self, degree: usize) -> usize {
        (2 * self.own - 2) * (2 * degree + 1)
    }

    /// See [`Self::mass`].
    #[inline(always)]
    pub const fn stiffness(self, degree: usize) -> usize {
        (2 * self.own - 1) * (2 * degree + 1)
    }
}

pub use device::*;

mod device {
    use super::*;
    use crate::scalar::Real;
    use cuda_std::thread;

    /// The rows of one direction's matrices at a thread's node.
    #[derive(Clone, Copy)]
    struct Line<T, const K: usize> {
        row: Row,
        /// Of the mass, and behind them, after `2k + 1`, of the stiffness: one address takes fewer registers than two.
        entries: *const T,
    }

    impl<T: Real, const K: usize> Line<T, K> {
        /// # Safety
        /// `table` has the [`direction_words`] numbers of the direction.
        #[inline(always)]
        unsafe fn new(table: *const T, node: usize) -> Self {
            let row = Row::of(K, node);
            // SAFETY: the caller's promise; a row of the table is one of the patch's.
            Self { row, entries: unsafe { table.add(row.mass(K)) } }
        }

        /// `(Σ_j M_j m_j, Σ_j A_j m_j + M_j s_j)`, `(m_j, s_j)` being what the directions before made of the row's node `j`.
        #[inline(always)]
        fn sum(self, value: impl Fn(usize) -> (T, T)) -> (T, T) {
            let mut sum = (T::ZERO, T::ZERO);
            for j in 0..self.row.len {
                sum = self.add(j, value(j), sum);
            }
            sum
        }

        /// The node's own term of the sum.
        #[inline(always)]
        fn own(self, value: (T, T)) -> (T, T) {
            self.add(self.row.own, value, (T::ZERO, T::ZERO))
        }

        #[inline(always)]
        fn add(self, j: usize, (m, s): (T, T), (mass_sum, stiffness_sum): (T, T)) -> (T, T) {
            // SAFETY: the promise of `new`; `j` is below the row's length.
            let (mass, stiffness) = unsafe { (*self.entries.add(j), *self.entries.add(j + 2 * K + 1)) };
            (T::fma(mass, m, mass_sum), T::fma(stiffness, m, T::fma(mass, s, stiffness_sum)))
        }
    }

    /// One color.
    ///
    /// # Safety
    /// Launched as [`shape`] says, with a thread for every dof of the color; `table` has [`table_words`] numbers; the
    /// vectors are of the grid.
    #[inline(always)]
    pub unsafe fn gauss_seidel<T: Real, const DIM: usize, const K: usize>(
        table: *const T,
        b: *const T,
        x: *mut T,
        cells: [u32; 3],
        color: u32,
    ) {
        let grid = Grid { cells, degree: K as u32 };
        // It fits 32 bits, as does the number of a color's dofs; a division by 64 bits takes a hundred instructions.
        let mut index = thread::block_idx_x() * THREADS as u32 + thread::thread_idx_x();
        let mut node = [0; DIM];
        for direction in 0..DIM {
            let class = Class::of(grid, color, direction as u32);
            // Never 0 in a launch; the compiler leaves out the panic of a division by 0.
            let count = if class.count as u32 == 0 { 1 } else { class.count as u32 };
            node[direction] = class.first + class.step * (index % count) as usize;
            index /= count;
        }
        if index > 0 {
            return;
        }
        let lines: [Line<T, K>; DIM] = core::array::from_fn(|direction| {
            // SAFETY: the caller's promise.
            unsafe { Line::new(table.add(direction * direction_words(K)), node[direction]) }
        });
        let one = (T::from_f64(1.0), T::ZERO);
        let [first, own]: [[usize; DIM]; 2] = [lines.map(|line| line.row.first), lines.map(|line| line.row.own)];
        let (origin, own, (_, product), (_, diagonal)) = if DIM == 2 {
            let origin = grid.offset_2d(first[0], first[1]);
            // SAFETY: nodes that couple lie within the grid and its guard, and none but the thread's own is of this color.
            let value = |i: usize, j: usize| (unsafe { *x.add(origin + grid.local_2d(i, j)) }, T::ZERO);
            let row = |j: usize| lines[0].sum(|i| value(i, j));
            (origin, grid.local_2d(own[0], own[1]), lines[1].sum(row), lines[1].own(lines[0].own(one)))
        } else {
            let origin = grid.offset_3d(first[0], first[1], first[2]);
            // SAFETY: as above.
            let value = |i: usize, j: usize, l: usize| (unsafe { *x.add(origin + grid.local_3d(i, j, l)) }, T::ZERO);
            let plane = |l: usize| lines[1].sum(|j| lines[0].sum(|i| value(i, j, l)));
            let diagonal = lines[2].own(lines[1].own(lines[0].own(one)));
            (origin, grid.local_3d(own[0], own[1], own[2]), lines[2].sum(plane), diagonal)
        };
        // SAFETY: the thread's own dof.
        unsafe {
            let residual = *b.add(origin + own) - product;
            *x.add(origin + own) = *x.add(origin + own) + T::from_f64(residual.to_f64() / diagonal.to_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn classes_hold_every_node_once_and_no_two_that_share_a_cell() {
        for (degree, cells) in [(1, 2), (1, 8), (2, 4), (3, 2), (5, 4), (10, 8)] {
            let grid = Grid { cells: [cells, 2 * cells, 3 * cells], degree };
            for direction in 0..3 {
                let mut seen = vec![0; grid.nodes(direction)];
                for class in 0..colors(1, degree as usize) {
                    let class = Class::of(grid, class * (degree + 1).pow(direction as u32), direction as u32);
                    let nodes = (0..class.count).map(|index| class.first + class.step * index);
                    nodes.clone().for_each(|node| seen[node] += 1);
                    for (node, next) in nodes.clone().zip(nodes.skip(1)) {
                        let row = Row::of(degree as usize, node);
                        assert!(row.first + row.len <= next, "Q{degree}: {node} and {next} couple");
                    }
                }
                assert!(seen[0] == 0 && seen[1..].iter().all(|&count| count == 1), "Q{degree}: {seen:?}");
            }
        }
    }

    #[test]
    fn colors_are_classes_in_every_direction() {
        let grid = Grid::cube(4, 3);
        for color in 0..colors(3, 3) {
            for direction in 0..3 {
                let class = Class::of(grid, color / 4u32.pow(direction), 0);
                assert_eq!(Class::of(grid, color, direction), class);
            }
        }
    }

    #[test]
    fn a_row_couples_with_the_cells_of_its_node() {
        for degree in 1..=5 {
            for node in 1..4 * degree {
                let row = Row::of(degree, node);
                let share = |other: usize| {
                    (0..4).any(|cell| {
                        let nodes = cell * degree..=(cell + 1) * degree;
                        nodes.contains(&node) && nodes.contains(&other)
                    })
                };
                let expected: std::vec::Vec<_> = (0..=4 * degree).filter(|&other| share(other)).collect();
                assert_eq!(expected, (row.first..row.first + row.len).collect::<std::vec::Vec<_>>());
                assert_eq!(row.first + row.own, node);
                assert!(row.stiffness(degree) + 2 * degree < direction_words(degree));
            }
        }
    }
}
