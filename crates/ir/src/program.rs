//! The data structures of the step IR.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_offloads::{Config, Kind, registry};

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
    /// An [`Engine`] of the program.
    EngineId,
    /// A [`ContextVar`] of an engine.
    ContextId,
    /// A [`ContextArray`] of an engine.
    ArrayId,
    /// An [`Offload`] of an engine.
    OffloadId,
    /// A [`Step`] of an engine.
    StepId,
    /// A value of a step: an index into [`Step::values`].
    Value,
    /// A [`ReasonSet`] of the program.
    ReasonSetId,
}

/// A position in the source: file (index into [`Program::files`]) and line from 1; line 0 means
/// "nowhere".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Loc {
    /// The file.
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Paths of the source files, for people.
    pub files: Vec<String>,
    /// The names of reasons.
    pub reasons: Vec<ReasonSet>,
    /// The engines. Each comes after those that it calls.
    pub engines: Vec<Engine>,
    /// The engine that takes packets.
    pub main: EngineId,
}

/// The enumeration from which a `drop` or `to_cpu` takes its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonSet {
    /// Its name.
    pub name: String,
    /// Value and name of each reason.
    pub members: Vec<(u64, String)>,
}

/// An engine's interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// The engine processes packets.
    Packet,
    /// The engine processes requests, whose fields are put into these context variables, and gives
    /// replies of `reply` bits. A call has one argument for each variable, in this order and of the
    /// same width.
    Call {
        /// Where the request's fields go.
        params: Vec<ContextId>,
        /// Width of the reply.
        reply: u32,
    },
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its name.
    pub name: String,
    /// Its interface.
    pub kind: EngineKind,
    /// The thread's context: scalars, zero when a thread begins.
    pub context: Vec<ContextVar>,
    /// The arrays of the thread's context, zero when a thread begins.
    pub arrays: Vec<ContextArray>,
    /// The offloads.
    pub offloads: Vec<Offload>,
    /// The steps; a thread begins at the first.
    pub steps: Vec<Step>,
}

/// A scalar of the thread's context. Structures and short arrays are split into one for each leaf:
/// `class.port`, `digest[2]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextVar {
    /// Its name.
    pub name: String,
    /// Its width in bits.
    pub width: u32,
}

/// An array of scalars in the thread's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextArray {
    /// Its name.
    pub name: String,
    /// The width of an element in bits.
    pub width: u32,
    /// The number of elements: 1 to 4,096.
    pub count: u32,
}

/// An offload of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Its name.
    pub name: String,
    /// What implements it.
    pub target: OffloadTarget,
}

/// What implements an offload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffloadTarget {
    /// A kind of the registry; a call's method is an index into the kind's methods.
    Kind(Config),
    /// Another engine; the method is 0.
    Engine(EngineId),
}

impl Offload {
    /// Its kind; `None` for an engine.
    pub fn kind(&self) -> Option<&'static Kind> {
        let OffloadTarget::Kind(config) = &self.target else { return None };
        Some(registry::kind(&config.kind).expect("verified programs use registered kinds"))
    }

    /// Whether a method is a function ([`Method::is_function`]).
    ///
    /// [`Method::is_function`]: wireloom_offloads::Method::is_function
    pub fn is_function(&self, method: usize) -> bool {
        self.kind().is_some_and(|kind| kind.methods[method].is_function())
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name; parts of a split step are `name`, `name.1`, `name.2`, ...
    pub name: String,
    /// Where it is declared.
    pub loc: Loc,
    /// If this is a later part of a split step: why it had to be split off, in a sentence.
    pub split: Option<String>,
    /// Each value of the step.
    pub values: Vec<ValueInfo>,
    /// Its operations.
    pub code: Code,
}

/// A value of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Its width in bits.
    pub width: u32,
    /// The source's name for it, if it has one; names need not be unique.
    pub name: Option<String>,
}

/// The operations of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// As written: one operation after the other, calls anywhere, `if` allowed.
    Sequential(Block),
    /// After splitting: no `if`; calls only in `request`; context and packet change only in `edit`;
    /// exits only in `jump`. Values of `request` may be used in `edit` and `jump`, and those of
    /// `edit` in `jump`. No guard and no argument of `request` uses a reply.
    Regions {
        /// Builds and issues the requests.
        request: Block,
        /// Uses the replies, edits context and packet.
        edit: Block,
        /// Chooses the successor: exactly one of its exits has a true guard.
        jump: Block,
    },
}

