//! A processor: a pipeline that hardware threads share (the paper, section 5.2).

mod barrel;
mod every_cycle;

use wireloom_isa::Exception;
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::Label;
use wireloom_sim::{Clock, Effort, SpecError, Time, Timeline};

use barrel::Lanes;

use super::caches::Caches;
use super::context::{Context, Wait};
use super::hardware::Hardware;
use super::mpe::Spent;
use super::parcel::{Line, Request, Which};
use super::pipeline::Pipeline;
use super::spec::{Multithreading, ProcessorSpec};
use super::workload::{Issued, Outcome, Port, Run, Start, Workload};

/// No edge.
pub(super) const NEVER: u64 = u64::MAX;

/// A processor and its threads. Of masks, bit `n` is thread `n`.
#[derive(Debug)]
pub(super) struct Processor<T> {
    threads: Vec<Hardware<T>>,
    /// Of each thread: what is to be issued before its next instruction. The thread has spent it already.
    runs: [Run; 32],
    caches: Caches,
    multithreading: Multithreading,
    /// Threads whose next instruction can be issued.
    ready: u32,
    /// Threads that wait.
    waiting: u32,
    /// Of [`Multithreading::Barrel`].
    lanes: Lanes,
    /// The same if all threads are looked at in every cycle.
    pipeline: Pipeline,
    /// Stages of the pipeline.
    stages: u64,
    /// The threads that come first in the round.
    first: u32,
    /// Of [`Multithreading::Blocking`]: the thread that has the pipeline.
    current: u32,
    /// The edge from which on the next instruction can be issued.
    free: u64,
    has_failed: bool,
    clock: Clock,
    /// The edge of the cycle that it is in, or was in last. Time may not have come to it yet: see [`Processor::turn`].
    edge: u64,
    /// The edge of the next cycle in which it has something to do, unless a thread goes on before; [`NEVER`] if it sleeps.
    next_edge: u64,
    /// Whether all threads are looked at in every cycle.
    is_naive: bool,
    /// From the first stage to the last, in cycles.
    drain: u64,
}

/// What is around a processor.
pub(super) struct Outside<'a> {
    pub(super) now: Time,
    /// What threads send.
    pub(super) sent: &'a mut Vec<Sent>,
    pub(super) timeline: &'a mut Timeline,
    pub(super) labels: &'a Labels,
}

/// What a thread sends.
#[derive(Debug)]
pub(super) struct Sent {
    /// When it leaves, which may be later than now.
    pub(super) at: Time,
    /// The thread, among all.
    pub(super) thread: u32,
    pub(super) request: Request,
}

/// What threads do on a timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    runs: Label,
    pub(super) waits: Label,
    pub(super) idle: Label,
}

