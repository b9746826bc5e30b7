//! `crc`: cyclic redundancy checks of 1 to 64 bits with any polynomial.
//!
//! The parameters are those of Williams, A Painless Guide to CRC Error Detection Algorithms (1993),
//! with which catalogues describe CRCs.

use wireloom_bits::Bits;

use crate::kinds::no_table;
use crate::registry::{
    METHOD, Method, OffloadKind, ReplyType, StateUse, U32, U64, ValueType, param,
};
use crate::{Config, Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The interface of `crc`.
pub const KIND: OffloadKind = OffloadKind {
    name: "crc",
    has_key: true,
    has_value: false,
    params: &[
        param("width", U32, Some(32), (1, 64), "Bits of the CRC."),
        param("polynomial", U64, Some(0x04c1_1db7), (0, u64::MAX), "Without its leading term."),
        param("initial", U64, Some(u64::MAX), (0, u64::MAX), "Register before the first byte."),
        param(
            "reflected",
            ValueType::Bits(1),
            Some(1),
            (0, 1),
            "1: bytes are taken from the lowest bit up, and the register is reflected at the end.",
        ),
        param("inverted", U64, Some(u64::MAX), (0, u64::MAX), "Bits inverted at the end."),
    ],
    methods: &[Method {
        name: "of",
        args: &[("data", ValueType::Key)],
        reply: ReplyType::One(U64),
        state: StateUse::Pure,
        doc: "The CRC of the data's bytes in network order.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "Cyclic redundancy checks with any polynomial.",
    table: None,
    make: |config| Ok(Box::new(Crc::new(config))),
};

/// An instance of `crc`. It has no state.
#[derive(Clone)]
pub struct Crc {
    width: u32,
    polynomial: u64,
    initial: u64,
    is_reflected: bool,
    inverted: u64,
}

impl Crc {
    /// Creates an instance as declared. Bits of the parameters above the width do not count.
    pub fn new(config: &Config) -> Self {
        let width = config.param("width").low_u64() as u32;
        let [polynomial, initial, inverted] = ["polynomial", "initial", "inverted"]
            .map(|name| config.param(name).low_u64() & u64::MAX >> (64 - width));
        let is_reflected = config.param("reflected").bit(0);
        Self { width, polynomial, initial, is_reflected, inverted }
    }

    /// Returns the CRC of the bytes of `data` in network order. Zero bits pad the front to a whole
    /// number of bytes.
    pub fn of(&self, data: &Bits) -> u64 {
        let mask = u64::MAX >> (64 - self.width);
        let mut crc = self.initial;
        for byte in data.to_bytes() {
            let byte = if self.is_reflected { byte.reverse_bits() } else { byte };
            for bit in (0..8).rev() {
                let top = crc >> (self.width - 1) ^ u64::from(byte >> bit);
                crc = crc << 1 & mask;
                if top & 1 == 1 {
                    crc ^= self.polynomial;
                }
            }
        }
        let crc = if self.is_reflected { reflected(crc, self.width) } else { crc };
        crc ^ self.inverted
    }
}

/// Returns the low `width` bits of a number in reverse order.
pub fn reflected(value: u64, width: u32) -> u64 {
    value.reverse_bits() >> (64 - width)
}

impl Instance for Crc {
    fn call(&mut self, _method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        Bits::new(64, u128::from(self.of(&args[0])))
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        no_table("crc")
    }

    fn unload(&mut self, _key: &EntryKey) -> Result<bool, Refused> {
        no_table("crc")
    }

    fn rows(&self) -> Vec<StateRow> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::config;

    /// CRCs of the catalogue of G. Cook, with the CRC of the bytes `123456789`.
    #[test]
    fn the_crcs_of_the_catalogue_have_their_check_values() {
        for (name, width, polynomial, initial, reflected, inverted, check) in [
            ("CRC-3/ROHC", 3, 0x3, 0x7, 1, 0, 0x6),
            ("CRC-5/USB", 5, 0x05, 0x1f, 1, 0x1f, 0x19),
            ("CRC-8/SMBUS", 8, 0x07, 0, 0, 0, 0xf4),
            ("CRC-10/ATM", 10, 0x233, 0, 0, 0, 0x199),
            ("CRC-16/ARC", 16, 0x8005, 0, 1, 0, 0xbb3d),
            ("CRC-16/IBM-3740", 16, 0x1021, 0xffff, 0, 0, 0x29b1),
            ("CRC-16/XMODEM", 16, 0x1021, 0, 0, 0, 0x31c3),
            ("CRC-16/RIELLO", 16, 0x1021, 0xb2aa, 1, 0, 0x63d0),
            ("CRC-24/OPENPGP", 24, 0x86_4cfb, 0xb7_04ce, 0, 0, 0x21_cf02),
            ("CRC-32/ISCSI", 32, 0x1edc_6f41, 0xffff_ffff, 1, 0xffff_ffff, 0xe306_9283),
            ("CRC-32/BZIP2", 32, 0x04c1_1db7, 0xffff_ffff, 0, 0xffff_ffff, 0xfc89_1918),
            ("CRC-64/XZ", 64, 0x42f0_e1eb_a9ea_3693, u64::MAX, 1, u64::MAX, 0x995d_c9bb_df19_39fa),
        ] {
            let params = [
                ("width", width),
                ("polynomial", polynomial),
                ("initial", initial),
                ("reflected", reflected),
                ("inverted", inverted),
            ];
            let crc = Crc::new(&config("crc", Some(&[("", 72)]), None, &params));
            assert_eq!(crc.of(&Bits::from_bytes(b"123456789")), check, "{name}");
        }
    }

    #[test]
    fn without_parameters_it_is_the_crc_of_ethernet() {
        let crc = Crc::new(&config("crc", Some(&[("", 72)]), None, &[]));
        assert_eq!(crc.of(&Bits::from_bytes(b"123456789")), 0xcbf4_3926);
    }
}
