//! Network processors under test: the rate at which they forward some traffic without loss.
//!
//! Simulations are deterministic, so measurements are cached under a hash of all their inputs.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wireloom_files::TemporaryFolder;
use wireloom_net::Packet;
use wireloom_np::description::NpSpec;
use wireloom_np::processor::{Hash, Image, Processor};
use wireloom_np::simulation::{self, OnLoss, Pace, RigRun, Settings, Simulation, Trial};
use wireloom_offloads::Store;

use wireloom_console::Working;
use wireloom_console::load_store;
use wireloom_machine::{Error, Result};
use wireloom_machine::{Program, Source};
use wireloom_np::machine::{self, Form};

/// The version of the measuring method. A change invalidates cached measurements.
const METHOD: &str = "5";
/// Packets before a measurement, which warm the caches.
const WARM_UP: usize = 1000;
/// The line rate itself is tried if the overloaded machine reaches this share of a packet a cycle
/// on each lane. The overloaded rate is measured in the middle of a run, where the machine may
/// still recover from a slow beginning.
const LINE_RATE: f64 = 0.95;
/// The lowest rate that is tried, as a share of the overloaded machine's rate.
const LEAST_TRIED: f64 = 0.5;
/// Packets of a long run for each place in which a packet can wait.
const PACKETS_PER_PLACE: usize = 100;
/// The resolution of the search for the highest loss-free rate, as a share of that rate.
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
    pub fn new(program: &Source, tables: &[PathBuf]) -> Result<Self> {
        let program = program.compiled()?;
        let (store, _) = load_store(&program.optimised, tables)?;
        Ok(Self { program, store })
    }

    /// Creates the input from a program and its tables.
    pub fn of(program: Program, store: Store) -> Self {
        Self { program, store }
    }

    pub fn into_parts(self) -> (Program, Store) {
        (self.program, self.store)
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Assembles the processor for the program.
    ///
    /// # Errors
    /// If something in the program does not fit the machine.
    pub fn processor(&self, machine: &NpSpec) -> Result<Processor> {
        machine::processor(machine, &self.program, Form::Alone)
    }

    /// Assembles a processor for a chip with several processors. The names of its modules begin
    /// with `label`.
    ///
    /// # Errors
    /// As [`Self::processor`].
    pub fn labelled_processor(&self, machine: &NpSpec, label: &str) -> Result<Processor> {
        machine::processor(machine, &self.program, Form::Labelled(label))
    }
}

/// The rate at which a machine forwards packets of one traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forwarding {
    /// Million packets a second under overload.
    pub saturated: f64,
    /// The highest rate without loss, in million packets a second. 0 if packets were lost even at
    /// half of `saturated` or, near the line rate, at half of that.
    pub loss_free: f64,
    /// Cycles from a packet's first beat in to its last beat out at that rate: mean and maximum.
    pub latency: (f64, u64),
}

/// The rate at which a machine forwards packets of one traffic under overload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overrun {
    /// Million packets a second, in the middle of the run.
    pub mpps: f64,
    /// Beats of a packet on the ingress or the egress lane, whichever is more; the mean.
    pub beats: f64,
}

/// The outcome of packets offered at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// Packets that were lost at the input.
    pub lost: u64,
    /// Million packets a second that were forwarded.
    pub mpps: f64,
}

