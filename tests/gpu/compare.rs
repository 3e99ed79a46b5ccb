//! Numbers to compute with, and how near two results must be.

use crate::Outcome;
use patchmg::Result;
use patchmg::backend::{Backend, Scalar};

/// `len` numbers in [-1, 1), the same for a seed in every run (splitmix64).
pub fn random<T: Scalar>(seed: u64, len: usize) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
    let number = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        T::from_f64(((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    std::iter::repeat_with(number).take(len).collect()
}

/// A vector of the backend with these entries.
pub fn uploaded<B: Backend, T: Scalar>(backend: &B, host: &[T]) -> Result<B::Vector<T>> {
    let mut vector = backend.zeros(host.len())?;
    backend.upload(host, &mut vector)?;
    Ok(vector)
}

/// The `len` entries of a vector of the backend.
pub fn downloaded<B: Backend, T: Scalar>(backend: &B, vector: &B::Vector<T>, len: usize) -> Result<Vec<T>> {
    let mut host = vec![T::ZERO; len];
    backend.download(vector, &mut host)?;
    Ok(host)
}

/// How far two machines may be apart, relative to the largest entry: what the project promises.
pub fn tolerance<T: Scalar>() -> f64 {
    if size_of::<T>() == 8 { 1e-12 } else { 1e-5 }
}

/// `max |found - exact| / max |exact|`.
pub fn distance<T: Scalar>(found: &[T], exact: &[f64]) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |scale: f64, value| scale.max(value.abs()));
    let differences = &mut found.iter().zip(exact).map(|(found, exact)| found.to_f64() - exact);
    largest(differences) / largest(&mut exact.iter().copied())
}

/// Two histories of residuals: as long, and apart by a part of `allowed` at most where the expected one is above `floor`.
pub fn assert_histories_close(found: &[f64], expected: &[f64], allowed: f64, floor: f64) -> Outcome {
    if found.len() != expected.len() {
        return Err(format!("history {found:?}, expected {expected:?}").into());
    }
    for (found, expected) in found.iter().zip(expected).filter(|(_, expected)| **expected > floor) {
        if (found / expected - 1.0).abs() > allowed {
            return Err(format!("residual {found:e}, expected {expected:e}").into());
        }
    }
    Ok(())
}

/// `max |found - expected| <= tolerance max |expected|`, with something to compare, all of it finite.
pub fn assert_close<T: Scalar>(found: &[T], expected: &[T], tolerance: f64) -> Outcome {
    if found.len() != expected.len() {
        return Err(format!("{} entries, expected {}", found.len(), expected.len()).into());
    }
    let scale = expected.iter().fold(0.0, |scale: f64, value| scale.max(value.to_f64().abs()));
    let mut worst = (0.0, 0);
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found.to_f64() - expected.to_f64()).abs();
        if !difference.is_finite() || difference > worst.0 {
            worst = (difference, index);
        }
        if !difference.is_finite() {
            break;
        }
    }
    let (difference, index) = worst;
    if difference <= tolerance * scale && scale > 0.0 {
        return Ok(());
    }
    let (found, expected) = (found[index], expected[index]);
    Err(format!("entry {index} is {found:?}, expected {expected:?}: off by {:.2e} relatively", difference / scale)
        .into())
}

/// The same bits.
pub fn assert_identical<T: Scalar>(first: &[T], second: &[T]) -> Outcome {
    if bytemuck::cast_slice::<T, u8>(first) == bytemuck::cast_slice::<T, u8>(second) {
        return Ok(());
    }
    let index = first.iter().zip(second).position(|(a, b)| bytemuck::bytes_of(a) != bytemuck::bytes_of(b));
    Err(format!("two runs differ, first at entry {index:?}").into())
}
