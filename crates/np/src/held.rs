//! Packets that wait for a tick, and the timers that run there.
//!
//! The line pauses before a packet that arrives at a tick or later. When all packets before it have
//! left, the control plane looks for the keys whose times are over. The packets of their steps come
//! onto the line, one tick after the other, and then the packet. A processor outside a simulation
//! needs somebody who does the same (docs/machines/np.md, "Timers").

use std::collections::VecDeque;

use wireloom_bits::Bits;
use wireloom_ir::{Program, Timers, Times};
use wireloom_net::{Frame, Packet};

use crate::control::{ControlError, ControlPlane};
use crate::processor::Processor;
use crate::simulation::{Execution, Resolved, Simulation, Update};

/// The packets that wait for a tick, and the timers of a program.
pub(crate) struct Held {
    timers: Timers,
    packets: VecDeque<Packet>,
    /// The number of packets given to the line, excluding those of timers.
    passed: u64,
    /// The number of packets that have left or were lost, including those of timers.
    gone: u64,
    /// The latest arrival time of a packet that was not lost and has left, or the time of a tick.
    engine_ns: u64,
    /// A time before which no timer is due, as of the last time that the line was empty.
    next_ns: Option<u64>,
    /// The updates whose packets have not come onto the line, in order.
    updates: VecDeque<Update>,
    /// The packet that is followed.
    follows: Option<u64>,
}

impl Held {
    /// Returns the timers of a program; `None` if none of its times end at ticks.
    pub fn of(program: &Program) -> Option<Self> {
        Some(Self {
            timers: Timers::of(program)?,
            packets: VecDeque::new(),
            passed: 0,
            gone: 0,
            engine_ns: 0,
            next_ns: None,
            updates: VecDeque::new(),
            follows: None,
        })
    }

    /// Returns a time before which no timer is due, in nanoseconds, if the line is empty.
    pub fn next_timer(&self) -> Option<u64> {
        self.next_ns
    }

    /// Schedules an update before a packet, which is counted without timers.
    pub fn schedule(&mut self, update: Update) {
        self.updates.push_back(update);
    }

    /// Follows a packet, which is counted without timers. It must not have been offered.
    pub fn follow(&mut self, packet: u64) {
        self.follows = Some(packet);
    }

    /// Passes on a packet that is complete, with its number among the offered ones or among the
    /// timers.
    fn settle(&mut self, mut resolved: Resolved, sink: &mut dyn FnMut(Resolved)) {
        if resolved.left.is_some() {
            self.engine_ns = self.engine_ns.max(resolved.arrival_ns);
        }
        resolved.number = self.timers.sequence(resolved.number);
        self.gone += 1;
        sink(resolved);
    }
}

/// A line with timers: the machine, and the packets that wait for a tick.
pub(crate) struct TimedLine<'a> {
    pub held: &'a mut Held,
    pub processor: &'a Processor,
    pub execution: &'a mut Execution,
    pub sink: &'a mut dyn FnMut(Resolved),
}

