//! `y = A x` and `r = b - A x`, row by row along x. Of component `i` of the velocity, with the mass matrices `M` of the
//! continuous axis `i` and `D`, diagonal, of the others, the forms `ν L` of the continuous axis, `ν S` of the others, and
//! `G = ∫ q φ'`,
//!
//! ```text
//! ν L_i ⊗ D_j ⊗ D_l u_i + M_i ⊗ (ν S_j ⊗ D_l + ν D_j ⊗ S_l + s D_j ⊗ D_l) u_i - Gᵀ_i ⊗ D_j ⊗ D_l p,
//! ```
//!
//! and of the pressure `-Σ_i G_i ⊗ D_j ⊗ D_l u_i`. Across rows a matrix makes linear combinations of them, which stay in
//! cache: first in z, of a layer of cells, then in y. Along rows it is kept by diagonals, so that no lane needs another
//! one's nodes.

use super::StokesAxis as Axis;
use super::lines::{Band, Combination, Diagonals, GROUP, PaddedRows, along_x};
use crate::lanes::{CACHE_LINE, MAX_LANES, Vectorized, prefetch};
use crate::sweep::{Shared, Sweep, with_scratch};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Cells in y that are done together, layer after layer: with more of them fewer rows are computed twice, but more need be
/// in cache.
const CELLS_TOGETHER: usize = 4;

/// The matrices of a direction.
struct Matrices<M> {
    weights: M,
    /// `ν S`.
    form: M,
    mass: M,
    /// `ν L`.
    stiffness: M,
    divergence: M,
    gradient: M,
}

impl<M> Matrices<M> {
    fn new(axis: &Axis, make: impl Fn(&crate::AxisMatrix<f64>) -> M) -> Self {
        Self {
            weights: make(&axis.weights),
            form: make(&axis.form),
            mass: make(&axis.mass),
            stiffness: make(&axis.stiffness),
            divergence: make(&axis.divergence),
            gradient: make(&axis.divergence.transposed()),
        }
    }

    fn each(&self) -> [&M; 6] {
        let Self { weights, form, mass, stiffness, divergence, gradient } = self;
        [weights, form, mass, stiffness, divergence, gradient]
    }
}

/// The operator of a level.
pub struct Operator<T> {
    dim: usize,
    /// Stored in each direction; one in `z` in 2D.
    nodes: [usize; 3],
    /// Nodes of a cell in y, and in z.
    cell: [usize; 2],
    /// From a field to the next one.
    distance: usize,
    reaction: T,
    x: Matrices<Diagonals<T>>,
    /// Of y and z; in 2D that of z has one node of weight 1, which it couples to nothing.
    across: [Matrices<Band<T>>; 2],
}

impl<T: Vectorized> Operator<T> {
    /// Of `s u - ν Δu` and the axes of each direction.
    ///
    /// # Panics
    /// If there are not 2 or 3 axes.
    pub fn new(axes: &[Axis], nodes_per_cell: usize, distance: usize, reaction: f64) -> Self {
        let dim = axes.len();
        assert!(dim == 2 || dim == 3, "{dim} axes");
        let flat = Axis::flat();
        let z = axes.get(2).unwrap_or(&flat);
        Self {
            dim,
            nodes: [axes[0].weights.rows, axes[1].weights.rows, z.weights.rows],
            cell: [nodes_per_cell, if dim == 3 { nodes_per_cell } else { 1 }],
            distance,
            reaction: T::from_f64(reaction),
            x: Matrices::new(&axes[0], Diagonals::new),
            across: [&axes[1], z].map(|axis| Matrices::new(axis, Band::new)),
        }
    }

    /// `y = A x`, or `b - A x`.
    ///
    /// # Panics
    /// If a vector is shorter than the level's.
    pub fn apply(&self, sweep: Sweep, b: Option<&[T]>, x: &[T], y: &mut [T]) {
        let [along, rows, planes] = self.nodes;
        let len = self.dim * self.distance + along * rows * planes;
        assert!(x.len() >= len && y.len() >= len && b.is_none_or(|b| b.len() >= len));
        let y = Shared::new(y);
        let blocks = (rows / self.cell[0]).div_ceil(CELLS_TOGETHER) * (planes / self.cell[1]);
        let nodes_each = (self.dim + 1) * along * self.cell[0] * CELLS_TOGETHER * self.cell[1];
        sweep.share_out_by(1, blocks, nodes_each, &|range| {
            with_scratch(self.scratch(), |scratch: &mut [T]| {
                // Padding is read, and must be finite.
                scratch.fill(T::ZERO);
                // SAFETY: vectors of the level, of which no other range writes these rows.
                sweep.simd.dispatch(Part { operator: self, b, x, y, range, scratch });
            });
        });
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        let along = self.x.each().into_iter().map(Diagonals::bytes);
        let across = self.across[..self.dim - 1].iter().flat_map(Matrices::each).map(Band::bytes);
        along.chain(across).sum()
    }

