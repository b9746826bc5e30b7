//! A processor: a pipeline that hardware threads share (the paper, section 5.2).

mod every_cycle;
mod executing;

use wireloom_machine::LineCounts;
use wireloom_sim::parts::issue::{Barrel, IssueSlots, SwitchOnWait, threads_of};
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::Label;
use wireloom_sim::{Effort, SpecError, Time, Timeline};

use super::caches::Caches;
use super::context::{Context, Wait};
use super::finish::Spent;
use super::hardware::{Before, Hardware, ThreadProfile};
use super::noc_payload::{Line, Request, Which};
use super::problem::Problem;
use super::run::Run;
use super::spec::{Multithreading, ProcessorSpec};
use super::tally::Tally;
use super::workload::{Outcome, Start, Workload};
use executing::{Core, Executing};

pub(super) use wireloom_sim::parts::issue::NEVER;

/// A processor and its threads. In masks, bit `n` is thread `n`.
#[derive(Clone, Debug)]
pub(super) struct Processor<T> {
    core: Core<T>,
    multithreading: Multithreading,
    /// The threads that can issue, and their issue times. With [`Multithreading::Barrel`] also the
    /// schedule.
    slots: IssueSlots,
    /// The schedule of [`Multithreading::Barrel`] if all threads are polled in every cycle.
    every_cycle: Barrel,
    /// The number of pipeline stages.
    stages: u64,
    /// The thread that holds the pipeline, in [`Multithreading::Blocking`].
    switch: SwitchOnWait,
}

/// The environment of a processor.
pub(super) struct Outside<'a> {
    pub(super) now: Time,
    /// The messages that threads send.
    pub(super) sent: &'a mut Vec<Sent>,
    pub(super) timeline: &'a mut Timeline,
    pub(super) labels: &'a Labels,
}

/// A message that a thread sends.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// The departure time of the message, which may lie in the future.
    pub(super) at: Time,
    /// The number of the thread on the chip.
    pub(super) thread: u32,
    /// The number of instructions that the thread has executed up to then.
    pub(super) instructions: u64,
    pub(super) request: Request,
}

/// The activities of threads on a timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    runs: Label,
    pub(super) waits: Label,
    pub(super) idle: Label,
}

impl Labels {
    pub(super) fn new(timeline: &mut Timeline) -> Self {
        Self {
            runs: timeline.label("runs"),
            waits: timeline.label("waits"),
            idle: timeline.label("idle"),
        }
    }
}

impl<T> Processor<T> {
    pub(super) fn new<W: Workload<Thread = T>>(
        spec: &ProcessorSpec,
        (number, threads): (u32, u32),
        workload: &W,
        (seed, effort, is_profiled): (u64, Effort, bool),
        timeline: &mut Timeline,
    ) -> Result<Self, SpecError> {
        let begins = |lane: u32| !workload.is_application() || number + lane == 0;
        let thread = |lane: u32| {
            let mut context = Context::new(
                (number * threads + lane, lane),
                workload.part(number * threads + lane),
                workload.constants(),
                spec.one_way_calls,
            );
            if !begins(lane) {
                context.wait = Wait::Begin;
            }
            Hardware {
                registers: workload.thread(number * threads + lane),
                context,
                track: timeline.track(&format!("processor {number}"), &format!("thread {lane}")),
                shown: Time::ZERO,
                before: Before::default(),
                profile: is_profiled
                    .then(|| Box::new(ThreadProfile::new(workload.instructions(), spec.clock))),
            }
        };
        let ready =
            (0..threads).filter(|lane| begins(*lane)).fold(0, |ready, lane| ready | 1 << lane);
        let waiting = !ready & u32::MAX >> (32 - threads);
        let (stages, is_naive) = (u64::from(spec.stages), effort == Effort::Naive);
        let is_barrel = spec.multithreading == Multithreading::Barrel;
        Ok(Self {
            core: Core {
                threads: (0..threads).map(thread).collect(),
                runs: [Run::default(); 32],
                caches: Caches::new(spec, seed, number)?,
                fetched_ahead: Vec::new(),
                has_failed: false,
                clock: spec.clock,
                is_naive,
                is_ahead: is_barrel && !is_naive,
                drain: if is_barrel { stages - 1 } else { 0 },
            },
            multithreading: spec.multithreading,
            slots: IssueSlots::new(stages, ready, waiting),
            every_cycle: Barrel::new(stages),
            stages,
            switch: SwitchOnWait::default(),
        })
    }

