//! Network processors under test: how many packets of some traffic they forward without loss.
//!
//! A simulation gives the same result each time, so what was measured is remembered, under a hash of all that it follows from.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use wireloom_net::Packet;
use wireloom_offloads::Store;
use wireloom_rtl::machine::Machine as Description;
use wireloom_rtl::np::{self, Hash, Image, Processor};
use wireloom_rtl::sim::{self, OnLoss, Pace, Settings, Simulation, Trial};

use crate::failure::{Failure, Outcome};
use crate::machine::{self, load_store};
use crate::program::{Program, ProgramArgs};

/// Changes when measurements are taken in another way: what was remembered before counts no longer.
const METHOD: &str = "3";
/// Packets that go before a measurement, so that caches hold what they will hold.
const WARM_UP: usize = 1000;
/// From this share of a packet a cycle on each lane on, that rate itself is tried: what an overrun machine does is measured in the
/// middle of a run, where it may still make up for a slow beginning.
const LINE_RATE: f64 = 0.95;
/// The least rate that is tried, as a share of what the machine does when it is overrun.
const LEAST_TRIED: f64 = 0.5;
/// How closely the greatest rate without loss is looked for, as a share of the same.
const RESOLUTION: f64 = 0.005;

/// A program and its tables, for any network processor.
pub struct Loaded {
    program: Program,
    store: Store,
}

impl Loaded {
    /// Compiles a program and loads its tables.
    ///
    /// # Errors
    /// If either is refused.
    pub fn new(program: &ProgramArgs, tables: &[PathBuf]) -> Outcome<Self> {
        let program = program.compiled()?;
        let (store, _) = load_store(&program.optimised, tables)?;
        Ok(Self { program, store })
    }

    /// A program and its tables that were made before.
    pub fn of(program: Program, store: Store) -> Self {
        Self { program, store }
    }

    /// Both, apart.
    pub fn into_parts(self) -> (Program, Store) {
        (self.program, self.store)
    }

    /// Says which sections of a machine's description are for nothing in the program.
    pub fn warn_of_sections_for_nothing(&self, machine: &Description) {
        machine::warn_of_sections_for_nothing(machine, &self.program.optimised);
    }

    /// The processor for it.
    ///
    /// # Errors
    /// If the machine has no place for something in the program.
    pub fn processor(&self, machine: &Description) -> Outcome<Processor> {
        machine::processor(machine, &self.program, false)
    }

    /// The same for a chip with several: the names of its modules begin with `label`.
    ///
    /// # Errors
    /// As [`Self::processor`].
    pub fn labelled_processor(&self, machine: &Description, label: &str) -> Outcome<Processor> {
        machine::labelled_processor(machine, &self.program, label)
    }
}

/// How fast a machine forwards packets of one traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forwarding {
    /// Million packets a second when more of them wait than it can take.
    pub saturated: f64,
    /// The greatest rate, in million packets a second, at which none was lost; 0 if there was loss at half of the above.
    pub loss_free: f64,
    /// Cycles from a packet's first beat in to its last beat out at that rate: mean and most.
    pub latency: (f64, u64),
}

/// What became of packets that were offered at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// Packets that were lost at the input.
    pub lost: u64,
    /// Million packets a second that were forwarded.
    pub mpps: f64,
}

/// What a packet of some traffic asks of a machine, at the least.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Cycles that it keeps a thread.
    pub residency: f64,
    /// Slots of an engine.
    pub slots: f64,
    /// Requests to the offload of the pipe that it calls most often.
    pub requests: f64,
}

/// A network processor with a program and tables.
pub struct Rig {
    processor: Processor,
    images: Vec<Image>,
    key: Hash,
    simulation: Option<Simulation>,
}

impl Rig {
    /// Puts the machine together; nothing is translated before it is needed.
    ///
    /// # Errors
    /// If the machine has no place for the program or the tables.
    pub fn new(machine: &Description, loaded: &Loaded) -> Outcome<Self> {
        let processor = loaded.processor(machine)?;
        let images = np::images(&processor.plan, &loaded.store).map_err(Failure::unusable)?;
        let mut key = Hash::default();
        key.text(METHOD);
        for file in &processor.source().files {
            key.text(&file.text);
        }
        for image in &images {
            key.text(&image.name);
            key.text(&image.text);
        }
        Ok(Self { processor, images, key, simulation: None })
    }

    /// The machine.
    pub fn machine(&self) -> &Description {
        &self.processor.plan.machine
    }

