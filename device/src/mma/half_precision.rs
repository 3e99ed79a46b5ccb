//! Products of `f32` rounded to `f16` or `bf16`, `m16n8k16`, that are summed up in `f32`.

use super::single_precision::{elements, single_precision, split};
use super::{Product, Shape};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// `f16` with what the rounding leaves, times `2^11` (paper 4, algorithm 1).
pub struct F16Corrected;

const SHAPE: Shape = Shape::new([16, 8, 16], 2);
/// Of what rounding leaves.
const SCALE: f32 = 2048.0;

/// Two neighbours in a register, the first in the lower half.
macro_rules! pack {
    ($name:ident, $instruction:literal, $type:ident) => {
        #[inline(always)]
        pub(super) fn $name(low: f32, high: f32) -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let bits;
                // SAFETY: registers only.
                unsafe {
                    asm!(
                        $instruction,
                        out(reg32) bits,
                        in(reg32) high,
                        in(reg32) low,
                        options(pure, nomem, nostack, preserves_flags)
                    )
                };
                bits
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let bits = |value: f32| u32::from(half::$type::from_f32(value).to_bits());
                bits(low) | bits(high) << 16
            }
        }
    };
}
pack!(pack_f16, "cvt.rn.f16x2.f32 {}, {}, {};", f16);
pack!(pack_bf16, "cvt.rn.bf16x2.f32 {}, {}, {};", bf16);

/// The two values of a register of `f16`.
#[inline(always)]
fn unpack_f16(bits: u32) -> [f32; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let (low, high): (f32, f32);
        // SAFETY: registers only.
        unsafe {
            asm!(
                "{{.reg .b16 low, high; mov.b32 {{low, high}}, {2}; cvt.f32.f16 {0}, low; cvt.f32.f16 {1}, high;}}",
                out(reg32) low,
                out(reg32) high,
                in(reg32) bits,
                options(pure, nomem, nostack, preserves_flags)
            )
        };
        [low, high]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    [bits as u16, (bits >> 16) as u16].map(|part| half::f16::from_bits(part).to_f32())
}

single_precision!(
    /// `f16`: 11 bits of mantissa, up to 65504.
    F16,
    SHAPE,
    true,
    |[low, high]| pack_f16(low, high),
    |words, i| half::f16::from_bits((words[i / 2] >> (16 * (i % 2))) as u16).to_f64(),
    multiply_add_f16,
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
);
single_precision!(
    /// `bf16`: 8 bits of mantissa, as large as `f32`.
    Bf16,
    SHAPE,
    false,
    |[low, high]| pack_bf16(low, high),
    |words, i| half::bf16::from_bits((words[i / 2] >> (16 * (i % 2))) as u16).to_f64(),
    multiply_add_bf16,
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
);

/// A product whose operands are numbers of 16 bits: `ldmatrix` reads fragments of them as they are multiplied.
pub trait HalfProduct: Product<Scalar = f32, A = [u32; 4]> {
    /// The bits of a number, rounded.
    fn rounded(value: f32) -> u16;
}

impl HalfProduct for F16 {
    #[inline(always)]
    fn rounded(value: f32) -> u16 {
        pack_f16(value, 0.0) as u16
    }
}

impl HalfProduct for Bf16 {
    #[inline(always)]
    fn rounded(value: f32) -> u16 {
        pack_bf16(value, 0.0) as u16
    }
}

/// A pair rounded, and what that leaves, times [`SCALE`].
#[inline(always)]
fn rounded_and_left([low, high]: [f32; 2]) -> [u32; 2] {
    let rounded = pack_f16(low, high);
    let [rounded_low, rounded_high] = unpack_f16(rounded);
    [rounded, pack_f16((low - rounded_low) * SCALE, (high - rounded_high) * SCALE)]
}

impl Product for F16Corrected {
    type Scalar = f32;
    type A = [[u32; 4]; 2];
    type B = [[u32; 2]; 2];
    /// Sums of products of rounded elements, and of those with one factor that rounding left.
    type C = [[f32; 4]; 2];
    const SHAPE: Shape = SHAPE;
    const IS_NARROW: bool = true;

    #[inline(always)]
    fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
        split(elements(|i| SHAPE.a(lane, i), element), rounded_and_left)
    }

    #[inline(always)]
    fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
        split(elements(|i| SHAPE.b(lane, i), element), rounded_and_left)
    }

    #[inline(always)]
    fn zero() -> Self::C {
        [[0.0; 4]; 2]
    }

    #[inline(always)]
    unsafe fn multiply_add(a: &Self::A, b: &Self::B, c: &Self::C) -> Self::C {
        // SAFETY: the caller's promise.
        unsafe {
            let left = multiply_add_f16(&a[0], &b[1], &multiply_add_f16(&a[1], &b[0], &c[1]));
            [multiply_add_f16(&a[0], &b[0], &c[0]), left]
        }
    }

    #[inline(always)]
    fn sum(c: &Self::C, i: usize) -> f32 {
        c[0][i] + c[1][i] / SCALE
    }
}
