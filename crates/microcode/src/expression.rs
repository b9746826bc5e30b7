//! Constant expressions: `0x10`, `(4 + 2) << 3`, `0b101 | 1`.

/// The maximum nesting depth of brackets and signs.
const DEPTH: usize = 64;

/// Evaluates an expression in 64 bits. The error is a message.
pub fn evaluate(text: &str) -> Result<i64, String> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let value = parser.binary(0)?;
    if parser.rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("`{}` is not expected in a constant", parser.rest))
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

/// The operators by precedence, the lowest first.
const LEVELS: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!=", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, operator: &str) -> bool {
        match self.rest.strip_prefix(operator) {
            // `|` is not the first half of `||`, nor `&` the first half of `&&`.
            Some(rest) if !(matches!(operator, "|" | "&") && rest.starts_with(operator)) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn binary(&mut self, level: usize) -> Result<i64, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            self.skip();
            let Some(operator) = operators.iter().find(|operator| self.take(operator)) else {
                return Ok(left);
            };
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)?;
        }
    }

    fn unary(&mut self) -> Result<i64, String> {
        self.skip();
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("the constant is nested too deeply".to_owned());
        }
        let value = if self.take("-") {
            self.unary()?.wrapping_neg()
        } else if self.take("~") {
            !self.unary()?
        } else if self.take("!") {
            i64::from(self.unary()? == 0)
        } else if self.take("(") {
            let value = self.binary(0)?;
            self.skip();
            if !self.take(")") {
                return Err("`)` is missing".to_owned());
            }
            value
        } else {
            self.number()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<i64, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(match self.rest.chars().next() {
                Some(_) => format!("`{}` is no constant", self.rest),
                None => "a constant is missing".to_owned(),
            });
        }
        self.rest = rest;
        let digits = word.replace('_', "");
        let lower = digits.to_ascii_lowercase();
        let parsed = if let Some(digits) = lower.strip_prefix("0x") {
            i64::from_str_radix(digits, 16)
        } else if let Some(digits) = lower.strip_prefix("0b") {
            i64::from_str_radix(digits, 2)
        } else {
            lower.parse()
        };
        parsed.map_err(|_| format!("`{word}` is no constant"))
    }
}

fn apply(operator: &str, a: i64, b: i64) -> Result<i64, String> {
    let amount = || u32::try_from(b).ok().filter(|&by| by < 64).ok_or("a shift is too far");
    let truth = |is: bool| Ok(i64::from(is));
    match operator {
        "||" => truth(a != 0 || b != 0),
        "&&" => truth(a != 0 && b != 0),
        "|" => Ok(a | b),
        "^" => Ok(a ^ b),
        "&" => Ok(a & b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "<=" => truth(a <= b),
        ">=" => truth(a >= b),
        "<<" => Ok(a.wrapping_shl(amount()?)),
        ">>" => Ok(a.wrapping_shr(amount()?)),
        "+" => Ok(a.wrapping_add(b)),
        "-" => Ok(a.wrapping_sub(b)),
        "*" => Ok(a.wrapping_mul(b)),
        "/" => a.checked_div(b).ok_or_else(|| "division by 0".to_owned()),
        _ => a.checked_rem(b).ok_or_else(|| "division by 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(evaluate("1 + 2 * 3 << 1 | 1"), Ok(15));
        assert_eq!(evaluate("-(0x10) & 0xff"), Ok(0xf0));
        assert_eq!(evaluate("1 == 2 || 3 >= 3"), Ok(1));
    }

    #[test]
    fn what_is_no_constant_says_why() {
        assert_eq!(evaluate("1 +"), Err("a constant is missing".to_owned()));
        assert_eq!(evaluate("x"), Err("`x` is no constant".to_owned()));
        assert_eq!(evaluate("1 / 0"), Err("division by 0".to_owned()));
        assert!(evaluate(&"(".repeat(5000)).is_err());
        assert!(evaluate(&"-".repeat(5000)).is_err());
    }
}
