//! Rates, latencies and order under the synthetic load.

use wireloom_mpsoc::broker::Policy;
use wireloom_mpsoc::spec::Multithreading;
use wireloom_mpsoc::synthetic::{PAPER, Synthetic};
use wireloom_mpsoc::{
    Issued, Multiprocessor, NoObjects, Options, Order, Outcome, Port, RunError, Spec, Workload,
};
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::stats::Value;
use wireloom_sim::wait_graph::Patience;
use wireloom_sim::{Effort, Time, Timeline};

use super::{machine, shaped, with_lines, with_options};

/// The use of the processors between two times under overload.
fn saturated(spec: &Spec, load: Synthetic) -> f64 {
    let mut machine = machine(&with_lines(spec.clone(), 2.0), load, u64::MAX);
    machine.run(Time::nanoseconds(100_000)).unwrap();
    let before = machine.totals();
    machine.run(Time::nanoseconds(1_100_000)).unwrap();
    machine.usage(&before, &machine.totals())
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} instead of {expected}");
}

#[test]
fn a_pipeline_is_full_with_as_many_ready_threads_as_stages_and_else_as_full_as_there_are() {
    let load = Synthetic { instructions: 1000, accesses: 0 };
    for stages in [1, 4, 7] {
        for threads in [1, 3, 4, 7, 8] {
            let mut spec = shaped(1, threads, 0);
            spec.processor.stages = stages;
            let expected = (f64::from(threads) / f64::from(stages)).min(1.0);
            assert_near(saturated(&spec, load), expected, 0.02);
        }
    }
}

/// The cycles between two packets of a thread that never meets another in the pipeline. An access
/// leaves in the last stage.
fn alone_cycles(load: Synthetic, latency_ns: u64) -> f64 {
    let (round_trip, stages) = (2 * latency_ns / 2, 4);
    let access = stages - 1 + round_trip.max(1);
    // The end goes to the broker before the next packet comes, which takes an additional round
    // trip.
    f64::from(load.instructions - load.accesses) * stages as f64
        + f64::from(load.accesses) * access as f64
        + round_trip as f64
}

#[test]
fn few_threads_are_used_as_work_over_work_and_latency_has_it() {
    for latency_ns in [40, 160] {
        for threads in [1, 2, 4] {
            let expected =
                f64::from(threads * PAPER.instructions) / alone_cycles(PAPER, latency_ns);
            assert_near(saturated(&shaped(1, threads, latency_ns), PAPER), expected, 0.02);
        }
    }
}

#[test]
fn many_threads_hide_any_latency_and_no_number_exceeds_the_bounds() {
    for (threads, latency_ns) in [(8, 40), (16, 80), (32, 160)] {
        let usage = saturated(&shaped(1, threads, latency_ns), PAPER);
        let bound = f64::from(threads * PAPER.instructions) / alone_cycles(PAPER, latency_ns);
        assert!(usage <= bound.min(1.0) + 1e-9, "{usage} of {bound}");
        assert!(usage > 0.9 * bound.min(1.0), "{usage} of {bound}");
    }
}

#[test]
fn a_blocking_processor_works_at_one_thing_at_a_time() {
    let mut spec = shaped(1, 4, 40);
    spec.processor.multithreading = Multithreading::Blocking;
    // An instruction takes one cycle, and each access a round trip of 40 cycles. The next packet is
    // already in another thread.
    let cycles = f64::from(PAPER.instructions - PAPER.accesses + PAPER.accesses * 40);
    assert_near(saturated(&spec, PAPER), f64::from(PAPER.instructions) / cycles, 0.005);
}

#[test]
fn what_can_be_carried_is_carried_in_order() {
    let mut spec = with_lines(shaped(4, 8, 40), 0.5);
    if let InterconnectSpec::Channel(channel) = &mut spec.network {
        channel.jitter = 0.25;
    }
    for policy in [Policy::FirstCome, Policy::RoundRobin, Policy::LeastLoaded] {
        spec.broker.policy = policy;
        let mut machine = machine(&spec, PAPER, 2000);
        machine.run(Time::nanoseconds(10_000_000)).unwrap();
        assert!(machine.is_done());
        let delivered = machine.delivered();
        assert!(delivered.iter().map(|packet| packet.number).eq(0..2000), "{policy:?}");
        assert!(delivered.is_sorted_by_key(|packet| packet.at));
        assert_eq!(machine.totals().lost, 0);
        // Each of 4 processors takes 860 instructions of 2 ns a packet; the line takes 864 ns a
        // packet.
        let use_of_line = 2000.0 * 864.0 / delivered[1999].at.as_nanoseconds();
        assert!(use_of_line > 0.97, "{use_of_line}");
        let Some(Value::Number(first)) =
            machine.record().value("platform.processors.0.use").cloned()
        else {
            panic!()
        };
        assert!(first > 0.4, "no processor is left out with {policy:?}: {first}");
    }
}

