//! Errors of a solution that lies on a machine, against a known one that is a sum of products of functions of one coordinate each.
//!
//! With the interpolant `p` of `u` at the unknowns, `u_h - u = e + d`, where `e = u_h - p` is in the space, and `d = p - u` is a sum of
//! products: for each product of `u` it is `sum_m u_0 .. u_{m-1} (p_m - u_m) p_{m+1} ..`. So
//! `∫ (u_h - u)² = eᵀ M e + 2 eᵀ g + c` with the mass matrix `M`, `g_i = ∫ d φ_i` and `c = ∫ d²`, and the same with gradients:
//! matrices along axes, sums of outer products and two dot products on the machine, and one-dimensional integrals on the host.
//! Differences of solutions are taken before anything is squared, so that nothing large cancels. Integrals are by the rule of
//! [`error_norms`](super::error_norms).

use super::fields::Factors;
use super::norms::ErrorNorms;
use super::sum_factorization::{Bases, Basis};
use crate::backend::{AxisMatrix, Backend, OuterProducts, Tensors};
use crate::error::{Error, Result};
use crate::space::{Axis, Space};

/// Vectors of the space in `f64` that [`product_error_norms`] takes on the machine, with the one that it is given.
pub(crate) const VECTORS: usize = 4;

/// Norms of `u_h - u` for `u_h` in storage order on a machine, whose vector is overwritten, and `u` by its products; none if one of
/// their integrals is not finite, as where a factor overflows.
///
/// # Errors
/// [`Error::NotFinite`] if a value of `u_h` is not finite; those of the machine.
pub(crate) fn product_error_norms<B: Backend>(
    backend: &B,
    space: &Space,
    mut u_h: B::Vector<f64>,
    u: &[&dyn Factors],
) -> Result<Option<ErrorNorms>> {
    let bases = Bases::new(space, Basis::of_norms)?;
    let axes: Vec<_> =
        space.axes().iter().zip(&bases.0).enumerate().map(|(d, (a, b))| Along::new(a, b, u, d)).collect();
    let Some(difference) = Difference::new(space, &axes)? else { return Ok(None) };
    backend.outer_products(&difference.minus_interpolant, &mut u_h, true)?;
    let e = u_h;

    let dim = space.dim();
    let nodes = space.stored_nodes();
    let place = |direction| Tensors::across(&nodes[..dim], direction);
    let matrices = |kind: usize| -> Result<Vec<_>> {
        axes.iter().map(|along| backend.axis_matrix::<f64>(&along.matrices[kind])).collect()
    };
    let (mass, stiffness) = (matrices(0)?, matrices(1)?);
    let apply = |matrix: &[B::AxisMatrix<f64>], d: usize, x: &_, y: &mut _, add| {
        backend.apply_along_axis(&matrix[d], place(d), x, y, add)
    };
    let vector = || backend.zeros::<f64>(space.storage());
    let (mut a, mut b) = (vector()?, vector()?);
    // What values and gradients have in common is computed once: 8 matrices in 3D, where a product for each term takes 12.
    let sums = if dim == 2 {
        apply(&mass, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut b, false)?;
        let values = difference.integral(backend, 0, &e, &mut b)?;
        apply(&stiffness, 1, &a, &mut b, false)?;
        apply(&stiffness, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut b, true)?;
        [values, difference.integral(backend, 1, &e, &mut b)?]
    } else {
        let mut c = vector()?;
        apply(&mass, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut c, false)?;
        apply(&mass, 2, &c, &mut b, false)?;
        let values = difference.integral(backend, 0, &e, &mut b)?;
        apply(&stiffness, 2, &c, &mut b, false)?;
        apply(&stiffness, 1, &a, &mut c, false)?;
        apply(&stiffness, 0, &e, &mut a, false)?;
        apply(&mass, 1, &a, &mut c, true)?;
        apply(&mass, 2, &c, &mut b, true)?;
        [values, difference.integral(backend, 1, &e, &mut b)?]
    };
    if let Some(&value) = sums.iter().find(|sum| !sum.is_finite()) {
        return Err(Error::NotFinite { what: "error of the solution", value, place: "the sum over all cells".into() });
    }
    // Rounding may make a sum of squares that is about zero negative.
    let [l2, h1] = sums.map(|sum| sum.max(0.0).sqrt());
    Ok(Some(ErrorNorms { l2, h1 }))
}

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
    basis: &'a Basis,
    /// Of each product of `u`.
    factors: Vec<Factor>,
    /// Of the basis functions: mass matrix, and stiffness matrix.
    matrices: [AxisMatrix<f64>; 2],
}

