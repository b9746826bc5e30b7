//! The parts whose energy is accounted for, with their models.

use wireloom_power::datapath::Operation;
use wireloom_power::{
    Account, Arbiter, Array, Bus, ClockTree, Crossbar, Datapath, Part, PartKey, PartModel, Place,
    Plan, Process, RangeError, Reading, parts,
};
use wireloom_sim::parts::cache::CacheSpec;
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::parts::memory::MemorySpec;
use wireloom_sim::{Energy, SpecError};

use super::PowerSpec;
use super::memory::Memory;
use super::unit::{Contents, Unit};
use crate::mpe::{LOCAL_BYTES, TICKETS};
use crate::objects::ObjectInterface;
use crate::spec::{PLATFORM_NODES, Set, Spec};

parts! {
    /// The parts of each processor.
    pub enum ProcessorPart {
        Alu = "alu" [add, logic],
        Shifter = "shifter" [shift],
        Multiplier = "multiplier" [multiply],
        Registers = "registers" [read, write],
        LocalMemory = "local_memory" [read, write],
        FetchBuffers = "fetch_buffers" [line, fetch],
        InstructionCache = "instruction_cache" [read, line],
        DataCache = "data_cache" [read, line],
        MessageEngine = "message_engine" [access, word],
        Scheduler = "scheduler" [grant],
        Clock = "clock" [cycle],
    }
}

parts! {
    /// The parts of the chip around the processors. After them each offload has a part
    /// `object_NAME`.
    pub enum ChipPart {
        Network = "network" [message, route, hop],
        Broker = "broker" [call],
        PacketMemory = "packet_memory" [read, write],
        SharedMemory = "shared_memory" [read, write],
        Pins = "pins" [word],
        ClockTree = "clock_tree" [cycle],
    }
}

/// The part of an offload, by the offload's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectPart(pub usize);

impl Place for ObjectPart {
    fn place(self) -> usize {
        ChipPart::ALL.len() + self.0
    }
}

/// The classes of an offload's part.
const OBJECT_CLASSES: &[&str] = &["read", "write", "step"];

/// A group of parts that reports sum up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    processors: &'static [ProcessorPart],
    chip: &'static [ChipPart],
    has_objects: bool,
}

/// The groups. Each part is in one group.
pub static GROUPS: [Group; 8] = {
    use {ChipPart as C, ProcessorPart as P};
    const NONE: Group = Group { name: "", processors: &[], chip: &[], has_objects: false };
    [
        Group {
            name: "processors",
            processors: &[
                P::Alu,
                P::Shifter,
                P::Multiplier,
                P::Registers,
                P::MessageEngine,
                P::Scheduler,
            ],
            ..NONE
        },
        Group { name: "local memories", processors: &[P::LocalMemory], ..NONE },
        Group {
            name: "caches",
            processors: &[P::FetchBuffers, P::InstructionCache, P::DataCache],
            ..NONE
        },
        Group { name: "network", chip: &[C::Network, C::Broker], ..NONE },
        Group { name: "memories", chip: &[C::PacketMemory, C::SharedMemory], ..NONE },
        Group { name: "offloads", has_objects: true, ..NONE },
        Group { name: "clock", processors: &[P::Clock], chip: &[C::ClockTree], ..NONE },
        Group { name: "pins", chip: &[C::Pins], ..NONE },
    ]
};

/// The energy of each group.
pub fn groups(account: &Account) -> impl Iterator<Item = (&'static str, Energy)> {
    let objects = account.plan().parts.len() - ChipPart::ALL.len();
    GROUPS.iter().map(move |group| {
        let processors = group.processors.iter().map(|part| account.unit_part(*part));
        let chip = group.chip.iter().map(|part| account.part(*part));
        let objects = if group.has_objects { 0..objects } else { 0..0 };
        let objects = objects.map(|number| account.part(ObjectPart(number)));
        (group.name, processors.chain(chip).chain(objects).sum())
    })
}

