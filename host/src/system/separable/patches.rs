//! The patches of a color: `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over all of them at once, by fast diagonalization.
//!
//! Along each direction, `Sᵀ` takes the nodes of all patches to their eigenfunctions, `K_j S_j = M_j S_j Λ_j`; there `A_j` is diagonal,
//! `Σ_d c_d λ_d + s`; and `S` takes them back.

use super::Separable;
use super::line::{Line, Rows, part, transposed};
use super::matrix;
use crate::backend::{AxisMatrix, Backend, BackendName, OuterProducts, Scalar};
use crate::error::Result;
use crate::fe::{Eigenpairs, generalized_eigenpairs};
use crate::memory;
use crate::operator::vector_bytes;
use crate::system::axes::{Product, dense_bytes};
use rayon::prelude::*;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The patches of a color in a direction.
#[derive(Debug)]
pub(super) struct LinePatches {
    /// `S`: nodes by functions, those of a patch after the other.
    functions: Rows,
    /// `c λ` of each.
    values: Vec<f64>,
}

/// Of each color of a direction.
fn line_patches(line: &Line, coefficient: f64) -> Result<Vec<LinePatches>> {
    let (mass, stiffness) = (line.mass(), line.stiffness(coefficient, f64::MANTISSA_DIGITS));
    let mut known: HashMap<Vec<u64>, Eigenpairs> = HashMap::new();
    let of_color = |patches: Vec<Vec<usize>>| {
        let mut color = LinePatches { functions: vec![Vec::new(); line.stored()], values: Vec::new() };
        for nodes in patches {
            let (a, m) = (part(&stiffness, &nodes), part(&mass, &nodes));
            // A single patch is not met again.
            let entries = a.iter().chain(m.iter()).filter(|_| !line.is_whole());
            let key = entries.map(|entry| entry.to_bits()).collect();
            let pairs = match known.entry(key) {
                Entry::Occupied(pairs) => pairs.into_mut(),
                Entry::Vacant(place) => place.insert(generalized_eigenpairs(&a, &m)?),
            };
            let first = color.values.len();
            for (i, &node) in nodes.iter().enumerate() {
                color.functions[node].extend((0..nodes.len()).map(|f| (first + f, pairs.vectors[(i, f)])));
            }
            // Constants are the first function, and rounding is not to decide whether there are any.
            let is_constant = |f: usize| f == 0 && line.is_whole() && line.has_constants();
            color
                .values
                .extend(pairs.values.iter().enumerate().map(|(f, &value)| if is_constant(f) { 0.0 } else { value }));
        }
        if line.is_whole() {
            // Functions that there are not: nothing is made of them.
            color.values.resize(line.whole_functions(), f64::INFINITY);
        }
        Ok(color)
    };
    line.patches().into_iter().map(of_color).collect()
}

/// Of each color of each direction. Those of a single patch are kept, because eigenpairs of many nodes take time, and a hierarchy may have levels in
/// two precisions.
fn of_lines(system: &Separable) -> Result<Arc<Vec<Vec<LinePatches>>>> {
    let known = system.is_solved_directly().then_some(&system.known_patches);
    if let Some(patches) = known.and_then(|known| known.get()) {
        return Ok(patches.clone());
    }
    let lines = system.lines().par_iter().zip(system.diffusion());
    let patches: Vec<_> = lines.map(|(line, &coefficient)| line_patches(line, coefficient)).collect::<Result<_>>()?;
    let patches = Arc::new(patches);
    Ok(match known {
        Some(known) => known.get_or_init(|| patches).clone(),
        None => patches,
    })
}

/// So many eigenvalues of a coarsest level at most are computed by the host of a GPU, which would compile a kernel for them before those of other
/// levels are promised, and so apart from these.
const MOST_ON_HOST: usize = 1 << 23;

/// See the module.
pub(super) struct ColorPatches<B: Backend, T: Scalar> {
    to_functions: Product<B, T>,
    to_nodes: Product<B, T>,
    /// `Σ_d c_d λ_d + s` of each product of functions, and 0 behind them: as long as the vectors that it divides.
    eigenvalues: B::Vector<T>,
}

/// Of a system, by colors.
pub(super) fn all<B: Backend, T: Scalar>(backend: &B, system: &Separable) -> Result<Vec<(usize, ColorPatches<B, T>)>> {
    let patches = of_lines(system)?;
    // None of a color that has no patch in a direction.
    let along = |color: usize| -> Option<Vec<&LinePatches>> {
        (0..patches.len())
            .map(|d| patches[d].get(color >> d & 1).filter(|patches| !patches.values.is_empty()))
            .collect()
    };
    let colors = (0..1 << patches.len()).filter_map(|color| Some((color, along(color)?)));
    colors.map(|(color, along)| Ok((color, ColorPatches::new(backend, system, &along)?))).collect()
}

