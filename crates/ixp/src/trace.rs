//! Traces of commands, as `<cycle, command>` events.

use std::io::{self, Write};

use wireloom_isa::microengine::{Operation, Order, QueueOperation, Unit};

use crate::request::Request;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// An engine issued a command.
    Issue,
    /// A command arrived at its unit.
    Arrive,
    /// A unit began a command.
    Start,
    /// A bus carried words from the engine; the value is the number of words.
    Pull,
    /// A bus carried words to the engine; the value is the number of words.
    Push,
    /// A unit completed a command.
    Done,
    /// A context got a signal; the value is the signal's number.
    Signal,
    /// A context got the engine; the value is a bit mask of the signals that it waited for.
    Run,
}

impl What {
    /// All kinds, with their names.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Issue, "issue"),
        (Self::Arrive, "arrive"),
        (Self::Start, "start"),
        (Self::Pull, "pull"),
        (Self::Push, "push"),
        (Self::Done, "done"),
        (Self::Signal, "signal"),
        (Self::Run, "run"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(what, _)| *what == self).map_or("", |(_, name)| name)
    }
}

/// An event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The cycle of the core clock.
    pub cycle: u64,
    pub what: What,
    pub engine: u8,
    pub context: u8,
    /// A value whose meaning depends on `what`.
    pub value: u32,
    /// The command; `None` if the event concerns no command.
    pub command: Option<Traced>,
}

/// A command of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// A unique number, in the order of issue.
    pub id: u64,
    pub unit: Unit,
    /// The channel of the unit.
    pub channel: u8,
    /// The cluster of the engine.
    pub cluster: u8,
    pub operation: Operation,
    /// The ordering that the command was promised.
    pub order: Order,
    /// The address in granules of the unit.
    pub address: u32,
    /// Words transferred between the unit and the engine.
    pub words: u8,
    /// Granules of the unit that it accesses.
    pub count: u8,
}

impl From<&Request> for Traced {
    fn from(request: &Request) -> Self {
        Self {
            id: request.id,
            unit: request.unit,
            channel: request.channel,
            cluster: request.cluster,
            operation: request.operation,
            order: request.order,
            address: request.address,
            words: request.words_in.max(request.words_out),
            count: request.count,
        }
    }
}

/// The names of units in traces and assertions.
pub const UNITS: [(Unit, &str); 8] = [
    (Unit::Sram, "sram"),
    (Unit::Sdram, "sdram"),
    (Unit::Scratch, "scratch"),
    (Unit::Hash, "hash"),
    (Unit::Fbi, "fbi"),
    (Unit::Msf, "msf"),
    (Unit::Cap, "cap"),
    (Unit::Pci, "pci"),
];

pub fn unit_name(unit: Unit) -> &'static str {
    UNITS.iter().find(|(other, _)| *other == unit).map_or("", |(_, name)| name)
}

pub fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::ReadLock => "read_lock",
        Operation::WriteUnlock => "write_unlock",
        Operation::Unlock => "unlock",
        Operation::Bits(_) => "bit_wr",
        Operation::Push => "push",
        Operation::Pop => "pop",
        Operation::Increment => "incr",
        Operation::Add => "add",
        Operation::TestAndAdd => "test_and_add",
        Operation::Swap => "swap",
        Operation::Get => "get",
        Operation::Put => "put",
        Operation::Queue(QueueOperation::ReadHead) => "rd_qdesc_head",
        Operation::Queue(QueueOperation::ReadTail) => "rd_qdesc_tail",
        Operation::Queue(QueueOperation::ReadOther) => "rd_qdesc_other",
        Operation::Queue(QueueOperation::Write) => "wr_qdesc",
        Operation::Queue(QueueOperation::WriteCount) => "wr_qdesc_count",
        Operation::Queue(QueueOperation::Enqueue) => "enqueue",
        Operation::Queue(QueueOperation::Dequeue) => "dequeue",
        Operation::Hash { .. } => "hash",
        Operation::ReceiveFifoRead => "r_fifo_rd",
        Operation::TransmitFifoWrite => "t_fifo_wr",
        Operation::CsrRead => "csr_rd",
        Operation::CsrWrite => "csr_wr",
        Operation::FastWrite => "fast_wr",
        Operation::Dma => "dma",
    }
}

pub fn order_name(order: Order) -> &'static str {
    match order {
        Order::Default => "default",
        Order::Optimize => "optimize",
        Order::Ordered => "ordered",
        Order::Priority => "priority",
    }
}

/// A trace that keeps events up to a maximum number, if it is on.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    events: Vec<Event>,
    most: usize,
    omitted: u64,
}

impl Trace {
    /// Creates a trace that keeps nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Creates a trace of at most `most` events. Later events are omitted.
    pub fn of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.most > 0
    }

    /// Adds an event.
    pub fn add(&mut self, event: Event) {
        if self.events.len() < self.most {
            self.events.push(event);
        } else {
            self.omitted += 1;
        }
    }

    /// The events, oldest first.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Takes the events, which makes room for new ones.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The number of events that found no room.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

impl wireloom_machine::Events for Trace {
    fn write_csv(&self, to: &mut dyn Write) -> io::Result<()> {
        writeln!(to, "cycle,event,engine,context,value,id,unit,operation,order,address,words")?;
        for event in &self.events {
            let Event { cycle, what, engine, context, value, command } = event;
            let name = what.name();
            write!(to, "{cycle},{name},{engine},{context},{value},")?;
            match command {
                None => writeln!(to, ",,,,,"),
                Some(Traced { id, unit, operation, order, address, words, .. }) => writeln!(
                    to,
                    "{id},{},{},{},{address},{words}",
                    unit_name(*unit),
                    operation_name(*operation),
                    order_name(*order)
                ),
            }?;
        }
        Ok(())
    }

    fn left_out(&self) -> u64 {
        self.omitted
    }
}
