//! Levels on the CPU. Where the cells of each direction are equal, the operator and steps of the smoother are those of plain boxes, on a
//! lattice that has more cells beyond the sides.
//!
//! Beyond a Neumann side lies the mirror image of the cells there, beyond a periodic one lie those at the opposite side. So all vertices
//! that have a patch are inside, and all patches have the same matrices: what a whole patch on a Neumann side does to a vector and its mirror image,
//! half of it does to the vector. There the residual of the whole is twice that of the half, and so `b` counts twice.
//!
//! With widths `h' = h / √c` of cells, `-div(diag(c) ∇u) + s u` is `φ (-Δu + s u)`, `φ = √(c_x c_y [c_z])`.

use super::level::{self, Kernels, Products, SeparableLevel, Steps};
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
use patchmg_cpu::Prepared;
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
            || Ok(Arc::new(SeparableLevel::<Self, f32>::for_products(self, system, kernels(self, system)?.products)?)),
            || Ok(Arc::new(SeparableLevel::<Self, f64>::for_products(self, system, kernels(self, system)?.products)?)),
        )
    }

    fn level_bytes<T: Scalar>(system: &Separable) -> u64 {
        match Lattice::of(system) {
            Some(lattice) => {
                level::bytes_with_kernels::<Self, T>(system, false)
                    + vector_bytes::<T>(2, lattice.grid.storage(system.dim()))
            }
            None => level::bytes::<Self, T>(system) + patches::bytes::<T>(system),
        }
    }
}

fn kernels<T: Scalar + Prepared>(cpu: &Arc<Cpu>, system: &Separable) -> Result<Kernels<Cpu, T>> {
    let Some(lattice) = Lattice::of(system) else { return Ok(Kernels::NONE) };
    let extended = Arc::new(Extended::new(cpu, system, lattice)?);
    Ok(Kernels { steps: Some(Box::new(extended.clone())), products: Some(Box::new(extended)), transfers: None })
}

/// A direction of the lattice. In 2D the third has one node.
#[derive(Debug)]
struct Along {
    /// The node of the lattice that is the first of the level.
    first: usize,
    /// Nodes of the level that are unknowns.
    unknowns: Range<usize>,
    /// Nodes of the lattice that have the values of others: `(node, other)`. The others are unknowns.
    images: Vec<(usize, usize)>,
    /// Unknowns at Neumann sides.
    halves: Vec<usize>,
}

impl Along {
    const SINGLE: Self = Self { first: 0, unknowns: 0..1, images: Vec::new(), halves: Vec::new() };

    /// 2 for a node at a Neumann side, or 1.
    fn weight(&self, node: usize) -> f64 {
        if self.halves.contains(&node) { 2.0 } else { 1.0 }
    }

    /// The unknown of the level at a node of the lattice.
    fn unknown(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.first).filter(|node| self.unknowns.contains(node))
    }
}

/// Cells of the level and beyond its sides, even numbers of them.
#[derive(Debug)]
struct Lattice {
    grid: Grid,
    along: [Along; 3],
    /// The cells that have patches: those of the level, and one beyond each side that is not Dirichlet's.
    smoothed: [Range<u32>; 3],
}

impl Lattice {
    /// Beyond a side lies a cell that patches have, and one that makes the lattice's own boundary, which is zero.
    const BEYOND: usize = 2;

    /// None for cells that differ in a direction, one that is a single patch, discontinuous elements, and an odd number of cells in a
    /// period, where neighbours would have one color.
    fn of(system: &Separable) -> Option<Self> {
        let is_other = |line: &Line| {
            let is_odd_period = line.joins_ends() && line.axis.cells() % 2 == 1;
            line.is_whole() || line.is_discontinuous() || !line.axis.is_uniform() || is_odd_period
        };
        if system.lines().iter().any(is_other) {
            return None;
        }
        let degree = system.space().degree();
        let mut lattice = Self {
            grid: Grid { cells: [1; 3], degree: degree as u32 },
            along: [Along::SINGLE, Along::SINGLE, Along::SINGLE],
            smoothed: [0..1, 0..1, 0..1],
        };
        for (d, line) in system.lines().iter().enumerate() {
            let cells = line.axis.cells();
            let has_images = [0, 1].map(|side| !line.is_given(side));
            let [below, above] = has_images.map(|has| if has { Self::BEYOND } else { 0 });
            lattice.grid.cells[d] = u32::try_from((below + cells + above).next_multiple_of(2)).ok()?;
            let [start, end] = [below / 2, below + cells + above / 2];
            lattice.smoothed[d] = start as u32..end as u32;
            lattice.along[d] = along(line, below * degree, has_images);
        }
        Some(lattice)
    }
}

