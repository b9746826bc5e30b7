//! An engine as a C function, or one for each of its parts: steps are labels, the context is local variables.

use std::ops::Range;

use wireloom_ir::{Engine, EngineKind, Exit, OffloadTarget, Op, OpKind, Program, StepId, Value};
use wireloom_offloads::registry;

use super::super::conflict::reads_packet;
use super::super::effects;
use super::super::emitter::{Effects, Emitter, Scope};
use super::super::names::Names;
use super::super::ops::Text;
use super::super::types::{Class, Model};
use super::super::writer::{Writer, mentions};
use super::elements::Caller;
use super::handover::Handovers;
use super::message::{goes_by_place, words};
use super::order::Releases;
use super::replies::{self, Split, Variable, Wait};
use super::{Refused, symbol};

const MODEL: Model = Model::Bits32;

/// An engine, ready to be written.
pub struct EngineFunction<'a> {
    caller: Caller<'a>,
    program: &'a Program,
    engine: &'a Engine,
    function: String,
    /// For each offload: its first object, from the engine's own.
    objects: Vec<usize>,
    /// For each engine of the program: the function that a call of it executes.
    callees: Vec<String>,
    split: Split,
    /// For each context variable, those of calls included: the expression that is it.
    context: Vec<String>,
    labels: Vec<String>,
    /// If it is cut.
    handovers: Option<Handovers<'a>>,
    releases: Releases,
}

impl<'a> EngineFunction<'a> {
    /// Prepares an engine, whose calls use tickets from `first_ticket` on.
    ///
    /// # Errors
    /// If there are not enough tickets.
    pub fn new(
        caller: Caller<'a>,
        function: String,
        callees: Vec<String>,
        first_ticket: u32,
        handovers: Option<Handovers<'a>>,
    ) -> Result<Self, Refused> {
        let Caller { program, id, elements } = caller;
        let engine = caller.engine();
        let objects = elements.first_objects(program, id);
        let split = replies::split(&caller, first_ticket)?;
        let releases = Releases::new(&caller);
        let (mut names, mut labels) = (Names::default(), Names::default());
        let mut context: Vec<String> =
            engine.context.iter().map(|var| format!("c_{}", names.give(&var.name))).collect();
        context.extend(split.variables.iter().map(|variable| match variable {
            Variable::Wait(_) => String::new(),
            Variable::Leaf(text) => text.clone(),
        }));
        let labels = engine.steps.iter().map(|step| format!("step_{}", labels.give(&step.name))).collect();
        Ok(Self {
            caller,
            program,
            engine,
            function,
            objects,
            callees,
            split,
            context,
            labels,
            handovers,
            releases,
        })
    }

    /// Writes the function, or those of its parts.
    pub fn write(&self, out: &mut Writer) {
        let all = 0..self.engine.steps.len();
        match (&self.engine.kind, &self.handovers) {
            (EngineKind::Packet, None) => self.write_packets("wl_main", all, &[], out),
            (EngineKind::Packet, Some(handovers)) => {
                for part in 0..handovers.partition().parts() {
                    let steps = handovers.partition().steps(self.engine, part);
                    let entry = handovers.entry(part, &self.context, &self.labels);
                    self.write_packets(&part_function(part), steps, &entry, out);
                }
                self.write_parts(handovers.partition().parts(), out);
            }
            (EngineKind::Call { params, reply }, _) => {
                let params: Vec<usize> = params.iter().map(|p| p.index()).collect();
                self.write_call(&params, *reply, &self.body(all, &[]), out);
            }
        }
    }

    /// Statements of steps, of which `before` stands in front.
    fn body(&self, range: Range<usize>, before: &[String]) -> Vec<String> {
        let mut body = before.to_vec();
        let steps: Vec<Vec<String>> = range.clone().map(|step| self.step(step)).collect();
        for (index, lines) in range.zip(&steps) {
            let step = &self.engine.steps[index];
            let file = self.program.files.get(step.loc.file as usize).filter(|_| step.loc.line != 0);
            let place = file
                .map(|file| format!(", {}:{}", file.rsplit('/').next().unwrap_or(file), step.loc.line))
                .unwrap_or_default();
            body.push(format!("/* Step `{}`{place}. */", step.name.replace("*/", "* /")));
            if steps.iter().flatten().chain(before).any(|line| mentions(line, &self.labels[index])) {
                body.push(format!("{}:", self.labels[index]));
            }
            body.push(format!("WL_STEP(\"{}\");", symbol(step)));
            body.push("{".into());
            body.extend(
                self.releases.at(index).into_iter().map(|object| format!("    wl_release({object});")),
            );
            body.extend(lines.iter().map(|line| format!("    {line}")));
            body.push("}".into());
        }
        body
    }

