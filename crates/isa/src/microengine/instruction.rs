//! Decoded instructions of microengines, of both versions.

use super::command::Command;
use super::operand::{Destination, Shift, Signal, Source};

/// A decoded instruction. All numbers are checked: what the encoding cannot express does not
/// come out of `decode`.
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
    /// `dbl_shf[destination, a, b, shift]`: the low word of A:B shifted right by `amount` (1 to
    /// 31), or, without an amount, by the low five bits of operand A of the instruction before.
    DoubleShift { destination: Destination, a: Source, b: Source, amount: Option<u8> },
    /// `immed[destination, value, shift]` and `load_addr[destination, label]`: the whole value.
    Immediate { destination: Destination, value: u32 },
    /// `immed_b0[...]` to `immed_b3[...]`: one byte of the destination; byte 0 is bits 7 to 0.
    ImmediateByte { destination: Destination, byte: u8, value: u8 },
    /// `immed_w0[...]`, `immed_w1[...]`: one half of the destination; word 0 is bits 15 to 0.
    ImmediateWord { destination: Destination, word: u8, value: u16 },
    /// `ld_field[destination, mask, source, shift]`, `ld_field_w_clr[...]`: the bytes of the
    /// shifted source that `mask` selects (bit 0: bits 7 to 0) into the destination; the others
    /// are kept, or cleared.
    LoadField { destination: Destination, mask: u8, source: Source, shift: Shift, clear: bool },
    /// `find_bset[source, shift]` (version 1): looks for the lowest bit that is set in the low
    /// half of the shifted source; the result is read by [`Instruction::LoadBitSetResult`].
    FindBitSet { source: Source, shift: Shift, clear: bool },
    /// `load_bset_result1[destination]`, `load_bset_result2[...]` (version 1).
    LoadBitSetResult { destination: Destination, result: u8 },
    /// `ffs[destination, source]` (version 2): number of the lowest bit that is set.
    FindFirstSet { destination: Destination, source: Source },
    /// `pop_count[destination, source]` (version 2): the number of bits that are set.
    PopulationCount { destination: Destination, source: Source },
    /// `byte_align_be[destination, source]`, `byte_align_le[...]` (version 2): four bytes out of
    /// the source of the instruction of this kind before and this one, from the byte that the
    /// CSR `BYTE_INDEX` selects. Each keeps its source for the next.
    ByteAlign { destination: Destination, source: Source, little_endian: bool },
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
    /// `br_inp_state[state, label]`: if the chip says so.
    BranchInput { state: InputState, target: u16, defer: u8 },
    /// `br_!signal[signal, label]` (`set` is false) and `br_signal[...]` (version 2). A signal
    /// that is found set is cleared.
    BranchSignal { signal: Signal, set: bool, target: u16, defer: u8 },
    /// `jump[register, label]`: to the sum of both.
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
    /// used one if none matches), bit 7 whether it matched, bits 11 to 8 its state.
    CamLookup { destination: Destination, source: Source },
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
}

/// What `br_inp_state` asks about.
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
    /// `voluntary`: the context is ready again at once, after the other ready ones.
    Voluntary,
    /// `kill`: it never runs again.
    Kill,
    /// Until all of the signals (a set of [`Signal::bit`]), or with `any` one of them, have come.
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

/// The class of a branch: how many instructions that have been fetched after it are aborted if
/// it is taken. `defer[n]` lets up to that many of them execute. The classes of the individual
/// instructions are assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BranchClass {
    /// The target is known when the word is decoded: 1 is aborted.
    One,
    /// It hangs on the condition codes: 2 are aborted.
    Two,
    /// It hangs on a register: 3 are aborted.
    Three,
}

impl BranchClass {
    /// Instructions that a taken branch aborts, those in defer slots included.
    pub fn aborts(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}
