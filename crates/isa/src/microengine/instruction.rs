//! Decoded instructions of microengines, of both versions.

use super::command::Command;
use super::operand::{Destination, Shift, Signal, Source};

/// A decoded instruction. All numbers are in range: `decode` returns nothing that the encoding
/// cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// `alu[destination, a, operation, b]`.
    Alu { destination: Destination, a: Source, operation: AluOperation, b: Source },
    /// `alu_shf[destination, a, operation, b, shift]`: B is shifted before the operation.
    AluShift {
        destination: Destination,
        a: Source,
        operation: AluOperation,
        b: Source,
        shift: Shift,
    },
    /// `dbl_shf[destination, a, b, shift]`: the low word of A:B shifted right by `amount` (1 to 31)
    /// or, without an amount, by the low five bits of operand A of the previous instruction.
    DoubleShift { destination: Destination, a: Source, b: Source, amount: Option<u8> },
    /// `immed[destination, value, shift]` and `load_addr[destination, label]`: the whole value.
    Immediate { destination: Destination, value: u32 },
    /// `immed_b0[...]` to `immed_b3[...]`: one byte of the destination; byte 0 is bits 7 to 0.
    ImmediateByte { destination: Destination, byte: u8, value: u8 },
    /// `immed_w0[...]`, `immed_w1[...]`: one half of the destination; word 0 is bits 15 to 0.
    ImmediateWord { destination: Destination, word: u8, value: u16 },
    /// `ld_field[destination, mask, source, shift]`, `ld_field_w_clr[...]`: copies the bytes of the
    /// shifted source that `mask` selects (bit 0: bits 7 to 0) into the destination. The other
    /// bytes are kept, or cleared.
    LoadField { destination: Destination, mask: u8, source: Source, shift: Shift, clear: bool },
    /// `find_bset[source, shift]` (version 1): finds the lowest set bit in the low half of the
    /// shifted source. [`Instruction::LoadBitSetResult`] reads the result.
    FindBitSet { source: Source, shift: Shift, clear: bool },
    /// `load_bset_result1[destination]`, `load_bset_result2[...]` (version 1).
    LoadBitSetResult { destination: Destination, result: u8 },
    /// `ffs[destination, source]` (version 2): number of the lowest bit that is set.
    FindFirstSet { destination: Destination, source: Source },
    /// `pop_count[destination, source]` (version 2): the number of bits that are set.
    PopulationCount { destination: Destination, source: Source },
    /// `byte_align_be[destination, b]`, `byte_align_le[destination, a]` (version 2): four bytes
    /// from two words, from the byte that the CSR `BYTE_INDEX` selects. The words are this operand
    /// of the previous instruction, whatever that instruction is, and of this one.
    ByteAlign { destination: Destination, source: Source, little_endian: bool },
    /// `crc_be[polynomial, destination, source]`, `crc_le[...]` (version 2): continues the check
    /// in the CSR `CRC_REMAINDER` with bytes of the source, and copies the source.
    Crc { destination: Destination, source: Source, little_endian: bool, check: Check },
    /// `mul_start[a, b]`, `mul_step[step]`, `mul_last[destination]`, `mul_last2[destination]`
    /// (version 2).
    Multiply { destination: Destination, a: Source, b: Source, step: MultiplyStep },
    /// `br[label]`, `br=0[label]` and others, by the condition codes.
    Branch { condition: Condition, target: u16, defer: u8 },
    /// `br_bset[register, bit, label]`, `br_bclr[...]`.
    BranchBit { register: Source, bit: u8, set: bool, target: u16, defer: u8 },
    /// `br=byte[register, byte, value, label]`, `br!=byte[...]`.
    BranchByte { register: Source, byte: u8, value: u8, equal: bool, target: u16, defer: u8 },
    /// `br=ctx[context, label]`, `br!=ctx[...]`.
    BranchContext { context: u8, equal: bool, target: u16, defer: u8 },
    /// `br_inp_state[state, label]`: if the chip reports the state.
    BranchInput { state: InputState, target: u16, defer: u8 },
    /// `br_!signal[signal, label]` (`set` is false) and `br_signal[...]` (version 2). A signal
    /// that is found set is cleared.
    BranchSignal { signal: Signal, set: bool, target: u16, defer: u8 },
    /// `jump[register, label]`: to the sum of register and label.
    Jump { register: Source, base: u16, defer: u8 },
    /// `rtn[register]`: to the address in the register.
    Return { register: Source, defer: u8 },
    /// `ctx_arb[...]`.
    Arbitrate { wait: Wait, defer: u8 },
    /// `local_csr_rd[csr]`: the value replaces the immediate of the next instruction, which is
    /// an `immed`.
    LocalCsrRead { csr: u8 },
    /// `local_csr_wr[csr, source]` (version 2). Takes effect four cycles later.
    LocalCsrWrite { csr: u8, source: Source },
    /// `cam_lookup[destination, source]` (version 2): bits 6 to 3 the entry (the least recently
    /// used one if none matches), bit 7 whether it matched, bits 11 to 8 its state. The entry may
    /// also select 16 words of a block of 256 words of local memory for a pointer.
    CamLookup { destination: Destination, source: Source, pointer: Option<CamPointer> },
    /// `cam_write[entry, source, state]` (version 2): the tag, and the state 0 to 15.
    CamWrite { entry: Source, source: Source, state: u8 },
    /// `cam_write_state[entry, state]` (version 2).
    CamWriteState { entry: Source, state: u8 },
    /// `cam_read_tag[destination, entry]` (version 2).
    CamReadTag { destination: Destination, entry: Source },
    /// `cam_read_state[destination, entry]` (version 2): in bits 11 to 8.
    CamReadState { destination: Destination, entry: Source },
    /// `cam_clear` (version 2): all tags become 0, all states 0; entry 0 is used the longest ago.
    CamClear,
    /// `nop`.
    Nop,
    /// A command for a unit of the chip.
    Command(Command),
}

