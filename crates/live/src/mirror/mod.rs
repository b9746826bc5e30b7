//! Keeps the kernel's routes, neighbours and links in the tables of a router.
//!
//! ```text
//!   notifications ─> netlink ─> fib, links, neighbours ─> rows ─> encode ─> updates
//!   dumps ────────────^
//! ```
//!
//! At the start everything is read. After that the kernel's notifications are applied one by one
//! ([`fib`]), and the rows that may have changed are recomputed ([`rows`]): a change of one route
//! costs the same however many routes there are. Everything is read again
//! - after notifications were lost, since the kernel had no room for them;
//! - after changes that the kernel does not notify route by route: a link is switched on or off, an
//!   address is removed;
//! - from time to time, to compare. Unexplained differences are counted as repairs. The count must
//!   stay 0.
//!
//! With a memory limit, prefixes for which there is no room are left to the kernel. So is the
//! longest prefix around each, where the packets would go otherwise ([`rows`]). If not even the
//! kernel's routes fit here, all packets are left to the kernel ([`fib`]).
//!
//! While everything is read, notifications are applied as always ([`reading`]). Next hop objects
//! are followed one by one, as routes are ([`objects`]).
//!
//! The kernel does not see the packets that the machine sends. So it is told which neighbours are
//! in use, since it would not verify them otherwise, and which ones it should resolve.

mod encode;
mod fib;
mod hops;
mod message;
mod netlink;
mod objects;
mod reading;
mod rows;

use std::collections::{BTreeSet, HashMap};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wireloom_ir as ir;
use wireloom_machine::{Error, Result};
use wireloom_offloads::{Refused, Store, TableWriter, Update};

use crate::control::{self, Control, Sending};
use crate::memory::{self, Memory};
use crate::{MIRROR_RIGHTS, give_up_all_but};
use encode::Encoder;
pub use encode::TABLES;
use fib::Fib;
use netlink::{Change, Changes, Neighbour, Purpose, Read};
use reading::{LOOK, Reading};
use rows::{BATCH, Dirty, Rows, State};

/// The kernel's tables `local` and `main`, in the order in which it looks in them.
pub const LOCAL_AND_MAIN: [u32; 2] = [255, 254];

/// The most changes that are applied together.
const TOGETHER: usize = 4096;
/// How late a notification may arrive after a dump that already shows the change.
const SETTLE: Duration = Duration::from_millis(2);
/// As [`SETTLE`], before a difference counts as a repair. On a busy computer the thread that makes
/// a change may have to wait for a processor before the kernel notifies.
const LATE: Duration = Duration::from_secs(2);
/// Interval between two reads of late notifications.
const LATE_LOOK: Duration = Duration::from_millis(20);
/// Interval between attempts to read everything.
const RETRY: Duration = Duration::from_millis(100);
/// Interval between two reads of settings that the kernel does not notify.
const SETTINGS: Duration = Duration::from_secs(1);
/// Reading everything takes at most 1 / `READING` of the time.
const READING: u32 = 50;
/// The interval at which the kernel is asked to resolve neighbours, and how many at once.
const RESOLVE: Duration = Duration::from_secs(1);
const RESOLVED_AT_ONCE: usize = 64;

/// The mirror of the kernel's state in the tables of a program.
pub struct Mirror {
    changes: Changes,
    state: State,
    rows: Rows,
    encoder: Encoder,
    /// Neighbours in the last request to resolve.
    asked_for: BTreeSet<Neighbour>,
    /// The read of everything that is in progress, if any.
    reading: Option<Reading>,
    counters: Arc<MirrorCounters>,
    memory: Option<Arc<Memory>>,
    /// Whether the rows leave everything to the kernel, since its routes did not fit.
    has_given_up: bool,
}

/// Counters of a mirror.
#[derive(Debug, Default)]
pub struct MirrorCounters {
    /// Prefixes of the kernel in all tables that are followed.
    pub routes: AtomicU64,
    /// Neighbours that packets can be sent to.
    pub neighbours: AtomicU64,
    /// Changed rows of tables, including those at the start.
    pub updates: AtomicU64,
    /// Rows that differed without a notification. Must stay 0.
    pub repairs: AtomicU64,
    /// Reads of everything: at the start, after silent changes, and to compare.
    pub reads: AtomicU64,
    /// Times that the kernel lost notifications because they were not read in time.
    pub overruns: AtomicU64,
    /// Failed reads. The tables stay as they are until the next one.
    pub failures: AtomicU64,
    /// Routes that did not fit into the memory, at the last read of everything and since. The
    /// kernel forwards their packets.
    pub unheld: AtomicU64,
}

