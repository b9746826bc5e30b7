//! A processor: a pipeline that hardware threads share (the paper, section 5.2).

use wireloom_isa::Exception;
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::{Label, Track};
use wireloom_sim::{Activity, SpecError, Time, Timeline};

use super::caches::Caches;
use super::context::{Context, Wait};
use super::parcel::{Line, Request, Which};
use super::spec::{Multithreading, ProcessorSpec};
use super::workload::{Outcome, Port, Start, Workload};

/// A stage with no instruction.
const BUBBLE: u8 = u8::MAX;

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
    /// The threads whose instructions are in the pipeline: one was issued at each cycle.
    pipe: Box<[u8]>,
    /// Where in `pipe` this cycle's is.
    position: usize,
    /// The first thread in the round.
    next: u32,
    /// Of [`Multithreading::Blocking`]: the thread that has the pipeline.
    current: u32,
    /// Cycles for which nothing can be issued.
    hold: u32,
    /// Cycles in which instructions were issued, or kept others from it.
    busy: u64,
    has_failed: bool,
    /// From the first stage to the last.
    drain: Time,
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
    /// What threads send, with the number of the thread among all.
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
        seed: u64,
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
            pipe: vec![BUBBLE; spec.stages as usize].into(),
            position: 0,
            next: 0,
            current: 0,
            hold: 0,
            busy: 0,
            has_failed: false,
            drain: match spec.multithreading {
                Multithreading::Barrel => spec.clock.cycles(u64::from(spec.stages) - 1),
                Multithreading::Blocking => Time::ZERO,
            },
        })
    }

    /// A cycle. One without anything to do changes nothing.
    #[inline]
    pub(super) fn cycle<W: Workload<Thread = T>>(
        &mut self,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> Activity {
        match self.multithreading {
            Multithreading::Barrel => self.barrel(workload, outside),
            Multithreading::Blocking => self.blocking(workload, outside),
        }
    }

    /// An instruction of the next ready thread enters; the thread can issue its next one when it has left.
    #[inline]
    fn barrel<W: Workload<Thread = T>>(&mut self, workload: &W, outside: &mut Outside<'_>) -> Activity {
        if self.ready | self.piped == 0 && self.hold == 0 {
            return Activity::Asleep;
        }
        let last = if self.position + 1 == self.pipe.len() { 0 } else { self.position + 1 };
        self.position = last;
        let leaving = std::mem::replace(&mut self.pipe[self.position], BUBBLE);
        if leaving != BUBBLE {
            let bit = 1 << leaving;
            self.piped &= !bit;
            self.ready |= bit & !self.waiting;
        }
        if self.hold > 0 {
            self.hold -= 1;
        } else if self.ready != 0 {
            let thread = self.take_turn();
            let bit = 1 << thread;
            self.ready &= !bit;
            self.piped |= bit;
            self.pipe[self.position] = thread as u8;
            let (cycles, _) = self.issue(thread, workload, outside);
            self.hold = cycles - 1;
        }
        let last = if self.position + 1 == self.pipe.len() { 0 } else { self.position + 1 };
        let thread = self.pipe[last];
        if thread != BUBBLE && self.sending & 1 << thread != 0 {
            self.sending &= !(1 << thread);
            self.depart(u32::from(thread), outside);
        }
        if self.ready | self.piped == 0 && self.hold == 0 { Activity::Asleep } else { Activity::Awake }
    }

    /// The thread that has the pipeline issues an instruction at each cycle, but behind a jump: then the pipeline fills anew.
    fn blocking<W: Workload<Thread = T>>(&mut self, workload: &W, outside: &mut Outside<'_>) -> Activity {
        if self.hold > 0 {
            self.hold -= 1;
            return Activity::Awake;
        }
        let gives_way = |processor: &Self, thread: u32| {
            processor.threads[thread as usize].context.gives_way() && processor.waiting & 1 << thread != 0
        };
        if gives_way(self, self.current) && self.ready != 0 {
            self.current = self.take_turn();
        }
        let bit = 1 << self.current;
        if self.ready & bit == 0 {
            return Activity::Asleep;
        }
        let (cycles, outcome) = self.issue(self.current, workload, outside);
        self.ready &= !self.waiting;
        self.hold = cycles - 1;
        if outcome == Outcome::Jumped {
            self.hold += self.pipe.len() as u32 - 1;
        }
        if self.sending & bit != 0 {
            self.sending &= !bit;
            self.depart(self.current, outside);
        }
        Activity::Awake
    }

    /// The next ready thread in the round; there is one.
    #[inline]
    fn take_turn(&mut self) -> u32 {
        let behind = self.ready & u32::MAX.checked_shl(self.next).unwrap_or(0);
        let thread = if behind != 0 { behind.trailing_zeros() } else { self.ready.trailing_zeros() };
        self.next = thread + 1;
        thread
    }

    /// Issues the next instruction of a thread; answers its cycles and what came of it.
    #[inline]
    fn issue<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) -> (u32, Outcome) {
        let hardware = &mut self.threads[thread as usize];
        let mut port = Port {
            context: &mut hardware.context,
            caches: &mut self.caches,
            now: outside.now,
            request: None,
        };
        let issued = workload.issue(&mut hardware.registers, &mut port);
        let request = port.request;
        let context = &mut hardware.context;
        self.busy += u64::from(issued.cycles);
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
                let asked = outside.now + self.drain;
                outside.timeline.span(hardware.track, outside.labels.runs, context.since, asked);
                context.since = asked;
            }
        }
        (issued.cycles, issued.outcome)
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
            let mut port = Port { context, caches: &mut self.caches, now: outside.now, request: None };
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

    fn depart(&mut self, thread: u32, outside: &mut Outside<'_>) {
        let hardware = &mut self.threads[thread as usize];
        if let Some(request) = hardware.request.take() {
            outside.sent.push((hardware.context.number, request));
        }
    }

    /// Whether a thread has caused an exception that nobody has taken.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
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
        self.busy
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
            .with("use", self.busy as f64 / cycles.max(1) as f64)
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
