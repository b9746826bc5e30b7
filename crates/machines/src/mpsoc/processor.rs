//! A processor: a pipeline that hardware threads share (the paper, section 5.2).

use std::collections::VecDeque;

use wireloom_isa::Exception;
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::{Label, Track};
use wireloom_sim::{Activity, Clock, Effort, SpecError, Time, Timeline};

use super::caches::Caches;
use super::context::{Context, Wait};
use super::parcel::{Line, Request, Which};
use super::pipeline::Pipeline;
use super::spec::{Multithreading, ProcessorSpec};
use super::workload::{Outcome, Port, Start, Workload};

/// No edge.
const NEVER: u64 = u64::MAX;

/// A processor and its threads. Of masks, bit `n` is thread `n`.
#[derive(Debug)]
pub(super) struct Processor<T> {
    threads: Vec<Hardware<T>>,
    caches: Caches,
    multithreading: Multithreading,
    /// Threads whose next instruction can be issued.
    ready: u32,
    /// Threads with an instruction in the pipeline.
    piped: u32,
    /// Threads that wait.
    waiting: u32,
    /// Threads that have something to send when their instruction is in the last stage.
    sending: u32,
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
    /// What threads send, with the edges at which it leaves and the numbers of the threads among all.
    outbox: VecDeque<(u64, u32, Request)>,
    /// Whether all threads are looked at in every cycle.
    is_naive: bool,
    /// From the first stage to the last, in cycles.
    drain: u64,
}

/// A hardware thread.
#[derive(Debug)]
struct Hardware<T> {
    registers: T,
    context: Context,
    request: Option<Request>,
    track: Track,
}

/// What is around a processor.
pub(super) struct Outside<'a> {
    pub(super) now: Time,
    /// What threads send now, with the number of the thread among all.
    pub(super) sent: &'a mut Vec<(u32, Request)>,
    pub(super) timeline: &'a mut Timeline,
    pub(super) labels: &'a Labels,
}

