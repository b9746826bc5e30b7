//! The path of a command: from its engine over the network to its unit's queue, its words over the
//! data buses, and its completion.

use wireloom_isa::microengine::{Operation, TransferFile, Unit};
use wireloom_sim::{EnergySink, EventSink, Kernel};

use super::{Chip, Event, Pair, SRAM_BUS_UNITS};
use crate::bus::Carried;
use crate::options::Fault;
use crate::request::{Handle, Request};
use crate::trace::What;
use crate::units::queue::Queues;
use crate::units::{Fbi, HashUnit, Msf, Refused, Scratch, Sdram, Sram, Started};

/// The units that take commands.
struct Units<'a> {
    sram: &'a Sram,
    sdram: &'a Sdram,
    scratch: &'a Scratch,
    hash: &'a HashUnit,
    fbi: &'a Fbi,
    msf: &'a Msf,
}

impl Units<'_> {
    /// Whether a request's unit has room for it, and the number of the target in the network.
    fn target(&self, request: &Request) -> (bool, usize) {
        let (channel, order) = (usize::from(request.channel), request.order);
        let (sram, sdram) = (self.sram.channels.len(), self.sdram.channels.len());
        let (queues, number) = match request.unit {
            Unit::Sram => (&self.sram.channels[channel].queues, channel),
            Unit::Sdram => (&self.sdram.channels[channel].queues, sram + channel),
            Unit::Scratch => (&self.scratch.queues, sram + sdram),
            Unit::Hash => (&self.hash.queues, sram + sdram + 1),
            Unit::Fbi | Unit::Cap | Unit::Pci => (&self.fbi.queues, sram + sdram + 2),
            Unit::Msf => (&self.msf.queues, sram + sdram + 3),
        };
        (queues.has_room(order), number)
    }
}

impl<E: EnergySink> Chip<E> {
    /// The queues of a channel of a unit. The chip has both.
    fn queues(&mut self, unit: Unit, channel: u8) -> &mut Queues {
        match unit {
            Unit::Sram => &mut self.sram.channels[usize::from(channel)].queues,
            Unit::Sdram => &mut self.sdram.channels[usize::from(channel)].queues,
            Unit::Scratch => &mut self.scratch.queues,
            Unit::Hash => &mut self.hash.queues,
            Unit::Msf => &mut self.msf.queues,
            Unit::Fbi | Unit::Cap | Unit::Pci => &mut self.fbi.queues,
        }
    }

    /// Sets the channel that serves a new command's address, and the cluster of its engine.
    pub(super) fn locate(&mut self, handle: Handle) -> Result<(), Refused> {
        let request = &mut self.pool[handle];
        let channel = match request.unit {
            Unit::Sram if matches!(request.operation, Operation::Queue(_)) => {
                crate::units::queue_array::channel(request.address, self.sram.channels.len())
            }
            Unit::Sram => self.sram.channel(request.address),
            Unit::Sdram => self.sdram.channel(request.address),
            unit @ (Unit::Pci | Unit::Msf) if unit == Unit::Pci || !self.spec.has_msf() => {
                return Err(Refused(format!("this chip has no unit {unit:?}")));
            }
            _ => 0,
        };
        request.channel = channel as u8;
        let clusters = self.sram_bus.len();
        request.cluster = (usize::from(request.engine) * clusters / self.engines.len()) as u8;
        Ok(())
    }

    /// The pair of buses that a command uses, and its unit's number on them.
    pub(super) fn buses(&mut self, handle: Handle) -> (&mut Pair, usize) {
        let request = &self.pool[handle];
        let (cluster, channel) = (usize::from(request.cluster), usize::from(request.channel));
        let number = match request.unit {
            Unit::Sdram => return (&mut self.sdram_bus[cluster], channel),
            Unit::Sram if channel > 0 => SRAM_BUS_UNITS - 1 + channel,
            Unit::Sram => 0,
            Unit::Scratch => 1,
            Unit::Hash => 2,
            Unit::Msf => 4,
            _ => 3,
        };
        (&mut self.sram_bus[cluster], number)
    }

    /// Grants engines the network to send commands.
    pub(super) fn grant(&mut self, cycle: u64, kernel: &mut Kernel<Event>) {
        let now = kernel.now();
        if self.engines.iter().all(|engine| engine.commands.is_empty()) {
            return;
        }
        let (lanes, first) = (self.network.lanes(), self.network.first_lane());
        for lane in (first..lanes).chain(0..first) {
            let (engines, pool) = (&self.engines, &self.pool);
            let units = Units {
                sram: &self.sram,
                sdram: &self.sdram,
                scratch: &self.scratch,
                hash: &self.hash,
                fbi: &self.fbi,
                msf: &self.msf,
            };
            let target = |engine: usize| {
                let &(handle, issued) = engines[engine].commands.front()?;
                let (has_room, target) = units.target(&pool[handle]);
                (issued < now && has_room).then_some((target, handle))
            };
            let chosen = self.network.choose(lane, cycle, |engine| Some(target(engine)?.0));
            let Some(number) = chosen else { continue };
            let Some((target, handle)) = target(number) else { continue };
            self.engines[number].commands.pop_front();
            let request = &self.pool[handle];
            let (unit, channel, order) = (request.unit, request.channel, request.order);
            self.queues(unit, channel).reserve(order);
            let arrival = self.network.send(lane, cycle, number, target);
            kernel.send_at(self.spec.core.clock.edge(arrival), Event::Arrive(handle));
        }
    }