/// An operation of the ALU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOperation {
    /// `B`.
    B,
    /// `~B`.
    NotB,
    /// `+`: A + B.
    Add,
    /// `+16`: A + (B mod 2^16).
    Add16,
    /// `+8`: A + (B mod 2^8) (version 2).
    Add8,
    /// `+carry`: A + B + carry.
    AddCarry,
    /// `-`: A - B. The carry out is 1 if there was no borrow.
    Subtract,
    /// `-carry`: A - B - 1 + carry.
    SubtractCarry,
    /// `B-A`.
    ReverseSubtract,
    /// `AND`.
    And,
    /// `~AND`: ~A AND B.
    NotAnd,
    /// `AND~`: A AND ~B.
    AndNot,
    /// `OR`.
    Or,
    /// `XOR`.
    Xor,
}

/// A condition on the condition codes N, Z, V and C (C: the carry out of the last addition or
/// subtraction).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `br`.
    Always,
    /// `br=0`.
    Equal,
    /// `br!=0`.
    NotEqual,
    /// `br_bmi` (version 2): the result was negative.
    Minus,
    /// `br_bpl` (version 2).
    Plus,
    /// `br<0`: negative, or positive after an overflow.
    Less,
    /// `br<=0`.
    LessOrEqual,
    /// `br>0`.
    Greater,
    /// `br>=0`.
    GreaterOrEqual,
    /// `br=cout`.
    Carry,
    /// `br!=cout`.
    NoCarry,
    /// `br_bvs` (version 2): the result overflowed.
    Overflow,
    /// `br_bvc` (version 2).
    NoOverflow,
}

/// The pointer into local memory that a `cam_lookup` sets, as in the IXP2800 Hardware Reference
/// Manual, section 2.3.7.2: bits 9 to 6 of its address are the entry, bits 11 and 10 the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CamPointer {
    /// The pointer, 0 or 1.
    pub pointer: u8,
    /// The block of 256 words, 0 to 3.
    pub block: u8,
}

/// The bytes and the polynomial of a `crc` instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    /// The polynomial of the remainder.
    pub polynomial: Polynomial,
    /// The first and the last byte of the source. Byte 0 has bits 31 to 24 in `crc_be`, and bits
    /// 7 to 0 in `crc_le`.
    pub first: u8,
    /// The last byte.
    pub last: u8,
    /// Whether the bits of each byte are taken from the lowest up.
    pub bit_swap: bool,
}

/// A polynomial of the CRC unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Polynomial {
    /// CRC-CCITT: 16 bits.
    Ccitt,
    /// CRC-32 of Ethernet.
    Crc32,
    /// CRC-10 of ATM.
    Crc10,
    /// CRC-5 of AAL2.
    Crc5,
    /// CRC-32C of iSCSI.
    Iscsi,
}

impl Polynomial {
    /// All polynomials, in the order of their numbers, with their names in the assembler.
    pub const ALL: [(&str, Self); 5] = [
        ("crc_ccitt", Self::Ccitt),
        ("crc_32", Self::Crc32),
        ("crc_10", Self::Crc10),
        ("crc_5", Self::Crc5),
        ("crc_iscsi", Self::Iscsi),
    ];

