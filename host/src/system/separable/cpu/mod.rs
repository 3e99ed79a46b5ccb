//! Levels on the CPU. Kernels run on a lattice that has more cells beyond the sides: those of plain boxes where the cells of each direction are equal,
//! and even numbers; elsewhere kernels with numbers of each cell and patch.
//!
//! The smoother takes images there: beyond a Neumann side those of a mirror, beyond a periodic one the cells at the opposite side. So all vertices that
//! have a patch are inside, and patches are whole: what a whole patch on a Neumann side does to a vector and its mirror image,
//! half of it does to the vector. The residual of the whole is twice that of the half there, so `b` counts twice. The operator and the restriction
//! integrate over the cells of the level alone, which is what a Neumann side means; at a period they add up what they find at both ends.
//!
//! On equal cells the matrix of `-div(diag(c) ∇u) + s u` is `φ = √(c_x c_y [c_z])` times that of `-Δu + s u` on cells of widths `h' = h / √c`.

mod graded;

use super::level::{self, Kernels, Products, Scope, SeparableLevel, Steps, Transfers};
use super::line::{Ends, Line};
use super::{Separable, patches};
use crate::backend::cpu::{Cpu, Vector};
use crate::backend::{Backend, Scalar};
use crate::error::{Result, check_length};
use crate::level::SharedLevel;
use crate::operator::vector_bytes;
use crate::sync::lock;
use crate::system::poisson::{cpu as poisson, forms::ContinuousForm};
use crate::system::scalar::in_scalar;
use crate::system::{Runs, System};
use patchmg_cpu::{LatticeKernels, Prepared};
use patchmg_device::patch::Grid;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

impl Runs<Separable> for Cpu {
    fn check<T: Scalar>(&self, _system: &Separable) -> Result<()> {
        Ok(())
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        in_scalar(
            || Ok(Arc::new(SeparableLevel::<Self, f32>::new(self, system, kernels(self, system)?)?)),
            || Ok(Arc::new(SeparableLevel::<Self, f64>::new(self, system, kernels(self, system)?)?)),
        )
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        in_scalar(
            || Ok(Arc::new(SeparableLevel::<Self, f32>::for_products(self, system, products(self, system)?)?)),
            || Ok(Arc::new(SeparableLevel::<Self, f64>::for_products(self, system, products(self, system)?)?)),
        )
    }

    fn level_bytes<T: Scalar>(system: &Separable) -> u64 {
        let Some(lattice) = Lattice::of(system) else {
            return level::bytes::<Self, T>(system) + patches::bytes::<T>(system);
        };
        let dim = system.dim();
        if system.is_large_patch() {
            let vectors = vector_bytes::<T>(2, lattice.grid.storage(dim));
            let of_cells = if lattice.has_equal_cells { 0 } else { graded::bytes::<T>(system) };
            return level::bytes_of_solution::<T>(system) + vectors + of_cells;
        }
        if !lattice.has_equal_cells {
            let vectors = vector_bytes::<T>(2, lattice.grid.storage(dim));
            return level::bytes_with_kernels::<Self, T>(system, false) + vectors + graded::bytes::<T>(system);
        }
        let halves = system.halves_all();
        let coarse = if halves { vector_bytes::<T>(1, lattice.grid.coarser().storage(dim)) } else { 0 };
        level::bytes_with_kernels::<Self, T>(system, halves) + vector_bytes::<T>(2, lattice.grid.storage(dim)) + coarse
    }
}

