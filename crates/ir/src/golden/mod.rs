//! The golden model: an interpreter of the step IR that defines what programs mean.
//!
//! [`decode`] brings each engine into a compact form once; [`thread`] executes it, one packet after the other. What an
//! operation means stands in `thread`, in terms of [`Bits`](wireloom_bits::Bits), `PacketInHand` and `Instance`.

mod decode;
mod frame;
mod narrow;
#[cfg(test)]
mod tests;
mod thread;

use wireloom_bits::Bits;
use wireloom_net::{Packet, PacketInHand};
use wireloom_offloads::Store;

use crate::store::suits;
use crate::{EngineId, Execute, Output, Program, verify};
use frame::Frame;
pub use thread::Origin;
use thread::Thread;

/// The golden model of a program.
pub struct Golden {
    engines: Vec<decode::Engine>,
    /// The frame of each engine: engines do not recur, so one for each is enough.
    frames: Vec<Frame>,
    main: usize,
    store: Store,
    next_sequence: u64,
}

impl Golden {
    /// A machine for the program with these offloads, as [`store`](crate::store()) makes them.
    ///
    /// # Panics
    /// If the program does not verify or the store is another program's.
    pub fn new(program: Program, store: Store) -> Self {
        if let Err(problems) = verify(&program) {
            panic!("the program does not verify: {}", problems[0]);
        }
        assert!(suits(&program, program.main, &store), "the store is another program's");
        let engines: Vec<_> = program.engines.iter().map(decode::engine).collect();
        let frames = engines.iter().map(Frame::new).collect();
        Self { engines, frames, main: program.main.index(), store, next_sequence: 0 }
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// As [`store`](Self::store), for the control plane to change between packets.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}

impl Execute for Golden {
    fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) {
        for packet in packets {
            let origin = Origin { sequence: self.next_sequence, arrival_ns: packet.arrival_ns };
            self.next_sequence += 1;
            let mut hand = PacketInHand::arrive(packet, origin.sequence);
            let (callees, own) = self.frames.split_at_mut(self.main);
            Thread {
                engines: &self.engines[..self.main],
                engine: &self.engines[self.main],
                callees,
                frame: &mut own[0],
                store: &mut self.store,
                hand: Some(&mut hand),
                origin,
            }
            .run(sink);
        }
    }
}

/// The golden model of single calls, for machines on which an engine that is called stands alone.
pub struct GoldenCalls {
    engines: Vec<decode::Engine>,
    frames: Vec<Frame>,
}

impl GoldenCalls {
    /// Of the engines of a program.
    ///
    /// # Panics
    /// If the program does not verify.
    pub fn new(program: &Program) -> Self {
        if let Err(problems) = verify(program) {
            panic!("the program does not verify: {}", problems[0]);
        }
        let engines: Vec<_> = program.engines.iter().map(decode::engine).collect();
        let frames = engines.iter().map(Frame::new).collect();
        Self { engines, frames }
    }

    /// The reply to a call with these arguments, of an engine with these offloads, for a packet.
    ///
    /// # Panics
    /// If the engine is not called, the store is not its own, or there are other arguments than it has.
    pub fn call(&mut self, engine: EngineId, store: &mut Store, args: &[Bits], origin: Origin) -> Bits {
        let (callees, own) = self.frames.split_at_mut(engine.index());
        Thread {
            engines: &self.engines[..engine.index()],
            engine: &self.engines[engine.index()],
            callees,
            frame: &mut own[0],
            store,
            hand: None,
            origin,
        }
        .reply(args)
    }
}
