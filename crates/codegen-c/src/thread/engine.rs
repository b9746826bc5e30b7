//! An engine as one C function, or as one function for each of its parts. Steps are labels and the
//! context is local variables.

use std::ops::Range;

use wireloom_compile::analysis::resources::reads_packet;
use wireloom_ir::{Engine, EngineKind, Exit, OffloadTarget, Op, OpKind, Program, StepId};
use wireloom_offloads::registry;

use super::super::called::last_jump_back;
use super::super::emitter::{Effects, Emitter, Scope};
use super::super::names::Names;
use super::super::ops::Operand;
use super::super::preamble::source_line;
use super::super::tree::{
    self, Binary, Declaration, Expr, Item, Signature, Stmt, Type, jumps_to, uses,
};
use super::super::types::{Class, Model};
use super::super::{effects, kinds};
use super::elements::Caller;
use super::handover::Handovers;
use super::message::{goes_by_place, words};
use super::order::Releases;
use super::replies::{self, Split, Variable, Wait};
use super::{Refused, resident, symbol};

/// The variable that counts jumps back.
pub(super) const BACKWARD: &str = "backward";
/// The label after all statements for a packet.
pub(super) const NEXT: &str = "next";
/// The label before the statements that send a packet back, and the variable with the packet's
/// verdict.
const LEAVE: &str = "leave";
const VERDICT: &str = "verdict";

const MODEL: Model = Model::Bits32;

/// An engine, ready to be written.
pub struct EngineFunction<'a> {
    caller: Caller<'a>,
    program: &'a Program,
    engine: &'a Engine,
    function: String,
    /// The first object of each offload, relative to the engine's first object.
    objects: Vec<usize>,
    /// The function that executes calls of each engine of the program.
    callees: Vec<String>,
    split: Split,
    /// The expression of each context variable, including those added for calls.
    context: Vec<Expr>,
    labels: Vec<String>,
    /// The handovers, if the engine is cut into parts.
    handovers: Option<Handovers<'a>>,
    releases: Releases,
}

impl<'a> EngineFunction<'a> {
    /// Prepares an engine whose calls use tickets from `first_ticket` on.
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
        let mut split = replies::split(&caller, first_ticket)?;
        let releases = Releases::new(&caller);
        let (mut names, mut labels) = (Names::default(), Names::default());
        let local = |name: &str, names: &mut Names| Expr::name(format!("c_{}", names.give(name)));
        let mut context: Vec<Expr> =
            engine.context.iter().map(|var| local(&var.name, &mut names)).collect();
        // With handovers, the context of a packet that is handed over would overwrite replies.
        if matches!(engine.kind, EngineKind::Packet) && handovers.is_none() {
            let homes = resident::resolve(&mut split, context.len());
            for (variable, home) in context.iter_mut().zip(homes) {
                *variable = home.unwrap_or(std::mem::replace(variable, Expr::number(0)));
            }
        }
        context.extend(split.variables.iter().map(|variable| match variable {
            Variable::Wait(wait) => Expr::name(replies::first_word(wait.ticket)),
            Variable::Leaf(c, _) => c.clone(),
        }));
        let labels =
            engine.steps.iter().map(|step| format!("step_{}", labels.give(&step.name))).collect();
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

    /// Writes the function, or the functions of its parts.
    pub fn items(&self) -> Vec<Item> {
        let all = 0..self.engine.steps.len();
        match (&self.engine.kind, &self.handovers) {
            (EngineKind::Packet, None) => self.packets("wl_main".into(), all, Vec::new()),
            (EngineKind::Packet, Some(handovers)) => {
                let parts = handovers.partition().parts();
                let part = |part| {
                    let steps = handovers.partition().steps(self.engine, part);
                    let entry = handovers.entry(part, &self.context, &self.labels);
                    self.packets(part_function(part), steps, entry)
                };
                (0..parts).flat_map(part).chain(self.parts(parts)).collect()
            }
            (EngineKind::Call { params, reply }, _) => {
                let params: Vec<usize> = params.iter().map(|p| p.index()).collect();
                self.call(&params, *reply, self.body(all, Vec::new()))
            }
        }
    }