    /// From a row of a workspace to the next one: its nodes, and what [`along_x`] reads around them.
    fn padded(&self) -> (usize, usize) {
        let padding = (2 * self.cell[0]).next_multiple_of(MAX_LANES);
        (padding, self.nodes[0].next_multiple_of(MAX_LANES) + 2 * padding)
    }

    /// Rows that wait in a workspace: those of a layer of cells, with the cells before and behind.
    fn waiting(&self) -> usize {
        (CELLS_TOGETHER + 2) * self.cell[0] * self.cell[1]
    }

    fn scratch(&self) -> usize {
        (3 * GROUP + self.waiting()) * self.padded().1
    }
}

/// Blocks, z fastest: the planes that neighbors share stay in cache.
struct Part<'a, T> {
    operator: &'a Operator<T>,
    b: Option<&'a [T]>,
    x: &'a [T],
    y: Shared<T>,
    range: Range<usize>,
    scratch: &'a mut [T],
}

impl<T: Vectorized> WithSimd for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { operator, b, x, y, range, scratch } = self;
        let ([cell, cell_z], (padding, apart)) = (operator.cell, operator.padded());
        let scratch = scratch.as_mut_ptr();
        let rows = |first: usize| PaddedRows { first: scratch.wrapping_add(first * apart + padding), apart };
        let (cells, layers) = (operator.nodes[1] / cell, operator.nodes[2] / cell_z);
        for (first, layer) in range.map(|index| (index / layers * CELLS_TOGETHER, index % layers)) {
            let last = cells.min(first + CELLS_TOGETHER);
            let block = Block {
                operator,
                b: b.map(<[T]>::as_ptr),
                x: x.as_ptr(),
                y: y.pointer(),
                rows: first * cell..last * cell,
                planes: layer * cell_z..(layer + 1) * cell_z,
                sources: [rows(0), rows(GROUP), rows(2 * GROUP)],
                waiting: rows(3 * GROUP),
            };
            // SAFETY: the vectors are as long as the level's, the scratch as long as needed, and no other part has these rows.
            unsafe {
                block.along_x::<S>();
                block.along_y::<S>();
                if operator.dim == 3 {
                    block.along_z::<S>();
                }
                block.pressure::<S>();
            }
        }
    }
}

/// Rows that are done together: of cells behind each other in y, and of a layer in z.
struct Block<'a, T> {
    operator: &'a Operator<T>,
    b: Option<*const T>,
    x: *const T,
    y: *mut T,
    rows: Range<usize>,
    planes: Range<usize>,
    /// What matrices along x are applied to.
    sources: [PaddedRows<T>; 3],
    /// What matrices in y are applied to, from the cell before the block on.
    waiting: PaddedRows<T>,
}

