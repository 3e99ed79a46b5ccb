//! A level on any machine.

use super::Separable;
use super::line::{Line, transposed};
use super::matrix;
use super::operator::{Operator, operator_diagonal, temporaries};
use super::patches::{self, ColorPatches};
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result, invalid};
use crate::level::{Level, Patches, SharedLevel};
use crate::memory;
use crate::operator::{LinearOperator, vector_bytes};
use crate::sync::lock;
use crate::system::axes::Product;
use crate::system::{Runs, System};
use std::sync::{Arc, Mutex};

impl Runs<Separable> for Cpu {
    fn check<T: Scalar>(&self, _system: &Separable) -> Result<()> {
        Ok(())
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(SeparableLevel::new(self, system)?))
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(SeparableLevel::for_products(self, system)?))
    }

    fn level_bytes<T: Scalar>(system: &Separable) -> u64 {
        bytes::<Self, T>(system) + patches::bytes::<T>(system)
    }
}

/// Bytes of a level without patches; some 1D matrices are a little smaller than said here.
pub(super) fn bytes<B: Backend, T: Scalar>(system: &Separable) -> u64 {
    vector_bytes::<T>(1 + temporaries(system.lines().len()), system.space().storage())
        + Operator::<B, T>::bytes(system.lines())
        + Transfer::<B, T>::bytes(system)
}

/// Steps of the smoother by a kernel.
pub(super) trait Steps<B: Backend, T: Scalar>: Send + Sync {
    /// [`Patches::smooth_color`], for a color that there is.
    fn smooth(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;

    /// [`Patches::resident_blocks`].
    fn resident_blocks(&self) -> Result<Vec<(String, u32)>>;
}

/// To and from the next coarser level.
struct Transfer<B: Backend, T: Scalar> {
    prolongation: Product<B, T>,
    restriction: Product<B, T>,
}

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
            let back = transposed(coarse[d].nodes(), &rows);
            up.push((d, matrix::matrix(backend, &fine[d], coarse[d].nodes(), &rows)?));
            down.push((d, matrix::matrix(backend, &fine[d], fine[d].nodes(), &back)?));
        }
        let (fine, coarse) = (matrix::nodes(fine), matrix::nodes(coarse));
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
            let (coarse, [up, down]) = ((kept.len() - 1) * line.axis.stride() + 1, line.transfer_widths());
            match kept.len() <= line.axis.cells() {
                true => matrix::bytes::<T>(line, line.nodes(), up) + matrix::bytes::<T>(line, coarse, down),
                false => 0,
            }
        };
        system.lines().iter().zip(kept).map(of_line).sum()
    }
}

/// A level by matrices along axes.
pub(super) struct SeparableLevel<B: Backend, T: Scalar> {
    backend: Arc<B>,
    system: Separable,
    operator: Operator<B, T>,
    transfer: Option<Transfer<B, T>>,
    colors: Vec<usize>,
    /// In their order.
    patches: Vec<(usize, ColorPatches<B, T>)>,
    /// What smooths in their place.
    steps: Option<Box<dyn Steps<B, T>>>,
    work: Mutex<Work<B, T>>,
}

/// Vectors that a level computes with.
struct Work<B: Backend, T: Scalar> {
    temporary: Vec<B::Vector<T>>,
    residual: B::Vector<T>,
}

impl<B: Backend, T: Scalar> SeparableLevel<B, T> {
    pub fn new(backend: &Arc<B>, system: &Separable) -> Result<Self> {
        let patches = patches::all(&**backend, system)?;
        Ok(Self {
            transfer: Transfer::new(&**backend, system)?,
            colors: patches.iter().map(|&(color, _)| color).collect(),
            patches,
            ..Self::for_products(backend, system)?
        })
    }

    /// With a kernel for the smoother, where no direction is one patch.
    #[cfg(feature = "cuda")]
    pub fn with_steps(backend: &Arc<B>, system: &Separable, steps: Box<dyn Steps<B, T>>) -> Result<Self> {
        Ok(Self {
            transfer: Transfer::new(&**backend, system)?,
            colors: (0..1 << system.lines().len()).collect(),
            steps: Some(steps),
            ..Self::for_products(backend, system)?
        })
    }

