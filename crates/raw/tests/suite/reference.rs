//! Random programs on a tile, compared with QEMU's MIPS (Unicorn, from `make tools-isa`)
//! instruction by instruction.
//!
//! A tile has no delay slots. A `nop` follows each branch, and either side may or may not execute
//! it. So states that equal the previous one are left out on both sides.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use wireloom_isa::raw::Register;
use wireloom_isa::raw::tile::{Instruction, Op, Slot, TABLE, decode, disassemble, encode};
use wireloom_raw::asm::Program;
use wireloom_raw::device::{Memory, MemorySpec};
use wireloom_raw::{Chip, Side, Spec};

const PROGRAMS: usize = 60;
/// `$gp` holds the address of the data.
const DATA: Register = Register(28);
const RANDOM: [u8; 10] = [2, 3, 4, 8, 9, 10, 16, 23, 30, 0];

/// Generates a piece of a program: an instruction with the instructions that it needs before or
/// after it. MIPS leaves the quotient by 0 undefined, so divisors are odd.
fn piece() -> impl Strategy<Value = Vec<Instruction>> {
    let register = || prop::sample::select(&RANDOM[..]).prop_map(Register);
    (0..TABLE.len(), register(), register(), register(), any::<u32>()).prop_map(
        |(row, rd, rs, rt, bits)| {
            let row = &TABLE[row];
            let mut code = Instruction { op: row.op, rd, rs, rt, immediate: bits & 0xffff };
            let has = |slot| row.slots.contains(&slot);
            if has(Slot::Clz) {
                code.rt = rd;
            }
            if has(Slot::Memory) {
                // The access is aligned, and in the first kilobyte of the data.
                (code.rs, code.immediate) = (DATA, bits & 0x3fc);
                code.immediate |= match row.op {
                    Op::Lb | Op::Lbu | Op::Sb => bits >> 10 & 3,
                    Op::Lh | Op::Lhu | Op::Sh => bits >> 10 & 2,
                    _ => 0,
                };
            }
            let nop = Instruction {
                op: Op::Sll,
                rd: Register(0),
                rs: Register(0),
                rt: Register(0),
                immediate: 0,
            };
            match row.op {
                // Operations that only one side has, and operations that need addresses.
                Op::Halt | Op::Mfsr | Op::Mtsr | Op::Intoff | Op::Inton | Op::Eret | Op::Wbinv => {
                    vec![]
                }
                Op::J | Op::Jal | Op::Jr | Op::Jalr => vec![],
                Op::Div | Op::Divu => {
                    let op = Op::Ori;
                    let rt = if rt.0 == 0 { Register(2) } else { rt };
                    let odd = Instruction { op, rs: rt, rt, immediate: 1, ..nop };
                    vec![odd, Instruction { rt, ..code }]
                }
                _ if has(Slot::Branch) => {
                    // The branch skips its `nop`, or also the instruction after it. A division must
                    // not be reached without the instruction that makes its divisor odd.
                    code.immediate = 1 + bits % 2;
                    vec![code, nop, Instruction { op: Op::Addiu, rt: rd, rs, ..code }]
                }
                _ => vec![code],
            }
        },
    )
}

fn programs() -> Vec<Vec<u32>> {
    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(piece(), 150);
    let base =
        Instruction { op: Op::Lui, rd: Register(0), rs: Register(0), rt: DATA, immediate: 1 };
    let program = |pieces: Vec<Vec<Instruction>>| {
        let end = Instruction { op: Op::Sll, rt: Register(0), immediate: 0, ..base };
        let code = std::iter::once(base).chain(pieces.into_iter().flatten());
        code.chain([end; 5]).map(|code| encode(&code)).collect()
    };
    (0..PROGRAMS)
        .map(|_| program(strategy.new_tree(&mut runner).expect("a program").current()))
        .collect()
}

/// Returns the states of a tile, and the instruction before each.
fn states(words: &[u32]) -> (Vec<Vec<u32>>, Vec<String>) {
    let mut program = Program::default();
    program.set_tile((0, 0), [words, &[0x0000_000d]].concat());
    let mut chip = Chip::new(&Spec { columns: 1, rows: 1, ..Spec::built_in() }, &program).unwrap();
    let memory = Memory::new(MemorySpec { base: 0x1_0000, ..MemorySpec::full_duplex(0x1_0000) });
    chip.attach((0, 0), Side::North, memory).unwrap();
    let mut states: Vec<Vec<u32>> = vec![vec![0; 27]];
    let mut texts = vec![String::new()];
    while !chip.is_halted() {
        let index = chip.program_counter((0, 0)) / 4;
        chip.run(1).unwrap();
        let state = (1..24).chain(28..32).map(|number| chip.register((0, 0), number)).collect();
        if states.last() != Some(&state) {
            states.push(state);
            let code = words.get(index as usize).and_then(|word| decode(*word).ok());
            texts.push(code.map_or_else(String::new, |code| disassemble(&code, index)));
        }
    }
    (states, texts)
}

#[test]
fn a_tile_computes_what_a_mips_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.ancestors().nth(2).unwrap().join(".cache/tools/isa/bin/python");
    let mut oracle = Command::new(python)
        .arg(root.join("tests/reference/oracle.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Unicorn: `make tools-isa` puts it into .cache/tools/isa");
    let mut input = oracle.stdin.take().unwrap();
    let mut output = BufReader::new(oracle.stdout.take().unwrap()).lines();
    let mut steps = 0;
    for words in programs() {
        let line: Vec<_> = words.iter().map(|word| format!("{word:x}")).collect();
        writeln!(input, "{}", line.join(" ")).unwrap();
        let answer = output.next().expect("an answer").unwrap();
        let wanted: Vec<Vec<u32>> = answer
            .split(',')
            .map(|state| {
                state.split(' ').map(|value| u32::from_str_radix(value, 16).unwrap()).collect()
            })
            .collect();
        let (got, texts) = states(&words);
        steps += got.len();
        if let Some(at) =
            (0..got.len().max(wanted.len())).find(|at| got.get(*at) != wanted.get(*at))
        {
            panic!(
                "`{}` gives {:x?}, not {:x?}",
                texts.get(at).map_or("", String::as_str),
                got.get(at),
                wanted.get(at)
            );
        }
    }
    assert!(steps > 30 * PROGRAMS, "{steps} states are few");
    drop(input);
    assert!(oracle.wait().unwrap().success());
}
