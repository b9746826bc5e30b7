//! The loop that moves packets between ports through a machine.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wireloom_ir::{Output, Reason, Verdict};
use wireloom_machine::{Error, Machine, Result, UpdateError};
use wireloom_net::Frame;
use wireloom_xdp::{InKernel, Interface, Links, PortCounts, WatchedPrograms};

use crate::control::Control;
use crate::forwards::{Barred, Tagged};
use crate::holder::Holder;
use crate::police::{Limits, Police};
use crate::port::{self, Exchange, Gate, Io, Port, Receive, Spread, Transmit};
use crate::removal::Removals;
use crate::shadow_tap::{Device, Twin};
use crate::stop::Stop;
use crate::system;
use crate::wakeup::{Attention, Bell};

/// Updates applied between two rounds of the ports, so that packets do not wait for a whole large
/// change.
const UPDATES_PER_ROUND: usize = 256;

/// Forwards between ports. Dropping it returns the interfaces to the kernel.
pub struct Forwarder {
    /// Keeps the ports' frames from the kernel. It is dropped first: the kernel gets the frames
    /// again before anything else closes.
    _holder: Option<Holder>,
    /// The gates that are still closed, with the names of their ports.
    gates: Vec<(String, Gate)>,
    ports: Vec<Opened>,
    cores: Vec<Core>,
    removals: Removals,
    /// Rings when a core fails, so that the other cores end too.
    failure: (Bell, Attention),
    /// The engine that runs in the kernel, if any. It then handles all packets.
    kernel: Option<AtPorts>,
}

/// The parts of a port that belong to no core.
struct Opened {
    name: String,
    exchange: Exchange,
    /// The interface index.
    index: Option<u32>,
    /// Marks the port as taken by this process.
    device: Option<Arc<Device>>,
}

/// One core's part of all ports.
struct Core {
    receivers: Vec<Option<Box<dyn Receive>>>,
    transmitters: Vec<Box<dyn Transmit>>,
    /// `None` for ports that the kernel does not control.
    twins: Vec<Option<Arc<Twin>>>,
    /// Packets and bytes received, by port.
    received: Vec<(u64, u64)>,
    /// Packets for the kernel that the port's twin refused, by port.
    undelivered: Vec<u64>,
    /// Packets that the kernel's settings do not allow to be forwarded, by port of arrival.
    not_forwarded: Vec<u64>,
    /// Packets that the machine sent to ports that do not exist.
    without_port: u64,
    barred: Arc<Barred>,
    tagged: Arc<Tagged>,
    police: Police,
    /// The origin of the core's clock, which never steps.
    begin: Instant,
    /// The time of the origin, in nanoseconds after the epoch.
    begin_ns: u64,
}

/// An engine that runs in the kernel at its ports.
struct AtPorts {
    links: Links,
    programs: Arc<InKernel>,
    /// Counts of programs that were replaced.
    before: Vec<PortCounts>,
}

// SAFETY: its sides share memory without a lock (an AF_XDP queue) only among themselves: `Sides`
// belong to one core.
unsafe impl Send for Core {}

/// The parts that a core needs to forward packets.
pub struct Worker<'a> {
    /// Processes this core's packets.
    pub machine: &'a mut (dyn Machine + Send),
    /// Supplies updates of the machine's tables.
    pub control: Option<&'a mut Control>,
    /// Watches this core's packets.
    pub observer: &'a mut (dyn Observer + Send),
}

/// Is called during forwarding.
pub trait Observer {
    /// A packet left the machine. `length` is in bytes.
    fn output(&mut self, verdict: Verdict, length: usize);
}

/// Why forwarding paused. No packet is in flight then; the ports keep the packets that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// A signal asks the process to end.
    Stop,
    /// Another thread asks for [`Attention`].
    Attention,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounters {
    #[serde(rename = "interface")]
    pub name: String,
    /// How frames are exchanged with the interface.
    pub exchange: Exchange,
    /// Packets received. A large packet of the kernel counts once for each of its segments.
    pub received_packets: u64,
    /// Bytes of the packets received.
    pub received_bytes: u64,
    pub sent_packets: u64,
    /// Bytes of the packets sent. With AF_XDP this includes frames that the kernel dropped later:
    /// it does not report which ones it dropped.
    pub sent_bytes: u64,
    /// Packets lost at the input: there was no room, or the packet uses unknown offloads of the
    /// kernel.
    pub lost_at_input: u64,
    /// Packets that the interface did not accept.
    pub lost_at_output: u64,
    /// Packets for the kernel that it did not accept.
    pub lost_to_kernel: u64,
    /// Packets from this port that the kernel's settings do not allow to be forwarded ([`Barred`]).
    #[serde(default)]
    pub not_forwarded: u64,
}

