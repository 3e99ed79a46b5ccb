use super::*;

fn space(dim: usize, refine: usize, degree: usize) -> Space {
    Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

#[test]
fn degrees_out_of_range_name_what_is_allowed() {
    let message = |dim, degree| Space::new(Mesh::unit_cube(dim, 2).unwrap(), degree).unwrap_err().to_string();
    assert_eq!(message(3, 0), "degree is 0, but must be 1 to 8 in 3D");
    assert_eq!(message(3, 9), "degree is 9, but must be 1 to 8 in 3D");
    assert_eq!(message(2, 99), "degree is 99, but must be 1 to 10 in 2D");
}

#[test]
fn the_largest_vectors_are_addressable() {
    for (dim, degree) in [(2, 10), (3, 8)] {
        let space = space(dim, Mesh::max_refine(dim), degree);
        let nodes = (space.mesh().cells_per_direction() as u128 * degree as u128).pow(dim as u32);
        assert!(space.storage() as u128 > nodes && space.storage() as u128 * 8 < isize::MAX as u128);
        let space = Space::discontinuous(Mesh::unit_cube(dim, Mesh::max_refine(dim)).unwrap(), 8).unwrap();
        assert!(space.storage() as u128 * 8 < isize::MAX as u128);
    }
}

#[test]
fn coordinates_are_the_nodes_of_the_cells() {
    let space = space(3, 2, 2);
    let line: Vec<f64> = (0..=8).map(|i| space.coordinate(i)).collect();
    assert_eq!(line, [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0]);
    assert_eq!(space.point([1, 4, 8]), DVec3::new(0.125, 0.5, 1.0));
    assert_eq!(space.coarser().unwrap().unwrap().coordinate(1), 0.25);
}

#[test]
fn discontinuous_cells_have_nodes_of_their_own() {
    let space = Space::discontinuous(Mesh::unit_cube(3, 1).unwrap(), 2).unwrap();
    let line: Vec<f64> = (0..6).map(|i| space.coordinate(i)).collect();
    assert_eq!(line, [0.0, 0.25, 0.5, 0.5, 0.75, 1.0]);
    assert_eq!((space.row(), space.dofs(), space.storage()), (6, 216, 216));
    // All of them are unknowns, and stored in the order of dofs.
    for (dof, node) in space.unknowns().enumerate() {
        assert_eq!((space.offset(node), node), (dof, [dof % 6, dof / 6 % 6, dof / 36]));
    }
    let dofs: Vec<f64> = (0..216).map(f64::from).collect();
    assert_eq!(space.to_dofs(&space.from_dofs(&dofs).unwrap()).unwrap(), dofs);
    assert!(space.coarser().is_none());
    let fine = Space::discontinuous(Mesh::unit_cube(2, 3).unwrap(), 2).unwrap();
    assert!(matches!(fine.coarser(), Some(Ok(Space::Discontinuous(coarse))) if coarse.grid().cells == 4));
}

#[test]
fn what_is_for_continuous_elements_refuses_others() {
    assert!(space(2, 2, 1).continuous("cuda").is_ok());
    let error = Space::discontinuous(Mesh::unit_cube(2, 2).unwrap(), 1).unwrap().continuous("cuda").unwrap_err();
    assert_eq!(error.to_string(), "cuda has no space 'discontinuous'; it has: continuous");
}

/// The inverse diagonal against the operator's action on unit vectors, by the 1D matrices.
#[test]
fn inverse_diagonals_of_discontinuous_elements_know_the_ends() {
    for refine in [1, 2, 3] {
        let space = Space::discontinuous(Mesh::unit_cube(2, refine).unwrap(), 2).unwrap();
        let Space::Discontinuous(lines) = &space else { unreachable!("made so") };
        let (n, cells) = (3, space.mesh().cells_per_direction());
        // Node i as one of the patch that begins with its cell, or with the one before.
        let entries = |i: usize| {
            let cell = (i / n) as u32;
            let first = cell.min(cells - 2);
            let own = i - first as usize * n;
            (lines.patch_mass()[(own, own)], lines.patch_stiffness(Ends::of_patch(cells, first))[(own, own)])
        };
        for (node, inverse) in space.unknowns().zip(space.inverse_diagonal::<f64>().unwrap()) {
            let [(mx, lx), (my, ly)] = [entries(node[0]), entries(node[1])];
            assert!((inverse * (mx * ly + lx * my) - 1.0).abs() < 1e-14, "{node:?}");
        }
    }
}

#[test]
fn dofs_and_storage_order_are_inverse() {
    for (dim, degree) in [(2, 1), (2, 3), (3, 1), (3, 2)] {
        let space = space(dim, 2, degree);
        assert_eq!(space.dofs(), (4 * degree - 1).pow(dim as u32));
        assert_eq!(space.unknowns().count(), space.dofs());
        let dofs: Vec<f64> = (0..space.dofs()).map(|i| 1.0 + i as f64).collect();
        let stored = space.from_dofs(&dofs).unwrap();
        assert_eq!(stored.len(), space.storage());
        assert_eq!(stored.iter().filter(|&&v| v != 0.0).count(), space.dofs());
        assert_eq!(space.to_dofs(&stored).unwrap(), dofs);
        assert!(matches!(space.from_dofs(&dofs[1..]), Err(Error::SizeMismatch { .. })));
        assert!(matches!(space.to_dofs(&dofs), Err(Error::SizeMismatch { .. })));
    }
    let line: Vec<_> = space(2, 1, 1).unknowns().collect();
    assert_eq!(line, [[1, 1, 0]]);
}
