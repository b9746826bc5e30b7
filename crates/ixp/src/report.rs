//! Measurements and reports of a run.

use std::time::Duration;

use serde::Serialize;
use wireloom_machine::{Line, Part, Throughput, Totals, thousands};
use wireloom_sim::stats::Record;
use wireloom_sim::{Energy, EnergySink, Time};

use crate::bus::Bus;
use crate::cards::Outputs;
use crate::chip::Did;
use crate::energy::Metered;
use crate::engine::Use;
use crate::processor::Processor;
use crate::units::Served;

/// The shares of an engine's cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// An instruction computed.
    pub busy: f64,
    /// The slot held an aborted instruction.
    pub aborted: f64,
    /// A command found no room.
    pub stalled: f64,
    /// No context was ready.
    pub idle: f64,
}

/// The counters at a start time. Shares and rates cover the time after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    now: Time,
    totals: Totals,
    engines: Vec<Use>,
    units: Vec<Busy>,
    /// The energy of the engines, of the rest of the chip, and of the memory chips.
    energy: [Energy; 3],
}

/// The time in use of a unit or bus.
#[derive(Clone, Copy, Debug)]
struct Busy {
    name: &'static str,
    /// The time in use, summed over its parts.
    amount: u64,
    /// The elapsed time, in the same unit.
    whole: u64,
    parts: usize,
}

impl Busy {
    /// The share of the time since an earlier snapshot.
    fn share_since(self, earlier: Option<&Self>) -> f64 {
        let (amount, whole) = earlier.map_or((0, 0), |earlier| (earlier.amount, earlier.whole));
        let whole = (self.whole - whole).max(1) as f64;
        (self.amount - amount) as f64 / whole / self.parts.max(1) as f64
    }
}

/// The mean power by group, in watts.
#[derive(Clone, Copy, Debug, Serialize)]
struct Watts {
    engines: f64,
    rest_of_chip: f64,
    memories: f64,
}

/// The summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    #[serde(flatten)]
    throughput: Throughput,
    /// The simulated time of the whole run, in microseconds. It extends past the last packet.
    simulated_us: f64,
    /// Cycles of the core clock in that time.
    cycles: u64,
    /// The share of all engines' cycles in which an instruction computed.
    usage: f64,
    /// Counts of outputs by destination.
    outputs: Outputs,
    /// The shares of all engines' cycles.
    engines: Shares,
    /// The count of instructions of all engines.
    instructions: u64,
    /// Engine cycles that are simulated in a second of host time.
    engine_cycles_a_second: f64,
    /// The share of time in which each part was in use.
    use_of: Vec<(String, f64)>,
    /// The mean power in watts in total and by group, and the energy for each packet.
    watts: Option<f64>,
    watts_of: Option<Watts>,
    nanojoules_a_packet: Option<f64>,
    /// The actions of the governor, if there is one.
    #[serde(skip)]
    did: Option<Did>,
    /// All other statistics.
    statistics: Record,
}

impl<E: EnergySink> Processor<E> {
    /// The use of an engine's cycles so far, sleep included.
    fn used(&self, engine: usize) -> Use {
        let used = self.chip.engines[engine].used;
        Use { idle: used.idle + self.sleeping(engine), ..used }
    }

    /// The shares of an engine's cycles since the warm-up ended.
    pub fn shares(&self, engine: usize) -> Shares {
        let from =
            self.counted_from.as_ref().map_or_else(Use::default, |from| from.engines[engine]);
        let used = self.used(engine);
        let [busy, aborted, stalled, idle] = [
            used.busy - from.busy,
            used.aborted - from.aborted,
            used.stalled - from.stalled,
            used.idle - from.idle,
        ];
        let all = (busy + aborted + stalled + idle).max(1) as f64;
        let [busy, aborted, stalled, idle] =
            [busy, aborted, stalled, idle].map(|cycles| cycles as f64 / all);
        Shares { busy, aborted, stalled, idle }
    }

    /// The share of time in which each unit and bus was in use since the warm-up ended.
    pub fn utilisation(&self) -> Vec<(&'static str, f64)> {
        let from = self.counted_from.as_ref().map_or(&[][..], |from| &from.units);
        let units = self.busy().into_iter().enumerate();
        units.map(|(place, unit)| (unit.name, unit.share_since(from.get(place)))).collect()
    }

    /// The time in use of each unit and bus so far.
    fn busy(&self) -> Vec<Busy> {
        let chip = &self.chip;
        let now = chip.core_cycle(self.now());
        let of = |name, amount, parts| Busy { name, amount, whole: now, parts };
        let [sram_push, sram_pull, sdram_push, sdram_pull] = chip.data_buses();
        let bus =
            |name, buses: Vec<&Bus>| of(name, buses.iter().map(|bus| bus.busy).sum(), buses.len());
        let mut all = vec![
            of("command bus", self.command_bus_busy(), 1),
            of("sram", chip.sram.served_at(now).busy, chip.sram.channels.len()),
            of("sdram", chip.sdram.served_at(now).busy, chip.sdram.channels.len()),
            of("scratchpad", chip.scratch.served_at(now).busy, 1),
            of("hash unit", chip.hash.served_at(now).busy, 1),
            of("fbi", chip.fbi.served_at(now).busy, 1),
            bus("sram push bus", sram_push),
            bus("sram pull bus", sram_pull),
            bus("sdram push bus", sdram_push),
            bus("sdram pull bus", sdram_pull),
            Busy {
                name: "ix bus",
                amount: chip.cards.bus_time_at(self.now()).0,
                whole: self.now().0,
                parts: 1,
            },
        ];
        if chip.spec.has_msf() {
            all.push(of("msf", chip.msf.served_at(now).busy, 1));
        }
        all
    }

