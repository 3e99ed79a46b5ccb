//! Levels on a GPU: steps of the smoother by a kernel, all else by matrices along axes.

use super::Separable;
use super::level::{self, SeparableLevel, Steps};
use super::line::{Line, Rows};
use super::patches;
use crate::backend::Scalar;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector, modules};
use crate::error::{Error, Result};
use crate::fe::generalized_eigenpairs;
use crate::level::SharedLevel;
use crate::operator::vector_bytes;
use crate::space::Axis;
use crate::system::poisson::forms::ContinuousForm;
use crate::system::{Runs, System};
use nalgebra::DMatrix;
use patchmg_device::kernels::{Module, patch_nodes};
use patchmg_device::matrices::{self, Reaction, SidedMatrices};
use patchmg_device::patch::{Direction, Directions};
use patchmg_device::separable::graded::{self, PatchTable};
use patchmg_device::separable::{self, Smooth};
use patchmg_device::{smoother, with_degree};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

impl Runs<Separable> for Cuda {
    fn check<T: Scalar>(&self, system: &Separable) -> Result<()> {
        Cells::of(system).map_or(Ok(()), |cells| modules::require(cells.module(system)))
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(match Cells::of(system) {
            Some(Cells::Equal) => {
                Arc::new(SeparableLevel::with_steps(self, system, Box::new(Equal::new(self, system)?))?)
            }
            Some(Cells::Graded) => {
                Arc::new(SeparableLevel::with_steps(self, system, Box::new(Graded::new(self, system)?))?)
            }
            None => Arc::new(SeparableLevel::new(self, system)?),
        })
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(SeparableLevel::for_products(self, system)?))
    }

    fn level_bytes<T: Scalar>(system: &Separable) -> u64 {
        let patches = match Cells::of(system) {
            Some(Cells::Equal) => vector_bytes::<T>(1, table_words(system)),
            Some(Cells::Graded) => tables_bytes::<T>(system),
            None => patches::bytes::<T>(system),
        };
        level::bytes::<Self, T>(system) + patches
    }
}

/// The cells of a level whose smoother has a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cells {
    /// Those of a direction are equal.
    Equal,
    /// They have any sizes.
    Graded,
}

impl Cells {
    /// None where a direction is one patch, of discontinuous elements, of graded cells in high degrees, and where a plane has more
    /// nodes than 32 bits count.
    fn of(system: &Separable) -> Option<Self> {
        let (lines, [row, rows, _]) = (system.lines(), system.space().stored_nodes());
        let is_other = lines.iter().any(|line| line.is_whole() || line.is_discontinuous());
        if is_other || row.checked_mul(rows).is_none_or(|plane| u32::try_from(plane).is_err()) {
            return None;
        }
        let is_uniform = lines.iter().all(|line| line.axis.is_uniform());
        let has_graded = system.space().degree() <= graded::HIGHEST_DEGREE;
        if is_uniform { Some(Cells::Equal) } else { has_graded.then_some(Cells::Graded) }
    }

    fn module(self, system: &Separable) -> Module {
        let kind = if self == Cells::Equal { &separable::KIND } else { &graded::KIND };
        kind.module(system.dim(), system.space().degree())
    }
}

/// What both kernels need of a level.
struct Common {
    cuda: Arc<Cuda>,
    directions: Directions,
    dim: usize,
    degree: usize,
    storage: usize,
}

impl Common {
    fn new(cuda: &Arc<Cuda>, system: &Separable) -> Self {
        let (directions, space) = (directions(system), system.space());
        Self { cuda: cuda.clone(), directions, dim: system.dim(), degree: space.degree(), storage: space.storage() }
    }

    fn check<T: Scalar>(&self, b: &Vector<T>, x: &Vector<T>) -> Result<()> {
        b.check(&self.cuda.gpu, "b", self.storage)?;
        x.check(&self.cuda.gpu, "x", self.storage)
    }
}

