//! Errors against a known solution that is a sum of products of functions of one coordinate each.
//!
//! With the interpolant `p` of `u` at the unknowns, `u_h - u = e + d`, where `e = u_h - p` is in the space, and `d = p - u` is a sum of
//! products: for each product of `u` it is `sum_m u_0 .. u_{m-1} (p_m - u_m) p_{m+1} ..`. So
//! `∫ (u_h - u)² = eᵀ M e + 2 eᵀ g + c` with the mass matrix `M`, `g_i = ∫ d φ_i` and `c = ∫ d²`, and the same with gradients and
//! the stiffness matrix: sums over the nodes, and one-dimensional integrals. Differences of solutions are taken before anything
//! is squared, so that nothing large cancels. Integrals are by the rule of [`error_norms`](super::error_norms).

mod host;
mod machine;

use super::fields::Factors;
use super::sum_factorization::{Bases, Basis, Table};
use crate::backend::{AxisMatrix, OuterProducts};
use crate::error::Result;
use crate::space::{Axis, Space};
pub(super) use host::norms_on_host;
pub(crate) use machine::{VECTORS, product_error_norms};
use nalgebra::DMatrix;

/// Values and derivatives of a function of one coordinate in the quadrature points of a row of cells.
struct Line([Vec<f64>; 2]);

/// A factor `u_d` of a product.
struct Factor {
    /// At the nodes, zero at those that are no unknowns.
    nodal: Vec<f64>,
    exact: Line,
    interpolant: Line,
    /// The interpolant less `u_d`.
    difference: Line,
}

impl Factor {
    fn new(axis: &Axis, basis: &Basis, u: &dyn Factors, direction: usize) -> Self {
        let points = |function: &dyn Fn(f64) -> f64| basis.points_in_a_row(axis.cells()).map(function).collect();
        let exact = Line([points(&|x| u.factor(direction, x)), points(&|x| u.factor_derivative(direction, x))]);
        let mut nodal = vec![0.0; axis.all_nodes()];
        for node in axis.unknown_nodes() {
            nodal[node] = u.factor(direction, axis.coordinate(node));
        }
        let interpolant = Line([false, true].map(|derived| interpolate(axis, basis, &nodal, derived)));
        let difference = Line([0, 1].map(|kind| {
            interpolant.0[kind].iter().zip(&exact.0[kind]).map(|(interpolant, exact)| interpolant - exact).collect()
        }));
        nodal.resize(axis.stored_nodes(), 0.0);
        Self { nodal, exact, interpolant, difference }
    }
}

/// What integrals along an axis need.
struct Along<'a> {
    axis: &'a Axis,
    basis: &'a Basis,
    /// Of each product of `u`.
    factors: Vec<Factor>,
}

impl<'a> Along<'a> {
    /// Of each axis of a space.
    fn each(space: &'a Space, bases: &'a Bases, u: &[&dyn Factors]) -> Vec<Self> {
        let along = |(d, (axis, basis))| {
            let factors = u.iter().map(|product| Factor::new(axis, basis, *product, d)).collect();
            Self { axis, basis, factors }
        };
        space.axes().iter().zip(&bases.0).enumerate().map(along).collect()
    }

    /// The factor along this axis, the `d`-th one, of term `m` of `p - u` for a product of `u`.
    fn factor(&self, d: usize, product: usize, m: usize) -> &Line {
        let factor = &self.factors[product];
        match d.cmp(&m) {
            std::cmp::Ordering::Less => &factor.exact,
            std::cmp::Ordering::Equal => &factor.difference,
            std::cmp::Ordering::Greater => &factor.interpolant,
        }
    }

    /// `∫ f g` (`kind` 0) or `∫ f' g'` (1).
    fn product(&self, f: &Line, g: &Line, kind: usize) -> f64 {
        let basis = self.basis;
        let cells = f.0[kind].chunks_exact(basis.points()).zip(g.0[kind].chunks_exact(basis.points()));
        let integrals = cells.enumerate().map(|(cell, (f, g))| {
            let values = f.iter().zip(g).zip(&basis.rule.weights);
            basis.factor(cell) * values.map(|((f, g), weight)| weight * f * g).sum::<f64>()
        });
        integrals.sum()
    }

