//! The interface of every offload kind: its parameters, its methods and the guarantees of each.

use std::collections::BTreeMap;
use std::ops::Range;

use wireloom_bits::Bits;

use crate::{Instance, Refused};

/// The leaves of a Loom C type in packed order, most significant first. Table files name the fields
/// of keys and values by them, and lane-wise operations (`add`, `accumulate`) work on them. A
/// scalar is one field with an empty name. Nested names are joined by dots, and array elements are
/// `name[0]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// The name and the width in bits of each leaf.
    pub fields: Vec<(String, u32)>,
    /// The members of each leaf of an enumeration type, by the leaf's name. Entries of the control
    /// plane have no other values there.
    pub enums: BTreeMap<String, Members>,
}

/// Name and value of each member of an enumeration, in the order of its declaration.
pub type Members = Vec<(String, u64)>;

impl Layout {
    /// A scalar of `width` bits.
    pub fn scalar(width: u32) -> Self {
        Self::plain(vec![(String::new(), width)])
    }

    /// Leaves of which none is of an enumeration type.
    pub fn plain(fields: Vec<(String, u32)>) -> Self {
        Self { fields, enums: BTreeMap::new() }
    }

    /// The width of the packed value in bits.
    pub fn width(&self) -> u32 {
        self.fields.iter().map(|(_, w)| w).sum()
    }
}

/// The declaration of an engine's offload with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The kind's name, as in [`Kind::name`].
    pub kind: String,
    /// The layout of the key type, for kinds that have one.
    pub key: Option<Layout>,
    /// The layout of the value type, for kinds that have one.
    pub value: Option<Layout>,
    /// The named parameters, with defaults filled in. Each has the width that its [`Param`] states.
    pub params: BTreeMap<String, Bits>,
}

impl Config {
    /// Returns a parameter that every configuration of the kind has.
    ///
    /// # Panics
    /// If the kind has no such parameter.
    pub fn param(&self, name: &str) -> &Bits {
        self.params
            .get(name)
            .unwrap_or_else(|| panic!("offload kind {} has no parameter {name}", self.kind))
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

/// The type of a method's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyType {
    /// No reply: the call is a statement.
    None,
    /// One value.
    One(ValueType),
    /// A structure. It is packed with the first field most significant, like all structures.
    Record(&'static [(&'static str, ValueType)]),
}

/// The delay of a reply on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The same delay for every call. The kind can be used in a pipeline.
    Constant,
    /// A delay that varies with data or contention.
    Variable,
}

/// A named parameter of a kind, as in `exact<Key, Value, size = 65536>`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its type, which the declaration's constant must have.
    pub ty: ValueType,
    /// Its value if the declaration does not give it (`Value`-typed parameters default to zero), or
    /// `None` if the declaration must give it.
    pub default: Option<u64>,
    /// The smallest and the largest allowed value, for `Bits` parameters of at most 64 bits.
    pub range: (u64, u64),
    /// One sentence for the reference and for diagnostics.
    pub doc: &'static str,
}

/// The effect of a method on the state of its offload, which all packets share. An offload is
/// *order-sensitive* in an engine if the engine uses a [`Change`](Self::Change) method of it, or
/// both `Read` and `Commuting` methods. Calls by different packets must then happen in arrival
/// order for the result to match the golden model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateUse {
    /// Neither reads nor changes state.
    Pure,
    /// Reads state that the control plane or other methods change.
    Read,
    /// Changes state in a way that commutes with itself, and returns nothing about the state.
    Commuting,
    /// Changes state in a way that does not commute, or returns the previous state.
    Change,
}

impl StateUse {
    /// Whether a call matters even if its reply is unused.
    pub fn has_effect(self) -> bool {
        matches!(self, Self::Commuting | Self::Change)
    }
}

/// The bytes of the current packet that a call accesses, for machines that fetch them. Numbers are
/// argument indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// None.
    Nothing,
    /// The bytes from the offset in one argument on, as many as another argument says.
    Range {
        /// The argument with the offset of the first byte.
        offset: usize,
        /// The argument with the number of bytes.
        length: usize,
    },
    /// The bytes from the offset in an argument on, as many as the value type has.
    Chunk {
        /// The argument with the offset of the first byte.
        offset: usize,
    },
    /// The last bytes of the packet after the call, as many as an argument says.
    End {
        /// The argument with the number of bytes.
        count: usize,
    },
    /// All bytes.
    Whole,
}

/// A method of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The name and the type of each argument.
    pub args: &'static [(&'static str, ValueType)],
    /// Its reply.
    pub reply: ReplyType,
    /// Its effect on the offload's state.
    pub state: StateUse,
    /// Whether it reads bytes of the current packet.
    pub reads_packet: bool,
    /// Whether it changes the current packet.
    pub writes_packet: bool,
    /// Whether its reply or its effect depends on the packet's arrival time.
    pub reads_arrival: bool,
    /// Whether its reply or its effect depends on the packet's sequence number.
    pub reads_sequence: bool,
    /// The bytes of the packet that it accesses.
    pub extent: Extent,
    /// The delay of its reply.
    pub delay: Delay,
    /// One or two sentences for the reference.
    pub doc: &'static str,
}

