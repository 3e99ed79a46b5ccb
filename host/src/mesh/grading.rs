//! Sizes of cells that are not equal.

use crate::error::{Result, invalid};
use std::sync::Arc;

/// Sizes of the cells of a direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Grading {
    /// All equal.
    #[default]
    Uniform,
    /// A geometric sequence: the last cell is this many times as wide as the first. Above 1 cells become finer towards the lower end,
    /// below 1 towards the upper one.
    Geometric(f64),
    /// Two geometric sequences, from each end to the middle, where cells are this many times as wide as at the ends.
    BothEnds(f64),
    /// Breakpoints that ascend from 0 to the length of the direction; each interval between two neighbours is cut into equal cells, all
    /// into the same number.
    Breakpoints(Vec<f64>),
}

/// Ratios of two cells' widths that are allowed; a larger one stands for no mesh that could be meant.
const MOST: f64 = 1e6;

impl Grading {
    /// The ends of `cells` cells on an interval from 0 to a length; none if all are equal.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a ratio that is not from 1e-6 to 1e6, for breakpoints that do not ascend from 0 to
    /// the length or whose cells differ more, and if the number of their intervals does not divide that of cells.
    pub fn breakpoints(&self, cells: usize, length: f64) -> Result<Option<Arc<[f64]>>> {
        let exponents: Box<dyn Fn(usize) -> usize> = match self {
            Self::Uniform => return Ok(None),
            Self::Geometric(_) => Box::new(|cell| cell),
            Self::BothEnds(_) => Box::new(|cell| cell.min(cells - 1 - cell)),
            Self::Breakpoints(breakpoints) => return refined(breakpoints, cells, length).map(Some),
        };
        let (Self::Geometric(ratio) | Self::BothEnds(ratio)) = *self else { return Ok(None) };
        if !(1.0 / MOST..=MOST).contains(&ratio) {
            return Err(invalid("grading", format_args!("{ratio:?}"), "a ratio of widths from 1e-6 to 1e6"));
        }
        let steps = (0..cells).map(&exponents).max().unwrap_or(0);
        let widths: Vec<f64> = (0..cells)
            .map(|cell| if steps == 0 { 1.0 } else { ratio.powf(exponents(cell) as f64 / steps as f64) })
            .collect();
        let (sum, mut before): (f64, f64) = (widths.iter().sum(), 0.0);
        let mut breakpoints = vec![0.0];
        for width in &widths {
            before += width;
            breakpoints.push(length * (before / sum));
        }
        breakpoints[cells] = length;
        Ok(Some(breakpoints.into()))
    }
}

/// Breakpoints with so many cells between the first and the last.
fn refined(given: &[f64], cells: usize, length: f64) -> Result<Arc<[f64]>> {
    let list = || given.iter().map(|point| format!("{point:?}")).collect::<Vec<_>>().join("/");
    let intervals = given.len().saturating_sub(1);
    // The length as it was written may be rounded.
    let ends = intervals > 0 && given[0] == 0.0 && (given[intervals] / length - 1.0).abs() < 1e-12;
    if !ends || !given.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(invalid("grading", list(), format_args!("breakpoints that ascend from 0 to {length}")));
    }
    if !cells.is_multiple_of(intervals) {
        let allowed = format_args!("so many intervals that {cells} cells are a multiple, not {intervals}");
        return Err(invalid("grading", list(), allowed));
    }
    let widths = || given.windows(2).map(|pair| pair[1] - pair[0]);
    if widths().fold(0.0, f64::max) > MOST * widths().fold(f64::INFINITY, f64::min) {
        return Err(invalid("grading", list(), "breakpoints between which widths differ by a factor of at most 1e6"));
    }
    let each = cells / intervals;
    let mut points: Vec<f64> = given
        .windows(2)
        .flat_map(|pair| (0..each).map(move |cell| pair[0] + (pair[1] - pair[0]) * (cell as f64 / each as f64)))
        .collect();
    points.push(length);
    Ok(points.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(grading: Grading, cells: usize, length: f64) -> Vec<f64> {
        let points = grading.breakpoints(cells, length).unwrap().unwrap();
        assert_eq!((points.len(), points[0], points[cells]), (cells + 1, 0.0, length));
        points.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn geometric_cells_have_their_ratio() {
        let of_one = widths(Grading::Geometric(1000.0), 16, 2.5);
        assert!((of_one[15] / of_one[0] - 1000.0).abs() < 1e-9);
        let first = of_one[1] / of_one[0];
        assert!(of_one.windows(2).all(|pair| (pair[1] / pair[0] / first - 1.0).abs() < 1e-10));
        let of_both = widths(Grading::BothEnds(100.0), 8, 1.0);
        assert!((of_both[3] / of_both[0] - 100.0).abs() < 1e-9);
        assert!((0..4).all(|cell| (of_both[cell] / of_both[7 - cell] - 1.0).abs() < 1e-10));
        // A cell alone, or two that meet in the middle, have no other to be compared with.
        assert_eq!(widths(Grading::BothEnds(100.0), 2, 1.0), [0.5, 0.5]);
        assert_eq!(Grading::Uniform.breakpoints(4, 1.0).unwrap(), None);
    }

    #[test]
    fn intervals_between_breakpoints_are_cut_into_equal_cells() {
        let points = Grading::Breakpoints(vec![0.0, 0.5, 2.0]).breakpoints(4, 2.0).unwrap().unwrap();
        assert_eq!(*points, [0.0, 0.25, 0.5, 1.25, 2.0]);
    }

    #[test]
    fn wrong_gradings_name_what_is_allowed() {
        let message = |grading: Grading| grading.breakpoints(4, 2.0).unwrap_err().to_string();
        for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
            let expected = format!("grading is {ratio:?}, but must be a ratio of widths from 1e-6 to 1e6");
            assert_eq!(message(Grading::Geometric(ratio)), expected);
            assert_eq!(message(Grading::BothEnds(ratio)), expected);
        }
        for points in
            [vec![], vec![0.0], vec![0.0, 1.0], vec![0.5, 2.0], vec![0.0, 1.5, 1.0, 2.0], vec![0.0, f64::NAN, 2.0]]
        {
            assert!(message(Grading::Breakpoints(points)).ends_with("must be breakpoints that ascend from 0 to 2"));
        }
        assert!(message(Grading::Breakpoints(vec![0.0, 0.5, 1.0, 2.0])).contains("4 cells are a multiple, not 3"));
        assert!(message(Grading::Breakpoints(vec![0.0, 1e-9, 2.0])).contains("at most 1e6"));
    }
}
