//! What a thread of the smoother in 3D is.

use cuda_std::hint::made_here;
use cuda_std::thread;

/// `(index / divisor, index % divisor)` for an index and a divisor below 1024, by a multiplication and a shift: what the
/// compiler makes of `/` where it knows the bounds, conversions to 16 bits and back, is longer.
#[inline(always)]
pub(super) const fn quotient_and_remainder(index: usize, divisor: usize) -> (usize, usize) {
    if divisor == 1 {
        return (index, 0);
    }
    let (index, divisor) = (index as u32, divisor as u32);
    let quotient = (index * (1u32 << 20).div_ceil(divisor)) >> 20;
    (quotient as usize, (index - quotient * divisor) as usize)
}

/// A thread's index in a row of `width`, the slot of its patch, and the number of its row, for threads along rows of all
/// patches of a block one after the other: as global memory wants them. Made anew at every call, so that it takes no
/// registers between.
#[inline(always)]
pub(super) fn along_rows(width: usize, patches: usize) -> [usize; 3] {
    let thread = made_here(thread::thread_idx_x()) as usize;
    let (second, in_row) = quotient_and_remainder(thread, width * patches);
    let (slot, first) = quotient_and_remainder(in_row, width);
    [first, slot, second]
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
