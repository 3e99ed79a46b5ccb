//! Vector operations.

/// Threads of a block.
pub const THREADS: usize = 256;
/// Vectors that one launch of `dots` or `add_combination` takes.
pub const VECTORS: usize = 8;
/// Barriers of a block-wide sum.
pub const DOT_BARRIERS: usize = 1;
/// Blocks of `dots`: fixed, so that the order of summation is, too.
pub const DOT_BLOCKS: usize = 1056;
