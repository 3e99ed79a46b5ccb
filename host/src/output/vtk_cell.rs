//! Numbering of the nodes of VTK's Lagrange quadrilaterals and hexahedra.
//!
//! VTK numbers corners first, then the nodes inside edges, inside faces and inside the cell. Corners go around the
//! bottom and then around the top; edges and faces are filled in ascending coordinates. This is the order of file
//! version 2.2: older files differ in the vertical edges.

/// VTK's number of Lagrange quadrilaterals and hexahedra: `VTK_LAGRANGE_QUADRILATERAL`, `VTK_LAGRANGE_HEXAHEDRON`.
pub fn cell_type(dim: usize) -> u8 {
    if dim == 2 { 70 } else { 72 }
}

/// For every node of VTK's cell its lattice coordinates, `0..=degree` each, the third one 0 in 2D.
pub fn nodes(dim: usize, degree: usize) -> Vec<[usize; 3]> {
    let line = 0..degree + 1;
    let layers = if dim == 2 { 0..1 } else { line.clone() };
    let mut nodes = vec![[0; 3]; line.len().pow(2) * layers.len()];
    for z in layers {
        for y in line.clone() {
            for x in line.clone() {
                let index = if dim == 2 { quadrilateral(degree, x, y) } else { hexahedron(degree, [x, y, z]) };
                nodes[index] = [x, y, z];
            }
        }
    }
    nodes
}

/// Corner of a square at lattice point `(x, y)`, counted around it.
fn corner(x: usize, y: usize) -> usize {
    match (x > 0, y > 0) {
        (false, false) => 0,
        (true, false) => 1,
        (true, true) => 2,
        (false, true) => 3,
    }
}

/// Position of a node inside one of the four edges of a square, edges counted around it, nodes in ascending coordinates.
fn square_edge(degree: usize, x: usize, y: usize, x_is_end: bool) -> usize {
    let inside = degree - 1;
    match (x_is_end, x > 0, y > 0) {
        (false, _, false) => x - 1,
        (true, true, _) => inside + y - 1,
        (false, _, true) => 2 * inside + x - 1,
        (true, false, _) => 3 * inside + y - 1,
    }
}

fn quadrilateral(degree: usize, x: usize, y: usize) -> usize {
    let inside = degree - 1;
    let is_end = |i: usize| i == 0 || i == degree;
    match (is_end(x), is_end(y)) {
        (true, true) => corner(x, y),
        (false, false) => 4 + 4 * inside + (x - 1) + inside * (y - 1),
        _ => 4 + square_edge(degree, x, y, is_end(x)),
    }
}

fn hexahedron(degree: usize, [x, y, z]: [usize; 3]) -> usize {
    let inside = degree - 1;
    let is_end = |i: usize| i == 0 || i == degree;
    let top = usize::from(z > 0);
    let edges = 8;
    let faces = edges + 12 * inside;
    let interior = faces + 6 * inside * inside;
    match (is_end(x), is_end(y), is_end(z)) {
        (true, true, true) => corner(x, y) + 4 * top,
        (_, _, true) if is_end(x) != is_end(y) => edges + 4 * inside * top + square_edge(degree, x, y, is_end(x)),
        (true, true, false) => edges + 8 * inside + inside * corner(x, y) + z - 1,
        (true, false, false) => faces + inside * inside * usize::from(x > 0) + (y - 1) + inside * (z - 1),
        (false, true, false) => faces + inside * inside * (2 + usize::from(y > 0)) + (x - 1) + inside * (z - 1),
        (false, false, true) => faces + inside * inside * (4 + top) + (x - 1) + inside * (y - 1),
        _ => interior + (x - 1) + inside * ((y - 1) + inside * (z - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_lattice_point_is_one_node() {
        for (dim, degree) in [(2, 1), (2, 2), (2, 10), (3, 1), (3, 2), (3, 3), (3, 8)] {
            let nodes = nodes(dim, degree);
            assert_eq!(nodes.len(), (degree + 1).pow(dim as u32));
            assert_eq!(nodes.iter().collect::<HashSet<_>>().len(), nodes.len(), "{dim}D, degree {degree}");
        }
    }

    /// Listed by VTK 9's `vtkLagrangeHexahedron::PointIndexFromIJK` for degree 3: vertical edges and faces.
    #[test]
    fn cubic_hexahedron_is_numbered_as_in_vtk() {
        for (node, index) in [
            ([3, 3, 3], 6),
            ([1, 0, 0], 8),
            ([3, 1, 0], 10),
            ([1, 3, 0], 12),
            ([0, 1, 0], 14),
            ([2, 0, 3], 17),
            ([0, 0, 1], 24),
            ([3, 0, 1], 26),
            ([3, 3, 1], 28),
            ([0, 3, 2], 31),
            ([0, 1, 1], 32),
            ([3, 1, 1], 36),
            ([1, 0, 1], 40),
            ([2, 3, 1], 45),
            ([1, 1, 0], 48),
            ([1, 2, 3], 54),
            ([2, 1, 1], 57),
        ] {
            assert_eq!(hexahedron(3, node), index, "{node:?}");
        }
    }
}
