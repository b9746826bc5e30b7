//! Engine time, and the packets with which the steps of timers begin.
//!
//! The line pauses before a packet that arrives at a tick or later ([`Pauses`]). When all packets
//! before it have left, the machine removes the entries that have ended from memory, and lets the
//! packets of the timers that are due enter at one card, one tick after the other.

use wireloom_codegen_tile as tile;
use wireloom_ir::TIMERS;
use wireloom_machine::{Pauses, Result, Settled, Sink};

use super::lines::Coming;
use super::{Raw, STEP};
use crate::Chip;

/// The memory of a chip without packets, with the caches of its tiles.
struct Empty<'a> {
    chip: &'a mut Chip,
}

impl tile::ChipMemory for Empty<'_> {
    fn get(&self, address: u32) -> u32 {
        self.chip.word(address).unwrap_or_default()
    }

    fn set(&mut self, address: u32, word: u32) {
        self.chip.set_word(address, word);
    }
}

impl Raw {
    /// Returns the number of packets that wait for a tick.
    pub(super) fn held(&self) -> u64 {
        self.pauses.as_ref().map_or(0, Pauses::held)
    }

    /// Returns the sequence number of the packet that enters next, for programs that use it. A state
    /// owner needs consecutive numbers.
    pub(super) fn sequence(&self, number: u64) -> u64 {
        match number {
            TIMERS.. if self.spec.mapping.state_owner.is_none() => number,
            _ if self.spec.mapping.state_owner.is_none() => self.accepted - self.of_timers,
            _ => self.accepted,
        }
    }

    /// Lets packets come that need not wait for a tick.
    pub(super) fn go_on(&mut self) {
        // All packets come in the order in which they were offered.
        while let Some((number, packet)) =
            self.pauses.as_mut().and_then(|pauses| pauses.pass(u64::MAX))
        {
            self.come(number, &packet.frame());
        }
    }

    /// Simulates until no packet waits for a tick.
    pub(super) fn work_off(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = Settled::default();
        while self.held() > 0 {
            settled.extend(&self.drain(sink)?);
            self.proceed();
        }
        Ok(settled)
    }

    /// Simulates until all packets in front of the chip and in it have left.
    fn drain(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = Settled::default();
        while self.inside() > 0 {
            let step = self.step();
            self.run(step)?;
            self.collect()?;
            settled.extend(&self.pass_on(sink));
        }
        // Tiles finish their last stores.
        self.run(STEP)?;
        Ok(settled)
    }

    /// Goes on after a pause: lets the packets of timers enter that are due, or the packets that
    /// waited. No packet is inside. Returns whether any came.
    pub(super) fn proceed(&mut self) -> bool {
        let Some(first_ns) = self.pauses.as_ref().and_then(Pauses::next_arrival) else {
            return false;
        };
        if self.run_timers(first_ns) {
            return true;
        }
        self.advance_engine_time(first_ns);
        if let Some((number, packet)) = self.pauses.as_mut().and_then(Pauses::take) {
            self.come(number, &packet.frame());
        }
        self.go_on();
        true
    }

    /// Lets the packets of the next timers enter that are due by a time. Returns whether there are
    /// any.
    fn run_timers(&mut self, by_ns: u64) -> bool {
        if self.next_due().is_none_or(|next| next > by_ns) {
            return false;
        }
        let Some(pauses) = &mut self.pauses else { return false };
        let memory = self.chip.memory();
        let mut word = |address| memory.word(address).unwrap_or_default();
        tile::read_back(&self.compiled.places, &mut self.store, &mut word);
        let Some(due) = pauses.due(&mut self.store, self.engine_ns, by_ns) else { return false };
        self.pass_tick();
        for (frame, number) in due.frames().zip(due.first..) {
            let card = usize::from(frame.ingress) % self.placement.cards.len();
            self.enter(&Coming {
                at: self.lines.last,
                number,
                card,
                arrival_ns: frame.arrival_ns,
                ingress: frame.ingress,
                bytes: frame.bytes.to_vec(),
            });
            self.of_timers += 1;
        }
        true
    }

    /// Runs the timers that are due by a time, and advances engine time to it.
    pub(super) fn run_timers_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = self.work_off(sink)?;
        settled.extend(&self.drain(sink)?);
        while self.run_timers(time_ns) {
            settled.extend(&self.drain(sink)?);
        }
        self.advance_engine_time(time_ns);
        if self.pauses.is_some() {
            self.engine_ns = self.engine_ns.max(time_ns);
        }
        Ok(settled)
    }

    /// Advances engine time, on an empty chip.
    pub(super) fn advance_engine_time(&mut self, time_ns: u64) {
        if let Some(pauses) = &mut self.pauses {
            pauses.arrive(time_ns.max(self.engine_ns));
            self.pass_tick();
        }
    }

    fn pass_tick(&mut self) {
        let Some(pauses) = &self.pauses else { return };
        let mut memory = Empty { chip: &mut self.chip };
        tile::pass_tick(&self.compiled.places, &self.store, pauses.now_ns(), &mut memory);
    }

    /// Returns when the next time ends for which a step runs, in nanoseconds.
    pub(super) fn next_due(&self) -> Option<u64> {
        let memory = self.chip.memory();
        let mut word = |address| memory.word(address).unwrap_or_default();
        tile::next_due(&self.compiled.places, &self.store, &mut word)
    }
}
