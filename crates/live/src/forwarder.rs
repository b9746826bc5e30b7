//! The loop that moves packets between ports through a machine.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wireloom_ir::{Output, Reason, Verdict};
use wireloom_machine::{Error, Machine, Result, UpdateError};
use wireloom_xdp::{InKernel, Interface, Links, PortCounts};

use crate::attention::Attention;
use crate::control::Control;
use crate::police::{Limits, Police};
use crate::port::{Exchange, Io, Port, Receive, Transmit};
use crate::removal::Removals;
use crate::stop::Stop;
use crate::twin::Twin;

/// Updates that are applied between two rounds of the ports, so that packets do not wait for all of
/// a large change.
const UPDATES_PER_ROUND: usize = 256;

/// Ports that are forwarded between. Closing it returns the interfaces to the kernel.
pub struct Forwarder {
    /// Per port, name and way of exchange.
    names: Vec<(String, Exchange)>,
    receivers: Vec<Box<dyn Receive>>,
    transmitters: Vec<Box<dyn Transmit>>,
    /// Per port, the index of its interface.
    interfaces: Vec<Option<u32>>,
    removals: Removals,
    /// `None` for ports of which the kernel is not the control plane.
    twins: Vec<Option<Twin>>,
    /// Per port, packets and bytes received.
    received: Vec<(u64, u64)>,
    /// Per port, packets for the kernel that its twin did not accept.
    undelivered: Vec<u64>,
    /// Packets for ports that there are not.
    without_port: u64,
    police: Police,
    /// The origin of the police's clock.
    begin: Instant,
    /// The engine in the kernel, which has the packets then.
    kernel: Option<AtPorts>,
}

/// An engine in the kernel at its ports.
struct AtPorts {
    links: Links,
    programs: Arc<InKernel>,
    /// What programs that were replaced have counted.
    before: Vec<PortCounts>,
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
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets lost at the input: no room, or offloads of the kernel that are not known.
    pub lost_at_input: u64,
    /// Packets that the interface did not accept.
    pub lost_at_output: u64,
    /// Packets for the kernel that it did not accept.
    pub lost_to_kernel: u64,
}

impl Forwarder {
    /// Takes the interfaces of these names as ports 0, 1, ...; `tap:NAME` creates a TAP device,
    /// `pcap:FILE@RATE` plays a capture. `note` gets what an operator should
    /// know: why a port does not use AF_XDP.
    ///
    /// # Errors
    /// If an interface does not exist or is named twice, or without the rights.
    pub fn open(names: &[String], io: Io, note: &mut dyn FnMut(String)) -> Result<Self> {
        let mut forwarder = Self::without_ports(names.len())?;
        for (number, name) in names.iter().enumerate() {
            if names[..number].contains(name) {
                return Err(Error::new(format!("port {name}: named twice")));
            }
            let port = u16::try_from(number).map_err(|_| Error::new("more than 65,536 ports"))?;
            let (port, why) = Port::open(name, port, io)?;
            if let Some(why) = why {
                note(format!("note: port {name} uses packet sockets, which are slower: {why}"));
            }
            let twin = port.index.map(|index| Twin::create(number, index)).transpose()?;
            forwarder.twins.push(twin);
            forwarder.interfaces.push(port.index);
            forwarder.names.push((port.name, port.exchange));
            forwarder.receivers.push(port.receiver);
            forwarder.transmitters.push(port.transmitter);
        }
        Ok(forwarder)
    }

    fn without_ports(count: usize) -> Result<Self> {
        Ok(Self {
            names: Vec::new(),
            receivers: Vec::new(),
            transmitters: Vec::new(),
            interfaces: Vec::new(),
            removals: Removals::subscribe()?,
            twins: Vec::new(),
            received: vec![(0, 0); count],
            undelivered: vec![0; count],
            without_port: 0,
            police: Police::new(Limits::default()),
            begin: Instant::now(),
            kernel: None,
        })
    }

