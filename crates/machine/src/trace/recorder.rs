//! The observer that records a trace.

use std::any::Any;
use std::collections::HashMap;
use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_compile::names::{Call as CallNames, Form, Names};
use wireloom_ir::{
    Code, Exit, Loc, Meta, Moment, Observer, OffloadTarget, Op, OpKind, Program, Reason,
    ReasonSetId, Value,
};
use wireloom_net::PacketInHand;
use wireloom_offloads::Content;
use wireloom_offloads::kinds::lpm::Lpm;
use wireloom_offloads::registry::kind;

use super::words::{parts, value_text};
use super::{Call, Change, Event, Line, Named, Step, Trace};
use crate::{key_text, reason_name};

/// Records the events of one packet.
pub struct Recorder<'a> {
    program: &'a Program,
    names: &'a Names,
    indices: HashMap<(u32, u32), Rc<Index<'a>>>,
    /// The steps so far of the packet engine, then the steps of each called engine that has not
    /// replied yet.
    threads: Vec<Thread>,
    /// The values before operations that have not completed yet.
    pending: Vec<Before>,
    /// The number of steps that may still be recorded.
    room: u64,
    omitted: u64,
}

/// The steps of a thread.
#[derive(Default)]
struct Thread {
    steps: Vec<Step>,
    /// Whether the current step is omitted.
    is_omitted: bool,
}

/// The operations of a step.
struct Index<'a> {
    ops: Vec<&'a Op>,
    /// The index of the operation that defines each value.
    definitions: HashMap<Value, usize>,
}

impl<'a> Index<'a> {
    fn definition(&self, value: Value) -> Option<&'a Op> {
        self.definitions.get(&value).map(|&number| self.ops[number])
    }

    /// The call that defines a value, if one does.
    fn call(&self, value: Value) -> Option<&'a Op> {
        self.definition(value).filter(|op| matches!(op.kind, OpKind::Call { .. }))
    }
}

/// A value before an operation.
enum Before {
    Value(Bits),
    Length(usize),
    Call { call: Box<Call>, packet: Option<PacketInHand> },
}

impl<'a> Recorder<'a> {
    /// Creates a recorder of at most `most_steps` steps.
    pub fn new(program: &'a Program, names: &'a Names, most_steps: u64) -> Self {
        Self {
            program,
            names,
            indices: HashMap::new(),
            threads: vec![Thread::default()],
            pending: Vec::new(),
            room: most_steps,
            omitted: 0,
        }
    }

    /// Returns the trace.
    pub fn finish(mut self) -> Trace {
        Trace { steps: self.threads.swap_remove(0).steps, omitted_steps: self.omitted }
    }

