//! Engine time, and the timers of an engine.
//!
//! Engine time is the latest arrival time of a packet, or the time of a tick with timers. Before a
//! packet that arrives at a tick or later, the timers that are due at the tick run, in the order of
//! their offloads and then of their keys. A machine therefore executes all packets before the next
//! tick together, and then asks which timers are due.

use std::convert::Infallible;

use wireloom_bits::Bits;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Config, Content, Store, TIMER};

use crate::{Engine, OffloadTarget, Program};

/// The sequence numbers of timers: this number and more. Packets have smaller ones.
pub const TIMERS: u64 = 1 << 63;

/// The number of ticks with timers between two packets, or between a packet and a time that the
/// machine advances to. All times that are over after them run at once. Without this limit, a timer
/// that sets itself again would run for hours if the time stamps of a capture are years apart.
pub const MOST_TICKS: u32 = 1 << 20;

/// Engine time, and the timers of the main engine.
#[derive(Clone, Debug)]
pub struct Clock {
    now_ns: u64,
    /// The number of ticks with timers since the last packet.
    ticks: u32,
    /// The index and the tick of each offload that has a step.
    timed: Vec<(usize, u64)>,
    /// The ticks of all offloads that have one.
    ticks_of_all: Vec<u64>,
    /// The number of timers that have run.
    run: u64,
}

/// Where a machine keeps the times of the main engine's offloads, by the offloads' indices.
pub trait Times {
    /// The reason why the machine fails.
    type Error;

    /// Returns a time before which no key of an offload is due, in nanoseconds; `None` if no key
    /// is.
    ///
    /// # Errors
    /// If the machine fails.
    fn next(&mut self, offload: usize) -> Result<Option<u64>, Self::Error>;

    /// Passes the keys of an offload that are due at a time to `visit`, in the order of their bits.
    ///
    /// # Errors
    /// If the machine fails.
    fn due(
        &mut self,
        offload: usize,
        now_ns: u64,
        visit: &mut dyn FnMut(&Bits),
    ) -> Result<(), Self::Error>;
}

impl Times for Store {
    type Error = Infallible;

    fn next(&mut self, offload: usize) -> Result<Option<u64>, Infallible> {
        Ok(next_in(self, offload))
    }

    fn due(
        &mut self,
        offload: usize,
        now_ns: u64,
        visit: &mut dyn FnMut(&Bits),
    ) -> Result<(), Infallible> {
        if let Content::Kind { instance, .. } = &mut self.slots[offload].content {
            instance.due(now_ns, visit);
        }
        Ok(())
    }
}

fn next_in(store: &Store, offload: usize) -> Option<u64> {
    match &store.slots[offload].content {
        Content::Kind { instance, .. } => instance.next_due(),
        Content::Engine(_) => None,
    }
}

/// The packets of the timers that run at one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The sequence number of the first.
    pub first: u64,
    now_ns: u64,
    /// The bytes of all packets, in order.
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
}

impl Due {
    /// Returns the number of packets.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the packets in their order.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let begins = std::iter::once(&0).chain(&self.ends);
        begins.zip(&self.ends).map(|(begin, end)| Frame {
            ingress: TIMER,
            arrival_ns: self.now_ns,
            bytes: &self.bytes[*begin..*end],
        })
    }

    /// Returns the packets in their order.
    pub fn packets(&self) -> Vec<Packet> {
        self.frames().map(|frame| frame.to_packet()).collect()
    }

    /// Adds the packet of a key of the timers with this number.
    fn push(&mut self, number: u16, key: &Bits) {
        self.bytes.extend(number.to_be_bytes());
        let padding = key.width().next_multiple_of(8);
        let padded = key.resize(padding).shl(padding - key.width());
        let bytes = (0..padding / 8).rev();
        self.bytes.extend(bytes.map(|at| (padded.word(at as usize / 8) >> (8 * (at % 8))) as u8));
        self.ends.push(self.bytes.len());
    }
}

