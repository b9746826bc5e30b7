//! Values of any width as words of 32 bits, the lowest first. Bits above the width are 0.

use wireloom_bits::Bits;
use wireloom_isa::raw::tile::{Op, compute};

use super::code::{Code, Instruction, NOTHING, Operand, Register, ZERO};

/// The words of a value, the lowest first.
pub type Words = Vec<Operand>;

/// Returns the number of words of a width.
pub fn count(width: u32) -> usize {
    width.div_ceil(32) as usize
}

/// Returns the words of a constant.
pub fn constant(bits: &Bits) -> Words {
    let halves = bits.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
    halves.take(count(bits.width())).map(Operand::Number).collect()
}

/// Returns the words of 0.
pub fn zeros(width: u32) -> Words {
    vec![NOTHING; count(width)]
}

/// Returns the mask of the top word of a width.
pub fn top(width: u32) -> u32 {
    u32::MAX >> (31 - (width - 1) % 32)
}

impl Code {
    /// Returns the result of an operation on two operands. Constant operands save instructions.
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
            // The mask clears no bit that can be 1.
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
            // Two shifts clear the upper bits.
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

    /// Returns a word shifted (`Sll`, `Srl`) by less than 32.
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

    /// Returns a word shifted (`Sllv`, `Srlv`) by another word modulo 32.
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

    /// Returns 1 if the word is 0, and 0 otherwise.
    pub fn is_zero(&mut self, a: Operand) -> Operand {
        self.two(Op::Sltu, a, Operand::Number(1))
    }

    /// Returns 1 if the word is not 0, and 0 otherwise.
    pub fn is_set(&mut self, a: Operand) -> Operand {
        self.two(Op::Sltu, NOTHING, a)
    }

    /// Returns `then` if the condition, which is 0 or 1, is 1, and `otherwise` if it is 0.
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

    /// Returns the bitwise or of all words.
    pub fn any(&mut self, words: &[Operand]) -> Operand {
        words.iter().fold(NOTHING, |all, word| self.two(Op::Or, all, *word))
    }

    /// Clears the bits above the width.
    pub fn cut(&mut self, mut words: Words, width: u32) -> Words {
        words.truncate(count(width));
        if let Some(last) = words.last_mut() {
            *last = self.two(Op::And, *last, Operand::Number(top(width)));
        }
        words
    }

    /// Returns `width` bits from bit `lo` of a value of `whole` bits. Bits above the value are 0.
    pub fn slice(&mut self, a: &[Operand], whole: u32, lo: u32, width: u32) -> Words {
        let (skip, by) = ((lo / 32) as usize, lo % 32);
        let word = |at: usize| a.get(at).copied().unwrap_or(NOTHING);
        let mut words = Words::new();
        for at in 0..count(width) {
            let low = self.shift(Op::Srl, word(skip + at), by);
            // The next word is needed only if the slice extends into it.
            let has = 32 - by;
            let wanted = (width - 32 * at as u32).min(32);
            let high = if by > 0 && wanted > has {
                self.shift(Op::Sll, word(skip + at + 1), 32 - by)
            } else {
                NOTHING
            };
            words.push(self.two(Op::Or, low, high));
        }
        // If the slice reaches the end of the value, there are no bits above it.
        if lo + width >= whole { words } else { self.cut(words, width) }
    }

    /// Concatenates values with their widths. The first value is the most significant one.
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

    /// Returns the sum of two values and a carry, modulo the width.
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

    /// Returns the complement of a value.
    pub fn not(&mut self, a: &[Operand], width: u32) -> Words {
        let mut words = Words::new();
        let last = a.len() - 1;
        for (at, word) in a.iter().enumerate() {
            let mask = if at == last { top(width) } else { u32::MAX };
            words.push(self.two(Op::Xor, *word, Operand::Number(mask)));
        }
        words
    }

    /// Returns the difference of two values modulo the width.
    pub fn difference(&mut self, a: &[Operand], b: &[Operand], width: u32) -> Words {
        if a.len() == 1 {
            let word = self.two(Op::Subu, a[0], b[0]);
            return self.cut(vec![word], width);
        }
        let b: Words =
            b.iter().map(|word| self.two(Op::Xor, *word, Operand::Number(u32::MAX))).collect();
        self.sum(a, &b, width, Operand::Number(1))
    }

    /// Returns 1 if `a < b`, and 0 otherwise.
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

    /// Returns 1 if the values are equal, and 0 otherwise.
    pub fn is_equal(&mut self, a: &[Operand], b: &[Operand]) -> Operand {
        let differ: Words = a.iter().zip(b).map(|(a, b)| self.two(Op::Xor, *a, *b)).collect();
        let any = self.any(&differ);
        self.is_zero(any)
    }

