//! Two runs beside each other: what got slower, what got faster, and what is missing.

mod record;

pub use record::{Entry, Record};

use patchmg_cli::error::{Error, Library, Result};

/// What became of a number of the earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Worse by more than the margin.
    Slower,
    /// Better by more than the margin.
    Faster,
    /// Neither.
    Same,
    /// It was there, and is not any more.
    Missing,
    /// It was not there before.
    New,
}

impl Outcome {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Missing => "missing",
            Self::New => "new",
        }
    }
}

/// A number of either run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What was measured, and where.
    pub name: String,
    /// Which quantity of it, with its unit.
    pub quantity: String,
    pub earlier: Option<f64>,
    pub now: Option<f64>,
    /// How much worse it is now, as a time would be ([`Better::worse_percent`](super::suite::Better::worse_percent)).
    pub worse_percent: Option<f64>,
    pub outcome: Outcome,
}

/// All numbers of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub changes: Vec<Change>,
}

impl Comparison {
    /// Compares records of the same name; a number is slower, or faster, if it is worse, or better, by more than
    /// `margin_percent`.
    ///
    /// # Errors
    /// [`Error::NotComparable`] for records under different conditions, and where no number is in both;
    /// [`Library::InvalidArgument`] for a margin that is none.
    pub fn new(earlier: &[Record], now: &[Record], margin_percent: f64) -> Result<Self> {
        if !(0.0..f64::INFINITY).contains(&margin_percent) {
            return Err(Library::InvalidArgument {
                name: "margin",
                value: margin_percent.to_string(),
                allowed: "a number of percent, at least 0".into(),
            }
            .into());
        }
        let mut changes = Vec::new();
        for record in earlier {
            let other = now.iter().find(|other| other.name == record.name);
            if let Some(other) = other {
                record.check(other)?;
            }
            let of = |entry: &Entry| other.and_then(|other| other.entries.iter().find(|known| known.is(entry)));
            changes.extend(record.entries.iter().map(|entry| change(Some(entry), of(entry), margin_percent)));
        }
        for record in now {
            let other = earlier.iter().find(|other| other.name == record.name);
            let known = |entry: &Entry| other.is_some_and(|other| other.entries.iter().any(|known| known.is(entry)));
            let new = record.entries.iter().filter(|entry| !known(entry));
            changes.extend(new.map(|entry| change(None, Some(entry), margin_percent)));
        }
        // Neither was measured.
        changes.retain(|change| change.earlier.is_some() || change.now.is_some());
        if !changes.iter().any(|change| change.worse_percent.is_some()) {
            let [earlier, now] = [earlier, now].map(measured);
            return Err(Error::NotComparable { what: "what was measured", earlier, now });
        }
        Ok(Self { changes })
    }

    /// How many numbers have an outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.changes.iter().filter(|change| change.outcome == outcome).count()
    }

    /// Whether nothing is slower and nothing is missing: a measurement that fails now must not pass.
    pub fn holds(&self) -> bool {
        self.count(Outcome::Slower) + self.count(Outcome::Missing) == 0
    }
}

/// What records have numbers of: how many, and the first.
fn measured(records: &[Record]) -> String {
    let names = records.iter().map(|record| &*record.name).collect::<Vec<_>>().join("; ");
    let entries = records.iter().flat_map(|record| &record.entries).filter(|entry| entry.value.is_some());
    let first = entries.clone().next().map(|entry| format!(", the first: {}, {}", entry.name, entry.quantity));
    let count = match entries.count() {
        0 => String::from("no number"),
        1 => String::from("1 number"),
        count => format!("{count} numbers"),
    };
    format!("{names} ({count}{})", first.unwrap_or_default())
}

