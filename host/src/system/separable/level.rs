//! A level on any machine.

use super::Separable;
use super::line::{Line, transposed};
use super::matrix;
use super::operator::{Operator, operator_diagonal, temporaries};
use super::patches::{self, ColorPatches};
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result, invalid};
use crate::level::{Level, Patches};
use crate::memory;
use crate::operator::{LinearOperator, vector_bytes};
use crate::sync::lock;
use crate::system::System;
use crate::system::axes::Product;
use std::sync::{Arc, Mutex};

/// Bytes of a level whose operator and transfers have no kernels, without what its smoother needs; some 1D matrices are a little smaller than
/// said here.
pub(super) fn bytes<B: Backend, T: Scalar>(system: &Separable) -> u64 {
    vectors::<T>(system, temporaries(system.lines().len()))
        + Operator::<B, T>::bytes(system.lines())
        + Transfer::<B, T>::bytes(system)
}

/// Bytes of one that has kernels for the smoother and the operator, and perhaps for the transfer.
pub(super) fn bytes_with_kernels<B: Backend, T: Scalar>(system: &Separable, has_transfers: bool) -> u64 {
    if has_transfers {
        return 0;
    }
    vectors::<T>(system, TRANSFER_TEMPORARIES) + Transfer::<B, T>::bytes(system)
}

/// Bytes of one that has kernels for the operator, and is solved as a single patch.
pub(super) fn bytes_of_solution<T: Scalar>(system: &Separable) -> u64 {
    vectors::<T>(system, PATCH_TEMPORARIES) + patches::bytes::<T>(system)
}

/// Bytes of a residual and so many temporaries.
fn vectors<T: Scalar>(system: &Separable, temporaries: usize) -> u64 {
    vector_bytes::<T>(1 + temporaries, system.space().storage())
}

/// Tensors that solutions on patches are computed with.
const PATCH_TEMPORARIES: usize = 3;

/// Tensors that a transfer computes with.
const TRANSFER_TEMPORARIES: usize = 2;

/// On which patches a step smooths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    /// Those of [`Level::patches_of_corrections`].
    Corrections,
}

/// Steps of the smoother by a kernel.
pub(super) trait Steps<B: Backend, T: Scalar>: Send + Sync {
    /// [`Patches::smooth_colors`], for colors that there are.
    fn smooth(&self, scope: Scope, colors: &[usize], b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;

    /// [`Patches::resident_blocks`].
    fn resident_blocks(&self) -> Result<Vec<(String, u32)>>;
}

/// The operator by kernels.
pub(super) trait Products<B: Backend, T: Scalar>: Send + Sync {
    /// `y = A x`; entries that are no unknowns are zero in `x` and stay as they are in `y`.
    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()>;

    /// `r = b - A x`, likewise.
    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()>;
}

/// The transfer to and from the next coarser level by kernels.
pub(super) trait Transfers<B: Backend, T: Scalar>: Send + Sync {
    /// `coarse = Pᵀ r`; entries that are no unknowns stay as they are.
    fn restrict(&self, r: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()>;

    /// `coarse = Pᵀ (b - A x)`, likewise.
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()>;

    /// `x += P coarse`.
    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;
}

/// The kernels that a level has; in the place of others it applies matrices along axes.
pub(super) struct Kernels<B: Backend, T: Scalar> {
    /// Where no direction is one patch.
    pub steps: Option<Box<dyn Steps<B, T>>>,
    pub products: Option<Box<dyn Products<B, T>>>,
    pub transfers: Option<Box<dyn Transfers<B, T>>>,
}

impl<B: Backend, T: Scalar> Kernels<B, T> {
    pub const NONE: Self = Self { steps: None, products: None, transfers: None };
}

/// What computes a part of a level.
enum By<K: ?Sized, A> {
    Kernels(Box<K>),
    /// Matrices along axes.
    Axes(A),
}

/// To and from the next coarser level.
struct Transfer<B: Backend, T: Scalar> {
    prolongation: Product<B, T>,
    restriction: Product<B, T>,
}

type TransferBy<B, T> = By<dyn Transfers<B, T>, Transfer<B, T>>;

impl<B: Backend, T: Scalar> Transfer<B, T> {
    /// None from the coarsest level.
    fn new(backend: &B, system: &Separable) -> Result<Option<Self>> {
        let (Some(kept), Some(coarse)) = (system.kept_breakpoints(), system.coarser().transpose()?) else {
            return Ok(None);
        };
        let (fine, coarse) = (system.lines(), coarse.lines());
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for (d, kept) in kept.iter().enumerate().filter(|&(d, kept)| kept.len() <= fine[d].axis.cells()) {
            let rows = fine[d].prolongation(&coarse[d], kept);
            let back = transposed(coarse[d].stored(), &rows);
            up.push((d, matrix::matrix(backend, &fine[d], coarse[d].stored(), &rows)?));
            down.push((d, matrix::matrix(backend, &fine[d], fine[d].stored(), &back)?));
        }
        let (fine, coarse) = (matrix::sizes(fine), matrix::sizes(coarse));
        // Down, tensors become shorter; up, the last direction first, they become longer as late as they can.
        up.reverse();
        Ok(Some(Self {
            prolongation: Product::of_sums(coarse, fine, up),
            restriction: Product::of_sums(fine, coarse, down),
        }))
    }

