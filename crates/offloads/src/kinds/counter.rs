//! `counter`: counts of packets and bytes by index.

use std::any::Any;

use wireloom_bits::Bits;

use crate::kinds::{index_of, visit_numbered};
use crate::lanes::nothing;
use crate::memory::zeroed;
use crate::registry::{METHOD, Method, OffloadKind, SIZE, StateUse, TableForm, TableKey, U32};
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, Layout, RawView, Refused, StateRow};

/// The interface of `counter`.
pub const KIND: OffloadKind = OffloadKind {
    name: "counter",
    has_key: false,
    has_value: false,
    params: &[SIZE],
    methods: &[Method {
        name: "count",
        args: &[("index", U32), ("bytes", U32)],
        state: StateUse::Commuting,
        doc: "Adds one packet and `bytes` bytes to the counter. No effect if the index is out of \
              range.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "Counters of packets and bytes, 64 bits each, which the control plane reads.",
    table: Some(TableForm { key: TableKey::Index, value: |_| (counts_layout(), Bits::zero(128)) }),
    make: |config| Ok(Box::new(Counter::new(config)?)),
};

/// Returns the layout of a counter's table value.
fn counts_layout() -> Layout {
    Layout::plain(vec![("packets".into(), 64), ("bytes".into(), 64)])
}

/// An instance of `counter`.
#[derive(Clone)]
pub struct Counter {
    /// The packets and the bytes of each counter, alternating.
    cells: Box<[u64]>,
}

impl Counter {
    /// Creates an instance as declared, with all counters zero.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let size = config.param("size").low_u64() as usize;
        Ok(Self { cells: zeroed(2 * size)? })
    }

    fn size(&self) -> usize {
        self.cells.len() / 2
    }

    /// Returns the row of a counter, unless it is zero.
    fn row(&self, index: usize) -> Option<StateRow> {
        let cell = &self.cells[2 * index..][..2];
        (cell != [0, 0]).then(|| StateRow {
            key: EntryKey::Index(index as u64),
            fields: vec![
                ("packets".into(), Bits::new(64, u128::from(cell[0]))),
                ("bytes".into(), Bits::new(64, u128::from(cell[1]))),
            ],
        })
    }
}

impl Instance for Counter {
    fn call(&mut self, _method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        let index = args[0].low_u64() as usize;
        if index < self.size() {
            self.cells[2 * index] = self.cells[2 * index].wrapping_add(1);
            self.cells[2 * index + 1] = self.cells[2 * index + 1].wrapping_add(args[1].low_u64());
        }
        nothing()
    }

    /// Sets a counter. The upper 64 bits of the value are the packets, the lower 64 bits the bytes.
    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let index = index_of(&entry.key, self.size())?;
        self.cells[2 * index] = entry.value.word(1);
        self.cells[2 * index + 1] = entry.value.word(0);
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let index = index_of(key, self.size())?;
        let cell = &mut self.cells[2 * index..][..2];
        let was = cell != [0, 0];
        cell.fill(0);
        Ok(was)
    }

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

    /// Every counter exists already.
    fn room(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn absorb(&mut self, other: &mut dyn Instance) {
        let Some(other) = (other as &mut dyn Any).downcast_mut::<Self>() else { return };
        for (own, other) in self.cells.iter_mut().zip(&mut other.cells) {
            *own = own.wrapping_add(std::mem::take(other));
        }
    }

    fn raw(&mut self) -> Option<RawView> {
        let elements = self.size() as u64;
        Some(RawView::Counter { data: self.cells.as_mut_ptr(), elements })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    fn fields(row: &StateRow) -> (EntryKey, u64, u64) {
        (row.key.clone(), row.fields[0].1.low_u64(), row.fields[1].1.low_u64())
    }

    #[test]
    fn counts_packets_and_bytes_and_ignores_what_is_out_of_range() {
        let mut bench = Bench::new("counter", None, None, &[("size", 4)]);
        for (index, bytes) in [(3, 64), (3, 1500), (0, 0), (4, 10), (u32::MAX, 10)] {
            bench.call("count", &[Bits::new(32, u128::from(index)), Bits::new(32, bytes)]);
        }
        let rows: Vec<_> = bench.instance.rows().iter().map(fields).collect();
        assert_eq!(rows, [(EntryKey::Index(0), 1, 0), (EntryKey::Index(3), 2, 1564)]);
    }

    #[test]
    fn the_control_plane_sets_and_clears() {
        let mut bench = Bench::new("counter", None, None, &[("size", 4)]);
        let value = Bits::new(64, 7).concat(&Bits::new(64, u128::from(u64::MAX)));
        bench.instance.load(Entry { key: EntryKey::Index(1), value: value.clone() }).unwrap();
        bench.call("count", &[Bits::new(32, 1), Bits::new(32, 2)]);
        assert_eq!(fields(&bench.instance.rows()[0]), (EntryKey::Index(1), 8, 1));
        assert_eq!(bench.instance.unload(&EntryKey::Index(1)), Ok(true));
        assert_eq!(bench.instance.unload(&EntryKey::Index(1)), Ok(false));
        assert!(bench.instance.load(Entry { key: EntryKey::Index(4), value }).is_err());
    }
}
