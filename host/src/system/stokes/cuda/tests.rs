//! Kernels, run on the host, against a level that applies one matrix after the other.

use super::super::tests::{CASES, Case, system};
use super::*;
use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::testing::random;
use patchmg_device::typed::Arguments as _;
use patchmg_emulation::{Arguments, Kernel};

/// What the kernels of a level are called with.
struct Emulated<T> {
    module: Module,
    tables: Tables<T>,
    fields: Fields,
}

impl<T: Scalar> Emulated<T> {
    fn new(system: &Stokes) -> Self {
        Self { module: module(system), tables: Tables::new(system).unwrap(), fields: fields(system) }
    }

    fn sizes(&self) -> (usize, usize) {
        let (dim, degree) = self.module.space().unwrap();
        (dim, degree + 1)
    }

    fn residual(&self, b: Option<&[T]>, x: &[T]) -> Vec<T> {
        let mut y = vec![T::from_f64(f64::NAN); x.len()];
        // Padding behind the blocks of components is written by nobody.
        y.iter_mut().zip(x).filter(|(_, x)| **x == T::ZERO).for_each(|(y, _)| *y = T::ZERO);
        let (dim, nodes) = self.sizes();
        let arguments = Residual {
            matrices: self.tables.lines.as_ptr(),
            ends: self.tables.ends.as_ptr(),
            b: b.map_or(std::ptr::null(), <[T]>::as_ptr),
            x: x.as_ptr(),
            y: y.as_mut_ptr(),
            fields: self.fields,
        };
        let blocks = stokes::residual::blocks(dim, nodes, self.fields.cells);
        self.run(Residual::<T>::spec(self.module), blocks, &arguments);
        y
    }

    fn add_solutions(&self, color: usize, r: &[T], x: &mut [T]) {
        let (dim, nodes) = self.sizes();
        let fields = Fields { color: color as u32, ..self.fields };
        let arguments = Solve {
            matrices: self.tables.patches.as_ptr(),
            table: self.tables.table.as_ptr(),
            schur: self.tables.schur.as_ptr(),
            starts: self.tables.starts,
            r: r.as_ptr(),
            x: x.as_mut_ptr(),
            fields,
        };
        let blocks = stokes::solve::blocks(dim, nodes, fields.cells, fields.color);
        self.run(Solve::<T>::spec(self.module), blocks, &arguments);
    }

    fn run<A: 'static>(&self, spec: patchmg_device::kernels::KernelSpec, blocks: [u32; 3], arguments: &A) {
        let kernel = Kernel::new(self.module, spec).unwrap();
        // SAFETY: vectors and tables are those of the level, and the blocks those of its kernels.
        unsafe { kernel.run(blocks, Arguments { typed: Some(arguments), ..Arguments::default() }) };
    }
}

/// Entry by entry, to rounding.
pub(super) fn compare<T: Scalar>(what: &str, found: &[T], expected: &[T]) {
    let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.to_f64().abs()));
    let allowed = largest * 1e3 * 0.5_f64.powi(T::MANTISSA_DIGITS as i32);
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found.to_f64() - expected.to_f64()).abs();
        assert!(error <= allowed, "{what}, entry {index}: {found:?} instead of {expected:?}");
    }
}

fn check<T: Scalar>(case: &Case) {
    let (cpu, system) = (Arc::new(Cpu::new(Some(1)).unwrap()), system(case));
    let parts: Box<dyn Parts<Cpu, T>> = Box::new(AxisByAxis::new(&cpu, &system).unwrap());
    let level = StokesLevel::new(&cpu, &system, parts).unwrap();
    let emulated = Emulated::<T>::new(&system);
    let vector = |seed: u64| {
        let values = random(system.layout().dofs(), seed);
        crate::level::Level::vector_of(&level, &mut |dof| values[dof]).unwrap()
    };
    let host = |vector: &_| {
        let mut host = vec![T::ZERO; system.layout().storage()];
        cpu.download(vector, &mut host).unwrap();
        host
    };
    let compare = |what: &str, found: &[T], expected: &[T]| compare(&format!("{case:?}, {what}"), found, expected);
    let (b, x) = (vector(1), vector(2));
    let mut expected = vector(3);
    level.parts().apply(&x, &mut expected).unwrap();
    compare("operator", &emulated.residual(None, &host(&x)), &host(&expected));
    level.parts().residual(&b, &x, &mut expected).unwrap();
    compare("residual", &emulated.residual(Some(&host(&b)), &host(&x)), &host(&expected));
    for &color in crate::level::Patches::colors(&level) {
        let (mut found, mut expected) = (host(&x), vector(2));
        level.parts().add_solutions(color, &b, &mut expected).unwrap();
        emulated.add_solutions(color, &host(&b), &mut found);
        compare(&format!("patches of color {color}"), &found, &host(&expected));
    }
}

#[test]
fn kernels_compute_what_matrices_do_one_after_the_other() {
    for case in CASES {
        check::<f64>(case);
        check::<f32>(case);
    }
}

#[test]
fn tiles_and_blocks_that_are_not_full() {
    let more: &[Case] = &[
        (&[5, 1], &[5.0, 1.0], 2, 1, 0.0, 1.0),
        (&[9, 3], &[9.0, 3.0], 1, 3, 2.0, 1.0),
        (&[3, 1, 1], &[3.0, 1.0, 1.0], 1, 1, 0.0, 1.0),
        (&[1, 1, 3], &[1.0, 1.0, 3.0], 2, 1, 0.0, 1.0),
        (&[1, 1], &[1.0, 1.0], 2, 8, 0.0, 1.0),
        (&[1, 1, 1], &[1.0, 1.0, 1.0], 1, 3, 0.0, 1.0),
    ];
    more.iter().for_each(check::<f64>);
}

#[test]
fn memory_is_counted() {
    for case in CASES {
        let system = system(case);
        let Tables { ends, table, schur, .. } = Tables::<f64>::new(&system).unwrap();
        assert_eq!(bytes::<f64>(&system), 8 * (ends.len() + table.len() + schur.len()) as u64, "{case:?}");
    }
}
