//! Writes instructions as text that the assembler reads.

use std::fmt::Write;

use super::operand::{Bank, Destination, Index, Shift, Signal, Source, Step, TransferFile};
use super::parts::Parts;
use super::table::{Field, Form, ORDERS, Slot};
use super::{
    CamPointer, Check, Completion, InputState, Instruction, Operation, Polynomial, Unit, Version,
    Wait, csr,
};

/// Writes an instruction. A target is `l` and its address. Registers have numbers: `a3` and `b3` of
/// the banks, `@a3` absolute, `$3` and `$$3` transfer registers, `n$3` next neighbours, `s3`
/// signals.
pub fn disassemble(version: Version, instruction: &Instruction) -> String {
    let (form, parts) = Parts::of(instruction);
    let Some(row) = version.row(form) else { return "?".to_owned() };
    let mut operands = Vec::new();
    for &slot in &row.slots {
        let text = operand(version, form, slot, &parts);
        if !text.is_empty() {
            operands.push(text);
        }
    }
    let mut line = row.mnemonic.to_owned();
    if row.row.syntax.contains('[') {
        let _ = write!(line, "[{}]", operands.join(", "));
    }
    for token in tokens(version, form, &parts) {
        let _ = write!(line, ", {token}");
    }
    line
}

fn tokens(version: Version, form: Form, parts: &Parts) -> Vec<String> {
    let mut tokens = Vec::new();
    if let Form::Crc { .. } = form {
        let bytes = (parts.check.first, parts.check.last);
        if bytes != Check::BYTES[0] {
            tokens.push(Check::bytes_token(bytes));
        }
        if parts.check.bit_swap {
            tokens.push("bit_swap".to_owned());
        }
    }
    if let Some(CamPointer { pointer, block }) = parts.pointer {
        tokens.push(format!("lm_addr{pointer}[{block}]"));
    }
    if let Some((name, _)) = ORDERS.iter().find(|row| row.1 == parts.order) {
        tokens.push((*name).to_owned());
    }
    if parts.indirect {
        tokens.push("indirect_ref".to_owned());
    }
    let named = |token: &str, signal| match version {
        Version::One => token.to_owned(),
        Version::Two => format!("{token}[{}]", signal_name(version, signal)),
    };
    match parts.completion {
        Completion::None => {}
        Completion::Signal(signal) => tokens.push(named("sig_done", signal)),
        Completion::Swap(signal) => tokens.push(named("ctx_swap", signal)),
    }
    if parts.defer > 0 {
        tokens.push(format!("defer[{}]", parts.defer));
    }
    tokens
}

/// Returns the name of a signal: of the unit on version 1, by its number on version 2.
pub fn signal_name(version: Version, signal: Signal) -> String {
    match version {
        Version::One => {
            let name = Signal::NAMES.get(usize::from(signal.0).wrapping_sub(1));
            name.map_or_else(|| format!("s{}", signal.0), |name| (*name).to_owned())
        }
        Version::Two => format!("s{}", signal.0),
    }
}

fn operand(version: Version, form: Form, slot: Slot, parts: &Parts) -> String {
    match slot {
        Slot::Word(word) => word.to_owned(),
        Slot::Destination => destination(parts.destination),
        Slot::A => source(parts.a),
        Slot::B => source(parts.b),
        Slot::Operation => parts.operation.name().to_owned(),
        Slot::Shift { optional: true } if parts.shift == Shift::None => String::new(),
        Slot::Shift { .. } => shift(parts.shift),
        Slot::Amount => parts.amount.map_or(">>indirect".to_owned(), |by| format!(">>{by}")),
        Slot::Value | Slot::Immediate => format!("{:#x}", parts.value),
        Slot::Mask => format!("{:04b}", parts.number),
        Slot::Polynomial => {
            let row = Polynomial::ALL.iter().find(|row| row.1 == parts.check.polynomial);
            row.map_or_else(String::new, |row| row.0.to_owned())
        }
        Slot::Number => parts.number.to_string(),
        Slot::State => {
            let name = InputState::NAMES.get(usize::from(parts.number));
            name.map_or_else(String::new, |name| (*name).to_owned())
        }
        Slot::Signal => signal_name(version, Signal(parts.number)),
        Slot::Signals => signals(version, parts.wait),
        Slot::LocalCsr => {
            let name = csr::name(csr::local(version), parts.number);
            name.map_or_else(|| parts.number.to_string(), str::to_owned)
        }
        Slot::UnitCsr => {
            let is_fast = matches!(form, Form::Command(_, Operation::FastWrite));
            let registers = match form {
                Form::Command(unit, _) => csr::of_unit(unit),
                _ => csr::FBI,
            };
            match if is_fast { parts.b } else { parts.a } {
                Source::Constant(number) => {
                    csr::name(registers, number).map_or_else(|| number.to_string(), str::to_owned)
                }
                _ => String::new(),
            }
        }
        Slot::Label => format!("l{}", parts.target),
        Slot::Transfer => {
            let mark = if matches!(form, Form::Command(Unit::Sdram, _)) { "$$" } else { "$" };
            parts.transfer.map_or_else(|| "--".to_owned(), |number| format!("{mark}{number}"))
        }
        Slot::Count | Slot::List => parts.count.to_string(),
    }
}

