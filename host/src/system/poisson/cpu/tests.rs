use super::twin::Twin;
use super::*;
use crate::backend::Backend;
use crate::mesh::Mesh;
use crate::system::System;
use crate::testing::{assert_close, random};
use std::ops::RangeInclusive;

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

/// Boxes as `(base cells, side lengths, refine, degree)`: all directions coarsened, or one of two, one of three, two of three;
/// two cells in some directions; one patch; more patches than lanes; and every degree. With discontinuous elements patches are at two
/// ends, at one, and between them in each direction, in any combination.
const BOXES: &Boxes = &[
    (&[3, 2], &[1.5, 1.0], 2, 2),
    (&[2, 1], &[2.0, 10.0], 2, 1),
    (&[2, 1], &[2.0, 10.0], 2, 3),
    (&[1, 2], &[10.0, 1.0], 2, 4),
    (&[1, 3], &[0.7, 1.3], 1, 2),
    (&[3, 1], &[0.7, 1.3], 1, 5),
    (&[2, 3], &[1.0, 1.2], 1, 6),
    (&[2, 3], &[1.0, 1.2], 1, 7),
    (&[1, 2], &[1.0, 3.0], 1, 8),
    (&[1, 1], &[1.0, 3.0], 1, 3),
    (&[3, 2, 1], &[1.5, 1.0, 0.5], 1, 1),
    (&[1, 2, 3], &[1.0, 3.0, 30.0], 1, 2),
    (&[2, 1, 2], &[0.5, 8.0, 0.4], 2, 1),
    (&[1, 1, 1], &[1.0, 2.0, 30.0], 1, 2),
];
/// More of continuous elements.
const CONTINUOUS_BOXES: &Boxes = &[
    (&[2, 3], &[1.0, 1.2], 1, 9),
    (&[1, 2], &[1.0, 3.0], 1, 10),
    (&[5, 3], &[5.0, 4.0], 3, 2),
    (&[3, 2, 1], &[1.5, 1.0, 0.5], 1, 2),
    (&[2, 2, 3], &[1.0, 1.3, 1.4], 1, 3),
    (&[2, 3, 2], &[1.0, 2.0, 1.1], 2, 1),
];
/// More of discontinuous elements.
const DG_BOXES: &Boxes = &[(&[5, 3], &[5.0, 4.0], 3, 1), (&[2, 2, 3], &[1.0, 1.3, 1.4], 1, 1)];
/// As [`BOXES`], too large for a dense patch matrix.
const LARGE_BOXES: &Boxes = &[
    (&[1, 2, 1], &[3.0, 1.0, 2.0], 1, 5),
    (&[1, 1, 2], &[3.0, 1.0, 2.0], 1, 6),
    (&[2, 1, 1], &[3.0, 1.0, 2.0], 1, 7),
    (&[1, 2, 1], &[1.0, 1.0, 2.0], 1, 8),
];
/// As [`CONTINUOUS_BOXES`], too large.
const LARGE_CONTINUOUS_BOXES: &Boxes = &[(&[2, 3, 2], &[1.0, 1.2, 1.4], 1, 4)];
/// As [`DG_BOXES`], too large.
const LARGE_DG_BOXES: &Boxes = &[(&[2, 3, 2], &[1.0, 1.2, 1.4], 1, 3), (&[2, 1, 2], &[1.0, 2.0, 1.1], 1, 4)];
/// As [`BOXES`], whose coarsest mesh has an odd number of cells in a direction.
const ODD_BOXES: &Boxes = &[
    (&[3, 2], &[1.5, 1.0], 1, 1),
    (&[3, 2], &[1.5, 1.0], 2, 3),
    (&[1, 3], &[0.7, 1.3], 1, 2),
    (&[5, 3], &[1.0, 2.0], 1, 4),
    (&[5, 3], &[1.0, 10.0], 1, 1),
    (&[7, 1], &[1.0, 1.0], 1, 8),
    (&[3, 2, 5], &[3.0, 2.0, 5.0], 1, 1),
    (&[3, 2, 5], &[0.6, 0.5, 1.3], 1, 2),
    (&[3, 2, 5], &[1.0, 1.0, 1.0], 1, 1),
    (&[1, 1, 3], &[1.0, 8.0, 2.0], 1, 3),
];

