//! `lpm`: longest-prefix match. The module [`crate::lpm`] contains the data structure.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use wireloom_bits::{Bits, Known};

use crate::kinds::field_values;
use crate::lpm::{Certain, Reader, Table};
use crate::registry::{
    METHOD, Method, OffloadKind, ReplyType, TableForm, TableKey, ValueType, declared_value, param,
};
use crate::{
    Config, Cursor, Entry, EntryKey, Env, Instance, Layout, RawView, Refused, StateRow, TableWriter,
};

/// The interface of `lpm`.
pub const KIND: OffloadKind = OffloadKind {
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
        doc: "Returns the value of the longest prefix that matches the key, or `miss` if none \
              does.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "Longest-prefix match. The control plane inserts, replaces and removes prefixes while \
          packets flow.",
    table: Some(TableForm { key: TableKey::Prefix, value: declared_value }),
    make: |config| Ok(Box::new(Lpm::new(config)?)),
};

/// An instance of `lpm`.
pub struct Lpm {
    key_width: u32,
    miss: Bits,
    layout: Layout,
    table: SharedTable,
    certain: Certain,
    reader: Reader,
}

/// A table that several threads may change. While there is more than one handle, no bit of the
/// replies of `lpm` is certain.
#[derive(Clone)]
pub struct SharedTable {
    table: Arc<Mutex<Table>>,
    /// Counts the handles. Writers are not counted, since they preserve all certain bits.
    handles: Arc<()>,
}

impl SharedTable {
    fn new(table: Table) -> Self {
        Self { table: Arc::new(Mutex::new(table)), handles: Arc::default() }
    }

    fn is_only_handle(&self) -> bool {
        Arc::strong_count(&self.handles) == 1
    }
}

impl Deref for SharedTable {
    type Target = Mutex<Table>;

    fn deref(&self) -> &Mutex<Table> {
        &self.table
    }
}

/// The handle of a control plane in another thread.
struct Writer(Arc<Mutex<Table>>);

impl TableWriter for Writer {
    fn change(&mut self, key: &EntryKey, value: Option<&Bits>) -> Result<bool, Refused> {
        let (bits, length) = prefix(key)?;
        let mut table = locked(&self.0);
        match value {
            // A removal keeps all certain bits, since the miss value always counts.
            None => table.remove(bits, length)?,
            Some(value) if table.agrees(value) => table.insert(bits, length, value)?,
            Some(_) => return Ok(false),
        };
        Ok(true)
    }

    fn is_seen(&mut self) -> bool {
        locked(&self.0).is_seen()
    }
}

fn locked(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    // A panic elsewhere cannot have left a half-made change visible to lookups.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lpm {
    /// Creates an instance as declared, without prefixes.
    ///
    /// # Errors
    /// If a type is missing or too wide, or if there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let (Some(key), Some(layout)) = (&config.key, config.value.clone()) else {
            return Err(Refused("a prefix table needs a key type and a value type".into()));
        };
        let (key_width, miss) = (key.width(), config.param("miss").clone());
        let table = Table::new(key_width, &miss)?;
        Ok(Self {
            key_width,
            miss,
            layout,
            reader: table.reader(),
            certain: table.certain().clone(),
            table: SharedTable::new(table),
        })
    }

    /// Returns a handle to the table, which can be changed during lookups.
    pub fn table(&self) -> SharedTable {
        self.table.clone()
    }

    /// Returns the longest prefix that matches a key, if one does.
    ///
    /// # Panics
    /// If the width of the key is not the width of the table.
    pub fn longest_prefix(&self, key: &Bits) -> Option<EntryKey> {
        assert_eq!(key.width(), self.key_width, "the key's width");
        let leading = |length: u32| {
            let below = self.key_width - length;
            key.lshr(below).shl(below)
        };
        self.with_table(|table| {
            let mut lengths = (0..=self.key_width).rev();
            let length = lengths.find(|&length| table.get(&leading(length), length).is_some())?;
            Some(EntryKey::Prefix { bits: leading(length), length })
        })
    }

    /// Returns an independent reader, for a machine that performs lookups itself.
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    fn row(&self, bits: Bits, length: u32, value: &Bits) -> StateRow {
        let fields = field_values(&self.layout, value);
        StateRow { key: EntryKey::Prefix { bits, length }, fields }
    }

    fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        work(&mut locked(&self.table))
    }
}

