//! Parses text into a program.

use std::collections::BTreeMap;

use wireloom_offloads::{Config, Layout};

use super::ParseError;
use super::lex::{Spanned, Token, lex};
use super::names::Names;
use crate::{
    Block, Code, ContextArray, ContextId, ContextVar, Engine, EngineId, EngineKind, Exit, Loc,
    Offload, OffloadTarget, OpKind, Program, ReasonSet, Step, StepId, Value, ValueInfo,
};

mod op;

type Result<T> = std::result::Result<T, ParseError>;

/// Reads the textual form of a program (docs/ir.md). The result need not verify.
///
/// # Errors
/// At the first deviation from the form, with line and column. No text makes the parser panic.
pub fn parse(text: &str) -> Result<Program> {
    let mut parser = Parser {
        tokens: lex(text)?,
        at: 0,
        files: Names::new(std::iter::empty()),
        reasons: Names::new(std::iter::empty()),
        engines: Names::new(std::iter::empty()),
        context: Names::new(std::iter::empty()),
        arrays: Names::new(std::iter::empty()),
        offloads: Vec::new(),
        offload_names: Names::new(std::iter::empty()),
        step_references: Vec::new(),
        values: BTreeMap::new(),
        depth: 0,
    };
    parser.program()
}

/// A step that an exit names. It may come later in the text, so an exit contains the number of its
/// reference until the engine has been read.
enum StepReference {
    Name(String),
    Index(u32),
}

