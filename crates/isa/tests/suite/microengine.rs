//! Tests the instruction sets of microengines: words, their meanings, and the page that lists them.

mod page;

use proptest::prelude::*;
use wireloom_isa::microengine::compute::{alu, double_shift};
use wireloom_isa::microengine::operand::{Bank, Destination, Index, Shift, Source, TransferFile};
use wireloom_isa::microengine::table::{Field, Form, Parsed, Piece};
use wireloom_isa::microengine::{
    AluOperation, Check, Command, Completion, Condition, Flags, Inputs, Instruction, Operation,
    Override, Polynomial, Signal, Unencodable, Unit, Version, Wait, decode, encode,
};

const VERSIONS: [Version; 2] = [Version::One, Version::Two];

/// Returns a word of a row with random bits in its fields.
fn word(version: Version, row: &Parsed, random: u64) -> u64 {
    row.fixed | random & !row.mask & ((1 << version.word_bits()) - 1)
}

fn gpr(bank: Bank, number: u8) -> Source {
    Source::Gpr(bank, Index::Relative(number))
}

const NO_OUTPUT: Destination = Destination::None;

#[test]
fn no_word_belongs_to_two_rows() {
    for version in VERSIONS {
        let rows: Vec<&Parsed> =
            version.rows().iter().filter(|row| row.row.form != Form::LoadAddress).collect();
        for (at, row) in rows.iter().enumerate() {
            for other in &rows[at + 1..] {
                let difference = (row.fixed ^ other.fixed) & row.mask & other.mask;
                assert_ne!(difference, 0, "{} and {}", row.row.syntax, other.row.syntax);
            }
        }
    }
}

#[test]
fn the_pieces_of_a_word_fill_it() {
    for version in VERSIONS {
        for row in version.rows() {
            let width: u32 = row.pieces.iter().map(|placed| placed.width).sum();
            assert_eq!(width, version.word_bits(), "{}", row.row.syntax);
            let has_field = row.pieces.iter().any(|placed| matches!(placed.piece, Piece::Field(_)));
            let has_operand = row.row.syntax.contains('[');
            assert_eq!(has_field, has_operand, "{}", row.row.syntax);
        }
    }
}

/// Returns a word of a row that decodes. Fields with sparse codes get small values, so that few
/// tries suffice.
fn decoded(version: Version, row: &Parsed, seed: u64) -> Option<(u64, Instruction)> {
    let mut random = seed;
    (0..4000).find_map(|_| {
        // SplitMix64.
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let word = word(version, row, mixed ^ mixed >> 31);
        decode(version, word, 300).map(|instruction| (word, instruction))
    })
}

