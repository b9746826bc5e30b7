//! Writes instructions of ARMv4 as GNU's objdump does, without its comments.

use super::{Indexing, Instruction, Op, Operand, PC};

pub(super) fn disassemble(it: &Instruction) -> String {
    let condition = CONDITIONS[usize::from(it.condition & 15)];
    let [rd, rn, rm, rs] =
        [it.rd, it.rn, it.rm, it.rs].map(|register| REGISTERS[usize::from(register & 15)]);
    let name = format!("{:?}", it.op).to_lowercase();
    match it.op {
        Op::Undefined => name,
        Op::Mov | Op::Movs => moved(it, &name, condition),
        Op::Mvn | Op::Mvns => format!("{name}{condition} {rd}, {}", operand(it)),
        Op::Tst | Op::Teq | Op::Cmp | Op::Cmn => format!("{name}{condition} {rn}, {}", operand(it)),
        Op::Mul | Op::Muls => format!("{name}{condition} {rd}, {rm}, {rs}"),
        Op::Mla | Op::Mlas => format!("{name}{condition} {rd}, {rm}, {rs}, {rn}"),
        Op::Umull
        | Op::Umlal
        | Op::Smull
        | Op::Smlal
        | Op::Umulls
        | Op::Umlals
        | Op::Smulls
        | Op::Smlals => {
            format!("{name}{condition} {rd}, {rn}, {rm}, {rs}")
        }
        Op::Ldr | Op::Ldrb | Op::Ldrh | Op::Ldrsb | Op::Ldrsh | Op::Str | Op::Strb | Op::Strh => {
            transfer(it, &name, condition)
        }
        Op::Ldm | Op::Stm => transfer_of_several(it, &name, condition),
        Op::Swp | Op::Swpb => format!("{name}{condition} {rd}, {rm}, [{rn}]"),
        Op::B | Op::Bl => format!("{name}{condition} 0x{:x}", it.immediate),
        Op::Mrs => format!("mrs{condition} {rd}, CPSR"),
        Op::Msr => {
            let fields: String = [(8, 'f'), (1, 'c')]
                .iter()
                .filter(|(bit, _)| it.rn & bit != 0)
                .map(|(_, name)| name)
                .collect();
            format!("msr{condition} CPSR_{fields}, {}", operand(it))
        }
        Op::Swi => format!("svc{condition} 0x{:08x}", it.immediate),
        _ => format!("{name}{condition} {rd}, {rn}, {}", operand(it)),
    }
}

const CONDITIONS: [&str; 16] =
    ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "", ""];

const REGISTERS: [&str; 16] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "sl", "fp", "ip", "sp", "lr", "pc",
];

/// Formats a move. A shift without another operation has its own mnemonic.
fn moved(it: &Instruction, name: &str, condition: &str) -> String {
    let [rd, rm, rs] = [it.rd, it.rm, it.rs].map(|register| REGISTERS[usize::from(register & 15)]);
    let s = if it.op == Op::Movs { "s" } else { "" };
    match it.operand {
        Operand::Register if it.word == 0xe1a0_0000 => "nop".into(),
        Operand::Immediate | Operand::Register => {
            format!("{name}{condition} {rd}, {}", operand(it))
        }
        Operand::Rrx => format!("rrx{s}{condition} {rd}, {rm}"),
        by if by as u8 >= Operand::LslBy as u8 => {
            format!("{}{s}{condition} {rd}, {rm}, {rs}", shift(by))
        }
        by => format!("{}{s}{condition} {rd}, {rm}, #{}", shift(by), it.rs),
    }
}

fn shift(operand: Operand) -> &'static str {
    match operand {
        Operand::Immediate | Operand::Register => "",
        Operand::Lsl | Operand::LslBy => "lsl",
        Operand::Lsr | Operand::LsrBy => "lsr",
        Operand::Asr | Operand::AsrBy => "asr",
        Operand::Ror | Operand::RorBy => "ror",
        Operand::Rrx => "rrx",
    }
}

fn operand(it: &Instruction) -> String {
    let rm = REGISTERS[usize::from(it.rm & 15)];
    match it.operand {
        Operand::Immediate => immediate(it),
        Operand::Register => rm.into(),
        Operand::Rrx => format!("{rm}, rrx"),
        by if by as u8 >= Operand::LslBy as u8 => {
            format!("{rm}, {} {}", shift(by), REGISTERS[usize::from(it.rs & 15)])
        }
        by => format!("{rm}, {} #{}", shift(by), it.rs),
    }
}

/// Formats an immediate. If its rotation is not the smallest possible, writes the eight bits and
/// their rotation.
fn immediate(it: &Instruction) -> String {
    let (bits, rotation) = (it.word & 0xff, it.word >> 7 & 0x1e);
    let least = (0..32).step_by(2).find(|by| it.immediate.rotate_left(*by) <= 0xff);
    match least == Some(rotation) {
        true => format!("#{}", it.immediate as i32),
        false => format!("#{bits}, {rotation}"),
    }
}

fn transfer(it: &Instruction, name: &str, condition: &str) -> String {
    let [rd, rn] = [it.rd, it.rn].map(|register| REGISTERS[usize::from(register & 15)]);
    let is_pre = it.indexing.has(Indexing::PRE);
    let writes_back = it.indexing.has(Indexing::WRITE_BACK);
    // These are the forms for the user's view of memory.
    let t = if !is_pre && it.word >> 21 & 1 != 0 { "t" } else { "" };
    let is_down = it.word >> 23 & 1 == 0;
    let minus = if is_down { "-" } else { "" };
    let offset = match it.operand {
        Operand::Immediate if is_down => format!("#-{}", it.immediate.wrapping_neg()),
        Operand::Immediate => format!("#{}", it.immediate),
        _ => format!("{minus}{}", operand(it)),
    };
    let place = match (is_pre, writes_back) {
        (true, false) if offset == "#0" => format!("[{rn}]"),
        (true, false) => format!("[{rn}, {offset}]"),
        (true, true) => format!("[{rn}, {offset}]!"),
        (false, _) => format!("[{rn}], {offset}"),
    };
    format!("{name}{t}{condition} {rd}, {place}")
}

/// Formats LDM and STM. Transfers to and from a descending stack have their own mnemonics.
fn transfer_of_several(it: &Instruction, name: &str, condition: &str) -> String {
    let list: Vec<_> = (0..=PC)
        .filter(|at| it.immediate >> at & 1 != 0)
        .map(|at| REGISTERS[usize::from(at)])
        .collect();
    let list = list.join(", ");
    let rn = REGISTERS[usize::from(it.rn & 15)];
    let writes_back = it.rs != 0;
    let mode = it.word >> 23 & 3;
    let is_stack = rn == "sp" && writes_back && it.immediate.count_ones() > 1;
    match (it.op, mode) {
        (Op::Ldm, 1) if is_stack => return format!("pop{condition} {{{list}}}"),
        (Op::Stm, 2) if is_stack => return format!("push{condition} {{{list}}}"),
        _ => {}
    }
    let mode = match (it.op, mode) {
        (Op::Stm, 1) if writes_back => "ia",
        _ => ["da", "", "db", "ib"][mode as usize],
    };
    let mark = if writes_back { "!" } else { "" };
    format!("{name}{mode}{condition} {rn}{mark}, {{{list}}}")
}
