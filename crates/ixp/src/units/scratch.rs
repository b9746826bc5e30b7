//! The scratchpad: a small on-chip memory with atomic additions and bit operations.

use wireloom_isa::microengine::Operation;

use super::queue::{Class, Queues};
use super::rings::{Rings, Scale};
use super::sram::{arithmetic, modify, range, range_mut};
use super::{Refused, Served, Started};
use crate::request::Pool;
use crate::spec::ScratchSpec;

#[derive(Clone, Debug)]
pub struct Scratch {
    spec: ScratchSpec,
    words: Vec<u32>,
    rings: Rings,
    /// Commands waiting for service.
    pub queues: Queues,
    free: u64,
    /// Counts of the unit's work.
    pub served: Served,
}

impl Scratch {
    /// Creates a memory of zeros.
    pub fn new(spec: ScratchSpec) -> Self {
        Self {
            spec,
            words: vec![0; spec.bytes as usize / 4],
            rings: Rings::new(Scale::SCRATCH),
            queues: Queues::new(spec.queue, Class::Ordered),
            free: 0,
            served: Served::default(),
        }
    }

    /// The contents.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The contents, for a loader.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Sets up a ring from its register value.
    ///
    /// # Errors
    /// If the ring does not lie within the memory.
    pub fn set_ring(&mut self, number: usize, value: u32) -> Result<(), Refused> {
        self.rings.set(number, value, self.words.len())
    }

    /// A bit mask of rings 0 to 3, set where a ring has no room for a whole command.
    pub fn full_rings(&self) -> u8 {
        self.rings.full()
    }

    /// Returns the counts of the unit at a cycle.
    pub fn served_at(&self, now: u64) -> Served {
        self.served.at(now, self.free)
    }

    /// Starts the command that can begin in this cycle.
    ///
    /// # Errors
    /// If a command accesses an address that does not exist.
    pub fn cycle(&mut self, now: u64, pool: &mut Pool) -> Result<Option<Started>, Refused> {
        if now < self.free {
            return Ok(None);
        }
        let Some(handle) = self.queues.take(pool, |_| Some(0)) else { return Ok(None) };
        let request = &mut pool[handle];
        let address = request.address as usize;
        let mut modifies = true;
        match request.operation {
            Operation::Read => {
                modifies = false;
                let words = range(&self.words, address, request.count)?;
                request.data[..words.len()].copy_from_slice(words);
            }
            Operation::Write => {
                modifies = false;
                let count = usize::from(request.count);
                range_mut(&mut self.words, address, request.count)?
                    .copy_from_slice(&request.data[..count]);
            }
            Operation::Bits(bits) => {
                let word = &mut range_mut(&mut self.words, address, 1)?[0];
                request.data[0] = modify(word, bits, request.data[0]);
            }
            Operation::Put => {
                modifies = false;
                let count = usize::from(request.count);
                self.rings.put(&mut self.words, address, &request.data[..count])?;
            }
            Operation::Get => {
                modifies = false;
                let count = usize::from(request.count);
                self.rings.get(&self.words, address, &mut request.data[..count])?;
            }
            operation => {
                let word = &mut range_mut(&mut self.words, address, 1)?[0];
                let before = arithmetic(word, operation, request.data[0]).ok_or_else(|| {
                    Refused(format!("the scratchpad does not know {operation:?}"))
                })?;
                request.data[0] = before;
            }
        }
        let words = u64::from(request.words_in.max(request.words_out).max(1));
        let (interval, modify) =
            (u64::from(self.spec.word_cycles), u64::from(self.spec.modify_cycles));
        let extra = if modifies { modify } else { 0 };
        self.free = now + words * interval + extra;
        self.served.commands += 1;
        self.served.words += words;
        self.served.busy += self.free - now;
        let first = if request.is_write() {
            now + (words - 1) * interval + u64::from(self.spec.write_cycles) + extra
        } else {
            now + u64::from(self.spec.access_cycles) + extra
        };
        Ok(Some(Started { handle, first, interval, granule: 1 }))
    }
}
