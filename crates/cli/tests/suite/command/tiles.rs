//! Programs for tiles and switches.

use super::*;

const NULL: &[u8] = include_bytes!("../../../../../programs/raw/null.rasm");

#[test]
fn a_program_of_tiles_is_assembled_and_disassembled() {
    let place = Workplace::new();
    place.write("null.rasm", NULL);
    let ran = place.wireloom("assemble null.rasm -o null.robj");
    ran.status(0);
    assert!(ran.out.starts_with("null.rasm: 912 instructions of tiles, 96 of switches"));
    let ran = place.wireloom("assemble null.robj --disassemble");
    ran.status(0);
    assert!(ran.out.contains(".switch 3 3\n") && ran.out.contains("route $cNi->$csti"));
    place.write("again.rasm", ran.out.as_bytes());
    place.wireloom("assemble again.rasm -o again.robj").status(0);
    assert_eq!(place.read("again.robj"), place.read("null.robj"));
}

#[test]
fn a_program_in_c_runs_on_a_tile() {
    let place = Workplace::new();
    place.write("main.c", include_bytes!("../../../../../programs/raw/c/checksums.c"));
    let ran = place.wireloom("raw tile main.c --words 0x10000:2 --json ran.json");
    ran.status(0);
    // The first two numbers of the program's generator.
    assert!(ran.out.contains("0x00010000  3c88596c 5e8885db\n"), "{}", ran.out);
    assert!(ran.out.starts_with("main.c: main returned 0 after "), "{}", ran.out);
    let json = String::from_utf8(place.read("ran.json")).expect("it is text");
    assert!(json.contains("\"returned\": 0") && json.contains("\"machine\": \"raw\""), "{json}");
    let ran = place.wireloom("raw tile main.c --cycles 100");
    ran.status(1);
    assert!(ran.out.contains("main is still running after 100 cycles"), "{}", ran.out);
    place.write("three.c", b"int main(void) { return 3; }\n");
    place.wireloom("raw tile three.c").status(1);
    place.write("bad.c", b"int main(void) { return x; }\n");
    place.wireloom("raw tile bad.c").status(1).complains(&["bad.c:1:25", "undeclared"]);
    for (words, message) in [
        ("raw tile none.c", "none.c: there is no such file"),
        ("raw tile main.c --on golden", "has no tiles"),
        ("raw tile main.c --words 0x10001:1", "multiple of 4"),
        ("raw tile main.c --words 0x7fffffc:2", "does not have 2 words"),
        ("raw tile main.c --cycles 0", "0"),
    ] {
        place.wireloom(words).status(2).complains(&[message]);
    }
}

#[test]
fn wrong_programs_of_tiles_are_refused_with_the_place() {
    let place = Workplace::new();
    place.write("bad.rasm", b".tile 0 0\n lw $t0, 4\n");
    place.wireloom("assemble bad.rasm -o bad.robj").status(1).complains(&["bad.rasm:2:10", "^"]);
    place.write("cut.robj", b"wireloom raw 1\ntile 0 0 zz\n");
    let ran = place.wireloom("assemble cut.robj --disassemble");
    ran.status(2).complains(&["cut.robj: line 2: malformed"]);
    place.write("null.rasm", NULL);
    for (words, message) in [
        ("assemble null.rasm -O -o x", "have no effect for programs of tiles"),
        ("assemble null.rasm", "give it by -o FILE.robj"),
    ] {
        place.wireloom(words).status(2).complains(&[message]);
    }
}

#[test]
fn a_mapping_is_measured_with_packets_that_are_forwarded() {
    let place = Workplace::new();
    place.write("two.tables", b"table ports\n0 out=1\n");
    let frames: Vec<_> =
        (0..120).map(|n| frame(if n % 2 == 0 { 0x0800 } else { 0x0806 })).collect();
    place.write("many.pcap", &pcap(&frames));
    let ran = place.wireloom("raw map hub.loom --tables two.tables --in many.pcap");
    ran.status(2).complains(&["60 of 120 packets were dropped", "must know their destinations"]);
}

/// A program for switches that counts the words of packets, and its board.
const COUNTS: &[u8] = b"# Counts the words of a packet.\n\
.switch 0 0\nmessage:\n recv $1 route $cNi->$swi, $cNi->$cWo\n\
more: bnezd $1, $1, more route $cNi->$cWo\n j message\n";
const BOARD: &[u8] = b"extends = \"raw\"\n[board]\nframing = \"counted\"\n\
inputs = [{ tile = [0, 0], side = \"north\" }]\noutputs = [{ tile = [0, 0], side = \"west\" }]\n";

