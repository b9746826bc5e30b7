//! The plan of a network processor: its services, lookups and memory channels. It is made before
//! any text is generated.

use wireloom_offloads::{Config, Store};

use super::called::Called;
use super::counted_reasons::Counted;
use super::error::NpError;
use super::image::Image;
use super::wires::bits;
use crate::description::{NpSpec, Place, Rule, Scheduler, ShellKind, Storage};
use wireloom_codegen_hardware::core::port::Body;
use wireloom_codegen_hardware::core::{OffloadPort, WINDOW_LOADED};
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::Expr;

/// Cycles after which a command of the control plane without a reply fails, in addition to the
/// pauses of services.
pub(super) const CONTROL_PATIENCE: usize = 65_536;

/// An offload of the engine, and its realisation.
#[derive(Clone, Debug)]
pub struct Service {
    /// The name of the port, which is legal in SystemVerilog.
    pub name: String,
    /// Name of the offload in the source.
    pub offload: String,
    pub index: usize,
    /// The rule of the machine for the offload.
    pub rule: Rule,
    /// The declaration in the program. For an engine it only states the kind.
    pub config: Config,
    /// The called engine, if the offload is an engine.
    pub called: Option<Called>,
    /// The port of the calling engine.
    pub port: OffloadPort,
    /// Bits of the data of a request.
    pub request_bits: usize,
    /// Bits of a reply; 0 if there are no replies.
    pub reply_bits: usize,
    /// The most requests that a packet makes to the service; `None` if they are in a loop.
    pub requests: Option<u32>,
}

impl Service {
    /// Returns the bits of request data that the service receives, without the packet's place in
    /// the order of arrival.
    pub fn own_bits(&self) -> usize {
        self.request_bits - self.port.order_bits() as usize
    }

    /// Returns whether requests go from the cluster to the pipe.
    pub fn leaves_cluster(&self) -> bool {
        self.rule.place == Place::Pipe
    }

    /// Returns whether the engines connect directly to the service outside the cluster.
    pub fn is_direct_outside(&self) -> bool {
        self.leaves_cluster() && !self.rule.realisation.has_cluster_part()
    }

    /// Returns whether the control plane reads and writes the service in the cluster.
    pub fn is_controlled_in_cluster(&self) -> bool {
        self.rule.place != Place::Pipe && self.rule.realisation.control_bits(self) > 0
    }

    /// Returns whether it changes the bodies of packets.
    pub fn writes_bodies(&self) -> bool {
        match self.port.body {
            Some(Body::Chunks { writes, .. }) => writes,
            Some(Body::Park { .. }) => true,
            Some(Body::Sum | Body::Search) | None => false,
        }
    }

    /// Describes the service for users.
    pub fn describe(&self) -> String {
        let place = match self.rule.place {
            Place::Engine => "in each engine",
            Place::Cluster => "in each cluster",
            Place::Pipe => "in each pipe",
        };
        let several = match self.rule.requests {
            1 => String::new(),
            requests => format!(", {requests} requests a cycle"),
        };
        format!("{}, {place}{several}", self.rule.realisation.describe(self))
    }

    /// Returns the number of entries in the declaration, for users.
    pub fn size(&self) -> String {
        match self.config.params.get("size") {
            Some(size) => format!("{} entries", size.low_u64()),
            None => "prefixes".to_owned(),
        }
    }

    /// Returns the bits of a key, or 0 for kinds without keys.
    pub fn key_bits(&self) -> usize {
        self.config.key.as_ref().map_or(0, |layout| layout.width() as usize)
    }

    /// Returns the bits of an element, or 0 for kinds without values.
    pub fn value_bits(&self) -> usize {
        self.config.value.as_ref().map_or(0, |layout| layout.width() as usize)
    }

    /// Returns the number of elements, or 0 for kinds without a size.
    pub fn elements(&self) -> usize {
        self.config.params.get("size").map_or(0, |size| size.low_u64() as usize)
    }

    /// Returns the error that refuses the offload on this machine.
    pub(crate) fn refusal(&self, machine: &NpSpec, why: String) -> NpError {
        NpError::Offload { offload: self.offload.clone(), machine: machine.name.clone(), why }
    }
}

/// A channel to a memory outside the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Name of the channel: the name of the service and, for a trie, of the memory.
    pub name: String,
    /// Name of the service that the channel belongs to.
    pub service: String,
    /// Number of reads (and of writes) that the channel can do in a core cycle.
    pub slots: usize,
    /// Number of slots that the service uses.
    pub used: usize,
    pub word_bits: usize,
    /// Words in the memory part.
    pub words: usize,
}

impl Channel {
    /// Returns the bits of an address, which counts bursts.
    pub fn address_bits(&self) -> usize {
        bits(self.words / 2) as usize
    }

    /// Returns the bits of a burst of two words.
    pub fn data_bits(&self) -> usize {
        2 * self.word_bits
    }
}

