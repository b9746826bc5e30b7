//! The text of a program under construction: registers by name, and instructions whose operands
//! suit the register banks.
//!
//! An instruction reads at most one register of each bank, so registers that are read together are
//! put into different banks. Where earlier instructions forbid that, one of them is copied.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::operand::{Operand, Register, Shift, Target};
use super::routine::Routine;

/// The largest constant that can be an operand.
const LARGEST: u32 = 31;

/// A label in the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Consecutive words of the frame in read transfer registers of SRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// The first word of the frame.
    pub first: u32,
    pub count: u32,
    /// The transfer register with the first word.
    pub transfer: u8,
}

impl Here {
    /// Returns the register with the first of these words, if all are there.
    pub fn transfer_of(self, first: u32, count: u32) -> Option<u8> {
        let is_there = self.first <= first && first + count <= self.first + self.count;
        is_there.then(|| self.transfer + (first - self.first) as u8)
    }
}

/// The position of pointer 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// At a group of the context.
    Group(u32),
    /// At a word of the window, by its word of the frame.
    Window(u32),
}

/// A step under construction.
#[derive(Debug, Default)]
pub struct Code {
    /// The number of the step, which makes its labels unique.
    step: usize,
    pub(super) text: String,
    pub(super) names: Vec<String>,
    /// For each register, another register that determines its bank, and whether the banks of the
    /// two differ.
    banks: Vec<(usize, bool)>,
    pinned: usize,
    labels: usize,
    /// Registers that routines and their callers share, by name.
    shared: BTreeMap<String, Register>,
    /// The routines that are called.
    pub routines: Vec<Routine>,
    /// The code of exits out of line, which follows the rest.
    pub(super) apart: String,
    /// Words of the frame that the read transfer registers of SRAM hold.
    pub(super) here: Option<Here>,
    /// The position of pointer 1 into local memory, if it is known.
    pub(super) pointer: Option<Pointer>,
    /// The next transfer registers of SRAM to use, for reads and for writes.
    pub(super) next_read: u32,
    pub(super) next_write: u32,
}

impl Code {
    /// Returns an empty step whose first registers have fixed places. The flag says whether each is
    /// in bank A.
    pub fn new(step: usize, pinned: &[(&str, bool)]) -> Self {
        let mut code = Self { step, ..Self::default() };
        let (mut first_a, mut first_b) = (None::<usize>, None::<usize>);
        for (index, (name, is_a)) in pinned.iter().enumerate() {
            code.names.push((*name).to_owned());
            let anchor = if *is_a { &mut first_a } else { &mut first_b };
            let anchor = *anchor.get_or_insert(index);
            code.banks.push((anchor, false));
        }
        if let (Some(a), Some(b)) = (first_a, first_b) {
            code.banks[b] = (a, true);
        }
        code.pinned = pinned.len();
        code
    }

    /// A new register.
    pub fn register(&mut self) -> Register {
        let number = self.names.len();
        self.names.push(format!("v{number}"));
        self.banks.push((number, false));
        Register(number)
    }

    /// Returns the register that routines and their callers share under this name, in bank A or
    /// not.
    pub fn shared(&mut self, name: &str, is_a: bool) -> Register {
        if let Some(register) = self.shared.get(name) {
            return *register;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        // The first pinned register is in bank A.
        self.banks.push((0, !is_a));
        self.shared.insert(name.to_owned(), Register(number));
        Register(number)
    }

    /// Returns the names of the shared registers.
    pub fn shared_names(&self) -> Vec<String> {
        self.shared.keys().cloned().collect()
    }

    /// Calls a routine. Only pinned and shared registers keep their values.
    pub fn call(&mut self, routine: &Routine) {
        if !self.routines.contains(routine) {
            self.routines.push(*routine);
        }
        let name = routine.name();
        let (back, after) = (self.back(&name), self.label());
        let (back, after_name) = (self.names[back.0].clone(), self.name(after));
        self.instruction(&format!("load_addr[{back}, {after_name}]"));
        self.branch_to(&routine.label());
        // Routines do not change the pointers into local memory.
        let pointer = self.pointer;
        self.place(after);
        self.pointer = pointer;
    }

    /// Returns the register with the return address. Routines use both banks for it.
    pub fn back(&mut self, name: &str) -> Register {
        self.shared(&format!("{name}_back"), name.len() % 2 == 1)
    }

    /// Returns from a routine.
    pub fn go_back(&mut self, routine: &Routine) {
        let back = self.back(&routine.name());
        let back = self.names[back.0].clone();
        self.instruction(&format!("rtn[{back}]"));
    }

    /// A new label.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    fn name(&self, label: Label) -> String {
        format!("l{}_{}#", self.step, label.0)
    }

