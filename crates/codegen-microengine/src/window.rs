//! The header window in local memory (version 2).
//!
//! A packet arrives in local memory and leaves from there. Accesses to fields in local memory take
//! no command and no wait. The window moves to the frame if an operation reaches the whole packet
//! (`window_home.rs`), if it moves bytes within the window, or if inserted bytes find no room in
//! front; it stays there. For most operations the compiler knows where the window is ([`Home`]);
//! otherwise a word of local memory records it.
//!
//! ```text
//! local  0     1      2        3             values          values + 8       + 40        + 48
//!        | far | base | number | context ... | room in front | bytes 0 to 127 | zeros     |
//! frame                                      328             336              368         376
//! ```
//!
//! `number` is the number of the packet (thread.uc). `far` is 1 if the window is in the frame.
//! `base` is the byte address in local memory less the byte in the frame. A window in local memory
//! ends with byte 1472 of the frame, like the longest window that arrives, and zeros follow.

use super::code::{Code, Label};
use super::frame::END;
use super::operand::{Operand, Register, Shift, Target};
use super::state::{Home, State};

/// The word of local memory that is 1 if the window is in the frame.
pub const FAR: u32 = 0;
/// The word of local memory with the byte address in local memory less the byte in the frame.
pub const BASE: u32 = 1;
/// The number of words of local memory before the words for values.
pub const OWN: u32 = 3;
/// The word of the frame that corresponds to the first word of the window's area in local memory.
pub const FIRST: u32 = END / 4 - 40;
/// The number of words of local memory for the room in front, the window, and the zeros after it.
pub const WORDS: u32 = 48;
/// The number of words that move to the frame with the window.
pub const MOVED: u32 = END / 4 - FIRST;

/// Branches if the window is in the frame.
pub fn in_frame(code: &mut Code, to: Label) {
    code.test_near(FAR);
    code.branch("br!=0", to);
}

/// Sets pointer 1 to the word of byte `at` of the window, for access to `count` words. If the
/// window is in the frame, the pointer is set to copies of the words. Three instructions must come
/// before the first access.
pub fn point(code: &mut Code, state: &State, at: Register, count: u32) {
    let pointer = code.register();
    let (far, done) = (code.label(), code.label());
    if state.home == Home::Either {
        in_frame(code, far);
    }
    code.add_near(pointer, at, BASE);
    code.point_later(pointer);
    if state.home == Home::Either {
        code.branch("br", done);
        code.place(far);
        let word = code.register();
        code.shift(word, Operand::None, "B", at.into(), Shift::Right(2));
        let first = code.read_sram(state.frame.into(), word.into(), count);
        let begin = code.copy(Operand::Number(4 * FIRST));
        code.add_near(pointer, begin, BASE);
        code.point(pointer);
        for index in 0..count as u8 {
            code.set(Target::Local(index), Operand::Transfer(first + index));
        }
        code.place(done);
    }
}

/// If the window is in the frame, writes back the words to which [`point`] has set pointer 1.
pub fn written(code: &mut Code, state: &State, at: Register, count: u32) {
    if state.home != Home::Either {
        return;
    }
    let done = code.label();
    code.test_near(FAR);
    code.branch("br=0", done);
    let word = code.register();
    let first = code.write_transfers(count);
    for index in 0..count as u8 {
        code.set(Target::Transfer(first + index), Operand::Local(index));
    }
    code.shift(word, Operand::None, "B", at.into(), Shift::Right(2));
    code.command("sram[write", &format!("${first}"), state.frame.into(), word.into(), count);
    code.place(done);
}
