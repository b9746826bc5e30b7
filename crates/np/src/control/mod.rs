//! Access to the tables and state of a processor over its control port: initial writes, updates,
//! and read-back.
//!
//! [`ControlPlane`] converts between offload entries and the contents of control targets. Only the
//! realisations know the layout of the entries ([`crate::realisation`]).

pub(crate) mod bus;
pub(crate) mod write;

use std::collections::hash_map;
use std::collections::{BTreeMap, HashMap};

use wireloom_bits::Bits;
use wireloom_machine::Wanted;
use wireloom_offloads::kinds::random::splitmix64;
use wireloom_offloads::{Content, EntryKey, Instance, Store, Update, instantiate};

use crate::processor::memory_map::targets;
use crate::processor::{Processor, ReasonCount, Service, memory_map};
use crate::realisation::{DueKeys, Realisation, Updater, instance};
use crate::simulation::{Fault, Operation, Simulation};

pub use bus::{ControlBus, ControlError};
pub use write::ControlWrite;

/// The largest number of elements of an offload that are read back by default. Each read takes
/// about thirty cycles.
const READ_UNASKED: u64 = 4096;
/// The control target of the statistics.
const STATISTICS: u8 = 0;
/// Number of entries to read in addition to those in the reference store.
const READ_BESIDES: u64 = 256;

impl ControlBus for Simulation {
    fn read_entries(&mut self, target: u8, addresses: &[u32]) -> Result<Vec<Bits>, Fault> {
        Self::read_entries(self, target, addresses)
    }

    fn write_entry(&mut self, target: u8, address: u32, value: &Bits) -> Result<(), Fault> {
        Self::write_entry(self, target, address, value)
    }
}

#[derive(Default)]
pub struct ControlPlane {
    updaters: HashMap<String, Box<dyn Updater>>,
}

impl ControlPlane {
    /// Returns the operations that bring a processor from reset to the state in a store. They cover
    /// the state that packets change; the images contain the rest
    /// ([`crate::processor::Plan::images`]).
    ///
    /// # Errors
    /// If an entry does not suit its offload. The error is a sentence without a full stop.
    pub fn initial(processor: &Processor, store: &Store) -> Result<Vec<Operation>, String> {
        let mut operations = Vec::new();
        for service in changed(processor) {
            let Some((config, new)) = instance(store, &service.offload) else { continue };
            let old = instantiate(config).map_err(|refused| refused.0)?;
            operations.extend(transition(processor, service, old.as_ref(), new)?);
        }
        Ok(operations)
    }

    /// Returns the operations that seed the hashes of tables and caches. All seeds derive from
    /// `seed`. The operations empty the tables, so they must run before [`Self::initial`].
    pub fn seeds(processor: &Processor, seed: u64) -> Vec<Operation> {
        let mut index = 0;
        let mut random = || {
            index += 1;
            splitmix64(seed, index)
        };
        // All copies of a table have the same seed.
        let mut seeds: BTreeMap<String, (u32, Bits)> = BTreeMap::new();
        let mut operations = Vec::new();
        for target in memory_map(&processor.plan).targets {
            let Some(seed) = target.contents.seed else { continue };
            let seed = seeds.entry(target.offload).or_insert_with(|| seed.write(&mut random));
            let (address, value) = seed.clone();
            operations.push(Operation::Write { target: target.number as u8, address, value });
        }
        operations
    }

    /// Returns the operations that bring the state that packets change from `old` to `new`. Both
    /// stores must belong to the processor's program.
    ///
    /// # Errors
    /// If an entry does not suit its offload. The error is a sentence without a full stop.
    pub fn restore(
        processor: &Processor,
        old: &Store,
        new: &Store,
    ) -> Result<Vec<Operation>, String> {
        let mut operations = Vec::new();
        for service in changed(processor) {
            let path = &service.offload;
            let (Some((_, old)), Some((_, new))) = (instance(old, path), instance(new, path))
            else {
                continue;
            };
            operations.extend(transition(processor, service, old, new)?);
        }
        Ok(operations)
    }

    /// Returns the names of the offloads whose state packets can change.
    pub fn changed(processor: &Processor) -> impl Iterator<Item = &str> {
        changed(processor).map(|service| service.offload.as_str())
    }

