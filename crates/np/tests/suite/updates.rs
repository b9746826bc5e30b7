//! Tests a whole network processor whose tables the control processor changes over AXI4-Lite while
//! packets flow. Each packet must find entire entries that the tables held at some time while it
//! was inside. Once a change is complete, packets must find the new entries.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::tables::{TrieImage, Write};
use wireloom_compile::pipeline;
use wireloom_net::Packet;
use wireloom_np::description::{NpSpec, Reset};
use wireloom_np::processor::{self, Processor};
use wireloom_np::simulation::{self, Arrival, BuildOptions, Departure, Settings, Simulation};
use wireloom_offloads::Content;

/// Reads three tables and sends the results. `labels` goes through the caches of the clusters, as
/// machines/np.toml sets for its name.
const SOURCE: &str = "
struct Route { u16 port; u11 class; };
struct Hop { u64 a; u64 b; u16 c; };
header Ask { u32 dst; u8 hop; u8 label; u64 a; u64 b; u16 c; u64 d; u64 e; u16 f; };

engine ask() {
    offload routes : lpm<u32, Route>;
    offload hops : array<Hop, size = 16>;
    offload labels : array<Hop, size = 16>;
    Ask ask @ 0;
    Hop label;

    step look {
        Route route = routes.search(ask.dst);
        Hop hop = hops.read(ask.hop);
        label = labels.read(ask.label);
        packet.egress = route.port;
        ask.a = hop.a; ask.b = hop.b; ask.c = hop.c;
        next mark;
    }
    step mark {
        ask.d = label.a; ask.e = label.b; ask.f = label.c;
        finish;
    }
}
";

/// Elements in each array.
const ELEMENTS: usize = 4;
const CHANGES: usize = 120;
/// Number of packets queued at the input. There are few, so that packets ask for the entries that
/// are being changed.
const LINE: u64 = 6;

/// A generator of pseudo-random numbers, which are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % limit
    }
}

#[derive(Clone)]
struct Tables {
    /// Prefix, length, egress port.
    routes: Vec<(u32, u32, u16)>,
    /// For `hops` and `labels`, the number from which all fields of each element are derived.
    elements: [[u64; ELEMENTS]; 2],
}

fn fields(number: u64) -> (u64, u64, u16) {
    (number, !number, (number ^ number >> 16) as u16)
}

impl Tables {
    fn route(&self, dst: u32) -> u16 {
        let covers = |length: u32, key: u32| length == 0 || (dst ^ key) >> (32 - length) == 0;
        let covering = self.routes.iter().filter(|(key, length, _)| covers(*length, *key));
        covering.max_by_key(|(_, length, _)| *length).map_or(0, |(_, _, port)| *port)
    }
}

/// A change of the tables. It lasts from the first access on the control port until the last access
/// is complete.
struct Change {
    after: Tables,
    begun: u64,
    done: u64,
}

fn processor(machine: &NpSpec) -> (Processor, Vec<String>, TrieImage, tempfile::TempDir) {
    let checked =
        wireloom_lang::check_source("ask.loom", SOURCE, &wireloom_lang::Options::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, machine).unwrap_or_else(|error| panic!("{error}"));
    let store = wireloom_ir::store(&program).expect("offloads");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut arguments = Vec::new();
    for image in processor.plan.images(&store).expect("empty tables fit") {
        let path = folder.path().join(&image.name);
        std::fs::write(&path, &image.text).expect("a file");
        arguments.push(format!("+wl_image_{}={}", image.name, path.display()));
    }
    let Some(Content::Kind { config, instance, .. }) =
        store.find("routes").map(|slot| &slot.content)
    else {
        panic!("the program has routes")
    };
    let trie =
        TrieImage::of_instance(config, instance.as_ref(), 1000).expect("an empty table fits");
    (processor, arguments, trie, folder)
}

struct Run {
    processor: Processor,
    simulation: Simulation,
    trie: TrieImage,
    random: Random,
    /// The keys of each packet: destination, hop, label.
    asked: Vec<(u32, u8, u8)>,
    left: Vec<Departure>,
    /// The prefix that changes. Many packets ask for it.
    focus: (u32, u32),
}

