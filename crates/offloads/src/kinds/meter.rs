//! `meter`: the three-colour markers of RFC 2697 (single rate) and RFC 2698 (two rates).
//!
//! Token buckets contain whole numbers of bytes. With a rate of `r` bytes a second, a token is
//! added at each time `k / r` seconds for whole `k`. Between two arrivals at `a` and `b`
//! nanoseconds, `floor(b r / 10^9) - floor(a r / 10^9)` tokens are added, and no fraction is ever
//! lost, whatever the arrival times. Buckets are full at the start. Time never runs backwards: a
//! packet with an earlier timestamp than its predecessor finds the buckets as the predecessor left
//! them.

use wireloom_bits::Bits;

use crate::instance::packed;
use crate::kinds::{check_value, index_of, visit_numbered};
use crate::memory::zeroed;
use crate::registry::{
    METHOD, Method, OffloadKind, ReplyType, SIZE, StateUse, TableForm, TableKey, U32, U64,
    ValueType, param,
};
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, Layout, RawView, Refused, StateRow};

/// The interface of `meter`.
pub const KIND: OffloadKind = OffloadKind {
    name: "meter",
    has_key: false,
    has_value: false,
    params: &[
        SIZE,
        param("rates", U32, Some(1), (1, 2), "1: single rate (RFC 2697). 2: two rates (RFC 2698)."),
        param("cir", U64, None, (0, 1 << 40), "Committed information rate, bytes a second."),
        param("cbs", U64, None, (0, 1 << 40), "Committed burst size, bytes."),
        param("ebs", U64, Some(0), (0, 1 << 40), "Excess burst size, bytes (one rate)."),
        param(
            "pir",
            U64,
            Some(0),
            (0, 1 << 40),
            "Peak information rate, bytes a second (two rates).",
        ),
        param("pbs", U64, Some(0), (0, 1 << 40), "Peak burst size, bytes (two rates)."),
    ],
    methods: &[
        Method {
            name: "color",
            args: &[("index", U32), ("bytes", U32)],
            reply: ReplyType::One(ValueType::Bits(2)),
            state: StateUse::Change,
            reads_arrival: true,
            doc: "Colour-blind marking: 0 green, 1 yellow, 2 red. Out of range: red.",
            ..METHOD
        },
        Method {
            name: "color_aware",
            args: &[("index", U32), ("bytes", U32), ("color", ValueType::Bits(2))],
            reply: ReplyType::One(ValueType::Bits(2)),
            state: StateUse::Change,
            reads_arrival: true,
            doc: "Colour-aware marking of a packet that came with a colour (3 counts as red).",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "Three-colour markers of RFC 2697 and RFC 2698, by arrival time. Entries that the \
          control plane does not set have the rates of the declaration.",
    table: Some(TableForm {
        key: TableKey::Index,
        value: |config| (rates_layout(), Rates::declared(config).pack()),
    }),
    make: |config| Ok(Box::new(Meter::new(config)?)),
};

/// A colour as the methods return it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Color {
    /// Within committed rate and burst.
    Green = 0,
    /// Beyond the committed rate, but within the excess burst (RFC 2697) or the peak rate (RFC
    /// 2698).
    Yellow = 1,
    /// Beyond all limits.
    Red = 2,
}

/// Rates in bytes a second and bursts in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Committed information rate.
    pub cir: u64,
    /// Committed burst size.
    pub cbs: u64,
    /// Excess burst size (RFC 2697).
    pub ebs: u64,
    /// Peak information rate (RFC 2698).
    pub pir: u64,
    /// Peak burst size (RFC 2698).
    pub pbs: u64,
}

/// The names of the rates in the order in which a table value packs them, 64 bits each.
pub const RATE_NAMES: [&str; 5] = ["cir", "cbs", "ebs", "pir", "pbs"];

/// The largest rate in bytes a second and the largest burst in bytes.
pub const MAX_RATE: u64 = 1 << 40;