/// The number of ports of the registers: two operands and a result.
const REGISTER_PORTS: u32 = 3;
/// The number of registers of the message passing engine for each thread: 16, and one a ticket.
const ENGINE_REGISTERS: u32 = 16 + TICKETS as u32;
/// The number of words of the queue between a processor and the network (assumed).
const QUEUE_WORDS: u32 = 16;
/// The number of bits of a call in the broker's queue: the packet or call, the service (assumed).
const CALL_BITS: u32 = 64;
/// The number of bits of an address.
const ADDRESS_BITS: u32 = 32;
/// The maximum number of bits of a cache line that are read at once (assumed).
const LINE_BITS: u32 = 512;
/// The maximum number of contenders of an arbiter in the model.
const CONTENDERS: u32 = 256;
/// The mean Manhattan distance between two places on a square, as a share of the side.
const MEAN_DISTANCE: f64 = 2.0 / 3.0;

struct Models<'a> {
    spec: &'a Spec,
    power: &'a PowerSpec,
    process: Process,
    /// The number of nodes of the network.
    nodes: u32,
}

impl Models<'_> {
    fn leak(&self, width_um: f64) -> u64 {
        self.power.technology.leak(self.process, width_um)
    }

    fn model(&self, energies: Vec<(&'static str, Energy)>, leaking_um: f64) -> PartModel {
        PartModel { energies, nanowatts: self.leak(leaking_um) }
    }

    fn processor(&self, part: ProcessorPart) -> Result<PartModel, RangeError> {
        let datapath = Datapath::new(self.process);
        let operation = |operation| datapath.energy(operation);
        let spec = &self.spec.processor;
        let threads = self.spec.threads;
        let array = |words, ports| Array::new(self.process, words, 32, ports, Reading::FullSwing);
        Ok(match part {
            ProcessorPart::Alu => {
                let (add, logic) = (operation(Operation::Add), operation(Operation::Logic));
                self.model(vec![("add", add), ("logic", logic)], datapath.alu_leaking_um())
            }
            ProcessorPart::Shifter => {
                let shift = operation(Operation::Shift);
                self.model(vec![("shift", shift)], datapath.shifter_leaking_um())
            }
            ProcessorPart::Multiplier => {
                let product = datapath.multiply();
                self.model(vec![("multiply", product)], datapath.multiplier_leaking_um())
            }
            ProcessorPart::Registers => {
                let registers = match spec.instruction_set {
                    Set::Armv4 => 16,
                    Set::Rv32im => 32,
                };
                let array = array(threads * registers, REGISTER_PORTS)?;
                let energies = vec![("read", array.read()), ("write", array.write())];
                self.model(energies, array.leaking_um())
            }
            ProcessorPart::LocalMemory => {
                let words = u64::from(threads) * LOCAL_BYTES as u64 / 4;
                let memory = Memory::new(self.process, words, 32, 1)?;
                self.model(vec![("read", memory.read), ("write", memory.write)], memory.leaking_um)
            }
            ProcessorPart::FetchBuffers => {
                let words = (spec.instruction_cache.line_bytes / 4) as u32;
                let array = array(threads * words, 2)?;
                let line = Energy(array.write().0 * u128::from(words));
                self.model(vec![("line", line), ("fetch", array.read())], array.leaking_um())
            }
            ProcessorPart::InstructionCache => {
                self.cache(&spec.instruction_cache, (spec.instruction_cache.line_bytes * 8) as u32)?
            }
            ProcessorPart::DataCache => self.cache(&spec.data_cache, 32)?,
            ProcessorPart::MessageEngine => {
                let registers = array(threads * ENGINE_REGISTERS, 2)?;
                let queue = array(QUEUE_WORDS, 2)?;
                let word = queue.write() + queue.read();
                let energies = vec![("access", registers.read()), ("word", word)];
                // A queue for each direction.
                self.model(energies, registers.leaking_um() + 2.0 * queue.leaking_um())
            }
            ProcessorPart::Scheduler => {
                let arbiter = Arbiter::round_robin(self.process, threads)?;
                // Half of the threads are ready on average (assumed).
                let grant = arbiter.grant(threads.div_ceil(2));
                self.model(vec![("grant", grant)], arbiter.leaking_um())
            }
            ProcessorPart::Clock => {
                let registers = spec.stages * self.power.stage_bits;
                let side = self.power.processor_um.into();
                let tree = ClockTree::new(self.process, side, registers)?;
                self.model(vec![("cycle", tree.cycle())], tree.leaking_um())
            }
        })
    }

    /// A cache that reads `read_bits` bits at a time. A read accesses all ways with their tags; a
    /// line is written into one way.
    fn cache(&self, cache: &CacheSpec, read_bits: u32) -> Result<PartModel, RangeError> {
        let line_bits = (cache.line_bytes * 8) as u32;
        let at_once = read_bits.min(LINE_BITS);
        let (in_line, in_read) = (line_bits / at_once, read_bits.div_ceil(at_once));
        let lines = cache.bytes / cache.line_bytes / cache.ways;
        // A tag has the address bits above the set and the place in the line, and a valid bit.
        let tag_bits = ADDRESS_BITS.saturating_sub((lines * cache.line_bytes).ilog2()) + 1;
        let data = Memory::new(self.process, lines * u64::from(in_line), at_once, 1)?;
        let tags = Memory::new(self.process, lines, tag_bits, 1)?;
        let times = |energy: Energy, count: u64| Energy(energy.0 * u128::from(count));
        let read = times(tags.read + times(data.read, in_read.into()), cache.ways);
        let line = tags.write + times(data.write, in_line.into());
        let leaks = cache.ways as f64 * (data.leaking_um + tags.leaking_um);
        Ok(self.model(vec![("read", read), ("line", line)], leaks))
    }

    fn chip(&self, part: ChipPart, constants: u64) -> Result<PartModel, RangeError> {
        let (spec, power) = (self.spec, self.power);
        Ok(match part {
            ChipPart::Network => self.network()?,
            ChipPart::Broker => {
                let servers = spec.servers().min(CONTENDERS);
                let arbiter = Arbiter::round_robin(self.process, servers)?;
                let queue = Memory::new(self.process, spec.io.packets.into(), CALL_BITS, 1)?;
                let call = queue.write + queue.read + arbiter.grant(servers.div_ceil(2));
                self.model(vec![("call", call)], queue.leaking_um + arbiter.leaking_um())
            }
            ChipPart::PacketMemory => {
                self.memory(u64::from(power.packet_memory_kilobytes) << 10, &spec.io.memory)?
            }
            ChipPart::SharedMemory => {
                self.memory(u64::from(spec.memory.bytes) + constants, &spec.memory.timing)?
            }
            ChipPart::Pins => {
                let word = power.technology.board_word(power.pin_pf);
                self.model(vec![("word", word)], 0.0)
            }
            ChipPart::ClockTree => {
                let side = power.chip_um.into();
                let leaves = spec.processors + PLATFORM_NODES;
                let tree = ClockTree::to_leaves(self.process, side, leaves)?;
                self.model(vec![("cycle", tree.cycle())], tree.leaking_um())
            }
        })
    }

    /// A memory on the chip, in its banks.
    fn memory(&self, bytes: u64, timing: &MemorySpec) -> Result<PartModel, RangeError> {
        let memory = Memory::new(self.process, bytes.div_ceil(4).max(1), 32, timing.banks)?;
        Ok(self.model(vec![("read", memory.read), ("write", memory.write)], memory.leaking_um))
    }

    /// The network, by its kind: a message at a router, the route of a word through a router, and
    /// its hop over a link.
    fn network(&self) -> Result<PartModel, RangeError> {
        let side = f64::from(self.power.chip_um);
        let wire = |um: f64| Ok::<_, RangeError>(Bus::new(self.process, um)?.carry(32));
        let nodes = self.nodes.min(CONTENDERS);
        let nothing = Energy(0);
        let carried =
            |message, route, hop| vec![("message", message), ("route", route), ("hop", hop)];
        let matrix = Arbiter::matrix(self.process, nodes)?;
        let grant = matrix.grant(nodes.div_ceil(2));
        Ok(match &self.spec.network {
            InterconnectSpec::Channel(_) => {
                self.model(carried(nothing, nothing, wire(MEAN_DISTANCE * side)?), 0.0)
            }
            InterconnectSpec::Bus(_) => {
                self.model(carried(grant, nothing, wire(side)?), matrix.leaking_um())
            }
            InterconnectSpec::Crossbar(_) => {
                // To the middle of the chip and on from there: half a side each, on average.
                let crossbar = Crossbar::new(self.process, nodes, nodes, 32)?;
                let arbiters = matrix.leaking_um() * f64::from(nodes);
                self.model(carried(grant, crossbar.carry(), wire(side)?), arbiters)
            }
            InterconnectSpec::Ring(ring) => {
                let ports = if ring.both_ways { 3 } else { 2 };
                self.routers(self.nodes, ports, wire(4.0 * side / f64::from(self.nodes))?)?
            }
            InterconnectSpec::Mesh(mesh) => {
                let routers = (mesh.columns * mesh.rows) as u32;
                self.routers(routers, 5, wire(side / mesh.columns as f64)?)?
            }
            InterconnectSpec::Wormhole(mesh) => {
                let routers = (mesh.columns * mesh.rows) as u32;
                self.routers(routers, 5, wire(side / mesh.columns as f64)?)?
            }
        })
    }

    /// `routers` routers with `ports` ports each: queues at their inputs, a crossbar, an arbiter
    /// for each output.
    fn routers(&self, routers: u32, ports: u32, link: Energy) -> Result<PartModel, RangeError> {
        let queue = Array::new(self.process, QUEUE_WORDS, 32, 2, Reading::FullSwing)?;
        let crossbar = Crossbar::new(self.process, ports, ports, 32)?;
        let arbiter = Arbiter::round_robin(self.process, ports)?;
        let route = queue.write() + queue.read() + crossbar.carry();
        let each = f64::from(ports) * (queue.leaking_um() + arbiter.leaking_um());
        let message = arbiter.grant(ports.div_ceil(2));
        let energies = vec![("message", message), ("route", route), ("hop", link)];
        Ok(self.model(energies, f64::from(routers) * each))
    }

    fn object(&self, unit: &Unit) -> Result<PartModel, RangeError> {
        let datapath = Datapath::new(self.process);
        let step = datapath.energy(Operation::Logic);
        let (words, bits) = match unit.contents {
            Contents::Nothing => {
                let energies = vec![("read", Energy(0)), ("write", Energy(0)), ("step", step)];
                return Ok(self.model(energies, datapath.alu_leaking_um()));
            }
            Contents::Search => (u64::from(self.power.search_kilobytes) * 256, 32),
            Contents::Entries { count, bits } => (count, bits),
        };
        let memory = Memory::new(self.process, words, bits, 1)?;
        let energies = vec![("read", memory.read), ("write", memory.write), ("step", step)];
        Ok(self.model(energies, memory.leaking_um))
    }
}

