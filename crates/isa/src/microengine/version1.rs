//! The instructions of version 1 (IXP1200). Public documents give their names and purposes, and no
//! encoding: every pattern is assumed.

use super::Condition::*;
use super::table::{Form, InstructionRow, Known};
use super::{BitOperation, Operation, Unit};

const fn row(
    syntax: &'static str,
    pattern: &'static str,
    form: Form,
    meaning: &'static str,
) -> InstructionRow {
    InstructionRow { syntax, pattern, form, known: Known::Name, meaning }
}

/// A command with two address operands, a count and all tokens.
macro_rules! command {
    ($syntax:literal, $code:literal, $unit:ident, $operation:expr, $meaning:literal) => {
        row(
            $syntax,
            concat!($code, " xfer:3 swap:1 a:6 b:6 count:3 sig:2 order:2 ind:1 defer:1"),
            Form::Command(Unit::$unit, $operation),
            $meaning,
        )
    };
}

/// A command on one word.
macro_rules! single {
    ($syntax:literal, $code:literal, $unit:ident, $operation:expr, $meaning:literal) => {
        row(
            $syntax,
            concat!($code, " xfer:3 swap:1 a:6 b:6 000 sig:2 order:2 ind:1 defer:1"),
            Form::Command(Unit::$unit, $operation),
            $meaning,
        )
    };
}

/// A command on a word or a FIFO without a transfer register.
macro_rules! bare {
    ($syntax:literal, $code:literal, $count:literal, $unit:ident, $operation:expr,
     $meaning:literal) => {
        row(
            $syntax,
            concat!($code, " 000 swap:1 a:6 b:6 ", $count, " sig:2 order:2 ind:1 defer:1"),
            Form::Command(Unit::$unit, $operation),
            $meaning,
        )
    };
}

macro_rules! hash {
    ($syntax:literal, $code:literal, $keys:literal, $bits:literal) => {
        row(
            $syntax,
            concat!("011111010 ", $code, " xfer:3 sig:2 order:2 ind:1 defer:1"),
            Form::Command(Unit::Hash, Operation::Hash { keys: $keys, bits: $bits }),
            "replaces keys in transfer registers by their hashes, low word first",
        )
    };
}

macro_rules! branch {
    ($syntax:literal, $code:literal, $condition:ident, $meaning:literal) => {
        row(
            $syntax,
            concat!("011110000 ", $code, " target:11 defer:2"),
            Form::Branch($condition),
            $meaning,
        )
    };
}

use BitOperation::{Clear, Set, TestAndClear, TestAndSet};
use Operation::{Bits, Read, Write};

