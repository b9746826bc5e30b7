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
