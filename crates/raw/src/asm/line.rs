//! One line of a source.

use std::collections::BTreeMap;
use std::ops::Range;

use wireloom_isa::raw::Register;
use wireloom_isa::raw::switch::{self, CONTROL};
use wireloom_isa::raw::tile::{self, Instruction, Op, SPECIAL, Slot, TABLE};

use super::Diagnostic;

type Result<T> = std::result::Result<T, Diagnostic>;
pub(super) type Labels<'a> = &'a dyn Fn(&str) -> Option<u32>;
/// Names that stand for numbers.
pub(super) type Constants = BTreeMap<String, i64>;

/// The unread part of a line, without its comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    source: &'a str,
    /// The range in the source: the first byte, and the byte after the last.
    start: usize,
    end: usize,
    constants: &'a Constants,
}

impl<'a> Line<'a> {
    pub fn new(source: &'a str, start: usize, whole: &str, constants: &'a Constants) -> Self {
        let end = start + whole.find('#').unwrap_or(whole.len());
        Self { source, start, end, constants }.trimmed()
    }

    fn trimmed(mut self) -> Self {
        let text = self.text();
        self.start += text.len() - text.trim_start().len();
        self.end = self.start + text.trim().len();
        self
    }

    pub fn text(&self) -> &'a str {
        &self.source[self.start..self.end]
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the range of the line in the source.
    pub fn bytes(&self) -> Range<usize> {
        self.start..self.end
    }

    pub fn error(&self, message: &str, help: Option<&str>) -> Diagnostic {
        Diagnostic {
            message: message.to_owned(),
            bytes: self.start..self.end,
            help: help.map(str::to_owned),
        }
    }

    /// Returns the part before a separator and the part after it.
    pub fn split(&self, at: &str) -> Option<(Self, Self)> {
        let place = self.start + self.text().find(at)?;
        let before = Self { end: place, ..*self }.trimmed();
        Some((before, Self { start: place + at.len(), ..*self }.trimmed()))
    }

    /// Returns the first word and the rest.
    pub fn first(&self) -> (Self, Self) {
        let place = self.text().find(char::is_whitespace).map_or(self.end, |at| self.start + at);
        (Self { end: place, ..*self }, Self { start: place, ..*self }.trimmed())
    }

    pub fn list(&self) -> Vec<Self> {
        let mut rest = *self;
        let mut parts = Vec::new();
        while let Some((part, after)) = rest.split(",") {
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() || !parts.is_empty() {
            parts.push(rest);
        }
        parts
    }

    /// Takes a label off the line.
    pub fn label(&mut self) -> Option<&'a str> {
        let (label, rest) = self.split(":")?;
        let name = label.text();
        if !is_name(name) {
            return None;
        }
        *self = rest;
        Some(name)
    }

    /// Returns the number of words that a statement of a tile takes.
    pub fn words(&self) -> u32 {
        let (name, rest) = self.first();
        let is_long = name.text() == "li"
            && rest.list().get(1).is_some_and(|value| {
                value.number(i64::from(i32::MIN), i64::from(u32::MAX)).is_ok_and(is_long)
            });
        1 + u32::from(is_long || name.text() == "la")
    }

