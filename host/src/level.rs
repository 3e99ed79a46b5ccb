//! What the method asks of a level of a hierarchy. A system implements it for a machine.

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::operator::LinearOperator;
use std::sync::Arc;

/// A level that operator, smoother and transfer share.
pub type SharedLevel<B, T> = Arc<dyn Level<B, T>>;

/// An operator on one mesh, with the transfer to and from the next coarser one and what smoothers need.
///
/// Vectors are in an order of the system's own. Entries that are no unknowns are zero, and every operation keeps them so.
pub trait Level<B: Backend, T: Scalar>: LinearOperator<B, T> + Send + Sync {
    /// `coarse = Pᵀ (b - A x)` on the next coarser level; no residual vector is formed.
    ///
    /// # Errors
    /// Those of the machine, and [`InvalidArgument`](crate::Error::InvalidArgument) on the coarsest level.
    fn restrict_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()>;

    /// The same for an `x` that is zero wherever [`Self::inverse_diagonal`] is: smoothing steps from zero leave such a one. A level on
    /// which little is smoothed needs to compute little.
    ///
    /// # Errors
    /// Those of [`Self::restrict_residual`].
    fn restrict_residual_of_smoothed(
        &self,
        b: &B::Vector<T>,
        x: &B::Vector<T>,
        coarse: &mut B::Vector<T>,
    ) -> Result<()> {
        self.restrict_residual(b, x, coarse)
    }

    /// `coarse = Pᵀ b`, the load vector of the next coarser level. `zero` is a vector of zeros.
    ///
    /// # Errors
    /// Those of [`Self::restrict_residual`].
    fn restrict_load(&self, b: &B::Vector<T>, zero: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()> {
        self.restrict_residual(b, zero, coarse)
    }

    /// `x += P coarse`, from the next coarser level.
    ///
    /// # Errors
    /// Those of [`Self::restrict_residual`].
    fn prolongate_add(&self, coarse: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;

    /// `x = A⁻¹ b`, whatever was in `x`, on the coarsest level; about that if the solver there iterates.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) on another level, and without [a solver](Self::has_solver); those of the
    /// machine.
    fn solve(&self, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;

    /// Whether the coarsest level has [`Self::solve`]. If not, a V-cycle iterates there, as [its system](crate::system::System::has_solver)
    /// says, too.
    fn has_solver(&self) -> bool {
        true
    }

    /// Iterations of all [`Self::solve`] so far, if it iterates.
    fn inner_iterations(&self) -> Option<usize> {
        None
    }

    /// The vector whose unknown `i` is `value(i)`, unknowns being counted from 0 in the order of dofs.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), and those of the machine.
    fn vector_of(&self, value: &mut dyn FnMut(usize) -> f64) -> Result<B::Vector<T>>;

    /// `1 / A_ii` for every unknown `i`, or 0 for those that smoothers by the diagonal leave alone.
    ///
    /// # Errors
    /// As for [`Self::vector_of`].
    fn inverse_diagonal(&self) -> Result<B::Vector<T>>;

    /// Number of entries before and up to the last for which [`Self::inverse_diagonal`] is not zero: smoothers by the diagonal need not
    /// look at others.
    fn smoothed_entries(&self) -> usize {
        self.storage()
    }

    /// `r = b - A x` where [`Self::inverse_diagonal`] is not zero, and anything elsewhere: what smoothers by the diagonal need.
    ///
    /// # Errors
    /// Those of the machine.
    fn smoothed_residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        self.residual(b, x, r)
    }

    /// The nonlinear equation whose derivative the level can be.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if there is none.
    fn nonlinear(&self) -> Result<&dyn NonlinearLevel<B, T>> {
        Err(Error::Unsupported {
            backend: self.backend().info().backend.name(),
            what: "equation",
            asked: "nonlinear".into(),
            available: "linear".into(),
        })
    }

    /// Vertex patches, for smoothers that solve on these. The first call may allocate vectors.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the level has none.
    fn patches(&self) -> Result<&dyn Patches<B, T>>;

    /// The patches to smooth on in a correction of the next finer level; `None` if these are all patches. Patches that the finer level has,
    /// too, can be left out, because it smooths on them itself.
    fn patches_of_corrections(&self) -> Option<Box<dyn Patches<B, T> + '_>> {
        None
    }

    /// Cell patches, for smoothers that iterate with these. The first call makes their tables.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the level has none; those of the machine.
    fn cell_patches(&self) -> Result<&dyn CellPatches<B, T>> {
        let (asked, available) = ("chebyshev-patch".into(), "smoothers without patches of cells".into());
        Err(Error::Unsupported { backend: "this level", what: "smoother", asked, available })
    }

    /// A sweep of point Gauss-Seidel, `x_i += (b_i - (A x)_i) / A_ii` for one dof `i` after the other, or in the opposite
    /// order. A CPU takes them lexicographically, `x` fastest, a GPU by the colors of [`patchmg_device::point`].
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the level has none; those of the machine.
    fn point_gauss_seidel(&self, b: &B::Vector<T>, x: &mut B::Vector<T>, reverse: bool) -> Result<()>;
}

/// A nonlinear equation `A(u) = b` on one mesh. Its level is a linear one, and from [`Self::linearize`] on the derivative of `A`.
///
/// A vector `u` has values also where they are given. None of these operations makes anything anew that does not depend on `u`.
pub trait NonlinearLevel<B: Backend, T: Scalar> {
    /// `r = b - A(u)` for the unknowns. Where the equation has no finite values, entries are not finite.
    ///
    /// # Errors
    /// Those of the machine.
    fn nonlinear_residual(&self, b: &B::Vector<T>, u: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()>;

    /// The level's operator, and on the coarsest level its [solution](Level::solve), become those of `A'(u)`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument), with the place, if the derivative is not positive definite; those of the
    /// machine.
    fn linearize(&self, u: &B::Vector<T>) -> Result<()>;

    /// `inverse` becomes what [`Level::inverse_diagonal`] now is.
    ///
    /// # Errors
    /// Those of the machine.
    fn update_inverse_diagonal(&self, inverse: &mut B::Vector<T>) -> Result<()>;

    /// The values of `u` at the nodes of the next coarser level.
    ///
    /// # Errors
    /// Those of [`Level::restrict_residual`].
    fn interpolate(&self, u: &B::Vector<T>, coarse: &mut B::Vector<T>) -> Result<()>;
}

/// The vertex patches of a level, by colors: those of a color do not overlap.
pub trait Patches<B: Backend, T: Scalar> {
    /// Colors that have a patch, ascending.
    fn colors(&self) -> &[usize];

