//! Which output a thread computes: all that the levels differ in.

use super::{Sizes, Step, pitch};
use crate::kernels::Variant;

/// The outputs of a thread: its row and column, and layers `first..first + count`.
#[derive(Clone, Copy, Debug)]
pub struct Outputs {
    pub active: bool,
    pub row: usize,
    pub column: usize,
    pub first: usize,
    pub count: usize,
}

impl Outputs {
    /// Point of the tensor that row, column and layer are, by the direction contracted.
    ///
    /// Listing 1 of paper 1 (`basic`, `linear`) makes the row the output in the direction contracted; listing 2 stores
    /// where the threads are, whatever the direction, so that stores never conflict.
    #[inline(always)]
    pub const fn point(self, variant: Variant, direction: usize, layer: usize) -> [usize; 3] {
        let (row, column, layer) = (self.row, self.column, self.first + layer);
        match (variant, direction) {
            (Variant::Basic | Variant::Linear, 0) => [row, column, layer],
            (Variant::Basic | Variant::Linear, 2) => [column, layer, row],
            _ => [column, row, layer],
        }
    }

    /// On all nodes.
    #[inline(always)]
    pub const fn all(step: Step, variant: Variant, sizes: Sizes, thread: usize) -> Self {
        let all = sizes.all;
        let pitch = pitch(variant, all);
        let (layer, thread) =
            if matches!(step, Step::FusedDof) { (thread / (all * all), thread % (all * all)) } else { (0, thread) };
        let (row, column) = (thread / pitch, thread % pitch);
        let count = if matches!(step, Step::FusedDof) { 1 } else { sizes.layers(all) };
        Self { active: row < all && column < all, row, column, first: layer, count }
    }

    /// On all nodes of all faces: layers of a tensor, in 2D its rows.
    #[inline(always)]
    pub const fn faces(step: Step, variant: Variant, sizes: Sizes, thread: usize) -> Self {
        let all = Self::all(step, variant, sizes, thread);
        if sizes.dim == 3 {
            Self { count: sizes.faces(), ..all }
        } else {
            Self { active: all.row < sizes.faces() && all.column < sizes.all, ..all }
        }
    }

    /// On the interior nodes, by the threads that [`Self::all`] gives these: boundary threads are masked.
    #[inline(always)]
    pub const fn masked(step: Step, variant: Variant, sizes: Sizes, thread: usize) -> Self {
        let Self { row, column, first, .. } = Self::all(step, variant, sizes, thread);
        let end = sizes.interior;
        let inside = row >= 1 && row <= end && column >= 1 && column <= end;
        let (row, column) = (row.wrapping_sub(1), column.wrapping_sub(1));
        if matches!(step, Step::FusedDof) {
            let active = inside && first >= 1 && first <= end;
            return Self { active, row, column, first: first.wrapping_sub(1), count: 1 };
        }
        Self { active: inside, row, column, first: 0, count: sizes.layers(end) }
    }

    /// On the interior nodes, by threads numbered through them.
    #[inline(always)]
    pub const fn linear(variant: Variant, sizes: Sizes, thread: usize) -> Self {
        let pitch = pitch(variant, sizes.interior);
        let (row, column) = (thread / pitch, thread % pitch);
        let active = row < sizes.interior && column < sizes.interior;
        Self { active, row, column, first: 0, count: sizes.layers(sizes.interior) }
    }

    /// The same, counted in all nodes.
    #[inline(always)]
    pub const fn shifted(self, sizes: Sizes) -> Self {
        let first = if sizes.dim == 3 { self.first + 1 } else { self.first };
        Self { row: self.row + 1, column: self.column + 1, first, ..self }
    }
}

/// Outputs of the residual's last contraction, on the interior nodes.
#[inline(always)]
pub const fn of_residual(step: Step, variant: Variant, sizes: Sizes, thread: usize) -> Outputs {
    match variant {
        // The interior is not contiguous among the residual's tensors: numbered through, threads would conflict.
        Variant::Basic | Variant::ConflictFree => Outputs::masked(step, variant, sizes, thread),
        _ => Outputs::linear(variant, sizes, thread),
    }
}

/// Outputs of the local solver.
#[inline(always)]
pub const fn of_solve(step: Step, variant: Variant, sizes: Sizes, thread: usize) -> Outputs {
    match variant {
        Variant::Basic if !matches!(step, Step::Solve) => Outputs::masked(step, variant, sizes, thread),
        _ => Outputs::linear(variant, sizes, thread),
    }
}
