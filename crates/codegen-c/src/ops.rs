//! Pure operations and reads as C expressions, or as calls of the runtime for values that are not
//! scalars.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, UnaryOp};

use super::tree::{Binary, Declaration, Expr, Stmt, Type};
use super::types::{Class, Model};

/// An operand or a result.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The C expression. For a wide value it is an lvalue.
    pub c: Expr,
    /// Width of the value in bits.
    pub width: u32,
    /// The value, if it is a constant of at most 64 bits.
    pub constant: Option<u64>,
    /// The available C types.
    pub model: Model,
}

impl Operand {
    /// Returns the class of the operand's type.
    pub fn class(&self) -> Class {
        self.model.class(self.width)
    }

    /// Returns the words of a wide value.
    pub fn words(&self) -> Expr {
        self.c.clone().member("w")
    }

    /// Returns the value as a shift count: at most one word, saturated.
    pub fn count(&self) -> Expr {
        match self.class() {
            Class::Wide(n) => Expr::call("wl_wide_count", [self.words(), Expr::number(n)]),
            class if class.bits() > self.model.word_bits() => {
                Expr::call("wl_shift_count", [self.c.clone()])
            }
            _ => self.c.clone(),
        }
    }
}

/// The form of a written operation.
pub enum Form {
    Expression(Operand),
    Statements(Fill),
}

/// Builds the statements that fill the object with the given name.
pub type Fill = Box<dyn FnOnce(&Expr) -> Vec<Stmt>>;

/// Builds a call of the runtime: `function(result.w, arguments)`.
fn runtime(function: &'static str, arguments: impl IntoIterator<Item = Expr>) -> Form {
    let arguments: Vec<Expr> = arguments.into_iter().collect();
    Form::Statements(Box::new(move |result| {
        vec![Stmt::call(function, std::iter::once(result.clone().member("w")).chain(arguments))]
    }))
}

/// Converts an expression of a C type at least as wide as `int` to a value of `width` bits.
/// `masked` says that bits above the width may be set and must be cleared.
fn fit(model: Model, width: u32, expression: Expr, masked: bool) -> Form {
    let class = model.class(width);
    let is_partial = masked && width < class.bits();
    let value =
        if is_partial { expression.binary(Binary::And, model.mask(width)) } else { expression };
    Form::Expression(match class {
        Class::Word(8 | 16) => model.operand(value.cast(class.c_type()), width),
        _ => model.operand(value, width),
    })
}

/// Writes a unary operation.
pub fn unary(op: UnaryOp, a: &Operand) -> Form {
    let (model, width) = (a.model, a.width);
    match (op, a.class()) {
        (UnaryOp::Not, Class::Bool) => Form::Expression(model.operand(a.c.clone().not(), 1)),
        (UnaryOp::Neg, Class::Bool) => Form::Expression(a.clone()),
        (UnaryOp::Popcount, Class::Bool) => Form::Expression(a.clone()),
        (UnaryOp::Clz, Class::Bool) => Form::Expression(model.operand(a.c.clone().not(), 1)),
        (UnaryOp::Not, Class::Wide(n)) => {
            runtime("wl_wide_not", [a.words(), Expr::number(n), model.top_mask(width)])
        }
        (UnaryOp::Neg, Class::Wide(n)) => {
            runtime("wl_wide_neg", [a.words(), Expr::number(n), model.top_mask(width)])
        }
        (UnaryOp::Popcount, Class::Wide(n)) => {
            runtime("wl_wide_popcount", [a.words(), Expr::number(n)])
        }
        (UnaryOp::Clz, Class::Wide(n)) => {
            runtime("wl_wide_clz", [a.words(), Expr::number(n), Expr::number(width)])
        }
        // The BPF compiler would call a library for `~`.
        (UnaryOp::Not, Class::Double) => {
            let value = Expr::call("wl_not128", [a.c.clone(), model.mask(width)]);
            fit(model, width, value, false)
        }
        // Not `~`: compilers warn if they take its operand for a boolean or a signed value.
        (UnaryOp::Not, _) => {
            fit(model, width, a.c.clone().binary(Binary::Xor, model.mask(width)), false)
        }
        (UnaryOp::Neg, _) => {
            fit(model, width, Expr::number("0u").binary(Binary::Sub, a.c.clone()), true)
        }
        (UnaryOp::Popcount, class) => {
            let count = Expr::call(format!("wl_popcount{}", size(model, class)), [a.c.clone()]);
            narrowed(model, width, count, false)
        }
        (UnaryOp::Clz, class) => {
            let function = format!("wl_clz{}", size(model, class));
            let count = Expr::call(function, [a.c.clone(), Expr::number(width)]);
            narrowed(model, width, count, false)
        }
    }
}