    /// Bytes of the matrices, at most.
    fn bytes(system: &Separable) -> u64 {
        let Some(kept) = system.kept_breakpoints() else { return 0 };
        let of_line = |(line, kept): (&Line, Vec<usize>)| {
            let coarse = line.axis.on(kept.len() - 1, line.axis.cell_size()).stored_nodes();
            let [up, down] = line.transfer_widths();
            match kept.len() <= line.axis.cells() {
                true => matrix::bytes::<T>(line, line.stored(), up) + matrix::bytes::<T>(line, coarse, down),
                false => 0,
            }
        };
        system.lines().iter().zip(kept).map(of_line).sum()
    }
}

/// A level: kernels, and matrices along axes for parts that have none.
pub(super) struct SeparableLevel<B: Backend, T: Scalar> {
    backend: Arc<B>,
    system: Separable,
    operator: By<dyn Products<B, T>, Operator<B, T>>,
    /// None from the coarsest level.
    transfer: Option<TransferBy<B, T>>,
    colors: Vec<usize>,
    /// In their order; none if steps take their place.
    patches: Vec<(usize, ColorPatches<B, T>)>,
    steps: Option<Box<dyn Steps<B, T>>>,
    /// Whether steps are told [`Scope::Corrections`], on which those of graded cells leave patches out.
    leaves_out: bool,
    work: Mutex<Work<B, T>>,
}

/// Vectors that a level computes with.
struct Work<B: Backend, T: Scalar> {
    temporary: Vec<B::Vector<T>>,
    /// Where patches or the transfer have no kernels.
    residual: Option<B::Vector<T>>,
}

impl<B: Backend, T: Scalar> Work<B, T> {
    /// The temporaries and the residual of a level that has one.
    fn with_residual(&mut self) -> (&mut [B::Vector<T>], &mut B::Vector<T>) {
        (
            &mut self.temporary,
            self.residual.as_mut().expect("a level without kernels of patches or transfers has a residual"),
        )
    }
}

impl<B: Backend, T: Scalar> SeparableLevel<B, T> {
    pub fn new(backend: &Arc<B>, system: &Separable, kernels: Kernels<B, T>) -> Result<Self> {
        let Kernels { steps, products, transfers } = kernels;
        let (patches, colors) = if steps.is_some() {
            (Vec::new(), (0..1 << system.lines().len()).collect())
        } else {
            let patches = patches::all(&**backend, system)?;
            let colors = patches.iter().map(|&(color, _)| color).collect();
            (patches, colors)
        };
        let transfer = match transfers {
            Some(transfers) => Some(By::Kernels(transfers)),
            None => Transfer::new(&**backend, system)?.map(By::Axes),
        };
        let leaves_out = steps.is_some() && system.kept_patches().is_some();
        let of_products = Self::for_products(backend, system, products)?;
        let mut level = Self { transfer, patches, colors, steps, leaves_out, ..of_products };
        level.add_temporaries()?;
        Ok(level)
    }

    /// Without patches and transfers.
    pub fn for_products(
        backend: &Arc<B>,
        system: &Separable,
        products: Option<Box<dyn Products<B, T>>>,
    ) -> Result<Self> {
        let operator = match products {
            Some(products) => By::Kernels(products),
            None => {
                let (lines, reaction) = (system.lines(), system.equation().reaction);
                By::Axes(Operator::new(&**backend, lines, system.diffusion(), reaction)?)
            }
        };
        let mut level = Self {
            backend: backend.clone(),
            operator,
            system: system.clone(),
            transfer: None,
            colors: Vec::new(),
            patches: Vec::new(),
            steps: None,
            leaves_out: false,
            work: Mutex::new(Work { temporary: Vec::new(), residual: None }),
        };
        level.add_temporaries()?;
        Ok(level)
    }

