//! Faces on the boundary.

use super::cell::at_points;
use super::mesh::Mesh;
use crate::error::Result;
use crate::fe::{Element, Quadrature};
use crate::forest::Mapping;
use glam::DVec3;

/// A Gauss point of a face.
pub(super) struct FacePoint<'a> {
    /// Number of the boundary.
    pub number: u32,
    pub cell: usize,
    pub face: usize,
    pub point: DVec3,
    /// With the surface element.
    pub weight: f64,
    /// Values of the cell's basis.
    pub basis: &'a [f64],
}

/// Calls `visit` with the Gauss points of each face on the boundary, `k + 1` a direction, one face after the other.
pub(super) fn for_each_face_point(
    mesh: &Mesh,
    mapping: &Mapping,
    mut visit: impl FnMut(FacePoint) -> Result<()>,
) -> Result<()> {
    let (dim, n) = (mesh.dim(), mesh.degree() + 1);
    let rule = Quadrature::gauss(n)?;
    let shape = Element::new(mapping.degree())?;
    let rows = |element: &Element, x: &[f64]| at_points(x, |x| element.values(x));
    let slopes = at_points(&rule.points, |x| shape.derivatives(x));
    let at_gauss = [rows(mesh.element(), &rule.points), rows(&shape, &rule.points)];
    let at_ends = [rows(mesh.element(), &[0.0, 1.0]), rows(&shape, &[0.0, 1.0])];
    let mut basis = Vec::new();
    for (cell, leaf) in mesh.forest().leaves().iter().enumerate() {
        for face in 0..2 * dim {
            let Some(number) = mesh.forest().boundary(leaf, face) else { continue };
            let (normal, positions) = (face / 2, mapping.positions(cell));
            let tangents: Vec<usize> = (0..dim).filter(|&d| d != normal).collect();
            for q in 0..n.pow(dim as u32 - 1) {
                let place = [q % n, q / n];
                let along = |d: usize| tangents.iter().position(|&tangent| tangent == d).map(|t| place[t]);
                // Which of the tables has the row of a direction: of values, or of slopes along one.
                let row = |which: usize, d: usize, slope: Option<usize>, i: usize| match along(d) {
                    _ if d >= dim => 1.0,
                    Some(q) if slope == Some(d) => slopes[(q, i)],
                    Some(q) => at_gauss[which][(q, i)],
                    None => at_ends[which][(face % 2, i)],
                };
                let product = |which: usize, i: usize, n: usize, slope: Option<usize>| {
                    row(which, 0, slope, i % n) * row(which, 1, slope, i / n % n) * row(which, 2, slope, i / n / n)
                };
                let m = mapping.degree() + 1;
                let sum = |slope: Option<usize>| -> DVec3 {
                    positions.iter().enumerate().map(|(i, &x)| product(1, i, m, slope) * x).sum()
                };
                let tangent = |t: usize| tangents.get(t).map_or(DVec3::Z, |&d| sum(Some(d)));
                let weight: f64 = (0..dim - 1).map(|t| rule.weights[place[t]]).product();
                basis.clear();
                basis.extend((0..n.pow(dim as u32)).map(|i| product(0, i, n, None)));
                let weight = weight * tangent(0).cross(tangent(1)).length();
                visit(FacePoint { number, cell, face, point: sum(None), weight, basis: &basis })?;
            }
        }
    }
    Ok(())
}
