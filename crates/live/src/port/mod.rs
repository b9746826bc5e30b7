//! Ports: an interface, a TAP device or a capture; what it receives and what is sent on it.

mod packet;
mod replay;
mod tap;
mod xdp;

use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};
use wireloom_machine::{Error, Result};
use wireloom_net::Frame;

use crate::system::interface_index;

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
    /// Takes a frame that is to be sent.
    fn take(&mut self, frame: &[u8]);

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

/// Both sides of a port, until it is closed.
pub struct Port {
    /// The name of the interface, or what was given instead.
    pub name: String,
    /// The index of an interface of which the kernel is the control plane.
    pub index: Option<u32>,
    /// How it exchanges frames.
    pub exchange: Exchange,
    /// What arrives. It is closed first: then the kernel gets all packets again.
    pub receiver: Box<dyn Receive>,
    /// What is sent.
    pub transmitter: Box<dyn Transmit>,
}

impl Port {
    /// Takes an interface as port `number`, or opens `tap:NAME`, `pcap:FILE@RATE` or
    /// `pcap-loop:FILE@RATE`. Returns also why AF_XDP is not used, where it was tried.
    ///
    /// # Errors
    /// If there is no such interface or file, or without the rights.
    pub fn open(name: &str, number: u16, io: Io) -> Result<(Self, Option<Error>)> {
        if let Some(device) = name.strip_prefix(TAP) {
            return Ok((tap::open(name, device, number)?, None));
        }
        if let Some(what) = name.strip_prefix(CAPTURE) {
            return Ok((replay::open(name, what, number, replay::Times::Once)?, None));
        }
        if let Some(what) = name.strip_prefix(CAPTURE_LOOP) {
            return Ok((replay::open(name, what, number, replay::Times::Endless)?, None));
        }
        let index = interface_index(name)?;
        match io {
            Io::Xdp => Ok((xdp::open(name, index, number)?, None)),
            Io::Packet => Ok((packet::open(name, index, number)?, None)),
            Io::Kernel => unreachable!("the engine is in the kernel, which has the ports"),
            Io::Auto => match xdp::open(name, index, number) {
                Ok(port) => Ok((port, None)),
                Err(why) => Ok((packet::open(name, index, number)?, Some(why))),
            },
        }
    }
}

const TAP: &str = "tap:";
const CAPTURE: &str = "pcap:";
const CAPTURE_LOOP: &str = "pcap-loop:";

/// Returns the index of the interface that a port is; `None` for TAP devices and captures.
///
/// # Errors
/// If there is no such interface.
pub fn interface(name: &str) -> Result<Option<u32>> {
    match [TAP, CAPTURE, CAPTURE_LOOP].iter().any(|kind| name.starts_with(kind)) {
        true => Ok(None),
        false => interface_index(name).map(Some),
    }
}
