//! By products of 16 rows, for compute capability 9.0.

use super::Rows;
use crate::mma::{M16N8K4, Product};

impl Rows for M16N8K4 {
    #[inline(always)]
    unsafe fn add(a: [f64; 2], b: f64, sums: &mut [f64; 4]) {
        // SAFETY: the caller's promise.
        *sums = unsafe { Self::multiply_add(&a, &[b], sums) };
    }
}

module!(M16N8K4, "dense_hopper", "dense_sm90", needs_hopper: true);
