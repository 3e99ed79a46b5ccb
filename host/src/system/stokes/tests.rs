//! A level against its dense twin.

use super::axis_by_axis::AxisByAxis;
use super::level::StokesLevel;
use super::twin::{Expected, Twin};
use super::*;
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Scalar};
use crate::level::{Level, SharedLevel};
use crate::system::Runs;
use crate::testing::{Counting, random};
use glam::DVec3;

/// Base cells, side lengths, refinements, degree; `s` and `ν`. In each direction patches are at both ends, at one or at none, in any
/// combination; cells are unequal; one direction is coarsened or all are.
pub(super) type Case = (&'static [usize], &'static [f64], usize, usize, f64, f64);

pub(super) const CASES: &[Case] = &[
    (&[1, 1], &[1.0, 1.0], 1, 2, 0.0, 1.0),
    (&[1, 1], &[1.0, 1.0], 2, 1, 0.0, 1.0),
    (&[1, 1], &[1.0, 1.0], 2, 2, 0.0, 1.0),
    (&[1, 1], &[1.0, 1.0], 2, 3, 3.0, 1.0),
    (&[1, 1], &[3.0, 1.0], 1, 4, 1000.0, 0.5),
    (&[1, 1], &[3.0, 1.0], 2, 2, 2.0, 0.25),
    (&[2, 1], &[2.0, 1.0], 1, 1, 0.0, 1.0),
    (&[2, 1], &[2.0, 1.0], 1, 2, 10.0, 4.0),
    (&[1, 2], &[1.0, 1.25], 1, 3, 0.0, 1.0),
    (&[3, 1], &[3.0, 1.0], 1, 2, 0.0, 1.0),
    (&[1, 1, 1], &[1.0, 1.0, 1.0], 1, 1, 0.0, 1.0),
    (&[1, 1, 1], &[1.0, 1.0, 1.0], 2, 1, 0.0, 1.0),
    (&[1, 1, 1], &[1.0, 1.25, 1.125], 2, 1, 50.0, 0.5),
    (&[2, 1, 1], &[2.0, 1.0, 1.5], 1, 1, 0.0, 1.0),
    (&[2, 1, 1], &[1.0, 2.0, 3.0], 1, 2, 0.0, 1.0),
    (&[1, 1, 2], &[1.0, 1.0, 1.0], 1, 2, 7.0, 2.0),
];

/// As [`CASES`], of which the coarsest mesh is no vertex patch: an odd number of cells in a direction.
const COARSEST: &[Case] = &[
    (&[3, 1], &[3.0, 1.0], 1, 1, 0.0, 1.0),
    (&[3, 1], &[3.0, 1.25], 1, 3, 4.0, 0.5),
    (&[3, 5], &[0.7, 1.0], 1, 2, 0.0, 1.0),
    (&[1, 3, 1], &[1.0, 1.0, 1.0], 1, 1, 2.0, 1.0),
];

pub(super) fn system(&(cells, lengths, refine, degree, mass, viscosity): &Case) -> Stokes {
    let mesh = Mesh::of_box(cells, lengths, refine).unwrap();
    Stokes::new(mesh, degree).unwrap().with_mass(mass).unwrap().with_viscosity(viscosity).unwrap()
}

pub(super) fn named(system: &Stokes) -> String {
    let (dim, mesh) = (system.mesh().dim(), system.mesh());
    let (cells, sizes) = (&mesh.cells_along()[..dim], &mesh.cell_sizes()[..dim]);
    let Stokes { degree, mass, viscosity, local, .. } = system;
    format!("RT{degree}, cells {cells:?} of sizes {sizes:?}, s {mass}, nu {viscosity}, local solver {local}")
}

/// A level, dofs in and dofs out.
pub(super) struct Fixture<T: Scalar> {
    cpu: Arc<Cpu>,
    system: Stokes,
    pub level: SharedLevel<Cpu, T>,
}

type Vector<T> = <Cpu as Backend>::Vector<T>;

impl<T: Scalar> Fixture<T> {
    pub fn new(cpu: &Arc<Cpu>, system: &Stokes) -> Self {
        Self { cpu: cpu.clone(), system: system.clone(), level: cpu.level(system).unwrap() }
    }

