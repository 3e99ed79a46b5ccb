//! The kernels of paper 2, run on the host, against a level that applies one matrix after the other.

use super::super::super::axis_by_axis::AxisByAxis;
use super::super::super::level::StokesLevel;
use super::super::super::tests::{Case, system};
use super::super::tests::compare;
use super::*;
use crate::backend::cpu::Cpu;
use crate::level::Level as _;
use crate::testing::random;
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel as Emulated};

/// Patches at both ends of a direction, at one and at none; unequal cells; all degrees.
const CASES: &[Case] = &[
    (&[1, 1, 1], &[1.0, 1.0, 1.0], 1, 1, 0.0, 1.0),
    (&[1, 1, 1], &[1.0, 1.25, 1.125], 2, 1, 50.0, 0.5),
    (&[3, 1, 1], &[3.0, 1.0, 1.5], 1, 1, 0.0, 1.0),
    (&[1, 3, 1], &[1.0, 3.0, 1.0], 1, 2, 7.0, 2.0),
    (&[1, 1, 3], &[1.0, 1.0, 3.5], 1, 2, 0.0, 1.0),
    (&[2, 1, 1], &[1.0, 2.0, 3.0], 1, 3, 0.0, 1.0),
    (&[1, 2, 1], &[1.0, 2.0, 1.0], 1, 4, 3.0, 1.0),
];

/// `y += α A x`, class after class.
fn apply<T: Scalar>(system: &Stokes, level: Paper2, alpha: T, x: &[T], y: &mut [T]) {
    let (module, tables) = (module(system), OperatorTables::<T>::new(system, level).unwrap());
    let (matrices, ends, x, y) = (tables.matrices.as_ptr(), tables.ends.as_ptr(), x.as_ptr(), y.as_mut_ptr());
    for class in 0..8 {
        let fields = Fields { color: class, ..fields(system) };
        let blocks = operator::blocks(fields.cells, class);
        macro_rules! run {
            ($Arguments:ident) => {{
                let kernel = Emulated::new(module, $Arguments::<T>::spec(module)).unwrap();
                let arguments = $Arguments { matrices, ends, x, y, alpha, fields };
                // SAFETY: vectors and tables are those of the level, and the blocks those of its kernel.
                unsafe { kernel.run(blocks, Arguments { typed: Some(&arguments), ..Arguments::default() }) };
            }};
        }
        match level {
            Paper2::Padding => run!(Padding),
            Paper2::Basic => run!(Basic),
            Paper2::Shared => run!(Shared),
            Paper2::ConflictFree => run!(ConflictFree),
        }
    }
}

fn check<T: Scalar>(case: &Case) {
    let (cpu, system) = (Arc::new(Cpu::new(Some(1)).unwrap()), system(case));
    let parts: Box<dyn Parts<Cpu, T>> = Box::new(AxisByAxis::new(&cpu, &system).unwrap());
    let level = StokesLevel::new(&cpu, &system, parts).unwrap();
    let vector = |seed: u64| {
        let values = random(system.layout().dofs(), seed);
        level.vector_of(&mut |dof| values[dof]).unwrap()
    };
    let host = |vector: &_| {
        let mut host = vec![T::ZERO; system.layout().storage()];
        cpu.download(vector, &mut host).unwrap();
        host
    };
    let (b, x, mut residual) = (vector(1), vector(2), vector(3));
    level.parts().residual(&b, &x, &mut residual).unwrap();
    for kernels in Paper2::ALL {
        let mut found = host(&b);
        apply(&system, kernels, T::from_f64(-1.0), &host(&x), &mut found);
        compare(&format!("{case:?}, {kernels}"), &found, &host(&residual));
    }
}

#[test]
fn operators_of_all_levels_are_that_of_matrices_one_after_the_other() {
    CASES.iter().for_each(check::<f64>);
    CASES[..4].iter().for_each(check::<f32>);
}

#[test]
fn memory_is_counted() {
    for case in CASES {
        let system = system(case);
        for level in Paper2::ALL {
            let OperatorTables { matrices, ends } = OperatorTables::<f64>::new(&system, level).unwrap();
            let is_uploaded = matches!(level, Paper2::Shared | Paper2::ConflictFree);
            let tables = ends.len() + if is_uploaded { matrices.len() } else { 0 };
            assert_eq!(bytes::<f64>(&system, level), 8 * tables as u64 + super::super::parts_bytes::<f64>(&system));
        }
    }
}