/// Returns the width in bits of the runtime functions that take scalars of a class: 32, a word, or
/// two words.
fn size(model: Model, class: Class) -> u32 {
    match class.bits() {
        ..=32 => 32,
        bits if bits <= model.word_bits() => model.word_bits(),
        _ => model.scalar_bits(),
    }
}

/// Writes a binary operation on operands of the same width. A shift count may have any width.
pub fn binary(op: BinaryOp, a: &Operand, b: &Operand, fits: bool) -> Form {
    if let Some(known) = compare_with_limit(op, a, b) {
        let c = Expr::name(if known { "true" } else { "false" });
        return Form::Expression(Operand {
            constant: Some(u64::from(known)),
            ..a.model.operand(c, 1)
        });
    }
    match a.class() {
        Class::Bool => flag(a.model, binary_of_flags(op, a, b)),
        Class::Wide(n) => binary_of_words(op, a, b, n),
        _ => binary_of_scalars(op, a, b, !fits),
    }
}

fn flag(model: Model, c: Expr) -> Form {
    Form::Expression(model.operand(c, 1))
}

fn binary_of_flags(op: BinaryOp, a: &Operand, b: &Operand) -> Expr {
    use BinaryOp as B;
    let (x, y) = (a.c.clone(), b.c.clone());
    match op {
        B::Add | B::Sub | B::Xor | B::Ne => x.binary(Binary::NotEqual, y),
        B::Mul | B::And => x.binary(Binary::Both, y),
        B::Udiv => y.not().binary(Binary::Either, x),
        B::Urem => x.binary(Binary::Both, y.not()),
        B::Or => x.binary(Binary::Either, y),
        B::Shl | B::Lshr if b.class() == Class::Bool => x.binary(Binary::Both, y.not()),
        B::Shl | B::Lshr => {
            x.binary(Binary::Both, b.count().binary(Binary::Equal, Expr::number(0)))
        }
        B::Eq => x.binary(Binary::Equal, y),
        B::Ult => x.not().binary(Binary::Both, y),
        B::Ule => x.not().binary(Binary::Either, y),
        B::Umin => x.binary(Binary::Both, y),
        B::Umax => x.binary(Binary::Either, y),
    }
}

