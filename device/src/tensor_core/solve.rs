//! Exact solution on the patches of a color by fast diagonalization, `x += R_jᵀ A_j⁻¹ R_j r`, where with the eigenvectors
//! `S` of each direction `A_j⁻¹ = (S ⊗ S ⊗ S) (Λ ⊗ I ⊗ I + I ⊗ Λ ⊗ I + I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ`: six contractions.

use super::contract::{Contraction, Engine, Tensor, Terms, point, sink};
use super::matrix::{InShared, Matrix, Source};
use super::staging::copy_from;
use crate::layout::{Layout, within};
use crate::patch::{DgGrid, Ends, bit};
use crate::scalar::Value;
use cuda_std::ptr::ldg;
use cuda_std::shared::wait_for_copies;
use cuda_std::thread;

/// Of the 1D data in global memory: for each of [`Ends::ALL`] the eigenvectors of a patch (`N` by `N`, a node a row), for each
/// of them the eigenvalues (`N`), and a factor of the result: vectors and values may be those of cells of another size.
pub const fn table_words(nodes: usize) -> usize {
    4 * nodes * (nodes + 1) + 1
}

/// Words of shared memory: a tensor and `matrices` matrices.
pub fn shared_words<L: Layout>(nodes: usize, matrices: usize) -> usize {
    L::words(nodes) + L::words(matrices)
}

/// Matrices in shared memory, where [`solve`] keeps them.
#[inline(always)]
pub fn in_shared<E: Engine<N>, const N: usize>() -> InShared<E::Scalar, E::Layout, N> {
    InShared(Tensor::at(shared_words::<E::Layout>(N, 0)), 3)
}

/// Barriers of [`solve`].
pub fn barriers<E: Engine<N>, const N: usize>() -> usize {
    6 + 2 * (E::barriers(0) + E::barriers(1) + E::barriers(2))
}

/// Of a tensor with one matrix.
#[inline(always)]
fn contraction<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    tensor: Tensor<E::Scalar, E::Layout>,
    direction: usize,
    matrix: Matrix<S>,
) -> Contraction<E::Scalar, E::Layout, S> {
    let (p, q, mass, stiffness) = (tensor, tensor, matrix, matrix);
    Contraction { direction, planes: N, terms: Terms::FIRST, mass, stiffness, p, q, faces: None }
}

/// A contraction in place, and a barrier.
#[inline(always)]
fn in_place<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    tensor: Tensor<E::Scalar, E::Layout>,
    direction: usize,
    matrix: Matrix<S>,
) {
    let put = &mut |line: [usize; 2], node, active, sum, _| tensor.set(active, point(direction, line, node), sum);
    E::contract(&contraction::<E, S, N>(tensor, direction, matrix), sink(put));
    thread::sync_threads();
}

/// `x += A_j⁻¹ r` on the patches of a color, `N = 2(k + 1)`.
///
/// # Safety
/// Launched with a block a patch of the color, `E::THREADS` threads each and [`shared_words`]; vectors are those of a level
/// with so many cells a direction, `table` of [`table_words`].
#[inline(always)]
pub unsafe fn solve<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    source: S,
    table: *const E::Scalar,
    r: *const E::Scalar,
    x: *mut E::Scalar,
    cells: u32,
    color: u32,
) {
    let grid = DgGrid { cells, degree: N as u32 / 2 - 1 };
    let cell = |direction: usize, index: u32| bit(color, direction) + 2 * index;
    let first = [cell(0, thread::block_idx_x()), cell(1, thread::block_idx_y()), cell(2, thread::block_idx_z())];
    let ends = first.map(|cell| Ends::of_patch(cells, cell) as usize);
    let origin = first.map(|cell| N / 2 * cell as usize);
    let offset = |[i, j, l]: [usize; 3]| grid.offset_3d(origin[0] + i, origin[1] + j, origin[2] + l);
    let tensor = Tensor::<E::Scalar, E::Layout>::at(0);
    // SAFETY: the launch's promise; nodes of the patch.
    unsafe {
        source.prepare(table, ends);
        copy_from::<_, _, N>(tensor, |node| r.wrapping_add(offset(node)));
    }
    wait_for_copies();
    thread::sync_threads();

    let eigenvalue = |direction: usize, index: usize| {
        // SAFETY: the launch's promise.
        unsafe { ldg(table.add(N * (4 * N + ends[direction]) + within(index, N))) }
    };
    let vectors = |direction: usize| source.matrix(direction, ends);
    in_place::<E, S, N>(tensor, 0, vectors(0).transposed());
    in_place::<E, S, N>(tensor, 1, vectors(1).transposed());
    E::contract(
        &contraction::<E, S, N>(tensor, 2, vectors(2).transposed()),
        sink(&mut |[i, j], l, active, sum, _| {
            let eigenvalues = eigenvalue(0, i) + eigenvalue(1, j) + eigenvalue(2, l);
            tensor.set(active, [i, j, l], sum / eigenvalues);
        }),
    );
    thread::sync_threads();
    in_place::<E, S, N>(tensor, 2, vectors(2));
    in_place::<E, S, N>(tensor, 1, vectors(1));
    // SAFETY: the launch's promise.
    let factor = unsafe { *table.add(table_words(N) - 1) };
    E::contract(
        &contraction::<E, S, N>(tensor, 0, vectors(0)),
        sink(&mut |line, node, active, sum, _| {
            if active && node < N {
                // SAFETY: as above; patches of a color share no node.
                unsafe {
                    let x = x.add(offset(point(0, line, node)));
                    *x = E::Scalar::fma(factor, sum, *x);
                }
            }
        }),
    );
}
