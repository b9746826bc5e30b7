//! Values of any width as words of 32 bits, the least significant word first. Bits past the width
//! are 0.

use super::code::Code;
use super::operand::{Operand, Register, Shift, Target};
use wireloom_bits::Bits;

/// The words of a value.
pub type Words = Vec<Operand>;

/// Returns the number of words of a width.
pub fn count(width: u32) -> usize {
    width.div_ceil(32).max(1) as usize
}

/// The most words of a value in registers.
pub const MOST: usize = 4;
/// The width of a piece in bits.
const PIECE: u32 = 128;

/// Returns the first bit and the width of each piece of a value.
pub fn pieces(width: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..width).step_by(PIECE as usize).map(move |lo| (lo, PIECE.min(width - lo)))
}

/// Returns whether values of this width are kept in the frame.
pub fn is_wide(width: u32) -> bool {
    count(width) > MOST
}

/// Returns the mask of the bits of the last word.
fn top(width: u32) -> u32 {
    match width % 32 {
        0 => u32::MAX,
        bits => (1 << bits) - 1,
    }
}

/// Returns the words of a constant.
pub fn constant(bits: &Bits) -> Words {
    let words = bits.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
    let mut words: Words = words.map(Operand::Number).collect();
    words.resize(count(bits.width()), Operand::Number(0));
    words
}

/// Returns the words of a value, the low word first.
pub fn halves(bits: &Bits) -> impl Iterator<Item = u32> {
    let all = bits.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
    all.take(count(bits.width()))
}

/// Returns the value with these words, the low word first.
pub fn bits(width: u32, halves: &[u32]) -> Bits {
    let pair = |pair: &[u32]| {
        let high = pair.get(1).copied().unwrap_or(0);
        u64::from(high) << 32 | u64::from(pair[0])
    };
    Bits::from_words(width, &halves.chunks(2).map(pair).collect::<Vec<_>>())
}

/// Returns new registers for a value.
pub fn registers(code: &mut Code, width: u32) -> Vec<Register> {
    (0..count(width)).map(|_| code.register()).collect()
}

/// Returns registers as words.
pub fn of(registers: &[Register]) -> Words {
    registers.iter().map(|register| Operand::Register(*register)).collect()
}

/// Clears the bits past the width.
pub fn clear_top(code: &mut Code, words: &[Register], width: u32) {
    let mask = top(width);
    if let (Some(last), true) = (words.last(), mask != u32::MAX) {
        masked(code, *last, (*last).into(), mask);
    }
}

/// `target` = the bits of an operand under a mask of low bits.
fn masked(code: &mut Code, target: Register, from: Operand, mask: u32) {
    match whole_bytes(mask.count_ones()) {
        Some(bytes) => code.low_bytes(target, bytes, from, 0),
        None => code.alu(target, from, "AND", Operand::Number(mask)),
    }
}

/// Returns the number of bytes of `bits` bits, if they are whole bytes and less than a word. One
/// instruction extracts them from a word.
fn whole_bytes(bits: u32) -> Option<u32> {
    matches!(bits, 8 | 16 | 24).then_some(bits / 8)
}

/// Computes the complement.
pub fn not(code: &mut Code, a: &Words, width: u32) -> Words {
    let result = registers(code, width);
    if let (1, [result], [a]) = (width, result.as_slice(), a.as_slice()) {
        code.alu(*result, *a, "XOR", Operand::Number(1));
        return vec![(*result).into()];
    }
    for (result, a) in result.iter().zip(a) {
        code.alu(*result, Operand::None, "~B", *a);
    }
    clear_top(code, &result, width);
    of(&result)
}

/// Applies an operation word by word: `AND`, `OR`, `XOR`.
pub fn logic(code: &mut Code, operation: &str, a: &Words, b: &Words, width: u32) -> Words {
    let result = registers(code, width);
    for ((result, a), b) in result.iter().zip(a).zip(b) {
        code.alu(*result, *a, operation, *b);
    }
    of(&result)
}

