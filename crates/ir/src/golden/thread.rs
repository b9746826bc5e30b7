//! A thread: one packet (or one call) on its way through the steps of an engine. The meaning of each operation.

use wireloom_bits::Bits;
use wireloom_net::PacketInHand;
use wireloom_offloads::{Content, Env, Store};

use super::decode::{Action, ActionKind, Ending, Engine, Place};
use super::frame::Frame;
use super::narrow;
use crate::{MAX_BACKWARD_JUMPS, Meta, Output, Reason, Verdict};

/// The arriving packet for which a thread runs, be it directly or as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its number among all.
    pub sequence: u64,
    /// When it arrived, in nanoseconds.
    pub arrival_ns: u64,
}

/// A thread and all that it can reach.
pub(super) struct Thread<'a> {
    pub engine: &'a Engine,
    pub frame: &'a mut Frame,
    /// The engines that stand before this one, which it may call, and their frames.
    pub engines: &'a [Engine],
    pub callees: &'a mut [Frame],
    pub store: &'a mut Store,
    /// The packet in hand; a called engine has none.
    pub hand: Option<&'a mut PacketInHand>,
    pub origin: Origin,
}

impl Thread<'_> {
    /// Runs the thread of an engine that takes packets from its first step to its end.
    pub(super) fn run(&mut self, sink: &mut dyn FnMut(Output<'_>)) {
        self.frame.begin();
        let verdict = match self.steps(sink) {
            Last::Finish => Verdict::Sent { port: self.hand().egress },
            Last::Drop(reason) => Verdict::Dropped(reason),
            Last::ToCpu(reason) => Verdict::ToCpu(reason),
            Last::Done | Last::Reply(_) => return,
        };
        self.send(verdict, sink);
    }

    /// Runs the thread of a called engine; answers its reply.
    pub(super) fn reply(&mut self, args: &[Bits]) -> Bits {
        self.frame.begin();
        for (var, arg) in self.engine.params.iter().zip(args) {
            self.frame.set(*var, arg.clone());
        }
        match self.steps(&mut |_| {}) {
            Last::Reply(reply) => reply,
            // A runaway thread.
            _ => Bits::zero(self.engine.reply.expect("a called engine replies")),
        }
    }

    /// Executes steps until the thread ends.
    fn steps(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Last {
        let engine = self.engine;
        let mut step = 0;
        let mut backward_jumps = 0;
        loop {
            // A verified step in which no exit happens ends the thread as `done` does.
            let next = match self.code(&engine.steps[step]).unwrap_or(Ending::Done) {
                Ending::Next(next) => next,
                Ending::Emit(next) => {
                    self.send(Verdict::Sent { port: self.hand().egress }, sink);
                    next
                }
                Ending::Finish => return Last::Finish,
                Ending::Reply(value) => return Last::Reply(self.frame.bits(value)),
                Ending::Drop(reason, set) => {
                    return Last::Drop(Reason::Program(set, self.frame.low16(reason)));
                }
                Ending::ToCpu(reason, set) => {
                    return Last::ToCpu(Reason::Program(set, self.frame.low16(reason)));
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

    fn send(&self, verdict: Verdict, sink: &mut dyn FnMut(Output<'_>)) {
        let hand = self.hand();
        sink(Output {
            sequence: self.origin.sequence,
            arrival_ns: self.origin.arrival_ns,
            ingress: hand.ingress,
            verdict,
            bytes: hand.bytes(),
        });
    }

    fn hand(&self) -> &PacketInHand {
        self.hand.as_ref().expect("only engines that take packets touch one")
    }

    fn hand_mut(&mut self) -> &mut PacketInHand {
        self.hand.as_mut().expect("only engines that take packets touch one")
    }

    fn offset(&self, place: Place) -> u64 {
        u64::from(self.frame.low16(place))
    }

    fn set_if_wanted(&mut self, to: Option<Place>, value: Bits) {
        if let Some(to) = to {
            self.frame.set(to, value);
        }
    }

    /// Executes operations in order up to the first exit that happens.
    fn code(&mut self, code: &[Action]) -> Option<Ending> {
        for action in code {
            if action.guard.is_some_and(|guard| !self.frame.is_set(guard)) {
                self.skip(&action.kind);
                continue;
            }
            match &action.kind {
                ActionKind::Exit(ending) => return Some(*ending),
                ActionKind::If { condition, then, otherwise } => {
                    let branch = if self.frame.is_set(*condition) { then } else { otherwise };
                    let ending = self.code(branch);
                    if ending.is_some() {
                        return ending;
                    }
                }
                kind => self.execute(kind),
            }
        }
        None
    }

    /// What an operation leaves behind whose guard does not hold: a zero result, if it has one.
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
            self.frame.set(to, Bits::zero(self.frame.width(to)));
        }
    }

    fn execute(&mut self, kind: &ActionKind) {
        let frame = &mut *self.frame;
        match kind {
            ActionKind::NarrowUnary { op, a, width, to } => {
                frame.set_narrow(*to, narrow::unary(*op, frame.narrow(*a), *width));
            }
            ActionKind::NarrowBinary { op, a, b, width, to } => {
                frame.set_narrow(*to, narrow::binary(*op, frame.narrow(*a), frame.narrow(*b), *width));
            }
            ActionKind::NarrowSlice { a, lo, width, to } => {
                frame.set_narrow(*to, narrow::cut(frame.narrow(*a) >> lo, *width));
            }
            ActionKind::NarrowConcat { parts, to } => {
                // A part of 128 bits is the only one.
                let join = |high: u128, (part, width): &(Place, u32)| {
                    high.checked_shl(*width).unwrap_or(0) | frame.narrow(*part)
                };
                frame.set_narrow(*to, parts.iter().fold(0, join));
            }
            ActionKind::Unary { op, a, to } => frame.set(*to, op.apply(&frame.bits(*a))),
            ActionKind::Binary { op, a, b, to } => {
                frame.set(*to, op.apply(&frame.bits(*a), &frame.bits(*b)));
            }
            ActionKind::Slice { a, lo, width, to } => frame.set(*to, frame.slice(*a, *lo, *width)),
            ActionKind::Concat { parts, to } => {
                let (first, rest) = parts.split_first().expect("a concatenation has parts");
                let first = frame.bits(*first);
                frame.set(*to, rest.iter().fold(first, |high, low| high.concat(&frame.bits(*low))));
            }
            ActionKind::Select { condition, then, otherwise, to } => {
                frame.copy(if frame.is_set(*condition) { *then } else { *otherwise }, *to);
            }
            ActionKind::Copy { from, to } => frame.copy(*from, *to),
            ActionKind::ReadPacket { base, bit, width, to } => {
                let field = self.hand().read(self.offset(*base), *bit, *width);
                self.frame.set(*to, field);
            }
            ActionKind::WritePacket { base, bit, value } => {
                let base = self.offset(*base);
                let value = self.frame.bits(*value);
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
                self.frame.set_narrow(*to, u128::from(value));
            }
            ActionKind::WriteEgress { value } => self.hand_mut().egress = self.frame.low16(*value),
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
            ActionKind::Call { offload, method, args, to } => self.call(*offload, *method, args, *to),
            ActionKind::CallEngine { offload, engine, args, to } => {
                self.call_engine(*offload, *engine, args, *to);
            }
            ActionKind::If { .. } | ActionKind::Exit(_) => unreachable!("control stays in `code`"),
        }
    }

    fn take_args(&mut self, args: &[Place]) -> Vec<Bits> {
        let mut taken = std::mem::take(&mut self.frame.args);
        taken.clear();
        taken.extend(args.iter().map(|a| self.frame.bits(*a)));
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
        self.frame.args = args;
        self.set_if_wanted(to, reply);
    }

    /// A called engine runs to its end, with a context and offloads of its own.
    fn call_engine(&mut self, offload: usize, engine: usize, args: &[Place], to: Option<Place>) {
        let args = self.take_args(args);
        let Content::Engine(store) = &mut self.store.slots[offload].content else {
            unreachable!("the store suits the program")
        };
        let (callees, own) = self.callees.split_at_mut(engine);
        let reply = Thread {
            engine: &self.engines[engine],
            frame: &mut own[0],
            engines: &self.engines[..engine],
            callees,
            store,
            hand: None,
            origin: self.origin,
        }
        .reply(&args);
        self.frame.args = args;
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
