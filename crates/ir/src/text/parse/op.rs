//! Parses operations.

use wireloom_bits::{Bits, MAX_WIDTH};
use wireloom_offloads::registry;

use super::super::MAX_NESTING;
use super::super::lex::Token;
use super::{Parser, Result, StepReference};
use crate::{
    ArrayId, BinaryOp, ContextId, Copied, Exit, Loc, Meta, OffloadId, OffloadTarget, Op, OpKind,
    ReasonSetId, StepId, UnaryOp, Value,
};

impl Parser {
    pub(super) fn op(&mut self) -> Result<Op> {
        let mut results = Vec::new();
        if matches!(self.peek(), Token::Value(_)) {
            results.push(self.definition()?);
            while self.eat(",") {
                results.push(self.definition()?);
            }
            self.punct("=")?;
        }
        if self.eat_keyword("if") {
            return self.choice(results);
        }
        let width = results.first().map(|r| self.values[&r.0].width);
        let kind = self.op_kind(width)?;
        let (guard, loc) = self.tail()?;
        Ok(Op { kind, results, guard, loc })
    }

    fn tail(&mut self) -> Result<(Option<Value>, Loc)> {
        let guard = if self.eat_keyword("when") { Some(self.value()?) } else { None };
        Ok((guard, self.loc()?))
    }

    fn choice(&mut self, results: Vec<Value>) -> Result<Op> {
        if self.depth == MAX_NESTING {
            return self.error(format!("`if` blocks nest deeper than {MAX_NESTING}"));
        }
        self.depth += 1;
        let condition = self.value()?;
        let (guard, loc) = self.tail()?;
        self.punct("{")?;
        let then = self.block()?;
        self.keyword("else")?;
        self.punct("{")?;
        let otherwise = self.block()?;
        self.depth -= 1;
        Ok(Op { kind: OpKind::If { condition, then, otherwise }, results, guard, loc })
    }

    /// Parses an operation other than `if`. `width` is the width of the first result.
    fn op_kind(&mut self, width: Option<u32>) -> Result<OpKind> {
        let Token::Word(word) = self.peek() else { return self.expected("an operation") };
        let word = word.clone();
        if let Some(op) = UnaryOp::ALL.into_iter().find(|op| op.name() == word) {
            self.at += 1;
            return Ok(OpKind::Unary(op, self.value()?));
        }
        if let Some(op) = BinaryOp::ALL.into_iter().find(|op| op.name() == word) {
            self.at += 1;
            let a = self.value()?;
            return Ok(OpKind::Binary(op, a, self.after_comma(Self::value)?));
        }
        self.at += 1;
        Ok(match word.as_str() {
            "const" => OpKind::Const(self.constant(width)?),
            "select" => {
                let a = self.value()?;
                let b = self.after_comma(Self::value)?;
                OpKind::Select(a, b, self.after_comma(Self::value)?)
            }
            "extend" => OpKind::Extend(self.value()?),
            "slice" => {
                let a = self.value()?;
                self.keyword("from")?;
                OpKind::Slice(a, self.number32()?)
            }
            "concat" => {
                self.punct("(")?;
                OpKind::Concat(self.list(")", Self::value)?)
            }
            "table" => {
                let index = self.value()?;
                self.keyword("of")?;
                self.punct("(")?;
                let elements = self.list(")", |parser| parser.constant(width))?;
                OpKind::Table { elements: elements.into(), index }
            }
            "context.read" => OpKind::ReadContext(self.context_var()?),
            "context.write" => {
                let var = self.context_var()?;
                OpKind::WriteContext(var, self.after_comma(Self::value)?)
            }
            "array.read" => {
                let (array, index) = self.element()?;
                OpKind::ReadElement { array, index }
            }
            "array.write" => {
                let (array, index) = self.element()?;
                OpKind::WriteElement { array, index, value: self.after_comma(Self::value)? }
            }
            "packet.read" => {
                let (base, bit) = self.field()?;
                OpKind::ReadPacket { base, bit }
            }
            "packet.write" => {
                let (base, bit) = self.field()?;
                OpKind::WritePacket { base, bit, value: self.after_comma(Self::value)? }
            }
            "meta.read" => OpKind::ReadMeta(self.meta()?),
            "meta.write" => {
                let meta = self.meta()?;
                OpKind::WriteMeta(meta, self.after_comma(Self::value)?)
            }
            "packet.insert" => {
                let offset = self.value()?;
                OpKind::Insert { offset, count: self.after_comma(Self::value)? }
            }
            "packet.remove" => {
                let offset = self.value()?;
                OpKind::Remove { offset, count: self.after_comma(Self::value)? }
            }
            "packet.reset" => OpKind::Reset { count: self.value()? },
            "call" => {
                let (offload, method, args) = self.call()?;
                OpKind::Call { offload, method, args }
            }
            "eval" => {
                let (offload, method, args) = self.call()?;
                OpKind::Evaluate { offload, method, args }
            }
            "next" => OpKind::Exit(Exit::Next(self.step_reference()?)),
            "emit" => {
                let step = self.step_reference()?;
                let mut copied = Copied::default();
                if self.eat_keyword("bytes") {
                    copied.bytes = Some((self.value()?, self.value()?));
                }
                if self.eat_keyword("to_cpu") {
                    copied.cpu = Some(self.reason()?);
                }
                OpKind::Exit(Exit::Emit(step, copied))
            }
            "finish" => OpKind::Exit(Exit::Finish),
            "done" => OpKind::Exit(Exit::Done),
            "reply" => OpKind::Exit(Exit::Reply(self.value()?)),
            "drop" => {
                let (value, set) = self.reason()?;
                OpKind::Exit(Exit::Drop(value, set))
            }
            "to_cpu" => {
                let (value, set) = self.reason()?;
                OpKind::Exit(Exit::ToCpu(value, set))
            }
            _ => return self.error_at(self.at - 1, format!("there is no operation `{word}`")),
        })
    }

