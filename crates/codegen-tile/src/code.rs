//! Instructions of a tile before their values have registers.
//!
//! A step is one list of lines. All branches go forward, so the live range of a value extends from
//! the first line that uses it to the last one on all paths (`allocate`).

use wireloom_isa::raw::tile::{Op, Slot};

/// A register of the machine, or a value that gets a register later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// The number of a machine register.
    Machine(u8),
    /// The number of a value.
    Value(u32),
}

/// The register that is always 0.
pub const ZERO: Register = Register::Machine(0);
/// The results of routines.
pub const RESULTS: [Register; 2] = [Register::Machine(2), Register::Machine(3)];
/// The arguments of routines.
pub const ARGUMENTS: [Register; 4] =
    [Register::Machine(4), Register::Machine(5), Register::Machine(6), Register::Machine(7)];
/// The address of the window's first byte.
pub const FRONT: Register = Register::Machine(28);
/// The address of the frame.
pub const FRAME: Register = Register::Machine(29);
/// The number of bytes of the window.
pub const WINDOW: Register = Register::Machine(30);
/// The return address of a routine.
pub const RETURN: Register = Register::Machine(31);
/// Registers that no value gets. Lines with spilled values use them, and the routine `fetch` uses
/// the first two.
pub const SCRATCH: [u8; 3] = [1, 9, 8];

/// A word of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant.
    Number(u32),
    /// In a register.
    In(Register),
}

/// A constant 0.
pub const NOTHING: Operand = Operand::Number(0);

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        if register == ZERO { NOTHING } else { Self::In(register) }
    }
}

/// An instruction, with its registers by the fields of the instruction word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub op: Op,
    pub rd: Option<Register>,
    pub rs: Option<Register>,
    pub rt: Option<Register>,
    pub immediate: i32,
    pub label: String,
}

impl Instruction {
    pub fn new(op: Op) -> Self {
        Self { op, rd: None, rs: None, rt: None, immediate: 0, label: String::new() }
    }

    /// Returns the register that it writes.
    pub fn written(&self) -> Option<Register> {
        match self.op.row().writes {
            Some(Slot::Rd | Slot::Clz) => self.rd,
            Some(_) => self.rt,
            None => None,
        }
    }

    /// Returns the registers that it reads. A conditional move may keep its result, so it reads
    /// that register too.
    pub fn read(&self) -> [Option<Register>; 3] {
        let row = self.op.row();
        let rt = self.rt.filter(|_| row.writes != Some(Slot::Rt));
        let kept = self.rd.filter(|_| matches!(self.op, Op::Movz | Op::Movn));
        [self.rs, rt, kept]
    }
}

/// The registers that a call preserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Registers 10 to 23, for a routine.
    Upper,
    /// No registers, for a called engine.
    None,
}

/// The lines of a call, from the first one that prepares it to the last one that takes a result.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub first: usize,
    pub at: usize,
    pub last: usize,
    pub leaves: Leaves,
}

/// A line of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Instruction(Instruction),
    Label(String),
    Comment(String),
    /// A removed instruction, whose result nothing uses.
    Unused,
}

/// The lines of a step.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The lines, each with a flag that is set for rarely executed lines, which follow all others.
    pub lines: Vec<(Line, bool)>,
    pub calls: Vec<Call>,
    /// The routines that are called.
    pub routines: Vec<&'static str>,
    /// The prefix of all labels.
    prefix: String,
    labels: u32,
    values: Vec<Known>,
    /// Whether new lines follow all others.
    pub is_apart: bool,
}

/// Facts about a value.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The line that defines the value, if only one line does so far.
    line: Option<usize>,
    /// The number of lines that define the value.
    lines: u32,
    /// The number of low bits that can be 1.
    bits: u32,
}