fn along(line: &Line, first: usize, has_images: [bool; 2]) -> Along {
    let (degree, last) = (line.axis.degree(), line.nodes() - 1);
    let is_periodic = line.ends == Ends::Periodic;
    let mut images = Vec::new();
    for distance in 1..=degree {
        let [below, above] = if is_periodic { [last - distance, distance] } else { [distance, last - distance] };
        if has_images[0] {
            images.push((first - distance, first + below));
        }
        if has_images[1] {
            images.push((first + last + distance, first + above));
        }
    }
    if is_periodic {
        images.push((first + last, first));
    }
    let halves = match line.ends {
        Ends::Open(natural) => [0, last].into_iter().zip(natural).filter_map(|(node, is)| is.then_some(node)).collect(),
        Ends::Periodic => Vec::new(),
    };
    Along { first, unknowns: line.unknowns(), images, halves }
}

/// The kernels of a lattice, and two of its vectors.
struct Extended<T> {
    cpu: Arc<Cpu>,
    kernels: Box<dyn patchmg_cpu::Kernels<T>>,
    lattice: Lattice,
    dim: usize,
    /// Nodes that the level stores.
    stored: [usize; 3],
    storage: usize,
    /// `φ`.
    factor: f64,
    vectors: Mutex<[Vector<T>; 2]>,
}

impl<T: Scalar + Prepared> Extended<T> {
    fn new(cpu: &Arc<Cpu>, system: &Separable, lattice: Lattice) -> Result<Self> {
        let (dim, grid, reaction) = (system.dim(), lattice.grid, system.equation().reaction);
        let widths = system.lines().iter().zip(system.diffusion()).map(|(line, c)| line.axis.cell_size() / c.sqrt());
        let (mut known, mut forms, mut of_direction) = (Vec::new(), Vec::new(), [0; 3]);
        for (width, of_direction) in widths.zip(&mut of_direction) {
            // A reaction is in the form of x alone.
            let index = known.iter().position(|known| *known == width && reaction == 0.0).unwrap_or(known.len());
            if index == known.len() {
                known.push(width);
                forms.push(ContinuousForm::new(system.space().axes()[0].element(), width)?);
            }
            *of_direction = index;
        }
        let degree = grid.degree as usize;
        let mut space = poisson::continuous(dim, grid, (&forms, of_direction), reaction)?;
        space.smoothed = lattice.smoothed.clone();
        let vector = || cpu.zeros::<T>(grid.storage(dim));
        Ok(Self {
            cpu: cpu.clone(),
            kernels: T::continuous(space).ok_or_else(|| poisson::unsupported(degree))?,
            dim,
            stored: system.space().stored_nodes(),
            storage: system.space().storage(),
            factor: system.diffusion().iter().product::<f64>().sqrt(),
            vectors: Mutex::new([vector()?, vector()?]),
            lattice,
        })
    }