    /// Reads the state of an offload into a store. Returns `false` if it is not wanted.
    ///
    /// # Errors
    /// If the machine fails, or the store's instance refuses an entry.
    pub fn read_back(
        processor: &Processor,
        offload: &str,
        wanted: Wanted<'_>,
        bus: &mut dyn ControlBus,
        store: &mut Store,
    ) -> Result<bool, ControlError> {
        let Some(service) = changed(processor).find(|service| service.offload == offload) else {
            return Ok(false);
        };
        let size = service.rule.realisation.indices(service);
        let indices = match wanted {
            Wanted::Shown(names)
                if size > READ_UNASKED && names.iter().all(|name| name != offload) =>
            {
                return Ok(false);
            }
            Wanted::Only(name) if name != offload => return Ok(false),
            Wanted::Shown(_) | Wanted::Only(_) | Wanted::All => (0..size).collect(),
            Wanted::Like(other) => indices_like(service, other),
        };
        let targets = targets(&processor.plan, offload);
        let Some(Content::Kind { instance, .. }) =
            store.find_mut(offload).map(|slot| &mut slot.content)
        else {
            return Ok(false);
        };
        let realisation = service.rule.realisation;
        realisation.read_back(service, &targets, &indices, bus, instance.as_mut())?;
        Ok(true)
    }

    /// Returns the keys of an offload, by its index, whose times are over, and when the next one is
    /// due.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn due(
        processor: &Processor,
        offload: usize,
        by_ns: u64,
        bus: &mut dyn ControlBus,
    ) -> Result<DueKeys, ControlError> {
        let mut services = processor.plan.timed_services();
        let Some(service) = services.find(|service| service.index == offload) else {
            return Ok(DueKeys::default());
        };
        let targets = targets(&processor.plan, &service.offload);
        service.rule.realisation.due(service, &targets, by_ns, bus)
    }

    /// Returns the operations that carry out an update on a processor whose tables are in `store`.
    ///
    /// The store must not contain the update yet. Updates of one offload must be planned in the
    /// order in which they are made.
    ///
    /// # Errors
    /// If the update does not suit its offload, or there is no room for it. The error is a sentence
    /// without a full stop.
    pub fn update(
        &mut self,
        processor: &Processor,
        store: &Store,
        update: &Update,
    ) -> Result<Vec<Operation>, String> {
        let path = &update.offload;
        // An offload that no packet calls has no hardware.
        let Some(service) = service(processor, path) else { return Ok(Vec::new()) };
        let realisation = service.rule.realisation;
        match self.updaters.entry(path.clone()) {
            hash_map::Entry::Occupied(there) => {
                return there.into_mut().plan(&processor.plan, update);
            }
            hash_map::Entry::Vacant(place) => {
                if let Some(updater) = realisation.updater(&processor.plan, service, store)? {
                    return place.insert(updater).plan(&processor.plan, update);
                }
            }
        }
        let targets = targets(&processor.plan, path);
        let (Some((config, _)), false) = (instance(store, path), targets.is_empty()) else {
            return Ok(Vec::new());
        };
        let (address, value) =
            realisation.entry(path, config, &update.key, update.value.as_ref())?;
        Ok(in_copies(realisation, &targets, address, &value).collect())
    }
}

/// Returns the operations that take a service's state from `old` to `new`.
fn transition(
    processor: &Processor,
    service: &Service,
    old: &dyn Instance,
    new: &dyn Instance,
) -> Result<Vec<Operation>, String> {
    let realisation = service.rule.realisation;
    let targets = targets(&processor.plan, &service.offload);
    let writes = realisation.restore(service, old, new)?;
    let writes = writes.iter();
    let operations =
        writes.flat_map(|(address, value)| in_copies(realisation, &targets, *address, value));
    Ok(operations.collect())
}

/// Returns the writes of an entry to all copies of a table. Of copies that are summed, the first
/// one gets the value and the others get zeros.
fn in_copies<'a>(
    realisation: &'a dyn Realisation,
    targets: &'a [u8],
    address: u32,
    value: &'a Bits,
) -> impl Iterator<Item = Operation> + 'a {
    targets.iter().enumerate().map(move |(copy, &target)| {
        let is_zero = copy > 0 && realisation.sums_copies();
        let value = if is_zero { Bits::zero(value.width()) } else { value.clone() };
        Operation::Write { target, address, value }
    })
}

/// Returns the services whose state packets can change.
fn changed(processor: &Processor) -> impl Iterator<Item = &Service> {
    processor.plan.services.iter().filter(|service| service.rule.realisation.is_changed(service))
}

/// Returns the service that holds the table at a path.
fn service<'a>(processor: &'a Processor, path: &str) -> Option<&'a Service> {
    processor.plan.services.iter().find(|service| {
        let mut tables = service.called.iter().flat_map(|called| &called.tables);
        service.offload == path || tables.any(|table| table == path)
    })
}

