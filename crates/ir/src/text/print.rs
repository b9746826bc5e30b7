//! Prints a program as text.

use std::fmt::Write as _;

use wireloom_bits::Bits;
use wireloom_offloads::{Config, Layout, registry};

use super::names::{Names, is_path, is_word, quoted, string};
use crate::{
    ArrayId, Block, Code, Engine, EngineKind, Exit, Loc, OffloadTarget, Op, OpKind, Program, Step,
    Value,
};

/// Returns the textual form of a program (docs/ir.md). Programs that do not verify are printed too.
/// If each value has at most one definition, [`parse`](crate::parse) returns the same program.
pub fn print(program: &Program) -> String {
    let mut out = String::from("loom_ir 1\n");
    for file in &program.files {
        let _ = writeln!(out, "file {}", string(file));
    }
    for set in &program.reasons {
        let members: Vec<_> =
            set.members.iter().map(|(v, n)| format!("{} = {v}", quoted(n))).collect();
        let _ = writeln!(out, "reasons {} {{ {} }}", quoted(&set.name), members.join(", "));
    }
    let mut engines = Names::new(std::iter::empty());
    let files = Names::new(program.files.iter().map(String::as_str));
    let reasons = Names::new(program.reasons.iter().map(|r| r.name.as_str()));
    for engine in &program.engines {
        Printer::new(&files, &reasons, &engines, engine, &mut out).engine();
        engines.push(&engine.name);
    }
    let _ = writeln!(out, "\nmain {}", engines.refer(program.main.index(), is_word));
    out
}

/// Returns one operation on one line, for messages. The line contains only the head of an `if`, and
/// no position.
pub fn print_op(program: &Program, engine: &Engine, step: &Step, op: &Op) -> String {
    let files = Names::new(program.files.iter().map(String::as_str));
    let reasons = Names::new(program.reasons.iter().map(|r| r.name.as_str()));
    let engines = Names::new(std::iter::empty());
    let mut out = String::new();
    Printer::new(&files, &reasons, &engines, engine, &mut out)
        .head(step, &Op { loc: Loc::default(), ..op.clone() })
}

/// Whether a name can appear unquoted before the dot of a call.
fn is_plain_word(name: &str) -> bool {
    is_word(name) && !name.contains('.')
}

struct Printer<'a> {
    files: &'a Names,
    reasons: &'a Names,
    /// The engines printed so far. Only these can be referred to by name.
    engines: &'a Names,
    context: Names,
    arrays: Names,
    offloads: Names,
    steps: Names,
    engine: &'a Engine,
    out: &'a mut String,
}

impl<'a> Printer<'a> {
    fn new(
        files: &'a Names,
        reasons: &'a Names,
        engines: &'a Names,
        engine: &'a Engine,
        out: &'a mut String,
    ) -> Self {
        Self {
            files,
            reasons,
            engines,
            context: Names::new(engine.context.iter().map(|c| c.name.as_str())),
            arrays: Names::new(engine.arrays.iter().map(|a| a.name.as_str())),
            offloads: Names::new(engine.offloads.iter().map(|o| o.name.as_str())),
            steps: Names::new(engine.steps.iter().map(|s| s.name.as_str())),
            engine,
            out,
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = 2 * depth);
    }

    fn engine(&mut self) {
        let engine = self.engine;
        let interface = match &engine.kind {
            EngineKind::Packet => String::new(),
            EngineKind::Call { params, reply } => {
                let params: Vec<_> =
                    params.iter().map(|p| self.context.refer(p.index(), is_word)).collect();
                format!(" ({}) -> u{reply}", params.join(", "))
            }
        };
        self.out.push('\n');
        self.line(0, &format!("engine {}{interface} {{", quoted(&engine.name)));
        for var in &engine.context {
            self.line(1, &format!("context {} : u{}", quoted(&var.name), var.width));
        }
        for array in &engine.arrays {
            let head =
                format!("array {} : {} of u{}", quoted(&array.name), array.count, array.width);
            self.line(1, &head);
        }
        for offload in &engine.offloads {
            let target = match &offload.target {
                OffloadTarget::Engine(id) => {
                    format!("engine {}", self.engines.refer(id.index(), is_word))
                }
                OffloadTarget::Kind(config) => kind(config),
            };
            self.line(1, &format!("offload {} : {target}", quoted(&offload.name)));
        }
        for step in &engine.steps {
            self.step(step);
        }
        self.line(0, "}");
    }

