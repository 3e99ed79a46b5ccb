//! Poisson's equation `-Δu = f` on a uniform mesh of a rectangle or a box: continuous elements (paper 1) and discontinuous ones
//! (paper 4).
//!
//! Vectors are in the storage order of [`patchmg_device::patch`].

pub(in crate::system) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod forms;
mod problem;
mod tensor;

use crate::backend::{Backend, Scalar};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::layout::Layout;
use crate::level::Patches;
use crate::memory;
use crate::mesh::Mesh;
use crate::multigrid::SmootherConfig;
use crate::operator::{LinearOperator, vector_bytes};
use crate::problem::{
    ErrorNorms, ExactSolution, Field, NORM_VECTORS, SampledLoad, add_boundary_integrals, product_error_norms,
    sampled_error_norms,
};
use crate::solve::SolutionOnMachine;
use crate::space::{Family, Space};
use crate::system::suitable::suitable_smoother;
use crate::system::{ErrorsOnMachine, Smoothers, System};
use bytemuck::{Pod, bytes_of};
use forms::{ContinuousForms, DiscontinuousForms};
use patchmg_device::kernels::patch_nodes;
pub use patchmg_device::kernels::{
    Boxes, Engine, MatrixMemory, Operands, Paper1, PatchKernel, ProductShape, Products, TensorKernel, Variant,
};
use patchmg_device::patch::{bit, color_count};
pub use problem::Problem;
use std::borrow::Cow;
use tensor::{ExactSolver, PartialTransfer};

/// What [`Unsupported`](Error::Unsupported) calls [`Products`] that a machine does not have.
pub const PRODUCTS: &str = "products of small matrices";

/// `-Δu = f` on a mesh, by elements of a degree.
#[derive(Clone, Debug)]
pub struct Poisson {
    space: Space,
    kernel: PatchKernel,
}

impl Poisson {
    /// By elements of a family: continuous ones, zero on the boundary, or discontinuous ones, by the symmetric interior penalty
    /// method.
    ///
    /// # Errors
    /// Those of [`Space::new`] and [`Space::discontinuous`].
    pub fn new(family: Family, mesh: Mesh, degree: usize) -> Result<Self> {
        Ok(Self { space: Space::of_family(family, mesh, degree)?, kernel: PatchKernel::default() })
    }

    /// By continuous elements.
    ///
    /// # Errors
    /// Those of [`Space::new`].
    pub fn continuous(mesh: Mesh, degree: usize) -> Result<Self> {
        Self::new(Family::Continuous, mesh, degree)
    }

    /// By discontinuous elements.
    ///
    /// # Errors
    /// Those of [`Space::discontinuous`].
    pub fn discontinuous(mesh: Mesh, degree: usize) -> Result<Self> {
        Self::new(Family::Discontinuous, mesh, degree)
    }

    /// By other kernels than the default ones, for comparison.
    pub fn with_kernel(self, kernel: PatchKernel) -> Self {
        Self { kernel, ..self }
    }

    /// The kernels.
    pub fn kernel(&self) -> PatchKernel {
        self.kernel
    }

    /// The family of elements.
    pub fn family(&self) -> Family {
        self.space.axes()[0].family()
    }

    /// The space that its solutions are in.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The smoother that suits the cells: [`ChebyshevFourthKind`](SmootherConfig::ChebyshevFourthKind) of degree 3 for continuous elements of
    /// degree 1 in 3D, if a cell has an edge more than 1.5 times as long as another; otherwise [patches](SmootherConfig::Patch), which
    /// there would hold a single unknown.
    pub fn suitable_smoother(&self) -> SmootherConfig {
        suitable_smoother(&self.space, &[1.0; 3], true)
    }

    /// Whether functions of the space can have boundary values other than zero.
    pub fn takes_boundary_values(&self) -> bool {
        self.family() == Family::Discontinuous
    }

    /// Adds what values `g` on the boundary contribute to a load vector, by Nitsche's method: `∫ g (σ φ_i - ∂ₙφ_i)` over the
    /// boundary (paper 4, equation 2, with the known `g` instead of `u` there). Continuous elements are zero there.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless the system [takes them](Self::takes_boundary_values); [`Error::SizeMismatch`] unless `b`
    /// is a vector of the space; [`Error::NotFinite`] with the point where `g` is not a finite number.
    pub fn add_boundary_load(&self, g: &dyn Field, b: &mut [f64]) -> Result<()> {
        add_boundary_integrals(&self.space, &self.boundary_normal()?, g, b)
    }

