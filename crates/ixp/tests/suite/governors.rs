//! `demand` never loses more than a bound compared with no governor, over clocks, programs,
//! engines, loads and bursts.

use wireloom_ixp::benchmarks::{Benchmark, Feed, Mapping, Traffic, processor};
use wireloom_ixp::energy::meter;
use wireloom_ixp::governor::{GovernorKind, Step};
use wireloom_ixp::spec::Assignment;
use wireloom_ixp::{Options, Spec};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, Rng, Time};

/// The tolerated loss of throughput of a run, in percent. Under overload, four voltage changes of
/// 10 us are 2 % of its 2 ms, and a failed trial costs up to 2 % more. The rest is the variation
/// from packet lengths in so short a run. Below overload, packets have two more milliseconds to
/// leave: delay does not count here.
const MOST_LOST: f64 = 6.0;

#[derive(Debug)]
struct Case {
    benchmark: Benchmark,
    engines: (usize, usize),
    mhz: u64,
    /// Loads in Gb/s, half a millisecond each; 0 keeps all ports full.
    loads: [f64; 4],
}

fn spec(case: &Case, kind: GovernorKind) -> Spec {
    let mut spec = Spec::base();
    spec.ports.count = 2;
    spec.ports.rate = if case.loads[0] == 0.0 { 10_000_000_000 } else { 1_000_000_000 };
    (spec.ports.pace, spec.ports.receive_mpkts) = (Pace::Given, 128);
    spec.ports.transmit_mpkts = 4096;
    (spec.governor.kind, spec.governor.period_cycles) = (kind, 2048);
    if case.mhz == 600 {
        let steps = [(600, 1300), (550, 1250), (500, 1200), (450, 1150), (400, 1100)];
        let step = |(mhz, millivolts): (u64, u32)| Step {
            clock: Clock::hertz(mhz * 1_000_000),
            millivolts,
        };
        spec.governor.steps = steps.map(step).to_vec();
        spec.engine.clock = spec.governor.steps[0].clock;
        (spec.power.technology.voltage_mv, spec.governor.period_cycles) = (1300, 4096);
    }
    spec
}

/// Returns the MPKTs that were carried, the packets that were lost, and the energy of engines in
/// joules.
fn run(case: &Case, kind: GovernorKind) -> (f64, usize, f64) {
    let spec = spec(case, kind);
    let sizes = Traffic::mix();
    let traffic = Traffic { benchmark: case.benchmark, ports: 2, sizes, seed: 1 };
    let mapping = Mapping::split(case.engines.0, case.engines.1);
    let interval = Some(Time::nanoseconds(100_000));
    let options = Options { energy_interval: interval, ..Options::default() };
    let meter = meter(&spec, None).expect("a meter");
    let chip = processor(&traffic.contents(), &mapping, &spec, &options, meter);
    let mut chip = chip.unwrap_or_else(|error| panic!("{error}"));
    let mut feed = Feed::new(&traffic);
    for gbps in case.loads {
        let time = Time::nanoseconds(500_000);
        let ran = match gbps {
            0.0 => feed.full(&mut chip, time),
            _ => feed.poisson(&mut chip, gbps, time),
        };
        ran.unwrap_or_else(|error| panic!("{error}"));
    }
    if case.loads[0] > 0.0 {
        chip.run(Time::nanoseconds(2_000_000)).unwrap_or_else(|error| panic!("{error}"));
    }
    let [engines, ..] = chip.power().expect("a meter").groups();
    (chip.chip.cards.mpkts() as f64, chip.chip.cards.lost.len(), engines.as_joules())
}

/// All programs, each with several clocks, engines and loads.
fn cases() -> impl Iterator<Item = Case> {
    [
        (Benchmark::Ipfwdr, [[0.0; 4], [0.9; 4], [0.2, 1.2, 0.1, 0.9]]),
        (Benchmark::Url, [[0.0; 4], [0.25; 4], [0.1, 0.3, 0.05, 0.25]]),
        (Benchmark::Nat, [[0.0; 4], [0.9; 4], [0.2, 1.1, 0.1, 0.9]]),
        (Benchmark::Md4, [[0.0; 4], [0.35; 4], [0.1, 0.4, 0.05, 0.3]]),
    ]
    .into_iter()
    .flat_map(|(benchmark, loads)| {
        [((4, 2), 600), ((4, 2), 232), ((3, 1), 600)].map(|chip| (benchmark, chip, loads))
    })
    .flat_map(|(benchmark, (engines, mhz), loads)| {
        loads.map(|loads| Case { benchmark, engines, mhz, loads })
    })
}

#[test]
fn demand_loses_next_to_nothing_over_programs_clocks_engines_loads_and_bursts() {
    // The sample includes every program, clock, number of engines and kind of load.
    loses_next_to_nothing(cases().step_by(11));
}

#[test]
#[ignore = "simulates 72 chips: make test-all"]
fn demand_loses_next_to_nothing_in_all_cases() {
    loses_next_to_nothing(cases());
}

