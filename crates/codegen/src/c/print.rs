//! The printer. It indents by four spaces per level and breaks lines at [`COLUMNS`] characters
//! where possible.
//!
//! The printer adds parentheses where the grammar needs them, and where readers and compilers
//! expect them: around comparisons and sums next to bit operations, around a sum that is shifted,
//! around `&&` in `||`.

use super::tree::{
    Aggregate, Binary, Declaration, Designator, Expr, Field, Item, Prefix, Shape, Signature, Stmt,
    Type,
};

/// The line length at which lines break if possible.
const COLUMNS: usize = 100;

/// The text of a file.
pub fn file(items: &[Item]) -> String {
    let mut out = Writer { text: String::new(), level: 0 };
    items.iter().for_each(|item| out.item(item));
    out.text
}

/// The number of characters of an expression on one line, with parentheses around every operand
/// that has an operator of its own. The result does not depend on the parentheses that the printer
/// leaves out.
pub fn width(expression: &Expr) -> usize {
    let mut flat = Flat { is_measure: true, ..Flat::default() };
    flat.expression(expression);
    flat.text.chars().count()
}

/// Returns the precedence of an expression. Operands of lower precedence need parentheses.
fn binding(expression: &Expr) -> u32 {
    match expression {
        Expr::Conditional(..) => 1,
        Expr::Binary(operator, ..) => operator_binding(*operator),
        Expr::Prefix(..) | Expr::Cast(..) | Expr::SizeOf(_) => 12,
        _ => 13,
    }
}

const UNARY: u32 = 12;
const POSTFIX: u32 = 13;

fn operator_binding(operator: Binary) -> u32 {
    match operator {
        Binary::Mul | Binary::Div | Binary::Rem => 11,
        Binary::Add | Binary::Sub => 10,
        Binary::Shl | Binary::Shr => 9,
        Binary::Less | Binary::LessEqual => 8,
        Binary::Equal | Binary::NotEqual => 7,
        Binary::And => 6,
        Binary::Xor => 5,
        Binary::Or => 4,
        Binary::Both => 3,
        Binary::Either => 2,
    }
}

fn symbol(operator: Binary) -> &'static str {
    match operator {
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Rem => "%",
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Shl => "<<",
        Binary::Shr => ">>",
        Binary::Less => "<",
        Binary::LessEqual => "<=",
        Binary::Equal => "==",
        Binary::NotEqual => "!=",
        Binary::And => "&",
        Binary::Xor => "^",
        Binary::Or => "|",
        Binary::Both => "&&",
        Binary::Either => "||",
    }
}

/// Families of operators that are not mixed without parentheses.
#[derive(PartialEq, Eq)]
enum Family {
    Arithmetic,
    Shift,
    Comparison,
    Bits,
    Logic,
}

fn family(operator: Binary) -> Family {
    match operator {
        Binary::Mul | Binary::Div | Binary::Rem | Binary::Add | Binary::Sub => Family::Arithmetic,
        Binary::Shl | Binary::Shr => Family::Shift,
        Binary::Less | Binary::LessEqual | Binary::Equal | Binary::NotEqual => Family::Comparison,
        Binary::And | Binary::Xor | Binary::Or => Family::Bits,
        Binary::Both | Binary::Either => Family::Logic,
    }
}

/// Whether an operand of a binary operator needs parentheses.
fn is_enclosed(outer: Binary, operand: &Expr, is_right: bool) -> bool {
    let Expr::Binary(inner, ..) = operand else {
        let is_negated = matches!(operand, Expr::Prefix(Prefix::Not, _));
        return binding(operand) < operator_binding(outer)
            || is_negated && family(outer) == Family::Comparison && !is_right;
    };
    if operator_binding(*inner) < operator_binding(outer) {
        return true;
    }
    match (family(outer), family(*inner)) {
        (Family::Arithmetic, Family::Arithmetic) => {
            is_right && operator_binding(*inner) == operator_binding(outer)
        }
        (Family::Bits, Family::Bits) | (Family::Logic, Family::Logic) => {
            is_right || *inner != outer
        }
        (Family::Bits, Family::Shift) => false,
        (Family::Comparison, Family::Arithmetic | Family::Shift) => false,
        (Family::Logic, _) => false,
        _ => true,
    }
}

