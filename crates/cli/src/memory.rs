//! Memory of this process, as the kernel counts it.

/// Resident memory at its highest so far, in KiB; 0 if the kernel does not say.
pub fn peak_kib() -> u64 {
    status("VmHWM:")
}

/// Resident memory now, in KiB; 0 if the kernel does not say.
pub fn resident_kib() -> u64 {
    status("VmRSS:")
}

/// A number of /proc/self/status (proc(5)).
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_shows() {
        let before = resident_kib();
        let block = vec![1u8; 32 << 20];
        assert!(resident_kib() >= before + (30 << 10));
        assert!(peak_kib() >= resident_kib());
        drop(block);
        assert!(peak_kib() >= before + (30 << 10));
    }
}
