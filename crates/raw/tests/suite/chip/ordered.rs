//! Compares programs whose instructions the compiler has reordered with the same programs in source
//! order.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use wireloom_codegen_tile::{Latencies, ordered};
use wireloom_isa::raw::tile::{Instruction, Op, decode, encode};
use wireloom_isa::raw::{Network, Register};
use wireloom_raw::asm::assemble;
use wireloom_raw::device::{Memory, MemorySpec, Sink, Source};
use wireloom_raw::{Chip, Header, Side, Spec};

/// Registers that hold values.
const VALUES: std::ops::Range<u8> = 2..12;
/// Two addresses so close that accesses through them overlap.
const BASES: [u8; 2] = [28, 29];
const MEMORY: u32 = 0x1000;
/// The port that is read, and the port that is written.
const NETWORKS: [u8; 2] = [25, 24];

fn latencies() -> Latencies {
    let tile = Spec::built_in().tile;
    Latencies { load: tile.load_cycles, multiply: tile.multiply_cycles, divide: tile.divide_cycles }
}

fn instruction(op: Op, rd: u8, rs: u8, rt: u8, immediate: u32) -> Instruction {
    Instruction { op, rd: Register(rd), rs: Register(rs), rt: Register(rt), immediate }
}

/// Returns any instruction that does not jump.
fn any_instruction() -> impl Strategy<Value = Instruction> {
    let read = || prop_oneof![8 => VALUES, 1 => Just(NETWORKS[0]), 1 => Just(0)];
    let write = || prop_oneof![8 => VALUES, 1 => Just(NETWORKS[1]), 1 => Just(0)];
    let base = || prop::sample::select(BASES.to_vec());
    let three = [Op::Addu, Op::Subu, Op::Xor, Op::Sltu, Op::Sllv, Op::Mul];
    let kept = [Op::Movz, Op::Movn];
    let memory = [(Op::Lw, 4), (Op::Lhu, 2), (Op::Lb, 1), (Op::Sw, 4), (Op::Sh, 2), (Op::Sb, 1)];
    let product = [Op::Mult, Op::Multu, Op::Divu, Op::Div];
    prop_oneof![
        4 => (prop::sample::select(three.to_vec()), write(), read(), read())
            .prop_map(|(op, rd, rs, rt)| instruction(op, rd, rs, rt, 0)),
        1 => (prop::sample::select(kept.to_vec()), VALUES, VALUES, VALUES)
            .prop_map(|(op, rd, rs, rt)| instruction(op, rd, rs, rt, 0)),
        2 => (write(), read(), 0..100u32)
            .prop_map(|(rt, rs, constant)| instruction(Op::Addiu, 0, rs, rt, constant)),
        1 => (write(), read(), 0..32u32)
            .prop_map(|(rd, rt, amount)| instruction(Op::Srl, rd, 0, rt, amount)),
        1 => base().prop_map(|base| instruction(Op::Addiu, 0, base, base, 4)),
        6 => (prop::sample::select(memory.to_vec()), base(), VALUES, 0..16u32).prop_map(
            |((op, size), base, rt, offset)| instruction(op, 0, base, rt, offset / size * size)
        ),
        1 => (base(), 0..4u32)
            .prop_map(|(base, word)| instruction(Op::Lw, 0, base, NETWORKS[1], 4 * word)),
        1 => (base(), 0..4u32)
            .prop_map(|(base, word)| instruction(Op::Sw, 0, base, NETWORKS[0], 4 * word)),
        1 => (prop::sample::select(product.to_vec()), VALUES, VALUES)
            .prop_map(|(op, rs, rt)| instruction(op, 0, rs, rt, 0)),
        1 => (prop::sample::select(vec![Op::Mfhi, Op::Mflo]), write())
            .prop_map(|(op, rd)| instruction(op, rd, 0, 0, 0)),
        1 => (prop::sample::select(vec![Op::Mthi, Op::Mtlo]), VALUES)
            .prop_map(|(op, rs)| instruction(op, 0, rs, 0, 0)),
    ]
}

/// Results of a program: registers with HI and LO, memory, and the words that it sent.
type Results = (Vec<u32>, Vec<u32>, Vec<u32>);