/// The plan of a network processor.
#[derive(Clone, Debug)]
pub struct Plan {
    pub machine: NpSpec,
    /// Name of the engine in the source.
    pub engine: String,
    /// Name of the engine's module.
    pub engine_module: String,
    /// Bytes in a beat.
    pub data_bytes: usize,
    /// Bits of a lane's `tuser`: the ingress port and, if the program reads it, the arrival time.
    pub user_bits: usize,
    /// Bits of the packet's number, or 0 if the program does not read it.
    pub sequence_bits: usize,
    /// Whether packets see engine time in place of their own: times of the engine end at ticks.
    pub has_engine_time: bool,
    /// Whether timers are numbered apart from packets. The number then has a ticket behind it.
    pub numbers_apart: bool,
    /// Bits of the place of a packet's body, or 0 if no offload accesses bodies.
    pub place_bits: usize,
    /// The most bytes that a thread appends to its packet.
    pub appended: usize,
    /// Whether threads wait until their copies have left, because they may change bodies after
    /// that.
    pub holds_copies: bool,
    /// Bits of the number of beats of a body that a copy can skip, or 0 if all copies are whole.
    pub skip_bits: usize,
    /// Bits of the constants that accompany a packet.
    pub info_bits: usize,
    /// The services, one for each offload of the engine.
    pub services: Vec<Service>,
    /// The lookup services, one for each key width.
    pub lookups: Vec<Lookup>,
    /// The memory channels of a pipe.
    pub channels: Vec<Channel>,
    /// The reasons for which packets are dropped or handed to the control processor.
    pub(super) reasons: Vec<Counted>,
    /// Data bits of the control bus, enough for the widest entry.
    pub control_bits: usize,
    /// Whether the processor is built into its embedded test rig.
    pub rig: bool,
    /// Prefix of the names of modules, memory channels and images, so that several processors can
    /// share a design. It is empty for a single processor.
    pub label: String,
}

impl Plan {
    /// Returns the lookup service of an offload that is realised as a trie.
    pub(crate) fn lookup(&self, service: &Service) -> &Lookup {
        let key_bits = service.request_bits as u32;
        self.lookups
            .iter()
            .find(|lookup| lookup.shape.key_bits == key_bits)
            .expect("each trie has a lookup")
    }

    /// Returns the bits of a packet's number on its lane.
    pub fn lane_number_bits(&self) -> usize {
        if self.numbers_apart { 64 } else { self.sequence_bits }
    }

    /// Returns the services whose keys have a step, which the packets of timers start.
    pub fn timed_services(&self) -> impl Iterator<Item = &Service> {
        self.services.iter().filter(|service| service.config.has_step())
    }

