use super::twin::Twin;
use super::*;
use crate::backend::Backend;
use crate::testing::{assert_close, random};

/// Cases `(dim, refine, degree)`: every degree, one patch, few patches, more patches than lanes, more than one task.
const CASES: &[(usize, usize, usize)] = &[
    (2, 1, 1),
    (2, 1, 4),
    (2, 2, 1),
    (2, 2, 2),
    (2, 3, 3),
    (2, 3, 5),
    (2, 2, 6),
    (2, 2, 7),
    (2, 2, 8),
    (2, 2, 9),
    (2, 2, 10),
    (2, 4, 2),
    (2, 5, 3),
    (3, 1, 1),
    (3, 1, 3),
    (3, 2, 1),
    (3, 2, 2),
    (3, 3, 2),
    (3, 4, 1),
    (3, 2, 3),
    (3, 1, 4),
];
/// As [`CASES`], too large for a dense patch matrix.
const LARGE_CASES: &[(usize, usize, usize)] = &[(3, 2, 4), (3, 1, 5), (3, 2, 5), (3, 1, 6), (3, 1, 7), (3, 1, 8)];

/// Cases of discontinuous elements: one patch, patches at two ends only, some between them, and every degree.
const DG_CASES: &[(usize, usize, usize)] = &[
    (2, 1, 1),
    (2, 1, 3),
    (2, 2, 1),
    (2, 2, 2),
    (2, 3, 3),
    (2, 5, 1),
    (2, 3, 4),
    (2, 2, 5),
    (2, 2, 6),
    (2, 2, 7),
    (2, 2, 8),
    (3, 1, 1),
    (3, 1, 3),
    (3, 2, 1),
    (3, 3, 1),
    (3, 2, 2),
];
/// As [`DG_CASES`], too large for a dense patch matrix.
const LARGE_DG_CASES: &[(usize, usize, usize)] = &[(3, 3, 3), (3, 2, 4), (3, 2, 5), (3, 1, 6), (3, 1, 7), (3, 1, 8)];

type Cases = [(usize, usize, usize)];

fn continuous(cases: &Cases) -> impl Iterator<Item = Twin> {
    cases.iter().map(|&(dim, refine, degree)| Twin::new(dim, refine, degree))
}

fn discontinuous(cases: &Cases) -> impl Iterator<Item = Twin> {
    cases.iter().map(|&(dim, refine, degree)| Twin::discontinuous(dim, refine, degree))
}

/// One space on one backend, dofs in and dofs out.
struct Fixture<'a, T: Scalar> {
    cpu: &'a Arc<Cpu>,
    space: &'a Space,
    level: SharedLevel<Cpu, T>,
}

impl<'a, T: Scalar> Fixture<'a, T> {
    fn new(cpu: &'a Arc<Cpu>, space: &'a Space) -> Self {
        Self { cpu, space, level: cpu.level(&Poisson::from(space)).unwrap() }
    }

    fn vector(&self, space: &Space, dofs: &[f64]) -> Vector<T> {
        let host: Vec<T> = space.from_dofs(dofs).unwrap().into_iter().map(T::from_f64).collect();
        let mut vector = self.cpu.zeros(space.storage()).unwrap();
        self.cpu.upload(&host, &mut vector).unwrap();
        vector
    }

    /// Checks that all entries that are no unknowns are zero, too.
    fn dofs(&self, space: &Space, vector: &Vector<T>) -> Vec<f64> {
        let mut host = vec![T::ZERO; space.storage()];
        self.cpu.download(vector, &mut host).unwrap();
        let dofs = space.to_dofs(&host).unwrap();
        assert_eq!(space.from_dofs(&dofs).unwrap(), host, "an entry that is no unknown is not zero");
        dofs.into_iter().map(T::to_f64).collect()
    }

    /// A vector to write to, whose unknowns hold what must not matter.
    fn garbage(&self, space: &Space) -> Vector<T> {
        self.vector(space, &vec![1e30; space.dofs()])
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = self.garbage(self.space);
        self.level.apply(&self.vector(self.space, x), &mut y).unwrap();
        self.dofs(self.space, &y)
    }

    fn residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        let (b, x) = (self.vector(self.space, b), self.vector(self.space, x));
        let mut r = self.garbage(self.space);
        self.level.residual(&b, &x, &mut r).unwrap();
        self.dofs(self.space, &r)
    }

    fn smooth_color(&self, color: usize, b: &[f64], x: &[f64]) -> Vec<f64> {
        let (b, mut x) = (self.vector(self.space, b), self.vector(self.space, x));
        self.level.patches().unwrap().smooth_color(color, &b, &mut x).unwrap();
        self.dofs(self.space, &x)
    }

    fn restrict_residual(&self, coarse: &Space, b: &[f64], x: &[f64]) -> Vec<f64> {
        let (b, x) = (self.vector(self.space, b), self.vector(self.space, x));
        let mut c = self.garbage(coarse);
        self.level.restrict_residual(&b, &x, &mut c).unwrap();
        self.dofs(coarse, &c)
    }

    fn prolongate_add(&self, coarse: &Space, c: &[f64], x: &[f64]) -> Vec<f64> {
        let mut x = self.vector(self.space, x);
        self.level.prolongate_add(&self.vector(coarse, c), &mut x).unwrap();
        self.dofs(self.space, &x)
    }
}