    fn after_comma<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        self.punct(",")?;
        item(self)
    }

    /// Parses a number with a width, or without one if `width` is known.
    fn constant(&mut self, width: Option<u32>) -> Result<Bits> {
        let at = self.at;
        match (self.next(), width) {
            (Token::Sized(bits), _) => Ok(bits),
            (Token::Number(bits), Some(width)) if (1..=MAX_WIDTH).contains(&width) => {
                if bits.significant() > width {
                    return self.error_at(at, format!("the number does not fit in {width} bits"));
                }
                Ok(bits.resize(width))
            }
            (Token::Number(_), _) => {
                self.error_at(at, "this constant needs a width, such as 16'0xff")
            }
            (token, _) => {
                self.error_at(at, format!("expected a number, found {}", token.describe()))
            }
        }
    }

    fn context_var(&mut self) -> Result<ContextId> {
        Ok(ContextId(self.reference("context variable", |p| &p.context)?))
    }

    /// Parses `ARRAY at %0`.
    fn element(&mut self) -> Result<(ArrayId, Value)> {
        let array = ArrayId(self.reference("context array", |p| &p.arrays)?);
        self.keyword("at")?;
        Ok((array, self.value()?))
    }

    /// Parses `%0 + 128`: the base in bytes and the bit offset.
    fn field(&mut self) -> Result<(Value, u32)> {
        let base = self.value()?;
        self.punct("+")?;
        Ok((base, self.number32()?))
    }

    fn meta(&mut self) -> Result<Meta> {
        let at = self.at;
        let name = self.name()?;
        let meta = Meta::ALL.into_iter().find(|m| m.name() == name);
        meta.map_or_else(|| self.error_at(at, format!("there is no metadata `{name}`")), Ok)
    }

    fn reason(&mut self) -> Result<(Value, ReasonSetId)> {
        let value = self.value()?;
        self.keyword("of")?;
        Ok((value, ReasonSetId(self.reference("reason set", |p| &p.reasons)?)))
    }

    fn step_reference(&mut self) -> Result<StepId> {
        let reference = match self.peek() {
            Token::Word(name) => StepReference::Name(name.clone()),
            Token::Hash(index) => StepReference::Index(*index),
            _ => return self.expected("the name of a step"),
        };
        self.step_references.push((reference, self.at));
        self.at += 1;
        Ok(StepId(self.step_references.len() as u32 - 1))
    }

    /// Parses a call such as `routes.search(%3)` or `#2.#7(...)`.
    fn call(&mut self) -> Result<(OffloadId, usize, Vec<Value>)> {
        let at = self.at;
        let (offload, method) = match self.next() {
            Token::Hash(index) => {
                self.punct(".")?;
                match self.peek() {
                    Token::Word(method) => {
                        let method = method.clone();
                        self.at += 1;
                        (index, Some(method))
                    }
                    _ => (index, None),
                }
            }
            Token::Word(word) => {
                let Some((name, method)) = word.split_once('.') else {
                    return self.error_at(at, "a call has the form `OFFLOAD.METHOD(ARGUMENTS)`");
                };
                let Some(index) = self.offload_names.find(name) else {
                    return self.error_at(at, format!("not exactly one offload is named `{name}`"));
                };
                (index as u32, Some(method.to_owned()).filter(|m| !m.is_empty()))
            }
            _ => return self.error_at(at, "expected the name of an offload"),
        };
        let method = match method {
            Some(name) => {
                let index = match self.offloads.get(offload as usize) {
                    Some(OffloadTarget::Engine(_)) => (name == "call").then_some(0),
                    Some(OffloadTarget::Kind(config)) => registry::kind(&config.kind)
                        .and_then(|k| k.method(&name))
                        .map(|(index, _)| index),
                    None => None,
                };
                match index {
                    Some(index) => index,
                    None => {
                        return self.error_at(at, format!("the offload has no method `{name}`"));
                    }
                }
            }
            None => match self.next() {
                Token::Hash(index) => index as usize,
                _ => return self.error_at(at, "expected a method"),
            },
        };
        self.punct("(")?;
        Ok((OffloadId(offload), method, self.list(")", Self::value)?))
    }
}