    fn check(&self, vectors: &[(&'static str, &Vector<T>)]) -> Result<()> {
        vectors.iter().try_for_each(|(what, vector)| check_length(what, self.storage, vector.len()))
    }

    /// Does `body(index, row)` for rows of so many entries.
    fn for_rows(&self, vector: &mut [T], len: usize, body: impl Fn(usize, &mut [T]) + Sync) {
        self.cpu.install(|| {
            // Some rows a task.
            let rows = (TASK / len).max(1);
            let task = |(task, chunk): (usize, &mut [T])| {
                chunk.chunks_exact_mut(len).enumerate().for_each(|(index, row)| body(task * rows + index, row));
            };
            if vector.len() <= TASK {
                vector.chunks_mut(rows * len).enumerate().for_each(task);
            } else {
                vector.par_chunks_mut(rows * len).enumerate().for_each(task);
            }
        });
    }

    /// Entries of the lattice that are rows, and not behind them.
    fn rows(&self) -> usize {
        (0..self.dim).map(|d| self.lattice.grid.nodes(d)).product()
    }

    /// Unknowns of the level, and their images, times `factor` and, if `weighted`, 2 for each Neumann side that a node is at.
    fn extend(&self, vector: &[T], factor: f64, weighted: bool, extended: &mut [T]) {
        let ([along_x, along_y, along_z], [row, rows, _]) = (&self.lattice.along, self.stored);
        let (row_of_grid, rows_of_grid) = (self.lattice.grid.nodes(0), self.lattice.grid.nodes(1));
        let Range { start, end } = along_x.unknowns;
        self.for_rows(&mut extended[..self.rows()], row_of_grid, |index, to| {
            let (Some(y), Some(z)) = (along_y.unknown(index % rows_of_grid), along_z.unknown(index / rows_of_grid))
            else {
                return;
            };
            let from = &vector[(z * rows + y) * row..][start..end];
            let to = &mut to[along_x.first + start..along_x.first + end];
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
        self.set_images(extended);
    }

    /// Values of images.
    fn set_images(&self, extended: &mut [T]) {
        let ([along_x, along_y, along_z], grid) = (&self.lattice.along, self.lattice.grid);
        let (row, plane) = (grid.nodes(0), grid.nodes(0) * if self.dim == 2 { 1 } else { grid.nodes(1) });
        let extended = &mut extended[..self.rows()];
        if !along_x.images.is_empty() {
            self.for_rows(extended, row, |_, row| along_x.images.iter().for_each(|&(to, from)| row[to] = row[from]));
        }
        if self.dim == 2 {
            along_y.images.iter().for_each(|&(to, from)| extended.copy_within(from * row..(from + 1) * row, to * row));
            return;
        }
        if !along_y.images.is_empty() {
            self.for_rows(extended, plane, |_, plane| {
                along_y.images.iter().for_each(|&(to, from)| plane.copy_within(from * row..(from + 1) * row, to * row));
            });
        }
        along_z
            .images
            .iter()
            .for_each(|&(to, from)| extended.copy_within(from * plane..(from + 1) * plane, to * plane));
    }

    /// `put(entry, value)` for all unknowns of the level and the values of the lattice there, times `factor` and, if `weighted`, half
    /// for each Neumann side that a node is at.
    fn reduce(
        &self,
        extended: &[T],
        factor: f64,
        weighted: bool,
        vector: &mut [T],
        put: impl Fn(usize, &mut T, T) + Sync,
    ) {
        let ([along_x, along_y, along_z], [row, rows, planes]) = (&self.lattice.along, self.stored);
        let (row_of_grid, rows_of_grid) = (self.lattice.grid.nodes(0), self.lattice.grid.nodes(1));
        let Range { start, end } = along_x.unknowns;
        self.for_rows(&mut vector[..row * rows * planes], row, |index, to| {
            let (y, z) = (index % rows, index / rows);
            if !along_y.unknowns.contains(&y) || !along_z.unknowns.contains(&z) {
                return;
            }
            let from = (along_z.first + z) * rows_of_grid + along_y.first + y;
            let from = &extended[from * row_of_grid + along_x.first..][..end];
            let weight = if weighted { factor / (along_y.weight(y) * along_z.weight(z)) } else { factor };
            let (weight, half) = (T::from_f64(weight), T::from_f64(0.5 * weight));
            let first = index * row;
            for node in start..end {
                put(first + node, &mut to[node], weight * from[node]);
            }
            if weighted {
                along_x.halves.iter().for_each(|&node| put(first + node, &mut to[node], half * from[node]));
            }
        });
    }

    /// `A x` on the lattice, in the second vector.
    fn product(&self, x: &Vector<T>, [extended, product]: &mut [Vector<T>; 2]) {
        self.extend(x, 1.0, false, extended);
        self.kernels.apply(self.cpu.sweep(), extended, product);
    }
}

/// Entries that a task copies.
const TASK: usize = 1 << 14;

impl<T: Scalar + Prepared> Products<Cpu, T> for Arc<Extended<T>> {
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.check(&[("x", x), ("y", y)])?;
        let vectors = &mut *lock(&self.vectors);
        self.product(x, vectors);
        self.reduce(&vectors[1], self.factor, true, y, |_, y, value| *y = value);
        Ok(())
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>) -> Result<()> {
        self.check(&[("b", b), ("x", x), ("r", r)])?;
        let vectors = &mut *lock(&self.vectors);
        self.product(x, vectors);
        self.reduce(&vectors[1], self.factor, true, r, |entry, r, value| *r = b[entry] - value);
        Ok(())
    }
}

impl<T: Scalar + Prepared> Steps<Cpu, T> for Arc<Extended<T>> {
    fn smooth_color(&self, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.smooth_colors(&mut std::iter::once(color), b, x)
    }

    fn smooth_colors(&self, colors: &mut dyn Iterator<Item = usize>, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        self.check(&[("b", b), ("x", x)])?;
        let [extended, load] = &mut *lock(&self.vectors);
        self.extend(b, 1.0 / self.factor, true, load);
        self.extend(x, 1.0, false, extended);
        for color in colors {
            self.kernels.smooth_color(self.cpu.sweep(), color as u32, load, extended);
            self.set_images(extended);
        }
        self.reduce(extended, 1.0, false, x, |_, x, value| *x = value);
        Ok(())
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        Ok(Vec::new())
    }
}
