//! An engine with its tables, ready to take packets: built at the start, and in the background at
//! each reload.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wireloom_bits::Bits;
use wireloom_compile::names::Names;
use wireloom_live::conditions::Place;
use wireloom_live::{
    Control, InKernel, Interface, Limits, Live, Memory, Mirror, RunningMirror, TABLES,
};
use wireloom_machine::software::InSoftware;
use wireloom_machine::{Error, Machine, Program, Result, load_store};
use wireloom_native::{BuildOptions, Library, Native, Specialisation, in_any_order};
use wireloom_offloads::registry::{self, StateUse};
use wireloom_offloads::{Config, Content, EntryKey, Store, Update};

use crate::limits::{self, CpuRate};

/// A program with its tables, as files and flags give them.
pub struct Loaded {
    /// The file of the program, for reports.
    pub file: String,
    pub program: Program,
    /// The names in the source, for traces.
    pub names: Names,
    pub tables: Vec<PathBuf>,
    /// Limits on packets to the kernel. Of several limits for one reason the last one counts.
    pub cpu_rates: Vec<CpuRate>,
    /// Settings that have changed since the start. Only a restart applies them.
    pub needs_restart: Vec<String>,
}

/// The running program.
pub struct RunningProgram {
    /// The file of the program, for reports.
    pub file: String,
    pub name: String,
    pub program: Program,
    /// The names in the source, for traces.
    pub names: Names,
}

/// The kernel as the control plane of some ports.
#[derive(Clone)]
pub struct Following {
    /// The interface of each port, by number: a port's name can belong to another interface by the
    /// time the program is replaced.
    pub ports: Vec<Option<u32>>,
    /// The kernel's routing tables, in lookup order.
    pub tables: Vec<u32>,
    /// The interval between two comparisons of all tables with the kernel.
    pub reconcile: Duration,
    /// The memory that the mirror may use.
    pub memory: Option<Arc<Memory>>,
}

impl Following {
    /// Returns where a program takes the place of the kernel.
    pub fn place(&self, loaded: &Loaded) -> Option<Place> {
        Place::of(&loaded.program.optimised, &self.ports, &self.tables)
    }
}

/// The entries from files for offloads whose state packets change, by path.
pub type Entries = BTreeMap<String, BTreeMap<EntryKey, Bits>>;

/// An engine that can take packets.
pub struct Built {
    pub engine: Arc<RunningProgram>,
    /// The machine of each core.
    pub machines: Vec<Box<dyn Machine + Send>>,
    /// Offloads whose entries are changed on the first machine only ([`Native::of_all_cores`]).
    pub of_all_cores: BTreeSet<String>,
    /// For each core, the kernel's changes since its tables were read. Empty if the kernel is not
    /// followed.
    pub controls: Vec<Control>,
    pub kernel: Option<RunningMirror>,
    /// The limits on packets to the kernel.
    pub limits: Limits,
    /// The entries from files.
    pub entries: Entries,
    /// The programs in the kernel, if the engine runs there.
    pub programs: Option<Arc<InKernel>>,
}

/// Where an engine executes packets.
#[derive(Clone)]
pub enum Where {
    /// In this process.
    Process {
        /// How many cores forward.
        cores: usize,
    },
    /// In the kernel, at these ports.
    Kernel(Vec<Interface>),
}

/// A program with its tables. All mistakes in them have been found; only the compiler or the kernel
/// can still refuse it.
pub struct Prepared {
    loaded: Loaded,
    limits: Limits,
    store: Store,
    entries: Entries,
}

impl Prepared {
    /// Reads the tables of a program, for the place where it runs.
    ///
    /// # Errors
    /// If a limit or a table is refused, or the program cannot run on several cores.
    pub fn new(
        loaded: Loaded,
        is_following: bool,
        place: &Where,
        progress: &dyn Fn(&str),
    ) -> Result<Self> {
        let program = &loaded.program.optimised;
        match place {
            Where::Process { cores } if *cores > 1 => in_any_order(program).map_err(|refused| {
                Error::new(refused.0).with_help("leave out --cores, or say --cores 1")
            })?,
            Where::Process { .. } | Where::Kernel(_) => {}
        }
        let limits = limits::resolve(&loaded.cpu_rates, program)?;
        let (store, _) = load_store(program, &loaded.tables, progress)?;
        let entries = entries(&store, is_following);
        Ok(Self { loaded, limits, store, entries })
    }
}