    /// Writes the statements of steps after those in `before`.
    fn body(&self, range: Range<usize>, before: Vec<Stmt>) -> Vec<Stmt> {
        let mut body = before;
        let steps: Vec<Vec<Stmt>> = range.clone().map(|step| self.step(step)).collect();
        let is_target = |label: &str| {
            jumps_to(&body, label) || steps.iter().any(|statements| jumps_to(statements, label))
        };
        let targets: Vec<bool> = range.clone().map(|step| is_target(&self.labels[step])).collect();
        for ((index, statements), is_target) in range.zip(steps).zip(targets) {
            let step = &self.engine.steps[index];
            let heading = format!("Step `{}`{}.", step.name, source_line(self.program, step));
            body.push(Stmt::Located(heading, step.loc));
            body.extend(is_target.then(|| Stmt::Label(self.labels[index].clone())));
            body.push(Stmt::call("WL_STEP", [Expr::Text(symbol(step))]));
            let released = self.releases.at(index).into_iter().map(release);
            body.push(Stmt::Block(released.chain(statements).collect()));
        }
        body
    }

    /// Writes a function that executes a range of steps for one packet after another. `entry` jumps
    /// to the step at which to begin. It is empty if that is the first step.
    fn packets(&self, function: String, steps: Range<usize>, entry: Vec<Stmt>) -> Vec<Item> {
        let names: Vec<&str> =
            [steps.start, steps.end - 1].map(|step| self.engine.steps[step].name.as_str()).into();
        let receives = entry.is_empty();
        let body = self.body(steps, entry);

        let (hand, verdict, p) = (Expr::name("hand"), Expr::name(VERDICT), Expr::name("p"));
        let packet = || Type::structure("wl_packet");
        let leaves = jumps_to(&body, LEAVE);
        let mut each: Vec<Stmt> = vec![
            Declaration::new(packet(), "hand").into(),
            Declaration::new(packet().const_pointer(), "p").with(hand.address()).into(),
        ];
        each.extend(leaves.then(|| Declaration::new("uint32_t", VERDICT).into()));
        each.extend(self.variables(&[]));
        each.extend(count_of_jumps(&body));
        each.extend(receives.then(|| Stmt::call("wl_receive", [p])));
        let goes_on = jumps_to(&body, NEXT);
        each.extend(body);
        if leaves {
            each.push(Stmt::Label(LEAVE.into()));
            each.push(Stmt::call("wl_send", [verdict]));
        }
        each.extend(goes_on.then(|| Stmt::Label(NEXT.into())));

        let engine = &self.engine.name;
        let (comment, storage, parameters) = match self.handovers {
            None => {
                let comment = format!("Engine `{engine}`: packets, one after the other.");
                (comment, MAIN, main_parameters())
            }
            Some(_) => {
                let steps = names.join("` to `");
                let comment =
                    format!("Engine `{engine}`, steps `{steps}`: packets, one after the other.");
                (comment, "__attribute__((noinline, noreturn)) static", Vec::new())
            }
        };
        let signature =
            Signature { storage, returns: Type::named("void"), name: function, parameters };
        vec![
            Item::Comment(comment),
            Item::Function(signature, vec![Stmt::Forever(each)]),
            Item::Blank,
        ]
    }

    /// Writes the function that each thread starts with. It executes the thread's part.
    fn parts(&self, parts: usize) -> Vec<Item> {
        let execute = |part| Stmt::call(part_function(part), []);
        let is = |part: usize| Expr::name("part").binary(Binary::Equal, Expr::number(part));
        let mut body: Vec<Stmt> =
            (1..parts).map(|part| Stmt::If(is(part), vec![execute(part)])).collect();
        body.push(execute(0));
        let signature = Signature {
            storage: MAIN,
            returns: Type::named("void"),
            name: "wl_main".into(),
            parameters: main_parameters(),
        };
        let comment = format!("Engine `{}`: the part of a thread.", self.engine.name);
        vec![Item::Comment(comment), Item::Function(signature, body)]
    }

    fn call(&self, params: &[usize], reply: u32, steps: Vec<Stmt>) -> Vec<Item> {
        let name = |param: usize| match &self.context[param] {
            Expr::Name(name) => name.clone(),
            _ => unreachable!("context variables are locals"),
        };
        let own = params.iter().map(|p| (MODEL.c_type(self.engine.context[*p].width), name(*p)));
        let objects = (Type::named("uint32_t"), "objects".to_owned());
        let signature = Signature {
            storage: "WL_FUNCTION",
            returns: MODEL.c_type(reply),
            name: self.function.clone(),
            parameters: std::iter::once(objects).chain(own).collect(),
        };
        let mut body: Vec<Stmt> = self.variables(params).collect();
        body.extend(count_of_jumps(&steps));
        body.push(Expr::name("objects").unused());
        body.extend(steps);
        let comment =
            format!("Engine `{}`: one call. Its offloads begin at `objects`.", self.engine.name);
        vec![Item::Comment(comment), Item::Function(signature, body), Item::Blank]
    }

