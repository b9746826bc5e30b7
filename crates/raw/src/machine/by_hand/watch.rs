//! The interface of hand-written programs to debuggers and monitors.

use std::collections::VecDeque;

use wireloom_machine::watch::{
    Breakpoint, Event, Goal, Halt, HeldQueue, Listing, Measure, MeasureKind, Memory as Words, Part,
    RegisterValue, Thread, Watched,
};
use wireloom_machine::{Result, Settled, Sink};
use wireloom_net::Frame;

use super::ByHand;
use crate::Chip;
use crate::device::Memory;
use crate::machine::place::Edge;
use crate::machine::watch::{self, Events, List, MEMORY, Observed, PORT_PLACES, Programs};

impl ByHand {
    /// Returns all measures with their current values.
    fn list(&self) -> List {
        use MeasureKind::{Count, Level};
        let (chip, account) = (&self.chip, self.metering.charged());
        let mut list = List::of_chip(&self.spec.name, chip, account, self.left);
        for ((tile, side), spec) in &self.board.memories {
            if let Some(memory) = chip.device_at::<Memory>(*tile, *side) {
                let name = format!("memory {:#x}", spec.base);
                list.memory(name, chip, &[memory.counts()], memory.waiting());
            }
        }
        for (number, card) in self.inputs().enumerate() {
            let part = list.port(format!("input {number}"));
            let waiting = self.waiting[number].len() as u64;
            list.measure(part, "packets", Level { places: PORT_PLACES }, waiting);
            list.measure(part, "words in", Count, card.words);
        }
        for (number, card) in self.outputs().enumerate() {
            let part = list.port(format!("output {number}"));
            list.measure(part, "words out", Count, card.words);
        }
        list.energies(account);
        list
    }
}

impl Observed for ByHand {
    fn chip(&self) -> &Chip {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut Chip {
        &mut self.chip
    }

    fn programs(&self) -> Option<&Programs> {
        Some(&self.programs)
    }

    fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    fn memory_ports(&self) -> Vec<Edge> {
        self.board.memories.iter().map(|(edge, _)| *edge).collect()
    }

    fn simulate(&mut self, cycles: u64) -> Result {
        self.run(cycles)
    }

    fn take_left(&mut self) -> Result<Vec<u64>> {
        self.collect_left()
    }

    fn has_left(&self) -> u64 {
        self.left + self.lines.lost_in_all
    }

    /// Counts packets that the chip has not begun to take. Adds one as long as other packets may
    /// leave: only the program knows their number.
    fn to_come(&self) -> u64 {
        let waiting: usize = self.waiting.iter().map(VecDeque::len).sum();
        (waiting + self.lines.coming.len()) as u64 + u64::from(!self.is_settled)
    }
}

impl Watched for ByHand {
    fn parts(&self) -> Vec<Part> {
        self.list().parts
    }

    fn measures(&self) -> Vec<Measure> {
        self.list().measures
    }

    fn sample(&self, values: &mut Vec<u64>) {
        values.append(&mut self.list().values);
    }

    fn cycle(&self) -> u64 {
        self.chip.cycles()
    }

    fn hertz(&self) -> f64 {
        f64::from(self.spec.chip.clock_mhz) * 1e6
    }

    fn listings(&self) -> Vec<Listing> {
        self.programs.listings.clone()
    }

    fn threads(&self) -> Vec<Thread> {
        watch::threads(&self.chip, Some(&self.programs))
    }

    fn registers(&self, thread: usize) -> Vec<RegisterValue> {
        watch::registers(&self.chip, thread)
    }

    /// Presents all addresses as one memory, as the tiles see it.
    fn memories(&self) -> Vec<Words> {
        vec![Words { name: MEMORY.to_owned(), words: 1, addresses: 1 << 30 }]
    }

    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32> {
        watch::words(&self.chip, address, if memory == 0 { count } else { 0 })
    }

    fn queues(&self) -> Option<Vec<HeldQueue>> {
        Some(watch::held(&self.chip))
    }

    fn signals(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    fn supply(&mut self, frames: &[Frame<'_>]) -> Result {
        frames.iter().try_for_each(|frame| self.accept(frame))
    }

    fn to_come(&self) -> u64 {
        Observed::to_come(self)
    }

    fn is_busy(&self) -> bool {
        Observed::to_come(self) > 0
    }

    fn done(&self) -> u64 {
        Observed::has_left(self)
    }

    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        let halt = watch::go(self, goal, breakpoints);
        self.metering.charge(&self.chip);
        halt
    }

    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled> {
        self.pass_on(sink);
        Ok(Settled::default())
    }

    fn keep_events(&mut self, keep: bool) {
        self.events.keep_from_now(keep);
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.events.take()
    }
}
