//! Times that end at ticks: steps that run for keys, on every machine that has them.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use wireloom_fuzz::campaign::case_of;
use wireloom_fuzz::generate::Uses;
use wireloom_fuzz::input::{Event, Input};
use wireloom_fuzz::shrink::Case;
use wireloom_ir::{Execute, Golden, MOST_TICKS, Output, TIMERS, Verdict};
use wireloom_machine::{
    Configured, Contender, Machine, Options, Program, Rate, differences, golden,
};
use wireloom_machines::REGISTRY;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{KINDS, Update};

use super::{deep, empty, frames, options, start};
use crate::conformance::features::compiled;

/// Machines that run programs with such steps.
fn machines() -> impl Iterator<Item = Arc<dyn Configured>> {
    let all = REGISTRY.kinds().map(|kind| REGISTRY.find(kind.example()).expect("an example"));
    all.filter(|machine| machine.refusals(&heartbeat()).is_empty())
}

/// A timer that sets itself again, once a millisecond, and sends a packet with its time.
fn heartbeat() -> Program {
    let text = "
header Time { u64 ns; };
engine heartbeat() {
    offload beats : timer<u8, size = 4>;
    Time time @ 0;
    step begin {
        beats.set(packet.ingress[7:0], 1000000);
        finish;
    }
    step beat on beats(u8 key) {
        packet.reset(8);
        time.ns = packet.arrival;
        packet.egress = key;
        beats.set(key, 1000000);
        finish;
    }
}
";
    compiled("heartbeat.loom", text)
}

fn packet(ingress: u16, arrival_ns: u64) -> Packet {
    Packet { ingress, arrival_ns, bytes: vec![0; 60] }
}

/// Returns the sequence number, the port and the time in the packet of each output.
fn outputs(machine: &mut dyn Machine, packets: &[Packet]) -> Vec<(u64, u16, u64)> {
    let mut all = Vec::new();
    let mut keep = |output: Output<'_>| {
        let Verdict::Sent { port } = output.verdict else { panic!("{:?}", output.verdict) };
        let time = <[u8; 8]>::try_from(&output.bytes[..8]).expect("eight bytes");
        all.push((output.sequence, port, u64::from_be_bytes(time)));
    };
    machine.offer(&frames(packets), &mut keep).expect("it works");
    machine.finish(&mut keep).expect("it works");
    all
}

#[test]
fn machines_without_a_pipeline_have_times() {
    let names: BTreeSet<String> = machines().map(|machine| machine.name().to_owned()).collect();
    let all = ["golden", "native", "mpsoc-oc48", "np-1-2-2", "ixp1200", "raw-1"];
    assert_eq!(names, all.map(str::to_owned).into());
}