    /// Writes definitions of the context variables except those in `given`.
    fn variables(&self, given: &[usize]) -> impl Iterator<Item = Stmt> {
        let variables = self.engine.context.iter().zip(&self.context).enumerate();
        variables.filter(|(index, _)| !given.contains(index)).filter_map(|(_, (var, c))| {
            let Expr::Name(name) = c else { return None };
            let class = MODEL.class(var.width);
            let declaration = Declaration::new(class.c_type(), name).with(class.zero());
            Some(declaration.commented(format!("u{}", var.width)).into())
        })
    }

    fn step(&self, index: usize) -> Vec<Stmt> {
        let engine = &self.split.engine;
        let is_packet = self.engine.kind == EngineKind::Packet;
        let no_packet = || Expr::number(0).cast(Type::structure("wl_packet").pointer());
        let packet = if is_packet { Expr::name("p") } else { no_packet() };
        let scope = Scope {
            program: self.program,
            engine,
            step: &engine.steps[index],
            context: &self.context,
            // Earlier passes turn arrays into variables for threads.
            arrays: &[],
            window: packet.clone(),
            packet,
            model: MODEL,
            proves_indices: false,
        };
        let waits = &self.split.waits[index];
        let mut emitter = Emitter::new(scope, self.split.ops[index].iter().collect(), &[]);
        let mut calls_left = vec![0; engine.offloads.len()];
        for op in &self.split.ops[index] {
            if let OpKind::Call { offload, .. } = &op.kind {
                calls_left[offload.index()] += 1;
            }
        }
        emitter.run(&mut StepEffects {
            function: self,
            from: index,
            waits: waits.iter(),
            calls_left,
        });
        let words = waits.iter().flat_map(Wait::words).map(|(name, _)| name);
        let declared =
            words.map(|name| Declaration::new("uint32_t", name).with(Expr::number(0)).into());
        let mut statements: Vec<Stmt> = declared.chain(emitter.finish()).collect();
        if !tree::leaves(&statements) {
            statements.extend(self.end(Expr::name("WL_DONE")));
        }
        expect_no_refusal(&mut statements);
        statements
    }

    /// Returns the statements that end the thread of a packet. A called engine replies zero.
    fn end(&self, verdict: Expr) -> Vec<Stmt> {
        match &self.engine.kind {
            EngineKind::Packet => {
                vec![Stmt::Assign(Expr::name(VERDICT), verdict), Stmt::Goto(LEAVE.into())]
            }
            EngineKind::Call { reply, .. } => vec![Stmt::Return(MODEL.class(*reply).zero_value())],
        }
    }

    /// Returns the statements that continue at a step.
    fn jump(&self, from: usize, to: StepId) -> Vec<Stmt> {
        let mut statements = Vec::new();
        if to.index() <= from {
            let last = last_jump_back(Expr::name(BACKWARD));
            statements.push(Stmt::If(last, self.end(Expr::name("WL_RUNAWAY"))));
        }
        match &self.handovers {
            Some(handovers)
                if handovers.partition().part(from) != handovers.partition().part(to.index()) =>
            {
                statements.extend(handovers.leave(to.index(), &self.context));
            }
            _ => statements.push(Stmt::Goto(self.labels[to.index()].clone())),
        }
        statements
    }

    /// Returns the number of an offload's first object.
    fn object(&self, offload: usize) -> Expr {
        let first = Expr::number(self.objects[offload]);
        match self.engine.kind {
            EngineKind::Packet => first,
            EngineKind::Call { .. } => Expr::name("objects").binary(Binary::Add, first),
        }
    }
}

/// The storage class and attributes of `wl_main`, which only the runtime's startup code, in
/// assembly, calls.
const MAIN: &str = "__attribute__((used)) static";

fn main_parameters() -> Vec<(Type, String)> {
    ["thread", "part"].map(|name| (Type::named("uint32_t"), name.to_owned())).into()
}

/// Returns the statement that tells the runtime that the packet makes no more calls of an object.
fn release(object: usize) -> Stmt {
    Stmt::call("wl_release", [Expr::number(object)])
}

