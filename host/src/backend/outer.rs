//! Sums of outer products of vectors along axes.

use super::Scalar;
use super::cpu::parallel::try_for_each_chunk;
use crate::error::{Result, check_length};
use std::convert::Infallible;

/// A tensor that is a sum of outer products of vectors along its axes: `t[i, j, k] = sum_r f_r0[i] f_r1[j] f_r2[k]`, `i` fastest in
/// memory. In 2D the third axis has one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct OuterProducts {
    sizes: [usize; 3],
    /// Of each product its factor along x, that along y and that along z, one after the other.
    factors: Vec<f64>,
}

/// Entries of a row that are summed up at a time: so few that the sums stay in the L1 cache.
const PIECE: usize = 256;

impl OuterProducts {
    /// The tensor of so many entries along x, y and z that is zero: the sum of no product.
    pub fn zero(sizes: [usize; 3]) -> Self {
        Self { sizes, factors: Vec::new() }
    }

    /// Adds `scale f_0 ⊗ f_1 ⊗ f_2`; factors that are left out, such as the third one in 2D, are 1.
    ///
    /// # Errors
    /// [`SizeMismatch`](crate::Error::SizeMismatch) unless the factors are as long as the tensor along their axes.
    pub fn add(&mut self, scale: f64, factors: &[impl AsRef<[f64]>]) -> Result<()> {
        let factors = [0, 1, 2].map(|d| factors.get(d).map_or(&[1.0][..], AsRef::as_ref));
        for (factor, size) in factors.iter().zip(self.sizes) {
            check_length("factor of an outer product", size, factor.len())?;
        }
        self.factors.extend(factors[0].iter().map(|value| scale * value));
        self.factors.extend_from_slice(factors[1]);
        self.factors.extend_from_slice(factors[2]);
        Ok(())
    }

    /// Entries along x, y and z.
    pub fn sizes(&self) -> [usize; 3] {
        self.sizes
    }

    /// Entries of the tensor.
    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Whether the tensor has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The factors along x, y and z of each product.
    pub fn terms(&self) -> impl Iterator<Item = [&[f64]; 3]> {
        let [size_x, size_y, _] = self.sizes;
        self.factors.chunks_exact(self.sizes.iter().sum::<usize>().max(1)).map(move |factors| {
            let (x, others) = factors.split_at(size_x);
            let (y, z) = others.split_at(size_y);
            [x, y, z]
        })
    }

    /// The factors as a GPU takes them: of each product that along x, that along y and that along z, one after the other.
    #[cfg(feature = "cuda")]
    pub(crate) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// The tensor in the first entries of `y`, or added to them if `add`, by the threads of the caller. Sums are in `f64`, over
    /// ascending products.
    ///
    /// # Panics
    /// If `y` is shorter than the tensor.
    pub(crate) fn evaluate<T: Scalar>(&self, y: &mut [T], add: bool) {
        let [row, rows, _] = self.sizes;
        let Ok(()) = try_for_each_chunk(&mut y[..self.len()], row, |index, y| {
            for (piece, y) in y.chunks_mut(PIECE).enumerate() {
                let mut sums = [0.0; PIECE];
                if add {
                    sums.iter_mut().zip(y.iter()).for_each(|(sum, y)| *sum = y.to_f64());
                }
                for [x, along_y, along_z] in self.terms() {
                    let scale = along_y[index % rows] * along_z[index / rows];
                    sums.iter_mut().zip(&x[piece * PIECE..]).for_each(|(sum, x)| *sum += scale * x);
                }
                y.iter_mut().zip(sums).for_each(|(y, sum)| *y = T::from_f64(sum));
            }
            Ok::<_, Infallible>(())
        });
    }
}