/// The kernels of a level.
fn kernels<T: Scalar + Prepared>(cpu: &Arc<Cpu>, system: &Separable) -> Result<Kernels<Cpu, T>> {
    if system.is_large_patch() {
        return Ok(Kernels { products: products(cpu, system)?, ..Kernels::NONE });
    }
    let Some(lattice) = Lattice::of(system) else { return Ok(Kernels::NONE) };
    if !lattice.has_equal_cells {
        let extended = Arc::new(graded::extended(cpu, system, lattice)?);
        return Ok(Kernels {
            steps: Some(Box::new(extended.clone())),
            products: Some(Box::new(extended)),
            transfers: None,
        });
    }
    let extended = Arc::new(Extended::of_equal_cells(cpu, system, lattice)?);
    let transfer = Transfer::of(&extended, system)?;
    Ok(Kernels {
        steps: Some(Box::new(extended.clone())),
        products: Some(Box::new(extended)),
        transfers: transfer.map(|transfer| -> Box<dyn Transfers<Cpu, T>> { Box::new(transfer) }),
    })
}

/// Those of the operator, if there are some.
fn products<T: Scalar + Prepared>(cpu: &Arc<Cpu>, system: &Separable) -> Result<Option<Box<dyn Products<Cpu, T>>>> {
    let Some(lattice) = Lattice::of(system) else { return Ok(None) };
    Ok(Some(if lattice.has_equal_cells {
        Box::new(Arc::new(Extended::of_equal_cells(cpu, system, lattice)?))
    } else {
        Box::new(Arc::new(graded::extended(cpu, system, lattice)?))
    }))
}

/// A direction of the lattice. In 2D the third has one node.
#[derive(Debug)]
struct Along {
    /// The node of the lattice that is the first of the level, and the one that is the last.
    nodes: [usize; 2],
    /// Nodes of the level that are unknowns.
    unknowns: Range<usize>,
    /// Nodes of the lattice that have the values of others: `(node, other)`. The others are unknowns.
    images: Vec<(usize, usize)>,
    /// Unknowns at Neumann sides.
    halves: Vec<usize>,
    is_periodic: bool,
}

impl Along {
    const SINGLE: Self =
        Self { nodes: [0, 0], unknowns: 0..1, images: Vec::new(), halves: Vec::new(), is_periodic: false };

    /// With the level's first node at a node of the lattice, and images of so many nodes.
    fn new(line: &Line, first: usize, images: usize) -> Self {
        let last = line.nodes() - 1;
        let (is_periodic, mut pairs) = (line.ends == Ends::Periodic, Vec::new());
        for distance in 1..=images {
            let [below, above] = if is_periodic { [last - distance, distance] } else { [distance, last - distance] };
            if !line.is_given(0) {
                pairs.push((first - distance, first + below));
            }
            if !line.is_given(1) {
                pairs.push((first + last + distance, first + above));
            }
        }
        if is_periodic {
            pairs.push((first + last, first));
        }
        let halves = match line.ends {
            Ends::Open(natural) => {
                [0, last].into_iter().zip(natural).filter_map(|(node, is)| is.then_some(node)).collect()
            }
            Ends::Periodic => Vec::new(),
        };
        Self { nodes: [first, first + last], unknowns: line.unknowns(), images: pairs, halves, is_periodic }
    }

    /// 2 for a node at a Neumann side, or 1.
    fn weight(&self, node: usize) -> f64 {
        if self.halves.contains(&node) { 2.0 } else { 1.0 }
    }

    /// The unknown of the level at a node of the lattice.
    fn unknown(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.nodes[0]).filter(|node| self.unknowns.contains(node))
    }
}

/// Cells of a level and beyond its sides.
#[derive(Debug)]
struct Lattice {
    grid: Grid,
    dim: usize,
    along: [Along; 3],
    /// Nodes that the level stores.
    stored: [usize; 3],
    /// The cells of the level.
    cells: [Range<u32>; 3],
    /// The cells that have patches: those, and one beyond each side that is not Dirichlet's.
    smoothed: [Range<u32>; 3],
    /// Whether the cells of each direction are equal and even in number.
    has_equal_cells: bool,
}

impl Lattice {
    /// Beyond a side lies a cell that patches have, and one that makes the lattice's own boundary, which is zero. One more follows behind an odd number
    /// of them.
    const BEYOND: usize = 2;

