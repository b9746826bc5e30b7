//! Random instructions of RV32IM.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use wireloom_isa::{Flow, InstructionSet, Riscv, Thread};

use super::{DATA, DATA_BYTES, Random, TEXT, WORDS, value};

impl Random for Riscv {
    const NUMBER: u32 = 0;

    fn begin(random: &mut ChaCha8Rng) -> Self::Thread {
        let mut thread = Self::Thread::new(TEXT);
        for number in 1..32 {
            thread.set_register(number, value(random));
        }
        thread
    }

    const KINDS: u32 = 16;

    fn draw(random: &mut ChaCha8Rng, kind: u32, thread: &Self::Thread) -> u32 {
        let [rd, rs1, rs2] = [(); 3].map(|()| random.random_range(0..32u32));
        let funct3 = random.random_range(0..8);
        match kind {
            // Any word with the format of an arithmetic instruction.
            0..3 => word(0x33, rd, funct3, rs1, rs2, [0, 0x20][random.random_range(0..2)]),
            3..6 => word(0x33, rd, funct3, rs1, rs2, 1),
            6 | 7 => immediate(0x13, rd, funct3, rs1, random.random()),
            8 => word(
                0x13,
                rd,
                [1, 5][random.random_range(0..2)],
                rs1,
                rs2,
                [0, 0x20][random.random_range(0..2)],
            ),
            9 => {
                random.random::<u32>() & 0xffff_f000
                    | rd << 7
                    | [0x37, 0x17][random.random_range(0..2)]
            }
            10 | 11 => {
                let address = DATA + random.random_range(0..DATA_BYTES);
                match reach(random, thread, address) {
                    Some((rs1, offset)) => immediate(0x03, rd, funct3, rs1, offset),
                    None => DATA | rd << 7 | 0x37,
                }
            }
            12 => {
                let address = DATA + random.random_range(0..DATA_BYTES);
                match reach(random, thread, address) {
                    Some((rs1, offset)) => {
                        word(0x23, offset & 31, funct3 & 3, rs1, rs2, offset >> 5 & 0x7f)
                    }
                    None => DATA | rd << 7 | 0x37,
                }
            }
            13 => {
                let offset = 4 * random.random_range(1..8);
                word(0x63, offset & 0x1e, funct3, rs1, rs2, offset >> 5)
            }
            14 => match random.random_range(0..3) {
                0 => random.random_range(1..8u32) << 22 | rd << 7 | 0x6f,
                _ => {
                    let target = TEXT + random.random_range(0..=4 * WORDS);
                    match reach(random, thread, target) {
                        Some((rs1, offset)) => immediate(0x67, rd, 0, rs1, offset),
                        None => rd << 7 | 0x17,
                    }
                }
            },
            _ => immediate(0x0f, 0, 0, 0, random.random_range(0..256)),
        }
    }

    fn observe(thread: &Self::Thread) -> Vec<u32> {
        (0..32).map(|number| thread.register(number)).collect()
    }

    fn features(word: u32, _: Flow) -> Vec<String> {
        let text = Riscv::disassemble(word, 0);
        vec![text.split(' ').next().expect("a mnemonic").into()]
    }
}

/// Returns all mnemonics that random programs can execute.
pub fn features() -> Vec<String> {
    "lui auipc jal jalr beq bne blt bge bltu bgeu lb lh lw lbu lhu sb sh sw addi slti sltiu xori ori andi slli srli srai \
     add sub sll slt sltu xor srl sra or and mul mulh mulhsu mulhu div divu rem remu fence"
        .split(' ')
        .map(str::to_owned)
        .collect()
}

/// Returns a register from which an address can be reached, with the offset.
fn reach(
    random: &mut ChaCha8Rng,
    thread: &<Riscv as InstructionSet>::Thread,
    address: u32,
) -> Option<(u32, u32)> {
    let first = random.random_range(0..32usize);
    (0..32)
        .map(|number| (first + number) % 32)
        .map(|register| (register as u32, address.wrapping_sub(thread.register(register))))
        .find(|(_, offset)| (-2048..2048).contains(&(*offset as i32)))
}

fn word(opcode: u32, rd: u32, funct3: u32, rs1: u32, rs2: u32, funct7: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

fn immediate(opcode: u32, rd: u32, funct3: u32, rs1: u32, immediate: u32) -> u32 {
    immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}
