//! Table entries and counters over the control port, through the registers of `wl_axil_control`.

use wireloom_bits::Bits;

use super::error::Fault;
use super::run::{Access, Simulation};

const DATA_BITS: u32 = 0x008;
const STATUS: u32 = 0x00c;
const TARGET: u32 = 0x010;
const ADDRESS: u32 = 0x014;
const COMMAND: u32 = 0x018;
const DATA: u32 = 0x100;

const READ: u32 = 1;
const WRITE: u32 = 2;
const BUSY: u32 = 1;
const FAILED: u32 = 2;

/// Number of entries whose accesses are queued together.
const BATCH: usize = 64;

impl Simulation {
    /// Reads entries of a control target. Each entry has the width of the control bus.
    ///
    /// # Errors
    /// If the machine fails, or the target does not exist.
    pub fn read_entries(&mut self, target: u8, addresses: &[u32]) -> Result<Vec<Bits>, Fault> {
        self.read_entries_at(0, target, addresses)
    }

    /// Reads entries through the registers that begin at byte `base`.
    pub(super) fn read_entries_at(
        &mut self,
        base: u32,
        target: u8,
        addresses: &[u32],
    ) -> Result<Vec<Bits>, Fault> {
        let read = |address| Access::Read { address: base + address };
        let write = |address, data| Access::Write { address: base + address, data };
        let bits = self.control(&[read(DATA_BITS)])?[0];
        let words = bits.div_ceil(32);
        let mut entries = Vec::with_capacity(addresses.len());
        self.control(&[write(TARGET, target.into())])?;
        for addresses in addresses.chunks(BATCH) {
            let mut accesses = Vec::new();
            for &address in addresses {
                // A read of DATA waits until the command is done, so STATUS tells of this command.
                accesses.extend([write(ADDRESS, address), write(COMMAND, READ)]);
                accesses.extend((0..words).map(|word| read(DATA + 4 * word)));
                accesses.push(read(STATUS));
            }
            let answers = self.control(&accesses)?;
            for answer in answers.chunks(words as usize + 3) {
                let (status, data) = answer[2..].split_last().expect("STATUS comes last");
                succeeded(target, *status)?;
                let value: Vec<u64> = data
                    .chunks(2)
                    .map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32)
                    .collect();
                entries.push(Bits::from_words(bits, &value));
            }
        }
        Ok(entries)
    }

    /// Writes an entry of a control target.
    ///
    /// # Errors
    /// Returns the errors of [`read_entries`](Self::read_entries).
    pub fn write_entry(&mut self, target: u8, address: u32, value: &Bits) -> Result<(), Fault> {
        self.write_entry_at(0, target, address, value)
    }

    /// Writes an entry through the registers that begin at byte `base`.
    pub(super) fn write_entry_at(
        &mut self,
        base: u32,
        target: u8,
        address: u32,
        value: &Bits,
    ) -> Result<(), Fault> {
        let write = |address, data| Access::Write { address: base + address, data };
        let mut accesses = vec![write(TARGET, target.into()), write(ADDRESS, address)];
        let words = (0..).zip(value.words()).flat_map(|(index, word)| {
            [(2 * index, word as u32), (2 * index + 1, (word >> 32) as u32)]
        });
        let words = words.take(value.width().div_ceil(32) as usize);
        accesses.extend(words.map(|(index, word)| write(DATA + 4 * index, word)));
        accesses.push(write(COMMAND, WRITE));
        self.control(&accesses)?;
        // A write waits while its target pauses.
        loop {
            let status = self.control(&[Access::Read { address: base + STATUS }])?[0];
            if status & BUSY == 0 {
                return succeeded(target, status);
            }
        }
    }
}

/// Returns whether the last command succeeded, by the value of STATUS after it.
fn succeeded(target: u8, status: u32) -> Result<(), Fault> {
    match status & FAILED {
        0 => Ok(()),
        _ => Err(Fault(format!("control target {target} does not answer"))),
    }
}
