//! System calls and their errors.

use std::ffi::{CStr, CString, c_char};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use wireloom_machine::{Error, Result};

const HELP: &str = "live forwarding needs CAP_NET_RAW (packet sockets), CAP_NET_ADMIN (TAP devices) \
                    and CAP_BPF (filters at the ports), all outside user namespaces: run it as root, \
                    or give these to a copy of the command with `setcap \
                    cap_net_raw,cap_net_admin,cap_bpf+ep`";

/// Converts the result of a system call.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Returns the time of the kernel's monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call, which only writes it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Takes ownership of a new descriptor that a system call returned.
pub fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the caller has just got the descriptor from the kernel.
    check(result).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Builds the error of an operation, with advice if a right is missing.
pub fn failed(what: &str, error: &io::Error) -> Error {
    let message = Error::new(format!("{what}: {error}"));
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => message.with_help(HELP),
        _ => message,
    }
}

/// Returns the index of an Ethernet interface of this network namespace.
///
/// # Errors
/// If there is no Ethernet interface of that name.
pub fn interface_index(name: &str) -> Result<u32> {
    let missing = || {
        Error::new(format!("port {name}: there is no such interface"))
            .with_help("`ip link` lists the interfaces of this network namespace")
    };
    let terminated = CString::new(name).map_err(|_| missing())?;
    // SAFETY: the string is terminated and outlives the call.
    let index = unsafe { libc::if_nametoindex(terminated.as_ptr()) };
    if index == 0 {
        return Err(missing());
    }
    let link_type = link_type(index).map_err(|error| failed(&format!("port {name}"), &error))?;
    match link_type {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok(index),
        _ => Err(Error::new(format!("port {name}: it is no Ethernet interface"))
            .with_help("frames of other links, such as tunnels, have no Ethernet header")),
    }
}

/// Returns the present name of an interface.
pub fn interface_name(index: u32) -> Option<String> {
    let mut name: [c_char; libc::IF_NAMESIZE] = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the size that the function requires, which ends it with a zero.
    unsafe {
        let name = libc::if_indextoname(index, name.as_mut_ptr());
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// Returns a numeric setting below `/proc/sys/net`. Returns `None` if the setting does not exist.
pub fn setting(path: &str) -> Option<u32> {
    fs::read_to_string(format!("/proc/sys/net/{path}")).ok()?.trim().parse().ok()
}

/// Returns the link type of an interface (`ARPHRD_...` of linux/if_arp.h).
fn link_type(index: u32) -> io::Result<u16> {
    // SAFETY: plain system calls; all zeros is a valid `ifreq`, which outlives them.
    unsafe {
        let socket = owned(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_ifru.ifru_ifindex = index as libc::c_int;
        // The given name may be an alternative one, which only some requests accept.
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFNAME, &raw mut request))?;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request))?;
        Ok(request.ifr_ifru.ifru_hwaddr.sa_family)
    }
}

/// Waits until one of these descriptors is readable or closed at its other end, at most for
/// `patience`.
pub fn wait_for(descriptors: &[RawFd], patience: Duration) -> io::Result<()> {
    let polled = |fd: &RawFd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<_> = descriptors.iter().map(polled).collect();
    let milliseconds = i32::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    // SAFETY: the descriptors are as many as counted.
    match check(unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, milliseconds) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Returns whether an interface exists.
pub fn exists(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the size that the function requires.
    !unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null()
}

/// Sets an option of a socket.
pub fn set<T>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the value outlives the call and has the size given.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(|_| ())
}
