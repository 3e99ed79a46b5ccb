//! The operator on a CPU: cells side by side in SIMD lanes.

use super::Elliptic;
use super::cell::CellShape;
use super::level::CellOperator;
use super::mesh::{Mesh, Node};
use super::metric::{gauss_weights, words};
use super::robin::RobinRows;
use super::transposed::NONE;
use crate::backend::Scalar;
use crate::backend::cpu::Cpu;
use crate::error::{Result, invalid};
use crate::memory;
use crate::sync::lock;
use patchmg_cpu::{Finish, IndexedCells, IndexedKernels, Parts, Prepared, Sums, indexed_width};
use patchmg_device::elliptic::HangingLines;
use rayon::prelude::*;
use std::sync::{Arc, Mutex};

/// The same as [`CellOperator`].
pub(super) struct BatchedOperator<T> {
    mesh: Arc<Mesh>,
    shape: Arc<CellShape<T>>,
    kernels: Box<dyn IndexedKernels<T>>,
    /// How the metric lies in batches.
    lanes: Lanes,
    robin: Arc<RobinRows<T>>,
    /// Batches with cells of nodes that are smoothed, ascending, on which a vector that is zero elsewhere has a product. None if all
    /// batches have such nodes.
    smoothed: Option<Vec<u32>>,
    work: Mutex<Work<T>>,
}

/// What a product needs.
struct Work<T> {
    cells: IndexedCells<T>,
    /// Sums of parts.
    of_parts: Vec<T>,
}

impl<T: Scalar + Prepared> BatchedOperator<T> {
    /// Of an operator, with a term `s u` or without.
    pub fn new(cpu: &Cpu, operator: &CellOperator<T>, has_mass: bool) -> Result<Self> {
        let CellOperator { mesh, shape, metric, is_constant, robin, .. } = operator;
        let (cells, dim, nodes) = (mesh.cells(), mesh.dim(), mesh.cells().nodes_a_cell());
        let width = indexed_width::<T>(cpu.sweep().simd);
        let batches = cells.cells().div_ceil(width);
        let allowed = || format!("below {} for batches of {width} cells", u32::MAX);
        let places = batches * width * nodes;
        if places >= NONE as usize {
            return Err(invalid("the number of nodes of all cells", places, allowed()));
        }
        let mut numbers: Vec<u32> = memory::zeros(places)?;
        numbers.par_chunks_exact_mut(width * nodes).enumerate().for_each(|(batch, numbers)| {
            for (place, number) in numbers.iter_mut().enumerate() {
                let (node, cell) = (place / width, batch * width + place % width);
                *number = if cell < cells.cells() { cells.of(cell)[node] } else { NONE };
            }
        });
        memory::check(Parts::bytes(places, size_of::<T>()) as u64)?;
        let parts = Parts::new(&numbers, width * nodes, mesh.kinds().len());
        drop(numbers);
        let weights = if *is_constant { gauss_weights(dim, mesh.degree() + 1)? } else { Vec::new() };
        let lanes = Lanes { dim, nodes, width, has_mass };
        let mut in_lanes = memory::zeros(batches * lanes.words(&weights))?;
        lanes.set(metric, &weights, &mut in_lanes);
        let hanging = cells.hanging().iter().map(|lines| (lines.cell, HangingLines::new(lines.child, lines.along)));
        let kernels = T::indexed(&shape.matrices(mesh.degree()))
            .ok_or_else(|| invalid("degree", mesh.degree(), "1 to 8 in 2D, 1 to 6 in 3D"))?;
        Ok(Self {
            smoothed: batches_that_smooth(mesh, width),
            work: Mutex::new(Work {
                of_parts: memory::zeros(parts.terms())?,
                cells: IndexedCells {
                    parts,
                    metric: in_lanes,
                    has_mass,
                    weights: weights.into_iter().map(T::from_f64).collect(),
                    hanging: hanging.collect(),
                },
            }),
            mesh: mesh.clone(),
            shape: shape.clone(),
            kernels,
            lanes,
            robin: robin.clone(),
        })
    }

    pub fn shape(&self) -> &CellShape<T> {
        &self.shape
    }

    /// Takes another metric, that of each cell point after point, where it is not the same in whole cells.
    pub fn set_metric(&self, metric: &[T]) {
        self.lanes.set(metric, &[], &mut lock(&self.work).cells.metric);
    }

    /// `y = A x` at unknowns, 0 at other nodes.
    pub fn apply(&self, cpu: &Cpu, x: &[T], y: &mut [T]) {
        let kinds = self.mesh.kinds();
        self.sum(cpu, None, x, y, &|nodes, sums| {
            for (&node, sum) in nodes.iter().zip(sums) {
                *sum = if kinds[node as usize].is_unknown() { *sum } else { T::ZERO };
            }
        });
        self.robin.add(1.0, x, y, |node| kinds[node].is_unknown());
    }

