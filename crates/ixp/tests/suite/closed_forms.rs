//! Checks the simulator against closed forms. One thread takes the sum of the latencies on its
//! path, many threads reach the bound of the slowest bus or memory and no more, and Little's law
//! relates both.

use crate::support::*;
use wireloom_isa::microengine::{BitOperation, Condition, Instruction, Operation, Source, Unit};
use wireloom_ixp::trace::What;
use wireloom_ixp::{Options, Processor, Spec};

/// Machines that differ in every latency and width.
fn variants() -> Vec<Spec> {
    (0..12_u32)
        .map(|variant| {
            spec(|spec| {
                spec.engines = 1;
                spec.sdram.refresh_interval_cycles = 0;
                spec.command_bus.latency_cycles = 1 + variant % 5;
                spec.sram_bus.push_cycles = 1 + variant % 3;
                spec.sram_bus.pull_cycles = 1 + variant / 2 % 4;
                spec.sdram_bus.push_cycles = 1 + variant % 4;
                spec.sdram_bus.pull_cycles = 1 + variant % 2;
                spec.sram.access_cycles = 3 + 2 * variant;
                spec.sram.write_cycles = 1 + variant % 7;
                spec.sram.word_cycles = 1 + variant % 3;
                spec.sdram.access_cycles = 12 + 3 * variant;
                spec.sdram.activate_cycles = 5 + variant % 6;
                spec.sdram.precharge_cycles = 4 + variant % 3;
                spec.sdram.write_cycles = 2 + variant % 5;
                spec.sdram.quad_cycles = 1 + variant % 4;
                spec.scratch.access_cycles = 1 + variant;
                spec.scratch.write_cycles = 1 + variant % 3;
                spec.scratch.word_cycles = 1 + variant % 2;
                spec.scratch.modify_cycles = variant % 3;
                spec.hash.front_cycles = 2 + variant % 3;
                spec.hash.back_cycles = 2 + variant / 3 % 3;
                spec.hash.step_bits = [8, 12, 16][variant as usize % 3];
                spec.fbi.access_cycles = 2 + variant;
                spec.fbi.write_cycles = 1 + variant % 4;
            })
        })
        .collect()
}

/// The cycles from issue to signal of commands that a context issues one after another.
fn latencies(spec: &Spec, commands: &[(u32, wireloom_isa::microengine::Command)]) -> Vec<u64> {
    let mut code = Vec::new();
    for (address, command) in commands {
        let command = wireloom_isa::microengine::Command { a: a(0), ..*command };
        code.extend([immed(to_a(0), *address), Instruction::Command(command)]);
    }
    code.push(kill());
    let options = Options { trace_events: 10_000, ..Options::default() };
    let programs = vec![(program(code), 1)];
    let mut machine = Processor::new(spec, programs, &options).expect("a machine");
    machine.run_cycles(20_000).expect("it runs");
    let times = |what| {
        let events = machine.chip.trace.events().iter().filter(move |event| event.what == what);
        events.map(|event| event.cycle)
    };
    let latencies: Vec<u64> =
        times(What::Issue).zip(times(What::Done)).map(|(issue, done)| done - issue).collect();
    assert_eq!(latencies.len(), commands.len(), "every command is answered");
    latencies
}