    pub fn number(&self, least: i64, most: i64) -> Result<i64> {
        let text = self.text();
        let (digits, sign) = match text.strip_prefix('-') {
            Some(digits) => (digits, -1),
            None => (text, 1),
        };
        let value = match digits.strip_prefix("0x") {
            Some(digits) if !digits.starts_with(['+', '-']) => i64::from_str_radix(digits, 16).ok(),
            None if !digits.starts_with(['+', '-']) => digits.parse::<i64>().ok(),
            _ => None,
        };
        let value = value.or_else(|| self.constants.get(digits).copied());
        let value = value.map(|value| sign * value).filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| {
            self.error(&format!("a number from {least} to {most} is needed here"), None)
        })
    }

    fn register(&self, is_read: bool) -> Result<Register> {
        match Register::parse(self.text()) {
            Some((_, Some(reads))) if reads != is_read => {
                let what = if reads { "only be read" } else { "only be written" };
                Err(self.error(&format!("{} can {what}", self.text()), None))
            }
            Some((register, _)) => Ok(register),
            None => Err(self.error("a register is needed here, such as `$t0` or `$csti`", None)),
        }
    }

    fn target(&self, find: Labels<'_>) -> Result<u32> {
        find(self.text()).ok_or_else(|| {
            self.error(&format!("there is no label `{}` in this section", self.text()), None)
        })
    }

    /// Returns the words of a statement of a tile processor at an index. `address` finds labels of
    /// data.
    pub fn tile(&self, index: u32, find: Labels<'_>, address: Labels<'_>) -> Result<Vec<u32>> {
        let (name, rest) = self.first();
        let operands = rest.list();
        let count = |wanted: usize| {
            let message = format!("`{}` has {wanted} operands", name.text());
            if operands.len() == wanted { Ok(()) } else { Err(self.error(&message, None)) }
        };
        let blank = BLANK;
        let one = |instruction: Instruction| Ok(vec![tile::encode(&instruction)]);
        match name.text() {
            "nop" => {
                count(0)?;
                return one(blank);
            }
            "move" => {
                count(2)?;
                let (rd, rs) = (operands[0].register(false)?, operands[1].register(true)?);
                return one(Instruction { op: Op::Addu, rd, rs, ..blank });
            }
            "b" => {
                count(1)?;
                let immediate = distance(&operands[0], index, find)?;
                return one(Instruction { op: Op::Beq, immediate, ..blank });
            }
            "li" => {
                count(2)?;
                let rt = operands[0].register(false)?;
                let value = operands[1].number(i64::from(i32::MIN), i64::from(u32::MAX));
                let label = find(operands[1].text()).filter(|_| value.is_err());
                if let Some(index) = label {
                    let near = Some(4 * index).filter(|address| *address <= 0xffff);
                    let immediate = near.ok_or_else(|| {
                        operands[1].error(
                            "this label is past 65,535 bytes, and `li` has one instruction for it",
                            Some("`la` loads the address of any label"),
                        )
                    })?;
                    return one(Instruction { op: Op::Ori, rt, immediate, ..blank });
                }
                let value = value?;
                if !is_long(value) {
                    let op = if value < 0 { Op::Addiu } else { Op::Ori };
                    return one(Instruction { op, rt, immediate: value as u32, ..blank });
                }
                return Ok(both_halves(rt, value as u32));
            }
            "la" => {
                count(2)?;
                let rt = operands[0].register(false)?;
                let label = operands[1].text();
                let value = find(label).map(|index| 4 * index).or_else(|| address(label));
                let value = value.ok_or_else(|| {
                    let message = format!("there is no label `{label}` here or in `.data`");
                    operands[1].error(&message, None)
                })?;
                return Ok(both_halves(rt, value));
            }
            _ => {}
        }
        let row = TABLE.iter().find(|row| row.mnemonic == name.text());
        let row = row.ok_or_else(|| {
            let message = format!("there is no instruction `{}`", name.text());
            name.error(&message, Some("`wireloom docs machines/raw-instructions` lists them"))
        })?;
        count(row.slots.len())?;
        let mut instruction = Instruction { op: row.op, ..blank };
        for (slot, operand) in row.slots.iter().zip(&operands) {
            let is_read = row.writes != Some(*slot);
            match slot {
                Slot::Rd => instruction.rd = operand.register(is_read)?,
                Slot::Clz => {
                    instruction.rd = operand.register(is_read)?;
                    instruction.rt = instruction.rd;
                }
                Slot::Rs => instruction.rs = operand.register(is_read)?,
                Slot::Rt => instruction.rt = operand.register(is_read)?,
                Slot::Amount => instruction.immediate = operand.number(0, 31)? as u32,
                Slot::Signed => instruction.immediate = operand.number(-0x8000, 0x7fff)? as u32,
                Slot::Unsigned => instruction.immediate = operand.number(0, 0xffff)? as u32,
                Slot::Memory => {
                    let parts = operand.split("(").filter(|_| operand.text().ends_with(')'));
                    let (offset, base) = parts.ok_or_else(|| {
                        operand.error("an address is needed here, such as `4($sp)`", None)
                    })?;
                    let base = Self { end: base.end - 1, ..base }.trimmed();
                    instruction.rs = base.register(true)?;
                    instruction.immediate =
                        if offset.is_empty() { 0 } else { offset.number(-0x8000, 0x7fff)? as u32 };
                }
                Slot::Branch => instruction.immediate = distance(operand, index, find)?,
                Slot::Jump => instruction.immediate = operand.target(find)?,
                Slot::Sr => {
                    let number = SPECIAL.iter().position(|row| row.1 == operand.text());
                    let number = number.ok_or_else(|| {
                        let names: Vec<_> = SPECIAL.iter().map(|row| row.1).collect();
                        let help = format!("there are {}", names.join(", "));
                        operand.error("unknown special register", Some(&help))
                    })?;
                    instruction.rd = Register(number as u8);
                }
            }
        }
        one(instruction)
    }

    /// Returns the word of a statement of a switch processor.
    pub fn switch(&self, find: Labels<'_>) -> Result<u64> {
        let mut instruction = switch::Instruction::default();
        let (control, routes) = match self.split("route") {
            Some((control, routes)) => (control, Some(routes)),
            None => (*self, None),
        };
        if !control.is_empty() {
            control.control(&mut instruction, find)?;
        }
        if let Some(routes) = routes {
            if routes.is_empty() {
                return Err(self.error("routes are needed, such as `$cWi->$csto`", None));
            }
            for route in routes.list() {
                route.route(&mut instruction)?;
            }
        }
        let word = switch::encode(&instruction);
        // Only `recv` and `$swi` forbid a combination that the parts allow.
        switch::decode(word).map_err(|_| match instruction.own {
            Some(_) => self.error("only `recv` takes the word that is routed to `$swi`", None),
            None => self.error(
                "`recv` takes the word of `$csto`, so no route can",
                Some("`recv REGISTER route $csto->$swi, ...` takes it and routes it"),
            ),
        })?;
        Ok(word)
    }

    fn control(&self, instruction: &mut switch::Instruction, find: Labels<'_>) -> Result<()> {
        let (name, rest) = self.first();
        let row = CONTROL.iter().find(|row| row.1 == name.text());
        let row = row.ok_or_else(|| {
            let names: Vec<_> = CONTROL.iter().map(|row| row.1).collect();
            let help = format!("there are {}", names.join(", "));
            name.error("unknown control operation", Some(&help))
        })?;
        let operands = rest.list();
        if operands.len() != row.2.len() {
            let message = format!("`{}` has {} operands", row.1, row.2.len());
            return Err(self.error(&message, None));
        }
        instruction.control = row.0;
        for (slot, operand) in row.2.iter().zip(&operands) {
            let register = || match operand.text() {
                "$0" => Ok(0),
                "$1" => Ok(1),
                "$2" => Ok(2),
                "$3" => Ok(3),
                _ => Err(operand.error("a register of the switch is needed, `$0` to `$3`", None)),
            };
            match slot {
                switch::Slot::Destination => instruction.destination = register()?,
                switch::Slot::Source => instruction.source = register()?,
                switch::Slot::Value => instruction.constant = operand.number(0, 8191)? as u16,
                switch::Slot::Target => {
                    let target = operand.target(find)?;
                    let target = u16::try_from(target).ok().filter(|target| *target < 8192);
                    instruction.constant = target.ok_or_else(|| {
                        operand.error("the target is past the end of a switch's memory", None)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn route(&self, instruction: &mut switch::Instruction) -> Result<()> {
        let form = "a route is `SOURCE->DESTINATION`, such as `$cWi->$csti`";
        let (from, to) =
            self.split("->").ok_or_else(|| self.error("malformed route", Some(form)))?;
        let source = switch::source_of(from.text());
        let (network, source) =
            source.ok_or_else(|| from.error("this is no source of a route", Some(form)))?;
        if to.text() == switch::SWITCH {
            if network != 0 {
                return Err(to.error("`$swi` takes words of the first network", None));
            }
            if instruction.own.is_some() {
                return Err(to.error("this destination has a source already", None));
            }
            instruction.own = Some(source);
            return Ok(());
        }
        let destination = switch::destination_of(to.text());
        let (other, destination) =
            destination.ok_or_else(|| to.error("this is no destination of a route", Some(form)))?;
        if network != other {
            let help = "a route stays on its network: names with a 2 are of the second";
            return Err(self.error("source and destination are of two networks", Some(help)));
        }
        let route = &mut instruction.routes[network][destination];
        if route.is_some() {
            return Err(to.error("this destination has a source already", None));
        }
        *route = Some(source);
        Ok(())
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.as_bytes()[0].is_ascii_digit()
}

/// The instruction `nop`.
const BLANK: Instruction =
    Instruction { op: Op::Sll, rd: Register(0), rs: Register(0), rt: Register(0), immediate: 0 };

/// Returns instructions that set a register to a value by halves. The upper half goes through
/// `$at`, since a network register accepts one word.
fn both_halves(rt: Register, value: u32) -> Vec<u32> {
    let at = Register(1);
    let high = Instruction { op: Op::Lui, rt: at, immediate: value >> 16, ..BLANK };
    let low = Instruction { op: Op::Ori, rs: at, rt, immediate: value & 0xffff, ..BLANK };
    vec![tile::encode(&high), tile::encode(&low)]
}

/// Whether `li` needs two instructions for a value.
fn is_long(value: i64) -> bool {
    !(-0x8000..=0xffff).contains(&value)
}

/// Returns the distance of a branch at an index.
fn distance(operand: &Line<'_>, index: u32, find: Labels<'_>) -> Result<u32> {
    let distance = i64::from(operand.target(find)?) - i64::from(index) - 1;
    let distance = i16::try_from(distance);
    distance
        .map(|distance| distance as u32)
        .map_err(|_| operand.error("the target is too far for a branch", Some("branch to a `j`")))
}
