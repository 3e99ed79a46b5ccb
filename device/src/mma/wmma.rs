//! `wmma` in `f64`, `m8n8k4`: matrices whole from shared memory and back (paper 4, listing 1).
//!
//! Which lane holds what is not specified; on the host it is as for [`M8N8K4`](super::M8N8K4).

#[cfg(not(target_arch = "nvptx64"))]
use super::{LANES, M8N8K4, Product};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::shared::Word;

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WmmaLayout {
    Row,
    Column,
}

/// `A` (8 x 4), `B` (4 x 8) and `C` (8 x 8, row by row).
///
/// # Safety
/// Of all functions: all lanes of the warp come here together, with the same address, a byte address of the shared window
/// aligned to 32 bytes; the matrix, its rows or columns `stride` elements apart, is inside the block's shared memory, and no
/// other warp accesses it until the next barrier but to read what all only read.
pub struct Wmma;

#[cfg(target_arch = "nvptx64")]
macro_rules! load {
    ($instruction:literal, $address:ident, $stride:ident) => {{
        let value: f64;
        // SAFETY: the caller's promise. Not `pure`: the lanes of the warp depend on each other.
        unsafe {
            asm!($instruction, out(reg64) value, in(reg32) $address, in(reg32) $stride, options(readonly, nostack, preserves_flags))
        };
        value
    }};
}

#[cfg(target_arch = "nvptx64")]
macro_rules! multiply_add {
    ($layouts:literal, $a:ident, $b:ident, $c:ident) => {
        // SAFETY: registers only. Not `pure`: the lanes of the warp depend on each other.
        unsafe {
            asm!(
                concat!("wmma.mma.sync.aligned.", $layouts, ".m8n8k4.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};"),
                inout(reg64) $c[0], inout(reg64) $c[1], in(reg64) $a, in(reg64) $b,
                options(nomem, nostack, preserves_flags)
            )
        }
    };
}

impl Wmma {
    /// # Safety
    /// See [`Wmma`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_a(layout: WmmaLayout, address: u32, stride: u32) -> f64 {
        #[cfg(target_arch = "nvptx64")]
        return match layout {
            WmmaLayout::Row => {
                load!("wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {{{0}}}, [{1}], {2};", address, stride)
            }
            WmmaLayout::Column => {
                load!("wmma.load.a.sync.aligned.col.m8n8k4.shared.f64 {{{0}}}, [{1}], {2};", address, stride)
            }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let (row, column) = M8N8K4::SHAPE.a(lane(), 0);
            let (outer, inner) = if layout == WmmaLayout::Row { (row, column) } else { (column, row) };
            // SAFETY: the caller's promise.
            unsafe { f64::load(address + 8 * (outer as u32 * stride + inner as u32)) }
        }
    }

    /// # Safety
    /// See [`Wmma`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_b(layout: WmmaLayout, address: u32, stride: u32) -> f64 {
        #[cfg(target_arch = "nvptx64")]
        return match layout {
            WmmaLayout::Row => {
                load!("wmma.load.b.sync.aligned.row.m8n8k4.shared.f64 {{{0}}}, [{1}], {2};", address, stride)
            }
            WmmaLayout::Column => {
                load!("wmma.load.b.sync.aligned.col.m8n8k4.shared.f64 {{{0}}}, [{1}], {2};", address, stride)
            }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let (row, column) = M8N8K4::SHAPE.b(lane(), 0);
            let (outer, inner) = if layout == WmmaLayout::Row { (row, column) } else { (column, row) };
            // SAFETY: the caller's promise.
            unsafe { f64::load(address + 8 * (outer as u32 * stride + inner as u32)) }
        }
    }

    /// `A B + C`, `A` and `B` loaded with these layouts.
    ///
    /// # Safety
    /// See [`Wmma`].
    #[inline(always)]
    pub unsafe fn multiply_add(layouts: [WmmaLayout; 2], a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
        #[cfg(target_arch = "nvptx64")]
        {
            use WmmaLayout::{Column, Row};
            let mut c = c;
            match layouts {
                [Row, Row] => multiply_add!("row.row", a, b, c),
                [Row, Column] => multiply_add!("row.col", a, b, c),
                [Column, Row] => multiply_add!("col.row", a, b, c),
                [Column, Column] => multiply_add!("col.col", a, b, c),
            }
            c
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = layouts;
            // SAFETY: the caller's promise.
            unsafe { M8N8K4::multiply_add(&[a], &[b], &c) }
        }
    }

    /// # Safety
    /// See [`Wmma`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn store(address: u32, stride: u32, c: [f64; 2]) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's promise.
        unsafe {
            asm!(
                "wmma.store.d.sync.aligned.row.m8n8k4.shared.f64 [{0}], {{{1}, {2}}}, {3};",
                in(reg32) address, in(reg64) c[0], in(reg64) c[1], in(reg32) stride,
                options(nostack, preserves_flags)
            )
        };
        #[cfg(not(target_arch = "nvptx64"))]
        for (i, value) in c.into_iter().enumerate() {
            let (row, column) = M8N8K4::SHAPE.c(lane(), i);
            // SAFETY: the caller's promise.
            unsafe { f64::store(address + 8 * (row as u32 * stride + column as u32), value) };
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn lane() -> usize {
    cuda_std::thread::thread_idx_x() as usize % LANES
}
