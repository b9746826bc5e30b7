//! The functional machine: one thread for each part of the engine, untimed.

use wireloom_codegen_c::thread::Elements;
use wireloom_ir::{Clock, Execute, Output, Program};
use wireloom_isa::{Compiled, Exception, Flow, InstructionSet, Stop, Symbols, Text, Thread};
use wireloom_net::Frame;
use wireloom_net::packet::MAX_LENGTH;
use wireloom_offloads::Store;

use super::build::Built;
use super::marshal::Offloads;
use super::memory::Surroundings;
use super::profile::{Count, Profile};
use crate::mpe::STACK;
use crate::objects::CallersPacket;

/// A program with immediate replies, on one thread, or on one thread for each part of a cut engine.
/// It serves to compare the behaviour of programs, and to count instructions.
pub struct Functional<S: InstructionSet> {
    text: Text<S>,
    symbols: Symbols,
    /// The thread of each part.
    threads: Vec<S::Thread>,
    around: Surroundings,
    /// The execution count of each instruction of the text.
    executed: Vec<Count>,
    next_number: u64,
    clock: Option<Clock>,
}

impl<S: Compiled> Functional<S> {
    /// A machine for a built program and its elements, with the offloads that `wireloom_ir::store`
    /// creates.
    ///
    /// # Errors
    /// A sentence, if the program was built for another instruction set.
    ///
    /// # Panics
    /// The store belongs to another program.
    pub fn new(
        built: &Built,
        program: &Program,
        elements: &Elements,
        store: Store,
    ) -> Result<Self, String> {
        let text = built.program.text::<S>()?;
        let mut memory = Vec::new();
        for segment in &built.program.segments {
            memory.resize((segment.address + segment.size) as usize, 0);
            memory[segment.address as usize..][..segment.bytes.len()]
                .copy_from_slice(&segment.bytes);
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
        let around =
            Surroundings::new(memory, Offloads::new(program, elements, store), built.parts);
        let clock = Clock::of(program);
        Ok(Self { text, symbols, threads, around, executed, next_number: 0, clock })
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        self.around.objects.store()
    }

    /// The offloads, for the control plane to change between packets.
    pub fn store_mut(&mut self) -> &mut Store {
        self.around.objects.store_mut()
    }

    /// The offloads with their state, for use by another machine.
    pub fn into_store(mut self) -> Store {
        std::mem::take(self.store_mut())
    }

    /// The number of instructions executed so far, by step.
    pub fn profile(&self) -> Profile {
        let addresses = self.text.instructions().map(|(address, _)| address);
        Profile::new(&self.symbols, addresses.zip(self.executed.iter().copied()))
    }

    /// The instructions executed so far, in the order of their addresses: address, assembly, count.
    pub fn listing(&self) -> impl Iterator<Item = (u32, String, Count)> + '_ {
        let executed = self
            .text
            .instructions()
            .zip(&self.executed)
            .filter(|(_, count)| count.instructions > 0);
        executed.map(|((address, instruction), count)| {
            (address, S::disassemble(S::word(instruction), address), *count)
        })
    }

    /// Processes one packet like [`Execute::offer`].
    ///
    /// # Errors
    /// The exception that the program raises, because of a defect of the compiler or of this
    /// machine. Afterwards the machine must not be used.
    pub fn process(
        &mut self,
        frame: Frame<'_>,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), Exception> {
        self.run_timers(frame.arrival_ns, sink)?;
        let number = self.next_number;
        self.next_number += 1;
        let now_ns = self.clock.as_mut().map(|clock| clock.arrive(frame.arrival_ns));
        let in_time = Frame { arrival_ns: now_ns.unwrap_or(frame.arrival_ns), ..frame };
        self.execute(in_time, number, &mut |output| {
            sink(Output { arrival_ns: frame.arrival_ns, ..output });
        })
    }

    /// Runs the timers that are due by a time.
    fn run_timers(
        &mut self,
        time_ns: u64,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), Exception> {
        while let Some(clock) = &mut self.clock
            && let Some(due) = clock.due(self.around.objects.store_mut(), time_ns)
        {
            for (frame, number) in due.frames().zip(due.first..) {
                self.execute(frame, number, sink)?;
            }
        }
        Ok(())
    }

    fn execute(
        &mut self,
        frame: Frame<'_>,
        number: u64,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), Exception> {
        let caller = CallersPacket { number, arrival_ns: frame.arrival_ns };
        let mut packet = frame.to_packet();
        packet.bytes.truncate(MAX_LENGTH);
        self.around.next.push_back((packet, caller));
        self.run()?;
        for sent in self.around.sent.drain(..) {
            sink(Output {
                sequence: caller.number,
                arrival_ns: caller.arrival_ns,
                ingress: frame.ingress,
                verdict: sent.verdict,
                bytes: &sent.bytes,
            });
        }
        Ok(())
    }

    /// Executes instructions of the thread whose part has the packet, until the first thread waits
    /// for a packet.
    fn run(&mut self) -> Result<(), Exception> {
        let base = self.text.instructions().next().map_or(0, |(address, _)| address);
        loop {
            let thread = &mut self.threads[self.around.part()];
            let pc = thread.pc();
            let instruction =
                self.text.fetch(pc).map_err(|cause| self.text.exception(pc, cause))?;
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

impl<S: Compiled> Execute for Functional<S> {
    /// # Panics
    /// The program raises an exception.
    fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>)) {
        for &frame in frames {
            if let Err(exception) = self.process(frame, sink) {
                panic!("{}", exception.within(&self.symbols));
            }
        }
    }

    /// # Panics
    /// The program raises an exception.
    fn advance_to(&mut self, time_ns: u64, sink: &mut dyn FnMut(Output<'_>)) {
        if let Err(exception) = self.run_timers(time_ns, sink) {
            panic!("{}", exception.within(&self.symbols));
        }
        if let Some(clock) = &mut self.clock {
            clock.arrive(time_ns);
        }
    }

    fn next_timer(&self) -> Option<u64> {
        self.clock.as_ref()?.next_timer(self.store())
    }
}
