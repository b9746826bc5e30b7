//! The state of the platform between two cycles, for debuggers and monitors.

use wireloom_isa::{Compiled, Thread};
use wireloom_machine::watch::{Instruction, Listing};
use wireloom_machine::{Profile, Profiler};
use wireloom_sim::Time;
use wireloom_sim::parts::network::Network;
use wireloom_sim::stats::{Record, Value};

use super::Platform;
use crate::code::Code;
use crate::context::{SharedAccess, Store, Wait};
use crate::objects::Objects;
use crate::processor::Processor;
use crate::workload::Workload;

/// A hardware thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hardware {
    /// The index of the thread's next instruction in the program.
    pub address: u64,
    /// The awaited event in words; empty if the thread does not wait.
    pub waits_for: String,
    /// Whether the thread waits for work, not in the middle of work.
    pub is_idle: bool,
    /// The number of instructions that the thread has issued.
    pub instructions: u64,
    /// The numbers of cycles for which the thread has waited for the network, and for work.
    pub waited: [u64; 2],
    /// The awaited access to shared memory: the address, and whether it writes.
    pub access: Option<(u32, bool)>,
}

/// A node of the network that serves threads.
#[derive(Clone, Debug)]
pub struct Served {
    pub name: String,
    /// Whether the node is a memory.
    pub is_memory: bool,
    /// The number of cycles in which the node was busy.
    pub busy: u64,
    /// The number of calls or accesses.
    pub count: u64,
}

/// A snapshot of everything that is measured.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The threads of all processors, in order.
    pub threads: Vec<Hardware>,
    /// For each processor, the number of cycles in which it issued an instruction or was blocked by
    /// one.
    pub busy: Vec<u64>,
    /// The numbers of messages that have arrived, of their bytes, and of messages in flight.
    pub network: [u64; 3],
    /// The number of calls that wait for a server at the broker.
    pub waiting: u64,
    /// The number of packets that were taken and have not left, and of packet I/O threads that
    /// bring packets in.
    pub io: [u64; 2],
    /// The numbers of packets that have left, and that were lost.
    pub done: [u64; 2],
    /// Shared memory, packet memory and objects.
    pub served: Vec<Served>,
}

/// The count at a path of a record.
fn count(record: &Record, path: &str) -> u64 {
    match record.value(path) {
        Some(Value::Count(count)) => *count,
        _ => 0,
    }
}

/// The share at a path of a record, converted to cycles of `cycles`.
fn share(record: &Record, path: &str, cycles: u64) -> u64 {
    match record.value(path) {
        Some(Value::Number(share)) => (share * cycles as f64).round() as u64,
        _ => 0,
    }
}

/// The awaited event in words.
fn words(wait: Wait) -> String {
    match wait {
        Wait::Nothing => String::new(),
        Wait::Packet => "a packet".to_owned(),
        Wait::Probe => "the reply to a probe".to_owned(),
        Wait::Memory => "shared memory".to_owned(),
        Wait::Fetch => "a line of instructions".to_owned(),
        Wait::Data => "a line of data".to_owned(),
        Wait::Reply(ticket) => format!("the reply to its call under ticket {ticket}"),
        Wait::Request => "a call to serve".to_owned(),
        Wait::Room(_) => "room for its one-way calls".to_owned(),
        Wait::Begin => "a thread to execute".to_owned(),
    }
}