/// The minimum demand of a packet on a machine, for some traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Cycles for which the packet occupies a thread.
    pub residency: f64,
    /// Slots of an engine.
    pub slots: f64,
    /// Requests to the pipe's offload that the packet calls most often.
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
    /// Assembles the machine. Nothing is translated before it is needed.
    ///
    /// # Errors
    /// If the program or the tables do not fit the machine.
    pub fn new(machine: &NpSpec, loaded: &Loaded) -> Result<Self> {
        let processor = loaded.processor(machine)?;
        let images = processor.plan.images(&loaded.store).map_err(Error::new)?;
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

    pub fn machine(&self) -> &NpSpec {
        &self.processor.plan.machine
    }

    /// Repeats these packets until there are 100 for each place in which one can wait. A machine
    /// that is too slow fills its threads and inputs before it loses a packet, so in a short run it
    /// seems to carry the traffic. A machine that passes a run of this length is at most a
    /// hundredth too slow.
    pub fn long(&self, packets: &[Packet]) -> Vec<Packet> {
        let machine = self.machine();
        let inputs = machine.lanes() * Settings::default().buffer as usize;
        let threads = machine.clusters * machine.engines * machine.threads;
        repeated(packets, PACKETS_PER_PLACE * (threads + inputs))
    }

    /// Measures the rate at which the machine forwards these packets, first under overload, then
    /// the highest rate below that without loss. The program must send every packet.
    ///
    /// # Errors
    /// If a tool is missing or fails, or packets are dropped by the program.
    pub fn forwarding(&mut self, packets: &[Packet]) -> Result<Forwarding> {
        self.remembered("forwarding", packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let overrun = rig.trial(packets, Pace::Most, OnLoss::Count)?;
            let mhz = f64::from(rig.machine().clock.core_mhz);
            let lanes = rig.machine().lanes() as f64;
            let Some(rate) = overrun.packets_per_cycle else {
                return Err(Error::new("ten packets are needed to measure a rate"));
            };
            let is_near = rate > lanes * LINE_RATE;
            let high = if is_near { lanes } else { rate };
            let tried = if is_near { Cow::Owned(rig.long(packets)) } else { packets.into() };
            let mut latency = (0.0, 0);
            let found = simulation::mlffr(
                high * LEAST_TRIED,
                high,
                high * RESOLUTION,
                |rate| -> Result<bool> {
                    let trial = rig.trial(&tried, Pace::PerCycle(rate), OnLoss::Stop)?;
                    if trial.lost == 0 {
                        latency = (trial.latency.mean, trial.latency.most);
                    }
                    Ok(trial.lost > 0)
                },
            )?;
            let loss_free = found.unwrap_or(0.0);
            Ok(Forwarding {
                saturated: rate.max(loss_free) * mhz,
                loss_free: loss_free * mhz,
                latency,
            })
        })
    }

    /// Measures the rate at which the machine forwards these packets under overload.
    ///
    /// # Errors
    /// As [`Self::forwarding`].
    pub fn overrun(&mut self, packets: &[Packet]) -> Result<Overrun> {
        self.remembered("overrun", packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let trial = rig.trial(packets, Pace::Most, OnLoss::Count)?;
            let mhz = f64::from(rig.machine().clock.core_mhz);
            let Some(rate) = trial.packets_per_cycle else {
                return Err(Error::new("ten packets are needed to measure a rate"));
            };
            let came: u64 = packets.iter().map(|packet| simulation::beats(&packet.bytes)).sum();
            let beats = came.max(trial.sent_beats) as f64 / packets.len() as f64;
            Ok(Overrun { mpps: rate * mhz, beats })
        })
    }

    /// Measures the outcome of these packets, offered at `mpps` million a second.
    ///
    /// # Errors
    /// As [`Self::forwarding`].
    pub fn offered(&mut self, packets: &[Packet], mpps: f64) -> Result<Delivered> {
        let mhz = f64::from(self.machine().clock.core_mhz);
        self.remembered(&format!("offered {mpps}"), packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let trial = rig.trial(packets, Pace::PerCycle(mpps / mhz), OnLoss::Count)?;
            Ok(Delivered { lost: trial.lost, mpps: trial.packets_per_cycle.unwrap_or(0.0) * mhz })
        })
    }

    /// Measures the demand of a packet on a machine with one thread, in which nothing waits for
    /// anything else.
    ///
    /// # Errors
    /// As [`Self::forwarding`].
    pub fn demand(&mut self, packets: &[Packet]) -> Result<Demand> {
        self.remembered("demand", packets, |rig| {
            rig.trial(&packets[..WARM_UP.min(packets.len())], Pace::Most, OnLoss::Count)?;
            let trial = rig.trial(packets, Pace::Most, OnLoss::Count)?;
            let a_packet = trial.cycles as f64 / packets.len() as f64;
            let requests = |part: &&simulation::Use| part.kind.starts_with("requests to ");
            let busiest =
                trial.uses.iter().filter(requests).map(|part| part.share).fold(0.0, f64::max);
            Ok(Demand {
                residency: a_packet,
                slots: trial.used("engine runs a step") * a_packet,
                requests: busiest * a_packet,
            })
        })
    }

    fn trial(&mut self, packets: &[Packet], pace: Pace, on_loss: OnLoss) -> Result<Trial> {
        if self.simulation.is_none() {
            let settings =
                Settings { clock_mhz: self.machine().clock.core_mhz, ..Settings::default() };
            let folder = TemporaryFolder::new()
                .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
            let working = Working::on("building the model");
            self.simulation = Some(machine::simulate(
                &self.processor.source(),
                &self.images,
                folder.path(),
                settings,
                &|what| working.now(what),
            )?);
        }
        let simulation = self.simulation.as_mut().expect("it was just begun");
        let trial = simulation.trial(packets, pace, on_loss).map_err(Error::new)?;
        let (sent, all) = (trial.sent + trial.lost, trial.offered);
        if sent < all {
            return Err(Error::new(format!(
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

    /// Returns the cached result, or else the result of `measure`.
    fn remembered<T: Serialize + serde::de::DeserializeOwned>(
        &mut self,
        what: &str,
        packets: &[Packet],
        measure: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut key = self.key;
        key.text(what);
        for packet in packets {
            key.bytes(&packet.ingress.to_le_bytes());
            key.bytes(&packet.bytes);
        }
        let cache = wireloom_install::Cache::of_user("measured");
        let name = format!("{}.json", key.finish());
        if let Some(known) = cache.load(&name).and_then(|text| serde_json::from_slice(&text).ok()) {
            return Ok(known);
        }
        let found = measure(self)?;
        if let Ok(text) = serde_json::to_vec(&found) {
            cache.store(&name, &text);
        }
        Ok(found)
    }
}

/// Repeats these packets until there are at least `least`.
fn repeated(packets: &[Packet], least: usize) -> Vec<Packet> {
    let times = least.div_ceil(packets.len().max(1)).max(1);
    (0..times).flat_map(|_| packets.iter().cloned()).collect()
}

/// The result of a rig.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// Million packets a second that returned or were dropped, at the machine's clock.
    pub mpps: f64,
    /// Packets that neither returned nor were dropped.
    pub missing: u64,
    #[serde(flatten)]
    pub run: RigRun,
}

impl Ran {
    /// Runs a program on a machine in its rig.
    ///
    /// # Errors
    /// If the rig cannot be built, or a tool is missing or fails.
    pub fn new(
        description: &NpSpec,
        program: &Program,
        store: &Store,
        cycles: u64,
        waves: Option<PathBuf>,
    ) -> Result<Self> {
        let processor = machine::processor(description, program, Form::InRig)?;
        let working = Working::on("building the test rig");
        let folder = TemporaryFolder::new()
            .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
        let images = processor.plan.images(store).map_err(Error::new)?;
        let settings =
            Settings { clock_mhz: description.clock.core_mhz, waves, ..Settings::default() };
        let mut simulation =
            machine::simulate(&processor.source(), &images, folder.path(), settings, &|what| {
                working.now(what)
            })?;
        let run = simulation.run_rig(cycles).map_err(Error::new)?;
        let mpps = run.packets_per_cycle * f64::from(description.clock.core_mhz);
        Ok(Self { mpps, missing: run.report.missing(), run })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_repeated_until_it_is_long_enough() {
        let packet = |byte| Packet { ingress: 0, arrival_ns: 0, bytes: vec![byte; 60] };
        let packets: Vec<Packet> = (0..3).map(packet).collect();
        for (least, count) in [(0, 3), (3, 3), (4, 6), (10, 12)] {
            let long = repeated(&packets, least);
            assert_eq!(long.len(), count);
            assert!(long.iter().zip(packets.iter().cycle()).all(|(a, b)| a.bytes == b.bytes));
        }
        assert!(repeated(&[], 10).is_empty());
    }
}
