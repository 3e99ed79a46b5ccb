//! Tensors in shared memory: where a column lies, and its way into registers and back.
//!
//! A tensor of `X` entries a row and `Y` rows a plane is stored row-major, `x + X (y + Y z)`, without padding: `X` and
//! `Y` are odd for the nodes of a patch, so a warp that owns consecutive columns in y and z (rows, stride `X`) or in x
//! and y (stride `X Y`) touches every bank once.

/// Offset of the first entry and distance of the entries of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub start: usize,
    pub stride: usize,
}

/// A row-major tensor of `X` entries a row and `Y` rows a plane.
pub struct RowMajor<const X: usize, const Y: usize>;

impl<const X: usize, const Y: usize> RowMajor<X, Y> {
    /// The column along x at `(y, z)`.
    #[inline(always)]
    pub const fn along_x(y: usize, z: usize) -> Column {
        Column { start: X * (y + Y * z), stride: 1 }
    }

    /// The column along y at `(x, z)`.
    #[inline(always)]
    pub const fn along_y(x: usize, z: usize) -> Column {
        Column { start: x + X * Y * z, stride: X }
    }

    /// The column along z at `(x, y)`.
    #[inline(always)]
    pub const fn along_z(x: usize, y: usize) -> Column {
        Column { start: x + X * y, stride: X * Y }
    }
}

pub use device::*;

mod device {
    use super::Column;
    use crate::scalar::Value;
    use cuda_std::shared::{Dynamic, Word};

    /// A patch's part of the block's dynamic shared memory.
    #[derive(Clone, Copy)]
    pub struct Shared<T>(Dynamic<T>);

    impl<T: Word + Value<T>> Shared<T> {
        /// From a word offset.
        #[inline(always)]
        pub fn at(offset: usize) -> Self {
            Self(Dynamic::at(offset as u32))
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn get(self, index: usize) -> T {
            // SAFETY: kernels are launched with the shared memory that their `Shape` says, and index within it.
            unsafe { self.0.get(index as u32) }
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn set(self, index: usize, value: T) {
            // SAFETY: as above.
            unsafe { self.0.set(index as u32, value) }
        }

        /// Starts to copy a word from global memory; `cuda_std::shared::wait_for_copies` and a barrier end it.
        ///
        /// # Safety
        /// `source` may be read, and nobody writes it until then.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn copy(self, index: usize, source: *const T) {
            // SAFETY: as above, and the caller's promise.
            unsafe { self.0.copy_async(index as u32, source) }
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn read<const N: usize>(self, column: Column) -> [T; N] {
            let mut values = [T::ZERO; N];
            for i in 0..N {
                values[i] = self.get(column.start + i * column.stride);
            }
            values
        }

        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn write<const N: usize>(self, column: Column, values: &[T; N]) {
            for i in 0..N {
                self.set(column.start + i * column.stride, values[i]);
            }
        }
    }
}