/// The parts of a machine with these objects. The program and constants have `constants` bytes.
///
/// # Errors
/// If a number of the description is out of its range.
pub fn plan(spec: &Spec, objects: &[ObjectInterface], constants: u64) -> Result<Plan, SpecError> {
    let power = &spec.power;
    let wrong = |error: RangeError| error.in_table("power");
    let process = power.technology.process().map_err(wrong)?;
    let nodes = spec.processors + PLATFORM_NODES + objects.len() as u32;
    let models = Models { spec, power, process, nodes };
    let (mut unit_parts, mut parts) = (Vec::new(), Vec::new());
    for part in ProcessorPart::ALL {
        unit_parts.push((part.part().clone(), models.processor(*part).map_err(wrong)?));
    }
    for part in ChipPart::ALL {
        parts.push((part.part().clone(), models.chip(*part, constants).map_err(wrong)?));
    }
    for object in objects {
        let part = Part::named(format!("object_{}", object.name), OBJECT_CLASSES);
        parts.push((part, models.object(&object.unit).map_err(wrong)?));
    }
    let units = (0..spec.processors).map(|number| format!("processor_{number}"));
    let millivolts = power.technology.voltage_mv;
    Ok(Plan { units: units.collect(), unit_parts, parts, millivolts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_one_group() {
        let places = |parts: Vec<usize>| {
            let mut parts = parts;
            parts.sort_unstable();
            parts
        };
        let processors = GROUPS.iter().flat_map(|group| group.processors);
        let processors = places(processors.map(|part| part.place()).collect());
        assert!(processors.into_iter().eq(0..ProcessorPart::ALL.len()));
        let chip = GROUPS.iter().flat_map(|group| group.chip);
        let chip = places(chip.map(|part| part.place()).collect());
        assert!(chip.into_iter().eq(0..ChipPart::ALL.len()));
        assert_eq!(GROUPS.iter().filter(|group| group.has_objects).count(), 1);
    }

    fn planned(change: impl Fn(&mut Spec)) -> Plan {
        let mut spec = Spec::base();
        change(&mut spec);
        let plan = plan(&spec, &[], 4096).expect("a plan");
        for (part, model) in plan.unit_parts.iter().chain(&plan.parts) {
            assert_eq!(part.in_order(&model.energies).len(), model.energies.len());
        }
        plan
    }

    #[test]
    fn more_threads_lines_and_memory_cost_more() {
        let own = planned(|_| {});
        let large = planned(|spec| {
            spec.threads = 32;
            spec.processor.instruction_cache.bytes = 32_768;
            spec.processor.data_cache.bytes = 32_768;
            spec.memory.bytes = 1 << 24;
            spec.power.packet_memory_kilobytes = 8192;
            spec.power.chip_um *= 2;
            spec.power.processor_um *= 2;
        });
        use {ChipPart as C, ProcessorPart as P};
        for (part, class) in [
            (P::Registers, "read"),
            (P::LocalMemory, "read"),
            (P::FetchBuffers, "line"),
            (P::InstructionCache, "read"),
            (P::DataCache, "read"),
            (P::MessageEngine, "access"),
        ] {
            let [own, large] = [&own, &large].map(|plan| &plan.unit_parts[part.place()].1);
            assert!(large.energy(class) > own.energy(class), "{part:?}");
            assert!(large.nanowatts > own.nanowatts, "{part:?}");
        }
        let energy = |plan: &Plan, part: C, class| plan.parts[part.place()].1.energy(class);
        for (part, class) in
            [(C::PacketMemory, "read"), (C::SharedMemory, "read"), (C::ClockTree, "cycle")]
        {
            assert!(energy(&large, part, class) > energy(&own, part, class), "{part:?}");
        }
        let clock = |plan: &Plan| plan.unit_parts[P::Clock.place()].1.energy("cycle");
        assert!(clock(&large) > clock(&own));
        let hop = |plan: &Plan| energy(plan, C::Network, "hop").0 as f64;
        assert!((hop(&large) / hop(&own) - 2.0).abs() < 1e-9, "wires cost by their length");
    }

    #[test]
    fn every_kind_of_network_has_a_model() {
        let of = |text: &str| {
            let text = format!("extends = \"mpsoc\"\n[network]\n{text}");
            let description = wireloom_description::Description::parse("mine", &text);
            let spec = Spec::build("mine", description.expect("TOML")).expect("a machine");
            let plan = plan(&spec, &[], 0).expect("a plan");
            let network = &plan.parts[ChipPart::Network.place()].1;
            ["message", "route", "hop"].map(|class| network.energy(class))
        };
        let clocked = "clock_mhz = 500\nwidth_bytes = 4\nqueue_messages = 8\n";
        let routed = "router_cycles = 1\nlink_cycles = 1\nslots = 4\n";
        let bus =
            of(&format!("kind = \"bus\"\n{clocked}latency_cycles = 4\narbitration_cycles = 1"));
        let crossbar = of(&format!("kind = \"crossbar\"\n{clocked}latency_cycles = 4"));
        let ring = of(&format!("kind = \"ring\"\n{clocked}{routed}both_ways = true"));
        let mesh = of(&format!("kind = \"mesh\"\n{clocked}{routed}columns = 5\nrows = 4"));
        let channel = of("kind = \"channel\"\nlatency_ns = 40");
        assert_eq!(channel[..2], [Energy(0); 2]);
        assert_eq!(bus[1], Energy(0));
        assert!(bus[2] > channel[2] && bus[2] == crossbar[2]);
        // The ring's 19 links go round the chip; a row of the mesh has five columns.
        assert!(ring[2] > mesh[2] && mesh[2] < channel[2]);
        assert!(crossbar[1] > mesh[1] && mesh[1] > ring[1]);
        assert!(bus[0] > mesh[0]);
    }
}
