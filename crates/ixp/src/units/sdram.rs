//! SDRAM: banks with open rows, bursts and refresh, in one or several interleaved channels.

use std::collections::VecDeque;

use wireloom_isa::microengine::Operation;

use super::queue::{Class, Queues};
use super::sram::{range, range_mut};
use super::{Fbi, Refused, Served, Started};
use crate::request::{Handle, Pool};
use crate::spec::SdramSpec;

#[derive(Clone, Debug)]
pub struct Sdram {
    spec: SdramSpec,
    words: Vec<u32>,
    /// The channels. Each has its own chips.
    pub channels: Vec<Channel>,
}

#[derive(Clone, Debug)]
pub struct Channel {
    /// Commands waiting for service.
    pub queues: Queues,
    banks: Vec<Bank>,
    /// The cycle from which the data pins are free.
    pins: u64,
    /// The first and the end cycle of data transfers that were not over when the last command
    /// began.
    data: VecDeque<(u64, u64)>,
    was_write: bool,
    refreshed: u64,
    /// Counts of the channel's work.
    pub served: Served,
    /// Accesses to an open row.
    pub row_hits: u64,
    pub refreshes: u64,
    /// Cycles from the start of a command to the end of its data, including row activation and bus
    /// turnaround. Cycles with several commands count once.
    pub occupied: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open: Option<u32>,
    free: u64,
}

impl Channel {
    fn new(spec: SdramSpec) -> Self {
        Self {
            queues: Queues::new(spec.queue, Class::Free),
            banks: vec![Bank::default(); spec.banks as usize],
            pins: 0,
            data: VecDeque::new(),
            was_write: false,
            refreshed: 0,
            served: Served::default(),
            row_hits: 0,
            refreshes: 0,
            occupied: 0,
        }
    }

    /// Returns the counts at a cycle, without the cycles of data transfers after it.
    fn served_at(&self, now: u64) -> Served {
        let to_come = self.data.iter().map(|(begin, end)| end.saturating_sub(now.max(*begin)));
        Served { busy: self.served.busy - to_come.sum::<u64>(), ..self.served }
    }

    /// Performs the refreshes that are due. Returns the cycle in which the memory is available.
    fn refresh(&mut self, spec: &SdramSpec, now: u64) -> u64 {
        let interval = u64::from(spec.refresh_interval_cycles);
        if interval == 0 || now < self.refreshed + interval {
            return now;
        }
        let due = (now - self.refreshed) / interval;
        self.refreshes += due;
        self.refreshed += due * interval;
        self.banks.iter_mut().for_each(|bank| bank.open = None);
        // Refreshes of an idle period are over, unless the last one has just begun.
        let begun = self.refreshed.max(self.pins);
        now.max(begun + u64::from(spec.refresh_cycles))
    }
}

impl Sdram {
    /// Creates a memory of zeros with all rows closed.
    pub fn new(spec: SdramSpec) -> Self {
        Self {
            spec,
            words: vec![0; spec.bytes as usize / 4],
            channels: vec![Channel::new(spec); spec.channels as usize],
        }
    }

    /// The channel of an address in granules of 8 bytes.
    pub fn channel(&self, address: u32) -> usize {
        (address / (self.spec.interleave_bytes / 8) % self.spec.channels) as usize
    }

    /// The counts of all channels, including the future cycles of commands that have begun.
    pub fn served(&self) -> Served {
        self.channels.iter().map(|channel| channel.served).sum()
    }

    /// The counts of all channels up to a cycle.
    pub fn served_at(&self, now: u64) -> Served {
        self.channels.iter().map(|channel| channel.served_at(now)).sum()
    }

    /// The sum of a count over all channels.
    pub fn sum(&self, of: impl Fn(&Channel) -> u64) -> u64 {
        self.channels.iter().map(of).sum()
    }

    /// Whether a command may begin in a later cycle.
    pub fn is_waiting(&self) -> bool {
        self.channels.iter().any(|channel| !channel.queues.is_empty())
    }

    /// The number of waiting commands.
    pub fn waiting(&self) -> usize {
        self.channels.iter().map(|channel| channel.queues.len()).sum()
    }

    /// The largest number of commands that waited in one channel.
    pub fn most(&self) -> usize {
        self.channels.iter().map(|channel| channel.queues.most()).max().unwrap_or(0)
    }