/// Computes the sum or the difference (`+`, `-`), wrapping.
pub fn sum(code: &mut Code, operation: &str, a: &Words, b: &Words, width: u32) -> Words {
    let result = registers(code, width);
    let targets: Vec<Target> = result.iter().map(|register| Target::Register(*register)).collect();
    code.chain(&targets, operation, &format!("{operation}carry"), a, b);
    clear_top(code, &result, width);
    of(&result)
}

/// Sets the condition codes of a difference: no carry if the first value is less.
pub fn compare(code: &mut Code, a: &Words, b: &Words) {
    code.chain(&vec![Target::None; a.len()], "-", "-carry", a, b);
}

/// Returns the carry as a value.
fn carry(code: &mut Code) -> Words {
    let result = code.register();
    code.alu(result, Operand::Number(0), "+carry", Operand::Number(0));
    vec![result.into()]
}

/// Computes whether `a <= b`.
pub fn at_most(code: &mut Code, a: &Words, b: &Words) -> Words {
    compare(code, b, a);
    carry(code)
}

/// Computes whether `a < b`.
pub fn less(code: &mut Code, a: &Words, b: &Words) -> Words {
    match (a.as_slice(), b.as_slice()) {
        (_, [Operand::Number(most @ 1..)]) => at_most(code, a, &vec![Operand::Number(most - 1)]),
        ([Operand::Number(least)], _) if *least < u32::MAX => {
            at_most(code, &vec![Operand::Number(least + 1)], b)
        }
        _ => {
            let is_less = at_most(code, b, a);
            not(code, &is_less, 1)
        }
    }
}

/// Returns a word that is 0 if two values are equal.
fn difference(code: &mut Code, a: &Words, b: &Words) -> Operand {
    let mut all: Option<Operand> = None;
    for (a, b) in a.iter().zip(b) {
        let word = match (*a, *b) {
            (word, Operand::Number(0)) | (Operand::Number(0), word) => word,
            (a, b) => {
                let word = code.register();
                code.alu(word, a, "XOR", b);
                word.into()
            }
        };
        all = Some(match all {
            None => word,
            Some(all) => {
                let more = code.register();
                code.alu(more, all, "OR", word);
                more.into()
            }
        });
    }
    all.unwrap_or(Operand::Number(0))
}

/// Computes whether two values are equal. Then 0 less their difference does not borrow.
pub fn equal(code: &mut Code, a: &Words, b: &Words) -> Words {
    let difference = difference(code, a, b);
    code.alu(Target::None, Operand::Number(0), "-", difference);
    carry(code)
}

/// Computes whether two values differ. Then their difference less 1 does not borrow.
pub fn differ(code: &mut Code, a: &Words, b: &Words) -> Words {
    let difference = difference(code, a, b);
    code.alu(Target::None, difference, "-", Operand::Number(1));
    carry(code)
}

/// Returns `width` bits from bit `lo` on. Bits past the end of the words are 0.
pub fn slice(code: &mut Code, a: &[Operand], lo: u32, width: u32) -> Words {
    let (first, by) = ((lo / 32) as usize, lo % 32);
    let word = |index: usize| a.get(index).copied().unwrap_or(Operand::Number(0));
    let mut result = Vec::new();
    for index in 0..count(width) {
        let (low, high) = (word(first + index), word(first + index + 1));
        let left = width - 32 * index as u32;
        if let (Operand::Register(_) | Operand::Transfer(_), true, Some(bytes)) =
            (low, by > 0 && by + left < 32, whole_bytes(left))
        {
            let register = code.register();
            code.low_bytes(register, bytes, low, by);
            result.push(register.into());
            return result;
        }
        result.push(match by {
            0 => low,
            _ => match (low, high) {
                (Operand::Number(low), Operand::Number(high)) => {
                    let both = u64::from(high) << 32 | u64::from(low);
                    Operand::Number((both >> by) as u32)
                }
                _ => {
                    let shifted = code.register();
                    code.double_shift(shifted, high, low, by);
                    shifted.into()
                }
            },
        });
    }
    let mask = top(width);
    if mask != u32::MAX
        && let Some(last) = result.last_mut()
    {
        let position = first + count(width) - 1;
        // A right shift fills the end of the last word with zeros, so it needs no mask.
        let is_clear = by != 0 && position + 1 >= a.len() && by >= 32 - width % 32;
        match *last {
            Operand::Number(number) => *last = Operand::Number(number & mask),
            _ if is_clear => {}
            other => {
                let register = code.register();
                masked(code, register, other, mask);
                *last = register.into();
            }
        }
    }
    result
}

