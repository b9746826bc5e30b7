//! The interface of a realisation: everything that a processor and its control plane ask of it.

use std::fmt;

use serde::{Serialize, Serializer};
use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::Item;
use wireloom_offloads::{Config, EntryKey, Instance, Store, Update};

use super::entries;
use crate::control::bus::{ControlBus, ControlError};
use crate::description::{NpSpec, Rule};
use crate::processor::contents::Contents;
use crate::processor::error::NpError;
use crate::processor::image::Image;
use crate::processor::plan::{Channel, Plan, Service};
use crate::processor::probe_port::ProbePort;
use crate::simulation::Operation;

/// A way to provide an offload.
///
/// A realisation overrides the default methods only where it differs from a single small module
/// without control targets.
pub trait Realisation: Sync {
    /// Returns the name in machine descriptions.
    fn name(&self) -> &'static str;

    /// Returns a short description for users.
    fn about(&self) -> &'static str;

    /// Describes a service, without its place.
    fn describe(&self, service: &Service) -> String {
        format!("{} of {}: {}", service.config.kind, service.size(), self.about())
    }

    // Legality.

    /// Returns whether it can provide an offload of this kind that the engine calls through this
    /// port.
    fn suits(&self, kind: &str, port: &OffloadPort) -> bool;

    /// Returns why it must be placed in the pipe, or `None` if each cluster can also have it.
    fn only_in_pipe(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether each engine can have it ([`Self::in_engine`]).
    fn stands_in_engines(&self) -> bool {
        false
    }

    /// Returns whether it can take several requests in a cycle ([`Rule::requests`]).
    fn takes_several(&self) -> bool {
        false
    }

    /// Returns whether packets change its state in such a way that the state of several copies
    /// cannot be combined, also if the changes need no order.
    fn needs_one_copy(&self, _port: &OffloadPort) -> bool {
        false
    }

    /// Returns why the time to a reply varies, or `None` if it is constant.
    fn varies(&self) -> Option<&'static str> {
        None
    }

    /// Checks the numbers in a rule.
    ///
    /// # Errors
    /// If a number is illegal. The error is a sentence without a full stop.
    fn check(&self, _rule: &Rule) -> Result<(), String> {
        Ok(())
    }

    /// Returns the channels to memories outside the chip.
    ///
    /// # Errors
    /// If the machine's memories are too small or too slow. The error is a sentence without a full
    /// stop.
    fn channels(
        &self,
        _service: &Service,
        _lookups: &[Lookup],
        _machine: &NpSpec,
    ) -> Result<Vec<Channel>, String> {
        Ok(Vec::new())
    }

    /// Returns whether a request writes to its memory channels as often as it reads.
    fn writes_channels(&self) -> bool {
        false
    }

    /// Returns the width of its keys if it uses a generated lookup pipeline ([`Plan::lookups`]).
    fn lookup_key_bits(&self, _service: &Service) -> Option<u32> {
        None
    }

    // Hardware.

    /// Returns the modules, connected to the request tree of their place. Tags have `tag_bits`
    /// bits. The first control target has number `target`.
    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item>;

    /// Returns the modules inside the loop over the engines of a cluster. The method is called only
    /// if the engines have the service.
    fn in_engine(&self, _plan: &Plan, _service: &Service) -> Vec<Item> {
        Vec::new()
    }

    /// Returns whether each cluster has a part of a pipe's service ([`Self::cluster_part`]).
    fn has_cluster_part(&self) -> bool {
        false
    }

    /// Returns the part of a pipe's service that each cluster has.
    fn cluster_part(&self, _plan: &Plan, _service: &Service) -> Vec<Item> {
        Vec::new()
    }

    /// Returns the probes of the part in each cluster.
    fn cluster_probes(&self, _service: &Service) -> Vec<ProbePort> {
        Vec::new()
    }

    // Control plane.

    /// Returns the width of the widest entry on the control bus, in bits.
    fn control_bits(&self, service: &Service) -> usize;

    /// Returns the number of control targets.
    fn targets(&self, _plan: &Plan, _service: &Service) -> usize {
        1
    }

    /// Returns the path of the offload and the contents of each control target, in order.
    fn contents(&self, plan: &Plan, service: &Service) -> Vec<(String, Contents)>;

    /// Returns whether the entries of a control target lie in a memory outside the chip.
    fn is_outside(&self, _contents: &Contents) -> bool {
        false
    }

    /// Returns the effect of a reset on its contents, and the cycles that the reset takes; `None`
    /// if the contents stay.
    fn after_reset(&self, _service: &Service) -> Option<(&'static str, usize)> {
        None
    }

