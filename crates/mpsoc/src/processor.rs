//! A processor: a pipeline that hardware threads share (the paper, section 5.2).

mod barrel;
mod every_cycle;

use wireloom_sim::parts::issue::{Barrel, Round, SwitchOnWait, threads_of};
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::Label;
use wireloom_sim::{Clock, Effort, SpecError, Time, Timeline};

use barrel::IssueSlots;

use super::caches::Caches;
use super::context::{Context, Wait};
use super::hardware::Hardware;
use super::machine::Problem;
use super::mpe::Spent;
use super::noc_payload::{Line, Request, Which};
use super::spec::{Multithreading, ProcessorSpec};
use super::workload::{Issued, Outcome, Port, Run, Start, Workload};

/// The value for "no edge".
pub(super) const NEVER: u64 = u64::MAX;

/// A processor and its threads. In masks, bit `n` is thread `n`.
#[derive(Clone, Debug)]
pub(super) struct Processor<T> {
    threads: Vec<Hardware<T>>,
    /// For each thread: instructions to issue before its next one. The thread's counters include
    /// them already.
    runs: [Run; 32],
    caches: Caches,
    multithreading: Multithreading,
    /// Threads whose next instruction can be issued.
    ready: u32,
    /// Threads that wait.
    waiting: u32,
    /// The schedule of [`Multithreading::Barrel`].
    lanes: IssueSlots,
    /// The schedule of [`Multithreading::Barrel`] if all threads are polled in every cycle.
    every_cycle: Barrel,
    /// The number of pipeline stages.
    stages: u64,
    /// The round-robin order of contending threads, in [`Multithreading::Barrel`].
    round: Round,
    /// The thread that holds the pipeline, in [`Multithreading::Blocking`].
    switch: SwitchOnWait,
    /// The first edge at which the next instruction can be issued.
    free: u64,
    has_failed: bool,
    clock: Clock,
    /// The edge of its current or last cycle. Simulated time may not have reached it yet: see
    /// [`Processor::turn`].
    edge: u64,
    /// The edge of the next cycle in which it has work, unless a thread resumes before; [`NEVER`]
    /// if it sleeps.
    next_edge: u64,
    /// Whether all threads are polled in every cycle.
    is_naive: bool,
    /// The time from the first stage to the last, in cycles.
    drain: u64,
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
    /// The time at which it leaves, which may lie in the future.
    pub(super) at: Time,
    /// The number of the thread on the chip.
    pub(super) thread: u32,
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
        (seed, effort): (u64, Effort),
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
            }
        };
        let ready =
            (0..threads).filter(|lane| begins(*lane)).fold(0, |ready, lane| ready | 1 << lane);
        Ok(Self {
            threads: (0..threads).map(thread).collect(),
            runs: [Run::default(); 32],
            caches: Caches::new(spec, seed, number)?,
            multithreading: spec.multithreading,
            ready,
            waiting: !ready & u32::MAX >> (32 - threads),
            lanes: IssueSlots::new(),
            every_cycle: Barrel::new(u64::from(spec.stages)),
            stages: u64::from(spec.stages),
            round: Round::default(),
            switch: SwitchOnWait::default(),
            free: 0,
            has_failed: false,
            clock: spec.clock,
            edge: 0,
            next_edge: 0,
            is_naive: effort == Effort::Naive,
            drain: match spec.multithreading {
                Multithreading::Barrel => u64::from(spec.stages) - 1,
                Multithreading::Blocking => 0,
            },
        })
    }

    /// Executes the turn at an edge: the cycles from this edge up to `limit`, which is later.
    /// Nothing may reach the processor before `limit`; so it executes all these cycles in sequence,
    /// while its data is in the host's caches.
    #[inline]
    pub(super) fn turn<W: Workload<Thread = T>>(
        &mut self,
        (edge, limit): (u64, u64),
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        match self.multithreading {
            _ if self.has_failed => {}
            Multithreading::Barrel if self.is_naive => {
                self.look();
                self.every_cycle(edge, workload, outside);
            }
            Multithreading::Barrel => {
                self.look_again(edge, 0, workload);
                if self.next_edge < limit {
                    self.barrel(limit, workload, outside);
                }
            }
            Multithreading::Blocking => {
                if self.is_naive {
                    self.next_edge = edge;
                    self.look();
                }
                self.blocking(limit, workload, outside);
            }
        }
    }

    /// The later edge at which it needs its next turn, unless something arrives before; [`NEVER`]
    /// if it needs none.
    pub(super) fn due(&self, edge: u64) -> u64 {
        // Simulated time reaches the last of its cycles even if nothing else is to be done there.
        let is_over = self.next_edge == NEVER || self.has_failed;
        let due = if is_over { self.edge } else { self.next_edge };
        if due > edge { due } else { NEVER }
    }

    /// Executes the cycles before an edge, and skips those that only wait: the thread that holds
    /// the pipeline issues an instruction in each cycle, except after a jump, when the pipeline
    /// refills.
    fn blocking<W: Workload<Thread = T>>(
        &mut self,
        limit: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        while self.next_edge < limit && !self.has_failed {
            self.edge = self.next_edge;
            self.next_edge = self.free;
            if self.free > self.edge {
                continue;
            }
            let current = self.switch.current();
            let is_waiting = self.waiting & 1 << current != 0;
            if is_waiting && self.threads[current as usize].context.gives_way() {
                self.switch.give_way(self.ready);
            }
            let current = self.switch.current();
            let bit = 1 << current;
            if self.ready & bit == 0 {
                self.next_edge = NEVER;
                continue;
            }
            let outcome = self.issue(current, workload, outside);
            self.ready &= !self.waiting;
            if outcome == Outcome::Jumped {
                self.free += self.stages - 1;
            }
            self.next_edge = self.free;
        }
    }

    /// Issues the next instruction of a thread; returns its outcome.
    #[inline(always)]
    fn issue<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> Outcome {
        let run = &mut self.runs[thread as usize % 32];
        if run.count == 0 {
            return self.execute(thread, workload, outside);
        }
        run.count -= 1;
        self.free = self.edge + u64::from(run.cycles);
        Outcome::Done
    }

    /// Executes the next instruction of a thread at its issue time.
    fn execute<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> Outcome {
        let (issued, behind, request) = self.issue_at(self.edge, thread, workload);
        self.count(thread, issued, behind);
        let hardware = &mut self.threads[thread as usize];
        // A message leaves in the last stage, which all instructions reach in the order of their
        // issue.
        let (clock, last_edge) = (self.clock, self.edge + self.drain);
        if let Some(request) = request {
            let thread = hardware.context.number;
            outside.sent.push(Sent { at: clock.edge(last_edge), thread, request });
        }
        if matches!(issued.outcome, Outcome::Waits | Outcome::Failed) {
            self.has_failed |= issued.outcome == Outcome::Failed;
            self.waiting |= 1 << thread;
            let asked = clock.edge(last_edge);
            hardware.show(outside.labels.runs, asked, outside.timeline);
            hardware.context.since = asked;
        }
        issued.outcome
    }

    /// Lets the workload issue the next instruction of a thread at an edge; returns its outcome,
    /// the instructions after it that only take time, and its message.
    #[inline(always)]
    fn issue_at<W: Workload<Thread = T>>(
        &mut self,
        edge: u64,
        thread: u32,
        workload: &W,
    ) -> (Issued, Run, Option<Request>) {
        let Hardware { registers, context, .. } = &mut self.threads[thread as usize];
        let mut port = Port {
            context,
            caches: &mut self.caches,
            cycle: edge,
            may_be_ahead: !self.is_naive,
            request: None,
            behind: Run::default(),
        };
        let issued = workload.issue(registers, &mut port);
        let (behind, request) = (port.behind, port.request);
        // A missing line evicts another one.
        if let Some(Request::Line(line)) = request {
            if self.has_lanes() {
                self.count_all_before(edge, workload);
            }
            self.caches.put(line, edge);
        }
        (issued, behind, request)
    }

    /// Counts an issued instruction and those after it that only take time.
    #[inline(always)]
    fn count(&mut self, thread: u32, issued: Issued, behind: Run) {
        let spent = &mut self.threads[thread as usize].context.spent;
        spent.add(behind);
        spent.cycles += u64::from(issued.cycles);
        spent.instructions += u64::from(matches!(issued.outcome, Outcome::Done | Outcome::Jumped));
        self.runs[thread as usize % 32] = behind;
        self.free = self.edge + u64::from(issued.cycles);
    }

    /// Handles the event that a thread waits for: its instruction ends, or waits for the next
    /// event. Returns whether the thread resumes.
    pub(super) fn resume<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> bool {
        let hardware = &mut self.threads[thread as usize];
        let wait = hardware.end_wait(outside);
        hardware.context.replies.arrive(&[]);
        // An instruction that has not been fetched is issued at its issue time.
        if wait != Wait::Fetch {
            let edge = self.clock.edge_from(outside.now);
            let (issued, behind, request) = self.issue_at(edge, thread, workload);
            let context = &mut self.threads[thread as usize].context;
            context.spent.add(behind);
            self.runs[thread as usize] = behind;
            if let Some(request) = request {
                outside.sent.push(Sent { at: outside.now, thread: context.number, request });
            }
            match issued.outcome {
                Outcome::Done | Outcome::Jumped => context.spent.instructions += 1,
                Outcome::Waits => return false,
                Outcome::Failed => {
                    self.has_failed = true;
                    self.edge = edge;
                    return false;
                }
            }
        }
        self.go_on(thread, outside.now);
        true
    }

    /// Ends the wait of a thread.
    fn go_on(&mut self, thread: u32, now: Time) {
        let (bit, mut edge) = (1 << thread, self.clock.edge_from(now));
        self.waiting &= !bit;
        match self.multithreading {
            // A polled thread finds this out itself.
            _ if self.is_naive => {}
            Multithreading::Blocking => self.ready |= bit,
            Multithreading::Barrel => {
                self.ready |= if self.lanes.is_piped(thread) { 0 } else { bit };
                edge = self.lanes.go_on(
                    thread,
                    edge,
                    &mut self.runs[thread as usize % 32],
                    self.stages,
                );
            }
        }
        self.next_edge = self.next_edge.min(edge);
    }

    /// Begins a created thread on a free hardware thread.
    pub(super) fn begin<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        start: Start,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let hardware = &mut self.threads[thread as usize];
        hardware.end_wait(outside);
        hardware.context.begin();
        self.runs[thread as usize % 32] = Run::default();
        workload.begin(&mut hardware.registers, start);
        self.go_on(thread, outside.now);
    }

    /// Handles the arrival of a line: all threads that wait for it resume. Returns whether there
    /// were any.
    pub(super) fn fill<W: Workload<Thread = T>>(
        &mut self,
        line: Line,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> bool {
        let waiting = self.caches.fill(line);
        for thread in threads_of(waiting) {
            self.threads[thread as usize].context.fill = Some(line.address);
            self.resume(thread, workload, outside);
        }
        waiting != 0
    }

    /// Whether a thread has raised an exception at this edge or before that was not yet taken.
    #[inline]
    pub(super) fn has_failed(&self, edge: u64) -> bool {
        self.has_failed && self.edge <= edge
    }

    /// Takes the first exception of a thread: the thread, the address of the instruction, and the
    /// problem.
    pub(super) fn take_exception(&mut self) -> Option<(u32, (u32, Problem))> {
        if !std::mem::take(&mut self.has_failed) {
            return None;
        }
        let exceptions = self.threads.iter_mut().zip(0..);
        exceptions
            .filter_map(|(hardware, lane)| Some((lane, *hardware.context.exception.take()?)))
            .next()
    }

    /// The length of a line of a cache, in bytes.
    pub(super) fn line_bytes(&self, which: Which) -> u32 {
        self.caches.line_bytes(which)
    }

    /// The context of a thread.
    pub(super) fn context(&self, thread: u32) -> &Context {
        &self.threads[thread as usize].context
    }

    /// The context of a thread, for changes.
    pub(super) fn context_mut(&mut self, thread: u32) -> &mut Context {
        &mut self.threads[thread as usize].context
    }

    /// The threads: the event that each waits for, if it waits, and its registers.
    pub(super) fn threads(&self) -> impl Iterator<Item = (Option<Wait>, &T)> {
        self.threads.iter().enumerate().map(|(lane, hardware)| {
            ((self.waiting & 1 << lane != 0).then_some(hardware.context.wait), &hardware.registers)
        })
    }

    /// Whether threads issue at edges that are known in advance.
    fn has_lanes(&self) -> bool {
        self.multithreading == Multithreading::Barrel && !self.is_naive
    }

    /// The part of a thread's counters that is not yet issued.
    fn to_come(&self, lane: usize) -> Run {
        let run = self.runs[lane % 32];
        if run.count != 0 || !self.has_lanes() {
            return run;
        }
        let goes_on = self.ready & 1 << lane != 0 || self.lanes.is_piped(lane as u32);
        Run {
            count: if goes_on { self.lanes.to_come(lane as u32, self.stages) } else { 0 },
            cycles: 1,
        }
    }

    /// The cost of each thread's issued instructions.
    pub(super) fn spent(&self) -> impl Iterator<Item = Spent> {
        self.threads.iter().enumerate().map(|(lane, hardware)| hardware.spent(self.to_come(lane)))
    }

    /// The cycles in which instructions were issued, or blocked the issue of others.
    pub(super) fn busy(&self) -> u64 {
        self.spent().map(|spent| spent.cycles).sum()
    }

    /// The number of instructions of all threads.
    pub(super) fn instructions(&self) -> u64 {
        self.spent().map(|spent| spent.instructions).sum()
    }

    /// The number of instructions of all threads, possibly with some that are not yet issued.
    pub(super) fn progress(&self) -> u64 {
        self.threads.iter().map(|hardware| hardware.context.spent.instructions).sum()
    }

    /// Statistics: `instructions`, `use` of so many cycles, `threads`, `caches`.
    pub(super) fn record(&self, cycles: u64, now: Time) -> Record {
        let threads = self.threads.iter().zip(self.spent());
        let threads: Vec<Record> =
            threads.map(|(hardware, spent)| hardware.record(spent, now)).collect();
        Record::new()
            .with("instructions", self.instructions())
            .with("use", self.busy() as f64 / cycles.max(1) as f64)
            .with("caches", self.caches.record())
            .with("threads", threads)
    }
}
