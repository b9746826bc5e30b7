//! The operands of any instruction, as an intermediate form between bits, text and [`Instruction`].

use super::table::Form;
use super::{
    AluOperation, CamPointer, Check, Command, Completion, Destination, Instruction, MultiplyStep,
    Order, Polynomial, Shift, Signal, Source, Wait,
};

/// The operands of an instruction. Operands that its row does not have keep their default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub destination: Destination,
    pub a: Source,
    pub b: Source,
    pub operation: AluOperation,
    pub shift: Shift,
    pub amount: Option<u8>,
    pub value: u32,
    pub number: u8,
    pub check: Check,
    pub pointer: Option<CamPointer>,
    pub target: u16,
    pub wait: Wait,
    pub transfer: Option<u8>,
    pub count: u8,
    pub order: Order,
    pub completion: Completion,
    pub indirect: bool,
    pub defer: u8,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            destination: Destination::None,
            a: Source::None,
            b: Source::None,
            operation: AluOperation::B,
            shift: Shift::None,
            amount: None,
            value: 0,
            number: 0,
            check: Check { polynomial: Polynomial::Ccitt, first: 0, last: 3, bit_swap: false },
            pointer: None,
            target: 0,
            wait: Wait::Voluntary,
            transfer: None,
            count: 0,
            order: Order::Default,
            completion: Completion::None,
            indirect: false,
            defer: 0,
        }
    }
}

impl Parts {
    /// Returns the instruction of these operands.
    pub fn instruction(&self, form: Form) -> Instruction {
        let Self { destination, a, b, operation, shift, number, target, defer, .. } = *self;
        match form {
            Form::Alu => Instruction::Alu { destination, a, operation, b },
            Form::AluShift => Instruction::AluShift { destination, a, operation, b, shift },
            Form::DoubleShift => {
                Instruction::DoubleShift { destination, a, b, amount: self.amount }
            }
            Form::Immediate | Form::LoadAddress => {
                Instruction::Immediate { destination, value: self.value }
            }
            Form::ImmediateByte(byte) => {
                Instruction::ImmediateByte { destination, byte, value: self.value as u8 }
            }
            Form::ImmediateWord(word) => {
                Instruction::ImmediateWord { destination, word, value: self.value as u16 }
            }
            Form::LoadField { clear } => {
                Instruction::LoadField { destination, mask: number, source: b, shift, clear }
            }
            Form::FindBitSet { clear } => Instruction::FindBitSet { source: b, shift, clear },
            Form::LoadBitSetResult(result) => Instruction::LoadBitSetResult { destination, result },
            Form::FindFirstSet => Instruction::FindFirstSet { destination, source: b },
            Form::PopulationCount => Instruction::PopulationCount { destination, source: b },
            Form::ByteAlign { little_endian } => {
                let source = if little_endian { a } else { b };
                Instruction::ByteAlign { destination, source, little_endian }
            }
            Form::Crc { little_endian } => {
                Instruction::Crc { destination, source: b, little_endian, check: self.check }
            }
            Form::Multiply(step) => Instruction::Multiply { destination, a, b, step },
            Form::MultiplyStep => {
                let step = MultiplyStep::Step(number);
                Instruction::Multiply { destination, a, b, step }
            }
            Form::Branch(condition) => Instruction::Branch { condition, target, defer },
            Form::BranchBit(set) => {
                Instruction::BranchBit { register: b, bit: number, set, target, defer }
            }
            Form::BranchByte(equal) => Instruction::BranchByte {
                register: b,
                byte: number,
                value: self.value as u8,
                equal,
                target,
                defer,
            },
            Form::BranchContext(equal) => {
                Instruction::BranchContext { context: number, equal, target, defer }
            }
            Form::BranchInput => {
                Instruction::BranchInput { state: super::InputState(number), target, defer }
            }
            Form::BranchSignal(set) => {
                Instruction::BranchSignal { signal: Signal(number), set, target, defer }
            }
            Form::Jump => Instruction::Jump { register: b, base: target, defer },
            Form::Return => Instruction::Return { register: b, defer },
            Form::Arbitrate => Instruction::Arbitrate { wait: self.wait, defer },
            Form::LocalCsrRead => Instruction::LocalCsrRead { csr: number },
            Form::LocalCsrWrite => Instruction::LocalCsrWrite { csr: number, source: b },
            Form::CamLookup => {
                Instruction::CamLookup { destination, source: b, pointer: self.pointer }
            }
            Form::CamWrite => Instruction::CamWrite { entry: a, source: b, state: number },
            Form::CamWriteState => Instruction::CamWriteState { entry: a, state: number },
            Form::CamReadTag => Instruction::CamReadTag { destination, entry: a },
            Form::CamReadState => Instruction::CamReadState { destination, entry: a },
            Form::CamClear => Instruction::CamClear,
            Form::Nop => Instruction::Nop,
            Form::Command(unit, operation) => Instruction::Command(Command {
                unit,
                operation,
                transfer: self.transfer,
                a,
                b,
                count: self.count,
                indirect: self.indirect,
                order: self.order,
                completion: self.completion,
                defer,
            }),
        }
    }

