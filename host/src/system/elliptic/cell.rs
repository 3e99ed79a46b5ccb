//! Tensor operations on one cell: interpolation to Gauss points, derivatives there, hanging lines.

use super::mesh::Mesh;
use crate::backend::Scalar;
use crate::error::Result;
use crate::fe::{Element, Quadrature};
use crate::forest::HangingLines;
use glam::DVec3;
use nalgebra::DMatrix;
use patchmg_cpu::IndexedMatrices;
use pulp::{Arch, NullaryFnOnce};

/// A matrix that is applied along lines, with its transpose.
#[derive(Debug)]
pub(super) struct LineMatrix<T> {
    rows: usize,
    columns: usize,
    /// By rows.
    entries: Vec<T>,
    transposed: Vec<T>,
}

impl<T: Scalar> LineMatrix<T> {
    pub fn new(matrix: &DMatrix<f64>) -> Self {
        // nalgebra stores columns.
        let by_columns = |matrix: &DMatrix<f64>| matrix.iter().map(|&entry| T::from_f64(entry)).collect();
        let (rows, columns) = matrix.shape();
        Self { rows, columns, entries: by_columns(&matrix.transpose()), transposed: by_columns(matrix) }
    }

    /// `y = M x` along the lines of a direction, the tensor having `inner` entries before it: `y` becomes as long as it must.
    pub fn apply(&self, inner: usize, x: &[T], y: &mut Vec<T>) {
        contract(&self.entries, [self.rows, self.columns], inner, x, y);
    }

    /// `y = Mᵀ x`.
    pub fn apply_transposed(&self, inner: usize, x: &[T], y: &mut Vec<T>) {
        contract(&self.transposed, [self.columns, self.rows], inner, x, y);
    }
}

fn contract<T: Scalar>(matrix: &[T], [rows, columns]: [usize; 2], inner: usize, x: &[T], y: &mut Vec<T>) {
    y.clear();
    y.resize(x.len() / columns * rows, T::ZERO);
    // With the instructions that this CPU has: fused multiplication and addition is a call otherwise.
    Arch::new().dispatch(Contraction { matrix, columns, inner, x, y });
}

/// `y = M x` along the lines of a direction.
struct Contraction<'a, T> {
    matrix: &'a [T],
    columns: usize,
    inner: usize,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Scalar> NullaryFnOnce for Contraction<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.columns {
            2 => self.along_lines::<2>(),
            3 => self.along_lines::<3>(),
            4 => self.along_lines::<4>(),
            5 => self.along_lines::<5>(),
            6 => self.along_lines::<6>(),
            7 => self.along_lines::<7>(),
            _ => self.along_rows(),
        }
    }
}

impl<T: Scalar> Contraction<'_, T> {
    #[inline(always)]
    fn along_lines<const COLUMNS: usize>(self) {
        let Self { matrix, inner, x, y, .. } = self;
        let rows = matrix.len() / COLUMNS;
        for (x, y) in x.chunks_exact(COLUMNS * inner).zip(y.chunks_exact_mut(rows * inner)) {
            for i in 0..inner {
                let line: [T; COLUMNS] = std::array::from_fn(|column| x[column * inner + i]);
                for (row, entries) in matrix.as_chunks::<COLUMNS>().0.iter().enumerate() {
                    let terms = entries.iter().zip(&line);
                    y[row * inner + i] = terms.fold(T::ZERO, |sum, (&entry, &x)| T::fma(entry, x, sum));
                }
            }
        }
    }

    #[inline(always)]
    fn along_rows(self) {
        let Self { matrix, columns, inner, x, y } = self;
        let rows = matrix.len() / columns;
        for (x, y) in x.chunks_exact(columns * inner).zip(y.chunks_exact_mut(rows * inner)) {
            for (row, y) in matrix.chunks_exact(columns).zip(y.chunks_exact_mut(inner)) {
                for (&entry, x) in row.iter().zip(x.chunks_exact(inner)) {
                    y.iter_mut().zip(x).for_each(|(y, &x)| *y = T::fma(entry, x, *y));
                }
            }
        }
    }
}

/// Work space of one cell.
#[derive(Debug)]
pub(super) struct Workspace<T> {
    values: Vec<T>,
    other: Vec<T>,
    /// At Gauss points, by each of the cell's coordinates.
    gradients: [Vec<T>; 3],
}

impl<T> Default for Workspace<T> {
    fn default() -> Self {
        Self { values: Vec::new(), other: Vec::new(), gradients: [Vec::new(), Vec::new(), Vec::new()] }
    }
}

impl Workspace<f64> {
    /// What [`CellShape::evaluate`] leaves: derivatives at a point by the cell's coordinates, 0 by those that it does not have.
    pub fn gradient(&self, q: usize) -> DVec3 {
        let [x, y, z] = &self.gradients;
        DVec3::new(x[q], y[q], z.get(q).copied().unwrap_or(0.0))
    }

