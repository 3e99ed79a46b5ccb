//! What is refused of the cells of coarse meshes.

use super::cell::bit;
use super::entities::Entities;
use crate::error::{Error, Result, invalid};
use glam::DVec3;

/// Cells that do not meet as cells of a conforming mesh do.
#[derive(Debug)]
pub(super) enum Flaw {
    /// Two cells have more in common than a vertex, an edge or a face, or less.
    Contact { cells: [usize; 2], vertices: Vec<u32> },
    /// More than two cells have a face.
    Face { cells: Vec<usize>, vertices: Vec<u32> },
    /// Two cells lie on the same side of a face.
    Fold { cells: [usize; 2], vertices: Vec<u32> },
}

/// What vertices and cells are called in a message.
pub(super) struct Names<V, C> {
    /// What all vertices are called.
    pub vertices: &'static str,
    /// What all cells are called.
    pub cells: &'static str,
    /// Number of a vertex.
    pub vertex: V,
    /// Number of a cell.
    pub cell: C,
}

impl Flaw {
    /// Cells that it is about.
    pub fn cells(&self) -> &[usize] {
        match self {
            Self::Contact { cells, .. } | Self::Fold { cells, .. } => cells,
            Self::Face { cells, .. } => cells,
        }
    }

    /// In the numbers of the mesh.
    pub fn error(&self) -> Error {
        let own = Names { vertices: "vertices", cells: "cells", vertex: u64::from, cell: |cell| cell as u64 };
        let (name, value, allowed) = self.words(&own);
        invalid(name, value, allowed)
    }

    /// What it is about, what that is, and what is allowed.
    pub fn words(
        &self,
        names: &Names<impl Fn(u32) -> u64, impl Fn(usize) -> u64>,
    ) -> (&'static str, String, &'static str) {
        let (Self::Contact { vertices, .. } | Self::Face { vertices, .. } | Self::Fold { vertices, .. }) = self;
        let vertices: Vec<u64> = vertices.iter().map(|&vertex| (names.vertex)(vertex)).collect();
        let vertices = format!("{} {vertices:?}", names.vertices);
        let cells: Vec<u64> = self.cells().iter().map(|&cell| (names.cell)(cell)).collect();
        let pair = |cells: &[u64]| format!("{} {} and {}", names.cells, cells[0], cells[1]);
        match self {
            Self::Contact { .. } => {
                let value = format!("{vertices} of {}", pair(&cells));
                ("the contact of two cells", value, "one vertex, edge or face of both")
            }
            Self::Face { .. } => {
                ("the number of cells", format!("{} at the face of {vertices}", cells.len()), "1 or 2")
            }
            Self::Fold { .. } => {
                let value = format!("that of {vertices}, with {} on one side", pair(&cells));
                ("a face", value, "between its two cells")
            }
        }
    }
}

pub(super) fn check_vertices(dim: usize, vertices: &[DVec3], cells: &[u32]) -> Result<()> {
    let in_space = |vertex: &DVec3| vertex.is_finite() && (dim == 3 || vertex.z == 0.0);
    if let Some(vertex) = vertices.iter().position(|vertex| !in_space(vertex)) {
        let allowed = if dim == 2 { "finite, with z = 0 in 2D" } else { "finite" };
        return Err(invalid("a vertex", format_args!("{} (number {vertex})", vertices[vertex]), allowed));
    }
    let mut used = vec![false; vertices.len()];
    for (number, cell) in cells.chunks_exact(1 << dim).enumerate() {
        for (corner, &vertex) in cell.iter().enumerate() {
            let Some(used) = used.get_mut(vertex as usize) else {
                let allowed = format_args!("below {}", vertices.len());
                return Err(invalid("a vertex number", format_args!("{vertex} in cell {number}"), allowed));
            };
            *used = true;
            if cell[..corner].contains(&vertex) {
                let value = format_args!("{vertex} twice in cell {number}");
                return Err(invalid("a vertex number", value, "once in a cell"));
            }
        }
    }
    match used.iter().position(|used| !used) {
        Some(vertex) => {
            let value = format_args!("0 at vertex {vertex}, which is {}", vertices[vertex]);
            Err(invalid("the number of cells", value, "at least 1"))
        }
        None => Ok(()),
    }
}

/// Positive at the vertices of a cell.
pub(super) fn check_jacobian(dim: usize, vertices: &[DVec3], number: usize, cell: &[u32]) -> Result<()> {
    for (corner, &vertex) in cell.iter().enumerate() {
        let place = vertices[vertex as usize];
        let derivative = |d: usize| {
            let difference = vertices[cell[corner ^ (1 << d)] as usize] - place;
            if bit(corner, d) == 1 { -difference } else { difference }
        };
        let along_z = if dim == 3 { derivative(2) } else { DVec3::Z };
        let determinant = derivative(0).cross(derivative(1)).dot(along_z);
        if determinant.is_nan() || determinant <= 0.0 {
            let value = format_args!("{determinant} in cell {number} at vertex {vertex}, which is {place}");
            return Err(invalid("the Jacobian determinant", value, "positive: the cell is inverted there"));
        }
    }
    Ok(())
}