type Cases = [(usize, usize, usize)];
type Boxes = [(&'static [usize], &'static [f64], usize, usize)];

fn cubes(cases: &Cases) -> impl Iterator<Item = (Mesh, usize)> {
    cases.iter().map(|&(dim, refine, degree)| (Mesh::unit_cube(dim, refine).unwrap(), degree))
}

fn boxes(cases: &Boxes) -> impl Iterator<Item = (Mesh, usize)> {
    cases.iter().map(|&(cells, lengths, refine, degree)| (Mesh::of_box(cells, lengths, refine).unwrap(), degree))
}

fn continuous(cases: impl Iterator<Item = (Mesh, usize)>) -> impl Iterator<Item = Twin> {
    cases.map(|(mesh, degree)| Twin::new(mesh, degree))
}

fn discontinuous(cases: impl Iterator<Item = (Mesh, usize)>) -> impl Iterator<Item = Twin> {
    cases.map(|(mesh, degree)| Twin::discontinuous(mesh, degree))
}

fn named(space: &Space) -> String {
    let (family, dim) = (space.axes()[0].family(), space.dim());
    let (cells, sizes) = (space.mesh().cells_along(), space.mesh().cell_sizes());
    format!("{family:?} Q{}, cells {:?} of sizes {:?}", space.degree(), &cells[..dim], &sizes[..dim])
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

    fn point_gauss_seidel(&self, b: &[f64], x: &[f64], reverse: bool) -> Vec<f64> {
        let (b, mut x) = (self.vector(self.space, b), self.vector(self.space, x));
        self.level.point_gauss_seidel(&b, &mut x, reverse).unwrap();
        self.dofs(self.space, &x)
    }

    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.garbage(self.space);
        self.level.solve(&self.vector(self.space, b), &mut x).unwrap();
        self.dofs(self.space, &x)
    }

    fn inverse_diagonal(&self) -> Vec<f64> {
        self.dofs(self.space, &self.level.inverse_diagonal().unwrap())
    }
}

/// `1 / A_ii`, each to within a relative error.
fn check_diagonal<T: Scalar>(twin: &Twin, fixture: &Fixture<T>, tolerance: f64) {
    let products = twin.diagonal().into_iter().zip(fixture.inverse_diagonal()).map(|(entry, inverse)| entry * inverse);
    for (dof, product) in products.enumerate() {
        assert!((product - 1.0).abs() <= tolerance, "A_ii of dof {dof}, {}: {product}", named(fixture.space));
    }
}

fn check_against_twin<T: Scalar>(twins: impl Iterator<Item = Twin>, smooth: bool, tolerance: f64) {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for twin in twins {
        let space = twin.space();
        let dim = twin.dim;
        let case = |what: &str| format!("{what} in {}, {}", T::NAME, named(&space));
        let fixture = Fixture::<T>::new(&cpu, &space);
        let (b, x) = (random(space.dofs(), 1), random(space.dofs(), 2));
        assert_close(&case("apply"), &fixture.apply(&x), &twin.apply(&x), tolerance);
        // A load as large as A x, so that both count.
        let sizes = &space.mesh().cell_sizes()[..dim];
        let scale = sizes.iter().map(|h| sizes.iter().product::<f64>() / (h * h)).sum::<f64>();
        let b: Vec<f64> = b.into_iter().map(|b| T::from_f64(b * scale).to_f64()).collect();
        assert_close(&case("residual"), &fixture.residual(&b, &x), &twin.residual(&b, &x), tolerance);
        check_diagonal(&twin, &fixture, tolerance);
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
            let is_there = fixture.level.patches().unwrap().colors().contains(&color);
            assert_eq!(is_there, expected != x, "{}", case(&format!("color {color}")));
        }
        for reverse in [false, true] {
            if smooth && space.is(Family::Continuous) {
                let expected = twin.point_gauss_seidel(&b, &x, reverse);
                let found = fixture.point_gauss_seidel(&b, &x, reverse);
                assert_close(&case("point Gauss-Seidel"), &found, &expected, 10.0 * tolerance);
            }
        }
    }
}

