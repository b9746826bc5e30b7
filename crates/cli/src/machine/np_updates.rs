//! Updates of tables as accesses of a network processor's control port.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use wireloom_bits::Bits;
use wireloom_offloads::kinds::meter::Rates;
use wireloom_offloads::{Config, Content, EntryKey, Store, Update};
use wireloom_rtl::machine::Realisation;
use wireloom_rtl::np::{self, ControlWrite, Patterns, Processor, Service};
use wireloom_rtl::sim::Operation;
use wireloom_rtl::tables::{TrieImage, Write, key};

use super::np_state::rates;

/// What the memories hold of tables whose entries do not stand where their keys say.
#[derive(Default)]
pub struct Updater {
    tries: HashMap<String, TrieImage>,
    patterns: HashMap<String, Patterns>,
}

impl Updater {
    /// What brings a machine whose tables are in `store` to the state behind an update.
    ///
    /// # Errors
    /// If it cannot be made: a sentence.
    pub fn operations(
        &mut self,
        processor: &Processor,
        store: &Store,
        update: &Update,
    ) -> Result<Vec<Operation>, String> {
        let service = processor.plan.services.iter().find(|service| service.offload == update.offload);
        if let Some(service) = service.filter(|service| service.rule.realisation == Realisation::Trie) {
            return self.trie(processor, service, store, update);
        }
        if service.is_some_and(|service| service.rule.realisation == Realisation::Automaton) {
            return self.patterns(processor, store, update);
        }
        let map = np::memory_map(processor).targets;
        let targets: Vec<_> = map.iter().filter(|target| target.offload == update.offload).collect();
        let slot = store.find(&update.offload).map(|slot| &slot.content);
        // An offload that no packet asks is not there.
        let (Some(Content::Kind { config, .. }), false) = (slot, targets.is_empty()) else {
            return Ok(Vec::new());
        };
        let (address, value) = element(config, update)?;
        // Counters are added up: one copy gets the sum, the others nothing.
        let is_counter = config.kind == "counter";
        let copy =
            |copy: usize| if is_counter && copy > 0 { Bits::zero(value.width()) } else { value.clone() };
        let writes = targets.into_iter().enumerate().map(|(number, target)| Operation::Write {
            target: target.number as u8,
            address,
            value: copy(number),
        });
        Ok(writes.collect())
    }

    fn trie(
        &mut self,
        processor: &Processor,
        service: &Service,
        store: &Store,
        update: &Update,
    ) -> Result<Vec<Operation>, String> {
        let image = match self.tries.entry(update.offload.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let Some(Content::Kind { config, instance }) =
                    store.find(&update.offload).map(|slot| &slot.content)
                else {
                    return Ok(Vec::new());
                };
                let image = TrieImage::of_instance(config, instance.as_ref(), service.rule.values as u32);
                place.insert(image.map_err(|error| error.to_string())?)
            }
        };
        let EntryKey::Prefix { bits, length } = &update.key else { return Ok(Vec::new()) };
        let key = key(bits);
        let writes = match &update.value {
            Some(value) => image.insert(key, *length, value),
            None => image.remove(key, *length),
        };
        let mut operations = Vec::new();
        for write in writes.map_err(|error| error.to_string())? {
            if write == Write::Barrier {
                operations.extend(processor.lookup_cycles(&update.offload).map(Operation::Rest));
            }
            operations.extend(processor.control_writes(&update.offload, &write).into_iter().map(operation));
        }
        Ok(operations)
    }

    fn patterns(
        &mut self,
        processor: &Processor,
        store: &Store,
        update: &Update,
    ) -> Result<Vec<Operation>, String> {
        let EntryKey::Pattern(pattern) = &update.key else { return Ok(Vec::new()) };
        let mut operations = Vec::new();
        let patterns = match self.patterns.entry(update.offload.clone()) {
            Entry::Occupied(there) => {
                // Packets may still be searched with the automaton that is written now.
                operations.push(Operation::Rest(processor.search_cycles()));
                there.into_mut()
            }
            Entry::Vacant(place) => {
                let rows = match store.find(&update.offload).map(|slot| &slot.content) {
                    Some(Content::Kind { instance, .. }) => instance.rows(),
                    _ => Vec::new(),
                };
                let patterns = processor.patterns(&update.offload, &rows);
                place.insert(patterns.expect("its realisation was looked at")?)
            }
        };
        for write in patterns.set(pattern, update.value.as_ref())? {
            operations.extend(processor.pattern_writes(&update.offload, write).into_iter().map(operation));
        }
        Ok(operations)
    }
}

fn operation(access: ControlWrite) -> Operation {
    Operation::Write { target: access.target, address: access.address, value: access.value }
}

/// Address and value of what is written to each copy of an offload.
fn element(config: &Config, update: &Update) -> Result<(u32, Bits), String> {
    let width = config.value.as_ref().map_or(0, |layout| layout.width());
    let elements = config.params.get("size").map_or(0, |size| size.low_u64());
    let value = || update.value.clone();
    match (config.kind.as_str(), &update.key) {
        ("exact", EntryKey::Exact(key)) => {
            let removes = Bits::new(1, u128::from(update.value.is_none()));
            Ok((0, removes.concat(key).concat(&value().unwrap_or_else(|| Bits::zero(width)))))
        }
        (kind, EntryKey::Index(index)) if *index < elements => {
            let value = match kind {
                "meter" => rates(&value().unwrap_or_else(|| Rates::declared(config).pack())),
                "counter" => value().unwrap_or_else(|| Bits::zero(128)),
                _ => value().unwrap_or_else(|| Bits::zero(width)),
            };
            Ok((*index as u32, value))
        }
        (_, EntryKey::Index(index)) => {
            Err(format!("index {index} is out of range: `{}` has {elements} elements", update.offload))
        }
        (kind, _) => Err(format!("entries of `{kind}` cannot be changed on this machine")),
    }
}
