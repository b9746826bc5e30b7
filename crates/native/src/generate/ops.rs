//! Pure operations and reads as C expressions, or as calls of the runtime for values of more than 128 bits.

use wireloom_ir::{BinaryOp, UnaryOp};

use super::types::{Class, Model};

/// An operand or a result.
#[derive(Clone, Debug)]
pub struct Text {
    /// The C expression. For a wide value it is an lvalue.
    pub c: String,
    /// Width of the value in bits.
    pub width: u32,
    /// Whether it needs no parentheses as an operand of anything.
    pub atom: bool,
    /// Its value, if it is a constant of at most 64 bits.
    pub constant: Option<u64>,
    /// Which types there are.
    pub model: Model,
}

impl Text {
    /// The expression as an operand.
    pub fn p(&self) -> String {
        if self.atom { self.c.clone() } else { format!("({})", self.c) }
    }

    /// The class of its value.
    pub fn class(&self) -> Class {
        self.model.class(self.width)
    }

    /// As a shift count: at most a word, saturated.
    pub fn count(&self) -> String {
        match self.class() {
            Class::Word(64) if self.model == Model::Bits32 => format!("wl_count64({})", self.c),
            Class::Double => format!("wl_count128({})", self.c),
            Class::Wide(n) => format!("wl_wide_count({}.w, {n})", self.p()),
            _ => self.c.clone(),
        }
    }
}

/// How an operation is written.
pub enum Form {
    /// As an expression.
    Expression(Text),
    /// As statements; `@` stands for the object that they fill.
    Statements(Vec<String>),
}

fn statement(text: String) -> Form {
    Form::Statements(vec![text])
}

/// An expression of C type at least `int`, made a value of `width` bits. `masked` says that it may have bits above.
fn fit(model: Model, width: u32, expression: String, masked: bool) -> Form {
    let class = model.class(width);
    let partial = masked && width < class.bits();
    Form::Expression(match class {
        Class::Word(8 | 16) if partial => {
            model.compound(format!("({})(({expression}) & {})", class.c_type(), model.mask(width)), width)
        }
        Class::Word(8 | 16) => model.compound(format!("({})({expression})", class.c_type()), width),
        _ if partial => model.compound(format!("({expression}) & {}", model.mask(width)), width),
        _ => model.compound(expression, width),
    })
}

/// A unary operator.
pub fn unary(op: UnaryOp, a: &Text) -> Form {
    let (model, width) = (a.model, a.width);
    match (op, a.class()) {
        (UnaryOp::Not, Class::Bool) => Form::Expression(model.compound(format!("!{}", a.p()), 1)),
        (UnaryOp::Neg, Class::Bool) => Form::Expression(a.clone()),
        (_, Class::Wide(n)) => {
            let name = if op == UnaryOp::Not { "not" } else { "neg" };
            statement(format!("wl_wide_{name}(@.w, {}.w, {n}, {});", a.p(), model.top_mask(width)))
        }
        // Not `~`, of which compilers warn where it meets what they take for a boolean or a signed value.
        (UnaryOp::Not, _) => fit(model, width, format!("{} ^ {}", a.p(), model.mask(width)), false),
        (UnaryOp::Neg, _) => fit(model, width, format!("0u - {}", a.p()), true),
    }
}

