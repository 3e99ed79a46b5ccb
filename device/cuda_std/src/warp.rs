//! What the threads of a warp do together.
//!
//! Intrinsics, not inline assembly: LLVM then knows that they are convergent and keeps them where the warp is together.

use core::arch::asm;

/// Threads of a warp.
pub const WARP_SIZE: u32 = 32;

#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_sync_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_sync_bfly(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    fn redux_sync_umax(value: u32, mask: u32) -> u32;
}

/// The thread's place in its warp, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    let lane;
    // SAFETY: reads a register that every thread has and that never changes.
    unsafe { asm!("mov.u32 {}, %laneid;", out(reg32) lane, options(pure, nomem, nostack, preserves_flags)) };
    lane
}

/// Waits for the threads of the warp that `mask` names; what they wrote before is then visible to all of them.
///
/// # Safety
/// The calling thread is in `mask`, and no thread in it has exited.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise.
    unsafe { bar_warp_sync(mask) }
}

/// A value that can be passed between the threads of a warp, 32 bits at a time.
pub trait WarpShuffleValue: Copy {
    /// Applies one 32-bit shuffle to all its parts.
    fn shuffle(self, part: impl Fn(u32) -> u32) -> Self;
}

impl WarpShuffleValue for u32 {
    #[inline(always)]
    fn shuffle(self, part: impl Fn(u32) -> u32) -> Self {
        part(self)
    }
}

impl WarpShuffleValue for f32 {
    #[inline(always)]
    fn shuffle(self, part: impl Fn(u32) -> u32) -> Self {
        f32::from_bits(part(self.to_bits()))
    }
}

impl WarpShuffleValue for f64 {
    #[inline(always)]
    fn shuffle(self, part: impl Fn(u32) -> u32) -> Self {
        let bits = self.to_bits();
        let (low, high) = (part(bits as u32), part((bits >> 32) as u32));
        f64::from_bits(u64::from(low) | u64::from(high) << 32)
    }
}

/// Segments of `width` lanes, as the instruction wants them: segment mask and last lane of a segment.
#[inline(always)]
fn clamp(width: u32) -> u32 {
    (WARP_SIZE - width) << 8 | 0x1f
}

/// The value of the lane `delta` above, within segments of `width` lanes (a power of two, at most 32), and whether
/// there is such a lane; if not, the thread's own value.
///
/// # Safety
/// All threads in `mask` come here together, none of them has exited, and the lane read from is one of them.
#[inline(always)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller's promise.
    let shuffled = value.shuffle(|part| unsafe { shfl_sync_down(mask, part, delta, clamp(width)) });
    (shuffled, lane_id() % width + delta < width)
}

/// The value of the lane whose number differs in the bits of `lane_mask`, within segments of `width` lanes (a power of
/// two, at most 32), and whether there is such a lane; if not, the thread's own value.
///
/// # Safety
/// All threads in `mask` come here together, none of them has exited, and the lane read from is one of them.
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller's promise.
    let shuffled = value.shuffle(|part| unsafe { shfl_sync_bfly(mask, part, lane_mask, clamp(width)) });
    (shuffled, (lane_id() ^ lane_mask) < (lane_id() / width + 1) * width)
}

/// The largest of the values of all threads in `mask`. Compute capability 8.0.
///
/// # Safety
/// All threads in `mask` come here together, and none of them has exited.
#[inline(always)]
pub unsafe fn warp_reduce_max(mask: u32, value: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { redux_sync_umax(value, mask) }
}