impl<S: Compiled, O: Objects> Platform<Code<S>, O> {
    /// The snapshot at an edge. The cycles before the edge are executed.
    pub(in super::super) fn look(&self, edge: u64, now: Time) -> Look {
        let mut look = Look { busy: self.busy_before(edge), ..Look::default() };
        let cycles = |time: Time| self.clock.edge_from(time).min(edge);
        for processor in &self.processors {
            let spent = processor.spent();
            for ((lane, (wait, bank)), spent) in (0..).zip(processor.threads()).zip(spent) {
                let context = Processor::context(processor, lane);
                let since = if wait.is_some() { now.since(context.since) } else { Time::ZERO };
                let is_idle = wait.is_some_and(Wait::is_idle);
                let [mut network, mut idle] = [spent.network, context.idle];
                *(if is_idle { &mut idle } else { &mut network }) += since;
                let address = self.workload.address(bank).unwrap_or_default();
                let access = context.access.filter(|_| wait == Some(Wait::Memory));
                look.threads.push(Hardware {
                    address: self.workload.index(address) as u64,
                    waits_for: wait.map_or_else(String::new, words),
                    is_idle,
                    instructions: spent.instructions,
                    waited: [cycles(network), cycles(idle)],
                    access: access.map(|SharedAccess { access, store, .. }| {
                        (access.address, store != Store::Nothing)
                    }),
                });
            }
        }
        let network = self.network.record(now);
        look.network = ["messages", "bytes", "under_way"].map(|path| count(&network, path));
        look.waiting = self.broker.waiting().map(|(_, calls)| calls as u64).sum();
        let io = self.io.record(now);
        let inside = self.io.outstanding() as u64;
        look.io = [inside, count(&io, "threads_busy")];
        look.done = [self.io.counts().0 - inside, self.io.lost()];
        let memory = |name: &str, record: &Record| Served {
            name: name.to_owned(),
            is_memory: true,
            busy: share(record, "use", edge),
            count: count(record, "reads") + count(record, "writes"),
        };
        look.served.push(memory("shared memory", &self.memory.record(now)));
        if let Some(Value::Record(record)) = io.value("memory") {
            look.served.push(memory("packet memory", record));
        }
        look.served.extend(self.elements.iter().map(|element| {
            let record = element.record(now);
            Served {
                name: element.name().to_owned(),
                is_memory: false,
                busy: share(&record, "use", edge),
                count: count(&record, "calls"),
            }
        }));
        look
    }

    /// The program, as its disassembly with the names of functions.
    pub(in super::super) fn listing(&self, name: &str) -> Listing {
        self.workload.listing(name)
    }

    /// What all threads have done so far at each line of the program, up to a time; `None` if that
    /// is not counted.
    pub(in super::super) fn profile(&self, name: &str, now: Time) -> Option<Profile> {
        let mut profiler = Profiler::default();
        let listing = self.workload.listing(name);
        for processor in &self.processors {
            for counts in processor.profiles(now) {
                profiler.add(&listing, true, counts?);
            }
        }
        Some(profiler.profile())
    }

    /// The first `count` registers of a thread, then the address of its next instruction.
    pub(in super::super) fn registers(&self, thread: u32, count: usize) -> Vec<u32> {
        let processor = &self.processors[(thread / self.threads) as usize];
        let bank = processor.threads().nth((thread % self.threads) as usize);
        let registers = bank.map(|(_, bank)| bank.registers());
        registers.map_or_else(Vec::new, |registers| {
            (0..count).map(|number| registers.register(number)).chain([registers.pc()]).collect()
        })
    }

    /// Words of shared memory.
    pub(in super::super) fn shared(&self, address: u64, count: usize) -> Vec<u32> {
        self.memory.words(address, count)
    }

    /// The packets that were taken after the first `number`, by their numbers among all offered
    /// packets, and how many have been taken in all.
    pub(in super::super) fn taken_since(&self, number: u64) -> (Vec<u64>, u64) {
        (self.io.taken_since(number), self.io.counts().0)
    }
}

impl<S: Compiled> Code<S> {
    /// The index of the instruction at an address.
    fn index(&self, address: u32) -> usize {
        self.text().index(address)
    }

    fn listing(&self, name: &str) -> Listing {
        let instruction = |(index, (address, instruction)): (usize, (u32, &S::Instruction))| {
            let places = self.sources().places(index).to_vec();
            Instruction { text: S::disassemble(S::word(instruction), address), places }
        };
        let functions = self.symbols().functions().iter();
        let labels = functions.filter_map(|function| {
            let index = self.index(function.address);
            let is_here = index < self.text().instructions().count();
            is_here.then(|| (function.name.clone(), index as u64))
        });
        Listing {
            name: name.to_owned(),
            instructions: self.text().instructions().enumerate().map(instruction).collect(),
            labels: labels.collect(),
            sources: self.sources().sources.clone(),
        }
    }
}