fn check_against_twin<T: Scalar>(twins: impl Iterator<Item = Twin>, smooth: bool, tolerance: f64) {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for twin in twins {
        let space = twin.space();
        let (dim, refine, degree) = (twin.dim, space.mesh().refine(), space.degree());
        let case = |what: &str| format!("{what} in {} {dim}D, refine {refine}, degree {degree}", T::NAME);
        let fixture = Fixture::<T>::new(&cpu, &space);
        let (b, x) = (random(space.dofs(), 1), random(space.dofs(), 2));
        assert_close(&case("apply"), &fixture.apply(&x), &twin.apply(&x), tolerance);
        // A load as large as A x, so that both count.
        let b: Vec<f64> = b.iter().map(|b| b * (dim as f64) * 0.5f64.powi((dim as i32 - 2) * refine as i32)).collect();
        let b: Vec<f64> = b.into_iter().map(|b| T::from_f64(b).to_f64()).collect();
        assert_close(&case("residual"), &fixture.residual(&b, &x), &twin.residual(&b, &x), tolerance);
        if let Some(coarse) = space.coarser() {
            let coarse = coarse.unwrap();
            let (found, expected) = (fixture.restrict_residual(&coarse, &b, &x), twin.restrict_residual(&b, &x));
            assert_close(&case("restrict"), &found, &expected, tolerance);
            let c = random(coarse.dofs(), 3);
            let (found, expected) = (fixture.prolongate_add(&coarse, &c, &x), twin.prolongate_add(&c, &x));
            assert_close(&case("prolongate"), &found, &expected, tolerance);
        }
        for color in 0..if smooth { 1 << dim } else { 0 } {
            let (found, expected) = (fixture.smooth_color(color, &b, &x), twin.smooth_color(color, &b, &x));
            assert_close(&case(&format!("color {color}")), &found, &expected, 10.0 * tolerance);
        }
    }
}

#[test]
fn every_operation_is_equivalent_to_its_twin_in_f64() {
    check_against_twin::<f64>(continuous(CASES), true, 1e-13);
    check_against_twin::<f64>(continuous(LARGE_CASES), false, 1e-13);
}

#[test]
fn every_operation_is_equivalent_to_its_twin_in_f32() {
    check_against_twin::<f32>(continuous(CASES), true, 2e-6);
    check_against_twin::<f32>(continuous(LARGE_CASES), false, 2e-6);
}

#[test]
fn every_operation_on_discontinuous_elements_is_equivalent_to_its_twin() {
    check_against_twin::<f64>(discontinuous(DG_CASES), true, 1e-13);
    check_against_twin::<f64>(discontinuous(LARGE_DG_CASES), false, 1e-13);
    check_against_twin::<f32>(discontinuous(DG_CASES), true, 5e-6);
    check_against_twin::<f32>(discontinuous(LARGE_DG_CASES), false, 5e-6);
}

/// At the exact solution a step changes nothing, so this fails for a wrong face transform of any degree.
#[test]
fn the_smoother_keeps_the_solution_at_every_degree() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    let twins = continuous(LARGE_CASES).chain(continuous(&[(3, 2, 6), (2, 3, 9), (2, 3, 10)]));
    for twin in twins.chain(discontinuous(LARGE_DG_CASES)).chain(discontinuous(&[(3, 2, 6), (2, 3, 8)])) {
        let space = twin.space();
        let (dim, refine, degree) = (twin.dim, space.mesh().refine(), space.degree());
        let fixture = Fixture::<f64>::new(&cpu, &space);
        let x = random(space.dofs(), 4);
        let b = twin.apply(&x);
        for color in 0..1 << dim {
            let found = fixture.smooth_color(color, &b, &x);
            assert_close(&format!("{dim}D, refine {refine}, degree {degree}, color {color}"), &found, &x, 1e-11);
        }
    }
}

/// Level 1 is one patch, which color 0 solves exactly; all other colors are empty.
#[test]
fn the_first_level_is_solved_exactly() {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let cases = |dim, degrees: core::ops::RangeInclusive<usize>| degrees.map(move |degree| (dim, 1, degree));
    let (all, dg): (Vec<_>, Vec<_>) =
        (cases(2, 1..=10).chain(cases(3, 1..=8)).collect(), cases(2, 1..=8).chain(cases(3, 1..=8)).collect());
    for twin in continuous(&all).chain(discontinuous(&dg)) {
        let space = twin.space();
        let (dim, degree) = (twin.dim, space.degree());
        let fixture = Fixture::<f64>::new(&cpu, &space);
        let (x, start) = (random(space.dofs(), 5), random(space.dofs(), 6));
        let b = twin.apply(&x);
        let found = fixture.smooth_color(0, &b, &start);
        assert_close(&format!("{dim}D, degree {degree}"), &found, &x, 1e-11);
        assert_eq!(fixture.smooth_color(1, &b, &start), start);
    }
}

