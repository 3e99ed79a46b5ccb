//! Conjugate gradients for the pressures of all patches of a color, each patch with coefficients of its own.

use super::Stokes;
use super::axis_by_axis::Workspace;
use super::dense::{Shared, Tables};
use super::diagonalized::VelocityModes;
use super::forms::PatchForms;
use super::patches::PatchPlace;
use crate::backend::{AxisMatrix, Backend, Scalar};
use crate::error::Result;
use crate::sync::lock;
use crate::system::axes::Product;
use nalgebra::DVector;
use std::sync::{Arc, Mutex};

/// `S P = g` with `S = B A⁻¹ Bᵀ` by conjugate gradients from `P = 0`, in eigenfunctions (paper 2, section 3.2). There the mass matrix of
/// the pressure, which is the preconditioner, is the identity.
///
/// Constants, the null space of `S`, are taken out of `g`, and out of every residual, into which rounding brings them again.
pub(super) struct SchurCg<B: Backend, T: Scalar> {
    steps: usize,
    /// A vector's sum over each patch, and a number of each patch to all its nodes.
    sum: Product<B, T>,
    spread: Product<B, T>,
    /// The coefficient of the normalized constant of each patch, and the negative of it as a function.
    coefficient: Product<B, T>,
    minus_constant: Product<B, T>,
    vectors: Shared<CgVectors<B, T>>,
}

/// Vectors that the colors of a level share.
pub(super) struct CgVectors<B: Backend, T: Scalar> {
    solution: B::Vector<T>,
    direction: B::Vector<T>,
    /// `S` times the direction.
    image: B::Vector<T>,
    between: B::Vector<T>,
    /// A number a patch: `r · r`, another dot product, and their quotient.
    squares: B::Vector<T>,
    product: B::Vector<T>,
    quotient: B::Vector<T>,
}

impl<B: Backend, T: Scalar> SchurCg<B, T> {
    /// Of the patches in each direction.
    pub fn new(
        backend: &B,
        system: &Stokes,
        patches: &[Vec<PatchPlace>],
        steps: usize,
        tables: &mut Tables<B, T>,
    ) -> Result<Self> {
        let (dim, stored) = (patches.len(), system.pressure_space().stored_nodes());
        let mut counts = [1; 3];
        counts.iter_mut().zip(patches).for_each(|(count, line)| *count = line.len());
        // A tensor product of functions over all patches: to their coefficients, and the transpose.
        let products = |sign: f64, function: &dyn Fn(&PatchForms) -> DVector<f64>| -> Result<[Product<B, T>; 2]> {
            let (mut down, mut up) = (Vec::new(), Vec::new());
            for d in 0..dim {
                let row = |place: &PatchPlace| {
                    function(place.forms).iter().enumerate().map(|(j, &value)| (place.first + j, value)).collect()
                };
                let rows: Vec<Vec<_>> = patches[d].iter().map(row).collect();
                let matrix = AxisMatrix::from_rows(stored[d], &rows);
                let mut transposed = matrix.transposed();
                if d == 0 {
                    transposed.entries.iter_mut().for_each(|entry| *entry *= sign);
                }
                down.push((d, Arc::new(backend.axis_matrix(&matrix)?)));
                up.push((d, Arc::new(backend.axis_matrix(&transposed)?)));
            }
            Ok([Product::between(stored, counts, down), Product::between(counts, stored, up)])
        };
        let [sum, spread] = products(1.0, &|forms| DVector::from_element(forms.constant.len(), 1.0))?;
        let [coefficient, minus_constant] = products(-1.0, &|forms| forms.constant.normalize())?;
        let vectors = match &tables.cg {
            Some(vectors) => vectors.clone(),
            None => tables.cg.insert(Arc::new(Mutex::new(CgVectors::new(backend, system)?))).clone(),
        };
        Ok(Self { steps, sum, spread, coefficient, minus_constant, vectors })
    }

    /// From `g` in the workspace's `pressure` to `P` there; its vectors of the velocity stay as they are.
    pub fn solve(&self, backend: &B, modes: &VelocityModes<B, T>, work: &mut Workspace<B, T>) -> Result<()> {
        let Workspace { temporary, pressure: residual, between: gradient, .. } = work;
        let vectors = &mut *lock(&self.vectors);
        let CgVectors { solution, direction, image, between, squares, product, quotient } = vectors;
        let dot = |x: &B::Vector<T>,
                   y: &B::Vector<T>,
                   sums: &mut B::Vector<T>,
                   between: &mut B::Vector<T>,
                   temporary: &mut [B::Vector<T>; 2]| {
            backend.diagonal_axpby(1.0, x, y, 0.0, between)?;
            self.sum.apply(backend, temporary, (between, 0), (sums, 0), false)
        };
        backend.set_zero(solution)?;
        self.drop_constants(backend, residual, product, temporary)?;
        backend.axpby(1.0, residual, 0.0, direction)?;
        dot(residual, residual, squares, between, temporary)?;
        for step in 1..=self.steps {
            for (component, inverse) in modes.inverse_eigenvalues.iter().enumerate() {
                modes.gradient[component].apply(backend, temporary, (direction, 0), (gradient, 0), false)?;
                backend.diagonal_axpby(1.0, inverse, gradient, 0.0, between)?;
                modes.divergence[component].apply(backend, temporary, (between, 0), (image, 0), component > 0)?;
            }
            dot(direction, image, product, between, temporary)?;
            backend.divide(squares, product, quotient)?;
            self.spread.apply(backend, temporary, (quotient, 0), (between, 0), false)?;
            backend.diagonal_axpby(1.0, between, direction, 1.0, solution)?;
            if step == self.steps {
                break;
            }
            backend.diagonal_axpby(-1.0, between, image, 1.0, residual)?;
            self.drop_constants(backend, residual, product, temporary)?;
            dot(residual, residual, product, between, temporary)?;
            backend.divide(product, squares, quotient)?;
            std::mem::swap(product, squares);
            self.spread.apply(backend, temporary, (quotient, 0), (between, 0), false)?;
            backend.diagonal_axpby(1.0, between, direction, 0.0, image)?;
            backend.axpby(1.0, residual, 1.0, image)?;
            std::mem::swap(direction, image);
        }
        backend.axpby(1.0, solution, 0.0, residual)
    }

    /// Makes `x` orthogonal to the constants of all patches.
    fn drop_constants(
        &self,
        backend: &B,
        x: &mut B::Vector<T>,
        coefficients: &mut B::Vector<T>,
        temporary: &mut [B::Vector<T>; 2],
    ) -> Result<()> {
        self.coefficient.apply(backend, temporary, (x, 0), (coefficients, 0), false)?;
        self.minus_constant.apply(backend, temporary, (coefficients, 0), (x, 0), true)
    }
}

impl<B: Backend, T: Scalar> CgVectors<B, T> {
    fn new(backend: &B, system: &Stokes) -> Result<Self> {
        let (mesh, storage) = (system.mesh(), system.pressure_space().storage());
        // The first color has most patches.
        let patches = mesh.cells_along()[..mesh.dim()].iter().map(|cells| cells / 2).product();
        let (block, numbers) = (|| backend.zeros(storage), || backend.zeros(patches));
        Ok(Self {
            solution: block()?,
            direction: block()?,
            image: block()?,
            between: block()?,
            squares: numbers()?,
            product: numbers()?,
            quotient: numbers()?,
        })
    }
}
