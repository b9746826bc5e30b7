//! Updates: entries that the control plane changes between packets.

use wireloom_bits::Bits;
use wireloom_net::tables::{TableError, UpdateFile};

use crate::populate::{entry_key, entry_value, target};
use crate::{Entry, EntryKey, Refused, Store};

/// A change of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The packet before which it happens, from 0.
    pub packet: u64,
    /// Path of the offload.
    pub offload: String,
    /// The entry's key.
    pub key: EntryKey,
    /// The packed value that it gets; `None` if it is removed.
    pub value: Option<Bits>,
    /// The line of its file, from 1.
    pub line: u64,
}

/// Returns the updates of a file, their keys and fields resolved against the offloads'
/// declarations.
///
/// # Errors
/// At the first one that does not suit its offload: file, line, error and remedy.
pub fn resolve_updates(store: &mut Store, file: &UpdateFile) -> Result<Vec<Update>, TableError> {
    let mut updates = Vec::new();
    for entry in file.updates() {
        let resolve = |store: &mut Store| {
            let (config, _) = target(store, &entry.table)?;
            let key = entry_key(config, &entry.key)?;
            let value =
                entry.fields.as_ref().map(|fields| entry_value(config, fields)).transpose()?;
            let offload = entry.table.clone();
            Ok(Update { packet: entry.packet, offload, key, value, line: entry.line })
        };
        updates.push(resolve(store).map_err(|what: String| file.error(entry.line, what))?);
    }
    Ok(updates)
}

impl Update {
    /// Changes the entry. One that is to be removed need not be there.
    ///
    /// # Errors
    /// If the key does not suit the offload, or there is no room.
    pub fn apply(&self, store: &mut Store) -> Result<(), Refused> {
        let (_, instance) = target(store, &self.offload).map_err(Refused)?;
        match &self.value {
            Some(value) => instance.load(Entry { key: self.key.clone(), value: value.clone() }),
            None => instance.unload(&self.key).map(|_| ()),
        }
    }
}