/// A binary operator on operands of one width (shifts: any count).
pub fn binary(op: BinaryOp, a: &Text, b: &Text) -> Form {
    use BinaryOp as B;
    let (model, width) = (a.model, a.width);
    if let Some(known) = compare_with_limit(op, a, b) {
        let c = if known { "true" } else { "false" };
        return Form::Expression(Text { constant: Some(u64::from(known)), ..model.atom(c, 1) });
    }
    let (class, x, y) = (a.class(), a.p(), b.p());
    let flag = |c: String| Form::Expression(model.compound(c, 1));
    if class == Class::Bool {
        return flag(match op {
            B::Add | B::Sub | B::Xor | B::Ne => format!("{x} != {y}"),
            B::Mul | B::And => format!("{x} && {y}"),
            B::Udiv => format!("!{y} || {x}"),
            B::Urem => format!("{x} && !{y}"),
            B::Or => format!("{x} || {y}"),
            B::Shl | B::Lshr if b.class() == Class::Bool => format!("{x} && !{y}"),
            B::Shl | B::Lshr => format!("{x} && {} == 0", model.compound(b.count(), 64).p()),
            B::Eq => format!("{x} == {y}"),
            B::Ult => format!("!{x} && {y}"),
            B::Ule => format!("!{x} || {y}"),
        });
    }
    if let Class::Wide(n) = class {
        let top = model.top_mask(width);
        return match op {
            B::Add => statement(format!("wl_wide_add(@.w, {x}.w, {y}.w, {n}, {top});")),
            B::Sub => statement(format!("wl_wide_sub(@.w, {x}.w, {y}.w, {n}, {top});")),
            B::Mul => statement(format!("wl_wide_mul(@.w, {x}.w, {y}.w, {n}, {top});")),
            B::Udiv => statement(format!(
                "{{ wl_w{n} rest; wl_wide_divide(@.w, rest.w, {x}.w, {y}.w, {n}, {top}); }}"
            )),
            B::Urem => statement(format!(
                "{{ wl_w{n} quotient; wl_wide_divide(quotient.w, @.w, {x}.w, {y}.w, {n}, {top}); }}"
            )),
            B::And => statement(format!("wl_wide_and(@.w, {x}.w, {y}.w, {n});")),
            B::Or => statement(format!("wl_wide_or(@.w, {x}.w, {y}.w, {n});")),
            B::Xor => statement(format!("wl_wide_xor(@.w, {x}.w, {y}.w, {n});")),
            B::Shl => statement(format!("wl_wide_shl(@.w, {x}.w, {n}, {}, {top});", b.count())),
            B::Lshr => statement(format!("wl_wide_shr(@.w, {x}.w, {n}, {});", b.count())),
            B::Eq => flag(format!("wl_wide_eq({x}.w, {y}.w, {n})")),
            B::Ne => flag(format!("!wl_wide_eq({x}.w, {y}.w, {n})")),
            B::Ult => flag(format!("wl_wide_less({x}.w, {y}.w, {n})")),
            B::Ule => flag(format!("!wl_wide_less({y}.w, {x}.w, {n})")),
        };
    }
    // What the runtime's helpers work on: shifts on a word or a scalar, division also on 32 bits.
    let size = if class.bits() <= model.word_bits() { model.word_bits() } else { model.scalar_bits() };
    let narrow = if class.bits() <= 32 { 32 } else { size };
    match op {
        B::Add => fit(model, width, format!("{x} + {y}"), true),
        B::Sub => fit(model, width, format!("{x} - {y}"), true),
        // Two factors of 16 bits would be multiplied as `int`, and overflow.
        B::Mul if class.bits() < 32 => fit(model, width, format!("(uint32_t){x} * {y}"), true),
        B::Mul => fit(model, width, format!("{x} * {y}"), true),
        B::Udiv => {
            fit(model, width, format!("wl_udiv{narrow}({}, {}, {})", a.c, b.c, model.mask(width)), false)
        }
        B::Urem => fit(model, width, format!("wl_urem{narrow}({}, {})", a.c, b.c), false),
        B::And => fit(model, width, format!("{x} & {y}"), false),
        B::Or => fit(model, width, format!("{x} | {y}"), false),
        B::Xor => fit(model, width, format!("{x} ^ {y}"), false),
        B::Shl | B::Lshr => match b.constant {
            Some(count) if count >= u64::from(width) => Form::Expression(Text {
                constant: Some(0),
                ..model.atom(model.literal(&wireloom_bits::Bits::zero(width)), width)
            }),
            Some(count) if op == B::Shl && class.bits() < 32 => {
                fit(model, width, format!("(uint32_t){x} << {count}"), true)
            }
            Some(count) if op == B::Shl => fit(model, width, format!("{x} << {count}"), true),
            Some(count) => fit(model, width, format!("{x} >> {count}"), false),
            None if op == B::Shl => {
                narrowed(model, width, format!("wl_shl{size}({}, {}, {width})", a.c, b.count()), true)
            }
            None => narrowed(model, width, format!("wl_shr{size}({}, {}, {width})", a.c, b.count()), false),
        },
        B::Eq => flag(format!("{x} == {y}")),
        B::Ne => flag(format!("{x} != {y}")),
        B::Ult => flag(format!("{x} < {y}")),
        B::Ule => flag(format!("{x} <= {y}")),
    }
}

