//! Engines called by packets.

use super::*;

/// Returns packets with keys inside the tables, at their ends and outside.
fn asks(count: u32) -> Vec<u8> {
    let packet = |i: u32| {
        let keys = [0, 1, 2, 3, 200, 299, 300, 400, 511, i.wrapping_mul(40_503) as u16];
        let key = keys[i as usize % keys.len()];
        [&[(i / 3) as u8][..], &key.to_be_bytes(), &[0; 61]].concat()
    };
    let packets: Vec<Vec<u8>> = (0..count).map(packet).collect();
    pcap(&packets)
}

#[test]
fn packets_call_engines_with_tables_of_their_own() {
    let place = Workplace::new();
    place.write("called.loom", include_bytes!("called.loom"));
    place.write("called.tables", include_bytes!("called.tables"));
    place.write(
        "called.updates",
        b"at 300\ntable one.rules\n0 last=1 next=0 value=77\nat 800\ntable two.weights\n2 = 1234\n",
    );
    place.write("asks.pcap", &asks(1000));
    let words = "called.loom --on np-1-1-4 --tables called.tables";
    let verify = format!("verify {words} --updates called.updates --in asks.pcap");
    place.wireloom(&verify).status(0).says(&["1,000 outputs compared", "no difference"]);
    // Each offload has its own tables, and the control plane can access them.
    place.wireloom(&format!("build {words} -o np")).status(0);
    let map = String::from_utf8(place.read("np/memory_map.json")).expect("text");
    for table in ["one.rules", "one.weights", "two.rules", "two.weights"] {
        assert!(map.contains(&format!("\"{table}\"")), "{map}");
        assert!(!place.read(&format!("np/images/{table}.hex")).is_empty(), "{table}");
    }
}

#[test]
fn engines_that_cannot_be_pipelines_are_refused_with_the_step() {
    let place = Workplace::new();
    let program = "\
header Ask { u8 kind; };
engine loops(u8 n) -> u8 {
    u8 left;
    step begin { left = n; next again; }
    step again { if (left == 0) finish(7); left = left - 1; next again; }
}
engine asks() { offload l : engine loops; Ask ask @ 0; step s { ask.kind = l.call(ask.kind); finish; } }
";
    place.write("loops.loom", program.as_bytes());
    place.wireloom("build loops.loom --on np-1-1-1 -o np").status(2).complains(&[
        "offload `l` cannot be had on machine np-1-1-1: loops.loom:5: step `again` of `loops`: it jumps back to `again`",
    ]);
}

#[test]
fn the_names_of_the_machines_own_accelerators_are_taken() {
    let place = Workplace::new();
    let program = "\
header Ask { u32 a; };
engine ipv4_trie(u32 n) -> u8 { step only { finish(n[7:0]); } }
engine asks() {
    offload mine : engine ipv4_trie;
    offload routes : lpm<u32, u8>;
    Ask ask @ 0;
    step s { ask.a = concat((u16)0, mine.call(ask.a), routes.search(ask.a)); finish; }
}
";
    place.write("taken.loom", program.as_bytes());
    let build = "build taken.loom --on np-1-1-1 -o np";
    place.wireloom(build).status(2).complains(&["offload `mine`", "give it another"]);
    place.write("taken.loom", program.replace("ipv4_trie", "own_trie").as_bytes());
    place.wireloom(build).status(0);
}
