//! Vertices that lie inside of edges.

use super::Numbered;
use super::cells::Cells;
use crate::error::{Result, in_mesh_file};
use crate::forest::coarse::CoarseMesh;
use crate::forest::entities::{corners, digit, dimension};
use glam::DVec3;

/// Distance over the length of an edge below which a vertex is on it: files may have seven digits.
const NEAR: f64 = 1e-6;

/// An edge of the boundary.
struct Edge {
    entity: u32,
    cell: usize,
    ends: [u32; 2],
    /// Of the edge itself.
    middle: DVec3,
}

/// That no vertex of the boundary lies inside of an edge there. Cells of different sizes that meet have no vertices in common there:
/// what should be the interior is boundary. Curved edges are taken for two straight pieces.
pub(super) fn check(mesh: &CoarseMesh, cells: &Cells, numbered: &Numbered) -> Result<()> {
    let edges = edges(mesh);
    let place = |vertex: u32| mesh.vertices()[vertex as usize];
    // Vertices by their place along a line on which few of them coincide.
    let along = |place: DVec3| place.dot(DVec3::new(0.538, 0.671, 0.511));
    let mut vertices: Vec<u32> = edges.iter().flat_map(|edge| edge.ends).collect();
    vertices.sort_unstable();
    vertices.dedup();
    let mut vertices: Vec<(f64, u32)> = vertices.into_iter().map(|vertex| (along(place(vertex)), vertex)).collect();
    vertices.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    for edge in &edges {
        let [a, b] = edge.ends.map(place);
        let points = [a, edge.middle, b];
        let near = NEAR * a.distance(b);
        let keys = points.map(along);
        let lower = keys.into_iter().fold(f64::INFINITY, f64::min) - near;
        let upper = keys.into_iter().fold(f64::NEG_INFINITY, f64::max) + near;
        let first = vertices.partition_point(|&(key, _)| key < lower);
        let candidates = vertices[first..].iter().take_while(|&&(key, _)| key <= upper);
        for &(_, vertex) in candidates {
            let x = place(vertex);
            let is_on = points.windows(2).any(|ends| distance(x, ends[0], ends[1]) < near);
            if is_on && x.distance(a) > near && x.distance(b) > near {
                let node = &numbered.contents.nodes[cells.node(vertex) as usize];
                let ends = edge.ends.map(|end| numbered.number(cells.node(end)));
                let found = format_args!("inside of the edge of nodes {ends:?} of {}", cells.element(edge.cell));
                let allowed = "on no edge that it is not an end of: nodes hang there";
                return Err(in_mesh_file(node.line, format_args!("node {}", node.number), found, allowed));
            }
        }
    }
    Ok(())
}

/// The edges of boundary faces, each once.
fn edges(mesh: &CoarseMesh) -> Vec<Edge> {
    let (dim, entities) = (mesh.dim(), mesh.entities());
    let mut edges = Vec::new();
    for face in entities.of_dimension(dim - 1).filter(|&face| mesh.is_boundary(face)) {
        let Some((cell, at)) = entities.first_incidence(face) else { continue };
        let is_part = |part: usize| (0..3).all(|d| digit(at, d) == 1 || digit(part, d) == digit(at, d));
        for part in (0..entities.positions()).filter(|&part| dimension(part) == 1 && is_part(part)) {
            let mut ends = [0; 2];
            ends.iter_mut().zip(corners(part)).for_each(|(end, corner)| *end = mesh.cell(cell)[corner]);
            let middle = mesh.point(cell, [0, 1, 2].map(|d| 0.5 * digit(part, d) as f64));
            edges.push(Edge { entity: entities.number(cell, part), cell, ends, middle });
        }
    }
    edges.sort_by_key(|edge| edge.entity);
    edges.dedup_by_key(|edge| edge.entity);
    edges
}

/// From a point to the straight piece between two.
fn distance(x: DVec3, a: DVec3, b: DVec3) -> f64 {
    let along = (b - a).dot(x - a) / (b - a).length_squared();
    x.distance(a.lerp(b, along.clamp(0.0, 1.0)))
}