/// Two cells have one vertex, edge or face in common, or nothing.
pub(super) fn check_contacts(dim: usize, vertices: usize, cells: &[u32]) -> Result<(), Flaw> {
    let mut offsets = vec![0; vertices + 1];
    cells.iter().for_each(|&vertex| offsets[vertex as usize + 1] += 1);
    (0..vertices).for_each(|vertex| offsets[vertex + 1] += offsets[vertex]);
    // Where each vertex is in the list of cells.
    let (mut places, mut next) = (vec![0; cells.len()], offsets.clone());
    for (place, &vertex) in cells.iter().enumerate() {
        places[next[vertex as usize]] = place;
        next[vertex as usize] += 1;
    }
    let mut common = Vec::new();
    for (number, cell) in cells.chunks_exact(1 << dim).enumerate() {
        common.clear();
        for (corner, &vertex) in cell.iter().enumerate() {
            let here = &places[offsets[vertex as usize]..offsets[vertex as usize + 1]];
            let later = here.iter().filter(|&&place| place >> dim > number);
            common.extend(later.map(|&place| (place >> dim, corner, place & ((1 << dim) - 1))));
        }
        common.sort_unstable();
        for contact in common.chunk_by(|a, b| a.0 == b.0) {
            if !is_one_entity(dim, contact) {
                let vertices = contact.iter().map(|&(_, corner, _)| cell[corner]).collect();
                return Err(Flaw::Contact { cells: [number, contact[0].0], vertices });
            }
        }
    }
    Ok(())
}

/// A face has one cell, or two on different sides.
pub(super) fn check_faces(dim: usize, entities: &Entities, cells: &[u32]) -> Result<(), Flaw> {
    for face in entities.of_dimension(dim - 1) {
        let vertices = || entities.vertices(face, cells);
        match *entities.places(face).collect::<Vec<_>>() {
            [_] => {}
            [first, second] if entities.is_outward(first) != entities.is_outward(second) => {}
            [first, second] => return Err(Flaw::Fold { cells: [first.0, second.0], vertices: vertices() }),
            ref places => {
                let cells = places.iter().map(|place| place.0).collect();
                return Err(Flaw::Face { cells, vertices: vertices() });
            }
        }
    }
    Ok(())
}

/// Whether pairs of corners, of one cell and of another one, are those of one vertex, edge or face of both.
fn is_one_entity(dim: usize, pairs: &[(usize, usize, usize)]) -> bool {
    let (_, first, other_first) = pairs[0];
    let [free, other_free] =
        pairs.iter().fold([0, 0], |free, pair| [free[0] | (pair.1 ^ first), free[1] | (pair.2 ^ other_first)]);
    let axes = free.count_ones();
    // Opposite vertices of a face are the same ones in both.
    let opposite = |&&(_, corner, _): &&(usize, usize, usize)| corner == first ^ free;
    axes == other_free.count_ones()
        && axes < dim as u32
        && pairs.len() == 1 << axes
        && pairs.iter().find(opposite).is_some_and(|pair| pair.2 == other_first ^ other_free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_are_whole_vertices_edges_and_faces() {
        let lower = [0, 1, 2, 3, 4, 5, 6, 7];
        let contact =
            |upper: [u32; 8]| check_contacts(3, 20, &[lower, upper].concat()).map_err(|flaw| flaw.error().to_string());
        assert!(contact([4, 5, 6, 7, 8, 9, 10, 11]).is_ok(), "a face");
        assert!(contact([8, 9, 5, 4, 10, 11, 7, 6]).is_ok(), "a face, turned");
        assert!(contact([8, 9, 10, 11, 7, 12, 5, 13]).is_ok(), "an edge");
        assert!(contact([12, 13, 14, 15, 8, 9, 10, 4]).is_ok(), "a vertex");
        assert!(contact([12, 13, 14, 15, 8, 9, 10, 11]).is_ok(), "nothing");
        for (upper, shared) in [
            ([4, 7, 6, 5, 8, 9, 10, 11], "[4, 5, 6, 7]"), // the edges of the face are others
            ([4, 12, 13, 7, 8, 9, 10, 11], "[4, 7]"),     // diagonals of both
            ([4, 7, 12, 13, 8, 9, 10, 11], "[4, 7]"),     // an edge and a diagonal
            ([4, 5, 6, 12, 8, 9, 10, 11], "[4, 5, 6]"),
            ([0, 1, 2, 3, 4, 5, 6, 7], "[0, 1, 2, 3, 4, 5, 6, 7]"),
        ] {
            let message = format!(
                "the contact of two cells is vertices {shared} of cells 0 and 1, but must be one vertex, edge or face of both"
            );
            assert_eq!(contact(upper), Err(message));
        }
    }
}
