//! The small least-squares problem of GMRES: `min |β e₁ - H y|` with a Hessenberg matrix that grows by columns.

/// A column of `H`.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Its entries down to the diagonal.
    pub upper: Vec<f64>,
    /// The one below, not negative.
    pub below: f64,
}

impl Column {
    pub(super) fn is_finite(&self) -> bool {
        self.below.is_finite() && self.upper.iter().all(|entry| entry.is_finite())
    }
}

/// `H = Q R` by Givens rotations, one column at a time (Saad, Iterative Methods for Sparse Linear Systems, section 6.5.3).
pub(super) struct LeastSquares {
    /// Columns of `R`, the `j`-th with `j + 1` entries.
    columns: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    /// `Qᵀ β e₁`; its last entry is what remains.
    rhs: Vec<f64>,
}

impl LeastSquares {
    pub(super) fn new(beta: f64) -> Self {
        Self { columns: Vec::new(), rotations: Vec::new(), rhs: vec![beta] }
    }

    /// Norm of the residual that the best `y` leaves.
    pub(super) fn residual(&self) -> f64 {
        self.rhs[self.columns.len()].abs()
    }

    /// That norm with one column more.
    pub(super) fn residual_with(&self, column: &Column) -> f64 {
        let (_, (_, sin)) = self.rotated(column);
        (sin * self.rhs[self.columns.len()]).abs()
    }

    /// The next column of `H`.
    pub(super) fn push(&mut self, column: Column) {
        let (column, (cos, sin)) = self.rotated(&column);
        let last = self.rhs[self.columns.len()];
        self.rhs[self.columns.len()] = cos * last;
        self.rhs.push(-sin * last);
        self.rotations.push((cos, sin));
        self.columns.push(column);
    }

    /// That of `R`, and the rotation that leaves nothing below its diagonal.
    fn rotated(&self, Column { upper, below }: &Column) -> (Vec<f64>, (f64, f64)) {
        let mut column = upper.clone();
        for (i, &(cos, sin)) in self.rotations.iter().enumerate() {
            let (upper, lower) = (column[i], column[i + 1]);
            column[i] = cos * upper + sin * lower;
            column[i + 1] = cos * lower - sin * upper;
        }
        let diagonal = &mut column[self.columns.len()];
        let length = diagonal.hypot(*below);
        let rotation = if length == 0.0 { (0.0, 1.0) } else { (*diagonal / length, below / length) };
        *diagonal = length;
        (column, rotation)
    }

    /// The best `y`. A zero on the diagonal, which only a singular `A M` leaves, leaves its coefficient zero.
    pub(super) fn solve(&self) -> Vec<f64> {
        let mut y = self.rhs[..self.columns.len()].to_vec();
        for j in (0..y.len()).rev() {
            let diagonal = self.columns[j][j];
            y[j] = if diagonal == 0.0 { 0.0 } else { y[j] / diagonal };
            for i in 0..j {
                y[i] -= self.columns[j][i] * y[j];
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    #[test]
    fn equals_the_normal_equations() {
        let n = 6;
        let h = DMatrix::from_fn(n + 1, n, |i, j| if i <= j + 1 { ((3 * i + 5 * j) % 7) as f64 - 2.5 } else { 0.0 });
        let beta = 1.7;
        let mut problem = LeastSquares::new(beta);
        for columns in 1..=n {
            let j = columns - 1;
            let column = Column { upper: (0..=j).map(|i| h[(i, j)]).collect(), below: h[(j + 1, j)] };
            let expected = problem.residual_with(&column);
            problem.push(column);
            assert_eq!(problem.residual(), expected);
            let part = h.view((0, 0), (columns + 1, columns)).into_owned();
            let mut rhs = DVector::zeros(columns + 1);
            rhs[0] = beta;
            let y = (part.transpose() * &part).lu().solve(&(part.transpose() * &rhs)).unwrap();
            let found = DVector::from_vec(problem.solve());
            assert!((&found - &y).norm() < 1e-11 * y.norm(), "{columns} columns: {found} != {y}");
            let left = (rhs - part * y).norm();
            assert!((problem.residual() - left).abs() < 1e-12, "{columns} columns: {} != {left}", problem.residual());
        }
    }

    #[test]
    fn a_zero_column_reduces_nothing() {
        let mut problem = LeastSquares::new(1.0);
        problem.push(Column { upper: vec![0.0], below: 0.0 });
        assert_eq!((problem.solve(), problem.residual()), (vec![0.0], 1.0));
    }
}
