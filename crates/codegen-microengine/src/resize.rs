//! Insertions into the header window, removals from it, and its replacement.

use wireloom_ir::Value;

use super::code::{Code, Label};
use super::fixed_fields;
use super::frame;
use super::lower::Lower;
use super::operand::{Operand, Target};
use super::routines::{Clear, Move};
use super::state::{Home, State};
use super::window;
use super::words::{self, Words};

impl Lower<'_> {
    /// Inserts zeros. Returns whether that was possible.
    pub(super) fn insert(&mut self, offset: Value, count: Value) -> Words {
        let [at, bytes] = [offset, count];
        let (refused, inserted) = (self.code.label(), self.code.label());
        if self.state.home != Home::Frame && self.constant(at) == Some(0) {
            self.insert_near(bytes, refused, inserted);
        }
        self.move_to_frame();
        if fixed_fields::cuts_windows(self.engine, &self.layout.kinds) {
            self.move_up(bytes);
        }
        let (offset, count) = (self.again(at)[0], self.again(bytes)[0]);
        let State { front, window, payload, .. } = self.state;
        let code = &mut *self.code;
        fits(code, offset, window.into(), refused);
        // The window stays within 256 bytes, the packet within 65,535.
        let (more, total) = (code.register(), code.register());
        code.alu(more, window.into(), "+", count);
        fits(code, more.into(), Operand::Number(frame::LONGEST), refused);
        code.alu(total, more.into(), "+", payload.into());
        fits(code, total.into(), Operand::Number(65_535), refused);
        // The bytes before the offset move to the new front. Zeros follow them.
        code.set(window, more.into());
        if offset == Operand::Number(0) {
            code.alu(front, front.into(), "-", count);
        } else {
            let moved = Move::of(code);
            code.set(moved.from, front.into());
            code.alu(front, front.into(), "-", count);
            code.set(moved.to, front.into());
            code.set(moved.count, offset);
            code.call(&Move::ROUTINE);
        }
        let (offset, count) = (self.again(at)[0], self.again(bytes)[0]);
        let code = &mut *self.code;
        let clear = Clear::of(code);
        code.alu(clear.from, front.into(), "+", offset);
        code.set(clear.count, count);
        code.call(&Clear::ROUTINE);
        code.place(inserted);
        self.whether(refused)
    }

    /// Inserts zeros in front of a window in local memory and branches to `inserted`, if there is
    /// room.
    fn insert_near(&mut self, bytes: Value, refused: Label, inserted: Label) {
        let State { front, window, payload, home, .. } = self.state;
        let far = self.code.label();
        if home == Home::Either {
            window::in_frame(self.code, far);
        }
        let count = self.again(bytes)[0];
        let code = &mut *self.code;
        let (more, total) = (code.register(), code.register());
        let begin = code.register();
        code.alu(begin, front.into(), "-", count);
        let least = code.copy(Operand::Number(4 * window::FIRST));
        code.alu(Target::None, begin.into(), "-", least.into());
        code.branch("br<0", far);
        // A window in local memory is shorter than 256 bytes.
        code.alu(more, window.into(), "+", count);
        code.alu(total, more.into(), "+", payload.into());
        fits(code, total.into(), Operand::Number(65_535), refused);
        code.set(window, more.into());
        code.set(front, begin.into());
        let clear = Clear::of(code);
        code.set(clear.from, begin.into());
        code.set(clear.count, count);
        code.call(&Clear::NEAR);
        code.branch("br", inserted);
        code.place(far);
        self.state.home = Home::Either;
    }

    /// Moves a window to the end of the area if there are fewer than `count` bytes of room in front
    /// of it. Only a window whose end was cut off needs that, and then there is no payload.
    fn move_up(&mut self, count: Value) {
        let count = self.again(count)[0];
        let State { front, window, .. } = self.state;
        let code = &mut *self.code;
        let (low, end, room) = (code.register(), code.register(), code.label());
        code.set(low, Operand::Number(frame::AREA));
        code.alu(low, low.into(), "+", count);
        words::compare(code, &vec![front.into()], &vec![low.into()]);
        code.branch("br=cout", room);
        let moved = Move::of(code);
        code.set(moved.from, front.into());
        code.set(moved.count, window.into());
        code.set(end, Operand::Number(frame::END));
        code.alu(front, end.into(), "-", window.into());
        code.set(moved.to, front.into());
        code.call(&Move::ROUTINE);
        self.code.place(room);
    }

    /// Removes bytes. Returns whether that was possible.
    pub(super) fn remove(&mut self, offset: Value, count: Value) -> Words {
        if self.constant(offset) != Some(0) {
            self.move_to_frame();
        }
        let (offset, count) = (self.get(offset)[0], self.get(count)[0]);
        let State { front, window, .. } = self.state;
        let code = &mut *self.code;
        let refused = code.label();
        let end = code.register();
        code.alu(end, offset, "+", count);
        fits(code, end.into(), window.into(), refused);
        code.alu(window, window.into(), "-", count);
        if offset == Operand::Number(0) {
            code.alu(front, front.into(), "+", count);
        } else {
            let moved = Move::of(code);
            code.set(moved.from, front.into());
            code.alu(front, front.into(), "+", count);
            code.set(moved.to, front.into());
            code.set(moved.count, offset);
            code.call(&Move::ROUTINE);
        }
        self.whether(refused)
    }

    /// Replaces the packet by zeros. Returns whether that was possible.
    pub(super) fn reset(&mut self, count: Value) -> Words {
        self.move_to_frame();
        let count = self.get(count)[0];
        let State { front, window, payload, .. } = self.state;
        let code = &mut *self.code;
        let refused = code.label();
        fits(code, count, Operand::Number(frame::LONGEST), refused);
        let end = code.copy(Operand::Number(frame::END));
        let clear = Clear::of(code);
        code.set(window, count);
        code.set(clear.count, count);
        code.alu(front, end.into(), "-", count);
        code.set(clear.from, front.into());
        code.set(payload, Operand::Number(0));
        code.call(&Clear::ROUTINE);
        self.whether(refused)
    }

    /// Returns a value that is 1 here and 0 at the label.
    pub(super) fn whether(&mut self, refused: Label) -> Words {
        let (result, done) = (self.code.register(), self.code.label());
        self.code.set(result, Operand::Number(1));
        self.code.branch("br", done);
        self.code.place(refused);
        self.code.set(result, Operand::Number(0));
        self.code.place(done);
        vec![result.into()]
    }
}

/// Branches if the first is larger than the second.
pub(super) fn fits(code: &mut Code, value: Operand, most: Operand, otherwise: Label) {
    match (value, most) {
        (Operand::Number(value), Operand::Number(most)) if value <= most => {}
        _ => {
            words::compare(code, &vec![most], &vec![value]);
            code.branch("br!=cout", otherwise);
        }
    }
}
