//! Degrees or refinements.

use super::values::whole;
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::Deref;

/// Degrees or refinements of one problem after the other, ascending: one, of `patchmg converge` several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(Vec<usize>);

impl Sizes {
    /// Numbers that a range or a list may have.
    const MOST: usize = 100;

    /// A number.
    pub fn one(text: &str) -> Result<Self, String> {
        whole(text).map(Self::from)
    }

    /// Numbers and ranges, which have both ends, with commas between them: `3`, `2..6`, `1,3,7`.
    pub fn several(text: &str) -> Result<Self, String> {
        let refused = || {
            let most = Self::MOST;
            format!(
                "must be a whole number, a range such as 2..6 or a list such as 1,3,7; ascending, {most} numbers at most"
            )
        };
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once("..").unwrap_or((part, part));
            let [first, last] = [first, last].map(|number| whole(number).map_err(|_| refused()));
            let (first, last) = (first?, last?);
            let is_ascending = first <= last && numbers.last().is_none_or(|&before| before < first);
            if !is_ascending || last - first >= Self::MOST - numbers.len() {
                return Err(refused());
            }
            numbers.extend(first..=last);
        }
        Ok(Self(numbers))
    }

    /// The first.
    pub fn first(&self) -> usize {
        self.0[0]
    }
}

impl From<usize> for Sizes {
    fn from(number: usize) -> Self {
        Self(vec![number])
    }
}

impl Deref for Sizes {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

/// As [`Sizes::several`] reads it.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|before, after| before + 1 == *after);
        let texts = runs.map(|run| match run {
            [first, _, .., last] => format!("{first}..{last}"),
            _ => run.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        });
        f.write_str(&texts.collect::<Vec<_>>().join(","))
    }
}

/// One as a number.
impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &**self {
            [one] => one.serialize(serializer),
            _ => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_are_read_as_they_are_written() {
        for (text, numbers) in
            [("3", &[3][..]), ("2..4", &[2, 3, 4]), ("1,3,7", &[1, 3, 7]), ("1,2,4..6", &[1, 2, 4, 5, 6])]
        {
            let sizes = Sizes::several(text).unwrap();
            assert_eq!((&*sizes, &*sizes.to_string()), (numbers, text));
        }
        assert_eq!(&*Sizes::several("2..2").unwrap(), [2]);
        assert_eq!(Sizes::several("1..100").unwrap().len(), 100);
        for text in [
            "",
            "..",
            "2..",
            "..2",
            "3..2",
            "1,1",
            "2,1",
            "1..3,3",
            "-1",
            "x",
            "1;2",
            "1..101",
            "0..18446744073709551615",
        ] {
            assert!(Sizes::several(text).unwrap_err().contains("2..6"), "{text}");
        }
        assert_eq!(Sizes::one("2..3").unwrap_err(), "must be a whole number");
    }
}
