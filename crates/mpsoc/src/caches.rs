//! The caches of a processor, shared by its threads, with the cache lines that are in flight.

use wireloom_sim::parts::cache::{Cache, Use};
use wireloom_sim::stats::Record;
use wireloom_sim::{Rng, SpecError};

use super::mpe::LOCAL_STORE;
use super::noc_payload::{Line, Which};
use super::spec::ProcessorSpec;

/// The instruction cache and the data cache. They hold read-only data, so their contents equal
/// memory.
#[derive(Clone, Debug)]
pub struct Caches {
    instruction: Cache,
    data: Cache,
    /// Requested lines, each with a bit mask of the threads that wait for it.
    coming: Vec<(Line, u32)>,
    /// A counter of changes to the set of available lines.
    changes: u64,
}

/// The result of a cache lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The line is in the cache.
    Hit,
    /// The line is already requested.
    Coming,
    /// The line must be requested.
    Missing(Line),
}

impl Caches {
    pub(super) fn new(spec: &ProcessorSpec, seed: u64, number: u32) -> Result<Self, SpecError> {
        let rng = |name: &str| Rng::new(seed, &format!("processor {number}, {name} cache"));
        let error = |table: &'static str| move |error: SpecError| error.within(table);
        Ok(Self {
            instruction: Cache::new(spec.instruction_cache, rng("instruction"))
                .map_err(error("processor.instruction_cache"))?,
            data: Cache::new(spec.data_cache, rng("data"))
                .map_err(error("processor.data_cache"))?,
            coming: Vec::new(),
            changes: 0,
        })
    }

    /// Looks up an address for a thread (numbered within the processor) at an edge. On a miss the
    /// thread is recorded as a waiter, and the caller must [`put`](Self::put) a missing line.
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

    /// The place of the line of an address, if the line is available: present and not in flight.
    /// The lookup changes nothing; only [`read_at_hand`](Self::read_at_hand) updates the time of
    /// last use.
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

    /// Records a read of the available line at a place, at an edge.
    #[inline(always)]
    pub(super) fn read_at_hand(&mut self, which: Which, place: u32, edge: u64) {
        self.cache_mut(which).read_at(place, edge);
    }

    /// Allocates a line that missed at an edge, which evicts another one. All earlier reads must
    /// have been recorded.
    pub(super) fn put(&mut self, line: Line, edge: u64) {
        self.changes += 1;
        self.cache_mut(line.cache).access(u64::from(line.address), Use::Read, edge);
    }

    /// Allocates the absent lines among the lines that the cache prefetches after a missing one,
    /// and adds them to `requested`. Hardware does not know where a program ends, so lines after
    /// its end are fetched too, but none past the addresses that the caches serve.
    pub(super) fn put_ahead(&mut self, line: Line, edge: u64, requested: &mut Vec<Line>) {
        let bytes = self.line_bytes(line.cache);
        let count = self.cache(line.cache).spec().prefetch_lines as u32;
        let behind = (1..=count).map(|number| line.address + number * bytes);
        for address in behind.take_while(|address| *address < LOCAL_STORE) {
            let next = Line { address, cache: line.cache };
            if self.cache(line.cache).place(u64::from(address)).is_none() && !self.is_coming(next) {
                self.cache_mut(line.cache).prefetch(u64::from(address), edge);
                self.coming.push((next, 0));
                requested.push(next);
            }
        }
    }

    /// A counter: while it is unchanged, available lines stay available.
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

    /// Handles the arrival of a line; returns the threads that wait for it.
    pub(super) fn fill(&mut self, line: Line) -> u32 {
        self.changes += 1;
        let place = self.coming.iter().position(|(coming, _)| *coming == line);
        place.map_or(0, |place| self.coming.swap_remove(place).1)
    }

    /// The length of a line in bytes.
    pub(super) fn line_bytes(&self, which: Which) -> u32 {
        self.cache(which).spec().line_bytes as u32
    }

    /// The numbers of reads and fetched lines of the instruction cache, then of the data cache.
    pub(super) fn lines(&self) -> [[u64; 2]; 2] {
        [&self.instruction, &self.data].map(Cache::reads_and_fetches)
    }

    /// Restricts the statistics to the time from now on.
    pub(super) fn begin_to_count(&mut self) {
        self.instruction.begin_to_count();
        self.data.begin_to_count();
    }

    /// Statistics of both caches.
    pub(super) fn record(&self) -> Record {
        Record::new()
            .with("instruction", self.instruction.record())
            .with("data", self.data.record())
    }
}
