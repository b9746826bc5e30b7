//! The printer. It indents by two spaces per level and breaks lines at [`COLUMNS`] characters where
//! possible.

use wireloom_bits::Bits;

use super::{Binary, Direction, Expr, Instance, Item, Module, Port, Statement, Type};

/// The line length at which lines break if possible.
const COLUMNS: usize = 100;

/// Writes a comment of one line. Its text can have the name of a source file, which must not end
/// the line and become code.
fn remark(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("// {text}")
}

pub(super) fn module(module: &Module) -> String {
    let mut out = Writer { text: String::new(), indent: 0 };
    if module.items.iter().any(has_reset) {
        out.line("`include \"wl_reset.svh\"");
        out.line("");
    }
    module.doc.iter().for_each(|line| out.comment(line));
    if module.parameters.is_empty() {
        out.line(&format!("module {} (", module.name));
    } else {
        out.line(&format!("module {} #(", module.name));
        let last = module.parameters.len() - 1;
        let lines = module.parameters.iter().enumerate().map(|(i, p)| {
            let comma = if i == last { "" } else { "," };
            (
                format!("parameter {}{} = {}{comma}", ty(&p.ty), p.name, flat(&p.default)),
                p.doc.as_str(),
            )
        });
        out.documented(&lines.collect::<Vec<_>>());
        out.line(") (");
    }
    out.documented(&ports(&module.ports));
    out.line(");");
    out.text.push('\n');
    out.indent = 1;
    let blanks = module.items.iter().take_while(|item| matches!(item, Item::Blank)).count();
    items(&mut out, &module.items[blanks..]);
    out.indent = 0;
    if !out.text.ends_with("\n\n") {
        out.text.push('\n');
    }
    out.line("endmodule");
    out.text
}

/// Whether an item, or one inside it, is a block of registers with a reset.
fn has_reset(item: &Item) -> bool {
    match item {
        Item::AlwaysFf { reset, .. } => reset.is_some(),
        Item::For { items, .. } | Item::If { items, .. } | Item::Under { items, .. } => {
            items.iter().any(has_reset)
        }
        _ => false,
    }
}

fn ports(ports: &[Port]) -> Vec<(String, &str)> {
    let types: Vec<String> = ports.iter().map(|p| ty(&p.ty)).collect();
    let widest = types.iter().map(|t| t.len()).filter(|l| *l <= 40).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (index, (port, ty)) in ports.iter().zip(&types).enumerate() {
        let direction = match port.direction {
            Direction::Input => "input ",
            Direction::Output => "output",
        };
        let comma = if index + 1 == ports.len() { "" } else { "," };
        lines.push((format!("{direction} {ty:widest$}{}{comma}", port.name), port.doc.as_str()));
    }
    lines
}

/// Returns a type as it is written before a name, including the space between them.
fn ty(ty: &Type) -> String {
    match ty {
        Type::Bit => "logic ".into(),
        Type::Vector(width) => format!("logic [{}:0] ", last(width)),
        // The type of a parameter that takes the type of its value, such as a string.
        Type::Named(name) if name.is_empty() => String::new(),
        Type::Named(name) => format!("{name} "),
        Type::Array(element, count) => format!("{element} [{}:0] ", last(count)),
        Type::Vectors(count, width) => format!("logic [{}:0][{}:0] ", last(count), last(width)),
    }
}

/// Returns the last index of this number of elements.
fn last(count: &Expr) -> String {
    match count {
        Expr::Int(count) => count.saturating_sub(1).to_string(),
        count => format!("{}-1", operand(count, None)),
    }
}