    fn index(&mut self, now: &Moment<'_>) -> Rc<Index<'a>> {
        let program = self.program;
        let create = || {
            let mut index = Index { ops: Vec::new(), definitions: HashMap::new() };
            program.engines[now.engine.index()].steps[now.step.index()].for_each_op(|op| {
                for result in &op.results {
                    index.definitions.insert(*result, index.ops.len());
                }
                index.ops.push(op);
            });
            Rc::new(index)
        };
        Rc::clone(self.indices.entry((now.engine.0, now.step.0)).or_insert_with(create))
    }

    /// The current step, unless it is omitted.
    fn step_now(&mut self) -> Option<&mut Step> {
        self.threads.last_mut().filter(|thread| !thread.is_omitted)?.steps.last_mut()
    }

    /// Records an event at a line of the source.
    fn note(&mut self, loc: Loc, event: Event) {
        let program = self.program;
        let file = || program.files.get(loc.file as usize).cloned().unwrap_or_default();
        let names = self.names;
        let Some(step) = self.step_now() else { return };
        match step.lines.last_mut() {
            Some(line) if line.line == loc.line && line.file == file() => {
                let is_told = |told: &Event| match (told, &event) {
                    (Event::Value(told), Event::Value(value)) => told == value,
                    _ => false,
                };
                if !line.events.iter().any(is_told) {
                    line.events.push(event);
                }
            }
            _ => step.lines.push(Line {
                file: file(),
                line: loc.line,
                text: names.line(loc).unwrap_or_default().to_owned(),
                events: vec![event],
            }),
        }
    }

    fn named(&self, now: &Moment<'_>, name: &str, bits: &Bits) -> Named {
        let form = self.names.form(now.engine, name, bits.width());
        Named { name: name.to_owned(), value: value_text(name, form, bits) }
    }

    fn change(&self, now: &Moment<'_>, name: &str, from: &Bits, to: &Bits) -> Change {
        let form = self.names.form(now.engine, name, to.width());
        let text = |bits| value_text(name, form, bits);
        Change { name: name.to_owned(), from: text(from), to: text(to) }
    }

    /// Records a change of the context, if the value differs.
    fn context(&mut self, now: &Moment<'_>, name: &str, from: &Bits, to: &Bits) {
        if from == to {
            return;
        }
        let change = self.change(now, name, from, to);
        if let Some(step) = self.step_now() {
            step.context.push(change);
        }
    }

    /// Returns the named values from which a value was computed.
    fn sources(&self, index: &Index<'a>, value: Value, now: &Moment<'_>) -> Vec<Named> {
        let step = &self.program.engines[now.engine.index()].steps[now.step.index()];
        let (mut found, mut seen, mut open) = (Vec::new(), vec![value], vec![value]);
        while let Some(value) = open.pop() {
            let Some(op) = index.definition(value) else { continue };
            let name = match (&op.kind, &step.values[value.index()].name) {
                (OpKind::Const(_), _) => continue,
                (OpKind::Slice(whole, low), _) if index.call(*whole).is_some() => {
                    let part = self.part_of_reply(index, *whole, *low, value, now);
                    found.extend(part.filter(|part| !found.contains(part)));
                    continue;
                }
                (_, Some(name)) => name.clone(),
                (OpKind::ReadMeta(meta), None) => format!("packet.{}", meta.name()),
                // The call shows its reply.
                (OpKind::Call { .. }, None) => continue,
                (OpKind::If { condition, then, otherwise }, None) => {
                    let arm = if now.value(*condition).is_zero() { otherwise } else { then };
                    let at = op.results.iter().position(|result| *result == value);
                    open.extend(at.map(|at| arm.1[at]).filter(|v| !seen.contains(v)));
                    continue;
                }
                (kind, None) => {
                    let operands = kind.operands();
                    for operand in operands.into_iter().rev().filter(|v| !seen.contains(v)) {
                        open.push(operand);
                    }
                    seen.extend(kind.operands());
                    continue;
                }
            };
            let named = self.named(now, &name, &now.value(value));
            if !found.contains(&named) {
                found.push(named);
            }
        }
        found
    }

    /// The part of a call's reply that a value stands for, named after the offload.
    fn part_of_reply(
        &self,
        index: &Index<'a>,
        whole: Value,
        low: u32,
        part: Value,
        now: &Moment<'_>,
    ) -> Option<Named> {
        let OpKind::Call { offload, method, .. } = index.call(whole)?.kind else { return None };
        let names = self.names.call(now.engine, offload, method)?;
        let mut end = now.value(whole).width();
        let leaf = names.reply.iter().find(|leaf| {
            end = end.saturating_sub(leaf.width);
            end == low
        })?;
        let offload = &self.program.engines[now.engine.index()].offloads[offload.index()].name;
        let name = format!("{offload}.{}", leaf.name);
        let value = value_text(&name, &leaf.form, &now.value(part));
        Some(Named { name, value })
    }

    fn condition(&mut self, index: &Index<'a>, op: &Op, condition: Value, now: &Moment<'_>) {
        let mut because = self.sources(index, condition, now);
        let Some(step) = self.step_now() else { return };
        let line = step.lines.last().filter(|line| line.line == op.loc.line);
        let told = |named: &Named| {
            line.is_some_and(|line| {
                line.events.iter().any(|event| match event {
                    Event::Value(value) => value == named,
                    Event::Condition { because, .. } => because.contains(named),
                    _ => false,
                })
            })
        };
        because.retain(|named| !told(named));
        let held = !now.value(condition).is_zero();
        self.note(op.loc, Event::Condition { held, because });
    }

    fn call(&self, op: &Op, now: &Moment<'_>) -> Option<Call> {
        let OpKind::Call { offload: id, method, args } = &op.kind else { return None };
        let offload = &self.program.engines[now.engine.index()].offloads[id.index()];
        let unknown = CallNames::default();
        let names = self.names.call(now.engine, *id, *method).unwrap_or(&unknown);
        let args: Vec<Bits> = args.iter().map(|arg| now.value(*arg)).collect();
        let leaves = names.args.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
        let arguments = args.iter().zip(leaves).flat_map(|(arg, leaves)| parts(leaves, arg));
        let mut call = Call {
            offload: offload.name.clone(),
            kind: String::new(),
            method: "call".to_owned(),
            arguments: arguments.collect(),
            reply: Vec::new(),
            found: None,
            steps: Vec::new(),
        };
        match &offload.target {
            OffloadTarget::Engine(engine) => {
                call.kind = self.program.engines[engine.index()].name.clone();
            }
            OffloadTarget::Kind(config) => {
                call.kind = config.kind.clone();
                call.method = kind(&config.kind)?.methods[*method].name.to_owned();
                if let Content::Kind { instance, .. } = &now.store.slots[id.index()].content
                    && let Some(lpm) = (instance.as_ref() as &dyn Any).downcast_ref::<Lpm>()
                {
                    let found = lpm.longest_prefix(&args[0]);
                    call.found = Some(match found {
                        Some(key) => format!("prefix {}", key_text(config, &key)),
                        None => "no prefix matches".to_owned(),
                    });
                    // A 32-bit key of such a table is an address.
                    if let ([argument], 32) = (&mut call.arguments[..], args[0].width()) {
                        argument.value = value_text("address", &Form::Number, &args[0]);
                    }
                }
            }
        }
        Some(call)
    }

    fn called(&mut self, op: &Op, mut call: Call, before: Option<PacketInHand>, now: &Moment<'_>) {
        let OpKind::Call { offload, method, .. } = &op.kind else { return };
        if let (Some(reply), Some(names)) =
            (op.results.first(), self.names.call(now.engine, *offload, *method))
        {
            call.reply = parts(&names.reply, &now.value(*reply));
        }
        let what = format!("{}.{} changes the packet", call.offload, call.method);
        self.note(op.loc, Event::Call(call));
        if let (Some(before), Some(after)) = (before, now.packet)
            && before.bytes() != after.bytes()
        {
            let (from, to) = (before.len() as u64, after.len() as u64);
            self.note(op.loc, Event::Resize { what, from, to });
        }
    }

    fn end(&mut self, exit: &Exit, loc: Loc, now: &Moment<'_>) {
        let engine = &self.program.engines[now.engine.index()];
        let reason = |value: Value, set: ReasonSetId| {
            let number = now.value(value).low_u64() as u16;
            reason_name(self.program, Reason::Program(set, number))
        };
        let port = now.packet.map_or(0, |packet| packet.egress);
        let text = match exit {
            Exit::Next(step) => format!("next {}", engine.steps[step.index()].name),
            Exit::Emit(step, copied) => {
                let next = &engine.steps[step.index()].name;
                let what = match copied.bytes {
                    None => "a copy".to_owned(),
                    Some((offset, count)) => {
                        let number = |value| now.value(value).low_u64();
                        format!("a copy of {} bytes from {} on", number(count), number(offset))
                    }
                };
                let to = match copied.cpu {
                    None => format!("is sent to port {port}"),
                    Some((value, set)) => format!("goes to the cpu: {}", reason(value, set)),
                };
                format!("{what} {to}; next {next}")
            }
            Exit::Finish => format!("sent to port {port}"),
            Exit::Reply(value) => {
                format!("reply {}", value_text("", &Form::Number, &now.value(*value)))
            }
            Exit::Drop(value, set) => format!("dropped: {}", reason(*value, *set)),
            Exit::ToCpu(value, set) => format!("to the cpu: {}", reason(*value, *set)),
            Exit::Done => "done; nothing is sent".to_owned(),
        };
        if loc.line > 0 {
            self.note(loc, Event::End(text.clone()));
        }
        if let Some(step) = self.step_now() {
            step.end = Some(text);
        }
    }
}

impl Observer for Recorder<'_> {
    fn step(&mut self, now: &Moment<'_>) {
        let thread = self.threads.last_mut().expect("a thread runs");
        thread.is_omitted = self.room == 0;
        if thread.is_omitted {
            self.omitted += 1;
            return;
        }
        self.room -= 1;
        let engine = &self.program.engines[now.engine.index()];
        let step = &engine.steps[now.step.index()];
        assert!(matches!(step.code, Code::Sequential(_)), "a program before any pass");
        let started = Step {
            engine: engine.name.clone(),
            step: step.name.clone(),
            file: self.program.files.get(step.loc.file as usize).cloned().unwrap_or_default(),
            line: step.loc.line,
            lines: Vec::new(),
            context: Vec::new(),
            end: None,
        };
        thread.steps.push(started);
    }

