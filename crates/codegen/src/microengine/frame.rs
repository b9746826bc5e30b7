//! A thread's frame in SRAM: the header window, the context, and values without a register.
//!
//! ```text
//! word  0       1                         209        512
//!       | spare | area of the window ...  | context, spilled values |
//! byte of the area   0         front         front + window      832
//!                    | free    | window      | zeros             |
//! ```
//!
//! A packet arrives at byte 128 of the area. What is in front of the window is undefined, what is
//! behind it is zero, so that fields outside the window read as zero.

use super::code::{Code, Operand, Register, Shift, Target};
use super::words::{self, Words};

/// Words of a frame.
pub const WORDS: u32 = 512;
/// The word at which the area begins. The one before is read and never used.
pub const AREA: u32 = 1;
/// The first word after the area.
pub const CONTEXT: u32 = 209;
/// Where a packet arrives in the area, in bytes.
pub const FRONT: u32 = 128;
/// The longest window.
pub const LONGEST: u32 = 256;
/// Reads begin at this byte of the packet at most: all further ones are zero. So they end before
/// the end of the area: front, offset, and a field of 256 bits.
pub const REACH: u32 = 512;
/// The longest field that is read or written at once, in words.
pub const FIELD: u32 = 7;

/// The registers that hold a thread's state throughout.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Word address of the frame.
    pub frame: Register,
    /// The byte of the area at which the window begins.
    pub front: Register,
    /// Bytes of the window.
    pub window: Register,
    /// Bytes of the payload.
    pub payload: Register,
    /// The egress port.
    pub egress: Register,
    /// The control word without bytes and flags, for a thread that ends.
    pub control: Register,
}

/// Names of the registers that have fixed places, and whether they are in bank A.
pub const PINNED: [(&str, bool); 7] = [
    ("thread", true),
    ("frame", true),
    ("window", true),
    ("front", false),
    ("payload", false),
    ("egress", false),
    ("control", false),
];

impl State {
    /// The state in a program with the [pinned](PINNED) registers.
    pub fn of(code: &Code) -> Self {
        Self {
            frame: code.pinned(1),
            window: code.pinned(2),
            front: code.pinned(3),
            payload: code.pinned(4),
            egress: code.pinned(5),
            control: code.pinned(6),
        }
    }

    /// Reads words of the frame.
    pub fn load(&self, code: &mut Code, at: Operand, count: usize) -> Vec<Register> {
        code.command("sram[read", "$0", self.frame.into(), at, Some(count as u32));
        (0..count).map(|index| code.copy(Operand::Transfer(index as u8))).collect()
    }

    /// Writes words of the frame.
    pub fn store(&self, code: &mut Code, at: Operand, words: &[Operand]) {
        for (index, word) in words.iter().enumerate() {
            let target = Target::Transfer(index as u8);
            match word {
                Operand::Number(number) if *number > 31 => {
                    let register = code.copy(*word);
                    code.set(target, register.into());
                }
                _ => code.set(target, *word),
            }
        }
        code.command("sram[write", "$0", self.frame.into(), at, Some(words.len() as u32));
    }

    /// The byte of the area of a field whose header begins at `base`, and whether it may lie too far
    /// to be read.
    fn byte(&self, code: &mut Code, base: Operand, most: u32, offset: u32) -> Register {
        let at = code.register();
        match base {
            Operand::Number(number) => {
                let number = (number + offset).min(REACH);
                code.alu(at, self.front.into(), "+", Operand::Number(number));
            }
            _ => {
                let within = code.register();
                code.alu(within, base, "+", Operand::Number(offset));
                if most + offset > REACH {
                    let near = code.label();
                    words::compare(code, &vec![within.into()], &vec![Operand::Number(REACH)]);
                    code.branch("br!=cout", near);
                    code.set(within, Operand::Number(REACH));
                    code.place(near);
                }
                code.alu(at, self.front.into(), "+", within.into());
            }
        }
        at
    }

