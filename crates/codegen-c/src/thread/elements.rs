//! Called engines that are separate hardware elements. They are objects with one method, like the
//! objects of a kind.
//!
//! A call of any other engine is a call of a C function. Its offloads are objects of the caller.

use std::collections::BTreeSet;

use wireloom_ir::{Engine, EngineId, EngineKind, OffloadTarget, Op, OpKind, Program};
use wireloom_offloads::registry;

use super::message::{Arguments, Reply};
use super::{Refused, is_local};

/// The offloads of a program that are hardware elements. Each is identified by the index of the
/// engine that has it and by its index in that engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements(BTreeSet<(usize, usize)>);

impl Elements {
    /// Creates the empty set: every called engine is a function of its caller.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the engines with these names, or the engines that implement offloads with these
    /// names.
    ///
    /// # Errors
    /// If the program calls no such engine.
    pub fn named<'a>(
        program: &Program,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Refused> {
        let mut elements = BTreeSet::new();
        for name in names {
            let before = elements.len();
            elements.extend(
                calls(program).filter(|call| call.names.contains(&name)).map(|call| call.place),
            );
            if elements.len() == before {
                let all: BTreeSet<&str> = calls(program).flat_map(|call| call.names).collect();
                let all = all.into_iter().collect::<Vec<_>>().join(", ");
                let has = if all.is_empty() {
                    "it calls none".to_owned()
                } else {
                    format!("it calls {all}")
                };
                let main = &program.engines[program.main.index()];
                let why = format!("calls no engine `{name}` that could be an element; {has}");
                return Err(Refused::engine(main, &why));
            }
        }
        Ok(Self(elements))
    }

    /// Returns whether an offload of an engine is a hardware element.
    pub fn contains(&self, engine: EngineId, offload: usize) -> bool {
        self.0.contains(&(engine.index(), offload))
    }

    /// Returns the engines that threads execute as functions. The main engine calls them directly
    /// or not.
    pub(super) fn functions(&self, program: &Program) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![program.main];
        while let Some(engine) = open.pop() {
            for (offload, id) in called(program, engine) {
                if !self.contains(engine, offload) && found.insert(id.index()) {
                    open.push(id);
                }
            }
        }
        found
    }

    /// Returns, for each offload of an engine, its number of objects.
    fn object_counts(&self, program: &Program, engine: EngineId) -> Vec<usize> {
        let offloads = program.engines[engine.index()].offloads.iter().enumerate();
        let count = |(index, offload): (usize, &wireloom_ir::Offload)| match offload.target {
            OffloadTarget::Engine(id) if !self.contains(engine, index) => {
                self.object_counts(program, id).iter().sum()
            }
            _ => 1,
        };
        offloads.map(count).collect()
    }

    /// Returns, for each offload of an engine, the number of its first object, relative to the
    /// engine's first.
    pub(super) fn first_objects(&self, program: &Program, engine: EngineId) -> Vec<usize> {
        let counts = self.object_counts(program, engine);
        let begin = |next: &mut usize, count: usize| Some(std::mem::replace(next, *next + count));
        counts.into_iter().scan(0, begin).collect()
    }
}

/// An offload that is an engine.
struct EngineCall<'a> {
    place: (usize, usize),
    /// The names of the offload and of the engine.
    names: [&'a str; 2],
}

fn calls(program: &Program) -> impl Iterator<Item = EngineCall<'_>> {
    program.engines.iter().enumerate().flat_map(move |(engine, body)| {
        called(program, EngineId(engine as u32)).map(move |(offload, id)| EngineCall {
            place: (engine, offload),
            names: [&body.offloads[offload].name, &program.engines[id.index()].name],
        })
    })
}

/// Returns the offloads of an engine that are engines.
fn called(program: &Program, engine: EngineId) -> impl Iterator<Item = (usize, EngineId)> + '_ {
    let offloads = program.engines[engine.index()].offloads.iter().enumerate();
    offloads.filter_map(|(index, offload)| match offload.target {
        OffloadTarget::Engine(id) => Some((index, id)),
        OffloadTarget::Kind(_) => None,
    })
}

/// The messages of an object's method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// A call.
    pub arguments: Arguments,
    /// The reply, or `None` if calls are one-way.
    pub reply: Option<Reply>,
}

impl Messages {
    /// Returns the messages of a called engine.
    ///
    /// # Panics
    /// If the engine takes packets.
    pub fn of_engine(engine: &Engine) -> Self {
        let EngineKind::Call { params, reply } = &engine.kind else {
            panic!("an engine that is called")
        };
        let widths = params.iter().map(|param| engine.context[param.index()].width).collect();
        Self { arguments: Arguments { widths }, reply: Some(Reply::of_value(*reply)) }
    }
}

/// An engine with the context to resolve its calls.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub program: &'a Program,
    pub id: EngineId,
    pub elements: &'a Elements,
}

impl<'a> Caller<'a> {
    pub fn engine(&self) -> &'a Engine {
        &self.program.engines[self.id.index()]
    }

    /// Returns the messages of a call, or `None` if the thread executes the call itself or the
    /// operation is not a call.
    pub fn messages(&self, op: &Op) -> Option<Messages> {
        let OpKind::Call { offload, method, .. } = &op.kind else { return None };
        match &self.engine().offloads[offload.index()].target {
            OffloadTarget::Engine(id) => self
                .elements
                .contains(self.id, offload.index())
                .then(|| Messages::of_engine(&self.program.engines[id.index()])),
            OffloadTarget::Kind(config) => {
                let method = &registry::kind(&config.kind)?.methods[*method];
                (!is_local(config, method)).then(|| Messages {
                    arguments: Arguments::of(method, config),
                    reply: Reply::of(method, config),
                })
            }
        }
    }
}
