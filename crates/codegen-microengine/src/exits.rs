//! The exits of a step: to another step, to the egress port, or with a reason.

use wireloom_codegen::refused::Refused;
use wireloom_ir::{Copied, Exit, ReasonSetId, Value};

use super::code::Label;
use super::flow::label;
use super::frame;
use super::lower::Lower;
use super::operand::{Operand, Shift};
use super::words;

/// The word of the frame that counts jumps back, after the number of the packet and its port. The
/// runtime clears it.
const BACKWARD: u32 = 2;

/// The bit of a control word for a copy: the thread continues after it has been sent.
const MORE: u32 = 1 << 17;

/// The reason for packets that jump back too often.
pub const RUNAWAY: (u32, u16) = (u32::MAX, 0);

impl Lower<'_> {
    /// Writes an exit.
    pub(super) fn exit(&mut self, exit: &Exit) -> Result<(), Refused> {
        match exit {
            Exit::Next(to) => {
                // Steps of called engines count their own jumps.
                if to.index() <= self.number && !self.is_called {
                    let goes_on = self.jump_back();
                    self.ends(2, RUNAWAY);
                    self.code.place(goes_on);
                }
                self.pass(Some(to.index()));
                self.code.branch_to(&label(to.index()));
            }
            Exit::Finish => {
                self.pass(None);
                self.code.branch_to("finish");
            }
            Exit::Drop(reason, set) => {
                self.set_verdict(2, *reason, *set, 0);
                self.end();
            }
            Exit::ToCpu(reason, set) => {
                self.set_verdict(1, *reason, *set, 0);
                self.end();
            }
            Exit::Done => self.ends(3, RUNAWAY),
            Exit::Emit(to, Copied { bytes, cpu }) => {
                if let Some((offset, count)) = *bytes {
                    self.choose_bytes(offset, count);
                }
                // The packet is sent. Then the runtime continues with the step, or ends.
                if to.index() <= self.number {
                    let goes_on = self.jump_back();
                    let word = self.control(2, RUNAWAY);
                    let store = Operand::Number(frame::RESUME);
                    let word = self.code.copy(Operand::Number(word));
                    self.state.store(self.code, store, &[word.into()]);
                    self.pass(None);
                    self.send_copy(*cpu);
                    self.code.place(goes_on);
                }
                self.pass(Some(to.index()));
                let resume = self.code.copy(Operand::Number(to.index() as u32));
                self.state.store(self.code, Operand::Number(frame::RESUME), &[resume.into()]);
                self.send_copy(*cpu);
            }
            Exit::Reply(_) => unreachable!("called engines are part of their caller"),
        }
        Ok(())
    }

    /// Makes the next copy one of these bytes of the packet.
    fn choose_bytes(&mut self, offset: Value, count: Value) {
        let (offset, count) = (self.get(offset)[0], self.get(count)[0]);
        let (word, other) = (self.code.copy(count), self.code.copy(offset));
        let code = &mut *self.code;
        let all = code.copy(Operand::Number(0xffff));
        code.alu(word, word.into(), "XOR", all.into());
        code.shift(word, word.into(), "OR", other.into(), Shift::Left(16));
        self.state.store(self.code, Operand::Number(frame::PIECE), &[word.into()]);
    }

    /// Counts a jump back. Returns a label, to which it branches unless there were too many.
    fn jump_back(&mut self) -> Label {
        let jumps = self.load(BACKWARD, 1)[0];
        let more = self.code.register();
        self.code.alu(more, jumps.into(), "+", Operand::Number(1));
        self.store(BACKWARD, &[more.into()]);
        let most = wireloom_ir::MAX_BACKWARD_JUMPS;
        words::compare(self.code, &vec![jumps.into()], &vec![Operand::Number(most)]);
        let goes_on = self.code.label();
        self.code.branch("br!=cout", goes_on);
        goes_on
    }

    /// Ends the packet with a reason.
    fn ends(&mut self, way: u32, reason: (u32, u16)) {
        let word = self.control(way, reason);
        self.code.set(self.state.control, Operand::Number(word));
        self.end();
    }

    /// Ends the packet with the word in `control`.
    fn end(&mut self) {
        self.pass(None);
        self.code.branch_to("end");
    }

    /// Sends a copy of the packet, to the processor core if there is a reason. The runtime continues
    /// as [`frame::RESUME`] says.
    fn send_copy(&mut self, cpu: Option<(Value, ReasonSetId)>) {
        match cpu {
            None => self.code.branch_to("emit"),
            Some((reason, set)) => {
                self.set_verdict(1, reason, set, MORE);
                self.code.branch_to("end");
            }
        }
    }

    /// Sets the control word for a reason, with other bits.
    fn set_verdict(&mut self, way: u32, reason: Value, set: ReasonSetId, bits: u32) {
        match self.get(reason)[0] {
            Operand::Number(number) => {
                let word = self.control(way, (set.0, number as u16)) | bits;
                self.code.set(self.state.control, Operand::Number(word));
            }
            word => self.set_verdict_for(way << 18 | bits, set.0, word, self.most(reason)),
        }
    }

    /// Returns the control word for a reason, which contains the number of the reason.
    fn control(&mut self, way: u32, reason: (u32, u16)) -> u32 {
        let known = self.reasons.iter().position(|known| *known == reason);
        let number = known.unwrap_or_else(|| {
            self.reasons.push(reason);
            self.reasons.len() - 1
        }) as u32;
        way << 18 | (number & 0x7f) << 24 | (number >> 7 & 0x1f) << 12 | (number >> 12 & 0xf) << 20
    }

    /// Sets the control word for a reason that is known only at run time and is at most `most`. The
    /// numbers of the reasons of a set are consecutive.
    fn set_verdict_for(&mut self, begin: u32, set: u32, reason: Operand, most: u32) {
        let all: Vec<(u32, u16)> = (0..=most).map(|value| (set, value as u16)).collect();
        let known = self.reasons.windows(all.len()).position(|known| known == all);
        let first = known.unwrap_or_else(|| {
            self.reasons.extend(&all);
            self.reasons.len() - all.len()
        });
        let (number, part) = (self.code.register(), self.code.register());
        let control = self.state.control;
        let code = &mut *self.code;
        code.alu(number, reason, "+", Operand::Number(first as u32));
        code.set(control, Operand::Number(begin));
        for (from, width, to) in [(0, 7, 24), (7, 5, 12), (12, 4, 20)] {
            code.shift(part, Operand::None, "B", number.into(), Shift::Right(from));
            code.alu(part, part.into(), "AND", Operand::Number((1 << width) - 1));
            code.shift(control, control.into(), "OR", part.into(), Shift::Left(to));
        }
    }
}