    /// Queues a command that has arrived at its unit.
    pub(super) fn arrived(&mut self, handle: Handle, kernel: &mut Kernel<Event>) {
        let now = kernel.now();
        let request = &self.pool[handle];
        let (unit, channel, order) = (request.unit, request.channel, request.order);
        let words = request.words_out;
        self.queues(unit, channel).push(handle, order);
        if words > 0 {
            let cycle = self.core_cycle(now);
            let (pair, number) = self.buses(handle);
            let from = cycle + pair.pull_cycles;
            pair.pull.add(number, handle, words, from, (1, words));
        }
        self.note(now, What::Arrive, handle, 0);
        kernel.wake(wireloom_sim::Unit(0));
    }

    /// Moves words on a pair of buses.
    pub(super) fn carry(
        &mut self,
        file: TransferFile,
        cluster: usize,
        cycle: u64,
        kernel: &mut Kernel<Event>,
    ) {
        let now = kernel.now();
        let pair = match file {
            TransferFile::Sram => &mut self.sram_bus[cluster],
            TransferFile::Sdram => &mut self.sdram_bus[cluster],
        };
        let push_cycles = pair.push_cycles;
        if let Some(Carried { handle, first, words, is_last }) =
            pair.pull.cycle(cycle, &mut self.pool)
        {
            let request = &mut self.pool[handle];
            let registers = &mut self.engines[usize::from(request.engine)].registers;
            for word in first..first + words {
                let register = request.register + u16::from(word);
                request.data[usize::from(word)] = registers.pull(file, register);
            }
            request.is_ready |= is_last;
            self.note(now, What::Pull, handle, words.into());
        }
        let pair = match file {
            TransferFile::Sram => &mut self.sram_bus[cluster],
            TransferFile::Sdram => &mut self.sdram_bus[cluster],
        };
        if let Some(Carried { handle, first, words, is_last }) =
            pair.push.cycle(cycle, &mut self.pool)
        {
            let request = &self.pool[handle];
            let registers = &mut self.engines[usize::from(request.engine)].registers;
            for word in first..first + words {
                let register = request.register + u16::from(word);
                registers.push(file, register, request.data[usize::from(word)]);
            }
            self.note(now, What::Push, handle, words.into());
            if is_last {
                kernel.send_at(self.spec.core.clock.edge(cycle + push_cycles), Event::Done(handle));
            }
        }
    }

    /// Starts commands in the units.
    pub(super) fn serve(&mut self, cycle: u64, kernel: &mut Kernel<Event>) -> Result<(), Refused> {
        for channel in 0..self.sdram.channels.len() {
            if !self.sdram.channels[channel].queues.is_empty() {
                let started = self.sdram.cycle(channel, cycle, &mut self.pool, &mut self.fbi)?;
                self.started(started, kernel);
            }
        }
        for channel in 0..self.sram.channels.len() {
            if self.sram.channels[channel].has_work() {
                let started = self.sram.cycle(channel, cycle, &mut self.pool)?;
                self.started(started, kernel);
            }
        }
        if !self.msf.queues.is_empty() {
            let (pool, effects) = (&mut self.pool, &mut self.effects);
            let started = self.msf.cycle(cycle, pool, &mut self.fbi, effects)?;
            self.started(started, kernel);
            self.make_effects(kernel)?;
        }
        if !self.scratch.queues.is_empty() {
            let started = self.scratch.cycle(cycle, &mut self.pool)?;
            self.started(started, kernel);
        }
        if !self.hash.queues.is_empty() {
            let started = self.hash.cycle(cycle, &mut self.pool)?;
            self.started(started, kernel);
        }
        if !self.fbi.queues.is_empty() {
            let started = self.fbi.cycle(cycle, &mut self.pool, &mut self.effects)?;
            self.started(started, kernel);
            self.make_effects(kernel)?;
        }
        Ok(())
    }

    fn started(&mut self, started: Option<Started>, kernel: &mut Kernel<Event>) {
        let Some(Started { handle, mut first, interval, granule }) = started else { return };
        let now = kernel.now();
        let words_in = self.pool[handle].words_in;
        if self.fault == Some(Fault::EarlyAnswer) {
            first = self.core_cycle(now) + 1;
        }
        self.note(now, What::Start, handle, 0);
        if words_in == 0 {
            kernel.send_at(self.spec.core.clock.edge(first), Event::Done(handle));
        } else {
            let (pair, number) = self.buses(handle);
            pair.push.add(number, handle, words_in, first, (interval, granule));
        }
    }

    /// Completes a command.
    pub(super) fn done(&mut self, handle: Handle, kernel: &mut Kernel<Event>) {
        let request = &self.pool[handle];
        let (id, engine, receiver, signal) =
            (request.id, request.engine, request.receiver, request.signal);
        if self.fault == Some(Fault::LostAnswer) && id % 16 == 15 {
            return;
        }
        self.note(kernel.now(), What::Done, handle, 0);
        if self.fault == Some(Fault::SecondAnswer) && id % 16 == 15 {
            self.note(kernel.now(), What::Done, handle, 0);
        }
        self.pool.remove(handle);
        if let Some(signal) = signal {
            self.signal(engine, receiver, signal, kernel);
        }
    }
}
