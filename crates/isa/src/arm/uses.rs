//! Counts the parts of a processor that an instruction uses.

use super::{Arm, Indexing, Instruction, Op, Operand, PC};
use crate::{Class, InstructionSet, Uses};

/// Returns 1 if the register is in the register file, and so needs a port, else 0.
fn port(register: u8) -> u8 {
    u8::from(register != PC)
}

/// Counts the registers and the shift of a second operand or of an offset.
fn operand(instruction: &Instruction) -> Uses {
    let Instruction { operand, rm, rs, .. } = *instruction;
    match operand {
        // The rotation of a constant does not count as a shift.
        Operand::Immediate => Uses::default(),
        Operand::Register => Uses { reads: port(rm), ..Uses::default() },
        Operand::Lsl | Operand::Lsr | Operand::Asr | Operand::Ror | Operand::Rrx => {
            Uses { reads: port(rm), shift: 1, ..Uses::default() }
        }
        Operand::LslBy | Operand::LsrBy | Operand::AsrBy | Operand::RorBy => {
            Uses { reads: port(rm) + port(rs), shift: 1, ..Uses::default() }
        }
    }
}

pub(super) fn uses(instruction: &Instruction) -> Uses {
    let Instruction { op, rd, rn, rm, indexing, .. } = *instruction;
    let base = u8::from(indexing.has(Indexing::WRITE_BACK));
    // For transfers of several words, `rs` is the change of the base.
    let moves_base = u8::from(instruction.rs != 0);
    match Arm::class(instruction) {
        Class::Alu | Class::AluShiftedByRegister => arithmetic(instruction),
        Class::Multiply => {
            let adds = u8::from(matches!(op, Op::Mla | Op::Mlas));
            Uses { multiply: 1, add: adds, reads: 2 + adds, writes: 1, ..Uses::default() }
        }
        Class::MultiplyLong => {
            let adds = match op {
                Op::Umlal | Op::Smlal | Op::Umlals | Op::Smlals => 2,
                _ => 0,
            };
            Uses { multiply: 1, add: adds, reads: 2 + adds, writes: 2, ..Uses::default() }
        }
        Class::Load => {
            let Uses { reads, shift, .. } = operand(instruction);
            let (reads, writes) = (reads + port(rn), port(rd) + base);
            Uses { add: 1, shift, reads, writes, loads: 1, ..Uses::default() }
        }
        Class::Store => {
            let Uses { reads, shift, .. } = operand(instruction);
            let reads = reads + port(rn) + port(rd);
            Uses { add: 1, shift, reads, writes: base, stores: 1, ..Uses::default() }
        }
        Class::LoadMultiple(words) => {
            let to_file = words - u8::from(instruction.immediate >> PC & 1 != 0);
            let writes = to_file + moves_base;
            Uses { add: words, reads: port(rn), writes, loads: words, ..Uses::default() }
        }
        Class::StoreMultiple(words) => {
            let reads = words - u8::from(instruction.immediate >> PC & 1 != 0) + port(rn);
            Uses { add: words, reads, writes: moves_base, stores: words, ..Uses::default() }
        }
        Class::Swap => {
            let reads = port(rn) + port(rm);
            Uses { reads, writes: port(rd), loads: 1, stores: 1, ..Uses::default() }
        }
        Class::Branch => Uses { add: 1, ..Uses::default() },
        Class::Call => Uses { add: 1, writes: 1, ..Uses::default() },
        Class::System if op == Op::Mrs => Uses { logic: 1, writes: 1, ..Uses::default() },
        Class::System => Uses { logic: 1, ..operand(instruction) },
        Class::Divide | Class::Service | Class::Undefined => Uses::default(),
    }
}

/// Counts the uses of data processing.
fn arithmetic(instruction: &Instruction) -> Uses {
    let Instruction { op, rd, rn, .. } = *instruction;
    let is_logic =
        matches!(op, Op::And | Op::Eor | Op::Orr | Op::Mov | Op::Bic | Op::Mvn | Op::Tst | Op::Teq)
            || matches!(op, Op::Ands | Op::Eors | Op::Orrs | Op::Movs | Op::Bics | Op::Mvns);
    let has_first = !matches!(op, Op::Mov | Op::Mvn | Op::Movs | Op::Mvns);
    let has_result = !matches!(op, Op::Tst | Op::Teq | Op::Cmp | Op::Cmn);
    let second = operand(instruction);
    Uses {
        add: u8::from(!is_logic),
        logic: u8::from(is_logic),
        reads: second.reads + if has_first { port(rn) } else { 0 },
        writes: if has_result { port(rd) } else { 0 },
        ..second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: u32) -> Uses {
        uses(&Arm::decode(word, 0x100))
    }

    #[test]
    fn operations_ports_and_accesses_are_counted_once_each() {
        let none = Uses::default();
        for (word, wanted) in [
            // add r0, r1, r2, lsl #3
            (0xe081_0182, Uses { add: 1, shift: 1, reads: 2, writes: 1, ..none }),
            // add r0, r1, r2, lsl r3
            (0xe081_0312, Uses { add: 1, shift: 1, reads: 3, writes: 1, ..none }),
            // mov r0, #1
            (0xe3a0_0001, Uses { logic: 1, writes: 1, ..none }),
            // cmp r0, r1
            (0xe150_0001, Uses { add: 1, reads: 2, ..none }),
            // add r0, pc, #4
            (0xe28f_0004, Uses { add: 1, writes: 1, ..none }),
            // mla r0, r1, r2, r3
            (0xe020_3291, Uses { multiply: 1, add: 1, reads: 3, writes: 1, ..none }),
            // umull r0, r1, r2, r3
            (0xe081_0392, Uses { multiply: 1, reads: 2, writes: 2, ..none }),
            // ldr r0, [r1], #4
            (0xe491_0004, Uses { add: 1, reads: 1, writes: 2, loads: 1, ..none }),
            // str r0, [r1, r2, lsl #2]
            (0xe781_0102, Uses { add: 1, shift: 1, reads: 3, stores: 1, ..none }),
            // stmdb sp!, {r4, r5, lr}
            (0xe92d_4030, Uses { add: 3, reads: 4, writes: 1, stores: 3, ..none }),
            // ldmia sp!, {r4, r5, pc}
            (0xe8bd_8030, Uses { add: 3, reads: 1, writes: 3, loads: 3, ..none }),
            // swp r0, r1, [r2]
            (0xe102_0091, Uses { reads: 2, writes: 1, loads: 1, stores: 1, ..none }),
            // bl
            (0xeb00_0010, Uses { add: 1, writes: 1, ..none }),
        ] {
            assert_eq!(of(word), wanted, "{}", Arm::disassemble(word, 0x100));
        }
    }
}
