//! An engine at live ports: its programs in the drivers, its tables, which the control plane
//! changes, and its counters.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use wireloom_codegen_c::bpf::LIVE;
use wireloom_install::Cache;
use wireloom_ir::{Reason, ReasonSetId, Verdict};
use wireloom_machine::{
    Counts, Error, Machine, Program, Result, Settled, Sink, Snapshot, UpdateError, Wanted,
};
use wireloom_net::Frame;
use wireloom_offloads::{Store, Update};

use crate::compiled::Compiled;
use crate::engine::{KernelEngine, Loader, Settings, failed};
use crate::kernel::{self, Hook, MapType, Shape};
use crate::watch::WatchedPrograms;

/// An interface that is a port.
#[derive(Clone, Debug)]
pub struct Interface {
    pub name: String,
    /// The number of the interface in the kernel.
    pub index: u32,
}

/// The programs of an engine in the kernel, one for each port, and their counts.
pub struct InKernel {
    programs: Vec<OwnedFd>,
    counts: OwnedFd,
    verdicts: OwnedFd,
    buckets: OwnedFd,
    scratch: OwnedFd,
    interfaces: OwnedFd,
    processors: usize,
    /// Loads further programs of the engine at these ports.
    pub(crate) loader: Arc<Loader>,
    settings: Vec<Settings>,
}

/// Limits on the packets a second that the kernel gets for each reason. 0 means no limit.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The limit for each reason that is not among the exceptions.
    pub rate: u64,
    /// Limits for individual reasons.
    pub exceptions: Vec<(Reason, u64)>,
}

/// The control plane's side of an engine in the kernel. It takes no packets: the kernel gives them
/// to the programs. Updates take effect with [`finish`](Machine::finish).
pub struct Live {
    engine: KernelEngine,
    store: Store,
    /// Offloads that have not been written yet.
    changed: Option<Changed>,
}

/// Offloads to write into the kernel's maps: all, or one by its index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    All,
    One(usize),
}

/// The programs attached to the ports. They are detached when this is dropped.
pub struct Links(Vec<OwnedFd>);

/// Counts of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Packets and bytes received.
    pub received: (u64, u64),
    /// Packets and bytes sent, as far as the driver accepted them.
    pub sent: (u64, u64),
    /// Packets that could not become a frame: shorter than the kernel sends, or with more headers
    /// than there is room for.
    pub unsent: u64,
    /// Packets from this port to ports that do not exist.
    pub without_port: u64,
}

/// The indices of a port's counts (`WL_COUNT_...`).
const RECEIVED: usize = 0;
const SENT: usize = 1;
const UNSENT: usize = 2;
const NO_PORT: usize = 3;
const COUNTS: usize = 4;
/// Bytes of a pair of counts, packets and bytes.
const COUNT: usize = 16;
/// Limit on the verdicts with reasons that have separate counts.
const MOST_VERDICTS: u32 = 4096;
/// Bytes of a verdict (`struct wl_verdict_key`) and of its bucket (`struct wl_bucket`).
const VERDICT: usize = 12;
const BUCKET: usize = 24;
/// The number of the verdict for packets to the kernel (`WL_TO_CPU`).
pub(crate) const TO_CPU: u32 = 2;
/// Bytes of the memory for checksums, including spare room at its end.
const SCRATCH: u32 = 520;

/// Whether an interface is a card. The peer of any other interface may be on this computer, and may
/// leave checksums to hardware that does not exist.
fn is_hardware(name: &str) -> bool {
    std::path::Path::new("/sys/class/net").join(name).join("device").exists()
}

