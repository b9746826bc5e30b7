//! Arithmetic in table files: C's operators on unsigned 128-bit numbers. Overflow and division by
//! zero are errors, so that a mistake in a table does not turn into a value.

/// The variables of an import's expressions.
pub(super) trait Variables {
    /// Returns the value of a variable. Returns `None` if there is no such variable.
    fn value(&self, name: &str) -> Option<u128>;
}

/// The empty set of variables, for constant expressions.
pub(super) struct NoVariables;

impl Variables for NoVariables {
    fn value(&self, _: &str) -> Option<u128> {
        None
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    Number(u128),
    Variable(String),
    Unary(u8, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// Binary operators by precedence, lowest first; longer spellings before their prefixes.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Deeper nesting is refused, so that no input exhausts the stack.
const MAX_DEPTH: u32 = 64;

impl Expr {
    /// Parses all of `text`. The error is a sentence without a full stop.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let expr = parser.conditional()?;
        parser.space();
        if parser.at < text.len() {
            return Err(format!("unexpected `{}` in the expression", &text[parser.at..]));
        }
        Ok(expr)
    }

    /// Returns whether the expression mentions a variable.
    pub(super) fn uses(&self, variable: &str) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Variable(name) => name == variable,
            Self::Unary(_, x) => x.uses(variable),
            Self::Binary(_, a, b) => a.uses(variable) || b.uses(variable),
            Self::Conditional(c, a, b) => [c, a, b].iter().any(|x| x.uses(variable)),
        }
    }

    /// Evaluates the expression.
    pub(super) fn value(&self, variables: &impl Variables) -> Result<u128, String> {
        match self {
            Self::Number(value) => Ok(*value),
            Self::Variable(name) => {
                variables.value(name).ok_or_else(|| format!("there is no variable `{name}` here"))
            }
            Self::Unary(b'!', x) => Ok(u128::from(x.value(variables)? == 0)),
            Self::Unary(_, x) => Ok(!x.value(variables)?),
            Self::Binary("&&", a, b) => {
                Ok(u128::from(a.value(variables)? != 0 && b.value(variables)? != 0))
            }
            Self::Binary("||", a, b) => {
                Ok(u128::from(a.value(variables)? != 0 || b.value(variables)? != 0))
            }
            Self::Binary(op, a, b) => {
                let (a, b) = (a.value(variables)?, b.value(variables)?);
                apply(op, a, b).ok_or_else(|| match *op {
                    "/" | "%" => format!("{a} {op} {b}: division by zero"),
                    "-" => format!("{a} - {b} is below zero"),
                    _ => format!("{a} {op} {b} does not fit in 128 bits"),
                })
            }
            Self::Conditional(c, a, b) => {
                if c.value(variables)? != 0 {
                    a.value(variables)
                } else {
                    b.value(variables)
                }
            }
        }
    }
}

fn apply(op: &str, a: u128, b: u128) -> Option<u128> {
    Some(match op {
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => u128::from(a == b),
        "!=" => u128::from(a != b),
        "<=" => u128::from(a <= b),
        ">=" => u128::from(a >= b),
        "<" => u128::from(a < b),
        ">" => u128::from(a > b),
        "<<" => {
            let count = u32::try_from(b).ok().filter(|&c| c <= a.leading_zeros() && c < 128);
            if a == 0 { 0 } else { a << count? }
        }
        ">>" => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(0),
        "+" => a.checked_add(b)?,
        "-" => a.checked_sub(b)?,
        "*" => a.checked_mul(b)?,
        "/" => a.checked_div(b)?,
        "%" => a.checked_rem(b)?,
        _ => unreachable!("every operator of LEVELS is handled"),
    })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn conditional(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression is nested too deeply".to_owned());
        }
        let condition = self.binary(0)?;
        let expr = if self.eat("?") {
            let then = self.conditional()?;
            if !self.eat(":") {
                return Err("`:` is missing after `?`".to_owned());
            }
            let otherwise = self.conditional()?;
            Expr::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.space();
        let op = LEVELS[level].iter().copied().find(|op| self.rest().starts_with(op))?;
        // `a & & b` is an error, so the first `&` of `a && b` is not an operator. The same holds
        // for `||`, `<<` and `>>`.
        let next = self.rest()[op.len()..].chars().next();
        if matches!(op, "&" | "|" | "<" | ">") && next == op.chars().next() {
            return None;
        }
        self.at += op.len();
        Some(op)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, String> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            let right = self.binary(level + 1)?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression is nested too deeply".to_owned());
        }
        let expr = if self.eat("~") {
            Expr::Unary(b'~', Box::new(self.unary()?))
        } else if self.eat("!") {
            Expr::Unary(b'!', Box::new(self.unary()?))
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr, String> {
        if self.eat("(") {
            let expr = self.conditional()?;
            return if self.eat(")") { Ok(expr) } else { Err("`)` is missing".to_owned()) };
        }
        self.space();
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_alphanumeric() || "_.:".contains(c))).unwrap_or(rest.len());
        // A colon belongs to an address unless it ends the word: `c ? 1 : 2`, `c ? a: b`.
        let word = rest[..end].trim_end_matches(':');
        let expr = if word.starts_with(|c: char| c.is_ascii_digit()) {
            let bits = super::Literal::parse(word).and_then(|l| l.to_bits(128).ok());
            Expr::Number(
                bits.and_then(|b| b.to_u128())
                    .ok_or_else(|| format!("`{word}` is not a number of at most 128 bits"))?,
            )
        } else if !word.is_empty() && !word.contains(['.', ':']) {
            Expr::Variable(word.to_owned())
        } else {
            return Err(match rest.chars().next() {
                Some(c) => format!("unexpected `{c}` in the expression"),
                None => "the expression ends too early".to_owned(),
            });
        };
        self.at += word.len();
        Ok(expr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Asn;
    impl Variables for Asn {
        fn value(&self, name: &str) -> Option<u128> {
            (name == "asn").then_some(65_001)
        }
    }

    fn value(text: &str) -> Result<u128, String> {
        Expr::parse(text)?.value(&Asn)
    }

    #[test]
    fn operators_bind_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 3 - 2", 5),
            ("1 << 4 | 3", 19),
            ("asn % 16", 65_001 % 16),
            ("asn & 0xff ^ 1", 0xe9 ^ 1),
            ("1 < 2 == 1", 1),
            ("asn > 65000 ? 7 : 8", 7),
            ("0 ? 1 : 0 ? 2 : 3", 3),
            ("1 && 0 || !0", 1),
            ("~0 >> 120", 255),
            ("1 >> 128", 0),
            ("10.0.0.1 & 0xff", 1),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("1 / 0", "1 / 0: division by zero"),
            ("1 - 2", "1 - 2 is below zero"),
            ("1 << 128", "1 << 128 does not fit in 128 bits"),
            ("as + 1", "there is no variable `as` here"),
            ("(1", "`)` is missing"),
            ("1 2", "unexpected `2` in the expression"),
            ("1 +", "the expression ends too early"),
            ("1 ? 2", "`:` is missing after `?`"),
            ("", "the expression ends too early"),
        ] {
            assert_eq!(value(text), Err(expected.to_owned()), "{text}");
        }
        assert!(value(&"(".repeat(100_000)).is_err());
        assert!(value(&"!".repeat(100_000)).is_err());
    }
}
