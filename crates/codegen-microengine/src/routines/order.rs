//! Routines for offloads whose calls come in the order of packets.
//!
//! For each such offload the scratchpad has an order gate: a word for every packet in flight.
//! Before its first call a thread waits for its turn, which comes as a signal (thread.uc:
//! `wait_at_gate`). It passes the turn to the next packet when no step that it can still reach
//! calls the offload. So calls by different packets never overlap, and need no locks.

use super::super::code::Code;
use super::super::operand::Register;
use super::super::routine::Routine;

/// Waits for the turn at an offload.
pub struct Turn {
    /// The first word of the gate in the scratchpad.
    pub gate: Register,
}

impl Turn {
    pub const ROUTINE: Routine = Routine::new(40, "Turn", |code, _| Self::of(code).write(code));

    pub fn of(code: &mut Code) -> Self {
        Self { gate: code.shared("turn_gate", true) }
    }

    fn write(&self, code: &mut Code) {
        let number = number(code);
        code.expand("wait_at_gate", &[self.gate, number]);
    }
}

/// Waits for the turn, and passes it to the next packet.
pub struct Pass {
    /// The first word of the gate in the scratchpad.
    pub gate: Register,
}

impl Pass {
    pub const ROUTINE: Routine = Routine::new(41, "Pass", |code, _| Self::of(code).write(code));

    pub fn of(code: &mut Code) -> Self {
        Self { gate: code.shared("turn_gate", true) }
    }

    fn write(&self, code: &mut Code) {
        let number = number(code);
        code.expand("wait_at_gate", &[self.gate, number]);
        code.expand("pass_gate", &[self.gate, number]);
    }
}

/// Reads the number of the packet.
fn number(code: &mut Code) -> Register {
    let number = code.register();
    code.expand("number_of_packet", &[number]);
    number
}
