//! Levels on a GPU: steps of the smoother by a kernel, all else by matrices along axes.

use super::Separable;
use super::level::{self, SeparableLevel, Steps};
use super::line::{Line, Rows};
use crate::backend::Scalar;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector, modules};
use crate::error::{Error, Result};
use crate::fe::generalized_eigenpairs;
use crate::level::SharedLevel;
use crate::operator::vector_bytes;
use crate::system::{Runs, System};
use nalgebra::DMatrix;
use patchmg_device::kernels::Module;
use patchmg_device::separable::{self, Direction, Directions, PatchTable, Smooth};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

impl Runs<Separable> for Cuda {
    fn check<T: Scalar>(&self, system: &Separable) -> Result<()> {
        if has_kernel(system) { modules::require(module(system)) } else { Ok(()) }
    }

    fn level<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(if has_kernel(system) {
            Arc::new(SeparableLevel::with_steps(self, system, Box::new(Kernel::new(self, system)?))?)
        } else {
            Arc::new(SeparableLevel::new(self, system)?)
        })
    }

    fn level_for_products<T: Scalar>(self: &Arc<Self>, system: &Separable) -> Result<SharedLevel<Self, T>> {
        Ok(Arc::new(SeparableLevel::for_products(self, system)?))
    }

    fn level_bytes<T: Scalar>(system: &Separable) -> u64 {
        let patches = if has_kernel(system) { bytes::<T>(system) } else { level::patches_bytes::<T>(system) };
        level::bytes::<Self, T>(system) + patches
    }
}

/// Where each direction has several patches, of continuous elements.
fn has_kernel(system: &Separable) -> bool {
    system.lines().iter().all(|line| !line.is_whole() && !line.is_discontinuous())
}

fn module(system: &Separable) -> Module {
    separable::KIND.module(system.dim(), system.space().degree())
}

/// The kernel of a level and its tables.
struct Kernel<T: Scalar> {
    cuda: Arc<Cuda>,
    kernel: TypedKernel<Smooth<T>>,
    tables: Vector<T>,
    starts: Vector<u32>,
    directions: Directions,
    dim: usize,
    degree: usize,
    storage: usize,
}

impl<T: Scalar> Kernel<T> {
    fn new(cuda: &Arc<Cuda>, system: &Separable) -> Result<Self> {
        let (gpu, Tables { tables, starts, directions }) = (&cuda.gpu, Tables::new(system)?);
        Ok(Self {
            cuda: cuda.clone(),
            kernel: TypedKernel::new(gpu, module(system))?,
            tables: Vector::uploaded(gpu, &tables)?,
            starts: Vector::uploaded(gpu, &starts)?,
            directions,
            dim: system.dim(),
            degree: system.space().degree(),
            storage: system.space().storage(),
        })
    }
}

impl<T: Scalar> Steps<Cuda, T> for Kernel<T> {
    fn smooth(&self, color: usize, b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let (gpu, color) = (&self.cuda.gpu, color as u32);
        b.check(gpu, "b", self.storage)?;
        x.check(gpu, "x", self.storage)?;
        let arguments = Smooth {
            tables: self.tables.as_ptr(),
            starts: self.starts.as_ptr(),
            b: b.as_ptr(),
            x: x.as_mut_ptr(),
            directions: self.directions,
            color,
        };
        let blocks = separable::blocks(self.dim, self.degree, self.directions, color);
        // SAFETY: vectors of the level, checked above, `x` another one than `b`, and tables of its patches.
        unsafe { self.kernel.launch(gpu, blocks, arguments) }
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.kernel.resident(&self.cuda.gpu).map(|resident| vec![resident])
    }
}

/// What the kernel takes.
struct Tables<T> {
    /// A [`PatchTable`] for each pair of cells.
    tables: Vec<T>,
    /// Where that of each patch begins, along x, then along y, then along z.
    starts: Vec<u32>,
    directions: Directions,
}

