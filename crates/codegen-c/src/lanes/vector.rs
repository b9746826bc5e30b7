//! Values of sixteen packets, and operations on them.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, UnaryOp};

use crate::tree::{Binary, Expr};

/// A value in each lane.
#[derive(Clone, Debug, PartialEq)]
pub enum Lane {
    /// One constant for all lanes.
    Same(Bits),
    /// A condition: one bit per lane.
    Mask(Expr),
    /// Values of up to 32 bits: a vector.
    Word(Expr),
    /// Wider values: vectors of 64-bit words, the least significant first.
    Quads(Vec<Expr>),
}

/// The result of an operation. `None` if vector code cannot compute it.
pub type Computed = Option<Lane>;

/// Returns the number of 64-bit words of a value.
pub fn quads(width: u32) -> usize {
    width.div_ceil(64) as usize
}

/// Returns whether values of this width are vectors of 32 bits.
fn is_word(width: u32) -> bool {
    (2..=32).contains(&width)
}

fn number(value: u64) -> Expr {
    Expr::number(format!("UINT64_C({value:#x})"))
}

fn short(value: u64) -> Expr {
    Expr::number(format!("{value:#x}u"))
}

fn ones(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// Returns the low bits of a vector of 32-bit elements.
fn masked(value: Expr, width: u32) -> Expr {
    match width {
        32 => value,
        _ => value.binary(Binary::And, vector(ones(width))),
    }
}

fn masked_quad(value: Expr, width: u32) -> Expr {
    match width {
        64 => value,
        _ => Expr::call("wl_q_and", [value, quad(ones(width))]),
    }
}

/// Returns a vector with the same value in each lane.
fn vector(value: u64) -> Expr {
    Expr::call("wl_v_set", [short(value)])
}

fn quad(value: u64) -> Expr {
    Expr::call("wl_q_set", [number(value)])
}

impl Lane {
    /// Returns the condition. Only for one-bit values.
    pub fn mask(&self) -> Expr {
        match self {
            Self::Same(bits) => Expr::number(if bits.is_zero() { "0" } else { "0xffff" }),
            Self::Mask(c) => c.clone(),
            _ => unreachable!("it has one bit"),
        }
    }

    /// Returns the vector. Only for values of up to 32 bits.
    pub fn word(&self) -> Expr {
        match self {
            Self::Same(bits) => vector(bits.low_u64()),
            Self::Mask(c) => Expr::call("wl_v_of_m", [c.clone()]),
            Self::Word(c) => c.clone(),
            Self::Quads(words) => Expr::call("wl_v_of_q", [words[0].clone()]),
        }
    }

    /// Returns the value as `count` 64-bit words.
    pub fn quads(&self, count: usize) -> Vec<Expr> {
        let mut words = match self {
            Self::Same(bits) => (0..count).map(|at| quad(word_of(bits, at))).collect(),
            Self::Mask(_) | Self::Word(_) => vec![Expr::call("wl_q_of_v", [self.word()])],
            Self::Quads(words) => words.clone(),
        };
        words.resize(count, quad(0));
        words
    }

    /// Returns the value where a condition holds, and zero elsewhere.
    pub fn under(&self, condition: &Expr, width: u32) -> Self {
        let one = |function: &str, value: Expr| Expr::call(function, [condition.clone(), value]);
        match width {
            1 => Self::Mask(Expr::call("wl_m_and", [condition.clone(), self.mask()])),
            2..=32 => Self::Word(one("wl_v_where", self.word())),
            _ => {
                let words = self.quads(quads(width)).into_iter();
                Self::Quads(words.map(|word| one("wl_q_where", word)).collect())
            }
        }
    }
}

/// Returns a 64-bit word of a constant.
fn word_of(bits: &Bits, at: usize) -> u64 {
    let lo = 64 * at as u32;
    if lo >= bits.width() {
        return 0;
    }
    bits.slice(lo, (bits.width() - lo).min(64)).low_u64()
}

pub fn unary(op: UnaryOp, a: &Lane, width: u32) -> Computed {
    if let Lane::Same(a) = a {
        return Some(Lane::Same(op.apply(a)));
    }
    match (op, width) {
        (UnaryOp::Neg, 1) => Some(a.clone()),
        (UnaryOp::Not, 1) => Some(Lane::Mask(Expr::call("wl_m_not", [a.mask()]))),
        (UnaryOp::Not, _) => binary(BinaryOp::Xor, a, &Lane::Same(Bits::ones(width)), width, width),
        (UnaryOp::Neg, _) => binary(BinaryOp::Sub, &Lane::Same(Bits::zero(width)), a, width, width),
        (UnaryOp::Popcount | UnaryOp::Clz, _) => None,
    }
}

/// Computes a binary operation. `width` is the width of the first operand. `count` is the width of
/// the second operand, for shifts.
pub fn binary(op: BinaryOp, a: &Lane, b: &Lane, width: u32, count: u32) -> Computed {
    if let (Lane::Same(a), Lane::Same(b)) = (a, b) {
        return Some(Lane::Same(op.apply(a, b)));
    }
    if op.is_shift() {
        return shift(op, a, b, width, count);
    }
    match width {
        1 if op == BinaryOp::And => Some(both(a, b)),
        1 => of_masks(op, a.mask(), b.mask()),
        2..=32 => of_words(op, a.word(), b.word(), width),
        _ => {
            let count = quads(width);
            of_quads(op, a.quads(count), b.quads(count), width)
        }
    }
}

/// Returns the lanes in which two conditions hold.
pub fn both(a: &Lane, b: &Lane) -> Lane {
    match (a, b) {
        (Lane::Same(known), other) | (other, Lane::Same(known)) => {
            if known.is_zero() {
                Lane::Same(known.clone())
            } else {
                other.clone()
            }
        }
        _ => Lane::Mask(Expr::call("wl_m_and", [a.mask(), b.mask()])),
    }
}

fn of_masks(op: BinaryOp, a: Expr, b: Expr) -> Computed {
    use BinaryOp as B;
    let not = |a: Expr| Expr::call("wl_m_not", [a]);
    let call = |function: &str, a: Expr, b: Expr| Some(Lane::Mask(Expr::call(function, [a, b])));
    match op {
        B::Add | B::Sub | B::Xor | B::Ne => call("wl_m_xor", a, b),
        B::Mul | B::And => call("wl_m_and", a, b),
        B::Or => call("wl_m_or", a, b),
        B::Eq => call("wl_m_xor", not(a), b),
        B::Ult => call("wl_m_and", not(a), b),
        B::Ule => call("wl_m_or", not(a), b),
        B::Umin => call("wl_m_and", a, b),
        B::Umax => call("wl_m_or", a, b),
        B::Udiv | B::Urem | B::Shl | B::Lshr => None,
    }
}

fn of_words(op: BinaryOp, a: Expr, b: Expr, width: u32) -> Computed {
    use BinaryOp as B;
    let plain = |operator| a.clone().binary(operator, b.clone());
    let compared = |function: &str| Lane::Mask(Expr::call(function, [a.clone(), b.clone()]));
    Some(match op {
        B::Add => Lane::Word(masked(plain(Binary::Add), width)),
        B::Sub => Lane::Word(masked(plain(Binary::Sub), width)),
        B::Mul => Lane::Word(masked(plain(Binary::Mul), width)),
        B::And => Lane::Word(plain(Binary::And)),
        B::Or => Lane::Word(plain(Binary::Or)),
        B::Xor => Lane::Word(plain(Binary::Xor)),
        B::Eq => compared("wl_v_eq"),
        B::Ne => compared("wl_v_ne"),
        B::Ult => compared("wl_v_less"),
        B::Ule => compared("wl_v_less_equal"),
        B::Udiv | B::Urem | B::Shl | B::Lshr | B::Umin | B::Umax => return None,
    })
}

fn of_quads(op: BinaryOp, a: Vec<Expr>, b: Vec<Expr>, width: u32) -> Computed {
    use BinaryOp as B;
    let is_wide = a.len() > 1;
    let each = |function: &str| -> Vec<Expr> {
        let pairs = a.iter().zip(&b);
        pairs.map(|(a, b)| Expr::call(function, [a.clone(), b.clone()])).collect()
    };
    let all = |function: &str, join: &str| {
        let words = each(function).into_iter();
        Lane::Mask(words.reduce(|all, one| Expr::call(join, [all, one])).expect("there are words"))
    };
    let sum = |function: &str| {
        Lane::Quads(each(function).into_iter().map(|word| masked_quad(word, width)).collect())
    };
    Some(match op {
        B::And => Lane::Quads(each("wl_q_and")),
        B::Or => Lane::Quads(each("wl_q_or")),
        B::Xor => Lane::Quads(each("wl_q_xor")),
        B::Eq => all("wl_q_eq", "wl_m_and"),
        B::Ne => all("wl_q_ne", "wl_m_or"),
        _ if is_wide => return None,
        B::Add => sum("wl_q_add"),
        B::Sub => sum("wl_q_sub"),
        B::Mul => sum("wl_q_mul"),
        B::Ult => all("wl_q_less", "wl_m_and"),
        B::Ule => all("wl_q_less_equal", "wl_m_and"),
        B::Udiv | B::Urem | B::Shl | B::Lshr | B::Umin | B::Umax => return None,
    })
}

fn shift(op: BinaryOp, a: &Lane, b: &Lane, width: u32, count: u32) -> Computed {
    let is_left = op == BinaryOp::Shl;
    if let Lane::Same(by) = b {
        let by = by.to_shift();
        if by >= width {
            return Some(Lane::Same(Bits::zero(width)));
        }
        if !is_left {
            let rest = slice(a, width, by, width - by)?;
            return Some(extend(&rest, width));
        }
        let low = slice(a, width, 0, width - by)?;
        return concat(&[(low, width - by), (Lane::Same(Bits::zero(by.max(1))), by)]);
    }
    if !is_word(width) || count > 32 {
        return None;
    }
    let function = if is_left { "wl_v_shl" } else { "wl_v_shr" };
    let shifted = Expr::call(function, [a.word(), b.word()]);
    Some(Lane::Word(if is_left { masked(shifted, width) } else { shifted }))
}

pub fn select(c: &Lane, a: &Lane, b: &Lane, width: u32) -> Lane {
    if let Lane::Same(c) = c {
        return if c.is_zero() { b.clone() } else { a.clone() };
    }
    if a == b {
        return a.clone();
    }
    let c = c.mask();
    let call = |function: &str, a: Expr, b: Expr| Expr::call(function, [c.clone(), a, b]);
    match width {
        1 => Lane::Mask(call("wl_m_select", a.mask(), b.mask())),
        2..=32 => Lane::Word(call("wl_v_select", a.word(), b.word())),
        _ => {
            let count = quads(width);
            let pairs = a.quads(count).into_iter().zip(b.quads(count));
            Lane::Quads(pairs.map(|(a, b)| call("wl_q_select", a, b)).collect())
        }
    }
}

/// Extends a value with zeros to `width` bits.
pub fn extend(a: &Lane, width: u32) -> Lane {
    match a {
        Lane::Same(bits) => Lane::Same(bits.resize(width)),
        _ if width == 1 => a.clone(),
        _ if width <= 32 => Lane::Word(a.word()),
        _ => Lane::Quads(a.quads(quads(width))),
    }
}

/// Returns bits `lo .. lo + width` of a value of `from` bits.
pub fn slice(a: &Lane, from: u32, lo: u32, width: u32) -> Computed {
    if width == from {
        return Some(a.clone());
    }
    let words = match a {
        Lane::Same(bits) => return Some(Lane::Same(bits.slice(lo, width))),
        Lane::Word(word) => {
            if width == 1 {
                return Some(Lane::Mask(Expr::call("wl_v_test", [word.clone(), short(1 << lo)])));
            }
            let shifted = match lo {
                0 => word.clone(),
                _ => word.clone().binary(Binary::Shr, Expr::number(lo)),
            };
            let is_upper = lo + width == from;
            return Some(Lane::Word(if is_upper { shifted } else { masked(shifted, width) }));
        }
        Lane::Mask(_) => unreachable!("it is one bit"),
        Lane::Quads(words) => words,
    };
    let (first, by) = ((lo / 64) as usize, lo % 64);
    if width == 1 {
        return Some(Lane::Mask(Expr::call("wl_q_test", [words[first].clone(), number(1 << by)])));
    }
    let word = |at: usize| {
        let shifted = |word: &Expr, function: &str, by: u32| match by {
            0 => word.clone(),
            _ => Expr::call(function, [word.clone(), Expr::number(by)]),
        };
        let low = shifted(&words[first + at], "wl_q_shr", by);
        match words.get(first + at + 1) {
            Some(high) if by != 0 && by + width > 64 => {
                Expr::call("wl_q_or", [low, shifted(high, "wl_q_shl", 64 - by)])
            }
            _ => low,
        }
    };
    if is_word(width) {
        let part = |at: usize| {
            let function = if at.is_multiple_of(2) { "wl_v_of_q" } else { "wl_v_above_q" };
            Expr::call(function, [words[at / 2].clone()])
        };
        let (at, by) = ((lo / 32) as usize, lo % 32);
        let low = match by {
            0 => part(at),
            _ => part(at).binary(Binary::Shr, Expr::number(by)),
        };
        let whole = match by + width > 32 {
            true => low.binary(Binary::Or, part(at + 1).binary(Binary::Shl, Expr::number(32 - by))),
            false => low,
        };
        return Some(Lane::Word(masked(whole, width)));
    }
    let count = quads(width);
    let sliced = (0..count).map(|at| match (at + 1 == count, width % 64) {
        (true, left) if left != 0 => masked_quad(word(at), left),
        _ => word(at),
    });
    Some(Lane::Quads(sliced.collect()))
}

/// Concatenates parts with their widths, the most significant first. Empty parts are left out.
pub fn concat(parts: &[(Lane, u32)]) -> Computed {
    let parts: Vec<&(Lane, u32)> = parts.iter().filter(|(_, width)| *width > 0).collect();
    let width: u32 = parts.iter().map(|(_, width)| width).sum();
    if let [(only, _)] = parts[..] {
        return Some(only.clone());
    }
    let mut lo = width;
    let placed = parts.into_iter().map(|(part, width)| {
        lo -= width;
        (part, *width, lo)
    });
    let is_nothing = |part: &Lane| matches!(part, Lane::Same(bits) if bits.is_zero());
    let placed: Vec<_> = placed.filter(|(part, ..)| !is_nothing(part)).collect();
    if width <= 32 {
        let terms = placed.into_iter().map(|(part, _, lo)| match lo {
            0 => part.word(),
            _ => part.word().binary(Binary::Shl, Expr::number(lo)),
        });
        let all = terms.reduce(|all, term| all.binary(Binary::Or, term));
        return Some(all.map_or_else(|| Lane::Same(Bits::zero(width)), Lane::Word));
    }
    let mut words: Vec<Option<Expr>> = vec![None; quads(width)];
    let mut add = |at: usize, term: Expr| {
        words[at] = Some(match words[at].take() {
            Some(word) => Expr::call("wl_q_or", [word, term]),
            None => term,
        });
    };
    for (part, width, lo) in placed {
        for (index, word) in part.quads(quads(width)).into_iter().enumerate() {
            let lo = lo + 64 * index as u32;
            let bits = (width - 64 * index as u32).min(64);
            let (at, by) = ((lo / 64) as usize, lo % 64);
            let moved = |function: &str, by: u32| match by {
                0 => word.clone(),
                _ => Expr::call(function, [word.clone(), Expr::number(by)]),
            };
            add(at, moved("wl_q_shl", by));
            if by + bits > 64 {
                add(at + 1, moved("wl_q_shr", 64 - by));
            }
        }
    }
    Some(Lane::Quads(words.into_iter().map(|word| word.unwrap_or_else(|| quad(0))).collect()))
}
