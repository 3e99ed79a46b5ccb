//! Hints to the compiler.

/// `value`, of which the compiler does not see that it is constant: a loop to it is not unrolled.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: copies a register.
        unsafe {
            core::arch::asm!(
                "mov.u32 {}, {};",
                out(reg32) result,
                in(reg32) value,
                options(pure, nomem, nostack, preserves_flags)
            )
        };
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}

/// `value`, made here: what is computed from it is not computed before, where it would take registers for longer.
#[inline(always)]
pub fn made_here(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result;
        // SAFETY: copies a register. Not `pure`, so that it stays where it is.
        unsafe {
            core::arch::asm!(
                "mov.u32 {}, {};",
                out(reg32) result,
                in(reg32) value,
                options(nomem, nostack, preserves_flags)
            )
        };
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}
