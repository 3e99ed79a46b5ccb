//! Writes the packed modules into the folders of the packages that carry them, before `cargo package`.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    write(&folder.join("packed"), patchmg_kernels::MODULES)?;
    write(&folder.join("../papers/packed"), patchmg_paper_kernels::MODULES)
}

/// Makes a folder that holds these modules and nothing else.
fn write(folder: &Path, modules: &[(&str, &[u8])]) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(folder)?,
    }
    modules.iter().try_for_each(|(name, packed)| fs::write(folder.join(format!("{name}.z")), packed))
}
