//! A Loom C program as a tree. The generator makes it and the shrinker reduces it. The tree
//! contains the type of every expression and can be printed as source text.

use std::fmt::Write as _;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// `uN`.
    Bits(u32),
    /// `bool`.
    Bool,
    /// An enumeration, with its name and its width in bits.
    Enum(String, u32),
    /// A structure or header.
    Struct(Box<Struct>),
    /// A fixed array.
    Array(Box<Ty>, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    pub name: String,
    /// Whether it is a `header`.
    pub is_header: bool,
    /// The name and the type of each field.
    pub fields: Vec<(String, Ty)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    pub name: String,
    /// The width of its underlying type in bits.
    pub width: u32,
    /// The name and the value of each member.
    pub members: Vec<(String, u64)>,
}

impl Ty {
    /// The width in bits when packed.
    pub fn width(&self) -> u32 {
        match self {
            Self::Bits(n) | Self::Enum(_, n) => *n,
            Self::Bool => 1,
            Self::Struct(s) => s.fields.iter().map(|(_, ty)| ty.width()).sum(),
            Self::Array(element, count) => element.width() * count,
        }
    }

    /// Returns the type as written in a cast or before a name without array brackets.
    pub fn name(&self) -> String {
        match self {
            Self::Bits(n) => format!("u{n}"),
            Self::Bool => "bool".to_owned(),
            Self::Enum(name, _) => name.clone(),
            Self::Struct(s) => s.name.clone(),
            Self::Array(element, count) => format!("{}[{count}]", element.name()),
        }
    }

