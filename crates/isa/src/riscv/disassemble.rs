//! Writes instructions of RV32IM as GNU's objdump does with `-M no-aliases`.

use super::{Instruction, Op};

pub(super) fn disassemble(it: &Instruction) -> String {
    let name = format!("{:?}", it.op).to_lowercase();
    let [rd, rs1, rs2] = [it.rd, it.rs1, it.rs2].map(|register| REGISTERS[usize::from(register)]);
    let immediate = it.immediate as i32;
    match it.op {
        Op::Undefined | Op::Ecall | Op::Ebreak => name,
        // The word distinguishes AUIPC. No field has the address that was added to its immediate.
        Op::Lui if it.word & 0x7f == 0x17 => format!("auipc {rd},0x{:x}", it.word >> 12),
        Op::Lui => format!("lui {rd},0x{:x}", it.word >> 12),
        Op::Jal => format!("jal {rd},0x{:x}", it.immediate),
        Op::Jalr | Op::Lb | Op::Lh | Op::Lw | Op::Lbu | Op::Lhu => {
            format!("{name} {rd},{immediate}({rs1})")
        }
        Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => {
            format!("{name} {rs1},{rs2},0x{:x}", it.immediate)
        }
        Op::Sb | Op::Sh | Op::Sw => format!("{name} {rs2},{immediate}({rs1})"),
        Op::Addi | Op::Slti | Op::Sltiu | Op::Xori | Op::Ori | Op::Andi => {
            format!("{name} {rd},{rs1},{immediate}")
        }
        Op::Slli | Op::Srli | Op::Srai => format!("{name} {rd},{rs1},0x{:x}", it.immediate),
        Op::Fence => fence(it.word),
        _ => format!("{name} {rd},{rs1},{rs2}"),
    }
}

/// Returns the accesses before and after a fence that it separates: device input and output, memory
/// reads and writes.
fn fence(word: u32) -> String {
    let set = |low: u32| -> String {
        let bits = word >> low & 15;
        if bits == 0 {
            return "unknown".into();
        }
        "iorw"
            .chars()
            .zip([8, 4, 2, 1])
            .filter(|(_, bit)| bits & bit != 0)
            .map(|(letter, _)| letter)
            .collect()
    };
    format!("fence {},{}", set(24), set(20))
}

/// Register names of the calling convention.
const REGISTERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];
