//! Operands as numbers in fields of words. All numbers are assumed, except where the table says
//! that public documents give them.
//!
//! Codes of registers, version 1 (six bits, seven with absolute registers): 0 to 15 general-purpose
//! registers of the context, 16 to 23 SRAM and 24 to 31 SDRAM transfer registers, 32 to 63
//! constants 0 to 31, 64 to 127 absolute general-purpose registers 0 to 63 (as a destination, 32
//! is none). Version 2: 0 to 15 general purpose, 16 to 31 SRAM, 32 to 47 SDRAM, 48 to 63
//! next neighbour; in seven bits then constants 0 to 63; in more bits 64 to 95 local memory
//! (pointer, offset), 96 to 99 local memory with a step, 100 to 102 indexed transfer registers, 103
//! the next-neighbour ring, 104 none; from 128 absolute registers (nine bits: 128 of them) and then
//! constants (128 in eight bits, 256 in nine).

use super::operand::{Bank, Destination, Index, Shift, Source, Step, TransferFile};
use super::{AluOperation, Version, table};

use Index::{Absolute, Relative};
use TransferFile::{Sdram, Sram};

/// The error of a field that has no code for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCode;

type Code<T> = Result<T, NoCode>;

/// The first codes, in wide fields of version 2, of local memory, local memory with a step, indexed
/// transfer registers, the next-neighbour ring, and no operand.
const LOCAL: u32 = 64;
const LOCAL_STEP: u32 = 96;
const INDEXED: u32 = 100;
const RING: u32 = 103;
const NOTHING: u32 = 104;

fn low(number: u8, count: u8, base: u32) -> Code<u32> {
    if number < count { Ok(base + u32::from(number)) } else { Err(NoCode) }
}

fn step_code(pointer: u8, step: Step) -> u32 {
    LOCAL_STEP + u32::from(pointer & 1) * 2 + u32::from(step == Step::Decrement)
}

fn index_code(step: Step) -> u32 {
    INDEXED + step as u32
}

fn local_code(pointer: u8, offset: u8, step: Step) -> Code<u32> {
    match step {
        _ if pointer > 1 || offset > 15 => Err(NoCode),
        Step::None => Ok(LOCAL + u32::from(pointer) * 16 + u32::from(offset)),
        _ if offset == 0 => Ok(step_code(pointer, step)),
        _ => Err(NoCode),
    }
}

/// Decodes these codes to a local memory operand or an index.
fn local_of(code: u32) -> Option<(u8, u8, Step)> {
    match code {
        LOCAL..LOCAL_STEP => {
            let place = (code - LOCAL) as u8;
            Some((place / 16, place % 16, Step::None))
        }
        LOCAL_STEP..INDEXED => {
            let place = code - LOCAL_STEP;
            let step = if place.is_multiple_of(2) { Step::Increment } else { Step::Decrement };
            Some(((place / 2) as u8, 0, step))
        }
        _ => None,
    }
}

fn step_of(code: u32) -> Step {
    match code - INDEXED {
        0 => Step::None,
        1 => Step::Increment,
        _ => Step::Decrement,
    }
}

/// Returns the code of a source in a field of `width` bits, without its bank.
pub fn source(version: Version, width: u32, source: Source) -> Code<u32> {
    match (version, source) {
        (_, Source::Gpr(_, Relative(number))) => low(number, 16, 0),
        (Version::One, Source::Gpr(_, Absolute(number))) if width == 7 => low(number, 64, 64),
        (Version::One, Source::Transfer(Sram, Relative(number))) => low(number, 8, 16),
        (Version::One, Source::Transfer(Sdram, Relative(number))) => low(number, 8, 24),
        (Version::One, Source::Constant(value)) => low(value, 32, 32),
        (Version::One, Source::None) => Ok(32),
        (Version::One, _) => Err(NoCode),
        (Version::Two, Source::Gpr(_, Absolute(number))) if width == 9 => low(number, 128, 128),
        (Version::Two, Source::Transfer(Sram, Relative(number))) => low(number, 16, 16),
        (Version::Two, Source::Transfer(Sdram, Relative(number))) => low(number, 16, 32),
        (Version::Two, Source::Neighbour(Relative(number))) => low(number, 16, 48),
        (Version::Two, Source::Constant(value)) => match width {
            7 => low(value, 64, 64),
            8 => low(value, 128, 128),
            _ => Ok(256 + u32::from(value)),
        },
        (Version::Two, Source::None) => source_constant_0(width),
        (Version::Two, _) if width == 7 => Err(NoCode),
        (Version::Two, Source::TransferIndexed(step)) => Ok(index_code(step)),
        (Version::Two, Source::NeighbourRing) => Ok(RING),
        (Version::Two, Source::Local { pointer, offset, step }) => {
            local_code(pointer, offset, step)
        }
        (Version::Two, _) => Err(NoCode),
    }
}

