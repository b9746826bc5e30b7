//! Converts the counters of engines and units into energy events.

use wireloom_sim::energy::{Class, Component};
use wireloom_sim::{EnergyMeter, EnergySink, Kernel};

use super::components::{GPR_PORTS, XFER_PORTS, queues};
use super::{chip_part, engine_part};
use crate::chip::{Chip, Event};

/// The counts that the energy sink has already received.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    seen: Vec<u64>,
}

/// An energy sink that may be a meter.
pub trait Metered: EnergySink + Clone {
    /// The meter; `None` for other sinks.
    fn meter(&self) -> Option<EnergyMeter> {
        None
    }
}

impl Metered for () {}

impl Metered for EnergyMeter {
    fn meter(&self) -> Option<EnergyMeter> {
        Some(self.clone())
    }
}

impl Ledger {
    /// Returns the events since the last call. Only the cycles of ports without an access can fall;
    /// such a count is held back until it rises above its old value.
    pub fn news<E: EnergySink>(
        &mut self,
        chip: &Chip<E>,
        kernel: &Kernel<Event>,
    ) -> Vec<(Component, Class, u64)> {
        let mut news = Vec::new();
        let mut place = 0;
        let seen = &mut self.seen;
        count(chip, kernel, |component, class, total| {
            if seen.len() == place {
                seen.push(0);
            }
            let before = &mut seen[place];
            place += 1;
            if total > *before {
                news.push((component, Class(class), total - *before));
                *before = total;
            }
        });
        news
    }
}

/// Calls a function with the total count of each class of each component.
fn count<E: EnergySink>(
    chip: &Chip<E>,
    kernel: &Kernel<Event>,
    mut each: impl FnMut(Component, u32, u64),
) {
    let engines = chip.engines.len();
    for (number, engine) in chip.engines.iter().enumerate() {
        let cycles = engine.cycles() + chip.unslept(number, kernel);
        let done = engine.operations();
        let moved = done.transfer + engine.registers.moved;
        let fetched = engine.used.busy + engine.used.aborted;
        let swaps: u64 = engine.contexts().iter().map(|context| context.swaps).sum();
        // A change of context saves one set of control registers and loads another.
        let control = done.csr + 2 * swaps;
        let waiting = engine.commands.len() as u64;
        let mut part = |place, totals: &[u64]| {
            for (class, total) in totals.iter().enumerate() {
                each(engine_part(number, place), class as u32, *total);
            }
        };
        let gpr = done.read + done.write;
        part(0, &[done.read, done.write, (GPR_PORTS * cycles).saturating_sub(gpr)]);
        part(1, &[moved, (XFER_PORTS * cycles).saturating_sub(moved)]);
        part(2, &[control, cycles.saturating_sub(control)]);
        part(3, &[fetched, cycles.saturating_sub(fetched)]);
        part(4, &[done.add, done.logic, cycles.saturating_sub(done.add + done.logic)]);
        part(5, &[done.shift, cycles.saturating_sub(done.shift)]);
        let left = done.command - waiting.min(done.command);
        part(6, &[done.command, left, (2 * cycles).saturating_sub(done.command + left)]);
        part(7, &[swaps, cycles.saturating_sub(swaps)]);
    }
    let cycles = chip.core_cycle(kernel.now());
    let served = [
        chip.sram.served(),
        chip.sdram.served(),
        chip.scratch.served,
        chip.hash.served,
        chip.fbi.served,
        chip.msf.served,
    ];
    let commands: u64 = served.iter().map(|unit| unit.commands).sum();
    let mpkts = chip.cards.mpkts();
    let mpkt_words = u64::from(chip.spec.mpkt_bytes() / 4);
    let fifo_words =
        chip.fbi.served.words + chip.msf.served.words + chip.fbi.direct_words + mpkt_words * mpkts;
    let (granted, hops) = (chip.network.granted, chip.network.hops);
    let [sram_push, sram_pull, sdram_push, sdram_pull] =
        chip.data_buses().map(|buses| buses.iter().map(|bus| bus.words).sum::<u64>());
    let mut part = |place, totals: &[u64]| {
        for (class, total) in totals.iter().enumerate() {
            each(chip_part(engines, place), class as u32, *total);
        }
    };
    let arbiters = chip.network.lanes() as u64;
    part(0, &[granted, (arbiters * cycles).saturating_sub(granted)]);
    part(1, &[hops]);
    let queued = 2 * queues(&chip.spec) * cycles;
    part(2, &[granted, commands, queued.saturating_sub(granted + commands)]);
    part(3, &[sram_pull + sram_push]);
    part(4, &[sdram_pull + sdram_push]);
    part(5, &[chip.scratch.served.words, cycles.saturating_sub(chip.scratch.served.words)]);
    part(6, &[chip.hash.served.busy]);
    part(7, &[fifo_words, (2 * cycles).saturating_sub(fifo_words)]);
    part(8, &[mpkt_words * mpkts]);
    part(9, &[chip.sram.served().words]);
    let served = chip.sdram.served();
    let activations = served.commands - chip.sdram.sum(|channel| channel.row_hits);
    // The simulation catches up on refreshes of idle time only when a command arrives, so they are
    // counted by time here.
    let interval = u64::from(chip.spec.sdram.refresh_interval_cycles);
    let channels = chip.sdram.channels.len() as u64;
    let refreshes = channels * cycles.checked_div(interval).unwrap_or(0);
    part(10, &[activations, served.words / 2, refreshes]);
}
