//! Gives the ports back to the kernel as soon as the process is killed.
//!
//! Programs at ports keep frames from the kernel until their links are closed. The kernel closes the
//! descriptors of a killed process when the last of its threads has ended and the memory is unmapped.
//! On a busy computer that takes seconds: each thread waits for a processor. So the links are
//! descriptors of a thread that shares its descriptors with no other one (`CLONE_FILES`, unshare(2)):
//! the kernel closes them when this thread ends, whatever the others do.
//!
//! ```text
//!   main, cores, mirror, ...    devices, sockets, files
//!   holder                      devices, sockets          links
//! ```
//!
//! It has further descriptors of devices and sockets, so that they too are closed when it ends. Only
//! one thread at a time changes interfaces (the kernel's `rtnl_lock`). If another thread of this
//! process did, and then waited for a processor, the links would wait with it. A thread that ends
//! closes descriptors from the highest number down: the links have the highest.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use wireloom_install::apart::keep_only;

use crate::bpf::Attached;
use crate::give_up_all_but;

/// Programs that are attached as long as this value exists.
pub struct Holder {
    /// Dropped first: then the thread closes the links.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// What the thread could not take, where a sandbox forbids unshare(2).
    _links: Vec<Attached>,
}

impl Holder {
    /// Keeps programs attached. `others` are open descriptors, which are closed after their links if
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
                // What it still has then is of no use to it.
                let _ = give_up_all_but(&[]);
            }
            if tell.send(is_alone).is_ok() && is_alone {
                // Nothing is sent; the other end goes.
                let _ = ended.recv();
                // Before the thread ends: who waits for it does not wait for its descriptors.
                // SAFETY: its own descriptors, which nothing else closes.
                descriptors.iter().for_each(|link| unsafe { _ = libc::close(*link) });
            }
        };
        // It calls little.
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

/// Has this thread wait less for a processor, where that is allowed. It sleeps until the process ends,
/// so that nobody waits longer for it.
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

    /// Whether all descriptors of the other end are closed.
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
