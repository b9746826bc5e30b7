//! The semantics of the instructions of ARMv4.

use super::decode::ALWAYS;
use super::operand::{Immediate, Register, SecondOperand, Shifted};
use super::{Arm, Indexing, Instruction, Op, Operand, PC, Thread};
use crate::exception::Direction;
use crate::transfer::{aligned, load, stop, store};
use crate::{Access, Bus, Cause, Flow, Meaning, Size, Stop, Thread as _};

macro_rules! one_of {
    ($it:expr; $($plain:ident)*; $($with_operand:ident)*) => {
        match $it.op {
            $(Op::$plain => execute::<{ Op::$plain as u8 }, Shifted, C, B>,)*
            $(Op::$with_operand => match $it.operand {
                Operand::Immediate => execute::<{ Op::$with_operand as u8 }, Immediate, C, B>,
                Operand::Register => execute::<{ Op::$with_operand as u8 }, Register, C, B>,
                _ => execute::<{ Op::$with_operand as u8 }, Shifted, C, B>,
            },)*
        }
    };
}

/// Returns the function that executes an instruction of this kind.
pub(super) fn meaning<B: Bus>(it: &Instruction) -> Meaning<Arm, B> {
    if it.condition == ALWAYS { under::<Always, B>(it) } else { under::<Perhaps, B>(it) }
}

fn under<C: Condition, B: Bus>(it: &Instruction) -> Meaning<Arm, B> {
    one_of!(it;
        Mul Mla Umull Umlal Smull Smlal Muls Mlas Umulls Umlals Smulls Smlals Ldm Stm Swp Swpb B Bl Mrs Swi
        Undefined;
        And Eor Sub Rsb Add Adc Sbc Rsc Orr Mov Bic Mvn Ands Eors Subs Rsbs Adds Adcs Sbcs Rscs Orrs Movs
        Bics Mvns Tst Teq Cmp Cmn Ldr Ldrb Ldrh Ldrsb Ldrsh Str Strb Strh Msr
    )
}

