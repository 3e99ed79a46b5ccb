//! What a thread of a patch kernel is: its patch and its column.

use cuda_std::hint::made_here;
use cuda_std::thread;

/// A thread's place: the patch (in x, along a color, class or tiling; y and z are the block's) and its column.
#[derive(Clone, Copy)]
pub struct Place {
    /// Patch index in x; clamped to the last one, so that a thread without a patch may read, but must not write.
    pub patch: usize,
    /// Whether there is such a patch.
    pub active: bool,
    /// Slot of the patch in the block.
    pub slot: usize,
    /// Column of the patch, `0..shape.columns`.
    pub column: usize,
}

/// `(index / divisor, index % divisor)` for an index and a divisor below 1024, by a multiplication and a shift: what the
/// compiler makes of `/` where it knows the bounds, conversions to 16 bits and back, is longer.
#[inline(always)]
pub const fn quotient_and_remainder(index: usize, divisor: usize) -> (usize, usize) {
    let (index, divisor) = (index as u32, divisor as u32);
    let quotient = (index * (1u32 << 20).div_ceil(divisor)) >> 20;
    (quotient as usize, (index - quotient * divisor) as usize)
}

/// A thread's index in a row of `width`, the slot of its patch, and the number of its row, for threads along rows of all
/// patches of a block one after the other: as global memory wants them. Made anew at every call, so that it takes no
/// registers between.
#[inline(always)]
pub fn along_rows(width: usize, patches: usize) -> [usize; 3] {
    let thread = made_here(thread::thread_idx_x()) as usize;
    let (second, in_row) = quotient_and_remainder(thread, width * patches);
    let (slot, first) = quotient_and_remainder(in_row, width);
    [first, slot, second]
}

impl Place {
    /// With `count > 0` patches in x, in a block of `patches` patches with `columns` threads each.
    #[inline(always)]
    pub fn new(columns: usize, patches: usize, count: u32) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let slot = thread / columns;
        let patch = thread::block_idx_x() as usize * patches + slot;
        let last = count as usize - 1;
        let active = patch <= last;
        Self { patch: if active { patch } else { last }, active, slot, column: thread % columns }
    }
}

#[cfg(test)]
mod tests {
    use super::quotient_and_remainder;

    #[test]
    fn quotients_are_those_of_a_division() {
        for divisor in 1..1024 {
            for index in 0..1024 {
                assert_eq!(quotient_and_remainder(index, divisor), (index / divisor, index % divisor));
            }
        }
    }
}
