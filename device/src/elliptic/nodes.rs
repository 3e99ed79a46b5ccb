//! What nodes take from cells, and the coarsest mesh: kernels of any dimension and degree.

use super::NONE;
use crate::blas1::{self, THREADS};
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::Module;
use crate::scalar::{Real, Value};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{any_size, typed::Block, typed::Kind};
use cuda_std::ptr::ldg;
use cuda_std::thread;
#[cfg(not(target_arch = "nvptx64"))]
use std::boxed::Box;

crate::kernels! {
    by any_size;

    /// `y_i = b_j + sign Σ_p values_p` over the places `p` of each row, ascending, where its node `i` is of the least kind or above,
    /// else 0; without `same` the first only where there are places.
    Gather = gather(
        /// Node of each row; null if rows are the nodes.
        row_nodes: *const u32,
        /// Places of row `r` are those from `first[r]` to `first[r + 1]`.
        first: *const u32,
        places: *const u32,
        values: *const T,
        kinds: *const u8,
        /// Null for 0.
        b: *const T,
        /// Node `j` of `b` for each node `i`, or [`NONE`]; null if they are the same.
        same: *const u32,
        y: *mut T,
        rows: u32,
        least: u32,
        sign: T,
    ), Block::of(THREADS);

    /// `y_i = b_i` where node `i` is of the least kind or above, else 0.
    Start = start(
        kinds: *const u8,
        /// Null for 0.
        b: *const T,
        y: *mut T,
        nodes: u32,
        least: u32,
    ), Block::of(THREADS);

    /// `y_i = 1 / y_i` where that is not 0.
    Invert = invert(
        y: *mut T,
        nodes: u32,
    ), Block::of(THREADS);

    /// `x_j += coarse_i` where `j = same_i` is not [`NONE`].
    AddSame = add_same(
        same: *const u32,
        coarse: *const T,
        x: *mut T,
        nodes: u32,
    ), Block::of(THREADS);

    /// `y_i += sign Σ_j a_ij x_j` for rows whose node `i` is of the least kind or above, a thread each.
    AddRows = add_rows(
        /// Node of each row.
        row_nodes: *const u32,
        /// Entries of row `r` are those from `first[r]` to `first[r + 1]`.
        first: *const u32,
        /// Node of each entry.
        columns: *const u32,
        entries: *const T,
        kinds: *const u8,
        x: *const T,
        y: *mut T,
        rows: u32,
        least: u32,
        sign: T,
    ), Block::of(THREADS);

    /// `x = A⁻¹ b` at the unknowns, a block each, by the inverse.
    Solve = solve(
        /// By rows.
        inverse: *const f64,
        /// Nodes of the unknowns.
        unknowns: *const u32,
        b: *const T,
        x: *mut T,
        count: u32,
    ), Block { threads: THREADS, min_blocks: 1, shared_bytes: THREADS * size_of::<f64>(), barriers: blas1::SUM_BARRIERS };
}

/// The one module of these.
#[cfg(not(target_arch = "nvptx64"))]
pub const MODULE: Module = KIND.module(0, 0);

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) static KIND: Kind = Kind {
    name: "elliptic_nodes",
    is_of_paper: false,
    needs_hopper: false,
    spaces: std::vec::Vec::new,
    module_name: |_, _| "elliptic_nodes".into(),
    rows: ROWS,
    traced: |_| ([0; 3], 2),
    samples: [sample::<f32>, sample::<f64>],
};

/// One unknown, node 0; no nodes for the other kernels.
#[cfg(not(target_arch = "nvptx64"))]
fn sample<T: Real>(name: &str) -> crate::typed::Sample {
    match name {
        "solve" => |_, memory| {
            let x = memory.wrapping_add(8).cast::<T>();
            let (inverse, unknowns) = (memory.cast::<f64>().cast_const(), memory.cast::<u32>().cast_const());
            Some(Box::new(Solve { inverse, unknowns, b: x.cast_const(), x, count: 1 }))
        },
        _ => |_, _| None,
    }
}

/// Values that a thread loads at once.
const AT_ONCE: usize = 8;

/// The calling thread's node, or row, if there is one.
#[inline(always)]
fn node(nodes: u32) -> Option<usize> {
    let node = thread::block_idx_x() as u64 * THREADS as u64 + thread::thread_idx_x() as u64;
    (node < nodes as u64).then_some(node as usize)
}

