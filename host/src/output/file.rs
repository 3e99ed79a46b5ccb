//! Files that results go to. A file is written whole or not at all: into a temporary file beside it, which takes its
//! place once everything is on the disk.

use crate::error::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Symbolic links that are followed, as many as Linux follows.
const LINKS: usize = 40;

/// What a path leads to.
enum Target {
    /// A regular file, there or not, with the symbolic links before it resolved.
    File(PathBuf),
    /// A pipe or a device: it takes bytes as they come, and is not replaced.
    Stream,
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(ErrorKind::IsADirectory.into());
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => Ok(Self::File(path.canonicalize()?)),
            Ok(_) => Ok(Self::Stream),
            Err(e) if e.kind() == ErrorKind::NotFound => new_file(path).map(Self::File),
            Err(e) => Err(e),
        }
    }
}

/// Where a file that is not there would be made. A symbolic link may lead to it.
fn new_file(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Some(name) = path.file_name() else { return Err(ErrorKind::IsADirectory.into()) };
        match fs::read_link(&path) {
            Ok(link) => path = folder(&path).join(link),
            Err(_) => return Ok(folder(&path).canonicalize()?.join(name)),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that is removed again unless it takes the place of another one.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// In the folder of `place`, so that it can be renamed; under a name of its own, that no other process takes.
    fn beside(place: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder(place).join(format!(".patchmg-{}-{count}.part", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                // Left by a process of the same number that was killed.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn replace(self, place: &Path) -> io::Result<()> {
        if let Ok(old) = fs::metadata(place) {
            // Not every file system has permissions.
            let _ = self.file.set_permissions(old.permissions());
        }
        // Some file systems find out only now that they are full.
        self.file.sync_all()?;
        fs::rename(&self.path, place)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Not there any more once it was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens a file that is there, to see that it may be written; nothing is changed.
fn check_old(place: &Path) -> io::Result<()> {
    match OpenOptions::new().append(true).open(place) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        opened => opened.map(drop),
    }
}

/// Checks that `path` can be written, so that a long computation does not end in a lost result. Leaves no trace: a file
/// that is there is not touched, one that is not is not there afterwards either.
///
/// # Errors
/// [`Error::Io`] with the reason of the system.
pub fn check_writable(path: &Path) -> Result<()> {
    let check = || match Target::of(path)? {
        Target::File(place) => {
            check_old(&place)?;
            Temporary::beside(&place).map(drop)
        }
        // Opening a pipe and closing it again would end its reader.
        Target::Stream => Ok(()),
    };
    check().map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Whether two paths lead to one file, pipe or device.
///
/// # Errors
/// [`Error::Io`] for a path that leads nowhere.
pub fn same(a: &Path, b: &Path) -> Result<bool> {
    let place = |path: &Path| match Target::of(path) {
        Ok(Target::File(place)) => Ok(place),
        // What `/dev/stdout` leads to may have no path.
        Ok(Target::Stream) => Ok(path.canonicalize().unwrap_or(path.to_owned())),
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    };
    Ok(place(a)? == place(b)?)
}

/// Writes a file: afterwards it holds all of `contents`, or, on an error, what it held before. A symbolic link stays a link.
/// Pipes and devices take the bytes as they are.
///
/// # Errors
/// [`Error::Write`] with the reason of the system.
pub fn write(path: &Path, contents: &[u8]) -> Result<()> {
    let write = || match Target::of(path)? {
        Target::Stream => stream(path)?.write_all(contents),
        Target::File(place) => fill_and_replace(&place, |file| file.write_all(contents)),
    };
    write().map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Writes a file in any order of its bytes: afterwards it holds all that `fill` writes, or, on an error, what it held before. A
/// symbolic link stays a link. Pipes and devices take the bytes of a temporary file, once that is full.
///
/// # Errors
/// [`Error::Write`] with the reason of the system, or that of `fill`.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    let write = || match Target::of(path)? {
        Target::Stream => {
            let temporary = Temporary::beside(&std::env::temp_dir().join("stream"))?;
            buffered(&temporary.file, fill)?;
            io::copy(&mut File::open(&temporary.path)?, &mut stream(path)?).map(drop)
        }
        Target::File(place) => fill_and_replace(&place, fill),
    };
    write().map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// A pipe or a device.
fn stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

fn buffered(file: &File, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    fill(&mut writer)?;
    writer.flush()
}

fn fill_and_replace(place: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    check_old(place)?;
    let temporary = Temporary::beside(place)?;
    buffered(&temporary.file, fill)?;
    temporary.replace(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Names in a folder, sorted.
    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_check_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        check_writable(&folder.path().join("new.json")).unwrap();
        assert_eq!(names(folder.path()), [""; 0]);
        let old = folder.path().join("old.json");
        fs::write(&old, "kept").unwrap();
        check_writable(&old).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        assert_eq!(names(folder.path()), ["old.json"]);
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        for text in ["old and long", "new"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, b"newer").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["result.json"]);
    }

    /// As on a full disk: some bytes are written, then no more.
    #[test]
    fn a_file_that_cannot_be_written_to_its_end_is_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let full = |file: &mut BufWriter<&File>| {
            file.write_all(&[1; 1 << 20])?;
            Err(ErrorKind::StorageFull.into())
        };
        let (old, new) = (folder.path().join("old.vtu"), folder.path().join("new.vtu"));
        fs::write(&old, "kept").unwrap();
        for path in [&old, &new] {
            let error = write_with(path, full).unwrap_err();
            assert!(matches!(&error, Error::Write { path: named, .. } if named == path), "{error}");
        }
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        assert_eq!(names(folder.path()), ["old.vtu"]);
        let panicked = std::panic::catch_unwind(|| write_with(&new, |_| panic!("a mistake")));
        assert!(panicked.is_err());
        assert_eq!(names(folder.path()), ["old.vtu"]);
    }

    #[test]
    fn devices_take_bytes_and_are_not_replaced() {
        check_writable(Path::new("/dev/full")).unwrap();
        assert!(matches!(write(Path::new("/dev/full"), b"lost"), Err(Error::Write { .. })));
        write(Path::new("/dev/null"), b"lost").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_is_not_written_from_its_beginning_goes_to_files_and_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (folder.path().join("file"), folder.path().join("pipe"));
        let backwards = |file: &mut BufWriter<&File>| {
            file.write_all(b"....end")?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(b"begi")
        };
        write_with(&path, backwards).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"begiend");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_with(&pipe, backwards).unwrap();
        assert_eq!(reader.join().unwrap(), b"begiend");
        assert!(matches!(write_with(Path::new("/dev/full"), backwards), Err(Error::Write { .. })));
        assert_eq!(names(folder.path()), ["file", "pipe"]);
    }

    #[test]
    fn links_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/old"), "old").unwrap();
        symlink("sub/old", at("to-old")).unwrap();
        symlink("sub/new", at("to-new")).unwrap();
        symlink("to-new", at("to-link")).unwrap();
        symlink("nowhere/new", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        write(&at("to-old"), b"1").unwrap();
        check_writable(&at("to-link")).unwrap();
        assert!(!at("sub/new").exists());
        write(&at("to-link"), b"2").unwrap();
        assert_eq!(fs::read_to_string(at("sub/old")).unwrap(), "1");
        assert_eq!(fs::read_to_string(at("sub/new")).unwrap(), "2");
        for path in ["dangling", "loop"] {
            assert!(matches!(check_writable(&at(path)), Err(Error::Io { .. })), "{path}");
            assert!(matches!(write(&at(path), b"3"), Err(Error::Write { .. })), "{path}");
        }
        assert_eq!(names(folder.path()), ["dangling", "loop", "sub", "to-link", "to-new", "to-old"]);
        assert_eq!(names(&at("sub")), ["new", "old"]);
    }

    #[test]
    fn paths_to_one_file_are_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("new", at("link")).unwrap();
        symlink(".", at("here")).unwrap();
        for path in ["new", "sub/../new", "./new", "link", "here/new", "here/link"] {
            assert!(same(&at("new"), &at(path)).unwrap(), "{path}");
        }
        for path in ["old", "sub/new", "here/old"] {
            assert!(!same(&at("new"), &at(path)).unwrap(), "{path}");
        }
        write(&at("new"), b"there").unwrap();
        assert!(same(&at("new"), &at("here/link")).unwrap());
        assert!(same(Path::new("/dev/null"), Path::new("/dev/../dev/null")).unwrap());
        assert!(!same(&at("new"), Path::new("/dev/null")).unwrap());
    }

    #[test]
    fn folders_and_what_lies_under_a_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| folder.path().join(name);
        let paths =
            [folder.path().into(), "/".into(), "..".into(), "/dev/null/x".into(), inside("no/such"), inside("new/")];
        for path in paths {
            assert!(matches!(check_writable(&path), Err(Error::Io { .. })), "{}", path.display());
            assert!(matches!(write(&path, b"lost"), Err(Error::Write { .. })), "{}", path.display());
        }
        // Nobody can make files here, not even root.
        assert!(matches!(check_writable(Path::new("/proc/self/x.json")), Err(Error::Io { .. })));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
