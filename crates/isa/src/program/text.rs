//! Decoded text.

use crate::{Bus, Cause, Exception, Flow, InstructionSet, Meaning, Stop, Thread};

/// The instructions of a program, each decoded once and shared by all processors. Later writes to
/// the memory that it was decoded from have no effect on it.
#[derive(Clone, Debug)]
pub struct Text<S: InstructionSet> {
    address: u32,
    instructions: Vec<S::Instruction>,
}

/// Why [`Runner::run`] has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program requests a service.
    Service(u32),
    /// The thread has reached a breakpoint.
    Breakpoint,
    /// An access or an operand is not ready.
    Waits,
    /// The limit of instructions has been reached.
    Enough,
}

impl<S: InstructionSet> Text<S> {
    /// Decodes little-endian words from an address on, which must be a multiple of
    /// [`InstructionSet::PC_STEP`]. An incomplete word at the end is left out.
    pub fn new(address: u32, bytes: &[u8]) -> Self {
        let words = bytes.chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        Self::from_words(address, words)
    }

    /// Decodes the words of a control store that begins at this address.
    pub fn from_words(address: u32, words: impl IntoIterator<Item = u32>) -> Self {
        let instructions = (0u32..)
            .zip(words)
            .map(|(index, word)| S::decode(word, address.wrapping_add(S::PC_STEP * index)))
            .collect();
        Self { address, instructions }
    }

    /// Returns the instructions and their addresses.
    pub fn instructions(&self) -> impl Iterator<Item = (u32, &S::Instruction)> {
        (0u32..).zip(&self.instructions).map(|(index, instruction)| {
            (self.address.wrapping_add(S::PC_STEP * index), instruction)
        })
    }

    /// Returns the instruction at an address.
    ///
    /// # Errors
    /// [`Cause::OutsideText`], if there is no instruction.
    #[inline(always)]
    pub fn fetch(&self, pc: u32) -> Result<&S::Instruction, Cause> {
        self.instructions.get(self.index(pc)).ok_or(Cause::OutsideText)
    }

    /// Returns the exception that an instruction of this text has caused.
    pub fn exception(&self, pc: u32, cause: Cause) -> Exception {
        match self.fetch(pc) {
            Ok(instruction) => Exception::new::<S>(pc, instruction, cause),
            Err(cause) => Exception { address: pc, word: None, disassembly: String::new(), cause },
        }
    }

    /// Returns the text with the functions that execute its instructions through one kind of bus.
    pub fn runner<B: Bus>(&self) -> Runner<'_, S, B> {
        Runner { text: self, meanings: self.instructions.iter().map(S::meaning).collect() }
    }

    /// Returns the index of the instruction at an address, from 0. The index is out of range if
    /// there is no instruction.
    #[inline(always)]
    pub fn index(&self, pc: u32) -> usize {
        // A program counter that is not a multiple of the step is rotated to an index beyond any
        // text.
        let shift = const { S::PC_STEP.trailing_zeros() };
        pc.wrapping_sub(self.address).rotate_right(shift) as usize
    }
}

/// A program without a machine, see [`Text::runner`].
#[derive(Clone, Debug)]
pub struct Runner<'a, S: InstructionSet, B: Bus> {
    text: &'a Text<S>,
    /// The meaning of each instruction.
    meanings: Vec<Meaning<S, B>>,
}

impl<S: InstructionSet, B: Bus> Runner<'_, S, B> {
    /// Executes up to a number of instructions, until the thread waits or requests a service.
    /// Returns the number executed.
    ///
    /// # Errors
    /// The exception that the program causes.
    #[inline]
    pub fn run(
        &self,
        thread: &mut S::Thread,
        bus: &mut B,
        most: u64,
    ) -> Result<(u64, End), Exception> {
        for executed in 0..most {
            let pc = thread.pc();
            let index = self.text.index(pc);
            let (Some(instruction), Some(meaning)) =
                (self.text.instructions.get(index), self.meanings.get(index))
            else {
                return Err(self.text.exception(pc, Cause::OutsideText));
            };
            let end = match meaning(thread, instruction, bus) {
                Ok(Flow::Next | Flow::Skipped | Flow::Taken) => continue,
                Ok(Flow::Service) => End::Service(S::service(thread, instruction)),
                Ok(Flow::Breakpoint) => End::Breakpoint,
                Err(Stop::Wait) => return Ok((executed, End::Waits)),
                Err(Stop::Raise(cause)) => return Err(self.text.exception(pc, cause)),
            };
            return Ok((executed + 1, end));
        }
        Ok((most, End::Enough))
    }
}
