//! Checks of keys by tables of 256 words, which all offloads share.

/// A check of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// CRC-32 of IEEE 802.3.
    Ieee,
    /// CRC-32C.
    Castagnoli,
}

impl Check {
    /// The number of checks.
    pub const COUNT: usize = 2;

    /// Returns the words of its table: the check of each byte.
    pub fn table(self) -> Vec<u32> {
        // The reflected polynomial.
        let polynomial = match self {
            Self::Ieee => 0xedb8_8320,
            Self::Castagnoli => 0x82f6_3b78,
        };
        let step =
            |check: u32, _| if check & 1 == 1 { check >> 1 ^ polynomial } else { check >> 1 };
        (0..256).map(|byte| (0..8).fold(byte, step)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Check;

    /// The check values of the catalogue of parametrised CRC algorithms.
    #[test]
    fn tables_give_the_checks_of_the_catalogue() {
        let check = |check: Check| {
            let table = check.table();
            let sum = b"123456789"
                .iter()
                .fold(u32::MAX, |sum, byte| table[usize::from(sum as u8 ^ byte)] ^ sum >> 8);
            !sum
        };
        assert_eq!(check(Check::Ieee), 0xcbf4_3926);
        assert_eq!(check(Check::Castagnoli), 0xe306_9283);
    }
}
