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
use crate::{Clock, EngineId, Execute, Output, Program, TIMERS, verify};
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
    /// Engine time, if times of the program end at ticks.
    clock: Option<Clock>,
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
        let (main, clock) = (program.main.index(), Clock::of(&program));
        Self { engines, activations, main, store, next_sequence: 0, clock }
    }

    /// Processes a frame like [`offer`](Execute::offer), and reports to an observer.
    pub fn observe(
        &mut self,
        frame: Frame<'_>,
        observer: &mut impl Observer,
        sink: &mut dyn FnMut(Output<'_>),
    ) {
        self.advance(frame.arrival_ns, observer, sink);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.thread(frame, sequence, observer, sink);
    }

    /// Runs the timers that are due by a time.
    fn advance(
        &mut self,
        time_ns: u64,
        observer: &mut impl Observer,
        sink: &mut dyn FnMut(Output<'_>),
    ) {
        while let Some(due) =
            self.clock.as_mut().and_then(|clock| clock.due(&mut self.store, time_ns))
        {
            for (frame, sequence) in due.frames().zip(due.first..) {
                self.thread(frame, sequence, observer, sink);
            }
        }
    }

    /// Runs the thread of a packet.
    fn thread(
        &mut self,
        frame: Frame<'_>,
        sequence: u64,
        observer: &mut impl Observer,
        sink: &mut dyn FnMut(Output<'_>),
    ) {
        let now_ns = match &mut self.clock {
            Some(clock) if sequence >= TIMERS => clock.now_ns(),
            Some(clock) => clock.arrive(frame.arrival_ns),
            None => frame.arrival_ns,
        };
        let origin = Origin { sequence, arrival_ns: now_ns };
        let mut hand = PacketInHand::arrive(Frame { arrival_ns: now_ns, ..frame }, sequence);
        // A packet leaves with the time and the port of the one that began the thread.
        let Frame { arrival_ns, ingress, .. } = frame;
        let sink = &mut |output: Output<'_>| sink(Output { arrival_ns, ingress, ..output });
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

    fn advance_to(&mut self, time_ns: u64, sink: &mut dyn FnMut(Output<'_>)) {
        self.advance(time_ns, &mut (), sink);
        if let Some(clock) = &mut self.clock {
            clock.arrive(time_ns);
        }
    }

    fn next_timer(&self) -> Option<u64> {
        self.clock.as_ref()?.next_timer(&self.store)
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
