//! Helpers of unit tests: random numbers, random code with the memory that it must leave, and an
//! interpreter that executes lines.

use std::collections::{BTreeMap, HashMap};

use wireloom_bits::Bits;
use wireloom_isa::raw::Register as Name;
use wireloom_isa::raw::tile::{Op, Slot, TABLE, branches, compute, hi_lo, loaded, stored};
use wireloom_offloads::kinds::random::splitmix64;

use super::code::{Code, FRAME, FRONT, Instruction, Line, NOTHING, Operand, Register, ZERO};
use super::frame::STATE;

/// Random numbers of a seed.
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        splitmix64(self.seed, self.drawn)
    }

    /// Returns a number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    pub fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    /// Returns a word. Words with few bits, or all but a few, are frequent.
    pub fn word(&mut self) -> u32 {
        let word = self.number() as u32;
        match self.below(6) {
            0 => self.one_of(&[0, 1, 2, 0x7fff, 0x8000, 0xffff, 1 << 31, u32::MAX]),
            1 => word & 0xff,
            2 => word >> self.below(32),
            3 => !(word >> self.below(32)),
            _ => word,
        }
    }

    /// Returns a value of a width. Zeros and ones are frequent.
    pub fn bits(&mut self, width: u32) -> Bits {
        match self.below(8) {
            0 => Bits::zero(width),
            1 => Bits::ones(width),
            2 => Bits::new(width.min(8), self.number().into()).resize(width),
            _ => {
                let words: Vec<u64> = (0..width.div_ceil(64)).map(|_| self.number()).collect();
                Bits::from_words(width, &words)
            }
        }
    }
}

/// The contents of memory after a program was placed: addresses and words, by address.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents(Vec<(u32, Vec<u32>)>);

impl Contents {
    /// Sorts images and checks that they do not overlap.
    pub fn new(mut images: Vec<(u32, Vec<u32>)>) -> Self {
        images.retain(|(_, words)| !words.is_empty());
        images.sort();
        for pair in images.windows(2) {
            let end = pair[0].0 + 4 * pair[0].1.len() as u32;
            assert!(end <= pair[1].0, "{:#x} is written twice", pair[1].0);
        }
        Self(images)
    }

    /// Returns the word at an address. Words without contents are 0.
    pub fn word(&self, at: u32) -> u32 {
        let after = self.0.partition_point(|(base, _)| *base <= at);
        let Some((base, words)) = after.checked_sub(1).map(|image| &self.0[image]) else {
            return 0;
        };
        words.get(((at - base) / 4) as usize).copied().unwrap_or(0)
    }

    /// Returns the first address with contents, and the address after the last one.
    pub fn ends(&self) -> Option<(u32, u32)> {
        let (first, (last, words)) = (self.0.first()?, self.0.last()?);
        Some((first.0, last + 4 * words.len() as u32))
    }
}

/// A processor and its memory.
#[derive(Clone, Debug, Default)]
pub struct Processor {
    pub registers: HashMap<Register, u32>,
    /// Words by their addresses; the others are 0.
    pub memory: BTreeMap<u32, u32>,
    hi: u32,
    lo: u32,
}

impl Processor {
    /// Returns a processor whose registers have numbers that no code expects.
    pub fn new(memory: BTreeMap<u32, u32>) -> Self {
        let garbage = |number: u8| (Register::Machine(number), 0xdead_0000 + u32::from(number));
        let mut registers: HashMap<_, _> = (1..32).map(garbage).collect();
        registers.extend([(ZERO, 0), (FRAME, FRAME_AT), (FRONT, FRONT_AT)]);
        Self { registers, memory, hi: 0, lo: 0 }
    }

