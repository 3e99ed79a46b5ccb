//! Values of arguments as JSON has them: by the text that the command line takes.

use serde::Serializer;
use std::fmt::Display;
use std::path::PathBuf;

/// `Serialize` by `Display`.
macro_rules! written {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

pub(crate) use written;

/// The text of a value of the library, if it is there.
pub fn text<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// A path, if it is there, also one that is no text.
pub fn path<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    text(&path.as_ref().map(|path| path.display()), serializer)
}