impl Forwarder {
    /// Opens the interfaces `names` as ports 0, 1, ... for `cores` cores. `tap:NAME` creates a TAP
    /// device; `pcap:FILE@RATE` plays a capture. The kernel keeps receiving the interfaces' frames
    /// until forwarding [begins](Self::begin). `note` receives messages for the operator: why a
    /// port does not use AF_XDP, or that a core has nothing to receive.
    ///
    /// # Errors
    /// If an interface does not exist, is named twice or is a port of another process, or if the
    /// process lacks the rights.
    pub fn open(
        names: &[String],
        io: Io,
        cores: usize,
        note: &mut dyn FnMut(String),
    ) -> Result<Self> {
        let (mut programs, mut others) = (Vec::new(), Vec::new());
        let mut forwarder = Self {
            _holder: None,
            gates: Vec::new(),
            ports: Vec::new(),
            cores: (0..cores).map(|_| Core::new(names.len())).collect(),
            removals: Removals::subscribe()?,
            failure: Attention::new()?,
            kernel: None,
        };
        for (number, name) in names.iter().enumerate() {
            if names[..number].contains(name) {
                return Err(Error::new(format!("port {name}: named twice")));
            }
            let index = port::interface(name)?;
            if let Some(index) = index {
                let ports = forwarder.ports.iter();
                let taken = ports.filter_map(|port| Some((port.name.as_str(), port.index?)));
                port::unless_taken(name, index, taken)?;
            }
            // First, since this fails if another process has the port.
            let device = index.map(|index| Device::of_port(name, index)).transpose()?;
            let device = device.map(Arc::new);
            let twin = index.zip(device.clone());
            let twin = twin.map(|(index, device)| Twin::new(device, index)).transpose()?;
            let twin = twin.map(Arc::new);
            let port = u16::try_from(number).map_err(|_| Error::new("more than 65,536 ports"))?;
            let (port, why) = Port::open(name, Spread { number: port, cores }, io)?;
            if let Some(why) = why {
                note(format!("note: port {name} uses packet sockets, which are slower: {why}"));
            }
            others.extend(twin.iter().flat_map(|twin| twin.descriptors()));
            for (core, sides) in forwarder.cores.iter_mut().zip(port.sides) {
                if let (Some(receiver), Some(_)) = (&sides.receiver, &twin) {
                    others.extend(receiver.descriptors());
                }
                core.receivers.push(sides.receiver);
                core.transmitters.push(sides.transmitter);
                core.twins.push(twin.clone());
            }
            programs.extend(port.program);
            forwarder.gates.extend(port.gate.map(|gate| (port.name.clone(), gate)));
            forwarder.ports.push(Opened {
                name: port.name,
                exchange: port.exchange,
                index: port.index,
                device,
            });
        }
        forwarder._holder = (!programs.is_empty()).then(|| Holder::of(programs, &others));
        let idle = forwarder.cores.iter().filter(|core| core.receivers.iter().all(Option::is_none));
        let idle = idle.count();
        if idle > 0 {
            note(format!(
                "note: {idle} of {cores} cores receive nothing, since the ports have fewer queues: \
                 add some with `ethtool -L`, or use --io packet"
            ));
        }
        Ok(forwarder)
    }

    /// Attaches an engine to its ports in the kernel.
    ///
    /// # Errors
    /// If a driver refuses a program, or the process lacks the rights.
    pub fn in_kernel(programs: Arc<InKernel>, ports: &[Interface]) -> Result<Self> {
        let opened = ports.iter().map(|port| {
            Ok(Opened {
                name: port.name.clone(),
                exchange: Exchange::Kernel,
                index: Some(port.index),
                device: Some(Arc::new(Device::of_port(&port.name, port.index)?)),
            })
        });
        let opened = opened.collect::<Result<_>>()?;
        let links = Links::attach(&programs, ports)?;
        let before = vec![PortCounts::default(); ports.len()];
        Ok(Self {
            _holder: None,
            gates: Vec::new(),
            ports: opened,
            // This core has no packets. It applies updates of the tables.
            cores: vec![Core::new(0)],
            removals: Removals::subscribe()?,
            failure: Attention::new()?,
            kernel: Some(AtPorts { links, programs, before }),
        })
    }