    /// The totals at a time that is not in the past.
    fn totals(&self, at: Time) -> Totals {
        let cards = &self.chip.cards;
        Totals {
            seconds: at.as_seconds(),
            packets: cards.left,
            sent: cards.outputs.sent,
            sent_bytes: cards.outputs.sent_bytes,
            lost: cards.lost_at_input(),
        }
    }

    /// Takes the baseline if the warm-up has ended. Returns whether it did so in this call.
    pub(crate) fn begins_to_count(&mut self) -> bool
    where
        E: Metered,
    {
        if self.counted_from.is_some() || !self.chip.cards.is_warm() {
            return false;
        }
        let now = self.now();
        self.counted_from = Some(Baseline {
            now,
            totals: self.totals(now),
            engines: (0..self.chip.engines.len()).map(|engine| self.used(engine)).collect(),
            units: self.busy(),
            energy: self.power().map(|power| power.groups()).unwrap_or_default(),
        });
        self.chip.cards.measure_latencies(now);
        true
    }

    /// The cycles in which the command buses were taken, averaged over all.
    pub(crate) fn command_bus_busy(&self) -> u64 {
        let network = &self.chip.network;
        network.busy_at(self.chip.core_cycle(self.now())) / network.lanes().max(1) as u64
    }

    /// All statistics: `engines` with the use of each engine and of its contexts, `units`, `cards`,
    /// `packets`, with a governor `governor`, and with an energy meter `power`. All count from the
    /// start, except for the shares of engines' cycles. Cycles of a context are engine cycles.
    /// Packets that were offered are done, lost or still to come.
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
            // A channel that holds most of the used words limits the whole memory.
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

    /// The record of a run, for users and programs.
    pub fn report(&self, work: Duration) -> wireloom_machine::Record
    where
        E: Metered,
    {
        let chip = &self.chip;
        let now = self.now();
        let from = self.counted_from.clone().unwrap_or_else(|| match chip.cards.has_warm_up() {
            // The warm-up has not ended, so nothing counts yet.
            true => Baseline { now, totals: self.totals(now), ..Baseline::default() },
            false => Baseline::default(),
        });
        let end = match chip.cards.to_come() {
            0 => chip.cards.last_left().max(from.now),
            _ => now,
        };
        let groups = self.power().map(|power| power.groups());
        let watts = groups.map(|groups| {
            let mean = |place: usize| {
                Energy(groups[place].0 - from.energy[place].0).mean_watts(now.since(from.now))
            };
            Watts { engines: mean(0), rest_of_chip: mean(1), memories: mean(2) }
        });
        let to = self.totals(end);
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
            throughput: Throughput::between(&from.totals, &to, chip.cards.latency().into()),
            simulated_us: now.as_seconds() * 1e6,
            cycles: chip.core_cycle(now),
            usage: engines.busy,
            outputs: chip.cards.outputs,
            engines,
            instructions: chip.engines.iter().map(|engine| engine.used.busy).sum(),
            engine_cycles_a_second: ratio(engine_cycles as f64, work.as_secs_f64()),
            use_of: use_of.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect(),
            watts: watts.map(|watts| watts.sum()),
            watts_of: watts,
            nanojoules_a_packet: watts.map(|watts| {
                let joules = watts.sum() * now.since(from.now).as_seconds();
                ratio(joules * 1e9, (to.packets - from.totals.packets) as f64)
            }),
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

impl Watts {
    fn sum(self) -> f64 {
        self.engines + self.rest_of_chip + self.memories
    }
}

impl Values {
    fn lines(&self) -> Vec<Line> {
        let Shares { busy, aborted, stalled, idle } = self.engines;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let power = self.watts_of.map(|watts| {
            let Watts { engines, rest_of_chip, memories } = watts;
            let all = watts.sum();
            let text = format!(
                "{all:.3} W: engines {engines:.3}, rest of the chip {rest_of_chip:.3}, memories \
                 {memories:.3}"
            );
            Line::new("power", text)
        });
        let mut lines = Vec::from_iter(self.throughput.measured_from());
        lines.extend([
            self.throughput.rate(),
            Line::new("bandwidth", format!("{:.3} Gb/s", self.throughput.gbps)),
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
            self.throughput.lost(),
            Line::new(
                "simulated",
                format!(
                    "{} instructions, {} engine cycles a second",
                    thousands(self.instructions),
                    thousands(self.engine_cycles_a_second as u64)
                ),
            ),
        ]);
        let nowhere = self.outputs.nowhere;
        lines.extend((nowhere > 0).then(|| Line::no_such_port(nowhere)));
        lines.extend(power);
        lines.extend(self.did.map(|Did { slower, faster, stopped, started, late, lost }| {
            let steps = format!("{} steps slower, {} faster", thousands(slower), thousands(faster));
            let clocks = format!("engines stopped {}, started {}", stopped, started);
            // Without a governor these packets would have been served sooner.
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
