//! From values of cells to values of nodes.

use crate::backend::Scalar;
use crate::error::Result;
use crate::memory;
use rayon::prelude::*;

/// The places of each node in a list of nodes: sums at nodes are over ascending places, the same bits each time.
#[derive(Debug)]
pub(super) struct Transposed {
    /// Places of node `i` are those from `first[i]` to `first[i + 1]`.
    first: Vec<u32>,
    places: Vec<u32>,
}

pub(super) use patchmg_device::elliptic::NONE;

impl Transposed {
    /// Of a list of fewer than `2^32` entries, each below `nodes` or [`NONE`].
    pub fn new(list: &[u32], nodes: usize) -> Result<Self> {
        let mut first: Vec<u32> = memory::zeros(nodes + 1)?;
        let listed = || list.iter().enumerate().filter(|(_, node)| **node != NONE);
        listed().for_each(|(_, &node)| first[node as usize + 1] += 1);
        (0..nodes).for_each(|node| first[node + 1] += first[node]);
        let mut places: Vec<u32> = memory::zeros(first[nodes] as usize)?;
        let mut next = memory::copy(&first)?;
        for (place, &node) in listed() {
            places[next[node as usize] as usize] = place as u32;
            next[node as usize] += 1;
        }
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

    /// Bytes of that for so many nodes and so long a list.
    pub fn bytes(nodes: usize, places: usize) -> u64 {
        ((nodes + 1 + places) * size_of::<u32>()) as u64
    }

    /// `y_i = f(i, sum_p values_p)` over the places `p` of each node `i`.
    pub fn gather<T: Scalar>(&self, values: &[T], y: &mut [T], f: impl Fn(usize, T) -> T + Sync) {
        self.gather_where(values, y, |_| true, f);
    }

    /// The same where `is_wanted`, and 0 elsewhere.
    pub fn gather_where<T: Scalar>(
        &self,
        values: &[T],
        y: &mut [T],
        is_wanted: impl Fn(usize) -> bool + Sync,
        f: impl Fn(usize, T) -> T + Sync,
    ) {
        y.par_iter_mut().enumerate().with_min_len(1 << 12).for_each(|(node, y)| {
            if !is_wanted(node) {
                *y = T::ZERO;
                return;
            }
            let places = &self.places[self.first[node] as usize..self.first[node + 1] as usize];
            *y = f(node, places.iter().fold(T::ZERO, |sum, &place| sum + values[place as usize]));
        });
    }
}
