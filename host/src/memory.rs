//! Memory of the host: how much is free, and vectors whose allocation is an error where it fails.
//!
//! Free is the least of three: what the system has, what the control groups of the process (containers) leave, and what
//! the limits of the process (`ulimit -v`, `ulimit -d`) leave. See `proc(5)`, `cgroups(7)` and the kernel's
//! `cgroup-v2.rst`, `cgroup-v1/memory.rst`.

use crate::error::{Error, Result};
use patchmg_device::scalar::Real;
use std::path::{Path, PathBuf};

/// Bytes that are left to small allocations, in the program and in the system's libraries, which end the process where
/// they fail.
const MARGIN: u64 = 1 << 20;

/// Bytes of the host's memory; `u64::MAX` where the system does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What this process could use if it were alone.
    pub total: u64,
    /// What it can use now.
    pub free: u64,
}

impl Memory {
    /// As it is now.
    pub fn now() -> Self {
        Self::from(&|path| std::fs::read_to_string(path).ok())
    }

    /// From the files of `/proc` and `/sys`; `read` gives none for a file that is not there.
    fn from(read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let proc = |name: &str| read(&Path::new("/proc").join(name)).unwrap_or_default();
        let (system, process, limits) = (proc("meminfo"), proc("self/status"), proc("self/limits"));
        let known = |value: Option<u64>| value.unwrap_or(u64::MAX);
        let mut memory =
            Self { total: known(kibibytes(&system, "MemTotal:")), free: known(kibibytes(&system, "MemAvailable:")) };
        for (limit, used) in [("Max address space", "VmSize:"), ("Max data size", "VmData:")] {
            if let Some(limit) = soft_limit(&limits, limit) {
                memory.restrict(limit, kibibytes(&process, used).unwrap_or(0) + MARGIN);
            }
        }
        for (folder, files) in control_groups(&proc("self/cgroup"), &proc("self/mountinfo")) {
            let read = |name: &str| read(&folder.join(name));
            let number = |name: &&str| read(name).and_then(|text| text.trim().parse().ok());
            // `max` is no number.
            if let Some(limit) = files.limits.iter().filter_map(number).min() {
                // The page cache is charged to the group as well; what nobody used lately is given back when needed.
                let cache = read("memory.stat").and_then(|text| field(&text, files.cache)?.parse().ok()).unwrap_or(0);
                memory.restrict(limit, number(&files.used).unwrap_or(0).saturating_sub(cache));
            }
        }
        memory
    }

    fn restrict(&mut self, limit: u64, used: u64) {
        self.total = self.total.min(limit);
        self.free = self.free.min(limit.saturating_sub(used));
    }
}

/// Whether the host has so many bytes free.
///
/// # Errors
/// [`Error::OutOfMemory`] if not.
pub fn check(needed: u64) -> Result<()> {
    if needed > Memory::now().free { Err(out_of_memory(needed)) } else { Ok(()) }
}

/// A vector of `len` zeros, whose pages the system makes when they are written.
///
/// # Errors
/// [`Error::OutOfMemory`] if the system refuses the allocation, where `vec!` would end the process.
pub fn zeros<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    let mut vector = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| out_of_memory(bytes))?;
    ask_for_large_pages(&mut vector);
    Ok(vector)
}

/// Asks for large pages in memory that is not written yet: there are fewer of them to make and to look up. A system that has none goes on
/// without.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(vector: &mut [T]) {
    /// Bytes of a large page where others have 4 KiB.
    const LARGE: usize = 1 << 21;
    let range = vector.as_mut_ptr_range();
    let (start, end) = ((range.start as usize).next_multiple_of(LARGE), range.end as usize / LARGE * LARGE);
    if start < end {
        // SAFETY: whole pages within the vector, whose contents the advice leaves as they are.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_vector: &mut [T]) {}

/// A copy.
///
/// # Errors
/// Those of [`zeros`].
pub fn copy<T: bytemuck::Pod>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = zeros(values.len())?;
    copy.copy_from_slice(values);
    Ok(copy)
}

/// The numbers in another scalar; in the same one they stay where they are.
///
/// # Errors
/// Those of [`zeros`].
pub fn convert<S: Real, T: Real>(values: Vec<S>) -> Result<Vec<T>> {
    let cast = if size_of::<S>() == size_of::<T>() {
        bytemuck::allocation::try_cast_vec(values).map_err(|(_, values)| values)
    } else {
        Err(values)
    };
    cast.or_else(|values| {
        let mut converted: Vec<T> = zeros(values.len())?;
        for (converted, value) in converted.iter_mut().zip(values) {
            *converted = T::from_f64(value.to_f64());
        }
        Ok(converted)
    })
}

