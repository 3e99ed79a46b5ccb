//! Products of `f32` rounded to fewer bits, that are summed up in `f32`, and among them those of tf32.

use super::{Product, Shape};

/// A lane's registers of `P` neighbours each, by a map of the shape.
#[inline(always)]
pub(super) fn elements<const P: usize, const N: usize>(
    map: impl Fn(usize) -> (usize, usize),
    mut element: impl FnMut(usize, usize) -> f32,
) -> [[f32; P]; N] {
    let mut values = [[0.0; P]; N];
    for register in 0..N {
        for part in 0..P {
            let (row, column) = map(P * register + part);
            values[register][part] = element(row, column);
        }
    }
    values
}

/// Registers of rounded elements, and of what the rounding left.
#[inline(always)]
pub(super) fn split<const P: usize, const N: usize>(
    values: [[f32; P]; N],
    split: impl Fn([f32; P]) -> [u32; 2],
) -> [[u32; N]; 2] {
    let parts = values.map(split);
    [parts.map(|[rounded, _]| rounded), parts.map(|[_, left]| left)]
}

/// A product of 16 rows: its shape, whether its operands are narrow, how elements of a register are rounded, the value of
/// element `i` among such registers, and the instruction, as a function of its own, too.
macro_rules! single_precision {
    ($(#[$doc:meta])* $name:ident, $shape:expr, $is_narrow:literal, $round:expr, $value:expr, $multiply_add:ident, $instruction:literal) => {
        $(#[$doc])*
        pub struct $name;

        /// `A B + C`.
        ///
        /// # Safety
        /// As for [`Product::multiply_add`].
        #[inline(always)]
        unsafe fn $multiply_add(a: &[u32; 4], b: &[u32; 2], c: &[f32; 4]) -> [f32; 4] {
            #[cfg(target_arch = "nvptx64")]
            {
                let mut sums = *c;
                // SAFETY: registers only. Not `pure`: the lanes of the warp depend on each other.
                unsafe {
                    core::arch::asm!(
                        concat!($instruction, " {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"),
                        inout(reg32) sums[0], inout(reg32) sums[1], inout(reg32) sums[2], inout(reg32) sums[3],
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
                        in(reg32) b[0], in(reg32) b[1],
                        options(nomem, nostack, preserves_flags)
                    )
                };
                sums
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let mut sums = c.map(f64::from);
                super::emulated::multiply_add($name::SHAPE, a, b, $value, &mut sums);
                sums.map(|sum| sum as f32)
            }
        }

        impl Product for $name {
            type Scalar = f32;
            type A = [u32; 4];
            type B = [u32; 2];
            type C = [f32; 4];
            const SHAPE: Shape = $shape;
            const IS_NARROW: bool = $is_narrow;

            #[inline(always)]
            fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
                elements(|i| Self::SHAPE.a(lane, i), element).map($round)
            }

            #[inline(always)]
            fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
                elements(|i| Self::SHAPE.b(lane, i), element).map($round)
            }

            #[inline(always)]
            fn zero() -> Self::C {
                [0.0; 4]
            }

            #[inline(always)]
            unsafe fn multiply_add(a: &Self::A, b: &Self::B, c: &Self::C) -> Self::C {
                // SAFETY: the caller's promise.
                unsafe { $multiply_add(a, b, c) }
            }

            #[inline(always)]
            fn sum(c: &Self::C, i: usize) -> f32 {
                c[i]
            }
        }
    };
}
pub(super) use single_precision;

single_precision!(
    /// `f32` rounded to 10 bits of mantissa, `m16n8k8`.
    Tf32,
    Shape::new([16, 8, 8], 1),
    false,
    |[value]| rounded(value),
    |words, i| f64::from(f32::from_bits(words[i])),
    multiply_add_tf32,
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
);

/// The same with what the rounding leaves (paper 4, algorithm 1, for tf32): `A B` of the rounded matrices, and each rounded
/// matrix times what the other one's rounding left.
pub struct Tf32Corrected;

/// To the nearest tf32, ties away from zero.
#[inline(always)]
fn rounded(value: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits;
        // SAFETY: registers only.
        unsafe {
            core::arch::asm!(
                "cvt.rna.tf32.f32 {}, {};",
                out(reg32) bits,
                in(reg32) value,
                options(pure, nomem, nostack, preserves_flags)
            )
        };
        bits
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        (value.to_bits() + 0x1000) & !0x1fff
    }
}

/// A value rounded, and what that leaves, rounded.
#[inline(always)]
fn rounded_and_left([value]: [f32; 1]) -> [u32; 2] {
    let bits = rounded(value);
    [bits, rounded(value - f32::from_bits(bits))]
}

impl Product for Tf32Corrected {
    type Scalar = f32;
    type A = [[u32; 4]; 2];
    type B = [[u32; 2]; 2];
    type C = [f32; 4];
    const SHAPE: Shape = Tf32::SHAPE;

    #[inline(always)]
    fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
        split(elements(|i| Self::SHAPE.a(lane, i), element), rounded_and_left)
    }

    #[inline(always)]
    fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
        split(elements(|i| Self::SHAPE.b(lane, i), element), rounded_and_left)
    }

    #[inline(always)]
    fn zero() -> Self::C {
        [0.0; 4]
    }

    #[inline(always)]
    unsafe fn multiply_add(a: &Self::A, b: &Self::B, c: &Self::C) -> Self::C {
        // SAFETY: the caller's promise.
        unsafe {
            let small = multiply_add_tf32(&a[1], &b[0], &multiply_add_tf32(&a[0], &b[1], c));
            multiply_add_tf32(&a[0], &b[0], &small)
        }
    }

    #[inline(always)]
    fn sum(c: &Self::C, i: usize) -> f32 {
        c[i]
    }
}
