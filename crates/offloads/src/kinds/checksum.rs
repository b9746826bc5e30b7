//! `checksum`: the Internet checksum (RFC 1071) over a range of the packet.

use wireloom_bits::Bits;

use crate::kinds::no_table;
use crate::registry::{Delay, Extent, METHOD, Method, OffloadKind, ReplyType, StateUse, U16};
use crate::{Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The interface of `checksum`.
pub const KIND: OffloadKind = OffloadKind {
    name: "checksum",
    has_key: false,
    has_value: false,
    params: &[],
    methods: &[Method {
        name: "sum",
        args: &[("offset", U16), ("length", U16), ("initial", U16)],
        reply: ReplyType::One(U16),
        state: StateUse::Pure,
        reads_packet: true,
        extent: Extent::Range { offset: 0, length: 1 },
        delay: Delay::Variable,
        doc: "Returns the ones'-complement sum (RFC 1071), not inverted, of `initial` and \
              `length` bytes of the packet from byte `offset`. Bytes past the end count as zero; \
              an odd last byte is padded with zero.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "The Internet checksum over a range of the packet, header window and payload alike.",
    table: None,
    make: |_| Ok(Box::new(Checksum)),
};

/// An instance of `checksum`. It has no state.
#[derive(Clone)]
pub struct Checksum;

/// Returns the ones'-complement sum of `initial` and `length` bytes from byte `offset`, not
/// inverted (RFC 1071, section 1). Words begin at `offset`. Bytes past the end count as zero, and
/// an odd last byte is the upper half of its word.
pub fn sum(bytes: &[u8], offset: u16, length: u16, initial: u16) -> u16 {
    let start = usize::from(offset).min(bytes.len());
    let end = (usize::from(offset) + usize::from(length)).min(bytes.len());
    let words = bytes[start..end].chunks(2);
    // There are at most 32,768 words of 16 bits, so the sum does not overflow.
    let mut total: u32 = words
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
        .sum::<u32>()
        + u32::from(initial);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

impl Instance for Checksum {
    fn call(&mut self, _method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let [offset, length, initial] = [0, 1, 2].map(|i| args[i].low_u64() as u16);
        let bytes = env.packet.as_ref().map_or(&[][..], |packet| packet.bytes());
        Bits::new(16, u128::from(sum(bytes, offset, length, initial)))
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        no_table("checksum")
    }

    fn unload(&mut self, _key: &EntryKey) -> Result<bool, Refused> {
        no_table("checksum")
    }

    fn rows(&self) -> Vec<StateRow> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::{Bench, packet};

    /// RFC 1071 section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 sum to ddf2.
    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&bytes, 0, 8, 0), 0xddf2);
        assert_eq!(sum(&bytes, 4, 4, sum(&bytes, 0, 4, 0)), 0xddf2, "in two parts");
    }

    #[test]
    fn an_ipv4_header_with_its_checksum_sums_to_all_ones() {
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(sum(&header, 0, 20, 0), 0xffff);
    }

    #[test]
    fn the_end_around_carry_is_never_lost() {
        assert_eq!(sum(&[0xff, 0xff, 0x00, 0x01], 0, 4, 0), 1);
        assert_eq!(sum(&[0xff; 65_535], 0, 65_535, 0xffff), 0xff00, "odd length, all ones");
        assert_eq!(sum(&[0xff, 0xff], 0, 2, 0), 0xffff, "all ones is not folded to zero");
        assert_eq!(sum(&[], 0, 0, 0), 0);
    }

    #[test]
    fn ranges_outside_the_packet_are_zero() {
        assert_eq!(sum(&[1, 2, 3], 0, 65_535, 0), 0x0402);
        assert_eq!(sum(&[1, 2, 3], 1, 2, 0), 0x0203, "words begin at the offset");
        assert_eq!(sum(&[1, 2, 3], 3, 10, 7), 7);
        assert_eq!(sum(&[1, 2, 3], 65_535, 65_535, 7), 7);
    }

    #[test]
    fn window_and_payload_are_one_range() {
        let bytes: Vec<u8> = (0..200).collect();
        let mut bench = Bench::new("checksum", None, None, &[]);
        let args = [Bits::new(16, 100), Bits::new(16, 100), Bits::new(16, 0)];
        assert_eq!(bench.call("sum", &args), Bits::zero(16), "no packet: nothing but zeros");
        bench.packet = Some(packet(&bytes));
        let expected = (50..100u32).map(|i| (2 * i) << 8 | (2 * i + 1)).sum::<u32>();
        let expected = (expected & 0xffff) + (expected >> 16);
        assert_eq!(
            bench.call("sum", &args).low_u64(),
            u64::from((expected & 0xffff) + (expected >> 16))
        );
    }
}
