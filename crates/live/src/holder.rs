//! Returns the ports to the kernel as soon as the process is killed.
//!
//! Programs at ports keep frames from the kernel until their links are closed. The kernel closes
//! the descriptors of a killed process when its last thread has ended and the memory is unmapped.
//! On a busy computer that takes seconds, since each thread waits for a processor. So the links are
//! descriptors of a thread that shares its descriptor table with no other thread (`CLONE_FILES`,
//! unshare(2)): the kernel closes them when this thread ends, whatever the other threads do.
//!
//! ```text
//!   main, cores, mirror, ...    devices, sockets, files
//!   holder                      devices, sockets          links
//! ```
//!
//! The holder also has descriptors of the devices and sockets, so that they close when it ends too.
//! Only one thread at a time changes interfaces (the kernel's `rtnl_lock`). If another thread of
//! this process held the lock and then waited for a processor, closing the links would wait with
//! it. A thread that ends closes descriptors from the highest number down: the links have the
//! highest.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use wireloom_install::apart::keep_only;

use crate::bpf::Attached;
use crate::give_up_all_but;

/// Keeps programs attached as long as this value exists.
pub struct Holder {
    /// Dropped first: the thread then closes the links.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The links, if the thread could not take them: a sandbox may forbid unshare(2).
    _links: Vec<Attached>,
}

impl Holder {
    /// Keeps programs attached. `others` are open descriptors that are closed after the links if
    /// the process is killed.
    pub fn of(links: Vec<Attached>, others: &[RawFd]) -> Self {
        let links: Vec<Attached> = links.into_iter().map(Attached::closed_first).collect();
        let descriptors = links.iter().map(AsRawFd::as_raw_fd).chain(others.iter().copied());
        let descriptors: Vec<RawFd> = descriptors.collect();
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let hold = move || {
            let is_alone = keep_only(&descriptors).is_ok();
            if is_alone {
                run_early();
                // Errors do not matter: the thread does not use its remaining rights.
                let _ = give_up_all_but(&[]);
            }
            if tell.send(is_alone).is_ok() && is_alone {
                // Nothing is sent. The call returns when the other end is dropped.
                let _ = ended.recv();
                // Close before the thread ends: joining a thread does not wait for its descriptors.
                descriptors.iter().for_each(|link| unsafe { _ = libc::close(*link) });
            }
        };
        // A small stack is enough: the call depth is small.
        let thread = thread::Builder::new().name("holder".into()).stack_size(64 << 10);
        let thread = thread.spawn(hold).ok();
        match told.recv() {
            Ok(true) => Self { end: Some(end), thread, _links: Vec::new() },
            Ok(false) | Err(_) => Self { end: None, thread: None, _links: links },
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Raises this thread's priority, where that is allowed, so that it waits less for a processor. It
/// sleeps until the process ends, so it delays no other thread.
fn run_early() {
    const HIGHEST: libc::c_int = -20;
    // SAFETY: a plain system call, on this thread.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST) };
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read, pipe};
    use std::os::fd::OwnedFd;

    use super::*;

    /// Returns whether all descriptors of the other end are closed.
    fn is_closed(reader: &PipeReader) -> bool {
        let mut polled = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, as counted.
        unsafe { libc::poll(&raw mut polled, 1, 0) == 1 && polled.revents & libc::POLLHUP != 0 }
    }

    #[test]
    fn a_thread_of_its_own_keeps_links_and_nothing_else() {
        let (mut link_end, link) = pipe().expect("a pipe");
        let (file_end, file) = pipe().expect("a pipe");
        let link = Attached::from(OwnedFd::from(link));
        let holder = Holder::of(vec![link], &[]);
        if !holder._links.is_empty() {
            return eprintln!("warning: nothing was tested: unshare(2) is not allowed");
        }
        assert!(!is_closed(&link_end), "it is open in the thread");
        drop(file);
        assert!(is_closed(&file_end), "the thread has no other file");
        drop(holder);
        assert!(is_closed(&link_end));
        assert_eq!(link_end.read(&mut [0]).expect("the end"), 0);
    }
}
