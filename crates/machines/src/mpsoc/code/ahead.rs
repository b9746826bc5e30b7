//! Instructions that are executed before their time.
//!
//! What an instruction computes and when it is issued are found out apart. Instructions that touch nothing but their own thread (its registers, its
//! local store) and constants mean the same whenever they are executed; so a thread executes several in one go, while the host foresees its branches and has
//! its registers at hand. Each takes its turn in the pipeline later: then its line is fetched, its constant is looked for in the cache, and it counts.

use wireloom_isa::{Flow, InstructionSet, Thread as _};

use super::{Bank, Code, STRETCH_LINES, Step};
use crate::mpsoc::caches::Caches;
use crate::mpsoc::context::Context;
use crate::mpsoc::own::{NO_DATA, Own};
use crate::mpsoc::parcel::Which;
use crate::mpsoc::workload::{Issued, Outcome, Port, Rounds, Run};

/// The instructions that a thread has executed and not issued.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    segments: [Segment; SEGMENTS],
    /// Those of them that were issued, and all.
    issued: u8,
    count: u8,
    /// Whether the instruction behind them could not be executed: it waits for its turn.
    pub(super) is_stopped: bool,
}

const SEGMENTS: usize = 16;

/// An instruction that was executed, and those behind it that only take their time.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// Of the first one.
    pc: u32,
    /// The line of the constant that it reads, or [`NO_DATA`].
    data: u32,
    /// Where they were at hand when that was looked at last.
    places: Places,
    /// For how long it keeps others from being issued.
    cycles: u8,
    /// Whether it is the first of its line.
    is_first: bool,
    has_jumped: bool,
    /// How many are behind it, of as many cycles each.
    behind: u16,
}

impl Segment {
    /// So many instructions of so many cycles each, of which none but perhaps the first of its line needs anything.
    #[inline(always)]
    fn of(instructions: u32, cycles: u8, pc: u32) -> Self {
        let behind = (instructions - 1) as u16;
        let places = Places::default();
        Self { pc, data: NO_DATA, places, cycles, is_first: false, has_jumped: false, behind }
    }

    /// How many it has.
    #[inline(always)]
    fn instructions(&self) -> u32 {
        1 + u32::from(self.behind)
    }

    /// Whether instructions of so many cycles can be of it, up to the end of a line.
    #[inline(always)]
    fn goes_on(&self, cycles: u8) -> bool {
        self.cycles == cycles && self.behind < 1024
    }

    /// Looks whether its first instruction takes a cycle and has its line and its constant at hand.
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
        self.cycles == 1
    }
}

/// The places of a line and of a constant in their caches.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    line: u32,
    data: u32,
}

impl Ahead {
    /// The address of the instruction that is to be issued, if it was executed.
    pub(super) fn pc(&self) -> Option<u32> {
        (self.issued < self.count).then(|| self.segments[usize::from(self.issued)].pc)
    }

    /// Whether all were issued, and more can be executed.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.issued == self.count && !self.is_stopped
    }

    /// How many instructions from the next one on, of those that were executed, take a cycle each and have their lines and their constants at hand; and whether the
    /// one behind them has not.
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

    /// Issues those of them whose turns come before an edge, and those behind the last one that only take their time; answers how many.
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
        let outcome = if segment.has_jumped { Outcome::Jumped } else { Outcome::Done };
        Some(Issued { cycles, outcome })
    }
}

impl<S: InstructionSet> Code<S> {
    /// Executes instructions of a thread, all of whose instructions were issued, up to one that does more than is known here, or that cannot be executed.
    pub(super) fn execute_ahead(&self, thread: &mut Bank<S::Thread>, context: &mut Context) {
        let Bank { registers, line, ahead } = thread;
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
            let gone = go::<S>(&self.steps[index..index + usize::from(step.straight)], registers, own);
            let data = std::mem::replace(&mut own.data, NO_DATA);
            let waits_behind = gone.has_jumped & self.waits_behind_jumps;
            // The last one may be a segment of its own.
            let is_apart = (data != NO_DATA) | waits_behind;
            let (mut left, mut room) = (gone.executed - u32::from(is_apart), u32::from(step.in_line));
            while left != 0 {
                let these = left.min(room);
                made.add(these, step.cycles, pc);
                pc += 4 * these;
                left -= these;
                room = self.line_instructions;
            }
            if is_apart {
                let has_jumped = gone.has_jumped;
                made.put(Segment { data, has_jumped, ..Segment::of(1, step.cycles, pc) });
                pc += 4;
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

/// What has come of instructions one behind the other.
struct Gone {
    executed: u32,
    /// Whether the last of them has jumped.
    has_jumped: bool,
    /// Whether the one behind them could not be executed.
    is_stopped: bool,
}

/// Executes instructions one behind the other, up to one that jumps, reads a constant, or cannot be executed: that leaves its thread as it was. A function of its
/// own, so that the host has nothing to keep for others.
#[inline(never)]
fn go<S: InstructionSet>(steps: &[Step<S>], registers: &mut S::Thread, own: &mut Own) -> Gone {
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

/// Segments that one stretch of instructions takes at most: see [`STRETCH_LINES`], and one of its own for the last.
const RESERVE: usize = STRETCH_LINES + 1;

/// Segments that are being made.
struct Made<'a> {
    segments: &'a mut [Segment; SEGMENTS],
    count: usize,
    /// The bits of an address that name its line.
    line_mask: u32,
    /// The line of the last instruction.
    line: u32,
}

impl Made<'_> {
    /// So many instructions of so many cycles each, from one on, that are all of a line.
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

    /// The next segment, for which there is room.
    #[inline(always)]
    fn put(&mut self, segment: Segment) {
        let line = segment.pc & self.line_mask;
        self.segments[self.count % SEGMENTS] = Segment { is_first: line != self.line, ..segment };
        self.count += 1;
        self.line = line;
    }
}
