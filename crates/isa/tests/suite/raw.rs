//! The instruction sets of the tiled processor.

mod page;

use proptest::prelude::*;
use wireloom_isa::raw::{Register, switch, tile};

#[test]
fn each_row_has_words_of_its_own() {
    for (number, row) in tile::TABLE.iter().enumerate() {
        assert_eq!(row.code & !row.mask(), 0, "{}", row.mnemonic);
        for other in &tile::TABLE[number + 1..] {
            let common = row.mask() & other.mask();
            assert_ne!(
                row.code & common,
                other.code & common,
                "{} {}",
                row.mnemonic,
                other.mnemonic
            );
        }
    }
}

#[test]
fn words_of_the_mips32_encoding_decode_to_their_instructions() {
    for (word, index, text) in [
        (0x27bd_ffe0, 0, "addiu $sp, $sp, -32"),
        (0x8fbf_001c, 0, "lw $ra, 28($sp)"),
        (0x1440_fffd, 5, "bne $v0, $zero, l3"),
        (0x0000_0000, 0, "sll $zero, $zero, 0"),
        (0x7062_1002, 0, "mul $v0, $v1, $v0"),
        (0x0319_c021, 0, "addu $csto, $csti, $cgni"),
    ] {
        let instruction = tile::decode(word).unwrap();
        assert_eq!(tile::disassemble(&instruction, index), text);
    }
    assert!(tile::decode(0xffff_ffff).is_err());
}

#[test]
fn network_registers_have_directions() {
    assert_eq!(Register::parse("$csti"), Some((Register(24), Some(true))));
    assert_eq!(Register::parse("$cgno"), Some((Register(25), Some(false))));
    assert_eq!(Register::parse("$32"), None);
    assert_eq!(Register::parse("$+1"), None);
}

proptest! {
    #[test]
    fn tile_words_survive_decoding(row in 0..tile::TABLE.len(), bits: u32) {
        let row = &tile::TABLE[row];
        if let Ok(instruction) = tile::decode(row.code | bits & !row.mask()) {
            let word = row.code | bits & !row.mask();
            prop_assert_eq!(tile::encode(&instruction), word);
            prop_assert_eq!(instruction.op, row.op);
        }
    }

    #[test]
    fn switch_instructions_survive_encoding(
        control in 0..switch::CONTROL.len(),
        fields in (0u8..4, 0u8..4, 0u16..8192),
        ports in prop::array::uniform10(0usize..6),
        own in 0usize..6,
    ) {
        let (control, _, slots, _) = switch::CONTROL[control];
        let has = |slot| slots.contains(&slot);
        let has_constant = has(switch::Slot::Target) || has(switch::Slot::Value);
        let mut instruction = switch::Instruction {
            control,
            destination: fields.0 * u8::from(has(switch::Slot::Destination)),
            source: fields.1 * u8::from(has(switch::Slot::Source)),
            constant: fields.2 * u16::from(has_constant),
            ..Default::default()
        };
        for (route, port) in instruction.routes.iter_mut().flatten().zip(ports) {
            *route = port.checked_sub(1).map(|port| switch::SOURCES[port]);
        }
        instruction.own = own.checked_sub(1).map(|port| switch::SOURCES[port]);
        // `recv` takes the word of the tile itself, or a routed one. Other operations take none.
        let takes_twice = instruction.receives()
            && instruction.routes[0].contains(&Some(switch::Source::Tile));
        let takes = control != switch::Control::Receive && instruction.own.is_some();
        let decoded = switch::decode(switch::encode(&instruction)).ok();
        prop_assert_eq!(decoded, (!takes_twice && !takes).then_some(instruction));
    }
}
