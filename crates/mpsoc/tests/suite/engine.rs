//! The router on timed machines: it behaves like golden, in whatever order threads finish.

use crate::support::engine::{agree_in_time, count, own_spec};
use crate::support::{compiled, generated, keep, load_file, programs, rows};
use wireloom_ir::builder::{EngineBuilder, StepBuilder, program_of};
use wireloom_ir::{BinaryOp, Copied, Exit, Program, StepId, UnaryOp, store};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Spec as Traffic};
use wireloom_offloads::Store;
use wireloom_sim::{Effort, Time};

const TABLES: &str = "tests/router.tables";

fn packets() -> Vec<Packet> {
    let addresses = || AddressSpec { prefixes: Some(programs(TABLES)), ..AddressSpec::default() };
    let spec = Traffic {
        seed: 7,
        destinations: addresses(),
        sources: addresses(),
        count: Some(400),
        mix: Traffic::parse_mix("ipv4=3,ipv6=3,mpls1..4=2").expect("a mix"),
        ports: 4,
        ..Traffic::default()
    };
    generated(&spec)
}

fn load(store: &mut Store) {
    load_file(store, TABLES);
}

/// Machines with different contention for the pipeline and the caches: instruction set, processors,
/// threads of each processor, and more keys.
const SHAPES: [(Set, u32, u32, &str); 13] = [
    (Set::Armv4, 16, 8, ""),
    (Set::Rv32im, 16, 8, ""),
    (Set::Armv4, 2, 32, "[processor]\nstages = 7"),
    (Set::Rv32im, 3, 5, "[processor]\nstages = 16"),
    (Set::Armv4, 4, 3, "[processor]\nstages = 1"),
    (Set::Armv4, 3, 16, "[processor.cycles]\nload = 2\nbranch = 3"),
    (Set::Rv32im, 2, 16, "[processor.cycles]\nalu = 2"),
    (Set::Armv4, 4, 8, "[processor]\nmultithreading = \"blocking\""),
    (
        Set::Armv4,
        4,
        16,
        "[processor.instruction_cache]\nbytes = 512\nreplacement = \"random\"\n[processor.data_cache]\nbytes = 128",
    ),
    (
        Set::Armv4,
        4,
        16,
        "[processor.instruction_cache]\nbytes = 1024\nprefetch_lines = 2\n[processor.data_cache]\nbytes = 128\nprefetch_lines = 1",
    ),
    (
        Set::Rv32im,
        2,
        16,
        "[network]\nkind = \"bus\"\nclock_mhz = 500\nwidth_bytes = 16\narbitration_cycles = 1\nlatency_cycles = 20\nqueue_messages = 2\n[processor.instruction_cache]\nbytes = 64\nprefetch_lines = 16",
    ),
    (Set::Armv4, 4, 16, "[network]\nlatency_ns = 0"),
    (Set::Rv32im, 6, 8, "[partition]\nkind = \"within-packet\"\nparts = 3"),
];

#[test]
fn the_router_does_the_same_at_the_same_times_whether_or_not_the_kernel_knows_of_sleep_and_wheels()
{
    let (program, packets) = (compiled("router.loom"), packets());
    for (set, processors, threads, keys) in SHAPES {
        let run = |effort| {
            let mut store = store(&program).expect("offloads of a verified program");
            load(&mut store);
            let spec = Spec { processors, threads, ..own_spec(set, keys) };
            let options = Options { effort, ..Options::default() };
            let mut engine = MpsocEngine::new(&spec, &program, store, options).expect("an engine");
            engine.offer(packets.clone());
            // The records also agree at intermediate points.
            let counted = [350, 100, 0].map(|to_come| {
                engine.run(to_come, &mut |_| {}).expect("it runs");
                let record = engine.record();
                let parts = (0..).map(|part| format!("platform.parts.{part}.instructions"));
                let parts = parts.take_while(|part| record.value(part).is_some());
                let parts: u64 = parts.map(|part| count(&record, &part)).sum();
                assert!(parts == 0 || parts == count(&record, "instructions"), "{keys}");
                let keys = ["time", "instructions", "kernel_events", "platform"];
                keys.map(|key| serde_json::to_string(record.value(key).expect(key)).expect("JSON"))
            });
            assert_eq!(engine.totals().taken, packets.len() as u64);
            counted
        };
        assert_eq!(
            run(Effort::Active),
            run(Effort::Naive),
            "{set:?} {processors} x {threads} {keys}"
        );
    }
}

