//! Counts the parts of a processor that an instruction uses.

use super::{Instruction, Op};
use crate::Uses;

pub(super) fn uses(instruction: &Instruction) -> Uses {
    let result = u8::from(instruction.rd != 0);
    let one = Uses { reads: 1, writes: result, ..Uses::default() };
    let two = Uses { reads: 2, ..one };
    match instruction.op {
        Op::Lui => Uses { logic: 1, reads: 0, ..one },
        Op::Jal => Uses { add: 1, reads: 0, ..one },
        Op::Jalr | Op::Addi | Op::Slti | Op::Sltiu => Uses { add: 1, ..one },
        Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => {
            Uses { add: 2, writes: 0, ..two }
        }
        Op::Lb | Op::Lh | Op::Lw | Op::Lbu | Op::Lhu => Uses { add: 1, loads: 1, ..one },
        Op::Sb | Op::Sh | Op::Sw => Uses { add: 1, stores: 1, writes: 0, ..two },
        Op::Xori | Op::Ori | Op::Andi => Uses { logic: 1, ..one },
        Op::Slli | Op::Srli | Op::Srai => Uses { shift: 1, ..one },
        Op::Add | Op::Sub | Op::Slt | Op::Sltu => Uses { add: 1, ..two },
        Op::Xor | Op::Or | Op::And => Uses { logic: 1, ..two },
        Op::Sll | Op::Srl | Op::Sra => Uses { shift: 1, ..two },
        Op::Mul | Op::Mulh | Op::Mulhsu | Op::Mulhu => Uses { multiply: 1, ..two },
        Op::Div | Op::Divu | Op::Rem | Op::Remu => Uses { divide: 1, ..two },
        Op::Fence | Op::Ecall | Op::Ebreak | Op::Undefined => Uses::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InstructionSet, Riscv};

    #[test]
    fn operations_ports_and_accesses_are_counted_once_each() {
        let none = Uses::default();
        for (word, wanted) in [
            // add x5, x6, x7
            (0x0073_02b3, Uses { add: 1, reads: 2, writes: 1, ..none }),
            // addi x0, x0, 0
            (0x0000_0013, Uses { add: 1, reads: 1, ..none }),
            // lui x5, 1
            (0x0000_12b7, Uses { logic: 1, writes: 1, ..none }),
            // lw x5, 4(x6)
            (0x0043_2283, Uses { add: 1, reads: 1, writes: 1, loads: 1, ..none }),
            // sw x5, 4(x6)
            (0x0053_2223, Uses { add: 1, reads: 2, stores: 1, ..none }),
            // beq x5, x6, 8
            (0x0062_8463, Uses { add: 2, reads: 2, ..none }),
            // jal x1, 8
            (0x0080_00ef, Uses { add: 1, writes: 1, ..none }),
            // mul x5, x6, x7
            (0x0273_02b3, Uses { multiply: 1, reads: 2, writes: 1, ..none }),
            // divu x5, x6, x7
            (0x0273_52b3, Uses { divide: 1, reads: 2, writes: 1, ..none }),
            // ecall
            (0x0000_0073, none),
        ] {
            let instruction = Riscv::decode(word, 0x100);
            assert_eq!(uses(&instruction), wanted, "{}", Riscv::disassemble(word, 0x100));
        }
    }
}