    /// Returns the lower and the upper word of a product.
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

    /// Returns the product of two values modulo the width.
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

    /// Returns the quotient and the remainder of two words.
    pub fn divide(&mut self, a: Operand, b: Operand) -> [Operand; 2] {
        let (rs, rt) = (Some(self.in_register(a)), Some(self.in_register(b)));
        self.push(Instruction { rs, rt, ..Instruction::new(Op::Divu) });
        [Op::Mflo, Op::Mfhi].map(|op| {
            let rd = self.register();
            self.push(Instruction { rd: Some(rd), ..Instruction::new(op) });
            rd.into()
        })
    }

    /// Returns 1 if a value of any width is at least `number`, and 0 otherwise.
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

    /// Returns `value` if the condition, which is 0 or 1, is 1, and 0 otherwise.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::FRAME;
    use crate::testing::{FRAME_AT, Processor, Random};

    /// Code whose operands have known values: constants, and words and bytes in memory.
    struct Bench {
        random: Random,
        code: Code,
        processor: Processor,
        words: u32,
    }

    impl Bench {
        fn new(seed: u64) -> Self {
            let (random, code) = (Random::new(seed), Code::new("l"));
            Self { random, code, processor: Processor::new(Default::default()), words: 0 }
        }

        /// Returns a width of at most 128 bits. Whole words and single bits are frequent.
        fn width(&mut self) -> u32 {
            match self.random.below(3) {
                0 => self.random.one_of(&[1, 31, 32, 33, 64, 65, 96, 127, 128]),
                _ => 1 + self.random.below(128) as u32,
            }
        }

        /// Returns a value of a width, and its words.
        fn value(&mut self, width: u32) -> (u128, Words) {
            let value = self.random.bits(width).to_u128().expect("at most 128 bits");
            (value, self.operands(value, width))
        }

        fn operands(&mut self, value: u128, width: u32) -> Words {
            (0..count(width)).map(|at| self.operand((value >> (32 * at)) as u32)).collect()
        }

        fn operand(&mut self, word: u32) -> Operand {
            let (is_constant, at) = (self.random.below(3) == 0, 4 * self.words);
            if is_constant {
                return Operand::Number(word);
            }
            self.words += 1;
            self.processor.memory.insert(FRAME_AT + at, word);
            let register = self.code.register();
            // The last byte of a word has its lowest bits. The code knows that others are 0.
            let (op, at) = if word < 256 { (Op::Lbu, at + 3) } else { (Op::Lw, at) };
            self.code.memory(op, register, FRAME, at as i32);
            register.into()
        }

        /// Executes the code and checks that words have a value, without bits above its width.
        #[track_caller]
        fn check(&mut self, words: &[Operand], width: u32, wanted: u128) {
            let mut processor = self.processor.clone();
            assert_eq!(processor.run(&self.code.lines), None);
            assert_eq!(words.len(), count(width), "the number of words");
            let words: Vec<u32> = words.iter().map(|word| processor.get(*word)).collect();
            let wanted: Vec<u32> =
                (0..count(width)).map(|at| (wanted >> (32 * at)) as u32).collect();
            assert_eq!(words, wanted, "{width} bits");
        }
    }

    /// Returns the lowest bits of a value.
    fn low(value: u128, width: u32) -> u128 {
        value & (u128::MAX >> (128 - width))
    }

    fn benches() -> impl Iterator<Item = Bench> {
        (0..400).map(Bench::new)
    }

    #[test]
    fn sums_and_differences_are_modulo_the_width() {
        for mut bench in benches() {
            let width = bench.width();
            let ((a, a_words), (b, b_words)) = (bench.value(width), bench.value(width));
            let carry = bench.random.below(2) as u32;
            let carry_word = bench.operand(carry);
            let sum = bench.code.sum(&a_words, &b_words, width, carry_word);
            bench.check(&sum, width, low(a.wrapping_add(b).wrapping_add(carry.into()), width));
            let difference = bench.code.difference(&a_words, &b_words, width);
            bench.check(&difference, width, low(a.wrapping_sub(b), width));
            let complement = bench.code.not(&a_words, width);
            bench.check(&complement, width, low(!a, width));
        }
    }

    #[test]
    fn products_are_modulo_the_width() {
        for mut bench in benches() {
            let width = bench.width();
            let ((a, a_words), (b, b_words)) = (bench.value(width), bench.value(width));
            let product = bench.code.product(&a_words, &b_words, width);
            bench.check(&product, width, low(a.wrapping_mul(b), width));
        }
    }

