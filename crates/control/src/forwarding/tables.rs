//! Jobs that read and change the tables of the running program.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wireloom_offloads::{Cursor, EntryKey, Lifetime};

use super::*;

/// The offloads of the running program.
pub struct TableStates {
    pub engine: Arc<RunningProgram>,
    /// The path of each offload, and the number of its entries if the kind knows it.
    pub entries: Vec<(String, Option<u64>)>,
    /// Whether some tables follow the kernel.
    pub follows_kernel: bool,
}

/// A row, and the times of its entry if it has any.
pub type RowWithTimes = (wireloom_offloads::StateRow, Option<Lifetime>);

/// Some rows of an offload.
pub struct Page {
    pub rows: Vec<RowWithTimes>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
    /// The time at which the rows were read, in the clock of packets.
    pub now_ns: u64,
}

/// Which entry a change expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// None.
    Insert,
    /// Any, or none.
    Replace,
    /// One.
    Delete,
}

/// A change of a transaction, resolved against the declarations of the running program.
#[derive(Clone, Debug)]
pub struct Planned {
    pub intent: Intent,
    pub update: Update,
}

/// Why a transaction was not made. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmade {
    /// The program is another one than the changes were resolved for.
    Replaced,
    /// The change with this index, from 0, was refused: the reason and a remedy.
    Refused(usize, String, Option<&'static str>),
}

impl Forwarding {
    /// Returns the offloads of the running program.
    ///
    /// # Errors
    /// If tables in the kernel cannot be read.
    pub fn tables(&mut self) -> Result<TableStates> {
        self.read_tables()?;
        let store = self.cores[0].machine.store();
        let entries = store.paths().into_iter().map(|path| {
            let entries = instance(store, &path).and_then(Instance::entries);
            (path, entries)
        });
        Ok(TableStates {
            engine: Arc::clone(self.engine()),
            entries: entries.collect(),
            follows_kernel: self.kernel.is_some(),
        })
    }

    /// Returns a page of at most `most` rows of an offload; see [`Instance::visit_from`]. Returns
    /// `None` if `engine` has been replaced or has no such offload.
    ///
    /// # Errors
    /// If tables in the kernel cannot be read.
    pub fn page(
        &mut self,
        engine: &Arc<RunningProgram>,
        path: &str,
        from: &Cursor,
        most: usize,
    ) -> Result<Option<Page>> {
        if !Arc::ptr_eq(engine, self.engine()) {
            return Ok(None);
        }
        let mut most = most;
        if self.programs.is_some() {
            if *from == Cursor::Start {
                self.read_tables()?;
            }
            // Packets do not wait for this thread. Whenever tables in the kernel are read, their
            // entries get new slots, so that a page could not continue.
            let slot = self.cores[0].machine.store().find(path);
            if let Some(Content::Kind { config, .. }) = slot.map(|slot| &slot.content)
                && config.kind != "lpm"
            {
                most = usize::MAX;
            }
        } else {
            self.read_tables()?;
        }
        let Some(instance) = instance(self.cores[0].machine.store(), path) else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        let next = instance.visit_from(from, most, &mut |row| rows.push(row));
        let rows = rows.into_iter().map(|row| {
            let times = instance.lifetime(&row.key);
            (row, times)
        });
        Ok(Some(Page { rows: rows.collect(), next, now_ns: self.forwarder.now_ns() }))
    }

    /// Returns the rows that there are with these keys, in the order of the keys, in one page.
    /// Returns `None` if `engine` has been replaced or has no such offload.
    ///
    /// # Errors
    /// If a key does not match the offload, or tables in the kernel cannot be read.
    pub fn look_up(
        &mut self,
        engine: &Arc<RunningProgram>,
        path: &str,
        keys: &[EntryKey],
    ) -> Result<Option<Page>> {
        if !Arc::ptr_eq(engine, self.engine()) {
            return Ok(None);
        }
        self.read_tables()?;
        let Some(instance) = instance(self.cores[0].machine.store(), path) else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        for key in keys {
            let row = instance
                .look_up(key)
                .map_err(|refused| Error::new(format!("`{path}`: {}", refused.0)))?;
            rows.extend(row.map(|row| (row, instance.lifetime(key))));
        }
        Ok(Some(Page { rows, next: None, now_ns: self.forwarder.now_ns() }))
    }

