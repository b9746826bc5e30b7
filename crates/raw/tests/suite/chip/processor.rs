//! The timing of instructions, and interrupts.

use super::chip;
use wireloom_isa::raw::Network;
use wireloom_raw::device::Source;
use wireloom_raw::{Header, Side};

/// Returns the cycles that a piece of program takes.
fn cycles(piece: &str) -> u32 {
    let source = format!(
        ".tile 0 0\n li $t1, 3\n li $t2, 6\n mfsr $t0, cycle\n{piece}\n mfsr $t3, cycle\n break"
    );
    let mut chip = chip(1, 1, &source);
    chip.run(1000).unwrap();
    chip.register((0, 0), 11) - chip.register((0, 0), 8) - 1
}

#[test]
fn instructions_take_the_cycles_of_their_classes() {
    for (piece, wanted) in [
        ("", 0),
        ("addu $t4, $t1, $t2\n addu $t4, $t4, $t4", 2),
        ("mul $t4, $t1, $t2\n nop\n addu $t5, $t4, $t4", 3),
        ("mul $t4, $t1, $t2\n addu $t5, $t4, $t4", 3),
        ("div $t1, $t2\n mflo $t4", 43),
        ("div $t1, $t2\n nop\n nop", 3),
        ("beq $t1, $t2, on\n on:", 1),
        ("beq $t1, $t1, on\n nop\n on:", 4),
        ("j on\n nop\n on:", 1),
        // Taken three times as predicted, then not taken.
        ("again: addiu $t1, $t1, -1\n bgez $t1, again", 2 * 4 + 3),
    ] {
        assert_eq!(cycles(piece), wanted, "{piece}");
    }
}

#[test]
fn results_of_different_latencies_enter_a_network_in_order() {
    let source = ".tile 0 0\n li $t1, 3\n mul $csto, $t1, $t1\n addiu $csto, $t1, 1\n \
                  move $t2, $csti\n move $t3, $csti\n break\n\
                  .switch 0 0\n route $csto->$csti\n route $csto->$csti\n halt";
    let mut chip = chip(1, 1, source);
    chip.run(1000).unwrap();
    assert_eq!([10, 11].map(|number| chip.register((0, 0), number)), [9, 4]);
}

#[test]
fn a_message_interrupts_a_program_which_goes_on_afterwards() {
    let source = "
.tile 0 0
 li $t0, 40
 mtsr $t0, vector
 li $t0, 1
 mtsr $t0, mask
 inton
again:
 addiu $t1, $t1, 1
 beq $t2, $zero, again
 break
 nop
 nop
 move $zero, $cgni       # address 40: the header
 move $t2, $cgni
 mfsr $t3, epc
 eret";
    let mut chip = chip(1, 1, source);
    let words = [Header { length: 1, ..Header::default() }.word(), 77];
    chip.attach((0, 0), Side::West, Source::new(Network::General, words, 100, 1)).unwrap();
    chip.run(1000).unwrap();
    let [count, word, epc] = [9, 10, 11].map(|number| chip.register((0, 0), number));
    assert_eq!(word, 77);
    assert!(count > 40 && (epc == 20 || epc == 24), "{count} {epc}");
    assert!(chip.is_halted());
}
