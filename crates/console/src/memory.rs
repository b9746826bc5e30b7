//! Memory of this process, as counted by the kernel.

/// Peak resident memory so far, in KiB; 0 if the kernel does not report it.
pub fn peak_kib() -> u64 {
    status("VmHWM:")
}

/// Current resident memory in KiB; 0 if the kernel does not report it.
pub fn resident_kib() -> u64 {
    status("VmRSS:")
}

/// Returns a number from /proc/self/status; 0 if it is missing.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    field(&text, name).unwrap_or(0)
}

/// Returns the number on the line that begins with `name` (proc(5)).
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_name() {
        let text = "Name:\twireloom\nVmHWM:\t   41232 kB\nVmRSS:\t    2048 kB\nThreads:\t2\n";
        assert_eq!(field(text, "VmHWM:"), Some(41232));
        assert_eq!(field(text, "VmRSS:"), Some(2048));
        assert_eq!(field(text, "VmSwap:"), None);
        assert_eq!(field(text, "Name:"), None);
    }

    // The amount is not checked because other tests of this process allocate and free memory at the
    // same time.
    #[test]
    fn this_process_uses_memory() {
        let block = std::hint::black_box(vec![1u8; 1 << 20]);
        assert!(resident_kib() > 1 << 10);
        assert!(peak_kib() > 1 << 10);
        drop(block);
    }
}
