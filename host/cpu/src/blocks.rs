//! Turning rows of nodes into registers and back, by blocks of 128 bits: a load or store each, and two shuffles a pair.
//!
//! The compiler makes one insertion or extraction a scalar of the plain loops, which cost as much as the arithmetic.

use super::lanes::{Lanes, MAX_LANES, Vectorized};
use core::arch::x86_64::*;
use patchmg_device::scalar::Value;
use pulp::Simd;

/// The most scalars in 128 bits.
const MAX_BLOCK: usize = 4;

impl<S: Simd, T: Vectorized> Lanes<S, T> {
    /// Scalars in 128 bits.
    const BLOCK: usize = 16 / size_of::<T>();

    /// Whether rows of `N` nodes can be turned by blocks.
    #[inline(always)]
    pub const fn has_blocks<const N: usize>() -> bool {
        N >= Self::BLOCK && (size_of::<Self>() == 64 || size_of::<Self>() == 32)
    }

    /// As [`Lanes::gather`], if there are blocks.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn gather_blocks<const N: usize>(
        x: *const T,
        offsets: &[usize; MAX_LANES],
        shift: &Self,
        nodes: &mut [Self; N],
    ) {
        for first in (0..N).step_by(Self::BLOCK) {
            // The last block begins earlier rather than to read too far.
            let first = first.min(N - Self::BLOCK);
            let mut blocks = [Self::ZERO; MAX_BLOCK];
            for j in 0..Self::BLOCK {
                // SAFETY: the caller's.
                unsafe {
                    let block = |i: usize| _mm_loadu_pd(x.add(offsets[j + i * Self::BLOCK] + first).cast());
                    blocks[j] = if size_of::<Self>() == 64 {
                        let register = _mm512_castpd128_pd512(block(0));
                        let register = _mm512_insertf64x2::<1>(register, block(1));
                        let register = _mm512_insertf64x2::<2>(register, block(2));
                        Self::from_bits(_mm512_insertf64x2::<3>(register, block(3)))
                    } else {
                        Self::from_bits(_mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(block(0)), block(1)))
                    };
                }
            }
            let blocks = Self::transpose_blocks(blocks);
            for (node, block) in nodes[first..first + Self::BLOCK].iter_mut().zip(blocks) {
                *node = block - *shift;
            }
        }
    }

    /// `x[offsets[l]]` in lane `l`.
    ///
    /// # Safety
    /// These entries must be readable.
    #[inline(always)]
    pub unsafe fn gather_node(x: *const T, offsets: &[usize; MAX_LANES]) -> Self {
        // Inserted one by one: as fast as the gather of Intel's CPUs, and much faster than that of AMD's.
        // SAFETY (this block): the caller's; the registers are those of a SIMD level that has the instructions.
        unsafe {
            let block = |first: usize| {
                let first = first * Self::BLOCK;
                if Self::BLOCK == 2 {
                    let node = |lane: usize| *x.add(offsets[first + lane]).cast::<f64>();
                    _mm_set_pd(node(1), node(0))
                } else {
                    let node = |lane: usize| *x.add(offsets[first + lane]).cast::<f32>();
                    _mm_castps_pd(_mm_set_ps(node(3), node(2), node(1), node(0)))
                }
            };
            let half = |first: usize| _mm256_set_m128d(block(first + 1), block(first));
            if size_of::<Self>() == 64 {
                Self::from_bits(_mm512_insertf64x4::<1>(_mm512_castpd256_pd512(half(0)), half(2)))
            } else {
                Self::from_bits(half(0))
            }
        }
    }

    /// The inverse of [`Self::gather_blocks`].
    ///
    /// # Safety
    /// The entries must be writable.
    #[inline(always)]
    pub unsafe fn scatter_blocks<const N: usize>(nodes: &[Self; N], x: *mut T, offsets: &[usize; MAX_LANES]) {
        for first in (0..N).step_by(Self::BLOCK) {
            let first = first.min(N - Self::BLOCK);
            let mut blocks = [Self::ZERO; MAX_BLOCK];
            for (block, node) in blocks.iter_mut().zip(&nodes[first..first + Self::BLOCK]) {
                *block = *node;
            }
            let blocks = Self::transpose_blocks(blocks);
            for j in 0..Self::BLOCK {
                // SAFETY: the caller's.
                unsafe {
                    let store = |i: usize, block: __m128d| {
                        _mm_storeu_pd(x.add(offsets[j + i * Self::BLOCK] + first).cast(), block);
                    };
                    if size_of::<Self>() == 64 {
                        let register: __m512d = blocks[j].to_bits();
                        store(0, _mm512_castpd512_pd128(register));
                        store(1, _mm512_extractf64x2_pd::<1>(register));
                        store(2, _mm512_extractf64x2_pd::<2>(register));
                        store(3, _mm512_extractf64x2_pd::<3>(register));
                    } else {
                        let register: __m256d = blocks[j].to_bits();
                        store(0, _mm256_castpd256_pd128(register));
                        store(1, _mm256_extractf128_pd::<1>(register));
                    }
                }
            }
        }
    }

    /// Transposes the square matrices that the registers hold in their blocks; its own inverse.
    #[inline(always)]
    fn transpose_blocks([a, b, c, d]: [Self; MAX_BLOCK]) -> [Self; MAX_BLOCK] {
        if Self::BLOCK == 2 {
            let [a, b] = Self::interleave_f64(a, b);
            return [a, b, c, d];
        }
        let ([a, b], [c, d]) = (Self::interleave_f32(a, b), Self::interleave_f32(c, d));
        let ([a, c], [b, d]) = (Self::interleave_f64(a, c), Self::interleave_f64(b, d));
        [a, c, b, d]
    }

    /// In every block, the lower 64 bits of both, and the upper ones.
    #[inline(always)]
    fn interleave_f64(a: Self, b: Self) -> [Self; 2] {
        // SAFETY: the registers are those of a SIMD level that has the instructions.
        unsafe {
            if size_of::<Self>() == 64 {
                let (a, b) = (a.to_bits(), b.to_bits());
                [Self::from_bits(_mm512_unpacklo_pd(a, b)), Self::from_bits(_mm512_unpackhi_pd(a, b))]
            } else {
                let (a, b) = (a.to_bits(), b.to_bits());
                [Self::from_bits(_mm256_unpacklo_pd(a, b)), Self::from_bits(_mm256_unpackhi_pd(a, b))]
            }
        }
    }

    /// In every block, 32 bits of both by turns: of the lower halves, and of the upper ones.
    #[inline(always)]
    fn interleave_f32(a: Self, b: Self) -> [Self; 2] {
        // SAFETY: as above.
        unsafe {
            if size_of::<Self>() == 64 {
                let (a, b) = (a.to_bits(), b.to_bits());
                [Self::from_bits(_mm512_unpacklo_ps(a, b)), Self::from_bits(_mm512_unpackhi_ps(a, b))]
            } else {
                let (a, b) = (a.to_bits(), b.to_bits());
                [Self::from_bits(_mm256_unpacklo_ps(a, b)), Self::from_bits(_mm256_unpackhi_ps(a, b))]
            }
        }
    }

    /// # Safety
    /// `B` must be a register of the same size.
    #[inline(always)]
    unsafe fn to_bits<B: Copy>(self) -> B {
        // SAFETY: the caller's; any bits are valid for either.
        unsafe { core::mem::transmute_copy(&self) }
    }

    /// # Safety
    /// `B` must be a register of the same size.
    #[inline(always)]
    unsafe fn from_bits<B: Copy>(bits: B) -> Self {
        // SAFETY: the caller's; any bits are valid for either.
        unsafe { core::mem::transmute_copy(&bits) }
    }
}
