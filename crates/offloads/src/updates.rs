//! Updates: changes of entries by the control plane between packets.

use wireloom_bits::Bits;
use wireloom_net::tables::{TableError, UpdateFile};

use crate::populate::{entry_key, entry_value, target};
use crate::{Entry, EntryKey, Refused, Store};

/// A change of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The index, from 0, of the packet before which the change happens.
    pub packet: u64,
    /// The path of the offload.
    pub offload: String,
    pub key: EntryKey,
    /// The new packed value, or `None` to remove the entry.
    pub value: Option<Bits>,
    /// The line of the update file, from 1.
    pub line: u64,
}

/// Returns the updates of a file. Keys and fields are resolved against the declarations of the
/// offloads.
///
/// # Errors
/// At the first update that does not match its offload. The error names the file, the line, the
/// problem and a remedy.
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
    /// Changes the entry. It is no error if an entry to be removed is absent.
    ///
    /// # Errors
    /// If the key does not match the offload, or if there is no room.
    pub fn apply(&self, store: &mut Store) -> Result<(), Refused> {
        let (_, instance) = target(store, &self.offload).map_err(Refused)?;
        match &self.value {
            Some(value) => instance.load(Entry { key: self.key.clone(), value: value.clone() }),
            None => instance.unload(&self.key).map(|_| ()),
        }
    }
}