/// A comparison that a constant decides, so that the C compiler has nothing to warn of.
fn compare_with_limit(op: BinaryOp, a: &Text, b: &Text) -> Option<bool> {
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

/// An expression of a word or a scalar, cut to the type of `width`, and masked if it may have bits above.
fn narrowed(model: Model, width: u32, expression: String, masked: bool) -> Form {
    let class = model.class(width);
    Form::Expression(match class {
        Class::Bool => model.compound(format!("({expression} & 1) != 0"), 1),
        _ if masked && width < class.bits() => {
            model.compound(format!("({})({expression} & {})", class.c_type(), model.mask(width)), width)
        }
        Class::Word(_) => model.compound(format!("({}){expression}", class.c_type()), width),
        _ => model.compound(expression, width),
    })
}

/// Zero-extension.
pub fn extend(a: &Text, width: u32) -> Form {
    match (a.class(), a.model.class(width)) {
        (Class::Wide(from), Class::Wide(n)) => {
            statement(format!("wl_wide_copy(@.w, {n}, {}.w, {from});", a.p()))
        }
        (_, Class::Wide(n)) => statement(format!("wl_wide_set(@.w, {n}, {});", a.c)),
        (from, to) if from == to => Form::Expression(Text { width, ..a.clone() }),
        (_, to) => Form::Expression(Text {
            constant: a.constant,
            ..a.model.compound(format!("({}){}", to.c_type(), a.p()), width)
        }),
    }
}

/// Bits `lo .. lo + width`.
pub fn slice(a: &Text, lo: u32, width: u32) -> Form {
    let (from, to) = (a.class(), a.model.class(width));
    match (from, to) {
        (Class::Wide(n), Class::Wide(out)) => statement(format!(
            "wl_wide_slice(@.w, {out}, {}.w, {n}, {lo}, {});",
            a.p(),
            a.model.top_mask(width)
        )),
        (Class::Wide(n), _) => {
            let size = a.model.scalar_bits();
            narrowed(a.model, width, format!("wl_wide_slice{size}({}.w, {n}, {lo})", a.p()), true)
        }
        _ if width == a.width => Form::Expression(a.clone()),
        (_, Class::Bool) if lo == 0 => Form::Expression(a.model.compound(format!("({} & 1) != 0", a.p()), 1)),
        (_, Class::Bool) => Form::Expression(a.model.compound(format!("({} >> {lo} & 1) != 0", a.p()), 1)),
        _ => {
            let shifted = if lo == 0 { a.p() } else { format!("({} >> {lo})", a.p()) };
            let above = lo + width != a.width;
            if above && width < to.bits() {
                Form::Expression(a.model.compound(
                    format!("({})({shifted} & {})", to.c_type(), mask_as(a.model, from, width)),
                    width,
                ))
            } else {
                Form::Expression(a.model.compound(format!("({}){shifted}", to.c_type()), width))
            }
        }
    }
}

/// The mask of `width` bits as a constant of another class.
fn mask_as(model: Model, class: Class, width: u32) -> String {
    model.literal(&wireloom_bits::Bits::ones(width).resize(class.bits()))
}

/// Concatenation, first most significant.
pub fn concat(parts: &[Text]) -> Form {
    let width: u32 = parts.iter().map(|part| part.width).sum();
    let model = parts[0].model;
    let class = model.class(width);
    if let [only] = parts {
        return Form::Expression(only.clone());
    }
    let mut lo = width;
    let placed: Vec<(u32, &Text)> = parts
        .iter()
        .map(|part| {
            lo -= part.width;
            (lo, part)
        })
        .collect();
    if let Class::Wide(n) = class {
        let mut lines = vec![format!("wl_wide_zero(@.w, {n});")];
        lines.extend(placed.iter().map(|(lo, part)| match part.class() {
            Class::Wide(count) => format!("wl_wide_place(@.w, {n}, {lo}, {}.w, {count});", part.p()),
            _ => format!("wl_wide_place{}(@.w, {n}, {lo}, {});", model.scalar_bits(), part.c),
        }));
        return Form::Statements(lines);
    }
    // Parts are widened before they are shifted; `int` would do for the smallest but may turn negative.
    let wide = if class.bits() < 32 { "uint32_t".to_owned() } else { class.c_type() };
    let terms: Vec<String> = placed
        .iter()
        .map(|(lo, part)| match lo {
            0 => part.p(),
            _ => format!("({wide}){} << {lo}", part.p()),
        })
        .collect();
    fit(model, width, terms.join(" | "), false)
}

/// The second operand if the first is 1, else the third.
pub fn select(condition: &Text, a: &Text, b: &Text) -> Form {
    let text = format!("{} ? {} : {}", condition.p(), a.p(), b.p());
    Form::Expression(a.model.compound(text, a.width))
}

/// A field of the window: byte offset `at` (a C expression), then `bit` (0 to 7) bits.
pub fn read_packet(model: Model, packet: &str, at: &str, bit: u32, width: u32) -> Form {
    let bytes = (bit + width).div_ceil(8);
    if let Class::Wide(n) = model.class(width) {
        return statement(format!("wl_get_wide({packet}, {at}, {bit}, {width}, @.w, {n});"));
    }
    let scalar = model.scalar_bits();
    if 8 * bytes > scalar {
        let bits = format!("wl_get_bits{scalar}({packet}, {at}, {bit}, {width})");
        return narrowed(model, width, bits, false);
    }
    // A processor of 64 bits that can read at any address has nothing from reading less.
    let load = match model {
        Model::Bits64 => 8 * bytes.next_power_of_two(),
        Model::Bits32 => 8 * bytes,
    };
    let whole = model.atom(format!("wl_get{load}({packet}, {at})"), load);
    slice(&whole, load - bit - width, width)
}

/// Writes such a field.
pub fn write_packet(packet: &str, at: &str, bit: u32, value: &Text) -> String {
    let (model, width) = (value.model, value.width);
    let bytes = (bit + width).div_ceil(8);
    let shift = 8 * bytes - bit - width;
    if let Class::Wide(n) = value.class() {
        return format!("wl_put_wide({packet}, {at}, {bit}, {width}, {}.w, {n});", value.p());
    }
    let keep = wireloom_bits::Bits::ones(width).resize(8 * bytes).shl(shift).not();
    let scalar = model.scalar_bits();
    match bytes {
        1..=8 => {
            let shifted = match shift {
                0 => value.c.clone(),
                _ => format!("(uint64_t){} << {shift}", value.p()),
            };
            format!("wl_put({packet}, {at}, {bytes}, {shifted}, {:#x});", keep.low_u64())
        }
        9..=16 if scalar == 128 => {
            let shifted = match shift {
                0 => value.c.clone(),
                _ => format!("(wl_u128){} << {shift}", value.p()),
            };
            let keep = format!("WL_U128({:#x}, {:#x})", keep.word(1), keep.word(0));
            format!("wl_put128({packet}, {at}, {bytes}, {shifted}, {keep});")
        }
        _ => format!("wl_put_bits{scalar}({packet}, {at}, {bit}, {width}, {});", value.c),
    }
}

/// A value as an array of 64-bit words, to be passed to the runtime of processors of 64 bits.
pub fn as_words(value: &Text) -> String {
    match value.class() {
        Class::Wide(_) => format!("{}.w", value.p()),
        Class::Double => {
            format!("(const uint64_t[]){{ (uint64_t){}, (uint64_t)({} >> 64) }}", value.p(), value.p())
        }
        _ => format!("(const uint64_t[]){{ {} }}", value.c),
    }
}

/// The value of `width` bits in an array of words. Not for wide values.
pub fn from_words(array: &str, width: u32) -> String {
    match Model::Bits64.class(width) {
        Class::Bool => format!("{array}[0] != 0"),
        Class::Word(64) => format!("{array}[0]"),
        Class::Word(_) => format!("({}){array}[0]", Model::Bits64.c_type(width)),
        _ => {
            debug_assert!(Model::Bits64.words(width) == 2);
            format!("WL_U128({array}[1], {array}[0])")
        }
    }
}
