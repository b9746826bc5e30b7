//! `stream`: the bytes of streams that packets carry, kept up to a bound, and searches in them.
//!
//! A stream has a key and a window of sequence numbers. Segments come in any order, overlap and
//! repeat; the first byte that arrives with a sequence number is kept. `kept.rs` holds the bytes of
//! one stream, `search.rs` the searches. The keys are those of an `exact` table without values.

mod kept;
mod search;

use wireloom_bits::Bits;

use super::exact::table::{Ends, Table};
use super::matching::patterns::Patterns;
use super::visit_numbered;
use crate::lanes::{pack, words};
use crate::registry::{
    AGE, Delay, Extent, METHOD, Method, OffloadKind, ReplyType, SIZE, StateUse, TableForm,
    TableKey, U16, U32, U64, ValueType, declared_value, param,
};
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, Lifetime, Refused, StateRow};

use kept::Kept;
use search::{Answer, Finder, Line, Match, Number, Progress, number};

/// The methods, in the order of the interface.
const OPEN: usize = 0;
const PUT: usize = 1;
const FINISH: usize = 2;
const SKIP: usize = 3;
const CLOSE: usize = 4;
const RANGE: usize = 5;
const READ: usize = 6;
const OVERWRITE: usize = 7;
const APPEND: usize = 8;
const FIND: usize = 9;
const LINE: usize = 10;

/// A method that changes a stream.
const CHANGES: Method = Method {
    reply: ReplyType::One(ValueType::Bool),
    state: StateUse::Change,
    advances_time: true,
    delay: Delay::Variable,
    ..METHOD
};
/// A method that reads a stream.
const READS: Method = Method { delay: Delay::Variable, ..METHOD };
/// A method that copies bytes of a stream to the packet.
const COPIES: Method = Method {
    reply: ReplyType::One(ValueType::Bool),
    reads_packet: true,
    writes_packet: true,
    ..READS
};

