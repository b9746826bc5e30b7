//! An engine that takes packets: its thread and its steps as functions.
//!
//! A step that waits becomes two functions. The first computes the requests, fetches the memory that they will need
//! and answers the state in which the thread waits. The second makes the calls, edits, and jumps: it ends in the first
//! function of the next step. Other steps are one function.

use wireloom_ir::{Engine, Exit, Op, OpKind, Program, Step, StepId, Value};

use super::calls::{self, Surroundings};
use super::conflict::writes_packet;
use super::emitter::{Effects, Emitter, Scope};
use super::names::Names;
use super::plan::{self, StepPlan, is_split_phase};
use super::types::Model;
use super::writer::{Writer, mentions};
use super::{effects, exits};

/// Everything about an engine that its functions share.
pub struct PacketEngine<'a> {
    /// The program.
    pub program: &'a Program,
    /// The engine.
    pub engine: &'a Engine,
    /// What the engine's own identifiers begin with.
    pub prefix: String,
    /// For each step: how it is executed.
    pub plans: Vec<StepPlan>,
    slot_index: Vec<usize>,
    functions: Vec<Option<String>>,
    step_names: Vec<String>,
    context: Vec<String>,
    splits: Vec<Split>,
}

/// What of a step is done before its replies are there.
#[derive(Default)]
struct Split {
    /// Indices of the operations of the request region that are computed early.
    early: Vec<usize>,
    /// Values of these that the rest of the step uses: they are kept in the thread, under this name.
    kept: Vec<(Value, String)>,
    /// Indices of the calls whose memory is fetched ahead.
    fetched: Vec<usize>,
    /// For those that are searches: the name of their state in the thread.
    walks: Vec<(usize, String)>,
}

impl<'a> PacketEngine<'a> {
    /// Plans the engine. `slot_index` says for each offload where its slots begin, `functions` for each that is an
    /// engine which function executes it.
    pub fn new(
        program: &'a Program,
        engine: &'a Engine,
        prefix: String,
        slot_index: Vec<usize>,
        functions: Vec<Option<String>>,
    ) -> Self {
        let plans = plan::plan(program, program.main);
        let mut names = Names::default();
        let step_names = engine.steps.iter().map(|step| names.give(&step.name)).collect();
        let mut fields = Names::default();
        let context = engine.context.iter().map(|var| fields.give(&var.name)).collect();
        let splits = engine.steps.iter().zip(&plans);
        let splits = splits
            .map(|(step, plan)| if plan.waits { Split::of(engine, step, plan) } else { Split::default() })
            .collect();
        Self { program, engine, prefix, plans, slot_index, functions, step_names, context, splits }
    }

    /// Whether packets must keep their order at some offload.
    pub fn is_ordered(&self) -> bool {
        self.plans.iter().any(|plan| plan.ordered != 0)
    }

    /// Whether threads have a context.
    pub fn has_context(&self) -> bool {
        !self.context.is_empty()
    }

