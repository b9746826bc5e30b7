//! Values of any width as words of 32 bits, the lowest first. Bits above the width are 0.

use wireloom_bits::Bits;
use wireloom_isa::raw::tile::{Op, compute};

use super::code::{Code, Instruction, NOTHING, Operand, Register, ZERO};

/// The words of a value.
pub type Words = Vec<Operand>;

/// The number of words of a width.
pub fn count(width: u32) -> usize {
    width.div_ceil(32) as usize
}

/// A constant.
pub fn constant(bits: &Bits) -> Words {
    let halves = bits.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
    halves.take(count(bits.width())).map(Operand::Number).collect()
}

/// Words of zeros.
pub fn zeros(width: u32) -> Words {
    vec![NOTHING; count(width)]
}

/// The bits of the top word of a width that can be 1.
pub fn top(width: u32) -> u32 {
    u32::MAX >> (31 - (width - 1) % 32)
}

impl Code {
    /// A result of two operands, with as few instructions as constants allow.
    pub fn two(&mut self, op: Op, a: Operand, b: Operand) -> Operand {
        use Operand::{In, Number};
        if let (Number(a), Number(b)) = (a, b) {
            return Number(compute(op, a, b, 0));
        }
        let (a, b) = match (op, a) {
            (Op::Addu | Op::And | Op::Or | Op::Xor | Op::Mul, Number(_)) => (b, a),
            _ => (a, b),
        };
        let signed = |number: u32| (-0x8000..0x8000).contains(&(number as i32));
        match (op, a, b) {
            (Op::Sltu | Op::Xor | Op::Subu, In(_), _) if a == b => return NOTHING,
            (Op::And | Op::Or, In(_), _) if a == b => return a,
            (Op::Mul, _, Number(0)) => return NOTHING,
            (Op::Mul, _, Number(b)) if b.is_power_of_two() => {
                return self.shift(Op::Sll, a, b.trailing_zeros());
            }
            (Op::Addu | Op::Subu | Op::Or | Op::Xor, In(_), Number(0)) => return a,
            (Op::And, _, Number(0)) | (Op::Sltu, _, Number(0)) => return NOTHING,
            (Op::And, _, Number(u32::MAX)) => return a,
            // Nothing is there that the mask would take away.
            (Op::And, In(own), Number(b)) if self.bits(own) <= b.trailing_ones() => return a,
            (Op::Addu, In(a), Number(b)) if signed(b) => return self.small(Op::Addiu, a, b),
            (Op::Subu, In(a), Number(b)) if signed(b.wrapping_neg()) => {
                return self.small(Op::Addiu, a, b.wrapping_neg());
            }
            (Op::Sltu, In(own), Number(b))
                if b > u32::MAX.checked_shr(32 - self.bits(own)).unwrap_or(0) =>
            {
                return Operand::Number(1);
            }
            (Op::Sltu, In(a), Number(b)) if signed(b) => return self.small(Op::Sltiu, a, b),
            (Op::And, In(a), Number(b)) if b < 1 << 16 => return self.small(Op::Andi, a, b),
            // A mask of the lower bits is two shifts.
            (Op::And, In(_), Number(b)) if (b.wrapping_add(1)).is_power_of_two() => {
                let by = b.leading_zeros();
                let up = self.shift(Op::Sll, a, by);
                return self.shift(Op::Srl, up, by);
            }
            (Op::Or, In(a), Number(b)) if b < 1 << 16 => return self.small(Op::Ori, a, b),
            (Op::Xor, In(a), Number(b)) if b < 1 << 16 => return self.small(Op::Xori, a, b),
            _ => {}
        }
        let (a, b, to) = (self.in_register(a), self.in_register(b), self.register());
        self.three(op, to, a, b);
        to.into()
    }

    fn small(&mut self, op: Op, a: Register, b: u32) -> Operand {
        let to = self.register();
        self.immediate(op, to, a, b as i32);
        to.into()
    }

    /// A word shifted (`Sll`, `Srl`) by less than 32.
    pub fn shift(&mut self, op: Op, a: Operand, by: u32) -> Operand {
        match a {
            Operand::Number(number) => Operand::Number(compute(op, 0, number, by)),
            _ if by == 0 => a,
            Operand::In(rt) => {
                let rd = self.register();
                self.push(Instruction {
                    rd: Some(rd),
                    rt: Some(rt),
                    immediate: by as i32,
                    ..Instruction::new(op)
                });
                rd.into()
            }
        }
    }

