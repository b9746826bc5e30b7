//! Captures and traces of an engine in the kernel.
//!
//! While a capture or a trace is under way, programs that pass packets on replace the engine's own
//! programs ([`wireloom_live::Watch`]). A thread reads the packets and hands them to the captures
//! and traces. Golden executes a traced packet afterwards, on the tables of that moment, and the
//! result is compared with the result of the program in the kernel.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use wireloom_ir::{self as ir, Golden, Output, Verdict};
use wireloom_live::{Event, Events, Place, Test, Watch};
use wireloom_machine::{Error, Outputs, Result, reason_name, verdict_text};
use wireloom_net::Packet;

use crate::capture::{
    self, CAUGHT_WAITING, Caught, Passed, Passing, Point, TRACED_WAITING, Tap, Traced,
};
use crate::engine::RunningProgram;
use crate::filter::Filter;
use crate::forwarding::Handle;
use crate::protocol::hex;

/// How often the empty ring is polled.
const LOOK: Duration = Duration::from_millis(2);
/// Packets that are read before the thread checks whether it must end.
const AT_ONCE: usize = 1024;
/// How often programs are built for an engine that is replaced meanwhile.
const ATTEMPTS: u32 = 3;

/// All captures and traces of an engine in the kernel.
pub struct Watching {
    handle: Handle,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    watchers: Vec<Arc<Watcher>>,
    reader: Option<Reader>,
}

/// A capture or a trace.
enum Watcher {
    Capture(Tap),
    Trace { engine: Arc<RunningProgram>, filter: Filter, most_steps: u64, passing: Passing<Traced> },
}

/// The thread that reads passed packets. It ends when this is dropped.
struct Reader {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Watcher {
    fn is_wanted(&self) -> bool {
        match self {
            Self::Capture(tap) => tap.is_wanted(),
            Self::Trace { passing, .. } => passing.is_wanted(),
        }
    }

    fn is_trace(&self) -> bool {
        matches!(self, Self::Trace { .. })
    }

    fn filter(&self) -> &Filter {
        match self {
            Self::Capture(tap) => tap.filter(),
            Self::Trace { filter, .. } => filter,
        }
    }

    /// Returns the bits of the places at which the watcher wants packets.
    fn places(&self) -> u32 {
        match self {
            Self::Capture(tap) => tap.points().iter().map(|point| place(*point).bit()).sum(),
            Self::Trace { .. } => Place::In.bit() | Place::End.bit(),
        }
    }

    fn lose(&self, packets: u64) {
        match self {
            Self::Capture(tap) => tap.lose(packets),
            Self::Trace { passing, .. } => passing.lose(packets),
        }
    }
}

fn place(point: Point) -> Place {
    match point {
        Point::In => Place::In,
        Point::Out => Place::Out,
        Point::Cpu => Place::Cpu,
        Point::Drop => Place::Drop,
    }
}

/// Returns the union of the places and filters of all watchers.
fn joined(watchers: &[Arc<Watcher>]) -> Watch {
    let points = watchers.iter().fold(0, |points, watcher| points | watcher.places());
    let tests = watchers.iter().map(|watcher| watcher.filter().in_kernel());
    let filter = tests.reduce(|left, right| match (left, right) {
        (Test::All, _) | (_, Test::All) => Test::All,
        (left, right) => Test::Either(Box::new(left), Box::new(right)),
    });
    Watch { points, filter: filter.unwrap_or(Test::All) }
}

impl Watching {
    /// Creates it without captures and traces.
    pub fn new(handle: Handle) -> Self {
        Self { handle, inner: Mutex::default() }
    }

    /// Captures the packets that the filter accepts at these points, until the given number of
    /// packets or bytes.
    ///
    /// # Errors
    /// If the programs that pass packets on cannot be built or loaded.
    pub fn capture(
        &self,
        points: Vec<Point>,
        filter: Filter,
        packets: u64,
        bytes: u64,
    ) -> Result<Passed<Caught>> {
        let (passing, passed) = capture::passing(CAUGHT_WAITING, packets, bytes);
        self.add(Watcher::Capture(Tap::new(points, filter, passing)))?;
        Ok(passed)
    }

