//! Tensors of values on a few cells side by side, and 1D matrices applied to their modes.

use crate::error::Result;
use crate::fe::Quadrature;
use crate::space::{Axis, Family, Space};
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

/// The basis of an axis at the quadrature points of its cells. Equal cells have their size `h` in the tables, graded ones have it
/// as factors: in the tables `h` is 1.
pub struct Basis {
    axis: Axis,
    /// Points on `[0, 1]`, and weights whose sum is the cell size `h`.
    pub rule: Quadrature,
    /// `l_j(x_q)` in row `q`.
    pub values: Table,
    /// `l_j'(x_q) / h`.
    pub derivatives: Table,
}

impl Basis {
    /// At Gauss's points.
    pub fn new(axis: &Axis, points: usize) -> Result<Self> {
        let mut rule = Quadrature::gauss(points)?;
        let size = if axis.is_uniform() { axis.cell_size() } else { 1.0 };
        rule.weights.iter_mut().for_each(|weight| *weight *= size);
        Ok(Self::at(axis, rule))
    }

    /// At an end of a cell, 0 or 1, with weight 1.
    pub fn at_end(axis: &Axis, end: f64) -> Self {
        Self::at(axis, Quadrature { points: vec![end], weights: vec![1.0] })
    }

    fn at(axis: &Axis, rule: Quadrature) -> Self {
        let (cell_size, element) = (if axis.is_uniform() { axis.cell_size() } else { 1.0 }, axis.element());
        let values = Table::from_rows(rule.points.iter().map(|&x| element.values(x)));
        let scaled = |x: &f64| element.derivatives(*x).iter().map(|slope| slope / cell_size).collect();
        let derivatives = Table::from_rows(rule.points.iter().map(scaled));
        Self { axis: axis.clone(), rule, values, derivatives }
    }

    /// At the points of the rule for load vectors.
    pub fn of_loads(axis: &Axis) -> Result<Self> {
        Self::of_loads_with(axis, 0)
    }

    /// The same with so many points more.
    pub fn of_loads_with(axis: &Axis, more: usize) -> Result<Self> {
        let points = match axis.family() {
            Family::Continuous => 1,
            Family::Discontinuous => 2,
        };
        Self::new(axis, axis.degree() + points + more)
    }

    /// At the points of the rule for error norms.
    pub fn of_norms(axis: &Axis) -> Result<Self> {
        Self::new(axis, axis.degree() + 3)
    }

    /// `∫ f φ_i` for all stored nodes of the axis, zero before the first unknown, from the values of `f` at the
    /// [points in a row](Self::points_in_a_row); if `derived`, `∫ f φ_i'`.
    pub fn integrals(&self, values: &[f64], derived: bool) -> Vec<f64> {
        let axis = &self.axis;
        let table = if derived { &self.derivatives } else { &self.values };
        // The last node of continuous elements may not be stored.
        let mut integrals = vec![0.0; axis.all_nodes()];
        for (cell, values) in values.chunks_exact(self.points()).enumerate() {
            let factor = if derived { 1.0 } else { self.factor(cell) };
            for ((value, weight), functions) in values.iter().zip(&self.rule.weights).zip(table.iter_rows()) {
                for (entry, function) in integrals[cell * axis.stride()..].iter_mut().zip(functions) {
                    *entry += weight * (factor * value) * function;
                }
            }
        }
        integrals[..axis.unknown_nodes().start].fill(0.0);
        integrals.resize(axis.stored_nodes(), 0.0);
        integrals
    }

    /// `w_q l_j(x_q)` in row `j`.
    pub fn test(&self) -> Table {
        let weighted = self.values.iter_rows().zip(&self.rule.weights);
        Table::from_rows(weighted.map(|(row, weight)| row.iter().map(|v| weight * v).collect())).transposed()
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.rule.points.len()
    }

    /// Coordinate of quadrature point `q` of a cell.
    pub fn coordinate(&self, cell: usize, q: usize) -> f64 {
        self.axis.at(cell, self.rule.points[q])
    }

    /// What a cell's weights are to be multiplied by, and derivatives divided by: 1 if all cells are equal.
    pub fn factor(&self, cell: usize) -> f64 {
        if self.axis.is_uniform() { 1.0 } else { self.axis.width(cell) }
    }

    /// Quadrature points of `cells` cells in a row.
    pub fn points_in_a_row(&self, cells: usize) -> impl Iterator<Item = f64> {
        (0..cells).flat_map(move |cell| (0..self.points()).map(move |q| self.coordinate(cell, q)))
    }
}

/// The bases of a space in each direction.
pub struct Bases(pub Vec<Basis>);

