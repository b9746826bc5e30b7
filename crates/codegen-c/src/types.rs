//! The C types of values by width, and the notation of their constants.

use wireloom_bits::Bits;

use super::ops::Operand;
use super::tree::{Expr, Type};

/// The C types available on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// 64-bit processors: scalars of up to 128 bits; wide values in 64-bit words.
    Bits64,
    /// 32-bit processors: scalars of up to 64 bits; wide values in 32-bit words. Types smaller than
    /// a register are not used: they would only cost masks.
    Bits32,
}

impl Model {
    /// Returns the class of values of `width` bits.
    pub fn class(self, width: u32) -> Class {
        match (self, width) {
            (_, 0 | 1) => Class::Bool,
            (Self::Bits32, 2..=64) => Class::Word(width.next_power_of_two().max(32)),
            (Self::Bits64, 2..=64) => Class::Word(width.next_power_of_two().max(8)),
            (Self::Bits64, 65..=128) => Class::Double,
            _ => Class::Wide(self.words(width)),
        }
    }

    /// Returns the number of bits of a word of a wide value, which is the size of a register.
    pub fn word_bits(self) -> u32 {
        match self {
            Self::Bits64 => 64,
            Self::Bits32 => 32,
        }
    }

    /// Returns the number of bits of the largest scalar.
    pub fn scalar_bits(self) -> u32 {
        2 * self.word_bits()
    }

    /// Returns the number of words of a value of `width` bits.
    pub fn words(self, width: u32) -> u32 {
        width.div_ceil(self.word_bits())
    }

    /// Returns the C type of values of `width` bits.
    pub fn c_type(self, width: u32) -> Type {
        self.class(width).c_type()
    }

    /// Creates an operand of `width` bits.
    pub fn operand(self, c: Expr, width: u32) -> Operand {
        Operand { c, width, constant: None, model: self }
    }

    /// Returns a C constant: decimal if it is small, else hexadecimal. Not for wide values.
    pub fn literal(self, value: &Bits) -> Expr {
        let low = value.low_u64();
        let digits = |v: u64| if v < 1024 { format!("{v}") } else { format!("{v:#x}") };
        match self.class(value.width()) {
            Class::Bool => Expr::name(if low == 1 { "true" } else { "false" }),
            Class::Word(64) => Expr::number(format!("UINT64_C({})", digits(low))),
            Class::Word(_) => Expr::number(format!("{}u", digits(low))),
            Class::Double => double(value.word(1), low),
            Class::Wide(_) => unreachable!("wide constants are objects"),
        }
    }

    /// Returns the initialiser of a wide constant.
    pub fn wide_literal(self, value: &Bits) -> Expr {
        let words: Vec<Expr> = match self {
            Self::Bits64 => {
                value.words().map(|w| Expr::number(format!("UINT64_C({w:#x})"))).collect()
            }
            Self::Bits32 => {
                let halves = value.words().flat_map(|w| [w & 0xffff_ffff, w >> 32]);
                let words = halves.take(self.words(value.width()) as usize);
                words.map(|w| Expr::number(format!("{w:#x}u"))).collect()
            }
        };
        Expr::List(vec![Expr::List(words)])
    }

    /// Returns the mask of the low `width` bits, as a constant of the class that holds them.
    pub fn mask(self, width: u32) -> Expr {
        self.literal(&Bits::ones(width))
    }

    /// Returns the mask of the used bits of a wide value's most significant word.
    pub fn top_mask(self, width: u32) -> Expr {
        let used = match width % self.word_bits() {
            0 => self.word_bits(),
            used => used,
        };
        match self {
            Self::Bits64 if used == 64 => Expr::name("UINT64_MAX"),
            Self::Bits64 => Expr::number(format!("UINT64_C({:#x})", u64::MAX >> (64 - used))),
            Self::Bits32 => Expr::number(format!("{:#x}u", u32::MAX >> (32 - used))),
        }
    }
}

