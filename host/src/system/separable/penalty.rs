//! The symmetric interior penalty form of a direction, for discontinuous elements.
//!
//! ```text
//! c (Σ_K ∫ u' v' + Σ_faces σ [u][v] - {u'} [v] - [u] {v'}),    σ = k (k + 1) (1/h⁺ + 1/h⁻)
//! ```
//!
//! with the jump `[u]` and the mean `{u'}` along the normal. At a Dirichlet end both are those of its cell, and `σ = 2 k (k + 1) / h`
//! (Nitsche's method); a Neumann end has no face; a period has one face more. On equal cells it is the form of
//! [`DiscontinuousForms`](crate::system::poisson::forms::DiscontinuousForms).
//!
//! `σ` is the sum of a term for each cell, because then the form is coercive whatever the widths: on a cell the derivatives at both ends
//! satisfy `u'(0)² + u'(h)² <= k (k + 1) / h ∫ u'²`, so between cells a quarter of `σ` suffices, at a Dirichlet end half of it.

use super::line::{Ends, Line, Rows, add_entry};
use crate::fe::{FixedPoint, largest_row_sum, stiffness_in_fixed_point};
use nalgebra::DMatrix;
use std::collections::HashMap;

/// What a cell contributes, in fixed-point numbers.
struct Cell {
    fixed_point: FixedPoint,
    /// `c ∫ l_i' l_j'`.
    stiffness: DMatrix<f64>,
    /// `c / 2` times the outward derivatives at an end, nodes counted from there.
    normal: Vec<f64>,
}

/// The symmetric matrix of a line.
struct Sum {
    rows: Rows,
}

impl Sum {
    fn add(&mut self, row: usize, column: usize, value: f64) {
        add_entry(&mut self.rows[row], column, value);
    }

    /// A product of two functionals, and the other way round.
    fn couple(&mut self, i: usize, j: usize, value: f64) {
        self.add(i, j, value);
        self.add(j, i, value);
    }
}

impl Line {
    /// The form in numbers of so many binary digits. Rows without a Dirichlet end sum to zero exactly, in any order, as those of
    /// [`Line::stiffness`] do: a row has entries of three cells, so fixed-point numbers fit the two nearest cells on both sides.
    pub(super) fn interior_penalty(&self, coefficient: f64, digits: u32) -> Rows {
        let (element, cells, k) = (self.axis.element(), self.axis.cells(), self.axis.degree());
        let (nodes, stiffness, slopes) = (k + 1, element.stiffness(), element.derivatives(1.0));
        let factor = |cell: usize| coefficient / self.axis.width(cell);
        let absolute = || slopes.iter().map(|slope| slope.abs());
        // A row has one face's penalty and derivatives twice, and four derivatives at single nodes.
        let largest = largest_row_sum(&stiffness)
            + absolute().sum::<f64>()
            + 2.0 * absolute().fold(0.0, f64::max)
            + (4 * k * (k + 1)) as f64;
        let nearby = |cell: usize| {
            (0..5).map(move |shift| match self.ends {
                Ends::Periodic => (cell + 2 * cells + shift - 2) % cells,
                Ends::Open(_) => (cell + shift).saturating_sub(2).min(cells - 1),
            })
        };
        let of_cell = |factor: f64, largest_factor: f64| {
            // Entries of the stiffness may change by three halves of a spacing, others by a half.
            let fixed_point = FixedPoint::of_row_sums(largest * largest_factor, 5 * nodes, digits);
            let scaled = DMatrix::from_fn(1, nodes, |_, t| 0.5 * factor * slopes[k - t]);
            Cell {
                fixed_point,
                stiffness: stiffness_in_fixed_point(fixed_point, &(&stiffness * factor), element.nodes()),
                normal: fixed_point.with_zero_row_sums(&scaled).iter().copied().collect(),
            }
        };
        let mut known: HashMap<[u64; 2], Cell> = HashMap::new();
        let keys: Vec<[u64; 2]> = (0..cells)
            .map(|cell| {
                let factors = [factor(cell), nearby(cell).map(factor).fold(0.0, f64::max)];
                let key = factors.map(f64::to_bits);
                known.entry(key).or_insert_with(|| of_cell(factors[0], factors[1]));
                key
            })
            .collect();
        let cell = |index: usize| &known[&keys[index]];

        let mut sum = Sum { rows: vec![Vec::new(); self.nodes()] };
        for index in 0..cells {
            let (first, matrix) = (index * nodes, &cell(index).stiffness);
            for (i, j) in (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j))) {
                sum.add(first + i, first + j, matrix[(i, j)]);
            }
        }
        let half_penalty = |index: usize| self.half_penalty(index, coefficient);
        let period = (self.ends == Ends::Periodic).then_some([cells - 1, 0]);
        for [lower, upper] in (1..cells).map(|index| [index - 1, index]).chain(period) {
            let penalty = half_penalty(lower) + half_penalty(upper);
            // Rounded to the coarser of the two.
            let penalty = cell(upper).fixed_point.round(cell(lower).fixed_point.round(penalty));
            let ends = [lower * nodes + k, upper * nodes];
            for t in 0..nodes {
                for (node, normal) in [(ends[0] - t, cell(lower).normal[t]), (ends[1] + t, -cell(upper).normal[t])] {
                    sum.couple(ends[0], node, -normal);
                    sum.couple(ends[1], node, normal);
                }
            }
            ends.iter().for_each(|&end| sum.add(end, end, penalty));
            sum.couple(ends[0], ends[1], -penalty);
        }
        for side in (0..2).filter(|&side| self.is_given(side)) {
            let index = side * (cells - 1);
            let end = side * (self.nodes() - 1);
            for (t, normal) in cell(index).normal.iter().enumerate() {
                sum.couple(end, end.abs_diff(t), -2.0 * normal);
            }
            sum.add(end, end, cell(index).fixed_point.round(2.0 * half_penalty(index)));
        }
        sum.rows
    }

    /// What a cell contributes to `c σ` of its faces.
    fn half_penalty(&self, cell: usize, coefficient: f64) -> f64 {
        let k = self.axis.degree();
        (k * (k + 1)) as f64 * coefficient / self.axis.width(cell)
    }

    /// What a value 1 at a Dirichlet end contributes to the load vector, `c (σ l - ∂ₙl)`, nodes counted from there.
    pub(super) fn boundary_load(&self, side: usize, coefficient: f64) -> Vec<f64> {
        let cell = side * (self.axis.cells() - 1);
        let slopes = self.axis.element().derivatives(1.0);
        let mut load: Vec<f64> =
            slopes.iter().rev().map(|slope| -slope * coefficient / self.axis.width(cell)).collect();
        load[0] += 2.0 * self.half_penalty(cell, coefficient);
        load
    }
}