/// Operations, executed in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Block {
    /// The operations.
    pub ops: Vec<Op>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The values that it defines: one for pure operations and reads; none for writes and exits;
    /// none or one for calls and resizes (one if there is a reply); one for each yield of an `if`.
    pub results: Vec<Value>,
    /// A one-bit value: the operation happens only if it is 1. Only writes, resizes, calls and
    /// exits can have a guard. A call or resize that does not happen has an all-zero result.
    pub guard: Option<Value>,
    /// Where it comes from.
    pub loc: Loc,
}

/// Unary operators: operand and result have the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnaryOp {
    /// Complement.
    Not,
    /// Two's complement.
    Neg,
    /// The number of bits that are 1.
    Popcount,
    /// The number of zeros above the highest bit that is 1; the width if there is none.
    Clz,
}

/// Binary operators. The operands have the same width, except the count of a shift. The result has
/// that width too, except for comparisons, whose result has one bit. The meaning of each is what
/// [`apply`](Self::apply) computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BinaryOp {
    /// Sum, wraps.
    Add,
    /// Difference, wraps.
    Sub,
    /// Product, wraps.
    Mul,
    /// Quotient; division by zero gives all ones.
    Udiv,
    /// Remainder; division by zero gives the dividend.
    Urem,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left; the count may have any width; a count of the width or more gives zero.
    Shl,
    /// Logical shift right, likewise.
    Lshr,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less than.
    Ult,
    /// Unsigned less than or equal.
    Ule,
    /// The smaller of two unsigned numbers.
    Umin,
    /// The larger of two unsigned numbers.
    Umax,
}

/// Metadata of the processed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meta {
    /// 16 bits.
    Ingress,
    /// 16 bits; the only one that can be written.
    Egress,
    /// 16 bits: the whole packet in bytes.
    Length,
    /// 16 bits: the header window in bytes.
    Window,
    /// 64 bits: nanoseconds.
    Arrival,
}

impl Meta {
    /// Width in bits.
    pub fn width(self) -> u32 {
        if self == Self::Arrival { 64 } else { 16 }
    }
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A constant.
    Const(Bits),
    /// A unary operator.
    Unary(UnaryOp, Value),
    /// A binary operator.
    Binary(BinaryOp, Value, Value),
    /// The second operand if the first (one bit) is 1, else the third.
    Select(Value, Value, Value),
    /// Zero-extension to the result's width, which is larger.
    Extend(Value),
    /// Bits `lo .. lo + width of the result`, all inside the operand. Truncation is a slice from 0.
    Slice(Value, u32),
    /// Concatenation of one or more, first most significant.
    Concat(Vec<Value>),
    /// An element of a constant array; zero if there is none at that index, which has at most 32
    /// bits.
    Table {
        /// The elements from index 0, of the result's width.
        elements: Arc<[Bits]>,
        /// The index.
        index: Value,
    },
    /// The value of a context variable.
    ReadContext(ContextId),
    /// Sets a context variable.
    WriteContext(ContextId, Value),
    /// An element of a context array; zero if there is none at that index, which has at most 32
    /// bits.
    ReadElement {
        /// The array.
        array: ArrayId,
        /// The index.
        index: Value,
    },
    /// Sets an element of a context array; does nothing if there is none at that index, which has
    /// at most 32 bits.
    WriteElement {
        /// The array.
        array: ArrayId,
        /// The index.
        index: Value,
        /// The element's new value.
        value: Value,
    },
    /// A field of the header window: `PacketInHand::read(base, bit, width of the result)`. The base
    /// has 16 bits.
    ReadPacket {
        /// Byte offset where the header begins.
        base: Value,
        /// Bit offset of the field in the header.
        bit: u32,
    },
    /// `PacketInHand::write(base, bit, value)`.
    WritePacket {
        /// Byte offset where the header begins.
        base: Value,
        /// Bit offset of the field in the header.
        bit: u32,
        /// The field's value.
        value: Value,
    },
    /// Metadata.
    ReadMeta(Meta),
    /// Sets metadata ([`Meta::Egress`] only).
    WriteMeta(Meta, Value),
    /// `PacketInHand::insert`; offset and count have 16 bits, the result one.
    Insert {
        /// Byte offset.
        offset: Value,
        /// Number of bytes.
        count: Value,
    },
    /// `PacketInHand::remove`.
    Remove {
        /// Byte offset.
        offset: Value,
        /// Number of bytes.
        count: Value,
    },
    /// `PacketInHand::reset`.
    Reset {
        /// Number of bytes.
        count: Value,
    },
    /// A call of an offload.
    Call {
        /// The offload.
        offload: OffloadId,
        /// Index of the method in the kind; 0 for an engine.
        method: usize,
        /// The arguments, of the widths that the method states.
        args: Vec<Value>,
    },
    /// The reply of a method that is a function ([`Method::is_function`]), computed where it
    /// stands: it changes nothing and does not depend on where in the thread it happens.
    ///
    /// [`Method::is_function`]: wireloom_offloads::Method::is_function
    Evaluate {
        /// The offload; not an engine.
        offload: OffloadId,
        /// Index of the method in the kind.
        method: usize,
        /// The arguments, of the widths that the method states.
        args: Vec<Value>,
    },
    /// Structured choice; absent after if-conversion. Result `i` is `then.1[i]` or
    /// `otherwise.1[i]`. Values defined inside are not visible outside.
    If {
        /// One bit.
        condition: Value,
        /// Block and yields if the condition is 1.
        then: (Block, Vec<Value>),
        /// Block and yields if it is 0.
        otherwise: (Block, Vec<Value>),
    },
    /// Ends the step.
    Exit(Exit),
}

