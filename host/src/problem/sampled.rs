//! Load vectors and errors of functions that a machine evaluates itself, in all quadrature points.
//!
//! The points of all cells are a tensor grid. A machine evaluates a [`Program`] there and applies 1D matrices along the axes, which
//! take values at the points to integrals against the functions of the nodes, or nodal values to values at the points. It does so for
//! layers of cells along the last direction, so many as fit into a part of its memory. Quadrature is that of
//! [`load_vector`](super::load_vector) and [`error_norms`](super::error_norms).

use super::boundary::add_boundary_integrals;
use super::load::load_vector;
use super::norms::ErrorNorms;
use super::sum_factorization::{Bases, Basis};
use crate::backend::{AxisMatrix, Backend, Program, Scalar, Tensors, WeightedGrid};
use crate::error::Result;
use crate::memory;
use crate::space::{Axis, Space};
use std::any::Any;
use std::ops::Range;

/// Bytes of the layers that are worked on at a time: many times what keeps a GPU busy.
const MOST_BYTES: u64 = 1 << 30;

/// The load vector `b_i = ∫ f φ_i`, with boundary integrals if there are any, of functions that are programs: a machine evaluates it in
/// its own memory.
#[derive(Clone, Debug)]
pub struct SampledLoad {
    space: Space,
    f: Program,
    boundary: Option<Boundary>,
}

/// `∫ g ψ_i` over the boundary, as [`add_boundary_integrals`] takes it.
#[derive(Clone, Debug)]
struct Boundary {
    normal: Vec<Vec<f64>>,
    g: Program,
}

impl SampledLoad {
    /// `∫ f φ_i`.
    pub fn new(space: &Space, f: Program) -> Self {
        Self { space: space.clone(), f, boundary: None }
    }

    /// With the integrals of `g` over the boundary; `normal` is as [`add_boundary_integrals`] takes it.
    pub(crate) fn with_boundary(self, normal: Vec<Vec<f64>>, g: Program) -> Self {
        Self { boundary: Some(Boundary { normal, g }), ..self }
    }

    /// Entries of the vector.
    pub(crate) fn len(&self) -> usize {
        self.space.storage()
    }

    /// On the host.
    ///
    /// # Errors
    /// Those of [`load_vector`], with the point where a function is not finite.
    pub(crate) fn values(&self) -> Result<Vec<f64>> {
        let mut values = load_vector(&self.space, &self.f)?;
        if let Some(Boundary { normal, g }) = &self.boundary {
            add_boundary_integrals(&self.space, normal, g, &mut values)?;
        }
        Ok(values)
    }

    /// In a vector of zeros on a machine, by the machine if it can.
    ///
    /// # Errors
    /// Those of [`Self::values`] and of the machine.
    pub(crate) fn write<B: Backend, T: Scalar>(&self, backend: &B, b: &mut B::Vector<T>) -> Result<()> {
        if self.evaluate(backend, b)? {
            return Ok(());
        }
        // The host says where a value is not finite, if one is.
        backend.upload(&memory::convert::<f64, T>(self.values()?)?, b)
    }

    /// In a vector of zeros on a machine; whether it has the memory for it and all entries are finite.
    ///
    /// # Errors
    /// Those of the machine.
    fn evaluate<B: Backend, T: Scalar>(&self, backend: &B, b: &mut B::Vector<T>) -> Result<bool> {
        if let Some(b) = (b as &mut dyn Any).downcast_mut::<B::Vector<f64>>() {
            return self.evaluate_in_f64(backend, b, MOST_BYTES);
        }
        if backend.info().memory_free / 2 < (self.len() * size_of::<f64>()) as u64 {
            return Ok(false);
        }
        let mut sum = backend.zeros::<f64>(self.len())?;
        let is_finite = self.evaluate_in_f64(backend, &mut sum, MOST_BYTES)?;
        backend.convert(1.0, &sum, b)?;
        Ok(is_finite)
    }

