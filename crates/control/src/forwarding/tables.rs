//! Jobs that read and change the tables of the running program.

use std::time::{Duration, Instant};

use wireloom_machine::{Changing, Planned, RefusedChange, RowWithTimes, find_offload, transact};
use wireloom_offloads::{Cursor, EntryKey};

use super::*;

/// The offloads of the running program.
pub struct TableStates {
    pub engine: Arc<RunningProgram>,
    /// The path of each offload, and the number of its entries if the kind knows it.
    pub entries: Vec<(String, Option<u64>)>,
    /// Whether some tables follow the kernel.
    pub follows_kernel: bool,
}

/// Some rows of an offload.
pub struct Page {
    pub rows: Vec<RowWithTimes>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
    /// The time at which the rows were read, in the clock of packets.
    pub now_ns: u64,
}

/// Why a transaction was not made. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmade {
    /// The program is another one than the changes were resolved for.
    Replaced,
    Refused(RefusedChange),
}

impl Changing for Forwarding {
    fn store(&self) -> &Store {
        self.cores[0].machine.store()
    }

    fn change(&mut self, update: &Update) -> Result<(), UpdateError> {
        self.change_entry(update)
    }

    fn finish(&mut self) -> Result {
        self.finish_changes()
    }
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
            let entries = find_offload(store, &path).ok().and_then(|(_, table)| table.entries());
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
        let Ok((_, instance)) = find_offload(self.cores[0].machine.store(), path) else {
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
        let Ok((_, instance)) = find_offload(self.cores[0].machine.store(), path) else {
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
    /// # Errors
    /// If the program was replaced, or a change is refused.
    pub fn transact(
        &mut self,
        engine: &Arc<RunningProgram>,
        changes: &[Planned],
    ) -> Result<Duration, Unmade> {
        if !Arc::ptr_eq(engine, self.engine()) {
            return Err(Unmade::Replaced);
        }
        let begin = Instant::now();
        let failed = |why: Error| RefusedChange { at: 0, message: why.message, help: None };
        self.read_tables().map_err(|why| Unmade::Refused(failed(why)))?;
        transact(self, changes).map_err(Unmade::Refused)?;
        Ok(begin.elapsed())
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
