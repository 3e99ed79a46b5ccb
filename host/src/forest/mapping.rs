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
use std::borrow::Cow;

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
    dim: usize,
    degree: usize,
    /// Nodes of a cell.
    nodes: usize,
    /// Of its nodes, or of its vertices if all cells are straight.
    positions: Vec<DVec3>,
    /// Weights of the vertices at each node, if all cells are straight: multilinear maps of their vertices.
    straight: Option<Weights>,
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
        let (coarse, element) = (forest.coarse(), Element::new(degree)?);
        let nodes = (degree + 1).pow(forest.dim() as u32);
        let straight = coarse.is_straight().then(|| Weights::new(forest.dim(), element.nodes()));
        let stored = if straight.is_some() { 1 << forest.dim() } else { nodes };
        memory::check((cells.len() * stored * size_of::<DVec3>()) as u64)?;
        let mut positions: Vec<DVec3> = memory::zeros(cells.len() * stored)?;
        let tables = Tables::new(forest.dim(), element.nodes());
        let tasks = positions.par_chunks_mut(CELLS_A_TASK * stored).zip(cells.par_chunks(CELLS_A_TASK));
        tasks.for_each(|(positions, cells)| {
            let mut path = Path::new(coarse, &tables);
            for (positions, cell) in positions.chunks_exact_mut(stored).zip(cells) {
                if let Some(map) = coarse.quadratic(cell.tree as usize) {
                    map.points(cell, element.nodes(), positions);
                    continue;
                }
                let corners = path.corners(cell);
                match straight {
                    Some(_) => positions.copy_from_slice(&corners[..stored]),
                    None => Patch::new(coarse, cell).nodes(&corners, &tables, positions),
                }
            }
        });
        Ok(Self { dim: forest.dim(), degree, nodes, positions, straight })
    }

    /// Polynomial degree `m`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The least degree at which all of the mappings are given, and the positions of its nodes in a cell.
    pub(crate) fn at_least_degree(&self, cell: usize) -> (usize, &[DVec3]) {
        let (degree, nodes) = self.straight.as_ref().map_or((self.degree, self.nodes), |weights| (1, weights.corners));
        (degree, &self.positions[nodes * cell..nodes * (cell + 1)])
    }

    /// Where the same mappings have the Gauss-Lobatto nodes of another degree.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn at_degree(&self, degree: usize) -> Result<Self> {
        let (from, to) = (Element::new(self.degree)?, Element::new(degree)?);
        let rows: Vec<Vec<f64>> = to.nodes().iter().map(|&x| from.values(x)).collect();
        let (n, m, dim) = (self.degree + 1, degree + 1, self.dim);
        let nodes = m.pow(dim as u32);
        let cells = self.positions.len() / self.straight.as_ref().map_or(self.nodes, |weights| weights.corners);
        let mut positions: Vec<DVec3> = memory::zeros(cells * nodes)?;
        positions.par_chunks_exact_mut(nodes).enumerate().for_each(|(cell, positions)| {
            let own = self.positions(cell);
            for (i, position) in positions.iter_mut().enumerate() {
                let weight = |j: usize| {
                    let z = if dim == 3 { rows[i / m / m][j / n / n] } else { 1.0 };
                    rows[i % m][j % n] * rows[i / m % m][j / n % n] * z
                };
                *position = own.iter().enumerate().map(|(j, &position)| weight(j) * position).sum();
            }
        });
        Ok(Self { dim, degree, nodes, positions, straight: None })
    }

    /// Positions of the nodes of a cell, `(m + 1)^dim`, in lexicographic order, x fastest.
    ///
    /// # Panics
    /// Unless there is such a cell.
    pub fn positions(&self, cell: usize) -> Cow<'_, [DVec3]> {
        let stored = |count: usize| &self.positions[count * cell..count * (cell + 1)];
        match &self.straight {
            None => Cow::Borrowed(stored(self.nodes)),
            Some(weights) => {
                let corners = stored(weights.corners);
                Cow::Owned(weights.all().map(|weights| linear_mean(corners, weights)).collect())
            }
        }
    }
}

/// Values of the multilinear functions of a cell's vertices at its nodes.
#[derive(Clone, Debug)]
struct Weights {
    corners: usize,
    /// One node after the other.
    values: Vec<f64>,
}

impl Weights {
    /// At nodes with these coordinates in each direction.
    fn new(dim: usize, along: &[f64]) -> Self {
        let corners = 1 << dim;
        let of_node = |node: usize| {
            let index = index(node, along.len());
            (0..corners).map(move |corner| {
                let factor = |d: usize| if bit(corner, d) == 1 { along[index[d]] } else { 1.0 - along[index[d]] };
                (0..dim).map(factor).product()
            })
        };
        Self { corners, values: (0..along.len().pow(dim as u32)).flat_map(of_node).collect() }
    }

    fn all(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.corners)
    }
}

