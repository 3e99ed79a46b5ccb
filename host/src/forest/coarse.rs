//! Coarse meshes and what is refused.

use super::cell::bit;
use super::checks::{Flaw, check_contacts, check_faces, check_jacobian, check_vertices};
use super::entities::{Entities, digit, position};
use super::manifold::Manifold;
use super::quadratic::Quadratic;
use crate::error::{Result, invalid};
use glam::DVec3;
use std::collections::BTreeSet;

/// A conforming mesh of quadrilaterals (2D) or hexahedra (3D), whose cells become the trees of a [`Forest`](super::Forest).
///
/// The vertices of a cell are in lexicographic order, x fastest: bit `d` of a vertex's place in the list says whether the
/// vertex is at the upper end of the cell in direction `d`. Face `2 d + s` of a cell is at its lower (`s = 0`) or upper
/// (`s = 1`) end in direction `d`. The map of a cell is the multilinear one, unless edges, faces or the cell itself are on a
/// [`Manifold`], or the cells of a file have nodes on their edges ([`CoarseMesh::from_gmsh`]).
#[derive(Clone, Debug)]
pub struct CoarseMesh {
    dim: usize,
    vertices: Vec<DVec3>,
    /// `2^dim` vertex numbers a cell.
    cells: Vec<u32>,
    /// `3^dim` a cell, which its map of degree 2 goes through; none if all maps are multilinear.
    nodes: Vec<DVec3>,
    entities: Entities,
    /// By number of the entity; of faces that are no boundary and of all other entities it is 0.
    boundary: Vec<u32>,
    /// What entities are on.
    manifolds: Vec<Manifold>,
    /// By number of the entity, the manifold; [`FLAT`] for none.
    manifold_of: Vec<u8>,
}

/// No manifold.
const FLAT: u8 = u8::MAX;

impl CoarseMesh {
    /// Cells that a coarse mesh may have at most: 27 entities each have numbers of 32 bits.
    pub(super) const MOST_CELLS: usize = 1 << 26;

    /// From vertices, which have `z = 0` in 2D, and `2^dim` vertex numbers a cell, one cell after the other.
    ///
    /// Cells meet where they have vertex numbers in common. Two vertices may have the same coordinates: along a slit.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) that says which cell or vertex, unless
    /// - `dim` is 2 or 3, there is a cell, and each cell has `2^dim` different vertex numbers below the number of vertices;
    /// - coordinates are finite, in 2D with `z = 0`, and each vertex belongs to a cell;
    /// - the Jacobian determinant of each cell's map is positive at all its vertices, which in 3D does not exclude that it is
    ///   negative in between;
    /// - the common vertices of two cells are those of one vertex, edge or face of both, and a face belongs to one cell, or to
    ///   two that lie on different sides of it.
    pub fn new(dim: usize, vertices: Vec<DVec3>, cells: Vec<u32>) -> Result<Self> {
        check_dim(dim)?;
        if cells.is_empty() || !cells.len().is_multiple_of(1 << dim) || cells.len() >> dim > Self::MOST_CELLS {
            let allowed = format_args!("{} numbers for each of 1 to {} cells", 1 << dim, Self::MOST_CELLS);
            return Err(invalid("the length of the list of cells", cells.len(), allowed));
        }
        check_vertices(dim, &vertices, &cells)?;
        for (number, cell) in cells.chunks_exact(1 << dim).enumerate() {
            check_jacobian(dim, &vertices, number, cell)?;
        }
        Self::connected(dim, vertices, cells, Vec::new()).map_err(|flaw| flaw.error())
    }

    /// The same of vertices and cells that are known to be allowed one by one, with `3^dim` nodes of each cell, or with none.
    pub(super) fn connected(
        dim: usize,
        vertices: Vec<DVec3>,
        cells: Vec<u32>,
        nodes: Vec<DVec3>,
    ) -> Result<Self, Flaw> {
        check_contacts(dim, vertices.len(), &cells)?;
        let entities = Entities::new(dim, vertices.len(), &cells);
        check_faces(dim, &entities, &cells)?;
        let (boundary, manifold_of) = (vec![0; entities.count()], vec![FLAT; entities.count()]);
        Ok(Self { dim, vertices, cells, nodes, entities, boundary, manifolds: Vec::new(), manifold_of })
    }