    /// Writes a function that executes some steps for one packet after the other; `entry` says where to begin, if not at the first of them.
    fn write_packets(&self, function: &str, steps: Range<usize>, entry: &[String], out: &mut Writer) {
        let names: Vec<&str> =
            [steps.start, steps.end - 1].map(|step| self.engine.steps[step].name.as_str()).into();
        out.comment(&match self.handovers {
            None => format!("Engine `{}`: packets, one after the other.", self.engine.name),
            Some(_) => format!(
                "Engine `{}`, steps `{}`: packets, one after the other.",
                self.engine.name,
                names.join("` to `")
            ),
        });
        let attributes = if self.handovers.is_none() { "used" } else { "noinline, noreturn" };
        let parameters = if self.handovers.is_none() { "uint32_t thread, uint32_t part" } else { "void" };
        out.line(format!("__attribute__(({attributes})) static void {function}({parameters})"));
        out.line("{");
        let body = self.body(steps, entry);
        let has = |name: &str| body.iter().any(|line| mentions(line, name));
        out.line("    for (;;) {");
        out.line("        struct wl_packet hand, *const p = &hand;");
        if has("leave") {
            out.line("        uint32_t verdict;");
        }
        for variable in self.variables(&[]) {
            out.line(format!("        {variable}"));
        }
        if has("backward") {
            out.line("        uint32_t backward = 0;");
        }
        if entry.is_empty() {
            out.line("        wl_receive(p);");
        }
        body.iter().for_each(|line| out.line(format!("        {line}")));
        if has("leave") {
            out.line("    leave:");
            out.line("        wl_send(verdict);");
        }
        if has("next") {
            out.line("    next:;");
        }
        out.line("    }");
        out.line("}");
        out.blank();
    }

    /// Writes what each thread begins with: its part.
    fn write_parts(&self, parts: usize, out: &mut Writer) {
        out.comment(&format!("Engine `{}`: the part of a thread.", self.engine.name));
        out.line("__attribute__((used)) static void wl_main(uint32_t thread, uint32_t part)");
        out.line("{");
        for part in 1..parts {
            out.line(format!("    if (part == {part})"));
            out.line(format!("        {}();", part_function(part)));
        }
        out.line(format!("    {}();", part_function(0)));
        out.line("}");
    }

    fn write_call(&self, params: &[usize], reply: u32, body: &[String], out: &mut Writer) {
        let parameters = params
            .iter()
            .map(|p| format!("{} {}", MODEL.c_type(self.engine.context[*p].width), self.context[*p]));
        let all: Vec<String> = std::iter::once("uint32_t objects".to_owned()).chain(parameters).collect();
        out.comment(&format!("Engine `{}`: one call. Its offloads begin at `objects`.", self.engine.name));
        out.line(format!("WL_FUNCTION {} {}({})", MODEL.c_type(reply), self.function, all.join(", ")));
        out.line("{");
        for variable in self.variables(params) {
            out.line(format!("    {variable}"));
        }
        if body.iter().any(|line| mentions(line, "backward")) {
            out.line("    uint32_t backward = 0;");
        }
        out.line("    (void)objects;");
        body.iter().for_each(|line| out.line(format!("    {line}")));
        out.line("}");
        out.blank();
    }

    /// Definitions of the context variables but those in `given`.
    fn variables(&self, given: &[usize]) -> impl Iterator<Item = String> {
        let variables = self.engine.context.iter().zip(&self.context).enumerate();
        variables.filter(|(index, _)| !given.contains(index)).map(|(_, (var, name))| {
            let class = MODEL.class(var.width);
            format!("{} {name} = {}; /* u{} */", class.c_type(), class.zero(), var.width)
        })
    }

