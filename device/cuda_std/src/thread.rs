//! Where a thread is in its block and grid.

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulate;
#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx;

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $register:ident, $emulated:expr;)+) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: reads a register that every thread has.
            return unsafe { nvptx::$register() as u32 };
            #[cfg(not(target_arch = "nvptx64"))]
            return $emulated;
        }
    )+};
}

special_registers! {
    /// `threadIdx.x`; blocks are one-dimensional here.
    thread_idx_x = _thread_idx_x, emulate::thread_index();
    /// `blockIdx.x`.
    block_idx_x = _block_idx_x, emulate::block_index(0);
    /// `blockIdx.y`.
    block_idx_y = _block_idx_y, emulate::block_index(1);
    /// `blockIdx.z`.
    block_idx_z = _block_idx_z, emulate::block_index(2);
    /// `blockDim.x`.
    block_dim_x = _block_dim_x, emulate::threads();
    /// `gridDim.x`.
    grid_dim_x = _grid_dim_x, emulate::blocks(0);
    /// `gridDim.y`.
    grid_dim_y = _grid_dim_y, emulate::blocks(1);
}

/// Waits for all threads of the block (`bar.sync 0`); what they wrote to shared and global memory before is then
/// visible to all of them.
///
/// Every thread of the block must come here, or none.
#[inline(always)]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the barrier touches no memory; threads that never come end in a hang, not in undefined behaviour.
    unsafe {
        nvptx::_syncthreads()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulate::wait();
}