impl Built {
    /// Compiles a program for its place, reads the kernel's state, and follows the kernel from then
    /// on.
    ///
    /// # Errors
    /// If the compiler fails, or the kernel's state cannot be read.
    pub fn new(
        prepared: Prepared,
        following: Option<&Following>,
        place: &Where,
        progress: &dyn Fn(&str),
    ) -> Result<Self> {
        let Prepared { loaded, limits, mut store, entries } = prepared;
        let program = &loaded.program.optimised;
        // The library is built first: the memory that the engine uses is not available for kernel
        // routes.
        let options = BuildOptions { counts: true, ..BuildOptions::default() };
        let library = match place {
            Where::Process { .. } => {
                progress("compiling C");
                // A restart takes the library from the cache.
                Some(Library::build(program, &options.clone().cached()).map_err(Error::new)?)
            }
            Where::Kernel(_) => None,
        };
        let mirror = match following {
            Some(following) => {
                progress("reading the kernel's routes");
                let Following { ports, tables, memory, .. } = following;
                let memory = memory.clone();
                let mirror = Mirror::start(ports, tables, program, &mut store, memory)?;
                Some((mirror, following.reconcile))
            }
            None => None,
        };
        let (mut of_all_cores, mut writers) = (BTreeSet::new(), HashMap::new());
        let (machines, programs): (Vec<Box<dyn Machine + Send>>, _) = match (place, library) {
            (Where::Process { cores }, library) => {
                let library = library.expect("it was built for a process");
                let mut native = Native::new(library, store);
                native.specialise(options, Arc::new(log_specialised));
                let others = (1..*cores).map(|core| native.on_another_core(core as u64));
                let others: Vec<Native> =
                    others.collect::<Result<_, _>>().map_err(|refused| Error::new(refused.0))?;
                (of_all_cores, writers) = (native.of_all_cores(), native.store().writers());
                let machine = |native| Box::new(InSoftware::new(native)) as Box<dyn Machine + Send>;
                (std::iter::once(native).chain(others).map(machine).collect(), None)
            }
            (Where::Kernel(ports), _) => {
                let (live, programs) =
                    Live::new(&loaded.program, store, ports, &limits.in_kernel(), progress)?;
                (vec![Box::new(live)], Some(programs))
            }
        };
        let followed = mirror.map(|(mirror, every)| {
            mirror.follow(every, machines.len(), of_all_cores.clone(), writers)
        });
        let (controls, kernel) = followed.transpose()?.unzip();
        let controls = controls.unwrap_or_default();
        let name = program.engines[program.main.index()].name.clone();
        let Loaded { file, program, names, .. } = loaded;
        let engine = Arc::new(RunningProgram { file, name, program, names });
        Ok(Self { engine, machines, of_all_cores, controls, kernel, limits, entries, programs })
    }
}

fn log_specialised(event: &Specialisation) {
    match event {
        Specialisation::Used(took) => {
            tracing::info!(seconds = took.as_secs_f64(), "engine specialised to its tables");
        }
        Specialisation::Withdrawn(table) => {
            tracing::info!(table, "table has changed: back to the general engine");
        }
        Specialisation::Failed(error) => {
            tracing::warn!(%error, "engine cannot be specialised to its tables");
        }
    }
}

/// Returns whether an offload keeps its state when the program is replaced by one that declares it
/// in the same way: packets change it, and the kernel does not own it. Other offloads are read
/// anew.
pub fn keeps_state(path: &str, config: &Config, is_following: bool) -> bool {
    let is_kernels = is_following && TABLES.contains(&path);
    let kind = registry::kind(&config.kind);
    !is_kernels
        && kind.is_some_and(|kind| {
            kind.methods
                .iter()
                .any(|method| matches!(method.state, StateUse::Change | StateUse::Commuting))
        })
}

/// Returns the entries of a store that has only been loaded from files.
fn entries(store: &Store, is_following: bool) -> Entries {
    let mut entries = Entries::new();
    for path in store.paths() {
        let Some(Content::Kind { config, instance }) = store.find(&path).map(|slot| &slot.content)
        else {
            continue;
        };
        if keeps_state(&path, config, is_following) {
            let rows = instance.rows();
            let rows = rows.iter().map(|row| instance.entry(row));
            entries.insert(path, rows.map(|entry| (entry.key, entry.value)).collect());
        }
    }
    entries
}

/// Returns the changes that turn an offload's entries from one load into its entries from another.
pub fn changes(path: &str, old: &Entries, new: &Entries) -> Vec<Update> {
    let none = BTreeMap::new();
    let (old, new) = (old.get(path).unwrap_or(&none), new.get(path).unwrap_or(&none));
    let update = |key: &EntryKey, value: Option<&Bits>| Update {
        packet: 0,
        offload: path.to_owned(),
        key: key.clone(),
        value: value.cloned(),
        line: 0,
    };
    let gone = old.keys().filter(|key| !new.contains_key(key)).map(|key| update(key, None));
    let changed = new.iter().filter(|(key, value)| old.get(key) != Some(value));
    gone.chain(changed.map(|(key, value)| update(key, Some(value)))).collect()
}
