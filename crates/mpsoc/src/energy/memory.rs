//! Memories of any size, composed of arrays.

use wireloom_power::{Array, Process, RangeError, Reading};
use wireloom_sim::Energy;

/// The maximum number of words of an array. A larger memory has several arrays, of which one is
/// accessed (assumed).
const ARRAY_WORDS: u64 = 1 << 16;
/// The maximum number of bits of a row of words. Wider words lie in several arrays side by side.
const ARRAY_BITS: u32 = 512;

/// A memory with one port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    /// The energy of a read and of a write of a word.
    pub(super) read: Energy,
    pub(super) write: Energy,
    /// The total width of the transistors that leak, in micrometres of the process.
    pub(super) leaking_um: f64,
}

impl Memory {
    /// A memory of `words` words, at least 1, of `bits` bits, at least 1, in `banks` banks of equal
    /// size.
    pub(super) fn new(
        process: Process,
        words: u64,
        bits: u32,
        banks: u64,
    ) -> Result<Self, RangeError> {
        let in_bank = words.div_ceil(banks).max(1);
        let arrays = in_bank.div_ceil(ARRAY_WORDS);
        let side_by_side = bits.div_ceil(ARRAY_BITS).max(1);
        let array = Array::new(
            process,
            in_bank.div_ceil(arrays) as u32,
            bits.div_ceil(side_by_side).max(1),
            1,
            Reading::Sensed,
        )?;
        let of_word = |energy: Energy| Energy(energy.0 * u128::from(side_by_side));
        let all = (arrays * banks) as f64 * f64::from(side_by_side);
        Ok(Self {
            read: of_word(array.read()),
            write: of_word(array.write()),
            leaking_um: all * array.leaking_um(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_large_memories_are_sums_of_arrays() {
        let process = Process::new(130, 1200).expect("a process");
        let of = |words, bits, banks| Memory::new(process, words, bits, banks).expect("a memory");
        let (one, wide) = (of(1024, 512, 1), of(1024, 1024, 1));
        assert_eq!(wide.read.0, 2 * one.read.0);
        assert_eq!(wide.write.0, 2 * one.write.0);
        let (large, two) = (of(1 << 17, 32, 1), of(1 << 17, 32, 2));
        assert_eq!(large, two, "two arrays of 65,536 words either way");
        assert!((large.leaking_um / of(1 << 16, 32, 1).leaking_um - 2.0).abs() < 1e-9);
        assert_eq!(of(16 * 4096, 32, 16).read, of(4096, 32, 1).read);
        assert!(of(1 << 28, 256, 1).read > Energy(0));
    }
}
