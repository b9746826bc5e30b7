//! BPF programs at the ingress of interfaces (TCX).
//!
//! The port's program drops every frame except those with [`MARK`], which it lets pass without the
//! mark. The twin's program sets the mark and moves the frame into the port's receive path. The
//! sockets of a port accept exactly the frames that its program drops: both read the same switch.
//! So each frame goes either to the kernel or to the machine, also while forwarding begins.

use wireloom_machine::Result;

use crate::bpf::{Attached, Hook, Instruction, Switch, attach, op};

/// The mark (`skb->mark`) of frames on their way from a twin to the kernel. Packet sockets of ports
/// ignore marked frames.
pub const MARK: u32 = 0x5769_7265;

/// Attaches the program of a port. All frames pass until the switch is on.
///
/// # Errors
/// If the process lacks the rights, or the kernel lacks TCX.
pub fn drop_all_but_marked(name: &str, interface: u32, switch: &Switch) -> Result<Attached> {
    let when_on = [
        Instruction::new(op::LOAD, 0, 1, MARK_OFFSET, 0),
        Instruction::new(op::JUMP_IF_NOT, 0, 0, 4, MARK as i32),
        Instruction::new(op::SET, 2, 0, 0, 0),
        Instruction::new(op::STORE, 1, 2, MARK_OFFSET, 0),
        Instruction::new(op::SET, 0, 0, 0, TCX_NEXT),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
        Instruction::new(op::SET, 0, 0, 0, TCX_DROP),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
    ];
    let program = [&switch.return_if_off(TCX_NEXT)[..], &when_on].concat();
    attach(&program, Hook::Ingress, name, interface)
}

/// Returns the filter of a port's socket. It accepts no packet until the switch is on. Then it
/// accepts all bytes of each packet that did not come from a twin.
pub fn accept_all_but_marked(switch: &Switch) -> Vec<Instruction> {
    const NOTHING: i32 = 0;
    const ALL: i32 = -1;
    let when_on = [
        Instruction::new(op::LOAD, 2, 1, MARK_OFFSET, 0),
        Instruction::new(op::SET, 0, 0, 0, ALL),
        Instruction::new(op::JUMP_IF_NOT, 2, 0, 1, MARK as i32),
        Instruction::new(op::SET, 0, 0, 0, NOTHING),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
    ];
    [&switch.return_if_off(NOTHING)[..], &when_on].concat()
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