    fn step(&self, index: usize) -> Vec<String> {
        let engine = &self.split.engine;
        let is_packet = self.engine.kind == EngineKind::Packet;
        let scope = Scope {
            program: self.program,
            engine,
            step: &engine.steps[index],
            context: &self.context,
            packet: if is_packet { "p" } else { "((struct wl_packet *)0)" },
            model: MODEL,
        };
        let waits = &self.split.waits[index];
        let mut emitter = Emitter::new(scope, self.split.ops[index].iter().collect(), &[]);
        let mut calls_left = vec![0; engine.offloads.len()];
        for op in &self.split.ops[index] {
            if let OpKind::Call { offload, .. } = &op.kind {
                calls_left[offload.index()] += 1;
            }
        }
        emitter.run(&mut StepEffects { function: self, from: index, waits: waits.iter(), calls_left });
        let body = emitter.finish();
        let mut lines: Vec<String> =
            waits.iter().flat_map(Wait::words).map(|(name, _)| format!("uint32_t {name} = 0;")).collect();
        lines.extend(body);
        if !lines.last().is_some_and(|line| line.starts_with("return ") || line.starts_with("goto ")) {
            lines.extend(self.end("WL_DONE".into()));
        }
        lines
    }

    /// Statements that end the thread of a packet; a called engine replies zero.
    fn end(&self, verdict: String) -> Vec<String> {
        match &self.engine.kind {
            EngineKind::Packet => vec![format!("verdict = {verdict};"), "goto leave;".into()],
            EngineKind::Call { reply, .. } => {
                let class = MODEL.class(*reply);
                vec![match class {
                    Class::Wide(_) => format!("return ({}){};", class.c_type(), class.zero()),
                    _ => format!("return {};", class.zero()),
                }]
            }
        }
    }

    /// Statements that go on at a step.
    fn jump(&self, from: usize, to: StepId) -> Vec<String> {
        let mut lines = Vec::new();
        if to.index() <= from {
            lines.push("if (backward++ == WL_MAX_BACKWARD_JUMPS) {".into());
            lines.extend(self.end("WL_RUNAWAY".into()).into_iter().map(|line| format!("    {line}")));
            lines.push("}".into());
        }
        match &self.handovers {
            Some(handovers) if handovers.partition().part(from) != handovers.partition().part(to.index()) => {
                lines.extend(handovers.leave(to.index(), &self.context));
            }
            _ => lines.push(format!("goto {};", self.labels[to.index()])),
        }
        lines
    }

    /// The number of an offload's first object.
    fn object(&self, offload: usize) -> String {
        let first = self.objects[offload];
        match self.engine.kind {
            EngineKind::Packet => first.to_string(),
            EngineKind::Call { .. } => format!("objects + {first}"),
        }
    }
}

fn part_function(part: usize) -> String {
    format!("wl_part_{part}")
}

struct StepEffects<'a> {
    function: &'a EngineFunction<'a>,
    from: usize,
    /// Of the calls that are still to come.
    waits: std::slice::Iter<'a, Wait>,
    /// For each offload: the calls that are still to come.
    calls_left: Vec<usize>,
}