    /// The load vector of `f`, and of boundary values if there are any, as a machine evaluates it; none if one of them is no
    /// [program](Field::program).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for boundary values, unless the system [takes them](Self::takes_boundary_values).
    pub fn sampled_load(&self, f: &dyn Field, boundary: Option<&dyn Field>) -> Result<Option<SampledLoad>> {
        let Some(f) = f.program() else { return Ok(None) };
        let load = SampledLoad::new(&self.space, f);
        let Some(boundary) = boundary else { return Ok(Some(load)) };
        let normal = self.boundary_normal()?;
        Ok(boundary.program().map(|g| load.with_boundary(normal, g)))
    }

    /// What integrals of boundary values take in the direction normal to a face.
    fn boundary_normal(&self) -> Result<Vec<Vec<f64>>> {
        if !self.takes_boundary_values() {
            return Err(Error::InvalidArgument {
                name: "space with boundary values",
                value: "continuous".into(),
                allowed: "discontinuous".into(),
            });
        }
        Ok(DiscontinuousForms::new(&self.space)?.boundary_load())
    }

    /// Norms of `u_h - u` for a solution that lies on a machine, computed there if the machine is a GPU, `u` is a sum of
    /// [products](Field::products) or a [program](Field::program), and the memory has room for four more vectors in `f64` or two of
    /// them; on a host, [`Function::error_to`] is faster.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for values that are not finite; those of the machine.
    pub fn errors_on_machine<B: Backend>(
        &self,
        u_h: &SolutionOnMachine<B>,
        u: Option<&dyn ExactSolution>,
    ) -> Result<ErrorsOnMachine<ErrorNorms>> {
        let Some(u) = u else { return Ok(ErrorsOnMachine::Known(None)) };
        let backend = &**u_h.backend();
        if !backend.info().backend.is_gpu() {
            return Ok(ErrorsOnMachine::OnHost);
        }
        let mut norms = None;
        if let Some(products) = u.products().filter(|_| u_h.has_room_for(NORM_VECTORS)) {
            norms = product_error_norms(backend, &self.space, u_h.copy()?, &products)?;
        }
        // Where a factor of a product overflows, the function need not.
        if norms.is_none()
            && u_h.has_room_for(2)
            && let Some(program) = u.program()
        {
            norms = sampled_error_norms(backend, &self.space, &u_h.copy()?, &program)?;
        }
        Ok(norms.map_or(ErrorsOnMachine::OnHost, |norms| ErrorsOnMachine::Known(Some(norms))))
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        self.space.mesh()
    }
}

/// By the elements of a space, and the default kernels.
impl From<&Space> for Poisson {
    fn from(space: &Space) -> Self {
        Self { space: space.clone(), kernel: PatchKernel::default() }
    }
}

impl System for Poisson {
    type Solution = Function;

    fn dim(&self) -> usize {
        self.mesh().dim()
    }

    fn cells(&self) -> usize {
        self.mesh().cells()
    }

    fn layout(&self) -> Layout {
        Layout::of([&self.space])
    }

    fn solution(&self, values: Vec<f64>) -> Result<Function> {
        Function::new(&self.space, values)
    }

    fn coarser(&self) -> Option<Result<Self>> {
        let coarser = self.space.coarser()?;
        Some(coarser.and_then(|space| {
            tensor::check(&space)?;
            Ok(Self { space, kernel: self.kernel })
        }))
    }

    fn by_default_kernels(&self) -> Cow<'_, Self> {
        let default = PatchKernel::default();
        if self.kernel == default { Cow::Borrowed(self) } else { Cow::Owned(self.clone().with_kernel(default)) }
    }

    /// A coarse level of discontinuous elements has half the penalty, so that its corrections overshoot at jumps: with weak
    /// smoothers V-cycles diverge.
    fn smoothers(&self) -> Smoothers {
        if self.family() == Family::Continuous { Smoothers::Any } else { Smoothers::Strong }
    }

    fn stores_residuals(&self) -> bool {
        self.family() == Family::Discontinuous
    }
}

/// Bytes of a level's tables: the eigenvalues of a patch or the inverse of its matrix, and the residual between two kernels
/// of the smoother. 1D matrices are too few to count.
fn level_bytes<B: Backend, T: Scalar>(system: &Poisson) -> u64 {
    let space = &system.space;
    PartialTransfer::<B, T>::bytes(space) + ExactSolver::<B, T>::bytes(space) + table_bytes::<T>(system)
}

/// Of what the kernels of the patches take.
fn table_bytes<T: Scalar>(system: &Poisson) -> u64 {
    let space = &system.space;
    let dim = space.dim() as u32;
    if system.family() == Family::Discontinuous {
        // Those of patches at an end of a direction and of others; the residual of a color before its patches.
        let eigenvalues = 2usize.pow(dim) * (2 * (space.degree() + 1)).pow(dim);
        return vector_bytes::<T>(1, eigenvalues) + vector_bytes::<T>(1, space.storage());
    }
    let (interior, _) = patch_nodes(space.degree());
    let patch = interior.pow(dim);
    let (entries, residuals) = match system.kernel {
        PatchKernel::Paper1 { kernels: Paper1::FusedInverse, .. } => (patch * patch, 0),
        PatchKernel::Paper1 { kernels: Paper1::Global(_) | Paper1::Separate(_) | Paper1::SeparateData, .. } => {
            (patch, 1)
        }
        _ => (patch, 0),
    };
    vector_bytes::<T>(1, entries) + vector_bytes::<T>(residuals, space.storage())
}

