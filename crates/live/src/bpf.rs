//! BPF programs (bpf(2)) of a few instructions. The kernel detaches a program and frees a map
//! together with the descriptors that hold them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use wireloom_machine::Result;

use crate::system::{check, failed, owned};

/// A program that is attached to an interface as long as this value exists.
pub struct Attached {
    _link: OwnedFd,
}

/// Where a program is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// The ingress of an interface, before the kernel's protocols (TCX, Linux 6.6 or later).
    Ingress,
    /// The driver of an interface, before the kernel makes a packet of a frame (XDP).
    Driver,
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

/// `struct bpf_insn`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

impl Instruction {
    /// An instruction of these fields; those that an operation does not use are zero.
    pub fn new(code: u8, dst: u8, src: u8, offset: i16, value: i32) -> Self {
        Self { code, registers: src << 4 | dst, offset, value }
    }

    /// `dst = map`.
    pub fn load_map(dst: u8, map: &Sockets) -> [Self; 2] {
        const FROM_DESCRIPTOR: u8 = 1;
        let descriptor = map.0.as_raw_fd();
        [Self::new(op::LOAD_MAP, dst, FROM_DESCRIPTOR, 0, descriptor), Self::new(0, 0, 0, 0, 0)]
    }
}

/// A map from the queues of an interface to AF_XDP sockets (`BPF_MAP_TYPE_XSKMAP`).
pub struct Sockets(OwnedFd);

impl Sockets {
    /// An empty map for queues 0 to `queues - 1`.
    ///
    /// # Errors
    /// Without the rights.
    pub fn new(queues: u32) -> io::Result<Self> {
        const MAP_TYPE_XSKMAP: u32 = 17;
        let size = [MAP_TYPE_XSKMAP, size_of::<u32>() as u32, size_of::<u32>() as u32, queues, 0];
        owned(bpf(BPF_MAP_CREATE, &size)?).map(Self)
    }

    /// Enters the socket of a queue.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn insert(&self, queue: u32, socket: &impl AsRawFd) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let element = Element {
            map: self.0.as_raw_fd() as u32,
            key: &raw const queue as u64,
            value: &raw const value as u64,
            flags: 0,
        };
        bpf(BPF_MAP_UPDATE_ELEM, &element).map(|_| ())
    }
}

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_TCX_INGRESS: u32 = 46;
/// Not through the slow path that has a packet made first.
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// The beginning of `union bpf_attr` for `BPF_MAP_UPDATE_ELEM`.
#[repr(C, align(8))]
struct Element {
    map: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// The beginning of `union bpf_attr` for `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    program_type: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// The beginning of `union bpf_attr` for `BPF_LINK_CREATE`.
#[repr(C)]
struct Link {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
    relative: u64,
    revision: u64,
}

/// Attaches a program to an interface.
///
/// # Errors
/// Without the rights, or if kernel or driver do not have the hook.
pub fn attach(program: &[Instruction], hook: Hook, name: &str, interface: u32) -> Result<Attached> {
    let (program_type, attach_type, flags) = match hook {
        Hook::Ingress => (BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_INGRESS, 0),
        Hook::Driver => (BPF_PROG_TYPE_XDP, BPF_XDP, XDP_FLAGS_DRV_MODE),
    };
    let load = Load {
        program_type,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        licence: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    let loaded = bpf(BPF_PROG_LOAD, &load)
        .and_then(owned)
        .map_err(|error| failed(&format!("{name}: loading a BPF program"), &error))?;
    let program = loaded.as_raw_fd() as u32;
    let link = Link { program, interface, attach_type, flags, relative: 0, revision: 0 };
    match bpf(BPF_LINK_CREATE, &link).and_then(owned) {
        Ok(link) => Ok(Attached { _link: link }),
        Err(error) => {
            let problem = failed(&format!("{name}: attaching a BPF program"), &error);
            Err(match error.raw_os_error() {
                Some(libc::EINVAL) if hook == Hook::Ingress => {
                    problem.with_help("this needs Linux 6.6 or later, with TCX")
                }
                _ => problem,
            })
        }
    }
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are those of the command, outlive the call and have the size given.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    check(result as libc::c_int)
}