#[test]
fn packets_leave_as_they_are_done_if_their_order_is_not_kept() {
    let mut spec = with_lines(shaped(4, 8, 160), 0.5);
    if let InterconnectSpec::Channel(channel) = &mut spec.network {
        channel.jitter = 0.25;
    }
    spec.io.order = Order::Done;
    let mut machine = machine(&spec, PAPER, 500);
    machine.run(Time::nanoseconds(10_000_000)).unwrap();
    let mut numbers: Vec<u64> = machine.delivered().iter().map(|packet| packet.number).collect();
    assert!(!numbers.is_sorted());
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..500));
}

#[test]
fn more_than_can_be_carried_is_dropped_at_the_input() {
    let mut spec = with_lines(shaped(1, 8, 0), 1.0);
    spec.io.input.queue_packets = 16;
    spec.io.packets = 64;
    let mut machine = machine(&spec, PAPER, 4000);
    machine.run(Time::nanoseconds(20_000_000)).unwrap();
    assert!(machine.is_done());
    let totals = machine.totals();
    assert_eq!((totals.taken + totals.lost, totals.done), (4000, totals.taken));
    // 251 of 1,000 Mb/s are carried, and the packets in the machine when the line falls silent.
    assert_near(totals.taken as f64, 4000.0 * 0.2512 + 64.0, 0.06);
    let offered: Vec<u64> = machine.delivered().iter().map(|packet| packet.offered).collect();
    assert!(offered.is_sorted() && offered.len() as u64 == totals.taken);
}

/// Machines with long, short and no run-ahead of processors.
fn machines() -> Vec<Spec> {
    let mut machines = Vec::new();
    for (latency_ns, jitter) in [(0, 0.0), (3, 0.5), (40, 1.0), (80, 0.25), (160, 0.0)] {
        for (multithreading, stages) in [
            (Multithreading::Barrel, 4),
            (Multithreading::Barrel, 1),
            (Multithreading::Blocking, 5),
        ] {
            let mut spec = with_lines(shaped(3, 6, latency_ns), 0.6);
            (spec.processor.multithreading, spec.processor.stages) = (multithreading, stages);
            if let InterconnectSpec::Channel(channel) = &mut spec.network {
                channel.jitter = jitter;
            }
            machines.push(spec);
        }
    }
    for network in NETWORKS {
        let mut spec = with_lines(shaped(3, 6, 0), 0.6);
        spec.network = toml::from_str(network).unwrap_or_else(|error| panic!("{network}: {error}"));
        machines.push(spec);
    }
    machines
}

/// All statistics except the kernel's work, and the number of events.
fn record<W: Workload>(machine: &Multiprocessor<W, NoObjects>) -> String {
    let record = machine.record();
    let keys = ["time", "cycles", "instructions", "use", "kernel_events", "platform"];
    let values =
        keys.map(|key| serde_json::to_string(record.value(key).expect(key)).expect("JSON"));
    values.join("\n")
}

/// The synthetic load with multi-cycle instructions, without run-ahead.
#[derive(Clone, Copy)]
struct Slow(Synthetic);

impl Workload for Slow {
    type Thread = <Synthetic as Workload>::Thread;

    fn thread(&self, number: u32) -> Self::Thread {
        self.0.thread(number)
    }

    fn issue(&self, thread: &mut Self::Thread, port: &mut Port<'_>) -> Issued {
        let place = self.place(thread).len() as u32;
        port.may_be_ahead = false;
        let issued = self.0.issue(thread, port);
        let outcome = match issued.outcome {
            Outcome::Done if place.is_multiple_of(3) => Outcome::Jumped,
            outcome => outcome,
        };
        Issued { cycles: [1, 1, 17, 3][place as usize % 4], outcome }
    }

    fn place(&self, thread: &Self::Thread) -> String {
        self.0.place(thread)
    }
}

#[test]
fn runs_with_one_seed_are_equal_to_the_byte_and_neither_sleep_nor_being_ahead_of_time_changes_anything()
 {
    let load = Synthetic { instructions: 60, accesses: 9 };
    equal_to_the_byte(load);
    equal_to_the_byte(Slow(load));
}

fn equal_to_the_byte(load: impl Workload + Copy) {
    for spec in machines() {
        let run = |seed, effort| {
            let options = Options { seed, effort, ..Options::default() };
            let mut machine = with_options(&spec, load, 60, options);
            // The records also agree at intermediate points, at the edge of a cycle and next to it.
            let mut records = Vec::new();
            for until in [0, 1, 2_000, 7_002, 20_001, 20_003, 10_000_000] {
                machine.run(Time::nanoseconds(until)).unwrap();
                records.push(record(&machine));
            }
            (records, machine.delivered())
        };
        let once = run(1, Effort::Active);
        assert_eq!(once.1.len(), 60);
        assert_eq!(once, run(1, Effort::Active), "{:?}", spec.network);
        assert_eq!(once, run(1, Effort::Naive), "{:?}", spec.network);
        let has_jitter =
            matches!(&spec.network, InterconnectSpec::Channel(channel) if channel.jitter > 0.0);
        assert_eq!(once.1 == run(2, Effort::Active).1, !has_jitter, "{:?}", spec.network);
    }
}

