//! Rewrites calls as a thread executes them: it launches the calls of a step, then waits for each,
//! then reads the replies in place.
//!
//! A reply becomes variables, one for each of its leaves. A slice of the reply that lies in a leaf
//! reads only that leaf. A call becomes two effects: the launch, and the wait, which is written as
//! if it set a variable. Exits come first ([`exits_first`]), so that no unnecessary
//! call is made. The thread waits at once for a call that may change the packet: it has no packet
//! until the call returns.
//!
//! ```text
//! %2:u49 = call ports.read(%1)           call ports.read(%1)
//! %3:u48 = slice %2 from 1         ->    context.write wait.0, 1
//! %4:u1 = slice %2 from 0                %3:u48 = context.read reply.0.1
//!                                        %4:u1 = context.read reply.0.0
//! ```

use std::collections::HashMap;
use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_compile::analysis::resources::{Resource, changes, writes_packet};
use wireloom_compile::passes::exits_first::{Placement, exits_first};
use wireloom_ir::{ContextId, ContextVar, Engine, Op, OpKind, Step, Value, ValueInfo};

use super::super::shortest::shortened;
use super::super::tree::{Binary, Expr, Type};
use super::super::types::{Class, Model};
use super::Refused;
use super::elements::Caller;
use super::message::{Leaf, Reply, goes_by_place, words};

/// The number of tickets of a thread. Each has [`TICKET_WORDS`] words for its reply.
pub const TICKETS: u32 = 16;
/// The number of words for a reply. A longer reply also occupies the words of the next tickets.
pub const TICKET_WORDS: u32 = 8;

/// An engine with its calls rewritten.
pub struct Split {
    /// The engine. The additional variables follow its own.
    pub engine: Engine,
    /// The operations of each step, in order.
    pub ops: Vec<Vec<Op>>,
    /// The meaning of each added variable.
    pub variables: Vec<Variable>,
    /// The waits of each step, in the order of the calls that have replies.
    pub waits: Vec<Vec<Wait>>,
    /// The range of words that replies to each step's calls may occupy, numbered among the words of
    /// all replies.
    pub launched: Vec<Range<u32>>,
}

/// A variable that represents a value of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Setting it waits for the reply of a ticket.
    Wait(Wait),
    /// A leaf of a reply: a C expression. If it only reads words in place, also their range,
    /// numbered among the words of all replies.
    Leaf(Expr, Option<Range<u32>>),
}

/// A wait for a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The ticket of the reply.
    pub ticket: u32,
    /// The words, except the first, that hold several leaves. They are read once: otherwise the C
    /// compiler would read them again after the step's writes to the packet.
    pub shared_words: Vec<u32>,
    /// Whether the call returns the packet, possibly changed.
    pub brings_packet: bool,
}

impl Wait {
    /// Returns the variables for words of the reply, and the contents of each.
    pub fn words(&self) -> impl Iterator<Item = (String, Expr)> + '_ {
        let wait = Expr::call("wl_wait", [Expr::number(self.ticket)]);
        let shared = self
            .shared_words
            .iter()
            .map(|word| (shared_word(self.ticket, *word), place(self.ticket, *word)));
        std::iter::once((first_word(self.ticket), wait)).chain(shared)
    }
}

/// Returns the maximum number of an engine's tickets in use at once.
pub fn tickets_used(caller: &Caller<'_>) -> u32 {
    let of_step =
        |step: &Step| step.ops().filter_map(|op| reply_of(caller, op)).map(|r| places(&r)).sum();
    caller.engine().steps.iter().map(of_step).max().unwrap_or(0)
}