struct Parser {
    tokens: Vec<Spanned>,
    at: usize,
    files: Names,
    reasons: Names,
    engines: Names,
    /// The context variables of the current engine. The next three fields describe the same engine.
    context: Names,
    arrays: Names,
    offloads: Vec<OffloadTarget>,
    offload_names: Names,
    /// References to steps. The position of the token is used in errors.
    step_references: Vec<(StepReference, usize)>,
    /// The values of the current step.
    values: BTreeMap<u32, ValueInfo>,
    /// Number of enclosing `if` blocks.
    depth: u32,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    fn error_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        let Spanned { line, column, .. } = self.tokens[at];
        Err(ParseError { line, column, message: message.into() })
    }

    /// Reports an error at the next token.
    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        self.error_at(self.at, message)
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        self.error(format!("expected {what}, found {}", self.peek().describe()))
    }

    fn punct(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { self.expected(&format!("`{text}`")) }
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = matches!(self.peek(), Token::Punct(p) if *p == text);
        self.at += usize::from(found);
        found
    }

    fn is_keyword(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    fn eat_keyword(&mut self, word: &str) -> bool {
        let found = self.is_keyword(word);
        self.at += usize::from(found);
        found
    }

    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.eat_keyword(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Parses a name, unquoted or quoted.
    fn name(&mut self) -> Result<String> {
        match self.peek() {
            Token::Word(name) | Token::Text(name) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.expected("a name"),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.peek() {
            Token::Text(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    /// Parses a number of at most 64 bits, without a width.
    fn number(&mut self) -> Result<u64> {
        match self.peek() {
            Token::Number(bits) => match bits.to_u64() {
                Some(n) => {
                    self.at += 1;
                    Ok(n)
                }
                None => self.error("the number does not fit in 64 bits"),
            },
            _ => self.expected("a number"),
        }
    }

    fn number32(&mut self) -> Result<u32> {
        let at = self.at;
        let n = self.number()?;
        n.try_into().or_else(|_| self.error_at(at, "the number does not fit in 32 bits"))
    }

    /// Parses a type such as `u16` and returns its width.
    fn width(&mut self) -> Result<u32> {
        let width = match self.peek() {
            Token::Word(w) => w.strip_prefix('u').and_then(|w| w.parse().ok()),
            _ => None,
        };
        match width {
            Some(width) => {
                self.at += 1;
                Ok(width)
            }
            None => self.expected("a type such as `u16`"),
        }
    }

    /// Parses `item, item, ... close`. The opening bracket has been read.
    fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.eat(close) {
                return Ok(out);
            }
            if !self.eat(",") {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// Parses a reference to an item of a list: a name, or `#` and a number.
    fn reference(&mut self, what: &str, names: impl Fn(&Self) -> &Names) -> Result<u32> {
        match self.peek() {
            Token::Hash(index) => {
                let index = *index;
                self.at += 1;
                Ok(index)
            }
            Token::Word(name) => match names(self).find(name) {
                Some(index) => {
                    self.at += 1;
                    Ok(index as u32)
                }
                None => self.error(format!("not exactly one {what} is named `{name}` up to here")),
            },
            _ => self.expected(&format!("the name of a {what}")),
        }
    }

    fn program(&mut self) -> Result<Program> {
        self.keyword("loom_ir")?;
        if self.number()? != 1 {
            return self.error_at(self.at - 1, "only version 1 of the form is supported");
        }
        let mut program = Program {
            files: Vec::new(),
            reasons: Vec::new(),
            engines: Vec::new(),
            main: EngineId(0),
        };
        while self.eat_keyword("file") {
            let file = self.text()?;
            self.files.push(&file);
            program.files.push(file);
        }
        while self.eat_keyword("reasons") {
            let name = self.name()?;
            self.punct("{")?;
            let members = self.list("}", |p| {
                let name = p.name()?;
                p.punct("=")?;
                Ok((p.number()?, name))
            })?;
            self.reasons.push(&name);
            program.reasons.push(ReasonSet { name, members });
        }
        while self.eat_keyword("engine") {
            let engine = self.engine()?;
            self.engines.push(&engine.name);
            program.engines.push(engine);
        }
        self.keyword("main")?;
        program.main = EngineId(self.reference("engine", |p| &p.engines)?);
        match self.peek() {
            Token::End => Ok(program),
            _ => self.expected("the end of the text"),
        }
    }

    fn engine(&mut self) -> Result<Engine> {
        let name = self.name()?;
        // The parameters precede the context variables that they name, so they are parsed later.
        let params_at = self.at;
        let is_called = self.eat("(");
        if is_called {
            while !matches!(self.peek(), Token::Punct(")") | Token::End) {
                self.at += 1;
            }
            self.punct(")")?;
            self.punct("->")?;
            self.width()?;
        }
        self.punct("{")?;
        let mut context = Vec::new();
        self.context = Names::new(std::iter::empty());
        while self.eat_keyword("context") {
            let name = self.name()?;
            self.punct(":")?;
            self.context.push(&name);
            context.push(ContextVar { name, width: self.width()? });
        }
        let mut arrays = Vec::new();
        self.arrays = Names::new(std::iter::empty());
        while self.eat_keyword("array") {
            let name = self.name()?;
            self.punct(":")?;
            let count = self.number32()?;
            self.keyword("of")?;
            self.arrays.push(&name);
            arrays.push(ContextArray { name, width: self.width()?, count });
        }
        let mut offloads = Vec::new();
        self.offload_names = Names::new(std::iter::empty());
        self.offloads.clear();
        while self.eat_keyword("offload") {
            let name = self.name()?;
            self.punct(":")?;
            let target = if self.eat_keyword("engine") {
                OffloadTarget::Engine(EngineId(self.reference("engine", |p| &p.engines)?))
            } else {
                OffloadTarget::Kind(self.config()?)
            };
            self.offload_names.push(&name);
            self.offloads.push(target.clone());
            offloads.push(Offload { name, target });
        }
        let mut steps = Vec::new();
        self.step_references.clear();
        while self.eat_keyword("step") {
            steps.push(self.step()?);
        }
        if !self.eat("}") {
            return self.expected("`context`, `array`, `offload`, `step` (in this order) or `}`");
        }
        self.resolve_steps(&mut steps)?;
        let kind = if is_called {
            let end = std::mem::replace(&mut self.at, params_at + 1);
            let params = self
                .list(")", |p| Ok(ContextId(p.reference("context variable", |p| &p.context)?)))?;
            self.punct("->")?;
            let reply = self.width()?;
            self.at = end;
            EngineKind::Call { params, reply }
        } else {
            EngineKind::Packet
        };
        Ok(Engine { name, kind, context, arrays, offloads, steps })
    }

    /// Replaces the numbers of references by the steps.
    fn resolve_steps(&self, steps: &mut [Step]) -> Result<()> {
        let names = Names::new(steps.iter().map(|s| s.name.as_str()));
        let mut targets = Vec::new();
        for (reference, at) in &self.step_references {
            targets.push(match reference {
                StepReference::Index(index) => StepId(*index),
                StepReference::Name(name) => match names.find(name) {
                    Some(index) => StepId(index as u32),
                    None => {
                        return self.error_at(
                            *at,
                            format!("the engine does not have exactly one step named `{name}`"),
                        );
                    }
                },
            });
        }
        for block in steps.iter_mut().flat_map(|s| s.code.blocks_mut()) {
            block.for_each_op_mut(&mut |op| {
                if let OpKind::Exit(Exit::Next(step) | Exit::Emit(step, _)) = &mut op.kind {
                    *step = targets[step.index()];
                }
            });
        }
        Ok(())
    }

    fn config(&mut self) -> Result<Config> {
        let kind = self.name()?;
        let key = if self.eat_keyword("key") { Some(self.layout()?) } else { None };
        let value = if self.eat_keyword("value") { Some(self.layout()?) } else { None };
        let mut params = BTreeMap::new();
        if self.eat("{") {
            let list = self.list("}", |p| {
                let at = p.at;
                let name = p.name()?;
                p.punct("=")?;
                match p.next() {
                    Token::Sized(bits) => Ok((at, name, bits)),
                    _ => p.error_at(p.at - 1, "expected a number with its width, such as 16'0xff"),
                }
            })?;
            for (at, name, bits) in list {
                if params.insert(name, bits).is_some() {
                    return self.error_at(at, "this parameter is given twice");
                }
            }
        }
        Ok(Config { kind, key, value, params })
    }

    fn layout(&mut self) -> Result<Layout> {
        let mut layout = Layout::default();
        if !self.eat("(") {
            self.leaf(String::new(), &mut layout)?;
            return Ok(layout);
        }
        self.list(")", |p| {
            let name = p.name()?;
            p.punct(":")?;
            p.leaf(name, &mut layout)
        })?;
        Ok(layout)
    }

    fn leaf(&mut self, name: String, layout: &mut Layout) -> Result<()> {
        layout.fields.push((name.clone(), self.width()?));
        if self.eat_keyword("enum") {
            self.punct("{")?;
            let members = self.list("}", |p| {
                let member = p.name()?;
                p.punct("=")?;
                Ok((member, p.number()?))
            })?;
            layout.enums.insert(name, members);
        }
        Ok(())
    }

    fn loc(&mut self) -> Result<Loc> {
        let Token::Loc(file, line) = self.peek() else { return Ok(Loc::default()) };
        let index = match file.strip_prefix('#') {
            Some(digits) => digits.parse().ok(),
            None => self.files.find(file).map(|i| i as u32),
        };
        let Some(file) = index else {
            return self.error(format!("not exactly one file is named `{file}`"));
        };
        let loc = Loc { file, line: *line };
        self.at += 1;
        Ok(loc)
    }

    fn step(&mut self) -> Result<Step> {
        let name = self.name()?;
        let loc = self.loc()?;
        let split = if self.eat_keyword("split") { Some(self.text()?) } else { None };
        self.punct("{")?;
        self.values.clear();
        while self.eat_keyword("unused") {
            self.definition()?;
        }
        let code = if self.eat_keyword("request") {
            let request = self.region()?;
            self.keyword("edit")?;
            let edit = self.region()?;
            self.keyword("jump")?;
            let jump = self.region()?;
            self.punct("}")?;
            Code::Regions { request, edit, jump }
        } else {
            let (block, yields) = self.block()?;
            if !yields.is_empty() {
                return self.error_at(self.at - 1, "only a block of an `if` can yield");
            }
            Code::Sequential(block)
        };
        let values = std::mem::take(&mut self.values);
        for (expected, found) in values.keys().enumerate() {
            if expected as u32 != *found {
                return self.error_at(
                    self.at - 1,
                    format!("value %{expected} is neither defined nor declared `unused`"),
                );
            }
        }
        Ok(Step { name, loc, split, values: values.into_values().collect(), code })
    }

    fn region(&mut self) -> Result<Block> {
        self.punct("{")?;
        let (block, yields) = self.block()?;
        if yields.is_empty() {
            Ok(block)
        } else {
            self.error_at(self.at - 1, "a region cannot yield")
        }
    }

    /// Parses operations and yields up to and including the closing brace.
    fn block(&mut self) -> Result<(Block, Vec<Value>)> {
        let mut ops = Vec::new();
        loop {
            if self.eat("}") {
                return Ok((Block { ops }, Vec::new()));
            }
            if self.eat_keyword("yield") {
                let yields = self.list("}", Self::value)?;
                return Ok((Block { ops }, yields));
            }
            ops.push(self.op()?);
        }
    }

    fn value(&mut self) -> Result<Value> {
        match self.peek() {
            Token::Value(index) => {
                let value = Value(*index);
                self.at += 1;
                Ok(value)
            }
            _ => self.expected("a value such as `%3`"),
        }
    }

    /// Parses `%3:u16 "name"`.
    fn definition(&mut self) -> Result<Value> {
        let at = self.at;
        let value = self.value()?;
        self.punct(":")?;
        let width = self.width()?;
        let name = match self.peek() {
            Token::Text(_) => Some(self.text()?),
            _ => None,
        };
        if self.values.insert(value.0, ValueInfo { width, name }).is_some() {
            return self.error_at(at, format!("value %{} is defined twice", value.0));
        }
        Ok(value)
    }
}
