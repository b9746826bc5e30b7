//! The golden model: an interpreter of the step IR that defines the semantics of programs.
//!
//! [`decode`] translates each engine into a compact form once. [`thread`] executes one packet after
//! the other and defines each operation in terms of [`Bits`](wireloom_bits::Bits), `PacketInHand`
//! and `Instance`.

mod activation;
mod decode;
mod narrow;
mod observer;
#[cfg(test)]
mod tests;
mod thread;

use wireloom_bits::Bits;
use wireloom_net::{Frame, PacketInHand};
use wireloom_offloads::Store;

use crate::store::suits;
use crate::{EngineId, Execute, Output, Program, verify};
use activation::Activation;
pub use observer::{Moment, Observer};
pub use thread::Origin;
use thread::Thread;

/// The golden model of a program.
pub struct Golden {
    engines: Vec<decode::DecodedEngine>,
    /// The activation of each engine. Engines cannot recurse, so one for each is enough.
    activations: Vec<Activation>,
    main: usize,
    store: Store,
    next_sequence: u64,
}

impl Golden {
    /// Creates a machine for the program. [`store`](crate::store()) creates suitable offloads.
    ///
    /// # Panics
    /// If the program does not verify or the store belongs to another program.
    pub fn new(program: Program, store: Store) -> Self {
        if let Err(problems) = verify(&program) {
            panic!("the program does not verify: {}", problems[0]);
        }
        assert!(suits(&program, program.main, &store), "the store is another program's");
        let engines: Vec<_> = program.engines.iter().map(decode::engine).collect();
        let activations = engines.iter().map(Activation::new).collect();
        Self { engines, activations, main: program.main.index(), store, next_sequence: 0 }
    }

    /// Processes a frame like [`offer`](Execute::offer), and reports to an observer.
    pub fn observe(
        &mut self,
        frame: Frame<'_>,
        observer: &mut impl Observer,
        sink: &mut dyn FnMut(Output<'_>),
    ) {
        let origin = Origin { sequence: self.next_sequence, arrival_ns: frame.arrival_ns };
        self.next_sequence += 1;
        let mut hand = PacketInHand::arrive(frame, origin.sequence);
        let (callees, own) = self.activations.split_at_mut(self.main);
        Thread {
            engines: &self.engines[..self.main],
            engine: &self.engines[self.main],
            callees,
            activation: &mut own[0],
            store: &mut self.store,
            hand: Some(&mut hand),
            origin,
            observer,
        }
        .run(sink);
    }

    /// Returns the offloads with their state.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the offloads for changes by the control plane between packets.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}

impl Execute for Golden {
    fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>)) {
        for &frame in frames {
            self.observe(frame, &mut (), sink);
        }
    }
}

/// The golden model of single calls, for machines that run a called engine separately.
#[derive(Clone)]
pub struct GoldenCalls {
    engines: Vec<decode::DecodedEngine>,
    activations: Vec<Activation>,
}

impl GoldenCalls {
    /// Creates the model for the engines of a program.
    ///
    /// # Panics
    /// If the program does not verify.
    pub fn new(program: &Program) -> Self {
        if let Err(problems) = verify(program) {
            panic!("the program does not verify: {}", problems[0]);
        }
        let engines: Vec<_> = program.engines.iter().map(decode::engine).collect();
        let activations = engines.iter().map(Activation::new).collect();
        Self { engines, activations }
    }

    /// Returns the reply of an engine to a call with these arguments and offloads, on behalf of a
    /// packet.
    ///
    /// # Panics
    /// If the engine is not a called engine, the store belongs to another engine, or the arguments
    /// do not match the parameters.
    pub fn call(
        &mut self,
        engine: EngineId,
        store: &mut Store,
        args: &[Bits],
        origin: Origin,
    ) -> Bits {
        let (callees, own) = self.activations.split_at_mut(engine.index());
        Thread {
            engines: &self.engines[..engine.index()],
            engine: &self.engines[engine.index()],
            callees,
            activation: &mut own[0],
            store,
            hand: None,
            origin,
            observer: &mut (),
        }
        .reply(args)
    }
}