    /// How fast it forwards these packets, each of which it must send: first when it is overrun, then the greatest rate below that
    /// without loss.
    ///
    /// # Errors
    /// If a tool is missing or fails, or packets are dropped by the program.
    pub fn forwarding(&mut self, packets: &[Packet]) -> Outcome<Forwarding> {
        self.remembered("forwarding", packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let overrun = rig.trial(packets, Pace::Most, OnLoss::Count)?;
            let mhz = f64::from(rig.machine().clock.core_mhz);
            let lanes = rig.machine().lanes() as f64;
            let Some(rate) = overrun.packets_per_cycle else {
                return Err(Failure::unusable("ten packets are needed to measure a rate"));
            };
            let high = if rate > lanes * LINE_RATE { lanes } else { rate };
            let mut latency = (0.0, 0);
            let found = sim::mlffr(high * LEAST_TRIED, high, high * RESOLUTION, |rate| -> Outcome<bool> {
                let trial = rig.trial(packets, Pace::PerCycle(rate), OnLoss::Stop)?;
                if trial.lost == 0 {
                    latency = (trial.latency.mean, trial.latency.most);
                }
                Ok(trial.lost > 0)
            })?;
            let loss_free = found.unwrap_or(0.0);
            Ok(Forwarding { saturated: rate.max(loss_free) * mhz, loss_free: loss_free * mhz, latency })
        })
    }

    /// What becomes of these packets when so many million a second are offered.
    ///
    /// # Errors
    /// As [`Self::forwarding`].
    pub fn offered(&mut self, packets: &[Packet], mpps: f64) -> Outcome<Delivered> {
        let mhz = f64::from(self.machine().clock.core_mhz);
        self.remembered(&format!("offered {mpps}"), packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let trial = rig.trial(packets, Pace::PerCycle(mpps / mhz), OnLoss::Count)?;
            Ok(Delivered { lost: trial.lost, mpps: trial.packets_per_cycle.unwrap_or(0.0) * mhz })
        })
    }

    /// What a packet asks of a machine: to be measured on a machine of one thread, where nothing waits for anything else.
    ///
    /// # Errors
    /// As [`Self::forwarding`].
    pub fn demand(&mut self, packets: &[Packet]) -> Outcome<Demand> {
        self.remembered("demand", packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let trial = rig.trial(packets, Pace::Most, OnLoss::Count)?;
            let a_packet = trial.cycles as f64 / packets.len() as f64;
            let requests = |part: &&sim::Use| part.kind.starts_with("requests to ");
            let busiest = trial.uses.iter().filter(requests).map(|part| part.share).fold(0.0, f64::max);
            Ok(Demand {
                residency: a_packet,
                slots: trial.used("engine runs a step") * a_packet,
                requests: busiest * a_packet,
            })
        })
    }

    fn trial(&mut self, packets: &[Packet], pace: Pace, on_loss: OnLoss) -> Outcome<Trial> {
        if self.simulation.is_none() {
            let settings = Settings { clock_mhz: self.machine().clock.core_mhz, ..Settings::default() };
            let folder =
                TempDir::new().map_err(|error| Failure::unusable(format!("a temporary folder: {error}")))?;
            self.simulation =
                Some(machine::simulate(&self.processor.source(), &self.images, folder.path(), settings)?);
        }
        let simulation = self.simulation.as_mut().expect("it was just begun");
        let trial = simulation.trial(packets, pace, on_loss)?;
        let (sent, all) = (trial.sent + trial.lost, trial.offered);
        if sent < all {
            return Err(Failure::unusable(format!(
                "{}: of {all} packets, {} were dropped or left for the control processor",
                self.machine().name,
                all - sent
            ))
            .with_help(
                "rates are those of packets that are forwarded: the tables must know their destinations",
            ));
        }
        Ok(trial)
    }

    /// What was found before, or what `measure` finds now.
    fn remembered<T: Serialize + serde::de::DeserializeOwned>(
        &mut self,
        what: &str,
        packets: &[Packet],
        measure: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let mut key = self.key;
        key.text(what);
        for packet in packets {
            key.bytes(&packet.ingress.to_le_bytes());
            key.bytes(&packet.bytes);
        }
        let path = folder().join(format!("{}.json", key.finish()));
        if let Some(known) = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
            return Ok(known);
        }
        let found = measure(self)?;
        // The next run can do without if it cannot be written.
        let _ = fs::create_dir_all(folder());
        if let Ok(text) = serde_json::to_vec(&found) {
            let _ = crate::output::write_file(&path, &text);
        }
        Ok(found)
    }
}

/// Where measurements are remembered: beside the translated models.
fn folder() -> PathBuf {
    sim::cache_folder("measured")
}
