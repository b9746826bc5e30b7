//! A call of an offload, with everything that the C code of a kind needs to write it.

use wireloom_offloads::{Config, Method};

use super::ops::{Operand, from_words, high_word};
use super::tree::{Binary, Declaration, Expr, Stmt};
use super::types::{Class, Model};

/// The context of calls. The offloads' slots are the array `slots`. The thread's environment is
/// `env`.
pub struct Surroundings<'a> {
    /// The first slot of each offload of the engine.
    pub slot_index: &'a [usize],
    /// The C function of each offload that is an engine.
    pub functions: &'a [Option<String>],
    /// The current packet and the arena, both pointers. A called engine has neither.
    pub packet: Option<(Expr, Expr)>,
    /// Whether calls are counted.
    pub counts: bool,
}

impl Surroundings<'_> {
    /// Returns the slot of an offload.
    pub fn slot(&self, offload: usize) -> Expr {
        slots().at(self.slot_index[offload])
    }
}

/// Returns the array of an engine's slots.
pub fn slots() -> Expr {
    Expr::name("slots")
}

/// Returns the environment of a thread, a pointer.
pub fn env() -> Expr {
    Expr::name("env")
}

/// A call of an offload that is not an engine, with everything needed to write it.
pub struct Call<'a> {
    /// The context of the call.
    pub around: &'a Surroundings<'a>,
    /// The offload's configuration.
    pub config: &'a Config,
    pub method: &'static Method,
    /// The index of the method in its kind.
    pub number: usize,
    /// The arguments. None of them is an expression with operators.
    pub args: &'a [Operand],
    /// The offload's slot.
    pub slot: Expr,
    /// The object for the reply.
    pub result: Option<&'a Expr>,
    /// The state of a search that has already begun.
    pub walk: Option<Expr>,
    /// The width of the reply in bits; 0 if there is none.
    pub width: u32,
}

impl Call<'_> {
    /// Returns the C expression of an argument.
    pub fn arg(&self, index: usize) -> Expr {
        self.args[index].c.clone()
    }

    /// Returns the address of the slot.
    pub fn slot_address(&self) -> Expr {
        self.slot.clone().address()
    }

    /// Returns a count of the method: of its calls (0), or of the calls that found something (1).
    pub fn count(&self, which: usize) -> Expr {
        self.slot.clone().member("counts").at(2 * self.number + which)
    }

    /// Writes a call of a function that returns a scalar.
    pub fn scalar(&self, value: Expr) -> Vec<Stmt> {
        vec![match self.result {
            Some(result) => Stmt::Assign(result.clone(), value),
            None => value.unused(),
        }]
    }

    /// Writes a call of a function that writes the words of its reply: `function(arguments,
    /// reply)`.
    pub fn fill(&self, function: &str, args: Vec<Expr>) -> Vec<Stmt> {
        self.fill_before(function, args, Vec::new())
    }

    /// Writes a call of a function that writes its reply and takes more arguments after the reply.
    pub fn fill_before(&self, function: &str, args: Vec<Expr>, after: Vec<Expr>) -> Vec<Stmt> {
        let into = |reply: Expr| Stmt::call(function, args.into_iter().chain([reply]).chain(after));
        match (self.result, Model::Bits64.class(self.width)) {
            (Some(result), Class::Wide(_)) => vec![into(result.clone().member("w"))],
            (result, _) => {
                let reply = Expr::name("reply");
                let mut body = vec![self.reply_words(), into(reply.clone())];
                body.extend(
                    result.map(|r| Stmt::Assign(r.clone(), from_words(&reply, self.width))),
                );
                vec![Stmt::Block(body)]
            }
        }
    }

    fn reply_words(&self) -> Stmt {
        let n = Model::Bits64.words(self.width).max(1);
        Declaration::new("uint64_t", "reply").sized([Expr::number(n)]).into()
    }

    /// Writes a call that the host executes on its instance.
    pub fn through_host(&self) -> Vec<Stmt> {
        let (args, reply) = (Expr::name("args"), Expr::name("reply"));
        let none = || Expr::name("NULL");
        let (packet, arena) = self.around.packet.clone().unwrap_or((none(), none()));
        let total: u32 = self.args.iter().map(|a| Model::Bits64.words(a.width)).sum();
        let declared = Declaration::new("uint64_t", "args").sized([Expr::number(total.max(1))]);
        let mut body = vec![declared.into()];
        let mut at = 0;
        for arg in self.args {
            match arg.class() {
                Class::Wide(n) => body.push(copy(at_word(&args, at), arg.words(), n, &args)),
                Class::Double => {
                    body.push(Stmt::Assign(args.clone().at(at), arg.c.clone().cast("uint64_t")));
                    body.push(Stmt::Assign(args.clone().at(at + 1), high_word(&arg.c)));
                }
                _ => body.push(Stmt::Assign(args.clone().at(at), arg.c.clone())),
            }
            at += Model::Bits64.words(arg.width);
        }
        if total == 0 {
            body.push(Stmt::Assign(args.clone().at(0), Expr::number(0)));
        }
        body.push(self.reply_words());
        let function = self.slot.clone().member("call");
        let instance = self.slot.clone().member("instance");
        let all =
            vec![instance, Expr::number(self.number), args, reply.clone(), packet, arena, env()];
        body.push(Stmt::Expr(Expr::Call(Box::new(function), all)));
        if let Some(result) = self.result {
            body.push(match Model::Bits64.class(self.width) {
                Class::Wide(n) => copy(result.clone().member("w"), reply.clone(), n, &reply),
                _ => Stmt::Assign(result.clone(), from_words(&reply, self.width)),
            });
        }
        vec![Stmt::Block(body)]
    }
}

/// Returns the address of a word of an array.
fn at_word(array: &Expr, at: u32) -> Expr {
    array.clone().binary(Binary::Add, Expr::number(at))
}

/// Copies `words` words, each as large as an element of `array`.
fn copy(to: Expr, from: Expr, words: u32, array: &Expr) -> Stmt {
    let word = Expr::SizeOf(Box::new(array.clone().target()));
    Stmt::call("memcpy", [to, from, Expr::number(words).binary(Binary::Mul, word)])
}
