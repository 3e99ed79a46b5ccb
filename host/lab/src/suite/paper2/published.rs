//! Numbers that paper 2 prints; its figures have none. Cells that are not compared are none.

/// Table 1: level, then iterations from degree 3 on, by the direct local solver and by the Schur complement.
const TABLE1: [(usize, [[f64; 6]; 2]); 3] = [
    (3, [[2.8, 2.4, 2.1, 2.2, 1.9, 2.1], [2.6, 2.3, 2.0, 2.2, 2.0, 2.0]]),
    (4, [[3.2, 2.4, 2.3, 2.2, 2.1, 2.0], [3.2, 2.5, 2.4, 2.3, 2.1, 2.2]]),
    (5, [[3.2, 2.3, 2.3, 2.0, 2.0, 1.9], [3.3, 2.5, 2.5, 2.4, 2.0, 2.2]]),
];

/// A local solver of table 1.
#[derive(Clone, Copy, Debug)]
pub enum Local {
    Direct,
    Schur,
}

/// Iterations of table 1.
pub fn iterations(local: Local, degree: usize, refine: usize) -> Option<f64> {
    let (_, rows) = TABLE1.iter().find(|(level, _)| *level == refine)?;
    rows[local as usize].get(degree.checked_sub(3)?).copied()
}

/// Table 2: a solver in 3D; times in nanoseconds for an unknown.
pub struct Comparison {
    pub patch_dofs: f64,
    pub operator_ns: f64,
    pub step_ns: f64,
    pub iterations: f64,
    pub solve_ns: f64,
}

/// Degree, Poisson's equation with a residual of all dofs before each color.
pub const POISSON: [(usize, Comparison); 2] = [
    (4, Comparison { patch_dofs: 1000.0, operator_ns: 0.374, step_ns: 3.968, iterations: 2.0, solve_ns: 28.875 }),
    (7, Comparison { patch_dofs: 4096.0, operator_ns: 0.676, step_ns: 6.944, iterations: 2.0, solve_ns: 49.751 }),
];

/// Degree, the Stokes equations.
pub const STOKES: [(usize, Comparison); 2] = [
    (2, Comparison { patch_dofs: 972.0, operator_ns: 0.535, step_ns: 7.576, iterations: 3.0, solve_ns: 63.694 }),
    (4, Comparison { patch_dofs: 4300.0, operator_ns: 0.813, step_ns: 10.582, iterations: 3.0, solve_ns: 79.365 }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_level_and_degree() {
        assert_eq!(iterations(Local::Direct, 3, 3), Some(2.8));
        assert_eq!(iterations(Local::Schur, 8, 4), Some(2.2));
        assert_eq!(iterations(Local::Direct, 8, 5), Some(1.9));
        assert_eq!([(2, 3), (9, 3), (3, 2), (3, 6)].map(|(k, l)| iterations(Local::Schur, k, l)), [None; 4]);
    }
}
