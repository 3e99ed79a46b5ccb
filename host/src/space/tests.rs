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
    let message = |degree| Space::discontinuous(Mesh::unit_cube(2, 2).unwrap(), degree).unwrap_err().to_string();
    assert_eq!(message(0), "degree is 0, but must be 1 to 8 with discontinuous elements");
    assert_eq!(message(9), "degree is 9, but must be 1 to 8 with discontinuous elements");
}

#[test]
fn the_largest_vectors_are_addressable() {
    for (dim, degree) in [(2, 10), (3, 8)] {
        let space = space(dim, Mesh::max_refine(dim), degree);
        let nodes = (space.mesh().cells_along()[0] as u128 * degree as u128).pow(dim as u32);
        assert!(space.storage() as u128 > nodes && space.storage() as u128 * 8 < isize::MAX as u128);
        let space = Space::discontinuous(Mesh::unit_cube(dim, Mesh::max_refine(dim)).unwrap(), 8).unwrap();
        assert!(space.storage() as u128 * 8 < isize::MAX as u128);
    }
}

#[test]
fn coordinates_are_the_nodes_of_the_cells() {
    let space = space(3, 2, 2);
    let line: Vec<f64> = (0..=8).map(|i| space.axes()[0].coordinate(i)).collect();
    assert_eq!(line, [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0]);
    assert_eq!(space.point([1, 4, 8]), DVec3::new(0.125, 0.5, 1.0));
    assert_eq!(space.coarser().unwrap().unwrap().axes()[0].coordinate(1), 0.25);
}

#[test]
fn discontinuous_cells_have_nodes_of_their_own() {
    let space = Space::discontinuous(Mesh::unit_cube(3, 1).unwrap(), 2).unwrap();
    let line: Vec<f64> = (0..6).map(|i| space.axes()[0].coordinate(i)).collect();
    assert_eq!(line, [0.0, 0.25, 0.5, 0.5, 0.75, 1.0]);
    assert_eq!((space.stored_nodes(), space.dofs(), space.storage()), ([6; 3], 216, 216));
    // All of them are unknowns, and stored in the order of dofs.
    for (dof, node) in space.unknowns().enumerate() {
        assert_eq!((space.offset(node), node), (dof, [dof % 6, dof / 6 % 6, dof / 36]));
    }
    let dofs: Vec<f64> = (0..216).map(f64::from).collect();
    assert_eq!(space.to_dofs(&space.from_dofs(&dofs).unwrap()).unwrap(), dofs);
    assert!(space.coarser().is_none());
    let fine = Space::discontinuous(Mesh::unit_cube(2, 3).unwrap(), 2).unwrap();
    let coarse = fine.coarser().unwrap().unwrap();
    assert!(coarse.is(Family::Discontinuous) && coarse.axes().iter().all(|axis| axis.cells() == 4));
}

fn of_box(cells: &[usize], lengths: &[f64], family: Family, degree: usize) -> Space {
    Space::of_family(family, Mesh::of_box(cells, lengths, 1).unwrap(), degree).unwrap()
}

#[test]
fn axes_of_a_box_have_its_cells_and_its_sizes() {
    let space = of_box(&[3, 2, 1], &[1.5, 2.0, 8.0], Family::Continuous, 2);
    let axes: Vec<_> = space.axes().iter().map(|axis| (axis.cells(), axis.cell_size(), axis.stored_nodes())).collect();
    assert_eq!(axes, [(6, 0.25, 12), (4, 0.5, 8), (2, 4.0, 4)]);
    assert_eq!((space.stored_nodes(), space.dofs()), ([12, 8, 4], 11 * 7 * 3));
    // Behind the last node of the last plane.
    assert_eq!(space.storage(), (12 + 12 * (8 + 8 * 4) + 1usize).next_multiple_of(4));
    assert_eq!(space.point([12, 8, 4]), DVec3::new(1.5, 2.0, 8.0));
    assert_eq!((space.point([1, 3, 2]), space.offset([1, 3, 2])), (DVec3::new(0.125, 0.75, 4.0), 1 + 12 * (3 + 8 * 2)));

    let space = of_box(&[3, 2], &[1.5, 2.0], Family::Discontinuous, 1);
    assert_eq!((space.stored_nodes(), space.dofs(), space.storage()), ([12, 8, 1], 96, 96));
    let ends = [[0, 0], [1, 1], [2, 2], [11, 7]].map(|[x, y]| space.point([x, y, 0]));
    let expected = [[0.0, 0.0], [0.25, 0.5], [0.25, 0.5], [1.5, 2.0]].map(|[x, y]| DVec3::new(x, y, 0.0));
    assert_eq!(ends, expected);
}

