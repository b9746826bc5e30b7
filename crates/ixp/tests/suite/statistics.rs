//! Reports are consistent: their sums agree at any time of a run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::assembled::assembled;
use wireloom_ixp::engine::State;
use wireloom_ixp::{Ixp, Options, Processor, Program, Spec};
use wireloom_machine::Machine;
use wireloom_machine::watch::{Goal, MeasureKind};
use wireloom_net::Frame;
use wireloom_offloads::Store;
use wireloom_sim::stats::{Record, Value};

/// A machine with a forwarder that sends packets, drops them or hands them over, by their first
/// byte.
fn machine() -> Processor {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/forward.uc");
    let text = std::fs::read_to_string(path).expect("a program");
    let mut spec = Spec::base();
    spec.ports.count = 4;
    // Some packets find no room.
    spec.ports.receive_mpkts = 24;
    spec.ports.rate = 10_000_000_000;
    let program = Program::load(assembled(&text), 2048).expect("it loads");
    // On the second engine only some contexts run. None of them takes packets, so they wait for
    // ever.
    let idle = "br=ctx[1, ends#]\nctx_arb[inter_thread]\nends#:\nnop\nnop\nnop\nctx_arb[kill]\n";
    let idle = Program::load(assembled(idle), 2048).expect("it loads");
    Processor::new(&spec, vec![(program, 0b1111), (idle, 0b0011)], &Options::default())
        .expect("a machine")
}

fn count(record: &Record, path: &str) -> u64 {
    match record.value(path) {
        Some(Value::Count(count)) => *count,
        other => panic!("{path}: {other:?}"),
    }
}

fn number(record: &Record, path: &str) -> f64 {
    match record.value(path) {
        Some(Value::Number(number)) => *number,
        other => panic!("{path}: {other:?}"),
    }
}

/// Checks the sums of a record.
fn adds_up(machine: &Processor) {
    let record = machine.statistics();
    let core = machine.chip.core_cycle(machine.now());
    for engine in 0..machine.chip.engines.len() {
        let path = format!("engines.engine_{engine}");
        let cycles = count(&record, &format!("{path}.cycles"));
        // Engines have the core clock; a cycle may be in progress.
        assert!(cycles.abs_diff(core) <= 1, "{path}: {cycles} of {core} cycles");
        let shares = ["busy", "aborted", "stalled", "idle"];
        let sum: f64 = shares.map(|share| number(&record, &format!("{path}.{share}"))).iter().sum();
        let whole = if cycles == 0 { 0.0 } else { 1.0 };
        assert!((sum - whole).abs() < 1e-9, "{path}: the shares add up to {sum}");
        for (number, context) in machine.chip.engines[engine].contexts().iter().enumerate() {
            let path = format!("{path}.contexts.context_{number}");
            let stopped = count(&record, &format!("{path}.stopped_cycles"));
            match (context.state, context.instructions) {
                (State::Stopped, 0) => assert_eq!(stopped, cycles, "{path} has never run"),
                (State::Stopped, _) => {}
                _ => assert_eq!(stopped, 0, "{path} has not ended"),
            }
            let states = ["waiting", "ready", "running", "stopped"];
            let sum: u64 =
                states.map(|state| count(&record, &format!("{path}.{state}_cycles"))).iter().sum();
            assert_eq!(sum, cycles, "{path}");
        }
    }
    let packets = |name: &str| count(&record, &format!("packets.{name}"));
    assert_eq!(packets("offered"), packets("done") + packets("lost") + packets("to_come"));
    let outputs = ["sent", "to_core", "dropped", "nowhere", "consumed"].map(packets);
    assert_eq!(packets("done") + packets("further"), outputs.iter().sum::<u64>());
    for (part, share) in machine.utilisation() {
        assert!((0.0..=1.0).contains(&share), "{part} is in use for {share}");
    }
    assert!(number(&record, "cards.bus_use") <= 1.0);
    assert!(record.value("governor").is_none(), "there is no governor");
}

