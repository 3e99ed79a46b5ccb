//! Where cells of a direction are equal: steps of the smoother, the operator, and the transfer to a level of half as many cells.

use super::super::Separable;
use super::super::level::{Scope, Steps, Transfers};
use super::super::line::Line;
use super::operator::{LONGEST_CHUNK, Launch, Matrices};
use super::{Cells, Common};
use crate::backend::Scalar;
use crate::backend::cuda::launch::{Chunk, TypedKernel};
use crate::backend::cuda::{Cuda, Vector};
use crate::error::Result;
use crate::space::Axis;
use crate::system::System;
use crate::system::poisson::forms::ContinuousForm;
use bytemuck::Pod;
use patchmg_device::kernels::patch_nodes;
use patchmg_device::matrices::{self, Reaction, Scaled, SidedCellMatrices, SidedMatrices, SidedRestrictionMatrices};
use patchmg_device::separable::{self, Apply, ProlongateAdd, Residual, RestrictResidual, Smooth};
use patchmg_device::{smoother, with_degree};
use std::sync::Arc;

/// The kernel of a level of equal cells, its matrices and its table.
pub struct Equal<T: Scalar> {
    level: Common,
    kernel: TypedKernel<Smooth<T>>,
    matrices: Vec<T>,
    table: Vector<T>,
}

impl<T: Scalar> Equal<T> {
    pub fn new(cuda: &Arc<Cuda>, system: &Separable) -> Result<Self> {
        let (gpu, (matrices, table)) = (&cuda.gpu, matrices(system)?);
        Ok(Self {
            level: Common::new(cuda, system),
            kernel: Cells::Equal.kernel(gpu, system)?,
            matrices,
            table: Vector::uploaded(gpu, &table)?,
        })
    }
}

impl<T: Scalar> Steps<Cuda, T> for Equal<T> {
    fn smooth(&self, _scope: Scope, colors: &[usize], b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let level = &self.level;
        level.check(&[("b", b), ("x", x)])?;
        colors.iter().map(|&color| color as u32).try_for_each(|color| {
            let arguments = Smooth {
                matrices: self.matrices.as_ptr(),
                table: self.table.as_ptr(),
                b: b.as_ptr(),
                x: x.as_mut_ptr(),
                directions: level.directions,
                color,
            };
            let blocks = separable::blocks::<T>(level.dim, level.degree, level.directions, color);
            // SAFETY: vectors of the level, checked above, `x` another one than `b`, and its matrices and table.
            unsafe { self.kernel.launch(&level.cuda.gpu, blocks, arguments) }
        })
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.kernel.resident(&self.level.cuda.gpu).map(|resident| vec![resident])
    }
}

/// Entries of the table that [`Smooth`] takes.
pub fn table_words(system: &Separable) -> usize {
    let degree = system.space().degree();
    smoother::table_words(system.dim(), degree) + patch_nodes(degree).0
}

/// The operator of a level of equal cells is that of cells of size 1 with these factors of [`matrices::Scaled`], and a reaction times the
/// product of the mass matrices.
fn factors(system: &Separable) -> ([f64; 3], f64) {
    let axes = system.space().axes();
    let volume: f64 = axes.iter().map(Axis::cell_size).product();
    let mut factors = [1.0; 3];
    for ((factor, axis), coefficient) in factors.iter_mut().zip(axes).zip(system.diffusion()) {
        *factor = coefficient * volume / (axis.cell_size() * axis.cell_size());
    }
    (factors, system.equation().reaction * volume)
}

/// Of cells of size 1.
fn form(system: &Separable) -> Result<ContinuousForm> {
    ContinuousForm::new(system.space().axes()[0].element(), 1.0)
}

/// The matrices and the table that [`Smooth`] takes.
pub fn matrices<T: Scalar>(system: &Separable) -> Result<(Vec<T>, Vec<T>)> {
    let (dim, degree, (factors, reaction)) = (system.dim(), system.space().degree(), factors(system));
    let form = form(system)?;
    let sums = form.mass_sums();
    let mut table = form.smoother_table(dim, factors, reaction);
    table.extend(sums.iter().map(|&sum| T::from_f64(sum)));
    let factors = matrices::factors(dim, factors).map(T::from_f64);
    let matrices = with_degree!(
        degree,
        K => {
            let smoother = form.smoother_matrices::<T, K, { 2 * K - 1 }>().scaled(dim, factors);
            // Even functions come first.
            let reaction = Reaction {
                sums: std::array::from_fn(|function| T::from_f64(sums[function])),
                factor: T::from_f64(reaction),
            };
            numbers(&SidedMatrices { smoother, reaction })
        },
        else Vec::new()
    );
    Ok((matrices, table))
}

