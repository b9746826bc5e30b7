//! The checked program, which the checker builds from the syntax tree and `wireloom-compile`
//! lowers.
//!
//! Every name is resolved, every expression has its type, every implicit conversion is an explicit
//! [`Cast`](ExprKind::Cast), and constant expressions are folded. Functions are not yet inlined and
//! loops not yet unrolled.
//!
//! Aggregates are packed most significant first: the first field of a structure, the first element
//! of an array.

use wireloom_bits::Bits;
use wireloom_offloads::Config;

use crate::source::{SourceMap, Span};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// The id as an index into the vector that holds the item.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// An [`Enum`] of the program.
    EnumId,
    /// A [`Struct`] or header of the program.
    StructId,
    /// An [`Engine`] of the program.
    EngineId,
    /// A [`Function`] of an engine (each engine has its own instances of the file-level functions
    /// that it calls).
    FunctionId,
    /// A [`Variable`] of an engine.
    VarId,
    /// A [`View`] that an engine declares outside its steps.
    ViewId,
    /// An [`Offload`] of an engine.
    OffloadId,
    /// A [`Step`] of an engine.
    StepId,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `uN`, 1 to 1024.
    Bits(u32),
    /// `bool`; one bit when packed.
    Bool,
    /// An enumeration.
    Enum(EnumId),
    /// A structure, or a header used as a value.
    Struct(StructId),
    /// A fixed array.
    Array(Box<Type>, u32),
    /// No value: a function or method without a result.
    Void,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: String,
    /// Width of the underlying type in bits.
    pub width: u32,
    /// Name and value of each member.
    pub members: Vec<(String, Bits)>,
    /// Where it is declared.
    pub span: Span,
}

/// A structure or a header.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name; the reply record of a method is called `offload.method`.
    pub name: String,
    /// Whether it was declared with `header`: a whole number of bytes, and can be viewed in a
    /// packet.
    pub is_header: bool,
    /// The fields, most significant first.
    pub fields: Vec<Field>,
    /// Where it is declared.
    pub span: Span,
}

/// A field of a structure.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The files, for messages.
    pub sources: SourceMap,
    /// All enumerations.
    pub enums: Vec<Enum>,
    /// All structures and headers.
    pub structs: Vec<Struct>,
    /// All engines. Each comes after those that it calls.
    pub engines: Vec<Engine>,
    /// The main engine: the requested one, or the last one in the file that takes packets.
    pub main: EngineId,
}

/// An engine's interface.
#[derive(Clone, Debug)]
pub enum EngineKind {
    /// Packets in, packets out.
    Packet,
    /// Called as an offload of other engines: `engine NAME(u32 key) -> T`.
    Call {
        /// The request's fields: context variables that are set when the thread starts.
        params: Vec<VarId>,
        /// The reply's type.
        reply: Type,
    },
}

/// An engine.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Its name.
    pub name: String,
    /// Its interface.
    pub kind: EngineKind,
    /// Context variables, locals and parameters of its functions, all in one list.
    pub vars: Vec<Variable>,
    /// Views declared outside of steps.
    pub views: Vec<View>,
    /// Offloads.
    pub offloads: Vec<Offload>,
    /// Functions that its steps reach.
    pub functions: Vec<Function>,
    /// Steps; a thread begins at the first one.
    pub steps: Vec<Step>,
    /// Where it is declared.
    pub span: Span,
}

/// The kind of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// Lives as long as the thread processes its packet; zero when the thread begins.
    Context,
    /// Lives in one step or function call; zero if it has no initialiser. Parameters are local too.
    Local,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name, for messages.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its kind.
    pub kind: VarKind,
    /// Where it is declared.
    pub span: Span,
}

/// `Header name @ offset;` outside of steps: `offset` is evaluated at each access.
#[derive(Clone, Debug)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The header.
    pub header: StructId,
    /// Byte offset in the header window, of type `u16`; reads context only.
    pub offset: Expr,
    /// Where it is declared.
    pub span: Span,
}

