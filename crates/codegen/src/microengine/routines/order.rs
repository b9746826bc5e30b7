//! The order of packets at an offload whose calls must come in it.
//!
//! An offload has a word of the scratchpad: the number of the packet whose turn it is. A thread waits
//! for its turn before its first call. It gives the turn to the next packet when no step that it can
//! still reach calls the offload. So calls of different packets never overlap, and need no locks.

use super::super::code::{Code, Operand, Register, Target};
use super::super::frame::State;

/// Waits for the turn at an offload.
pub struct Turn {
    /// The word of the scratchpad.
    pub gate: Register,
}

impl Turn {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        Self { gate: code.shared("turn_gate", true) }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let number = state.load(code, Operand::Number(0), 1)[0];
        let next = code.label();
        code.place(next);
        code.command("scratch[read", "$0", self.gate.into(), Operand::Number(0), 1);
        code.alu(Target::None, number.into(), "-", Operand::Transfer(0));
        code.branch("br!=0", next);
    }
}

/// Waits for the turn, and gives it to the next packet.
pub struct Pass {
    /// The word of the scratchpad.
    pub gate: Register,
}

impl Pass {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        Self { gate: code.shared("turn_gate", true) }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        Turn { gate: self.gate }.write(code, state);
        // No other thread writes the word meanwhile.
        let number = code.register();
        code.set(number, Operand::Transfer(0));
        code.alu(Target::Transfer(0), number.into(), "+", Operand::Number(1));
        code.command("scratch[write", "$0", self.gate.into(), Operand::Number(0), 1);
    }
}
