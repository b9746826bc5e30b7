//! A checkpoint of a machine with all parts. A restored run continues as the original run does.

use wireloom_sim::energy::{Class, Component, ComponentSpec, PowerState};
use wireloom_sim::parts::cache::{Cache, CacheSpec, Use};
use wireloom_sim::parts::fifo::{Fifo, FifoSpec};
use wireloom_sim::parts::interconnect::{Interconnect, InterconnectSpec};
use wireloom_sim::parts::link::{Link, LinkSpec};
use wireloom_sim::parts::memory::{Direction, Memory, MemorySpec};
use wireloom_sim::parts::network::{Message, Network, NetworkEvent, Node, Notice};
use wireloom_sim::parts::queue::{Queue, QueueSpec};
use wireloom_sim::stats::{Histogram, Record, Value};
use wireloom_sim::{
    Activity, Checkpoint, Clock, Effort, Energy, EnergyMeter, EnergySink, EventSink as _, Kernel,
    Model, Rng, Stop, Time, Unit,
};

const NODES: u32 = 6;
const SENT: Class = Class(0);
const RUNS: PowerState = PowerState(0);
const WAITS: PowerState = PowerState(1);

/// Processors that draw random numbers, read a cached memory, send messages to each other and pass
/// words to their neighbours, while a governor changes their clock.
#[derive(Clone)]
struct Machine {
    network: Interconnect<u32>,
    memory: Memory,
    link: Link,
    caches: Vec<Cache>,
    inboxes: Vec<Queue<u32>>,
    fifos: Vec<Fifo<u32>>,
    rngs: Vec<Rng>,
    /// The arrival time of each processor's data.
    loaded: Vec<Time>,
    energy: EnergyMeter,
    words: Histogram,
    changes: u64,
}

#[derive(Clone, Debug)]
enum Event {
    Network(NetworkEvent),
    Loaded(u32),
    Governor,
}

fn spec<T: serde::de::DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).unwrap()
}

impl Machine {
    fn new(network: &str, effort: Effort) -> (Self, Kernel<Event>) {
        let network: InterconnectSpec = spec(network);
        let each = |number: u32| Rng::new(5, &format!("processor {number}"));
        let mut energy = EnergyMeter::new(Some(Time(1_000_000)));
        for number in 0..NODES {
            let component = ComponentSpec {
                name: format!("processor {number}"),
                nominal_millivolts: 1000,
                events: vec![("sent".to_owned(), Energy::picojoules(3))],
                states: vec![("runs".to_owned(), 1_000_000), ("waits".to_owned(), 1000)],
                static_exponent: 1,
            };
            energy.component(component).unwrap();
        }
        let memory: MemorySpec = spec(
            "clock_mhz = 400\nlatency_cycles = 9\nports = 2\nbytes_per_cycle = 8\nbanks = 4\n\
             bank_cycles = 6\ninterleave_bytes = 64\nburst_bytes = 32\noutstanding = 3",
        );
        let cache: CacheSpec =
            spec("bytes = 256\nline_bytes = 16\nways = 2\nreplacement = \"random\"");
        let machine = Self {
            network: Interconnect::new(&network, NODES, Rng::new(5, "network")).unwrap(),
            memory: Memory::new(memory).unwrap(),
            link: Link::new(spec::<LinkSpec>("rate_gbps = 10\nlatency_ns = 3")).unwrap(),
            caches: (0..NODES).map(|n| Cache::new(cache, each(n)).unwrap()).collect(),
            inboxes: (0..NODES).map(|_| Queue::new(QueueSpec { entries: 3 }).unwrap()).collect(),
            fifos: (0..NODES).map(|_| Fifo::new(FifoSpec { words: 1 }).unwrap()).collect(),
            rngs: (0..NODES).map(each).collect(),
            loaded: vec![Time::ZERO; NODES as usize],
            energy,
            words: Histogram::numbers(),
            changes: 0,
        };
        let mut kernel = Kernel::new(effort, Time(1000));
        let clocks = [0, 1].map(|_| kernel.add_variable_clock(Clock::hertz(700_000_000)));
        for number in 0..NODES {
            let unit = kernel.add_unit(clocks[number as usize % 2]);
            kernel.wake(unit);
        }
        kernel.send(Time(5000), Event::Governor);
        (machine, kernel)
    }

    fn record(&mut self, kernel: &Kernel<Event>) -> Record {
        let now = kernel.now();
        self.energy.settle(now);
        let (cycles, events) = kernel.work();
        let caches: Vec<Record> = self.caches.iter().map(Cache::record).collect();
        let inboxes: Vec<Record> = self.inboxes.iter().map(|queue| queue.record(now)).collect();
        let fifos: Vec<Record> = self.fifos.iter().map(Fifo::record).collect();
        Record::new()
            .with("now", now)
            .with("cycles", cycles)
            .with("events", events)
            .with("edges", vec![kernel.edges(0), kernel.edges(1)])
            .with("network", self.network.record(now))
            .with("memory", self.memory.record(now))
            .with("caches", caches)
            .with("inboxes", inboxes)
            .with("fifos", fifos)
            .with("words", &self.words)
            .with("energy", self.energy.record(now))
    }
}