    pub fn get(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Number(number) => number,
            Operand::In(register) => self.register(register),
        }
    }

    fn register(&self, register: Register) -> u32 {
        *self.registers.get(&register).unwrap_or_else(|| panic!("nothing is in {register:?}"))
    }

    /// Executes lines, first those that do not stand apart. Returns the label to which they jump if
    /// it is not among them; calls of routines return.
    pub fn run(&mut self, lines: &[(Line, bool)]) -> Option<String> {
        let of = |is_apart: bool| {
            let own = lines.iter().filter(move |(_, own)| *own == is_apart);
            own.map(|(line, _)| Some(line)).chain([None])
        };
        // Nothing executes on from one part into the other.
        let lines: Vec<Option<&Line>> = of(false).chain(of(true)).collect();
        let find = |label: &str| {
            lines.iter().position(|line| matches!(line, Some(Line::Label(own)) if own == label))
        };
        let mut at = 0;
        while let Some(line) = lines[at] {
            let Line::Instruction(instruction) = line else {
                at += 1;
                continue;
            };
            at = match self.execute(instruction) {
                None => at + 1,
                Some(label) => match find(&label) {
                    Some(at) => at,
                    None => return Some(label),
                },
            };
        }
        None
    }

    /// Executes an instruction, and returns the label to which it jumps.
    fn execute(&mut self, instruction: &Instruction) -> Option<String> {
        let Instruction { op, rs, rt, immediate, label, .. } = instruction;
        let of = |register: &Option<Register>| register.map_or(0, |one| self.register(one));
        let reads_rt = op.row().writes != Some(Slot::Rt);
        let (a, b) = (of(rs), if reads_rt { of(rt) } else { 0 });
        let address = a.wrapping_add(*immediate as u32);
        let word = self.memory.get(&(address & !3)).copied().unwrap_or(0);
        let result = match op {
            Op::Jal => {
                self.call(label);
                return None;
            }
            Op::J => return Some(label.clone()),
            Op::Lb | Op::Lbu | Op::Lh | Op::Lhu | Op::Lw => loaded(*op, word, address),
            Op::Sb | Op::Sh | Op::Sw => {
                self.memory.insert(address & !3, stored(*op, word, address, b));
                return None;
            }
            Op::Mfhi => self.hi,
            Op::Mflo => self.lo,
            Op::Movz if b != 0 => return None,
            Op::Movn if b == 0 => return None,
            _ => {
                if let Some(is_taken) = branches(*op, a, b) {
                    return is_taken.then(|| label.clone());
                }
                if let Some((hi, lo)) = hi_lo(*op, a, b) {
                    (self.hi, self.lo) = (hi, lo);
                    return None;
                }
                compute(*op, a, b, *immediate as u32)
            }
        };
        let to = instruction.written().expect("an instruction with a result writes a register");
        if to != ZERO {
            self.registers.insert(to, result);
        }
        None
    }

    /// Executes a routine as [`routine`], or a called engine, which leaves no register.
    fn call(&mut self, label: &str) {
        let arguments = [4, 5, 6, 7].map(|number| self.register(Register::Machine(number)));
        let leaves = if label == ENGINE { 1..28 } else { 1..10 };
        for number in leaves {
            self.registers.insert(Register::Machine(number), 0xbad0_0000 + u32::from(number));
        }
        if label == ENGINE {
            return;
        }
        for (number, result) in (2..).zip(routine(&arguments[..2])) {
            self.registers.insert(Register::Machine(number), result);
        }
    }
}

/// The results of the routine that random code calls.
fn routine(arguments: &[u32]) -> [u32; 2] {
    let product = u64::from(arguments[0]) * u64::from(arguments[1] | 1) + 77;
    [product as u32, (product >> 32) as u32 ^ arguments[1]]
}

/// The label of the engine that random code calls.
const ENGINE: &str = "engine";
/// The address of the frame.
pub const FRAME_AT: u32 = 0x1_0000;
/// The address of the packet.
pub const FRONT_AT: u32 = 0x2_0000;
/// The words of the context that random code uses, from [`STATE`] on, and as many of the packet.
const WORDS: u32 = 12;
/// Where random code stores its results, in bytes from the front.
const RESULTS: i32 = 0x400;
/// The first byte of the frame that is free for spilled values.
pub const SPILLS: u32 = STATE + 4 * WORDS;
/// The label of the code that follows if a test leaves the fast way.
pub const RESTART: &str = "all";