/// A way to end a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Continue at a step.
    Next(StepId),
    /// Send the packet to its egress port and end the thread. Packet engines only.
    Finish,
    /// Reply and end the thread. Called engines only.
    Reply(Value),
    /// Send a copy of the packet and continue at a step. Packet engines only.
    Emit(StepId),
    /// Drop the packet for a reason (16 bits) of the set and end the thread. Packet engines only.
    Drop(Value, ReasonSetId),
    /// Hand the packet to the control processor and end the thread. Packet engines only.
    ToCpu(Value, ReasonSetId),
    /// End the thread and send nothing. Packet engines only.
    Done,
}

impl UnaryOp {
    /// Every operator.
    pub const ALL: [Self; 4] = [Self::Not, Self::Neg, Self::Popcount, Self::Clz];

    /// Its name in the textual form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Not => "not",
            Self::Neg => "neg",
            Self::Popcount => "popcount",
            Self::Clz => "clz",
        }
    }

    /// Applies the operator.
    pub fn apply(self, a: &Bits) -> Bits {
        match self {
            Self::Not => a.not(),
            Self::Neg => a.neg(),
            Self::Popcount => a.popcount(),
            Self::Clz => a.clz(),
        }
    }
}

impl BinaryOp {
    /// Every operator.
    pub const ALL: [Self; 16] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Udiv,
        Self::Urem,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Shl,
        Self::Lshr,
        Self::Eq,
        Self::Ne,
        Self::Ult,
        Self::Ule,
        Self::Umin,
        Self::Umax,
    ];

    /// Its name in the textual form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Udiv => "udiv",
            Self::Urem => "urem",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Shl => "shl",
            Self::Lshr => "lshr",
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Ult => "ult",
            Self::Ule => "ule",
            Self::Umin => "umin",
            Self::Umax => "umax",
        }
    }

    /// Applies the operator. The operands have the same width, except the count of a shift.
    pub fn apply(self, a: &Bits, b: &Bits) -> Bits {
        match self {
            Self::Add => a.add(b),
            Self::Sub => a.sub(b),
            Self::Mul => a.mul(b),
            Self::Udiv => a.udiv(b),
            Self::Urem => a.urem(b),
            Self::And => a.and(b),
            Self::Or => a.or(b),
            Self::Xor => a.xor(b),
            Self::Shl => a.shl(b.to_shift()),
            Self::Lshr => a.lshr(b.to_shift()),
            Self::Eq => Bits::bool(a == b),
            Self::Ne => Bits::bool(a != b),
            Self::Ult => Bits::bool(a < b),
            Self::Ule => Bits::bool(a <= b),
            Self::Umin => a.min(b).clone(),
            Self::Umax => a.max(b).clone(),
        }
    }

    /// Whether the result is one bit, whatever the operands' width.
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Ult | Self::Ule)
    }

    /// Whether the operands may be swapped.
    pub fn commutes(self) -> bool {
        match self {
            Self::Add
            | Self::Mul
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::Eq
            | Self::Ne
            | Self::Umin
            | Self::Umax => true,
            Self::Sub
            | Self::Udiv
            | Self::Urem
            | Self::Shl
            | Self::Lshr
            | Self::Ult
            | Self::Ule => false,
        }
    }

    /// Whether the second operand is a shift count, which may have any width.
    pub fn is_shift(self) -> bool {
        matches!(self, Self::Shl | Self::Lshr)
    }
}

impl Meta {
    /// Every item.
    pub const ALL: [Self; 5] =
        [Self::Ingress, Self::Egress, Self::Length, Self::Window, Self::Arrival];

    /// Its name in the textual form and in Loom C.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
            Self::Length => "length",
            Self::Window => "window",
            Self::Arrival => "arrival",
        }
    }
}
