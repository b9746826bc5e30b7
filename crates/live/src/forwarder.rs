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

use crate::attention::{Attention, Bell};
use crate::control::Control;
use crate::forwards::{Barred, Tagged};
use crate::holder::Holder;
use crate::police::{Limits, Police};
use crate::port::{self, Exchange, Gate, Io, Port, Receive, Spread, Transmit};
use crate::removal::Removals;
use crate::stop::Stop;
use crate::twin::{Device, Twin};

/// Updates that are applied between two rounds of the ports, so that packets do not wait for all of
/// a large change.
const UPDATES_PER_ROUND: usize = 256;

/// Ports that are forwarded between. Closing it returns the interfaces to the kernel.
pub struct Forwarder {
    /// Keeps the frames of ports from the kernel. Dropped first: then the kernel gets them again before
    /// anything else is closed.
    _holder: Option<Holder>,
    /// The gates that are not open yet, and the names of their ports.
    gates: Vec<(String, Gate)>,
    ports: Vec<Opened>,
    cores: Vec<Core>,
    removals: Removals,
    /// Rings when a core fails: the others end too.
    failure: (Bell, Attention),
    /// The engine in the kernel, which has the packets then.
    kernel: Option<AtPorts>,
}

/// What belongs to no core of a port.
struct Opened {
    name: String,
    exchange: Exchange,
    /// The interface.
    index: Option<u32>,
    /// Shows that it is taken.
    device: Option<Arc<Device>>,
}

/// A core's part of all ports.
struct Core {
    receivers: Vec<Option<Box<dyn Receive>>>,
    transmitters: Vec<Box<dyn Transmit>>,
    /// `None` for ports of which the kernel is not the control plane.
    twins: Vec<Option<Arc<Twin>>>,
    /// Per port, packets and bytes received.
    received: Vec<(u64, u64)>,
    /// Per port, packets for the kernel that its twin did not accept.
    undelivered: Vec<u64>,
    /// Per port, packets from it that the kernel would not forward.
    not_forwarded: Vec<u64>,
    /// Packets for ports that there are not.
    without_port: u64,
    barred: Arc<Barred>,
    tagged: Arc<Tagged>,
    police: Police,
    /// The origin of the police's clock.
    begin: Instant,
}

/// An engine in the kernel at its ports.
struct AtPorts {
    links: Links,
    programs: Arc<InKernel>,
    /// What programs that were replaced have counted.
    before: Vec<PortCounts>,
}

// SAFETY: what its sides share without a lock (the memory of an AF_XDP queue) they share among
// themselves: `Sides` belong to one core.
unsafe impl Send for Core {}

/// What a core works with.
pub struct Worker<'a> {
    /// Executes its packets.
    pub machine: &'a mut (dyn Machine + Send),
    /// Changes of the machine's tables.
    pub control: Option<&'a mut Control>,
    /// Watches its packets.
    pub observer: &'a mut (dyn Observer + Send),
}

/// Learns what happens during forwarding.
pub trait Observer {
    /// A packet left the machine; its length is in bytes.
    fn output(&mut self, verdict: Verdict, length: usize);
}

/// Why forwarding paused. No packet is under way then; the ports keep what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// A signal asks the process to end.
    Stop,
    /// Another thread asks for [`Attention`].
    Attention,
}

/// The counters of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounters {
    /// The interface's name.
    #[serde(rename = "interface")]
    pub name: String,
    /// How frames are exchanged with it.
    pub exchange: Exchange,
    /// Packets received; large packets of the kernel count once for each of their segments.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Their bytes. With AF_XDP those of frames that the kernel then dropped are among them: it
    /// does not say which it was.
    pub sent_bytes: u64,
    /// Packets lost at the input: no room, or offloads of the kernel that are not known.
    pub lost_at_input: u64,
    /// Packets that the interface did not accept.
    pub lost_at_output: u64,
    /// Packets for the kernel that it did not accept.
    pub lost_to_kernel: u64,
    /// Packets from this port that the kernel's settings do not let pass ([`Barred`]).
    #[serde(default)]
    pub not_forwarded: u64,
}

impl Forwarder {
    /// Opens the interfaces of these names as ports 0, 1, ... for so many cores; `tap:NAME` creates a
    /// TAP device, `pcap:FILE@RATE` plays a capture. The kernel gets the frames of interfaces until
    /// forwarding [begins](Self::begin). `note` gets what an operator should know: why a
    /// port does not use AF_XDP, or that a core has nothing to receive.
    ///
    /// # Errors
    /// If an interface does not exist, is named twice or is another process's port, or without the
    /// rights.
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
            // First: it is refused if another process has the port.
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