/// All instructions.
#[rustfmt::skip]
pub static ROWS: &[InstructionRow] = &[
    row("alu[dest, a, op, b]", "01000 op:4 swap:1 dest:8 a:7 b:7", Form::Alu,
        "operation of the ALU; sets the condition codes"),
    row("alu_shf[dest, a, op, b, shift]", "111 op:3 swap:1 shift:7 dest:6 a:6 b:6", Form::AluShift,
        "operation of the ALU on A and the shifted B; sets the condition codes"),
    row("dbl_shf[dest, a, b, amount]", "10001 swap:1 amount:5 dest:6 a:6 b:6", Form::DoubleShift,
        "low word of A:B shifted right; sets the condition codes"),
    row("immed[dest, immediate]", "01001 dest:8 immed:19", Form::Immediate,
        "a constant of 16 bits, shifted by 0, 8 or 16, perhaps inverted"),
    row("load_addr[dest, label]", "01001 dest:8 immed:19", Form::LoadAddress,
        "the address of a label; the same word as `immed`"),
    row("immed_b0[dest, value]", "01010 00 dest:8 imm:8", Form::ImmediateByte(0), "bits 7 to 0"),
    row("immed_b1[dest, value]", "01010 01 dest:8 imm:8", Form::ImmediateByte(1), "bits 15 to 8"),
    row("immed_b2[dest, value]", "01010 10 dest:8 imm:8", Form::ImmediateByte(2), "bits 23 to 16"),
    row("immed_b3[dest, value]", "01010 11 dest:8 imm:8", Form::ImmediateByte(3), "bits 31 to 24"),
    row("immed_w0[dest, value]", "01011 0 dest:8 imm:16", Form::ImmediateWord(0), "bits 15 to 0"),
    row("immed_w1[dest, value]", "01011 1 dest:8 imm:16", Form::ImmediateWord(1), "bits 31 to 16"),
    row("ld_field[dest, mask, source, shift?]", "10000 0 n:4 shift:7 dest:6 s:7",
        Form::LoadField { clear: false }, "the selected bytes of the shifted source"),
    row("ld_field_w_clr[dest, mask, source, shift?]", "10000 1 n:4 shift:7 dest:6 s:7",
        Form::LoadField { clear: true }, "as `ld_field`; the other bytes become 0"),
    row("find_bset[source, shift?]", "011111101 0 shift:7 s:7", Form::FindBitSet { clear: false },
        "looks for the lowest bit set in the low half of the shifted source"),
    row("find_bset[clr_results, source, shift?]", "011111101 1 shift:7 s:7",
        Form::FindBitSet { clear: true }, "as `find_bset`; forgets the results before"),
    row("load_bset_result1[dest]", "011111001 0 dest:6", Form::LoadBitSetResult(1),
        "the number that the last `find_bset` found; 16 if there was none"),
    row("load_bset_result2[dest]", "011111001 1 dest:6", Form::LoadBitSetResult(2),
        "that of the `find_bset` before"),
    branch!("br[label]", "000000", Always, "always"),
    branch!("br=0[label]", "000001", Equal, "if Z"),
    branch!("br!=0[label]", "000010", NotEqual, "if not Z"),
    branch!("br<0[label]", "000011", Less, "if N differs from V"),
    branch!("br<=0[label]", "000100", LessOrEqual, "if Z, or N differs from V"),
    branch!("br>0[label]", "000101", Greater, "if not Z, and N is V"),
    branch!("br>=0[label]", "000110", GreaterOrEqual, "if N is V"),
    branch!("br=cout[label]", "000111", Carry, "if C"),
    branch!("br!=cout[label]", "001000", NoCarry, "if not C"),
    row("br_bset[register, bit, label]", "01110 1 s:8 n:5 target:11 defer:2",
        Form::BranchBit(true), "if the bit is 1"),
    row("br_bclr[register, bit, label]", "01110 0 s:8 n:5 target:11 defer:2",
        Form::BranchBit(false), "if the bit is 0"),
    row("br=byte[register, byte, value, label]", "0110 1 s:7 n:2 imm:8 dist:8 defer:2",
        Form::BranchByte(true), "if the byte (0: bits 7 to 0) has this value; within 128 words"),
    row("br!=byte[register, byte, value, label]", "0110 0 s:7 n:2 imm:8 dist:8 defer:2",
        Form::BranchByte(false), "if the byte has another value; within 128 words"),
    row("br=ctx[ctx, label]", "011110001 1 n:2 target:11 defer:2", Form::BranchContext(true),
        "if this is the context"),
    row("br!=ctx[ctx, label]", "011110001 0 n:2 target:11 defer:2", Form::BranchContext(false),
        "if this is another context"),
    row("br_inp_state[state, label]", "011110010 n:3 target:11 defer:2", Form::BranchInput,
        "if the chip is in the state"),
    row("br_!signal[signal, label]", "011110011 n:4 target:11 defer:2", Form::BranchSignal(false),
        "if the signal has not come; a signal that has come is cleared"),
    row("jump[register, label]", "011110100 s:7 target:11 defer:2", Form::Jump,
        "to the sum of register and label"),
    row("rtn[register]", "011110101 s:7 defer:2", Form::Return, "to the address in the register"),
    row("ctx_arb[signals]", "011110110 wait:11 defer:1", Form::Arbitrate,
        "gives up the engine until all the signals have come"),
    row("nop", "011110111", Form::Nop, "nothing"),
    row("local_csr_rd[csr]", "011111000 n:7", Form::LocalCsrRead,
        "the value replaces that of the `immed` which must follow"),
    row("csr[read, xfer, unit_csr]", "011111011 0 xfer:3 n:8 sig:2 order:2 ind:1 defer:1",
        Form::Command(Unit::Fbi, Operation::CsrRead), "a CSR of the FBI"),
    row("csr[write, xfer, unit_csr]", "011111011 1 xfer:3 n:8 sig:2 order:2 ind:1 defer:1",
        Form::Command(Unit::Fbi, Operation::CsrWrite), "a CSR of the FBI"),
    row("fast_wr[a, unit_csr]", "011111100 sa:7 n:8 order:2",
        Form::Command(Unit::Fbi, Operation::FastWrite),
        "a constant or a register to a CSR of the FBI, without transfer registers"),
    hash!("hash1_48[xfer]", "000", 1, 48),
    hash!("hash2_48[xfer]", "001", 2, 48),
    hash!("hash3_48[xfer]", "010", 3, 48),
    hash!("hash1_64[xfer]", "100", 1, 64),
    hash!("hash2_64[xfer]", "101", 2, 64),
    hash!("hash3_64[xfer]", "110", 3, 64),
    command!("sram[read, xfer, a, b, count]", "0000000", Sram, Read, "words of SRAM"),
    command!("sram[write, xfer, a, b, count]", "0000001", Sram, Write, "words to SRAM"),
    command!("sram[read_lock, xfer, a, b, count]", "0000010", Sram, Operation::ReadLock,
        "locks the address, waiting for others to unlock it, and reads"),
    command!("sram[write_unlock, xfer, a, b, count]", "0000011", Sram, Operation::WriteUnlock,
        "writes, and unlocks the address"),
    bare!("sram[unlock, --, a, b]", "0000100", "000", Sram, Operation::Unlock,
        "unlocks the address"),
    single!("sram[bit_wr, xfer, a, b, set_bits]", "0000101", Sram, Bits(Set),
        "sets the bits of the mask in the transfer register"),
    single!("sram[bit_wr, xfer, a, b, clear_bits]", "0000110", Sram, Bits(Clear),
        "clears them"),
    single!("sram[bit_wr, xfer, a, b, test_and_set_bits]", "0000111", Sram, Bits(TestAndSet),
        "sets them and returns the word before"),
    single!("sram[bit_wr, xfer, a, b, test_and_clear_bits]", "0001000", Sram,
        Bits(TestAndClear), "clears them and returns the word before"),
    bare!("sram[push, --, a, b, list]", "0001001", "list:3", Sram, Operation::Push,
        "puts the address on a list; its word becomes the link"),
    row("sram[pop, xfer, list]", "0001010 xfer:3 0000000000000 list:3 sig:2 order:2 ind:1 defer:1",
        Form::Command(Unit::Sram, Operation::Pop),
        "takes an address from a list; 0 if it is empty"),
    command!("scratch[read, xfer, a, b, count]", "0010000", Scratch, Read,
        "words of the scratchpad"),
    command!("scratch[write, xfer, a, b, count]", "0010001", Scratch, Write,
        "words to the scratchpad"),
    bare!("scratch[incr, --, a, b]", "0010010", "000", Scratch, Operation::Increment,
        "adds 1 to a word"),
    single!("scratch[bit_wr, xfer, a, b, set_bits]", "0010011", Scratch, Bits(Set),
        "as `sram[bit_wr, ...]`"),
    single!("scratch[bit_wr, xfer, a, b, clear_bits]", "0010100", Scratch, Bits(Clear),
        "as `sram[bit_wr, ...]`"),
    single!("scratch[bit_wr, xfer, a, b, test_and_set_bits]", "0010101", Scratch,
        Bits(TestAndSet), "as `sram[bit_wr, ...]`"),
    single!("scratch[bit_wr, xfer, a, b, test_and_clear_bits]", "0010110", Scratch,
        Bits(TestAndClear), "as `sram[bit_wr, ...]`"),
    command!("sdram[read, xfer, a, b, count]", "0011000", Sdram, Read, "quad words of SDRAM"),
    command!("sdram[write, xfer, a, b, count]", "0011001", Sdram, Write, "quad words to SDRAM"),
    bare!("sdram[r_fifo_rd, --, a, b, count]", "0011010", "count:3", Sdram,
        Operation::ReceiveFifoRead, "quad words of the receive FIFO at A to SDRAM at B"),
    bare!("sdram[t_fifo_wr, --, a, b, count]", "0011011", "count:3", Sdram,
        Operation::TransmitFifoWrite, "quad words of SDRAM at B to the transmit FIFO at A"),
    command!("r_fifo_rd[xfer, a, b, count]", "0011100", Fbi, Operation::ReceiveFifoRead,
        "quad words of the receive FIFO to SRAM transfer registers"),
    command!("t_fifo_wr[xfer, a, b, count]", "0011101", Fbi, Operation::TransmitFifoWrite,
        "quad words of SRAM transfer registers to the transmit FIFO"),
    bare!("pci_dma[a, b]", "0011110", "000", Pci, Operation::Dma,
        "starts a transfer by the PCI unit, whose descriptor is at the address"),
];
