use super::super::operator;
use super::*;
use crate::fe::cancel_in_any_order;
use crate::mesh::Mesh;
use approx::assert_abs_diff_eq;
use patchmg_device::contract::Centrosymmetric;
use patchmg_device::{smoother, variants};

/// On the unit square or cube.
fn unit_cube(dim: usize, refine: usize, degree: usize) -> ContinuousForms {
    ContinuousForms::new(&Space::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap()).unwrap()
}

/// On a box of two cells of each size.
fn of_sizes(sizes: &[f64], degree: usize) -> ContinuousForms {
    let lengths: Vec<_> = sizes.iter().map(|size| 2.0 * size).collect();
    let mesh = Mesh::of_box(&[1; 3][..sizes.len()], &lengths, 1).unwrap();
    ContinuousForms::new(&Space::new(mesh, degree).unwrap()).unwrap()
}

/// Of cells of a size.
fn form(degree: usize, size: f64) -> ContinuousForm {
    ContinuousForm::new(&Element::new(degree).unwrap(), size).unwrap()
}

/// `(M, A)` of a patch's interior nodes.
fn interior_matrices(form: &ContinuousForm) -> (DMatrix<f64>, DMatrix<f64>) {
    (interior(&form.mass), interior(&form.stiffness))
}

/// Cells of the unit square and cube, and of boxes: sizes.
const SIZES: &[&[f64]] = &[
    &[0.125; 2],
    &[0.125; 3],
    &[0.3; 3],
    &[0.3, 1.7],
    &[2.0, 0.1],
    &[0.3, 1.7, 1.0],
    &[1.0, 0.25, 3.0],
    &[0.5, 0.5, 7.0],
];

