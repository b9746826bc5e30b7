//! Finds how far into a packet the steps of an engine can reach. This is the head that tiles need
//! if the tails of packets stay outside.
//!
//! ```text
//! u16 l3 = tagged ? 18 : 14;       l3 <= 18
//! packet.pop(4);                   removes 4 bytes at the front
//! Ipv4 ip @ l3; ip.dst             reads up to byte 4 + 18 + 20 of the packet on arrival
//! ```
//!
//! The header window of an arriving packet has 128 bytes, and only insertions make it longer. So
//! only offloads that take an offset in the packet reach later bytes. They are refused if the
//! offset may lie past the longest head.

use std::cell::RefCell;
use std::collections::HashMap;

use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::next_step;
use wireloom_ir::{
    BinaryOp, Copied, Engine, Exit, Meta, OffloadTarget, Op, OpKind, Program, Step, Value,
};
use wireloom_net::packet::{HEADROOM, WINDOW};
use wireloom_offloads::registry::{self, Extent};

use super::frame::ALIGN;

/// The maximum number of words of a head: the window and the padding before it.
pub const MOST: u32 = (ALIGN + WINDOW as u32).div_ceil(4);

/// Returns the bytes of the packet in a head of `words` words.
pub const fn bytes(words: u32) -> u32 {
    4 * words - ALIGN
}

/// The number of rounds after which a variable that still grows is assumed to have any value.
const ROUNDS: usize = 8;
/// The maximum number of operations through which a value is traced back.
const DEPTH: u32 = 64;

/// Returns the words of the shortest head with all bytes that the steps of a program access.
///
/// # Errors
/// The refusals of offloads that may access bytes past the longest head, and of copies of some bytes.
pub fn words(program: &Program) -> Result<u32, Vec<Refused>> {
    let engine = &program.engines[program.main.index()];
    let context = context(engine);
    let gone = gone(engine, &context);
    let mut reach = 0u64;
    let mut refused = Vec::new();
    for (step, gone) in engine.steps.iter().zip(gone) {
        let values = Values::new(step, &context);
        let mut gone = gone;
        for op in &values.ops {
            if let Some(end) = window_end(&values, op) {
                reach = reach.max(gone.saturating_add(end).min(WINDOW as u64));
            }
            if let OpKind::Exit(Exit::Emit(_, Copied { bytes: Some(_), .. })) = op.kind {
                refused.push(refuse_pieces(step));
            }
            match offload_end(engine, &values, op) {
                Ok(None) => {}
                Ok(Some(end)) if gone.saturating_add(end) <= u64::from(bytes(MOST)) => {
                    reach = reach.max(gone + end);
                }
                Ok(Some(_)) => {
                    refused.push(refuse(engine, step, op, "can touch any byte of a packet"))
                }
                Err(why) => refused.push(refuse(engine, step, op, why)),
            }
            gone = gone.saturating_add(removed(&values, op));
        }
    }
    if refused.is_empty() { Ok((ALIGN + reach as u32).div_ceil(4).max(1)) } else { Err(refused) }
}

/// Returns a step that continues after sending a packet, if there is one.
pub fn sends_twice(program: &Program) -> Option<&str> {
    let steps = &program.engines[program.main.index()].steps;
    let is_emit = |op: &Op| matches!(op.kind, OpKind::Exit(Exit::Emit(..)));
    steps.iter().find(|step| step.ops().any(is_emit)).map(|step| step.name.as_str())
}

fn refuse_pieces(step: &Step) -> Refused {
    let message = format!(
        "step `{}` sends some bytes of a packet as a copy, and tiles have only its first bytes where its rest stays \
         outside (`mapping.rest`): name a machine whose tiles take whole packets",
        step.name
    );
    Refused { offload: None, step: Some(step.name.clone()), message }
}

fn refuse(engine: &Engine, step: &Step, op: &Op, why: &str) -> Refused {
    let offload = match &op.kind {
        OpKind::Call { offload, .. } => Some(engine.offloads[offload.index()].name.clone()),
        _ => None,
    };
    let named = offload.as_deref().unwrap_or_default();
    let message = format!(
        "offload `{named}` {why} in step `{}`, and tiles have the first {} bytes of a packet at most where its rest \
         stays outside (`mapping.rest`): name a machine whose tiles take whole packets",
        step.name,
        bytes(MOST)
    );
    Refused { offload, step: Some(step.name.clone()), message }
}