    /// Returns the words of the frame that the read transfer registers of SRAM hold.
    pub fn here(&self) -> Option<Here> {
        self.here
    }

    /// Records the words of the frame that a command has left in their transfer registers.
    pub fn are_here(&mut self, here: Here) {
        self.here = Some(here);
    }

    /// Places a label here.
    pub fn place(&mut self, label: Label) {
        self.here = None;
        self.pointer = None;
        let name = self.name(label);
        let _ = writeln!(self.text, "{name}:");
    }

    /// Writes a line unchanged.
    pub fn line(&mut self, line: &str) {
        if !line.trim_start().starts_with(';') {
            self.here = None;
            self.pointer = None;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes an instruction unchanged.
    pub(super) fn instruction(&mut self, text: &str) {
        let _ = writeln!(self.text, "    {text}");
    }

    /// Returns the text, with declarations of its registers.
    pub fn finish(self) -> String {
        let mut all = String::from("    .begin\n");
        let own = self.names[self.pinned..].iter().filter(|name| !self.shared.contains_key(*name));
        for names in own.cloned().collect::<Vec<_>>().chunks(12) {
            let _ = writeln!(all, "    .reg {}", names.join(" "));
        }
        all + &self.text + &self.apart + "    .end\n"
    }

    fn root(&self, register: usize) -> (usize, bool) {
        let (mut at, mut differs) = (register, false);
        loop {
            let (next, flips) = self.banks[at];
            if next == at {
                return (at, differs);
            }
            at = next;
            differs ^= flips;
        }
    }

    /// Puts two registers into different banks. Returns false if they are already in the same bank.
    fn part(&mut self, a: Register, b: Register) -> bool {
        let ((root_a, flips_a), (root_b, flips_b)) = (self.root(a.0), self.root(b.0));
        if root_a == root_b {
            return flips_a != flips_b;
        }
        self.banks[root_b] = (root_a, flips_a == flips_b);
        true
    }

    pub(super) fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::None => "--".into(),
            Operand::Number(number) => number.to_string(),
            Operand::Register(register) => self.names[register.0].clone(),
            Operand::Transfer(number) => format!("${number}"),
            Operand::Wide(number) => format!("$${number}"),
            Operand::Local(word) => format!("*l$index1[{word}]"),
        }
    }

    pub(super) fn target(&self, target: Target) -> String {
        match target {
            Target::None => "--".into(),
            Target::Register(register) => self.names[register.0].clone(),
            Target::Transfer(number) => format!("${number}"),
            Target::Wide(number) => format!("$${number}"),
            Target::Local(word) => format!("*l$index1[{word}]"),
        }
    }

    /// Copies an operand to a new register.
    pub fn copy(&mut self, operand: Operand) -> Register {
        let copy = self.register();
        self.set(copy, operand);
        copy
    }

    /// `target = operand`
    pub fn set(&mut self, target: impl Into<Target>, operand: Operand) {
        let target = target.into();
        match (target, operand) {
            (Target::Register(register), Operand::Number(number)) => {
                let name = self.names[register.0].clone();
                self.instruction(&format!("immed32[{name}, {number:#x}]"));
            }
            _ => self.alu(target, Operand::None, "B", operand),
        }
    }

    /// Returns operands that one instruction can read.
    pub(super) fn together(&mut self, a: Operand, b: Operand) -> (Operand, Operand) {
        let a = self.readable(a);
        let b = self.readable(b);
        match (a, b) {
            (Operand::Register(first), Operand::Register(second)) => {
                if first != second && self.part(first, second) {
                    return (a, b);
                }
                let copy = self.copy(b);
                let is_apart = self.part(first, copy);
                assert!(is_apart, "nothing is known of a new register");
                (a, copy.into())
            }
            (Operand::Transfer(_), Operand::Transfer(_))
            | (Operand::Wide(_), Operand::Wide(_))
            | (Operand::Local(_), Operand::Local(_)) => (a, self.copy(b).into()),
            _ => (a, b),
        }
    }

