//! Exact solution on the patches of a color by fast diagonalization, `x += R_jᵀ A_j⁻¹ R_j r`, where with the eigenvectors
//! `S` of each direction `A_j⁻¹ = (S ⊗ S ⊗ S) (Λ ⊗ I ⊗ I + I ⊗ Λ ⊗ I + I ⊗ I ⊗ Λ)⁻¹ (S ⊗ S ⊗ S)ᵀ`: six contractions.

use super::contract::{Contraction, Engine, Tensor, Terms, in_place, point, sink};
use super::matrix::{InShared, Matrix, Source};
use super::range;
use super::staging::{Places, copy_from};
use crate::layout::{Layout, within};
use crate::patch::{DgGrid, Ends, bit};
use crate::scalar::Value;
use cuda_std::ptr::ldg;
use cuda_std::thread;

/// Of the 1D data in global memory: for each of [`Ends::ALL`] the eigenvectors of a patch (`N` by `N`, a node a row), for each
/// of them the eigenvalues (`N`), and a factor of the result: vectors and values may be those of cells of another size.
pub const fn table_words(nodes: usize) -> usize {
    4 * nodes * (nodes + 1) + 1
}

/// Words of shared memory: a tensor, `matrices` matrices, and those of [`range`].
pub fn shared_words<E: Engine<N>, const N: usize>(matrices: usize) -> usize {
    Places::<E, N>::words([N, N]) + E::Loaded::words(matrices) + range::words::<E, N>()
}

/// Matrices in shared memory, where [`solve`] keeps them.
#[inline(always)]
pub fn in_shared<E: Engine<N>, const N: usize>() -> InShared<E::Scalar, E::Loaded, N> {
    InShared(Tensor::at(shared_words::<E, N>(0)), 3)
}

/// Barriers of [`solve`].
pub fn barriers<E: Engine<N>, const N: usize>() -> usize {
    range::barriers::<E, N>() + 5 + 2 * (E::barriers(0) + E::barriers(1) + E::barriers(2))
}

/// Of a tensor with one matrix.
#[inline(always)]
fn contraction<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    tensor: Tensor<E::Stored, E::Layout>,
    direction: usize,
    matrix: Matrix<S>,
) -> Contraction<E, S, N> {
    let (p, q, mass, stiffness) = (tensor, tensor, matrix, matrix);
    Contraction { direction, planes: N, terms: Terms::FIRST, mass, stiffness, p, q, faces: None, overwrites: true }
}

/// `x += A_j⁻¹ r` on the patches of a color, `N = 2(k + 1)`.
///
/// # Safety
/// Launched with a block a patch of the color, `E::THREADS` threads each and [`shared_words`]; vectors are those of a level
/// with so many cells in each direction, all of one size, `table` has [`table_words`].
#[inline(always)]
pub unsafe fn solve<E: Engine<N>, S: Source<E::Scalar>, const N: usize>(
    source: S,
    table: *const E::Scalar,
    r: *const E::Scalar,
    x: *mut E::Scalar,
    cells: [u32; 3],
    color: u32,
) {
    let grid = DgGrid { cells, degree: N as u32 / 2 - 1 };
    let cell = |direction: usize, index: u32| bit(color, direction) + 2 * index;
    let first = [cell(0, thread::block_idx_x()), cell(1, thread::block_idx_y()), cell(2, thread::block_idx_z())];
    let ends = [0, 1, 2].map(|direction| Ends::of_patch(cells[direction], first[direction]) as usize);
    let origin = first.map(|cell| N / 2 * cell as usize);
    let offset = |[i, j, l]: [usize; 3]| grid.offset_3d(origin[0] + i, origin[1] + j, origin[2] + l);
    let places = Places::<E, N>::at(N, [0, 0]);
    // SAFETY: the launch's promise; nodes of the patch.
    unsafe {
        source.prepare(table, ends);
        copy_from::<_, _, N>(places.loaded, |node| r.wrapping_add(offset(node)));
    }
    let unit = range::loaded::<E, N>(Places::<E, N>::words([N, N]), places, None);
    let tensor = places.stored;

    let eigenvalue = |direction: usize, index: usize| {
        // SAFETY: the launch's promise.
        unsafe { ldg(table.add(N * (4 * N + ends[direction]) + within(index, N))) }
    };
    let vectors = |direction: usize| source.matrix(direction, ends);
    let in_direction = |direction, matrix| contraction::<E, S, N>(tensor, direction, matrix);
    in_place::<E, S, N>(&in_direction(0, vectors(0).transposed()));
    thread::sync_threads();
    in_place::<E, S, N>(&in_direction(1, vectors(1).transposed()));
    thread::sync_threads();
    E::contract(
        &in_direction(2, vectors(2).transposed()),
        sink(&mut |entry, sum, _| {
            let ([i, j], l) = (entry.line, entry.node);
            let eigenvalues = eigenvalue(0, i) + eigenvalue(1, j) + eigenvalue(2, l);
            tensor.set_entry(entry, sum / eigenvalues);
        }),
    );
    thread::sync_threads();
    in_place::<E, S, N>(&in_direction(2, vectors(2)));
    thread::sync_threads();
    in_place::<E, S, N>(&in_direction(1, vectors(1)));
    thread::sync_threads();
    // SAFETY: the launch's promise.
    let factor = unsafe { *table.add(table_words(N) - 1) } * unit;
    E::contract(
        &Contraction { overwrites: false, ..in_direction(0, vectors(0)) },
        sink(&mut |entry, sum, _| {
            if entry.active && entry.node < N {
                // SAFETY: as above; patches of a color share no node.
                unsafe {
                    let x = x.add(offset(point(0, entry.line, entry.node)));
                    *x = E::Scalar::fma(factor, sum, *x);
                }
            }
        }),
    );
}