#[test]
fn every_operation_is_equivalent_to_its_twin_in_f64() {
    check_against_twin::<f64>(continuous(cubes(CASES).chain(boxes(BOXES)).chain(boxes(CONTINUOUS_BOXES))), true, 1e-13);
    check_against_twin::<f64>(
        continuous(cubes(LARGE_CASES).chain(boxes(LARGE_BOXES)).chain(boxes(LARGE_CONTINUOUS_BOXES))),
        false,
        1e-13,
    );
}

#[test]
fn every_operation_is_equivalent_to_its_twin_in_f32() {
    check_against_twin::<f32>(continuous(cubes(CASES).chain(boxes(BOXES)).chain(boxes(CONTINUOUS_BOXES))), true, 2e-6);
    check_against_twin::<f32>(
        continuous(cubes(LARGE_CASES).chain(boxes(LARGE_BOXES)).chain(boxes(LARGE_CONTINUOUS_BOXES))),
        false,
        2e-6,
    );
}

#[test]
fn every_operation_on_discontinuous_elements_is_equivalent_to_its_twin() {
    check_against_twin::<f64>(discontinuous(cubes(DG_CASES).chain(boxes(BOXES)).chain(boxes(DG_BOXES))), true, 1e-13);
    check_against_twin::<f64>(
        discontinuous(cubes(LARGE_DG_CASES).chain(boxes(LARGE_BOXES)).chain(boxes(LARGE_DG_BOXES))),
        false,
        1e-13,
    );
    check_against_twin::<f32>(discontinuous(cubes(DG_CASES).chain(boxes(BOXES)).chain(boxes(DG_BOXES))), true, 5e-6);
    check_against_twin::<f32>(
        discontinuous(cubes(LARGE_DG_CASES).chain(boxes(LARGE_BOXES)).chain(boxes(LARGE_DG_BOXES))),
        false,
        5e-6,
    );
}

/// The cases are what they are there for.
#[test]
fn boxes_coarsen_in_all_directions_and_in_any_number_of_them() {
    for more in [CONTINUOUS_BOXES, DG_BOXES] {
        for (dim, counts) in [(2, 0..=2), (3, 0..=3)] {
            for count in counts {
                let has_count = |(mesh, _): (Mesh, usize)| {
                    let coarsened = mesh.coarsened_directions().unwrap_or_default();
                    mesh.dim() == dim && coarsened.into_iter().filter(|&is| is).count() == count
                };
                assert!(boxes(BOXES).chain(boxes(more)).any(has_count), "{count} of {dim}");
            }
        }
    }
}

/// At the exact solution a step changes nothing, so this fails for a wrong face transform of any degree.
#[test]
fn the_smoother_keeps_the_solution_at_every_degree() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    let cases = cubes(LARGE_CASES).chain(cubes(&[(3, 2, 6), (2, 3, 9), (2, 3, 10)]));
    let cases = cases.chain(boxes(LARGE_BOXES)).chain(boxes(LARGE_CONTINUOUS_BOXES));
    let dg_cases = cubes(LARGE_DG_CASES).chain(cubes(&[(3, 2, 6), (2, 3, 8)]));
    let dg_cases = dg_cases.chain(boxes(LARGE_BOXES)).chain(boxes(LARGE_DG_BOXES));
    for twin in continuous(cases).chain(discontinuous(dg_cases)) {
        let (space, dim) = (twin.space(), twin.dim);
        let fixture = Fixture::<f64>::new(&cpu, &space);
        let x = random(space.dofs(), 4);
        let b = twin.apply(&x);
        for color in 0..1 << dim {
            let found = fixture.smooth_color(color, &b, &x);
            assert_close(&format!("{}, color {color}", named(&space)), &found, &x, 1e-11);
        }
    }
}

