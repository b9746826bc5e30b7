//! Routines of meters: the three-colour markers of RFC 2697 and RFC 2698. Calls come in the order
//! of packets.
//!
//! ```text
//! word  0..1            2..3          4..5           6            8..9  10..11  12..13  14..15
//!       | C's missing  | E's or P's | last seconds | nanoseconds | cir | cbs   | pir  | ebs or pbs
//! ```
//!
//! A bucket is stored as the number of tokens that it lacks. The time of the last packet is split
//! into seconds and nanoseconds, so that no product is wider than two words.

use crate::code::{Code, Label};
use crate::frame::ARRIVAL;
use crate::memory::{read, write};
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::routines::{Divide, Pair, both, give, keep, pair};
use crate::state::State;
use crate::unit::Unit;
use crate::words;

/// The logarithm of the words of a meter.
pub const SHIFT: u32 = 4;

/// The first words of the parts of a meter.
pub const LAST: u32 = 4;
const CIR: u32 = 8;
const CBS: u32 = 10;
const PIR: u32 = 12;
const OTHER_SIZE: u32 = 14;

const SECOND: u32 = 1_000_000_000;

fn chain(code: &mut Code, to: Pair, operation: &str, b: [Operand; 2]) {
    let carry = format!("{operation}carry");
    code.chain(&to.map(Target::from), operation, &carry, &both(to), &b);
}

/// `a -= b`, or 0 if `b` is larger.
fn take(code: &mut Code, a: Pair, b: Pair) {
    let [some, done] = [(); 2].map(|()| code.label());
    words::compare(code, &words::of(&a), &words::of(&b));
    code.branch("br=cout", some);
    a.iter().for_each(|word| code.set(*word, Operand::Number(0)));
    code.branch("br", done);
    code.place(some);
    chain(code, a, "-", both(b));
    code.place(done);
}

/// Computes the tokens that a rate adds between two times. It takes the bits of the rate from the
/// highest on. For each bit it doubles the tokens so far, and the fractions of a token at both
/// times.
pub struct Tokens {
    /// The rate in bytes a second, at most 2^40. The routine destroys it.
    pub rate: Pair,
    /// Seconds between the two times.
    pub seconds: Pair,
    /// Nanoseconds of the earlier time within its second.
    pub from: Register,
    /// Nanoseconds of the later time within its second.
    pub to: Register,
    /// The tokens. Numbers from 2^62 on stand for all larger numbers, since no bucket has more
    /// tokens.
    pub tokens: Pair,
}

impl Tokens {
    const ROUTINE: Routine = Routine::new(80, "Tokens", |code, _| Self::of(code).write(code));

    pub fn of(code: &mut Code) -> Self {
        Self {
            rate: pair(code, "tokens_rate", false),
            seconds: pair(code, "tokens_seconds", true),
            from: code.shared("tokens_from", true),
            to: code.shared("tokens_to", true),
            tokens: pair(code, "tokens", false),
        }
    }

    fn write(&self, code: &mut Code) {
        let Self { rate, seconds, from, to, tokens } = *self;
        let number = Operand::Number;
        let [next, clear, few] = [(); 3].map(|()| code.label());
        // 2^40 has 41 bits.
        let left = code.copy(number(41));
        code.double_shift(rate[1], rate[1].into(), rate[0].into(), 32 - 23);
        code.shift(rate[0], Operand::None, "B", rate[0].into(), Shift::Left(23));
        let parts = [code.copy(number(0)), code.copy(number(0))];
        let second = code.copy(number(SECOND));
        tokens.iter().for_each(|word| code.set(*word, number(0)));
        code.place(next);
        let twice = |code: &mut Code, pair: Pair| {
            code.double_shift(pair[1], pair[1].into(), pair[0].into(), 31);
            code.shift(pair[0], Operand::None, "B", pair[0].into(), Shift::Left(1));
        };
        twice(code, tokens);
        for part in parts {
            code.shift(part, Operand::None, "B", part.into(), Shift::Left(1));
        }
        code.branch_clear(rate[1], 31, clear);
        chain(code, tokens, "+", both(seconds));
        code.alu(parts[0], parts[0].into(), "+", to.into());
        code.alu(parts[1], parts[1].into(), "+", from.into());
        code.place(clear);
        twice(code, rate);
        // Both parts are less than three seconds. The later time comes first, so that the tokens
        // never fall below 0.
        for (part, operation) in parts.into_iter().zip(["+", "-"]) {
            for _ in 0..2 {
                let less = code.label();
                code.alu(Target::None, part.into(), "-", second.into());
                code.branch("br!=cout", less);
                code.alu(part, part.into(), "-", second.into());
                chain(code, tokens, operation, [number(1), number(0)]);
                code.place(less);
            }
        }
        code.branch_clear(tokens[1], 30, few);
        code.set(tokens[1], number(1 << 30));
        code.place(few);
        code.alu(left, left.into(), "-", number(1));
        code.branch("br!=0", next);
    }
}

/// Marks a packet and takes its tokens.
pub struct Meter {
    /// The word address of the meter.
    pub meter: Register,
    /// The length of the packet in bytes.
    pub bytes: Register,
    /// The colour before the call, then the new colour: 0 green, 1 yellow, 2 or more red.
    pub color: Register,
}

impl Meter {
    pub const ONE_RATE: Routine =
        Routine::new(81, "MeterOne", |code, state| Self::of(code).write_one(code, state));
    pub const TWO_RATES: Routine =
        Routine::new(82, "MeterTwo", |code, state| Self::of(code).write_two(code, state));

    pub fn of(code: &mut Code) -> Self {
        Self {
            meter: code.shared("meter", true),
            bytes: code.shared("meter_bytes", false),
            color: code.shared("meter_color", false),
        }
    }

