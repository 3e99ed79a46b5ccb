//! On the host, by rows of cells along x.
//!
//! In the eigenvectors `K s = λ M s`, `sᵀ M s = 1`, of a cell along y and along z, the rows of nodes of such cells become rows `r` with
//! `eᵀ M e = sum_r rᵀ M r` and `eᵀ K e = sum_r rᵀ (K + (λ_y + λ_z) M) r`, with the matrices along x on the right.

use super::super::fields::Factors;
use super::super::norms::{ErrorNorms, check_finite, sum_over_rows};
use super::super::sum_factorization::{Bases, Basis, LANES, Lanes, Table, cell_nodes, contract, first_nodes};
use super::{Along, Difference, cell_matrix};
use crate::error::Result;
use crate::fe::generalized_eigenpairs;
use crate::space::Space;
use pulp::{Arch, NullaryFnOnce};

/// Norms of `u_h - u` for `u_h` in storage order, and `u` by its products; none if one of their integrals is not finite, as where a
/// factor overflows.
///
/// # Errors
/// [`Error::NotFinite`](crate::Error::NotFinite) if a value of `u_h` is not finite.
pub(in super::super) fn norms_on_host(
    space: &Space,
    bases: &Bases,
    u_h: &[f64],
    u: &[&dyn Factors],
) -> Result<Option<ErrorNorms>> {
    let axes = Along::each(space, bases, u);
    let Some(difference) = Difference::new(space, &axes)? else { return Ok(None) };
    let across = bases.0[1..].iter().map(CellPairs::new).collect::<Result<Vec<_>>>()?;
    let along_x = [0, 1].map(|kind| Diagonals::new(&axes[0], kind));
    let rows = Rows { space, bases, u_h, difference: &difference, across, along_x, arch: Arch::new() };
    let integrate = |work: &mut _, cell| rows.arch.dispatch(Integrals { rows: &rows, cell, work });
    let sums = sum_over_rows(space, integrate)?;
    let squares = [0, 1].map(|kind| sums[kind] + difference.squares[kind]);
    let squares = check_finite(squares, || "the sum over all cells".into())?;
    Ok(Some(ErrorNorms::from_squares(squares)))
}

/// The eigenpairs of a cell.
struct CellPairs {
    values: Vec<f64>,
    /// From values at the nodes to coefficients of the eigenvectors `s`: `sᵀ M` in each row.
    transform: Table,
}

impl CellPairs {
    fn new(basis: &Basis) -> Result<Self> {
        let mass = cell_matrix(basis, 0);
        let pairs = generalized_eigenpairs(&cell_matrix(basis, 1), &mass)?;
        let transform = pairs.vectors.tr_mul(&mass);
        let rows = transform.row_iter().map(|row| row.iter().copied().collect());
        Ok(Self { values: pairs.values.iter().copied().collect(), transform: Table::from_rows(rows) })
    }
}

/// A symmetric matrix by its diagonals, from the main one upward: entry `(i, i + d)` at `i` of diagonal `d`; twice that for `d > 0`, so
/// that it stands for entry `(i + d, i)`, too.
struct Diagonals(Vec<Vec<Lanes>>);

impl Diagonals {
    /// `∫ φ_i φ_j` (`kind` 0) or `∫ φ_i' φ_j'` (1) along an axis.
    fn new(along: &Along, kind: usize) -> Self {
        let rows = along.rows(kind);
        let mut diagonals = vec![vec![[0.0; LANES]; rows.len().div_ceil(LANES)]; along.axis.degree() + 1];
        for (i, row) in rows.iter().enumerate() {
            for (j, value) in row.iter().filter(|(j, _)| *j >= i) {
                diagonals[j - i].as_flattened_mut()[i] += if *j == i { *value } else { 2.0 * value };
            }
        }
        Self(diagonals)
    }
}

/// What all rows of cells need.
struct Rows<'a> {
    space: &'a Space,
    bases: &'a Bases,
    u_h: &'a [f64],
    difference: &'a Difference,
    /// Of cells along y and, in 3D, along z.
    across: Vec<CellPairs>,
    /// Mass and stiffness matrix.
    along_x: [Diagonals; 2],
    arch: Arch,
}

/// What the cells from `cell` on along x add to `∫ (u_h - u)²` and `∫ |∇(u_h - u)|²`, but for `c`.
struct Integrals<'a> {
    rows: &'a Rows<'a>,
    cell: [usize; 3],
    work: &'a mut [Vec<Lanes>; 2],
}

impl NullaryFnOnce for Integrals<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn call(self) -> [f64; 2] {
        let Self { rows, cell, work: [e, transformed] } = self;
        let mut sums = rows.gather(cell, e);
        let mut stride = rows.len();
        for pairs in &rows.across {
            contract(rows.arch, &pairs.transform, stride, e, transformed);
            std::mem::swap(e, transformed);
            stride *= pairs.values.len();
        }
        // The diagonals of the last row reach beyond its end.
        e.resize(stride + rows.space.degree().div_ceil(LANES), [0.0; LANES]);
        let forms = rows.forms(cell, e);
        for (sum, form) in sums.iter_mut().zip(forms) {
            *sum += form;
        }
        sums
    }
}

