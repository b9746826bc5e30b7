//! BPF programs at the ingress of interfaces (TCX).
//!
//! The program of a port drops every frame except those with [`MARK`], which it lets pass without
//! the mark. The program of a twin sets the mark and moves the frame into the port's receive path.

use wireloom_machine::Result;

use crate::bpf::{Attached, Hook, Instruction, attach, op};

/// The mark of frames on their way from a twin to the kernel (`skb->mark`); packet sockets of ports
/// pass over them.
pub const MARK: u32 = 0x5769_7265;

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
    attach(&program, Hook::Ingress, name, interface)
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
    attach(&program, Hook::Ingress, name, twin)
}

/// Offset of `mark` in `struct __sk_buff`.
const MARK_OFFSET: i16 = 8;
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;
/// The helper `bpf_redirect(ifindex, flags)`.
const BPF_REDIRECT: i32 = 23;
const BPF_F_INGRESS: i32 = 1;
