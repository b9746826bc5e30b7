//! Encodes and decodes instructions.

use std::sync::LazyLock;

use super::operand::{Bank, Source, TransferFile};
use super::parts::Parts;
use super::table::{Field, Form, ORDERS, Parsed, Piece, Placed, ones};
use super::{
    CamPointer, Check, Command, Completion, Destination, Instruction, Operation, Order, Signal,
    Unit, Version, Wait, bits, version1, version2,
};

/// Why an instruction has no encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unencodable {
    /// The version does not have the instruction.
    Unknown,
    /// Both operands are general-purpose registers of one bank.
    Bank(Bank),
    /// Two operands are different transfer registers of one file, or two other registers of a file
    /// that is read once an instruction.
    File,
    /// An instruction that changes a part of its destination reads another register of its bank,
    /// or has no destination that it could read.
    Partial,
    /// The field has no code for the operand.
    Field(Field),
    /// The target is out of reach. Both numbers are words.
    Far { distance: i32, reach: i32 },
    /// More instructions are deferred than the branch aborts.
    Defer { most: u8 },
    /// `defer[]` without `ctx_swap`.
    DeferWithoutSwap,
    /// A context waits for no signal, or a command of version 1 names a signal of another unit.
    Signal,
}

static PARSED: LazyLock<[Vec<Parsed>; 2]> = LazyLock::new(|| {
    [(Version::One, version1::ROWS), (Version::Two, version2::ROWS)]
        .map(|(version, rows)| rows.iter().map(|row| Parsed::new(version, row)).collect())
});

/// For each value of the first eight bits, the rows whose words can begin with it.
static BY_TOP: LazyLock<[Vec<Vec<usize>>; 2]> = LazyLock::new(|| {
    [Version::One, Version::Two].map(|version| {
        let low = version.word_bits() - 8;
        let of = |top: u64| {
            let rows = version.rows().iter().enumerate();
            let fits = |row: &Parsed| (top ^ row.fixed >> low) & row.mask >> low & 0xff == 0;
            rows.filter(|(_, row)| fits(row)).map(|(at, _)| at).collect()
        };
        (0..256).map(of).collect()
    })
});

impl Version {
    /// Returns the table of the version's instructions.
    pub fn rows(self) -> &'static [Parsed] {
        &PARSED[self as usize]
    }

    /// Returns the row of a form.
    pub fn row(self, form: Form) -> Option<&'static Parsed> {
        self.rows().iter().find(|row| row.row.form == form)
    }
}

/// Returns the signal by which a unit of version 1 reports completion.
pub fn unit_signal(unit: Unit) -> Signal {
    match unit {
        Unit::Sram => Signal::SRAM,
        Unit::Sdram => Signal::SDRAM,
        Unit::Pci => Signal::PCI_DMA,
        _ => Signal::FBI,
    }
}

/// Returns the word of an instruction at an address.
pub fn encode(
    version: Version,
    instruction: &Instruction,
    address: u16,
) -> Result<u64, Unencodable> {
    let (form, parts) = Parts::of(instruction);
    let row = version.row(form).ok_or(Unencodable::Unknown)?;
    check(row, &parts)?;
    let mut word = row.fixed;
    for placed in &row.pieces {
        if let Piece::Field(field) = placed.piece {
            let code = field_code(version, row, placed.width, field, &parts, address)?;
            if u64::from(code) > ones(placed.width) {
                return Err(Unencodable::Field(field));
            }
            word |= u64::from(code) << placed.low;
        }
    }
    Ok(word)
}

/// Returns the instruction of a word at an address, or `None`. A word is valid only if [`encode`]
/// makes it of the instruction.
pub fn decode(version: Version, word: u64, address: u16) -> Option<Instruction> {
    if word > ones(version.word_bits()) {
        return None;
    }
    let top = (word >> (version.word_bits() - 8)) as usize;
    let rows = BY_TOP[version as usize][top].iter().map(|&at| &version.rows()[at]);
    let mut fitting = rows.filter(|row| word & row.mask == row.fixed);
    fitting.find_map(|row| {
        let instruction = decode_row(version, row, word, address)?;
        (encode(version, &instruction, address) == Ok(word)).then_some(instruction)
    })
}

