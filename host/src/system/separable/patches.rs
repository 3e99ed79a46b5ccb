//! The patches of a color: `x += Σ_j R_jᵀ A_j⁻¹ R_j r` over all of them at once, by fast diagonalization.
//!
//! Along each direction, `Sᵀ` takes the nodes of all patches to their eigenfunctions, `K_j S_j = M_j S_j Λ_j`; there `A_j` is diagonal,
//! `Σ_d c_d λ_d + s`; and `S` takes them back.

use super::Separable;
use super::line::{Line, Rows, part, transposed};
use super::matrix;
use crate::backend::{Backend, Scalar};
use crate::error::Result;
use crate::fe::{Eigenpairs, generalized_eigenpairs};
use crate::memory;
use crate::operator::vector_bytes;
use crate::system::axes::Product;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The patches of a color in a direction.
struct LinePatches {
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
            let key = a.iter().chain(m.iter()).map(|entry| entry.to_bits()).collect();
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
        Ok(color)
    };
    line.patches().into_iter().map(of_color).collect()
}

/// See the module.
pub(super) struct ColorPatches<B: Backend, T: Scalar> {
    to_functions: Product<B, T>,
    to_nodes: Product<B, T>,
    inverse_eigenvalues: B::Vector<T>,
    /// Eigenfunctions of all patches.
    count: usize,
}

/// Of a system, by colors.
pub(super) fn all<B: Backend, T: Scalar>(backend: &B, system: &Separable) -> Result<Vec<(usize, ColorPatches<B, T>)>> {
    let lines = system.lines().iter().zip(system.diffusion());
    let patches = lines.map(|(line, &coefficient)| line_patches(line, coefficient)).collect::<Result<Vec<_>>>()?;
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
            Ok((d, matrix::matrix(backend, &lines[d], nodes[d], &rows)?))
        };
        let to_nodes =
            |d: usize| -> Result<_> { Ok((d, matrix::matrix(backend, &lines[d], functions[d], &along[d].functions)?)) };
        // As long as the vectors that it multiplies.
        let mut inverse: Vec<T> = memory::zeros(system.space().storage())?;
        let count = functions.iter().product();
        // A box that is one patch may have constants in its null space, which are its first function.
        let is_singular = system.drops_constants() && lines.iter().all(Line::is_whole);
        for (index, inverse) in inverse[..count].iter_mut().enumerate().skip(usize::from(is_singular)) {
            let mut rest = index;
            let value = |d: usize| (along[d].values[rest % functions[d]], rest /= functions[d]).0;
            let sum: f64 = (0..dim).map(value).sum();
            *inverse = T::from_f64(1.0 / (sum + system.equation().reaction));
        }
        let mut inverse_eigenvalues = backend.zeros(inverse.len())?;
        backend.upload(&inverse, &mut inverse_eigenvalues)?;
        Ok(Self {
            to_functions: Product::of_sums(nodes, functions, (0..dim).map(to_functions).collect::<Result<_>>()?),
            to_nodes: Product::of_sums(functions, nodes, (0..dim).rev().map(to_nodes).collect::<Result<_>>()?),
            inverse_eigenvalues,
            count,
        })
    }

    /// `x += Σ_j R_jᵀ A_j⁻¹ R_j r`, with three vectors to compute with.
    pub fn add_solutions(
        &self,
        backend: &B,
        work: &mut [B::Vector<T>; 3],
        r: &B::Vector<T>,
        x: &mut B::Vector<T>,
    ) -> Result<()> {
        let [temporary @ .., values] = work;
        self.to_functions.apply(backend, temporary, (r, 0), (values, 0), false)?;
        backend.diagonal_axpby_first(self.count, 1.0, &self.inverse_eigenvalues, values, 0.0, &mut temporary[0])?;
        let [values, temporary @ ..] = work;
        self.to_nodes.apply(backend, temporary, (values, 0), (x, 0), true)
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
            of_rows(line.stored()) + of_rows(functions)
        });
        matrices.sum::<u64>() + vector_bytes::<T>(1, system.space().storage())
    };
    (0..1 << sizes.len()).map(of_color).sum()
}
