//! Means of points on spheres, several with weights of their own at a time.

use glam::DVec3;
use pulp::{Arch, NullaryFnOnce};
use std::array::from_fn;

/// Means that are computed side by side.
const LANES: usize = 8;

type Lanes = [f64; LANES];

/// Points by their distances from the origin and their directions.
pub(super) struct Directions {
    distances: Vec<f64>,
    directions: Vec<DVec3>,
}

impl Directions {
    pub fn new(points: impl Iterator<Item = DVec3> + Clone) -> Self {
        let distances = points.clone().map(DVec3::length).collect();
        Self { distances, directions: points.map(DVec3::normalize_or_zero).collect() }
    }

    /// Calls `set` with the number of each mean and the mean: for one row of weights after the other, whose sum is 1, the point with the
    /// mean distance and the direction `q` with `sum_i w_i log_q(d_i) = 0`. `log_q(d)` is tangential at `q`, points to `d`, and is as long
    /// as the arc.
    ///
    /// That is found by a fixed-point iteration that starts at the mean of the directions.
    pub fn means(&self, weights: &[f64], mut set: impl FnMut(usize, DVec3)) {
        let count = self.directions.len();
        let rows = weights.len() / count;
        let arch = Arch::new();
        let mut in_lanes = vec![[0.0; LANES]; count];
        for first in (0..rows).step_by(LANES) {
            for (i, weights_of_point) in in_lanes.iter_mut().enumerate() {
                // Behind the last row it is repeated.
                *weights_of_point = from_fn(|lane| weights[(first + lane).min(rows - 1) * count + i]);
            }
            let [x, y, z] = arch.dispatch(InLanes { points: self, weights: &in_lanes });
            for lane in 0..LANES.min(rows - first) {
                set(first + lane, DVec3::new(x[lane], y[lane], z[lane]));
            }
        }
    }

    /// `sum_i w_i log_q(d_i)`.
    #[inline(always)]
    fn step(&self, weights: &[Lanes], mean: &[Lanes; 3]) -> [Lanes; 3] {
        let mut step = [[0.0; LANES]; 3];
        for (weight, direction) in weights.iter().zip(&self.directions) {
            let cosine: Lanes = dot(&from_fn(|d| [direction[d]; LANES]), mean);
            let tangential: [Lanes; 3] = from_fn(|d| from_fn(|lane| direction[d] - cosine[lane] * mean[d][lane]));
            // Of the sine: the tangential part is as long.
            let square = dot(&tangential, &tangential);
            let mut factor = square.map(|y| series(&ARC, y));
            for lane in (0..LANES).filter(|&lane| square[lane] > LIMIT || cosine[lane] < 0.0) {
                let sine = square[lane].sqrt();
                factor[lane] = if sine > 0.0 { sine.atan2(cosine[lane]) / sine } else { 0.0 };
            }
            step = from_fn(|d| from_fn(|lane| step[d][lane] + weight[lane] * factor[lane] * tangential[d][lane]));
        }
        step
    }
}

/// Means of the same points side by side.
struct InLanes<'a> {
    points: &'a Directions,
    /// Of each point.
    weights: &'a [Lanes],
}

impl NullaryFnOnce for InLanes<'_> {
    type Output = [Lanes; 3];

    #[inline(always)]
    fn call(self) -> [Lanes; 3] {
        const MOST_STEPS: usize = 50;
        let Self { points, weights } = self;
        let (mut radius, mut mean) = ([0.0; LANES], [[0.0; LANES]; 3]);
        for ((weight, direction), distance) in weights.iter().zip(&points.directions).zip(&points.distances) {
            radius = from_fn(|lane| radius[lane] + weight[lane] * distance);
            mean = from_fn(|d| from_fn(|lane| mean[d][lane] + weight[lane] * direction[d]));
        }
        mean = normalized(mean);
        for _ in 0..MOST_STEPS {
            let step = points.step(weights, &mean);
            let square = dot(&step, &step);
            let mut factors: [Lanes; 2] = [square.map(|y| series(&COSINE, y)), square.map(|y| series(&SINE, y))];
            for lane in (0..LANES).filter(|&lane| square[lane] > LIMIT) {
                let length = square[lane].sqrt();
                (factors[0][lane], factors[1][lane]) = (length.cos(), length.sin() / length);
            }
            let [cosine, sine] = factors;
            mean = normalized(from_fn(|d| from_fn(|lane| mean[d][lane] * cosine[lane] + step[d][lane] * sine[lane])));
            if square.iter().all(|&square| square < 1e-30) {
                break;
            }
        }
        mean.map(|mean| from_fn(|lane| radius[lane] * mean[lane]))
    }
}

