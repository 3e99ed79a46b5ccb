//! PTX as the compiler leaves it: launch bounds are added, and what the kernel list promises is checked.

mod constants;
mod dependent;
mod functions;
mod packed;

pub use constants::{Constants, with_constants};
pub use dependent::with_dependent_launches;
pub use functions::{FunctionBody, with_functions};
pub use packed::{pack, unpack};

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// Follows the number of bytes in a comment of a kernel.
const DYNAMIC_SHARED_MEMORY: &str = " bytes of dynamic shared memory";

/// What a kernel's PTX must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Entry point.
    pub name: String,
    /// Threads of a block, at most.
    pub threads: u32,
    /// Blocks that a multiprocessor should hold; with `threads` it bounds the registers. 0 leaves them to the assembler.
    pub min_blocks: u32,
    /// Dynamic shared memory of a block, bytes: PTX has no place for it but a comment.
    pub shared_bytes: u32,
    /// Block-wide barriers in the source.
    pub barriers: u32,
}

/// A difference between PTX and kernel list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A listed kernel is not there.
    MissingKernel {
        /// Its name.
        kernel: String,
    },
    /// There is a kernel that is not listed.
    UnknownKernel {
        /// Its name.
        kernel: String,
    },
    /// Barriers were copied or lost: threads that part at a branch would wait at different ones.
    Barriers {
        /// The kernel.
        kernel: String,
        /// Barriers in the source.
        expected: u32,
        /// Barriers in the PTX.
        found: u32,
    },
    /// `.maxntid` or `.minnctapersm` is not as listed.
    LaunchBounds {
        /// The kernel.
        kernel: String,
        /// Threads of a block and blocks of a multiprocessor, as listed.
        expected: (u32, u32),
        /// As in the PTX.
        found: (Option<u32>, Option<u32>),
    },
    /// An array is in local memory: it was indexed at run time.
    LocalMemory {
        /// The kernel.
        kernel: String,
    },
    /// A function is called that nothing defines.
    UndefinedFunction {
        /// Its name.
        function: String,
    },
    /// A check is left whose failure is a panic: of a divisor, of an index.
    Panic {
        /// The function of `core::panicking`.
        function: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::MissingKernel { kernel } => write!(f, "kernel {kernel} is listed, but not in the PTX"),
            Violation::UnknownKernel { kernel } => write!(f, "kernel {kernel} is in the PTX, but not listed"),
            Violation::Barriers { kernel, expected, found } => {
                write!(f, "kernel {kernel} has {found} barriers in the PTX, {expected} in the list")
            }
            Violation::LaunchBounds { kernel, expected, found } => {
                let text = |bound: Option<u32>| bound.map_or(String::from("none"), |bound| bound.to_string());
                let ((threads, blocks), found) = (expected, (text(found.0), text(found.1)));
                write!(
                    f,
                    "kernel {kernel} is bound to {} threads a block and {} blocks a multiprocessor in the PTX, \
                     to {threads} and {blocks} in the list",
                    found.0, found.1
                )
            }
            Violation::LocalMemory { kernel } => write!(f, "kernel {kernel} keeps an array in local memory"),
            Violation::UndefinedFunction { function } => write!(f, "function {function} is called, but not defined"),
            Violation::Panic { function } => write!(f, "a check is left that may call {function}"),
        }
    }
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// From `.entry` to the body: parameters and directives.
    header: &'a str,
    body: &'a str,
    /// Where it is in the module, with its directives.
    bytes: Range<usize>,
}

impl<'a> Entry<'a> {
    /// Block-wide barriers in its body.
    pub fn barriers(&self) -> u32 {
        const BARRIERS: [&str; 4] = ["bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync"];
        self.instructions().filter(|line| BARRIERS.iter().any(|barrier| line.starts_with(barrier))).count() as u32
    }

    /// Whether it has a stack, where arrays are that no register can hold.
    pub fn has_local_memory(&self) -> bool {
        self.instructions().any(|line| line.starts_with(".local"))
    }

    /// Threads of a block, at most.
    pub fn max_threads(&self) -> Option<u32> {
        self.directive(".maxntid")
    }

    /// Blocks that a multiprocessor should hold.
    pub fn min_blocks(&self) -> Option<u32> {
        self.directive(".minnctapersm")
    }

    /// Dynamic shared memory of a block, bytes, as the comment says that [`add_launch_bounds`] writes.
    pub fn dynamic_shared_bytes(&self) -> Option<u32> {
        let mut comments = self.header.lines().filter_map(|line| line.trim().strip_prefix("// "));
        comments.find_map(|comment| comment.strip_suffix(DYNAMIC_SHARED_MEMORY)?.parse().ok())
    }