fn binary_of_words(op: BinaryOp, a: &Operand, b: &Operand, n: u32) -> Form {
    use BinaryOp as B;
    let model = a.model;
    let top = || model.top_mask(a.width);
    let count = || Expr::number(n);
    let compare = |function: &str, x: &Operand, y: &Operand| {
        Expr::call(function, [x.words(), y.words(), Expr::number(n)])
    };
    match op {
        B::Add => runtime("wl_wide_add", [a.words(), b.words(), count(), top()]),
        B::Sub => runtime("wl_wide_sub", [a.words(), b.words(), count(), top()]),
        B::Mul => runtime("wl_wide_mul", [a.words(), b.words(), count(), top()]),
        B::Udiv | B::Urem => {
            let is_quotient = op == B::Udiv;
            let other = if is_quotient { "rest" } else { "quotient" };
            let arguments = [a.words(), b.words(), count(), top()];
            let ty = a.class().c_type();
            Form::Statements(Box::new(move |result| {
                let (wanted, unwanted) =
                    (result.clone().member("w"), Expr::name(other).member("w"));
                let results = if is_quotient { [wanted, unwanted] } else { [unwanted, wanted] };
                vec![Stmt::Block(vec![
                    Declaration::new(ty, other).into(),
                    Stmt::call("wl_wide_divide", results.into_iter().chain(arguments)),
                ])]
            }))
        }
        B::And => runtime("wl_wide_and", [a.words(), b.words(), count()]),
        B::Or => runtime("wl_wide_or", [a.words(), b.words(), count()]),
        B::Xor => runtime("wl_wide_xor", [a.words(), b.words(), count()]),
        B::Shl => runtime("wl_wide_shl", [a.words(), count(), b.count(), top()]),
        B::Lshr => runtime("wl_wide_shr", [a.words(), count(), b.count()]),
        B::Eq => flag(model, compare("wl_wide_eq", a, b)),
        B::Ne => flag(model, compare("wl_wide_eq", a, b).not()),
        B::Ult => flag(model, compare("wl_wide_less", a, b)),
        B::Ule => flag(model, compare("wl_wide_less", b, a).not()),
        B::Umin => runtime("wl_wide_min", [a.words(), b.words(), count()]),
        B::Umax => runtime("wl_wide_max", [a.words(), b.words(), count()]),
    }
}

fn binary_of_scalars(op: BinaryOp, a: &Operand, b: &Operand, masked: bool) -> Form {
    use BinaryOp as B;
    let (model, width, class) = (a.model, a.width, a.class());
    let (x, y) = (a.c.clone(), b.c.clone());
    // Sizes in bits of the runtime's functions: shifts take a word or a scalar, divisions also take
    // 32 bits.
    let shifts =
        if class.bits() <= model.word_bits() { model.word_bits() } else { model.scalar_bits() };
    let size = size(model, class);
    // Operands of 16 bits are promoted to `int`, in which a product or a left shift can overflow.
    let promoted = |x: Expr| if class.bits() < 32 { x.cast("uint32_t") } else { x };
    let plain = |operator, masked| fit(model, width, x.clone().binary(operator, y.clone()), masked);
    let compared = |operator| flag(model, x.clone().binary(operator, y.clone()));
    match op {
        B::Add => plain(Binary::Add, masked),
        B::Sub => plain(Binary::Sub, true),
        B::Mul => fit(model, width, promoted(x).binary(Binary::Mul, y), masked),
        B::Udiv => {
            let quotient = Expr::call(format!("wl_udiv{size}"), [x, y, model.mask(width)]);
            fit(model, width, quotient, false)
        }
        B::Urem => fit(model, width, Expr::call(format!("wl_urem{size}"), [x, y]), false),
        B::And => plain(Binary::And, false),
        B::Or => plain(Binary::Or, false),
        B::Xor => plain(Binary::Xor, false),
        B::Shl | B::Lshr => match b.constant {
            Some(count) if count >= u64::from(width) => Form::Expression(Operand {
                constant: Some(0),
                ..model.operand(model.literal(&Bits::zero(width)), width)
            }),
            Some(count) if op == B::Shl => {
                let shifted = match class {
                    Class::Double => shifted_left(class, x, Expr::number(count)),
                    _ => promoted(x).binary(Binary::Shl, Expr::number(count)),
                };
                fit(model, width, shifted, masked)
            }
            Some(count) => fit(model, width, x.binary(Binary::Shr, Expr::number(count)), false),
            None => {
                let name = if op == B::Shl { "wl_shl" } else { "wl_shr" };
                let shifted =
                    Expr::call(format!("{name}{shifts}"), [x, b.count(), Expr::number(width)]);
                narrowed(model, width, shifted, op == B::Shl)
            }
        },
        B::Eq => compared(Binary::Equal),
        B::Ne => compared(Binary::NotEqual),
        B::Ult => compared(Binary::Less),
        B::Ule => compared(Binary::LessEqual),
        B::Umin => narrowed(model, width, Expr::call(format!("wl_min{size}"), [x, y]), false),
        B::Umax => narrowed(model, width, Expr::call(format!("wl_max{size}"), [x, y]), false),
    }
}

