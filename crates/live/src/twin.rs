//! The twin of a port: a TAP device through which the kernel gets the port's packets.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use wireloom_machine::{Error, Result};

use crate::bpf::Attached;
use crate::ingress;
use crate::system::{check, failed, interface_index, owned};

/// The way from the machine, on any core, into the receive path of a port. The device disappears with it.
pub struct Twin {
    tap: File,
    _program: Attached,
}

impl Twin {
    /// Creates the twin of port `number`, an interface of this index.
    ///
    /// # Errors
    /// Without the rights, or if the kernel has no TAP devices.
    pub fn create(number: usize, port: u32) -> Result<Self> {
        // The kernel replaces %d by the first free number.
        let (tap, name) = create_device(&format!("loom{number}-%d"), 0)?;
        // The device has no addresses of its own. What the kernel sends there regardless is lost,
        // so a /proc that cannot be written does no harm.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        let program = ingress::mark_and_move(&name, interface_index(&name)?, port)?;
        set_up(&name)?;
        Ok(Self { tap, _program: program })
    }

    /// Hands a frame to the kernel, as if the port had received it.
    ///
    /// # Errors
    /// If the kernel does not accept it.
    pub fn deliver(&self, frame: &[u8]) -> io::Result<()> {
        (&self.tap).write(frame).map(|_| ())
    }
}

/// Creates a TAP device, which is down, and returns its name. `flags` are those of open(2).
///
/// # Errors
/// Without the rights, or if the kernel has no TAP devices.
pub fn create_device(pattern: &str, flags: libc::c_int) -> Result<(File, String)> {
    let mut options = OpenOptions::new();
    let tap = options.read(true).write(true).custom_flags(flags).open("/dev/net/tun");
    let tap = tap.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new("/dev/net/tun: there is no such device")
            .with_help("the kernel needs TUN/TAP; in a container, pass in the device"),
        _ => failed("/dev/net/tun", &error),
    })?;
    let mut request = empty_request();
    copy_name(&mut request, pattern);
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is a valid `ifreq` that outlives the call.
    check(unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })
        .map_err(|error| failed(&format!("the TAP device {pattern}"), &error))?;
    let bytes = request.ifr_name.iter().map(|&byte| byte as u8);
    let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    let name = String::from_utf8_lossy(&name).into_owned();
    Ok((tap, name))
}

fn empty_request() -> libc::ifreq {
    // SAFETY: all zeros is a valid `ifreq`.
    unsafe { std::mem::zeroed() }
}

fn copy_name(request: &mut libc::ifreq, name: &str) {
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
}

/// Sets an interface up.
///
/// # Errors
/// Without the rights.
pub fn set_up(name: &str) -> Result {
    let mut request = empty_request();
    copy_name(&mut request, name);
    // SAFETY: plain system calls; the request is valid and outlives them, and SIOCGIFFLAGS fills in
    // the flags.
    let done = unsafe {
        owned(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)).and_then(
            |socket| {
                check(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request))?;
                request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
                check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request))
            },
        )
    };
    done.map(|_| ()).map_err(|error| failed(name, &error))
}
