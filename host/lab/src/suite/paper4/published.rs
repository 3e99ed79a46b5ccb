//! Numbers that paper 4 prints, from tables 2 to 4; its figures have none. Cells that are not compared are none.

/// Table 2: the operator on CUDA cores in single precision, `N = 16`.
pub struct MatrixSource {
    pub time_ms: f64,
    pub registers: f64,
    pub spill_store_bytes: f64,
    pub spill_load_bytes: f64,
    pub l1_percent: f64,
    pub blocks_per_sm: f64,
}

/// Matrices in shared memory, in constant memory, in textures.
pub const TABLE2: [MatrixSource; 3] = [
    MatrixSource {
        time_ms: 3.83,
        registers: 93.0,
        spill_store_bytes: 0.0,
        spill_load_bytes: 0.0,
        l1_percent: 83.4,
        blocks_per_sm: 2.0,
    },
    MatrixSource {
        time_ms: 4.31,
        registers: 96.0,
        spill_store_bytes: 0.0,
        spill_load_bytes: 0.0,
        l1_percent: 61.9,
        blocks_per_sm: 2.0,
    },
    MatrixSource {
        time_ms: 8.62,
        registers: 255.0,
        spill_store_bytes: 316.0,
        spill_load_bytes: 564.0,
        l1_percent: 30.5,
        blocks_per_sm: 1.0,
    },
];

/// Table 3: operations for an unknown, `N = 16`; CC FP64, CC FP32, TC WMMA FP64, TC MMA CF FP64, TC MMA CF FP16, TC MMA CF EC
/// FP16.
pub const TABLE3: [f64; 6] = [1738.0, 1843.0, 1776.0, 1702.0, 1736.0, 5361.0];

/// Table 4: a solve.
pub struct Solve {
    pub time_s: f64,
    pub iterations: f64,
    pub l2_error: Option<f64>,
}

const fn solve(time_s: f64, iterations: usize) -> Solve {
    Solve { time_s, iterations: iterations as f64, l2_error: None }
}

/// Degree and level; FP64 CC, FP32 CC, FP64 TC, FP16 TC, FP16 TC EC. Errors only where the size they are of is transcribed.
pub const TABLE4: [([usize; 2], &[Solve]); 4] = [
    ([3, 6], &[solve(0.405, 3), solve(0.227, 3), solve(0.215, 3)]),
    ([3, 7], &[solve(3.229, 3), solve(1.798, 3), solve(1.691, 3)]),
    ([7, 5], &[solve(0.717, 3), solve(0.374, 3), solve(0.369, 3), solve(0.588, 14), solve(0.167, 3)]),
    (
        [7, 6],
        &[
            solve(5.901, 3),
            solve(3.044, 3),
            Solve { l2_error: Some(3.43e-12), ..solve(3.025, 3) },
            solve(9.733, 29),
            solve(1.322, 3),
        ],
    ),
];