    /// Executes the turn at an edge: the cycles from this edge up to `limit`, which is later.
    /// Nothing may reach the processor before `limit`. It executes all these cycles in sequence,
    /// while its data is in the host's caches.
    #[inline]
    pub(super) fn turn<W: Workload<Thread = T>>(
        &mut self,
        (edge, limit): (u64, u64),
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let is_naive = self.core.is_naive;
        match self.multithreading {
            _ if self.core.has_failed => {}
            Multithreading::Barrel if is_naive => {
                self.look();
                self.every_cycle(edge, workload, outside);
            }
            Multithreading::Barrel => {
                let mut threads = Executing { core: &mut self.core, workload, outside };
                self.slots.look_again(edge, 0, &mut threads);
                if self.slots.next_edge < limit {
                    self.slots.run(limit, &mut threads);
                }
            }
            Multithreading::Blocking => {
                if is_naive {
                    self.slots.next_edge = edge;
                    self.look();
                }
                self.blocking(limit, workload, outside);
            }
        }
    }

    /// The later edge of the processor's next turn, unless something arrives before it; [`NEVER`]
    /// if it needs none.
    pub(super) fn due(&self, edge: u64) -> u64 {
        // Simulated time reaches the last executed cycle even if no event follows.
        let is_over = self.slots.next_edge == NEVER || self.core.has_failed;
        let due = if is_over { self.slots.edge } else { self.slots.next_edge };
        if due > edge { due } else { NEVER }
    }

    /// Executes the cycles before an edge, and skips cycles without an issue. The thread that holds
    /// the pipeline issues an instruction in each cycle, except after a jump, when the pipeline
    /// refills.
    fn blocking<W: Workload<Thread = T>>(
        &mut self,
        limit: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let Self { core, slots, switch, .. } = self;
        let mut threads = Executing { core, workload, outside };
        while slots.next_edge < limit && !threads.core.has_failed {
            slots.edge = slots.next_edge;
            slots.next_edge = slots.free;
            if slots.free > slots.edge {
                continue;
            }
            let current = switch.current();
            let is_waiting = slots.waiting & 1 << current != 0;
            if is_waiting && threads.core.threads[current as usize].context.gives_way() {
                switch.give_way(slots.ready);
            }
            let current = switch.current();
            let bit = 1 << current;
            if slots.ready & bit == 0 {
                slots.next_edge = NEVER;
                continue;
            }
            let outcome = threads.issue_next(slots, current);
            slots.ready &= !slots.waiting;
            if outcome == Outcome::Jumped {
                slots.free += self.stages - 1;
            }
            slots.next_edge = slots.free;
        }
    }

