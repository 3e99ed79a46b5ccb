//! Products in `f64`, and of `f32` rounded to 10 bits of mantissa (tf32) that are summed up in `f32`.

#[cfg(not(target_arch = "nvptx64"))]
use super::emulated;
use super::{Product, Shape};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Fragments of `f64`, one element a register.
macro_rules! double_precision {
    ($(#[$doc:meta])* $name:ident, $shape:expr, $a:literal, $b:literal, $c:literal, $instruction:literal,
     [$($ai:literal)+], [$($bi:literal)+], [$($ci:literal)+]) => {
        $(#[$doc])*
        pub struct $name;

        impl Product for $name {
            type Scalar = f64;
            type A = [f64; $a];
            type B = [f64; $b];
            type C = [f64; $c];
            const SHAPE: Shape = Shape::new($shape, 1);

            #[inline(always)]
            fn a(lane: usize, mut element: impl FnMut(usize, usize) -> f64) -> Self::A {
                let mut values = [0.0; $a];
                for i in 0..$a {
                    let (row, column) = Self::SHAPE.a(lane, i);
                    values[i] = element(row, column);
                }
                values
            }

            #[inline(always)]
            fn b(lane: usize, mut element: impl FnMut(usize, usize) -> f64) -> Self::B {
                let mut values = [0.0; $b];
                for i in 0..$b {
                    let (row, column) = Self::SHAPE.b(lane, i);
                    values[i] = element(row, column);
                }
                values
            }

            #[inline(always)]
            fn zero() -> Self::C {
                [0.0; $c]
            }

            #[inline(always)]
            unsafe fn multiply_add(a: &Self::A, b: &Self::B, c: &Self::C) -> Self::C {
                let mut sums = *c;
                #[cfg(target_arch = "nvptx64")]
                double_precision!(@asm $instruction, a, b, sums, [$($ai)+], [$($bi)+], [$($ci)+]);
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let words = |values: &[f64]| -> std::vec::Vec<u32> {
                        values.iter().flat_map(|v| [v.to_bits() as u32, (v.to_bits() >> 32) as u32]).collect()
                    };
                    let value = |words: &[u32], i: usize| {
                        f64::from_bits(u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32)
                    };
                    emulated::multiply_add(Self::SHAPE, &words(a), &words(b), value, &mut sums);
                }
                sums
            }

            #[inline(always)]
            fn sum(c: &Self::C, i: usize) -> f64 {
                c[i]
            }
        }
    };
    (@asm $instruction:literal, $a:ident, $b:ident, $sums:ident, [$($ai:literal)+], [$($bi:literal)+], [$($ci:literal)+]) => {
        // SAFETY: registers only. Not `pure`: the lanes of the warp depend on each other.
        unsafe {
            asm!(
                $instruction,
                $(inout(reg64) $sums[$ci],)+
                $(in(reg64) $a[$ai],)+
                $(in(reg64) $b[$bi],)+
                options(nomem, nostack, preserves_flags)
            )
        }
    };
}
double_precision!(
    /// `m8n8k4`, compute capability 8.0.
    M8N8K4, [8, 8, 4], 1, 1, 2,
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};",
    [0], [0], [0 1]
);
double_precision!(
    /// `m16n8k4`, compute capability 9.0.
    M16N8K4, [16, 8, 4], 2, 1, 4,
    "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}}}, {{{6}}}, {{{0}, {1}, {2}, {3}}};",
    [0 1], [0], [0 1 2 3]
);
double_precision!(
    /// `m16n8k8`, compute capability 9.0.
    M16N8K8, [16, 8, 8], 4, 2, 4,
    "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
    [0 1 2 3], [0 1], [0 1 2 3]
);
double_precision!(
    /// `m16n8k16`, compute capability 9.0.
    M16N8K16, [16, 8, 16], 8, 4, 4,
    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}}, {{{12}, {13}, {14}, {15}}}, {{{0}, {1}, {2}, {3}}};",
    [0 1 2 3 4 5 6 7], [0 1 2 3], [0 1 2 3]
);

/// `f32` rounded to tf32, `m16n8k8`.
pub struct Tf32;

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
            asm!("cvt.rna.tf32.f32 {}, {};", out(reg32) bits, in(reg32) value, options(pure, nomem, nostack, preserves_flags))
        };
        bits
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        (value.to_bits() + 0x1000) & !0x1fff
    }
}

/// `A B + C` of rounded elements.
///
/// # Safety
/// As for [`Product::multiply_add`].
#[inline(always)]
unsafe fn multiply_add_tf32(a: &[u32; 4], b: &[u32; 2], c: &[f32; 4]) -> [f32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut sums = *c;
        // SAFETY: registers only. Not `pure`: the lanes of the warp depend on each other.
        unsafe {
            asm!(
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
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
        emulated::multiply_add(Tf32::SHAPE, a, b, |words, i| f64::from(f32::from_bits(words[i])), &mut sums);
        sums.map(|sum| sum as f32)
    }
}

/// A lane's elements by a map of its shape.
#[inline(always)]
fn elements<const N: usize>(
    map: impl Fn(usize) -> (usize, usize),
    mut element: impl FnMut(usize, usize) -> f32,
) -> [f32; N] {
    let mut values = [0.0; N];
    for i in 0..N {
        let (row, column) = map(i);
        values[i] = element(row, column);
    }
    values
}

impl Product for Tf32 {
    type Scalar = f32;
    type A = [u32; 4];
    type B = [u32; 2];
    type C = [f32; 4];
    const SHAPE: Shape = Shape::new([16, 8, 8], 1);

    #[inline(always)]
    fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
        elements(|i| Self::SHAPE.a(lane, i), element).map(rounded)
    }

    #[inline(always)]
    fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
        elements(|i| Self::SHAPE.b(lane, i), element).map(rounded)
    }

    #[inline(always)]
    fn zero() -> Self::C {
        [0.0; 4]
    }

    #[inline(always)]
    unsafe fn multiply_add(a: &Self::A, b: &Self::B, c: &Self::C) -> Self::C {
        // SAFETY: the caller's promise.
        unsafe { multiply_add_tf32(a, b, c) }
    }

    #[inline(always)]
    fn sum(c: &Self::C, i: usize) -> f32 {
        c[i]
    }
}

/// What rounding leaves, rounded.
#[inline(always)]
fn left(value: f32, bits: u32) -> u32 {
    rounded(value - f32::from_bits(bits))
}

impl Product for Tf32Corrected {
    type Scalar = f32;
    type A = [[u32; 4]; 2];
    type B = [[u32; 2]; 2];
    type C = [f32; 4];
    const SHAPE: Shape = Tf32::SHAPE;

    #[inline(always)]
    fn a(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::A {
        let values: [f32; 4] = elements(|i| Self::SHAPE.a(lane, i), element);
        let high = values.map(rounded);
        [high, core::array::from_fn(|i| left(values[i], high[i]))]
    }

    #[inline(always)]
    fn b(lane: usize, element: impl FnMut(usize, usize) -> f32) -> Self::B {
        let values: [f32; 2] = elements(|i| Self::SHAPE.b(lane, i), element);
        let high = values.map(rounded);
        [high, core::array::from_fn(|i| left(values[i], high[i]))]
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