#[test]
fn timers_run_before_the_first_packet_at_their_tick_or_after() {
    for machine in machines() {
        let program = heartbeat();
        let mut running = start(&machine, &program, empty(&program));
        // Packets of one port keep their order on every machine.
        let sent = [(7, 0), (3, 999_999), (5, 2_000_000), (5, 2_000_000), (5, 1_500_000)];
        let packets: Vec<Packet> = sent.iter().map(|(port, at)| packet(*port, *at)).collect();
        let all = outputs(running.as_mut(), &packets);
        let (timer, ms) = (|number: u64| TIMERS + number, 1_000_000);
        let expected = vec![
            (0, 0, 0),
            // Set at 0 and due at 1 ms.
            (1, 0, 0),
            (timer(0), 7, ms),
            // Set at 0.999999 ms and at 1 ms: both are due at 2 ms, in the order of keys.
            (timer(1), 3, 2 * ms),
            (timer(2), 7, 2 * ms),
            (2, 0, 0),
            (3, 0, 0),
            // It comes late: at 2 ms of engine time.
            (4, 0, 0),
        ];
        assert_eq!(all, expected, "{}", machine.name());
        let mut last = Vec::new();
        let keep = &mut |output: Output<'_>| last.push((output.sequence, output.arrival_ns));
        running.advance_to(3 * ms, keep).expect("it works");
        let due = [3, 4, 5].map(|number| (timer(number), 3 * ms));
        assert_eq!(last, due, "{}: 3, 5 and 7", machine.name());
        assert_eq!(running.next_timer(), Some(4 * ms));
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_timer_that_sets_itself_again_ends_when_time_stamps_are_years_apart() {
    let program = heartbeat();
    let years = 10 * 365 * 86_400_000_000_000;
    // A simulated machine takes minutes for a million ticks.
    let others = machines().filter(|machine| !machine.capabilities().times);
    for machine in others.filter(|machine| machine.name() != "golden") {
        let name = machine.name().to_owned();
        let contender = Contender::new(machine, &program, &empty(&program), &options(), &|_| ());
        let mut contender = contender.unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let mut beats = 0;
        let mut count = |output: Output<'_>| beats += u64::from(output.sequence >= TIMERS);
        let packets = [packet(1, 0), packet(1, years), packet(2, years + 10)];
        let program = &program.optimised;
        contender.offer(program, &frames(&packets), &mut count).expect("it works");
        contender.finish(program, &mut count).expect("it works");
        contender.compare_state(&|_| ()).expect("it works");
        assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
        assert_eq!(beats, u64::from(MOST_TICKS) + 1, "{name}");
    }
    let mut golden = start(&golden::machine(), &program, empty(&program));
    outputs(golden.as_mut(), &[packet(1, 0), packet(1, u64::MAX)]);
}

/// Microengines of both versions.
fn microengines() -> Vec<Arc<dyn Configured>> {
    ["ixp1200", "ixp2400"].map(deep).into()
}

/// One tile, and many tiles.
fn tiles() -> Vec<Arc<dyn Configured>> {
    ["raw-1", "raw-rows"].map(|name| REGISTRY.find(name).expect("a machine")).into()
}

/// A machine beside golden, on its way through random logs.
struct Trial<'a> {
    contender: Contender,
    optimised: &'a wireloom_ir::Program,
    /// What a failure is about: seed and machine.
    about: String,
    text: String,
    /// The number of outputs of timers.
    timers: u64,
}

impl Trial<'_> {
    /// Passes a log to both machines: packets, changes by the control plane, and times.
    fn follow(&mut self, input: &Input) {
        let mut done = 0;
        for (number, (at, event)) in input.events.iter().enumerate() {
            let at = (*at).clamp(done, input.packets.len());
            self.offer(&input.packets[done..at]);
            done = at;
            let (path, key, value) = match event {
                Event::Advance(time_ns) => {
                    self.advance_to(*time_ns);
                    continue;
                }
                Event::Write(path, entry) => (path, entry.key.clone(), Some(entry.value.clone())),
                Event::Remove(path, key) => (path, key.clone(), None),
            };
            self.settle(|| format!("at {at}, before {number} {event:?}"));
            let update = Update { packet: 0, offload: path.clone(), key, value, line: 0 };
            // Both machines refuse the same changes.
            let _ = self.contender.update(self.optimised, &update, &mut |_| ());
        }
        self.offer(&input.packets[done..]);
        self.settle(|| "at the end".to_owned());
    }

    fn offer(&mut self, packets: &[Packet]) {
        // The lines of ixp carry no packet without bytes.
        let packets = packets.iter().filter(|packet| !packet.bytes.is_empty());
        let frames: Vec<Frame<'_>> = packets.map(Packet::frame).collect();
        let mut count = |output: Output<'_>| self.timers += u64::from(output.sequence >= TIMERS);
        let worked = self.contender.offer(self.optimised, &frames, &mut count);
        worked.unwrap_or_else(|error| panic!("{}: {}", self.about, error.message));
    }

    fn advance_to(&mut self, time_ns: u64) {
        let mut count = |output: Output<'_>| self.timers += u64::from(output.sequence >= TIMERS);
        let worked = self.contender.advance_to(self.optimised, time_ns, &mut count);
        worked.unwrap_or_else(|error| panic!("{}: {}", self.about, error.message));
    }

    /// Lets the machine finish, and compares the state of its offloads.
    fn settle(&mut self, place: impl Fn() -> String) {
        let mut count = |output: Output<'_>| self.timers += u64::from(output.sequence >= TIMERS);
        let finished = self.contender.finish(self.optimised, &mut count);
        let compared = finished.and_then(|()| self.contender.compare_state(&|_| ()));
        compared.unwrap_or_else(|error| panic!("{} {}: {}", self.about, place(), error.message));
        let difference = &self.contender.difference;
        let (about, text) = (&self.about, &self.text);
        assert!(difference.is_none(), "{about} {}: {difference:?}\n{text}", place());
    }
}