    fn vector(&self, dofs: &[f64]) -> Vector<T> {
        assert_eq!(dofs.len(), self.system.layout().dofs());
        self.level.vector_of(&mut |dof| dofs[dof]).unwrap()
    }

    /// A vector to write to, whose unknowns hold what must not matter.
    fn garbage(&self) -> Vector<T> {
        self.level.vector_of(&mut |_| 1e30).unwrap()
    }

    /// Checks that all entries that are no unknowns are zero, too.
    fn dofs(&self, vector: &Vector<T>) -> Vec<f64> {
        let layout = self.system.layout();
        let mut host = vec![T::ZERO; layout.storage()];
        self.cpu.download(vector, &mut host).unwrap();
        let mut dofs = Vec::new();
        for (space, block) in self.system.spaces.iter().zip(layout.blocks()) {
            for node in space.unknowns() {
                dofs.push(std::mem::replace(&mut host[block.start + space.offset(node)], T::ZERO).to_f64());
            }
        }
        assert!(host.iter().all(|value| value.to_f64() == 0.0), "an entry that is no unknown is not zero");
        dofs
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = self.garbage();
        self.level.apply(&self.vector(x), &mut y).unwrap();
        self.dofs(&y)
    }

    fn residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        let mut r = self.garbage();
        self.level.residual(&self.vector(b), &self.vector(x), &mut r).unwrap();
        self.dofs(&r)
    }

    pub fn smooth_color(&self, color: usize, b: &[f64], x: &[f64]) -> Vec<f64> {
        let (b, mut x) = (self.vector(b), self.vector(x));
        self.level.patches().unwrap().smooth_color(color, &b, &mut x).unwrap();
        self.dofs(&x)
    }

    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.garbage();
        self.level.solve(&self.vector(b), &mut x).unwrap();
        self.dofs(&x)
    }

    fn restrict_residual(&self, coarse: &Self, b: &[f64], x: &[f64]) -> Vec<f64> {
        let mut c = coarse.garbage();
        self.level.restrict_residual(&self.vector(b), &self.vector(x), &mut c).unwrap();
        coarse.dofs(&c)
    }

    fn prolongate_add(&self, coarse: &Self, c: &[f64], x: &[f64]) -> Vec<f64> {
        let mut x = self.vector(x);
        self.level.prolongate_add(&coarse.vector(c), &mut x).unwrap();
        self.dofs(&x)
    }

    fn prolongate_and_smooth_first(&self, coarse: &Self, c: &[f64], b: &[f64], x: &[f64]) -> Vec<f64> {
        let (c, b, mut x) = (coarse.vector(c), self.vector(b), self.vector(x));
        self.level.patches().unwrap().prolongate_and_smooth_first(&c, &b, &mut x).unwrap();
        self.dofs(&x)
    }

    /// That each field differs by `roundings` units of the scalar's rounding of the terms that it is the sum of, at most; in `f64`
    /// these are less than 1e-11 of its largest value.
    pub fn check(&self, what: &str, found: &[f64], expected: &Expected, roundings: f64) {
        let unit = 0.5f64.powi(T::MANTISSA_DIGITS as i32);
        let mut first = 0;
        for (block, space) in self.system.spaces.iter().enumerate() {
            let range = first..first + space.dofs();
            first = range.end;
            let case = || format!("{what} in {}, block {block}, {}", T::NAME, named(&self.system));
            let largest = |values: &[f64]| values[range.clone()].iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            let [terms, values] = [&expected.terms, &expected.values].map(|values| largest(values));
            let relative = roundings * unit * terms / values;
            assert!(relative < 1e-11 || T::NAME != "f64", "{}: {relative:e} would pass", case());
            for dof in range {
                let (found, expected) = (found[dof], expected.values[dof]);
                let off = (found - expected).abs() / (unit * terms);
                // Negated, so that a NaN fails.
                assert!(off <= roundings, "{}: {found}, not {expected}: {off} roundings of {terms}", case());
            }
        }
    }
}

/// Roundings of an entry's terms. A term is the product of three entries of matrices, each rounded, and of `x`, and passes three sums
/// of up to `3 (k + 1)` terms, `k <= 4`: their roundings add up to 50 at most where all have one sign, and to a few by chance.
const OPERATOR: f64 = 16.0;
/// With a local solve: rounding of its matrix and of its right-hand side is enlarged as `|A_j⁻¹|` says, which is in the terms.
pub(super) const SMOOTHER: f64 = 8.0;