/// Returns the offset from the packet's front after the last byte of the window that an operation
/// accesses.
fn window_end(values: &Values<'_>, op: &Op) -> Option<u64> {
    let field = |base: Value, bit: u32, width: u32| {
        values.most_if(base, op.guard).saturating_add(u64::from((bit + width).div_ceil(8)))
    };
    match &op.kind {
        OpKind::ReadPacket { base, bit } => {
            let width = op.results.first().map_or(0, |value| values.width(*value));
            Some(field(*base, *bit, width))
        }
        OpKind::WritePacket { base, bit, value } => Some(field(*base, *bit, values.width(*value))),
        OpKind::Insert { offset, .. } => Some(values.most_if(*offset, op.guard)),
        OpKind::Remove { offset, count } => {
            let [offset, count] = [*offset, *count].map(|value| values.most_if(value, op.guard));
            Some(offset.saturating_add(count))
        }
        _ => None,
    }
}

/// Returns the offset after the last byte that a call of an offload accesses, if it accesses any.
fn offload_end(engine: &Engine, values: &Values<'_>, op: &Op) -> Result<Option<u64>, &'static str> {
    // Called engines have no packet, and `Evaluate` reads none.
    let OpKind::Call { offload, method, args } = &op.kind else { return Ok(None) };
    let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
        return Ok(None);
    };
    let most = |arg: usize| values.most_if(args[arg], op.guard);
    let kind = registry::kind(&config.kind).expect("a verified program");
    match kind.methods[*method].extent {
        Extent::Nothing => Ok(None),
        Extent::Range { offset, length } => Ok(Some(most(offset).saturating_add(most(length)))),
        Extent::Chunk { offset } => {
            let width = op.results.first().map_or(0, |value| values.width(*value));
            Ok(Some(most(offset).saturating_add(u64::from(width / 8))))
        }
        Extent::End { .. } => Err("touches the end of packets"),
        Extent::Whole => Err("takes whole packets"),
    }
}

/// Returns the maximum number of bytes that an operation removes before other bytes.
fn removed(values: &Values<'_>, op: &Op) -> u64 {
    match &op.kind {
        OpKind::Remove { count, .. } => values.most_if(*count, op.guard),
        _ => 0,
    }
}

/// Returns the largest value of each context variable.
fn context(engine: &Engine) -> Vec<u64> {
    let mut all = vec![0; engine.context.len()];
    for round in 0.. {
        let mut next = all.clone();
        for step in &engine.steps {
            let values = Values::new(step, &all);
            for op in &values.ops {
                if let OpKind::WriteContext(variable, value) = &op.kind {
                    let own = &mut next[variable.index()];
                    *own = (*own).max(values.most_if(*value, op.guard));
                }
            }
        }
        if next == all {
            break;
        }
        for ((own, next), variable) in all.iter_mut().zip(next).zip(&engine.context) {
            let is_growing = *own != next;
            *own = if is_growing && round >= ROUNDS { mask(variable.width) } else { next };
        }
    }
    all
}

/// Returns, for each step, the maximum number of bytes that earlier steps removed at the front.
fn gone(engine: &Engine, context: &[u64]) -> Vec<u64> {
    // Larger numbers make no difference.
    const ALL: u64 = (WINDOW + HEADROOM) as u64;
    let own: Vec<u64> = engine
        .steps
        .iter()
        .map(|step| {
            let values = Values::new(step, context);
            let all = values.ops.iter().map(|op| removed(&values, op));
            all.fold(0, u64::saturating_add)
        })
        .collect();
    let mut gone = vec![0u64; engine.steps.len()];
    loop {
        let before = gone.clone();
        for (number, step) in engine.steps.iter().enumerate() {
            for to in step.ops().filter_map(next_step) {
                gone[to] = gone[to].max(gone[number].saturating_add(own[number]).min(ALL));
            }
        }
        if gone == before {
            return gone;
        }
    }
}

/// Returns the largest number of a width, at most 64 bits.
fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(64u32.saturating_sub(width)).unwrap_or(0)
}

/// The values of a step.
struct Values<'a> {
    step: &'a Step,
    context: &'a [u64],
    ops: Vec<&'a Op>,
    by: HashMap<Value, &'a Op>,
    known: RefCell<HashMap<Value, u64>>,
}

impl<'a> Values<'a> {
    fn new(step: &'a Step, context: &'a [u64]) -> Self {
        let ops: Vec<&Op> = step.ops().collect();
        let by = ops.iter().flat_map(|op| op.results.iter().map(|result| (*result, *op))).collect();
        Self { step, context, ops, by, known: RefCell::default() }
    }

    fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    /// Returns the largest number that a value can be if a guard holds. A difference does not wrap
    /// around if the guard implies that its operands are ordered.
    fn most_if(&self, value: Value, guard: Option<Value>) -> u64 {
        let own = self.most(value, DEPTH);
        match (self.by.get(&value).map(|op| &op.kind), guard) {
            (Some(OpKind::Extend(inner) | OpKind::Slice(inner, 0)), Some(_)) => {
                own.min(self.most_if(*inner, guard))
            }
            (Some(OpKind::Binary(BinaryOp::Sub, a, b)), Some(guard))
                if self.is_ordered(guard, *b, *a) =>
            {
                own.min(self.most(*a, DEPTH))
            }
            _ => own,
        }
    }

    /// Whether a condition implies that a value is at most another value.
    fn is_ordered(&self, condition: Value, low: Value, high: Value) -> bool {
        match self.by.get(&condition).map(|op| &op.kind) {
            Some(OpKind::Binary(BinaryOp::Ult | BinaryOp::Ule, a, b)) => {
                (self.plain(*a), self.plain(*b)) == (self.plain(low), self.plain(high))
            }
            Some(OpKind::Binary(BinaryOp::And, a, b)) => {
                self.is_ordered(*a, low, high) || self.is_ordered(*b, low, high)
            }
            _ => false,
        }
    }

    /// Returns the value of which this one is a copy, possibly with another width.
    fn plain(&self, value: Value) -> Value {
        match self.by.get(&value).map(|op| &op.kind) {
            Some(OpKind::Extend(inner)) => self.plain(*inner),
            Some(OpKind::Slice(inner, 0))
                if self.most(*inner, DEPTH) <= mask(self.width(value)) =>
            {
                self.plain(*inner)
            }
            _ => value,
        }
    }

    /// Returns the largest number that a value can be.
    fn most(&self, value: Value, depth: u32) -> u64 {
        if let Some(known) = self.known.borrow().get(&value) {
            return *known;
        }
        let all = mask(self.width(value));
        let Some(op) = self.by.get(&value).filter(|_| depth > 0) else { return all };
        let most = |value: &Value| self.most(*value, depth - 1);
        let own = match &op.kind {
            OpKind::Const(bits) if bits.width() <= 64 => bits.low_u64(),
            OpKind::Extend(a) => most(a),
            OpKind::Slice(a, lo) if self.width(*a) <= 64 => most(a) >> lo,
            OpKind::Select(_, a, b) => most(a).max(most(b)),
            OpKind::Concat(parts) if self.width(value) <= 64 => {
                parts.iter().fold(0u64, |upper, part| {
                    upper.checked_shl(self.width(*part)).unwrap_or(0) | most(part)
                })
            }
            OpKind::Table { elements, .. } => {
                let of = elements
                    .iter()
                    .map(|bits| if bits.width() <= 64 { bits.low_u64() } else { u64::MAX });
                of.max().unwrap_or(0)
            }
            OpKind::ReadContext(variable) => self.context[variable.index()],
            OpKind::ReadMeta(Meta::Window) => (WINDOW + HEADROOM) as u64,
            OpKind::Binary(binary, a, b) => self.both(*binary, *b, most(a), most(b)),
            _ => all,
        };
        // A value that wraps around may be any number.
        let own = if own > all { all } else { own };
        self.known.borrow_mut().insert(value, own);
        own
    }

    /// Returns the largest result of two operands whose largest values are `a` and `b`. A number
    /// that exceeds the width means that the result may wrap around.
    fn both(&self, binary: BinaryOp, by: Value, a: u64, b: u64) -> u64 {
        let constant = |value| match self.by.get(&value).map(|op| &op.kind) {
            Some(OpKind::Const(bits)) => u32::try_from(bits.low_u64()).ok(),
            _ => None,
        };
        match binary {
            BinaryOp::Add => a.saturating_add(b),
            BinaryOp::Mul => a.saturating_mul(b),
            BinaryOp::And => a.min(b),
            // All bits up to the highest bit of both can be 1.
            BinaryOp::Or | BinaryOp::Xor => mask(64 - (a | b).leading_zeros()),
            BinaryOp::Shl => match constant(by) {
                Some(by) if by <= a.leading_zeros() => a.checked_shl(by).unwrap_or(0),
                _ => u64::MAX,
            },
            BinaryOp::Lshr => match constant(by) {
                Some(by) => a.checked_shr(by).unwrap_or(0),
                None => a,
            },
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Ult | BinaryOp::Ule => 1,
            BinaryOp::Urem => a,
            BinaryOp::Umin => a.min(b),
            BinaryOp::Umax => a.max(b),
            // A difference may wrap around, and the quotient of a division by 0 is all ones.
            BinaryOp::Sub | BinaryOp::Udiv => u64::MAX,
        }
    }
}
