//! Against dense matrices that are integrated cell by cell, and against rules that hold whatever the box.

use super::discontinuous_tests::add_faces;
use super::level::{Kernels, SeparableLevel};
use super::line::{Ends, Line};
use super::*;
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Scalar};
use crate::fe::{Quadrature, cancel_in_any_order};
use crate::level::SharedLevel;
use crate::multigrid::Chebyshev;
use crate::operator::LinearOperator;
use crate::system::{Poisson, Runs};
use crate::testing::{Counting, assert_close, random};
use nalgebra::{DMatrix, DVector};
use std::collections::BTreeSet;

const N: Condition = Condition::Neumann;
const D: Condition = Condition::Dirichlet;
const P: Condition = Condition::Periodic;

pub(super) fn equation(sides: [[Condition; 2]; 3], grading: [Grading; 3], reaction: f64) -> Equation {
    Equation { sides, diffusion: [1.5, 0.25, 4.0], reaction, grading }
}

pub(super) fn breakpoints(points: &[f64]) -> Grading {
    Grading::Breakpoints(points.to_vec())
}

pub(super) type New = fn(Mesh, usize, Equation) -> Result<Separable>;

/// By continuous elements and by discontinuous ones.
fn systems() -> Vec<Separable> {
    let mixed = [Separable::new as New, Separable::discontinuous].into_iter().flat_map(systems_by);
    mixed.chain(systems_of_equal_cells()).collect()
}

/// Mixed sides, with and without a reaction, on cells that are equal in each direction; with coarse levels of five cells in one.
fn systems_of_equal_cells() -> Vec<Separable> {
    let system = |cells: &[usize], lengths: &[f64], degree, sides, reaction| {
        let equation = equation(sides, [Grading::Uniform, Grading::Uniform, Grading::Uniform], reaction);
        Separable::new(Mesh::of_box(cells, lengths, 1).unwrap(), degree, equation).unwrap()
    };
    vec![
        system(&[5, 2], &[1.0, 2.0], 2, [[D, N], [N, D], [D, D]], 0.0),
        system(&[2, 3], &[1.0, 0.5], 3, [[P, P], [N, N], [D, D]], 0.7),
        system(&[2, 2], &[1.0, 1.0], 1, [[N, N], [D, D], [D, D]], 2.0),
        system(&[3, 2], &[1.0, 1.0], 4, [[D, D], [P, P], [D, D]], 0.0),
        system(&[5, 2], &[1.0, 1.0], 2, [[P, P], [P, P], [D, D]], 5.0),
        system(&[2, 2, 2], &[1.0, 1.0, 0.5], 2, [[N, D], [N, N], [P, P]], 0.0),
        system(&[2, 2, 3], &[1.0, 1.0, 1.5], 1, [[D, D], [P, P], [D, N]], 3.0),
        system(&[2, 2, 2], &[1.0, 1.0, 1.0], 3, [[D, D], [D, D], [D, D]], 0.5),
    ]
}

/// Mixed sides and cells, in 2D and 3D; at least five cells in a direction, so that patches do not cover it.
pub(super) fn systems_by(new: New) -> Vec<Separable> {
    let system = |cells: &[usize], lengths: &[f64], degree, equation| {
        new(Mesh::of_box(cells, lengths, 1).unwrap(), degree, equation).unwrap().with_direct_nodes(DirectNodes::All(0))
    };
    let (uniform, graded) = (Grading::Uniform, Grading::Geometric(5.0));
    let of_two =
        |sides, along: [Grading; 2], s| equation(sides, [along[0].clone(), along[1].clone(), uniform.clone()], s);
    let points = breakpoints(&[0.0, 0.1, 0.5, 1.0]);
    vec![
        system(&[3, 2], &[1.0, 2.0], 2, of_two([[D, N], [N, D], [D, D]], [points.clone(), graded.clone()], 0.0)),
        system(
            &[2, 3],
            &[1.0, 1.0],
            3,
            of_two([[P, P], [N, N], [D, D]], [graded.clone(), Grading::BothEnds(4.0)], 0.7),
        ),
        system(&[3, 3], &[1.0, 2.0], 1, of_two([[P, P], [D, D], [D, D]], [points, uniform.clone()], 0.0)),
        system(&[1, 3], &[0.5, 1.0], 2, of_two([[N, N], [P, P], [D, D]], [uniform.clone(), uniform.clone()], 3.0)),
        system(
            &[2, 1, 2],
            &[1.0, 1.0, 0.5],
            2,
            equation([[N, D], [N, N], [P, P]], [graded.clone(), uniform.clone(), uniform.clone()], 0.0),
        ),
        system(
            &[1, 2, 2],
            &[1.0, 1.0, 2.0],
            1,
            equation([[D, D], [P, P], [D, N]], [uniform.clone(), uniform, graded], 2.0),
        ),
    ]
}

