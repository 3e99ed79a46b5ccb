//! What cells read, and where they leave their local results.

use super::family::Shares;
use super::lines::{Place, Tensor};
use super::{NONE, WHOLE};
use crate::scalar::Real;
use bytemuck::Zeroable;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::ptr::ldg;

/// Values at the nodes of the thread's line along `direction`, by which `nodes` lie, too.
///
/// # Safety
/// `nodes` lists the nodes of the place's cells, and each is an entry of `x`.
#[inline(always)]
pub unsafe fn read_nodes<T: Real, const DIM: usize, const N: usize>(
    nodes: *const u32,
    place: Place<DIM, N>,
    direction: usize,
    x: *const T,
) -> [T; N] {
    let mut u = [T::ZERO; N];
    for layer in 0..N {
        // SAFETY: the caller's promise.
        unsafe {
            let node = ldg(nodes.add(place.entry(direction, direction, layer)));
            if node != NONE {
                u[layer] = ldg(x.add((node & !WHOLE) as usize));
            }
        }
    }
    u
}

/// How local results of cells are summed up at nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Writes {
    /// Cells leave them in memory, and a second kernel sums them up in a fixed order: the same bits each time.
    #[default]
    Gather,
    /// Cells of one color have no node in common and add to it one color after the other: the same bits each time.
    Colors,
    /// Cells add to nodes by atomic operations, in any order: the last digits differ from time to time.
    Atomics,
}

impl core::fmt::Display for Writes {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        f.write_str(match self {
            Self::Gather => "gather",
            Self::Colors => "colors",
            Self::Atomics => "atomics",
        })
    }
}

/// What cells leave their results in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Target<T> {
    /// Of [`Writes::Gather`]: results of all cells, by lines, where they are no [`WHOLE`] sums.
    pub sums: *mut T,
    /// Of [`Writes::Gather`] gets `b + sign A x` at whole sums and 0 at nodes of lesser kinds; by the other two what it has is added to.
    pub y: *mut T,
    /// Null for 0.
    pub b: *const T,
    /// What each node of `y` is.
    pub kinds: *const u8,
    /// The least kind of nodes that are unknowns here.
    pub least: u32,
    /// [`Writes`].
    pub writes: u32,
    /// The first groups that are families.
    pub families: u32,
    /// Of results in `y`, not of those in `sums`.
    pub sign: T,
}

// SAFETY: null pointers and zeros are values.
unsafe impl<T: Zeroable> Zeroable for Target<T> {}

impl<T: Real> Target<T> {
    /// Leaves the results of the thread's line along `direction` of a cell whose `nodes` lie by lines along `listed`. If groups
    /// may be families, `own` is overwritten, at a barrier.
    ///
    /// # Safety
    /// Lists and vectors are those of the cells of the place; if [`Self::writes`] is [`Writes::Colors`], no two families of the launch,
    /// and no two cells that are in none, have a node in common. Nobody else reads or writes the thread's line of `own`.
    #[inline(always)]
    pub unsafe fn put<const DIM: usize, const N: usize, const FAMILIES: bool>(
        &self,
        nodes: *const u32,
        own: Tensor<T, DIM, N>,
        [listed, direction]: [usize; 2],
        u: [T; N],
    ) {
        let place = own.place;
        let families = if FAMILIES { self.families } else { 0 };
        let shares = Shares::new(place, direction, families);
        let u = if FAMILIES { shares.sum(own, u) } else { u };
        for layer in 0..N {
            if !shares.leaves(layer) {
                continue;
            }
            // SAFETY: the caller's promise.
            unsafe {
                let entry = ldg(nodes.add(place.entry(listed, direction, layer)));
                if self.writes == Writes::Gather as u32 && entry & WHOLE == 0 {
                    *self.sums.add(place.entry(direction, direction, layer)) = u[layer];
                    continue;
                }
                if entry == NONE {
                    continue;
                }
                let node = (entry & !WHOLE) as usize;
                let (is_wanted, value) = (*self.kinds.add(node) as u32 >= self.least, self.sign * u[layer]);
                let y = self.y.add(node);
                if self.writes == Writes::Gather as u32 {
                    let start = if self.b.is_null() { T::ZERO } else { *self.b.add(node) };
                    *y = if is_wanted { start + value } else { T::ZERO };
                } else if is_wanted {
                    if self.writes == Writes::Atomics as u32 {
                        add_atomically(y, value);
                    } else {
                        *y = *y + value;
                    }
                }
            }
        }
    }
}

/// Adds to a number in global memory, in no order with other accesses.
///
/// # Safety
/// Other threads access the number by this function only.
#[inline(always)]
unsafe fn add_atomically<T: Real>(address: *mut T, value: T) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise; a `Real` of 8 bytes is `f64`, the other one `f32`.
    unsafe {
        if size_of::<T>() == size_of::<f64>() {
            let value = value.to_f64();
            asm!("red.relaxed.gpu.global.add.f64 [{}], {};", in(reg64) address, in(reg64) value, options(nostack, preserves_flags));
        } else {
            let value = value.to_f64() as f32;
            asm!("red.relaxed.gpu.global.add.f32 [{}], {};", in(reg64) address, in(reg32) value, options(nostack, preserves_flags));
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise; threads of a block that is emulated run one at a time, and blocks one after the other.
    unsafe {
        *address = *address + value;
    }
}