/// Rewrites an engine that uses tickets from `first` on.
///
/// # Errors
/// If there are not enough tickets.
pub fn split(caller: &Caller<'_>, first: u32) -> Result<Split, Refused> {
    let engine = caller.engine();
    let mut split = Split {
        engine: engine.clone(),
        ops: Vec::new(),
        variables: Vec::new(),
        waits: Vec::new(),
        launched: Vec::new(),
    };
    for (index, step) in engine.steps.iter().enumerate() {
        let mut rewriter = Rewriter {
            split: &mut split,
            index,
            next_ticket: first,
            waits: Vec::new(),
            waiting: Vec::new(),
            replies: HashMap::new(),
            ops: Vec::new(),
        };
        rewriter.run(caller, step)?;
        let Rewriter { ops, waits, next_ticket, .. } = rewriter;
        split.ops.push(ops);
        split.waits.push(waits);
        split.launched.push(TICKET_WORDS * first..TICKET_WORDS * next_ticket);
    }
    Ok(split)
}

/// Returns the reply of a call that goes over the network, if it has one.
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
    waits: Vec<Wait>,
    waiting: Vec<Pending>,
    /// The leaves of each reply received so far, with their values.
    replies: HashMap<Value, Vec<(Leaf, Value)>>,
    ops: Vec<Op>,
}

impl Rewriter<'_> {
    fn run(&mut self, caller: &Caller<'_>, step: &Step) -> Result<(), Refused> {
        let engine = caller.engine();
        for op in &shortened(&exits_first(engine, step, Placement::InOrder)) {
            let needs_reply =
                |v: &Value| self.waiting.iter().any(|pending| pending.result == Some(*v));
            if matches!(op.kind, OpKind::Exit(_))
                || op.kind.operands().iter().chain(&op.guard).any(needs_reply)
            {
                self.wait();
            }
            let Some(messages) = caller.messages(op) else {
                self.copy(op);
                continue;
            };
            let call = self.read_for_call(engine, op);
            match messages.reply {
                Some(reply) => {
                    self.launch(engine, step, &call, reply)?;
                    if writes_packet(engine, &call.kind) {
                        self.wait();
                    }
                }
                None => self.copy(&call),
            }
        }
        self.wait();
        Ok(())
    }

    fn launch(
        &mut self,
        engine: &Engine,
        step: &Step,
        op: &Op,
        reply: Reply,
    ) -> Result<(), Refused> {
        let ticket = self.next_ticket;
        self.next_ticket += places(&reply);
        if self.next_ticket > TICKETS {
            let OpKind::Call { offload, .. } = &op.kind else { unreachable!("a call") };
            return Err(Refused::offload(
                engine,
                step,
                &engine.offloads[offload.index()].name,
                "the replies of the step's calls take more words than a thread has places for: split the step",
            ));
        }
        self.ops.push(Op { results: Vec::new(), ..op.clone() });
        let result = op.results.first().copied();
        let shared_words = reply.shared_words().collect();
        let wait = Wait { ticket, shared_words, brings_packet: writes_packet(engine, &op.kind) };
        self.waits.push(wait.clone());
        self.waiting.push(Pending { wait, guard: op.guard, result, reply, loc: op.loc });
        Ok(())
    }

    /// Returns the call with a separate read as its only argument, if the argument is a window
    /// field that can be passed by position and the window has not changed since the field was
    /// read. No other operation uses the separate read, so the call need not carry the field.
    fn read_for_call(&mut self, engine: &Engine, op: &Op) -> Op {
        let mut op = op.clone();
        if let OpKind::Call { args, .. } = &mut op.kind
            && let [argument] = &mut args[..]
            && let Some(at) = self.ops.iter().position(|read| read.results.contains(argument))
            && let OpKind::ReadPacket { base, bit } = self.ops[at].kind
        {
            let width = self.split.engine.steps[self.index].values[argument.index()].width;
            let mut behind = self.ops[at + 1..].iter().flat_map(|op| changes(engine, &op.kind));
            if bit % 8 == 0
                && goes_by_place(width)
                && !behind.any(|changed| changed.covers(Resource::Window))
            {
                *argument = self.value(width, OpKind::ReadPacket { base, bit }, op.loc);
            }
        }
        op
    }

    /// Waits for all launched calls. Afterwards the replies can be read.
    fn wait(&mut self) {
        for pending in std::mem::take(&mut self.waiting) {
            let wait = self.variable("wait", 1, Variable::Wait(pending.wait.clone()));
            let one = self.value(1, OpKind::Const(Bits::bool(true)), pending.loc);
            self.push(OpKind::WriteContext(wait, one), Vec::new(), pending.guard, pending.loc);
            let Some(result) = pending.result else { continue };
            let mut leaves: Vec<(Leaf, Value)> = Vec::new();
            for leaf in &pending.reply.leaves {
                let c = leaf_expression(leaf, &pending.wait);
                let leaf_variable = Variable::Leaf(c, leaf_words(leaf, &pending.wait));
                let variable = self.variable("reply", leaf.width, leaf_variable);
                let mut value = self.value(leaf.width, OpKind::ReadContext(variable), pending.loc);
                if let Some(guard) = pending.guard {
                    // A call that did not happen has an all-zero result.
                    let zero =
                        self.value(leaf.width, OpKind::Const(Bits::zero(leaf.width)), pending.loc);
                    value = self.value(leaf.width, OpKind::Select(guard, value, zero), pending.loc);
                }
                leaves.push((*leaf, value));
            }
            let whole = leaves.iter().rev().map(|(_, value)| *value).collect();
            self.push(OpKind::Concat(whole), vec![result], None, pending.loc);
            self.replies.insert(result, leaves);
        }
    }

    /// Copies an operation. Reads of a reply become reads of the leaf.
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

    fn push(
        &mut self,
        kind: OpKind,
        results: Vec<Value>,
        guard: Option<Value>,
        loc: wireloom_ir::Loc,
    ) {
        self.ops.push(Op { kind, results, guard, loc });
    }
}

