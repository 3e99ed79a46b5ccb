//! Cells in parts: each sums up what its cells leave in memory of its thread, which stays in the second cache. Nodes of several
//! parts are summed up once more.

use super::lanes::Vectorized;
use super::sweep::{Shared, Sweep, WORKSPACE, workspace};
use core::ops::Range;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Places of a part at most.
const PLACES: usize = 1 << 15;

/// Numbers of 16 bits.
pub(super) const LOCAL: usize = 1 << 16;

/// The number of what is no node: read and written by lanes whose results nobody wants.
const NOBODY: u16 = u16::MAX;

/// Nodes of the second pass that a task takes.
const ROWS_A_TASK: usize = 1 << 10;

/// What is done with the sums at nodes: given the nodes and their sums, it leaves what is written to the result.
pub type Finish<'a, T> = &'a (dyn Fn(&[u32], &mut [T]) + Sync);

/// Batches of cells in parts, each with its nodes.
///
/// A node that one part alone has is written by that part; all others, those that no cell has among them, belong to the second
/// pass.
#[derive(Clone, Debug)]
pub struct Parts {
    nodes: usize,
    batches: usize,
    places_a_batch: usize,
    batches_a_part: usize,
    /// For each place, the number of its node within its part.
    pub(super) local: Vec<u16>,
    /// Nodes of one part after the other: those that it has alone, ascending, then the others, ascending.
    nodes_of_parts: Vec<u32>,
    parts: Vec<Part>,
    /// Nodes of the second pass, ascending.
    rows: Vec<u32>,
    /// Where the terms of each begin, and behind them where the last ones end.
    first: Vec<u32>,
    /// Where the sums of parts lie.
    terms: Vec<u32>,
}

/// Where the nodes of a part begin, where those that it shares do, and how many others there are in the parts before.
#[derive(Clone, Copy, Debug)]
struct Part {
    begin: usize,
    alone_end: usize,
    end: usize,
    first_term: usize,
}