    /// Without patches and transfers.
    pub fn for_products(backend: &Arc<B>, system: &Separable) -> Result<Self> {
        let vector = || backend.zeros(system.space().storage());
        let temporary = (0..temporaries(system.lines().len())).map(|_| vector()).collect::<Result<_>>()?;
        Ok(Self {
            backend: backend.clone(),
            operator: Operator::new(&**backend, system.lines(), system.diffusion(), system.equation().reaction)?,
            system: system.clone(),
            transfer: None,
            colors: Vec::new(),
            patches: Vec::new(),
            steps: None,
            work: Mutex::new(Work { temporary, residual: vector()? }),
        })
    }

    fn transfer(&self) -> Result<&Transfer<B, T>> {
        self.transfer.as_ref().ok_or_else(|| invalid("level", "the coarsest", "one with a coarser level"))
    }

    fn of_color(&self, color: usize) -> Result<&ColorPatches<B, T>> {
        let found = self.patches.iter().find(|&&(own, _)| own == color);
        found
            .map(|(_, patches)| patches)
            .ok_or_else(|| invalid("color", color, format_args!("one of {:?}", self.colors)))
    }

    fn residual_with(&self, b: &B::Vector<T>, x: &B::Vector<T>, work: &mut Work<B, T>) -> Result<()> {
        self.operator.apply(&self.backend, &mut work.temporary, x, &mut work.residual)?;
        self.backend.axpby(1.0, b, -1.0, &mut work.residual)
    }
}

/// Three of the vectors.
fn three<V>(temporary: &mut [V]) -> &mut [V; 3] {
    temporary.first_chunk_mut().expect("a level has at least three temporaries")
}

/// Two of the vectors.
fn two<V>(temporary: &mut [V]) -> &mut [V; 2] {
    let [two @ .., _] = three(temporary);
    two
}

impl<B: Backend, T: Scalar> LinearOperator<B, T> for SeparableLevel<B, T> {
    fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    fn storage(&self) -> usize {
        self.system.space().storage()
    }

    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        self.operator.apply(&self.backend, &mut lock(&self.work).temporary, x, y)
    }
}

impl<B: Backend, T: Scalar> Level<B, T> for SeparableLevel<B, T> {
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        let (transfer, work) = (self.transfer()?, &mut *lock(&self.work));
        self.residual_with(b, x, work)?;
        transfer.restriction.apply(&*self.backend, two(&mut work.temporary), (&work.residual, 0), (coarse, 0), false)
    }

    fn restrict_load(&self, b: &B::Vector<T>, _zero: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        let (transfer, work) = (self.transfer()?, &mut *lock(&self.work));
        transfer.restriction.apply(&*self.backend, two(&mut work.temporary), (b, 0), (coarse, 0), false)
    }

    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        let (transfer, work) = (self.transfer()?, &mut *lock(&self.work));
        transfer.prolongation.apply(&*self.backend, two(&mut work.temporary), (coarse, 0), (x, 0), true)
    }

    /// The coarsest mesh is one patch.
    fn solve(&self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        if self.transfer.is_some() {
            return Err(invalid("level to solve on", "one with a coarser level", "the coarsest"));
        }
        let (patches, work) = (self.of_color(0)?, &mut *lock(&self.work));
        self.backend.set_zero(x)?;
        patches.add_solutions(&*self.backend, three(&mut work.temporary), b, x)
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

    fn point_gauss_seidel(&self, _b: &B::Vector<T>, _x: &mut B::Vector<T>, _reverse: bool) -> Result<()> {
        Err(Error::Unsupported {
            backend: self.backend.info().backend.name(),
            what: "smoother of separable equations",
            asked: "point-gs".into(),
            available: "patch, additive-patch, jacobi, chebyshev, chebyshev4".into(),
        })
    }
}

impl<B: Backend, T: Scalar> Patches<B, T> for SeparableLevel<B, T> {
    fn colors(&self) -> &[usize] {
        &self.colors
    }

    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        if let Some(steps) = self.steps.as_ref().filter(|_| self.colors.contains(&color)) {
            return steps.smooth(color, b, x);
        }
        let (patches, work) = (self.of_color(color)?, &mut *lock(&self.work));
        self.residual_with(b, x, work)?;
        patches.add_solutions(&*self.backend, three(&mut work.temporary), &work.residual, x)
    }

    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.prolongate_add(coarse, x)?;
        self.smooth_color(self.colors[0], b, x)
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.steps.as_ref().map_or(Ok(Vec::new()), |steps| steps.resident_blocks())
    }
}
