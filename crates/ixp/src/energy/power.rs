//! The energy of a run, by component, by engine and over time.

use wireloom_power::PartKey;
use wireloom_sim::energy::{Class, Component, PowerState};
use wireloom_sim::stats::{Record, Series};
use wireloom_sim::{Energy, EnergyMeter, Time};

use super::{ChipPart, EnginePart, GATED, ON, chip_part, engine_part, regulator};

/// The energy of a run.
#[derive(Clone, Debug)]
pub struct Power {
    meter: EnergyMeter,
    engines: usize,
}

impl Power {
    /// Takes a settled meter of a machine with this number of engines.
    pub fn new(meter: EnergyMeter, engines: usize) -> Self {
        Self { meter, engines }
    }

    pub fn meter(&self) -> &EnergyMeter {
        &self.meter
    }

    /// The total energy.
    pub fn total(&self) -> Energy {
        self.meter.total()
    }

    /// The energy of a part, summed over all engines.
    pub fn engine_parts(&self, part: EnginePart) -> Energy {
        (0..self.engines).map(|engine| self.meter.energy(engine_part(engine, part))).sum()
    }

    /// The energy of a part without leakage, summed over all engines.
    pub fn engine_part_dynamic(&self, part: EnginePart) -> Energy {
        let classes = part.part().classes.len() as u32;
        let engines = (0..self.engines).map(|engine| engine_part(engine, part));
        let classes = engines.flat_map(|part| (0..classes).map(move |class| (part, Class(class))));
        classes.map(|(part, class)| self.meter.events(part, class).1).sum()
    }

    /// The energy of a part of the chip.
    pub fn chip_part(&self, part: ChipPart) -> Energy {
        self.meter.energy(chip_part(self.engines, part))
    }

    /// The energy of an engine without its voltage regulator.
    pub fn engine(&self, engine: usize) -> Energy {
        let parts = EnginePart::ALL.iter();
        parts.map(|part| self.meter.energy(engine_part(engine, *part))).sum()
    }

    /// The energy of all voltage changes.
    pub fn changes(&self) -> Energy {
        (0..self.engines).map(|engine| self.meter.energy(regulator(self.engines, engine))).sum()
    }

    /// The leakage energy of all engines.
    pub fn engines_leak(&self) -> Energy {
        let parts = (0..self.engines)
            .flat_map(|engine| EnginePart::ALL.iter().map(move |part| engine_part(engine, *part)));
        let state = |component, state: PowerState| self.meter.state(component, state).1;
        parts.map(|part| state(part, ON) + state(part, GATED)).sum()
    }

    /// The energy of idle port cycles of a part, summed over all engines.
    pub fn engine_part_idle(&self, part: EnginePart) -> Energy {
        let class = Class(part.part().class("idle") as u32);
        let engines = (0..self.engines).map(|engine| engine_part(engine, part));
        engines.map(|part| self.meter.events(part, class).1).sum()
    }

    /// The energy of idle port cycles in all engines.
    pub fn engines_idle(&self) -> Energy {
        EnginePart::ALL.iter().map(|part| self.engine_part_idle(*part)).sum()
    }

    /// The mean power in watts: of engines with their regulators, of the rest of the chip, and of
    /// the memory chips.
    pub fn watts(&self, now: Time) -> [f64; 3] {
        self.groups().map(|energy| energy.mean_watts(now))
    }

    /// The energy of engines with their regulators, of the rest of the chip, and of the memory
    /// chips.
    pub fn groups(&self) -> [Energy; 3] {
        let engines: Energy = (0..self.engines).map(|engine| self.engine(engine)).sum();
        let parts = |are_memory_chips: bool| {
            let parts =
                ChipPart::ALL.iter().filter(|part| part.is_memory_chip() == are_memory_chips);
            parts.map(|part| self.chip_part(*part)).sum()
        };
        [engines + self.changes(), parts(false), parts(true)]
    }

    /// The energy record: `energy` and `mean_w`; `parts` sums each part over all engines, `engines`
    /// sums all parts of each engine, and `components` lists every component with its events,
    /// states and voltages.
    pub fn record(&self, now: Time) -> Record {
        let mut parts = Record::new();
        for part in EnginePart::ALL {
            parts.add(&part.part().name, self.engine_parts(*part));
        }
        for part in ChipPart::ALL {
            parts.add(&part.part().name, self.chip_part(*part));
        }
        parts.add("voltage_changes", self.changes());
        let mut engines = Record::new();
        for engine in 0..self.engines {
            engines.add(&format!("engine_{engine}"), self.engine(engine));
        }
        let mut all = self.meter.record(now);
        all.add("parts", parts);
        all.add("engines", engines);
        all
    }

    /// The power in each interval, in watts: `power_w` in total, and a column for each engine and
    /// each part of the chip.
    pub fn over_time(&self, interval: Time, now: Time) -> Series {
        let mut series = Series::new(interval);
        let mut column = |name: &str, components: &[Component]| {
            let column = series.column(name);
            for component in components {
                for (row, energy) in self.meter.intervals(*component).iter().enumerate() {
                    let from = Time(row as u64 * interval.0);
                    let length = interval.min(now.since(from)).max(Time(1));
                    series.add(column, from, energy.mean_watts(length));
                }
            }
        };
        let engine = |engine| {
            let parts = EnginePart::ALL.iter().map(move |part| engine_part(engine, *part));
            parts.chain([regulator(self.engines, engine)]).collect::<Vec<_>>()
        };
        let chip: Vec<Component> =
            ChipPart::ALL.iter().map(|part| chip_part(self.engines, *part)).collect();
        let engines: Vec<Component> = (0..self.engines).flat_map(engine).collect();
        column("power_w", &[engines, chip.clone()].concat());
        for number in 0..self.engines {
            column(&format!("engine_{number}_w"), &engine(number));
        }
        for (part, component) in ChipPart::PARTS.iter().zip(chip) {
            column(&format!("{}_w", part.name), &[component]);
        }
        series
    }
}
