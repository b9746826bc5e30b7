//! The semantics of the instructions of RV32IM.

use super::{Instruction, Op, Riscv, Thread};
use crate::transfer::{load, store};
use crate::{Bus, Cause, Flow, Meaning, Size, Stop};

macro_rules! one_of {
    ($op:expr; $($name:ident)*) => {
        match $op { $(Op::$name => execute::<{ Op::$name as u8 }, B>,)* }
    };
}

/// Returns the function that executes an instruction of this kind.
pub(super) fn meaning<B: Bus>(it: &Instruction) -> Meaning<Riscv, B> {
    one_of!(it.op;
        Undefined Lui Jal Jalr Beq Bne Blt Bge Bltu Bgeu Lb Lh Lw Lbu Lhu Sb Sh Sw Addi Slti Sltiu Xori Ori
        Andi Slli Srli Srai Add Sub Sll Slt Sltu Xor Srl Sra Or And Mul Mulh Mulhsu Mulhu Div Divu Rem Remu
        Fence Ecall Ebreak
    )
}

/// Executes an instruction with operation `OP`: a separate function for each operation.
fn execute<const OP: u8, B: Bus>(
    thread: &mut Thread,
    it: &Instruction,
    bus: &mut B,
) -> Result<Flow, Stop> {
    let op = const { Op::ALL[OP as usize] };
    let next = thread.pc.wrapping_add(4);
    let a = thread.registers[usize::from(it.rs1 & 31)];
    let b = thread.registers[usize::from(it.rs2 & 31)];
    let immediate = it.immediate;
    let address = a.wrapping_add(immediate);

    let value = match op {
        Op::Lui => immediate,
        Op::Addi => address,
        Op::Slti => u32::from((a as i32) < immediate as i32),
        Op::Sltiu => u32::from(a < immediate),
        Op::Xori => a ^ immediate,
        Op::Ori => a | immediate,
        Op::Andi => a & immediate,
        Op::Slli => a << (immediate & 31),
        Op::Srli => a >> (immediate & 31),
        Op::Srai => (a as i32 >> (immediate & 31)) as u32,
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Sll => a << (b & 31),
        Op::Slt => u32::from((a as i32) < b as i32),
        Op::Sltu => u32::from(a < b),
        Op::Xor => a ^ b,
        Op::Srl => a >> (b & 31),
        Op::Sra => (a as i32 >> (b & 31)) as u32,
        Op::Or => a | b,
        Op::And => a & b,
        Op::Mul => a.wrapping_mul(b),
        Op::Mulh => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
        Op::Mulhsu => ((i64::from(a as i32) * i64::from(b)) >> 32) as u32,
        Op::Mulhu => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        // Nothing traps. A quotient by 0 is all ones, a remainder by 0 is the dividend, and the one
        // overflow wraps (section 7.2).
        Op::Div if b == 0 => u32::MAX,
        Op::Div => (a as i32).wrapping_div(b as i32) as u32,
        Op::Divu => a.checked_div(b).unwrap_or(u32::MAX),
        Op::Rem if b == 0 => a,
        Op::Rem => (a as i32).wrapping_rem(b as i32) as u32,
        Op::Remu => a.checked_rem(b).unwrap_or(a),
        Op::Lb => load(bus, address, Size::Byte)? as i8 as u32,
        Op::Lbu => load(bus, address, Size::Byte)? & 0xff,
        Op::Lh => load(bus, address, Size::Half)? as i16 as u32,
        Op::Lhu => load(bus, address, Size::Half)? & 0xffff,
        Op::Lw => load(bus, address, Size::Word)?,
        Op::Jal => return jump(thread, it.rd, immediate),
        Op::Jalr => return jump(thread, it.rd, address & !1),
        Op::Beq => return branch(thread, a == b, immediate),
        Op::Bne => return branch(thread, a != b, immediate),
        Op::Blt => return branch(thread, (a as i32) < b as i32, immediate),
        Op::Bge => return branch(thread, (a as i32) >= b as i32, immediate),
        Op::Bltu => return branch(thread, a < b, immediate),
        Op::Bgeu => return branch(thread, a >= b, immediate),
        Op::Sb | Op::Sh | Op::Sw | Op::Fence | Op::Ecall | Op::Ebreak => {
            let flow = match op {
                Op::Sb => store(bus, address, Size::Byte, b).map(|()| Flow::Next)?,
                Op::Sh => store(bus, address, Size::Half, b).map(|()| Flow::Next)?,
                Op::Sw => store(bus, address, Size::Word, b).map(|()| Flow::Next)?,
                Op::Ecall => Flow::Service,
                Op::Ebreak => Flow::Breakpoint,
                _ => Flow::Next,
            };
            thread.pc = next;
            return Ok(flow);
        }
        Op::Undefined => return Err(Cause::Undefined.into()),
    };
    write(thread, it.rd, value);
    thread.pc = next;
    Ok(Flow::Next)
}

#[inline(always)]
fn write(thread: &mut Thread, rd: u8, value: u32) {
    thread.registers[usize::from(rd & 31)] = value;
    thread.registers[0] = 0;
}

/// Writes the return address. The jump itself raises the exception if its target is misaligned
/// (section 2.5).
#[inline(always)]
fn jump(thread: &mut Thread, rd: u8, target: u32) -> Result<Flow, Stop> {
    let link = thread.pc.wrapping_add(4);
    let flow = branch(thread, true, target)?;
    write(thread, rd, link);
    Ok(flow)
}

#[inline(always)]
fn branch(thread: &mut Thread, is_taken: bool, target: u32) -> Result<Flow, Stop> {
    if !is_taken {
        thread.pc = thread.pc.wrapping_add(4);
        return Ok(Flow::Next);
    }
    if !target.is_multiple_of(4) {
        return Err(Cause::MisalignedTarget { target }.into());
    }
    thread.pc = target;
    Ok(Flow::Taken)
}