    /// None for a direction of at most three cells, an odd number of cells in a period, where neighbours would have one color, and for
    /// discontinuous elements.
    fn of(system: &Separable) -> Option<Self> {
        let is_other = |line: &Line| {
            line.is_short() || line.is_discontinuous() || (line.joins_ends() && line.axis.cells() % 2 == 1)
        };
        if system.lines().iter().any(is_other) {
            return None;
        }
        let mut lattice = Self::new(system, Self::BEYOND, system.space().degree())?;
        lattice.smoothed = lattice.cells.clone();
        for (d, (cells, line)) in lattice.smoothed.iter_mut().zip(system.lines()).enumerate() {
            // The operator's tiles are pairs of cells.
            lattice.grid.cells[d] = lattice.grid.cells[d].next_multiple_of(2);
            cells.start -= u32::from(!line.is_given(0));
            cells.end += u32::from(!line.is_given(1));
        }
        Some(lattice)
    }

    /// With so many cells beyond each side that is not Dirichlet's, and images of so many nodes; none if it has too many cells.
    fn new(system: &Separable, beyond: usize, images: usize) -> Option<Self> {
        let degree = system.space().degree();
        let mut lattice = Self {
            grid: Grid { cells: [1; 3], degree: degree as u32 },
            dim: system.dim(),
            along: [Along::SINGLE, Along::SINGLE, Along::SINGLE],
            stored: system.space().stored_nodes(),
            cells: [0..1, 0..1, 0..1],
            smoothed: [0..1, 0..1, 0..1],
            has_equal_cells: system.lines().iter().all(|line| line.axis.is_uniform() && line.axis.cells() % 2 == 0),
        };
        for (d, line) in system.lines().iter().enumerate() {
            let [below, above] = [0, 1].map(|side| if line.is_given(side) { 0 } else { beyond });
            let end = below + line.axis.cells();
            lattice.grid.cells[d] = u32::try_from(end + above).ok()?;
            lattice.cells[d] = below as u32..end as u32;
            lattice.along[d] = Along::new(line, below * degree, images);
        }
        Some(lattice)
    }

    /// Entries of a vector of the lattice that are nodes.
    fn nodes(&self) -> usize {
        (0..self.dim).map(|d| self.grid.nodes(d)).product()
    }

    /// Does `body(part, inner)` for all tensors of a vector up to a direction, where `inner` entries have one node along it.
    fn for_tensors<T: Send>(&self, cpu: &Cpu, d: usize, extended: &mut [T], body: impl Fn(&mut [T], usize) + Sync) {
        let inner: usize = (0..d).map(|d| self.grid.nodes(d)).product();
        for_rows(cpu, &mut extended[..self.nodes()], inner * self.grid.nodes(d), |_, part| body(part, inner));
    }

    /// Unknowns of the level times `factor` and, if `weighted`, 2 for each Neumann side that a node is at; and images.
    fn extend<T: Scalar>(&self, cpu: &Cpu, vector: &[T], factor: f64, weighted: bool, extended: &mut [T]) {
        let ([along_x, along_y, along_z], [row, rows, _]) = (&self.along, self.stored);
        let [row_of_grid, rows_of_grid] = [0, 1].map(|d| self.grid.nodes(d));
        let Range { start, end } = along_x.unknowns;
        let first = along_x.nodes[0];
        for_rows(cpu, &mut extended[..self.nodes()], row_of_grid, |index, to| {
            let (y, z) = (along_y.unknown(index % rows_of_grid), along_z.unknown(index / rows_of_grid));
            let (Some(y), Some(z)) = (y, z) else { return };
            let from = &vector[(z * rows + y) * row..][start..end];
            let to = &mut to[first + start..first + end];
            let weight = if weighted { factor * along_y.weight(y) * along_z.weight(z) } else { factor };
            if weight == 1.0 {
                to.copy_from_slice(from);
            } else {
                let weight = T::from_f64(weight);
                to.iter_mut().zip(from).for_each(|(to, from)| *to = weight * *from);
            }
            if weighted {
                along_x.halves.iter().for_each(|&node| to[node - start] = to[node - start] + to[node - start]);
            }
        });
        self.set_images(cpu, extended);
    }