    /// Returns the parameters of the engine's module.
    pub fn engine_parameters(&self) -> Vec<(String, usize)> {
        let mut parameters = vec![("Threads", self.machine.threads)];
        if !self.is_pipelined() {
            let (storage, window_storage) = self.storage_numbers();
            parameters.extend([
                ("TagBits", bits(self.cluster_tags()) as usize),
                ("Scheduler", self.scheduler_number()),
                ("Storage", storage),
                ("WindowStorage", window_storage),
            ]);
        }
        parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns whether the engine is a pipeline, which takes headers in order of arrival and keeps
    /// that order.
    pub fn is_pipelined(&self) -> bool {
        self.machine.engine.shell == ShellKind::Pipelined
    }

    /// Returns the number of packets that a cluster can hold. A packet keeps its place until all
    /// packets before it have left, but its thread only until the packet is finished. With twice as
    /// many places as threads, a slow packet of another cluster does not stall this cluster. The
    /// number is a power of two because the counters of the reorder queue wrap.
    pub fn cluster_tags(&self) -> usize {
        (2 * self.machine.engines * self.machine.threads).next_power_of_two()
    }

    /// Returns the bits of a cluster's count of idle threads.
    pub fn free_bits(&self) -> usize {
        bits(self.machine.engines * self.machine.threads + 1) as usize
    }

    /// Returns the contents of all memories of a processor whose tables are in a store.
    ///
    /// # Errors
    /// If a table does not fit the memory that the machine provides for it.
    pub fn images(&self, store: &Store) -> Result<Vec<Image>, NpError> {
        let mut images = Vec::new();
        for service in &self.services {
            images.extend(service.rule.realisation.images(self, service, store)?);
        }
        images.iter_mut().for_each(|image| image.name.insert_str(0, &self.label));
        Ok(images)
    }

    /// Returns the name of the image of a table in simulation.
    pub(crate) fn image(&self, table: &str) -> Expr {
        Expr::Text(format!("{}{table}", self.label))
    }

    /// Returns the name of the processor's module.
    pub fn top_module(&self) -> String {
        format!("{}np_top", self.label)
    }

    /// Returns the name of the cluster's module.
    pub fn cluster_module(&self) -> String {
        format!("{}_cluster", self.prefix())
    }

    /// Returns the name of the pipe's module.
    pub fn pipe_module(&self) -> String {
        format!("{}_pipe", self.prefix())
    }

    /// Returns the number of packets that an order gate distinguishes: all packets that can be in a
    /// pipe after the distributor. A cluster holds one packet per tag, and a few more that do not
    /// have a tag yet or have already returned it.
    pub fn order_slots(&self) -> usize {
        (self.machine.clusters_a_pipe() * (self.cluster_tags() + 8)).next_power_of_two()
    }

    /// Returns the cycles after a reset until all memories are cleared.
    pub fn clearing_cycles(&self) -> usize {
        let gate = |service: &Service| if service.port.ordered { self.order_slots() } else { 0 };
        let cleared = |service: &Service| {
            let contents = service.rule.realisation.after_reset(service);
            contents.map_or(0, |(_, cycles)| cycles).max(gate(service))
        };
        self.services.iter().map(cleared).max().unwrap_or(0)
    }

    /// Returns the longest time, in cycles, for which a service replies neither to packets nor to
    /// the control plane.
    pub fn longest_pause(&self) -> usize {
        let pause = |service: &Service| service.rule.realisation.longest_pause(service);
        self.services.iter().map(pause).max().unwrap_or(0)
    }

    /// Returns the cycles after which a command of the control plane without a reply fails.
    pub fn control_timeout(&self) -> usize {
        CONTROL_PATIENCE + self.longest_pause()
    }

    /// Returns whether the lanes come from modules with the same reset: narrow ports, the rig, or
    /// the ingress of a chip with several processors.
    pub fn is_fed_inside(&self) -> bool {
        self.machine.ports.are_narrow() || self.rig || !self.label.is_empty()
    }

    /// Returns the prefix of module names.
    fn prefix(&self) -> &str {
        self.engine_module.strip_suffix("_engine").unwrap_or(&self.engine_module)
    }

    /// Returns the bits of a request's tag after the cluster: engine and thread.
    pub fn cluster_tag_bits(&self) -> usize {
        (bits(self.machine.engines) + bits(self.machine.threads)) as usize
    }

    /// Returns the bits of a request's tag after the pipe's request tree: cluster, engine and
    /// thread.
    pub fn pipe_tag_bits(&self) -> usize {
        bits(self.machine.clusters_a_pipe()) as usize + self.cluster_tag_bits()
    }

    /// Returns the services that access bodies.
    pub fn body_services(&self) -> impl Iterator<Item = &Service> {
        self.services.iter().filter(|service| service.port.body.is_some())
    }

    /// Returns whether several services access bodies. They then share the body buffer in turn.
    pub fn shares_bodies(&self) -> bool {
        self.body_services().nth(1).is_some()
    }

    /// Returns the beats of a packet before its body in the body buffer: the header beats if an
    /// offload searches packets, and none otherwise.
    pub fn beats_ahead(&self) -> usize {
        let searches = self.services.iter().any(|service| service.port.body == Some(Body::Search));
        if searches { WINDOW_LOADED as usize / self.data_bytes } else { 0 }
    }

    /// Returns whether an offload changes the bodies of packets.
    pub fn writes_bodies(&self) -> bool {
        self.services.iter().any(Service::writes_bodies)
    }

    /// Returns the number of control targets in one cluster.
    pub fn cluster_targets(&self) -> usize {
        let inside = self.services.iter().filter(|s| s.is_controlled_in_cluster());
        inside.map(|s| if s.rule.place == Place::Engine { self.machine.engines } else { 1 }).sum()
    }

    /// Returns whether parts of the clusters keep copies of data that the control plane writes
    /// elsewhere.
    pub fn watches_control_in_clusters(&self) -> bool {
        self.services.iter().any(|service| service.rule.realisation.has_cluster_part())
    }

    /// Returns the number of control targets of a pipe outside its clusters.
    pub fn pipe_targets(&self) -> usize {
        self.services.iter().map(|service| self.targets_in_pipe(service)).sum()
    }

    /// Returns the number of control targets of a service in a pipe, outside the pipe's clusters.
    pub(super) fn targets_in_pipe(&self, service: &Service) -> usize {
        match service.rule.place {
            Place::Engine | Place::Cluster => 0,
            Place::Pipe => service.rule.realisation.targets(self, service),
        }
    }

    /// Returns the number of control targets of a pipe and its clusters.
    pub fn targets_a_pipe(&self) -> usize {
        self.pipe_targets() + self.machine.clusters_a_pipe() * self.cluster_targets()
    }

    /// Returns the number of the scheduler in the templates.
    fn scheduler_number(&self) -> usize {
        match self.machine.engine.scheduler {
            Scheduler::RoundRobin => 0,
            Scheduler::ReadyToExecute => 1,
        }
    }

    /// Returns the numbers of the storage of thread state and of header windows in the templates.
    fn storage_numbers(&self) -> (usize, usize) {
        match self.machine.engine.storage {
            Storage::Lut => (0, 0),
            Storage::BlockWindows => (0, 1),
            Storage::Block => (1, 1),
        }
    }
}
