//! Encodes changed rows as updates of a program's tables.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use wireloom_bits::Bits;
use wireloom_ir::{self as ir, OpKind};
use wireloom_machine::{Error, Result};
use wireloom_net::tables::{Family, Prefix, UpdateFile};
use wireloom_offloads::{Content, EntryKey, Store, Update, resolve_updates};

use super::hops::BUCKETS;
use super::rows::{Change, HopRow, RouteRow, UNRESOLVED, meaning};

/// The number of next hops of a program without a table of them.
pub const NEXT_HOPS: u32 = 65_536;

/// The tables that follow the kernel, if a program declares them.
pub const TABLES: [&str; 7] =
    ["ports", "next_hops", "buckets", "sources4", "sources6", "destinations4", "destinations6"];

/// A program's tables, and the form of their entries.
pub struct Encoder {
    /// The program's offloads, without entries.
    empty: Store,
    has: HashMap<&'static str, bool>,
    /// Packed values, by table.
    values: HashMap<(&'static str, RouteRow), Update>,
}

impl Encoder {
    /// Creates an encoder for a program.
    ///
    /// # Errors
    /// If its tables cannot be made, or the addresses in them are not of 32 and 128 bits.
    pub fn new(program: &ir::Program) -> Result<Self> {
        let empty = ir::store(program).map_err(|refused| Error::new(refused.0))?;
        let has = ["ports", "next_hops"].map(|table| (table, empty.find(table).is_some()));
        let mut has = HashMap::from(has);
        has.insert("buckets", empty.find("buckets").is_some() && calls(program, "buckets"));
        for (table, family) in [
            ("sources4", Family::V4),
            ("destinations4", Family::V4),
            ("sources6", Family::V6),
            ("destinations6", Family::V6),
        ] {
            let slot = empty.find(table);
            has.insert(table, slot.is_some());
            let Some(Content::Kind { config, .. }) = slot.map(|slot| &slot.content) else {
                continue;
            };
            let width = config.key.as_ref().map_or(0, |key| key.width());
            if width != family.width() {
                return Err(Error::new(format!(
                    "table `{table}`: its key has {width} bits; routes of the kernel have {}",
                    family.width()
                ))
                .with_help("give the table another name, or use --static"));
            }
        }
        Ok(Self { empty, has, values: HashMap::new() })
    }

    /// Returns the numbers of next hops that belong to the kernel: the upper half of the program's
    /// table. Table files have the others, except [`UNRESOLVED`].
    pub fn next_hops(&self) -> Range<u32> {
        let size = self.elements("next_hops").unwrap_or(NEXT_HOPS);
        (size / 2).max(UNRESOLVED + 1).min(size)..size
    }

    /// Returns the numbers of next hop groups that belong to the kernel: the upper half, too.
    pub fn groups(&self) -> Range<u32> {
        match self.has["buckets"] {
            true => {
                let groups = self.elements("buckets").unwrap_or(0) / BUCKETS as u32;
                groups / 2..groups
            }
            false => 0..0,
        }
    }

    /// Fails if table files have entries with the kernel's numbers.
    ///
    /// # Errors
    /// The error names the first such entry.
    pub fn check(&self, store: &Store) -> Result {
        let buckets = BUCKETS as u64;
        let (hops, groups) = (self.next_hops(), self.groups());
        let hops = u64::from(hops.start)..u64::from(hops.end);
        let groups = u64::from(groups.start) * buckets..u64::from(groups.end) * buckets;
        let first = u64::from(UNRESOLVED) + 1;
        for (table, own, first) in [("next_hops", hops, first), ("buckets", groups, 0)] {
            let slot = store.find(table).filter(|_| self.has[table]);
            let Some(Content::Kind { instance, .. }) = slot.map(|slot| &slot.content) else {
                continue;
            };
            let keys = instance.rows().into_iter().map(|row| instance.entry(&row).key);
            let mut indices = keys.filter_map(|key| match key {
                EntryKey::Index(index) => Some(index),
                _ => None,
            });
            let is_wrong = |index: &u64| own.contains(index) || *index < first;
            if let Some(index) = indices.find(is_wrong) {
                let why = match index < first {
                    true => "routes out of interfaces that are no ports name it, so it stays empty",
                    false => "routes of the kernel use it",
                };
                return Err(Error::new(format!(
                    "table `{table}`: entry {index} of a table file is the kernel's: {why}"
                ))
                .with_help(usable(first..own.start)));
            }
        }
        Ok(())
    }

    /// Returns the number of elements of an array.
    fn elements(&self, name: &str) -> Option<u32> {
        let Content::Kind { config, .. } = &self.empty.find(name)?.content else { return None };
        config.params.get("size")?.to_u128().and_then(|size| u32::try_from(size).ok())
    }