    /// Returns a declaration of `name` with this type. The generator makes no arrays of arrays.
    pub fn declare(&self, name: &str) -> String {
        match self {
            Self::Array(element, count) => format!("{} {name}[{count}]", element.name()),
            _ => format!("{} {name}", self.name()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub ty: Ty,
    pub kind: ExprKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An atom: a literal, a name, `packet.length`.
    Atom(String),
    /// `(TYPE)x`
    Cast(Box<Expr>),
    /// A prefix operator.
    Unary(&'static str, Box<Expr>),
    /// An infix operator.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `x.field`
    Field(Box<Expr>, String),
    /// `x[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `x[hi:lo]`
    Slice(Box<Expr>, u32, u32),
    /// `x[i +: n]`
    Run(Box<Expr>, Box<Expr>, u32),
    /// `concat(...)`
    Concat(Vec<Expr>),
    /// `(TYPE){ ... }`
    Aggregate(Vec<Expr>),
    /// A call of a function, an offload's method or a packet operation: the callee and the
    /// arguments.
    Call(String, Vec<Expr>),
}

impl Expr {
    /// Creates an expression of the given type and kind.
    pub fn new(ty: Ty, kind: ExprKind) -> Self {
        Self { ty, kind }
    }

    pub fn atom(ty: Ty, text: impl Into<String>) -> Self {
        Self::new(ty, ExprKind::Atom(text.into()))
    }

    /// Creates an expression of this type with all bits zero.
    pub fn zero(ty: Ty) -> Self {
        let text = match &ty {
            Ty::Bool => "false".to_owned(),
            Ty::Bits(n) => format!("(u{n})0"),
            Ty::Enum(..) | Ty::Struct(_) | Ty::Array(..) => format!("({})(u1)0", ty.name()),
        };
        Self::atom(ty, text)
    }

    /// Returns the direct subexpressions.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Atom(_) => vec![],
            ExprKind::Cast(a)
            | ExprKind::Unary(_, a)
            | ExprKind::Field(a, _)
            | ExprKind::Slice(a, ..) => {
                vec![a]
            }
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Run(a, b, _) => {
                vec![a, b]
            }
            ExprKind::Conditional(a, b, c) => vec![a, b, c],
            ExprKind::Concat(parts) | ExprKind::Aggregate(parts) | ExprKind::Call(_, parts) => {
                parts.iter_mut().collect()
            }
        }
    }

    /// Returns the source text. Operators, casts and aggregates are in parentheses.
    pub fn text(&self) -> String {
        let list = |parts: &[Expr]| parts.iter().map(Expr::text).collect::<Vec<_>>().join(", ");
        match &self.kind {
            ExprKind::Atom(text) if text.starts_with('(') => format!("({text})"),
            ExprKind::Atom(text) => text.clone(),
            ExprKind::Cast(a) => format!("(({}){})", self.ty.name(), a.text()),
            ExprKind::Unary(op, a) => format!("({op}{})", a.text()),
            ExprKind::Binary(op, a, b) => format!("({} {op} {})", a.text(), b.text()),
            ExprKind::Conditional(c, a, b) => {
                format!("({} ? {} : {})", c.text(), a.text(), b.text())
            }
            ExprKind::Field(a, name) => format!("{}.{name}", a.text()),
            ExprKind::Index(a, i) => format!("{}[{}]", a.text(), i.text()),
            ExprKind::Slice(a, hi, lo) => format!("{}[{hi}:{lo}]", a.text()),
            ExprKind::Run(a, i, count) => format!("{}[{} +: {count}]", a.text(), i.text()),
            ExprKind::Concat(parts) => format!("concat({})", list(parts)),
            ExprKind::Aggregate(parts) => format!("(({}){{ {} }})", self.ty.name(), list(parts)),
            ExprKind::Call(what, args) => format!("{what}({})", list(args)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `TYPE name = value;`
    Local(Ty, String, Option<Expr>),
    /// `HEADER name @ offset;`
    View(String, String, Expr),
    /// `place OP= value;`
    Assign(Expr, &'static str, Expr),
    /// `place++;` or `place--;`
    Step(Expr, &'static str),
    /// An expression statement.
    Expr(Expr),
    /// `if`
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `switch`: the labels and the body of each case, and the default.
    Switch(Expr, Vec<(Vec<u64>, Vec<Stmt>)>, Vec<Stmt>),
    /// `for (uW name = 0; name < count; name++)`
    For(u32, String, u32, Vec<Stmt>),
    /// `break;` or `continue;` of a loop.
    Leave(&'static str),
    /// `return value;`
    Return(Expr),
    /// `next STEP;`
    Next(String),
    /// `emit(STEP);` or `to_cpu(reason, STEP);`
    Emit(Copied, String),
    /// `Next_step = STEP;`
    SetNext(String),
    /// `finish;`, `done;`
    End(&'static str),
    /// `drop`, `to_cpu` or `finish` with a value.
    EndWith(&'static str, Expr),
}

/// What a copy is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copied {
    /// The reason for which the control processor gets it.
    pub reason: Option<Expr>,
    /// The offset and the number of the bytes.
    pub bytes: Option<[Expr; 2]>,
}

/// A function. A view parameter has a header type.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    /// The type of the result; `None` means `void`.
    pub result: Option<Ty>,
    /// The name and the type of each parameter.
    pub params: Vec<(String, Ty)>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub name: String,
    /// The offload for whose keys the step runs, and the names and types of its parameters.
    pub trigger: Option<(String, Vec<(String, Ty)>)>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EngineDecl {
    pub name: String,
    /// The parameters and the reply of a called engine; `None` for the main engine.
    pub interface: Option<(Vec<(String, Ty)>, Ty)>,
    /// The declarations of offloads, a complete line each.
    pub offloads: Vec<String>,
    /// The name and the type of each context variable.
    pub context: Vec<(String, Ty)>,
    /// The views: header, name and offset.
    pub views: Vec<(String, String, Expr)>,
    pub functions: Vec<Function>,
    /// The steps. A thread begins at the first one.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    pub enums: Vec<Enum>,
    /// The structures and headers.
    pub structs: Vec<Struct>,
    /// The constant arrays: name, type and elements.
    pub tables: Vec<(String, Ty, Vec<u64>)>,
    /// Functions outside of engines.
    pub functions: Vec<Function>,
    /// The engines. The last one is the main engine.
    pub engines: Vec<EngineDecl>,
}

impl Program {
    /// Returns the source text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for e in &self.enums {
            let members: Vec<_> = e.members.iter().map(|(n, v)| format!("{n} = {v}")).collect();
            let _ = writeln!(out, "enum {} : u{} {{ {} }};", e.name, e.width, members.join(", "));
        }
        for s in &self.structs {
            let kind = if s.is_header { "header" } else { "struct" };
            let fields: Vec<_> =
                s.fields.iter().map(|(n, ty)| format!("{};", ty.declare(n))).collect();
            let _ = writeln!(out, "{kind} {} {{ {} }};", s.name, fields.join(" "));
        }
        for (name, ty, elements) in &self.tables {
            let elements: Vec<_> = elements.iter().map(u64::to_string).collect();
            let _ = writeln!(out, "const {} = {{ {} }};", ty.declare(name), elements.join(", "));
        }
        for f in &self.functions {
            function(&mut out, f, 0);
        }
        for engine in &self.engines {
            self.engine(&mut out, engine);
        }
        out
    }

    fn engine(&self, out: &mut String, engine: &EngineDecl) {
        let (params, reply) = match &engine.interface {
            Some((params, reply)) => (parameters(params), format!(" -> {}", reply.name())),
            None => (String::new(), String::new()),
        };
        let _ = writeln!(out, "engine {}({params}){reply} {{", engine.name);
        for line in &engine.offloads {
            let _ = writeln!(out, "    {line}");
        }
        for (name, ty) in &engine.context {
            let _ = writeln!(out, "    {};", ty.declare(name));
        }
        for (header, name, offset) in &engine.views {
            let _ = writeln!(out, "    {header} {name} @ {};", offset.text());
        }
        for f in &engine.functions {
            function(out, f, 1);
        }
        for step in &engine.steps {
            let trigger = step.trigger.as_ref().map_or(String::new(), |(offload, params)| {
                format!("on {offload}({}) ", parameters(params))
            });
            let _ = writeln!(out, "    step {} {trigger}{{", step.name);
            block(out, &step.body, 2);
            out.push_str("    }\n");
        }
        out.push_str("}\n");
    }
}

fn parameters(params: &[(String, Ty)]) -> String {
    params.iter().map(|(name, ty)| ty.declare(name)).collect::<Vec<_>>().join(", ")
}

fn function(out: &mut String, f: &Function, depth: usize) {
    let result = f.result.as_ref().map_or("void".to_owned(), Ty::name);
    let _ =
        writeln!(out, "{:2$}{result} {} ({3}) {{", "", f.name, 4 * depth, parameters(&f.params));
    block(out, &f.body, depth + 1);
    let _ = writeln!(out, "{:1$}}}", "", 4 * depth);
}

fn block(out: &mut String, body: &[Stmt], depth: usize) {
    body.iter().for_each(|s| statement(out, s, depth));
}

fn statement(out: &mut String, stmt: &Stmt, depth: usize) {
    let indent = 4 * depth;
    let mut line = |text: String| {
        let _ = writeln!(out, "{:indent$}{text}", "");
    };
    match stmt {
        Stmt::Local(ty, name, None) => line(format!("{};", ty.declare(name))),
        Stmt::Local(ty, name, Some(value)) => {
            line(format!("{} = {};", ty.declare(name), value.text()))
        }
        Stmt::View(header, name, offset) => line(format!("{header} {name} @ {};", offset.text())),
        Stmt::Assign(place, op, value) => line(format!("{} {op} {};", place.text(), value.text())),
        Stmt::Step(place, op) => line(format!("{}{op};", place.text())),
        Stmt::Expr(expr) => line(format!("{};", expr.text())),
        Stmt::If(condition, then, otherwise) => {
            line(format!("if ({}) {{", condition.text()));
            block(out, then, depth + 1);
            if !otherwise.is_empty() {
                let _ = writeln!(out, "{:indent$}}} else {{", "");
                block(out, otherwise, depth + 1);
            }
            let _ = writeln!(out, "{:indent$}}}", "");
        }
        Stmt::Switch(on, cases, default) => {
            line(format!("switch ({}) {{", on.text()));
            for (labels, body) in cases {
                let labels: Vec<_> = labels.iter().map(|l| format!("case {l}:")).collect();
                let _ = writeln!(out, "{:indent$}{} {{", "", labels.join(" "));
                block(out, body, depth + 1);
                let _ = writeln!(out, "{:indent$}}} break;", "");
            }
            let _ = writeln!(out, "{:indent$}default: {{", "");
            block(out, default, depth + 1);
            let _ = writeln!(out, "{:indent$}}} break;\n{:indent$}}}", "", "");
        }
        Stmt::For(width, name, count, body) => {
            line(format!("for (u{width} {name} = 0; {name} < {count}; {name}++) {{"));
            block(out, body, depth + 1);
            let _ = writeln!(out, "{:indent$}}}", "");
        }
        Stmt::Leave(word) => line(format!("{word};")),
        Stmt::Return(value) => line(format!("return {};", value.text())),
        Stmt::Next(step) => line(format!("next {step};")),
        Stmt::Emit(Copied { reason, bytes }, step) => {
            let mut text = match reason {
                None => format!("emit({step}"),
                Some(reason) => format!("to_cpu({}, {step}", reason.text()),
            };
            if let Some([offset, count]) = bytes {
                text += &format!(", {}, {}", offset.text(), count.text());
            }
            line(text + ");")
        }
        Stmt::SetNext(step) => line(format!("Next_step = {step};")),
        Stmt::End(word) => line(format!("{word};")),
        Stmt::EndWith(word, value) => line(format!("{word}({});", value.text())),
    }
}