/// Declares the count of jumps back, if the statements use it.
fn count_of_jumps(statements: &[Stmt]) -> Option<Stmt> {
    uses(statements, BACKWARD)
        .then(|| Declaration::new("uint32_t", BACKWARD).with(Expr::number(0)).into())
}

fn part_function(part: usize) -> String {
    format!("wl_part_{part}")
}

/// Tells the compiler that packets are seldom dropped or sent to the control processor, so that it
/// places such statements after all others. The path of a forwarded packet is then nearly
/// contiguous, and takes few cache lines.
fn expect_no_refusal(statements: &mut [Stmt]) {
    for statement in statements {
        match statement {
            Stmt::If(condition, body) if is_refusal(body) => {
                let taken = std::mem::replace(condition, Expr::number(0));
                *condition = Expr::call("WL_UNLIKELY", [taken]);
            }
            Stmt::If(_, body) | Stmt::Block(body) => expect_no_refusal(body),
            _ => {}
        }
    }
}

/// Returns whether statements end with a verdict that drops the packet or sends it to the control
/// processor.
fn is_refusal(statements: &[Stmt]) -> bool {
    let [.., Stmt::Assign(Expr::Name(place), verdict), Stmt::Goto(to)] = statements else {
        return false;
    };
    let is_verdict = place == VERDICT && to == LEAVE;
    is_verdict && ["WL_DROP", "WL_TO_CPU", "WL_RUNAWAY"].iter().any(|kind| verdict.uses(kind))
}

struct StepEffects<'a> {
    function: &'a EngineFunction<'a>,
    from: usize,
    /// The waits of the calls not yet written.
    waits: std::slice::Iter<'a, Wait>,
    /// The number of calls of each offload not yet written.
    calls_left: Vec<usize>,
}

impl<'a> StepEffects<'a> {
    /// Writes a call. Then releases the objects that the packet no longer needs.
    fn call_and_release(
        &mut self,
        emitter: &mut Emitter<'_>,
        op: &Op,
        result: Option<&Expr>,
    ) -> Vec<Stmt> {
        let OpKind::Call { offload, .. } = &op.kind else { unreachable!("a call") };
        let mut statements = self.call(emitter, op, result);
        let left = &mut self.calls_left[offload.index()];
        *left -= 1;
        if *left == 0 {
            let over = self.function.releases.behind_last(self.from, offload.index());
            statements.extend(over.iter().map(|object| release(*object)));
        }
        statements
    }

