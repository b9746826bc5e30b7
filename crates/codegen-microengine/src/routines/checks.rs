//! Cyclic redundancy checks and hashes of keys in the frame.

use super::super::code::{Code, Operand, Register, Shift, Target};
use wireloom_offloads::kinds::hash::{GENERATOR_48, GENERATOR_64};

use super::super::frame::{ARGUMENTS, State};

/// The check of a key's bytes in network order, by a table of 256 words in SRAM. The key is in the
/// arguments, the lowest word first.
pub struct Crc {
    /// The table.
    pub table: Register,
    /// Bytes of the key.
    pub bytes: Register,
    /// The check.
    pub check: Register,
}

impl Crc {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        let (table, bytes) = (code.shared("crc_table", false), code.shared("crc_bytes", true));
        Self { table, bytes, check: code.shared("crc_check", true) }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let Self { table, bytes, check } = *self;
        let number = Operand::Number;
        let [place, word, by, byte, mask] = [(); 5].map(|()| code.register());
        let (next, begin) = (code.label(), code.copy(number(ARGUMENTS)));
        code.alu(check, number(0), "-", number(1));
        code.set(mask, number(0xff));
        code.place(next);
        code.alu(bytes, bytes.into(), "-", number(1));
        code.shift(place, Operand::None, "B", bytes.into(), Shift::Right(2));
        code.alu(place, place.into(), "+", begin.into());
        code.command("sram[read", "$0", state.frame.into(), place.into(), 1);
        code.set(word, Operand::Transfer(0));
        code.alu(by, bytes.into(), "AND", number(3));
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        code.shift_by(byte, Operand::None, "B", word.into(), Shift::RightIndirect, by);
        code.alu(byte, byte.into(), "XOR", check.into());
        code.alu(byte, byte.into(), "AND", mask.into());
        code.command("sram[read", "$0", table.into(), byte.into(), 1);
        code.shift(check, Operand::Transfer(0), "XOR", check.into(), Shift::Right(8));
        code.alu(Target::None, bytes.into(), "-", number(0));
        code.branch("br!=0", next);
        code.alu(check, Operand::None, "~B", check.into());
    }
}

/// The hash of a wide key for its bucket: its pairs of words in the arguments, from the highest on, are added to
/// the hash, and that goes through the hash unit.
pub struct Bucket {
    /// Words of the key, an even number.
    pub words: Register,
    /// The hash: the low word and the high word.
    pub hash: [Register; 2],
}

impl Bucket {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        let words = code.shared("bucket_words", true);
        Self { words, hash: [code.shared("bucket_low", true), code.shared("bucket_high", false)] }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let Self { words, hash } = *self;
        let number = Operand::Number;
        let next = code.label();
        let place = code.register();
        let begin = code.copy(number(ARGUMENTS));
        hash.iter().for_each(|word| code.set(*word, number(0)));
        code.place(next);
        code.alu(words, words.into(), "-", number(2));
        code.alu(place, begin.into(), "+", words.into());
        let pair = state.load(code, place.into(), 2);
        for (sum, word) in hash.iter().zip(pair) {
            code.alu(*sum, (*sum).into(), "XOR", word.into());
        }
        let hashed = code.hash(64, &hash.map(Operand::from));
        hash.iter().zip(hashed).for_each(|(word, hashed)| code.set(*word, hashed.into()));
        code.alu(Target::None, words.into(), "-", number(0));
        code.branch("br!=0", next);
    }
}

/// Polynomials over GF(2) modulo the generator of 48 or 64 bits of the hash unit: the key in the
/// arguments, bit by bit from the highest word.
pub struct Reduce {
    /// Whether the generator has 64 bits.
    pub is_long: bool,
    /// Words of the key.
    pub words: Register,
    /// The rest: the low word and the high word.
    pub rest: [Register; 2],
}

impl Reduce {
    /// Its registers.
    pub fn of(code: &mut Code, is_long: bool) -> Self {
        let words = code.shared("reduce_words", true);
        let rest = [code.shared("reduce_low", true), code.shared("reduce_high", false)];
        Self { is_long, words, rest }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let Self { is_long, words, rest: [low, high] } = *self;
        let number = Operand::Number;
        let generator = if is_long { GENERATOR_64 } else { GENERATOR_48 };
        let [word, bits, place, top] = [(); 4].map(|()| code.register());
        let (next, bit, less) = (code.label(), code.label(), code.label());
        let begin = code.copy(number(ARGUMENTS));
        code.set(low, number(0));
        code.set(high, number(0));
        code.place(next);
        code.alu(words, words.into(), "-", number(1));
        code.alu(place, begin.into(), "+", words.into());
        code.command("sram[read", "$0", state.frame.into(), place.into(), 1);
        code.set(word, Operand::Transfer(0));
        code.set(bits, number(32));
        code.place(bit);
        code.set(top, high.into());
        code.double_shift(high, high.into(), low.into(), 31);
        code.double_shift(low, low.into(), word.into(), 31);
        code.shift(word, Operand::None, "B", word.into(), Shift::Left(1));
        code.branch_clear(top, if is_long { 31 } else { 15 }, less);
        code.alu(low, low.into(), "XOR", number(generator as u32));
        code.alu(high, high.into(), "XOR", number((generator >> 32) as u32));
        if !is_long {
            // The bit that has left the generator's 48.
            code.shift(high, Operand::None, "B", high.into(), Shift::Left(16));
            code.shift(high, Operand::None, "B", high.into(), Shift::Right(16));
        }
        code.place(less);
        code.alu(bits, bits.into(), "-", number(1));
        code.branch("br!=0", bit);
        code.alu(Target::None, words.into(), "-", number(0));
        code.branch("br!=0", next);
    }
}
