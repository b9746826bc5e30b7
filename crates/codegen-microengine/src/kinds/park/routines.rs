//! Routines of parked packets in SDRAM. Entries are like the entries of a
//! [table](super::super::exact::routines) whose words are quad words, with three words after the
//! key:
//!
//! ```text
//! entry ... key | after | last | buffer |
//! ```
//!
//! `after` is the entry that was kept next under the same key, or 0; `last` is the newest entry of
//! the key. Only the oldest entry of a key is in its bucket, and only its `last` is valid. So the
//! time of `keep` and `take` does not depend on the number of packets with the key. The list by age
//! contains all entries.
//!
//! ```text
//! buffer, quad words   0                4                    52
//!                      | window, front  | area of the frame  | payload ... |
//!                      | payload, egress
//!                      | ingress, -
//!                      | arrival
//! ```
//!
//! The area is the area of the header window in the frame, up to the end of the longest window. A
//! thread copies packets into a buffer and back, since it may continue with the packet that it has
//! kept.

use super::super::exact::routines::{
    Find, HEAD, Sweep, alone, begin, give_back, key_in, take_free,
};
use crate::code::Code;
use crate::frame::{AREA, END, HAND, INGRESS};
use crate::memory::{branch_zero, read, read_at, write, write_at};
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::routines;
use crate::state::State;
use crate::unit::Unit;
use crate::words;

/// The words of an entry after its key.
pub const WORDS: u32 = 3;
const LAST: u32 = 1;
const BUFFER: u32 = 2;

/// The quad words of a buffer before the area, before the payload, and in all.
pub const STATE_QUADS: u32 = 4;
pub const PAYLOAD_QUADS: u32 = STATE_QUADS + (END - AREA) / 8;
pub const QUADS: u32 = PAYLOAD_QUADS + 65_536 / 8;

/// The quad words that one command moves.
const MOVED: u32 = 4;
/// The quad words of the frame before the area, and of a thread's packet buffer before the payload.
const OWN_AREA: u32 = AREA / 8;
const OWN_PAYLOAD: u32 = END / 8;

/// The memory of entries and buffers.
const UNIT: Unit = Unit::Sdram;

/// Registers that the routines of parks share with their callers.
pub struct Parking {
    /// The word of an entry after its key.
    pub at: Register,
    /// The buffer of the packet that is kept or taken.
    pub buffer: Register,
}

impl Parking {
    pub fn of(code: &mut Code) -> Self {
        Self { at: code.shared("park_at", true), buffer: code.shared("park_buffer", false) }
    }

    /// Sets `buffer` to the buffer of an entry.
    pub fn find_buffer(&self, code: &mut Code, entry: Register) {
        let place = code.register();
        code.alu(place, entry.into(), "+", self.at.into());
        let buffer = read(code, UNIT, place, BUFFER, 1)[0];
        code.set(self.buffer, buffer.into());
    }
}

/// Removes packets as [`Sweep`] removes entries.
pub const SWEEP: Routine = Routine::new(70, "SweepParked", |code, _| {
    Sweep::of(code).write(code, UNIT, Dequeue::write);
});

/// Makes an entry for the key in the arguments, the newest of its key. [`Find`] has set `entry` to
/// the oldest entry of the key, or 0. `entry` becomes the new entry, or 0 if the park is full.
pub struct Enqueue;

impl Enqueue {
    pub const ROUTINE: Routine = Routine::new(71, "Enqueue", Self::write);

    fn write(code: &mut Code, state: State) {
        let Find { table, head, entry, .. } = Find::of(code);
        let at = Parking::of(code).at;
        let number = Operand::Number;
        let [first, linked, done] = [(); 3].map(|()| code.label());
        let oldest = code.copy(entry.into());
        take_free(code, UNIT, table, entry, done);
        write_at(code, UNIT, entry, at.into(), &[number(0), entry.into()]);
        branch_zero(code, oldest, first);
        let place = code.register();
        code.alu(place, oldest.into(), "+", at.into());
        let last = read(code, UNIT, place, LAST, 1)[0];
        write(code, UNIT, place, LAST, &[entry.into()]);
        write_at(code, UNIT, last, at.into(), &[entry.into()]);
        code.branch("br", linked);
        code.place(first);
        let next = read(code, UNIT, head, 0, 1)[0];
        write(code, UNIT, entry, 0, &[next.into()]);
        write(code, UNIT, head, 0, &[entry.into()]);
        code.place(linked);
        write(code, UNIT, entry, HEAD, &[head.into()]);
        key_in(code, state, UNIT, entry);
        begin(code, UNIT, table, entry);
        code.place(done);
    }
}

/// Removes the oldest entry of a key. `before` is the address of the word with its address. The
/// next entry of the key takes its place.
pub struct Dequeue;

impl Dequeue {
    pub const ROUTINE: Routine = Routine::new(72, "Dequeue", |code, _| Self::write(code));

    fn write(code: &mut Code) {
        let Find { table, before, entry, .. } = Find::of(code);
        let at = Parking::of(code).at;
        let [none, linked] = [(); 2].map(|()| code.label());
        let queue = read_at(code, UNIT, entry, at.into(), 2);
        let (after, last) = (queue[0], queue[1]);
        let next = read(code, UNIT, entry, 0, 1)[0];
        branch_zero(code, after, none);
        write(code, UNIT, after, 0, &[next.into()]);
        let place = code.register();
        code.alu(place, after.into(), "+", at.into());
        write(code, UNIT, place, LAST, &[last.into()]);
        write(code, UNIT, before, 0, &[after.into()]);
        code.branch("br", linked);
        code.place(none);
        write(code, UNIT, before, 0, &[next.into()]);
        code.place(linked);
        give_back(code, UNIT, table, entry);
        alone(code, UNIT, entry);
    }
}

