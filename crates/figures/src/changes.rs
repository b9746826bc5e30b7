//! The native router while a control plane in another thread changes its tables, next to the same
//! router without changes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_bits::Bits;
use wireloom_console::load_store;
use wireloom_ir::{Execute, Verdict};
use wireloom_machine::{Error, Result};
use wireloom_native::{BuildOptions, Control, Library, Native};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Content, Instance, StateRow, Store, Update};

use super::Settings;
use super::processors::{Pinned, allowed};
use super::workload::packets;

/// The fewest changes per second that a valid sample has.
pub const CHANGES: f64 = 50_000.0;
/// The target rate of the control plane, above `CHANGES` because the system sometimes delays it.
const PACE: f64 = 1.02 * CHANGES;
/// The time that the control plane sleeps between two looks at the clock.
const REST: Duration = Duration::from_micros(200);
/// The duration of a rate measurement.
const MEASURED: Duration = Duration::from_millis(500);
/// Packets that the machine is offered at once, as by ports.
const OFFERED: usize = 256;
/// One in this many of the 606,138 routes is changed. A next hop changes after each
/// `ROUTES_PER_HOP` routes.
const SPACING: usize = 61;
const ROUTES_PER_HOP: usize = 9;
/// Samples that may be discarded because other work of the system delayed the control plane.
const TRIES: usize = 20;

/// Destination and source address of the frames to a next hop: the first twelve bytes of a frame,
/// with the first byte lowest.
type Link = u128;
/// The bits of a [`Link`].
const LINK: u128 = (1 << 96) - 1;

/// The bit that is flipped in both addresses of a changed next hop.
const CHANGED_BIT: u32 = 24;

/// Returns the function that takes one sample: the rate of the router with the demonstration's
/// tables during 50,000 changes per second, as a multiple of its rate without changes, both per
/// second of processor time. A change gives a route another next hop, or a next hop other
/// addresses. Packets and changes each have a processor if there are two. Every frame must have
/// both addresses from before or both from after a change, and addresses of the port to which it is
/// sent.
///
/// # Errors
/// If a file is missing, or the compiler fails.
pub fn sampler(settings: &Settings) -> Result<impl FnMut() -> Result<f64>> {
    let program = settings.router()?.compiled()?;
    let (mut store, _) = load_store(&program.optimised, &[settings.tables()?])?;
    let changes = Changes::of(&mut store)?;
    let options = BuildOptions::default();
    let library = Library::build(&program.optimised, &options).map_err(Error::new)?;
    let mut machine = Native::new(library, store);
    let packets = packets(settings, "ipv4")?;
    let mut next = 0;
    Ok(move || {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let [for_packets, for_changes] = match allowed()[..] {
            [first, second, ..] => [Some(first), Some(second)],
            _ => [None; 2],
        };
        let _pinned = for_packets.and_then(Pinned::to);
        for _ in 0..TRIES {
            let quiet = changes.rate(&mut machine, &frames)?;
            let control = machine.control();
            let ends = AtomicBool::new(false);
            let (changing, made) = thread::scope(|scope| {
                let changing = scope.spawn(|| {
                    let _pinned = for_changes.and_then(Pinned::to);
                    changes.make(&control, &mut next, &ends)
                });
                let rate = changes.rate(&mut machine, &frames);
                ends.store(true, Ordering::Relaxed);
                // Pending changes are applied, so that the thread can end.
                machine.offer(&frames[..OFFERED], &mut |_| {});
                (rate, changing.join().expect("it does not panic"))
            });
            if let Some((update, refused)) = control.refused().first() {
                return Err(Error::new(format!("{}: {}", update.offload, refused.0)));
            }
            if made >= CHANGES {
                return Ok(changing? / quiet);
            }
        }
        Err(Error::new(format!("fewer than {CHANGES} changes a second, {TRIES} times"))
            .with_help("it needs a second core that nothing else uses"))
    })
}

/// The changes, applied in this order again and again.
struct Changes {
    updates: Vec<Update>,
    /// The addresses that frames may have, by port.
    links: Vec<Vec<Link>>,
}

