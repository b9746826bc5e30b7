//! What a machine measured of itself.

use std::time::Duration;

use serde::Serialize;
use wireloom_machine::{Line, Part, thousands};
use wireloom_sim::stats::Record;
use wireloom_sim::{EnergySink, Time};

use crate::bus::Bus;
use crate::cards::Outputs;
use crate::chip::Did;
use crate::energy::Metered;
use crate::processor::Processor;
use crate::units::Served;

/// The shares of an engine's cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// An instruction computed.
    pub busy: f64,
    /// The slot was that of an aborted instruction.
    pub aborted: f64,
    /// A command found no room.
    pub stalled: f64,
    /// No context was ready.
    pub idle: f64,
}

/// The summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    /// The simulated time, in microseconds.
    time_us: f64,
    /// Cycles of the core clock.
    cycles: u64,
    /// Packets that left by a port, million in a second.
    mpps: f64,
    /// Bits of packets that left by a port, in Gb/s.
    gbps: f64,
    /// Packets that found no room at a port.
    lost: u64,
    /// Counts of outputs by destination.
    outputs: Outputs,
    /// The shares of all engines' cycles.
    engines: Shares,
    /// Instructions of all engines.
    instructions: u64,
    /// Cycles of engines simulated in a second of the host's time.
    engine_cycles_a_second: f64,
    /// The share of time in which each part was in use.
    use_of: Vec<(String, f64)>,
    /// The mean power, in watts: of engines, of the rest of the chip, and of memory chips.
    watts: Option<[f64; 3]>,
    /// What the governor did, if there is one.
    #[serde(skip)]
    did: Option<Did>,
    /// Everything else.
    statistics: Record,
}

impl<E: EnergySink> Processor<E> {
    /// The shares of an engine's cycles so far.
    pub fn shares(&self, engine: usize) -> Shares {
        let used = self.chip.engines[engine].used;
        let idle = used.idle + self.sleeping(engine);
        let all = (used.busy + used.aborted + used.stalled + idle).max(1) as f64;
        Shares {
            busy: used.busy as f64 / all,
            aborted: used.aborted as f64 / all,
            stalled: used.stalled as f64 / all,
            idle: idle as f64 / all,
        }
    }

    /// The share of time in which each unit and bus was in use.
    pub fn utilisation(&self) -> Vec<(&'static str, f64)> {
        let chip = &self.chip;
        let cycles = chip.core_cycle(self.now()).max(1) as f64;
        let share = |busy: u64| busy as f64 / cycles;
        let now = chip.core_cycle(self.now());
        let of = |busy: u64, parts: usize| share(busy) / parts.max(1) as f64;
        let [sram_push, sram_pull, sdram_push, sdram_pull] = chip.data_buses();
        let bus = |buses: Vec<&Bus>| of(buses.iter().map(|bus| bus.busy).sum(), buses.len());
        let mut all = vec![
            ("command bus", share(self.command_bus_busy())),
            ("sram", of(chip.sram.served_at(now).busy, chip.sram.channels.len())),
            ("sdram", of(chip.sdram.served_at(now).busy, chip.sdram.channels.len())),
            ("scratchpad", share(chip.scratch.served_at(now).busy)),
            ("hash unit", share(chip.hash.served_at(now).busy)),
            ("fbi", share(chip.fbi.served_at(now).busy)),
            ("sram push bus", bus(sram_push)),
            ("sram pull bus", bus(sram_pull)),
            ("sdram push bus", bus(sdram_push)),
            ("sdram pull bus", bus(sdram_pull)),
            ("ix bus", chip.cards.bus_use(self.now())),
        ];
        if chip.spec.has_msf() {
            all.push(("msf", share(chip.msf.served_at(now).busy)));
        }
        all
    }

    /// Cycles in which the command buses were taken, the mean of all.
    pub(crate) fn command_bus_busy(&self) -> u64 {
        let network = &self.chip.network;
        network.busy_at(self.chip.core_cycle(self.now())) / network.lanes().max(1) as u64
    }

