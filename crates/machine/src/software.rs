//! The common parts of machines in software: a kind with one machine, and a machine whose packets
//! have settled when the call that offers them returns.

use std::fmt;
use std::sync::Arc;

use wireloom_description::Description;
use wireloom_ir::{Execute, Golden};
use wireloom_net::Frame;
use wireloom_offloads::{Store, Update};

use crate::{
    Configured, Counts, Error, Files, Machine, MachineKind, Named, Options, Program, Refusal,
    Result, Settled, Sink, SinkOfPieces, Snapshot, UpdateError,
};

/// A function that starts a machine; see [`Configured::start`].
pub type Start = fn(&Program, Store, &Options, &dyn Fn(&str)) -> Result<Box<dyn Machine>>;

/// A function that returns the parts of a program that do not fit; see [`Configured::refusals`].
pub type Refusals = fn(&Program) -> Vec<Refusal>;

/// A function that builds a program and starts it without input; see [`Configured::try_out`].
pub type TryOut = fn(&Program, &dyn Fn(&str)) -> Result;

/// A kind with one machine and no settings.
#[derive(Clone, Copy)]
pub struct Single {
    /// The name of the kind and of the machine.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// Returns the refused parts of a program; `None` if the machine takes every program.
    pub refusals: Option<Refusals>,
    /// Finds limits of tools; see [`Configured::try_out`]. `None` if there are none.
    pub try_out: Option<TryOut>,
    /// Starts the machine; see [`Configured::start`].
    pub start: Start,
    /// Generates source code for the machine; see [`Configured::generate`].
    pub generate: fn(&Program) -> Result<Files>,
}

impl fmt::Debug for Single {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl MachineKind for Single {
    fn name(&self) -> &'static str {
        self.name
    }

    fn named(&self) -> Named {
        Named::One(self.about)
    }

    fn find(&self, name: &str) -> Result<Option<Arc<dyn Configured>>> {
        Ok((name == self.name).then(|| Arc::new(*self) as Arc<dyn Configured>))
    }

    fn example(&self) -> &'static str {
        self.name
    }

    fn configure(&self, name: &str, _: Description) -> Result<Arc<dyn Configured>> {
        let kind = self.name;
        Err(Error::new(format!(
            "machine {name}: nothing about `{kind}` can be chosen, so it has no description"
        ))
        .with_help(format!("say --on {kind}")))
    }
}

impl Configured for Single {
    fn kind(&self) -> &'static str {
        self.name
    }

    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        self.refusals.map_or_else(Vec::new, |refusals| refusals(program))
    }

    fn try_out(&self, program: &Program, progress: &dyn Fn(&str)) -> Result {
        self.try_out.map_or(Ok(()), |try_out| try_out(program, progress))
    }

    fn start(
        &self,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        (self.start)(program, store, options, progress)
    }

    fn generate(&self, program: &Program) -> Result<Files> {
        (self.generate)(program)
    }
}

/// A machine in software that keeps its offloads in a store.
pub trait Software: Execute {
    /// The offloads with their state.
    fn store(&self) -> &Store;

    /// The offloads, for the control plane to change between packets.
    fn store_mut(&mut self) -> &mut Store;

    /// The number of times that packets began steps and called offloads, if the machine counts
    /// that.
    fn counts(&self) -> Option<Counts> {
        None
    }
}

impl Software for Golden {
    fn store(&self) -> &Store {
        self.store()
    }

    fn store_mut(&mut self) -> &mut Store {
        self.store_mut()
    }
}

/// A machine in software: each packet has settled when the call that offers it returns.
pub struct InSoftware<M> {
    machine: M,
    offered: u64,
}

impl<M: Software> InSoftware<M> {
    /// Creates this machine in its initial state.
    pub fn new(machine: M) -> Self {
        Self { machine, offered: 0 }
    }

    fn taken(&mut self, frames: &[Frame<'_>]) -> Settled {
        let first = self.offered;
        self.offered += frames.len() as u64;
        Settled { taken: (first..self.offered).into(), ..Settled::default() }
    }
}

impl<M: Software> Machine for InSoftware<M> {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        self.machine.offer(frames, sink);
        Ok(self.taken(frames))
    }

    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: SinkOfPieces<'_>) -> Result<Settled> {
        self.machine.offer_in_pieces(frames, sink);
        Ok(self.taken(frames))
    }

    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        self.machine.advance_to(time_ns, sink);
        Ok(Settled::default())
    }

    fn next_timer(&self) -> Option<u64> {
        self.machine.next_timer()
    }

    fn finish(&mut self, _: Sink<'_>) -> Result<Settled> {
        Ok(Settled::default())
    }

    fn update(&mut self, update: &Update, _: Sink<'_>) -> Result<Settled, UpdateError> {
        let made = update.apply(self.machine.store_mut());
        made.map_err(|refused| UpdateError::Refused(refused.0))?;
        Ok(Settled::default())
    }

    fn store(&self) -> &Store {
        self.machine.store()
    }

    fn store_mut(&mut self) -> Option<&mut Store> {
        Some(self.machine.store_mut())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        snapshot.restore(self.machine.store_mut())
    }

    fn counts(&self) -> Option<Counts> {
        self.machine.counts()
    }
}