impl Run {
    fn keep_packets_coming(&mut self) {
        while self.simulation.state().waiting < LINE {
            let (key, length) = self.focus;
            let host = u32::MAX.checked_shr(length).unwrap_or(0);
            let dst = match self.random.below(4) {
                0 => key,
                1 => key | host,
                2 => (key | host).wrapping_add(1),
                _ => key | self.random.below(1 << 32) as u32 & host,
            };
            let [hop, label] = [(); 2].map(|()| self.random.below(ELEMENTS as u64) as u8);
            let mut bytes = dst.to_be_bytes().to_vec();
            bytes.extend([hop, label]);
            bytes.resize(64, 0xee);
            let packet = Packet { ingress: 0, arrival_ns: 0, bytes };
            self.simulation.offer(packet.frame(), Arrival::Waiting);
            self.asked.push((dst, hop, label));
        }
    }

    fn run(&mut self, cycles: u64) {
        self.keep_packets_coming();
        self.simulation.rest(cycles).unwrap_or_else(|fault| panic!("{fault}"));
    }

    fn collect(&mut self) {
        self.simulation.run(1).unwrap_or_else(|fault| panic!("{fault}"));
        self.left.extend(std::iter::from_fn(|| self.simulation.take()));
    }

    fn write(&mut self, target: u8, address: u32, value: &Bits) {
        self.keep_packets_coming();
        self.simulation
            .write_entry(target, address, value)
            .unwrap_or_else(|fault| panic!("{fault}"));
        self.collect();
    }

    fn write_element(&mut self, array: usize, index: usize, number: u64) {
        let name = ["hops", "labels"][array];
        let map = processor::memory_map(&self.processor.plan).targets;
        let target = map.iter().find(|target| target.offload == name).expect("a target");
        let (a, b, c) = fields(number);
        let value = Bits::from_words(64, &[a])
            .concat(&Bits::from_words(64, &[b]))
            .concat(&Bits::new(16, c.into()));
        self.write(target.number as u8, index as u32, &value);
    }

    fn write_route(&mut self, (key, length): (u32, u32), port: Option<u16>) {
        let writes = match port {
            Some(port) => {
                self.trie.insert(key.into(), length, &Bits::new(27, u128::from(port) << 11 | 5))
            }
            None => self.trie.remove(key.into(), length),
        };
        for write in writes.unwrap_or_else(|error| panic!("{error}")) {
            if write == Write::Barrier {
                self.run(self.processor.plan.lookup_cycles("routes").expect("a trie"));
            }
            for access in self.processor.plan.control_writes("routes", &write) {
                self.write(access.target, access.address, &access.value);
            }
        }
    }
}

/// Returns a prefix: a new one, an existing one, or one inside or around an existing one.
fn prefix(random: &mut Random, routes: &[(u32, u32, u16)]) -> (u32, u32) {
    let (key, length) = match (random.below(4), routes) {
        (0, _) | (_, []) => (random.below(1 << 32) as u32, 12 + random.below(21) as u32),
        (1, _) => {
            let (key, length, _) = routes[random.below(routes.len() as u64) as usize];
            (key, length)
        }
        _ => {
            let (key, _, _) = routes[random.below(routes.len() as u64) as usize];
            (key ^ random.below(1 << 9) as u32, 16 + random.below(17) as u32)
        }
    };
    (key & !u32::MAX.checked_shr(length).unwrap_or(0), length)
}

#[test]
#[ignore = "takes long: make test-all"]
fn tables_change_whole_while_packets_flow() {
    change_tables(&NpSpec::find("np-1-2-2").expect("a machine"));
}

#[test]
#[ignore = "slow: make test-all"]
fn tables_that_take_several_requests_a_cycle_change_whole() {
    // An element takes two of the six slots of a memory channel, so each cluster has a way.
    let text = "extends = \"np\"\nclusters = 3\nengines = 1\nthreads = 2\n[clock]\nmemory_ratio = 6\n\
                [offload.labels]\nrequests = 3\n[offload.hops]\nrealisation = \"direct\"\nplace = \"pipe\"\nrequests = 2";
    change_tables(&NpSpec::parse("ways", text).expect("a machine"));
}

#[test]
#[ignore = "slow: make test-all"]
fn tables_change_whole_with_an_asynchronous_reset() {
    let mut machine = NpSpec::find("np-1-2-2").expect("a machine");
    machine.reset = Reset::Asynchronous;
    change_tables(&machine);
}

