//! The tables of a watched machine.

use std::mem;

use wireloom_machine::{
    Change, Changing, Error, Machine, Planned, Result, Row, UpdateError, Wanted, find_offload,
    transact,
};
use wireloom_net::tables::parse_key;
use wireloom_offloads::populate::row_key;
use wireloom_offloads::{Cursor, StateRow, Store, Update};

use super::{Ended, Session};

/// An offload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Table {
    pub path: String,
    pub kind: String,
    /// The number of entries, if the kind knows it.
    pub entries: Option<u64>,
    /// The declared size, in entries or elements.
    pub size: Option<u64>,
}

/// The machine, whose packets have left.
struct Drained<'a>(&'a mut dyn Machine);

impl Changing for Drained<'_> {
    fn store(&self) -> &Store {
        self.0.store()
    }

    fn change(&mut self, update: &Update) -> Result<(), UpdateError> {
        self.0.update(update, &mut |_| ()).map(drop)
    }

    fn finish(&mut self) -> Result {
        Ok(())
    }
}

impl Session {
    /// Returns the offloads, with the state that the machine's memories have now.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn tables(&mut self) -> Result<Vec<Table>> {
        self.read_tables()?;
        let store = self.machine.store();
        let table = |path: String| {
            let (config, instance) = find_offload(store, &path).ok()?;
            let size = config.params.get("size").map(wireloom_bits::Bits::low_u64);
            Some(Table { kind: config.kind.clone(), entries: instance.entries(), size, path })
        };
        Ok(store.paths().into_iter().filter_map(table).collect())
    }

    /// Returns the paths of the offloads, in the order of [`Self::tables`].
    pub fn table_paths(&self) -> Vec<String> {
        let store = self.machine.store();
        store.paths().into_iter().filter(|path| find_offload(store, path).is_ok()).collect()
    }

    /// Returns rows of an offload as the machine's memories have them now: the one with a key, or
    /// at most `most`. The second result tells whether there are more.
    ///
    /// # Errors
    /// If there is no such offload, or the key does not suit it.
    pub fn entries(
        &mut self,
        path: &str,
        key: Option<&str>,
        most: usize,
    ) -> Result<(Vec<Row>, bool)> {
        self.read_tables()?;
        let now_ns = (self.cycle() as f64 * 1e9 / self.hertz) as u64;
        let (config, instance) = find_offload(self.machine.store(), path)?;
        let (mut rows, mut has_more) = (Vec::new(), false);
        if let Some(key) = key {
            let wrong = |what: String| Error::new(format!("`{path}`: {what}"));
            let key = parse_key(key).and_then(|key| row_key(config, &key)).map_err(wrong)?;
            rows.extend(instance.look_up(&key).map_err(|refused| wrong(refused.0))?);
        } else {
            let next = instance.visit_from(&Cursor::Start, most, &mut |row| rows.push(row));
            has_more = next.is_some() || rows.len() > most;
            rows.truncate(most);
        }
        let row = |row: StateRow| {
            let times = instance.lifetime(&row.key);
            Row::new(config, &(row, times), now_ns)
        };
        Ok((rows.into_iter().map(row).collect(), has_more))
    }

    /// Makes changes of entries together, or none. The machine first runs until the packets that it
    /// has been given have left, for at most `most` cycles; breakpoints do not stop it. Returns the
    /// number of those packets: that of the first packet which finds the new entries.
    ///
    /// # Errors
    /// If a change is refused, if packets do not leave, or if the run is interrupted. Nothing has
    /// changed then.
    pub fn change(&mut self, changes: &[Change], most: u64) -> Result<u64> {
        let resolved = |change: &Change| {
            change.resolved(find_offload(self.machine.store(), change.table())?.0)
        };
        let changes: Vec<Planned> = changes.iter().map(resolved).collect::<Result<_>>()?;
        self.drain(most)?;
        self.read_tables()?;
        transact(&mut Drained(self.machine.as_mut()), &changes).map_err(|refused| {
            let error = Error::new(refused.message);
            refused.help.into_iter().fold(error, Error::with_help)
        })?;
        Ok(self.supplied)
    }

    /// Runs until no packet is in the machine.
    fn drain(&mut self, most: u64) -> Result {
        if self.packets().0 == 0 {
            return Ok(());
        }
        let has_more = mem::replace(&mut self.has_more, false);
        let breakpoints = mem::take(&mut self.breakpoints);
        let ended = self.run(None, most);
        (self.has_more, self.breakpoints) = (has_more, breakpoints);
        match ended? {
            Ended::Interrupted => Err(Error::new("interrupted: nothing was changed")),
            _ if self.packets().0 == 0 => Ok(()),
            _ => Err(Error::new(format!(
                "{} packets are still in the machine or on its lines: nothing was changed",
                self.packets().0
            ))
            .with_help("continue until they have left, and then change the tables")),
        }
    }

    /// Copies the state that packets made from the machine's memories into its store.
    fn read_tables(&mut self) -> Result {
        self.machine.read_back(Wanted::All, &|_| ()).map(drop)
    }
}