/// A mirror that follows the kernel in its own thread until all of its [`Control`]s are dropped.
pub struct RunningMirror {
    pub counters: Arc<MirrorCounters>,
    thread: JoinHandle<()>,
}

impl RunningMirror {
    /// Waits until the thread has ended. That frees everything that it has read from the kernel.
    pub fn end(self) {
        // A panic has been reported already.
        let _ = self.thread.join();
        memory::give_back();
    }
}

/// The effect of a series of notifications.
#[derive(Default)]
struct Noticed {
    count: usize,
    dirty: Dirty,
    /// Next hop objects that lead elsewhere. Their effect on routes is not in `dirty` yet.
    objects: BTreeSet<u32>,
    /// Whether some notifications were about neighbours, links or next hop objects. If they arrive
    /// after a read that shows their effect, the prefixes concerned are no longer known.
    others: bool,
    /// Whether everything has to be read.
    read_all: bool,
}

impl Noticed {
    /// Adds the prefixes affected by the objects that lead elsewhere.
    fn spread_objects(&mut self, fib: &Fib) {
        self.dirty.prefixes.extend(fib.affected_by(&std::mem::take(&mut self.objects)));
    }

    fn add(&mut self, more: &Self) {
        self.count += more.count;
        self.others |= more.others;
        self.read_all |= more.read_all;
        self.dirty.prefixes.extend(&more.dirty.prefixes);
        self.dirty.neighbours.extend(&more.dirty.neighbours);
        self.dirty.devices.extend(&more.dirty.devices);
    }
}

/// How a step of the work ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Well,
    /// Everything has to be read once more.
    Again,
    /// The kernel could not be read, or the updates could not be applied.
    Badly,
    /// No core takes updates any more.
    Unheard,
}

impl Done {
    /// Combines the results of this step and the next one: the first failure counts.
    fn or(self, next: Self) -> Self {
        if self == Self::Well { next } else { self }
    }
}

impl Mirror {
    /// Reads the kernel's state into a mirror for the program, whose ports are these interfaces.
    /// The kernel looks up `tables` in order until one has a route.
    ///
    /// # Errors
    /// If the kernel's state cannot be read, or does not suit the tables.
    pub fn start(
        ports: &[Option<u32>],
        tables: &[u32],
        program: &ir::Program,
        store: &mut Store,
        memory: Option<Arc<Memory>>,
    ) -> Result<Self> {
        let encoder = Encoder::new(program)?;
        // Subscribe first, so that no change during the dump is missed.
        let changes = Changes::subscribe().map_err(failed)?;
        if let Some(memory) = &memory {
            memory.begin_growth();
        }
        let state = reading::state(tables, memory.as_ref())?;
        encoder.check(store)?;
        let (hops, groups) = (encoder.next_hops(), encoder.groups());
        let mut rows = Rows::new(ports.to_vec(), hops, groups, memory.clone());
        rows.read_mtus6();
        let (counters, asked_for) = (Arc::default(), BTreeSet::new());
        let (reading, has_given_up) = (None, state.fib.given_up().is_some());
        let mut mirror = Self {
            changes,
            state,
            rows,
            encoder,
            asked_for,
            reading,
            counters,
            memory,
            has_given_up,
        };
        add(&mirror.counters.reads, 1);
        let mut sweep = mirror.rows.sweep();
        while let Some(changes) = mirror.rows.next(&mirror.state, &mut sweep) {
            add(&mirror.counters.updates, changes.len());
            for change in changes {
                mirror.encoder.encode(change, &mut |update| {
                    update.apply(store).map_err(|Refused(why)| {
                        Error::new(format!("the kernel's routes: `{}`: {why}", update.offload))
                    })
                })?;
            }
        }
        mirror.count();
        Ok(mirror)
    }

