//! Where a thread is in its block and grid.

use core::arch::nvptx;

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $register:ident;)+) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reads a register that every thread has.
            unsafe { nvptx::$register() as u32 }
        }
    )+};
}

special_registers! {
    /// `threadIdx.x`.
    thread_idx_x = _thread_idx_x;
    /// `threadIdx.y`.
    thread_idx_y = _thread_idx_y;
    /// `threadIdx.z`.
    thread_idx_z = _thread_idx_z;
    /// `blockIdx.x`.
    block_idx_x = _block_idx_x;
    /// `blockIdx.y`.
    block_idx_y = _block_idx_y;
    /// `blockIdx.z`.
    block_idx_z = _block_idx_z;
    /// `blockDim.x`.
    block_dim_x = _block_dim_x;
    /// `blockDim.y`.
    block_dim_y = _block_dim_y;
    /// `blockDim.z`.
    block_dim_z = _block_dim_z;
    /// `gridDim.x`.
    grid_dim_x = _grid_dim_x;
    /// `gridDim.y`.
    grid_dim_y = _grid_dim_y;
    /// `gridDim.z`.
    grid_dim_z = _grid_dim_z;
}

/// Index of the thread in a one-dimensional launch: `blockIdx.x * blockDim.x + threadIdx.x`.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Waits for all threads of the block (`bar.sync 0`); what they wrote to shared and global memory before is then
/// visible to all of them.
///
/// Every thread of the block must come here, or none.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: the barrier touches no memory; threads that never come end in a hang, not in undefined behaviour.
    unsafe { nvptx::_syncthreads() }
}
