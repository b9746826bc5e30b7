//! Prints the seed of the running program when native code crashes. The signal ends the process, so
//! the seed would otherwise be lost.

use std::cell::Cell;
use std::mem::zeroed;
use std::ptr::null_mut;

/// Signals that faulty native code may raise.
const SIGNALS: [libc::c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

thread_local! {
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Records that this thread runs the program of this seed.
pub fn works_on(seed: u64) {
    SEED.set(Some(seed));
}

/// Installs handlers that print the seed on standard error before the signal ends the process.
///
/// # Panics
/// If the kernel refuses to install a handler.
pub fn name_seeds() {
    for signal in SIGNALS {
        // SAFETY: all zeros is a valid value. The handler calls only what signal-safety(7) allows,
        // and reads a thread-local value that needs no initialisation.
        let set = unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = told as extern "C" fn(libc::c_int) as libc::sighandler_t;
            // The handler runs once. The faulting instruction is then executed again and ends the
            // process.
            action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, null_mut())
        };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

extern "C" fn told(signal: libc::c_int) {
    if let Some(seed) = SEED.get() {
        let mut line = [0; 80];
        let length = write_line(&mut line, seed);
        // SAFETY: the buffer has the length given.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), length) };
    }
    // SAFETY: a signal to this thread itself; the default action has been set.
    unsafe { libc::raise(signal) };
}

/// Writes the message without allocating on the heap. Returns its length.
fn write_line(line: &mut [u8; 80], seed: u64) -> usize {
    let mut digits = [0; 20];
    let mut from = digits.len();
    let mut rest = seed;
    loop {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let parts = [&b"\nnative code crashed in the program of seed "[..], &digits[from..], b"\n"];
    let mut length = 0;
    for part in parts {
        line[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_fits() {
        for seed in [0, 7, 1234, u64::MAX] {
            let mut line = [0; 80];
            let length = write_line(&mut line, seed);
            let text = std::str::from_utf8(&line[..length]).expect("text");
            assert_eq!(text, format!("\nnative code crashed in the program of seed {seed}\n"));
        }
    }
}
