//! `demand` never loses more than a bound against no governor, over clocks, programs, engines,
//! loads and bursts.

use wireloom_ixp::benchmarks::{Benchmark, Feed, Mapping, Traffic, processor};
use wireloom_ixp::energy::meter;
use wireloom_ixp::governor::{GovernorKind, Step};
use wireloom_ixp::{Options, Spec};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, Time};

/// What a run may lose of its throughput, in percent. Under overload four changes of voltage of
/// 10 us are 2 % of its 2 ms, and a trial that fails costs up to 2 % more; the rest is what lengths of
/// packets make so short a run vary by. Below it, packets have two milliseconds more to
/// leave: delay does not count here.
const MOST_LOST: f64 = 6.0;

struct Case {
    benchmark: Benchmark,
    engines: (usize, usize),
    mhz: u64,
    /// Gb/s that follow one another, half a millisecond each; 0 keeps all ports filled.
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

/// MPKTs that were carried, packets that were lost, and the energy of engines in joules.
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

#[test]
fn demand_loses_next_to_nothing_over_programs_clocks_engines_loads_and_bursts() {
    let (mut saved, mut bad) = (Vec::new(), Vec::new());
    for (benchmark, loads) in [
        (Benchmark::Ipfwdr, [[0.0; 4], [0.9; 4], [0.2, 1.2, 0.1, 0.9]]),
        (Benchmark::Url, [[0.0; 4], [0.25; 4], [0.1, 0.3, 0.05, 0.25]]),
        (Benchmark::Nat, [[0.0; 4], [0.9; 4], [0.2, 1.1, 0.1, 0.9]]),
        (Benchmark::Md4, [[0.0; 4], [0.35; 4], [0.1, 0.4, 0.05, 0.3]]),
    ] {
        for (engines, mhz) in [((4, 2), 600), ((4, 2), 232), ((3, 1), 600)] {
            for loads in loads {
                let case = Case { benchmark, engines, mhz, loads };
                let before = run(&case, GovernorKind::None);
                let after = run(&case, GovernorKind::Demand);
                let lost = 100.0 * (1.0 - after.0 / before.0);
                let name = format!("{} {engines:?} {mhz} MHz {loads:?}", benchmark.name());
                saved.push(1.0 - after.2 / before.2);
                eprintln!(
                    "{name}: {lost:.2} % lost, {} after {} packets, {:.1} % saved",
                    after.1,
                    before.1,
                    100.0 * saved.last().expect("one")
                );
                if lost >= MOST_LOST || after.1 > before.1 {
                    bad.push(name);
                }
            }
        }
    }
    assert!(bad.is_empty(), "too much is lost: {bad:#?}");
    let mean = saved.iter().sum::<f64>() / saved.len() as f64;
    assert!(mean > 0.2, "it saves {mean}");
}
