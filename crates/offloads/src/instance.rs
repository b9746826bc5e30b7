//! A configured offload with its state, and its interface for machines and the control plane.

use std::any::Any;

use wireloom_bits::{Bits, Known};
use wireloom_net::PacketInHand;

use crate::RawView;

/// The context of a call besides its arguments.
pub struct Env<'a> {
    /// The current packet; `None` in a called engine.
    pub packet: Option<&'a mut PacketInHand>,
    /// The current time in nanoseconds: the arrival time of the packet that started the thread.
    pub now_ns: u64,
    /// The sequence number of that packet.
    pub sequence: u64,
}

/// The key of a table entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKey {
    /// A prefix, for `lpm`. The first `length` bits of the key are significant; the rest are zero.
    Prefix {
        /// The bits. The width is the width of the key.
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

/// An entry that the control plane writes. For `meter`, the value contains the rates; see
/// [`crate::kinds::meter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: EntryKey,
    /// The packed value.
    pub value: Bits,
}

/// The reason why an entry was refused. It is a sentence without a final period, which follows
/// "FILE:LINE: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// A row of an offload's state, for reports and comparison. Rows and fields have a stable order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    pub key: EntryKey,
    /// The name and the value of each field.
    pub fields: Vec<(String, Bits)>,
}

/// Where a visit of rows continues; see [`Instance::visit_from`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cursor {
    /// At the first row.
    #[default]
    Start,
    /// At the element or the slot with this number.
    At(u64),
    /// After this key, in the order of the kind.
    After(EntryKey),
}

impl Cursor {
    /// Returns the number at which a kind continues that numbers its rows.
    pub(crate) fn number(&self) -> usize {
        match self {
            Self::At(number) => *number as usize,
            Self::Start | Self::After(_) => 0,
        }
    }
}

/// The times of an entry that packets made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The time of the last touch, in nanoseconds.
    pub touched_ns: u64,
    /// The time at which the entry ends without another touch, in nanoseconds; `None` if it stays.
    pub ends_ns: Option<u64>,
}

/// A configured offload with its state. A machine that knows the type of a kind (`kinds::lpm::Lpm`,
/// ...) can convert a `&mut dyn Instance` to a `&mut dyn Any` and downcast it.
pub trait Instance: Any + Send + Duplicate {
    /// Executes a call. `method` is an index into the methods of the kind. The arguments have the
    /// widths that the method requires. The reply is packed; a method without a reply returns a
    /// single zero bit.
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits;

    /// Inserts or replaces an entry for the control plane.
    ///
    /// # Errors
    /// If the kind has no table, if the key does not match the kind, or if there is no room.
    fn load(&mut self, entry: Entry) -> Result<(), Refused>;

    /// Begins a bulk load by the control plane. Calls need not see the entries before
    /// [`Instance::end_load`].
    fn begin_load(&mut self) {}

    /// Ends the bulk load that [`Instance::begin_load`] began.
    ///
    /// # Errors
    /// If there is not enough memory for the loaded entries.
    fn end_load(&mut self) -> Result<(), Refused> {
        Ok(())
    }

    /// Removes an entry for the control plane. Returns whether it was present.
    ///
    /// # Errors
    /// If the kind has no table, or if the key does not match the kind.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused>;

    /// Returns the state that packets have changed or the control plane has loaded: non-zero
    /// elements, live entries and kept packets.
    fn rows(&self) -> Vec<StateRow>;

    /// Visits the same rows in no particular order. Large tables need not build a list for this.
    fn for_each_row(&self, visit: &mut dyn FnMut(StateRow)) {
        self.rows().into_iter().for_each(visit);
    }