impl Model for Machine {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        let now = kernel.now();
        match event {
            Event::Network(event) => {
                match self.network.arrive(event, &mut kernel.wrapped(Event::Network)) {
                    Some(Notice::Delivered(message)) => {
                        // A message without room is lost, and counted.
                        let _ = self.inboxes[message.to.0 as usize].push(now, message.payload);
                        kernel.wake(Unit(message.to.0));
                    }
                    Some(Notice::Room(node)) => kernel.wake(Unit(node.0)),
                    None => {}
                }
            }
            Event::Loaded(number) => {
                self.energy.set_state(Component(number), RUNS, now);
                kernel.wake(Unit(number));
            }
            Event::Governor => {
                self.changes += 1;
                let clock = (self.changes % 2) as usize;
                match self.changes % 5 {
                    0 => kernel.gate(clock),
                    1 | 2 if kernel.is_gated(clock) => kernel.ungate(clock, Time(3000)),
                    step => {
                        let rate = Clock::hertz(300_000_000 + step * 111_000_000);
                        kernel.set_rate(clock, rate, Time(2000));
                        let events = &mut kernel.wrapped(Event::Network);
                        self.network.set_rate(rate, Time(1000), events);
                        self.memory.set_rate(now, rate, Time(500));
                        let component = Component(self.changes as u32 % NODES);
                        self.energy.set_voltage(component, 800 + step as u32 * 50, now);
                    }
                }
                kernel.send(Time(170_001), Event::Governor);
            }
        }
    }

    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Event>) -> Activity {
        let (number, now) = (unit.0 as usize, kernel.now());
        if now < self.loaded[number] {
            return Activity::Asleep;
        }
        let next = (number + 1) % NODES as usize;
        if let Some(word) = self.fifos[number].read(kernel) {
            self.words.number(u64::from(word));
        }
        if let Some(message) = self.inboxes[number].pop(now) {
            if self.fifos[next].write(message, kernel).is_err() {
                return self.fifos[next].wait_for_room(unit);
            }
            return Activity::Awake;
        }
        let address = self.rngs[number].below(1024) & !3;
        let access = self.caches[number].access(address, Use::Read, now.0);
        if access.fetches {
            let there = self.memory.request(now, Direction::Read, address, 16);
            let there = self.link.send(there, 16).max(there);
            self.loaded[number] = there;
            self.energy.set_state(Component(unit.0), WAITS, now);
            kernel.send_at(there, Event::Loaded(unit.0));
            return Activity::Asleep;
        }
        let to = Node(self.rngs[number].below(NODES.into()) as u32);
        let bytes = 1 + self.rngs[number].below(60) as u32;
        let message = Message { from: Node(unit.0), to, bytes, payload: address as u32 };
        if self.network.send(message, &mut kernel.wrapped(Event::Network)).is_err() {
            return Activity::After(3);
        }
        self.energy.count(Component(unit.0), SENT, now, 1);
        Activity::After(1 + address % 4)
    }
}

const NETWORKS: [&str; 6] = [
    "kind = \"channel\"\nlatency_ns = 8\njitter = 0.5",
    "kind = \"bus\"\nclock_mhz = 500\nwidth_bytes = 8\narbitration_cycles = 1\nlatency_cycles = 1\n\
     queue_messages = 2",
    "kind = \"crossbar\"\nclock_mhz = 500\nwidth_bytes = 8\nlatency_cycles = 2\nqueue_messages = 2",
    "kind = \"ring\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 1\nlink_cycles = 1\n\
     queue_messages = 2\nslots = 2\nboth_ways = true",
    "kind = \"mesh\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 1\nlink_cycles = 1\n\
     queue_messages = 2\nslots = 2\ncolumns = 3\nrows = 2",
    "kind = \"wormhole\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 1\nlink_cycles = 1\n\
     queue_messages = 2\nbuffer_flits = 2\ncolumns = 3\nrows = 2",
];

#[test]
fn a_restored_machine_runs_on_as_the_original() {
    const END: Time = Time(20_000_000);
    for network in NETWORKS {
        for effort in [Effort::Active, Effort::Naive] {
            let (mut machine, mut kernel) = Machine::new(network, effort);
            let mut checkpoints = Vec::new();
            for step in 0..5u64 {
                assert_eq!(kernel.run(&mut machine, Time(step * 3_050_123)), Stop::Reached);
                // This also holds in the middle of an instant.
                for _ in 0..step * 7 {
                    assert!(kernel.step(&mut machine, END).is_break());
                }
                checkpoints.push(Checkpoint::take(&machine, &kernel));
            }
            assert_eq!(kernel.run(&mut machine, END), Stop::Reached);
            let wanted = machine.record(&kernel);
            for checkpoint in checkpoints {
                let (mut machine, mut kernel) = checkpoint.restore();
                assert_eq!(kernel.run(&mut machine, END), Stop::Reached);
                assert_eq!(machine.record(&kernel), wanted, "{network} at {}", checkpoint.time());
            }
        }
    }
}

#[test]
fn the_machine_is_busy() {
    for network in NETWORKS {
        let (mut machine, mut kernel) = Machine::new(network, Effort::Active);
        assert_eq!(kernel.run(&mut machine, Time(20_000_000)), Stop::Reached);
        let record = machine.record(&kernel);
        for (path, least) in
            [("network.messages", 100), ("memory.reads", 100), ("fifos.3.words", 10)]
        {
            let Some(Value::Count(count)) = record.value(path) else { panic!("no {path}") };
            assert!(*count > least, "{path} is {count} over {network}");
        }
    }
}
