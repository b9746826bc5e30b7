//! Functions, steps and engines.

use rand::Rng;

use super::expr::cast;
use super::{Callee, Generator, Scope};
use crate::tree::{EngineDecl, Expr, ExprKind, Function, Step, Stmt, Struct, Ty};

/// The maximum number of backward jumps of a thread.
const FUEL: u32 = 5;
/// The context variable that counts the backward jumps.
const SPENT: &str = "spent";
/// The maximum number of context bytes pushed in front of a packet. It is the limit of one push.
const MAX_DUMP: u32 = 120;

impl Generator {
    /// Generates a function in the scope `outer`. A function of an engine sees its context, views
    /// and offloads.
    pub(super) fn function(&mut self, outer: &Scope, has_packet: bool) -> Function {
        let name = self.fresh("g");
        let result = if self.chance(85) { Some(self.function_type()) } else { None };
        self.scope = outer.clone();
        self.scope.functions =
            if has_packet { outer.functions.clone() } else { self.program.functions.clone() };
        self.scope.function = Some(result.clone());
        self.budget = 2;
        let mut params = Vec::new();
        for _ in 0..self.below(4) {
            let is_view = self.chance(20);
            let ty =
                if is_view { Ty::Struct(Box::new(self.header())) } else { self.function_type() };
            let is_view = matches!(&ty, Ty::Struct(s) if s.is_header);
            let param = self.fresh("p");
            self.declare(&param, ty.clone(), true, is_view);
            params.push((param, ty));
        }
        let mut body = self.body(1, 3);
        if let Some(result) = &result {
            body.push(Stmt::Return(self.expr(result, 3)));
        }
        Function { name, result, params, body }
    }

    /// Returns a type for a parameter or result. It is never an array.
    fn function_type(&mut self) -> Ty {
        match self.value_type() {
            Ty::Array(..) => Ty::Bits(16),
            ty => ty,
        }
    }

    /// Generates an engine. With a reply, other engines can call it.
    pub(super) fn engine(&mut self, reply: Option<Ty>) {
        let has_packet = reply.is_none();
        let name = self.fresh("e");
        let reply = reply.map(|ty| if matches!(ty, Ty::Array(..)) { Ty::Bits(24) } else { ty });
        let mut scope = Scope { has_packet, reply: reply.clone(), ..self.file_scope() };
        scope.functions =
            self.program.functions.iter().filter(|f| has_packet || !has_view(f)).cloned().collect();
        self.scope = scope;
        let mut params = Vec::new();
        if reply.is_some() {
            for _ in 0..self.below(4) {
                let (param, ty) = (self.fresh("q"), self.function_type());
                self.declare(&param, ty.clone(), true, false);
                params.push((param, ty));
            }
        }
        let mut context = vec![(SPENT.to_owned(), Ty::Bits(8))];
        for _ in 0..1 + self.below(5) {
            let (variable, ty) = (self.fresh("c"), self.variable_type());
            self.declare(&variable, ty.clone(), true, false);
            context.push((variable, ty));
        }
        let (mut offloads, mut timed) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.below(4) {
            let declared = if self.chance(40) {
                self.engine_offload()
            } else {
                Some(self.offload(has_packet))
            };
            if let Some(declared) = declared {
                offloads.push(declared.line);
                self.scope.methods.extend(declared.methods);
                timed.extend(declared.timed);
            }
        }
        let mut begin = Vec::new();
        if has_packet && self.uses.in_software && self.chance(60) {
            for _ in 0..1 + self.below(2) {
                let (declared, set) = self.timed_offload();
                offloads.push(declared.line);
                self.scope.methods.extend(declared.methods);
                timed.extend(declared.timed);
                begin.extend(set);
            }
        }
        let streams = self.uses.in_software && self.uses.kinds.contains(&"stream");
        if has_packet && streams && self.chance(25) {
            let (declared, put) = self.stream_offload();
            offloads.push(declared.line);
            self.scope.methods.extend(declared.methods);
            begin.extend(put);
        }
        let views = if has_packet { self.views(&context) } else { vec![] };
        let mut functions = Vec::new();
        for _ in 0..self.below(2) {
            let outer = self.scope.clone();
            let function = self.function(&outer, true);
            self.scope = outer;
            self.scope.functions.push(function.clone());
            functions.push(function);
        }
        let dump = if has_packet { Some(self.dump_step(&context)) } else { None };
        self.scope.dump = dump.as_ref().map(|step| step.name.clone());
        let mut steps = self.steps();
        steps[0].body.splice(0..0, begin);
        for (offload, types) in timed {
            if self.chance(70) {
                let at = self.below(steps.len() + 1);
                let step = self.timed_step(offload, types);
                steps.insert(at, step);
            }
        }
        steps.extend(dump);
        if let Some(reply) = &reply {
            let params = params.iter().map(|(_, ty)| ty.clone()).collect();
            self.callees.push(Callee { name: name.clone(), params, reply: reply.clone() });
        }
        let interface = reply.map(|reply| (params, reply));
        self.program.engines.push(EngineDecl {
            name,
            interface,
            offloads,
            context,
            views,
            functions,
            steps,
        });
    }

