//! What kernels of nonlinear equations take, on the host. Cells lie in groups as for the operator, whose metric they write.

use super::super::cell_metric::set_metric;
use super::super::interpolation::from_children;
use super::super::mesh::Mesh;
use super::super::metric::{Geometry, words};
use super::super::transfer::families;
use super::super::transposed::{NONE, Transposed};
use super::order::{Order, groups, number};
use super::tables::Sums;
use crate::backend::Scalar;
use crate::backend::cpu::parallel::try_map_chunks;
use crate::error::Result;
use crate::memory;
use glam::DMat3;
use nalgebra::DMatrix;
use patchmg_device::elliptic::{
    Diagonal, DiagonalHanging, Evaluate, EvaluateHanging, FluxPoints, Groups, Interpolate, InterpolateHanging, Metric,
    PowerLaw, STAYS,
};
use std::ops::Range;

/// The cells.
#[derive(Debug)]
pub(super) struct CellTables<T> {
    /// Groups without lines that hang, and with such lines.
    pub parts: [Range<usize>; 2],
    /// Those that each cell reads, without lines that hang by lines along the last direction, else by lines along x.
    pub nodes: Vec<u32>,
    /// Lines that hang, in the groups that have some.
    pub lines: Vec<u32>,
    /// Of local results, which lie as the nodes.
    pub sums: Sums,
    /// [`SquareMatrices`](patchmg_device::elliptic::SquareMatrices).
    pub squares: Vec<T>,
}

impl<T: Scalar> CellTables<T> {
    /// `gather` sums up at nodes what cells have, and `matrices` begins with the two 1D matrices of the operator.
    pub fn new(mesh: &Mesh, order: &Order, gather: &Transposed, matrices: &[T]) -> Result<Self> {
        let (groups, dim) = (groups(mesh), mesh.dim());
        let parts = [order.plain.all.clone(), order.hanging.all.clone()];
        let direction = |slot: usize| if slot < parts[0].end * groups.cells() { dim - 1 } else { 0 };
        let mut nodes = memory::zeros(order.groups() * groups.entries())?;
        let mut slots = vec![0; mesh.cells().cells()];
        for (slot, cell) in order.cells() {
            slots[cell] = slot;
            for (i, &node) in mesh.cells().of(cell).iter().enumerate() {
                nodes[groups.place(slot, direction(slot), i)] = node;
            }
        }
        let nodes_a_cell = mesh.cells().nodes_a_cell();
        let place = |&place: &u32| {
            let slot = slots[place as usize / nodes_a_cell];
            number(groups.place(slot, direction(slot), place as usize % nodes_a_cell))
        };
        let places = gather.places().iter().map(place).collect::<Result<_>>()?;
        let sums = Sums { row_nodes: None, first: gather.first().to_vec(), places };
        Ok(Self { squares: squares(mesh, matrices), lines: order.lines(mesh), parts, nodes, sums })
    }
}

/// Products of entries of the 1D matrices of the operator.
fn squares<T: Scalar>(mesh: &Mesh, matrices: &[T]) -> Vec<T> {
    let entries = (mesh.degree() + 1).pow(2);
    let (values, slopes) = (&matrices[..entries], &matrices[entries..2 * entries]);
    let products = [(values, values), (values, slopes), (slopes, slopes)];
    products.into_iter().flat_map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| a * b)).collect()
}

/// The geometry at Gauss points, as kernels take it: the metric of `κ = 1`, and `1 / (w det J)`.
#[derive(Debug)]
pub(super) struct GeometryTables<T> {
    pub tensor: Vec<T>,
    pub inverse_weights: Vec<T>,
}

impl<T: Scalar> GeometryTables<T> {
    pub fn new(mesh: &Mesh, order: &Order) -> Result<Self> {
        let (dim, nodes) = (mesh.dim(), mesh.cells().nodes_a_cell());
        let geometry = Geometry::new(mesh, mesh.degree() + 1)?;
        let mut metric: Vec<T> = memory::zeros(words(dim) * nodes * mesh.cells().cells())?;
        // With `s = 1` the last word is the weight.
        let of_cell = |(): &mut (), cell: usize, metric: &mut [T]| {
            set_metric(&geometry, dim, 1.0, cell, metric, |_, _| Ok(DMat3::IDENTITY))
        };
        try_map_chunks(&mut metric, words(dim) * nodes, || (), of_cell)?;
        let [tensor, mut inverse_weights] = order.metric(mesh, &metric, words(dim), true)?;
        for weight in &mut inverse_weights {
            // Places without a cell have none.
            *weight = T::from_f64(if *weight > T::ZERO { 1.0 / weight.to_f64() } else { 0.0 });
        }
        Ok(Self { tensor, inverse_weights })
    }
}

