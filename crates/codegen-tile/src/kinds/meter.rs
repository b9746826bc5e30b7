//! `meter` marks packets by the token buckets of RFC 2697 and RFC 2698.
//!
//! ```text
//! byte  0..4          8..12        16..20      32..36 40..44 48..52 56..60
//!       | C's missing | E's or P's | last time |      | cir  | cbs  | pir  | ebs or pbs
//! ```
//!
//! A bucket's word in memory is the number of tokens that are missing in it.
//!
//! A rate of `r` bytes a second adds `floor(b r / 10^9) - floor(a r / 10^9)` tokens from time `a`
//! to time `b`. Times are split into seconds and nanoseconds: the tokens are `r` times the seconds
//! between the times, plus the same difference for the nanoseconds. A division by 10^9 is a shift
//! and a product with a reciprocal that is exact for the operands.

use std::any::Any;
use std::sync::Arc;

use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::kinds::meter::{self, Used};
use wireloom_offloads::{Config, Instance};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{Code, NOTHING, Operand, Register};
use crate::frame;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

/// Bytes of a meter.
const STRIDE: u32 = 64;

// Bytes of a meter before its parts.
const COMMITTED: u32 = 0;
const OTHER: u32 = 8;
const LAST: u32 = 16;
const CIR: u32 = 32;
const CBS: u32 = 40;
const PIR: u32 = 48;
const OTHER_SIZE: u32 = 56;

/// 10^9 is 2^9 times this.
const ODD: u128 = 1_953_125;
/// The exponent of the smallest power of two above [`ODD`].
const ODD_BITS: u32 = 21;
/// The nanoseconds of a second.
const SECOND: u32 = 1_000_000_000;

const RED: Operand = Operand::Number(2);
const YELLOW: Operand = Operand::Number(1);

pub struct Meter;

impl KindOnTiles for Meter {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        let any: &dyn Any = instance;
        let meter = any.downcast_ref::<meter::Meter>().ok_or("it has no meters")?;
        let size = meter.size() as u32;
        let base = memory.take(u64::from(STRIDE) * u64::from(size))?;
        let image = (0..u64::from(size)).flat_map(|index| {
            let (used, rates) = (meter.used(index), meter.rates(index));
            let other = if has_two_rates(config) { rates.pbs } else { rates.ebs };
            let Used { committed, other: missing, last_ns } = used;
            let longs = [committed, missing, last_ns, 0, rates.cir, rates.cbs, rates.pir, other];
            longs.into_iter().flat_map(|long| [long as u32, (long >> 32) as u32])
        });
        memory.images.push((base, image.collect()));
        Ok(Arc::new(Meters { base, size }))
    }
}

#[derive(Debug)]
struct Meters {
    base: u32,
    size: u32,
}

impl Placed for Meters {
    /// The arguments are the meter, the bytes of the packet and, for `color_aware`, its colour.
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let (Self { base, size }, args) = (self, call.args);
        let color = match call.method.name {
            "color" => NOTHING,
            "color_aware" => lower.word(args[2]),
            _ => return Err(Unsupported),
        };
        let (index, bytes) = (lower.word(args[0]), lower.word(args[1]));
        let result = lower.code.fresh(RED);
        let done = lower.code.label();
        if let Some(meter) = lower.inside(*base, STRIDE, *size, index, &done) {
            let now = lower.load(frame::ARRIVAL, 2);
            let code = &mut lower.code;
            let marked = if has_two_rates(call.config) {
                two_rates(code, meter, &now, bytes, color)
            } else {
                single_rate(code, meter, &now, bytes, color)
            };
            code.copy(result, marked);
        }
        lower.code.place(&done);
        Ok(Some(vec![result.into()]))
    }

    fn read_back(
        &self,
        _config: &Config,
        instance: &mut dyn Instance,
        word: &mut dyn FnMut(u32) -> u32,
    ) {
        let any: &mut dyn Any = instance;
        let Some(meter) = any.downcast_mut::<meter::Meter>() else { return };
        for index in 0..self.size {
            let at = self.base + STRIDE * index;
            let mut long = |at: u32| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
            let committed = long(at + COMMITTED);
            let (other, last_ns) = (long(at + OTHER), long(at + LAST));
            // No more tokens are missing than a bucket holds.
            let _ = meter.set_used(index.into(), Used { committed, other, last_ns });
        }
    }
}

