//! Where cells lie: polynomial mappings.

use super::cell::{Cell, bit};
use super::coarse::CoarseMesh;
use super::entities::{digit, dimension, position};
use super::leaves::Forest;
use super::manifold::{Manifold, linear_mean};
use crate::error::Result;
use crate::fe::Element;
use crate::memory;
use glam::DVec3;
use rayon::prelude::*;

/// Polynomial mappings of degree `m` from `[0, 1]^dim` to cells of a forest, each given by the positions of its Gauss-Lobatto
/// nodes.
///
/// Vertices follow from refinement, as in deal.II: the new vertex of an edge, a face or a cell is the mean of the points
/// around it on its [`Manifold`]. Nodes on edges lie on the manifold of these. Inside of faces and cells they do so if all
/// edges and faces around are on the same manifold; otherwise they come from those around by transfinite interpolation (Gordon
/// and Hall, *International Journal for Numerical Methods in Engineering* 7, 1973, 461-477). A hanging edge on a curved manifold
/// is not quite on the polynomial of the coarser cell.
///
/// Where the cells of the coarse mesh have maps of degree 2, nodes and vertices lie on these: from `m = 2` on a mapping is the
/// same map.
#[derive(Clone, Debug)]
pub struct Mapping {
    degree: usize,
    nodes: usize,
    positions: Vec<DVec3>,
}

/// Cells that a task takes, with a walk of its own from the roots.
const CELLS_A_TASK: usize = 256;

impl Mapping {
    /// Of some cells, leaves or others. It is fastest in Morton order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a degree that elements cannot have;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(forest: &Forest, cells: &[Cell], degree: usize) -> Result<Self> {
        let element = Element::new(degree)?;
        let nodes = (degree + 1).pow(forest.dim() as u32);
        memory::check((cells.len() * nodes * size_of::<DVec3>()) as u64)?;
        let mut positions = vec![DVec3::ZERO; cells.len() * nodes];
        let tasks = positions.par_chunks_mut(CELLS_A_TASK * nodes).zip(cells.par_chunks(CELLS_A_TASK));
        tasks.for_each(|(positions, cells)| {
            let mut path = Path::new(forest.coarse());
            for (positions, cell) in positions.chunks_exact_mut(nodes).zip(cells) {
                if let Some(map) = forest.coarse().quadratic(cell.tree as usize) {
                    map.points(cell, element.nodes(), positions);
                    continue;
                }
                let corners = path.corners(cell);
                Patch::new(forest.coarse(), cell).nodes(&corners, element.nodes(), positions);
            }
        });
        Ok(Self { degree, nodes, positions })
    }

    /// Polynomial degree `m`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Where the same mappings have the Gauss-Lobatto nodes of another degree.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn at_degree(&self, degree: usize) -> Result<Self> {
        let (from, to) = (Element::new(self.degree)?, Element::new(degree)?);
        let rows: Vec<Vec<f64>> = to.nodes().iter().map(|&x| from.values(x)).collect();
        let (n, m) = (self.degree + 1, degree + 1);
        let dim = if self.nodes == n * n { 2 } else { 3 };
        let nodes = m.pow(dim);
        memory::check((self.positions.len() / self.nodes * nodes * size_of::<DVec3>()) as u64)?;
        let mut positions = Vec::with_capacity(self.positions.len() / self.nodes * nodes);
        for cell in self.positions.chunks_exact(self.nodes) {
            positions.extend((0..nodes).map(|i| {
                let weight = |j: usize| {
                    let z = if dim == 3 { rows[i / m / m][j / n / n] } else { 1.0 };
                    rows[i % m][j % n] * rows[i / m % m][j / n % n] * z
                };
                cell.iter().enumerate().map(|(j, &position)| weight(j) * position).sum::<DVec3>()
            }));
        }
        Ok(Self { degree, nodes, positions })
    }

    /// Positions of the nodes of a cell, `(m + 1)^dim`, in lexicographic order, x fastest.
    ///
    /// # Panics
    /// Unless there is such a cell.
    pub fn positions(&self, cell: usize) -> &[DVec3] {
        &self.positions[self.nodes * cell..self.nodes * (cell + 1)]
    }
}

