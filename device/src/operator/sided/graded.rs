//! Cells of any widths.

use crate::operator::cells::{Cells, Factors};
use crate::patch::Directions;
use crate::scalar::Real;
use cuda_std::hint::made_here;
use cuda_std::ptr::ldg;

/// The widths of a level's cells, and its reaction.
#[derive(Clone, Copy)]
pub struct Graded<T> {
    /// `h` and `c / h²` of each cell along x, then y, then z; before the first cell and behind the last one of a direction those of images.
    sizes: *const T,
    directions: Directions,
    /// `s`.
    reaction: T,
}

impl<T: Real> Graded<T> {
    /// # Safety
    /// `sizes` has entries of all cells of the directions as long as the kernel runs.
    #[inline(always)]
    pub unsafe fn new(sizes: *const T, directions: Directions, reaction: T) -> Self {
        Self { sizes, directions, reaction }
    }
}

impl<T: Real> Cells<T> for Graded<T> {
    type Factor = T;
    const ARE_EQUAL: bool = false;

    #[inline(always)]
    fn factors(self, direction: usize, cell: u32) -> Factors<T> {
        let with_images = |d: usize| self.directions.0[d].cells + 2;
        let before: u32 = (0..direction).map(with_images).sum();
        // What a block computes behind the last image is read by nobody.
        let index = made_here(cell).wrapping_add(1).min(with_images(direction) - 1);
        let place = self.sizes.wrapping_add(2 * (before + index) as usize);
        // SAFETY: the promise of `new`.
        let [mass, ratio] = unsafe { [ldg(place), ldg(place.wrapping_add(1))] };
        Factors { mass, stiffness: mass * ratio, ratio }
    }

    #[inline(always)]
    fn of_all(self, _factor: T, value: T) -> T {
        value
    }

    #[inline(always)]
    fn form(self, _mass: T, stiffness: T) -> T {
        stiffness
    }

    #[inline(always)]
    fn with_reaction<'a, const L: usize>(self, p: &'a [T; L], q: &[T; L], sum: &'a mut [T; L]) -> &'a [T; L] {
        for i in 0..L {
            sum[i] = T::fma(self.reaction, q[i], p[i]);
        }
        sum
    }

    #[inline(always)]
    fn column<const L: usize>(self, layer: u32, _factor: T, mass: &[T; L], stiffness: &[T; L]) -> [[T; L]; 2] {
        let size = self.factors(1, layer);
        let (mut of_mass, mut form) = ([T::ZERO; L], [T::ZERO; L]);
        for i in 0..L {
            of_mass[i] = size.mass * mass[i];
            form[i] = size.mass * T::fma(self.reaction, mass[i], size.ratio * stiffness[i]);
        }
        [of_mass, form]
    }
}
