//! What every offload kind looks like from outside: its parameters, its methods and what each of them promises.

use std::collections::BTreeMap;
use std::ops::Range;

use wireloom_bits::Bits;

/// The leaves of a Loom C type in packed order, most significant first: how table files name the fields of keys and
/// values, and how lane-wise operations (`add`, `accumulate`) find their lanes. A scalar is one field with the empty
/// name; nested names are joined by dots, array elements are `name[0]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// Name and width in bits of each leaf.
    pub fields: Vec<(String, u32)>,
}

impl Layout {
    /// A scalar of `width` bits.
    pub fn scalar(width: u32) -> Self {
        Self { fields: vec![(String::new(), width)] }
    }

    /// Width of the packed value, in bits.
    pub fn width(&self) -> u32 {
        self.fields.iter().map(|(_, w)| w).sum()
    }
}

/// An offload of an engine, fully configured: what its declaration says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The kind's name, as in [`Kind::name`].
    pub kind: String,
    /// Layout of the key type, for kinds that have one.
    pub key: Option<Layout>,
    /// Layout of the value type, for kinds that have one.
    pub value: Option<Layout>,
    /// Named parameters, defaults filled in. Each has the width that its [`Param`] states.
    pub params: BTreeMap<String, Bits>,
}

impl Config {
    /// A parameter that the registry guarantees to be there.
    ///
    /// # Panics
    /// If the kind has no such parameter.
    pub fn param(&self, name: &str) -> &Bits {
        self.params.get(name).unwrap_or_else(|| panic!("offload kind {} has no parameter {name}", self.kind))
    }
}

/// The type of an argument, a parameter or a part of a reply, relative to the offload's own types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `uN`.
    Bits(u32),
    /// `bool`.
    Bool,
    /// The offload's key type.
    Key,
    /// The offload's value type.
    Value,
}

/// What a method answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyType {
    /// Nothing: the call is a statement.
    None,
    /// One value.
    One(ValueType),
    /// A structure; packed with the first field most significant, as all structures are.
    Record(&'static [(&'static str, ValueType)]),
}

/// How long a reply takes on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The same for every call: the kind can stand in a pipeline.
    Constant,
    /// Varies with data or contention.
    Variable,
}

/// A named parameter of a kind, as in `exact<Key, Value, size = 65536>`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its type; the declaration's constant is checked against it.
    pub ty: ValueType,
    /// Its value when the declaration does not give it (`Value`-typed parameters default to zero); `None` if it must.
    pub default: Option<u64>,
    /// Smallest and largest value allowed, for `Bits` parameters of at most 64 bits.
    pub range: (u64, u64),
    /// One sentence for the reference and for diagnostics.
    pub doc: &'static str,
}

/// What a method does to the state of its offload, which all packets share. An offload is *order-sensitive* in an
/// engine if the engine uses a [`Change`](Self::Change) method of it, or both `Read` and `Commuting` ones: then calls
/// by different packets must happen in arrival order for the result to be the golden one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateUse {
    /// Neither reads nor changes state.
    Pure,
    /// Reads state that the control plane or other methods change.
    Read,
    /// Changes state in a way that commutes with itself, and tells nothing of it.
    Commuting,
    /// Changes state in a way that does not commute, or tells what the state was.
    Change,
}

impl StateUse {
    /// Whether a call whose reply is unused still matters.
    pub fn has_effect(self) -> bool {
        matches!(self, Self::Commuting | Self::Change)
    }
}

/// Which bytes of the packet in hand a call works on, for machines that fetch them; numbers are those of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// None.
    Nothing,
    /// From the byte that one argument names on, as many as the other says.
    Range {
        /// The first byte.
        offset: usize,
        /// How many.
        length: usize,
    },
    /// From the byte that an argument names on, as many as the value type has.
    Chunk {
        /// The first byte.
        offset: usize,
    },
    /// The last ones of the packet that there is afterwards, as many as an argument says.
    End {
        /// How many.
        count: usize,
    },
    /// All.
    Whole,
}

/// A method of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Name and type of each argument.
    pub args: &'static [(&'static str, ValueType)],
    /// What it answers.
    pub reply: ReplyType,
    /// What it does to the offload's state.
    pub state: StateUse,
    /// Whether it reads the bytes of the packet in hand.
    pub reads_packet: bool,
    /// Whether it changes the packet in hand.
    pub writes_packet: bool,
    /// Which bytes of it.
    pub extent: Extent,
    /// How long its reply takes.
    pub delay: Delay,
    /// One or two sentences for the reference.
    pub doc: &'static str,
}

