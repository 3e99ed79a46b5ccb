//! The local residual: all of it, or what an exact local solver needs of it.

use super::contract::{Matrix, Tensor, contract, store};
use super::order::{Outputs, of_residual};
use super::step::Patch;
use crate::kernels::Variant;
use crate::scalar::Real;
use cuda_std::shared::Word;
use cuda_std::thread;

/// `r = b - A x` on the interior, with `A = A ⊗ M [⊗ M] + M ⊗ A [⊗ M] [+ M ⊗ M ⊗ A]` and the sums that its terms share
/// taken once (paper 1, section 3.1.1). The right-hand side is in `r`, and `x` is kept.
#[inline(always)]
pub fn residual<T: Real + Word, const L: usize>(patch: &Patch<T>) {
    let (sizes, variant) = (patch.sizes, patch.variant);
    let [mass, stiffness] = patch.operator_matrices();
    let [u, w] = patch.parts.work.map(|start| Tensor::new(patch.memory, start, sizes.all));
    let outputs = Outputs::all(patch.step, variant, sizes, patch.thread);
    if outputs.active {
        let x = Tensor::new(patch.memory, patch.parts.x, sizes.all);
        product::<T, L>(variant, 0, mass, x, outputs, u);
        product::<T, L>(variant, 0, stiffness, x, outputs, w);
    }
    thread::sync_threads();
    if sizes.dim == 3 {
        let (mut mass_sums, mut stiffness_sums) = ([T::ZERO; L], [T::ZERO; L]);
        if outputs.active {
            contract(variant, 1, mass, u, outputs, &mut mass_sums);
            contract(variant, 1, mass, w, outputs, &mut stiffness_sums);
            contract(variant, 1, stiffness, u, outputs, &mut stiffness_sums);
        }
        thread::sync_threads();
        if outputs.active {
            store(variant, 1, u, outputs, &mass_sums);
            store(variant, 1, w, outputs, &stiffness_sums);
        }
        thread::sync_threads();
    }
    let inner = of_residual(patch.step, variant, sizes, patch.thread);
    if inner.active {
        let (last, outputs, r) = (sizes.dim - 1, inner.shifted(sizes), patch.r());
        let mut sums = [T::ZERO; L];
        contract(variant, last, stiffness, u, outputs, &mut sums);
        contract(variant, last, mass, w, outputs, &mut sums);
        for layer in 0..inner.count {
            let point = inner.point(variant, last, layer);
            r.set(point, r.get(point) - sums[layer]);
        }
    }
}

/// `r = b - A_IB x_B` on the interior (paper 1, equations 4.1 and 4.2).
///
/// A face's nodes meet the interior by a boundary column of one 1D matrix, in the direction normal to it, and by the 1D
/// matrices in its own directions: `M_IB ⊗ (A ⊗ M + M ⊗ A) + A_IB ⊗ (M ⊗ M)` in 3D. All faces are layers of one tensor
/// (in 2D its rows), zero where a later direction's faces have the node, so that each counts once.
#[inline(always)]
pub fn boundary_residual<T: Real + Word, const L: usize>(patch: &Patch<T>) {
    let (sizes, variant) = (patch.sizes, patch.variant);
    let [mass, stiffness] = patch.operator_matrices();
    let [u, w] = patch.parts.work.map(|start| Tensor::new(patch.memory, start, sizes.all));
    let outputs = Outputs::faces(patch.step, variant, sizes, patch.thread);
    if outputs.active {
        let faces = Tensor::new(patch.memory, patch.parts.x, sizes.all);
        product::<T, L>(variant, 0, mass, faces, outputs, u);
        product::<T, L>(variant, 0, stiffness, faces, outputs, w);
    }
    thread::sync_threads();
    let (mass_faces, stiffness_faces) = if sizes.dim == 3 {
        // Contiguous, so that threads numbered through the interior read without conflicts.
        let starts = [patch.parts.x, patch.parts.z];
        let [mass_faces, stiffness_faces] = starts.map(|start| Tensor::new(patch.memory, start, sizes.interior));
        let mut inner = Outputs::masked(patch.step, variant, sizes, patch.thread);
        inner.count = sizes.faces();
        if inner.active {
            let outputs = Outputs { first: 0, ..inner.shifted(sizes) };
            let (mut mass_sums, mut stiffness_sums) = ([T::ZERO; L], [T::ZERO; L]);
            contract(variant, 1, mass, u, outputs, &mut mass_sums);
            contract(variant, 1, mass, w, outputs, &mut stiffness_sums);
            contract(variant, 1, stiffness, u, outputs, &mut stiffness_sums);
            store(variant, 1, mass_faces, inner, &mass_sums);
            store(variant, 1, stiffness_faces, inner, &stiffness_sums);
        }
        thread::sync_threads();
        (mass_faces, stiffness_faces)
    } else {
        (u.without_first(), w.without_first())
    };

    let inner = of_residual(patch.step, variant, sizes, patch.thread);
    if inner.active {
        let r = patch.r();
        for layer in 0..inner.count {
            let point = inner.point(variant, 0, layer);
            let mut sum = r.get(point);
            for direction in 0..sizes.dim {
                for end in 0..2 {
                    let row = point[direction] + 1;
                    let column = end * (sizes.all - 1);
                    let face = patch.face_point(2 * direction + end, point);
                    sum = T::fma(-mass.get(row, column), stiffness_faces.get(face), sum);
                    sum = T::fma(-stiffness.get(row, column), mass_faces.get(face), sum);
                }
            }
            r.set(point, sum);
        }
    }
}

/// `output = C input` in one direction.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn product<T: Real + Word, const L: usize>(
    variant: Variant,
    direction: usize,
    matrix: Matrix<T>,
    input: Tensor<T>,
    outputs: Outputs,
    output: Tensor<T>,
) {
    let mut sums = [T::ZERO; L];
    contract(variant, direction, matrix, input, outputs, &mut sums);
    store(variant, direction, output, outputs, &sums);
}
