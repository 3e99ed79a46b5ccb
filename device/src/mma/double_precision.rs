//! Products in `f64`.

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