    /// Reads a field of `width` bits, `bit` bits after byte `base`, which is `most` at most.
    pub fn read(&self, code: &mut Code, base: Operand, most: u32, bit: u32, width: u32) -> Words {
        let bytes = (bit % 8 + width).div_ceil(8);
        let at = self.byte(code, base, most, bit / 8);
        let (left, right) = shifts(code, at);
        let index = code.register();
        code.shift(index, Operand::None, "B", at.into(), Shift::Right(2));
        code.alu(index, index.into(), "+", Operand::Number(AREA));
        let count = bytes.div_ceil(4);
        let mut aligned: Vec<Operand> = Vec::new();
        let mut done = 0;
        while done < count {
            let part = (count - done).min(FIELD);
            let raw = self.load(code, index.into(), part as usize + 1);
            for pair in raw.windows(2) {
                let (high, low) = (code.register(), code.register());
                let word = code.register();
                code.shift_by(high, Operand::None, "B", pair[0].into(), Shift::LeftIndirect, left);
                code.shift(low, Operand::None, "B", pair[1].into(), Shift::Right(1));
                code.shift_by(
                    word,
                    high.into(),
                    "OR",
                    low.into(),
                    Shift::RightIndirect,
                    right,
                );
                aligned.push(word.into());
            }
            done += part;
            if done < count {
                code.alu(index, index.into(), "+", Operand::Number(part));
            }
        }
        aligned.reverse();
        words::slice(code, &aligned, 32 * count - bit % 8 - width, width)
    }

    /// Writes a field, unless it lies outside the window in part.
    pub fn write(
        &self,
        code: &mut Code,
        base: Operand,
        bit: u32,
        value: &Words,
        width: u32,
    ) {
        let bytes = (bit % 8 + width).div_ceil(8);
        let count = bytes.div_ceil(4);
        let outside = code.label();
        let end = code.register();
        match base {
            Operand::Number(number) => code.set(end, Operand::Number(number + bit / 8 + bytes)),
            _ => code.alu(end, base, "+", Operand::Number(bit / 8 + bytes)),
        }
        words::compare(code, &vec![self.window.into()], &vec![end.into()]);
        code.branch("br!=cout", outside);
        let at = code.register();
        code.alu(at, self.front.into(), "+", end.into());
        code.alu(at, at.into(), "-", Operand::Number(bytes));
        let by = 32 * count - bit % 8 - width;
        let mut value = words::shift_left(code, value, by, 32 * count);
        let ones = wireloom_bits::Bits::ones(width);
        let mut mask = words::shift_left(code, &words::constant(&ones), by, 32 * count);
        value.reverse();
        mask.reverse();
        let (right, left) = {
            // By 8 * offset to the right, and the word before by 32 - 8 * offset to the left.
            let (right, left) = shifts(code, at);
            (right, left)
        };
        let index = code.register();
        code.shift(index, Operand::None, "B", at.into(), Shift::Right(2));
        code.alu(index, index.into(), "+", Operand::Number(AREA));
        // The last word is beyond the field if there is no offset; it is written as it was.
        let spread = |code: &mut Code, words: &[Operand], place: u32| {
            let word = |place: u32| words.get(place as usize).copied();
            let own = word(place).map(|own| {
                let shifted = code.register();
                code.shift_by(shifted, Operand::None, "B", own, Shift::RightIndirect, right);
                shifted
            });
            let before = place.checked_sub(1).and_then(word).map(|before| {
                let (once, shifted) = (code.register(), code.register());
                code.shift(once, Operand::None, "B", before, Shift::Left(1));
                code.shift_by(
                    shifted,
                    Operand::None,
                    "B",
                    once.into(),
                    Shift::LeftIndirect,
                    left,
                );
                shifted
            });
            match (own, before) {
                (Some(own), Some(before)) => {
                    let both = code.register();
                    code.alu(both, own.into(), "OR", before.into());
                    both
                }
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => unreachable!("each word has a source"),
            }
        };
        let most = count + u32::from(bytes > 1);
        let mut done = 0;
        while done < most {
            let part = (most - done).min(FIELD);
            let old = self.load(code, index.into(), part as usize);
            let mut new = Vec::new();
            for (place, old) in (done..).zip(&old) {
                let keeps = spread(code, &mask, place);
                let wanted = spread(code, &value, place);
                let word = code.register();
                code.alu(word, (*old).into(), "AND~", keeps.into());
                code.alu(word, word.into(), "OR", wanted.into());
                new.push(word.into());
            }
            self.store(code, index.into(), &new);
            done += part;
            if done < most {
                code.alu(index, index.into(), "+", Operand::Number(part));
            }
        }
        code.place(outside);
    }
}

/// For a byte address: 8 times its offset in a word, and 31 less that.
fn shifts(code: &mut Code, at: Register) -> (Register, Register) {
    let (by, rest) = (code.register(), code.register());
    code.alu(by, at.into(), "AND", Operand::Number(3));
    code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
    code.alu(rest, Operand::Number(31), "-", by.into());
    (by, rest)
}