    fn call(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt> {
        let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
        let own = self.function;
        let Some(messages) = own.caller.messages(op) else {
            return self.local_call(emitter, op, result).into_iter().collect();
        };
        let has_reply = messages.reply.is_some();
        let ticket =
            if has_reply { self.waits.next().expect("each call has its ticket").ticket } else { 0 };
        let head =
            [own.object(offload.index()), Expr::number(method), Expr::number(ticket)].into_iter();
        if let [argument] = args[..]
            && goes_by_place(emitter.width(argument))
            && let Some(field) = emitter.field(argument)
        {
            let bytes = Expr::number(emitter.width(argument) / 8);
            let place = Expr::call("wl_from", field.arguments);
            return vec![Stmt::call("wl_call_with_field", head.chain([place, bytes]))];
        }
        let values: Vec<Operand> = args.iter().map(|a| emitter.kept_operand(*a)).collect();
        let mut message: Vec<Expr> = values.iter().flat_map(words_of).collect();
        let last = message.pop().unwrap_or_else(|| Expr::number(0));
        let place = |at: usize| Expr::name("WL_ARGUMENTS").at(at);
        let stored =
            message.into_iter().enumerate().map(|(at, word)| Stmt::Assign(place(at), word));
        let mut statements: Vec<Stmt> = stored.collect();
        statements.push(Stmt::call("wl_call", head.chain([last])));
        statements.extend(reads_packet(own.engine, &op.kind).then(|| Stmt::call("wl_taken", [])));
        statements
    }

    /// Writes a call that is not a message: a call of an engine that is a function, or a method
    /// that the thread executes itself.
    fn local_call(
        &self,
        emitter: &mut Emitter<'_>,
        op: &Op,
        result: Option<&Expr>,
    ) -> Option<Stmt> {
        let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
        let own = self.function;
        match &own.engine.offloads[offload.index()].target {
            OffloadTarget::Engine(id) => {
                let args: Vec<Expr> = args.iter().map(|a| emitter.operand(*a).c).collect();
                let all = std::iter::once(own.object(offload.index())).chain(args);
                Some(Stmt::set(result, Expr::call(&own.callees[id.index()], all)))
            }
            OffloadTarget::Kind(config) => {
                let method =
                    &registry::kind(&config.kind).expect("a verified program").methods[*method];
                if result.is_none() && !method.writes_packet {
                    return None;
                }
                let by_thread =
                    kinds::by_thread(config, method).expect("the thread executes the method");
                let args = args.iter().map(|a| emitter.operand(*a).c).collect();
                Some(Stmt::set(result, by_thread(emitter.scope.packet.clone(), args)))
            }
        }
    }

    fn exit(&self, emitter: &mut Emitter<'_>, exit: &Exit) -> Vec<Stmt> {
        let own = self.function;
        let verdict = |emitter: &mut Emitter<'_>, kind: &str, set: u32, reason| {
            let reason = emitter.operand(reason).c;
            own.end(Expr::call("WL_VERDICT", [Expr::name(kind), Expr::number(set), reason]))
        };
        match exit {
            Exit::Next(to) => own.jump(self.from, *to),
            Exit::Emit(to, copied) => {
                let mut statements = Vec::new();
                if let Some((offset, count)) = copied.bytes {
                    let extent = [offset, count].map(|value| emitter.operand(value).c);
                    statements.push(Stmt::call("wl_set_extent", extent));
                }
                let kind = match copied.cpu {
                    None => Expr::name("WL_EMIT"),
                    Some((reason, set)) => {
                        let reason = emitter.operand(reason).c;
                        let kind = Expr::name("WL_COPY_TO_CPU");
                        Expr::call("WL_VERDICT", [kind, Expr::number(set.0), reason])
                    }
                };
                statements.push(Stmt::call("wl_send", [kind]));
                statements.extend(own.jump(self.from, *to));
                statements
            }
            Exit::Finish => own.end(Expr::name("WL_FINISH")),
            Exit::Drop(reason, set) => verdict(emitter, "WL_DROP", set.0, *reason),
            Exit::ToCpu(reason, set) => verdict(emitter, "WL_TO_CPU", set.0, *reason),
            Exit::Reply(value) => vec![Stmt::Return(emitter.operand(*value).c)],
            Exit::Done => own.end(Expr::name("WL_DONE")),
        }
    }

    /// Returns the wait of an operation, if it has one.
    fn waited(&self, op: &Op) -> Option<&'a Wait> {
        let OpKind::WriteContext(id, _) = &op.kind else { return None };
        match self
            .function
            .split
            .variables
            .get(id.index().checked_sub(self.function.engine.context.len())?)?
        {
            Variable::Wait(wait) => Some(wait),
            Variable::Leaf(..) => None,
        }
    }
}

impl Effects for StepEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt> {
        let packet = emitter.scope.packet.clone();
        if let Some(wait) = self.waited(op) {
            let words = wait.words().map(|(name, value)| Stmt::Assign(Expr::name(name), value));
            let taken_back = wait.brings_packet.then(|| Stmt::call("wl_take_back", [packet]));
            return words.chain(taken_back).collect();
        }
        if let OpKind::WriteMeta(_, port) = &op.kind {
            return vec![Stmt::call("wl_set_egress", [packet, emitter.operand(*port).c])];
        }
        if let Some(edit) = effects::edit(emitter, op, result) {
            return vec![edit];
        }
        match &op.kind {
            OpKind::Call { .. } => self.call_and_release(emitter, op, result),
            OpKind::Exit(exit) => self.exit(emitter, exit),
            _ => unreachable!("edits are written"),
        }
    }

    /// A read of a reply must not move before the `if` that waits for it.
    fn ends_group(&self, op: &Op) -> bool {
        self.waited(op).is_some()
    }
}

/// Returns the words of a value, lowest first.
pub(super) fn words_of(value: &Operand) -> Vec<Expr> {
    match value.class() {
        Class::Wide(n) => (0..n).map(|i| value.words().at(i)).collect(),
        Class::Word(64) => {
            assert!(words(value.width) == 2);
            let high = value.c.clone().binary(Binary::Shr, Expr::number(32));
            vec![value.c.clone().cast("uint32_t"), high.cast("uint32_t")]
        }
        _ => vec![value.c.clone()],
    }
}
