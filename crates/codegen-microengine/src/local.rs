//! Local memory of version 2, accessed by two pointers.
//!
//! Words of all contexts are in groups of 16: the first group of each context, then the second
//! group of each. Pointer 0 is always at the first group of its context (thread.uc). Pointer 1 is
//! set where a step needs another group:
//!
//! ```text
//! alu[v7, thread, AND, 7]
//! alu[v7, v7, OR, 16]                        ; the third group
//! alu_shf[v7, --, B, v7, <<6]
//! local_csr_wr[active_lm_addr_1, v7]         ; takes effect four cycles later
//! nop
//! nop
//! nop
//! alu[v8, --, B, *l$index1[3]]
//! ```

use super::code::{Code, Pointer};
use super::operand::{Operand, Register, Shift};
use super::state::THREAD;
use super::window;

/// The number of contexts of an engine with local memory.
pub(super) const CONTEXTS: u32 = 8;

/// The number of words of local memory that one pointer reaches.
pub const GROUP: u32 = 16;

impl Code {
    /// Reads a word of the context's local memory.
    pub fn load_local(&mut self, word: u32) -> Register {
        let place = self.local(word);
        let register = self.register();
        self.move_from(register, &place);
        register
    }

    /// Writes a word of the context's local memory.
    pub fn store_local(&mut self, word: u32, value: Operand) {
        let place = self.local(word);
        let value = self.readable(value);
        self.move_to(&place, value);
    }

    /// Returns a word of local memory as an operand, with a pointer at its group.
    fn local(&mut self, word: u32) -> String {
        let (group, offset) = (word / GROUP, word % GROUP);
        if group == 0 {
            return format!("*l$index0[{offset}]");
        }
        if self.pointer != Some(Pointer::Group(group)) {
            let thread = THREAD;
            let at = self.register();
            self.alu(at, thread.into(), "AND", Operand::Number(CONTEXTS - 1));
            self.alu(at, at.into(), "OR", Operand::Number(CONTEXTS * group));
            self.shift(at, Operand::None, "B", at.into(), Shift::Left(6));
            self.point(at);
            self.pointer = Some(Pointer::Group(group));
        }
        format!("*l$index1[{offset}]")
    }

    /// Sets pointer 1 so that it reaches a word of the window and the seven words after it. Returns
    /// the offset of the word.
    pub fn window_at(&mut self, first: u32) -> u8 {
        let begin = first - first % (GROUP / 2);
        if self.pointer != Some(Pointer::Window(begin)) {
            let at = self.copy(Operand::Number(4 * begin));
            self.add_near(at, at, window::BASE);
            self.point(at);
            self.pointer = Some(Pointer::Window(begin));
        }
        (first - begin) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::code::Code;
    use super::super::operand::Operand;
    use super::super::state::PINNED;

    #[test]
    fn the_pointer_is_set_once_for_words_of_a_group() {
        let mut code = Code::new(0, &PINNED);
        code.store_local(3, Operand::Number(7));
        code.store_local(35, Operand::Number(1000));
        code.load_local(40);
        let label = code.label();
        code.place(label);
        code.load_local(40);
        let text = code.finish();
        assert!(text.contains("alu[*l$index0[3], --, B, 7]"), "{text}");
        // Once before the label and once after it, since other paths lead to the label.
        assert_eq!(text.matches("local_csr_wr[active_lm_addr_1").count(), 2, "{text}");
        assert_eq!(text.matches("*l$index1[8]").count(), 2, "{text}");
    }
}
