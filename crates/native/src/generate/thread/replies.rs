//! Calls as what a thread does: it launches those of a step, then waits for each, then reads the replies where they are.
//!
//! A reply becomes variables, one for each of its leaves; a slice of the reply that is (part of) a leaf reads just that.
//! A call becomes two effects: the launch, and the wait, which is written as if it set a variable of its own. Exits come
//! first ([`early`](super::super::early)), so that nothing is asked for in vain. What may change the packet is waited for at
//! once: the thread has no packet until it comes back.
//!
//! ```text
//! %2:u49 = call ports.read(%1)           call ports.read(%1)
//! %3:u48 = slice %2 from 1         ->    context.write wait.0, 1
//! %4:u1 = slice %2 from 0                %3:u48 = context.read reply.0.1
//!                                        %4:u1 = context.read reply.0.0
//! ```

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{ContextId, ContextVar, Engine, Op, OpKind, Step, Value, ValueInfo};

use super::super::conflict::writes_packet;
use super::super::types::{Class, Model};
use super::super::{early, plan};
use super::elements::Caller;
use super::message::{Leaf, Reply, words};
use super::{Refused, sentence};

/// Tickets of a thread, each with a place of [`TICKET_WORDS`] for its reply.
pub const TICKETS: u32 = 16;
/// Words of a reply's place. A longer reply runs on into the next places.
pub const TICKET_WORDS: u32 = 8;

/// An engine with its calls rewritten.
pub struct Split {
    /// The engine, with the variables behind its own.
    pub engine: Engine,
    /// The operations of each step, in order.
    pub ops: Vec<Vec<Op>>,
    /// For each variable that was added: what it is.
    pub variables: Vec<Variable>,
    /// The tickets of each step's calls that have replies, in their order.
    pub tickets: Vec<Vec<u32>>,
}

/// A variable that stands for something of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Setting it waits for the reply of a ticket.
    Wait(Wait),
    /// A leaf of a reply: a C expression.
    Leaf(String),
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The reply of this ticket.
    pub ticket: u32,
    /// Whether the packet comes back with it, changed perhaps.
    pub brings_packet: bool,
}

/// How many of an engine's tickets its steps use at once, at most.
pub fn tickets_used(caller: &Caller<'_>) -> u32 {
    let of_step =
        |step: &Step| plan::ops(step).filter_map(|op| reply_of(caller, op)).map(|r| places(&r)).sum();
    caller.engine().steps.iter().map(of_step).max().unwrap_or(0)
}

/// Rewrites an engine, which uses tickets from `first` on.
///
/// # Errors
/// If there are not enough tickets.
pub fn split(caller: &Caller<'_>, first: u32) -> Result<Split, Refused> {
    let engine = caller.engine();
    let mut split =
        Split { engine: engine.clone(), ops: Vec::new(), variables: Vec::new(), tickets: Vec::new() };
    for (index, step) in engine.steps.iter().enumerate() {
        let mut rewriter = Rewriter {
            split: &mut split,
            index,
            next_ticket: first,
            tickets: Vec::new(),
            waiting: Vec::new(),
            replies: HashMap::new(),
            ops: Vec::new(),
        };
        rewriter.run(caller, step)?;
        let Rewriter { ops, tickets, .. } = rewriter;
        split.ops.push(ops);
        split.tickets.push(tickets);
    }
    Ok(split)
}

/// The reply of a call that goes over the network, if it has one.
fn reply_of(caller: &Caller<'_>, op: &Op) -> Option<Reply> {
    caller.messages(op)?.reply
}

fn places(reply: &Reply) -> u32 {
    reply.words().div_ceil(TICKET_WORDS)
}

/// A call that was launched and not yet waited for.
struct Pending {
    wait: Wait,
    guard: Option<Value>,
    result: Option<Value>,
    reply: Reply,
    loc: wireloom_ir::Loc,
}

struct Rewriter<'a> {
    split: &'a mut Split,
    index: usize,
    next_ticket: u32,
    tickets: Vec<u32>,
    waiting: Vec<Pending>,
    /// The value of each leaf of a reply that was waited for.
    replies: HashMap<Value, Vec<(Leaf, Value)>>,
    ops: Vec<Op>,
}

