//! The kernel's routes, neighbours and links, kept in the tables of a router.
//!
//! A notification of the kernel leads to a new dump of what it concerns: of neighbours alone, or of
//! everything. The difference to what the tables hold is sent as updates. So lost notifications,
//! and the routes that IPv4 removes without a notification when a link goes down, need no special
//! treatment. After each interval without a notification everything is compared all the same;
//! differences are counted as repairs. At the same time the kernel is told which neighbours are in
//! use, since it does not see the packets that the machine sends to them and would never verify
//! them.

mod netlink;
mod tables;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_machine::{Error, Result};
use wireloom_net::tables::{Literal, TableFile, UpdateFile};
use wireloom_offloads::{Content, Store, Update, resolve_updates};

use crate::control::{self, Control, Sending};
use crate::system::interface_index;
use netlink::{Changed, Changes, Links, Neighbours};
use tables::{NextHops, Route, Routes, Rows};

pub use tables::TABLES;

/// Changes within this time after the first are read together.
const SETTLE: Duration = Duration::from_millis(2);
/// The next hops that tables of routers hold (`NEXT_HOPS` of programs/include/forwarding.loom).
const NEXT_HOPS: u32 = 65_536;

/// The mirror of the kernel's state in the tables of a program.
pub struct Mirror {
    ports: Vec<u32>,
    /// The program's offloads without entries: they say how keys and values are made.
    empty: Store,
    changes: Changes,
    links: Links,
    neighbours: Neighbours,
    routes: Routes,
    hops: NextHops,
    limit: u32,
    rows: Rows,
    counters: Arc<MirrorCounters>,
}

/// What a mirror did.
#[derive(Debug, Default)]
pub struct MirrorCounters {
    /// Routes of the kernel.
    pub routes: AtomicU64,
    /// Its neighbours that can be sent to.
    pub neighbours: AtomicU64,
    /// Entries of tables that were changed, those at the start included.
    pub updates: AtomicU64,
    /// Entries that differed without a notification. Must stay 0.
    pub repairs: AtomicU64,
    /// Reads that failed; the tables stay as they are until the next change.
    pub failures: AtomicU64,
}

impl Mirror {
    /// Reads the kernel's state into a store of the program. `empty` is another store of it, without
    /// entries.
    ///
    /// # Errors
    /// If the kernel's state cannot be read, or does not suit the tables.
    pub fn start(ports: &[String], empty: Store, store: &mut Store) -> Result<Self> {
        let ports = ports.iter().map(|name| interface_index(name)).collect::<Result<_>>()?;
        // Subscribe first: nothing that changes during the dump is missed.
        let changes = Changes::subscribe().map_err(failed)?;
        let mut mirror = Self {
            ports,
            limit: elements(&empty, "next_hops").unwrap_or(NEXT_HOPS),
            empty,
            changes,
            links: Links::default(),
            neighbours: Neighbours::default(),
            routes: Routes::default(),
            hops: NextHops::default(),
            rows: Rows::default(),
            counters: Arc::default(),
        };
        mirror.read(Changed::Anything)?;
        for update in mirror.updates()? {
            update.apply(store).map_err(|refused| {
                Error::new(format!("the kernel's routes: `{}`: {}", update.offload, refused.0))
            })?;
        }
        Ok(mirror)
    }