#[test]
fn a_router_goes_on_from_a_checkpoint_as_the_router_does() {
    let (program, packets) = (compiled("router.loom"), packets());
    for (set, processors, threads, keys) in SHAPES {
        let mut store = store(&program).expect("offloads of a verified program");
        load(&mut store);
        let spec = Spec { processors, threads, ..own_spec(set, keys) };
        let mut engine =
            MpsocEngine::new(&spec, &program, store, Options::default()).expect("an engine");
        engine.offer(packets.clone());
        // Packets are in all places, and routes, counters and caches have changed.
        engine.run(250, &mut |_| {}).expect("it runs");
        let checkpoint = engine.clone();
        let end = |mut engine: MpsocEngine| {
            let mut sent = Vec::new();
            engine.finish(&mut |output| keep(&mut sent, output)).expect("it runs");
            let record = serde_json::to_string(&engine.record()).expect("JSON");
            (sent, rows(engine.store()), record)
        };
        let ((sent, state, record), from_checkpoint) = (end(engine), end(checkpoint));
        assert!(sent.len() > 200, "{keys}");
        assert_eq!(sent.len(), from_checkpoint.0.len(), "{set:?} {keys}");
        for (sent, from_checkpoint) in sent.iter().zip(&from_checkpoint.0) {
            assert_eq!(sent, from_checkpoint, "{set:?} {keys}");
        }
        assert!(state == from_checkpoint.1, "{set:?} {keys}: offloads differ");
        assert!(record == from_checkpoint.2, "{set:?} {keys}: statistics differ");
    }
}

#[test]
fn the_router_forwards_on_both_instruction_sets_as_golden_does() {
    let (program, packets) = (compiled("router.loom"), packets());
    for set in [Set::Armv4, Set::Rv32im] {
        let engine = agree_in_time(&own_spec(set, ""), &program, &packets, &load);
        assert_eq!(engine.record().value("platform.parts.0"), None, "{set:?}");
    }
}

#[test]
fn a_router_that_is_cut_does_too() {
    let (program, packets) = (compiled("router.loom"), packets());
    let parts = "parts = 3\n";
    let cuts = "cuts = [\"transmit\", \"ipv4_forward\"]\nshares = [2, 1, 1]\n";
    for (set, processors, partition) in [(Set::Armv4, 16, parts), (Set::Rv32im, 2, cuts)] {
        let mut spec =
            own_spec(set, &format!("[partition]\nkind = \"within-packet\"\n{partition}"));
        spec.processors = processors;
        let engine = agree_in_time(&spec, &program, &packets, &load);
        let record = engine.record();
        // Every packet enters the first part, and most continue in others.
        assert_eq!(count(&record, "platform.broker.packets.calls"), 400);
        let others = ["part_1", "part_2"]
            .map(|part| count(&record, &format!("platform.broker.{part}.calls")));
        assert!(others.iter().all(|calls| (20..=2000).contains(calls)), "{others:?}");
        let of_parts =
            |name| [0, 1, 2].map(|part| count(&record, &format!("platform.parts.{part}.{name}")));
        assert_eq!(of_parts("threads").iter().sum::<u64>(), u64::from(spec.servers()));
        let instructions = of_parts("instructions");
        assert!(instructions.iter().all(|count| *count > 400), "{instructions:?}");
        assert_eq!(instructions.iter().sum::<u64>(), engine.totals().instructions);
    }
}

#[test]
fn what_cannot_be_cut_so_is_refused_in_a_sentence() {
    let program = compiled("router.loom");
    let refused = |partition: &str| {
        let spec =
            own_spec(Set::Armv4, &format!("[partition]\nkind = \"within-packet\"\n{partition}"));
        match MpsocEngine::new(
            &spec,
            &program,
            store(&program).expect("offloads"),
            Options::default(),
        ) {
            Ok(_) => panic!("{partition}"),
            Err(error) => error.to_string(),
        }
    };
    let why = refused("cuts = [\"nowhere\"]");
    assert!(
        why.starts_with("engine `router` has no step `nowhere` to be cut at; it has "),
        "{why}"
    );
}

