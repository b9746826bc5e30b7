//! Updates: changes of entries that the control plane makes between packets.

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
    /// The entry's key.
    pub key: EntryKey,
    /// The new packed value, or `None` if the entry is removed.
    pub value: Option<Bits>,
    /// The line of its file, from 1.
    pub line: u64,
}

/// Returns the updates of a file, with keys and fields resolved against the offloads' declarations.
///
/// # Errors
/// At the first update that does not suit its offload. The error names the file, the line, the
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
    /// Changes the entry. An entry to be removed may be absent.
    ///
    /// # Errors
    /// If the key does not suit the offload, or if there is no room.
    pub fn apply(&self, store: &mut Store) -> Result<(), Refused> {
        let (_, instance) = target(store, &self.offload).map_err(Refused)?;
        match &self.value {
            Some(value) => instance.load(Entry { key: self.key.clone(), value: value.clone() }),
            None => instance.unload(&self.key).map(|_| ()),
        }
    }
}
