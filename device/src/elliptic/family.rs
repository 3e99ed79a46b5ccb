//! Families: the children of one cell, side by side in a group. They sum up their results at common nodes; the upper cell in each direction
//! keeps the sum.

use super::across;
use super::lines::{Place, Tensor};
use crate::scalar::Real;
use cuda_std::shared::Word;
use cuda_std::thread::sync_threads;

/// What the thread's line of a cell has to do with other cells of the family.
#[derive(Clone, Copy)]
pub struct Shares<const DIM: usize, const N: usize> {
    place: Place<DIM, N>,
    direction: usize,
    /// Whether the cell is in a family.
    pub is_family: bool,
}

impl<const DIM: usize, const N: usize> Shares<DIM, N> {
    /// Of a line along a direction; the first groups are `families`.
    #[inline(always)]
    pub fn new(place: Place<DIM, N>, direction: usize, families: u32) -> Self {
        let is_family = const { super::Groups::new(DIM, N).has_families() } && (place.group as u32) < families;
        Self { place, direction, is_family }
    }

    /// Whether the cell is the upper one of its family in a direction.
    #[inline(always)]
    fn is_upper(&self, direction: usize) -> bool {
        self.place.cell >> direction & 1 == 1
    }

    /// Whether the cell leaves what entry `layer` has.
    #[inline(always)]
    pub fn leaves(&self, layer: usize) -> bool {
        let [first, second] = across(self.direction);
        let [a, b] = self.place.across;
        let of_upper = |index: usize, direction: usize| index == N - 1 && !self.is_upper(direction);
        !self.is_family || !(of_upper(a, first) || DIM == 3 && of_upper(b, second) || of_upper(layer, self.direction))
    }

    /// Results of the line; at common nodes of a family the sum over its cells, if this cell keeps it.
    #[inline(always)]
    pub fn sum<T: Real + Word>(&self, own: Tensor<T, DIM, N>, mut u: [T; N]) -> [T; N] {
        let (place, direction) = (self.place, self.direction);
        own.write(direction, &u);
        sync_threads();
        if !self.is_family {
            return u;
        }
        let [first, second] = across(direction);
        let [a, b] = place.across;
        let takes = [a == 0 && self.is_upper(first), DIM == 3 && b == 0 && self.is_upper(second)];
        let mut at_end = T::ZERO;
        for others in 0..if DIM == 3 { 4 } else { 2 } {
            let of = [others & 1, others >> 1];
            if (of[0] == 1 && !takes[0]) || (of[1] == 1 && !takes[1]) {
                continue;
            }
            let cell = place.cell ^ (of[0] << first) ^ (of[1] << second);
            let across = [if of[0] == 1 { N - 1 } else { a }, if of[1] == 1 { N - 1 } else { b }];
            let line = Place::<DIM, N>::line_of(cell, direction, across);
            if others > 0 {
                for layer in 0..N {
                    u[layer] = u[layer] + own.words.get(line.start + layer * line.stride);
                }
            }
            if self.is_upper(direction) {
                let before = Place::<DIM, N>::line_of(cell ^ (1 << direction), direction, across);
                at_end = at_end + own.words.get(before.start + (N - 1) * before.stride);
            }
        }
        u[0] = u[0] + at_end;
        u
    }
}