impl TimedLine<'_> {
    /// Accepts packets, and runs until few of them wait at the input; if timers may have run, until
    /// all have left, so that a caller learns of a timer together with the packet after it.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn offer(&mut self, frames: &[Frame<'_>]) -> Result<(), ControlError> {
        self.held.packets.extend(frames.iter().map(Frame::to_packet));
        self.pass_on(0)?;
        let is_at_tick = !self.held.packets.is_empty();
        while let Some(first) = self.held.packets.front() {
            let arrival_ns = first.arrival_ns;
            self.drain()?;
            self.held.timers.advance(self.held.engine_ns);
            self.run_timers(arrival_ns)?;
            // The input buffer is empty, so this packet will not be lost.
            self.held.timers.advance(arrival_ns);
            self.pass_on(1)?;
        }
        if is_at_tick { self.drain() } else { Ok(()) }
    }

    /// Gives the line the packets that arrive before the next tick, and at least this number: no
    /// tick comes after the end of time.
    fn pass_on(&mut self, least: usize) -> Result<(), ControlError> {
        let held = &mut *self.held;
        let at_tick = held.packets.iter().position(|packet| held.timers.delays(packet));
        let count = at_tick.unwrap_or(held.packets.len()).max(least);
        if count == 0 {
            return Ok(());
        }
        let packets: Vec<Packet> = held.packets.drain(..count).collect();
        let (first, line) = (held.passed, held.passed + held.timers.run());
        held.passed += count as u64;
        held.timers.pass(line, first);
        let on_line = first..held.passed;
        if let Some(packet) = held.follows.filter(|packet| on_line.contains(packet)) {
            self.execution.follow(line + (packet - first));
        }
        let due = held.updates.partition_point(|update| update.packet < held.passed);
        let updates = held.updates.drain(..due);
        self.execution.schedule(
            updates.map(|update| Update {
                packet: line + update.packet.saturating_sub(first),
                ..update
            }),
        );
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let (held, sink) = (&mut *self.held, &mut *self.sink);
        self.execution.feed(&frames, &mut |resolved| held.settle(resolved, sink))?;
        Ok(())
    }

    /// Runs until all packets have left.
    fn drain(&mut self) -> Result<(), ControlError> {
        let (held, sink) = (&mut *self.held, &mut *self.sink);
        self.execution.advance(u64::MAX, &mut |resolved| held.settle(resolved, sink))?;
        held.timers.forget(held.gone);
        Ok(())
    }

    /// Runs the timers that are due by a time, on an empty line.
    fn run_timers(&mut self, by_ns: u64) -> Result<(), ControlError> {
        loop {
            let line = self.held.passed + self.held.timers.run();
            let simulation = self.execution.simulation();
            let mut times = InHardware { processor: self.processor, simulation };
            let Some(due) = self.held.timers.due(&mut times, by_ns, line)? else { return Ok(()) };
            self.execution.insert(due.frames());
            self.drain()?;
        }
    }

    /// Continues for this number of cycles, or until all packets have left.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn advance(&mut self, cycles: u64) -> Result<(), ControlError> {
        let (held, sink) = (&mut *self.held, &mut *self.sink);
        self.execution.advance(cycles, &mut |resolved| held.settle(resolved, sink))?;
        Ok(())
    }

    /// Runs until all packets have left, then runs the timers that are due by a time.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn advance_to(&mut self, time_ns: u64) -> Result<(), ControlError> {
        self.drain()?;
        self.held.timers.advance(self.held.engine_ns);
        self.run_timers(time_ns)?;
        self.held.engine_ns = self.held.engine_ns.max(time_ns);
        self.held.timers.advance(time_ns);
        self.execution.advance_engine_time(time_ns);
        self.look_ahead()
    }

    /// Runs until all packets have left.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn finish(&mut self) -> Result<(), ControlError> {
        self.drain()?;
        let (held, sink) = (&mut *self.held, &mut *self.sink);
        self.execution.finish(&mut |resolved| held.settle(resolved, sink))?;
        self.look_ahead()
    }

    fn look_ahead(&mut self) -> Result<(), ControlError> {
        let simulation = self.execution.simulation();
        let mut times = InHardware { processor: self.processor, simulation };
        self.held.next_ns = self.held.timers.next_of(&mut times)?;
        Ok(())
    }
}

/// The times in the tables of a processor.
struct InHardware<'a> {
    processor: &'a Processor,
    simulation: &'a mut Simulation,
}

impl Times for InHardware<'_> {
    type Error = ControlError;

    fn next(&mut self, offload: usize) -> Result<Option<u64>, ControlError> {
        // Nothing is due at time 0.
        Ok(ControlPlane::due(self.processor, offload, 0, self.simulation)?.next_ns)
    }

    fn due(
        &mut self,
        offload: usize,
        now_ns: u64,
        visit: &mut dyn FnMut(&Bits),
    ) -> Result<(), ControlError> {
        let due = ControlPlane::due(self.processor, offload, now_ns, self.simulation)?;
        due.keys.iter().for_each(visit);
        Ok(())
    }
}