/// An expression on one line, with its possible line breaks.
#[derive(Default)]
struct Flat {
    text: String,
    /// Possible line breaks: the position in the text and the depth in the expression.
    breaks: Vec<(usize, usize)>,
    depth: usize,
    /// Whether only the width matters: see [`width`].
    is_measure: bool,
}

impl Flat {
    fn of(head: &str) -> Self {
        Self { text: head.to_owned(), ..Self::default() }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn may_break(&mut self) {
        self.breaks.push((self.text.len(), self.depth));
    }

    fn expression(&mut self, expression: &Expr) {
        self.depth += 1;
        match expression {
            Expr::Name(text) | Expr::Number(text) => self.push(text),
            Expr::Text(text) => self.push(&format!("\"{text}\"")),
            Expr::Call(function, arguments) => {
                self.operand(function, POSTFIX);
                self.push("(");
                self.list(arguments);
                self.push(")");
            }
            Expr::Member(a, field) => {
                self.operand(a, POSTFIX);
                self.push(&format!(".{field}"));
            }
            Expr::Arrow(a, field) => {
                self.operand(a, POSTFIX);
                self.push(&format!("->{field}"));
            }
            Expr::Index(a, at) => {
                self.operand(a, POSTFIX);
                self.push("[");
                self.expression(at);
                self.push("]");
            }
            Expr::Increment(a) => {
                self.operand(a, POSTFIX);
                self.push("++");
            }
            Expr::Prefix(operator, a) => {
                self.push(match operator {
                    Prefix::Not => "!",
                    Prefix::Address => "&",
                    Prefix::Target => "*",
                });
                self.operand(a, UNARY);
            }
            Expr::Cast(ty, a) => {
                self.push(&format!("({})", type_name(ty)));
                self.operand(a, UNARY);
            }
            Expr::Binary(operator, a, b) => self.binary(*operator, a, b),
            Expr::Conditional(condition, yes, no) => {
                self.operand(condition, UNARY);
                self.push(" ");
                self.may_break();
                self.push("? ");
                self.operand(yes, 2);
                self.push(" ");
                self.may_break();
                self.push(": ");
                self.operand(no, 2);
            }
            Expr::List(items) => self.braces(items),
            Expr::Designated(items) => {
                self.push("{ ");
                for (index, (designator, item)) in items.iter().enumerate() {
                    self.push(if index == 0 { "" } else { ", " });
                    self.may_break();
                    self.push(&format!("{} = ", designator_text(designator)));
                    self.expression(item);
                }
                self.push(" }");
            }
            Expr::Object(ty, items) => {
                self.push(&format!("({})", type_name(ty)));
                self.braces(items);
            }
            Expr::SizeOf(a) => {
                self.push("sizeof ");
                self.operand(a, UNARY);
            }
            Expr::SizeOfType(ty) => self.push(&format!("sizeof({})", type_name(ty))),
        }
        self.depth -= 1;
    }

    /// All links of a chain of one operator have the same depth, so that the chain breaks evenly.
    fn binary(&mut self, operator: Binary, a: &Expr, b: &Expr) {
        match a {
            Expr::Binary(inner, c, d) if *inner == operator && self.is_chain(operator, a) => {
                self.binary(*inner, c, d);
            }
            _ => self.term(operator, a, false),
        }
        self.push(" ");
        self.may_break();
        self.push(&format!("{} ", symbol(operator)));
        self.term(operator, b, true);
    }

    fn is_chain(&self, operator: Binary, left: &Expr) -> bool {
        !is_enclosed(operator, left, false) && (!self.is_measure || operator == Binary::Or)
    }

    fn term(&mut self, operator: Binary, operand: &Expr, is_right: bool) {
        // Operands that combine or extract fields are measured as they are printed.
        let is_field = match operand {
            Expr::Binary(inner, ..) => {
                family(*inner) == Family::Shift && family(operator) == Family::Bits
            }
            Expr::Cast(..) => operator == Binary::Shl,
            _ => false,
        };
        if self.is_measure && is_field {
            return self.expression(operand);
        }
        self.enclosed(operand, is_enclosed(operator, operand, is_right));
    }

    fn operand(&mut self, expression: &Expr, least: u32) {
        self.enclosed(expression, binding(expression) < least);
    }

    fn enclosed(&mut self, expression: &Expr, is_enclosed: bool) {
        let has_operator = binding(expression) < POSTFIX;
        if is_enclosed || self.is_measure && has_operator {
            self.push("(");
            self.expression(expression);
            self.push(")");
        } else {
            self.expression(expression);
        }
    }

    fn braces(&mut self, items: &[Expr]) {
        self.push("{ ");
        self.list(items);
        self.push(" }");
    }

    fn list(&mut self, items: &[Expr]) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(", ");
                self.may_break();
            }
            self.expression(item);
        }
    }

    /// Splits the text into lines of at most `room` characters, broken at the outermost possible
    /// places. Lines after the first have `less` characters less.
    fn lines(&self, room: usize, less: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut start, mut room) = (0, room);
        while self.text.len() - start > room {
            let behind = self.breaks.iter().filter(|(at, _)| *at > start);
            let within = behind.clone().filter(|(at, _)| at - start <= room + 1);
            let best = within.min_by_key(|(at, depth)| (*depth, std::cmp::Reverse(*at)));
            let Some((at, _)) = best.or_else(|| behind.min_by_key(|(at, _)| *at)) else { break };
            lines.push(self.text[start..*at].trim_end().to_owned());
            room = if start == 0 { room.saturating_sub(less) } else { room };
            start = *at;
        }
        lines.push(self.text[start..].to_owned());
        lines
    }
}

