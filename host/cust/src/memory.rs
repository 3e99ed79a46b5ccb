//! The memory of a device.

use crate::error::{CudaResult, ToResult};
use crate::sys::cuMemGetInfo_v2;

/// Bytes free and in total on the device of the current context.
///
/// # Errors
/// The driver's error.
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the driver writes two sizes.
    unsafe { cuMemGetInfo_v2(&mut free, &mut total) }.to_result()?;
    Ok((free, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn free_memory_comes_first() {
        fake::install();
        assert_eq!(mem_get_info(), Ok((1 << 36, 1 << 37)));
    }
}
