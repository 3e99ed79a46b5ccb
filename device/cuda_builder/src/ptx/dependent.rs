//! Kernels that may be launched before the memory operations of those that they depend on have ended.

use super::entries;

/// The architecture that has the instructions, and the version of PTX.
const TARGET: &str = "sm_90";
const VERSION: (u32, u32) = (7, 8);

/// The module with kernels that begin by waiting until the kernels before them have ended and their writes are visible
/// (`griddepcontrol.wait`; PTX ISA, "Parallel Synchronization and Communication Instructions"). A launch with the attribute
/// programmatic stream serialization may then begin as soon as all blocks of the kernel before have ended. Takes sm_90 or newer.
///
/// No kernel lets the next one begin earlier, by `griddepcontrol.launch_dependents`: blocks that wait lie unevenly on
/// multiprocessors (docs/performance.md).
pub fn with_dependent_launches(ptx: &str) -> String {
    let (mut text, mut copied) = (String::with_capacity(ptx.len()), 0);
    for entry in entries(ptx) {
        let body = entry.body.as_ptr() as usize - ptx.as_ptr() as usize;
        let start = body + entry.body.find('{').map_or(0, |brace| brace + 1);
        header(&ptx[copied..start], &mut text);
        text.push_str("\n\tgriddepcontrol.wait;");
        copied = start;
    }
    header(&ptx[copied..], &mut text);
    text
}

/// Adds text, an older version or architecture replaced.
fn header(from: &str, to: &mut String) {
    for line in from.split_inclusive('\n') {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let version = line.strip_prefix(".version ").and_then(|text| text.split_once('.'));
        let version = version.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        let target = line.strip_prefix(".target sm_").and_then(number);
        match (version, target) {
            (Some(version), _) if version < VERSION => *to += &format!(".version {}.{}\n", VERSION.0, VERSION.1),
            (_, Some(target)) if target < 90 => *to += &format!(".target {TARGET}\n"),
            _ => to.push_str(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64

.visible .entry first(
\t.param .b32 first_param_0
)
.maxntid 256, 1, 1
{
\t.reg .b32 \t%r<2>;

\tld.param.b32 \t%r1, [first_param_0];
\tret;
}
.visible .entry second()
{
\tret;
}
";

    #[test]
    fn every_kernel_begins_by_waiting() {
        let begin = "{\n\tgriddepcontrol.wait;\n";
        let expected = PTX.replace("{\n", begin).replace("7.0\n", "7.8\n").replace("sm_80\n", "sm_90\n");
        assert_eq!(with_dependent_launches(PTX), expected);
    }

    #[test]
    fn newer_modules_keep_version_and_architecture() {
        for (version, target) in [("8.1", "sm_90a"), ("7.8", "sm_100"), ("10.0", "sm_90")] {
            let own = PTX.replace("7.0\n", &format!("{version}\n")).replace("sm_80\n", &format!("{target}\n"));
            let given = with_dependent_launches(&own);
            assert!(given.starts_with(&format!(".version {version}\n.target {target}\n")), "{given}");
        }
    }
}
