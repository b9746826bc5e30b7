//! An engine in the kernel: its program, and the maps that all of its loaded programs share.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use wireloom_codegen_c::bpf::{self, BpfProgram, Counted, FUNCTIONS, Refused, Takes, Watch};
use wireloom_install::Cache;
use wireloom_machine::{Calls, Counts, Error, Program, Result};
use wireloom_offloads::{Content, Store, registry};

use crate::compiled::{Compiled, Source, broken};
use crate::kernel::{self, Instruction, MapType, Shape, Typed, flag};
use crate::link::link;
use crate::object::Object;
use crate::steps::{Steps, in_log};
use crate::tables::Tables;
use crate::types::Types;

/// An engine in the kernel.
pub struct KernelEngine {
    pub loader: Arc<Loader>,
    threads: OwnedFd,
    /// The counts of threads, the bytes of a thread, and the offset of its counts.
    counted: Counted,
    thread_bytes: usize,
    counted_at: usize,
    pub tables: Tables,
}

/// The state that all programs of an engine share.
pub struct Loader {
    compiled: Compiled,
    /// The types loaded into the kernel, and the type of each function.
    types: OwnedFd,
    functions: HashMap<String, u32>,
    /// The maps of threads, locks and offloads.
    maps: HashMap<String, OwnedFd>,
}

/// Settings of a port, which the loader sets (`struct wl_settings`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The number of the port.
    pub port: u32,
    /// The number of ports.
    pub ports: u32,
    /// Whether frames may arrive with checksums that hardware should complete.
    pub completes: bool,
}

impl KernelEngine {
    /// Compiles a program, and creates its maps with the state of a store. Pass a cache of object
    /// files for programs that are loaded repeatedly; other programs would only fill it.
    ///
    /// # Errors
    /// If the program does not fit the kernel, the compiler is missing or fails, or rights are
    /// missing.
    pub fn new(
        program: &Program,
        store: &mut Store,
        cache: Option<Cache>,
        progress: &dyn Fn(&str),
    ) -> Result<Self> {
        let written = bpf::generate(&program.optimised).map_err(refused)?;
        let broken = |why: String| broken(&why);
        progress("compiling C for BPF");
        let compiled = Compiled::new(source(program, &written), cache)?;
        let object = compiled.next()?;
        let thread = object.constant("wl_thread_bytes").map_err(broken)?;
        let packet = object.constant("wl_packet_bytes").map_err(broken)?;
        let counted_at = object.constant("wl_counted_at").map_err(broken)? as usize;
        let functions = functions(&written);
        let types = Types::of(&functions, thread, packet);
        let loaded = kernel::load_types(&types.bytes);
        let loaded = loaded.map_err(|(error, log)| failed("types for BPF", &error, &log))?;
        let names = functions.iter().map(|(name, _)| (*name).to_owned());
        let functions = names.zip(types.functions).collect();

        let map = |name: &str, error: io::Error| failed(&format!("the map `{name}`"), &error, "");
        let shape =
            Shape { map_type: MapType::PerCpuArray, key: 4, value: thread, entries: 1, flags: 0 };
        let threads = kernel::create_map("wl_threads", shape, None, None)
            .map_err(|error| map("threads", error))?;
        let count = written.maps.iter().map(|map| map.offload + 1).max().unwrap_or(0);
        let locks = (count > 0).then(|| {
            let shape = Shape {
                map_type: MapType::Array,
                key: 4,
                value: 4,
                entries: count as u32,
                flags: 0,
            };
            let typed = Typed { types: &loaded, key: types.index, value: types.lock };
            kernel::create_map("wl_locks", shape, None, Some(typed))
        });
        let locks = locks.transpose().map_err(|error| map("locks", error))?;
        let mut tables = Tables::new(&written.maps).map_err(|error| map("of an offload", error))?;
        tables.write(store, None).map_err(|error| failed("the tables", &error, ""))?;
        let shared = tables.maps().chain([("wl_map_threads", &threads)]);
        let shared = shared.chain(locks.iter().map(|locks| ("wl_map_locks", locks)));
        let maps = shared.map(|(name, map)| Ok((name.to_owned(), map.try_clone()?)));
        let maps = maps.collect::<io::Result<_>>().map_err(|error| map("of an offload", error))?;
        Ok(Self {
            loader: Arc::new(Loader { compiled, types: loaded, functions, maps }),
            threads,
            counted: written.counted,
            thread_bytes: thread as usize,
            counted_at,
            tables,
        })
    }