/// Executes an instruction with operation `OP`: a separate function for each operation, kind of
/// operand and condition.
fn execute<const OP: u8, O: SecondOperand, C: Condition, B: Bus>(
    thread: &mut Thread,
    it: &Instruction,
    bus: &mut B,
) -> Result<Flow, Stop> {
    let op = const { Op::ALL[OP as usize] };
    if !C::holds(thread, it) {
        advance(thread);
        return Ok(Flow::Skipped);
    }
    let rn = thread.read(it.rn);
    let value = |thread: &Thread| O::value(thread, it);
    let result = match op {
        Op::And => rn & value(thread),
        Op::Eor => rn ^ value(thread),
        Op::Sub => rn.wrapping_sub(value(thread)),
        Op::Rsb => value(thread).wrapping_sub(rn),
        Op::Add => rn.wrapping_add(value(thread)),
        Op::Adc => rn.wrapping_add(value(thread)).wrapping_add(u32::from(thread.carry())),
        Op::Sbc => rn.wrapping_add(!value(thread)).wrapping_add(u32::from(thread.carry())),
        Op::Rsc => value(thread).wrapping_add(!rn).wrapping_add(u32::from(thread.carry())),
        Op::Orr => rn | value(thread),
        Op::Mov => value(thread),
        Op::Bic => rn & !value(thread),
        Op::Mvn => !value(thread),
        Op::Ands => logical::<O>(thread, it, |operand| rn & operand),
        Op::Eors => logical::<O>(thread, it, |operand| rn ^ operand),
        Op::Orrs => logical::<O>(thread, it, |operand| rn | operand),
        Op::Movs => logical::<O>(thread, it, |operand| operand),
        Op::Bics => logical::<O>(thread, it, |operand| rn & !operand),
        Op::Mvns => logical::<O>(thread, it, |operand| !operand),
        // A difference is a sum with the complement and a carry, so the carry means "no borrow".
        Op::Subs => sum(thread, rn, !value(thread), true),
        Op::Rsbs => sum(thread, value(thread), !rn, true),
        Op::Adds => sum(thread, rn, value(thread), false),
        Op::Adcs => sum(thread, rn, value(thread), thread.carry()),
        Op::Sbcs => sum(thread, rn, !value(thread), thread.carry()),
        Op::Rscs => sum(thread, value(thread), !rn, thread.carry()),
        Op::Tst => {
            return compare(thread, |thread| logical::<O>(thread, it, |operand| rn & operand));
        }
        Op::Teq => {
            return compare(thread, |thread| logical::<O>(thread, it, |operand| rn ^ operand));
        }
        Op::Cmp => return compare(thread, |thread| sum(thread, rn, !value(thread), true)),
        Op::Cmn => return compare(thread, |thread| sum(thread, rn, value(thread), false)),
        Op::Mul => product(thread, it),
        Op::Mla => product(thread, it).wrapping_add(rn),
        Op::Muls => {
            let result = product(thread, it);
            thread.set_negative_and_zero(result >> 31 != 0, result == 0);
            result
        }
        Op::Mlas => {
            let result = product(thread, it).wrapping_add(rn);
            thread.set_negative_and_zero(result >> 31 != 0, result == 0);
            result
        }
        Op::Umull | Op::Umlal | Op::Smull | Op::Smlal => {
            long_product(thread, op, it);
            advance(thread);
            return Ok(Flow::Next);
        }
        Op::Umulls | Op::Umlals | Op::Smulls | Op::Smlals => {
            let result = long_product(thread, op, it);
            thread.set_negative_and_zero(result >> 63 != 0, result == 0);
            advance(thread);
            return Ok(Flow::Next);
        }
        Op::Ldr => load_one::<O, B>(thread, it, bus, Size::Word, |word| word)?,
        Op::Ldrb => load_one::<O, B>(thread, it, bus, Size::Byte, |byte| byte & 0xff)?,
        Op::Ldrh => load_one::<O, B>(thread, it, bus, Size::Half, |half| half & 0xffff)?,
        Op::Ldrsb => load_one::<O, B>(thread, it, bus, Size::Byte, |byte| byte as i8 as u32)?,
        Op::Ldrsh => load_one::<O, B>(thread, it, bus, Size::Half, |half| half as i16 as u32)?,
        Op::Str => return store_one::<O, B>(thread, it, bus, Size::Word),
        Op::Strb => return store_one::<O, B>(thread, it, bus, Size::Byte),
        Op::Strh => return store_one::<O, B>(thread, it, bus, Size::Half),
        Op::Ldm => return load_several(thread, it, bus),
        Op::Stm => return store_several(thread, it, bus),
        Op::Swp => swap(thread, it, bus, Size::Word)?,
        Op::Swpb => swap(thread, it, bus, Size::Byte)? & 0xff,
        Op::Bl => {
            thread.registers[14] = thread.pc().wrapping_add(4);
            thread.set_pc(it.immediate);
            return Ok(Flow::Taken);
        }
        Op::B => {
            thread.set_pc(it.immediate);
            return Ok(Flow::Taken);
        }
        Op::Mrs => thread.status(),
        Op::Msr => {
            // Only the flags field can be written in user mode (section A4.1.39).
            if it.rn & 8 != 0 {
                thread.set_status(value(thread));
            }
            advance(thread);
            return Ok(Flow::Next);
        }
        Op::Swi => {
            advance(thread);
            return Ok(Flow::Service);
        }
        Op::Undefined => return Err(Cause::Undefined.into()),
    };
    if it.rd == PC {
        thread.set_pc(target(result)?);
        return Ok(Flow::Taken);
    }
    thread.write(it.rd, result);
    advance(thread);
    Ok(Flow::Next)
}

/// Whether an instruction is executed.
trait Condition {
    fn holds(thread: &Thread, it: &Instruction) -> bool;
}

/// The condition that always holds.
struct Always;

/// A condition on the flags.
struct Perhaps;

impl Condition for Always {
    #[inline(always)]
    fn holds(_: &Thread, _: &Instruction) -> bool {
        true
    }
}

impl Condition for Perhaps {
    #[inline(always)]
    fn holds(thread: &Thread, it: &Instruction) -> bool {
        HOLDS[usize::from(it.condition & 15)] >> (thread.flags & 15) & 1 != 0
    }
}