    /// One color of the multiplicative vertex-patch smoother: `x += sum_j R_jᵀ A_j⁻¹ R_j (b - A x)` over its patches
    /// (paper 1, algorithm 2.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a color that there is not; those of the machine.
    fn smooth_color(&self, color: usize, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;

    /// [`Level::prolongate_add`], then [`Self::smooth_color`] for the first color. Of `P coarse` a machine may leave out what
    /// the other colors overwrite, so that only after all of them, ascending, `x` is what these give.
    ///
    /// # Errors
    /// Those of both.
    fn prolongate_and_smooth_first(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()>;

    /// [`Self::smooth_color`] for some colors, one after the other. A machine may keep what it computes with from one to the next.
    ///
    /// # Errors
    /// Those of [`Self::smooth_color`].
    fn smooth_colors(&self, colors: &[usize], b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        colors.iter().try_for_each(|&color| self.smooth_color(color, b, x))
    }

    /// [`Level::prolongate_add`], then all colors, ascending.
    ///
    /// # Errors
    /// Those of both.
    fn prolongate_and_smooth(&self, coarse: &B::Vector<T>, b: &B::Vector<T>, x: &mut B::Vector<T>) -> Result<()> {
        self.prolongate_and_smooth_first(coarse, b, x)?;
        self.smooth_colors(&self.colors()[1..], b, x)
    }

    /// The GPU kernels that smooth, in their order, with the blocks of each that a multiprocessor holds; none without a GPU.
    ///
    /// # Errors
    /// Those of the machine.
    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        Ok(Vec::new())
    }
}

/// The patches of a level's cells, as a symmetric preconditioner `P = Σ_c R_cᵀ W_c Ã_c⁻¹ W_c R_c`: each cell has an approximate inverse
/// on its nodes, and weights because patches overlap.
pub trait CellPatches<B: Backend, T: Scalar> {
    /// `y = α P x + β y`; `y` is not read if `β` is 0.
    ///
    /// # Errors
    /// Those of the machine.
    fn apply_axpby(&self, alpha: f64, x: &B::Vector<T>, beta: f64, y: &mut B::Vector<T>) -> Result<()>;
}

impl<B: Backend, T: Scalar> LinearOperator<B, T> for SharedLevel<B, T> {
    fn backend(&self) -> &Arc<B> {
        (**self).backend()
    }

    fn storage(&self) -> usize {
        (**self).storage()
    }

    fn apply(&self, x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        (**self).apply(x, y)
    }

    fn apply_rounded(&self, x: &B::Vector<f32>, work: &mut B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        (**self).apply_rounded(x, work, y)
    }

    fn residual(&self, b: &B::Vector<T>, x: &B::Vector<T>, r: &mut B::Vector<T>) -> Result<()> {
        (**self).residual(b, x, r)
    }

    fn residual_norm(&self, b: &B::Vector<T>, x: &B::Vector<T>, work: &mut B::Vector<T>) -> Result<f64> {
        (**self).residual_norm(b, x, work)
    }
}
