//! Expressions.

use wireloom_bits::Bits;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A net, port, parameter, or `package::name`.
    Name(String),
    /// A number with a width.
    Number(Bits),
    /// A number without a width, for parameters and bounds.
    Int(u64),
    /// A string literal, for parameters.
    Text(String),
    /// `'0`.
    Zeros,
    /// `base[index]`; the base is a name or a selection from one.
    Index(Box<Expr>, Box<Expr>),
    /// `base[high:low]`.
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `base[low +: width]`.
    Part(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `base.field`: the base is of a structure type.
    Field(Box<Expr>, String),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`.
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `{a, b}`, the first most significant.
    Concat(Vec<Expr>),
    /// `{count{value}}`.
    Replicate(Box<Expr>, Box<Expr>),
    /// `function(a, b)`.
    Call(String, Vec<Expr>),
    /// `Type'(value)` or `width'(value)`.
    Cast(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `~`
    Not,
    /// `-`
    Negate,
    /// `&`
    AllOf,
    /// `|`
    AnyOf,
    /// `^`
    Parity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
}

impl Unary {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Not => "~",
            Self::Negate => "-",
            Self::AllOf => "&",
            Self::AnyOf => "|",
            Self::Parity => "^",
        }
    }
}

impl Binary {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
        }
    }

    /// Whether a chain of the operator means the same with and without parentheses around its first
    /// part.
    pub(super) fn chains(self) -> bool {
        matches!(
            self,
            Self::Add | Self::And | Self::Or | Self::Xor | Self::LogicalAnd | Self::LogicalOr
        )
    }
}

macro_rules! binaries {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(self, other: Self) -> Self {
            Self::Binary(Binary::$op, Box::new(self), Box::new(other))
        }
    )*};
}

#[allow(clippy::should_implement_trait)] // the operators are the language's, not Rust's: they say nothing of widths
impl Expr {
    /// Returns the expression of a name.
    pub fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    /// Returns a number of this width.
    pub fn number(width: u32, value: u64) -> Self {
        Self::Number(Bits::new(width, u128::from(value)))
    }

    /// Returns a number without a width.
    pub fn int(value: u64) -> Self {
        Self::Int(value)
    }

    /// Returns a bit of a name.
    #[must_use]
    pub fn index(self, index: Self) -> Self {
        Self::Index(Box::new(self), Box::new(index))
    }

    /// Returns the bits `low .. low + width` of a name.
    #[must_use]
    pub fn bits(self, low: u32, width: u32) -> Self {
        let (low, high) = (u64::from(low), u64::from(low + width - 1));
        if width == 1 {
            return self.index(Self::int(low));
        }
        Self::Slice(Box::new(self), Box::new(Self::int(high)), Box::new(Self::int(low)))
    }

    /// `self[low +: width]`.
    #[must_use]
    pub fn part(self, low: Self, width: Self) -> Self {
        Self::Part(Box::new(self), Box::new(low), Box::new(width))
    }

    /// `self.field`.
    #[must_use]
    pub fn field(self, field: impl Into<String>) -> Self {
        Self::Field(Box::new(self), field.into())
    }

    #[must_use]
    pub fn unary(self, op: Unary) -> Self {
        Self::Unary(op, Box::new(self))
    }

    /// `~self`.
    #[must_use]
    pub fn not(self) -> Self {
        self.unary(Unary::Not)
    }

    #[must_use]
    pub fn binary(self, op: Binary, other: Self) -> Self {
        Self::Binary(op, Box::new(self), Box::new(other))
    }

    /// `self ? then : otherwise`.
    #[must_use]
    pub fn choose(self, then: Self, otherwise: Self) -> Self {
        Self::Ternary(Box::new(self), Box::new(then), Box::new(otherwise))
    }

    /// `{count{self}}`.
    #[must_use]
    pub fn replicate(self, count: Self) -> Self {
        Self::Replicate(Box::new(count), Box::new(self))
    }

    /// `function(arguments)`.
    pub fn call(function: impl Into<String>, arguments: Vec<Self>) -> Self {
        Self::Call(function.into(), arguments)
    }

    /// `width'(self)`: the only way to change a width that is a parameter.
    #[must_use]
    pub fn cast(self, width: Self) -> Self {
        Self::Cast(Box::new(width), Box::new(self))
    }

    /// Joins all parts by a binary operator that chains. Returns `empty` if there are no parts.
    pub fn chain(op: Binary, parts: impl IntoIterator<Item = Self>, empty: Self) -> Self {
        parts.into_iter().reduce(|a, b| a.binary(op, b)).unwrap_or(empty)
    }

    binaries! {
        /// `self + other`.
        add = Add;
        /// `self - other`.
        sub = Subtract;
        /// `self * other`.
        mul = Multiply;
        /// `self & other`.
        and = And;
        /// `self | other`.
        or = Or;
        /// `self ^ other`.
        xor = Xor;
        /// `self == other`.
        equal = Equal;
        /// `self != other`.
        unequal = Unequal;
        /// `self < other`.
        less = Less;
        /// `self > other`.
        greater = Greater;
    }
}

impl From<&str> for Expr {
    fn from(name: &str) -> Self {
        Self::name(name)
    }
}