    /// All statistics: `engines` with the use of each and of its contexts, `units`, `cards`,
    /// `packets`, with a governor `governor`, and with an energy meter `power`. All count from the
    /// start. Cycles of a context are those of its engine, and packets that were offered are done,
    /// lost or still to come.
    pub fn statistics(&self) -> Record
    where
        E: Metered,
    {
        let chip = &self.chip;
        let mut engines = Record::new();
        for (number, engine) in chip.engines.iter().enumerate() {
            let Shares { busy, aborted, stalled, idle } = self.shares(number);
            let cycles = engine.cycles() + self.sleeping(number);
            let mut contexts = Record::new();
            for (place, context) in engine.contexts().iter().enumerate() {
                let [waiting, ready, running] = context.waited_until(cycles);
                let record = Record::new()
                    .with("instructions", context.instructions)
                    .with("swaps", context.swaps)
                    .with("waiting_cycles", waiting)
                    .with("ready_cycles", ready)
                    .with("running_cycles", running)
                    .with("stopped_cycles", cycles - waiting - ready - running);
                contexts.add(&format!("context_{place}"), record);
            }
            let record = Record::new()
                .with("cycles", cycles)
                .with("instructions", engine.used.busy)
                .with("busy", busy)
                .with("aborted", aborted)
                .with("stalled", stalled)
                .with("idle", idle)
                .with("contexts", contexts);
            engines.add(&format!("engine_{number}"), record);
        }
        let unit = |served: Served, most: usize| {
            Record::new()
                .with("commands", served.commands)
                .with("words", served.words)
                .with("busy_cycles", served.busy)
                .with("most_queued", most as u64)
        };
        let now = chip.core_cycle(self.now());
        let sdram = unit(chip.sdram.served_at(now), chip.sdram.most())
            .with("row_hits", chip.sdram.sum(|channel| channel.row_hits))
            .with("refreshes", chip.sdram.sum(|channel| channel.refreshes));
        let mut sram = unit(chip.sram.served_at(now), chip.sram.most());
        if chip.sram.channels.len() > 1 {
            // Words that lie in one channel make it the bound of all.
            for (number, channel) in chip.sram.channels.iter().enumerate() {
                sram.add(&format!("channel_{number}_words"), channel.served.words);
            }
        }
        let mut units = Record::new()
            .with("sram", sram)
            .with("sdram", sdram)
            .with("scratch", unit(chip.scratch.served_at(now), chip.scratch.queues.most()))
            .with("hash", unit(chip.hash.served_at(now), chip.hash.queues.most()))
            .with("fbi", unit(chip.fbi.served_at(now), chip.fbi.queues.most()))
            .with("commands", chip.network.granted);
        if chip.spec.has_msf() {
            units.add("msf", unit(chip.msf.served_at(now), chip.msf.queues.most()));
        }
        let did = chip.control.did;
        let governor = Record::new()
            .with("slower", did.slower)
            .with("faster", did.faster)
            .with("stopped", did.stopped)
            .with("started", did.started)
            .with("late_us", did.late.as_seconds() * 1e6)
            .with("lost", did.lost);
        let Outputs { sent, sent_bytes, to_core, dropped, nowhere, consumed, further } =
            chip.cards.outputs;
        let packets = Record::new()
            .with("offered", chip.cards.offered())
            .with("done", chip.cards.left)
            .with("lost", chip.cards.lost_at_input())
            .with("to_come", chip.cards.to_come())
            .with("sent", sent)
            .with("sent_bytes", sent_bytes)
            .with("to_core", to_core)
            .with("dropped", dropped)
            .with("nowhere", nowhere)
            .with("consumed", consumed)
            .with("further", further);
        let mut all = Record::new()
            .with("engines", engines)
            .with("units", units)
            .with("cards", chip.cards.record(self.now()))
            .with("packets", packets);
        if chip.control.period().is_some() {
            all.add("governor", governor);
        }
        if let Some(power) = self.power() {
            all.add("power", power.record(self.now()));
        }
        all
    }

