//! The instructions of version 2 (IXP2400, IXP2800). Public documents give the operation codes of
//! most groups, the codes of ALU operations and branches, and the parts of an `immed`. The
//! positions of the operands in the word are assumed.

use super::Condition::*;
use super::MultiplyStep;
use super::table::{Form, InstructionRow, Known};
use super::{BitOperation, Operation, QueueOperation, Unit};

/// An instruction whose operation code is public.
const fn code(
    syntax: &'static str,
    pattern: &'static str,
    form: Form,
    meaning: &'static str,
) -> InstructionRow {
    InstructionRow { syntax, pattern, form, known: Known::Code, meaning }
}

/// An instruction whose name is public.
const fn name(
    syntax: &'static str,
    pattern: &'static str,
    form: Form,
    meaning: &'static str,
) -> InstructionRow {
    InstructionRow { syntax, pattern, form, known: Known::Name, meaning }
}

/// An instruction whose name and encoding are assumed.
const fn assumed(
    syntax: &'static str,
    pattern: &'static str,
    form: Form,
    meaning: &'static str,
) -> InstructionRow {
    InstructionRow { syntax, pattern, form, known: Known::Nothing, meaning }
}

/// A command with two address operands, a count and all tokens.
macro_rules! command {
    ($known:ident, $syntax:literal, $code:literal, $unit:ident, $operation:expr,
     $meaning:literal) => {
        $known(
            $syntax,
            concat!($code, " xfer:4 swap:1 a:7 b:7 count:4 sig:5 order:2 ind:1 defer:1"),
            Form::Command(Unit::$unit, $operation),
            $meaning,
        )
    };
}

/// A command on one word.
macro_rules! single {
    ($syntax:literal, $code:literal, $unit:ident, $operation:expr, $meaning:literal) => {
        assumed(
            $syntax,
            concat!($code, " xfer:4 swap:1 a:7 b:7 0000 sig:5 order:2 ind:1 defer:1"),
            Form::Command(Unit::$unit, $operation),
            $meaning,
        )
    };
}

/// A command without a transfer register.
macro_rules! bare {
    ($syntax:literal, $code:literal, $count:literal, $unit:ident, $operation:expr,
     $meaning:literal) => {
        assumed(
            $syntax,
            concat!($code, " 0000 swap:1 a:7 b:7 ", $count, " sig:5 order:2 ind:1 defer:1"),
            Form::Command(Unit::$unit, $operation),
            $meaning,
        )
    };
}

/// A command on a queue without a transfer register.
macro_rules! queue {
    ($syntax:literal, $code:literal, $operation:expr, $meaning:literal) => {
        name(
            $syntax,
            concat!("00001110 ", $code, " swap:1 a:7 b:7 0000 sig:5 order:2 ind:1 defer:1"),
            Form::Command(Unit::Sram, Queue($operation)),
            $meaning,
        )
    };
}

macro_rules! hash {
    ($syntax:literal, $code:literal, $keys:literal, $bits:literal) => {
        code(
            $syntax,
            concat!("0011011 ", $code, " xfer:4 sig:5 order:2 ind:1 defer:1"),
            Form::Command(Unit::Hash, Operation::Hash { keys: $keys, bits: $bits }),
            "replaces keys in transfer registers by their hashes, low word first",
        )
    };
}

macro_rules! branch {
    ($known:ident, $syntax:literal, $code:literal, $condition:ident, $meaning:literal) => {
        $known(
            $syntax,
            concat!("11011 ", $code, " target:13 defer:2"),
            Form::Branch($condition),
            $meaning,
        )
    };
}

use BitOperation::{Clear, Set, TestAndClear, TestAndSet};
use Operation::{Bits, Get, Increment, Put, Queue, Read, TestAndAdd, Write};
use QueueOperation::{Dequeue, Enqueue, ReadHead, ReadOther, ReadTail, WriteCount};