    /// Returns how often packets began steps and called offloads, summed over all processors.
    /// `store` has the engine's offloads.
    ///
    /// # Errors
    /// If the kernel does not return the counts.
    pub fn counts(&self, store: &Store) -> io::Result<Counts> {
        // The kernel returns the threads of all processors, each at a multiple of 8 bytes.
        let distance = self.thread_bytes.next_multiple_of(8);
        let mut threads = vec![0; distance * kernel::processors()?];
        kernel::find(&self.threads, &0u32.to_ne_bytes(), &mut threads)?;
        let mut sums = vec![0; self.counted.len()];
        for thread in threads.chunks_exact(distance) {
            let numbers = thread[self.counted_at..].chunks_exact(8);
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += number.try_into().map_or(0, u64::from_ne_bytes);
            }
        }
        let calls = store.slots.iter().zip(self.counted.offloads.windows(2));
        let calls = calls.map(|(slot, range)| {
            let Content::Kind { config, .. } = &slot.content else { return Vec::new() };
            let numbers = &sums[range[0]..range[1]];
            registry::kind(&config.kind).map_or_else(Vec::new, |kind| Calls::of(kind, numbers))
        });
        Ok(Counts { steps: sums[..self.counted.steps].to_vec(), calls: calls.collect() })
    }
}

impl Loader {
    /// Compiles the engine with the code of a watch.
    ///
    /// # Errors
    /// If the compiler fails.
    pub fn watched(&self, program: &Program, watch: &Watch) -> Result<Compiled> {
        let written = bpf::generate_watched(&program.optimised, Some(watch)).map_err(refused)?;
        Compiled::new(source(program, &written), None)
    }

    /// Has the kernel verify and load the program of an entry. `maps` are the maps of the entry, by
    /// their symbols. With `watched` the entry is taken from that program instead of the engine's
    /// own.
    ///
    /// # Errors
    /// If the verifier refuses it.
    pub fn load(
        &self,
        watched: Option<&Compiled>,
        entry: &str,
        maps: &[(&str, &OwnedFd)],
        settings: Settings,
    ) -> Result<OwnedFd> {
        let compiled = watched.unwrap_or(&self.compiled);
        let mut all: HashMap<&str, &OwnedFd> = maps.iter().copied().collect();
        all.extend(self.maps.iter().map(|(name, map)| (name.as_str(), map)));
        if let Some(object) = compiled.joined() {
            let prepared = self.prepare(object, entry, &all, settings)?;
            match prepared.load(entry, &self.types) {
                Ok(loaded) => return Ok(loaded),
                // A right is missing, which does not depend on the form of the program.
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                    return Err(failed("loading the program", &error, ""));
                }
                Err(_) => {}
            }
        }
        let prepared = self.prepare(compiled.apart()?, entry, &all, settings)?;
        prepared.load(entry, &self.types).map_err(|error| {
            let log = prepared.refusal(entry, &self.types);
            let failed = failed("loading the program", &error, &log);
            if failed.needs_tool {
                return failed;
            }
            // The stack of all active functions is checked when each one has passed.
            let is_stack = log.contains("combined stack size");
            let function = match is_stack {
                true => compiled.steps().largest(&prepared.instructions, &prepared.names),
                false => in_log(&log, &prepared.names),
            };
            Error { help: failed.help, ..compiled.steps().refused(function, &failed.message) }
        })
    }

    fn prepare(
        &self,
        object: &Object,
        entry: &str,
        maps: &HashMap<&str, &OwnedFd>,
        settings: Settings,
    ) -> Result<Prepared> {
        let constants = constants(object, settings)?;
        let linked = link(object, entry, maps, &constants);
        let linked = linked.map_err(|why| Error::new(format!("linking for BPF: {why}")))?;
        let names = linked.functions;
        let functions: Option<Vec<(u32, u32)>> =
            names.iter().map(|(at, name)| Some((*at, *self.functions.get(name)?))).collect();
        let functions = functions.ok_or_else(|| Error::new("a function without a type"))?;
        Ok(Prepared { instructions: linked.instructions, functions, names, _constants: constants })
    }
}

