//! The interface of instruction sets.

use std::fmt::Debug;

use crate::program::Architecture;
use crate::{Bus, Cause, Class, Uses};

/// An instruction set: the meaning of instructions, not their timing.
///
/// It assumes nothing about the origin of programs, memory spaces, or a stack: see [`Compiled`] for
/// the sets that a C compiler targets.
pub trait InstructionSet: Copy + Debug + Default + Send + Sync + 'static {
    /// The state of a hardware thread: registers, program counter, flags.
    type Thread: Thread;

    /// A decoded instruction. It knows the address for which it was decoded.
    type Instruction: Copy + Debug + Send + Sync + 'static;

    /// The name of the set in messages: `ARMv4`.
    const NAME: &'static str;

    /// The distance of the program counter from an instruction to the next: 4 where it counts
    /// bytes, 1 where it counts instructions. It is a power of two.
    const PC_STEP: u32 = 4;

    /// Decodes the word at an address. A word that is no instruction, or that the architecture
    /// calls unpredictable, becomes an instruction that raises [`Cause::Undefined`] when it is
    /// executed.
    fn decode(word: u32, address: u32) -> Self::Instruction;

    /// Returns the function that executes an instruction. Each kind has its own, so that it looks
    /// nothing up. Call it with the thread's instruction, which was decoded for its program
    /// counter.
    fn meaning<B: Bus>(instruction: &Self::Instruction) -> Meaning<Self, B>;

    /// Executes an instruction that was decoded for the thread's program counter.
    ///
    /// # Errors
    /// See [`Stop`]. The thread is then unchanged.
    #[inline]
    fn execute<B: Bus>(
        thread: &mut Self::Thread,
        instruction: &Self::Instruction,
        bus: &mut B,
    ) -> Result<Flow, Stop> {
        Self::meaning::<B>(instruction)(thread, instruction, bus)
    }

    /// Returns the number of the service that an instruction has requested (see [`Flow::Service`]):
    /// the 24 bits of ARM's SWI, register `a7` of RISC-V.
    fn service(thread: &Self::Thread, instruction: &Self::Instruction) -> u32;

    /// Returns the class of an instruction, which decides its cycles in a pipeline.
    fn class(instruction: &Self::Instruction) -> Class;

    /// Whether an instruction may change a register of the thread. If in doubt this is `true`.
    fn may_change(instruction: &Self::Instruction, register: usize) -> bool;

    /// Returns the word from which an instruction was decoded.
    fn word(instruction: &Self::Instruction) -> u32;

    /// Returns the word at an address as text for the set's assembler; `undefined` if it is no
    /// instruction.
    fn disassemble(word: u32, address: u32) -> String;
}

/// An instruction set for which compilers make programs as ELF files, with their conventions.
pub trait Compiled: InstructionSet {
    /// The machine that the programs name.
    const MACHINE: Architecture;

    /// The register that calling conventions use as stack pointer.
    const STACK_POINTER: usize;

    /// The register in which a call leaves its return address.
    const RETURN_ADDRESS: usize;

    /// The registers of the first four arguments. The first one also holds a result.
    const ARGUMENTS: [usize; 4];

    /// Returns the parts of the processor that an instruction uses.
    fn uses(instruction: &Self::Instruction) -> Uses;
}

/// The semantics of a kind of instructions, on a thread and through a bus. For errors see [`Stop`]:
/// the thread is then unchanged.
pub type Meaning<S, B> = fn(
    &mut <S as InstructionSet>::Thread,
    &<S as InstructionSet>::Instruction,
    &mut B,
) -> Result<Flow, Stop>;

/// The state of one hardware thread.
pub trait Thread: Clone + Debug + PartialEq + Eq + Send {
    /// Creates a thread with all registers 0. It executes the instruction at this address next.
    fn new(pc: u32) -> Self;

    /// Returns the address of the next instruction.
    fn pc(&self) -> u32;

    /// Continues at another address.
    fn set_pc(&mut self, pc: u32);

    /// Returns the value of a register.
    ///
    /// # Panics
    /// If the register does not exist (ARM: 0 to 14; RISC-V: 0 to 31).
    fn register(&self, number: usize) -> u32;

    /// Sets a register. Writes to RISC-V's `x0` are ignored.
    ///
    /// # Panics
    /// As [`Thread::register`].
    fn set_register(&mut self, number: usize, value: u32);
}

/// The next instruction of a thread. The program counter already points to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction in memory.
    Next,
    /// The next instruction in memory. This instruction did nothing: its condition did not hold
    /// (ARM).
    Skipped,
    /// Another instruction: this is a jump, a call, a return or a taken branch.
    Taken,
    /// The next instruction in memory, after the run-time has served ARM's SWI or RISC-V's ECALL:
    /// see [`InstructionSet::service`].
    Service,
    /// The next instruction in memory, once the debugger has handled the breakpoint (EBREAK).
    Breakpoint,
}

/// Why an instruction was not executed. Its thread is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A reply of the bus has not arrived, or an operand is not ready. Execute the same instruction
    /// again later.
    Wait,
    /// The program has caused an exception.
    Raise(Cause),
}

// The result of an instruction fits into a register of the host.
const _: () = assert!(size_of::<Result<Flow, Stop>>() <= 8);

impl From<Cause> for Stop {
    fn from(cause: Cause) -> Self {
        Stop::Raise(cause)
    }
}
