//! Textures: numbers that the texture units read.

/// A texture object over numbers in `f32` that lie one after the other; on the host, their address.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct LinearTexture(pub u64);

impl LinearTexture {
    /// Number `index`.
    ///
    /// # Safety
    /// It is a texture object of the current context, or an address on the host, of more than `index` numbers that nobody
    /// writes.
    #[inline(always)]
    pub unsafe fn get(self, index: u32) -> f32 {
        #[cfg(target_arch = "nvptx64")]
        {
            let value;
            // SAFETY: the caller's promise; what is read never changes, hence `nomem`. A texture has four channels, of which
            // one is there.
            unsafe {
                core::arch::asm!(
                    "tex.1d.v4.f32.s32 {{{}, {}, {}, {}}}, [{}, {{{}}}];",
                    out(reg32) value,
                    out(reg32) _,
                    out(reg32) _,
                    out(reg32) _,
                    in(reg64) self.0,
                    in(reg32) index,
                    options(pure, nomem, nostack, preserves_flags)
                )
            };
            value
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the caller's promise.
        unsafe {
            *(self.0 as *const f32).add(index as usize)
        }
    }
}