fn loses_next_to_nothing(cases: impl Iterator<Item = Case>) {
    let (mut saved, mut bad) = (Vec::new(), Vec::new());
    for case in cases {
        let before = run(&case, GovernorKind::None);
        let after = run(&case, GovernorKind::Demand);
        let lost = 100.0 * (1.0 - after.0 / before.0);
        saved.push(1.0 - after.2 / before.2);
        if lost >= MOST_LOST || after.1 > before.1 {
            let packets = format!("{} after {} packets", after.1, before.1);
            bad.push(format!("{case:?}: {lost:.2} % lost, {packets}"));
        }
    }
    assert!(bad.is_empty(), "too much is lost: {bad:#?}");
    let mean = saved.iter().sum::<f64>() / saved.len() as f64;
    assert!(mean > 0.2, "it saves {mean}");
}

/// Random loads of a run in Gb/s, alternately low and high.
fn random_loads(seed: u64) -> [f64; 4] {
    let mut rng = Rng::new(seed, "loads");
    let mut draw = |least: f64, most: f64| least + (most - least) * rng.below(100) as f64 / 100.0;
    [draw(0.01, 0.04), draw(0.25, 0.4), draw(0.01, 0.04), draw(0.25, 0.4)]
}

/// The end of a run with 60-byte packets.
struct Ended {
    /// The time at which the last packet left.
    at: Time,
    lost: usize,
    /// The report's time in which a governor held packets up.
    late: Time,
    lost_late: u64,
}

fn ended(kind: GovernorKind, wait_ns: u32, receive_mpkts: u32, loads: [f64; 4]) -> Ended {
    let mut spec = Spec::base();
    (spec.ports.count, spec.ports.rate) = (2, 1_000_000_000);
    (spec.ports.pace, spec.ports.assignment) = (Pace::Given, Assignment::Any);
    (spec.ports.receive_mpkts, spec.ports.transmit_mpkts) = (receive_mpkts, 4096);
    (spec.governor.kind, spec.governor.period_cycles) = (kind, 2048);
    (spec.governor.gating.extra_mpkts, spec.governor.demand.extra_mpkts) = (0, 0);
    spec.governor.wait_ns = wait_ns;
    let sizes = vec![(60, 1)];
    let traffic = Traffic { benchmark: Benchmark::Md4, ports: 2, sizes, seed: 7 };
    let mapping = Mapping::split(4, 2);
    let chip = processor(&traffic.contents(), &mapping, &spec, &Options::default(), ());
    let mut chip = chip.unwrap_or_else(|error| panic!("{error}"));
    let mut feed = Feed::new(&traffic);
    for gbps in loads {
        let ran = feed.poisson(&mut chip, gbps, Time::nanoseconds(400_000));
        ran.unwrap_or_else(|error| panic!("{error}"));
    }
    chip.run_packets(0).unwrap_or_else(|error| panic!("{error}"));
    let did = chip.chip.control.did;
    Ended {
        at: chip.delivered().iter().map(|packet| packet.at).max().expect("packets leave"),
        lost: chip.chip.cards.lost.len(),
        late: did.late,
        lost_late: did.lost,
    }
}

/// At random loads and with ports of any size, the last packet leaves hardly later with a governor
/// than without, and no further packet is lost, beyond the delays and losses that the report
/// attributes to the governor.
#[test]
fn no_governor_ends_a_run_late_or_loses_packets_without_saying_so() {
    let wait_ns = Spec::base().governor.wait_ns;
    // Once a packet has waited too long, an engine starts in each period.
    let wait = Time::nanoseconds(wait_ns.into()) + Clock::hertz(232_000_000).cycles(4 * 2048);
    for (seed, receive_mpkts) in [(1, 64), (2, 192), (3, 4096)] {
        let loads = random_loads(seed);
        let none = ended(GovernorKind::None, wait_ns, receive_mpkts, loads);
        assert_eq!((none.late, none.lost_late), (Time::ZERO, 0));
        let bound = none.at + wait + Time(none.at.0 / 20);
        for kind in [GovernorKind::Gating, GovernorKind::Demand, GovernorKind::Dvs] {
            let its = ended(kind, wait_ns, receive_mpkts, loads);
            let name = format!("{kind:?}, ports of {receive_mpkts}, {loads:?}");
            // Slow engines may end later, by at most the time for which the report says that
            // packets were held up.
            let late = if kind == GovernorKind::Gating { Time::ZERO } else { its.late };
            assert!(
                its.at <= bound + late,
                "{name}: {:?}, then {:?}, late for {late:?}",
                none.at,
                its.at
            );
            let lost = its.lost.saturating_sub(none.lost) as u64;
            assert!(lost <= its.lost_late, "{name}: {lost} lost, {} said", its.lost_late);
        }
        if receive_mpkts == 4096 {
            // A port that never fills does not start engines by itself.
            let deaf = ended(GovernorKind::Gating, 10_000_000, receive_mpkts, loads);
            assert!(deaf.at > bound, "{:?}, then {:?}", none.at, deaf.at);
        }
    }
}
