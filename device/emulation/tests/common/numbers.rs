//! Entries of vectors for tests that compare with a plain loop.

use patchmg_device::scalar::Real;

/// Numbers with few digits, so that products and sums of a few thousand of them are exact in `f32`, too.
pub fn numbers<T: Real>(count: usize, seed: usize) -> Vec<T> {
    (0..count).map(|index| T::from_f64(((index + seed) * 7919 % 31) as f64 - 15.0)).collect()
}

/// What a kernel finds where it writes: numbers if it reads them, or else NaN, which must be gone afterwards.
pub fn found<T: Real>(count: usize, seed: usize, is_read: bool) -> Vec<T> {
    if is_read { numbers(count, seed) } else { vec![T::from_f64(f64::NAN); count] }
}
