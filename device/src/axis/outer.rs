//! Sums of outer products of vectors along the axes of a tensor, `y = sum_r f_r0 ⊗ f_r1 ⊗ f_r2`: load vectors and interpolants of
//! functions that are such sums.
//!
//! A thread owns the entries at one place in x and y of [`PLANES`] planes beside each other, so that it reads factors along x and y
//! once for all of them.

use super::{OUTER_BLOCKS, THREADS};
use crate::scalar::{Real, Value};
use bytemuck::{Pod, Zeroable};
use cuda_std::thread;

/// Planes, with one index along z, of a thread.
pub const PLANES: u32 = 4;

/// The sizes of the tensor, `x` fastest, and the number of products.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterShape {
    /// Entries along x, y and z; those of a plane are at most `u32::MAX`.
    pub sizes: [u32; 3],
    pub terms: u32,
}

// SAFETY: four `u32` without padding.
unsafe impl Zeroable for OuterShape {}
// SAFETY: as above.
unsafe impl Pod for OuterShape {}

impl OuterShape {
    /// Blocks for a thread for each place of a plane, and all planes; none if there is no entry.
    pub const fn blocks(self) -> [u32; 3] {
        let plane = self.sizes[0] as u64 * self.sizes[1] as u64;
        let groups = self.sizes[2].div_ceil(PLANES);
        let side_by_side = if groups < OUTER_BLOCKS { groups } else { OUTER_BLOCKS };
        [plane.div_ceil(THREADS as u64) as u32, side_by_side, groups.div_ceil(OUTER_BLOCKS)]
    }
}

/// See [`OuterProducts`](super::OuterProducts). Sums are in `f64`, over ascending products.
///
/// # Safety
/// Launched with [`THREADS`] threads a block and [`OuterShape::blocks`]; the factors and the tensor are as the shape says.
#[inline(always)]
pub unsafe fn outer_products<T: Real>(factors: *const f64, y: *mut T, shape: OuterShape, add: u32) {
    let [size_x, size_y, size_z] = shape.sizes;
    let plane = size_x as usize * size_y as usize;
    let place = thread::block_idx_x() as usize * THREADS + thread::thread_idx_x() as usize;
    let first = (thread::block_idx_z() * OUTER_BLOCKS + thread::block_idx_y()) * PLANES;
    if place >= plane || first >= size_z {
        return;
    }
    // Not 0 here; the compiler leaves out the panic of a division by 0.
    let divisor = if size_x == 0 { 1 } else { size_x };
    let (along_x, along_y) = (place as u32 % divisor, place as u32 / divisor);
    let planes = size_z - first;
    let length = size_x as usize + size_y as usize + size_z as usize;
    // SAFETY: the caller's promise; the place is in a plane, and `planes` of them begin with the first one. The entries of `y` are
    // the thread's own.
    unsafe {
        let y = y.add(first as usize * plane + place);
        let mut of_x = factors.add(along_x as usize);
        let mut of_y = factors.add(size_x as usize + along_y as usize);
        let mut of_z = factors.add(size_x as usize + size_y as usize + first as usize);
        let mut sums = [0.0; PLANES as usize];
        for index in 0..PLANES {
            if add != 0 && index < planes {
                sums[index as usize] = (*y.add(index as usize * plane)).to_f64();
            }
        }
        for _ in 0..shape.terms {
            let (value_x, value_y) = (*of_x, *of_y);
            for index in 0..PLANES {
                // The same for all threads of the block.
                if index < planes {
                    let scale = value_y * *of_z.add(index as usize);
                    sums[index as usize] = f64::fma(value_x, scale, sums[index as usize]);
                }
            }
            (of_x, of_y, of_z) = (of_x.add(length), of_y.add(length), of_z.add(length));
        }
        for index in 0..PLANES {
            if index < planes {
                *y.add(index as usize * plane) = T::from_f64(sums[index as usize]);
            }
        }
    }
}