    fn directive(&self, name: &str) -> Option<u32> {
        let value = self.header.lines().find_map(|line| line.trim().strip_prefix(name))?;
        value.split(',').next()?.trim().parse().ok()
    }

    /// Its instructions in the order of the text, each as opcode and types, for example `fma.rn.f64`.
    pub fn opcodes(&self) -> impl Iterator<Item = &'a str> {
        self.instructions().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).map(|line| {
            let end = line.find(|c: char| c == ';' || c.is_whitespace()).unwrap_or(line.len());
            &line[..end]
        })
    }

    /// Lines of the body without blanks and predicates.
    fn instructions(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.body.lines().map(|line| {
            let line = line.trim();
            line.strip_prefix('@').and_then(|rest| rest.split_once(char::is_whitespace)).map_or(line, |(_, rest)| rest)
        })
    }
}

/// The entry points of a module.
pub fn entries(ptx: &str) -> Vec<Entry<'_>> {
    const ENTRY: &str = ".entry ";
    let mut found = Vec::new();
    let mut rest = ptx;
    while let Some(start) = rest.find(ENTRY) {
        rest = &rest[start + ENTRY.len()..];
        // The body is what is between a brace at the start of a line and the next one.
        let Some(open) = rest.find("\n{") else { break };
        let close = rest[open..].find("\n}").map_or(rest.len(), |length| open + length);
        let name = rest.split(|c: char| c == '(' || c.is_whitespace()).next().unwrap_or_default();
        let offset = |part: &str| part.as_ptr() as usize - ptx.as_ptr() as usize;
        let line = ptx[..offset(rest)].rfind('\n').map_or(0, |end| end + 1);
        let bytes = line..offset(&rest[close..]) + "\n}".len().min(rest.len() - close);
        found.push(Entry { name, header: &rest[..open], body: &rest[open..close], bytes });
        rest = &rest[close..];
    }
    found
}

/// The architecture that a module needs, for example `sm_80`.
pub fn target(ptx: &str) -> Option<&str> {
    ptx.lines().find_map(|line| line.strip_prefix(".target "))?.split([',', ' ']).next()
}

/// The module without the entry points that are not wanted.
pub fn with_entries(ptx: &str, wanted: impl Fn(&str) -> bool) -> String {
    let (mut kept, mut copied) = (String::new(), 0);
    for entry in entries(ptx).iter().filter(|entry| !wanted(entry.name)) {
        // The comment that announces it goes with it.
        let announced = format!("// .globl\t{}", entry.name);
        let before = ptx[copied..entry.bytes.start].trim_end();
        let before = before.strip_suffix(&announced).unwrap_or(before).trim_end();
        kept.push_str(before);
        kept.push_str(if before.is_empty() { "" } else { "\n" });
        copied = entry.bytes.end;
    }
    kept.push_str(&ptx[copied..]);
    kept
}

/// Modules that differ in nothing but their entry points as one, in the order of the first of each. No name is in two of them.
pub fn joined(modules: &[String]) -> Vec<String> {
    let mut joined = Vec::<(String, String)>::new();
    for module in modules {
        let (common, entries) = (with_entries(module, |_| false), entries(module));
        let common = common.trim_end();
        let index = joined.iter().position(|(other, _)| other == common).unwrap_or_else(|| {
            joined.push((common.to_owned(), String::from("\n")));
            joined.len() - 1
        });
        for entry in entries {
            joined[index].1.push_str(&module[entry.bytes]);
            joined[index].1.push('\n');
        }
    }
    joined.into_iter().map(|(common, entries)| common + &entries).collect()
}

/// Functions that are declared, but defined nowhere.
pub fn undefined_functions(ptx: &str) -> Vec<&str> {
    functions(ptx, ".extern .func")
}

/// Functions of `core::panicking` that are there to be called.
fn panics(ptx: &str) -> Vec<&str> {
    let defined = functions(ptx, ".func").into_iter().filter(|name| name.contains("9panicking"));
    // Each is declared before it is defined.
    defined.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Names of functions whose line begins with such words.
fn functions<'a>(ptx: &'a str, words: &str) -> Vec<&'a str> {
    ptx.lines()
        .filter_map(|line| line.trim().strip_prefix(words))
        .filter_map(|declaration| {
            let declaration = declaration.trim_start();
            let name = match declaration.strip_prefix('(') {
                Some(result) => result.split_once(')')?.1.trim_start(),
                None => declaration,
            };
            name.split(|c: char| c == '(' || c == ';' || c.is_whitespace()).next()
        })
        .collect()
}

