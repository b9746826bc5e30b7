//! Translates structured statements (`.if`, `.while`, `.repeat`) to branches and labels, as text.

use std::ops::Range;

use crate::line::{closing, split};

/// An open block.
pub struct Block {
    pub kind: BlockKind,
    /// The number of the line that opened the block.
    pub line: usize,
    /// The target of a condition that does not hold: the next branch of an `.if`.
    next: String,
    pub end: String,
    /// The label at the start of a loop.
    pub head: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    If,
    /// After `.else`.
    Else,
    While,
    Repeat,
}

/// A line that is generated for a statement.
pub enum Made {
    Label(String),
    Instruction(String),
}

/// The open blocks and the lines that they generate.
#[derive(Default)]
pub struct Blocks {
    open: Vec<Block>,
    count: usize,
    /// The lines that the statement generates.
    pub made: Vec<Made>,
}

/// The maximum nesting depth of blocks.
const MAX_OPEN: usize = 200;

impl Blocks {
    fn label(&mut self, what: &str) -> String {
        self.count += 1;
        format!("_{what}_{}", self.count)
    }

    /// The innermost block that is still open.
    pub fn unclosed(&self) -> Option<&Block> {
        self.open.last()
    }

    fn emit(&mut self, text: String) {
        self.made.push(Made::Instruction(text));
    }

    /// Reads a statement without its dot. `None` if the word is not a block statement.
    pub fn statement(&mut self, word: &str, rest: &str, line: usize) -> Option<Result<(), String>> {
        let (word, unsigned) = match word.strip_suffix("_unsigned") {
            Some(word) => (word, true),
            None => (word, false),
        };
        Some(match word {
            "if" => self.open_block(BlockKind::If, rest, unsigned, line),
            "while" => self.open_block(BlockKind::While, rest, unsigned, line),
            "repeat" => self.open_block(BlockKind::Repeat, rest, unsigned, line),
            "elif" => self.else_if(Some(rest), unsigned),
            "else" => self.else_if(None, unsigned),
            "endif" => self.close(&[BlockKind::If, BlockKind::Else], ".endif", None, unsigned),
            "endw" => self.close(&[BlockKind::While], ".endw", None, unsigned),
            "until" => self.close(&[BlockKind::Repeat], ".until", Some(rest), unsigned),
            "break" | "continue" => self.leave(word == "break"),
            _ => return None,
        })
    }

    fn open_block(
        &mut self,
        kind: BlockKind,
        rest: &str,
        unsigned: bool,
        line: usize,
    ) -> Result<(), String> {
        if self.open.len() >= MAX_OPEN {
            return Err("blocks are nested too deeply".to_owned());
        }
        let (next, end, head) = (self.label("else"), self.label("end"), self.label("loop"));
        let otherwise = if kind == BlockKind::If { next.clone() } else { end.clone() };
        if kind != BlockKind::If {
            self.made.push(Made::Label(head.clone()));
        }
        self.open.push(Block { kind, line, next, end, head });
        if kind != BlockKind::Repeat {
            self.condition(rest, unsigned, false, &otherwise)?;
        }
        Ok(())
    }

    fn else_if(&mut self, condition: Option<&str>, unsigned: bool) -> Result<(), String> {
        let next = self.label("else");
        let Some(block) = self.open.last_mut().filter(|block| block.kind == BlockKind::If) else {
            return Err("there is no open `.if`".to_owned());
        };
        let end = block.end.clone();
        let before = std::mem::replace(&mut block.next, next.clone());
        if condition.is_none() {
            block.kind = BlockKind::Else;
        }
        self.emit(format!("br[{end}]"));
        self.made.push(Made::Label(before));
        match condition {
            Some(condition) => self.condition(condition, unsigned, false, &next),
            None => Ok(()),
        }
    }

