//! Meters: the three-colour markers of RFC 2697 and RFC 2698.
//!
//! The tokens that a rate of `r` bytes a second adds from time `a` to time `b` are
//! `floor(b r / 10^9) - floor(a r / 10^9)`. With `a` and `b` as seconds and nanoseconds, that is
//! the seconds between them times `r`, and such a difference of the nanoseconds. A division by 10^9
//! is a shift, and a product with a reciprocal that is exact for the operands.

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::Config;

use super::super::code::{Code, NOTHING, Operand, Register};
use super::super::frame;
use super::super::layout::Place;
use super::super::layout::meters::{CBS, CIR, LAST, OTHER, OTHER_SIZE, PIR};
use super::super::lower::Lower;
use super::super::words::Words;

/// 10^9 is 2^9 times this.
const ODD: u128 = 1_953_125;
/// Bits of the least power of two that is more than [`ODD`].
const ODD_BITS: u32 = 21;
/// Nanoseconds of a second.
const SECOND: u32 = 1_000_000_000;

const RED: Operand = Operand::Number(2);
const YELLOW: Operand = Operand::Number(1);

/// Marks a packet: `args` are the meter, its bytes and, of `color_aware`, its colour.
pub fn mark(lower: &mut Lower<'_>, place: Place, config: &Config, args: &[Value]) -> Words {
    let Place::Elements { base, stride, size } = place else { unreachable!("meters are elements") };
    let has_two_rates = config.param("rates").low_u64() == 2;
    let (index, bytes) = (lower.word(args[0]), lower.word(args[1]));
    let color = args.get(2).map_or(NOTHING, |color| lower.word(*color));
    let result = lower.code.fresh(RED);
    let done = lower.code.label();
    if let Some(meter) = lower.inside(base, stride, size, index, &done) {
        let now = lower.load(frame::ARRIVAL, 2);
        let code = &mut lower.code;
        let marked = if has_two_rates {
            two_rates(code, meter, &now, bytes, color)
        } else {
            single_rate(code, meter, &now, bytes, color)
        };
        code.copy(result, marked);
    }
    lower.code.place(&done);
    vec![result.into()]
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

/// The quotient of a value of so many bits and 10^9.
fn by_second(code: &mut Code, value: &[Operand], bits: u32) -> Words {
    // With a value of n bits after the shift, and a reciprocal that is rounded up from 2^(n + 21) /
    // 1,953,125, the error of the product stays below 2^(n + 21): the quotient is exact.
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

/// Seconds, and the nanoseconds after them, of a time.
fn split(code: &mut Code, time: &[Operand]) -> (Words, Operand) {
    let seconds = by_second(code, time, 64);
    let whole = code.two(Do::Mul, seconds[0], Operand::Number(SECOND));
    let rest = code.two(Do::Subu, time[0], whole);
    (vec![seconds[0], seconds.get(1).copied().unwrap_or(NOTHING)], rest)
}

/// The interval from the last packet of a meter to this one.
struct Interval {
    seconds: Words,
    from: Operand,
    to: Operand,
}

impl Interval {
    /// Advances the meter's time.
    fn of(code: &mut Code, meter: Register, now: &[Operand]) -> Self {
        let last = read(code, meter, LAST);
        let is_earlier = code.is_less(now, &last);
        let now = choose(code, is_earlier, &last, now);
        write(code, meter, LAST, &now);
        let (from_seconds, from) = split(code, &last);
        let (to_seconds, to) = split(code, &now);
        Self { seconds: code.difference(&to_seconds, &from_seconds, 64), from, to }
    }

    /// The tokens of a rate, or a number that is more than any bucket lacks.
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

/// The lesser of two values.
fn least(code: &mut Code, a: &[Operand], b: &[Operand]) -> Words {
    let is_less = code.is_less(a, b);
    choose(code, is_less, a, b)
}

/// What is missing in a bucket with the tokens of a packet, and whether it has them.
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

/// RFC 2697: tokens are added to C; when that is full, to E.
fn single_rate(
    code: &mut Code,
    meter: Register,
    now: &[Operand],
    bytes: Operand,
    color: Operand,
) -> Operand {
    let tokens = Interval::of(code, meter, now).tokens(code, meter, CIR);
    let (committed, other) = (read(code, meter, 0), read(code, meter, OTHER));
    let into = least(code, &tokens, &committed);
    let committed = code.difference(&committed, &into, 64);
    let rest = code.difference(&tokens, &into, 64);
    let into = least(code, &rest, &other);
    let other = code.difference(&other, &into, 64);
    let (more, fits) = with_packet(code, meter, CBS, &committed, bytes);
    let was_green = code.is_zero(color);
    let is_green = code.two(Do::And, was_green, fits);
    let committed = choose(code, is_green, &more, &committed);
    write(code, meter, 0, &committed);
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

/// RFC 2698: each bucket has its rate, and a green packet takes tokens from both.
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
    let committed = left(code, CIR, 0);
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
    write(code, meter, 0, &committed);
    let marked = code.choose(is_green, NOTHING, YELLOW);
    code.choose(is_in_peak, marked, RED)
}
