//! Commands that never hold the open descriptors of this process.
//!
//! Until it is executed, a command is a copy of this process with all its descriptors. On a busy
//! computer this takes time. If this process ends meanwhile, the copy keeps its devices and links
//! open. So commands are started by threads without such descriptors.

use std::io;
use std::os::fd::RawFd;
use std::process::{Child, Command, Output};
use std::thread::{self, JoinHandle};

/// A running command.
pub struct Running(JoinHandle<io::Result<Output>>);

/// Starts a command. It may use no open files except the standard ones and new pipes, whose
/// contents [`Running::output`] returns. `started` is called with its process.
///
/// # Errors
/// If no thread can be started.
pub fn start(
    mut command: Command,
    started: impl FnOnce(&Child) + Send + 'static,
) -> io::Result<Running> {
    let run = move || {
        // In a sandbox that forbids it, the command is started all the same.
        let _ = keep_only(&STANDARD);
        let child = command.spawn()?;
        started(&child);
        child.wait_with_output()
    };
    thread::Builder::new().name("command".into()).spawn(run).map(Running)
}

impl Running {
    /// Waits until the command has ended.
    ///
    /// # Errors
    /// If it could not be started or read.
    pub fn output(self) -> io::Result<Output> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Standard input, output and error.
const STANDARD: [RawFd; 3] = [0, 1, 2];

/// Gives this thread its own descriptor table: a copy of the process's descriptors that keeps only
/// `kept`.
///
/// # Errors
/// If the system has no per-thread descriptors, or forbids them here.
#[cfg(target_os = "linux")]
pub fn keep_only(kept: &[RawFd]) -> io::Result<()> {
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    kept.dedup();
    // SAFETY: a plain system call; the other threads keep their descriptors.
    if unsafe { libc::unshare(libc::CLONE_FILES) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let starts = std::iter::once(0).chain(kept.iter().map(|kept| *kept as libc::c_uint + 1));
    let ends = kept.iter().map(|kept| *kept as libc::c_uint).chain([libc::c_uint::MAX]);
    for (start, end) in starts.zip(ends) {
        // SAFETY: a plain system call, on descriptors that only this thread has.
        let is_closed = start >= end || {
            let last = if end == libc::c_uint::MAX { end } else { end - 1 };
            unsafe { libc::syscall(libc::SYS_close_range, start, last, 0) == 0 }
        };
        if !is_closed {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn keep_only(_kept: &[RawFd]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::ffi::CString;
    use std::fs::File;
    use std::io::pipe;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    #[test]
    fn a_command_that_is_not_executed_yet_holds_nothing_of_ours() {
        let (theirs, ours) = pipe().expect("a pipe");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [there, go] = ["there", "go"].map(|name| {
            let path = folder.path().join(name);
            let c_path = CString::new(path.as_os_str().as_bytes()).expect("a path");
            // SAFETY: a string that ends with a zero.
            assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
            (path, c_path)
        });
        let mut command = Command::new("true");
        // Each call waits until the other end is opened.
        let wait = move || {
            // SAFETY: strings that end with a zero.
            unsafe {
                libc::open(there.1.as_ptr(), libc::O_WRONLY);
                libc::open(go.1.as_ptr(), libc::O_RDONLY);
            }
            Ok(())
        };
        // SAFETY: the closure calls only open(2).
        unsafe { command.pre_exec(wait) };
        let running = start(command, |_| ()).expect("a thread");
        File::open(there.0).expect("the copy of this process is there");
        drop(ours);
        // Commands of other tests may hold the descriptor until they are executed.
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(&theirs, PollFlags::empty())], Some(&patience));
        File::create(go.0).expect("the copy waits");
        assert_eq!(ended, Ok(1), "the other end is closed");
        assert!(running.output().expect("an end").status.success());
    }
}