/// Checks rules that involve several operands.
fn check(row: &Parsed, parts: &Parts) -> Result<(), Unencodable> {
    match (parts.a, parts.b) {
        (Source::Gpr(a, _), Source::Gpr(b, _)) if a == b => return Err(Unencodable::Bank(a)),
        (Source::Transfer(a, at), Source::Transfer(b, other)) if a == b && at != other => {
            return Err(Unencodable::File);
        }
        (Source::Local { .. }, Source::Local { .. })
        | (Source::Neighbour(_), Source::Neighbour(_))
            if parts.a != parts.b =>
        {
            return Err(Unencodable::File);
        }
        (Source::NeighbourRing, Source::NeighbourRing) => return Err(Unencodable::File),
        _ => {}
    }
    if matches!(
        row.row.form,
        Form::LoadField { clear: false } | Form::ImmediateByte(_) | Form::ImmediateWord(_)
    ) {
        match (parts.destination.as_source(), parts.b) {
            (Source::None, _) => return Err(Unencodable::Partial),
            (Source::Gpr(own, _), Source::Gpr(other, _)) if own == other => {
                return Err(Unencodable::Partial);
            }
            (Source::Local { .. }, Source::Local { .. }) => return Err(Unencodable::Partial),
            _ => {}
        }
        let steps = |destination| match destination {
            Destination::Local { step, .. } => step != super::Step::None,
            _ => false,
        };
        if steps(parts.destination) {
            return Err(Unencodable::Partial);
        }
    }
    if parts.defer > row.most_deferred() {
        return Err(Unencodable::Defer { most: row.most_deferred() });
    }
    let is_command = matches!(row.row.form, Form::Command(..));
    if is_command && parts.defer > 0 && !matches!(parts.completion, Completion::Swap(_)) {
        return Err(Unencodable::DeferWithoutSwap);
    }
    Ok(())
}

/// Whether operand A is read from bank B, or B from bank A.
fn is_swapped(parts: &Parts) -> bool {
    parts.a.bank() == Some(Bank::B) || parts.b.bank() == Some(Bank::A)
}

/// Returns the code of a field for an instruction.
fn field_code(
    version: Version,
    row: &Parsed,
    width: u32,
    field: Field,
    parts: &Parts,
    address: u16,
) -> Result<u32, Unencodable> {
    let source = |source| bits::source(version, width, source);
    let banked = |operand: Source| {
        let bank = u32::from(operand.bank() == Some(Bank::B));
        bits::source(version, width - 1, operand).map(|code| bank << (width - 1) | code)
    };
    let code = match field {
        Field::Destination => bits::destination(version, width, parts.destination),
        Field::A => match parts.a {
            Source::None if takes_nothing(row, parts) => source(Source::None),
            Source::None => Err(bits::NoCode),
            // A unary operation ignores operand A.
            _ if takes_nothing(row, parts) => Err(bits::NoCode),
            other => source(other),
        },
        Field::B if parts.b == Source::None => Err(bits::NoCode),
        Field::B => source(parts.b),
        Field::Swap => Ok(is_swapped(parts).into()),
        Field::BankedA | Field::BankedB => {
            let operand = if field == Field::BankedA { parts.a } else { parts.b };
            if operand == Source::None { Err(bits::NoCode) } else { banked(operand) }
        }
        Field::Operation => bits::operation(version, width, parts.operation),
        Field::Shift => bits::shift(parts.shift),
        Field::Amount => match parts.amount {
            None => Ok(0),
            Some(by @ 1..32) => Ok(by.into()),
            Some(_) => Err(bits::NoCode),
        },
        Field::Value => Ok(parts.value),
        Field::Immediate => bits::immediate(parts.value),
        Field::Number => match row.row.form {
            Form::Command(..) => match if is_fast(row) { parts.b } else { parts.a } {
                Source::Constant(number) => Ok(number.into()),
                _ => Err(bits::NoCode),
            },
            Form::BranchSignal(_) if !(1..=signals(version)).contains(&parts.number) => {
                Err(bits::NoCode)
            }
            _ => Ok(parts.number.into()),
        },
        Field::Check => parts.check.number().map(u32::from).ok_or(bits::NoCode),
        Field::CamPointer => Ok(parts.pointer.map_or(0, |CamPointer { pointer, block }| {
            8 | u32::from(pointer & 1) << 2 | u32::from(block & 3)
        })),
        Field::Target => Ok(parts.target.into()),
        Field::Distance => return distance(width, parts.target, address),
        Field::Defer => Ok(parts.defer.into()),
        Field::Wait => return wait_code(version, parts.wait),
        Field::Transfer => parts.transfer.map(u32::from).ok_or(bits::NoCode),
        Field::Count => u32::from(parts.count).checked_sub(1).ok_or(bits::NoCode),
        Field::List => Ok(parts.count.into()),
        Field::Completion => return completion_code(version, row, parts.completion),
        Field::Order => {
            let row = ORDERS.iter().position(|row| row.1 == parts.order);
            Ok(row.map_or(0, |at| at as u32 + 1))
        }
        Field::Indirect => Ok(parts.indirect.into()),
    };
    code.map_err(|bits::NoCode| Unencodable::Field(field))
}

