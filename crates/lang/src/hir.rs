//! The checked program. The checker builds it from the syntax tree, and `wireloom-compile` lowers
//! it.
//!
//! All names are resolved, all expressions have types, implicit conversions are explicit
//! [`Cast`](ExprKind::Cast)s, and constant expressions are folded. Functions are not yet inlined
//! and loops are not yet unrolled.
//!
//! Aggregates are packed most significant first, beginning with the first field of a structure or
//! the first element of an array.

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
    /// A [`TypedEngine`] of the program.
    EngineId,
    /// A [`Function`] of an engine. Each engine has its own instances of the file-level functions
    /// that it calls.
    FunctionId,
    /// A [`Variable`] of an engine.
    VarId,
    /// A [`View`] that an engine declares outside of steps.
    ViewId,
    /// An [`Offload`] of an engine.
    OffloadId,
    /// A [`Step`] of an engine.
    StepId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `uN`, with a width of 1 to 1024.
    Bits(u32),
    /// `bool`, which has one bit when packed.
    Bool,
    /// An enumeration.
    Enum(EnumId),
    /// A structure, or a header used as a value.
    Struct(StructId),
    /// A fixed array.
    Array(Box<Type>, u32),
    /// No value, as the result of a function or method.
    Void,
}

#[derive(Clone, Debug)]
pub struct Enum {
    pub name: String,
    /// Width of the underlying type in bits.
    pub width: u32,
    /// The name and the value of each member.
    pub members: Vec<(String, Bits)>,
    /// Position of the declaration.
    pub span: Span,
}

/// A structure or a header.
#[derive(Clone, Debug)]
pub struct Struct {
    /// The name. The reply record of a method is called `offload.method`.
    pub name: String,
    /// Whether the declaration says `header`. A header has a whole number of bytes and can be
    /// viewed in a packet.
    pub is_header: bool,
    /// The fields, most significant first.
    pub fields: Vec<Field>,
    /// Position of the declaration.
    pub span: Span,
}

/// A field of a structure.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Type,
}

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The source files, for messages.
    pub sources: SourceMap,
    pub enums: Vec<Enum>,
    /// All structures and headers.
    pub structs: Vec<Struct>,
    /// The engines. Each engine comes after the engines that it calls.
    pub engines: Vec<TypedEngine>,
    /// The main engine: the requested engine, or the last one in the file that takes packets.
    pub main: EngineId,
}

/// How an engine is started.
#[derive(Clone, Debug)]
pub enum EngineKind {
    /// By a packet.
    Packet,
    /// By a call as an offload of another engine: `engine NAME(u32 key) -> T`.
    Call {
        /// The parameters: context variables that are set when the thread starts.
        params: Vec<VarId>,
        /// The type of the reply.
        reply: Type,
    },
}

#[derive(Clone, Debug)]
pub struct TypedEngine {
    pub name: String,
    pub kind: EngineKind,
    /// Context variables, locals, and parameters of functions.
    pub vars: Vec<Variable>,
    /// Views that are declared outside of steps.
    pub views: Vec<View>,
    pub offloads: Vec<Offload>,
    /// The functions that the steps call, directly or through others.
    pub functions: Vec<Function>,
    /// The steps. A thread begins at the first one.
    pub steps: Vec<Step>,
    /// Position of the declaration.
    pub span: Span,
}

/// The kind of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// A variable that lives as long as the thread. It is zero when the thread begins.
    Context,
    /// A variable of one step or function call. It is zero without an initialiser. Parameters are
    /// local too.
    Local,
}

#[derive(Clone, Debug)]
pub struct Variable {
    /// The name, for messages.
    pub name: String,
    pub ty: Type,
    pub kind: VarKind,
    /// Position of the declaration.
    pub span: Span,
}

/// `Header name @ offset;` or `Header name @ packet[offset];` outside of steps. `offset` is
/// evaluated at each access.
#[derive(Clone, Debug)]
pub struct View {
    pub name: String,
    pub header: StructId,
    /// Byte offset in the header window or in the packet, of type `u16`. It reads context only.
    pub offset: Expr,
    /// The `payload` offload for a view of the whole packet. `None` for a view of the header window.
    pub chunks: Option<OffloadId>,
    /// Position of the declaration.
    pub span: Span,
}

/// An offload of an engine.
#[derive(Clone, Debug)]
pub struct Offload {
    pub name: String,
    pub target: OffloadTarget,
    /// Position of the declaration.
    pub span: Span,
}

/// The implementation of an offload.
#[derive(Clone, Debug)]
pub enum OffloadTarget {
    /// A kind of the registry.
    Kind(Config),
    /// Another engine, which is called with method `call`.
    Engine(EngineId),
}

