//! Work that is done over and over on the same vectors.

use crate::backend::Backend;
use crate::error::Result;

/// The recording of some work, where the work asks the machine for the same every time.
pub(super) struct Repeated<B: Backend> {
    is_fixed: bool,
    recording: Option<B::Recording>,
}

impl<B: Backend> Repeated<B> {
    /// Records `work`, which is not done, if it `is_fixed`.
    pub fn new(backend: &B, is_fixed: bool, work: &mut dyn FnMut() -> Result<()>) -> Result<Self> {
        let mut recording = None;
        if is_fixed {
            backend.record(&mut recording, work)?;
        }
        Ok(Self { is_fixed, recording })
    }

    /// The same, recorded when it is first done.
    pub fn later(is_fixed: bool) -> Self {
        Self { is_fixed, recording: None }
    }

    /// Work that is done as it is, without a recording.
    pub fn unrecorded() -> Self {
        Self { is_fixed: false, recording: None }
    }

    /// Records anew when it is next done: numbers that the work is done with have changed.
    pub fn forget(&mut self) {
        self.recording = None;
    }

    /// Does `work`, the same as in [`Self::new`].
    pub fn run(&mut self, backend: &B, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if self.is_fixed { backend.repeat(&mut self.recording, work) } else { work() }
    }
}