    /// Attaches an engine in the kernel to its ports.
    ///
    /// # Errors
    /// If a driver does not take a program, or without the rights.
    pub fn in_kernel(programs: Arc<InKernel>, ports: &[Interface]) -> Result<Self> {
        let mut forwarder = Self::without_ports(ports.len())?;
        for port in ports {
            forwarder.names.push((port.name.clone(), Exchange::Kernel));
            forwarder.interfaces.push(Some(port.index));
        }
        let links = Links::attach(&programs, ports)?;
        let before = vec![PortCounts::default(); ports.len()];
        forwarder.kernel = Some(AtPorts { links, programs, before });
        Ok(forwarder)
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

    /// Limits what goes to the kernel from now on.
    pub fn limit(&mut self, limits: Limits) {
        self.police = Police::new(limits);
    }

    /// Forwards until `stop`, or until another thread asks for attention; a further call goes on.
    /// `busy` waits for packets without sleeping.
    ///
    /// # Errors
    /// If a port is removed, a socket or the machine fails, or an update is refused.
    pub fn run(
        &mut self,
        machine: &mut dyn Machine,
        mut control: Option<&mut Control>,
        stop: &Stop,
        attention: &Attention,
        busy: bool,
        observer: &mut dyn Observer,
    ) -> Result<Paused> {
        let asked = [stop.descriptor(), attention.descriptor()];
        let removals = asked.len();
        let patience = if busy { 0 } else { -1 };
        loop {
            let mut is_idle = self.round(machine, observer)?;
            if let Some(control) = control.as_deref_mut() {
                is_idle &= self.update(machine, control)?;
            }
            if !is_idle {
                if let Some(paused) = paused(&mut asked.map(readable), 0)? {
                    return Ok(paused);
                }
                continue;
            }
            let control = control.as_deref().map(Control::descriptor);
            let others = asked.into_iter().chain([self.removals.descriptor()]).chain(control);
            let ports = self.receivers.iter().flat_map(|receiver| receiver.descriptors());
            let ports = ports.copied();
            let mut polled: Vec<_> = others.chain(ports).map(readable).collect();
            if let Some(paused) = paused(&mut polled, patience)? {
                return Ok(paused);
            }
            if polled[removals].revents != 0 {
                self.unless_removed()?;
            }
        }
    }

    /// Fails if the interface of a port was removed.
    fn unless_removed(&self) -> Result {
        let ports = self.names.iter().zip(&self.interfaces);
        self.removals.check(ports.filter_map(|((name, _), index)| Some((name.as_str(), (*index)?))))
    }

    /// Takes one batch from each port. Returns whether there was nothing.
    fn round(&mut self, machine: &mut dyn Machine, observer: &mut dyn Observer) -> Result<bool> {
        let mut is_idle = true;
        for port in 0..self.receivers.len() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let frames = self.receivers[port].receive(now.as_nanos() as u64)?;
            if frames.is_empty() {
                continue;
            }
            is_idle = false;
            self.received[port].0 += frames.len() as u64;
            self.received[port].1 +=
                frames.iter().map(|frame| frame.bytes.len() as u64).sum::<u64>();
            let (transmitters, twins) = (&mut self.transmitters, &mut self.twins);
            let (undelivered, without_port) = (&mut self.undelivered, &mut self.without_port);
            let police = &mut self.police;
            let clock = self.begin.elapsed().as_nanos() as u64;
            machine.offer(&frames, &mut |output: Output<'_>| {
                observer.output(output.verdict, output.bytes.len());
                match output.verdict {
                    Verdict::Sent { port } => match transmitters.get_mut(usize::from(port)) {
                        Some(transmitter) => transmitter.take(output.bytes),
                        None => *without_port += 1,
                    },
                    Verdict::ToCpu(reason) if !police.admits(reason, clock) => {}
                    Verdict::ToCpu(_) => {
                        let from = usize::from(output.ingress);
                        let twin = twins[from].as_mut();
                        if twin.is_none_or(|twin| twin.deliver(output.bytes).is_err()) {
                            undelivered[from] += 1;
                        }
                    }
                    Verdict::Dropped(_) => {}
                }
            })?;
            self.transmitters.iter_mut().for_each(|transmitter| transmitter.flush());
        }
        Ok(is_idle)
    }

    /// Applies some updates. Returns whether there are no more.
    fn update(&mut self, machine: &mut dyn Machine, control: &mut Control) -> Result<bool> {
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

    /// Returns the counters of all ports.
    pub fn counters(&mut self) -> Vec<PortCounters> {
        if let Some(counts) = self.kernel_counts() {
            let ports = self.names.iter().zip(counts);
            return ports
                .map(|((name, exchange), counts)| PortCounters {
                    name: name.clone(),
                    exchange: *exchange,
                    received_packets: counts.received.0,
                    received_bytes: counts.received.1,
                    sent_packets: counts.sent.0,
                    sent_bytes: counts.sent.1,
                    lost_at_input: 0,
                    lost_at_output: counts.unsent,
                    lost_to_kernel: 0,
                })
                .collect();
        }
        let ports = self.receivers.iter_mut().zip(&self.transmitters).zip(&self.names);
        let counters = ports.enumerate().map(|(port, ((receiver, transmitter), names))| {
            let sent = transmitter.sent();
            PortCounters {
                name: names.0.clone(),
                exchange: names.1,
                received_packets: self.received[port].0,
                received_bytes: self.received[port].1,
                sent_packets: sent.packets,
                sent_bytes: sent.bytes,
                lost_at_input: receiver.lost(),
                lost_at_output: sent.lost,
                lost_to_kernel: self.undelivered[port],
            }
        });
        counters.collect()
    }

    /// Packets that were not handed to the kernel, since there were more than its limit, by reason.
    pub fn policed(&self) -> BTreeMap<Reason, u64> {
        self.police.refused()
    }

    /// Packets that the machine sent to ports that there are not.
    pub fn without_port(&self) -> u64 {
        let in_kernel = self.kernel_counts().into_iter().flatten();
        self.without_port + in_kernel.map(|counts| counts.without_port).sum::<u64>()
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

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Waits until a descriptor is readable, or for so many milliseconds; -1 has no end. Returns whether
/// the first descriptor is, which asks to stop, or the second, which asks for attention.
fn paused(polled: &mut [libc::pollfd], patience: libc::c_int) -> Result<Option<Paused>> {
    // SAFETY: the descriptors are as many as counted.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, patience) };
    if ready < 0 {
        let error = std::io::Error::last_os_error();
        return match error.kind() {
            std::io::ErrorKind::Interrupted => Ok(None),
            _ => Err(Error::new(format!("poll: {error}"))),
        };
    }
    Ok(match polled {
        [stop, ..] if stop.revents != 0 => Some(Paused::Stop),
        [_, attention, ..] if attention.revents != 0 => Some(Paused::Attention),
        _ => None,
    })
}
