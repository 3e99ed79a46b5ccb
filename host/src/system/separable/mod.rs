//! `-div(diag(c) ∇u) + s u = f` on a rectangle or a box by continuous elements or by discontinuous ones: on each side `u` or the flux
//! `c ∂u/∂n` is given, or sides that face each other are one; cells of a direction may have any sizes; `c > 0` and `s >= 0` are constant.
//!
//! Everything is a sum of products of 1D matrices, which are applied an axis after the other, on any machine: the operator, transfers, and
//! the exact solution on all patches of a color by fast diagonalization. On a GPU continuous elements have kernels for the
//! operator and steps of the smoother, and on equal cells for transfers that halve all directions; on a CPU, where the
//! cells of each direction are equal and their number is even, they have those of plain boxes for the operator, the smoother and such transfers,
//! and elsewhere one for the smoother.
//! [`Poisson`](super::Poisson) solves `-Δu = f` on equal cells, zero on the boundary, by kernels of its own, which are faster.
//!
//! Vectors have all nodes, `x` fastest. With continuous elements those where `u` is given, and the last ones of a period, are zero in
//! them; with discontinuous elements all nodes are unknowns.

mod coarsening;
#[cfg(test)]
mod coarsening_tests;
mod cpu;
#[cfg(feature = "cuda")]
pub(super) mod cuda;
#[cfg(test)]
mod discontinuous_tests;
mod host;
mod level;
mod line;
mod matrix;
mod operator;
mod patches;
mod penalty;
mod problem;
#[cfg(test)]
mod tests;

use crate::error::{Result, check_length, invalid};
use crate::function::Function;
use crate::layout::Layout;
use crate::memory;
use crate::mesh::{Grading, Mesh};
use crate::multigrid::SmootherConfig;
use crate::space::{Axis, Family, Space};
use crate::system::suitable::suitable_smoother;
use crate::system::{Smoothers, System};
pub use coarsening::DirectNodes;
use line::{Ends, Line};
use patches::LinePatches;
pub use problem::Problem;
use std::borrow::Cow;
use std::f64::consts::PI;
use std::sync::{Arc, OnceLock};

/// What is given on a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `u`.
    #[default]
    Dirichlet,
    /// The flux `c ∂u/∂n`, with the normal that points outward.
    Neumann,
    /// That the side is the one which faces it.
    Periodic,
}

/// Names of the sides: the lower one and the upper one of each direction.
pub const SIDES: [[&str; 2]; 3] = [["x-", "x+"], ["y-", "y+"], ["z-", "z+"]];

/// The coefficients of the equation, the conditions on sides and the sizes of cells. In 2D what is said of the third direction counts for
/// nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// The condition on the lower side and on the upper one of each direction.
    pub sides: [[Condition; 2]; 3],
    /// `c` of each direction: 1e-12 to 1e12.
    pub diffusion: [f64; 3],
    /// `s`: 0 to 1e12.
    pub reaction: f64,
    /// Sizes of the cells of each direction.
    pub grading: [Grading; 3],
}

impl Default for Equation {
    fn default() -> Self {
        let grading = [Grading::Uniform, Grading::Uniform, Grading::Uniform];
        Self { sides: Default::default(), diffusion: [1.0; 3], reaction: 0.0, grading }
    }
}

impl Equation {
    /// With one condition on all sides.
    pub fn with_all_sides(condition: Condition) -> Self {
        Self { sides: [[condition; 2]; 3], ..Self::default() }
    }

    /// Whether solutions in 2D or 3D are determined but for a constant: no side is Dirichlet's, and there is no reaction.
    pub fn has_null_space(&self, dim: usize) -> bool {
        self.reaction == 0.0 && !self.sides[..dim.min(3)].iter().flatten().any(|&side| side == Condition::Dirichlet)
    }

    fn check(&self, dim: usize) -> Result<()> {
        for (sides, names) in self.sides[..dim].iter().zip(SIDES) {
            if (sides[0] == Condition::Periodic) != (sides[1] == Condition::Periodic) {
                let (this, other) =
                    if sides[0] == Condition::Periodic { (names[0], names[1]) } else { (names[1], names[0]) };
                return Err(invalid(
                    "side",
                    format_args!("{this} periodic"),
                    format_args!("periodic together with {other}"),
                ));
            }
        }
        if let Some(diffusion) = self.diffusion[..dim].iter().find(|diffusion| !(1e-12..=1e12).contains(*diffusion)) {
            return Err(invalid("diffusion", format_args!("{diffusion:?}"), "1e-12 to 1e12"));
        }
        if !(0.0..=1e12).contains(&self.reaction) {
            return Err(invalid("reaction", format_args!("{:?}", self.reaction), "0 to 1e12"));
        }
        Ok(())
    }
}

