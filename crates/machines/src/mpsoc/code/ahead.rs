//! Instructions that are executed before their time.
//!
//! What an instruction computes and when it is issued are found out apart. Instructions that touch nothing but their own thread (its registers, its
//! local store) and constants mean the same whenever they are executed; so a thread executes several in one go, while the host foresees its branches and has
//! its registers at hand. Each takes its turn in the pipeline later: then its line is fetched, its constant is looked for in the cache, and it counts.

use wireloom_isa::{Flow, InstructionSet, Thread as _};

use super::{Bank, Code};
use crate::mpsoc::caches::Caches;
use crate::mpsoc::context::Context;
use crate::mpsoc::own::NO_DATA;
use crate::mpsoc::parcel::Which;
use crate::mpsoc::workload::{Issued, Outcome, Port, Run};

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

const SEGMENTS: usize = 8;

/// An instruction that was executed, and those behind it that only take their time.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// Of the first one.
    pc: u32,
    /// The line of the constant that it reads, or [`NO_DATA`].
    data: u32,
    /// For how long it keeps others from being issued.
    cycles: u8,
    /// Whether it is the first of its line.
    is_first: bool,
    has_jumped: bool,
    behind: Run,
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

    /// Issues the next instruction, if it was executed and its line and its constant are at hand.
    #[inline(always)]
    pub(super) fn issue_at_hand(
        &mut self,
        line_mask: u32,
        context: &Context,
        caches: &mut Caches,
    ) -> Option<(Issued, Run)> {
        if self.issued == self.count || context.fill.is_some() {
            return None;
        }
        self.issue_with(line_mask, |which, line| caches.read_again(which, line)).ok()
    }

    /// Issues the next instruction, if it was executed.
    #[inline(always)]
    pub(super) fn issue(&mut self, line_mask: u32, port: &mut Port<'_>) -> Option<Issued> {
        if self.issued == self.count {
            return None;
        }
        Some(match self.issue_with(line_mask, |which, line| port.find(which, line)) {
            Ok((issued, behind)) => {
                port.behind = behind;
                issued
            }
            Err(cycles) => Issued { cycles, outcome: Outcome::Waits },
        })
    }

    /// Issues the next instruction, of which there is one, if `has` its line and its constant, for which it asks once each; what is behind it.
    ///
    /// # Errors
    /// For how long one that has to wait keeps others from being issued.
    #[inline(always)]
    fn issue_with(
        &mut self,
        line_mask: u32,
        mut has: impl FnMut(Which, u32) -> bool,
    ) -> Result<(Issued, Run), u32> {
        let segment = &mut self.segments[usize::from(self.issued) % SEGMENTS];
        if segment.is_first && !has(Which::Instruction, segment.pc & line_mask) {
            return Err(1);
        }
        segment.is_first = false;
        if segment.data != NO_DATA && !has(Which::Data, segment.data) {
            return Err(u32::from(segment.cycles));
        }
        self.issued += 1;
        let outcome = if segment.has_jumped { Outcome::Jumped } else { Outcome::Done };
        Ok((Issued { cycles: u32::from(segment.cycles), outcome }, segment.behind))
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
        let (segments, mut count) = (&mut ahead.segments, 0);
        // The last segment's, and the line of the instruction before.
        let (mut behind, mut its_line) = (Run::default(), *line);
        'jumps: loop {
            let mut pc = registers.pc();
            // Whether a plain instruction goes on with the last segment: where a jump leads, the line may be another one.
            let mut goes_on = false;
            for step in self.steps_from(pc) {
                let is_plain = goes_on & step.is_plain;
                if !is_plain && (count == SEGMENTS || !step.is_known) {
                    // What is executed may begin a segment.
                    ahead.is_stopped = !step.is_known;
                    break 'jumps;
                }
                // One that is not executed leaves its thread as it was.
                let Ok(flow) = (step.meaning)(registers, &step.instruction, own) else { break 'jumps };
                let has_jumped = flow == Flow::Taken;
                let waits_behind = has_jumped & self.waits_behind_jumps;
                if is_plain & !waits_behind {
                    behind.count += 1;
                } else {
                    let data = std::mem::replace(&mut own.data, NO_DATA);
                    let is_first = pc & self.instruction_line != its_line;
                    its_line = pc & self.instruction_line;
                    if is_first | (data != NO_DATA) | waits_behind || !behind.goes_on(step.cycles) {
                        if let Some(last) = segments[..count].last_mut() {
                            last.behind = behind;
                        }
                        behind = Run { count: 0, cycles: step.cycles };
                        segments[count] =
                            Segment { pc, data, cycles: step.cycles, is_first, has_jumped, behind };
                        count += 1;
                    } else {
                        behind.count += 1;
                    }
                    goes_on = behind.cycles == 1 && (count < SEGMENTS || !self.waits_behind_jumps);
                }
                if has_jumped {
                    continue 'jumps;
                }
                pc += 4;
            }
            break;
        }
        if let Some(last) = segments[..count].last_mut() {
            last.behind = behind;
        }
        *line = its_line;
        ahead.count = count as u8;
    }
}

impl Run {
    /// Whether one more instruction of so many cycles can be of it, and plain ones behind it to the end of their line.
    #[inline(always)]
    fn goes_on(self, cycles: u8) -> bool {
        self.cycles == cycles && self.count < 1024
    }
}
