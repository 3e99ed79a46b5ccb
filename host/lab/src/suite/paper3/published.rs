//! Numbers that paper 3 prints, on a Tesla P100 and on 28 cores of two Xeon E5-2690v4; its figures have none. And numbers of deal.II
//! 9.4.1 in double precision. Cells that are not compared are none.

/// Table 1: dimension, degree, cells, then milliseconds of a product in `f64` and `f32`, by colors and by atomics.
const TABLE1: [([usize; 2], f64, [[f64; 2]; 2]); 4] = [
    ([2, 1], 10e6, [[8.41, 5.05], [5.17, 2.74]]),
    ([2, 3], 2.6e6, [[9.45, 5.70], [6.59, 3.89]]),
    ([3, 1], 1.6e6, [[3.99, 2.33], [2.47, 1.39]]),
    ([3, 3], 0.20e6, [[3.97, 3.12], [2.40, 1.51]]),
];

/// A product of table 1.
pub struct Product {
    pub cells: f64,
    pub colors_ms: f64,
    pub atomics_ms: f64,
}

/// Table 1, in `f32` or in `f64`.
pub fn product(dim: usize, degree: usize, single: bool) -> Option<Product> {
    let (_, cells, times) = TABLE1.iter().find(|(space, ..)| *space == [dim, degree])?;
    let [colors_ms, atomics_ms] = times[usize::from(single)];
    Some(Product { cells: *cells, colors_ms, atomics_ms })
}

/// Table 2: dimension, degree, error, iterations, then seconds in double and in mixed precision.
const TABLE2: [([usize; 2], f64, f64, [f64; 2]); 4] = [
    ([2, 1], 3.31e-6, 8.0, [1.47, 0.964]),
    ([2, 3], 1.29e-6, 8.0, [2.00, 1.29]),
    ([3, 1], 2.89e-3, 14.0, [0.817, 0.556]),
    ([3, 3], 4.07e-3, 16.0, [1.43, 0.781]),
];

/// A solve of table 2; both precisions have the same error and iterations.
pub struct Precise {
    pub l2_error: f64,
    pub iterations: f64,
    pub time_s: f64,
}

/// Table 2, in mixed or in double precision.
pub fn precise(dim: usize, degree: usize, mixed: bool) -> Option<Precise> {
    let (_, l2_error, iterations, times) = TABLE2.iter().find(|(space, ..)| *space == [dim, degree])?;
    Some(Precise { l2_error: *l2_error, iterations: *iterations, time_s: times[usize::from(mixed)] })
}

/// Table 5: iterations by degree, on a GPU and on a CPU.
const TABLE5: [(usize, [[f64; 4]; 2]); 2] =
    [(2, [[8.0, 8.0, 8.0, 9.0], [8.0, 9.0, 9.0, 9.0]]), (3, [[14.0, 16.0, 16.0, 19.0]; 2])];

/// Iterations of table 5, on a GPU and on a CPU.
pub fn shell_iterations(dim: usize, degree: usize) -> Option<[f64; 2]> {
    let (_, [gpu, cpu]) = TABLE5.iter().find(|(of, _)| *of == dim)?;
    let place = degree.checked_sub(1)?;
    Some([*gpu.get(place)?, *cpu.get(place)?])
}

/// deal.II on the shell: dimension, degree and refinements, iterations.
const DEALII_SHELL: [([usize; 3], f64); 17] = [
    ([2, 1, 5], 10.0),
    ([2, 1, 6], 10.0),
    ([2, 2, 5], 10.0),
    ([2, 3, 6], 11.0),
    ([2, 4, 4], 10.0),
    ([3, 1, 4], 12.0),
    ([3, 2, 3], 13.0),
    ([3, 3, 3], 17.0),
    ([3, 4, 3], 20.0),
    // On the paper's meshes.
    ([2, 1, 10], 10.0),
    ([2, 2, 9], 10.0),
    ([2, 3, 9], 11.0),
    ([2, 4, 8], 10.0),
    ([3, 1, 6], 16.0),
    ([3, 2, 6], 16.0),
    ([3, 3, 5], 20.0),
    ([3, 4, 5], 20.0),
];

