//! Curves, surfaces and volumes on which new points lie.

use glam::DVec3;
use std::fmt;
use std::sync::Arc;

/// Where the points of an edge, a face or a cell lie: what the mean of some of its points is.
#[derive(Clone)]
pub enum Manifold {
    /// Spheres around a point, in 2D circles: the mean has the mean distance to the center, and the mean direction on the unit
    /// sphere (Buss and Fillmore, *ACM Transactions on Graphics* 20, 2001, 95-126). Between two points of a sphere that is the
    /// arc of the great circle.
    Spherical {
        /// The center.
        center: DVec3,
    },
    /// Cylinders around the axis `x = y = 0`: in x and y as circles around it, in z linear.
    Cylindrical,
    /// The mean of the coordinates, moved to the manifold by a function.
    Projected(Arc<dyn Fn(DVec3) -> DVec3 + Send + Sync>),
}

impl Manifold {
    /// The mean with weights, whose sum is 1.
    pub fn mean(&self, points: &[DVec3], weights: &[f64]) -> DVec3 {
        let mut mean = [DVec3::ZERO];
        self.means(points, std::iter::once(weights), &mut mean);
        mean[0]
    }

    /// Means of the same points, each with weights of its own.
    pub(super) fn means<'a>(&self, points: &[DVec3], weights: impl Iterator<Item = &'a [f64]>, means: &mut [DVec3]) {
        let means = means.iter_mut().zip(weights);
        match self {
            Self::Spherical { center } => {
                let around: Vec<_> = points.iter().map(|point| Spherical::new(point - center)).collect();
                means.for_each(|(mean, weights)| *mean = center + spherical_mean(&around, weights));
            }
            Self::Cylindrical => {
                let around: Vec<_> = points.iter().map(|point| Spherical::new(point.with_z(0.0))).collect();
                means.for_each(|(mean, weights)| {
                    let z = points.iter().zip(weights).map(|(point, weight)| weight * point.z).sum();
                    *mean = spherical_mean(&around, weights).with_z(z);
                });
            }
            Self::Projected(project) => {
                means.for_each(|(mean, weights)| *mean = project(linear_mean(points, weights)));
            }
        }
    }
}

impl fmt::Debug for Manifold {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Spherical { center } => write!(f, "Spherical {{ center: {center} }}"),
            Self::Cylindrical => f.write_str("Cylindrical"),
            Self::Projected(_) => f.write_str("Projected(..)"),
        }
    }
}

/// `sum_i w_i x_i`.
pub(super) fn linear_mean(points: &[DVec3], weights: &[f64]) -> DVec3 {
    points.iter().zip(weights).map(|(&point, &weight)| weight * point).sum()
}

/// A point by its distance from the origin and its direction.
struct Spherical {
    distance: f64,
    direction: DVec3,
}

impl Spherical {
    fn new(point: DVec3) -> Self {
        Self { distance: point.length(), direction: point.normalize_or_zero() }
    }
}

/// Around the origin: the direction `q` with `sum_i w_i log_q(d_i) = 0`, by a fixed-point iteration that starts at the mean of
/// the directions. `log_q(d)` is tangential at `q`, points to `d`, and is as long as the arc.
fn spherical_mean(points: &[Spherical], weights: &[f64]) -> DVec3 {
    const MOST_STEPS: usize = 50;
    let terms = || points.iter().zip(weights);
    let radius: f64 = terms().map(|(point, weight)| weight * point.distance).sum();
    let mut mean = terms().map(|(point, &weight)| weight * point.direction).sum::<DVec3>().normalize_or_zero();
    for _ in 0..MOST_STEPS {
        let step: DVec3 = terms().map(|(point, &weight)| weight * logarithm(mean, point.direction)).sum();
        let length = step.length();
        mean = (mean * length.cos() + step.normalize_or_zero() * length.sin()).normalize_or_zero();
        if length < 1e-15 {
            break;
        }
    }
    radius * mean
}

fn logarithm(from: DVec3, to: DVec3) -> DVec3 {
    let tangential = to - to.dot(from) * from;
    let (sine, cosine) = (tangential.length(), to.dot(from));
    if sine == 0.0 { DVec3::ZERO } else { tangential * (sine.atan2(cosine) / sine) }
}