    /// As many as its parts need.
    fn add_temporaries(&mut self) -> Result<()> {
        let needed = if matches!(self.operator, By::Axes(_)) {
            temporaries(self.system.lines().len())
        } else if !self.patches.is_empty() {
            PATCH_TEMPORARIES
        } else if matches!(self.transfer, Some(By::Axes(_))) {
            TRANSFER_TEMPORARIES
        } else {
            0
        };
        let vector = || self.backend.zeros(self.system.space().storage());
        let Work { temporary, residual } = &mut *lock(&self.work);
        while temporary.len() < needed {
            temporary.push(vector()?);
        }
        if !self.patches.is_empty() || matches!(self.transfer, Some(By::Axes(_))) {
            *residual = Some(vector()?);
        }
        Ok(())
    }

    fn transfer(&self) -> Result<&TransferBy<B, T>> {
        self.transfer.as_ref().ok_or_else(|| invalid("level", "the coarsest", "one with a coarser level"))
    }

    fn of_color(&self, color: usize) -> Result<&ColorPatches<B, T>> {
        let found = self.patches.iter().find(|&&(own, _)| own == color);
        found.map(|(_, patches)| patches).ok_or_else(|| self.no_color(color))
    }

    fn no_color(&self, color: usize) -> Error {
        invalid("color", color, format_args!("one of {:?}", self.colors))
    }

    /// `r = b - A x`.
    fn residual_with(
        &self,
        b: &B::Vector<T>,
        x: &B::Vector<T>,
        temporary: &mut [B::Vector<T>],
        r: &mut B::Vector<T>,
    ) -> Result<()> {
        match &self.operator {
            By::Kernels(products) => products.residual(b, x, r),
            By::Axes(operator) => {
                operator.apply(&self.backend, temporary, x, r)?;
                self.backend.axpby(1.0, b, -1.0, r)
            }
        }
    }

    /// `coarse = Pᵀ r`.
    fn restrict(&self, temporary: &mut [B::Vector<T>], r: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        match self.transfer()? {
            By::Kernels(transfers) => transfers.restrict(r, coarse),
            By::Axes(Transfer { restriction, .. }) => {
                restriction.apply(&*self.backend, two(temporary), (r, 0), (coarse, 0), false)
            }
        }
    }
}

/// Three of the vectors.
fn three<V>(temporary: &mut [V]) -> &mut [V; PATCH_TEMPORARIES] {
    temporary.first_chunk_mut().expect("a level with patches has at least three temporaries")
}

/// Two of the vectors.
fn two<V>(temporary: &mut [V]) -> &mut [V; TRANSFER_TEMPORARIES] {
    temporary.first_chunk_mut().expect("a level with a transfer has at least two temporaries")
}

impl<B: Backend, T: Scalar> LinearOperator<B, T> for SeparableLevel<B, T> {
    fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    fn storage(&self) -> usize {
        self.system.space().storage()
    }

    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        match &self.operator {
            By::Kernels(products) => products.apply(x, y),
            By::Axes(operator) => operator.apply(&self.backend, &mut lock(&self.work).temporary, x, y),
        }
    }

    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.residual_with(b, x, &mut lock(&self.work).temporary, r)
    }
}