    /// Handles the event that a thread waits for. The thread's instruction ends, or waits for the
    /// next event. Returns whether the thread resumes.
    pub(super) fn resume<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> bool {
        let hardware = &mut self.core.threads[thread as usize];
        let wait = hardware.end_wait(outside);
        hardware.context.replies.arrive(&[]);
        // After a wait for its line, an instruction is issued at its issue time, not now.
        if wait != Wait::Fetch {
            let edge = self.core.clock.edge_from(outside.now);
            let Self { core, slots, .. } = self;
            let mut threads = Executing { core, workload, outside };
            let (issued, behind, request) = threads.issue_at(slots, edge, thread);
            let context = &mut self.core.threads[thread as usize].context;
            context.spent.add(behind);
            self.core.runs[thread as usize] = behind;
            if let Some(request) = request {
                let is_done = matches!(issued.outcome, Outcome::Done | Outcome::Jumped);
                let instructions =
                    context.spent.instructions + u64::from(is_done) - u64::from(behind.count);
                let (at, thread) = (outside.now, context.number);
                outside.sent.push(Sent { at, thread, instructions, request });
                for line in self.core.fetched_ahead.drain(..) {
                    let request = Request::Line(line);
                    outside.sent.push(Sent { at, thread, instructions, request });
                }
            }
            match issued.outcome {
                Outcome::Done | Outcome::Jumped => context.spent.instructions += 1,
                Outcome::Waits => return false,
                Outcome::Failed => {
                    self.core.has_failed = true;
                    self.slots.edge = edge;
                    return false;
                }
            }
        }
        self.go_on(thread, outside.now);
        true
    }

    /// Ends the wait of a thread.
    fn go_on(&mut self, thread: u32, now: Time) {
        let (bit, mut edge) = (1 << thread, self.core.clock.edge_from(now));
        self.slots.waiting &= !bit;
        match self.multithreading {
            // With polling, the thread becomes ready at the next poll.
            _ if self.core.is_naive => {}
            Multithreading::Blocking => self.slots.ready |= bit,
            Multithreading::Barrel => {
                let singles = self.core.runs[thread as usize % 32].take_singles();
                edge = self.slots.go_on(thread, edge, singles);
            }
        }
        self.slots.next_edge = self.slots.next_edge.min(edge);
    }