/// Returns whether packets are marked by RFC 2698 rather than RFC 2697.
fn has_two_rates(config: &Config) -> bool {
    config.param("rates").low_u64() == 2
}

fn read(code: &mut Code, meter: Register, at: u32) -> Words {
    [0, 4].map(|word| code.load(meter, (at + word) as i32).into()).to_vec()
}

fn write(code: &mut Code, meter: Register, at: u32, words: &[Operand]) {
    for (word, place) in words.iter().zip([0, 4]) {
        code.store(*word, meter, (at + place) as i32);
    }
}

fn choose(code: &mut Code, condition: Operand, then: &[Operand], otherwise: &[Operand]) -> Words {
    then.iter().zip(otherwise).map(|(a, b)| code.choose(condition, *a, *b)).collect()
}

fn is_not(code: &mut Code, condition: Operand) -> Operand {
    code.two(Do::Xor, condition, YELLOW)
}

/// Returns the quotient of a value with `bits` bits and 10^9.
fn by_second(code: &mut Code, value: &[Operand], bits: u32) -> Words {
    // The value has n bits after the shift, and the reciprocal is 2^(n + 21) / 1,953,125 rounded
    // up. The error of the product is below 2^(n + 21), so the quotient is exact.
    let odd_bits = bits - 9;
    let shift = odd_bits + ODD_BITS;
    let reciprocal = (1u128 << shift).div_ceil(ODD);
    let whole = 32 * value.len() as u32;
    let mut odd = code.slice(value, whole, 9, odd_bits);
    odd.resize(4, NOTHING);
    let factor = [0, 32, 64, 96].map(|by| Operand::Number((reciprocal >> by) as u32));
    let product = code.product(&odd, &factor, 128);
    code.slice(&product, 128, shift, 128 - shift)
}

/// Returns the seconds of a time, and the remaining nanoseconds.
fn split(code: &mut Code, time: &[Operand]) -> (Words, Operand) {
    let seconds = by_second(code, time, 64);
    let whole = code.two(Do::Mul, seconds[0], Operand::Number(SECOND));
    let rest = code.two(Do::Subu, time[0], whole);
    (vec![seconds[0], seconds.get(1).copied().unwrap_or(NOTHING)], rest)
}

/// The interval from the previous packet of a meter to this one.
struct Interval {
    seconds: Words,
    from: Operand,
    to: Operand,
}

impl Interval {
    /// Advances the meter's time and returns the interval.
    fn of(code: &mut Code, meter: Register, now: &[Operand]) -> Self {
        let last = read(code, meter, LAST);
        let is_earlier = code.is_less(now, &last);
        let now = choose(code, is_earlier, &last, now);
        write(code, meter, LAST, &now);
        let (from_seconds, from) = split(code, &last);
        let (to_seconds, to) = split(code, &now);
        Self { seconds: code.difference(&to_seconds, &from_seconds, 64), from, to }
    }

    /// Returns the tokens that a rate adds in the interval, or a number above the size of all
    /// buckets.
    fn tokens(&self, code: &mut Code, meter: Register, rate: u32) -> Words {
        let mut rate = read(code, meter, rate);
        // Rates have 41 bits, so the products of nanoseconds have 71.
        rate.push(NOTHING);
        let mut part = |nanoseconds: Operand| {
            let product = code.product(&[nanoseconds, NOTHING, NOTHING], &rate, 96);
            let mut words = by_second(code, &product, 71);
            words.resize(3, NOTHING);
            words.truncate(3);
            words
        };
        let (to, from) = (part(self.to), part(self.from));
        let seconds = [&self.seconds[..], &[NOTHING]].concat();
        let whole = code.product(&seconds, &rate, 96);
        let sum = code.sum(&whole, &to, 96, NOTHING);
        let sum = code.difference(&sum, &from, 96);
        let is_large = code.is_set(sum[2]);
        let high = code.choose(is_large, Operand::Number(u32::MAX), sum[1]);
        vec![sum[0], high]
    }
}