/// One patch, which color 0 solves exactly; all other colors are empty.
#[test]
fn the_first_level_is_solved_exactly() {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let cases = |dim: usize, degrees: RangeInclusive<usize>| {
        let lengths = [1.0, 2.0, 0.3];
        let meshes = [Mesh::unit_cube(dim, 1), Mesh::of_box(&[1; 3][..dim], &lengths[..dim], 1)].map(Result::unwrap);
        degrees.flat_map(move |degree| meshes.map(|mesh| (mesh, degree)))
    };
    let (all, dg) = (cases(2, 1..=10).chain(cases(3, 1..=8)), cases(2, 1..=8).chain(cases(3, 1..=8)));
    for twin in continuous(all).chain(discontinuous(dg)) {
        let space = twin.space();
        let fixture = Fixture::<f64>::new(&cpu, &space);
        let (x, start) = (random(space.dofs(), 5), random(space.dofs(), 6));
        let b = twin.apply(&x);
        assert_close(&named(&space), &fixture.smooth_color(0, &b, &start), &x, 1e-11);
        assert_close(&named(&space), &fixture.solve(&b), &x, 1e-11);
        assert_eq!(fixture.smooth_color(1, &b, &start), start);
    }
}

fn check_coarsest<T: Scalar>(tolerance: f64) {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    let cases = || boxes(ODD_BOXES).map(|(mesh, degree)| (mesh.hierarchy().last().unwrap(), degree));
    for twin in continuous(cases()).chain(discontinuous(cases())) {
        let space = twin.space();
        assert!(space.mesh().cells_along()[..twin.dim].iter().any(|cells| cells % 2 != 0));
        let fixture = Fixture::<T>::new(&cpu, &space);
        let case = format!("{}, {}", T::NAME, named(&space));
        let b = random(space.dofs(), 5);
        let expected = twin.solve(&b);
        assert_close(&case, &fixture.solve(&b), &expected, tolerance);
        check_diagonal(&twin, &fixture, tolerance);

        // Nothing else is there.
        let (b, mut x) = (fixture.vector(&space, &b), fixture.garbage(&space));
        let (level, mut y) = (&fixture.level, fixture.garbage(&space));
        let patches = level.patches().unwrap();
        for result in [
            level.apply(&b, &mut x),
            level.residual(&b, &y, &mut x),
            level.restrict_residual(&b, &x, &mut y),
            level.prolongate_add(&b, &mut x),
            level.point_gauss_seidel(&b, &mut x, false),
            patches.smooth_color(0, &b, &mut x),
            patches.prolongate_and_smooth_first(&b, &y, &mut x),
        ] {
            assert!(matches!(result, Err(Error::InvalidArgument { name: "level", .. })), "{case}: {result:?}");
        }
        assert_eq!(fixture.dofs(&space, &x), fixture.dofs(&space, &fixture.garbage(&space)));
    }
}

#[test]
fn coarsest_meshes_of_odd_numbers_of_cells_are_solved_exactly_and_nothing_else() {
    check_coarsest::<f64>(1e-12);
    check_coarsest::<f32>(5e-6);
}

