//! Packets of an engine in the kernel, passed on to this process while somebody watches.
//!
//! For that time other programs take the place of the engine's own: the same engine with the same
//! maps, which also write the packets of interest into a ring. A packet is executed by one or the
//! other, and nothing of a watch stays in the programs that nobody watches.

use std::os::fd::OwnedFd;

use wireloom_codegen_c::bpf::Watch;
use wireloom_ir::{Reason, ReasonSetId, Verdict};
use wireloom_machine::{Program, Result};

use crate::engine::failed;
use crate::kernel::{self, MapType, Shape};
use crate::live::{InKernel, TO_CPU};
use crate::ring::Ring;

/// The bytes of packets that wait.
const RING: usize = 8 << 20;
/// Bytes of an event before the packet (`struct wl_event`).
const EVENT: usize = 56;

/// The programs that take the place of the engine's own.
pub struct WatchedPrograms(pub(crate) Vec<OwnedFd>);

/// The packets that they pass on.
pub struct Events {
    ring: Ring,
    lost: OwnedFd,
}

/// Where a packet was passed on (`WL_POINT_...`).
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
    /// At the end of its way, whatever became of it.
    End = 4,
}

impl Place {
    const ALL: [Self; 5] = [Self::In, Self::Out, Self::Cpu, Self::Drop, Self::End];

    /// Its bit in [`Watch::points`].
    pub fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A packet that was passed on.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where.
    pub place: Place,
    /// The kernel's monotonic clock at its arrival.
    pub now_ns: u64,
    /// Its number among those of this processor.
    pub sequence: u64,
    /// The processor that executed it.
    pub processor: u32,
    /// The port that it is sent to, at [`Place::Out`]; elsewhere the one on which it came in.
    pub port: u16,
    /// What became of it; none on arrival, or if nothing did.
    pub verdict: Option<Verdict>,
    /// Its bytes.
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
    /// Passes on the packets that are there, at most so many. Returns how many there were.
    pub fn read(&mut self, most: usize, mut each: impl FnMut(Event)) -> usize {
        self.ring.read(most, |record| {
            if let Some(event) = Event::read(record) {
                each(event);
            }
        })
    }

    /// How many packets there was no room for.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn lost(&self) -> Result<u64> {
        let mut count = [0; 8];
        let found = kernel::find(&self.lost, &0u32.to_ne_bytes(), &mut count);
        found.map_err(|error| failed("the count of lost packets", &error, ""))?;
        Ok(u64::from_ne_bytes(count))
    }
}

impl InKernel {
    /// Compiles and loads programs that pass packets on. `program` is the one of the engine.
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