/// Returns the smaller one of two values.
fn least(code: &mut Code, a: &[Operand], b: &[Operand]) -> Words {
    let is_less = code.is_less(a, b);
    choose(code, is_less, a, b)
}

/// Returns the tokens that are missing after a packet takes its tokens, and whether the bucket has
/// enough tokens for the packet.
fn with_packet(
    code: &mut Code,
    meter: Register,
    size: u32,
    missing: &[Operand],
    bytes: Operand,
) -> (Words, Operand) {
    let size = read(code, meter, size);
    let missing = code.sum(missing, &[bytes, NOTHING], 64, NOTHING);
    let is_more = code.is_less(&size, &missing);
    let fits = is_not(code, is_more);
    (missing, fits)
}

/// Marks a packet by RFC 2697. Tokens go to bucket C, and to bucket E once C is full.
fn single_rate(
    code: &mut Code,
    meter: Register,
    now: &[Operand],
    bytes: Operand,
    color: Operand,
) -> Operand {
    let tokens = Interval::of(code, meter, now).tokens(code, meter, CIR);
    let (committed, other) = (read(code, meter, COMMITTED), read(code, meter, OTHER));
    let into = least(code, &tokens, &committed);
    let committed = code.difference(&committed, &into, 64);
    let rest = code.difference(&tokens, &into, 64);
    let into = least(code, &rest, &other);
    let other = code.difference(&other, &into, 64);
    let (more, fits) = with_packet(code, meter, CBS, &committed, bytes);
    let was_green = code.is_zero(color);
    let is_green = code.two(Do::And, was_green, fits);
    let committed = choose(code, is_green, &more, &committed);
    write(code, meter, COMMITTED, &committed);
    let (more, fits) = with_packet(code, meter, OTHER_SIZE, &other, bytes);
    let was_red = code.is_at_least(&[color], 2);
    let is_no_other = code.two(Do::Or, was_red, is_green);
    let is_other = is_not(code, is_no_other);
    let is_yellow = code.two(Do::And, is_other, fits);
    let other = choose(code, is_yellow, &more, &other);
    write(code, meter, OTHER, &other);
    let marked = code.choose(is_yellow, YELLOW, RED);
    code.choose(is_green, NOTHING, marked)
}

/// Marks a packet by RFC 2698. Each bucket has its own rate, and a green packet takes tokens from
/// both.
fn two_rates(
    code: &mut Code,
    meter: Register,
    now: &[Operand],
    bytes: Operand,
    color: Operand,
) -> Operand {
    let interval = Interval::of(code, meter, now);
    let left = |code: &mut Code, rate, at| {
        let tokens = interval.tokens(code, meter, rate);
        let missing = read(code, meter, at);
        let into = least(code, &tokens, &missing);
        code.difference(&missing, &into, 64)
    };
    let committed = left(code, CIR, COMMITTED);
    let other = left(code, PIR, OTHER);
    let (more, fits) = with_packet(code, meter, OTHER_SIZE, &other, bytes);
    let was_red = code.is_at_least(&[color], 2);
    let is_other = is_not(code, was_red);
    let is_in_peak = code.two(Do::And, is_other, fits);
    let other = choose(code, is_in_peak, &more, &other);
    write(code, meter, OTHER, &other);
    let (more, fits) = with_packet(code, meter, CBS, &committed, bytes);
    let was_green = code.is_zero(color);
    let is_green = code.two(Do::And, was_green, fits);
    let is_green = code.two(Do::And, is_green, is_in_peak);
    let committed = choose(code, is_green, &more, &committed);
    write(code, meter, COMMITTED, &committed);
    let marked = code.choose(is_green, NOTHING, YELLOW);
    code.choose(is_in_peak, marked, RED)
}