/// Rows whose patches do not touch the boundary: with a constant `x` every sum there is of zeros.
fn check_constants<T: Scalar>(twins: impl Iterator<Item = Twin>) {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for twin in twins {
        let space = twin.space();
        let coarse = space.coarser().unwrap().unwrap();
        let fixture = Fixture::<T>::new(&cpu, &space);
        for constant in [1.0, 0.7, -1e-3] {
            let constant = T::from_f64(constant).to_f64();
            let (x, zero) = (vec![constant; space.dofs()], vec![0.0; space.dofs()]);
            let results = [
                (&space, fixture.apply(&x)),
                (&space, fixture.residual(&zero, &x)),
                (&coarse, fixture.restrict_residual(&coarse, &zero, &x)),
            ];
            for (of, values) in results {
                // Between the first and the last patch; continuous elements share the node between two patches.
                let patch = 2 * space.cell_stride() * of.row() / space.row();
                let inside = patch + of.unknown_nodes().start..of.row() - patch;
                let is_inside = |node: &[usize; 3]| node[..twin.dim].iter().all(|index| inside.contains(index));
                let dofs = of.unknowns().zip(&values).filter(|(node, _)| is_inside(node));
                let found: Vec<f64> = dofs.map(|(_, value)| *value).collect();
                assert!(!found.is_empty());
                let context = format!("{} {}D Q{} of {constant}", T::NAME, twin.dim, space.degree());
                assert!(found.iter().all(|value| *value == 0.0), "{context}: {found:?}");
                assert!(values.iter().any(|value| *value != 0.0), "{context}: nothing at the boundary either");
            }
        }
    }
}

#[test]
fn constants_are_in_the_null_space_exactly() {
    let cases = |dim, degrees: core::ops::RangeInclusive<usize>| degrees.map(move |degree| (dim, 3, degree));
    let all: Vec<_> = cases(2, 1..=10).chain(cases(3, 1..=8)).collect();
    let dg: Vec<_> = cases(2, 1..=8).chain(cases(3, 1..=8)).collect();
    check_constants::<f32>(continuous(&all).chain(discontinuous(&dg)));
    check_constants::<f64>(continuous(&all).chain(discontinuous(&dg)));
}

fn all_results<T: Scalar>(threads: usize, space: &Space) -> Vec<Vec<f64>> {
    let cpu = Arc::new(Cpu::new(Some(threads)).unwrap());
    let dim = space.dim();
    let coarse = space.coarser().unwrap().unwrap();
    let fixture = Fixture::<T>::new(&cpu, space);
    let (b, x) = (random(space.dofs(), 1), random(space.dofs(), 2));
    let mut results: Vec<_> = (0..1 << dim).map(|color| fixture.smooth_color(color, &b, &x)).collect();
    results.push(fixture.apply(&x));
    results.push(fixture.residual(&b, &x));
    results.push(fixture.restrict_residual(&coarse, &b, &x));
    results.push(fixture.prolongate_add(&coarse, &b[..coarse.dofs()], &x));
    let (b, mut x) = (fixture.vector(space, &b), fixture.vector(space, &x));
    results.push(cpu.dots(&[&b, &x], &x).unwrap());
    cpu.axpby(0.3, &b, 0.7, &mut x).unwrap();
    cpu.add_combination(&[0.1, -0.2], &[&b, &b], &mut x).unwrap();
    results.push(fixture.dofs(space, &x));
    results
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let cases = [(2, 6, 3), (3, 4, 2), (3, 3, 3)];
    for twin in continuous(&cases).chain(discontinuous(&cases)) {
        let space = &twin.space();
        let one = all_results::<f64>(1, space);
        let one_f32 = all_results::<f32>(1, space);
        for threads in [2, 3] {
            assert!(one == all_results::<f64>(threads, space), "{threads} threads, f64");
            assert!(one_f32 == all_results::<f32>(threads, space), "{threads} threads, f32");
        }
    }
}

#[test]
fn arguments_are_checked() {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let space = Twin::new(2, 2, 2).space();
    let level = cpu.level::<f64>(&Poisson::from(&space)).unwrap();
    let x = cpu.zeros(space.storage()).unwrap();
    let mut y = cpu.zeros(space.storage()).unwrap();
    let mut short = cpu.zeros(space.storage() - 1).unwrap();
    assert!(matches!(level.apply(&x, &mut short), Err(Error::SizeMismatch { what: "y", .. })));
    assert!(matches!(level.residual(&short, &x, &mut y), Err(Error::SizeMismatch { what: "b", .. })));
    assert!(matches!(level.prolongate_add(&x, &mut y), Err(Error::SizeMismatch { what: "coarse", .. })));
    assert!(matches!(level.restrict_residual(&x, &x, &mut y), Err(Error::SizeMismatch { .. })));
    assert!(matches!(
        level.patches().unwrap().smooth_color(4, &x, &mut y),
        Err(Error::InvalidArgument { name: "color", .. })
    ));
}