    /// Values of images.
    fn set_images<T: Scalar>(&self, cpu: &Cpu, extended: &mut [T]) {
        for (d, along) in self.along.iter().enumerate().filter(|(_, along)| !along.images.is_empty()) {
            self.for_tensors(cpu, d, extended, |part, inner| {
                for &(to, from) in &along.images {
                    part.copy_within(from * inner..(from + 1) * inner, to * inner);
                }
            });
        }
    }

    /// Zeros at the last node of each direction, to which integrals over the level's cells are added.
    fn clear_ends<T: Scalar>(&self, cpu: &Cpu, extended: &mut [T]) {
        for d in 0..self.dim {
            let [_, last] = self.along[d].nodes;
            // That of a Dirichlet side may be the grid's own, which is not stored.
            if last < self.grid.nodes(d) {
                self.for_tensors(cpu, d, extended, |part, inner| part[last * inner..][..inner].fill(T::ZERO));
            }
        }
    }

    /// Adds integrals at the ends of periods to those at their starts.
    fn join_periods<T: Scalar>(&self, cpu: &Cpu, extended: &mut [T]) {
        for (d, along) in self.along.iter().enumerate().filter(|(_, along)| along.is_periodic) {
            let [first, last] = along.nodes;
            self.for_tensors(cpu, d, extended, |part, inner| {
                let (start, end) = part.split_at_mut(last * inner);
                start[first * inner..].iter_mut().zip(&end[..inner]).for_each(|(start, end)| *start = *start + *end);
            });
        }
    }

    /// `put(entry, value)` for all unknowns of the level and the values of the lattice there, times `factor`.
    fn reduce<T: Scalar>(
        &self,
        cpu: &Cpu,
        extended: &[T],
        factor: f64,
        vector: &mut [T],
        put: impl Fn(usize, &mut T, T) + Sync,
    ) {
        let ([along_x, along_y, along_z], [row, rows, planes]) = (&self.along, self.stored);
        let [row_of_grid, rows_of_grid] = [0, 1].map(|d| self.grid.nodes(d));
        let (range, factor) = (along_x.unknowns.clone(), T::from_f64(factor));
        for_rows(cpu, &mut vector[..row * rows * planes], row, |index, to| {
            let (y, z) = (index % rows, index / rows);
            if along_y.unknowns.contains(&y) && along_z.unknowns.contains(&z) {
                let from = (along_z.nodes[0] + z) * rows_of_grid + along_y.nodes[0] + y;
                let from = &extended[from * row_of_grid + along_x.nodes[0]..][range.clone()];
                for (node, (to, from)) in to[range.clone()].iter_mut().zip(from).enumerate() {
                    put(index * row + range.start + node, to, factor * *from);
                }
            }
        });
    }
}

/// Entries that a task takes at least.
const TASK: usize = 1 << 14;

/// Does `body(index, row)` for rows of so many entries.
fn for_rows<T: Send>(cpu: &Cpu, vector: &mut [T], len: usize, body: impl Fn(usize, &mut [T]) + Sync) {
    let (rows, all) = ((TASK / len).max(1), vector.len());
    let task = |(task, chunk): (usize, &mut [T])| {
        chunk.chunks_exact_mut(len).enumerate().for_each(|(index, row)| body(task * rows + index, row));
    };
    if all <= rows * len {
        return task((0, vector));
    }
    cpu.install(|| vector.par_chunks_mut(rows * len).enumerate().for_each(task));
}

/// The kernels of a lattice, with vectors to compute with.
struct Extended<T, K: ?Sized = dyn patchmg_cpu::Kernels<T>> {
    cpu: Arc<Cpu>,
    kernels: Box<K>,
    lattice: Lattice,
    /// Entries of the level's vectors.
    storage: usize,
    /// `φ`, or 1 where cells are not equal and even in number.
    factor: f64,
    vectors: Mutex<Vectors<T>>,
}