fn out_of_memory(needed: u64) -> Error {
    Error::OutOfMemory { device: "the host".into(), needed, available: Memory::now().free }
}

/// The word after `key` at the beginning of a line.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next())
}

/// Bytes of a line such as `MemTotal:  1024 kB`.
fn kibibytes(text: &str, key: &str) -> Option<u64> {
    field(text, key)?.parse::<u64>().ok()?.checked_mul(1 << 10)
}

/// Of `/proc/self/limits`, in bytes; none if there is no limit.
fn soft_limit(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.parse().ok()
}

/// Files of a control group's folder.
struct Files {
    limits: &'static [&'static str],
    used: &'static str,
    /// Key in `memory.stat`.
    cache: &'static str,
}

const VERSION_1: Files =
    Files { limits: &["memory.limit_in_bytes"], used: "memory.usage_in_bytes", cache: "total_inactive_file " };
const VERSION_2: Files =
    Files { limits: &["memory.max", "memory.high"], used: "memory.current", cache: "inactive_file " };

/// Folders of the groups that limit the memory of the process, from its own up to the root of the hierarchy.
fn control_groups(groups: &str, mounts: &str) -> Vec<(PathBuf, &'static Files)> {
    let mut folders = Vec::new();
    // Lines such as `4:memory:/docker/1f` (version 1) and `0::/user.slice` (version 2).
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let files = match controllers {
            "" => &VERSION_2,
            _ if controllers.split(',').any(|name| name == "memory") => &VERSION_1,
            _ => continue,
        };
        for (root, mount_point) in mounts.lines().filter_map(|line| hierarchy(line, controllers.is_empty())) {
            // A container may see a part of the hierarchy, or have a namespace in which its group is the root.
            let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
            let own = mount_point.join(below);
            folders.extend(own.ancestors().take_while(|f| f.starts_with(mount_point)).map(|f| (f.to_owned(), files)));
        }
    }
    folders
}

