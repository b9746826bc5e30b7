//! Run-ahead execution: instructions are executed before their issue time. `platform/lookahead.rs`
//! states the conditions.
//!
//! The execution and the issue of an instruction are separate. Instructions that access only their
//! own thread (its registers, its local store) and constants have the same effect whenever they are
//! executed. A thread therefore executes several in sequence, while the host predicts its branches
//! and has its registers in caches. Each instruction is issued later in the pipeline. Only then its
//! line is fetched, its constant is looked up in the cache, and the instruction counts.

use wireloom_isa::{Compiled, Flow, Thread as _};
use wireloom_sim::parts::issue::Rounds;

use super::{Bank, Code, STRETCH_LINES, Step};
use crate::caches::Caches;
use crate::context::Context;
use crate::local_memory::{LocalMemory, NO_DATA};
use crate::noc_payload::Which;
use crate::run::Run;
use crate::workload::{Issued, Outcome, Port};

/// The instructions that a thread has executed but not issued.
#[derive(Clone, Debug, Default)]
pub(super) struct RunAhead {
    segments: [Segment; SEGMENTS],
    /// The number of issued segments, and of all segments.
    issued: u8,
    count: u8,
    /// Whether the next instruction could not be executed and waits for its issue time.
    pub(super) is_stopped: bool,
}

const SEGMENTS: usize = 16;

/// A segment: an executed instruction, and the following instructions that only take time.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// The address of the first instruction.
    pc: u32,
    /// The line of the constant that the first instruction reads, or [`NO_DATA`].
    data: u32,
    /// The cache places of the first instruction's line and constant at the last lookup.
    places: Places,
    /// The number of cycles for which each instruction blocks the issue of others.
    cycles: u8,
    /// Whether the first instruction is the first in its line.
    is_first: bool,
    has_jumped: bool,
    /// Whether the first instruction has moved the stack pointer out of the stack. If so, the
    /// segment is the last one.
    overflows: bool,
    /// The number of following instructions, each with `cycles` cycles.
    behind: u16,
}

impl Segment {
    /// A segment of consecutive instructions with equal cycles. At most the first one needs a cache
    /// line.
    #[inline(always)]
    fn of(instructions: u32, cycles: u8, pc: u32) -> Self {
        let behind = (instructions - 1) as u16;
        let places = Places::default();
        Self { pc, data: NO_DATA, places, cycles, behind, ..Self::default() }
    }

    /// The number of instructions in the segment.
    #[inline(always)]
    fn instructions(&self) -> u32 {
        1 + u32::from(self.behind)
    }

    /// Whether instructions of `cycles` cycles can join the segment, up to the end of a line.
    #[inline(always)]
    fn goes_on(&self, cycles: u8) -> bool {
        self.cycles == cycles && self.behind < 1024
    }

    /// Tests whether the first instruction takes one cycle and finds its line and its constant in
    /// the caches.
    #[inline(always)]
    fn look(&mut self, caches: &Caches) -> bool {
        if self.is_first {
            let Some(place) = caches.at_hand(Which::Instruction, self.pc) else { return false };
            self.places.line = place;
        }
        if self.data != NO_DATA {
            let Some(place) = caches.at_hand(Which::Data, self.data) else { return false };
            self.places.data = place;
        }
        self.cycles == 1 && !self.overflows
    }
}

/// The places of a line and of a constant in their caches.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    line: u32,
    data: u32,
}

impl RunAhead {
    /// The address of the next instruction to issue, if it was executed.
    pub(super) fn pc(&self) -> Option<u32> {
        (self.issued < self.count).then(|| self.segments[usize::from(self.issued)].pc)
    }

    /// The address of the last issued instruction among the executed ones.
    pub(super) fn last_issued(&self) -> u32 {
        self.segments[usize::from(self.issued.max(1)) - 1].pc
    }

    /// Whether all executed instructions were issued, so that more can be executed.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.issued == self.count && !self.is_stopped
    }

    /// The number of executed instructions, from the next one on, that take one cycle each and find
    /// their lines and constants in the caches. Also returns whether the instruction after them
    /// does not.
    #[inline(always)]
    pub(super) fn at_hand(&mut self, caches: &Caches) -> (u32, bool) {
        let mut instructions = 0;
        for segment in &mut self.segments[..usize::from(self.count)][usize::from(self.issued)..] {
            if !segment.look(caches) {
                return (instructions, true);
            }
            instructions += segment.instructions();
        }
        (instructions, self.is_stopped)
    }

    /// Issues the executed instructions whose issue times lie before an edge, and the following
    /// instructions that only take time. Returns their number.
    #[inline(always)]
    pub(super) fn issue_before(&mut self, edge: u64, rounds: Rounds, caches: &mut Caches) -> u32 {
        let (mut instructions, mut next) = (0, rounds.first);
        while next < edge && self.issued < self.count {
            let segment = &self.segments[usize::from(self.issued) % SEGMENTS];
            if segment.is_first {
                caches.read_at_hand(Which::Instruction, segment.places.line, next);
            }
            if segment.data != NO_DATA {
                caches.read_at_hand(Which::Data, segment.places.data, next);
            }
            instructions += segment.instructions();
            next = rounds.first + rounds.edges * u64::from(instructions);
            self.issued += 1;
        }
        instructions
    }

    /// Issues the next instruction, if it was executed.
    #[inline(always)]
    pub(super) fn issue(&mut self, line_mask: u32, port: &mut Port<'_>) -> Option<Issued> {
        if self.issued == self.count {
            return None;
        }
        let segment = &mut self.segments[usize::from(self.issued) % SEGMENTS];
        if segment.is_first && !port.find(Which::Instruction, segment.pc & line_mask) {
            return Some(Issued { cycles: 1, outcome: Outcome::Waits });
        }
        segment.is_first = false;
        let cycles = u32::from(segment.cycles);
        if segment.data != NO_DATA && !port.find(Which::Data, segment.data) {
            return Some(Issued { cycles, outcome: Outcome::Waits });
        }
        self.issued += 1;
        port.behind = Run { count: segment.behind, cycles: segment.cycles };
        let outcome = match segment {
            Segment { overflows: true, .. } => Outcome::Failed,
            Segment { has_jumped: true, .. } => Outcome::Jumped,
            _ => Outcome::Done,
        };
        Some(Issued { cycles, outcome })
    }
}