impl<B: Backend, T: Scalar> ColorPatches<B, T> {
    fn new(backend: &B, system: &Separable, along: &[&LinePatches]) -> Result<Self> {
        let (lines, dim) = (system.lines(), along.len());
        let nodes = matrix::sizes(lines);
        let functions = [0, 1, 2].map(|d| along.get(d).map_or(1, |patches| patches.values.len()));
        let to_functions = |d: usize| -> Result<_> {
            let rows = transposed(functions[d], &along[d].functions);
            Ok((d, matrix::of_patches(backend, &lines[d], nodes[d], &rows)?))
        };
        let to_nodes = |d: usize| -> Result<_> {
            Ok((d, matrix::of_patches(backend, &lines[d], functions[d], &along[d].functions)?))
        };
        let mut sums = OuterProducts::zero(functions);
        let one = |size: usize| vec![1.0; size];
        for (d, patches) in along.iter().enumerate() {
            let mut factors = functions.map(one);
            factors[d].clone_from(&patches.values);
            sums.add(1.0, &factors)?;
        }
        sums.add(system.equation().reaction, &functions.map(one))?;
        if system.drops_constants() && lines.iter().all(Line::is_whole) {
            // A box that is one patch has constants in its null space, or nearly so: they are its first function.
            let first = |size: usize| (0..size).map(|f| if f == 0 { 1.0 } else { 0.0 }).collect::<Vec<_>>();
            sums.add(-system.equation().reaction, &functions.map(first))?;
        }
        let mut eigenvalues = backend.zeros(system.space().storage())?;
        let is_on_gpu = backend.info().backend == BackendName::Cuda;
        if is_on_gpu && system.is_solved_directly() && sums.len() <= MOST_ON_HOST {
            let mut values = memory::zeros(system.space().storage())?;
            sums.evaluate(&mut values, false);
            backend.upload::<T>(&values, &mut eigenvalues)?;
        } else {
            backend.outer_products(&sums, &mut eigenvalues, false)?;
        }
        Ok(Self {
            to_functions: Product::of_sums(nodes, functions, (0..dim).map(to_functions).collect::<Result<_>>()?),
            to_nodes: Product::of_sums(functions, nodes, (0..dim).rev().map(to_nodes).collect::<Result<_>>()?),
            eigenvalues,
        })
    }

    /// `x = Σ_j R_jᵀ A_j⁻¹ R_j r`, or `x += ..` if `add`, with three vectors to compute with.
    pub fn solve(
        &self,
        backend: &B,
        work: &mut [B::Vector<T>; 3],
        r: &B::Vector<T>,
        x: &mut B::Vector<T>,
        add: bool,
    ) -> Result<()> {
        let [temporary @ .., values] = work;
        self.to_functions.apply(backend, temporary, (r, 0), (values, 0), false)?;
        backend.divide(values, &self.eigenvalues, &mut temporary[0])?;
        let [values, temporary @ ..] = work;
        self.to_nodes.apply(backend, temporary, (values, 0), (x, 0), add)
    }
}

/// Bytes of the patches of all colors of a system; some 1D matrices are a little smaller than said here.
pub(super) fn bytes<T: Scalar>(system: &Separable) -> u64 {
    let sizes: Vec<_> = system.lines().iter().map(Line::patch_sizes).collect();
    let of_color = |color: usize| -> u64 {
        let along: Option<Vec<[usize; 2]>> =
            sizes.iter().enumerate().map(|(d, colors)| colors.get(color >> d & 1).copied()).collect();
        let Some(along) = along else { return 0 };
        let matrices = system.lines().iter().zip(along).enumerate().map(|(d, (line, [functions, size]))| {
            let of_rows =
                |rows: usize| matrix::bytes_of_pieces::<T>(line.has_joining_patch(color >> d & 1), rows, size);
            let is_dense = line.is_whole() && line.unknowns().len() >= AxisMatrix::<T>::LARGE;
            let both_ways = || dense_bytes(line.stored(), functions) + dense_bytes(functions, line.stored());
            let dense = if is_dense { both_ways() } else { 0 };
            of_rows(line.stored()) + of_rows(functions) + dense
        });
        matrices.sum::<u64>() + vector_bytes::<T>(1, system.space().storage())
    };
    (0..1 << sizes.len()).map(of_color).sum()
}
