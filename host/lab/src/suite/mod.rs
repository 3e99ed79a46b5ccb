//! Suites of experiments: every table and figure of a paper, or how fast all is, as data and as pictures.
//!
//! An [`Experiment`] is a list of points. Rows are written as they come, and a run that was interrupted goes on where it
//! stopped, as long as machine and settings are the same, and program or kernels ([`Earlier`]).

mod age;
mod domain;
mod drawing;
mod experiment;
mod goal;
mod laboratory;
mod page;
mod paper1;
mod paper2;
mod paper3;
mod paper4;
mod products;
mod provenance;
mod record;
mod run;
mod sizes;
mod speed;
mod store;
pub mod summary;
mod traffic;
mod work;

pub use experiment::{Column, Experiment, Key, Point};
pub use goal::{Better, Goal, Verdict};
pub use laboratory::Program;
pub use page::{check_page, write_page};
pub use paper1::PAPER1;
pub use paper2::PAPER2;
pub use paper3::PAPER3;
pub use paper4::PAPER4;
pub use record::{Header, Measured, Origin, Results, Row};
pub use run::{Progress, Settings, header, run};
pub use sizes::Sizes;
pub use speed::SPEED;
pub use store::Earlier;

use patchmg_cli::error::{Library, Result};

/// Experiments that belong together.
pub struct Suite {
    pub name: &'static str,
    pub title: &'static str,
    /// The GPU of the paper's values, if the suite is of a paper.
    pub gpu: Option<&'static str>,
    pub experiments: &'static [Experiment],
}

/// All suites.
pub const SUITES: [&Suite; 5] = [&PAPER1, &PAPER2, &PAPER3, &PAPER4, &SPEED];

impl Suite {
    /// The suite of a name.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] with the names that there are.
    pub fn named(name: &str) -> Result<&'static Self> {
        let unknown = || Library::InvalidArgument {
            name: "suite",
            value: name.into(),
            allowed: SUITES.map(|suite| suite.name).join(", "),
        };
        Ok(SUITES.into_iter().find(|suite| suite.name == name).ok_or_else(unknown)?)
    }

    /// The experiments of these names in the order of the suite, all for no name.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] for a name that there is not, with those that there are.
    pub fn select(&self, names: &[String]) -> Result<Vec<&'static Experiment>> {
        let known: Vec<_> = self.experiments.iter().map(|experiment| experiment.name).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(&&***name)) {
            return Err(
                Library::InvalidArgument { name: "only", value: unknown.clone(), allowed: known.join(", ") }.into()
            );
        }
        let wanted = |experiment: &&Experiment| names.is_empty() || names.iter().any(|name| name == experiment.name);
        Ok(self.experiments.iter().filter(wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_there_are_refused_with_those_that_are() {
        let error = PAPER1.select(&["table4".into()]).err().unwrap().to_string();
        assert!(error.contains("table4") && error.contains("table3") && error.contains("figure20"), "{error}");
        let error = Suite::named("paper9").err().unwrap().to_string();
        assert!(error.contains("paper1"), "{error}");
    }
}