/// A reaction term is small if it is below this part of the smallest other eigenvalue: then the solution's mean, which it determines alone,
/// is computed apart, because it may be so large that rounding would spoil the rest.
const SMALL_REACTION: f64 = 1e-4;

/// Entries of a vector, so that the bytes of all tables and vectors of a solve fit 64 bits: far beyond any memory.
const MOST_ENTRIES: usize = 1 << 52;

/// The equation on a mesh, by elements of a degree.
#[derive(Clone, Debug)]
pub struct Separable {
    space: Space,
    equation: Arc<Equation>,
    lines: Vec<Line>,
    coarsening: coarsening::Rule,
    /// For each cell of a direction whether it was merged from two of the next finer mesh; `None` on the finest mesh.
    is_merged: Option<Arc<[Vec<bool>; 3]>>,
    /// Of the mesh of the hierarchy that is solved directly: found when they are first needed.
    known_patches: Arc<OnceLock<Arc<Vec<Vec<LinePatches>>>>>,
}

impl Separable {
    /// Nodes of a direction that is solved directly, at most: its eigenproblem takes some 15 matrices of the host's memory.
    pub const MOST_DIRECT_NODES: usize = 2049;

    /// By continuous elements, whose degree is 1 to 10 in 2D, 1 to 8 in 3D.
    ///
    /// # Errors
    /// Those of [`Space::new`] and [`Grading::breakpoints`]; [`InvalidArgument`](crate::Error::InvalidArgument) for a side that is periodic while
    /// the one which faces it is not, and for coefficients that are not allowed.
    pub fn new(mesh: Mesh, degree: usize, equation: Equation) -> Result<Self> {
        Self::of_family(Family::Continuous, mesh, degree, equation)
    }