    /// The contents.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The contents, for a loader.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// The bank and the row of an address in granules of 8 bytes. Consecutive rows are in
    /// consecutive banks of a channel.
    fn place(spec: &SdramSpec, address: u32) -> (usize, u32) {
        let part = spec.interleave_bytes / 8;
        let within = address / (part * spec.channels) * part + address % part;
        let row = within / (spec.row_bytes / 8);
        ((row % spec.banks) as usize, row / spec.banks)
    }

    /// Starts the command that can begin in this cycle in a channel.
    ///
    /// # Errors
    /// If a command accesses an address that does not exist.
    pub fn cycle(
        &mut self,
        number: usize,
        now: u64,
        pool: &mut Pool,
        fbi: &mut Fbi,
    ) -> Result<Option<Started>, Refused> {
        let spec = self.spec;
        let opening = u64::from(spec.activate_cycles) + u64::from(spec.precharge_cycles);
        let access = u64::from(spec.access_cycles);
        // A row opens while earlier commands still occupy the data pins, but no sooner than needed.
        let channel = &mut self.channels[number];
        if channel.queues.is_empty() || channel.pins > now + opening + access {
            return Ok(None);
        }
        let (banks, was_write) = (&channel.banks, channel.was_write);
        let cost = |handle: Handle| {
            let request = &pool[handle];
            let (bank, row) = Self::place(&spec, request.address);
            let bank = &banks[bank];
            let is_hit = bank.open == Some(row);
            (is_hit || bank.free <= now)
                .then_some(2 * u32::from(!is_hit) + u32::from(request.is_write() != was_write))
        };
        let Some(handle) = channel.queues.take(pool, cost) else { return Ok(None) };
        let start = channel.refresh(&spec, now);
        let request = &pool[handle];
        // A shorter transfer takes as long as a burst.
        let quads = u64::from(u32::from(request.count).max(spec.burst_quads));
        let is_write = request.is_write();
        let (bank, row) = Self::place(&spec, request.address);
        let bank = &mut channel.banks[bank];
        let open = match bank.open {
            Some(open) if open == row => {
                channel.row_hits += 1;
                0
            }
            Some(_) => opening,
            None => u64::from(spec.activate_cycles),
        };
        let turn =
            if is_write == channel.was_write { 0 } else { u64::from(spec.turnaround_cycles) };
        let pins = if channel.served.commands == 0 { 0 } else { channel.pins + turn };
        let data = (start + open + access).max(pins);
        channel.served.commands += 1;
        channel.served.words += 2 * quads;
        channel.served.busy += quads * u64::from(spec.quad_cycles);
        channel.was_write = is_write;
        let idle_until = channel.pins.max(now);
        channel.pins = data + quads * u64::from(spec.quad_cycles);
        channel.occupied += channel.pins.saturating_sub(idle_until);
        while channel.data.front().is_some_and(|(_, end)| *end <= now) {
            channel.data.pop_front();
        }
        channel.data.push_back((data, channel.pins));
        *bank = Bank { open: Some(row), free: channel.pins };
        self.serve(handle, pool, fbi)?;
        let interval = u64::from(spec.quad_cycles);
        let first = if is_write {
            // A write completes for the engine when the unit holds all of its words.
            data - access + (quads - 1) * interval + u64::from(spec.write_cycles)
        } else {
            data
        };
        Ok(Some(Started { handle, first, interval, granule: 2 }))
    }

    fn serve(&mut self, handle: Handle, pool: &mut Pool, fbi: &mut Fbi) -> Result<(), Refused> {
        let request = &mut pool[handle];
        let (address, count) = (2 * request.address as usize, 2 * request.count);
        let length = usize::from(count);
        match request.operation {
            Operation::Read => {
                request.data[..length].copy_from_slice(range(&self.words, address, count)?);
            }
            Operation::Write => {
                range_mut(&mut self.words, address, count)?
                    .copy_from_slice(&request.data[..length]);
            }
            Operation::ReceiveFifoRead => {
                let words = range_mut(&mut self.words, address, count)?;
                fbi.read_receive(request.fifo, words)?;
            }
            Operation::TransmitFifoWrite => {
                fbi.write_transmit(request.fifo, range(&self.words, address, count)?)?;
            }
            operation => return Err(Refused(format!("SDRAM does not know {operation:?}"))),
        }
        Ok(())
    }
}
