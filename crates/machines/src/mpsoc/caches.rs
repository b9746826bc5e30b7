//! The caches of a processor, which its threads share, and the lines that are on their way into them.

use wireloom_sim::parts::cache::{Cache, Use};
use wireloom_sim::stats::Record;
use wireloom_sim::{Chance, SpecError};

use super::parcel::{Line, Which};
use super::spec::ProcessorSpec;

/// Both caches. They hold what no program changes: the contents are those of memory.
#[derive(Clone, Debug)]
pub struct Caches {
    instruction: Cache,
    data: Cache,
    /// Lines that were asked for, each with a bit for every thread that waits for it.
    coming: Vec<(Line, u32)>,
    /// How often lines have come to be at hand, or not any more.
    changes: u64,
}

/// What a cache answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// It is there.
    Hit,
    /// Somebody has asked for it already.
    Coming,
    /// It must be asked for.
    Missing(Line),
}

impl Caches {
    pub(super) fn new(spec: &ProcessorSpec, seed: u64, number: u32) -> Result<Self, SpecError> {
        let chance = |name: &str| Chance::new(seed, &format!("processor {number}, {name} cache"));
        let error = |table: &'static str| move |error: SpecError| error.within(table);
        Ok(Self {
            instruction: Cache::new(spec.instruction_cache, chance("instruction"))
                .map_err(error("processor.instruction_cache"))?,
            data: Cache::new(spec.data_cache, chance("data")).map_err(error("processor.data_cache"))?,
            coming: Vec::new(),
            changes: 0,
        })
    }

    /// A thread (its number within the processor) reads at an address, at an edge; if the line is not there, it is noted as waiting for it, and a line that is missing
    /// is to be [`put`](Self::put) in.
    pub(super) fn read(&mut self, which: Which, address: u32, thread: u32, edge: u64) -> Lookup {
        if let Some(place) = self.at_hand(which, address) {
            self.read_at_hand(which, place, edge);
            return Lookup::Hit;
        }
        let line = self.line(which, address);
        if let Some((_, waiting)) = self.coming.iter_mut().find(|(coming, _)| *coming == line) {
            *waiting |= 1 << thread;
            return Lookup::Coming;
        }
        self.coming.push((line, 1 << thread));
        Lookup::Missing(line)
    }

    /// The place of the line of an address, if it is at hand: it is there and not only on its way. Reading it changes nothing but when it was used last.
    #[inline(always)]
    pub(super) fn at_hand(&self, which: Which, address: u32) -> Option<u32> {
        let place = self.cache(which).place(u64::from(address))?;
        (self.coming.is_empty() || !self.is_coming(self.line(which, address))).then_some(place)
    }

    fn is_coming(&self, line: Line) -> bool {
        self.coming.iter().any(|(coming, _)| *coming == line)
    }

    /// The line of an address.
    fn line(&self, which: Which, address: u32) -> Line {
        Line { address: address & !(self.line_bytes(which) - 1), cache: which }
    }

    /// A thread reads the line of a place, which is at hand, at an edge.
    #[inline(always)]
    pub(super) fn read_at_hand(&mut self, which: Which, place: u32, edge: u64) {
        self.cache_mut(which).read_at(place, edge);
    }

    /// A line that was found missing at an edge takes the place of another one, once all is told that was read before.
    pub(super) fn put(&mut self, line: Line, edge: u64) {
        self.changes += 1;
        self.cache_mut(line.cache).access(u64::from(line.address), Use::Read, edge);
    }

    /// As long as this is what it was, lines that were at hand are.
    #[inline(always)]
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    #[inline(always)]
    fn cache(&self, which: Which) -> &Cache {
        match which {
            Which::Instruction => &self.instruction,
            Which::Data => &self.data,
        }
    }

    #[inline(always)]
    fn cache_mut(&mut self, which: Which) -> &mut Cache {
        match which {
            Which::Instruction => &mut self.instruction,
            Which::Data => &mut self.data,
        }
    }

    /// A line has come: the threads that wait for it.
    pub(super) fn fill(&mut self, line: Line) -> u32 {
        self.changes += 1;
        let place = self.coming.iter().position(|(coming, _)| *coming == line);
        place.map_or(0, |place| self.coming.swap_remove(place).1)
    }

    /// The length of a line in bytes.
    pub(super) fn line_bytes(&self, which: Which) -> u32 {
        self.cache(which).spec().line_bytes as u32
    }

    /// Of both.
    pub(super) fn record(&self) -> Record {
        Record::new().with("instruction", self.instruction.record()).with("data", self.data.record())
    }
}
