//! Where 1D matrices come from (paper 4, table 2).

use super::contract::Tensor;
use super::staging::fill;
use crate::layout::Layout;
use crate::scalar::Real;
use bytemuck::{Pod, Zeroable};
use core::marker::PhantomData;
use cuda_std::ptr::{ReadOnly, ldg, load_parameter};
use cuda_std::shared::Word;
use cuda_std::texture::LinearTexture;

/// Several matrices.
pub trait Source<T>: Copy {
    /// An entry of matrix number `which`.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn get(self, which: usize, row: usize, column: usize) -> T;

    /// An entry whose row and column are sums of numbers without common bits, where those of a thread and of an entry are
    /// told apart.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn get_of_parts(self, which: usize, thread: [usize; 2], entry: [usize; 2]) -> T {
        self.get(which, thread[0] + entry[0], thread[1] + entry[1])
    }

    /// Where matrix number `which` begins in the shared window, if it is there.
    fn shared_address(self, which: usize) -> Option<u32> {
        let _ = which;
        None
    }

    /// Makes ready the matrices of a table, `N` by `N` each, that have these numbers in it; a barrier ends it.
    ///
    /// # Safety
    /// The table has these matrices, and nobody writes it.
    unsafe fn prepare(self, table: *const T, numbers: [usize; 3]) {
        let _ = (table, numbers);
    }

    /// The matrix that was the `place`-th of those numbers.
    fn matrix(self, place: usize, numbers: [usize; 3]) -> Matrix<Self> {
        Matrix { source: self, which: numbers[place], transposed: false }
    }
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Matrix<S> {
    pub source: S,
    pub which: usize,
    pub transposed: bool,
}

impl<S> Matrix<S> {
    #[inline(always)]
    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get<T>(self, row: usize, column: usize) -> T
    where
        S: Source<T>,
    {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        self.source.get(self.which, row, column)
    }

    /// See [`Source::get_of_parts`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get_of_parts<T>(self, thread: [usize; 2], entry: [usize; 2]) -> T
    where
        S: Source<T>,
    {
        let turned = |[row, column]: [usize; 2]| if self.transposed { [column, row] } else { [row, column] };
        self.source.get_of_parts(self.which, turned(thread), turned(entry))
    }
}

/// In shared memory, so many matrices, one a plane.
pub struct InShared<T: Copy, L, const N: usize>(pub Tensor<T, L>, pub usize);

impl<T: Copy, L, const N: usize> Clone for InShared<T, L, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy, L, const N: usize> Copy for InShared<T, L, N> {}

impl<T: Real + Word + ReadOnly, L: Layout, const N: usize> Source<T> for InShared<T, L, N> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn get(self, which: usize, row: usize, column: usize) -> T {
        self.0.get([column, row, which])
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn get_of_parts(self, which: usize, thread: [usize; 2], entry: [usize; 2]) -> T {
        let index = |[row, column]: [usize; 2], which| L::index([column, row, which]);
        if L::LINEAR {
            self.0.get_at(index(thread, 0) ^ index(entry, which))
        } else {
            self.get(which, thread[0] + entry[0], thread[1] + entry[1])
        }
    }

    #[inline(always)]
    fn shared_address(self, which: usize) -> Option<u32> {
        Some(self.0.memory.address(self.0.index([0, 0, which])))
    }

    #[inline(always)]
    unsafe fn prepare(self, table: *const T, [first, second, third]: [usize; 3]) {
        let entry = |[x, y, z]: [usize; 3]| {
            // Not an array, which would be indexed at run time.
            let number = match z {
                0 => first,
                1 => second,
                _ => third,
            };
            // SAFETY: the caller's promise.
            unsafe { ldg(table.add(x + N * (y + N * number))) }
        };
        fill::<T, L, N>(self.0, self.1, entry);
    }

    #[inline(always)]
    fn matrix(self, place: usize, _: [usize; 3]) -> Matrix<Self> {
        Matrix { source: self, which: place, transposed: false }
    }
}

/// In global memory, through the read-only path: row-major, `N` columns.
#[derive(Clone, Copy)]
pub struct InReadOnly<T, const N: usize>(pub *const T);

impl<T: Real + ReadOnly, const N: usize> Source<T> for InReadOnly<T, N> {
    #[inline(always)]
    fn get(self, which: usize, row: usize, column: usize) -> T {
        // SAFETY: made from the table of a launch, which nobody writes.
        unsafe { ldg(self.0.add(N * (N * which + row) + column)) }
    }
}

/// Kernel parameters: constant memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Constants<T, const N: usize> {
    pub matrices: [[[T; N]; N]; 2],
}

// SAFETY: an array of `Pod` numbers without padding.
unsafe impl<T: Zeroable, const N: usize> Zeroable for Constants<T, N> {}
// SAFETY: as above; `repr(C)` over one array has no padding.
unsafe impl<T: Pod, const N: usize> Pod for Constants<T, N> {}

/// In constant memory: the address of [`Constants`] in the window of parameters, on the host in memory.
#[derive(Clone, Copy)]
pub struct InConstant<T, const N: usize>(u64, PhantomData<T>);

impl<T, const N: usize> InConstant<T, N> {
    /// # Safety
    /// At `address` there is a [`Constants<T, N>`] for as long as entries are read.
    #[inline(always)]
    pub unsafe fn at(address: u64) -> Self {
        Self(address, PhantomData)
    }
}

impl<T: Real + ReadOnly, const N: usize> Source<T> for InConstant<T, N> {
    #[inline(always)]
    fn get(self, which: usize, row: usize, column: usize) -> T {
        let offset = size_of::<T>() * (N * (N * which + row) + column);
        // SAFETY: the promise of `at`.
        unsafe { load_parameter(self.0 + offset as u64) }
    }
}

/// In a texture, in `f32`, which is the widest format of its numbers: row-major, `N` columns.
#[derive(Clone, Copy)]
pub struct InTexture<const N: usize>(LinearTexture);

impl<const N: usize> InTexture<N> {
    /// # Safety
    /// `texture` is a texture object of two matrices, on the host their address, for as long as entries are read.
    #[inline(always)]
    pub unsafe fn of(texture: u64) -> Self {
        Self(LinearTexture(texture))
    }
}

impl<const N: usize> Source<f32> for InTexture<N> {
    #[inline(always)]
    fn get(self, which: usize, row: usize, column: usize) -> f32 {
        // SAFETY: the promise of `of`.
        unsafe { self.0.get((N * (N * which + row) + column) as u32) }
    }
}