impl<B: Backend, T: Scalar> Level<B, T> for SeparableLevel<B, T> {
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        if let By::Kernels(transfers) = self.transfer()? {
            return transfers.restrict_residual(b, x, coarse);
        }
        let work = &mut *lock(&self.work);
        let (temporary, residual) = work.with_residual();
        self.residual_with(b, x, temporary, residual)?;
        self.restrict(temporary, residual, coarse)
    }

    fn restrict_load(&self, b: &B::Vector<T>, _zero: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        self.restrict(&mut lock(&self.work).temporary, b, coarse)
    }

    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        match self.transfer()? {
            By::Kernels(transfers) => transfers.prolongate_add(coarse, x),
            By::Axes(Transfer { prolongation, .. }) => {
                let temporary = &mut lock(&self.work).temporary;
                prolongation.apply(&*self.backend, two(temporary), (coarse, 0), (x, 0), true)
            }
        }
    }

    /// The coarsest mesh is one patch.
    fn solve(&self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        if self.transfer.is_some() {
            return Err(invalid("level to solve on", "one with a coarser level", "the coarsest"));
        }
        let (patches, work) = (self.of_color(0)?, &mut *lock(&self.work));
        patches.solve(&*self.backend, three(&mut work.temporary), b, x, false)
    }

    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<B::Vector<T>> {
        let mut host: Vec<T> = memory::zeros(self.storage())?;
        for (i, node) in self.system.unknowns().enumerate() {
            host[self.system.space().offset(node)] = T::from_f64(value(i));
        }
        let mut vector = self.vector()?;
        self.backend.upload(&host, &mut vector)?;
        Ok(vector)
    }

    fn inverse_diagonal(&self) -> Result<B::Vector<T>> {
        let diagonal = operator_diagonal(&self.system)?;
        let inverse = diagonal.into_iter().map(|entry| T::from_f64(if entry == 0.0 { 0.0 } else { 1.0 / entry }));
        let mut vector = self.vector()?;
        self.backend.upload(&inverse.collect::<Vec<T>>(), &mut vector)?;
        Ok(vector)
    }

    fn patches(&self) -> Result<&dyn Patches<B, T>> {
        Ok(self)
    }

    fn patches_of_corrections(&self) -> Option<Box<dyn Patches<B, T> + '_>> {
        self.leaves_out.then(|| -> Box<dyn Patches<B, T> + '_> { Box::new(OfCorrections(self)) })
    }

    fn point_gauss_seidel(&self, _b: &B::Vector<T>, _x: &mut B::Vector<T>, _reverse: bool) -> Result<()> {
        Err(Error::Unsupported {
            backend: self.backend.info().backend.name(),
            what: "smoother of separable equations",
            asked: "point-gs".into(),
            available: "patch, additive-patch, jacobi, chebyshev, chebyshev4".into(),
        })
    }
}

/// The patches of corrections.
struct OfCorrections<'a, B: Backend, T: Scalar>(&'a SeparableLevel<B, T>);

impl<B: Backend, T: Scalar> Patches<B, T> for OfCorrections<'_, B, T> {
    fn colors(&self) -> &[usize] {
        self.0.colors()
    }

    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.smooth_colors(&[color], b, x)
    }

    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.0.prolongate_and_smooth_on(Scope::Corrections, &self.0.colors[..1], coarse, b, x)
    }

    fn smooth_colors(&self, colors: &[usize], b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.0.smooth_on(Scope::Corrections, colors, b, x)
    }

    fn prolongate_and_smooth(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.0.prolongate_and_smooth_on(Scope::Corrections, &self.0.colors, coarse, b, x)
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.0.resident_blocks()
    }
}

impl<B: Backend, T: Scalar> Patches<B, T> for SeparableLevel<B, T> {
    fn colors(&self) -> &[usize] {
        &self.colors
    }

    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.smooth_colors(&[color], b, x)
    }

    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.prolongate_and_smooth_on(Scope::All, &self.colors[..1], coarse, b, x)
    }

    fn smooth_colors(&self, colors: &[usize], b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.smooth_on(Scope::All, colors, b, x)
    }

    fn prolongate_and_smooth(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.prolongate_and_smooth_on(Scope::All, &self.colors, coarse, b, x)
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.steps.as_ref().map_or(Ok(Vec::new()), |steps| steps.resident_blocks())
    }
}

impl<B: Backend, T: Scalar> SeparableLevel<B, T> {
    /// Where no kernels run, on all patches whatever the scope.
    fn smooth_on(&self, scope: Scope, colors: &[usize], b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        if let Some(steps) = &self.steps {
            let unknown = colors.iter().find(|&color| !self.colors.contains(color));
            unknown.map_or(Ok(()), |&color| Err(self.no_color(color)))?;
            return steps.smooth(scope, colors, b, x);
        }
        let work = &mut *lock(&self.work);
        let (temporary, residual) = work.with_residual();
        colors.iter().try_for_each(|&color| {
            let patches = self.of_color(color)?;
            self.residual_with(b, x, temporary, residual)?;
            patches.solve(&*self.backend, three(temporary), residual, x, true)
        })
    }

    fn prolongate_and_smooth_on(
        &self,
        scope: Scope,
        colors: &[usize],
        coarse: &B::Vector<T>,
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        self.smooth_on(scope, colors, b, x)
    }
}
