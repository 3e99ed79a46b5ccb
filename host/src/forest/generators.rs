//! Coarse meshes of common domains.

use super::cell::bit;
use super::coarse::{CoarseMesh, check_dim};
use super::manifold::Manifold;
use crate::error::{Result, invalid};
use glam::DVec3;
use std::f64::consts::TAU;

/// Spheres or circles.
const AROUND_ORIGIN: Manifold = Manifold::Spherical { center: DVec3::ZERO };

impl CoarseMesh {
    /// Equal cells on the box from the origin to its side lengths, `cells[d]` in direction `d`, x fastest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless there are two or three numbers of cells from 1
    /// to `2^20`, as many positive lengths, and as few cells as [`CoarseMesh::new`] allows.
    pub fn of_box(cells: &[usize], lengths: &[f64]) -> Result<Self> {
        let dim = cells.len();
        if !(2..=3).contains(&dim) || cells.iter().any(|cells| !(1..=1 << 20).contains(cells)) {
            return Err(invalid("cells", format_args!("{cells:?}"), "two or three numbers from 1 to 2^20"));
        }
        check_positive("lengths", lengths, dim)?;
        if cells.iter().product::<usize>() > Self::MOST_CELLS {
            let allowed = format_args!("at most {} in all", Self::MOST_CELLS);
            return Err(invalid("cells", format_args!("{cells:?}"), allowed));
        }
        let along = |d: usize, i: usize| if i == 0 { 0.0 } else { lengths[d] * (i as f64 / cells[d] as f64) };
        let (places, cells) = lattice(cells);
        let vertices = places.into_iter().map(|place| DVec3::from([0, 1, 2].map(|d| along(d, place[d])))).collect();
        Self::new(dim, vertices, cells)
    }

    /// `(-1, 1)^dim` without the quadrant or octant where all coordinates are positive, of 3 or 7 unit cells, x fastest. The
    /// re-entrant corner is the origin.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless `dim` is 2 or 3.
    pub fn l_shape(dim: usize) -> Result<Self> {
        check_dim(dim)?;
        let (mut places, mut cells) = lattice(&[2; 3][..dim]);
        // The last cell is missing, with the vertex that only it has.
        places.pop();
        cells.truncate(cells.len() - (1 << dim));
        let coordinate = |place: [usize; 3], d: usize| if d < dim { place[d] as f64 - 1.0 } else { 0.0 };
        let vertices = places.into_iter().map(|place| DVec3::from([0, 1, 2].map(|d| coordinate(place, d)))).collect();
        Self::new(dim, vertices, cells)
    }

    /// The ring between two radii around the origin, of cells in counterclockwise order; x runs along the circles, y inward. All is
    /// on [circles](Manifold::Spherical).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless `0 < inner < outer` and there are three cells or more.
    pub fn annulus(inner: f64, outer: f64, cells: usize) -> Result<Self> {
        check_radii(inner, outer)?;
        if !(3..=Self::MOST_CELLS).contains(&cells) {
            return Err(invalid("cells", cells, format_args!("3 to {}", Self::MOST_CELLS)));
        }
        let direction = |i: usize| DVec3::from((glam::DVec2::from_angle(TAU * i as f64 / cells as f64), 0.0));
        let circle = |radius: f64| (0..cells).map(move |i| radius * direction(i));
        let n = cells as u32;
        let corners = |i: u32| [i, (i + 1) % n, n + i, n + (i + 1) % n];
        let mut mesh = Self::new(2, circle(outer).chain(circle(inner)).collect(), (0..n).flat_map(corners).collect())?;
        mesh.set_manifold(AROUND_ORIGIN)?;
        Ok(mesh)
    }

    /// The shell between two radii around the origin, of 6 cells whose z runs outward: those at `-x`, `x`, `-y`, `y`, `-z`, `z`.
    /// All is on [spheres](Manifold::Spherical).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless `0 < inner < outer`.
    pub fn shell(inner: f64, outer: f64) -> Result<Self> {
        check_radii(inner, outer)?;
        let mut mesh = Self::new(3, cube(3, inner).chain(cube(3, outer)).collect(), around_cube(3))?;
        mesh.set_manifold(AROUND_ORIGIN)?;
        Ok(mesh)
    }

    /// The disk around the origin: a square, and 4 cells around it whose y runs outward, those at `-x`, `x`, `-y`, `y`.
    /// Its boundary is on a [circle](Manifold::Spherical), all else is flat.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless the radius is positive.
    pub fn disk(radius: f64) -> Result<Self> {
        Self::filled(2, radius)
    }

    /// The ball around the origin: a cube, and 6 cells around it as in a [shell](Self::shell). Its boundary is
    /// on a [sphere](Manifold::Spherical), all else is flat.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless the radius is positive.
    pub fn ball(radius: f64) -> Result<Self> {
        Self::filled(3, radius)
    }

    fn filled(dim: usize, radius: f64) -> Result<Self> {
        check_positive("radius", &[radius], 1)?;
        // As large as that of deal.II's `hyper_ball`; in 2D all inner edges are equally long.
        let inner = radius / (1.0 + (dim as f64).sqrt());
        let mut cells: Vec<u32> = (0..1 << dim).collect();
        cells.extend(around_cube(dim));
        let mut mesh = Self::new(dim, cube(dim, inner).chain(cube(dim, radius)).collect(), cells)?;
        mesh.set_boundary_manifold(0, AROUND_ORIGIN)?;
        Ok(mesh)
    }