impl Changes {
    /// Builds changes of existing entries.
    fn of(store: &mut Store) -> Result<Self> {
        let mut links: Vec<Vec<Link>> = Vec::new();
        let mut hops = Vec::new();
        let table = instance(store, "next_hops")?;
        for row in table.rows() {
            let other = with_fields(&row, |name, value| match name {
                "dst" | "src" => value ^ 1 << CHANGED_BIT,
                _ => value,
            });
            for row in [&row, &other] {
                let link = (field(row, "dst")? << 48) | field(row, "src")?;
                let port = field(row, "port")? as usize;
                links.resize(links.len().max(port + 1), Vec::new());
                links[port].push((link << 32).swap_bytes());
            }
            hops.push([&other, &row].map(|row| update("next_hops", table, row)));
        }
        let count = hops.len() as u128;
        let mut routes = Vec::new();
        let mut index = 0;
        let table = instance(store, "destinations4")?;
        table.for_each_row(&mut |row| {
            index += 1;
            if index % SPACING == 0 {
                let other = with_fields(&row, |name, value| match name {
                    "next_hop" => (value + 1) % count,
                    _ => value,
                });
                routes.push([&other, &row].map(|row| update("destinations4", table, row)));
            }
        });
        // All routes get another next hop, then their original one again; next hops change in
        // between.
        let mut updates = Vec::new();
        for time in 0..2 {
            for (index, routes) in routes.chunks(ROUTES_PER_HOP).enumerate() {
                updates.extend(routes.iter().map(|route| route[time].clone()));
                let round = index / hops.len() % 2;
                updates.push(hops[index % hops.len()][round].clone());
            }
        }
        Ok(Self { updates, links })
    }

    /// Makes changes from `next` on until `ends` is set. Returns the rate in changes per second.
    fn make(&self, control: &Control, next: &mut usize, ends: &AtomicBool) -> f64 {
        let begin = Instant::now();
        let mut made = 0u64;
        while !ends.load(Ordering::Relaxed) {
            let owed = (begin.elapsed().as_secs_f64() * PACE) as u64;
            while made < owed && !ends.load(Ordering::Relaxed) {
                let update = self.updates[*next % self.updates.len()].clone();
                control.change(update).expect("the machine is there");
                *next += 1;
                made += 1;
            }
            thread::sleep(REST);
        }
        made as f64 / begin.elapsed().as_secs_f64()
    }

    /// Measures the rate in million packets per second of this thread's processor time. Other
    /// programs, and the control plane if it has no core of its own, take wall-clock time but none
    /// of this.
    fn rate(&self, machine: &mut Native, frames: &[Frame<'_>]) -> Result<f64> {
        let (mut packets, mut torn) = (0u64, None);
        let begin = processor_time();
        while processor_time() - begin < MEASURED {
            for frames in frames.chunks(OFFERED) {
                machine.offer(frames, &mut |output| {
                    let Verdict::Sent { port } = output.verdict else { return };
                    let bytes = output.bytes.first_chunk().copied().unwrap_or_default();
                    let link = Link::from_le_bytes(bytes) & LINK;
                    if !self.links.get(usize::from(port)).is_some_and(|all| all.contains(&link)) {
                        torn = Some((port, bytes));
                    }
                });
            }
            packets += frames.len() as u64;
        }
        match torn {
            None => Ok(packets as f64 / (processor_time() - begin).as_secs_f64() / 1e6),
            Some((port, bytes)) => Err(Error::new(format!(
                "a frame to port {port} begins with addresses that no next hop there ever had: {bytes:02x?}"
            ))),
        }
    }
}

#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The wall-clock time, on systems without a thread clock.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGIN.elapsed()
}

fn instance<'a>(store: &'a mut Store, path: &str) -> Result<&'a dyn Instance> {
    match store.find_mut(path).map(|slot| &slot.content) {
        Some(Content::Kind { instance, .. }) => Ok(instance.as_ref()),
        _ => Err(Error::new(format!("the router has no table {path}"))),
    }
}

/// Returns a field of a row.
fn field(row: &StateRow, name: &str) -> Result<u128> {
    let found = row.fields.iter().find(|(field, _)| field == name);
    let missing = || Error::new(format!("the router's tables have no field {name}"));
    found.map(|(_, value)| u128::from(value.low_u64())).ok_or_else(missing)
}

/// Returns a row with changed field values.
fn with_fields(row: &StateRow, change: impl Fn(&str, u128) -> u128) -> StateRow {
    let fields = row.fields.iter().map(|(name, value)| {
        let changed = change(name, u128::from(value.low_u64()));
        (name.clone(), Bits::new(value.width(), changed))
    });
    StateRow { key: row.key.clone(), fields: fields.collect() }
}

fn update(offload: &str, table: &dyn Instance, row: &StateRow) -> Update {
    let entry = table.entry(row);
    let (packet, line) = (0, 0);
    Update { packet, offload: offload.to_owned(), key: entry.key, value: Some(entry.value), line }
}
