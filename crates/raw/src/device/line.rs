//! The line of a card: the time that packets take on it, and the framing of packets on the
//! networks.
//!
//! On a network a packet is a word `port << 16 | length in bytes`, then its bytes in words, the
//! first byte in the highest bits. Zeros fill the last word.

/// The rate of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRate {
    /// Bits a second. Only the packets' bytes count.
    pub bits_per_second: u64,
    /// The clock of the chip, in hertz.
    pub clock_hertz: u64,
}

impl LineRate {
    /// A line on which packets take no time: the chip sets the pace.
    pub const UNLIMITED: Self = Self { bits_per_second: 0, clock_hertz: 1 };

    /// Whether packets take time.
    fn is_limited(self) -> bool {
        self.bits_per_second > 0
    }
}

/// Times on a line. They are exact: fractions of cycles add up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineClock {
    rate: LineRate,
    /// When the line is free, in cycles times the rate.
    free: u128,
}

impl LineClock {
    pub fn new(rate: LineRate) -> Self {
        Self { rate, free: 0 }
    }

    /// Occupies the line for some bytes, from cycle `from` at the earliest. Returns the cycle in
    /// which they end.
    pub fn take(&mut self, from: u64, bytes: usize) -> u64 {
        if !self.rate.is_limited() {
            return from;
        }
        let rate = u128::from(self.rate.bits_per_second);
        let time = 8 * bytes as u128 * u128::from(self.rate.clock_hertz);
        self.free = self.free.max(u128::from(from) * rate) + time;
        self.free.div_ceil(rate) as u64
    }
}

/// Returns the words of a packet.
///
/// # Panics
/// If the packet has more than 65,535 bytes.
pub fn framed(port: u16, bytes: &[u8]) -> Vec<u32> {
    let length = u16::try_from(bytes.len()).expect("a packet of at most 65,535 bytes");
    let mut words = vec![u32::from(port) << 16 | u32::from(length)];
    words.extend(words_of(bytes));
    words
}

/// Returns bytes as words, the first byte in the highest bits. Zeros fill the last word.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_be_bytes(word)
    })
}

/// Returns the number of words after the first one of a packet, from its first word.
pub(super) fn words_after(first: u32) -> usize {
    (first as usize & 0xffff).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_framed_by_port_and_length() {
        assert_eq!(framed(3, &[1, 2, 3, 4, 5]), [0x3_0005, 0x0102_0304, 0x0500_0000]);
        assert_eq!(framed(0, &[]), [0]);
        assert_eq!(words_after(0x3_0005), 2);
    }

    #[test]
    fn fractions_of_cycles_add_up() {
        // 64 bytes at 1 Gb/s and 425 MHz take 217.6 cycles.
        let rate = LineRate { bits_per_second: 1_000_000_000, clock_hertz: 425_000_000 };
        let mut line = LineClock::new(rate);
        let ends: Vec<u64> = (0..5).map(|_| line.take(0, 64)).collect();
        assert_eq!(ends, [218, 436, 653, 871, 1088]);
        assert_eq!(line.take(2000, 64), 2218, "an idle line begins when the packet does");
    }
}