/// All instructions.
#[rustfmt::skip]
pub static ROWS: &[InstructionRow] = &[
    code("alu[dest, a, op, b]", "101 op:5 swap:1 dest:9 a:9 b:9", Form::Alu,
        "operation of the ALU; sets the condition codes"),
    code("alu_shf[dest, a, op, b, shift]", "100 00 op:3 swap:1 shift:7 dest:8 a:8 b:8",
        Form::AluShift,
        "operation of the ALU on A and the shifted B; sets the condition codes"),
    code("dbl_shf[dest, a, b, amount]", "100 01 swap:1 amount:5 dest:8 a:8 b:8",
        Form::DoubleShift, "low word of A:B shifted right; sets the condition codes"),
    name("ffs[dest, source]", "100 10 0000 dest:8 s:9", Form::FindFirstSet,
        "the number of the lowest bit set; 32 if there is none"),
    assumed("pop_count[dest, source]", "100 10 0001 dest:8 s:9", Form::PopulationCount,
        "the number of bits set"),
    name("byte_align_be[dest, b]", "100 10 0010 dest:8 s:9",
        Form::ByteAlign { little_endian: false },
        "four bytes out of operand B of the instruction before and this one, from the byte that \
         `byte_index` selects"),
    name("byte_align_le[dest, a]", "100 10 0011 dest:8 sa:9",
        Form::ByteAlign { little_endian: true }, "as `byte_align_be`, with operands A, from the lower end"),
    name("crc_be[crc, dest, source]", "100 10 1010 dest:8 s:9 check:7",
        Form::Crc { little_endian: false },
        "continues the check in `crc_remainder` with bytes of the source, the highest first; copies the \
         source"),
    name("crc_le[crc, dest, source]", "100 10 1011 dest:8 s:9 check:7",
        Form::Crc { little_endian: true }, "as `crc_be`, the lowest byte first"),
    name("cam_lookup[dest, source]", "100 10 0100 dest:8 s:9 pointer:4", Form::CamLookup,
        "bit 7: found, bits 6 to 3: entry (the least recently used if not found), bits 11 to 8: state"),
    name("cam_write[entry, source, cam_state]", "100 10 0101 swap:1 a:8 b:8 n:4",
        Form::CamWrite, "writes the tag and the state of an entry, which becomes the last used"),
    name("cam_write_state[entry, cam_state]", "100 10 0110 sa:9 n:4", Form::CamWriteState,
        "writes the state of an entry"),
    name("cam_read_tag[dest, entry]", "100 10 0111 dest:8 sa:9", Form::CamReadTag, "the tag"),
    name("cam_read_state[dest, entry]", "100 10 1000 dest:8 sa:9", Form::CamReadState,
        "the state, in bits 11 to 8"),
    name("cam_clear", "100 10 1001", Form::CamClear, "all tags and states become 0"),
    code("immed[dest, immediate]", "11110 00 dest:9 immed:19", Form::Immediate,
        "a constant of 16 bits, shifted by 0, 8 or 16, perhaps inverted"),
    code("load_addr[dest, label]", "11110 00 dest:9 immed:19", Form::LoadAddress,
        "the address of a label; the same word as `immed`"),
    code("immed_b0[dest, value]", "11110 01 00 dest:9 imm:8", Form::ImmediateByte(0),
        "bits 7 to 0"),
    code("immed_b1[dest, value]", "11110 01 01 dest:9 imm:8", Form::ImmediateByte(1),
        "bits 15 to 8"),
    code("immed_b2[dest, value]", "11110 01 10 dest:9 imm:8", Form::ImmediateByte(2),
        "bits 23 to 16"),
    code("immed_b3[dest, value]", "11110 01 11 dest:9 imm:8", Form::ImmediateByte(3),
        "bits 31 to 24"),
    code("immed_w0[dest, value]", "11110 10 0 dest:9 imm:16", Form::ImmediateWord(0),
        "bits 15 to 0"),
    code("immed_w1[dest, value]", "11110 10 1 dest:9 imm:16", Form::ImmediateWord(1),
        "bits 31 to 16"),
    code("ld_field[dest, mask, source, shift?]", "11000 0 n:4 shift:7 dest:8 s:9",
        Form::LoadField { clear: false }, "the selected bytes of the shifted source"),
    code("ld_field_w_clr[dest, mask, source, shift?]", "11000 1 n:4 shift:7 dest:8 s:9",
        Form::LoadField { clear: true }, "as `ld_field`; the other bytes become 0"),
    code("mul_start[a, b]", "111110 00 swap:1 a:8 b:8", Form::Multiply(MultiplyStep::Start),
        "takes the operands of a product"),
    code("mul_step[step]", "111110 01 n:2", Form::MultiplyStep,
        "adds the product of A and a byte of B: steps 0 to 3, for bytes 0 to 3"),
    code("mul_last[dest]", "111110 10 dest:8", Form::Multiply(MultiplyStep::Last),
        "the low word of the product"),
    code("mul_last2[dest]", "111110 11 dest:8", Form::Multiply(MultiplyStep::Last2),
        "the high word of the product"),
    branch!(code, "br[label]", "11000", Always, "always"),
    branch!(code, "br=0[label]", "00000", Equal, "if Z"),
    branch!(code, "br!=0[label]", "00001", NotEqual, "if not Z"),
    branch!(code, "br_bmi[label]", "00010", Minus, "if N"),
    branch!(name, "br_bpl[label]", "00011", Plus, "if not N"),
    branch!(code, "br=cout[label]", "00100", Carry, "if C"),
    branch!(code, "br!=cout[label]", "00101", NoCarry, "if not C"),
    branch!(name, "br_bvs[label]", "00110", Overflow, "if V"),
    branch!(name, "br_bvc[label]", "00111", NoOverflow, "if not V"),
    branch!(code, "br>=0[label]", "01000", GreaterOrEqual, "if N is V"),
    branch!(code, "br<0[label]", "01001", Less, "if N differs from V"),
    branch!(name, "br<=0[label]", "01010", LessOrEqual, "if Z, or N differs from V"),
    branch!(name, "br>0[label]", "01011", Greater, "if not Z, and N is V"),
    name("br=ctx[ctx, label]", "11011 10000 n:3 target:13 defer:2", Form::BranchContext(true),
        "if this is the context"),
    name("br!=ctx[ctx, label]", "11011 10001 n:3 target:13 defer:2", Form::BranchContext(false),
        "if this is another context"),
    name("br_!signal[signal, label]", "11011 10010 n:4 target:13 defer:2",
        Form::BranchSignal(false),
        "if the signal has not come; a signal that has come is cleared"),
    name("br_signal[signal, label]", "11011 10011 n:4 target:13 defer:2",
        Form::BranchSignal(true), "if the signal has come; it is cleared"),
    name("br_inp_state[state, label]", "11011 10100 n:3 target:13 defer:2", Form::BranchInput,
        "if the chip is in the state"),
    code("br_bset[register, bit, label]", "11010 1 s:9 n:5 target:13 defer:2",
        Form::BranchBit(true), "if the bit is 1"),
    code("br_bclr[register, bit, label]", "11010 0 s:9 n:5 target:13 defer:2",
        Form::BranchBit(false), "if the bit is 0"),
    code("br=byte[register, byte, value, label]", "11001 1 s:9 n:2 imm:8 target:13 defer:2",
        Form::BranchByte(true), "if the byte (0: bits 7 to 0) has this value"),
    code("br!=byte[register, byte, value, label]", "11001 0 s:9 n:2 imm:8 target:13 defer:2",
        Form::BranchByte(false), "if the byte has another value"),
    code("jump[register, label]", "11101 00 s:9 target:13 defer:2", Form::Jump,
        "to the sum of register and label"),
    code("rtn[register]", "11101 01 s:9 defer:2", Form::Return, "to the address in the register"),
    name("nop", "11101 10", Form::Nop, "nothing"),
    code("ctx_arb[signals]", "11100 wait:18 defer:1", Form::Arbitrate,
        "gives up the engine until all the signals, or `any` of them, have come; `bpt` stops all \
         contexts of the engine"),
    code("local_csr_rd[csr]", "111111 0 n:7", Form::LocalCsrRead,
        "the value replaces that of the `immed` which must follow"),
    code("local_csr_wr[csr, source]", "111111 1 n:7 s:9", Form::LocalCsrWrite,
        "takes effect four cycles later"),
    hash!("hash1_48[xfer]", "0000", 1, 48),
    hash!("hash2_48[xfer]", "0001", 2, 48),
    hash!("hash3_48[xfer]", "0010", 3, 48),
    hash!("hash1_64[xfer]", "0100", 1, 64),
    hash!("hash2_64[xfer]", "0101", 2, 64),
    hash!("hash3_64[xfer]", "0110", 3, 64),
    hash!("hash1_128[xfer]", "1000", 1, 128),
    hash!("hash2_128[xfer]", "1001", 2, 128),
    hash!("hash3_128[xfer]", "1010", 3, 128),
    command!(code, "sram[read, xfer, a, b, count]", "00000000", Sram, Read, "words of SRAM"),
    command!(code, "sram[write, xfer, a, b, count]", "00000001", Sram, Write, "words to SRAM"),
    single!("sram[set, xfer, a, b]", "00000010", Sram, Bits(Set),
        "sets the bits of the mask in the transfer register"),
    single!("sram[clr, xfer, a, b]", "00000011", Sram, Bits(Clear), "clears them"),
    single!("sram[test_and_set, xfer, a, b]", "00000100", Sram, Bits(TestAndSet),
        "sets them and returns the word before"),
    single!("sram[test_and_clr, xfer, a, b]", "00000101", Sram, Bits(TestAndClear),
        "clears them and returns the word before"),
    bare!("sram[incr, --, a, b]", "00000110", "0000", Sram, Increment, "adds 1 to a word"),
    single!("sram[add, xfer, a, b]", "00000111", Sram, Operation::Add,
        "adds the transfer register to a word"),
    single!("sram[test_and_add, xfer, a, b]", "00001000", Sram, TestAndAdd,
        "adds the transfer register to a word and returns the word before"),
    single!("sram[swap, xfer, a, b]", "00001001", Sram, Operation::Swap,
        "exchanges a word and the transfer register"),
    command!(assumed, "sram[put, xfer, a, b, count]", "00001010", Sram, Put,
        "words to the ring whose number is the address"),
    command!(assumed, "sram[get, xfer, a, b, count]", "00001011", Sram, Get,
        "words from the ring; if it holds fewer, it keeps them, and all are 0"),
    command!(name, "sram[rd_qdesc_head, xfer, a, b, count]", "00001100", Sram, Queue(ReadHead),
        "words of a descriptor; its head and count go to the entry of the Q_array"),
    command!(name, "sram[rd_qdesc_tail, xfer, a, b, count]", "00001101", Sram, Queue(ReadTail),
        "words of a descriptor; its tail and count go to the entry"),
    queue!("sram[rd_qdesc_other, --, a, b]", "0000", ReadOther,
        "the pointer of the descriptor that the command before has left out goes to the entry"),
    queue!("sram[wr_qdesc, --, a, b]", "0001", QueueOperation::Write, "the entry to a descriptor"),
    queue!("sram[wr_qdesc_count, --, a, b]", "0010", WriteCount,
        "the count of the entry to a descriptor"),
    queue!("sram[enqueue, --, a, b]", "0011", Enqueue, "a buffer to the end of the queue"),
    single!("sram[dequeue, xfer, a, b]", "00001111", Sram, Queue(Dequeue),
        "the first buffer of the queue; 0 if it is empty"),
    command!(code, "scratch[read, xfer, a, b, count]", "00010000", Scratch, Read,
        "words of the scratchpad"),
    command!(code, "scratch[write, xfer, a, b, count]", "00010001", Scratch, Write,
        "words to the scratchpad"),
    single!("scratch[set, xfer, a, b]", "00010010", Scratch, Bits(Set), "as `sram[set, ...]`"),
    single!("scratch[clr, xfer, a, b]", "00010011", Scratch, Bits(Clear), "as `sram[clr, ...]`"),
    single!("scratch[test_and_set, xfer, a, b]", "00010100", Scratch, Bits(TestAndSet),
        "as `sram[test_and_set, ...]`"),
    single!("scratch[test_and_clr, xfer, a, b]", "00010101", Scratch, Bits(TestAndClear),
        "as `sram[test_and_clr, ...]`"),
    bare!("scratch[incr, --, a, b]", "00010110", "0000", Scratch, Increment,
        "adds 1 to a word"),
    single!("scratch[add, xfer, a, b]", "00010111", Scratch, Operation::Add,
        "as `sram[add, ...]`"),
    single!("scratch[test_and_add, xfer, a, b]", "00011000", Scratch, TestAndAdd,
        "as `sram[test_and_add, ...]`"),
    single!("scratch[swap, xfer, a, b]", "00011001", Scratch, Operation::Swap,
        "as `sram[swap, ...]`"),
    command!(assumed, "scratch[put, xfer, a, b, count]", "00011010", Scratch, Put,
        "words to the ring whose number is the address"),
    command!(assumed, "scratch[get, xfer, a, b, count]", "00011011", Scratch, Get,
        "words from the ring; if it holds fewer, it keeps them, and all are 0"),
    command!(code, "dram[read, xfer, a, b, count]", "00101000", Sdram, Read,
        "quad words of DRAM"),
    command!(code, "dram[write, xfer, a, b, count]", "00101001", Sdram, Write,
        "quad words to DRAM"),
    bare!("dram[rbuf_rd, --, a, b, count]", "00101010", "count:4", Sdram,
        Operation::ReceiveFifoRead, "quad words of RBUF at A to DRAM at B"),
    bare!("dram[tbuf_wr, --, a, b, count]", "00101011", "count:4", Sdram,
        Operation::TransmitFifoWrite, "quad words of DRAM at B to TBUF at A"),
    command!(code, "msf[read, xfer, a, b, count]", "00111100", Msf, Read,
        "words of RBUF or of CSRs of the MSF"),
    command!(code, "msf[write, xfer, a, b, count]", "00111101", Msf, Write,
        "words to TBUF or to CSRs of the MSF"),
    assumed("msf[fast_wr, a, unit_csr]", "00111110 sa:8 n:8 order:2",
        Form::Command(Unit::Msf, Operation::FastWrite),
        "a constant or a register to a CSR of the MSF"),
    assumed("cap[read, xfer, unit_csr]", "00100000 xfer:4 n:8 sig:5 order:2 ind:1 defer:1",
        Form::Command(Unit::Cap, Operation::CsrRead), "a CSR of the chip"),
    assumed("cap[write, xfer, unit_csr]", "00100001 xfer:4 n:8 sig:5 order:2 ind:1 defer:1",
        Form::Command(Unit::Cap, Operation::CsrWrite), "a CSR of the chip"),
    assumed("cap[fast_wr, a, unit_csr]", "00100010 sa:8 n:8 order:2",
        Form::Command(Unit::Cap, Operation::FastWrite),
        "a constant or a register to a CSR of the chip"),
];
