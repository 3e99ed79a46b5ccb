//! Rows of nodes between memory, where those of a patch lie beside each other, and lanes, where those of several patches do.
//!
//! As [contractions](super::lines), those of long rows are functions of their own that all kernels share.

use super::batch::{Batch, Offsets};
use super::lanes::{Lanes, Vectorized};
use super::lines::{LineMap, Unchanged};
use super::sweep::Shared;
use patchmg_device::scalar::Value;
use pulp::{Simd, WithSimd};

/// Rows of a patch: the first is `first` entries behind the patch's first node, each of the others `apart` behind the one
/// before it.
#[derive(Clone, Copy)]
pub struct Rows {
    pub first: usize,
    pub apart: usize,
}

/// `nodes = x - shift` for rows of `N` nodes, as many as there are in `nodes`.
///
/// # Safety
/// Every patch must have these nodes in `x`, and nobody may write them now.
#[inline(always)]
pub unsafe fn load<S: Simd, T: Vectorized, const N: usize>(
    x: *const T,
    patches: &Offsets,
    rows: Rows,
    shift: &Lanes<S, T>,
    nodes: &mut [[Lanes<S, T>; N]],
) {
    // SAFETY: the caller's.
    unsafe { load_mapped(x, patches, rows, shift, &Unchanged, nodes) };
}

/// `nodes = map(x - shift)`, row by row.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub unsafe fn load_mapped<S: Simd, T: Vectorized, const N: usize>(
    x: *const T,
    patches: &Offsets,
    rows: Rows,
    shift: &Lanes<S, T>,
    map: &impl LineMap<T, 1, N, N>,
    nodes: &mut [[Lanes<S, T>; N]],
) {
    Lanes::<S, T>::vectorize::<N, _>(&mut Load { x, patches, rows, shift, map, nodes });
}

/// The node of every patch at an offset.
///
/// Users of it take a reference: the compiler would keep a register's lanes apart, and put them together at every use.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub unsafe fn node<S: Simd, T: Vectorized>(x: *const T, patches: &Offsets, offset: usize) -> [[Lanes<S, T>; 1]; 1] {
    let mut node = [[Lanes::ZERO]];
    // SAFETY: the caller's.
    unsafe { load(x, patches, Rows { first: offset, apart: 0 }, &Lanes::ZERO, &mut node) };
    node
}

struct Load<'a, S: Simd, T: Vectorized, F, const N: usize> {
    x: *const T,
    patches: &'a Offsets,
    rows: Rows,
    shift: &'a Lanes<S, T>,
    map: &'a F,
    nodes: &'a mut [[Lanes<S, T>; N]],
}

impl<S: Simd, T: Vectorized, F: LineMap<T, 1, N, N>, const N: usize> WithSimd for &mut Load<'_, S, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let Load { x, patches, rows, shift, map, .. } = *self;
        for (index, row) in self.nodes.iter_mut().enumerate() {
            let mut nodes = [[Lanes::<S, T>::ZERO; N]];
            // SAFETY: the caller's of `load`.
            unsafe { Lanes::gather(x, patches, rows.first + index * rows.apart, shift, &mut nodes[0]) };
            *row = map.map(&nodes);
        }
    }
}

/// What becomes of nodes that no other patch writes.
#[derive(Clone, Copy)]
pub enum Put<'a, S: Simd, T: Vectorized> {
    /// `x = nodes + shift`.
    Shifted(&'a Lanes<S, T>),
    /// `x = b - nodes`.
    Residual(&'a [T]),
    /// `x += nodes`.
    Add,
}

/// Writes rows of `N` nodes of the batch's active patches, whose first nodes are at `offsets`.
///
/// # Safety
/// Every patch must have these nodes in `x`, and in `b` where there is one, and no other thread may use those of `x` now.
#[inline(always)]
pub unsafe fn store<S: Simd, T: Vectorized, const N: usize>(
    nodes: &[[Lanes<S, T>; N]],
    put: Put<'_, S, T>,
    x: Shared<T>,
    batch: &Batch,
    offsets: &Offsets,
    rows: Rows,
) {
    // SAFETY: the caller's.
    unsafe { store_mapped(nodes, &Unchanged, put, x, batch, offsets, rows) };
}

/// [`store`] of `map(nodes)`, row by row.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
pub unsafe fn store_mapped<S: Simd, T: Vectorized, const N: usize>(
    nodes: &[[Lanes<S, T>; N]],
    map: &impl LineMap<T, 1, N, N>,
    put: Put<'_, S, T>,
    x: Shared<T>,
    batch: &Batch,
    offsets: &Offsets,
    rows: Rows,
) {
    Lanes::<S, T>::vectorize::<N, _>(&Store { nodes, map, put, x, active: batch.active, offsets, rows });
}

struct Store<'a, S: Simd, T: Vectorized, F, const N: usize> {
    nodes: &'a [[Lanes<S, T>; N]],
    map: &'a F,
    put: Put<'a, S, T>,
    x: Shared<T>,
    active: usize,
    offsets: &'a Offsets,
    rows: Rows,
}

impl<S: Simd, T: Vectorized, F: LineMap<T, 1, N, N>, const N: usize> WithSimd for &Store<'_, S, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let Store { nodes, map, put, x, active, offsets, rows } = *self;
        for (index, row) in nodes.iter().enumerate() {
            let offset = rows.first + index * rows.apart;
            let mut row = map.map(&[*row]);
            // SAFETY (this block): the caller's of `store`.
            unsafe {
                match put {
                    Put::Shifted(shift) => row.iter_mut().for_each(|node| *node = *node + *shift),
                    Put::Residual(b) => {
                        let mut nodes = [Lanes::ZERO; N];
                        Lanes::gather(b.as_ptr(), offsets, offset, &Lanes::ZERO, &mut nodes);
                        row.iter_mut().zip(nodes).for_each(|(node, b)| *node = b - *node);
                    }
                    Put::Add => {
                        let mut nodes = [Lanes::ZERO; N];
                        Lanes::gather(x.pointer(), offsets, offset, &Lanes::ZERO, &mut nodes);
                        row.iter_mut().zip(nodes).for_each(|(node, own)| *node = own + *node);
                    }
                }
                Lanes::scatter(&row, x.pointer(), active, offsets, offset);
            }
        }
    }
}
