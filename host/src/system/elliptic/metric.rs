//! Geometry and coefficients at Gauss points.

use super::mesh::Mesh;
use crate::error::{Error, Result};
use crate::fe::{Element, Quadrature};
use crate::forest::Mapping;
use glam::{DMat3, DVec3};
use std::borrow::Cow;
use std::ops::{Add, Mul};

/// Words that the operator has at a point: `det J w J⁻¹ κ J⁻ᵀ`, its lower triangle by rows, then `det J w s`.
pub(super) fn words(dim: usize) -> usize {
    if dim == 2 { 4 } else { 7 }
}

/// Values and derivatives of the mapping at the points of Gauss's rule in each direction.
pub(super) struct Geometry<'a> {
    dim: usize,
    rule: Quadrature,
    mapping: &'a Mapping,
    shape: Element,
    /// By rows, from nodes to points: values and derivatives.
    rows: [Vec<f64>; 2],
    /// Each point of the rule in the unit cell; in 2D on the plane `z = 0`.
    points: Vec<DVec3>,
    /// `w` of each point.
    weights: Vec<f64>,
}

/// Where a cell lies.
pub(super) struct CellMap<'a> {
    cell: usize,
    form: Form<'a>,
    /// What rounding of positions changes of the map's derivatives, relative to these.
    pub rounding: f64,
}

enum Form<'a> {
    /// A parallelogram or parallelepiped.
    Affine { origin: DVec3, jacobian: DMat3 },
    /// By the positions of its nodes.
    Nodes(Cow<'a, [DVec3]>),
}

/// A point of a rule in a cell.
pub(super) struct Place {
    pub point: DVec3,
    /// `J`: derivatives by the cell's coordinates are its columns; in 2D the third is `e_z`.
    pub jacobian: DMat3,
    /// `w`.
    pub gauss_weight: f64,
    /// `w det J`.
    pub weight: f64,
}

impl<'a> Geometry<'a> {
    /// With Gauss's rule of so many points a direction.
    pub fn new(mesh: &'a Mesh, points: usize) -> Result<Self> {
        let (dim, mapping) = (mesh.dim(), mesh.mapping()?);
        let shape = Element::new(mapping.degree())?;
        let rule = Quadrature::gauss(points)?;
        let values = rule.points.iter().flat_map(|&x| shape.values(x)).collect();
        let derivatives = rule.points.iter().flat_map(|&x| shape.derivatives(x)).collect();
        let point = |q: usize| {
            let index = [q % points, q / points % points, q / points / points];
            DVec3::from_array([0, 1, 2].map(|d| if d < dim { rule.points[index[d]] } else { 0.0 }))
        };
        let weights = gauss_weights(dim, points)?;
        let points = (0..weights.len()).map(point).collect();
        Ok(Self { dim, rows: [values, derivatives], points, weights, rule, mapping, shape })
    }

    /// Calls `visit` with each point of a cell, x fastest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with cell and point if the cell is inverted there; those of `visit`.
    pub fn for_each_point(&self, cell: usize, visit: impl FnMut(usize, Place) -> Result<()>) -> Result<()> {
        self.for_each_point_of(&self.map(cell), visit)
    }

    /// The same for a cell whose map is known.
    ///
    /// # Errors
    /// Those of [`Self::for_each_point`].
    pub fn for_each_point_of(&self, map: &CellMap, mut visit: impl FnMut(usize, Place) -> Result<()>) -> Result<()> {
        let positions = match &map.form {
            &Form::Affine { origin, jacobian } => {
                let determinant = checked_determinant(&jacobian, map.cell, origin + jacobian * self.points[0])?;
                for (q, (&point, &gauss_weight)) in self.points.iter().zip(&self.weights).enumerate() {
                    let (point, weight) = (origin + jacobian * point, gauss_weight * determinant);
                    visit(q, Place { point, jacobian, gauss_weight, weight })?;
                }
                return Ok(());
            }
            Form::Nodes(positions) => positions,
        };
        let at_points = self.mapped(positions);
        let points = at_points.chunks_exact(self.weights.len());
        let (values, columns) = (points.clone().next().unwrap_or_default(), points.skip(1));
        for (q, (&point, &gauss_weight)) in values.iter().zip(&self.weights).enumerate() {
            let mut jacobian = DMat3::IDENTITY;
            columns.clone().enumerate().for_each(|(d, column)| *jacobian.col_mut(d) = column[q]);
            let weight = gauss_weight * checked_determinant(&jacobian, map.cell, point)?;
            visit(q, Place { point, jacobian, gauss_weight, weight })?;
        }
        Ok(())
    }

