//! Called engines: as functions of their callers, and as hardware elements of the chip.

use crate::support::engine::{agree_in_time, count, own_spec};
use crate::support::{agree, compiled_text};
use wireloom_bits::Bits;
use wireloom_ir::{Program, store};
use wireloom_isa::program::Architecture;
use wireloom_mpsoc::Options;
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::program::{Elements, Partition};
use wireloom_mpsoc::spec::Set;
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store};
use wireloom_sim::stats::Value;

/// Two consecutive tables in an engine that is called in two places.
const SOURCE: &str = "
engine walk(u8 x, u48 y) -> u40 {
    offload first : array<u16, size = 256>;
    offload second : array<u32, size = 65536>;
    u16 at;
    step one { at = first.read(x); next two; }
    step two { finish(concat(x, second.read(at)) ^ y[39:0]); }
}
engine around(u8 x) -> u8 {
    u8 y;
    step a { y += x; next b; }
    step b { if (y < 9 && y > 0) next a; finish(y); }
}
header Head { u8 x; u48 y; u8 z; u40 here; u40 there; u8 turns; };
engine main() {
    offload here : engine walk;
    offload there : engine walk;
    offload turns : engine around;
    Head head @ 0;
    step look {
        head.here = here.call(head.x, head.y);
        head.there = there.call(head.z, 7);
        packet.egress = 3;
        next turn;
    }
    step turn { head.turns = turns.call(head.x[1:0] + (u8)0); finish; }
}
";

fn program() -> Program {
    compiled_text("walk.loom", SOURCE)
}

/// Loads different numbers into each table.
fn load(store: &mut Store) {
    for (path, size, factor) in [
        ("here.first", 256, 77),
        ("here.second", 65536, 31),
        ("there.first", 256, 101),
        ("there.second", 65536, 13),
    ] {
        let Content::Kind { config, instance } =
            &mut store.find_mut(path).expect("a table").content
        else {
            panic!("{path}")
        };
        let width = config.value.as_ref().expect("values").width();
        for index in 0..size {
            let value = Bits::new(64, u128::from(index) * factor * 0x1234_5671).resize(width);
            instance.load(Entry { key: EntryKey::Index(index), value }).expect("room");
        }
    }
}

fn packets() -> Vec<Packet> {
    let packet = |number: u32| {
        let bytes = (0..64 + number % 90).map(|at| (number * 37 + at * 11) as u8).collect();
        Packet { ingress: 1, arrival_ns: u64::from(number) * 10, bytes }
    };
    (0..150).map(packet).collect()
}

#[test]
fn calls_mean_the_same_as_functions_and_as_messages() {
    let program = program();
    for names in [&[][..], &["walk"], &["here"], &["walk", "turns"]] {
        let elements =
            Elements::named(&program, names.iter().copied()).expect("the program calls them");
        for machine in [Architecture::Arm, Architecture::Riscv] {
            let agreed =
                agree(&program, &Partition::whole(), &elements, &packets(), machine, &load);
            assert_eq!(agreed, Ok(()), "{names:?}");
        }
    }
}

#[test]
fn an_element_takes_its_pipelines_depth_with_its_memories_and_a_call_in_each_interval() {
    let program = program();
    // Memories of 8 ns take four cycles at 500 MHz, and two at 250 MHz.
    for (clock, interval, latency_ns, interval_ns) in
        [(500, "", 22.0, 2.0), (250, "", 28.0, 4.0), (500, "interval_ns = 50\n", 22.0, 50.0)]
    {
        let keys = format!("[element.walk]\nclock_mhz = {clock}\n{interval}");
        let engine = agree_in_time(&own_spec(Set::Armv4, &keys), &program, &packets(), &load);
        let record = engine.record();
        for object in [0, 1] {
            let place = format!("platform.objects.{object}");
            assert_eq!(count(&record, &format!("{place}.calls")), 150);
            let Some(Value::Summary(latency)) = record.value(&format!("{place}.latency")) else {
                panic!("{record:?}")
            };
            assert_eq!(latency.min, latency_ns, "{keys}");
            let (Some(Value::Number(usage)), Some(Value::Time(time))) =
                (record.value(&format!("{place}.use")), record.value("time"))
            else {
                panic!("{record:?}")
            };
            let busy = usage * time.0 as f64 / 1e3;
            assert!((busy - 150.0 * interval_ns).abs() < 1e-3, "{keys}: {busy}");
        }
    }
}

#[test]
fn an_engine_that_cannot_be_a_pipeline_is_no_element() {
    let program = program();
    let refused = |keys: &str| {
        let store = store(&program).expect("offloads");
        match MpsocEngine::new(&own_spec(Set::Armv4, keys), &program, store, Options::default()) {
            Ok(_) => panic!("{keys}"),
            Err(error) => error.to_string(),
        }
    };
    let why = refused("[element.turns]\nclock_mhz = 500");
    assert!(
        why.contains("it jumps back to `") && why.contains("a pipeline has forward jumps only"),
        "{why}"
    );
    let why = refused("[element.wlak]\nclock_mhz = 500");
    let said = "engine `main` calls no engine `wlak` that could be an element; it calls around, here, there, turns, walk";
    assert_eq!(why, said);
}
