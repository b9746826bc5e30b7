//! `siphash`: a call reads the secret, and operations compute the hash from it.
//!
//! The reply of the call is then the secret, of 128 bits, and its only argument the index. A target
//! that has the kind has this call.

use wireloom_ir::{BinaryOp, Op, OpKind, Value};
use wireloom_offloads::Config;

use super::Expansion;
use crate::expand::Before;

pub(super) const EXPANSION: Expansion = Expansion { kind: "siphash", expand };

/// The constants that begin the state: "somepseudorandomlygeneratedbytes".
const BEGIN: [u64; 4] =
    [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];

fn expand(before: &mut Before<'_>, config: &Config, op: &Op) -> OpKind {
    let OpKind::Call { offload, method, args } = &op.kind else {
        unreachable!("it depends on secrets, so it is a call")
    };
    let (index, data) = (args[0], args[1]);
    let call = OpKind::Call { offload: *offload, method: *method, args: vec![index] };
    let secret = before.guarded(128, call, op.guard);
    let hash = hash(before, secret, data);
    let size = before.number(before.width(index), config.param("size").low_u64().into());
    let is_inside = before.binary(BinaryOp::Ult, index, size);
    let zero = before.number(64, 0);
    OpKind::Select(is_inside, hash, zero)
}

/// Emits SipHash-2-4 of the bytes of `data` in network order (Aumasson and Bernstein, SipHash: a
/// fast short-input PRF, section 2.2).
fn hash(before: &mut Before<'_>, secret: Value, data: Value) -> Value {
    let secret = before.bytes(secret);
    let [first, second] = [&secret[..8], &secret[8..]].map(|bytes| before.little_endian(bytes));
    let mut state = [first, second, first, second];
    for (word, constant) in state.iter_mut().zip(BEGIN) {
        let constant = before.number(64, constant.into());
        *word = before.binary(BinaryOp::Xor, *word, constant);
    }
    let mut bytes = before.bytes(data);
    let length = before.number(8, (bytes.len() as u8).into());
    let zero = before.number(8, 0);
    // The last word ends in the length.
    while bytes.len() % 8 != 7 {
        bytes.push(zero);
    }
    bytes.push(length);
    for word in bytes.chunks(8) {
        let word = before.little_endian(word);
        state[3] = before.binary(BinaryOp::Xor, state[3], word);
        (0..2).for_each(|_| round(before, &mut state));
        state[0] = before.binary(BinaryOp::Xor, state[0], word);
    }
    let end = before.number(64, 0xff);
    state[2] = before.binary(BinaryOp::Xor, state[2], end);
    (0..4).for_each(|_| round(before, &mut state));
    let [low, high] =
        [[0, 1], [2, 3]].map(|[a, b]| before.binary(BinaryOp::Xor, state[a], state[b]));
    before.binary(BinaryOp::Xor, low, high)
}

fn round(before: &mut Before<'_>, state: &mut [Value; 4]) {
    mix(before, state, [0, 1], 13);
    state[0] = before.rotate(state[0], 32);
    mix(before, state, [2, 3], 16);
    mix(before, state, [0, 3], 21);
    mix(before, state, [2, 1], 17);
    state[2] = before.rotate(state[2], 32);
}

/// Adds the word `b` of the state to the word `a`, rotates `b`, and combines it with `a`.
fn mix(before: &mut Before<'_>, state: &mut [Value; 4], [a, b]: [usize; 2], by: u32) {
    state[a] = before.binary(BinaryOp::Add, state[a], state[b]);
    let rotated = before.rotate(state[b], by);
    state[b] = before.binary(BinaryOp::Xor, rotated, state[a]);
}

#[cfg(test)]
mod tests {
    use super::super::super::expand::tests::expanded_call;
    use wireloom_bits::Bits;
    use wireloom_offloads::kinds::siphash::siphash;

    const SECRET: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;

    #[test]
    fn expanded_hashes_are_those_of_the_kind() {
        for bits in [1, 8, 13, 56, 57, 64, 65, 104, 128, 200, 512, 1000] {
            let bytes: Vec<u8> = (0..125u8).map(|byte| byte.wrapping_mul(7)).collect();
            let data = Bits::from_bytes(&bytes).resize(bits);
            let of = |index: u32| {
                let args = [Bits::new(32, index.into()), data.clone()];
                let secret = (index < 3).then(|| Bits::new(128, SECRET));
                let secret = secret.unwrap_or_else(|| Bits::zero(128));
                expanded_call("siphash", bits, &[("size", 3)], &args, Some(secret)).1
            };
            let expected = siphash(SECRET, &data.to_bytes());
            assert_eq!(of(2), Bits::new(64, expected.into()), "{bits} bits");
            assert_eq!([of(3), of(u32::MAX)], [Bits::zero(64), Bits::zero(64)], "no such secret");
        }
    }
}
