//! The Schur complement of a patch.

use super::Stokes;
use super::dense::Coupled;
use super::forms::PatchForms;
use crate::error::{Error, Result};
use crate::sync::lock;
use nalgebra::{DMatrix, DVector};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// `S⁺` of the kinds of patches that were met, for all levels: without `s`, patches of cells of one shape have the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Schurs(Arc<Mutex<BTreeMap<Key, Arc<Schur>>>>);

/// The kind in each direction, sizes, and bits of what else `S⁺` depends on: the shape of cells, and with `s` their size.
type Key = (Vec<usize>, Vec<usize>, Vec<u64>);

impl Schurs {
    /// Of a patch.
    ///
    /// # Errors
    /// Those of [`pseudo_inverse`].
    pub fn of(&self, system: &Stokes, kind: &[usize], patch: &[&PatchForms]) -> Result<Arc<Schur>> {
        let h = system.mesh().cell_sizes();
        let mut shape: Vec<u64> = h.iter().map(|size| (size / h[0]).to_bits()).collect();
        if system.mass > 0.0 {
            shape.push(h[0].to_bits());
        }
        let key = (kind.to_vec(), patch.iter().map(|forms| forms.constant.len()).collect(), shape);
        let known = lock(&self.0).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let schur = Arc::new(pseudo_inverse(patch, system.mass, system.viscosity)?);
        lock(&self.0).insert(key, schur.clone());
        Ok(schur)
    }
}

/// `S⁺` of a patch, parity by parity: each matrix couples the modes beside it.
pub(super) type Schur = Vec<Coupled>;

/// The pseudo-inverse of `S = B A⁻¹ Bᵀ` of a patch, in eigenfunctions; modes are counted with the first direction fastest.
///
/// Velocity and pressure are by eigenfunctions of the patch, `A` is diagonal there, `s + ν (μ_m + λ_j + λ_l)` for component x, and
/// `S` a sum over directions,
///
/// ```text
/// S_(a j l)(b j l) = Σ_m G_am G_bm / (s + ν (μ_m + λ_j + λ_l))    and so on,
/// ```
///
/// with the [divergence](PatchForms::divergence) `G` between eigenfunctions. Constants, whose coefficients are `c`, are its null
/// space. The basis is orthonormal, so that `S⁺ r` has the integral zero, and `S⁺ = (S + α c cᵀ)⁻¹ - c cᵀ / α` for normalized `c`.
///
/// In a direction where the patch is symmetric, eigenfunctions are even or odd, and `S` does not couple them.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] if rounding makes it so.
pub(super) fn pseudo_inverse(patch: &[&PatchForms], mass: f64, viscosity: f64) -> Result<Schur> {
    let sizes: Vec<usize> = patch.iter().map(|forms| forms.constant.len()).collect();
    let modes: Vec<Vec<usize>> = indices(&sizes);
    let sum_across = |along: usize, modes: &[usize]| -> f64 {
        let others = (0..patch.len()).filter(|&d| d != along);
        others.map(|d| patch[d].discontinuous.values[modes[d]]).sum()
    };
    // Entry between two modes that agree in all directions but one.
    let entry = |along: usize, row: &[usize], column: &[usize]| -> f64 {
        let (PatchForms { divergence, continuous, .. }, across) = (patch[along], sum_across(along, row));
        let terms = continuous.values.iter().enumerate().map(|(m, value)| {
            divergence[(row[along], m)] * divergence[(column[along], m)] / (mass + viscosity * (value + across))
        });
        terms.sum()
    };
    let volume: f64 = patch.iter().map(|forms| forms.constant.norm_squared()).product();
    let constant = |modes: &[usize]| -> f64 {
        patch.iter().zip(modes).map(|(forms, &mode)| forms.constant[mode]).product::<f64>() / volume.sqrt()
    };
    let of_group = |group: Vec<usize>| {
        let size = group.len();
        let mut s = DMatrix::from_fn(size, size, |i, j| {
            let (row, column) = (&modes[group[i]], &modes[group[j]]);
            let mut differing = (0..patch.len()).filter(|&d| row[d] != column[d]);
            match (differing.next(), differing.next()) {
                (None, _) => (0..patch.len()).map(|along| entry(along, row, column)).sum(),
                (Some(along), None) => entry(along, row, column),
                _ => 0.0,
            }
        });
        let c = DVector::from_iterator(size, group.iter().map(|&mode| constant(&modes[mode])));
        // Constants are even in every direction.
        let (alpha, has_constant) = (s.trace() / size as f64, c.norm_squared() > 0.5);
        if has_constant {
            s += &c * c.transpose() * alpha;
        }
        let mut inverse = inverse(&s).ok_or(Error::NotPositiveDefinite { what: "Schur complement" })?;
        if has_constant {
            inverse -= &c * c.transpose() / alpha;
        }
        Ok((group, 0.5 * (&inverse + inverse.transpose())))
    };
    let symmetric: Vec<bool> = patch.iter().map(|forms| forms.is_symmetric).collect();
    parities(&modes, &symmetric, &sizes).into_iter().map(of_group).collect()
}