/// An offload kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in Loom C.
    pub name: &'static str,
    /// Whether its first positional argument is a key type.
    pub has_key: bool,
    /// Whether its next positional argument is a value type.
    pub has_value: bool,
    /// Its named parameters.
    pub params: &'static [Param],
    /// Its methods.
    pub methods: &'static [Method],
    /// A paragraph for the reference.
    pub doc: &'static str,
}

const U16: ValueType = ValueType::Bits(16);
const U32: ValueType = ValueType::Bits(32);
const U64: ValueType = ValueType::Bits(64);

/// What most methods share; each method states how it differs.
const METHOD: Method = Method {
    name: "",
    args: &[],
    reply: ReplyType::None,
    state: StateUse::Read,
    reads_packet: false,
    writes_packet: false,
    extent: Extent::Nothing,
    delay: Delay::Constant,
    doc: "",
};

const FOUND_VALUE: ReplyType = ReplyType::Record(&[("found", ValueType::Bool), ("value", ValueType::Value)]);

const fn param(
    name: &'static str,
    ty: ValueType,
    default: Option<u64>,
    range: (u64, u64),
    doc: &'static str,
) -> Param {
    Param { name, ty, default, range, doc }
}

/// Entries that an offload can have at most.
pub const MOST_ENTRIES: u64 = 1 << 28;
const SIZE: Param = param("size", U32, None, (1, MOST_ENTRIES), "Number of entries.");
const AGE: Param = param(
    "age",
    U64,
    Some(0),
    (0, u64::MAX),
    "An entry that was touched more than so many nanoseconds ago is gone; 0 keeps entries for ever.",
);

