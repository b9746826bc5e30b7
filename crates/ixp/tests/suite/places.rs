//! Arrays and counters in the scratchpad and in SRAM.

use crate::written::{agree_while_tables_change, written};
use wireloom_bits::Bits;
use wireloom_codegen_microengine::{FRAME, Memories, Unit, inline, place};
use wireloom_isa::microengine::Version;
use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Options};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{EntryKey, Update};

const TEXT: &str = "
header Ask { u8 index; u24 value; u32 often; u32 seldom; u64 large; u32 sum; };
engine places() {
    offload seldom : array<u32, size = 400>;
    offload often : array<u32, size = 600>;
    offload large : array<u64, size = 5000>;
    offload sums : array<u32, size = 8>;
    offload few : counter<size = 4>;
    offload many : counter<size = 4000>;
    Ask ask @ 0;
    step begin {
        packet.egress = packet.ingress;
        u32 index = concat((u24)0, ask.index);
        ask.often = often.read(index);
        few.count(index & 7, packet.length);
        many.count(index, packet.length);
        if (ask.index[0:0] == 0) next more;
        finish;
    }
    step more {
        u32 index = concat((u24)0, ask.index);
        ask.seldom = seldom.read(index);
        ask.large = large.exchange(index, (u64)ask.value);
        ask.sum = sums.fetch_add(index & 15, (u32)ask.value);
        finish;
    }
}
";

fn spec(machine: &str) -> Spec {
    Spec::installed(machine).unwrap_or_else(|error| panic!("{error}"))
}

/// The memory of each offload with elements, in the program's order.
fn units(spec: &Spec) -> Vec<Unit> {
    let inlined = inline(&written(TEXT).optimised).expect("no engine is called");
    let mut store = wireloom_ir::store(&inlined.program).expect("a store");
    let memories = Memories {
        sram: spec.sram.bytes / 4,
        sdram: spec.sdram.bytes / 4,
        scratch: spec.scratch.bytes / 4,
        version: spec.engine.version,
        threads: if spec.engine.version == Version::One { 16 } else { 64 },
        frame: FRAME,
    };
    let layout = place(&inlined.program, &mut store, memories).expect("all have a place");
    let regions = layout.regions.iter().flatten();
    regions.map(|region| region.unit).collect()
}

#[test]
fn what_packets_use_most_for_its_size_is_in_the_scratchpad() {
    use Unit::{Scratch, Sram};
    // Of 1,024 words, 88 are taken: one for each thread and each of the two offloads that are
    // called in order, and 24 for each thread. So `often` has no room. Every other packet reads
    // `seldom`. Counters of version 1 have their locks in SRAM.
    let mut one = spec("ixp1200");
    assert_eq!(units(&one), [Scratch, Sram, Sram, Scratch, Sram, Sram]);
    one.scratch.bytes = 4 * (88 + 2 * 16 + 24 * 16 + 600 + 400 + 8);
    assert_eq!(units(&one), [Scratch, Scratch, Sram, Scratch, Sram, Sram]);
    one.scratch.bytes -= 4;
    assert_eq!(units(&one), [Sram, Scratch, Sram, Scratch, Sram, Sram]);
    assert_eq!(units(&spec("ixp2400")), [Scratch, Scratch, Sram, Scratch, Scratch, Sram]);
}

/// Counts of packets and bytes also carry into their high words.
#[test]
fn elements_change_as_on_golden_wherever_they_are() {
    let program = written(TEXT);
    let mut rng = wireloom_sim::Rng::new(67, "places");
    let packet = |number: u64| {
        let mut bytes = vec![0; 40 + rng.below(200) as usize];
        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        bytes[0] = rng.below(20) as u8;
        Packet { ingress: (number % 8) as u16, arrival_ns: number * 800, bytes }
    };
    let all: Vec<Packet> = (0..400).map(packet).collect();
    let low = u128::from(u32::MAX);
    let counts = |packets, bytes| Bits::new(64, packets).concat(&Bits::new(64, bytes));
    let update = |offload: &str, index, value| Update {
        packet: 0,
        offload: offload.into(),
        key: EntryKey::Index(index),
        value: Some(value),
        line: 0,
    };
    let updates = [
        update("few", 0, counts(low - 3, low - 500)),
        update("few", 3, counts(u128::from(u64::MAX), u128::from(u64::MAX) - 700)),
        update("many", 2, counts(low - 3, low - 500)),
        update("many", 7, counts(low, 5)),
        update("often", 4, Bits::new(32, 0x1234_5678)),
        update("seldom", 4, Bits::new(32, 0x9abc_def0)),
        update("large", 6, Bits::new(64, 1 << 40)),
        update("sums", 2, Bits::new(32, low - 1)),
    ];
    for machine in ["ixp1200", "ixp2400"] {
        let mut spec = spec(machine);
        spec.ports.receive_mpkts = 1024;
        agree_while_tables_change(spec, &program, &updates, &all, 50);
    }
}

/// Threads use the same words of their frames most, so frames begin in different channels.
#[test]
fn all_channels_of_sram_carry_as_many_words() {
    let program = written(TEXT);
    let mut spec = spec("ixp2800");
    spec.ports.receive_mpkts = 1024;
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let mut machine = spec
        .start(&program, store, &Options::default(), &|_| ())
        .unwrap_or_else(|error| panic!("{}", error.message));
    // The elements of offloads are in all channels too.
    let bytes: Vec<[u8; 60]> = (0..1024_u32).map(|number| [number as u8; 60]).collect();
    let frames: Vec<Frame<'_>> = (0_u64..)
        .zip(&bytes)
        .map(|(number, bytes)| Frame {
            ingress: (number % 8) as u16,
            arrival_ns: 50 * number,
            bytes,
        })
        .collect();
    machine.offer(&frames, &mut |_| ()).unwrap_or_else(|error| panic!("{}", error.message));
    machine.finish(&mut |_| ()).unwrap_or_else(|error| panic!("{}", error.message));
    let record = machine.record(std::time::Duration::ZERO).expect("it has one");
    let record = toml::Table::try_from(&record).expect("a table");
    let sram = &record["statistics"]["units"]["sram"];
    let words = |number| sram[&format!("channel_{number}_words")].as_integer().expect("words");
    let all: i64 = (0..4).map(words).sum();
    assert!(all > 8 * frames.len() as i64, "{sram}");
    for number in 0..4 {
        assert!((all / 5..all / 3).contains(&words(number)), "{sram}");
    }
}