    fn evaluate_in_f64<B: Backend>(&self, backend: &B, b: &mut B::Vector<f64>, most: u64) -> Result<bool> {
        let space = &self.space;
        let bases = Bases::new(space, Basis::of_loads)?;
        let line = |d: usize| Line::new(&space.axes()[d], &bases.0[d], space.axes()[d].unknown_nodes());
        let lines: Vec<_> = (0..space.dim()).map(line).collect();
        if !add_integrals(backend, &self.f, &lines, b, most)? {
            return Ok(false);
        }
        if let Some(Boundary { normal, g }) = &self.boundary {
            for (direction, normal) in normal.iter().enumerate().filter(|(_, normal)| !normal.is_empty()) {
                for side in 0..2 {
                    let mut lines = lines.clone();
                    lines[direction] =
                        Line::at_end(&space.axes()[direction], space.mesh().lengths()[direction], side, normal);
                    if !add_integrals(backend, g, &lines, b, most)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(backend.dot(b, b)?.is_finite())
    }
}

/// Norms of `u_h - u` for `u_h` in storage order on a machine; none if one of them is not finite, or if the machine lacks the memory.
///
/// # Errors
/// Those of the machine.
pub(crate) fn sampled_error_norms<B: Backend>(
    backend: &B,
    space: &Space,
    u_h: &B::Vector<f64>,
    u: &Program,
) -> Result<Option<ErrorNorms>> {
    error_norms_by(backend, space, u_h, u, MOST_BYTES)
}

/// By layers of so many bytes.
fn error_norms_by<B: Backend>(
    backend: &B,
    space: &Space,
    u_h: &B::Vector<f64>,
    u: &Program,
    most: u64,
) -> Result<Option<ErrorNorms>> {
    let bases = Bases::new(space, Basis::of_norms)?;
    let line = |(axis, basis): (&Axis, &Basis)| Line::new(axis, basis, 0..axis.stored_nodes()).with_roots();
    let lines: Vec<_> = space.axes().iter().zip(&bases.0).map(line).collect();
    let (last, others) = lines.split_last().expect("a space has axes");
    let entries: usize = others.iter().map(|line| line.points.len()).product();
    let Some(slab) = slab(backend, last, entries * lines.len(), most) else { return Ok(None) };
    let mut buffers: Vec<_> = lines.iter().map(|_| backend.zeros::<f64>(slab * entries)).collect::<Result<_>>()?;
    let mut matrices: Vec<_> =
        others.iter().map(|line| line.matrices(backend, 0..line.points.len(), 0..line.nodes)).collect::<Result<_>>()?;
    let mut sums = [0.0; 4];
    for points in last.slabs(slab) {
        if points.len() < slab {
            // What is behind the last points adds nothing.
            backend.set_zero(&mut buffers[others.len()])?;
        }
        let nodes = last.nodes_at(points.clone());
        matrices.push(last.matrices(backend, points.clone(), nodes.clone())?);
        let mut sizes: Vec<_> = others.iter().map(|line| line.nodes).collect();
        let first = nodes.start * sizes.iter().product::<usize>();
        sizes.push(nodes.len());
        let grid = grid(&lines, points)?;
        Differences { backend, matrices: &matrices, grid: &grid, u }.add(
            None,
            sizes,
            (u_h, first),
            &mut buffers,
            &mut sums,
        )?;
        matrices.pop();
    }
    if sums.iter().any(|sum| !sum.is_finite()) {
        return Ok(None);
    }
    Ok(Some(ErrorNorms { l2: sums[0].sqrt(), h1: sums[1..].iter().sum::<f64>().sqrt() }))
}

/// Squares of differences to `u` in the points of a grid.
struct Differences<'a, B: Backend> {
    backend: &'a B,
    /// Of each axis: to values and to derivatives, times the roots of weights.
    matrices: &'a [[B::AxisMatrix<f64>; 2]],
    /// With the roots of weights.
    grid: &'a WeightedGrid,
    u: &'a Program,
}

impl<B: Backend> Differences<'_, B> {
    /// Adds the squares for values, and for derivatives along each axis: an axis after the other, so that what they have in common is
    /// computed once. Those before buffer 0 are done; `x` has so many entries along the axes, from one on.
    fn add(
        &self,
        derivative: Option<usize>,
        sizes: Vec<usize>,
        (x, from): (&B::Vector<f64>, usize),
        buffers: &mut [B::Vector<f64>],
        sums: &mut [f64; 4],
    ) -> Result<()> {
        let backend = self.backend;
        let Some((y, buffers)) = buffers.split_first_mut() else { return Ok(()) };
        let axis = self.matrices.len() - 1 - buffers.len();
        for (kind, matrix) in self.matrices[axis].iter().enumerate() {
            let derivative = match (kind, derivative) {
                (0, derivative) => derivative,
                (_, None) => Some(axis),
                // A second derivative.
                (_, Some(_)) => continue,
            };
            backend.apply_along_axis(matrix, Tensors { from, ..Tensors::across(&sizes, axis) }, x, y, false)?;
            if buffers.is_empty() {
                backend.evaluate(self.u, self.grid, derivative, y, true)?;
                sums[derivative.map_or(0, |d| d + 1)] += backend.dot(y, y)?;
            } else {
                let mut sizes = sizes.clone();
                sizes[axis] = self.grid.sizes()[axis];
                self.add(derivative, sizes, (y, 0), buffers, sums)?;
            }
        }
        Ok(())
    }
}

/// Adds `∫ f φ_i` by the points and the functions of lines, of those in the last direction slab by slab; whether the machine has the
/// memory.
fn add_integrals<B: Backend>(
    backend: &B,
    f: &Program,
    lines: &[Line],
    b: &mut B::Vector<f64>,
    most: u64,
) -> Result<bool> {
    let (last, others) = lines.split_last().expect("a space has axes");
    let entries: usize = others.iter().map(|line| line.points.len().max(line.nodes)).product();
    let Some(slab) = slab(backend, last, 2 * entries, most) else { return Ok(false) };
    let (mut x, mut y) = (backend.zeros::<f64>(slab * entries)?, backend.zeros::<f64>(slab * entries)?);
    let test = |line: &Line, points: Range<usize>, nodes: Range<usize>| {
        backend.axis_matrix::<f64>(&line.matrix(points, nodes, 0).transposed())
    };
    let tests: Vec<_> =
        others.iter().map(|line| test(line, 0..line.points.len(), 0..line.nodes)).collect::<Result<_>>()?;
    for points in last.slabs(slab) {
        let grid = grid(lines, points.clone())?;
        backend.evaluate(f, &grid, None, &mut x, false)?;
        let mut sizes = grid.sizes();
        for (d, test) in tests.iter().enumerate() {
            backend.apply_along_axis(test, Tensors::across(&sizes, d), &x, &mut y, false)?;
            std::mem::swap(&mut x, &mut y);
            sizes[d] = others[d].nodes;
        }
        let nodes = last.nodes_at(points.clone());
        let inner = sizes[..others.len()].iter().product();
        let place = Tensors { inner, outer: 1, from: 0, to: nodes.start * inner };
        backend.apply_along_axis(&test(last, points, nodes)?, place, &x, b, true)?;
    }
    Ok(true)
}

/// All points of lines, but of the last one only some.
fn grid(lines: &[Line], points: Range<usize>) -> Result<WeightedGrid> {
    let axis = |(d, line): (usize, &'_ Line)| {
        let points = if d + 1 == lines.len() { points.clone() } else { 0..line.points.len() };
        [line.points[points.clone()].to_vec(), line.weights[points].to_vec()]
    };
    let axes: Vec<_> = lines.iter().enumerate().map(axis).collect();
    WeightedGrid::new(&axes.iter().map(|axis| axis.each_ref().map(Vec::as_slice)).collect::<Vec<_>>())
}

/// Points of a slab along the last direction, with so many entries of `f64` a point, and at most so many bytes but for one layer of
/// cells; none if the machine lacks the memory.
fn slab<B: Backend>(backend: &B, last: &Line, entries: usize, most: u64) -> Option<usize> {
    let layer = (last.layer * entries * size_of::<f64>()).max(1) as u64;
    let room = backend.info().memory_free / 2;
    (layer <= room).then(|| {
        let layers = (room.min(most) / layer).max(1) as usize;
        last.points.len().min(last.layer.saturating_mul(layers))
    })
}

/// Quadrature points along an axis, and the functions of its nodes there.
#[derive(Clone)]
struct Line {
    points: Vec<f64>,
    weights: Vec<f64>,
    /// Of each point: nodes with the values of their functions, and with their derivatives.
    functions: Vec<[Vec<(usize, f64)>; 2]>,
    /// Stored nodes.
    nodes: usize,
    /// Points of a cell.
    layer: usize,
}

impl Line {
    /// The points of a basis, and the functions of some nodes.
    fn new(axis: &Axis, basis: &Basis, nodes: Range<usize>) -> Self {
        let (tables, layer) = ([&basis.values, &basis.derivatives], basis.points());
        let at = |cell: usize, q: usize| {
            let first = cell * axis.stride();
            [0, 1].map(|kind| {
                let slope = if kind == 0 { 1.0 } else { 1.0 / basis.factor(cell) };
                let row = tables[kind].iter_rows().nth(q).unwrap_or_default();
                let functions = row.iter().enumerate().map(|(j, value)| (first + j, slope * value));
                functions.filter(|(node, _)| nodes.contains(node)).collect()
            })
        };
        let places = || (0..axis.cells()).flat_map(|cell| (0..layer).map(move |q| (cell, q)));
        Self {
            points: basis.points_in_a_row(axis.cells()).collect(),
            weights: places().map(|(cell, q)| basis.factor(cell) * basis.rule.weights[q]).collect(),
            functions: places().map(|(cell, q)| at(cell, q)).collect(),
            nodes: axis.stored_nodes(),
            layer,
        }
    }

