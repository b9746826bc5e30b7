//! Calls of offloads, in the memories of the chip.

mod array;
mod counter;
mod exact;
mod keys;
mod meter;
mod packet;
mod park;
mod search;

use wireloom_codegen::refused::Refused;
use wireloom_ir::{OffloadId, OffloadTarget, Op, OpKind, Value};
use wireloom_offloads::registry;

use super::code::{Code, Label, Operand, Register, Shift};
use super::layout::{Place, Unit};
use super::lower::Lower;
use super::window;
use super::words::{self, Words};

/// Writes a call. Returns the reply.
///
/// # Errors
/// If the method has no place.
pub fn call(
    lower: &mut Lower<'_>,
    op: &Op,
    offload: OffloadId,
    method: usize,
    args: &[Value],
) -> Result<Option<Words>, Refused> {
    if window::reaches_packet(lower.engine, op) {
        lower.move_to_frame();
    }
    let called = &lower.engine.offloads[offload.index()];
    let name = called.name.clone();
    let OffloadTarget::Kind(config) = called.target.clone() else {
        unreachable!("called engines are part of their caller")
    };
    let kind = registry::kind(&config.kind).expect("a verified program");
    let method = &kind.methods[method];
    let place = lower.layout.places[offload.index()];
    let width = config.value.as_ref().map_or(0, |layout| layout.width());
    if let (true, Place::Table { base, .. } | Place::Park { base }) =
        (method.name != "expire", place)
    {
        let size = config.param("size").low_u64() as u32;
        keys::bucket(lower, args[0], base, size.next_power_of_two());
    }
    let is_ordered = lower.wait_for_turn(offload.index());
    match (config.kind.as_str(), method.name, place) {
        ("hash", "crc32", _) => keys::crc32(lower, args[0]).map(Some),
        ("hash", "hash48", _) => Ok(Some(keys::hash(lower, args[0], 48))),
        ("hash", "hash64", _) => Ok(Some(keys::hash(lower, args[0], 64))),
        ("random", "next", _) => {
            Ok(Some(keys::random(lower, config.param("seed").low_u64(), args[0])))
        }
        ("bloom", name @ ("add" | "test"), Place::Bits { .. }) => {
            let numbers = ["size", "hashes"].map(|name| config.param(name).low_u64() as u32);
            keys::bloom(lower, place, args[0], numbers.into(), name == "add")
        }
        ("exact", method, Place::Table { unit, base }) => {
            exact::call(lower, op, &config, method, (unit, base), args)
        }
        ("park", method, Place::Park { base }) => {
            park::call(lower, &config, method, base, args).map(Some)
        }
        ("meter", _, Place::Meters { .. }) => {
            let has_two_rates = config.param("rates").low_u64() == 2;
            Ok(Some(meter::color(lower, place, has_two_rates, args)))
        }
        ("clock", "now", _) => Ok(Some(words::of(&lower.load(super::frame::ARRIVAL, 2)))),
        ("checksum", "sum", _) => Ok(Some(packet::sum(lower, args[0], args[1], args[2]))),
        ("match", "scan", Place::Automaton { .. }) => {
            Ok(Some(packet::scan(lower, place, args[0], args[1], width)))
        }
        ("payload", "read", _) => Ok(packet::read(lower, op, args[0], width)),
        ("payload", "write", _) => Ok(Some(packet::write(lower, args[0], args[1], args[2]))),
        ("payload", "append", _) => Ok(Some(packet::append(lower, args[0], args[1]))),
        ("array", name, Place::Elements { .. }) if name != "read" || is_ordered => {
            let lanes = config.value.as_ref().map_or_else(Vec::new, array::lanes);
            Ok(array::change(lower, name, place, args, width, &lanes))
        }
        ("array", "read", Place::Elements { .. }) => Ok(Some(read(lower, place, args[0], width))),
        ("counter", "count", Place::Elements { .. }) => {
            counter::count(lower, place, args[0], args[1]);
            Ok(None)
        }
        ("lpm", "search", Place::Trie { unit, base }) => {
            Ok(search::search(lower, op, (unit, base), args[0], width))
        }
        ("payload", "truncate", _) => Ok(Some(truncate(lower, args[0]))),
        (kind, method, _) => {
            let message = format!("`{name}.{method}` of kind `{kind}` has no place yet");
            Err(lower.refuse(Some(&name), message))
        }
    }
}

