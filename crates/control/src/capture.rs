//! Captures of a machine's packets, and traces of live packets.
//!
//! Without a capture or a trace, packets go to the machine directly.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wireloom_ir::{Golden, Output, Program, Verdict};
use wireloom_machine::trace::{Trace, trace};
use wireloom_machine::{
    Counts, Machine, Outputs, Result, Settled, Sink, SinkOfPieces, Snapshot, UpdateError, Wanted,
    reason_name,
};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Store, TIMER, Update};

use crate::engine::RunningProgram;
use crate::filter::Filter;

/// The most captured packets that wait to be passed on.
pub const CAUGHT_WAITING: usize = 1024;
/// The most traces that wait to be passed on.
pub const TRACED_WAITING: usize = 16;
/// The most bytes of captured packets that wait.
pub const WAITING_BYTES: u64 = 8 << 20;

/// A point of capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// As packets arrive at a port.
    In,
    /// As packets are sent to a port.
    Out,
    /// As packets go to the kernel, with the reason.
    Cpu,
    /// As packets are dropped, with the reason.
    Drop,
}

impl Point {
    pub const ALL: [Self; 4] = [Self::In, Self::Out, Self::Cpu, Self::Drop];
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caught {
    pub point: Point,
    /// The egress port at [`Point::Out`]; the ingress port elsewhere.
    pub port: u16,
    /// The time of arrival, in nanoseconds since 1970.
    pub arrival_ns: u64,
    /// Why the packet went to the kernel or was dropped.
    pub reason: Option<String>,
    pub bytes: Vec<u8>,
}

/// A traced packet.
pub struct Traced {
    /// The packet as it arrived.
    pub packet: Packet,
    /// The steps that golden executed.
    pub trace: Trace,
    /// The packets that left.
    pub outputs: Outputs,
    /// The packets that left the machine, if golden executed the packet as well as the machine and
    /// not instead of it.
    pub machine: Option<Outputs>,
}

/// The reader's end of a capture or a trace. No core waits for the reader: packets that do not fit
/// are lost and counted.
pub struct Passed<T> {
    items: Receiver<T>,
    shared: Arc<Shared>,
    /// Dropped with the reader, which tells the cores.
    _read: Arc<()>,
}

/// State that the cores and the reader share.
#[derive(Default)]
struct Shared {
    waiting_bytes: AtomicU64,
    /// Packets that matched and were not passed on.
    lost: AtomicU64,
    /// Packets that are still wanted, and their bytes.
    packets_left: AtomicU64,
    bytes_left: AtomicU64,
    /// Whether no further packet is wanted.
    is_ended: AtomicBool,
    /// Cores that are passing a packet on.
    under_way: AtomicU64,
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    Item(T),
    /// Nothing arrived in time.
    Nothing,
    /// No further item will arrive.
    End,
}

/// A core's end of a capture or a trace.
pub struct Passing<T> {
    items: SyncSender<T>,
    shared: Arc<Shared>,
    read: Weak<()>,
}

impl<T> Clone for Passing<T> {
    fn clone(&self) -> Self {
        let Self { items, shared, read } = self;
        Self { items: items.clone(), shared: Arc::clone(shared), read: Weak::clone(read) }
    }
}

/// Creates both ends for at most this number of packets and bytes. At most `most` items wait at
/// once.
pub fn passing<T>(most: usize, packets: u64, bytes: u64) -> (Passing<T>, Passed<T>) {
    let (items, receiver) = sync_channel(most);
    let (shared, read) = (Arc::<Shared>::default(), Arc::new(()));
    shared.packets_left.store(packets, Ordering::SeqCst);
    shared.bytes_left.store(bytes, Ordering::SeqCst);
    let passing = Passing { items, shared: Arc::clone(&shared), read: Arc::downgrade(&read) };
    (passing, Passed { items: receiver, shared, _read: read })
}

impl<T> Passed<T> {
    /// Returns the next item. Waits at most `patience`.
    ///
    /// The reader polls: if it slept in the channel, a core would have to take a lock to wake it.
    pub fn next(&self, patience: Duration, length: impl Fn(&T) -> usize) -> Next<T> {
        let deadline = Instant::now() + patience;
        loop {
            // Read before the channel: all items that were passed on by then are in the channel.
            let is_over = self.shared.is_over();
            match self.items.try_recv() {
                Ok(item) => {
                    let bytes = length(&item) as u64;
                    self.shared.waiting_bytes.fetch_sub(bytes, Ordering::SeqCst);
                    return Next::Item(item);
                }
                Err(TryRecvError::Disconnected) => return Next::End,
                Err(TryRecvError::Empty) if is_over => return Next::End,
                Err(TryRecvError::Empty) if Instant::now() >= deadline => return Next::Nothing,
                Err(TryRecvError::Empty) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Asks for no further packet. Packets that wait can still be read. Returns whether more
    /// packets were wanted until now.
    pub fn end(&self) -> bool {
        let was_wanted = !self.shared.is_ended();
        self.shared.is_ended.store(true, Ordering::SeqCst);
        was_wanted
    }

    /// The number of packets that matched and were not passed on.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

impl Shared {
    /// Whether no further packet is wanted.
    fn is_ended(&self) -> bool {
        let is_zero = |counter: &AtomicU64| counter.load(Ordering::SeqCst) == 0;
        self.is_ended.load(Ordering::SeqCst)
            || is_zero(&self.packets_left)
            || is_zero(&self.bytes_left)
    }

    /// Whether the last packet has been passed on.
    fn is_over(&self) -> bool {
        self.is_ended() && self.under_way.load(Ordering::SeqCst) == 0
    }

    /// Claims one of the wanted packets. If fewer bytes than it needs are left, no further packet
    /// is wanted.
    fn claim(&self, bytes: u64) -> bool {
        let take = |counter: &AtomicU64, count: u64| {
            let less = |left: u64| left.checked_sub(count);
            counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
        };
        let is_enough = !self.is_ended() && take(&self.bytes_left, bytes);
        if !is_enough {
            self.is_ended.store(true, Ordering::SeqCst);
        }
        is_enough && take(&self.packets_left, 1)
    }

    /// Gives back the claim of a packet that was not passed on.
    fn unclaim(&self, bytes: u64) {
        self.packets_left.fetch_add(1, Ordering::SeqCst);
        self.bytes_left.fetch_add(bytes, Ordering::SeqCst);
    }
}

impl<T> Passing<T> {
    /// Whether a reader exists and wants more items.
    pub fn is_wanted(&self) -> bool {
        self.read.strong_count() > 0 && !self.shared.is_ended()
    }

    /// Counts packets that matched and are not passed on.
    pub fn lose(&self, packets: u64) {
        self.shared.lost.fetch_add(packets, Ordering::SeqCst);
    }

    /// Passes a packet on, or counts it as lost.
    pub fn pass(&self, bytes: usize, item: impl FnOnce() -> T) {
        self.shared.under_way.fetch_add(1, Ordering::SeqCst);
        self.try_pass(bytes as u64, item);
        self.shared.under_way.fetch_sub(1, Ordering::SeqCst);
    }

    fn try_pass(&self, bytes: u64, item: impl FnOnce() -> T) {
        let waiting = &self.shared.waiting_bytes;
        if waiting.load(Ordering::SeqCst) + bytes > WAITING_BYTES {
            return self.lose(1);
        }
        if !self.shared.claim(bytes) {
            return;
        }
        waiting.fetch_add(bytes, Ordering::SeqCst);
        if let Err(TrySendError::Full(_)) = self.items.try_send(item()) {
            waiting.fetch_sub(bytes, Ordering::SeqCst);
            self.shared.unclaim(bytes);
            self.lose(1);
        }
    }
}

/// A capture under way, on a core.
pub struct Tap {
    points: Vec<Point>,
    filter: Filter,
    passing: Passing<Caught>,
}

impl Tap {
    /// Creates a capture of the packets that the filter accepts at these points.
    pub fn new(points: Vec<Point>, filter: Filter, passing: Passing<Caught>) -> Self {
        Self { points, filter, passing }
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// See [`Passing::is_wanted`].
    pub fn is_wanted(&self) -> bool {
        self.passing.is_wanted()
    }

    /// See [`Passing::lose`].
    pub fn lose(&self, packets: u64) {
        self.passing.lose(packets);
    }

    fn wants(&self, point: Point) -> bool {
        self.points.contains(&point) && self.passing.is_wanted()
    }

    /// Passes a packet on if the capture includes it.
    pub fn offer(
        &self,
        point: Point,
        port: u16,
        frame: &[u8],
        caught: impl FnOnce(Vec<u8>) -> Caught,
    ) {
        if self.wants(point) && self.filter.matches(port, frame) {
            self.passing.pass(frame.len(), || caught(frame.to_vec()));
        }
    }
}

/// Traces under way. Golden executes a traced packet instead of the machine, on the machine's own
/// offloads. So the trace shows what happens to the live packet, and nothing is copied. Golden
/// defines the meaning of programs, so both give the same result. Golden is slow; therefore at most
/// one packet of each batch is traced.
struct Tracing {
    filter: Filter,
    most_steps: u64,
    golden: Golden,
    passing: Passing<Traced>,
}

/// A machine with the captures and traces of its packets.
pub struct Tapped {
    engine: Arc<RunningProgram>,
    machine: Box<dyn Machine + Send>,
    taps: Vec<Tap>,
    tracing: Option<Tracing>,
}

impl Tapped {
    /// Creates a machine without captures and traces.
    pub fn new(engine: Arc<RunningProgram>, machine: Box<dyn Machine + Send>) -> Self {
        Self { engine, machine, taps: Vec::new(), tracing: None }
    }

    /// The engine that the machine runs.
    pub fn engine(&self) -> &Arc<RunningProgram> {
        &self.engine
    }

    /// Replaces the machine and returns the old one. Captures go on; traces end.
    pub fn replace(
        &mut self,
        engine: Arc<RunningProgram>,
        machine: Box<dyn Machine + Send>,
    ) -> Box<dyn Machine + Send> {
        self.engine = engine;
        self.tracing = None;
        std::mem::replace(&mut self.machine, machine)
    }

    /// Starts a capture of the packets that the filter accepts at these points.
    pub fn capture(&mut self, points: Vec<Point>, filter: Filter, passing: Passing<Caught>) {
        self.taps.push(Tap::new(points, filter, passing));
    }

    /// Whether packets are traced.
    pub fn is_traced(&mut self) -> bool {
        self.end_unwanted();
        self.tracing.is_some()
    }

    /// Starts traces with golden. Golden has the program before any pass; its own offloads are not
    /// used.
    pub fn trace(
        &mut self,
        golden: Golden,
        filter: Filter,
        most_steps: u64,
        passing: Passing<Traced>,
    ) {
        self.tracing = Some(Tracing { filter, most_steps, golden, passing });
    }

    /// Ends captures and traces that nobody reads, and those that have reached a limit.
    pub fn end_unwanted(&mut self) {
        self.taps.retain(|tap| tap.passing.is_wanted());
        self.tracing.take_if(|tracing| !tracing.passing.is_wanted());
    }
}

impl Tracing {
    /// Exchanges the offloads of golden and of the machine. Returns whether the machine allows it.
    fn exchange(&mut self, machine: &mut dyn Machine) -> bool {
        let Some(store) = machine.store_mut() else { return false };
        std::mem::swap(store, self.golden.store_mut());
        true
    }
}

/// Offers an output of a program to a capture.
fn catch(tap: &mut Tap, program: &Program, output: &Output<'_>) {
    // What a timer makes comes from no port.
    let ingress = if output.ingress == TIMER { 0 } else { output.ingress };
    let (point, port) = match output.verdict {
        Verdict::Sent { port } => (Point::Out, port),
        Verdict::ToCpu(_) => (Point::Cpu, ingress),
        Verdict::Dropped(_) => (Point::Drop, ingress),
    };
    tap.offer(point, port, output.bytes, |bytes| Caught {
        point,
        port,
        arrival_ns: output.arrival_ns,
        reason: match output.verdict {
            Verdict::Sent { .. } => None,
            Verdict::ToCpu(reason) | Verdict::Dropped(reason) => Some(reason_name(program, reason)),
        },
        bytes,
    });
}

impl Machine for Tapped {
    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: SinkOfPieces<'_>) -> Result<Settled> {
        if self.taps.is_empty() && self.tracing.is_none() {
            return self.machine.offer_in_pieces(frames, sink);
        }
        self.offer(frames, &mut |output| sink(output, &[]))
    }

    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        if self.taps.is_empty() && self.tracing.is_none() {
            return self.machine.offer(frames, sink);
        }
        let Self { engine, machine, taps, tracing } = self;
        for tap in taps.iter().filter(|tap| tap.wants(Point::In)) {
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
            taps.iter_mut().for_each(|tap| catch(tap, program, &output));
            sink(output);
        };
        let matching = tracing.as_ref().filter(|tracing| tracing.passing.is_wanted());
        let matching = matching.and_then(|tracing| {
            frames.iter().position(|frame| tracing.filter.matches(frame.ingress, frame.bytes))
        });
        let settled = match (matching, tracing.as_mut()) {
            (Some(at), Some(tracing)) => {
                let mut settled = machine.offer(&frames[..at], &mut tapped)?;
                let frame = frames[at];
                // The machine runs its own timers: golden takes over for one packet only.
                settled.extend(&machine.advance_to(frame.arrival_ns, &mut tapped)?);
                if tracing.exchange(machine.as_mut()) {
                    let (program, names) = (&engine.program.lowered, &engine.names);
                    let most = tracing.most_steps;
                    let (trace, outputs) = trace(program, names, &mut tracing.golden, frame, most);
                    tracing.exchange(machine.as_mut());
                    outputs.iter().for_each(&mut tapped);
                    let packet = frame.to_packet();
                    tracing.passing.pass(0, || Traced { packet, trace, outputs, machine: None });
                    if tracing.passing.is_wanted() {
                        let also = frames[at + 1..].iter();
                        let also = also.filter(|f| tracing.filter.matches(f.ingress, f.bytes));
                        tracing.passing.lose(also.count() as u64);
                    }
                } else {
                    settled.extend(&machine.offer(&[frame], &mut tapped)?);
                }
                settled.extend(&machine.offer(&frames[at + 1..], &mut tapped)?);
                settled
            }
            _ => machine.offer(frames, &mut tapped)?,
        };
        self.end_unwanted();
        Ok(settled)
    }

    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        let Self { machine, taps, engine, .. } = self;
        let program = &engine.program.optimised;
        machine.advance_to(time_ns, &mut |output| {
            taps.iter_mut().for_each(|tap| catch(tap, program, &output));
            sink(output);
        })
    }

    fn next_timer(&self) -> Option<u64> {
        self.machine.next_timer()
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

    fn lend(&mut self, look: &mut dyn FnMut(&mut Store)) -> Result<bool> {
        self.machine.lend(look)
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        self.machine.restore(snapshot)
    }

    fn read_back(&mut self, wanted: Wanted<'_>, progress: &dyn Fn(&str)) -> Result<Vec<String>> {
        self.machine.read_back(wanted, progress)
    }

    fn counts(&self) -> Option<Counts> {
        self.machine.counts()
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

    /// Counts packets in a table, and drops packets of more than 60 bytes.
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

    fn engine() -> Arc<RunningProgram> {
        let checked = check_source("e.loom", SOURCE, &Default::default());
        let text = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        let hir = checked.program.unwrap_or_else(|| panic!("{text}"));
        let (program, names) = (Program::new(&hir), Names::new(&hir));
        Arc::new(RunningProgram { file: "e.loom".into(), name: "e".into(), program, names })
    }

    /// Any machine in software will do.
    fn tapped(engine: &Arc<RunningProgram>) -> Tapped {
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

    fn capture(
        tapped: &mut Tapped,
        points: &[Point],
        filter: &str,
        packets: u64,
        bytes: u64,
    ) -> Passed<Caught> {
        let filter = Filter::parse(filter).expect("a filter");
        let (passing, passed) = passing(CAUGHT_WAITING, packets, bytes);
        tapped.capture(points.to_vec(), filter, passing);
        passed
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
        let everything = capture(&mut tapped, &Point::ALL, "", 100, 10_000);
        let drops = capture(&mut tapped, &[Point::Drop], "length > 70", 100, 10_000);
        let few = capture(&mut tapped, &[Point::In], "", 2, 10_000);
        let small = capture(&mut tapped, &[Point::In], "", 100, 130);
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
        tapped.end_unwanted();
        assert!(tapped.taps.is_empty());
    }

    #[test]
    fn a_slow_reader_loses_packets_and_they_are_counted() {
        let engine = engine();
        let mut tapped = tapped(&engine);
        let passed = capture(&mut tapped, &[Point::In], "", u64::MAX, u64::MAX);
        offer(&mut tapped, &vec![60; CAUGHT_WAITING + 5]);
        assert_eq!(passed.lost(), 5);
        let (caught, _) = all(&passed, |caught| caught.bytes.len());
        assert_eq!(caught.len(), CAUGHT_WAITING);
        assert_eq!(passed.shared.waiting_bytes.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_traced_packet_is_processed_once_on_the_machines_own_tables() {
        let engine = engine();
        let mut tapped = tapped(&engine);
        let plain = offer(&mut tapped, &[60, 80, 90, 60]);
        let store = ir::store(&engine.program.lowered).expect("offloads");
        let golden = Golden::new(engine.program.lowered.clone(), store);
        let filter = Filter::parse("length > 70").expect("a filter");
        let (passing, passed) = passing(TRACED_WAITING, 2, u64::MAX);
        tapped.trace(golden, filter, 100, passing);
        assert_eq!(offer(&mut tapped, &[60, 80, 90, 60]), plain, "in the same order");
        assert_eq!(passed.lost(), 1, "one packet of a batch is traced");
        let (traced, ended) = all(&passed, |_| 0);
        assert!(!ended && tapped.tracing.is_some());
        drop(passed);
        tapped.end_unwanted();
        assert!(tapped.tracing.is_none());
        let [Traced { packet, trace, outputs, machine: _ }] = &traced[..] else {
            panic!("one trace")
        };
        assert_eq!((packet.bytes.len(), packet.arrival_ns, outputs.len()), (80, 1, 1));
        let is_call = |event: &trace::Event| matches!(event, trace::Event::Call(_));
        assert!(trace.steps[0].lines.iter().any(|line| line.events.iter().any(is_call)));
        // All eight packets were counted, including the traced one.
        let (_, counts) = wireloom_machine::find_offload(tapped.store(), "counts").expect("it");
        assert_eq!(counts.rows()[0].fields[0].1.to_u64(), Some(8));
    }
}
