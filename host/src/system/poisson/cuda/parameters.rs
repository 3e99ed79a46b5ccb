//! What tests know of the parameters of an entry point.

use crate::backend::Scalar;
use crate::backend::cuda::modules;
use patchmg_device::kernels::{Module, Operation};

/// Bytes of parameters that CUDA before 12.1 takes.
const MOST: usize = 4096;

/// That the entry points of a module, if the program has it, take parameters of these bytes, and that they are not too
/// many.
pub fn check<T: Scalar>(module: Module, expected: &[(Operation, &[usize])]) {
    let ptx = modules::ptx(&module.name());
    for &(operation, expected) in expected {
        let entry = module.kernel::<T>(operation).name;
        // Each is aligned to at most 8 bytes.
        let bytes: usize = expected.iter().map(|bytes| bytes.next_multiple_of(8)).sum();
        assert!(bytes <= MOST, "{entry}: {bytes} bytes");
        if let Some(ptx) = &ptx {
            assert_eq!(expected, parameters(ptx, &entry), "{entry}");
        }
    }
}

/// Bytes of an entry point's parameters, as its PTX declares them: `.u64`, `.f32`, or `.b8 name[bytes]`.
fn parameters(ptx: &str, entry: &str) -> Vec<usize> {
    let list = ptx.split(&format!(".entry {entry}(")).nth(1).unwrap().split(')').next().unwrap();
    let bytes = |parameter: &str| match parameter.split_once('[') {
        Some((_, bytes)) => bytes.trim_end().trim_end_matches(']').parse().unwrap(),
        None if parameter.contains(".u64") || parameter.contains(".f64") => 8,
        None => 4,
    };
    list.split(',').map(bytes).collect()
}