fn directions(system: &Separable) -> Directions {
    let mut directions = [Direction { cells: 1, first: 0, patches: 1, is_periodic: 0 }; 3];
    for (direction, line) in directions.iter_mut().zip(system.lines()) {
        let vertices = line.patch_vertices();
        *direction = Direction {
            cells: line.axis.cells() as u32,
            first: vertices.start as u32,
            patches: vertices.len() as u32,
            is_periodic: line.joins_ends().into(),
        };
    }
    Directions(directions)
}

/// The kernel of a level of equal cells, its matrices and its table.
struct Equal<T: Scalar> {
    level: Common,
    kernel: TypedKernel<Smooth<T>>,
    matrices: Vec<T>,
    table: Vector<T>,
}

impl<T: Scalar> Equal<T> {
    fn new(cuda: &Arc<Cuda>, system: &Separable) -> Result<Self> {
        let (gpu, (matrices, table)) = (&cuda.gpu, matrices(system)?);
        Ok(Self {
            level: Common::new(cuda, system),
            kernel: TypedKernel::new(gpu, Cells::Equal.module(system))?,
            matrices,
            table: Vector::uploaded(gpu, &table)?,
        })
    }
}

impl<T: Scalar> Steps<Cuda, T> for Equal<T> {
    fn smooth(&self, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (level, color) = (&self.level, color as u32);
        level.check(b, x)?;
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
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.kernel.resident(&self.level.cuda.gpu).map(|resident| vec![resident])
    }
}

/// Of the table of [`Smooth`].
fn table_words(system: &Separable) -> usize {
    let degree = system.space().degree();
    smoother::table_words(system.dim(), degree) + patch_nodes(degree).0
}

/// The matrices and the table that [`Smooth`] takes.
fn matrices<T: Scalar>(system: &Separable) -> Result<(Vec<T>, Vec<T>)> {
    let (dim, degree, axes) = (system.dim(), system.space().degree(), system.space().axes());
    let form = ContinuousForm::new(axes[0].element(), 1.0)?;
    let volume: f64 = axes.iter().map(Axis::cell_size).product();
    let mut factors = [1.0; 3];
    for ((factor, axis), coefficient) in factors.iter_mut().zip(axes).zip(system.diffusion()) {
        *factor = coefficient * volume / (axis.cell_size() * axis.cell_size());
    }
    let (reaction, sums) = (system.equation().reaction * volume, form.mass_sums());
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
            bytemuck::cast_slice(bytemuck::bytes_of(&SidedMatrices { smoother, reaction })).to_vec()
        },
        else Vec::new()
    );
    Ok((matrices, table))
}

/// The kernel of a level of graded cells, and its tables.
struct Graded<T: Scalar> {
    level: Common,
    kernel: TypedKernel<graded::Smooth<T>>,
    tables: Vector<T>,
    starts: Vector<u32>,
}

impl<T: Scalar> Graded<T> {
    fn new(cuda: &Arc<Cuda>, system: &Separable) -> Result<Self> {
        let (gpu, Tables { tables, starts }) = (&cuda.gpu, Tables::new(system)?);
        Ok(Self {
            level: Common::new(cuda, system),
            kernel: TypedKernel::new(gpu, Cells::Graded.module(system))?,
            tables: Vector::uploaded(gpu, &tables)?,
            starts: Vector::uploaded(gpu, &starts)?,
        })
    }
}

impl<T: Scalar> Steps<Cuda, T> for Graded<T> {
    fn smooth(&self, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (level, color) = (&self.level, color as u32);
        level.check(b, x)?;
        let arguments = graded::Smooth {
            tables: self.tables.as_ptr(),
            starts: self.starts.as_ptr(),
            b: b.as_ptr(),
            x: x.as_mut_ptr(),
            directions: level.directions,
            color,
        };
        let blocks = graded::blocks(level.dim, level.degree, level.directions, color);
        // SAFETY: vectors of the level, checked above, `x` another one than `b`, and tables of its patches.
        unsafe { self.kernel.launch(&level.cuda.gpu, blocks, arguments) }
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.kernel.resident(&self.level.cuda.gpu).map(|resident| vec![resident])
    }
}

