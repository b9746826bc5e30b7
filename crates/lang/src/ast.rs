//! The syntax tree: the source text with its spans, before any name is resolved.

use std::rc::Rc;

use wireloom_bits::Bits;

use crate::source::Span;

/// An identifier and its span.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: Rc<str>,
    pub(crate) span: Span,
}

/// A type as written in the source.
#[derive(Clone, Debug)]
pub(crate) struct TypeExpr {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    /// `uN`. The width is not yet checked. A number that does not fit in 32 bits is stored as
    /// `u32::MAX`.
    Bits(u32),
    Bool,
    Void,
    Auto,
    Named(Rc<str>),
    /// `TYPE[N]`, as in declarators and casts.
    Array(Box<TypeExpr>, Box<Expr>),
}

/// An item at file level or in an engine. The checker refuses items in the wrong place.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Enum(EnumDecl),
    Struct(StructDecl),
    Const(ConstDecl),
    Assert(StaticAssert),
    Function(FunctionDecl),
    Engine(EngineDecl),
    Variable(VariableDecl),
    View(ViewDecl),
    Offload(OffloadDecl),
    Step(StepDecl),
}

#[derive(Clone, Debug)]
pub(crate) struct EnumDecl {
    pub(crate) name: Name,
    pub(crate) underlying: Option<TypeExpr>,
    pub(crate) members: Vec<(Name, Option<Expr>)>,
}

#[derive(Clone, Debug)]
pub(crate) struct StructDecl {
    pub(crate) name: Name,
    pub(crate) is_header: bool,
    pub(crate) fields: Vec<(Name, TypeExpr)>,
}

/// `const TYPE NAME = VALUE;`
#[derive(Clone, Debug)]
pub(crate) struct ConstDecl {
    pub(crate) name: Name,
    pub(crate) ty: TypeExpr,
    pub(crate) value: Expr,
}