    /// Returns the most cycles for which it does not reply: while it clears its memory, or during
    /// the longest operation.
    fn longest_pause(&self, service: &Service) -> usize {
        self.after_reset(service).map_or(0, |(_, cycles)| cycles)
    }

    /// Returns whether it uses both ends of its memory, regardless of the number of entries.
    fn spans_memory(&self) -> bool {
        false
    }

    /// Returns the contents of its memories when the processor starts.
    ///
    /// # Errors
    /// If the tables in the store do not fit.
    fn images(
        &self,
        _plan: &Plan,
        _service: &Service,
        _store: &Store,
    ) -> Result<Vec<Image>, NpError> {
        Ok(Vec::new())
    }

    // Entries.

    /// Returns whether packets can change the state, so that the control plane must write it at the
    /// start.
    fn is_changed(&self, _service: &Service) -> bool {
        false
    }

    /// Returns the number of elements that are read back by index.
    fn indices(&self, service: &Service) -> u64 {
        service.elements() as u64
    }

    /// Returns whether the value of an element is the sum over all copies. If so, a written value
    /// goes to one copy and zeros go to the others.
    fn sums_copies(&self) -> bool {
        false
    }

    /// Returns the address and data of the write that sets or removes an entry of the offload at
    /// this path.
    ///
    /// # Errors
    /// If the entry does not suit the offload. The error is a sentence without a full stop.
    fn entry(
        &self,
        _path: &str,
        config: &Config,
        _key: &EntryKey,
        _value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        Err(entries::refused(config))
    }

    /// Returns the addresses and data of the writes, in order, that take the state of an offload
    /// that packets change ([`Self::is_changed`]) from `old` to `new`.
    ///
    /// # Errors
    /// If an entry does not suit the offload. The error is a sentence without a full stop.
    fn restore(
        &self,
        service: &Service,
        old: &dyn Instance,
        new: &dyn Instance,
    ) -> Result<Vec<(u32, Bits)>, String> {
        let (old, new) = (entries::values(old), entries::values(new));
        let gone = old.keys().filter(|key| !new.contains_key(key)).map(|key| (key, None));
        let changed = new.iter().filter(|(key, value)| old.get(key) != Some(value));
        let changed = changed.map(|(key, value)| (key, Some(value)));
        let entry = |(key, value)| self.entry(&service.offload, &service.config, key, value);
        gone.chain(changed).map(entry).collect()
    }

    /// Reads the whole state that packets change back into a golden instance.
    ///
    /// `targets` are the control targets of all copies. `indices` are the elements to read, for
    /// offloads that are indexed.
    ///
    /// # Errors
    /// If the machine fails or the instance refuses an entry.
    fn read_back(
        &self,
        _service: &Service,
        _targets: &[u8],
        _indices: &[u64],
        _bus: &mut dyn ControlBus,
        _instance: &mut dyn Instance,
    ) -> Result<(), ControlError> {
        Ok(())
    }

    /// Returns the keys whose times are over at `by_ns`, and the next end of another one. The
    /// machine is empty meanwhile. `targets` are the control targets of all copies.
    ///
    /// # Errors
    /// If the machine fails.
    fn due(
        &self,
        _service: &Service,
        _targets: &[u8],
        _by_ns: u64,
        _bus: &mut dyn ControlBus,
    ) -> Result<DueKeys, ControlError> {
        Ok(DueKeys::default())
    }

    /// Returns the planner of updates for tables whose keys do not determine the place of entries,
    /// or `None` if an update is one write of [`Self::entry`] to each copy.
    ///
    /// # Errors
    /// If the tables in the store do not fit. The error is a sentence without a full stop.
    fn updater(
        &self,
        _plan: &Plan,
        _service: &Service,
        _store: &Store,
    ) -> Result<Option<Box<dyn Updater>>, String> {
        Ok(None)
    }
}

impl PartialEq for dyn Realisation {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Realisation {}

impl fmt::Debug for dyn Realisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for dyn Realisation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The keys of a table for which its step has to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueKeys {
    /// In the order of their bits.
    pub keys: Vec<Bits>,
    /// The tick at which the next of the other keys is due, in nanoseconds.
    pub next_ns: Option<u64>,
}

/// A planner of updates that tracks the contents of the memories.
pub trait Updater: Send {
    /// Returns the operations that carry out an update.
    ///
    /// # Errors
    /// If there is no room for the update. The error is a sentence without a full stop, and the
    /// planner stays unchanged.
    fn plan(&mut self, plan: &Plan, update: &Update) -> Result<Vec<Operation>, String>;
}