    /// The steps at which threads wait.
    pub fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.plans.len()).filter(|step| self.plans[*step].waits)
    }

    /// The function that enters a step.
    pub fn enter(&self, step: usize) -> String {
        format!("{}_{}", self.prefix, self.step_names[step])
    }

    /// The function that goes on when the replies of a step are there.
    pub fn resume(&self, step: usize) -> String {
        format!("{}_{}_reply", self.prefix, self.step_names[step])
    }

    /// The functions that take the searches of a step from one access of memory to the next, in order.
    pub fn advances(&self, step: usize) -> Vec<String> {
        let ops: Vec<&Op> = plan::ops(&self.engine.steps[step]).collect();
        let searches = self.splits[step].walks.iter();
        let pauses = searches.map(|(call, _)| calls::pauses(self.engine, ops[*call])).max();
        (0..pauses.unwrap_or(0))
            .map(|pause| format!("{}_{}_fetch{}", self.prefix, self.step_names[step], pause + 1))
            .collect()
    }

    /// The state of a thread that waits at a step.
    pub fn state(&self, step: usize) -> String {
        format!("{}_AT_{}", self.prefix.to_uppercase(), self.step_names[step])
    }

    /// The state of a thread that has ended.
    pub fn ended(&self) -> String {
        format!("{}_ENDED", self.prefix.to_uppercase())
    }

    /// Writes the structure of a thread.
    pub fn write_thread(&self, out: &mut Writer) {
        let prefix = &self.prefix;
        out.comment(&format!(
            "A thread of `{}`: the packet in hand, the context, and what a step keeps from its requests for its replies.",
            self.engine.name
        ));
        out.line(format!("struct {prefix}_thread {{"));
        out.line("    _Alignas(64) struct wl_packet hand;");
        out.line("    struct wl_env env;");
        out.line("    struct wl_end *end;");
        out.line("    uint32_t backward;");
        if !self.context.is_empty() {
            out.line(format!("    struct {prefix}_context {{"));
            for (var, name) in self.engine.context.iter().zip(&self.context) {
                out.line(format!("        {} {name}; /* u{} */", Model::Bits64.c_type(var.width), var.width));
            }
            out.line("    } context;");
        }
        if self.splits.iter().any(Split::keeps) {
            out.line("    union {");
            for (index, split) in self.splits.iter().enumerate().filter(|(_, s)| s.keeps()) {
                out.line("        struct {");
                for (value, name) in &split.kept {
                    let width = self.engine.steps[index].values[value.index()].width;
                    out.line(format!("            {} {name};", Model::Bits64.c_type(width)));
                }
                for (_, name) in &split.walks {
                    out.line(format!("            struct wl_lpm_walk {name};"));
                }
                out.line(format!("        }} {};", self.step_names[index]));
            }
            out.line("    } kept;");
        }
        out.line("};");
        out.blank();
    }

    /// Writes the functions of all steps.
    pub fn write_steps(&self, out: &mut Writer) {
        for step in 0..self.engine.steps.len() {
            out.line(format!("{};", self.signature(&self.enter(step))));
        }
        out.blank();
        for index in 0..self.engine.steps.len() {
            self.write_step(index, out);
        }
    }

    fn write_step(&self, index: usize, out: &mut Writer) {
        let step = &self.engine.steps[index];
        let file = self.program.files.get(step.loc.file as usize).filter(|_| step.loc.line != 0);
        let place = file
            .map(|file| format!(", {}:{}", file.rsplit('/').next().unwrap_or(file), step.loc.line))
            .unwrap_or_default();
        let why = step.split.as_ref().map(|why| format!(" Split off: {why}.")).unwrap_or_default();
        if self.plans[index].waits {
            out.comment(&format!("Step `{}`{place}: requests.{why}", step.name));
            self.write_function(&self.enter(index), self.early_part(index), out);
            for (pause, function) in self.advances(index).iter().enumerate() {
                out.comment(&format!("Step `{}`: access {} of its searches.", step.name, pause + 1));
                self.write_function(function, self.middle_part(index, pause), out);
            }
            out.comment(&format!("Step `{}`: replies, edits and the jump.", step.name));
            self.write_function(&self.resume(index), self.late_part(index), out);
        } else {
            out.comment(&format!("Step `{}`{place}.{why}", step.name));
            self.write_function(&self.enter(index), self.late_part(index), out);
        }
    }

    fn signature(&self, name: &str) -> String {
        let prefix = &self.prefix;
        format!("WL_FUNCTION uint32_t {name}(struct {prefix}_machine *m, struct {prefix}_thread *t)")
    }

    fn write_function(&self, name: &str, body: Vec<String>, out: &mut Writer) {
        let prefix = &self.prefix;
        let mut lines = Vec::new();
        for (variable, definition) in [
            ("p", "struct wl_packet *const p = &t->hand;".to_owned()),
            ("c", format!("struct {prefix}_context *const c = &t->context;")),
            ("slots", "const struct wl_slot *const slots = m->machine.slots;".to_owned()),
            ("env", "const struct wl_env *const env = &t->env;".to_owned()),
        ] {
            if body.iter().any(|line| mentions(line, variable)) {
                lines.push(definition);
            }
        }
        lines.extend(body);
        for unused in ["t", "m"] {
            if !lines.iter().any(|line| mentions(line, unused)) {
                lines.insert(0, format!("(void){unused};"));
            }
        }
        out.line(self.signature(name));
        out.line("{");
        lines.iter().for_each(|line| out.line(format!("    {line}")));
        out.line("}");
        out.blank();
    }

    fn scope<'s>(&'s self, index: usize, context: &'s [String]) -> Scope<'s> {
        Scope {
            program: self.program,
            engine: self.engine,
            step: &self.engine.steps[index],
            context,
            packet: "p",
            model: Model::Bits64,
        }
    }

    fn context_texts(&self) -> Vec<String> {
        self.context.iter().map(|name| format!("c->{name}")).collect()
    }

    /// Computes requests and fetches what they will read.
    fn early_part(&self, index: usize) -> Vec<String> {
        let mut body = self.fetches(index, None);
        body.push(format!("return {};", self.state(index)));
        body
    }

    /// Takes searches from one access of memory to the next.
    fn middle_part(&self, index: usize, pause: usize) -> Vec<String> {
        let mut body = self.fetches(index, Some(pause));
        body.push(format!("return {};", self.state(index)));
        body
    }

    fn fetches(&self, index: usize, pause: Option<usize>) -> Vec<String> {
        let first = pause.is_none();
        let split = &self.splits[index];
        let all: Vec<&Op> = plan::ops(&self.engine.steps[index]).collect();
        let ops: Vec<&Op> = split.early.iter().map(|i| all[*i]).collect();
        let fetched: Vec<&Op> = split
            .fetched
            .iter()
            .map(|i| all[*i])
            .filter(|op| pause.is_none_or(|pause| pause < calls::pauses(self.engine, op)))
            .collect();
        let mut wanted: Vec<Value> =
            if first { split.kept.iter().map(|(value, _)| *value).collect() } else { Vec::new() };
        wanted.extend(fetched.iter().map(|op| key_of(op)));
        let context = self.context_texts();
        let mut emitter = Emitter::new(self.scope(index, &context), ops, &wanted);
        for (value, name) in &split.kept {
            let place = self.kept(index, name);
            if first {
                let text = emitter.kept_outside(*value);
                emitter.plain(format!("{place} = {};", text.c));
            } else {
                emitter.provide(*value, &place);
            }
        }
        let around = self.surroundings();
        // A fetch needs no guard: it changes nothing, and a search stays inside its table whatever the key.
        for op in fetched {
            let lines = match (pause, split.walk(&all, op)) {
                (Some(pause), Some(walk)) => {
                    calls::advance(&around, &mut emitter, op, pause, &self.kept(index, walk))
                }
                _ => calls::fetch(&around, &mut emitter, op),
            };
            lines.into_iter().for_each(|line| emitter.plain(line));
        }
        emitter.finish()
    }

    /// Everything else of the step, in the order in which it was written.
    fn late_part(&self, index: usize) -> Vec<String> {
        let split = &self.splits[index];
        let ops: Vec<&Op> = plan::ops(&self.engine.steps[index])
            .enumerate()
            .filter(|(i, op)| !split.early.contains(i) || is_free(&op.kind))
            .map(|(_, op)| op)
            .collect();
        let ops = exits::arrange(&ops);
        let context = self.context_texts();
        let mut emitter = Emitter::new(self.scope(index, &context), ops.iter().collect(), &[]);
        for (value, name) in &split.kept {
            emitter.provide(*value, &self.kept(index, name));
        }
        emitter.run(&mut StepEffects { engine: self, from: index });
        let mut body = emitter.finish();
        if !body.last().is_some_and(|line| line.starts_with("return ")) {
            body.push(format!("return {};", self.ended()));
        }
        body
    }

    fn kept(&self, step: usize, name: &str) -> String {
        format!("t->kept.{}.{name}", self.step_names[step])
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            slots: "slots",
            slot_index: &self.slot_index,
            functions: &self.functions,
            env: "env",
            packet: Some(("p", "&m->machine.arena")),
        }
    }

    /// Statements that go on at a step.
    fn jump(&self, from: usize, to: StepId) -> Vec<String> {
        let mut lines = Vec::new();
        if to.index() <= from {
            lines.push("if (t->backward++ == WL_MAX_BACKWARD_JUMPS) {".into());
            lines.push("    wl_end_packet(&m->machine, t->end, p, WL_RUNAWAY, 0, 0);".into());
            lines.push(format!("    return {};", self.ended()));
            lines.push("}".into());
        }
        lines.push(format!("return {}(m, t);", self.enter(to.index())));
        lines
    }
}

