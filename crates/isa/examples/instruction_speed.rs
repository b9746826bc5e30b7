//! Measures the speed of each instruction set in instructions a second: `cargo run --release -p
//! wireloom-isa --example instruction_speed`.
//!
//! The program repeats a bitwise CRC-32 over 1 KiB: loads, logic, shifts, and data-dependent
//! branches. No machine surrounds it: one thread, decoded text, and memory that replies at once.

use std::time::Instant;

use wireloom_isa::program::End;
use wireloom_isa::{Arm, Compiled, InstructionSet, Memory, Riscv, Text, Thread};

const TEXT: u32 = 0x1_0000;
const DATA: u32 = 0x2_0000;
const BYTES: u32 = 1024;

/// In each program the bytes begin at the first argument and end before the second. The third
/// argument is the polynomial.
const ARM: [u32; 11] = [
    0xe1a0_c000, // mov ip, r0
    0xe4dc_4001, // ldrb r4, [ip], #1
    0xe023_3004, // eor r3, r3, r4
    0xe3a0_5008, // mov r5, #8
    0xe1b0_30a3, // lsrs r3, r3, #1
    0x2023_3002, // eorcs r3, r3, r2
    0xe255_5001, // subs r5, r5, #1
    0x1aff_fffb, // bne to lsrs
    0xe15c_0001, // cmp ip, r1
    0x1aff_fff6, // bne to ldrb
    0xeaff_fff4, // b to mov
];

const RISCV: [u32; 13] = [
    0x0005_0793, // mv a5, a0
    0x0007_c703, // lbu a4, 0(a5)
    0x0017_8793, // addi a5, a5, 1
    0x00e6_c6b3, // xor a3, a3, a4
    0x0080_0813, // li a6, 8
    0x0016_f893, // andi a7, a3, 1
    0x0016_d693, // srli a3, a3, 1
    0x0008_8463, // beqz a7, over xor
    0x00c6_c6b3, // xor a3, a3, a2
    0xfff8_0813, // addi a6, a6, -1
    0xfe08_16e3, // bnez a6, to andi
    0xfcb7_9ce3, // bne a5, a1, to lbu
    0xfd1f_f06f, // j to mv
];

fn main() {
    for (name, rates) in [(Arm::NAME, rates::<Arm>(&ARM)), (Riscv::NAME, rates::<Riscv>(&RISCV))] {
        let [least, median, most] = [0, rates.len() / 2, rates.len() - 1].map(|at| rates[at]);
        println!(
            "{name}: {median:.0} million instructions a second (median of {}; {least:.0} to {most:.0})",
            rates.len()
        );
    }
}

/// Returns sorted rates in millions of instructions a second.
fn rates<S: Compiled>(words: &[u32]) -> Vec<f64> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text = Text::<S>::new(TEXT, &bytes);
    let runner = text.runner();
    let mut thread = S::Thread::new(TEXT);
    for (argument, value) in S::ARGUMENTS.into_iter().zip([DATA, DATA + BYTES, 0xedb8_8320, 0]) {
        thread.set_register(argument, value);
    }
    let data = (0..BYTES).map(|index| ((index * 31) >> 3) as u8).collect();
    let mut memory = Memory::new(DATA, data);
    let mut rates: Vec<f64> = (0..11)
        .map(|_| {
            let start = Instant::now();
            let result = runner.run(&mut thread, &mut memory, 20_000_000);
            let rate = 20.0 / start.elapsed().as_secs_f64();
            assert_eq!(result, Ok((20_000_000, End::Enough)));
            rate
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates
}
