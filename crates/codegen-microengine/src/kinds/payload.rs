//! `payload`: bytes of the whole packet.

mod put;

use wireloom_codegen::refused::Refused;
use wireloom_ir::Op;

use self::put::Put;
use super::declared::value_width;
use super::packet;
use crate::calls::{Call, Methods};
use crate::code::{Code, Label};
use crate::frame::{ARGUMENTS, END};
use crate::kind::KindOnMicroengines;
use crate::lower::Lower;
use crate::operand::{Operand, Register, Target};
use crate::resize::fits;
use crate::routine::Routine;
use crate::routines::{Fetch, Move, keep};
use crate::state::State;
use crate::words::{self, Words, is_wide, pieces};

pub struct Payload;

impl KindOnMicroengines for Payload {
    fn name(&self) -> &'static str {
        "payload"
    }

    fn reaches_packet(&self, method: &str) -> bool {
        method != "truncate"
    }

    fn changes_window(&self, _: &str) -> bool {
        true
    }

    /// A window that is too short for a payload after it moves when bytes are appended.
    fn moves_front(&self, method: &str) -> bool {
        method == "append"
    }

    fn cuts_window(&self, method: &str) -> bool {
        method == "truncate"
    }

    fn keeps_registers(&self, method: &str) -> bool {
        method == "truncate"
    }
}

impl Methods for Payload {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "read" => Ok(read(call)),
            "write" => Ok(Some(write(call))),
            "append" => Ok(Some(append(call))),
            "truncate" => Ok(Some(truncate(call))),
            _ => Err(call.unsupported()),
        }
    }
}

/// Reads a chunk of the width of the value type.
fn read(call: &mut Call<'_, '_>) -> Option<Words> {
    let width = value_width(call.config);
    let Call { lower, op, args, .. } = call;
    let offset = lower.get(args[0])[0];
    let count = width.div_ceil(32);
    let code = &mut *lower.code;
    let gather = Gather::of(code);
    code.set(gather.at, offset);
    code.set(gather.to, Operand::Number(ARGUMENTS));
    code.set(gather.count, Operand::Number(count));
    code.call(&Gather::ROUTINE);
    // The first byte is the most significant.
    lower.reply(op, 32 * count - width, width)
}

/// Branches if `count` bytes are more than a chunk has.
fn within_chunk(code: &mut Code, count: Operand, width: u32, refused: Label) {
    fits(code, count, Operand::Number(width / 8), refused);
}

/// Writes the first `count` bytes of the value in the arguments, from byte `at` of the packet on.
fn put(code: &mut Code, at: Operand, count: Operand, width: u32) {
    let put = Put::of(code);
    code.set(put.at, at);
    code.set(put.from, Operand::Number(width / 8 - 1));
    code.set(put.count, count);
    code.call(&Put::ROUTINE);
}

fn write(call: &mut Call<'_, '_>) -> Words {
    let lower = &mut *call.lower;
    let [offset, data, count] = [0, 1, 2].map(|arg| call.args[arg]);
    let width = lower.width(data);
    let (offset, count) = (lower.get(offset)[0], lower.get(count)[0]);
    let total = packet::length(lower);
    let refused = lower.code.label();
    within_chunk(lower.code, count, width, refused);
    let last = lower.code.register();
    lower.code.alu(last, offset, "+", count);
    fits(lower.code, last.into(), total.into(), refused);
    lower.store_value(ARGUMENTS, data);
    put(lower.code, offset, count, width);
    lower.whether(refused)
}

fn append(call: &mut Call<'_, '_>) -> Words {
    let lower = &mut *call.lower;
    let [data, bytes] = [0, 1].map(|arg| call.args[arg]);
    let width = lower.width(data);
    let count = lower.get(bytes)[0];
    let before = packet::length(lower);
    let refused = lower.code.label();
    within_chunk(lower.code, count, width, refused);
    let more = lower.code.register();
    lower.code.alu(more, before.into(), "+", count);
    fits(lower.code, more.into(), Operand::Number(65_535), refused);
    lower.store_value(ARGUMENTS, data);
    let (window, payload, front) = (lower.state.window, lower.state.payload, lower.state.front);
    let code = &mut *lower.code;
    // A payload begins where the longest window ends, so a shorter window without a payload moves
    // there first.
    let moved = Move::of(code);
    let joined = code.label();
    code.alu(Target::None, Operand::None, "B", payload.into());
    code.branch("br!=0", joined);
    let end = code.copy(Operand::Number(END));
    code.set(moved.from, front.into());
    code.alu(front, end.into(), "-", window.into());
    code.set(moved.to, front.into());
    code.set(moved.count, window.into());
    code.call(&Move::ROUTINE);
    code.place(joined);
    let count = lower.again(bytes)[0];
    let before = packet::length(lower);
    lower.code.alu(payload, payload.into(), "+", count);
    put(lower.code, before.into(), count, width);
    lower.whether(refused)
}

/// Cuts the packet. Returns whether it had at least this length.
fn truncate(call: &mut Call<'_, '_>) -> Words {
    let lower = &mut *call.lower;
    let length = lower.get(call.args[0])[0];
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

impl Lower<'_> {
    /// Returns the reply of this width in the arguments, from bit `lo` on.
    fn reply(&mut self, op: &Op, lo: u32, width: u32) -> Option<Words> {
        let piece = |lower: &mut Self, lo: u32, width: u32| {
            let (first, count) = (lo / 32, (lo + width).div_ceil(32) - lo / 32);
            let words = lower.load(ARGUMENTS + first, count as usize);
            words::slice(lower.code, &words::of(&words), lo % 32, width)
        };
        if !is_wide(width) {
            return Some(piece(self, lo, width));
        }
        let slot = self.slot(op)?;
        for (at, part) in pieces(width) {
            let words = piece(self, lo + at, part);
            self.store(slot + at / 32, &words);
        }
        None
    }
}

/// Reads words of the packet into the frame.
struct Gather {
    /// The byte of the packet at which it begins.
    at: Register,
    /// The word of the frame for the last four bytes. The bytes before them go to the words after
    /// it.
    to: Register,
    /// The number of words.
    count: Register,
}

impl Gather {
    const ROUTINE: Routine =
        Routine::new(31, "Gather", |code, state| Self::of(code).write(code, state));

    fn of(code: &mut Code) -> Self {
        let to = code.shared("gather_to", true);
        Self { at: Fetch::of(code).at, to, count: code.shared("gather_count", false) }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { to, count, .. } = *self;
        let next = code.label();
        let word = Fetch::of(code).word;
        code.place(next);
        code.alu(count, count.into(), "-", Operand::Number(1));
        keep(code, state, &[to, count], &Fetch::ROUTINE);
        let place = code.register();
        code.alu(place, to.into(), "+", count.into());
        state.store(code, place.into(), &[word.into()]);
        code.alu(Target::None, count.into(), "-", Operand::Number(0));
        code.branch("br!=0", next);
    }
}
