//! What the operating system knows of a runner's process.

use std::fs;

use anyhow::{Context, Result};

/// Anonymous resident memory, in bytes. Pages of the program's file come and go as the kernel likes.
pub(super) fn memory(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(field(&status, "RssAnon:").context("no RssAnon of a runner")? * 1024)
}

/// How often a thread of it went to sleep, which is how often one was woken.
pub(super) fn wake_ups(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that has just ended has its count with it: a pool's idle thread, now and then.
        let status = fs::read_to_string(thread?.path().join("status")).unwrap_or_default();
        sum += field(&status, "voluntary_ctxt_switches:").unwrap_or(0);
    }
    Ok(sum)
}

fn field(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = "RssFile:\t 7 kB\nRssAnon:\t 12 kB\nnonvoluntary_ctxt_switches:\t1\n\
                      voluntary_ctxt_switches:\t5\n";
        assert_eq!(field(status, "RssAnon:"), Some(12));
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some(5));
        assert!(memory(std::process::id()).unwrap() > 0);
    }
}