    /// A word shifted (`Sllv`, `Srlv`) by another modulo 32.
    pub fn shift_by(&mut self, op: Op, a: Operand, by: Operand) -> Operand {
        let (plain, rt) = (if op == Op::Sllv { Op::Sll } else { Op::Srl }, a);
        if let Operand::Number(by) = by {
            return self.shift(plain, a, by & 31);
        }
        if a == NOTHING {
            return a;
        }
        let (rt, rs, rd) = (self.in_register(rt), self.in_register(by), self.register());
        self.three(op, rd, rs, rt);
        rd.into()
    }

    /// 1 if the word is 0.
    pub fn is_zero(&mut self, a: Operand) -> Operand {
        self.two(Op::Sltu, a, Operand::Number(1))
    }

    /// 1 if the word is not 0.
    pub fn is_set(&mut self, a: Operand) -> Operand {
        self.two(Op::Sltu, NOTHING, a)
    }

    /// The first if the condition, which is 0 or 1, is 1, else the second.
    pub fn choose(&mut self, condition: Operand, then: Operand, otherwise: Operand) -> Operand {
        match condition {
            Operand::Number(0) => otherwise,
            Operand::Number(_) => then,
            _ if then == otherwise => then,
            Operand::In(condition) => {
                let then = self.in_register(then);
                let to = self.fresh(otherwise);
                self.three(Op::Movn, to, then, condition);
                to.into()
            }
        }
    }

    /// All words or-ed.
    pub fn any(&mut self, words: &[Operand]) -> Operand {
        words.iter().fold(NOTHING, |all, word| self.two(Op::Or, all, *word))
    }

    /// Clears what is above the width.
    pub fn cut(&mut self, mut words: Words, width: u32) -> Words {
        words.truncate(count(width));
        if let Some(last) = words.last_mut() {
            *last = self.two(Op::And, *last, Operand::Number(top(width)));
        }
        words
    }

    /// `width` bits from bit `lo` of a value of `whole` bits; bits that are not there are 0.
    pub fn slice(&mut self, a: &[Operand], whole: u32, lo: u32, width: u32) -> Words {
        let (skip, by) = ((lo / 32) as usize, lo % 32);
        let word = |at: usize| a.get(at).copied().unwrap_or(NOTHING);
        let mut words = Words::new();
        for at in 0..count(width) {
            let low = self.shift(Op::Srl, word(skip + at), by);
            // A word above is needed only if its bits are.
            let has = 32 - by;
            let wanted = (width - 32 * at as u32).min(32);
            let high = if by > 0 && wanted > has {
                self.shift(Op::Sll, word(skip + at + 1), 32 - by)
            } else {
                NOTHING
            };
            words.push(self.two(Op::Or, low, high));
        }
        // Where the operand ends at the slice's end, nothing is above it.
        if lo + width >= whole { words } else { self.cut(words, width) }
    }

    /// Concatenates values with their widths, the first most significant.
    pub fn concat(&mut self, parts: &[(Words, u32)]) -> Words {
        let width = parts.iter().map(|(_, width)| width).sum();
        let mut words = zeros(width);
        let mut at = 0;
        for (part, width) in parts.iter().rev() {
            let (skip, by) = ((at / 32) as usize, at % 32);
            for (index, word) in part.iter().enumerate() {
                let low = self.shift(Op::Sll, *word, by);
                words[skip + index] = self.two(Op::Or, words[skip + index], low);
                let bits = (width - 32 * index as u32).min(32);
                if by > 0 && bits > 32 - by {
                    let high = self.shift(Op::Srl, *word, 32 - by);
                    words[skip + index + 1] = high;
                }
            }
            at += width;
        }
        words
    }

    /// The sum of two values of a width, and 1 more if `carry` is 1.
    pub fn sum(&mut self, a: &[Operand], b: &[Operand], width: u32, mut carry: Operand) -> Words {
        let mut words = Words::new();
        let last = count(width) - 1;
        for at in 0..=last {
            let half = self.two(Op::Addu, a[at], b[at]);
            let whole = self.two(Op::Addu, half, carry);
            words.push(whole);
            if at < last {
                let first = self.two(Op::Sltu, half, a[at]);
                let second =
                    if carry == NOTHING { NOTHING } else { self.two(Op::Sltu, whole, half) };
                carry = self.two(Op::Or, first, second);
            }
        }
        self.cut(words, width)
    }

    /// The complement.
    pub fn not(&mut self, a: &[Operand], width: u32) -> Words {
        let mut words = Words::new();
        let last = a.len() - 1;
        for (at, word) in a.iter().enumerate() {
            let mask = if at == last { top(width) } else { u32::MAX };
            words.push(self.two(Op::Xor, *word, Operand::Number(mask)));
        }
        words
    }

