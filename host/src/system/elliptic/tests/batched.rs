//! The operator in SIMD lanes against the one cell by cell.

use super::*;
use crate::backend::Scalar;

/// `A x`, the residual where nodes are smoothed, and its restriction.
fn compare<T: Scalar>(forest: &Forest, degree: usize, equation: Equation, is_straight: bool, tolerance: f64) {
    let (cpu, dim) = (Arc::new(Cpu::new(None).unwrap()), forest.dim());
    let system = Elliptic::new(forest, degree, equation).unwrap();
    let level = Runs::<Elliptic>::level::<T>(&cpu, &system).unwrap();
    let reference = CellOperator::<T>::new(&system).unwrap();
    // Cells of degree 1 have straight edges, but need not be parallelograms.
    assert_eq!(reference.is_constant, is_straight, "{dim}D, degree {degree}");
    let kinds = system.mesh.kinds();
    let mut numbers = random(2 * system.nodes(), 3).into_iter();
    let mut random = |_: usize| numbers.next().unwrap();
    let (x, b) = (level.vector_of(&mut random).unwrap(), level.vector_of(&mut random).unwrap());
    let mut found = level.vector().unwrap();
    let mut expected = vec![T::ZERO; system.nodes()];
    let close = |what: &str, found: &[T], expected: &[T]| {
        let [found, expected] =
            [found, expected].map(|values| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() });
        assert_close(&format!("{what}, {dim}D, degree {degree}"), &found, &expected, tolerance);
    };
    level.apply(&x, &mut found).unwrap();
    let unknown = |node: usize, sum: T| if kinds[node].is_unknown() { sum } else { T::ZERO };
    reference.apply_with(&x, &mut expected, unknown).unwrap();
    close("A x", &found, &expected);
    cpu.set_zero(&mut found).unwrap();
    level.smoothed_residual(&b, &x, &mut found).unwrap();
    let smoothed = |node: usize, sum: T| match kinds[node] {
        mesh::Node::Smoothed => b[node] - sum,
        _ => T::ZERO,
    };
    reference.apply_with(&x, &mut expected, smoothed).unwrap();
    close("the residual", &found, &expected);
    let mut zero_elsewhere = level.vector().unwrap();
    cpu.diagonal_axpby(1.0, &level.inverse_diagonal().unwrap(), &x, 0.0, &mut zero_elsewhere).unwrap();
    let coarse = Runs::<Elliptic>::level::<T>(&cpu, system.next_coarser().unwrap().unwrap()).unwrap();
    let [mut found, mut expected] = [0; 2].map(|_| coarse.vector().unwrap());
    level.restrict_residual_of_smoothed(&b, &zero_elsewhere, &mut found).unwrap();
    level.restrict_residual(&b, &zero_elsewhere, &mut expected).unwrap();
    close("its restriction", &found, &expected);
}

/// Of every degree, with lines that hang and a last batch that is not full.
fn compare_degrees<T: Scalar>(tolerance: f64) {
    let [square, cube] = [CoarseMesh::l_shape(2), CoarseMesh::l_shape(3)].map(Result::unwrap);
    let [disk, ball] = [CoarseMesh::disk(1.0), CoarseMesh::ball(1.0)].map(Result::unwrap);
    let flat = || Equation { natural: BTreeSet::from([0]), ..anisotropic() };
    let robin = || Equation { robin: BTreeMap::from([(0, Coefficient::new(|point| point.x + 2.0))]), ..flat() };
    for (coarse, is_straight) in [(square, true), (cube, true), (disk, false), (ball, false)] {
        let dim = coarse.dim();
        let forest = refined(coarse, 1, 1);
        for degree in 1..=if dim == 2 { 8 } else { 6 } {
            for equation in [Equation::default(), flat(), robin()] {
                compare::<T>(&forest, degree, equation, is_straight, tolerance);
            }
        }
    }
}

/// Of so many cells that they come in several parts, of which some have no cell that is smoothed, and nodes of several parts.
#[test]
fn parts_have_the_operator() {
    let disk = refined(CoarseMesh::disk(1.0).unwrap(), 5, 2);
    let ball = refined(CoarseMesh::ball(1.0).unwrap(), 2, 2);
    for (forest, degree) in [(disk, 3_usize), (ball, 4)] {
        assert!(forest.leaves().len() * (degree + 1).pow(forest.dim() as u32) > 3 << 15);
        compare::<f64>(&forest, degree, anisotropic(), false, 1e-12);
        compare::<f32>(&forest, degree, anisotropic(), false, 1e-5);
    }
}

#[test]
fn lanes_have_the_operator_in_double() {
    compare_degrees::<f64>(1e-13);
}

#[test]
fn lanes_have_the_operator_in_single() {
    compare_degrees::<f32>(1e-5);
}

/// The diagonal by products of the basis is that of the columns.
#[test]
fn the_diagonal_is_that_of_the_columns() {
    let robin = Equation {
        natural: BTreeSet::from([0]),
        robin: BTreeMap::from([(0, Coefficient::new(|_| 1.5))]),
        ..anisotropic()
    };
    for (forest, degree) in meshes() {
        for equation in [anisotropic(), robin.clone()] {
            let system = Elliptic::new(&forest, degree, equation).unwrap();
            let operator = CellOperator::<f64>::new(&system).unwrap();
            let mut expected = vec![0.0; system.nodes()];
            for cell in 0..system.cells() {
                let nodes = system.mesh.cells().of(cell);
                operator.for_each_column(cell, |column, entries| expected[nodes[column] as usize] += entries[column]);
            }
            for node in 0..system.nodes() {
                let mut unit = vec![0.0; system.nodes()];
                unit[node] = 1.0;
                expected[node] += operator.robin.times(node, &unit);
            }
            let inverse = operator.inverse_diagonal().unwrap();
            let smoothed = inverse.iter().zip(&expected).filter(|(inverse, _)| **inverse != 0.0);
            assert!(smoothed.clone().count() > 0);
            smoothed.for_each(|(inverse, expected)| assert!((inverse * expected - 1.0).abs() < 1e-12));
        }
    }
}
