//! Dense matrices of patches: each is stored once for all patches of a kind, and applied to many of them as one product.

use super::patches::PatchPlace;
use super::schur_cg::CgVectors;
use crate::backend::{AxisMatrix, Backend, Scalar, Tensors};
use crate::error::Result;
use nalgebra::DMatrix;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What the colors of a level share.
pub(super) struct Tables<B: Backend, T: Scalar> {
    /// By kind: the kinds in each direction.
    matrices: BTreeMap<Vec<usize>, Vec<Table<B, T>>>,
    /// Vectors of conjugate gradients.
    pub cg: Option<Shared<CgVectors<B, T>>>,
    /// Vectors of all dofs, patch after patch.
    pub gathered: Option<Shared<[B::Vector<T>; 2]>>,
}

/// What colors compute with one after the other.
pub(super) type Shared<V> = Arc<Mutex<V>>;

/// A dense matrix, and which entries of a patch it takes.
struct Table<B: Backend, T: Scalar> {
    entries: Vec<usize>,
    matrix: Arc<B::AxisMatrix<T>>,
}

impl<B: Backend, T: Scalar> Tables<B, T> {
    /// None yet.
    pub fn new() -> Self {
        Self { matrices: BTreeMap::new(), cg: None, gathered: None }
    }
}

/// Dense matrices on the patches of a color: entries are brought beside each other, multiplied, and brought back.
pub(super) struct DensePatches<B: Backend, T: Scalar> {
    /// From their places in a vector to patch after patch, and back.
    gather: B::AxisMatrix<T>,
    scatter: B::AxisMatrix<T>,
    matrices: Vec<Placed<B, T>>,
}

/// A matrix for so many patches, whose entries begin at one.
struct Placed<B: Backend, T: Scalar> {
    matrix: Arc<B::AxisMatrix<T>>,
    first: usize,
    patches: usize,
}

/// Entries of a patch and the dense matrix that couples them; no entry is in two.
pub(super) type Coupled = (Vec<usize>, DMatrix<f64>);

/// The matrices of patches, and where their entries lie.
pub(super) trait PatchMatrices {
    /// Those of the kind of a patch.
    fn of_kind(&self, kind: &[usize], patch: &[PatchPlace]) -> Result<Arc<Vec<Coupled>>>;

    /// The places of all entries of a patch in a vector, and their signs there.
    fn places(&self, patch: &[PatchPlace]) -> Vec<(usize, f64)>;
}

impl<B: Backend, T: Scalar> DensePatches<B, T> {
    /// For a vector of `len` entries.
    pub fn new(
        backend: &B,
        patches: &[Vec<PatchPlace>],
        len: usize,
        tables: &mut Tables<B, T>,
        matrices: &impl PatchMatrices,
    ) -> Result<Self> {
        let (mut placed, mut order) = (Vec::new(), Vec::new());
        for (kind, patches) in by_kind(patches) {
            let known = &mut tables.matrices;
            if !known.contains_key(&kind) {
                let upload = |(entries, matrix): &Coupled| {
                    let dense = AxisMatrix::dense(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)]);
                    Ok(Table { entries: entries.clone(), matrix: Arc::new(backend.axis_matrix(&dense)?) })
                };
                // Patches at both ends of a direction are of one color, that at the lower end first: it is not mirrored.
                let coupled = matrices.of_kind(&kind, &patches[0])?;
                known.insert(kind.clone(), coupled.iter().map(upload).collect::<Result<_>>()?);
            }
            for Table { entries, matrix } in &known[&kind] {
                placed.push(Placed { matrix: matrix.clone(), first: order.len(), patches: patches.len() });
                for patch in &patches {
                    let places = matrices.places(patch);
                    order.extend(entries.iter().map(|&entry| places[entry]));
                }
            }
        }
        let (gather, scatter) = permutations(&order, len);
        Ok(Self { gather: backend.axis_matrix(&gather)?, scatter: backend.axis_matrix(&scatter)?, matrices: placed })
    }

    /// The products with the entries of `x`, patch after patch in `other`; both vectors have room for the entries of all patches.
    pub fn multiply(&self, backend: &B, x: &B::Vector<T>, [one, other]: &mut [B::Vector<T>; 2]) -> Result<()> {
        backend.apply_along_axis(&self.gather, WHOLE, x, one, false)?;
        for Placed { matrix, first, patches } in &self.matrices {
            let patches = Tensors { inner: 1, outer: *patches, from: *first, to: *first };
            backend.apply_along_axis(matrix, patches, one, other, false)?;
        }
        Ok(())
    }

    /// What [`Self::multiply`] found, to its place in `y`, whose other entries become zero, or added to `y` if `add`.
    pub fn place(&self, backend: &B, [_, other]: &[B::Vector<T>; 2], y: &mut B::Vector<T>, add: bool) -> Result<()> {
        backend.apply_along_axis(&self.scatter, WHOLE, other, y, add)
    }
}

/// A vector as one line.
const WHOLE: Tensors = Tensors { inner: 1, outer: 1, from: 0, to: 0 };

/// Patches in all directions, by kind.
fn by_kind<'a>(lines: &[Vec<PatchPlace<'a>>]) -> BTreeMap<Vec<usize>, Vec<Vec<PatchPlace<'a>>>> {
    let mut of_kind: BTreeMap<Vec<usize>, Vec<Vec<PatchPlace>>> = BTreeMap::new();
    for index in 0..lines.iter().map(Vec::len).product() {
        let mut rest = index;
        let mut patch = Vec::new();
        for line in lines {
            patch.push(line[rest % line.len()]);
            rest /= line.len();
        }
        of_kind.entry(patch.iter().map(|place| place.kind).collect()).or_default().push(patch);
    }
    of_kind
}

/// The matrix that brings entries of a vector, with signs, into an order, and the one that brings them back; entries that are not in it
/// become zero.
fn permutations(order: &[(usize, f64)], len: usize) -> (AxisMatrix<f64>, AxisMatrix<f64>) {
    let (first, count, entries) = (vec![0; len], vec![1; len], vec![0.0; len]);
    let mut scatter = AxisMatrix { rows: len, columns: order.len(), width: 1, first, count, entries };
    for (place, &(entry, sign)) in order.iter().enumerate() {
        scatter.first[entry] = place as u32;
        scatter.entries[entry] = sign;
    }
    let (first, entries) = order.iter().map(|&(entry, sign)| (entry as u32, sign)).unzip();
    (AxisMatrix { rows: order.len(), columns: len, width: 1, first, count: vec![1; order.len()], entries }, scatter)
}
