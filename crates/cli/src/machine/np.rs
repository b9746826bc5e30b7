//! Network processors in SystemVerilog: built, loaded with tables, simulated, read back.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use wireloom_compile::pipeline;
use wireloom_ir::Output;
use wireloom_lang::suggest::suggest_or_list;
use wireloom_net::Packet;
use wireloom_offloads::{Store, Update};
use wireloom_rtl::machine::{Machine as Description, kinds};
use wireloom_rtl::np::{self, Image, Processor};
use wireloom_rtl::sim::{
    self, BuildError, BuildOptions, Execution, Fault, Resolved, Settings, Simulation, Source,
};

use super::Settled;
use super::np_state::{Changed, changed};
use super::np_updates::Updater;
use crate::failure::{Failure, Outcome};
use crate::program::Program;
use crate::progress::Working;
use crate::simulation::{SimulationArgs, SimulationReport};

/// The environment's variable for [`optimise`].
const OPTIMISE: &str = "WIRELOOM_NP_OPTIMISE";

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
    processor: Processor,
    updater: Updater,
    /// Updates that are made when their packets are there, of which the store does not know.
    scheduled: Vec<Update>,
    /// Packets that it was given.
    given: u64,
    execution: Execution,
    clock_mhz: u32,
    store: Store,
    /// The offloads that packets change.
    changed: Vec<Changed>,
    /// The contents of the tables, which the model reads when it starts.
    _images: TempDir,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::unusable(fault)
    }
}

/// Makes the processor for a program, in its embedded test rig or alone, without simulating it.
///
/// # Errors
/// If the machine has no place for something in the program.
pub fn processor(description: &Description, program: &Program, in_rig: bool) -> Outcome<Processor> {
    let program = optimised(description, program);
    let assemble = if in_rig { np::assemble_rig } else { np::assemble };
    assemble(&program, description).map_err(Failure::unusable)
}

/// Says on standard error which sections of a machine's description are for no offload of a program: they may be misspelt, or for another one.
pub fn warn_of_sections_for_nothing(description: &Description, program: &wireloom_ir::Program) {
    let engine = &program.engines[program.main.index()];
    let offloads: Vec<&str> = engine.offloads.iter().map(|offload| offload.name.as_str()).collect();
    for section in description.sections_for_nothing(&offloads) {
        eprintln!(
            "warning: machine {}: [offload.{section}] changes nothing here: `{}` has no such offload, and it is no kind",
            description.name, engine.name
        );
        let names = offloads.iter().copied().chain(kinds().map(|kind| -> &str { kind }));
        if let Some(help) = suggest_or_list(section, "offloads and kinds", names) {
            eprintln!("help: {help}");
        }
    }
}

/// The same for a chip with several: the names of its modules begin with `label`.
///
/// # Errors
/// As [`processor`].
pub fn labelled_processor(description: &Description, program: &Program, label: &str) -> Outcome<Processor> {
    np::assemble_labelled(&optimised(description, program), description, label).map_err(Failure::unusable)
}

