//! Requests about tables: their notation, and the pages in which large ones are read.
//!
//! The thread of a client does the slow work: it parses, resolves names and formats rows. The
//! forwarding thread only copies a page of rows or makes resolved changes, between two batches.

use std::io;
use std::sync::Arc;

use wireloom_compile::analysis::order;
use wireloom_ir as ir;
use wireloom_live::TABLES;
use wireloom_machine::{Error, Planned, RefusedChange, Result, has_table};
use wireloom_net::tables::parse_key;
use wireloom_offloads::populate::{row_key, suggest, value_layout};
use wireloom_offloads::{Config, Cursor, EntryKey, Layout};

use crate::engine::RunningProgram;
use crate::forwarding::{Page, TableStates, Unmade};
use crate::protocol::{
    Change, Changed, End, Field, MOST_CHANGES, Refused, Reply, Row, Rows, ShowRows, Table,
    TableWriter,
};
use crate::server::Session;

/// The rows that are read in one job, while packets wait: 0.2 ms in the median.
const PAGE: usize = 256;

/// An offload of a program.
struct Declared<'a> {
    path: String,
    config: &'a Config,
    changed_by_packets: bool,
}

/// Returns the offloads of a program that are no engines, in the order of
/// [`Store::paths`](wireloom_offloads::Store::paths).
fn declared(program: &ir::Program) -> Vec<Declared<'_>> {
    fn collect<'a>(
        program: &'a ir::Program,
        engine: ir::EngineId,
        prefix: &str,
        all: &mut Vec<Declared<'a>>,
    ) {
        let changed = order::changed(program, engine);
        let offloads = &program.engines[engine.index()].offloads;
        for (id, offload) in (0..).map(ir::OffloadId).zip(offloads) {
            let path = format!("{prefix}{}", offload.name);
            match &offload.target {
                ir::OffloadTarget::Engine(inner) => {
                    collect(program, *inner, &format!("{path}."), all);
                }
                ir::OffloadTarget::Kind(config) => {
                    let changed_by_packets = changed.contains(&id);
                    all.push(Declared { path, config, changed_by_packets });
                }
            }
        }
    }
    let mut all = Vec::new();
    collect(program, program.main, "", &mut all);
    all
}

/// Returns the configuration of the offload at a path.
fn find<'a>(all: &[Declared<'a>], path: &str) -> Result<&'a Config> {
    match all.iter().find(|table| table.path == path) {
        Some(table) => Ok(table.config),
        None => {
            let near = suggest(path, all.iter().map(|table| table.path.as_str()));
            Err(Error::new(format!("there is no offload `{path}`{near}"))
                .with_help("`wireloom ctl tables list` shows all of them"))
        }
    }
}

fn writer(path: &str, config: &Config, follows_kernel: bool) -> TableWriter {
    match () {
        () if !has_table(config) => TableWriter::Nobody,
        () if follows_kernel && TABLES.contains(&path) => TableWriter::Kernel,
        () => TableWriter::Control,
    }
}

/// Resolves a change against the offloads of a program.
fn planned(all: &[Declared<'_>], follows_kernel: bool, change: &Change) -> Result<Planned> {
    let path = change.table();
    let config = find(all, path)?;
    if writer(path, config, follows_kernel) == TableWriter::Kernel {
        return Err(Error::new(format!("`{path}` follows the kernel, which would undo it"))
            .with_help("change the kernel's routes or neighbours (`ip`), or start with --static"));
    }
    change.resolved(config)
}

fn fields(layout: &Layout) -> Vec<Field> {
    let fields = layout.fields.iter();
    fields.map(|(name, bits)| Field { name: name.clone(), bits: *bits }).collect()
}

/// Describes the offloads.
fn described(states: &TableStates) -> Vec<Table> {
    let described = |table: Declared<'_>| {
        let Declared { path, config, changed_by_packets } = table;
        let entries = states.entries.iter().find(|(own, _)| *own == path);
        Table {
            kind: config.kind.clone(),
            key: config.key.as_ref().map(fields).unwrap_or_default(),
            value: value_layout(config).as_ref().map(fields).unwrap_or_default(),
            entries: entries.and_then(|(_, entries)| *entries),
            size: config.params.get("size").map(wireloom_bits::Bits::low_u64),
            writer: writer(&path, config, states.follows_kernel),
            changed_by_packets,
            table: path,
        }
    };
    declared(&states.engine.program.optimised).into_iter().map(described).collect()
}

fn replaced() -> Error {
    Error::new("the program was replaced meanwhile").with_help("ask again")
}

impl Session {
    /// Describes the offloads.
    ///
    /// # Errors
    /// If forwarding has ended, or tables in the kernel cannot be read.
    pub(crate) fn tables(&self) -> Result<Vec<Table>> {
        Ok(described(&self.states()?))
    }

