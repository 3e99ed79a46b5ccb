//! What values come from: the GPU kernels that were launched for them, and the measurements.

use super::Laboratory;
use crate::suite::record::Measured;
use patchmg::measure::Timing;
use patchmg::system::{Poisson, Runs};
use patchmg_cli::error::Result;
use std::collections::BTreeSet;

/// What values come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// Names of kernels that were launched.
    pub kernels: BTreeSet<String>,
    pub timings: Vec<Measured>,
}

impl Basis {
    /// That of another value, too.
    pub fn extend(&mut self, other: &Self) {
        self.kernels.extend(other.kernels.iter().cloned());
        for timing in &other.timings {
            if !self.timings.contains(timing) {
                self.timings.push(timing.clone());
            }
        }
    }

    /// A measurement, after the work was done `warmup` times that do not count.
    pub fn measured(&mut self, what: impl Into<String>, warmup: usize, timing: Timing) {
        self.timings.push(Measured { what: what.into(), warmup, timing });
    }
}

impl<B: Runs<Poisson>> Laboratory<B> {
    /// What `work` finds and what that comes from, which what it is a part of comes from, too.
    pub(super) fn with_basis<V>(&mut self, work: impl FnOnce(&mut Self) -> Result<V>) -> Result<(V, Basis)> {
        self.note_launched();
        let outer = std::mem::take(&mut self.basis);
        let found = work(self);
        self.note_launched();
        let inner = std::mem::replace(&mut self.basis, outer);
        self.basis.extend(&inner);
        Ok((found?, inner))
    }

    /// What `work` finds, without the kernels that it launches.
    pub(super) fn without_basis<V>(&mut self, work: impl FnOnce() -> Result<V>) -> Result<V> {
        self.note_launched();
        let found = work();
        self.backend.take_launched();
        found
    }

    fn note_launched(&mut self) {
        self.basis.kernels.extend(self.backend.take_launched());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patchmg::backend::cpu::Cpu;
    use patchmg::measure::Protocol;
    use patchmg_cli::error::Library;
    use std::sync::Arc;

    fn timing(median_s: f64) -> Timing {
        Timing { median_s, min_s: median_s, max_s: median_s, repetitions: 1 }
    }

    #[test]
    fn a_whole_comes_from_what_its_parts_come_from() {
        let mut laboratory = Laboratory::new(&Arc::new(Cpu::new(Some(1)).unwrap()), Protocol::ONCE, None);
        let mut shared = Basis::default();
        let (_, whole) = laboratory
            .with_basis(|laboratory| {
                laboratory.basis.measured("before", 0, timing(1.0));
                let ((), part) = laboratory.with_basis(|laboratory| {
                    laboratory.basis.kernels.insert("part".into());
                    laboratory.basis.measured("part", 2, timing(2.0));
                    Ok(())
                })?;
                assert_eq!((part.kernels.len(), part.timings.len()), (1, 1));
                shared = part;
                let failed = laboratory.with_basis(|laboratory| {
                    laboratory.basis.kernels.insert("failed".into());
                    Err::<(), _>(Library::NotPositiveDefinite { what: "a matrix" }.into())
                });
                assert!(failed.is_err());
                // Known from before: the same measurement counts once.
                laboratory.basis.extend(&shared);
                Ok(())
            })
            .unwrap();
        assert_eq!(whole.timings.iter().map(|timing| &*timing.what).collect::<Vec<_>>(), ["before", "part"]);
        assert_eq!(whole.kernels.iter().collect::<Vec<_>>(), ["failed", "part"]);
        let ((), next) = laboratory.with_basis(|_| Ok(())).unwrap();
        assert_eq!(next, Basis::default());
    }
}