/// Returns the result of a comparison that its constant operand decides, so that the C compiler
/// does not warn about it.
fn compare_with_limit(op: BinaryOp, a: &Operand, b: &Operand) -> Option<bool> {
    if a.width > 64 {
        return None;
    }
    let ones = u64::MAX >> (64 - a.width);
    match (op, a.constant, b.constant) {
        (BinaryOp::Ult, _, Some(0)) => Some(false),
        (BinaryOp::Ult, Some(v), _) if v == ones => Some(false),
        (BinaryOp::Ule, Some(0), _) => Some(true),
        (BinaryOp::Ule, _, Some(v)) if v == ones => Some(true),
        _ => None,
    }
}

/// Returns the lowest bit of an expression, as a flag.
fn low_bit(expression: Expr) -> Expr {
    expression.binary(Binary::And, Expr::number(1)).nonzero()
}

/// Narrows an expression of a word or a scalar to the type of `width`. `masked` says that bits
/// above the width may be set and must be cleared.
fn narrowed(model: Model, width: u32, expression: Expr, masked: bool) -> Form {
    let class = model.class(width);
    let c = match class {
        Class::Bool => low_bit(expression),
        _ if masked && width < class.bits() => {
            expression.binary(Binary::And, model.mask(width)).cast(class.c_type())
        }
        Class::Word(_) => expression.cast(class.c_type()),
        _ => expression,
    };
    Form::Expression(model.operand(c, width))
}

/// Writes a zero-extension.
pub fn extend(a: &Operand, width: u32) -> Form {
    match (a.class(), a.model.class(width)) {
        (Class::Wide(from), Class::Wide(n)) => {
            runtime("wl_wide_copy", [Expr::number(n), a.words(), Expr::number(from)])
        }
        (_, Class::Wide(n)) => runtime("wl_wide_set", [Expr::number(n), a.c.clone()]),
        (from, to) if from == to => Form::Expression(Operand { width, ..a.clone() }),
        (_, to) => Form::Expression(Operand {
            constant: a.constant,
            ..a.model.operand(a.c.clone().cast(to.c_type()), width)
        }),
    }
}

/// Writes an extraction of bits `lo .. lo + width`.
pub fn slice(a: &Operand, lo: u32, width: u32) -> Form {
    let (from, to) = (a.class(), a.model.class(width));
    let shifted = || match lo {
        0 => a.c.clone(),
        _ => a.c.clone().binary(Binary::Shr, Expr::number(lo)),
    };
    let c = match (from, to) {
        (Class::Wide(n), Class::Wide(out)) => {
            let [out, n, lo] = [out, n, lo].map(Expr::number);
            return runtime("wl_wide_slice", [out, a.words(), n, lo, a.model.top_mask(width)]);
        }
        (Class::Wide(n), _) => {
            let bits = Expr::call("wl_wide_scalar", [a.words(), Expr::number(n), Expr::number(lo)]);
            return narrowed(a.model, width, bits, true);
        }
        _ if width == a.width => return Form::Expression(a.clone()),
        // The BPF compiler would complement two words to complement the bit, and call a library.
        (Class::Double, Class::Bool) => low_bit(shifted().cast(Class::Word(64).c_type())),
        (_, Class::Bool) => low_bit(shifted()),
        _ if lo + width != a.width && width < to.bits() => {
            let mask = a.model.literal(&Bits::ones(width).resize(from.bits()));
            shifted().binary(Binary::And, mask).cast(to.c_type())
        }
        _ => shifted().cast(to.c_type()),
    };
    Form::Expression(a.model.operand(c, width))
}

