//! Expressions on one line, with the places where the line may break.

use super::super::tree::{Binary, Designator, Expr, Prefix, Shape, Type};

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

/// Returns whether an operand of a binary operator needs parentheses.
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

/// Returns the number of characters of an expression on one line, with parentheses around every
/// operand that has an operator. The result does not depend on the parentheses that the printer
/// leaves out.
pub fn width(expression: &Expr) -> usize {
    let mut flat = Flat { is_measure: true, ..Flat::default() };
    flat.expression(expression);
    flat.text.chars().count()
}

/// An expression on one line, with its possible line breaks.
#[derive(Default)]
pub(super) struct Flat {
    pub(super) text: String,
    /// Possible line breaks: the position in the text and the depth in the expression.
    breaks: Vec<(usize, usize)>,
    depth: usize,
    /// Whether only the width matters: see [`width`].
    is_measure: bool,
}

impl Flat {
    pub(super) fn of(head: &str) -> Self {
        Self { text: head.to_owned(), ..Self::default() }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn may_break(&mut self) {
        self.breaks.push((self.text.len(), self.depth));
    }

    pub(super) fn expression(&mut self, expression: &Expr) {
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

    /// The sizes of an array.
    pub(super) fn sizes(&mut self, sizes: &[Expr]) {
        for size in sizes {
            self.push("[");
            self.expression(size);
            self.push("]");
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
    /// places. Lines after the first are `less` characters shorter.
    pub(super) fn lines(&self, room: usize, less: usize) -> Vec<String> {
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

/// Returns a type without a declared name.
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

/// Returns a type with the name that it declares.
pub(super) fn declared(ty: &Type, name: &str) -> String {
    match ty.shape {
        Shape::Pointer => format!("{}{name}", type_name(ty)),
        Shape::Array => {
            format!("{} {name}[]", type_name(&Type { shape: Shape::Value, ..ty.clone() }))
        }
        Shape::Value | Shape::ConstPointer => format!("{} {name}", type_name(ty)),
    }
}

pub(super) fn designator_text(designator: &Designator) -> String {
    match designator {
        Designator::Field(name) => format!(".{name}"),
        Designator::Element(name) => format!("[{name}]"),
    }
}
