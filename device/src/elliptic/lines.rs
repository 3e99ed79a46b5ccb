//! Lines of nodes: their matrices, which thread has which, and where they are in shared memory.

use super::{Groups, HangingLines, across};
use crate::layout::{Column, Shared};
use crate::scalar::Real;
use cuda_std::shared::Word;
use cuda_std::thread::{self, sync_threads};

/// Interpolation from the nodes of a line to the nodes of each half, by rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Halves<T, const N: usize> {
    pub lower: [[T; N]; N],
    pub upper: [[T; N]; N],
}

impl<T: Real, const N: usize> Halves<T, N> {
    /// From a parent to one of its children.
    #[inline(always)]
    pub fn to_child(&self, is_upper: bool, x: &[T; N]) -> [T; N] {
        if is_upper { times(&self.upper, x) } else { times(&self.lower, x) }
    }

    /// `sum += Hᵀ x`, `H` being [`Self::to_child`].
    #[inline(always)]
    pub fn add_from_child(&self, is_upper: bool, x: &[T; N], sum: [T; N]) -> [T; N] {
        if is_upper { add_transposed(&self.upper, x, sum) } else { add_transposed(&self.lower, x, sum) }
    }
}

/// The 1D matrices of the operator on any cell, by rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellMatrices<T, const N: usize> {
    /// `B`: from nodes to Gauss points.
    pub values: [[T; N]; N],
    /// `E`: from nodes to derivatives at Gauss points.
    pub slopes: [[T; N]; N],
    pub halves: Halves<T, N>,
}

/// The 1D matrices of the operator on boxes with a constant coefficient, by rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BoxMatrices<T, const N: usize> {
    /// `M`, on the unit interval.
    pub mass: [[T; N]; N],
    /// `K`, on the unit interval.
    pub stiffness: [[T; N]; N],
    pub halves: Halves<T, N>,
}

/// `M x`.
#[inline(always)]
pub fn times<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N]) -> [T; N] {
    add_times(matrix, x, [T::ZERO; N])
}

/// `sum + M x`.
#[inline(always)]
pub fn add_times<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N], mut sum: [T; N]) -> [T; N] {
    for i in 0..N {
        for j in 0..N {
            sum[i] = T::fma(matrix[i][j], x[j], sum[i]);
        }
    }
    sum
}

/// `Mᵀ x`.
#[inline(always)]
pub fn transposed<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N]) -> [T; N] {
    add_transposed(matrix, x, [T::ZERO; N])
}

/// `sum + Mᵀ x`.
#[inline(always)]
pub fn add_transposed<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N], mut sum: [T; N]) -> [T; N] {
    for j in 0..N {
        for i in 0..N {
            sum[j] = T::fma(matrix[i][j], x[i], sum[j]);
        }
    }
    sum
}

/// A thread's place: a cell of its group, and two coordinates across lines, the second 0 in 2D.
#[derive(Clone, Copy)]
pub struct Place<const DIM: usize, const N: usize> {
    /// The cell in the group.
    pub cell: usize,
    /// The group.
    pub group: usize,
    thread: usize,
    pub(super) across: [usize; 2],
}

impl<const DIM: usize, const N: usize> Place<DIM, N> {
    const GROUPS: Groups = Groups::new(DIM, N);
    /// From a node to the next one in each direction; rows are odd, so that lines along x meet every bank once.
    const STRIDES: [usize; 3] = [1, N | 1, (N | 1) * N];
    /// Words of a cell.
    const CELL: usize = (N | 1) * Self::GROUPS.lines();
    /// Threads of a block, which is how far entries of a line are apart in memory.
    pub const STEP: usize = Self::GROUPS.threads();

    /// Words of a tensor of all cells of a group.
    pub const fn tensor_words() -> usize {
        Self::CELL * Self::GROUPS.cells()
    }

    /// The calling thread's.
    #[inline(always)]
    pub fn of_thread() -> Self {
        let thread = thread::thread_idx_x();
        let lines = const { Self::GROUPS.lines() as u32 };
        let (cell, line) = (thread / lines, thread % lines);
        let across = if DIM == 3 { [line % N as u32, line / N as u32] } else { [line, 0] };
        Self {
            cell: cell as usize,
            group: thread::block_idx_x() as usize,
            thread: thread as usize,
            across: across.map(|index| index as usize),
        }
    }

    /// First entry of the thread's line in a list with so many words a node.
    #[inline(always)]
    pub fn first(&self, words: usize) -> usize {
        self.group * (words * const { Self::GROUPS.entries() }) + self.thread
    }

