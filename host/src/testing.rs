//! What tests of several modules share.

/// Numbers between -1 and 1 that are multiples of 2⁻¹², and so exact in `f32`.
pub fn random(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    core::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 51) as f64 - 4096.0) / 4096.0
    })
    .take(len)
    .collect()
}

/// That `found` is `expected`, but for `tolerance` of its largest entry.
pub fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |max, v| max.max(v.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Negated, so that a NaN fails.
        let close = (found - expected).abs() <= tolerance * scale;
        assert!(close, "{what}, dof {i}: {found} != {expected}, largest {scale}");
    }
}
