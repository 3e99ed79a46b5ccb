//! The local solver: fast diagonalization, or a stored inverse.

use super::contract::{Tensor, contract};
use super::order::of_solve;
use super::residual::product;
use super::step::Patch;
use crate::scalar::Real;
use cuda_std::hint::opaque;
use cuda_std::shared::Word;
use cuda_std::thread;

/// `A_j⁻¹ r = (S ⊗ S ⊗ S) (Λ ⊗ I ⊗ I + I ⊗ Λ ⊗ I + I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ r` (paper 1, equation 2.14), of which each
/// thread keeps its outputs in the last direction.
#[inline(always)]
pub fn diagonalized<T: Real + Word, const L: usize>(patch: &Patch<T>) -> [T; L] {
    let (sizes, variant) = (patch.sizes, patch.variant);
    let outputs = of_solve(patch.step, variant, sizes, patch.thread);
    let vectors = patch.vectors();
    let last = sizes.dim - 1;
    let (mut from, mut to) = (patch.r(), patch.z());
    for direction in 0..sizes.dim {
        if outputs.active {
            let mut sums = [T::ZERO; L];
            contract(variant, direction, vectors.transposed(), from, outputs, &mut sums);
            for layer in 0..outputs.count {
                let point = outputs.point(variant, direction, layer);
                to.set(point, if direction == last { sums[layer] / patch.eigenvalue(point) } else { sums[layer] });
            }
        }
        thread::sync_threads();
        (from, to) = (to, from);
    }
    for direction in 0..last {
        if outputs.active {
            product::<T, L>(variant, direction, vectors, from, outputs, to);
        }
        thread::sync_threads();
        (from, to) = (to, from);
    }
    let mut sums = [T::ZERO; L];
    if outputs.active {
        contract(variant, last, vectors, from, outputs, &mut sums);
    }
    sums
}

/// `A_j⁻¹ r` by the inverse in global memory, symmetric and row-major over the interior nodes, x fastest.
///
/// # Safety
/// `inverse` is that of the patch.
#[inline(always)]
pub unsafe fn stored<T: Real + Word, const L: usize>(patch: &Patch<T>, inverse: *const T) -> [T; L] {
    let (sizes, variant) = (patch.sizes, patch.variant);
    let outputs = of_solve(patch.step, variant, sizes, patch.thread);
    let (width, layers) = (sizes.interior, sizes.layers(sizes.interior));
    let number = |[x, y, z]: [usize; 3]| x + width * (y + width * z);
    let entries = number([0, 0, layers]);
    let r: Tensor<T> = patch.r();
    let mut sums = [T::ZERO; L];
    if outputs.active {
        for j in 0..opaque(entries as u32) as usize {
            let value = r.get([j % width, j / width % width, j / (width * width)]);
            for layer in 0..outputs.count {
                let row = number(outputs.point(variant, sizes.dim - 1, layer));
                // SAFETY: the caller's promise. Symmetric: threads side by side read side by side.
                sums[layer] = T::fma(unsafe { *inverse.add(entries * j + row) }, value, sums[layer]);
            }
        }
    }
    sums
}
