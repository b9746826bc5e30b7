//! `match`: multi-pattern search of packet bytes.

mod automaton;
pub(super) mod patterns;

use aho_corasick::{AhoCorasick, MatchKind};
use wireloom_bits::Bits;

use crate::lanes::pack;
use crate::registry::{
    Delay, Extent, METHOD, Method, OffloadKind, ReplyType, TableForm, TableKey, U16, ValueType,
    declared_value,
};
use crate::{Config, Entry, EntryKey, Env, Instance, RawView, Refused, StateRow};

use automaton::Tables;
pub use automaton::Walk;
use patterns::Patterns;

/// The interface of `match`.
pub const KIND: OffloadKind = OffloadKind {
    name: "match",
    has_key: false,
    has_value: true,
    params: &[],
    methods: &[Method {
        name: "scan",
        args: &[("offset", U16), ("length", U16)],
        reply: ReplyType::Record(&[
            ("found", ValueType::Bool),
            ("offset", U16),
            ("value", ValueType::Value),
        ]),
        reads_packet: true,
        extent: Extent::Range { offset: 0, length: 1 },
        delay: Delay::Variable,
        doc: "Searches `length` bytes of the packet from byte `offset` for the leftmost match of \
              any pattern. If several patterns match there, the first one of the table is found. \
              `offset` of the reply is the position of the match from the packet's start.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "Multi-pattern search of packet bytes. Patterns and their values come from the table.",
    table: Some(TableForm { key: TableKey::Pattern, value: declared_value }),
    make: |config| Ok(Box::new(Match::new(config))),
};

/// An instance of `match`.
pub struct Match {
    patterns: Patterns,
    /// The automaton of the patterns. It is built at the first use after a change, so that loading
    /// many patterns does not take quadratic time.
    automaton: Option<AhoCorasick>,
    /// The automaton as tables, for machines that walk it themselves; the inner value is `None` if
    /// the tables would be too large. They are built at the first use after a change.
    tables: Option<Option<Box<Tables>>>,
}

impl Clone for Match {
    fn clone(&self) -> Self {
        Self { patterns: self.patterns.clone(), automaton: self.automaton.clone(), tables: None }
    }
}

impl Match {
    /// Creates an instance as declared, without patterns.
    pub fn new(config: &Config) -> Self {
        let patterns = Patterns::new(config.value.clone().unwrap_or_default());
        Self { patterns, automaton: None, tables: None }
    }

    /// Returns the automaton of the patterns as tables; `None` if the tables would be too large.
    pub fn walk(&mut self) -> Option<Walk> {
        let tables = self.tables.get_or_insert_with(|| Tables::new(self.patterns.list()));
        let walk = tables.as_ref()?.walk();
        let values = self.patterns.list().iter().map(|(_, value)| value.clone()).collect();
        Some(Walk { values, ..walk })
    }

    fn automaton(&mut self) -> &AhoCorasick {
        self.automaton.get_or_insert_with(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostFirst)
                .build(self.patterns.list().iter().map(|(bytes, _)| bytes))
                .expect("the bytes of all patterns keep the automaton within its limits")
        })
    }
}

impl Instance for Match {
    fn call(&mut self, _method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let bytes = env.packet.as_ref().map_or(&[][..], |packet| packet.bytes());
        let [offset, length] = [0, 1].map(|i| args[i].low_u64() as usize);
        let (start, end) = (offset.min(bytes.len()), (offset + length).min(bytes.len()));
        let found = self.automaton().find(&bytes[start..end]);
        let (place, value) = match found {
            Some(hit) => {
                (start + hit.start(), self.patterns.list()[hit.pattern().as_usize()].1.clone())
            }
            None => (0, Bits::zero(self.patterns.value_width())),
        };
        pack(&[Bits::bool(found.is_some()), Bits::new(16, place as u128), value])
    }

