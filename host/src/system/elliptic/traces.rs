//! Functions and mappings on the faces of cells: values and derivatives at the points of Gauss's rule.

use super::metric::contract;
use crate::fe::{Element, Quadrature};
use crate::forest::Part;
use std::ops::{Add, Mul};

/// The points of Gauss's rule on faces, or on a half or a quarter of these.
pub(super) struct Traces {
    dim: usize,
    /// Nodes in each direction.
    n: usize,
    /// Gauss points in each direction.
    points: usize,
    /// Values and derivatives at the lower and the upper end.
    ends: [[Vec<f64>; 2]; 2],
    /// By rows, values and derivatives at the points of each [`Part`] of a direction.
    along: [[Vec<f64>; 2]; 3],
}

/// A face of a cell, and the part of it that points are on.
#[derive(Clone, Copy)]
pub(super) struct OnFace {
    pub face: u8,
    pub parts: [Part; 2],
}

impl Traces {
    /// Of an element in so many dimensions.
    pub fn new(dim: usize, element: &Element, rule: &Quadrature) -> Self {
        let along = [(0.0, 1.0), (0.0, 0.5), (0.5, 0.5)].map(|(begin, length)| {
            let points: Vec<f64> = rule.points.iter().map(|x| begin + length * x).collect();
            let rows = |row: &dyn Fn(f64) -> Vec<f64>| points.iter().flat_map(|&x| row(x)).collect();
            [rows(&|x| element.values(x)), rows(&|x| element.derivatives(x))]
        });
        let ends = [0.0, 1.0].map(|x| [element.values(x), element.derivatives(x)]);
        Self { dim, n: element.degree() + 1, points: rule.points.len(), ends, along }
    }

    /// For values at the nodes of a cell: at the points, the first direction of the face fastest, first the derivatives by the cell's
    /// coordinates, one after the other, and then the values. In 2D those by z are left empty.
    pub fn of<V>(&self, on: OnFace, nodes: &[V]) -> [Vec<V>; 4]
    where
        V: Copy + Default + Add<Output = V> + Mul<f64, Output = V>,
    {
        let normal = usize::from(on.face / 2);
        let [value, slope] = self.ends[usize::from(on.face % 2)].each_ref().map(|row| self.across(row, normal, nodes));
        let tangents = (0..self.dim).filter(|&d| d != normal);
        let mut traces = [Vec::new(), Vec::new(), Vec::new(), self.along(on.parts, None, &value)];
        traces[normal] = self.along(on.parts, None, &slope);
        tangents.enumerate().for_each(|(axis, d)| traces[d] = self.along(on.parts, Some(axis), &value));
        traces
    }

    /// Sums along the lines of a direction.
    fn across<V>(&self, row: &[f64], direction: usize, nodes: &[V]) -> Vec<V>
    where
        V: Copy + Default + Add<Output = V> + Mul<f64, Output = V>,
    {
        let inner = self.n.pow(direction as u32);
        let slices = nodes.chunks_exact(inner * self.n);
        let line = |slice: &[V], i: usize| {
            row.iter().enumerate().fold(V::default(), |sum, (j, &weight)| sum + slice[inner * j + i] * weight)
        };
        slices.flat_map(|slice| (0..inner).map(move |i| line(slice, i))).collect()
    }

    /// At the points of a face, from values at its nodes: values, or derivatives along one of its directions.
    fn along<V>(&self, parts: [Part; 2], slope: Option<usize>, on_face: &[V]) -> Vec<V>
    where
        V: Copy + Default + Add<Output = V> + Mul<f64, Output = V>,
    {
        let mut values = on_face.to_vec();
        for (axis, part) in parts.into_iter().enumerate().take(self.dim - 1) {
            let (matrix, inner) =
                (&self.along[part as usize][usize::from(slope == Some(axis))], self.points.pow(axis as u32));
            let mut next = Vec::with_capacity(values.len() / self.n * self.points);
            contract(matrix, self.n, inner, &values, &mut next);
            values = next;
        }
        values
    }
}
