//! What kernels take beside vectors, on the host.

use super::super::Elliptic;
use super::super::assembled::Factor;
use super::super::cell::{CellShape, at_points};
use super::super::cell_metric::ConstantMetric;
use super::super::level::CellOperator;
use super::super::mesh::{Mesh, Node};
use super::super::metric::{gauss_weights, words};
use super::super::transfer::{Transfer, place_in_family};
use super::super::transposed::{NONE, Rows};
use super::order::{Launch, Order, Part, groups, lines, number};
use crate::backend::Scalar;
use crate::error::Result;
use crate::fe::{Quadrature, stiffness_with_zero_row_sums, with_zero_row_sums};
use crate::memory;
use patchmg_device::elliptic::{
    Apply, ApplyBoxes, ApplyBoxesHanging, ApplyHanging, Groups, Metric, Prolongate, Restrict, Target,
};
use rayon::prelude::*;

/// Sums at nodes: rows, `first` and places.
#[derive(Debug)]
pub(super) struct Sums {
    /// Node of each row; none if rows are the nodes.
    pub row_nodes: Option<Vec<u32>>,
    pub first: Vec<u32>,
    pub places: Vec<u32>,
}

impl From<Rows> for Sums {
    fn from(Rows { nodes, first, places }: Rows) -> Self {
        Self { row_nodes: Some(nodes), first, places }
    }
}

/// How the coefficients of a mesh lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Each Gauss point has its own.
    Points,
    /// Each cell has its own, but for the weights of the points.
    Cells,
    /// So it is, and their tensor is diagonal.
    Boxes,
}

impl Form {
    /// Of cells with coefficients of their own.
    fn of_cells(are_diagonal: bool) -> Self {
        if are_diagonal { Self::Boxes } else { Self::Cells }
    }
}

/// The metric of the cells of a mesh.
pub(super) enum CellMetric<'a, T> {
    /// At all points.
    Of(&'a CellOperator<T>),
    /// At the first point of each cell alone.
    Constant(&'a ConstantMetric<T>),
}

impl<T> CellMetric<'_, T> {
    fn form(&self, system: &Elliptic) -> Form {
        match self {
            Self::Constant(metric) => Form::of_cells(metric.is_diagonal),
            // Newton's method changes it.
            Self::Of(operator) if !operator.is_constant || system.equation.flux.is_some() => Form::Points,
            Self::Of(operator) => Form::of_cells(operator.is_diagonal),
        }
    }

    fn words(&self) -> &[T] {
        match self {
            Self::Of(operator) => &operator.metric,
            Self::Constant(metric) => &metric.at_first_points,
        }
    }
}

/// Of the operator.
#[derive(Debug)]
pub(super) struct OperatorTables<T> {
    pub order: Order,
    pub form: Form,
    /// [`CellMatrices`](patchmg_device::elliptic::CellMatrices), or [`BoxMatrices`](patchmg_device::elliptic::BoxMatrices).
    pub matrices: Vec<T>,
    pub nodes: Vec<u32>,
    pub lines: Vec<u32>,
    /// That of boxes has the reaction, too.
    pub metric: Vec<T>,
    /// None where there is no reaction.
    pub reaction: Option<Vec<T>>,
    /// Of [`Form::Cells`].
    pub weights: Vec<T>,
    pub sums: Sums,
    /// Of what groups with nodes that are smoothed leave, if these are not all.
    pub sums_of_smoothed: Option<Sums>,
    /// What each node is, a byte each, as [`Node`](super::super::mesh::Node) has it.
    pub kinds: Vec<u8>,
}

impl<T: Scalar> OperatorTables<T> {
    pub fn new(system: &Elliptic, cells: CellMetric<T>, shape: &CellShape<T>) -> Result<Self> {
        let (mesh, form) = (&*system.mesh, cells.form(system));
        let (dim, n, words) = (mesh.dim(), mesh.degree() + 1, words(mesh.dim()));
        let order = Order::new(mesh, system.writes, form == Form::Boxes);
        let at_points = gauss_weights(dim, n)?;
        let of_cells = |kept: &[usize]| order.metric_of_cells(mesh, cells.words(), kept, at_points[0]);
        let [metric, reaction] = match form {
            Form::Points => order.metric(mesh, cells.words(), words, system.equation.reacts())?,
            Form::Cells => of_cells(&(0..words - 1).collect::<Vec<_>>()),
            Form::Boxes => of_cells(&(0..dim).map(|d| d * (d + 3) / 2).chain([words - 1]).collect::<Vec<_>>()),
        };
        let has_reaction = system.equation.reacts() && form != Form::Boxes;
        let (nodes, sums, of_smoothed) = order.nodes(mesh)?;
        let kinds = mesh.kinds_as_bytes();
        // Not every product computes at nodes of lesser kinds; there sums set 0. All others have places, or are whole.
        let [row_nodes, first] = sums.rows(|node| kinds[node] < Node::Smoothed as u8);
        Ok(Self {
            form,
            matrices: line_matrices(mesh, form, shape)?,
            nodes,
            lines: order.lines(mesh),
            metric,
            reaction: has_reaction.then_some(reaction),
            weights: if form == Form::Cells { by_lines_along_x(&at_points, n) } else { Vec::new() },
            sums: Sums { row_nodes: Some(row_nodes), first, places: sums.into_places() },
            sums_of_smoothed: of_smoothed.map(Sums::from),
            kinds,
            order,
        })
    }
}