/// A program as a machine's engines run it.
fn optimised(description: &Description, program: &Program) -> wireloom_ir::Program {
    let mut lowered = program.lowered.clone();
    pipeline::optimise(&mut lowered, &description.pass_options());
    lowered
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
        let processor = processor(description, program, false)?;
        let clock_mhz = description.clock.core_mhz;
        let folder =
            TempDir::new().map_err(|error| Failure::unusable(format!("a temporary folder: {error}")))?;
        let images = np::images(&processor.plan, &store).map_err(Failure::unusable)?;
        let simulation = simulate(&processor.source(), &images, folder.path(), options.settings(clock_mhz))?;
        let execution = Execution::new(simulation, options.pace(clock_mhz));
        let changed = changed(&processor, &store);
        let updater = Updater::default();
        let mut machine = Self {
            processor,
            updater,
            scheduled: Vec::new(),
            given: 0,
            execution,
            clock_mhz,
            store,
            changed,
            _images: folder,
        };
        machine.write_initial()?;
        Ok(machine)
    }

    /// As [`super::Machine::execute`].
    pub fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let mut settled = Settled::default();
        check_ports(&self.processor, self.given, packets)?;
        self.given += packets.len() as u64;
        self.execution.feed(packets, &mut |resolved| settled.note(&resolved, sink))?;
        Ok(settled)
    }

    /// As [`super::Machine::finish`].
    pub fn finish(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let mut settled = Settled::default();
        self.execution.finish(&mut |resolved| settled.note(&resolved, sink))?;
        for update in self.scheduled.drain(..).filter(|update| update.packet < self.given) {
            update.apply(&mut self.store).map_err(|refused| Failure::unusable(refused.0))?;
        }
        Ok(settled)
    }

    /// Makes an update while packets flow, when its packet is there.
    ///
    /// # Errors
    /// If it does not suit the offload, or there is no room: a sentence.
    pub fn schedule(&mut self, update: &Update) -> Result<(), String> {
        let operations = self.updater.operations(&self.processor, &self.store, update)?.into();
        self.scheduled.push(update.clone());
        self.execution.schedule([sim::Update { packet: update.packet, operations }]);
        Ok(())
    }

    /// As [`super::Machine::update`].
    pub fn update(&mut self, update: &Update) -> Result<(), String> {
        let operations = self.updater.operations(&self.processor, &self.store, update)?;
        update.apply(&mut self.store).map_err(|refused| refused.0)?;
        operations
            .iter()
            .try_for_each(|operation| self.execution.operate(operation).map_err(|fault| fault.to_string()))
    }

    /// The offloads: those that packets change as they were last read back.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// As [`super::Machine::has_port`].
    pub fn has_port(&self, number: u16) -> bool {
        self.processor.geometry.has_port(number)
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

    /// Sets what the tables say of offloads that packets change.
    fn write_initial(&mut self) -> Outcome {
        for changed in &self.changed {
            changed.write_initial(self.execution.simulation(), &self.store)?;
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
            let _working = Working::on(format!("reading back {}", changed.offload()));
            if !changed.read_back(wanted, self.execution.simulation(), &mut self.store)? {
                left_out.push(changed.offload().to_owned());
            }
        }
        Ok(left_out)
    }
}

/// Refuses packets, numbered on from `first`, that come in on a port that a processor does not have.
///
/// # Errors
/// If there is one: the first.
pub fn check_ports(processor: &Processor, first: u64, packets: &[Packet]) -> Outcome {
    let Some(ports) = &processor.geometry.ports else { return Ok(()) };
    let foreign = |(_, packet): &(u64, &Packet)| !ports.numbers.contains(&packet.ingress);
    let Some((number, packet)) = (first..).zip(packets).find(foreign) else { return Ok(()) };
    let numbers: Vec<String> = ports.numbers.iter().map(u16::to_string).collect();
    Err(Failure::unusable(format!(
        "packet {number} (counted from 0) came in on port {}, which machine {} does not have: its ports are {}",
        packet.ingress,
        processor.plan.machine.name,
        numbers.join(", ")
    ))
    .with_help("name the ports in the machine's description: [ports] numbers; or `wireloom traffic --ports`"))
}

impl Settled {
    fn note(&mut self, resolved: &Resolved, sink: &mut dyn FnMut(Output<'_>)) {
        let told = if resolved.left.is_none() { &mut self.lost } else { &mut self.taken };
        told.push(resolved.number);
        resolved.outputs().for_each(sink);
    }
}

/// Translates hardware, or takes the model from the cache, and begins a simulation of it with these contents of its tables. They go
/// through files in `folder`, which is needed no longer than this.
///
/// # Errors
/// If a tool is missing or fails, or a file cannot be written.
pub fn simulate(source: &Source, images: &[Image], folder: &Path, settings: Settings) -> Outcome<Simulation> {
    let settings = Settings { arguments: write_images(images, folder)?, ..settings };
    let working = Working::on("translating SystemVerilog");
    let standard = BuildOptions::default();
    let optimise = optimise()?.unwrap_or(standard.optimise);
    let build = BuildOptions {
        waves: settings.waves.is_some(),
        assertions: settings.assertions,
        optimise,
        ..standard
    };
    let model = sim::build(source, &build, &mut |what| working.now(what)).map_err(|error| {
        let missing = matches!(error, BuildError::Tool(_));
        let failure = Failure::unusable(error);
        if missing { failure.with_help("network processors are simulated by Verilator") } else { failure }
    })?;
    working.now("loading tables into the model");
    Ok(Simulation::start(&model, &settings)?)
}

/// How much the C++ compiler is to optimise models, if the environment says it.
fn optimise() -> Outcome<Option<u8>> {
    match std::env::var_os(OPTIMISE) {
        None => Ok(None),
        Some(level) => match level.to_str().map(str::parse) {
            Some(Ok(level @ 0..=3)) => Ok(Some(level)),
            _ => Err(Failure::unusable(format!("{OPTIMISE} is {level:?}: make it a number from 0 to 3"))),
        },
    }
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
