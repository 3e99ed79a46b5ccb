//! What kernels take beside vectors, on the host.

use super::super::assembled::Factor;
use super::super::cell::CellShape;
use super::super::level::CellOperator;
use super::super::mesh::Mesh;
use super::super::metric::words;
use super::super::transfer::{Transfer, place_in_family};
use super::super::transposed::NONE;
use super::order::{Order, groups, lines, number};
use crate::backend::Scalar;
use crate::error::Result;
use crate::memory;
use patchmg_device::elliptic::{Apply, ApplyHanging, Groups, Prolongate, Restrict};
use rayon::prelude::*;
use std::ops::Range;
use std::ptr;

/// Sums at nodes: `first` and places.
#[derive(Debug)]
pub(super) struct Sums {
    pub first: Vec<u32>,
    pub places: Vec<u32>,
}

/// Of the operator.
#[derive(Debug)]
pub(super) struct OperatorTables<T> {
    pub order: Order,
    /// [`CellMatrices`](patchmg_device::elliptic::CellMatrices).
    pub matrices: Vec<T>,
    pub nodes: Vec<u32>,
    pub lines: Vec<u32>,
    pub metric: Vec<T>,
    /// None where there is no reaction.
    pub reaction: Option<Vec<T>>,
    pub sums: Sums,
    /// What each node is, a byte each, as [`Node`](super::super::mesh::Node) has it.
    pub kinds: Vec<u8>,
}

impl<T: Scalar> OperatorTables<T> {
    /// Of an operator on the mesh, whose coefficient `s` is positive if it `reacts`.
    pub fn new(mesh: &Mesh, operator: &CellOperator<T>, reacts: bool) -> Result<Self> {
        let order = Order::new(mesh);
        let [metric, reaction] = order.metric(mesh, &operator.metric, words(mesh.dim()), reacts)?;
        let places = order.places(mesh, &operator.gather)?;
        Ok(Self {
            matrices: operator.shape.line_matrices(),
            nodes: order.nodes(mesh)?,
            lines: order.lines(mesh),
            metric,
            reaction: reacts.then_some(reaction),
            sums: Sums { first: operator.gather.first().to_vec(), places },
            kinds: mesh.kinds().par_iter().map(|&kind| kind as u8).collect(),
            order,
        })
    }
}

/// Where the tables of an operator are, on the machine that runs kernels; matrices are on the host.
#[derive(Clone, Copy)]
pub(super) struct OperatorAddresses<T> {
    pub groups: Groups,
    pub matrices: *const T,
    pub nodes: *const u32,
    pub lines: *const u32,
    pub metric: *const T,
    pub reaction: *const T,
}

impl<T> OperatorAddresses<T> {
    /// On some groups without lines that hang.
    pub fn apply(&self, groups: &Range<usize>, x: *const T, sums: *mut T) -> Apply<T> {
        let first = groups.start * self.groups.entries();
        let (matrices, reaction) = (self.matrices, self.reaction_from(first));
        let metric = self.metric.wrapping_add(self.groups.words() * first);
        let nodes = self.nodes.wrapping_add(first);
        Apply { matrices, nodes, metric, reaction, x, sums: sums.wrapping_add(first) }
    }

    /// On some groups with such lines; `plain` is the number of groups without.
    pub fn apply_hanging(&self, groups: &Range<usize>, plain: usize, x: *const T, sums: *mut T) -> ApplyHanging<T> {
        let Apply { matrices, nodes, metric, reaction, x, sums } = self.apply(groups, x, sums);
        let lines = self.lines.wrapping_add((groups.start - plain) * self.groups.cells());
        ApplyHanging { matrices, nodes, lines, metric, reaction, x, sums }
    }

    fn reaction_from(&self, first: usize) -> *const T {
        if self.reaction.is_null() { ptr::null() } else { self.reaction.wrapping_add(first) }
    }
}

/// Of the transfer to the next coarser mesh and from it.
#[derive(Debug)]
pub(super) struct TransferTables<T> {
    pub groups: usize,
    /// [`CellMatrices`](patchmg_device::elliptic::CellMatrices).
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
        let is_taken = |child: usize, i: usize| (0..dim).all(|d| child >> d & 1 == 0 || i / n.pow(d as u32) % n > 0);
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
        let sums = Sums { first: transfer.gather().first().to_vec(), places: places.collect::<Result<_>>()? };
        let kinds = coarse.kinds().par_iter().map(|&kind| kind as u8).collect();
        Ok(Self { groups: count, matrices: shape.line_matrices(), nodes, lines: hanging, targets, sums, kinds })
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