/// The number of words of a meter: the words of [`Used`], then the number of the rates.
const WORDS: usize = 4;
/// The number of words that packets change.
const STATE_WORDS: usize = 3;

/// The state of a meter that packets change. It is all zero for an unused meter, whose buckets are
/// full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The tokens missing from bucket C.
    pub committed: u64,
    /// The tokens missing from bucket E (RFC 2697) or P (RFC 2698).
    pub other: u64,
    /// The latest arrival time of the meter's packets, in nanoseconds.
    pub last_ns: u64,
}

/// An instance of `meter`.
#[derive(Clone)]
pub struct Meter {
    two_rates: bool,
    /// The declared rates, then rates that the control plane has set, and free entries.
    rates: Vec<Rates>,
    free: Vec<u64>,
    state: Box<[u64]>,
    view: View,
}

/// The location of meters and rates: `struct wl_meters` of runtime/c/meter.h.
#[repr(C)]
#[derive(Clone)]
struct View {
    meters: *mut u64,
    rates: *const Rates,
}

// SAFETY: the view is renewed before it is used.
unsafe impl Send for View {}

/// Returns the layout of a meter's table value.
pub fn rates_layout() -> Layout {
    Layout::plain(RATE_NAMES.iter().map(|name| ((*name).to_owned(), 64)).collect())
}

impl Rates {
    /// Returns the declared rates.
    pub fn declared(config: &Config) -> Self {
        let [cir, cbs, ebs, pir, pbs] = RATE_NAMES.map(|name| config.param(name).low_u64());
        Self { cir, cbs, ebs, pir, pbs }
    }

    /// Returns the rates as a table value with the layout [`rates_layout`].
    pub fn pack(&self) -> Bits {
        Bits::from_words(320, &[self.pbs, self.pir, self.ebs, self.cbs, self.cir])
    }

    fn unpack(value: &Bits) -> Self {
        let [pbs, pir, ebs, cbs, cir] = [0, 1, 2, 3, 4].map(|i| value.word(i));
        Self { cir, cbs, ebs, pir, pbs }
    }
}

/// Returns the number of tokens that a rate adds between two times.
fn tokens(rate: u64, from_ns: u64, to_ns: u64) -> u64 {
    let fallen = |time: u64| u128::from(time) * u128::from(rate) / 1_000_000_000;
    // There are fewer than 2^75 tokens: at most 2^64 ns at 2^40 bytes a second. Values above the
    // capacity of all buckets may saturate at 2^64 - 1.
    (fallen(to_ns) - fallen(from_ns)).try_into().unwrap_or(u64::MAX)
}

/// Whether a bucket of this size, with `missing` tokens missing, contains `bytes` tokens.
fn fits(size: u64, missing: u64, bytes: u64) -> bool {
    size - missing >= bytes
}

/// The buckets of a meter while it processes a packet.
struct Buckets<'a> {
    rates: Rates,
    /// The tokens missing from bucket C.
    committed: &'a mut u64,
    /// The tokens missing from bucket E (RFC 2697) or P (RFC 2698).
    other: &'a mut u64,
}

impl Buckets<'_> {
    /// RFC 2697, section 3: tokens go to bucket C, and to bucket E once C is full.
    fn single_rate(&mut self, from_ns: u64, to_ns: u64, bytes: u64, color: Color) -> Color {
        let fallen = tokens(self.rates.cir, from_ns, to_ns);
        let into_committed = fallen.min(*self.committed);
        *self.committed -= into_committed;
        *self.other = self.other.saturating_sub(fallen - into_committed);
        if color == Color::Green && fits(self.rates.cbs, *self.committed, bytes) {
            *self.committed += bytes;
            Color::Green
        } else if color != Color::Red && fits(self.rates.ebs, *self.other, bytes) {
            *self.other += bytes;
            Color::Yellow
        } else {
            Color::Red
        }
    }

    /// RFC 2698, section 3: each bucket has its own rate, and a green packet takes tokens from
    /// both.
    fn two_rates(&mut self, from_ns: u64, to_ns: u64, bytes: u64, color: Color) -> Color {
        *self.committed = self.committed.saturating_sub(tokens(self.rates.cir, from_ns, to_ns));
        *self.other = self.other.saturating_sub(tokens(self.rates.pir, from_ns, to_ns));
        if color == Color::Red || !fits(self.rates.pbs, *self.other, bytes) {
            return Color::Red;
        }
        *self.other += bytes;
        if color == Color::Yellow || !fits(self.rates.cbs, *self.committed, bytes) {
            return Color::Yellow;
        }
        *self.committed += bytes;
        Color::Green
    }
}

