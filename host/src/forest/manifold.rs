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
        match self {
            Self::Spherical { center } => center + spherical_mean(|i| points[i] - center, weights),
            Self::Cylindrical => {
                let z = points.iter().zip(weights).map(|(point, weight)| weight * point.z).sum();
                spherical_mean(|i| points[i].with_z(0.0), weights).with_z(z)
            }
            Self::Projected(project) => project(linear_mean(points, weights)),
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

/// Around the origin: the direction `q` with `sum_i w_i log_q(d_i) = 0`, by a fixed-point iteration that starts at the mean of
/// the directions. `log_q(d)` is tangential at `q`, points to `d`, and is as long as the arc.
fn spherical_mean(point: impl Fn(usize) -> DVec3, weights: &[f64]) -> DVec3 {
    const MOST_STEPS: usize = 50;
    let terms = || (0..weights.len()).map(|i| (point(i), weights[i]));
    let radius: f64 = terms().map(|(point, weight)| weight * point.length()).sum();
    let mut mean = terms().map(|(point, weight)| weight * point.normalize_or_zero()).sum::<DVec3>().normalize_or_zero();
    for _ in 0..MOST_STEPS {
        let step: DVec3 = terms().map(|(point, weight)| weight * logarithm(mean, point.normalize_or_zero())).sum();
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
