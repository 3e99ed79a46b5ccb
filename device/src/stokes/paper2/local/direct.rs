//! By the stored inverse of the whole local matrix, read from global memory.

use super::{Fields, Patch, thread};
use crate::layout::Shared;
use crate::patch::Ends;
use crate::scalar::Real;
#[cfg(not(target_arch = "nvptx64"))]
use crate::typed::Block;
use cuda_std::hint::opaque;

/// Threads of a block, which have rows of the inverse.
#[cfg(not(target_arch = "nvptx64"))]
const THREADS: usize = 256;

/// Dofs of a patch with `N` nodes in a direction.
pub const fn patch_dofs(nodes: usize) -> usize {
    (3 * (nodes - 1) + nodes) * nodes * nodes
}

impl Patch {
    /// Number of the patch's inverse: patches at the upper end of a direction mirror those at the lower one, and in a direction
    /// of two cells there is one kind.
    #[inline(always)]
    fn kind(&self) -> usize {
        let (mut kind, mut kinds) = (0, 1);
        for d in 0..3 {
            if self.fields.cells[d] > 2 {
                kind += kinds * (self.ends(d) as u32 != Ends::Neither as u32) as usize;
                kinds *= 2;
            }
        }
        kind
    }

    /// Where a dof lies in a vector, and whether a mirror changes its sign: components first, in each of them x is fastest.
    #[inline(always)]
    fn dof(&self, dof: u32) -> (usize, bool) {
        let nodes = self.nodes as u32;
        let component = (nodes - 1) * nodes * nodes;
        let field = if dof < 3 * component { dof / component } else { 3 } as usize;
        let (mut rest, mut point, mut is_negative) = (dof - field as u32 * component, [0; 3], false);
        for d in 0..3 {
            let (count, first) = self.unknowns(field, d);
            let at = (rest % count as u32) as usize;
            rest /= count as u32;
            let is_mirrored = self.ends(d) as u32 == Ends::Upper as u32;
            point[d] = first + if is_mirrored { count - 1 - at } else { at };
            is_negative |= is_mirrored && field == d;
        }
        (self.offset(field, point), is_negative)
    }
}

/// See [`Direct`](super::super::Direct).
///
/// # Safety
/// Launched with the [`block`] and the [`blocks`](super::blocks) of the color; vectors are as `fields` says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn direct<T: Real, const N: usize>(inverses: *const T, dofs: u32, r: *const T, x: *mut T, fields: Fields) {
    let (patch, shared) = (Patch::of_block(fields, N), Shared::<T>::at(0));
    let signed = |value: T, is_negative: bool| if is_negative { -value } else { value };
    let mut dof = thread::thread_idx_x();
    while dof < dofs {
        let (offset, is_negative) = patch.dof(dof);
        // SAFETY: a dof of the patch.
        shared.set(dof as usize, signed(unsafe { *r.add(offset) }, is_negative));
        dof += thread::block_dim_x();
    }
    thread::sync_threads();
    let len = dofs as usize;
    // By columns; it is symmetric.
    let inverse = inverses.wrapping_add(patch.kind() * len * len);
    let mut dof = thread::thread_idx_x();
    while dof < dofs {
        let mut sum = T::ZERO;
        for column in 0..opaque(dofs) as usize {
            // SAFETY: an entry of the inverse.
            let entry = unsafe { *inverse.add(len * column + dof as usize) };
            sum = T::fma(entry, shared.get(column), sum);
        }
        let (offset, is_negative) = patch.dof(dof);
        // SAFETY: a dof of the patch, which no other patch of the color shares.
        unsafe { *x.add(offset) = *x.add(offset) + signed(sum, is_negative) };
        dof += thread::block_dim_x();
    }
}

/// Of a patch with `N` nodes in a direction.
#[cfg(not(target_arch = "nvptx64"))]
pub fn block(nodes: usize, scalar_bytes: usize) -> Block {
    Block { threads: THREADS, min_blocks: 1, shared_bytes: patch_dofs(nodes) * scalar_bytes, barriers: 1 }
}
