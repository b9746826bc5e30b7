//! BPF programs at the ingress of interfaces (TCX, Linux 6.6 or later).
//!
//! The program of a port drops every frame except those with [`MARK`], which it lets pass without
//! the mark. The program of a twin sets the mark and moves the frame into the port's receive path.
//! Each is held by a BPF link: the kernel detaches it when the process ends.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use wireloom_machine::Result;

use crate::system::{failed, owned};

/// The mark of frames on their way from a twin to the kernel (`skb->mark`); packet sockets of ports
/// pass over them.
pub const MARK: u32 = 0x5769_7265;

/// A program that is attached to an interface as long as this value exists.
pub struct Attached {
    _link: OwnedFd,
}

/// Attaches the program of a port.
///
/// # Errors
/// Without the rights, or if the kernel does not know TCX.
pub fn drop_all_but_marked(name: &str, interface: u32) -> Result<Attached> {
    let program = [
        Instruction::new(op::LOAD, 0, 1, MARK_OFFSET, 0),
        Instruction::new(op::JUMP_IF_NOT, 0, 0, 4, MARK as i32),
        Instruction::new(op::SET, 2, 0, 0, 0),
        Instruction::new(op::STORE, 1, 2, MARK_OFFSET, 0),
        Instruction::new(op::SET, 0, 0, 0, TCX_NEXT),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
        Instruction::new(op::SET, 0, 0, 0, TCX_DROP),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
    ];
    attach(&program, name, interface)
}

/// Attaches the program of a twin.
///
/// # Errors
/// As [`drop_all_but_marked`].
pub fn mark_and_move(name: &str, twin: u32, port: u32) -> Result<Attached> {
    let program = [
        Instruction::new(op::SET, 2, 0, 0, MARK as i32),
        Instruction::new(op::STORE, 1, 2, MARK_OFFSET, 0),
        Instruction::new(op::SET, 1, 0, 0, port as i32),
        Instruction::new(op::SET, 2, 0, 0, BPF_F_INGRESS),
        Instruction::new(op::CALL, 0, 0, 0, BPF_REDIRECT),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
    ];
    attach(&program, name, twin)
}

/// Operations of BPF (linux/bpf_common.h, linux/bpf.h).
mod op {
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

/// Offset of `mark` in `struct __sk_buff`.
const MARK_OFFSET: i16 = 8;
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;
/// The helper `bpf_redirect(ifindex, flags)`.
const BPF_REDIRECT: i32 = 23;
const BPF_F_INGRESS: i32 = 1;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;

/// `struct bpf_insn`.
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

impl Instruction {
    fn new(code: u8, dst: u8, src: u8, offset: i16, value: i32) -> Self {
        Self { code, registers: src << 4 | dst, offset, value }
    }
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

fn attach(program: &[Instruction], name: &str, interface: u32) -> Result<Attached> {
    let load = Load {
        program_type: BPF_PROG_TYPE_SCHED_CLS,
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
        .map_err(|error| failed(&format!("{name}: loading a BPF program"), &error))?;
    let link = Link {
        program: loaded.as_raw_fd() as u32,
        interface,
        attach_type: BPF_TCX_INGRESS,
        flags: 0,
        relative: 0,
        revision: 0,
    };
    match bpf(BPF_LINK_CREATE, &link) {
        Ok(link) => Ok(Attached { _link: link }),
        Err(error) => {
            let problem = failed(&format!("{name}: attaching a BPF program"), &error);
            Err(match error.raw_os_error() {
                Some(libc::EINVAL) => problem.with_help("this needs Linux 6.6 or later, with TCX"),
                _ => problem,
            })
        }
    }
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attributes are those of the command, outlive the call and have the size given.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    owned(result as libc::c_int)
}