/// What [`graded::Smooth`] takes.
struct Tables<T> {
    /// A [`PatchTable`] for each pair of cells.
    tables: Vec<T>,
    /// Where that of each patch begins, along x, then along y, then along z.
    starts: Vec<u32>,
}

impl<T: Scalar> Tables<T> {
    fn new(system: &Separable) -> Result<Self> {
        let (dim, reaction) = (system.dim(), system.equation().reaction);
        let (mut tables, mut starts) = (Vec::new(), Vec::new());
        for (d, (line, &coefficient)) in system.lines().iter().zip(system.diffusion()).enumerate() {
            let reaction = (d + 1 == dim).then_some(reaction);
            let all = line.with_open_ends();
            let forms = [all.mass(), all.stiffness(coefficient, f64::MANTISSA_DIGITS)];
            let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
            for vertex in line.patch_vertices() {
                let patch = Patch::new(line, &forms, vertex);
                let start = match known.entry(patch.bits()) {
                    Entry::Occupied(start) => *start.get(),
                    Entry::Vacant(place) => {
                        let start = tables.len();
                        tables.extend(patch.table::<T>(line.axis.degree(), reaction)?);
                        *place.insert(start)
                    }
                };
                starts.push(u32::try_from(start).map_err(|_| Error::InvalidArgument {
                    name: "entries of the tables of patches",
                    value: start.to_string(),
                    allowed: format!("at most {}", u32::MAX),
                })?);
            }
        }
        Ok(Self { tables, starts })
    }
}

/// Bytes of the tables, at most.
fn tables_bytes<T: Scalar>(system: &Separable) -> u64 {
    let words = PatchTable::new(system.space().degree(), size_of::<T>()).words();
    let patches: usize = system.lines().iter().map(|line| line.patch_vertices().len()).sum();
    vector_bytes::<T>(patches, words) + vector_bytes::<f32>(1, patches)
}

/// A patch of a direction: `2k + 1` nodes, of which some are missing beyond an end.
struct Patch {
    /// Places of the unknowns.
    unknowns: Vec<usize>,
    /// Rows of the mass and of the stiffness matrix, an unknown each, on all places.
    forms: [DMatrix<f64>; 2],
}

impl Patch {
    fn new(line: &Line, forms: &[Rows; 2], vertex: usize) -> Self {
        let (stride, last) = (line.axis.stride(), line.nodes() - 1);
        let node = |place: usize| {
            let node = vertex * stride + place;
            match line.joins_ends() {
                true => Some((node + last - stride) % last),
                false => node.checked_sub(stride).filter(|&node| node <= last),
            }
        };
        let unknowns: Vec<_> = (1..2 * stride).filter(|&place| node(place).is_some()).collect();
        let nodes: Vec<_> = (0..=2 * stride).map(node).collect();
        let of_form = |rows: &Rows| {
            DMatrix::from_fn(unknowns.len(), nodes.len(), |i, place| {
                let row = &rows[nodes[unknowns[i]].unwrap_or_default()];
                row.iter().find(|&&(column, _)| Some(column) == nodes[place]).map_or(0.0, |&(_, value)| value)
            })
        };
        Self { forms: [of_form(&forms[0]), of_form(&forms[1])], unknowns }
    }

    /// What tells it from others.
    fn bits(&self) -> Vec<u64> {
        let entries = self.forms.iter().flat_map(|form| form.iter().map(|entry| entry.to_bits()));
        self.unknowns.iter().map(|&place| place as u64).chain(entries).collect()
    }

