//! Network processors in SystemVerilog: built, loaded with tables, simulated, read back.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use wireloom_bits::Bits;
use wireloom_compile::pipeline;
use wireloom_ir::Output;
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store};
use wireloom_rtl::machine::Machine as Description;
use wireloom_rtl::np::{self, Image, Processor};
use wireloom_rtl::sim::{self, BuildError, BuildOptions, Execution, Fault, Resolved, Settings, Simulation};

use super::Settled;
use crate::failure::{Failure, Outcome};
use crate::program::Program;
use crate::progress::Working;
use crate::simulation::{SimulationArgs, SimulationReport};

/// Entries of an offload that are read back without being asked for: each costs some thirty cycles.
const READ_UNASKED: u64 = 4096;
/// Entries of an offload that are compared with golden beside those that golden has changed.
const READ_BESIDE: u64 = 256;

/// Which entries of the offloads that packets change are read back from a simulated machine.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// All of small offloads, and of these.
    Shown(&'a [String]),
    /// Those that stand in this store, the same machine's, and some beside them.
    Like(&'a Store),
}

/// A network processor with a program and its tables.
pub struct Np {
    execution: Execution,
    clock_mhz: u32,
    store: Store,
    /// The offloads that packets change.
    changed: Vec<Changed>,
    /// The contents of the tables, which the model reads when it starts.
    _images: TempDir,
}

/// An offload that packets change, and its copies.
struct Changed {
    offload: String,
    size: u64,
    value_bits: u32,
    targets: Vec<u8>,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::unusable(fault)
    }
}

/// Makes the processor for a program, without simulating it.
///
/// # Errors
/// If the machine has no place for something in the program.
pub fn processor(description: &Description, program: &Program) -> Outcome<Processor> {
    let mut lowered = program.lowered.clone();
    pipeline::optimise(&mut lowered, &description.pass_options());
    np::assemble(&lowered, description).map_err(Failure::unusable)
}

impl Np {
    /// Makes the processor, translates it, and resets it with the store's tables in its memories.
    ///
    /// # Errors
    /// If the machine has no place for something in the program or the tables, or a tool is missing or fails.
    pub fn build(
        description: &Arc<Description>,
        program: &Program,
        store: Store,
        options: &SimulationArgs,
    ) -> Outcome<Self> {
        let processor = processor(description, program)?;
        let clock_mhz = description.clock.core_mhz;
        let folder =
            TempDir::new().map_err(|error| Failure::unusable(format!("a temporary folder: {error}")))?;
        let images = np::images(&processor.plan, &store).map_err(Failure::unusable)?;
        let simulation = simulate(&processor, &images, folder.path(), options.settings(clock_mhz))?;
        let execution = Execution::new(simulation, options.pace(clock_mhz));
        let changed = changed(&processor, &store);
        let mut machine = Self { execution, clock_mhz, store, changed, _images: folder };
        machine.write_initial()?;
        Ok(machine)
    }

    /// As [`super::Machine::execute`].
    pub fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let mut settled = Settled::default();
        self.execution.feed(packets, &mut |resolved| settled.note(&resolved, sink))?;
        Ok(settled)
    }

    /// As [`super::Machine::finish`].
    pub fn finish(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let mut settled = Settled::default();
        self.execution.finish(&mut |resolved| settled.note(&resolved, sink))?;
        Ok(settled)
    }

    /// The offloads: those that packets change as they were last read back.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What the simulation came to.
    pub fn report(&self, built: Duration) -> SimulationReport {
        let run = self.execution.report();
        SimulationReport {
            clock_mhz: self.clock_mhz,
            mpps: run.packets_per_cycle.map(|rate| rate * f64::from(self.clock_mhz)),
            model_seconds: built.as_secs_f64(),
            run,
        }
    }

    /// Sets what the tables say of offloads that packets change: in one copy, since copies are added up.
    fn write_initial(&mut self) -> Outcome {
        for changed in &self.changed {
            for (index, value) in changed.rows(&self.store) {
                let Some(&target) = changed.targets.first() else { continue };
                self.execution.simulation().write_entry(target, index as u32, &value)?;
            }
        }
        Ok(())
    }

    /// Reads offloads that packets change into the store; answers the names of those that were left out.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn read_back(&mut self, wanted: Wanted<'_>) -> Outcome<Vec<String>> {
        let mut left_out = Vec::new();
        for changed in &self.changed {
            let indices: Vec<u64> = match wanted {
                Wanted::Shown(names) if changed.size > READ_UNASKED && !names.contains(&changed.offload) => {
                    left_out.push(changed.offload.clone());
                    continue;
                }
                Wanted::Shown(_) => (0..changed.size).collect(),
                Wanted::Like(other) => {
                    let step = (changed.size / READ_BESIDE).max(1) as usize;
                    let mut indices: Vec<u64> = changed.rows(other).map(|(index, _)| index).collect();
                    indices.extend((0..changed.size).step_by(step));
                    indices.sort_unstable();
                    indices.dedup();
                    indices
                }
            };
            let _working = Working::on(format!("reading back {}", changed.offload));
            changed.read(&indices, self.execution.simulation(), &mut self.store)?;
        }
        Ok(left_out)
    }
}