/// Root and mount point of a line of `/proc/self/mountinfo` for control groups of version 2, or of memory in version 1.
fn hierarchy(line: &str, version_2: bool) -> Option<(&Path, &Path)> {
    let (mount, system) = line.split_once(" - ")?;
    let mut system = system.split(' ');
    let matches = match system.next()? {
        "cgroup2" => version_2,
        "cgroup" => !version_2 && system.nth(1)?.split(',').any(|option| option == "memory"),
        _ => false,
    };
    let mut mount = mount.split(' ').skip(3).map(Path::new);
    matches.then_some((mount.next()?, mount.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const MEMINFO: (&str, &str) =
        ("/proc/meminfo", "MemTotal:       24000 kB\nMemFree:          100 kB\nMemAvailable:   20000 kB\n");
    const STATUS: (&str, &str) =
        ("/proc/self/status", "Name:\tpatchmg\nVmPeak:\t 9000 kB\nVmSize:\t    2000 kB\nVmData:\t 500 kB\n");
    const MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    fn memory(files: &[(&str, &str)]) -> [u64; 2] {
        let files: HashMap<_, _> = files.iter().map(|&(path, text)| (PathBuf::from(path), text.to_owned())).collect();
        let Memory { total, free } = Memory::from(&|path| files.get(path).cloned());
        [total, free]
    }

    #[test]
    fn free_is_what_the_system_has_where_nothing_limits_it() {
        assert_eq!(memory(&[MEMINFO, STATUS]), [24000 << 10, 20000 << 10]);
        assert_eq!(memory(&[]), [u64::MAX; 2]);
        let now = Memory::now();
        assert!(now.free > 0 && now.free < now.total && now.total < u64::MAX, "{now:?}");
    }

    #[test]
    fn limits_of_the_process_count() {
        let limits = |address: &str, data: &str| {
            let text = format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max data size             {data}            unlimited            bytes     \n\
                 Max address space         {address}            unlimited            bytes     \n"
            );
            memory(&[MEMINFO, STATUS, ("/proc/self/limits", &text)])
        };
        assert_eq!(limits("unlimited", "unlimited"), [24000 << 10, 20000 << 10]);
        assert_eq!(limits("10240000", "unlimited"), [10_240_000, (8000 << 10) - MARGIN]);
        assert_eq!(limits("unlimited", "10240000"), [10_240_000, (9500 << 10) - MARGIN]);
        assert_eq!(limits("1024", "unlimited")[1], 0, "a limit below what is used");
    }

    /// The group of the process has no limit of its own; one above it has.
    #[test]
    fn limits_of_control_groups_of_version_1_count_with_those_above() {
        let files = [
            MEMINFO,
            ("/proc/self/cgroup", "5:devices:/\n4:cpu,memory:/batch/job/task\n0::/\n"),
            ("/proc/self/mountinfo", MOUNTS),
            ("/sys/fs/cgroup/memory/batch/job/task/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/batch/job/task/memory.usage_in_bytes", "1000\n"),
            ("/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "5000000\n"),
            ("/sys/fs/cgroup/memory/batch/job/memory.usage_in_bytes", "3000000\n"),
            ("/sys/fs/cgroup/memory/batch/job/memory.stat", "cache 9\ninactive_file 7\ntotal_inactive_file 1000000\n"),
            ("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "6000000\n"),
            ("/sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "3000000\n"),
        ];
        assert_eq!(memory(&files), [5_000_000, 3_000_000]);
        // In a container that sees its own group as the root of what is mounted.
        let own = MOUNTS.replace("0:32 / /sys/fs/cgroup/memory", "0:32 /batch/job /sys/fs/cgroup/memory");
        let files = [
            MEMINFO,
            ("/proc/self/cgroup", "4:memory:/batch/job\n"),
            ("/proc/self/mountinfo", &own),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "3000000\n"),
        ];
        assert_eq!(memory(&files), [5_000_000, 2_000_000]);
    }

    #[test]
    fn limits_of_control_groups_of_version_2_count_with_those_above() {
        let mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let files = |max: &'static str, high: &'static str, above: &'static str| {
            memory(&[
                MEMINFO,
                ("/proc/self/cgroup", "0::/user.slice/session.scope\n"),
                ("/proc/self/mountinfo", mount),
                ("/sys/fs/cgroup/user.slice/session.scope/memory.max", max),
                ("/sys/fs/cgroup/user.slice/session.scope/memory.high", high),
                ("/sys/fs/cgroup/user.slice/session.scope/memory.current", "500000\n"),
                ("/sys/fs/cgroup/user.slice/session.scope/memory.stat", "anon 1\ninactive_file 100000\n"),
                ("/sys/fs/cgroup/user.slice/memory.max", above),
                ("/sys/fs/cgroup/user.slice/memory.current", "600000\n"),
            ])
        };
        assert_eq!(files("max\n", "max\n", "max\n"), [24000 << 10, 20000 << 10]);
        assert_eq!(files("2000000\n", "max\n", "max\n"), [2_000_000, 1_600_000]);
        assert_eq!(files("2000000\n", "1000000\n", "max\n"), [1_000_000, 600_000]);
        assert_eq!(files("2000000\n", "max\n", "700000\n"), [700_000, 100_000]);
        // In a namespace of its own a container is the root.
        let files = [
            MEMINFO,
            ("/proc/self/cgroup", "0::/\n"),
            ("/proc/self/mountinfo", mount),
            ("/sys/fs/cgroup/memory.max", "1000000\n"),
            ("/sys/fs/cgroup/memory.current", "1\n"),
        ];
        assert_eq!(memory(&files), [1_000_000, 999_999]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn vectors_ask_for_large_pages_where_there_are_some() {
        let vector: Vec<f64> = zeros(1 << 21).unwrap();
        let place = vector[vector.len() / 2..].as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        let flags = maps.lines().find_map(|line| {
            let range = line.split(' ').next()?.split_once('-');
            let range = range.and_then(|(start, end)| {
                let number = |text| usize::from_str_radix(text, 16).ok();
                Some(number(start)?..number(end)?)
            });
            is_here = range.map_or(is_here, |range| range.contains(&place));
            line.strip_prefix("VmFlags:").filter(|_| is_here)
        });
        let is_asked = flags.unwrap().split(' ').any(|flag| flag == "hg");
        assert_eq!(is_asked, Path::new("/sys/kernel/mm/transparent_hugepage").exists());
    }

    #[test]
    fn an_allocation_that_is_refused_is_an_error() {
        assert_eq!(zeros::<f64>(3).unwrap(), [0.0; 3]);
        let error = zeros::<f64>(isize::MAX as usize / 8).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { needed, .. } if needed > u64::MAX / 3), "{error}");
        assert!(matches!(check(u64::MAX - 1), Err(Error::OutOfMemory { .. })));
        check(1).unwrap();
    }

    #[test]
    fn numbers_are_converted() {
        let values = vec![0.5, -1.0 / 3.0];
        let place = values.as_ptr();
        let same: Vec<f64> = convert(values).unwrap();
        assert_eq!((same.as_ptr(), &*same), (place, &[0.5, -1.0 / 3.0][..]));
        let single: Vec<f32> = convert(same).unwrap();
        assert_eq!(single, [0.5, -1.0 / 3.0]);
        assert_eq!(convert::<f32, f64>(single).unwrap(), [0.5, f64::from(-1.0f32 / 3.0)]);
    }
}
