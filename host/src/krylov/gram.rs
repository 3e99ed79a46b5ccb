//! The basis of GMRES, and how far it is from orthogonal.

use super::least_squares::Column;
use crate::backend::{Backend, Scalar, unit_roundoff};
use crate::error::Result;

/// Whether a vector of this norm stays as it is. Others are scaled to norm 1, so that a product with an operator and the sum of its squares
/// are in the scalar's range.
pub(super) fn keeps_length<T: Scalar>(norm: f64) -> bool {
    let most = if size_of::<T>() < size_of::<f64>() { 1e6 } else { 1e50 };
    (1.0 / most..=most).contains(&norm)
}

/// A square with errors below this part of it has at least half of its digits right.
const ACCURATE: f64 = 1e-8;

/// Rounding errors of a sum below this part of it are less than what rounding it to `f32` changes.
const HIDDEN: f64 = 1e-9;

/// Vectors that machines [combine](Backend::combine) in one pass.
const FEW: usize = 8;

/// `W = V R` for the vectors `W` of a basis, with orthonormal ones, `V`, which are not stored: `Rᵀ R = Wᵀ W` is the Gram matrix. What is
/// orthogonal to `W` is so to `V`, and a product with `V` is `R⁻ᵀ` times that with `W`.
pub(super) struct Gram {
    /// Columns of `R`, the `j`-th with `j + 1` entries.
    columns: Vec<Vec<f64>>,
}

impl Gram {
    /// Of one vector with this norm, which the caller scales to 1 if [`Self::norm`] says so.
    pub(super) fn new<T: Scalar>(norm: f64) -> Self {
        Self { columns: vec![vec![if keeps_length::<T>(norm) { norm } else { 1.0 }]] }
    }

    /// Norm of a vector of the basis.
    pub(super) fn norm(&self, j: usize) -> f64 {
        square(&self.columns[j]).sqrt()
    }

    /// `R⁻ᵀ p`.
    fn products(&self, mut p: Vec<f64>) -> Vec<f64> {
        for (j, column) in self.columns.iter().enumerate() {
            let known: f64 = column[..j].iter().zip(&p).map(|(entry, product)| entry * product).sum();
            p[j] = (p[j] - known) / column[j];
        }
        p
    }

    /// `-R⁻¹ q`: `W` times it is `-V q`.
    fn negative_coefficients(&self, q: &[f64]) -> Vec<f64> {
        let mut coefficients: Vec<f64> = q.iter().map(|product| -product).collect();
        for (j, column) in self.columns.iter().enumerate().rev() {
            coefficients[j] /= column[j];
            for i in 0..j {
                coefficients[i] -= column[i] * coefficients[j];
            }
        }
        coefficients
    }

    /// `sum_j |c_j| |w_j|` for the basis and one vector more, of this norm.
    fn length(&self, coefficients: &[f64], last: f64) -> f64 {
        let norms = (0..self.columns.len()).map(|j| self.norm(j)).chain([last]);
        coefficients.iter().zip(norms).map(|(coefficient, norm)| coefficient.abs() * norm).sum()
    }