/// The interface of `stream`.
pub const KIND: OffloadKind = OffloadKind {
    name: "stream",
    has_key: true,
    has_value: true,
    params: &[
        SIZE,
        param("bytes", U32, None, (1, 65_535), "Number of bytes that are kept of a stream."),
        AGE,
        param("nocase", U32, Some(0), (0, 1), "1: patterns match letters of either case."),
    ],
    methods: &[
        Method {
            name: "open",
            args: &[("key", ValueType::Key), ("start", U32)],
            reply: ReplyType::Record(&[("ok", ValueType::Bool), ("existed", ValueType::Bool)]),
            doc: "Begins the stream of the key, whose first byte has the sequence number `start`. \
                  `existed`: there was a stream; it stays as it is and is touched. `ok`: the key \
                  now has a stream; false only if `size` keys have one.",
            ..CHANGES
        },
        Method {
            name: "put",
            args: &[("key", ValueType::Key), ("sequence", U32), ("offset", U16), ("length", U16)],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("over", ValueType::Bool),
                ("differs", ValueType::Bool),
                ("fresh", U16),
                ("end", U32),
            ]),
            reads_packet: true,
            extent: Extent::Range { offset: 2, length: 3 },
            doc: "Keeps `length` bytes from byte `offset` of the packet, up to its end; the first \
                  has the sequence number `sequence`. `over`: some bytes are after the window or \
                  the end of the stream, and are not kept. `differs`: a byte differs from the \
                  kept byte in its place, which stays. `fresh`: the number of bytes that were \
                  not there. `end`: the sequence number of the first byte that is missing.",
            ..CHANGES
        },
        Method {
            name: "finish",
            args: &[("key", ValueType::Key), ("end", U32)],
            doc: "Tells the end of the stream: the sequence number after its last byte. False, \
                  without effect, if it is outside the window, before a byte that is kept, or \
                  another one than before.",
            ..CHANGES
        },
        Method {
            name: "skip",
            args: &[("key", ValueType::Key), ("to", U32)],
            doc: "Forgets the bytes before `to`, where the window then begins. False, without \
                  effect, if `to` is before the window or after the first byte that is missing.",
            ..CHANGES
        },
        Method {
            name: "close",
            args: &[("key", ValueType::Key)],
            doc: "Forgets the stream. Returns whether the key had one.",
            ..CHANGES
        },
        Method {
            name: "range",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("complete", ValueType::Bool),
                ("start", U32),
                ("end", U32),
            ]),
            doc: "Returns the sequence numbers of the first byte of the window and of the first \
                  byte that is missing. `complete`: the end of the stream is known, and all \
                  bytes before it have arrived.",
            ..READS
        },
        Method {
            name: "read",
            args: &[("key", ValueType::Key), ("from", U32)],
            reply: ReplyType::One(ValueType::Bits(128)),
            doc: "Returns sixteen bytes from the sequence number `from` on, the first one most \
                  significant. Bytes that are not kept are zero.",
            ..READS
        },
        Method {
            name: "overwrite",
            args: &[("key", ValueType::Key), ("from", U32), ("offset", U16), ("length", U16)],
            extent: Extent::Range { offset: 2, length: 3 },
            doc: "Overwrites `length` bytes from byte `offset` of the packet with those from the \
                  sequence number `from` on. False, without effect, if one of them is not kept or \
                  is outside the packet.",
            ..COPIES
        },
        Method {
            name: "append",
            args: &[("key", ValueType::Key), ("from", U32), ("count", U16)],
            extent: Extent::End { count: 2 },
            doc: "Appends `count` bytes from the sequence number `from` on to the packet. False, \
                  without effect, if one of them is not kept or the packet would exceed 65,535 \
                  bytes.",
            ..COPIES
        },
        Method {
            name: "find",
            args: &[("key", ValueType::Key), ("from", U32)],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("pending", ValueType::Bool),
                ("at", U32),
                ("length", U16),
                ("value", ValueType::Value),
            ]),
            doc: "Searches from the sequence number `from` on for the leftmost match of any \
                  pattern. If several patterns match there, the first one of the table is found. \
                  `at` and `length`: where the match is. `pending`: bytes that are missing \
                  decide. Without a match, none begins before `at`.",
            ..READS
        },
        Method {
            name: "line",
            args: &[("key", ValueType::Key), ("from", U32)],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("pending", ValueType::Bool),
                ("at", U32),
                ("length", U16),
                ("next", U32),
            ]),
            doc: "Finds the end of the line that begins at the sequence number `from`. `at` and \
                  `length`: where its text is, without blanks around it. `next`: where the next \
                  line begins.",
            ..READS
        },
        Method {
            name: "number",
            args: &[("key", ValueType::Key), ("from", U32)],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("pending", ValueType::Bool),
                ("value", U64),
                ("next", U32),
            ]),
            doc: "Reads the decimal number at the sequence number `from`, after blanks. `next`: \
                  the position after its last digit. A number of more than 64 bits is not found.",
            ..READS
        },
    ],
    expiry: Some("age"),
    claim: None,
    doc: "The bytes of streams, and searches in them that do not depend on how the streams are cut \
          into packets. `size` is the number of streams; a stream that was touched more than `age` \
          nanoseconds ago is forgotten. Patterns and their values come from the table.",
    table: Some(TableForm { key: TableKey::Pattern, value: declared_value }),
    make: |config| Ok(Box::new(Stream::new(config)?)),
};

/// The bytes of a stream, and the state of searches.
#[derive(Clone, Default)]
struct Flow {
    kept: Kept,
    progress: Progress,
}

/// An instance of `stream`.
pub struct Stream {
    key_width: u32,
    value_width: u32,
    /// The number of bytes of a window.
    bytes: usize,
    age_ns: u64,
    /// The keys of the streams.
    keys: Table,
    /// The streams, by the slot of their key in the table. A slot that is not in use keeps its
    /// memory for the next stream.
    flows: Vec<Flow>,
    patterns: Patterns,
    /// Whether patterns match the letters of ASCII in either case.
    nocase: bool,
    /// The automaton of the patterns. It is built at the first search after a change.
    finder: Option<Finder>,
}

