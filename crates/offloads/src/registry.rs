//! The registry: the parameters, methods and guarantees of every offload kind.

use std::collections::BTreeMap;
use std::ops::Range;

use wireloom_bits::Bits;

use crate::{Instance, Refused};

/// The leaves of a Loom C type in packed order, most significant first. Table files use their names
/// for fields of keys and values, and lane-wise operations (`add`, `accumulate`) apply to each
/// leaf. A scalar is one field with an empty name. Nested names are joined by dots, and array
/// elements are `name[0]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// The name and the width in bits of each leaf.
    pub fields: Vec<(String, u32)>,
    /// The members of each leaf that has an enumeration type, by name of the leaf. The control
    /// plane can write no other values there.
    pub enums: BTreeMap<String, Members>,
}

/// The name and the value of each member of an enumeration, in order of declaration.
pub type Members = Vec<(String, u64)>;

impl Layout {
    /// Returns the layout of a scalar of `width` bits.
    pub fn scalar(width: u32) -> Self {
        Self::plain(vec![(String::new(), width)])
    }

    /// Returns a layout without enumerations.
    pub fn plain(fields: Vec<(String, u32)>) -> Self {
        Self { fields, enums: BTreeMap::new() }
    }

    /// Returns the width of the packed value in bits.
    pub fn width(&self) -> u32 {
        self.fields.iter().map(|(_, w)| w).sum()
    }
}

/// The declaration of an engine's offload with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The name of the kind, as in [`OffloadKind::name`].
    pub kind: String,
    /// The layout of the key type, for kinds that have one.
    pub key: Option<Layout>,
    /// The layout of the value type, for kinds that have one.
    pub value: Option<Layout>,
    /// The named parameters, including defaults. Each has the width of its [`Param`].
    pub params: BTreeMap<String, Bits>,
}

impl Config {
    /// Returns a parameter that every configuration of the kind contains.
    ///
    /// # Panics
    /// If the kind has no such parameter.
    pub fn param(&self, name: &str) -> &Bits {
        self.params
            .get(name)
            .unwrap_or_else(|| panic!("offload kind {} has no parameter {name}", self.kind))
    }
}

impl Config {
    /// Whether times of the offload end at ticks.
    pub fn has_ticks(&self) -> bool {
        self.params.get("tick").is_some_and(|tick| !tick.is_zero())
    }

    /// Whether a step of the engine runs when the time of a key is over.
    pub fn has_step(&self) -> bool {
        self.params.get("step").is_some_and(|step| !step.is_zero())
    }
}

/// The type of an argument, a parameter or a part of a reply. It can refer to the types of the
/// offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `uN`.
    Bits(u32),
    /// `bool`.
    Bool,
    /// The key type of the offload.
    Key,
    /// The value type of the offload.
    Value,
}

/// The type of a method's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyType {
    /// No reply: the call is a statement.
    None,
    /// A single value.
    One(ValueType),
    /// A structure. The first field is the most significant, as in all structures.
    Record(&'static [(&'static str, ValueType)]),
}

/// The delay of a reply on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Every call has the same delay. The kind can be used in a pipeline.
    Constant,
    /// The delay varies with data or contention.
    Variable,
}

/// A named parameter of a kind, as in `exact<Key, Value, size = 65536>`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: &'static str,
    /// The type, which the constant in the declaration must have.
    pub ty: ValueType,
    /// The default value (zero for `Value`-typed parameters), or `None` if the declaration must
    /// give a value.
    pub default: Option<u64>,
    /// The smallest and the largest allowed value, for `Bits` parameters of at most 64 bits.
    pub range: (u64, u64),
    /// One sentence for the reference and for diagnostics.
    pub doc: &'static str,
    /// Whether the compiler sets the parameter, not the declaration.
    pub is_derived: bool,
}

/// The effect of a method on the state of its offload, which all packets share. An offload is
/// *order-sensitive* in an engine if the engine uses a [`Change`](Self::Change) method of it, or
/// both `Read` and `Commuting` methods. Calls by different packets must then execute in arrival
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

/// The bytes of the current packet that a call accesses, for machines that fetch them. Fields of
/// variants are indices of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// No bytes.
    Nothing,
    /// A range: one argument is the offset, another the number of bytes.
    Range {
        /// The argument that is the offset of the first byte.
        offset: usize,
        /// The argument that is the number of bytes.
        length: usize,
    },
    /// A range from an offset, as long as the value type.
    Chunk {
        /// The argument that is the offset of the first byte.
        offset: usize,
    },
    /// The end of the packet after the call.
    End {
        /// The argument that is the number of bytes.
        count: usize,
    },
    /// All bytes.
    Whole,
}

/// A method of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub name: &'static str,
    /// The name and the type of each argument.
    pub args: &'static [(&'static str, ValueType)],
    pub reply: ReplyType,
    pub state: StateUse,
    /// Whether the method reads bytes of the current packet.
    pub reads_packet: bool,
    /// Whether the method changes the current packet.
    pub writes_packet: bool,
    /// Whether the method can replace the current packet by another one. Ports and arrival time are
    /// then those of the other packet.
    pub replaces_packet: bool,
    /// Whether reply or effect depend on the arrival time of the packet.
    pub reads_arrival: bool,
    /// Whether a call advances the time of the offload to the arrival time of the packet.
    pub advances_time: bool,
    /// Whether reply or effect depend on the sequence number of the packet.
    pub reads_sequence: bool,
    /// The bytes of the packet that the method accesses.
    pub extent: Extent,
    /// The delay of the reply.
    pub delay: Delay,
    /// The parameter that an offload must give for calls of the method: one whose default is 0.
    pub needs: Option<&'static str>,
    /// The parameter with the most bytes of a packet for which the method is called. For a longer
    /// packet the reply is zero, and the call has no effect.
    pub longest: Option<&'static str>,
    /// One or two sentences for the reference.
    pub doc: &'static str,
}

