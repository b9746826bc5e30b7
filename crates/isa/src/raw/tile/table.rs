//! The table of the tile processor's instructions.

use Slot::{Amount, Branch, Clz, Jump, Memory, Rd, Rs, Rt, Signed, Sr, Unsigned};
use Timing::{Alu, Divide, Load, Multiply};

/// An operand in the source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The register in bits 15 to 11.
    Rd,
    /// The register in bits 25 to 21.
    Rs,
    /// The register in bits 20 to 16.
    Rt,
    /// A register in bits 15 to 11 and again in bits 20 to 16, as MIPS32 requires.
    Clz,
    /// A shift distance in bits 10 to 6.
    Amount,
    /// A signed constant in the lower half.
    Signed,
    /// An unsigned constant in the lower half.
    Unsigned,
    /// `constant(rs)`, the signed constant in the lower half.
    Memory,
    /// A target in the lower half: instructions from the next one.
    Branch,
    /// A target in bits 25 to 0: the number of an instruction.
    Jump,
    /// A special register in bits 15 to 11.
    Sr,
}

impl Slot {
    /// Returns the bits of the operand.
    pub fn mask(self) -> u32 {
        match self {
            Rd | Sr => 31 << 11,
            Rs => 31 << 21,
            Rt => 31 << 16,
            Clz => 31 << 16 | 31 << 11,
            Amount => 31 << 6,
            Signed | Unsigned | Branch => 0xffff,
            Memory => 31 << 21 | 0xffff,
            Jump => 0x03ff_ffff,
        }
    }
}

/// The latency class of an instruction. The machine gives each class its cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// In the next cycle.
    Alu,
    /// After a load.
    Load,
    /// After a multiplication.
    Multiply,
    /// After a division.
    Divide,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRow {
    pub op: Op,
    pub mnemonic: &'static str,
    /// The bits outside the operands.
    pub code: u32,
    /// The operands in the order of the source.
    pub slots: &'static [Slot],
    /// The operand that is written, if there is one.
    pub writes: Option<Slot>,
    /// The latency class of the result.
    pub timing: Timing,
    /// The meaning, for the documentation.
    pub meaning: &'static str,
}

impl InstructionRow {
    /// Returns the bits that distinguish the instruction from others.
    pub fn mask(&self) -> u32 {
        !self.slots.iter().fold(0, |mask, slot| mask | slot.mask())
    }
}

macro_rules! table {
    ($($op:ident $mnemonic:literal $code:literal [$($slot:ident),*] $writes:expr, $timing:ident,
       $meaning:literal;)*) => {
        /// An operation of the tile processor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $meaning] $op,)*
        }

        /// All instructions, by the numbers of their operations.
        pub const TABLE: &[InstructionRow] = &[
            $(InstructionRow { op: Op::$op, mnemonic: $mnemonic, code: $code, slots: &[$($slot),*],
                    writes: $writes, timing: $timing, meaning: $meaning },)*
        ];
    };
}

impl Op {
    /// Returns the row of the operation.
    pub fn row(self) -> &'static InstructionRow {
        &TABLE[self as usize]
    }
}

const D: Option<Slot> = Some(Rd);
const T: Option<Slot> = Some(Rt);
const N: Option<Slot> = None;

