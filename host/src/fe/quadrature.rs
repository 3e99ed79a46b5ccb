//! Gauss and Gauss-Lobatto points on `[0, 1]`.

use crate::error::{Error, Result};
use gauss_quad::GaussLegendre;
use std::num::NonZeroUsize;

/// Points and weights on `[0, 1]`: `∫ f ≈ sum_q weights[q] f(points[q])`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadrature {
    /// Ascending.
    pub points: Vec<f64>,
    /// Positive, with sum 1.
    pub weights: Vec<f64>,
}

impl Quadrature {
    /// Gauss's rule of `count` points, exact for polynomials of degree `2 count - 1`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `count` is zero.
    pub fn gauss(count: usize) -> Result<Self> {
        let count = NonZeroUsize::new(count).ok_or_else(|| Error::InvalidArgument {
            name: "count",
            value: count.to_string(),
            allowed: "at least 1".into(),
        })?;
        let rule = GaussLegendre::new(count);
        Ok(Self {
            points: rule.nodes().map(|x| 0.5 * (1.0 + x)).collect(),
            weights: rule.weights().map(|w| 0.5 * w).collect(),
        })
    }
}

/// The `degree + 1` Gauss-Lobatto points of `[0, 1]`: both ends, and the zeros of the derivative of Legendre's
/// polynomial `P_k`; symmetric about 1/2 to the last bit. `degree` is at least 1.
///
/// Newton's method for `(1 - x²) P_k'(x)`, whose step is `(x P_k - P_{k-1}) / ((k + 1) P_k)`, from Chebyshev's points
/// (Canuto, Hussaini, Quarteroni, Zang, *Spectral Methods*, 2006, section 2.3).
pub fn gauss_lobatto_points(degree: usize) -> Vec<f64> {
    let k = degree.max(1);
    let mut points = vec![0.0; k + 1];
    points[k] = 1.0;
    for i in 1..k.div_ceil(2) {
        let mut x = (std::f64::consts::PI * i as f64 / k as f64).cos();
        for _ in 0..NEWTON_STEPS {
            let (value, previous) = legendre(k, x);
            x -= (x * value - previous) / ((k + 1) as f64 * value);
        }
        // In this order both subtractions from 1 are exact.
        points[k - i] = 0.5 * (1.0 + x);
        points[i] = 1.0 - points[k - i];
    }
    if k.is_multiple_of(2) {
        points[k / 2] = 0.5;
    }
    points
}

/// Convergence is quadratic and Chebyshev's points are off by less than 0.1: eight steps are more than enough.
const NEWTON_STEPS: usize = 8;

/// `P_k(x)` and `P_{k-1}(x)` for `k >= 1`, by the three-term recurrence.
fn legendre(k: usize, x: f64) -> (f64, f64) {
    let (mut previous, mut value) = (1.0, x);
    for n in 1..k {
        let n = n as f64;
        (previous, value) = (value, ((2.0 * n + 1.0) * x * value - n * previous) / (n + 1.0));
    }
    (value, previous)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn gauss_integrates_polynomials_exactly() {
        for count in 1..=13 {
            let rule = Quadrature::gauss(count).unwrap();
            for power in 0..2 * count {
                let sum: f64 = rule.points.iter().zip(&rule.weights).map(|(x, w)| w * x.powi(power as i32)).sum();
                assert_relative_eq!(sum, 1.0 / (power + 1) as f64, max_relative = 1e-14);
            }
            let power = 2 * count;
            let sum: f64 = rule.points.iter().zip(&rule.weights).map(|(x, w)| w * x.powi(power as i32)).sum();
            let error = (sum - 1.0 / (power + 1) as f64).abs();
            assert!(count > 6 || error > 1e-9, "{count} points must not be exact for degree {power}");
        }
        assert!(matches!(Quadrature::gauss(0), Err(Error::InvalidArgument { .. })));
    }

    #[test]
    fn gauss_lobatto_points_are_the_known_ones() {
        let on_unit = |x: f64| 0.5 * (1.0 + x);
        let known: [(usize, &[f64]); 5] = [
            (1, &[-1.0, 1.0]),
            (2, &[-1.0, 0.0, 1.0]),
            (3, &[-1.0, -(0.2_f64.sqrt()), 0.2_f64.sqrt(), 1.0]),
            (4, &[-1.0, -((3.0_f64 / 7.0).sqrt()), 0.0, (3.0_f64 / 7.0).sqrt(), 1.0]),
            (6, &[-1.0, -0.830_223_896_278_567, -0.468_848_793_470_714_2, 0.0]),
        ];
        for (degree, points) in known {
            let found = gauss_lobatto_points(degree);
            assert_eq!(found.len(), degree + 1);
            for (&x, &expected) in found.iter().zip(points) {
                assert!((x - on_unit(expected)).abs() < 2e-16, "degree {degree}: {x} != {}", on_unit(expected));
            }
        }
    }

    #[test]
    fn gauss_lobatto_points_are_zeros_symmetric_and_ascending() {
        for k in 1..=12 {
            let points = gauss_lobatto_points(k);
            assert!(points.is_sorted());
            for i in 0..=k {
                assert_eq!(points[i], 1.0 - points[k - i]);
                let x = 2.0 * points[i] - 1.0;
                let (value, previous) = legendre(k, x);
                assert!((k as f64 * (x * value - previous)).abs() < 1e-14, "degree {k}: (1 - x²) P_k' at {x}");
            }
        }
    }
}