    /// By discontinuous elements, whose degree is 1 to 8, and the symmetric interior penalty method: `u` on Dirichlet sides enters by Nitsche's.
    /// The penalty on a face is that of [`Poisson`](super::Poisson), `c k (k + 1) (1/h⁺ + 1/h⁻)` with the cells' widths normal to the face.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn discontinuous(mesh: Mesh, degree: usize, equation: Equation) -> Result<Self> {
        Self::of_family(Family::Discontinuous, mesh, degree, equation)
    }

    /// By continuous elements or by discontinuous ones.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn of_family(family: Family, mesh: Mesh, degree: usize, equation: Equation) -> Result<Self> {
        let uniform = Space::of_family(family, mesh, degree)?;
        equation.check(mesh.dim())?;
        let axis = |(d, axis): (usize, &Axis)| {
            let breakpoints = equation.grading[d].breakpoints(axis.cells(), mesh.lengths()[d])?;
            Ok(match breakpoints {
                None => axis.clone(),
                Some(breakpoints) => Axis::graded(axis.family(), axis.shared_element(), breakpoints),
            })
        };
        let axes = uniform.axes().iter().enumerate().map(axis).collect::<Result<Vec<_>>>()?;
        let is_graded = !axes.iter().all(Axis::is_uniform);
        let coarsening = match is_graded {
            true => coarsening::Rule::graded(mesh.dim(), degree),
            false => coarsening::Rule::uniform(mesh.dim()),
        };
        Ok(Self::on_axes(mesh, axes, Arc::new(equation), coarsening)?.with_direct_nodes(coarsening.direct_nodes))
    }

    fn on_axes(mesh: Mesh, axes: Vec<Axis>, equation: Arc<Equation>, coarsening: coarsening::Rule) -> Result<Self> {
        let mut axes: Vec<_> = axes.iter().map(Axis::with_ends).collect();
        if axes[0].family() == Family::Continuous {
            axes[0] = axes[0].padded();
        }
        let line = |(axis, sides): (&Axis, [Condition; 2])| {
            let ends = match sides {
                [Condition::Periodic, _] => Ends::Periodic,
                sides => Ends::Open(sides.map(|side| side == Condition::Neumann)),
            };
            Line::new(axis.clone(), ends)
        };
        let lines: Vec<_> = axes.iter().zip(equation.sides).map(line).collect();
        let space = Space::of_axes(mesh, axes)?;
        if space.storage() > MOST_ENTRIES {
            let [x, y, z] = mesh.cells_along();
            let allowed =
                format_args!("such that a vector has at most {MOST_ENTRIES} entries, not {}", space.storage());
            return Err(invalid("cells", format_args!("{x} x {y} x {z}"), allowed));
        }
        let known_patches = Arc::default();
        Ok(Self { space, equation, lines, coarsening, is_merged: None, known_patches })
    }

    /// With other meshes that are solved directly, by fast diagonalization of the whole: `(S ⊗ S ⊗ S) (Σ_d c_d λ_d + s)⁻¹ (S ⊗ S ⊗ S)ᵀ`, which takes about `4 n` operations an unknown for each
    /// direction of `n` nodes. On graded cells, where levels are many, the default is all of up to 257 nodes in 2D and 513 in 3D, on equal ones coarse
    /// meshes of up to 129 and 193. With 0, only meshes that are a single patch are solved. Meshes of more than
    /// [`MOST_DIRECT_NODES`](Self::MOST_DIRECT_NODES) nodes, and those whose cells are so narrow that eigenvalues would be lost to rounding, are not
    /// solved, whatever is asked for.
    pub fn with_direct_nodes(mut self, nodes: DirectNodes) -> Self {
        (self.coarsening.direct_nodes, self.known_patches) = (nodes, Arc::default());
        match nodes {
            DirectNodes::All(most) => self.solved_up_to(most),
            DirectNodes::Coarse(_) => self.solved_up_to(0),
        }
    }

    /// Solved directly if it has at most so many nodes in every direction.
    fn solved_up_to(mut self, nodes: usize) -> Self {
        let most = nodes.min(Self::MOST_DIRECT_NODES);
        let is_solved = self.lines.iter().all(|line| line.nodes() <= most && line.has_good_eigenpairs());
        self.lines.iter_mut().for_each(|line| line.is_solved = is_solved);
        self
    }

    /// Which meshes are solved directly.
    pub fn direct_nodes(&self) -> DirectNodes {
        self.coarsening.direct_nodes
    }

    /// Whether its mesh is the coarsest, so that a cycle is a direct solution.
    pub fn is_solved_directly(&self) -> bool {
        self.lines.iter().all(Line::is_whole)
    }

    /// Whether it is solved as one patch of many cells, for which there are kernels.
    fn is_large_patch(&self) -> bool {
        self.is_solved_directly() && !self.lines.iter().any(Line::is_short)
    }

    /// For each patch of a direction whether it is kept: whether its cells and those next to them are cells of the next finer mesh, too. Corrections
    /// leave patches out that are kept in all directions. `None` if there are none, if a direction is a single patch, and for degree 1, where leaving
    /// them out costs iterations.
    fn kept_patches(&self) -> Option<[Vec<bool>; 3]> {
        if self.space.degree() == 1 {
            return None;
        }
        let mut kept = [const { Vec::new() }; 3];
        for (d, (line, is_merged)) in self.lines.iter().zip(self.is_merged.as_deref()?).enumerate() {
            if line.is_whole() {
                return None;
            }
            let cells = line.axis.cells();
            let is_kept = |vertex: usize| match line.joins_ends() {
                true => (vertex + cells - 2..vertex + cells + 2).all(|cell| !is_merged[cell % cells]),
                false => (vertex.saturating_sub(2)..cells.min(vertex + 2)).all(|cell| !is_merged[cell]),
            };
            kept[d] = line.patch_vertices().map(is_kept).collect();
            if !kept[d].contains(&true) {
                return None;
            }
        }
        Some(kept)
    }

    /// The space that its solutions are in: with nodes on all sides.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The family of elements.
    pub fn family(&self) -> Family {
        self.space.axes()[0].family()
    }

    /// Coefficients, sides and grading.
    pub fn equation(&self) -> &Equation {
        &self.equation
    }

    /// The mesh: the box and the number of cells in each direction. Sizes of cells are those of the [axes](Space::axes).
    pub fn mesh(&self) -> &Mesh {
        self.space.mesh()
    }

    /// Whether the solution is determined but for a constant: no side is Dirichlet's, and there is no reaction. It is the solution with mean 0.
    pub fn has_null_space(&self) -> bool {
        self.equation.has_null_space(self.dim())
    }

    /// The smoother that suits cells, coefficients and sides: [`ChebyshevFourthKind`](SmootherConfig::ChebyshevFourthKind) of degree 3 for continuous
    /// elements of degree 1 in 3D with Dirichlet sides, if a cell has an edge more than 1.5 times as long as another, edges being divided by the square
    /// roots of their directions' coefficients; otherwise [patches](SmootherConfig::Patch), which there would hold a single unknown.
    pub fn suitable_smoother(&self) -> SmootherConfig {
        let mut sides = self.equation.sides[..self.dim()].iter().flatten();
        suitable_smoother(&self.space, self.diffusion(), sides.all(|&side| side == Condition::Dirichlet))
    }

    /// `b_i = ∫ u φ_i` for each unknown: what a step in time needs, `s` times it being that of `s u`. `u` may have values on Dirichlet sides.
    ///
    /// # Errors
    /// [`SizeMismatch`](crate::Error::SizeMismatch) for a function of another space, [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn mass_product(&self, u: &Function) -> Result<Vec<f64>> {
        check_length("function", self.space.storage(), u.values().len())?;
        let mut product = memory::copy(u.values())?;
        for (d, line) in self.lines.iter().enumerate() {
            let mut next = memory::zeros(product.len())?;
            host::add_product(&line.with_open_ends().mass(), self.space.stored_nodes(), d, &product, &mut next);
            product = next;
        }
        host::keep_unknowns(self, &mut product);
        Ok(product)
    }

    /// A function as a vector of the system, for a solver to begin at: the inverse of [`System::solution`] but for the mean. Values where `u`
    /// is given are left out.
    ///
    /// # Errors
    /// [`SizeMismatch`](crate::Error::SizeMismatch) for a function of another space, [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn vector_of(&self, u: &Function) -> Result<Vec<f64>> {
        check_length("function", self.space.storage(), u.values().len())?;
        let mut vector = memory::copy(u.values())?;
        host::keep_unknowns(self, &mut vector);
        Ok(vector)
    }

    fn lines(&self) -> &[Line] {
        &self.lines
    }

    fn diffusion(&self) -> &[f64] {
        &self.equation.diffusion[..self.lines.len()]
    }

    /// Breakpoints that the next coarser mesh has.
    fn kept_breakpoints(&self) -> Option<Vec<Vec<usize>>> {
        coarsening::kept_breakpoints(&self.lines, self.diffusion(), self.coarsening)
    }

    /// Whether the next coarser mesh has half as many cells in every direction.
    fn halves_all(&self) -> bool {
        let is_halved = |(line, kept): (&Line, Vec<usize>)| 2 * (kept.len() - 1) == line.axis.cells();
        self.kept_breakpoints().is_some_and(|kept| self.lines.iter().zip(kept).all(is_halved))
    }

    fn has_constants(&self) -> bool {
        self.lines.iter().all(Line::has_constants)
    }

    /// Whether solves leave constants out: they are in the null space, or nearly so.
    fn drops_constants(&self) -> bool {
        let smallest = self
            .diffusion()
            .iter()
            .zip(self.mesh().lengths())
            .map(|(c, length)| c * (PI / length).powi(2))
            .fold(f64::INFINITY, f64::min);
        self.has_constants() && self.equation.reaction < SMALL_REACTION * smallest
    }

    /// The nodes that are unknowns, in the order of dofs: `x` fastest; `z` is 0 in 2D.
    fn unknowns(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [along_x, along_y, along_z] = [0, 1, 2].map(|d| self.lines.get(d).map_or(0..1, Line::unknowns));
        along_z.flat_map(move |z| {
            let row = along_x.clone();
            along_y.clone().flat_map(move |y| row.clone().map(move |x| [x, y, z]))
        })
    }

    /// `∫ φ_i / |Ω|` for each node of each direction: the product is the weight of a node in the mean.
    fn mean_weights(&self) -> Vec<Vec<f64>> {
        let of_line = |(line, length): (&Line, f64)| {
            let sums = line.mass().into_iter().map(|row| row.into_iter().map(|(_, entry)| entry).sum::<f64>() / length);
            sums.collect()
        };
        self.lines.iter().zip(self.mesh().lengths()).map(of_line).collect()
    }

    /// Calls with the offset of each unknown and its weight in the mean.
    fn for_each_weight(&self, mut visit: impl FnMut(usize, f64)) {
        let weights = self.mean_weights();
        for node in self.unknowns() {
            visit(self.space.offset(node), weights.iter().zip(node).map(|(weights, node)| weights[node]).product());
        }
    }
}

