//! Programs in microcode on the simulated chip, and the events of its commands.

use super::*;

const CROSS: &[u8] = include_bytes!("../../../../../programs/microcode/cross.uc");
const CHIP: &[u8] = include_bytes!("../../../../../programs/microcode/cross.toml");

fn workplace() -> Workplace {
    let place = Workplace::new();
    place.write("cross.uc", CROSS);
    place.write("cross.toml", CHIP);
    place.write("frames.pcap", &pcap(&[frame(0x0800), vec![7; 65], frame(0x0806)]));
    place
}

#[test]
fn frames_cross_by_a_program_in_microcode() {
    let place = workplace();
    let run = "run cross.toml --on ixp1200 --in frames.pcap";
    let ran = place.wireloom(&format!("{run} --out out.pcapng --json - --report r.html"));
    let report = ran.status(0).json();
    assert_eq!(report["engine"], "cross");
    let text = report.to_string();
    assert!(text.contains("TOO_LONG") && text.contains(r#""packets":2"#), "{text}");
    let out = place.read("out.pcapng");
    assert!(out.windows(60).any(|bytes| bytes == frame(0x0806)), "the frame leaves as it came");
    place.wireloom("run cross.uc --on ixp1200 --in frames.pcap").status(2).complains(&[
        "cross.uc: the imported name PORT_MASK has no value",
        "--set PORT_MASK=VALUE",
    ]);
    place
        .wireloom("run cross.uc --on native --in frames.pcap")
        .status(2)
        .complains(&["cross.uc is no source file in Loom C", "--on ixp1200"]);
}

#[test]
fn a_chip_has_no_engine_context_or_word_that_does_not_exist() {
    let place = workplace();
    for (chip, complaint) in [
        ("[[engines]]\nnumbers = [6]\nprogram = \"cross.uc\"\n", "there is no engine 6"),
        ("[[engines]]\nnumbers = [0]\ncontexts = [4]\nprogram = \"cross.uc\"\n", "no context 4"),
        ("[[engines]]\nnumbers = [0, 0]\nprogram = \"cross.uc\"\n", "engine 0 has two programs"),
        ("[[engines]]\nnumbers = [0]\nprogram = \"no.uc\"\n", "no.uc"),
        (
            "[[engines]]\nnumbers = [0]\nprogram = \"cross.toml\"\n",
            "cross.toml is not named as a program is",
        ),
        ("[[engine]]\nnumbers = [0]\n", "unknown field `engine`"),
        ("name = \"x\"\n", "no engine has a program"),
        (
            "[[engines]]\nnumbers = [0]\nprogram = \"cross.uc\"\n[[memory]]\nunit = \"sram\"\nword = 18446744073709551615\nwords = [1]\n",
            "memory",
        ),
        (
            "[[engines]]\nnumbers = [0]\nprogram = \"cross.uc\"\n[[memory]]\nunit = \"sram\"\nword = 2097151\nwords = [1, 2]\n",
            "2 words from word 2097151 on do not fit into a memory of 2097152",
        ),
        (
            "[[engines]]\nnumbers = [0]\nprogram = \"cross.uc\"\n[[memory]]\nunit = \"scratch\"\nword = 0\nfile = \"cross.toml\"\n",
            "is no word of 32 bits in hexadecimal",
        ),
    ] {
        place.write("wrong.toml", chip.as_bytes());
        let ran = place.wireloom("run wrong.toml --on ixp1200 --set PORT_MASK=7 --in three.pcap");
        ran.status(2).complains(&[complaint]);
    }
    place.write("wrong.uc", b"immed[x, 1]\n");
    let ran = place.wireloom("run wrong.uc --on ixp1200 --in three.pcap");
    ran.status(2).complains(&["error[U0203]", "wrong.uc:1:7"]);
}

#[test]
fn events_are_written_and_held_to_rules() {
    let place = workplace();
    let run = "run cross.toml --on ixp1200 --in frames.pcap";
    place.wireloom(&format!("{run} --events events.csv --assertions")).status(0);
    let events = String::from_utf8(place.read("events.csv")).expect("text");
    assert!(events.starts_with("cycle,event,engine,context,value,id,unit"), "{events}");
    assert!(events.contains(",fbi,t_fifo_wr,"), "{events}");
    let few = place.wireloom(&format!("{run} --events events.csv --events-most 10"));
    few.status(0).complains(&["events were left out", "--events-most"]);
    assert_eq!(place.read("events.csv").iter().filter(|byte| **byte == b'\n').count(), 11);
    place.write("slow.rules", b"slow: issue to done of fbi csr_rd takes at least 100\n");
    let broken = place.wireloom(&format!("{run} --rules slow.rules"));
    broken.status(1).complains(&["the events break the rule `slow`: cycle "]);
    place.write("slow.rules", b"slow: issue to nowhere\n");
    let wrong = place.wireloom(&format!("{run} --rules slow.rules"));
    wrong.status(2).complains(&["slow.rules:1: "]);
    let native = place.wireloom("run hub.loom --in three.pcap --events events.csv");
    native.status(2).complains(&["--events has no effect on native"]);
}

#[test]
fn a_profile_has_the_lines_of_the_program() {
    let place = Workplace::new();
    place.write("frames.pcap", &pcap(&vec![frame(0x0800); 3]));
    let run =
        |on: &str| format!("run hub.loom --on {on} --tables hub.tables --in frames.pcap --profile");
    place.write(
        "riscv.toml",
        b"extends = \"mpsoc-oc48\"\n[processor]\ninstruction_set = \"rv32im\"\n",
    );
    for on in ["ixp1200", "raw-3", "mpsoc-oc48", "riscv.toml"] {
        let ran = place.wireloom(&format!("{} --rows 2 --json profile.json", run(on)));
        ran.status(0).says(&["instructions", "waiting", "all lines", "--rows 0 shows all"]);
        let json: serde_json::Value =
            serde_json::from_slice(&place.read("profile.json")).expect("JSON");
        let lines = json["profile"]["lines"].as_array().expect("lines");
        for key in ["instructions", "executing", "waiting"] {
            let all: u64 = lines.iter().map(|line| line[key].as_u64().expect("a number")).sum();
            assert_eq!(json["profile"]["total"][key], all, "{on}, {key}");
        }
        if let Some(all) = json["simulation"]["instructions"].as_u64() {
            assert_eq!(json["profile"]["total"]["instructions"], all, "{on}");
        }
        // The line of Loom C that counts is executed at least once per packet.
        let line = lines.iter().find(|line| line["place"] == "hub.loom:13").expect("a line");
        assert!(line["instructions"].as_u64() >= Some(3), "{on}: {line}");
    }
    place.write("cross.uc", CROSS);
    let cross = "run cross.uc --on ixp1200 --set PORT_MASK=3 --in frames.pcap --profile";
    place.wireloom(cross).status(0).says(&["cross.uc:"]);
    place.wireloom(&run("native")).status(2).complains(&["--profile has no effect on native"]);
}

/// No capture has packets to ports that a chip lacks. Reports count them, and traces and packet
/// tests say what became of them.
#[test]
fn packets_to_ports_that_a_chip_lacks_are_dropped_and_counted() {
    let place = workplace();
    place.write("out.loom", b"engine out() { step begin { packet.egress = 12; finish; } }");
    let tests = "\
program out.loom
test a byte leaves
packet 0 zeros(1)
expect 12 zeros(1)
test no byte leaves
packet 0 zeros(0)
expect 12 zeros(0)
";
    place.write("out.packets", tests.as_bytes());
    let dropped = "dropped: the machine has no port 12";
    for chip in ["ixp1200", "ixp2400"] {
        let packets = format!("out.loom --on {chip} --in frames.pcap");
        let ran = place.wireloom(&format!("run {packets} --out out.pcap --json report.json"));
        ran.status(0).says(&["no such port", "3 packets dropped"]);
        let report: serde_json::Value =
            serde_json::from_slice(&place.read("report.json")).expect("JSON");
        assert_eq!(report["simulation"]["outputs"]["nowhere"], 3, "{chip}");
        assert_eq!(place.read("out.pcap").len(), 24, "{chip}: only the header of the capture");
        place.wireloom(&format!("verify {packets}")).status(0).says(&["no difference"]);
        let traced = place.wireloom(&format!("trace {packets} --packet 1"));
        traced.status(0).says(&[&format!("{chip}: {dropped}; no difference from golden")]);
        let tested = place.wireloom(&format!("test out.packets --on {chip}"));
        tested.status(1).says(&[&format!("sent to port 12   {dropped}"), "2 failed"]);
    }
}
