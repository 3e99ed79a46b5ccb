//! The Schur complement of a patch.

use super::forms::PatchForms;
use crate::error::{Error, Result};
use nalgebra::DMatrix;

/// `S⁺`, the pseudo-inverse of `S = B A⁻¹ Bᵀ` of a patch, `n³` rows (in 2D `n²`), those of the first direction fastest.
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
/// In a direction where the patch is symmetric, eigenfunctions are even or odd, and `S` does not couple them: it is inverted parity
/// by parity.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] if rounding makes it so.
pub(super) fn pseudo_inverse(
    patch: &[&PatchForms],
    symmetric: &[bool],
    mass: f64,
    viscosity: f64,
) -> Result<DMatrix<f64>> {
    let n = patch[0].constant.len();
    let modes: Vec<Vec<usize>> = indices(n, patch.len());
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

    let mut inverse = DMatrix::zeros(modes.len(), modes.len());
    for group in parities(&modes, symmetric, n) {
        let size = group.len();
        let mut s = DMatrix::from_fn(size, size, |i, j| {
            let (row, column) = (&modes[group[i]], &modes[group[j]]);
            let differing: Vec<usize> = (0..patch.len()).filter(|&d| row[d] != column[d]).collect();
            match differing[..] {
                [] => (0..patch.len()).map(|along| entry(along, row, column)).sum(),
                [along] => entry(along, row, column),
                _ => 0.0,
            }
        });
        let c = nalgebra::DVector::from_iterator(size, group.iter().map(|&mode| constant(&modes[mode])));
        // Constants are even in every direction.
        let alpha = s.trace() / size as f64;
        let has_constant = c.norm_squared() > 0.5;
        if has_constant {
            s += &c * c.transpose() * alpha;
        }
        let mut block = s.cholesky().ok_or(Error::NotPositiveDefinite { what: "Schur complement" })?.inverse();
        if has_constant {
            block -= &c * c.transpose() / alpha;
        }
        for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
            inverse[(group[i], group[j])] = 0.5 * (block[(i, j)] + block[(j, i)]);
        }
    }
    Ok(inverse)
}

/// All indices of a tensor, the first fastest.
fn indices(n: usize, dim: usize) -> Vec<Vec<usize>> {
    (0..n.pow(dim as u32)).map(|index| (0..dim as u32).map(|d| index / n.pow(d) % n).collect()).collect()
}

/// Modes that have the same parity in every direction with one; the first half of the eigenfunctions there are even.
fn parities(modes: &[Vec<usize>], symmetric: &[bool], n: usize) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); 1 << symmetric.len()];
    for (index, mode) in modes.iter().enumerate() {
        let is_odd = |d: usize| usize::from(symmetric[d] && mode[d] >= n / 2);
        groups[(0..symmetric.len()).map(|d| is_odd(d) << d).sum::<usize>()].push(index);
    }
    groups.retain(|group| !group.is_empty());
    groups
}
