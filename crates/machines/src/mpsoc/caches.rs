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
        })
    }

    /// A thread (its number within the processor) reads at an address; if the line is not there, it is noted as waiting for it.
    pub(super) fn read(&mut self, which: Which, address: u32, thread: u32) -> Lookup {
        let cache = match which {
            Which::Instruction => &mut self.instruction,
            Which::Data => &mut self.data,
        };
        let mask = cache.spec().line_bytes as u32 - 1;
        let line = Line { address: address & !mask, cache: which };
        if let Some((_, waiting)) = self.coming.iter_mut().find(|(coming, _)| *coming == line) {
            *waiting |= 1 << thread;
            return Lookup::Coming;
        }
        if cache.access(u64::from(address), Use::Read).hit {
            return Lookup::Hit;
        }
        self.coming.push((line, 1 << thread));
        Lookup::Missing(line)
    }

    /// A thread reads a line if that is at hand, which it nearly always is: the one of its set that was used last, and nothing is on its way. Answers whether
    /// it was.
    #[inline]
    pub(super) fn read_again(&mut self, which: Which, line: u32) -> bool {
        let cache = match which {
            Which::Instruction => &mut self.instruction,
            Which::Data => &mut self.data,
        };
        self.coming.is_empty() && cache.read_again(u64::from(line))
    }

    /// A line has come: the threads that wait for it.
    pub(super) fn fill(&mut self, line: Line) -> u32 {
        let place = self.coming.iter().position(|(coming, _)| *coming == line);
        place.map_or(0, |place| self.coming.swap_remove(place).1)
    }

    /// The length of a line in bytes.
    pub(super) fn line_bytes(&self, which: Which) -> u32 {
        let cache = if which == Which::Data { &self.data } else { &self.instruction };
        cache.spec().line_bytes as u32
    }

    /// Of both.
    pub(super) fn record(&self) -> Record {
        Record::new().with("instruction", self.instruction.record()).with("data", self.data.record())
    }
}
