//! Assembly of the canonical architecture (the Gorilla paper, Figure 4): clusters, pipes, services.
//!
//! [`assemble`] turns a program and a machine into a [`Processor`]: generated modules, each printed
//! once from a tree, and the templates that they use. From the inside out the modules are
//! `ENGINE_engine` (made by [`wireloom_codegen_hardware::engine`]), `ENGINE_cluster`,
//! `ENGINE_pipe` and `np_top`. `np_sim` is `np_top` with models of its memories. [`assemble_rig`]
//! puts `np_top` into the embedded test rig, `np_rig`. [`chip`] puts several processors onto one
//! chip.

mod bodies;
pub(crate) mod called;
mod channels;
pub mod chip;
mod cluster;
pub(crate) mod contents;
mod cost;
mod counted_reasons;
pub(crate) mod design;
pub(crate) mod error;
mod folder;
mod fusesoc;
pub(crate) mod image;
mod integration;
pub(crate) mod memory_map;
mod pipe;
pub(crate) mod plan;
mod planning;
mod ports;
pub(crate) mod probe_port;
pub(crate) mod probes;
mod reasons;
mod request_paths;
pub(crate) mod rig;
pub(crate) mod services;
pub(crate) mod templates;
mod testbench;
mod top;
pub(crate) mod wires;

use wireloom_ir::Program;

pub use called::Called;
pub use channels::{ChannelUse, Channels, channels};
pub use contents::{Contents, Field, Seed};
pub use cost::largest_tables;
pub use design::{Design, File, Hash, Unit};
pub use error::NpError;
pub use folder::{NOT_ESTIMATED, files};
pub use image::Image;
pub use memory_map::{MemoryMap, Register, Target, memory_map};
pub use plan::{Channel, Plan, Service};
pub use reasons::{ReasonCount, ReasonCounter};
pub use request_paths::Way;
pub use rig::REPORT_BASE;
pub use services::channel_latency;
pub use testbench::Stimulus;

use crate::description::{NpSpec, Place, ShellKind};
use crate::simulation::{Followed, Geometry, NarrowPorts, PipelinedStep, Source};
use wireloom_codegen_hardware::engine::{ChainedStep, EngineModule, Shell};
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::{Item, Module};

/// A network processor.
#[derive(Clone, Debug)]
pub struct Processor {
    pub plan: Plan,
    pub engine: EngineModule,
    /// The sources, with `np_top` or `np_rig` as the top module.
    pub design: Design,
    /// The top module of the simulation, and other files that only the simulation needs.
    pub simulation: Vec<File>,
    /// The shape of the processor's ports.
    pub geometry: Geometry,
}

/// Builds a network processor.
///
/// The program must have been optimised with the header ports of the machine
/// ([`NpSpec::pass_options`]).
///
/// # Errors
/// If the program cannot become hardware, or the machine lacks something that it uses.
pub fn assemble(program: &Program, machine: &NpSpec) -> Result<Processor, NpError> {
    build(program, machine, false, "")
}

/// Builds a network processor that shares a design with others. The names of its modules, memory
/// channels and images begin with `label`.
///
/// # Errors
/// Returns the errors of [`assemble`].
pub fn assemble_labelled(
    program: &Program,
    machine: &NpSpec,
    label: &str,
) -> Result<Processor, NpError> {
    build(program, machine, false, label)
}

/// Builds a network processor in its embedded test rig.
///
/// # Errors
/// Returns the errors of [`assemble`], and an error if the rig cannot replace some interface.
pub fn assemble_rig(program: &Program, machine: &NpSpec) -> Result<Processor, NpError> {
    build(program, machine, true, "")
}