impl Meter {
    /// Creates an instance as declared, with all buckets full.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let size = config.param("size").low_u64() as usize;
        Ok(Self {
            two_rates: config.param("rates").low_u64() == 2,
            rates: vec![Rates::declared(config)],
            free: Vec::new(),
            state: zeroed(size.saturating_mul(WORDS))?,
            view: View { meters: std::ptr::null_mut(), rates: std::ptr::null() },
        })
    }

    /// Returns the number of meters.
    pub fn size(&self) -> usize {
        self.state.len() / WORDS
    }

    /// Returns the state of a meter that packets change.
    ///
    /// # Panics
    /// If there is no such meter.
    pub fn used(&self, index: u64) -> Used {
        let [committed, other, last_ns] = self.state[index as usize * WORDS..][..STATE_WORDS]
        else {
            unreachable!("a meter's state has three words")
        };
        Used { committed, other, last_ns }
    }

    /// Sets the state of a meter that packets change. The rates stay as they are.
    ///
    /// # Errors
    /// If there is no such meter, or more tokens are missing than its buckets can hold.
    pub fn set_used(&mut self, index: u64, used: Used) -> Result<(), Refused> {
        let at = index_of(&EntryKey::Index(index), self.size())?;
        let rates = self.rates(index);
        let other = if self.two_rates { rates.pbs } else { rates.ebs };
        if used.committed > rates.cbs || used.other > other {
            return Err(Refused(format!("meter {index} lacks more tokens than its buckets hold")));
        }
        let words = [used.committed, used.other, used.last_ns];
        self.state[at * WORDS..][..STATE_WORDS].copy_from_slice(&words);
        Ok(())
    }

    /// Returns the rates of a meter: the rates that the control plane has set, or the declared
    /// rates.
    pub fn rates(&self, index: u64) -> Rates {
        self.rates[self.rates_number(index) as usize]
    }

    /// Returns the number of a meter's rates, or 0 for the declared rates.
    fn rates_number(&self, index: u64) -> u64 {
        self.state.get(index as usize * WORDS + STATE_WORDS).copied().unwrap_or(0)
    }

    fn mark(&mut self, index: u64, bytes: u64, now_ns: u64, color: Color) -> Color {
        if index >= self.size() as u64 {
            return Color::Red;
        }
        let (rates, two_rates) = (self.rates(index), self.two_rates);
        let [committed, other, last] = &mut self.state[index as usize * WORDS..][..STATE_WORDS]
        else {
            unreachable!("a meter's state has three words")
        };
        let (from, to) = (*last, now_ns.max(*last));
        *last = to;
        let mut buckets = Buckets { rates, committed, other };
        if two_rates {
            buckets.two_rates(from, to, bytes, color)
        } else {
            buckets.single_rate(from, to, bytes, color)
        }
    }

    /// Returns the row of a meter that was used or set.
    fn row(&self, index: usize) -> Option<StateRow> {
        let state = &self.state[index * WORDS..][..WORDS];
        if state == [0; WORDS] {
            return None;
        }
        let rates = self.rates(index as u64);
        let (other, size) =
            if self.two_rates { ("peak", rates.pbs) } else { ("excess", rates.ebs) };
        let mut fields = crate::kinds::field_values(&rates_layout(), &rates.pack());
        let word = |value: u64| Bits::new(64, u128::from(value));
        fields.push(("committed".into(), word(rates.cbs - state[0])));
        fields.push((other.into(), word(size - state[1])));
        fields.push(("last_ns".into(), word(state[2])));
        Some(StateRow { key: EntryKey::Index(index as u64), fields })
    }
}