    /// Its [`PatchTable`], in the last direction with the reaction.
    fn table<T: Scalar>(&self, degree: usize, reaction: Option<f64>) -> Result<Vec<T>> {
        let (layout, Self { unknowns, forms: [mass, stiffness] }) = (PatchTable::new(degree, size_of::<T>()), self);
        let inner = |form: &DMatrix<f64>| form.select_columns(unknowns);
        let pairs = generalized_eigenpairs(&inner(stiffness), &inner(mass))?;
        let [transform, coupling] = [mass, stiffness].map(|form| pairs.vectors.tr_mul(form));
        let mut table = vec![T::ZERO; layout.words()];
        let mut set = |place: usize, value: f64| table[place] = T::from_f64(value);
        // Functions that there are not.
        (0..2 * degree - 1).for_each(|f| set(layout.values() + f, 1.0));
        for f in 0..unknowns.len() {
            (0..=2 * degree).for_each(|place| set(layout.transform(f) + place, transform[(f, place)]));
            for (i, place) in unknowns.iter().enumerate() {
                set(layout.vectors(place - 1) + f, pairs.vectors[(i, f)]);
            }
            set(layout.values() + f, pairs.values[f] + reaction.unwrap_or(0.0));
            for (end, place) in [0, 2 * degree].into_iter().enumerate() {
                let value = coupling[(f, place)] - pairs.values[f] * transform[(f, place)];
                set(layout.coupling(end) + f, value);
            }
            let sum: f64 = transform.row(f).iter().sum();
            set(layout.sums() + f, sum * reaction.unwrap_or(1.0));
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Equation};
    use super::*;
    use crate::backend::Backend;
    use crate::backend::cpu::Cpu;
    use crate::level::{Level as _, Patches as _};
    use crate::mesh::{Grading, Mesh};
    use crate::testing::random;
    use patchmg_device::typed::Arguments as _;
    use patchmg_emulation::{Arguments, Kernel};

    const D: Condition = Condition::Dirichlet;
    const N: Condition = Condition::Neumann;
    const P: Condition = Condition::Periodic;

    fn equation(sides: [[Condition; 2]; 3], grading: [Grading; 3], reaction: f64) -> Equation {
        Equation { sides, diffusion: [1.0, 0.5, 2.0], reaction, grading }
    }

    /// Every side and grading, with and without a reaction.
    fn equations() -> [Equation; 7] {
        let uniform = || [Grading::Uniform, Grading::Uniform, Grading::Uniform];
        let graded = [Grading::Geometric(20.0), Grading::BothEnds(5.0), Grading::Geometric(0.3)];
        [
            Equation::default(),
            equation([[D, N], [N, D], [D, D]], graded.clone(), 0.0),
            equation([[P, P], [D, D], [N, N]], uniform(), 3.0),
            equation([[N, N], [P, P], [N, D]], graded, 40.0),
            equation([[N, N]; 3], uniform(), 0.0),
            equation([[D, N], [N, D], [P, P]], uniform(), 40.0),
            equation([[N, D], [P, P], [D, N]], uniform(), 0.0),
        ]
    }

    fn check<T: Scalar>(cells: &[usize], degree: usize, equation: Equation) {
        let what = format!("{cells:?}, degree {degree}, {equation:?}");
        let halves: Vec<usize> = cells.iter().map(|cells| cells / 2).collect();
        let mesh = Mesh::of_box(&halves, &[1.5, 1.0, 0.8][..cells.len()], 1).unwrap();
        let system = Separable::new(mesh, degree, equation).unwrap();
        let is_equal = system.equation().grading == [Grading::Uniform, Grading::Uniform, Grading::Uniform];
        assert_eq!(Cells::of(&system), Some(if is_equal { Cells::Equal } else { Cells::Graded }), "{what}");
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let level = SeparableLevel::<_, T>::new(&cpu, &system).unwrap();
        let (Tables { tables, starts }, directions) = (Tables::<T>::new(&system).unwrap(), directions(&system));
        assert!(tables_bytes::<T>(&system) >= (size_of::<T>() * tables.len() + 4 * starts.len()) as u64, "{what}");
        let vector = |seed: u64| {
            let values = random(system.layout().dofs(), seed);
            level.vector_of(&mut |dof| values[dof] + 3.0).unwrap()
        };
        let host = |vector: &_| {
            let mut host = vec![T::ZERO; system.space().storage()];
            cpu.download(vector, &mut host).unwrap();
            host
        };
        let b = vector(1);
        let (matrices, table) = matrices::<T>(&system).unwrap();
        assert_eq!(table.len(), table_words(&system), "{what}");
        let (equal, graded) = (Cells::Equal.module(&system), Cells::Graded.module(&system));
        for &color in level.colors() {
            let (mut expected, mut found, b_host) = (vector(2), host(&vector(2)), host(&b));
            level.smooth_color(color, &b, &mut expected).unwrap();
            let (dim, b, x, color) = (cells.len(), b_host.as_ptr(), found.as_mut_ptr(), color as u32);
            if is_equal {
                let (matrices, table) = (matrices.as_ptr(), table.as_ptr());
                let arguments = Smooth { matrices, table, b, x, directions, color };
                let kernel = Kernel::new(equal, Smooth::<T>::spec(equal)).unwrap();
                let blocks = separable::blocks::<T>(dim, degree, directions, color);
                // SAFETY: vectors, matrices and table are those of the level, and the blocks those of its kernel.
                unsafe { kernel.run(blocks, Arguments { typed: Some(&arguments), ..Arguments::default() }) };
            } else {
                let (tables, starts) = (tables.as_ptr(), starts.as_ptr());
                let arguments = graded::Smooth { tables, starts, b, x, directions, color };
                let kernel = Kernel::new(graded, graded::Smooth::<T>::spec(graded)).unwrap();
                let blocks = graded::blocks(dim, degree, directions, color);
                // SAFETY: as above.
                unsafe { kernel.run(blocks, Arguments { typed: Some(&arguments), ..Arguments::default() }) };
            }
            let expected = host(&expected);
            let largest = expected.iter().fold(0.0, |most: f64, value| most.max(value.to_f64().abs()));
            let allowed = largest * 1e4 * 0.5_f64.powi(T::MANTISSA_DIGITS as i32);
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let error = (found.to_f64() - expected.to_f64()).abs();
                assert!(error <= allowed, "{what}, color {color}, entry {index}: {found:?} instead of {expected:?}");
            }
        }
    }