impl Bases {
    /// Of each axis.
    pub fn new(space: &Space, basis: impl Fn(&Axis) -> Result<Basis>) -> Result<Self> {
        space.axes().iter().map(basis).collect::<Result<_>>().map(Self)
    }

    /// Quadrature points of a cell in each direction; in 2D one in the third.
    pub fn points(&self) -> [usize; 3] {
        [0, 1, 2].map(|d| self.0.get(d).map_or(1, Basis::points))
    }

    /// Weights of the quadrature points of a cell, but for its [factors](Self::factor).
    pub fn weights(&self) -> Vec<f64> {
        let weight = |q: [usize; 3]| self.0.iter().zip(q).map(|(basis, q)| basis.rule.weights[q]).product();
        (0..self.points().iter().product()).map(|index| weight(unravel(index, self.points()))).collect()
    }

    /// Where quadrature point `q` of a cell lies; in 2D on the plane `z = 0`.
    pub fn point(&self, cell: [usize; 3], q: [usize; 3]) -> DVec3 {
        DVec3::from_array([0, 1, 2].map(|d| self.0.get(d).map_or(0.0, |basis| basis.coordinate(cell[d], q[d]))))
    }

    /// [`Basis::factor`] of a cell in a direction; in 2D 1 in the third.
    pub fn factor(&self, cell: [usize; 3], direction: usize) -> f64 {
        self.0.get(direction).map_or(1.0, |basis| basis.factor(cell[direction]))
    }
}

/// Nodes of a cell in each direction; in 2D one in the third.
pub fn cell_nodes(space: &Space) -> [usize; 3] {
    [0, 1, 2].map(|d| space.axes().get(d).map_or(1, |axis| axis.degree() + 1))
}

/// First nodes of a cell in each direction.
pub fn first_nodes(space: &Space, cell: [usize; 3]) -> [usize; 3] {
    [0, 1, 2].map(|d| space.axes().get(d).map_or(0, |axis| cell[d] * axis.stride()))
}

/// Position of entry `index` in a tensor of so many entries a mode, first mode fastest.
pub fn unravel(index: usize, sizes: [usize; 3]) -> [usize; 3] {
    [index % sizes[0], index / sizes[0] % sizes[1], index / (sizes[0] * sizes[1])]
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
    fn with_simd<S: Simd>(self, simd: S) {
        // A register has a part of the lanes, or all: parts of all cells lie side by side.
        let stride = self.stride * LANES / S::F64_LANES;
        let (input, _) = S::as_simd_f64s(self.input.as_flattened());
        let (output, _) = S::as_mut_simd_f64s(self.output.as_flattened_mut());
        let columns = self.table.columns;
        let blocks = input.chunks_exact(columns * stride).zip(output.chunks_exact_mut(self.table.rows() * stride));
        for (input, output) in blocks {
            for (row, output) in self.table.iter_rows().zip(output.chunks_exact_mut(stride)) {
                match columns {
                    3 => along_lines::<S, 3>(simd, row, input, output),
                    4 => along_lines::<S, 4>(simd, row, input, output),
                    5 => along_lines::<S, 5>(simd, row, input, output),
                    6 => along_lines::<S, 6>(simd, row, input, output),
                    7 => along_lines::<S, 7>(simd, row, input, output),
                    8 => along_lines::<S, 8>(simd, row, input, output),
                    _ => along_any_lines(simd, row, input, output),
                }
            }
        }
    }
}

/// A row of the matrix times lines side by side, with its entries in registers.
#[inline(always)]
fn along_lines<S: Simd, const COLUMNS: usize>(simd: S, row: &[f64], input: &[S::f64s], output: &mut [S::f64s]) {
    let stride = output.len();
    let lines: [&[S::f64s]; COLUMNS] = std::array::from_fn(|j| &input[j * stride..][..stride]);
    let entries: [S::f64s; COLUMNS] = std::array::from_fn(|j| simd.splat_f64s(row[j]));
    for (b, output) in output.iter_mut().enumerate() {
        let mut sum = simd.splat_f64s(0.0);
        for j in 0..COLUMNS {
            sum = simd.mul_add_f64s(entries[j], lines[j][b], sum);
        }
        *output = sum;
    }
}

/// The same for any number of columns.
#[inline(always)]
fn along_any_lines<S: Simd>(simd: S, row: &[f64], input: &[S::f64s], output: &mut [S::f64s]) {
    let stride = output.len();
    for (b, output) in output.iter_mut().enumerate() {
        let mut sum = simd.splat_f64s(0.0);
        for (&entry, &value) in row.iter().zip(input[b..].iter().step_by(stride)) {
            sum = simd.mul_add_f64s(simd.splat_f64s(entry), value, sum);
        }
        *output = sum;
    }
}
