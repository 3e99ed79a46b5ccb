//! Kernels of two sources beside each other.

use super::Source;
use crate::inspect::{Assembler, Filter, InstructionMix, Resources, Selection};
use cuda_builder::{ptx, side_by_side};
use patchmg_cli::error::{Error, Library, Result};
use patchmg_cli::hashes;
use patchmg_device::kernels::Module;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the PTX of a kernel, and the assembler, say of it. What only the assembler says is none without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Properties {
    /// Of a thread.
    pub registers: Option<u32>,
    /// Registers that a thread writes to local memory, bytes.
    pub spill_store_bytes: Option<u32>,
    /// Registers that it reads back.
    pub spill_load_bytes: Option<u32>,
    /// Local memory of a thread.
    pub stack_bytes: Option<u32>,
    /// Shared memory of a block that the code declares.
    pub static_shared_bytes: Option<u32>,
    /// Shared memory that a launch adds, by the kernel list that the PTX was compiled with.
    pub dynamic_shared_bytes: Option<u32>,
    /// Threads of a block, at most.
    pub threads: Option<u32>,
    /// Blocks that a multiprocessor should hold.
    pub min_blocks: Option<u32>,
    /// In the text of the PTX, loops once.
    pub instructions: InstructionMix,
}

/// A kernel of both sources, or of one of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Entry point.
    pub name: String,
    /// That holds it.
    pub module: String,
    /// None for modules that serve all.
    pub dim: Option<usize>,
    /// None for modules that serve all.
    pub degree: Option<usize>,
    /// Whether both have the same PTX, but for comments and labels.
    pub same_ptx: bool,
    /// None if A does not have it.
    pub a: Option<Properties>,
    /// None if B does not have it.
    pub b: Option<Properties>,
}

/// The modules to compare: those of the folders that hold kernels which a filter lets pass.
///
/// # Errors
/// [`Library::Unsupported`] if there is none, [`Error::Input`] for a folder that lacks one.
fn modules(a: &Source, b: &Source, filter: &Filter) -> Result<Vec<Module>> {
    let mut modules: Vec<_> = Selection::of(filter)?.modules().collect();
    let folders = [a, b].map(Source::modules);
    if folders.iter().any(Option::is_some) {
        modules.retain(|module| folders.iter().flatten().any(|folder| folder.contains(module)));
    }
    if modules.is_empty() {
        let folders = folders.into_iter().flatten().flatten().map(Module::name);
        return Err(Library::Unsupported {
            backend: "cuda",
            what: "kernel in these folders",
            asked: filter.to_string(),
            available: folders.collect::<Vec<_>>().join(", "),
        }
        .into());
    }
    for (source, other) in [(a, b), (b, a)] {
        let missing: Vec<_> = modules.iter().filter(|module| !source.has(**module)).map(Module::name).collect();
        if let (Some(path), false) = (source.path(), missing.is_empty()) {
            let reason = format!(
                "lacks modules of {}: {}; --only, --dim and --degree choose modules that both have",
                other.path().map_or_else(|| other.to_string(), |path| path.display().to_string()),
                missing.join(", ")
            );
            return Err(Error::Input { path: path.to_owned(), reason });
        }
    }
    Ok(modules)
}

/// Compares the kernels that a filter lets pass, of the modules that the folders hold; kernels that are not listed count if their name
/// passes. `begin` is told how many modules there are, `done` of each.
///
/// # Errors
/// [`Library::Unsupported`] if there are none, [`Error::Input`] if a folder lacks a module or one is for a newer architecture than the
/// assembler's, and those of the assembler.
pub fn differences(
    [a, b]: [&Source; 2],
    filter: &Filter,
    assembler: Option<&Assembler>,
    begin: impl FnOnce(usize),
    done: impl Fn() + Sync,
) -> Result<Vec<Difference>> {
    let modules = modules(a, b, filter)?;
    begin(modules.len());
    // Work is taken from the end, the modules of the list that take longest.
    let compared = side_by_side(&modules, |_, &module| {
        let texts = [text(a, module, assembler)?, text(b, module, assembler)?];
        let compared = of_module(module, &texts, filter, assembler)?;
        done();
        Ok::<_, Error>(compared)
    })?;
    Ok(compared.into_iter().flatten().collect())
}

/// A module's PTX, which the assembler takes.
fn text(source: &Source, module: Module, assembler: Option<&Assembler>) -> Result<String> {
    let text = source.ptx(module)?;
    let target = ptx::target(&text).unwrap_or_default();
    match assembler {
        Some(assembler) if !assembler.takes(target) => {
            let reason = format!("is PTX for '{target}', not for {} or older; see --arch", assembler.arch());
            let path = source.path().unwrap_or("built-in".as_ref()).join(format!("{}.ptx", module.name()));
            Err(Error::Input { path, reason })
        }
        _ => Ok(text),
    }
}