#[test]
fn one_thread_takes_the_sum_of_the_latencies() {
    let mut configurations = 0;
    for spec in &variants() {
        let way = 1 + u64::from(spec.command_bus.latency_cycles);
        let (push, pull) =
            (u64::from(spec.sram_bus.push_cycles), u64::from(spec.sram_bus.pull_cycles));
        let mut check = |what: &str, address, command, expected: u64| {
            let found = latencies(spec, &[(address, command)]);
            assert_eq!(found, [expected], "{what} of {spec:#?}");
            configurations += 1;
        };
        let zero = Source::Constant(0);
        for words in [1, 2, 5, 8] {
            let n = u64::from(words);
            let memories = [
                (
                    Unit::Sram,
                    spec.sram.access_cycles,
                    spec.sram.write_cycles,
                    spec.sram.word_cycles,
                ),
                (
                    Unit::Scratch,
                    spec.scratch.access_cycles,
                    spec.scratch.write_cycles,
                    spec.scratch.word_cycles,
                ),
            ];
            for (unit, access, write, word) in memories {
                let (access, write, word) = (u64::from(access), u64::from(write), u64::from(word));
                let read = command(unit, Operation::Read, zero, words);
                check("a read", 64, read, way + access + (n - 1) * word + push);
                let written = command(unit, Operation::Write, zero, words);
                let expected = way + pull + (n - 1) + (n - 1) * word + write;
                check("a write", 64, written, expected);
            }
        }
        let scratch = spec.scratch;
        let modify = u64::from(scratch.modify_cycles);
        let bits = Operation::Bits(BitOperation::TestAndSet);
        let expected = way + pull + u64::from(scratch.access_cycles) + modify + push;
        check("a test and set", 3, command(Unit::Scratch, bits, zero, 1), expected);
        let increment = command(Unit::Scratch, Operation::Increment, zero, 1);
        check("incr", 3, increment, way + u64::from(scratch.write_cycles) + modify);
        for (keys, bits) in [(1, 48), (2, 48), (3, 64)] {
            let steps = u64::from(u32::from(bits).div_ceil(spec.hash.step_bits));
            let around = u64::from(spec.hash.front_cycles + spec.hash.back_cycles);
            let keys_more = u64::from(keys) - 1;
            let hash = command(Unit::Hash, Operation::Hash { keys, bits }, zero, 0);
            let expected = way + pull + 2 * keys_more + 1 + around + steps + keys_more * steps + 1;
            check("a hash", 0, hash, expected + push);
        }
        let read = command(Unit::Fbi, Operation::CsrRead, zero, 1);
        check("csr read", 24, read, way + u64::from(spec.fbi.access_cycles) + push);
        let write = command(Unit::Fbi, Operation::CsrWrite, zero, 1);
        check("csr write", 11, write, way + pull + u64::from(spec.fbi.write_cycles));
        for quads in [1, 2, 4] {
            configurations += sdram(spec, quads);
        }
    }
    assert!(configurations >= 200, "{configurations}");
}

/// Accesses to rows that are closed, open, or replaced by another row; then a write. Returns the
/// number of checked formulas.
fn sdram(spec: &Spec, quads: u8) -> usize {
    let n = u64::from(quads);
    let memory = spec.sdram;
    let (access, activate) = (u64::from(memory.access_cycles), u64::from(memory.activate_cycles));
    let (precharge, quad) = (u64::from(memory.precharge_cycles), u64::from(memory.quad_cycles));
    let way = 1 + u64::from(spec.command_bus.latency_cycles);
    let data = (n - 1) * quad;
    let open = way + access + data + u64::from(spec.sdram_bus.push_cycles);
    let read = command(Unit::Sdram, Operation::Read, Source::Constant(0), quads);
    let other_row = memory.banks * memory.row_bytes / 8;
    let reads = [(0, read), (16, read), (other_row, read)];
    let expected = [open + activate, open, open + precharge + activate];
    assert_eq!(latencies(spec, &reads), expected, "{spec:#?}");
    let write = command(Unit::Sdram, Operation::Write, Source::Constant(0), quads);
    let pulled = way + u64::from(spec.sdram_bus.pull_cycles) + n - 1;
    // The bus turns around while the row opens and the access begins.
    let expected = pulled + activate + data + u64::from(memory.write_cycles);
    assert_eq!(latencies(spec, &[(0, write)]), [expected], "{spec:#?}");
    4
}

/// The result of a run of many threads that each repeat the same command.
struct Loop {
    /// Commands in a cycle.
    rate: f64,
    /// The mean cycles that a command takes, from the trace.
    latency: f64,
    /// The mean number of waiting contexts, from the engines.
    waiting: f64,
}

const CYCLES: u64 = 6_000;

