//! Everything that watches the packets of a machine: captures, and traces of live packets.
//!
//! Without a capture or a trace, packets go to the machine directly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wireloom_ir::{Golden, Output, Verdict};
use wireloom_machine::trace::{Trace, trace};
use wireloom_machine::{
    Machine, Outputs, Result, Settled, Sink, Snapshot, UpdateError, reason_name,
};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Store, Update};

use crate::engine::Engine;
use crate::filter::Filter;

/// Packets that wait to be passed on, at most.
const WAITING: usize = 1024;
/// Their bytes, at most.
const WAITING_BYTES: u64 = 8 << 20;

/// Where packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// As they arrive at a port.
    In,
    /// As they are sent to a port.
    Out,
    /// As they go to the kernel, with the reason.
    Cpu,
    /// As they are dropped, with the reason.
    Drop,
}

impl Point {
    /// All points.
    pub const ALL: [Self; 4] = [Self::In, Self::Out, Self::Cpu, Self::Drop];
}

/// Which packets are captured, and how many.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Where.
    pub points: Vec<Point>,
    /// Which.
    pub filter: Filter,
    /// The number of packets after which the capture ends.
    pub packets: u64,
    /// The number of bytes after which it ends.
    pub bytes: u64,
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caught {
    /// Where.
    pub point: Point,
    /// The port that it was sent to, at [`Point::Out`]; elsewhere the one on which it came in.
    pub port: u16,
    /// When it arrived, in nanoseconds since 1970.
    pub arrival_ns: u64,
    /// Why it went to the kernel or was dropped.
    pub reason: Option<String>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A traced packet.
pub struct Traced {
    /// The packet as it arrived.
    pub packet: Packet,
    /// Its way.
    pub trace: Trace,
    /// What left.
    pub outputs: Outputs,
}

/// What a capture or a trace passes on. The forwarding thread never waits for its reader: what does
/// not fit is lost and counted.
pub struct Passed<T> {
    items: Receiver<T>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting_bytes: AtomicU64,
    /// Packets that matched and were not passed on.
    lost: AtomicU64,
}

/// What there is to read.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// An item.
    Item(T),
    /// Nothing came in time.
    Nothing,
    /// There will be no more.
    End,
}

/// The forwarding thread's end.
struct Passing<T> {
    items: SyncSender<T>,
    shared: Arc<Shared>,
}

fn passing<T>(most: usize) -> (Passing<T>, Passed<T>) {
    let (sender, receiver) = sync_channel(most);
    let shared = Arc::<Shared>::default();
    (Passing { items: sender, shared: Arc::clone(&shared) }, Passed { items: receiver, shared })
}