    /// Makes all changes, or none. Returns the time that this took.
    ///
    /// All changes are checked first. After that only the memory of the computer, or the kernel for
    /// tables that are in it, can refuse one; the changes before it are then undone.
    pub fn transact(
        &mut self,
        engine: &Arc<RunningProgram>,
        changes: &[Planned],
    ) -> Result<Duration, Unmade> {
        if !Arc::ptr_eq(engine, self.engine()) {
            return Err(Unmade::Replaced);
        }
        let begin = Instant::now();
        let refused = |at, why: Error| Unmade::Refused(at, why.message, None);
        self.read_tables().map_err(|why| refused(0, why))?;
        check(self.cores[0].machine.store(), changes)?;
        // Changes of tables that can still refuse an entry are made first, so that only such changes
        // are ever undone. The order does not matter to packets, which see all changes or none.
        let store = self.cores[0].machine.store();
        let is_certain = |at: &usize| {
            let instance = instance(store, &changes[*at].update.offload);
            instance.is_some_and(|instance| instance.room().is_some())
        };
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.sort_by_key(is_certain);
        let mut undo = Vec::new();
        let mut made = Ok(());
        for at in order {
            let update = &changes[at].update;
            undo.push(self.inverse(update));
            made = self
                .change_entry(update)
                .map_err(|why| Unmade::Refused(at, format!("`{}`: {why}", update.offload), None));
            if made.is_err() {
                break;
            }
        }
        let last = changes.len().saturating_sub(1);
        made = made.and_then(|()| self.finish_changes().map_err(|why| refused(last, why)));
        if made.is_err() {
            // There was room for these entries before.
            for update in undo.iter().rev() {
                let _ = self.change_entry(update);
            }
            let _ = self.finish_changes();
        }
        made.map(|()| begin.elapsed())
    }

    /// Returns the update that restores an entry as it is now.
    fn inverse(&self, update: &Update) -> Update {
        let instance = instance(self.cores[0].machine.store(), &update.offload);
        let value = instance.and_then(|instance| {
            let row = instance.look_up(&update.key).ok()??;
            Some(instance.entry(&row).value)
        });
        Update { value, ..update.clone() }
    }

    /// Brings the first core's store up to date: it then has the counts of all cores, or what the
    /// kernel has.
    fn read_tables(&mut self) -> Result {
        if self.cores.len() > 1 {
            self.sum_up();
        }
        self.cores[0].machine.read_back(Wanted::All, &|_| ()).map(drop)
    }
}

fn instance<'a>(store: &'a Store, path: &str) -> Option<&'a dyn Instance> {
    match &store.find(path)?.content {
        Content::Kind { instance, .. } => Some(instance.as_ref()),
        Content::Engine(_) => None,
    }
}

