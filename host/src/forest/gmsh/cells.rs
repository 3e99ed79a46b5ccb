//! Cells of a file: their orientation, their nodes, and how they meet.

use super::Numbered;
use super::contents::Element;
use super::element::NONE;
use crate::error::{Error, Result, in_mesh_file};
use crate::forest::checks::Names;
use crate::forest::coarse::CoarseMesh;
use crate::forest::entities::{corners, dimension};
use crate::forest::quadratic::Quadratic;
use glam::DVec3;

/// Cells with their nodes in lexicographic order.
pub(super) struct Cells<'a> {
    dim: usize,
    elements: Vec<&'a Element>,
    /// `3^dim` nodes of the file a cell, x fastest; [`NONE`] where it has none.
    nodes: Vec<u32>,
    /// Where they lie, with those that it lacks.
    places: Vec<DVec3>,
    /// Vertex number of a node of the file; [`NONE`] if it is no vertex.
    vertices: Vec<u32>,
    /// The node of a vertex.
    vertex_nodes: Vec<u32>,
}

impl<'a> Cells<'a> {
    pub fn new(numbered: &Numbered<'a>) -> Result<Self> {
        let dim = numbered.dim;
        let elements: Vec<_> = numbered.elements(dim).collect();
        if elements.len() > CoarseMesh::MOST_CELLS {
            let allowed = format_args!("at most {}", CoarseMesh::MOST_CELLS);
            return Err(in_mesh_file(numbered.contents.lines, "the number of cells", elements.len(), allowed));
        }
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        for element in &elements {
            let (own, own_places) = oriented(numbered, element)?;
            nodes.extend_from_slice(&own[..3_usize.pow(dim as u32)]);
            places.extend_from_slice(&own_places[..3_usize.pow(dim as u32)]);
        }
        let mut cells = Self { dim, elements, nodes, places, vertices: Vec::new(), vertex_nodes: Vec::new() };
        cells.number_vertices(numbered.contents.nodes.len());
        Ok(cells)
    }

    /// Vertices in the order of the file.
    fn number_vertices(&mut self, nodes: usize) {
        let mut vertices = vec![NONE; nodes];
        self.vertices_of_cells().for_each(|node| vertices[node as usize] = 0);
        for (node, number) in vertices.iter_mut().enumerate().filter(|(_, number)| **number != NONE) {
            *number = self.vertex_nodes.len() as u32;
            self.vertex_nodes.push(node as u32);
        }
        self.vertices = vertices;
    }

    /// Nodes at vertices, `2^dim` a cell.
    fn vertices_of_cells(&self) -> impl Iterator<Item = u32> {
        let cells = self.nodes.chunks_exact(3_usize.pow(self.dim as u32));
        cells.flat_map(move |nodes| (0..1 << self.dim).map(move |corner| nodes[place_of(corner)]))
    }

    /// Vertex number of a node.
    pub fn vertex(&self, node: u32) -> Option<u32> {
        self.vertices.get(node as usize).copied().filter(|&vertex| vertex != NONE)
    }

    /// The node of a vertex.
    pub fn node(&self, vertex: u32) -> u32 {
        self.vertex_nodes[vertex as usize]
    }