    /// Sets them, for [`CellShape::integrate_with_gradients`].
    pub fn set_gradient(&mut self, q: usize, gradient: DVec3) {
        self.gradients.iter_mut().zip(gradient.to_array()).for_each(|(own, value)| {
            if let Some(own) = own.get_mut(q) {
                *own = value;
            }
        });
    }
}

/// The matrices of all cells.
#[derive(Debug)]
pub(super) struct CellShape<T> {
    dim: usize,
    /// Nodes in each direction.
    n: usize,
    /// Gauss points in each direction, at least `n`.
    points: usize,
    /// From nodes to Gauss points.
    values: LineMatrix<T>,
    /// From values at Gauss points to derivatives there.
    derivatives: LineMatrix<T>,
    /// From nodes to Gauss points: squares of the basis, products with its derivatives, squares of these.
    products: [LineMatrix<T>; 3],
    /// From a parent to its lower and upper child.
    halves: [LineMatrix<T>; 2],
    /// From a parent to both.
    prolongation: LineMatrix<T>,
}

/// Rows: a basis, or its derivatives, at points.
pub(super) fn at_points(points: &[f64], row: impl Fn(f64) -> Vec<f64>) -> DMatrix<f64> {
    let rows: Vec<Vec<f64>> = points.iter().map(|&x| row(x)).collect();
    DMatrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

impl<T: Scalar> CellShape<T> {
    /// With as many Gauss points as nodes in each direction.
    pub fn new(mesh: &Mesh) -> Result<Self> {
        Self::with_points(mesh, mesh.degree() + 1)
    }

    /// With so many Gauss points in each direction, not fewer than nodes.
    pub fn with_points(mesh: &Mesh, count: usize) -> Result<Self> {
        let (element, n) = (mesh.element(), mesh.degree() + 1);
        let points = Quadrature::gauss(count)?.points;
        let on_gauss = Element::gauss(count - 1)?;
        let prolongation = element.prolongation();
        let half = |first: usize| LineMatrix::new(&prolongation.rows(first, n).into_owned());
        let (values, slopes) =
            (at_points(&points, |x| element.values(x)), at_points(&points, |x| element.derivatives(x)));
        let product = |a: &DMatrix<f64>, b: &DMatrix<f64>| LineMatrix::new(&a.component_mul(b));
        Ok(Self {
            dim: mesh.dim(),
            n,
            points: count,
            values: LineMatrix::new(&values),
            derivatives: LineMatrix::new(&at_points(&points, |x| on_gauss.derivatives(x))),
            products: [product(&values, &values), product(&values, &slopes), product(&slopes, &slopes)],
            halves: [half(0), half(n - 1)],
            prolongation: LineMatrix::new(&prolongation),
        })
    }

    /// Those of kernels for a CPU.
    pub fn matrices(&self, degree: usize) -> IndexedMatrices {
        let rows = |matrix: &LineMatrix<T>| matrix.entries.iter().map(|entry| entry.to_f64()).collect();
        let [values, derivatives] = [&self.values, &self.derivatives].map(rows);
        IndexedMatrices { dim: self.dim, degree, values, derivatives, children: self.halves.each_ref().map(rows) }
    }

    /// From a parent to its lower and upper child, by rows.
    #[cfg(feature = "cuda")]
    pub fn halves(&self) -> Vec<T> {
        self.halves.iter().flat_map(|matrix| &matrix.entries).copied().collect()
    }

    /// `u ← A u` for the local vector of a cell, with the words of [`words`](super::metric::words) at each Gauss point.
    pub fn apply(&self, metric: &[T], u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        self.evaluate(u, workspace);
        let words = metric.len() / u.len();
        let [x, y, z] = &mut workspace.gradients;
        for (q, (u, metric)) in u.iter_mut().zip(metric.chunks_exact(words)).enumerate() {
            match *metric {
                [xx, xy, yy, mass] => {
                    (x[q], y[q]) = (xx * x[q] + xy * y[q], xy * x[q] + yy * y[q]);
                    *u = mass * *u;
                }
                [xx, xy, yy, xz, yz, zz, mass] => {
                    let gradient = [x[q], y[q], z[q]];
                    let dot = |a: T, b: T, c: T| a * gradient[0] + b * gradient[1] + c * gradient[2];
                    (x[q], y[q], z[q]) = (dot(xx, xy, xz), dot(xy, yy, yz), dot(xz, yz, zz));
                    *u = mass * *u;
                }
                _ => {}
            }
        }
        self.integrate_with_gradients(u, workspace);
    }

    /// The diagonal of `A`, with the words of [`words`](super::metric::words) at each Gauss point: each word with products of
    /// the basis and its derivatives along each direction.
    pub fn diagonal(&self, metric: &[T], workspace: &mut Workspace<T>) -> Vec<T> {
        let Workspace { values, other, .. } = workspace;
        let points = self.points.pow(self.dim as u32);
        let words = metric.len() / points;
        let mut diagonal = vec![T::ZERO; self.n.pow(self.dim as u32)];
        let tensor = (0..self.dim).flat_map(|i| (0..=i).map(move |j| Some([i, j])));
        for (word, slopes) in tensor.chain([None]).enumerate() {
            values.clear();
            values.extend(metric.chunks_exact(words).map(|metric| metric[word]));
            for d in 0..self.dim {
                let slopes = slopes.map_or(0, |slopes| slopes.into_iter().filter(|&slope| slope == d).count());
                self.products[slopes].apply_transposed(self.n.pow(d as u32), values, other);
                std::mem::swap(values, other);
            }
            // The upper triangle, too.
            let factor = T::from_f64(if slopes.is_some_and(|[i, j]| i != j) { 2.0 } else { 1.0 });
            diagonal.iter_mut().zip(&*values).for_each(|(sum, &value)| *sum = T::fma(factor, value, *sum));
        }
        diagonal
    }

    /// From values at nodes to values at Gauss points, in `u`, and derivatives there by the cell's coordinates.
    pub fn evaluate(&self, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        let Workspace { other, gradients, .. } = workspace;
        for d in 0..self.dim {
            self.values.apply(self.points.pow(d as u32), u, other);
            std::mem::swap(u, other);
        }
        for (d, gradient) in gradients.iter_mut().enumerate().take(self.dim) {
            self.derivatives.apply(self.points.pow(d as u32), u, gradient);
        }
    }

    /// The transpose of [`Self::evaluate`].
    pub fn integrate_with_gradients(&self, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        let Workspace { values, gradients, .. } = workspace;
        for (d, gradient) in gradients.iter().enumerate().take(self.dim) {
            self.derivatives.apply_transposed(self.points.pow(d as u32), gradient, values);
            u.iter_mut().zip(&*values).for_each(|(u, &value)| *u = *u + value);
        }
        self.integrate(u, workspace);
    }

    /// From values at Gauss points, times weights, to integrals with the basis: `u ← Bᵀ u`.
    pub fn integrate(&self, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        for d in 0..self.dim {
            self.values.apply_transposed(self.n.pow(d as u32), u, &mut workspace.other);
            std::mem::swap(u, &mut workspace.other);
        }
    }

    /// `u ← C u`: from what a cell reads to its own values.
    pub fn interpolate(&self, lines: &HangingLines, u: &mut [T]) {
        (0..self.dim)
            .for_each(|d| self.along_lines(lines, d, u, &self.halves[usize::from(lines.child >> d & 1)].entries));
    }

    /// `u ← Cᵀ u`.
    pub fn interpolate_transposed(&self, lines: &HangingLines, u: &mut [T]) {
        let half = |d: usize| &self.halves[usize::from(lines.child >> d & 1)].transposed;
        (0..self.dim).rev().for_each(|d| self.along_lines(lines, d, u, half(d)));
    }

    fn along_lines(&self, lines: &HangingLines, d: usize, u: &mut [T], matrix: &[T]) {
        let n = self.n;
        let stride = n.pow(d as u32);
        let (mut line, mut interpolated) = (vec![T::ZERO; n], Vec::new());
        for first in (0..u.len()).filter(|i| (i / stride).is_multiple_of(n)) {
            let index = [first % n, first / n % n, first / n / n];
            let others = [index[usize::from(d == 0)], index[if d == 2 { 1 } else { 2 }]];
            if lines.has(d, others, n - 1) {
                (0..n).for_each(|i| line[i] = u[first + i * stride]);
                contract(matrix, [n, n], 1, &line, &mut interpolated);
                interpolated.iter().enumerate().for_each(|(i, &value)| u[first + i * stride] = value);
            }
        }
    }

    /// Values of a cell at the nodes of its children, `(2k + 1)^dim`.
    pub fn prolongate(&self, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        for d in 0..self.dim {
            self.prolongation.apply((2 * self.n - 1).pow(d as u32), u, &mut workspace.other);
            std::mem::swap(u, &mut workspace.other);
        }
    }

    /// The transpose.
    pub fn restrict(&self, u: &mut Vec<T>, workspace: &mut Workspace<T>) {
        // The last direction first: whole planes have one entry of the matrix.
        for d in (0..self.dim).rev() {
            self.prolongation.apply_transposed((2 * self.n - 1).pow(d as u32), u, &mut workspace.other);
            std::mem::swap(u, &mut workspace.other);
        }
    }
}
