//! What tests of several modules share.

use std::path::Path;

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

/// A VTU file, read as its format is specified.
pub struct VtuFile(String);

impl VtuFile {
    pub fn of(path: &Path) -> Self {
        Self(std::fs::read_to_string(path).unwrap())
    }

    /// Number in an attribute of the piece.
    pub fn count(&self, attribute: &str) -> usize {
        let rest = self.0.split_once(&format!(" {attribute}=\"")).unwrap().1;
        rest.split_once('"').unwrap().0.parse().unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let (_, rest) = self.0.split_once(&format!(" Name=\"{name}\" ")).unwrap();
        let text = rest.split_once('>').unwrap().1.split_once('<').unwrap().0;
        assert!(text.len().is_multiple_of(4));
        let digit = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => panic!("no digit of base64: {c}"),
        };
        let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(digit).collect();
        let bits = |group: &[u8]| group.iter().fold(0u32, |sum, &digit| sum << 6 | u32::from(digit));
        let mut bytes: Vec<u8> = Vec::new();
        for group in digits.chunks(4) {
            let word = bits(group) << (6 * (4 - group.len()));
            bytes.extend(&word.to_be_bytes()[1..group.len()]);
        }
        let (header, array) = bytes.split_at(8);
        assert_eq!(u64::from_le_bytes(header.try_into().unwrap()), array.len() as u64, "{name}");
        array.to_vec()
    }

    pub fn floats(&self, name: &str) -> Vec<f64> {
        self.bytes(name).chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().unwrap())).collect()
    }

    pub fn numbers(&self, name: &str) -> Vec<usize> {
        self.bytes(name).chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().unwrap()) as usize).collect()
    }
}