/// A matrix on the unknowns, in the order of dofs, integrated in each cell and on each face of discontinuous elements; with a quadrature
/// and a numbering of its own.
pub(super) fn dense(system: &Separable) -> DMatrix<f64> {
    let (dim, degree, equation) = (system.dim(), system.space().degree(), system.equation());
    let cells = &system.mesh().cells_along()[..dim];
    let nodes: Vec<_> = system.unknowns().collect();
    let is_discontinuous = system.family() == Family::Discontinuous;
    let stride = degree + usize::from(is_discontinuous);
    let place = |mut node: [usize; 3]| -> Option<usize> {
        for d in 0..if is_discontinuous { 0 } else { dim } {
            let last = cells[d] * degree;
            if equation.sides[d][0] == P && node[d] == last {
                node[d] = 0;
            }
            let is_given = |side: usize| equation.sides[d][side] == D;
            if (node[d] == 0 && is_given(0)) || (node[d] == last && is_given(1)) {
                return None;
            }
        }
        Some(nodes.iter().position(|&other| other == node).unwrap())
    };
    let element = system.space().axes()[0].element();
    let rule = Quadrature::gauss(degree + 1).unwrap();
    let mut matrix = DMatrix::zeros(nodes.len(), nodes.len());
    let digits = |index: usize, sizes: [usize; 3]| {
        [index % sizes[0], index / sizes[0] % sizes[1], index / (sizes[0] * sizes[1])]
    };
    let sizes = |n: usize| [n, n, if dim == 3 { n } else { 1 }];
    for cell in system.mesh().cell_indices() {
        let widths: Vec<_> = (0..dim).map(|d| system.space().axes()[d].width(cell[d])).collect();
        for q in (0..(degree + 1).pow(dim as u32)).map(|q| digits(q, sizes(degree + 1))) {
            let weight: f64 = (0..dim).map(|d| rule.weights[q[d]] * widths[d]).product();
            let tables: Vec<_> =
                (0..dim).map(|d| [element.values(rule.points[q[d]]), element.derivatives(rule.points[q[d]])]).collect();
            let functions: Vec<_> = (0..(degree + 1).pow(dim as u32))
                .map(|j| digits(j, sizes(degree + 1)))
                .map(|local| {
                    let along = |slope: Option<usize>| -> f64 {
                        (0..dim)
                            .map(|d| {
                                if slope == Some(d) {
                                    tables[d][1][local[d]] / widths[d]
                                } else {
                                    tables[d][0][local[d]]
                                }
                            })
                            .product()
                    };
                    let node = [0, 1, 2].map(|d| if d < dim { cell[d] * stride + local[d] } else { 0 });
                    (place(node), along(None), (0..dim).map(|d| along(Some(d))).collect::<Vec<_>>())
                })
                .collect();
            for (row, value, slopes) in &functions {
                for (column, other, other_slopes) in &functions {
                    if let (Some(row), Some(column)) = (row, column) {
                        let form: f64 = (0..dim).map(|d| equation.diffusion[d] * slopes[d] * other_slopes[d]).sum();
                        matrix[(*row, *column)] += weight * (form + equation.reaction * value * other);
                    }
                }
            }
        }
    }
    if is_discontinuous {
        add_faces(system, &mut matrix);
    }
    matrix
}

pub(super) struct OnCpu<T: Scalar> {
    pub cpu: Arc<Cpu>,
    pub system: Separable,
    pub level: SharedLevel<Cpu, T>,
}

impl<T: Scalar> OnCpu<T> {
    pub fn new(system: &Separable) -> Self {
        let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
        Self { level: cpu.level(system).unwrap(), cpu, system: system.clone() }
    }

    pub fn vector(&self, dofs: &[f64]) -> <Cpu as Backend>::Vector<T> {
        self.level.vector_of(&mut |dof| dofs[dof]).unwrap()
    }

    /// In the order of dofs; entries that are no unknowns must be zero.
    pub fn dofs(&self, vector: &[T]) -> Vec<f64> {
        let mut copy = vector.to_vec();
        let taken = self
            .system
            .unknowns()
            .map(|node| std::mem::replace(&mut copy[self.system.space().offset(node)], T::ZERO).to_f64());
        let dofs = taken.collect();
        assert!(copy.iter().all(|&entry| entry.to_f64() == 0.0), "entries that are no unknowns");
        dofs
    }