fn of_module(
    module: Module,
    texts: &[String; 2],
    filter: &Filter,
    assembler: Option<&Assembler>,
) -> Result<Vec<Difference>> {
    let names = names(module, texts, filter);
    let wanted: HashSet<_> = names.iter().map(String::as_str).collect();
    let hashes = texts.each_ref().map(|text| hashes_of(text, &wanted));
    let is_same = |name: &str| hashes[0].get(name) == hashes[1].get(name);
    let a = properties(&texts[0], |name| wanted.contains(name), assembler)?;
    // What is the same is assembled once.
    let b = properties(&texts[1], |name| wanted.contains(name) && !is_same(name), assembler)?;
    let (dim, degree) = module.space().unzip();
    let difference = |name: String| {
        let (a, same_ptx) = (a.get(&name).copied(), is_same(&name));
        let b = if same_ptx { a } else { b.get(&name).copied() };
        Difference { module: module.name(), dim, degree, same_ptx, a, b, name }
    };
    Ok(names.into_iter().map(difference).collect())
}

/// Names of the kernels to compare: those of the list first.
fn names(module: Module, texts: &[String; 2], filter: &Filter) -> Vec<String> {
    let listed: Vec<_> = module.kernels().into_iter().map(|spec| spec.name).collect();
    let passing: HashSet<_> = filter.kernels_of(module).into_iter().map(|spec| spec.name).collect();
    let entries: Vec<_> = texts.iter().flat_map(|text| ptx::entries(text)).map(|entry| entry.name).collect();
    let mut names: Vec<String> =
        listed.iter().filter(|name| passing.contains(*name) && entries.contains(&name.as_str())).cloned().collect();
    for name in entries {
        let is_new = names.iter().all(|known| known != name) && listed.iter().all(|known| known != name);
        // Nothing but the name is known of it.
        if is_new && filter.scalar.is_none() && filter.names_pass(name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn hashes_of<'a>(text: &'a str, wanted: &HashSet<&str>) -> HashMap<&'a str, String> {
    let names = ptx::entries(text).into_iter().map(|entry| entry.name).filter(|name| wanted.contains(name));
    names.map(|name| (name, hashes::hash(&ptx::with_entries(text, |entry| entry == name)))).collect()
}

fn properties(
    text: &str,
    wanted: impl Fn(&str) -> bool,
    assembler: Option<&Assembler>,
) -> Result<BTreeMap<String, Properties>> {
    let text = ptx::with_entries(text, wanted);
    let entries = ptx::entries(&text);
    if entries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let resources = assembler.map_or(Ok(Vec::new()), |assembler| assembler.resources(&text))?;
    let resources: HashMap<String, Resources> = resources.into_iter().collect();
    let of = |entry: &ptx::Entry| {
        let found = resources.get(entry.name);
        let properties = Properties {
            registers: found.map(|found| found.registers),
            spill_store_bytes: found.map(|found| found.spill_store_bytes),
            spill_load_bytes: found.map(|found| found.spill_load_bytes),
            stack_bytes: found.map(|found| found.stack_bytes),
            static_shared_bytes: found.map(|found| found.shared_bytes),
            dynamic_shared_bytes: entry.dynamic_shared_bytes(),
            threads: entry.max_threads(),
            min_blocks: entry.min_blocks(),
            instructions: entry.opcodes().collect(),
        };
        (entry.name.to_owned(), properties)
    };
    Ok(entries.iter().map(of).collect())
}

/// A number of a kernel in words, and where it is found.
type Quantity = (&'static str, fn(&Properties) -> Option<usize>);

/// What of a kernel is compared.
const QUANTITIES: [Quantity; 20] = [
    ("registers", |side| number(side.registers)),
    ("spills/B", |side| number(side.spill_store_bytes.zip(side.spill_load_bytes).map(|(store, load)| store + load))),
    ("stack/B", |side| number(side.stack_bytes)),
    ("static shared/B", |side| number(side.static_shared_bytes)),
    ("dynamic shared/B", |side| number(side.dynamic_shared_bytes)),
    ("threads", |side| number(side.threads)),
    ("min blocks", |side| number(side.min_blocks)),
    ("fma", |side| Some(side.instructions.fma_f32 + side.instructions.fma_f64)),
    ("other floating-point", |side| Some(other_floating_point(&side.instructions))),
    ("mma", |side| Some(side.instructions.mma)),
    ("ld.global", |side| Some(side.instructions.load_global)),
    ("st.global", |side| Some(side.instructions.store_global)),
    ("ld.shared", |side| Some(side.instructions.load_shared)),
    ("st.shared", |side| Some(side.instructions.store_shared)),
    ("other memory", |side| Some(side.instructions.other_memory + side.instructions.atomic)),
    ("integer", |side| Some(side.instructions.integer)),
    ("control", |side| Some(side.instructions.control)),
    ("barriers", |side| Some(side.instructions.barrier)),
    ("warp", |side| Some(side.instructions.warp)),
    ("instructions", |side| Some(side.instructions.total)),
];

fn number(value: Option<u32>) -> Option<usize> {
    value.map(|value| value as usize)
}

fn other_floating_point(mix: &InstructionMix) -> usize {
    mix.add_f32 + mix.add_f64 + mix.mul_f32 + mix.mul_f64 + mix.other_f32 + mix.other_f64
}

impl Difference {
    /// Quantities with their numbers in A and B, none where it is not known.
    pub fn quantities(&self) -> impl Iterator<Item = (&'static str, [Option<usize>; 2])> {
        let sides = [self.a, self.b];
        QUANTITIES.into_iter().map(move |(name, of)| (name, sides.map(|side| side.as_ref().and_then(of))))
    }

    /// Whether a quantity differs, or a side lacks the kernel.
    pub fn is_other(&self) -> bool {
        self.quantities().any(|(_, [a, b])| a != b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn kernel(name: &str, body: &str) -> String {
        format!(
            ".visible .entry {name}(\n)\n.maxntid 64, 1, 1\n.minnctapersm 2\n// 32 bytes of dynamic shared memory\n\
             {{\n{body}\tret;\n}}\n"
        )
    }

    fn source(folder: &Path, modules: &[(&str, &[String])]) -> Source {
        fs::create_dir_all(folder).unwrap();
        for (module, kernels) in modules {
            let text = format!(".version 7.0\n.target sm_80\n.address_size 64\n{}", kernels.concat());
            fs::write(folder.join(format!("{module}.ptx")), text).unwrap();
        }
        Source::open(folder).unwrap()
    }

    #[test]
    fn kernels_of_two_folders_are_compared_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (same, dots) = (kernel("blas1_axpby_f64", "\tadd.rn.f64 %fd1, %fd2, %fd3;\n"), "blas1_dots_f64");
        let a = source(&folder.path().join("a"), &[("blas1", &[same.clone(), kernel(dots, "\tbar.sync 0;\n")])]);
        let longer = kernel(dots, "\tbar.sync 0;\n\tfma.rn.f64 %fd1, %fd2, %fd3, %fd4;\n");
        let b = source(&folder.path().join("b"), &[("blas1", &[same, longer, kernel("blas1_new_f64", "")])]);
        let compare = |filter: &Filter| differences([&a, &b], filter, None, |_| (), || ()).unwrap();

        let found = compare(&Filter::default());
        let found: BTreeMap<_, _> = found.iter().map(|kernel| (&*kernel.name, kernel)).collect();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), ["blas1_axpby_f64", dots, "blas1_new_f64"]);
        let [same, dots_found, new] = ["blas1_axpby_f64", dots, "blas1_new_f64"].map(|name| found[name]);
        assert!(same.same_ptx && !same.is_other() && same.a == same.b && same.a.is_some());
        assert!(!dots_found.same_ptx && dots_found.is_other());
        let changed: Vec<_> = dots_found.quantities().filter(|(_, [a, b])| a != b).collect();
        assert_eq!(changed, [("fma", [Some(0), Some(1)]), ("instructions", [Some(2), Some(3)])]);
        let side = dots_found.a.unwrap();
        assert_eq!((side.threads, side.min_blocks, side.dynamic_shared_bytes), (Some(64), Some(2), Some(32)));
        assert_eq!(side.registers, None, "no assembler");
        assert!(new.a.is_none() && new.is_other() && !new.same_ptx);

        let names = |filter: Filter| compare(&filter).into_iter().map(|kernel| kernel.name).collect::<Vec<_>>();
        assert_eq!(names(Filter { names: vec!["dots".into()], ..Filter::default() }), [dots]);
        assert_eq!(names(Filter { scalar: Some("f64"), ..Filter::default() }), ["blas1_axpby_f64", dots]);
    }

    #[test]
    fn modules_that_a_folder_lacks_are_an_error_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let none: &[String] = &[];
        let a = source(&folder.path().join("a"), &[("blas1", none), ("axis", none), ("poisson_cg_2d_q1", none)]);
        let b = source(&folder.path().join("b"), &[("blas1", none), ("axis", none)]);
        let filter = |name: &str| Filter { names: vec![name.into()], ..Filter::default() };
        let error = modules(&a, &b, &Filter::default()).unwrap_err().to_string();
        assert!(error.contains("/b: lacks") && error.contains("/a: poisson_cg_2d_q1;"), "{error}");
        assert_eq!(modules(&b, &a, &filter("blas1")).unwrap(), [Module::Blas1]);
        assert_eq!(modules(&Source::BuiltIn, &b, &Filter::default()).unwrap().len(), 2);
        let error = modules(&Source::BuiltIn, &b, &filter("stokes_2d")).unwrap_err().to_string();
        assert!(error.contains("stokes_2d") && error.contains("axis, blas1"), "{error}");
    }
}
