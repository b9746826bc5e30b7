//! The exits of a step: to another step, out of the tile, or with a reason.
//!
//! A side word is the verdict on a packet. Bits 31 and 30 are the way, bit 29 marks the last packet
//! of a thread, bits 28 to 16 are the set of the reason, and bits 15 to 0 its value.

use wireloom_ir::{Copied, Exit, MAX_BACKWARD_JUMPS, Value};
use wireloom_isa::raw::tile::Op as Do;

use super::code::{ARGUMENTS, FRAME, FRONT, NOTHING, Operand, RETURN, ZERO};
use super::frame;
use super::lower::Lower;

/// The set in the side word of a packet that was dropped after too many jumps back.
pub const RUNAWAY: u32 = 0x1fff;

/// The upper half of the first word of a message to a later tile. Its lower 12 bits are the next
/// step; the lower half of the word is the packet's length. No side word has these upper bits.
pub const STEP: u32 = 0xf000;
/// The maximum number of steps of an engine on several tiles. [`IDLE`] uses the last number.
pub const STEPS: usize = 0xfff;
/// A message without a packet.
pub const IDLE: u32 = u32::MAX;

/// The egress port of a packet that goes to the control processor.
const CORE_PORT: u32 = 0xffff;

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The packet is sent to a port.
    Port,
    /// The packet goes to the control processor.
    Core,
    /// The packet is dropped.
    Drop,
    /// The thread ends without sending, dropping or reporting a packet.
    Done,
}

/// The bit that marks the last side word of a thread.
pub const LAST: u32 = 1 << 29;
impl Way {
    const ALL: [Self; 4] = [Self::Port, Self::Core, Self::Drop, Self::Done];

    /// Returns the way of a side word.
    pub fn of(side: u32) -> Self {
        Self::ALL[(side >> 30) as usize]
    }

    /// Returns the set and the value of the reason in a side word.
    pub fn reason(side: u32) -> (u32, u16) {
        (side >> 16 & RUNAWAY, side as u16)
    }
}

impl Lower<'_> {
    /// Writes an exit.
    pub fn exit(&mut self, exit: &Exit) {
        if !matches!(exit, Exit::Next(_) | Exit::Emit(..) | Exit::Reply(_)) {
            self.over();
        }
        match exit {
            Exit::Next(to) => {
                self.go_on(to.index());
            }
            Exit::Finish => {
                self.side(Way::Port, 0, NOTHING, true);
                self.code.jump("finish");
            }
            Exit::Emit(to, copied) => {
                self.send_copy(copied);
                self.go_on(to.index());
            }
            Exit::Drop(reason, set) | Exit::ToCpu(reason, set) => {
                let is_drop = matches!(exit, Exit::Drop(..));
                let reason = self.word(*reason);
                self.side(if is_drop { Way::Drop } else { Way::Core }, set.0, reason, true);
                self.code.jump(if is_drop { "leave" } else { "finish_core" });
            }
            Exit::Done => {
                self.side(Way::Done, 0, NOTHING, true);
                self.code.jump("leave");
            }
            Exit::Reply(value) => {
                let words = self.get(*value);
                self.reply(&words);
            }
        }
    }

    /// Sends a copy of the packet, or of some of its bytes, to its port or to the control processor.
    fn send_copy(&mut self, copied: &Copied) {
        let cut = copied.bytes.map(|(offset, count)| self.cut(offset, count));
        let port = copied.cpu.map(|_| {
            let port = self.load(frame::EGRESS, 1);
            self.store(frame::EGRESS, &[Operand::Number(CORE_PORT)]);
            port
        });
        match copied.cpu {
            None => self.side(Way::Port, 0, NOTHING, false),
            Some((reason, set)) => {
                let reason = self.word(reason);
                self.side(Way::Core, set.0, reason, false);
            }
        }
        self.code.call("send_to_port", &[], 0);
        if let Some(port) = port {
            self.store(frame::EGRESS, &port);
        }
        if let Some((skipped, length)) = cut {
            let front = self.code.two(Do::Subu, FRONT.into(), skipped);
            self.code.copy(FRONT, front);
            self.store(frame::LENGTH, &[length]);
        }
    }

    /// Makes the packet consist of the bytes of a copy only: moves its front and shortens it. Returns
    /// by how many bytes the front was moved, and the length of the whole packet.
    fn cut(&mut self, offset: Value, count: Value) -> (Operand, Operand) {
        let length = self.load(frame::LENGTH, 1)[0];
        let (offset, count) = (self.word(offset), self.word(count));
        // A copy whose offset is past the end of the packet is empty. Then the front stays in its
        // place: code for packets that begin at a word reads from it.
        let is_behind = self.code.two(Do::Sltu, length, offset);
        let left = self.code.two(Do::Subu, length, offset);
        let left = self.code.choose(is_behind, NOTHING, left);
        let skipped = self.code.choose(is_behind, NOTHING, offset);
        let is_less = self.code.two(Do::Sltu, count, left);
        let sent = self.code.choose(is_less, count, left);
        self.store(frame::LENGTH, &[sent]);
        let front = self.code.two(Do::Addu, FRONT.into(), skipped);
        self.code.copy(FRONT, front);
        (skipped, length)
    }

    /// Continues with a step. Another tile executes the step if it belongs to another stage.
    fn go_on(&mut self, to: usize) {
        if self.stages.is_some_and(|stages| stages.of[to] != stages.of[self.number]) {
            self.code.copy(ARGUMENTS[0], Operand::Number(STEP | to as u32));
            return self.code.jump("pass");
        }
        self.count_back(to);
        self.code.jump(&self.instance.step(to));
    }

    /// Returns to the caller of the engine.
    fn reply(&mut self, words: &[Operand]) {
        self.store(self.instance.reply, words);
        self.code.memory(Do::Lw, RETURN, FRAME, self.instance.link as i32);
        self.code.jump_to(RETURN);
    }

    /// Puts the side word into the register from which the runtime sends it.
    fn side(&mut self, way: Way, set: u32, reason: Operand, is_last: bool) {
        let word = (way as u32) << 30 | if is_last { LAST } else { 0 } | set << 16;
        let word = self.code.two(Do::Or, reason, Operand::Number(word));
        self.code.copy(ARGUMENTS[0], word);
    }

    /// Counts a jump to this step or an earlier one, and ends the thread after too many.
    fn count_back(&mut self, to: usize) {
        if to > self.number {
            return;
        }
        let at = self.instance.backward;
        let jumps = self.load(at, 1)[0];
        let more = self.code.two(Do::Addu, jumps, Operand::Number(1));
        self.store(at, &[more]);
        let goes_on = self.code.label();
        let is_less = self.code.two(Do::Sltu, jumps, Operand::Number(MAX_BACKWARD_JUMPS));
        let is_less = self.code.in_register(is_less);
        self.code.branch(Do::Bne, is_less, ZERO, &goes_on);
        match self.instance.reply_width {
            Some(width) => self.reply(&super::words::zeros(width)),
            None => {
                self.over();
                self.side(Way::Drop, RUNAWAY, NOTHING, true);
                self.code.jump("leave");
            }
        }
        self.code.place(&goes_on);
    }
}