    /// Replaces the engine in the kernel.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn replace(&mut self, programs: Arc<InKernel>) -> Result {
        let Some(kernel) = &mut self.kernel else { return Ok(()) };
        kernel.links.replace(&programs)?;
        let former = std::mem::replace(&mut kernel.programs, programs);
        for (before, counts) in kernel.before.iter_mut().zip(former.ports()?) {
            *before = added(*before, counts);
        }
        Ok(())
    }

    /// Replaces the programs of the engine in the kernel by programs that also pass packets on to
    /// the process. `None` restores the engine's own programs.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn watch(&mut self, watched: Option<&WatchedPrograms>) -> Result {
        let Some(kernel) = &self.kernel else { return Ok(()) };
        match watched {
            Some(watched) => kernel.links.watch(watched),
            None => kernel.links.replace(&kernel.programs),
        }
    }

    /// Returns the time that a packet would arrive at now, in nanoseconds. Ages of entries refer to
    /// it. Engines in the kernel use the kernel's monotonic clock, others one that begins at the time
    /// of day.
    pub fn now_ns(&self) -> u64 {
        match &self.kernel {
            Some(_) => system::monotonic_ns(),
            None => self.cores[0].now_ns(),
        }
    }

    /// Sets the limits on packets for the kernel from now on.
    pub fn limit(&mut self, limits: &Limits) {
        let cores = self.cores.len();
        for core in &mut self.cores {
            core.police = Police::new(limits.of_each(cores));
        }
    }

    /// From now on drops packets that the kernel would not forward from their port, and records the
    /// ports at which tagged frames arrive.
    pub fn watch_ports(&mut self, barred: &Arc<Barred>, tagged: &Arc<Tagged>) {
        for core in &mut self.cores {
            (core.barred, core.tagged) = (Arc::clone(barred), Arc::clone(tagged));
        }
    }

    /// Takes the frames of all ports from the kernel, unless that has been done. Frames that arrive
    /// before [`run`](Self::run) wait.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn begin(&mut self) -> Result {
        self.gates.drain(..).try_for_each(|(name, gate)| gate.open(&name))
    }

    /// Forwards until `stop`, or until another thread asks for attention. A later call continues.
    /// There is one worker for each core; the first one works in this thread. With `busy`, cores
    /// poll for packets without sleeping.
    ///
    /// # Errors
    /// If a port is removed, a socket or a machine fails, or an update is refused.
    ///
    /// # Panics
    /// If the number of workers differs from the number of cores.
    pub fn run(
        &mut self,
        workers: Vec<Worker<'_>>,
        stop: &Stop,
        attention: &Attention,
        busy: bool,
    ) -> Result<Paused> {
        assert_eq!(workers.len(), self.cores.len(), "a worker for each core");
        self.begin()?;
        let Self { ports, cores, removals, failure: (bell, failed), .. } = self;
        let watched = Watched {
            asked: [stop.descriptor(), attention.descriptor(), failed.descriptor()],
            removals,
            ports,
            patience: if busy { 0 } else { -1 },
        };
        let (watched, bell) = (&watched, &*bell);
        let work = |core: &mut Core, worker: Worker<'_>| {
            let _alarm = Alarm(bell);
            let result = core.run(worker, watched);
            if result.is_err() {
                bell.ring();
            }
            result
        };
        let mut pairs = cores.iter_mut().zip(workers);
        let (first, worker) = pairs.next().expect("there is a core");
        thread::scope(|scope| {
            let others = pairs.map(|(core, worker)| {
                let thread = thread::Builder::new().name("core".into());
                thread.spawn_scoped(scope, move || work(core, worker))
            });
            let others: Vec<_> = others.collect();
            if others.iter().any(Result::is_err) {
                bell.ring();
            }
            let mut result = work(first, worker);
            for other in others {
                let failed = |error| Error::new(format!("a thread for a core: {error}"));
                let ended = other.map_err(failed).and_then(|thread| match thread.join() {
                    Ok(ended) => ended,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
                result = match (result, ended) {
                    (Ok(None), ended) => ended,
                    (Ok(paused), Ok(_)) => Ok(paused),
                    (Ok(_), Err(error)) | (Err(error), _) => Err(error),
                };
            }
            result.map(|paused| paused.expect("a core that failed says why"))
        })
    }

    pub fn counters(&mut self) -> Vec<PortCounters> {
        let mut counters: Vec<PortCounters> = Vec::new();
        for port in &self.ports {
            counters.push(PortCounters {
                name: port.name.clone(),
                exchange: port.exchange,
                received_packets: 0,
                received_bytes: 0,
                sent_packets: 0,
                sent_bytes: 0,
                lost_at_input: 0,
                lost_at_output: 0,
                lost_to_kernel: 0,
                not_forwarded: 0,
            });
        }
        if let Some(counts) = self.kernel_counts() {
            for (counters, counts) in counters.iter_mut().zip(counts) {
                (counters.received_packets, counters.received_bytes) = counts.received;
                (counters.sent_packets, counters.sent_bytes) = counts.sent;
                counters.lost_at_output = counts.unsent;
            }
            return counters;
        }
        for core in &mut self.cores {
            for (port, counters) in counters.iter_mut().enumerate() {
                core.count(port, counters);
            }
        }
        counters
    }

    /// Returns the packets for the kernel that were over its limit, by reason.
    pub fn policed(&self) -> BTreeMap<Reason, u64> {
        let mut policed = BTreeMap::new();
        for (reason, packets) in self.cores.iter().flat_map(|core| core.police.refused()) {
            *policed.entry(reason).or_default() += packets;
        }
        policed
    }

    /// Returns the packets that the machine sent to ports that do not exist.
    pub fn without_port(&self) -> u64 {
        let in_kernel = self.kernel_counts().into_iter().flatten();
        self.cores.iter().map(|core| core.without_port).sum::<u64>()
            + in_kernel.map(|counts| counts.without_port).sum::<u64>()
    }

    /// Returns the counts of the engine in the kernel, if there is one.
    fn kernel_counts(&self) -> Option<Vec<PortCounts>> {
        let kernel = self.kernel.as_ref()?;
        // Reading maps that this process holds does not fail.
        let counts = kernel.programs.ports().unwrap_or_else(|_| kernel.before.clone());
        Some(kernel.before.iter().zip(counts).map(|(before, now)| added(*before, now)).collect())
    }
}