/// An offload of an engine.
#[derive(Clone, Debug)]
pub struct Offload {
    /// Its name.
    pub name: String,
    /// What implements it.
    pub target: OffloadTarget,
    /// Where it is declared.
    pub span: Span,
}

/// What implements an offload.
#[derive(Clone, Debug)]
pub enum OffloadTarget {
    /// A kind of the registry.
    Kind(Config),
    /// Another engine, called with method `call`.
    Engine(EngineId),
}

/// A function. Calls are inlined; there is no recursion.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its parameters. Those passed by value are variables; a header view passed by reference is a
    /// `u16` variable that holds its byte offset.
    pub params: Vec<VarId>,
    /// The result type.
    pub result: Type,
    /// Its statements, without [`StmtKind::Exit`] and [`StmtKind::SetNext`].
    pub body: Vec<Stmt>,
    /// Where it is declared.
    pub span: Span,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its statements. The checker ensures that every path ends in an [`Exit`] or has assigned
    /// `Next_step`.
    pub body: Vec<Stmt>,
    /// Where it is declared.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Its position.
    pub span: Span,
}

/// The effect of a statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Creates a local; without an initialiser it is zero (each time the statement is reached).
    Local(VarId, Option<Expr>),
    /// `place = value`; compound assignment and `++` are already expanded.
    Assign(Place, Expr),
    /// Evaluates an expression for its effect.
    Expr(Expr),
    /// `if`; the condition is `bool`.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `switch`: each case lists the constants that select it (of the scrutinee's width); no
    /// fall-through.
    Switch {
        /// The scrutinee, evaluated once.
        on: Expr,
        /// Constants and body of each case.
        cases: Vec<(Vec<Bits>, Vec<Stmt>)>,
        /// The statements for values that no case selects.
        default: Vec<Stmt>,
    },
    /// `for` with a constant number of rounds: the loop variable takes each of the values in turn.
    For {
        /// The loop variable; the body does not assign it.
        var: VarId,
        /// Its values, in order. At most [`MAX_UNROLL`].
        values: Vec<Bits>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `break` out of the innermost `for` (a `break` that ends a case has already been removed).
    Break,
    /// `continue` with the innermost `for`.
    Continue,
    /// `return` from a function.
    Return(Option<Expr>),
    /// Ends the step.
    Exit(Exit),
    /// `Next_step = STEP;`: the step to continue at when the step's end is reached.
    SetNext(StepId),
    /// A block with a scope of its own.
    Block(Vec<Stmt>),
}

/// The longest loop that is unrolled.
pub const MAX_UNROLL: usize = 4096;

/// A way to end a step.
#[derive(Clone, Debug)]
pub enum Exit {
    /// `next STEP;`
    Next(StepId),
    /// `finish;` sends the packet to its egress port and ends the thread.
    Finish,
    /// `finish(value);` in a called engine: the reply.
    Reply(Expr),
    /// `emit(STEP);` sends a copy of the packet and continues at the step with packet and context
    /// as they are.
    Emit(StepId),
    /// `drop(reason);` the reason is of an enumeration type.
    Drop(Expr),
    /// `to_cpu(reason);`
    ToCpu(Expr),
    /// `done;` ends the thread; nothing is sent and nothing counts as dropped.
    Done,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Its position.
    pub span: Span,
}