/// Iterations of deal.II on the shell.
pub fn dealii_shell(size: [usize; 3]) -> Option<f64> {
    DEALII_SHELL.iter().find(|(known, _)| *known == size).map(|(_, iterations)| *iterations)
}

/// A row of table 3 or 4.
pub struct Cycle {
    pub cells: f64,
    /// With nodes on the boundary and those that hang.
    pub dofs: f64,
    pub l2_error: Option<f64>,
    pub iterations: f64,
    pub time_s: f64,
    pub cpu_iterations: f64,
    pub cpu_time_s: f64,
}

const fn cycle(
    [cells, dofs]: [f64; 2],
    l2_error: Option<f64>,
    [cpu_iterations, cpu_time_s]: [f64; 2],
    [iterations, time_s]: [f64; 2],
) -> Cycle {
    Cycle { cells, dofs, l2_error, iterations, time_s, cpu_iterations, cpu_time_s }
}

/// Table 3, by cycle from 0 on.
pub const TABLE3: [Cycle; 12] = [
    cycle([3.0e3, 13e3], Some(1.13e-4), [5.0, 2.85e-3], [5.0, 2.10e-2]),
    cycle([5.8e3, 24e3], Some(4.41e-5), [7.0, 6.61e-3], [7.0, 3.59e-2]),
    cycle([11e3, 47e3], Some(1.73e-5), [7.0, 9.72e-3], [7.0, 4.26e-2]),
    cycle([21e3, 94e3], Some(6.83e-6), [7.0, 1.46e-2], [7.0, 9.95e-2]),
    cycle([41e3, 0.18e6], Some(2.70e-6), [7.0, 2.34e-2], [7.0, 6.11e-2]),
    cycle([78e3, 0.35e6], Some(1.07e-6), [8.0, 5.02e-2], [7.0, 7.18e-2]),
    cycle([0.15e6, 0.68e6], Some(4.23e-7), [7.0, 8.53e-2], [7.0, 1.31e-1]),
    cycle([0.29e6, 1.3e6], None, [7.0, 1.87e-1], [7.0, 2.35e-1]),
    cycle([0.55e6, 2.5e6], None, [7.0, 4.00e-1], [7.0, 3.11e-1]),
    cycle([1.1e6, 4.8e6], None, [7.0, 7.97e-1], [7.0, 5.28e-1]),
    cycle([2.0e6, 9.4e6], Some(1.06e-8), [7.0, 1.68], [7.0, 7.71e-1]),
    cycle([3.9e6, 18e6], None, [7.0, 3.52], [7.0, 1.26]),
];

/// Table 4, the same.
pub const TABLE4: [Cycle; 8] = [
    cycle([1.5e3, 14e3], Some(6.02e-4), [5.0, 3.05e-3], [5.0, 1.42e-2]),
    cycle([4.8e3, 44e3], Some(2.22e-4), [8.0, 1.16e-2], [8.0, 3.23e-2]),
    cycle([15e3, 0.14e6], Some(8.41e-5), [8.0, 2.62e-2], [8.0, 4.58e-2]),
    cycle([46e3, 0.45e6], Some(3.24e-5), [8.0, 7.32e-2], [8.0, 7.12e-2]),
    cycle([0.14e6, 1.4e6], Some(1.26e-5), [9.0, 2.78e-1], [8.0, 2.00e-1]),
    cycle([0.44e6, 4.2e6], Some(4.93e-6), [9.0, 7.95e-1], [8.0, 6.51e-1]),
    cycle([1.4e6, 13e6], None, [9.0, 2.53], [9.0, 1.38]),
    cycle([4.3e6, 41e6], None, [9.0, 9.42], [9.0, 3.62]),
];

/// deal.II on the L and its extrusion: cells, iterations, error.
pub type Dealii = [(Option<f64>, f64, Option<f64>)];

/// On the meshes of table 3.
pub const DEALII_TABLE3: &Dealii = &[
    (Some(3072.0), 4.0, Some(1.13082726639e-4)),
    (None, 6.0, None),
    (Some(11049.0), 6.0, Some(1.73197447313e-5)),
    (None, 6.0, None),
    (Some(40857.0), 7.0, Some(2.69697910936e-6)),
    (None, 7.0, None),
    (Some(149898.0), 7.0, Some(4.22736150254e-7)),
    (Some(287841.0), 7.0, Some(1.67585467786e-7)),
    (None, 7.0, None),
    (Some(1056789.0), 7.0, Some(2.636e-8)),
];

