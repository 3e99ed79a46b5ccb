//! Lines of nodes: their matrices, which thread has which, and where they are in shared memory.

use super::{Groups, HangingLines, across};
use crate::layout::{Column, Shared};
use crate::scalar::Real;
use cuda_std::shared::Word;
use cuda_std::thread;

/// The 1D matrices of all cells with `N` nodes a direction, by rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellMatrices<T, const N: usize> {
    /// `B`: from nodes to Gauss points.
    pub values: [[T; N]; N],
    /// `D`: from values at Gauss points to derivatives there.
    pub derivatives: [[T; N]; N],
    /// From a parent to its lower child.
    pub lower: [[T; N]; N],
    /// From a parent to its upper child.
    pub upper: [[T; N]; N],
}

impl<T: Real, const N: usize> CellMatrices<T, N> {
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

/// `M x`.
#[inline(always)]
pub fn times<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N]) -> [T; N] {
    let mut y = [T::ZERO; N];
    for i in 0..N {
        for j in 0..N {
            y[i] = T::fma(matrix[i][j], x[j], y[i]);
        }
    }
    y
}

/// `Mᵀ x`.
#[inline(always)]
pub fn transposed<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N]) -> [T; N] {
    add_transposed(matrix, x, [T::ZERO; N])
}

#[inline(always)]
fn add_transposed<T: Real, const N: usize>(matrix: &[[T; N]; N], x: &[T; N], mut sum: [T; N]) -> [T; N] {
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
    across: [usize; 2],
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

    /// The number of the cell; each group has as many numbers as cells.
    #[inline(always)]
    pub fn slot(&self) -> usize {
        self.group * const { Self::GROUPS.cells() } + self.cell
    }

    /// The thread's line along a direction, in a tensor.
    #[inline(always)]
    fn line(&self, direction: usize) -> Column {
        let [first, second] = across(direction);
        let start = self.cell * Self::CELL + self.across[0] * Self::STRIDES[first];
        let start = if DIM == 3 { start + self.across[1] * Self::STRIDES[second] } else { start };
        Column { start, stride: Self::STRIDES[direction] }
    }

    /// Whether the cell's line along a direction hangs.
    #[inline(always)]
    fn hangs(&self, lines: HangingLines, direction: usize) -> bool {
        lines.has(direction, self.across, N)
    }

    /// A line, interpolated from the parent's if it hangs.
    #[inline(always)]
    pub fn interpolate<T: Real>(
        &self,
        matrices: &CellMatrices<T, N>,
        lines: HangingLines,
        direction: usize,
        u: [T; N],
    ) -> [T; N] {
        if self.hangs(lines, direction) { matrices.to_child(lines.is_upper(direction), &u) } else { u }
    }

    /// The transpose.
    #[inline(always)]
    pub fn interpolate_transposed<T: Real>(
        &self,
        matrices: &CellMatrices<T, N>,
        lines: HangingLines,
        direction: usize,
        u: [T; N],
    ) -> [T; N] {
        if self.hangs(lines, direction) {
            matrices.add_from_child(lines.is_upper(direction), &u, [T::ZERO; N])
        } else {
            u
        }
    }
}

/// A tensor of all cells of a group in shared memory.
#[derive(Clone, Copy)]
pub struct Tensor<T, const DIM: usize, const N: usize> {
    words: Shared<T>,
    place: Place<DIM, N>,
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

    /// An entry of it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(&self, direction: usize, layer: usize) -> T {
        let Column { start, stride } = self.place.line(direction);
        self.words.get(start + layer * stride)
    }

    /// Sets an entry of it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(&self, direction: usize, layer: usize, value: T) {
        let Column { start, stride } = self.place.line(direction);
        self.words.set(start + layer * stride, value);
    }

    /// Sets it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn write(&self, direction: usize, values: &[T; N]) {
        self.words.write(self.place.line(direction), values);
    }
}