/// A program that the kernel can load: its instructions, the type and the name of each function by
/// its first instruction, and the map of constants that the instructions refer to.
struct Prepared {
    instructions: Vec<Instruction>,
    functions: Vec<(u32, u32)>,
    names: Vec<(u32, String)>,
    _constants: OwnedFd,
}

impl Prepared {
    fn load(&self, entry: &str, types: &OwnedFd) -> io::Result<OwnedFd> {
        kernel::load_program(entry, &self.instructions, types, &self.functions, None)
    }

    /// Returns the verifier's objection.
    fn refusal(&self, entry: &str, types: &OwnedFd) -> String {
        let mut log = String::new();
        let _ =
            kernel::load_program(entry, &self.instructions, types, &self.functions, Some(&mut log));
        log
    }
}

/// Creates the map of the constants, with the settings of a port.
fn constants(object: &Object, settings: Settings) -> Result<OwnedFd> {
    let mut bytes = object.constants.clone();
    let place = object.place("wl_settings").map_err(Error::new)?;
    let words = [settings.port, settings.ports, settings.completes.into()];
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes[place..place + words.len()].copy_from_slice(&words);
    let shape = Shape {
        map_type: MapType::Array,
        key: 4,
        value: bytes.len() as u32,
        entries: 1,
        flags: flag::READ_ONLY,
    };
    let problem = |error: io::Error| failed("the map of constants", &error, "");
    let map = kernel::create_map("wl_constants", shape, None, None).map_err(problem)?;
    kernel::set(&map, &0u32.to_ne_bytes(), &bytes).map_err(problem)?;
    kernel::freeze(&map).map_err(problem)?;
    Ok(map)
}

fn refused(all: Vec<Refused>) -> Error {
    Error::new(all.into_iter().next().map(|refused| refused.message).unwrap_or_default())
}

fn source(program: &Program, written: &BpfProgram) -> Source {
    Source { text: written.text.clone(), steps: Steps::of(&program.optimised, written) }
}

fn functions(written: &BpfProgram) -> Vec<(&str, Takes)> {
    let own = written.functions.iter().map(|(name, takes)| (name.as_str(), *takes));
    own.chain(FUNCTIONS.iter().copied()).collect()
}

const RIGHTS: &str = "programs in the kernel need CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, outside user namespaces: run \
                      it as root";

/// Returns the error of an operation, with the kernel's log.
pub fn failed(what: &str, error: &io::Error, log: &str) -> Error {
    if matches!(error.raw_os_error(), Some(libc::EPERM)) {
        return Error::missing_tool(format!("{what}: {error}")).with_help(RIGHTS);
    }
    // The last line is a summary, the line before it names the problem.
    let mut said = log.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty()
            && !line.starts_with("processed ")
            && !line.starts_with("verification time")
    });
    let Some(last) = said.next_back() else { return Error::new(format!("{what}: {error}")) };
    let refused = Error::new(format!("{what}: the kernel's verifier refuses it: {}", last.trim()));
    match Cache::of_user("xdp").log("verifier", what, log) {
        Some(path) => refused.with_help(format!("its log is in {}", path.display())),
        None => refused,
    }
}