    /// Returns the row of a key; `None` if [`rows`](Self::rows) does not contain it.
    ///
    /// # Errors
    /// If the key does not match the kind.
    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        Ok(self.rows().into_iter().find(|row| row.key == *key))
    }

    /// Visits a page of at most `most` rows (at least 1), from a cursor on. Returns the cursor of
    /// the next page, or `None` after the last one. A page may have no rows and not be the last.
    ///
    /// The table may change between two pages. A row that is there the whole time is visited
    /// exactly once; every other row at most once, unless its key leaves the table and returns.
    ///
    /// The work of a page is bounded by `most`, so that packets need not wait for a large table.
    /// Kinds whose contents are small, or have no such order, visit all rows in one page. `visit`
    /// must not use the instance, which may be locked.
    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        let _ = (from, most);
        self.for_each_row(visit);
        None
    }

    /// Returns the times of an entry; `None` if it has none, because it does not exist, does not age
    /// or was loaded by the control plane.
    fn lifetime(&self, key: &EntryKey) -> Option<Lifetime> {
        let _ = key;
        None
    }

    /// Returns an error if [`load`](Self::load) would refuse an entry even though there is room for
    /// it. The key matches the kind.
    ///
    /// # Errors
    /// The error of `load`.
    fn check(&self, entry: &Entry) -> Result<(), Refused> {
        let _ = entry;
        Ok(())
    }

    /// Returns the number of new keys for which there is certainly room; `None` if only loading
    /// them shows it, because the memory of the computer is the limit.
    fn room(&self) -> Option<u64> {
        None
    }

    /// Returns the number of entries or kept packets, including expired ones. `None` if the kind
    /// has none or would have to count them.
    fn entries(&self) -> Option<u64> {
        None
    }

    /// Returns the entry with which the control plane would write a row.
    fn entry(&self, row: &StateRow) -> Entry {
        Entry { key: row.key.clone(), value: packed(&row.fields) }
    }

    /// Returns another handle to the same entries, for the packets of another core. A change
    /// through one handle is visible through all. `None` if entries of this kind cannot be searched
    /// while they change.
    fn share(&self) -> Option<Box<dyn Instance>> {
        None
    }

    /// Returns a handle with which a control plane in another thread changes the entries. `None` if
    /// entries of this kind cannot be searched while they change.
    fn writer(&self) -> Option<Box<dyn TableWriter>> {
        None
    }

    /// Returns the bits that are certain in all replies of a method that only reads, whatever its
    /// arguments. They hold as long as the state changes only through this handle and its
    /// [writers](Instance::writer). `None` if no bit is certain or the kind does not track this.
    /// The call is cheap. A change through this handle can make fewer bits certain; a change
    /// through a writer cannot. Only [`Instance::look_again`] can make more bits certain.
    fn certain(&self, method: usize) -> Option<Known> {
        let _ = method;
        None
    }

    /// Scans the state, so that [`Instance::certain`] returns all bits that are certain now. Never
    /// waits: if a writer is changing the state, nothing happens.
    fn look_again(&mut self) {}

    /// Reports that packets may have changed the memory of [`Instance::raw`]. No bit is certain
    /// until [`Instance::look_again`].
    fn changed_outside(&mut self) {}

    /// Moves the changes by packets from another instance of the same declaration into this one.
    /// Only kinds with [`StateUse::Commuting`](crate::StateUse::Commuting) methods implement this.
    fn absorb(&mut self, other: &mut dyn Instance) {
        let _ = other;
    }

    /// Returns the location of the state, for machines that implement the kind on the same memory.
    /// `None` for kinds that no machine implements itself.
    fn raw(&mut self) -> Option<RawView> {
        None
    }

    /// Returns a time before which no key is due for the step of this offload, in nanoseconds.
    /// `None` if no key ever is.
    fn next_due(&self) -> Option<u64> {
        None
    }

    /// Passes each key that is due at this time for the step of this offload to `visit`, in the
    /// order of their bits. The time is at most the one of [`next_due`](Self::next_due). For each of
    /// these keys, the machine must then call the method that
    /// [claims](crate::OffloadKind::claim) it.
    fn due(&mut self, now_ns: u64, visit: &mut dyn FnMut(&Bits)) {
        let _ = (now_ns, visit);
    }

    /// Reports that the machine no longer uses the view of [`Instance::raw`]. Machines must call
    /// this after each batch, and call `raw` again before the next: objects that a control plane in
    /// another thread replaces stay in memory until then.
    fn raw_done(&mut self) {}
}

/// A handle with which a control plane in another thread changes a table while packets search it. A
/// lookup sees either the old entry or the new one.
pub trait TableWriter: Send {
    /// Inserts or replaces an entry; without a value, removes the entry if it is present. Returns
    /// false and changes nothing if the change would make fewer bits of replies certain
    /// ([`Instance::certain`]). Packets may depend on these bits, so the machine that executes the
    /// packets must make such a change through the instance.
    ///
    /// # Errors
    /// The errors of [`Instance::load`] and [`Instance::unload`].
    fn change(&mut self, key: &EntryKey, value: Option<&Bits>) -> Result<bool, Refused>;

    /// Whether all later packets see the changes so far. False while a machine still reads arrays
    /// that were replaced because they were full: it reads the new arrays after its next
    /// [`Instance::raw`].
    fn is_seen(&mut self) -> bool;
}

/// Packs fields. The first field is the most significant. Without fields, the result is a single
/// zero bit.
pub(crate) fn packed(fields: &[(String, Bits)]) -> Bits {
    let fields = fields.iter().map(|(_, bits)| bits.clone());
    fields.reduce(|high, low| high.concat(&low)).unwrap_or_else(|| Bits::zero(1))
}

/// Copies of instances with all their state. Every instance that implements `Clone` implements
/// this.
pub trait Duplicate {
    /// Returns an independent instance with the same state.
    fn duplicate(&self) -> Box<dyn Instance>;

    /// Copies the state of another instance. Returns false and changes nothing if that instance is
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
