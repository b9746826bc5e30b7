//! The execution of a processor's threads at their issue times.

use wireloom_sim::Clock;
use wireloom_sim::parts::issue::{IssueSlots, Rounds, Threads};

use super::{Hardware, Outside, Sent};
use crate::caches::Caches;
use crate::noc_payload::{Line, Request};
use crate::run::Run;
use crate::workload::{Issued, Outcome, Port, Workload};

/// The threads of a processor, and their shared state. In masks, bit `n` is thread `n`.
#[derive(Clone, Debug)]
pub(super) struct Core<T> {
    pub(super) threads: Vec<Hardware<T>>,
    /// For each thread: instructions to issue before its next one. The thread's counters already
    /// include them.
    pub(super) runs: [Run; 32],
    pub(super) caches: Caches,
    /// The lines that are prefetched with a missing one; empty between instructions.
    pub(super) fetched_ahead: Vec<Line>,
    pub(super) has_failed: bool,
    pub(super) clock: Clock,
    /// Whether all threads are polled in every cycle.
    pub(super) is_naive: bool,
    /// Whether threads issue at edges that are known in advance.
    pub(super) is_ahead: bool,
    /// The time from the first stage to the last, in cycles.
    pub(super) drain: u64,
}

/// A processor's threads while they execute.
pub(super) struct Executing<'a, 'b, W: Workload> {
    pub(super) core: &'a mut Core<W::Thread>,
    pub(super) workload: &'a W,
    pub(super) outside: &'a mut Outside<'b>,
}

impl<W: Workload> Executing<'_, '_, W> {
    /// Issues the next instruction of a thread. Returns its outcome.
    #[inline(always)]
    pub(super) fn issue_next(&mut self, slots: &mut IssueSlots, thread: u32) -> Outcome {
        let run = &mut self.core.runs[thread as usize % 32];
        if run.count == 0 {
            return self.execute(slots, thread);
        }
        run.count -= 1;
        slots.free = slots.edge + u64::from(run.cycles);
        Outcome::Done
    }

    /// Executes the next instruction of a thread at its issue time.
    fn execute(&mut self, slots: &mut IssueSlots, thread: u32) -> Outcome {
        let (issued, behind, request) = self.issue_at(slots, slots.edge, thread);
        let Self { core, outside, .. } = self;
        let hardware = &mut core.threads[thread as usize];
        if let Some(profile) = &mut hardware.profile {
            profile.executed(issued.cycles);
        }
        let spent = &mut hardware.context.spent;
        spent.add(behind);
        spent.cycles += u64::from(issued.cycles);
        spent.instructions += u64::from(matches!(issued.outcome, Outcome::Done | Outcome::Jumped));
        core.runs[thread as usize % 32] = behind;
        slots.free = slots.edge + u64::from(issued.cycles);
        // A message leaves in the last stage. All instructions reach that stage in the order of
        // their issue.
        let (clock, last_edge) = (core.clock, slots.edge + core.drain);
        if let Some(request) = request {
            let thread = hardware.context.number;
            let instructions = hardware.context.spent.instructions - u64::from(behind.count);
            let at = clock.edge(last_edge);
            outside.sent.push(Sent { at, thread, instructions, request });
            for line in core.fetched_ahead.drain(..) {
                outside.sent.push(Sent { at, thread, instructions, request: Request::Line(line) });
            }
        }
        if matches!(issued.outcome, Outcome::Waits | Outcome::Failed) {
            core.has_failed |= issued.outcome == Outcome::Failed;
            slots.waiting |= 1 << thread;
            let asked = clock.edge(last_edge);
            hardware.show(outside.labels.runs, asked, outside.timeline);
            hardware.context.since = asked;
        }
        issued.outcome
    }

    /// Lets the workload issue the next instruction of a thread at an edge. Returns its outcome,
    /// the instructions after it that only take time, and its message.
    #[inline(always)]
    pub(super) fn issue_at(
        &mut self,
        slots: &mut IssueSlots,
        edge: u64,
        thread: u32,
    ) -> (Issued, Run, Option<Request>) {
        let core = &mut *self.core;
        let Hardware { registers, context, profile, .. } = &mut core.threads[thread as usize];
        let index = profile.as_ref().map(|_| self.workload.index(registers));
        let mut port = Port {
            context,
            caches: &mut core.caches,
            cycle: edge,
            may_be_ahead: !core.is_naive,
            request: None,
            behind: Run::default(),
        };
        let issued = self.workload.issue(registers, &mut port);
        let (behind, request) = (port.behind, port.request);
        if let (Some(profile), Some(index)) = (profile, index) {
            profile.issued(index, issued.outcome);
        }
        // A missing line evicts another one, so all earlier reads are recorded first.
        if let Some(Request::Line(line)) = request {
            if core.is_ahead {
                slots.count_all_before(edge, self);
            }
            let Core { caches, fetched_ahead, .. } = &mut *self.core;
            caches.put(line, edge);
            caches.put_ahead(line, edge, fetched_ahead);
        }
        (issued, behind, request)
    }
}

impl<W: Workload> Threads for Executing<'_, '_, W> {
    #[inline(always)]
    fn issue(&mut self, slots: &mut IssueSlots, thread: u32) {
        self.issue_next(slots, thread);
    }

    #[inline(always)]
    fn available(&mut self, thread: u32) -> (u32, bool) {
        if self.core.runs[thread as usize % 32].count != 0 {
            return (0, true);
        }
        let Hardware { registers, context, .. } = &mut self.core.threads[thread as usize];
        self.workload.at_hand(registers, context, &self.core.caches)
    }

    #[inline(always)]
    fn issue_before(&mut self, thread: u32, edge: u64, rounds: Rounds) -> u32 {
        let Core { threads, caches, .. } = &mut *self.core;
        let hardware = &mut threads[thread as usize];
        let issued = self.workload.issue_before(&mut hardware.registers, edge, rounds, caches);
        hardware.context.spent.add(Run { count: issued as u16, cycles: 1 });
        issued
    }

    #[inline(always)]
    fn take_singles(&mut self, thread: u32) -> u64 {
        self.core.runs[thread as usize % 32].take_singles()
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        self.core.caches.changes()
    }

    #[inline(always)]
    fn has_failed(&self) -> bool {
        self.core.has_failed
    }
}