/// The inverse of a symmetric positive definite matrix, by halves, so that most of the work is products of matrices:
///
/// ```text
/// [A B; Bᵀ C]⁻¹ = [A⁻¹ + T Wᵀ, -T; -Tᵀ, D⁻¹]    W = A⁻¹ B,  D = C - Bᵀ W,  T = W D⁻¹
/// ```
fn inverse(matrix: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    const SMALL: usize = 64;
    let n = matrix.nrows();
    if n <= SMALL {
        return Some(matrix.clone().cholesky()?.inverse());
    }
    let (m, rest) = (n / 2, n - n / 2);
    let (b, c) = (matrix.view((0, m), (m, rest)), matrix.view((m, m), (rest, rest)));
    let upper = inverse(&matrix.view((0, 0), (m, m)).into_owned())?;
    let w = &upper * b;
    let lower = inverse(&(c - b.transpose() * &w))?;
    let t = &w * &lower;
    let mut result = DMatrix::zeros(n, n);
    result.view_mut((0, 0), (m, m)).copy_from(&(upper + &t * w.transpose()));
    result.view_mut((0, m), (m, rest)).copy_from(&-&t);
    result.view_mut((m, 0), (rest, m)).copy_from(&-t.transpose());
    result.view_mut((m, m), (rest, rest)).copy_from(&lower);
    Some(result)
}

/// All indices of a tensor of these sizes, the first fastest.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    let index = |mut rest: usize| sizes.iter().map(|size| (rest % size, rest /= size).0).collect();
    (0..sizes.iter().product()).map(index).collect()
}

/// Modes that have the same parity in every direction with one; there even eigenfunctions come first.
fn parities(modes: &[Vec<usize>], symmetric: &[bool], sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); 1 << symmetric.len()];
    for (index, mode) in modes.iter().enumerate() {
        let is_odd = |d: usize| usize::from(symmetric[d] && mode[d] >= sizes[d].div_ceil(2));
        groups[(0..symmetric.len()).map(|d| is_odd(d) << d).sum::<usize>()].push(index);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_by_halves_is_one() {
        for n in [1, 63, 64, 65, 131, 300] {
            let entry = |i: usize, j: usize| if i == j { 4.0 } else { 1.0 / (1.0 + i.abs_diff(j).pow(2) as f64) };
            let matrix = DMatrix::from_fn(n, n, entry);
            let found = inverse(&matrix).unwrap() * &matrix;
            assert!((found - DMatrix::identity(n, n)).amax() < 1e-14 * n as f64, "{n}");
        }
        let indefinite = DMatrix::from_fn(100, 100, |i, j| if i == j && i < 80 { 1.0 } else { -f64::from(i == j) });
        assert!(inverse(&indefinite).is_none());
    }
}