#[test]
fn cycles_packets_and_shares_add_up_at_any_time() {
    let mut machine = machine();
    let mut rng = wireloom_sim::Rng::new(3, "statistics");
    for number in 0..120_u64 {
        let mut bytes = vec![number as u8; [0, 60, 64, 65, 200][number as usize % 5]];
        if let Some(first) = bytes.first_mut() {
            *first = [0xaa, 0xdd, 0xcc][number as usize % 3];
        }
        machine.offer((number % 4) as u16, number, 20 * number, &bytes);
    }
    adds_up(&machine);
    for _ in 0..400 {
        machine.run_cycles(1 + rng.below(60)).expect("it runs");
        adds_up(&machine);
    }
    let outputs = machine.chip.cards.outputs;
    assert!(outputs.sent > 0 && outputs.to_core > 0 && outputs.dropped > 0, "{outputs:?}");
    assert!(machine.chip.cards.lost_at_input() > 0);
    machine.run_packets(0).expect("it ends");
    adds_up(&machine);
    assert_eq!(machine.chip.cards.to_come(), 0);
}

/// A machine whose engines all execute one program.
fn busy(spec: &Spec, text: &str) -> Ixp {
    let program = Program::load(assembled(text), spec.engine.control_store).expect("it loads");
    let programs = vec![(program, 0xff); spec.engines as usize];
    watchable(Processor::new(spec, programs, &Options::default()).expect("a machine"))
}

fn watchable(processor: Processor) -> Ixp {
    Ixp::new(processor, Store::default(), Vec::new())
}

/// Checks all measures of a machine in steps of a few cycles. Returns the highest value of each
/// level measure together with its capacity, by measure and part.
fn levels(machine: &mut Ixp, frames: &[Frame<'_>]) -> BTreeMap<String, (u64, u64)> {
    let watched = machine.watch().expect("it can be watched");
    watched.supply(frames).expect("it has the ports");
    let (parts, measures) = (watched.parts(), watched.measures());
    let mut before = vec![0; measures.len()];
    let mut levels = BTreeMap::new();
    let mut rng = wireloom_sim::Rng::new(5, "measures");
    for _ in 0..200 {
        watched.resume(Goal::Cycles(1 + rng.below(60)), &[]).expect("it runs");
        let mut values = Vec::new();
        watched.sample(&mut values);
        assert_eq!(values.len(), measures.len());
        for ((measure, value), before) in measures.iter().zip(&values).zip(&before) {
            let name = format!("{} of {}", measure.name, parts[measure.part].name);
            if let MeasureKind::Level { places } = measure.kind {
                assert!(*value <= places, "{name}: {value}");
                let level = levels.entry(name).or_insert((0, places));
                level.0 = level.0.max(*value);
                continue;
            }
            assert!(value >= before, "{name} falls from {before} to {value}");
            if measure.kind == MeasureKind::Busy {
                assert!(*value <= watched.cycle(), "{name}: {value} of {}", watched.cycle());
            }
        }
        before = values;
    }
    levels
}

/// Monitors a chip with several memory channels and clusters, all in use, and a chip whose threads
/// all want the same lock.
#[test]
fn measures_grow_and_no_part_is_in_use_for_more_than_the_time() {
    let text = "
        .version 2
        .reg a $r0 $r1 $r2 $r3 $r4 $r5 $r6 $r7 $$d0 $$d1 $$d2 $$d3 $$d4 $$d5 $$d6 $$d7
        .sig one two three
        local_csr_rd[active_ctx]
        immed[a, 0]
        alu_shf[a, --, B, a, <<7]
        again#:
        sram[read, $r0, a, 0, 8], sig_done[one]
        dram[read, $$d0, a, 0, 4], sig_done[two]
        ctx_arb[one, two]
        scratch[write, $r0, a, 0, 8], ctx_swap[three]
        br[again#]";
    let spec = Spec::installed("ixp2800").unwrap_or_else(|error| panic!("{error}"));
    let levels_of_all = levels(&mut busy(&spec, text), &[]);
    let is_filled = |(value, places): &(u64, u64)| *value as f64 > 0.3 * *places as f64;
    assert!(levels_of_all.values().any(is_filled), "{levels_of_all:?}");
    let text = "
        .reg a $r
        again#:
        immed[a, 100]
        sram[read_lock, $r, a, 0, 1], ctx_swap
        sram[write_unlock, $r, a, 0, 1], ctx_swap
        br[again#]";
    let mut spec = Spec::base();
    spec.ports.count = 1;
    levels(&mut busy(&spec, text), &[]);
}

/// A packet alone at a port may be longer than the port's capacity.
#[test]
fn the_level_of_a_port_is_what_it_holds() {
    let bytes = vec![0xaa; 9000];
    let frame = Frame { ingress: 0, arrival_ns: 0, bytes: &bytes };
    let levels = levels(&mut watchable(machine()), &[frame]);
    let (held, places) = levels["mpkts of port 0"];
    assert!(held > 100 && places > held, "{held} of {places}");
}