/// Builds a constant of 128 bits from its two halves.
fn double(high: u64, low: u64) -> Expr {
    Expr::call("WL_U128", [high, low].map(|half| Expr::number(format!("UINT64_C({half:#x})"))))
}

/// The representation of a value. It is always below `2^width`: bits of the C type above the width
/// are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Width 1: `bool`.
    Bool,
    /// Up to 64 bits: the next larger of `uint8_t` ... `uint64_t`. The field is the width of that
    /// type in bits.
    Word(u32),
    /// 65 to 128 bits, if the compiler has such a type: `wl_u128`.
    Double,
    /// More bits: `wl_wN`, a structure of N words.
    Wide(u32),
}

impl Class {
    /// Returns the number of bits of the C type; 1 for `bool`.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Word(bits) => bits,
            Self::Double => 128,
            Self::Wide(_) => unreachable!("wide values are no scalars"),
        }
    }

    /// Returns whether the value is a structure of words.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Wide(_))
    }

    /// Returns the C type.
    pub fn c_type(self) -> Type {
        Type::named(match self {
            Self::Bool => "bool".into(),
            Self::Word(bits) => format!("uint{bits}_t"),
            Self::Double => "wl_u128".into(),
            Self::Wide(words) => format!("wl_w{words}"),
        })
    }

    /// Returns a zero of the type, as an initialiser.
    pub fn zero(self) -> Expr {
        match self {
            Self::Bool => Expr::name("false"),
            Self::Wide(_) => Expr::List(vec![Expr::List(vec![Expr::number(0)])]),
            _ => Expr::number(0),
        }
    }

    /// Returns a zero of the type, as an expression.
    pub fn zero_value(self) -> Expr {
        self.value_of(self.zero())
    }

    /// Converts an initialiser of the type to an expression.
    pub fn value_of(self, initialiser: Expr) -> Expr {
        match initialiser {
            Expr::List(items) => Expr::Object(self.c_type(), items),
            value => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: [u32; 13] = [1, 2, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 1024];

    #[test]
    fn each_width_has_the_smallest_type_that_holds_it() {
        let types: Vec<String> = WIDTHS.map(|width| Model::Bits64.c_type(width).name).into();
        let expected = [
            "bool", "uint8_t", "uint8_t", "uint16_t", "uint16_t", "uint32_t", "uint32_t",
            "uint64_t", "uint64_t", "wl_u128", "wl_u128", "wl_w3", "wl_w16",
        ];
        assert_eq!(types, expected);
    }

    #[test]
    fn registers_of_32_bits_hold_what_is_smaller() {
        let types: Vec<String> = WIDTHS.map(|width| Model::Bits32.c_type(width).name).into();
        let expected = [
            "bool", "uint32_t", "uint32_t", "uint32_t", "uint32_t", "uint32_t", "uint32_t",
            "uint64_t", "uint64_t", "wl_w3", "wl_w4", "wl_w5", "wl_w32",
        ];
        assert_eq!(types, expected);
    }

    #[test]
    fn constants_have_the_type_of_their_width() {
        let model = Model::Bits64;
        let number = |text: &str| Expr::number(text);
        assert_eq!(model.literal(&Bits::new(1, 1)), Expr::name("true"));
        assert_eq!(model.literal(&Bits::new(16, 0x800)), number("0x800u"));
        assert_eq!(model.literal(&Bits::new(40, 7)), number("UINT64_C(7)"));
        let halves = ["UINT64_C(0x1)", "UINT64_C(0x0)"].map(number);
        assert_eq!(model.literal(&Bits::new(72, 1 << 64)), Expr::call("WL_U128", halves));
        assert_eq!(model.top_mask(130), number("UINT64_C(0x3)"));
        assert_eq!(Model::Bits32.top_mask(128), number("0xffffffffu"));
        let words = Expr::List(["0x5u", "0x0u", "0x3u"].map(number).into());
        let wide = Model::Bits32.wide_literal(&Bits::new(72, 3 << 64 | 5));
        assert_eq!(wide, Expr::List(vec![words]));
    }
}
