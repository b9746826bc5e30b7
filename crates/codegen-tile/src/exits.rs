//! How a packet leaves a step: to another one, out of the tile, or with a reason.
//!
//! A side word says what becomes of a packet: the way in bits 31 and 30, whether it is the last one
//! of its thread in bit 29, and for a reason its set in bits 28 to 16 and its value in bits 15 to 0.

use wireloom_ir::{Exit, MAX_BACKWARD_JUMPS};
use wireloom_isa::raw::tile::Op as Do;

use super::code::{ARGUMENTS, FRAME, NOTHING, Operand, RETURN, ZERO};
use super::lower::Lower;

/// The set in the side word of a packet that was dropped because it jumped back too often.
pub const RUNAWAY: u32 = 0x1fff;

/// The upper half of a message's first word to a later tile: its lower 12 bits are the step to go
/// on with, the lower half the packet's length. No side word has these upper bits.
pub const STEP: u32 = 0xf000;
/// The most steps of an engine that several tiles execute: the last number is that of [`IDLE`].
pub const STEPS: usize = 0xfff;
/// A message without a packet.
pub const IDLE: u32 = u32::MAX;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is sent to a port.
    Port,
    /// It goes to the control processor.
    Core,
    /// It is dropped.
    Drop,
    /// It ends without a trace.
    Done,
}

/// The bit of the last side word of a thread.
pub const LAST: u32 = 1 << 29;
impl Way {
    const ALL: [Self; 4] = [Self::Port, Self::Core, Self::Drop, Self::Done];

    /// The way of a side word.
    pub fn of(side: u32) -> Self {
        Self::ALL[(side >> 30) as usize]
    }

    /// Set and value of the reason of a side word.
    pub fn reason(side: u32) -> (u32, u16) {
        (side >> 16 & RUNAWAY, side as u16)
    }
}

impl Lower<'_> {
    /// Leaves the step.
    pub fn exit(&mut self, exit: &Exit) {
        if !matches!(exit, Exit::Next(_) | Exit::Emit(_) | Exit::Reply(_)) {
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
            Exit::Emit(to) => {
                self.side(Way::Port, 0, NOTHING, false);
                self.code.call("send_to_port", &[], 0);
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

    /// Goes on with a step. If it belongs to another stage, another tile executes it.
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

    /// Puts the side word where the routines of the runtime take it.
    fn side(&mut self, way: Way, set: u32, reason: Operand, is_last: bool) {
        let word = (way as u32) << 30 | if is_last { LAST } else { 0 } | set << 16;
        let word = self.code.two(Do::Or, reason, Operand::Number(word));
        self.code.copy(ARGUMENTS[0], word);
    }

    /// Counts a jump to this step or one before it, and ends the thread if there were too many.
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