impl Links {
    /// Attaches the programs to their ports.
    ///
    /// # Errors
    /// Without the rights, or if a driver has no XDP hook, or has another program in it.
    pub fn attach(kernel: &InKernel, ports: &[Interface]) -> Result<Self> {
        let links = kernel.programs.iter().zip(ports).map(|(program, port)| {
            kernel::attach(program, Hook::Driver, port.index).map_err(|error| {
                let what = format!("port {}: attaching an XDP program", port.name);
                let error_code = error.raw_os_error();
                let problem = failed(&what, &error, "");
                match error_code {
                    Some(libc::EOPNOTSUPP) => {
                        problem.with_help("its driver has no XDP hook: take another value of --io")
                    }
                    Some(libc::EBUSY) => {
                        problem.with_help("there is another program in its XDP hook")
                    }
                    _ => problem,
                }
            })
        });
        links.collect::<Result<_>>().map(Self)
    }

    /// Replaces the attached programs by others.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn replace(&self, kernel: &InKernel) -> Result {
        self.put(&kernel.programs)
    }

    /// Replaces the attached programs by the programs of a watch.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn watch(&self, watched: &WatchedPrograms) -> Result {
        self.put(&watched.0)
    }

    fn put(&self, programs: &[OwnedFd]) -> Result {
        for (link, program) in self.0.iter().zip(programs) {
            kernel::replace(link, program)
                .map_err(|error| failed("replacing an XDP program", &error, ""))?;
        }
        Ok(())
    }
}

impl InKernel {
    /// Loads a program for each port. `watched` is the engine's program with the code of a watch,
    /// and `more` are the maps that the watch needs.
    pub(crate) fn load(
        &self,
        watched: Option<&Compiled>,
        more: &[(&str, &OwnedFd)],
    ) -> Result<Vec<OwnedFd>> {
        let own = [
            ("wl_map_counts", &self.counts),
            ("wl_map_verdicts", &self.verdicts),
            ("wl_map_buckets", &self.buckets),
            ("wl_map_scratch", &self.scratch),
            ("wl_map_ports", &self.interfaces),
        ];
        let maps = [&own[..], more].concat();
        let ports = self.settings.iter();
        ports.map(|settings| self.loader.load(watched, LIVE, &maps, *settings)).collect()
    }

    /// Returns the counts of each port.
    ///
    /// # Errors
    /// If the kernel does not return the counts.
    pub fn ports(&self) -> Result<Vec<PortCounts>> {
        let count = |index: usize| -> Result<(u64, u64)> {
            let mut values = vec![0; self.processors * COUNT];
            let key = (index as u32).to_ne_bytes();
            kernel::find(&self.counts, &key, &mut values).map_err(unread)?;
            Ok(sum(&values))
        };
        let port = |number: usize| {
            let count = |what| count(number * COUNTS + what);
            Ok(PortCounts {
                received: count(RECEIVED)?,
                sent: count(SENT)?,
                unsent: count(UNSENT)?.0,
                without_port: count(NO_PORT)?.0,
            })
        };
        (0..self.programs.len()).map(port).collect()
    }

    /// Returns the packets and bytes of each verdict.
    ///
    /// # Errors
    /// If the kernel does not return the counts.
    pub fn verdicts(&self) -> Result<Vec<(Verdict, (u64, u64))>> {
        let ports = self.ports()?.into_iter().enumerate();
        let sent = ports.map(|(port, counts)| (Verdict::Sent { port: port as u16 }, counts.sent));
        let mut verdicts: Vec<_> = sent.filter(|(_, count)| count.0 > 0).collect();
        for bytes in keys(&self.verdicts)? {
            let word = |index: usize| word(&bytes, index);
            let mut values = vec![0; self.processors * COUNT];
            if kernel::find(&self.verdicts, &bytes, &mut values).map_err(unread)? {
                let reason = reason(&bytes);
                let verdict = match word(0) {
                    TO_CPU => Some(Verdict::ToCpu(reason)),
                    3 => Some(Verdict::Dropped(reason)),
                    4 => Some(Verdict::Dropped(Reason::Runaway)),
                    _ => None,
                };
                verdicts.extend(verdict.map(|verdict| (verdict, sum(&values))));
            }
        }
        Ok(verdicts)
    }

