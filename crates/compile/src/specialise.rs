//! Specialises a program to the present contents of its tables.
//!
//! A control plane knows more than a program says: that no next hop has a tag, that a table of
//! labels is empty, that all routes lead to one of four ports. [`specialise`] replaces the certain
//! bits of replies by constants and lets the passes do the rest, so that checks and edits that
//! cannot matter disappear. The specialised program keeps the steps, context and offloads of the
//! program, in number and order. The result is right as long as the facts hold. (The idea is that
//! of Morpheus: Miano et al., "Domain Specific Run Time Optimization for Software Data Planes",
//! ASPLOS 2022.)

use std::collections::{BTreeMap, HashMap};

use wireloom_bits::{Bits, Known};
use wireloom_ir::{
    Block, Code, EngineKind, Exit, Loc, OffloadId, Op, OpKind, Program, Step, Value, ValueInfo,
};
use wireloom_offloads::{Content, Instance, Store};

use crate::analysis::order;
use crate::passes::PassOptions;
use crate::pipeline;

/// The certain bits of replies, by offload of the engine that takes packets and by method.
pub type Facts = BTreeMap<(OffloadId, usize), Known>;

/// The passes over the specialised program. None of them adds or removes steps.
const PASSES: [&str; 5] = ["fold", "cse", "narrow", "fold", "cse"];

/// Removes unused operations, including calls.
const DEAD: &str = "dce";

/// Returns the methods that the engine calls of offloads that no packet changes. Their replies
/// therefore change only with the tables.
pub fn methods(program: &Program) -> Vec<(OffloadId, usize)> {
    let changed = order::changed(program, program.main);
    let mut methods = Vec::new();
    for step in &program.engines[program.main.index()].steps {
        step.for_each_op(|op| {
            if let OpKind::Call { offload, method, .. } = op.kind
                && !changed.contains(&offload)
                && !methods.contains(&(offload, method))
            {
                methods.push((offload, method));
            }
        });
    }
    methods
}

/// Returns the bits of the replies of these [`methods`] that are certain now.
pub fn facts(methods: &[(OffloadId, usize)], store: &mut Store) -> Facts {
    let mut facts = Facts::new();
    for (offload, method) in methods {
        let Some(instance) = instance(store, *offload) else { continue };
        instance.look_again();
        if let Some(known) = instance.certain(*method)
            && !known.zeros.or(&known.ones).is_zero()
        {
            facts.insert((*offload, *method), known);
        }
    }
    facts
}

/// Returns the first offload whose replies are no longer as certain as `facts`.
pub fn broken(facts: &Facts, store: &mut Store) -> Option<OffloadId> {
    let mut holds = |offload, method: usize, known: &Known| {
        let now = instance(store, offload).and_then(|instance| instance.certain(method));
        now.is_some_and(|now| now.implies(known))
    };
    let broken = facts.iter().find(|((offload, method), known)| !holds(*offload, *method, known));
    broken.map(|((offload, _), _)| *offload)
}

/// Returns the instance of an offload of the engine that takes packets. Returns `None` if the
/// offload is an engine.
fn instance(store: &mut Store, offload: OffloadId) -> Option<&mut (dyn Instance + 'static)> {
    match &mut store.slots[offload.index()].content {
        Content::Kind { instance, .. } => Some(&mut **instance),
        Content::Engine(_) => None,
    }
}

/// Returns the program specialised to these facts. It is valid while they hold. Its steps are in
/// the form of regions. With `keeps_calls` it makes every call that the program makes, which
/// matters where calls are counted.
pub fn specialise(program: &Program, facts: &Facts, keeps_calls: bool) -> Program {
    let mut special = program.clone();
    let engine = &mut special.engines[program.main.index()];
    for step in &mut engine.steps {
        state_facts(step, facts);
    }
    let options = PassOptions::default();
    let dead = (!keeps_calls).then_some(DEAD);
    for pass in PASSES.into_iter().chain(dead) {
        assert!(pipeline::run_pass(&mut special, pass, &options), "no pass named {pass}");
    }
    let engine = &mut special.engines[program.main.index()];
    if engine.kind == EngineKind::Packet {
        empty_unreachable(&mut engine.steps);
    }
    special
}

/// A reply with certain bits.
struct Certain<'a> {
    known: &'a Known,
    /// The guard of the call. The reply of a call that does not happen is zero.
    guard: Option<Value>,
}

/// Replaces certain fields of replies by constants, and fields whose upper bits are certainly zero
/// by their lower bits. Other bits stay unchanged: a field composed of constants and single bits
/// takes longer than one that is read as a whole.
fn state_facts(step: &mut Step, facts: &Facts) {
    let Step { values, code: Code::Regions { request, edit, jump }, .. } = step else { return };
    let mut certain = HashMap::new();
    for op in &request.ops {
        if let (OpKind::Call { offload, method, .. }, [reply]) = (&op.kind, &op.results[..])
            && let Some(known) = facts.get(&(*offload, *method))
        {
            certain.insert(*reply, Certain { known, guard: op.guard });
        }
    }
    if certain.is_empty() {
        return;
    }
    // Replies that are used as a whole.
    let mut whole = HashMap::new();
    for block in [edit, jump] {
        let mut stated = Stated { values, ops: Vec::with_capacity(block.ops.len()) };
        for mut op in std::mem::take(&mut block.ops) {
            if let OpKind::Slice(reply, low) = op.kind
                && let Some(certain) = certain.get(&reply)
            {
                let width = stated.values[op.results[0].index()].width;
                op.kind = stated.field(reply, certain, low, width, op.loc).unwrap_or(op.kind);
            } else {
                let loc = op.loc;
                let mut state = |value: &mut Value| {
                    let Some(certain) = certain.get(value) else { return };
                    let width = certain.known.width();
                    *value = *whole.entry(*value).or_insert_with(|| {
                        match stated.field(*value, certain, 0, width, loc) {
                            Some(kind) => stated.add(width, kind, loc),
                            None => *value,
                        }
                    });
                };
                op.kind.for_each_operand_mut(&mut state);
                op.guard.iter_mut().for_each(state);
            }
            stated.ops.push(op);
        }
        block.ops = stated.ops;
    }
}

