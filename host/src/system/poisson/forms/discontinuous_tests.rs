use super::super::operator;
use super::*;
use crate::fe::cancel_in_any_order;
use crate::mesh::Mesh;
use approx::assert_abs_diff_eq;
use patchmg_device::dg::solve;

fn of_mesh(mesh: Mesh, degree: usize) -> DiscontinuousForms {
    DiscontinuousForms::new(&Space::discontinuous(mesh, degree).unwrap()).unwrap()
}

/// On the unit cube.
fn unit_cube(refine: usize, degree: usize) -> DiscontinuousForms {
    of_mesh(Mesh::unit_cube(3, refine).unwrap(), degree)
}

/// Of cells of a size.
fn form(degree: usize, size: f64) -> DiscontinuousForm {
    DiscontinuousForm::new(&Element::new(degree).unwrap(), size).unwrap()
}

/// `∫ u' v'` and all faces of a patch, for polynomials on each of its cells: value, derivative, integral of `u' v'`.
#[test]
fn the_form_of_piecewise_constants_is_that_of_their_jumps() {
    for degree in 1..=8 {
        let form = form(degree, 0.125);
        let (n, sigma) = (degree + 1, (2 * degree * (degree + 1)) as f64 / 0.125);
        assert_abs_diff_eq!(form.penalty(), sigma);
        let constants = |lower: f64, upper: f64| DVector::from_fn(2 * n, |i, _| if i < n { lower } else { upper });
        for ends in Ends::ALL {
            let matrix = form.patch_stiffness(ends);
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
        let (n, h) = (degree + 1, 0.25);
        let form = form(degree, h);
        // u = x on the patch's two cells, 0 <= x <= 2h, and 0 beyond.
        let nodes = form.element.nodes();
        let u = DVector::from_fn(2 * n, |i, _| ((i / n) as f64 + nodes[i % n]) * h);
        let energy = |ends| (u.transpose() * form.patch_stiffness(ends) * &u)[0];
        // ∫ u'² = 2h; at the upper face σ u² - 2 {u'} u, with the mean 1/2 between cells and 1 on the boundary.
        let value = 2.0 * h;
        let expected = |mean: f64| 2.0 * h + form.penalty() * value * value - 2.0 * mean * value;
        for (ends, mean) in [(Ends::Neither, 0.5), (Ends::Lower, 0.5), (Ends::Upper, 1.0), (Ends::Both, 1.0)] {
            assert_abs_diff_eq!(energy(ends), expected(mean), epsilon = 1e-10);
        }
    }
}

#[test]
fn patches_are_symmetric_and_their_eigenpairs_solve_them() {
    for degree in 1..=8 {
        let form = form(degree, 0.25);
        let mass = form.patch_mass();
        for ends in Ends::ALL {
            let (matrix, Eigenpairs { values, vectors }) = (form.patch_stiffness(ends), form.eigenpairs(ends));
            assert_eq!(matrix, matrix.transpose());
            assert!(values.iter().all(|&value| value > 0.0), "degree {degree}, {ends:?}: not positive definite");
            let n = matrix.nrows();
            assert_abs_diff_eq!(vectors.transpose() * &mass * vectors, DMatrix::identity(n, n), epsilon = 1e-12);
            let scale = values.amax();
            let found = vectors.transpose() * &matrix * vectors / scale;
            assert_abs_diff_eq!(found, DMatrix::from_diagonal(values) / scale, epsilon = 1e-12);
        }
        assert_eq!(form.eigenpairs(Ends::Lower).values, form.eigenpairs(Ends::Upper).values);
    }
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
        let (n, h, forms) = (degree + 1, 0.125, unit_cube(3, degree));
        let (table, form) = (forms.box_table(Boxes::Cell), &forms.along(0).form);
        let expected = form.mass.iter().map(|entry| entry / h).chain(form.stiffness.iter().map(|entry| entry * h));
        assert_eq!(table[..2 * n * n], expected.collect::<Vec<_>>());
        assert_eq!(table[2 * n * n + 5 * n..], [form.penalty * h, h]);
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
        let forms = unit_cube(refine, degree);
        for boxes in Boxes::ALL {
            let n = boxes.nodes(degree);
            let table = forms.box_table(boxes);
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
        let table = forms.box_solve_table();
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

/// Meshes of two, of four and of more cells in a direction, of cells of equal and of different sizes.
fn meshes() -> Vec<Mesh> {
    let cases: &[(&[usize], &[f64], usize)] = &[
        (&[1, 1], &[1.0, 1.0], 1),
        (&[1, 1, 1], &[1.0, 1.0, 1.0], 2),
        (&[1, 2], &[1.0, 0.7], 1),
        (&[3, 1], &[1.0, 7.0], 1),
        (&[1, 2, 3], &[3.0, 2.0, 0.5], 1),
        (&[1, 1, 1], &[0.3, 2.0, 5.0], 1),
    ];
    cases.iter().map(|&(cells, lengths, refine)| Mesh::of_box(cells, lengths, refine).unwrap()).collect()
}

/// `M` and `L` of the cells' sizes, and those of the x direction with the factors, are of one operator.
#[test]
fn the_operator_of_the_x_direction_with_factors_is_that_of_the_cells() {
    for mesh in meshes() {
        let forms = of_mesh(mesh, 2);
        for ends in Ends::ALL {
            let matrices = |form: &DiscontinuousForm| (form.patch_mass(), form.patch_stiffness(ends));
            let physical: Vec<_> = (0..mesh.dim()).map(|d| matrices(forms.along(d))).collect();
            let expected = operator(&physical, [1.0; 3]);
            let found = operator(&vec![matrices(forms.along(0)); mesh.dim()], forms.factors());
            assert_abs_diff_eq!(found, expected, epsilon = 1e-14 * expected.amax());
        }
    }
    for refine in [1, 3, 7] {
        // Cubes need none.
        assert_eq!(unit_cube(refine, 2).factors(), [1.0; 3]);
    }
}

#[test]
fn inverse_eigenvalues_and_functions_are_the_inverse_of_a_patch() {
    for mesh in meshes() {
        let forms = of_mesh(mesh, 1);
        for ends in [[Ends::Both, Ends::Lower, Ends::Neither], [Ends::Upper, Ends::Neither, Ends::Both]] {
            let matrices = |d: usize| (forms.along(d).patch_mass(), forms.along(d).patch_stiffness(ends[d]));
            let operator = operator(&(0..mesh.dim()).map(matrices).collect::<Vec<_>>(), [1.0; 3]);
            let functions = (0..mesh.dim()).fold(DMatrix::identity(1, 1), |functions, d| {
                forms.along(d).eigenpairs(ends[d]).vectors.kronecker(&functions)
            });
            let eigenvalues = DMatrix::from_diagonal(&DVector::from_vec(forms.inverse_eigenvalues(ends)));
            let identity = DMatrix::identity(operator.nrows(), operator.nrows());
            let product = &functions * eigenvalues * functions.transpose() * operator;
            assert_abs_diff_eq!(product, identity, epsilon = 1e-11);
        }
    }
}

/// As `device/src/dg/solve.rs` says.
#[test]
fn the_table_of_the_solution_is_of_the_x_direction_with_factors() {
    for mesh in meshes() {
        for degree in [1, 2] {
            let (forms, dim) = (of_mesh(mesh, degree), mesh.dim());
            let (table, c, n) = (forms.solve_table::<f64>(), forms.factors(), 2 * (degree + 1));
            let is_thin = solve::is_thin(dim, forms.grid().cells);
            assert_eq!(table.len(), solve::table_words(dim, degree, is_thin));
            let words = n.pow(dim as u32);
            for class in 0..1 << dim {
                let values = |d: usize| &forms.along(0).eigenpairs(forms.ends_of_class(d, class >> d & 1)).values;
                for index in 0..words {
                    let functions = if dim == 2 {
                        vec![index / n, index % n]
                    } else {
                        vec![index / n / n, index % n, index / n % n]
                    };
                    let sum: f64 = functions.iter().enumerate().map(|(d, &f)| c[d] * values(d)[f]).sum();
                    assert!((table[class * words + index] * sum - 1.0).abs() < 1e-13, "class {class}, {index}");
                }
            }
            let (both, half) = (&forms.along(0).eigenpairs(Ends::Both).vectors, degree + 1);
            let rest = &table[words << dim..];
            for (f, node) in (0..if is_thin { half } else { 0 }).flat_map(|f| (0..half).map(move |node| (f, node))) {
                let found = [rest[node + half * f], rest[half * half + node + half * f]];
                assert_eq!(found, [both[(node, f)], both[(node, half + f)]]);
            }
        }
    }
}

#[test]
fn patches_of_a_class_touch_the_ends_of_its_direction() {
    let forms = of_mesh(Mesh::of_box(&[1, 2, 3], &[1.0; 3], 1).unwrap(), 1);
    for class in [0, 1] {
        assert_eq!(forms.ends_of_class(0, class), Ends::Both);
        assert_eq!([1, 2].map(|d| forms.ends_of_class(d, class)), [[Ends::Neither, Ends::Lower][class]; 2]);
    }
}

/// The inverse diagonal against the operator's action on unit vectors, by the 1D matrices.
#[test]
fn inverse_diagonals_know_the_ends() {
    for mesh in [1, 2, 3].map(|refine| Mesh::unit_cube(2, refine).unwrap()).into_iter().chain(meshes()) {
        let (forms, n) = (of_mesh(mesh, 2), 3);
        let cells = mesh.cells_along();
        // Node i as one of the patch that begins with its cell, or with the one before.
        let entries = |d: usize, i: usize| {
            let cell = i / n;
            let first = cell.min(cells[d] - 2);
            let (own, form) = (i - first * n, forms.along(d));
            let ends = Ends::of_patch(cells[d] as u32, first as u32);
            (form.patch_mass()[(own, own)], form.patch_stiffness(ends)[(own, own)])
        };
        let inverse = forms.inverse_diagonal::<f64>().unwrap();
        for node in forms.space().unknowns() {
            let lines: Vec<_> = (0..mesh.dim()).map(|d| entries(d, node[d])).collect();
            let term = |d: usize| -> f64 {
                lines.iter().enumerate().map(|(e, &(mass, stiffness))| if e == d { stiffness } else { mass }).product()
            };
            let entry: f64 = (0..mesh.dim()).map(term).sum();
            assert!((inverse[forms.space().offset(node)] * entry - 1.0).abs() < 1e-14, "{node:?}");
        }
    }
}

#[test]
fn eigenpairs_of_a_line_solve_it() {
    for degree in [1, 3, 8] {
        for cells in [2, 3, 5] {
            let form = form(degree, 0.3);
            let Eigenpairs { values, vectors } = form.line_eigenpairs(cells).unwrap();
            let (mass, stiffness) = (repeated(&form.form.mass, cells), form.form.line(cells, Ends::Both));
            let n = cells * (degree + 1);
            assert_eq!(stiffness, stiffness.transpose());
            assert_abs_diff_eq!(vectors.transpose() * mass * &vectors, DMatrix::identity(n, n), epsilon = 1e-12);
            let (scale, found) = (values.amax(), vectors.transpose() * stiffness * &vectors);
            assert_abs_diff_eq!(found / scale, DMatrix::from_diagonal(&values) / scale, epsilon = 1e-12);
        }
    }
}