    fn states(&self) -> Result<TableStates> {
        self.handle.ask(|forwarding| forwarding.tables())?
    }

    /// Sends rows of an offload, page by page. The result inside is the one of `send`.
    ///
    /// # Errors
    /// If the request does not suit the program, or the program was replaced meanwhile.
    pub(crate) fn send_rows(
        &self,
        wanted: &ShowRows,
        send: &mut dyn FnMut(Reply) -> io::Result<()>,
    ) -> Result<io::Result<()>> {
        let engine = self.states()?.engine;
        let config = find(&declared(&engine.program.optimised), &wanted.table)?;
        let most = wanted.most.unwrap_or(u64::MAX);
        if !wanted.keys.is_empty() {
            let mut rows = self.looked_up(&engine, config, wanted)?;
            let limit = usize::try_from(most).unwrap_or(usize::MAX);
            let end = if rows.len() > limit { End::Limit } else { End::Complete };
            rows.truncate(limit);
            return Ok(send(Reply::Rows(Rows { rows, end: Some(end) })));
        }
        let (mut from, mut left) = (Cursor::Start, most);
        loop {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(PAGE);
            if size == 0 {
                return Ok(send(Reply::Rows(Rows { rows: Vec::new(), end: Some(End::Limit) })));
            }
            let (same, path) = (Arc::clone(&engine), wanted.table.clone());
            let page =
                self.handle.ask(move |forwarding| forwarding.page(&same, &path, &from, size));
            let page = page??.ok_or_else(replaced)?;
            let is_cut = page.rows.len() as u64 > left;
            let rows = page.rows.iter().take(usize::try_from(left).unwrap_or(usize::MAX));
            let rows: Vec<Row> = rows.map(|row| Row::new(config, row, page.now_ns)).collect();
            left -= rows.len() as u64;
            let end = match &page.next {
                _ if is_cut => Some(End::Limit),
                Some(_) if left == 0 => Some(End::Limit),
                Some(_) => None,
                None => Some(End::Complete),
            };
            let sent = send(Reply::Rows(Rows { rows, end }));
            match page.next {
                Some(next) if end.is_none() && sent.is_ok() => from = next,
                _ => return Ok(sent),
            }
        }
    }

    fn looked_up(
        &self,
        engine: &Arc<RunningProgram>,
        config: &Config,
        wanted: &ShowRows,
    ) -> Result<Vec<Row>> {
        let path = &wanted.table;
        let key = |text: &String| {
            let key = parse_key(text).and_then(|key| row_key(config, &key));
            key.map_err(|what| Error::new(format!("`{path}`: {what}")))
        };
        let keys: Vec<EntryKey> = wanted.keys.iter().map(key).collect::<Result<_>>()?;
        let (same, path) = (Arc::clone(engine), path.clone());
        let found =
            self.handle.ask(move |forwarding| forwarding.look_up(&same, &path, &keys))??;
        let Page { rows, now_ns, .. } = found.ok_or_else(replaced)?;
        Ok(rows.iter().map(|row| Row::new(config, row, now_ns)).collect())
    }

    /// Makes a transaction.
    ///
    /// # Errors
    /// If forwarding has ended, if the program was replaced meanwhile, or if there are too many
    /// changes. A change that is refused is in the reply.
    pub(crate) fn change(&self, changes: &[Change]) -> Result<Reply> {
        if changes.len() > MOST_CHANGES {
            return Err(Error::new(format!(
                "a transaction of {} changes; packets wait for at most {MOST_CHANGES}",
                changes.len()
            ))
            .with_help("divide it into several transactions"));
        }
        let states = self.states()?;
        let tables = declared(&states.engine.program.optimised);
        let mut all = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            match planned(&tables, states.follows_kernel, change) {
                Ok(planned) => all.push(planned),
                Err(Error { message, help, .. }) => {
                    return Ok(Reply::Refused(Refused { change: at as u64, message, help }));
                }
            }
        }
        let count = all.len() as u64;
        let engine = Arc::clone(&states.engine);
        match self.handle.ask(move |forwarding| forwarding.transact(&engine, &all))? {
            Ok(time) => {
                let microseconds = time.as_secs_f64() * 1e6;
                tracing::info!(changes = count, "tables changed through the control socket");
                Ok(Reply::Changed(Changed { changes: count, microseconds }))
            }
            Err(Unmade::Replaced) => Err(replaced()),
            Err(Unmade::Refused(RefusedChange { at, message, help })) => {
                let help = help.map(str::to_owned);
                Ok(Reply::Refused(Refused { change: at as u64, message, help }))
            }
        }
    }
}
