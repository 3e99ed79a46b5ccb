//! Coarse meshes: generators, and what is refused.

use crate::forest::CoarseMesh;
use glam::DVec3;

/// By Gauss's rule of 2 points a direction, which is exact for multilinear maps in 2D and nearly in 3D.
fn volume(mesh: &CoarseMesh) -> f64 {
    let (dim, h) = (mesh.dim(), 1e-5);
    let points = [0.5 - 0.5 / 3.0_f64.sqrt(), 0.5 + 0.5 / 3.0_f64.sqrt()];
    let determinant = |cell: usize, x: [f64; 3]| {
        let derivative = |d: usize| {
            let [mut above, mut below] = [x, x];
            (above[d], below[d]) = (x[d] + h, x[d] - h);
            (mesh.point(cell, above) - mesh.point(cell, below)) / (2.0 * h)
        };
        derivative(0).cross(derivative(1)).dot(if dim == 3 { derivative(2) } else { DVec3::Z })
    };
    let at = |q: usize| [0, 1, 2].map(|d| points[q >> d & 1]);
    let cell = |cell| (0..1 << dim).map(|q| determinant(cell, at(q))).sum::<f64>() / (1 << dim) as f64;
    (0..mesh.cells()).map(cell).sum()
}

#[test]
fn generators_have_the_cells_and_the_volume_of_their_domain() {
    let disk = 4.0 * 0.5;
    let cases = [
        (CoarseMesh::of_box(&[3, 2], &[1.5, 5.0]), 6, 12, 7.5),
        (CoarseMesh::of_box(&[3, 1, 2], &[1.5, 0.5, 2.0]), 6, 24, 1.5),
        (CoarseMesh::l_shape(2), 3, 8, 3.0),
        (CoarseMesh::l_shape(3), 7, 26, 7.0),
        (CoarseMesh::l_shape(2).unwrap().extruded(1.0, 1), 3, 16, 3.0),
        (CoarseMesh::annulus(0.5, 1.0, 10), 10, 20, 5.0 * 0.75 * (std::f64::consts::TAU / 10.0).sin()),
        (CoarseMesh::shell(0.5, 1.0), 6, 16, 8.0 * 0.875 / 27.0_f64.sqrt()),
        (CoarseMesh::disk(1.0), 5, 8, disk),
        (CoarseMesh::ball(1.0), 7, 16, 8.0 / 27.0_f64.sqrt()),
        (CoarseMesh::cylinder(1.0, 3.0, 2), 10, 24, 3.0 * disk),
    ];
    for (mesh, cells, vertices, expected) in cases {
        let mesh = mesh.unwrap();
        assert_eq!((mesh.cells(), mesh.vertices().len()), (cells, vertices));
        assert!((volume(&mesh) - expected).abs() < 1e-8 * expected, "{} {expected}", volume(&mesh));
    }
}

#[test]
fn corners_of_generated_meshes_lie_where_they_must() {
    let l_shape = CoarseMesh::l_shape(2).unwrap();
    let has = |mesh: &CoarseMesh, x: f64, y: f64, z: f64| mesh.vertices().contains(&DVec3::new(x, y, z));
    assert!(has(&l_shape, 0.0, 0.0, 0.0) && has(&l_shape, 1.0, 0.0, 0.0) && !has(&l_shape, 1.0, 1.0, 0.0));
    let l_shape = CoarseMesh::l_shape(3).unwrap();
    assert!(has(&l_shape, 1.0, 1.0, 0.0) && has(&l_shape, 0.0, 0.0, 0.0) && !has(&l_shape, 1.0, 1.0, 1.0));
    let radii = |mesh: CoarseMesh, radius: f64| {
        mesh.vertices().iter().filter(|vertex| (vertex.length() - radius).abs() < 1e-15).count()
    };
    assert_eq!(radii(CoarseMesh::annulus(0.5, 1.0, 10).unwrap(), 0.5), 10);
    assert_eq!(radii(CoarseMesh::shell(0.5, 1.0).unwrap(), 1.0), 8);
    assert_eq!(radii(CoarseMesh::ball(3.0).unwrap(), 3.0), 8);
    assert_eq!(radii(CoarseMesh::disk(2.0).unwrap(), 2.0), 4);
}

#[test]
fn boundary_faces_have_numbers() {
    let mut mesh = CoarseMesh::l_shape(2).unwrap();
    assert_eq!((0..4).map(|face| mesh.boundary(0, face)).collect::<Vec<_>>(), [Some(0), None, Some(0), None]);
    mesh.set_boundary(&[4, 5], 7).unwrap();
    assert_eq!((0..4).map(|face| mesh.boundary(1, face)).collect::<Vec<_>>(), [None, Some(0), Some(0), Some(7)]);
    let mut shell = CoarseMesh::shell(0.5, 1.0).unwrap();
    let outer: Vec<u32> = shell.cell(2)[4..].to_vec();
    shell.set_boundary(&outer, 1).unwrap();
    for cell in 0..6 {
        let expected = [None, None, None, None, Some(0), Some(u32::from(cell == 2))];
        assert_eq!([0, 1, 2, 3, 4, 5].map(|face| shell.boundary(cell, face)), expected);
    }
    let inner_side = mesh.set_boundary(&[1, 4], 1).unwrap_err().to_string();
    assert_eq!(inner_side, "a boundary face is [1, 4], but must be the vertices of a face of one cell");
    assert!(mesh.set_boundary(&[0, 4], 1).is_err());
}

