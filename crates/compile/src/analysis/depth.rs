//! A model of logic depth: the number of levels of six-input look-up tables (LUT6) between
//! registers.
//!
//! The model compares steps and finds slow ones before synthesis. It is not meant for timing
//! closure. It counts as follows:
//! - wires are free: constants, slices, concatenations, extensions, shifts by a constant, and
//!   complements, which the next table absorbs;
//! - a gate of two inputs or a two-way multiplexer is half a level, because one LUT6 holds two of
//!   them in a row (a four-way multiplexer has exactly six inputs);
//! - a sum, a difference or an order comparison is one level into the carry chain, and the chain is
//!   as slow as one more level for each 16 bits (four CARRY4 of a Virtex or 7-series device and
//!   their routing);
//! - equality is a tree: three bit pairs per table (six bits against a constant), then six-input
//!   ANDs;
//! - a product is shift-and-add in a tree of carry chains; a division is one subtraction and one
//!   multiplexer per bit;
//! - a shift by a variable count takes half a level (one multiplexer) for each bit of the count
//!   that matters;
//! - a header field at a constant offset is a wire. At a variable offset it is a byte multiplexer
//!   over the window ([`WINDOW_BYTES`] bytes: eight two-way levels); writing it adds the
//!   multiplexer that merges it. With header ports a field is a wire at any offset, since the
//!   memory rotates the bytes that it reads and writes; a resize is then a sum and a comparison of
//!   pointers;
//! - a guard on an effect is the enable input of the register: half a level.

use wireloom_ir::{BinaryOp, Block, OpKind, Step, UnaryOp, Value};
use wireloom_net::packet;

use super::Definitions;

/// Maximum bytes of a header window.
pub const WINDOW_BYTES: u32 = (packet::WINDOW + packet::HEADROOM) as u32;

/// Depth in half levels, so that sums are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Depth(u32);

impl Depth {
    /// No logic.
    pub const WIRE: Self = Self(0);
    /// A two-input gate or two-way multiplexer.
    pub const GATE: Self = Self(1);

    /// Returns the depth in half levels.
    pub fn half_levels(self) -> u32 {
        self.0
    }

    /// Returns whole LUT6 levels, rounded up.
    pub fn levels(self) -> u32 {
        self.0.div_ceil(2)
    }
}

impl std::ops::Add for Depth {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

fn levels(count: u32) -> Depth {
    Depth(2 * count)
}

/// Returns the levels of a tree of gates with `fan_in` inputs over `leaves` leaves.
fn tree(leaves: u32, fan_in: u32) -> Depth {
    let (mut count, mut width) = (0, leaves);
    while width > 1 {
        width = width.div_ceil(fan_in);
        count += 1;
    }
    levels(count)
}

/// Returns the number of bits that numbers below `n` need.
fn log2(n: u32) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// Returns the depth of a carry chain of `width` bits.
pub fn carry_chain(width: u32) -> Depth {
    levels(1 + width.div_ceil(16))
}

/// Returns the depth of a binary operator of `width` bits. With `constant`, one operand is a
/// constant.
pub fn binary(op: BinaryOp, width: u32, constant: bool, count_width: u32) -> Depth {
    match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => Depth::GATE,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Ult | BinaryOp::Ule => carry_chain(width),
        BinaryOp::Eq | BinaryOp::Ne => {
            let tables = width.div_ceil(if constant { 6 } else { 3 });
            levels(1) + tree(tables, 6)
        }
        BinaryOp::Mul => (0..log2(width)).fold(Depth::GATE, |sum, _| sum + carry_chain(width)),
        BinaryOp::Udiv | BinaryOp::Urem => {
            (0..width).fold(Depth::WIRE, |sum, _| sum + carry_chain(width) + Depth::GATE)
        }
        BinaryOp::Shl | BinaryOp::Lshr if constant => Depth::WIRE,
        BinaryOp::Shl | BinaryOp::Lshr => Depth(log2(width + 1).min(count_width)),
        // A comparison, then a choice.
        BinaryOp::Umin | BinaryOp::Umax => carry_chain(width) + Depth::GATE,
    }
}