/// Returns the indices of the elements in a store, and of a sample of the other elements.
fn indices_like(service: &Service, store: &Store) -> Vec<u64> {
    let size = service.rule.realisation.indices(service);
    let rows =
        instance(store, &service.offload).map_or(Vec::new(), |(_, instance)| instance.rows());
    let index = |key: EntryKey| if let EntryKey::Index(index) = key { Some(index) } else { None };
    let mut indices: Vec<u64> = rows.into_iter().filter_map(|row| index(row.key)).collect();
    indices.extend((0..size).step_by((size / READ_BESIDES).max(1) as usize));
    indices.sort_unstable();
    indices.dedup();
    indices
}

impl Processor {
    /// Reads the counters of the reasons for which packets were dropped or handed to the control
    /// processor.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn read_reasons(&self, bus: &mut dyn ControlBus) -> Result<Vec<ReasonCount>, Fault> {
        let counters = self.plan.reason_counters();
        let addresses: Vec<u32> = counters.iter().map(|counter| counter.address as u32).collect();
        let entries = bus.read_entries(STATISTICS, &addresses)?;
        Ok(counters.iter().zip(&entries).map(|(counter, entry)| counter.count(entry)).collect())
    }
}

#[cfg(test)]
mod tests {
    use wireloom_offloads::Entry;

    use super::*;
    use crate::description::NpSpec;
    use crate::processor;

    const SOURCE: &str = "
    header Ask { u32 dst; u8 at; u16 old; };
    engine ask() {
        offload counts : counter<size = 8>;
        offload state : array<u16, size = 8>;
        offload flows : exact<u32, u16, size = 8>;
        offload seen : bloom<u32, size = 100, hashes = 3>;
        Ask ask @ 0;
        step only {
            counts.count(ask.at, packet.length);
            ask.old = state.fetch_add(ask.at, 1);
            auto f = flows.lookup(ask.dst);
            packet.egress = f.value;
            seen.add(ask.dst);
            finish;
        }
    }
    ";

    /// Returns a processor with counters in each of two clusters, and its empty store.
    fn processor() -> (Processor, Store) {
        let checked =
            wireloom_lang::check_source("ask.loom", SOURCE, &wireloom_lang::Options::default());
        let mut program =
            wireloom_compile::lower(&checked.program.expect("a program without errors"));
        let text = "extends = \"np\"\nclusters = 2\nengines = 1\nthreads = 2\nlanes = 1\n\
                    [offload.counter]\nrealisation = \"counters\"\nplace = \"cluster\"\n";
        let machine = NpSpec::parse("two", text).unwrap_or_else(|error| panic!("{error}"));
        wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
        let processor =
            processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
        (processor, wireloom_ir::store(&program).expect("offloads"))
    }

    fn load(store: &mut Store, offload: &str, key: EntryKey, value: Bits) {
        let Some(Content::Kind { instance, .. }) =
            store.find_mut(offload).map(|slot| &mut slot.content)
        else {
            panic!("{offload} is there")
        };
        instance.load(Entry { key, value }).expect("the entry suits the offload");
    }

    /// Memories that keep written entries. All entries are initially zero.
    struct Memories {
        width: u32,
        entries: HashMap<(u8, u32), Bits>,
    }

    impl Memories {
        fn new(processor: &Processor) -> Self {
            Self { width: processor.plan.control_bits as u32, entries: HashMap::new() }
        }

        fn write(&mut self, operations: Vec<Operation>) {
            for operation in operations {
                let Operation::Write { target, address, value } = operation else { continue };
                // The highest bit only selects how a filter writes a word.
                self.entries.insert((target, address << 1 >> 1), value.resize(self.width));
            }
        }
    }

    #[test]
    fn an_update_of_a_filter_sets_the_bits_that_golden_sets() {
        let (processor, mut store) = processor();
        let key = EntryKey::Exact(Bits::new(32, 0xc0a8_0007));
        let update = Update {
            packet: 0,
            offload: "seen".into(),
            key: key.clone(),
            value: Some(Bits::bool(true)),
            line: 1,
        };
        let mut control = ControlPlane::default();
        let writes = control.update(&processor, &store, &update).expect("a key can be added");
        assert_eq!(writes.len(), 3, "one for each hash");
        load(&mut store, "seen", key, Bits::bool(true));
        let mut words = [0u32; 4];
        for write in writes {
            let Operation::Write { address, value, .. } = write else { panic!("only writes") };
            words[address as usize] |= value.low_u64() as u32;
        }
        for row in instance(&store, "seen").expect("it is there").1.rows() {
            let EntryKey::Index(number) = row.key else { panic!("words have numbers") };
            assert_eq!(
                std::mem::take(&mut words[number as usize]),
                row.fields[0].1.low_u64() as u32
            );
        }
        assert_eq!(words, [0; 4], "no other bits");
        let removed = Update { value: None, ..update };
        assert!(control.update(&processor, &store, &removed).is_err(), "keys stay");
    }