#[inline(always)]
fn dot(a: &[Lanes; 3], b: &[Lanes; 3]) -> Lanes {
    from_fn(|lane| a[0][lane] * b[0][lane] + a[1][lane] * b[1][lane] + a[2][lane] * b[2][lane])
}

/// Zero if the length is.
#[inline(always)]
fn normalized(vectors: [Lanes; 3]) -> [Lanes; 3] {
    let square = dot(&vectors, &vectors);
    let scale: Lanes = square.map(|square| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 });
    vectors.map(|vector| from_fn(|lane| scale[lane] * vector[lane]))
}

/// Squares up to which the series below are exact but for rounding.
const LIMIT: f64 = 1.0 / 16.0;

/// `asin(x) / x` in powers of `x²`: `c_k = (2k)! / (4^k k!² (2k + 1))`.
const ARC: [f64; 13] = {
    let (mut coefficients, mut product, mut k) = ([0.0; 13], 1.0, 0);
    while k < 13 {
        coefficients[k] = product / (2 * k + 1) as f64;
        product *= (2 * k + 1) as f64 / (2 * k + 2) as f64;
        k += 1;
    }
    coefficients
};

/// `cos x` and `sin(x) / x` in powers of `x²`.
const COSINE: [f64; 8] = alternating(1);
const SINE: [f64; 8] = alternating(2);

const fn alternating(first: usize) -> [f64; 8] {
    let (mut coefficients, mut next, mut k) = ([0.0; 8], 1.0, 0);
    while k < 8 {
        coefficients[k] = next;
        next /= -(((2 * k + first) * (2 * k + first + 1)) as f64);
        k += 1;
    }
    coefficients
}

/// `sum_k c_k y^k`.
#[inline(always)]
fn series(coefficients: &[f64], y: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * y + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_the_functions() {
        for i in 0..=100 {
            let x = 0.25 * f64::from(i) / 100.0;
            let y = x * x;
            let close =
                |found: f64, expected: f64| assert!((found - expected).abs() < 4e-16, "{x}: {found} {expected}");
            close(x * series(&ARC, y), x.asin());
            close(series(&COSINE, y), x.cos());
            close(x * series(&SINE, y), x.sin());
        }
    }

    /// By the same iteration with functions of the library, near and far.
    #[test]
    fn means_are_those_of_one_point_after_the_other() {
        let log = |q: DVec3, d: DVec3| {
            let tangential = d - d.dot(q) * q;
            let sine = tangential.length();
            if sine == 0.0 { DVec3::ZERO } else { tangential * (sine.atan2(d.dot(q)) / sine) }
        };
        for spread in [0.01, 0.2, 1.0] {
            let point = |i: usize| {
                (1.0 + 0.1 * i as f64) * DVec3::new(1.0, spread * (i as f64).sin(), spread * (i as f64).cos())
            };
            let points: Vec<DVec3> = (0..8).map(point).collect();
            let weights: Vec<f64> = (0..19)
                .flat_map(|row| {
                    let weights: Vec<f64> = (0..8).map(|i| 1.0 + ((row * 8 + i) as f64).sin()).collect();
                    let sum: f64 = weights.iter().sum();
                    weights.into_iter().map(move |weight| weight / sum)
                })
                .collect();
            let mut found = vec![DVec3::ZERO; 19];
            Directions::new(points.iter().copied()).means(&weights, |row, mean| found[row] = mean);
            for (mean, weights) in found.iter().zip(weights.chunks_exact(8)) {
                let terms = || points.iter().zip(weights);
                let radius: f64 = terms().map(|(point, weight)| weight * point.length()).sum();
                assert!((mean.length() / radius - 1.0).abs() < 1e-15);
                let q = mean.normalize();
                let step: DVec3 = terms().map(|(point, &weight)| weight * log(q, point.normalize())).sum();
                assert!(step.length() < 1e-15, "{spread}: {step}");
            }
        }
    }
}
