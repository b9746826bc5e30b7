//! The payload.

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;

use super::super::code::{FRAME, FRONT, NOTHING, Operand, WINDOW};
use super::super::frame;
use super::super::lower::Lower;
use super::super::packet::{Origin, put};
use super::super::words::{self, Words};

/// The longest packet.
const LONGEST: u32 = 65_535;

/// A method of the payload.
pub fn payload(lower: &mut Lower<'_>, method: &str, args: &[Value], width: u32) -> Option<Words> {
    match method {
        "read" => {
            let (origin, first, word) = match lower.word(args[0]) {
                Operand::Number(offset) => (Origin::First, offset, NOTHING),
                word => (Origin::Value(args[0]), 0, word),
            };
            lower.look(origin, word, first, first + width / 8, true);
            Some(lower.extract(8 * first, width))
        }
        "write" => {
            let offset = lower.word(args[0]);
            Some(copy(lower, args[1], args[2], |lower, count, no| {
                let length = lower.load(frame::LENGTH, 1)[0];
                let end = lower.code.two(Do::Addu, offset, count);
                let is_long = lower.code.two(Do::Sltu, length, end);
                let fits = lower.code.two(Do::Xor, is_long, Operand::Number(1));
                lower.unless(fits, no);
                lower.code.two(Do::Addu, FRONT.into(), offset)
            }))
        }
        "append" => Some(copy(lower, args[0], args[1], |lower, count, no| {
            let length = lower.load(frame::LENGTH, 1)[0];
            let end = lower.code.two(Do::Addu, length, count);
            let fits = lower.code.two(Do::Sltu, end, Operand::Number(LONGEST + 1));
            lower.unless(fits, no);
            lower.store(frame::LENGTH, &[end]);
            lower.code.two(Do::Addu, FRONT.into(), length)
        })),
        _ => {
            let to = lower.word(args[0]);
            Some(lower.or_zero(1, |lower, done| {
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
            }))
        }
    }
}

/// Searches bytes of the packet for patterns. `width` is that of a pattern's value.
pub fn scan(lower: &mut Lower<'_>, [classes, row]: [u32; 2], args: &[Value], width: u32) -> Words {
    let (offset, length) = (lower.word(args[0]), lower.word(args[1]));
    let arguments = [offset, length, Operand::Number(classes), Operand::Number(row)];
    let found = lower.code.call("scan", &arguments, 2);
    let (record, after) = (found[0], found[1]);
    let count = words::count(width);
    let words = lower.or_zero(1 + count, |lower, done| {
        lower.unless(record, done);
        let record = lower.code.in_register(record);
        let length = lower.code.load(record, 0).into();
        let at = lower.code.two(Do::Subu, after, length);
        let value = |word| lower.code.load(record, 4 + 4 * word as i32).into();
        Some([at].into_iter().chain((0..count).map(value)).collect())
    });
    let is_found = lower.code.is_set(record);
    let parts = [(vec![is_found], 1), (vec![words[0]], 16), (words[1..].to_vec(), width)];
    lower.code.concat(&parts)
}

/// Copies the first bytes of a chunk to an address that `place` finds; it branches to a label if
/// there is none.
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