fn added(a: PortCounts, b: PortCounts) -> PortCounts {
    PortCounts {
        received: (a.received.0 + b.received.0, a.received.1 + b.received.1),
        sent: (a.sent.0 + b.sent.0, a.sent.1 + b.sent.1),
        unsent: a.unsent + b.unsent,
        without_port: a.without_port + b.without_port,
    }
}

/// Rings if a core's thread panics. The other cores would wait for it otherwise.
struct Alarm<'a>(&'a Bell);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.ring();
        }
    }
}

/// The state that each core watches besides its packets.
struct Watched<'a> {
    /// Descriptors that signal a stop, a request for attention, and the failure of a core.
    asked: [RawFd; 3],
    removals: &'a Removals,
    ports: &'a [Opened],
    /// How long a core sleeps without packets, in milliseconds. -1: without limit.
    patience: libc::c_int,
}

impl Watched<'_> {
    /// Fails if the interface of a port, or its device, was removed.
    fn unless_removed(&self) -> Result {
        let ports = self.ports.iter().filter_map(|port| Some((port.name.as_str(), port.index?)));
        self.removals.check(ports)?;
        self.ports.iter().try_for_each(|port| match &port.device {
            Some(device) => device.unless_removed(&port.name),
            None => Ok(()),
        })
    }
}