/// What threads do on a timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    runs: Label,
    waits: Label,
    idle: Label,
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
            let mut context =
                Context::new(number * threads + lane, lane, workload.part(number * threads + lane));
            if !begins(lane) {
                context.wait = Wait::Begin;
            }
            Hardware {
                registers: workload.thread(number * threads + lane),
                context,
                request: None,
                track: timeline.track(&format!("processor {number}"), &format!("thread {lane}")),
            }
        };
        let ready = (0..threads).filter(|lane| begins(*lane)).fold(0, |ready, lane| ready | 1 << lane);
        Ok(Self {
            threads: (0..threads).map(thread).collect(),
            caches: Caches::new(spec, seed, number)?,
            multithreading: spec.multithreading,
            ready,
            piped: 0,
            waiting: !ready & u32::MAX >> (32 - threads),
            sending: 0,
            pipeline: Pipeline::default(),
            stages: u64::from(spec.stages),
            first: u32::MAX,
            current: 0,
            free: 0,
            has_failed: false,
            clock: spec.clock,
            edge: 0,
            next_edge: 0,
            outbox: VecDeque::new(),
            is_naive: effort == Effort::Naive,
            drain: match spec.multithreading {
                Multithreading::Barrel => u64::from(spec.stages) - 1,
                Multithreading::Blocking => 0,
            },
        })
    }

    /// Its turn at an edge: its cycles from this edge on, those before `limit`, which is behind it. Nothing may reach it before that edge; so it does
    /// them all in one go, while all that it touches is in the host's caches. What its threads send leaves when time has come to it.
    #[inline]
    pub(super) fn turn<W: Workload<Thread = T>>(
        &mut self,
        (edge, limit): (u64, u64),
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> Activity {
        // Behind its last cycle, or, at time 0, before its first.
        if edge > self.edge || self.next_edge == edge {
            self.next_edge = edge;
            if self.is_naive {
                self.look();
            }
            match self.multithreading {
                Multithreading::Barrel => self.barrel(limit, workload, outside),
                Multithreading::Blocking => self.blocking(limit, workload, outside),
            }
        }
        while self.outbox.front().is_some_and(|(at, ..)| *at == edge) {
            outside.sent.extend(self.outbox.pop_front().map(|(_, thread, request)| (thread, request)));
        }
        let next = match self.outbox.front() {
            Some((at, ..)) => *at,
            // Time comes to the last of its cycles even if nothing else is to be done there.
            None if self.next_edge == NEVER || self.has_failed => self.edge,
            None => self.next_edge,
        };
        if next > edge { Activity::After(next - edge) } else { Activity::Asleep }
    }

    /// Cycles before an edge, those left out in which only waiting is done: an instruction of the next ready thread enters the pipeline; the thread can
    /// issue its next one when it has left.
    #[inline]
    fn barrel<W: Workload<Thread = T>>(&mut self, limit: u64, workload: &W, outside: &mut Outside<'_>) {
        let mut edge = self.next_edge;
        while edge < limit && !self.has_failed {
            self.edge = edge;
            if let Some(thread) = self.pipeline.pop(edge) {
                let bit = 1 << thread;
                self.piped &= !bit;
                self.ready |= bit & !self.waiting;
            }
            if self.ready != 0 && self.free <= edge {
                let thread = self.take_turn();
                let bit = 1 << thread;
                self.ready &= !bit;
                self.piped |= bit;
                self.pipeline.push(edge + self.stages, thread);
                self.issue(thread, workload, outside);
            }
            let next = if self.ready != 0 { self.free.max(edge + 1) } else { NEVER };
            edge = match self.pipeline.next(edge) {
                Some(leaves) if self.sending == 0 => next.min(leaves),
                Some(leaves) => next.min(self.last_stage(leaves)),
                // It sleeps when it could issue something again.
                None if self.ready == 0 && self.free > edge + 1 => self.free - 1,
                None => next,
            };
        }
        self.next_edge = edge;
    }

    /// What the instruction that leaves next has to send leaves in the last stage. Answers when something is to be done for it.
    fn last_stage(&mut self, leaves: u64) -> u64 {
        let thread = self.pipeline.thread(leaves);
        let bit = 1 << thread;
        if self.sending & bit == 0 {
            return leaves;
        }
        if leaves > self.edge + 1 {
            return leaves - 1;
        }
        self.sending &= !bit;
        self.depart(thread);
        leaves
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
                self.current = self.take_turn();
            }
            let bit = 1 << self.current;
            if self.ready & bit == 0 {
                self.next_edge = NEVER;
                continue;
            }
            let outcome = self.issue_any(self.current, workload, outside);
            self.ready &= !self.waiting;
            if outcome == Outcome::Jumped {
                self.free += self.stages - 1;
            }
            if self.sending & bit != 0 {
                self.sending &= !bit;
                self.depart(self.current);
            }
            self.next_edge = self.free;
        }
    }

    /// The next ready thread in the round; there is one.
    #[inline]
    fn take_turn(&mut self) -> u32 {
        let behind = self.ready & self.first;
        let thread = if behind != 0 { behind.trailing_zeros() } else { self.ready.trailing_zeros() };
        self.first = (u32::MAX << thread) << 1;
        thread
    }

    /// Issues the next instruction of a thread.
    #[inline(always)]
    fn issue<W: Workload<Thread = T>>(&mut self, thread: u32, workload: &W, outside: &mut Outside<'_>) {
        let Hardware { registers, context, .. } = &mut self.threads[thread as usize];
        match workload.issue_executed(registers) {
            Some(cycles) => {
                self.free = self.edge + u64::from(cycles.get());
                context.spent.cycles += u64::from(cycles.get());
                context.spent.instructions += 1;
            }
            None => _ = self.issue_any(thread, workload, outside),
        }
    }

    /// Issues the next instruction of a thread, whatever it needs; answers what came of it.
    fn issue_any<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> Outcome {
        let hardware = &mut self.threads[thread as usize];
        let mut port = Port {
            context: &mut hardware.context,
            caches: &mut self.caches,
            cycle: self.edge,
            may_be_ahead: !self.is_naive,
            request: None,
        };
        let issued = workload.issue(&mut hardware.registers, &mut port);
        let request = port.request;
        let context = &mut hardware.context;
        self.free = self.edge + u64::from(issued.cycles);
        context.spent.cycles += u64::from(issued.cycles);
        if request.is_some() {
            hardware.request = request;
            self.sending |= 1 << thread;
        }
        match issued.outcome {
            Outcome::Done | Outcome::Jumped => context.spent.instructions += 1,
            Outcome::Waits | Outcome::Failed => {
                self.has_failed |= issued.outcome == Outcome::Failed;
                self.waiting |= 1 << thread;
                // What it waits for is asked for in the last stage.
                let asked = self.clock.edge(self.edge + self.drain);
                outside.timeline.span(hardware.track, outside.labels.runs, context.since, asked);
                context.since = asked;
            }
        }
        issued.outcome
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
        let context = &mut hardware.context;
        context.replies.arrive(&[]);
        // An instruction that has not been fetched is issued when its turn comes.
        if wait != Wait::Fetch {
            let cycle = self.clock.edge_from(outside.now);
            let mut port = Port {
                context,
                caches: &mut self.caches,
                cycle,
                may_be_ahead: !self.is_naive,
                request: None,
            };
            let issued = workload.issue(&mut hardware.registers, &mut port);
            let request = port.request;
            if let Some(request) = request {
                outside.sent.push((hardware.context.number, request));
            }
            match issued.outcome {
                Outcome::Done | Outcome::Jumped => hardware.context.spent.instructions += 1,
                Outcome::Waits => return false,
                Outcome::Failed => {
                    self.has_failed = true;
                    return false;
                }
            }
        }
        let bit = 1 << thread;
        self.waiting &= !bit;
        self.ready |= bit & !self.piped;
        true
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
        workload.begin(&mut hardware.registers, start);
        let bit = 1 << thread;
        self.waiting &= !bit;
        self.ready |= bit & !self.piped;
    }

    /// A line has come: all that wait for it go on. Answers whether there were any.
    pub(super) fn fill<W: Workload<Thread = T>>(
        &mut self,
        line: Line,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> bool {
        let mut waiting = self.caches.fill(line);
        let any = waiting != 0;
        while waiting != 0 {
            let thread = waiting.trailing_zeros();
            waiting &= waiting - 1;
            self.threads[thread as usize].context.fill = Some(line.address);
            self.resume(thread, workload, outside);
        }
        any
    }

    /// The instruction of a thread is in the last stage: what it sends leaves.
    fn depart(&mut self, thread: u32) {
        let hardware = &mut self.threads[thread as usize];
        if let Some(request) = hardware.request.take() {
            self.outbox.push_back((self.edge, hardware.context.number, request));
        }
    }

    /// Finds out anew what each thread does, as a simulator would that keeps no lists.
    fn look(&mut self) {
        (self.ready, self.waiting, self.sending) = (0, 0, 0);
        self.piped = self.pipeline.piped();
        for (lane, hardware) in self.threads.iter().enumerate() {
            let bit = 1 << lane;
            let waits = hardware.context.wait != Wait::Nothing;
            let is_piped = self.piped & bit != 0;
            self.waiting |= if waits { bit } else { 0 };
            self.ready |= if waits || is_piped { 0 } else { bit };
            self.sending |= if hardware.request.is_some() { bit } else { 0 };
        }
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

    /// Cycles in which instructions were issued, or kept others from it.
    pub(super) fn busy(&self) -> u64 {
        self.threads.iter().map(|hardware| hardware.context.spent.cycles).sum()
    }

    /// Instructions of all threads.
    pub(super) fn instructions(&self) -> u64 {
        self.threads.iter().map(|hardware| hardware.context.spent.instructions).sum()
    }

    /// `instructions`, `use` of so many cycles, `threads`, `caches`.
    pub(super) fn record(&self, cycles: u64, now: Time) -> Record {
        let threads: Vec<Record> = self.threads.iter().map(|hardware| hardware.record(now)).collect();
        Record::new()
            .with("instructions", self.instructions())
            .with("use", self.busy() as f64 / cycles.max(1) as f64)
            .with("caches", self.caches.record())
            .with("threads", threads)
    }
}

impl<T> Hardware<T> {
    /// What the thread waited for has come: what that was.
    fn end_wait(&mut self, outside: &mut Outside<'_>) -> Wait {
        let Self { context, track, .. } = self;
        let wait = std::mem::take(&mut context.wait);
        let waited = outside.now.since(context.since);
        let label = if wait.is_idle() {
            context.idle += waited;
            outside.labels.idle
        } else {
            context.spent.network += waited;
            outside.labels.waits
        };
        outside.timeline.span(*track, label, context.since, outside.now.max(context.since));
        context.since = outside.now;
        wait
    }

    /// `instructions`, and shares of the time: `network` (waiting for it), `idle` (waiting for packets, calls, or something to execute).
    fn record(&self, now: Time) -> Record {
        let Context { spent, idle, since, wait, .. } = &self.context;
        let current = |counts: bool| if counts { now.since(*since) } else { Time::ZERO };
        let idle = *idle + current(wait.is_idle());
        let network = spent.network + current(!wait.is_idle() && *wait != Wait::Nothing);
        let share = |time: Time| time.0 as f64 / now.0.max(1) as f64;
        Record::new()
            .with("instructions", spent.instructions)
            .with("accesses", spent.accesses)
            .with("network", share(network))
            .with("idle", share(idle))
    }
}
