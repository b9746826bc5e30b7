//! Insertions and removals at the front of the packet.

use wireloom_ir::Value;

use super::code::{Operand, Register, Shift};
use super::frame::{self, State};
use super::lower::{Lower, Refused};
use super::words::{self, Words};

impl Lower<'_> {
    /// Inserts or removes bytes at the front. Returns whether that was possible.
    pub(super) fn resize(
        &mut self,
        is_insert: bool,
        offset: Value,
        count: Value,
    ) -> Result<Words, Refused> {
        let (offset, count) = (self.get(offset)[0], self.get(count)[0]);
        if offset != Operand::Number(0) {
            let message =
                "insertions and removals that are not at the packet's front have no place yet";
            return Err(self.refuse(None, message.into()));
        }
        let State { front, window, payload, .. } = self.state;
        let code = &mut *self.code;
        let (done, result) = (code.label(), code.register());
        code.set(result, Operand::Number(0));
        let count = code.copy(count);
        if is_insert {
            // The window stays within 256 bytes, the packet within 65,535.
            let more = code.register();
            code.alu(more, window.into(), "+", count.into());
            words::compare(code, &vec![Operand::Number(frame::LONGEST)], &vec![more.into()]);
            code.branch("br!=cout", done);
            let total = code.register();
            code.alu(total, more.into(), "+", payload.into());
            words::compare(code, &vec![Operand::Number(65_535)], &vec![total.into()]);
            code.branch("br!=cout", done);
            code.alu(front, front.into(), "-", count.into());
            code.set(window, more.into());
            code.set(result, Operand::Number(1));
            self.clear_front(count);
        } else {
            words::compare(code, &vec![window.into()], &vec![count.into()]);
            code.branch("br!=cout", done);
            code.alu(window, window.into(), "-", count.into());
            code.alu(front, front.into(), "+", count.into());
            code.set(result, Operand::Number(1));
        }
        self.code.place(done);
        Ok(vec![result.into()])
    }

    /// Clears this number of bytes from the window's front on: whole words, and the last bytes of
    /// the last one.
    fn clear_front(&mut self, count: Register) {
        let State { front, .. } = self.state;
        let code = &mut *self.code;
        let end = code.register();
        code.alu(end, front.into(), "+", count.into());
        let (word, last) = (code.register(), code.register());
        code.shift(word, Operand::None, "B", front.into(), Shift::Right(2));
        code.shift(last, Operand::None, "B", end.into(), Shift::Right(2));
        let (next, partial) = (code.label(), code.label());
        code.place(next);
        words::compare(code, &vec![word.into()], &vec![last.into()]);
        code.branch("br=cout", partial);
        self.state.store(code, word.into(), &[Operand::Number(0)]);
        code.alu(word, word.into(), "+", Operand::Number(1));
        code.branch("br", next);
        code.place(partial);
        // The bytes of this word before `end`.
        let by = code.register();
        let whole = code.label();
        code.alu(by, end.into(), "AND", Operand::Number(3));
        code.branch("br=0", whole);
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        let old = self.state.load(code, last.into(), 1)[0];
        let (left, kept) = (code.register(), code.register());
        code.shift_by(left, Operand::None, "B", old.into(), Shift::LeftIndirect, by);
        code.shift_by(kept, Operand::None, "B", left.into(), Shift::RightIndirect, by);
        self.state.store(code, last.into(), &[kept.into()]);
        code.place(whole);
    }
}