/// Writes a concatenation of parts, the most significant first.
pub fn concat(parts: &[Operand]) -> Form {
    let width: u32 = parts.iter().map(|part| part.width).sum();
    let model = parts[0].model;
    let class = model.class(width);
    if let [only] = parts {
        return Form::Expression(only.clone());
    }
    let mut lo = width;
    let place = |part: &Operand| {
        lo -= part.width;
        (lo, part.clone())
    };
    let placed: Vec<(u32, Operand)> = parts.iter().map(place).collect();
    if let Class::Wide(n) = class {
        return Form::Statements(Box::new(move |result| placed_in_words(n, &placed, result)));
    }
    let terms = placed.into_iter().map(|(lo, part)| match lo {
        0 => part.c,
        _ => shifted_left(class, part.c, Expr::number(lo)),
    });
    let whole =
        terms.reduce(|whole, term| whole.binary(Binary::Or, term)).expect("there are parts");
    fit(model, width, whole, false)
}

/// Returns a value shifted to the left, as one of `class`. It is widened first: `int` would be wide
/// enough for the smallest, but might become negative.
fn shifted_left(class: Class, value: Expr, count: Expr) -> Expr {
    match class {
        Class::Double => Expr::call("WL_LEFT128", [value, count]),
        _ if class.bits() < 32 => value.cast("uint32_t").binary(Binary::Shl, count),
        _ => value.cast(class.c_type()).binary(Binary::Shl, count),
    }
}

/// Writes parts into an object of `n` words. Each part comes with the position of its lowest bit.
fn placed_in_words(n: u32, placed: &[(u32, Operand)], result: &Expr) -> Vec<Stmt> {
    let words = || result.clone().member("w");
    let mut statements = vec![Stmt::call("wl_wide_zero", [words(), Expr::number(n)])];
    statements.extend(placed.iter().map(|(lo, part)| {
        let place = [words(), Expr::number(n), Expr::number(lo)].into_iter();
        match part.class() {
            Class::Wide(count) => {
                Stmt::call("wl_wide_place", place.chain([part.words(), Expr::number(count)]))
            }
            _ => Stmt::call("wl_wide_place_scalar", place.chain([part.c.clone()])),
        }
    }));
    statements
}

/// Writes a selection: the value is `a` if the condition is 1, else `b`.
pub fn select(condition: &Operand, a: &Operand, b: &Operand) -> Form {
    let c = condition.c.clone().choose(a.c.clone(), b.c.clone());
    Form::Expression(a.model.operand(c, a.width))
}

/// A position in the header window, in the form in which the runtime's functions take it: the
/// window or the packet, then the byte.
#[derive(Clone, Debug)]
pub struct Place {
    /// On a 64-bit processor: the window and the byte. On a 32-bit processor: the packet, the start
    /// of the header, and the constant offset from there.
    pub arguments: Vec<Expr>,
    /// Whether the byte is never farther than [`REACH`](super::emitter::REACH). Reads on a 64-bit
    /// processor then need no bound.
    pub is_near: bool,
    /// The number of bits (0 to 7) from the beginning of the byte to the field.
    pub bit: u32,
}

impl Place {
    /// Returns the arguments, followed by `more`.
    fn then<const N: usize>(&self, more: [Expr; N]) -> impl Iterator<Item = Expr> + use<N> {
        self.arguments.clone().into_iter().chain(more)
    }

    /// Returns the number of bytes that a field of `width` bits touches.
    fn bytes(&self, width: u32) -> u32 {
        (self.bit + width).div_ceil(8)
    }
}

