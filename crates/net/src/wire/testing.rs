//! Checks that the unit tests of protocols share.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::dissect::{Field, dissect};
use super::layout::{FieldSpec, read_bits};

/// Asserts that the fields follow one another and cover a header of `length` bytes.
pub fn assert_cover(fields: &[FieldSpec], length: usize) {
    let mut end = 0;
    for field in fields {
        assert_eq!(field.bit, end, "{}", field.name);
        end += field.bits;
    }
    assert_eq!(end, 8 * length);
}

/// Returns the values of the fields of a header, by name.
pub fn values(fields: &[FieldSpec], header: &[u8]) -> HashMap<&'static str, u128> {
    fields.iter().map(|f| (f.name, read_bits(header, f.bit, f.bits))).collect()
}

/// Dissects a frame whose fields must follow one another and cover it. Returns the texts of the
/// fields, by name.
pub fn shown(frame: &[u8]) -> HashMap<String, String> {
    let mut end = 0;
    let mut shown = HashMap::new();
    for Field { name, value, offset, bit, bits } in dissect(frame) {
        assert_eq!(8 * offset + bit, end, "{name} in {frame:02x?}");
        end += bits;
        assert!(shown.insert(name.clone(), value).is_none(), "{name} twice in {frame:02x?}");
    }
    assert_eq!(end, 8 * frame.len(), "{frame:02x?}");
    shown
}

/// Asserts that a layer's header is shown if the frame has `end` bytes, and is truncated if the
/// frame is a byte shorter.
pub fn assert_shortest(frame: &[u8], layer: &str, end: usize) {
    let truncated = format!("{layer}.truncated");
    let names = |end: usize| shown(&frame[..end]).into_keys().collect::<Vec<_>>();
    let whole = names(end);
    assert!(whole.iter().any(|name| name.starts_with(&format!("{layer}."))), "{whole:?}");
    assert!(!whole.iter().any(|name| name.starts_with(&truncated)), "{whole:?}");
    let cut = names(end - 1);
    assert!(cut.iter().any(|name| name.starts_with(&truncated)), "{cut:?}");
}

/// Dissects random bytes after the beginning of a frame, which must be shown completely.
pub fn assert_any_bytes_are_shown(begin: &[u8]) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for round in 0..2000 {
        let mut frame = begin.to_vec();
        frame.resize(begin.len() + round % 120, 0);
        rng.fill_bytes(&mut frame[begin.len()..]);
        shown(&frame);
    }
}

/// Returns the Internet checksum of bytes whose checksum field is zero. The ones'-complement sum of
/// words is their sum modulo 65,535.
pub fn checksum_by_division(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or_default()));
    let sum: u64 = words.sum();
    match sum % 0xffff {
        0 if sum > 0 => 0,
        rest => !(rest as u16),
    }
}
