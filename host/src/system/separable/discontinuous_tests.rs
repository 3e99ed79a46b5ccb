//! What discontinuous elements have of their own: faces, boundary values, and agreement with Poisson's equation on equal cells.

use super::line::{Ends, Line};
use super::tests::{OnCpu, breakpoints, dense, equation, systems_by};
use super::*;
use crate::backend::cpu::Cpu;
use crate::fe::{Element, Quadrature};
use crate::krylov::unobserved;
use crate::problem::{CosineProduct, SineProduct};
use crate::solve::{Case, Config, Method, Solver};
use crate::system::poisson::forms::DiscontinuousForms;
use crate::system::{ModelProblem, Poisson};
use crate::testing::{assert_close, random};
use glam::DVec3;
use nalgebra::{DMatrix, DVector};

const N: Condition = Condition::Neumann;
const D: Condition = Condition::Dirichlet;
const P: Condition = Condition::Periodic;

/// A basis function on a face: its dof, the outward jump of its cell, its value and its derivative along the direction.
type OnFace = (usize, f64, f64, f64);

/// Functions of a cell on the face at the lower or the upper end of a direction, at a point of the face.
fn on_face(system: &Separable, cell: [usize; 3], (d, end): (usize, usize), point: [f64; 3]) -> Vec<OnFace> {
    let (dim, k) = (system.dim(), system.space().degree());
    let axes = system.space().axes();
    let mut found = Vec::new();
    for index in 0..(k + 1).pow(dim as u32) {
        let local = [index % (k + 1), index / (k + 1) % (k + 1), index / (k + 1).pow(2)];
        let (mut value, mut slope, mut dof, mut before) = (1.0, 1.0, 0, 1);
        for (direction, axis) in axes.iter().enumerate() {
            let x = if direction == d { end as f64 } else { point[direction] };
            let element = axis.element();
            let of_value = element.values(x)[local[direction]];
            value *= of_value;
            slope *= match direction == d {
                true => element.derivatives(x)[local[direction]] / axis.width(cell[direction]),
                false => of_value,
            };
            dof += before * (cell[direction] * (k + 1) + local[direction]);
            before *= axis.cells() * (k + 1);
        }
        // From the lower cell of a face to the upper one.
        found.push((dof, if end == 1 { 1.0 } else { -1.0 }, value, slope));
    }
    found
}

/// `∫ σ [u][v] - {c ∂u} [v] - [u] {c ∂v}` over all faces, added to a matrix: by quadrature on each.
pub(super) fn add_faces(system: &Separable, matrix: &mut DMatrix<f64>) {
    let (dim, k, equation) = (system.dim(), system.space().degree(), system.equation());
    let (axes, rule) = (system.space().axes(), Quadrature::gauss(k + 1).unwrap());
    for (d, cell) in (0..dim).flat_map(|d| system.mesh().cell_indices().map(move |cell| (d, cell))) {
        let (cells, sides, c) = (axes[d].cells(), equation.sides[d], equation.diffusion[d]);
        // The face above each cell, and that below the first one.
        let mut faces = Vec::new();
        let beside = |index: usize| [0, 1, 2].map(|direction| if direction == d { index } else { cell[direction] });
        match cell[d] + 1 == cells {
            false => faces.push(vec![(cell, 1), (beside(cell[d] + 1), 0)]),
            true if sides[1] == P => faces.push(vec![(cell, 1), (beside(0), 0)]),
            true if sides[1] == D => faces.push(vec![(cell, 1)]),
            true => {}
        }
        if cell[d] == 0 && sides[0] == D {
            faces.push(vec![(cell, 0)]);
        }
        let tangents: Vec<usize> = (0..dim).filter(|&direction| direction != d).collect();
        for face in faces {
            let width = |cell: [usize; 3]| axes[d].width(cell[d]);
            let (first, last) = (width(face[0].0), width(face[face.len() - 1].0));
            let sigma = c * (k * (k + 1)) as f64 * (1.0 / first + 1.0 / last);
            let mean = 1.0 / face.len() as f64;
            for q in 0..(k + 1).pow(tangents.len() as u32) {
                let (mut point, mut weight, mut rest) = ([0.0; 3], 1.0, q);
                for &tangent in &tangents {
                    point[tangent] = rule.points[rest % (k + 1)];
                    weight *= rule.weights[rest % (k + 1)] * axes[tangent].width(cell[tangent]);
                    rest /= k + 1;
                }
                let of_cell = |&(cell, end): &([usize; 3], usize)| on_face(system, cell, (d, end), point);
                let functions: Vec<OnFace> = face.iter().flat_map(of_cell).collect();
                for &(row, sign, value, slope) in &functions {
                    for &(column, other_sign, other, other_slope) in &functions {
                        let (v, u) = (sign * value, other_sign * other);
                        matrix[(row, column)] += weight * (sigma * u * v - c * mean * (other_slope * v + u * slope));
                    }
                }
            }
        }
    }
}