/// Every kind, in the order of the reference. (`engine` offloads are not a kind: their interface is the engine's.)
pub static KINDS: &[Kind] = &[
    Kind {
        name: "lpm",
        has_key: true,
        has_value: true,
        params: &[param(
            "miss",
            ValueType::Value,
            Some(0),
            (0, u64::MAX),
            "The answer when no prefix matches.",
        )],
        methods: &[Method {
            name: "search",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::One(ValueType::Value),
            doc: "The value of the longest prefix that matches the key, else `miss`.",
            ..METHOD
        }],
        doc: "Longest-prefix match. The control plane inserts, replaces and removes prefixes while packets flow.",
    },
    Kind {
        name: "exact",
        has_key: true,
        has_value: true,
        params: &[SIZE, AGE],
        methods: &[
            Method {
                name: "lookup",
                args: &[("key", ValueType::Key)],
                reply: FOUND_VALUE,
                delay: Delay::Variable,
                doc: "The value under the key. Does not touch the entry.",
                ..METHOD
            },
            Method {
                name: "touch",
                args: &[("key", ValueType::Key)],
                reply: FOUND_VALUE,
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "As `lookup`, and the entry's age starts again.",
                ..METHOD
            },
            Method {
                name: "insert",
                args: &[("key", ValueType::Key), ("value", ValueType::Value)],
                reply: ReplyType::Record(&[
                    ("ok", ValueType::Bool),
                    ("existed", ValueType::Bool),
                    ("value", ValueType::Value),
                ]),
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "Inserts if absent. `existed`: there was an entry, it stays and is touched. `ok`: the key is in the \
                      table now; false only when the table is full. `value`: what now stands under the key, else zero.",
                ..METHOD
            },
            Method {
                name: "update",
                args: &[("key", ValueType::Key), ("value", ValueType::Value)],
                reply: ReplyType::One(ValueType::Bool),
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "Replaces the value of an entry that is there and touches it; answers whether it was there.",
                ..METHOD
            },
            Method {
                name: "accumulate",
                args: &[("key", ValueType::Key), ("delta", ValueType::Value)],
                reply: ReplyType::Record(&[
                    ("ok", ValueType::Bool),
                    ("existed", ValueType::Bool),
                    ("value", ValueType::Value),
                ]),
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "Adds `delta` to the entry, field by field (each wraps at its own width), inserting it from zero if \
                      absent, and touches it. `ok` is false, and nothing changes, when it was absent and the table is full.",
                ..METHOD
            },
            Method {
                name: "remove",
                args: &[("key", ValueType::Key)],
                reply: FOUND_VALUE,
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "Removes the entry and answers what it was.",
                ..METHOD
            },
            Method {
                name: "age",
                args: &[("key", ValueType::Key)],
                reply: ReplyType::Record(&[("found", ValueType::Bool), ("nanoseconds", U64)]),
                delay: Delay::Variable,
                doc: "How long ago the entry was touched; zero for static entries. Does not touch it.",
                ..METHOD
            },
            Method {
                name: "expire",
                args: &[("older_than", U64)],
                reply: ReplyType::One(U32),
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "Removes every entry that was touched more than so many nanoseconds ago, but no static one; answers how \
                      many.",
                ..METHOD
            },
        ],
        doc: "Exact match: a table from keys to values. An entry older than `age` is as good as absent to every method, \
              and its place is free. A new entry takes the place of an expired one if the table is full. Entries that the \
              control plane loads are static: they do not age. Time is the latest that any changing call has seen, and never \
              runs backwards.",
    },
    Kind {
        name: "array",
        has_key: false,
        has_value: true,
        params: &[SIZE],
        methods: &[
            Method {
                name: "read",
                args: &[("index", U32)],
                reply: ReplyType::One(ValueType::Value),
                doc: "The element; zero if the index is out of range.",
                ..METHOD
            },
            Method {
                name: "write",
                args: &[("index", U32), ("value", ValueType::Value)],
                state: StateUse::Change,
                doc: "Replaces the element; no effect if the index is out of range (here and below).",
                ..METHOD
            },
            Method {
                name: "add",
                args: &[("index", U32), ("delta", ValueType::Value)],
                state: StateUse::Commuting,
                doc: "Adds to the element, field by field, each wrapping at its own width.",
                ..METHOD
            },
            Method {
                name: "fetch_add",
                args: &[("index", U32), ("delta", ValueType::Value)],
                reply: ReplyType::One(ValueType::Value),
                state: StateUse::Change,
                doc: "As `add`; answers the element from before.",
                ..METHOD
            },
            Method {
                name: "exchange",
                args: &[("index", U32), ("value", ValueType::Value)],
                reply: ReplyType::One(ValueType::Value),
                state: StateUse::Change,
                doc: "Replaces the element; answers the element from before.",
                ..METHOD
            },
            Method {
                name: "compare_swap",
                args: &[("index", U32), ("expected", ValueType::Value), ("value", ValueType::Value)],
                reply: ReplyType::Record(&[("swapped", ValueType::Bool), ("value", ValueType::Value)]),
                state: StateUse::Change,
                doc: "Replaces the element if it equals `expected`; answers the element from before.",
                ..METHOD
            },
        ],
        doc: "A directly indexed array. Elements are zero until the control plane or a packet writes them.",
    },
    Kind {
        name: "counter",
        has_key: false,
        has_value: false,
        params: &[SIZE],
        methods: &[Method {
            name: "count",
            args: &[("index", U32), ("bytes", U32)],
            state: StateUse::Commuting,
            doc: "Adds one packet and so many bytes to the counter; no effect if the index is out of range.",
            ..METHOD
        }],
        doc: "Packets and bytes, 64 bits each, for the control plane to read.",
    },
    Kind {
        name: "meter",
        has_key: false,
        has_value: false,
        params: &[
            SIZE,
            param("rates", U32, Some(1), (1, 2), "1: single rate (RFC 2697). 2: two rates (RFC 2698)."),
            param("cir", U64, None, (0, 1 << 40), "Committed information rate, bytes a second."),
            param("cbs", U64, None, (0, 1 << 40), "Committed burst size, bytes."),
            param("ebs", U64, Some(0), (0, 1 << 40), "Excess burst size, bytes (one rate)."),
            param("pir", U64, Some(0), (0, 1 << 40), "Peak information rate, bytes a second (two rates)."),
            param("pbs", U64, Some(0), (0, 1 << 40), "Peak burst size, bytes (two rates)."),
        ],
        methods: &[
            Method {
                name: "color",
                args: &[("index", U32), ("bytes", U32)],
                reply: ReplyType::One(ValueType::Bits(2)),
                state: StateUse::Change,
                doc: "Colour-blind marking: 0 green, 1 yellow, 2 red. Out of range: red.",
                ..METHOD
            },
            Method {
                name: "color_aware",
                args: &[("index", U32), ("bytes", U32), ("color", ValueType::Bits(2))],
                reply: ReplyType::One(ValueType::Bits(2)),
                state: StateUse::Change,
                doc: "Colour-aware marking of a packet that came with a colour (3 counts as red).",
                ..METHOD
            },
        ],
        doc: "Three-colour markers of RFC 2697 and RFC 2698, filled by arrival time. The declaration's rates hold for \
              every entry that the control plane does not set.",
    },
    Kind {
        name: "hash",
        has_key: true,
        has_value: false,
        params: &[
            param(
                "multiplier48",
                ValueType::Bits(48),
                Some(0x1000_0100_01ab),
                (0, (1 << 48) - 1),
                "Multiplier polynomial of `hash48`.",
            ),
            param(
                "multiplier64",
                U64,
                Some(0x1000_0100_0001_01ab),
                (0, u64::MAX),
                "Multiplier polynomial of `hash64`.",
            ),
        ],
        methods: &[
            Method {
                name: "crc32",
                args: &[("data", ValueType::Key)],
                reply: ReplyType::One(U32),
                state: StateUse::Pure,
                doc: "CRC-32 of IEEE 802.3 over the data's bytes in network order.",
                ..METHOD
            },
            Method {
                name: "hash48",
                args: &[("data", ValueType::Key)],
                reply: ReplyType::One(ValueType::Bits(48)),
                state: StateUse::Pure,
                doc: "The IXP hash unit's 48-bit hash: data times multiplier, modulo its generator polynomial, over GF(2).",
                ..METHOD
            },
            Method {
                name: "hash64",
                args: &[("data", ValueType::Key)],
                reply: ReplyType::One(U64),
                state: StateUse::Pure,
                doc: "The IXP hash unit's 64-bit hash. A key wider than the hash is reduced modulo the generator first.",
                ..METHOD
            },
        ],
        doc: "Hash functions over a key.",
    },
    Kind {
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
            doc: "Ones'-complement sum (RFC 1071), not inverted, of `length` bytes of the packet from byte `offset`, begun \
                  with `initial`. Bytes past the end count as zero; an odd last byte is padded with zero.",
            ..METHOD
        }],
        doc: "The Internet checksum over a range of the packet, header window and payload alike.",
    },
    Kind {
        name: "payload",
        has_key: false,
        has_value: true,
        params: &[],
        methods: &[
            Method {
                name: "read",
                args: &[("offset", U16)],
                reply: ReplyType::One(ValueType::Value),
                state: StateUse::Pure,
                reads_packet: true,
                extent: Extent::Chunk { offset: 0 },
                doc: "The chunk that begins at byte `offset` of the packet; bytes past the end read as zero.",
                ..METHOD
            },
            Method {
                name: "write",
                args: &[("offset", U16), ("data", ValueType::Value), ("count", U16)],
                reply: ReplyType::One(ValueType::Bool),
                state: StateUse::Pure,
                reads_packet: true,
                writes_packet: true,
                extent: Extent::Range { offset: 0, length: 2 },
                doc: "Overwrites `count` bytes from byte `offset` with the first bytes of `data`. False, and no effect, if \
                      they do not all lie inside the packet or `count` exceeds the chunk.",
                ..METHOD
            },
            Method {
                name: "append",
                args: &[("data", ValueType::Value), ("count", U16)],
                reply: ReplyType::One(ValueType::Bool),
                state: StateUse::Pure,
                reads_packet: true,
                writes_packet: true,
                extent: Extent::End { count: 1 },
                doc: "Appends the first `count` bytes of `data`. False, and no effect, if the packet would exceed 65,535 \
                      bytes or `count` exceeds the chunk.",
                ..METHOD
            },
            Method {
                name: "truncate",
                args: &[("length", U16)],
                reply: ReplyType::One(ValueType::Bool),
                state: StateUse::Pure,
                reads_packet: true,
                writes_packet: true,
                doc: "Cuts the packet to `length` bytes. False, and no effect, if it is shorter.",
                ..METHOD
            },
        ],
        doc: "The bytes of the packet by offset from its start, header window and payload alike, a chunk (the value type, \
              a whole number of bytes) at a time.",
    },
    Kind {
        name: "clock",
        has_key: false,
        has_value: false,
        params: &[],
        methods: &[Method {
            name: "now",
            reply: ReplyType::One(U64),
            state: StateUse::Pure,
            doc: "Nanoseconds: the arrival time of the packet that began the thread, so that every machine agrees.",
            ..METHOD
        }],
        doc: "Time.",
    },
    Kind {
        name: "random",
        has_key: false,
        has_value: false,
        params: &[param("seed", U64, Some(1), (0, u64::MAX), "Seed.")],
        methods: &[Method {
            name: "next",
            args: &[("stream", U32)],
            reply: ReplyType::One(U32),
            state: StateUse::Pure,
            doc: "A pseudo-random number that depends only on the seed, the packet's sequence number and `stream`, so \
                  that every machine draws the same.",
            ..METHOD
        }],
        doc: "Pseudo-random numbers (SplitMix64 of seed, sequence number and stream).",
    },
    Kind {
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
            doc: "Searches `length` bytes of the packet from byte `offset` for the leftmost match of any pattern (of \
                  those that begin there, the one that stands first in the table). `offset` of the reply is where it \
                  begins, from the packet's start.",
            ..METHOD
        }],
        doc: "Multi-pattern search of packet bytes. Patterns and their values come from the table.",
    },
    Kind {
        name: "park",
        has_key: true,
        has_value: false,
        params: &[SIZE, AGE],
        methods: &[
            Method {
                name: "keep",
                args: &[("key", ValueType::Key)],
                reply: ReplyType::One(ValueType::Bool),
                state: StateUse::Change,
                reads_packet: true,
                extent: Extent::Whole,
                delay: Delay::Variable,
                doc: "Keeps a copy of the packet in hand, its egress port with it, behind those already kept under the \
                      key. False when the park is full. The thread goes on; end it with `done`.",
                ..METHOD
            },
            Method {
                name: "take",
                args: &[("key", ValueType::Key)],
                reply: ReplyType::One(ValueType::Bool),
                state: StateUse::Change,
                reads_packet: true,
                writes_packet: true,
                extent: Extent::Whole,
                delay: Delay::Variable,
                doc: "Makes the oldest packet kept under the key the packet in hand, in place of the present one, and \
                      removes it from the park. Header window, ports and arrival time become the kept packet's; what \
                      leaves is still accounted to the packet that began the thread. False, and no effect, if there is \
                      none.",
            },
            Method {
                name: "expire",
                args: &[("older_than", U64)],
                reply: ReplyType::One(U32),
                state: StateUse::Change,
                delay: Delay::Variable,
                doc: "Throws away the packets kept for more than so many nanoseconds; answers how many.",
                ..METHOD
            },
        ],
        doc: "Packets set aside under a key. `size` counts packets; `age` throws them away by itself.",
    },
];

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}