/// Whether the operand A of this instruction is left out.
fn takes_nothing(row: &Parsed, parts: &Parts) -> bool {
    row.width(Field::Operation) > 0 && parts.operation.is_unary()
}

/// Whether this is a command whose operand B is the number of a CSR.
fn is_fast(row: &Parsed) -> bool {
    matches!(row.row.form, Form::Command(_, Operation::FastWrite))
}

fn distance(width: u32, target: u16, address: u16) -> Result<u32, Unencodable> {
    let distance = i32::from(target) - i32::from(address);
    let reach = 1 << (width - 1);
    if (-reach..reach).contains(&distance) {
        Ok(distance as u32 & ones(width) as u32)
    } else {
        Err(Unencodable::Far { distance, reach })
    }
}

/// Returns the number of signals. They are numbered from 1.
fn signals(version: Version) -> u8 {
    match version {
        Version::One => Signal::NAMES.len() as u8,
        Version::Two => 15,
    }
}

/// The code of `ctx_arb[bpt]`.
const BREAKPOINT: u32 = 4;

/// Returns the code of a wait. Voluntary is 0, kill 1, all of the signals 2, one of them 3. A bit
/// for each signal follows.
fn wait_code(version: Version, wait: Wait) -> Result<u32, Unencodable> {
    match wait {
        Wait::Voluntary => Ok(0),
        Wait::Kill => Ok(1),
        Wait::Breakpoint if version == Version::Two => Ok(BREAKPOINT),
        Wait::Breakpoint => Err(Unencodable::Signal),
        Wait::Signals { mask, any } => {
            let bits = u32::from(mask) >> 1;
            let is_valid = bits != 0
                && mask & 1 == 0
                && u64::from(bits) <= ones(signals(version).into())
                && !(any && version == Version::One);
            let kind = if any { 3 } else { 2 };
            if is_valid { Ok(bits << 2 | kind) } else { Err(Unencodable::Signal) }
        }
    }
}

/// Returns the code of a completion. Version 1: nothing, `sig_done`, `ctx_swap`. Version 2: a bit
/// for `ctx_swap`, then the signal.
fn completion_code(
    version: Version,
    row: &Parsed,
    completion: Completion,
) -> Result<u32, Unencodable> {
    let Form::Command(unit, _) = row.row.form else { return Err(Unencodable::Signal) };
    let (signal, swaps) = match completion {
        Completion::None => return Ok(0),
        Completion::Signal(signal) => (signal, false),
        Completion::Swap(signal) => (signal, true),
    };
    match version {
        Version::One if signal == unit_signal(unit) => Ok(1 + u32::from(swaps)),
        Version::Two if (1..16).contains(&signal.0) => {
            Ok(u32::from(swaps) << 4 | u32::from(signal.0))
        }
        _ => Err(Unencodable::Signal),
    }
}

