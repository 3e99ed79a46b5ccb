//! Kernels against a level that applies one matrix after the other.

use super::super::tests::{CASES, Case, named, system};
use super::*;
use crate::backend::Backend;
use crate::testing::random;

/// A level by kernels, and one by matrices.
struct Levels<T: Scalar> {
    cpu: Arc<Cpu>,
    system: Stokes,
    kernels: Kernels<T>,
    expected: StokesLevel<Cpu, T>,
}

impl<T: Scalar + Prepared> Levels<T> {
    fn new(threads: usize, system: Stokes) -> Self {
        let cpu = Arc::new(Cpu::new(Some(threads)).unwrap());
        let parts = Box::new(AxisByAxis::<Cpu, T>::new(&cpu, &system).unwrap());
        let expected = StokesLevel::new(&cpu, &system, parts).unwrap();
        Self { kernels: Kernels::new(&cpu, &system).unwrap(), cpu, system, expected }
    }

    fn vector(&self, seed: u64) -> Vector<T> {
        let values = random(self.system.layout().dofs(), seed);
        crate::level::Level::vector_of(&self.expected, &mut |dof| values[dof]).unwrap()
    }

    fn host(&self, vector: &Vector<T>) -> Vec<T> {
        let mut host = vec![T::ZERO; self.system.layout().storage()];
        self.cpu.download(vector, &mut host).unwrap();
        host
    }

    /// That entries differ by a few roundings of the largest one of their field at most, and that those that are no
    /// unknowns are zero.
    fn compare(&self, what: &str, found: &Vector<T>, expected: &Vector<T>) {
        let (found, expected) = (self.host(found), self.host(expected));
        for (field, block) in self.system.layout().blocks().iter().enumerate() {
            let largest = expected[block.clone()].iter().fold(0.0, |most: f64, value| most.max(value.to_f64().abs()));
            let allowed = largest * 200.0 * 0.5_f64.powi(T::MANTISSA_DIGITS as i32);
            for index in block.clone() {
                let (found, expected) = (found[index].to_f64(), expected[index].to_f64());
                // Negated, so that a NaN fails.
                assert!(
                    (found - expected).abs() <= allowed && (expected != 0.0 || found == 0.0),
                    "{} in {}, {what}, field {field}, entry {index}: {found} instead of {expected}",
                    named(&self.system),
                    T::NAME,
                );
            }
        }
    }

    fn check(&self) {
        let (b, x) = (self.vector(1), self.vector(2));
        let (mut found, mut expected) = (self.vector(3), self.vector(4));
        self.kernels.apply(&x, &mut found).unwrap();
        self.expected.parts().apply(&x, &mut expected).unwrap();
        self.compare("operator", &found, &expected);
        self.kernels.residual(&b, &x, &mut found).unwrap();
        self.expected.parts().residual(&b, &x, &mut expected).unwrap();
        self.compare("residual", &found, &expected);
        for &color in crate::level::Patches::colors(&self.expected) {
            let (mut found, mut expected) = (self.vector(2), self.vector(2));
            self.kernels.add_solutions(color, &b, &mut found).unwrap();
            self.expected.parts().add_solutions(color, &b, &mut expected).unwrap();
            self.compare(&format!("patches of color {color}"), &found, &expected);
        }
    }
}

#[test]
fn kernels_compute_what_matrices_do_one_after_the_other() {
    for case in CASES {
        Levels::<f64>::new(1, system(case)).check();
        Levels::<f32>::new(2, system(case)).check();
    }
}

#[test]
fn kernels_of_all_degrees() {
    let cases = |dim: usize| Stokes::degrees(dim).map(move |degree| (dim, degree));
    for (dim, degree) in cases(2).chain(cases(3)) {
        // Edges of three lengths; patches that touch one end, both, or none.
        let case: Case = match dim {
            2 => (&[2, 1], &[2.0, 1.25], 2, degree, 3.0, 0.5),
            _ => (&[1, 2, 1], &[1.0, 2.5, 0.75], 1, degree, 3.0, 0.5),
        };
        Levels::<f64>::new(2, system(&case)).check();
        Levels::<f32>::new(2, system(&case)).check();
    }
}

#[test]
fn batches_and_blocks_of_rows_that_are_not_full() {
    let cases: &[Case] = &[
        (&[5, 1], &[5.0, 1.0], 2, 1, 0.0, 1.0),
        (&[1, 11], &[1.0, 11.0], 1, 3, 2.0, 1.0),
        (&[3, 1, 1], &[3.0, 1.0, 1.0], 1, 1, 0.0, 1.0),
        (&[1, 5, 3], &[1.0, 5.0, 3.0], 1, 1, 1.0, 1.0),
    ];
    for case in cases {
        Levels::<f64>::new(2, system(case)).check();
        Levels::<f32>::new(3, system(case)).check();
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let case: Case = (&[1, 1, 1], &[1.0, 1.0, 1.0], 3, 1, 0.0, 1.0);
    let results = [1, 2, 5].map(|threads| {
        let level = Levels::<f64>::new(threads, system(&case));
        let (b, mut x) = (level.vector(1), level.vector(2));
        let mut r = level.vector(3);
        for color in 0..8 {
            level.kernels.residual(&b, &x, &mut r).unwrap();
            level.kernels.add_solutions(color, &r, &mut x).unwrap();
        }
        level.host(&x).into_iter().map(f64::to_bits).collect::<Vec<_>>()
    });
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn memory_is_counted() {
    let more: &[Case] = &[(&[1, 1], &[1.0, 1.0], 6, 2, 0.0, 1.0), (&[1, 1, 1], &[1.0, 1.0, 1.0], 3, 2, 0.0, 1.0)];
    for case in CASES.iter().chain(more) {
        let system = system(case);
        let (said, has) = (bytes::<f64>(&system), Levels::<f64>::new(1, system.clone()).kernels.kernels.bytes() as u64);
        assert!(has <= said && said - has <= said / 10, "{}: said {said}, has {has}", named(&system));
    }
}
