//! Accesses to words of a thread's frame, and to fields of the header window at computed places.

use wireloom_bits::Bits;

use super::code::{Code, Here, Label};
use super::commands::TRANSFERS;
use super::frame::{END, REACH};
use super::operand::{Operand, Register, Shift, Target};
use super::spill_slots::LOCAL;
use super::state::{Home, State};
use super::window;
use super::words::{self, Words};

impl State {
    /// Reads words of the frame.
    pub fn load(&self, code: &mut Code, at: Operand, count: usize) -> Vec<Register> {
        let first = code.read_frame(self.frame.into(), at, count as u32);
        (first..first + count as u8)
            .map(|register| code.copy(Operand::Transfer(register)))
            .collect()
    }

    /// Reads words of the frame into transfer registers, or words of the scratchpad, which have
    /// numbers from [`LOCAL`] on. Returns the first register.
    pub fn fetch(&self, code: &mut Code, first: u32, count: u32) -> u8 {
        let Some(word) = first.checked_sub(LOCAL) else {
            return code.read_frame(self.frame.into(), Operand::Number(first), count);
        };
        let transfer = code.read("scratch", self.near.into(), Operand::Number(word), count);
        code.are_here(Here { first, count, transfer });
        transfer
    }

    /// Writes words of the frame, or words of the scratchpad, which have numbers from [`LOCAL`] on.
    pub fn store(&self, code: &mut Code, at: Operand, words: &[Operand]) {
        let transfers = code.write_transfers(words.len() as u32);
        for (transfer, word) in (transfers..).zip(words) {
            let target = Target::Transfer(transfer);
            match word {
                Operand::Number(number) if *number > 31 => {
                    let register = code.copy(*word);
                    code.set(target, register.into());
                }
                _ => code.set(target, *word),
            }
        }
        // Words that were read before stay valid unless this write changes them.
        let here = code.here().filter(|here| match at {
            Operand::Number(at) => {
                at + words.len() as u32 <= here.first || here.first + here.count <= at
            }
            _ => false,
        });
        let (first, count) = (format!("${transfers}"), words.len() as u32);
        match at {
            Operand::Number(at) if at >= LOCAL => {
                let word = Operand::Number(at - LOCAL);
                code.command("scratch[write", &first, self.near.into(), word, count);
            }
            _ => code.command("sram[write", &first, self.frame.into(), at, count),
        }
        if let Some(here) = here {
            code.are_here(here);
        }
    }

