//! Tensors in shared memory.

use crate::layout::Shared;
use crate::scalar::Real;

/// A tensor in shared memory.
#[derive(Clone, Copy)]
pub struct Tensor<T> {
    pub memory: Shared<T>,
    pub strides: [usize; 3],
}

impl<T: Real> Tensor<T> {
    #[inline(always)]
    const fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.strides[1] * y + self.strides[2] * z
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn get(&self, point: [usize; 3]) -> T {
        self.memory.get(self.index(point))
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(&self, point: [usize; 3], value: T) {
        self.memory.set(self.index(point), value);
    }
}