/// Random code, and the memory before and after it.
pub struct RandomCode {
    pub code: Code,
    pub before: BTreeMap<u32, u32>,
    pub after: BTreeMap<u32, u32>,
    /// The label to which it jumps: [`RESTART`] or the end.
    pub end: &'static str,
    /// The registers that have a known number at the end.
    pub known: Vec<(Register, u32)>,
}

impl RandomCode {
    /// Writes code with a number of operations. If it can restart, it begins with tests.
    pub fn new(seed: u64, operations: usize, can_restart: bool) -> Self {
        let mut writer = Writer::new(seed);
        let before = writer.memory.clone();
        let mut left = None;
        for _ in 0..if can_restart { 3 } else { 0 } {
            writer.load();
            writer.compute();
            let (operand, value) = writer.value();
            let register = writer.code.in_register(operand);
            let op = writer.random.one_of(&[Op::Beq, Op::Bne]);
            // Most tests are passed.
            let op =
                match (value, op) {
                    (0, Op::Beq) | (1.., Op::Bne) if writer.random.below(8) > 0 => {
                        if op == Op::Beq { Op::Bne } else { Op::Beq }
                    }
                    _ => op,
                };
            writer.code.branch(op, register, ZERO, RESTART);
            if left.is_none() && (value == 0) == (op == Op::Beq) {
                left = Some(writer.memory.clone());
            }
            if writer.random.below(4) == 0 {
                writer.store();
            }
        }
        for _ in 0..operations {
            writer.operation();
        }
        writer.finish();
        let Writer { code, memory, known, .. } = writer;
        let (after, end) = left.map_or((memory, "end"), |memory| (memory, RESTART));
        Self { code, before, after, end, known }
    }

    /// Checks that lines, which are another form of the code, leave the memory that the code must
    /// leave. Spill slots may contain anything.
    pub fn check(&self, lines: &[(Line, bool)]) {
        let mut processor = Processor::new(self.before.clone());
        let end = processor.run(lines);
        assert_eq!(end.as_deref(), Some(self.end));
        let spills = FRAME_AT + SPILLS..FRONT_AT;
        let memory = processor.memory.into_iter().filter(|(at, _)| !spills.contains(at));
        assert_eq!(memory.collect::<BTreeMap<_, _>>(), self.after);
    }
}

struct Writer {
    random: Random,
    code: Code,
    memory: BTreeMap<u32, u32>,
    /// Operands that do not change, and their numbers.
    pool: Vec<(Operand, u32)>,
    /// Registers that change.
    variables: Vec<(Register, u32)>,
    known: Vec<(Register, u32)>,
    /// Whether the lines that are written are executed.
    is_executed: bool,
    is_nested: bool,
}

