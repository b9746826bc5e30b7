//! The twin of a port: a TAP device through which the kernel gets the port's packets.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use wireloom_machine::{Error, Result};

use crate::bpf::Attached;
use crate::ingress;
use crate::system::{check, exists, failed, interface_index, owned};

/// Delivers frames from the machine, on any core, into the receive path of a port.
pub struct Twin {
    device: Arc<Device>,
    program: Attached,
}

/// The TAP device of a port. It is removed with this value. Its name contains the port's index, so
/// a port can have only one: two forwarders would both forward every packet.
pub struct Device {
    tap: File,
    name: String,
    index: u32,
}

impl Device {
    /// Creates the device of a port with this interface index. The device is down.
    ///
    /// # Errors
    /// If the process lacks the rights, the kernel has no TAP devices, or another process has the
    /// port.
    pub fn of_port(port: &str, interface: u32) -> Result<Self> {
        let name = format!("loom{interface}");
        let tap = open_device(&name, 0).map_err(|problem| match problem {
            Problem::Refused(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                let what = format!("port {port}: another process forwards on it");
                Error::new(what).with_help(format!("it has the device {name}; stop it first"))
            }
            problem => problem.of(&name),
        });
        let (tap, name) = tap?;
        // The device has no addresses of its own. Packets that the kernel sends there regardless
        // are lost, so a read-only /proc does no harm.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        let index = interface_index(&name)?;
        Ok(Self { tap, name, index })
    }

    /// Fails if the device no longer exists: packets from the port would not reach the kernel.
    ///
    /// # Errors
    /// If it was removed.
    pub fn unless_removed(&self, port: &str) -> Result {
        match exists(self.index) {
            true => Ok(()),
            false => Err(Error::new(format!("port {port}: its device {} was removed", self.name))),
        }
    }
}

impl Twin {
    /// Makes the device the twin of a port with this interface index.
    ///
    /// # Errors
    /// If the process lacks the rights.
    pub fn new(device: Arc<Device>, interface: u32) -> Result<Self> {
        let program = ingress::mark_and_move(&device.name, device.index, interface)?;
        set_up(&device.name)?;
        Ok(Self { device, program })
    }

    /// Returns the descriptors of the device and of its program.
    pub fn descriptors(&self) -> [RawFd; 2] {
        [self.device.tap.as_raw_fd(), self.program.as_raw_fd()]
    }

    /// Hands a frame to the kernel as if the port had received it.
    ///
    /// # Errors
    /// If the kernel does not accept it.
    pub fn deliver(&self, frame: [&[u8]; 2]) -> io::Result<()> {
        (&self.device.tap).write_vectored(&frame.map(IoSlice::new)).map(|_| ())
    }
}

/// Creates a TAP device, which is down, and returns it with its name. `flags` are flags of open(2).
///
/// # Errors
/// If the process lacks the rights, or the kernel has no TAP devices.
pub fn create_device(name: &str, flags: libc::c_int) -> Result<(File, String)> {
    open_device(name, flags).map_err(|problem| problem.of(name))
}

/// Why a device could not be created.
enum Problem {
    /// The kernel has no TAP devices, or grants none to this process.
    None(Error),
    /// The kernel refuses this device.
    Refused(io::Error),
}

impl Problem {
    fn of(self, name: &str) -> Error {
        match self {
            Self::None(error) => error,
            Self::Refused(error) => failed(&format!("the TAP device {name}"), &error),
        }
    }
}

fn open_device(name: &str, flags: libc::c_int) -> Result<(File, String), Problem> {
    let mut options = OpenOptions::new();
    let tap = options.read(true).write(true).custom_flags(flags).open("/dev/net/tun");
    let tap = tap.map_err(|error| {
        Problem::None(match error.kind() {
            io::ErrorKind::NotFound => Error::new("/dev/net/tun: there is no such device")
                .with_help("the kernel needs TUN/TAP; in a container, pass in the device"),
            io::ErrorKind::PermissionDenied => Error::new(format!("/dev/net/tun: {error}"))
                .with_help(
                    "let this user open the device: `chmod 0666 /dev/net/tun`, as udev does",
                ),
            _ => failed("/dev/net/tun", &error),
        })
    })?;
    let mut request = empty_request();
    copy_name(&mut request, name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is a valid `ifreq` that outlives the call.
    check(unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })
        .map_err(Problem::Refused)?;
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
/// If the process lacks the rights.
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
