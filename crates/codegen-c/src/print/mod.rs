//! The printer. It indents by four spaces per level and breaks lines at [`COLUMNS`] characters
//! where possible.
//!
//! The printer adds parentheses where the grammar needs them, and where readers and compilers
//! expect them: around comparisons and sums next to bit operations, around a sum that is shifted,
//! around `&&` in `||`.

mod flat;

pub use flat::width;

use wireloom_ir::Loc;

use super::tree::{Aggregate, Declaration, Expr, Field, Item, Signature, Stmt};
use flat::{Flat, declared, designator_text};

/// The line length at which lines break if possible.
const COLUMNS: usize = 100;

/// Returns the text of a file.
pub fn file(items: &[Item]) -> String {
    located(items).text
}

/// The text of a file, and where its lines come from.
pub struct Located {
    /// The text.
    pub text: String,
    /// The source line of each line of the text; line 0 if it is not known.
    pub lines: Vec<Loc>,
}

/// Prints a file and notes the source line of each line.
pub fn located(items: &[Item]) -> Located {
    let mut out = Writer::default();
    items.iter().for_each(|item| out.item(item));
    Located { text: out.text, lines: out.lines }
}

/// Breaks up all ends of comments in a text.
fn harmless(text: &str) -> String {
    text.replace("*/", "* /")
}

#[derive(Default)]
struct Writer {
    text: String,
    level: usize,
    lines: Vec<Loc>,
    /// The source line of the next lines.
    loc: Loc,
}

impl Writer {
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", self.level));
            self.text.push_str(line);
        }
        self.text.push('\n');
        self.lines.push(self.loc);
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

    /// Writes a comment, split into lines.
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
                self.loc = Loc::default();
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
                    tail.sizes(sizes);
                    self.aggregate("", aggregate, &format!("{};", tail.text));
                }
            }
        }
        self.level -= 1;
        self.line(&format!("}}{tail}"));
    }

    fn declaration(&mut self, head: &str, declaration: &Declaration) {
        let around = self.loc;
        if declaration.loc.line != 0 {
            self.loc = declaration.loc;
        }
        self.declaration_at_loc(head, declaration);
        self.loc = around;
    }

    fn declaration_at_loc(&mut self, head: &str, declaration: &Declaration) {
        let mut flat = Flat::of(&format!("{head}{}", declared(&declaration.ty, &declaration.name)));
        flat.sizes(&declaration.sizes);
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
                        .find(|next| !matches!(next, Stmt::Comment(_) | Stmt::Located(..)));
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
            Stmt::Continue => self.line("continue;"),
            Stmt::Block(body) => {
                self.line("{");
                self.body(body);
                self.line("}");
            }
            Stmt::Label(_) => unreachable!("labels are printed with what follows them"),
            Stmt::Goto(label) => self.line(&format!("goto {label};")),
            Stmt::Return(value) => self.with("return ", value, ";"),
            Stmt::Comment(text) => self.comment(text),
            Stmt::Located(text, loc) => {
                self.loc = *loc;
                self.comment(text);
            }
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

#[cfg(test)]
mod tests;