/// The 1D matrices of the operator, by rows. Those of derivatives have constants in their null space, exactly.
fn line_matrices<T: Scalar>(mesh: &Mesh, form: Form, shape: &CellShape<T>) -> Result<Vec<T>> {
    let (element, digits) = (mesh.element(), T::MANTISSA_DIGITS);
    let pair = if form == Form::Boxes {
        [element.mass(), stiffness_with_zero_row_sums(&element.stiffness(), element.nodes(), digits)]
    } else {
        let points = Quadrature::gauss(mesh.degree() + 1)?.points;
        let slopes = at_points(&points, |x| element.derivatives(x));
        [at_points(&points, |x| element.values(x)), with_zero_row_sums(&slopes, digits)]
    };
    // nalgebra stores columns.
    let by_rows = pair.iter().flat_map(|matrix| matrix.transpose().iter().copied().collect::<Vec<_>>());
    Ok(by_rows.map(T::from_f64).chain(shape.halves()).collect())
}

/// A number for each point of a cell, x fastest, as threads with lines along x take them.
fn by_lines_along_x<T: Scalar>(of_points: &[f64], n: usize) -> Vec<T> {
    (0..n).flat_map(|x| of_points.iter().skip(x).step_by(n)).map(|&value| T::from_f64(value)).collect()
}

/// Where the tables of an operator are, on the machine that runs kernels; matrices are on the host.
#[derive(Clone, Copy)]
pub(super) struct OperatorAddresses<T> {
    pub groups: Groups,
    pub form: Form,
    pub matrices: *const T,
    pub nodes: *const u32,
    pub lines: *const u32,
    pub metric: Metric<T>,
}

impl<T: Scalar> OperatorAddresses<T> {
    /// From some group on; `plain` is the number of groups without lines that hang.
    fn from(&self, group: usize, plain: usize) -> Self {
        let first = group * self.groups.entries();
        let (numbers, words) = match self.form {
            Form::Points => (first, self.groups.words()),
            Form::Cells => (group * self.groups.cells(), self.groups.words()),
            Form::Boxes => (group * self.groups.cells(), self.groups.dim() + 1),
        };
        let Metric { tensor, reaction, weights } = self.metric;
        let reaction = if reaction.is_null() { reaction } else { reaction.wrapping_add(numbers) };
        Self {
            nodes: self.nodes.wrapping_add(first),
            lines: self.lines.wrapping_add(group.saturating_sub(plain) * self.groups.cells()),
            metric: Metric { tensor: tensor.wrapping_add(words * numbers), reaction, weights },
            ..*self
        }
    }

    /// Calls a launch with its number of blocks for all cells, or for those with nodes that are smoothed.
    pub fn apply(
        &self,
        [plain, hanging]: [&Part; 2],
        of_smoothed: bool,
        x: *const T,
        target: Target<T>,
        mut launch: impl FnMut(usize, OperatorArguments<T>) -> Result<()>,
    ) -> Result<()> {
        for (part, hangs) in [(plain, false), (hanging, true)] {
            for Launch { groups, families } in part.launches(of_smoothed) {
                let Self { form, matrices, nodes, lines, metric, .. } = self.from(groups.start, plain.all.end);
                let first = groups.start * self.groups.entries();
                let families = families as u32;
                let target = Target { sums: target.sums.wrapping_add(first), families, ..target };
                let tensor = metric.tensor;
                let arguments = match (form, hangs) {
                    (Form::Boxes, false) => {
                        OperatorArguments::Boxes(ApplyBoxes { matrices, nodes, metric: tensor, x, target })
                    }
                    (Form::Boxes, true) => OperatorArguments::BoxesHanging(ApplyBoxesHanging {
                        matrices,
                        nodes,
                        lines,
                        metric: tensor,
                        x,
                        target,
                    }),
                    (_, false) => OperatorArguments::Cells(Apply { matrices, nodes, metric, x, target }),
                    (_, true) => {
                        OperatorArguments::CellsHanging(ApplyHanging { matrices, nodes, lines, metric, x, target })
                    }
                };
                launch(groups.len(), arguments)?;
            }
        }
        Ok(())
    }
}