    /// Generates views at constant offsets or at an offset in a context variable. A few are views of
    /// the whole packet; these are variables to the rest of the program, since no function takes them.
    fn views(&mut self, context: &[(String, Ty)]) -> Vec<(String, String, Expr)> {
        let mut views = Vec::new();
        for _ in 0..1 + self.below(3) {
            let (header, name) = (self.header(), self.fresh("w"));
            let places: Vec<_> = context
                .iter()
                .filter(|(_, ty)| matches!(ty, Ty::Bits(n) if *n <= 16))
                .cloned()
                .collect();
            let is_whole = self.uses.kinds.contains(&"payload") && self.chance(12);
            let (ty, offset) = if self.chance(50) {
                let (variable, ty) = self.pick(&places).clone();
                (ty, variable)
            } else {
                let end = if is_whole { 300 } else { 50 };
                (Ty::Bits(16), self.rng.random_range(0..end).to_string())
            };
            let offset = if is_whole { format!("packet[{offset}]") } else { offset };
            self.declare(&name, Ty::Struct(Box::new(header.clone())), true, !is_whole);
            views.push((header.name, name, Expr::atom(ty, offset)));
        }
        views
    }

    /// Generates a last step that pushes the context in front of the packet, so that wrong
    /// intermediate results are visible.
    fn dump_step(&mut self, context: &[(String, Ty)]) -> Step {
        let mut writes = Vec::new();
        let mut length = 0;
        for (variable, ty) in context {
            let bytes = ty.width().div_ceil(8);
            if length + bytes > MAX_DUMP {
                continue;
            }
            let (header, field, view) = (self.fresh("H"), self.fresh("f"), self.fresh("w"));
            let bits = Ty::Bits(8 * bytes);
            let header = Struct {
                name: header,
                is_header: true,
                fields: vec![(field.clone(), bits.clone())],
            };
            let at = Expr::atom(Ty::Bits(16), format!("{length}"));
            writes.push(Stmt::View(header.name.clone(), view.clone(), at));
            let place = Expr::atom(Ty::Struct(Box::new(header.clone())), view);
            let place = Expr::new(bits.clone(), ExprKind::Field(Box::new(place), field));
            let value = cast(&bits, Expr::atom(ty.clone(), variable.clone()));
            writes.push(Stmt::Assign(place, "=", value));
            self.program.structs.push(header);
            length += bytes;
        }
        let count = Expr::atom(Ty::Bits(16), format!("{length}"));
        let push = Expr::new(Ty::Bool, ExprKind::Call("packet.push".to_owned(), vec![count]));
        Step {
            name: self.fresh("s"),
            trigger: None,
            body: vec![Stmt::If(push, writes, vec![]), Stmt::End("finish")],
        }
    }

    fn steps(&mut self) -> Vec<Step> {
        let names: Vec<_> = (0..1 + self.below(5)).map(|_| self.fresh("s")).collect();
        let mut steps = Vec::new();
        for (index, name) in names.iter().enumerate() {
            self.scope.forward = names[index + 1..].to_vec();
            self.scope.backward = names[..=index].to_vec();
            self.budget = 4;
            let visible = self.scope.variables.len();
            let mut body = self.body(2, 5);
            if self.chance(35) {
                body.push(self.backward_jump());
            }
            // `Next_step` selects the step that follows at the end of this step.
            if !self.scope.forward.is_empty() && self.chance(15) {
                body.insert(0, Stmt::SetNext(self.scope.forward[0].clone()));
            } else {
                body.push(self.end(true));
            }
            self.scope.variables.truncate(visible);
            steps.push(Step { name: name.clone(), trigger: None, body });
        }
        steps
    }

    /// Generates a step that runs for the keys of an offload. Most of these steps make a packet. They
    /// end the thread, or continue at the step that writes the context to the packet.
    fn timed_step(&mut self, offload: String, types: Vec<Ty>) -> Step {
        let name = self.fresh("s");
        let visible = self.scope.variables.len();
        let mut params = Vec::new();
        for ty in types {
            let param = self.fresh("k");
            self.declare(&param, ty.clone(), true, false);
            params.push((param, ty));
        }
        (self.scope.forward, self.scope.backward) = (Vec::new(), Vec::new());
        self.budget = 4;
        let mut body = Vec::new();
        if self.chance(70) {
            let length = Expr::atom(Ty::Bits(16), format!("{}", self.rng.random_range(0..200)));
            let made = ExprKind::Call("packet.reset".to_owned(), vec![length]);
            body.push(Stmt::Expr(Expr::new(Ty::Bool, made)));
        }
        body.extend(self.body(2, 4));
        body.push(self.end(true));
        self.scope.variables.truncate(visible);
        Step { name, trigger: Some((offload, params)), body }
    }

    /// `if (spent < FUEL && ...) { spent += 1; next STEP; }`
    fn backward_jump(&mut self) -> Stmt {
        let spent = || Expr::atom(Ty::Bits(8), SPENT);
        let limit = Expr::atom(Ty::Bits(8), format!("{FUEL}"));
        let fuel = Expr::new(Ty::Bool, ExprKind::Binary("<", Box::new(spent()), Box::new(limit)));
        let condition = if self.chance(50) {
            let other = self.expr(&Ty::Bool, 2);
            Expr::new(Ty::Bool, ExprKind::Binary("&&", Box::new(fuel), Box::new(other)))
        } else {
            fuel
        };
        let steps = self.scope.backward.clone();
        let target = self.pick(&steps).clone();
        let jump = if self.scope.reply.is_none() && self.chance(25) && self.uses.copies {
            Stmt::Emit(self.copied(), target)
        } else {
            Stmt::Next(target)
        };
        let one = Expr::atom(Ty::Bits(8), "1");
        Stmt::If(condition, vec![Stmt::Assign(spent(), "+=", one), jump], vec![])
    }
}

/// Whether a function takes a view. Only engines with packets can call such a function.
fn has_view(function: &Function) -> bool {
    function.params.iter().any(|(_, ty)| matches!(ty, Ty::Struct(s) if s.is_header))
}