/// Adds a step that edits the packet and exits.
fn step(
    engine: &mut EngineBuilder,
    name: &str,
    edit: impl FnOnce(&mut StepBuilder<'_>),
    jump: impl FnOnce(&mut StepBuilder<'_>),
) {
    engine.regions(name, |step| {
        step.next_region();
        edit(step);
        step.next_region();
        jump(step);
    });
}

/// Sends a packet to port 0, with an additional byte in front to port 1, and with its first bytes
/// rewritten to port 2. A packet that begins with 9 loops without end instead. The port and the
/// bytes are in the context.
fn copies() -> Program {
    let mut engine = EngineBuilder::packet("copies");
    let port = engine.context("port", 16);
    let number = engine.context("number", 48);
    let set_port = |step: &mut StepBuilder<'_>| {
        let next = step.read(port);
        step.set_egress(next);
        let one = step.constant(16, 1);
        let more = step.binary(BinaryOp::Add, next, one);
        step.write(port, more);
    };
    let first = |step: &mut StepBuilder<'_>| {
        let start = step.constant(16, 0);
        let all = step.read_packet(start, 0, 48);
        step.write(number, all);
        set_port(step);
    };
    step(&mut engine, "first", first, |step| {
        let start = step.constant(16, 0);
        let begin = step.read_packet(start, 0, 8);
        let nine = step.constant(8, 9);
        let goes_round = step.binary(BinaryOp::Eq, begin, nine);
        step.when(goes_round).exit(Exit::Next(StepId(3)));
        let goes_on = step.unary(UnaryOp::Not, goes_round);
        step.when(goes_on).exit(Exit::Emit(StepId(1), Copied::default()));
    });
    let second = |step: &mut StepBuilder<'_>| {
        let (start, one) = (step.constant(16, 0), step.constant(16, 1));
        step.insert(start, one);
        set_port(step);
    };
    step(&mut engine, "second", second, |step| step.exit(Exit::Emit(StepId(2), Copied::default())));
    let third = |step: &mut StepBuilder<'_>| {
        let (start, all) = (step.constant(16, 0), step.read(number));
        step.write_packet(start, 0, all);
        set_port(step);
    };
    step(&mut engine, "third", third, |step| step.exit(Exit::Finish));
    step(&mut engine, "round", |_| {}, |step| step.exit(Exit::Next(StepId(4))));
    step(&mut engine, "and round", |_| {}, |step| step.exit(Exit::Next(StepId(3))));
    program_of(engine)
}

#[test]
fn copies_of_several_parts_leave_in_order_and_what_goes_round_for_ever_ends() {
    let program = copies();
    let packet = |number: u8| Packet {
        ingress: 0,
        arrival_ns: 0,
        bytes: vec![number % 10; 60 + usize::from(number)],
    };
    let packets: Vec<Packet> =
        (0..200).filter(|number| number % 10 != 9 || *number == 109).map(packet).collect();
    let cuts = "cuts = [\"second\", \"third\", \"round\", \"and round\"]";
    let mut spec = own_spec(
        Set::Armv4,
        &format!("[network]\nlatency_ns = 1\n[partition]\nkind = \"within-packet\"\n{cuts}"),
    );
    spec.processors = 5;
    let engine = agree_in_time(&spec, &program, &packets, &|_| {});
    let record = engine.record();
    let calls = ["packets", "part_1", "part_3", "part_4"]
        .map(|part| count(&record, &format!("platform.broker.{part}.calls")));
    // Every second hand-over jumps backwards; golden allows 65,535 such jumps and ends the packet
    // at the next.
    assert_eq!(calls, [181, 180, 65_536, 65_536]);
}

#[test]
fn packets_at_the_start_need_not_count() {
    let (program, packets) = (compiled("router.loom"), packets());
    let run = |warm| {
        let mut store = store(&program).expect("offloads of a verified program");
        load(&mut store);
        let options = Options { warm, ..Options::default() };
        let mut engine = MpsocEngine::new(&own_spec(Set::Armv4, ""), &program, store, options)
            .expect("an engine");
        engine.offer(packets.clone());
        engine.finish(&mut |_| {}).expect("it runs");
        let counted = engine.totals().since(&engine.counted_from());
        let record = engine.record();
        let calls = count(&record, "platform.broker.packets.calls");
        (counted, count(&record, "instructions"), calls, engine.usage())
    };
    let (all, instructions, calls, usage) = run(0);
    assert_eq!((all.done, all.instructions, calls), (400, instructions, 400));
    let (some, instructions, calls, _) = run(100);
    assert_eq!((some.done, some.instructions), (300, instructions));
    assert!(some.now < all.now && instructions < all.instructions * 4 / 5, "{some:?}");
    // Packets that already had their threads at that time do not count as calls.
    assert!((150..300).contains(&calls), "{calls}");
    // If nothing counts, all numbers are zero.
    let (none, instructions, _, idle) = run(1000);
    assert_eq!((none.done, instructions, idle), (0, 0, 0.0));
    assert!(usage > 0.0);
}

