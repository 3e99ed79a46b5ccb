//! Values at hanging nodes.

use super::entities::{digit, free_directions};
use super::numbering::{HangingEntity, Numbering};
use rayon::prelude::*;

/// A hanging node on an edge or a face of a coarser leaf: `u_node = sum_j weights_j u_(nodes_j)`.
///
/// The nodes are those of the edge, `k + 1`, or of the face, `(k + 1)²`; none of them hangs. The weights are the values there
/// of the tensor-product Lagrange basis on the Gauss-Lobatto nodes of the edge or face. Some may be zero.
#[derive(Clone, Copy, Debug)]
pub struct Constraint<'a> {
    /// The hanging node.
    pub node: u32,
    /// Nodes of the coarser leaf.
    pub nodes: &'a [u32],
    /// As many.
    pub weights: &'a [f64],
}

#[derive(Default)]
struct Buffers {
    nodes: Vec<u32>,
    weights: Vec<f64>,
}

/// Hanging entities that a task takes.
const ENTITIES_A_TASK: usize = 1 << 8;

impl Numbering {
    /// Calls `visit` with the constraint of each hanging node.
    pub fn for_each_constraint(&self, mut visit: impl FnMut(Constraint<'_>)) {
        let mut buffers = Buffers::default();
        self.hanging.iter().for_each(|hanging| self.constraints_of(hanging, &mut buffers, &mut visit));
    }

    /// What `body` makes of the constraint of each hanging node, in the same order.
    pub(crate) fn map_constraints<R: Send>(&self, body: impl Fn(Constraint<'_>) -> R + Sync) -> Vec<R> {
        let of_task = |hanging: &[HangingEntity]| {
            let (mut buffers, mut results) = (Buffers::default(), Vec::new());
            for hanging in hanging {
                self.constraints_of(hanging, &mut buffers, |constraint| results.push(body(constraint)));
            }
            results
        };
        self.hanging.par_chunks(ENTITIES_A_TASK).flat_map_iter(of_task).collect()
    }

    fn constraints_of(&self, hanging: &HangingEntity, buffers: &mut Buffers, mut visit: impl FnMut(Constraint<'_>)) {
        let Buffers { nodes, weights } = buffers;
        self.coarse_nodes(hanging, nodes);
        self.for_each_node(hanging, |index| {
            self.weights(hanging, index, weights);
            visit(Constraint { node: self.leaves.node(hanging.leaf as usize, index), nodes, weights });
        });
    }

    /// Nodes of the edge or face of the coarser leaf, in the frame of the parent.
    fn coarse_nodes(&self, hanging: &HangingEntity, nodes: &mut Vec<u32>) {
        let (k, position) = (self.degree, usize::from(hanging.parent_position));
        let ends = [0, 1, 2].map(|d| if digit(position, d) == 2 { k } else { 0 });
        let mut free = free_directions(position);
        let first = free.next();
        let second = free.next();
        nodes.clear();
        for j in 0..=second.map_or(0, |_| k) {
            for i in 0..=first.map_or(0, |_| k) {
                let mut index = ends;
                second.into_iter().for_each(|d| index[d] = j);
                first.into_iter().for_each(|d| index[d] = i);
                nodes.push(self.parents.node(hanging.parent as usize, index));
            }
        }
    }

    /// Indices, in the leaf, of the hanging nodes of an entity.
    fn for_each_node(&self, hanging: &HangingEntity, mut visit: impl FnMut([usize; 3])) {
        let (k, position) = (self.degree, usize::from(hanging.position));
        let range = |d: usize| match digit(position, d) {
            0 => 0..1,
            2 => k..k + 1,
            _ => 1..k,
        };
        for z in range(2) {
            for y in range(1) {
                for x in range(0) {
                    visit([x, y, z]);
                }
            }
        }
    }

    fn weights(&self, hanging: &HangingEntity, index: [usize; 3], weights: &mut Vec<f64>) {
        let k = self.degree;
        weights.clear();
        weights.push(1.0);
        // The first direction is the fastest.
        for d in free_directions(hanging.parent_position.into()) {
            let row = self.prolongation.row((hanging.child >> d & 1) as usize * k + index[d]);
            let lower = std::mem::take(weights);
            weights.extend(row.iter().flat_map(|value| lower.iter().map(move |weight| weight * value)));
        }
    }
}
