//! Stops runs at breakpoints and goals.

use std::ops::ControlFlow;

use wireloom_isa::microengine::{Operation, Unit};
use wireloom_machine::watch::{Access, Breakpoint, Goal, Halt, Why};
use wireloom_sim::{EnergySink, Kernel, Observer};

use super::{contexts, thread};
use crate::chip::{Chip, Event};
use crate::processor::Processor;
use crate::trace::{Traced, What};

/// The position of an engine: the running context, the engine's instruction count, and the
/// context's address.
type Place = (Option<u8>, u64, u16);

/// The observer of a run.
pub struct Watch<'a> {
    breakpoints: &'a [Breakpoint],
    goal: Goal,
    /// The index of each engine's listing.
    programs: &'a [Option<usize>],
    contexts: usize,
    places: Vec<Place>,
    instructions: u64,
    /// The number of traced events that were checked.
    seen: usize,
    /// The packets that the machine had begun to take, and the packets that had left.
    taken: usize,
    done: u64,
    /// Packets that were lost before the chip's lists began.
    before: u64,
}

impl<'a> Watch<'a> {
    /// Starts to watch. `done` is the number of packets that have left or were lost so far.
    pub fn new<E: EnergySink>(
        processor: &Processor<E>,
        goal: Goal,
        breakpoints: &'a [Breakpoint],
        programs: &'a [Option<usize>],
        done: u64,
    ) -> Self {
        let cards = &processor.chip.cards;
        Self {
            breakpoints,
            goal,
            programs,
            contexts: contexts(processor),
            places: (0..programs.len()).map(|engine| place(&processor.chip, engine)).collect(),
            instructions: 0,
            seen: processor.chip.trace.events().len(),
            taken: cards.accepted.len(),
            done,
            before: done - cards.left - cards.lost.len() as u64,
        }
    }

    /// Notes that the trace starts from empty.
    pub fn begin_trace(&mut self) {
        self.seen = 0;
    }

    fn engine<E>(&mut self, number: usize, chip: &Chip<E>) -> ControlFlow<Halt>
    where
        E: EnergySink,
    {
        let now = place(chip, number);
        let before = std::mem::replace(&mut self.places[number], now);
        if now == before {
            return ControlFlow::Continue(());
        }
        if let Goal::Instructions { thread: wanted, count, .. } = self.goal
            && now.1 > before.1
            && let Some(ran) = before.0
        {
            let ran = thread(self.contexts, number, ran);
            if wanted.is_none_or(|wanted| wanted == ran) {
                self.instructions += 1;
                if self.instructions >= count {
                    return ControlFlow::Break(Halt { why: Why::Goal, thread: Some(ran) });
                }
            }
        }
        let (Some(context), _, address) = now else { return ControlFlow::Continue(()) };
        let running = thread(self.contexts, number, context);
        for (place, breakpoint) in self.breakpoints.iter().enumerate() {
            if let Breakpoint::Instruction { listing, addresses, thread } = breakpoint
                && self.programs[number] == Some(*listing)
                && addresses.contains(&u64::from(address))
                && thread.is_none_or(|thread| thread == running)
            {
                let why = Why::Breakpoint(place);
                return ControlFlow::Break(Halt { why, thread: Some(running) });
            }
        }
        ControlFlow::Continue(())
    }

    /// Checks the trace and the line cards for breakpoints and goals.
    fn check<E: EnergySink>(&mut self, chip: &Chip<E>) -> ControlFlow<Halt> {
        let events = chip.trace.events();
        let seen = std::mem::replace(&mut self.seen, events.len());
        for event in &events[seen..] {
            let about = thread(self.contexts, event.engine.into(), event.context);
            let hit = |breakpoint: &Breakpoint| match breakpoint {
                Breakpoint::Signal { signal, thread } => {
                    event.what == What::Signal
                        && signal.is_none_or(|signal| signal == event.value)
                        && thread.is_none_or(|thread| thread == about)
                }
                Breakpoint::Memory { memory, first, last, access } => {
                    event.what == What::Start
                        && event.command.is_some_and(|command| {
                            touches(&command, *memory, (*first, *last), *access)
                        })
                }
                _ => false,
            };
            if let Some(place) = self.breakpoints.iter().position(hit) {
                return ControlFlow::Break(Halt {
                    why: Why::Breakpoint(place),
                    thread: Some(about),
                });
            }
        }
        let taken = &chip.cards.accepted;
        if taken.len() > self.taken {
            let new = &taken[self.taken..];
            self.taken = taken.len();
            let hit = |breakpoint: &Breakpoint| matches!(breakpoint, Breakpoint::Packet(number) if new.contains(number));
            if let Some(place) = self.breakpoints.iter().position(hit) {
                return ControlFlow::Break(Halt { why: Why::Breakpoint(place), thread: None });
            }
        }
        if matches!(self.goal, Goal::Arrival { .. }) && chip.cards.is_inside() {
            return ControlFlow::Break(Halt { why: Why::Goal, thread: None });
        }
        if let Goal::Packets { count, .. } = self.goal
            && self.before + chip.cards.left + chip.cards.lost.len() as u64 >= self.done + count
        {
            return ControlFlow::Break(Halt { why: Why::Goal, thread: None });
        }
        ControlFlow::Continue(())
    }
}

impl<E: EnergySink> Observer<Chip<E>> for Watch<'_> {
    type Break = Halt;

    fn has_arrived(&mut self, chip: &Chip<E>, _: &Kernel<Event>) -> ControlFlow<Halt> {
        self.check(chip)
    }

    fn has_cycled(
        &mut self,
        unit: wireloom_sim::Unit,
        chip: &Chip<E>,
        _: &Kernel<Event>,
    ) -> ControlFlow<Halt> {
        if unit.0 > 0 {
            self.engine(unit.0 as usize - 1, chip)?;
        }
        self.check(chip)
    }
}

fn place<E: EnergySink>(chip: &Chip<E>, engine: usize) -> Place {
    let engine = &chip.engines[engine];
    match engine.active() {
        None => (None, engine.used.busy, 0),
        Some(context) => {
            (Some(context), engine.used.busy, engine.contexts()[usize::from(context)].pc)
        }
    }
}

/// Whether a command accesses an address range of a memory in this way.
fn touches(command: &Traced, memory: usize, (first, last): (u64, u64), access: Access) -> bool {
    let number = match command.unit {
        Unit::Sram => 0,
        Unit::Sdram => 1,
        Unit::Scratch => 2,
        _ => return false,
    };
    let from = u64::from(command.address);
    let to = from + u64::from(command.count.max(1)) - 1;
    let (reads, writes) = match command.operation {
        Operation::Read | Operation::ReadLock | Operation::TransmitFifoWrite => (true, false),
        Operation::Write | Operation::WriteUnlock | Operation::ReceiveFifoRead => (false, true),
        Operation::Bits(_)
        | Operation::Increment
        | Operation::Add
        | Operation::TestAndAdd
        | Operation::Swap => (true, true),
        _ => return false,
    };
    let is_wanted = match access {
        Access::Read => reads,
        Access::Write => writes,
        Access::Any => true,
    };
    number == memory && is_wanted && from <= last && first <= to
}