    /// `∫ φ_i φ_j` (`kind` 0) or `∫ φ_i' φ_j'` (1) between unknowns: entries `(j, value)` of each row, of which some may be of one column.
    fn rows(&self, kind: usize) -> Vec<Vec<(usize, f64)>> {
        let (axis, unknowns) = (self.axis, self.axis.unknown_nodes());
        let cell_matrix = cell_matrix(self.basis, kind);
        let mut rows = vec![Vec::new(); axis.stored_nodes()];
        for cell in 0..axis.cells() {
            let (first, factor) =
                (cell * axis.stride(), self.basis.factor(cell) * slope(self.basis, cell, kind).powi(2));
            for i in (0..=axis.degree()).filter(|i| unknowns.contains(&(first + i))) {
                for j in (0..=axis.degree()).filter(|j| unknowns.contains(&(first + j))) {
                    rows[first + i].push((first + j, factor * cell_matrix[(i, j)]));
                }
            }
        }
        rows
    }

    /// The same as a matrix.
    fn matrix(&self, kind: usize) -> AxisMatrix<f64> {
        AxisMatrix::from_rows(self.axis.stored_nodes(), &self.rows(kind))
    }
}

/// Of values (`kind` 0) or derivatives (1).
fn table(basis: &Basis, kind: usize) -> &Table {
    if kind == 0 { &basis.values } else { &basis.derivatives }
}

/// What the entries of [`table`] are to be multiplied by in a cell.
fn slope(basis: &Basis, cell: usize, kind: usize) -> f64 {
    if kind == 0 { 1.0 } else { 1.0 / basis.factor(cell) }
}

/// The function of these nodal values in the quadrature points, or its derivative.
fn interpolate(axis: &Axis, basis: &Basis, nodal: &[f64], derived: bool) -> Vec<f64> {
    let kind = usize::from(derived);
    let cells = (0..axis.cells()).flat_map(|cell| {
        let (nodal, slope) = (&nodal[cell * axis.stride()..][..=axis.degree()], slope(basis, cell, kind));
        let rows = table(basis, kind).iter_rows();
        rows.map(move |row| slope * row.iter().zip(nodal).map(|(function, value)| function * value).sum::<f64>())
    });
    cells.collect()
}

/// `∫ φ_i φ_j` (`kind` 0) or `∫ φ_i' φ_j'` (1) over a cell, but for the powers of its [factor](Basis::factor).
fn cell_matrix(basis: &Basis, kind: usize) -> DMatrix<f64> {
    let points: Vec<_> = table(basis, kind).iter_rows().zip(&basis.rule.weights).collect();
    let nodes = points.first().map_or(0, |(row, _)| row.len());
    DMatrix::from_fn(nodes, nodes, |i, j| points.iter().map(|(row, weight)| *weight * row[i] * row[j]).sum())
}

/// `d = p - u`.
struct Difference {
    minus_interpolant: OuterProducts,
    /// `2 ∫ d φ_i`, and `2 ∫ ∇d · ∇φ_i`.
    twice_loads: [OuterProducts; 2],
    /// `∫ d²`, and `∫ |∇d|²`.
    squares: [f64; 2],
}