impl Expr {
    /// The direct subexpressions, including the indices of its place, in the order of evaluation.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Const(_) | ExprKind::Meta(_) => Vec::new(),
            ExprKind::Read(place) => place
                .path
                .iter()
                .filter_map(|p| match p {
                    Projection::Index(e) | Projection::Run(e, _) => Some(e),
                    Projection::Field(_) | Projection::Slice(..) => None,
                })
                .collect(),
            ExprKind::Field(a, _)
            | ExprKind::Slice(a, _, _)
            | ExprKind::Not(a)
            | ExprKind::Neg(a)
            | ExprKind::Popcount(a)
            | ExprKind::Clz(a)
            | ExprKind::LogicalNot(a)
            | ExprKind::Cast(a)
            | ExprKind::Resize(Resize::Reset(a)) => vec![a],
            ExprKind::Index(a, b)
            | ExprKind::Run(a, b, _)
            | ExprKind::Binary(_, a, b)
            | ExprKind::AndThen(a, b)
            | ExprKind::OrElse(a, b)
            | ExprKind::Resize(Resize::Insert(a, b) | Resize::Remove(a, b)) => vec![a, b],
            ExprKind::Conditional(a, b, c) => vec![a, b, c],
            ExprKind::Aggregate(all) | ExprKind::Concat(all) => all.iter().collect(),
            ExprKind::Call(_, args) | ExprKind::Offload(_, _, args) => args.iter().collect(),
        }
    }

    /// Whether the value is known when the loops that count these variables are unrolled.
    pub fn is_known(&self, counters: &[VarId]) -> bool {
        match &self.kind {
            ExprKind::Read(Place { root: Root::Var(var), path, .. }) => {
                path.is_empty() && counters.contains(var)
            }
            ExprKind::Read(_)
            | ExprKind::Meta(_)
            | ExprKind::Call(..)
            | ExprKind::Offload(..)
            | ExprKind::Resize(_) => false,
            _ => self.parts().into_iter().all(|part| part.is_known(counters)),
        }
    }
}

/// Binary operators. Both operands have the same type, which is also the result's unless stated
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, wraps.
    Add,
    /// `-`, wraps.
    Sub,
    /// `*`, wraps.
    Mul,
    /// `/`; division by zero gives all ones.
    Div,
    /// `%`; division by zero gives the dividend.
    Rem,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`; the count has its own type; a count of the width or more gives zero.
    Shl,
    /// `>>`, likewise.
    Shr,
    /// `==`, bool; the operands can have any type, aggregates included.
    Eq,
    /// `!=`, bool.
    Ne,
    /// `<`, unsigned, bool.
    Lt,
    /// `<=`, unsigned, bool. (`>` and `>=` are written with swapped operands, still evaluated left
    /// to right.)
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `min(a, b)`, unsigned.
    Min,
    /// `max(a, b)`, unsigned.
    Max,
}

/// What an expression computes. Operands are evaluated left to right.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant of any type, packed.
    Const(Bits),
    /// The value at a place.
    Read(Place),
    /// A field of a struct-typed expression that is not a place.
    Field(Box<Expr>, u32),
    /// An element of an array-typed expression; out of range reads zero.
    Index(Box<Expr>, Box<Expr>),
    /// Bits `hi..=lo` (constant) of a `uN` expression.
    Slice(Box<Expr>, u32, u32),
    /// A constant number of bits of a `uN` expression, from a run-time index up; bits out of range
    /// read zero.
    Run(Box<Expr>, Box<Expr>, u32),
    /// `~x`
    Not(Box<Expr>),
    /// `-x`
    Neg(Box<Expr>),
    /// `popcount(x)`: the number of bits that are 1.
    Popcount(Box<Expr>),
    /// `clz(x)`: the number of zeros above the highest bit that is 1; the width if there is none.
    Clz(Box<Expr>),
    /// `!x` of a `bool`.
    LogicalNot(Box<Expr>),
    /// A binary operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a && b`, both `bool`; `b` is evaluated only if `a` is true.
    AndThen(Box<Expr>, Box<Expr>),
    /// `a || b`
    OrElse(Box<Expr>, Box<Expr>),
    /// `c ? a : b`; only one of the two is evaluated.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Conversion to this expression's type: the packed bits are zero-extended or truncated. A
    /// conversion from a wider type to `bool` is never a cast: it is a comparison with zero.
    Cast(Box<Expr>),
    /// All fields of a structure, or all elements of an array, in order.
    Aggregate(Vec<Expr>),
    /// `concat(a, b, ...)`, first most significant.
    Concat(Vec<Expr>),
    /// A call of a function of the engine.
    Call(FunctionId, Vec<Expr>),
    /// A call of an offload: index of the method in the kind (0 for an engine).
    Offload(OffloadId, usize, Vec<Expr>),
    /// `packet.ingress` and the other properties.
    Meta(Meta),
    /// `packet.push(n)` and the other resizes; the result is `bool`.
    Resize(Resize),
}

