use super::*;
use crate::backend::cpu::Cpu;
use crate::backend::{Function, Operation, Step};
use crate::mesh::Mesh;
use crate::problem::{ExactSolution, Field, SineProduct, error_norms};
use crate::space::Family;
use crate::system::Poisson;
use approx::assert_relative_eq;
use glam::DVec3;

/// `exp(x y) + sqrt(1 + z)`, which is no sum of products.
fn program() -> Program {
    let product = [Step::Coordinate(0), Step::Coordinate(1), Step::Two(Operation::Multiply), Step::One(Function::Exp)];
    let root = [Step::Constant(1.0), Step::Coordinate(2), Step::Two(Operation::Add), Step::One(Function::Sqrt)];
    Program::new(product.into_iter().chain(root).chain([Step::Two(Operation::Add)])).unwrap()
}

fn spaces(dim: usize, degree: usize) -> [Space; 2] {
    let mesh = Mesh::of_box(&[1, 2, 3][..dim], &[2.5, 0.6, 1.7][..dim], 1).unwrap();
    [Space::new(mesh, degree).unwrap(), Space::discontinuous(mesh, degree).unwrap()]
}

/// Dimensions and degrees.
fn all() -> impl Iterator<Item = Space> {
    let cases = (1..=7).map(|degree| (2, degree)).chain((1..=4).map(|degree| (3, degree)));
    cases.flat_map(|(dim, degree)| spaces(dim, degree))
}

/// A layer of cells at a time, some, all.
const BYTES: [u64; 3] = [0, 1 << 16, MOST_BYTES];

fn evaluated(load: &SampledLoad, most: u64) -> Vec<f64> {
    let cpu = Cpu::new(None).unwrap();
    let mut b = cpu.zeros(load.len()).unwrap();
    assert!(load.evaluate_in_f64(&cpu, &mut b, most).unwrap());
    b.to_vec()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    let largest = expected.iter().fold(0.0, |max: f64, value| max.max(value.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-14 * largest, "{found} instead of {expected}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn load_vectors_are_those_of_the_host() {
    for space in all() {
        let load = SampledLoad::new(&space, program());
        let expected = load_vector(&space, &|point: DVec3| program().value(point)).unwrap();
        assert_close(&load.values().unwrap(), &expected);
        BYTES.iter().for_each(|&most| assert_close(&evaluated(&load, most), &expected));
    }
}

#[test]
fn boundary_values_are_integrated() {
    for space in all().filter(|space| space.is(Family::Discontinuous)) {
        let poisson = Poisson::from(&space);
        let (f, g) = (|point: DVec3| program().value(point), |point: DVec3| 1.0 + program().value(point));
        let mut expected = load_vector(&space, &f).unwrap();
        poisson.add_boundary_load(&g, &mut expected).unwrap();
        let one = [Step::Constant(1.0), Step::Two(Operation::Add)];
        let of_boundary = Program::new(program().steps().iter().copied().chain(one)).unwrap();
        let load = poisson.sampled_load(&program(), Some(&of_boundary)).unwrap().unwrap();
        assert_close(&load.values().unwrap(), &expected);
        BYTES.iter().for_each(|&most| assert_close(&evaluated(&load, most), &expected));
        assert!(poisson.sampled_load(&f, Some(&of_boundary)).unwrap().is_none());
        assert!(poisson.sampled_load(&program(), Some(&g)).unwrap().is_none());
    }
    let [continuous, _] = spaces(2, 2);
    assert!(Poisson::from(&continuous).sampled_load(&program(), Some(&program())).is_err());
}

#[test]
fn norms_are_those_of_the_host() {
    let cpu = Cpu::new(None).unwrap();
    for space in all() {
        let lengths = DVec3::from_array(space.mesh().lengths());
        let sine = SineProduct { dim: space.dim(), scale: 1.3, lengths };
        let other = |point: DVec3| sine.value(point) * (1.0 + 1e-3 * (7.0 * point.x - point.y).sin());
        for u in [program(), sine.program().unwrap()] {
            let dofs: Vec<f64> = space.unknowns().map(|node| other(space.point(node))).collect();
            let u_h = space.from_dofs(&dofs).unwrap();
            let mut vector = cpu.zeros::<f64>(u_h.len()).unwrap();
            cpu.upload(&u_h, &mut vector).unwrap();
            let exact: &dyn ExactSolution = &u;
            let expected = error_norms(&space, &u_h, exact).unwrap();
            for most in BYTES {
                let found = error_norms_by(&cpu, &space, &vector, &u, most).unwrap().unwrap();
                assert_relative_eq!(found.l2, expected.l2, max_relative = 1e-11);
                assert_relative_eq!(found.h1, expected.h1, max_relative = 1e-11);
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_left_to_the_host() {
    let cpu = Cpu::new(None).unwrap();
    // log(x - 1).
    let steps = [Step::Coordinate(0), Step::Constant(1.0), Step::Two(Operation::Subtract), Step::One(Function::Log)];
    let f = Program::new(steps).unwrap();
    for space in spaces(2, 3) {
        let load = SampledLoad::new(&space, f.clone());
        let mut b = cpu.zeros::<f32>(load.len()).unwrap();
        assert!(!load.evaluate(&cpu, &mut b).unwrap());
        assert!(load.values().unwrap_err().to_string().contains("right-hand side"));
        let u_h = cpu.zeros::<f64>(space.storage()).unwrap();
        assert_eq!(sampled_error_norms(&cpu, &space, &u_h, &f).unwrap(), None);
    }
}

#[test]
fn a_vector_in_f32_is_the_rounded_one() {
    let (cpu, [space, _]) = (Cpu::new(None).unwrap(), spaces(3, 2));
    let load = SampledLoad::new(&space, program());
    let (mut single, mut double) = (cpu.zeros::<f32>(load.len()).unwrap(), cpu.zeros::<f64>(load.len()).unwrap());
    assert!(load.evaluate(&cpu, &mut single).unwrap() && load.evaluate(&cpu, &mut double).unwrap());
    assert!(single.iter().zip(double.iter()).all(|(&single, &double)| single == double as f32));
}
