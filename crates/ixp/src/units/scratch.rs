//! The scratchpad: a small memory on the chip that adds and changes bits in one operation.

use wireloom_isa::microengine::Operation;

use super::queue::{Class, Queues};
use super::sram::{arithmetic, modify, range, range_mut};
use super::{Refused, Served, Started};
use crate::request::Pool;
use crate::spec::ScratchSpec;

/// Rings of words in it (version 2).
pub const RINGS: usize = 16;
/// A ring is full when fewer words than a command moves have room.
const ROOM: usize = crate::request::MAX_WORDS;

/// A ring: words that leave in the order in which they came.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    /// The first word, and the number of words; 0 for a ring that was not set up.
    base: usize,
    size: usize,
    /// The word that leaves next, from the base, and how many there are.
    head: usize,
    count: usize,
}

impl Ring {
    fn put(&mut self, words: &mut [u32], data: &[u32], number: usize) -> Result<(), Refused> {
        if self.count + data.len() > self.size {
            return Err(Refused(format!(
                "ring {number} of the scratchpad holds {} words of {}, and {} more are put: ask \
                 ring{number}_full before",
                self.count,
                self.size,
                data.len()
            )));
        }
        for word in data {
            words[self.base + (self.head + self.count) % self.size] = *word;
            self.count += 1;
        }
        Ok(())
    }

    /// Words that are not there are 0.
    fn get(&mut self, words: &[u32], data: &mut [u32]) {
        for word in data {
            *word = 0;
            if self.count > 0 {
                *word = words[self.base + self.head];
                self.head = (self.head + 1) % self.size;
                self.count -= 1;
            }
        }
    }
}

fn ring(rings: &mut [Ring], number: usize) -> Result<&mut Ring, Refused> {
    let ring = rings.get_mut(number).filter(|ring| ring.size > 0);
    ring.ok_or_else(|| {
        Refused(format!("ring {number} of the scratchpad was not set up: write its base"))
    })
}

/// The scratchpad.
#[derive(Clone, Debug)]
pub struct Scratch {
    spec: ScratchSpec,
    words: Vec<u32>,
    rings: [Ring; RINGS],
    /// Commands that wait.
    pub queues: Queues,
    free: u64,
    /// What it has done.
    pub served: Served,
}

impl Scratch {
    /// Creates a memory of zeros.
    pub fn new(spec: ScratchSpec) -> Self {
        Self {
            spec,
            words: vec![0; spec.bytes as usize / 4],
            rings: [Ring::default(); RINGS],
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

    /// Sets a ring up by the value of its register: bits 31 and 30 are the size (128, 256, 512 or
    /// 1,024 words), the others the address of the first byte.
    ///
    /// # Errors
    /// If it does not lie within the memory.
    pub fn set_ring(&mut self, number: usize, value: u32) -> Result<(), Refused> {
        let size = 128_usize << (value >> 30);
        let base = (value & 0x3fff_ffff) as usize / 4;
        if !base.is_multiple_of(size) || base + size > self.words.len() {
            return Err(Refused(format!(
                "ring {number} of {size} words at byte {} is not at a multiple of its size in the \
                 scratchpad of {} bytes",
                base * 4,
                self.words.len() * 4
            )));
        }
        self.rings[number % RINGS] = Ring { base, size, head: 0, count: 0 };
        Ok(())
    }

    /// Rings 0 to 3 that have no room for a whole command, a bit each.
    pub fn full_rings(&self) -> u8 {
        let full = |ring: &Ring| ring.size > 0 && ring.size - ring.count < ROOM;
        (0..4).filter(|number| full(&self.rings[*number])).map(|number| 1 << number).sum()
    }

    /// Begins what can begin in this cycle.
    ///
    /// # Errors
    /// If a command asks for an address that does not exist.
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
                let (words, data) = (&mut self.words, &request.data[..count]);
                ring(&mut self.rings, address)?.put(words, data, address)?;
            }
            Operation::Get => {
                modifies = false;
                let count = usize::from(request.count);
                let data = &mut request.data[..count];
                ring(&mut self.rings, address)?.get(&self.words, data);
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
