//! How much memory this process and everything that it starts may use.
//!
//! A container's limit is its cgroup's. Limits are nested: the smallest one on
//! the way up to the root counts, as far as this process can see that way. Both
//! versions of cgroups are asked, because both may be mounted. Reading is kept
//! apart from understanding, so that the latter can be tested anywhere.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The memory that may be used, in bytes: what the flag says, but not more than
/// the cgroup's limit; without either, half of the machine's memory, because a
/// process without a limit is seldom alone.
pub fn budget(flag: Option<u64>) -> u64 {
    decide(flag, cgroup_limit(), machine())
}

/// The smallest memory limit of this process's cgroups, in bytes.
pub(crate) fn cgroup_limit() -> Option<u64> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let limits = limit_files(&cgroups, &mounts)
        .into_iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .filter_map(|text| limit(&text));
    // A limit beyond the machine's memory is how version 1 writes "none".
    limits.min().filter(|limit| *limit < machine())
}

fn decide(flag: Option<u64>, cgroup: Option<u64>, machine: u64) -> u64 {
    let limits = [flag, cgroup].into_iter().flatten();
    limits.min().unwrap_or(machine / 2)
}

/// The machine's memory in bytes. A kernel that does not say it has no /proc;
/// then nothing here works, and no number is too large.
fn machine() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    total(&text).unwrap_or(u64::MAX)
}

fn total(meminfo: &str) -> Option<u64> {
    let rest = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = rest.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn limit(text: &str) -> Option<u64> {
    // "max" is not a number: there is no limit.
    text.trim().parse().ok()
}

/// The files that may hold a limit: of this process's cgroups and of all above
/// them, below the mount points that show them.
fn limit_files(cgroups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in cgroups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (version, name) = match controllers {
            "" => (Version::Two, "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => {
                (Version::One, "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let shown = mounts.lines().filter_map(|line| mount(line, version));
        for (root, point) in shown {
            // A container without a cgroup namespace sees the host's path, but
            // below the mount point only its own part of it.
            let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
            let folders = below
                .ancestors()
                .map(|folder| Path::new(point).join(folder));
            files.extend(folders.map(|folder| folder.join(name)));
        }
    }
    files
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Root and mount point of a line of mountinfo, if it shows cgroups with memory:
/// `36 35 98:0 /root /point options… - type source superoptions`.
fn mount(line: &str, version: Version) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let is_shown = match (after.next()?, version) {
        ("cgroup2", Version::Two) => true,
        ("cgroup", Version::One) => after.nth(1)?.split(',').any(|option| option == "memory"),
        _ => false,
    };
    is_shown.then_some((root, point))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_MOUNTS: &str = "\
30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
31 25 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 none rw
33 20 8:1 / /data rw - ext4 /dev/sda rw
";

    fn files(cgroups: &str, mounts: &str) -> Vec<String> {
        let files = limit_files(cgroups, mounts);
        files
            .iter()
            .map(|file| file.display().to_string())
            .collect()
    }

    #[test]
    fn both_versions_are_asked_from_the_own_cgroup_up_to_the_mount_point() {
        let cgroups = "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/c\n";
        let expected = [
            "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/unified/c/memory.max",
            "/sys/fs/cgroup/unified/memory.max",
        ];
        assert_eq!(files(cgroups, V1_MOUNTS), expected);
    }

    #[test]
    fn in_a_container_the_mount_point_is_its_own_cgroup() {
        let mounts =
            "9 8 0:27 /kubepods/pod1/c1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        let expected = ["/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        assert_eq!(files("4:memory:/kubepods/pod1/c1", mounts), expected);
        // With a namespace for cgroups, as version 2 is used.
        let mounts = "9 8 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw";
        assert_eq!(files("0::/", mounts), ["/sys/fs/cgroup/memory.max"]);
        // A process that was moved elsewhere sees a path outside of its mount.
        let mounts = "9 8 0:27 /kubepods/pod1 /sys/fs/cgroup ro - cgroup2 cgroup rw";
        assert_eq!(files("0::/../x", mounts), ["/sys/fs/cgroup/memory.max"]);
    }

    #[test]
    fn the_smallest_of_flag_and_limit_counts_and_half_of_the_machine_without_either() {
        for (flag, cgroup, expected) in [
            (None, None, 4000),
            (None, Some(100), 100),
            (Some(50), Some(100), 50),
            (Some(200), Some(100), 100),
            (Some(6000), None, 6000),
        ] {
            assert_eq!(decide(flag, cgroup, 8000), expected, "{flag:?} {cgroup:?}");
        }
    }

    #[test]
    fn what_the_kernel_writes_is_understood() {
        assert_eq!(limit("1073741824\n"), Some(1 << 30));
        assert_eq!(limit("max\n"), None);
        assert_eq!(
            total("MemTotal:       24681472 kB\nMemFree: 1 kB\n"),
            Some(24_681_472 * 1024)
        );
    }

    #[test]
    fn this_machine_has_a_budget_that_is_not_above_its_memory() {
        let budget = budget(None);
        assert!(budget > 0 && budget <= machine(), "{budget}");
    }
}