/// As [`patchmg_device::patch`] has it.
#[test]
fn storage_is_that_of_the_kernels() {
    for (cells, lengths) in [(&[3, 2][..], &[1.0, 1.0][..]), (&[2, 1, 3], &[1.0, 2.0, 3.0])] {
        for degree in 1..=4 {
            let spaces =
                [Family::Continuous, Family::Discontinuous].map(|family| of_box(cells, lengths, family, degree));
            let (dim, cells) = (cells.len(), spaces[0].mesh().cells_along().map(|count| count as u32));
            let grid = patchmg_device::patch::Grid { cells, degree: degree as u32 };
            let dg_grid = DgGrid { cells, degree: degree as u32 };
            assert_eq!(spaces.each_ref().map(Space::storage), [grid.storage(dim), dg_grid.storage(dim)]);
            for [x, y, z] in spaces[0].unknowns() {
                assert_eq!(spaces[0].offset([x, y, z]), grid.offset_3d(x, y, z));
            }
            for [x, y, z] in spaces[1].unknowns() {
                assert_eq!(spaces[1].offset([x, y, z]), dg_grid.offset_3d(x, y, z));
            }
        }
    }
}

#[test]
fn coarser_spaces_keep_family_and_degree() {
    for family in [Family::Continuous, Family::Discontinuous] {
        // Edges are 1/4, 5/4 and 1/5.
        let space = of_box(&[2, 2, 5], &[1.0, 5.0, 2.0], family, 3);
        let coarse = space.coarser().unwrap().unwrap();
        assert!(coarse.is(family) && coarse.degree() == 3);
        assert_eq!(coarse.axes().iter().map(Axis::cells).collect::<Vec<_>>(), [2, 4, 5]);
        assert_eq!(coarse.axes().iter().map(Axis::cell_size).collect::<Vec<_>>(), [0.5, 1.25, 0.4]);
        assert!(coarse.coarser().is_none(), "five cells are not halved");
    }
}

#[test]
fn dofs_and_storage_order_are_inverse() {
    for (dim, degree) in [(2, 1), (2, 3), (3, 1), (3, 2)] {
        let space = space(dim, 2, degree);
        assert_eq!(space.dofs(), (4 * degree - 1).pow(dim as u32));
        check_order(&space);
        check_order(&of_box(&[3, 1, 2][..dim], &[1.0, 2.0, 3.0][..dim], Family::Continuous, degree));
        check_order(&of_box(&[3, 1, 2][..dim], &[1.0, 2.0, 3.0][..dim], Family::Discontinuous, degree));
    }
    let line: Vec<_> = space(2, 1, 1).unknowns().collect();
    assert_eq!(line, [[1, 1, 0]]);
}

fn check_order(space: &Space) {
    assert_eq!(space.unknowns().count(), space.dofs());
    let dofs: Vec<f64> = (0..space.dofs()).map(|i| 1.0 + i as f64).collect();
    let stored = space.from_dofs(&dofs).unwrap();
    assert_eq!(stored.len(), space.storage());
    assert_eq!(stored.iter().filter(|&&v| v != 0.0).count(), space.dofs());
    assert_eq!(space.to_dofs(&stored).unwrap(), dofs);
    assert!(matches!(space.from_dofs(&dofs[1..]), Err(Error::SizeMismatch { .. })));
    assert!(matches!(space.to_dofs(&dofs[1..]), Err(Error::SizeMismatch { .. })));
}
