//! Notifies the forwarder of removed interfaces while it sleeps.
//!
//! The sockets of a port do not do that reliably. A packet socket reports an error when its
//! interface goes down, while the interface still exists, and none when it is removed later.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use wireloom_machine::{Error, Result};

use crate::system::{exists, failed};

/// `RTNLGRP_LINK`: all changes of interfaces.
const LINKS: u32 = 1;

/// A subscription to changes of interfaces.
pub struct Removals {
    socket: Socket,
}

impl Removals {
    /// Subscribes. After this, no interface that is looked up can vanish unnoticed.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn subscribe() -> Result<Self> {
        let subscribed = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.add_membership(LINKS)?;
            socket.set_non_blocking(true)?;
            Ok(Self { socket })
        };
        subscribed().map_err(|error: io::Error| failed("notifications of interfaces", &error))
    }

    /// Returns a descriptor that becomes readable when an interface has changed.
    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Takes the waiting notifications, and fails if one of these interfaces is gone. Lost
    /// notifications do not matter, since the interfaces themselves are checked.
    ///
    /// # Errors
    /// If an interface was removed.
    pub fn check<'a>(&self, ports: impl Iterator<Item = (&'a str, u32)>) -> Result {
        let mut nothing: &mut [u8] = &mut [];
        // The kernel truncates notifications to the buffer. Their content is not used.
        while self.socket.recv(&mut nothing, libc::MSG_TRUNC).is_ok() {}
        for (name, index) in ports {
            unless_removed(name, index)?;
        }
        Ok(())
    }
}

/// Fails if an interface no longer exists. An interface that is down exists: its sockets work again
/// when it is up.
///
/// # Errors
/// If the interface was removed.
pub fn unless_removed(name: &str, index: u32) -> Result {
    match exists(index) {
        true => Ok(()),
        false => Err(Error::new(format!("port {name}: the interface was removed"))),
    }
}
