//! Reads lines as instructions. Their registers, labels and signals may still be names.

use std::ops::Range;

use wireloom_isa::microengine::parts::Parts;
use wireloom_isa::microengine::table::{Field, Form, ORDERS, Parsed, Slot};
use wireloom_isa::microengine::{
    CamPointer, Check, Completion, InputState, Operation, Polynomial, Shift, Signal, Source,
    Version, Wait, code, csr,
};

use crate::diagnostic::Diagnostic;
use crate::expression::evaluate;
use crate::line::{Line, closing, split};
use crate::names::{Named, Names};

/// Other public names of the branches of version 2.
const ALIASES: [(&str, &str); 14] = [
    ("beq", "br=0"),
    ("bne", "br!=0"),
    ("bmi", "br_bmi"),
    ("bpl", "br_bpl"),
    ("bcs", "br=cout"),
    ("bhs", "br=cout"),
    ("bcc", "br!=cout"),
    ("blo", "br!=cout"),
    ("bvs", "br_bvs"),
    ("bvc", "br_bvc"),
    ("bge", "br>=0"),
    ("blt", "br<0"),
    ("bgt", "br>0"),
    ("ble", "br<=0"),
];

/// A signal operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOf {
    Number(u8),
    /// An index of [`Names::signals`].
    Named(usize),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Item {
    pub form: Form,
    pub parts: Parts,
    /// The registers to be allocated: for each role an index of [`Names::nodes`].
    pub nodes: [Option<usize>; 3],
    /// The number of transfer registers that were declared from the command's register on, if the
    /// register has a name.
    pub following: Option<u8>,
    pub label: Option<String>,
    pub import: Option<String>,
    pub completion: Option<(SignalOf, bool)>,
    pub waits: Vec<SignalOf>,
    /// A literal word (`.word`).
    pub raw: Option<u64>,
    /// The index of the line.
    pub line: usize,
    /// The places of the operands in the line.
    pub places: Vec<(Slot, Range<usize>)>,
}

/// Reads the instructions of a line.
pub struct Reader<'a> {
    pub names: &'a mut Names,
    pub line: &'a Line,
    pub number: usize,
}

pub(crate) type Outcome<T> = Result<T, Box<Diagnostic>>;

/// A part of a line with its place.
pub(crate) type Piece = (String, Range<usize>);