    /// `w` becomes the next vector of the basis. Returns its products with `V` and the norm of the remainder, which is orthogonal to the basis. If
    /// `is_last` accepts these, and the norm is accurate, `w` and the factor stay unchanged. Otherwise `rounded`, if it is there, becomes the
    /// remainder, scaled to a norm of about 1, unless it is zero or not finite. If its norm is accurate, and rounding to `f32` hides the rounding
    /// errors of its sum, `w` stays as it is; if not, or without `rounded`, `w` is made nearly orthogonal to the basis, and is then rounded.
    ///
    /// Each vector that stays multiplies errors of norms before it by up to `(|w| / remainder)²`. What is needed of the remainder are a few digits: a
    /// flexible method may take any direction, and estimates of the residual are only that.
    ///
    /// # Errors
    /// Those of the backend.
    pub(super) fn orthogonalize<B: Backend, T: Scalar>(
        &mut self,
        backend: &B,
        basis: &[&B::Vector<T>],
        w: &mut B::Vector<T>,
        mut rounded: Option<&mut B::Vector<f32>>,
        is_last: impl FnOnce(&Column) -> bool,
    ) -> Result<Column> {
        let with_itself: Vec<_> = basis.iter().copied().chain([&*w]).collect();
        let mut left = backend.dots(&with_itself, w)?;
        let mut squared = left.pop().unwrap_or(f64::NAN);
        left = self.products(left);
        let mut below = squared - square(&left);
        let mut upper = vec![0.0; left.len()];
        let mut coefficients = self.negative_coefficients(&left);
        coefficients.push(1.0);
        let norm = squared.sqrt();
        let terms = self.length(&coefficients, norm);
        if f64::EPSILON * norm * terms < ACCURATE * below {
            let column = Column { upper: left.clone(), below: below.sqrt() };
            if is_last(&column) {
                return Ok(column);
            }
            let is_hidden = unit_roundoff::<T>() * terms < HIDDEN * column.below && with_itself.len() <= FEW;
            if let Some(rounded) = rounded.as_mut().filter(|_| is_hidden && keeps_length::<T>(norm)) {
                coefficients.iter_mut().for_each(|coefficient| *coefficient /= column.below);
                backend.combine(&coefficients, &with_itself, 0.0, rounded)?;
                left.push(column.below);
                self.columns.push(left);
                return Ok(column);
            }
        }
        // After a second correction little is left of the products, or `w` consists of rounding errors.
        for _ in 0..2 {
            add(&mut upper, &left);
            let coefficients = self.negative_coefficients(&left);
            left = backend.combine_dots(&coefficients, basis, w)?;
            squared = left.pop().unwrap_or(f64::NAN);
            left = self.products(left);
            below = squared - square(&left);
            if below > 0.5 * squared {
                break;
            }
        }
        add(&mut upper, &left);
        // One that is not a number stays so.
        let below = if below < 0.0 { 0.0 } else { below.sqrt() };
        if let Some(rounded) = rounded.filter(|_| below > 0.0) {
            backend.convert(1.0 / below, w, rounded)?;
        }
        left.push(below);
        if below != 0.0 && !keeps_length::<T>(below) {
            backend.combine::<T, T>(&[], &[], 1.0 / below, w)?;
            left.iter_mut().for_each(|entry| *entry /= below);
        }
        self.columns.push(left);
        Ok(Column { upper, below })
    }
}

fn square(entries: &[f64]) -> f64 {
    entries.iter().map(|entry| entry * entry).sum()
}

