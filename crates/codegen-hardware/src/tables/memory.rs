//! The contents of a memory.

use std::io::{self, Write};

use wireloom_bits::Bits;

use super::shape::MemoryShape;

/// The contents of a memory, initially all zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    shape: MemoryShape,
    /// Little-endian 64-bit words. Each entry occupies as many words as its width needs.
    words: Vec<u64>,
}

impl Memory {
    pub(super) fn new(shape: MemoryShape) -> Self {
        Self { shape, words: vec![0; shape.entries as usize * shape.width.div_ceil(64) as usize] }
    }

    /// Returns the shape of the memory.
    pub fn shape(&self) -> &MemoryShape {
        &self.shape
    }

    /// Returns an entry.
    pub fn get(&self, address: u32) -> Bits {
        let stride = self.shape.width.div_ceil(64) as usize;
        Bits::from_words(self.shape.width, &self.words[address as usize * stride..][..stride])
    }

    /// Returns the low 64 bits of an entry.
    pub(super) fn low(&self, address: u32) -> u64 {
        self.words[address as usize * self.shape.width.div_ceil(64) as usize]
    }

    pub(super) fn set(&mut self, address: u32, entry: &Bits) {
        let stride = self.shape.width.div_ceil(64) as usize;
        for (to, from) in
            self.words[address as usize * stride..][..stride].iter_mut().zip(entry.words())
        {
            *to = from;
        }
    }

    /// Returns the entries of a burst, the first in the least significant bits.
    pub fn burst(&self, address: u32) -> Bits {
        let first = address * self.shape.burst;
        let entries = (first..first + self.shape.burst).map(|address| self.get(address));
        entries.reduce(|low, high| high.concat(&low)).expect("a burst has entries")
    }

    /// Writes the entries of a burst.
    pub fn set_burst(&mut self, address: u32, data: &Bits) {
        let (width, burst) = (self.shape.width, self.shape.burst);
        for entry in 0..burst {
            self.set(address * burst + entry, &data.slice(entry * width, width));
        }
    }

    /// Writes the contents in the format of `$readmemh`, one burst per line. Only non-zero lines
    /// are written, each sequence after its address.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_hex(&self, to: &mut dyn Write) -> io::Result<()> {
        let digits = (self.shape.width * self.shape.burst).div_ceil(4) as usize;
        let mut next = None;
        for line in 0..self.shape.entries / self.shape.burst {
            let data = self.burst(line);
            if data.is_zero() {
                continue;
            }
            if next != Some(line) {
                writeln!(to, "@{line:x}")?;
            }
            writeln!(to, "{data:0digits$x}")?;
            next = Some(line + 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(width: u32, entries: u32, burst: u32) -> Memory {
        Memory::new(MemoryShape { name: "memory", entries, width, burst })
    }

    #[test]
    fn bursts_have_their_first_entry_below() {
        let mut memory = memory(18, 8, 2);
        for (address, entry) in [(4, 0x20001), (5, 0x3ffff), (7, 1)] {
            memory.set(address, &Bits::new(18, entry));
        }
        assert_eq!(memory.burst(2), Bits::new(36, 0x3ffff << 18 | 0x20001));
        let mut text = Vec::new();
        memory.write_hex(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "@2\nffffe0001\n000040000\n");
        memory.set_burst(2, &Bits::new(36, 5 << 18 | 6));
        assert_eq!((memory.low(4), memory.low(5)), (6, 5));
    }

    #[test]
    fn entries_may_be_wider_than_a_machine_word() {
        let mut memory = memory(264, 3, 1);
        let entry = Bits::new(264, 5).shl(255);
        memory.set(1, &entry);
        assert_eq!(
            (memory.get(0), memory.get(1), memory.burst(1)),
            (Bits::zero(264), entry.clone(), entry)
        );
    }
}
