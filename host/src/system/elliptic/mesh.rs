//! One mesh of the hierarchy: numbers of nodes, and which are unknowns.

use super::equation::{Equation, Smoothing};
use super::transposed::Transposed;
use crate::backend::Scalar;
use crate::error::Result;
use crate::fe::Element;
use crate::forest::{CellNodes, Forest, Mapping, Numbering};
use crate::memory;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A forest with the nodes of its elements.
#[derive(Debug)]
pub(super) struct Mesh {
    forest: Forest,
    numbering: Numbering,
    cells: CellNodes,
    element: Element,
    mapping_degree: usize,
    mapping: OnceLock<Mapping>,
    gather: OnceLock<Arc<Transposed>>,
    kinds: Vec<Node>,
    unknowns: usize,
    /// Nodes from this one on are not smoothed.
    smoothed_end: usize,
}

/// What is to be known of a node. Of several that cells say, the first is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Hanging,
    /// On a Dirichlet boundary, and not hanging.
    Given,
    /// An unknown that smoothers leave alone.
    Unknown,
    /// An unknown that is smoothed.
    Smoothed,
}

impl Node {
    /// Whether it is an unknown.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::Smoothed)
    }
}

impl Mesh {
    pub fn new(forest: Forest, degree: usize, equation: &Equation) -> Result<Self> {
        let numbering = Numbering::new(&forest, degree)?;
        let cells = numbering.cell_nodes()?;
        let element = Element::new(degree)?;
        let kinds = kinds(&forest, &numbering, equation)?;
        let unknowns = kinds.par_iter().filter(|kind| kind.is_unknown()).count();
        let last = kinds.par_iter().position_last(|&kind| kind == Node::Smoothed);
        let smoothed_end = last.map_or(0, |last| last + 1);
        let mapping_degree = equation.mapping_degree.unwrap_or(degree);
        let (mapping, gather) = (OnceLock::new(), OnceLock::new());
        Ok(Self { forest, numbering, cells, element, mapping_degree, mapping, gather, kinds, unknowns, smoothed_end })
    }

    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    pub fn dim(&self) -> usize {
        self.forest.dim()
    }

    pub fn degree(&self) -> usize {
        self.numbering.degree()
    }

    pub fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    pub fn cells(&self) -> &CellNodes {
        &self.cells
    }

    pub fn element(&self) -> &Element {
        &self.element
    }

    /// What each node is.
    pub fn kinds(&self) -> &[Node] {
        &self.kinds
    }

    /// The same, a byte each, as kernels take them.
    #[cfg(feature = "cuda")]
    pub fn kinds_as_bytes(&self) -> Vec<u8> {
        self.kinds.par_iter().map(|&kind| kind as u8).collect()
    }

    /// Sets the entries of the unknowns to a function of their number, which counts them as leaves first have them.
    pub fn set_unknowns<T: Scalar>(&self, entries: &mut [T], value: &mut dyn FnMut(usize) -> f64) {
        let unknowns = self.numbering.in_order_of_leaves().filter(|&node| self.kinds[node as usize].is_unknown());
        unknowns.enumerate().for_each(|(number, node)| entries[node as usize] = T::from_f64(value(number)));
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Nodes from this one on are not smoothed: with local smoothing there are few others before it, because nodes of the finest
    /// level come first.
    pub fn smoothed_end(&self) -> usize {
        self.smoothed_end
    }

    /// Where the cells lie: made once, and kept as long as the mesh, with 24 bytes for each node of each cell, or for each vertex if all
    /// cells are straight.
    pub fn mapping(&self) -> Result<&Mapping> {
        if let Some(mapping) = self.mapping.get() {
            return Ok(mapping);
        }
        let mapping = Mapping::new(&self.forest, self.forest.leaves(), self.mapping_degree)?;
        Ok(self.mapping.get_or_init(|| mapping))
    }

    /// From the places of [`Self::cells`] to nodes: made once, and kept as long as the mesh, with 4 bytes for each of both.
    pub fn gather(&self) -> Result<Arc<Transposed>> {
        if let Some(gather) = self.gather.get() {
            return Ok(gather.clone());
        }
        let gather = Arc::new(Transposed::new(self.cells.all(), self.kinds.len())?);
        Ok(self.gather.get_or_init(|| gather).clone())
    }

    /// Where the nodes of elements lie.
    pub fn node_positions(&self) -> Result<Cow<'_, Mapping>> {
        let mapping = self.mapping()?;
        let is_same = self.mapping_degree == self.degree();
        Ok(if is_same { Cow::Borrowed(mapping) } else { Cow::Owned(mapping.at_degree(self.degree())?) })
    }

    /// Values at the nodes of a cell, those that hang interpolated. `values` has those of all nodes.
    pub fn values_of(&self, cell: usize, values: &[f64]) -> Vec<f64> {
        self.numbering.leaf_nodes(cell).map(|node| values[node as usize]).collect()
    }

    /// Sets the values at hanging nodes.
    pub fn interpolate_hanging(&self, values: &mut [f64]) {
        let interpolated = self.numbering.map_constraints(|constraint| {
            let terms = constraint.nodes.iter().zip(constraint.weights);
            (constraint.node, terms.map(|(&node, weight)| weight * values[node as usize]).sum::<f64>())
        });
        interpolated.into_iter().for_each(|(node, value)| values[node as usize] = value);
    }
}

/// What each node is.
fn kinds(forest: &Forest, numbering: &Numbering, equation: &Equation) -> Result<Vec<Node>> {
    memory::check(numbering.nodes() as u64)?;
    let (finest, k, n) = (forest.levels() as u8 - 1, numbering.degree(), numbering.degree() + 1);
    let said: Vec<AtomicU8> = (0..numbering.nodes()).into_par_iter().map(|_| (Node::Smoothed as u8).into()).collect();
    let say = |node: u32, kind: Node| {
        // Whoever comes first, the least stays.
        let said = &said[node as usize];
        if said.load(Relaxed) > kind as u8 {
            said.fetch_min(kind as u8, Relaxed);
        }
    };
    forest.leaves().par_iter().enumerate().for_each(|(leaf, cell)| {
        if equation.smoothing == Smoothing::Local && cell.level < finest {
            numbering.leaf_nodes(leaf).for_each(|node| say(node, Node::Unknown));
        }
        for face in 0..2 * forest.dim() {
            let is_given = |number| !equation.natural.contains(&number);
            if forest.boundary(cell, face).is_some_and(is_given) {
                let stride = n.pow(face as u32 / 2);
                let nodes = numbering.leaf_nodes(leaf).enumerate();
                nodes.filter(|(i, _)| i / stride % n == k * (face % 2)).for_each(|(_, node)| say(node, Node::Given));
            }
        }
    });
    let kind = |(node, said): (usize, AtomicU8)| match said.into_inner() {
        _ if numbering.hangs(node) => Node::Hanging,
        said if said == Node::Given as u8 => Node::Given,
        said if said == Node::Unknown as u8 => Node::Unknown,
        _ => Node::Smoothed,
    };
    Ok(said.into_par_iter().enumerate().map(kind).collect())
}