    /// The cylinder on the [disk](Self::disk) in the plane `z = 0`, in equal layers along z. Its mantle is on a
    /// [cylinder](Manifold::Cylindrical).
    ///
    /// # Errors
    /// Those of [`Self::disk`] and [`Self::extruded`].
    pub fn cylinder(radius: f64, height: f64, layers: usize) -> Result<Self> {
        let mut mesh = Self::disk(radius)?.extruded(height, layers)?;
        mesh.set_manifold_where(Manifold::Cylindrical, |vertex| vertex.truncate().length() > 0.9 * radius)?;
        Ok(mesh)
    }

    /// A 2D mesh extruded from `z = 0` to `z = height` in equal layers; the cells of a layer are in the order of the mesh.
    /// Boundary numbers, manifolds and maps of degree 2 are not carried over.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) unless the mesh is of 2D, the height is positive, and there is
    /// at least one layer and as few cells as [`CoarseMesh::new`] allows.
    pub fn extruded(&self, height: f64, layers: usize) -> Result<Self> {
        if self.dim() != 2 {
            return Err(invalid("dim", self.dim(), "2 to extrude a mesh"));
        }
        check_positive("height", &[height], 1)?;
        let most = Self::MOST_CELLS / self.cells();
        if !(1..=most).contains(&layers) {
            return Err(invalid("layers", layers, format_args!("1 to {most}")));
        }
        let plane = |layer: usize| {
            let z = height * (layer as f64 / layers as f64);
            self.vertices().iter().map(move |vertex| vertex.with_z(z))
        };
        let stride = self.vertices().len();
        let cells = |layer: usize| {
            let lifted = move |cell: usize, end: usize| {
                self.cell(cell).iter().map(move |vertex| vertex + ((layer + end) * stride) as u32)
            };
            (0..self.cells()).flat_map(move |cell| lifted(cell, 0).chain(lifted(cell, 1)))
        };
        Self::new(3, (0..=layers).flat_map(plane).collect(), (0..layers).flat_map(cells).collect())
    }
}

/// Vertices of a lattice of cells, as numbers in each direction, and the vertex numbers of the cells; x fastest.
fn lattice(cells: &[usize]) -> (Vec<[usize; 3]>, Vec<u32>) {
    let places = |count: [usize; 3]| {
        let plane = move |k| (0..count[1]).flat_map(move |j| (0..count[0]).map(move |i| [i, j, k]));
        (0..count[2]).flat_map(plane)
    };
    let vertices = [0, 1, 2].map(|d| cells.get(d).map_or(1, |cells| cells + 1));
    let strides = [1, vertices[0], vertices[0] * vertices[1]];
    let corners = |place: [usize; 3]| {
        let vertex =
            move |corner| (0..3).map(|d| (place[d] + bit(corner, d) as usize) * strides[d]).sum::<usize>() as u32;
        (0..1 << cells.len()).map(vertex)
    };
    let cells = places([0, 1, 2].map(|d| cells.get(d).copied().unwrap_or(1))).flat_map(corners).collect();
    (places(vertices).collect(), cells)
}

/// Vertices of the square or cube around the origin, x fastest, at a distance.
fn cube(dim: usize, distance: f64) -> impl Iterator<Item = DVec3> {
    let coordinate = distance / (dim as f64).sqrt();
    let along = move |corner, d| if d >= dim { 0.0 } else { coordinate * (2.0 * f64::from(bit(corner, d)) - 1.0) };
    (0..1 << dim).map(move |corner| DVec3::from([0, 1, 2].map(|d| along(corner, d))))
}

/// Cells between the sides of a cube and of a larger one, whose vertices follow those of the first. The last direction of
/// a cell is that from the first to the second cube.
fn around_cube(dim: usize) -> Vec<u32> {
    let mut cells = Vec::new();
    for (d, side) in (0..dim).flat_map(|d| [(d, 0), (d, 1)]) {
        // Directions d + 1, d + 2 .. d are right-handed for d = dim - 1, and after an even permutation.
        let reversed = (side == 0) != (dim == 2 && d == 0);
        for corner in 0..1 << dim {
            let tangential = corner ^ usize::from(reversed);
            let along = (1..dim).map(|axis| (tangential >> (axis - 1) & 1) << ((d + axis) % dim)).sum::<usize>();
            let outer = corner >> (dim - 1);
            cells.push((outer << dim | side << d | along) as u32);
        }
    }
    cells
}

fn check_positive(name: &'static str, values: &[f64], count: usize) -> Result<()> {
    if values.len() == count && values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return Ok(());
    }
    Err(invalid(name, format_args!("{values:?}"), format_args!("{count} positive numbers")))
}

fn check_radii(inner: f64, outer: f64) -> Result<()> {
    check_positive("radii", &[inner, outer], 2)?;
    if inner < outer { Ok(()) } else { Err(invalid("inner radius", inner, format_args!("less than {outer}"))) }
}