impl Core {
    fn new(ports: usize) -> Self {
        Self {
            receivers: Vec::new(),
            transmitters: Vec::new(),
            twins: Vec::new(),
            received: vec![(0, 0); ports],
            undelivered: vec![0; ports],
            not_forwarded: vec![0; ports],
            without_port: 0,
            barred: Arc::default(),
            tagged: Arc::default(),
            police: Police::new(Limits::default()),
            begin: Instant::now(),
            begin_ns: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |now| now.as_nanos() as u64),
        }
    }

    /// Forwards this core's packets until it has to pause. Returns `None` if another core failed.
    fn run(&mut self, worker: Worker<'_>, watched: &Watched<'_>) -> Result<Option<Paused>> {
        let Worker { machine, mut control, observer } = worker;
        let asked = watched.asked;
        loop {
            let mut is_idle = self.round(machine, observer)?;
            if let Some(control) = control.as_deref_mut() {
                is_idle &= update(machine, control)?;
            }
            if !is_idle {
                match wait(&mut asked.map(readable), 0)? {
                    Wait::Over => continue,
                    Wait::Paused(paused) => return Ok(paused),
                }
            }
            let control = control.as_deref().map(Control::descriptor);
            let others = asked.into_iter().chain([watched.removals.descriptor()]).chain(control);
            let receivers = self.receivers.iter().flatten();
            let ports = receivers.flat_map(|receiver| receiver.descriptors()).copied();
            let mut polled: Vec<_> = others.chain(ports).map(readable).collect();
            let patience = self.patience(machine, watched.patience);
            if let Wait::Paused(paused) = wait(&mut polled, patience)? {
                return Ok(paused);
            }
            if polled[asked.len()].revents != 0 {
                watched.unless_removed()?;
            }
        }
    }

    /// Forwards one batch from each port. Returns whether no port had any packets.
    fn round(
        &mut self,
        machine: &mut dyn Machine,
        observer: &mut (dyn Observer + Send),
    ) -> Result<bool> {
        let mut is_idle = true;
        let clock = self.begin.elapsed().as_nanos() as u64;
        let now_ns = self.begin_ns + clock;
        if machine.next_timer().is_some_and(|next| next <= now_ns) {
            self.run_timers(machine, observer, now_ns)?;
        }
        for (port, receiver) in self.receivers.iter_mut().enumerate() {
            let Some(receiver) = receiver else { continue };
            let frames = receiver.receive(now_ns)?;
            if frames.is_empty() {
                continue;
            }
            is_idle = false;
            self.received[port].0 += frames.len() as u64;
            self.received[port].1 +=
                frames.iter().map(|frame| frame.bytes.len() as u64).sum::<u64>();
            self.tagged.look(port, frames.iter().map(|frame| frame.bytes));
            let (transmitters, twins) = (&mut self.transmitters, &self.twins);
            let (undelivered, without_port) = (&mut self.undelivered, &mut self.without_port);
            let (not_forwarded, barred) = (&mut self.not_forwarded, &self.barred);
            let police = &mut self.police;
            let are_judged = barred.has_any(port);
            let is_barred = |frame: &Frame<'_>| are_judged && barred.has(port, frame.bytes);
            // All frames of a part are either barred or not.
            for part in frames.chunk_by(|one, next| is_barred(one) == is_barred(next)) {
                let is_barred = is_barred(&part[0]);
                machine.offer_in_pieces(part, &mut |output: Output<'_>, rest: &[u8]| {
                    let is_sent = matches!(output.verdict, Verdict::Sent { .. });
                    if is_sent && is_barred {
                        not_forwarded[port] += 1;
                        return;
                    }
                    observer.output(output.verdict, output.bytes.len() + rest.len());
                    match output.verdict {
                        Verdict::Sent { port } => match transmitters.get_mut(usize::from(port)) {
                            Some(transmitter) => transmitter.take([output.bytes, rest]),
                            None => *without_port += 1,
                        },
                        Verdict::ToCpu(reason) if !police.admits(reason, clock) => {}
                        Verdict::ToCpu(_) => {
                            let from = usize::from(output.ingress);
                            let twin = twins[from].as_ref();
                            if twin.is_none_or(|twin| twin.deliver([output.bytes, rest]).is_err()) {
                                undelivered[from] += 1;
                            }
                        }
                        Verdict::Dropped(_) => {}
                    }
                })?;
            }
            self.transmitters.iter_mut().for_each(|transmitter| transmitter.flush());
        }
        Ok(is_idle)
    }

    /// Runs the timers that are due. What they hand to the control processor came from no port: it
    /// goes to the twin of the first.
    fn run_timers(
        &mut self,
        machine: &mut dyn Machine,
        observer: &mut (dyn Observer + Send),
        now_ns: u64,
    ) -> Result {
        let clock = now_ns - self.begin_ns;
        machine.advance_to(now_ns, &mut |output| {
            observer.output(output.verdict, output.bytes.len());
            match output.verdict {
                Verdict::Sent { port } => match self.transmitters.get_mut(usize::from(port)) {
                    Some(transmitter) => transmitter.take([output.bytes, &[]]),
                    None => self.without_port += 1,
                },
                Verdict::ToCpu(reason) if self.police.admits(reason, clock) => {
                    let twin = self.twins.first().and_then(|twin| twin.as_ref());
                    if twin.is_none_or(|twin| twin.deliver([output.bytes, &[]]).is_err())
                        && let Some(undelivered) = self.undelivered.first_mut()
                    {
                        *undelivered += 1;
                    }
                }
                Verdict::ToCpu(_) | Verdict::Dropped(_) => {}
            }
        })?;
        self.transmitters.iter_mut().for_each(|transmitter| transmitter.flush());
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.begin_ns + self.begin.elapsed().as_nanos() as u64
    }

    /// Returns the longest time to sleep, in milliseconds: at most `patience` (-1: any), and until
    /// the next timer.
    fn patience(&self, machine: &dyn Machine, patience: libc::c_int) -> libc::c_int {
        let Some(next) = machine.next_timer() else { return patience };
        let now_ns = self.now_ns();
        let until = next.saturating_sub(now_ns).div_ceil(1_000_000).min(1000) as libc::c_int;
        if patience < 0 { until } else { until.min(patience) }
    }

    /// Adds this core's counts of a port to `counters`.
    fn count(&mut self, port: usize, counters: &mut PortCounters) {
        let sent = self.transmitters[port].sent();
        counters.received_packets += self.received[port].0;
        counters.received_bytes += self.received[port].1;
        counters.sent_packets += sent.packets;
        counters.sent_bytes += sent.bytes;
        counters.lost_at_input += self.receivers[port].as_mut().map_or(0, |port| port.lost());
        counters.lost_at_output += sent.lost;
        counters.lost_to_kernel += self.undelivered[port];
        counters.not_forwarded += self.not_forwarded[port];
    }
}