/// Returns the code of a missing operand, which is the code of the constant 0.
fn source_constant_0(width: u32) -> Code<u32> {
    source(Version::Two, width, Source::Constant(0))
}

/// Returns the source of a code. `bank` applies if it is a general-purpose register.
pub fn source_of(version: Version, width: u32, code: u32, bank: Bank) -> Option<Source> {
    let number = |base: u32| Relative((code - base) as u8);
    Some(match version {
        Version::One => match code {
            0..16 => Source::Gpr(bank, number(0)),
            16..24 => Source::Transfer(Sram, number(16)),
            24..32 => Source::Transfer(Sdram, number(24)),
            32..64 => Source::Constant((code - 32) as u8),
            _ => Source::Gpr(bank, Absolute((code - 64) as u8)),
        },
        Version::Two => match code {
            0..16 => Source::Gpr(bank, number(0)),
            16..32 => Source::Transfer(Sram, number(16)),
            32..48 => Source::Transfer(Sdram, number(32)),
            48..64 => Source::Neighbour(number(48)),
            _ if width == 7 => Source::Constant((code - 64) as u8),
            INDEXED..RING => Source::TransferIndexed(step_of(code)),
            RING => Source::NeighbourRing,
            104..128 => return None,
            128..256 if width == 8 => Source::Constant((code - 128) as u8),
            128..256 => Source::Gpr(bank, Absolute((code - 128) as u8)),
            256.. => Source::Constant((code - 256) as u8),
            _ => {
                let (pointer, offset, step) = local_of(code)?;
                Source::Local { pointer, offset, step }
            }
        },
    })
}

/// Returns the code of a destination in a field of `width` bits, with its bank.
pub fn destination(version: Version, width: u32, destination: Destination) -> Code<u32> {
    let bank = match destination.bank() {
        Some(Bank::B) => 1,
        _ => 0,
    };
    if version == Version::One && width == 6 {
        return match destination {
            Destination::Gpr(_, Relative(number)) => low(number, 16, 16 * bank),
            Destination::Transfer(Sram, Relative(number)) => low(number, 8, 32),
            Destination::Transfer(Sdram, Relative(number)) => low(number, 8, 40),
            Destination::None => Ok(48),
            _ => Err(NoCode),
        };
    }
    let code = match (version, destination) {
        (_, Destination::Gpr(_, Relative(number))) => low(number, 16, 0)?,
        (Version::One, Destination::Gpr(_, Absolute(number))) => low(number, 64, 64)?,
        (Version::One, Destination::Transfer(Sram, Relative(number))) => low(number, 8, 16)?,
        (Version::One, Destination::Transfer(Sdram, Relative(number))) => low(number, 8, 24)?,
        (Version::One, Destination::None) => 32,
        (Version::One, _) => return Err(NoCode),
        (Version::Two, Destination::Gpr(_, Absolute(number))) if width == 9 => {
            low(number, 128, 128)?
        }
        (Version::Two, Destination::Transfer(Sram, Relative(number))) => low(number, 16, 16)?,
        (Version::Two, Destination::Transfer(Sdram, Relative(number))) => low(number, 16, 32)?,
        (Version::Two, Destination::Neighbour(Relative(number))) => low(number, 16, 48)?,
        (Version::Two, Destination::Local { pointer, offset, step }) => {
            local_code(pointer, offset, step)?
        }
        (Version::Two, Destination::TransferIndexed(step)) => index_code(step),
        (Version::Two, Destination::NeighbourRing) => RING,
        (Version::Two, Destination::None) => NOTHING,
        (Version::Two, _) => return Err(NoCode),
    };
    Ok(bank << (width - 1) | code)
}