/// Interpolation from vertices to nodes on edges, from these into faces, and so on: `sum_S (-1)^(|S| + 1) sum_ends prod_(d in S) w_d x`
/// over sets `S` of the directions of an edge, a face or a cell, the point `x` being at the ends in these.
struct Transfinite {
    /// Nodes in an order such that each follows from earlier ones.
    steps: Vec<Step>,
}

struct Step {
    node: usize,
    /// Of the entity in whose interior it lies.
    position: usize,
    from: Vec<usize>,
    weights: Vec<f64>,
}

impl Transfinite {
    /// To nodes with these coordinates in each direction, the ends among them.
    fn new(dim: usize, along: &[f64]) -> Self {
        let n = along.len();
        let place =
            |node: usize| position(index(node, n).map(|i| if i == 0 { 0 } else { 1 + usize::from(i == n - 1) }));
        let mut steps = Vec::new();
        for of_dimension in 0..=dim {
            let nodes = (0..n.pow(dim as u32)).filter(|&node| dimension(place(node)) == of_dimension);
            steps.extend(nodes.map(|node| Step::new(dim, node, place(node), along)));
        }
        Self { steps }
    }
}

impl Step {
    fn new(dim: usize, node: usize, at: usize, along: &[f64]) -> Self {
        let (n, index) = (along.len(), index(node, along.len()));
        let (mut from_nodes, mut weights) = (Vec::new(), Vec::new());
        for ends in 0..27 {
            // 0 and 2: at that end; 1: not in `S`.
            let in_set = |d: usize| digit(ends, d) != 1;
            let count = (0..3).filter(|&d| in_set(d)).count();
            if count == 0 || (0..3).any(|d| in_set(d) && (d >= dim || digit(at, d) != 1)) {
                continue;
            }
            let (mut weight, mut from) = (if count % 2 == 1 { 1.0 } else { -1.0 }, index);
            for d in (0..3).filter(|&d| in_set(d)) {
                let upper = digit(ends, d) == 2;
                weight *= if upper { along[index[d]] } else { 1.0 - along[index[d]] };
                from[d] = if upper { n - 1 } else { 0 };
            }
            from_nodes.push(from[0] + n * (from[1] + n * from[2]));
            weights.push(weight);
        }
        Self { node, position: at, from: from_nodes, weights }
    }
}

/// What is the same for all cells.
struct Tables {
    weights: Weights,
    nodes: Transfinite,
    /// To the vertices of children.
    halves: Transfinite,
}

impl Tables {
    fn new(dim: usize, along: &[f64]) -> Self {
        Self {
            weights: Weights::new(dim, along),
            nodes: Transfinite::new(dim, along),
            halves: Transfinite::new(dim, &[0.0, 0.5, 1.0]),
        }
    }
}

/// Vertices of a cell, by number; in 2D the first four.
type Corners = [DVec3; 8];

/// The cells from a root to the one that was asked for last, with their vertices.
struct Path<'a> {
    coarse: &'a CoarseMesh,
    tables: &'a Tables,
    cells: Vec<(Cell, Corners)>,
}

impl<'a> Path<'a> {
    fn new(coarse: &'a CoarseMesh, tables: &'a Tables) -> Self {
        Self { coarse, tables, cells: Vec::new() }
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
            let points = Patch::new(self.coarse, &parent).refined(&corners, self.tables);
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
    fn refined(&self, corners: &Corners, tables: &Tables) -> [DVec3; 27] {
        let mut refined = [DVec3::ZERO; 27];
        self.interpolated(corners, &tables.halves, &mut refined[..3_usize.pow(self.dim as u32)]);
        refined
    }

    /// Positions of nodes.
    fn nodes(&self, corners: &Corners, tables: &Tables, nodes: &mut [DVec3]) {
        let (corners, weights) = (&corners[..1 << self.dim], &tables.weights);
        match self.common {
            Common::Flat => {
                nodes.iter_mut().zip(weights.all()).for_each(|(node, weights)| *node = linear_mean(corners, weights));
            }
            Common::One(manifold) => manifold.means(corners, &weights.values, nodes),
            Common::Several => self.interpolated(corners, &tables.nodes, nodes),
        }
    }

    fn interpolated(&self, corners: &[DVec3], transfinite: &Transfinite, nodes: &mut [DVec3]) {
        let mut points = [DVec3::ZERO; 26];
        // Vertices are the first steps, in the order of their numbers.
        let (vertices, others) = transfinite.steps.split_at(1 << self.dim);
        vertices.iter().zip(corners).for_each(|(step, &corner)| nodes[step.node] = corner);
        for step in others {
            points.iter_mut().zip(&step.from).for_each(|(point, &from)| *point = nodes[from]);
            nodes[step.node] = self.mean(step.position, &points[..step.from.len()], &step.weights);
        }
    }
}

/// Of a node among `n` in each direction.
fn index(node: usize, n: usize) -> [usize; 3] {
    [node % n, node / n % n, node / n / n]
}