impl Rows<'_> {
    /// `e` at the nodes of the cells from `cell` on along x, and what `2 eᵀ g` is for those of its rows that are not of later cells, too.
    #[inline(always)]
    fn gather(&self, cell: [usize; 3], e: &mut Vec<Lanes>) -> [f64; 2] {
        let (nodes, first) = (cell_nodes(self.space), first_nodes(self.space, cell));
        e.resize(self.len() * nodes[1] * nodes[2], [0.0; LANES]);
        let mut sums = [0.0; 2];
        for (index, row) in e.chunks_exact_mut(self.len()).enumerate() {
            let local = [0, index % nodes[1], index / nodes[1]];
            let node = [0, first[1] + local[1], first[2] + local[2]];
            let across = || self.space.axes().iter().enumerate().skip(1);
            if !across().all(|(d, axis)| axis.unknown_nodes().contains(&node[d])) {
                row.fill([0.0; LANES]);
                continue;
            }
            self.subtract(node, row.as_flattened_mut());
            if across().all(|(d, axis)| local[d] < axis.stride() || cell[d] + 1 == axis.cells()) {
                for (sum, loads) in sums.iter_mut().zip(&self.difference.twice_loads) {
                    for [x, y, z] in loads.terms() {
                        *sum += y[node[1]] * z[node[2]] * dot(x, row.as_flattened());
                    }
                }
            }
        }
        sums
    }

    /// A row of `e`, from its first node on, with zeros behind it.
    #[inline(always)]
    fn subtract(&self, node: [usize; 3], row: &mut [f64]) {
        let stored = self.space.stored_nodes()[0];
        row[..stored].copy_from_slice(&self.u_h[self.space.offset(node)..][..stored]);
        row[stored..].fill(0.0);
        for [x, y, z] in self.difference.minus_interpolant.terms() {
            let scale = y[node[1]] * z[node[2]];
            for (entry, x) in row.iter_mut().zip(x) {
                *entry += scale * x;
            }
        }
    }

    /// `eᵀ M e` and `eᵀ K e`, where rows are coefficients of eigenvectors.
    #[inline(always)]
    fn forms(&self, cell: [usize; 3], e: &[Lanes]) -> [f64; 2] {
        let factors = [1, 2].map(|d| self.bases.factor(cell, d));
        let modes_y = self.across[0].values.len();
        let mut sums = [0.0; 2];
        let count = self.across.iter().map(|pairs| pairs.values.len()).product();
        for index in 0..count {
            let mut lambda = 0.0;
            for ((pairs, mode), factor) in self.across.iter().zip([index % modes_y, index / modes_y]).zip(factors) {
                lambda += pairs.values[mode] / (factor * factor);
            }
            let [mass, stiffness] = self.forms_along_x(e[index * self.len()..].as_flattened());
            sums[0] += mass;
            sums[1] += stiffness + lambda * mass;
        }
        sums.map(|sum| factors[0] * factors[1] * sum)
    }

    /// `rᵀ M r` and `rᵀ K r` with the matrices along x, for the row that `r` begins with. What is behind it counts for nothing, but must
    /// be finite.
    #[inline(always)]
    fn forms_along_x(&self, r: &[f64]) -> [f64; 2] {
        let [mass, stiffness] = &self.along_x;
        let (mut of_mass, mut of_stiffness) = ([0.0; LANES], [0.0; LANES]);
        for chunk in 0..self.len() {
            let (mut mass_r, mut stiffness_r) = ([0.0; LANES], [0.0; LANES]);
            for (d, (mass, stiffness)) in mass.0.iter().zip(&stiffness.0).enumerate() {
                let r = lanes(r, chunk * LANES + d);
                add_products(&mass[chunk], r, &mut mass_r);
                add_products(&stiffness[chunk], r, &mut stiffness_r);
            }
            let r = lanes(r, chunk * LANES);
            add_products(r, &mass_r, &mut of_mass);
            add_products(r, &stiffness_r, &mut of_stiffness);
        }
        [of_mass.iter().sum(), of_stiffness.iter().sum()]
    }

    /// Entries of a row, in lanes.
    fn len(&self) -> usize {
        self.along_x[0].0[0].len()
    }
}

/// The dot product; `y` may have zeros behind.
#[inline(always)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let ((x, last_of_x), (y, y_behind)) = (x.as_chunks::<LANES>(), y.split_at(x.len() / LANES * LANES));
    let tail: f64 = last_of_x.iter().zip(y_behind).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; LANES];
    for (x, y) in x.iter().zip(y.as_chunks::<LANES>().0) {
        add_products(x, y, &mut sums);
    }
    sums.iter().chain(&[tail]).sum()
}

/// So many neighbouring entries, from `first` on.
#[inline(always)]
fn lanes(r: &[f64], first: usize) -> &Lanes {
    r[first..].first_chunk().expect("rows have entries behind")
}

/// `sums += x y`, lane by lane.
#[inline(always)]
fn add_products(x: &Lanes, y: &Lanes, sums: &mut Lanes) {
    for lane in 0..LANES {
        sums[lane] = x[lane].mul_add(y[lane], sums[lane]);
    }
}