    fn step(&mut self, step: &Step) {
        let split = step.split.as_ref().map_or(String::new(), |s| format!(" split {}", string(s)));
        let head = format!("step {}{}{split} {{", quoted(&step.name), self.loc(step.loc));
        self.line(1, &head);
        let mut defined = vec![false; step.values.len()];
        step.for_each_op(|op| {
            for result in &op.results {
                if let Some(d) = defined.get_mut(result.index()) {
                    *d = true;
                }
            }
        });
        for (index, _) in defined.iter().enumerate().filter(|(_, d)| !**d) {
            self.line(2, &format!("unused {}", definition(step, Value(index as u32))));
        }
        match &step.code {
            Code::Sequential(block) => self.block(step, block, 2),
            Code::Regions { request, edit, jump } => {
                for (name, block) in [("request", request), ("edit", edit), ("jump", jump)] {
                    self.line(2, &format!("{name} {{"));
                    self.block(step, block, 3);
                    self.line(2, "}");
                }
            }
        }
        self.line(1, "}");
    }

    fn block(&mut self, step: &Step, block: &Block, depth: usize) {
        for op in &block.ops {
            let head = self.head(step, op);
            if let OpKind::If { then, otherwise, .. } = &op.kind {
                self.line(depth, &format!("{head} {{"));
                self.branch(step, then, depth + 1);
                self.line(depth, "} else {");
                self.branch(step, otherwise, depth + 1);
                self.line(depth, "}");
            } else {
                self.line(depth, &head);
            }
        }
    }

    /// Returns an operation without the blocks of an `if`.
    fn head(&self, step: &Step, op: &Op) -> String {
        let results: Vec<_> = op.results.iter().map(|r| definition(step, *r)).collect();
        let results =
            if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
        let guard = op.guard.map_or(String::new(), |g| format!(" when {}", value(g)));
        format!("{results}{}{guard}{}", self.op(step, op), self.loc(op.loc))
    }

    fn branch(&mut self, step: &Step, (block, yields): &(Block, Vec<Value>), depth: usize) {
        self.block(step, block, depth);
        if !yields.is_empty() {
            self.line(depth, &format!("yield {}", values(yields)));
        }
    }

    fn array(&self, array: ArrayId) -> String {
        self.arrays.refer(array.index(), is_word)
    }