/// The logs of a program on each machine: the first is long, the others are short.
const LOGS: u64 = 5;
const MANY_LOGS: u64 = 100;

/// Passes `logs` random logs, one after the other, to a machine and to golden. Returns the number of
/// outputs of timers, or why the machine refuses the program.
fn follow_logs(
    machine: &Arc<dyn Configured>,
    (case, program): (&Case, &Program),
    seed: u64,
    logs: u64,
) -> Result<u64, String> {
    let about = format!("{seed} on {}", machine.name());
    if let Some(refusal) = machine.refusals(program).into_iter().next() {
        return Err(format!("{about}: {}", refusal.message));
    }
    let mut store = empty(program);
    case.input.load(&mut store);
    // It pays to optimise a model that runs many logs.
    let options = Options { is_short: logs < MANY_LOGS, ..options() };
    let contender = Contender::new(Arc::clone(machine), program, &store, &options, &|_| ());
    let contender = contender.unwrap_or_else(|error| panic!("{about}: {}", error.message));
    let (optimised, text) = (&program.optimised, case.program.text());
    let mut trial = Trial { contender, optimised, about, text, timers: 0 };
    trial.follow(&case.input);
    let mut now = case.input.end_ns();
    for log in 1..logs {
        let input = Input::sequel(&program.lowered, seed * 1_000 + log, now);
        now = now.max(input.end_ns());
        trial.follow(&input);
    }
    Ok(trial.timers)
}

