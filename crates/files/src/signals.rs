//! Signals as bytes of a stream.
//!
//! A handler may run in any thread that does not block its signal. Threads that start commands or
//! hold devices have descriptors of their own (`CLONE_FILES`, unshare(2)), where the stream's end
//! may be closed or have another file at its number. Such a thread passes the signal on.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// Handles the signals from now on. Returns a stream with a byte for each one: its number. If
/// nobody reads the stream until it is full, later signals are lost.
///
/// # Errors
/// If the system refuses the stream or the handlers.
pub fn signals(handled: impl IntoIterator<Item = i32>) -> io::Result<UnixStream> {
    let (asked, tell) = UnixStream::pair()?;
    for signal in handled {
        let tell = tell.try_clone()?;
        let action = move || {
            let byte = signal as u8;
            // SAFETY: system calls that a handler may make (signal-safety(7)), on a descriptor that
            // the closure owns, and one byte.
            unsafe {
                let (socket, from) = (tell.as_raw_fd(), (&raw const byte).cast());
                let sent = libc::send(socket, from, 1, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
                let error = io::Error::last_os_error().raw_os_error();
                if sent < 0 && matches!(error, Some(libc::EBADF | libc::ENOTSOCK)) {
                    // This thread has other descriptors. It blocks the signal during its handler,
                    // so another thread gets it.
                    libc::kill(libc::getpid(), signal);
                }
            }
        };
        // SAFETY: the action neither allocates nor locks nor panics.
        unsafe { signal_hook::low_level::register(signal, action) }?;
    }
    Ok(asked)
}

/// Returns the signals that ask this process to end: SIGINT, SIGTERM, SIGHUP and SIGQUIT, except
/// signals that were ignored at the start (`nohup`).
pub fn ending_signals() -> impl Iterator<Item = i32> {
    let ignored = ignored_signals();
    let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter();
    all.filter(move |signal| ignored >> (signal - 1) & 1 == 0)
}

/// Returns the signals that this process ignores, with signal 1 in the lowest bit; none if the
/// system does not report them.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Read;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Sends a signal to this thread alone, after `prepare`, in a thread with descriptors of its
    /// own.
    fn signal_in_a_thread_apart(signal: i32, prepare: impl FnOnce() + Send + 'static) {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let run = move || {
            // SAFETY: plain system calls, on this thread.
            let is_apart = unsafe { libc::unshare(libc::CLONE_FILES) } == 0;
            if is_apart {
                prepare();
                // SAFETY: as above.
                unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
            }
            tell.send(is_apart).expect("a receiver");
            let _ = ended.recv();
        };
        let thread = thread::spawn(run);
        if !told.recv().expect("a sender") {
            eprintln!("warning: nothing was tested: unshare(2) is not allowed");
            // SAFETY: as above.
            unsafe { libc::kill(libc::getpid(), signal) };
        }
        drop(end);
        thread.join().expect("an end");
    }

    #[test]
    fn threads_with_other_descriptors_lose_no_signal() {
        let mut stream = signals([libc::SIGUSR2, libc::SIGURG]).expect("handlers");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let mut seen = [0];
        // SAFETY: closes the thread's own descriptors, or replaces them with another file.
        let close = || unsafe { _ = libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
        signal_in_a_thread_apart(libc::SIGUSR2, close);
        stream.read_exact(&mut seen).expect("a byte");
        assert_eq!(i32::from(seen[0]), libc::SIGUSR2);
        let replace = || {
            let file = fs::File::open("/dev/null").expect("a file");
            for descriptor in (3..200).filter(|number| *number != file.as_raw_fd()) {
                // SAFETY: as above.
                unsafe { libc::dup2(file.as_raw_fd(), descriptor) };
            }
        };
        signal_in_a_thread_apart(libc::SIGURG, replace);
        stream.read_exact(&mut seen).expect("a byte");
        assert_eq!(i32::from(seen[0]), libc::SIGURG);
    }
}