struct Writer {
    text: String,
    indent: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("  ", self.indent));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// The columns between the indentation and the end of a line.
    fn room(&self) -> usize {
        COLUMNS.saturating_sub(2 * self.indent)
    }

    /// Writes a comment on lines of its own.
    fn comment(&mut self, text: &str) {
        let text = remark(text);
        let mut line = String::new();
        for word in text.trim_end().split(' ') {
            if line.len() > 2 && line.len() + 1 + word.len() > self.room() {
                self.line(&line);
                line = "//".into();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    /// Writes a line with a comment, which goes above it if it has no room after `column`.
    fn remarked(&mut self, line: &str, column: usize, doc: &str) {
        let whole = format!("{line:column$}  {}", remark(doc));
        if doc.is_empty() {
            self.line(line);
        } else if whole.len() <= self.room() {
            self.line(&whole);
        } else {
            self.comment(doc);
            self.line(line);
        }
    }

    /// Writes lines with a comment each. The comments are aligned if there is room.
    fn documented(&mut self, lines: &[(String, &str)]) {
        self.indent += 1;
        let commented = lines.iter().filter(|(_, doc)| !doc.is_empty());
        let column = commented.map(|(line, _)| line.len()).filter(|l| *l <= 60).max().unwrap_or(0);
        for (line, doc) in lines {
            self.remarked(line, column, doc);
        }
        self.indent -= 1;
    }

    /// Writes `head value tail`, broken if it is too long. The comment may be empty; it follows the
    /// last line, or precedes the first one if there is no room.
    fn statement(&mut self, head: &str, value: &Expr, tail: &str, comment: &str) {
        let lines = broken(head, value, tail, self.room());
        let (last, before) = lines.split_last().expect("there is a line");
        if before.is_empty() {
            self.remarked(last, 0, comment);
        } else {
            if !comment.is_empty() {
                self.comment(comment);
            }
            lines.iter().for_each(|line| self.line(line));
        }
    }
}

fn items(out: &mut Writer, list: &[Item]) {
    for each in list {
        item(out, each);
    }
}

fn item(out: &mut Writer, item: &Item) {
    match item {
        Item::Blank => out.line(""),
        Item::Comment(lines) => {
            lines.iter().for_each(|line| out.comment(line));
        }
        Item::LocalParameter { name, ty: of, value } => {
            out.statement(&format!("localparam {}{name} = ", ty(of)), value, ";", "");
        }
        Item::Structure { name, fields } => {
            out.line("typedef struct packed {");
            let fields =
                fields.iter().map(|f| (format!("{}{};", ty(&f.ty), f.name), f.doc.as_str()));
            out.documented(&fields.collect::<Vec<_>>());
            out.line(&format!("}} {name};"));
        }
        Item::Net { name, ty: of, value: None, comment } => {
            out.remarked(&format!("{}{name};", ty(of)), 0, comment.as_deref().unwrap_or(""));
        }
        Item::Net { name, ty: of, value: Some(value), comment } => {
            out.line(&format!("{}{name};", ty(of)));
            let comment = comment.as_deref().unwrap_or("");
            out.statement(&format!("assign {name} = "), value, ";", comment);
        }
        Item::Assign { target, value, comment } => {
            let comment = comment.as_deref().unwrap_or("");
            out.statement(&format!("assign {} = ", flat(target)), value, ";", comment);
        }
        Item::AlwaysFf { clock, reset, body } => {
            match reset {
                None => out.line(&format!("always_ff @(posedge {clock}) begin")),
                Some(reset) => out.line(&format!("always_ff @(`WL_EDGES({clock}, {reset})) begin")),
            }
            block(out, body, "<=");
            out.line("end");
        }
        Item::AlwaysComb { body } => {
            out.line("always_comb begin");
            block(out, body, "=");
            out.line("end");
        }
        Item::Instance(instance) => print_instance(out, instance),
        Item::For { label, variable, count, items: inner } => {
            out.line(&format!(
                "for (genvar {variable} = 0; {variable} < {}; {variable}++) begin : {label}",
                operand(count, None)
            ));
            nested(out, inner);
        }
        Item::If { label, condition, items: inner } => {
            out.statement("if (", condition, &format!(") begin : {label}"), "");
            nested(out, inner);
        }
        Item::Refuse { label, condition, message } => {
            out.statement("if (", condition, &format!(") begin : {label}"), "");
            out.line(&format!("  $fatal(1, \"{}\");", escaped(message)));
            out.line("end");
        }
        Item::Under { macro_name, defined, items: inner } => {
            let directive = if *defined { "ifdef" } else { "ifndef" };
            out.text.push_str(&format!("`{directive} {macro_name}\n"));
            items(out, inner);
            out.text.push_str("`endif\n");
        }
    }
}

fn nested(out: &mut Writer, inner: &[Item]) {
    out.indent += 1;
    items(out, inner);
    out.indent -= 1;
    out.line("end");
}

fn block(out: &mut Writer, body: &[Statement], arrow: &str) {
    out.indent += 1;
    for each in body {
        statement(out, each, arrow);
    }
    out.indent -= 1;
}

fn statement(out: &mut Writer, each: &Statement, arrow: &str) {
    match each {
        Statement::Comment(text) => out.comment(text),
        Statement::Assign(target, value) => {
            out.statement(&format!("{} {arrow} ", flat(target)), value, ";", "");
        }
        Statement::If(condition, then, otherwise) => {
            out.statement("if (", condition, ") begin", "");
            block(out, then, arrow);
            if !otherwise.is_empty() {
                out.line("end else begin");
                block(out, otherwise, arrow);
            }
            out.line("end");
        }
        Statement::Case { subject, arms, default } => {
            out.line(&format!("unique case ({})", flat(subject)));
            out.indent += 1;
            for (labels, comment, body) in arms {
                let labels: Vec<String> = labels.iter().map(flat).collect();
                out.remarked(&format!("{}: begin", labels.join(", ")), 0, comment);
                block(out, body, arrow);
                out.line("end");
            }
            out.line("default: begin");
            block(out, default, arrow);
            out.line("end");
            out.indent -= 1;
            out.line("endcase");
        }
        Statement::Assert { name, condition } => {
            out.statement(&format!("{name} : assert ("), condition, ");", "");
        }
    }
}

fn print_instance(out: &mut Writer, instance: &Instance) {
    if instance.parameters.is_empty() {
        out.line(&format!("{} {} (", instance.module, instance.name));
    } else {
        out.line(&format!("{} #(", instance.module));
        let last = instance.parameters.len() - 1;
        for (index, (name, value)) in instance.parameters.iter().enumerate() {
            let comma = if index == last { "" } else { "," };
            connection(out, name, value, comma);
        }
        out.line(&format!(") {} (", instance.name));
    }
    for (index, (name, value)) in instance.ports.iter().enumerate() {
        let comma = if index + 1 == instance.ports.len() { "" } else { "," };
        match value {
            Some(value) => connection(out, name, value, comma),
            None => {
                // Verilator warns about open outputs.
                out.line("  /* verilator lint_off PINCONNECTEMPTY */");
                out.line(&format!("  .{name}(){comma}"));
                out.line("  /* verilator lint_on PINCONNECTEMPTY */");
            }
        }
    }
    out.line(");");
}

fn connection(out: &mut Writer, name: &str, value: &Expr, comma: &str) {
    out.indent += 1;
    out.statement(&format!(".{name}("), value, &format!("){comma}"), "");
    out.indent -= 1;
}

/// Returns the lines of an expression between a head and a tail, each of at most `room` columns.
fn broken(head: &str, value: &Expr, tail: &str, room: usize) -> Vec<String> {
    let line = format!("{head}{}{tail}", flat(value));
    let parts = if line.len() <= room { Vec::new() } else { parts(value) };
    if parts.is_empty() {
        return vec![line];
    }
    // The opening bracket stays on the head's line; the closing one begins a new line with the
    // tail.
    let (open, close) = match value {
        Expr::Concat(_) => ("{".to_owned(), "}"),
        Expr::Cast(to, _) => (format!("{}'(", operand(to, None)), ")"),
        Expr::Call(function, _) => (format!("{function}("), ")"),
        Expr::Replicate(count, _) => (format!("{{{}{{", operand(count, None)), "}}"),
        _ => (String::new(), ""),
    };
    let mut lines = Vec::new();
    if !format!("{head}{open}").is_empty() {
        lines.push(format!("{head}{open}").trim_end().to_owned());
    }
    let last = parts.len() - 1;
    for (index, (before, part, after, wants_parentheses)) in parts.into_iter().enumerate() {
        let (left, right) = if wants_parentheses { ("(", ")") } else { ("", "") };
        let end = if index == last && close.is_empty() { tail } else { "" };
        let inner = broken(
            &format!("{before}{left}"),
            part,
            &format!("{right}{after}{end}"),
            room.saturating_sub(4).max(40),
        );
        lines.extend(inner.into_iter().map(|line| format!("    {line}")));
    }
    if !close.is_empty() {
        lines.push(format!("{close}{tail}"));
    }
    lines
}

/// A part of an expression on its own line: the text before it, the part, the text after it, and
/// whether it needs parentheses.
type Part<'a> = (String, &'a Expr, String, bool);

/// Returns the parts that an expression breaks into; none if it cannot be broken.
fn parts(value: &Expr) -> Vec<Part<'_>> {
    match value {
        Expr::Binary(op, ..) => {
            let mut chain = Vec::new();
            flatten(*op, value, &mut chain);
            let mut lines = Vec::new();
            for (index, part) in chain.into_iter().enumerate() {
                let before = if index == 0 { String::new() } else { format!("{} ", op.symbol()) };
                lines.push((before, part, String::new(), !is_primary(part)));
            }
            lines
        }
        Expr::Ternary(condition, then, otherwise) => vec![
            (String::new(), condition, String::new(), !is_primary(condition)),
            ("? ".into(), then, String::new(), matches!(**then, Expr::Ternary(..))),
            (": ".into(), otherwise, String::new(), false),
        ],
        Expr::Unary(op, value) if !parts(value).is_empty() => {
            vec![(op.symbol().to_owned(), value, String::new(), !is_primary(value))]
        }
        Expr::Cast(_, value) | Expr::Replicate(_, value) => {
            vec![(String::new(), value, String::new(), false)]
        }
        Expr::Concat(parts) | Expr::Call(_, parts) => {
            let last = parts.len().saturating_sub(1);
            let comma = |i| if i == last { String::new() } else { ",".into() };
            parts.iter().enumerate().map(|(i, p)| (String::new(), p, comma(i), false)).collect()
        }
        _ => Vec::new(),
    }
}

