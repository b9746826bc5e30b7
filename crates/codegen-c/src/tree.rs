//! C as a tree. The generator builds it, searches it for uses and exits, and prints it once
//! ([`print`](super::print)). It has only the constructs that generated code needs.

use wireloom_ir::Loc;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A variable, a parameter, an enumerator, a function or a macro.
    Name(String),
    /// A number as C writes it: `12u`, `UINT64_C(0x800)`.
    Number(String),
    /// A string literal, without its quotation marks. It contains no character that C would escape.
    Text(String),
    /// A call of a function or a macro.
    Call(Box<Expr>, Vec<Expr>),
    /// `a.field`
    Member(Box<Expr>, String),
    /// `a->field`
    Arrow(Box<Expr>, String),
    /// `a[b]`
    Index(Box<Expr>, Box<Expr>),
    /// `a++`
    Increment(Box<Expr>),
    /// An operator before its operand.
    Prefix(Prefix, Box<Expr>),
    /// `(type)a`
    Cast(Type, Box<Expr>),
    /// An operator between its operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a ? b : c`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// An initialiser: `{ a, b }`.
    List(Vec<Expr>),
    /// An initialiser with named elements: `{ .a = x }` or `{ [a] = x }`. Each element has its own
    /// line.
    Designated(Vec<(Designator, Expr)>),
    /// An object without a name: `(type){ a, b }`.
    Object(Type, Vec<Expr>),
    /// `sizeof a`
    SizeOf(Box<Expr>),
    /// `sizeof(type)`
    SizeOfType(Type),
}

/// The target of an initialiser's element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Designator {
    /// `.field`
    Field(String),
    /// `[enumerator]`
    Element(String),
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `!a`
    Not,
    /// `&a`
    Address,
    /// `*a`
    Target,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Less,
    LessEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    Both,
    Either,
}

/// A type: a name, which may be constant, a pointer to it, or an array of it without a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The name, including `struct` for a tag.
    pub name: String,
    /// Whether the named type is constant.
    pub is_const: bool,
    /// How the type is derived from the named type.
    pub shape: Shape,
}

/// A derived type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The named type itself.
    Value,
    /// `*`
    Pointer,
    /// `*const`
    ConstPointer,
    /// `[]`
    Array,
}

/// A declaration of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The type. For an array, the type of an element.
    pub ty: Type,
    pub name: String,
    /// Sizes of an array, outermost first.
    pub sizes: Vec<Expr>,
    pub value: Option<Expr>,
    /// A comment at the end of the line.
    pub comment: Option<String>,
    /// The source line that the value is computed in; line 0 if it is not known.
    pub loc: Loc,
}

/// A field of a structure or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// An object, with its alignment in bytes if one is given.
    Plain { align: Option<u32>, declaration: Declaration },
    /// A structure or a union inside the structure.
    Nested { aggregate: Aggregate, name: String, sizes: Vec<Expr> },
}

/// A structure or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Whether it is a union.
    pub is_union: bool,
    pub tag: Option<String>,
    pub fields: Vec<Field>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Declares an object.
    Declare(Declaration),
    /// Declares an object that exists as long as the program.
    Static(Declaration),
    /// Declares an object of a structure without a name.
    DeclareStruct(Aggregate, String),
    /// `a = b;`
    Assign(Expr, Expr),
    /// `a |= b;`
    Include(Expr, Expr),
    /// An expression statement.
    Expr(Expr),
    /// Executes the statements if the condition holds.
    If(Expr, Vec<Stmt>),
    /// Counts a `uint32_t` of this name from the first value to below the limit.
    Count { variable: String, first: Expr, limit: Expr, body: Vec<Stmt> },
    /// Repeats the statements while the condition holds.
    While(Expr, Vec<Stmt>),
    /// Repeats the statements forever.
    Forever(Vec<Stmt>),
    /// Selects a case by value. The case without a label is the default.
    Switch(Expr, Vec<(Option<Expr>, Vec<Stmt>)>),
    /// Leaves a case.
    Break,
    /// `continue;`
    Continue,
    /// A block with its own scope.
    Block(Vec<Stmt>),
    /// A place to jump to.
    Label(String),
    /// Jumps to a label.
    Goto(String),
    /// Returns from the function.
    Return(Expr),
    /// A comment on its own line.
    Comment(String),
    /// A comment on its own line, which names the source line of the statements that follow.
    Located(String, Loc),
}

/// The signature of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Storage class and attributes.
    pub storage: &'static str,
    /// The type of the result.
    pub returns: Type,
    pub name: String,
    /// Types and names of the parameters.
    pub parameters: Vec<(Type, String)>,
}

/// A top-level item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A comment, broken into lines.
    Comment(String),
    /// An empty line.
    Blank,
    /// A preprocessor line, without its `#`.
    Directive(String),
    /// A macro call that declares something.
    Macro(Expr),
    /// Declares a structure.
    Struct(Aggregate),
    /// Declares enumerators.
    Enum(Vec<String>),
    /// Declares an object with the given storage class.
    Object(&'static str, Declaration),
    /// Declares a function.
    Prototype(Signature),
    /// Defines a function.
    Function(Signature, Vec<Stmt>),
}