/// Returns the destination of a code.
pub fn destination_of(version: Version, width: u32, code: u32) -> Option<Destination> {
    let number = |code: u32, base: u32| Relative((code - base) as u8);
    if version == Version::One && width == 6 {
        return Some(match code {
            0..16 => Destination::Gpr(Bank::A, number(code, 0)),
            16..32 => Destination::Gpr(Bank::B, number(code, 16)),
            32..40 => Destination::Transfer(Sram, number(code, 32)),
            40..48 => Destination::Transfer(Sdram, number(code, 40)),
            48 => Destination::None,
            _ => return None,
        });
    }
    let bank = if code >> (width - 1) & 1 != 0 { Bank::B } else { Bank::A };
    let code = code & table::ones(width - 1) as u32;
    Some(match version {
        Version::One => match code {
            0..16 => Destination::Gpr(bank, number(code, 0)),
            16..24 => Destination::Transfer(Sram, number(code, 16)),
            24..32 => Destination::Transfer(Sdram, number(code, 24)),
            32 => Destination::None,
            64.. => Destination::Gpr(bank, Absolute((code - 64) as u8)),
            _ => return None,
        },
        Version::Two => match code {
            0..16 => Destination::Gpr(bank, number(code, 0)),
            16..32 => Destination::Transfer(Sram, number(code, 16)),
            32..48 => Destination::Transfer(Sdram, number(code, 32)),
            48..64 => Destination::Neighbour(number(code, 48)),
            INDEXED..RING => Destination::TransferIndexed(step_of(code)),
            RING => Destination::NeighbourRing,
            NOTHING => Destination::None,
            128.. => Destination::Gpr(bank, Absolute((code - 128) as u8)),
            _ => {
                let (pointer, offset, step) = local_of(code)?;
                Destination::Local { pointer, offset, step }
            }
        },
    })
}

/// Returns the code of a shift, in seven bits.
pub fn shift(shift: Shift) -> Code<u32> {
    Ok(match shift {
        Shift::None => 0,
        Shift::Left(by @ 1..32) => by.into(),
        Shift::LeftIndirect => 32,
        Shift::Right(by @ 1..32) => 32 + u32::from(by),
        Shift::RightIndirect => 64,
        Shift::Rotate(by @ 1..32) => 64 + u32::from(by),
        _ => return Err(NoCode),
    })
}

/// Returns the shift of a code.
pub fn shift_of(code: u32) -> Option<Shift> {
    Some(match code {
        0 => Shift::None,
        1..32 => Shift::Left(code as u8),
        32 => Shift::LeftIndirect,
        33..64 => Shift::Right((code - 32) as u8),
        64 => Shift::RightIndirect,
        65..96 => Shift::Rotate((code - 64) as u8),
        _ => return None,
    })
}

/// Returns the code of an operation in `alu` or, for a field of three bits, in `alu_shf`.
pub fn operation(version: Version, width: u32, operation: AluOperation) -> Code<u32> {
    let row = table::OPERATIONS.iter().find(|row| row.1 == operation).ok_or(NoCode)?;
    let code = if width == 3 { row.3 } else { row.2[version as usize] };
    code.map(u32::from).ok_or(NoCode)
}

/// Returns the operation of a code.
pub fn operation_of(version: Version, width: u32, code: u32) -> Option<AluOperation> {
    let row = table::OPERATIONS.iter().find(|row| match width {
        3 => row.3.map(u32::from) == Some(code),
        _ => row.2[version as usize].map(u32::from) == Some(code),
    });
    row.map(|row| row.1)
}

/// Returns the code of a constant in an `immed`: inversion, shift in bytes, sixteen bits. If a
/// value has several codes, the code without inversion and then the code with the least shift is
/// taken.
pub fn immediate(value: u32) -> Code<u32> {
    for invert in [0, 1] {
        let bits = if invert == 1 { !value } else { value };
        for bytes in 0..3 {
            let number = bits.rotate_right(8 * bytes);
            if number <= 0xffff {
                return Ok(invert << 18 | bytes << 16 | number);
            }
        }
    }
    Err(NoCode)
}

/// Returns the constant of a code.
pub fn immediate_of(code: u32) -> Option<u32> {
    let bytes = code >> 16 & 3;
    let bits = (code & 0xffff).checked_shl(8 * bytes).filter(|_| bytes < 3)?;
    Some(if code >> 18 & 1 != 0 { !bits } else { bits })
}