impl Changed {
    /// The non-zero elements of this offload in a store.
    fn rows(&self, store: &Store) -> impl Iterator<Item = (u64, Bits)> + use<> {
        let rows = match store.find(&self.offload).map(|slot| &slot.content) {
            Some(Content::Kind { instance, .. }) => instance.rows(),
            _ => Vec::new(),
        };
        rows.into_iter().filter_map(|row| {
            let EntryKey::Index(index) = row.key else { return None };
            let value = row.fields.into_iter().map(|(_, bits)| bits).reduce(|high, low| high.concat(&low))?;
            Some((index, value))
        })
    }

    /// Reads elements and adds up their copies.
    fn read(&self, indices: &[u64], simulation: &mut Simulation, store: &mut Store) -> Outcome {
        let addresses: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
        let mut sums = vec![Bits::zero(self.value_bits); indices.len()];
        for &target in &self.targets {
            for (sum, entry) in sums.iter_mut().zip(simulation.read_entries(target, &addresses)?) {
                *sum = self.add(sum, &entry.resize(self.value_bits));
            }
        }
        let Some(Content::Kind { instance, .. }) =
            store.find_mut(&self.offload).map(|slot| &mut slot.content)
        else {
            return Ok(());
        };
        for (&index, value) in indices.iter().zip(sums) {
            let entry = Entry { key: EntryKey::Index(index), value };
            instance.load(entry).map_err(|refused| Failure::unusable(refused.0))?;
        }
        Ok(())
    }

    /// The sum of two copies. Only counters have several, whose two numbers do not carry into each other.
    fn add(&self, a: &Bits, b: &Bits) -> Bits {
        match self.targets.len() {
            1 => b.clone(),
            _ => Bits::from_words(
                self.value_bits,
                &[a.word(0).wrapping_add(b.word(0)), a.word(1).wrapping_add(b.word(1))],
            ),
        }
    }
}

impl Settled {
    fn note(&mut self, resolved: &Resolved, sink: &mut dyn FnMut(Output<'_>)) {
        self.packets += 1;
        if resolved.left.is_none() {
            self.lost.push(resolved.number);
        }
        resolved.outputs().for_each(sink);
    }
}

/// Translates a processor, or takes the model from the cache, and begins a simulation of it with these contents of its tables. They go
/// through files in `folder`, which is needed no longer than this.
///
/// # Errors
/// If a tool is missing or fails, or a file cannot be written.
pub fn simulate(
    processor: &Processor,
    images: &[Image],
    folder: &Path,
    settings: Settings,
) -> Outcome<Simulation> {
    let settings = Settings { arguments: write_images(images, folder)?, ..settings };
    let working = Working::on("translating SystemVerilog");
    let build = BuildOptions { waves: settings.waves.is_some(), ..BuildOptions::default() };
    let model = sim::build(&processor.source(), &build, &mut |what| working.now(what)).map_err(|error| {
        let missing = matches!(error, BuildError::Tool(_));
        let failure = Failure::unusable(error);
        if missing { failure.with_help("network processors are simulated by Verilator") } else { failure }
    })?;
    working.now("loading tables into the model");
    Ok(Simulation::start(&model, &settings)?)
}

/// Writes the contents of the tables into a folder; answers the arguments that load them.
fn write_images(images: &[Image], folder: &Path) -> Outcome<Vec<String>> {
    let mut arguments = Vec::new();
    for image in images {
        let path = folder.join(format!("{}.hex", image.name));
        std::fs::write(&path, &image.text)
            .map_err(|error| Failure::unusable(format!("{}: cannot be written: {error}", path.display())))?;
        arguments.push(format!("+wl_image_{}={}", image.name, path.display()));
    }
    Ok(arguments)
}

/// The offloads that packets change, with the control targets of their copies.
fn changed(processor: &Processor, store: &Store) -> Vec<Changed> {
    let map = np::memory_map(processor);
    let is_changed = |service: &&np::Service| {
        service.config.kind == "counter" || service.port.methods.iter().any(|method| method.name != "read")
    };
    let services = processor.plan.services.iter().filter(|service| service.config.kind != "lpm");
    services
        .filter(is_changed)
        .filter(|service| store.find(&service.offload).is_some())
        .map(|service| Changed {
            offload: service.offload.clone(),
            size: service.elements() as u64,
            value_bits: if service.config.kind == "counter" { 128 } else { service.value_bits() as u32 },
            targets: map
                .iter()
                .filter(|target| target.offload == service.offload)
                .map(|target| target.number as u8)
                .collect(),
        })
        .collect()
}