fn line(degree: usize, grading: &Grading, ends: Ends, cells: usize) -> Line {
    let element = Arc::new(Element::new(degree).unwrap());
    let axis = match grading.breakpoints(cells, 1.0).unwrap() {
        None => Axis::new(Family::Discontinuous, &element, cells, 1.0 / cells as f64),
        Some(points) => Axis::graded(Family::Discontinuous, &element, points),
    };
    Line::new(axis, ends)
}

fn matrix(rows: &super::line::Rows) -> DMatrix<f64> {
    let all: Vec<_> = (0..rows.len()).collect();
    super::line::part(rows, &all)
}

const ENDS: [Ends; 5] = [
    Ends::Open([false; 2]),
    Ends::Open([true, false]),
    Ends::Open([false, true]),
    Ends::Open([true; 2]),
    Ends::Periodic,
];

/// However much widths differ, in the norm of derivatives and jumps.
#[test]
fn forms_of_lines_are_coercive() {
    let gradings = [
        Grading::Uniform,
        Grading::Geometric(1e3),
        Grading::BothEnds(1e3),
        breakpoints(&[0.0, 0.001, 0.9, 0.9001, 1.0]),
        breakpoints(&[0.0, 1e-6, 0.5, 0.5 + 1e-6, 1.0]),
    ];
    for (grading, degree) in gradings.iter().flat_map(|grading| [1, 2, 3, 5, 8].map(|degree| (grading, degree))) {
        for ends in ENDS {
            let line = line(degree, grading, ends, 4);
            let form = matrix(&line.stiffness(0.7, f64::MANTISSA_DIGITS));
            assert_eq!(form, form.transpose(), "{grading:?} Q{degree} {ends:?}");
            let norm = norm_of(&line, 0.7);
            // Constants and nothing else may be in the null space.
            let scaling = DMatrix::from_diagonal(&norm.diagonal().map(|entry| 1.0 / entry.sqrt()));
            let [scaled, norm] = [&form, &norm].map(|matrix| &scaling * matrix * &scaling);
            let kernel = scaling.diagonal().map(|entry| 1.0 / entry).normalize();
            let fill = if line.has_constants() { &kernel * kernel.transpose() } else { norm.clone() * 0.0 };
            let lower = (&norm + &fill).cholesky().unwrap().unpack();
            let half = lower.solve_lower_triangular(&(&scaled + &fill)).unwrap();
            let quotient = lower.solve_lower_triangular(&half.transpose()).unwrap();
            let values = (0.5 * (&quotient + quotient.transpose())).symmetric_eigenvalues();
            let (least, largest) = (values.min(), values.max());
            // At a Dirichlet end half the penalty suffices: 1 - sqrt(1/2).
            assert!(least > 0.25 && largest < 1.75, "{grading:?} Q{degree} {ends:?}: {least} {largest}");
            let ones = DVector::from_element(line.nodes(), 1.0);
            let is_zero = (&form * &ones).amax() == 0.0;
            assert_eq!(is_zero, line.has_constants(), "{grading:?} Q{degree} {ends:?}");
        }
    }
}

/// `c (Σ_K ∫ u' v' + Σ_faces σ [u][v])`.
fn norm_of(line: &Line, c: f64) -> DMatrix<f64> {
    let (axis, k, cells) = (&line.axis, line.axis.degree(), line.axis.cells());
    let mut norm = DMatrix::zeros(line.nodes(), line.nodes());
    let stiffness = axis.element().stiffness();
    for cell in 0..cells {
        let mut block = norm.view_mut((cell * (k + 1), cell * (k + 1)), (k + 1, k + 1));
        block += &stiffness * (c / axis.width(cell));
    }
    let of_cell = |cell: usize| c * (k * (k + 1)) as f64 / axis.width(cell);
    let mut add = |jump: &[(usize, f64)], sigma: f64| {
        for (i, a) in jump {
            jump.iter().for_each(|(j, b)| norm[(*i, *j)] += a * b * sigma);
        }
    };
    let last = line.nodes() - 1;
    for face in 1..cells {
        add(&[(face * (k + 1) - 1, 1.0), (face * (k + 1), -1.0)], of_cell(face - 1) + of_cell(face));
    }
    match line.ends {
        Ends::Periodic => add(&[(last, 1.0), (0, -1.0)], of_cell(cells - 1) + of_cell(0)),
        Ends::Open([lower, upper]) => {
            (!lower).then(|| add(&[(0, 1.0)], 2.0 * of_cell(0)));
            (!upper).then(|| add(&[(last, 1.0)], 2.0 * of_cell(cells - 1)));
        }
    }
    norm
}

