//! Ports: an interface, a TAP device or a capture; what it receives and what is sent on it.

mod packet;
mod replay;
mod tap;
mod xdp;

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use serde::{Deserialize, Serialize};
use wireloom_machine::{Error, Result};
use wireloom_net::Frame;

use crate::bpf::{Attached, Sockets, Switch};
use crate::system::{failed, interface_index};

/// How frames are exchanged with interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// AF_XDP where driver and rights allow it, otherwise packet sockets.
    Auto,
    /// AF_XDP only.
    Xdp,
    /// Packet sockets only.
    Packet,
    /// Not at all: the engine is a program in the kernel.
    Kernel,
}

/// How frames are exchanged with one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exchange {
    /// AF_XDP; the card reads and writes our memory.
    #[serde(rename = "AF_XDP, zero copy")]
    XdpZeroCopy,
    /// AF_XDP; the kernel copies.
    #[serde(rename = "AF_XDP, copied")]
    XdpCopy,
    /// Packet sockets.
    #[serde(rename = "packet socket")]
    Packet,
    /// The engine is a program in the driver.
    #[serde(rename = "in the kernel")]
    Kernel,
    /// A TAP device.
    #[serde(rename = "TAP")]
    Tap,
    /// A capture that is played.
    #[serde(rename = "capture")]
    Capture,
}

impl Exchange {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::XdpZeroCopy => "AF_XDP, zero copy",
            Self::XdpCopy => "AF_XDP, copied",
            Self::Packet => "packet socket",
            Self::Kernel => "in the kernel",
            Self::Tap => "TAP",
            Self::Capture => "capture",
        }
    }
}

/// The receiving side of a port.
pub trait Receive {
    /// What poll(2) has to wait for.
    fn descriptors(&self) -> &[RawFd];

    /// Receives what waits, without waiting for more; at most a batch.
    ///
    /// # Errors
    /// If the interface was removed, or a socket fails.
    fn receive(&mut self, now_ns: u64) -> Result<Vec<Frame<'_>>>;

    /// Frames that were lost at the input since the port was opened.
    fn lost(&mut self) -> u64;
}

/// The sending side of a port.
pub trait Transmit {
    /// Takes a frame that is to be sent, in two pieces, of which the second may be empty.
    fn take(&mut self, frame: [&[u8]; 2]);

    /// Sends what was taken. A frame that the interface does not accept is lost: it is down, its
    /// queue is full, or the frame is longer than its MTU.
    fn flush(&mut self);

    /// What was sent so far.
    fn sent(&self) -> Sent;
}

/// Counters of a sending side.
#[derive(Clone, Copy, Default)]
pub struct Sent {
    /// Frames sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that the interface did not accept.
    pub lost: u64,
}

/// A port, until it is closed.
pub struct Port {
    /// The name of the interface, or what was given instead.
    pub name: String,
    /// The index of an interface of which the kernel is the control plane.
    pub index: Option<u32>,
    /// How it exchanges frames.
    pub exchange: Exchange,
    /// The program that keeps its frames from the kernel once the gate is open. When it is detached,
    /// the kernel gets all of them again.
    pub program: Option<Attached>,
    /// Where its frames come from. Until it is open the kernel gets them.
    pub gate: Option<Gate>,
    /// What each core has of it.
    pub sides: Vec<Sides>,
}

/// What lets the frames of a port through to the machine. Attaching a program takes the kernel longer
/// than packets should wait, and opening a gate no time.
pub enum Gate {
    /// A map of AF_XDP sockets that is empty until it is open, and the socket of each queue.
    Queues {
        /// The map.
        map: Sockets,
        /// Queues and their sockets.
        waiting: Vec<(u32, OwnedFd)>,
    },
    /// A switch that the programs of an interface and of its packet sockets look at.
    Switch(Switch),
}

impl Gate {
    /// Opens the gate of a port.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open(&self, port: &str) -> Result {
        let opened: io::Result<()> = match self {
            Self::Queues { map, waiting } => {
                waiting.iter().try_for_each(|(queue, socket)| map.insert(*queue, socket))
            }
            Self::Switch(switch) => switch.turn_on(),
        };
        opened.map_err(|error| failed(&format!("port {port}: taking its frames"), &error))
    }
}

/// What a core has of a port. Nothing of it is shared with another core, so that it can move to a
/// thread of that core.
pub struct Sides {
    /// A part of what arrives: a flow always goes to the same core. `None` if there are fewer queues
    /// than cores.
    pub receiver: Option<Box<dyn Receive>>,
    /// What this core sends.
    pub transmitter: Box<dyn Transmit>,
}