    fn before(&mut self, operation: u32, now: &Moment<'_>) {
        let index = self.index(now);
        let op = index.ops[operation as usize];
        let length = || now.packet.map_or(0, PacketInHand::len);
        match &op.kind {
            OpKind::If { condition, .. } if op.loc.line > 0 => {
                self.condition(&index, op, *condition, now);
            }
            OpKind::WritePacket { base, bit, value } => {
                let width = now.value(*value).width();
                let base = now.value(*base).low_u64();
                let old = now.packet.map(|packet| packet.read(base, *bit, width));
                self.pending.push(Before::Value(old.unwrap_or_else(|| Bits::zero(width))));
            }
            OpKind::WriteMeta(Meta::Egress, _) => {
                let port = now.packet.map_or(0, |packet| packet.egress);
                self.pending.push(Before::Value(Bits::new(16, port.into())));
            }
            OpKind::WriteContext(id, _) => {
                self.pending.push(Before::Value(now.context(*id)));
            }
            OpKind::WriteElement { array, index, value } => {
                let old = now.element(*array, &now.value(*index));
                self.pending.push(Before::Value(old.unwrap_or_else(|| now.value(*value))));
            }
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
                self.pending.push(Before::Length(length()));
            }
            OpKind::Call { offload, method, .. } => {
                let Some(call) = self.call(op, now) else { return };
                let target =
                    &self.program.engines[now.engine.index()].offloads[offload.index()].target;
                let writes = match target {
                    OffloadTarget::Engine(_) => {
                        self.threads.push(Thread::default());
                        false
                    }
                    OffloadTarget::Kind(config) => {
                        kind(&config.kind).is_some_and(|kind| kind.methods[*method].writes_packet)
                    }
                };
                let packet = if writes { now.packet.cloned() } else { None };
                self.pending.push(Before::Call { call: Box::new(call), packet });
            }
            OpKind::Exit(exit) => self.end(exit, op.loc, now),
            _ => {}
        }
    }

    fn after(&mut self, operation: u32, now: &Moment<'_>) {
        let index = self.index(now);
        let op = index.ops[operation as usize];
        match &op.kind {
            OpKind::WritePacket { base, bit, value } => {
                let Some(Before::Value(old)) = self.pending.pop() else { return };
                let (base, new) = (now.value(*base).low_u64(), now.value(*value));
                let read = now.packet.map(|packet| packet.read(base, *bit, new.width()));
                let outside = read.as_ref() != Some(&new);
                let leaf = self.names.written(now.engine, op.loc, *bit, new.width());
                let (name, form) = match leaf {
                    Some(leaf) => (leaf.name.clone(), &leaf.form),
                    None => (format!("bit {bit} after byte {base}"), &Form::Number),
                };
                let text = |bits| value_text(&name, form, bits);
                let change = Change { from: text(&old), to: text(&new), name: name.clone() };
                self.note(op.loc, Event::Edit { change, outside });
            }
            OpKind::WriteMeta(meta, value) => {
                let Some(Before::Value(old)) = self.pending.pop() else { return };
                let name = format!("packet.{}", meta.name());
                let change = self.change(now, &name, &old, &now.value(*value));
                self.note(op.loc, Event::Edit { change, outside: false });
            }
            OpKind::WriteContext(id, value) => {
                let Some(Before::Value(old)) = self.pending.pop() else { return };
                let variable = &self.program.engines[now.engine.index()].context[id.index()];
                self.context(now, &variable.name, &old, &now.value(*value));
            }
            OpKind::WriteElement { array, index, value } => {
                let Some(Before::Value(old)) = self.pending.pop() else { return };
                let array = &self.program.engines[now.engine.index()].arrays[array.index()];
                let name = format!("{}[{}]", array.name, now.value(*index).low_u64());
                self.context(now, &name, &old, &now.value(*value));
            }
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
                let Some(Before::Length(from)) = self.pending.pop() else { return };
                let number = |value: &Value| now.value(*value).low_u64();
                let what = match &op.kind {
                    OpKind::Insert { offset, count } => {
                        format!("{} zero bytes inserted at byte {}", number(count), number(offset))
                    }
                    OpKind::Remove { offset, count } => {
                        format!("{} bytes removed at byte {}", number(count), number(offset))
                    }
                    OpKind::Reset { count } => {
                        format!("replaced by {} zero bytes", number(count))
                    }
                    _ => return,
                };
                let refused = op.results.first().is_some_and(|done| now.value(*done).is_zero());
                let what = if refused { format!("refused: {what}") } else { what };
                let to = now.packet.map_or(0, PacketInHand::len) as u64;
                self.note(op.loc, Event::Resize { what, from: from as u64, to });
            }
            OpKind::Call { offload, .. } => {
                let Some(Before::Call { mut call, packet }) = self.pending.pop() else { return };
                let target =
                    &self.program.engines[now.engine.index()].offloads[offload.index()].target;
                if matches!(target, OffloadTarget::Engine(_)) {
                    call.steps = self.threads.pop().unwrap_or_default().steps;
                }
                self.called(op, *call, packet, now);
            }
            OpKind::ReadContext(_) | OpKind::If { .. } => {}
            kind => {
                let [result] = op.results[..] else { return };
                let of_reply =
                    matches!(kind, OpKind::Slice(whole, _) if index.call(*whole).is_some());
                let step = &self.program.engines[now.engine.index()].steps[now.step.index()];
                if let (false, Some(name)) = (of_reply, &step.values[result.index()].name) {
                    let value = self.named(now, name, &now.value(result));
                    self.note(op.loc, Event::Value(value));
                }
            }
        }
    }
}