/// Whether a call leaves registers as they are.
pub fn is_near(lower: &Lower<'_>, op: &Op) -> bool {
    let (OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. }) =
        &op.kind
    else {
        return true;
    };
    let OffloadTarget::Kind(config) = &lower.engine.offloads[offload.index()].target else {
        return false;
    };
    let Some(kind) = registry::kind(&config.kind) else { return false };
    let near = [
        ("array", "read"),
        ("counter", "count"),
        ("lpm", "search"),
        ("payload", "truncate"),
        ("clock", "now"),
    ];
    lower.order.gate(offload.index()).is_none()
        && near.contains(&(kind.name, kind.methods[*method].name))
}

/// Reads words at an offset of a table: `count` of them.
pub(super) fn words_at(
    lower: &mut Lower<'_>,
    unit: Unit,
    base: u32,
    offset: Register,
    count: usize,
) -> Vec<Register> {
    let code = &mut *lower.code;
    match unit {
        Unit::Sram | Unit::Scratch => {
            let (base, read) = (Operand::Number(base), format!("{}[read", unit.name()));
            code.command(&read, "$0", base, offset.into(), count as u32);
            (0..count).map(|index| code.copy(Operand::Transfer(index as u8))).collect()
        }
        Unit::Sdram => {
            // Quad words; a single word may be either half.
            let quad = code.register();
            code.shift(quad, Operand::None, "B", offset.into(), Shift::Right(1));
            let quads = count.div_ceil(2) as u32;
            let base = Operand::Number(base / 2);
            code.command("sdram[read", "$$0", base, quad.into(), quads);
            if count > 1 {
                return (0..count).map(|index| code.copy(Operand::Wide(index as u8))).collect();
            }
            let word = code.copy(Operand::Wide(0));
            let even = code.label();
            code.branch_clear(offset, 0, even);
            code.set(word, Operand::Wide(1));
            code.place(even);
            vec![word]
        }
    }
}

/// The offset in words of an element. Branches if there is none at this index.
fn element(code: &mut Code, index: &Words, size: u32, shift: u32, outside: Label) -> Register {
    let mut limit = vec![Operand::Number(size)];
    limit.resize(index.len(), Operand::Number(0));
    words::compare(code, index, &limit);
    code.branch("br=cout", outside);
    let offset = code.register();
    code.shift(offset, Operand::None, "B", index[0], Shift::Left(shift));
    offset
}

/// An element of an array; zero if there is none.
fn read(lower: &mut Lower<'_>, place: Place, index: Value, width: u32) -> Words {
    let Place::Elements { unit, base, shift, size } = place else { return Vec::new() };
    let index = lower.get(index);
    let count = words::count(width);
    let result = words::registers(lower.code, width);
    result.iter().for_each(|word| lower.code.set(*word, Operand::Number(0)));
    let outside = lower.code.label();
    let offset = element(lower.code, &index, size, shift, outside);
    let read = words_at(lower, unit, base, offset, count);
    for (result, word) in result.iter().zip(read) {
        lower.code.set(*result, word.into());
    }
    lower.code.place(outside);
    words::of(&result)
}

/// Cuts the packet. Returns whether it was as long.
fn truncate(lower: &mut Lower<'_>, length: Value) -> Words {
    let length = lower.get(length)[0];
    let (window, payload) = (lower.state.window, lower.state.payload);
    let code = &mut *lower.code;
    let (done, inside, result) = (code.label(), code.label(), code.register());
    let length = code.copy(length);
    code.set(result, Operand::Number(0));
    let total = code.register();
    code.alu(total, window.into(), "+", payload.into());
    words::compare(code, &vec![total.into()], &vec![length.into()]);
    code.branch("br!=cout", done);
    code.set(result, Operand::Number(1));
    words::compare(code, &vec![length.into()], &vec![window.into()]);
    code.branch("br!=cout", inside);
    code.alu(payload, length.into(), "-", window.into());
    code.branch("br", done);
    code.place(inside);
    code.set(window, length.into());
    code.set(payload, Operand::Number(0));
    lower.clear_tail();
    lower.code.place(done);
    vec![result.into()]
}