/// For each condition a mask of the flag values for which it holds (section A3.2).
const HOLDS: [u16; 16] = {
    let mut table = [0; 16];
    let mut flags = 0;
    while flags < 16 {
        let (n, z, c, v) = (flags & 8 != 0, flags & 4 != 0, flags & 2 != 0, flags & 1 != 0);
        let holds = [
            z,
            !z,
            c,
            !c,
            n,
            !n,
            v,
            !v,
            c && !z,
            !c || z,
            n == v,
            n != v,
            !z && n == v,
            z || n != v,
            true,
        ];
        let mut condition = 0;
        while condition < holds.len() {
            table[condition] |= (holds[condition] as u16) << flags;
            condition += 1;
        }
        flags += 1;
    }
    table
};

impl Thread {
    #[inline(always)]
    fn read(&self, register: u8) -> u32 {
        self.registers[usize::from(register & 15)]
    }

    #[inline(always)]
    fn write(&mut self, register: u8, value: u32) {
        self.registers[usize::from(register & 15)] = value;
    }

    #[inline(always)]
    pub(super) fn carry(&self) -> bool {
        self.flags & 2 != 0
    }

    #[inline(always)]
    fn set_negative_and_zero(&mut self, negative: bool, zero: bool) {
        self.flags = u8::from(negative) << 3 | u8::from(zero) << 2 | self.flags & 3;
    }
}

#[inline(always)]
fn advance(thread: &mut Thread) {
    thread.registers[15] = thread.registers[15].wrapping_add(4);
}

/// Returns an address that is a valid jump target. Other targets are unpredictable without Thumb.
#[inline(always)]
fn target(address: u32) -> Result<u32, Stop> {
    match address.is_multiple_of(4) {
        true => Ok(address),
        false => Err(Cause::MisalignedTarget { target: address }.into()),
    }
}

/// Sets N and Z from the result, and C from the shifter.
#[inline(always)]
fn logical<O: SecondOperand>(
    thread: &mut Thread,
    it: &Instruction,
    result: impl FnOnce(u32) -> u32,
) -> u32 {
    let (operand, carry) = O::with_carry(thread, it);
    let result = result(operand);
    thread.flags = u8::from(result >> 31 != 0) << 3
        | u8::from(result == 0) << 2
        | u8::from(carry) << 1
        | thread.flags & 1;
    result
}

#[inline(always)]
fn sum(thread: &mut Thread, a: u32, b: u32, carry: bool) -> u32 {
    let (partial, carry_1) = a.overflowing_add(b);
    let (result, carry_2) = partial.overflowing_add(u32::from(carry));
    let overflow = (a ^ result) & (b ^ result);
    thread.flags = u8::from(result >> 31 != 0) << 3
        | u8::from(result == 0) << 2
        | u8::from(carry_1 | carry_2) << 1
        | (overflow >> 31) as u8;
    result
}

#[inline(always)]
fn product(thread: &Thread, it: &Instruction) -> u32 {
    thread.read(it.rm).wrapping_mul(thread.read(it.rs))
}

/// Leaves 64 bits in `rn` (upper) and `rd`. Flags C and V, which ARMv4 leaves undefined, keep their
/// values.
#[inline(always)]
fn long_product(thread: &mut Thread, op: Op, it: &Instruction) -> u64 {
    let (a, b) = (thread.read(it.rm), thread.read(it.rs));
    let product = match op {
        Op::Umull | Op::Umlal | Op::Umulls | Op::Umlals => u64::from(a) * u64::from(b),
        _ => (i64::from(a as i32) * i64::from(b as i32)) as u64,
    };
    let result = match op {
        Op::Umlal | Op::Smlal | Op::Umlals | Op::Smlals => product
            .wrapping_add(u64::from(thread.read(it.rn)) << 32 | u64::from(thread.read(it.rd))),
        _ => product,
    };
    thread.write(it.rn, (result >> 32) as u32);
    thread.write(it.rd, result as u32);
    result
}

/// Changes only the flags.
#[inline(always)]
fn compare(thread: &mut Thread, with: impl FnOnce(&mut Thread) -> u32) -> Result<Flow, Stop> {
    with(thread);
    advance(thread);
    Ok(Flow::Next)
}