    pub fn product(&self, dofs: &[f64]) -> Vec<f64> {
        let mut y = self.level.vector().unwrap();
        self.level.apply(&self.vector(dofs), &mut y).unwrap();
        self.dofs(&y)
    }
}

fn check_operator<T: Scalar>(tolerance: f64) {
    for system in systems() {
        let (on_cpu, matrix) = (OnCpu::<T>::new(&system), dense(&system));
        let n = matrix.nrows();
        assert_eq!(system.layout().dofs(), n);
        let x = random(n, 3);
        let expected = &matrix * DVector::from_column_slice(&x);
        // Nothing is left of a product before.
        on_cpu.product(&random(n, 4));
        assert_close("product", &on_cpu.product(&x), expected.as_slice(), tolerance);
        let (b, mut r) = (random(n, 7), on_cpu.level.vector().unwrap());
        on_cpu.level.residual(&on_cpu.vector(&b), &on_cpu.vector(&x), &mut r).unwrap();
        let expected: Vec<_> = b.iter().zip(&expected).map(|(b, product)| b - product).collect();
        assert_close("residual", &on_cpu.dofs(&r), &expected, tolerance);
        let inverse = on_cpu.dofs(&on_cpu.level.inverse_diagonal().unwrap());
        let expected: Vec<_> = (0..n).map(|i| 1.0 / matrix[(i, i)]).collect();
        assert_close("inverse diagonal", &inverse, &expected, tolerance);
    }
}

#[test]
fn products_are_those_of_a_matrix_that_is_integrated() {
    check_operator::<f64>(1e-12);
    check_operator::<f32>(2e-6);
}

/// Of degrees with short rows and with long ones, on levels with even and odd numbers of cells.
fn check_bounds_of_eigenvalues<T: Scalar>(system: &Separable) {
    let matrix = dense(system);
    let roots = DVector::from_iterator(matrix.nrows(), matrix.diagonal().iter().map(|entry| 1.0 / entry.sqrt()));
    let scaled = DMatrix::from_diagonal(&roots) * &matrix * DMatrix::from_diagonal(&roots);
    let largest = scaled.symmetric_eigenvalues().max();
    let [_, bound] = Chebyshev::new(&OnCpu::<T>::new(system).level, 5, 15.0).unwrap().interval();
    let equation = (system.family(), system.dim(), system.space().degree(), system.equation());
    assert!(bound > largest && bound < 1.2001 * largest, "{equation:?}: {bound}, not {largest}");
}

/// Few cells on which the matrix has so few eigenvalues that ten steps of Lanczos' method find all, 0 among them, or nearly 0.
#[test]
fn eigenvalues_are_bounded_where_constants_are_in_the_null_space() {
    let (continuous, discontinuous) = (Separable::new as New, Separable::discontinuous as New);
    for (new, dim, degree) in [(continuous, 2, 1), (continuous, 2, 3), (continuous, 3, 1), (discontinuous, 2, 1)] {
        for sides in [[[P, P]; 3], [[N, N]; 3], [[P, P], [N, N], [P, P]]] {
            for reaction in [0.0, 1e-15, 1e-12, 1e-6] {
                let equation = Equation { sides, reaction, ..Equation::default() };
                let system = new(Mesh::unit_cube(dim, 2).unwrap(), degree, equation).unwrap();
                check_bounds_of_eigenvalues::<f64>(&system);
                check_bounds_of_eigenvalues::<f32>(&system);
            }
        }
    }
}

fn check_kernels<T: Scalar>(tolerance: f64) {
    let [both, towards_start] = [Grading::BothEnds(4.0), Grading::Geometric(5.0)];
    let equations = [
        equation([[D, N], [N, N], [P, P]], [towards_start.clone(), both.clone(), Grading::Uniform], 0.0),
        equation([[P, P], [D, D], [N, D]], [both, towards_start, Grading::Uniform], 0.7),
    ];
    let cells = [(&[5, 3][..], 1..=10), (&[2, 3, 2], 1..=8)];
    for ((cells, degrees), equation) in cells.iter().flat_map(|cells| equations.iter().map(move |e| (cells, e))) {
        for degree in degrees.clone() {
            let mesh = Mesh::of_box(cells, &[1.0, 2.0, 0.5][..cells.len()], 1).unwrap();
            let finest = Separable::new(mesh, degree, equation.clone()).unwrap().with_direct_nodes(DirectNodes::All(0));
            for system in crate::multigrid::hierarchy(&finest).unwrap() {
                let on_cpu = OnCpu::<T>::new(&system);
                let axes = SeparableLevel::new(&on_cpu.cpu, &system, Kernels::NONE).unwrap();
                let n = system.layout().dofs();
                let [b, x] = [random(n, 1), random(n, 2)].map(|dofs| on_cpu.vector(&dofs));
                let what = format!("Q{degree}, {:?}, reaction {}", system.mesh().cells_along(), equation.reaction);
                let [mut found, mut expected] = [on_cpu.level.vector().unwrap(), on_cpu.level.vector().unwrap()];
                on_cpu.level.apply(&x, &mut found).unwrap();
                axes.apply(&x, &mut expected).unwrap();
                assert_close(&what, &on_cpu.dofs(&found), &on_cpu.dofs(&expected), tolerance);
                on_cpu.level.residual(&b, &x, &mut found).unwrap();
                axes.residual(&b, &x, &mut expected).unwrap();
                assert_close(&what, &on_cpu.dofs(&found), &on_cpu.dofs(&expected), tolerance);
            }
        }
    }
}