/// Of one launch of the operator's kernels.
pub(super) enum OperatorArguments<T> {
    Cells(Apply<T>),
    CellsHanging(ApplyHanging<T>),
    Boxes(ApplyBoxes<T>),
    BoxesHanging(ApplyBoxesHanging<T>),
}

/// Of the transfer to the next coarser mesh and from it.
#[derive(Debug)]
pub(super) struct TransferTables<T> {
    pub groups: usize,
    /// [`Halves`](patchmg_device::elliptic::Halves).
    pub matrices: Vec<T>,
    pub nodes: Vec<u32>,
    pub lines: Vec<u32>,
    pub targets: Vec<u32>,
    pub sums: Sums,
    /// What each node of the coarser mesh is.
    pub kinds: Vec<u8>,
}

impl<T: Scalar> TransferTables<T> {
    pub fn new(transfer: &Transfer, shape: &CellShape<T>) -> Result<Self> {
        let coarse = transfer.coarse();
        let (groups, dim, k) = (groups(coarse), coarse.dim(), coarse.degree());
        let (n, children, nodes_a_cell) = (k + 1, 1 << dim, coarse.cells().nodes_a_cell());
        let (count, entries, cells) = (groups.count(transfer.families().len()), groups.entries(), groups.cells());
        let (mut nodes, mut hanging) = (memory::zeros(count * entries)?, vec![0; count * cells]);
        let mut targets: Vec<u32> = memory::zeros(children * count * entries)?;
        // Nodes of two children are taken from the lower one.
        let is_taken =
            |child: usize, i: usize| (0..dim).all(|d| child >> d & 1 == 0 || !(i / n.pow(d as u32)).is_multiple_of(n));
        let taken = |i: usize| (0..children).filter(move |&child| is_taken(child, i));
        let taken: Vec<Vec<(usize, usize)>> =
            (0..nodes_a_cell).map(|i| taken(i).map(|child| (child, place_in_family(k, child, i))).collect()).collect();
        let of_groups = nodes.par_chunks_exact_mut(entries).zip(targets.par_chunks_exact_mut(children * entries));
        let of_groups = of_groups.zip(hanging.par_chunks_exact_mut(cells)).zip(transfer.families().chunks(cells));
        of_groups.for_each(|(((nodes, targets), hanging), families)| {
            targets.fill(NONE);
            for (slot, (cell, of_family)) in families.into_iter().enumerate() {
                hanging[slot] = lines(coarse, cell);
                for (i, &node) in coarse.cells().of(cell as usize).iter().enumerate() {
                    nodes[groups.place(slot, 0, i)] = node;
                    for &(child, place) in &taken[i] {
                        targets[groups.place_of_word(slot, 0, i, [child, children])] = of_family[place];
                    }
                }
            }
        });
        let places = transfer.gather().places().par_iter().map(|&place| place as usize);
        let places = places.map(|place| number(groups.place(place / nodes_a_cell, 0, place % nodes_a_cell)));
        let sums =
            Sums { row_nodes: None, first: transfer.gather().first().to_vec(), places: places.collect::<Result<_>>()? };
        let (matrices, kinds) = (shape.halves(), coarse.kinds_as_bytes());
        Ok(Self { groups: count, matrices, nodes, lines: hanging, targets, sums, kinds })
    }
}

/// Where the tables of a transfer are.
#[derive(Clone, Copy)]
pub(super) struct TransferAddresses<T> {
    pub matrices: *const T,
    pub nodes: *const u32,
    pub lines: *const u32,
    pub targets: *const u32,
}

impl<T> TransferAddresses<T> {
    pub fn prolongate(&self, coarse: *const T, x: *mut T) -> Prolongate<T> {
        let Self { matrices, nodes, lines, targets } = *self;
        Prolongate { matrices, nodes, lines, targets, coarse, x }
    }

    pub fn restrict(&self, r: *const T, sums: *mut T) -> Restrict<T> {
        let Self { matrices, lines, targets, .. } = *self;
        Restrict { matrices, lines, targets, r, sums }
    }
}

/// Of the coarsest mesh.
#[derive(Debug)]
pub(super) struct InverseTables {
    /// By rows.
    pub entries: Vec<f64>,
    /// Nodes of the unknowns.
    pub unknowns: Vec<u32>,
}

impl InverseTables {
    pub fn new(factor: &Factor) -> Self {
        let (nodes, inverse) = factor.inverse();
        // It is symmetric: columns are rows.
        Self { entries: inverse.as_slice().to_vec(), unknowns: nodes.iter().map(|&node| node as u32).collect() }
    }
}
