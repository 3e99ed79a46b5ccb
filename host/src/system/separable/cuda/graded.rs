//! Where cells have any sizes: steps of the smoother, and the operator.

use super::super::Separable;
use super::super::level::{Scope, Steps};
use super::super::line::{Line, Rows};
use super::operator::{Launch, Matrices};
use super::{Cells, Common, equal};
use crate::backend::Scalar;
use crate::backend::cuda::launch::TypedKernel;
use crate::backend::cuda::{Cuda, Vector};
use crate::error::{Error, Result};
use crate::fe::generalized_eigenpairs;
use crate::operator::vector_bytes;
use crate::system::System;
use nalgebra::DMatrix;
use patchmg_device::separable::graded::{self, Apply, PatchTable, Residual};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::iter;
use std::ptr;
use std::sync::Arc;

/// The kernel of a level of graded cells, and its tables.
pub struct Graded<T: Scalar> {
    level: Common,
    kernel: TypedKernel<graded::Smooth<T>>,
    tables: Vector<T>,
    starts: Vector<u32>,
    /// Patches that corrections leave out, see [`kept_from`].
    kept: Option<Vector<u32>>,
}

impl<T: Scalar> Graded<T> {
    pub fn new(cuda: &Arc<Cuda>, system: &Separable) -> Result<Self> {
        let (gpu, Tables { tables, starts }) = (&cuda.gpu, Tables::new(system)?);
        let kept = system.kept_patches().map(|kept| Vector::uploaded(gpu, &kept_from(&kept))).transpose()?;
        Ok(Self {
            kept,
            level: Common::new(cuda, system),
            kernel: Cells::Graded.kernel(gpu, system)?,
            tables: Vector::uploaded(gpu, &tables)?,
            starts: Vector::uploaded(gpu, &starts)?,
        })
    }
}

impl<T: Scalar> Steps<Cuda, T> for Graded<T> {
    fn smooth(&self, scope: Scope, colors: &[usize], b: &Vector<T>, x: &mut Vector<T>) -> Result<()> {
        let level = &self.level;
        level.check(&[("b", b), ("x", x)])?;
        let kept = self.kept.as_ref().filter(|_| scope == Scope::Corrections).map_or(ptr::null(), Vector::as_ptr);
        colors.iter().map(|&color| color as u32).try_for_each(|color| {
            let arguments = graded::Smooth {
                tables: self.tables.as_ptr(),
                starts: self.starts.as_ptr(),
                kept,
                b: b.as_ptr(),
                x: x.as_mut_ptr(),
                directions: level.directions,
                color,
            };
            let blocks = graded::blocks::<T>(level.dim, level.degree, level.directions, color);
            // SAFETY: vectors of the level, checked above, `x` another one than `b`, and tables of its patches.
            unsafe { self.kernel.launch(&level.cuda.gpu, blocks, arguments) }
        })
    }

    fn resident_blocks(&self) -> Result<Vec<(String, u32)>> {
        self.kernel.resident(&self.level.cuda.gpu).map(|resident| vec![resident])
    }
}

/// What [`graded::Smooth`] takes.
pub struct Tables<T> {
    /// A [`PatchTable`] for each distinct patch of a direction.
    pub tables: Vec<T>,
    /// Where that of each patch begins, along x, then along y, then along z.
    pub starts: Vec<u32>,
}

impl<T: Scalar> Tables<T> {
    pub fn new(system: &Separable) -> Result<Self> {
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
                        let degree = line.axis.degree();
                        tables.extend(graded::arranged(dim, degree, d, patch.table::<T>(degree, reaction)?));
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

/// For each patch, along x, then along y, then along z, the length of the run of kept patches of its color that begins there.
pub fn kept_from(kept: &[Vec<bool>; 3]) -> Vec<u32> {
    let mut counts = Vec::new();
    for of_line in kept {
        let first = counts.len();
        counts.resize(first + of_line.len(), 0);
        for (patch, _) in of_line.iter().enumerate().rev().filter(|(_, is_kept)| **is_kept) {
            counts[first + patch] = 1 + counts[first..].get(patch + 2).copied().unwrap_or(0);
        }
    }
    counts
}

/// Bytes of the tables, at most.
pub fn tables_bytes<T: Scalar>(system: &Separable) -> u64 {
    let words = graded::table_words(system.dim(), system.space().degree(), size_of::<T>());
    let patches: usize = system.lines().iter().map(|line| line.patch_vertices().len()).sum();
    vector_bytes::<T>(patches, words) + vector_bytes::<f32>(2, patches)
}

/// What the operator's kernels take.
pub struct GradedMatrices<T: Scalar> {
    matrices: Vec<T>,
    sizes: Vector<T>,
}

impl<T: Scalar> GradedMatrices<T> {
    pub fn new(cuda: &Arc<Cuda>, system: &Separable) -> Result<Self> {
        Ok(Self { matrices: cell_matrices(system)?, sizes: Vector::uploaded(&cuda.gpu, &sizes(system))? })
    }
}

impl<T: Scalar> Matrices<T> for GradedMatrices<T> {
    const CELLS: Cells = Cells::Graded;
    type Apply = Apply<T>;
    type Residual = Residual<T>;

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, Launch { directions, chunk }: Launch) -> Apply<T> {
        let (matrices, sizes) = (self.matrices.as_ptr(), self.sizes.as_ptr());
        Apply { matrices, sizes, x: x.as_ptr(), y: y.as_mut_ptr(), directions, chunk }
    }

    fn residual(&self, b: &Vector<T>, x: &Vector<T>, r: &mut Vector<T>, launch: Launch) -> Residual<T> {
        let Launch { directions, chunk } = launch;
        let (matrices, sizes) = (self.matrices.as_ptr(), self.sizes.as_ptr());
        Residual { matrices, sizes, b: b.as_ptr(), x: x.as_ptr(), r: r.as_mut_ptr(), directions, chunk }
    }
}

/// The matrices that [`Apply`] and [`Residual`] take.
pub fn cell_matrices<T: Scalar>(system: &Separable) -> Result<Vec<T>> {
    equal::cell_matrices_with(system, [1.0; 3], system.equation().reaction)
}

/// The sizes of cells that they take: `h` and `c / h²`.
pub fn sizes<T: Scalar>(system: &Separable) -> Vec<T> {
    let of_line = |(line, coefficient): (&Line, &f64)| -> Vec<T> {
        let last = line.axis.cells() - 1;
        // Images are mirrored, or the other end of a period.
        let [below, above] = if line.joins_ends() { [last, 0] } else { [0, last] };
        let cells = iter::once(below).chain(0..=last).chain(iter::once(above));
        let entries = |cell| {
            let width = line.axis.width(cell);
            [width, coefficient / (width * width)].map(T::from_f64)
        };
        cells.flat_map(entries).collect()
    };
    system.lines().iter().zip(system.diffusion()).flat_map(of_line).collect()
}

/// Bytes of these sizes.
pub fn sizes_bytes<T: Scalar>(system: &Separable) -> u64 {
    vector_bytes::<T>(2, system.lines().iter().map(|line| line.axis.cells() + 2).sum())
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

    /// The same for patches that can share a table.
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