    /// From now on follows the kernel in a separate thread, and compares everything after each
    /// interval. Returns the thread, and the updates for each of the `cores` cores. The first core
    /// changes these offloads for all of them. The thread itself changes those with a writer. It
    /// keeps [`MIRROR_RIGHTS`] of the caller's rights.
    ///
    /// # Errors
    /// If the thread cannot be started, or its other rights cannot be given up.
    pub fn follow(
        self,
        interval: Duration,
        cores: usize,
        of_all_cores: BTreeSet<String>,
        writers: HashMap<String, Box<dyn TableWriter>>,
    ) -> Result<(Vec<Control>, RunningMirror)> {
        let (sending, controls) = control::channel(cores, of_all_cores, writers)?;
        let counters = Arc::clone(&self.counters);
        let thread = thread::Builder::new().name("mirror".into());
        let (tell, given_up) = mpsc::channel();
        let follow = move || {
            let result = give_up_all_but(&MIRROR_RIGHTS);
            let is_well = result.is_ok();
            if tell.send(result).is_ok() && is_well {
                self.run(sending, interval);
            }
        };
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(format!("a thread for the kernel's routes: {error}"))
        };
        let thread = thread.spawn(follow).map_err(|error| failed(&error))?;
        given_up.recv().map_err(|error| failed(&error))??;
        Ok((controls, RunningMirror { counters, thread }))
    }

    fn run(mut self, mut sending: Sending, interval: Duration) {
        let now = Instant::now();
        let (mut compare_at, mut resolve_at) = (now + interval, now);
        let (mut read_at, mut sweep_at): (Option<Instant>, _) = (None, now);
        let mut settings_at = now + SETTINGS;
        let closing = sending.descriptor();
        while !sending.is_closed() {
            let is_waiting = self.unresolved().next().is_some();
            let expires = self.state.fib.expires();
            let next = [
                Some(compare_at),
                Some(settings_at),
                expires,
                read_at,
                is_waiting.then_some(resolve_at),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(compare_at);
            let mut patience = next.saturating_duration_since(Instant::now());
            if self.reading.is_some() {
                patience = LOOK;
            } else if self.rows.unheld() > 0 {
                patience = patience.min(interval);
            }
            if self.changes.wait(patience, closing).is_err() {
                add(&self.counters.failures, 1);
                thread::sleep(RETRY);
            }
            let noticed = self.notice();
            let mut done = self.apply(&noticed.dirty, &mut sending);
            let now = Instant::now();
            if now >= sweep_at && self.rows.unheld() > 0 && self.rows.may_grow(&self.state) {
                // Rows that had no room before may have some now.
                done = done.or(self.sweep(&mut sending, &mut |_| ()));
                sweep_at = now + interval.max(now.elapsed() * READING);
            }
            let has_expired = self.state.fib.expires().is_some_and(|at| now >= at);
            if has_expired {
                self.state.fib.forget_lifetimes();
            }
            if noticed.read_all || has_expired {
                read_at = read_at.or(Some(now));
            }
            if now >= settings_at {
                let devices = self.rows.read_mtus6();
                done = done.or(self.apply(&Dirty { devices, ..Dirty::default() }, &mut sending));
                settings_at = now + SETTINGS;
            }
            if is_waiting && now >= resolve_at {
                self.resolve();
                resolve_at = now + RESOLVE;
            }
            if let Some(read) = self.reading.as_ref().and_then(Reading::read)
                && let Some(reading) = self.reading.take()
            {
                compare_at = now + interval.max(reading.began.elapsed() * READING);
                done = done.or(match read {
                    Ok(state) => self.enter(state, reading, &mut sending),
                    Err(_) => Done::Badly,
                });
            }
            if self.reading.is_none()
                && done == Done::Well
                && (now >= compare_at || read_at.is_some_and(|at| now >= at))
            {
                if now >= compare_at {
                    self.verify_neighbours();
                }
                add(&self.counters.reads, 1);
                // Only a comparison without another reason to read finds repairs.
                let memory = self.memory.clone();
                match Reading::begin(self.state.fib.numbers(), read_at.is_none(), memory) {
                    Ok(reading) => (self.reading, read_at) = (Some(reading), None),
                    Err(_) => {
                        compare_at = now + interval;
                        done = Done::Badly;
                    }
                }
            }
            match done {
                Done::Well => {}
                Done::Again => read_at = Some(Instant::now()),
                Done::Badly => {
                    add(&self.counters.failures, 1);
                    read_at = Some(Instant::now() + RETRY);
                }
                Done::Unheard => return,
            }
        }
    }

    /// Enters waiting notifications into the state.
    fn notice(&mut self) -> Noticed {
        let mut noticed = Noticed::default();
        let (state, changes, reading) = (&mut self.state, &self.changes, &mut self.reading);
        while noticed.count < TOGETHER {
            let entered = changes.read(&mut |change| {
                if let Some(reading) = reading {
                    reading.keep(&change);
                }
                note(state, change, &mut noticed);
            });
            match entered {
                Ok(Read::Nothing) => break,
                Ok(Read::Changes) => {}
                Ok(Read::Overrun) => {
                    add(&self.counters.overruns, 1);
                    noticed.read_all = true;
                }
                Err(_) => {
                    add(&self.counters.failures, 1);
                    noticed.read_all = true;
                }
            }
        }
        noticed.spread_objects(&state.fib);
        if let Some(reading) = reading {
            reading.noticed.add(&noticed);
        }
        noticed
    }

    /// Sends the updates for what has changed.
    fn apply(&mut self, dirty: &Dirty, sending: &mut Sending) -> Done {
        if self.state.fib.given_up().is_some() && !self.has_given_up {
            return self.sweep(sending, &mut |_| ());
        }
        if dirty.is_empty() {
            return Done::Well;
        }
        let changes = self.rows.update(&self.state, dirty);
        self.count();
        self.send(changes, sending)
    }

    fn send(&mut self, changes: Vec<rows::Change>, sending: &mut Sending) -> Done {
        add(&self.counters.updates, changes.len());
        let mut updates: Vec<Update> = Vec::new();
        for change in changes {
            let encoded = self.encoder.encode(change, &mut |update| {
                updates.push(update);
                Ok(())
            });
            if encoded.is_err() {
                return Done::Badly;
            }
            if updates.len() >= BATCH && !sending.send(std::mem::take(&mut updates)) {
                return Done::Unheard;
            }
        }
        match updates.is_empty() || sending.send(updates) {
            true => Done::Well,
            false => Done::Unheard,
        }
    }

    /// Brings all rows to the state, and sends the differences part by part.
    fn sweep(&mut self, sending: &mut Sending, see: &mut dyn FnMut(&rows::Change)) -> Done {
        self.has_given_up = self.state.fib.given_up().is_some();
        let mut sweep = self.rows.sweep();
        while let Some(changes) = self.rows.next(&self.state, &mut sweep) {
            changes.iter().for_each(&mut *see);
            let done = self.send(changes, sending);
            if done != Done::Well {
                return done;
            }
        }
        self.count();
        Done::Well
    }

    /// Enters the result of a read and the notifications since, and sends the differences.
    fn enter(&mut self, state: State, reading: Reading, sending: &mut Sending) -> Done {
        let Reading { mut noticed, changes, compares, .. } = reading;
        let had_given_up = self.state.fib.given_up().is_some();
        let gives_up = state.fib.given_up().is_some() && !had_given_up;
        if gives_up && compares {
            // There is no room for a second copy. The mirror keeps following the first.
            add(&self.counters.failures, 1);
            return Done::Well;
        }
        let lifetime = self.state.fib.expires();
        self.state = state;
        // A read in the last hundredth of a second of a lifetime does not show it.
        if let Some(expires) = lifetime {
            self.state.fib.note_lifetime(expires);
        }
        memory::give_back();
        for change in changes {
            note(&mut self.state, change, &mut noticed);
        }
        noticed.spread_objects(&self.state.fib);
        // Notifications of changes that the read already shows may still arrive.
        noticed.add(&self.notice_all(SETTLE, sending.descriptor()));
        // Rows that had no room before may have some now.
        let compares = compares && self.rows.unheld() == 0 && !had_given_up;
        let mut suspects = Vec::new();
        let mut done = self.sweep(sending, &mut |change| {
            if compares && is_repair(change, &noticed) {
                suspects.push(*change);
            }
        });
        let deadline = Instant::now() + LATE;
        while !suspects.is_empty() && Instant::now() < deadline && !sending.is_closed() {
            noticed.read_all |= self.changes.wait(LATE_LOOK, sending.descriptor()).is_err();
            let late = self.notice();
            noticed.add(&late);
            done = done.or(self.apply(&late.dirty, sending));
            suspects.retain(|change| is_repair(change, &noticed));
        }
        add(&self.counters.repairs, suspects.len());
        // Freeing the former copy may make room for one.
        done.or(if noticed.read_all || gives_up { Done::Again } else { Done::Well })
    }

    /// Enters all notifications until none arrives for `patience`.
    fn notice_all(&mut self, patience: Duration, closing: RawFd) -> Noticed {
        let mut all = Noticed::default();
        loop {
            if self.changes.wait(patience, closing).is_err() {
                all.read_all = true;
                return all;
            }
            let more = self.notice();
            all.add(&more);
            if more.count == 0 {
                return all;
            }
        }
    }

    /// Returns the neighbours of routes that packets cannot be sent to. (This excludes neighbours
    /// whose link is down and that are otherwise reachable.)
    fn unresolved(&self) -> impl Iterator<Item = &Neighbour> {
        let known = &self.state.neighbours;
        self.rows.neighbours().filter(|neighbour| !known.contains_key(neighbour))
    }

    fn resolve(&mut self) {
        let mut waiting: Vec<Neighbour> = self.unresolved().copied().collect();
        waiting.sort_unstable();
        // Neighbours that were not in the last request come first.
        waiting.sort_by_key(|neighbour| self.asked_for.contains(neighbour));
        waiting.truncate(RESOLVED_AT_ONCE);
        if netlink::use_neighbours(waiting.iter(), Purpose::Resolve).is_err() {
            add(&self.counters.failures, 1);
        }
        self.asked_for = waiting.into_iter().collect();
    }

    fn verify_neighbours(&self) {
        if netlink::use_neighbours(self.rows.neighbours(), Purpose::Verify).is_err() {
            add(&self.counters.failures, 1);
        }
    }

    fn count(&self) {
        let store = |counter: &AtomicU64, count: usize| {
            counter.store(count as u64, Ordering::Relaxed);
        };
        store(&self.counters.neighbours, self.state.neighbours.len());
        store(&self.counters.routes, self.state.fib.len());
        let missed = self.state.fib.given_up().unwrap_or(0) + self.rows.unheld();
        self.counters.unheld.store(missed, Ordering::Relaxed);
    }
}

