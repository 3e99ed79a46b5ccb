//! Files that results go to.

use crate::error::{Error, Result};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

/// Checks that `path` can be written, so that a long computation does not end in a lost result. Leaves no trace: a file
/// that is there is not touched, one that is not is not there afterwards either.
///
/// # Errors
/// [`Error::Io`] with the reason of the system.
pub fn check_writable(path: &Path) -> Result<()> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => {
            drop(file);
            fs::remove_file(path).map_err(io)
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            let kind = fs::metadata(path).map_err(io)?.file_type();
            // Opening a pipe and closing it again would end its reader.
            if kind.is_file() || kind.is_dir() {
                OpenOptions::new().append(true).open(path).map(drop).map_err(io)
            } else {
                Ok(())
            }
        }
        Err(e) => Err(io(e)),
    }
}

/// Writes a whole file.
///
/// # Errors
/// [`Error::Io`] with the reason of the system.
pub fn write(path: &Path, contents: &[u8]) -> Result<()> {
    fs::write(path, contents).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Writes a whole file at once: whoever reads it sees what was there, or all of `contents`.
///
/// # Errors
/// [`Error::Io`] with the reason of the system.
pub fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    write(Path::new(&part), contents)?;
    fs::rename(&part, path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new.json");
        check_writable(&new).unwrap();
        assert!(!new.exists());
        let old = folder.path().join("old.json");
        fs::write(&old, "kept").unwrap();
        check_writable(&old).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        for text in ["old and long", "new"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn folders_and_what_lies_under_a_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(check_writable(folder.path()), Err(Error::Io { .. })));
        assert!(matches!(check_writable(Path::new("/dev/null/x.json")), Err(Error::Io { .. })));
        assert!(matches!(check_writable(&folder.path().join("no/such.json")), Err(Error::Io { .. })));
    }
}
