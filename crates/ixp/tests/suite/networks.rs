//! Checks command networks, channels, clusters and the media switch fabric against closed forms:
//! the sum of latencies for one thread, and the bound of the slowest part and Little's law for
//! many.

use crate::support::*;
use wireloom_isa::microengine::{
    AluOperation, Condition, Instruction, Operation, Shift, Source, Unit,
};
use wireloom_ixp::network::NetworkKind;
use wireloom_ixp::trace::What;
use wireloom_ixp::{Options, Processor, Program, Spec, assertions};

/// A machine of version 2 with changes.
fn second(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = Spec::installed("ixp2400").expect("a machine");
    (spec.sram.bytes, spec.sdram.bytes) = (1 << 18, 1 << 20);
    spec.sdram.refresh_interval_cycles = 0;
    change(&mut spec);
    spec.check().expect("in range");
    spec
}

/// The cycles from issue to signal of a read of `count` granules by an engine, and the links that
/// the command uses.
fn latency(spec: &Spec, engine: usize, unit: Unit, address: u32, count: u8) -> (u64, u64) {
    let read = command(unit, Operation::Read, a(0), count);
    let code = vec![immed(to_a(0), address), Instruction::Command(read), kill()];
    let mut programs = vec![(Program::default(), 0); engine];
    programs.push((program(code), 1));
    let options = Options { trace_events: 1000, ..Options::default() };
    let mut machine = Processor::new(spec, programs, &options).expect("a machine");
    machine.run_cycles(2_000).expect("it runs");
    let at = |what| {
        let mut events = machine.chip.trace.events().iter();
        events.find(|event| event.what == what).expect("the event").cycle
    };
    (at(What::Done) - at(What::Issue), machine.chip.network.hops)
}

#[test]
fn one_thread_takes_the_sum_of_the_latencies_on_every_network() {
    let mut configurations = 0;
    for (kind, _) in NetworkKind::ALL {
        for (channels, clusters, hop) in [(1, 1, 1), (2, 2, 3), (4, 4, 2), (4, 1, 7)] {
            let spec = second(|spec| {
                (spec.sram.channels, spec.sdram.channels) = (channels, channels);
                (spec.clusters, spec.command_bus.hop_cycles) = (clusters, hop);
                (spec.command_bus.kind, spec.sram_bus.words_per_cycle) = (kind, 1);
            });
            let push = u64::from(spec.sram_bus.push_cycles);
            for engine in [0, 3, 7] {
                let mut check = |unit, address, access: u32, words: u64, push: u64| {
                    let count = words as u8;
                    let (found, hops) = latency(&spec, engine, unit, address, count);
                    let links = match kind {
                        NetworkKind::Bus | NetworkKind::Crossbar => 0,
                        NetworkKind::Ring | NetworkKind::Mesh => hops * u64::from(hop),
                    };
                    let way = 1 + u64::from(spec.command_bus.latency_cycles) + links;
                    let interval = match unit {
                        Unit::Sram => spec.sram.word_cycles,
                        Unit::Sdram => spec.sdram.quad_cycles,
                        Unit::Msf => spec.msf.word_cycles,
                        _ => spec.scratch.word_cycles,
                    };
                    let data = (words - 1) * u64::from(interval);
                    let expected = way + u64::from(access) + data + push;
                    assert_eq!(found, expected, "{kind:?} {unit:?} {address} {clusters} {engine}");
                    configurations += 1;
                };
                for channel in 0..channels {
                    let address = channel * spec.sram.interleave_bytes;
                    check(Unit::Sram, address, spec.sram.access_cycles, 4, push);
                    let access = spec.sdram.access_cycles + spec.sdram.activate_cycles;
                    let push = u64::from(spec.sdram_bus.push_cycles);
                    check(Unit::Sdram, address, access, 3, push);
                }
                check(Unit::Scratch, 64, spec.scratch.access_cycles, 2, push);
                check(Unit::Msf, 0x2000, spec.msf.access_cycles, 5, push);
            }
        }
    }
    assert!(configurations >= 200, "{configurations}");
}

const CYCLES: u64 = 6_000;

