//! Programs of tiles and switches.

use super::*;

const NULL: &[u8] = include_bytes!("../../../../programs/raw/null.rasm");

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
    place.write("main.c", include_bytes!("../../../../programs/raw/c/checksums.c"));
    let ran = place.wireloom("tile main.c --words 0x10000:2 --json ran.json");
    ran.status(0);
    // The first two numbers of the program's generator.
    assert!(ran.out.contains("0x00010000  3c88596c 5e8885db\n"), "{}", ran.out);
    assert!(ran.out.starts_with("main.c: main returned 0 after "), "{}", ran.out);
    let json = String::from_utf8(place.read("ran.json")).expect("it is text");
    assert!(json.contains("\"returned\": 0") && json.contains("\"machine\": \"raw\""), "{json}");
    let ran = place.wireloom("tile main.c --cycles 100");
    ran.status(1);
    assert!(ran.out.contains("main is still running after 100 cycles"), "{}", ran.out);
    place.write("three.c", b"int main(void) { return 3; }\n");
    place.wireloom("tile three.c").status(1);
    place.write("bad.c", b"int main(void) { return x; }\n");
    place.wireloom("tile bad.c").status(1).complains(&["bad.c:1:25", "undeclared"]);
    for (words, message) in [
        ("tile none.c", "none.c: there is no such file"),
        ("tile main.c --on golden", "has no tiles"),
        ("tile main.c --words 0x10001:1", "multiple of 4"),
        ("tile main.c --words 0x7fffffc:2", "does not have 2 words"),
        ("tile main.c --cycles 0", "0"),
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
    let ran = place.wireloom("map hub.loom --tables two.tables --in many.pcap");
    ran.status(2).complains(&["60 of 120 packets were dropped", "must know their destinations"]);
}