/// How the packets of a port are spread over cores.
#[derive(Clone, Copy)]
pub struct Spread {
    /// The port's number.
    pub number: u16,
    /// How many cores forward.
    pub cores: usize,
}

impl Spread {
    /// The core that receives from a queue of the port. Ports with fewer queues than there are cores
    /// begin with different ones.
    fn core_of(self, queue: usize) -> usize {
        (queue + usize::from(self.number)) % self.cores
    }

    /// The cores' sides of a port with one queue.
    fn one_queue<T: Transmit + 'static>(
        self,
        receiver: impl Receive + 'static,
        mut transmitter: impl FnMut() -> T,
    ) -> Vec<Sides> {
        let mut receiver: Option<Box<dyn Receive>> = Some(Box::new(receiver));
        let sides = (0..self.cores).map(|core| Sides {
            receiver: if core == self.core_of(0) { receiver.take() } else { None },
            transmitter: Box::new(transmitter()),
        });
        sides.collect()
    }
}

impl Port {
    /// Takes an interface, or opens `tap:NAME`, `pcap:FILE@RATE` or
    /// `pcap-loop:FILE@RATE`. Returns also why AF_XDP is not used, where it was tried.
    ///
    /// # Errors
    /// If there is no such interface or file, or without the rights.
    pub fn open(name: &str, spread: Spread, io: Io) -> Result<(Self, Option<Error>)> {
        if let Some(device) = name.strip_prefix(TAP) {
            return Ok((tap::open(name, device, spread)?, None));
        }
        if let Some(what) = name.strip_prefix(CAPTURE) {
            return Ok((replay::open(name, what, spread, replay::Times::Once)?, None));
        }
        if let Some(what) = name.strip_prefix(CAPTURE_LOOP) {
            return Ok((replay::open(name, what, spread, replay::Times::Endless)?, None));
        }
        let index = interface_index(name)?;
        match io {
            Io::Xdp => Ok((xdp::open(name, index, spread)?, None)),
            Io::Packet => Ok((packet::open(name, index, spread)?, None)),
            Io::Kernel => unreachable!("the engine is in the kernel, which has the ports"),
            Io::Auto => match xdp::open(name, index, spread) {
                Ok(port) => Ok((port, None)),
                Err(why) => Ok((packet::open(name, index, spread)?, Some(why))),
            },
        }
    }
}

/// The most memory that a port needs on so many cores, in bytes.
///
/// # Errors
/// If there is no such interface.
pub fn memory(name: &str, io: Io, cores: usize) -> Result<u64> {
    let Some(index) = interface(name)? else {
        // A capture is read as it is played.
        return Ok(tap::MEMORY);
    };
    let of_packets = cores as u64 * packet::MEMORY;
    Ok(match io {
        Io::Auto => xdp::memory(index, cores).max(of_packets),
        Io::Xdp => xdp::memory(index, cores),
        Io::Packet => of_packets,
        Io::Kernel => 0,
    })
}

const TAP: &str = "tap:";
const CAPTURE: &str = "pcap:";
const CAPTURE_LOOP: &str = "pcap-loop:";

/// The kinds of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An interface.
    Interface,
    /// A TAP device.
    Tap,
    /// A capture.
    Capture,
}

/// The kind of a port of this name.
pub fn kind(name: &str) -> Kind {
    match name {
        _ if name.starts_with(TAP) => Kind::Tap,
        _ if [CAPTURE, CAPTURE_LOOP].iter().any(|kind| name.starts_with(kind)) => Kind::Capture,
        _ => Kind::Interface,
    }
}

/// Returns the index of the interface that a port is; `None` for TAP devices and captures.
///
/// # Errors
/// If there is no such interface.
pub fn interface(name: &str) -> Result<Option<u32>> {
    match kind(name) {
        Kind::Interface => interface_index(name).map(Some),
        Kind::Tap | Kind::Capture => Ok(None),
    }
}

/// Fails if an interface is one of these ports already, under this or another name.
///
/// # Errors
/// If it is.
pub fn unless_taken<'a>(
    name: &str,
    index: u32,
    mut ports: impl Iterator<Item = (&'a str, u32)>,
) -> Result {
    match ports.find(|(_, taken)| *taken == index) {
        None => Ok(()),
        Some((same, _)) if same == name => Err(Error::new(format!("port {name}: named twice"))),
        Some((same, _)) => {
            Err(Error::new(format!("port {name}: it is the same interface as {same}")))
        }
    }
}