impl Expr {
    /// Creates a name.
    pub fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    /// Creates a number in C notation.
    pub fn number(number: impl ToString) -> Self {
        Self::Number(number.to_string())
    }

    /// Creates a call of a function by name.
    pub fn call(function: impl Into<String>, arguments: impl IntoIterator<Item = Expr>) -> Self {
        Self::Call(Box::new(Self::name(function)), arguments.into_iter().collect())
    }

    /// `self.field`
    #[must_use]
    pub fn member(self, field: impl Into<String>) -> Self {
        Self::Member(Box::new(self), field.into())
    }

    /// `self->field`
    #[must_use]
    pub fn arrow(self, field: impl Into<String>) -> Self {
        Self::Arrow(Box::new(self), field.into())
    }

    /// `self[at]`
    #[must_use]
    pub fn index(self, at: Expr) -> Self {
        Self::Index(Box::new(self), Box::new(at))
    }

    /// `self[number]`
    #[must_use]
    pub fn at(self, number: impl ToString) -> Self {
        self.index(Self::number(number))
    }

    /// `self++`
    #[must_use]
    pub fn increment(self) -> Self {
        Self::Increment(Box::new(self))
    }

    /// `!self`
    #[must_use]
    pub fn not(self) -> Self {
        Self::Prefix(Prefix::Not, Box::new(self))
    }

    /// `&self`
    #[must_use]
    pub fn address(self) -> Self {
        Self::Prefix(Prefix::Address, Box::new(self))
    }

    /// `*self`
    #[must_use]
    pub fn target(self) -> Self {
        Self::Prefix(Prefix::Target, Box::new(self))
    }

    /// `(type)self`
    #[must_use]
    pub fn cast(self, ty: impl Into<Type>) -> Self {
        Self::Cast(ty.into(), Box::new(self))
    }

    /// `self operator other`
    #[must_use]
    pub fn binary(self, operator: Binary, other: Expr) -> Self {
        Self::Binary(operator, Box::new(self), Box::new(other))
    }

    /// `self != 0`
    #[must_use]
    pub fn nonzero(self) -> Self {
        self.binary(Binary::NotEqual, Self::number(0))
    }

    /// `self ? yes : no`
    #[must_use]
    pub fn choose(self, yes: Expr, no: Expr) -> Self {
        Self::Conditional(Box::new(self), Box::new(yes), Box::new(no))
    }

    /// `(void)self;`, which marks the value as unused.
    pub fn unused(self) -> Stmt {
        Stmt::Expr(self.cast(Type::named("void")))
    }

    /// Returns whether the expression uses a name. Names of fields do not count.
    pub fn uses(&self, name: &str) -> bool {
        matches!(self, Self::Name(own) if own == name)
            || self.operands().into_iter().any(|operand| operand.uses(name))
    }

    fn operands(&self) -> Vec<&Expr> {
        match self {
            Self::Name(_) | Self::Number(_) | Self::Text(_) | Self::SizeOfType(_) => Vec::new(),
            Self::Call(function, arguments) => {
                std::iter::once(&**function).chain(arguments).collect()
            }
            Self::Member(a, _)
            | Self::Arrow(a, _)
            | Self::Increment(a)
            | Self::Prefix(_, a)
            | Self::Cast(_, a)
            | Self::SizeOf(a) => vec![a],
            Self::Index(a, b) | Self::Binary(_, a, b) => vec![a, b],
            Self::Conditional(a, b, c) => vec![a, b, c],
            Self::List(items) | Self::Object(_, items) => items.iter().collect(),
            Self::Designated(items) => items.iter().map(|(_, item)| item).collect(),
        }
    }
}

impl Type {
    /// Creates a type by name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_const: false, shape: Shape::Value }
    }

    /// `struct tag`
    pub fn structure(tag: &str) -> Self {
        Self::named(format!("struct {tag}"))
    }

    /// Returns the type as a constant.
    #[must_use]
    pub fn constant(self) -> Self {
        Self { is_const: true, ..self }
    }

    /// Returns a pointer to the type.
    #[must_use]
    pub fn pointer(self) -> Self {
        Self { shape: Shape::Pointer, ..self }
    }

    /// Returns a constant pointer to the type.
    #[must_use]
    pub fn const_pointer(self) -> Self {
        Self { shape: Shape::ConstPointer, ..self }
    }

    /// Returns an array of the type.
    #[must_use]
    pub fn array(self) -> Self {
        Self { shape: Shape::Array, ..self }
    }
}

impl From<&str> for Type {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl From<String> for Type {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

impl Declaration {
    /// Declares an object without a value.
    pub fn new(ty: impl Into<Type>, name: impl Into<String>) -> Self {
        Self {
            ty: ty.into(),
            name: name.into(),
            sizes: Vec::new(),
            value: None,
            comment: None,
            loc: Loc::default(),
        }
    }