impl System for Separable {
    type Solution = Function;

    fn dim(&self) -> usize {
        self.mesh().dim()
    }

    fn cells(&self) -> usize {
        self.mesh().cells()
    }

    fn layout(&self) -> Layout {
        let dofs = self.lines.iter().map(|line| line.unknowns().len()).product();
        Layout::of_sizes([(self.space.storage(), dofs)])
    }

    /// Zero on Dirichlet sides, of discontinuous elements weakly what the load vector says. If constants are in the null space, its mean is 0.
    fn solution(&self, mut values: Vec<f64>) -> Result<Function> {
        self.layout().check("values", values.len())?;
        if self.drops_constants() {
            let mut mean = 0.0;
            self.for_each_weight(|offset, weight| mean += weight * values[offset]);
            self.unknowns().for_each(|node| values[self.space.offset(node)] -= mean);
        }
        host::close_periods(self, &mut values);
        Function::new(&self.space, values)
    }

    /// Where constants are in the null space, or nearly so, that the entries' sum becomes 0.
    fn project_load<'a>(&self, load: Cow<'a, [f64]>) -> Result<Cow<'a, [f64]>> {
        let sum: f64 = load.iter().sum();
        // The solver says where a number is not finite.
        if !self.drops_constants() || sum == 0.0 || !sum.is_finite() {
            return Ok(load);
        }
        let mut projected = match load {
            Cow::Owned(load) => load,
            Cow::Borrowed(load) => memory::copy(load)?,
        };
        self.for_each_weight(|offset, weight| projected[offset] -= sum * weight);
        Ok(projected.into())
    }

    /// `s |Ω|` times the mean of `u` is the sum of the load vector's entries.
    fn left_out(&self, load: &[f64]) -> f64 {
        let volume: f64 = self.mesh().lengths()[..self.dim()].iter().product();
        let is_small = self.drops_constants() && self.equation.reaction > 0.0;
        if is_small { load.iter().sum::<f64>() / (self.equation.reaction * volume) } else { 0.0 }
    }

    fn solution_with(&self, values: Vec<f64>, left_out: f64) -> Result<Function> {
        let solution = self.solution(values)?;
        if left_out == 0.0 {
            return Ok(solution);
        }
        let mut values = solution.into_values();
        self.unknowns().for_each(|node| values[self.space.offset(node)] += left_out);
        host::close_periods(self, &mut values);
        Function::new(&self.space, values)
    }

    fn coarser(&self) -> Option<Result<Self>> {
        let (kept, mesh) = (self.kept_breakpoints()?, self.mesh());
        let mut cells = mesh.cells_along();
        let axis = |(d, kept): (usize, Vec<usize>)| {
            let (axis, length) = (&self.space.axes()[d], mesh.lengths()[d]);
            let (fine, coarse) = (axis.cells(), kept.len() - 1);
            cells[d] = coarse;
            if coarse == fine {
                return axis.clone();
            }
            if axis.is_uniform() && 2 * coarse == fine && kept.windows(2).all(|pair| pair[1] - pair[0] == 2) {
                return axis.on(coarse, length / coarse as f64);
            }
            let mut breakpoints: Vec<f64> = kept[..coarse].iter().map(|&index| axis.at(index, 0.0)).collect();
            breakpoints.push(length);
            Axis::graded(axis.family(), axis.shared_element(), breakpoints.into())
        };
        let mut is_merged = [const { Vec::new() }; 3];
        for (is_merged, kept) in is_merged.iter_mut().zip(&kept) {
            *is_merged = kept.array_windows().map(|[first, end]| end - first == 2).collect();
        }
        let axes = kept.into_iter().enumerate().map(axis).collect();
        let coarser = Self::on_axes(mesh.with_cells(cells), axes, self.equation.clone(), self.coarsening);
        let (is_merged, known_patches) = (Some(Arc::new(is_merged)), self.known_patches.clone());
        Some(coarser.map(|coarser| {
            let coarser = coarser.solved_up_to(self.coarsening.direct_nodes.most());
            Self { is_merged, known_patches, ..coarser }
        }))
    }

    fn by_default_kernels(&self) -> Cow<'_, Self> {
        Cow::Borrowed(self)
    }

    /// Those of [`Poisson`](super::Poisson), for its reason.
    fn smoothers(&self) -> Smoothers {
        if self.family() == Family::Continuous { Smoothers::Any } else { Smoothers::Strong }
    }

    fn stores_residuals(&self) -> bool {
        self.family() == Family::Discontinuous
    }
}