impl Parts {
    /// Of the nodes of all places, lane by lane, [`u32::MAX`] where there is none.
    ///
    /// # Panics
    /// If a node is not below `nodes`, or the places are not those of whole batches of at most 32768.
    pub fn new(list: &[u32], places_a_batch: usize, nodes: usize) -> Self {
        assert!(places_a_batch > 0 && places_a_batch <= PLACES && list.len().is_multiple_of(places_a_batch));
        let batches_a_part = PLACES / places_a_batch;
        let of_part = |list: &[u32]| {
            let mut nodes: Vec<u32> = list.iter().copied().filter(|&node| node != u32::MAX).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        let lists = list.par_chunks(batches_a_part * places_a_batch);
        let mut of_parts: Vec<Vec<u32>> = lists.clone().map(of_part).collect();

        // 0 for no part, 1 for one, 2 for several.
        let mut parts_of = vec![0_u8; nodes];
        of_parts.iter().flatten().for_each(|&node| {
            assert!((node as usize) < nodes, "a node");
            parts_of[node as usize] = 2.min(parts_of[node as usize] + 1);
        });
        let is_alone = |node: u32| parts_of[node as usize] == 1;

        let mut local = vec![0_u16; list.len()];
        let of_places = local.par_chunks_mut(batches_a_part * places_a_batch).zip(lists);
        of_places.zip(&mut of_parts).for_each(|((local, list), nodes)| {
            let (alone, others): (Vec<u32>, Vec<u32>) = nodes.iter().partition(|&&node| is_alone(node));
            for (local, node) in local.iter_mut().zip(list) {
                *local = match (alone.binary_search(node), others.binary_search(node)) {
                    (Ok(number), _) => number as u16,
                    (_, Ok(number)) => (alone.len() + number) as u16,
                    _ => NOBODY,
                };
            }
            *nodes = alone;
            nodes.extend(others);
        });

        let mut parts = Vec::new();
        let (mut begin, mut first_term) = (0, 0);
        for nodes in &of_parts {
            let alone_end = begin + nodes.partition_point(|&node| is_alone(node));
            let end = begin + nodes.len();
            parts.push(Part { begin, alone_end, end, first_term });
            (begin, first_term) = (end, first_term + end - alone_end);
        }
        let nodes_of_parts: Vec<u32> = of_parts.concat();

        let rows: Vec<u32> = (0..nodes as u32).filter(|&node| !is_alone(node)).collect();
        let others = || parts.iter().flat_map(|part| &nodes_of_parts[part.alone_end..part.end]);
        let row = |node: &u32| rows.binary_search(node).expect("a node of several parts");
        let mut first = vec![0; rows.len() + 1];
        others().for_each(|node| first[row(node) + 1] += 1);
        (0..rows.len()).for_each(|row| first[row + 1] += first[row]);
        let mut next = first.clone();
        let mut terms = vec![0; first_term];
        for (term, node) in others().enumerate() {
            let next = &mut next[row(node)];
            terms[*next as usize] = term as u32;
            *next += 1;
        }
        let batches = list.len() / places_a_batch;
        Self { nodes, batches, places_a_batch, batches_a_part, local, nodes_of_parts, parts, rows, first, terms }
    }

    /// Bytes of them at most, with those of the sums of parts, for numbers of so many bytes.
    pub const fn bytes(places: usize, bytes_of_number: usize) -> usize {
        places * (size_of::<u16>() + 2 * size_of::<u32>() + bytes_of_number)
    }

    /// Batches.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// Places.
    pub fn places(&self) -> usize {
        self.local.len()
    }

    /// Sums of parts at nodes of the second pass.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// `y_i = f(i, sum_p v_p)` over the places `p` of each node `i` below the length of `y`: `kernel` makes the values `v` of the
    /// batches that are named, or of all, from those of `x` at their nodes, `finish` is `f`, and `of_parts` is scratch.
    ///
    /// # Panics
    /// If a vector is not as long as it must be, or there is no batch of a number.
    pub(super) fn sum<T: Vectorized>(
        &self,
        sweep: Sweep,
        kernel: &impl PartKernel<T>,
        batches: Option<&[u32]>,
        x: &[T],
        Sums { of_parts, y, finish }: Sums<T>,
    ) {
        assert!(x.len() >= self.nodes && y.len() <= self.nodes && of_parts.len() == self.terms());
        assert!(
            batches.is_none_or(|batches| batches.is_sorted() && batches.iter().all(|&b| (b as usize) < self.batches))
        );
        let (len, of_parts) = (y.len(), Shared::new(of_parts));
        let result = Target { len, y: Shared::new(y), finish };
        sweep.share_out_by(1, self.parts.len(), self.batches_a_part * self.places_a_batch, &|range| {
            sweep.simd.dispatch(Chunk { parts: self, range, kernel, batches, x, of_parts, result });
        });
        let rows = self.rows.partition_point(|&node| (node as usize) < len);
        sweep.share_out_by(ROWS_A_TASK, rows, 1, &|range| {
            let mut sums = [T::ZERO; ROWS_A_TASK];
            for begin in range.clone().step_by(ROWS_A_TASK) {
                let rows = begin..range.end.min(begin + ROWS_A_TASK);
                let sums = &mut sums[..rows.len()];
                for (sum, row) in sums.iter_mut().zip(rows.clone()) {
                    let terms = &self.terms[self.first[row] as usize..self.first[row + 1] as usize];
                    // SAFETY: terms are below the length of `of_parts`, to which nobody writes now.
                    let value = |&term: &u32| unsafe { *of_parts.pointer().add(term as usize) };
                    *sum = terms.iter().map(value).fold(T::ZERO, |sum, value| sum + value);
                }
                // SAFETY: no part has these nodes alone, and they are in the range of one task alone.
                unsafe { result.write(&self.rows[rows], sums) };
            }
        });
    }
}

/// Where sums go.
pub struct Sums<'a, T> {
    /// [`Parts::terms`] numbers, whose values mean nothing.
    pub of_parts: &'a mut [T],
    /// The result.
    pub y: &'a mut [T],
    /// What becomes of sums.
    pub finish: Finish<'a, T>,
}