impl Writer {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let words = (0..WORDS).flat_map(|word| [FRAME_AT + STATE + 4 * word, FRONT_AT + 4 * word]);
        let memory = words.map(|at| (at, random.word())).collect();
        Self {
            random,
            code: Code::new("l"),
            memory,
            pool: vec![(NOTHING, 0)],
            variables: Vec::new(),
            known: Vec::new(),
            is_executed: true,
            is_nested: false,
        }
    }

    /// Returns an operand and its number.
    fn value(&mut self) -> (Operand, u32) {
        if self.random.below(4) == 0 {
            let number = self.random.word();
            return (Operand::Number(number), number);
        }
        // New values are more frequent.
        let recent = self.pool.len().saturating_sub(6) as u64;
        let first = if self.random.below(3) == 0 { 0 } else { recent };
        let count = self.pool.len() as u64 - first;
        self.pool[(first + self.random.below(count)) as usize]
    }

    fn push(&mut self, operand: Operand, number: u32) {
        self.pool.push((operand, number));
        match operand {
            Operand::Number(own) => assert_eq!(own, number, "a constant is what it is"),
            Operand::In(register) => {
                self.known.extend(self.is_executed.then_some((register, number)))
            }
        }
    }

    /// Returns the base and the offset of a word, and its address.
    fn place(&mut self) -> (Register, i32, u32) {
        let offset = 4 * self.random.below(WORDS.into()) as u32;
        match self.random.below(2) {
            0 => (FRAME, (STATE + offset) as i32, FRAME_AT + STATE + offset),
            _ => (FRONT, offset as i32, FRONT_AT + offset),
        }
    }

    fn load(&mut self) {
        let (base, offset, at) = self.place();
        let word = self.memory[&at];
        let op = self.random.one_of(&[Op::Lw, Op::Lw, Op::Lhu, Op::Lbu]);
        let register = self.code.register();
        self.code.memory(op, register, base, offset);
        self.push(register.into(), loaded(op, word, at));
    }

    fn store(&mut self) {
        let ((base, offset, at), (operand, number)) = (self.place(), self.value());
        self.code.store(operand, base, offset);
        if self.is_executed {
            self.memory.insert(at, number);
        }
    }

    fn compute(&mut self) {
        let ((a, own_a), (b, own_b)) = (self.value(), self.value());
        match self.random.below(12) {
            0..6 => {
                let ops = [Op::Addu, Op::Subu, Op::And, Op::Or, Op::Xor, Op::Mul, Op::Sltu];
                let op = self.random.one_of(&ops);
                let result = self.code.two(op, a, b);
                self.push(result, compute(op, own_a, own_b, 0));
            }
            6 => {
                let (op, by) = (self.random.one_of(&[Op::Sll, Op::Srl]), self.random.below(32));
                let result = self.code.shift(op, a, by as u32);
                self.push(result, compute(op, 0, own_a, by as u32));
            }
            7 => {
                let op = self.random.one_of(&[Op::Sllv, Op::Srlv]);
                let result = self.code.shift_by(op, a, b);
                self.push(result, compute(op, own_b, own_a, 0));
            }
            8 => {
                let is_zero = self.random.below(2) == 0;
                let result = if is_zero { self.code.is_zero(a) } else { self.code.is_set(a) };
                self.push(result, u32::from((own_a == 0) == is_zero));
            }
            9 => {
                let condition = self.code.is_set(a);
                let (c, own_c) = self.value();
                let result = self.code.choose(condition, b, c);
                self.push(result, if own_a != 0 { own_b } else { own_c });
            }
            10 => {
                let product = self.code.product(&[a, NOTHING], &[b, NOTHING], 64);
                let own = u64::from(own_a) * u64::from(own_b);
                self.push(product[0], own as u32);
                self.push(product[1], (own >> 32) as u32);
            }
            _ => {
                let [quotient, rest] = self.code.divide(a, b);
                self.push(quotient, own_a.checked_div(own_b).unwrap_or(u32::MAX));
                self.push(rest, own_a.checked_rem(own_b).unwrap_or(own_a));
            }
        }
    }

    fn operation(&mut self) {
        match self.random.below(20) {
            0..3 => self.load(),
            3..5 => self.store(),
            5..12 => self.compute(),
            12 => {
                let (operand, number) = self.value();
                let variable = self.code.fresh(operand);
                // A variable of lines that are not executed always has nothing.
                if !self.is_nested {
                    self.variables.push((variable, number));
                }
            }
            13..15 => {
                let (operand, number) = self.value();
                if self.variables.is_empty() {
                    return;
                }
                let at = self.random.below(self.variables.len() as u64) as usize;
                self.code.copy(self.variables[at].0, operand);
                if self.is_executed {
                    self.variables[at].1 = number;
                }
            }
            15 => {
                if let Some((variable, number)) = self.variables.last().copied() {
                    let copy = self.code.fresh(variable);
                    self.push(copy.into(), number);
                }
            }
            16 if !self.is_nested => {
                let ((a, own_a), (b, own_b)) = (self.value(), self.value());
                let results = self.code.call("routine", &[a, b], 2);
                for (result, number) in results.into_iter().zip(routine(&[own_a, own_b])) {
                    self.push(result, number);
                }
            }
            17 if !self.is_nested && self.random.below(4) == 0 => self.code.call_engine(ENGINE),
            _ if !self.is_nested => self.branch(),
            _ => {}
        }
    }

    /// Writes lines that a branch skips, or that stand apart.
    fn branch(&mut self) {
        let (a, own_a) = self.value();
        // Comparisons become part of branches.
        let (a, own_a) = match self.random.below(3) {
            0 => (a, own_a),
            1 => (self.code.is_zero(a), u32::from(own_a == 0)),
            _ => {
                let (b, own_b) = self.value();
                (self.code.two(Op::Xor, a, b), own_a ^ own_b)
            }
        };
        let register = self.code.in_register(a);
        let op = self.random.one_of(&[Op::Beq, Op::Bne]);
        let is_taken = (own_a == 0) == (op == Op::Beq);
        let (label, done) = (self.code.label(), self.code.label());
        let (count, is_apart) = (1 + self.random.below(5), self.random.below(2) == 0);
        self.code.branch(op, register, ZERO, &label);
        (self.is_nested, self.is_executed) = (true, is_taken == is_apart);
        if is_apart {
            self.code.is_apart = true;
            self.code.place(&label);
        }
        let (own, known) = (self.pool.len(), self.known.len());
        (0..count).for_each(|_| self.operation());
        self.pool.truncate(own);
        self.known.truncate(known);
        if is_apart {
            self.code.jump(&done);
            self.code.is_apart = false;
            self.code.place(&done);
        } else {
            self.code.place(&label);
        }
        (self.is_nested, self.is_executed) = (false, true);
    }

    /// Stores values and variables, so that they are needed.
    fn finish(&mut self) {
        let mut all: Vec<(Operand, u32)> = (0..10).map(|_| self.value()).collect();
        all.extend(self.variables.iter().map(|(register, number)| ((*register).into(), *number)));
        for ((operand, number), at) in all.into_iter().zip((RESULTS..).step_by(4)) {
            self.code.store(operand, FRONT, at);
            self.memory.insert(FRONT_AT + at as u32, number);
        }
        self.code.jump("end");
    }
}