/// Shifts words left by a constant and cuts them to a width.
pub fn shift_left(code: &mut Code, a: &[Operand], by: u32, width: u32) -> Words {
    let (words, by) = ((by / 32) as usize, by % 32);
    let word = |index: usize| match index.checked_sub(words) {
        Some(index) => a.get(index).copied().unwrap_or(Operand::Number(0)),
        None => Operand::Number(0),
    };
    let mut result = Vec::new();
    for index in 0..count(width) {
        let high = word(index);
        let low = if index == 0 { Operand::Number(0) } else { word(index - 1) };
        result.push(match (by, high, low) {
            (0, high, _) => high,
            (_, Operand::Number(high), Operand::Number(low)) => {
                Operand::Number(((u64::from(high) << 32 | u64::from(low)) << by >> 32) as u32)
            }
            _ => {
                let shifted = code.register();
                code.double_shift(shifted, high, low, 32 - by);
                shifted.into()
            }
        });
    }
    let mask = top(width);
    if mask != u32::MAX
        && let Some(last) = result.last_mut()
    {
        match *last {
            Operand::Number(number) => *last = Operand::Number(number & mask),
            other => {
                let register = code.register();
                masked(code, register, other, mask);
                *last = register.into();
            }
        }
    }
    result
}

/// Concatenates parts, given with their widths, the most significant first.
pub fn concat(code: &mut Code, parts: &[(Words, u32)]) -> Words {
    let mut all = Joined::new(parts.iter().map(|(_, width)| width).sum());
    parts.iter().rev().for_each(|(words, width)| all.add(code, words, *width));
    all.words
}

/// A concatenation under construction, the least significant part first.
pub struct Joined {
    pub words: Words,
    /// The number of bits so far.
    at: u32,
}

impl Joined {
    /// Returns an empty concatenation with room for this width.
    pub fn new(width: u32) -> Self {
        Self { words: vec![Operand::Number(0); count(width)], at: 0 }
    }

    /// Adds the next part, of this width.
    pub fn add(&mut self, code: &mut Code, part: &Words, width: u32) {
        let (first, by) = ((self.at / 32) as usize, self.at % 32);
        let placed = shift_left(code, part, by, by + width);
        for (to, word) in self.words[first..].iter_mut().zip(placed) {
            *to = match (*to, word) {
                (Operand::Number(0), word) => word,
                (before, Operand::Number(0)) => before,
                (Operand::Number(a), Operand::Number(b)) => Operand::Number(a | b),
                (before, word) => {
                    let both = code.register();
                    code.alu(both, before, "OR", word);
                    both.into()
                }
            };
        }
        self.at += width;
    }
}

/// Shifts a value of at most 32 bits by a variable count. The result is 0 if the count is not less
/// than the width.
pub fn shift_by(code: &mut Code, is_left: bool, a: Operand, by: &Words, width: u32) -> Words {
    let result = code.register();
    let done = code.label();
    let amount = match by[0] {
        Operand::Register(amount) => amount,
        other => code.copy(other),
    };
    let mut limit: Words = vec![Operand::Number(width)];
    limit.resize(by.len(), Operand::Number(0));
    code.set(result, Operand::Number(0));
    compare(code, by, &limit);
    code.branch("br=cout", done);
    let shift = if is_left { Shift::LeftIndirect } else { Shift::RightIndirect };
    code.shift_by(result, Operand::None, "B", a, shift, amount);
    clear_top(code, &[result], width);
    code.place(done);
    vec![result.into()]
}
