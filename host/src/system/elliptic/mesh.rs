//! One mesh of the hierarchy: numbers of nodes, and which are unknowns.

use super::equation::{Equation, Smoothing};
use crate::backend::Scalar;
use crate::error::Result;
use crate::fe::Element;
use crate::forest::{CellNodes, Forest, Mapping, Numbering};

/// A forest with the nodes of its elements.
#[derive(Debug)]
pub(super) struct Mesh {
    forest: Forest,
    numbering: Numbering,
    cells: CellNodes,
    element: Element,
    mapping_degree: usize,
    kinds: Vec<Node>,
    unknowns: usize,
}

/// What is to be known of a node.
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
        let mapping_degree = equation.mapping_degree.unwrap_or(degree);
        let mut kinds = vec![Node::Smoothed; numbering.nodes()];
        if equation.smoothing == Smoothing::Local {
            let finest = forest.levels() as u8 - 1;
            for (leaf, _) in forest.leaves().iter().enumerate().filter(|(_, cell)| cell.level < finest) {
                numbering.leaf_nodes(leaf).for_each(|node| kinds[node as usize] = Node::Unknown);
            }
        }
        let element = Element::new(degree)?;
        let n = degree + 1;
        for (leaf, cell) in forest.leaves().iter().enumerate() {
            for face in 0..2 * forest.dim() {
                let is_given = |number| !equation.natural.contains(&number);
                if !forest.boundary(cell, face).is_some_and(is_given) {
                    continue;
                }
                for (i, node) in numbering.leaf_nodes(leaf).enumerate() {
                    if i / n.pow(face as u32 / 2) % n == degree * (face % 2) {
                        kinds[node as usize] = Node::Given;
                    }
                }
            }
        }
        let hanging = (0..kinds.len()).filter(|&node| numbering.hangs(node));
        hanging.for_each(|node| kinds[node] = Node::Hanging);
        let unknowns = kinds.iter().filter(|kind| kind.is_unknown()).count();
        Ok(Self { forest, numbering, cells, element, mapping_degree, kinds, unknowns })
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

    /// Sets the entries of the unknowns to a function of their number.
    pub fn set_unknowns<T: Scalar>(&self, entries: &mut [T], value: &mut dyn FnMut(usize) -> f64) {
        let unknowns = entries.iter_mut().zip(&self.kinds).filter(|(_, kind)| kind.is_unknown());
        unknowns.enumerate().for_each(|(number, (entry, _))| *entry = T::from_f64(value(number)));
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Where the cells lie.
    pub fn mapping(&self) -> Result<Mapping> {
        Mapping::new(&self.forest, self.forest.leaves(), self.mapping_degree)
    }

    /// Where the nodes of elements lie.
    pub fn node_positions(&self) -> Result<Mapping> {
        self.mapping()?.at_degree(self.degree())
    }

    /// Values at the nodes of a cell, those that hang interpolated. `values` has those of all nodes.
    pub fn values_of(&self, cell: usize, values: &[f64]) -> Vec<f64> {
        self.numbering.leaf_nodes(cell).map(|node| values[node as usize]).collect()
    }

    /// Sets the values at hanging nodes.
    pub fn interpolate_hanging(&self, values: &mut [f64]) {
        self.numbering.for_each_constraint(|constraint| {
            let terms = constraint.nodes.iter().zip(constraint.weights);
            values[constraint.node as usize] = terms.map(|(&node, weight)| weight * values[node as usize]).sum();
        });
    }
}