    /// Returns the bits of a remainder, and the polynomial without its highest term.
    pub fn terms(self) -> (u32, u32) {
        match self {
            Self::Ccitt => (16, 0x1021),
            Self::Crc32 => (32, 0x04c1_1db7),
            Self::Crc10 => (10, 0x233),
            Self::Crc5 => (5, 0x05),
            Self::Iscsi => (32, 0x1edc_6f41),
        }
    }
}

impl Check {
    /// The choices of bytes, in the order of their numbers: first and last byte.
    pub const BYTES: [(u8, u8); 7] = [(0, 3), (0, 2), (0, 1), (0, 0), (1, 3), (2, 3), (3, 3)];

    /// Returns the number of this check in a word of seven bits: polynomial, bytes, and bit order;
    /// `None` if there is none.
    pub fn number(self) -> Option<u8> {
        let bytes = Self::BYTES.iter().position(|bytes| *bytes == (self.first, self.last))?;
        let polynomial = Polynomial::ALL.iter().position(|row| row.1 == self.polynomial)?;
        Some(polynomial as u8 | (bytes as u8) << 3 | u8::from(self.bit_swap) << 6)
    }

    /// Returns the check of a number.
    pub fn of_number(number: u8) -> Option<Self> {
        let (_, polynomial) = *Polynomial::ALL.get(usize::from(number & 7))?;
        let (first, last) = *Self::BYTES.get(usize::from(number >> 3 & 7))?;
        Some(Self { polynomial, first, last, bit_swap: number >> 6 & 1 != 0 })
    }

    /// Returns the token for a choice of bytes.
    pub fn bytes_token((first, last): (u8, u8)) -> String {
        if first == last { format!("byte_{first}") } else { format!("bytes_{first}_{last}") }
    }

    /// Returns the remainder after the bytes of a word.
    pub fn remainder(self, remainder: u32, word: u32, little_endian: bool) -> u32 {
        let (bits, polynomial) = self.polynomial.terms();
        let bytes = if little_endian { word.to_le_bytes() } else { word.to_be_bytes() };
        let chosen = bytes.iter().take(usize::from(self.last) + 1).skip(self.first.into());
        chosen.fold(remainder, |remainder, &byte| {
            let byte = if self.bit_swap { byte.reverse_bits() } else { byte };
            (0..8).rev().fold(remainder, |remainder, bit| {
                let high = remainder >> (bits - 1) ^ u32::from(byte) >> bit;
                let shifted = (remainder << 1) & (u32::MAX >> (32 - bits));
                if high & 1 != 0 { shifted ^ polynomial } else { shifted }
            })
        })
    }
}

/// A state of the chip that `br_inp_state` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InputState(pub u8);

impl InputState {
    /// The names, in the order of their numbers: a scratch ring (or list of SRAM) is full or
    /// empty, a request for the receive FIFO is possible, ...
    pub const NAMES: [&str; 8] = [
        "rec_req_avail",
        "push_protect",
        "cmd_q_full",
        "ring0_full",
        "ring1_full",
        "ring2_full",
        "ring3_full",
        "tfifo_full",
    ];
}

/// Why a context gives up the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// `voluntary`: the context is ready again at once, after the other ready contexts.
    Voluntary,
    /// `kill`: the context never runs again.
    Kill,
    /// `bpt` (version 2): no context of the engine runs again until the processor core allows it.
    Breakpoint,
    /// Until all of the signals (a set of [`Signal::bit`]) have come, or any of them if `any` is
    /// set.
    Signals { mask: u16, any: bool },
}

/// The steps of a product (version 2): `start`, then as many steps as the second operand has
/// bytes, then `last`, which writes the low word, and `last2`, which writes the high word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MultiplyStep {
    /// Takes both operands.
    Start,
    /// The number of the step, 0 to 3: adds the product of A and that byte of B.
    Step(u8),
    /// Writes the low word.
    Last,
    /// Writes the high word.
    Last2,
}

/// The class of a branch: the number of later instructions, already fetched, that are aborted if it
/// is taken. `defer[n]` executes up to `n` of them. The classes of the individual instructions are
/// assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BranchClass {
    /// An instruction that gives up the engine.
    Swap,
    /// The target is known when the word is decoded.
    One,
    /// A branch on the condition codes.
    Two,
    /// A branch on a register.
    Three,
}

impl BranchClass {
    /// Returns the number of instructions that a taken branch aborts, including defer slots.
    /// Version 2 lets `br` defer two and a branch on condition codes three, so as many have been
    /// fetched after them.
    pub fn aborts(self, version: super::Version) -> u8 {
        match (self, version) {
            (Self::Swap, _) | (Self::One, super::Version::One) => 1,
            (Self::One, super::Version::Two) | (Self::Two, super::Version::One) => 2,
            (Self::Two, super::Version::Two) | (Self::Three, _) => 3,
        }
    }
}
