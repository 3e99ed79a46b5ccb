//! What is aimed at, and whether it is reached.

use serde::{Deserialize, Serialize};

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

/// What a value is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub target: f64,
    /// The least that is asked, if something is.
    pub least: Option<f64>,
    /// Of the value; none if there is no value, or nothing to say of it.
    pub verdict: Option<Verdict>,
}

/// How far a value gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It reaches the target.
    Target,
    /// It reaches the least that is asked.
    Least,
    /// It does not.
    Below,
}

impl Better {
    /// Whether `value` is as good as `other`, or better.
    pub fn reaches(self, value: f64, other: f64) -> bool {
        match self {
            Self::Higher => value >= other,
            Self::Lower => value <= other,
        }
    }

    /// How much worse `now` is than `earlier`, as a time would be, percent: for a rate, `earlier / now - 1`.
    pub fn worse_percent(self, earlier: f64, now: f64) -> f64 {
        let ratio = match self {
            Self::Higher => earlier / now,
            Self::Lower => now / earlier,
        };
        100.0 * (ratio - 1.0)
    }
}

impl Goal {
    /// Not judged yet.
    pub const fn new(target: f64, least: Option<f64>) -> Self {
        Self { target, least, verdict: None }
    }

    /// With the verdict on a value.
    pub fn judge(self, better: Better, value: Option<f64>) -> Self {
        let verdict = value.and_then(|value| match self.least {
            _ if better.reaches(value, self.target) => Some(Verdict::Target),
            Some(least) if better.reaches(value, least) => Some(Verdict::Least),
            Some(_) => Some(Verdict::Below),
            None => None,
        });
        Self { verdict, ..self }
    }
}

impl Verdict {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Least => "least",
            Self::Below => "below",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_depends_on_which_way_is_better() {
        let verdict = |better, goal: Goal, value| goal.judge(better, value).verdict.map(Verdict::name);
        let share = Goal::new(8.0, Some(15.0));
        let found = [7.0, 8.0, 9.0, 15.0, 16.0].map(|value| verdict(Better::Lower, share, Some(value)).unwrap());
        assert_eq!(found, ["target", "target", "least", "least", "below"]);
        let floor = Goal::new(60.0, Some(35.0));
        let found = [61.0, 59.0, 34.0].map(|value| verdict(Better::Higher, floor, Some(value)).unwrap());
        assert_eq!(found, ["target", "least", "below"]);
        assert_eq!(verdict(Better::Higher, Goal::new(60.0, None), Some(59.0)), None);
        assert_eq!(verdict(Better::Higher, Goal::new(60.0, None), Some(60.0)), Some("target"));
        assert_eq!(verdict(Better::Higher, floor, None), None);
    }

    #[test]
    fn a_rate_that_halves_is_worse_by_as_much_as_a_time_that_doubles() {
        assert_eq!(Better::Lower.worse_percent(2.0, 4.0), 100.0);
        assert_eq!(Better::Higher.worse_percent(4.0, 2.0), 100.0);
        assert_eq!(Better::Lower.worse_percent(4.0, 3.0), -25.0);
    }
}