    fn close(
        &mut self,
        kinds: &[BlockKind],
        word: &str,
        condition: Option<&str>,
        unsigned: bool,
    ) -> Result<(), String> {
        if !self.open.last().is_some_and(|block| kinds.contains(&block.kind)) {
            return Err(format!("`{word}` closes nothing"));
        }
        let Some(block) = self.open.pop() else { return Ok(()) };
        match block.kind {
            BlockKind::If => self.made.push(Made::Label(block.next)),
            BlockKind::Else => {}
            BlockKind::While => self.emit(format!("br[{}]", block.head)),
            BlockKind::Repeat => {
                self.condition(condition.unwrap_or_default(), unsigned, false, &block.head)?;
            }
        }
        self.made.push(Made::Label(block.end));
        Ok(())
    }

    fn leave(&mut self, is_break: bool) -> Result<(), String> {
        let is_loop = |block: &&Block| matches!(block.kind, BlockKind::While | BlockKind::Repeat);
        let Some(block) = self.open.iter().rev().find(is_loop) else {
            return Err("there is no loop around this".to_owned());
        };
        let target = if is_break { &block.end } else { &block.head };
        let text = format!("br[{target}]");
        self.emit(text);
        Ok(())
    }

    /// Branches to the target if the condition is `sense`.
    fn condition(
        &mut self,
        text: &str,
        unsigned: bool,
        sense: bool,
        target: &str,
    ) -> Result<(), String> {
        let inside = bracketed(text.trim()).ok_or("the condition stands in round brackets")?;
        let all = parts(inside, "&&");
        let any = parts(inside, "||");
        if all.len() > 1 && any.len() > 1 {
            return Err("give one of && and || in a condition".to_owned());
        }
        let (list, is_all) = if all.len() > 1 { (all, true) } else { (any, false) };
        // One part decides if an AND is to be false, or an OR to be true: each part that is
        // `sense` branches to the target. Otherwise all parts must be `sense`: the first part that
        // is not goes past the branch.
        if is_all != sense || list.len() == 1 {
            for part in list {
                self.simple(part, unsigned, sense, target)?;
            }
            return Ok(());
        }
        let past = self.label("past");
        for (number, part) in list.iter().enumerate() {
            if number + 1 < list.len() {
                self.simple(part, unsigned, !sense, &past)?;
            } else {
                self.simple(part, unsigned, sense, target)?;
            }
        }
        self.made.push(Made::Label(past));
        Ok(())
    }

    /// Branches if a condition without `&&` and `||` is `sense`.
    fn simple(
        &mut self,
        text: &str,
        unsigned: bool,
        sense: bool,
        target: &str,
    ) -> Result<(), String> {
        let text = text.trim();
        let comparison = comparison(text);
        let (bare, sense) = match text.strip_prefix('!') {
            Some(bare) if comparison.is_none() => (bare.trim(), !sense),
            _ => (text, sense),
        };
        let (subject, operator, value) = match comparison {
            Some((at, operator)) => {
                (text[..at.start].trim(), Some(operator), text[at.end..].trim())
            }
            None => (bare, None, ""),
        };
        if let Some((name, arguments)) = call(subject) {
            return self.test(name, &arguments, operator, value, sense, target);
        }
        let Some(operator) = operator else {
            // A register alone tests whether it is not 0.
            self.emit(format!("alu[--, --, B, {bare}]"));
            let branch = if sense { "br!=0" } else { "br=0" };
            self.emit(format!("{branch}[{target}]"));
            return Ok(());
        };
        let (a, b) = (subject, value);
        if a.is_empty() || b.is_empty() {
            return Err("a comparison has two sides".to_owned());
        }
        let is_ordered = !matches!(operator, "==" | "!=");
        if unsigned && is_ordered {
            // No carry out of a - b means a < b.
            let (first, second, borrows) = match operator {
                "<" => (a, b, true),
                ">=" => (a, b, false),
                ">" => (b, a, true),
                _ => (b, a, false),
            };
            self.emit(format!("alu[--, {first}, -, {second}]"));
            let branch = if borrows == sense { "br!=cout" } else { "br=cout" };
            self.emit(format!("{branch}[{target}]"));
            return Ok(());
        }
        if b == "0" {
            self.emit(format!("alu[--, --, B, {a}]"));
        } else {
            self.emit(format!("alu[--, {a}, -, {b}]"));
        }
        let positive = match operator {
            "==" => ["br=0", "br!=0"],
            "!=" => ["br!=0", "br=0"],
            "<" => ["br<0", "br>=0"],
            "<=" => ["br<=0", "br>0"],
            ">" => ["br>0", "br<=0"],
            _ => ["br>=0", "br<0"],
        };
        self.emit(format!("{}[{target}]", positive[usize::from(!sense)]));
        Ok(())
    }