/// Returns the depth of a unary operator of `width` bits.
fn unary(op: UnaryOp, width: u32) -> Depth {
    match op {
        UnaryOp::Not => Depth::WIRE,
        UnaryOp::Neg => carry_chain(width),
        // Sums of pairs, then sums of these sums, and so on. Each level is one bit wider.
        UnaryOp::Popcount => {
            (1..=log2(width)).fold(Depth::GATE, |sum, bits| sum + carry_chain(bits))
        }
        // Whether the upper half is zero decides which half the remaining logic examines.
        UnaryOp::Clz => {
            (0..log2(width)).fold(Depth::GATE, |sum, level| sum + tree(width >> (level + 1), 6))
        }
    }
}

/// Returns the depth of an operation without the depth of its operands. `ports` says whether the
/// header is accessed through ports.
pub fn operation(
    kind: &OpKind,
    ports: bool,
    width: impl Fn(Value) -> u32,
    constant: impl Fn(Value) -> bool,
) -> Depth {
    let window = Depth(log2(WINDOW_BYTES));
    match kind {
        OpKind::ReadPacket { .. } if ports => Depth::WIRE,
        OpKind::WritePacket { .. } if ports => Depth::GATE,
        OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } if ports => {
            carry_chain(16) + Depth::GATE
        }
        OpKind::Binary(op, a, b) => {
            binary(*op, width(*a), constant(*b) || constant(*a) && !op.is_shift(), width(*b))
        }
        OpKind::Select(..) => Depth::GATE,
        // A tree of selections. One LUT selects among four.
        OpKind::Table { elements, .. } => Depth(log2(elements.len() as u32)),
        // A hash is a parity of about half of its argument's bits for each bit of the result.
        OpKind::Evaluate { args, .. } => tree(args.iter().map(|v| width(*v).div_ceil(2)).sum(), 6),
        OpKind::Unary(op, a) => unary(*op, width(*a)),
        OpKind::ReadPacket { base, .. } if !constant(*base) => window,
        OpKind::WritePacket { base, .. } if !constant(*base) => window + Depth::GATE,
        OpKind::WritePacket { .. }
        | OpKind::WriteContext(..)
        | OpKind::WriteElement { .. }
        | OpKind::WriteMeta(..) => Depth::GATE,
        // A resize moves every byte of the window by any distance.
        OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
            window + Depth::GATE
        }
        _ => Depth::WIRE,
    }
}

/// Returns the depth of each region of a step: request, edit and jump. All sequential code counts
/// as request. Replies, context and header come from registers. A value of an earlier region counts
/// from where it was computed, since regions that need no reply are logic on the same registers.
/// `ports` says whether the header is accessed through ports.
pub fn regions(step: &Step, ports: bool) -> [Depth; 3] {
    let definitions = Definitions::of(step);
    let mut at = vec![Depth::WIRE; step.values.len()];
    let mut depths = [Depth::WIRE; 3];
    for (block, depth) in step.code.blocks().zip(&mut depths) {
        *depth = of_block(step, block, &definitions, ports, &mut at);
    }
    depths
}

fn of_block(
    step: &Step,
    block: &Block,
    definitions: &Definitions<'_>,
    ports: bool,
    at: &mut [Depth],
) -> Depth {
    let mut deepest = Depth::WIRE;
    for op in &block.ops {
        let mut inputs = Depth::WIRE;
        op.kind.for_each_operand(|v| inputs = inputs.max(at[v.index()]));
        if let OpKind::If { then, otherwise, .. } = &op.kind {
            deepest = deepest.max(of_block(step, &then.0, definitions, ports, at));
            deepest = deepest.max(of_block(step, &otherwise.0, definitions, ports, at));
            for (i, result) in op.results.iter().enumerate() {
                let arms = at[then.1[i].index()].max(at[otherwise.1[i].index()]);
                at[result.index()] = inputs.max(arms) + Depth::GATE;
            }
        }
        let own = operation(
            &op.kind,
            ports,
            |v| step.values[v.index()].width,
            |v| definitions.constant(v).is_some(),
        );
        let mut sum = inputs + own;
        if let Some(guard) = op.guard {
            sum = sum.max(at[guard.index()]) + Depth::GATE;
        }
        deepest = deepest.max(sum);
        if !matches!(op.kind, OpKind::If { .. }) {
            let registered = matches!(op.kind, OpKind::Call { .. });
            for result in &op.results {
                at[result.index()] = if registered { Depth::WIRE } else { sum };
            }
        }
    }
    deepest
}
