//! Coarse meshes from files of Gmsh.

mod cells;
mod contents;
mod element;
mod hanging;
mod tokens;

use super::coarse::CoarseMesh;
use crate::error::{Error, Result, in_mesh_file};
use crate::memory;
use cells::Cells;
use contents::{Contents, Element};
use glam::DVec3;
use std::collections::HashMap;
use std::path::Path;

impl CoarseMesh {
    /// From what a text file of Gmsh holds, of version 2.2 or 4.1 of its format.
    ///
    /// Cells are hexahedra of 8, 20 or 27 nodes, or, if there are none, quadrangles of 4, 8 or 9 nodes, which lie in a plane
    /// `z = const` that becomes `z = 0`. A cell with nodes on its edges has the map of degree 2 through its nodes;
    /// nodes that it lacks in faces and inside follow from the shape functions of the serendipity element:
    /// `-1/4` of the vertices and `1/2` of the nodes on edges in a face, `-1/4` and `1/4` inside. A cell may be listed in
    /// mirrored order, as Gmsh does on surfaces whose normal is `-z`: it is turned over.
    ///
    /// An element of one dimension less is a face of a cell. If the face is at the boundary, the number of the element's physical
    /// group, without sign, becomes [`CoarseMesh::boundary`]; faces in no group have number 0. Elements in the interior, and
    /// those of a lower dimension with the nodes that they alone have, are ignored.
    ///
    /// # Errors
    /// [`Error::MeshFile`] with the line, the number of element or node in the file, and what is allowed, for
    /// - a file that is binary, of another version or with partitions, or that ends early;
    /// - an element of another type, with a node that is not there, or with one that it has twice;
    /// - a node whose number is there twice, that no element has, or whose coordinates are not finite, in 2D with another `z`;
    /// - a cell whose Jacobian determinant changes sign, or is 0, at a vertex or a middle of an edge, a face or the cell;
    /// - cells that do not conform: see [`CoarseMesh::new`]. Nodes of an edge or a face must be those of all its cells, and no
    ///   vertex may lie inside of an edge of the boundary: there it hangs;
    /// - an element of one dimension less that is no face of a cell, and a face at the boundary of several groups.
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// use patchmg::forest::CoarseMesh;
    ///
    /// # fn main() -> patchmg::Result<()> {
    /// let square = "$MeshFormat\n2.2 0 8\n$EndMeshFormat
    /// $Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes
    /// $Elements\n2\n1 1 2 7 1 1 2\n2 3 2 1 1 1 2 3 4\n$EndElements\n";
    /// let mesh = CoarseMesh::from_gmsh(square)?;
    /// assert_eq!((0..4).map(|face| mesh.boundary(0, face)).collect::<Vec<_>>(), [Some(0), Some(0), Some(7), Some(0)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_gmsh(contents: impl AsRef<[u8]>) -> Result<Self> {
        let contents = Contents::read(contents.as_ref())?;
        let numbered = Numbered::new(&contents)?;
        let cells = Cells::new(&numbered)?;
        let mut mesh = cells.mesh(&numbered)?;
        hanging::check(&mesh, &cells, &numbered)?;
        numbered.number_boundaries(&mut mesh, &cells)?;
        Ok(mesh)
    }

    /// From a text file of Gmsh: [`CoarseMesh::from_gmsh`].
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, and those of [`CoarseMesh::from_gmsh`].
    pub fn from_gmsh_file(path: &Path) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        memory::check(std::fs::metadata(path).map_err(io)?.len())?;
        Self::from_gmsh(std::fs::read(path).map_err(io)?)
    }
}

/// A file whose elements have indices of nodes.
struct Numbered<'a> {
    contents: &'a Contents,
    /// Indices of nodes, by element as [`Contents::nodes_of`] has their numbers.
    indices: Vec<u32>,
    /// Of the cells.
    dim: usize,
}

impl<'a> Numbered<'a> {
    fn new(contents: &'a Contents) -> Result<Self> {
        let mut known: HashMap<u64, u32> = HashMap::new();
        for (index, node) in contents.nodes.iter().enumerate() {
            if known.insert(node.number, index as u32).is_some() {
                return Err(in_mesh_file(node.line, "a node", format_args!("{} twice", node.number), "there once"));
            }
        }
        let mut indices = Vec::with_capacity(contents.node_numbers.len());
        for element in &contents.elements {
            let numbers = contents.nodes_of(element);
            for (at, number) in numbers.iter().enumerate() {
                let Some(&index) = known.get(number).filter(|_| !numbers[..at].contains(number)) else {
                    let allowed = "one of the nodes of the file, once";
                    return Err(in_mesh_file(element.line, format_args!("a node of {element}"), number, allowed));
                };
                indices.push(index);
            }
        }
        let dim = contents.elements.iter().map(|element| element.kind.dim).max().unwrap_or(0);
        if dim < 2 {
            return Err(in_mesh_file(contents.lines, "the number of quadrangles and hexahedra", 0, "at least 1"));
        }
        let numbered = Self { contents, indices, dim };
        numbered.check_nodes()?;
        Ok(numbered)
    }

