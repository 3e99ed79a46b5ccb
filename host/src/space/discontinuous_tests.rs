use super::*;
use crate::fe::cancel_in_any_order;
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

/// Of the form with both neighbours, in the order of nodes: what the row of a cell's node multiplies.
fn full_rows(form: &Form) -> Vec<Vec<f64>> {
    let (n, last) = (form.normal.len(), form.normal.len() - 1);
    let delta = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
    // The value `v` on the face times `n_t - σ δ_t0`, then `g = Σ n_s v_s`.
    let behind = |t: usize| {
        let value = [form.normal[t], -form.penalty * delta(t, 0)];
        let slope = form.normal.iter().map(move |normal| normal * delta(t, 0));
        value.into_iter().chain(slope).collect::<Vec<_>>()
    };
    (0..n).map(|t| form.stiffness.row(t).iter().copied().chain(behind(t)).chain(behind(last - t)).collect()).collect()
}

#[test]
fn constants_are_in_the_null_space_of_the_form() {
    for degree in 1..=8 {
        let element = Element::new(degree).unwrap();
        for h in [0.125, 0.3, 1.0, 1.7] {
            let form = Form::of_cells(&element, h);
            assert!(
                cancel_in_any_order(form.normal.iter().copied(), f64::MANTISSA_DIGITS),
                "degree {degree}, h = {h}: slopes"
            );
            for row in full_rows(&form) {
                assert!(cancel_in_any_order(row, f64::MANTISSA_DIGITS), "degree {degree}, h = {h}");
            }
            // Jumps to both sides of a patch: what the row of a constant is but for σ and the derivatives behind its ends.
            let patch = form.patch(Ends::Neither);
            for (i, row) in patch.row_iter().enumerate().filter(|(i, _)| (1..2 * degree + 1).contains(i)) {
                let lift = [i, 2 * degree + 1 - i].map(|t| form.normal.get(t).copied().unwrap_or(0.0));
                assert!(
                    cancel_in_any_order(row.iter().copied().chain(lift), f64::MANTISSA_DIGITS),
                    "patch, degree {degree}"
                );
            }
        }
    }
}

/// The tables of cells of size 1 are exactly those of the space's cells.
#[test]
fn box_tables_are_those_of_the_form() {
    for degree in 1..=8 {
        let space = space(3, 3, degree);
        let (n, h) = (degree + 1, space.mesh().cell_size());
        let table = space.box_table(Boxes::Cell);
        let expected =
            space.form.mass.iter().map(|entry| entry / h).chain(space.form.stiffness.iter().map(|entry| entry * h));
        assert_eq!(table[..2 * n * n], expected.collect::<Vec<_>>());
        assert_eq!(table[2 * n * n + 5 * n..], [space.penalty() * h, h]);
    }
}

/// Sums of the magnitudes of each row of a matrix with so many columns.
fn row_sums(matrix: &[f64], columns: usize) -> Vec<f64> {
    matrix.chunks(columns).map(|row| row.iter().map(|entry| entry.abs()).sum()).collect()
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

/// Operands of products in `f16` are below 65504, and what is not zero above 6e-8. Kernels scale their data to at most 2
/// ([`patchmg_device::tensor_core::range`]); what they compute from it is bounded by sums of magnitudes.
#[test]
fn operands_of_box_kernels_are_within_the_range_of_half_precision_on_every_level() {
    const DATA: f64 = 2.0;
    const RANGE: std::ops::Range<f64> = 1e-3..65504.0;
    for (degree, refine) in (1..=8).flat_map(|degree| [1, 2, 6].map(|refine| (degree, refine))) {
        let space = space(3, refine, degree);
        for boxes in Boxes::ALL {
            let n = boxes.nodes(degree);
            let table = space.box_table(boxes);
            let (matrices, rest) = table.split_at(2 * n * n);
            let (mass, stiffness) = (row_sums(&matrices[..n * n], n), row_sums(&matrices[n * n..], n));
            let faces = row_sums(&rest[..4 * n], 4);
            // Directions x and y; the last one's sums are no operands.
            let (m, b) = (largest(mass), largest(stiffness.iter().zip(&faces).map(|(l, f)| DATA * (l + f))));
            for operand in [DATA * m, b, DATA * m * m, 2.0 * b * m, largest(matrices.iter().copied())] {
                assert!(RANGE.contains(&operand), "degree {degree}, level {refine}: {operand:e}");
            }
        }

        let n = 2 * (degree + 1);
        let table = space.box_solve_table();
        for ends in 0..4 {
            let vectors = &table[ends * n * n..][..n * n];
            let values = &table[4 * n * n + ends * n..][..n];
            let transposed: Vec<_> = (0..n * n).map(|i| vectors[i % n * n + i / n]).collect();
            let modes = row_sums(&transposed, n);
            let s = largest(modes.iter().copied());
            for operand in [DATA * s, DATA * s * s, largest(vectors.iter().copied())] {
                assert!(RANGE.contains(&operand), "degree {degree}, level {refine}: {operand:e}");
            }
            // Of modes `[i, j, l]`, then of nodes in z, then in y, too.
            let quotient = |i: usize, j: usize, l: usize| {
                DATA * modes[i] * modes[j] * modes[l] / (values[i] + values[j] + values[l])
            };
            let dot = |node: usize, value: &dyn Fn(usize) -> f64| -> f64 {
                (0..n).map(|mode| vectors[n * node + mode].abs() * value(mode)).sum()
            };
            let in_z: Vec<f64> =
                (0..n * n * n).map(|at| dot(at / n / n, &|l| quotient(at % n, at / n % n, l))).collect();
            let in_y = (0..n * n * n).map(|at| dot(at / n % n, &|j| in_z[at / n / n * n * n + j * n + at % n]));
            let quotients = (0..n * n * n).map(|at| quotient(at % n, at / n % n, at / n / n));
            for operand in [largest(quotients), largest(in_z.iter().copied()), largest(in_y)] {
                assert!(RANGE.contains(&operand), "degree {degree}, level {refine}: {operand:e}");
            }
        }
    }
}