    pub fn element(&self, cell: usize) -> &'a Element {
        self.elements[cell]
    }

    /// The mesh, if its cells conform.
    pub fn mesh(&self, numbered: &Numbered) -> Result<CoarseMesh> {
        let flat = |place: DVec3| if self.dim == 2 { place.with_z(0.0) } else { place };
        let vertices = self.vertex_nodes.iter().map(|&node| flat(numbered.place(node))).collect();
        let cells = self.vertices_of_cells().map(|node| self.vertices[node as usize]).collect();
        let is_quadratic = self.elements.iter().any(|element| element.kind.nodes > 1 << self.dim);
        let places = if is_quadratic { self.places.iter().map(|&place| flat(place)).collect() } else { Vec::new() };
        let names = Names {
            vertices: "nodes",
            cells: "elements",
            vertex: |vertex| numbered.number(self.node(vertex)),
            cell: |cell| self.element(cell).number,
        };
        let mesh = CoarseMesh::connected(self.dim, vertices, cells, places).map_err(|flaw| {
            let line = self.element(flaw.cells()[0]).line;
            let (what, found, allowed) = flaw.words(&names);
            in_mesh_file(line, what, found, allowed)
        })?;
        self.check_middles(&mesh, numbered)?;
        Ok(mesh)
    }

    /// Cells have the same nodes on an edge or in a face that they share, and no node is on two of them.
    fn check_middles(&self, mesh: &CoarseMesh, numbered: &Numbered) -> Result<()> {
        let entities = mesh.entities();
        // Cell and node of each entity, entity of each node.
        let mut node_on: Vec<Option<(usize, u32)>> = vec![None; entities.count()];
        let mut entity_of = vec![NONE; numbered.contents.nodes.len()];
        for (cell, nodes) in self.nodes.chunks_exact(entities.positions()).enumerate() {
            for (position, &node) in nodes.iter().enumerate() {
                let entity = entities.number(cell, position);
                let (first, on_entity) = *node_on[entity as usize].get_or_insert((cell, node));
                let same_node = on_entity == node;
                let known = entity_of.get_mut(node as usize);
                let same_entity = known.is_none_or(|known| [NONE, entity].contains(&std::mem::replace(known, entity)));
                if !same_node || !same_entity {
                    return Err(self.middle_error(numbered, [first, cell], position, [on_entity, node]));
                }
            }
        }
        Ok(())
    }

    fn middle_error(&self, numbered: &Numbered, [first, cell]: [usize; 2], position: usize, nodes: [u32; 2]) -> Error {
        let element = self.element(cell);
        let ends: Vec<u64> = corners(position)
            .map(|corner| numbered.number(self.nodes[3_usize.pow(self.dim as u32) * cell + place_of(corner)]))
            .collect();
        let named = |node: u32| if node == NONE { "none".into() } else { numbered.number(node).to_string() };
        let what = match dimension(position) {
            0 => format!("a vertex of {element}"),
            1 => format!("the middle of the edge of nodes {ends:?} of {element}"),
            _ => format!("the middle of nodes {ends:?} of {element}"),
        };
        let allowed = match nodes[0] == nodes[1] {
            true => "on no other edge and no vertex: nodes hang there".into(),
            false => format!("{} as in {}", named(nodes[0]), self.element(first)),
        };
        let found = if nodes[1] == NONE { "no node".into() } else { format!("node {}", named(nodes[1])) };
        in_mesh_file(element.line, what, found, allowed)
    }
}

/// Place of a vertex among `3^dim` nodes.
fn place_of(corner: usize) -> usize {
    2 * (corner & 1) + 6 * (corner >> 1 & 1) + 18 * (corner >> 2)
}

/// Nodes and places of a cell, turned over if it is mirrored.
fn oriented(numbered: &Numbered, element: &Element) -> Result<([u32; 27], [DVec3; 27])> {
    let dim = numbered.dim;
    let count = 3_usize.pow(dim as u32);
    let mut nodes = element.kind.by_place(numbered.nodes_of(element));
    let mut places = element.kind.completed(nodes.map(|node| (node != NONE).then(|| numbered.place(node))));
    let map = Quadratic::new(dim, &places[..count]);
    let determinants =
        (0..count).map(|place| map.determinant([place % 3, place / 3 % 3, place / 9].map(|digit| 0.5 * digit as f64)));
    let determinants: Vec<f64> = determinants.collect();
    let is_mirrored = determinants[0] < 0.0;
    let sign = if is_mirrored { -1.0 } else { 1.0 };
    let is_allowed = |determinant: f64| determinant.is_finite() && sign * determinant > 0.0;
    if let Some(place) = determinants.iter().position(|&determinant| !is_allowed(determinant)) {
        let what = format_args!("the Jacobian determinant of {element}");
        let found = format_args!("{} at {}", determinants[place], places[place]);
        let allowed = "of one sign: the cell is inverted there";
        return Err(in_mesh_file(element.line, what, found, allowed));
    }
    if is_mirrored {
        for row in (0..count).step_by(3) {
            nodes.swap(row, row + 2);
            places.swap(row, row + 2);
        }
    }
    Ok((nodes, places))
}
