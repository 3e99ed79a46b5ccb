//! Tensors of values on a few cells side by side, and 1D matrices applied to their modes.

use crate::error::Result;
use crate::fe::Quadrature;
use crate::space::Space;
use glam::DVec3;
use pulp::{Arch, Simd, WithSimd};

/// Cells that are treated at once, neighbours in x: one AVX-512 register of `f64`, two of AVX2.
pub const LANES: usize = 8;

/// The same number on each of the cells.
pub type Lanes = [f64; LANES];

/// A dense row-major 1D matrix.
pub struct Table {
    columns: usize,
    entries: Vec<f64>,
}

impl Table {
    /// From its rows, which have one length.
    pub fn from_rows(rows: impl Iterator<Item = Vec<f64>>) -> Self {
        let rows: Vec<_> = rows.collect();
        Self { columns: rows.first().map_or(0, Vec::len), entries: rows.concat() }
    }

    /// The transposed matrix.
    pub fn transposed(&self) -> Self {
        Self::from_rows((0..self.columns).map(|j| self.iter_rows().map(|row| row[j]).collect()))
    }

    /// Its rows.
    pub fn iter_rows(&self) -> impl Iterator<Item = &[f64]> {
        self.entries.chunks_exact(self.columns.max(1))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.entries.len() / self.columns.max(1)
    }
}

/// The basis at the quadrature points of a cell, scaled to the mesh.
pub struct Basis {
    dim: usize,
    h: f64,
    /// Points on `[0, 1]`, and weights with sum `h`.
    pub rule: Quadrature,
    /// `l_j(x_q)` in row `q`.
    pub values: Table,
    /// `l_j'(x_q) / h`.
    pub derivatives: Table,
}

impl Basis {
    /// At Gauss's points.
    pub fn new(space: &Space, points: usize) -> Result<Self> {
        let (h, element) = (space.mesh().cell_size(), space.element());
        let mut rule = Quadrature::gauss(points)?;
        rule.weights.iter_mut().for_each(|weight| *weight *= h);
        let values = Table::from_rows(rule.points.iter().map(|&x| element.values(x)));
        let scaled = |x: &f64| element.derivatives(*x).iter().map(|slope| slope / h).collect();
        let derivatives = Table::from_rows(rule.points.iter().map(scaled));
        Ok(Self { dim: space.dim(), h, rule, values, derivatives })
    }

    /// At the points of the rule for load vectors.
    pub fn of_loads(space: &Space) -> Result<Self> {
        let more = if matches!(space, Space::Continuous(_)) { 1 } else { 2 };
        Self::new(space, space.degree() + more)
    }

    /// `w_q l_j(x_q)` in row `j`.
    pub fn test(&self) -> Table {
        let weighted = self.values.iter_rows().zip(&self.rule.weights);
        Table::from_rows(weighted.map(|(row, weight)| row.iter().map(|v| weight * v).collect())).transposed()
    }

    /// Where quadrature point `q` of a cell lies; in 2D on the plane `z = 0`.
    pub fn point(&self, cell: [usize; 3], q: [usize; 3]) -> DVec3 {
        let coordinate = |d: usize| (cell[d] as f64 + self.rule.points[q[d]]) * self.h;
        DVec3::new(coordinate(0), coordinate(1), if self.dim == 2 { 0.0 } else { coordinate(2) })
    }

    /// Quadrature points of `cells` cells in a row.
    pub fn points_in_a_row(&self, cells: usize) -> impl Iterator<Item = f64> {
        (0..cells).flat_map(move |cell| self.rule.points.iter().map(move |x| (cell as f64 + x) * self.h))
    }
}

/// Position of entry `index` in a tensor of `size` entries a mode, first mode fastest.
pub fn unravel(index: usize, size: usize) -> [usize; 3] {
    [index % size, index / size % size, index / (size * size)]
}

/// `output[a][r][b] = sum_j table[r][j] input[a][j][b]` for `b < stride`, `a` as far as `input` reaches.
pub fn contract(arch: Arch, table: &Table, stride: usize, input: &[Lanes], output: &mut Vec<Lanes>) {
    output.resize(input.len() / table.columns * table.rows(), [0.0; LANES]);
    arch.dispatch(Contraction { table, stride, input, output });
}

struct Contraction<'a> {
    table: &'a Table,
    stride: usize,
    input: &'a [Lanes],
    output: &'a mut [Lanes],
}

impl WithSimd for Contraction<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { table, stride, input, output } = self;
        let blocks = input.chunks_exact(table.columns * stride).zip(output.chunks_exact_mut(table.rows() * stride));
        for (input, output) in blocks {
            for (row, output) in table.iter_rows().zip(output.chunks_exact_mut(stride)) {
                for (b, output) in output.iter_mut().enumerate() {
                    let mut sum = [0.0; LANES];
                    for (coefficient, values) in row.iter().zip(input[b..].iter().step_by(stride)) {
                        for (sum, value) in sum.iter_mut().zip(values) {
                            *sum += coefficient * value;
                        }
                    }
                    *output = sum;
                }
            }
        }
    }
}
