//! Which cells are refined and coarsened: from an indicator of each cell's error.

use super::leaves::Adaptation;
use crate::error::{Result, invalid};

/// A rule that marks cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marking {
    /// A fraction of all cells with the largest indicators is refined, another with the smallest coarsened. Cells with the
    /// same indicator are treated alike.
    FixedNumber {
        /// Fraction to refine.
        refine: f64,
        /// Fraction to coarsen.
        coarsen: f64,
    },
    /// The fewest cells are refined whose squared indicators sum up to a fraction of all (Dörfler, *SIAM Journal on Numerical
    /// Analysis* 33, 1996, 1106-1124); none is coarsened.
    Dorfler {
        /// The fraction of the sum of squares.
        fraction: f64,
    },
}

impl Marking {
    /// Flags for [`Forest::adapt`](super::Forest::adapt).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for fractions that are not from 0 to 1, or more than 1
    /// together, and for indicators that are negative or not finite.
    pub fn mark(&self, indicators: &[f64]) -> Result<Vec<Adaptation>> {
        self.check()?;
        if let Some(cell) = indicators.iter().position(|value| !(*value >= 0.0 && value.is_finite())) {
            let value = format_args!("{} in cell {cell}", indicators[cell]);
            return Err(invalid("the indicator", value, "0 or positive, and finite"));
        }
        let mut sorted = indicators.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let count = |fraction: f64| (fraction * indicators.len() as f64) as usize;
        // What is at least the first is refined; what is at most the second is coarsened.
        let (least, most) = match *self {
            Self::FixedNumber { refine, coarsen } => {
                let least = count(refine).checked_sub(1).map(|last| sorted[last]);
                let most = count(coarsen).checked_sub(1).map(|last| sorted[sorted.len() - 1 - last]);
                (least, most)
            }
            Self::Dorfler { fraction } => {
                let wanted = fraction * sorted.iter().map(|value| value * value).sum::<f64>();
                let mut sum = 0.0;
                let reached = sorted.iter().position(|value| {
                    sum += value * value;
                    sum >= wanted
                });
                (reached.or(sorted.len().checked_sub(1)).map(|last| sorted[last]), None)
            }
        };
        let flag = |&value: &f64| {
            if least.is_some_and(|least| value >= least) {
                Adaptation::Refine
            } else if most.is_some_and(|most| value <= most) {
                Adaptation::Coarsen
            } else {
                Adaptation::Keep
            }
        };
        Ok(indicators.iter().map(flag).collect())
    }

    /// That fractions are allowed.
    ///
    /// # Errors
    /// As for [`Self::mark`].
    pub fn check(&self) -> Result<()> {
        let fractions: &[(&str, f64)] = match self {
            Self::FixedNumber { refine, coarsen } => &[("refine fraction", *refine), ("coarsen fraction", *coarsen)],
            Self::Dorfler { fraction } => &[("refine fraction", *fraction)],
        };
        for &(name, fraction) in fractions {
            if !(0.0..=1.0).contains(&fraction) {
                return Err(invalid(name, fraction, "from 0 to 1"));
            }
        }
        let sum: f64 = fractions.iter().map(|(_, fraction)| fraction).sum();
        if sum > 1.0 { Err(invalid("the sum of both fractions", sum, "at most 1")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Adaptation::{Coarsen, Keep, Refine};

    #[test]
    fn fixed_numbers_are_marked() {
        let marking = Marking::FixedNumber { refine: 0.4, coarsen: 0.2 };
        assert_eq!(marking.mark(&[1.0, 5.0, 3.0, 4.0, 2.0]).unwrap(), [Coarsen, Refine, Keep, Refine, Keep]);
        assert_eq!(marking.mark(&[1.0, 5.0, 4.0, 4.0, 2.0]).unwrap(), [Coarsen, Refine, Refine, Refine, Keep], "a tie");
        let none = Marking::FixedNumber { refine: 0.1, coarsen: 0.0 };
        assert_eq!(none.mark(&[1.0, 2.0]).unwrap(), [Keep, Keep]);
        assert_eq!(none.mark(&[]).unwrap(), []);
    }

    #[test]
    fn the_fewest_cells_have_the_fraction_of_the_sum() {
        let marks = |fraction| Marking::Dorfler { fraction }.mark(&[1.0, 3.0, 2.0, 1.0]).unwrap();
        // 9 + 4 of 15.
        assert_eq!(marks(0.6), [Keep, Refine, Keep, Keep]);
        assert_eq!(marks(0.61), [Keep, Refine, Refine, Keep]);
        assert_eq!(marks(1.0), [Refine; 4]);
    }

    #[test]
    fn bad_fractions_and_indicators_are_refused() {
        let message = |marking: Marking, indicators: &[f64]| marking.mark(indicators).unwrap_err().to_string();
        let fixed = |refine, coarsen| Marking::FixedNumber { refine, coarsen };
        assert_eq!(message(fixed(1.5, 0.0), &[]), "refine fraction is 1.5, but must be from 0 to 1");
        assert_eq!(message(fixed(0.5, -0.1), &[]), "coarsen fraction is -0.1, but must be from 0 to 1");
        assert_eq!(message(fixed(0.5, 0.75), &[]), "the sum of both fractions is 1.25, but must be at most 1");
        let dorfler = Marking::Dorfler { fraction: 0.5 };
        assert_eq!(
            message(dorfler, &[1.0, f64::NAN]),
            "the indicator is NaN in cell 1, but must be 0 or positive, and finite"
        );
    }
}