/// What is solved exactly has dense matrices.
#[test]
fn coarsest_meshes_with_too_many_cells_are_refused() {
    let coarser = |family, cells, degree| {
        let mesh = Mesh::of_box(&[1, cells], &[1.0, cells as f64], 1).unwrap();
        Poisson::new(family, mesh, degree).unwrap().coarser().unwrap()
    };
    for (family, cells, degree) in
        [(Family::Continuous, 1023, 1), (Family::Continuous, 511, 2), (Family::Discontinuous, 511, 1)]
    {
        assert!(coarser(family, cells, degree).is_ok());
        let message = coarser(family, cells + 2, degree).unwrap_err().to_string();
        let expected = format!("cells is 2 x {} on the coarsest mesh", cells + 2);
        assert!(message.contains(&expected), "{message}");
        let expected = format!("at most {} a direction there with degree {degree}", cells + 1);
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn only_the_coarsest_level_is_solved() {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let cases = || cubes(&[(2, 2, 1), (3, 3, 2)]).chain(boxes(ODD_BOXES));
    for twin in continuous(cases()).chain(discontinuous(cases())) {
        let space = twin.space();
        let level = cpu.level::<f64>(&Poisson::from(&space)).unwrap();
        let (b, mut x) = (cpu.zeros(space.storage()).unwrap(), cpu.zeros(space.storage()).unwrap());
        let result = level.solve(&b, &mut x);
        assert!(matches!(result, Err(Error::InvalidArgument { .. })), "{}", named(&space));
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
                let inside = |d: usize| {
                    let (axis, fine) = (&of.axes()[d], &space.axes()[d]);
                    let patch = 2 * axis.stride() * axis.cells() / fine.cells();
                    patch + axis.unknown_nodes().start..axis.stored_nodes() - patch
                };
                let is_inside = |node: &[usize; 3]| (0..twin.dim).all(|d| inside(d).contains(&node[d]));
                let dofs = of.unknowns().zip(&values).filter(|(node, _)| is_inside(node));
                let found: Vec<f64> = dofs.map(|(_, value)| *value).collect();
                assert!(!found.is_empty());
                let context = format!("{} of {constant}, {}", T::NAME, named(&space));
                assert!(found.iter().all(|value| *value == 0.0), "{context}: {found:?}");
                assert!(values.iter().any(|value| *value != 0.0), "{context}: nothing at the boundary either");
            }
        }
    }
}

#[test]
fn constants_are_in_the_null_space_exactly() {
    let cases = |dim: usize, degrees: RangeInclusive<usize>| {
        // Cells of a cube; and of other sizes in each direction, of which one is not coarsened.
        let lengths = [0.7, 0.9, 3.0];
        let base = [4, 5, 4];
        let meshes = [Mesh::unit_cube(dim, 3), Mesh::of_box(&base[3 - dim..], &lengths[3 - dim..], 1)];
        let meshes = meshes.map(Result::unwrap);
        degrees.flat_map(move |degree| meshes.map(|mesh| (mesh, degree)))
    };
    let all = || cases(2, 1..=10).chain(cases(3, 1..=8));
    let dg = || cases(2, 1..=8).chain(cases(3, 1..=8));
    check_constants::<f32>(continuous(all()).chain(discontinuous(dg())));
    check_constants::<f64>(continuous(all()).chain(discontinuous(dg())));
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
    results.push(cpu.combine_dots(&[0.1, -0.2], &[&b, &b], &mut x).unwrap());
    cpu.combine(&[0.3], &[&b], 0.6, &mut x).unwrap();
    results.push(fixture.dofs(space, &x));
    results
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // Of the boxes one is coarsened in all directions, one in two of them, one in one.
    let of_boxes: &Boxes =
        &[(&[3, 5], &[1.0, 2.0], 4, 3), (&[2, 3, 2], &[1.0, 20.0, 1.1], 2, 2), (&[3, 2, 2], &[1.0, 20.0, 11.0], 2, 1)];
    let cases = || cubes(&[(2, 6, 3), (3, 4, 2), (3, 3, 3)]).chain(boxes(of_boxes));
    for twin in continuous(cases()).chain(discontinuous(cases())) {
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
    // Coarsened in both directions, and in one.
    let boxes = boxes(&[(&[2, 1], &[2.0, 10.0], 2, 2)]);
    for space in continuous(cubes(&[(2, 2, 2)]).chain(boxes)).map(|twin| twin.space()) {
        check_arguments(&cpu, &space);
    }
    let space = Space::discontinuous(Mesh::unit_cube(2, 2).unwrap(), 1).unwrap();
    let level = cpu.level::<f32>(&Poisson::from(&space)).unwrap();
    let (b, mut x) = (cpu.zeros(space.storage()).unwrap(), cpu.zeros(space.storage()).unwrap());
    assert!(matches!(level.point_gauss_seidel(&b, &mut x, false), Err(Error::Unsupported { .. })));
}

fn check_arguments(cpu: &Arc<Cpu>, space: &Space) {
    let level = cpu.level::<f64>(&Poisson::from(space)).unwrap();
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