/// A struct of [`patchmg_device::matrices`], typed by degree there, as a kernel takes it.
fn bytes(matrices: &impl Pod) -> Box<[u8]> {
    bytes_of(matrices).into()
}

/// Colors that have a patch: a direction of two cells has one of color 0 alone.
fn colors(space: &Space) -> Vec<usize> {
    let (dim, cells) = (space.dim(), space.mesh().cells_along());
    let has_patches = |color: &usize| (0..dim).all(|d| color_count(cells[d] as u32, bit(*color as u32, d)) > 0);
    (0..1 << dim).filter(has_patches).collect()
}

/// That a space has a color.
fn check_color(space: &Space, color: usize) -> Result<u32> {
    let colors = 1 << space.dim();
    if color < colors {
        return Ok(color as u32);
    }
    let allowed = format!("below {colors}");
    Err(Error::InvalidArgument { name: "color", value: color.to_string(), allowed })
}

/// `value(i)` at unknown `i` of a space.
fn vector_of<B: Backend, T: Scalar>(
    backend: &B,
    space: &Space,
    value: &mut dyn FnMut(usize) -> f64,
) -> Result<B::Vector<T>> {
    let mut host: Vec<T> = memory::zeros(space.storage())?;
    for (i, node) in space.unknowns().enumerate() {
        host[space.offset(node)] = T::from_f64(value(i));
    }
    uploaded(backend, &host)
}

/// `1 / A_ii` in a space.
fn inverse_diagonal<B: Backend, T: Scalar>(backend: &B, space: &Space) -> Result<B::Vector<T>> {
    let inverse = match space.axes()[0].family() {
        Family::Continuous => ContinuousForms::new(space)?.inverse_diagonal::<T>()?,
        Family::Discontinuous => DiscontinuousForms::new(space)?.inverse_diagonal::<T>()?,
    };
    uploaded(backend, &inverse)
}

/// Whether a level is only solved: a coarsest mesh that is not one patch has an odd number of cells, which patches do not tile.
fn is_solved(space: &Space) -> bool {
    space.mesh().coarser().is_none() && !space.mesh().is_patch()
}

fn only_solved() -> Error {
    Error::InvalidArgument {
        name: "level",
        value: "the coarsest, with an odd number of cells in a direction".into(),
        allowed: "solved, or another one".into(),
    }
}

/// What the kernels of a patch cannot do: transfer where only some directions are coarsened, and the solution on a coarsest
/// mesh that is not one patch.
struct Lattice<B: Backend, T: Scalar> {
    /// Entries of the coarse level's vectors, if there is one.
    coarse_storage: Option<usize>,
    transfer: Option<PartialTransfer<B, T>>,
    solver: Option<ExactSolver<B, T>>,
}

impl<B: Backend, T: Scalar> Lattice<B, T> {
    fn new(backend: &B, space: &Space) -> Result<Self> {
        Ok(Self {
            coarse_storage: space.coarser().transpose()?.map(|coarse| coarse.storage()),
            transfer: PartialTransfer::new(backend, space)?,
            solver: ExactSolver::new(backend, space)?,
        })
    }

    /// `x = A⁻¹ b` on a coarsest level: by the solver, or if there is none by the smoother of the one patch.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] on another level; those of the machine.
    fn solve(
        &self,
        level: &(impl LinearOperator<B, T> + Patches<B, T>),
        b: &B::Vector<T>,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        if self.coarse_storage.is_some() {
            return Err(Error::InvalidArgument {
                name: "level to solve on",
                value: "one with a coarser level".into(),
                allowed: "the coarsest".into(),
            });
        }
        if let Some(solver) = &self.solver {
            return solver.solve(&**level.backend(), b, x);
        }
        level.backend().set_zero(x)?;
        level.smooth_color(0, b, x)
    }

    /// Entries of the coarse level's vectors.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] on the coarsest level.
    fn coarse_storage(&self) -> Result<usize> {
        self.coarse_storage.ok_or_else(|| Error::InvalidArgument {
            name: "level",
            value: "the coarsest".into(),
            allowed: "one with a coarser level".into(),
        })
    }
}

fn uploaded<B: Backend, T: Scalar>(backend: &B, host: &[T]) -> Result<B::Vector<T>> {
    let mut vector = backend.zeros(host.len())?;
    backend.upload(host, &mut vector)?;
    Ok(vector)
}