/// Copies the packet in hand into the buffer.
pub struct Keep;

impl Keep {
    pub const ROUTINE: Routine = Routine::new(73, "Keep", Self::write);

    fn write(code: &mut Code, state: State) {
        let buffer = Parking::of(code).buffer;
        let arrival = state.load(code, Operand::Number(HAND), 2);
        let ingress = state.load(code, Operand::Number(INGRESS), 1)[0];
        let State { window, front, payload, egress, .. } = state;
        let [low, high] = [arrival[0], arrival[1]];
        let all = [window, front, payload, egress, ingress, ingress, low, high];
        for (index, word) in (0..).zip(all) {
            code.set(Target::Wide(index), word.into());
        }
        let zero = Operand::Number(0);
        code.command("sdram[write", "$$0", buffer.into(), zero, STATE_QUADS);
        area(code, state, buffer, |code, (frame, word), (base, quad)| {
            code.command("sram[read", "$0", frame.into(), word.into(), 2 * MOVED);
            for index in 0..2 * MOVED as u8 {
                code.set(Target::Wide(index), Operand::Transfer(index));
            }
            code.command("sdram[write", "$$0", base.into(), quad.into(), MOVED);
        });
        let [own, parked] = payloads(code, buffer);
        copy(code, own, parked, payload);
    }
}

/// Makes the packet in the buffer the packet in hand.
pub struct Take;

impl Take {
    pub const ROUTINE: Routine = Routine::new(74, "Take", Self::write);

    fn write(code: &mut Code, state: State) {
        let buffer = Parking::of(code).buffer;
        let zero = Operand::Number(0);
        code.command("sdram[read", "$$0", buffer.into(), zero, STATE_QUADS);
        let State { window, front, payload, egress, .. } = state;
        for (index, register) in (0..).zip([window, front, payload, egress]) {
            code.set(register, Operand::Wide(index));
        }
        let [ingress, low, high] = [4, 6, 7].map(|index| code.copy(Operand::Wide(index)));
        state.store(code, Operand::Number(INGRESS), &[ingress.into()]);
        state.store(code, Operand::Number(HAND), &words::of(&[low, high]));
        area(code, state, buffer, |code, (frame, word), (base, quad)| {
            code.command("sdram[read", "$$0", base.into(), quad.into(), MOVED);
            for index in 0..2 * MOVED as u8 {
                code.set(Target::Transfer(index), Operand::Wide(index));
            }
            code.command("sram[write", "$0", frame.into(), word.into(), 2 * MOVED);
        });
        let [own, parked] = payloads(code, buffer);
        copy(code, parked, own, payload);
    }
}

/// Moves the area of the frame, from the front of the window on. `moves` gets the address of the
/// frame and the offset of a word in it, and the address and the offset of a quad word of the
/// buffer.
fn area(
    code: &mut Code,
    state: State,
    buffer: Register,
    moves: impl FnOnce(&mut Code, (Register, Register), (Register, Register)),
) {
    let (next, done) = (code.label(), code.label());
    let [quad, word] = [(); 2].map(|()| code.register());
    let by = MOVED.trailing_zeros();
    code.shift(quad, Operand::None, "B", state.front.into(), Shift::Right(3 + by));
    code.shift(quad, Operand::None, "B", quad.into(), Shift::Left(by));
    let base = code.copy(Operand::Number(OWN_AREA - STATE_QUADS));
    code.alu(base, buffer.into(), "-", base.into());
    let end = code.copy(Operand::Number(OWN_PAYLOAD));
    code.place(next);
    // A window without bytes may begin at the end of the longest window.
    code.alu(Target::None, quad.into(), "-", end.into());
    code.branch("br>=0", done);
    code.shift(word, Operand::None, "B", quad.into(), Shift::Left(1));
    moves(code, (state.frame, word), (base, quad));
    code.alu(quad, quad.into(), "+", Operand::Number(MOVED));
    code.branch("br", next);
    code.place(done);
}

/// Returns the addresses of the payload in the thread's packet buffer and in the parked buffer.
fn payloads(code: &mut Code, buffer: Register) -> [Register; 2] {
    let own = routines::buffer(code);
    let parked = code.register();
    code.alu(own, own.into(), "+", Operand::Number(OWN_PAYLOAD));
    code.set(parked, Operand::Number(PAYLOAD_QUADS));
    code.alu(parked, parked.into(), "+", buffer.into());
    [own, parked]
}

/// Copies bytes of SDRAM in whole commands, so up to 31 more bytes are copied.
fn copy(code: &mut Code, from: Register, to: Register, bytes: Register) {
    let (next, done) = (code.label(), code.label());
    let left = code.copy(bytes.into());
    let at = code.copy(Operand::Number(0));
    let step = code.copy(Operand::Number(8 * MOVED));
    code.place(next);
    code.alu(Target::None, left.into(), "-", Operand::Number(0));
    code.branch("br<=0", done);
    code.command("sdram[read", "$$0", from.into(), at.into(), MOVED);
    for index in 0..2 * MOVED as u8 {
        code.set(Target::Wide(index), Operand::Wide(index));
    }
    code.command("sdram[write", "$$0", to.into(), at.into(), MOVED);
    code.alu(at, at.into(), "+", Operand::Number(MOVED));
    code.alu(left, left.into(), "-", step.into());
    code.branch("br", next);
    code.place(done);
}
