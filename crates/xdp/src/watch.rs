//! Passes packets of an engine in the kernel on to this process while a watch is active.
//!
//! During a watch other programs replace the engine's own: the same engine with the same maps,
//! which also writes the packets of interest into a ring. Each packet is executed by one program or
//! the other. Without a watch the programs contain no code for it.

use std::os::fd::OwnedFd;

use wireloom_codegen_c::bpf::Watch;
use wireloom_ir::{Reason, ReasonSetId, Verdict};
use wireloom_machine::{Program, Result};

use crate::engine::failed;
use crate::kernel::{self, MapType, Shape};
use crate::live::{InKernel, TO_CPU};
use crate::ring::Ring;

/// The bytes of the ring, where packets wait.
const RING: usize = 8 << 20;
/// Bytes of an event before the packet (`struct wl_event`).
const EVENT: usize = 56;

/// The programs that replace the engine's own.
pub struct WatchedPrograms(pub(crate) Vec<OwnedFd>);

/// The packets that watched programs pass on.
pub struct Events {
    ring: Ring,
    lost: OwnedFd,
}

/// The place where a packet was passed on (`WL_POINT_...`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Place {
    /// On arrival.
    In = 0,
    /// Sent.
    Out = 1,
    /// On its way to the kernel, as it arrived.
    Cpu = 2,
    /// Dropped.
    Drop = 3,
    /// At the end of its processing, with any verdict.
    End = 4,
}

impl Place {
    const ALL: [Self; 5] = [Self::In, Self::Out, Self::Cpu, Self::Drop, Self::End];

    /// Returns the place's bit in [`Watch::points`].
    pub fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A packet that was passed on.
#[derive(Clone, Debug)]
pub struct Event {
    pub place: Place,
    /// The arrival time by the kernel's monotonic clock, in nanoseconds.
    pub now_ns: u64,
    /// The packet's number among the packets of its processor.
    pub sequence: u64,
    /// The processor that executed it.
    pub processor: u32,
    /// The egress port at [`Place::Out`], else the ingress port.
    pub port: u16,
    /// The verdict; none on arrival, or if the packet got none.
    pub verdict: Option<Verdict>,
    pub bytes: Vec<u8>,
}

impl Event {
    fn read(record: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_ne_bytes(record.get(at..at + 4)?.try_into().ok()?));
        let place = *Place::ALL.get(word(16)? as usize)?;
        let (egress, window, rest) = (word(28)?, word(32)? as usize, word(36)? as usize);
        let front = EVENT..EVENT + window;
        let back = EVENT + word(40)? as usize;
        let reason = Reason::Program(ReasonSetId(word(48)?), word(52)? as u16);
        let verdict = match word(44)? {
            _ if place == Place::In => None,
            1 => Some(Verdict::Sent { port: egress as u16 }),
            TO_CPU => Some(Verdict::ToCpu(reason)),
            3 => Some(Verdict::Dropped(reason)),
            4 => Some(Verdict::Dropped(Reason::Runaway)),
            _ => None,
        };
        Some(Self {
            place,
            now_ns: long(0)?,
            sequence: long(8)?,
            processor: word(20)?,
            port: word(24)? as u16,
            verdict,
            bytes: [record.get(front)?, record.get(back..back + rest)?].concat(),
        })
    }
}

impl Events {
    /// Passes on up to `most` available packets. Returns the number of records that were read.
    pub fn read(&mut self, most: usize, mut each: impl FnMut(Event)) -> usize {
        self.ring.read(most, |record| {
            if let Some(event) = Event::read(record) {
                each(event);
            }
        })
    }

    /// Returns the number of packets that were lost because the ring was full.
    ///
    /// # Errors
    /// If the kernel does not return the count.
    pub fn lost(&self) -> Result<u64> {
        let mut count = [0; 8];
        let found = kernel::find(&self.lost, &0u32.to_ne_bytes(), &mut count);
        found.map_err(|error| failed("the count of lost packets", &error, ""))?;
        Ok(u64::from_ne_bytes(count))
    }
}

impl InKernel {
    /// Compiles and loads programs that pass packets on. `program` is the engine's.
    ///
    /// # Errors
    /// If the compiler fails, the verifier refuses the result, or without the rights.
    pub fn watch(&self, program: &Program, watch: &Watch) -> Result<(WatchedPrograms, Events)> {
        let object = self.loader.watched(program, watch)?;
        let problem = |error: std::io::Error| failed("a map of captures and traces", &error, "");
        let ring = Ring::new("wl_ring", RING).map_err(problem)?;
        let shape = Shape { map_type: MapType::Array, key: 4, value: 8, entries: 1, flags: 0 };
        let lost = kernel::create_map("wl_lost", shape, None, None).map_err(problem)?;
        let more = [("wl_map_ring", ring.map()), ("wl_map_lost", &lost)];
        let programs = self.load(Some(&object), &more)?;
        Ok((WatchedPrograms(programs), Events { ring, lost }))
    }
}

#[cfg(test)]
mod tests;
