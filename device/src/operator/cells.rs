//! How the 1D matrices of a level's cells differ from those of a cell of size 1.

use crate::scalar::Real;

/// How often values are added to sums.
pub trait Multiple<T>: Copy {
    /// `sum` and the multiple of a value.
    fn add(self, value: T, sum: T) -> T;
}

/// A factor of a matrix.
pub trait Factor<T>: Multiple<T> {
    fn times(self, value: T) -> T;

    /// The products, made in `product` if they are other numbers than the values.
    fn times_all<'a, const L: usize>(self, values: &'a [T; L], product: &'a mut [T; L]) -> &'a [T; L];
}

/// 1.
#[derive(Clone, Copy)]
pub struct One;

impl<T: Real> Multiple<T> for One {
    #[inline(always)]
    fn add(self, value: T, sum: T) -> T {
        sum + value
    }
}

impl<T: Real> Factor<T> for One {
    #[inline(always)]
    fn times(self, value: T) -> T {
        value
    }

    #[inline(always)]
    fn times_all<'a, const L: usize>(self, values: &'a [T; L], _product: &'a mut [T; L]) -> &'a [T; L] {
        values
    }
}

impl<T: Real> Multiple<T> for T {
    #[inline(always)]
    fn add(self, value: T, sum: T) -> T {
        T::fma(self, value, sum)
    }
}

impl<T: Real> Factor<T> for T {
    #[inline(always)]
    fn times(self, value: T) -> T {
        self * value
    }

    #[inline(always)]
    fn times_all<'a, const L: usize>(self, values: &'a [T; L], product: &'a mut [T; L]) -> &'a [T; L] {
        for i in 0..L {
            product[i] = self * values[i];
        }
        product
    }
}

/// By how much the 1D matrices of a cell are larger than those of a cell of size 1.
#[derive(Clone, Copy)]
pub struct Factors<F> {
    /// `M`.
    pub mass: F,
    /// `A`.
    pub stiffness: F,
    /// Of `A`, over that of `M`.
    pub ratio: F,
}

/// The cells of a level, with its reaction.
pub trait Cells<T: Real>: Copy {
    type Factor: Factor<T>;
    /// Whether all have one size, so that no factors of theirs take registers.
    const ARE_EQUAL: bool;

    /// Those of a cell in a direction. Its number may be -1, wrapped, or as many as there are, for images beyond the ends.
    fn factors(self, direction: usize, cell: u32) -> Factors<Self::Factor>;

    /// Those of the cell before it, and its own.
    #[inline(always)]
    fn pair(self, direction: usize, cell: u32) -> Factors<[Self::Factor; 2]> {
        let [before, own] = [cell.wrapping_sub(1), cell].map(|cell| self.factors(direction, cell));
        Factors {
            mass: [before.mass, own.mass],
            stiffness: [before.stiffness, own.stiffness],
            ratio: [before.ratio, own.ratio],
        }
    }

    /// A value times a [factor](crate::matrices::Scaled) that all cells have.
    fn of_all(self, factor: T, value: T) -> T;

    /// In 3D an entry of what is applied to `q` along z: `A`, or `A + s M` if [`Self::with_reaction`] leaves the reaction out.
    fn form(self, mass: T, stiffness: T) -> T;

    /// In 3D what `M` is applied to along z: `p`, or `p + s q`, made in `sum`.
    fn with_reaction<'a, const L: usize>(self, p: &'a [T; L], q: &[T; L], sum: &'a mut [T; L]) -> &'a [T; L];

    /// In 2D `M x` and `(A + s M) x` of a column of a layer of cells, from those of cells of size 1 and the factor of `A` that all cells have.
    fn column<const L: usize>(self, layer: u32, factor: T, mass: &[T; L], stiffness: &[T; L]) -> [[T; L]; 2];
}

/// Cells of size 1, to be scaled by factors that all cells have.
#[derive(Clone, Copy)]
pub struct Equal<R> {
    pub reaction: R,
}

/// 0: there is no reaction.
#[derive(Clone, Copy)]
pub struct Without;

impl<T: Real> Multiple<T> for Without {
    #[inline(always)]
    fn add(self, _value: T, sum: T) -> T {
        sum
    }
}

impl<T: Real, R: Multiple<T>> Cells<T> for Equal<R> {
    type Factor = One;
    const ARE_EQUAL: bool = true;

    #[inline(always)]
    fn factors(self, _direction: usize, _cell: u32) -> Factors<One> {
        Factors { mass: One, stiffness: One, ratio: One }
    }

    #[inline(always)]
    fn of_all(self, factor: T, value: T) -> T {
        factor * value
    }

    #[inline(always)]
    fn form(self, mass: T, stiffness: T) -> T {
        self.reaction.add(mass, stiffness)
    }

    #[inline(always)]
    fn with_reaction<'a, const L: usize>(self, p: &'a [T; L], _q: &[T; L], _sum: &'a mut [T; L]) -> &'a [T; L] {
        p
    }

    #[inline(always)]
    fn column<const L: usize>(self, _layer: u32, factor: T, mass: &[T; L], stiffness: &[T; L]) -> [[T; L]; 2] {
        let mut form = [T::ZERO; L];
        for i in 0..L {
            form[i] = self.reaction.add(mass[i], factor * stiffness[i]);
        }
        [*mass, form]
    }
}
