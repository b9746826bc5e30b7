//! The header window in local memory (version 2).
//!
//! A packet arrives in local memory and leaves from there. Accesses to fields in local memory take
//! no command and no wait. The window moves to the frame if an operation reaches the whole packet
//! ([`reaches_packet`]), if it moves bytes within the window, or if inserted bytes find no room in
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

use wireloom_codegen::steps::next_step;
use wireloom_ir::{Engine, Op, OpKind, Value};

use super::code::{Code, Label, Operand, Register, Shift, Target};
use super::frame::{END, State};
use super::kinds;
use super::local::CONTEXTS;
use super::lower::Lower;
use super::routines::TO_FRAME;
use super::spill_slots::Local;

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

/// Returns the byte in the frame less the byte address in local memory, for context 0.
pub fn base(local: Local) -> u32 {
    4 * (FIRST - CONTEXTS * local.values())
}

/// The memory that holds the window of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    Local,
    Frame,
    /// One of both, depending on the packet.
    Either,
}

impl Home {
    fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Either }
    }
}

/// Returns the memory of the window when packets enter each step.
pub fn homes(engine: &Engine, local: Local) -> Vec<Home> {
    let mut found: Vec<Option<Home>> = vec![None; engine.steps.len()];
    if !local.has_window {
        return vec![Home::Frame; found.len()];
    }
    let Some(first) = found.first_mut() else { return Vec::new() };
    *first = Some(Home::Local);
    let mut work = vec![0];
    while let Some(step) = work.pop() {
        let Some(mut home) = found[step] else { continue };
        let ops: Vec<&Op> = engine.steps[step].ops().collect();
        for op in &ops {
            home = after(engine, &ops, op, home);
            let Some(to) = next_step(op) else { continue };
            let known = &mut found[to];
            let both = known.map_or(home, |known| known.or(home));
            if *known != Some(both) {
                *known = Some(both);
                work.push(to);
            }
        }
    }
    found.into_iter().map(|home| home.unwrap_or(Home::Local)).collect()
}

/// Returns the memory of the window after an operation of a step.
pub fn after(engine: &Engine, ops: &[&Op], op: &Op, home: Home) -> Home {
    let moves = match &op.kind {
        OpKind::Insert { offset, .. } if constant(ops, *offset) == Some(0) => {
            return home.or(Home::Frame);
        }
        OpKind::Remove { offset, .. } => constant(ops, *offset) != Some(0),
        OpKind::Insert { .. } | OpKind::Reset { .. } => true,
        _ => reaches_packet(engine, op),
    };
    match (moves, op.guard) {
        (false, _) => home,
        (true, None) => Home::Frame,
        (true, Some(_)) => home.or(Home::Frame),
    }
}

/// Returns whether an operation calls a method that accesses bytes of the whole packet.
pub fn reaches_packet(engine: &Engine, op: &Op) -> bool {
    kinds::called(engine, op).is_some_and(|(kind, method)| kind.reaches_packet(method))
}

/// Returns the value of a constant, wherever the step defines it.
pub fn constant(ops: &[&Op], value: Value) -> Option<u32> {
    let op = ops.iter().find(|op| op.results.contains(&value))?;
    match &op.kind {
        OpKind::Const(bits) => u32::try_from(bits.to_u128()?).ok(),
        OpKind::Extend(inner) => constant(ops, *inner),
        _ => None,
    }
}

impl Lower<'_> {
    /// Moves the window to the frame, if it is not there. No register keeps its value.
    pub(super) fn move_to_frame(&mut self) {
        let code = &mut *self.code;
        let done = code.label();
        match self.state.home {
            Home::Frame => return,
            Home::Local => {}
            Home::Either => in_frame(code, done),
        }
        code.call(&TO_FRAME);
        code.place(done);
        self.state.home = Home::Frame;
    }

    /// Clears the bytes after the window, whose end was cut off.
    pub(super) fn clear_tail(&mut self) {
        let code = &mut *self.code;
        let (far, done) = (code.label(), code.label());
        match self.state.home {
            Home::Frame => return code.line("    clear_tail()"),
            Home::Local => return code.line("    clear_local_tail()"),
            Home::Either => {}
        }
        in_frame(code, far);
        code.line("    clear_local_tail()");
        code.branch("br", done);
        code.place(far);
        code.line("    clear_tail()");
        code.place(done);
    }
}

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