impl<S: Compiled> Code<S> {
    /// Executes further instructions of a thread that has issued all executed ones. Stops at an
    /// instruction that has other effects or cannot be executed.
    pub(super) fn execute_ahead(&self, thread: &mut Bank<S::Thread>, context: &mut Context) {
        let Bank { registers, line, ahead, .. } = thread;
        (ahead.issued, ahead.count, ahead.is_stopped) = (0, 0, true);
        let Some(shared) = context.shared_bytes() else { return };
        let own = &mut context.own;
        (own.shared, own.data) = (shared, NO_DATA);
        let segments = &mut ahead.segments;
        let mut made = Made { segments, count: 0, line_mask: self.instruction_line, line: *line };
        let mut pc = registers.pc();
        loop {
            let index = self.text.index(pc);
            let Some(step) = self.steps.get(index) else { break };
            if !step.is_known || made.count > SEGMENTS - RESERVE {
                ahead.is_stopped = !step.is_known;
                break;
            }
            let gone =
                go::<S>(&self.steps[index..index + usize::from(step.straight)], registers, own);
            let data = std::mem::replace(&mut own.data, NO_DATA);
            own.tally.add(&self.uses[index], &self.uses[index + gone.executed as usize]);
            own.tally.constants += u64::from(data != NO_DATA);
            let waits_behind = gone.has_jumped & self.waits_behind_jumps;
            // An instruction that may move the stack pointer is the last of its stretch.
            let overflows = gone.executed != 0 && self.overflown(pc, registers).is_some();
            // The last instruction may need a segment of its own.
            let is_apart = (data != NO_DATA) | waits_behind | overflows;
            let (mut left, mut room) =
                (gone.executed - u32::from(is_apart), u32::from(step.in_line));
            while left != 0 {
                let these = left.min(room);
                made.add(these, step.cycles, pc);
                pc += 4 * these;
                left -= these;
                room = self.line_instructions;
            }
            if is_apart {
                let has_jumped = gone.has_jumped;
                made.put(Segment {
                    data,
                    has_jumped,
                    overflows,
                    ..Segment::of(1, step.cycles, pc)
                });
                pc += 4;
            }
            if overflows {
                ahead.is_stopped = true;
                break;
            }
            if gone.has_jumped {
                pc = registers.pc();
            }
            if gone.is_stopped {
                break;
            }
        }
        *line = made.line;
        ahead.count = made.count as u8;
    }
}

/// The result of the execution of consecutive instructions.
struct Gone {
    executed: u32,
    /// Whether the last executed instruction has jumped.
    has_jumped: bool,
    /// Whether the next instruction could not be executed.
    is_stopped: bool,
}

/// Executes consecutive instructions until one jumps, reads a constant, or cannot be executed. An
/// instruction that cannot be executed leaves the thread unchanged. This is a separate function so
/// that the host saves no registers for other code.
#[inline(never)]
fn go<S: Compiled>(steps: &[Step<S>], registers: &mut S::Thread, own: &mut LocalMemory) -> Gone {
    let mut executed = 0;
    for step in steps {
        match (step.meaning)(registers, &step.instruction, own) {
            Ok(Flow::Next | Flow::Skipped) => executed += 1,
            Ok(_) => return Gone { executed: executed + 1, has_jumped: true, is_stopped: false },
            Err(_) => {
                own.data = NO_DATA;
                return Gone { executed, has_jumped: false, is_stopped: true };
            }
        }
        if own.data != NO_DATA {
            break;
        }
    }
    Gone { executed, has_jumped: false, is_stopped: false }
}

/// The maximum number of segments for one stretch of instructions: see [`STRETCH_LINES`], plus one
/// for the last instruction.
const RESERVE: usize = STRETCH_LINES + 1;

/// The segments under construction.
struct Made<'a> {
    segments: &'a mut [Segment; SEGMENTS],
    count: usize,
    /// The mask that selects the address bits of a line.
    line_mask: u32,
    /// The line of the last instruction.
    line: u32,
}

impl Made<'_> {
    /// Appends instructions of equal cycles from address `pc` on, all in one line.
    #[inline(always)]
    fn add(&mut self, instructions: u32, cycles: u8, pc: u32) {
        if pc & self.line_mask == self.line
            && let Some(last) = self.segments[..self.count].last_mut()
            && last.goes_on(cycles)
        {
            last.behind += instructions as u16;
        } else {
            self.put(Segment::of(instructions, cycles, pc));
        }
    }

    /// Appends a segment. The caller ensures that there is room.
    #[inline(always)]
    fn put(&mut self, segment: Segment) {
        let line = segment.pc & self.line_mask;
        self.segments[self.count % SEGMENTS] = Segment { is_first: line != self.line, ..segment };
        self.count += 1;
        self.line = line;
    }
}
