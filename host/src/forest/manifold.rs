//! Curves, surfaces and volumes on which new points lie.

use super::spherical::Directions;
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
        self.means(points, weights, &mut mean);
        mean[0]
    }

    /// Means of the same points, each with a row of weights of its own.
    pub(super) fn means(&self, points: &[DVec3], weights: &[f64], means: &mut [DVec3]) {
        let rows = || weights.chunks_exact(points.len());
        match self {
            Self::Spherical { center } => {
                let around = Directions::new(points.iter().map(|point| point - center));
                around.means(weights, |row, mean| means[row] = center + mean);
            }
            Self::Cylindrical => {
                let around = Directions::new(points.iter().map(|point| point.with_z(0.0)));
                around.means(weights, |row, mean| means[row] = mean);
                for (mean, weights) in means.iter_mut().zip(rows()) {
                    mean.z = points.iter().zip(weights).map(|(point, weight)| weight * point.z).sum();
                }
            }
            Self::Projected(project) => {
                let projected = rows().map(|weights| project(linear_mean(points, weights)));
                means.iter_mut().zip(projected).for_each(|(mean, projected)| *mean = projected);
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
