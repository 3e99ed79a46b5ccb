//! Whether rows are of the kernels of this program.

use super::record::{Origin, Results, Row};
use patchmg_cli::error::Result;
use patchmg_cli::hashes::{Hashes, KernelHashes};

/// What is known of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Age {
    /// Every kernel that was launched is the same in this program; where none was launched, the program is the same.
    Same,
    /// It was recorded on a GPU before kernels were hashed.
    Unhashed,
    /// These kernels are others in this program, or are not there.
    Older(Vec<String>),
    /// No kernel was launched, and the row is of another program: of a CPU, where nothing is hashed, or counted by the host.
    OtherProgram,
    /// This program was built without GPU kernels.
    Unknown,
}

impl Age {
    /// Of each row that has values.
    ///
    /// # Errors
    /// Those of [`Hashes::of`].
    pub fn of_rows(results: &Results, program: &Origin, hashes: &mut Hashes) -> Result<Vec<Option<Self>>> {
        let names = results.rows.iter().flat_map(|row| row.kernels.iter().flatten()).map(|(name, _)| &**name);
        let now = hashes.of(names)?;
        let age = |row| Self::of(row, results, program, now.as_ref());
        Ok(results.rows.iter().map(|row| row.skipped.is_none().then(|| age(row))).collect())
    }

    fn of(row: &Row, results: &Results, program: &Origin, now: Option<&KernelHashes>) -> Self {
        let launched = match &row.kernels {
            None if results.header.backend.is_gpu() => return Self::Unhashed,
            launched => launched.iter().flatten(),
        };
        let same_program = results.origin_of(row).is_of_program(program);
        match now {
            _ if launched.clone().next().is_none() => {
                if same_program {
                    Self::Same
                } else {
                    Self::OtherProgram
                }
            }
            None => Self::Unknown,
            Some(now) => {
                let changed = launched.filter(|(name, hash)| now.get(*name) != Some(hash));
                let changed: Vec<_> = changed.map(|(name, _)| name.clone()).collect();
                if changed.is_empty() { Self::Same } else { Self::Older(changed) }
            }
        }
    }

    /// The kernels that are others now.
    pub fn changed_kernels(&self) -> Option<&[String]> {
        match self {
            Self::Older(kernels) => Some(kernels),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Header;
    use super::*;
    use patchmg::backend::BackendName::{self, Cpu, Cuda};

    fn hashes(pairs: &[(&str, &str)]) -> KernelHashes {
        pairs.iter().map(|(name, hash)| (name.to_string(), hash.to_string())).collect()
    }

    /// The age of a row of program `a` with these kernels.
    fn age(backend: BackendName, kernels: Option<&[(&str, &str)]>, program: &str, now: Option<&[(&str, &str)]>) -> Age {
        let header = Header { backend, ..Header::of_a_gpu("speed", "smoother", "Smoother") };
        let results = Results { header, remark: String::new(), columns: Vec::new(), rows: Vec::new() };
        let row = Row { kernels: kernels.map(hashes), ..Row::of_a_gpu() };
        Age::of(&row, &results, &Origin::of_commit(program), now.map(hashes).as_ref())
    }

    #[test]
    fn kernels_decide_where_there_are_some_and_else_the_program() {
        let recorded = [("apply", "1"), ("smooth", "2")];
        let now: Option<&[_]> = Some(&[("apply", "1"), ("smooth", "2"), ("dots", "3")]);
        assert_eq!(age(Cuda, Some(&recorded), "b", now), Age::Same);
        assert_eq!(age(Cuda, Some(&recorded), "a", Some(&[("smooth", "3")])), {
            Age::Older(vec!["apply".into(), "smooth".into()])
        });
        assert_eq!(age(Cuda, Some(&recorded), "a", None), Age::Unknown);
        assert_eq!(age(Cuda, None, "a", now), Age::Unhashed);
        for kernels in [None, Some(&[][..])] {
            assert_eq!(age(Cpu, kernels, "a", now), Age::Same);
            assert_eq!(age(Cpu, kernels, "b", now), Age::OtherProgram);
            assert_eq!(age(Cpu, kernels, "b", None), Age::OtherProgram);
        }
        assert_eq!(age(Cuda, Some(&[]), "b", now), Age::OtherProgram);
    }
}