fn change(earlier: Option<&Entry>, now: Option<&Entry>, margin_percent: f64) -> Change {
    let value = |entry: Option<&Entry>| entry.and_then(|entry| entry.value);
    let either = earlier.or(now);
    let than =
        |than: Option<&Entry>, entry: Option<&Entry>| Some(either?.better.worse_percent(value(than)?, value(entry)?));
    let (worse_percent, better_percent) = (than(earlier, now), than(now, earlier));
    let outcome = match (worse_percent, better_percent) {
        (Some(worse), _) if worse > margin_percent => Outcome::Slower,
        (_, Some(better)) if better > margin_percent => Outcome::Faster,
        (Some(_), _) => Outcome::Same,
        _ if value(earlier).is_some() => Outcome::Missing,
        _ => Outcome::New,
    };
    let text = |of: fn(&Entry) -> &String| either.map(of).cloned().unwrap_or_default();
    Change {
        name: text(|entry| &entry.name),
        quantity: text(|entry| &entry.quantity),
        earlier: value(earlier),
        now: value(now),
        worse_percent,
        outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::Better;
    use super::*;

    fn record(device: &str, values: &[(&str, Better, f64)]) -> Record {
        let entry = |&(name, better, value): &(&str, Better, f64)| Entry {
            name: name.into(),
            quantity: "time [ms]".into(),
            better,
            value: Some(value),
        };
        Record {
            name: "smoother".into(),
            conditions: vec![("device", device.into())],
            entries: values.iter().map(entry).collect(),
        }
    }

    /// A time and a rate.
    fn run(time: f64, rate: f64) -> [Record; 1] {
        [record("a GPU", &[("Q3", Better::Lower, time), ("Q4", Better::Higher, rate)])]
    }

    fn outcomes(earlier: &[Record], now: &[Record], margin: f64) -> Vec<&'static str> {
        Comparison::new(earlier, now, margin).unwrap().changes.iter().map(|change| change.outcome.name()).collect()
    }

    #[test]
    fn slower_is_more_time_or_a_lower_rate() {
        let earlier = run(10.0, 10.0);
        assert_eq!(outcomes(&earlier, &run(12.0, 12.0), 10.0), ["slower", "faster"]);
        assert_eq!(outcomes(&earlier, &run(8.0, 8.0), 10.0), ["faster", "slower"]);
        assert!(!Comparison::new(&earlier, &run(12.0, 10.0), 10.0).unwrap().holds());
        assert!(Comparison::new(&earlier, &run(8.0, 12.0), 10.0).unwrap().holds());
        let slower = Comparison::new(&earlier, &run(12.0, 10.0), 10.0).unwrap();
        approx::assert_relative_eq!(slower.changes[0].worse_percent.unwrap(), 20.0, max_relative = 1e-12);
    }

    #[test]
    fn the_margin_is_what_is_allowed() {
        let earlier = run(8.0, 10.0);
        for (time, margin, holds) in
            [(9.0, 12.5, true), (9.0, 12.0, false), (8.0, 0.0, true), (8.0001, 0.0, false), (16.0, 100.0, true)]
        {
            assert_eq!(Comparison::new(&earlier, &run(time, 10.0), margin).unwrap().holds(), holds, "{time} {margin}");
        }
        for margin in [-1.0, f64::NAN, f64::INFINITY] {
            let error = Comparison::new(&earlier, &earlier, margin).unwrap_err();
            assert!(matches!(error, Error::Library(Library::InvalidArgument { name: "margin", .. })), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_told_and_fails_and_what_is_new_does_not() {
        let (both, one) = (run(1.0, 1.0), [record("a GPU", &[("Q3", Better::Lower, 1.0)])]);
        assert_eq!(outcomes(&both, &one, 10.0), ["same", "missing"]);
        assert!(!Comparison::new(&both, &one, 10.0).unwrap().holds());
        assert_eq!(outcomes(&one, &both, 10.0), ["same", "new"]);
        assert!(Comparison::new(&one, &both, 10.0).unwrap().holds());
        let mut failed = both.clone();
        failed[0].entries[1].value = None;
        assert_eq!(outcomes(&both, &failed, 10.0), ["same", "missing"]);
        assert_eq!(outcomes(&failed, &failed, 10.0), ["same"]);
    }

    #[test]
    fn other_conditions_and_nothing_in_common_are_refused() {
        let refused = |earlier: &[Record], now: &[Record]| match Comparison::new(earlier, now, 10.0) {
            Err(Error::NotComparable { what, earlier, now }) => (what, earlier, now),
            other => panic!("{other:?}"),
        };
        let (here, there) = (run(1.0, 1.0), [record("another", &[("Q3", Better::Lower, 1.0)])]);
        assert_eq!(refused(&there, &here), ("device", "another".into(), "a GPU".into()));
        let mut other = here.clone();
        other[0].name = "operator".into();
        let (what, earlier, now) = refused(&other, &here);
        assert_eq!((what, &*earlier), ("what was measured", "operator (2 numbers, the first: Q3, time [ms])"));
        assert_eq!(now, "smoother (2 numbers, the first: Q3, time [ms])");
        // Of one name, with nothing in common.
        let (mut failed, mut others) = (here.clone(), here.clone());
        failed[0].entries.iter_mut().for_each(|entry| entry.value = None);
        others[0].entries.iter_mut().for_each(|entry| entry.name += ", L = 9");
        for (now, told) in
            [(failed, "smoother (no number)"), (others, "smoother (2 numbers, the first: Q3, L = 9, time [ms])")]
        {
            let (_, earlier, now) = refused(&here, &now);
            assert_eq!((&*earlier, &*now), ("smoother (2 numbers, the first: Q3, time [ms])", told));
        }
    }
}