/// Of the interpolation on the next coarser mesh.
#[derive(Debug)]
pub(super) struct InterpolationTables<T> {
    /// [`ParentMatrices`](patchmg_device::elliptic::ParentMatrices).
    pub matrices: Vec<T>,
    /// Which child each slot's cell is, or [`STAYS`].
    pub children: Vec<u32>,
    pub targets: Vec<u32>,
}

impl<T: Scalar> InterpolationTables<T> {
    /// `halves` are the matrices of lines that hang.
    pub fn new(coarse: &Mesh, fine: &Mesh, order: &Order, halves: Vec<T>) -> Result<Self> {
        let (groups, dim, n) = (groups(fine), fine.dim(), fine.degree() + 1);
        let mut children: Vec<u32> = memory::zeros(order.groups() * groups.cells())?;
        let mut targets = memory::zeros(order.groups() * groups.entries())?;
        targets.fill(NONE);
        let mut slots = vec![0; fine.cells().cells()];
        order.cells().for_each(|(slot, cell)| slots[cell] = slot);
        let child_of_node: Vec<usize> = fine.element().nodes().iter().map(|&x| usize::from(x > 0.5)).collect();
        let mut is_taken: Vec<bool> = (0..coarse.kinds().len()).map(|node| coarse.numbering().hangs(node)).collect();
        for (cell, first, is_refined) in families(coarse.forest(), fine.forest()) {
            let of_family = if is_refined { 1 << dim } else { 1 };
            for child in 0..of_family {
                children[slots[first + child]] = if is_refined { child as u32 } else { STAYS };
            }
            for (i, node) in coarse.numbering().leaf_nodes(cell).enumerate() {
                if !std::mem::replace(&mut is_taken[node as usize], true) {
                    let child = (0..dim).map(|d| child_of_node[i / n.pow(d as u32) % n] << d).sum::<usize>();
                    let source = first + if is_refined { child } else { 0 };
                    targets[groups.place(slots[source], 0, i)] = node;
                }
            }
        }
        Ok(Self { matrices: parents(fine).into_iter().chain(halves).collect(), children, targets })
    }
}

/// By rows: from the nodes of the lower and of the upper child to those nodes of their parent that lie in it.
fn parents<T: Scalar>(fine: &Mesh) -> Vec<T> {
    let (matrix, k) = (from_children(fine), fine.degree());
    let of_child = |child: usize| {
        let is_in = |i: usize| usize::from(fine.element().nodes()[i] > 0.5) == child;
        DMatrix::from_fn(k + 1, k + 1, |i, j| if is_in(i) { matrix[(i, child * k + j)] } else { 0.0 })
    };
    [0, 1].into_iter().flat_map(|child| by_rows(&of_child(child))).collect()
}

fn by_rows<T: Scalar>(matrix: &DMatrix<f64>) -> Vec<T> {
    // nalgebra stores columns.
    matrix.transpose().iter().map(|&entry| T::from_f64(entry)).collect()
}

/// Of one launch.
pub(super) enum NewtonArguments<T> {
    Evaluate(Evaluate<T>),
    EvaluateHanging(EvaluateHanging<T>),
    Diagonal(Diagonal<T>),
    DiagonalHanging(DiagonalHanging<T>),
    Interpolate(Interpolate<T>),
    InterpolateHanging(InterpolateHanging<T>),
}

/// Where the tables are, on the machine that runs kernels; matrices are on the host.
#[derive(Clone, Copy)]
pub(super) struct NewtonAddresses<T> {
    pub groups: Groups,
    /// The operator's.
    pub matrices: *const T,
    pub squares: *const T,
    pub nodes: *const u32,
    pub lines: *const u32,
    /// That of `κ = 1`.
    pub geometry: *const T,
    pub inverse_weights: *const T,
    /// The operator's metric, and its reaction or null.
    pub metric: *mut T,
    pub reaction: *const T,
    pub sums: *mut T,
}

