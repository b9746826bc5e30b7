//! The child processes of this process, and their descendants.

#[cfg(target_os = "linux")]
use std::collections::HashMap;

/// Asks all descendants of this process to end: compilers, simulators, and the processes that they
/// started.
#[cfg(target_os = "linux")]
pub fn stop() {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Ok(about) = std::fs::read_to_string(entry.path().join("stat"))
            && let Some(parent) = parent(&about)
        {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut open = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(next) = open.pop() {
        for child in children.remove(&next).into_iter().flatten() {
            open.push(child);
            if let Some(process) = rustix::process::Pid::from_raw(child) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
            }
        }
    }
}

/// Returns the parent in a line of `/proc/PID/stat`: the second word after the name. The name is in
/// parentheses and may contain parentheses itself.
#[cfg(target_os = "linux")]
fn parent(about: &str) -> Option<i32> {
    about.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Children cannot be found on this system. Ctrl-C in a terminal reaches them anyway.
#[cfg(not(target_os = "linux"))]
pub fn stop() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_stands_after_a_name_with_parentheses() {
        assert_eq!(parent("71 (a) b) S 42 71 70 0 -1"), Some(42));
        assert_eq!(parent("71"), None);
    }
}