fn change_tables(machine: &NpSpec) {
    let (processor, arguments, trie, _folder) = processor(machine);
    let options = BuildOptions { assertions: true, ..BuildOptions::default() };
    let model = simulation::build(&processor.source(), &options, &mut |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let settings = Settings { arguments, ..Settings::default() };
    let simulation = Simulation::start(&model, &settings).unwrap_or_else(|fault| panic!("{fault}"));
    let (asked, left) = (Vec::new(), Vec::new());
    let mut run = Run {
        processor,
        simulation,
        trie,
        random: Random(88_172_645_463_325_252),
        asked,
        left,
        focus: (0, 0),
    };

    let mut now = Tables { routes: Vec::new(), elements: [[0; ELEMENTS]; 2] };
    for array in 0..2 {
        for index in 0..ELEMENTS {
            now.elements[array][index] = 1 + (4 * array + index) as u64;
            run.write_element(array, index, now.elements[array][index]);
        }
    }
    run.run(500);
    run.collect();
    // Packets from before the changes are not checked because the elements had other values.
    let first = run.asked.len();
    let mut changes = vec![Change { after: now.clone(), begun: 0, done: 0 }];
    for number in 0..CHANGES {
        let begun = run.simulation.state().cycles;
        if number % 3 == 2 {
            let (array, index) =
                (run.random.below(2) as usize, run.random.below(ELEMENTS as u64) as usize);
            now.elements[array][index] = run.random.below(u64::MAX);
            run.write_element(array, index, now.elements[array][index]);
        } else {
            let (key, length) = prefix(&mut run.random, &now.routes);
            run.focus = (key, length);
            run.run(60);
            let place = now.routes.iter().position(|route| (route.0, route.1) == (key, length));
            let goes = place.is_some() && run.random.below(2) == 0;
            if let Some(place) = place {
                now.routes.swap_remove(place);
            }
            let port = (!goes).then_some(1 + number as u16);
            now.routes.extend(port.map(|port| (key, length, port)));
            run.write_route((key, length), port);
        }
        changes.push(Change { after: now.clone(), begun, done: run.simulation.state().cycles });
        run.run(run.random.0 % 50);
    }
    run.simulation.run(100_000).unwrap_or_else(|fault| panic!("{fault}"));
    run.left.extend(std::iter::from_fn(|| run.simulation.take()));
    assert_eq!(run.left.len(), run.asked.len(), "every packet leaves");

    let mut changed = [0; 3];
    for left in run.left.iter().skip(first) {
        let (dst, hop, label) = run.asked[left.number as usize];
        // These are the versions of the tables while the packet was inside. Versions that were
        // replaced before it entered, or that came after it left, are excluded.
        let last = changes.partition_point(|change| change.begun <= left.left);
        let oldest = changes.partition_point(|change| change.done < left.entered).max(1) - 1;
        let versions = &changes[oldest..last];
        let number = |range: std::ops::Range<usize>| {
            left.bytes[range].iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let element = |at: usize| {
            (number(at..at + 8), number(at + 8..at + 16), number(at + 16..at + 18) as u16)
        };
        let said = versions.iter().map(|version| &version.after);
        let found = [
            said.clone().any(|tables| tables.route(dst) == left.egress),
            said.clone().any(|tables| fields(tables.elements[0][hop as usize]) == element(6)),
            said.clone().any(|tables| fields(tables.elements[1][label as usize]) == element(24)),
        ];
        assert_eq!(
            found, [true; 3],
            "{dst:08x} {hop} {label}: {left:?}, changes {oldest} to {last}"
        );
        for (table, changed) in changed.iter_mut().enumerate() {
            let differ = |a: &Tables, b: &Tables| match table {
                0 => a.route(dst) != b.route(dst),
                1 => a.elements[0][hop as usize] != b.elements[0][hop as usize],
                _ => a.elements[1][label as usize] != b.elements[1][label as usize],
            };
            *changed +=
                u32::from(versions.windows(2).any(|pair| differ(&pair[0].after, &pair[1].after)));
        }
    }
    assert!(
        changed.iter().all(|&packets| packets > 20),
        "packets were inside while what they ask for changed: {changed:?}"
    );
}