/// Checks a transaction, change after change, without making it.
fn check(store: &Store, changes: &[Planned]) -> Result<(), Unmade> {
    /// The state of a table after the changes so far.
    struct After<'a> {
        instance: &'a dyn Instance,
        /// The keys that the changes have decided, and whether they have an entry.
        decided: HashMap<&'a EntryKey, bool>,
        room: Option<u64>,
    }
    let mut tables: HashMap<&str, After<'_>> = HashMap::new();
    for (at, Planned { intent, update }) in changes.iter().enumerate() {
        let path = update.offload.as_str();
        let refused = |why: String| Unmade::Refused(at, format!("`{path}`: {why}"), None);
        let helped = |why: &str, help| Unmade::Refused(at, format!("`{path}`: {why}"), Some(help));
        let table = match tables.get_mut(path) {
            Some(table) => table,
            None => {
                let Some(instance) = instance(store, path) else {
                    return Err(refused("there is no such table".into()));
                };
                let room = instance.room();
                tables.entry(path).or_insert(After { instance, decided: HashMap::new(), room })
            }
        };
        let there = match table.decided.get(&update.key) {
            Some(there) => *there,
            None => {
                let row = table.instance.look_up(&update.key);
                row.map_err(|why| refused(why.0))?.is_some()
            }
        };
        if let Some(value) = &update.value {
            let entry = wireloom_offloads::Entry { key: update.key.clone(), value: value.clone() };
            table.instance.check(&entry).map_err(|why| refused(why.0))?;
        }
        match (intent, there) {
            (Intent::Insert, true) => {
                return Err(helped(
                    "there is an entry with this key already",
                    "`replace` writes it anew",
                ));
            }
            (Intent::Delete, false) => {
                return Err(helped(
                    "there is no entry with this key",
                    "`wireloom ctl tables show` lists the entries; an element that is zero is none",
                ));
            }
            (Intent::Insert | Intent::Replace, false) => {
                if table.room == Some(0) {
                    return Err(helped(
                        "the table is full",
                        "delete entries in the same transaction, before this one, or declare it \
                         with a larger `size`",
                    ));
                }
                table.room = table.room.map(|room| room - 1);
            }
            (Intent::Delete, true) => table.room = table.room.map(|room| room.saturating_add(1)),
            (Intent::Replace, true) => {}
        }
        table.decided.insert(&update.key, *intent != Intent::Delete);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wireloom_bits::Bits;
    use wireloom_ir::builder::config;
    use wireloom_offloads::{Config, Entry, Slot, instantiate};

    use super::*;

    /// A table `few` of two places with an entry for key 1, and meters.
    fn store() -> Store {
        let slot = |name: &str, config: Config| {
            let instance = instantiate(&config).expect("an offload");
            Slot { name: name.into(), content: Content::Kind { config, instance } }
        };
        let few = config("exact", &[("", 8)], &[("", 8)], &[("size", 2)]);
        let meters = config("meter", &[], &[], &[("size", 4), ("cir", 1), ("cbs", 1)]);
        let mut store = Store { slots: vec![slot("few", few), slot("meters", meters)] };
        let Some(Content::Kind { instance, .. }) =
            store.find_mut("few").map(|slot| &mut slot.content)
        else {
            panic!("it was just made")
        };
        let entry = Entry { key: EntryKey::Exact(Bits::new(8, 1)), value: Bits::new(8, 1) };
        instance.load(entry).expect("room");
        store
    }

    fn change(intent: Intent, key: u128) -> Planned {
        let value = (intent != Intent::Delete).then(|| Bits::new(8, 5));
        let key = EntryKey::Exact(Bits::new(8, key));
        let update = Update { packet: 0, offload: "few".into(), key, value, line: 0 };
        Planned { intent, update }
    }

    /// Checks changes of `few`. Returns the index and the reason of a refusal.
    fn checked(changes: &[(Intent, u128)]) -> Option<(usize, String)> {
        let changes: Vec<_> = changes.iter().map(|(intent, key)| change(*intent, *key)).collect();
        match check(&store(), &changes) {
            Ok(()) => None,
            Err(Unmade::Refused(at, why, _)) => Some((at, why)),
            Err(Unmade::Replaced) => panic!("nothing is replaced"),
        }
    }

    #[test]
    fn a_change_meets_the_table_that_the_changes_before_it_leave() {
        use Intent::{Delete, Insert, Replace};
        for fine in [
            &[(Insert, 2), (Delete, 2), (Insert, 3)][..],
            &[(Delete, 1), (Insert, 1), (Replace, 1)],
            &[(Delete, 1), (Insert, 2), (Insert, 3)],
            &[(Replace, 2), (Delete, 1), (Replace, 3)],
        ] {
            assert_eq!(checked(fine), None, "{fine:?}");
        }
        for (wrong, at, why) in [
            (&[(Insert, 1)][..], 0, "`few`: there is an entry with this key already"),
            (&[(Delete, 1), (Delete, 1)], 1, "`few`: there is no entry with this key"),
            (&[(Insert, 2), (Insert, 2)], 1, "`few`: there is an entry with this key already"),
            (&[(Replace, 1), (Replace, 2), (Replace, 3)], 2, "`few`: the table is full"),
            // The table is full in between.
            (&[(Insert, 2), (Insert, 3), (Delete, 1)], 1, "`few`: the table is full"),
        ] {
            assert_eq!(checked(wrong), Some((at, why.to_owned())), "{wrong:?}");
        }
    }

    #[test]
    fn entries_that_no_table_takes_are_refused_before_anything_changes() {
        let meter = |key, value| {
            let update = Update { packet: 0, offload: "meters".into(), key, value, line: 0 };
            check(&store(), &[Planned { intent: Intent::Replace, update }])
        };
        let fast = Bits::ones(320);
        let says = |made: Result<(), Unmade>, part: &str| match made {
            Err(Unmade::Refused(0, why, _)) => assert!(why.contains(part), "{why}"),
            other => panic!("{other:?}"),
        };
        says(meter(EntryKey::Index(1), Some(fast.clone())), "more than 2^40");
        says(meter(EntryKey::Index(4), Some(Bits::zero(320))), "out of range");
        assert_eq!(meter(EntryKey::Index(3), Some(Bits::zero(320))), Ok(()));
    }
}