    /// The record of a run for people and programs, of which `lost` packets found no room.
    pub fn report(&self, lost: u64, work: Duration) -> wireloom_machine::Record
    where
        E: Metered,
    {
        let chip = &self.chip;
        let seconds = self.now().as_seconds();
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let count = chip.engines.len();
        let mut engines = Shares::default();
        for number in 0..count {
            let shares = self.shares(number);
            engines.busy += shares.busy / count as f64;
            engines.aborted += shares.aborted / count as f64;
            engines.stalled += shares.stalled / count as f64;
            engines.idle += shares.idle / count as f64;
        }
        let engine_cycles: u64 =
            (0..count).map(|number| chip.engines[number].cycles() + self.sleeping(number)).sum();
        let use_of = self.utilisation();
        let values = Values {
            time_us: seconds * 1e6,
            cycles: chip.core_cycle(self.now()),
            mpps: ratio(chip.cards.outputs.sent as f64, seconds) / 1e6,
            gbps: ratio(chip.cards.outputs.sent_bytes as f64 * 8.0, seconds) / 1e9,
            lost,
            outputs: chip.cards.outputs,
            engines,
            instructions: chip.engines.iter().map(|engine| engine.used.busy).sum(),
            engine_cycles_a_second: ratio(engine_cycles as f64, work.as_secs_f64()),
            use_of: use_of.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect(),
            watts: self.power().map(|power| power.watts(self.now())),
            did: chip.control.period().map(|_| chip.control.did),
            statistics: self.statistics(),
        };
        let parts = use_of.into_iter();
        wireloom_machine::Record {
            lines: values.lines(),
            bars: Vec::new(),
            parts: parts.map(|(kind, share)| Part { kind: kind.to_owned(), share }).collect(),
            values: Box::new(values),
        }
    }
}

impl Values {
    fn lines(&self) -> Vec<Line> {
        let Shares { busy, aborted, stalled, idle } = self.engines;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let power = self.watts.map(|[engines, chip, memories]| {
            let all = engines + chip + memories;
            let text = format!(
                "{all:.3} W: engines {engines:.3}, rest of the chip {chip:.3}, memories \
                 {memories:.3}"
            );
            Line::new("power", text)
        });
        let mut lines = vec![
            Line::new("rate", format!("{:.3} MPPS in {:.1} us", self.mpps, self.time_us)),
            Line::new("bandwidth", format!("{:.3} Gb/s", self.gbps)),
            Line::new("cycles", thousands(self.cycles)),
            Line::new(
                "engines",
                format!(
                    "busy {}, aborted {}, stalled {}, idle {}",
                    percent(busy),
                    percent(aborted),
                    percent(stalled),
                    percent(idle)
                ),
            ),
            Line::new("lost at input", format!("{} packets", thousands(self.lost))),
            Line::new(
                "simulated",
                format!(
                    "{} instructions, {} engine cycles a second",
                    thousands(self.instructions),
                    thousands(self.engine_cycles_a_second as u64)
                ),
            ),
        ];
        lines.extend(power);
        lines.extend(self.did.map(|Did { slower, faster, stopped, started, late, lost }| {
            let steps = format!("{} steps slower, {} faster", thousands(slower), thousands(faster));
            let clocks = format!("engines stopped {}, started {}", stopped, started);
            // Without a governor they would have been served sooner.
            let late = match (late, lost) {
                (Time::ZERO, 0) => String::new(),
                _ => format!(
                    "; packets waited too long for {:.1} us, and {} were lost, with engines stopped or slow",
                    late.as_seconds() * 1e6,
                    thousands(lost)
                ),
            };
            Line::new("governor", format!("{steps}; {clocks}{late}"))
        }));
        lines
    }
}