#[test]
fn bad_meshes_are_refused_with_number_and_place() {
    let plane = |count: i32| -> Vec<DVec3> {
        (0..count).map(|v| DVec3::new(f64::from(v % 3), f64::from(v / 3), 0.0)).collect()
    };
    let refused =
        |vertices: Vec<DVec3>, cells: &[u32]| CoarseMesh::new(2, vertices, cells.to_vec()).unwrap_err().to_string();
    let square = [0, 1, 3, 4];
    assert_eq!(CoarseMesh::new(4, plane(6), square.to_vec()).unwrap_err().to_string(), "dim is 4, but must be 2 or 3");
    assert_eq!(
        refused(plane(6), &[]),
        "the length of the list of cells is 0, but must be 4 numbers for each of 1 to 67108864 cells"
    );
    assert_eq!(refused(plane(6), &[0, 1, 3, 9]), "a vertex number is 9 in cell 0, but must be below 6");
    assert_eq!(refused(plane(6), &[0, 1, 3, 1]), "a vertex number is 1 twice in cell 0, but must be once in a cell");
    assert_eq!(
        refused(plane(6), &square),
        "the number of cells is 0 at vertex 2, which is [2, 0, 0], but must be at least 1"
    );
    let mut lifted = plane(6);
    lifted[5].z = 0.5;
    assert_eq!(refused(lifted, &square), "a vertex is [2, 1, 0.5] (number 5), but must be finite, with z = 0 in 2D");
    let mut infinite = plane(6);
    infinite[0].x = f64::NAN;
    assert!(refused(infinite, &square).starts_with("a vertex is [NaN, 0, 0] (number 0)"));
    assert_eq!(
        refused(plane(6), &[0, 1, 3, 4, 2, 1, 5, 4]),
        "the Jacobian determinant is -1 in cell 1 at vertex 2, which is [2, 0, 0], but must be positive: the cell is \
         inverted there"
    );
    // Positive at three corners only.
    let mut arrow = plane(6);
    arrow[4] = DVec3::new(0.4, 0.4, 0.0);
    assert!(refused(arrow, &[0, 1, 3, 4, 1, 2, 4, 5]).contains("in cell 0 at vertex 4, which is [0.4, 0.4, 0]"));
    // A side of one cell is the diagonal of the other.
    let mut crossed = plane(6);
    crossed.push(DVec3::new(1.0, -1.0, 0.0));
    crossed.push(DVec3::new(3.0, 1.0, 0.0));
    assert_eq!(
        refused(crossed, &[0, 1, 3, 4, 1, 2, 4, 5, 6, 7, 1, 5]),
        "the contact of two cells is vertices [1, 5] of cells 1 and 2, but must be one vertex, edge or face of both"
    );
    assert_eq!(
        refused(
            plane(5).into_iter().chain([DVec3::new(5.0, 5.0, 0.0)]).collect(),
            &[0, 1, 3, 4, 0, 1, 3, 5, 0, 2, 3, 4]
        ),
        "the contact of two cells is vertices [0, 1, 3] of cells 0 and 1, but must be one vertex, edge or face of both"
    );
    let fan: Vec<DVec3> = [(0, 0), (1, 0), (0, 1), (1, 1), (-1, 0), (-1, 1), (3, 0), (3, 1)]
        .map(|(x, y)| DVec3::new(f64::from(x), f64::from(y), 0.0))
        .to_vec();
    assert_eq!(
        refused(fan, &[0, 1, 2, 3, 4, 0, 5, 2, 0, 6, 2, 7]),
        "the number of cells is 3 at the face of vertices [0, 2], but must be 1 or 2"
    );
}

#[test]
fn inverted_hexahedra_are_refused() {
    let vertices = CoarseMesh::of_box(&[1; 3], &[1.0; 3]).unwrap().vertices().to_vec();
    let message = CoarseMesh::new(3, vertices, vec![1, 0, 3, 2, 5, 4, 7, 6]).unwrap_err().to_string();
    assert!(
        message.starts_with("the Jacobian determinant is -1 in cell 0 at vertex 1, which is [1, 0, 0]"),
        "{message}"
    );
}

#[test]
fn bad_arguments_of_generators_are_refused() {
    let message = |mesh: crate::Result<CoarseMesh>| mesh.unwrap_err().to_string();
    assert_eq!(message(CoarseMesh::l_shape(4)), "dim is 4, but must be 2 or 3");
    assert_eq!(
        message(CoarseMesh::of_box(&[1], &[1.0])),
        "cells is [1], but must be two or three numbers from 1 to 2^20"
    );
    assert_eq!(message(CoarseMesh::of_box(&[1, 2], &[1.0])), "lengths is [1.0], but must be 2 positive numbers");
    assert_eq!(
        message(CoarseMesh::of_box(&[1 << 20; 3], &[1.0; 3])),
        "cells is [1048576, 1048576, 1048576], but must be at most 67108864 in all"
    );
    assert_eq!(message(CoarseMesh::annulus(1.0, 0.5, 10)), "inner radius is 1, but must be less than 0.5");
    assert_eq!(message(CoarseMesh::annulus(0.5, 1.0, 2)), "cells is 2, but must be 3 to 67108864");
    assert_eq!(message(CoarseMesh::shell(0.0, 1.0)), "radii is [0.0, 1.0], but must be 2 positive numbers");
    assert_eq!(message(CoarseMesh::ball(f64::INFINITY)), "radius is [inf], but must be 1 positive numbers");
    assert_eq!(message(CoarseMesh::cylinder(1.0, 1.0, 0)), "layers is 0, but must be 1 to 13421772");
    assert_eq!(
        message(CoarseMesh::shell(0.5, 1.0).unwrap().extruded(1.0, 1)),
        "dim is 3, but must be 2 to extrude a mesh"
    );
}
