//! The data structures of the step IR.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_offloads::{Config, OffloadKind, registry};

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

/// A position in the source. Line 0 means that the position is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Loc {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Line from 1, or 0 if unknown.
    pub line: u32,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Paths of the source files, for messages.
    pub files: Vec<String>,
    /// The enumerations of reasons for `drop` and `to_cpu`.
    pub reasons: Vec<ReasonSet>,
    /// The engines. Each engine comes after the engines that it calls.
    pub engines: Vec<Engine>,
    /// The engine that receives packets from the ports.
    pub main: EngineId,
}

/// An enumeration of reasons for `drop` or `to_cpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonSet {
    pub name: String,
    /// Value and name of each reason.
    pub members: Vec<(u64, String)>,
}

/// How an engine is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// The engine processes packets.
    Packet,
    /// The engine processes requests and returns a reply. A call has one argument for each
    /// parameter, in this order and of the same width.
    Call {
        /// The context variables that receive the arguments.
        params: Vec<ContextId>,
        /// Width of the reply in bits.
        reply: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    pub name: String,
    pub kind: EngineKind,
    /// Scalars of the thread's context. They are zero when a thread begins.
    pub context: Vec<ContextVar>,
    /// Arrays of the thread's context. They are zero when a thread begins.
    pub arrays: Vec<ContextArray>,
    pub offloads: Vec<Offload>,
    /// The steps. A thread begins at the first one.
    pub steps: Vec<Step>,
}

/// A scalar of the thread's context. Each leaf of a structure or short array is a scalar, such as
/// `class.port` or `digest[2]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextVar {
    pub name: String,
    /// Width in bits.
    pub width: u32,
}

/// An array of scalars in the thread's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextArray {
    pub name: String,
    /// The width of an element in bits.
    pub width: u32,
    /// The number of elements: 1 to 4,096.
    pub count: u32,
}

/// An offload of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    pub name: String,
    pub target: OffloadTarget,
}

/// The implementation of an offload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffloadTarget {
    /// A kind of the registry. The method of a call is an index into the methods of the kind.
    Kind(Config),
    /// Another engine. The method of a call is 0.
    Engine(EngineId),
}

impl Offload {
    /// Returns the kind; `None` if the offload is an engine.
    pub fn kind(&self) -> Option<&'static OffloadKind> {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name. The parts of a split step are `name`, `name.1`, `name.2`, ...
    pub name: String,
    /// Position of the declaration.
    pub loc: Loc,
    /// For a later part of a split step, a sentence that says why the step was split.
    pub split: Option<String>,
    /// The values, indexed by [`Value`].
    pub values: Vec<ValueInfo>,
    pub code: Code,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Width in bits.
    pub width: u32,
    /// The name in the source, if any. Names need not be unique.
    pub name: Option<String>,
}

/// The operations of a step, before or after splitting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// Before splitting: operations as written, with calls anywhere and with `if`.
    Sequential(Block),
    /// After splitting: calls only in `request`, changes of context and packet only in `edit`,
    /// exits only in `jump`, and no `if`. `edit` may use values of `request`, and `jump` may use
    /// values of both. No guard or argument in `request` depends on a reply.
    Regions {
        /// Builds and issues requests.
        request: Block,
        /// Uses replies, and changes context and packet.
        edit: Block,
        /// Chooses the next step. Exactly one exit has a guard that is 1.
        jump: Block,
    },
}

/// Operations, executed in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Block {
    pub ops: Vec<Op>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub kind: OpKind,
    /// The defined values. Pure operations and reads have one; writes and exits have none. Calls
    /// and resizes have one for a reply, else none. An `if` has one for each yield.
    pub results: Vec<Value>,
    /// A one-bit value. The operation executes only if it is 1. Only writes, resizes, calls and
    /// exits can have a guard. A call or resize that is not executed returns zero.
    pub guard: Option<Value>,
    /// Position in the source.
    pub loc: Loc,
}

/// Unary operators. Operand and result have the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnaryOp {
    /// Bitwise complement.
    Not,
    /// Two's complement.
    Neg,
    /// The number of bits that are 1.
    Popcount,
    /// The number of zeros above the highest bit that is 1; the width if there is none.
    Clz,
}

/// Binary operators. The operands have the same width, except for the count of a shift. The result
/// has the width of the first operand, except for comparisons, which return one bit.
/// [`apply`](Self::apply) defines the semantics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BinaryOp {
    /// Sum, modulo `2^width`.
    Add,
    /// Difference, modulo `2^width`.
    Sub,
    /// Product, modulo `2^width`.
    Mul,
    /// Quotient. Division by zero returns all ones.
    Udiv,
    /// Remainder. Division by zero returns the dividend.
    Urem,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left. The count may have any width; a count of the width or more returns zero.
    Shl,
    /// Logical shift right. The count is treated as in [`Shl`](Self::Shl).
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

/// Metadata of the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meta {
    /// The ingress port, 16 bits.
    Ingress,
    /// The egress port, 16 bits. It is the only item that can be written.
    Egress,
    /// Length of the whole packet in bytes, 16 bits.
    Length,
    /// Length of the header window in bytes, 16 bits.
    Window,
    /// Arrival time in nanoseconds, 64 bits.
    Arrival,
}

impl Meta {
    /// Returns the width in bits.
    pub fn width(self) -> u32 {
        if self == Self::Arrival { 64 } else { 16 }
    }
}

