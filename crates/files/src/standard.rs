//! Closed standard output, and pipes whose reader has exited.
//!
//! Before `main`, Rust opens /dev/null in place of a closed standard output. Writes to it then
//! succeed and lose the result, and nothing tells it apart from a /dev/null that the user chose. So
//! this module checks whether standard output is closed before Rust does.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when the process started.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// The C library calls the functions in this section before `main`.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: it reads the flags of a descriptor and may be called with any number.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        IS_CLOSED.store(flags == -1, Ordering::Relaxed);
    }
    look
};

/// Returns standard output.
///
/// # Errors
/// If it was closed when the process started (`>&-`).
pub fn standard_output() -> io::Result<Stdout> {
    match IS_CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it is closed")),
        false => Ok(io::stdout()),
    }
}

/// A pipe, or standard output, to which a command writes its result. If the reader has exited
/// (`| head`), the process ends quietly with status 0.
pub struct ResultPipe<W: Write>(pub W);

impl<W: Write> ResultPipe<W> {
    fn or_exit<T>(written: io::Result<T>) -> io::Result<T> {
        written.inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                crate::exit(0);
            }
        })
    }
}

impl<W: Write> Write for ResultPipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::or_exit(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::or_exit(self.0.flush())
    }
}