impl Difference {
    /// None if an integral is not finite.
    fn new(space: &Space, axes: &[Along]) -> Result<Option<Self>> {
        let (dim, sizes, products) = (space.dim(), space.stored_nodes(), axes[0].factors.len());
        let mut minus_interpolant = OuterProducts::zero(sizes);
        for product in 0..products {
            let nodal: Vec<_> = axes.iter().map(|along| &along.factors[product].nodal).collect();
            minus_interpolant.add(-1.0, &nodal)?;
        }
        let mut twice_loads = [OuterProducts::zero(sizes), OuterProducts::zero(sizes)];
        let mut squares = [0.0; 2];
        let terms = || (0..products).flat_map(|product| (0..dim).map(move |m| (product, m)));
        for (product, m) in terms() {
            let line = |d: usize| axes[d].factor(d, product, m);
            let integrals = |d: usize, kind: usize| axes[d].basis.integrals(&line(d).0[kind], kind == 1);
            let loads = [0, 1].map(|kind| (0..dim).map(|d| integrals(d, kind)).collect::<Vec<_>>());
            let values: Vec<&Vec<f64>> = loads[0].iter().collect();
            twice_loads[0].add(2.0, &values)?;
            for (along, derived) in loads[1].iter().enumerate() {
                let mut product = values.clone();
                product[along] = derived;
                twice_loads[1].add(2.0, &product)?;
            }
            for (product, m) in terms() {
                let other = |d: usize| axes[d].factor(d, product, m);
                let integrals = [0, 1].map(|kind| (0..dim).map(move |d| axes[d].product(line(d), other(d), kind)));
                let [values, slopes] = integrals.map(|integrals| integrals.collect::<Vec<f64>>());
                squares[0] += values.iter().product::<f64>();
                squares[1] += (0..dim)
                    .map(|along| (0..dim).map(|d| if d == along { slopes[d] } else { values[d] }).product::<f64>())
                    .sum::<f64>();
            }
        }
        let is_finite = squares.iter().all(|square| square.is_finite());
        Ok(is_finite.then_some(Self { minus_interpolant, twice_loads, squares }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::backend::cpu::Cpu;
    use crate::error::Error;
    use crate::mesh::{Grading, Mesh};
    use crate::problem::{Constant, CosineProduct, ErrorNorms, ExactSolution, Field, SineProduct, error_norms};
    use crate::space::Family;
    use crate::system::Separable;
    use crate::system::separable::Equation;
    use glam::DVec3;

    /// `u` that does not say that it is a sum of products.
    struct Opaque<'a>(&'a dyn ExactSolution);

    impl Field for Opaque<'_> {
        fn value(&self, point: DVec3) -> f64 {
            self.0.value(point)
        }
    }

    impl ExactSolution for Opaque<'_> {
        fn gradient(&self, point: DVec3) -> DVec3 {
            self.0.gradient(point)
        }
    }

    /// For `values` at the unknowns of a space the norms of their difference to `u`: as a machine and as the host computes them here,
    /// and by quadrature in all cells.
    fn norms_by(space: &Space, values: impl Fn(DVec3) -> f64, u: &dyn ExactSolution) -> [ErrorNorms; 3] {
        let (cpu, products) = (Cpu::new(None).unwrap(), u.products().unwrap());
        let dofs: Vec<f64> = space.unknowns().map(|node| values(space.point(node))).collect();
        let u_h = space.from_dofs(&dofs).unwrap();
        let mut vector = cpu.zeros::<f64>(u_h.len()).unwrap();
        cpu.upload(&u_h, &mut vector).unwrap();
        let by_machine = product_error_norms(&cpu, space, vector, &products).unwrap().unwrap();
        let bases = Bases::new(space, Basis::of_norms).unwrap();
        let by_host = norms_on_host(space, &bases, &u_h, &products).unwrap().unwrap();
        [by_machine, by_host, error_norms(space, &u_h, &Opaque(u)).unwrap()]
    }

    fn check(space: &Space, values: impl Fn(DVec3) -> f64, u: &dyn ExactSolution) {
        let [by_machine, by_host, expected] = norms_by(space, values, u);
        for found in [by_machine, by_host] {
            // The smallest error here is 1e-9 of a solution, whose values are exact to 1e-16. Slopes lose a digit on graded cells.
            for (found, expected, exact_to) in [(found.l2, expected.l2, 1e-16), (found.h1, expected.h1, 1e-15)] {
                assert!((found - expected).abs() <= 1e-9 * expected + exact_to, "{found} instead of {expected}");
            }
        }
    }

