//! Changes of table entries by hand, in the notation of table files: parsed, checked as a
//! whole, and made together or not at all.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use wireloom_net::tables::{parse_entry, parse_key};
use wireloom_offloads::populate::{entry_key, entry_value};
use wireloom_offloads::{Config, Entry, EntryKey, Instance, Store, Update, registry};

use crate::{Error, Result, UpdateError, find_offload};

/// A change of an entry. Entries and keys have the notation of table files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Adds an entry. It is refused if there is an entry with this key.
    Insert { table: String, entry: String },
    /// Writes an entry, whether or not there is one with this key.
    Replace { table: String, entry: String },
    /// Removes an entry. It is refused if there is none with this key.
    Delete { table: String, key: String },
}

impl Change {
    /// The path of the offload.
    pub fn table(&self) -> &str {
        match self {
            Self::Insert { table, .. } | Self::Replace { table, .. } => table,
            Self::Delete { table, .. } => table,
        }
    }

    /// Resolves the change against the declaration of its offload.
    ///
    /// # Errors
    /// If the kind has no entries, or the notation does not suit it.
    pub fn resolved(&self, config: &Config) -> Result<Planned> {
        let path = self.table();
        if !has_table(config) {
            return Err(Error::new(format!(
                "`{path}` is of kind `{}`, which has no entries to write",
                config.kind
            )));
        }
        let wrong = |what: String| Error::new(format!("`{path}`: {what}"));
        let (intent, key, value) = match self {
            Self::Insert { entry, .. } | Self::Replace { entry, .. } => {
                let is_insert = matches!(self, Self::Insert { .. });
                let (key, fields) = parse_entry(entry).map_err(wrong)?;
                let value = entry_value(config, &fields).map_err(wrong)?;
                (if is_insert { Intent::Insert } else { Intent::Replace }, key, Some(value))
            }
            Self::Delete { key, .. } => (Intent::Delete, parse_key(key).map_err(wrong)?, None),
        };
        let key = entry_key(config, &key).map_err(wrong)?;
        let update = Update { packet: 0, offload: path.to_owned(), key, value, line: 0 };
        Ok(Planned { intent, update })
    }

    /// Parses `insert PATH ENTRY`, `replace PATH ENTRY` or `delete PATH KEY`. Returns `None` for
    /// any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let split = |text: &str| {
            let (word, rest) = text.trim().split_once(char::is_whitespace)?;
            Some((word.to_owned(), rest.trim_start().to_owned()))
        };
        let (what, rest) = split(text)?;
        let (table, rest) = split(&rest)?;
        Some(match what.as_str() {
            "insert" => Self::Insert { table, entry: rest },
            "replace" => Self::Replace { table, entry: rest },
            "delete" => Self::Delete { table, key: rest },
            _ => return None,
        })
    }
}

/// Returns whether the control plane writes entries of an offload.
pub fn has_table(config: &Config) -> bool {
    registry::kind(&config.kind).is_some_and(|kind| kind.table.is_some())
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

/// A change of a transaction, resolved against the declaration of its offload.
#[derive(Clone, Debug)]
pub struct Planned {
    pub intent: Intent,
    pub update: Update,
}

/// A change that was refused, and with it its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedChange {
    /// The index of the change in the transaction, from 0.
    pub at: usize,
    pub message: String,
    /// A remedy, if there is one.
    pub help: Option<&'static str>,
}

impl RefusedChange {
    fn new(at: usize, path: &str, why: &str) -> Self {
        Self { at, message: format!("`{path}`: {why}"), help: None }
    }
}

/// What has tables that change by hand: a running machine, or several with copies of a table.
pub trait Changing {
    /// The offloads as they are now.
    fn store(&self) -> &Store;

    /// Changes an entry.
    ///
    /// # Errors
    /// If the change is refused, or a machine fails.
    fn change(&mut self, update: &Update) -> Result<(), UpdateError>;

    /// Ends a series of changes.
    ///
    /// # Errors
    /// If a machine fails.
    fn finish(&mut self) -> Result<()>;
}

/// Makes all changes, or none.
///
/// All changes are checked first. After that only the memory of the computer or of the machine can
/// refuse one; the changes before it are then undone.
///
/// # Errors
/// The first change that is refused.
pub fn transact(tables: &mut dyn Changing, changes: &[Planned]) -> Result<(), RefusedChange> {
    check(tables.store(), changes)?;
    // Changes of tables that can still refuse an entry are made first, so that only such changes
    // are ever undone. The order does not matter to packets, which see all changes or none.
    let store = tables.store();
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
        undo.push(inverse(tables.store(), update));
        made = tables
            .change(update)
            .map_err(|why| RefusedChange::new(at, &update.offload, &why.to_string()));
        if made.is_err() {
            break;
        }
    }
    let at = changes.len().saturating_sub(1);
    let failed = |why: Error| RefusedChange { at, message: why.message, help: None };
    made = made.and_then(|()| tables.finish().map_err(failed));
    if made.is_err() {
        // There was room for these entries before.
        for update in undo.iter().rev() {
            let _ = tables.change(update);
        }
        let _ = tables.finish();
    }
    made
}

/// Returns the update that restores an entry as it is now.
fn inverse(store: &Store, update: &Update) -> Update {
    let value = instance(store, &update.offload).and_then(|instance| {
        let row = instance.look_up(&update.key).ok()??;
        Some(instance.entry(&row).value)
    });
    Update { value, ..update.clone() }
}

fn instance<'a>(store: &'a Store, path: &str) -> Option<&'a dyn Instance> {
    find_offload(store, path).ok().map(|(_, instance)| instance)
}

/// Checks a transaction, change after change, without making it.
fn check(store: &Store, changes: &[Planned]) -> Result<(), RefusedChange> {
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
        let refused = |why: String| RefusedChange::new(at, path, &why);
        let helped = |why: &str, help| RefusedChange { help: Some(help), ..refused(why.into()) };
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
            let entry = Entry { key: update.key.clone(), value: value.clone() };
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
                    "`tables show` lists the entries; an element that is zero is none",
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
    use wireloom_offloads::{Content, Slot, instantiate};

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
            Err(refused) => Some((refused.at, refused.message)),
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
        let says = |made: Result<(), RefusedChange>, part: &str| {
            let refused = made.expect_err("it is refused");
            assert!(refused.at == 0 && refused.message.contains(part), "{refused:?}");
        };
        says(meter(EntryKey::Index(1), Some(fast.clone())), "more than 2^40");
        says(meter(EntryKey::Index(4), Some(Bits::zero(320))), "out of range");
        assert_eq!(meter(EntryKey::Index(3), Some(Bits::zero(320))), Ok(()));
    }
}
