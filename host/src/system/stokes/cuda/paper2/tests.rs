//! The kernels of paper 2, run on the host, against a level that applies one matrix after the other.

use super::super::super::LocalSolver;
use super::super::super::axis_by_axis::AxisByAxis;
use super::super::super::level::StokesLevel;
use super::super::super::tests::{Case, system};
use super::super::tests::compare;
use super::patches::{inverses, schur_table};
use super::*;
use crate::backend::cpu::Cpu;
use crate::error::Error;
use crate::level::Level as _;
use crate::mesh::Mesh;
use crate::system::Runs;
use crate::testing::random;
use patchmg_device::stokes::paper2::{Direct, Schur, SchurConflictFree, local};
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

/// A level that applies one matrix after the other.
struct Reference<T: Scalar> {
    cpu: Arc<Cpu>,
    system: Stokes,
    level: StokesLevel<Cpu, T>,
}

impl<T: Scalar> Reference<T> {
    fn new(system: Stokes) -> Self {
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let parts: Box<dyn Parts<Cpu, T>> = Box::new(AxisByAxis::new(&cpu, &system).unwrap());
        let level = StokesLevel::new(&cpu, &system, parts).unwrap();
        Self { cpu, system, level }
    }

    /// Random numbers.
    fn vector(&self, seed: u64) -> <Cpu as Backend>::Vector<T> {
        let values = random(self.system.layout().dofs(), seed);
        self.level.vector_of(&mut |dof| values[dof]).unwrap()
    }

    fn host(&self, vector: &<Cpu as Backend>::Vector<T>) -> Vec<T> {
        let mut host = vec![T::ZERO; self.system.layout().storage()];
        self.cpu.download(vector, &mut host).unwrap();
        host
    }
}

fn check<T: Scalar>(case: &Case) {
    let reference = Reference::<T>::new(system(case));
    let (b, x, mut residual) = (reference.vector(1), reference.vector(2), reference.vector(3));
    reference.level.parts().residual(&b, &x, &mut residual).unwrap();
    for kernels in Paper2::ALL {
        let mut found = reference.host(&b);
        apply(&reference.system, kernels, T::from_f64(-1.0), &reference.host(&x), &mut found);
        compare(&format!("{case:?}, {kernels}"), &found, &reference.host(&residual));
    }
}

#[test]
fn operators_of_all_levels_are_that_of_matrices_one_after_the_other() {
    CASES.iter().for_each(check::<f64>);
    CASES[..4].iter().for_each(check::<f32>);
}

/// Few steps, so that rounding stays small.
const CG: LocalSolver = LocalSolver::SchurCg { steps: 5 };

/// `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over the patches of a color, by the kernels of paper 2 for a local solver.
fn add_solutions<T: Scalar>(system: &Stokes, level: Paper2, color: u32, r: &[T], x: &mut [T]) {
    let (module, fields) = (module(system), Fields { color, ..fields(system) });
    let (blocks, r, x) = (local::blocks(fields.cells, color), r.as_ptr(), x.as_mut_ptr());
    macro_rules! run {
        ($Arguments:ident { $($argument:ident),+ }) => {{
            let kernel = Emulated::new(module, $Arguments::<T>::spec(module)).unwrap();
            let arguments = $Arguments { $($argument),+, r, x, fields };
            // SAFETY: vectors and tables are those of the level, and the blocks those of its kernel.
            unsafe { kernel.run(blocks, Arguments { typed: Some(&arguments), ..Arguments::default() }) };
        }};
    }
    match (system.local_solver(), level) {
        (LocalSolver::SchurCg { steps }, level) => {
            let (tables, steps) = (schur_table::<T>(system).unwrap(), steps as u32);
            let table = tables.as_ptr();
            match level {
                Paper2::ConflictFree => run!(SchurConflictFree { table, steps }),
                _ => run!(Schur { table, steps }),
            }
        }
        _ => {
            let (inverses, dofs) = (inverses::<T>(system).unwrap(), system.patch_dofs() as u32);
            let inverses = inverses.as_ptr();
            run!(Direct { inverses, dofs })
        }
    }
}

fn check_patches<T: Scalar>(case: &Case, local_solver: LocalSolver, levels: &[Paper2]) {
    let reference = Reference::<T>::new(system(case).with_local_solver(local_solver).unwrap());
    assert_eq!(reference.system.local_solver_here(), local_solver, "{case:?} is a coarsest mesh");
    let (r, x) = (reference.vector(1), reference.vector(2));
    for &kernels in levels {
        let (mut expected, mut found) = (reference.vector(2), reference.host(&x));
        for &color in crate::level::Patches::colors(&reference.level) {
            reference.level.parts().add_solutions(color, &r, &mut expected).unwrap();
            add_solutions(&reference.system, kernels, color as u32, &reference.host(&r), &mut found);
        }
        compare(&format!("{case:?}, {local_solver}, {kernels}"), &found, &reference.host(&expected));
    }
}

#[test]
fn conjugate_gradients_are_those_on_all_patches_at_once() {
    let levels = [Paper2::Shared, Paper2::ConflictFree];
    CASES[1..].iter().for_each(|case| check_patches::<f64>(case, CG, &levels));
    CASES[1..4].iter().for_each(|case| check_patches::<f32>(case, CG, &levels));
}

#[test]
fn inverses_are_those_on_all_patches_at_once() {
    CASES[1..4].iter().for_each(|case| check_patches::<f64>(case, LocalSolver::Inverse, &[Paper2::Basic]));
    check_patches::<f32>(&CASES[1], LocalSolver::Inverse, &[Paper2::Basic]);
}

#[test]
fn kernels_that_there_are_not_are_refused() {
    let of = |dim, degree| {
        let system = Stokes::new(Mesh::unit_cube(dim, 2).unwrap(), degree).unwrap();
        system.with_kernel(StokesKernel::Paper2(Paper2::Basic))
    };
    for system in [of(2, 1), of(3, 5)] {
        assert!(matches!(super::check(&system), Err(Error::Unsupported { backend: "cuda", .. })));
    }
    let cpu = Cpu::new(Some(1)).unwrap();
    let on_cpu = |system: &Stokes| Runs::<Stokes>::check::<f64>(&cpu, system);
    assert!(matches!(on_cpu(&of(3, 1)), Err(Error::Unsupported { backend: "cpu", .. })));
    assert!(on_cpu(&of(3, 1).by_default_kernels()).is_ok());
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
    for case in &CASES[1..4] {
        let cg = system(case).with_local_solver(CG).unwrap();
        assert_eq!(patches::bytes::<f64>(&cg), 8 * schur_table::<f64>(&cg).unwrap().len() as u64);
        let system = system(case).with_local_solver(LocalSolver::Inverse).unwrap();
        assert_eq!(patches::bytes::<f64>(&system), 8 * inverses::<f64>(&system).unwrap().len() as u64);
    }
}