    /// Appends a pattern to the table. A pattern that is already in the table keeps its position
    /// and gets the new value.
    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let is_new = self.patterns.load(entry)?;
        self.tables = None;
        if is_new {
            self.automaton = None;
        }
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let was_present = self.patterns.unload(key)?;
        if was_present {
            (self.automaton, self.tables) = (None, None);
        }
        Ok(was_present)
    }

    fn entries(&self) -> Option<u64> {
        Some(self.patterns.list().len() as u64)
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        self.patterns.look_up(key)
    }

    fn check(&self, entry: &Entry) -> Result<(), Refused> {
        self.patterns.check(&entry.key)
    }

    /// Returns the patterns in table order.
    fn rows(&self) -> Vec<StateRow> {
        self.patterns.rows().collect()
    }

    fn raw(&mut self) -> Option<RawView> {
        let tables = self.tables.get_or_insert_with(|| Tables::new(self.patterns.list()));
        tables.as_ref().map(|tables| RawView::Match(tables.view().cast()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::{Bench, packet};

    fn bench(patterns: &[&str], text: &str) -> Bench {
        let mut bench = Bench::new("match", None, Some(&[("", 8)]), &[]);
        for (n, pattern) in patterns.iter().enumerate() {
            load(&mut bench, pattern, n as u128 + 1).unwrap();
        }
        bench.packet = Some(packet(text.as_bytes()));
        bench
    }

    fn load(bench: &mut Bench, pattern: &str, value: u128) -> Result<(), Refused> {
        let key = EntryKey::Pattern(pattern.as_bytes().to_vec());
        bench.instance.load(Entry { key, value: Bits::new(8, value) })
    }

    /// Returns the offset and the value if a pattern is found.
    fn scan(bench: &mut Bench, offset: u16, length: u16) -> Option<(u64, u64)> {
        let args = [offset, length].map(|v| Bits::new(16, u128::from(v)));
        let reply = bench.call("scan", &args);
        assert!(reply.bit(24) || reply.is_zero(), "what is not found is all zero");
        reply.bit(24).then(|| (reply.slice(8, 16).low_u64(), reply.slice(0, 8).low_u64()))
    }

    #[test]
    fn the_leftmost_match_wins_then_the_first_in_the_table() {
        assert_eq!(scan(&mut bench(&["def", "bc"], "abcdef"), 0, 6), Some((1, 2)));
        assert_eq!(scan(&mut bench(&["ab", "abcd"], "abcd"), 0, 4), Some((0, 1)));
        assert_eq!(scan(&mut bench(&["abcd", "ab"], "abcd"), 0, 4), Some((0, 1)));
        assert_eq!(scan(&mut bench(&["abcd", "ab"], "abce"), 0, 4), Some((0, 2)));
        assert_eq!(scan(&mut bench(&["abcd", "b"], "abce"), 0, 4), Some((1, 2)), "a false start");
    }

    #[test]
    fn a_match_lies_wholly_inside_the_range() {
        let mut bench = bench(&["GET /"], &format!("{}GET /index", "-".repeat(125)));
        assert_eq!(scan(&mut bench, 0, 65_535), Some((125, 1)), "across the window's end");
        assert_eq!(scan(&mut bench, 125, 5), Some((125, 1)));
        assert_eq!(scan(&mut bench, 126, 100), None);
        assert_eq!(scan(&mut bench, 125, 4), None);
        assert_eq!(scan(&mut bench, 65_535, 65_535), None);
        bench.packet = None;
        assert_eq!(scan(&mut bench, 0, 65_535), None);
    }

    #[test]
    fn patterns_change_while_packets_flow() {
        let mut bench = bench(&["a", "b", "c"], "cba");
        assert_eq!(scan(&mut bench, 0, 3), Some((0, 3)));
        assert_eq!(bench.instance.unload(&EntryKey::Pattern(b"c".to_vec())), Ok(true));
        assert_eq!(bench.instance.unload(&EntryKey::Pattern(b"c".to_vec())), Ok(false));
        assert_eq!(scan(&mut bench, 0, 3), Some((1, 2)));
        load(&mut bench, "b", 77).unwrap();
        assert_eq!(scan(&mut bench, 0, 3), Some((1, 77)), "replaced in place");
        load(&mut bench, "cb", 5).unwrap();
        assert_eq!(scan(&mut bench, 0, 3), Some((0, 5)));
        assert_eq!(bench.instance.rows().len(), 3);
        assert_eq!(
            load(&mut bench, "", 1),
            Err(Refused("an empty pattern would match everywhere".into()))
        );
    }
}