    /// Computes the byte of the frame at which a field begins, `offset` bytes after `base`.
    fn byte(&self, code: &mut Code, base: Operand, most: u32, offset: u32) -> Register {
        let at = code.register();
        match base {
            Operand::Number(number) => {
                let number = (number + offset).min(REACH);
                code.alu(at, self.front.into(), "+", Operand::Number(number));
                self.clamp(code, at, number);
            }
            _ if self.home != Home::Frame => {
                code.alu(at, base, "+", Operand::Number(offset));
                code.alu(at, self.front.into(), "+", at.into());
                self.clamp(code, at, most + offset);
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

    /// Limits a byte to the end of the longest window in local memory, after which all bytes are
    /// zero. The byte is at most `most` bytes after the front.
    fn clamp(&self, code: &mut Code, at: Register, most: u32) {
        if self.home == Home::Frame || self.known.is_some_and(|front| front + most <= END) {
            return;
        }
        let inside = code.label();
        let end = code.copy(Operand::Number(END));
        words::compare(code, &vec![end.into()], &vec![at.into()]);
        code.branch("br=cout", inside);
        code.set(at, end.into());
        code.place(inside);
    }

    /// Reads a field of `width` bits, `bit` bits after byte `base`, which is at most `most`.
    pub fn read(&self, code: &mut Code, base: Operand, most: u32, bit: u32, width: u32) -> Words {
        let count = (bit % 8 + width).div_ceil(32);
        let at = self.byte(code, base, most, bit / 8);
        let mut aligned: Vec<Operand> = Vec::new();
        let is_in_frame = self.home == Home::Frame;
        let mut shifts = is_in_frame.then(|| offsets(code, at));
        while (aligned.len() as u32) < count {
            // One more word is read, since each word of the field consists of parts of two words.
            let part = (count - aligned.len() as u32).min(TRANSFERS - 1);
            if !aligned.is_empty() {
                let bytes = if is_in_frame { 1 } else { 4 };
                code.alu(at, at.into(), "+", Operand::Number(bytes * (TRANSFERS - 1)));
            }
            let first = match is_in_frame {
                true => code.read_frame(self.frame.into(), at.into(), part + 1),
                false => {
                    window::point(code, self, at, part + 1);
                    shifts = Some(bits_before(code, at));
                    0
                }
            };
            let Some((left, right)) = shifts else { break };
            for index in first..first + part as u8 {
                let word = match is_in_frame {
                    true => Operand::Transfer,
                    false => Operand::Local,
                };
                let (high, low) = (word(index), word(index + 1));
                let (upper, lower, word) = (code.register(), code.register(), code.register());
                code.shift_by(upper, Operand::None, "B", high, Shift::LeftIndirect, left);
                code.shift(lower, Operand::None, "B", low, Shift::Right(1));
                let (upper, lower) = (upper.into(), lower.into());
                code.shift_by(word, upper, "OR", lower, Shift::RightIndirect, right);
                aligned.push(word.into());
            }
        }
        aligned.reverse();
        words::slice(code, &aligned, 32 * count - bit % 8 - width, width)
    }

    /// Branches if a field that ends `bytes` bytes after byte `base` lies partly outside the
    /// window.
    pub fn within(&self, code: &mut Code, base: Operand, bytes: u32, outside: Label) {
        let end = code.register();
        match base {
            Operand::Number(number) => code.set(end, Operand::Number(number + bytes)),
            _ => code.alu(end, base, "+", Operand::Number(bytes)),
        }
        words::compare(code, &vec![self.window.into()], &vec![end.into()]);
        code.branch("br!=cout", outside);
    }

    /// Writes a field, unless it lies partly outside the window.
    pub fn write(&self, code: &mut Code, base: Operand, bit: u32, value: &Words, width: u32) {
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
        let ones = words::constant(&Bits::ones(width));
        let mut mask = words::shift_left(code, &ones, by, 32 * count);
        value.reverse();
        mask.reverse();
        // A field of a byte, or of whole words and a byte, never reaches into another word.
        let all = count + u32::from(bytes % 4 != 1);
        if self.home != Home::Frame {
            assert!(all <= TRANSFERS, "a piece has at most 128 bits");
            window::point(code, self, at, all);
            let (right, left) = bits_before(code, at);
            for index in 0..all {
                let own = spread(code, &value, index as usize, left, right);
                let keeps = spread(code, &mask, index as usize, left, right);
                let word = index as u8;
                code.alu(keeps, Operand::Local(word), "AND~", keeps.into());
                code.alu(Target::Local(word), keeps.into(), "OR", own.into());
            }
            window::written(code, self, at, all);
            code.place(outside);
            return;
        }
        let (right, left) = offsets(code, at);
        let mut first = 0;
        while first < all {
            let part = (all - first).min(TRANSFERS);
            if first > 0 {
                code.alu(at, at.into(), "+", Operand::Number(TRANSFERS));
            }
            let read = code.read_frame(self.frame.into(), at.into(), part);
            let transfers = code.write_transfers(part);
            for (transfer, index) in (first..first + part).enumerate() {
                let own = spread(code, &value, index as usize, left, right);
                let keeps = spread(code, &mask, index as usize, left, right);
                let old = Operand::Transfer(read + transfer as u8);
                code.alu(keeps, old, "AND~", keeps.into());
                let target = Target::Transfer(transfers + transfer as u8);
                code.alu(target, keeps.into(), "OR", own.into());
            }
            let written = format!("${transfers}");
            code.command("sram[write", &written, self.frame.into(), at.into(), part);
            first += part;
        }
        code.place(outside);
    }
}

/// Computes 8 times the offset of a byte in its word, and 31 less that, in three instructions.
fn bits_before(code: &mut Code, at: Register) -> (Register, Register) {
    let (by, rest) = (code.register(), code.register());
    code.alu(by, at.into(), "AND", Operand::Number(3));
    code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
    code.alu(rest, Operand::Number(31), "-", by.into());
    (by, rest)
}

/// Does the same, and turns the byte address into the address of its word.
fn offsets(code: &mut Code, at: Register) -> (Register, Register) {
    let both = bits_before(code, at);
    code.shift(at, Operand::None, "B", at.into(), Shift::Right(2));
    both
}

/// Makes word `index` of the frame from aligned words, the most significant first. They are shifted
/// right by `right` bits across words; `left` is 31 less that.
fn spread(
    code: &mut Code,
    aligned: &[Operand],
    index: usize,
    left: Register,
    right: Register,
) -> Register {
    let word = code.register();
    let before = index.checked_sub(1).and_then(|before| aligned.get(before));
    let own = aligned.get(index);
    if let Some(own) = own {
        code.shift_by(word, Operand::None, "B", *own, Shift::RightIndirect, right);
    }
    if let Some(before) = before {
        let upper = code.register();
        code.shift(upper, Operand::None, "B", *before, Shift::Left(1));
        match own {
            Some(_) => {
                let (own, upper) = (word.into(), upper.into());
                code.shift_by(word, own, "OR", upper, Shift::LeftIndirect, left);
            }
            None => {
                code.shift_by(word, Operand::None, "B", upper.into(), Shift::LeftIndirect, left);
            }
        }
    }
    word
}
