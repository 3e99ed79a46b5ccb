//! The version of the NVIDIA driver. The CUDA API tells only the newest version of itself that the driver has.

use libloading::Library;
use std::ffi::{CStr, c_char, c_uint};
use std::sync::OnceLock;

/// Where the driver's kernel module says its version: the number alone, or in a sentence.
const FILES: [&str; 2] = ["/sys/module/nvidia/version", "/proc/driver/nvidia/version"];
/// `NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE`.
const NVML_BYTES: usize = 80;

/// For example `580.159.04`; none if nothing tells it. Files first: to start NVML takes milliseconds, and it gives the same
/// number where both are there.
pub fn get() -> Option<String> {
    static VERSION: OnceLock<Option<String>> = OnceLock::new();
    VERSION.get_or_init(|| FILES.into_iter().find_map(of_file).or_else(of_nvml)).clone()
}

fn of_file(path: &str) -> Option<String> {
    number(&std::fs::read_to_string(path).ok()?)
}

/// The first word of numbers with dots between them.
fn number(text: &str) -> Option<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_whitespace().find(|word| word.contains('.') && word.split('.').all(is_number)).map(String::from)
}

/// By NVIDIA's management library, which comes with every driver.
fn of_nvml() -> Option<String> {
    // Signatures: NVML API reference.
    type Plain = unsafe extern "C" fn() -> i32;
    type Version = unsafe extern "C" fn(*mut c_char, c_uint) -> i32;
    let mut text = [0_u8; NVML_BYTES];
    // SAFETY: the library's initialisers are those of the driver; the functions have the signatures above; NVML writes at
    // most the bytes that it is told, between its start and its end.
    let code = unsafe {
        let library = Library::new("libnvidia-ml.so.1").ok()?;
        let [start, end] = [library.get::<Plain>(b"nvmlInit_v2\0"), library.get::<Plain>(b"nvmlShutdown\0")];
        let (start, end) = (start.ok()?, end.ok()?);
        let version = library.get::<Version>(b"nvmlSystemGetDriverVersion\0").ok()?;
        if start() != 0 {
            return None;
        }
        let code = version(text.as_mut_ptr().cast(), NVML_BYTES as c_uint);
        end();
        code
    };
    if code == 0 { number(CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_alone_and_in_a_sentence() {
        let found = |text| number(text);
        assert_eq!(found("580.159.04\n").as_deref(), Some("580.159.04"));
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n\
                      GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1)\n";
        assert_eq!(found(closed).as_deref(), Some("535.54.03"));
        let open =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@host)\n";
        assert_eq!(found(open).as_deref(), Some("580.159.04"));
        for text in ["", "none", "v1.2", "1..2", ".", "13"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