/// Operations that cost nothing to do twice.
fn is_free(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Const(_) | OpKind::ReadContext(_))
}

/// What a split-phase call looks for.
fn key_of(op: &Op) -> Value {
    op.kind.operands()[0]
}

impl Split {
    fn of(engine: &Engine, step: &Step, plan: &StepPlan) -> Self {
        let ops: Vec<&Op> = plan::ops(step).collect();
        let requests = plan::regions(step).map_or(0, |[request, ..]| request.ops.len());
        // What a call changes of the packet, the operations behind it must see.
        let end = ops[..requests].iter().position(|op| writes_packet(engine, &op.kind)).unwrap_or(requests);
        let fetched: Vec<usize> = (0..end).filter(|i| is_split_phase(engine, &ops[*i].kind)).collect();
        let mut needed = vec![false; step.values.len()];
        for call in &fetched {
            needed[key_of(ops[*call]).index()] = true;
        }
        let mut early = Vec::new();
        for index in (0..end).rev() {
            let op = ops[index];
            if !op.kind.has_effect() && op.results.iter().any(|r| needed[r.index()]) {
                early.push(index);
                op.kind.operands().iter().for_each(|v| needed[v.index()] = true);
            }
        }
        early.reverse();
        let mut names = Names::default();
        let mut kept: Vec<(Value, String)> = Vec::new();
        for index in &early {
            let op = ops[*index];
            let value = op.results[0];
            let later = ops.iter().enumerate().any(|(i, user)| {
                !early.contains(&i) && (user.guard == Some(value) || user.kind.operands().contains(&value))
            });
            if later && !is_free(&op.kind) {
                let hint = step.values[value.index()].name.clone().unwrap_or_else(|| format!("v{}", value.0));
                kept.push((value, names.give(&hint)));
            }
        }
        // Where threads go on one by one, in order, a search has nothing to pause for.
        let searches = fetched.iter().filter(|call| {
            plan.ordered == 0 && !ops[**call].results.is_empty() && calls::pauses(engine, ops[**call]) > 0
        });
        let walks = searches.map(|call| (*call, names.give("walk"))).collect();
        Self { early, kept, fetched, walks }
    }

