//! Cyclic redundancy checks of values, by table.

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;

use crate::code::{FRAME, NOTHING, Operand};
use crate::frame;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::view::put;
use crate::words::{self, Words};

/// The polynomial of CRC-32 (IEEE 802.3), reflected.
pub const IEEE: u32 = 0xedb8_8320;
/// The polynomial of CRC-32C (Castagnoli; RFC 3720, appendix B.4), reflected.
pub const CASTAGNOLI: u32 = 0x82f6_3b78;

/// The routine `crc32`.
pub const ROUTINES: &str = include_str!("checks.s");

/// A check with its table in memory.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The address of the table: one word for each byte.
    table: u32,
}

impl Check {
    /// Places the table of a polynomial. All offloads share it.
    ///
    /// # Errors
    /// If the memory is too small.
    pub fn place(polynomial: u32, memory: &mut Memory) -> Result<Self, String> {
        let step = |check: u32, _| check >> 1 ^ if check & 1 == 1 { polynomial } else { 0 };
        let table = (0..256).map(|byte| (0..8).fold(byte, step)).collect();
        Ok(Self { table: memory.shared(table)? })
    }

    /// Returns the check of the bytes of a value, in network order. Zero bits pad the front to a
    /// whole number of bytes.
    pub fn of(self, lower: &mut Lower<'_>, data: Value) -> Words {
        let (width, mut words) = (lower.width(data), lower.get(data));
        let bytes = width.div_ceil(8);
        words.resize(words::count(8 * bytes), NOTHING);
        let code = &mut lower.code;
        let from = code.two(Do::Addu, FRAME.into(), Operand::Number(frame::WORK));
        let from = code.in_register(from);
        put(code, from, Some(0), 0, &words, 8 * bytes);
        code.call("crc32", &[from.into(), Operand::Number(bytes), Operand::Number(self.table)], 1)
    }
}