#[test]
fn a_machine_whose_threads_wait_too_long_is_told_as_stuck_with_the_object() {
    let program = compiled("router.loom");
    let mut store = store(&program).expect("offloads of a verified program");
    load(&mut store);
    let spec = own_spec(Set::Armv4, "[object.lpm]\nlatency_ns = 100000000");
    let mut engine =
        MpsocEngine::new(&spec, &program, store, Options::default()).expect("an engine");
    engine.offer(packets());
    let stuck = engine.finish(&mut |_| {}).expect_err("an answer takes 100 ms").to_string();
    assert!(stuck.starts_with("stuck at 1"), "{stuck}");
    assert!(stuck.contains(" waits for object destinations4: the reply of ticket "), "{stuck}");
}

/// A prefetch brings several lines in the time of one. Threads wait less for a cache that is too
/// small, and the network carries more messages.
#[test]
fn lines_fetched_ahead_save_waits_and_cost_messages() {
    let (program, packets) = (compiled("router.loom"), packets());
    let run = |lines: u32| {
        let keys = format!("[processor.instruction_cache]\nbytes = 1024\nprefetch_lines = {lines}");
        let spec = Spec { processors: 2, threads: 8, ..own_spec(Set::Armv4, &keys) };
        let record = agree_in_time(&spec, &program, &packets, &load).record();
        let sum = |key: &str| -> u64 {
            let caches = (0..2).map(|number| format!("platform.processors.{number}.caches"));
            caches.map(|caches| count(&record, &format!("{caches}.instruction.{key}"))).sum()
        };
        [sum("read_misses"), sum("prefetched"), count(&record, "platform.network.messages")]
    };
    let [[misses, none, messages], [fewer, ahead, more]] = [run(0), run(2)];
    assert_eq!(none, 0);
    assert!(4 * fewer < 3 * misses, "{misses} misses, {fewer} with lines fetched ahead");
    assert!(ahead > 0 && ahead <= 2 * fewer, "{ahead} lines ahead of {fewer}");
    // Each line is a request and a reply.
    let extra = 2 * (fewer + ahead) as i64 - 2 * misses as i64;
    let difference = more as i64 - messages as i64;
    assert!((difference - extra).abs() < 200, "{messages} messages, {more}, {extra} of lines");
}

/// The use in each interval. Samples are taken every 10 ns, or five cycles.
#[test]
fn no_interval_has_more_cycles_than_it_is_long() {
    let (program, packets) = (compiled("router.loom"), packets());
    for keys in ["", "[processor.cycles]\nload = 3\nstore = 2\nbranch = 7"] {
        let spec = Spec { processors: 2, threads: 8, ..own_spec(Set::Armv4, keys) };
        let mut store = store(&program).expect("offloads of a verified program");
        load(&mut store);
        let sampling = Some(Time::nanoseconds(10));
        let options = Options { sampling, ..Options::default() };
        let mut engine = MpsocEngine::new(&spec, &program, store, options).expect("an engine");
        engine.execute(&packets, &mut |_| {}).expect("it runs");
        engine.finish(&mut |_| {}).expect("it runs");
        let series = engine.series().expect("it is sampled");
        let mut busy = 0.0;
        for (name, cells) in series.columns().filter(|(name, _)| name.ends_with("use")) {
            let most = cells.iter().copied().fold(0.0, f64::max);
            assert!(most <= 1.0 + 1e-9, "{name} of an interval: {most}, {keys}");
            assert!(most > 0.999, "{name}: {most}, {keys}");
            // The intervals of a long series have doubled.
            let cycles = 5.0 * series.interval().0 as f64 / Time::nanoseconds(10).0 as f64;
            busy += if name == "use" { 2.0 * cycles * cells.iter().sum::<f64>() } else { 0.0 };
        }
        // No cycle is lost between intervals.
        assert_eq!(busy.round() as u64, engine.totals().busy, "{keys}");
    }
}