/// Work on the batches of a part.
pub(super) trait PartKernel<T: Vectorized>: Sync {
    /// Adds the values of each batch's places to `sums`, from `x`: both have the part's nodes by their local numbers, and so have
    /// the places.
    fn add<S: Simd>(&self, batches: Batches, local: &[u16], x: &[T; LOCAL], sums: &mut [T; LOCAL]);
}

/// Some batches.
#[derive(Clone, Copy)]
pub(super) struct Batches<'a> {
    first: usize,
    len: usize,
    selected: Option<&'a [u32]>,
}

impl Batches<'_> {
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn get(&self, index: usize) -> usize {
        self.selected.map_or(self.first + index, |selected| selected[index] as usize)
    }
}

/// Parts that a thread does.
struct Chunk<'a, T, K> {
    parts: &'a Parts,
    range: Range<usize>,
    kernel: &'a K,
    batches: Option<&'a [u32]>,
    x: &'a [T],
    of_parts: Shared<T>,
    result: Target<'a, T>,
}

/// The result, to which all threads write.
#[derive(Clone, Copy)]
struct Target<'a, T> {
    y: Shared<T>,
    /// Of `y`.
    len: usize,
    finish: Finish<'a, T>,
}

impl<T: Copy> Target<'_, T> {
    /// Writes the sums at those of the ascending `nodes` that `y` has.
    ///
    /// # Safety
    /// `nodes` must ascend, and no other thread may write to them now.
    #[inline(always)]
    unsafe fn write(&self, nodes: &[u32], sums: &mut [T]) {
        let nodes = &nodes[..nodes.partition_point(|&node| (node as usize) < self.len)];
        let sums = &mut sums[..nodes.len()];
        (self.finish)(nodes, sums);
        for (&node, &sum) in nodes.iter().zip(&*sums) {
            // SAFETY: below the length of `y` as `nodes` ascend, and the caller's.
            unsafe { *self.y.pointer().add(node as usize) = sum };
        }
    }
}

impl<T: Vectorized, K: PartKernel<T>> WithSimd for Chunk<'_, T, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut memory = WORKSPACE.take();
        let [own_x, sums] = workspace::<[[[T; LOCAL / 256]; 256]; 2]>(&mut memory);
        let [own_x, sums] =
            [own_x, sums].map(|numbers| <&mut [T; LOCAL]>::try_from(numbers.as_flattened_mut()).unwrap());
        for part in self.range.clone() {
            let Part { begin, alone_end, end, first_term } = self.parts.parts[part];
            let nodes = &self.parts.nodes_of_parts[begin..end];
            sums[..nodes.len()].fill(T::ZERO);
            let batches = self.batches_of(part);
            if batches.len() > 0 {
                for (own, &node) in own_x.iter_mut().zip(nodes) {
                    *own = self.x[node as usize];
                }
                own_x[NOBODY as usize] = T::ZERO;
                self.kernel.add::<S>(batches, &self.parts.local, own_x, sums);
            }
            let (sums, others) = sums[..nodes.len()].split_at_mut(alone_end - begin);
            for (term, &sum) in others.iter().enumerate() {
                // SAFETY: each part has terms of its own.
                unsafe { *self.of_parts.pointer().add(first_term + term) = sum };
            }
            // SAFETY: no other part has these nodes, and they are not in the second pass.
            unsafe { self.result.write(&nodes[..sums.len()], sums) };
        }
        WORKSPACE.set(memory);
    }
}

impl<T, K> Chunk<'_, T, K> {
    fn batches_of(&self, part: usize) -> Batches<'_> {
        let Parts { batches, batches_a_part, .. } = *self.parts;
        let range = part * batches_a_part..batches.min((part + 1) * batches_a_part);
        match self.batches {
            None => Batches { first: range.start, len: range.len(), selected: None },
            Some(all) => {
                let before = |end: usize| all.partition_point(|&batch| (batch as usize) < end);
                let selected = &all[before(range.start)..before(range.end)];
                Batches { first: 0, len: selected.len(), selected: Some(selected) }
            }
        }
    }
}