impl Reader<'_> {
    pub(crate) fn error(
        &self,
        code: &'static str,
        at: &Range<usize>,
        message: String,
    ) -> Box<Diagnostic> {
        Box::new(self.line.error(code, at.clone(), message))
    }

    /// Reads the instruction at `start` of the line.
    pub fn instruction(&mut self, start: usize) -> Outcome<Item> {
        let text = self.line.text[start..].trim_end();
        let end = text.find(|c: char| c == '[' || c == ',' || c.is_whitespace());
        let end = end.unwrap_or(text.len());
        let mnemonic = text[..end].to_owned();
        let at = start..start + end;
        let rest_at = start + end + text[end..].len() - text[end..].trim_start().len();
        let rest = self.line.text[rest_at..].trim_end();
        let (operands, tokens_at) = if rest.starts_with('[') {
            let Some(close) = closing(rest) else {
                let whole = rest_at..rest_at + rest.len();
                return Err(self.error("U0101", &whole, "`]` is missing".to_owned()));
            };
            (split(&rest[1..close], rest_at + 1), rest_at + close + 1)
        } else {
            (Vec::new(), rest_at)
        };
        let after = self.line.text[tokens_at..].trim_end();
        let trimmed = after.trim_start();
        let tokens = match trimmed.strip_prefix(',') {
            Some(tokens) => split(tokens, tokens_at + after.len() - tokens.len()),
            None if trimmed.is_empty() => Vec::new(),
            None => {
                let whole = tokens_at..tokens_at + after.len();
                let message = format!("`{trimmed}` is not expected here");
                return Err(self.error("U0101", &whole, message));
            }
        };
        // Public sources write these words as tokens; the table has them as operands.
        let (mut operands, mut tokens) = (operands, tokens);
        let moved = match mnemonic.as_str() {
            "find_bset" => "clr_results",
            "ctx_arb" => "any",
            _ => "",
        };
        if let Some(found) = tokens.iter().position(|token| token.0 == moved) {
            operands.insert(0, tokens.remove(found));
        }
        let row = self.row(&mnemonic, &at, &operands)?;
        let mut item = Item {
            form: row.row.form,
            parts: Parts::default(),
            nodes: [None; 3],
            following: None,
            label: None,
            import: None,
            completion: None,
            waits: Vec::new(),
            raw: None,
            line: self.number,
            places: Vec::new(),
        };
        let mut given = operands.iter();
        for &slot in &row.slots {
            if slot == Slot::Signals {
                let all: Vec<&Piece> = given.by_ref().collect();
                self.signals(&mut item, &all, &at)?;
                continue;
            }
            let Some(piece) = given.next() else { break };
            item.places.push((slot, piece.1.clone()));
            self.operand(&mut item, slot, piece)?;
        }
        for token in &tokens {
            self.token(&mut item, row, token)?;
        }
        Ok(item)
    }

    /// The row of the table with this mnemonic that the operands fit.
    fn row(
        &self,
        mnemonic: &str,
        at: &Range<usize>,
        operands: &[Piece],
    ) -> Outcome<&'static Parsed> {
        let version = self.names.version();
        let alias = ALIASES.iter().find(|(name, _)| version == Version::Two && *name == mnemonic);
        let mnemonic = alias.map_or(mnemonic, |(_, known)| known);
        let rows: Vec<&Parsed> =
            version.rows().iter().filter(|row| row.mnemonic == mnemonic).collect();
        if rows.is_empty() {
            let other = if version == Version::One { Version::Two } else { Version::One };
            let mut error =
                self.error("U0201", at, format!("there is no instruction `{mnemonic}`"));
            if other.rows().iter().any(|row| row.mnemonic == mnemonic) {
                let number = other as usize + 1;
                error.help = Some(format!("version {number} has it: `.version {number}`"));
            }
            return Err(error);
        }
        let least = |row: &Parsed| {
            let optional = |slot: &&Slot| **slot == Slot::Shift { optional: true };
            row.slots.len() - row.slots.iter().filter(optional).count()
        };
        let fits = |row: &&&Parsed| {
            let words = row.slots.iter().zip(operands);
            words
                .filter(|(slot, _)| matches!(slot, Slot::Word(_)))
                .all(|(slot, given)| matches!(slot, Slot::Word(word) if *word == given.0.as_str()))
        };
        let counts = |row: &&&Parsed| match row.slots.last() {
            Some(Slot::Signals) => !operands.is_empty(),
            _ => (least(row)..=row.slots.len()).contains(&operands.len()),
        };
        // An operand that matches a fixed word of one row is not a register of another row.
        let words =
            |row: &&&Parsed| row.slots.iter().filter(|slot| matches!(slot, Slot::Word(_))).count();
        if let Some(row) = rows.iter().filter(|row| fits(row) && counts(row)).max_by_key(words) {
            return Ok(row);
        }
        let message = format!("these operands do not fit `{mnemonic}`");
        let whole = at.start..operands.last().map_or(at.end, |last| last.1.end);
        let mut error = self.error("U0202", &whole, message);
        let mut forms: Vec<&str> = rows.iter().filter(fits).map(|row| row.row.syntax).collect();
        if forms.is_empty() {
            forms = rows.iter().map(|row| row.row.syntax).collect();
        }
        forms.truncate(6);
        error.help = Some(format!("write {}", forms.join(" or ")));
        Err(error)
    }

    fn constant(&self, piece: &Piece) -> Outcome<i64> {
        evaluate(&self.names.numbered(&piece.0)).map_err(|why| self.error("U0104", &piece.1, why))
    }

    pub(crate) fn number(&self, piece: &Piece, most: i64, what: &str) -> Outcome<u32> {
        let value = self.constant(piece)?;
        if (0..=most).contains(&value) {
            return Ok(value as u32);
        }
        let message = format!("{what} must be 0 to {most}, and this is {value}");
        Err(self.error("U0302", &piece.1, message))
    }

    fn operand(&mut self, item: &mut Item, slot: Slot, piece: &Piece) -> Outcome<()> {
        let text = piece.0.as_str();
        match slot {
            Slot::Word(_) | Slot::Signals => {}
            Slot::Destination => self.destination(item, piece)?,
            Slot::A => (item.parts.a, item.nodes[1]) = self.source(piece)?,
            Slot::B => (item.parts.b, item.nodes[2]) = self.source(piece)?,
            Slot::Operation => {
                let operation = wireloom_isa::microengine::AluOperation::of_name(text);
                item.parts.operation = operation.ok_or_else(|| {
                    self.error("U0202", &piece.1, format!("the ALU has no operation `{text}`"))
                })?;
            }
            Slot::Shift { .. } => item.parts.shift = self.shift(piece)?,
            Slot::Amount => {
                item.parts.amount = match self.shift(piece)? {
                    Shift::Right(amount) => Some(amount),
                    Shift::RightIndirect => None,
                    _ => {
                        let message = "a double shift goes to the right by 1 to 31 bits";
                        return Err(self.error("U0302", &piece.1, message.to_owned()));
                    }
                };
            }
            Slot::Value | Slot::Immediate => {
                if self.names.find(text) == Some(Named::Import) {
                    item.import = Some(text.to_owned());
                    if !matches!(item.form, Form::ImmediateWord(_)) {
                        let message = format!("`{text}` is known when the program is loaded");
                        let mut error = self.error("U0302", &piece.1, message);
                        error.help = Some("take it by immed32[register, name]".to_owned());
                        return Err(error);
                    }
                    return Ok(());
                }
                item.parts.value = self.value(item.form, piece)?;
            }
            Slot::Mask => {
                let digits = text.strip_prefix("0b").unwrap_or(text);
                let is_mask =
                    digits.len() == 4 && digits.bytes().all(|digit| b"01".contains(&digit));
                let mask = u8::from_str_radix(digits, 2).ok().filter(|_| is_mask);
                item.parts.number = mask.ok_or_else(|| {
                    let message = "the bytes are four binary digits, such as 0011";
                    self.error("U0302", &piece.1, message.to_owned())
                })?;
            }
            Slot::Polynomial => {
                let row = Polynomial::ALL.iter().find(|row| row.0 == text);
                item.parts.check.polynomial = row.map(|row| row.1).ok_or_else(|| {
                    let message = format!("there is no polynomial `{text}`");
                    let mut error = self.error("U0202", &piece.1, message);
                    let names = Polynomial::ALL.map(|row| row.0).join(", ");
                    error.help = Some(format!("polynomials are {names}"));
                    error
                })?;
            }
            Slot::Number => {
                let contexts = self.names.version().sizes().contexts as i64;
                let (most, what) = match item.form {
                    Form::BranchBit(_) => (31, "a bit"),
                    Form::BranchContext(_) => (contexts - 1, "a context"),
                    Form::CamWrite | Form::CamWriteState => (15, "a state"),
                    _ => (3, "the number"),
                };
                item.parts.number = self.number(piece, most, what)? as u8;
            }
            Slot::State => {
                let number = InputState::NAMES.iter().position(|name| *name == text);
                item.parts.number = number.map(|number| number as u8).ok_or_else(|| {
                    let mut error =
                        self.error("U0202", &piece.1, format!("there is no state `{text}`"));
                    error.help = Some(format!("states are {}", InputState::NAMES.join(", ")));
                    error
                })?;
            }
            Slot::Signal => {
                let signal = self.signal(text, &piece.1)?;
                item.waits.push(signal);
            }
            Slot::LocalCsr => {
                let registers = csr::local(self.names.version());
                item.parts.number = self.csr(registers, piece)?;
            }
            Slot::UnitCsr => {
                let Form::Command(unit, _) = item.form else {
                    return Err(self.error("U0208", &piece.1, "no unit has this CSR".to_owned()));
                };
                let number = Source::Constant(self.csr(csr::of_unit(unit), piece)?);
                if matches!(item.form, Form::Command(_, Operation::FastWrite)) {
                    item.parts.b = number;
                } else {
                    item.parts.a = number;
                }
            }
            Slot::Label => item.label = Some(text.trim_end_matches('#').to_owned()),
            Slot::Transfer => self.transfer(item, piece)?,
            Slot::Count => item.parts.count = self.number(piece, 255, "a count")? as u8,
            Slot::List => item.parts.count = self.number(piece, 7, "a list")? as u8,
        }
        Ok(())
    }

    /// Reads the constant of an instruction that loads one. The constant may have a sign.
    fn value(&self, form: Form, piece: &Piece) -> Outcome<u32> {
        let bits = match form {
            Form::ImmediateByte(_) | Form::BranchByte(_) => 8,
            Form::ImmediateWord(_) => 16,
            _ => 32,
        };
        let value = self.constant(piece)?;
        let range = -(1_i64 << (bits - 1))..1_i64 << bits;
        if range.contains(&value) {
            return Ok((value & ((1 << bits) - 1)) as u32);
        }
        Err(self.error("U0302", &piece.1, format!("{value} does not fit into {bits} bits")))
    }

    fn csr(&self, registers: &[csr::Csr], piece: &Piece) -> Outcome<u8> {
        let text = piece.0.as_str();
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number(piece, 255, "a CSR").map(|number| number as u8);
        }
        csr::number(registers, text)
            .ok_or_else(|| self.error("U0208", &piece.1, format!("there is no CSR `{text}`")))
    }

    fn shift(&self, piece: &Piece) -> Outcome<Shift> {
        let text = piece.0.as_str();
        let is_left = text.starts_with("<<");
        let Some(amount) = text.strip_prefix("<<").or_else(|| text.strip_prefix(">>")) else {
            let message = format!("`{text}` is no shift, such as <<4, >>8, >>rot16, >>indirect");
            return Err(self.error("U0202", &piece.1, message));
        };
        let amount = amount.trim();
        if amount == "indirect" {
            return Ok(if is_left { Shift::LeftIndirect } else { Shift::RightIndirect });
        }
        let (digits, rotates) = match amount.strip_prefix("rot") {
            Some(digits) => (digits, true),
            None => (amount, false),
        };
        let by = self.number(&(digits.to_owned(), piece.1.clone()), 31, "a shift")? as u8;
        Ok(match (by, rotates, is_left) {
            (0, ..) => Shift::None,
            (by, true, true) => Shift::Rotate(32 - by),
            (by, true, false) => Shift::Rotate(by),
            (by, false, true) => Shift::Left(by),
            (by, false, false) => Shift::Right(by),
        })
    }

    fn signal(&self, text: &str, at: &Range<usize>) -> Outcome<SignalOf> {
        if let Some(Named::Signal(signal)) = self.names.find(text) {
            return Ok(SignalOf::Named(signal));
        }
        let number = match self.names.version() {
            Version::One => {
                let known = Signal::NAMES.iter().position(|name| *name == text);
                known.map(|number| number as u8 + 1)
            }
            Version::Two => {
                let number = text.strip_prefix('s').and_then(|digits| digits.parse().ok());
                number.filter(|number: &u8| (1..16).contains(number))
            }
        };
        number.map(SignalOf::Number).ok_or_else(|| {
            let mut error = self.error("U0204", at, format!("there is no signal `{text}`"));
            error.help = Some(match self.names.version() {
                Version::One => {
                    format!("declare it: .sig {text}; or one of {}", Signal::NAMES.join(", "))
                }
                Version::Two => format!("declare it: .sig {text}"),
            });
            error
        })
    }

    fn signals(&self, item: &mut Item, given: &[&Piece], at: &Range<usize>) -> Outcome<()> {
        let mut any = false;
        for piece in given {
            match piece.0.as_str() {
                "voluntary" if given.len() == 1 => return Ok(()),
                "kill" if given.len() == 1 => {
                    item.parts.wait = Wait::Kill;
                    return Ok(());
                }
                "bpt" if given.len() == 1 && self.names.version() == Version::Two => {
                    item.parts.wait = Wait::Breakpoint;
                    return Ok(());
                }
                "any" => any = true,
                "all" => any = false,
                name => item.waits.push(self.signal(name, &piece.1)?),
            }
        }
        if item.waits.is_empty() {
            let message = "it waits for no signal".to_owned();
            return Err(self.error("U0202", at, message));
        }
        item.parts.wait = Wait::Signals { mask: 0, any };
        Ok(())
    }

    fn token(&self, item: &mut Item, row: &Parsed, token: &Piece) -> Outcome<()> {
        let (text, at) = (token.0.as_str(), &token.1);
        let (name, inside) = match text.split_once('[') {
            Some((name, rest)) => (name.trim(), rest.strip_suffix(']').map(str::trim)),
            None => (text, None),
        };
        let refuse = || {
            let message = format!("`{}` does not take the token `{text}`", row.row.syntax);
            Err(self.error("U0207", at, message))
        };
        match name {
            "defer" => {
                let Some(inside) = inside else { return refuse() };
                let most = row.most_deferred();
                let count = self.constant(&(inside.to_owned(), at.clone()))?;
                match u8::try_from(count) {
                    Ok(count) if count <= most => item.parts.defer = count,
                    _ if most == 0 => return refuse(),
                    _ => {
                        let message = format!("at most {most} instructions can be deferred here");
                        return Err(self.error("U0307", at, message));
                    }
                }
            }
            "bit_swap" if row.width(Field::Check) > 0 => item.parts.check.bit_swap = true,
            "lm_addr0" | "lm_addr1" if row.width(Field::CamPointer) > 0 => {
                let Some(inside) = inside else { return refuse() };
                let piece = (inside.to_owned(), at.clone());
                let block = self.number(&piece, 3, "a block of local memory")? as u8;
                let pointer = u8::from(name == "lm_addr1");
                item.parts.pointer = Some(CamPointer { pointer, block });
            }
            "indirect_ref" if row.width(Field::Indirect) > 0 => item.parts.indirect = true,
            "sig_done" | "ctx_swap" if row.width(Field::Completion) > 0 => {
                let Form::Command(unit, _) = item.form else { return refuse() };
                let signal = match inside {
                    Some(inside) => self.signal(inside, at)?,
                    None if self.names.version() == Version::One => {
                        SignalOf::Number(code::unit_signal(unit).0)
                    }
                    None => {
                        let message = format!("`{name}` needs a signal: {name}[signal]");
                        return Err(self.error("U0207", at, message));
                    }
                };
                if item.completion.is_some() {
                    let message = "a command has one of `sig_done` and `ctx_swap`".to_owned();
                    return Err(self.error("U0207", at, message));
                }
                item.completion = Some((signal, name == "ctx_swap"));
                // The signal's number is assigned when all signals are known.
                item.parts.completion = Completion::None;
            }
            _ if row.width(Field::Check) > 0 => {
                let bytes = Check::BYTES.into_iter().find(|at| Check::bytes_token(*at) == name);
                let Some((first, last)) = bytes else { return refuse() };
                item.parts.check = Check { first, last, ..item.parts.check };
            }
            _ => match ORDERS.iter().find(|row| row.0 == name) {
                Some((_, order)) if row.width(Field::Order) > 0 => item.parts.order = *order,
                _ => return refuse(),
            },
        }
        Ok(())
    }
}
