//! Random engines that mostly move the window and write fields: pushes, pops, insertions and
//! removals, at constants and at offsets from the packet, up to the edges of the window and past
//! them. The output so reveals a byte that an edit leaves in the wrong place, or that nothing wrote
//! for this packet.

use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config};
use wireloom_ir::{
    BinaryOp, ContextId, Copied, Exit, Meta, OffloadId, Program, ReasonSetId, StepId, UnaryOp,
    Value,
};
use wireloom_net::Packet;
use wireloom_net::packet::{HEADROOM, MAX_LENGTH, WINDOW};

use super::super::random::Random;

/// Widths of fields: whole bytes and parts of them.
const WIDTHS: [u32; 12] = [1, 4, 8, 8, 12, 16, 16, 24, 32, 32, 48, 128];

/// Numbers of bytes to insert or remove, around the size that vector code moves.
const COUNTS: [u32; 16] = [1, 2, 2, 4, 4, 4, 6, 8, 8, 12, 14, 15, 16, 17, 20, 40];

/// Offsets near the edges of windows: as packets arrive, and at the maximum.
const EDGES: [u32; 9] = [63, 64, 111, 112, 127, 128, 129, 240, 256];

/// The conditions of a step.
#[derive(Clone, Copy, Default)]
struct Conditions {
    /// Holds for packets that do not leave at this step. With `None` all packets stay.
    stays: Option<Value>,
    /// The condition of an edit.
    choice: Option<Value>,
}

struct Edits<'a> {
    random: &'a mut Random,
    reasons: ReasonSetId,
    /// Fields of the packet as it arrived. The first is a condition, the second a byte.
    noted: [(ContextId, u32); 5],
    bytes: OffloadId,
    sums: OffloadId,
    seen: OffloadId,
    /// Whether steps read the packet after they have changed it. Vector code does not support this.
    reads: bool,
    /// Whether the window moves only at its front. Vector code then changes packets in place.
    moves_front: bool,
    /// Whether the changed bytes of a packet decide how it leaves.
    tells_parity: bool,
    /// Whether windows end at their maximum length.
    ends_full: bool,
    /// Growth of the window since arrival, as far as it is constant.
    grown: u32,
    /// The replies of the current step, and the variables that store them.
    replies: Vec<(ContextId, u32, Value)>,
}

/// Returns a random program.
pub fn program(seed: u64) -> Program {
    let random = &mut Random(seed ^ 0xed175);
    let mut builder = ProgramBuilder::new();
    let reasons = builder.reasons("Reason", &["SHORT", "RARE"]);
    let mut engine = EngineBuilder::packet("main");
    let noted =
        [1, 8, 16, 32, 64].map(|width| (engine.context(&format!("n{width}"), width), width));
    let bytes = engine.offload("bytes", config("payload", &[], &[("", 64)], &[]));
    let sums = engine.offload("sums", config("checksum", &[], &[], &[]));
    let seen = engine.offload("seen", config("counter", &[], &[], &[("size", 4)]));
    let (reads, moves_front) = match random.below(10) {
        0..=5 => (false, true),
        6 | 7 => (false, false),
        _ => (true, false),
    };
    let (tells_parity, ends_full) = (random.chance(10), random.chance(4));
    let mut edits = Edits {
        random,
        reasons,
        noted,
        bytes,
        sums,
        seen,
        reads,
        moves_front,
        tells_parity,
        ends_full,
        grown: 0,
        replies: Vec::new(),
    };
    let count = 1 + edits.random.below(4);
    for index in 0..count {
        engine.regions(&format!("step {index}"), |step| edits.step(step, index, count));
    }
    builder.engine(engine);
    builder.build()
}

