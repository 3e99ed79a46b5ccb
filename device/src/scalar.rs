//! The numbers that kernels compute with.
//!
//! A contraction multiplies *coefficients* (entries of 1D matrices) with *values* (dofs). On the GPU both are `f32` or
//! `f64`; on a CPU a value may be a SIMD register that holds the same dof of several patches.

use core::ops::{Add, Div, Mul, Neg, Sub};
use cuda_std::ptr::ReadOnly;
use cuda_std::shared::Word;

/// A floating point type of vectors and matrices.
pub trait Real:
    Value<Self>
    + Word
    + ReadOnly
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + PartialOrd
    + bytemuck::Pod
    + Send
    + Sync
    + core::fmt::Debug
    + 'static
{
    /// Name used in kernel names: `f32` or `f64`.
    const NAME: &'static str;
    /// Binary digits of its mantissa.
    const MANTISSA_DIGITS: u32;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    /// `1 / x` of a normal number. On the GPU its last digit may be another: an approximation and Newton's method take a quarter of the
    /// instructions of a division, and no call.
    fn reciprocal(self) -> Self;
    fn sqrt(self) -> Self;
}

/// What a contraction sums up: `T` itself, or several `T` side by side.
pub trait Value<T>: Copy + Add<Output = Self> + Sub<Output = Self> {
    const ZERO: Self;
    /// `coefficient * x`.
    fn scale(coefficient: T, x: Self) -> Self;
    /// `coefficient * x + sum`, in one rounding where the machine has the instruction.
    fn fma(coefficient: T, x: Self, sum: Self) -> Self;
}

macro_rules! real {
    ($t:ident, $fma:ident, $sqrt:ident, $register:ident, $approximation:literal, $steps:literal) => {
        impl Real for $t {
            const NAME: &'static str = stringify!($t);
            const MANTISSA_DIGITS: u32 = <$t>::MANTISSA_DIGITS;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::intrinsics::$sqrt(self);
                #[cfg(not(target_arch = "nvptx64"))]
                return self.sqrt();
            }
            #[inline(always)]
            fn reciprocal(self) -> Self {
                #[cfg(not(target_arch = "nvptx64"))]
                return 1.0 / self;
                #[cfg(target_arch = "nvptx64")]
                {
                    let mut result: $t;
                    // SAFETY: arithmetic.
                    unsafe {
                        core::arch::asm!(
                            $approximation,
                            out($register) result,
                            in($register) self,
                            options(pure, nomem, nostack, preserves_flags)
                        )
                    };
                    for _ in 0..$steps {
                        result = Self::fma(Self::fma(-self, result, 1.0), result, result);
                    }
                    result
                }
            }
        }

        impl Value<$t> for $t {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn scale(coefficient: $t, x: Self) -> Self {
                coefficient * x
            }
            #[inline(always)]
            fn fma(coefficient: $t, x: Self, sum: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return core::intrinsics::$fma(coefficient, x, sum);
                #[cfg(not(target_arch = "nvptx64"))]
                return coefficient.mul_add(x, sum);
            }
        }
    };
}
real!(f32, fmaf32, sqrtf32, reg32, "rcp.approx.ftz.f32 {}, {};", 1);
// 23 digits of 53.
real!(f64, fmaf64, sqrtf64, reg64, "rcp.approx.ftz.f64 {}, {};", 2);

/// Whether the operator of discontinuous elements is applied to nodes less a constant, which it sees at the boundary alone:
/// rounding is then relative to what they vary nearby. In `f64` it is far below what is asked for, and registers are few.
pub const fn is_shifted<T>() -> bool {
    size_of::<T>() == 4
}
