//! Snapshots of a machine's offload state.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_offloads::{Content, EntryKey, Store, Update};

use crate::{Error, Result};

/// The state of all offloads of a program between two packets. It can be restored on any machine
/// with the same program, so a program that moves to another machine keeps its state.
#[derive(Clone)]
pub struct Snapshot {
    store: Store,
}

impl Snapshot {
    /// Copies a store's state.
    pub fn of(store: &Store) -> Self {
        Self { store: store.clone() }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Restores this state into a store.
    ///
    /// # Errors
    /// If the store is of another program.
    pub fn restore(&self, store: &mut Store) -> Result {
        if store.assign(&self.store) {
            return Ok(());
        }
        Err(of_another_program())
    }

    /// The updates of single entries that change the control plane's tables from the state `from`
    /// to this one, for machines that are reached through a control port. Entries have no ages.
    /// Such a machine must restore the state that packets change in its own way.
    ///
    /// # Errors
    /// If `from` is of another program.
    pub fn updates_from(&self, from: &Store) -> Result<Vec<Update>> {
        if !is_like(from, &self.store) {
            return Err(of_another_program());
        }
        let mut updates = Vec::new();
        for path in self.store.paths() {
            let update = |key: EntryKey, value: Option<Bits>| Update {
                packet: 0,
                offload: path.clone(),
                key,
                value,
                line: 0,
            };
            let (old, new) = (rows(from, &path), rows(&self.store, &path));
            let gone = old.iter().filter(|(key, _)| !new.contains_key(key));
            updates.extend(gone.map(|(key, _)| update(key.clone(), None)));
            let changed = new.iter().filter(|(key, value)| old.get(key) != Some(value));
            updates.extend(changed.map(|(key, value)| update(key.clone(), Some(value.clone()))));
        }
        Ok(updates)
    }
}

/// Whether two stores have the same offloads.
fn is_like(one: &Store, other: &Store) -> bool {
    let paths = one.paths();
    let config = |store: &Store, path: &str| match &store.find(path)?.content {
        Content::Kind { config, .. } => Some(config.clone()),
        Content::Engine(_) => None,
    };
    paths == other.paths() && paths.iter().all(|path| config(one, path) == config(other, path))
}

fn of_another_program() -> Error {
    Error::new("the snapshot is of another program: its offloads are not those of the machine")
}

/// The entries of an offload, with their packed values.
fn rows(store: &Store, path: &str) -> BTreeMap<EntryKey, Bits> {
    let Some(Content::Kind { instance, .. }) = store.find(path).map(|slot| &slot.content) else {
        return BTreeMap::new();
    };
    let entries = instance.rows().into_iter().map(|row| instance.entry(&row));
    entries.map(|entry| (entry.key, entry.value)).collect()
}