fn add(sums: &mut [f64], entries: &[f64]) {
    sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::Cpu;
    use crate::testing::random;
    use nalgebra::{DMatrix, DVector};

    const LEN: usize = 400;

    fn noise(seed: u64) -> DVector<f64> {
        DVector::from_vec(random(LEN, seed))
    }

    /// What vectors of a basis are with their factor, and what columns say of the vectors that join it, of which some stay as they are. `accuracy` is
    /// that of the basis with its factor, of the vectors by their columns, and of the remainders.
    fn check(first: DVector<f64>, given: &[(DVector<f64>, bool)], accuracy: [f64; 3]) {
        let [of_basis, of_columns, of_remainders] = accuracy;
        let cpu = Cpu::new(None).unwrap();
        let upload = |host: &DVector<f64>| {
            let mut vector = cpu.zeros::<f64>(LEN).unwrap();
            cpu.upload(host.as_slice(), &mut vector).unwrap();
            vector
        };
        let (mut gram, mut basis) = (Gram::new::<f64>(first.norm()), vec![upload(&first)]);
        let (mut columns, mut remainders) = (Vec::new(), Vec::new());
        for (w, stays) in given {
            let mut next = upload(w);
            let before: Vec<_> = basis.iter().collect();
            let mut rounded = cpu.zeros(LEN).unwrap();
            columns.push(gram.orthogonalize(&cpu, &before, &mut next, Some(&mut rounded), |_| false).unwrap());
            remainders.push(DVector::from_iterator(LEN, rounded.iter().map(|&x| f64::from(x))));
            assert_eq!(next[..] == *w.as_slice(), *stays, "vector {}", basis.len() - 1);
            basis.push(next);
        }
        let host = DMatrix::from_fn(LEN, basis.len(), |i, j| basis[j][i]);
        let entry = |i: usize, j: usize| gram.columns[j].get(i).copied().unwrap_or(0.0);
        let factor = DMatrix::from_fn(basis.len(), basis.len(), entry);
        let orthonormal = &host * factor.clone().try_inverse().unwrap();
        let error = (orthonormal.tr_mul(&orthonormal) - DMatrix::identity(basis.len(), basis.len())).amax();
        assert!(error < of_basis, "{error:e}");
        for (j, ((w, stays), Column { upper, below })) in given.iter().zip(&columns).enumerate() {
            let mut expected = orthonormal.columns(0, j + 1) * DVector::from_column_slice(upper);
            expected += orthonormal.column(j + 1) * *below;
            let error = (w - expected).norm() / w.norm();
            assert!(error < of_columns, "vector {j}: {error:e}");
            assert!((gram.norm(j + 1) / host.column(j + 1).norm() - 1.0).abs() < 1e-12, "vector {j}");
            assert!(keeps_length::<f64>(gram.norm(j + 1)));
            let remainder = &remainders[j];
            assert!((0.05..20.0).contains(&remainder.norm()), "vector {j}: {:e}", remainder.norm());
            // A vector that was corrected is only nearly orthogonal.
            let expected = if *stays { orthonormal.column(j + 1).into() } else { host.column(j + 1).normalize() };
            let error = (remainder.normalize() - expected).norm();
            assert!(error < of_remainders, "vector {j}: {error:e}");
        }
    }

    #[test]
    fn columns_are_products_with_orthonormal_vectors() {
        let first = noise(1);
        // Nearly in the span of those before, and of many lengths: two of them are scaled.
        let given = [
            (noise(2) * 1e-3, true),
            (&first * 2.0 + noise(3) * 1e-6, false),
            (noise(2) * 1e9 - noise(4), false),
            (noise(5) * 1e-60, false),
            (noise(6) * 1e60 + &first, false),
            (&first - noise(7) * 1e-12, false),
            (noise(8) - &first, true),
            // One more than machines combine in one pass.
            (noise(9) + noise(8), false),
        ];
        check(first, &given, [1e-12, 1e-14, 1e-7]);
    }

    /// In each a hundredth is new: the first errors of norms, some 1e-12, grow 1e4 times with each that stays. The third is corrected, and so is the
    /// last one.
    #[test]
    fn vectors_stay_as_long_as_their_norms_are_accurate() {
        let given = [true, true, false, true, false].into_iter().enumerate().map(|(j, stays)| {
            let [old, new] = [1, 2].map(|next| noise(j as u64 + next));
            (old + new * 1e-2, stays)
        });
        check(noise(1), &given.collect::<Vec<_>>(), [1e-5, 1e-5, 1e-5]);
    }

    #[test]
    fn the_last_vector_is_left_where_its_column_is_known() {
        let cpu = Cpu::new(None).unwrap();
        let upload = |host: &[f64]| {
            let mut vector = cpu.zeros::<f64>(LEN).unwrap();
            cpu.upload(host, &mut vector).unwrap();
            vector
        };
        let (first, other) = (random(LEN, 1), random(LEN, 2));
        for (part, is_left) in [(1e-3, true), (1e-6, false)] {
            let w: Vec<f64> = first.iter().zip(&other).map(|(first, other)| first + part * other).collect();
            let basis = upload(&first);
            let column = |is_last: bool| {
                let (mut gram, mut w) = (Gram::new::<f64>(cpu.norm(&basis).unwrap()), upload(&w));
                let column = gram.orthogonalize(&cpu, &[&basis], &mut w, None, |_| is_last).unwrap();
                (column, w[..].to_vec())
            };
            let ((known, left), (expected, _)) = (column(true), column(false));
            assert_eq!(left == w, is_left, "{part:e}");
            assert!((known.upper[0] / expected.upper[0] - 1.0).abs() < 1e-14, "{part:e}");
            assert!((known.below / expected.below - 1.0).abs() < 1e-8, "{part:e}");
        }
    }
}