    /// Returns the declaration as an array.
    #[must_use]
    pub fn sized(self, sizes: impl IntoIterator<Item = Expr>) -> Self {
        Self { sizes: sizes.into_iter().collect(), ..self }
    }

    /// Returns the declaration with a value.
    #[must_use]
    pub fn with(self, value: Expr) -> Self {
        Self { value: Some(value), ..self }
    }

    /// Returns the declaration with a comment.
    #[must_use]
    pub fn commented(self, comment: impl Into<String>) -> Self {
        Self { comment: Some(comment.into()), ..self }
    }

    /// Returns the declaration with the source line of its value.
    #[must_use]
    pub fn at(self, loc: Loc) -> Self {
        Self { loc, ..self }
    }
}

impl From<Declaration> for Stmt {
    fn from(declaration: Declaration) -> Self {
        Self::Declare(declaration)
    }
}

impl From<Declaration> for Field {
    fn from(declaration: Declaration) -> Self {
        Self::Plain { align: None, declaration }
    }
}

impl Stmt {
    /// Creates a function call as a statement.
    pub fn call(function: impl Into<String>, arguments: impl IntoIterator<Item = Expr>) -> Self {
        Self::Expr(Expr::call(function, arguments))
    }

    /// `target = value;`, or `value;` if there is no target.
    pub fn set(target: Option<&Expr>, value: Expr) -> Self {
        match target {
            Some(target) => Self::Assign(target.clone(), value),
            None => Self::Expr(value),
        }
    }

    fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Declare(declaration) | Self::Static(declaration) => {
                declaration.sizes.iter().chain(&declaration.value).collect()
            }
            Self::Assign(to, value) | Self::Include(to, value) => vec![to, value],
            Self::Expr(value) | Self::If(value, _) | Self::While(value, _) => vec![value],
            Self::Count { first, limit, .. } => vec![first, limit],
            Self::Return(value) => vec![value],
            Self::Switch(value, cases) => std::iter::once(value)
                .chain(cases.iter().filter_map(|(label, _)| label.as_ref()))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn bodies(&self) -> Vec<&[Stmt]> {
        match self {
            Self::If(_, body)
            | Self::Count { body, .. }
            | Self::While(_, body)
            | Self::Forever(body)
            | Self::Block(body) => vec![body],
            Self::Switch(_, cases) => cases.iter().map(|(_, body)| &body[..]).collect(),
            _ => Vec::new(),
        }
    }
}

/// Returns whether statements, including nested ones, use a name in an expression.
pub fn uses(statements: &[Stmt], name: &str) -> bool {
    statements.iter().any(|statement| {
        statement.expressions().into_iter().any(|expression| expression.uses(name))
            || statement.bodies().into_iter().any(|body| uses(body, name))
    })
}

/// Returns whether statements, including nested ones, assign to an object by its name.
pub fn assigns(statements: &[Stmt], name: &str) -> bool {
    statements.iter().any(|statement| {
        matches!(statement, Stmt::Assign(Expr::Name(own), _) if own == name)
            || statement.bodies().into_iter().any(|body| assigns(body, name))
    })
}

/// Returns whether statements, including nested ones, jump to a label.
pub fn jumps_to(statements: &[Stmt], label: &str) -> bool {
    statements.iter().any(|statement| {
        matches!(statement, Stmt::Goto(to) if to == label)
            || statement.bodies().into_iter().any(|body| jumps_to(body, label))
    })
}

/// Returns whether control never continues after the statements: the last one returns or jumps.
pub fn leaves(statements: &[Stmt]) -> bool {
    matches!(statements.last(), Some(Stmt::Return(_) | Stmt::Goto(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand_and_fields_are_no_names() {
        let put = Stmt::call("wl_put", [Expr::name("p"), Expr::number(4)]);
        let inside = Stmt::If(Expr::name("found"), vec![Stmt::Block(vec![put.clone()])]);
        let list = Declaration::new("uint8_t", "a").sized([Expr::name("n")]).with(Expr::Object(
            Type::named("uint8_t").array(),
            vec![Expr::name("x").cast("uint8_t")],
        ));
        let all = [inside, list.into(), Stmt::Return(Expr::name("c").arrow("p2").member("q"))];
        for name in ["p", "found", "n", "x", "c", "wl_put"] {
            assert!(uses(&all, name), "{name}");
        }
        for name in ["a", "p2", "q", "uint8_t", "4"] {
            assert!(!uses(&all, name), "{name}");
        }
    }

    #[test]
    fn jumps_are_found_in_loops_and_cases() {
        let jump = vec![Stmt::Goto("next".into())];
        let cases = vec![(None, jump.clone())];
        assert!(jumps_to(&[Stmt::Forever(vec![Stmt::Switch(Expr::name("x"), cases)])], "next"));
        assert!(!jumps_to(&[Stmt::Label("next".into())], "next"));
        assert!(leaves(&jump) && !leaves(&[Stmt::Forever(jump.clone())]) && !leaves(&[]));
    }
}