struct Vectors<T> {
    x: Vector<T>,
    /// `b`, or `A x`.
    other: Vector<T>,
}

impl<T: Scalar + Prepared> Extended<T> {
    fn of_equal_cells(cpu: &Arc<Cpu>, system: &Separable, lattice: Lattice) -> Result<Self> {
        let (dim, grid, reaction) = (system.dim(), lattice.grid, system.equation().reaction);
        let widths = system.lines().iter().zip(system.diffusion()).map(|(line, c)| line.axis.cell_size() / c.sqrt());
        let (mut known, mut forms, mut of_direction) = (Vec::new(), Vec::new(), [0; 3]);
        for (width, of_direction) in widths.zip(&mut of_direction) {
            // With a reaction x has a form of its own.
            let shared = |(index, known): (usize, &f64)| *known == width && (reaction == 0.0 || index > 0);
            let index = known.iter().enumerate().position(shared).unwrap_or(known.len());
            if index == known.len() {
                known.push(width);
                forms.push(ContinuousForm::new(system.space().axes()[0].element(), width)?);
            }
            *of_direction = index;
        }
        let mut space = poisson::continuous(dim, grid, (&forms, of_direction), reaction)?;
        space.smoothed = lattice.smoothed.clone();
        space.integrated = lattice.cells.clone();
        let kernels = T::continuous(space).ok_or_else(|| poisson::unsupported(grid.degree as usize))?;
        Self::new(cpu, system, lattice, kernels, system.diffusion().iter().product::<f64>().sqrt())
    }
}

impl<T: Scalar + Prepared, K: LatticeKernels<T> + ?Sized> Extended<T, K> {
    fn new(cpu: &Arc<Cpu>, system: &Separable, lattice: Lattice, kernels: Box<K>, factor: f64) -> Result<Self> {
        let vector = || cpu.zeros::<T>(lattice.grid.storage(lattice.dim));
        let vectors = Mutex::new(Vectors { x: vector()?, other: vector()? });
        Ok(Self { cpu: cpu.clone(), kernels, storage: system.space().storage(), factor, vectors, lattice })
    }

