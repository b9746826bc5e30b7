//! Ports: an interface, a TAP device or a capture, with its receiving and sending sides.

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

/// How to exchange frames with interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// AF_XDP where driver and rights allow it, otherwise packet sockets.
    Auto,
    /// AF_XDP only.
    Xdp,
    /// Packet sockets only.
    Packet,
    /// No frames: the engine is a program in the kernel.
    Kernel,
}

/// How frames are exchanged with one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exchange {
    /// AF_XDP. The card reads and writes the memory of this process.
    #[serde(rename = "AF_XDP, zero copy")]
    XdpZeroCopy,
    /// AF_XDP. The kernel copies the frames.
    #[serde(rename = "AF_XDP, copied")]
    XdpCopy,
    #[serde(rename = "packet socket")]
    Packet,
    /// The engine is a program in the driver.
    #[serde(rename = "in the kernel")]
    Kernel,
    /// A TAP device.
    #[serde(rename = "TAP")]
    Tap,
    /// A capture that is played back.
    #[serde(rename = "capture")]
    Capture,
}

impl Exchange {
    /// Describes the exchange in words.
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
    /// Returns the descriptors to wait for with poll(2).
    fn descriptors(&self) -> &[RawFd];

    /// Receives the waiting frames, at most a batch. Does not wait for more.
    ///
    /// # Errors
    /// If the interface was removed, or a socket fails.
    fn receive(&mut self, now_ns: u64) -> Result<Vec<Frame<'_>>>;

    /// Returns the number of frames lost at the input since the port was opened.
    fn lost(&mut self) -> u64;
}

/// The sending side of a port.
pub trait Transmit {
    /// Takes a frame to send, in two pieces. The second may be empty.
    fn take(&mut self, frame: [&[u8]; 2]);

    /// Sends the frames taken. A frame that the interface does not accept is lost: the interface is
    /// down, its queue is full, or the frame is longer than its MTU.
    fn flush(&mut self);

    /// Returns the counters of the frames sent so far.
    fn sent(&self) -> Sent;
}

/// Counters of a sending side.
#[derive(Clone, Copy, Default)]
pub struct Sent {
    pub packets: u64,
    /// Bytes of the frames sent.
    pub bytes: u64,
    /// Frames that the interface did not accept.
    pub lost: u64,
}

/// An open port.
pub struct Port {
    /// The name of the interface, or the description of another port as given.
    pub name: String,
    /// The interface index, if the kernel controls the interface.
    pub index: Option<u32>,
    pub exchange: Exchange,
    /// The program that keeps the port's frames from the kernel once the gate is open. When it is
    /// detached, the kernel gets all frames again.
    pub program: Option<Attached>,
    /// The gate of the port's frames. The kernel gets them until it is open.
    pub gate: Option<Gate>,
    /// The sides of the port, one element for each core.
    pub sides: Vec<Sides>,
}

/// A gate that lets the frames of a port through to the machine. Attaching a program takes the
/// kernel longer than packets should wait; opening a gate takes no time.
pub enum Gate {
    /// A map of AF_XDP sockets that is empty until the gate is open, and the socket of each queue.
    Queues {
        map: Sockets,
        /// Queues and their sockets.
        waiting: Vec<(u32, OwnedFd)>,
    },
    /// A switch that the programs of an interface and of its packet sockets read.
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

/// One core's sides of a port. They share nothing with other cores, so they can move to that core's
/// thread.
pub struct Sides {
    /// Receives a part of the packets: a flow always goes to the same core. `None` if there are
    /// fewer queues than cores.
    pub receiver: Option<Box<dyn Receive>>,
    pub transmitter: Box<dyn Transmit>,
}

/// How the packets of a port are distributed over cores.
#[derive(Clone, Copy)]
pub struct Spread {
    pub number: u16,
    /// The number of cores that forward.
    pub cores: usize,
}

impl Spread {
    /// Returns the core that receives from a queue of the port. Ports with fewer queues than cores
    /// begin at different cores.
    fn core_of(self, queue: usize) -> usize {
        (queue + usize::from(self.number)) % self.cores
    }

    /// Returns each core's sides of a port with one queue.
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
    /// Takes an interface, or opens `tap:NAME`, `pcap:FILE@RATE` or `pcap-loop:FILE@RATE`. Also
    /// returns why AF_XDP is not used, if it was tried.
    ///
    /// # Errors
    /// If there is no such interface or file, or the process lacks the rights.
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

/// Returns the most bytes of memory that a port needs on `cores` cores.
///
/// # Errors
/// If there is no such interface.
pub fn memory(name: &str, io: Io, cores: usize) -> Result<u64> {
    let Some(index) = interface(name)? else {
        // A capture is read while it is played back.
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

/// The kind of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivePortKind {
    /// An interface.
    Interface,
    /// A TAP device.
    Tap,
    /// A capture.
    Capture,
}

/// Returns the kind of the port with this name.
pub fn kind(name: &str) -> LivePortKind {
    match name {
        _ if name.starts_with(TAP) => LivePortKind::Tap,
        _ if [CAPTURE, CAPTURE_LOOP].iter().any(|kind| name.starts_with(kind)) => {
            LivePortKind::Capture
        }
        _ => LivePortKind::Interface,
    }
}

/// Returns the interface index of a port. Returns `None` for TAP devices and captures.
///
/// # Errors
/// If there is no such interface.
pub fn interface(name: &str) -> Result<Option<u32>> {
    match kind(name) {
        LivePortKind::Interface => interface_index(name).map(Some),
        LivePortKind::Tap | LivePortKind::Capture => Ok(None),
    }
}

/// Fails if an interface is one of these ports already, under this or another name.
///
/// # Errors
/// If the interface is taken.
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