impl<'a> Along<'a> {
    fn new(axis: &Axis, basis: &'a Basis, u: &[&dyn Factors], direction: usize) -> Self {
        let factors = u.iter().map(|product| Factor::new(axis, basis, *product, direction)).collect();
        Self { basis, factors, matrices: [0, 1].map(|kind| matrix(axis, basis, kind)) }
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
}

/// Of values (`kind` 0) or derivatives (1).
fn table(basis: &Basis, kind: usize) -> &super::sum_factorization::Table {
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

/// `∫ φ_i φ_j` (`kind` 0) or `∫ φ_i' φ_j'` (1), between unknowns.
fn matrix(axis: &Axis, basis: &Basis, kind: usize) -> AxisMatrix<f64> {
    let (stored, unknowns) = (axis.stored_nodes(), axis.unknown_nodes());
    let mut rows = vec![Vec::new(); stored];
    for cell in 0..axis.cells() {
        let (factor, first) = (basis.factor(cell) * slope(basis, cell, kind).powi(2), cell * axis.stride());
        let points: Vec<_> = table(basis, kind).iter_rows().zip(&basis.rule.weights).collect();
        for i in (0..=axis.degree()).filter(|i| unknowns.contains(&(first + i))) {
            for j in (0..=axis.degree()).filter(|j| unknowns.contains(&(first + j))) {
                let integral: f64 = points.iter().map(|(row, weight)| *weight * row[i] * row[j]).sum();
                rows[first + i].push((first + j, factor * integral));
            }
        }
    }
    AxisMatrix::from_rows(stored, &rows)
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

    /// `eᵀ (y + 2 g) + c` for values (`kind` 0) or gradients (1), where `y = M e` is overwritten.
    fn integral<B: Backend>(
        &self,
        backend: &B,
        kind: usize,
        e: &B::Vector<f64>,
        y: &mut B::Vector<f64>,
    ) -> Result<f64> {
        backend.outer_products(&self.twice_loads[kind], y, true)?;
        Ok(backend.dot(e, y)? + self.squares[kind])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::mesh::Mesh;
    use crate::problem::{Constant, CosineProduct, ExactSolution, Field, SineProduct, error_norms};
    use crate::space::Family;
    use glam::DVec3;

    /// `values` at the unknowns of a space, and norms of their difference to `u`: as here, and by quadrature in all cells.
    fn both(space: &Space, values: impl Fn(DVec3) -> f64, u: &dyn ExactSolution) -> [ErrorNorms; 2] {
        let cpu = Cpu::new(None).unwrap();
        let dofs: Vec<f64> = space.unknowns().map(|node| values(space.point(node))).collect();
        let u_h = space.from_dofs(&dofs).unwrap();
        let mut vector = cpu.zeros::<f64>(u_h.len()).unwrap();
        cpu.upload(&u_h, &mut vector).unwrap();
        let found = product_error_norms(&cpu, space, vector, &u.products().unwrap()).unwrap().unwrap();
        [found, error_norms(space, &u_h, u).unwrap()]
    }

    fn check(space: &Space, values: impl Fn(DVec3) -> f64, u: &dyn ExactSolution) {
        let [found, expected] = both(space, values, u);
        for (found, expected) in [(found.l2, expected.l2), (found.h1, expected.h1)] {
            // The smallest error here is 1e-9 of a solution, whose values are exact to 1e-16.
            assert!((found - expected).abs() <= 1e-9 * expected + 1e-16, "{found} instead of {expected}");
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

    fn spaces(dim: usize, degree: usize) -> [Space; 2] {
        let mesh = Mesh::of_box(&[1, 2, 1][..dim], &[2.5, 0.6, 1.7][..dim], 1).unwrap();
        [Space::new(mesh, degree).unwrap(), Space::discontinuous(mesh, degree).unwrap()]
    }

    /// Of the interpolant, and of a function whose error is of the size of the solution.
    #[test]
    fn norms_are_those_by_quadrature_in_all_cells() {
        for (dim, degree) in (1..=8).map(|degree| (2, degree)).chain((1..=4).map(|degree| (3, degree))) {
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
            let [found, _] = both(&space, |_| 0.4, &Constant(0.4));
            assert!(found.l2 < 1e-13 && found.h1 < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        let cpu = Cpu::new(None).unwrap();
        let [space, _] = spaces(2, 2);
        let lengths = DVec3::from_array(space.mesh().lengths());
        let norms = |value: f64, scale| {
            let mut vector = cpu.zeros::<f64>(space.storage()).unwrap();
            let values = vec![value; space.storage()];
            cpu.upload(&values, &mut vector).unwrap();
            product_error_norms(&cpu, &space, vector, &[&SineProduct { dim: 2, scale, lengths }])
        };
        assert!(matches!(norms(f64::NAN, 1.0), Err(Error::NotFinite { what: "error of the solution", .. })));
        assert_eq!(norms(0.0, f64::INFINITY).unwrap(), None);
    }
}
