//! The kernel list: every entry point, with what the host must know to launch it.

/// Degrees that there are kernels for, in 2D and in 3D.
pub const DEGREES_2D: core::ops::RangeInclusive<usize> = 1..=10;
/// As [`DEGREES_2D`].
pub const DEGREES_3D: core::ops::RangeInclusive<usize> = 1..=8;