    /// Returns the form and the operands of an instruction.
    pub fn of(instruction: &Instruction) -> (Form, Self) {
        let base = Self::default();
        match *instruction {
            Instruction::Alu { destination, a, operation, b } => {
                (Form::Alu, Self { destination, a, operation, b, ..base })
            }
            Instruction::AluShift { destination, a, operation, b, shift } => {
                (Form::AluShift, Self { destination, a, operation, b, shift, ..base })
            }
            Instruction::DoubleShift { destination, a, b, amount } => {
                (Form::DoubleShift, Self { destination, a, b, amount, ..base })
            }
            Instruction::Immediate { destination, value } => {
                (Form::Immediate, Self { destination, value, ..base })
            }
            Instruction::ImmediateByte { destination, byte, value } => {
                (Form::ImmediateByte(byte), Self { destination, value: value.into(), ..base })
            }
            Instruction::ImmediateWord { destination, word, value } => {
                (Form::ImmediateWord(word), Self { destination, value: value.into(), ..base })
            }
            Instruction::LoadField { destination, mask, source, shift, clear } => {
                let parts = Self { destination, number: mask, b: source, shift, ..base };
                (Form::LoadField { clear }, parts)
            }
            Instruction::FindBitSet { source, shift, clear } => {
                (Form::FindBitSet { clear }, Self { b: source, shift, ..base })
            }
            Instruction::LoadBitSetResult { destination, result } => {
                (Form::LoadBitSetResult(result), Self { destination, ..base })
            }
            Instruction::FindFirstSet { destination, source } => {
                (Form::FindFirstSet, Self { destination, b: source, ..base })
            }
            Instruction::PopulationCount { destination, source } => {
                (Form::PopulationCount, Self { destination, b: source, ..base })
            }
            Instruction::ByteAlign { destination, source, little_endian: true } => {
                (Form::ByteAlign { little_endian: true }, Self { destination, a: source, ..base })
            }
            Instruction::ByteAlign { destination, source, little_endian: false } => {
                (Form::ByteAlign { little_endian: false }, Self { destination, b: source, ..base })
            }
            Instruction::Crc { destination, source, little_endian, check } => {
                (Form::Crc { little_endian }, Self { destination, b: source, check, ..base })
            }
            Instruction::Multiply { destination, a, b, step } => {
                let parts = Self { destination, a, b, ..base };
                match step {
                    MultiplyStep::Step(number) => (Form::MultiplyStep, Self { number, ..parts }),
                    step => (Form::Multiply(step), parts),
                }
            }
            Instruction::Branch { condition, target, defer } => {
                (Form::Branch(condition), Self { target, defer, ..base })
            }
            Instruction::BranchBit { register, bit, set, target, defer } => {
                (Form::BranchBit(set), Self { b: register, number: bit, target, defer, ..base })
            }
            Instruction::BranchByte { register, byte, value, equal, target, defer } => {
                let value = value.into();
                let parts = Self { b: register, number: byte, value, target, defer, ..base };
                (Form::BranchByte(equal), parts)
            }
            Instruction::BranchContext { context, equal, target, defer } => {
                (Form::BranchContext(equal), Self { number: context, target, defer, ..base })
            }
            Instruction::BranchInput { state, target, defer } => {
                (Form::BranchInput, Self { number: state.0, target, defer, ..base })
            }
            Instruction::BranchSignal { signal, set, target, defer } => {
                (Form::BranchSignal(set), Self { number: signal.0, target, defer, ..base })
            }
            Instruction::Jump { register, base: target, defer } => {
                (Form::Jump, Self { b: register, target, defer, ..base })
            }
            Instruction::Return { register, defer } => {
                (Form::Return, Self { b: register, defer, ..base })
            }
            Instruction::Arbitrate { wait, defer } => {
                (Form::Arbitrate, Self { wait, defer, ..base })
            }
            Instruction::LocalCsrRead { csr } => (Form::LocalCsrRead, Self { number: csr, ..base }),
            Instruction::LocalCsrWrite { csr, source } => {
                (Form::LocalCsrWrite, Self { number: csr, b: source, ..base })
            }
            Instruction::CamLookup { destination, source, pointer } => {
                (Form::CamLookup, Self { destination, b: source, pointer, ..base })
            }
            Instruction::CamWrite { entry, source, state } => {
                (Form::CamWrite, Self { a: entry, b: source, number: state, ..base })
            }
            Instruction::CamWriteState { entry, state } => {
                (Form::CamWriteState, Self { a: entry, number: state, ..base })
            }
            Instruction::CamReadTag { destination, entry } => {
                (Form::CamReadTag, Self { destination, a: entry, ..base })
            }
            Instruction::CamReadState { destination, entry } => {
                (Form::CamReadState, Self { destination, a: entry, ..base })
            }
            Instruction::CamClear => (Form::CamClear, base),
            Instruction::Nop => (Form::Nop, base),
            Instruction::Command(command) => {
                let Command { unit, operation, transfer, a, b, count, .. } = command;
                let Command { indirect, order, completion, defer, .. } = command;
                let (indirect, order) = (indirect, order);
                let parts =
                    Self { transfer, a, b, count, indirect, order, completion, defer, ..base };
                (Form::Command(unit, operation), parts)
            }
        }
    }
}
