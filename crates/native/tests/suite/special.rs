//! Checks that engines specialised to their table contents agree with the general engine.

use std::sync::{Arc, Mutex};

use crate::support::random::{Random, packets, program};
use crate::support::{fill_tables, options, outputs, rows};
use wireloom_bits::Bits;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_compile::specialise::{Facts, facts, methods, specialise};
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{Execute, Exit, Golden, Program, store, verify};
use wireloom_native::{Library, Native, Specialisation};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store, Update};

/// Loads the same entry, or two, into every array and prefix table, so that many facts are certain.
fn load_alike(seed: u64, store: &mut Store) {
    let random = &mut Random(seed);
    for path in store.paths() {
        let slot = store.find_mut(&path).expect("a path of the store");
        let Content::Kind { config, instance } = &mut slot.content else { unreachable!() };
        let width = config.value.as_ref().map_or(1, |layout| layout.width());
        let values =
            [random.next(), random.next()].map(|word| Bits::from_words(width, &[word; 17]));
        for (index, value) in values.into_iter().enumerate().take(random.below(3)) {
            let key = match config.kind.as_str() {
                "array" => EntryKey::Index(index as u64),
                "lpm" => {
                    let width = config.key.as_ref().map_or(1, |layout| layout.width());
                    EntryKey::Prefix { bits: Bits::zero(width), length: index as u32 }
                }
                _ => break,
            };
            instance.load(Entry { key, value }).expect("room for an entry");
        }
    }
}

/// Golden executes both engines, so that many programs can be tried.
#[test]
fn specialised_programs_do_the_same() {
    let mut changed = 0;
    for seed in 0..400 {
        let mut general = program(seed);
        pipeline::run_pass(&mut general, "evaluate", &PassOptions::default());
        let packets = packets(seed, 60);
        let fill = |store: &mut Store| match seed % 3 {
            0 => {}
            1 => load_alike(seed, store),
            _ => fill_tables(store),
        };
        let [mut own, other] = [(), ()].map(|()| {
            let mut store = store(&general).expect("offloads of a verified program");
            fill(&mut store);
            store
        });
        let facts = facts(&methods(&general), &mut own);
        for keeps_calls in [false, true] {
            let special = specialise(&general, &facts, keeps_calls);
            verify(&special).unwrap_or_else(|e| panic!("seed {seed}: {}", e[0]));
            changed += usize::from(special != specialise(&general, &Facts::new(), keeps_calls));
        }
        let special = specialise(&general, &facts, false);
        let mut expected = Golden::new(general, other);
        let mut got = Golden::new(special, own);
        let expected_outputs = outputs(&mut expected, &packets);
        assert_eq!(outputs(&mut got, &packets), expected_outputs, "seed {seed}");
        assert_eq!(rows(got.store()), rows(expected.store()), "seed {seed}");
    }
    assert!(changed >= 10, "only {changed} programs became other ones");
}

