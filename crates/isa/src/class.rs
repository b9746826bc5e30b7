//! Kinds of instructions, by what a processor spends its cycles on.

/// What an instruction is to a model of a pipeline. A jump that an instruction of another class makes (ARM's `mov pc, lr`)
/// is known when it is executed: see [`crate::Flow::Taken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Arithmetic, logic, shifts, moves.
    Alu,
    /// ARM: an operand shifted by a register, which takes a cycle more on the processors of its time.
    AluShiftedByRegister,
    /// A product of 32 bits, perhaps with an addition.
    Multiply,
    /// A product of 64 bits, or its upper half.
    MultiplyLong,
    /// Division and remainder.
    Divide,
    Load,
    Store,
    /// ARM: LDM of so many words, 1 to 16.
    LoadMultiple(u8),
    /// ARM: STM of so many words, 1 to 16.
    StoreMultiple(u8),
    /// ARM: SWP and SWPB.
    Swap,
    /// Jumps that leave no return address, taken or not.
    Branch,
    /// Jumps that leave one.
    Call,
    /// A request to the run-time or a breakpoint: SWI, ECALL, EBREAK.
    Service,
    /// Status registers and fences.
    System,
    /// What raises an exception whenever it is executed.
    Undefined,
}