    /// Passes the updates for a change to `emit`. Tables that the program does not have get none.
    ///
    /// # Errors
    /// If a value does not suit its table, and the errors of `emit`.
    pub fn encode(&mut self, change: Change, emit: &mut dyn FnMut(Update) -> Result) -> Result {
        match change {
            Change::Port(number, address) => {
                self.row("ports", number, &format!("mac={}", mac(address)), emit)
            }
            Change::NextHop(number, HopRow { port, dst, src, mtu }) => {
                let (dst, src) = (mac(dst), mac(src));
                let row = format!("port={port} dst={dst} src={src} mtu={mtu}");
                self.row("next_hops", number, &row, emit)
            }
            Change::Bucket(index, hop) => self.row("buckets", index, &format!("= {hop}"), emit),
            Change::Route(prefix, row, is_new_kind) => {
                let (sources, destinations) = tables(prefix);
                if is_new_kind {
                    let kind = of_source(prefix.family(), row.kind);
                    self.route(sources, prefix, RouteRow { next_hop: 0, kind, ..row }, emit)?;
                }
                self.route(destinations, prefix, row, emit)
            }
            Change::RouteGone(prefix) => {
                let (sources, destinations) = tables(prefix);
                for table in [sources, destinations] {
                    if self.has[table] {
                        let (key, offload) = (key(prefix), table.to_owned());
                        emit(Update { packet: 0, offload, key, value: None, line: 0 })?;
                    }
                }
                Ok(())
            }
        }
    }

    fn row(
        &mut self,
        table: &'static str,
        key: impl std::fmt::Display,
        value: &str,
        emit: &mut dyn FnMut(Update) -> Result,
    ) -> Result {
        if !self.has[table] {
            return Ok(());
        }
        self.resolve(table, &format!("{key} {value}"))?.into_iter().try_for_each(emit)
    }

    fn route(
        &mut self,
        table: &'static str,
        prefix: Prefix,
        row: RouteRow,
        emit: &mut dyn FnMut(Update) -> Result,
    ) -> Result {
        if !self.has[table] {
            return Ok(());
        }
        if !self.values.contains_key(&(table, row)) {
            let kind = row.kind;
            let text = match table.starts_with("sources") {
                true => format!("{prefix} kind={kind}"),
                false => format!("{prefix} next_hop={} kind={kind}", row.next_hop),
            };
            for update in self.resolve(table, &text)? {
                self.values.insert((table, row), update);
            }
        }
        let Some(known) = self.values.get(&(table, row)) else { return Ok(()) };
        emit(Update { key: key(prefix), ..known.clone() })
    }

    /// Resolves a line of an update file.
    fn resolve(&mut self, table: &str, line: &str) -> Result<Vec<Update>> {
        let text = format!("at 0\ntable {table}\n{line}\n");
        let file = UpdateFile::from_text(Path::new("the kernel's routes"), &text);
        resolve_updates(&mut self.empty, &file.map_err(Error::new)?).map_err(Error::new)
    }
}

/// Says which entries of a table may be in files.
fn usable(entries: Range<u64>) -> String {
    let usable = match entries.end.saturating_sub(entries.start) {
        0 => "table files can have no entries of this table".to_owned(),
        1 => format!("table files can have entry {}", entries.start),
        _ => format!("table files can have entries {} to {}", entries.start, entries.end - 1),
    };
    format!("{usable}; with --static all (`wireloom docs operate/kernel`)")
}

/// Returns the kind of a route to a source. The kernel may refuse IPv4 packets from addresses that
/// it would not send to (`rp_filter`). Programs that check sources leave such packets to the
/// kernel, as they do packets without a route.
fn of_source(family: Family, kind: u8) -> u8 {
    match (family, kind) {
        (Family::V4, meaning::DIRECTED_BROADCAST | meaning::REJECT | meaning::DISCARD) => {
            meaning::NONE
        }
        _ => kind,
    }
}

/// Returns the names of the source table and the destination table that a prefix belongs to.
fn tables(prefix: Prefix) -> (&'static str, &'static str) {
    match prefix.family() {
        Family::V4 => ("sources4", "destinations4"),
        Family::V6 => ("sources6", "destinations6"),
    }
}

fn key(prefix: Prefix) -> EntryKey {
    let bits = Bits::new(prefix.family().width(), prefix.bits());
    EntryKey::Prefix { bits, length: prefix.length() }
}

/// Returns whether the main engine calls an offload.
fn calls(program: &ir::Program, name: &str) -> bool {
    let engine = &program.engines[program.main.index()];
    let is_it = |offload: ir::OffloadId| engine.offloads[offload.index()].name == name;
    let blocks = engine.steps.iter().flat_map(|step| match &step.code {
        ir::Code::Sequential(block) => vec![block],
        ir::Code::Regions { request, edit, jump } => vec![request, edit, jump],
    });
    let mut ops = blocks.flat_map(|block| &block.ops);
    ops.any(|op| matches!(op.kind, OpKind::Call { offload, .. } if is_it(offload)))
}

fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::usable;

    #[test]
    fn the_help_says_which_entries_files_can_have() {
        for (entries, expected) in [
            (1..32_768, "table files can have entries 1 to 32767"),
            (1..2, "table files can have entry 1"),
            (1..1, "table files can have no entries of this table"),
            (0..0, "table files can have no entries of this table"),
        ] {
            assert_eq!(
                usable(entries),
                format!("{expected}; with --static all (`wireloom docs operate/kernel`)")
            );
        }
    }
}
