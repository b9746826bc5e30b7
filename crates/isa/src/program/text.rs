//! Decoded text.

use crate::{Bus, Cause, Exception, Flow, InstructionSet, Meaning, Stop, Thread};

/// The instructions of a program, each decoded once; processors share it. What is written to the memory that it was
/// decoded from changes nothing of it.
#[derive(Clone, Debug)]
pub struct Text<S: InstructionSet> {
    address: u32,
    instructions: Vec<S::Instruction>,
}

/// Why [`Runner::run`] has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program asks for a service.
    Service(u32),
    /// It has come to a breakpoint.
    Breakpoint,
    /// The bus lets it wait.
    Waits,
    /// As many instructions have been executed as were allowed.
    Enough,
}

impl<S: InstructionSet> Text<S> {
    /// Decodes little-endian words from an address on, which is a multiple of 4; bytes at the end that are no whole word are left
    /// out.
    pub fn new(address: u32, bytes: &[u8]) -> Self {
        let words =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let instructions = (0u32..)
            .zip(words)
            .map(|(index, word)| S::decode(word, address.wrapping_add(4 * index)))
            .collect();
        Self { address, instructions }
    }

    /// Its instructions and their addresses.
    pub fn instructions(&self) -> impl Iterator<Item = (u32, &S::Instruction)> {
        (0u32..)
            .zip(&self.instructions)
            .map(|(index, instruction)| (self.address.wrapping_add(4 * index), instruction))
    }

    /// The instruction at an address.
    ///
    /// # Errors
    /// [`Cause::OutsideText`], if there is none.
    #[inline(always)]
    pub fn fetch(&self, pc: u32) -> Result<&S::Instruction, Cause> {
        self.instructions.get(self.index(pc)).ok_or(Cause::OutsideText)
    }

    /// What an instruction of this text has caused.
    pub fn exception(&self, pc: u32, cause: Cause) -> Exception {
        match self.fetch(pc) {
            Ok(instruction) => Exception::new::<S>(pc, instruction, cause),
            Err(cause) => Exception { address: pc, word: None, disassembly: String::new(), cause },
        }
    }

    /// The text with the functions that execute its instructions through a kind of bus.
    pub fn runner<B: Bus>(&self) -> Runner<'_, S, B> {
        Runner { text: self, meanings: self.instructions.iter().map(S::meaning).collect() }
    }

    /// The how-manieth of its instructions stands at an address; beyond all of them if none does.
    #[inline(always)]
    pub fn index(&self, pc: u32) -> usize {
        // What is no multiple of 4 is rotated to an index that is beyond any text.
        pc.wrapping_sub(self.address).rotate_right(2) as usize
    }
}

/// A program without a machine around it; see [`Text::runner`].
#[derive(Clone, Debug)]
pub struct Runner<'a, S: InstructionSet, B: Bus> {
    text: &'a Text<S>,
    /// Of each instruction.
    meanings: Vec<Meaning<S, B>>,
}

impl<S: InstructionSet, B: Bus> Runner<'_, S, B> {
    /// Executes so many instructions, or until somebody else has to do something. Says how many have been executed.
    ///
    /// # Errors
    /// The exception that the program causes.
    #[inline]
    pub fn run(&self, thread: &mut S::Thread, bus: &mut B, most: u64) -> Result<(u64, End), Exception> {
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
