//! What a thread of a patch kernel is: its patch and its column.

use cuda_std::thread;

/// A thread's place: the patch (in x, along a color, class or tiling; y and z are the block's) and its column.
#[derive(Clone, Copy)]
pub struct Place {
    /// Patch index in x; clamped to the last one, so that a thread without a patch may read, but must not write.
    pub patch: usize,
    /// Whether there is such a patch.
    pub active: bool,
    /// Slot of the patch in the block.
    pub slot: usize,
    /// Column of the patch, `0..shape.columns`.
    pub column: usize,
}

impl Place {
    /// With `count > 0` patches in x, in a block of `patches` patches with `columns` threads each.
    #[inline(always)]
    pub fn new(columns: usize, patches: usize, count: u32) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let slot = thread / columns;
        let patch = thread::block_idx_x() as usize * patches + slot;
        let last = count as usize - 1;
        let active = patch <= last;
        Self { patch: if active { patch } else { last }, active, slot, column: thread % columns }
    }
}