    /// Returns by reason the number of packets that exceeded the kernel's limit, and so were not
    /// given to it.
    ///
    /// # Errors
    /// If the kernel does not return the counts.
    pub fn policed(&self) -> Result<Vec<(Reason, u64)>> {
        let mut policed = Vec::new();
        for key in keys(&self.buckets)? {
            let mut bucket = [0; BUCKET];
            kernel::find(&self.buckets, &key, &mut bucket).map_err(unread)?;
            let refused = bucket[16..].try_into().map(u64::from_ne_bytes).unwrap_or_default();
            if word(&key, 0) == TO_CPU && refused > 0 {
                policed.push((reason(&key), refused));
            }
        }
        Ok(policed)
    }
}

/// Returns the keys of a map of verdicts.
fn keys(map: &OwnedFd) -> Result<Vec<Vec<u8>>> {
    let next = |key: Option<&[u8]>| kernel::next_key(map, key, VERDICT).map_err(unread);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    while let Some(key) = next(keys.last().map(Vec::as_slice))? {
        keys.push(key);
    }
    Ok(keys)
}

/// Returns a word of a verdict's key.
fn word(key: &[u8], index: usize) -> u32 {
    let bytes = &key[4 * index..4 * index + 4];
    bytes.try_into().map(u32::from_ne_bytes).unwrap_or_default()
}

fn reason(key: &[u8]) -> Reason {
    Reason::Program(ReasonSetId(word(key, 1)), word(key, 2) as u16)
}

/// Creates the buckets of reasons. The bucket of no verdict is the template for new buckets.
fn buckets(limits: &Limits) -> io::Result<OwnedFd> {
    const SECOND: u64 = 1_000_000_000;
    let shape = Shape {
        map_type: MapType::Hash,
        key: VERDICT as u32,
        value: BUCKET as u32,
        entries: MOST_VERDICTS,
        flags: 0,
    };
    let map = kernel::create_map("wl_buckets", shape, None, None)?;
    let set = |key: [u32; 3], rate: u64| {
        let step = SECOND.checked_div(rate).unwrap_or(u64::MAX);
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let bucket: Vec<u8> = bytes(&[0, step, 0]);
        let key: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).collect();
        kernel::set(&map, &key, &bucket)
    };
    set([0; 3], limits.rate)?;
    for (reason, rate) in &limits.exceptions {
        if let Reason::Program(reasons, value) = reason {
            set([TO_CPU, reasons.0, (*value).into()], *rate)?;
        }
    }
    Ok(map)
}

fn unread(error: io::Error) -> Error {
    failed("the counters in the kernel", &error, "")
}