/// Collects the operands of a chain of one operator, in order.
fn flatten<'a>(op: Binary, value: &'a Expr, into: &mut Vec<&'a Expr>) {
    let mut rest = value;
    let mut reversed = Vec::new();
    while let Expr::Binary(inner, a, b) = rest
        && *inner == op
        && (op.chains() || reversed.is_empty())
    {
        reversed.push(&**b);
        rest = a;
    }
    into.push(rest);
    into.extend(reversed.into_iter().rev());
}

/// Whether an expression binds tighter than any operator.
fn is_primary(value: &Expr) -> bool {
    !matches!(value, Expr::Unary(..) | Expr::Binary(..) | Expr::Ternary(..))
}

/// Formats an operand. It gets parentheses if readers would otherwise have to know the precedence.
fn operand(value: &Expr, chain: Option<Binary>) -> String {
    let bare = match value {
        Expr::Binary(op, ..) => chain == Some(*op) && op.chains(),
        Expr::Unary(op, a) => matches!(op, super::Unary::Not) && is_primary(a),
        other => is_primary(other),
    };
    if bare { flat(value) } else { format!("({})", flat(value)) }
}

fn list(values: &[Expr]) -> String {
    values.iter().map(flat).collect::<Vec<_>>().join(", ")
}

/// Formats an expression on one line.
fn flat(value: &Expr) -> String {
    match value {
        Expr::Name(name) => name.clone(),
        Expr::Number(bits) => number(bits),
        Expr::Int(value) => value.to_string(),
        Expr::Text(text) => format!("\"{}\"", escaped(text)),
        Expr::Zeros => "'0".into(),
        Expr::Index(base, index) => format!("{}[{}]", flat(base), flat(index)),
        Expr::Slice(base, high, low) => format!("{}[{}:{}]", flat(base), flat(high), flat(low)),
        Expr::Part(base, low, width) => format!("{}[{} +: {}]", flat(base), flat(low), flat(width)),
        Expr::Field(base, field) => format!("{}.{field}", flat(base)),
        Expr::Unary(op, a) => format!("{}{}", op.symbol(), operand(a, None)),
        Expr::Binary(op, a, b) => {
            format!("{} {} {}", operand(a, Some(*op)), op.symbol(), operand(b, None))
        }
        Expr::Ternary(condition, then, otherwise) => {
            // A chain of conditional operators needs no parentheses, but one in the second operand
            // does.
            let then = if matches!(**then, Expr::Ternary(..)) {
                format!("({})", flat(then))
            } else {
                flat(then)
            };
            format!("{} ? {then} : {}", operand(condition, None), flat(otherwise))
        }
        Expr::Concat(parts) => format!("{{{}}}", list(parts)),
        Expr::Replicate(count, value) => format!("{{{}{{{}}}}}", operand(count, None), flat(value)),
        Expr::Call(function, arguments) => format!("{function}({})", list(arguments)),
        Expr::Cast(to, value) => format!("{}'({})", operand(to, None), flat(value)),
    }
}

/// Formats small numbers in decimal, others in hexadecimal with digits in groups of four.
fn number(bits: &Bits) -> String {
    let width = bits.width();
    match bits.to_u128() {
        Some(value) if width == 1 => format!("1'b{value}"),
        Some(value) if value < 1000 => format!("{width}'d{value}"),
        _ => {
            let digits: Vec<char> = (0..width.div_ceil(4))
                .map(|i| {
                    let low = 4 * i;
                    let nibble = bits.slice(low, 4.min(width - low)).low_u64();
                    char::from_digit(nibble as u32, 16).expect("four bits")
                })
                .collect();
            let significant = digits.iter().rposition(|d| *d != '0').map_or(1, |i| i + 1);
            let mut text = String::new();
            for (index, digit) in digits[..significant].iter().enumerate().rev() {
                text.push(*digit);
                if index % 4 == 0 && index != 0 {
                    text.push('_');
                }
            }
            format!("{width}'h{text}")
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