    /// Traces up to `packets` packets that the filter accepts. Also returns the traced program.
    ///
    /// # Errors
    /// As [`capture`](Self::capture), or if another trace is under way.
    pub fn trace(
        &self,
        filter: Filter,
        packets: u64,
        most_steps: u64,
    ) -> Result<(Arc<RunningProgram>, Passed<Traced>)> {
        let (passing, passed) = capture::passing(TRACED_WAITING, packets, u64::MAX);
        let engine = self.handle.ask(|forwarding| Arc::clone(forwarding.engine()))?;
        let traced = Arc::clone(&engine);
        self.add(Watcher::Trace { engine: traced, filter, most_steps, passing })?;
        Ok((engine, passed))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, watcher: Watcher) -> Result {
        let mut inner = self.lock();
        inner.watchers.retain(|watcher| watcher.is_wanted());
        if watcher.is_trace() && inner.watchers.iter().any(|other| other.is_trace()) {
            return Err(Error::new("another trace is under way"));
        }
        inner.watchers.push(Arc::new(watcher));
        self.renew(&mut inner).inspect_err(|_| {
            inner.watchers.pop();
        })
    }

    /// Ends captures and traces that nobody reads. The last one puts the engine's own programs
    /// back.
    pub fn end_unwanted(&self) {
        let mut inner = self.lock();
        inner.watchers.retain(|watcher| watcher.is_wanted());
        if inner.watchers.is_empty() && inner.reader.is_some() {
            // An error means that forwarding has ended, and all programs with it.
            let _ = self.handle.ask(|forwarding| forwarding.unwatch());
            inner.reader = None;
        }
    }

    /// Continues captures after the engine was replaced. Traces end.
    pub fn after_reload(&self) {
        let mut inner = self.lock();
        inner.watchers.retain(|watcher| watcher.is_wanted() && !watcher.is_trace());
        if let Err(error) = self.renew(&mut inner) {
            tracing::warn!("captures end with the reload: {error}");
            inner.watchers.clear();
            inner.reader = None;
        }
    }

    /// Loads programs that pass on the packets that are wanted now.
    fn renew(&self, inner: &mut Inner) -> Result {
        if inner.watchers.is_empty() {
            inner.reader = None;
            return Ok(());
        }
        let watch = joined(&inner.watchers);
        for _ in 0..ATTEMPTS {
            let current = self
                .handle
                .ask(|forwarding| (Arc::clone(forwarding.engine()), forwarding.programs()))?;
            let (engine, Some(programs)) = current else {
                return Err(Error::new("the engine is not in the kernel"));
            };
            let (watched, events) = programs.watch(&engine.program, &watch)?;
            let reader = self.read(events, engine, inner.watchers.clone())?;
            if self.handle.ask(move |forwarding| forwarding.watch(&programs, &watched))?? {
                inner.reader = Some(reader);
                return Ok(());
            }
        }
        Err(Error::new("the program was just replaced"))
    }

    /// Starts a thread that reads events.
    fn read(
        &self,
        events: Events,
        engine: Arc<RunningProgram>,
        watchers: Vec<Arc<Watcher>>,
    ) -> Result<Reader> {
        let is_over = Arc::new(AtomicBool::new(false));
        let handle = self.handle.clone();
        let clock = since_1970();
        let mut reading =
            Reading { engine, watchers, handle, clock, begun: HashMap::new(), lost: 0 };
        let told = Arc::clone(&is_over);
        let work = move || reading.run(events, &told);
        let thread = thread::Builder::new().name("watch".into()).spawn(work);
        let thread =
            thread.map_err(|error| Error::new(format!("a thread for packets: {error}")))?;
        Ok(Reader { is_over, thread: Some(thread) })
    }
}

/// Nanoseconds from 1970 to the origin of the kernel's monotonic clock.
fn since_1970() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    wall.saturating_sub(now).as_nanos() as u64
}

/// The state of the reading thread.
struct Reading {
    engine: Arc<RunningProgram>,
    watchers: Vec<Arc<Watcher>>,
    handle: Handle,
    clock: u64,
    /// For each processor, the traced packet whose end has not arrived.
    begun: HashMap<u32, Event>,
    /// Packets without room in the ring, so far.
    lost: u64,
}

impl Reading {
    fn run(&mut self, mut events: Events, is_over: &AtomicBool) {
        loop {
            // Read before the ring: all packets that were passed on by then are in the ring.
            let is_last = is_over.load(Ordering::Relaxed);
            let count = events.read(AT_ONCE, |event| self.pass(event));
            if let Ok(lost) = events.lost() {
                self.watchers.iter().for_each(|watcher| watcher.lose(lost - self.lost));
                self.lost = lost;
            }
            match count {
                0 if is_last => return,
                0 => thread::sleep(LOOK),
                _ => {}
            }
        }
    }