fn check_level<T: Scalar>() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    let coarsest = |system: Stokes| match system.mesh().hierarchy().last() {
        Some(mesh) => Stokes::new(mesh, system.degree())
            .and_then(|coarsest| coarsest.with_mass(system.mass())?.with_viscosity(system.viscosity()))
            .unwrap(),
        None => system,
    };
    let coarsest: Vec<_> = COARSEST.iter().map(|case| coarsest(system(case))).collect();
    let iterated = coarsest.iter().map(|system| system.clone().with_most_pressures(0));
    for system in CASES.iter().map(system).chain(coarsest.iter().cloned()).chain(iterated) {
        let twin = Twin::new(system);
        let fixture = Fixture::<T>::new(&cpu, &twin.system);
        let dofs = twin.nodes.len();
        let x = random(dofs, 2);
        fixture.check("A x", &fixture.apply(&x), &twin.apply(&x), OPERATOR);
        // A load as large as A x, so that both count.
        let scale = twin.matrix.diagonal().amax();
        let b: Vec<f64> = random(dofs, 1).into_iter().map(|b| T::from_f64(b * scale).to_f64()).collect();
        let residual = twin.residual(&b, &x);
        fixture.check("b - A x", &fixture.residual(&b, &x), &residual, OPERATOR);
        for &color in fixture.level.patches().unwrap().colors() {
            let expected = twin.smooth_color(color, &b, &x);
            fixture.check(&format!("color {color}"), &fixture.smooth_color(color, &b, &x), &expected, SMOOTHER);
        }
        if twin.system.is_solved_by_iteration() {
            // It has a solution.
            let b = twin.apply(&x).values;
            let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
            let left = norm(&twin.residual(&b, &fixture.solve(&b)).values) / norm(&b);
            assert!(left < 1.01e-2 && fixture.level.inner_iterations() > Some(0), "{}: {left}", named(&twin.system));
            continue;
        }
        assert_eq!(fixture.level.inner_iterations(), None);
        let Some(coarser) = twin.system.coarser() else {
            fixture.check("solution", &fixture.solve(&b), &twin.solve(&b), SMOOTHER);
            continue;
        };
        let coarse_twin = Twin::new(coarser.unwrap());
        let coarse = Fixture::<T>::new(&cpu, &coarse_twin.system);
        let prolongation = twin.prolongation(&coarse_twin);
        let product = |matrix: &nalgebra::DMatrix<f64>, x: &[f64]| -> Vec<f64> {
            (matrix * nalgebra::DVector::from_column_slice(x)).as_slice().to_vec()
        };
        let magnitudes = |values: &[f64]| values.iter().map(|value| value.abs()).collect::<Vec<_>>();
        let sizes = prolongation.map(f64::abs);
        let transposed = prolongation.transpose();
        let expected = Expected {
            values: product(&transposed, &residual.values),
            terms: product(&sizes.transpose(), &residual.terms),
        };
        coarse.check("restriction", &fixture.restrict_residual(&coarse, &b, &x), &expected, OPERATOR);
        let c = random(coarse_twin.nodes.len(), 3);
        let sum = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
        let expected = Expected {
            values: sum(product(&prolongation, &c), &x),
            terms: sum(product(&sizes, &magnitudes(&c)), &magnitudes(&x)),
        };
        fixture.check("prolongation", &fixture.prolongate_add(&coarse, &c, &x), &expected, OPERATOR);
        let expected = twin.smooth_color(0, &b, &expected.values);
        let found = fixture.prolongate_and_smooth_first(&coarse, &c, &b, &x);
        fixture.check("prolongation and color 0", &found, &expected, SMOOTHER);
    }
}

#[test]
fn a_level_in_f64_is_its_twin() {
    check_level::<f64>();
}

#[test]
fn a_level_in_f32_is_its_twin() {
    check_level::<f32>();
}