/// On equal cells the matrix is that of `Poisson`'s kernels, but for rounding.
#[test]
fn forms_of_equal_cells_are_those_of_poissons_equation() {
    use patchmg_device::patch::Ends as PatchEnds;
    for degree in 1..=8 {
        let line = line(degree, &Grading::Uniform, Ends::Open([false; 2]), 6);
        let form = matrix(&line.stiffness(1.0, f64::MANTISSA_DIGITS));
        let space = Space::discontinuous(Mesh::of_box(&[3, 3], &[1.0; 2], 1).unwrap(), degree).unwrap();
        let poisson = DiscontinuousForms::new(&space).unwrap();
        let n = degree + 1;
        for (first, ends) in [(0, PatchEnds::Lower), (2, PatchEnds::Neither), (4, PatchEnds::Upper)] {
            let expected = poisson.along(0).patch_stiffness(ends);
            let found = form.view((first * n, first * n), (2 * n, 2 * n));
            assert!((found - &expected).amax() <= 4e-15 * expected.amax(), "Q{degree} {ends:?}");
        }
        let expected = &poisson.boundary_load()[0];
        (0..2).for_each(|side| assert_close("boundary load", &line.boundary_load(side, 1.0), expected, 1e-14));
    }
}

/// Symmetric, positive definite unless constants are in the null space, in 2D and 3D.
#[test]
fn matrices_are_symmetric_and_positive() {
    for system in systems_by(Separable::discontinuous) {
        let matrix = dense(&system);
        let scale = matrix.amax();
        assert!((&matrix - matrix.transpose()).amax() < 1e-13 * scale);
        assert!(matrix.cholesky().is_some(), "{:?}", system.equation());
    }
    for sides in [[[N, N], [N, N], [D, D]], [[P, P], [N, N], [D, D]]] {
        let equation = equation(sides, [Grading::Geometric(9.0), Grading::BothEnds(2.0), Grading::Uniform], 0.0);
        let mesh = Mesh::of_box(&[2, 1], &[1.0, 0.5], 1).unwrap();
        let system = Separable::discontinuous(mesh, 2, equation).unwrap();
        let matrix = dense(&system);
        let values = matrix.clone().symmetric_eigenvalues();
        let mut sorted: Vec<f64> = values.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        assert!(system.has_null_space() && sorted[0].abs() < 1e-12 * matrix.amax() && sorted[1] > 1e-3, "{sorted:?}");
        let ones = vec![1.0; matrix.nrows()];
        let product = OnCpu::<f64>::new(&system).product(&ones);
        assert!(product.iter().all(|entry| entry.abs() < 1e-13 * matrix.amax()), "{product:?}");
    }
}

/// Load vectors, and the residuals of all methods, are those of the kernels of `Poisson`.
#[test]
fn residuals_are_those_of_poissons_equation() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for (dim, refine, degree) in [(2, 4, 1), (2, 3, 3), (3, 2, 2), (3, 2, 3)] {
        let mesh = Mesh::unit_cube(dim, refine).unwrap();
        let poisson = Poisson::discontinuous(mesh, degree).unwrap();
        let separable =
            Separable::discontinuous(mesh, degree, Equation::default()).unwrap().with_direct_nodes(DirectNodes::All(0));
        let load = random(poisson.space().dofs(), 17);
        for method in [Method::VCycle, Method::Gmres, Method::Cg, Method::Fmg] {
            let config = Config { method, ..Config::default() };
            let found = Solver::new(&cpu, &separable, &config).unwrap().solve(&load).unwrap();
            let expected = Solver::new(&cpu, &poisson, &config).unwrap().solve(&load).unwrap();
            let (found, expected) = (found.info.residual_history, expected.info.residual_history);
            assert_eq!(found.len(), expected.len(), "{dim}D Q{degree} {method}");
            for (found, expected) in found.iter().zip(&expected).filter(|(_, residual)| **residual > 1e-10) {
                assert!((found / expected - 1.0).abs() < 1e-5, "{dim}D Q{degree} {method}: {found} {expected}");
            }
        }
    }
}