/// Returns the address of a transfer and the new base.
#[inline(always)]
fn addresses<O: SecondOperand>(thread: &Thread, it: &Instruction) -> (u32, u32) {
    let base = thread.read(it.rn);
    let offset = O::value(thread, it);
    let offset = if it.indexing.has(Indexing::DOWN) { offset.wrapping_neg() } else { offset };
    let sum = base.wrapping_add(offset);
    (if it.indexing.has(Indexing::PRE) { sum } else { base }, sum)
}

/// Returns the new value of the register.
#[inline(always)]
fn load_one<O: SecondOperand, B: Bus>(
    thread: &mut Thread,
    it: &Instruction,
    bus: &mut B,
    size: Size,
    extended: impl FnOnce(u32) -> u32,
) -> Result<u32, Stop> {
    let (address, changed) = addresses::<O>(thread, it);
    let result = extended(load(bus, address, size)?);
    if it.rd == PC {
        target(result)?;
    }
    if it.indexing.has(Indexing::WRITE_BACK) {
        thread.write(it.rn, changed);
    }
    Ok(result)
}

#[inline(always)]
fn store_one<O: SecondOperand, B: Bus>(
    thread: &mut Thread,
    it: &Instruction,
    bus: &mut B,
    size: Size,
) -> Result<Flow, Stop> {
    let (address, changed) = addresses::<O>(thread, it);
    store(bus, address, size, thread.read(it.rd))?;
    if it.indexing.has(Indexing::WRITE_BACK) {
        thread.write(it.rn, changed);
    }
    advance(thread);
    Ok(Flow::Next)
}

fn swap<B: Bus>(thread: &Thread, it: &Instruction, bus: &mut B, size: Size) -> Result<u32, Stop> {
    let access = Access::single(thread.read(it.rn), size);
    aligned(Direction::Swap, access.address, size)?;
    let old = bus
        .swap(access, thread.read(it.rm))
        .map_err(|stall| stop(bus, stall, Direction::Swap, access))?;
    bus.done();
    Ok(old)
}

/// Returns the registers of a list with the access of each. The lowest register has the lowest
/// address.
fn accesses(thread: &Thread, it: &Instruction) -> impl Iterator<Item = (u8, Access)> + use<> {
    let mut left = it.immediate;
    let first = thread.read(it.rn).wrapping_add(it.rm as i8 as u32);
    let count = left.count_ones() as u8;
    (0..count).map(move |number| {
        let register = left.trailing_zeros() as u8;
        left &= left - 1;
        let address = first.wrapping_add(4 * u32::from(number));
        (register, Access { number, count, ..Access::single(address, Size::Word) })
    })
}

/// Loads several registers. None changes before the last word has arrived.
fn load_several<B: Bus>(thread: &mut Thread, it: &Instruction, bus: &mut B) -> Result<Flow, Stop> {
    let base = thread.read(it.rn);
    aligned(Direction::Load, base, Size::Word)?;
    let mut registers = thread.registers;
    for (register, access) in accesses(thread, it) {
        registers[usize::from(register)] =
            bus.load(access).map_err(|stall| stop(bus, stall, Direction::Load, access))?;
    }
    bus.done();
    let jump = match it.immediate >> PC & 1 != 0 {
        true => Some(target(registers[usize::from(PC)])?),
        false => None,
    };
    if it.rs != 0 {
        registers[usize::from(it.rn)] = base.wrapping_add(it.rs as i8 as u32);
    }
    thread.registers = registers;
    match jump {
        Some(pc) => {
            thread.set_pc(pc);
            Ok(Flow::Taken)
        }
        None => {
            advance(thread);
            Ok(Flow::Next)
        }
    }
}

fn store_several<B: Bus>(thread: &mut Thread, it: &Instruction, bus: &mut B) -> Result<Flow, Stop> {
    let base = thread.read(it.rn);
    aligned(Direction::Store, base, Size::Word)?;
    for (register, access) in accesses(thread, it) {
        bus.store(access, thread.read(register))
            .map_err(|stall| stop(bus, stall, Direction::Store, access))?;
    }
    bus.done();
    if it.rs != 0 {
        thread.write(it.rn, base.wrapping_add(it.rs as i8 as u32));
    }
    advance(thread);
    Ok(Flow::Next)
}