#[test]
fn kernels_of_the_operator_are_its_matrices_along_axes_for_all_degrees() {
    check_kernels::<f64>(1e-13);
    check_kernels::<f32>(1e-5);
}

/// The unknowns of the patches of a color, by their definition. A patch has those of the cells around a vertex; with continuous elements only those
/// inside the patch or on the boundary of the domain. Patches that are `left_out` in all directions are omitted.
pub(super) fn patches(
    system: &Separable,
    color: usize,
    left_out: Option<&[Vec<bool>; 3]>,
) -> BTreeSet<BTreeSet<usize>> {
    let (dim, degree) = (system.dim(), system.space().degree());
    let nodes: Vec<_> = system.unknowns().collect();
    let along = |d: usize| -> Vec<(bool, BTreeSet<usize>)> {
        let (cells, sides) = (system.mesh().cells_along()[d], system.equation().sides[d]);
        let is_discontinuous = system.family() == Family::Discontinuous;
        let (last, bit) = (cells * degree, color >> d & 1);
        let all: BTreeSet<usize> = nodes.iter().map(|node| node[d]).collect();
        if cells <= 3 {
            return if bit == 0 { vec![(false, all)] } else { Vec::new() };
        }
        let first = usize::from(sides[0] == D);
        let vertices = first..=if sides[1] == N { cells } else { cells - 1 };
        let is_of = |vertex: usize, node: usize| {
            if is_discontinuous {
                let cell = node / (degree + 1);
                return cell == vertex || cell + 1 == vertex || (vertex == 0 && sides[0] == P && cell + 1 == cells);
            }
            let distance = (vertex * degree).abs_diff(node);
            let distance = if sides[0] == P { distance.min(last - distance) } else { distance };
            distance < degree
        };
        let of_color = vertices.filter(|vertex| (vertex - first) % 2 == bit);
        let nodes_of = |vertex: usize| all.iter().copied().filter(|&node| is_of(vertex, node)).collect();
        of_color
            .map(|vertex| (left_out.is_some_and(|left_out| left_out[d][vertex - first]), nodes_of(vertex)))
            .collect()
    };
    let mut patches = vec![(left_out.is_some(), [0, 1, 2].map(|_| BTreeSet::from([0])))];
    for d in 0..dim {
        let along = along(d);
        let with = |(is_left_out, patch): (bool, [BTreeSet<usize>; 3])| {
            along
                .iter()
                .map(move |(is_left_out_along, nodes)| {
                    let mut patch = patch.clone();
                    patch[d] = nodes.clone();
                    (is_left_out && *is_left_out_along, patch)
                })
                .collect::<Vec<_>>()
        };
        patches = patches.into_iter().flat_map(with).collect();
    }
    let dofs = |patch: [BTreeSet<usize>; 3]| -> BTreeSet<usize> {
        let is_in = |node: &[usize; 3]| (0..3).all(|d| patch[d].contains(&node[d]));
        nodes.iter().enumerate().filter(|(_, node)| is_in(node)).map(|(dof, _)| dof).collect()
    };
    patches.into_iter().filter(|(is_left_out, _)| !is_left_out).map(|(_, patch)| dofs(patch)).collect()
}

