//! Products of `f32` rounded to `f16` or `bf16`, `m16n8k16`, that are summed up in `f32`.

#[cfg(not(target_arch = "nvptx64"))]
use super::emulated;
use super::{Product, Shape};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// `f16`: 11 bits of mantissa, up to 65504.
pub struct F16;
/// `bf16`: 8 bits of mantissa, as large as `f32`.
pub struct Bf16;
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

macro_rules! multiply_add {
    ($name:ident, $instruction:literal, $type:ident) => {
        /// `A B + C`.
        ///
        /// # Safety
        /// As for [`Product::multiply_add`].
        #[inline(always)]
        unsafe fn $name(a: &[u32; 4], b: &[u32; 2], c: &[f32; 4]) -> [f32; 4] {
            #[cfg(target_arch = "nvptx64")]
            {
                let mut sums = *c;
                // SAFETY: registers only. Not `pure`: the lanes of the warp depend on each other.
                unsafe {
                    asm!(
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
                let value = |words: &[u32], i: usize| {
                    half::$type::from_bits((words[i / 2] >> (16 * (i % 2))) as u16).to_f64()
                };
                emulated::multiply_add(SHAPE, a, b, value, &mut sums);
                sums.map(|sum| sum as f32)
            }
        }
    };
}
multiply_add!(multiply_add_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f16);
multiply_add!(multiply_add_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", bf16);

/// A lane's registers of pairs of elements, by a map of the shape.
#[inline(always)]
fn pairs<const N: usize>(
    map: impl Fn(usize) -> (usize, usize),
    mut element: impl FnMut(usize, usize) -> f32,
) -> [[f32; 2]; N] {
    let mut values = [[0.0; 2]; N];
    for register in 0..N {
        for part in 0..2 {
            let (row, column) = map(2 * register + part);
            values[register][part] = element(row, column);
        }
    }
    values
}

macro_rules! plain {
    ($name:ident, $pack:ident, $multiply_add:ident) => {
        impl Product for $name {
            type Scalar = f32;
            type A = [u32; 4];
            type B = [u32; 2];
            type C = [f32; 4];
            const SHAPE: Shape = SHAPE;

            #[inline(always)]
            fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
                pairs(|i| SHAPE.a(lane, i), element).map(|[low, high]| $pack(low, high))
            }

            #[inline(always)]
            fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
                pairs(|i| SHAPE.b(lane, i), element).map(|[low, high]| $pack(low, high))
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
plain!(F16, pack_f16, multiply_add_f16);
plain!(Bf16, pack_bf16, multiply_add_bf16);

/// A pair rounded, and what that leaves, times [`SCALE`].
#[inline(always)]
fn split([low, high]: [f32; 2]) -> [u32; 2] {
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

    #[inline(always)]
    fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
        let parts: [_; 4] = pairs(|i| SHAPE.a(lane, i), element).map(split);
        [parts.map(|[rounded, _]| rounded), parts.map(|[_, left]| left)]
    }

    #[inline(always)]
    fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
        let parts: [_; 2] = pairs(|i| SHAPE.b(lane, i), element).map(split);
        [parts.map(|[rounded, _]| rounded), parts.map(|[_, left]| left)]
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