/// Gives every listed kernel its launch bounds (`.maxntid`, `.minnctapersm`), which Rust has no attribute for. Without
/// them the assembler takes so many registers that a block of the listed size may not fit.
pub fn add_launch_bounds(ptx: &str, kernels: &[Kernel]) -> String {
    let mut bound = String::with_capacity(ptx.len() + 64 * kernels.len());
    let mut copied = 0;
    for entry in entries(ptx) {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.name == entry.name) else { continue };
        let body = entry.body.as_ptr() as usize - ptx.as_ptr() as usize;
        bound.push_str(&ptx[copied..body]);
        let Kernel { threads, min_blocks, shared_bytes, .. } = kernel;
        bound.push_str(&format!("\n.maxntid {threads}, 1, 1"));
        if *min_blocks > 0 {
            bound.push_str(&format!("\n.minnctapersm {min_blocks}"));
        }
        bound.push_str(&format!("\n// {shared_bytes}{DYNAMIC_SHARED_MEMORY}"));
        copied = body;
    }
    bound.push_str(&ptx[copied..]);
    bound
}

/// Everything in which a module differs from its kernel list.
pub fn check(ptx: &str, kernels: &[Kernel]) -> Vec<Violation> {
    let entries = entries(ptx);
    let mut violations = Vec::new();
    for kernel in kernels {
        let name = || kernel.name.clone();
        let Some(entry) = entries.iter().find(|entry| entry.name == kernel.name) else {
            violations.push(Violation::MissingKernel { kernel: name() });
            continue;
        };
        if entry.barriers() != kernel.barriers {
            let (expected, found) = (kernel.barriers, entry.barriers());
            violations.push(Violation::Barriers { kernel: name(), expected, found });
        }
        let (expected, found) = ((kernel.threads, kernel.min_blocks), (entry.max_threads(), entry.min_blocks()));
        if found != (Some(expected.0), (expected.1 > 0).then_some(expected.1)) {
            violations.push(Violation::LaunchBounds { kernel: name(), expected, found });
        }
        if entry.has_local_memory() {
            violations.push(Violation::LocalMemory { kernel: name() });
        }
    }
    for entry in entries.iter().filter(|entry| kernels.iter().all(|kernel| kernel.name != entry.name)) {
        violations.push(Violation::UnknownKernel { kernel: entry.name.to_string() });
    }
    violations.extend(
        undefined_functions(ptx)
            .into_iter()
            .map(|function| Violation::UndefinedFunction { function: function.to_string() }),
    );
    violations.extend(panics(ptx).into_iter().map(|function| Violation::Panic { function: function.to_string() }));
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64

.extern .func  (.param .b64 func_retval0) __udivti3
(
\t.param .b64 __udivti3_param_0
)
;
\t// .globl\tfirst
.visible .entry first(
\t.param .u64 first_param_0
)
{
\t.reg .b32 \t%r<3>;
\tbar.sync \t0;
\t@%p1 bra \t$L__BB0_2;
\tbar.warp.sync \t-1;
\t@%p2 bar.sync \t0;
$L__BB0_2:
\tret;

}
.visible .entry second()
{
\t.local .align 16 .b8 \t__local_depot1[64];
\tret;
}
";

    fn kernel(name: &str, barriers: u32) -> Kernel {
        Kernel { name: name.to_string(), threads: 128, min_blocks: 2, shared_bytes: 64, barriers }
    }

    #[test]
    fn entries_are_found_with_their_barriers_and_stacks() {
        let entries = entries(PTX);
        assert_eq!(entries.iter().map(|entry| entry.name).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!((entries[0].barriers(), entries[0].has_local_memory()), (2, false));
        assert_eq!((entries[1].barriers(), entries[1].has_local_memory()), (0, true));
        assert_eq!(entries[0].max_threads(), None);
    }

    #[test]
    fn a_module_says_what_it_needs() {
        assert_eq!(
            [PTX, ".target sm_90a, debug\n", ".version 7.0\n"].map(target),
            [Some("sm_80"), Some("sm_90a"), None]
        );
    }

    #[test]
    fn opcodes_are_instructions_without_labels_predicates_and_operands() {
        let entries = entries(PTX);
        assert_eq!(entries[0].opcodes().collect::<Vec<_>>(), ["bar.sync", "bra", "bar.warp.sync", "bar.sync", "ret"]);
        assert_eq!(entries[1].opcodes().collect::<Vec<_>>(), ["ret"]);
    }

    #[test]
    fn an_entry_alone_keeps_what_the_module_declares() {
        let alone = |wanted: &str| with_entries(PTX, |name| name == wanted);
        assert_eq!(alone("first").trim_end(), PTX.split("\n.visible .entry second").next().unwrap());
        let second = alone("second");
        assert_eq!(entries(&second).iter().map(|entry| entry.name).collect::<Vec<_>>(), ["second"]);
        assert!(
            second.starts_with(PTX.split("\n\t// .globl").next().unwrap()) && !second.contains("first"),
            "{second}"
        );
        assert_eq!(with_entries(PTX, |_| true), PTX);
    }

    #[test]
    fn modules_are_joined_if_they_differ_in_their_entries_alone() {
        let [first, second] = ["first", "second"].map(|wanted| with_entries(PTX, |name| name == wanted));
        let other = second.replace("sm_80", "sm_90").replace("second", "third");
        let joined = joined(&[first.clone(), other.clone(), second]);
        let names = |module: &str| entries(module).iter().map(|entry| entry.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            joined.iter().map(|module| names(module)).collect::<Vec<_>>(),
            [vec!["first", "second"], vec!["third"]]
        );
        assert_eq!([target(&joined[0]), target(&joined[1])], [Some("sm_80"), Some("sm_90")]);
        for (joined, whole) in [(&joined[0], PTX), (&joined[1], &other)] {
            for (found, expected) in entries(joined).iter().zip(entries(whole)) {
                assert_eq!((found.header, found.body), (expected.header, expected.body));
            }
            assert!(joined.starts_with(PTX.split(".target").next().unwrap()));
            assert_eq!(joined.matches(".extern .func").count(), 1);
        }
    }

    #[test]
    fn launch_bounds_are_added_to_the_listed_kernels_alone() {
        let bound = add_launch_bounds(PTX, &[kernel("second", 0)]);
        let entries = entries(&bound);
        assert_eq!((entries[0].max_threads(), entries[0].min_blocks()), (None, None));
        assert_eq!((entries[1].max_threads(), entries[1].min_blocks()), (Some(128), Some(2)));
        assert_eq!(entries.iter().map(Entry::dynamic_shared_bytes).collect::<Vec<_>>(), [None, Some(64)]);
        let added = "\n.maxntid 128, 1, 1\n.minnctapersm 2\n// 64 bytes of dynamic shared memory";
        assert_eq!(bound.replace(added, ""), PTX);
    }

    #[test]
    fn every_difference_is_reported() {
        let kernels = [kernel("first", 1), kernel("third", 0)];
        let violations = check(&add_launch_bounds(PTX, &kernels), &kernels);
        assert_eq!(
            violations,
            [
                Violation::Barriers { kernel: "first".into(), expected: 1, found: 2 },
                Violation::MissingKernel { kernel: "third".into() },
                Violation::UnknownKernel { kernel: "second".into() },
                Violation::UndefinedFunction { function: "__udivti3".into() },
            ]
        );
        let listed = [kernel("first", 2), kernel("second", 0)];
        let unbound = (None, None);
        assert_eq!(
            check(PTX, &listed)[..3],
            [
                Violation::LaunchBounds { kernel: "first".into(), expected: (128, 2), found: unbound },
                Violation::LaunchBounds { kernel: "second".into(), expected: (128, 2), found: unbound },
                Violation::LocalMemory { kernel: "second".into() },
            ]
        );
    }

    #[test]
    fn a_check_that_may_panic_is_reported() {
        let name = "_RNvNtNtCs1_4core9panicking11panic_const23panic_const_rem_by_zero";
        let ptx = format!("{PTX}.func {name}\n;\n.func {name}()\n{{\n\ttrap;\n}}\n");
        let listed = [kernel("first", 2), kernel("second", 0)];
        let [alone, with_panic] = [PTX, &ptx].map(|ptx| check(ptx, &listed));
        assert_eq!(with_panic[..alone.len()], alone);
        assert_eq!(with_panic[alone.len()..], [Violation::Panic { function: name.into() }]);
    }

    #[test]
    fn a_module_as_listed_passes() {
        let ptx = PTX
            .replace(".extern .func  (.param .b64 func_retval0) __udivti3", "")
            .replace("\t.local .align 16 .b8 \t__local_depot1[64];\n", "");
        let kernels = [kernel("first", 2), kernel("second", 0)];
        assert_eq!(check(&add_launch_bounds(&ptx, &kernels), &kernels), []);
    }
}