    struct Sum([SineProduct; 2]);

    impl Field for Sum {
        fn value(&self, point: DVec3) -> f64 {
            self.0.iter().map(|term| term.value(point)).sum()
        }
        fn products(&self) -> Option<Vec<&dyn Factors>> {
            Some(self.0.iter().map(|term| term as _).collect())
        }
    }

    impl ExactSolution for Sum {
        fn gradient(&self, point: DVec3) -> DVec3 {
            self.0.iter().map(|term| term.gradient(point)).sum()
        }
    }

    /// On plain boxes, and on graded ones with nodes on all sides; by continuous elements and, if there are any, discontinuous ones.
    fn spaces(dim: usize, degree: usize) -> Vec<Space> {
        let mesh = Mesh::of_box(&[1, 2, 1][..dim], &[2.5, 0.6, 1.7][..dim], 1).unwrap();
        let grading = [Grading::BothEnds(4.0), Grading::Geometric(0.2), Grading::Geometric(3.0)];
        let of_family = |family| {
            let equation = Equation { grading: grading.clone(), ..Equation::default() };
            let graded = Separable::of_family(family, mesh, degree, equation).unwrap().space().clone();
            [Space::of_family(family, mesh, degree).unwrap(), graded]
        };
        let families = [Family::Continuous, Family::Discontinuous];
        families.into_iter().take(if degree <= 8 { 2 } else { 1 }).flat_map(of_family).collect()
    }

    /// Of the interpolant, and of a function whose error is of the size of the solution.
    #[test]
    fn norms_are_those_by_quadrature_in_all_cells() {
        for (dim, degree) in (1..=10).map(|degree| (2, degree)).chain((1..=4).map(|degree| (3, degree))) {
            for space in spaces(dim, degree) {
                let lengths = DVec3::from_array(space.mesh().lengths());
                let sine = SineProduct { dim, scale: 1.3, lengths };
                check(&space, |point| sine.value(point), &sine);
                check(&space, |point| sine.value(point) * (1.0 + 1e-3 * (7.0 * point.x - point.y).sin()), &sine);
                check(&space, |point| (3.0 * point.x).cos() + point.y * point.z, &sine);
                // Not zero on the boundary, where continuous functions of the space are.
                check(&space, |point| point.x, &CosineProduct { dim, scale: 0.7, lengths });
                check(&space, |point| point.x, &Constant(0.4));
                check(
                    &space,
                    |point| sine.value(point),
                    &Sum([sine, SineProduct { scale: -0.4, lengths: 0.3 * lengths, ..sine }]),
                );
            }
        }
    }

    #[test]
    fn a_function_of_the_space_has_no_error() {
        for space in spaces(3, 3).into_iter().filter(|space| space.is(Family::Discontinuous)) {
            for norms in norms_by(&space, |_| 0.4, &Constant(0.4)) {
                assert!(norms.l2 < 1e-13 && norms.h1 < 1e-12, "{norms:?}");
            }
        }
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        let cpu = Cpu::new(None).unwrap();
        let space = spaces(2, 2).remove(0);
        let lengths = DVec3::from_array(space.mesh().lengths());
        let bases = Bases::new(&space, Basis::of_norms).unwrap();
        let norms = |value: f64, scale| {
            let (values, u) = (vec![value; space.storage()], SineProduct { dim: 2, scale, lengths });
            let mut vector = cpu.zeros::<f64>(space.storage()).unwrap();
            cpu.upload(&values, &mut vector).unwrap();
            [product_error_norms(&cpu, &space, vector, &[&u]), norms_on_host(&space, &bases, &values, &[&u])]
        };
        for norms in norms(f64::NAN, 1.0) {
            assert!(matches!(norms, Err(Error::NotFinite { what: "error of the solution", .. })));
        }
        for norms in norms(0.0, f64::INFINITY) {
            assert_eq!(norms.unwrap(), None);
        }
    }
}