impl Instance for Meter {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let color = match (method, args.get(2).map(Bits::low_u64)) {
            (0, _) | (_, Some(0)) => Color::Green,
            (_, Some(1)) => Color::Yellow,
            _ => Color::Red,
        };
        let color = self.mark(args[0].low_u64(), args[1].low_u64(), env.now_ns, color);
        Bits::new(2, color as u128)
    }

    /// Sets the rates of a meter, packed with the layout [`rates_layout`], and fills its buckets.
    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let index = index_of(&entry.key, self.size())?;
        self.check(&entry)?;
        let rates = Rates::unpack(&entry.value);
        let number = match (self.rates_number(index as u64), self.free.pop()) {
            (0, Some(free)) => free,
            (0, None) => {
                self.rates.push(rates);
                self.rates.len() as u64 - 1
            }
            (own, free) => {
                self.free.extend(free);
                own
            }
        };
        self.rates[number as usize] = rates;
        self.state[index * WORDS..][..WORDS].copy_from_slice(&[0, 0, 0, number]);
        Ok(())
    }

    /// Restores the declared rates of a meter, and fills its buckets.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let index = index_of(key, self.size())?;
        let number = self.rates_number(index as u64);
        self.state[index * WORDS..][..WORDS].fill(0);
        self.free.extend((number != 0).then_some(number));
        Ok(number != 0)
    }

    /// Returns the entry for a row. It contains only the rates: the control plane does not write
    /// the content of buckets.
    fn entry(&self, row: &StateRow) -> Entry {
        Entry { key: row.key.clone(), value: packed(&row.fields[..RATE_NAMES.len()]) }
    }

    /// Returns the meters that were used or set: the rates, the tokens in the buckets after the
    /// last packet, and the time `last_ns` of that packet.
    fn rows(&self) -> Vec<StateRow> {
        (0..self.size()).filter_map(|index| self.row(index)).collect()
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        Ok(self.row(index_of(key, self.size())?))
    }

    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        visit_numbered(from, most, self.size(), |index| self.row(index), visit)
    }

    fn check(&self, entry: &Entry) -> Result<(), Refused> {
        check_value(&entry.value, 320)?;
        for (word, name) in RATE_NAMES.iter().rev().enumerate() {
            let rate = entry.value.word(word);
            if rate > MAX_RATE {
                return Err(Refused(format!("{name} is {rate}, more than 2^40")));
            }
        }
        Ok(())
    }

    /// Every meter exists already.
    fn room(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn raw(&mut self) -> Option<RawView> {
        self.view = View { meters: self.state.as_mut_ptr(), rates: self.rates.as_ptr() };
        let view = std::ptr::from_ref(&self.view).cast();
        Some(RawView::Meter { view, elements: self.size() as u64 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kinds::tests::Bench;

    const SECOND: u64 = 1_000_000_000;

    fn single(cir: u64, cbs: u64, ebs: u64) -> Bench {
        Bench::new("meter", None, None, &[("size", 2), ("cir", cir), ("cbs", cbs), ("ebs", ebs)])
    }

    fn double(cir: u64, cbs: u64, pir: u64, pbs: u64) -> Bench {
        let params =
            [("size", 2), ("rates", 2), ("cir", cir), ("cbs", cbs), ("pir", pir), ("pbs", pbs)];
        Bench::new("meter", None, None, &params)
    }

    fn blind(bench: &mut Bench, now: u64, bytes: u32) -> u64 {
        bench.now = now;
        bench.call("color", &[Bits::new(32, 0), Bits::new(32, u128::from(bytes))]).low_u64()
    }

    fn aware(bench: &mut Bench, now: u64, bytes: u32, color: u128) -> u64 {
        bench.now = now;
        let args = [Bits::new(32, 0), Bits::new(32, u128::from(bytes)), Bits::new(2, color)];
        bench.call("color_aware", &args).low_u64()
    }

    #[test]
    fn rfc_2697_color_blind() {
        let mut m = single(1000, 1500, 500);
        assert_eq!(blind(&mut m, 0, 1000), 0, "C: 500 left");
        assert_eq!(blind(&mut m, 0, 501), 2, "more than either bucket holds; nothing is taken");
        assert_eq!(blind(&mut m, 0, 500), 0, "C: empty");
        assert_eq!(blind(&mut m, 0, 500), 1, "E: empty");
        assert_eq!(blind(&mut m, 0, 1), 2);
        assert_eq!(blind(&mut m, SECOND, 1000), 0, "a second fills 1000 bytes of C");
        assert_eq!(blind(&mut m, SECOND, 1), 2, "and none of E");
        assert_eq!(blind(&mut m, 3 * SECOND, 500), 0, "two seconds: C full, 500 over for E");
        assert_eq!(blind(&mut m, 3 * SECOND, 1001), 2);
        assert_eq!(blind(&mut m, 3 * SECOND, 1000), 0);
        assert_eq!(blind(&mut m, 3 * SECOND, 500), 1);
    }

    #[test]
    fn rfc_2697_color_aware() {
        let mut m = single(1000, 1500, 500);
        assert_eq!(aware(&mut m, 0, 100, 2), 2, "red stays red");
        assert_eq!(aware(&mut m, 0, 100, 3), 2, "so does 3");
        assert_eq!(aware(&mut m, 0, 400, 1), 1, "yellow takes from E only");
        assert_eq!(aware(&mut m, 0, 400, 1), 2, "and is red when E is short");
        assert_eq!(aware(&mut m, 0, 1500, 0), 0, "C was untouched");
        assert_eq!(aware(&mut m, 0, 100, 0), 1, "green falls back on E");
    }

    #[test]
    fn rfc_2698_color_blind() {
        let mut m = double(1000, 1000, 2000, 3000);
        assert_eq!(blind(&mut m, 0, 1000), 0, "takes from both: C 0, P 2000");
        assert_eq!(blind(&mut m, 0, 1500), 1, "takes from P: 500");
        assert_eq!(blind(&mut m, 0, 501), 2);
        assert_eq!(blind(&mut m, SECOND / 2, 500), 0, "C 500 -> 0, P 1500 -> 1000");
        assert_eq!(blind(&mut m, SECOND / 2, 1000), 1, "P 0");
        assert_eq!(blind(&mut m, SECOND / 2, 1), 2);
    }

    #[test]
    fn rfc_2698_color_aware() {
        let mut m = double(1000, 1000, 2000, 3000);
        assert_eq!(aware(&mut m, 0, 1, 2), 2);
        assert_eq!(aware(&mut m, 0, 1000, 1), 1, "yellow takes from P only");
        assert_eq!(aware(&mut m, 0, 1000, 0), 0, "C was full");
        assert_eq!(aware(&mut m, 0, 1000, 0), 1);
        assert_eq!(aware(&mut m, 0, 1, 1), 2, "P is empty");
    }

    #[test]
    fn no_fraction_of_a_token_is_lost() {
        // Three bytes a second are one token every 333,333,333 1/3 ns. The meter is polled around
        // the time of each token.
        let mut m = single(3, 3, 0);
        assert_eq!(blind(&mut m, 0, 3), 0);
        for now in [333_333_333, 333_333_334, 666_666_666, 666_666_667, 999_999_999] {
            assert_eq!(blind(&mut m, now, 3), 2, "at {now}");
        }
        assert_eq!(blind(&mut m, SECOND, 3), 0);
    }

    #[test]
    fn time_does_not_run_backwards() {
        let mut m = single(1000, 1000, 0);
        assert_eq!(blind(&mut m, 5 * SECOND, 1000), 0);
        assert_eq!(blind(&mut m, 4 * SECOND, 1), 2, "no tokens for an earlier stamp");
        assert_eq!(blind(&mut m, 5 * SECOND + SECOND / 1000, 1), 0);
        assert_eq!(blind(&mut m, u64::MAX, 1000), 0, "and none overflow");
    }

    #[test]
    fn out_of_range_is_red_and_meters_are_separate() {
        let mut m = single(0, 10, 0);
        assert_eq!(blind(&mut m, 0, 10), 0);
        assert_eq!(m.call("color", &[Bits::new(32, 1), Bits::new(32, 10)]).low_u64(), 0);
        assert_eq!(m.call("color", &[Bits::new(32, 2), Bits::new(32, 0)]).low_u64(), 2);
    }

    #[test]
    fn the_state_of_a_meter_moves_to_another() {
        let mut m = Meter::new(&crate::kinds::tests::config(
            "meter",
            None,
            None,
            &[("size", 2), ("cir", 1000), ("cbs", 1500), ("ebs", 500)],
        ))
        .expect("there is memory");
        let mut other = m.clone();
        m.mark(1, 1200, 5 * SECOND, Color::Green);
        m.mark(1, 400, 5 * SECOND, Color::Green);
        let used = m.used(1);
        assert_eq!(used, Used { committed: 1200, other: 400, last_ns: 5 * SECOND });
        other.set_used(1, used).expect("the buckets are as large");
        assert_eq!(other.rows(), m.rows());
        for (index, used) in [(2, used), (1, Used { other: 501, ..used })] {
            assert!(other.set_used(index, used).is_err(), "{index}");
        }
        assert_eq!(other.used(1), used);
    }

    #[test]
    fn the_control_plane_sets_rates_of_one_meter() {
        let mut m = single(0, 10, 0);
        let rates = Rates { cir: 1, cbs: 20, ebs: 5, pir: 0, pbs: 0 };
        let entry = |rates: Rates| Entry { key: EntryKey::Index(0), value: rates.pack() };
        assert_eq!(blind(&mut m, 0, 10), 0);
        m.instance.load(entry(rates)).unwrap();
        assert_eq!(blind(&mut m, 0, 20), 0, "and its buckets are full");
        assert_eq!(blind(&mut m, 0, 5), 1);
        let row = &m.instance.rows()[0];
        let names: Vec<&str> = row.fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cir", "cbs", "ebs", "pir", "pbs", "committed", "excess", "last_ns"]);
        assert_eq!(row.fields[1].1.low_u64(), 20);
        assert_eq!(m.instance.unload(&EntryKey::Index(0)), Ok(true));
        assert_eq!(blind(&mut m, 0, 11), 2);
        let refused = m.instance.load(entry(Rates { pbs: MAX_RATE + 1, ..rates })).unwrap_err();
        assert_eq!(refused.0, "pbs is 1099511627777, more than 2^40");
    }

    proptest! {
        /// A model of RFC 2697 that adds one token at a time, as its text does.
        #[test]
        fn single_rate_equals_one_token_at_a_time(
            cir in 0u64..50, cbs in 0u64..40, ebs in 0u64..40,
            packets in prop::collection::vec((0u64..400_000_000, 0u32..45, 0u128..4), 1..40),
        ) {
            let mut m = single(cir, cbs, ebs);
            let (mut c, mut e, mut now, mut fallen) = (cbs, ebs, 0u64, 0u64);
            for (gap, bytes, color) in packets {
                now += gap;
                while u128::from(fallen + 1) * 1_000_000_000 <= u128::from(now) * u128::from(cir) {
                    fallen += 1;
                    if c < cbs { c += 1 } else if e < ebs { e += 1 }
                }
                let size = u64::from(bytes);
                let expected = match color {
                    0 if c >= size => { c -= size; 0 }
                    0 | 1 if e >= size => { e -= size; 1 }
                    _ => 2,
                };
                prop_assert_eq!(aware(&mut m, now, bytes, color), expected);
            }
        }
    }
}