    /// Returns an operand that an instruction can read. A large constant gets a register.
    pub(super) fn readable(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Number(number) if number > LARGEST => {
                let register = self.register();
                self.set(register, operand);
                register.into()
            }
            _ => operand,
        }
    }

    /// `target = a operation b`
    pub fn alu(&mut self, target: impl Into<Target>, a: Operand, operation: &str, b: Operand) {
        let pair = self.together(a, b);
        self.computed(target.into(), pair, operation);
    }

    /// Writes an `alu` instruction whose operands one instruction can read.
    fn computed(&mut self, target: Target, (a, b): (Operand, Operand), operation: &str) {
        let target = self.target(target);
        let (a, b) = (self.operand(a), self.operand(b));
        self.instruction(&format!("alu[{target}, {a}, {operation}, {b}]"));
    }

    /// `target = a operation (b shifted)`. The operations are `B` (only b), `AND`, `AND~`, `OR` and
    /// `XOR`.
    pub fn shift(
        &mut self,
        target: impl Into<Target>,
        a: Operand,
        operation: &str,
        b: Operand,
        shift: Shift,
    ) {
        if let Shift::Left(0) | Shift::Right(0) = shift {
            self.alu(target, a, operation, b);
            return;
        }
        let (a, b) = self.together(a, b);
        self.shifted(target.into(), a, operation, b, shift);
    }

    fn shifted(&mut self, target: Target, a: Operand, operation: &str, b: Operand, shift: Shift) {
        let shift = match shift {
            Shift::Left(by) => format!("<<{by}"),
            Shift::Right(by) => format!(">>{by}"),
            Shift::LeftIndirect => "<<indirect".into(),
            Shift::RightIndirect => ">>indirect".into(),
        };
        let target = self.target(target);
        let (a, b) = (self.operand(a), self.operand(b));
        self.instruction(&format!("alu_shf[{target}, {a}, {operation}, {b}, {shift}]"));
    }

    /// `target = a operation (b shifted by amount)`
    pub fn shift_by(
        &mut self,
        target: impl Into<Target>,
        a: Operand,
        operation: &str,
        b: Operand,
        shift: Shift,
        amount: Register,
    ) {
        // No copy may come between the two instructions.
        let (a, b) = self.together(a, b);
        let name = self.names[amount.0].clone();
        self.instruction(&format!("alu[--, {name}, OR, 0]"));
        self.shifted(target.into(), a, operation, b, shift);
    }

    /// `target` = the low word of `high`:`low` shifted right by 1 to 31.
    pub fn double_shift(&mut self, target: Register, high: Operand, low: Operand, amount: u32) {
        match (high, low) {
            (Operand::Number(0), _) => {
                return self.shift(target, Operand::None, "B", low, Shift::Right(amount));
            }
            (_, Operand::Number(0)) => {
                return self.shift(target, Operand::None, "B", high, Shift::Left(32 - amount));
            }
            _ => {}
        }
        let (high, low) = self.together(high, low);
        let (high, low) = (self.operand(high), self.operand(low));
        let target = self.names[target.0].clone();
        self.instruction(&format!("dbl_shf[{target}, {high}, {low}, >>{amount}]"));
    }

    /// `target` = the low 1 to 3 bytes of an operand that is shifted right by `by`.
    pub fn low_bytes(&mut self, target: Register, bytes: u32, from: Operand, by: u32) {
        let from = match from {
            Operand::Register(_) | Operand::Transfer(_) => from,
            other => self.copy(other).into(),
        };
        let mask = &["0001", "0011", "0111"][bytes as usize - 1];
        let shift = if by == 0 { String::new() } else { format!(", >>{by}") };
        let (target, from) = (&self.names[target.0], self.operand(from));
        let text = format!("ld_field_w_clr[{target}, {mask}, {from}{shift}]");
        self.instruction(&text);
    }

    /// Copies the low bytes of a register to these bytes of another register.
    pub fn load_field(&mut self, into: Register, bytes: Range<u32>, from: Register) {
        let apart = self.part(into, from);
        let from = if apart { from } else { self.copy(from.into()) };
        self.part(into, from);
        let mask: String =
            (0..4).rev().map(|byte| if bytes.contains(&byte) { '1' } else { '0' }).collect();
        let shift = match bytes.start {
            0 => String::new(),
            start => format!(", <<{}", 8 * start),
        };
        let (into, from) = (&self.names[into.0], &self.names[from.0]);
        let text = format!("ld_field[{into}, {mask}, {from}{shift}]");
        self.instruction(&text);
    }

    /// Sets pointer 1 into local memory. Three other instructions must come before the first
    /// access.
    pub(super) fn point_later(&mut self, at: Register) {
        let at = self.names[at.0].clone();
        self.pointer = None;
        self.instruction(&format!("local_csr_wr[active_lm_addr_1, {at}]"));
    }

    /// Sets pointer 1 into local memory and waits until it takes effect.
    pub(super) fn point(&mut self, at: Register) {
        self.point_later(at);
        (0..3).for_each(|_| self.instruction("nop"));
    }

    /// Adds a word of local memory near pointer 0 to a register.
    pub(super) fn add_near(&mut self, register: Register, from: Register, word: u32) {
        let (register, from) = (&self.names[register.0], &self.names[from.0]);
        let text = format!("alu[{register}, {from}, +, *l$index0[{word}]]");
        self.instruction(&text);
    }

    /// Sets the condition codes from a word of local memory near pointer 0.
    pub(super) fn test_near(&mut self, word: u32) {
        self.instruction(&format!("alu[--, --, B, *l$index0[{word}]]"));
    }

    /// Calls a macro of thread.uc.
    pub(super) fn expand(&mut self, name: &str, registers: &[Register]) {
        let names: Vec<&str> = registers.iter().map(|one| self.names[one.0].as_str()).collect();
        let text = format!("    {name}({})", names.join(", "));
        self.line(&text);
    }

    /// Reads an operand that is not a register, given as text.
    pub(super) fn move_from(&mut self, register: Register, place: &str) {
        let register = self.names[register.0].clone();
        self.instruction(&format!("alu[{register}, --, B, {place}]"));
    }

    /// Writes an operand to a place that is not a register, given as text.
    pub(super) fn move_to(&mut self, place: &str, value: Operand) {
        let value = self.operand(value);
        self.instruction(&format!("alu[{place}, --, B, {value}]"));
    }

    /// Branches on condition codes or always: `br`, `br=0`, `br!=cout`, ...
    pub fn branch(&mut self, name: &str, to: Label) {
        let to = self.name(to);
        self.instruction(&format!("{name}[{to}]"));
    }

    /// Branches to a label of the runtime.
    pub fn branch_to(&mut self, label: &str) {
        self.instruction(&format!("br[{label}#]"));
    }

    /// Branches if a bit of a register is 0.
    pub fn branch_clear(&mut self, register: Register, bit: u32, to: Label) {
        let (register, to) = (self.names[register.0].clone(), self.name(to));
        self.instruction(&format!("br_bclr[{register}, {bit}, {to}]"));
    }

    /// Branches if a bit of a register is 1.
    pub fn branch_set(&mut self, register: Register, bit: u32, to: Label) {
        let (register, to) = (self.names[register.0].clone(), self.name(to));
        self.instruction(&format!("br_bset[{register}, {bit}, {to}]"));
    }

    /// Adds or subtracts words with a carry from each to the next, the lowest first: `+` and
    /// `+carry`, or `-` and `-carry`. The last operation sets the condition codes.
    pub fn chain(
        &mut self,
        targets: &[Target],
        first: &str,
        rest: &str,
        a: &[Operand],
        b: &[Operand],
    ) {
        // Copies and constants come first, since they would change the carry.
        let pairs: Vec<_> = a.iter().zip(b).map(|(a, b)| self.together(*a, *b)).collect();
        for (index, (pair, target)) in pairs.into_iter().zip(targets).enumerate() {
            self.computed(*target, pair, if index == 0 { first } else { rest });
        }
    }
}