/// Vertices of a cell, by number; in 2D the first four.
type Corners = [DVec3; 8];

/// The cells from a root to the one that was asked for last, with their vertices.
struct Path<'a> {
    coarse: &'a CoarseMesh,
    cells: Vec<(Cell, Corners)>,
}

impl<'a> Path<'a> {
    fn new(coarse: &'a CoarseMesh) -> Self {
        Self { coarse, cells: Vec::new() }
    }

    /// Vertices of a cell.
    fn corners(&mut self, cell: &Cell) -> Corners {
        let ancestor = |level: u8| {
            let anchor = cell.anchor.map(|x| x >> (cell.level - level));
            Cell { tree: cell.tree, level, anchor }
        };
        let known =
            |(level, (own, _)): (usize, &(Cell, Corners))| level as u8 <= cell.level && *own == ancestor(level as u8);
        let common = self.cells.iter().enumerate().take_while(|entry| known(*entry)).count();
        self.cells.truncate(common);
        if self.cells.is_empty() {
            let mut corners = [DVec3::ZERO; 8];
            let numbers = self.coarse.cell(cell.tree as usize).iter();
            corners.iter_mut().zip(numbers).for_each(|(to, &vertex)| *to = self.coarse.vertices()[vertex as usize]);
            self.cells.push((ancestor(0), corners));
        }
        loop {
            let (parent, corners) = self.cells[self.cells.len() - 1];
            if parent.level == cell.level {
                return corners;
            }
            let child = ancestor(parent.level + 1);
            let points = Patch::new(self.coarse, &parent).refined(&corners);
            let number = child.child_number();
            let mut of_child = [DVec3::ZERO; 8];
            for (corner, point) in of_child.iter_mut().enumerate().take(1 << self.coarse.dim()) {
                let digits = [0, 1, 2].map(|d| (bit(corner, d) + bit(number, d)) as usize);
                *point = points[position(digits)];
            }
            self.cells.push((child, of_child));
        }
    }
}

/// The manifolds of a cell, its faces and edges, by position; none is flat.
struct Patch<'a> {
    dim: usize,
    manifolds: [Option<&'a Manifold>; 27],
    /// The one that all are on, if they are.
    common: Common<'a>,
}

enum Common<'a> {
    Flat,
    One(&'a Manifold),
    Several,
}

impl<'a> Patch<'a> {
    fn new(coarse: &'a CoarseMesh, cell: &Cell) -> Self {
        let dim = coarse.dim();
        let mut manifolds = [None; 27];
        let positions = (0..3_usize.pow(dim as u32)).filter(|&position| dimension(position) > 0);
        if coarse.is_curved(cell.tree as usize) {
            let end = 1 << cell.level;
            for at in positions.clone() {
                // Position in the tree of the entity in whose interior it lies.
                let in_tree = [0, 1, 2].map(|d| match (digit(at, d), cell.anchor[d]) {
                    _ if d >= dim => 0,
                    (0, 0) => 0,
                    (2, anchor) if anchor + 1 == end => 2,
                    _ => 1,
                });
                manifolds[at] = coarse.manifold(cell.tree as usize, position(in_tree));
            }
        }
        let whole = manifolds[position([1, 1, if dim == 3 { 1 } else { 0 }])];
        let is_same = |at: usize| match (manifolds[at], whole) {
            (None, None) => true,
            (Some(own), Some(whole)) => std::ptr::eq(own, whole),
            _ => false,
        };
        let common = match whole {
            _ if !positions.clone().all(is_same) => Common::Several,
            None => Common::Flat,
            Some(manifold) => Common::One(manifold),
        };
        Self { dim, manifolds, common }
    }