impl Kind {
    /// The position and description of a method.
    pub fn method(&self, name: &str) -> Option<(usize, &'static Method)> {
        self.methods.iter().enumerate().find(|(_, m)| m.name == name)
    }
}

impl Extent {
    /// The bytes that a call with these arguments works on, of a packet that has `length` bytes afterwards.
    ///
    /// # Panics
    /// If there are fewer arguments than the method has.
    pub fn bytes(self, config: &Config, args: &[Bits], length: usize) -> Range<usize> {
        let argument = |index: usize| args[index].low_u64() as usize;
        let (first, count) = match self {
            Self::Nothing => (0, 0),
            Self::Range { offset, length } => (argument(offset), argument(length)),
            Self::Chunk { offset } => (argument(offset), ValueType::Value.width(config) as usize / 8),
            Self::End { count } => (length.saturating_sub(argument(count)), argument(count)),
            Self::Whole => (0, length),
        };
        first.min(length)..first.saturating_add(count).min(length)
    }
}

impl ValueType {
    /// Width in bits, given the offload's types.
    pub fn width(self, config: &Config) -> u32 {
        match self {
            Self::Bits(n) => n,
            Self::Bool => 1,
            Self::Key => config.key.as_ref().map_or(0, Layout::width),
            Self::Value => config.value.as_ref().map_or(0, Layout::width),
        }
    }
}

