//! Register operands of instructions: the meaning of their names and numbers.

use wireloom_isa::microengine::table::Form;
use wireloom_isa::microengine::{Destination, Index, Source, Step, Unit};

use crate::diagnostic::Diagnostic;
use crate::expression::evaluate;
use crate::line::is_name;
use crate::names::{Named, raw_gpr, raw_transfer};
use crate::statement::{Item, Outcome, Piece, Reader};

impl Reader<'_> {
    fn unknown(&self, piece: &Piece) -> Box<Diagnostic> {
        let mut error =
            self.error("U0203", &piece.1, format!("there is no register `{}`", piece.0));
        error.help = Some(match self.names.similar(&piece.0) {
            Some(name) => format!("is `{name}` meant?"),
            None => format!("declare it: .reg {}", piece.0),
        });
        error
    }

    /// Parses a register that is addressed by an index, or local memory: `*l$index0[3]`,
    /// `*$index++`, `*n$index++`.
    fn indirect(text: &str) -> Option<Source> {
        let (text, step) = if let Some(text) = text.strip_suffix("++") {
            (text, Step::Increment)
        } else if let Some(text) = text.strip_suffix("--") {
            (text, Step::Decrement)
        } else {
            (text, Step::None)
        };
        match text {
            "*n$index" if step == Step::Increment => return Some(Source::NeighbourRing),
            "*$index" => return Some(Source::TransferIndexed(step)),
            _ => {}
        }
        let rest = text.strip_prefix("*l$index")?;
        let pointer = match rest.as_bytes().first()? {
            b'0' => 0,
            b'1' => 1,
            _ => return None,
        };
        let offset = match &rest[1..] {
            "" => 0,
            offset => {
                let inside = offset.strip_prefix('[')?.strip_suffix(']')?;
                u8::try_from(evaluate(inside).ok()?).ok().filter(|&offset| offset < 16)?
            }
        };
        (step == Step::None || offset == 0).then_some(Source::Local { pointer, offset, step })
    }

    /// Reads a source operand. The second value is its node, if the register is still to be
    /// allocated.
    pub(crate) fn source(&mut self, piece: &Piece) -> Outcome<(Source, Option<usize>)> {
        let text = piece.0.as_str();
        if text == "--" {
            return Ok((Source::None, None));
        }
        if text.starts_with('*') {
            let source = Self::indirect(text).ok_or_else(|| self.unknown(piece))?;
            return Ok((source, None));
        }
        let bare = text.trim_start_matches(['$', '@']);
        let is_word = bare.chars().all(is_name) || text.starts_with("n$");
        if !is_word || bare.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
            let value = self.number(piece, 255, "a constant operand")?;
            return Ok((Source::Constant(value as u8), None));
        }
        match self.register(piece)? {
            Named::Gpr(node) => {
                let place = self.line.place_of(piece.1.clone());
                let register = &mut self.names.nodes[node];
                register.is_read = true;
                register.read.get_or_insert(place);
                Ok((Source::None, Some(node)))
            }
            Named::Transfer(file, number) => {
                Ok((Source::Transfer(file, Index::Relative(number)), None))
            }
            Named::Neighbour(number) => Ok((Source::Neighbour(Index::Relative(number)), None)),
            Named::Signal(_) | Named::Import => match raw_gpr(text) {
                Some((bank, index)) => Ok((Source::Gpr(bank, index), None)),
                None => Err(self.unknown(piece)),
            },
        }
    }

    /// The meaning of a register name. For an undeclared register given by its number it is
    /// [`Named::Import`], and the caller examines the number.
    fn register(&self, piece: &Piece) -> Outcome<Named> {
        let text = piece.0.as_str();
        if let Some(named) = self.names.find(text) {
            return Ok(named);
        }
        if raw_gpr(text).is_some() {
            return Ok(Named::Import);
        }
        raw_transfer(text).ok_or_else(|| self.unknown(piece))
    }

    pub(crate) fn destination(&mut self, item: &mut Item, piece: &Piece) -> Outcome<()> {
        let text = piece.0.as_str();
        item.parts.destination = if text == "--" {
            Destination::None
        } else if text.starts_with('*') {
            match Self::indirect(text).ok_or_else(|| self.unknown(piece))? {
                Source::TransferIndexed(step) => Destination::TransferIndexed(step),
                Source::Local { pointer, offset, step } => {
                    Destination::Local { pointer, offset, step }
                }
                _ => Destination::NeighbourRing,
            }
        } else {
            match self.register(piece)? {
                Named::Gpr(node) => {
                    self.names.nodes[node].is_written = true;
                    item.nodes[0] = Some(node);
                    Destination::None
                }
                Named::Transfer(file, number) => {
                    Destination::Transfer(file, Index::Relative(number))
                }
                Named::Neighbour(number) => Destination::Neighbour(Index::Relative(number)),
                Named::Signal(_) | Named::Import => match raw_gpr(text) {
                    Some((bank, index)) => Destination::Gpr(bank, index),
                    None => return Err(self.unknown(piece)),
                },
            }
        };
        Ok(())
    }

    pub(crate) fn transfer(&mut self, item: &mut Item, piece: &Piece) -> Outcome<()> {
        let Form::Command(unit, _) = item.form else { return Ok(()) };
        let wants = if unit == Unit::Sdram { "$$" } else { "$" };
        match self.register(piece)? {
            Named::Transfer(file, number) if (file as usize == 1) == (unit == Unit::Sdram) => {
                item.parts.transfer = Some(number);
                item.following = self.names.follow(&piece.0, file, number);
                Ok(())
            }
            _ => {
                let message = format!("the unit transfers by registers of the kind {wants}name");
                Err(self.error("U0302", &piece.1, message))
            }
        }
    }
}
