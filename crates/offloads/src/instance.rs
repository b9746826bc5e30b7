//! A configured offload with its state, and its interface for machines and the control plane.

use std::any::Any;

use wireloom_bits::{Bits, Known};
use wireloom_net::PacketInHand;

use crate::RawView;

/// The context of a call besides its arguments.
pub struct Env<'a> {
    /// The current packet; `None` inside a called engine, which has none.
    pub packet: Option<&'a mut PacketInHand>,
    /// The current time: the arrival time of the packet for which the thread was started, in
    /// nanoseconds.
    pub now_ns: u64,
    /// The sequence number of that packet.
    pub sequence: u64,
}

/// The key of a table entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKey {
    /// A prefix, for `lpm`. The first `length` bits of the key are significant, and the rest are
    /// zero.
    Prefix {
        /// The bits, as many as the key has.
        bits: Bits,
        /// The number of significant leading bits.
        length: u32,
    },
    /// A whole key, for `exact`.
    Exact(Bits),
    /// An index, for `array`, `counter` and `meter`.
    Index(u64),
    /// A byte string, for `match`.
    Pattern(Vec<u8>),
}

/// An entry that the control plane writes: its key and its packed value. For `meter`, the value
/// contains the rates; see [`crate::kinds::meter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: EntryKey,
    /// The packed value.
    pub value: Bits,
}

/// The reason why an entry of the control plane was refused: a sentence without a final period, to
/// follow "FILE:LINE: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// A row of an offload's state, for reports and comparison: its key and its fields, in a stable
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: EntryKey,
    /// The name and the value of each field.
    pub fields: Vec<(String, Bits)>,
}

/// A configured offload with its state. A machine that knows the type of a kind (`kinds::lpm::Lpm`,
/// ...) can convert a `&mut dyn Instance` to a `&mut dyn Any` and downcast it.
pub trait Instance: Any + Send + Duplicate {
    /// Executes a call. `method` is an index into the kind's methods, and the arguments have the
    /// widths that the method states. The reply is packed; a method without one returns a single
    /// zero bit.
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits;

    /// Inserts or replaces an entry for the control plane.
    ///
    /// # Errors
    /// If the kind has no table, if the key does not suit it, or if there is no room.
    fn load(&mut self, entry: Entry) -> Result<(), Refused>;

    /// Begins a load of many entries by the control plane. Calls need not see the entries before
    /// [`Instance::end_load`].
    fn begin_load(&mut self) {}

    /// Ends the load that [`Instance::begin_load`] began.
    ///
    /// # Errors
    /// If there is not enough memory for the loaded entries.
    fn end_load(&mut self) -> Result<(), Refused> {
        Ok(())
    }

    /// Removes an entry for the control plane. Returns whether it was present.
    ///
    /// # Errors
    /// If the kind has no table or the key does not suit it.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused>;

    /// Returns the state that packets have changed or the control plane has loaded: non-zero
    /// elements, live entries, kept packets.
    fn rows(&self) -> Vec<Row>;

    /// Visits these rows in no particular order. Large tables need not make a list of them.
    fn for_each_row(&self, visit: &mut dyn FnMut(Row)) {
        self.rows().into_iter().for_each(visit);
    }

    /// Returns the number of entries, or of kept packets, of a kind that holds them and knows without
    /// counting. Entries that have expired may count.
    fn entries(&self) -> Option<u64> {
        None
    }

    /// Returns the entry that the control plane would write for a row: its key and packed value.
    fn entry(&self, row: &Row) -> Entry {
        Entry { key: row.key.clone(), value: packed(&row.fields) }
    }

    /// Returns another handle on the same entries, for the packets of another core, of a kind whose
    /// entries can be looked up while they change. A change through one handle is a change for all.
    fn share(&self) -> Option<Box<dyn Instance>> {
        None
    }

    /// Returns a handle with which a control plane in another thread changes these entries, of a kind
    /// whose entries can be looked up while they change.
    fn writer(&self) -> Option<Box<dyn TableWriter>> {
        None
    }

    /// Returns what is certain of the replies of a method that only reads, whatever its arguments, as
    /// long as the state changes through this handle and its [writers](Instance::writer) alone. `None`
    /// if nothing is, or the kind does not know. It costs little to ask. A change through this handle
    /// can make less certain, one through a writer cannot; more becomes certain only by
    /// [`Instance::look_again`].
    fn certain(&self, method: usize) -> Option<Known> {
        let _ = method;
        None
    }

    /// Looks through the state, so that [`Instance::certain`] says all that it tells now. If a writer
    /// is changing the state, nothing happens: this never waits.
    fn look_again(&mut self) {}

    /// Says that packets may have changed the memory that [`Instance::raw`] shows: nothing is certain
    /// until [`Instance::look_again`].
    fn changed_outside(&mut self) {}

    /// Adds what packets changed in another instance of the same declaration, and takes it out
    /// there. Only kinds with [`StateUse::Commuting`](crate::StateUse::Commuting) methods do.
    fn absorb(&mut self, other: &mut dyn Instance) {
        let _ = other;
    }

    /// Returns the location of the state, for machines that implement the kind on the same memory.
    /// Kinds that no machine implements itself return nothing.
    fn raw(&mut self) -> Option<RawView> {
        None
    }

    /// Tells the instance that the machine no longer uses the view that [`Instance::raw`] returned,
    /// until it calls `raw` again. Call it after each batch: objects that a control plane in
    /// another thread replaces stay in memory until then.
    fn raw_done(&mut self) {}
}

/// A handle with which a control plane in another thread changes the entries of a table while packets
/// look them up: a lookup sees the old entry or the new one.
pub trait TableWriter: Send {
    /// Inserts or replaces an entry, or removes it if there is no value and the entry is present.
    /// Returns false, and changes nothing, if less would be certain of replies afterwards
    /// ([`Instance::certain`]). Packets may depend on that, so such a change must be made through the
    /// instance, by the machine that executes them.
    ///
    /// # Errors
    /// Those of [`Instance::load`] and [`Instance::unload`].
    fn change(&mut self, key: &EntryKey, value: Option<&Bits>) -> Result<bool, Refused>;

    /// Whether all packets from now on see the changes that were made. Not while a machine reads arrays
    /// that were replaced, because they were full: it reads the new ones after its next
    /// [`Instance::raw`].
    fn is_seen(&mut self) -> bool;
}

/// Packs fields, the first one most significant. Without fields the result is a single zero bit.
pub(crate) fn packed(fields: &[(String, Bits)]) -> Bits {
    let fields = fields.iter().map(|(_, bits)| bits.clone());
    fields.reduce(|high, low| high.concat(&low)).unwrap_or_else(|| Bits::zero(1))
}

/// Copies of instances with all their state. Every instance that implements `Clone` supports them.
pub trait Duplicate {
    /// Returns an independent instance with the same state.
    fn duplicate(&self) -> Box<dyn Instance>;

    /// Copies the state of another instance. Returns false, and changes nothing, if that instance
    /// is of another kind.
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