    impl ControlBus for Memories {
        fn read_entries(&mut self, target: u8, addresses: &[u32]) -> Result<Vec<Bits>, Fault> {
            let entry = |address: &u32| self.entries.get(&(target, *address)).cloned();
            let zero = Bits::zero(self.width);
            Ok(addresses
                .iter()
                .map(|address| entry(address).unwrap_or_else(|| zero.clone()))
                .collect())
        }

        fn write_entry(&mut self, target: u8, address: u32, value: &Bits) -> Result<(), Fault> {
            self.entries.insert((target, address), value.resize(self.width));
            Ok(())
        }
    }

    #[test]
    fn state_that_is_written_is_read_back() {
        let (processor, mut store) = processor();
        let (_, mut read) = self::processor();
        let counter = Bits::from_words(128, &[70, 2]);
        load(&mut store, "counts", EntryKey::Index(3), counter);
        load(&mut store, "state", EntryKey::Index(7), Bits::new(16, 0xbeef));
        load(&mut store, "seen", EntryKey::Exact(Bits::new(32, 0x0a00_0001)), Bits::bool(true));
        let mut memories = Memories::new(&processor);
        memories.write(ControlPlane::initial(&processor, &store).expect("the entries fit"));
        for offload in ["counts", "state", "seen"] {
            let wanted = Wanted::Shown(&[]);
            let is_read =
                ControlPlane::read_back(&processor, offload, wanted, &mut memories, &mut read)
                    .unwrap();
            assert!(is_read, "{offload}");
            let rows = |store: &Store| instance(store, offload).expect("it is there").1.rows();
            assert_eq!(rows(&read), rows(&store), "{offload}");
        }
    }

    #[test]
    fn copies_of_a_counter_are_added_up_without_carries() {
        let (processor, mut store) = processor();
        let mut memories = Memories::new(&processor);
        let copies = targets(&processor.plan, "counts");
        assert_eq!(copies.len(), 2);
        for &copy in &copies {
            memories
                .entries
                .insert((copy, 1), Bits::from_words(128, &[u64::MAX, 5]).resize(memories.width));
        }
        let wanted = Wanted::Shown(&[]);
        ControlPlane::read_back(&processor, "counts", wanted, &mut memories, &mut store).unwrap();
        let rows = instance(&store, "counts").expect("it is there").1.rows();
        let fields: Vec<u64> = rows[0].fields.iter().map(|(_, bits)| bits.low_u64()).collect();
        assert_eq!((rows.len(), fields), (1, vec![10, u64::MAX - 1]));
    }

    #[test]
    fn an_update_writes_every_copy_and_the_sum_to_one() {
        let (processor, store) = processor();
        let mut control = ControlPlane::default();
        let mut update = |offload: &str, key, value| {
            let update = Update { packet: 0, offload: offload.into(), key, value, line: 1 };
            control.update(&processor, &store, &update)
        };
        let value = Bits::from_words(128, &[1, 1]);
        let writes = update("counts", EntryKey::Index(2), Some(value.clone())).unwrap();
        let written = |operation: &Operation| match operation {
            Operation::Write { address, value, .. } => (*address, value.clone()),
            Operation::Rest(_) => panic!("counters need no rest"),
        };
        let writes: Vec<_> = writes.iter().map(written).collect();
        assert_eq!(writes, [(2, value), (2, Bits::zero(128))]);
        let writes = update("flows", EntryKey::Exact(Bits::new(32, 9)), None).unwrap();
        assert_eq!(
            written(&writes[0]).1,
            Bits::new(49, 1 << 48 | 9 << 16),
            "remove, key, no value"
        );
        let refused = update("state", EntryKey::Index(8), None).unwrap_err();
        assert_eq!(refused, "index 8 is out of range: `state` has 8 elements");
        assert_eq!(update("nothing", EntryKey::Index(0), None), Ok(Vec::new()));
    }
}
