//! A configured offload with its state, and how machines and the control plane use it.

use std::any::Any;

use wireloom_bits::Bits;
use wireloom_net::PacketInHand;

use crate::RawView;

/// The context of a call besides its arguments.
pub struct Env<'a> {
    /// The current packet; `None` inside a called engine, which has none.
    pub packet: Option<&'a mut PacketInHand>,
    /// Now: the arrival time of the packet that the thread was begun for, in nanoseconds.
    pub now_ns: u64,
    /// The sequence number of that packet.
    pub sequence: u64,
}

/// The key of a table entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKey {
    /// A prefix, for `lpm`: the first `length` bits of the key count, and the rest are zero.
    Prefix {
        /// Key-wide bits.
        bits: Bits,
        /// Number of leading bits that count.
        length: u32,
    },
    /// A whole key. `exact`.
    Exact(Bits),
    /// An index. `array`, `counter`, `meter`.
    Index(u64),
    /// A byte string. `match`.
    Pattern(Vec<u8>),
}

/// An entry that the control plane writes: its key and its packed value (for `meter`: the rates,
/// see there).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where.
    pub key: EntryKey,
    /// What.
    pub value: Bits,
}

/// Why the control plane's entry was refused: a sentence without a final stop, for "FILE:LINE:
/// ...".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// One row of an offload's state: key and packed fields, in a stable order, for reports and
/// comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where.
    pub key: EntryKey,
    /// Name and value of each field.
    pub fields: Vec<(String, Bits)>,
}

/// A configured offload with its state. A machine that knows a kind's own type (`kinds::lpm::Lpm`,
/// ...) can turn a `&mut dyn Instance` into a `&mut dyn Any` and downcast it.
pub trait Instance: Any + Send + Duplicate {
    /// Executes a call: `method` is an index into the kind's methods, the arguments have the widths
    /// that it states. The reply is packed; a method without one returns a single zero bit.
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits;

    /// The control plane inserts or replaces an entry.
    ///
    /// # Errors
    /// If the kind has no table, the key does not suit it, or there is no room.
    fn load(&mut self, entry: Entry) -> Result<(), Refused>;

    /// The control plane is about to load many entries: calls need not see them before
    /// [`Instance::end_load`].
    fn begin_load(&mut self) {}

    /// Ends the load that [`Instance::begin_load`] began.
    ///
    /// # Errors
    /// If there is not enough memory for what was loaded.
    fn end_load(&mut self) -> Result<(), Refused> {
        Ok(())
    }

    /// The control plane removes an entry; returns whether it was there.
    ///
    /// # Errors
    /// If the kind has no table or the key does not suit it.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused>;

    /// Returns the state that packets have changed or the control plane has loaded: non-zero
    /// elements, live entries, kept packets.
    fn rows(&self) -> Vec<Row>;

    /// The entry that the control plane would write for a row: its key and packed value.
    fn entry(&self, row: &Row) -> Entry {
        Entry { key: row.key.clone(), value: packed(&row.fields) }
    }

    /// Returns the location of the state, for machines that realise the kind over the same memory.
    /// `lpm`, `array` and `counter` return it (and only they need to).
    fn raw(&mut self) -> Option<RawView> {
        None
    }

    /// Tells the instance that the machine no longer uses what [`Instance::raw`] returned, until it
    /// asks again. Call it after each batch: objects that a control plane in another thread
    /// replaces stay in memory until then.
    fn raw_done(&mut self) {}
}

/// The packed value of fields, the first one most significant; a single zero bit of none.
pub(crate) fn packed(fields: &[(String, Bits)]) -> Bits {
    let fields = fields.iter().map(|(_, bits)| bits.clone());
    fields.reduce(|high, low| high.concat(&low)).unwrap_or_else(|| Bits::zero(1))
}

/// Copies of instances, with all their state. Every instance that can be cloned has them.
pub trait Duplicate {
    /// An instance of its own with the same state.
    fn duplicate(&self) -> Box<dyn Instance>;

    /// Takes over the state of another instance. Returns false, and changes nothing, if that one is
    /// of another kind.
    fn assign(&mut self, other: &dyn Instance) -> bool;
}

impl<T: Instance + Clone> Duplicate for T {
    fn duplicate(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn assign(&mut self, other: &dyn Instance) -> bool {
        let other: &dyn Any = other;
        let Some(other) = other.downcast_ref::<T>() else { return false };
        self.clone_from(other);
        true
    }
}