    /// Elements of a dimension.
    fn elements(&self, dim: usize) -> impl Iterator<Item = &'a Element> {
        self.contents.elements.iter().filter(move |element| element.kind.dim == dim)
    }

    /// Indices of the nodes of an element.
    fn nodes_of(&self, element: &Element) -> &[u32] {
        &self.indices[element.first..element.first + element.kind.nodes]
    }

    /// Number of a node in the file.
    fn number(&self, node: u32) -> u64 {
        self.contents.nodes[node as usize].number
    }

    fn place(&self, node: u32) -> DVec3 {
        self.contents.nodes[node as usize].place
    }

    /// Nodes are those of cells, in 2D in a plane, or of elements that are ignored.
    fn check_nodes(&self) -> Result<()> {
        let nodes = &self.contents.nodes;
        let used_by = |dims: std::ops::Range<usize>| {
            let mut used = vec![false; nodes.len()];
            let elements = dims.flat_map(|dim| self.elements(dim));
            elements.flat_map(|element| self.nodes_of(element)).for_each(|&node| used[node as usize] = true);
            used
        };
        let (in_cell, ignored) = (used_by(self.dim..self.dim + 1), used_by(0..self.dim - 1));
        for element in self.elements(self.dim - 1) {
            if let Some(&node) = self.nodes_of(element).iter().find(|&&node| !in_cell[node as usize]) {
                let what = format_args!("node {} of {element}", self.number(node));
                return Err(in_mesh_file(element.line, what, "in no cell", "a node of a cell"));
            }
        }
        let used = || nodes.iter().zip(in_cell.iter().zip(&ignored));
        if let Some((node, _)) = used().find(|(_, (in_cell, ignored))| !**in_cell && !**ignored) {
            let what = format_args!("node {}", node.number);
            return Err(in_mesh_file(node.line, what, "in no element", "in a quadrangle or a hexahedron"));
        }
        let of_cells = || used().filter(|(_, (in_cell, _))| **in_cell).map(|(node, _)| node);
        let Some(first) = of_cells().next().filter(|_| self.dim == 2) else { return Ok(()) };
        // Gmsh turns surfaces with rounding errors.
        let extent =
            of_cells().map(|node| (node.place - first.place).truncate().abs().max_element()).fold(0.0, f64::max);
        let is_off = |place: DVec3| (place.z - first.place.z).abs() > 1e-12 * extent;
        match of_cells().find(|node| is_off(node.place)) {
            Some(node) => {
                let (what, z) = (format!("z of node {}", node.number), first.place.z);
                Err(in_mesh_file(node.line, what, node.place.z, format_args!("{z} as of node {} in 2D", first.number)))
            }
            None => Ok(()),
        }
    }

    /// Numbers of the boundary faces that are in physical groups.
    fn number_boundaries(&self, mesh: &mut CoarseMesh, cells: &Cells) -> Result<()> {
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        for element in self.elements(self.dim - 1) {
            let vertices = &self.nodes_of(element)[..1 << (self.dim - 1)];
            let vertices: Option<Vec<u32>> = vertices.iter().map(|&node| cells.vertex(node)).collect();
            let Some(face) = vertices.and_then(|vertices| mesh.face_of(&vertices)) else {
                return Err(in_mesh_file(element.line, element, "no face of a cell", "one of a cell, or of two"));
            };
            if !mesh.is_boundary(face) || element.groups.is_empty() {
                continue;
            }
            let first = *numbers.entry(face).or_insert(element.groups[0]);
            if let Some(other) = element.groups.iter().find(|&&group| group != first) {
                let (what, found) = (format!("the physical group of {element}"), format!("{first} and {other}"));
                return Err(in_mesh_file(element.line, what, found, "one, or none, at the boundary"));
            }
        }
        numbers.into_iter().for_each(|(face, number)| mesh.number_face(face, number));
        Ok(())
    }
}
