//! How long work takes on a backend, and how long the parts of a problem take.

mod level_bench;
mod levels;
mod parts;

pub use level_bench::{LevelBench, Part};
pub use levels::LevelTimes;
pub use parts::{Measurement, Parts, cycle_words_per_dof, parts};

use crate::backend::Backend;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How often work is done to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocol {
    /// Times before the first that counts.
    pub warmup: usize,
    /// Times that count, at least one.
    pub repetitions: usize,
}

impl Protocol {
    /// The first time counts, and is the only one.
    pub const ONCE: Self = Self { warmup: 0, repetitions: 1 };
    /// Times that work may be done before, and that may count.
    pub const MOST: usize = 1_000_000;

    /// # Errors
    /// [`Error::InvalidArgument`] for no repetition, and for more than [`Self::MOST`] of either.
    pub fn check(self) -> Result<()> {
        let Self { warmup, repetitions } = self;
        let refused = |name, value: usize, least: usize| {
            let allowed = format!("{least} to {}", Self::MOST);
            Err(Error::InvalidArgument { name, value: value.to_string(), allowed })
        };
        match self {
            _ if warmup > Self::MOST => refused("warmup", warmup, 0),
            _ if repetitions == 0 || repetitions > Self::MOST => refused("repetitions", repetitions, 1),
            _ => Ok(()),
        }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self { warmup: 1, repetitions: 5 }
    }
}

/// Seconds that work took: the median of all repetitions, and their spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    pub median_s: f64,
    pub min_s: f64,
    pub max_s: f64,
    pub repetitions: usize,
}

impl Timing {
    /// Of at least one number of seconds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is none.
    pub fn of(mut seconds: Vec<f64>) -> Result<Self> {
        seconds.sort_by(f64::total_cmp);
        let (Some(&min_s), Some(&max_s)) = (seconds.first(), seconds.last()) else {
            return Err(Error::InvalidArgument {
                name: "repetitions",
                value: String::from("0"),
                allowed: String::from("at least 1"),
            });
        };
        let middle = seconds.len() / 2;
        let median_s =
            if seconds.len() % 2 == 1 { seconds[middle] } else { 0.5 * (seconds[middle - 1] + seconds[middle]) };
        Ok(Self { median_s, min_s, max_s, repetitions: seconds.len() })
    }
}

/// Times work by the machine's own clock ([`Backend::time`]).
///
/// # Errors
/// Those of the work and of [`Protocol::check`].
pub fn measure<B: Backend>(backend: &B, protocol: Protocol, mut work: impl FnMut() -> Result<()>) -> Result<Timing> {
    protocol.check()?;
    for _ in 0..protocol.warmup {
        work()?;
    }
    Timing::of((0..protocol.repetitions).map(|_| backend.time(&mut work)).collect::<Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::Cpu;

    #[test]
    fn the_median_and_the_spread() {
        let timing = Timing::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((timing.median_s, timing.min_s, timing.max_s, timing.repetitions), (2.0, 1.0, 3.0, 3));
        assert_eq!(Timing::of(vec![4.0, 1.0]).unwrap().median_s, 2.5);
        assert!(Timing::of(Vec::new()).is_err());
    }

    #[test]
    fn a_protocol_is_refused_before_any_work() {
        let cpu = Cpu::new(Some(1)).unwrap();
        for (warmup, repetitions, wrong) in [
            (0, 0, "repetitions"),
            (0, Protocol::MOST + 1, "repetitions"),
            (1, usize::MAX, "repetitions"),
            (Protocol::MOST + 1, 1, "warmup"),
        ] {
            let mut count = 0;
            let found = measure(&cpu, Protocol { warmup, repetitions }, || {
                count += 1;
                Ok(())
            });
            assert!(matches!(found, Err(Error::InvalidArgument { name, .. }) if name == wrong), "{found:?}");
            assert_eq!(count, 0);
        }
        assert!(Protocol { warmup: Protocol::MOST, repetitions: Protocol::MOST }.check().is_ok());
    }

    #[test]
    fn work_is_done_as_often_as_asked() {
        let cpu = Cpu::new(Some(1)).unwrap();
        let mut count = 0;
        let timing = measure(&cpu, Protocol { warmup: 2, repetitions: 3 }, || {
            count += 1;
            Ok(())
        });
        assert_eq!((timing.unwrap().repetitions, count), (3, 5));
    }
}
