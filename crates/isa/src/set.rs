//! What every instruction set answers.

use std::fmt::Debug;

use crate::program::Machine;
use crate::{Bus, Cause, Class};

/// An instruction set: the meaning of instructions, not their time.
pub trait InstructionSet: Copy + Debug + Default + Send + Sync + 'static {
    /// What a hardware thread has of its own: registers, program counter, flags.
    type Thread: Thread;

    /// A decoded instruction. It knows the address that it was decoded for.
    type Instruction: Copy + Debug + Send + Sync + 'static;

    /// What programs for it are compiled for.
    const MACHINE: Machine;

    /// As in messages: `ARMv4`.
    const NAME: &'static str;

    /// The register that calling conventions use as stack pointer.
    const STACK_POINTER: usize;

    /// The register that a call leaves its return address in.
    const RETURN_ADDRESS: usize;

    /// The registers of the first four arguments and, the first of them, of a result.
    const ARGUMENTS: [usize; 4];

    /// Decodes the word at an address. Whatever is no instruction, and whatever the architecture calls unpredictable,
    /// becomes an instruction that raises [`Cause::Undefined`] when it is executed.
    fn decode(word: u32, address: u32) -> Self::Instruction;

    /// The function that executes an instruction: one for each kind, so that nothing is left to be looked up in what it is called with. It is called
    /// with the thread's instruction, which was decoded for its program counter.
    fn meaning<B: Bus>(instruction: &Self::Instruction) -> Meaning<Self, B>;

    /// Executes an instruction that was decoded for the thread's program counter.
    ///
    /// # Errors
    /// See [`Stop`]: the thread is then as it was before.
    #[inline]
    fn execute<B: Bus>(
        thread: &mut Self::Thread,
        instruction: &Self::Instruction,
        bus: &mut B,
    ) -> Result<Flow, Stop> {
        Self::meaning::<B>(instruction)(thread, instruction, bus)
    }

    /// The number of the service that an instruction has asked for (see [`Flow::Service`]): the 24 bits of ARM's SWI, register `a7` of RISC-V.
    fn service(thread: &Self::Thread, instruction: &Self::Instruction) -> u32;

    /// What a pipeline spends its cycles on.
    fn class(instruction: &Self::Instruction) -> Class;

    /// The word that it was decoded from.
    fn word(instruction: &Self::Instruction) -> u32;

    /// The word at an address as assembly, as GNU's tools write it; `undefined` if it is no instruction.
    fn disassemble(word: u32, address: u32) -> String;
}

/// What instructions of a kind do, on a thread and through a bus. For errors see [`Stop`]: the thread is then as it was before.
pub type Meaning<S, B> =
    fn(&mut <S as InstructionSet>::Thread, &<S as InstructionSet>::Instruction, &mut B) -> Result<Flow, Stop>;

/// The state of one hardware thread.
pub trait Thread: Clone + Debug + PartialEq + Eq + Send {
    /// All registers 0, about to execute the instruction at this address.
    fn new(pc: u32) -> Self;

    /// The address of the next instruction to be executed.
    fn pc(&self) -> u32;

    /// Goes on at another address.
    fn set_pc(&mut self, pc: u32);

    /// A register.
    ///
    /// # Panics
    /// If there is no register of that number (ARM: 0 to 14; RISC-V: 0 to 31).
    fn register(&self, number: usize) -> u32;

    /// Sets a register; what is written to RISC-V's `x0` is lost.
    ///
    /// # Panics
    /// As [`Thread::register`].
    fn set_register(&mut self, number: usize, value: u32);
}

/// Where a thread goes behind an instruction; its program counter is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, and this one did nothing: its condition did not hold (ARM).
    Skipped,
    /// Somewhere else: a jump, a call, a return, a taken branch.
    Taken,
    /// To the next instruction, when the run-time has done what ARM's SWI or RISC-V's ECALL asks for: see [`InstructionSet::service`].
    Service,
    /// To the next instruction, when whoever debugs has seen it (EBREAK).
    Breakpoint,
}

/// Why an instruction was not executed. Its thread has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A reply of the bus is to come: execute the same instruction again when it is there.
    Wait,
    /// The program has gone wrong.
    Raise(Cause),
}

// The answer of an instruction fits into a register of the host.
const _: () = assert!(size_of::<Result<Flow, Stop>>() <= 8);

impl From<Cause> for Stop {
    fn from(cause: Cause) -> Self {
        Stop::Raise(cause)
    }
}