/// The matrices that [`Apply`] and [`Residual`] take.
pub fn cell_matrices<T: Scalar>(system: &Separable) -> Result<Vec<T>> {
    let (factors, reaction) = factors(system);
    let of_last = reaction / factors[if system.dim() == 3 { 2 } else { 0 }];
    cell_matrices_with(system, matrices::factors(system.dim(), factors), of_last)
}

/// Those of cells of size 1, with such factors.
pub fn cell_matrices_with<T: Scalar>(system: &Separable, factors: [f64; 3], reaction: f64) -> Result<Vec<T>> {
    let (form, factors, reaction) = (form(system)?, factors.map(T::from_f64), T::from_f64(reaction));
    Ok(with_degree!(
        system.space().degree(),
        K => {
            const H: usize = (K + 1).div_ceil(2);
            let cell = Scaled { matrices: form.cell_matrices::<T, { K + 1 }, H>(), factors };
            numbers(&SidedCellMatrices { cell, reaction })
        },
        else Vec::new()
    ))
}

/// A struct of numbers as a kernel takes it.
fn numbers<T: Scalar>(matrices: &impl Pod) -> Vec<T> {
    bytemuck::cast_slice(bytemuck::bytes_of(matrices)).to_vec()
}

/// The matrices of the operator's kernels.
pub struct EqualMatrices<T>(Vec<T>);

impl<T: Scalar> EqualMatrices<T> {
    pub fn new(system: &Separable) -> Result<Self> {
        Ok(Self(cell_matrices(system)?))
    }
}

impl<T: Scalar> Matrices<T> for EqualMatrices<T> {
    const CELLS: Cells = Cells::Equal;
    type Apply = Apply<T>;
    type Residual = Residual<T>;

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, Launch { directions, chunk }: Launch) -> Apply<T> {
        Apply { matrices: self.0.as_ptr(), x: x.as_ptr(), y: y.as_mut_ptr(), directions, chunk }
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>, launch: Launch) -> Residual<T> {
        let Launch { directions, chunk } = launch;
        let (matrices, b, x) = (self.0.as_ptr(), b.as_ptr(), x.as_ptr());
        Residual { matrices, b, x, r: r.as_mut_ptr(), directions, chunk }
    }
}

/// Whether a level of equal cells has kernels for the transfer: if all of them are halved. Along a period classes of coarse cells alternate, so that
/// there must be an even number of them.
pub fn has_transfers(system: &Separable) -> bool {
    let is_odd = |line: &Line| line.joins_ends() && !line.axis.cells().is_multiple_of(4);
    system.halves_all() && !system.lines().iter().any(is_odd)
}

/// Kernels for the transfer, if a level has some.
pub fn transfers<T: Scalar>(cuda: &Arc<Cuda>, system: &Separable) -> Result<Option<Box<dyn Transfers<Cuda, T>>>> {
    if Cells::of(system) != Some(Cells::Equal) || !has_transfers(system) {
        return Ok(None);
    }
    let (level, gpu) = (Common::new(cuda, system), &cuda.gpu);
    let (restrict, prolongate) = (Cells::Equal.kernel(gpu, system)?, Cells::Equal.kernel(gpu, system)?);
    let longest = separable::longest_restriction_chunk(level.dim, level.degree, level.directions);
    let chunk = Chunk::at_most(longest.min(LONGEST_CHUNK));
    let storage = system.coarser().transpose()?.map_or(0, |coarse| coarse.space().storage());
    let (restriction, of_loads) = (restriction_matrices(system)?, load_restriction_matrices(system)?);
    let prolongation = prolongation_matrices(system)?;
    Ok(Some(Box::new(EqualTransfers {
        level,
        storage,
        restriction,
        of_loads,
        prolongation,
        restrict,
        prolongate,
        chunk,
    })))
}

fn restriction_blocks(level: &Common, class: u32, chunk: u32) -> [u32; 3] {
    separable::restriction_blocks(level.dim, level.degree, level.directions, class, chunk)
}