#[derive(Clone, Debug)]
pub(crate) struct StaticAssert {
    pub(crate) condition: Expr,
    pub(crate) message: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct FunctionDecl {
    pub(crate) name: Name,
    pub(crate) result: TypeExpr,
    pub(crate) params: Vec<(Name, TypeExpr)>,
    pub(crate) body: Vec<Stmt>,
    /// The closing brace, which locates a missing `return` in diagnostics.
    pub(crate) end: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct EngineDecl {
    pub(crate) name: Name,
    pub(crate) params: Vec<(Name, TypeExpr)>,
    /// The reply type of a called engine; `None` for an engine that takes packets.
    pub(crate) reply: Option<TypeExpr>,
    pub(crate) items: Vec<Item>,
}

/// One name of a declaration `TYPE NAME = VALUE;`.
#[derive(Clone, Debug)]
pub(crate) struct VariableDecl {
    pub(crate) name: Name,
    pub(crate) ty: TypeExpr,
    pub(crate) value: Option<Expr>,
}

/// `HEADER NAME @ OFFSET;` or `HEADER NAME @ packet[OFFSET];`
#[derive(Clone, Debug)]
pub(crate) struct ViewDecl {
    pub(crate) name: Name,
    pub(crate) header: TypeExpr,
    pub(crate) offset: Expr,
}

impl ViewDecl {
    /// Returns the offset of a view of the whole packet, `packet[OFFSET]`.
    pub(crate) fn in_packet(&self) -> Option<&Expr> {
        match &self.offset.kind {
            ExprKind::Index(base, offset) => {
                matches!(&base.kind, ExprKind::Name(name) if &**name == "packet").then_some(offset)
            }
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct OffloadDecl {
    pub(crate) name: Name,
    pub(crate) target: OffloadTarget,
}

#[derive(Clone, Debug)]
pub(crate) enum OffloadTarget {
    /// `engine OTHER`
    Engine(Name),
    /// `kind<Key, Value, parameter = constant>`
    Kind { kind: Name, types: Vec<TypeExpr>, params: Vec<(Name, Expr)> },
}

#[derive(Clone, Debug)]
pub(crate) struct StepDecl {
    pub(crate) name: Name,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) body: Vec<Stmt>,
    /// The closing brace, which locates the end of the step in diagnostics.
    pub(crate) end: Span,
}

/// `on OFFLOAD(TYPE key, TYPE value)`
#[derive(Clone, Debug)]
pub(crate) struct Trigger {
    pub(crate) offload: Name,
    pub(crate) params: Vec<(Name, TypeExpr)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

/// The operator of `place OP= value`; `None` for plain assignment.
pub(crate) type AssignOp = Option<BinaryOp>;

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Variable(VariableDecl),
    View(ViewDecl),
    Const(ConstDecl),
    Assert(StaticAssert),
    Assign(Expr, AssignOp, Expr),
    /// `place++` and `place--`.
    Increment(Expr, BinaryOp),
    Expr(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    Switch(Expr, Vec<Case>),
    For(Box<ForLoop>),
    Break,
    Continue,
    Return(Option<Expr>),
    Next(Name),
    Finish(Option<Expr>),
    Emit(Copied),
    Drop(Expr),
    ToCpu(Expr),
    Done,
    SetNext(Name),
    Block(Vec<Stmt>),
    /// A single `;`.
    Empty,
}

/// What `emit(STEP)` and `to_cpu(reason, STEP)` send before the thread goes on.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    pub(crate) step: Name,
    /// The reason of `to_cpu`.
    pub(crate) reason: Option<Expr>,
    /// The offset and the number of the bytes.
    pub(crate) bytes: Option<(Expr, Expr)>,
}

/// A body of a `switch` and the labels that share it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The inner `None` is `default`.
    pub(crate) labels: Vec<(Option<Expr>, Span)>,
    pub(crate) body: Vec<Stmt>,
}

/// `for (TYPE NAME = FIRST; CONDITION; STEP)`
#[derive(Clone, Debug)]
pub(crate) struct ForLoop {
    pub(crate) name: Name,
    pub(crate) ty: TypeExpr,
    pub(crate) first: Expr,
    pub(crate) condition: Expr,
    /// An assignment or increment.
    pub(crate) advance: Stmt,
    pub(crate) body: Stmt,
    /// The span from `for` to the closing parenthesis.
    pub(crate) head: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// The height of the tree. The parser bounds it, so that walks over the tree may recurse.
    pub(crate) height: u32,
    /// Whether the expression is in parentheses. Its span then includes them.
    pub(crate) grouped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Not,
    Neg,
    Plus,
    LogicalNot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    AndThen,
    OrElse,
}

impl BinaryOp {
    /// Whether the result is `bool`.
    pub(crate) fn is_logical(self) -> bool {
        matches!(
            self,
            Self::Eq
                | Self::Ne
                | Self::Lt
                | Self::Le
                | Self::Gt
                | Self::Ge
                | Self::AndThen
                | Self::OrElse
        )
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// A number or character literal. The width of the value has no meaning.
    Number(Bits),
    /// An IPv4, MAC or IPv6 address: 32, 48 or 128 bits.
    Address(Bits),
    Bool(bool),
    Name(Rc<str>),
    Field(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `x[i +: n]`
    Run(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Box<TypeExpr>, Box<Expr>),
    Concat(Vec<Expr>),
    /// `{ 1, 2 }` or `{ .field = 1 }`.
    Aggregate(Vec<(Option<Name>, Expr)>),
    /// The operand of `sizeof` (`true`: in bytes) or `bitsof`.
    SizeOf(bool, Box<SizeOperand>),
}

#[derive(Clone, Debug)]
pub(crate) enum SizeOperand {
    Type(TypeExpr),
    Expr(Expr),
}

impl Expr {
    /// Creates a node and computes its height.
    pub(crate) fn new(kind: ExprKind, span: Span) -> Self {
        let of = |parts: &[&Expr]| parts.iter().map(|e| e.height).max().unwrap_or(0);
        let below = match &kind {
            ExprKind::Number(_) | ExprKind::Address(_) | ExprKind::Bool(_) | ExprKind::Name(_) => 0,
            ExprKind::Field(a, _) | ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => a.height,
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => of(&[a, b]),
            ExprKind::Slice(a, b, c) | ExprKind::Run(a, b, c) | ExprKind::Conditional(a, b, c) => {
                of(&[a, b, c])
            }
            ExprKind::Call(a, args) => of(&args.iter().chain([&**a]).collect::<Vec<_>>()),
            ExprKind::Concat(parts) => of(&parts.iter().collect::<Vec<_>>()),
            ExprKind::Aggregate(parts) => of(&parts.iter().map(|(_, e)| e).collect::<Vec<_>>()),
            ExprKind::SizeOf(_, operand) => match &**operand {
                SizeOperand::Type(_) => 0,
                SizeOperand::Expr(e) => e.height,
            },
        };
        Self { kind, span, height: below + 1, grouped: false }
    }
}