impl<T: Vectorized> Block<'_, T> {
    /// Where a row of a field begins.
    #[inline(always)]
    fn place(&self, field: usize, y: usize, z: usize) -> usize {
        let [along, rows, _] = self.operator.nodes;
        field * self.operator.distance + (z * rows + y) * along
    }

    /// A row of a field of `x`.
    #[inline(always)]
    fn row(&self, field: usize, y: usize, z: usize) -> *const T {
        self.x.wrapping_add(self.place(field, y, z))
    }

    /// `D` of y and of z.
    #[inline(always)]
    fn weights(&self, y: usize, z: usize) -> [T; 2] {
        let [along_y, along_z] = &self.operator.across;
        [(along_y, y), (along_z, z)].map(|(matrices, node)| matrices.weights.first_entry(node))
    }

    /// # Safety
    /// The rows must be those of the level.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, sum: &Combination<T>, result: *mut T) {
        // SAFETY: the caller's; rows of the workspace have room for whole registers.
        unsafe { sum.write::<S>(self.operator.nodes[0], result) };
    }

    /// Rows of a field: `prepare(y, z, sum, sources)` fills the sources of a row, and has `sum` to do it with.
    ///
    /// # Safety
    /// Vectors are those of the level, and nobody else has the rows.
    #[inline(always)]
    unsafe fn each_row<S: Simd, const N: usize>(
        &self,
        field: usize,
        matrices: [&Diagonals<T>; N],
        prepare: impl Fn(usize, usize, &mut Combination<T>, [*mut T; 3]),
    ) {
        let terms: [_; N] = core::array::from_fn(|source| (matrices[source], self.sources[source]));
        let (nodes, mut sum) = (self.operator.nodes[0], Combination::new());
        for z in self.planes.clone() {
            for y in self.rows.clone().step_by(GROUP) {
                let count = GROUP.min(self.rows.end - y);
                let place = self.place(field, y, z);
                let (b, result) = (self.b.map(|b| b.wrapping_add(place)), self.y.wrapping_add(place));
                // Needed after the sources are there, and by the next layer.
                let next_layer = self.row(field, y, z + self.planes.len());
                for node in (0..count * nodes).step_by(CACHE_LINE / size_of::<T>()) {
                    prefetch(result.wrapping_add(node));
                    prefetch(next_layer.wrapping_add(node));
                    if let Some(b) = b {
                        prefetch(b.wrapping_add(node));
                    }
                }
                for group in 0..count {
                    prepare(y + group, z, &mut sum, self.sources.map(|rows| rows.row(group)));
                }
                // SAFETY: the caller's; rows of the workspace have padding.
                unsafe {
                    match count {
                        1 => along_x::<S, T, 1>(&terms, b, result, nodes, nodes),
                        2 => along_x::<S, T, 2>(&terms, b, result, nodes, nodes),
                        3 => along_x::<S, T, 3>(&terms, b, result, nodes, nodes),
                        _ => along_x::<S, T, GROUP>(&terms, b, result, nodes, nodes),
                    }
                }
            }
        }
    }

    /// Row `y` of plane `z` of those that wait: of the block, and of the cells before and behind it.
    #[inline(always)]
    fn waiting_row(&self, y: usize, z: usize) -> *mut T {
        let rows = self.with_neighbors();
        self.waiting.row((z - self.planes.start) * rows.len() + y - rows.start)
    }

    #[inline(always)]
    fn with_neighbors(&self) -> Range<usize> {
        let cell = self.operator.cell[0];
        self.rows.start.saturating_sub(cell)..(self.rows.end + cell).min(self.operator.nodes[1])
    }

    /// Writes the rows that wait, of which `combine(y, z, sum)` makes the sums.
    ///
    /// # Safety
    /// As for [`Self::each_row`].
    #[inline(always)]
    unsafe fn wait<S: Simd>(&self, combine: impl Fn(usize, usize, &mut Combination<T>)) {
        let mut sum = Combination::new();
        for z in self.planes.clone() {
            for y in self.with_neighbors() {
                combine(y, z, sum.clear());
                // SAFETY: the caller's.
                unsafe { self.write::<S>(&sum, self.waiting_row(y, z)) };
            }
        }
    }

    /// Component x.
    ///
    /// # Safety
    /// As for [`Self::each_row`].
    #[inline(always)]
    unsafe fn along_x<S: Simd>(&self) {
        let Operator { dim, reaction, x, across: [along_y, along_z], .. } = self.operator;
        // SAFETY (this block): the caller's.
        unsafe {
            self.each_row::<S, 3>(
                0,
                [&x.stiffness, &x.mass, &x.gradient],
                #[inline(always)]
                |y, z, sum, [values, forms, pressures]| {
                    let [of_y, of_z] = self.weights(y, z);
                    let weight = of_y * of_z;
                    self.write::<S>(sum.clear().add(weight, self.row(0, y, z)), values);
                    self.write::<S>(sum.clear().add(T::ZERO - weight, self.row(*dim, y, z)), pressures);
                    sum.clear().add(weight * *reaction, self.row(0, y, z));
                    for (row, entry) in along_y.form.row(y) {
                        sum.add(entry * of_z, self.row(0, row, z));
                    }
                    for (plane, entry) in along_z.form.row(z) {
                        sum.add(entry * of_y, self.row(0, y, plane));
                    }
                    self.write::<S>(sum, forms);
                },
            );
        }
    }

    /// Component y.
    ///
    /// # Safety
    /// As for [`Self::each_row`].
    #[inline(always)]
    unsafe fn along_y<S: Simd>(&self) {
        let Operator { dim, reaction, x, across: [along_y, along_z], .. } = self.operator;
        // SAFETY (this block): the caller's.
        unsafe {
            self.wait::<S>(
                #[inline(always)]
                |y, z, sum| {
                    let [_, of_z] = self.weights(y, z);
                    sum.add(*reaction * of_z, self.row(1, y, z));
                    for (plane, entry) in along_z.form.row(z) {
                        sum.add(entry, self.row(1, y, plane));
                    }
                },
            );
            self.each_row::<S, 2>(
                1,
                [&x.weights, &x.form],
                #[inline(always)]
                |y, z, sum, [sums, masses, _]| {
                    let [_, of_z] = self.weights(y, z);
                    sum.clear();
                    for (row, entry) in along_y.mass.row(y) {
                        sum.add(entry * of_z, self.row(1, row, z));
                    }
                    self.write::<S>(sum, masses);
                    sum.clear();
                    for (row, entry) in along_y.stiffness.row(y) {
                        sum.add(entry * of_z, self.row(1, row, z));
                    }
                    for (row, entry) in along_y.mass.row(y) {
                        sum.add(entry, self.waiting_row(row, z));
                    }
                    for (row, entry) in along_y.gradient.row(y) {
                        sum.add(T::ZERO - entry * of_z, self.row(*dim, row, z));
                    }
                    self.write::<S>(sum, sums);
                },
            );
        }
    }

    /// Component z.
    ///
    /// # Safety
    /// As for [`Self::each_row`].
    #[inline(always)]
    unsafe fn along_z<S: Simd>(&self) {
        let Operator { dim, reaction, x, across: [along_y, along_z], .. } = self.operator;
        // SAFETY (this block): the caller's.
        unsafe {
            self.wait::<S>(
                #[inline(always)]
                |y, z, sum| {
                    for (plane, entry) in along_z.mass.row(z) {
                        sum.add(entry, self.row(2, y, plane));
                    }
                },
            );
            self.each_row::<S, 2>(
                2,
                [&x.weights, &x.form],
                #[inline(always)]
                |y, z, sum, [sums, masses, _]| {
                    let [of_y, _] = self.weights(y, z);
                    self.write::<S>(sum.clear().add(of_y, self.waiting_row(y, z)), masses);
                    sum.clear().add(*reaction * of_y, self.waiting_row(y, z));
                    for (row, entry) in along_y.form.row(y) {
                        sum.add(entry, self.waiting_row(row, z));
                    }
                    for (plane, entry) in along_z.stiffness.row(z) {
                        sum.add(entry * of_y, self.row(2, y, plane));
                    }
                    for (plane, entry) in along_z.gradient.row(z) {
                        sum.add(T::ZERO - entry * of_y, self.row(*dim, y, plane));
                    }
                    self.write::<S>(sum, sums);
                },
            );
        }
    }

    /// The pressure.
    ///
    /// # Safety
    /// As for [`Self::each_row`].
    #[inline(always)]
    unsafe fn pressure<S: Simd>(&self) {
        let Operator { dim, x, across: [along_y, along_z], .. } = self.operator;
        // SAFETY (this block): the caller's.
        unsafe {
            self.each_row::<S, 2>(
                *dim,
                [&x.divergence, &x.weights],
                #[inline(always)]
                |y, z, sum, [values, sums, _]| {
                    let [of_y, of_z] = self.weights(y, z);
                    self.write::<S>(sum.clear().add(T::ZERO - of_y * of_z, self.row(0, y, z)), values);
                    sum.clear();
                    for (row, entry) in along_y.divergence.row(y) {
                        sum.add(T::ZERO - entry * of_z, self.row(1, row, z));
                    }
                    if *dim == 3 {
                        for (plane, entry) in along_z.divergence.row(z) {
                            sum.add(T::ZERO - entry * of_y, self.row(2, y, plane));
                        }
                    }
                    self.write::<S>(sum, sums);
                },
            );
        }
    }
}