/// The operations of a block, including those that state facts.
struct Stated<'a> {
    values: &'a mut Vec<ValueInfo>,
    ops: Vec<Op>,
}

impl Stated<'_> {
    fn add(&mut self, width: u32, kind: OpKind, loc: Loc) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        self.ops.push(Op { kind, results: vec![value], guard: None, loc });
        value
    }

    /// Returns the operation for `width` bits of a reply, from bit `low` on, if it computes less
    /// than a slice of the reply.
    fn field(
        &mut self,
        reply: Value,
        certain: &Certain<'_>,
        low: u32,
        width: u32,
        loc: Loc,
    ) -> Option<OpKind> {
        let zeros = certain.known.zeros.slice(low, width);
        let ones = certain.known.ones.slice(low, width);
        if zeros.or(&ones).is_ones() {
            return Some(match certain.guard {
                Some(guard) if !ones.is_zero() => {
                    let zero = self.add(width, OpKind::Const(Bits::zero(width)), loc);
                    let constant = self.add(width, OpKind::Const(ones), loc);
                    OpKind::Select(guard, constant, zero)
                }
                _ => OpKind::Const(ones),
            });
        }
        let used = zeros.not().significant();
        (used < width).then(|| OpKind::Extend(self.add(used, OpKind::Slice(reply, low), loc)))
    }
}

/// Removes the code of steps that no step jumps to any more, so that no thread waits there.
fn empty_unreachable(steps: &mut [Step]) {
    let mut reached = vec![false; steps.len()];
    let mut open = vec![0];
    while let Some(step) = open.pop() {
        if std::mem::replace(&mut reached[step], true) {
            continue;
        }
        steps[step].for_each_op(|op| {
            if let OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) = &op.kind {
                open.push(to.index());
            }
        });
    }
    for (step, _) in steps.iter_mut().zip(reached).filter(|(_, is_reached)| !is_reached) {
        let end = Op {
            kind: OpKind::Exit(Exit::Done),
            results: Vec::new(),
            guard: None,
            loc: Loc::default(),
        };
        step.values.clear();
        step.code = Code::Regions {
            request: Block::default(),
            edit: Block::default(),
            jump: Block { ops: vec![end] },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine with a table of routes. A route leads to a port or nowhere, with or without a tag.
    const TEXT: &str = "loom_ir 1
reasons Reason { NO_ROUTE = 0 }
engine example {
  context tagged : u1
  offload routes : lpm key u32 value (port: u8, tagged: u1, known: u1) { miss = 10'0x0 }
  step look {
    request {
      %0:u16 = const 30
      %1:u32 = packet.read %0 + 0
      %2:u10 = call routes.search(%1)
    }
    edit {
      %3:u1 = slice %2 from 0
      %4:u1 = slice %2 from 1
      context.write tagged, %4
    }
    jump {
      %5:u16 = const 0
      %6:u1 = not %3
      drop %5 of Reason when %6
      next send when %3
    }
  }
  step send {
    request {
    }
    edit {
      %0:u1 = context.read tagged
    }
    jump {
      %1:u1 = not %0
      next tag when %0
      finish when %1
    }
  }
  step tag {
    request {
    }
    edit {
      %0:u16 = const 12
      %1:u16 = const 33024
      packet.write %0 + 0, %1
    }
    jump {
      finish
    }
  }
}
main example
";

    fn specialised(zeros: u128, ones: u128, keeps_calls: bool) -> String {
        let program = wireloom_ir::parse(TEXT).expect("step IR");
        let known = Known { zeros: Bits::new(10, zeros), ones: Bits::new(10, ones) };
        let facts = Facts::from([((OffloadId(0), 0), known)]);
        let special = specialise(&program, &facts, keeps_calls);
        wireloom_ir::verify(&special).expect("a program");
        assert_eq!(special.engines[0].steps.len(), 3);
        wireloom_ir::print(&special)
    }

    #[test]
    fn what_is_never_so_is_not_asked_in_later_steps_either() {
        let text = specialised(0b10, 0, false);
        assert!(!text.contains("packet.write") && !text.contains("next tag"), "{text}");
        assert!(text.contains("drop"), "a route may be missing: {text}");
    }

    #[test]
    fn what_is_always_so_is_not_asked_either() {
        let text = specialised(0, 0b1, false);
        assert!(!text.contains("drop"), "{text}");
        assert!(text.contains("packet.write"), "{text}");
    }

    #[test]
    fn calls_whose_reply_is_certain_disappear_unless_they_count() {
        let all = 0b11_1111_1110;
        assert!(!specialised(all, 0b1, false).contains("call"));
        assert!(specialised(all, 0b1, true).contains("call"));
        assert_eq!(specialised(0, 0, true), specialised(0, 0, true));
    }
}