#[test]
fn random_programs_with_times_agree() {
    let chips: Vec<_> = microengines().into_iter().chain(tiles()).collect();
    compare_on_chips(&chips, 0..2, LOGS);
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn ten_thousand_logs_with_times_agree_on_microengines() {
    assert!(compare_on_chips(&microengines(), 100..180, MANY_LOGS) >= 10_000);
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn ten_thousand_logs_with_times_agree_on_tiles() {
    assert!(compare_on_chips(&tiles(), 200..290, MANY_LOGS) >= 10_000);
}

/// Compares random programs with timers and entries that end at ticks, whose tables change and
/// whose time advances between packets. Returns the number of logs. `WIRELOOM_TIMES=FIRST..END`
/// replaces the seeds.
fn compare_on_chips(chips: &[Arc<dyn Configured>], seeds: Range<u64>, logs: u64) -> u64 {
    let chosen = std::env::var("WIRELOOM_TIMES").ok().map(|seeds| {
        let (first, end) = seeds.split_once("..").expect("FIRST..END");
        first.parse().expect("a number")..end.parse().expect("a number")
    });
    let (mut agreed, mut timers, mut refused) = (0, 0, Vec::new());
    for seed in chosen.unwrap_or(seeds) {
        let kinds = KINDS.iter().map(|kind| kind.name);
        let kinds = kinds.filter(|kind| !["aes", "stream"].contains(kind)).collect();
        let (case, compiled) = case_of(seed, Uses { kinds, ..Uses::default() });
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
        if !case.program.text().contains("tick = ") {
            continue;
        }
        for machine in chips {
            match follow_logs(machine, (&case, &program), seed, logs) {
                Ok(ran) => (agreed, timers) = (agreed + logs, timers + ran),
                Err(why) => refused.push(why),
            }
        }
    }
    eprintln!("{agreed} logs agreed with {timers} timers, refused were\n{}", refused.join("\n"));
    assert!(timers > 10, "{timers} outputs of timers");
    assert!(agreed > refused.len() as u64 * logs, "most programs are refused");
    agreed
}

/// Each packet sets a timer for its own number, so that hundreds are due at a tick. Each timer sets
/// itself once more, counts, and sends what it has drawn.
const BURSTS: &str = "
header Ask { u16 number; u32 drawn; u32 seen; };
struct Kept { u32 drawn; };
engine bursts() {
    offload later : timer<u16, size = 512>;
    offload kept : exact<u16, Kept, size = 300, age = 3000000, tick = 1000000>;
    offload seen : exact<u16, Kept, size = 64, age = 400000, tick = 100000>;
    offload draws : random;
    offload now : clock;
    Ask ask @ 0;
    step take {
        ask.drawn = draws.next(0);
        ask.seen = (u32)now.now();
        later.set(ask.number, 700000 + (u64)ask.number[3:0] * 400000);
        kept.insert(ask.number, { ask.drawn });
        auto made = seen.insert(ask.number, { ask.seen });
        packet.egress = made.ok ? (u16)1 : (u16)4;
        finish;
    }
    step again on later(u16 number) {
        packet.reset(64);
        ask.number = number;
        ask.drawn = draws.next(0);
        ask.seen = (u32)now.now();
        if (kept.keep(number, 2000000)) later.set(number, 500000);
        packet.egress = 2;
        finish;
    }
    step gone on kept(u16 number, Kept was) {
        packet.reset(64);
        ask.number = number;
        ask.drawn = was.drawn;
        packet.egress = 3;
        finish;
    }
}
";

/// Bursts of 100 packets, two thirds of a millisecond apart. Some packets have an earlier time than
/// those before them.
fn bursts() -> Vec<Packet> {
    let packet = |number: u16| {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        let burst = u64::from(number / 100) * 666_000 + 1_000_000_000;
        let back = if number % 7 == 3 { 40_000 } else { 0 };
        Packet { ingress: number % 4, arrival_ns: burst + u64::from(number) - back, bytes }
    };
    (0..600).map(packet).collect()
}

#[test]
#[ignore = "takes long: make test-all"]
fn timers_fall_between_the_packets_that_hardware_does_not_lose() {
    let machine = REGISTRY.find("np-1-2-2").expect("a network processor");
    let program = compiled("bursts.loom", BURSTS);
    let packets = bursts();
    let paced = Options { rate: Some(Rate::Mpps(40.0)), buffer: Some(2), ..options() };
    for (options, loses) in [(options(), false), (paced, true)] {
        let contender =
            Contender::new(Arc::clone(&machine), &program, &empty(&program), &options, &|_| ());
        let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
        let mut timers = 0;
        let mut count = |output: Output<'_>| timers += u64::from(output.sequence >= TIMERS);
        for lot in packets.chunks(190) {
            contender.offer(&program.optimised, &frames(lot), &mut count).expect("it works");
        }
        let end_ns = packets.last().map_or(0, |packet| packet.arrival_ns) + 20_000_000;
        contender.advance_to(&program.optimised, end_ns, &mut count).expect("it works");
        contender.finish(&program.optimised, &mut count).expect("it works");
        contender.compare_state(&|_| ()).expect("it works");
        assert!(contender.difference.is_none(), "{:?}", contender.difference);
        assert_eq!(contender.compared < 550, loses, "{} of 600", contender.compared);
        assert!(timers > contender.compared, "{timers} of {}", contender.compared);
        let next = contender.machine.machine.next_timer();
        assert_eq!(next, contender.golden.machine.next_timer());
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn hardware_goes_on_with_the_times_of_a_snapshot() {
    // The random numbers of a restored machine begin anew.
    let program = compiled("bursts.loom", &BURSTS.replace("draws.next(0)", "(u32)ask.number"));
    let packets = bursts();
    let (before, after) = packets.split_at(350);
    let end_ns = packets.last().map_or(0, |packet| packet.arrival_ns) + 2_000_000;
    let run = |machine: &mut dyn Machine, packets: &[Packet]| {
        let mut all = Vec::new();
        let mut keep = |output: Output<'_>| {
            all.push((output.arrival_ns, output.ingress, output.verdict, output.bytes.to_vec()));
        };
        machine.offer(&frames(packets), &mut keep).expect("it works");
        machine.advance_to(end_ns, &mut keep).expect("it works");
        machine.finish(&mut keep).expect("it works");
        all
    };
    let mut golden = start(&golden::machine(), &program, empty(&program));
    golden.offer(&frames(before), &mut |_| ()).expect("it works");
    let snapshot = golden.snapshot().expect("a snapshot");
    let machine = REGISTRY.find("np-1-2-2").expect("a network processor");
    let mut hardware = start(&machine, &program, empty(&program));
    hardware.restore(&snapshot).expect("a snapshot of the same program");
    let (expected, got) = (run(golden.as_mut(), after), run(hardware.as_mut(), after));
    let timers = expected.iter().filter(|(_, ingress, ..)| *ingress == u16::MAX).count();
    assert!(timers > 200, "{timers} timers");
    assert_eq!(got.len(), expected.len());
    got.iter().zip(&expected).for_each(|(got, expected)| assert_eq!(got, expected));
    hardware.snapshot().expect("a snapshot");
    assert!(differences(golden.store(), hardware.store()).is_empty());
}

/// Returns the number of packets that timers send, drop or hand to the control processor on golden.
fn timers_on_golden(program: &Program, case: &Case) -> u64 {
    let mut store = empty(program);
    case.input.load(&mut store);
    let (mut golden, timers) = (Golden::new(program.optimised.clone(), store), Cell::new(0));
    let count =
        |output: Output<'_>| timers.set(timers.get() + u64::from(output.sequence >= TIMERS));
    case.input.replay(
        &mut golden,
        |golden, packets| golden.execute(packets, &mut { count }),
        |golden, change| change(golden.store_mut()),
        |golden, time_ns| golden.advance_to(time_ns, &mut { count }),
    );
    timers.get()
}

/// Compares `wanted` random programs whose timers run on a network processor, from a seed on.
fn compare_in_hardware(first: u64, wanted: u64, logs: u64) {
    let machine = REGISTRY.find("np-1-2-2").expect("a network processor");
    let (mut agreed, mut all, mut refused) = (0, 0, Vec::new());
    for seed in first.. {
        let kinds = vec!["timer", "exact", "clock", "random", "counter", "array", "hash"];
        let uses = Uses { kinds, engines: false, ..Uses::default() };
        let (case, compiled) = case_of(seed, uses);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
        // A model takes long to build, so it is worth while for programs with timers only.
        if timers_on_golden(&program, &case) == 0 {
            continue;
        }
        match follow_logs(&machine, (&case, &program), seed, logs) {
            Ok(ran) => (agreed, all) = (agreed + 1, all + ran),
            Err(why) => refused.push(why),
        }
        if agreed == wanted {
            break;
        }
    }
    let agreed = agreed * logs;
    eprintln!("{agreed} logs agreed with {all} timers, refused were\n{}", refused.join("\n"));
}

#[test]
fn random_programs_with_timers_do_in_hardware_what_they_do_on_golden() {
    compare_in_hardware(0, 1, LOGS);
}

#[test]
#[ignore = "builds many models and runs ten thousand logs: make test-all"]
fn more_random_programs_with_timers_do_in_hardware_what_they_do_on_golden() {
    compare_in_hardware(100, 20, 500);
}
