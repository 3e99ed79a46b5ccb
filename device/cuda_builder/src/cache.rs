//! Whether a module must be compiled again.
//!
//! A module's key is its recipe (compiler, flags, variables, manifests, versions of dependencies) and the contents of the
//! source files that the compiler read. Whether it holds does not depend on times of files: a checkout changes them all.

use crate::error::{At, CudaBuilderError};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Separates the recipe from the files in a key.
const FILES: &str = "\nfiles:\n";
/// How much earlier than a clock a file system may say that a file was written.
const GRANULARITY: Duration = Duration::from_secs(1);

/// The source files behind what `key_path` was written for, if recipe and files are still the same.
pub(crate) fn sources(key_path: &Path, recipe: &str) -> Option<Vec<PathBuf>> {
    let key = fs::read_to_string(key_path).ok()?;
    let files = key.strip_prefix(recipe)?.strip_prefix(FILES)?;
    files
        .lines()
        .map(|line| {
            let (hash, path) = line.split_once(' ')?;
            (fingerprint(Path::new(path)).ok()? == hash).then(|| PathBuf::from(path))
        })
        .collect()
}

/// Removes the key, if there is one.
pub(crate) fn forget(key_path: &Path) -> Result<(), CudaBuilderError> {
    match fs::remove_file(key_path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(key_path),
        _ => Ok(()),
    }
}

/// Writes the key of what was compiled from `start` on; none if a source was written since, because the compiler may have
/// read what was there before.
pub(crate) fn store(
    key_path: &Path,
    recipe: &str,
    sources: &[PathBuf],
    start: SystemTime,
) -> Result<(), CudaBuilderError> {
    let mut key = format!("{recipe}{FILES}");
    for path in sources {
        key += &format!("{} {}\n", fingerprint(path)?, path.display());
    }
    // After the contents were read: who writes now is seen here, or writes what is not in the key.
    for path in sources {
        let written = fs::metadata(path).and_then(|file| file.modified()).at(path)?;
        if written + GRANULARITY >= start {
            return Ok(());
        }
    }
    fs::write(key_path, key).at(key_path)
}

fn fingerprint(path: &Path) -> Result<String, CudaBuilderError> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(path).at(path)?);
    Ok(format!("{:016x}", hasher.finish()))
}

/// The files named in a dependency file that cargo wrote (`output: input input ...`, spaces in names escaped).
pub(crate) fn parse_dependencies(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some((_, inputs)) = line.split_once(": ") else { continue };
        let mut name = String::new();
        let mut characters = inputs.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => name.extend(characters.next()),
                ' ' => files.push(std::mem::take(&mut name)),
                other => name.push(other),
            }
        }
        files.push(name);
    }
    files.sort();
    files.dedup();
    files.into_iter().filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependency_files_are_read_with_escaped_spaces() {
        let files = parse_dependencies("/out/a.ptx: /src/b.rs /src/with\\ space.rs\n");
        assert_eq!(files, [PathBuf::from("/src/b.rs"), PathBuf::from("/src/with space.rs")]);
    }

    #[test]
    fn a_key_holds_until_its_recipe_or_a_file_changes() {
        let folder = std::env::temp_dir().join(format!("cuda_builder-cache-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (source, key) = (folder.join("a.rs"), folder.join("a.key"));
        fs::write(&source, "fn a() {}").unwrap();
        assert_eq!(sources(&key, "recipe"), None);
        let before = fs::metadata(&source).unwrap().modified().unwrap();
        store(&key, "recipe", std::slice::from_ref(&source), before).unwrap();
        assert_eq!(sources(&key, "recipe"), None, "written while the compiler ran");
        store(&key, "recipe", std::slice::from_ref(&source), before + 2 * GRANULARITY).unwrap();
        assert_eq!(sources(&key, "recipe"), Some(vec![source.clone()]));
        assert_eq!(sources(&key, "other recipe"), None);
        assert_eq!(sources(&key, "rec"), None);
        forget(&key).unwrap();
        assert_eq!(sources(&key, "recipe"), None);
        forget(&key).unwrap();
        store(&key, "recipe", std::slice::from_ref(&source), before + 2 * GRANULARITY).unwrap();
        fs::write(&source, "fn b() {}").unwrap();
        assert_eq!(sources(&key, "recipe"), None);
        fs::remove_file(&source).unwrap();
        assert_eq!(sources(&key, "recipe"), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