#[test]
fn every_row_has_words_that_decode_to_its_form() {
    for version in VERSIONS {
        for row in version.rows() {
            if row.row.form == Form::LoadAddress {
                continue;
            }
            let (_, instruction) = decoded(version, row, 1)
                .unwrap_or_else(|| panic!("{} has no words", row.row.syntax));
            assert_eq!(instruction.form(), row.row.form, "{}", row.row.syntax);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_decodes_encodes_to_the_same_word(seed: u64) {
        for version in VERSIONS {
            for row in version.rows().iter().filter(|row| row.row.form != Form::LoadAddress) {
                if let Some((word, instruction)) = decoded(version, row, seed) {
                    prop_assert_eq!(encode(version, &instruction, 300), Ok(word));
                }
            }
        }
    }

    #[test]
    fn no_word_makes_the_decoder_panic(word: u64, address: u16) {
        for version in VERSIONS {
            let _ = decode(version, word, address);
            let _ = decode(version, word >> 24, address);
        }
    }

    #[test]
    fn sums_and_differences_agree_with_wide_arithmetic(a: u32, b: u32, carry: bool) {
        let wide = |x: u32| i64::from(x as i32);
        let fits = |x: i64| i32::try_from(x).is_ok();
        let (sum, flags) = alu(AluOperation::AddCarry, a, b, carry);
        prop_assert_eq!(u64::from(sum) | u64::from(flags.carry) << 32,
            u64::from(a) + u64::from(b) + u64::from(carry));
        prop_assert_eq!(flags.overflow, !fits(wide(a) + wide(b) + i64::from(carry)));
        let (difference, flags) = alu(AluOperation::Subtract, a, b, carry);
        prop_assert_eq!(difference, a.wrapping_sub(b));
        prop_assert_eq!(flags.carry, a >= b);
        prop_assert_eq!(Condition::Less.holds(flags), (a as i32) < (b as i32));
        prop_assert_eq!(Condition::Greater.holds(flags), (a as i32) > (b as i32));
        prop_assert_eq!(Condition::Equal.holds(flags), a == b);
        let (reverse, _) = alu(AluOperation::ReverseSubtract, a, b, carry);
        prop_assert_eq!(reverse, b.wrapping_sub(a));
    }

    #[test]
    fn an_override_survives_its_word(count in 1u8..=32, transfer in 0u16..512, context in 0u8..8) {
        let given = Override { count: Some(count), transfer: Some(transfer),
            context: Some(context), fifo: None };
        prop_assert_eq!(Override::from_word(given.word()), given);
    }
}

#[test]
fn words_with_bits_beyond_the_version_are_undefined() {
    let nop = encode(Version::One, &Instruction::Nop, 0).expect("a nop");
    assert_eq!(decode(Version::One, nop, 0), Some(Instruction::Nop));
    assert_eq!(decode(Version::One, nop | 1 << 32, 0), None);
    assert_eq!(decode(Version::One, nop | 1, 0), None, "the rest of a word is 0");
}

#[test]
fn operands_of_one_bank_have_no_word() {
    let add =
        |a, b| Instruction::Alu { destination: NO_OUTPUT, a, operation: AluOperation::Add, b };
    for version in VERSIONS {
        let word = |a, b| encode(version, &add(a, b), 0);
        assert_eq!(word(gpr(Bank::A, 1), gpr(Bank::A, 2)), Err(Unencodable::Bank(Bank::A)));
        assert!(word(gpr(Bank::B, 1), gpr(Bank::A, 2)).is_ok());
        let transfer = |number| Source::Transfer(TransferFile::Sram, Index::Relative(number));
        assert_eq!(word(transfer(1), transfer(2)), Err(Unencodable::File));
        assert!(word(transfer(1), transfer(1)).is_ok());
    }
}

#[test]
fn a_short_branch_has_its_reach() {
    let branch = |target| Instruction::BranchByte {
        register: gpr(Bank::A, 0),
        byte: 0,
        value: 1,
        equal: true,
        target,
        defer: 0,
    };
    assert!(encode(Version::One, &branch(427), 300).is_ok());
    assert!(encode(Version::One, &branch(172), 300).is_ok());
    let far = Unencodable::Far { distance: 128, reach: 128 };
    assert_eq!(encode(Version::One, &branch(428), 300), Err(far));
    assert!(encode(Version::Two, &branch(5000), 300).is_ok());
}

#[test]
fn defer_slots_hang_on_the_class() {
    let branch = |condition, defer| Instruction::Branch { condition, target: 0, defer };
    for (version, most) in [(Version::One, [1, 2]), (Version::Two, [2, 3])] {
        for (condition, most) in [Condition::Always, Condition::Equal].into_iter().zip(most) {
            assert!(encode(version, &branch(condition, most), 0).is_ok());
            let refused = Err(Unencodable::Defer { most });
            assert_eq!(encode(version, &branch(condition, most + 1), 0), refused);
        }
    }
    let mut read = Command::new(Unit::Sram, Operation::Read);
    (read.transfer, read.count) = (Some(0), 1);
    (read.a, read.b) = (gpr(Bank::A, 0), Source::Constant(0));
    read.defer = 1;
    let word = encode(Version::One, &Instruction::Command(read), 0);
    assert_eq!(word, Err(Unencodable::DeferWithoutSwap));
    read.completion = Completion::Swap(Signal::SRAM);
    assert!(encode(Version::One, &Instruction::Command(read), 0).is_ok());
    read.completion = Completion::Swap(Signal::SDRAM);
    let word = encode(Version::One, &Instruction::Command(read), 0);
    assert_eq!(word, Err(Unencodable::Signal), "a unit of version 1 has one signal");
}

#[test]
fn every_constant_of_sixteen_bits_has_a_word() {
    let immediate = |value| Instruction::Immediate {
        destination: Destination::Gpr(Bank::A, Index::Relative(0)),
        value,
    };
    for version in VERSIONS {
        for value in [0, 1, 0xffff, 0xffff_0000, 0x00ff_ff00, 0xffff_ffff, 0xff00_00ff, 0xffff_1234]
        {
            let word = encode(version, &immediate(value), 0).expect("a constant");
            assert_eq!(decode(version, word, 0), Some(immediate(value)));
        }
        assert!(encode(version, &immediate(0x1234_5678), 0).is_err());
    }
}

#[test]
fn public_operation_codes_of_version_2_are_kept() {
    let top = |instruction| encode(Version::Two, &instruction, 0).expect("a word") >> 32;
    let destination = Destination::Gpr(Bank::A, Index::Relative(0));
    let (a, b) = (gpr(Bank::A, 0), gpr(Bank::B, 0));
    let shifted = Instruction::AluShift {
        destination,
        a,
        operation: AluOperation::And,
        b,
        shift: Shift::Left(1),
    };
    assert_eq!(top(shifted) & 0xe0, 0x80);
    let add = Instruction::Alu { destination, a, operation: AluOperation::Add, b };
    assert_eq!(top(add) & 0xe0, 0xa0);
    let field = Instruction::LoadField {
        destination,
        mask: 1,
        source: b,
        shift: Shift::None,
        clear: false,
    };
    assert_eq!(top(field) & 0xf8, 0xc0);
    let wait = Instruction::Arbitrate { wait: Wait::Kill, defer: 0 };
    assert_eq!(top(wait) & 0xf8, 0xe0);
    assert_eq!(top(Instruction::LocalCsrRead { csr: 0 }) & 0xfc, 0xfc);
}

#[test]
fn byte_operations_keep_the_other_bytes() {
    let destination = Destination::Gpr(Bank::A, Index::Relative(0));
    let source = gpr(Bank::B, 0);
    let inputs = Inputs { a: 0x1122_3344, b: 0xaabb_ccdd, ..Inputs::default() };
    let value = |instruction: Instruction| instruction.compute(&inputs).expect("a value").value;
    let field = |mask, shift, clear| {
        value(Instruction::LoadField { destination, mask, source, shift, clear })
    };
    assert_eq!(field(0b0101, Shift::None, false), 0x11bb_33dd);
    assert_eq!(field(0b0011, Shift::Right(16), false), 0x1122_aabb);
    assert_eq!(field(0b0011, Shift::Rotate(8), true), 0x0000_bbcc);
    let byte =
        |byte, value_| value(Instruction::ImmediateByte { destination, byte, value: value_ });
    assert_eq!(byte(2, 0xff), 0x11ff_3344);
    let word = value(Instruction::ImmediateWord { destination, word: 1, value: 0xbeef });
    assert_eq!(word, 0xbeef_3344);
    assert_eq!(double_shift(0x1, 0x8000_0000, 31), 3);
    assert_eq!(Flags::of(0).bits(), 0b0100);
}

#[test]
fn only_version_2_adds_a_byte_and_stops_at_breakpoints() {
    let destination = Destination::Gpr(Bank::A, Index::Relative(0));
    let (a, b) = (gpr(Bank::A, 0), gpr(Bank::B, 0));
    let add = Instruction::Alu { destination, a, operation: AluOperation::Add8, b };
    let operation = Err(Unencodable::Field(Field::Operation));
    assert_eq!(encode(Version::One, &add, 0), operation);
    assert_eq!(alu(AluOperation::Add8, 0x1000, 0xabcd_ef12, false).0, 0x1012);
    let stop = Instruction::Arbitrate { wait: Wait::Breakpoint, defer: 0 };
    assert_eq!(encode(Version::One, &stop, 0), Err(Unencodable::Signal));
    for instruction in [add, stop] {
        let word = encode(Version::Two, &instruction, 0).expect("a word");
        assert_eq!(decode(Version::Two, word, 0), Some(instruction));
    }
}

/// The catalogue of parametrised CRC algorithms lists these values for "123456789".
#[test]
fn checks_are_the_published_ones() {
    let cases = [
        (Polynomial::Ccitt, 0xffff, false, 0x29b1),
        (Polynomial::Ccitt, 0, false, 0x31c3),
        (Polynomial::Crc32, !0, false, 0x0376_e6e7),
        (Polynomial::Crc32, !0, true, (0xcbf4_3926_u32 ^ !0).reverse_bits()),
        (Polynomial::Iscsi, !0, true, (0xe306_9283_u32 ^ !0).reverse_bits()),
        (Polynomial::Crc10, 0, false, 0x199),
        (Polynomial::Crc5, 0x1f, true, (0x19_u32 ^ 0x1f).reverse_bits() >> 27),
    ];
    for (polynomial, start, bit_swap, expected) in cases {
        let check = |first, last| Check { polynomial, first, last, bit_swap };
        let words = [(0x3132_3334, 3), (0x3536_3738, 3), (0x39aa_bbcc, 0)];
        for little_endian in [false, true] {
            let remainder = words.iter().fold(start, |remainder, &(word, last)| {
                let word: u32 = if little_endian { u32::swap_bytes(word) } else { word };
                // All at once, and in two parts.
                let whole = check(0, last).remainder(remainder, word, little_endian);
                if last == 3 {
                    let half = check(0, 1).remainder(remainder, word, little_endian);
                    assert_eq!(check(2, 3).remainder(half, word, little_endian), whole);
                }
                whole
            });
            assert_eq!(remainder, expected, "{polynomial:?}");
        }
    }
}