    fn check(&self, vectors: &[(&'static str, &Vector<T>)]) -> Result<()> {
        vectors.iter().try_for_each(|(what, vector)| check_length(what, self.storage, vector.len()))
    }

    /// `x`, and `b` as the smoother and the restriction take it.
    fn extend(&self, b: &[T], x: &[T], vectors: &mut Vectors<T>) {
        self.lattice.extend(&self.cpu, b, 1.0 / self.factor, true, &mut vectors.other);
        self.lattice.extend(&self.cpu, x, 1.0, false, &mut vectors.x);
    }

    /// `A x / φ`, in the other vector.
    fn product(&self, x: &[T], Vectors { x: extended, other }: &mut Vectors<T>) {
        self.lattice.extend(&self.cpu, x, 1.0, false, extended);
        self.lattice.clear_ends(&self.cpu, other);
        self.kernels.apply(self.cpu.sweep(), extended, other);
        self.lattice.join_periods(&self.cpu, other);
    }
}

impl<T: Scalar + Prepared, K: LatticeKernels<T> + ?Sized> Products<Cpu, T> for Arc<Extended<T, K>> {
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.check(&[("x", x), ("y", y)])?;
        let vectors = &mut *lock(&self.vectors);
        self.product(x, vectors);
        self.lattice.reduce(&self.cpu, &vectors.other, self.factor, y, |_, y, value| *y = value);
        Ok(())
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check(&[("b", b), ("x", x), ("r", r)])?;
        let vectors = &mut *lock(&self.vectors);
        self.product(x, vectors);
        self.lattice.reduce(&self.cpu, &vectors.other, self.factor, r, |entry, r, value| *r = b[entry] - value);
        Ok(())
    }
}

impl<T: Scalar + Prepared, K: LatticeKernels<T> + ?Sized> Steps<Cpu, T> for Arc<Extended<T, K>> {
    fn smooth(&self, scope: Scope, colors: &[usize], b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check(&[("b", b), ("x", x)])?;
        let vectors = &mut *lock(&self.vectors);
        self.extend(b, x, vectors);
        let Vectors { x: extended, other } = vectors;
        for &color in colors {
            let (sweep, color) = (self.cpu.sweep(), color as u32);
            match scope {
                Scope::All => self.kernels.smooth_color(sweep, color, other, extended),
                Scope::Corrections => self.kernels.smooth_color_of_corrections(sweep, color, other, extended),
            }
            self.lattice.set_images(&self.cpu, extended);
        }
        self.lattice.reduce(&self.cpu, extended, 1.0, x, |_, x, value| *x = value);
        Ok(())
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        Ok(Vec::new())
    }
}

/// To and from a next coarser level that has half as many cells in every direction.
struct Transfer<T> {
    fine: Arc<Extended<T>>,
    coarse: Lattice,
    /// Entries of the coarse level's vectors.
    storage: usize,
    /// On the coarse lattice.
    vector: Mutex<Vector<T>>,
}

impl<T: Scalar + Prepared> Transfer<T> {
    /// None from another level.
    fn of(fine: &Arc<Extended<T>>, system: &Separable) -> Result<Option<Self>> {
        let Some(coarser) = system.coarser().filter(|_| system.halves_all()).transpose()? else { return Ok(None) };
        let Some(coarse) = Lattice::new(&coarser, Lattice::BEYOND / 2, 0) else { return Ok(None) };
        let vector = Mutex::new(fine.cpu.zeros(coarse.grid.storage(coarse.dim))?);
        Ok(Some(Self { fine: fine.clone(), coarse, storage: coarser.space().storage(), vector }))
    }

    /// `coarse = φ Pᵀ (b - A x)` of the lattice's vectors.
    fn restrict_vectors(&self, Vectors { x, other }: &Vectors<T>, coarse: &mut Vector<T>) -> Result<()> {
        check_length("coarse", self.storage, coarse.len())?;
        let (Extended { cpu, kernels, factor, .. }, extended) = (&*self.fine, &mut *lock(&self.vector));
        self.coarse.clear_ends(cpu, extended);
        kernels.restrict_residual(cpu.sweep(), other, x, extended);
        self.coarse.join_periods(cpu, extended);
        self.coarse.reduce(cpu, extended, *factor, coarse, |_, coarse, value| *coarse = value);
        Ok(())
    }
}

impl<T: Scalar + Prepared> Transfers<Cpu, T> for Transfer<T> {
    fn restrict(&self, r: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let Extended { cpu, lattice, factor, .. } = &*self.fine;
        self.fine.check(&[("r", r)])?;
        let vectors = &mut *lock(&self.fine.vectors);
        lattice.extend(cpu, r, 1.0 / factor, true, &mut vectors.other);
        cpu.set_zero(&mut vectors.x)?;
        self.restrict_vectors(vectors, coarse)
    }

    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.fine.check(&[("b", b), ("x", x)])?;
        let vectors = &mut *lock(&self.fine.vectors);
        self.fine.extend(b, x, vectors);
        self.restrict_vectors(vectors, coarse)
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.fine.check(&[("x", x)])?;
        check_length("coarse", self.storage, coarse.len())?;
        let Extended { cpu, kernels, lattice, .. } = &*self.fine;
        let (Vectors { x: sum, .. }, extended) = (&mut *lock(&self.fine.vectors), &mut *lock(&self.vector));
        self.coarse.extend(cpu, coarse, 1.0, false, extended);
        cpu.set_zero(sum)?;
        kernels.prolongate_add(cpu.sweep(), extended, sum);
        lattice.reduce(cpu, sum, 1.0, x, |_, x, value| *x = *x + value);
        Ok(())
    }
}