#[test]
fn inverse_eigenvalues_are_those_of_the_patch() {
    for sizes in SIZES {
        let forms = of_sizes(sizes, if sizes.len() == 2 { 3 } else { 2 });
        let matrices: Vec<_> = (0..forms.dim()).map(|d| interior_matrices(forms.along(d))).collect();
        let operator = operator(&matrices, [1.0; 3]);
        let mass = matrices.iter().fold(DMatrix::identity(1, 1), |mass, (m, _)| m.kronecker(&mass));
        let mut found: Vec<f64> = forms.inverse_eigenvalues().iter().map(|v| 1.0 / v).collect();
        assert_eq!(found.len(), operator.nrows());
        found.sort_by(f64::total_cmp);
        let expected = crate::fe::generalized_eigenpairs(&operator, &mass).unwrap().values;
        for (value, expected) in found.iter().zip(&expected) {
            assert!((value - expected).abs() <= 1e-10 * expected, "{value} != {expected}");
        }

        // The order, too: with the functions of each direction, x fastest, these are the inverse.
        let functions = (0..forms.dim())
            .fold(DMatrix::identity(1, 1), |functions, d| forms.along(d).eigenpairs.vectors.kronecker(&functions));
        let eigenvalues = DMatrix::from_diagonal(&DVector::from_vec(forms.inverse_eigenvalues()));
        let inverse = &functions * eigenvalues * functions.transpose();
        let identity = DMatrix::identity(operator.nrows(), operator.nrows());
        assert_abs_diff_eq!(&inverse * &operator, identity, epsilon = 1e-11);
        let stored = DMatrix::from_vec(inverse.nrows(), inverse.nrows(), forms.patch_inverse::<f64>());
        assert_abs_diff_eq!(stored, inverse, epsilon = 1e-13 * inverse.amax());
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
    let form = form(K, 0.125);
    let (s, identity) = (&form.eigenpairs.vectors, DMatrix::<f64>::identity(N, N));
    let smoother = form.smoother_matrices::<f64, K, M>();
    let operator = form.operator_matrices::<f64, N, C>();
    let cell = form.cell_matrices::<f64, C, H>();
    let restriction = form.restriction_matrices::<f64, N, H>();
    let prolongation = form.prolongation_matrices::<f64, C>();
    let unit = |j: usize, n: usize| identity.view((0, j), (n, 1)).column(0).into_owned();
    let close = |found: &[f64], expected: DVector<f64>| {
        assert_abs_diff_eq!(DVector::from_column_slice(found), expected, epsilon = 1e-12 * expected.amax().max(1.0));
    };
    let p = &form.prolongation;
    for j in 0..N {
        let e: [f64; N] = core::array::from_fn(|i| identity[(i, j)]);
        close(&operator.mass.apply::<f64, N>(&e), &form.mass * unit(j, N));
        close(&operator.stiffness.apply::<f64, N>(&e), &form.stiffness * unit(j, N));
        close(&restriction.mass.apply::<f64, C>(&e), p.transpose() * &form.mass * unit(j, N));
        close(&restriction.stiffness.apply::<f64, C>(&e), p.transpose() * &form.stiffness * unit(j, N));
        let weight = if j == 0 || j == N - 1 { 0.5 } else { 1.0 };
        close(&restriction.transfer.apply::<f64, C>(&e), p.transpose() * unit(j, N) * weight);
    }
    for j in 0..C {
        let e: [f64; C] = core::array::from_fn(|i| identity[(i, j)]);
        close(&prolongation.transfer.apply::<f64, N>(&e), p * unit(j, C));
        for (matrix, patch) in [(cell.mass, &form.mass), (cell.stiffness, &form.stiffness)] {
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
    let lambda = DMatrix::from_diagonal(&form.eigenpairs.values);
    for (node, odd_sign) in [(0, 1.0), (N - 1, -1.0)] {
        let mass = s.transpose() * form.mass.view((1, node), (M, 1)).column(0);
        let stiffness = s.transpose() * form.stiffness.view((1, node), (M, 1)).column(0);
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
        let fine = form(degree, 0.125);
        let h = 2.0 * fine.cell_size;
        let p = &fine.prolongation;
        let mass = p.transpose() * &fine.mass * p;
        let stiffness = p.transpose() * &fine.stiffness * p;
        assert_abs_diff_eq!(mass, fine.element.mass() * h, epsilon = 1e-14);
        assert_abs_diff_eq!(stiffness, fine.element.stiffness() / h, epsilon = 1e-11 / h);
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
fn kernel_matrices_keep_constants<T: Real, const N: usize, const C: usize, const H: usize>(form: &ContinuousForm) {
    let context = format!("Q{}, h = {}, {}", form.degree(), form.cell_size, T::NAME);
    let cell = form.cell_matrices::<T, C, H>().stiffness;
    assert!(keeps_constants::<T, C, H, C>(&cell.split), "cell, {context}");
    assert!(cell.rows.iter().all(|row| cancel_in_any_order(row.map(T::to_f64), T::MANTISSA_DIGITS)), "rows, {context}");
    // In `f32` kernels apply them to `x` less a constant, and entries are rounded one by one.
    let patch = form.operator_matrices::<T, N, C>().stiffness;
    assert!(T::NAME == "f32" || keeps_constants::<T, N, C, N>(&patch), "patch, {context}");
    assert!(keeps_constants::<T, N, H, C>(&form.restriction_matrices::<T, N, H>().stiffness), "PᵀA, {context}");
    let cancel = |row: &[T]| cancel_in_any_order(row.iter().map(|entry| entry.to_f64()), T::MANTISSA_DIGITS);
    let rows = form.point_rows::<T>();
    assert!(rows.chunks(N).skip(1).step_by(2).all(cancel), "point Gauss-Seidel, {context}");
}

/// Those that differ from direction to direction.
fn kernel_tables_keep_constants<T: Real>(forms: &ContinuousForms) {
    let nodes = 2 * forms.degree() + 1;
    let cancel = |row: &[T]| cancel_in_any_order(row.iter().map(|entry| entry.to_f64()), T::MANTISSA_DIGITS);
    let stiffness = &forms.variant_table::<T>()[nodes * nodes..2 * nodes * nodes];
    assert!(stiffness.chunks(nodes).all(cancel), "kernels of paper 1, {}D Q{}", forms.dim(), forms.degree());
}

#[test]
fn constants_are_in_the_null_space_of_all_kernel_matrices() {
    for degree in 1..=10 {
        for size in [1.0, 0.125, 0.3, 1.7, 10.0 / 3.0, 1e-6, 1e6] {
            let form = form(degree, size);
            macro_rules! check {
                ($($k:literal)+) => {
                    match degree {
                        $($k => {
                            const H: usize = usize::div_ceil($k + 1, 2);
                            kernel_matrices_keep_constants::<f32, { 2 * $k + 1 }, { $k + 1 }, H>(&form);
                            kernel_matrices_keep_constants::<f64, { 2 * $k + 1 }, { $k + 1 }, H>(&form);
                        })+
                        _ => unreachable!(),
                    }
                };
            }
            check!(1 2 3 4 5 6 7 8 9 10);
        }
        for sizes in SIZES.iter().filter(|sizes| sizes.len() == 2 || degree <= 8) {
            let forms = of_sizes(sizes, degree);
            kernel_tables_keep_constants::<f32>(&forms);
            kernel_tables_keep_constants::<f64>(&forms);
        }
    }
}

/// `M` and `A` of the cells' sizes, and of size 1 with the factors, are of one operator.
#[test]
fn the_operator_of_unit_cells_with_factors_is_that_of_the_cells() {
    for sizes in SIZES {
        let forms = of_sizes(sizes, if sizes.len() == 2 { 3 } else { 2 });
        let unit = forms.unit();
        assert_eq!(unit.stiffness, assemble(&unit.element.stiffness(), 2));
        let all_nodes = |form: &ContinuousForm| (form.mass.clone(), form.stiffness.clone());
        let physical: Vec<_> = (0..forms.dim()).map(|d| all_nodes(forms.along(d))).collect();
        let expected = operator(&physical, [1.0; 3]);
        let found = operator(&vec![all_nodes(unit); forms.dim()], forms.factors());
        assert_abs_diff_eq!(found, expected, epsilon = 1e-14 * expected.amax());
        // In 2D `h_y / h_x` and `h_x / h_y`.
        let [x, y, z] = forms.factors();
        if let [h_x, h_y] = sizes[..] {
            assert_abs_diff_eq!(
                DVector::from_vec(vec![x, y]),
                DVector::from_vec(vec![h_y / h_x, h_x / h_y]),
                epsilon = 1e-14
            );
        } else if let [h_x, h_y, h_z] = sizes[..] {
            let expected = [h_y * h_z / h_x, h_x * h_z / h_y, h_x * h_y / h_z];
            assert_abs_diff_eq!(DVector::from_vec(vec![x, y, z]), DVector::from_row_slice(&expected), epsilon = 1e-13);
        }
    }
}

/// On the unit square and cube, exactly, so that it does not matter where kernels multiply by them.
#[test]
fn factors_of_cubes_are_powers_of_two_and_make_the_same_operator() {
    for (dim, degree) in (1..=10).map(|degree| (2, degree)).chain([(3, 1), (3, 2)]) {
        for refine in [1, 3, 7] {
            let forms = unit_cube(dim, refine, degree);
            let h = 0.5f64.powi(refine as i32);
            assert_eq!(forms.factors()[..dim], [h.powi(dim as i32 - 2); 3][..dim]);
            if degree <= 2 {
                let physical = vec![(forms.along(0).mass.clone(), forms.along(0).stiffness.clone()); dim];
                let unit = vec![(forms.unit().mass.clone(), forms.unit().stiffness.clone()); dim];
                assert_eq!(operator(&unit, forms.factors()), operator(&physical, [1.0; 3]));
            }
        }
    }
}

#[test]
fn directions_with_cells_of_one_size_share_their_matrices() {
    let of = |sizes: &[f64]| {
        let forms = of_sizes(sizes, 2);
        let (by_size, of_direction) = forms.by_size();
        (by_size.iter().map(|form| form.cell_size).collect::<Vec<_>>(), of_direction[..sizes.len()].to_vec())
    };
    assert_eq!(of(&[0.5; 3]), (vec![0.5], vec![0, 0, 0]));
    assert_eq!(of(&[0.5, 0.25]), (vec![0.5, 0.25], vec![0, 1]));
    assert_eq!(of(&[0.5, 0.25, 0.5]), (vec![0.5, 0.25], vec![0, 1, 0]));
    assert_eq!(of(&[0.5, 0.25, 2.0]), (vec![0.5, 0.25, 2.0], vec![0, 1, 2]));
}

/// As `device/src/smoother.rs` says, of the patch's operator with the factors.
#[test]
fn the_smoothers_table_is_of_unit_cells_with_factors() {
    for sizes in SIZES {
        let dim = sizes.len();
        for degree in [1, 2, 4] {
            let forms = of_sizes(sizes, degree);
            let (table, c, m) = (forms.smoother_table::<f64>(), forms.factors(), 2 * degree - 1);
            assert_eq!(table.len(), smoother::table_words(dim, degree));
            let unit = Column::new(forms.unit());
            let values = &forms.unit().eigenpairs.values;
            let close =
                |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-13, "{found} {expected}");
            for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
                if dim == 2 {
                    close(1.0 / table[j + m * i], c[0] * values[i] + c[1] * values[j]);
                } else {
                    for l in 0..m {
                        close(1.0 / table[i + m * (l + m * j)], c[0] * values[i] + c[1] * values[j] + c[2] * values[l]);
                    }
                }
            }
            let rest = &table[m.pow(dim as u32)..];
            assert_eq!(&rest[..m], unit.mass_boundary.as_slice());
            let coupling = |factor: f64| unit.coupling.iter().map(|entry| factor * entry).collect::<Vec<_>>();
            if dim == 2 {
                assert_eq!(rest[m..2 * m], coupling(c[1]));
                for (n, a) in (0..=degree).flat_map(|n| (0..m).map(move |a| (n, a))) {
                    assert_eq!(rest[2 * m + m * n + a], forms.unit().prolongation[(a + 1, n)]);
                }
            } else {
                assert_eq!([&rest[m..2 * m], &rest[2 * m..]], [coupling(c[0]), coupling(c[2])]);
            }
        }
    }
}

#[test]
fn the_table_of_paper_1_is_of_the_x_direction() {
    let forms = of_sizes(&[0.5, 3.0, 0.25], 2);
    let (table, form) = (forms.variant_table::<f64>(), form(2, 0.5));
    assert_eq!(table.len(), variants::table_words(2));
    assert_eq!(table[..25], *form.mass.as_slice());
    assert_eq!(table[25..50], *form.stiffness.as_slice());
    assert_eq!(table[50..59], *form.eigenpairs.vectors.transpose().as_slice());
    assert_eq!(table[59..], *form.eigenpairs.values.as_slice());
}

/// Against the diagonal of the operator by the 1D matrices of the whole line.
#[test]
fn inverse_diagonals_are_those_of_the_assembled_operator() {
    for (cells, lengths, degree) in
        [(&[2, 2][..], &[1.0, 1.0][..], 3), (&[3, 1], &[1.0, 7.0], 2), (&[1, 2, 3], &[3.0, 2.0, 0.5], 1)]
    {
        let mesh = Mesh::of_box(cells, lengths, 1).unwrap();
        let (space, element) = (Space::new(mesh, degree).unwrap(), Element::new(degree).unwrap());
        let forms = ContinuousForms::new(&space).unwrap();
        let line = |d: usize| {
            let (h, cells) = (mesh.cell_sizes()[d], mesh.cells_along()[d]);
            let whole = |matrix: DMatrix<f64>| interior(&assemble(&matrix, cells));
            (whole(element.mass() * h), whole(element.stiffness() / h))
        };
        let diagonal = operator(&(0..mesh.dim()).map(line).collect::<Vec<_>>(), [1.0; 3]).diagonal();
        let inverse = space.to_dofs(&forms.inverse_diagonal::<f64>().unwrap()).unwrap();
        assert_eq!(inverse.len(), diagonal.len());
        for (inverse, entry) in inverse.iter().zip(&diagonal) {
            assert!((inverse * entry - 1.0).abs() < 1e-14, "{inverse} of {entry}");
        }
    }
}

#[test]
fn eigenpairs_of_a_line_solve_it() {
    for degree in [1, 3, 8] {
        for cells in [2, 3, 5] {
            let form = form(degree, 0.3);
            let Eigenpairs { values, vectors } = form.line_eigenpairs(cells).unwrap();
            let mass = interior(&assemble(&(form.element.mass() * 0.3), cells));
            let stiffness = interior(&assemble(&(form.element.stiffness() / 0.3), cells));
            let n = cells * degree - 1;
            assert_abs_diff_eq!(vectors.transpose() * mass * &vectors, DMatrix::identity(n, n), epsilon = 1e-12);
            let (scale, found) = (values.amax(), vectors.transpose() * stiffness * &vectors);
            assert_abs_diff_eq!(found / scale, DMatrix::from_diagonal(&values) / scale, epsilon = 1e-12);
        }
    }
}