impl<'a> StepEffects<'a> {
    /// A call, and what the packet is over with behind it.
    fn call_and_release(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Vec<String> {
        let OpKind::Call { offload, .. } = &op.kind else { unreachable!("a call") };
        let mut lines = self.call(emitter, op, result);
        let left = &mut self.calls_left[offload.index()];
        *left -= 1;
        if *left == 0 {
            let over = self.function.releases.behind_last(self.from, offload.index());
            lines.extend(over.iter().map(|object| format!("wl_release({object});")));
        }
        lines
    }

    fn call(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Vec<String> {
        let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
        let own = self.function;
        let assign = result.map_or(String::new(), |r| format!("{r} = "));
        let Some(messages) = own.caller.messages(op) else {
            return match &own.engine.offloads[offload.index()].target {
                OffloadTarget::Engine(id) => {
                    let args = args.iter().map(|a| emitter.text(*a).c);
                    let all: Vec<String> = std::iter::once(own.object(offload.index())).chain(args).collect();
                    vec![format!("{assign}{}({});", own.callees[id.index()], all.join(", "))]
                }
                OffloadTarget::Kind(config) => {
                    let name =
                        registry::kind(&config.kind).expect("a verified program").methods[*method].name;
                    local_call(emitter, name, args, result)
                }
            };
        };
        let has_reply = messages.reply.is_some();
        let ticket = if has_reply { self.waits.next().expect("each call has its ticket").ticket } else { 0 };
        let object = own.object(offload.index());
        if let [argument] = args[..]
            && goes_by_place(emitter.width(argument))
            && let Some(field) = emitter.field(argument)
        {
            let bytes = emitter.width(argument) / 8;
            return vec![format!(
                "wl_call_with_field({object}, {method}, {ticket}, wl_from({field}), {bytes});"
            )];
        }
        let texts: Vec<Text> = args.iter().map(|a| emitter.text_kept(*a)).collect();
        let mut message: Vec<String> = texts.iter().flat_map(word_texts).collect();
        let last = message.pop().unwrap_or_else(|| "0".into());
        let mut lines: Vec<String> =
            message.iter().enumerate().map(|(i, word)| format!("WL_ARGUMENTS[{i}] = {word};")).collect();
        lines.push(format!("wl_call({object}, {method}, {ticket}, {last});"));
        lines.extend(reads_packet(own.engine, &op.kind).then(|| "wl_taken();".to_owned()));
        lines
    }

    fn exit(&self, emitter: &mut Emitter<'_>, exit: &Exit) -> Vec<String> {
        let own = self.function;
        let mut verdict = |kind: &str, set: u32, reason| {
            let reason = emitter.text(reason).c;
            own.end(format!("WL_VERDICT({kind}, {set}, {reason})"))
        };
        match exit {
            Exit::Next(to) => own.jump(self.from, *to),
            Exit::Emit(to) => {
                let mut lines = vec!["wl_send(WL_EMIT);".to_owned()];
                lines.extend(own.jump(self.from, *to));
                lines
            }
            Exit::Finish => own.end("WL_FINISH".into()),
            Exit::Drop(reason, set) => verdict("WL_DROP", set.0, *reason),
            Exit::ToCpu(reason, set) => verdict("WL_TO_CPU", set.0, *reason),
            Exit::Reply(value) => vec![format!("return {};", emitter.text(*value).c)],
            Exit::Done => own.end("WL_DONE".into()),
        }
    }

    /// What an operation waits for, if it is such an operation.
    fn waited(&self, op: &Op) -> Option<&'a Wait> {
        let OpKind::WriteContext(id, _) = &op.kind else { return None };
        match self
            .function
            .split
            .variables
            .get(id.index().checked_sub(self.function.engine.context.len())?)?
        {
            Variable::Wait(wait) => Some(wait),
            Variable::Leaf(_) => None,
        }
    }
}

impl Effects for StepEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Vec<String> {
        if let Some(wait) = self.waited(op) {
            let mut lines: Vec<String> =
                wait.words().map(|(name, value)| format!("{name} = {value};")).collect();
            lines.extend(wait.brings_packet.then(|| format!("wl_take_back({});", emitter.scope.packet)));
            return lines;
        }
        if let OpKind::WriteMeta(_, port) = &op.kind {
            let port = emitter.text(*port);
            return vec![format!("wl_set_egress({}, {});", emitter.scope.packet, port.c)];
        }
        if let Some(lines) = effects::edit(emitter, op, result) {
            return lines;
        }
        match &op.kind {
            OpKind::Call { .. } => self.call_and_release(emitter, op, result),
            OpKind::Exit(exit) => self.exit(emitter, exit),
            _ => unreachable!("edits are written"),
        }
    }

    /// What reads a reply must not be put in front of the `if` that waits for it.
    fn ends_group(&self, op: &Op) -> bool {
        self.waited(op).is_some()
    }
}

/// A call that the thread does itself.
fn local_call(emitter: &mut Emitter<'_>, method: &str, args: &[Value], result: Option<&str>) -> Vec<String> {
    let packet = emitter.scope.packet;
    match (method, result) {
        ("truncate", result) => {
            let assign = result.map_or(String::new(), |r| format!("{r} = "));
            vec![format!("{assign}wl_truncate({packet}, {});", emitter.text(args[0]).c)]
        }
        (_, Some(result)) => vec![format!("{result} = wl_begun_ns();")],
        (_, None) => Vec::new(),
    }
}

/// The words of a value, lowest first.
pub(super) fn word_texts(value: &Text) -> Vec<String> {
    match value.class() {
        Class::Wide(n) => (0..n).map(|i| format!("{}.w[{i}]", value.p())).collect(),
        Class::Word(64) => {
            debug_assert!(words(value.width) == 2);
            vec![format!("(uint32_t){}", value.p()), format!("(uint32_t)({} >> 32)", value.p())]
        }
        _ => vec![value.c.clone()],
    }
}
