//! The hash unit: multiplies a key and a multiplier modulo a polynomial over GF(2).

use wireloom_isa::microengine::Operation;

use super::queue::{Class, Queues};
use super::{Refused, Served, Started};
use crate::request::Pool;
use crate::spec::HashSpec;

/// G48 = 1 + x^10 + x^25 + x^36 + x^48, without the highest term. The polynomials are from section
/// 7.1.3.2 of the IXP2800 Hardware Reference Manual.
const G48: u128 = 1 | 1 << 10 | 1 << 25 | 1 << 36;
/// G64 = 1 + x^17 + x^35 + x^54 + x^64, without the highest term.
const G64: u128 = 1 | 1 << 17 | 1 << 35 | 1 << 54;
/// G128 = 1 + x^33 + x^69 + x^98 + x^128, without the highest term.
const G128: u128 = 1 | 1 << 33 | 1 << 69 | 1 << 98;

#[derive(Clone, Debug)]
pub struct HashUnit {
    spec: HashSpec,
    /// The multipliers for keys of 48, 64 and 128 bits.
    pub multipliers: [u128; 3],
    /// Commands waiting for service.
    pub queues: Queues,
    free: u64,
    /// Counts of the unit's work.
    pub served: Served,
}

/// `a * m` modulo the polynomial of this many bits: 48, 64 or 128.
pub fn product(a: u128, m: u128, bits: u32) -> u128 {
    let low = match bits {
        48 => G48,
        64 => G64,
        _ => G128,
    };
    let mask = u128::MAX >> (128 - bits);
    let mut sum = 0;
    let mut term = a & mask;
    for bit in 0..bits {
        if m >> bit & 1 != 0 {
            sum ^= term;
        }
        let carry = term >> (bits - 1) & 1;
        term = (term << 1 & mask) ^ if carry != 0 { low } else { 0 };
    }
    sum
}

impl HashUnit {
    /// Creates an idle unit. The initial multipliers are assumed.
    pub fn new(spec: HashSpec) -> Self {
        Self {
            spec,
            multipliers: [
                0x0000_9e37_79b9_7f4a,
                0x9e37_79b9_7f4a_7c15,
                0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834,
            ],
            queues: Queues::new(spec.queue, Class::Ordered),
            free: 0,
            served: Served::default(),
        }
    }

    /// Returns the counts of the unit at a cycle.
    pub fn served_at(&self, now: u64) -> Served {
        self.served.at(now, self.free)
    }

    /// Starts the command that can begin in this cycle.
    ///
    /// # Errors
    /// If the keys are not 48, 64 or 128 bits long.
    pub fn cycle(&mut self, now: u64, pool: &mut Pool) -> Result<Option<Started>, Refused> {
        if now < self.free {
            return Ok(None);
        }
        let Some(handle) = self.queues.take(pool, |_| Some(0)) else { return Ok(None) };
        let request = &mut pool[handle];
        let (keys, bits, multiplier) = match request.operation {
            Operation::Hash { keys, bits: bits @ 48 } => (keys, bits, self.multipliers[0]),
            Operation::Hash { keys, bits: bits @ 64 } => (keys, bits, self.multipliers[1]),
            Operation::Hash { keys, bits: bits @ 128 } => (keys, bits, self.multipliers[2]),
            operation => {
                return Err(Refused(format!("the hash unit does not know {operation:?}")));
            }
        };
        let granule = bits.div_ceil(32);
        for words in request.data.chunks_mut(granule.into()).take(keys.into()) {
            let key = words.iter().rev().fold(0, |key, word| key << 32 | u128::from(*word));
            let mut hash = product(key, multiplier, bits.into());
            for word in words {
                *word = hash as u32;
                hash >>= 32;
            }
        }
        let steps = u64::from(u32::from(bits).div_ceil(self.spec.step_bits));
        // The keys of a command pass through the multiplier one after another.
        let busy = steps * u64::from(keys);
        self.free = now + busy;
        self.served.commands += 1;
        self.served.words += u64::from(request.words_in);
        self.served.busy += busy;
        let around = u64::from(self.spec.front_cycles) + u64::from(self.spec.back_cycles);
        Ok(Some(Started { handle, first: now + around + steps, interval: steps, granule }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_polynomials() {
        // x^47 * x is x^48, which is 1 + x^10 + x^25 + x^36.
        assert_eq!(product(1 << 47, 2, 48), G48);
        assert_eq!(product(1 << 63, 2, 64), G64);
        assert_eq!(product(1 << 127, 2, 128), G128);
        for (a, m) in [(0x1234_5678_9abc, 0xfedc_ba98), (1, 77), (0, 5)] {
            assert_eq!(product(a, m, 48), product(m, a, 48));
            for bits in [64, 128] {
                assert_eq!(product(a, m, bits), product(m, a, bits));
                assert_eq!(product(a, 1, bits), a);
                assert_eq!(product(a ^ 7, m, bits), product(a, m, bits) ^ product(7, m, bits));
            }
        }
    }
}
