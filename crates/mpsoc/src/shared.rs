//! The shared memory: its contents and its timing.

use wireloom_isa::{Access, Fault};
use wireloom_sim::parts::memory::{Direction, Memory};
use wireloom_sim::stats::Record;
use wireloom_sim::{SpecError, Time};

use super::context::Store;
use super::mpe::SHARED;
use super::spec::SharedSpec;

#[derive(Clone, Debug)]
pub(super) struct SharedMemory {
    bytes: Vec<u8>,
    timing: Memory,
}

impl SharedMemory {
    /// A memory that begins with these variables. Their addresses lie within it. All other bytes
    /// are zero.
    pub(super) fn new(spec: &SharedSpec, variables: &[(u32, Vec<u8>)]) -> Result<Self, SpecError> {
        let timing = Memory::new(spec.timing).map_err(|error| error.within("memory.timing"))?;
        let mut bytes = vec![0; spec.bytes as usize];
        for (address, values) in variables {
            bytes[(address - SHARED) as usize..][..values.len()].copy_from_slice(values);
        }
        Ok(Self { bytes, timing })
    }

    /// Executes an access of a thread. Returns the old value and the completion time. Accesses take
    /// effect in the order of their arrival.
    ///
    /// # Errors
    /// There is no memory at the address.
    pub(super) fn access(
        &mut self,
        now: Time,
        access: Access,
        store: Store,
    ) -> Result<(u32, Time), Fault> {
        let (begin, size) = ((access.address - SHARED) as usize, access.size.bytes() as usize);
        let place = self.bytes.get_mut(begin..begin + size).ok_or(Fault::Nothing)?;
        let old = place.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        if let Store::Value(value) | Store::Swap(value) = store {
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let direction = if store == Store::Nothing { Direction::Read } else { Direction::Write };
        Ok((old, self.timing.request(now, direction, u64::from(access.address), size as u64)))
    }

    /// Reads a line for a cache. Returns the completion time.
    pub(super) fn line(&mut self, now: Time, address: u32, bytes: u32) -> Time {
        self.timing.request(now, Direction::Read, u64::from(address), u64::from(bytes))
    }

    /// `count` words from word `first` on.
    pub(super) fn words(&self, first: u64, count: usize) -> Vec<u32> {
        let (words, _) = self.bytes.as_chunks::<4>();
        let from = usize::try_from(first).unwrap_or(usize::MAX).min(words.len());
        words[from..].iter().take(count).map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// Restricts the record to the time from now on.
    pub(super) fn begin_to_count(&mut self, now: Time) {
        self.timing.begin_to_count(now);
    }

    /// The numbers of bytes read and written.
    pub(super) fn moved(&self) -> [u64; 2] {
        self.timing.moved()
    }

    pub(super) fn record(&self, now: Time) -> Record {
        self.timing.record(now)
    }
}