/// Returns the lines of a text that [`allocate`](super::allocate) has written.
pub fn parsed(text: &str) -> Vec<(Line, bool)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let line = |line: &str| match line.strip_suffix(':') {
        Some(label) => Line::Label(label.to_owned()),
        None => Line::Instruction(instruction(line)),
    };
    lines.map(|one| (line(one), false)).collect()
}

fn instruction(line: &str) -> Instruction {
    let (mnemonic, operands) = line.split_once(' ').unwrap_or((line, ""));
    let row = TABLE.iter().find(|row| row.mnemonic == mnemonic);
    let row = row.unwrap_or_else(|| panic!("{line}"));
    let mut instruction = Instruction::new(row.op);
    let register = |name: &str| {
        let (name, _) = Name::parse(name).unwrap_or_else(|| panic!("{line}"));
        Some(Register::Machine(name.0))
    };
    let number = |text: &str| text.parse::<i32>().unwrap_or_else(|_| panic!("{line}"));
    let operands: Vec<&str> = operands.split(", ").collect();
    assert_eq!(operands.len(), row.slots.len(), "{line}");
    for (slot, text) in row.slots.iter().zip(operands) {
        match slot {
            Slot::Rd | Slot::Clz => instruction.rd = register(text),
            Slot::Rs => instruction.rs = register(text),
            Slot::Rt => instruction.rt = register(text),
            Slot::Memory => {
                let (offset, base) = text.trim_end_matches(')').split_once('(').expect("a base");
                (instruction.immediate, instruction.rs) = (number(offset), register(base));
            }
            Slot::Branch | Slot::Jump => instruction.label = text.to_owned(),
            Slot::Amount | Slot::Signed | Slot::Unsigned | Slot::Sr => {
                instruction.immediate = number(text);
            }
        }
    }
    instruction
}