impl Method {
    /// Whether the reply is a function of the arguments and of the packet that began the thread.
    /// Such a method changes nothing. Other packets, the control plane and edits of the packet do
    /// not change its reply.
    pub fn is_function(&self) -> bool {
        self.state == StateUse::Pure && !self.reads_packet && !self.writes_packet
    }
}

/// An offload kind.
#[derive(Clone, Copy, Debug)]
pub struct OffloadKind {
    /// The name in Loom C.
    pub name: &'static str,
    /// Whether the first positional argument is a key type.
    pub has_key: bool,
    /// Whether the next positional argument is a value type.
    pub has_value: bool,
    pub params: &'static [Param],
    pub methods: &'static [Method],
    /// The parameter that makes entries expire, if the kind has one. Unless it is 0, every method
    /// depends on the arrival time of the packet.
    pub expiry: Option<&'static str>,
    /// The method with which a step begins that runs when the time of a key is over, if the kind
    /// has such times. It takes a key, ends its time if it is over, and returns whether it was,
    /// perhaps with a value.
    pub claim: Option<&'static str>,
    /// A paragraph for the reference.
    pub doc: &'static str,
    /// The form of table entries, or `None` if the control plane has nothing to load.
    pub table: Option<TableForm>,
    /// Creates an instance in its initial state.
    ///
    /// # Errors
    /// If the types do not match the kind, or if there is not enough memory. The error is a
    /// sentence without a final period.
    pub make: fn(&Config) -> Result<Box<dyn Instance>, Refused>,
}

/// The form of a kind's table entries.
#[derive(Clone, Copy, Debug)]
pub struct TableForm {
    pub key: TableKey,
    /// Returns the layout of values, and the value of an entry that gives no fields.
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

/// Returns the layout of the value type of the offload, and zero for an entry that gives no fields.
pub(crate) fn declared_value(config: &Config) -> (Layout, Bits) {
    let layout = config.value.clone().unwrap_or_default();
    let zero = Bits::zero(layout.width());
    (layout, zero)
}

pub(crate) const U16: ValueType = ValueType::Bits(16);
pub(crate) const U32: ValueType = ValueType::Bits(32);
pub(crate) const U64: ValueType = ValueType::Bits(64);

/// The defaults of most methods. Each method states only what differs.
pub(crate) const METHOD: Method = Method {
    name: "",
    args: &[],
    reply: ReplyType::None,
    state: StateUse::Read,
    reads_packet: false,
    writes_packet: false,
    replaces_packet: false,
    reads_arrival: false,
    advances_time: false,
    reads_sequence: false,
    extent: Extent::Nothing,
    delay: Delay::Constant,
    needs: None,
    longest: None,
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
    Param { name, ty, default, range, doc, is_derived: false }
}

/// The maximum number of entries of an offload.
pub const MOST_ENTRIES: u64 = 1 << 28;
/// The parameter `size` of kinds with a fixed number of entries.
pub(crate) const SIZE: Param = param("size", U32, None, (1, MOST_ENTRIES), "Number of entries.");
/// The parameter `age` of kinds with ageing entries.
pub(crate) const AGE: Param = param(
    "age",
    U64,
    Some(0),
    (0, u64::MAX),
    "Nanoseconds; an entry that was touched longer ago has expired. 0: entries never expire.",
);

/// Whether the engine has a step for the times of the offload.
pub(crate) const STEP: Param = Param {
    is_derived: true,
    ..param("step", ValueType::Bits(1), Some(0), (0, 1), "Whether the engine has a step for it.")
};

pub use crate::kinds::{IN_PARTS, KINDS};

/// Returns the kind with a name: one of [`KINDS`] or [`IN_PARTS`].
pub fn kind(name: &str) -> Option<&'static OffloadKind> {
    KINDS.iter().chain(IN_PARTS.iter().map(|(_, kind)| kind)).find(|k| k.name == name)
}

/// Returns the kind that programs declare: one of [`IN_PARTS`] stands for another kind.
pub fn declared(name: &str) -> &str {
    let whole = IN_PARTS.iter().find(|(_, kind)| kind.name == name);
    whole.map_or(name, |(whole, _)| whole)
}

impl OffloadKind {
    /// Returns a method by name, with its index.
    pub fn method(&self, name: &str) -> Option<(usize, &'static Method)> {
        self.methods.iter().enumerate().find(|(_, m)| m.name == name)
    }

    /// Whether successful searches of a method are counted. The reply either contains `found`, or
    /// the kind is `lpm`, which returns the miss value otherwise.
    pub fn counts_found(&self, method: &Method) -> bool {
        method.tells_found() || self.name == "lpm"
    }
}

impl Method {
    /// Whether the reply begins with a flag that an entry was found.
    pub fn tells_found(&self) -> bool {
        matches!(self.reply, ReplyType::Record([("found", _), ..]))
    }
}

impl Extent {
    /// Returns the byte range that a call with these arguments accesses. `length` is the number of
    /// bytes of the packet after the call.
    ///
    /// # Panics
    /// If there are fewer arguments than the method requires.
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
    /// Returns the width in bits for the types of an offload.
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
    /// Returns the width of the packed reply in bits for the types of an offload; 0 without a
    /// reply.
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
            // Only `truncate` needs no extent, although it changes the packet.
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