/// Writes the read of a field of the window.
pub fn read_packet(model: Model, place: &Place, width: u32) -> Form {
    let [bit, bits] = [place.bit, width].map(Expr::number);
    if let Class::Wide(n) = model.class(width) {
        let arguments: Vec<Expr> = place.then([bit, bits]).collect();
        return Form::Statements(Box::new(move |result| {
            let filled = [result.clone().member("w"), Expr::number(n)];
            vec![Stmt::call("wl_get_wide", arguments.into_iter().chain(filled))]
        }));
    }
    let (scalar, bytes) = (model.scalar_bits(), place.bytes(width));
    if 8 * bytes > scalar {
        let field = Expr::call(format!("wl_get_bits{scalar}"), place.then([bit, bits]));
        return narrowed(model, width, field, false);
    }
    // Smaller loads gain nothing on a 64-bit processor that can load from any address.
    let load = match model {
        Model::Bits64 => 8 * bytes.next_power_of_two(),
        Model::Bits32 => 8 * bytes,
    };
    let mut arguments = place.arguments.clone();
    if model == Model::Bits64
        && !place.is_near
        && let Some(at) = arguments.pop()
    {
        arguments.push(Expr::call("wl_reach", [at]));
    }
    let whole = model.operand(Expr::call(format!("wl_get{load}"), arguments), load);
    slice(&whole, load - place.bit - width, width)
}

/// Writes the store of a field of the window.
pub fn write_packet(place: &Place, value: &Operand) -> Stmt {
    let (model, width, bytes) = (value.model, value.width, place.bytes(value.width));
    let shift = 8 * bytes - place.bit - width;
    if let Class::Wide(n) = value.class() {
        let [bit, width, n] = [place.bit, width, n].map(Expr::number);
        return Stmt::call("wl_put_wide", place.then([bit, width, value.words(), n]));
    }
    let shifted = |class: Class| match shift {
        0 => value.c.clone(),
        _ => shifted_left(class, value.c.clone(), Expr::number(shift)),
    };
    let keep = Bits::ones(width).resize(8 * bytes).shl(shift).not();
    let number = |word: u64| Expr::number(format!("{word:#x}"));
    let scalar = model.scalar_bits();
    match bytes {
        1..=8 => {
            let rest = [Expr::number(bytes), shifted(Class::Word(64)), number(keep.low_u64())];
            Stmt::call("wl_put", place.then(rest))
        }
        9..=16 if scalar == 128 => {
            let keep = Expr::call("WL_U128", [keep.word(1), keep.word(0)].map(number));
            Stmt::call("wl_put128", place.then([Expr::number(bytes), shifted(Class::Double), keep]))
        }
        _ => {
            let [bit, width] = [place.bit, width].map(Expr::number);
            Stmt::call(format!("wl_put_bits{scalar}"), place.then([bit, width, value.c.clone()]))
        }
    }
}

/// Returns the high word of a value of 65 to 128 bits.
pub fn high_word(value: &Expr) -> Expr {
    value.clone().binary(Binary::Shr, Expr::number(64)).cast("uint64_t")
}

/// Returns a value as an array of 64-bit words, in the form in which the runtime of 64-bit
/// processors takes it.
pub fn as_words(value: &Operand) -> Expr {
    let words = match value.class() {
        Class::Wide(_) => return value.words(),
        Class::Double => vec![value.c.clone().cast("uint64_t"), high_word(&value.c)],
        _ => vec![value.c.clone()],
    };
    Expr::Object(Type::named("uint64_t").constant().array(), words)
}

/// Returns the value of `width` bits in an array of words. Not for wide values.
pub fn from_words(array: &Expr, width: u32) -> Expr {
    let word = |index: u32| array.clone().at(index);
    match Model::Bits64.class(width) {
        Class::Bool => word(0).nonzero(),
        Class::Word(64) => word(0),
        Class::Word(_) => word(0).cast(Model::Bits64.c_type(width)),
        _ => {
            assert!(Model::Bits64.words(width) == 2);
            Expr::call("WL_U128", [word(1), word(0)])
        }
    }
}
