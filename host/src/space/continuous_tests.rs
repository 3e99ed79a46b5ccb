use super::*;
use approx::assert_abs_diff_eq;

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
