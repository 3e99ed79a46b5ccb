//! Hashes of GPU kernels: whether a kernel is still the one that was measured.

use cuda_builder::ptx;
use patchmg::Result;
use patchmg_device::kernels::Module;
use std::collections::{BTreeMap, HashSet};

/// Hashes of kernels by their names.
pub type KernelHashes = BTreeMap<String, String>;

/// What the label of a block in PTX begins with; the kernel's number in its module follows.
const LABEL: &str = "$L__BB";

/// `fnv1a64:` and 16 hexadecimal digits: FNV-1a of 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv) of the PTX that a GPU is given of one
/// kernel, with the declarations of its module. Empty lines, comments and the number of the kernel in its module, which
/// labels hold, do not count. What the host does, such as the shape of a launch, is not in it, nor the wait that it puts before the
/// first instruction where launches overlap.
pub fn hash(ptx: &str) -> String {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: &str| {
        for byte in text.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for line in ptx.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let mut parts = line.split(LABEL);
        add(parts.next().unwrap_or_default());
        for part in parts {
            add(LABEL);
            add(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        add("\n");
    }
    format!("fnv1a64:{state:016x}")
}

/// The kernels of this program, hashed when they are first asked for.
#[derive(Debug, Default)]
pub struct Hashes {
    /// None for a kernel that there is not.
    known: BTreeMap<String, Option<String>>,
    absent: bool,
}

impl Hashes {
    /// The kernels of these names that there are; none at all in a program without GPU kernels.
    ///
    /// # Errors
    /// [`Error::Io`](patchmg::Error::Io) for a file of `PATCHMG_PTX_DIR` that cannot be read.
    pub fn of<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Result<Option<KernelHashes>> {
        let names: HashSet<&str> = names.into_iter().collect();
        let new: HashSet<&str> = names.iter().copied().filter(|name| !self.known.contains_key(*name)).collect();
        if !new.is_empty() && !self.absent {
            let known = &mut self.known;
            known.extend(new.iter().map(|name| (name.to_string(), None)));
            self.absent = !each_kernel_ptx(&new, |name, text| _ = known.insert(name.into(), Some(hash(text))))?;
        }
        let found = names.iter().filter_map(|&name| Some((name.into(), self.known.get(name)?.clone()?)));
        Ok((!self.absent).then(|| found.collect()))
    }
}

/// Calls `with(name, PTX)` for each of these kernels that there is. False in a program without GPU kernels.
fn each_kernel_ptx(names: &HashSet<&str>, mut with: impl FnMut(&str, &str)) -> Result<bool> {
    for module in Module::all() {
        let wanted: Vec<_> = module.kernels().into_iter().filter(|spec| names.contains(&*spec.name)).collect();
        if wanted.is_empty() {
            continue;
        }
        let Some(text) = module_ptx(module)? else { return Ok(false) };
        for spec in wanted {
            with(&spec.name, &ptx::with_entries(&text, |entry| entry == spec.name));
        }
    }
    Ok(cfg!(feature = "cuda"))
}

/// The PTX that a GPU would be given; none in a program without GPU kernels.
#[cfg(feature = "cuda")]
pub fn module_ptx(module: Module) -> Result<Option<String>> {
    patchmg::system::module_ptx(module).map(Some)
}

#[cfg(not(feature = "cuda"))]
pub fn module_ptx(_module: Module) -> Result<Option<String>> {
    Ok(None)
}

/// PTX of a module, or that in this program, as a GPU would be given it, whatever `PATCHMG_PTX_DIR` is; none for that of a program
/// without GPU kernels.
///
/// # Errors
/// Those of the coefficients that become operands of instructions.
#[cfg(feature = "cuda")]
pub fn module_ptx_of(module: Module, text: Option<String>) -> Result<Option<String>> {
    let text = text.or_else(|| patchmg::backend::cuda::ptx(&module.name()));
    text.map(|text| patchmg::system::module_ptx_of(module, text)).transpose()
}

/// The same in a program without GPU kernels, which has no coefficients for them.
#[cfg(not(feature = "cuda"))]
pub fn module_ptx_of(_module: Module, text: Option<String>) -> Result<Option<String>> {
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_fnv_1a() {
        // Test vectors of the draft, with the newline that ends a line.
        assert_eq!(hash(""), "fnv1a64:cbf29ce484222325");
        assert_eq!(hash("foobar"), format!("fnv1a64:{:016x}", fnv(b"foobar\n")));
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }

    /// As the definition has it.
    fn fnv(bytes: &[u8]) -> u64 {
        bytes
            .iter()
            .fold(14_695_981_039_346_656_037, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211))
    }

    #[test]
    fn an_instruction_counts_and_the_place_in_the_module_does_not() {
        let kernel = "// one\n.entry a()\n{\n\t@%p3 bra \t$L__BB0_20;\n\tadd.f64 %fd1, %fd2, %fd3;\n$L__BB0_20:\n}\n";
        assert_eq!(hash(kernel), hash(&kernel.replace("BB0_", "BB17_").replace("// one", "\n// two")));
        for (from, to) in [("add", "mul"), ("_20", "_21"), ("%fd3", "%fd4"), ("a()", "b()")] {
            assert_ne!(hash(kernel), hash(&kernel.replace(from, to)), "{from}");
        }
    }

    #[test]
    fn kernels_of_this_program_have_hashes_of_their_own() {
        let names = ["poisson_cg_2d_q2_apply_f64", "poisson_cg_2d_q2_apply_f32", "blas1_axpby_f64", "no_such_kernel"];
        let mut hashes = Hashes::default();
        let found = hashes.of(names).unwrap();
        assert_eq!(found.is_some(), cfg!(feature = "cuda"));
        let Some(found) = found else { return };
        assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), {
            let mut there = names[..3].to_vec();
            there.sort_unstable();
            there
        });
        assert_eq!(found.values().collect::<HashSet<_>>().len(), 3);
        assert_eq!(hashes.of(names).unwrap(), Some(found), "the second time, too");
    }
}