fn decode_row(version: Version, row: &Parsed, word: u64, address: u16) -> Option<Instruction> {
    if row.row.form == Form::LoadAddress {
        return None;
    }
    let bits_of = |placed: &Placed| (word >> placed.low & ones(placed.width)) as u32;
    let find =
        |field| row.pieces.iter().find(|placed| placed.piece == Piece::Field(field)).map(bits_of);
    let swapped = find(Field::Swap) == Some(1);
    let (bank_a, bank_b) = if swapped { (Bank::B, Bank::A) } else { (Bank::A, Bank::B) };
    let mut parts = Parts::default();
    for placed in &row.pieces {
        let Piece::Field(field) = placed.piece else { continue };
        let code = bits_of(placed);
        let width = placed.width;
        let banked = || {
            let bank = if code >> (width - 1) != 0 { Bank::B } else { Bank::A };
            bits::source_of(version, width - 1, code & ones(width - 1) as u32, bank)
        };
        match field {
            Field::Destination => {
                parts.destination = bits::destination_of(version, width, code)?;
            }
            Field::A => parts.a = bits::source_of(version, width, code, bank_a)?,
            Field::B => parts.b = bits::source_of(version, width, code, bank_b)?,
            Field::Swap => {}
            Field::BankedA => parts.a = banked()?,
            Field::BankedB => parts.b = banked()?,
            Field::Operation => parts.operation = bits::operation_of(version, width, code)?,
            Field::Shift => parts.shift = bits::shift_of(code)?,
            Field::Amount => parts.amount = Some(code as u8).filter(|&amount| amount != 0),
            Field::Value => parts.value = code,
            Field::Immediate => parts.value = bits::immediate_of(code)?,
            Field::Number => match row.row.form {
                Form::Command(..) if is_fast(row) => parts.b = Source::Constant(code as u8),
                Form::Command(..) => parts.a = Source::Constant(code as u8),
                _ => parts.number = code as u8,
            },
            Field::Check => parts.check = Check::of_number(code as u8)?,
            Field::CamPointer => {
                let (pointer, block) = ((code >> 2 & 1) as u8, (code & 3) as u8);
                parts.pointer = (code >> 3 != 0).then_some(CamPointer { pointer, block });
            }
            Field::Target => parts.target = code as u16,
            Field::Distance => {
                let shift = 32 - width;
                let distance = (code << shift) as i32 >> shift;
                parts.target = u16::try_from(i32::from(address) + distance).ok()?;
            }
            Field::Defer => parts.defer = code as u8,
            Field::Wait => {
                parts.wait = match code & 3 {
                    0 if code == BREAKPOINT => Wait::Breakpoint,
                    0 => Wait::Voluntary,
                    1 => Wait::Kill,
                    kind => Wait::Signals { mask: (code >> 2 << 1) as u16, any: kind == 3 },
                };
            }
            Field::Transfer => parts.transfer = Some(code as u8),
            Field::Count => parts.count = code as u8 + 1,
            Field::List => parts.count = code as u8,
            Field::Completion => parts.completion = completion_of(version, row, code)?,
            Field::Order => {
                let order = (code as usize).checked_sub(1).map(|at| ORDERS.get(at).map(|r| r.1));
                parts.order = order.unwrap_or(Some(Order::Default))?;
            }
            Field::Indirect => parts.indirect = code != 0,
        }
    }
    if takes_nothing(row, &parts) && parts.a == Source::Constant(0) {
        parts.a = Source::None;
    }
    Some(parts.instruction(row.row.form))
}

fn completion_of(version: Version, row: &Parsed, code: u32) -> Option<Completion> {
    let Form::Command(unit, _) = row.row.form else { return None };
    match (version, code) {
        (_, 0) => Some(Completion::None),
        (Version::One, 1) => Some(Completion::Signal(unit_signal(unit))),
        (Version::One, 2) => Some(Completion::Swap(unit_signal(unit))),
        (Version::One, _) => None,
        (Version::Two, code) => {
            let signal = Signal((code & 15) as u8);
            let swaps = code >> 4 != 0;
            Some(if swaps { Completion::Swap(signal) } else { Completion::Signal(signal) })
        }
    }
}

impl Command {
    /// Returns the number of words that the command reads from and writes to transfer registers,
    /// with its own count.
    pub fn words(&self) -> (u8, u8) {
        (self.words_out(self.count), self.words_in(self.count))
    }

    /// Returns the first transfer register and its file.
    pub fn transfer(&self) -> Option<(TransferFile, u8)> {
        self.transfer.map(|register| (self.file(), register))
    }
}