    /// An end of the axis, the lower one (0) or the upper one (1), with these numbers in place of the functions of the nodes from there
    /// on.
    fn at_end(axis: &Axis, length: f64, side: usize, normal: &[f64]) -> Self {
        let last = axis.unknown_nodes().end - 1;
        let node = |t: usize| if side == 0 { t } else { last - t };
        let functions = normal.iter().enumerate().map(|(t, &factor)| (node(t), factor));
        Self {
            points: vec![side as f64 * length],
            weights: vec![1.0],
            functions: vec![[functions.filter(|(node, _)| axis.unknown_nodes().contains(node)).collect(), Vec::new()]],
            nodes: axis.stored_nodes(),
            layer: 1,
        }
    }

    /// With the roots of weights, and functions times these.
    fn with_roots(mut self) -> Self {
        for (weight, functions) in self.weights.iter_mut().zip(&mut self.functions) {
            *weight = weight.sqrt();
            functions.iter_mut().flatten().for_each(|(_, value)| *value *= *weight);
        }
        self
    }

    /// Points by so many at a time.
    fn slabs(&self, slab: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let points = self.points.len();
        (0..points).step_by(slab.max(1)).map(move |first| first..points.min(first + slab))
    }

    /// The nodes whose functions some points see.
    fn nodes_at(&self, points: Range<usize>) -> Range<usize> {
        let nodes = || self.functions[points.clone()].iter().flat_map(|[values, _]| values).map(|&(node, _)| node);
        nodes().min().unwrap_or(0)..nodes().max().map_or(0, |node| node + 1)
    }

    /// From nodal values to values (`kind` 0) or derivatives (1) at points.
    fn matrix(&self, points: Range<usize>, nodes: Range<usize>, kind: usize) -> AxisMatrix<f64> {
        let row = |functions: &[Vec<(usize, f64)>; 2]| {
            functions[kind].iter().map(|&(node, value)| (node - nodes.start, value)).collect::<Vec<_>>()
        };
        let rows: Vec<_> = self.functions[points].iter().map(row).collect();
        AxisMatrix::from_rows(nodes.len(), &rows)
    }

    /// Both on a machine.
    fn matrices<B: Backend>(
        &self,
        backend: &B,
        points: Range<usize>,
        nodes: Range<usize>,
    ) -> Result<[B::AxisMatrix<f64>; 2]> {
        let matrix = |kind| backend.axis_matrix::<f64>(&self.matrix(points.clone(), nodes.clone(), kind));
        Ok([matrix(0)?, matrix(1)?])
    }
}

#[cfg(test)]
#[path = "sampled_tests.rs"]
mod tests;