/// Returns a program that writes the tables' results for the first byte into the packet, and a mark
/// if a result is odd.
fn marking() -> Program {
    let mut engine = EngineBuilder::packet("marking");
    let routes = engine.offload("routes", config("lpm", &[("", 8)], &[("", 16)], &[("miss", 0)]));
    let ports = engine.offload("ports", config("array", &[], &[("", 72)], &[("size", 256)]));
    let counts = engine.offload("counts", config("counter", &[], &[], &[("size", 256)]));
    let exact = config("exact", &[("", 8)], &[("", 16)], &[("size", 10)]);
    let exact = engine.offload("exact", exact);
    engine.regions("look", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 8);
        let route = step.call(routes, "search", &[key]).expect("a reply");
        let index = step.extend(key, 32);
        let port = step.call(ports, "read", &[index]).expect("a reply");
        let found = step.call(exact, "lookup", &[key]).expect("a reply");
        step.call(counts, "count", &[index, index]);
        step.next_region();
        let odd = step.slice(route, 15, 1);
        let number = step.constant(8, 0xee);
        step.when(odd).write_packet(start, 8, number);
        let tag = step.slice(port, 64, 8);
        step.write_packet(start, 16, tag);
        step.write_packet(start, 24, found);
        step.write_packet(start, 40, route);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

fn update(offload: &str, key: EntryKey, value: Bits) -> Update {
    Update { packet: 0, offload: offload.into(), key, value: Some(value), line: 0 }
}

fn changes() -> Vec<Update> {
    let prefix = |bits, length| EntryKey::Prefix { bits: Bits::new(8, bits), length };
    vec![
        update("routes", prefix(0, 0), Bits::new(16, 0x0012)),
        update("ports", EntryKey::Index(3), Bits::new(72, 5)),
        update("routes", prefix(0x80, 1), Bits::new(16, 0x8001)),
        update("ports", EntryKey::Index(200), Bits::ones(72)),
        update("exact", EntryKey::Exact(Bits::new(8, 7)), Bits::new(16, 77)),
        update("routes", prefix(0x80, 1), Bits::new(16, 0x0001)),
    ]
}

fn some_packets() -> Vec<Packet> {
    let packet = |n: u8| Packet { ingress: 0, arrival_ns: 0, bytes: vec![n; 64] };
    (0..=255).map(packet).collect()
}

/// Returns a machine and golden, with the same empty tables.
fn both() -> (Native, Golden) {
    let program = marking();
    let library = Library::build(&program, &options()).unwrap_or_else(|e| panic!("{e}"));
    let [own, other] = [(), ()].map(|()| store(&program).expect("offloads of a verified program"));
    (Native::new(library, own), Golden::new(program, other))
}

#[test]
fn a_change_is_seen_by_the_next_packet_whoever_makes_it() {
    for through_store in [true, false] {
        let (mut native, mut golden) = both();
        assert!(native.specialise_now(options()).unwrap_or_else(|e| panic!("{e}")));
        let packets = some_packets();
        assert_eq!(outputs(&mut native, &packets), outputs(&mut golden, &packets));
        let mut used = Vec::new();
        for change in changes() {
            change.apply(golden.store_mut()).expect("an entry that suits");
            if through_store {
                change.apply(native.store_mut()).expect("an entry that suits");
            } else {
                native.control().change(change).expect("the machine is there");
            }
            assert_eq!(outputs(&mut native, &packets), outputs(&mut golden, &packets));
            assert_eq!(rows(native.store()), rows(golden.store()));
            used.push(native.is_specialised());
        }
        // The first route has bits that were certainly zero before.
        assert_eq!(used, [false; 6], "through the store: {through_store}");
    }
}

#[test]
fn what_does_not_contradict_leaves_the_engine_in_use() {
    let (mut native, mut golden) = both();
    let changes = changes();
    for change in &changes[..2] {
        change.apply(golden.store_mut()).expect("an entry that suits");
        change.apply(native.store_mut()).expect("an entry that suits");
    }
    assert!(native.specialise_now(options()).unwrap_or_else(|e| panic!("{e}")));
    let packets = some_packets();
    let alike = update("ports", EntryKey::Index(9), Bits::new(72, 4));
    for (change, is_used) in [(&alike, true), (&changes[1], true), (&changes[3], false)] {
        change.apply(golden.store_mut()).expect("an entry that suits");
        change.apply(native.store_mut()).expect("an entry that suits");
        assert_eq!(outputs(&mut native, &packets), outputs(&mut golden, &packets));
        assert_eq!(native.is_specialised(), is_used);
    }
}

#[test]
fn what_contradicts_waits_until_the_general_engine_is_in_use() {
    let (mut native, _) = both();
    let control = native.control();
    let make = |update| control.change(update).expect("the machine is there");
    make(changes()[0].clone());
    outputs(&mut native, &some_packets());
    assert!(native.specialise_now(options()).unwrap_or_else(|e| panic!("{e}")));
    let packet = Packet { ingress: 0, arrival_ns: 0, bytes: vec![0x90; 64] };
    // Between two batches of the specialised engine, a route gets a bit that no route had.
    let mut seen: Vec<(Vec<u8>, usize)> = Vec::new();
    for _ in 0..2 {
        native.offer(&vec![packet.frame(); 1024], &mut |output| {
            if seen.is_empty() {
                make(changes()[2].clone());
            }
            let (mark, route) = (output.bytes[1], &output.bytes[5..7]);
            let bytes = [&[mark], route].concat();
            match seen.last_mut() {
                Some((last, count)) if *last == bytes => *count += 1,
                _ => seen.push((bytes, 1)),
            }
        });
    }
    let (before, after) = (vec![0x90, 0x00, 0x12], vec![0xee, 0x80, 0x01]);
    assert_eq!(seen, [(before, 1024), (after, 1024)], "a route of before or of after");
    assert!(!native.is_specialised());
}

#[test]
fn an_engine_comes_from_the_background_and_goes_when_a_table_changes() {
    let (mut native, mut golden) = both();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let report = Arc::clone(&told);
    let tell = move |event: &Specialisation| {
        let line = match event {
            Specialisation::Used(_) => "used".to_owned(),
            Specialisation::Withdrawn(offload) => format!("{offload} changed"),
            Specialisation::Failed(error) => error.to_string(),
        };
        report.lock().expect("no panic elsewhere").push(line);
    };
    native.specialise(options(), Arc::new(tell));
    let packets = some_packets();
    while !native.is_specialised() && told.lock().expect("no panic elsewhere").is_empty() {
        assert_eq!(outputs(&mut native, &packets), outputs(&mut golden, &packets));
    }
    let change = &changes()[3];
    change.apply(golden.store_mut()).expect("an entry that suits");
    change.apply(native.store_mut()).expect("an entry that suits");
    assert_eq!(outputs(&mut native, &packets), outputs(&mut golden, &packets));
    assert_eq!(*told.lock().expect("no panic elsewhere"), ["used", "ports changed"]);
}

#[test]
fn a_table_that_another_core_could_change_says_nothing() {
    let (mut native, mut golden) = both();
    assert!(native.specialise_now(options()).unwrap_or_else(|e| panic!("{e}")));
    let mut other = native.on_another_core(1).expect("room for another core");
    let packets = some_packets();
    changes()[2].apply(golden.store_mut()).expect("an entry that suits");
    changes()[2].apply(native.store_mut()).expect("an entry that suits");
    let expected: Vec<_> = outputs(&mut golden, &packets).into_iter().map(|s| s.bytes).collect();
    for machine in [&mut native, &mut other] {
        let got: Vec<_> = outputs(machine, &packets).into_iter().map(|s| s.bytes).collect();
        assert_eq!(got, expected);
    }
    assert!(!native.is_specialised());
}
