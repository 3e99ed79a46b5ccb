use super::*;
use approx::assert_abs_diff_eq;

fn space(dim: usize, refine: usize, degree: usize) -> DiscontinuousSpace {
    DiscontinuousSpace::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()
}

/// `∫ u' v'` and all faces of a patch, for polynomials on each of its cells: value, derivative, integral of `u' v'`.
#[test]
fn the_form_of_piecewise_constants_is_that_of_their_jumps() {
    for degree in 1..=8 {
        let space = space(2, 3, degree);
        let (n, sigma) = (degree + 1, (2 * degree * (degree + 1)) as f64 / space.mesh().cell_size());
        assert_abs_diff_eq!(space.penalty(), sigma);
        let constants = |lower: f64, upper: f64| DVector::from_fn(2 * n, |i, _| if i < n { lower } else { upper });
        for ends in Ends::ALL {
            let matrix = space.patch_stiffness(ends);
            for (lower, upper) in [(1.0, 1.0), (1.0, 0.0), (2.0, -3.0)] {
                let v = constants(lower, upper);
                let energy = (v.transpose() * &matrix * &v)[0];
                // Beyond the patch, or on the boundary, there is zero.
                let expected = sigma * (lower * lower + upper * upper + (upper - lower) * (upper - lower));
                assert_abs_diff_eq!(energy, expected, epsilon = 1e-9 * expected);
            }
        }
    }
}

#[test]
fn the_form_of_a_linear_function_has_its_derivatives() {
    for degree in 1..=8 {
        let space = space(2, 2, degree);
        let (n, h) = (degree + 1, space.mesh().cell_size());
        // u = x on the patch's two cells, 0 <= x <= 2h, and 0 beyond.
        let nodes = space.element().nodes();
        let u = DVector::from_fn(2 * n, |i, _| ((i / n) as f64 + nodes[i % n]) * h);
        let energy = |ends| (u.transpose() * space.patch_stiffness(ends) * &u)[0];
        // ∫ u'² = 2h; at the upper face σ u² - 2 {u'} u, with the mean 1/2 between cells and 1 on the boundary.
        let value = 2.0 * h;
        let expected = |mean: f64| 2.0 * h + space.penalty() * value * value - 2.0 * mean * value;
        for (ends, mean) in [(Ends::Neither, 0.5), (Ends::Lower, 0.5), (Ends::Upper, 1.0), (Ends::Both, 1.0)] {
            assert_abs_diff_eq!(energy(ends), expected(mean), epsilon = 1e-10);
        }
    }
}

#[test]
fn patches_are_symmetric_and_their_eigenpairs_solve_them() {
    for degree in 1..=8 {
        let space = space(3, 2, degree);
        let mass = space.patch_mass();
        for ends in Ends::ALL {
            let (matrix, Eigenpairs { values, vectors }) = (space.patch_stiffness(ends), space.eigenpairs(ends));
            assert_eq!(matrix, matrix.transpose());
            assert!(values.iter().all(|&value| value > 0.0), "degree {degree}, {ends:?}: not positive definite");
            let n = matrix.nrows();
            assert_abs_diff_eq!(vectors.transpose() * &mass * vectors, DMatrix::identity(n, n), epsilon = 1e-12);
            let scale = values.amax();
            let found = vectors.transpose() * &matrix * vectors / scale;
            assert_abs_diff_eq!(found, DMatrix::from_diagonal(values) / scale, epsilon = 1e-12);
        }
        assert_eq!(space.eigenpairs(Ends::Lower).values, space.eigenpairs(Ends::Upper).values);
    }
}

#[test]
fn degrees_out_of_range_name_what_is_allowed() {
    let message = |degree| DiscontinuousSpace::new(Mesh::unit_cube(2, 2).unwrap(), degree).unwrap_err().to_string();
    assert_eq!(message(0), "degree is 0, but must be 1 to 8 with discontinuous elements");
    assert_eq!(message(9), "degree is 9, but must be 1 to 8 with discontinuous elements");
}