/// The matrices that [`RestrictResidual`] takes.
pub fn restriction_matrices<T: Scalar>(system: &Separable) -> Result<Vec<T>> {
    let (factors, reaction) = factors(system);
    let reaction = if system.dim() == 3 { reaction } else { reaction / factors[0] };
    restriction_matrices_with(system, matrices::factors(system.dim(), factors), reaction)
}

/// Those for loads, which are restricted as the residual of the operator 0.
pub fn load_restriction_matrices<T: Scalar>(system: &Separable) -> Result<Vec<T>> {
    restriction_matrices_with(system, [0.0; 3], 0.0)
}

fn restriction_matrices_with<T: Scalar>(system: &Separable, factors: [f64; 3], reaction: f64) -> Result<Vec<T>> {
    let (form, factors, reaction) = (form(system)?, factors.map(T::from_f64), T::from_f64(reaction));
    Ok(with_degree!(
        system.space().degree(),
        K => {
            const H: usize = (K + 1).div_ceil(2);
            let patch = Scaled { matrices: form.restriction_matrices::<T, { 2 * K + 1 }, H>(), factors };
            numbers(&SidedRestrictionMatrices { patch, reaction })
        },
        else Vec::new()
    ))
}

/// The matrices that [`ProlongateAdd`] takes.
pub fn prolongation_matrices<T: Scalar>(system: &Separable) -> Result<Vec<T>> {
    let form = form(system)?;
    Ok(with_degree!(
        system.space().degree(),
        K => numbers(&form.prolongation_matrices::<T, { K + 1 }>()),
        else Vec::new()
    ))
}

/// The transfer's kernels of a level of equal cells.
struct EqualTransfers<T: Scalar> {
    level: Common,
    /// Of vectors of the coarser level.
    storage: usize,
    restriction: Vec<T>,
    of_loads: Vec<T>,
    prolongation: Vec<T>,
    restrict: TypedKernel<RestrictResidual<T>>,
    prolongate: TypedKernel<ProlongateAdd<T>>,
    chunk: Chunk,
}

impl<T: Scalar> EqualTransfers<T> {
    fn check(&self, fine: &[(&'static str, &Vector<T>)], coarse: &Vector<T>) -> Result<()> {
        self.level.check(fine)?;
        coarse.check(&self.level.cuda.gpu, "coarse", self.storage)
    }

    /// With the matrices of a residual or of a load; the vectors must be checked.
    fn restrict(&self, matrices: &[T], b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        let level = &self.level;
        let blocks = |chunk| restriction_blocks(level, 0, chunk);
        let chunk = self.restrict.chunk(&level.cuda.gpu, &self.chunk, blocks)?;
        (0..separable::restriction_classes(level.dim, level.degree)).try_for_each(|class| {
            let (matrices, coarse, directions) = (matrices.as_ptr(), coarse.as_mut_ptr(), level.directions);
            let (b, x) = (b.as_ptr(), x.as_ptr());
            let arguments = RestrictResidual { matrices, b, x, coarse, directions, class, chunk };
            // SAFETY: vectors of both levels, and their matrices; the classes in their order.
            unsafe { self.restrict.launch(&level.cuda.gpu, restriction_blocks(level, class, chunk), arguments) }
        })
    }
}

impl<T: Scalar> Transfers<Cuda, T> for EqualTransfers<T> {
    fn restrict(&self, r: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check(&[("r", r)], coarse)?;
        self.restrict(&self.of_loads, r, r, coarse)
    }

    fn restrict_residual(&self, b: &Vector<T>, x: &Vector<T>, coarse: &mut Vector<T>) -> Result<()> {
        self.check(&[("b", b), ("x", x)], coarse)?;
        self.restrict(&self.restriction, b, x, coarse)
    }

    fn prolongate_add(&self, coarse: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let level = &self.level;
        self.check(&[("x", x)], coarse)?;
        let (matrices, directions) = (self.prolongation.as_ptr(), level.directions);
        let arguments = ProlongateAdd { matrices, coarse: coarse.as_ptr(), x: x.as_mut_ptr(), directions };
        let blocks = separable::prolongation_blocks(level.dim, level.degree, directions);
        // SAFETY: vectors of both levels, checked above, and their matrices.
        unsafe { self.prolongate.launch(&level.cuda.gpu, blocks, arguments) }
    }
}