impl ReplyType {
    /// Width of the packed reply in bits, given the offload's types; 0 for none.
    pub fn width(self, config: &Config) -> u32 {
        match self {
            Self::None => 0,
            Self::One(ty) => ty.width(config),
            Self::Record(fields) => fields.iter().map(|(_, ty)| ty.width(config)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_that_needs_the_packets_bytes_says_which() {
        for method in KINDS.iter().flat_map(|kind| kind.methods) {
            // Only cutting needs none.
            let needs = (method.reads_packet || method.writes_packet) && method.name != "truncate";
            assert_eq!(method.extent != Extent::Nothing, needs, "{}", method.name);
        }
    }

    #[test]
    fn extents_end_with_the_packet() {
        let value = Some(Layout::scalar(64));
        let config = Config { kind: "payload".into(), key: None, value, params: BTreeMap::new() };
        let args = [90, 20].map(|value| Bits::new(16, value));
        let bytes = |extent: Extent| extent.bytes(&config, &args, 100);
        assert_eq!(bytes(Extent::Nothing), 0..0);
        assert_eq!(bytes(Extent::Range { offset: 0, length: 1 }), 90..100);
        assert_eq!(bytes(Extent::Range { offset: 1, length: 1 }), 20..40);
        assert_eq!(bytes(Extent::Chunk { offset: 0 }), 90..98);
        assert_eq!(bytes(Extent::End { count: 1 }), 80..100);
        assert_eq!(bytes(Extent::Whole), 0..100);
        assert_eq!(Extent::Whole.bytes(&config, &args, 0), 0..0);
        assert_eq!(Extent::Range { offset: 0, length: 1 }.bytes(&config, &args, 50), 50..50);
    }
}
