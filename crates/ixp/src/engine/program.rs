//! Programs in a control store, decoded once at load time.

use std::sync::Arc;

use wireloom_isa::microengine::{
    AluOperation, BranchClass, Completion, Destination, Image, Instruction, Source, Version, Wait,
    decode,
};

use super::Operations;
use crate::units::Refused;

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    pub instruction: Instruction,
    /// Operand A.
    pub a: Source,
    /// Operand B.
    pub b: Source,
    /// The destination of the result.
    pub destination: Destination,
    /// Defer slots: instructions after a branch that execute although it is taken.
    pub defer: u8,
    /// The class of an instruction that branches or gives up the engine.
    pub class: Option<BranchClass>,
}

impl From<Instruction> for Decoded {
    fn from(instruction: Instruction) -> Self {
        let (a, b) = instruction.operands();
        Self {
            instruction,
            a,
            b,
            destination: instruction.destination(),
            defer: instruction.defer(),
            class: instruction.branch_class(),
        }
    }
}

impl Decoded {
    /// The operations of this instruction, for energy models.
    pub fn operations(&self) -> Operations {
        let mut used = Operations::default();
        for source in [self.a, self.b] {
            match source {
                Source::Gpr(..) => used.read += 1,
                Source::Transfer(..) => used.transfer += 1,
                _ => {}
            }
        }
        match self.destination {
            Destination::Gpr(..) => used.write += 1,
            Destination::Transfer(..) => used.transfer += 1,
            _ => {}
        }
        match self.instruction {
            Instruction::Alu { operation, .. } => used.compute(operation),
            Instruction::AluShift { operation, .. } => {
                used.compute(operation);
                used.shift = 1;
            }
            Instruction::LoadField { .. }
            | Instruction::DoubleShift { .. }
            | Instruction::FindBitSet { .. } => used.shift = 1,
            // A value passes through the ALU; bits and bytes are compared there.
            Instruction::Immediate { .. }
            | Instruction::ImmediateByte { .. }
            | Instruction::ImmediateWord { .. }
            | Instruction::BranchBit { .. }
            | Instruction::BranchByte { .. } => used.logic = 1,
            // The ALU adds the parts of the address.
            Instruction::Command(_) => (used.add, used.command) = (1, 1),
            Instruction::LocalCsrRead { .. } => used.csr = 1,
            _ => {}
        }
        used
    }
}

impl Operations {
    fn compute(&mut self, operation: AluOperation) {
        match operation {
            AluOperation::Add
            | AluOperation::Add16
            | AluOperation::Add8
            | AluOperation::AddCarry
            | AluOperation::Subtract
            | AluOperation::SubtractCarry
            | AluOperation::ReverseSubtract => self.add = 1,
            _ => self.logic = 1,
        }
    }
}

/// A program. Engines that run the same one share it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    entry: u16,
    code: Arc<[Decoded]>,
    image: Option<Arc<Image>>,
}

impl Program {
    /// Decodes an image for a control store of `control_store` words.
    ///
    /// # Errors
    /// If the image is too large or contains invalid instructions.
    pub fn load(image: Image, control_store: u32) -> Result<Self, Refused> {
        let words = image.words.iter().enumerate();
        let code = words.map(|(address, word)| {
            decode(image.version, *word, address as u16)
                .ok_or_else(|| Refused(format!("word {address}, {word:#010x}, is no instruction")))
        });
        let code = code.collect::<Result<Vec<_>, Refused>>()?;
        let mut program = Self::of(code, control_store)?;
        program.entry = image.entry;
        program.image = Some(Arc::new(image));
        Ok(program)
    }

    /// Creates a program from instructions, with entry point 0.
    ///
    /// # Errors
    /// If it does not fit into the control store.
    pub fn of(code: Vec<Instruction>, control_store: u32) -> Result<Self, Refused> {
        if code.len() > control_store as usize {
            return Err(Refused(format!(
                "the program has {} instructions, and the control store room for {control_store}",
                code.len()
            )));
        }
        let code = code.into_iter().map(Decoded::from).collect();
        Ok(Self { entry: 0, code, image: None })
    }

    /// The version of the instruction set, if the program came from an image.
    pub fn version(&self) -> Option<Version> {
        self.image().map(|image| image.version)
    }

    /// The address at which contexts start.
    pub fn entry(&self) -> u16 {
        self.entry
    }

    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether there is no instruction.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Whether both are copies of the same program and share its instructions.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.code, &other.code)
    }

    /// The instruction at an address.
    #[inline]
    pub fn at(&self, address: u16) -> Option<&Decoded> {
        self.code.get(usize::from(address))
    }

    /// Whether the instruction at an address ends its context.
    pub fn kills(&self, address: u16) -> bool {
        let at = self.at(address).map(|decoded| decoded.instruction);
        matches!(at, Some(Instruction::Arbitrate { wait: Wait::Kill, .. }))
    }

    /// The image, with the lines of its source.
    pub fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }
}

/// The signal for which a command makes its context wait.
pub fn swaps(completion: Completion) -> Option<u16> {
    match completion {
        Completion::Swap(signal) => Some(signal.bit()),
        _ => None,
    }
}