/// Boundary values enter as in `Poisson`.
#[test]
fn loads_of_boundary_values_are_those_of_poissons_equation() {
    for (cells, lengths, degree) in [(&[2, 3][..], &[1.0, 1.5][..], 3), (&[1, 2, 1], &[1.0, 1.0, 0.5], 2)] {
        let mesh = Mesh::of_box(cells, lengths, 1).unwrap();
        let poisson = Poisson::discontinuous(mesh, degree).unwrap();
        let separable = Separable::discontinuous(mesh, degree, Equation::default()).unwrap();
        let g = |p: DVec3| (p.x + 2.0 * p.y).sin() - p.z;
        let mut problem = Problem::new(&separable, |_| 1.0);
        for (d, side) in (0..mesh.dim()).flat_map(|d| [(d, 0), (d, 1)]) {
            problem = problem.with_side(d, side, g);
        }
        let mut expected = crate::problem::load_vector(poisson.space(), &|_: DVec3| 1.0).unwrap();
        poisson.add_boundary_load(&g, &mut expected).unwrap();
        assert_close("load", &problem.load(&separable).unwrap(), &expected, 1e-13);
        let wrong = Problem::new(&separable, |_| 1.0).with_side(0, 1, |_| f64::NAN).load(&separable).unwrap_err();
        assert!(wrong.to_string().contains("boundary value is not finite: NaN at ["), "{wrong}");
    }
}

/// Periods of two cells and, on the coarsest level, of three, each a single patch; and longer ones.
#[test]
fn short_periods_are_solved() {
    let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
    for cells in 1..=3 {
        let mesh = Mesh::of_box(&[cells, 1], &[1.0, 1.0], 1).unwrap();
        let equation = equation([[P, P], [D, N], [D, D]], Default::default(), 0.5);
        let system = Separable::discontinuous(mesh, 3, equation).unwrap();
        let (matrix, x) = (dense(&system), random(system.layout().dofs(), 5));
        let b = &matrix * DVector::from_column_slice(&x);
        let config = Config { method: Method::Gmres, ..Config::default() };
        let solution = Solver::new(&cpu, &system, &config).unwrap().solve(b.as_slice()).unwrap();
        assert!(solution.info.converged && solution.info.iterations <= 5, "{:?}", solution.info);
        assert_close("solution", solution.u.values(), &x, 1e-7);
    }
}

/// Files and restarts have the nodes of all cells; a solve that begins with its solution ends at once.
#[test]
fn solutions_can_be_gone_on_from() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    let equation =
        equation([[P, P], [N, D], [D, D]], [Grading::Geometric(4.0), Grading::Uniform, Grading::Uniform], 0.0);
    let system = Separable::discontinuous(Mesh::unit_cube(2, 3).unwrap(), 2, equation).unwrap();
    let lengths = DVec3::ONE;
    let problem = Problem::of_field(&system, SineProduct { dim: 2, scale: 1.0, lengths })
        .with_side(1, 1, |p| (std::f64::consts::TAU * p.x).cos());
    let case = Case { system: system.clone(), problem, config: Config::default() };
    let (_, u) = case.solve(&cpu, &mut unobserved).unwrap();
    assert_eq!(system.vector_of(&u).unwrap(), u.values());
    assert_eq!(u.values().len(), 24 * 24);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.npz");
    u.write_npz(&path).unwrap();
    assert_eq!(Function::read_npz(system.space(), &path).unwrap().values(), u.values());
    assert!(u.write_vtu(&folder.path().join("u.vtu"), None, &Default::default()).is_ok());
    let other = Separable::discontinuous(Mesh::unit_cube(2, 2).unwrap(), 2, Equation::default()).unwrap();
    assert!(other.vector_of(&u).is_err() && other.mass_product(&u).is_err());
    // The mass of a cosine over a period is zero.
    let cosine = CosineProduct { dim: 2, scale: 1.0, lengths };
    let all = crate::problem::load_vector(system.space(), &cosine).unwrap();
    assert!(all.iter().sum::<f64>().abs() < 1e-14);
}

#[test]
fn bad_degrees_are_refused() {
    let message = |degree| {
        Separable::discontinuous(Mesh::unit_cube(2, 2).unwrap(), degree, Equation::default()).unwrap_err().to_string()
    };
    for degree in [0, 9, 10] {
        assert_eq!(message(degree), format!("degree is {degree}, but must be 1 to 8 with discontinuous elements"));
    }
    let one_sided = Equation { sides: [[P, D], [D, D], [D, D]], ..Equation::default() };
    assert!(Separable::discontinuous(Mesh::unit_cube(2, 2).unwrap(), 2, one_sided).is_err());
}