impl Clone for Stream {
    fn clone(&self) -> Self {
        let mut copy = Self {
            key_width: self.key_width,
            value_width: self.value_width,
            bytes: self.bytes,
            age_ns: self.age_ns,
            keys: self.keys.clone(),
            flows: self.flows.clone(),
            patterns: self.patterns.clone(),
            nocase: self.nocase,
            finder: None,
        };
        // The states of searches belong to the automaton of the original.
        copy.forget_patterns();
        copy
    }
}

impl Stream {
    /// Creates an instance without streams and patterns, as declared.
    ///
    /// # Errors
    /// If a type is missing, or if there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let (Some(key), Some(value)) = (&config.key, config.value.clone()) else {
            return Err(Refused("streams need a key type and a value type".into()));
        };
        let (key_width, size) = (key.width(), config.param("size").low_u64() as usize);
        let age_ns = config.param("age").low_u64();
        let ends = if age_ns == 0 { Ends::Never } else { Ends::Old };
        Ok(Self {
            key_width,
            value_width: value.width(),
            bytes: config.param("bytes").low_u64() as usize,
            age_ns,
            keys: Table::new(words(key_width), 0, size, ends)?,
            flows: Vec::new(),
            patterns: Patterns::new(value),
            nocase: config.param("nocase").low_u64() != 0,
            finder: None,
        })
    }

    fn forget_patterns(&mut self) {
        self.finder = None;
        self.flows.iter_mut().for_each(|flow| flow.progress.forget_patterns());
    }

    /// Whether a stream is not expired at a given time.
    fn is_live(&self, slot: u32, now_ns: u64) -> bool {
        let now = now_ns.max(self.keys.time_ns);
        self.age_ns == 0 || now.saturating_sub(self.keys.touched_ns(slot)) <= self.age_ns
    }

    /// Finds a stream that is not expired at a given time.
    fn peek(&self, key: &[u64], now_ns: u64) -> Option<u32> {
        self.keys.find(key).filter(|slot| self.is_live(*slot, now_ns))
    }

    /// Advances the time, and finds the stream to change.
    fn advance(&mut self, key: &[u64], now_ns: u64) -> Option<u32> {
        self.keys.time_ns = self.keys.time_ns.max(now_ns);
        if self.age_ns != 0 {
            self.keys.expire(self.age_ns);
        }
        self.keys.find(key)
    }

    fn open(&mut self, key: &[u64], start: u32, existing: Option<u32>) -> Bits {
        let ok = existing.is_some() || !self.keys.is_full();
        if let Some(slot) = existing {
            self.keys.touch(slot);
        } else if ok {
            let slot = self.keys.insert(key, std::iter::empty());
            let now = self.keys.time_ns;
            self.keys.begin(slot, now);
            let index = slot as usize;
            if self.flows.len() <= index {
                self.flows.resize_with(index + 1, Flow::default);
            }
            self.flows[index].kept.begin(start, self.bytes);
            self.flows[index].progress = Progress::default();
        }
        pack(&[Bits::bool(ok), Bits::bool(existing.is_some())])
    }

    fn change(&mut self, method: usize, args: &[Bits], env: &Env<'_>) -> Bits {
        let key: Vec<u64> = args[0].words().collect();
        let number = |index: usize| args[index].low_u64();
        let slot = self.advance(&key, env.now_ns);
        if method == OPEN {
            return self.open(&key, number(1) as u32, slot);
        }
        let Some(slot) = slot else {
            return Bits::zero(if method == PUT { 3 + 16 + 32 } else { 1 });
        };
        if method == CLOSE {
            self.keys.remove(slot);
            return Bits::bool(true);
        }
        self.keys.touch(slot);
        let Flow { kept, progress } = &mut self.flows[slot as usize];
        match method {
            PUT => {
                let packet = env.packet.as_ref().map_or(&[][..], |packet| packet.bytes());
                let (offset, length) = (number(2) as usize, number(3) as usize);
                let first = offset.min(packet.len());
                let last = (offset + length).min(packet.len());
                let put = kept.put(number(1) as u32, &packet[first..last]);
                pack(&[
                    Bits::bool(true),
                    Bits::bool(put.over),
                    Bits::bool(put.differs),
                    Bits::new(16, put.fresh as u128),
                    Bits::new(32, kept.next().into()),
                ])
            }
            FINISH => Bits::bool(kept.finish(number(1) as u32)),
            SKIP => {
                let skipped = kept.skip(number(1) as u32);
                progress.forget_skipped(kept);
                Bits::bool(skipped)
            }
            _ => unreachable!("no other method changes streams"),
        }
    }

    fn find(&mut self, slot: Option<u32>, from: u32) -> Bits {
        let answer = slot.map_or_else(Answer::nothing, |slot| {
            let finder =
                self.finder.get_or_insert_with(|| Finder::new(self.patterns.list(), self.nocase));
            let Flow { kept, progress } = &mut self.flows[slot as usize];
            progress.find(kept, finder, from)
        });
        let list = self.patterns.list();
        reply(answer, |found: Match, is_found| {
            let value = is_found.then(|| list[found.pattern].1.clone());
            vec![
                Bits::new(32, found.at.into()),
                Bits::new(16, found.length as u128),
                value.unwrap_or_else(|| Bits::zero(self.value_width)),
            ]
        })
    }

    fn look(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let key: Vec<u64> = args[0].words().collect();
        let slot = self.peek(&key, env.now_ns);
        let argument = |index: usize| args[index].low_u64();
        let from = args.get(1).map_or(0, |from| from.low_u64() as u32);
        if method == FIND {
            return self.find(slot, from);
        }
        let flow = slot.map(|slot| &mut self.flows[slot as usize]);
        let kept = flow.as_ref().map(|flow| &flow.kept);
        match method {
            RANGE => {
                let is_complete = kept.is_some_and(Kept::is_complete);
                let (start, end) = kept.map_or((0, 0), |kept| (kept.start(), kept.next()));
                pack(&[
                    Bits::bool(kept.is_some()),
                    Bits::bool(is_complete),
                    Bits::new(32, start.into()),
                    Bits::new(32, end.into()),
                ])
            }
            READ => Bits::new(128, kept.map_or(0, |kept| kept.read(from))),
            OVERWRITE | APPEND => {
                let count = argument(if method == APPEND { 2 } else { 3 }) as usize;
                let parts = kept.and_then(|kept| kept.whole(from, count));
                let copied = parts.zip(env.packet.as_deref_mut()).is_some_and(|(parts, packet)| {
                    let bytes = parts.concat();
                    match method {
                        APPEND => packet.payload_append(&bytes),
                        _ => packet.payload_write(argument(2), &bytes),
                    }
                });
                Bits::bool(copied)
            }
            LINE => {
                let answer =
                    flow.map_or_else(Answer::nothing, |flow| flow.progress.line(&flow.kept, from));
                reply(answer, |line: Line, _| {
                    vec![
                        Bits::new(32, line.at.into()),
                        Bits::new(16, line.length as u128),
                        Bits::new(32, line.next.into()),
                    ]
                })
            }
            _ => {
                let answer = kept.map_or_else(Answer::nothing, |kept| number(kept, from));
                reply(answer, |number: Number, _| {
                    vec![Bits::new(64, number.value.into()), Bits::new(32, number.next.into())]
                })
            }
        }
    }

    fn key(&self, slot: u32) -> Bits {
        Bits::from_words(self.key_width, self.keys.key(slot))
    }

    /// Returns the row of a stream that is not expired at the time of the table.
    fn row(&self, slot: u32) -> Option<StateRow> {
        if !self.is_live(slot, 0) {
            return None;
        }
        let kept = &self.flows[slot as usize].kept;
        let (count, crc32) = kept.summary();
        let word = |name: &str, value: u32| (name.to_owned(), Bits::new(32, value.into()));
        let fields = vec![
            word("start", kept.start()),
            word("end", kept.next()),
            word("kept", count as u32),
            word("crc32", crc32),
        ];
        Some(StateRow { key: EntryKey::Exact(self.key(slot)), fields })
    }

    /// Returns the stream of a key; `None` if the key is a pattern.
    fn slot(&self, key: &EntryKey) -> Result<Option<Option<u32>>, Refused> {
        match key {
            EntryKey::Exact(bits) if bits.width() == self.key_width => {
                let words: Vec<u64> = bits.words().collect();
                Ok(Some(self.peek(&words, 0)))
            }
            EntryKey::Exact(bits) => {
                let (given, width) = (bits.width(), self.key_width);
                Err(Refused(format!("a key of {given} bits where the streams have {width}")))
            }
            _ => Ok(None),
        }
    }
}

