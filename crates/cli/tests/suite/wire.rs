//! Frames to and from network interfaces: a raw socket over all interfaces of the thread's network
//! namespace.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A frame and its ingress interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Index of the interface.
    pub interface: u32,
    /// The bytes from the destination address on, VLAN tags in place.
    pub bytes: Vec<u8>,
}

/// A raw packet socket that receives from all interfaces, in one queue. The order between
/// interfaces is the order of the kernel's processing.
pub struct Wire {
    socket: OwnedFd,
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Returns the index of an interface of the thread's namespace.
///
/// # Errors
/// If there is no interface of that name.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name).expect("no zero byte in an interface name");
    // SAFETY: the pointer is to a terminated string that outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { Err(io::Error::last_os_error()) } else { Ok(index) }
}

impl Wire {
    /// Opens the socket in the thread's network namespace.
    ///
    /// # Errors
    /// Without the right to open raw sockets there.
    pub fn open() -> io::Result<Self> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: plain system call; the descriptor is checked and has no other owner.
        let socket = unsafe {
            OwnedFd::from_raw_fd(check(libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                i32::from(protocol),
            ))?)
        };
        let wire = Self { socket };
        wire.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        wire.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        // Room for everything that one packet can cause, and more; without the right to exceed the
        // system's limit, use that limit.
        if wire.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20).is_err() {
            wire.set(libc::SOL_SOCKET, libc::SO_RCVBUF, 4 << 20)?;
        }
        Ok(wire)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the option's value is an int that outlives the call.
        check(unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// `EINVAL` for less than an Ethernet header, `EMSGSIZE` for more than the interface takes.
    pub fn send(&self, interface: u32, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: all zeros is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface as i32;
        address.sll_halen = 6;
        loop {
            // SAFETY: buffer and address outlive the call and have the lengths given.
            let sent = unsafe {
                libc::sendto(
                    self.socket.as_raw_fd(),
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    0,
                    (&raw const address).cast(),
                    size_of::<libc::sockaddr_ll>() as libc::socklen_t,
                )
            };
            if sent >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The interface's queue is full and will drain.
                Some(libc::ENOBUFS | libc::EAGAIN) => std::thread::yield_now(),
                _ => return Err(error),
            }
        }
    }

    /// Returns the next frame that arrives, or `None` if none does before the deadline.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn receive(&self, deadline: Instant) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.receive_now()? {
                return Ok(Some(frame));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut poll =
                libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let millis = left.max(Duration::from_millis(1)).as_millis().min(1000) as libc::c_int;
            // SAFETY: one descriptor, as counted.
            let ready = unsafe { libc::poll(&raw mut poll, 1, millis) };
            if ready < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return Err(io::Error::last_os_error());
            }
        }
    }

    fn receive_now(&self) -> io::Result<Option<Frame>> {
        let mut bytes = vec![0u8; 1 << 16];
        let mut control = [0u64; 16];
        // SAFETY: all zeros is valid for both; the pointers set below outlive the call.
        let (mut address, mut message): (libc::sockaddr_ll, libc::msghdr) =
            unsafe { (zeroed(), zeroed()) };
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        // SAFETY: the message describes live buffers with their lengths.
        let length =
            unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        if length < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(None),
                _ => Err(error),
            };
        }
        bytes.truncate(length as usize);
        if let Some((protocol, control)) = taken_tag(&message) {
            let tag = [protocol.to_be_bytes(), control.to_be_bytes()].concat();
            bytes.splice(12..12, tag);
        }
        Ok(Some(Frame { interface: address.sll_ifindex as u32, bytes }))
    }
}

/// Returns protocol identifier and control information of the VLAN tag that the kernel removed from
/// a received frame.
fn taken_tag(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: the kernel filled in the control messages; the macros walk them within
    // `msg_controllen`, and a message of this type carries a `tpacket_auxdata`.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            if found.cmsg_level == libc::SOL_PACKET && found.cmsg_type == libc::PACKET_AUXDATA {
                let data = libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned();
                if data.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
                    return None;
                }
                let known = data.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                return Some((if known { data.tp_vlan_tpid } else { 0x8100 }, data.tp_vlan_tci));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}