/// An operation with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpKind {
    Const(Bits),
    Unary(UnaryOp, Value),
    Binary(BinaryOp, Value, Value),
    /// Returns the second operand if the first one (one bit) is 1, else the third.
    Select(Value, Value, Value),
    /// Zero-extends the operand to the width of the result, which is larger.
    Extend(Value),
    /// Returns bits `lo .. lo + width of the result`, which all lie inside the operand. Truncation
    /// is a slice from 0.
    Slice(Value, u32),
    /// Concatenates one or more values. The first value is the most significant.
    Concat(Vec<Value>),
    /// Returns an element of a constant array, or zero if the index is out of range. The index has
    /// at most 32 bits.
    Table {
        /// The elements from index 0, each of the width of the result.
        elements: Arc<[Bits]>,
        index: Value,
    },
    /// Returns the value of a context variable.
    ReadContext(ContextId),
    /// Sets a context variable.
    WriteContext(ContextId, Value),
    /// Returns an element of a context array, or zero if the index is out of range. The index has
    /// at most 32 bits.
    ReadElement {
        array: ArrayId,
        index: Value,
    },
    /// Sets an element of a context array, or does nothing if the index is out of range. The index
    /// has at most 32 bits.
    WriteElement {
        array: ArrayId,
        index: Value,
        value: Value,
    },
    /// Reads a field of the header window: `PacketInHand::read(base, bit, width of the result)`.
    /// The base has 16 bits.
    ReadPacket {
        /// Byte offset of the header in the packet.
        base: Value,
        /// Bit offset of the field in the header.
        bit: u32,
    },
    /// Writes a field of the header window: `PacketInHand::write(base, bit, value)`. The base has
    /// 16 bits.
    WritePacket {
        /// Byte offset of the header in the packet.
        base: Value,
        /// Bit offset of the field in the header.
        bit: u32,
        value: Value,
    },
    /// Reads metadata.
    ReadMeta(Meta),
    /// Sets metadata ([`Meta::Egress`] only).
    WriteMeta(Meta, Value),
    /// `PacketInHand::insert`. Offset and count have 16 bits; the result has one bit.
    Insert {
        /// Byte offset.
        offset: Value,
        /// Number of bytes.
        count: Value,
    },
    /// `PacketInHand::remove`. Offset and count have 16 bits; the result has one bit.
    Remove {
        /// Byte offset.
        offset: Value,
        /// Number of bytes.
        count: Value,
    },
    /// `PacketInHand::reset`. The count has 16 bits; the result has one bit.
    Reset {
        /// Number of bytes of the new packet.
        count: Value,
    },
    /// Calls a method of an offload.
    Call {
        offload: OffloadId,
        /// Index of the method in the kind, or 0 for an engine.
        method: usize,
        /// The arguments, with the widths that the method requires.
        args: Vec<Value>,
    },
    /// Computes the reply of a method that is a function ([`Method::is_function`]). It has no side
    /// effect, and the reply is the same at every point of the thread.
    ///
    /// [`Method::is_function`]: wireloom_offloads::Method::is_function
    Evaluate {
        /// An offload that is not an engine.
        offload: OffloadId,
        /// Index of the method in the kind.
        method: usize,
        /// The arguments, with the widths that the method requires.
        args: Vec<Value>,
    },
    /// Structured choice. If-conversion removes it. Result `i` is `then.1[i]` or `otherwise.1[i]`.
    /// Values defined in a branch are not visible outside.
    If {
        /// A one-bit value.
        condition: Value,
        /// Block and yields for a condition of 1.
        then: (Block, Vec<Value>),
        /// Block and yields for a condition of 0.
        otherwise: (Block, Vec<Value>),
    },
    Exit(Exit),
}

/// The part of its packet that a thread sends before it continues, and the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The offset and the number of the bytes that are sent, of 16 bits each. Bytes behind the end
    /// of the packet are not sent. `None`: all bytes.
    pub bytes: Option<(Value, Value)>,
    /// The reason (16 bits) of the set for which the control processor gets the copy. `None`: the
    /// copy goes to the egress port.
    pub cpu: Option<(Value, ReasonSetId)>,
}

impl Copied {
    /// Returns the values that decide what is sent.
    pub fn values(self) -> impl Iterator<Item = Value> {
        let bytes = self.bytes.into_iter().flat_map(|(offset, count)| [offset, count]);
        bytes.chain(self.cpu.map(|(reason, _)| reason))
    }

    /// Calls a function for each of these values.
    pub fn for_each_value_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        if let Some((offset, count)) = &mut self.bytes {
            f(offset);
            f(count);
        }
        if let Some((reason, _)) = &mut self.cpu {
            f(reason);
        }
    }
}

/// A way to end a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Continue at another step.
    Next(StepId),
    /// Send the packet to its egress port and end the thread. For packet engines only.
    Finish,
    /// Return a reply and end the thread. For called engines only.
    Reply(Value),
    /// Send a copy of the packet and continue at another step, with packet and context unchanged.
    /// For packet engines only.
    Emit(StepId, Copied),
    /// Drop the packet for a reason (16 bits) of the set and end the thread. For packet engines
    /// only.
    Drop(Value, ReasonSetId),
    /// Hand the packet to the control processor for a reason (16 bits) of the set and end the
    /// thread. For packet engines only.
    ToCpu(Value, ReasonSetId),
    /// End the thread without sending the packet. For packet engines only.
    Done,
}

impl UnaryOp {
    /// All operators.
    pub const ALL: [Self; 4] = [Self::Not, Self::Neg, Self::Popcount, Self::Clz];

    /// The name in the textual form.
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
    /// All operators.
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

    /// The name in the textual form.
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

    /// Whether the result has one bit, whatever the width of the operands.
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
    /// All items.
    pub const ALL: [Self; 5] =
        [Self::Ingress, Self::Egress, Self::Length, Self::Window, Self::Arrival];

    /// The name in the textual form and in Loom C.
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
