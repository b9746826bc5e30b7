//! Small BPF programs at interfaces. The kernel detaches a program, or frees a map, when the last
//! descriptor of it is closed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use wireloom_machine::Result;
use wireloom_xdp::kernel::{self, MapType, Shape};
pub use wireloom_xdp::kernel::{Hook, Instruction};

use crate::system::{failed, owned, set};

/// A program that stays attached to an interface as long as this value exists.
pub struct Attached {
    link: OwnedFd,
}

impl Attached {
    /// Gives the link a high number: the kernel closes descriptors of a thread that ends, or of a
    /// killed process, from the highest number down.
    pub fn closed_first(self) -> Self {
        const HIGH: libc::c_int = 512;
        // SAFETY: a plain system call on a descriptor that is open.
        let high = unsafe { libc::fcntl(self.link.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) };
        // If the descriptor limit is below `HIGH`, the link keeps its number.
        owned(high).map_or(self, |link| Self { link })
    }
}

#[cfg(test)]
impl From<OwnedFd> for Attached {
    fn from(link: OwnedFd) -> Self {
        Self { link }
    }
}

impl AsRawFd for Attached {
    fn as_raw_fd(&self) -> RawFd {
        self.link.as_raw_fd()
    }
}

/// BPF opcodes (linux/bpf_common.h, linux/bpf.h).
pub mod op {
    /// `dst = map`. Takes two instructions; the value is the map's descriptor.
    pub const LOAD_MAP: u8 = 0x18;
    /// `dst = *(u32 *)(src + offset)`.
    pub const LOAD: u8 = 0x61;
    /// `*(u32 *)(dst + offset) = src`.
    pub const STORE: u8 = 0x63;
    /// `dst = value`, 32 bits.
    pub const SET: u8 = 0xb4;
    /// `if (dst != value) goto offset`, 32 bits.
    pub const JUMP_IF_NOT: u8 = 0x56;
    /// Calls the helper function with number `value`.
    pub const CALL: u8 = 0x85;
    /// Ends the program. Register 0 holds the result.
    pub const EXIT: u8 = 0x95;
}

/// An XSK map: from the queues of an interface to AF_XDP sockets.
pub struct Sockets(OwnedFd);

impl Sockets {
    /// Creates an empty map for queues 0 to `queues - 1`.
    ///
    /// # Errors
    /// If the process lacks the rights.
    pub fn new(queues: u32) -> io::Result<Self> {
        let shape =
            Shape { map_type: MapType::Sockets, key: 4, value: 4, entries: queues, flags: 0 };
        kernel::create_map("wl_sockets", shape, None, None).map(Self)
    }

    /// Enters the socket of a queue into the map.
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

/// A number in an array map that programs read. It is 0 until it is turned on.
pub struct Switch(OwnedFd);

impl Switch {
    /// Creates a switch that is off.
    ///
    /// # Errors
    /// If the process lacks the rights.
    pub fn new() -> io::Result<Self> {
        let shape = Shape { map_type: MapType::Array, key: 4, value: 4, entries: 1, flags: 0 };
        kernel::create_map("wl_switch", shape, None, None).map(Self)
    }

    /// Turns the switch on: programs then read 1.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn turn_on(&self) -> io::Result<()> {
        kernel::set(&self.0, &0u32.to_ne_bytes(), &1u32.to_ne_bytes())
    }

    /// `if (switch is off) return otherwise`. Changes registers 0 and 2.
    pub fn return_if_off(&self, otherwise: i32) -> [Instruction; 6] {
        const VALUE_OF_DESCRIPTOR: u8 = 2;
        let descriptor = self.0.as_raw_fd();
        [
            Instruction::new(op::LOAD_MAP, 2, VALUE_OF_DESCRIPTOR, 0, descriptor),
            Instruction::new(0, 0, 0, 0, 0),
            Instruction::new(op::LOAD, 2, 2, 0, 0),
            Instruction::new(op::JUMP_IF_NOT, 2, 0, 2, 0),
            Instruction::new(op::SET, 0, 0, 0, otherwise),
            Instruction::new(op::EXIT, 0, 0, 0, 0),
        ]
    }
}

/// Attaches a filter to a socket. The socket accepts the packets for which the program returns a
/// value other than 0.
///
/// # Errors
/// If the process lacks the rights.
pub fn filter(socket: &OwnedFd, program: &[Instruction]) -> io::Result<()> {
    let program = kernel::load_filter(program)?;
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program.as_raw_fd())
}

/// Attaches a program to an interface.
///
/// # Errors
/// If the process lacks the rights, or if the kernel or the driver lacks the hook.
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
                // Drivers return these errors if they cannot give a program a frame of this size
                // (veth: over 3,498).
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