    /// The difference of two values of a width.
    pub fn difference(&mut self, a: &[Operand], b: &[Operand], width: u32) -> Words {
        if a.len() == 1 {
            let word = self.two(Op::Subu, a[0], b[0]);
            return self.cut(vec![word], width);
        }
        let b: Words =
            b.iter().map(|word| self.two(Op::Xor, *word, Operand::Number(u32::MAX))).collect();
        self.sum(a, &b, width, Operand::Number(1))
    }

    /// 1 if `a < b`.
    pub fn is_less(&mut self, a: &[Operand], b: &[Operand]) -> Operand {
        let mut less = self.two(Op::Sltu, a[0], b[0]);
        for (a, b) in a.iter().zip(b).skip(1) {
            let differ = self.two(Op::Xor, *a, *b);
            let own = self.two(Op::Sltu, *a, *b);
            let differ = self.is_set(differ);
            less = self.choose(differ, own, less);
        }
        less
    }

    /// 1 if the values are equal.
    pub fn is_equal(&mut self, a: &[Operand], b: &[Operand]) -> Operand {
        let differ: Words = a.iter().zip(b).map(|(a, b)| self.two(Op::Xor, *a, *b)).collect();
        let any = self.any(&differ);
        self.is_zero(any)
    }

    /// The lower and upper word of a product.
    fn product_of(&mut self, a: Operand, b: Operand) -> [Operand; 2] {
        if let (Operand::Number(a), Operand::Number(b)) = (a, b) {
            let product = u64::from(a) * u64::from(b);
            return [product as u32, (product >> 32) as u32].map(Operand::Number);
        }
        if a == NOTHING || b == NOTHING {
            return [NOTHING; 2];
        }
        let (rs, rt) = (self.in_register(a), self.in_register(b));
        let (rs, rt) = (Some(rs), Some(rt));
        self.push(Instruction { rs, rt, ..Instruction::new(Op::Multu) });
        [Op::Mflo, Op::Mfhi].map(|op| {
            let rd = self.register();
            self.push(Instruction { rd: Some(rd), ..Instruction::new(op) });
            rd.into()
        })
    }

    /// The product of two values of a width, modulo that.
    pub fn product(&mut self, a: &[Operand], b: &[Operand], width: u32) -> Words {
        let count = count(width);
        let mut words = vec![NOTHING; count];
        for (i, a) in a.iter().enumerate() {
            let mut carry = NOTHING;
            for (j, b) in b.iter().enumerate().take(count - i) {
                if i + j == count - 1 {
                    let low = if *a == NOTHING || *b == NOTHING {
                        NOTHING
                    } else {
                        self.two(Op::Mul, *a, *b)
                    };
                    let low = self.two(Op::Addu, low, carry);
                    words[i + j] = self.two(Op::Addu, words[i + j], low);
                    continue;
                }
                let [low, high] = self.product_of(*a, *b);
                let first = self.two(Op::Addu, words[i + j], low);
                let over = if low == NOTHING { low } else { self.two(Op::Sltu, first, low) };
                let second = self.two(Op::Addu, first, carry);
                let more = if carry == NOTHING { carry } else { self.two(Op::Sltu, second, carry) };
                words[i + j] = second;
                let high = self.two(Op::Addu, high, over);
                carry = self.two(Op::Addu, high, more);
            }
        }
        self.cut(words, width)
    }

    /// Quotient and remainder of one word.
    pub fn divide(&mut self, a: Operand, b: Operand) -> [Operand; 2] {
        let (rs, rt) = (Some(self.in_register(a)), Some(self.in_register(b)));
        self.push(Instruction { rs, rt, ..Instruction::new(Op::Divu) });
        [Op::Mflo, Op::Mfhi].map(|op| {
            let rd = self.register();
            self.push(Instruction { rd: Some(rd), ..Instruction::new(op) });
            rd.into()
        })
    }

    /// Whether a value is not below a number that has one word; the value's other words count.
    pub fn is_at_least(&mut self, a: &[Operand], number: u32) -> Operand {
        let above = self.any(&a[1..]);
        let below = self.two(Op::Sltu, a[0], Operand::Number(number));
        let low = self.two(Op::Xor, below, Operand::Number(1));
        if above == NOTHING {
            return low;
        }
        let above = self.is_set(above);
        self.two(Op::Or, above, low)
    }

    /// A word of a register that is `value` where the condition is 1, else 0.
    pub fn only_if(&mut self, condition: Operand, value: Operand) -> Operand {
        match condition {
            Operand::Number(0) => NOTHING,
            Operand::Number(_) => value,
            Operand::In(condition) => {
                let to = self.fresh(value);
                self.three(Op::Movz, to, ZERO, condition);
                to.into()
            }
        }
    }
}