    fn pass(&mut self, event: Event) {
        let program = &self.engine.program.optimised;
        let point = match event.place {
            Place::In => Point::In,
            Place::Out => Point::Out,
            Place::Cpu => Point::Cpu,
            Place::Drop => Point::Drop,
            Place::End => return self.trace(event),
        };
        let reason = || match event.verdict {
            Some(Verdict::ToCpu(reason) | Verdict::Dropped(reason)) => {
                Some(reason_name(program, reason))
            }
            _ => None,
        };
        for watcher in &self.watchers {
            match watcher.as_ref() {
                Watcher::Capture(tap) => {
                    tap.offer(point, event.port, &event.bytes, |bytes| Caught {
                        point,
                        port: event.port,
                        arrival_ns: self.clock + event.now_ns,
                        reason: reason(),
                        bytes,
                    });
                }
                Watcher::Trace { filter, passing, .. } => {
                    let is_meant = point == Point::In && passing.is_wanted();
                    if is_meant && filter.matches(event.port, &event.bytes) {
                        self.begun.insert(event.processor, event.clone());
                    }
                }
            }
        }
    }

    /// Traces a packet that has left the program.
    fn trace(&mut self, end: Event) {
        let Some(begin) = self.begun.remove(&end.processor) else { return };
        let trace = self.watchers.iter().find_map(|watcher| match watcher.as_ref() {
            Watcher::Trace { engine, most_steps, passing, .. } => {
                Some((engine, *most_steps, passing))
            }
            Watcher::Capture(_) => None,
        });
        let Some((engine, most_steps, passing)) = trace else { return };
        // The ring had no room for the end of the first packet, or for the beginning of the second.
        if begin.sequence != end.sequence || !passing.is_wanted() {
            return passing.lose(1);
        }
        match traced(&self.handle, engine, begin, end, most_steps) {
            Ok(traced) => passing.pass(0, || traced),
            Err(error) => {
                tracing::warn!("a trace failed: {error}");
                passing.lose(1);
            }
        }
    }
}

/// Executes a packet with golden on the machine's tables, which stay unchanged.
fn traced(
    handle: &Handle,
    engine: &Arc<RunningProgram>,
    begin: Event,
    end: Event,
    most_steps: u64,
) -> Result<Traced> {
    let (ingress, arrival_ns) = (begin.port, begin.now_ns);
    let mut machine = Outputs::default();
    if let Some(verdict) = end.verdict {
        let bytes = &end.bytes;
        machine.keep(Output { sequence: 0, arrival_ns, ingress, verdict, bytes });
    }
    let packet = Packet { ingress, arrival_ns, bytes: begin.bytes };
    let lowered = &engine.program.lowered;
    let store = ir::store(lowered).map_err(|refused| Error::new(refused.0))?;
    let golden = Golden::new(lowered.clone(), store);
    let engine = Arc::clone(engine);
    let asked = handle.ask(move |forwarding| {
        forwarding.trace_aside(&engine, golden, &packet, most_steps).map(|done| (done, packet))
    })??;
    let (Some((trace, outputs)), packet) = asked else {
        return Err(Error::new("the program was just replaced"));
    };
    Ok(Traced { packet, trace, outputs, machine: Some(machine) })
}

/// The result of the program in the kernel for a traced packet.
#[derive(Serialize)]
pub struct InTheKernel {
    /// Whether golden gave the same result.
    is_same: bool,
    outputs: Vec<Departure>,
}

/// A packet that left the program.
#[derive(Serialize)]
struct Departure {
    verdict: String,
    length: usize,
    bytes: String,
}

impl InTheKernel {
    /// Compares the outputs of golden with the outputs of the program.
    pub fn new(program: &ir::Program, golden: &Outputs, machine: &Outputs) -> Self {
        let parts = |outputs: &Outputs| -> Vec<(Verdict, Vec<u8>)> {
            outputs.iter().map(|output| (output.verdict, output.bytes.to_vec())).collect()
        };
        let left = |output: Output<'_>| Departure {
            verdict: verdict_text(program, output.verdict),
            length: output.bytes.len(),
            bytes: hex(output.bytes),
        };
        Self {
            is_same: parts(golden) == parts(machine),
            outputs: machine.iter().map(left).collect(),
        }
    }

    /// Formats the comparison for people.
    pub fn text(&self) -> String {
        if self.is_same {
            return "\nthe program in the kernel did the same\n".into();
        }
        let mut text = String::from(
            "\nthe program in the kernel did something else, since the tables were others then:\n",
        );
        for left in &self.outputs {
            let _ = writeln!(text, "{}, {} bytes: {}", left.verdict, left.length, left.bytes);
        }
        text
    }
}
