//! Hints to the compiler.

/// A copy of a register that the compiler does not look into; the options are those besides what holds for any copy.
macro_rules! copied {
    ($value:expr, options($($option:ident),*)) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let result;
            // SAFETY: copies a register.
            unsafe {
                core::arch::asm!(
                    "mov.u32 {}, {};",
                    out(reg32) result,
                    in(reg32) $value,
                    options($($option,)* nomem, nostack, preserves_flags)
                )
            };
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $value
    }};
}

/// `value`, of which the compiler does not see that it is constant: a loop to it is not unrolled.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    copied!(value, options(pure))
}

/// `value`, made here: what is computed from it is not computed before, where it would take registers for longer.
#[inline(always)]
pub fn made_here(value: u32) -> u32 {
    // Not `pure`, so that it stays where it is.
    copied!(value, options())
}

/// Selects one of two values bitwise. For an `if` the compiler may make a branch, and copy into both arms code that all lanes of a warp must
/// reach together.
#[derive(Clone, Copy)]
pub struct Select(u64);

impl Select {
    /// Of the first value if `is_first`, else of the second.
    #[inline(always)]
    pub fn new(is_first: bool) -> Self {
        let half = made_here(u32::from(is_first).wrapping_neg());
        Self(u64::from(half) << 32 | u64::from(half))
    }

    /// The selected one.
    #[inline(always)]
    pub const fn of(self, first: f64, second: f64) -> f64 {
        f64::from_bits(first.to_bits() & self.0 | second.to_bits() & !self.0)
    }
}

/// Loads before it are all asked for before the first of them is used: the assembler, to save registers, would rather have
/// them one after the other, each waiting for the one before.
///
/// # Safety
/// All lanes of the warp are here.
#[inline(always)]
pub unsafe fn loads_together() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise. No load moves over a barrier.
    unsafe {
        crate::warp::sync_warp(u32::MAX)
    };
}
