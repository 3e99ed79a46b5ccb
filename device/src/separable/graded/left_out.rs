//! Patches that a color leaves out: those that are kept in every direction.

use super::smooth::numbers;
use crate::patch::Directions;
use cuda_std::ptr::ldg;

/// Which patches of a color are left out; none if `kept` is null.
#[derive(Clone, Copy)]
pub struct LeftOut {
    /// See [`Smooth`](super::Smooth).
    pub kept: *const u32,
    pub directions: Directions,
    pub color: u32,
}

impl LeftOut {
    /// Length of the run of kept patches of a direction that begins at an index.
    ///
    /// # Safety
    /// The color has a patch with this index, and `kept` a number for every patch.
    #[inline(always)]
    unsafe fn run(self, d: usize, index: u32) -> u32 {
        let [_, number] = numbers(self.directions, self.color, d, index);
        // SAFETY: the caller's promise.
        unsafe { ldg(self.kept.add(number as usize)) }
    }

    /// Whether `count` patches side by side in x are all left out, from these indices on.
    ///
    /// # Safety
    /// The color has a patch with these indices; `kept` is null, or has a number for every patch.
    #[inline(always)]
    pub unsafe fn all(self, dim: usize, [x, y, z]: [u32; 3], count: u32) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            !self.kept.is_null() && self.run(1, y) > 0 && (dim == 2 || self.run(2, z) > 0) && self.run(0, x) >= count
        }
    }
}