    /// Calls a routine and keeps the registers of this routine.
    fn far(&self, code: &mut Code, state: State, routine: &Routine) {
        keep(code, state, &[self.meter, self.bytes, self.color], routine);
    }

    /// Sets the time of the meter to the arrival of the packet, if that is later. Gives the
    /// interval between them to [`Tokens`].
    fn pass_time(&self, code: &mut Code, state: State) {
        let (divide, interval) = (Divide::of(code), Tokens::of(code));
        let arrival = state.load(code, Operand::Number(ARRIVAL), 2);
        give(code, divide.a, &words::of(&arrival));
        give(code, divide.b, &vec![Operand::Number(SECOND)]);
        code.set(divide.bits, Operand::Number(64));
        self.far(code, state, &Divide::ROUTINE);
        let now = [divide.rest[0], divide.a[0], divide.a[1]].map(|word| code.copy(word.into()));
        let last = read(code, Unit::Sram, self.meter, LAST, 3);
        let last = [last[2], last[0], last[1]];
        let is_later = code.label();
        words::compare(code, &words::of(&now), &words::of(&last));
        code.branch("br=cout", is_later);
        for (now, last) in now.iter().zip(last) {
            code.set(*now, last.into());
        }
        code.place(is_later);
        write(code, Unit::Sram, self.meter, LAST, &[now[1].into(), now[2].into(), now[0].into()]);
        code.set(interval.to, now[0].into());
        code.set(interval.from, last[0].into());
        let (now, last) = (words::of(&now[1..]), words::of(&last[1..]));
        code.chain(&interval.seconds.map(Target::from), "-", "-carry", &now, &last);
    }

    /// Computes the tokens that a rate adds in the interval.
    fn tokens(&self, code: &mut Code, state: State, rate: u32) -> Pair {
        let tokens = Tokens::of(code);
        let own = read(code, Unit::Sram, self.meter, rate, 2);
        give(code, tokens.rate, &words::of(&own));
        self.far(code, state, &Tokens::ROUTINE);
        tokens.tokens
    }

    /// Reads the number of tokens that a bucket lacks.
    fn missing(&self, code: &mut Code, at: u32) -> Pair {
        let read = read(code, Unit::Sram, self.meter, at, 2);
        [read[0], read[1]]
    }

    /// Adds the tokens of the packet to `missing`, without a write. Branches if the bucket then
    /// lacks more tokens than it holds.
    fn fits(&self, code: &mut Code, missing: Pair, size: u32, not: Label) {
        chain(code, missing, "+", [self.bytes.into(), Operand::Number(0)]);
        let size = read(code, Unit::Sram, self.meter, size, 2);
        words::compare(code, &words::of(&size), &words::of(&missing));
        code.branch("br!=cout", not);
    }

    /// RFC 2697: new tokens go to bucket C, and to bucket E when C is full.
    fn write_one(&self, code: &mut Code, state: State) {
        let number = Operand::Number;
        let [kept, added, not_green, red, done] = [(); 5].map(|()| code.label());
        self.pass_time(code, state);
        let tokens = self.tokens(code, state, CIR);
        let all = read(code, Unit::Sram, self.meter, 0, 4);
        let (committed, other) = ([all[0], all[1]], [all[2], all[3]]);
        words::compare(code, &words::of(&committed), &words::of(&tokens));
        code.branch("br=cout", kept);
        chain(code, tokens, "-", both(committed));
        committed.iter().for_each(|word| code.set(*word, number(0)));
        take(code, other, tokens);
        code.branch("br", added);
        code.place(kept);
        chain(code, committed, "-", both(tokens));
        code.place(added);
        write(code, Unit::Sram, self.meter, 0, &[both(committed), both(other)].concat());
        code.alu(Target::None, Operand::None, "B", self.color.into());
        code.branch("br!=0", not_green);
        self.fits(code, committed, CBS, not_green);
        write(code, Unit::Sram, self.meter, 0, &both(committed));
        code.branch("br", done);
        code.place(not_green);
        code.alu(Target::None, self.color.into(), "-", number(2));
        code.branch("br=cout", red);
        self.fits(code, other, OTHER_SIZE, red);
        write(code, Unit::Sram, self.meter, 2, &both(other));
        code.set(self.color, number(1));
        code.branch("br", done);
        code.place(red);
        code.set(self.color, number(2));
        code.place(done);
    }

    /// RFC 2698: each bucket has its own rate, and a green packet takes tokens from both.
    fn write_two(&self, code: &mut Code, state: State) {
        let number = Operand::Number;
        let [red, yellow, done] = [(); 3].map(|()| code.label());
        self.pass_time(code, state);
        for (rate, at) in [(CIR, 0), (PIR, 2)] {
            let tokens = self.tokens(code, state, rate);
            let missing = self.missing(code, at);
            take(code, missing, tokens);
            write(code, Unit::Sram, self.meter, at, &both(missing));
        }
        code.alu(Target::None, self.color.into(), "-", number(2));
        code.branch("br=cout", red);
        let peak = self.missing(code, 2);
        self.fits(code, peak, OTHER_SIZE, red);
        write(code, Unit::Sram, self.meter, 2, &both(peak));
        code.alu(Target::None, Operand::None, "B", self.color.into());
        code.branch("br!=0", yellow);
        let committed = self.missing(code, 0);
        self.fits(code, committed, CBS, yellow);
        write(code, Unit::Sram, self.meter, 0, &both(committed));
        code.branch("br", done);
        code.place(yellow);
        code.set(self.color, number(1));
        code.branch("br", done);
        code.place(red);
        code.set(self.color, number(2));
        code.place(done);
    }
}