    /// Where a cell lies: a parallelogram or parallelepiped, as far as rounding of positions shows, by its vertices.
    pub fn map(&self, cell: usize) -> CellMap<'_> {
        self.affine(cell).unwrap_or_else(|| {
            let positions = self.mapping.positions(cell);
            let shortest = positions.windows(2).map(|pair| pair[0].distance(pair[1])).fold(f64::INFINITY, f64::min);
            CellMap { cell, rounding: f64::EPSILON * largest(&positions) / shortest, form: Form::Nodes(positions) }
        })
    }

    fn affine(&self, cell: usize) -> Option<CellMap<'_>> {
        let (degree, vertices) = self.mapping.at_least_degree(cell);
        if degree != 1 {
            return None;
        }
        let (origin, mut jacobian) = (vertices[0], DMat3::IDENTITY);
        (0..self.dim).for_each(|d| *jacobian.col_mut(d) = vertices[1 << d] - origin);
        let largest = largest(vertices);
        let is_there = |(number, &vertex): (usize, &DVec3)| {
            let edges = (0..self.dim).filter(|d| number >> d & 1 == 1).map(|d| jacobian.col(d));
            (origin + edges.sum::<DVec3>() - vertex).abs().max_element() <= 4.0 * f64::EPSILON * largest
        };
        let shortest = (0..self.dim).map(|d| jacobian.col(d).length()).fold(f64::INFINITY, f64::min);
        let rounding = f64::EPSILON * largest / shortest;
        let form = Form::Affine { origin, jacobian };
        vertices.iter().enumerate().all(is_there).then_some(CellMap { cell, form, rounding })
    }

    /// The mapping at the points of the rule, and after that its derivative in each direction.
    fn mapped(&self, positions: &[DVec3]) -> Vec<DVec3> {
        let (n, m) = (self.shape.degree() + 1, self.rule.points.len());
        let [values, slopes] = &self.rows;
        // Values first, then the derivatives in the directions up to this one.
        let mut known = positions.to_vec();
        for d in 0..self.dim {
            let inner = m.pow(d as u32);
            let of_one = known.len() / (d + 1);
            let mut next = Vec::with_capacity(of_one / n * m * (d + 2));
            known.chunks_exact(of_one).for_each(|of_one| contract(values, n, inner, of_one, &mut next));
            contract(slopes, n, inner, &known[..of_one], &mut next);
            known = next;
        }
        known
    }
}

/// The largest coordinate of points.
fn largest(points: &[DVec3]) -> f64 {
    points.iter().fold(0.0, |largest, point| largest.max(point.abs().max_element()))
}

/// Weights of Gauss's rule of so many points a direction.
pub(super) fn gauss_weights(dim: usize, points: usize) -> Result<Vec<f64>> {
    let weights = Quadrature::gauss(points)?.weights;
    let of_point = |q: usize| (0..dim).map(|d| weights[q / points.pow(d as u32) % points]).product();
    Ok((0..points.pow(dim as u32)).map(of_point).collect())
}

/// Appends the product of a matrix, given by rows, with lines of `columns` entries that lie `inner` apart.
pub(super) fn contract<V>(matrix: &[f64], columns: usize, inner: usize, x: &[V], y: &mut Vec<V>)
where
    V: Copy + Default + Add<Output = V> + Mul<f64, Output = V>,
{
    match columns {
        2 => contract_lines::<2, V>(matrix, inner, x, y),
        3 => contract_lines::<3, V>(matrix, inner, x, y),
        4 => contract_lines::<4, V>(matrix, inner, x, y),
        5 => contract_lines::<5, V>(matrix, inner, x, y),
        6 => contract_lines::<6, V>(matrix, inner, x, y),
        7 => contract_lines::<7, V>(matrix, inner, x, y),
        8 => contract_lines::<8, V>(matrix, inner, x, y),
        9 => contract_lines::<9, V>(matrix, inner, x, y),
        10 => contract_lines::<10, V>(matrix, inner, x, y),
        // The degree is 10 at most.
        _ => contract_lines::<11, V>(matrix, inner, x, y),
    }
}