/// A function. Calls are inlined; there is no recursion.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// The parameters. A parameter passed by value is a variable of its type. A header view passed
    /// by reference is a `u16` variable that contains the byte offset.
    pub params: Vec<VarId>,
    /// The type of the result.
    pub result: Type,
    /// The statements. They contain no [`StmtKind::Exit`] and no [`StmtKind::SetNext`].
    pub body: Vec<Stmt>,
    /// Position of the declaration.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    /// The statements. The checker ensures that every path ends in an [`Exit`] or has assigned
    /// `Next_step`.
    pub body: Vec<Stmt>,
    /// Position of the declaration.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

/// The kind of a statement and its parts.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Creates a local. Without an initialiser the local is set to zero each time the statement
    /// executes.
    Local(VarId, Option<Expr>),
    /// `place = value`. Compound assignments and `++` are already expanded.
    Assign(Place, Expr),
    /// Evaluates an expression for its side effects.
    Expr(Expr),
    /// `if`. The condition is `bool`.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `switch`, without fall-through. Each case lists the constants, of the scrutinee's width,
    /// that select it.
    Switch {
        /// The scrutinee, evaluated once.
        on: Expr,
        /// The constants and the body of each case.
        cases: Vec<(Vec<Bits>, Vec<Stmt>)>,
        /// The statements for values that select no case.
        default: Vec<Stmt>,
    },
    /// `for` with a constant number of rounds. The loop variable takes each value in turn.
    For {
        /// The loop variable, which the body does not assign.
        var: VarId,
        /// The values of the loop variable in order, at most [`MAX_UNROLL`].
        values: Vec<Bits>,
        body: Vec<Stmt>,
    },
    /// `break` from the innermost `for`. A `break` that ends a case has already been removed.
    Break,
    /// `continue` of the innermost `for`.
    Continue,
    /// `return` from a function.
    Return(Option<Expr>),
    /// Ends the step.
    Exit(Exit),
    /// `Next_step = STEP;` sets the step to continue at when control reaches the end of this step.
    SetNext(StepId),
    /// A block with its own scope.
    Block(Vec<Stmt>),
}

/// The maximum number of rounds of a loop.
pub const MAX_UNROLL: usize = 4096;

/// What a statement sends of the packet while the thread goes on, and where to.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The offset and the number of the bytes, of 16 bits each; the whole packet if `None`.
    pub bytes: Option<(Expr, Expr)>,
    /// The reason for which the control processor gets the copy; the egress port gets it if `None`.
    pub cpu: Option<Expr>,
}

impl Copied {
    /// Returns the expressions in order of evaluation.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let bytes = self.bytes.iter().flat_map(|(offset, count)| [offset, count]);
        self.cpu.iter().chain(bytes)
    }
}

/// A way to end a step.
#[derive(Clone, Debug)]
pub enum Exit {
    /// `next STEP;`
    Next(StepId),
    /// `finish;` sends the packet to its egress port and ends the thread.
    Finish,
    /// `finish(value);` ends the thread of a called engine and returns the reply.
    Reply(Expr),
    /// `emit(STEP);`, `to_cpu(reason, STEP);` sends a copy of the packet and continues at the step,
    /// with the same packet and context.
    Emit(StepId, Copied),
    /// `drop(reason);` drops the packet. The reason has an enumeration type.
    Drop(Expr),
    /// `to_cpu(reason);` hands the packet to the control processor.
    ToCpu(Expr),
    /// `done;` ends the thread. The packet is neither sent nor counted as dropped.
    Done,
}

impl Exit {
    /// Returns the expressions in order of evaluation.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Self::Reply(e) | Self::Drop(e) | Self::ToCpu(e) => vec![e],
            Self::Emit(_, copied) => copied.parts().collect(),
            Self::Next(_) | Self::Finish | Self::Done => Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
    pub span: Span,
}

impl Expr {
    /// Returns the direct subexpressions in order of evaluation, including indices of a place.
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