/// Adds the counts of all processors.
fn sum(values: &[u8]) -> (u64, u64) {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    let counts = values.chunks_exact(COUNT).map(|count| (word(&count[..8]), word(&count[8..])));
    counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

impl Live {
    /// Compiles an engine and has the kernel verify it, for these ports. The limits bound the
    /// packets that go to the kernel.
    ///
    /// # Errors
    /// If the program does not fit the kernel, or rights are missing.
    pub fn new(
        program: &Program,
        mut store: Store,
        ports: &[Interface],
        limits: &Limits,
        progress: &dyn Fn(&str),
    ) -> Result<(Self, Arc<InKernel>)> {
        // A restart finds the compiled program in the cache.
        let cache = Some(Cache::of_user("xdp"));
        let engine = KernelEngine::new(program, &mut store, cache, progress)?;
        Self::of(engine, store, ports, limits, progress)
    }

    /// Has the kernel verify an engine with this store.
    pub(crate) fn of(
        engine: KernelEngine,
        store: Store,
        ports: &[Interface],
        limits: &Limits,
        progress: &dyn Fn(&str),
    ) -> Result<(Self, Arc<InKernel>)> {
        let problem = |error: io::Error| failed("a map of the ports", &error, "");
        let create = |name: &str, map_type, key, value, entries| {
            let shape = Shape { map_type, key, value, entries, flags: 0 };
            kernel::create_map(name, shape, None, None).map_err(problem)
        };
        let count = ports.len() as u32;
        let counts =
            create("wl_counts", MapType::PerCpuArray, 4, COUNT as u32, count * COUNTS as u32)?;
        let verdicts = create(
            "wl_verdicts",
            MapType::PerCpuHash,
            VERDICT as u32,
            COUNT as u32,
            MOST_VERDICTS,
        )?;
        let buckets = buckets(limits).map_err(problem)?;
        let scratch = create("wl_scratch", MapType::PerCpuArray, 4, SCRATCH, 1)?;
        let interfaces = create("wl_ports", MapType::Interfaces, 4, 4, count)?;
        for (number, port) in ports.iter().enumerate() {
            let number = (number as u32).to_ne_bytes();
            kernel::set(&interfaces, &number, &port.index.to_ne_bytes())
                .map_err(|error| failed(&format!("port {}", port.name), &error, ""))?;
        }
        progress("loading the program into the kernel");
        let settings = ports.iter().enumerate().map(|(number, port)| {
            let completes = !is_hardware(&port.name);
            Settings { port: number as u32, ports: count, completes }
        });
        let mut kernel = InKernel {
            programs: Vec::new(),
            counts,
            verdicts,
            buckets,
            scratch,
            interfaces,
            processors: kernel::processors().map_err(problem)?,
            loader: Arc::clone(&engine.loader),
            settings: settings.collect(),
        };
        kernel.programs = kernel.load(None, &[])?;
        Ok((Self { engine, store, changed: None }, Arc::new(kernel)))
    }

    fn read(&mut self, only: Option<usize>) -> Result {
        let read = self.engine.tables.read(&mut self.store, only);
        read.map_err(|error| failed("the tables", &error, ""))
    }
}

impl Machine for Live {
    fn offer(&mut self, _: &[Frame<'_>], _: Sink<'_>) -> Result<Settled> {
        Err(Error::new("the kernel gives packets to the engine itself"))
    }

    fn finish(&mut self, _: Sink<'_>) -> Result<Settled> {
        let only = match self.changed.take() {
            None => return Ok(Settled::default()),
            Some(Changed::All) => None,
            Some(Changed::One(offload)) => Some(offload),
        };
        let written = self.engine.tables.write(&mut self.store, only);
        written.map_err(|error| failed("the tables", &error, ""))?;
        Ok(Settled::default())
    }

    fn update(&mut self, update: &Update, _: Sink<'_>) -> Result<Settled, UpdateError> {
        let offload = self.store.slots.iter().position(|slot| slot.name == update.offload);
        // An entry may name an entry of another offload that was changed earlier. That one must be
        // in the kernel first.
        if let Some(offload) = offload
            && self.changed != Some(Changed::One(offload))
        {
            self.finish(&mut |_| ())?;
            self.read(Some(offload))?;
            self.changed = Some(Changed::One(offload));
        }
        update.apply(&mut self.store).map_err(|refused| UpdateError::Refused(refused.0))?;
        Ok(Settled::default())
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn store_mut(&mut self) -> Option<&mut Store> {
        self.engine.tables.read(&mut self.store, None).ok()?;
        self.changed = Some(Changed::All);
        Some(&mut self.store)
    }

    fn read_back(&mut self, _: Wanted<'_>, _: &dyn Fn(&str)) -> Result<Vec<String>> {
        if self.changed.is_none() {
            self.read(None)?;
        }
        Ok(Vec::new())
    }

    fn lend(&mut self, look: &mut dyn FnMut(&mut Store)) -> Result<bool> {
        self.finish(&mut |_| ())?;
        self.read(None)?;
        look(&mut self.store);
        // Undoes the borrower's changes to offloads that packets change.
        self.read(None)?;
        Ok(true)
    }

    fn counts(&self) -> Option<Counts> {
        self.engine.counts(&self.store).ok()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        snapshot.restore(&mut self.store)?;
        self.changed = Some(Changed::All);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