impl<T: Scalar> Tables<T> {
    fn new(system: &Separable) -> Result<Self> {
        let (dim, reaction) = (system.dim(), system.equation().reaction);
        let mut tables = Vec::new();
        let (mut starts, mut directions) =
            (Vec::new(), [Direction { cells: 1, first: 0, patches: 1, is_periodic: 0 }; 3]);
        for (d, (line, &coefficient)) in system.lines().iter().zip(system.diffusion()).enumerate() {
            let vertices = line.patch_vertices();
            directions[d] = Direction {
                cells: line.axis.cells() as u32,
                first: vertices.start as u32,
                patches: vertices.len() as u32,
                is_periodic: line.joins_ends().into(),
            };
            let reaction = (d + 1 == dim).then_some(reaction);
            let all = line.with_open_ends();
            let forms = [all.mass(), all.stiffness(coefficient, f64::MANTISSA_DIGITS)];
            let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
            for vertex in vertices {
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
        Ok(Self { tables, starts, directions: Directions(directions) })
    }
}

/// Bytes of the tables, at most.
fn bytes<T: Scalar>(system: &Separable) -> u64 {
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
    fn equations() -> [Equation; 5] {
        let uniform = || [Grading::Uniform, Grading::Uniform, Grading::Uniform];
        let graded = [Grading::Geometric(20.0), Grading::BothEnds(5.0), Grading::Geometric(0.3)];
        [
            Equation::default(),
            equation([[D, N], [N, D], [D, D]], graded.clone(), 0.0),
            equation([[P, P], [D, D], [N, N]], uniform(), 3.0),
            equation([[N, N], [P, P], [N, D]], graded, 40.0),
            equation([[N, N]; 3], uniform(), 0.0),
        ]
    }

    fn check<T: Scalar>(cells: &[usize], degree: usize, equation: Equation) {
        let what = format!("{cells:?}, degree {degree}, {equation:?}");
        let halves: Vec<usize> = cells.iter().map(|cells| cells / 2).collect();
        let mesh = Mesh::of_box(&halves, &[1.5, 1.0, 0.8][..cells.len()], 1).unwrap();
        let system = Separable::new(mesh, degree, equation).unwrap();
        assert!(has_kernel(&system), "{what}");
        let cpu = Arc::new(Cpu::new(Some(1)).unwrap());
        let level = SeparableLevel::<_, T>::new(&cpu, &system).unwrap();
        let Tables { tables, starts, directions } = Tables::<T>::new(&system).unwrap();
        assert!(bytes::<T>(&system) >= (size_of::<T>() * tables.len() + 4 * starts.len()) as u64, "{what}");
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
        let module = module(&system);
        let kernel = Kernel::new(module, Smooth::<T>::spec(module)).unwrap();
        for &color in level.colors() {
            let (mut expected, mut found, b_host) = (vector(2), host(&vector(2)), host(&b));
            level.smooth_color(color, &b, &mut expected).unwrap();
            let arguments = Smooth {
                tables: tables.as_ptr(),
                starts: starts.as_ptr(),
                b: b_host.as_ptr(),
                x: found.as_mut_ptr(),
                directions,
                color: color as u32,
            };
            let blocks = separable::blocks(cells.len(), degree, directions, color as u32);
            // SAFETY: vectors and tables are those of the level, and the blocks those of its kernel.
            unsafe { kernel.run(blocks, Arguments { typed: Some(&arguments), ..Arguments::default() }) };
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
    fn the_kernel_solves_on_patches_as_matrices_along_axes_do() {
        for equation in equations() {
            for (cells, degree) in [
                (&[6, 4][..], 1),
                (&[4, 6], 2),
                (&[36, 4], 3),
                (&[6, 4], 10),
                (&[4, 4, 6], 1),
                (&[10, 4, 4], 2),
                (&[6, 4, 4], 3),
                (&[4, 4, 4], 4),
            ] {
                check::<f64>(cells, degree, equation.clone());
                check::<f32>(cells, degree, equation.clone());
            }
        }
        // Blocks that are one patch.
        check::<f64>(&[4, 4, 4], 6, equations()[3].clone());
        check::<f64>(&[4, 4, 4], 8, equations()[1].clone());
    }
}
