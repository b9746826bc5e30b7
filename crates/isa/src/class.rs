//! Classes of instructions, by their use of a processor's cycles.

/// The class of an instruction for a pipeline model. A jump by an instruction of another class
/// (ARM's `mov pc, lr`) is known only after execution: see [`crate::Flow::Taken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Arithmetic, logic, shifts, moves.
    Alu,
    /// ARM: an operand shifted by a register, which takes one more cycle on the processors of its
    /// time.
    AluShiftedByRegister,
    /// A product of 32 bits, with or without an addition.
    Multiply,
    /// A product of 64 bits, or its upper half.
    MultiplyLong,
    /// Division and remainder.
    Divide,
    Load,
    Store,
    /// ARM: LDM of 1 to 16 words.
    LoadMultiple(u8),
    /// ARM: STM of 1 to 16 words.
    StoreMultiple(u8),
    /// ARM: SWP and SWPB.
    Swap,
    /// Jumps that leave no return address, taken or not.
    Branch,
    /// Jumps that leave a return address.
    Call,
    /// A request to the run-time or a breakpoint: SWI, ECALL, EBREAK.
    Service,
    /// Status registers and fences.
    System,
    /// An instruction that always raises an exception.
    Undefined,
}