impl Code {
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..Self::default() }
    }

    pub fn register(&mut self) -> Register {
        self.values.push(Known::default());
        Register::Value(self.values.len() as u32 - 1)
    }

    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("{}_{}", self.prefix, self.labels)
    }

    pub fn place(&mut self, label: &str) {
        self.lines.push((Line::Label(label.to_owned()), self.is_apart));
    }

    pub fn comment(&mut self, text: &str) {
        self.lines.push((Line::Comment(text.to_owned()), self.is_apart));
    }

    pub fn push(&mut self, instruction: Instruction) {
        if let Some(Register::Value(value)) = instruction.written() {
            let bits = self.result_bits(&instruction);
            let line = self.lines.len();
            let known = &mut self.values[value as usize];
            known.lines += 1;
            known.line = (known.lines == 1).then_some(line);
            known.bits = known.bits.max(bits);
        }
        self.lines.push((Line::Instruction(instruction), self.is_apart));
    }

    /// Writes rarely executed lines, which follow all others.
    pub fn apart(&mut self, write: impl FnOnce(&mut Self)) {
        self.is_apart = true;
        write(self);
        self.is_apart = false;
    }

    /// Writes `rd = rs op rt`.
    pub fn three(&mut self, op: Op, rd: Register, rs: Register, rt: Register) {
        let (rd, rs, rt) = (Some(rd), Some(rs), Some(rt));
        self.push(Instruction { rd, rs, rt, ..Instruction::new(op) });
    }

    /// Writes `rt = rs op constant`.
    pub fn immediate(&mut self, op: Op, rt: Register, rs: Register, immediate: i32) {
        let (rt, rs) = (Some(rt), Some(rs));
        self.push(Instruction { rt, rs, immediate, ..Instruction::new(op) });
    }

    /// Writes a load or store at the sum of a register and a constant.
    pub fn memory(&mut self, op: Op, rt: Register, base: Register, immediate: i32) {
        let (rt, rs) = (Some(rt), Some(base));
        self.push(Instruction { rt, rs, immediate, ..Instruction::new(op) });
    }

    /// Puts a constant into a register.
    pub fn set(&mut self, rt: Register, value: u32) {
        let signed = value as i32;
        if (-0x8000..0x8000).contains(&signed) {
            return self.immediate(Op::Addiu, rt, ZERO, signed);
        }
        if value < 1 << 16 {
            return self.immediate(Op::Ori, rt, ZERO, signed);
        }
        let upper = (value >> 16) as i32;
        self.push(Instruction { rt: Some(rt), immediate: upper, ..Instruction::new(Op::Lui) });
        if value & 0xffff != 0 {
            self.immediate(Op::Ori, rt, rt, (value & 0xffff) as i32);
        }
    }

    /// Returns a register with the word.
    pub fn in_register(&mut self, word: impl Into<Operand>) -> Register {
        match word.into() {
            Operand::In(register) => register,
            Operand::Number(0) => ZERO,
            Operand::Number(value) => {
                let register = self.register();
                self.set(register, value);
                register
            }
        }
    }

    /// Puts a word into a register.
    pub fn copy(&mut self, to: Register, word: impl Into<Operand>) {
        match word.into() {
            Operand::In(from) => self.three(Op::Addu, to, from, ZERO),
            Operand::Number(value) => self.set(to, value),
        }
    }

    /// Returns a new register with the word, which may be changed.
    pub fn fresh(&mut self, word: impl Into<Operand>) -> Register {
        let register = self.register();
        self.copy(register, word);
        register
    }

    /// Returns the number of low bits of a register that can be 1.
    pub fn bits(&self, register: Register) -> u32 {
        match register {
            ZERO => 0,
            Register::Value(value) => self.values[value as usize].bits,
            Register::Machine(_) => 32,
        }
    }

    fn result_bits(&self, instruction: &Instruction) -> u32 {
        let of = |register: Option<Register>| register.map_or(32, |register| self.bits(register));
        let (rs, rt) = (of(instruction.rs), of(instruction.rt));
        let constant = 32 - (instruction.immediate as u32).leading_zeros();
        let amount = instruction.immediate as u32;
        match instruction.op {
            Op::Lbu => 8,
            Op::Lhu => 16,
            Op::Sltu | Op::Sltiu | Op::Slt | Op::Slti => 1,
            Op::Andi => rs.min(constant),
            Op::Ori | Op::Xori => rs.max(constant),
            Op::And => rs.min(rt),
            Op::Or | Op::Xor => rs.max(rt),
            Op::Srl => rt.saturating_sub(amount),
            Op::Sll => (rt + amount).min(32),
            // This is a copy.
            Op::Addu if instruction.rt == Some(ZERO) => rs,
            Op::Addu => (rs.max(rt) + 1).min(32),
            Op::Addiu if instruction.rs == Some(ZERO) && instruction.immediate >= 0 => constant,
            Op::Addiu if instruction.immediate >= 0 => (rs.max(constant) + 1).min(32),
            Op::Movn | Op::Movz => rs,
            _ => 32,
        }
    }

    /// Returns the instruction that defines a value, if there is exactly one.
    fn definition(&self, register: Register) -> Option<&Instruction> {
        let Register::Value(value) = register else { return None };
        match &self.lines[self.values[value as usize].line?].0 {
            Line::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// Whether a register keeps its content once it is defined.
    fn is_steady(&self, register: Register) -> bool {
        register == ZERO || self.definition(register).is_some()
    }

    /// Branches if two registers are equal (`Beq`) or differ (`Bne`). Uses the operands of a
    /// comparison instead of its result, so that the comparison can be removed.
    pub fn branch(&mut self, op: Op, a: Register, b: Register, label: &str) {
        let (mut op, mut a, mut b) = (op, a, b);
        while b == ZERO
            && let Some(definition) = self.definition(a)
            && let Some(rs) = definition.rs.filter(|rs| self.is_steady(*rs))
        {
            let opposite = if op == Op::Beq { Op::Bne } else { Op::Beq };
            let rt = definition.rt;
            match definition.op {
                Op::Sltiu if definition.immediate == 1 => (op, a) = (opposite, rs),
                Op::Xori if definition.immediate == 1 && self.bits(rs) <= 1 => {
                    (op, a) = (opposite, rs);
                }
                Op::Sltu if rs == ZERO && rt.is_some_and(|rt| self.is_steady(rt)) => {
                    a = rt.unwrap_or(ZERO);
                }
                Op::Xor if rt.is_some_and(|rt| self.is_steady(rt)) => {
                    (a, b) = (rs, rt.unwrap_or(ZERO));
                }
                _ => break,
            }
        }
        let (rs, rt, label) = (Some(a), Some(b), label.to_owned());
        self.push(Instruction { rs, rt, label, ..Instruction::new(op) });
    }

    pub fn jump(&mut self, label: &str) {
        self.push(Instruction { label: label.to_owned(), ..Instruction::new(Op::J) });
    }

    /// Jumps to an address in a register.
    pub fn jump_to(&mut self, register: Register) {
        self.push(Instruction { rs: Some(register), ..Instruction::new(Op::Jr) });
    }

    /// Returns a register and a constant whose sum is the address of an offset from a base.
    pub fn address(&mut self, offset: Operand, base: u32) -> (Register, i32) {
        let lower = i32::from(base as i16);
        let upper = base.wrapping_sub(lower as u32);
        let at = self.two(Op::Addu, offset, Operand::Number(upper));
        (self.in_register(at), lower)
    }

    /// Loads a word.
    pub fn load(&mut self, base: Register, offset: i32) -> Register {
        let word = self.register();
        self.memory(Op::Lw, word, base, offset);
        word
    }

    /// Stores a word.
    pub fn store(&mut self, word: Operand, base: Register, offset: i32) {
        let word = self.in_register(word);
        self.memory(Op::Sw, word, base, offset);
    }

    /// Calls a routine. Returns its first `results` results.
    pub fn call(
        &mut self,
        routine: &'static str,
        arguments: &[Operand],
        results: usize,
    ) -> Vec<Operand> {
        // No constants that need a new register may be created between the copies.
        let first = self.lines.len();
        for (to, argument) in ARGUMENTS.into_iter().zip(arguments) {
            self.copy(to, *argument);
        }
        let at = self.lines.len();
        self.push(Instruction { label: routine.to_owned(), ..Instruction::new(Op::Jal) });
        let results = RESULTS[..results].iter().map(|from| self.fresh(*from).into()).collect();
        let last = self.lines.len() - 1;
        self.calls.push(Call { first, at, last, leaves: Leaves::Upper });
        self.needs(routine);
        results
    }

    /// Calls an engine, which preserves no registers.
    pub fn call_engine(&mut self, label: &str) {
        let at = self.lines.len();
        self.push(Instruction { label: label.to_owned(), ..Instruction::new(Op::Jal) });
        self.calls.push(Call { first: at, at, last: at, leaves: Leaves::None });
    }

    /// Removes the instructions whose results nothing uses.
    pub fn clean(&mut self) {
        loop {
            let mut needed = vec![false; self.values.len()];
            for (line, _) in &self.lines {
                let Line::Instruction(instruction) = line else { continue };
                let written = instruction.written();
                for read in instruction.read().into_iter().flatten() {
                    if let (Register::Value(value), true) = (read, Some(read) != written) {
                        needed[value as usize] = true;
                    }
                }
            }
            let mut is_clean = true;
            for (line, _) in &mut self.lines {
                if let Line::Instruction(instruction) = line
                    && let Some(Register::Value(value)) = instruction.written()
                    && !needed[value as usize]
                {
                    *line = Line::Unused;
                    is_clean = false;
                }
            }
            if is_clean {
                return;
            }
        }
    }

    /// Records that the code needs a routine.
    pub fn needs(&mut self, routine: &'static str) {
        if !self.routines.contains(&routine) {
            self.routines.push(routine);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::RandomCode;

    #[test]
    fn random_code_leaves_the_memory_that_its_operations_say() {
        for seed in 0..500 {
            let random = RandomCode::new(seed, 1 + seed as usize % 60, seed % 3 == 0);
            random.check(&random.code.lines);
        }
    }

    #[test]
    fn results_have_no_bits_above_those_that_are_known() {
        let mut narrow = 0;
        for seed in 0..500 {
            let random = RandomCode::new(seed, 40, false);
            for (register, number) in &random.known {
                let bits = random.code.bits(*register);
                assert!(32 - number.leading_zeros() <= bits, "{seed}: {number:#x} of {bits} bits");
                narrow += u32::from(bits < 32);
            }
        }
        assert!(narrow > 1000, "{narrow}");
    }

    #[test]
    fn code_without_unused_results_leaves_the_same_memory() {
        let mut removed = 0;
        for seed in 0..500 {
            let mut random = RandomCode::new(seed, 1 + seed as usize % 60, seed % 3 == 0);
            random.code.clean();
            random.check(&random.code.lines);
            removed += random.code.lines.iter().filter(|(line, _)| *line == Line::Unused).count();
        }
        assert!(removed > 500, "{removed}");
    }

    #[test]
    fn constants_take_one_instruction_if_16_bits_are_enough() {
        for (value, count) in
            [(0, 1), (0x7fff, 1), (0x8000, 1), (u32::MAX, 1), (0x1_0000, 1), (0x1_0001, 2)]
        {
            let mut code = Code::new("l");
            let register = code.register();
            code.set(register, value);
            assert_eq!(code.lines.len(), count, "{value:#x}");
        }
    }
}
