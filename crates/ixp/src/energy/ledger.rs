//! Converts the counters of engines and units into energy events.

use wireloom_power::{ByClass, PartKey};
use wireloom_sim::energy::{Class, Component};
use wireloom_sim::{EnergyMeter, EnergySink, Kernel};

use super::components::{GPR_PORTS, XFER_PORTS, queues};
use super::{ChipPart, EnginePart, chip_part, engine_part};
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
        let mut part = |part: EnginePart, totals: ByClass<'_, u64>| {
            for (class, total) in part.part().in_order(totals).enumerate() {
                each(engine_part(number, part), class as u32, total);
            }
        };
        let left = |ports: u64, used: u64| (ports * cycles).saturating_sub(used);
        let (reads, writes) = (done.read, done.write);
        let idle = left(GPR_PORTS, reads + writes);
        part(EnginePart::Gpr, &[("read", reads), ("write", writes), ("idle", idle)]);
        part(EnginePart::Xfer, &[("access", moved), ("idle", left(XFER_PORTS, moved))]);
        part(EnginePart::ControlRegisters, &[("access", control), ("idle", left(1, control))]);
        part(EnginePart::ControlStore, &[("fetch", fetched), ("idle", left(1, fetched))]);
        let idle = left(1, done.add + done.logic);
        part(EnginePart::Alu, &[("add", done.add), ("logic", done.logic), ("idle", idle)]);
        part(EnginePart::Shifter, &[("shift", done.shift), ("idle", left(1, done.shift))]);
        let issued = done.command - waiting.min(done.command);
        let idle = left(2, done.command + issued);
        let classes = [("write", done.command), ("read", issued), ("idle", idle)];
        part(EnginePart::CommandFifo, &classes);
        part(EnginePart::ContextArbiter, &[("grant", swaps), ("idle", left(1, swaps))]);
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
    let mut part = |part: ChipPart, totals: ByClass<'_, u64>| {
        for (class, total) in part.part().in_order(totals).enumerate() {
            each(chip_part(engines, part), class as u32, total);
        }
    };
    let left = |ports: u64, used: u64| (ports * cycles).saturating_sub(used);
    let idle = left(chip.network.lanes() as u64, granted);
    part(ChipPart::CommandBusArbiter, &[("grant", granted), ("idle", idle)]);
    part(ChipPart::CommandBus, &[("command", hops)]);
    let idle = left(2 * queues(&chip.spec), granted + commands);
    let classes = [("write", granted), ("read", commands), ("idle", idle)];
    part(ChipPart::CommandQueues, &classes);
    part(ChipPart::SramBus, &[("word", sram_pull + sram_push)]);
    part(ChipPart::SdramBus, &[("word", sdram_pull + sdram_push)]);
    let words = chip.scratch.served.words;
    part(ChipPart::Scratchpad, &[("word", words), ("idle", left(1, words))]);
    part(ChipPart::Hash, &[("step", chip.hash.served.busy)]);
    part(ChipPart::Fifos, &[("word", fifo_words), ("idle", left(2, fifo_words))]);
    part(ChipPart::IxBus, &[("word", mpkt_words * mpkts)]);
    part(ChipPart::Sram, &[("access", chip.sram.served().words)]);
    let served = chip.sdram.served();
    let activations = served.commands - chip.sdram.sum(|channel| channel.row_hits);
    // The simulation catches up on refreshes of idle time only when a command arrives, so they are
    // counted by time here.
    let interval = u64::from(chip.spec.sdram.refresh_interval_cycles);
    let channels = chip.sdram.channels.len() as u64;
    let refreshes = channels * cycles.checked_div(interval).unwrap_or(0);
    let bursts = served.words / 2;
    let classes = [("activate", activations), ("burst", bursts), ("refresh", refreshes)];
    part(ChipPart::Sdram, &classes);
}