fn build(
    program: &Program,
    machine: &NpSpec,
    in_rig: bool,
    label: &str,
) -> Result<Processor, NpError> {
    let shell = match machine.engine.shell {
        ShellKind::Multithreaded => Shell::Multithreaded,
        ShellKind::StateMachine => Shell::StateMachine,
        ShellKind::Pipelined => Shell::Pipelined,
    };
    let options = wireloom_codegen_hardware::core::Options {
        levels: machine.engine.stage_levels,
        header_bytes: machine.engine.header_bytes,
    };
    let mut program = program.clone();
    program.engines.iter_mut().for_each(|engine| engine.name.insert_str(0, label));
    let engine = wireloom_codegen_hardware::engine::build(&program, program.main, &options, shell)?;
    let plan = Plan { rig: in_rig, ..Plan::new(&program, machine, &engine, label)? };
    let mut modules = vec![cluster::module(&plan), pipe::module(&plan), top::top(&plan)];
    let simulation = if in_rig {
        rig::check(&plan)?;
        modules.push(rig::module(&plan));
        rig::simulation(&plan)
    } else {
        top::simulation(&plan)
    };
    let modules: Vec<Module> = modules.into_iter().map(declared_first).collect();
    let simulation = declared_first(simulation);
    let mut generated: Vec<File> =
        engine.modules.iter().map(|module| File::generated(module, &engine.name)).collect();
    let in_pipe = |module: &Module| File::generated(module, &plan.pipe_module());
    // A module comes after the modules inside it.
    let of_lookup = |lookup: &Lookup| [&lookup.pipeline.module, &lookup.module].map(in_pipe);
    generated.extend(plan.lookups.iter().flat_map(of_lookup));
    for called in plan.services.iter().filter_map(|service| service.called.as_ref()) {
        let module = &called.pipeline.module;
        // Several offloads may call the same engine.
        if !generated.iter().any(|file| file.name == module.file()) {
            generated.push(in_pipe(module));
        }
    }
    generated.extend(modules.iter().map(|module| File::generated(module, &module.name)));
    let (files, simulation) = templates::complete(generated, &simulation, machine.reset);
    let unit = |name: &str, instances: Vec<(String, usize)>| Unit {
        name: name.to_owned(),
        parameters: Vec::new(),
        instances,
    };
    let mut innermost = unit(&engine.name, Vec::new());
    innermost.parameters = plan.engine_parameters();
    let mut units = vec![
        innermost,
        unit(&plan.cluster_module(), vec![(engine.name.clone(), machine.engines)]),
        unit(&plan.pipe_module(), vec![(plan.cluster_module(), machine.clusters_a_pipe())]),
        unit(&plan.top_module(), vec![(plan.pipe_module(), machine.lanes())]),
    ];
    if in_rig {
        units.push(unit("np_rig", vec![("np_top".into(), 1)]));
    }
    let top = units.last().expect("there are some").name.clone();
    let design = Design { top, files, units };
    let geometry = geometry(&plan);
    Ok(Processor { plan, engine, design, simulation, geometry })
}

impl Processor {
    /// Returns the sources for Verilator: [`Self::simulation_top`], and the modules that occur in
    /// it several times.
    pub fn source(&self) -> Source {
        let files = self.design.files.iter().chain(&self.simulation).cloned().collect();
        let machine = &self.plan.machine;
        let copies = [
            (self.engine.name.clone(), machine.clusters * machine.engines),
            (self.plan.cluster_module(), machine.clusters),
            (self.plan.pipe_module(), machine.lanes()),
        ];
        let blocks =
            copies.into_iter().filter(|(_, copies)| *copies > 1).map(|(name, _)| name).collect();
        let (top, geometry) = (self.simulation_top().into(), self.geometry.clone());
        let followed = (!self.plan.rig).then(|| self.followed());
        Source { files, top, blocks, geometry, followed }
    }

    /// Returns the description of the signals that trace a packet.
    pub fn followed(&self) -> Followed {
        let (plan, engine) = (&self.plan, &self.engine);
        let shell = match plan.machine.engine.shell {
            ShellKind::Multithreaded => "wl_engine_mt",
            ShellKind::StateMachine => "wl_engine_fsm",
            ShellKind::Pipelined => "wl_pipeline_step",
        };
        let port = |service: &Service| {
            (service.name.clone(), service.offload.clone(), service.reply_bits > 0)
        };
        let pipelined = |step: &ChainedStep| PipelinedStep {
            prefix: step.prefix.clone(),
            step: step.step,
            request_stages: step.request_stages,
            calls: step.calls.clone(),
        };
        Followed {
            top: format!("TOP.{}.i_np", self.simulation_top()),
            modules: [plan.pipe_module(), plan.cluster_module(), engine.name.clone()],
            counts: [plan.machine.clusters_a_pipe(), plan.machine.engines],
            shell,
            offloads: plan.services.iter().map(port).collect(),
            steps: engine.core.steps.clone(),
            pipeline: engine.chain.iter().map(pipelined).collect(),
        }
    }

    /// Returns the name of the top module of a simulation.
    pub fn simulation_top(&self) -> &'static str {
        if self.plan.rig { "np_rig_sim" } else { "np_sim" }
    }
}

/// Moves declarations of types and nets before their uses.
fn declared_first(mut module: Module) -> Module {
    let declares =
        |item: &Item| matches!(item, Item::Structure { .. } | Item::Net { value: None, .. });
    let (declared, rest): (Vec<Item>, Vec<Item>) = module.items.into_iter().partition(declares);
    module.items = declared;
    module.items.push(Item::Blank);
    module.items.extend(rest);
    module
}

/// Returns the geometry of the ports for the simulation.
fn geometry(plan: &Plan) -> Geometry {
    let machine = &plan.machine;
    Geometry {
        lanes: machine.lanes(),
        ports: machine.ports.are_narrow().then(|| NarrowPorts {
            bytes: machine.ports.bytes,
            numbers: machine.ports.numbers.clone(),
        }),
        user_bits: plan.user_bits,
        arrival: plan.user_bits > 16,
        memory_ratio: if plan.channels.is_empty() { 0 } else { machine.clock.memory_ratio },
        probes: probes::names(plan),
        routers: None,
        clearing: plan.clearing_cycles(),
        longest_pause: plan.longest_pause(),
    }
}

/// Returns the number of copies of a service, for users.
pub fn copies(plan: &Plan, service: &Service) -> usize {
    let machine = &plan.machine;
    match service.rule.place {
        Place::Engine => machine.clusters * machine.engines,
        Place::Cluster => machine.clusters,
        Place::Pipe => machine.lanes(),
    }
}
