//! From the next coarser mesh and to it.

use super::cell::{CellShape, Workspace};
use super::mesh::Mesh;
use super::transposed::{NONE, Transposed};
use crate::backend::Scalar;
use crate::error::{Result, invalid};
use crate::forest::{CellNodes, Forest};
use crate::memory;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The prolongation `P`: a function of the coarser mesh, on the finer one. A refined cell has its values at the nodes of its
/// children, `(2k + 1)^dim`; each node takes them from one cell. Nodes of cells that stay are nodes of both.
#[derive(Debug)]
pub(super) struct Transfer {
    coarse: Arc<Mesh>,
    /// Refined cells of the coarser mesh.
    families: Vec<u32>,
    /// For each, the unknowns of the finer mesh that take their values there, or [`NONE`].
    targets: Vec<u32>,
    targets_a_family: usize,
    /// For each node of the coarser mesh, the same on the finer one if both are unknowns, or [`NONE`].
    same: Vec<u32>,
    /// Where each node of the finer mesh takes its value: its place in `targets`, or behind these its node of the coarser mesh, or
    /// [`NONE`].
    sources: Vec<u32>,
    /// From the nodes that families read.
    gather: Transposed,
}

/// Refined cells of a coarser forest, each with the first of its children on the finer one, and cells that stay.
pub(super) fn families<'a>(coarse: &'a Forest, fine: &'a Forest) -> impl Iterator<Item = (usize, usize, bool)> + 'a {
    let mut next = 0;
    coarse.leaves().iter().enumerate().map(move |(cell, leaf)| {
        let (first, is_refined) = (next, fine.leaves()[next].level > leaf.level);
        next += if is_refined { 1 << coarse.dim() } else { 1 };
        (cell, first, is_refined)
    })
}

/// Where a family, `(2k + 1)^dim`, has a node of a child.
pub(super) fn place_in_family(k: usize, child: usize, node: usize) -> usize {
    let (n, n_family) = (k + 1, 2 * k + 1);
    let [x, y, z] = [0, 1, 2].map(|d| node / n.pow(d) % n + (child >> d & 1) * k);
    x + n_family * (y + n_family * z)
}

/// A list that threads set entries of, at first [`NONE`].
struct Shared(Vec<AtomicU32>);

impl Shared {
    fn new(len: usize) -> Result<Self> {
        memory::check((len * size_of::<u32>()) as u64)?;
        Ok(Self((0..len).into_par_iter().map(|_| NONE.into()).collect()))
    }

    /// Those that set the same entry set the same number.
    fn set(&self, at: u32, number: u32) {
        self.0[at as usize].store(number, Relaxed);
    }

    /// The least number that any sets stays.
    fn set_least(&self, at: u32, number: u32) {
        self.0[at as usize].fetch_min(number, Relaxed);
    }

    fn get(&self, at: u32) -> u32 {
        self.0[at as usize].load(Relaxed)
    }

    fn into_inner(self) -> Vec<u32> {
        self.0.into_par_iter().map(AtomicU32::into_inner).collect()
    }
}

impl Transfer {
    pub fn new(coarse: &Arc<Mesh>, fine: &Mesh) -> Result<Self> {
        let (dim, k, nodes_a_cell) = (fine.dim(), fine.degree(), fine.cells().nodes_a_cell());
        let targets_a_family = (2 * k + 1).pow(dim as u32);
        let (coarse_nodes, fine_nodes) = (coarse.kinds().len(), fine.kinds().len());
        let (mut refined, mut stay) = (Vec::new(), Vec::new());
        for (cell, first, is_refined) in families(coarse.forest(), fine.forest()) {
            if is_refined { &mut refined } else { &mut stay }.push((cell as u32, first));
        }
        let targets_of_all = targets_a_family * refined.len();
        let places = targets_of_all + coarse_nodes;
        if places >= NONE as usize {
            return Err(invalid("the number of places that nodes take values from", places, "below 2^32 - 1"));
        }
        let same = Shared::new(coarse_nodes)?;
        let sources = Shared::new(fine_nodes)?;
        // Cells that have a node in common say the same.
        stay.par_iter().for_each(|&(cell, first)| {
            for (node, own) in coarse.numbering().leaf_nodes(cell as usize).zip(fine.numbering().leaf_nodes(first)) {
                if fine.kinds()[own as usize].is_unknown() {
                    same.set(node, own);
                    sources.set(own, targets_of_all as u32 + node);
                }
            }
        });
        let places: Vec<Vec<usize>> = (0..1 << dim)
            .map(|child| (0..nodes_a_cell).map(|node| place_in_family(k, child, node)).collect())
            .collect();
        let mut targets: Vec<u32> = memory::zeros(targets_of_all)?;
        let of_families = targets.par_chunks_exact_mut(targets_a_family).zip(&refined).enumerate();
        of_families.for_each(|(family, (targets, &(_, first)))| {
            targets.fill(NONE);
            for (leaf, places) in (first..).zip(&places) {
                for (node, &place) in fine.numbering().leaf_nodes(leaf).zip(places) {
                    // A cell that stays has said so above.
                    let stays = (targets_of_all as u32..NONE).contains(&sources.get(node));
                    if fine.kinds()[node as usize].is_unknown() && !stays {
                        targets[place] = node;
                        sources.set_least(node, (targets_a_family * family + place) as u32);
                    }
                }
            }
        });
        // The first of all places takes the node.
        targets.par_iter_mut().enumerate().for_each(|(place, target)| {
            if *target != NONE && sources.get(*target) != place as u32 {
                *target = NONE;
            }
        });
        let mut read: Vec<u32> = memory::zeros(nodes_a_cell * refined.len())?;
        let of_families = read.par_chunks_exact_mut(nodes_a_cell).zip(&refined);
        of_families.for_each(|(read, &(cell, _))| read.copy_from_slice(coarse.cells().of(cell as usize)));
        let gather = Transposed::new(&read, coarse_nodes)?;
        Ok(Self {
            coarse: coarse.clone(),
            families: refined.into_iter().map(|(cell, _)| cell).collect(),
            targets,
            targets_a_family,
            same: same.into_inner(),
            sources: sources.into_inner(),
            gather,
        })
    }

