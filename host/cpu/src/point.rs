//! Point Gauss-Seidel, dof after dof in lexicographic order, `x` fastest, on one thread.
//!
//! What couples with a line of nodes in `x` is summed up over the other directions once for the line: with
//! `u = Σ M_y M_z x` and `w = Σ (A_y M_z + M_y A_z) x` over all lines, `(A x)_i = Σ_j A_ij u_j + M_ij w_j`; the update of
//! a dof changes its own entries of `u` and `w` alone.

use super::lanes::Vectorized;
use super::sizes::BySize;
use patchmg_device::patch::Grid;
use patchmg_device::point::Row;

/// The rows of the 1D matrices of a space.
pub struct GaussSeidel<T> {
    grid: Grid,
    dim: usize,
    rows: BySize<Vec<T>>,
}

/// Sums over the lines that couple with one.
struct Lines<T> {
    u: Vec<T>,
    w: Vec<T>,
    /// Factors of the line itself.
    own: (T, T),
}

impl<T: Vectorized> GaussSeidel<T> {
    /// `rows` has one entry for each distinct cell size, and direction `d` takes entry `sizes[d]`: rows `1..=k` of a
    /// patch's mass and stiffness matrix, `2k + 1` entries each, mass row 1, stiffness row 1, mass row 2, and so on.
    ///
    /// # Panics
    /// If a direction has no entry.
    pub fn new(grid: Grid, dim: usize, rows: Vec<Vec<T>>, sizes: [usize; 3]) -> Self {
        Self { grid, dim, rows: BySize::new(rows, sizes, dim) }
    }

    /// `x_i += (b_i - (A x)_i) / A_ii` for all dofs, ascending or descending.
    #[inline(always)]
    pub fn sweep(&self, b: &[T], x: &mut [T], reverse: bool) {
        let [nodes, nodes_y] = [0, 1].map(|direction| self.grid.nodes(direction));
        let order = |nodes: usize| (1..nodes).map(move |node| if reverse { nodes - node } else { node });
        let zeros = || vec![T::ZERO; nodes + 1];
        let mut lines = Lines { u: zeros(), w: zeros(), own: (T::ZERO, T::ZERO) };
        // In 2D there is one plane.
        for z in order(if self.dim == 3 { self.grid.nodes(2) } else { 2 }) {
            for y in order(nodes_y) {
                self.sum_lines(x, y, z, &mut lines);
                let start = self.grid.offset_3d(0, y, if self.dim == 3 { z } else { 0 });
                let (b, x) = (&b[start..=start + nodes], &mut x[start..=start + nodes]);
                order(nodes).for_each(|node| self.relax(node, b, x, &mut lines));
            }
        }
    }

    /// Nodes that couple with one in a direction, with the entries of mass and stiffness.
    #[inline(always)]
    fn row(&self, direction: usize, node: usize) -> (Row, &[T], &[T]) {
        let (degree, rows) = (self.grid.degree as usize, self.rows.of(direction));
        let row = Row::of(degree, node);
        (row, &rows[row.mass(degree)..][..row.len], &rows[row.stiffness(degree)..][..row.len])
    }

    #[inline(always)]
    fn sum_lines(&self, x: &[T], y: usize, z: usize, lines: &mut Lines<T>) {
        lines.u.fill(T::ZERO);
        lines.w.fill(T::ZERO);
        let (row_y, mass_y, stiffness_y) = self.row(1, y);
        let mut plane = |z: usize, is_own: bool, mass: T, stiffness: T| {
            for j in 0..row_y.len {
                let factors = (mass * mass_y[j], stiffness * mass_y[j] + mass * stiffness_y[j]);
                if is_own && j == row_y.own {
                    lines.own = factors;
                }
                let start = self.grid.offset_3d(0, row_y.first + j, z);
                let line = &x[start..=start + self.grid.row()];
                for ((u, w), &value) in lines.u.iter_mut().zip(&mut lines.w).zip(line) {
                    *u = *u + factors.0 * value;
                    *w = *w + factors.1 * value;
                }
            }
        };
        if self.dim == 2 {
            return plane(0, true, T::from_f64(1.0), T::ZERO);
        }
        let (row_z, mass_z, stiffness_z) = self.row(2, z);
        for j in 0..row_z.len {
            plane(row_z.first + j, j == row_z.own, mass_z[j], stiffness_z[j]);
        }
    }

    #[inline(always)]
    fn relax(&self, node: usize, b: &[T], x: &mut [T], lines: &mut Lines<T>) {
        let (row, mass, stiffness) = self.row(0, node);
        let (u, w) = (&lines.u[row.first..][..row.len], &lines.w[row.first..][..row.len]);
        let mut residual = b[node];
        for j in 0..row.len {
            residual = residual - stiffness[j] * u[j] - mass[j] * w[j];
        }
        let diagonal = stiffness[row.own] * lines.own.0 + mass[row.own] * lines.own.1;
        let update = T::from_f64(residual.to_f64() / diagonal.to_f64());
        x[node] = x[node] + update;
        lines.u[node] = lines.u[node] + lines.own.0 * update;
        lines.w[node] = lines.w[node] + lines.own.1 * update;
    }
}