    /// Whether the thread keeps anything.
    fn keeps(&self) -> bool {
        !self.kept.is_empty() || !self.walks.is_empty()
    }

    /// The state of a search.
    fn walk(&self, ops: &[&Op], op: &Op) -> Option<&str> {
        let found = self.walks.iter().find(|(index, _)| ops[*index].results == op.results);
        found.map(|(_, name)| name.as_str())
    }
}

struct StepEffects<'a> {
    engine: &'a PacketEngine<'a>,
    from: usize,
}

impl Effects for StepEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Vec<String> {
        if let Some(lines) = effects::edit(emitter, op, result) {
            return lines;
        }
        let own = self.engine;
        let aside = |verdict: &str, reasons: u32, reason: String| {
            vec![
                format!("wl_end_aside(&m->machine, t->end, p, {verdict}, {reasons}, {reason});"),
                format!("return {};", own.ended()),
            ]
        };
        match &op.kind {
            OpKind::Call { .. } => {
                let all: Vec<&Op> = plan::ops(&own.engine.steps[self.from]).collect();
                let walk = own.splits[self.from].walk(&all, op).map(|name| own.kept(self.from, name));
                calls::call(&own.surroundings(), emitter, op, result, walk.as_deref())
            }
            OpKind::Exit(exit) => match exit {
                Exit::Next(to) => own.jump(self.from, *to),
                Exit::Emit(to) => {
                    let mut lines = vec!["wl_emit(&m->machine, t->end, p);".to_owned()];
                    lines.extend(own.jump(self.from, *to));
                    lines
                }
                Exit::Finish => {
                    vec!["wl_end_sent(&m->machine, t->end, p);".into(), format!("return {};", own.ended())]
                }
                Exit::Drop(reason, set) => aside("WL_DROPPED", set.0, emitter.text(*reason).c),
                Exit::ToCpu(reason, set) => aside("WL_TO_CPU", set.0, emitter.text(*reason).c),
                Exit::Done | Exit::Reply(_) => vec![format!("return {};", own.ended())],
            },
            _ => unreachable!("edits are written"),
        }
    }
}