#[test]
fn a_program_of_switches_runs_and_is_debugged() {
    let place = Workplace::new();
    place.write("counts.rasm", COUNTS);
    place.write("board.toml", BOARD);
    let frames = [frame(0x0800), frame(0x0806)];
    place.write("frames.pcap", &pcap(&frames));
    let run = "run counts.rasm --on board.toml --in frames.pcap";
    let ran = place.wireloom(&format!("{run} --out out.pcap --json ran.json"));
    ran.status(0).says(&["counts on board", "2 came, 2 left", "port 0"]);
    let (sent, left) = (place.read("frames.pcap"), place.read("out.pcap"));
    let bytes =
        |capture: &[u8]| capture.windows(60).filter(|w| frames.contains(&w.to_vec())).count();
    assert_eq!((bytes(&sent), bytes(&left)), (2, 2));
    let json: serde_json::Value = serde_json::from_slice(&place.read("ran.json")).expect("JSON");
    assert_eq!((&json["simulation"]["sent"], &json["engine"]), (&2.into(), &"counts".into()));
    let ran = place.wireloom(&format!("{run} --profile"));
    // The second line of a packet of 60 bytes is executed for each of its 16 words.
    ran.status(0).says(&["counts.rasm:5", " 32 ", "all lines"]);
    // An object file runs too, without line numbers.
    place.wireloom("assemble counts.rasm -o counts.robj").status(0);
    place.wireloom(&run.replace(".rasm", ".robj")).status(0).says(&["2 came, 2 left"]);
    let script = "break more\nbreak counts.rasm:6\ncontinue\nwhere\nregs $1\nstep 2\nregs $1\n\
                  queues\ndelete 1\ncontinue\ndelete\ncontinue\npackets\n";
    place.write("script", script.as_bytes());
    let debug = "debug counts.rasm --on board.toml --in frames.pcap --script script";
    let ran = place.wireloom(debug);
    ran.status(0).says(&[
        "board: 32 threads, 1 with a program; 425 MHz",
        "breakpoint 1, break more",
        "counts.rasm:5",
        "$1       0x0000000f         15",
        "$1       0x0000000e         14",
        "static network 1  1 of 4   from switch (0,0) to device West of (0,0) on static network 1",
        "breakpoint 2, break counts.rasm:6",
        "every packet has left",
        "packet 1: sent to port 0, 60 bytes",
    ]);
    assert_eq!(ran.out, place.wireloom(debug).out);
}

#[test]
fn programs_of_switches_that_cannot_run_are_status_2() {
    let place = Workplace::new();
    place.write("counts.rasm", COUNTS);
    place.write("board.toml", BOARD);
    let stuck = String::from_utf8_lossy(COUNTS).replace(" j message", " halt");
    place.write("stuck.rasm", stuck.as_bytes());
    place.write("frames.pcap", &pcap(&[frame(0x0800), frame(0x0806)]));
    place.write("tables", b"table routes\n10.0.0.0/8 = 1\n");
    place.write("wrong.toml", &[BOARD, b"speed = 3\n"].concat());
    for (words, messages) in [
        (
            "run stuck.rasm --on board.toml",
            &["no step since cycle", "1 of 2 packets have left"][..],
        ),
        ("run counts.rasm --on raw", &["raw does not say where packets come", "[board]"]),
        ("run counts.rasm --on native", &["counts.rasm is no source file in Loom C", "[board]"]),
        ("verify counts.rasm --on board.toml", &["counts.rasm is no source file in Loom C"]),
        ("run counts.rasm --on board.toml --set A=1", &["--set has no effect"]),
        ("run counts.rasm --on board.toml --engine a", &["--engine has no effect"]),
        ("run counts.rasm --on board.toml --warm 1", &["--warm has no effect"]),
        ("run counts.rasm --on board.toml --tables tables", &["there is no offload `routes`"]),
        ("run counts.rasm --on wrong.toml", &["wrong.toml", "unknown field `speed`"]),
        ("run none.rasm --on board.toml", &["none.rasm: "]),
    ] {
        let ran = place.wireloom(&format!("{words} --in frames.pcap"));
        ran.status(2).complains(messages);
    }
    // An engine does not use the board, and a warning says so.
    let ran = place.wireloom("run hub.loom --on board.toml --tables hub.tables --in frames.pcap");
    ran.status(0).complains(&["[board] changes nothing here"]);
}