fn run_loop(spec: &Spec, threads: u32, unit: Unit, operation: Operation, count: u8) -> Loop {
    let command = command(unit, operation, a(0), count);
    // Each context has its own rows, so the pins bound the memory.
    let code = vec![
        Instruction::LocalCsrRead { csr: 0 },
        immed(to_a(0), 0),
        Instruction::Command(command),
        br(Condition::Always, 2, 0),
    ];
    let programs = (0..spec.engines)
        .map(|engine| {
            let mine = threads.saturating_sub(engine).div_ceil(spec.engines).min(4);
            (program(code.clone()), ((1_u32 << mine) - 1) as u8)
        })
        .collect();
    let options = Options { trace_events: 1 << 20, ..Options::default() };
    let mut machine = Processor::new(spec, programs, &options).expect("a machine");
    machine.run_cycles(CYCLES).expect("it runs");
    let events = machine.chip.trace.events();
    let sum = |what| {
        let times = events.iter().filter(|event| event.what == what);
        times.map(|event| event.cycle).fold((0, 0), |(n, sum), cycle| (n + 1_u64, sum + cycle))
    };
    let (issued, issue_times) = sum(What::Issue);
    let (done, done_times) = sum(What::Done);
    // Commands in flight at the end have waited up to now.
    let time = done_times + (issued - done) * CYCLES - issue_times;
    let engines = machine.chip.engines.iter();
    let mut waiting = 0;
    for engine in engines {
        waiting += engine.contexts().iter().map(|context| context.waited[0]).sum::<u64>();
    }
    Loop {
        rate: done as f64 / CYCLES as f64,
        latency: time as f64 / issued as f64,
        waiting: waiting as f64 / CYCLES as f64,
    }
}

#[test]
fn many_threads_reach_the_bound_of_the_slowest_part_and_no_more() {
    let mut configurations = 0;
    for words in [1_u8, 2, 4, 8] {
        for word_cycles in [1, 3] {
            for interval in [1, 5] {
                for threads in [1, 4, 12, 24] {
                    let spec = spec(|spec| {
                        spec.sram.word_cycles = word_cycles;
                        spec.command_bus.interval_cycles = interval;
                    });
                    let found = run_loop(&spec, threads, Unit::Sram, Operation::Read, words);
                    let alone = 1.0
                        + f64::from(spec.command_bus.latency_cycles)
                        + f64::from(spec.sram.access_cycles)
                        + f64::from(u32::from(words) - 1) * f64::from(word_cycles)
                        + f64::from(spec.sram_bus.push_cycles);
                    let slowest = f64::from(u32::from(words) * word_cycles)
                        .max(f64::from(words))
                        .max(f64::from(interval));
                    // Between completion and the next command, the pipeline fills and a branch is
                    // taken.
                    let bound = (f64::from(threads) / alone).min(1.0 / slowest);
                    let what = format!("{words} words of {word_cycles}, {interval}, {threads}");
                    assert!(found.rate <= bound * 1.001, "{what}: {} of {bound}", found.rate);
                    if f64::from(threads) / (alone + 6.0) > 1.5 / slowest {
                        assert!(found.rate >= bound * 0.97, "{what}: {} of {bound}", found.rate);
                    }
                    if threads == 1 {
                        let least = 1.0 / (alone + 6.0);
                        assert!(found.rate >= least, "{what}: {} of {least}", found.rate);
                    }
                    // Little's law: waiting contexts come from the engines, latencies from the
                    // trace.
                    let law = found.rate * found.latency;
                    let slack = 0.05 * law + found.rate * 2.0 + 0.05;
                    assert!(
                        (found.waiting - law).abs() <= slack,
                        "{what}: {law} {}",
                        found.waiting
                    );
                    configurations += 1;
                }
            }
        }
    }
    for quads in [1_u8, 2, 3, 4] {
        for threads in [1, 8, 24] {
            let spec = spec(|spec| spec.sdram.refresh_interval_cycles = 0);
            let found = run_loop(&spec, threads, Unit::Sdram, Operation::Read, quads);
            let bound = 1.0 / f64::from(u32::from(quads) * spec.sdram.quad_cycles);
            assert!(found.rate <= bound * 1.001, "{quads} quads: {} of {bound}", found.rate);
            if threads == 24 && quads >= 2 {
                assert!(found.rate >= bound * 0.97, "{quads} quads: {} of {bound}", found.rate);
            }
            let law = found.rate * found.latency;
            assert!((found.waiting - law).abs() <= 0.05 * law + found.rate * 2.0 + 0.05);
            configurations += 1;
        }
    }
    assert!(configurations >= 70, "{configurations}");
}

#[test]
fn refresh_takes_the_share_of_time_that_it_should() {
    let rate = |interval, cycles| {
        let spec = spec(|spec| {
            spec.sdram.refresh_interval_cycles = interval;
            spec.sdram.refresh_cycles = cycles;
        });
        run_loop(&spec, 24, Unit::Sdram, Operation::Read, 4).rate
    };
    let without = rate(0, 16);
    // A refresh closes the rows, so it costs its own time and the time to open a row again.
    let with = rate(500, 50);
    let lost = 1.0 - with / without;
    assert!((0.08..0.22).contains(&lost), "{lost}");
}