/// Returns the name of the variable into which a wait stores the first word of a ticket's reply.
pub fn first_word(ticket: u32) -> String {
    format!("reply_{ticket}")
}

fn shared_word(ticket: u32, word: u32) -> String {
    format!("{}_{word}", first_word(ticket))
}

/// Returns the location of a word of a ticket's reply.
fn place(ticket: u32, word: u32) -> Expr {
    Expr::name("WL_REPLIES").at(ticket * TICKET_WORDS + word)
}

/// Returns the range of words of a leaf, numbered among the words of all replies, if the leaf is
/// read only in place.
fn leaf_words(leaf: &Leaf, wait: &Wait) -> Option<Range<u32>> {
    let own = leaf.word..leaf.word + words(leaf.bit + leaf.width);
    let is_variable = |word: u32| word == 0 || wait.shared_words.contains(&word);
    let first = wait.ticket * TICKET_WORDS;
    (!own.clone().any(is_variable)).then(|| first + own.start..first + own.end)
}

/// Returns the C expression of a leaf.
fn leaf_expression(leaf: &Leaf, wait: &Wait) -> Expr {
    let ticket = wait.ticket;
    let word = |index: u32| match index {
        0 => Expr::name(first_word(ticket)),
        _ if wait.shared_words.contains(&index) => Expr::name(shared_word(ticket, index)),
        _ => place(ticket, index),
    };
    let shifted = |bit: u32| word(leaf.word).binary(Binary::Shr, Expr::number(bit));
    match Model::Bits32.class(leaf.width) {
        Class::Bool => shifted(leaf.bit).binary(Binary::And, Expr::number(1)).nonzero(),
        Class::Wide(n) => {
            let ty = Type::named(format!("wl_w{n}")).constant().pointer();
            place(ticket, leaf.word).address().cast(ty).target()
        }
        Class::Word(64) => {
            assert!(words(leaf.width) == 2);
            let high = word(leaf.word + 1).cast("uint64_t").binary(Binary::Shl, Expr::number(32));
            high.binary(Binary::Or, word(leaf.word))
        }
        _ => {
            let value = if leaf.bit == 0 { word(leaf.word) } else { shifted(leaf.bit) };
            match leaf.shares_top {
                true => value.binary(Binary::And, Model::Bits32.mask(leaf.width)),
                false => value,
            }
        }
    }
}
