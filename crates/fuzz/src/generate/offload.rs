//! Offloads: declarations of all kinds, and calls of their methods according to the registry.

use wireloom_offloads::registry::{self, ReplyType, ValueType};

use super::{Generator, Variable};
use crate::tree::{Expr, ExprKind, Stmt, Struct, Ty};

#[derive(Clone)]
pub(super) struct Method {
    /// The name as `offload.method`.
    name: String,
    args: Vec<Ty>,
    /// Whether each argument is a duration.
    is_duration: Vec<bool>,
    reply: Reply,
    needs_packet: bool,
}

impl Method {
    /// Returns the name of the offload.
    pub(super) fn offload(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

#[derive(Clone)]
enum Reply {
    None,
    One(Ty),
    /// The fields. A call selects one of them.
    Record(Vec<(&'static str, Ty)>),
}

/// An offload with its declaration and its methods.
pub(super) struct Declared {
    pub(super) line: String,
    pub(super) methods: Vec<Method>,
    /// The name and the parameters of a step that can run for the keys of the offload.
    pub(super) timed: Option<(String, Vec<Ty>)>,
}

/// Durations around the ticks and the times between packets, in nanoseconds.
const DURATIONS: [u64; 8] = [0, 1, 99_999, 100_000, 100_001, 1_000_000, 3_300_000, u64::MAX];

/// The kinds that not all machines have.
const IN_SOFTWARE: [&str; 3] = ["timer", "aes", "stream"];

impl Generator {
    /// Declares timers or a table whose entries end at ticks. Also returns a statement that lets
    /// time run for a key.
    pub(super) fn timed_offload(&mut self) -> (Declared, Vec<Stmt>) {
        let tick = *self.pick(&[100_000, 1_000_000]);
        let size = *self.pick(&[1, 4, 16, 64]);
        let (name, key) = (self.fresh("o"), Ty::Bits(*self.pick(&[3, 8, 16, 48])));
        let is_timer = self.chance(50);
        let (kind, value) = if is_timer {
            ("timer", None)
        } else {
            ("exact", Some(Ty::Bits(*self.pick(&[1, 16, 64, 100]))))
        };
        let types: Vec<Ty> = [key.clone()].into_iter().chain(value.clone()).collect();
        let names: Vec<String> = types.iter().map(Ty::name).collect();
        let age = if is_timer { "" } else { *self.pick(&["", "age = 200000, "]) };
        let line = format!(
            "offload {name} : {kind}<{}, size = {size}, {age}tick = {tick}>;",
            names.join(", ")
        );
        let kind = registry::kind(kind).expect("a kind of the registry");
        let methods = Self::methods(kind, &name, Some(&key), value.as_ref(), |_| true);
        let chosen = self.argument(&key, 2);
        let nanoseconds = Expr::atom(Ty::Bits(64), format!("{}", self.pick(&DURATIONS)));
        let call = |method: &str, args| {
            Stmt::Expr(Expr::new(Ty::Bool, ExprKind::Call(format!("{name}.{method}"), args)))
        };
        let mut begin = Vec::new();
        match &value {
            None => begin.push(call("set", vec![chosen, nanoseconds])),
            Some(value) => {
                let held = self.argument(value, 2);
                begin.push(call("accumulate", vec![chosen.clone(), held]));
                if self.chance(60) {
                    begin.push(call("keep", vec![chosen, nanoseconds]));
                }
            }
        }
        let declared = Declared { line, methods, timed: Some((name, types)) };
        (declared, begin)
    }

    /// Declares streams. Also returns statements that open one and keep bytes of the packet in it.
    pub(super) fn stream_offload(&mut self) -> (Declared, Vec<Stmt>) {
        let name = self.fresh("o");
        let key = Ty::Bits(*self.pick(&[1, 3, 16]));
        let value = Ty::Bits(*self.pick(&[1, 16, 64, 100]));
        let (size, bytes) = (*self.pick(&[1, 4, 64]), *self.pick(&[1, 16, 64, 400]));
        let more = *self.pick(&["", ", age = 100000", ", nocase = 1"]);
        let types = format!("{}, {}", key.name(), value.name());
        let line =
            format!("offload {name} : stream<{types}, size = {size}, bytes = {bytes}{more}>;");
        let kind = registry::kind("stream").expect("a kind of the registry");
        let methods = Self::methods(kind, &name, Some(&key), Some(&value), |_| true);
        let chosen = self.argument(&key, 2);
        let start = self.below(4);
        let (sequence, offset) = (start + self.below(8), self.below(70));
        let length = *self.pick(&[1, 5, 40, 400]);
        let number = |width, value: usize| Expr::atom(Ty::Bits(width), value.to_string());
        let call = |method: &str, args| {
            Stmt::Expr(Expr::new(Ty::Bool, ExprKind::Call(format!("{name}.{method}"), args)))
        };
        let segment =
            vec![chosen.clone(), number(32, sequence), number(16, offset), number(16, length)];
        let begin = vec![call("open", vec![chosen, number(32, start)]), call("put", segment)];
        (Declared { line, methods, timed: None }, begin)
    }

    /// Returns the methods of an offload that `is_known` selects.
    fn methods(
        kind: &registry::OffloadKind,
        name: &str,
        key: Option<&Ty>,
        value: Option<&Ty>,
        is_known: impl Fn(&registry::Method) -> bool,
    ) -> Vec<Method> {
        let resolve = |ty: ValueType| match ty {
            ValueType::Bits(n) => Ty::Bits(n),
            ValueType::Bool => Ty::Bool,
            ValueType::Key => key.expect("the kind has a key").clone(),
            ValueType::Value => value.expect("the kind has a value").clone(),
        };
        let methods = kind.methods.iter().filter(|method| is_known(method)).map(|method| Method {
            name: format!("{name}.{}", method.name),
            args: method.args.iter().map(|(_, ty)| resolve(*ty)).collect(),
            is_duration: method.args.iter().map(|(name, _)| *name == "nanoseconds").collect(),
            reply: match method.reply {
                ReplyType::None => Reply::None,
                ReplyType::One(ty) => Reply::One(resolve(ty)),
                ReplyType::Record(fields) => {
                    Reply::Record(fields.iter().map(|(n, ty)| (*n, resolve(*ty))).collect())
                }
            },
            needs_packet: method.reads_packet || method.writes_packet,
        });
        methods.collect()
    }

    /// Generates a declaration of an offload of a random kind.
    pub(super) fn offload(&mut self, has_packet: bool) -> Declared {
        let kinds: Vec<_> = registry::KINDS
            .iter()
            .filter(|kind| self.uses.kinds.contains(&kind.name))
            .filter(|kind| has_packet || !kind.methods.iter().all(|m| m.reads_packet))
            .filter(|kind| self.uses.in_software || !IN_SOFTWARE.contains(&kind.name))
            .filter(|kind| kind.name != "timer" || has_packet)
            .collect();
        // Functions, which are evaluated in place, are more likely than other kinds.
        let functions: Vec<_> =
            kinds.iter().filter(|kind| kind.methods.iter().all(|m| m.is_function())).collect();
        let is_function = !functions.is_empty() && self.chance(25);
        let kind = if is_function { **self.pick(&functions) } else { *self.pick(&kinds) };
        let name = self.fresh("o");
        let key = kind.has_key.then(|| self.key_type(kind.name == "hash"));
        let value = kind.has_value.then(|| match kind.name {
            // A chunk is a whole number of bytes.
            "payload" => Ty::Bits(8 * *self.pick(&[1, 2, 3, 4, 8, 16, 20])),
            _ => self.value_type(),
        });
        let mut arguments: Vec<String> = key.iter().chain(&value).map(Ty::name).collect();
        let mut has_ticks = false;
        for param in kind.params.iter().filter(|param| !param.is_derived) {
            let value = match param.name {
                "tick" if !self.uses.in_software => continue,
                "tick" => {
                    let ticks = [100_000, 1_000_000, 0, 0];
                    let tick = ticks[self.below(if param.default == Some(0) { 4 } else { 2 })];
                    has_ticks = tick != 0;
                    tick
                }
                "size" => *self.pick(&[1u64, 2, 4, 16, 64]),
                "bytes" => *self.pick(&[1, 7, 16, 64, 400]),
                "age" => *self.pick(&[0, 0, 1_500, 100_000]),
                "longest" => *self.pick(&[65_535, 1_500, 200, 40]),
                "cir" | "pir" => *self.pick(&[0, 1_000, 1_000_000_000]),
                "cbs" | "ebs" | "pbs" => *self.pick(&[0, 100, 1_500, 5_000]),
                "seed" => self.below(1 << 20) as u64,
                // A parameter with few values takes any of them. Other parameters keep their
                // defaults, if they have one.
                _ if param.range.1 - param.range.0 < 64 => {
                    param.range.0 + self.below((param.range.1 - param.range.0) as usize + 1) as u64
                }
                _ if param.default.is_some() => continue,
                _ => param.range.0,
            };
            arguments.push(format!("{} = {value}", param.name));
        }
        let arguments = if arguments.is_empty() {
            String::new()
        } else {
            format!("<{}>", arguments.join(", "))
        };
        let line = format!("offload {name} : {}{arguments};", kind.name);
        let is_known = |method: &registry::Method| has_ticks || method.needs.is_none();
        let methods = Self::methods(kind, &name, key.as_ref(), value.as_ref(), is_known);
        let timed = (has_ticks && has_packet && kind.claim.is_some())
            .then(|| (name.clone(), key.into_iter().chain(value).collect()));
        Declared { line, methods, timed }
    }

    /// Declares an offload that is an existing engine, if there is one.
    pub(super) fn engine_offload(&mut self) -> Option<Declared> {
        if self.callees.is_empty() || !self.uses.engines {
            return None;
        }
        let callees = self.callees.clone();
        let callee = self.pick(&callees);
        let name = self.fresh("o");
        let line = format!("offload {name} : engine {};", callee.name);
        let method = Method {
            name: format!("{name}.call"),
            args: callee.params.clone(),
            is_duration: vec![false; callee.params.len()],
            reply: Reply::One(callee.reply.clone()),
            needs_packet: false,
        };
        Some(Declared { line, methods: vec![method], timed: None })
    }

    /// Returns a type for a key. Keys are narrow, so that lookups find them, or addresses, or
    /// structures of narrow fields. The data of a hash has any width.
    fn key_type(&mut self, is_data: bool) -> Ty {
        if self.chance(25) {
            return self.address_type();
        }
        if is_data || self.chance(25) {
            let ty = self.value_type();
            // A type argument cannot be an array.
            return if matches!(ty, Ty::Array(..)) { Ty::Bits(32) } else { ty };
        }
        Ty::Bits(*self.pick(&[1, 3, 4, 8, 8, 16, 32, 128]))
    }

    /// Generates a call of an offload or a function with a reply, if the budget allows one.
    pub(super) fn effect(&mut self, depth: u32) -> Option<Expr> {
        if self.budget == 0 {
            return None;
        }
        if !self.scope.functions.is_empty() && self.chance(35) {
            return self.function_call(depth, true);
        }
        let (call, reply) = self.method_call(depth, true)?;
        match reply {
            Reply::None => None,
            Reply::One(ty) => Some(Expr::new(ty, call)),
            Reply::Record(fields) => {
                let (field, ty) = self.pick(&fields).clone();
                // The record itself has no name, so its type does not matter.
                let record = Expr::new(ty.clone(), call);
                Some(Expr::new(ty, ExprKind::Field(Box::new(record), field.to_owned())))
            }
        }
    }

    /// Returns the names of the offloads that can be called here.
    pub(super) fn offloads_in_scope(&self) -> Vec<String> {
        let has_packet = self.scope.has_packet;
        let callable = self.scope.methods.iter().filter(|m| has_packet || !m.needs_packet);
        let mut names: Vec<String> = callable.map(|m| m.offload().to_owned()).collect();
        names.dedup();
        names
    }

    /// Generates a call of an offload as a statement.
    pub(super) fn call_statement(&mut self) -> Option<Expr> {
        let (call, _) = self.method_call(2, false)?;
        // The reply is discarded, so its type does not matter.
        Some(Expr::new(Ty::Bool, call))
    }

    /// Generates `auto r = offload.method(...);` for a method whose reply is a record.
    pub(super) fn record(&mut self) -> Option<Stmt> {
        let (call, reply) = self.method_call(2, true)?;
        let Reply::Record(fields) = reply else {
            return Some(Stmt::Expr(Expr::new(Ty::Bool, call)));
        };
        let fields = fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
        // `auto` replaces the name of the type. No other object has this type, so no other code
        // names it.
        let ty = Ty::Struct(Box::new(Struct { name: "auto".to_owned(), is_header: false, fields }));
        let name = self.fresh("r");
        self.declare(&name, ty.clone(), false, false);
        Some(Stmt::Local(ty.clone(), name, Some(Expr::new(ty, call))))
    }

    fn method_call(&mut self, depth: u32, must_reply: bool) -> Option<(ExprKind, Reply)> {
        let has_packet = self.scope.has_packet;
        let methods: Vec<_> = self
            .scope
            .methods
            .iter()
            .filter(|m| {
                (has_packet || !m.needs_packet) && !(must_reply && matches!(m.reply, Reply::None))
            })
            .cloned()
            .collect();
        if methods.is_empty() || self.budget == 0 {
            return None;
        }
        self.budget -= 1;
        let method = self.pick(&methods).clone();
        let args = method.args.iter().zip(&method.is_duration);
        let args = args.map(|(ty, is_duration)| {
            if *is_duration && self.chance(85) {
                let nanoseconds = *self.pick(&DURATIONS);
                return Expr::atom(ty.clone(), format!("{nanoseconds}"));
            }
            self.argument(ty, depth)
        });
        let args = args.collect();
        Some((ExprKind::Call(method.name, args), method.reply))
    }

    /// Generates an argument. It is often a small value, so that it is in range and keys recur, or
    /// a packet field. The cast states that an offset or a length may wrap.
    fn argument(&mut self, ty: &Ty, depth: u32) -> Expr {
        let fields = if ty.width() > 32 { self.fields_of(ty) } else { Vec::new() };
        match ty {
            _ if !fields.is_empty() && self.chance(70) => self.pick(&fields).clone(),
            Ty::Bits(width) if *width >= 8 && self.chance(50) => {
                let small = self.expr(&Ty::Bits(4), depth.min(2));
                super::expr::cast(ty, small)
            }
            _ => super::expr::cast(ty, self.expr(ty, depth)),
        }
    }

    /// Returns the view fields of this type.
    fn fields_of(&self, ty: &Ty) -> Vec<Expr> {
        let of_view = |view: &Variable| match &view.ty {
            Ty::Struct(header) if view.is_view => {
                let fields = header.fields.iter().filter(|(_, field)| field == ty);
                let variable = || Box::new(Expr::atom(view.ty.clone(), view.name.clone()));
                fields
                    .map(|(name, _)| {
                        Expr::new(ty.clone(), ExprKind::Field(variable(), name.clone()))
                    })
                    .collect()
            }
            _ => Vec::new(),
        };
        self.scope.variables.iter().flat_map(of_view).collect()
    }

    /// Generates a call of a function with any result type.
    pub(super) fn function_call(&mut self, depth: u32, must_reply: bool) -> Option<Expr> {
        let views: Vec<_> = self.scope.variables.iter().filter(|v| v.is_view).cloned().collect();
        let functions: Vec<_> = self
            .scope
            .functions
            .iter()
            .filter(|f| f.result.is_some() || !must_reply)
            .cloned()
            .collect();
        if functions.is_empty() || self.budget == 0 {
            return None;
        }
        self.budget -= 1;
        let function = self.pick(&functions).clone();
        let mut args = Vec::new();
        for (_, ty) in &function.params {
            let view = views.iter().find(|v| v.ty == *ty);
            args.push(match view {
                Some(view) if self.chance(70) => Expr::atom(ty.clone(), view.name.clone()),
                _ if matches!(ty, Ty::Struct(s) if s.is_header) => {
                    let view = view?;
                    Expr::atom(ty.clone(), view.name.clone())
                }
                _ => self.expr(ty, depth.min(2)),
            });
        }
        let ty = function.result.clone().unwrap_or(Ty::Bool);
        Some(Expr::new(ty, ExprKind::Call(function.name, args)))
    }
}