/// Checks each color; returns the unknowns that are on the patches.
pub(super) fn check_colors<T: Scalar>(
    system: &Separable,
    left_out: Option<&[Vec<bool>; 3]>,
    tolerance: f64,
) -> BTreeSet<usize> {
    let (on_cpu, matrix) = (OnCpu::<T>::new(system), dense(system));
    let n = matrix.nrows();
    let of_corrections = left_out.map(|_| on_cpu.level.patches_of_corrections().unwrap());
    let level = of_corrections.as_deref().unwrap_or(on_cpu.level.patches().unwrap());
    let mut covered = BTreeSet::new();
    for &color in level.colors() {
        let (x, b) = (random(n, 5 + color as u64), random(n, 50 + color as u64));
        let mut expected = DVector::from_column_slice(&x);
        let residual = DVector::from_column_slice(&b) - &matrix * &expected;
        for patch in patches(system, color, left_out) {
            let dofs: Vec<_> = patch.into_iter().collect();
            let local = DMatrix::from_fn(dofs.len(), dofs.len(), |i, j| matrix[(dofs[i], dofs[j])]);
            let right = DVector::from_iterator(dofs.len(), dofs.iter().map(|&dof| residual[dof]));
            let solution = local.lu().solve(&right).unwrap();
            dofs.iter().zip(solution.iter()).for_each(|(&dof, value)| expected[dof] += value);
            covered.extend(dofs);
        }
        let mut found = on_cpu.vector(&x);
        level.smooth_color(color, &on_cpu.vector(&b), &mut found).unwrap();
        let what = format!("{:?}, color {color}, without {left_out:?}", system.equation());
        assert_close(&what, &on_cpu.dofs(&found), expected.as_slice(), tolerance);
    }
    assert!(level.smooth_color(99, &on_cpu.vector(&random(n, 1)), &mut on_cpu.vector(&random(n, 2))).is_err());
    covered
}

fn check_smoother<T: Scalar>(tolerance: f64) {
    for system in systems() {
        let covered = check_colors::<T>(&system, None, tolerance);
        assert_eq!(covered.len(), system.layout().dofs(), "every unknown is in a patch");
    }
}

#[test]
fn colors_solve_on_their_patches() {
    check_smoother::<f64>(1e-11);
    check_smoother::<f32>(2e-4);
}

/// Spaces are nested, so `Pᵀ A P` is the coarse matrix, but for discontinuous elements, whose penalty depends on the mesh.
#[test]
fn coarse_matrices_are_the_galerkin_products() {
    let mut levels = 0;
    for finest in systems() {
        let mut fine = finest;
        while let Some(coarse) = fine.coarser().transpose().unwrap() {
            let (on_fine, on_coarse) = (OnCpu::<f64>::new(&fine), OnCpu::<f64>::new(&coarse));
            let (n, m) = (fine.layout().dofs(), coarse.layout().dofs());
            assert!(m < n);
            let x = random(m, 11);
            let [mut up, mut product] = [0; 2].map(|_| on_fine.level.vector().unwrap());
            on_fine.level.prolongate_add(&on_coarse.vector(&x), &mut up).unwrap();
            on_fine.level.apply(&up, &mut product).unwrap();
            let mut down = on_coarse.level.vector().unwrap();
            on_fine.level.restrict_load(&product, &up, &mut down).unwrap();
            if fine.family() == Family::Continuous {
                assert_close("coarse product", &on_coarse.dofs(&down), &on_coarse.product(&x), 1e-12);
            }
            // Whatever the vector, restriction is the transpose.
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (above, below) = (dot(&on_fine.dofs(&up), &on_fine.dofs(&product)), dot(&x, &on_coarse.dofs(&down)));
            assert!((above - below).abs() < 1e-11 * above.abs(), "{above} {below}");
            // Of the residual, which is as large.
            let (b, mut other) = (on_fine.vector(&random(n, 5)), on_coarse.level.vector().unwrap());
            on_fine.level.restrict_load(&b, &up, &mut other).unwrap();
            on_fine.cpu.axpby(-1.0, &down, 1.0, &mut other).unwrap();
            on_fine.level.restrict_residual(&b, &up, &mut down).unwrap();
            assert_close("restricted residual", &on_coarse.dofs(&down), &on_coarse.dofs(&other), 1e-12);
            fine = coarse;
            levels += 1;
        }
        // Where it ends, the solution is exact.
        let on_cpu = OnCpu::<f64>::new(&fine);
        let x = random(fine.layout().dofs(), 23);
        let mut found = on_cpu.level.vector().unwrap();
        on_cpu.level.solve(&on_cpu.vector(&on_cpu.product(&x)), &mut found).unwrap();
        if !fine.has_null_space() {
            assert_close("coarsest solution", &on_cpu.dofs(&found), &x, 1e-11);
        }
    }
    assert!(levels >= 8, "{levels}");
}

