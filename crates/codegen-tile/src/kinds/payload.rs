//! `payload` reads and changes bytes of the packet in its buffer.

use std::sync::Arc;

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::{Config, Instance};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{FRAME, FRONT, NOTHING, Operand, WINDOW};
use crate::frame;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::view::{Origin, put};
use crate::words::Words;

/// The most bytes of a packet.
const LONGEST: u32 = 65_535;

#[derive(Debug)]
pub struct Payload;

impl KindOnTiles for Payload {
    fn name(&self) -> &'static str {
        "payload"
    }

    fn place(
        &self,
        _config: &Config,
        _instance: &dyn Instance,
        _memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Self))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[include_str!("payload.s")]
    }
}

impl Placed for Payload {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let args = call.args;
        Ok(Some(match call.method.name {
            "read" => read(lower, args[0], call.width),
            "write" => write(lower, args[0], args[1], args[2]),
            "append" => append(lower, args[0], args[1]),
            "truncate" => truncate(lower, args[0]),
            _ => return Err(Unsupported),
        }))
    }
}

fn read(lower: &mut Lower<'_>, offset: Value, width: u32) -> Words {
    let (origin, first, word) = match lower.word(offset) {
        Operand::Number(offset) => (Origin::First, offset, NOTHING),
        word => (Origin::Value(offset), 0, word),
    };
    lower.look(origin, word, first, first + width / 8, true);
    lower.extract(8 * first, width)
}

fn write(lower: &mut Lower<'_>, offset: Value, data: Value, count: Value) -> Words {
    let offset = lower.word(offset);
    copy(lower, data, count, |lower, count, no| {
        let length = lower.load(frame::LENGTH, 1)[0];
        let end = lower.code.two(Do::Addu, offset, count);
        let is_long = lower.code.two(Do::Sltu, length, end);
        let fits = lower.code.two(Do::Xor, is_long, Operand::Number(1));
        lower.unless(fits, no);
        lower.code.two(Do::Addu, FRONT.into(), offset)
    })
}

fn append(lower: &mut Lower<'_>, data: Value, count: Value) -> Words {
    copy(lower, data, count, |lower, count, no| {
        let length = lower.load(frame::LENGTH, 1)[0];
        let end = lower.code.two(Do::Addu, length, count);
        let fits = lower.code.two(Do::Sltu, end, Operand::Number(LONGEST + 1));
        lower.unless(fits, no);
        lower.store(frame::LENGTH, &[end]);
        lower.code.two(Do::Addu, FRONT.into(), length)
    })
}

fn truncate(lower: &mut Lower<'_>, length: Value) -> Words {
    let to = lower.word(length);
    lower.or_zero(1, |lower, done| {
        let length = lower.load(frame::LENGTH, 1)[0];
        let is_longer = lower.code.two(Do::Sltu, length, to);
        let fits = lower.code.two(Do::Xor, is_longer, Operand::Number(1));
        lower.unless(fits, done);
        lower.cut_rest(|lower| lower.code.two(Do::Subu, length, to));
        lower.store(frame::LENGTH, &[to]);
        let is_less = lower.code.two(Do::Sltu, to, WINDOW.into());
        let (to, is_less) = (lower.code.in_register(to), lower.code.in_register(is_less));
        lower.code.three(Do::Movn, WINDOW, to, is_less);
        Some(vec![Operand::Number(1)])
    })
}

/// Copies the first bytes of a chunk to the address that `place` finds. `place` branches to the
/// label that it gets if there is no room. Returns whether the bytes were copied.
fn copy(
    lower: &mut Lower<'_>,
    data: Value,
    count: Value,
    place: impl FnOnce(&mut Lower<'_>, Operand, &str) -> Operand,
) -> Words {
    let (width, data) = (lower.width(data), lower.get(data));
    let count = lower.word(count);
    lower.or_zero(1, |lower, done| {
        let fits = lower.code.two(Do::Sltu, count, Operand::Number(width / 8 + 1));
        lower.unless(fits, done);
        let to = place(lower, count, done);
        let from = lower.code.two(Do::Addu, FRAME.into(), Operand::Number(frame::WORK));
        let from = lower.code.in_register(from);
        put(&mut lower.code, from, Some(0), 0, &data, width);
        lower.code.call("copy", &[from.into(), to, count], 0);
        Some(vec![Operand::Number(1)])
    })
}
