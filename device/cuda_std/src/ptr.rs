//! Loads that say more than a dereference.

use core::arch::asm;

/// A type that [`ldg`] loads.
pub trait ReadOnly: Copy {
    /// See [`ldg`].
    ///
    /// # Safety
    /// That of [`ldg`].
    unsafe fn load(pointer: *const Self) -> Self;
}

macro_rules! read_only {
    ($type:ty, $register:ident, $load:literal) => {
        impl ReadOnly for $type {
            #[inline(always)]
            #[allow(clippy::pointers_in_nomem_asm_block)] // what is read never changes
            unsafe fn load(pointer: *const Self) -> Self {
                let value;
                // SAFETY: the caller's promise; nothing writes there while the kernel runs, hence `nomem`.
                unsafe {
                    asm!($load, out($register) value, in(reg64) pointer, options(pure, nomem, nostack, preserves_flags))
                };
                value
            }
        }
    };
}
read_only!(u32, reg32, "ld.global.nc.u32 {}, [{}];");
read_only!(f32, reg32, "ld.global.nc.f32 {}, [{}];");
read_only!(f64, reg64, "ld.global.nc.f64 {}, [{}];");

/// Loads from global memory through the read-only path (`ld.global.nc`, CUDA's `__ldg`).
///
/// # Safety
/// `pointer` is aligned, points to a value in global memory, and nobody writes it while the kernel runs.
#[inline(always)]
pub unsafe fn ldg<T: ReadOnly>(pointer: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::load(pointer) }
}