    /// 2 or 3.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len() >> self.dim
    }

    /// Coordinates of the vertices.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// Vertex numbers of a cell.
    ///
    /// # Panics
    /// Unless there is such a cell.
    pub fn cell(&self, cell: usize) -> &[u32] {
        &self.cells[cell << self.dim..(cell + 1) << self.dim]
    }

    /// Image of a point `x` in `[0, 1]^dim`: `sum_v v prod_d (x_d or 1 - x_d)` over the vertices of a cell, or by its map of
    /// degree 2.
    ///
    /// # Panics
    /// Unless there is such a cell.
    pub fn point(&self, cell: usize, x: [f64; 3]) -> DVec3 {
        if let Some(map) = self.quadratic(cell) {
            return map.point(x);
        }
        let weight =
            |corner| (0..self.dim).map(|d| if bit(corner, d) == 1 { x[d] } else { 1.0 - x[d] }).product::<f64>();
        let vertices = self.cell(cell).iter().enumerate();
        vertices.map(|(corner, &vertex)| weight(corner) * self.vertices[vertex as usize]).sum()
    }

    /// Number of the boundary at a face of a cell, if that is a boundary face; 0 unless it was set.
    ///
    /// # Panics
    /// Unless there is such a cell and such a face.
    pub fn boundary(&self, cell: usize, face: usize) -> Option<u32> {
        let face = self.face(cell, face);
        self.is_boundary(face).then(|| self.boundary[face as usize])
    }

    /// Numbers that boundary faces have.
    pub fn boundary_numbers(&self) -> BTreeSet<u32> {
        let faces = (0..self.cells()).flat_map(|cell| (0..2 * self.dim()).map(move |face| (cell, face)));
        faces.filter_map(|(cell, face)| self.boundary(cell, face)).collect()
    }

    /// Gives the boundary face with these vertices, in any order, a number.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if there is no such boundary face.
    pub fn set_boundary(&mut self, vertices: &[u32], number: u32) -> Result<()> {
        let Some(face) = self.face_of(vertices).filter(|&face| self.is_boundary(face)) else {
            return Err(invalid("a boundary face", format_args!("{vertices:?}"), "the vertices of a face of one cell"));
        };
        self.boundary[face as usize] = number;
        Ok(())
    }

    /// The face with these vertices, in any order.
    pub(super) fn face_of(&self, vertices: &[u32]) -> Option<u32> {
        let sorted = |mut vertices: Vec<u32>| {
            vertices.sort_unstable();
            vertices
        };
        let wanted = sorted(vertices.to_vec());
        let first = wanted.first().copied().filter(|&vertex| (vertex as usize) < self.vertices.len());
        let cells = first.into_iter().flat_map(|vertex| self.entities.trees_of(vertex));
        let mut faces = cells.flat_map(|cell| (0..2 * self.dim).map(move |face| self.face(cell, face)));
        faces.find(|&face| sorted(self.face_vertices(face)) == wanted)
    }

    /// Gives a face a number.
    pub(super) fn number_face(&mut self, face: u32, number: u32) {
        self.boundary[face as usize] = number;
    }

    /// Gives all boundary faces whose vertices have a property a number.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if there is none.
    pub fn set_boundary_where(&mut self, number: u32, is_on: impl Fn(DVec3) -> bool) -> Result<()> {
        let faces = self.boundary_faces_where(is_on);
        if faces.is_empty() {
            return Err(invalid("the number of boundary faces", format_args!("0 for number {number}"), "at least 1"));
        }
        faces.into_iter().for_each(|face| self.boundary[face as usize] = number);
        Ok(())
    }

    fn boundary_faces_where(&self, is_on: impl Fn(DVec3) -> bool) -> Vec<u32> {
        let all_are_on =
            |face: u32| self.face_vertices(face).iter().all(|&vertex| is_on(self.vertices[vertex as usize]));
        self.faces().filter(|&face| self.is_boundary(face) && all_are_on(face)).collect()
    }

    /// Puts all edges, faces and cells on a manifold.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the mesh has had 255 manifolds, or if its cells have maps of
    /// degree 2.
    pub fn set_manifold(&mut self, manifold: Manifold) -> Result<()> {
        let number = self.push_manifold(manifold)?;
        self.manifold_of.fill(number);
        Ok(())
    }

    /// Puts the boundary faces of a number on a manifold, with their edges.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if there is no boundary face of that number, and as for
    /// [`Self::set_manifold`].
    pub fn set_boundary_manifold(&mut self, boundary: u32, manifold: Manifold) -> Result<()> {
        let of_number = |face: u32| self.is_boundary(face) && self.boundary[face as usize] == boundary;
        let faces: Vec<u32> = self.faces().filter(|&face| of_number(face)).collect();
        if faces.is_empty() {
            return Err(invalid("boundary number", boundary, "that of a boundary face"));
        }
        self.set_manifold_of_faces(&faces, manifold)
    }

    /// As [`Self::set_boundary_manifold`], for boundary faces whose vertices all have a property.
    pub(super) fn set_manifold_where(&mut self, manifold: Manifold, is_on: impl Fn(DVec3) -> bool) -> Result<()> {
        self.set_manifold_of_faces(&self.boundary_faces_where(is_on), manifold)
    }

    fn set_manifold_of_faces(&mut self, faces: &[u32], manifold: Manifold) -> Result<()> {
        let number = self.push_manifold(manifold)?;
        for &face in faces {
            let Some((tree, at)) = self.entities.first_incidence(face) else { continue };
            let is_part = |part: &usize| (0..3).all(|d| digit(at, d) == 1 || digit(*part, d) == digit(at, d));
            for part in (0..self.entities.positions()).filter(is_part) {
                self.manifold_of[self.entities.number(tree, part) as usize] = number;
            }
        }
        Ok(())
    }

    fn push_manifold(&mut self, manifold: Manifold) -> Result<u8> {
        if !self.nodes.is_empty() {
            return Err(invalid(
                "a manifold",
                format_args!("{manifold:?}"),
                "on a mesh of cells without nodes of their own",
            ));
        }
        let number = self.manifolds.len();
        if number >= FLAT.into() {
            return Err(invalid("the number of manifolds", number + 1, format_args!("at most {FLAT}")));
        }
        self.manifolds.push(manifold);
        Ok(number as u8)
    }

    /// What an entity of a tree is on; none if it is flat.
    pub(super) fn manifold(&self, tree: usize, position: usize) -> Option<&Manifold> {
        self.manifolds.get(usize::from(self.manifold_of[self.entities.number(tree, position) as usize]))
    }

    /// Whether a tree, a face or an edge of it is on a manifold.
    pub(super) fn is_curved(&self, tree: usize) -> bool {
        (0..self.entities.positions()).any(|position| self.manifold(tree, position).is_some())
    }

    /// Whether all cells are the multilinear maps of their vertices.
    pub(super) fn is_straight(&self) -> bool {
        self.nodes.is_empty() && self.manifold_of.iter().all(|&number| number == FLAT)
    }

    /// The map of degree 2 that a cell has, if the mesh has any.
    pub(super) fn quadratic(&self, cell: usize) -> Option<Quadratic<'_>> {
        let n = self.entities.positions();
        self.nodes.get(n * cell..n * (cell + 1)).map(|nodes| Quadratic::new(self.dim, nodes))
    }

    pub(super) fn entities(&self) -> &Entities {
        &self.entities
    }

    fn face(&self, cell: usize, face: usize) -> u32 {
        let mut digits = [0, 1, 2].map(|d| usize::from(d < self.dim));
        digits[face / 2] = 2 * (face % 2);
        self.entities.number(cell, position(digits))
    }

    pub(super) fn is_boundary(&self, face: u32) -> bool {
        self.entities.trees(face) == 1
    }

    fn faces(&self) -> impl Iterator<Item = u32> {
        self.entities.of_dimension(self.dim - 1)
    }

    fn face_vertices(&self, face: u32) -> Vec<u32> {
        self.entities.vertices(face, &self.cells)
    }
}

pub(super) fn check_dim(dim: usize) -> Result<()> {
    if (2..=3).contains(&dim) { Ok(()) } else { Err(invalid("dim", dim, "2 or 3")) }
}
