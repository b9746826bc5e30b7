//! Offloads of a simulated machine that packets change: set before it runs, and read back over its control port.

use wireloom_bits::Bits;
use wireloom_offloads::{Content, Entry, EntryKey, Instance, Row, Store};
use wireloom_rtl::np::{self, Processor, Service};
use wireloom_rtl::sim::Simulation;

use super::np::Wanted;
use crate::failure::{Failure, Outcome};

/// Entries of an offload that are read back without being asked for: each costs some thirty cycles.
const READ_UNASKED: u64 = 4096;
/// Entries of an offload that are compared with golden beside those that golden has changed.
const READ_BESIDE: u64 = 256;
/// Entries of a hash table that are read together.
const READ_TOGETHER: u64 = 64;
/// Bits of each of a meter's rates as `wl_meter` takes them.
const RATE_BITS: u32 = 41;

/// An offload that packets change, and its copies.
pub struct Changed {
    offload: String,
    size: u64,
    value_bits: u32,
    targets: Vec<u8>,
    entries: Entries,
}

/// How the control plane finds its entries.
enum Entries {
    /// Elements, by index.
    Elements,
    /// Counters, by index, of which several copies are added up.
    Counters,
    /// Keys of so many bits with values, by a number that the machine gives them.
    Keys(u32),
    /// Meters, by index: their rates, while what is in their buckets is not told.
    Meters,
}

/// The offloads that packets change, with the control targets of their copies.
pub fn changed(processor: &Processor, store: &Store) -> Vec<Changed> {
    let map = np::memory_map(processor).targets;
    let entries = |service: &Service| match service.config.kind.as_str() {
        "counter" => Some(Entries::Counters),
        "exact" => Some(Entries::Keys(service.key_bits() as u32)),
        "meter" => Some(Entries::Meters),
        "array" if service.port.methods.iter().any(|method| method.name != "read") => Some(Entries::Elements),
        _ => None,
    };
    let services = processor.plan.services.iter().filter(|service| store.find(&service.offload).is_some());
    services
        .filter_map(|service| {
            Some(Changed {
                offload: service.offload.clone(),
                size: service.elements() as u64,
                value_bits: if service.config.kind == "counter" { 128 } else { service.value_bits() as u32 },
                targets: map
                    .iter()
                    .filter(|target| target.offload == service.offload)
                    .map(|target| target.number as u8)
                    .collect(),
                entries: entries(service)?,
            })
        })
        .collect()
}

impl Changed {
    /// The offload's name.
    pub fn offload(&self) -> &str {
        &self.offload
    }