/// On the meshes of table 4.
pub const DEALII_TABLE4: &Dealii = &[
    (Some(1536.0), 4.0, Some(6.020e-4)),
    (Some(4756.0), 7.0, Some(2.22194776747e-4)),
    (Some(14752.0), 7.0, Some(8.41053953204e-5)),
    (Some(45734.0), 8.0, Some(3.239e-5)),
];

/// A row of table 6 or 7.
pub struct Newton {
    pub cells: f64,
    pub dofs: f64,
    pub steps: f64,
    pub residuals: f64,
    /// On a GPU.
    pub linear_iterations: f64,
    /// Seconds of residuals and of solutions on a GPU, and on a CPU.
    pub time_s: [f64; 2],
    pub cpu_time_s: [f64; 2],
}

const fn newton(
    [cells, dofs]: [f64; 2],
    [steps, residuals, linear_iterations]: [f64; 3],
    cpu_time_s: [f64; 2],
    time_s: [f64; 2],
) -> Newton {
    Newton { cells, dofs, steps, residuals, linear_iterations, time_s, cpu_time_s }
}

/// Table 6: refinements, then the row.
pub const TABLE6: [(usize, Newton); 4] = [
    (5, newton([5.1e3, 82e3], [12.0, 30.0, 91.0], [0.00404, 0.159], [0.00248, 0.727])),
    (6, newton([20e3, 0.33e6], [13.0, 32.0, 129.0], [0.0129, 0.527], [0.00505, 1.47])),
    (7, newton([82e3, 1.3e6], [12.0, 31.0, 161.0], [0.0618, 2.77], [0.0147, 3.85])),
    (8, newton([0.33e6, 5.2e6], [12.0, 31.0, 186.0], [0.209, 17.4], [0.0526, 10.5])),
];

/// Table 7, whose second row prints 0.23k dofs for 0.23M.
pub const TABLE7: [(usize, Newton); 4] = [
    (2, newton([450.0, 30e3], [8.0, 17.0, 23.0], [0.00290, 0.0874], [0.00142, 0.151])),
    (3, newton([3.6e3, 0.23e6], [9.0, 20.0, 40.0], [0.0147, 0.301], [0.00381, 0.390])),
    (4, newton([29e3, 1.8e6], [9.0, 21.0, 68.0], [0.113, 3.70], [0.0223, 2.06])),
    (5, newton([0.23e6, 15e6], [11.0, 25.0, 112.0], [0.875, 50.3], [0.198, 16.2])),
];

/// deal.II's steps, residuals and linear iterations: dimension and refinements.
pub const DEALII_NEWTON: [([usize; 2], [f64; 3]); 5] = [
    ([2, 3], [9.0, 21.0, 42.0]),
    ([2, 4], [10.0, 26.0, 69.0]),
    ([2, 5], [11.0, 29.0, 111.0]),
    ([3, 1], [6.0, 14.0, 17.0]),
    ([3, 2], [7.0, 17.0, 27.0]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_space_and_precision() {
        let atomics = |dim, degree, single| product(dim, degree, single).map(|product| product.atomics_ms);
        assert_eq!([false, true].map(|single| atomics(3, 3, single)), [Some(3.12), Some(1.51)]);
        assert_eq!(atomics(3, 2, true), None);
        assert_eq!(product(2, 1, false).map(|product| product.colors_ms), Some(8.41));
        assert_eq!(precise(2, 3, true).map(|row| (row.time_s, row.iterations)), Some((1.29, 8.0)));
        assert_eq!(precise(2, 4, true).map(|row| row.time_s), None);
        assert_eq!([1, 2, 4].map(|degree| shell_iterations(2, degree)), [[8.0, 8.0], [8.0, 9.0], [9.0, 9.0]].map(Some));
        assert_eq!((shell_iterations(3, 4), shell_iterations(3, 5)), (Some([19.0, 19.0]), None));
        assert_eq!((dealii_shell([3, 3, 5]), dealii_shell([3, 3, 6])), (Some(20.0), None));
    }
}
