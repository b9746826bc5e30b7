//! ICMP echo requests and their replies.

use std::io;
use std::mem::zeroed;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// An ICMP or ICMPv6 message: its source, type and code.
pub type Answer = (IpAddr, u8, u8);

/// The types of an echo reply in ICMP and ICMPv6.
pub const REPLY4: u8 = 0;
pub const REPLY6: u8 = 129;

/// A raw socket for ICMP or ICMPv6.
pub struct Echo {
    socket: OwnedFd,
    to: IpAddr,
    sequence: u16,
}

impl Echo {
    /// Opens a socket for requests to an address, with this TTL or hop limit.
    pub fn open(to: IpAddr, ttl: i32) -> Self {
        let (family, protocol, level, option) = match to {
            IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP, libc::IPPROTO_IP, libc::IP_TTL),
            IpAddr::V6(_) => {
                let (level, option) = (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS);
                (libc::AF_INET6, libc::IPPROTO_ICMPV6, level, option)
            }
        };
        // SAFETY: plain system calls; the descriptor is checked and has no other owner, and the
        // option's value outlives the call.
        let socket = unsafe {
            let socket = libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol);
            assert!(socket >= 0, "{}", io::Error::last_os_error());
            let length = size_of::<i32>() as libc::socklen_t;
            let set = libc::setsockopt(socket, level, option, (&raw const ttl).cast(), length);
            assert_eq!(set, 0, "{}", io::Error::last_os_error());
            OwnedFd::from_raw_fd(socket)
        };
        Self { socket, to, sequence: 0 }
    }

    /// Sends a request. Returns whether the kernel had a route for it.
    pub fn send(&mut self) -> bool {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = [0u8; 64];
        message[0] = if self.to.is_ipv4() { 8 } else { 128 };
        message[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        if self.to.is_ipv4() {
            let sum = wireloom_net::wire::checksum::checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        // SAFETY: the message and the address outlive the call and have the lengths given.
        unsafe {
            let mut storage: libc::sockaddr_storage = zeroed();
            let length = match self.to {
                IpAddr::V4(to) => {
                    let address = (&raw mut storage).cast::<libc::sockaddr_in>();
                    (*address).sin_family = libc::AF_INET as u16;
                    (*address).sin_addr.s_addr = to.to_bits().to_be();
                    size_of::<libc::sockaddr_in>()
                }
                IpAddr::V6(to) => {
                    let address = (&raw mut storage).cast::<libc::sockaddr_in6>();
                    (*address).sin6_family = libc::AF_INET6 as u16;
                    (*address).sin6_addr.s6_addr = to.octets();
                    size_of::<libc::sockaddr_in6>()
                }
            };
            libc::sendto(
                self.socket.as_raw_fd(),
                message.as_ptr().cast(),
                message.len(),
                0,
                (&raw const storage).cast(),
                length as libc::socklen_t,
            ) >= 0
        }
    }

    /// Returns the next reply or error that arrives within this time.
    pub fn receive(&self, patience: Duration) -> Option<Answer> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let fd = self.socket.as_raw_fd();
            let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut bytes = [0u8; 2048];
            // SAFETY: one descriptor, as counted; buffer and address outlive the call and have the
            // lengths given.
            let (length, source) = unsafe {
                if libc::poll(&raw mut polled, 1, left.as_millis() as i32) <= 0 {
                    return None;
                }
                let mut storage: libc::sockaddr_in6 = zeroed();
                let mut size = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
                let (buffer, capacity) = (bytes.as_mut_ptr().cast(), bytes.len());
                let address = (&raw mut storage).cast();
                let length = libc::recvfrom(fd, buffer, capacity, 0, address, &raw mut size);
                (usize::try_from(length).ok()?, storage.sin6_addr.s6_addr)
            };
            // A raw IPv4 socket returns the IP header too.
            let (source, icmp) = match self.to {
                IpAddr::V4(_) => {
                    let octets: [u8; 4] = bytes[12..16].try_into().ok()?;
                    (IpAddr::from(octets), &bytes[20..length])
                }
                IpAddr::V6(_) => (IpAddr::from(source), &bytes[..length]),
            };
            let is_wanted = match self.to {
                IpAddr::V4(_) => matches!(icmp[0], 0 | 3 | 11),
                IpAddr::V6(_) => matches!(icmp[0], 1..=3 | 129),
            };
            if is_wanted {
                return Some((source, icmp[0], icmp[1]));
            }
        }
    }
}
