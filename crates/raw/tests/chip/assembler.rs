//! The assembler.

use wireloom_raw::asm::{Program, assemble, listing};

const SOURCE: &str = "
# Every form of an operand.
.tile 0 0
start:  li $t0, 0x12345678
        li $csto, -3
        move $cgno, $csti2
        sll $t1, $t0, 4
        lw $t2, -4($sp)
        sw $csti, ($a0)
        mfsr $v0, cycle
        clz $t3, $t0
        bne $t0, $t1, start
        jal end
        jr $ra
        b start
end:
.switch 0 0
        movei $1, 100
again:  bnezd $1, $1, again route $csto->$cEo, $cWi->$csti, $csto2->$cN2o
        recv $3
        jr $3
        route $cSi->$cNo, $cSi->$csti
        halt";

#[test]
fn a_listing_assembles_to_the_same_words() {
    let program = assemble("a.raw", SOURCE).unwrap_or_else(|error| panic!("{}", error.render()));
    let (tile, switch) = program.of((0, 0));
    assert_eq!((tile.len(), switch.len()), (13, 6));
    let text = listing(&program).unwrap();
    let again =
        assemble("b.raw", &text).unwrap_or_else(|error| panic!("{}\n{text}", error.render()));
    assert_eq!(again, program, "{text}");
}

#[test]
fn a_listing_refuses_words_that_are_no_instructions() {
    let mut program = Program::default();
    program.set_tile((1, 0), vec![0xffff_ffff]);
    let error = listing(&program).unwrap_err();
    assert_eq!(error, "tile (1,0): 0xffffffff is no instruction of the tile processor");
}

#[test]
fn errors_have_a_line_and_a_caret() {
    let text = ".tile 0 0\n  addu $t0, $csto, $t1\n";
    let shown = assemble("a.raw", text).unwrap_err().render();
    assert!(shown.contains("a.raw:2:13"), "{shown}");
    assert!(shown.contains("^^^^^"), "{shown}");
    assert!(shown.starts_with("error: $csto can only be written"), "{shown}");
}

#[test]
fn wrong_sources_are_refused_with_the_reason() {
    for (text, message) in [
        ("nop", "instruction outside a section"),
        (".tile 0", "column and row of a tile"),
        (".tile 16 0", "column and row of a tile"),
        (".data", "unknown directive"),
        (".tile 0 0\n.tile 0 0", "begun before"),
        (".tile 0 0\na: nop\na: nop", "label `a` is declared twice"),
        (".tile 0 0\n foo", "there is no instruction `foo`"),
        (".tile 0 0\n addu $t0, $t1", "`addu` has 3 operands"),
        (".tile 0 0\n addiu $t0, $t1, 32768", "a number from -32768 to 32767"),
        (".tile 0 0\n addiu $t0, $t1, 1e", "a number from -32768 to 32767"),
        (".tile 0 0\n j nowhere", "there is no label `nowhere`"),
        (".tile 0 0\n lw $t0, 4", "an address is needed"),
        (".tile 0 0\n mfsr $t0, clock", "unknown special register"),
        (".switch 0 0\n foo", "unknown control operation"),
        (".switch 0 0\n move $4, $0", "a register of the switch"),
        (".switch 0 0\n route", "routes are needed"),
        (".switch 0 0\n route $cWi", "malformed route"),
        (".switch 0 0\n route $cWo->$csti", "no source"),
        (".switch 0 0\n route $cWi->$csto", "no destination"),
        (".switch 0 0\n route $cWi->$csti2", "of two networks"),
        (".switch 0 0\n route $cWi->$csti, $cEi->$csti", "a source already"),
        (".switch 0 0\n recv $1 route $csto->$cNo", "`recv` takes"),
        (".switch 0 0\n movei $1, 8192", "a number from 0 to 8191"),
        (".tile 0 0\n äö(", "there is no instruction"),
    ] {
        let error = assemble("a.raw", text).unwrap_err();
        assert_eq!(error.diagnostics.len(), 1, "{text}");
        let found = &error.diagnostics[0].message;
        assert!(found.contains(message), "{text}: {found}");
        assert!(!error.render().is_empty());
    }
}