/// Packs an answer: whether it is found, whether it is pending, and the fields. `fields` also gets
/// whether the answer is found.
fn reply<T>(answer: Answer<T>, fields: impl Fn(T, bool) -> Vec<Bits>) -> Bits {
    let (content, flags) = match answer {
        Answer::Found(content) => (content, [true, false]),
        Answer::Pending(content) => (content, [false, true]),
        Answer::Absent(content) => (content, [false, false]),
    };
    let mut parts = flags.map(Bits::bool).to_vec();
    parts.extend(fields(content, flags[0]));
    pack(&parts)
}

impl Instance for Stream {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        match method {
            OPEN..=CLOSE => self.change(method, args, env),
            _ => self.look(method, args, env),
        }
    }

    /// Appends a pattern to the table, as `match` does.
    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        if let EntryKey::Exact(_) = entry.key {
            return Err(Refused("only packets open streams; the table has patterns".into()));
        }
        if self.patterns.load(entry)? {
            self.forget_patterns();
        }
        Ok(())
    }

    /// Removes a pattern, or forgets the stream of a key.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        if let Some(slot) = self.slot(key)? {
            if let Some(slot) = slot {
                self.keys.remove(slot);
            }
            return Ok(slot.is_some());
        }
        let was_present = self.patterns.unload(key)?;
        if was_present {
            self.forget_patterns();
        }
        Ok(was_present)
    }

    /// Returns the number of streams.
    fn entries(&self) -> Option<u64> {
        Some(u64::from(self.keys.count()))
    }

    fn check(&self, entry: &Entry) -> Result<(), Refused> {
        self.patterns.check(&entry.key)
    }

    /// Returns the streams, sorted by key, then the patterns in table order.
    fn rows(&self) -> Vec<StateRow> {
        let mut rows: Vec<StateRow> = self.keys.all().filter_map(|slot| self.row(slot)).collect();
        rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        rows.extend(self.patterns.rows());
        rows
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        match self.slot(key)? {
            Some(slot) => Ok(slot.and_then(|slot| self.row(slot))),
            None => self.patterns.look_up(key),
        }
    }

    /// The patterns are in the first page. A stream keeps its slot until it is forgotten.
    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        if *from == Cursor::Start && !self.patterns.list().is_empty() {
            self.patterns.rows().for_each(visit);
            return Some(Cursor::At(0));
        }
        let row = |slot| self.keys.at(slot as u32).and_then(|slot| self.row(slot));
        visit_numbered(from, most, self.keys.slots() as usize, row, visit)
    }

    fn lifetime(&self, key: &EntryKey) -> Option<Lifetime> {
        let slot = self.slot(key).ok()???;
        let touched_ns = self.keys.touched_ns(slot);
        let ends_ns = (self.age_ns != 0).then(|| touched_ns.saturating_add(self.age_ns));
        Some(Lifetime { touched_ns, ends_ns })
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
