//! Programs of a few instructions, written with the types of the instruction set.

use wireloom_isa::microengine::{
    AluOperation, Bank, Command, Completion, Condition, Destination, Index, Instruction, Operation,
    Order, Signal, Source, Unit, Wait,
};
use wireloom_ixp::{Program, Spec};

pub fn a(number: u8) -> Source {
    Source::Gpr(Bank::A, Index::Relative(number))
}

pub fn b(number: u8) -> Source {
    Source::Gpr(Bank::B, Index::Relative(number))
}

pub fn to_a(number: u8) -> Destination {
    Destination::Gpr(Bank::A, Index::Relative(number))
}

pub fn to_b(number: u8) -> Destination {
    Destination::Gpr(Bank::B, Index::Relative(number))
}

pub fn immed(destination: Destination, value: u32) -> Instruction {
    Instruction::Immediate { destination, value }
}

pub fn alu(destination: Destination, a: Source, operation: AluOperation, b: Source) -> Instruction {
    Instruction::Alu { destination, a, operation, b }
}

pub fn br(condition: Condition, target: u16, defer: u8) -> Instruction {
    Instruction::Branch { condition, target, defer }
}

pub const NOP: Instruction = Instruction::Nop;

pub fn kill() -> Instruction {
    Instruction::Arbitrate { wait: Wait::Kill, defer: 0 }
}

pub fn wait(signals: &[Signal], any: bool) -> Instruction {
    let mask = signals.iter().fold(0, |mask, signal| mask | signal.bit());
    Instruction::Arbitrate { wait: Wait::Signals { mask, any }, defer: 0 }
}

pub fn signal(unit: Unit) -> Signal {
    match unit {
        Unit::Sram => Signal::SRAM,
        Unit::Sdram => Signal::SDRAM,
        _ => Signal::FBI,
    }
}

/// A command on which its context waits.
pub fn command(unit: Unit, operation: Operation, address: Source, count: u8) -> Command {
    Command {
        unit,
        operation,
        transfer: Some(0),
        a: address,
        b: Source::Constant(0),
        count,
        indirect: false,
        order: Order::Default,
        completion: Completion::Swap(signal(unit)),
        defer: 0,
    }
}

pub fn program(code: Vec<Instruction>) -> Program {
    Program::of(code, 2048).expect("it fits")
}

/// The machine of `machines/ixp1200.toml` with changes.
pub fn spec(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = Spec::base();
    // The test uses the first words only.
    spec.sram.bytes = 1 << 16;
    spec.sdram.bytes = 1 << 20;
    change(&mut spec);
    spec
}