    /// Sets what the store says of it.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn write_initial(&self, simulation: &mut Simulation, store: &Store) -> Outcome {
        for row in self.rows(store) {
            let (address, value) = match (&row.key, &self.entries) {
                (EntryKey::Exact(key), Entries::Keys(_)) => {
                    (0, Bits::zero(1).concat(key).concat(&packed(&row)))
                }
                (EntryKey::Index(index), Entries::Meters) => {
                    let packed = row.fields[..5].iter().map(|(_, rate)| rate.clone());
                    let packed = packed.reduce(|high, low| high.concat(&low));
                    (*index as u32, rates(&packed.expect("a meter has five rates")))
                }
                (EntryKey::Index(index), _) => (*index as u32, packed(&row)),
                _ => continue,
            };
            // Counters are added up: one copy begins with the sum. Of everything else all copies are alike.
            let copies = if matches!(self.entries, Entries::Counters) { 1 } else { self.targets.len() };
            for &target in &self.targets[..copies.min(self.targets.len())] {
                simulation.write_entry(target, address, &value)?;
            }
        }
        Ok(())
    }

    /// Reads it into a store; false if it was left out.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn read_back(
        &self,
        wanted: Wanted<'_>,
        simulation: &mut Simulation,
        store: &mut Store,
    ) -> Outcome<bool> {
        let is_unasked = match wanted {
            Wanted::Shown(names) => self.size > READ_UNASKED && !names.contains(&self.offload),
            Wanted::Like(_) => false,
        };
        match self.entries {
            _ if is_unasked => return Ok(false),
            // Golden's meters tell what is in their buckets, which the machine's do not.
            Entries::Meters => return Ok(false),
            Entries::Keys(key_bits) => self.read_keys(key_bits, simulation, store)?,
            Entries::Elements | Entries::Counters => {
                let indices = match wanted {
                    Wanted::Shown(_) => (0..self.size).collect(),
                    Wanted::Like(other) => self.indices_like(other),
                };
                self.read_elements(&indices, simulation, store)?;
            }
        }
        Ok(true)
    }

    /// The non-zero elements of this offload in a store.
    fn rows(&self, store: &Store) -> Vec<Row> {
        match store.find(&self.offload).map(|slot| &slot.content) {
            Some(Content::Kind { instance, .. }) => instance.rows(),
            _ => Vec::new(),
        }
    }

    /// The elements that stand in a store, and some beside them.
    fn indices_like(&self, store: &Store) -> Vec<u64> {
        let step = (self.size / READ_BESIDE).max(1) as usize;
        let rows = self.rows(store).into_iter();
        let mut indices: Vec<u64> = rows
            .filter_map(|row| if let EntryKey::Index(index) = row.key { Some(index) } else { None })
            .collect();
        indices.extend((0..self.size).step_by(step));
        indices.sort_unstable();
        indices.dedup();
        indices
    }

    fn read_elements(&self, indices: &[u64], simulation: &mut Simulation, store: &mut Store) -> Outcome {
        let addresses: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
        let mut sums = vec![Bits::zero(self.value_bits); indices.len()];
        for &target in &self.targets {
            for (sum, entry) in sums.iter_mut().zip(simulation.read_entries(target, &addresses)?) {
                *sum = self.add(sum, &entry.resize(self.value_bits));
            }
        }
        let Some(instance) = self.instance(store) else { return Ok(()) };
        for (&index, value) in indices.iter().zip(sums) {
            load(instance, EntryKey::Index(index), value)?;
        }
        Ok(())
    }

    /// The sum of two copies. Only counters have several, whose two numbers do not carry into each other.
    fn add(&self, a: &Bits, b: &Bits) -> Bits {
        match self.targets.len() {
            1 => b.clone(),
            _ => Bits::from_words(
                self.value_bits,
                &[a.word(0).wrapping_add(b.word(0)), a.word(1).wrapping_add(b.word(1))],
            ),
        }
    }

    /// Entries are read by number, up to those that were never used: `wl_exact_table` says how.
    fn read_keys(&self, key_bits: u32, simulation: &mut Simulation, store: &mut Store) -> Outcome {
        let Some(&target) = self.targets.first() else { return Ok(()) };
        let stale: Vec<EntryKey> = self.rows(store).into_iter().map(|row| row.key).collect();
        let Some(instance) = self.instance(store) else { return Ok(()) };
        for key in stale {
            instance.unload(&key).map_err(|refused| Failure::unusable(refused.0))?;
        }
        let mut first = 0;
        while first < self.size {
            let end = (first + READ_TOGETHER).min(self.size);
            let addresses: Vec<u32> = (first..end).map(|number| number as u32).collect();
            for entry in simulation.read_entries(target, &addresses)? {
                let bit = |number: u32| entry.slice(self.value_bits + key_bits + number, 1).low_u64() == 1;
                let (is_used, is_live) = (bit(2), bit(1));
                if !is_used {
                    return Ok(());
                }
                if is_live {
                    let key = EntryKey::Exact(entry.slice(self.value_bits, key_bits));
                    load(instance, key, entry.slice(0, self.value_bits))?;
                }
            }
            first = end;
        }
        Ok(())
    }

    fn instance<'a>(&self, store: &'a mut Store) -> Option<&'a mut (dyn Instance + 'static)> {
        match store.find_mut(&self.offload).map(|slot| &mut slot.content) {
            Some(Content::Kind { instance, .. }) => Some(instance.as_mut()),
            _ => None,
        }
    }
}

/// Rates of a meter, 64 bits each, as `wl_meter` takes them.
pub fn rates(packed: &Bits) -> Bits {
    let rates = (0..5).rev().map(|rate| packed.slice(64 * rate, RATE_BITS));
    rates.reduce(|high, low| high.concat(&low)).expect("there are five")
}

fn load(instance: &mut dyn Instance, key: EntryKey, value: Bits) -> Outcome {
    instance.load(Entry { key, value }).map_err(|refused| Failure::unusable(refused.0))
}

/// The value of a row, its first field most significant.
fn packed(row: &Row) -> Bits {
    let fields = row.fields.iter().map(|(_, bits)| bits.clone());
    fields.reduce(|high, low| high.concat(&low)).unwrap_or_else(|| Bits::zero(1))
}