impl Labels {
    pub(super) fn new(timeline: &mut Timeline) -> Self {
        Self { runs: timeline.label("runs"), waits: timeline.label("waits"), idle: timeline.label("idle") }
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
                number * threads + lane,
                lane,
                workload.part(number * threads + lane),
                workload.constants(),
            );
            if !begins(lane) {
                context.wait = Wait::Begin;
            }
            Hardware {
                registers: workload.thread(number * threads + lane),
                context,
                track: timeline.track(&format!("processor {number}"), &format!("thread {lane}")),
            }
        };
        let ready = (0..threads).filter(|lane| begins(*lane)).fold(0, |ready, lane| ready | 1 << lane);
        Ok(Self {
            threads: (0..threads).map(thread).collect(),
            runs: [Run::default(); 32],
            caches: Caches::new(spec, seed, number)?,
            multithreading: spec.multithreading,
            ready,
            waiting: !ready & u32::MAX >> (32 - threads),
            lanes: Lanes::new(),
            pipeline: Pipeline::default(),
            stages: u64::from(spec.stages),
            first: u32::MAX,
            current: 0,
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

    /// Its turn at an edge: its cycles from this edge on, those before `limit`, which is behind it. Nothing may reach it before that edge; so it does
    /// them all in one go, while all that it touches is in the host's caches.
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

    /// The edge behind this one at which it needs its next turn, unless something comes before; [`NEVER`] if it needs none.
    pub(super) fn due(&self, edge: u64) -> u64 {
        // Time comes to the last of its cycles even if nothing else is to be done there.
        let is_over = self.next_edge == NEVER || self.has_failed;
        let due = if is_over { self.edge } else { self.next_edge };
        if due > edge { due } else { NEVER }
    }

    /// Cycles before an edge, those left out in which only waiting is done: the thread that has the pipeline issues an instruction at each, but behind a
    /// jump: then the pipeline fills anew.
    fn blocking<W: Workload<Thread = T>>(&mut self, limit: u64, workload: &W, outside: &mut Outside<'_>) {
        while self.next_edge < limit && !self.has_failed {
            self.edge = self.next_edge;
            self.next_edge = self.free;
            if self.free > self.edge {
                continue;
            }
            let gives_way = self.waiting & 1 << self.current != 0
                && self.threads[self.current as usize].context.gives_way();
            if gives_way && self.ready != 0 {
                let turn = next_in_turn(self.ready, self.first);
                self.first = behind(turn);
                self.current = turn.trailing_zeros();
            }
            let bit = 1 << self.current;
            if self.ready & bit == 0 {
                self.next_edge = NEVER;
                continue;
            }
            let outcome = self.issue(self.current, workload, outside);
            self.ready &= !self.waiting;
            if outcome == Outcome::Jumped {
                self.free += self.stages - 1;
            }
            self.next_edge = self.free;
        }
    }

    /// Issues the next instruction of a thread; answers what came of it.
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

    /// Executes the next instruction of a thread in its turn.
    fn execute<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> Outcome {
        let (issued, behind, request) = self.issue_at(self.edge, thread, workload);
        self.count(thread, issued, behind);
        let Hardware { context, track, .. } = &mut self.threads[thread as usize];
        // What it sends leaves in the last stage, which all instructions come to in the order in which they were issued.
        let (clock, last_edge) = (self.clock, self.edge + self.drain);
        if let Some(request) = request {
            outside.sent.push(Sent { at: clock.edge(last_edge), thread: context.number, request });
        }
        if matches!(issued.outcome, Outcome::Waits | Outcome::Failed) {
            self.has_failed |= issued.outcome == Outcome::Failed;
            self.waiting |= 1 << thread;
            let asked = clock.edge(last_edge);
            outside.timeline.span(*track, outside.labels.runs, context.since, asked);
            context.since = asked;
        }
        issued.outcome
    }

    /// Lets the workload issue the next instruction of a thread at an edge; answers what came of it, what is behind it, and what it sends.
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
        // A line that is missing takes the place of another one.
        if let Some(Request::Line(line)) = request {
            if self.has_lanes() {
                self.count_all_before(edge, workload);
            }
            self.caches.put(line, edge);
        }
        (issued, behind, request)
    }

    /// Counts what a thread has issued and what is behind it.
    #[inline(always)]
    fn count(&mut self, thread: u32, issued: Issued, behind: Run) {
        let spent = &mut self.threads[thread as usize].context.spent;
        spent.add(behind);
        spent.cycles += u64::from(issued.cycles);
        spent.instructions += u64::from(matches!(issued.outcome, Outcome::Done | Outcome::Jumped));
        self.runs[thread as usize % 32] = behind;
        self.free = self.edge + u64::from(issued.cycles);
    }

    /// What a thread waits for has come: its instruction ends, or waits for the next thing. Answers whether the thread goes on.
    pub(super) fn resume<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> bool {
        let hardware = &mut self.threads[thread as usize];
        let wait = hardware.end_wait(outside);
        hardware.context.replies.arrive(&[]);
        // An instruction that has not been fetched is issued when its turn comes.
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

    /// A thread does not wait any more.
    fn go_on(&mut self, thread: u32, now: Time) {
        let (bit, mut edge) = (1 << thread, self.clock.edge_from(now));
        self.waiting &= !bit;
        match self.multithreading {
            // It finds out itself.
            _ if self.is_naive => {}
            Multithreading::Blocking => self.ready |= bit,
            Multithreading::Barrel => {
                self.ready |= if self.lanes.is_piped(thread) { 0 } else { bit };
                edge = self.lanes.go_on(thread, edge, &mut self.runs[thread as usize % 32], self.stages);
            }
        }
        self.next_edge = self.next_edge.min(edge);
    }

    /// A hardware thread that has executed nothing begins what was created.
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

    /// A line has come: all that wait for it go on. Answers whether there were any.
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

    /// Whether a thread has caused an exception at this edge or before that nobody has taken.
    #[inline]
    pub(super) fn has_failed(&self, edge: u64) -> bool {
        self.has_failed && self.edge <= edge
    }

    /// The first exception that a thread has caused, and the thread.
    pub(super) fn take_exception(&mut self) -> Option<(u32, Exception)> {
        if !std::mem::take(&mut self.has_failed) {
            return None;
        }
        let exceptions = self.threads.iter_mut().zip(0..);
        exceptions.filter_map(|(hardware, lane)| Some((lane, *hardware.context.exception.take()?))).next()
    }

    /// The length of a line of a cache, in bytes.
    pub(super) fn line_bytes(&self, which: Which) -> u32 {
        self.caches.line_bytes(which)
    }

    /// The context of a thread.
    pub(super) fn context(&self, thread: u32) -> &Context {
        &self.threads[thread as usize].context
    }

    /// As [`context`](Self::context), to be changed.
    pub(super) fn context_mut(&mut self, thread: u32) -> &mut Context {
        &mut self.threads[thread as usize].context
    }

    /// The threads: what each waits for if it waits, and its registers.
    pub(super) fn threads(&self) -> impl Iterator<Item = (Option<Wait>, &T)> {
        self.threads.iter().enumerate().map(|(lane, hardware)| {
            ((self.waiting & 1 << lane != 0).then_some(hardware.context.wait), &hardware.registers)
        })
    }

    /// Whether threads have the pipeline at edges that are known before.
    fn has_lanes(&self) -> bool {
        self.multithreading == Multithreading::Barrel && !self.is_naive
    }

    /// What a thread has spent already, and has not issued.
    fn to_come(&self, lane: usize) -> Run {
        let run = self.runs[lane % 32];
        if run.count != 0 || !self.has_lanes() {
            return run;
        }
        let goes_on = self.ready & 1 << lane != 0 || self.lanes.is_piped(lane as u32);
        Run { count: if goes_on { self.lanes.to_come(lane as u32, self.stages) } else { 0 }, cycles: 1 }
    }

    /// What each thread has spent on instructions that were issued.
    pub(super) fn spent(&self) -> impl Iterator<Item = Spent> {
        self.threads.iter().enumerate().map(|(lane, hardware)| hardware.spent(self.to_come(lane)))
    }

    /// Cycles in which instructions were issued, or kept others from it.
    pub(super) fn busy(&self) -> u64 {
        self.spent().map(|spent| spent.cycles).sum()
    }

    /// Instructions of all threads.
    pub(super) fn instructions(&self) -> u64 {
        self.spent().map(|spent| spent.instructions).sum()
    }

    /// Instructions of all threads, perhaps some more than were issued.
    pub(super) fn progress(&self) -> u64 {
        self.threads.iter().map(|hardware| hardware.context.spent.instructions).sum()
    }

    /// `instructions`, `use` of so many cycles, `threads`, `caches`.
    pub(super) fn record(&self, cycles: u64, now: Time) -> Record {
        let threads = self.threads.iter().zip(self.spent());
        let threads: Vec<Record> = threads.map(|(hardware, spent)| hardware.record(spent, now)).collect();
        Record::new()
            .with("instructions", self.instructions())
            .with("use", self.busy() as f64 / cycles.max(1) as f64)
            .with("caches", self.caches.record())
            .with("threads", threads)
    }
}

/// The next ready thread in the round, of which there is one; those of `first` come first. As a mask.
#[inline(always)]
fn next_in_turn(ready: u32, first: u32) -> u32 {
    let first = ready & first;
    let among = if first != 0 { first } else { ready };
    among & among.wrapping_neg()
}

/// The threads behind one, which come first when it has had its turn.
#[inline(always)]
fn behind(turn: u32) -> u32 {
    !(turn | turn.wrapping_sub(1))
}

/// The threads of a mask.
#[inline(always)]
fn threads_of(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = (mask != 0).then_some(mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        first
    })
}