    fn mean(&self, position: usize, points: &[DVec3], weights: &[f64]) -> DVec3 {
        match self.manifolds[position] {
            Some(manifold) => manifold.mean(points, weights),
            None => linear_mean(points, weights),
        }
    }

    /// Vertices and new vertices, `3^dim` by position.
    fn refined(&self, corners: &Corners) -> [DVec3; 27] {
        let mut refined = [DVec3::ZERO; 27];
        self.interpolated(corners, &[0.0, 0.5, 1.0], &mut refined[..3_usize.pow(self.dim as u32)]);
        refined
    }

    /// Positions of nodes, which have these coordinates in each direction, the ends among them.
    fn nodes(&self, corners: &Corners, along: &[f64], nodes: &mut [DVec3]) {
        let mean: &dyn Fn(&[DVec3], &[f64]) -> DVec3 = match self.common {
            Common::Flat => &linear_mean,
            Common::One(manifold) => &|points, weights| manifold.mean(points, weights),
            Common::Several => return self.interpolated(corners, along, nodes),
        };
        let corners = &corners[..1 << self.dim];
        let mut weights = [0.0; 8];
        for (node, to) in nodes.iter_mut().enumerate() {
            let index = index(node, along.len());
            for (corner, weight) in weights.iter_mut().enumerate().take(corners.len()) {
                let factor = |d: usize| if bit(corner, d) == 1 { along[index[d]] } else { 1.0 - along[index[d]] };
                *weight = (0..self.dim).map(factor).product();
            }
            *to = mean(corners, &weights[..corners.len()]);
        }
    }

    /// The same, nodes on edges from vertices, those in faces from edges and vertices, and so on.
    fn interpolated(&self, corners: &Corners, along: &[f64], nodes: &mut [DVec3]) {
        let n = along.len();
        let place =
            |node: usize| position(index(node, n).map(|i| if i == 0 { 0 } else { 1 + usize::from(i == n - 1) }));
        for of_dimension in 0..=self.dim {
            for node in (0..nodes.len()).filter(|&node| dimension(place(node)) == of_dimension) {
                let index = index(node, n);
                nodes[node] = match of_dimension {
                    0 => corners[(0..self.dim).map(|d| usize::from(index[d] > 0) << d).sum::<usize>()],
                    _ => self.transfinite(place(node), index, along, nodes),
                };
            }
        }
    }

    /// From nodes on the ends of an edge, a face or a cell: `sum_S (-1)^(|S| + 1) sum_ends prod_(d in S) w_d x`, over sets `S` of
    /// its directions, the point `x` being at the ends in these.
    fn transfinite(&self, at: usize, index: [usize; 3], along: &[f64], nodes: &[DVec3]) -> DVec3 {
        let n = along.len();
        let (mut points, mut weights) = (Vec::new(), Vec::new());
        for ends in 0..27 {
            // 0 and 2: at that end; 1: not in `S`.
            let in_set = |d: usize| digit(ends, d) != 1;
            let count = (0..3).filter(|&d| in_set(d)).count();
            if count == 0 || (0..3).any(|d| in_set(d) && (d >= self.dim || digit(at, d) != 1)) {
                continue;
            }
            let (mut weight, mut from) = (if count % 2 == 1 { 1.0 } else { -1.0 }, index);
            for d in (0..3).filter(|&d| in_set(d)) {
                let upper = digit(ends, d) == 2;
                weight *= if upper { along[index[d]] } else { 1.0 - along[index[d]] };
                from[d] = if upper { n - 1 } else { 0 };
            }
            points.push(nodes[from[0] + n * (from[1] + n * from[2])]);
            weights.push(weight);
        }
        self.mean(at, &points, &weights)
    }
}

/// Of a node among `n` in each direction.
fn index(node: usize, n: usize) -> [usize; 3] {
    [node % n, node / n % n, node / n / n]
}