impl<T> Passed<T> {
    /// Returns the next item, waiting for it for at most so long.
    ///
    /// It polls: a reader that slept in the channel would have the forwarding thread take a lock to
    /// wake it.
    pub fn next(&self, patience: Duration, length: impl Fn(&T) -> usize) -> Next<T> {
        let deadline = Instant::now() + patience;
        loop {
            match self.items.try_recv() {
                Ok(item) => {
                    let bytes = length(&item) as u64;
                    self.shared.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    return Next::Item(item);
                }
                Err(TryRecvError::Disconnected) => return Next::End,
                Err(TryRecvError::Empty) if Instant::now() >= deadline => return Next::Nothing,
                Err(TryRecvError::Empty) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Packets that matched and were not passed on.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

/// How passing an item on went.
#[derive(PartialEq, Eq)]
enum Given {
    Passed,
    Lost,
    /// Nobody reads any more.
    Unwanted,
}

impl<T> Passing<T> {
    fn lose(&self) -> Given {
        self.shared.lost.fetch_add(1, Ordering::Relaxed);
        Given::Lost
    }

    fn pass(&self, bytes: usize, item: impl FnOnce() -> T) -> Given {
        let bytes = bytes as u64;
        let waiting = &self.shared.waiting_bytes;
        if waiting.load(Ordering::Relaxed) + bytes > WAITING_BYTES {
            return self.lose();
        }
        waiting.fetch_add(bytes, Ordering::Relaxed);
        match self.items.try_send(item()) {
            Ok(()) => Given::Passed,
            Err(TrySendError::Full(_)) => {
                waiting.fetch_sub(bytes, Ordering::Relaxed);
                self.lose()
            }
            Err(TrySendError::Disconnected(_)) => Given::Unwanted,
        }
    }
}

/// A capture under way.
struct Tap {
    wanted: Wanted,
    passing: Passing<Caught>,
}

impl Tap {
    fn wants(&self, point: Point) -> bool {
        self.wanted.packets > 0 && self.wanted.points.contains(&point)
    }

    fn offer(
        &mut self,
        point: Point,
        port: u16,
        frame: &[u8],
        caught: impl FnOnce(Vec<u8>) -> Caught,
    ) {
        if !self.wants(point) || !self.wanted.filter.matches(port, frame) {
            return;
        }
        if frame.len() as u64 > self.wanted.bytes {
            self.wanted.packets = 0;
            return;
        }
        match self.passing.pass(frame.len(), || caught(frame.to_vec())) {
            Given::Passed => {
                self.wanted.packets -= 1;
                self.wanted.bytes -= frame.len() as u64;
            }
            Given::Lost => {}
            Given::Unwanted => self.wanted.packets = 0,
        }
    }
}

/// Traces under way. Golden executes a traced packet instead of the machine, on the machine's own
/// offloads: so the trace shows what happens to the live packet, and nothing is copied. Golden
/// defines what packets mean, so they do not differ. It takes long, though; therefore at most one
/// packet of each batch is traced.
struct Tracing {
    filter: Filter,
    left: u64,
    most_steps: u64,
    golden: Golden,
    passing: Passing<Traced>,
}

/// A machine, and what watches its packets.
pub struct Tapped {
    engine: Arc<Engine>,
    machine: Box<dyn Machine + Send>,
    taps: Vec<Tap>,
    tracing: Option<Tracing>,
}

impl Tapped {
    /// A machine that nothing watches.
    pub fn new(engine: Arc<Engine>, machine: Box<dyn Machine + Send>) -> Self {
        Self { engine, machine, taps: Vec::new(), tracing: None }
    }

    /// The program.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Replaces the machine and returns the old one. Captures go on; traces end.
    pub fn replace(
        &mut self,
        engine: Arc<Engine>,
        machine: Box<dyn Machine + Send>,
    ) -> Box<dyn Machine + Send> {
        self.engine = engine;
        self.tracing = None;
        std::mem::replace(&mut self.machine, machine)
    }

    /// Captures from now on.
    pub fn capture(&mut self, wanted: Wanted) -> Passed<Caught> {
        let (passing, passed) = passing(WAITING);
        self.taps.push(Tap { wanted, passing });
        passed
    }

    /// Traces from now on, with golden, which has the program before any pass and offloads of its
    /// own that are not used. Returns nothing if another trace is under way, or if `engine` has
    /// been replaced.
    pub fn trace(
        &mut self,
        engine: &Arc<Engine>,
        golden: Golden,
        filter: Filter,
        count: u64,
        most_steps: u64,
    ) -> Option<Passed<Traced>> {
        if self.tracing.is_some() || !Arc::ptr_eq(engine, &self.engine) {
            return None;
        }
        let (passing, passed) = passing(16);
        self.tracing = Some(Tracing { filter, left: count, most_steps, golden, passing });
        Some(passed)
    }

    /// Ends captures and traces that nobody reads.
    pub fn end_unread(&mut self) {
        // The reader holds the other reference.
        let is_read = |shared: &Arc<Shared>| Arc::strong_count(shared) > 1;
        self.taps.retain(|tap| is_read(&tap.passing.shared));
        self.tracing.take_if(|tracing| !is_read(&tracing.passing.shared));
    }
}

impl Tracing {
    /// Whether the offloads of golden and of the machine could be exchanged.
    fn exchange(&mut self, machine: &mut dyn Machine) -> bool {
        let Some(store) = machine.store_mut() else { return false };
        std::mem::swap(store, self.golden.store_mut());
        true
    }
}

/// The point at which an output is captured, with its port.
fn place(output: &Output<'_>) -> (Point, u16) {
    match output.verdict {
        Verdict::Sent { port } => (Point::Out, port),
        Verdict::ToCpu(_) => (Point::Cpu, output.ingress),
        Verdict::Dropped(_) => (Point::Drop, output.ingress),
    }
}

impl Machine for Tapped {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        if self.taps.is_empty() && self.tracing.is_none() {
            return self.machine.offer(frames, sink);
        }
        let Self { engine, machine, taps, tracing } = self;
        for tap in taps.iter_mut().filter(|tap| tap.wants(Point::In)) {
            for frame in frames {
                tap.offer(Point::In, frame.ingress, frame.bytes, |bytes| Caught {
                    point: Point::In,
                    port: frame.ingress,
                    arrival_ns: frame.arrival_ns,
                    reason: None,
                    bytes,
                });
            }
        }
        let program = &engine.program.optimised;
        let mut tapped = |output: Output<'_>| {
            for tap in taps.iter_mut() {
                let (point, port) = place(&output);
                tap.offer(point, port, output.bytes, |bytes| Caught {
                    point,
                    port,
                    arrival_ns: output.arrival_ns,
                    reason: match output.verdict {
                        Verdict::Sent { .. } => None,
                        Verdict::ToCpu(reason) | Verdict::Dropped(reason) => {
                            Some(reason_name(program, reason))
                        }
                    },
                    bytes,
                });
            }
            sink(output);
        };
        let matching = tracing.as_ref().and_then(|tracing| {
            frames.iter().position(|frame| tracing.filter.matches(frame.ingress, frame.bytes))
        });
        let settled = match (matching, tracing.as_mut()) {
            (Some(at), Some(tracing)) => {
                let mut settled = machine.offer(&frames[..at], &mut tapped)?;
                let frame = frames[at];
                if tracing.exchange(machine.as_mut()) {
                    let (program, names) = (&engine.program.lowered, &engine.names);
                    let most = tracing.most_steps;
                    let (trace, outputs) = trace(program, names, &mut tracing.golden, frame, most);
                    tracing.exchange(machine.as_mut());
                    outputs.iter().for_each(&mut tapped);
                    let packet = frame.to_packet();
                    let given = tracing.passing.pass(0, || Traced { packet, trace, outputs });
                    tracing.left = match given {
                        Given::Passed => tracing.left.saturating_sub(1),
                        Given::Lost => tracing.left,
                        Given::Unwanted => 0,
                    };
                    if tracing.left > 0 {
                        let also = frames[at + 1..].iter();
                        let also = also.filter(|f| tracing.filter.matches(f.ingress, f.bytes));
                        let lost = &tracing.passing.shared.lost;
                        lost.fetch_add(also.count() as u64, Ordering::Relaxed);
                    }
                } else {
                    settled.extend(&machine.offer(&[frame], &mut tapped)?);
                }
                settled.extend(&machine.offer(&frames[at + 1..], &mut tapped)?);
                settled
            }
            _ => machine.offer(frames, &mut tapped)?,
        };
        self.taps.retain(|tap| tap.wanted.packets > 0 && tap.wanted.bytes > 0);
        self.tracing.take_if(|tracing| tracing.left == 0);
        Ok(settled)
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        self.machine.finish(sink)
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        self.machine.update(update, sink)
    }

    fn store(&self) -> &Store {
        self.machine.store()
    }

    fn store_mut(&mut self) -> Option<&mut Store> {
        self.machine.store_mut()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        self.machine.restore(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use wireloom_compile::names::Names;
    use wireloom_ir as ir;
    use wireloom_lang::check_source;
    use wireloom_machine::software::InSoftware;
    use wireloom_machine::{Program, trace};

    use super::*;

    /// Counts packets in a table, and drops those of more than 60 bytes.
    const SOURCE: &str = "\
        enum Reason : u8 { TOO_LONG = 3 };\n\
        engine e() {\n\
            offload counts : counter<size = 1>;\n\
            step s {\n\
                counts.count(0, packet.length);\n\
                if (packet.length > 60) drop(TOO_LONG);\n\
                packet.egress = 1;\n\
                finish;\n\
            }\n\
        }\n";

    fn engine() -> Arc<Engine> {
        let checked = check_source("e.loom", SOURCE, &Default::default());
        let text = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        let hir = checked.program.unwrap_or_else(|| panic!("{text}"));
        let (program, names) = (Program::new(&hir), Names::new(&hir));
        Arc::new(Engine { file: "e.loom".into(), name: "e".into(), program, names })
    }

    /// Any machine in software will do.
    fn tapped(engine: &Arc<Engine>) -> Tapped {
        let store = ir::store(&engine.program.optimised).expect("offloads");
        let golden = Golden::new(engine.program.optimised.clone(), store);
        Tapped::new(Arc::clone(engine), Box::new(InSoftware::new(golden)))
    }

    fn offer(tapped: &mut Tapped, lengths: &[usize]) -> Vec<(Verdict, usize)> {
        let bytes = [0; 100];
        let frame = |(at, &length): (usize, &usize)| Frame {
            ingress: 2,
            arrival_ns: at as u64,
            bytes: &bytes[..length],
        };
        let frames: Vec<_> = lengths.iter().enumerate().map(frame).collect();
        let mut left = Vec::new();
        let kept = |output: Output<'_>| left.push((output.verdict, output.bytes.len()));
        tapped.offer(&frames, &mut { kept }).expect("golden works");
        left
    }

    fn wanted(points: &[Point], filter: &str, packets: u64, bytes: u64) -> Wanted {
        let filter = Filter::parse(filter).expect("a filter");
        Wanted { points: points.to_vec(), filter, packets, bytes }
    }

    fn all<T>(passed: &Passed<T>, length: impl Fn(&T) -> usize) -> (Vec<T>, bool) {
        let mut items = Vec::new();
        loop {
            match passed.next(Duration::ZERO, &length) {
                Next::Item(item) => items.push(item),
                Next::Nothing => return (items, false),
                Next::End => return (items, true),
            }
        }
    }

    #[test]
    fn captures_see_every_point_and_end_at_their_limits() {
        let engine = engine();
        let mut tapped = tapped(&engine);
        let everything = tapped.capture(wanted(&Point::ALL, "", 100, 10_000));
        let drops = tapped.capture(wanted(&[Point::Drop], "length > 70", 100, 10_000));
        let few = tapped.capture(wanted(&[Point::In], "", 2, 10_000));
        let small = tapped.capture(wanted(&[Point::In], "", 100, 130));
        let left = offer(&mut tapped, &[60, 61, 80]);
        assert_eq!(left.len(), 3, "captures take nothing away");
        let (caught, ended) = all(&everything, |caught| caught.bytes.len());
        let seen: Vec<_> =
            caught.iter().map(|c| (c.point, c.port, c.reason.as_deref(), c.bytes.len())).collect();
        let dropped = |length| (Point::Drop, 2, Some("TOO_LONG"), length);
        let arrived = |length| (Point::In, 2, None, length);
        assert_eq!(
            seen,
            [
                arrived(60),
                arrived(61),
                arrived(80),
                (Point::Out, 1, None, 60),
                dropped(61),
                dropped(80)
            ]
        );
        assert!(!ended);
        let lengths = |passed| {
            let (caught, ended) = all(passed, |caught: &Caught| caught.bytes.len());
            (caught.iter().map(|caught| caught.bytes.len()).collect::<Vec<_>>(), ended)
        };
        assert_eq!(lengths(&drops), (vec![80], false));
        assert_eq!(lengths(&few), (vec![60, 61], true));
        assert_eq!(lengths(&small), (vec![60, 61], true));
        drop((everything, drops));
        tapped.end_unread();
        assert!(tapped.taps.is_empty());
    }

    #[test]
    fn a_slow_reader_loses_packets_and_they_are_counted() {
        let engine = engine();
        let mut tapped = tapped(&engine);
        let passed = tapped.capture(wanted(&[Point::In], "", u64::MAX, u64::MAX));
        offer(&mut tapped, &vec![60; WAITING + 5]);
        assert_eq!(passed.lost(), 5);
        let (caught, _) = all(&passed, |caught| caught.bytes.len());
        assert_eq!(caught.len(), WAITING);
        assert_eq!(passed.shared.waiting_bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_traced_packet_is_processed_once_on_the_machines_own_tables() {
        let engine = engine();
        let mut tapped = tapped(&engine);
        let plain = offer(&mut tapped, &[60, 80, 90, 60]);
        let store = ir::store(&engine.program.lowered).expect("offloads");
        let golden = Golden::new(engine.program.lowered.clone(), store);
        let filter = Filter::parse("length > 70").expect("a filter");
        let passed = tapped.trace(&engine, golden, filter, 2, 100).expect("the first trace");
        assert_eq!(offer(&mut tapped, &[60, 80, 90, 60]), plain, "in the same order");
        assert_eq!(passed.lost(), 1, "one packet of a batch is traced");
        let (traced, ended) = all(&passed, |_| 0);
        assert!(!ended && tapped.tracing.is_some());
        drop(passed);
        tapped.end_unread();
        assert!(tapped.tracing.is_none());
        let [Traced { packet, trace, outputs }] = &traced[..] else { panic!("one trace") };
        assert_eq!((packet.bytes.len(), packet.arrival_ns, outputs.len()), (80, 1, 1));
        let is_call = |event: &trace::Event| matches!(event, trace::Event::Call(_));
        assert!(trace.steps[0].lines.iter().any(|line| line.events.iter().any(is_call)));
        // Eight packets were counted, the traced one too.
        let (_, counts) = wireloom_machine::find_offload(tapped.store(), "counts").expect("it");
        assert_eq!(counts.rows()[0].fields[0].1.to_u64(), Some(8));
    }
}