/// All contexts read a word of SRAM in a loop; successive contexts use successive channels. Returns
/// commands in a cycle, the mean number of commands in flight from the trace, the mean number of
/// waiting contexts from the engines, and the share of all links in use.
fn load(spec: &Spec) -> (f64, f64, f64, f64) {
    let step = spec.sram.interleave_bytes;
    let programs = (0..spec.engines).map(|engine| {
        let read = command(Unit::Sram, Operation::Read, a(1), 1);
        let read = wireloom_isa::microengine::Command { b: b(0), ..read };
        let context = Instruction::AluShift {
            destination: to_b(0),
            a: Source::None,
            operation: AluOperation::B,
            b: a(0),
            shift: Shift::Left(step.trailing_zeros() as u8),
        };
        let code = vec![
            Instruction::LocalCsrRead { csr: 0 },
            immed(to_a(0), 0),
            context,
            immed(to_a(1), 8 * engine * step),
            Instruction::Command(read),
            br(Condition::Always, 4, 0),
        ];
        (program(code), 0xff)
    });
    let options = Options { trace_events: 1 << 20, ..Options::default() };
    let programs = programs.collect();
    let mut machine = Processor::new(spec, programs, &options).expect("a machine");
    machine.run_cycles(CYCLES).expect("it runs");
    let trace = &machine.chip.trace;
    assert_eq!(assertions::check(&assertions::rules(), trace, false), []);
    let sum = |what| {
        let times = trace.events().iter().filter(|event| event.what == what);
        times.map(|event| event.cycle).fold((0, 0), |(n, sum), cycle| (n + 1_u64, sum + cycle))
    };
    let (issued, issue_times) = sum(What::Issue);
    let (done, done_times) = sum(What::Done);
    let time = done_times + (issued - done) * CYCLES - issue_times;
    // Engines count their own cycles, which have another clock.
    let ratio = spec.engine.clock.rate() / spec.core.clock.rate();
    let mut waiting = 0;
    for (number, engine) in machine.chip.engines.iter().enumerate() {
        let now = engine.cycles() + machine.sleeping(number);
        waiting +=
            engine.contexts().iter().map(|context| context.waited_until(now)[0]).sum::<u64>();
    }
    let links = 4 * (spec.engines + spec.targets());
    let used = machine.chip.network.hops * u64::from(spec.command_bus.interval_cycles);
    (
        done as f64 / CYCLES as f64,
        time as f64 / CYCLES as f64,
        waiting as f64 / ratio / CYCLES as f64,
        used as f64 / (CYCLES * u64::from(links)) as f64,
    )
}

#[test]
fn many_threads_reach_the_bound_of_channels_and_networks_and_no_more() {
    let mut configurations = 0;
    for (kind, _) in NetworkKind::ALL {
        for (channels, clusters) in [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)] {
            for (interval, word) in [(1, 2), (1, 9), (6, 1)] {
                let spec = second(|spec| {
                    (spec.sram.channels, spec.clusters) = (channels, clusters);
                    spec.sram.word_cycles = word;
                    (spec.command_bus.kind, spec.command_bus.interval_cycles) = (kind, interval);
                });
                let (rate, law, waiting, links) = load(&spec);
                let what = format!("{kind:?}, {channels} channels, {clusters}, {interval}, {word}");
                let (channels, word) = (f64::from(channels), f64::from(word));
                let network = match kind {
                    NetworkKind::Bus => f64::from(clusters) / f64::from(interval),
                    NetworkKind::Crossbar => channels / f64::from(interval),
                    // Each engine has one link in each direction.
                    NetworkKind::Ring | NetworkKind::Mesh => {
                        4.0 * f64::from(spec.engines) / f64::from(interval)
                    }
                };
                let alone = 1.0
                    + f64::from(spec.command_bus.latency_cycles)
                    + f64::from(spec.sram.access_cycles)
                    + f64::from(spec.sram_bus.push_cycles);
                let bound = (channels / word).min(network).min(f64::from(clusters));
                let bound = bound.min(f64::from(8 * spec.engines) / alone);
                assert!(rate <= bound * 1.001, "{what}: {rate} of {bound}");
                assert!(links <= 1.0, "{what}: {links}");
                // Where threads could issue far more, the slowest part is the limit.
                let is_single = matches!(kind, NetworkKind::Bus | NetworkKind::Crossbar);
                if is_single && f64::from(8 * spec.engines) / (alone + 10.0) > 1.6 * bound {
                    assert!(rate >= bound * 0.95, "{what}: {rate} of {bound}");
                }
                // Little's law: commands in a cycle times cycles of a command.
                assert!(
                    (waiting - law).abs() <= 0.05 * law + 2.0 * rate,
                    "{what}: {law} {waiting}"
                );
                configurations += 1;
            }
        }
    }
    assert_eq!(configurations, 60);
}
