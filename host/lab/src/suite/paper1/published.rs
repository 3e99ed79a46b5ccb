//! Numbers that paper 1 prints, from tables 1 to 3 and 5 to 7; its figures have none. Cells that are not compared are none.

/// Table 1, 2D: level, then iterations from degree 1 on.
const TABLE1: [(usize, &[usize]); 2] = [(4, &[9, 5, 3, 3, 3]), (11, &[7, 5, 3, 3, 3])];

/// Table 2, 3D.
const TABLE2: [(usize, &[usize]); 5] =
    [(4, &[6, 5, 3, 3]), (7, &[6, 5, 3, 3]), (8, &[6, 5, 3, 3]), (9, &[6, 5, 3]), (10, &[6])];

/// Table 3, 3D, from degree 1 on: point Gauss-Seidel, vertex patches.
const TABLE3: [&[usize]; 2] = [&[6, 8, 11, 13], &[6, 5, 3, 3]];

/// Tables 1 and 2.
pub fn iterations(dim: usize, degree: usize, refine: usize) -> Option<f64> {
    let rows: &[(usize, &[usize])] = if dim == 2 { &TABLE1 } else { &TABLE2 };
    let (_, row) = rows.iter().find(|(level, _)| *level == refine)?;
    cell(row, degree)
}

/// Table 3; whatever the level.
pub fn comparison(degree: usize) -> [Option<f64>; 2] {
    TABLE3.map(|row| cell(row, degree))
}

fn cell(row: &[usize], degree: usize) -> Option<f64> {
    row.get(degree - 1).map(|&count| count as f64)
}

/// Table 5: a kernel of `Q_3` in 3D.
pub struct KernelAnalysis {
    pub l1_percent: f64,
    pub peak_percent: f64,
    /// Wavefronts that bank conflicts add.
    pub conflicts: f64,
    pub branch_percent: f64,
    /// Of a color.
    pub color_ms: f64,
}

/// Basic, linear indexing, conflict-free.
pub const TABLE5: [KernelAnalysis; 3] = [
    KernelAnalysis { l1_percent: 97.03, peak_percent: 19.0, conflicts: 113.0, branch_percent: 38.46, color_ms: 28.23 },
    KernelAnalysis { l1_percent: 95.98, peak_percent: 21.0, conflicts: 163.0, branch_percent: 63.16, color_ms: 25.35 },
    KernelAnalysis { l1_percent: 95.27, peak_percent: 24.0, conflicts: 0.0, branch_percent: 60.87, color_ms: 21.50 },
];

/// Table 6: a launch in 3D.
pub struct LaunchTimes {
    pub total_ms: f64,
    pub data_only_ms: f64,
    pub blocks_per_sm: f64,
}

/// Degree; fused, residual alone, solver alone.
pub const TABLE6: [(usize, [LaunchTimes; 3]); 2] = [
    (
        2,
        [
            LaunchTimes { total_ms: 6.85, data_only_ms: 1.89, blocks_per_sm: 3.0 },
            LaunchTimes { total_ms: 5.58, data_only_ms: 2.02, blocks_per_sm: 3.0 },
            LaunchTimes { total_ms: 1.66, data_only_ms: 1.07, blocks_per_sm: 8.0 },
        ],
    ),
    (
        6,
        [
            LaunchTimes { total_ms: 43.20, data_only_ms: 7.56, blocks_per_sm: 3.0 },
            LaunchTimes { total_ms: 30.20, data_only_ms: 8.28, blocks_per_sm: 3.0 },
            LaunchTimes { total_ms: 14.24, data_only_ms: 6.78, blocks_per_sm: 4.0 },
        ],
    ),
];

/// Table 7: a solve in 3D.
pub struct Solve {
    pub l2_error: Option<f64>,
    pub iterations: Option<f64>,
    pub time_s: f64,
}

/// Degree; double precision, mixed precision.
pub const TABLE7: [(usize, [Solve; 2]); 3] = [
    (
        1,
        [
            Solve { l2_error: Some(1.12e-6), iterations: Some(5.0), time_s: 3.391 },
            Solve { l2_error: Some(1.12e-6), iterations: Some(5.0), time_s: 2.385 },
        ],
    ),
    (
        3,
        [
            Solve { l2_error: None, iterations: Some(3.0), time_s: 3.941 },
            Solve { l2_error: None, iterations: Some(3.0), time_s: 2.418 },
        ],
    ),
    (
        7,
        [
            Solve { l2_error: None, iterations: None, time_s: 5.891 },
            Solve { l2_error: None, iterations: None, time_s: 3.326 },
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_level_and_degree() {
        assert_eq!([1, 5, 6].map(|degree| iterations(2, degree, 4)), [Some(9.0), Some(3.0), None]);
        assert_eq!([iterations(3, 4, 9), iterations(3, 1, 10), iterations(3, 1, 5)], [None, Some(6.0), None]);
        assert_eq!(comparison(4), [Some(13.0), Some(3.0)]);
        assert_eq!(comparison(8), [None, None]);
    }
}