table! {
    Sll "sll" 0x0000_0000 [Rd, Rt, Amount] D, Alu, "rd = rt << amount";
    Srl "srl" 0x0000_0002 [Rd, Rt, Amount] D, Alu, "rd = rt >> amount, filled with 0";
    Sra "sra" 0x0000_0003 [Rd, Rt, Amount] D, Alu, "rd = rt >> amount, filled with the sign";
    Sllv "sllv" 0x0000_0004 [Rd, Rt, Rs] D, Alu, "rd = rt << rs mod 32";
    Srlv "srlv" 0x0000_0006 [Rd, Rt, Rs] D, Alu, "rd = rt >> rs mod 32, filled with 0";
    Srav "srav" 0x0000_0007 [Rd, Rt, Rs] D, Alu, "rd = rt >> rs mod 32, filled with the sign";
    Jr "jr" 0x0000_0008 [Rs] N, Alu, "jump to rs";
    Jalr "jalr" 0x0000_0009 [Rd, Rs] D, Alu, "rd = the next address; jump to rs";
    Movz "movz" 0x0000_000a [Rd, Rs, Rt] D, Alu, "rd = rs if rt is 0";
    Movn "movn" 0x0000_000b [Rd, Rs, Rt] D, Alu, "rd = rs if rt is not 0";
    Halt "break" 0x0000_000d [] N, Alu, "stop the tile processor";
    Mfhi "mfhi" 0x0000_0010 [Rd] D, Alu, "rd = HI";
    Mthi "mthi" 0x0000_0011 [Rs] N, Alu, "HI = rs";
    Mflo "mflo" 0x0000_0012 [Rd] D, Alu, "rd = LO";
    Mtlo "mtlo" 0x0000_0013 [Rs] N, Alu, "LO = rs";
    Mult "mult" 0x0000_0018 [Rs, Rt] N, Multiply, "HI, LO = rs * rt, signed";
    Multu "multu" 0x0000_0019 [Rs, Rt] N, Multiply, "HI, LO = rs * rt, unsigned";
    Div "div" 0x0000_001a [Rs, Rt] N, Divide, "LO = rs / rt, HI = the remainder, signed; without a trap";
    Divu "divu" 0x0000_001b [Rs, Rt] N, Divide, "LO = rs / rt, HI = the remainder, unsigned; without a trap";
    Addu "addu" 0x0000_0021 [Rd, Rs, Rt] D, Alu, "rd = rs + rt";
    Subu "subu" 0x0000_0023 [Rd, Rs, Rt] D, Alu, "rd = rs - rt";
    And "and" 0x0000_0024 [Rd, Rs, Rt] D, Alu, "rd = rs & rt";
    Or "or" 0x0000_0025 [Rd, Rs, Rt] D, Alu, "rd = rs, or rt";
    Xor "xor" 0x0000_0026 [Rd, Rs, Rt] D, Alu, "rd = rs ^ rt";
    Nor "nor" 0x0000_0027 [Rd, Rs, Rt] D, Alu, "rd = the complement of `or`";
    Slt "slt" 0x0000_002a [Rd, Rs, Rt] D, Alu, "rd = rs < rt, signed";
    Sltu "sltu" 0x0000_002b [Rd, Rs, Rt] D, Alu, "rd = rs < rt, unsigned";
    Bltz "bltz" 0x0400_0000 [Rs, Branch] N, Alu, "branch if rs < 0";
    Bgez "bgez" 0x0401_0000 [Rs, Branch] N, Alu, "branch if rs >= 0";
    J "j" 0x0800_0000 [Jump] N, Alu, "jump";
    Jal "jal" 0x0c00_0000 [Jump] N, Alu, "$ra = the next address; jump";
    Beq "beq" 0x1000_0000 [Rs, Rt, Branch] N, Alu, "branch if rs = rt";
    Bne "bne" 0x1400_0000 [Rs, Rt, Branch] N, Alu, "branch if rs and rt differ";
    Blez "blez" 0x1800_0000 [Rs, Branch] N, Alu, "branch if rs <= 0";
    Bgtz "bgtz" 0x1c00_0000 [Rs, Branch] N, Alu, "branch if rs > 0";
    Addiu "addiu" 0x2400_0000 [Rt, Rs, Signed] T, Alu, "rt = rs + constant";
    Slti "slti" 0x2800_0000 [Rt, Rs, Signed] T, Alu, "rt = rs < constant, signed";
    Sltiu "sltiu" 0x2c00_0000 [Rt, Rs, Signed] T, Alu, "rt = rs < constant (sign extended), unsigned";
    Andi "andi" 0x3000_0000 [Rt, Rs, Unsigned] T, Alu, "rt = rs & constant";
    Ori "ori" 0x3400_0000 [Rt, Rs, Unsigned] T, Alu, "rt = rs, or constant";
    Xori "xori" 0x3800_0000 [Rt, Rs, Unsigned] T, Alu, "rt = rs ^ constant";
    Lui "lui" 0x3c00_0000 [Rt, Unsigned] T, Alu, "rt = constant << 16";
    Mfsr "mfsr" 0x4000_0000 [Rt, Sr] T, Alu, "rt = the special register";
    Mtsr "mtsr" 0x4080_0000 [Rt, Sr] N, Alu, "the special register = rt";
    Intoff "intoff" 0x4160_6000 [] N, Alu, "disable interrupts";
    Inton "inton" 0x4160_6020 [] N, Alu, "enable interrupts";
    Eret "eret" 0x4200_0018 [] N, Alu, "enable interrupts; jump to the address in `epc`";
    Mul "mul" 0x7000_0002 [Rd, Rs, Rt] D, Multiply, "rd = rs * rt, the lower half; HI and LO are kept";
    Clz "clz" 0x7000_0020 [Clz, Rs] Some(Slot::Clz), Alu, "rd = the number of leading zeros of rs";
    Lb "lb" 0x8000_0000 [Rt, Memory] T, Load, "rt = the byte, sign extended";
    Lh "lh" 0x8400_0000 [Rt, Memory] T, Load, "rt = the half-word, sign extended";
    Lw "lw" 0x8c00_0000 [Rt, Memory] T, Load, "rt = the word";
    Lbu "lbu" 0x9000_0000 [Rt, Memory] T, Load, "rt = the byte";
    Lhu "lhu" 0x9400_0000 [Rt, Memory] T, Load, "rt = the half-word";
    Sb "sb" 0xa000_0000 [Rt, Memory] N, Alu, "the byte = rt";
    Sh "sh" 0xa400_0000 [Rt, Memory] N, Alu, "the half-word = rt";
    Sw "sw" 0xac00_0000 [Rt, Memory] N, Alu, "the word = rt";
    Wbinv "wbinv" 0xbc00_0000 [Memory] N, Load, "write the line back, if it is dirty, and drop it from the cache";
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Special {
    /// Cycles since reset.
    Cycle,
    /// Row and column of the tile.
    Coordinates,
    /// Return address of an interrupt.
    Epc,
    /// Address of the interrupt handler.
    Vector,
    /// Enabled causes.
    Mask,
    /// Pending causes.
    Cause,
    /// Cycle of the next timer interrupt.
    Timer,
    /// Words that can be read from each network.
    Available,
    /// Interrupts of devices.
    External,
}

/// Numbers (by position), names and meanings of the special registers. All are assumed.
pub const SPECIAL: &[(Special, &str, &str)] = &[
    (Special::Cycle, "cycle", "cycles since reset, the lower 32 bits; read only"),
    (Special::Coordinates, "coordinates", "`row << 5 | column` of the tile; read only"),
    (Special::Epc, "epc", "the address at which an interrupted program continues"),
    (Special::Vector, "vector", "the address of the interrupt handler"),
    (Special::Mask, "mask", "enabled causes: 1 a word in `$cgni`, 2 the timer, 4 a device"),
    (Special::Cause, "cause", "pending causes, as in `mask`; read only"),
    (
        Special::Timer,
        "timer",
        "the cycle from which the timer's cause is pending; writing clears it",
    ),
    (
        Special::Available,
        "available",
        "words that wait in `$csti`, `$csti2`, `$cgni`, `$cmni`, a byte each from the lowest; read only",
    ),
    (Special::External, "external", "interrupts of devices since this was last read; read only"),
];