/// Metadata of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meta {
    /// `packet.ingress`, `u16`.
    Ingress,
    /// `packet.egress`, `u16`; can be assigned.
    Egress,
    /// `packet.length`, `u16`: the whole packet, bytes.
    Length,
    /// `packet.window`, `u16`: the header window, bytes.
    Window,
    /// `packet.arrival`, `u64`, nanoseconds.
    Arrival,
}

/// Changes of the packet's size; offsets and counts are `u16` expressions. See `PacketInHand`.
#[derive(Clone, Debug)]
pub enum Resize {
    /// `packet.push(n)` (offset 0) and `packet.insert(offset, n)`: zero bytes.
    Insert(Box<Expr>, Box<Expr>),
    /// `packet.pop(n)` (offset 0) and `packet.remove(offset, n)`.
    Remove(Box<Expr>, Box<Expr>),
    /// `packet.reset(n)`: a packet of `n` zero bytes.
    Reset(Box<Expr>),
}

/// Something that can be read and assigned.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where the path starts.
    pub root: Root,
    /// The path from the root to the selected part.
    pub path: Vec<Projection>,
    /// Type of the part.
    pub ty: Type,
    /// Its position.
    pub span: Span,
}

/// Where a place starts.
#[derive(Clone, Debug)]
pub enum Root {
    /// A variable.
    Var(VarId),
    /// A header in the packet's window, at the byte offset that an engine's view names.
    View(ViewId),
    /// A header in the packet's window, at the byte offset that a `u16` local holds: a view
    /// declared in a step or function (its offset was evaluated at the declaration) or passed to a
    /// function.
    Local(VarId, StructId),
    /// `packet.egress` and the other properties.
    Meta(Meta),
}

/// One step of the path to a part.
#[derive(Clone, Debug)]
pub enum Projection {
    /// A field of a structure.
    Field(u32),
    /// An element of an array. Out of range: reads zero, writes nothing.
    Index(Expr),
    /// Bits `hi..=lo` of a `uN`. Always last.
    Slice(u32, u32),
    /// A number of bits of a `uN`, from a run-time index up. Always last. Bits out of range read zero
    /// and are not written.
    Run(Expr, u32),
}

impl Program {
    /// Where an offload is declared, or else a step, or else the main engine. The offload is named
    /// by its path from the main engine, `outer.inner`; the step may be in any engine, and may be a
    /// part of one that was split, whose name begins with that of the step.
    pub fn declared(&self, offload: Option<&str>, step: Option<&str>) -> Span {
        let main = &self.engines[self.main.index()];
        let (mut engine, mut found) = (Some(main), None);
        for name in offload.into_iter().flat_map(|path| path.split('.')) {
            let Some(next) = engine.and_then(|e| e.offloads.iter().find(|o| o.name == name)) else {
                break;
            };
            found = Some(next.span);
            engine = match next.target {
                OffloadTarget::Engine(id) => Some(&self.engines[id.index()]),
                OffloadTarget::Kind(_) => None,
            };
        }
        let part = |step: &str| {
            let engines = std::iter::once(main).chain(&self.engines);
            let steps = engines.flat_map(|e| &e.steps).filter(|s| step.starts_with(&s.name));
            steps.max_by_key(|s| s.name.len()).map(|s| s.span)
        };
        found.or_else(|| step.and_then(part)).unwrap_or(main.span)
    }

    /// Width of a type in bits, packed; 0 for `Void`.
    pub fn width(&self, ty: &Type) -> u32 {
        match ty {
            Type::Bits(n) => *n,
            Type::Bool => 1,
            Type::Enum(id) => self.enums[id.index()].width,
            Type::Struct(id) => {
                self.structs[id.index()].fields.iter().map(|f| self.width(&f.ty)).sum()
            }
            Type::Array(element, count) => self.width(element) * count,
            Type::Void => 0,
        }
    }
}