impl Clone for Lpm {
    /// Returns an independent instance with the same prefixes.
    fn clone(&self) -> Self {
        let same = "what one table has room for has room in another";
        let mut table = Table::new(self.key_width, &self.miss).expect(same);
        table.begin_bulk();
        self.with_table(|own| {
            own.for_each(&mut |bits, length, value| {
                table.insert(&bits, length, &value).expect(same);
            });
        });
        table.end_bulk().expect(same);
        Self {
            key_width: self.key_width,
            miss: self.miss.clone(),
            layout: self.layout.clone(),
            reader: table.reader(),
            certain: table.certain().clone(),
            table: SharedTable::new(table),
        }
    }
}

fn prefix(key: &EntryKey) -> Result<(&Bits, u32), Refused> {
    match key {
        EntryKey::Prefix { bits, length } => Ok((bits, *length)),
        _ => Err(Refused("the key is not a prefix".into())),
    }
}

impl Instance for Lpm {
    fn call(&mut self, _method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        self.reader.pin().lookup(&args[0])
    }

    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let (bits, length) = prefix(&entry.key)?;
        self.with_table(|table| table.insert(bits, length, &entry.value)).map(|_| ())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let (bits, length) = prefix(key)?;
        self.with_table(|table| table.remove(bits, length))
    }

    fn begin_load(&mut self) {
        self.with_table(Table::begin_bulk);
    }

    fn end_load(&mut self) -> Result<(), Refused> {
        self.with_table(Table::end_bulk)
    }

    fn entries(&self) -> Option<u64> {
        Some(self.with_table(|table| table.len() as u64))
    }

    /// Returns all prefixes, sorted by bits, then by length.
    fn rows(&self) -> Vec<StateRow> {
        let mut rows = Vec::new();
        self.for_each_row(&mut |row| rows.push(row));
        rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        rows
    }

    fn for_each_row(&self, visit: &mut dyn FnMut(StateRow)) {
        self.with_table(|table| {
            table.for_each(&mut |bits, length, value| visit(self.row(bits, length, &value)));
        });
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        let (bits, length) = prefix(key)?;
        let value = self.with_table(|table| table.get(bits, length));
        Ok(value.map(|value| self.row(bits.clone(), length, &value)))
    }

    /// The order of prefixes depends only on the prefixes themselves.
    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        let after = match from {
            Cursor::After(EntryKey::Prefix { bits, length }) => Some((bits, *length)),
            _ => None,
        };
        let mut left = most;
        let mut next = None;
        self.with_table(|table| {
            table.for_each_after(after, &mut |bits, length, value| {
                left -= 1;
                if left == 0 {
                    next = Some(Cursor::After(EntryKey::Prefix { bits: bits.clone(), length }));
                }
                visit(self.row(bits, length, &value));
                left > 0
            });
        });
        next
    }

    fn share(&self) -> Option<Box<dyn Instance>> {
        Some(Box::new(Self {
            key_width: self.key_width,
            miss: self.miss.clone(),
            layout: self.layout.clone(),
            reader: self.reader.clone(),
            certain: self.certain.clone(),
            table: self.table(),
        }))
    }

    fn writer(&self) -> Option<Box<dyn TableWriter>> {
        Some(Box::new(Writer(Arc::clone(&self.table.table))))
    }

    /// Returns `None` if a handle other than a writer could change the table.
    fn certain(&self, _method: usize) -> Option<Known> {
        self.table.is_only_handle().then(|| self.certain.known())
    }

    fn look_again(&mut self) {
        match self.table.try_lock() {
            Ok(mut table) => table.look_again(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().look_again(),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    fn raw(&mut self) -> Option<RawView> {
        Some(RawView::Lpm(self.reader.hold()))
    }

    fn raw_done(&mut self) {
        self.reader.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    fn bench() -> Bench {
        let value = [("port", 8), ("class", 8)];
        Bench::new("lpm", Some(&[("", 32)]), Some(&value), &[("miss", 0x00ff)])
    }

    fn entry(bits: u128, length: u32, value: u128) -> Entry {
        Entry {
            key: EntryKey::Prefix { bits: Bits::new(32, bits), length },
            value: Bits::new(16, value),
        }
    }

    #[test]
    fn the_longest_prefix_wins_and_a_miss_is_what_was_declared() {
        let mut b = bench();
        let search = |b: &mut Bench, key| b.call("search", &[Bits::new(32, key)]).low_u64();
        assert_eq!(search(&mut b, 0x0a00_0001), 0x00ff);
        for (bits, length, value) in [
            (0x0a00_0000, 8, 8),
            (0x0a01_0000, 16, 16),
            (0x0a01_0200, 24, 24),
            (0x0a01_0203, 32, 32),
        ] {
            b.instance.load(entry(bits, length, value)).unwrap();
        }
        for (key, value) in [
            (0x0a02_0000, 8),
            (0x0a01_0000, 16),
            (0x0a01_0201, 24),
            (0x0a01_0203, 32),
            (0x0b00_0000, 255),
        ] {
            assert_eq!(search(&mut b, key), value, "{key:#x}");
        }
        b.instance.load(entry(0, 0, 1)).unwrap();
        assert_eq!(search(&mut b, 0x0b00_0000), 1);
        assert_eq!(b.instance.unload(&entry(0x0a01_0200, 24, 0).key), Ok(true));
        assert_eq!(b.instance.unload(&entry(0x0a01_0200, 24, 0).key), Ok(false));
        assert_eq!(search(&mut b, 0x0a01_0201), 16);
        let keys: Vec<EntryKey> = b.instance.rows().into_iter().map(|row| row.key).collect();
        let expected = [(0, 0), (0x0a00_0000, 8), (0x0a01_0000, 16), (0x0a01_0203, 32)];
        assert_eq!(keys, expected.map(|(bits, length)| entry(bits, length, 0).key));
    }

    #[test]
    fn the_longest_prefix_of_a_key_is_found() {
        let config = crate::kinds::tests::config("lpm", Some(&[("", 32)]), Some(&[("", 16)]), &[]);
        let mut lpm = Lpm::new(&config).unwrap();
        let found = |lpm: &Lpm, key| lpm.longest_prefix(&Bits::new(32, key));
        assert_eq!(found(&lpm, 0x0a01_0203), None);
        let entries = [(0, 0), (0x0a00_0000, 8), (0x0a01_0200, 24), (0x0a01_0203, 32)];
        let entries = entries.map(|(bits, length)| entry(bits, length, 1));
        entries.iter().for_each(|entry| lpm.load(entry.clone()).unwrap());
        for (key, expected) in
            [(0x0b00_0000, 0), (0x0a01_0300, 1), (0x0a01_02ff, 2), (0x0a01_0203, 3)]
        {
            assert_eq!(found(&lpm, key).as_ref(), Some(&entries[expected].key), "{key:#x}");
        }
    }

    #[test]
    fn entries_that_do_not_suit_are_refused() {
        let mut b = bench();
        for bad in [entry(1, 24, 0), entry(0, 33, 0)] {
            assert!(b.instance.load(bad).is_err());
        }
        let index = Entry { key: EntryKey::Index(1), value: Bits::zero(16) };
        assert_eq!(b.instance.load(index), Err(Refused("the key is not a prefix".into())));
    }

    #[test]
    fn what_all_values_share_is_certain_while_nobody_else_has_the_table() {
        let config = crate::kinds::tests::config("lpm", Some(&[("", 32)]), Some(&[("", 16)]), &[]);
        let mut lpm = Lpm::new(&config).unwrap();
        lpm.load(entry(0x0a00_0000, 8, 0x0100)).unwrap();
        let zeros = |lpm: &Lpm| lpm.certain(0).map(|known| known.zeros.low_u64());
        assert_eq!(zeros(&lpm), Some(0xfeff));
        let shared = lpm.share();
        assert_eq!(zeros(&lpm), None);
        drop(shared);
        assert_eq!(lpm.unload(&entry(0x0a00_0000, 8, 0).key), Ok(true));
        lpm.look_again();
        assert_eq!(zeros(&lpm), Some(0xffff));
    }

    #[test]
    fn a_writer_leaves_what_is_certain_to_the_instance() {
        let config = crate::kinds::tests::config("lpm", Some(&[("", 32)]), Some(&[("", 16)]), &[]);
        let mut lpm = Lpm::new(&config).unwrap();
        lpm.load(entry(0x0a00_0000, 8, 0x0300)).unwrap();
        let mut writer = lpm.writer().expect("a prefix table can change during lookups");
        let certain = lpm.certain(0).expect("a writer changes nothing about it");
        let mut change = |entry: &Entry| writer.change(&entry.key, Some(&entry.value));
        let agreeing = entry(0x0b00_0000, 8, 0x0100);
        assert_eq!(change(&agreeing), Ok(true));
        assert_eq!(change(&entry(0x0b00_0000, 8, 0x0001)), Ok(false));
        assert_eq!(lpm.with_table(|t| t.lookup(&Bits::new(32, 0x0b00_0001)).low_u64()), 0x0100);
        assert!(change(&entry(1, 24, 0)).is_err(), "a bit after the length");
        let wide = Entry { value: Bits::zero(17), ..agreeing.clone() };
        assert_eq!(change(&wide), Ok(false), "the instance says what is wrong");
        assert_eq!(lpm.certain(0), Some(certain));
        assert_eq!(writer.change(&agreeing.key, None), Ok(true));
        assert_eq!(lpm.entries(), Some(1));
    }

    #[test]
    fn a_bulk_load_shows_at_its_end() {
        let mut b = bench();
        b.instance.begin_load();
        b.instance.load(entry(0x0a00_0000, 8, 5)).unwrap();
        assert_eq!(b.call("search", &[Bits::new(32, 0x0a00_0001)]).low_u64(), 0xff);
        b.instance.end_load().unwrap();
        assert_eq!(b.call("search", &[Bits::new(32, 0x0a00_0001)]).low_u64(), 5);
    }

    #[test]
    fn a_raw_view_stays_good_while_another_thread_changes_the_table() {
        let config = crate::kinds::tests::config("lpm", Some(&[("", 32)]), Some(&[("", 16)]), &[]);
        let mut lpm = Lpm::new(&config).unwrap();
        let (table, key) = (lpm.table(), Bits::new(32, 0x0a01_0203));
        table.lock().unwrap().insert(&key, 32, &Bits::new(16, 1)).unwrap();
        let Some(RawView::Lpm(view)) = lpm.raw() else { panic!("a prefix table's view") };
        let before = table.lock().unwrap().memory();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut table = table.lock().unwrap();
                table.begin_bulk();
                table.insert(&key, 32, &Bits::new(16, 2)).unwrap();
                table.end_bulk().unwrap();
            });
        });
        // SAFETY: the view belongs to a reader that is still pinned; value 1 was the first to be
        // numbered.
        assert_eq!(unsafe { *view.values.add(view.value_words as usize) }, 1);
        assert!(table.lock().unwrap().memory() > before, "old arrays and new");
        lpm.raw_done();
        table.lock().unwrap().insert(&key, 32, &Bits::new(16, 3)).unwrap();
        assert!(table.lock().unwrap().memory() < 2 * before, "the new ones only");
    }
}