impl Edits<'_> {
    fn step(&mut self, step: &mut StepBuilder<'_>, index: usize, count: usize) {
        let mut conditions = Conditions::default();
        if index == 0 {
            conditions.stays = Some(self.stays(step));
        } else {
            self.calls(step);
        }
        step.next_region();
        if index == 0 {
            self.note(step);
        }
        for (var, width, reply) in std::mem::take(&mut self.replies) {
            let reply = self.random.fitted(step, reply, width);
            step.write(var, reply);
        }
        for _ in 0..2 + self.random.below(3) {
            self.edit(step, &mut conditions);
        }
        if index + 1 == count && self.ends_full {
            self.push_to_the_limit(step, &mut conditions);
        }
        let parity = conditions.choice.filter(|_| self.tells_parity);
        let parity = parity.map(|choice| self.parity(step, choice));
        step.next_region();
        // Copies have their own windows.
        let emits = self.reads && self.random.chance(4);
        let goes_on = match StepId(index as u32 + 1) {
            _ if index + 1 == count => Exit::Finish,
            next if emits => Exit::Emit(next, Copied::default()),
            next => Exit::Next(next),
        };
        let reason = step.constant(16, 1);
        let mut stays: Option<Value> = None;
        for condition in [conditions.stays, parity].into_iter().flatten() {
            let leaves = step.unary(UnaryOp::Not, condition);
            let both = |step: &mut StepBuilder<'_>, so_far: Option<Value>, condition| match so_far {
                Some(so_far) => step.binary(BinaryOp::And, so_far, condition),
                None => condition,
            };
            let leaves = both(step, stays, leaves);
            stays = Some(both(step, stays, condition));
            step.when(leaves).exit(Exit::Drop(reason, self.reasons));
        }
        if let Some(stays) = stays {
            step.when(stays);
        }
        step.exit(goes_on);
    }

    /// Returns the condition of packets that stay: they are long enough, and have no rare value in
    /// a field.
    fn stays(&mut self, step: &mut StepBuilder<'_>) -> Value {
        let least = step.constant(16, self.random.of(&[20, 40, 40, 60]));
        let length = step.meta(Meta::Length);
        let is_long = step.binary(BinaryOp::Ule, least, length);
        let (base, rare) = (step.constant(16, 0), step.constant(8, 3));
        let field = step.read_packet(base, 24, 8);
        let is_usual = step.binary(BinaryOp::Ne, field, rare);
        if self.random.chance(3) {
            let (index, bytes) = (step.constant(32, 2), step.extend(field, 32));
            step.call(self.seen, "count", &[index, bytes]);
            let cut = step.constant(16, self.random.of(&[9, 12, 18, 20, 64, 126, 128, 130]));
            step.call(self.bytes, "truncate", &[cut]);
        }
        step.binary(BinaryOp::And, is_long, is_usual)
    }

    /// Returns whether a condition and a bit of the changed packet are equal.
    fn parity(&mut self, step: &mut StepBuilder<'_>, choice: Value) -> Value {
        let at = step.constant(16, self.random.below(8) as u128);
        let bit = step.read_packet(at, self.random.below(8) as u32, 1);
        let differs = step.binary(BinaryOp::Xor, choice, bit);
        step.unary(UnaryOp::Not, differs)
    }

    fn note(&mut self, step: &mut StepBuilder<'_>) {
        for (var, width) in self.noted {
            let base = step.constant(16, self.random.below(16) as u128);
            let bit = if width < 8 { self.random.below(8) as u32 } else { 0 };
            let field = step.read_packet(base, bit, width);
            step.write(var, field);
        }
    }

    fn calls(&mut self, step: &mut StepBuilder<'_>) {
        if self.random.chance(4) {
            let (index, length) = (step.constant(32, 1), step.meta(Meta::Length));
            let length = step.extend(length, 32);
            step.call(self.seen, "count", &[index, length]);
        }
        if !self.moves_front && self.random.chance(6) {
            let length = self.position(step);
            step.call(self.bytes, "truncate", &[length]);
        }
        if !self.reads {
            return;
        }
        let (at, data) = (self.position(step), self.value(step, 64));
        let count = step.constant(16, self.random.below(10) as u128);
        let reply = match self.random.below(4) {
            0 => step.call(self.bytes, "read", &[at]),
            1 => step.call(self.sums, "sum", &[at, count, at]),
            2 => step.call(self.bytes, "append", &[data, count]),
            _ => step.call(self.bytes, "write", &[at, data, count]),
        };
        if let Some(reply) = reply {
            let (var, width) = self.random.of(&self.noted);
            self.replies.push((var, width, reply));
        }
    }

    fn edit(&mut self, step: &mut StepBuilder<'_>, conditions: &mut Conditions) {
        match self.random.below(12) {
            0..=2 => self.resize(step, conditions, true),
            3 | 4 => self.resize(step, conditions, false),
            5..=8 => self.header(step, conditions),
            9 if self.random.chance(3) => {
                let port = self.value(step, 16);
                if self.moves_front {
                    always(step, conditions)
                } else {
                    self.guard(step, conditions)
                }
                step.set_egress(port);
            }
            9 if self.reads => {
                let count = self.count(step);
                self.guard(step, conditions);
                step.reset(count);
            }
            10 if self.reads => {
                let (var, width) = self.random.of(&self.noted);
                let at = self.position(step);
                let field = step.read_packet(at, self.random.of(&[0, 0, 3, 8]), width);
                step.write(var, field);
            }
            _ => {
                let width = self.random.of(&WIDTHS);
                let (at, value) = (self.position(step), self.value(step, width));
                let bit = self.random.of(&[0, 0, 0, 8, 16, 4, 5]);
                self.guard(step, conditions);
                step.write_packet(at, bit, value);
            }
        }
    }

    /// Inserts or removes bytes, mostly in front.
    fn resize(&mut self, step: &mut StepBuilder<'_>, conditions: &mut Conditions, inserts: bool) {
        let at = match self.moves_front || self.random.chance(2) {
            true => step.constant(16, 0),
            false => self.position(step),
        };
        let count = if self.random.chance(4) {
            self.count(step)
        } else {
            let count = self.random.of(&COUNTS);
            let grown = if inserts { self.grown + count } else { self.grown.saturating_sub(count) };
            self.grown = grown;
            step.constant(16, count.into())
        };
        self.guard(step, conditions);
        if inserts {
            step.insert(at, count)
        } else {
            step.remove(at, count)
        };
    }

    /// Pushes a few bytes at a time up to the longest window, or up to one byte less or more.
    fn push_to_the_limit(&mut self, step: &mut StepBuilder<'_>, conditions: &mut Conditions) {
        let at = step.constant(16, 0);
        let limit = HEADROOM as u32 - 1 + self.random.below(3) as u32;
        while self.grown < limit {
            let left = limit - self.grown;
            let count = self.random.of(if left > 16 { &[14, 15, 16, 16] } else { &[1, 2, 4, 8] });
            let count = count.min(left);
            self.grown += count;
            let count = step.constant(16, count.into());
            if left > 16 {
                always(step, conditions)
            } else {
                self.guard(step, conditions)
            }
            step.insert(at, count);
        }
    }

    /// Writes the first bytes of the packet field by field. They may belong to a header that is
    /// inserted for it, may be written only in part, and other bytes may be inserted or removed
    /// before all are written.
    fn header(&mut self, step: &mut StepBuilder<'_>, conditions: &mut Conditions) {
        let (base, bytes) = (step.constant(16, 0), 1 + self.random.below(20) as u32);
        if !self.random.chance(4) {
            // The header may have more bytes than are written.
            let count = bytes + self.random.of(&[0, 0, 1, 2]);
            self.grown += count;
            let count = step.constant(16, count.into());
            self.guard(step, conditions);
            step.insert(base, count);
        }
        let (has_gaps, has_guards) =
            self.random.of(&[(false, false), (false, false), (true, false), (false, true)]);
        let (is_bytes, is_interrupted) = (!self.random.chance(3), self.random.chance(2));
        let mut bit = 0;
        while bit < 8 * bytes {
            let width = self.random.of(&WIDTHS);
            let width = if is_bytes { width.next_multiple_of(8) } else { width };
            if !(has_gaps && self.random.chance(4)) {
                let value = self.value(step, width);
                if has_guards {
                    self.guard(step, conditions)
                } else {
                    always(step, conditions)
                }
                step.write_packet(base, bit, value);
            }
            bit += width;
            if is_interrupted && self.random.chance(3) {
                let count = step.constant(16, 1 + self.random.below(4) as u128);
                always(step, conditions);
                if self.random.chance(3) {
                    step.insert(base, count)
                } else {
                    step.remove(base, count)
                };
            }
        }
    }

    /// Puts the next operation under a condition. Often this is only the condition of packets that
    /// stay.
    fn guard(&mut self, step: &mut StepBuilder<'_>, conditions: &mut Conditions) {
        if self.random.chance(2) {
            return always(step, conditions);
        }
        let noted = self.byte(step);
        let choice = step.slice(noted, self.random.below(8) as u32, 1);
        conditions.choice = Some(choice);
        let both = match conditions.stays {
            Some(stays) => step.binary(BinaryOp::And, stays, choice),
            None => choice,
        };
        step.when(both);
    }

    /// Returns the position where an edit begins.
    fn position(&mut self, step: &mut StepBuilder<'_>) -> Value {
        match self.random.below(8) {
            0 => step.constant(16, self.random.of(&EDGES).into()),
            1 => {
                let before = step.constant(16, self.random.below(12) as u128);
                let window = step.meta(Meta::Window);
                step.binary(BinaryOp::Sub, window, before)
            }
            2 => self.count(step),
            3 | 4 => step.constant(16, 0),
            _ => step.constant(16, self.random.below(24) as u128),
        }
    }

    /// Returns a number of bytes taken from the packet.
    fn count(&mut self, step: &mut StepBuilder<'_>) -> Value {
        let noted = self.byte(step);
        let bits = 1 + self.random.below(5) as u32;
        let part = step.slice(noted, self.random.below(4) as u32, bits);
        let part = step.extend(part, 16);
        let more = step.constant(16, self.random.of(&[0, 0, 1, 14]));
        step.binary(BinaryOp::Add, part, more)
    }

    fn byte(&mut self, step: &mut StepBuilder<'_>) -> Value {
        step.read(self.noted[1].0)
    }

    fn value(&mut self, step: &mut StepBuilder<'_>, width: u32) -> Value {
        match self.random.below(4) {
            0 => step.constant(width, u128::from(self.random.next())),
            1 => {
                let length = step.meta(Meta::Length);
                self.random.fitted(step, length, width)
            }
            _ => {
                let (var, _) = self.random.of(&self.noted);
                let noted = step.read(var);
                self.random.fitted(step, noted, width)
            }
        }
    }
}

/// Puts the next operation under the condition of packets that stay.
fn always(step: &mut StepBuilder<'_>, conditions: &Conditions) {
    if let Some(stays) = conditions.stays {
        step.when(stays);
    }
}

/// Returns packets of all lengths in any order, mostly with a full window. No byte is zero.
pub fn packets(seed: u64, count: usize) -> Vec<Packet> {
    let random = &mut Random(seed);
    let packet = |index: usize| {
        let length = match random.below(20) {
            0 => random.below(40),
            1..=5 => 40 + random.below(WINDOW - 40),
            6..=8 => WINDOW - 4 + random.below(8),
            9 => 1500,
            10 if random.chance(8) => MAX_LENGTH - random.below(130),
            _ => WINDOW + random.below(200),
        };
        let bytes = (0..length).map(|_| 1 + random.below(255) as u8).collect();
        Packet { ingress: random.below(8) as u16, arrival_ns: index as u64 * 1000, bytes }
    };
    (0..count).map(packet).collect()
}