#[test]
fn a_processor_that_nothing_reaches_does_many_cycles_in_one_turn() {
    let turns = |latency_ns, effort| {
        let options = Options { effort, ..Options::default() };
        let load = Synthetic { instructions: 1000, accesses: 0 };
        let mut machine =
            with_options(&with_lines(shaped(1, 8, latency_ns), 2.0), load, u64::MAX, options);
        machine.run(Time::nanoseconds(200_000)).unwrap();
        let Some(Value::Count(turns)) = machine.record().value("kernel_cycles").cloned() else {
            panic!()
        };
        turns
    };
    // The run has 100,000 cycles of 2 ns. 160 ns are 80 cycles, and few messages are in transit.
    let ahead = turns(160, Effort::Active);
    assert!(ahead < 100_000 / 25, "{ahead}");
    assert!(turns(0, Effort::Active) > 95_000);
    assert_eq!(turns(160, Effort::Naive), 100_001);
}

/// Networks other than the channel.
const NETWORKS: [&str; 4] = [
    "kind = 'bus'\nclock_mhz = 500\nwidth_bytes = 16\narbitration_cycles = 1\nlatency_cycles = 1\nqueue_messages = 4",
    "kind = 'crossbar'\nclock_mhz = 500\nwidth_bytes = 16\nlatency_cycles = 2\nqueue_messages = 4",
    "kind = 'ring'\nclock_mhz = 500\nwidth_bytes = 16\nrouter_cycles = 1\nlink_cycles = 1\nslots = 2\nqueue_messages = 4\nboth_ways = true",
    "kind = 'mesh'\nclock_mhz = 500\nwidth_bytes = 16\nrouter_cycles = 1\nlink_cycles = 1\nslots = 2\nqueue_messages = 4\ncolumns = 3\nrows = 3",
];

#[test]
fn every_network_carries_it() {
    let mut usages = Vec::new();
    for network in NETWORKS {
        let mut spec = with_lines(shaped(4, 8, 0), 0.5);
        spec.network = toml::from_str(network).unwrap_or_else(|error| panic!("{network}: {error}"));
        let mut machine = machine(&spec, PAPER, 300);
        machine.run(Time::nanoseconds(10_000_000)).unwrap();
        assert!(machine.is_done(), "{network}");
        assert!(machine.delivered().iter().map(|packet| packet.number).eq(0..300), "{network}");
        usages.push(machine.latency().network_ns);
    }
    // Contenders wait on a bus, not in a crossbar.
    assert!(usages[0] > usages[1], "{usages:?}");
}

/// A load that makes accesses without end and never sends its packet.
struct Endless;

impl Workload for Endless {
    type Thread = bool;

    fn thread(&self, _: u32) -> bool {
        false
    }

    fn issue(&self, has_packet: &mut bool, port: &mut Port<'_>) -> Issued {
        let is_done = if *has_packet { port.probe() } else { port.receive().is_some() };
        *has_packet |= is_done;
        Issued { cycles: 1, outcome: if is_done { Outcome::Done } else { Outcome::Waits } }
    }

    fn place(&self, _: &bool) -> String {
        "its loop".to_owned()
    }
}

#[test]
fn a_machine_that_does_not_get_on_says_who_waits_for_whom() {
    let patience = Patience { busy: Time::nanoseconds(10_000_000), ..Options::default().patience };
    let options = Options { patience, ..Options::default() };
    let mut machine = with_options(&shaped(2, 2, 40), Endless, 100, options);
    let Err(RunError::Stuck(stuck)) = machine.run(Time::nanoseconds(1_000_000_000)) else {
        panic!("not stuck")
    };
    assert!(!stuck.is_silent && stuck.outstanding == 36, "{stuck}");
    let text = stuck.to_string();
    assert!(text.contains("waits for the broker: servers for 32 calls"), "{text}");
    assert!(text.contains("the line waits for packet I/O: packet 0, the next in order"), "{text}");
}

#[test]
fn a_timeline_shows_what_threads_do() {
    let timeline = Timeline::within(Time::ZERO, Time::nanoseconds(50_000), 100_000);
    let options = Options { timeline, ..Options::default() };
    let spec = with_lines(shaped(1, 2, 40), 1.0);
    let mut machine = with_options(&spec, PAPER, 100, options);
    machine.run(Time::nanoseconds(50_000)).unwrap();
    let interval = Time::nanoseconds(50_000);
    let share = |what: &str| {
        let series = machine.timeline().series(interval, |label| label == what);
        let share = series.columns().next().unwrap().1.first().copied().unwrap_or(0.0);
        share / 2.0
    };
    let (runs, waits, idle) = (share("runs"), share("waits"), share("idle"));
    // 108 round trips take 80 ns each, 860 instructions 8 ns each, without the last stage of the
    // instructions that make the round trips.
    assert_near(waits / runs, 108.0 * 80.0 / (860.0 * 8.0 - 108.0 * 2.0), 0.01);
    assert!(idle < 0.03 && runs + waits + idle > 0.98, "{runs} {waits} {idle}");
}