    #[test]
    fn a_division_by_zero_gives_all_ones_and_the_dividend() {
        for mut bench in benches() {
            let ((a, a_words), (b, b_words)) = (bench.value(32), bench.value(32));
            let [quotient, rest] = bench.code.divide(a_words[0], b_words[0]);
            bench.check(&[quotient], 32, a.checked_div(b).unwrap_or(u32::MAX.into()));
            bench.check(&[rest], 32, a.checked_rem(b).unwrap_or(a));
        }
    }

    #[test]
    fn comparisons_compare_all_words() {
        for mut bench in benches() {
            let width = bench.width();
            let (a, a_words) = bench.value(width);
            let (b, b_words) = match bench.random.below(3) {
                // The values are equal or differ in one bit.
                0 => (a, bench.operands(a, width)),
                1 => {
                    let b = a ^ 1 << bench.random.below(width.into());
                    (b, bench.operands(b, width))
                }
                _ => bench.value(width),
            };
            let less = bench.code.is_less(&a_words, &b_words);
            bench.check(&[less], 1, u128::from(a < b));
            let equal = bench.code.is_equal(&a_words, &b_words);
            bench.check(&[equal], 1, u128::from(a == b));
            let number = bench.random.word();
            let at_least = bench.code.is_at_least(&a_words, number);
            bench.check(&[at_least], 1, u128::from(a >= number.into()));
            let any = bench.code.any(&a_words);
            let is_set = bench.code.is_set(any);
            bench.check(&[is_set], 1, u128::from(a != 0));
            let is_zero = bench.code.is_zero(any);
            bench.check(&[is_zero], 1, u128::from(a == 0));
        }
    }

    #[test]
    fn a_slice_has_zeros_above_the_value() {
        for mut bench in benches() {
            let whole = bench.width();
            let (a, words) = bench.value(whole);
            let lo = bench.random.below(whole.into()) as u32;
            let width = bench.width();
            let slice = bench.code.slice(&words, whole, lo, width);
            bench.check(&slice, width, low(a >> lo, width));
        }
    }

    #[test]
    fn the_first_part_of_a_concatenation_is_the_most_significant_one() {
        for mut bench in benches() {
            let (mut parts, mut wanted, mut width) = (Vec::new(), 0, 0);
            for _ in 0..1 + bench.random.below(5) {
                let own = 1 + bench.random.below(40) as u32;
                if width + own > 128 {
                    break;
                }
                let (value, words) = bench.value(own);
                parts.push((words, own));
                (wanted, width) = (wanted << own | value, width + own);
            }
            let words = bench.code.concat(&parts);
            bench.check(&words, width, wanted);
        }
    }

    #[test]
    fn a_cut_clears_the_bits_above_the_width() {
        for mut bench in benches() {
            let (whole, other) = (bench.width(), bench.width());
            let width = whole.min(other);
            let (a, words) = bench.value(whole);
            let cut = bench.code.cut(words, width);
            bench.check(&cut, width, low(a, width));
        }
    }

    #[test]
    fn conditions_choose_words() {
        for mut bench in benches() {
            let ((a, a_words), (b, b_words)) = (bench.value(32), bench.value(32));
            let is = bench.random.below(2) as u32;
            let condition = bench.operand(is);
            let chosen = bench.code.choose(condition, a_words[0], b_words[0]);
            bench.check(&[chosen], 32, if is == 1 { a } else { b });
            let only = bench.code.only_if(condition, a_words[0]);
            bench.check(&[only], 32, if is == 1 { a } else { 0 });
        }
    }

    #[test]
    fn words_are_shifted_by_constants_and_by_words_modulo_32() {
        for mut bench in benches() {
            let (a, words) = bench.value(32);
            let (a, by) = (a as u32, bench.random.word());
            let by_word = bench.operand(by);
            for (op, constant, wanted) in
                [(Op::Sllv, Op::Sll, a << (by % 32)), (Op::Srlv, Op::Srl, a >> (by % 32))]
            {
                let by_value = bench.code.shift_by(op, words[0], by_word);
                bench.check(&[by_value], 32, wanted.into());
                let by_constant = bench.code.shift(constant, words[0], by % 32);
                bench.check(&[by_constant], 32, wanted.into());
            }
        }
    }

    #[test]
    fn constants_have_the_words_of_their_width() {
        for mut bench in benches() {
            let width = bench.width();
            let bits = bench.random.bits(width);
            let words = constant(&bits);
            bench.check(&words, width, bits.to_u128().expect("at most 128 bits"));
        }
    }
}