    #[test]
    fn kernels_solve_on_patches_as_matrices_along_axes_do() {
        for equation in equations() {
            for (cells, degree) in [
                (&[6, 4][..], 1),
                (&[4, 6], 2),
                (&[36, 4], 3),
                (&[8, 4], 4),
                (&[4, 4, 6], 1),
                (&[10, 4, 4], 2),
                (&[6, 4, 4], 3),
                (&[4, 4, 4], 4),
            ] {
                check::<f64>(cells, degree, equation.clone());
                check::<f32>(cells, degree, equation.clone());
            }
        }
    }

    /// Up to blocks that are one patch.
    #[test]
    fn kernels_of_equal_cells_have_all_degrees() {
        for equation in [equations()[2].clone(), equations()[5].clone()] {
            (5..=10).for_each(|degree| check::<f64>(&[4, 6], degree, equation.clone()));
            (5..=8).for_each(|degree| check::<f64>(&[4, 6, 4], degree, equation.clone()));
            check::<f32>(&[6, 4], 9, equation.clone());
            check::<f32>(&[6, 4, 4], 7, equation);
        }
    }

    #[test]
    fn graded_cells_have_kernels_in_low_degrees_alone() {
        let system = |degree: usize| {
            let mesh = Mesh::of_box(&[2, 2], &[1.0, 1.0], 1).unwrap();
            Separable::new(mesh, degree, equations()[1].clone()).unwrap()
        };
        assert_eq!(Cells::of(&system(graded::HIGHEST_DEGREE)), Some(Cells::Graded));
        assert_eq!(Cells::of(&system(graded::HIGHEST_DEGREE + 1)), None);
    }
}
