//! BPF programs of a few instructions at interfaces. The kernel detaches a program and frees a map
//! together with the descriptors that hold them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use wireloom_machine::Result;
use wireloom_xdp::kernel::{self, MapType, Shape};
pub use wireloom_xdp::kernel::{Hook, Instruction};

use crate::system::{failed, owned};

/// A program that is attached to an interface as long as this value exists.
pub struct Attached {
    link: OwnedFd,
}

impl Attached {
    /// Has the kernel detach the program of a killed process before anything else of it. It closes
    /// descriptors from the highest number down, and waits at each socket and device until no
    /// processor uses it; all that time the program would keep frames from it.
    pub fn detached_first(self) -> Self {
        const HIGH: libc::c_int = 512;
        // SAFETY: a plain system call on a descriptor that is open.
        let high = unsafe { libc::fcntl(self.link.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) };
        // Where the limit of descriptors is lower it stays as it is.
        owned(high).map_or(self, |link| Self { link })
    }
}

/// Operations of BPF (linux/bpf_common.h, linux/bpf.h).
pub mod op {
    /// `dst = map`, in two instructions; the value is the map's descriptor.
    pub const LOAD_MAP: u8 = 0x18;
    /// `dst = *(u32 *)(src + offset)`.
    pub const LOAD: u8 = 0x61;
    /// `*(u32 *)(dst + offset) = src`.
    pub const STORE: u8 = 0x63;
    /// `dst = value`, 32 bits.
    pub const SET: u8 = 0xb4;
    /// `if (dst != value) goto offset`, 32 bits.
    pub const JUMP_IF_NOT: u8 = 0x56;
    /// A call of the helper `value`.
    pub const CALL: u8 = 0x85;
    /// The end; the result is in register 0.
    pub const EXIT: u8 = 0x95;
}

/// A map from the queues of an interface to AF_XDP sockets.
pub struct Sockets(OwnedFd);

impl Sockets {
    /// An empty map for queues 0 to `queues - 1`.
    ///
    /// # Errors
    /// Without the rights.
    pub fn new(queues: u32) -> io::Result<Self> {
        let shape =
            Shape { map_type: MapType::Sockets, key: 4, value: 4, entries: queues, flags: 0 };
        kernel::create_map("wl_sockets", shape, None, None).map(Self)
    }

    /// Enters the socket of a queue.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn insert(&self, queue: u32, socket: &impl AsRawFd) -> io::Result<()> {
        kernel::set(&self.0, &queue.to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes())
    }

    /// `dst = map`.
    pub fn load(&self, dst: u8) -> [Instruction; 2] {
        const FROM_DESCRIPTOR: u8 = 1;
        let descriptor = self.0.as_raw_fd();
        [
            Instruction::new(op::LOAD_MAP, dst, FROM_DESCRIPTOR, 0, descriptor),
            Instruction::new(0, 0, 0, 0, 0),
        ]
    }
}

/// Attaches a program to an interface.
///
/// # Errors
/// Without the rights, or if kernel or driver do not have the hook.
pub fn attach(program: &[Instruction], hook: Hook, name: &str, interface: u32) -> Result<Attached> {
    let program = kernel::load_small(hook, program)
        .map_err(|error| failed(&format!("{name}: loading a BPF program"), &error))?;
    match kernel::attach(&program, hook, interface) {
        Ok(link) => Ok(Attached { link }),
        Err(error) => {
            let problem = failed(&format!("{name}: attaching a BPF program"), &error);
            Err(match error.raw_os_error() {
                Some(libc::EINVAL) if hook == Hook::Ingress => {
                    problem.with_help("this needs Linux 6.6 or later, with TCX")
                }
                // What drivers say that cannot give a program a frame of this size (veth: over 3,498).
                Some(libc::ERANGE | libc::EMSGSIZE) => problem.with_help(
                    "its MTU is too large for AF_XDP: lower it, or take another value of --io",
                ),
                Some(libc::EOPNOTSUPP) if hook == Hook::Driver => {
                    problem.with_help("its driver has no XDP hook: take another value of --io")
                }
                Some(libc::EBUSY) => {
                    problem.with_help("another program is there; --io packet needs no XDP hook")
                }
                _ => problem,
            })
        }
    }
}