    /// In a list by lines along `listed`, the entry of node `layer` of the thread's line along `direction`.
    #[inline(always)]
    pub fn entry(&self, listed: usize, direction: usize, layer: usize) -> usize {
        if listed == direction {
            return self.first(1) + layer * Self::STEP;
        }
        let mut index = [0; 3];
        let [first, second] = across(direction);
        (index[first], index[second], index[direction]) = (self.across[0], self.across[1], layer);
        let [first, second] = across(listed);
        let line = index[first] + if DIM == 3 { N * index[second] } else { 0 };
        let of_group = self.group * const { Self::GROUPS.entries() };
        of_group + index[listed] * Self::STEP + self.cell * const { Self::GROUPS.lines() } + line
    }

    /// The thread's line of its cell.
    #[inline(always)]
    pub fn line_of_cell(&self) -> usize {
        self.across[0] + if DIM == 3 { N * self.across[1] } else { 0 }
    }

    /// The number of the cell; each group has as many numbers as cells.
    #[inline(always)]
    pub fn slot(&self) -> usize {
        self.group * const { Self::GROUPS.cells() } + self.cell
    }

    /// The thread's line along a direction, in a tensor.
    #[inline(always)]
    fn line(&self, direction: usize) -> Column {
        Self::line_of(self.cell, direction, self.across)
    }

    /// A line of a cell of the group, at these coordinates across it.
    #[inline(always)]
    pub(super) fn line_of(cell: usize, direction: usize, [a, b]: [usize; 2]) -> Column {
        let [first, second] = across(direction);
        let start = cell * Self::CELL + a * Self::STRIDES[first];
        let start = if DIM == 3 { start + b * Self::STRIDES[second] } else { start };
        Column { start, stride: Self::STRIDES[direction] }
    }

    /// A line, interpolated from the parent's if it hangs.
    #[inline(always)]
    pub fn interpolate<T: Real>(
        &self,
        halves: &Halves<T, N>,
        lines: HangingLines,
        direction: usize,
        u: [T; N],
    ) -> [T; N] {
        let hangs = lines.has(direction, self.across, N);
        if hangs { halves.to_child(lines.is_upper(direction), &u) } else { u }
    }

    /// The transpose.
    #[inline(always)]
    pub fn interpolate_transposed<T: Real>(
        &self,
        halves: &Halves<T, N>,
        lines: HangingLines,
        direction: usize,
        u: [T; N],
    ) -> [T; N] {
        let hangs = lines.has(direction, self.across, N);
        if hangs { halves.add_from_child(lines.is_upper(direction), &u, [T::ZERO; N]) } else { u }
    }
}

/// A tensor of all cells of a group in shared memory.
#[derive(Clone, Copy)]
pub struct Tensor<T, const DIM: usize, const N: usize> {
    pub(super) words: Shared<T>,
    pub(super) place: Place<DIM, N>,
}

impl<T: Real + Word, const DIM: usize, const N: usize> Tensor<T, DIM, N> {
    /// The tensor of that number.
    #[inline(always)]
    pub fn new(number: usize, place: Place<DIM, N>) -> Self {
        Self { words: Shared::at(number * const { Place::<DIM, N>::tensor_words() }), place }
    }

    /// The thread's line along a direction.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn read(&self, direction: usize) -> [T; N] {
        self.words.read(self.place.line(direction))
    }

    /// Sets it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn write(&self, direction: usize, values: &[T; N]) {
        self.words.write(self.place.line(direction), values);
    }

    /// From a line along x of what a cell reads to one along the last direction of its own values, through the tensor.
    #[inline(always)]
    pub fn interpolate(&self, halves: &Halves<T, N>, lines: HangingLines, u: [T; N]) -> [T; N] {
        let (place, last) = (self.place, DIM - 1);
        // These operations commute.
        self.write(0, &place.interpolate(halves, lines, 0, u));
        sync_threads();
        if DIM == 3 {
            self.write(1, &place.interpolate(halves, lines, 1, self.read(1)));
            sync_threads();
        }
        place.interpolate(halves, lines, last, self.read(last))
    }

    /// The transpose, from a line along one direction to one along another, which are the first and the last one.
    #[inline(always)]
    pub fn interpolate_transposed(
        &self,
        halves: &Halves<T, N>,
        lines: HangingLines,
        [from, to]: [usize; 2],
        u: [T; N],
    ) -> [T; N] {
        let place = self.place;
        self.write(from, &place.interpolate_transposed(halves, lines, from, u));
        sync_threads();
        if DIM == 3 {
            self.write(1, &place.interpolate_transposed(halves, lines, 1, self.read(1)));
            sync_threads();
        }
        place.interpolate_transposed(halves, lines, to, self.read(to))
    }
}
