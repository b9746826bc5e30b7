//! Fields at known places. Until bytes are inserted or removed in front, fields at constant offsets
//! are at constant places of the frame. Their accesses take few instructions, and one command reads
//! several fields.

use wireloom_ir::{Engine, Exit, Op, OpKind, Step, Value};

use super::frame::{self, ARRIVES};
use super::kind::Kinds;
use super::lower::Lower;
use super::operand::{Operand, Target};
use super::state::Home;
use super::step_facts::{computes, is_exit};
use super::words::{self, Words};

/// The most words that a command reads or writes.
const MOST: u32 = 8;

/// The front of the window at the beginning of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front {
    /// No path to the step was found yet.
    Unreached,
    /// A fixed byte of the frame.
    At(u32),
    /// A byte that depends on the packet.
    Unknown,
}

/// Returns, for each step, the byte of the frame at which the window begins, if it is the same for
/// all packets.
pub fn fronts(engine: &Engine, kinds: &Kinds) -> Vec<Option<u32>> {
    let mut fronts = vec![Front::Unreached; engine.steps.len()];
    let Some(first) = fronts.first_mut() else { return Vec::new() };
    *first = Front::At(ARRIVES);
    let mut work = vec![0];
    while let Some(step) = work.pop() {
        let mut front = fronts[step];
        for op in engine.steps[step].ops() {
            if moves_front(engine, kinds, op) {
                front = Front::Unknown;
            }
            let OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) = &op.kind else { continue };
            let known = &mut fronts[to.index()];
            let both = match *known {
                Front::Unreached => front,
                same if same == front => same,
                _ => Front::Unknown,
            };
            if both != *known {
                *known = both;
                work.push(to.index());
            }
        }
    }
    let front = |front| match front {
        Front::At(byte) => Some(byte),
        _ => None,
    };
    fronts.into_iter().map(front).collect()
}

/// Returns whether an operation may move the window's front.
pub fn moves_front(engine: &Engine, kinds: &Kinds, op: &Op) -> bool {
    match &op.kind {
        OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => true,
        _ => kinds.called(engine, op).is_some_and(|(kind, method)| kind.moves_front(method)),
    }
}

/// Returns whether an engine may cut off the ends of windows.
pub fn cuts_windows(engine: &Engine, kinds: &Kinds) -> bool {
    engine
        .steps
        .iter()
        .flat_map(Step::ops)
        .any(|op| kinds.called(engine, op).is_some_and(|(kind, method)| kind.cuts_window(method)))
}

/// A field at a constant place of the frame.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The first word that has bits of it.
    first: u32,
    /// The number of bits of that word before it.
    before: u32,
    width: u32,
}

impl Field {
    /// The number of words that have bits of it.
    fn count(self) -> u32 {
        (self.before + self.width).div_ceil(32)
    }

    fn end(self) -> u32 {
        self.first + self.count()
    }

    /// Returns whether it begins after the end of the longest window in local memory.
    fn is_outside(self) -> bool {
        self.first >= frame::END / 4
    }
}