/// A type without a declared name.
fn type_name(ty: &Type) -> String {
    let constant = if ty.is_const { "const " } else { "" };
    let shape = match ty.shape {
        Shape::Value => "",
        Shape::Pointer => " *",
        Shape::ConstPointer => " *const",
        Shape::Array => "[]",
    };
    format!("{constant}{}{shape}", ty.name)
}

/// A type with the name that it declares.
fn declared(ty: &Type, name: &str) -> String {
    match ty.shape {
        Shape::Pointer => format!("{}{name}", type_name(ty)),
        Shape::Array => {
            format!("{} {name}[]", type_name(&Type { shape: Shape::Value, ..ty.clone() }))
        }
        Shape::Value | Shape::ConstPointer => format!("{} {name}", type_name(ty)),
    }
}

fn designator_text(designator: &Designator) -> String {
    match designator {
        Designator::Field(name) => format!(".{name}"),
        Designator::Element(name) => format!("[{name}]"),
    }
}

/// Returns the text with all ends of comments broken up.
fn harmless(text: &str) -> String {
    text.replace("*/", "* /")
}

struct Writer {
    text: String,
    level: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", self.level));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    fn flat(&mut self, flat: &Flat) {
        let lines = flat.lines(COLUMNS.saturating_sub(4 * self.level), 4);
        for (index, line) in lines.iter().enumerate() {
            self.level += usize::from(index == 1);
            self.line(line);
        }
        self.level -= usize::from(lines.len() > 1);
    }

    /// Writes `head expression tail`.
    fn with(&mut self, head: &str, expression: &Expr, tail: &str) {
        let mut flat = Flat::of(head);
        flat.expression(expression);
        flat.push(tail);
        self.flat(&flat);
    }

    /// Writes a comment, broken into lines.
    fn comment(&mut self, text: &str) {
        let room = COLUMNS.saturating_sub(4 * self.level + 3);
        let mut lines = vec![String::from("/*")];
        for word in harmless(text).split_whitespace() {
            if lines.last().is_some_and(|line| line.len() + 1 + word.len() > room) {
                lines.push(" *".into());
            }
            let line = lines.last_mut().expect("a comment has a line");
            line.push(' ');
            line.push_str(word);
        }
        lines.last_mut().expect("a comment has a line").push_str(" */");
        lines.iter().for_each(|line| self.line(line));
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Comment(text) => self.comment(text),
            Item::Blank => self.line(""),
            Item::Directive(text) => self.line(&format!("#{text}")),
            Item::Macro(call) => self.with("", call, ";"),
            Item::Struct(aggregate) => self.aggregate("", aggregate, ";"),
            Item::Enum(names) => {
                self.line("enum {");
                self.level += 1;
                for (index, name) in names.iter().enumerate() {
                    self.line(&format!(
                        "{name}{}",
                        if index + 1 == names.len() { "" } else { "," }
                    ));
                }
                self.level -= 1;
                self.line("};");
            }
            Item::Object(storage, declaration) => {
                self.declaration(format!("{storage} ").trim_start(), declaration);
            }
            Item::Prototype(signature) => self.signature(signature, ";"),
            Item::Function(signature, body) => {
                self.signature(signature, "");
                self.line("{");
                self.body(body);
                self.line("}");
            }
        }
    }

    fn signature(&mut self, signature: &Signature, tail: &str) {
        let head = declared(&signature.returns, &signature.name);
        let mut flat = Flat::of(format!("{} {head}(", signature.storage).trim_start());
        for (index, (ty, name)) in signature.parameters.iter().enumerate() {
            if index > 0 {
                flat.push(", ");
                flat.may_break();
            }
            flat.push(&declared(ty, name));
        }
        flat.push(if signature.parameters.is_empty() { "void)" } else { ")" });
        flat.push(tail);
        self.flat(&flat);
    }

    fn aggregate(&mut self, head: &str, aggregate: &Aggregate, tail: &str) {
        let keyword = if aggregate.is_union { "union" } else { "struct" };
        let tag = aggregate.tag.as_ref().map_or(String::new(), |tag| format!(" {tag}"));
        self.line(&format!("{head}{keyword}{tag} {{"));
        self.level += 1;
        for field in &aggregate.fields {
            match field {
                Field::Plain { align, declaration } => {
                    let head = align.map_or(String::new(), |bytes| format!("_Alignas({bytes}) "));
                    self.declaration(&head, declaration);
                }
                Field::Nested { aggregate, name, sizes } => {
                    let mut tail = Flat::of(&format!(" {name}"));
                    sized(&mut tail, sizes);
                    self.aggregate("", aggregate, &format!("{};", tail.text));
                }
            }
        }
        self.level -= 1;
        self.line(&format!("}}{tail}"));
    }

    fn declaration(&mut self, head: &str, declaration: &Declaration) {
        let mut flat = Flat::of(&format!("{head}{}", declared(&declaration.ty, &declaration.name)));
        sized(&mut flat, &declaration.sizes);
        if let Some(Expr::Designated(items)) = &declaration.value {
            self.line(&format!("{} = {{", flat.text));
            self.level += 1;
            for (designator, item) in items {
                self.with(&format!("{} = ", designator_text(designator)), item, ",");
            }
            self.level -= 1;
            return self.line("};");
        }
        if let Some(value) = &declaration.value {
            flat.push(" = ");
            flat.expression(value);
        }
        flat.push(";");
        if let Some(comment) = &declaration.comment {
            flat.push(&format!(" /* {} */", harmless(comment)));
        }
        self.flat(&flat);
    }

    fn body(&mut self, statements: &[Stmt]) {
        self.level += 1;
        for (index, statement) in statements.iter().enumerate() {
            match statement {
                // A label must precede a statement, and a declaration is not one.
                Stmt::Label(name) => {
                    let next = statements[index + 1..]
                        .iter()
                        .find(|next| !matches!(next, Stmt::Comment(_)));
                    let is_labelled = !matches!(
                        next,
                        None | Some(Stmt::Declare(_) | Stmt::Static(_) | Stmt::DeclareStruct(..))
                    );
                    self.line(&format!("{name}:{}", if is_labelled { "" } else { ";" }));
                }
                _ => self.statement(statement),
            }
        }
        self.level -= 1;
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Declare(declaration) => self.declaration("", declaration),
            Stmt::Static(declaration) => self.declaration("static ", declaration),
            Stmt::DeclareStruct(aggregate, name) => {
                self.aggregate("", aggregate, &format!(" {name};"))
            }
            Stmt::Assign(to, value) => self.assignment(to, "=", value),
            Stmt::Include(to, value) => self.assignment(to, "|=", value),
            Stmt::Expr(expression) => self.with("", expression, ";"),
            Stmt::If(condition, body) => {
                self.with("if (", condition, ") {");
                self.body(body);
                self.line("}");
            }
            Stmt::Count { variable: i, first, limit, body } => {
                let mut flat = Flat::of(&format!("for (uint32_t {i} = "));
                flat.expression(first);
                flat.push(&format!("; {i} < "));
                flat.expression(limit);
                flat.push(&format!("; {i}++) {{"));
                self.flat(&flat);
                self.body(body);
                self.line("}");
            }
            Stmt::While(condition, body) => {
                self.with("while (", condition, ") {");
                self.body(body);
                self.line("}");
            }
            Stmt::Forever(body) => {
                self.line("for (;;) {");
                self.body(body);
                self.line("}");
            }
            Stmt::Switch(value, cases) => {
                self.with("switch (", value, ") {");
                for (label, body) in cases {
                    match label {
                        Some(label) => self.with("case ", label, ":"),
                        None => self.line("default:"),
                    }
                    self.body(body);
                }
                self.line("}");
            }
            Stmt::Break => self.line("break;"),
            Stmt::Block(body) => {
                self.line("{");
                self.body(body);
                self.line("}");
            }
            Stmt::Label(_) => unreachable!("labels are printed with what follows them"),
            Stmt::Goto(label) => self.line(&format!("goto {label};")),
            Stmt::Return(value) => self.with("return ", value, ";"),
            Stmt::Comment(text) => self.comment(text),
        }
    }

    fn assignment(&mut self, to: &Expr, operator: &str, value: &Expr) {
        let mut flat = Flat::default();
        flat.expression(to);
        flat.push(&format!(" {operator} "));
        flat.expression(value);
        flat.push(";");
        self.flat(&flat);
    }
}