    /// `r = b - A x` at unknowns, 0 at other nodes.
    pub fn residual(&self, cpu: &Cpu, b: &[T], x: &[T], r: &mut [T]) {
        self.residual_where(cpu, None, Node::is_unknown, [b, x], r);
    }

    /// `r = b - A x` at nodes that are smoothed, 0 at others before [`Mesh::smoothed_end`].
    pub fn smoothed_residual(&self, cpu: &Cpu, b: &[T], x: &[T], r: &mut [T]) {
        let r = &mut r[..self.mesh.smoothed_end()];
        self.residual_where(cpu, self.smoothed.as_deref(), |kind| kind == Node::Smoothed, [b, x], r);
    }

    /// The same as [`Self::residual`], for `x` that is zero where nothing is smoothed.
    pub fn residual_of_smoothed(&self, cpu: &Cpu, b: &[T], x: &[T], r: &mut [T]) {
        self.residual_where(cpu, self.smoothed.as_deref(), Node::is_unknown, [b, x], r);
    }

    fn residual_where(
        &self,
        cpu: &Cpu,
        batches: Option<&[u32]>,
        is_wanted: impl Fn(Node) -> bool + Sync,
        [b, x]: [&[T]; 2],
        r: &mut [T],
    ) {
        let kinds = self.mesh.kinds();
        self.sum(cpu, batches, x, r, &|nodes, sums| {
            for (&node, sum) in nodes.iter().zip(sums) {
                let node = node as usize;
                *sum = if is_wanted(kinds[node]) { b[node] - *sum } else { T::ZERO };
            }
        });
        self.robin.add(-1.0, x, r, |node| is_wanted(kinds[node]));
    }

    /// Sums over the cells of these batches, or of all, at the nodes below the length of `y`.
    fn sum(&self, cpu: &Cpu, batches: Option<&[u32]>, x: &[T], y: &mut [T], finish: Finish<T>) {
        let Work { cells, of_parts } = &mut *lock(&self.work);
        self.kernels.apply(cpu.sweep(), cells, batches, x, Sums { of_parts, y, finish });
    }
}

/// Batches of `width` cells with nodes that are smoothed; none if all are.
fn batches_that_smooth(mesh: &Mesh, width: usize) -> Option<Vec<u32>> {
    let cells = mesh.cells();
    let is_smoothed = |&node: &u32| mesh.kinds()[node as usize] == Node::Smoothed;
    let is_smoothed: Vec<bool> =
        (0..cells.cells()).into_par_iter().map(|cell| cells.of(cell).iter().any(is_smoothed)).collect();
    let of_batches = is_smoothed.chunks(width).enumerate();
    let batches: Vec<u32> =
        of_batches.filter(|(_, cells)| cells.contains(&true)).map(|(batch, _)| batch as u32).collect();
    (batches.len() < is_smoothed.len().div_ceil(width)).then_some(batches)
}

/// Bytes of the operator of a system.
pub(super) fn bytes<T>(system: &Elliptic) -> u64 {
    let Elliptic { mesh, equation, .. } = system;
    let places = mesh.cells().all().len();
    let words = words(mesh.dim()) - usize::from(!equation.reacts());
    (Parts::bytes(places, size_of::<T>()) + places * words * size_of::<T>()) as u64
}

/// How the metric of cells lies in batches.
#[derive(Clone, Copy)]
struct Lanes {
    dim: usize,
    nodes: usize,
    /// Cells of a batch.
    width: usize,
    has_mass: bool,
}

impl Lanes {
    fn kept(self) -> usize {
        words(self.dim) - usize::from(!self.has_mass)
    }

    /// Words of a batch; with weights each cell has those of a point.
    fn words(self, weights: &[f64]) -> usize {
        self.kept() * self.width * if weights.is_empty() { self.nodes } else { 1 }
    }

    /// The metric of each cell, point after point, as [`IndexedCells`] has it; with weights that of each cell's first point over its
    /// weight.
    fn set<T: Scalar>(self, metric: &[T], weights: &[f64], in_lanes: &mut [T]) {
        let (Self { dim, nodes, width, .. }, kept) = (self, self.kept());
        let (all, points) = (words(dim), if weights.is_empty() { nodes } else { 1 });
        let scale = weights.first().map_or(1.0, |weight| 1.0 / weight);
        in_lanes.par_chunks_exact_mut(self.words(weights)).enumerate().for_each(|(batch, in_lanes)| {
            for (cell, metric) in metric.chunks_exact(all * nodes).enumerate().skip(batch * width).take(width) {
                for (q, metric) in metric.chunks_exact(all).enumerate().take(points) {
                    for (word, &value) in metric.iter().enumerate().take(kept) {
                        in_lanes[(q * kept + word) * width + cell % width] = T::from_f64(scale * value.to_f64());
                    }
                }
            }
        });
    }
}