impl Rewriter<'_> {
    fn run(&mut self, caller: &Caller<'_>, step: &Step) -> Result<(), Refused> {
        let engine = caller.engine();
        let all: Vec<Op> = plan::ops(step).cloned().collect();
        for op in &early::exits_first(engine, &all) {
            let needs_reply = |v: &Value| self.waiting.iter().any(|pending| pending.result == Some(*v));
            if matches!(op.kind, OpKind::Exit(_))
                || op.kind.operands().iter().chain(&op.guard).any(needs_reply)
            {
                self.wait();
            }
            match reply_of(caller, op) {
                Some(reply) => {
                    self.launch(engine, step, op, reply)?;
                    if writes_packet(engine, &op.kind) {
                        self.wait();
                    }
                }
                None => self.copy(op),
            }
        }
        self.wait();
        Ok(())
    }

    fn launch(&mut self, engine: &Engine, step: &Step, op: &Op, reply: Reply) -> Result<(), Refused> {
        let ticket = self.next_ticket;
        self.next_ticket += places(&reply);
        if self.next_ticket > TICKETS {
            let OpKind::Call { offload, .. } = &op.kind else { unreachable!("a call") };
            return Err(sentence(
                engine,
                step,
                &engine.offloads[offload.index()].name,
                "the replies of the step's calls take more words than a thread has places for: split the step",
            ));
        }
        self.tickets.push(ticket);
        self.ops.push(Op { results: Vec::new(), ..op.clone() });
        let result = op.results.first().copied();
        let wait = Wait { ticket, brings_packet: writes_packet(engine, &op.kind) };
        self.waiting.push(Pending { wait, guard: op.guard, result, reply, loc: op.loc });
        Ok(())
    }

    /// Waits for all that was launched; from here on the replies can be read.
    fn wait(&mut self) {
        for pending in std::mem::take(&mut self.waiting) {
            let wait = self.variable("wait", 1, Variable::Wait(pending.wait));
            let one = self.value(1, OpKind::Const(Bits::bool(true)), pending.loc);
            self.push(OpKind::WriteContext(wait, one), Vec::new(), pending.guard, pending.loc);
            let Some(result) = pending.result else { continue };
            let mut leaves: Vec<(Leaf, Value)> = Vec::new();
            for leaf in &pending.reply.leaves {
                let text = leaf_text(leaf, pending.wait.ticket);
                let variable = self.variable("reply", leaf.width, Variable::Leaf(text));
                let mut value = self.value(leaf.width, OpKind::ReadContext(variable), pending.loc);
                if let Some(guard) = pending.guard {
                    // A call that did not happen has an all-zero result.
                    let zero = self.value(leaf.width, OpKind::Const(Bits::zero(leaf.width)), pending.loc);
                    value = self.value(leaf.width, OpKind::Select(guard, value, zero), pending.loc);
                }
                leaves.push((*leaf, value));
            }
            let whole = leaves.iter().rev().map(|(_, value)| *value).collect();
            self.push(OpKind::Concat(whole), vec![result], None, pending.loc);
            self.replies.insert(result, leaves);
        }
    }

    /// Copies an operation; what it takes out of a reply it takes out of the leaf.
    fn copy(&mut self, op: &Op) {
        let mut op = op.clone();
        if let OpKind::Slice(value, lo) = op.kind
            && let Some(leaves) = self.replies.get(&value)
        {
            let width = self.split.engine.steps[self.index].values[op.results[0].index()].width;
            let holds = |leaf: &Leaf| leaf.lo <= lo && lo + width <= leaf.lo + leaf.width;
            if let Some((leaf, value)) = leaves.iter().find(|(leaf, _)| holds(leaf)) {
                op.kind = match leaf.width == width {
                    true => OpKind::Concat(vec![*value]),
                    false => OpKind::Slice(*value, lo - leaf.lo),
                };
            }
        }
        self.ops.push(op);
    }

    fn variable(&mut self, name: &str, width: u32, variable: Variable) -> ContextId {
        let id = ContextId(self.split.engine.context.len() as u32);
        self.split.engine.context.push(ContextVar { name: name.into(), width });
        self.split.variables.push(variable);
        id
    }

    fn value(&mut self, width: u32, kind: OpKind, loc: wireloom_ir::Loc) -> Value {
        let values = &mut self.split.engine.steps[self.index].values;
        let value = Value(values.len() as u32);
        values.push(ValueInfo { width, name: None });
        self.push(kind, vec![value], None, loc);
        value
    }

    fn push(&mut self, kind: OpKind, results: Vec<Value>, guard: Option<Value>, loc: wireloom_ir::Loc) {
        self.ops.push(Op { kind, results, guard, loc });
    }
}

/// The variable that a wait puts the first word of a ticket's reply into.
pub fn first_word(ticket: u32) -> String {
    format!("reply_{ticket}")
}

/// The C expression of a leaf, as an operand of anything.
fn leaf_text(leaf: &Leaf, ticket: u32) -> String {
    let word = |index: u32| match index {
        0 => first_word(ticket),
        _ => format!("WL_REPLIES[{}]", ticket * TICKET_WORDS + index),
    };
    match Model::Bits32.class(leaf.width) {
        Class::Bool => format!("(({} >> {} & 1) != 0)", word(leaf.word), leaf.bit),
        Class::Wide(n) => {
            format!("(*(const wl_w{n} *)&WL_REPLIES[{}])", ticket * TICKET_WORDS + leaf.word)
        }
        Class::Word(64) => {
            debug_assert!(words(leaf.width) == 2);
            format!("((uint64_t){} << 32 | {})", word(leaf.word + 1), word(leaf.word))
        }
        _ => {
            let shifted = match leaf.bit {
                0 => word(leaf.word),
                bit => format!("({} >> {bit})", word(leaf.word)),
            };
            match leaf.shares_top {
                true => format!("({shifted} & {})", Model::Bits32.mask(leaf.width)),
                false => shifted,
            }
        }
    }
}
