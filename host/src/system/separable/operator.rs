//! `A`: the sum over directions of `c_d K_d` there and masses in the others, and `s` times the masses of all.

use super::Separable;
use super::line::{Line, diagonal, sum};
use super::matrix;
use crate::backend::{Backend, Scalar, Tensors};
use crate::error::Result;
use crate::system::axes::AxisSum;

/// Tensors that a level computes with: solutions on patches take three, a product in 3D takes four.
pub(super) fn temporaries(dim: usize) -> usize {
    dim + 1
}

/// Mass and form of a direction.
struct AxisForms<B: Backend, T: Scalar> {
    mass: AxisSum<B, T>,
    /// `c_d K_d`, of the last direction with `s M_d`.
    form: AxisSum<B, T>,
}

/// See the module.
pub(super) struct Operator<B: Backend, T: Scalar> {
    axes: Vec<AxisForms<B, T>>,
    sizes: [usize; 3],
}

impl<B: Backend, T: Scalar> Operator<B, T> {
    /// On lines of nodes with coefficients.
    pub fn new(backend: &B, lines: &[Line], diffusion: &[f64], reaction: f64) -> Result<Self> {
        let axes = lines.iter().zip(diffusion).enumerate().map(|(d, (line, &coefficient))| {
            let (mass, stiffness) = (line.mass(), line.stiffness(coefficient, T::MANTISSA_DIGITS));
            let reaction = if d + 1 == lines.len() { reaction } else { 0.0 };
            let form = sum([(1.0, &stiffness), (reaction, &mass)]);
            let matrix = |rows| matrix::matrix(backend, line, line.stored(), rows);
            Ok(AxisForms { mass: matrix(&mass)?, form: matrix(&form)? })
        });
        Ok(Self { axes: axes.collect::<Result<_>>()?, sizes: matrix::sizes(lines) })
    }

    /// Bytes of the matrices.
    pub fn bytes(lines: &[Line]) -> u64 {
        let of_line = |line: &Line| line.row_widths().map(|width| matrix::bytes::<T>(line, line.stored(), width));
        lines.iter().flat_map(of_line).sum()
    }

    /// `y = A x`, with so many [`temporaries`].
    pub fn apply(&self, backend: &B, work: &mut [B::Vector<T>], x: &B::Vector<T>, y: &mut B::Vector<T>) -> Result<()> {
        // The product of masses so far, and beside it the sum of the products with one form.
        let place = |d| Tensors::across(&self.sizes, d);
        let [masses, sum, others @ ..] = work else { unreachable!("there are at least two temporaries") };
        self.axes[0].mass.apply(backend, place(0), x, masses, false)?;
        self.axes[0].form.apply(backend, place(0), x, sum, false)?;
        let (mut masses, mut sum) = (masses, sum);
        if let ([_, middle, _], [next_masses, next_sum]) = (&*self.axes, others) {
            middle.mass.apply(backend, place(1), sum, next_sum, false)?;
            middle.form.apply(backend, place(1), masses, next_sum, true)?;
            middle.mass.apply(backend, place(1), masses, next_masses, false)?;
            (masses, sum) = (next_masses, next_sum);
        }
        let last = self.axes.len() - 1;
        self.axes[last].mass.apply(backend, place(last), sum, y, false)?;
        self.axes[last].form.apply(backend, place(last), masses, y, true)
    }
}

/// `A_ii` for every node, 0 at those that are no unknowns.
pub(super) fn operator_diagonal(system: &Separable) -> Result<Vec<f64>> {
    let diagonals: Vec<_> = system
        .lines()
        .iter()
        .zip(system.diffusion())
        .map(|(line, &coefficient)| {
            [diagonal(&line.mass()), diagonal(&line.stiffness(coefficient, f64::MANTISSA_DIGITS))]
        })
        .collect();
    let mut all = crate::memory::zeros(system.space().storage())?;
    for node in system.unknowns() {
        let product = |of_form: Option<usize>| -> f64 {
            let factor = |(d, diagonals): (usize, &[Vec<f64>; 2])| diagonals[usize::from(of_form == Some(d))][node[d]];
            diagonals.iter().enumerate().map(factor).product()
        };
        all[system.space().offset(node)] =
            (0..diagonals.len()).map(|d| product(Some(d))).sum::<f64>() + system.equation().reaction * product(None);
    }
    Ok(all)
}
