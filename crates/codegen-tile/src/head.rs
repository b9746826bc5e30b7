//! How far into a packet the steps of an engine can reach: the head that tiles need where the rest of a
//! packet stays outside of them.
//!
//! ```text
//! u16 l3 = tagged ? 18 : 14;       l3 <= 18
//! packet.pop(4);                   4 bytes of the front are gone
//! Ipv4 ip @ l3; ip.dst             reads up to byte 4 + 18 + 20 of the packet that came
//! ```
//!
//! The header window of a packet that comes has 128 bytes, and only insertions lengthen it. So steps reach no
//! later byte but by offloads that take an offset in the packet: those are refused if that may lie
//! behind the head.

use std::cell::RefCell;
use std::collections::HashMap;

use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::{next_step, ops};
use wireloom_ir::{BinaryOp, Engine, Exit, Meta, OffloadTarget, Op, OpKind, Program, Step, Value};
use wireloom_net::packet::{HEADROOM, WINDOW};
use wireloom_offloads::registry::{self, Extent};

use super::frame::ALIGN;

/// The most words of a head: those of the window, with the bytes that align.
pub const MOST: u32 = (ALIGN + WINDOW as u32).div_ceil(4);

/// The bytes of the packet that a head of so many words has.
pub const fn bytes(words: u32) -> u32 {
    4 * words - ALIGN
}

/// Rounds after which a variable that still grows may have any value of its width.
const ROUNDS: usize = 8;
/// Operations from a value back that are looked at.
const DEPTH: u32 = 64;

/// The least words of a head with all bytes that the steps of a program touch.
///
/// # Errors
/// Offloads that may touch bytes behind the longest head.
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

/// A step that sends a packet and goes on, if there is one.
pub fn sends_twice(program: &Program) -> Option<&str> {
    let steps = &program.engines[program.main.index()].steps;
    let is_emit = |op: &Op| matches!(op.kind, OpKind::Exit(Exit::Emit(_)));
    steps.iter().find(|step| ops(step).into_iter().any(is_emit)).map(|step| step.name.as_str())
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

/// The byte after the last one of the window that an operation touches, from the packet's front.
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

/// The byte after the last one that an offload touches, if it touches any.
fn offload_end(engine: &Engine, values: &Values<'_>, op: &Op) -> Result<Option<u64>, &'static str> {
    // Called engines have no packet, and what is evaluated reads none.
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

/// The most bytes that an operation takes away in front of others.
fn removed(values: &Values<'_>, op: &Op) -> u64 {
    match &op.kind {
        OpKind::Remove { count, .. } => values.most_if(*count, op.guard),
        _ => 0,
    }
}

/// The largest value of each variable of the context.
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

/// The most bytes that are gone in front when a packet comes to each step.
fn gone(engine: &Engine, context: &[u64]) -> Vec<u64> {
    // More cannot be told from all of the window.
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
            for to in ops(step).into_iter().filter_map(next_step) {
                gone[to] = gone[to].max(gone[number].saturating_add(own[number]).min(ALL));
            }
        }
        if gone == before {
            return gone;
        }
    }
}

/// The largest number of a width.
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
        let ops = ops(step);
        let by = ops.iter().flat_map(|op| op.results.iter().map(|result| (*result, *op))).collect();
        Self { step, context, ops, by, known: RefCell::default() }
    }

    fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    /// The largest that a value can be where a guard holds. A difference is not below 0 if the guard
    /// says that it is none of the lesser and the greater.
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

    /// Whether a condition says that a value is not above another.
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

    /// The value of which another one is a copy, of another width perhaps.
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

    /// The largest that a value can be.
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
        // What wraps around may be anything.
        let own = if own > all { all } else { own };
        self.known.borrow_mut().insert(value, own);
        own
    }

    /// The largest that a result of two operands can be that are at most so large; above its width if
    /// it may wrap around.
    fn both(&self, binary: BinaryOp, by: Value, a: u64, b: u64) -> u64 {
        let constant = |value| match self.by.get(&value).map(|op| &op.kind) {
            Some(OpKind::Const(bits)) => u32::try_from(bits.low_u64()).ok(),
            _ => None,
        };
        match binary {
            BinaryOp::Add => a.saturating_add(b),
            BinaryOp::Mul => a.saturating_mul(b),
            BinaryOp::And => a.min(b),
            // All bits up to the highest of both.
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
            // A quotient by 0 is all ones.
            BinaryOp::Umin => a.min(b),
            BinaryOp::Umax => a.max(b),
            BinaryOp::Sub | BinaryOp::Udiv => u64::MAX,
        }
    }
}