    /// Attaches an engine in the kernel to its ports.
    ///
    /// # Errors
    /// If a driver does not take a program, or without the rights.
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
            // It has no packets, and applies changes of the tables.
            cores: vec![Core::new(0)],
            removals: Removals::subscribe()?,
            failure: Attention::new()?,
            kernel: Some(AtPorts { links, programs, before }),
        })
    }

    /// Puts another engine in the place of the one in the kernel.
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

    /// Puts programs that pass packets on in the place of an engine's in the kernel; with none, the
    /// engine's own again.
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

    /// Limits what goes to the kernel from now on.
    pub fn limit(&mut self, limits: &Limits) {
        let cores = self.cores.len();
        for core in &mut self.cores {
            core.police = Police::new(limits.of_each(cores));
        }
    }

    /// Sends nothing from now on that the kernel would not forward from its port, and notes the ports
    /// from which tagged frames come.
    pub fn watch_ports(&mut self, barred: &Arc<Barred>, tagged: &Arc<Tagged>) {
        for core in &mut self.cores {
            (core.barred, core.tagged) = (Arc::clone(barred), Arc::clone(tagged));
        }
    }

    /// Takes the frames of all ports from the kernel, if that has not been done. Those that arrive before
    /// [`run`](Self::run) wait.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn begin(&mut self) -> Result {
        self.gates.drain(..).try_for_each(|(name, gate)| gate.open(&name))
    }

    /// Forwards until `stop`, or until another thread asks for attention; a further call goes on.
    /// There is a worker for each core; the first one works in this thread. `busy` waits for packets
    /// without sleeping.
    ///
    /// # Errors
    /// If a port is removed, a socket or a machine fails, or an update is refused.
    ///
    /// # Panics
    /// If there are not as many workers as cores.
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

    /// Returns the counters of all ports.
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

    /// Packets that were not handed to the kernel, since there were more than its limit, by reason.
    pub fn policed(&self) -> BTreeMap<Reason, u64> {
        let mut policed = BTreeMap::new();
        for (reason, packets) in self.cores.iter().flat_map(|core| core.police.refused()) {
            *policed.entry(reason).or_default() += packets;
        }
        policed
    }

    /// Packets that the machine sent to ports that there are not.
    pub fn without_port(&self) -> u64 {
        let in_kernel = self.kernel_counts().into_iter().flatten();
        self.cores.iter().map(|core| core.without_port).sum::<u64>()
            + in_kernel.map(|counts| counts.without_port).sum::<u64>()
    }

    /// The counts of the engine in the kernel, if it is there.
    fn kernel_counts(&self) -> Option<Vec<PortCounts>> {
        let kernel = self.kernel.as_ref()?;
        // Maps that this process holds can be read.
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

/// Rings if a core's thread panics: the others would wait for it otherwise.
struct Alarm<'a>(&'a Bell);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.ring();
        }
    }
}

/// What every core looks at besides its packets.
struct Watched<'a> {
    /// What asks to stop, asks for attention, and says that a core has failed.
    asked: [RawFd; 3],
    removals: &'a Removals,
    ports: &'a [Opened],
    /// How long it sleeps without packets, in milliseconds; -1 has no end.
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
        }
    }

    /// Forwards this core's packets until it is to pause. Returns nothing if another core failed.
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
            if let Wait::Paused(paused) = wait(&mut polled, watched.patience)? {
                return Ok(paused);
            }
            if polled[asked.len()].revents != 0 {
                watched.unless_removed()?;
            }
        }
    }

    /// Takes one batch from each port. Returns whether there was nothing.
    fn round(
        &mut self,
        machine: &mut dyn Machine,
        observer: &mut (dyn Observer + Send),
    ) -> Result<bool> {
        let mut is_idle = true;
        for (port, receiver) in self.receivers.iter_mut().enumerate() {
            let Some(receiver) = receiver else { continue };
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let frames = receiver.receive(now.as_nanos() as u64)?;
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
            let clock = self.begin.elapsed().as_nanos() as u64;
            let are_judged = barred.has_any(port);
            let is_barred = |frame: &Frame<'_>| are_judged && barred.has(port, frame.bytes);
            // All of a part have the same fate.
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

    /// Adds what this core counted at a port.
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

/// Applies some updates. Returns whether there are no more.
fn update(machine: &mut dyn Machine, control: &mut Control) -> Result<bool> {
    for number in 0..UPDATES_PER_ROUND {
        let Some(update) = control.next() else {
            if number > 0 {
                machine.finish(&mut |_| ())?;
            }
            return Ok(true);
        };
        // Machines in software have no packets under way between two calls.
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

/// How waiting ended.
enum Wait {
    /// A descriptor is readable, or the time is over.
    Over,
    /// Forwarding is to pause; without a reason if another core has failed.
    Paused(Option<Paused>),
}

/// Waits until a descriptor is readable, or for so many milliseconds; -1 has no end. The first
/// descriptors are those of [`Watched::asked`].
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