    /// Length of vectors on the coarser mesh.
    pub fn coarse_storage(&self) -> usize {
        self.same.len()
    }

    /// Refined cells of the coarser mesh, and for each the nodes of the finer one that take their values there, or [`NONE`].
    #[cfg(feature = "cuda")]
    pub fn families(&self) -> impl IndexedParallelIterator<Item = (u32, &[u32])> {
        self.families.par_iter().copied().zip(self.targets.par_chunks_exact(self.targets_a_family))
    }

    /// For each node of the coarser mesh, the same on the finer one, or [`NONE`].
    #[cfg(feature = "cuda")]
    pub fn same(&self) -> &[u32] {
        &self.same
    }

    /// From the places of families to nodes of the coarser mesh.
    #[cfg(feature = "cuda")]
    pub fn gather(&self) -> &Transposed {
        &self.gather
    }

    /// The coarser mesh.
    #[cfg(feature = "cuda")]
    pub fn coarse(&self) -> &Mesh {
        &self.coarse
    }

    fn cells(&self) -> &CellNodes {
        self.coarse.cells()
    }

    /// `x += P coarse`, with memory for what families have.
    pub fn prolongate_add<T: Scalar>(&self, shape: &CellShape<T>, coarse: &[T], x: &mut [T], values: &mut Vec<T>) {
        values.resize(self.targets.len(), T::ZERO);
        let families = self.families.par_iter().zip(values.par_chunks_exact_mut(self.targets_a_family));
        families.for_each_init(
            || (Vec::new(), Workspace::default()),
            |(u, workspace), (&cell, values)| {
                u.clear();
                u.extend(self.cells().of(cell as usize).iter().map(|&node| coarse[node as usize]));
                if let Some(lines) = self.cells().hanging_of(cell as usize) {
                    shape.interpolate(lines, u);
                }
                shape.prolongate(u, workspace);
                values.copy_from_slice(u);
            },
        );
        let value = |place: usize| values.get(place).copied().unwrap_or_else(|| coarse[place - values.len()]);
        x.par_iter_mut().zip(&self.sources).with_min_len(1 << 12).for_each(|(x, &source)| {
            if source != NONE {
                *x = *x + value(source as usize);
            }
        });
    }

    /// `coarse = Pᵀ r`, with memory for what families have.
    pub fn restrict<T: Scalar>(&self, shape: &CellShape<T>, r: &[T], coarse: &mut [T], sums: &mut Vec<T>) {
        let nodes = self.cells().nodes_a_cell();
        sums.resize(self.targets.len(), T::ZERO);
        let sums = &mut sums[..nodes * self.families.len()];
        let families = self.families.par_iter().zip(self.targets.par_chunks_exact(self.targets_a_family));
        families.zip(sums.par_chunks_exact_mut(nodes)).for_each_init(
            || (Vec::new(), Workspace::default()),
            |(u, workspace), ((&cell, targets), sums)| {
                u.clear();
                u.extend(targets.iter().map(|&target| if target == NONE { T::ZERO } else { r[target as usize] }));
                shape.restrict(u, workspace);
                if let Some(lines) = self.cells().hanging_of(cell as usize) {
                    shape.interpolate_transposed(lines, u);
                }
                sums.copy_from_slice(u);
            },
        );
        let kinds = self.coarse.kinds();
        self.gather.gather(sums, coarse, |node, sum| match self.same[node] {
            _ if !kinds[node].is_unknown() => T::ZERO,
            NONE => sum,
            own => r[own as usize] + sum,
        });
    }
}