impl Method {
    /// Whether the reply is a function of the arguments and of the packet that began the thread:
    /// the method changes nothing, and neither other packets nor the control plane nor edits of
    /// the packet change what it replies.
    pub fn is_function(&self) -> bool {
        self.state == StateUse::Pure && !self.reads_packet && !self.writes_packet
    }
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
    /// The parameter that makes entries expire, if it has one: unless it is 0, every method depends
    /// on the packet's arrival time.
    pub expiry: Option<&'static str>,
    /// A paragraph for the reference.
    pub doc: &'static str,
    /// The form of its tables' entries, or `None` if the control plane has nothing to load.
    pub table: Option<TableForm>,
    /// Creates an instance as declared, in its initial state.
    ///
    /// # Errors
    /// If the types do not suit the kind, or if there is not enough memory. The error is a sentence
    /// without a final period.
    pub make: fn(&Config) -> Result<Box<dyn Instance>, Refused>,
}

/// The form of the entries of a kind's tables.
#[derive(Clone, Copy, Debug)]
pub struct TableForm {
    /// The form of their keys.
    pub key: TableKey,
    /// The layout of their values, and the value of an entry that gives no fields.
    pub value: fn(&Config) -> (Layout, Bits),
}

/// The form of the keys of table entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKey {
    /// A prefix of the key type.
    Prefix,
    /// A whole key of the key type.
    Whole,
    /// An index.
    Index,
    /// A byte string.
    Pattern,
}

/// Returns the layout of the offload's value type, and zero as the value of an entry that gives no
/// fields.
pub(crate) fn declared_value(config: &Config) -> (Layout, Bits) {
    let layout = config.value.clone().unwrap_or_default();
    let zero = Bits::zero(layout.width());
    (layout, zero)
}

pub(crate) const U16: ValueType = ValueType::Bits(16);
pub(crate) const U32: ValueType = ValueType::Bits(32);
pub(crate) const U64: ValueType = ValueType::Bits(64);

/// The defaults of most methods. Each method states only its differences.
pub(crate) const METHOD: Method = Method {
    name: "",
    args: &[],
    reply: ReplyType::None,
    state: StateUse::Read,
    reads_packet: false,
    writes_packet: false,
    reads_arrival: false,
    reads_sequence: false,
    extent: Extent::Nothing,
    delay: Delay::Constant,
    doc: "",
};

/// The reply of methods that search for an entry.
pub(crate) const FOUND_VALUE: ReplyType =
    ReplyType::Record(&[("found", ValueType::Bool), ("value", ValueType::Value)]);

pub(crate) const fn param(
    name: &'static str,
    ty: ValueType,
    default: Option<u64>,
    range: (u64, u64),
    doc: &'static str,
) -> Param {
    Param { name, ty, default, range, doc }
}

/// The maximum number of entries of an offload.
pub const MOST_ENTRIES: u64 = 1 << 28;
/// The parameter of kinds with a number of entries.
pub(crate) const SIZE: Param = param("size", U32, None, (1, MOST_ENTRIES), "Number of entries.");
/// The parameter of kinds with ageing entries.
pub(crate) const AGE: Param = param(
    "age",
    U64,
    Some(0),
    (0, u64::MAX),
    "Nanoseconds; an entry that was touched longer ago has expired. 0: entries never expire.",
);

pub use crate::kinds::KINDS;

/// Returns the kind with a name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}

impl Kind {
    /// Returns the index and the description of a method.
    pub fn method(&self, name: &str) -> Option<(usize, &'static Method)> {
        self.methods.iter().enumerate().find(|(_, m)| m.name == name)
    }

    /// Whether calls of a method that found something are counted: its reply says so, or it searches
    /// prefixes and has a miss value.
    pub fn counts_found(&self, method: &Method) -> bool {
        method.tells_found() || self.name == "lpm"
    }
}

impl Method {
    /// Whether its reply begins with whether it found an entry.
    pub fn tells_found(&self) -> bool {
        matches!(self.reply, ReplyType::Record([("found", _), ..]))
    }
}

impl Extent {
    /// Returns the range of bytes that a call with these arguments accesses, in a packet that has
    /// `length` bytes after the call.
    ///
    /// # Panics
    /// If there are fewer arguments than the method has.
    pub fn bytes(self, config: &Config, args: &[Bits], length: usize) -> Range<usize> {
        let argument = |index: usize| args[index].low_u64() as usize;
        let (first, count) = match self {
            Self::Nothing => (0, 0),
            Self::Range { offset, length } => (argument(offset), argument(length)),
            Self::Chunk { offset } => {
                (argument(offset), ValueType::Value.width(config) as usize / 8)
            }
            Self::End { count } => (length.saturating_sub(argument(count)), argument(count)),
            Self::Whole => (0, length),
        };
        first.min(length)..first.saturating_add(count).min(length)
    }
}

impl ValueType {
    /// The width in bits, given the offload's types.
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
    /// The width of the packed reply in bits, given the offload's types; 0 for none.
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
            // Only `truncate` needs no extent.
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