    /// Follows the kernel in a thread of its own from now on, and compares everything after each
    /// interval. Returns the updates and the counters.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn follow(self, interval: Duration) -> Result<(Control, Arc<MirrorCounters>)> {
        let (sending, control) = control::pair()?;
        let counters = Arc::clone(&self.counters);
        let thread = thread::Builder::new().name("mirror".into());
        thread
            .spawn(move || self.run(sending, interval))
            .map_err(|error| Error::new(format!("a thread for the kernel's routes: {error}")))?;
        Ok((control, counters))
    }

    fn run(mut self, mut sending: Sending, interval: Duration) {
        // After a failure everything is read anew.
        let mut pending = Changed::Nothing;
        let mut compare_at = Instant::now() + interval;
        while !sending.is_closed() {
            let patience = match pending {
                Changed::Nothing => compare_at.saturating_duration_since(Instant::now()),
                _ => Duration::ZERO,
            };
            let waited = self.changes.wait(patience);
            let changed = match (waited, pending) {
                (Ok(Changed::Nothing), Changed::Nothing) => Changed::Nothing,
                (Ok(Changed::Neighbours), Changed::Nothing) => Changed::Neighbours,
                _ => Changed::Anything,
            };
            if changed != Changed::Nothing {
                thread::sleep(SETTLE);
            }
            // Notifications must not put this off for ever.
            let is_due = Instant::now() >= compare_at;
            if is_due {
                compare_at = Instant::now() + interval;
                if netlink::use_neighbours(self.hops.neighbours()).is_err() {
                    self.counters.failures.fetch_add(1, Ordering::Relaxed);
                }
            }
            let updates = match changed {
                Changed::Neighbours if !is_due => self.read(Changed::Neighbours),
                _ => self.read(Changed::Anything),
            }
            .and_then(|()| self.updates());
            pending = Changed::Nothing;
            let Ok(updates) = updates else {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                pending = Changed::Anything;
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if changed == Changed::Nothing && !updates.is_empty() {
                // A change that is notified while everything is read is no repair.
                match self.changes.wait(SETTLE) {
                    Ok(Changed::Nothing) => {
                        let repairs = updates.len() as u64;
                        self.counters.repairs.fetch_add(repairs, Ordering::Relaxed);
                    }
                    _ => pending = Changed::Anything,
                }
            }
            if !updates.is_empty() && !sending.send(updates) {
                return;
            }
        }
    }

    fn read(&mut self, changed: Changed) -> Result {
        self.neighbours = netlink::neighbours().map_err(failed)?;
        if changed != Changed::Neighbours {
            self.links = netlink::links().map_err(failed)?;
            self.routes = read_routes()?;
        }
        let count =
            |counter: &AtomicU64, count: usize| counter.store(count as u64, Ordering::Relaxed);
        count(&self.counters.neighbours, self.neighbours.len());
        count(&self.counters.routes, self.routes.len());
        Ok(())
    }

    /// Returns what brings the tables to the state that was read.
    fn updates(&mut self) -> Result<Vec<Update>> {
        let new = tables::rows(
            &self.ports,
            &self.links,
            &self.neighbours,
            &self.routes,
            &mut self.hops,
            self.limit,
        );
        let has = |table: &str| self.empty.find(table).is_some();
        let (text, count) = tables::changes(&self.rows, &new, has);
        let path = Path::new("the kernel's routes");
        let file = UpdateFile::from_text(path, &text).map_err(Error::new)?;
        let updates = resolve_updates(&mut self.empty, &file).map_err(Error::new)?;
        self.rows = new;
        self.counters.updates.fetch_add(count, Ordering::Relaxed);
        Ok(updates)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(format!("the kernel's routes: {error}"))
}

/// The number of elements of an array.
fn elements(store: &Store, name: &str) -> Option<u32> {
    let Content::Kind { config, .. } = &store.find(name)?.content else { return None };
    config.params.get("size")?.to_u128().and_then(|size| u32::try_from(size).ok())
}

/// Reads the kernel's tables `main` and `local`, as `import kernel` of table files does.
fn read_routes() -> Result<Routes> {
    let mut routes = Routes::new();
    for table in ["main", "local"] {
        let text = format!(
            "table routes\n\
             import kernel table={table} type=(type) device=(device) gateway=(gateway)\n"
        );
        let file = TableFile::from_text(Path::new("the kernel's routes"), text);
        let visited = file.and_then(|file| {
            file.for_each(&mut |entry| {
                let number = |index: usize| match &entry.fields[index].1 {
                    Literal::Number(bits) => bits.to_u128(),
                    _ => None,
                };
                let prefix = entry.ip_prefix().ok_or("a route without a prefix")?;
                let (kind, device) = (number(0).unwrap_or(0), number(1).unwrap_or(0));
                let gateway = number(2).unwrap_or(0);
                let route = Route { kind: kind as u8, device: device as u32, gateway };
                routes.insert(prefix, route);
                Ok(())
            })
        });
        visited.map_err(Error::new)?;
    }
    Ok(routes)
}