/// Returns whether a row differs although no notification concerns it.
fn is_repair(change: &rows::Change, noticed: &Noticed) -> bool {
    if noticed.others || noticed.read_all {
        return false;
    }
    match change {
        rows::Change::Route(prefix, ..) | rows::Change::RouteGone(prefix) => {
            !noticed.dirty.prefixes.contains(prefix)
        }
        // Buckets follow the routes.
        rows::Change::Bucket(..) => false,
        rows::Change::NextHop(..) => noticed.dirty.prefixes.is_empty(),
        rows::Change::Port(..) => true,
    }
}

/// Enters a change into the state.
fn note(state: &mut State, change: Change, noticed: &mut Noticed) {
    noticed.count += 1;
    noticed.others |= !matches!(change, Change::Route(..) | Change::RouteGone(..));
    let dirty = &mut noticed.dirty;
    match change {
        Change::Route(said, joins) => dirty.prefixes.extend(state.fib.insert(said, joins)),
        Change::RouteGone(said) => dirty.prefixes.extend(state.fib.remove(&said)),
        Change::Neighbour(neighbour, reach) => {
            let old = match reach {
                Some(reach) => state.neighbours.insert(neighbour, reach),
                None => state.neighbours.remove(&neighbour),
            };
            if old != reach {
                dirty.neighbours.insert(neighbour);
            }
        }
        Change::Link(index, link) => {
            let old = match link {
                Some(link) => state.links.insert(index, link),
                None => state.links.remove(&index),
            };
            if old != link {
                dirty.devices.insert(index);
                noticed.read_all |= old.map(|old| old.up) != link.map(|link| link.up);
            }
            if link.is_none_or(|link| link.up != (true, true)) {
                let (objects, prefixes) = state.fib.remove_objects_at(index);
                dirty.prefixes.extend(prefixes);
                noticed.objects.extend(objects);
            }
        }
        Change::Object(object) => noticed.objects.extend(state.fib.insert_object(object)),
        Change::ObjectGone(number) => {
            let (objects, prefixes) = state.fib.remove_object(number);
            dirty.prefixes.extend(prefixes);
            noticed.objects.extend(objects);
        }
        Change::Silent => noticed.read_all = true,
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

fn failed(error: std::io::Error) -> Error {
    Error::new(format!("the kernel's routes: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read may show that an object is gone, with its routes, before the kernel says so.
    #[test]
    fn a_late_notification_of_an_object_explains_the_difference() {
        let fib = Fib::new(&LOCAL_AND_MAIN, None);
        let mut read = State { links: HashMap::new(), neighbours: Default::default(), fib };
        let mut noticed = Noticed::default();
        let gone = rows::Change::RouteGone("192.0.2.0/24".parse().expect("a prefix"));
        assert!(is_repair(&gone, &noticed));
        note(&mut read, Change::ObjectGone(1), &mut noticed);
        assert!(!is_repair(&gone, &noticed));
    }
}
