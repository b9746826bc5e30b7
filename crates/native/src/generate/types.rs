//! Which C type holds a value of a given width, and how constants of it are written.

use wireloom_bits::Bits;

/// How a value is held. It is always below `2^width`; bits of the C type above the width are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Width 1: `bool`.
    Bool,
    /// Up to 64 bits: the next larger of `uint8_t` ... `uint64_t`, whose width this is.
    Word(u32),
    /// 65 to 128 bits: `wl_u128`.
    Double,
    /// More: `wl_wN`, a structure of N words of 64 bits.
    Wide(u32),
}

impl Class {
    /// The class of values of `width` bits.
    pub fn of(width: u32) -> Self {
        match width {
            0 | 1 => Self::Bool,
            2..=64 => Self::Word(width.next_power_of_two().max(8)),
            65..=128 => Self::Double,
            _ => Self::Wide(width.div_ceil(64)),
        }
    }

    /// Bits of the C type; 1 for `bool`.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Word(bits) => bits,
            Self::Double => 128,
            Self::Wide(words) => 64 * words,
        }
    }

    /// Whether the value is a structure of words.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Wide(_))
    }

    /// The name of the C type.
    pub fn c_type(self) -> String {
        match self {
            Self::Bool => "bool".into(),
            Self::Word(bits) => format!("uint{bits}_t"),
            Self::Double => "wl_u128".into(),
            Self::Wide(words) => format!("wl_w{words}"),
        }
    }

    /// A zero of the type, as an initialiser.
    pub fn zero(self) -> &'static str {
        match self {
            Self::Bool => "false",
            Self::Wide(_) => "{ { 0 } }",
            _ => "0",
        }
    }
}

/// The C type of values of `width` bits.
pub fn c_type(width: u32) -> String {
    Class::of(width).c_type()
}

/// Number of 64-bit words of a value.
pub fn words(width: u32) -> u32 {
    width.div_ceil(64)
}

/// A C constant: decimal when it is small, else hexadecimal. Not for wide values.
pub fn literal(value: &Bits) -> String {
    let low = value.low_u64();
    let digits = |v: u64| if v < 1024 { format!("{v}") } else { format!("{v:#x}") };
    match Class::of(value.width()) {
        Class::Bool => if low == 1 { "true" } else { "false" }.into(),
        Class::Word(64) => format!("UINT64_C({})", digits(low)),
        Class::Word(_) => format!("{}u", digits(low)),
        Class::Double => format!("WL_U128(UINT64_C({:#x}), UINT64_C({low:#x}))", value.word(1)),
        Class::Wide(_) => unreachable!("wide constants are objects"),
    }
}

/// The mask of the low `width` bits, as a constant of the class that holds them.
pub fn mask(width: u32) -> String {
    literal(&Bits::ones(width))
}

/// The mask of the most significant word of a wide value.
pub fn top_mask(width: u32) -> String {
    match width % 64 {
        0 => "UINT64_MAX".into(),
        used => format!("UINT64_C({:#x})", (1u64 << used) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_width_has_the_smallest_type_that_holds_it() {
        let types: Vec<String> = [1, 2, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 1024].map(c_type).into();
        let expected = [
            "bool", "uint8_t", "uint8_t", "uint16_t", "uint16_t", "uint32_t", "uint32_t", "uint64_t",
            "uint64_t", "wl_u128", "wl_u128", "wl_w3", "wl_w16",
        ];
        assert_eq!(types, expected);
    }

    #[test]
    fn constants_have_the_type_of_their_width() {
        assert_eq!(literal(&Bits::new(1, 1)), "true");
        assert_eq!(literal(&Bits::new(16, 0x800)), "0x800u");
        assert_eq!(literal(&Bits::new(40, 7)), "UINT64_C(7)");
        assert_eq!(literal(&Bits::new(72, 1 << 64)), "WL_U128(UINT64_C(0x1), UINT64_C(0x0))");
        assert_eq!(top_mask(130), "UINT64_C(0x3)");
    }
}