fn signals(version: Version, wait: Wait) -> String {
    match wait {
        Wait::Voluntary => "voluntary".to_owned(),
        Wait::Kill => "kill".to_owned(),
        Wait::Breakpoint => "bpt".to_owned(),
        Wait::Signals { mask, any } => {
            let names = (1..16).filter(|number| mask >> number & 1 != 0);
            let mut names: Vec<String> =
                names.map(|number| signal_name(version, Signal(number))).collect();
            if any {
                names.insert(0, "any".to_owned());
            }
            names.join(", ")
        }
    }
}

fn indexed(prefix: &str, index: Index) -> String {
    match index {
        Index::Relative(number) => format!("{prefix}{number}"),
        Index::Absolute(number) => format!("@{prefix}{number}"),
    }
}

fn gpr(bank: Bank, index: Index) -> String {
    indexed(if bank == Bank::A { "a" } else { "b" }, index)
}

fn transfer(file: TransferFile, index: Index) -> String {
    indexed(if file == TransferFile::Sram { "$" } else { "$$" }, index)
}

fn step(step: Step) -> &'static str {
    match step {
        Step::None => "",
        Step::Increment => "++",
        Step::Decrement => "--",
    }
}

fn local(pointer: u8, offset: u8, by: Step) -> String {
    match by {
        Step::None => format!("*l$index{pointer}[{offset}]"),
        by => format!("*l$index{pointer}{}", step(by)),
    }
}

/// Returns the text of a source.
pub fn source(source: Source) -> String {
    match source {
        Source::None => "--".to_owned(),
        Source::Gpr(bank, index) => gpr(bank, index),
        Source::Transfer(file, index) => transfer(file, index),
        Source::TransferIndexed(by) => format!("*$index{}", step(by)),
        Source::Neighbour(index) => indexed("n$", index),
        Source::NeighbourRing => "*n$index++".to_owned(),
        Source::Local { pointer, offset, step } => local(pointer, offset, step),
        Source::Constant(value) => value.to_string(),
    }
}

/// Returns the text of a destination.
pub fn destination(destination: Destination) -> String {
    match destination {
        Destination::None => "--".to_owned(),
        Destination::Gpr(bank, index) => gpr(bank, index),
        Destination::Transfer(file, index) => transfer(file, index),
        Destination::TransferIndexed(by) => format!("*$index{}", step(by)),
        Destination::Neighbour(index) => indexed("n$", index),
        Destination::NeighbourRing => "*n$index++".to_owned(),
        Destination::Local { pointer, offset, step } => local(pointer, offset, step),
    }
}

/// Returns the text of a shift.
pub fn shift(shift: Shift) -> String {
    match shift {
        Shift::None => "<<0".to_owned(),
        Shift::Left(by) => format!("<<{by}"),
        Shift::Right(by) => format!(">>{by}"),
        Shift::Rotate(by) => format!(">>rot{by}"),
        Shift::LeftIndirect => "<<indirect".to_owned(),
        Shift::RightIndirect => ">>indirect".to_owned(),
    }
}

/// Returns the name of a field for messages.
pub fn field_name(field: Field) -> &'static str {
    match field {
        Field::Destination => "destination",
        Field::A | Field::BankedA => "first operand",
        Field::B | Field::BankedB => "second operand",
        Field::Swap => "banks",
        Field::Operation => "operation",
        Field::Shift | Field::Amount => "shift",
        Field::Value | Field::Immediate => "constant",
        Field::Number => "number",
        Field::Check => "check",
        Field::CamPointer => "pointer",
        Field::Target | Field::Distance => "target",
        Field::Defer => "number of deferred instructions",
        Field::Wait | Field::Completion => "signal",
        Field::Transfer => "transfer register",
        Field::Count => "count",
        Field::List => "list",
        Field::Order | Field::Indirect => "token",
    }
}
