//! Work that is done over and over on the same vectors.

use crate::backend::Backend;
use crate::error::Result;

/// The recording of some work, where the work asks the machine for the same every time.
pub(super) struct Repeated<B: Backend> {
    is_fixed: bool,
    recording: Option<B::Recording>,
    was_recorded: bool,
}

impl<B: Backend> Repeated<B> {
    /// Of work that is recorded, when it is first done at the latest, if it `is_fixed`.
    pub fn later(is_fixed: bool) -> Self {
        Self { is_fixed, recording: None, was_recorded: false }
    }

    /// The same, with a recording of `work`, which is not done.
    pub fn new(backend: &B, is_fixed: bool, work: &mut dyn FnMut() -> Result<()>) -> Result<Self> {
        let mut own = Self::later(is_fixed);
        own.record(backend, work)?;
        Ok(own)
    }

    /// Records `work`, which is not done, if it is fixed.
    pub fn record(&mut self, backend: &B, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if self.is_fixed {
            backend.record(&mut self.recording, work)?;
            self.was_recorded = self.recording.is_some();
        }
        Ok(())
    }

    /// Whether [`Self::record`] made a recording.
    pub fn was_recorded(&self) -> bool {
        self.was_recorded
    }

    /// Records anew when it is next done: numbers that the work is done with have changed.
    pub fn forget(&mut self) {
        self.recording = None;
    }

    /// Does `work`, the same as in [`Self::record`].
    pub fn run(&mut self, backend: &B, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if self.is_fixed { backend.repeat(&mut self.recording, work) } else { work() }
    }
}
