//! From values of cells to values of nodes.

use crate::backend::Scalar;
use crate::error::Result;
use crate::memory;
use rayon::prelude::*;
use std::ops::Range;

/// The places of each node in a list of nodes: sums at nodes are over ascending places, the same bits each time.
#[derive(Debug)]
pub(super) struct Transposed {
    /// Places of node `i` are those from `first[i]` to `first[i + 1]`.
    first: Vec<u32>,
    places: Vec<u32>,
}

pub(super) use patchmg_device::elliptic::NONE;

/// Nodes that a task takes at least.
const NODES_A_TASK: usize = 1 << 12;

/// A list of nodes, with the range of the nodes of each block.
struct Blocks<'a> {
    list: &'a [u32],
    ranges: Vec<Range<usize>>,
}

impl<'a> Blocks<'a> {
    const LENGTH: usize = 1 << 12;

    fn new(list: &'a [u32]) -> Self {
        let range = |block: &[u32]| {
            let nodes = || block.iter().filter(|&&node| node != NONE).map(|&node| node as usize);
            nodes().min().unwrap_or(0)..nodes().max().map_or(0, |last| last + 1)
        };
        Self { list, ranges: list.par_chunks(Self::LENGTH).map(range).collect() }
    }

    /// Calls `visit` with the places of all nodes of a range, ascending, and the nodes.
    fn for_each_in(&self, nodes: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        for (number, (block, range)) in self.list.chunks(Self::LENGTH).zip(&self.ranges).enumerate() {
            if range.start >= nodes.end || range.end <= nodes.start {
                continue;
            }
            for (place, &node) in block.iter().enumerate() {
                let node = node as usize;
                if node >= nodes.start && node < nodes.end {
                    visit(number * Self::LENGTH + place, node);
                }
            }
        }
    }
}

impl Transposed {
    /// Of a list of fewer than `2^32` entries, each below `nodes` or [`NONE`].
    ///
    /// Each task takes a range of nodes and looks for them in the list.
    pub fn new(list: &[u32], nodes: usize) -> Result<Self> {
        let list = Blocks::new(list);
        let length = nodes.div_ceil(rayon::current_num_threads()).max(NODES_A_TASK);
        let mut first: Vec<u32> = memory::zeros(nodes + 1)?;
        first[1..].par_chunks_mut(length).enumerate().for_each(|(task, counts)| {
            let begin = task * length;
            list.for_each_in(begin..begin + counts.len(), |_, node| counts[node - begin] += 1);
        });
        (0..nodes).for_each(|node| first[node + 1] += first[node]);
        let mut places: Vec<u32> = memory::zeros(first[nodes] as usize)?;
        let (mut rest, mut tasks) = (&mut places[..], Vec::new());
        for begin in (0..nodes).step_by(length) {
            let end = nodes.min(begin + length);
            let (own, others) = rest.split_at_mut((first[end] - first[begin]) as usize);
            rest = others;
            tasks.push((begin..end, own));
        }
        tasks.into_par_iter().for_each(|(range, places)| {
            let mut next: Vec<u32> = first[range.clone()].iter().map(|at| at - first[range.start]).collect();
            list.for_each_in(range.clone(), |place, node| {
                let next = &mut next[node - range.start];
                places[*next as usize] = place as u32;
                *next += 1;
            });
        });
        Ok(Self { first, places })
    }

    /// Where the places of each node begin, and behind them where the last ones end.
    #[cfg(feature = "cuda")]
    pub fn first(&self) -> &[u32] {
        &self.first
    }

    /// Places of one node after the other.
    #[cfg(feature = "cuda")]
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The same, without a copy.
    #[cfg(feature = "cuda")]
    pub fn into_places(self) -> Vec<u32> {
        self.places
    }

    /// The nodes that have places or are `wanted`, and where the places of each begin, and behind them where the last ones end.
    #[cfg(feature = "cuda")]
    pub fn rows(&self, wanted: impl Fn(usize) -> bool + Sync) -> [Vec<u32>; 2] {
        let nodes = (0..self.first.len() - 1).into_par_iter().filter(|&node| self.count(node) > 0 || wanted(node));
        let nodes: Vec<u32> = nodes.map(|node| node as u32).collect();
        let first = nodes.iter().map(|&node| self.first[node as usize]).chain(self.first.last().copied()).collect();
        [nodes, first]
    }

    /// Sums at nodes that have places alone.
    #[cfg(feature = "cuda")]
    pub fn into_rows(self) -> Rows {
        let [nodes, first] = self.rows(|_| false);
        Rows { nodes, first, places: self.places }
    }

    /// Bytes of that for so many nodes and so long a list.
    pub fn bytes(nodes: usize, places: usize) -> u64 {
        ((nodes + 1 + places) * size_of::<u32>()) as u64
    }

    /// `y_i = f(i, sum_p values_p)` over the places `p` of each node `i`.
    pub fn gather<T: Scalar>(&self, values: &[T], y: &mut [T], f: impl Fn(usize, T) -> T + Sync) {
        y.par_iter_mut().enumerate().with_min_len(1 << 12).for_each(|(node, y)| *y = f(node, self.sum(node, values)));
    }

    /// Calls `f(sum_p values_p, y_i)` for each node `i` and its places `p`.
    pub fn for_each_sum<T: Scalar>(&self, values: &[T], y: &mut [T], f: impl Fn(T, &mut T) + Sync) {
        y.par_iter_mut().enumerate().with_min_len(1 << 12).for_each(|(node, y)| f(self.sum(node, values), y));
    }

    /// How many places a node has.
    pub fn count(&self, node: usize) -> usize {
        (self.first[node + 1] - self.first[node]) as usize
    }

    /// `sum_p values_p` over the places `p` of a node.
    #[inline]
    fn sum<T: Scalar>(&self, node: usize, values: &[T]) -> T {
        let places = &self.places[self.first[node] as usize..self.first[node + 1] as usize];
        places.iter().fold(T::ZERO, |sum, &place| sum + values[place as usize])
    }
}

/// Sums at some nodes, ascending.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub(super) struct Rows {
    pub nodes: Vec<u32>,
    /// Places of row `i` are those from `first[i]` to `first[i + 1]`.
    pub first: Vec<u32>,
    pub places: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_each_node_ascending() {
        // Nodes of several tasks, places of several blocks; some have no node, and some nodes no place.
        let (nodes, places) = (3 * NODES_A_TASK + 5, 40_000);
        let node = |place: usize| match place * place % 7 {
            0 => NONE,
            _ => (place * 7919 % 9001 + place / 9001) as u32,
        };
        let list: Vec<u32> = (0..places).map(node).collect();
        let mut expected = vec![Vec::new(); nodes];
        for (place, &node) in list.iter().enumerate().filter(|(_, node)| **node != NONE) {
            expected[node as usize].push(place as u32);
        }
        let transposed = Transposed::new(&list, nodes).unwrap();
        for (node, expected) in expected.iter().enumerate() {
            let [begin, end] = [0, 1].map(|next| transposed.first[node + next] as usize);
            assert_eq!(&transposed.places[begin..end], expected);
        }
        assert!(expected.iter().any(Vec::is_empty) && expected.iter().any(|places| places.len() > 3));
    }
}
