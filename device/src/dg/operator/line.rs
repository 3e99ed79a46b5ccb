//! A line of nodes that ends on two faces: what it adds to the cells behind them, and its part of a contraction.
//!
//! A constant is in the kernel of `L` with what lies behind both faces: where it [is shifted](is_shifted), `L` is applied to a
//! line less its first value.

use crate::contract::{Centrosymmetric, Split};
use crate::matrices::DgCellMatrices;
use crate::scalar::{Real, is_shifted};

/// What lies behind a face: half the normal derivative there, outward of the cell behind it, and a value. They add
/// `n_t v + δ_t0 (g - σ v)` to the line before it.
pub(super) type Behind<T> = [T; 2];

/// Nodes of a cell along a direction.
#[derive(Clone, Copy)]
pub(super) struct Line<T, const C: usize>(pub [T; C]);

impl<T: Real, const C: usize> Line<T, C> {
    const IS_SHIFTED: bool = is_shifted::<T>();

    /// Node `t` from the face on a side on.
    #[inline(always)]
    fn at(&self, side: usize, t: usize) -> T {
        self.0[if side == 0 { t } else { C - 1 - t }]
    }

    /// Half the outward normal derivative on a side.
    #[inline(always)]
    fn slope<const H: usize>(&self, matrices: &DgCellMatrices<T, C, H>, side: usize) -> T {
        let value = self.at(side, 0);
        let mut slope = if Self::IS_SHIFTED { T::ZERO } else { matrices.normal[0] * value };
        for t in 1..C {
            let node = self.at(side, t);
            slope = T::fma(matrices.normal[t], if Self::IS_SHIFTED { node - value } else { node }, slope);
        }
        slope
    }

    /// What the cell that sees it from a side has behind their face.
    #[inline(always)]
    pub fn seen_from<const H: usize>(&self, matrices: &DgCellMatrices<T, C, H>, side: usize) -> Behind<T> {
        [self.slope(matrices, side), self.at(side, 0)]
    }

    /// What it has behind it at the boundary, where `-(n_t v + δ_t0 g)` is added.
    #[inline(always)]
    pub fn at_boundary<const H: usize>(&self, matrices: &DgCellMatrices<T, C, H>, side: usize) -> Behind<T> {
        let value = self.at(side, 0);
        [-T::fma(matrices.penalty[0], value, self.slope(matrices, side)), -value]
    }

    /// `factor`, if there is one, times the sum of `L` times the line, of what lies behind both faces and of another matrix times
    /// another line, and `M` times the line: calls `store` with every entry of both. Row by row, so that a coefficient is loaded
    /// once and not kept.
    #[inline(always)]
    pub fn contract<const H: usize>(
        &self,
        matrices: &DgCellMatrices<T, C, H>,
        factor: Option<T>,
        other: Option<(&Centrosymmetric<T, C, H>, &[T; C])>,
        [lower, upper]: [Behind<T>; 2],
        mut store: impl FnMut(usize, T, T),
    ) {
        let shift = if Self::IS_SHIFTED { self.0[0] } else { T::ZERO };
        let mut own = self.0;
        for t in 0..C {
            own[t] = own[t] - shift;
        }
        let jumps = [lower[1] - shift, upper[1] - shift];
        let ends = [T::fma(-matrices.penalty[0], jumps[0], lower[0]), T::fma(-matrices.penalty[0], jumps[1], upper[0])];
        let (own, lift) = (Split::new(&own), Split::new(&jumps));
        let other = other.map(|(matrix, other)| (matrix, Split::new(other)));
        let times_factor = |value: T| factor.map_or(value, |factor| factor * value);
        let add_end = |sum: T, end: T| factor.map_or(sum + end, |factor| T::fma(factor, end, sum));
        for i in 0..H {
            let (mut even, mut odd) = matrices.stiffness.row(i, &own);
            if let Some((matrix, other)) = &other {
                (even, odd) = matrix.row_add(i, other, even, odd);
            }
            (even, odd) = matrices.lift.row_add(i, &lift, even, odd);
            (even, odd) = (times_factor(even), times_factor(odd));
            let (mut mass_even, mass_odd) = matrices.mass.row(i, &own);
            if Self::IS_SHIFTED {
                mass_even = T::fma(matrices.weights[i], shift, mass_even);
            }
            if 2 * i + 1 == C {
                store(i, even, mass_even);
            } else {
                let (mut first, mut last) = (even + odd, even - odd);
                if i == 0 {
                    (first, last) = (add_end(first, ends[0]), add_end(last, ends[1]));
                }
                store(i, first, mass_even + mass_odd);
                store(C - 1 - i, last, mass_even - mass_odd);
            }
        }
    }
}