impl Clock {
    /// Returns the clock of a program; `None` if none of its times end at ticks.
    pub fn of(program: &Program) -> Option<Self> {
        fn kinds(engine: &Engine) -> impl Iterator<Item = (usize, &Config)> {
            engine.offloads.iter().enumerate().filter_map(|(index, offload)| {
                match &offload.target {
                    OffloadTarget::Kind(config) => Some((index, config)),
                    OffloadTarget::Engine(_) => None,
                }
            })
        }
        let tick = |config: &Config| config.param("tick").low_u64();
        let all = program.engines.iter().flat_map(kinds);
        let all = all.filter(|(_, config)| config.has_ticks());
        let ticks_of_all: Vec<u64> = all.map(|(_, config)| tick(config)).collect();
        let has_ticks = !ticks_of_all.is_empty();
        let timed = kinds(&program.engines[program.main.index()])
            .filter(|(_, config)| config.has_step())
            .map(|(index, config)| (index, tick(config)))
            .collect();
        has_ticks.then_some(Self { now_ns: 0, ticks: 0, timed, ticks_of_all, run: 0 })
    }

    /// Advances to the arrival of a packet, and returns engine time.
    pub fn arrive(&mut self, arrival_ns: u64) -> u64 {
        self.ticks = 0;
        self.advance(arrival_ns)
    }

    /// Returns engine time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance(&mut self, time_ns: u64) -> u64 {
        self.now_ns = self.now_ns.max(time_ns);
        self.now_ns
    }

    /// Returns the time of the next tick after engine time, in nanoseconds: packets that arrive
    /// before it set no timer that runs before them.
    pub fn next_tick(&self) -> u64 {
        self.timed.iter().map(|(_, tick)| self.tick_after(*tick)).min().unwrap_or(u64::MAX)
    }

    /// Returns the time of the next tick after engine time of any offload, in nanoseconds: between
    /// packets that arrive before it, no entry expires.
    pub fn next_tick_of_all(&self) -> u64 {
        let next = self.ticks_of_all.iter().map(|tick| self.tick_after(*tick));
        next.min().unwrap_or(u64::MAX)
    }

    /// Returns the time of the last tick of any offload, in nanoseconds, which is not after engine
    /// time.
    pub fn last_tick(&self) -> u64 {
        let last = self.ticks_of_all.iter().map(|tick| self.now_ns / tick * tick);
        last.max().unwrap_or_default()
    }

    fn tick_after(&self, tick: u64) -> u64 {
        (self.now_ns / tick).saturating_add(1).saturating_mul(tick)
    }

    /// Returns a time before which no timer is due, in nanoseconds; `None` if no timer is set.
    pub fn next_timer(&self, store: &Store) -> Option<u64> {
        self.timed.iter().filter_map(|(offload, _)| next_in(store, *offload)).min()
    }

    /// Returns the same as [`next_timer`](Self::next_timer) for a machine that keeps the times
    /// elsewhere.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn next_of<T: Times>(&self, times: &mut T) -> Result<Option<u64>, T::Error> {
        let mut first = None;
        for (offload, _) in &self.timed {
            let next = times.next(*offload)?;
            first = [first, next].into_iter().flatten().min();
        }
        Ok(first)
    }

    /// Returns the packets of the next timers that are due by a time, and advances to their tick.
    /// `None` if no timer is due by then. The caller executes the packets before it asks again.
    pub fn due(&mut self, store: &mut Store, by_ns: u64) -> Option<Due> {
        let Ok(due) = self.due_of(store, by_ns);
        due
    }

    /// Returns the same as [`due`](Self::due) for a machine that keeps the times elsewhere.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn due_of<T: Times>(&mut self, times: &mut T, by_ns: u64) -> Result<Option<Due>, T::Error> {
        loop {
            let next = self.next_of(times)?;
            let Some(next) = next.filter(|next| *next <= by_ns) else { return Ok(None) };
            let now_ns = self.advance(if self.ticks < MOST_TICKS { next } else { by_ns });
            let mut due = Due { now_ns, ..Due::default() };
            for (number, (offload, _)) in (0u16..).zip(&self.timed) {
                times.due(*offload, now_ns, &mut |key| due.push(number, key))?;
            }
            if due.count() > 0 {
                due.first = TIMERS | self.run;
                self.run += due.count() as u64;
                self.ticks += 1;
                return Ok(Some(due));
            }
        }
    }
}