    /// Whether the value is known once the loops over these variables are unrolled.
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

/// Binary operators. Unless stated otherwise, both operands and the result have the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, which wraps.
    Add,
    /// `-`, which wraps.
    Sub,
    /// `*`, which wraps.
    Mul,
    /// `/`. Division by zero returns all ones.
    Div,
    /// `%`. Division by zero returns the dividend.
    Rem,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`. The count has its own type. A count of the width or more returns zero.
    Shl,
    /// `>>`. The count is treated as in [`Shl`](Self::Shl).
    Shr,
    /// `==`, with a `bool` result. The operands can have any type, including aggregates.
    Eq,
    /// `!=`, with a `bool` result.
    Ne,
    /// `<`, unsigned, with a `bool` result.
    Lt,
    /// `<=`, unsigned, with a `bool` result.
    Le,
    /// `>`, unsigned, with a `bool` result.
    Gt,
    /// `>=`, unsigned, with a `bool` result.
    Ge,
    /// `min(a, b)`, unsigned.
    Min,
    /// `max(a, b)`, unsigned.
    Max,
}

/// The kind of an expression and its operands. Operands are evaluated from left to right.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant of any type, in packed form.
    Const(Bits),
    /// Reads a place.
    Read(Place),
    /// A field of a structure that is not a place.
    Field(Box<Expr>, u32),
    /// An element of an array that is not a place. An index out of range reads zero.
    Index(Box<Expr>, Box<Expr>),
    /// Bits `hi..=lo` of a `uN` expression. Both bounds are constant.
    Slice(Box<Expr>, u32, u32),
    /// A constant number of bits of a `uN` expression, starting at a run-time index. Bits out of
    /// range read zero.
    Run(Box<Expr>, Box<Expr>, u32),
    /// `~x`
    Not(Box<Expr>),
    /// `-x`
    Neg(Box<Expr>),
    /// `popcount(x)`: the number of bits that are 1.
    Popcount(Box<Expr>),
    /// `clz(x)`: the number of zeros above the highest bit that is 1, or the width if there is
    /// none.
    Clz(Box<Expr>),
    /// `!x`, where `x` is `bool`.
    LogicalNot(Box<Expr>),
    /// A binary operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a && b`, where both are `bool`. `b` is evaluated only if `a` is true.
    AndThen(Box<Expr>, Box<Expr>),
    /// `a || b`, where both are `bool`. `b` is evaluated only if `a` is false.
    OrElse(Box<Expr>, Box<Expr>),
    /// `c ? a : b`. Only one of `a` and `b` is evaluated.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Converts to the type of this expression by zero-extending or truncating the packed bits. A
    /// conversion from a wider type to `bool` is a comparison with zero, never a cast.
    Cast(Box<Expr>),
    /// All fields of a structure, or all elements of an array, in order.
    Aggregate(Vec<Expr>),
    /// `concat(a, b, ...)`. The first part is the most significant.
    Concat(Vec<Expr>),
    /// A call of a function of the engine.
    Call(FunctionId, Vec<Expr>),
    /// A call of an offload, with the index of the method in the kind (0 for an engine).
    Offload(OffloadId, usize, Vec<Expr>),
    /// `packet.ingress` and the other properties.
    Meta(Meta),
    /// `packet.push(n)` and the other resizes. The result is `bool`.
    Resize(Resize),
}

/// Metadata of the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meta {
    /// `packet.ingress`: the ingress port, `u16`.
    Ingress,
    /// `packet.egress`: the egress port, `u16`. It can be assigned.
    Egress,
    /// `packet.length`: the length of the whole packet in bytes, `u16`.
    Length,
    /// `packet.window`: the length of the header window in bytes, `u16`.
    Window,
    /// `packet.arrival`: the arrival time in nanoseconds, `u64`.
    Arrival,
}

/// A change of the packet's length. Offsets and counts are `u16` expressions. See `PacketInHand`.
#[derive(Clone, Debug)]
pub enum Resize {
    /// `packet.push(n)` (offset 0) and `packet.insert(offset, n)`: inserts zero bytes.
    Insert(Box<Expr>, Box<Expr>),
    /// `packet.pop(n)` (offset 0) and `packet.remove(offset, n)`: removes bytes.
    Remove(Box<Expr>, Box<Expr>),
    /// `packet.reset(n)`: replaces the packet by `n` zero bytes.
    Reset(Box<Expr>),
}

/// A variable, a header in the packet or metadata, or a part of one. It can be read or assigned.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: Root,
    /// The path from the root to the selected part.
    pub path: Vec<Projection>,
    /// The type of the selected part.
    pub ty: Type,
    pub span: Span,
}

/// The start of a place.
#[derive(Clone, Debug)]
pub enum Root {
    /// A variable.
    Var(VarId),
    /// A header at the byte offset of a view of the engine, in the header window or in the packet.
    View(ViewId),
    /// A header in the header window, at the byte offset in a `u16` local. The view is either
    /// declared in a step or function, where its offset was evaluated at the declaration, or passed
    /// to a function.
    Local(VarId, StructId),
    /// `packet.egress` and the other properties.
    Meta(Meta),
}

/// One selection on the path to a part.
#[derive(Clone, Debug)]
pub enum Projection {
    /// A field of a structure.
    Field(u32),
    /// An element of an array. Out of range, reads return zero and writes do nothing.
    Index(Expr),
    /// Bits `hi..=lo` of a `uN`. It is always the last selection.
    Slice(u32, u32),
    /// A number of bits of a `uN`, starting at a run-time index. It is always the last selection.
    /// Out of range, bits read as zero and are not written.
    Run(Expr, u32),
}

impl Program {
    /// Returns the position of an offload's declaration, or of a step's, or of the main engine's.
    /// The offload is given by its path from the main engine, such as `outer.inner`. The step may
    /// be in any engine. It may be a part of a split step; its name then begins with the name of
    /// the step.
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

    /// Returns the packed width of a type in bits; 0 for `Void`.
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