/// Executes instructions. Also returns the cycles in which they waited for operands.
fn executed(instructions: &[Instruction]) -> (Results, u64) {
    let mut begin = format!(".tile 0 0\n li $28, {MEMORY}\n li $29, {}\n", MEMORY + 8);
    for register in VALUES {
        begin += &format!(" li ${register}, {}\n", 0x1234_5678u32.wrapping_mul(register.into()));
    }
    let end = " mfhi $20\n mflo $21\n break\n.switch 0 0\nagain: j again route $csto->$cEo";
    let mut program = assemble("test.raw", &(begin + end)).expect("a program");
    let mut words = program.of((0, 0)).0.to_vec();
    let at = words.len() - 3;
    words.splice(at..at, instructions.iter().map(encode));
    program.set_tile((0, 0), words);
    let spec = Spec { columns: 1, rows: 1, ..Spec::built_in() };
    let mut chip = Chip::new(&spec, &program).expect("a chip");
    let mut memory = Memory::new(MemorySpec::full_duplex(1 << 16));
    for word in 0..128 {
        *memory.word(MEMORY + 4 * word).expect("a word") = 0x9e37_79b9u32.wrapping_mul(word);
    }
    chip.attach((0, 0), Side::North, memory).expect("a port");
    let header = Header { length: 30, ..Header::default() }.word();
    let messages = (0..40).flat_map(|_| [header].into_iter().chain(100..130));
    let source = Source::new(Network::General, messages, 0, 1);
    chip.attach((0, 0), Side::West, source).expect("a port");
    chip.attach((0, 0), Side::East, Sink::new(Network::Static1, 1)).expect("a port");
    chip.run(20_000).expect("a run");
    assert!(chip.is_halted());
    let registers = (1..32).map(|number| chip.register((0, 0), number)).collect();
    let memory = (0..128).map(|word| chip.word(MEMORY + 4 * word).expect("a word")).collect();
    let sink = chip.device::<Sink>((0, 0), Side::East).expect("a sink");
    let sent = sink.words.iter().map(|(_, word)| *word).collect();
    ((registers, memory, sent), chip.spent((0, 0)).0.operands)
}

#[test]
fn instructions_in_another_order_leave_the_same_registers_memory_and_words_of_networks() {
    let config = ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(25), ..Default::default() };
    let (mut moved, mut waits) = (0, [0; 2]);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let all = prop::collection::vec(any_instruction(), 2..60);
    let moved_of = std::cell::RefCell::new((&mut moved, &mut waits));
    runner
        .run(&all, |written| {
            let other = ordered(&written, &latencies());
            let ((left, before), (other_left, after)) = (executed(&written), executed(&other));
            prop_assert_eq!(left, other_left);
            let (moved, waits) = &mut *moved_of.borrow_mut();
            **moved += usize::from(other != written);
            (waits[0], waits[1]) = (waits[0] + before, waits[1] + after);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(moved > 150, "{moved}");
    assert!(waits[1] * 3 < waits[0] * 2, "{waits:?}");
}

/// Assembles instructions.
fn assembled(text: &str) -> Vec<Instruction> {
    let program = assemble("test.raw", &format!(".tile 0 0\n{text}"));
    let program = program.unwrap_or_else(|error| panic!("{}", error.render()));
    program.of((0, 0)).0.iter().map(|word| decode(*word).expect("an instruction")).collect()
}

#[test]
fn loads_come_before_what_does_not_need_their_words() {
    let halves = assembled(
        " lhu $v0, 0($gp)\n sll $v0, $v0, 16\n lhu $v1, 2($gp)\n or $v0, $v0, $v1\n \
         lhu $a0, 4($gp)\n sll $a0, $a0, 16\n lhu $a1, 6($gp)\n or $a0, $a0, $a1\n",
    );
    let wanted = assembled(
        " lhu $v0, 0($gp)\n lhu $a0, 4($gp)\n lhu $v1, 2($gp)\n \
         lhu $a1, 6($gp)\n sll $v0, $v0, 16\n sll $a0, $a0, 16\n or $v0, $v0, $v1\n or $a0, $a0, $a1\n",
    );
    let other = ordered(&halves, &latencies());
    assert_eq!(executed(&halves).1 - executed(&other).1, 8);
    assert_eq!(other, wanted);
}

#[test]
fn what_may_meet_in_memory_or_waits_for_a_network_stays_in_its_order() {
    for text in [
        // Two bases may be the same address, and bytes of a word overlap it.
        " sw $v0, 0($gp)\n lw $v1, 0($sp)\n",
        " sb $v0, 3($gp)\n lw $v1, 0($gp)\n",
        // A base register that has changed is another base.
        " sw $v0, 4($gp)\n addiu $gp, $gp, 4\n lw $v1, 0($gp)\n",
        // A reply is read after its request is sent, and accesses to memory stay on their side of
        // it.
        " move $csto, $v0\n move $v1, $cgni\n",
        " lw $v1, 0($gp)\n move $csto, $v0\n move $csto, $v1\n",
        " move $csto, $v0\n lw $v1, 0($gp)\n addu $v1, $v1, $v1\n",
        " lw $a0, 0($gp)\n sw $v0, 0($gp)\n move $csto, $v0\n",
        " mfsr $v0, cycle\n lw $v1, 0($gp)\n",
        " mult $v0, $v1\n mflo $a0\n mult $v1, $v1\n mfhi $a1\n",
    ] {
        let written = assembled(text);
        assert_eq!(ordered(&written, &latencies()), written, "{text}");
    }
    // Different words of memory do not overlap.
    let later = assembled(" sw $v0, 0($gp)\n lw $v1, 4($gp)\n addu $v1, $v1, $v1\n");
    assert_eq!(ordered(&later, &latencies())[0], later[1]);
}
