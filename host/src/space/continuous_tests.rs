use super::*;
use crate::fe::cancel_in_any_order;
use approx::assert_abs_diff_eq;
use patchmg_device::contract::Centrosymmetric;

fn space(dim: usize, refine: usize, degree: usize) -> ContinuousSpace {
    ContinuousSpace::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

#[test]
fn inverse_eigenvalues_are_those_of_the_patch() {
    for (dim, degree) in [(2, 3), (3, 2)] {
        let space = space(dim, 3, degree);
        let (a, m) = (interior(&space.stiffness), interior(&space.mass));
        let mut operator = a.kronecker(&m) + m.kronecker(&a);
        let mut mass = m.kronecker(&m);
        if dim == 3 {
            operator = a.kronecker(&mass) + m.kronecker(&operator);
            mass = m.kronecker(&mass);
        }
        let mut found: Vec<f64> = space.inverse_eigenvalues().iter().map(|v| 1.0 / v).collect();
        assert_eq!(found.len(), operator.nrows());
        found.sort_by(f64::total_cmp);
        let expected = crate::fe::generalized_eigenpairs(&operator, &mass).unwrap().values;
        for (value, expected) in found.iter().zip(&expected) {
            assert!((value - expected).abs() <= 1e-10 * expected, "{value} != {expected}");
        }
    }
}

/// Applies the kernels' matrices to unit vectors and compares with the dense ones that they stand for.
fn kernel_matrices_are_the_dense_ones<
    const K: usize,
    const M: usize,
    const N: usize,
    const C: usize,
    const H: usize,
>() {
    let space = space(2, 3, K);
    let (s, identity) = (&space.eigenpairs.vectors, DMatrix::<f64>::identity(N, N));
    let smoother = space.smoother_matrices::<f64, K, M>();
    let operator = space.operator_matrices::<f64, N, C>();
    let cell = space.cell_matrices::<f64, C, H>();
    let restriction = space.restriction_matrices::<f64, N, H>();
    let prolongation = space.prolongation_matrices::<f64, C>();
    let unit = |j: usize, n: usize| identity.view((0, j), (n, 1)).column(0).into_owned();
    let close = |found: &[f64], expected: DVector<f64>| {
        assert_abs_diff_eq!(DVector::from_column_slice(found), expected, epsilon = 1e-12 * expected.amax().max(1.0));
    };
    let p = &space.prolongation;
    for j in 0..N {
        let e: [f64; N] = core::array::from_fn(|i| identity[(i, j)]);
        close(&operator.mass.apply::<f64, N>(&e), &space.mass * unit(j, N));
        close(&operator.stiffness.apply::<f64, N>(&e), &space.stiffness * unit(j, N));
        close(&restriction.mass.apply::<f64, C>(&e), p.transpose() * &space.mass * unit(j, N));
        close(&restriction.stiffness.apply::<f64, C>(&e), p.transpose() * &space.stiffness * unit(j, N));
        let weight = if j == 0 || j == N - 1 { 0.5 } else { 1.0 };
        close(&restriction.transfer.apply::<f64, C>(&e), p.transpose() * unit(j, N) * weight);
    }
    for j in 0..C {
        let e: [f64; C] = core::array::from_fn(|i| identity[(i, j)]);
        close(&prolongation.transfer.apply::<f64, N>(&e), p * unit(j, C));
        for (matrix, patch) in [(cell.mass, &space.mass), (cell.stiffness, &space.stiffness)] {
            // A cell's matrix, twice along the diagonal, is a patch's: its last row is its first one, mirrored.
            let mut column = patch.view((0, j), (C, 1)).column(0).into_owned();
            column[C - 1] = patch[(0, C - 1 - j)];
            close(&matrix.split.apply::<f64, C>(&e), column.clone());
            close(&matrix.rows.map(|row| row[j]), column);
        }
    }
    for j in 0..M {
        let e: [f64; M] = core::array::from_fn(|i| identity[(i, j)]);
        close(&smoother.vectors.synthesize(&e), s * unit(j, M));
        close(&smoother.vectors.analyze(&e), s.transpose() * unit(j, M));
        close(&smoother.vectors.synthesize(&smoother.mass.analyze(&e)), unit(j, M));
    }
    // The boundary columns, both ends, against what equation 2.15 makes of them.
    let lambda = DMatrix::from_diagonal(&space.eigenpairs.values);
    for (node, odd_sign) in [(0, 1.0), (N - 1, -1.0)] {
        let mass = s.transpose() * space.mass.view((1, node), (M, 1)).column(0);
        let stiffness = s.transpose() * space.stiffness.view((1, node), (M, 1)).column(0);
        let signed = |values: &[f64; M]| -> Vec<f64> {
            (0..M)
                .map(|f| if SmootherMatrices::<f64, K, M>::is_even(f) { values[f] } else { odd_sign * values[f] })
                .collect()
        };
        close(&signed(&smoother.mass_boundary), mass.clone());
        close(&signed(&smoother.coupling), stiffness - &lambda * mass);
    }
}

#[test]
fn kernel_matrices_are_the_dense_ones_in_every_degree() {
    for degree in 1..=10 {
        macro_rules! check {
            ($($k:literal)+) => {
                match degree {
                    $($k => kernel_matrices_are_the_dense_ones::<
                        $k, { 2 * $k - 1 }, { 2 * $k + 1 }, { $k + 1 }, { usize::div_ceil($k + 1, 2) }
                    >(),)+
                    _ => unreachable!(),
                }
            };
        }
        check!(1 2 3 4 5 6 7 8 9 10);
    }
}

#[test]
fn galerkin_product_of_a_patch_is_the_coarse_cell() {
    for degree in 1..=10 {
        let fine = space(2, 3, degree);
        let h = 2.0 * fine.mesh().cell_size();
        let p = &fine.prolongation;
        let mass = p.transpose() * &fine.mass * p;
        let stiffness = p.transpose() * &fine.stiffness * p;
        assert_abs_diff_eq!(mass, fine.element().mass() * h, epsilon = 1e-14);
        assert_abs_diff_eq!(stiffness, fine.element().stiffness() / h, epsilon = 1e-11 / h);
    }
}

/// Whether the rows of a matrix sum to zero exactly in any order, and so do those of its even part.
fn keeps_constants<T: Real, const N: usize, const H: usize, const R: usize>(matrix: &Centrosymmetric<T, N, H>) -> bool {
    let column = |j: usize| {
        let x: [T; N] = core::array::from_fn(|i| if i == j { T::from_f64(1.0) } else { T::ZERO });
        matrix.apply::<T, R>(&x).map(T::to_f64)
    };
    let even = |j: usize| {
        let x: [T; N] = core::array::from_fn(|i| if i == j || i + j + 1 == N { T::from_f64(1.0) } else { T::ZERO });
        matrix.apply::<T, R>(&x).map(T::to_f64)
    };
    let (columns, even): (Vec<_>, Vec<_>) = ((0..N).map(column).collect(), (0..N.div_ceil(2)).map(even).collect());
    let constant = [0.125, 1.0, 64.0].map(|value| matrix.apply::<T, R>(&[T::from_f64(value); N]));
    (0..R).all(|i| {
        cancel_in_any_order(columns.iter().map(|column| column[i]), T::MANTISSA_DIGITS)
            && cancel_in_any_order(even.iter().map(|column| column[i]), T::MANTISSA_DIGITS)
            && constant.iter().all(|row| row[i] == T::ZERO)
    })
}

/// Every stiffness matrix that kernels take, as numbers of `T`.
fn kernel_matrices_keep_constants<T: Real, const N: usize, const C: usize, const H: usize>(space: &ContinuousSpace) {
    let context = format!("{}D Q{}, h = {}, {}", space.dim(), space.degree(), space.cell_size, T::NAME);
    let cell = space.cell_matrices::<T, C, H>().stiffness;
    assert!(keeps_constants::<T, C, H, C>(&cell.split), "cell, {context}");
    assert!(cell.rows.iter().all(|row| cancel_in_any_order(row.map(T::to_f64), T::MANTISSA_DIGITS)), "rows, {context}");
    // Rows of a cell times the factor of the level.
    let factor = T::from_f64(space.operator_factor());
    assert!(
        cell.rows.iter().all(|row| cancel_in_any_order(row.map(|entry| (factor * entry).to_f64()), T::MANTISSA_DIGITS))
    );
    // In `f32` kernels apply them to `x` less a constant, and entries are rounded one by one.
    let patch = space.operator_matrices::<T, N, C>().stiffness;
    assert!(T::NAME == "f32" || keeps_constants::<T, N, C, N>(&patch), "patch, {context}");
    assert!(keeps_constants::<T, N, H, C>(&space.restriction_matrices::<T, N, H>().stiffness), "PᵀA, {context}");
    let cancel = |row: &[T]| cancel_in_any_order(row.iter().map(|entry| entry.to_f64()), T::MANTISSA_DIGITS);
    let rows = space.point_rows::<T>();
    assert!(rows.chunks(N).skip(1).step_by(2).all(cancel), "point Gauss-Seidel, {context}");
    assert!(space.variant_table::<T>()[N * N..2 * N * N].chunks(N).all(cancel), "kernels of paper 1, {context}");
}

#[test]
fn constants_are_in_the_null_space_of_all_kernel_matrices() {
    for (dim, degree) in (1..=10).map(|degree| (2, degree)).chain((1..=8).map(|degree| (3, degree))) {
        let space = space(dim, 3, degree);
        let sizes =
            [0.3, 1.7].map(|size| ContinuousSpace::of_cells(space.mesh, space.element.clone(), size, size).unwrap());
        for space in [space].into_iter().chain(sizes) {
            for space in [space.on_unit_cells().unwrap(), space] {
                macro_rules! check {
                    ($($k:literal)+) => {
                        match degree {
                            $($k => {
                                const H: usize = usize::div_ceil($k + 1, 2);
                                kernel_matrices_keep_constants::<f32, { 2 * $k + 1 }, { $k + 1 }, H>(&space);
                                kernel_matrices_keep_constants::<f64, { 2 * $k + 1 }, { $k + 1 }, H>(&space);
                            })+
                            _ => unreachable!(),
                        }
                    };
                }
                check!(1 2 3 4 5 6 7 8 9 10);
            }
        }
    }
}

/// `M` and `A` of cells of any size, and of size 1 with the factor, are of one operator.
#[test]
fn the_operator_on_unit_cells_differs_by_a_power_of_two() {
    for (dim, degree) in [(2, 3), (3, 2)] {
        for size in [0.125, 0.3, 1.0, 1.7, 3.0] {
            let space = space(dim, 3, degree);
            let space = ContinuousSpace::of_cells(space.mesh, space.element, size, size).unwrap();
            let (unit, factor) = (space.on_unit_cells().unwrap(), space.operator_factor());
            assert_eq!(factor.log2().fract(), 0.0);
            assert!(dim == 3 || factor == 1.0);
            assert_eq!(unit.stiffness, assemble(&space.element.stiffness(), 2));
            let operator = |ContinuousSpace { mass, stiffness, .. }: &ContinuousSpace| {
                let plane = stiffness.kronecker(mass) + mass.kronecker(stiffness);
                if dim == 2 { plane } else { plane.kronecker(mass) + mass.kronecker(mass).kronecker(stiffness) }
            };
            let expected = operator(&space);
            assert_abs_diff_eq!(operator(&unit) * factor, expected, epsilon = 1e-14 * expected.amax());
        }
    }
}
