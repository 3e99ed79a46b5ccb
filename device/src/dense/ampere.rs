//! By products of 8 rows, for compute capability 8.0.

use super::Rows;
use crate::mma::{M8N8K4, Product};

impl Rows for M8N8K4 {
    #[inline(always)]
    unsafe fn add(a: [f64; 2], b: f64, sums: &mut [f64; 4]) {
        for part in 0..2 {
            let own = [sums[2 * part], sums[2 * part + 1]];
            // SAFETY: the caller's promise.
            [sums[2 * part], sums[2 * part + 1]] = unsafe { Self::multiply_add(&[a[part]], &[b], &own) };
        }
    }
}

module!(M8N8K4, "dense_ampere", "dense", needs_hopper: false);