/// A linear function of a coarse space is one of the fine space.
#[test]
fn prolongation_keeps_polynomials() {
    for finest in systems() {
        let mut fine = finest;
        while let (Some(kept), Some(coarse)) = (fine.kept_breakpoints(), fine.coarser().transpose().unwrap()) {
            for (d, kept) in kept.iter().enumerate() {
                let [mut line, mut other] = [&fine, &coarse].map(|system| system.lines()[d].clone());
                [&mut line, &mut other].into_iter().for_each(|line| line.ends = Ends::Open([true; 2]));
                for (node, row) in line.prolongation(&other, kept).into_iter().enumerate().take(line.nodes()) {
                    let power = |axis: &Axis, node| axis.coordinate(node).powi(axis.degree() as i32);
                    let value: f64 = row.into_iter().map(|(column, factor)| factor * power(&other.axis, column)).sum();
                    assert!((value - power(&line.axis, node)).abs() < 1e-14, "{d}, node {node}");
                }
            }
            fine = coarse;
        }
    }
}

#[test]
fn rows_of_stiffness_matrices_sum_to_zero_exactly() {
    let element = |degree| Arc::new(crate::fe::Element::new(degree).unwrap());
    let families = [Family::Continuous, Family::Discontinuous];
    for (family, degree) in families.into_iter().flat_map(|family| [1, 2, 3, 7, 10].map(|degree| (family, degree))) {
        for grading in [Grading::Geometric(1e3), Grading::BothEnds(1e6), breakpoints(&[0.0, 1e-6, 0.7, 0.70001, 1.0])] {
            let points = grading.breakpoints(8, 1.0).unwrap().unwrap();
            let axis = Axis::graded(family, &element(degree), points).with_ends();
            for ends in [Ends::Open([true; 2]), Ends::Periodic] {
                let line = Line::new(axis.clone(), ends);
                for digits in [f32::MANTISSA_DIGITS, f64::MANTISSA_DIGITS] {
                    for row in line.stiffness(0.37, digits) {
                        assert!(
                            cancel_in_any_order(row.into_iter().map(|(_, entry)| entry), digits),
                            "{family:?} Q{degree}, {digits}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn sizes_of_patches_are_known_before() {
    for ends in
        [[false, false], [true, false], [false, true], [true, true]].map(Ends::Open).into_iter().chain([Ends::Periodic])
    {
        for (degree, cells) in [(1, 4), (3, 5), (2, 6), (4, 7), (2, 3), (3, 2), (1, 2)] {
            let element = Arc::new(crate::fe::Element::new(degree).unwrap());
            for family in [Family::Continuous, Family::Discontinuous] {
                let line = Line::new(Axis::new(family, &element, cells, 1.0).with_ends(), ends);
                let of_color = |patches: &Vec<Vec<usize>>| {
                    [patches.iter().map(Vec::len).sum(), patches.iter().map(Vec::len).max().unwrap_or(0)]
                };
                let expected: Vec<[usize; 2]> = line.patches().iter().map(of_color).collect();
                assert_eq!(line.patch_sizes(), expected, "{family:?} {ends:?}, Q{degree}, {cells} cells");
            }
        }
    }
}

#[test]
fn bad_equations_name_what_is_allowed() {
    let message =
        |equation: Equation| Separable::new(Mesh::unit_cube(2, 2).unwrap(), 2, equation).unwrap_err().to_string();
    let base = Equation::default;
    let of_sides = |sides| message(Equation { sides, ..base() });
    assert_eq!(of_sides([[P, D], [D, D], [D, D]]), "side is x- periodic, but must be periodic together with x+");
    assert_eq!(of_sides([[D, D], [N, P], [D, D]]), "side is y+ periodic, but must be periodic together with y-");
    for c in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let expected = format!("diffusion is {c:?}, but must be 1e-12 to 1e12");
        assert_eq!(message(Equation { diffusion: [1.0, c, 1.0], ..base() }), expected);
    }
    for s in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(message(Equation { reaction: s, ..base() }), format!("reaction is {s:?}, but must be 0 to 1e12"));
    }
    let huge = Separable::new(Mesh::unit_cube(3, 16).unwrap(), 8, base()).unwrap_err().to_string();
    assert!(huge.starts_with("cells is 65536 x 65536 x 65536, but must be such that a vector has at most"), "{huge}");
    // What is said of z counts for nothing.
    assert!(
        Separable::new(Mesh::unit_cube(2, 2).unwrap(), 2, Equation { diffusion: [1.0, 1.0, 0.0], ..base() }).is_ok()
    );
    assert!(Separable::new(Mesh::unit_cube(3, 2).unwrap(), 9, base()).unwrap_err().to_string().contains("degree is 9"));
}

/// With zero Dirichlet sides and equal cells it is Poisson's equation.
#[test]
fn the_plain_box_is_that_of_poissons_equation() {
    let cpu = Arc::new(Cpu::new(Some(2)).unwrap());
    for (cells, lengths, degree) in [(&[2, 3][..], &[1.0, 1.5][..], 3), (&[1, 2, 1], &[1.0, 1.0, 0.5], 2)] {
        let mesh = Mesh::of_box(cells, lengths, 1).unwrap();
        for new in [Separable::new as New, Separable::discontinuous] {
            let separable = new(mesh, degree, Equation::default()).unwrap();
            let poisson = Poisson::new(separable.family(), mesh, degree).unwrap();
            let on_cpu = OnCpu::<f64>::new(&separable);
            let (level, x) =
                (Runs::<Poisson>::level::<f64>(&cpu, &poisson).unwrap(), random(poisson.space().dofs(), 4));
            let mut y = level.vector().unwrap();
            level.apply(&level.vector_of(&mut |dof| x[dof]).unwrap(), &mut y).unwrap();
            assert_close("product", &on_cpu.product(&x), &poisson.space().to_dofs(&y).unwrap(), 1e-13);
            let f = |point: glam::DVec3| point.x.exp() + point.y * point.z;
            let expected = crate::problem::load_vector(poisson.space(), &f).unwrap();
            let found = crate::system::ModelProblem::load(&Problem::new(&separable, f), &separable).unwrap();
            assert_close("load", &on_cpu.dofs(&found), &poisson.space().to_dofs(&expected).unwrap(), 1e-13);
        }
    }
}

/// `A` times a function with given values at Dirichlet sides is the same function's load, whichever of its nodes are unknowns.
#[test]
fn mass_products_are_integrals() {
    for system in systems() {
        let space = system.space();
        // Constant where the box may be periodic.
        let nodes: usize = space.stored_nodes().iter().product();
        let values = (0..space.storage()).map(|offset| if offset < nodes { 1.0 } else { 0.0 }).collect();
        let one = Function::new(space, values).unwrap();
        let found = system.mass_product(&one).unwrap();
        let mut expected = crate::problem::load_vector(space, &crate::problem::Constant(1.0)).unwrap();
        host::fold_periods(&system, &mut expected);
        host::keep_unknowns(&system, &mut expected);
        assert_close("mass times one", &found, &expected, 1e-13);
        let sum: f64 = system.mean_weights().iter().map(|weights| weights.iter().sum::<f64>()).product();
        let has_all = system.has_constants() || system.family() == Family::Discontinuous;
        assert!(if has_all { (sum - 1.0).abs() < 1e-13 } else { sum < 1.0 });
    }
}

fn check_bytes<T: Scalar>(system: &Separable) {
    let counting = Arc::new(Counting::new());
    SeparableLevel::<_, T>::new(&counting, system, Kernels::NONE).unwrap();
    let said = super::level::bytes::<Counting, T>(system) + super::patches::bytes::<T>(system);
    let allocated = counting.bytes();
    let name = format!(
        "{:?} cells, Q{}: said {said}, allocated {allocated}",
        system.mesh().cells_along(),
        system.space().degree()
    );
    // 1D matrices, of which some are smaller than said, are all but nothing of a large level.
    let parts = if system.cells() > 1000 { 10 } else { 4 };
    assert!(allocated <= said && said - allocated <= said / parts, "{name}");
}

#[test]
fn a_level_allocates_what_was_said() {
    let large = |equation: Equation| {
        let sizes = [(2, 5, 2), (2, 3, 6), (2, 4, 5), (3, 3, 3)];
        [Separable::new as New, Separable::discontinuous].into_iter().flat_map(move |new| {
            let equation = equation.clone();
            sizes.map(|(dim, refine, degree)| {
                new(Mesh::unit_cube(dim, refine).unwrap(), degree, equation.clone()).unwrap()
            })
        })
    };
    let graded = Grading::Geometric(1e3);
    let equations = [
        Equation::default(),
        Equation::with_all_sides(P),
        equation([[N, N], [P, P], [D, N]], [graded, Grading::Uniform, Grading::Uniform], 1.0),
    ];
    for finest in equations.into_iter().flat_map(large) {
        for nodes in [0, 200] {
            let finest = finest.clone().with_direct_nodes(DirectNodes::All(nodes));
            for system in crate::multigrid::hierarchy(&finest).unwrap().iter().filter(|system| system.cells() > 100) {
                check_bytes::<f64>(system);
                check_bytes::<f32>(system);
            }
        }
    }
}

/// The residual of a solution, relative to the right-hand side.
fn check_solution<T: Scalar>(system: &Separable, tolerance: f64) {
    assert!(system.is_solved_directly() && system.coarser().is_none());
    let on_cpu = OnCpu::<T>::new(system);
    let mut values = random(system.layout().dofs(), 11);
    if system.drops_constants() {
        let sum: f64 = values.iter().sum();
        let mut weights = Vec::new();
        system.for_each_weight(|_, weight| weights.push(weight));
        values.iter_mut().zip(weights).for_each(|(value, weight)| *value -= sum * weight);
    }
    let b = on_cpu.vector(&values);
    // Whatever was there.
    let mut x = on_cpu.vector(&random(values.len(), 12));
    on_cpu.level.solve(&b, &mut x).unwrap();
    let mut r = on_cpu.level.vector().unwrap();
    on_cpu.level.residual(&b, &x, &mut r).unwrap();
    let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let found = norm(&on_cpu.dofs(&r)) / norm(&values);
    assert!(found < tolerance, "{:?}, {:?}: {found:e}", system.mesh().cells_along(), system.equation());
}

#[test]
fn direct_solutions_are_exact() {
    for system in systems().into_iter().filter(|system| !system.lines().iter().any(Line::is_short)) {
        let system = system.with_direct_nodes(DirectNodes::All(100));
        check_solution::<f64>(&system, 1e-10);
        check_solution::<f32>(&system, 1e-2);
    }
}

/// With so many nodes that matrices are multiplied as dense ones.
#[test]
fn direct_solutions_of_many_nodes_are_exact() {
    let graded = [Grading::Geometric(30.0), Grading::BothEnds(10.0), Grading::Uniform];
    let gradings = [graded, [Grading::Uniform, Grading::Uniform, Grading::Uniform]];
    for (new, grading) in [Separable::new as New, Separable::discontinuous].into_iter().zip(gradings) {
        for sides in [[[D, N], [D, D], [D, D]], [[P, P], [N, N], [D, D]]] {
            let equation = equation(sides, grading.clone(), 0.0);
            let system =
                new(Mesh::unit_cube(2, 5).unwrap(), 3, equation).unwrap().with_direct_nodes(DirectNodes::All(128));
            check_solution::<f64>(&system, 1e-8);
        }
    }
}

#[test]
fn graded_meshes_of_few_nodes_are_solved_directly() {
    let of = |ratio: f64, cells: usize| {
        let equation = Equation {
            grading: [Grading::Geometric(ratio), Grading::Uniform, Grading::Uniform],
            ..Equation::default()
        };
        Separable::new(Mesh::of_box(&[cells / 2; 2], &[1.0; 2], 1).unwrap(), 4, equation).unwrap()
    };
    assert!(of(1e3, 64).is_solved_directly() && !of(1e3, 66).is_solved_directly(), "257 and 265 nodes");
    let limited = |nodes| of(1e3, 126).with_direct_nodes(DirectNodes::All(nodes)).is_solved_directly();
    assert!(limited(505) && !limited(504));
    let [coarse, fine] = [of(1e3, 64), of(1e3, 128)].map(|system| crate::multigrid::hierarchy(&system).unwrap());
    assert_eq!(coarse.len(), 1);
    assert!(fine.len() > 1 && fine[0].is_solved_directly() && !fine[1].is_solved_directly());
    // Rounding of the largest eigenvalues would be as large as the smallest ones.
    assert!(!of(1e6, 64).is_solved_directly());
    assert_eq!(of(1e3, 64).direct_nodes(), DirectNodes::All(257));
}

/// Coarse ones by default, the finest if that is asked for.
#[test]
fn equal_cells_are_solved_directly_on_coarse_meshes() {
    let nodes = |system: &Separable| system.lines()[0].nodes();
    for (dim, refine, degree, coarsest) in [(2, 7, 1, 65), (2, 8, 1, 129), (2, 6, 3, 97), (3, 5, 3, 49)] {
        let finest = Separable::new(Mesh::unit_cube(dim, refine).unwrap(), degree, Equation::default()).unwrap();
        let found = |direct| nodes(&crate::multigrid::hierarchy(&finest.clone().with_direct_nodes(direct)).unwrap()[0]);
        assert_eq!(finest.direct_nodes(), DirectNodes::Coarse([129, 193][dim - 2]));
        assert!(!finest.is_solved_directly());
        assert_eq!(found(finest.direct_nodes()), coarsest);
        assert_eq!(found(DirectNodes::All(0)), 2 * degree + 1);
        assert_eq!(found(DirectNodes::All(nodes(&finest))), nodes(&finest));
        assert_eq!(found(DirectNodes::Coarse(nodes(&finest))), nodes(&finest).div_ceil(2));
    }
}