    /// Translates `bit(register, n)`, `byte(register, n) == v`, `ctx() == n`, `signal(s)`,
    /// `inp_state(s)` and `cout()`.
    fn test(
        &mut self,
        name: &str,
        arguments: &[String],
        operator: Option<&str>,
        value: &str,
        sense: bool,
        target: &str,
    ) -> Result<(), String> {
        let sense = match operator {
            Some("!=") => !sense,
            Some("==") | None => sense,
            Some(_) => return Err(format!("`{name}()` is compared by == or !=")),
        };
        let needs_value = matches!(name, "byte" | "ctx");
        if needs_value != operator.is_some() {
            let how = if needs_value { "is compared with a constant" } else { "is a condition" };
            return Err(format!("`{name}()` {how}"));
        }
        let not = if sense { "" } else { "!" };
        let text = match (name, arguments) {
            ("bit", [register, bit]) => {
                let branch = if sense { "br_bset" } else { "br_bclr" };
                format!("{branch}[{register}, {bit}, {target}]")
            }
            ("byte", [register, byte]) => {
                format!("br{not}=byte[{register}, {byte}, {value}, {target}]")
            }
            ("ctx", []) => format!("br{not}=ctx[{value}, {target}]"),
            ("cout", []) => format!("br{not}=cout[{target}]"),
            ("signal", [signal]) if !sense => format!("br_!signal[{signal}, {target}]"),
            ("inp_state", [state]) if sense => format!("br_inp_state[{state}, {target}]"),
            ("signal" | "inp_state", [subject]) => {
                let branch = if name == "signal" { "br_!signal" } else { "br_inp_state" };
                let past = self.label("past");
                self.emit(format!("{branch}[{subject}, {past}]"));
                self.emit(format!("br[{target}]"));
                self.made.push(Made::Label(past));
                return Ok(());
            }
            _ => return Err(format!("`{name}({})` is no condition", arguments.join(", "))),
        };
        self.emit(text);
        Ok(())
    }
}

fn bracketed(text: &str) -> Option<&str> {
    let end = closing(text)?;
    (text.starts_with('(') && end + 1 == text.len()).then(|| &text[1..end])
}

/// Parses `name(a, b)`.
fn call(text: &str) -> Option<(&str, Vec<String>)> {
    let open = text.find('(').filter(|&open| open > 0)?;
    let inside = bracketed(&text[open..])?;
    let arguments = split(inside, 0).into_iter().map(|part| part.0).collect();
    Some((text[..open].trim(), arguments))
}

/// Splits at an operator outside brackets.
fn parts<'a>(text: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut depth, mut from, mut list) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= from && text[at..].starts_with(operator) => {
                list.push(&text[from..at]);
                from = at + operator.len();
            }
            _ => {}
        }
    }
    list.push(&text[from..]);
    list
}

/// Finds the operator of a comparison outside brackets.
fn comparison(text: &str) -> Option<(Range<usize>, &'static str)> {
    const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => {
                let rest = &text[at..];
                // Shifts of constants are not comparisons.
                if rest.starts_with("<<") || rest.starts_with(">>") {
                    return None;
                }
                if let Some(found) = OPERATORS.into_iter().find(|found| rest.starts_with(found)) {
                    return Some((at..at + found.len(), found));
                }
            }
            _ => {}
        }
    }
    None
}