    fn op(&self, step: &Step, op: &Op) -> String {
        match &op.kind {
            OpKind::Const(bits) => {
                let width =
                    op.results.first().and_then(|r| step.values.get(r.index())).map(|v| v.width);
                if width == Some(bits.width()) {
                    format!("const {}", number(bits))
                } else {
                    format!("const {bits:?}")
                }
            }
            OpKind::Unary(op, a) => format!("{} {}", op.name(), value(*a)),
            OpKind::Binary(op, a, b) => format!("{} {}, {}", op.name(), value(*a), value(*b)),
            OpKind::Select(a, b, c) => {
                format!("select {}, {}, {}", value(*a), value(*b), value(*c))
            }
            OpKind::Extend(a) => format!("extend {}", value(*a)),
            OpKind::Slice(a, lo) => format!("slice {} from {lo}", value(*a)),
            OpKind::Concat(parts) => format!("concat({})", values(parts)),
            OpKind::Table { elements, index } => {
                let elements: Vec<String> = elements.iter().map(number).collect();
                format!("table {} of ({})", value(*index), elements.join(", "))
            }
            OpKind::ReadContext(id) => {
                format!("context.read {}", self.context.refer(id.index(), is_word))
            }
            OpKind::WriteContext(id, v) => {
                format!("context.write {}, {}", self.context.refer(id.index(), is_word), value(*v))
            }
            OpKind::ReadElement { array, index } => {
                format!("array.read {} at {}", self.array(*array), value(*index))
            }
            OpKind::WriteElement { array, index, value: v } => {
                let array = self.array(*array);
                format!("array.write {array} at {}, {}", value(*index), value(*v))
            }
            OpKind::ReadPacket { base, bit } => format!("packet.read {} + {bit}", value(*base)),
            OpKind::WritePacket { base, bit, value: v } => {
                format!("packet.write {} + {bit}, {}", value(*base), value(*v))
            }
            OpKind::ReadMeta(meta) => format!("meta.read {}", meta.name()),
            OpKind::WriteMeta(meta, v) => format!("meta.write {}, {}", meta.name(), value(*v)),
            OpKind::Insert { offset, count } => {
                format!("packet.insert {}, {}", value(*offset), value(*count))
            }
            OpKind::Remove { offset, count } => {
                format!("packet.remove {}, {}", value(*offset), value(*count))
            }
            OpKind::Reset { count } => format!("packet.reset {}", value(*count)),
            OpKind::Call { offload, method, args } | OpKind::Evaluate { offload, method, args } => {
                let word = if matches!(op.kind, OpKind::Call { .. }) { "call" } else { "eval" };
                let name = self.offloads.refer(offload.index(), is_plain_word);
                let target = self.engine.offloads.get(offload.index()).map(|o| &o.target);
                let method = match target {
                    Some(OffloadTarget::Engine(_)) if *method == 0 => "call".to_owned(),
                    Some(OffloadTarget::Kind(config)) => registry::kind(&config.kind)
                        .and_then(|k| k.methods.get(*method))
                        .map_or(format!("#{method}"), |m| m.name.to_owned()),
                    _ => format!("#{method}"),
                };
                format!("{word} {name}.{method}({})", values(args))
            }
            OpKind::If { condition, .. } => format!("if {}", value(*condition)),
            OpKind::Exit(exit) => match exit {
                Exit::Next(step) => format!("next {}", self.steps.refer(step.index(), is_word)),
                Exit::Emit(step, copied) => {
                    let mut text = format!("emit {}", self.steps.refer(step.index(), is_word));
                    if let Some((offset, count)) = copied.bytes {
                        text += &format!(" bytes {} {}", value(offset), value(count));
                    }
                    if let Some((reason, set)) = copied.cpu {
                        let set = self.reasons.refer(set.index(), is_word);
                        text += &format!(" to_cpu {} of {set}", value(reason));
                    }
                    text
                }
                Exit::Finish => "finish".to_owned(),
                Exit::Done => "done".to_owned(),
                Exit::Reply(v) => format!("reply {}", value(*v)),
                Exit::Drop(v, set) => {
                    format!("drop {} of {}", value(*v), self.reasons.refer(set.index(), is_word))
                }
                Exit::ToCpu(v, set) => {
                    format!("to_cpu {} of {}", value(*v), self.reasons.refer(set.index(), is_word))
                }
            },
        }
    }

    fn loc(&self, loc: Loc) -> String {
        if loc == Loc::default() {
            return String::new();
        }
        format!(" @{}:{}", self.files.refer(loc.file as usize, is_path), loc.line)
    }
}

fn value(v: Value) -> String {
    format!("%{}", v.0)
}

fn values(list: &[Value]) -> String {
    list.iter().map(|v| value(*v)).collect::<Vec<_>>().join(", ")
}

fn definition(step: &Step, v: Value) -> String {
    match step.values.get(v.index()) {
        Some(info) => {
            let name = info.name.as_ref().map_or(String::new(), |n| format!(" {}", string(n)));
            format!("%{}:u{}{name}", v.0, info.width)
        }
        None => format!("%{}:u?", v.0),
    }
}

/// Formats numbers below 1024 in decimal, others in hexadecimal.
fn number(bits: &Bits) -> String {
    match bits.to_u64() {
        Some(v) if v < 1024 => v.to_string(),
        _ => format!("{bits:#x}"),
    }
}

fn layout(layout: &Layout) -> String {
    let leaf = |(name, width): &(String, u32)| match layout.enums.get(name) {
        None => format!("u{width}"),
        Some(members) => {
            let member = |(name, value): &(String, u64)| format!("{} = {value}", quoted(name));
            let members: Vec<_> = members.iter().map(member).collect();
            format!("u{width} enum {{ {} }}", members.join(", "))
        }
    };
    match &layout.fields[..] {
        [field] if field.0.is_empty() => leaf(field),
        fields => {
            let field = |field: &(String, u32)| format!("{}: {}", quoted(&field.0), leaf(field));
            format!("({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

fn kind(config: &Config) -> String {
    let mut out = if config.kind == "engine" { string(&config.kind) } else { quoted(&config.kind) };
    if let Some(key) = &config.key {
        let _ = write!(out, " key {}", layout(key));
    }
    if let Some(value) = &config.value {
        let _ = write!(out, " value {}", layout(value));
    }
    if !config.params.is_empty() {
        let params: Vec<_> =
            config.params.iter().map(|(n, v)| format!("{} = {v:?}", quoted(n))).collect();
        let _ = write!(out, " {{ {} }}", params.join(", "));
    }
    out
}
