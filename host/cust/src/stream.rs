//! Streams: a device does the work of a stream in the order of the calls.

use crate::error::{CudaResult, ToResult};
use crate::sys::{CUstream, cuStreamCreateWithPriority, cuStreamDestroy_v2};

/// Options of [`Stream::new`].
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamFlags(u32);

impl StreamFlags {
    /// The stream synchronizes with the default stream.
    pub const DEFAULT: Self = Self(0);
    /// The stream does not synchronize with the default stream.
    pub const NON_BLOCKING: Self = Self(1);

    /// As the driver takes them.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// A stream of the context that was current when it was created.
#[derive(Debug)]
pub struct Stream {
    inner: CUstream,
}

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// `None` is the default priority, 0; streams of lower numbers go first.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let mut inner = std::ptr::null_mut();
        // SAFETY: the driver writes a handle.
        unsafe { cuStreamCreateWithPriority(&mut inner, flags.bits(), priority.unwrap_or(0)) }.to_result()?;
        Ok(Self { inner })
    }

    /// The handle; not to be used after the stream is dropped.
    pub fn as_inner(&self) -> CUstream {
        self.inner
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once; the driver finishes the stream's work first.
        unsafe { cuStreamDestroy_v2(self.inner) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn a_stream_is_destroyed_once() {
        fake::install();
        let stream = Stream::new(StreamFlags::DEFAULT, Some(-1)).unwrap();
        let handle = stream.as_inner();
        drop(stream);
        let destroyed = format!("cuStreamDestroy {}", handle.addr());
        assert_eq!(fake::calls(), ["cuStreamCreateWithPriority 0 -1", &destroyed]);
    }
}