#[test]
fn a_level_allocates_what_was_said() {
    let mut systems: Vec<Stokes> = CASES.iter().chain(COARSEST).map(system).collect();
    systems.extend(COARSEST.iter().filter_map(|case| system(case).coarser()).map(|coarser| coarser.unwrap()));
    systems.extend(COARSEST.iter().map(|case| system(case).with_most_pressures(0).coarser().unwrap().unwrap()));
    for (dim, degree, refine) in [(2, 1, 5), (2, 8, 2), (2, 3, 6), (3, 1, 4), (3, 2, 3), (3, 3, 2)] {
        systems.push(Stokes::new(Mesh::unit_cube(dim, refine).unwrap(), degree).unwrap());
    }
    for (system, local) in systems.iter().flat_map(|system| LocalSolver::ALL.map(|local| (system, local))) {
        let Ok(system) = system.clone().with_local_solver(local) else { panic!("{local} of {}", named(system)) };
        check_bytes::<f64>(&system);
        check_bytes::<f32>(&system);
    }
}

fn check_bytes<T: Scalar>(system: &Stokes) {
    let counting = Arc::new(Counting::new());
    let parts = Box::new(AxisByAxis::new(&counting, system).unwrap());
    let level = StokesLevel::<_, T>::new(&counting, system, parts).unwrap();
    let said = level::bytes::<Counting, T>(system) + axis_by_axis::bytes::<T>(system);
    let allocated = counting.bytes();
    let case = || format!("{} in {}: said {said}, allocated {allocated}", named(system), T::NAME);
    assert!(allocated <= said && said - allocated <= said / 20, "{}", case());
    let by_patches = if system.is_solved_by_iteration() { 0 } else { level::patches_bytes::<T>(system) };
    level.patches().unwrap();
    assert_eq!(counting.bytes() - allocated, by_patches, "{}", case());
}

/// For `u_i = c_i Π_d x_d (l_d - x_d)` and `p = x² y - y² + x z`, which `RT_2 x Q_2` has and which has no jumps, the rows of `A x`
/// are `∫ (s u - ν Δu + ∇p) v` and `-∫ q ∇·u`.
#[test]
fn the_twin_is_consistent_with_the_equations() {
    for case in CASES.iter().filter(|case| case.3 >= 2) {
        let twin = Twin::new(system(case));
        let (dim, mesh) = (twin.dim(), *twin.system.mesh());
        let sides = mesh.lengths();
        let factors = [1.0, -0.5, 2.0];
        let bubbles = |point: DVec3, skipped: Option<usize>| -> f64 {
            (0..dim).filter(|&d| Some(d) != skipped).map(|d| point[d] * (sides[d] - point[d])).product()
        };
        let pressure = |p: DVec3| p.x * p.x * p.y - p.y * p.y + p.x * p.z;
        let pressure_slope = |p: DVec3| DVec3::new(2.0 * p.x * p.y + p.z, p.x * p.x - 2.0 * p.y, p.x);
        let right_hand_side = |point: DVec3, i: usize| {
            let laplacian: f64 = (0..dim).map(|d| -2.0 * factors[i] * bubbles(point, Some(d))).sum();
            let own = twin.system.mass() * factors[i] * bubbles(point, None);
            own - twin.system.viscosity() * laplacian + pressure_slope(point)[i]
        };
        let divergence = |point: DVec3| -> f64 {
            (0..dim).map(|d| factors[d] * (sides[d] - 2.0 * point[d]) * bubbles(point, Some(d))).sum()
        };
        let x: Vec<f64> = twin.interpolate(|block, point| match block {
            block if block < dim => factors[block] * bubbles(point, None),
            _ => pressure(point),
        });
        let expected = twin.integrate(|block, point| match block {
            block if block < dim => right_hand_side(point, block),
            _ => -divergence(point),
        });
        let Expected { values, terms } = twin.apply(&x);
        let largest = terms.iter().copied().fold(0.0, f64::max);
        for ((found, expected), (block, node)) in values.iter().zip(&expected).zip(&twin.nodes) {
            let close = (found - expected).abs() <= 1e-13 * largest;
            assert!(close, "{}: block {block}, node {node:?}: {found}, not {expected}", named(&twin.system));
        }
    }
}