    /// Begins a created thread on a free hardware thread.
    pub(super) fn begin<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        start: Start,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let hardware = &mut self.core.threads[thread as usize];
        hardware.end_wait(outside);
        hardware.context.begin();
        self.core.runs[thread as usize % 32] = Run::default();
        workload.begin(&mut hardware.registers, start);
        self.go_on(thread, outside.now);
    }

    /// Handles the arrival of a line: all threads that wait for it resume. Returns whether any did.
    pub(super) fn fill<W: Workload<Thread = T>>(
        &mut self,
        line: Line,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> bool {
        let waiting = self.core.caches.fill(line);
        for thread in threads_of(waiting) {
            self.core.threads[thread as usize].context.fill = Some(line.address);
            self.resume(thread, workload, outside);
        }
        waiting != 0
    }

    /// Whether a thread has raised an exception at or before this edge that has not been taken.
    #[inline]
    pub(super) fn has_failed(&self, edge: u64) -> bool {
        self.core.has_failed && self.slots.edge <= edge
    }

    /// Takes the first exception of a thread: the thread, the address of the instruction, and the
    /// problem.
    pub(super) fn take_exception(&mut self) -> Option<(u32, (u32, Problem))> {
        if !std::mem::take(&mut self.core.has_failed) {
            return None;
        }
        let exceptions = self.core.threads.iter_mut().zip(0..);
        exceptions
            .filter_map(|(hardware, lane)| Some((lane, *hardware.context.exception.take()?)))
            .next()
    }

    /// The length of a line of a cache, in bytes.
    pub(super) fn line_bytes(&self, which: Which) -> u32 {
        self.core.caches.line_bytes(which)
    }

    /// The context of a thread.
    pub(super) fn context(&self, thread: u32) -> &Context {
        &self.core.threads[thread as usize].context
    }

    /// The context of a thread, for changes.
    pub(super) fn context_mut(&mut self, thread: u32) -> &mut Context {
        &mut self.core.threads[thread as usize].context
    }

    /// The threads, each with the event that it waits for, if any, and its registers.
    pub(super) fn threads(&self) -> impl Iterator<Item = (Option<Wait>, &T)> {
        self.core.threads.iter().enumerate().map(|(lane, hardware)| {
            (
                (self.slots.waiting & 1 << lane != 0).then_some(hardware.context.wait),
                &hardware.registers,
            )
        })
    }

    /// Whether the caches have changed since the threads were last examined, and the change affects
    /// a thread.
    pub(super) fn has_changed(&self) -> bool {
        self.core.is_ahead && self.slots.has_changed(self.core.caches.changes())
    }

    /// Counts the instructions that threads have issued before an edge, for a report.
    pub(super) fn settle<W: Workload<Thread = T>>(
        &mut self,
        edge: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let mut threads = Executing { core: &mut self.core, workload, outside };
        self.slots.settle(edge, &mut threads);
    }

    /// The part of a thread's counters that is not yet issued.
    fn to_come(&self, lane: usize) -> Run {
        let run = self.core.runs[lane % 32];
        if run.count != 0 || !self.core.is_ahead {
            return run;
        }
        Run { count: self.slots.to_come(lane as u32), cycles: 1 }
    }

    /// The cost of each thread's issued instructions.
    pub(super) fn spent(&self) -> impl Iterator<Item = Spent> {
        self.core
            .threads
            .iter()
            .enumerate()
            .map(|(lane, hardware)| hardware.spent(self.to_come(lane)))
    }

    /// The number of cycles in which instructions were issued, or blocked the issue of others.
    pub(super) fn busy(&self) -> u64 {
        self.spent().map(|spent| spent.cycles).sum()
    }

    /// The part of [`busy`](Self::busy) before an edge. The cycles before the edge are executed,
    /// but the last instruction may block the issue of others for longer.
    pub(super) fn busy_before(&self, edge: u64) -> u64 {
        self.busy() - self.slots.free.saturating_sub(edge)
    }

    /// The number of instructions of all threads.
    pub(super) fn instructions(&self) -> u64 {
        self.spent().map(|spent| spent.instructions).sum()
    }

    /// The number of instructions of all threads, possibly with some that are not yet issued.
    pub(super) fn progress(&self) -> u64 {
        self.core.threads.iter().map(|hardware| hardware.context.spent.instructions).sum()
    }

    /// What each thread did at each instruction up to a time; `None` if that is not counted.
    pub(super) fn profiles(&self, now: Time) -> impl Iterator<Item = Option<Vec<LineCounts>>> {
        self.core.threads.iter().map(move |hardware| hardware.profile(now))
    }

    /// The resource use of all threads' instructions, possibly with some that are not yet issued.
    pub(super) fn tally(&self) -> Tally {
        let mut all = Tally::default();
        self.core.threads.iter().for_each(|hardware| all.join(&hardware.context.own.tally));
        all
    }

    /// For each cache, the numbers of lines that were read, and that were fetched.
    pub(super) fn lines(&self) -> [[u64; 2]; 2] {
        self.core.caches.lines()
    }

    /// Restricts the statistics to the time from now on.
    pub(super) fn begin_to_count(&mut self, now: Time) {
        let spent: Vec<Spent> = self.spent().collect();
        for (hardware, spent) in self.core.threads.iter_mut().zip(spent) {
            hardware.begin_to_count(spent, now);
        }
        self.core.caches.begin_to_count();
    }

    /// For each thread, the cost of issued instructions since packets began to count.
    pub(super) fn counted(&self) -> impl Iterator<Item = Spent> {
        let threads = self.core.threads.iter().zip(self.spent());
        threads.map(|(hardware, spent)| hardware.counted(spent))
    }

    /// Statistics: `instructions`, `use` (the share of `cycles`), `threads`, `caches`.
    pub(super) fn record(&self, cycles: u64, now: Time) -> Record {
        let threads = self.core.threads.iter().zip(self.spent());
        let threads: Vec<Record> =
            threads.map(|(hardware, spent)| hardware.record(spent, now)).collect();
        let (instructions, busy) = self.counted().fold((0, 0), |(instructions, busy), spent| {
            (instructions + spent.instructions, busy + spent.cycles)
        });
        Record::new()
            .with("instructions", instructions)
            .with("use", busy as f64 / cycles.max(1) as f64)
            .with("caches", self.core.caches.record())
            .with("threads", threads)
    }
}
