//! The functional machine: one thread for each part of the engine, no time.

use wireloom_ir::{Execute, Output, Program};
use wireloom_isa::{Exception, Flow, InstructionSet, Stop, Symbols, Text, Thread};
use wireloom_native::thread::Elements;
use wireloom_net::Packet;
use wireloom_net::packet::MAX_LENGTH;
use wireloom_offloads::Store;

use super::build::Built;
use super::marshal::Offloads;
use super::memory::Surroundings;
use super::profile::{Count, Profile};
use crate::mpsoc::mpe::STACK;
use crate::mpsoc::objects::CallersPacket;

/// A program on one thread, or one for each part of an engine that is cut, that gets every answer at once: for comparing what programs mean, and for counting instructions.
pub struct Functional<S: InstructionSet> {
    text: Text<S>,
    symbols: Symbols,
    /// Of each part.
    threads: Vec<S::Thread>,
    around: Surroundings,
    /// Of each instruction of the text: how often it was executed.
    executed: Vec<Count>,
    next_number: u64,
}

impl<S: InstructionSet> Functional<S> {
    /// A machine for what was built of a program and its elements, with these offloads, as `wireloom_ir::store` makes them.
    ///
    /// # Errors
    /// A sentence, if it was built for another instruction set.
    ///
    /// # Panics
    /// If the store is another program's.
    pub fn new(built: &Built, program: &Program, elements: &Elements, store: Store) -> Result<Self, String> {
        let text = built.program.text::<S>()?;
        let mut memory = Vec::new();
        for segment in &built.program.segments {
            memory.resize((segment.address + segment.size) as usize, 0);
            memory[segment.address as usize..][..segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        let thread = |part: usize| {
            let mut thread = S::Thread::new(built.program.entry);
            thread.set_register(S::STACK_POINTER, STACK);
            thread.set_register(S::ARGUMENTS[1], part as u32);
            thread
        };
        let threads = (0..built.parts).map(thread).collect();
        let executed = vec![Count::default(); text.instructions().count()];
        let symbols = built.program.symbols.clone();
        let around = Surroundings::new(memory, Offloads::new(program, elements, store), built.parts);
        Ok(Self { text, symbols, threads, around, executed, next_number: 0 })
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        self.around.objects.store()
    }

    /// As [`store`](Self::store), for the control plane to change between packets.
    pub fn store_mut(&mut self) -> &mut Store {
        self.around.objects.store_mut()
    }

    /// The offloads with their state, for another machine.
    pub fn into_store(mut self) -> Store {
        std::mem::take(self.store_mut())
    }

    /// How many instructions were executed so far, in which steps.
    pub fn profile(&self) -> Profile {
        let addresses = self.text.instructions().map(|(address, _)| address);
        Profile::new(&self.symbols, addresses.zip(self.executed.iter().copied()))
    }

    /// The instructions that were executed so far, in the order of their addresses: where, what, how often.
    pub fn listing(&self) -> impl Iterator<Item = (u32, String, Count)> + '_ {
        let executed =
            self.text.instructions().zip(&self.executed).filter(|(_, count)| count.instructions > 0);
        executed.map(|((address, instruction), count)| {
            (address, S::disassemble(S::word(instruction), address), *count)
        })
    }

    /// As [`Execute::execute`], for one packet.
    ///
    /// # Errors
    /// The exception that the program causes: a flaw of the compiler or of this machine. The machine is of no use any more.
    pub fn process(&mut self, packet: &Packet, sink: &mut dyn FnMut(Output<'_>)) -> Result<(), Exception> {
        let caller = CallersPacket { number: self.next_number, arrival_ns: packet.arrival_ns };
        self.next_number += 1;
        let mut packet = packet.clone();
        packet.bytes.truncate(MAX_LENGTH);
        self.around.next.push_back((packet, caller));
        self.run()?;
        for sent in self.around.sent.drain(..) {
            sink(Output {
                sequence: caller.number,
                arrival_ns: caller.arrival_ns,
                ingress: sent.ingress,
                verdict: sent.verdict,
                bytes: &sent.bytes,
            });
        }
        Ok(())
    }

    /// Executes instructions, of the thread whose part has the packet, until the first waits for one.
    fn run(&mut self) -> Result<(), Exception> {
        let base = self.text.instructions().next().map_or(0, |(address, _)| address);
        loop {
            let thread = &mut self.threads[self.around.part()];
            let pc = thread.pc();
            let instruction = self.text.fetch(pc).map_err(|cause| self.text.exception(pc, cause))?;
            self.around.communicates = false;
            match S::execute(thread, instruction, &mut self.around) {
                Ok(Flow::Next | Flow::Skipped | Flow::Taken | Flow::Service | Flow::Breakpoint) => {
                    let count = &mut self.executed[((pc - base) / 4) as usize];
                    count.instructions += 1;
                    count.communication += u64::from(self.around.communicates);
                }
                Err(Stop::Wait) if self.around.takes_over() => {}
                Err(Stop::Wait) => return Ok(()),
                Err(Stop::Raise(cause)) => return Err(self.text.exception(pc, cause)),
            }
        }
    }
}

impl<S: InstructionSet> Execute for Functional<S> {
    /// # Panics
    /// If the program causes an exception.
    fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) {
        for packet in packets {
            if let Err(exception) = self.process(packet, sink) {
                panic!("{}", exception.within(&self.symbols));
            }
        }
    }
}