/// See [`Gather`].
///
/// # Safety
/// [`THREADS`] threads a block, at least one a row; tables and vectors are as long as each other needs, and no node has two rows.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's
pub unsafe fn gather<T: Real>(
    row_nodes: *const u32,
    first: *const u32,
    places: *const u32,
    values: *const T,
    kinds: *const u8,
    b: *const T,
    same: *const u32,
    y: *mut T,
    rows: u32,
    least: u32,
    sign: T,
) {
    let Some(row) = node(rows) else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let node = if row_nodes.is_null() { row } else { ldg(row_nodes.add(row)) as usize };
        if (*kinds.add(node) as u32) < least {
            *y.add(node) = T::ZERO;
            return;
        }
        let (mut place, end) = (ldg(first.add(row)), ldg(first.add(row + 1)));
        if place == end && same.is_null() {
            return;
        }
        let mut sum = T::ZERO;
        while place < end {
            // Several loads at once; zeros change no sum.
            let mut some = [T::ZERO; AT_ONCE];
            for i in 0..AT_ONCE {
                if place + (i as u32) < end {
                    some[i] = ldg(values.add(ldg(places.add(place as usize + i)) as usize));
                }
            }
            for i in 0..AT_ONCE {
                sum = sum + some[i];
            }
            place += AT_ONCE as u32;
        }
        let of_b = if same.is_null() { node as u32 } else { ldg(same.add(node)) };
        let start = if b.is_null() || of_b == NONE { T::ZERO } else { *b.add(of_b as usize) };
        *y.add(node) = T::fma(sign, sum, start);
    }
}

/// See [`Start`].
///
/// # Safety
/// [`THREADS`] threads a block, at least one a node; vectors are as long as there are nodes.
#[inline(always)]
pub unsafe fn start<T: Real>(kinds: *const u8, b: *const T, y: *mut T, nodes: u32, least: u32) {
    let Some(node) = node(nodes) else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let is_zero = b.is_null() || (*kinds.add(node) as u32) < least;
        *y.add(node) = if is_zero { T::ZERO } else { *b.add(node) };
    }
}

/// See [`Invert`].
///
/// # Safety
/// [`THREADS`] threads a block, at least one a node; `y` is as long as there are nodes.
#[inline(always)]
pub unsafe fn invert<T: Real>(y: *mut T, nodes: u32) {
    let Some(node) = node(nodes) else { return };
    // SAFETY: the caller's promise.
    let entry = unsafe { &mut *y.add(node) };
    if *entry != T::ZERO {
        *entry = entry.reciprocal();
    }
}

/// See [`AddSame`].
///
/// # Safety
/// [`THREADS`] threads a block, at least one a node; no node of `x` is listed twice.
#[inline(always)]
pub unsafe fn add_same<T: Real>(same: *const u32, coarse: *const T, x: *mut T, nodes: u32) {
    let Some(node) = node(nodes) else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let own = ldg(same.add(node));
        if own != NONE {
            let entry = x.add(own as usize);
            *entry = *entry + ldg(coarse.add(node));
        }
    }
}

/// See [`AddRows`].
///
/// # Safety
/// [`THREADS`] threads a block, at least one a row; no node has two rows, and vectors have their nodes.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's
pub unsafe fn add_rows<T: Real>(
    row_nodes: *const u32,
    first: *const u32,
    columns: *const u32,
    entries: *const T,
    kinds: *const u8,
    x: *const T,
    y: *mut T,
    rows: u32,
    least: u32,
    sign: T,
) {
    let Some(row) = node(rows) else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let node = ldg(row_nodes.add(row)) as usize;
        if (*kinds.add(node) as u32) < least {
            return;
        }
        let mut sum = T::ZERO;
        for place in ldg(first.add(row)) as usize..ldg(first.add(row + 1)) as usize {
            sum = T::fma(ldg(entries.add(place)), ldg(x.add(ldg(columns.add(place)) as usize)), sum);
        }
        let entry = y.add(node);
        *entry = T::fma(sign, sum, *entry);
    }
}

/// See [`Solve`].
///
/// # Safety
/// [`THREADS`] threads a block, a block an unknown; `count²` entries of the inverse.
#[inline(always)]
pub unsafe fn solve<T: Real>(inverse: *const f64, unknowns: *const u32, b: *const T, x: *mut T, count: u32) {
    let (row, thread) = (thread::block_idx_x() as usize, thread::thread_idx_x());
    let inverse = inverse.wrapping_add(row * count as usize);
    let (mut sum, mut column) = (0.0, thread);
    while column < count {
        // SAFETY: the caller's promise.
        unsafe {
            let value = (*b.add(ldg(unknowns.add(column as usize)) as usize)).to_f64();
            sum = f64::fma(ldg(inverse.wrapping_add(column as usize)), value, sum);
        }
        column += THREADS as u32;
    }
    let sum = blas1::block_sum(sum, THREADS);
    if thread == 0 {
        // SAFETY: as above.
        unsafe { *x.add(ldg(unknowns.add(row)) as usize) = T::from_f64(sum) };
    }
}