impl<T: Scalar> NewtonAddresses<T> {
    /// From a group on; `plain` is the number of groups without lines that hang.
    fn from(self, group: usize, plain: usize) -> Self {
        let first = group * self.groups.entries();
        let words = self.groups.words() * first;
        let reaction = if self.reaction.is_null() { self.reaction } else { self.reaction.wrapping_add(first) };
        Self {
            nodes: self.nodes.wrapping_add(first),
            lines: self.lines.wrapping_add(group.saturating_sub(plain) * self.groups.cells()),
            geometry: self.geometry.wrapping_add(words),
            inverse_weights: self.inverse_weights.wrapping_add(first),
            metric: self.metric.wrapping_add(words),
            reaction,
            sums: self.sums.wrapping_add(first),
            ..self
        }
    }

    /// The tables of each kind of groups, with the first one and their number.
    fn parts(self, [plain, hanging]: &[Range<usize>; 2]) -> [(Self, usize, usize); 2] {
        [plain, hanging].map(|part| (self.from(part.start, plain.end), part.start, part.len()))
    }

    /// Local results of the flux at `u`; the metric becomes that of the derivative if it `linearizes`.
    pub fn evaluate(
        self,
        parts: &[Range<usize>; 2],
        law: PowerLaw,
        u: *const T,
        linearizes: bool,
    ) -> [(usize, NewtonArguments<T>); 2] {
        let [plain, hanging] = self.parts(parts).map(|(own, _, blocks)| {
            let geometry = Metric { tensor: own.geometry, reaction: own.reaction, weights: std::ptr::null() };
            let derivative = if linearizes { own.metric } else { std::ptr::null_mut() };
            (own, FluxPoints { geometry, inverse_weights: own.inverse_weights, derivative, law }, blocks)
        });
        let (Self { matrices, nodes, sums, .. }, points, blocks) = plain;
        let evaluate = NewtonArguments::Evaluate(Evaluate { matrices, nodes, points, u, sums });
        let (Self { nodes, lines, sums, .. }, points, of_hanging) = hanging;
        let hanging = EvaluateHanging { matrices, nodes, lines, points, u, sums };
        [(blocks, evaluate), (of_hanging, NewtonArguments::EvaluateHanging(hanging))]
    }

    /// Local results of the diagonal: of cells with lines that hang, one entry of each after the other.
    pub fn diagonal(self, parts: &[Range<usize>; 2]) -> Vec<(usize, NewtonArguments<T>)> {
        let [plain, hanging] = self.parts(parts).map(|(own, _, blocks)| {
            (own, Metric { tensor: own.metric.cast_const(), reaction: own.reaction, weights: std::ptr::null() }, blocks)
        });
        let (Self { squares, sums, .. }, metric, blocks) = plain;
        let diagonal = NewtonArguments::Diagonal(Diagonal { matrices: squares, metric, sums });
        let (Self { matrices, lines, sums, .. }, metric, of_hanging) = hanging;
        let columns = if of_hanging > 0 { self.groups.entries() / self.groups.cells() } else { 0 };
        let hanging = (0..columns as u32).map(|column| {
            let column = DiagonalHanging { matrices, lines, metric, column, sums };
            (of_hanging, NewtonArguments::DiagonalHanging(column))
        });
        std::iter::once((blocks, diagonal)).chain(hanging).collect()
    }

    /// Values of `u` on the next coarser mesh.
    pub fn interpolate(
        self,
        parts: &[Range<usize>; 2],
        tables: InterpolationAddresses<T>,
        u: *const T,
        coarse: *mut T,
    ) -> [(usize, NewtonArguments<T>); 2] {
        let [plain, hanging] = self.parts(parts).map(|(own, group, blocks)| {
            let children = tables.children.wrapping_add(group * self.groups.cells());
            (own, children, tables.targets.wrapping_add(group * self.groups.entries()), blocks)
        });
        let matrices = tables.matrices;
        let (Self { nodes, .. }, children, targets, blocks) = plain;
        let interpolate = NewtonArguments::Interpolate(Interpolate { matrices, nodes, children, targets, u, coarse });
        let (Self { nodes, lines, .. }, children, targets, of_hanging) = hanging;
        let hanging = InterpolateHanging { matrices, nodes, lines, children, targets, u, coarse };
        [(blocks, interpolate), (of_hanging, NewtonArguments::InterpolateHanging(hanging))]
    }
}

/// Where the tables of the interpolation are; matrices are on the host.
#[derive(Clone, Copy)]
pub(super) struct InterpolationAddresses<T> {
    pub matrices: *const T,
    pub children: *const u32,
    pub targets: *const u32,
}