fn contract_lines<const COLUMNS: usize, V>(matrix: &[f64], inner: usize, x: &[V], y: &mut Vec<V>)
where
    V: Copy + Default + Add<Output = V> + Mul<f64, Output = V>,
{
    for lines in x.chunks_exact(COLUMNS * inner) {
        for row in matrix.as_chunks::<COLUMNS>().0 {
            y.extend((0..inner).map(|i| {
                let line = lines[i..].iter().step_by(inner);
                row.iter().zip(line).fold(V::default(), |sum, (&entry, &x)| sum + x * entry)
            }));
        }
    }
}

/// `det J`.
///
/// # Errors
/// [`Error::InvalidArgument`] with cell and point if it is not positive.
#[inline]
pub(super) fn checked_determinant(jacobian: &DMat3, cell: usize, point: DVec3) -> Result<f64> {
    let determinant = jacobian.determinant();
    if determinant > 0.0 {
        return Ok(determinant);
    }
    Err(Error::InvalidArgument {
        name: "the Jacobian determinant",
        value: format!("{determinant:e} in cell {cell} at {point}"),
        allowed: "positive: the cell is inverted there".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::{CoarseMesh, Forest};
    use crate::system::elliptic::Equation;

    /// Of the whole cell `[0, 1]^dim` with each vertex moved.
    fn mesh(dim: usize, moved: impl Fn(DVec3) -> DVec3) -> Mesh {
        let vertex = |number: usize| {
            moved(DVec3::from_array([0, 1, 2].map(|d| if d < dim { (number >> d & 1) as f64 } else { 0.0 })))
        };
        let vertices = 0..1 << dim;
        let coarse = CoarseMesh::new(dim, vertices.clone().map(vertex).collect(), (0..1 << dim).collect()).unwrap();
        let forest = Forest::new(coarse).refine_uniformly(2).unwrap();
        Mesh::new(forest, 2, &Equation::default()).unwrap()
    }

    #[test]
    fn parallelograms_have_the_geometry_of_all_cells() {
        for dim in [2, 3] {
            let sheared = |x: DVec3| {
                DVec3::new(
                    0.3 + x.x + 0.4 * x.y,
                    1.7 * x.y - 0.2 * x.x,
                    if dim == 3 { 0.1 * x.z + 0.3 * x.y } else { 0.0 },
                )
            };
            let bent = |x: DVec3| sheared(x) + DVec3::X * 1e-6 * x.x * x.y;
            let [sheared, bent] = [mesh(dim, sheared), mesh(dim, bent)];
            let [sheared, bent] = [&sheared, &bent].map(|mesh| Geometry::new(mesh, 3).unwrap());
            for cell in 0..1 << (2 * dim) {
                assert!(matches!(bent.map(cell).form, Form::Nodes(_)));
                let affine = sheared.map(cell);
                assert!(matches!(affine.form, Form::Affine { .. }));
                assert!(affine.rounding > 0.0 && affine.rounding < 1e-13);
                let (mapped, points) = (sheared.mapped(&sheared.mapping.positions(cell)), sheared.weights.len());
                let mut visited = 0;
                let compare = |q: usize, place: Place| {
                    visited += 1;
                    assert!(place.point.distance(mapped[q]) < 1e-14);
                    (0..dim)
                        .for_each(|d| assert!(place.jacobian.col(d).distance(mapped[(d + 1) * points + q]) < 1e-14));
                    assert!((place.weight - place.gauss_weight * place.jacobian.determinant()).abs() < 1e-16);
                    Ok(())
                };
                sheared.for_each_point(cell, compare).unwrap();
                assert_eq!(visited, points);
            }
        }
    }
}