#[test]
fn the_twin_is_symmetric_and_a_constant_pressure_is_its_null_space() {
    for case in CASES {
        let twin = Twin::new(system(case));
        let largest = twin.matrix.amax();
        assert!((&twin.matrix - twin.matrix.transpose()).amax() <= 1e-14 * largest, "{}", named(&twin.system));
        let x: Vec<f64> = twin.interpolate(|block, _| if block < twin.dim() { 0.0 } else { 1.0 });
        let Expected { values, terms } = twin.apply(&x);
        let largest = terms.iter().copied().fold(0.0, f64::max);
        assert!(values.iter().all(|value| value.abs() <= 1e-13 * largest), "{}", named(&twin.system));
        if twin.nodes.len() < 300 {
            let values = twin.matrix.clone().symmetric_eigenvalues();
            let zeros = values.iter().filter(|value| value.abs() < 1e-10 * values.amax()).count();
            assert_eq!(zeros, 1, "{}", named(&twin.system));
        }
    }
}

/// A flow of the coarse space, by its values: it is one of the fine space. And `c · Pᵀ r = P c · r`.
#[test]
fn transfers_keep_polynomials_and_are_transposes() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for case in CASES {
        let fine = system(case);
        let Some(coarse) = fine.coarser() else { continue };
        let (fine, coarse) = (Twin::new(fine), Twin::new(coarse.unwrap()));
        let sides = fine.system.mesh().lengths();
        // Linear but for the component's own direction, where it is quadratic.
        let linear = |p: DVec3| (1.0 + 2.0 * p.x) * (1.0 - p.y) * (0.5 + p.z);
        let value = |block: usize, mut p: DVec3| {
            if block == fine.dim() {
                return linear(p);
            }
            let along = std::mem::take(&mut p[block]);
            along * (sides[block] - along) * linear(p)
        };
        let [on_fine, on_coarse] = [&fine, &coarse].map(|twin| twin.interpolate(value));
        let [fixture, below] = [&fine, &coarse].map(|twin| Fixture::<f64>::new(&cpu, &twin.system));
        let zero = vec![0.0; on_fine.len()];
        let found = fixture.prolongate_add(&below, &on_coarse, &zero);
        crate::testing::assert_close(&named(&fine.system), &found, &on_fine, 1e-14);
        let (c, r) = (random(on_coarse.len(), 4), random(on_fine.len(), 5));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let up = dot(&fixture.prolongate_add(&below, &c, &zero), &r);
        let down = dot(&c, &fixture.restrict_residual(&below, &r, &zero));
        let size = (dot(&c, &c) * dot(&r, &r)).sqrt();
        assert!((up - down).abs() <= 1e-14 * size, "{}: {up}, {down}", named(&fine.system));
    }
}

#[test]
fn what_a_level_does_not_have_is_refused() {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    let fine = Stokes::new(Mesh::of_box(&[2, 1], &[2.0, 1.0], 1).unwrap(), 1).unwrap();
    let coarse = fine.coarser().unwrap().unwrap();
    let [fine, coarse] = [fine, coarse].map(|system| Fixture::<f64>::new(&cpu, &system));
    let zeros = |fixture: &Fixture<f64>| fixture.level.vector().unwrap();
    let refused = |result: Result<()>, message: &str| assert_eq!(result.unwrap_err().to_string(), message);
    let (mut x, mut c) = (zeros(&fine), zeros(&coarse));
    refused(
        fine.level.solve(&zeros(&fine), &mut x),
        "level to solve on is one with a coarser level, but must be the coarsest",
    );
    let not_the_coarsest = "level is the coarsest, but must be one with a coarser level";
    refused(coarse.level.prolongate_add(&zeros(&coarse), &mut c), not_the_coarsest);
    refused(coarse.level.restrict_residual(&zeros(&coarse), &zeros(&coarse), &mut c), not_the_coarsest);
    // Two cells have one row of patches; the coarsest mesh is one patch.
    assert_eq!(fine.level.patches().unwrap().colors(), [0, 1]);
    assert_eq!(coarse.level.patches().unwrap().colors(), [0]);
    for color in [2, 3, 4, usize::MAX] {
        let result = fine.level.patches().unwrap().smooth_color(color, &zeros(&fine), &mut x);
        refused(result, &format!("color is {color}, but must be one of [0, 1]"));
    }
    for result in
        [fine.level.inverse_diagonal().map(|_| ()), fine.level.point_gauss_seidel(&zeros(&fine), &mut x, false)]
    {
        assert!(matches!(result, Err(Error::Unsupported { what: "smoother", .. })), "{result:?}");
    }
}
