//! Threads. A thread takes one packet (or one call) through the steps of an engine. This module
//! defines the semantics of each operation.

use wireloom_bits::Bits;
use wireloom_net::PacketInHand;
use wireloom_offloads::{Content, Env, Store};

use super::activation::Activation;
use super::decode::{Action, ActionKind, Copied, DecodedEngine, Ending, Place};
use super::narrow;
use super::observer::{Moment, Observer};
use crate::{EngineId, MAX_BACKWARD_JUMPS, Meta, Output, Reason, StepId, Verdict};

/// The packet on whose behalf a thread runs, either directly or in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub sequence: u64,
    /// Arrival time in nanoseconds.
    pub arrival_ns: u64,
}

/// A thread and the state that it can access.
pub(super) struct Thread<'a, O> {
    pub engine: &'a DecodedEngine,
    pub activation: &'a mut Activation,
    /// The earlier engines, which this one may call, and their activations.
    pub engines: &'a [DecodedEngine],
    pub callees: &'a mut [Activation],
    pub store: &'a mut Store,
    /// The current packet; `None` in a called engine.
    pub hand: Option<&'a mut PacketInHand>,
    pub origin: Origin,
    pub observer: &'a mut O,
}

impl<O: Observer> Thread<'_, O> {
    /// Runs a thread of a packet engine from the first step to its end.
    pub(super) fn run(&mut self, sink: &mut dyn FnMut(Output<'_>)) {
        self.activation.begin();
        let verdict = match self.steps(sink) {
            Last::Finish => Verdict::Sent { port: self.hand().egress },
            Last::Drop(reason) => Verdict::Dropped(reason),
            Last::ToCpu(reason) => Verdict::ToCpu(reason),
            Last::Done | Last::Reply(_) => return,
        };
        self.send(verdict, self.hand().bytes(), sink);
    }

    /// Runs a thread of a called engine and returns the reply.
    pub(super) fn reply(&mut self, args: &[Bits]) -> Bits {
        self.activation.begin();
        for (var, arg) in self.engine.params.iter().zip(args) {
            self.activation.set(*var, arg.clone());
        }
        match self.steps(&mut |_| {}) {
            Last::Reply(reply) => reply,
            // A runaway thread replies zero.
            _ => Bits::zero(self.engine.reply.expect("a called engine replies")),
        }
    }

    /// Executes steps until the thread ends.
    fn steps(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Last {
        let engine = self.engine;
        let mut step = 0;
        let mut backward_jumps = 0;
        loop {
            // If a verified step takes no exit, the thread ends as with `done`.
            self.observe(step, |observer, now| observer.step(now));
            let next = match self.code(step, &engine.steps[step]).unwrap_or(Ending::Done) {
                Ending::Next(next) => next,
                Ending::Emit(next, copied) => {
                    self.send_copy(copied, sink);
                    next
                }
                Ending::Finish => return Last::Finish,
                Ending::Reply(value) => return Last::Reply(self.activation.bits(value)),
                Ending::Drop(reason, set) => {
                    return Last::Drop(Reason::Program(set, self.activation.low16(reason)));
                }
                Ending::ToCpu(reason, set) => {
                    return Last::ToCpu(Reason::Program(set, self.activation.low16(reason)));
                }
                Ending::Done => return Last::Done,
            };
            if next <= step {
                if backward_jumps == MAX_BACKWARD_JUMPS {
                    return Last::Drop(Reason::Runaway);
                }
                backward_jumps += 1;
            }
            step = next;
        }
    }

    /// Sends a copy of the packet, or of some of its bytes.
    fn send_copy(&self, copied: Copied, sink: &mut dyn FnMut(Output<'_>)) {
        let verdict = match copied.cpu {
            None => Verdict::Sent { port: self.hand().egress },
            Some((reason, set)) => {
                Verdict::ToCpu(Reason::Program(set, self.activation.low16(reason)))
            }
        };
        let mut bytes = self.hand().bytes();
        if let Some((offset, count)) = copied.bytes {
            let within = |place| usize::from(self.activation.low16(place));
            bytes = &bytes[within(offset).min(bytes.len())..];
            bytes = &bytes[..within(count).min(bytes.len())];
        }
        self.send(verdict, bytes, sink);
    }

    fn send(&self, verdict: Verdict, bytes: &[u8], sink: &mut dyn FnMut(Output<'_>)) {
        let hand = self.hand();
        sink(Output {
            sequence: self.origin.sequence,
            arrival_ns: self.origin.arrival_ns,
            ingress: hand.ingress,
            verdict,
            bytes,
        });
    }

    fn hand(&self) -> &PacketInHand {
        self.hand.as_ref().expect("only engines that take packets touch one")
    }

    fn hand_mut(&mut self) -> &mut PacketInHand {
        self.hand.as_mut().expect("only engines that take packets touch one")
    }

    fn offset(&self, place: Place) -> u64 {
        u64::from(self.activation.low16(place))
    }

    fn set_if_wanted(&mut self, to: Option<Place>, value: Bits) {
        if let Some(to) = to {
            self.activation.set(to, value);
        }
    }

    /// Executes operations in order, up to the first exit that is taken.
    fn code(&mut self, step: usize, code: &[Action]) -> Option<Ending> {
        for action in code {
            if action.guard.is_some_and(|guard| !self.activation.is_set(guard as Place)) {
                self.skip(&action.kind);
                continue;
            }
            if let Some(number) = action.number {
                self.observe(step, |observer, now| observer.before(number, now));
            }
            match &action.kind {
                ActionKind::Exit(ending) => return Some(*ending),
                ActionKind::If { condition, then, otherwise } => {
                    let branch = if self.activation.is_set(*condition) { then } else { otherwise };
                    let ending = self.code(step, branch);
                    if ending.is_some() {
                        return ending;
                    }
                }
                kind => self.execute(kind),
            }
            if let Some(number) = action.number {
                self.observe(step, |observer, now| observer.after(number, now));
            }
        }
        None
    }

    /// Passes the state of the thread to the observer.
    #[inline(always)]
    fn observe(&mut self, step: usize, look: impl FnOnce(&mut O, &Moment<'_>)) {
        let now = Moment {
            engine: EngineId(self.engines.len() as u32),
            step: StepId(step as u32),
            packet: self.hand.as_deref(),
            store: self.store,
            activation: self.activation,
            bases: &self.engine.bases,
            arrays: &self.engine.arrays,
        };
        look(self.observer, &now);
    }

    /// Executes an operation whose guard is 0: sets the result to zero, if there is one.
    fn skip(&mut self, kind: &ActionKind) {
        let to = match kind {
            ActionKind::Insert { to, .. }
            | ActionKind::Remove { to, .. }
            | ActionKind::Reset { to, .. }
            | ActionKind::Call { to, .. }
            | ActionKind::CallEngine { to, .. } => *to,
            _ => None,
        };
        if let Some(to) = to {
            self.activation.set(to, Bits::zero(self.activation.width(to)));
        }
    }

    fn execute(&mut self, kind: &ActionKind) {
        let activation = &mut *self.activation;
        match kind {
            ActionKind::NarrowUnary { op, a, width, to } => {
                activation.set_narrow(*to, narrow::unary(*op, activation.narrow(*a), *width));
            }
            ActionKind::NarrowBinary { op, a, b, width, to } => {
                activation.set_narrow(
                    *to,
                    narrow::binary(*op, activation.narrow(*a), activation.narrow(*b), *width),
                );
            }
            ActionKind::NarrowSlice { a, lo, width, to } => {
                activation.set_narrow(*to, narrow::cut(activation.narrow(*a) >> lo, *width));
            }
            ActionKind::NarrowConcat { parts, to } => {
                // A part of 128 bits is the only part, so the shift may return `None`.
                let join = |high: u128, (part, width): &(Place, u32)| {
                    high.checked_shl(*width).unwrap_or(0) | activation.narrow(*part)
                };
                activation.set_narrow(*to, parts.iter().fold(0, join));
            }
            ActionKind::Unary { op, a, to } => activation.set(*to, op.apply(&activation.bits(*a))),
            ActionKind::Binary { op, a, b, to } => {
                activation.set(*to, op.apply(&activation.bits(*a), &activation.bits(*b)));
            }
            ActionKind::Slice { a, lo, width, to } => {
                activation.set(*to, activation.slice(*a, *lo, *width))
            }
            ActionKind::Concat { parts, to } => {
                let (first, rest) = parts.split_first().expect("a concatenation has parts");
                let first = activation.bits(*first);
                activation.set(
                    *to,
                    rest.iter().fold(first, |high, low| high.concat(&activation.bits(*low))),
                );
            }
            ActionKind::Select { condition, then, otherwise, to } => {
                activation
                    .copy(if activation.is_set(*condition) { *then } else { *otherwise }, *to);
            }
            ActionKind::Table { elements, index, width, to } => {
                let element = elements.get(activation.narrow(*index) as usize);
                activation.set(*to, element.cloned().unwrap_or_else(|| Bits::zero(*width)));
            }
            ActionKind::Copy { from, to } => activation.copy(*from, *to),
            ActionKind::ReadElement { array, index, to } => {
                match array.at(activation.narrow(*index)) {
                    Some(element) => activation.copy(element, *to),
                    None => activation.set(*to, Bits::zero(activation.width(*to))),
                }
            }
            ActionKind::WriteElement { array, index, value } => {
                if let Some(element) = array.at(activation.narrow(*index)) {
                    activation.copy(*value, element);
                }
            }
            ActionKind::ReadPacket { base, bit, width, to } => {
                let field = self.hand().read(self.offset(*base), *bit, *width);
                self.activation.set(*to, field);
            }
            ActionKind::WritePacket { base, bit, value } => {
                let base = self.offset(*base);
                let value = self.activation.bits(*value);
                self.hand
                    .as_mut()
                    .expect("only engines that take packets touch one")
                    .write(base, *bit, &value);
            }
            ActionKind::ReadMeta { meta, to } => {
                let hand = self.hand();
                let value = match meta {
                    Meta::Ingress => u64::from(hand.ingress),
                    Meta::Egress => u64::from(hand.egress),
                    Meta::Length => hand.len() as u64,
                    Meta::Window => hand.window_len() as u64,
                    Meta::Arrival => hand.arrival_ns,
                };
                self.activation.set_narrow(*to, u128::from(value));
            }
            ActionKind::WriteEgress { value } => {
                self.hand_mut().egress = self.activation.low16(*value)
            }
            ActionKind::Insert { offset, count, to } => {
                let (offset, count) = (self.offset(*offset), self.offset(*count));
                let done = self.hand_mut().insert(offset, count);
                self.set_if_wanted(*to, Bits::bool(done));
            }
            ActionKind::Remove { offset, count, to } => {
                let (offset, count) = (self.offset(*offset), self.offset(*count));
                let done = self.hand_mut().remove(offset, count);
                self.set_if_wanted(*to, Bits::bool(done));
            }
            ActionKind::Reset { count, to } => {
                let count = self.offset(*count);
                let done = self.hand_mut().reset(count);
                self.set_if_wanted(*to, Bits::bool(done));
            }
            ActionKind::Call { offload, method, args, to } => {
                self.call(*offload, *method, args, *to)
            }
            ActionKind::CallEngine { offload, engine, args, to } => {
                self.call_engine(*offload, *engine, args, *to);
            }
            ActionKind::If { .. } | ActionKind::Exit(_) => unreachable!("control stays in `code`"),
        }
    }

    fn take_args(&mut self, args: &[Place]) -> Vec<Bits> {
        let mut taken = std::mem::take(&mut self.activation.args);
        taken.clear();
        taken.extend(args.iter().map(|a| self.activation.bits(*a)));
        taken
    }

    fn call(&mut self, offload: usize, method: usize, args: &[Place], to: Option<Place>) {
        let args = self.take_args(args);
        let Content::Kind { instance, .. } = &mut self.store.slots[offload].content else {
            unreachable!("the store suits the program")
        };
        let mut env = Env {
            packet: self.hand.as_deref_mut(),
            now_ns: self.origin.arrival_ns,
            sequence: self.origin.sequence,
        };
        let reply = instance.call(method, &args, &mut env);
        self.activation.args = args;
        self.set_if_wanted(to, reply);
    }

    /// Runs a called engine to completion, with a context and offloads of its own.
    fn call_engine(&mut self, offload: usize, engine: usize, args: &[Place], to: Option<Place>) {
        let args = self.take_args(args);
        let Content::Engine(store) = &mut self.store.slots[offload].content else {
            unreachable!("the store suits the program")
        };
        let (callees, own) = self.callees.split_at_mut(engine);
        let reply = Thread {
            engine: &self.engines[engine],
            activation: &mut own[0],
            engines: &self.engines[..engine],
            callees,
            store,
            hand: None,
            origin: self.origin,
            observer: self.observer,
        }
        .reply(&args);
        self.activation.args = args;
        self.set_if_wanted(to, reply);
    }
}

/// How a thread ended.
enum Last {
    Finish,
    Reply(Bits),
    Drop(Reason),
    ToCpu(Reason),
    Done,
}