fn sized(flat: &mut Flat, sizes: &[Expr]) {
    for size in sizes {
        flat.push("[");
        flat.expression(size);
        flat.push("]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Expr {
        Expr::name(name)
    }

    fn printed(expression: &Expr) -> String {
        let mut flat = Flat::default();
        flat.expression(expression);
        flat.text
    }

    #[test]
    fn parentheses_stand_where_they_are_needed_or_wanted() {
        use Binary as B;
        let of = |operator: Binary, a: Expr, b: Expr| a.binary(operator, b);
        let both = |outer, inner| {
            [
                printed(&of(outer, of(inner, name("a"), name("b")), name("c"))),
                printed(&of(outer, name("a"), of(inner, name("b"), name("c")))),
            ]
        };
        for (outer, inner, left, right) in [
            (B::Add, B::Add, "a + b + c", "a + (b + c)"),
            (B::Sub, B::Add, "a + b - c", "a - (b + c)"),
            (B::Mul, B::Add, "(a + b) * c", "a * (b + c)"),
            (B::Add, B::Mul, "a * b + c", "a + b * c"),
            (B::Shl, B::Add, "(a + b) << c", "a << (b + c)"),
            (B::Shl, B::Shr, "(a >> b) << c", "a << (b >> c)"),
            (B::Or, B::Or, "a | b | c", "a | (b | c)"),
            (B::Or, B::Shl, "a << b | c", "a | b << c"),
            (B::Or, B::And, "(a & b) | c", "a | (b & c)"),
            (B::And, B::Equal, "(a == b) & c", "a & (b == c)"),
            (B::Equal, B::And, "(a & b) == c", "a == (b & c)"),
            (B::Equal, B::Less, "(a < b) == c", "a == (b < c)"),
            (B::Less, B::Add, "a + b < c", "a < b + c"),
            (B::Both, B::Equal, "a == b && c", "a && b == c"),
            (B::Either, B::Both, "(a && b) || c", "a || (b && c)"),
        ] {
            assert_eq!(both(outer, inner), [left, right]);
        }
        let not = |a: Expr| a.not();
        assert_eq!(printed(&of(B::Equal, not(name("a")), not(name("b")))), "(!a) == !b");
        assert_eq!(printed(&not(of(B::Less, name("a"), name("b")))), "!(a < b)");
        let sum = of(B::Add, name("a"), name("b"));
        assert_eq!(printed(&sum.clone().cast("uint8_t")), "(uint8_t)(a + b)");
        assert_eq!(printed(&name("a").cast("uint8_t").member("w")), "((uint8_t)a).w");
        assert_eq!(printed(&name("a").at(0).address().target().at(1)), "(*&a[0])[1]");
        let choice = sum.clone().choose(name("c"), name("d").choose(name("e"), name("f")));
        assert_eq!(printed(&choice), "(a + b) ? c : (d ? e : f)");
        assert_eq!(printed(&Expr::call("f", [choice, sum])), "f((a + b) ? c : (d ? e : f), a + b)");
    }

    #[test]
    fn long_lines_break_as_far_out_as_they_can() {
        let long = |n: usize| name(&"x".repeat(n));
        let inner = Expr::call("inner", [long(30), long(30)]);
        let items = [
            Item::Function(
                Signature {
                    storage: "static",
                    returns: Type::named("void"),
                    name: "f".into(),
                    parameters: vec![],
                },
                vec![
                    Stmt::call("outer", [long(15), inner.clone(), inner]),
                    Stmt::Return(long(120)),
                ],
            ),
            Item::Comment("word */ ".repeat(40)),
        ];
        let text = file(&items);
        let x = |n: usize| "x".repeat(n);
        let expected = [
            "static void f(void)".to_owned(),
            "{".into(),
            format!("    outer({}, inner({}, {}),", x(15), x(30), x(30)),
            format!("        inner({}, {}));", x(30), x(30)),
            format!("    return {};", x(120)),
            "}".into(),
        ];
        assert_eq!(text.lines().take(6).collect::<Vec<_>>(), expected);
        let comment: Vec<&str> = text.lines().skip(6).collect();
        assert!(comment.len() > 2 && comment.iter().all(|line| line.len() <= COLUMNS));
        assert_eq!(text.matches("*/").count(), 1);
    }

    #[test]
    fn labels_stand_in_front_of_statements() {
        let body = vec![
            Stmt::Label("a".into()),
            Declaration::new(Type::structure("s").pointer(), "p").commented("of u8").into(),
            Stmt::Label("b".into()),
            Stmt::Comment("here".into()),
            Stmt::Break,
            Stmt::Label("c".into()),
        ];
        let mut out = Writer { text: String::new(), level: 0 };
        out.body(&body);
        assert_eq!(
            out.text,
            "    a:;\n    struct s *p; /* of u8 */\n    b:\n    /* here */\n    break;\n    c:;\n"
        );
    }
}