impl Lower<'_> {
    /// Returns the place of a field, `bit` bits after byte `base`, if it is known.
    pub(super) fn field(&self, base: Value, bit: u32, width: u32) -> Option<Field> {
        let base = match self.values.get(&base)?.words.as_ref()?[..] {
            [Operand::Number(base), ..] => base,
            _ => return None,
        };
        self.field_at(base, bit, width)
    }

    fn field_at(&self, base: u32, bit: u32, width: u32) -> Option<Field> {
        if self.state.home == Home::Either {
            return None;
        }
        let within = base.checked_add(bit / 8).filter(|within| *within <= frame::REACH)?;
        let byte = self.state.known? + within;
        let field = Field { first: byte / 4, before: 8 * (byte % 4) + bit % 8, width };
        (field.count() <= MOST).then_some(field)
    }

    /// Reads a field, together with nearby fields that the next operations read.
    pub(super) fn read_field(&mut self, field: Field) -> Words {
        let count = field.count() as u8;
        let words: Vec<Operand> = if self.state.home == Home::Local {
            if field.is_outside() {
                return vec![Operand::Number(0); words::count(field.width)];
            }
            let from = self.code.window_at(field.first);
            (from..from + count).rev().map(Operand::Local).collect()
        } else {
            let from = self.transfers_of(field);
            (from..from + count).rev().map(Operand::Transfer).collect()
        };
        let lo = 32 * field.count() - field.before - field.width;
        let words = words::slice(self.code, &words, lo, field.width);
        // The value must not stay in transfer registers or local memory, which change.
        words
            .into_iter()
            .map(|word| match word {
                Operand::Transfer(_) | Operand::Local(_) => self.code.copy(word).into(),
                other => other,
            })
            .collect()
    }

    /// Returns the transfer register with the first word of a field. Reads the field if needed.
    fn transfers_of(&mut self, field: Field) -> u8 {
        let (first, count) = self.with_next(field);
        match self.code.here().and_then(|here| here.transfer_of(field.first, field.count())) {
            Some(transfer) => transfer,
            None => {
                let at = Operand::Number(first);
                let transfer = self.code.read_frame(self.state.frame.into(), at, count);
                transfer + (field.first - first) as u8
            }
        }
    }

    /// Returns the words of a field and of the fields that are read after it, before any command or
    /// branch, as far as one command reads them.
    fn with_next(&self, field: Field) -> (u32, u32) {
        let (mut first, mut end) = (field.first, field.end());
        for op in &self.ops[self.at + 1..] {
            match &op.kind {
                OpKind::ReadPacket { base, bit } => {
                    let width = op.results.first().map_or(0, |value| self.width(*value));
                    let base = self.constant(*base);
                    let Some(next) = base.and_then(|base| self.field_at(base, *bit, width)) else {
                        break;
                    };
                    let (low, high) = (first.min(next.first), end.max(next.end()));
                    if high - low > MOST {
                        break;
                    }
                    (first, end) = (low, high);
                }
                _ if computes(op) || is_exit(op) => {}
                _ => break,
            }
        }
        (first, end - first)
    }

    /// Writes the words of a field that is known to be inside the window.
    pub(super) fn write_field(&mut self, field: Field, value: &Words) {
        let count = field.count();
        let by = 32 * count - field.before - field.width;
        let code = &mut *self.code;
        let mut own = words::shift_left(code, value, by, 32 * count);
        let ones = words::constant(&wireloom_bits::Bits::ones(field.width));
        let mut mask = words::shift_left(code, &ones, by, 32 * count);
        own.reverse();
        mask.reverse();
        let is_whole = |word: &Operand| *word == Operand::Number(u32::MAX);
        if self.state.home == Home::Local {
            if field.is_outside() {
                return;
            }
            let first = code.window_at(field.first);
            for (word, (own, mask)) in (first..).zip(own.into_iter().zip(mask)) {
                if is_whole(&mask) {
                    let own = code.readable(own);
                    code.set(Target::Local(word), own);
                    continue;
                }
                let kept = code.register();
                code.alu(kept, Operand::Local(word), "AND~", mask);
                code.alu(Target::Local(word), kept.into(), "OR", own);
            }
            return;
        }
        let here = code.here().and_then(|here| here.transfer_of(field.first, count));
        let from = match here {
            Some(transfer) => transfer,
            None if mask.iter().all(is_whole) => 0,
            None => {
                let at = Operand::Number(field.first);
                code.read_frame(self.state.frame.into(), at, count)
            }
        };
        let transfers = code.write_transfers(count);
        for (index, (own, mask)) in own.into_iter().zip(mask).enumerate() {
            let target = Target::Transfer(transfers + index as u8);
            if is_whole(&mask) {
                let own = match own {
                    Operand::Number(32..) => code.copy(own).into(),
                    own => own,
                };
                code.set(target, own);
                continue;
            }
            let kept = code.register();
            code.alu(kept, Operand::Transfer(from + index as u8), "AND~", mask);
            code.alu(target, kept.into(), "OR", own);
        }
        let (at, first) = (Operand::Number(field.first), format!("${transfers}"));
        code.command("sram[write", &first, self.state.frame.into(), at, count);
    }
}