/// Applies up to [`UPDATES_PER_ROUND`] updates. Returns whether no updates are left.
fn update(machine: &mut dyn Machine, control: &mut Control) -> Result<bool> {
    for number in 0..UPDATES_PER_ROUND {
        let Some(update) = control.next() else {
            if number > 0 {
                machine.finish(&mut |_| ())?;
            }
            return Ok(true);
        };
        // Machines in software have no packets in flight between two calls.
        machine.update(&update, &mut |_| ()).map_err(|why| match why {
            UpdateError::Refused(what) => {
                Error::new(format!("the kernel's routes: `{}`: {what}", update.offload))
            }
            UpdateError::Failed(error) => error,
        })?;
    }
    machine.finish(&mut |_| ())?;
    Ok(false)
}

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

enum Wait {
    /// A descriptor is readable, or the time is over.
    Over,
    /// Forwarding has to pause. The reason is `None` if another core has failed.
    Paused(Option<Paused>),
}

/// Waits until a descriptor is readable, or for `patience` milliseconds; -1 waits without limit.
/// The first descriptors are the ones in [`Watched::asked`].
fn wait(polled: &mut [libc::pollfd], patience: libc::c_int) -> Result<Wait> {
    // SAFETY: the descriptors are as many as counted.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, patience) };
    if ready < 0 {
        let error = std::io::Error::last_os_error();
        return match error.kind() {
            std::io::ErrorKind::Interrupted => Ok(Wait::Over),
            _ => Err(Error::new(format!("poll: {error}"))),
        };
    }
    Ok(match polled {
        [stop, ..] if stop.revents != 0 => Wait::Paused(Some(Paused::Stop)),
        [_, attention, ..] if attention.revents != 0 => Wait::Paused(Some(Paused::Attention)),
        [_, _, failure, ..] if failure.revents != 0 => Wait::Paused(None),
        _ => Wait::Over,
    })
}
