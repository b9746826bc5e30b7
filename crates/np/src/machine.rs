//! The `np` machine: builds a network processor, loads its tables, simulates it, and reads its
//! state back.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use wireloom_compile::pipeline;
use wireloom_files::TemporaryFolder;
use wireloom_ir::{self as ir, TIMERS};
use wireloom_lang::suggest::suggest_or_list;
use wireloom_machine::{
    Bar, Capabilities, Configured, Described, Error, Files, Knob, Latency, Line, Machine,
    MachineKind, Milestone, Options, Part, Passage, Pattern, Program, Rate, Record, Refusal,
    Result, Settled, Sink, Snapshot, Throughput, Totals, UpdateError, Wanted, thousands,
};
use wireloom_net::Frame;
use wireloom_offloads::{Store, Update};

use crate::control::{ControlError, ControlPlane};
use crate::description::{MachineError, NpSpec, kinds};
use crate::held::{Held, TimedLine};
use crate::processor::probes::RUNS;
use crate::processor::{self, Image, NpError, Processor, ReasonCount};
use crate::simulation::{
    self, BuildError, BuildOptions, Counts, Distribution, Execution, Fault, Pace, Resolved,
    Settings, Simulation, SimulationResult, Source, Use,
};

pub static KIND: &dyn MachineKind = &Described {
    name: NAME,
    schema: include_str!("../../../machines/np.toml"),
    example: "np-1-2-2",
    configure: |name, description| {
        Ok(Arc::new(NpSpec::build(name, description).map_err(Error::new)?))
    },
    patterned: Some((PATTERN, find)),
};

const NAME: &str = "np";

const PATTERN: Pattern = Pattern {
    shape: "np-C-E-T",
    about: "network processor of C clusters of E engines of T threads, else as np",
};

/// The environment variable that sets the C++ compiler's optimisation level for models, 0 to 3.
const OPTIMISE: &str = "WIRELOOM_NP_OPTIMISE";

/// Number of packets that the input buffer holds for each lane or narrow port.
const BUFFER: u32 = 64;

fn find(name: &str) -> Result<Option<Arc<dyn Configured>>> {
    match NpSpec::find(name) {
        Ok(spec) => Ok(Some(Arc::new(spec))),
        Err(MachineError::Unknown(_)) => Ok(None),
        Err(other) => Err(Error::new(other)),
    }
}

impl Configured for NpSpec {
    fn kind(&self) -> &'static str {
        NAME
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn settings(&self) -> Option<toml::Table> {
        toml::Table::try_from(self).ok()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            shows_drops: false,
            times: true,
            energy: false,
            updates_in_flight: true,
            loses: true,
            translates: true,
        }
    }

    fn knobs(&self) -> &'static [Knob] {
        &[
            Knob::Rate,
            Knob::Buffer,
            Knob::Warm,
            Knob::Idle,
            Knob::Stall,
            Knob::Waves,
            Knob::Assertions,
            Knob::Seed,
        ]
    }

    fn sections_without_effect(&self, program: &ir::Program) -> Vec<String> {
        let engine = &program.engines[program.main.index()];
        let offloads: Vec<&str> =
            engine.offloads.iter().map(|offload| offload.name.as_str()).collect();
        let explain = |section: &str| {
            let names = offloads.iter().copied().chain(kinds().map(|kind| -> &str { kind }));
            let help = suggest_or_list(section, "offloads and kinds", names);
            format!(
                "machine {}: [offload.{section}] changes nothing here: `{}` has no such offload, and it \
                 is no kind{}",
                self.name,
                engine.name,
                help.map_or(String::new(), |help| format!("\nhelp: {help}")),
            )
        };
        self.sections_for_nothing(&offloads).map(explain).collect()
    }

    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        match assembled(self, program, Form::Alone) {
            Ok(_) => Vec::new(),
            Err(error) => vec![refusal(&error)],
        }
    }

    fn start(
        &self,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        Ok(Box::new(Np::build(self, program, store, options, progress)?))
    }

    /// Generates the processor in SystemVerilog, with empty tables and without a test bench.
    fn generate(&self, program: &Program) -> Result<Files> {
        let processor = processor(self, program, Form::Alone)?;
        let store = ir::store(&program.optimised).map_err(|refused| Error::new(refused.0))?;
        let images = processor.plan.images(&store).map_err(Error::new)?;
        Ok(processor::files(&processor, images, None, processor::NOT_ESTIMATED))
    }
}

fn refusal(error: &NpError) -> Refusal {
    let plain = || Refusal { offload: None, step: None, line: None, message: error.to_string() };
    match error {
        NpError::Engine(refusal) => Refusal {
            offload: None,
            step: Some(refusal.step.clone()),
            line: refusal.line(),
            message: refusal.sentence(),
        },
        NpError::Offload { offload, .. } => Refusal { offload: Some(offload.clone()), ..plain() },
        NpError::Illegal { .. } => plain(),
    }
}

/// Returns how packets arrive at a core clock of `clock_mhz` MHz.
fn pace(rate: Option<Rate>, clock_mhz: u32) -> Pace {
    match rate {
        None | Some(Rate::Max) => Pace::Most,
        Some(Rate::Capture) => Pace::Timed { clock_mhz },
        Some(Rate::Mpps(mpps)) => Pace::PerCycle(mpps / f64::from(clock_mhz)),
    }
}

/// Returns the settings of a simulation at a core clock of `clock_mhz` MHz.
fn settings(options: &Options, clock_mhz: u32) -> Settings {
    Settings {
        buffer: options.buffer.unwrap_or(BUFFER),
        idle_percent: options.idle_percent,
        stall_percent: options.stall_percent,
        clock_mhz,
        waves: options.waves.clone(),
        follows: options.follows,
        assertions: options.assertions,
        is_short: options.is_short,
        ..Settings::default()
    }
}

/// A network processor with a program and its tables.
struct Np {
    processor: Processor,
    control: ControlPlane,
    /// Updates that run when their packets arrive. The store does not contain them yet.
    scheduled: Vec<Update>,
    /// The packets that the machine has received.
    given: u64,
    execution: Execution,
    /// The packets that wait for a tick, and the timers, if times of the program end at ticks.
    held: Option<Held>,
    clock_mhz: u32,
    store: Store,
    /// Packet counts of each reason, as of the last read of the state.
    reasons: Vec<ReasonCount>,
    /// Time to build the model, or to load it from the cache.
    built: Duration,
    /// The folder with the table contents, which the model reads when it starts.
    _images: TemporaryFolder,
}

/// The form in which a processor is built.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// As a single processor.
    Alone,
    /// Inside its embedded test rig.
    InRig,
    /// As one of several processors on a chip. The names of its modules begin with this label.
    Labelled(&'a str),
}

/// Builds the processor of a program without simulating it.
///
/// # Errors
/// If the machine cannot provide something that the program uses.
pub fn processor(spec: &NpSpec, program: &Program, form: Form<'_>) -> Result<Processor> {
    assembled(spec, program, form).map_err(Error::new)
}

fn assembled(spec: &NpSpec, program: &Program, form: Form<'_>) -> Result<Processor, NpError> {
    let mut lowered = program.lowered.clone();
    pipeline::optimise(&mut lowered, &spec.pass_options());
    match form {
        Form::Alone => processor::assemble(&lowered, spec),
        Form::InRig => processor::assemble_rig(&lowered, spec),
        Form::Labelled(label) => processor::assemble_labelled(&lowered, spec, label),
    }
}

impl Np {
    /// Builds the processor, translates it, and resets it with the tables of the store in its
    /// memories.
    fn build(
        spec: &NpSpec,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Self> {
        let begin = Instant::now();
        let processor = processor(spec, program, Form::Alone)?;
        let clock_mhz = spec.clock.core_mhz;
        let folder = TemporaryFolder::new()
            .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
        let images = processor.plan.images(&store).map_err(Error::new)?;
        let settings = settings(options, clock_mhz);
        let simulation = simulate(&processor.source(), &images, folder.path(), settings, progress)?;
        let execution = Execution::new(simulation, pace(options.rate, clock_mhz), options.warm);
        let mut machine = Self {
            processor,
            control: ControlPlane::default(),
            scheduled: Vec::new(),
            given: 0,
            execution,
            held: Held::of(&program.lowered),
            clock_mhz,
            store,
            reasons: Vec::new(),
            built: Duration::ZERO,
            _images: folder,
        };
        if let Some(seed) = options.seed {
            for operation in ControlPlane::seeds(&machine.processor, seed) {
                machine.execution.operate(&operation)?;
            }
            // Writing a seed empties a table.
            machine.execution.simulation().rest(machine.processor.plan.clearing_cycles() as u64)?;
        }
        machine.write_initial()?;
        machine.built = begin.elapsed();
        Ok(machine)
    }

    /// Writes the state of the offloads that packets change.
    fn write_initial(&mut self) -> Result {
        let operations = ControlPlane::initial(&self.processor, &self.store).map_err(Error::new)?;
        operations.iter().try_for_each(|operation| Ok(self.execution.operate(operation)?))
    }

    fn operations(&mut self, update: &Update) -> Result<Vec<simulation::Operation>, UpdateError> {
        let made = self.control.update(&self.processor, &self.store, update);
        made.map_err(UpdateError::Refused)
    }

    /// Runs `work` on the line with its timers, if times of the program end at ticks, or else on
    /// the machine itself.
    fn work(
        &mut self,
        sink: Sink<'_>,
        timed: impl FnOnce(&mut TimedLine<'_>) -> Result<(), ControlError>,
        plain: impl FnOnce(&mut Execution, &mut dyn FnMut(Resolved)) -> Result<(), Fault>,
    ) -> Result<Settled> {
        let mut settled = Settled::default();
        let mut note = |resolved: Resolved| note(&mut settled, &resolved, sink);
        match &mut self.held {
            Some(held) => {
                let (processor, execution) = (&self.processor, &mut self.execution);
                timed(&mut TimedLine { held, processor, execution, sink: &mut note })?;
            }
            None => plain(&mut self.execution, &mut note)?,
        }
        Ok(settled)
    }
}

impl Machine for Np {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        check_ports(&self.processor, self.given, frames)?;
        self.given += frames.len() as u64;
        self.work(sink, |line| line.offer(frames), |execution, note| execution.feed(frames, note))
    }

    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        self.work(
            sink,
            |line| line.advance(cycles),
            |execution, note| execution.advance(cycles, note),
        )
    }

    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        self.work(sink, |line| line.advance_to(time_ns), |_, _| Ok(()))
    }

    fn next_timer(&self) -> Option<u64> {
        self.held.as_ref()?.next_timer()
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let settled =
            self.work(sink, |line| line.finish(), |execution, note| execution.finish(note))?;
        for update in self.scheduled.drain(..).filter(|update| update.packet < self.given) {
            update.apply(&mut self.store).map_err(|refused| Error::new(refused.0))?;
        }
        Ok(settled)
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        let settled = self.finish(sink)?;
        let operations = self.operations(update)?;
        let applied = update.apply(&mut self.store);
        applied.map_err(|refused| UpdateError::Refused(refused.0))?;
        for operation in &operations {
            self.execution.operate(operation).map_err(Error::new)?;
        }
        Ok(settled)
    }

    fn schedule(&mut self, update: &Update) -> Result<(), UpdateError> {
        let operations = self.operations(update)?.into();
        self.scheduled.push(update.clone());
        let update = simulation::Update { packet: update.packet, operations };
        match &mut self.held {
            Some(held) => held.schedule(update),
            None => self.execution.schedule([update]),
        }
        Ok(())
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn read_back(&mut self, wanted: Wanted<'_>, progress: &dyn Fn(&str)) -> Result<Vec<String>> {
        progress("reading counters");
        self.reasons = self.processor.read_reasons(self.execution.simulation())?;
        let mut left_out = Vec::new();
        for offload in ControlPlane::changed(&self.processor) {
            progress(&format!("reading back {offload}"));
            let simulation = self.execution.simulation();
            let (processor, store) = (&self.processor, &mut self.store);
            if !ControlPlane::read_back(processor, offload, wanted, simulation, store)? {
                left_out.push(offload.to_owned());
            }
        }
        Ok(left_out)
    }

    /// Rewrites the control plane's tables entry by entry, as updates do, and then the state that
    /// packets change.
    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        self.read_back(Wanted::All, &|_| ())?;
        let changed: Vec<String> =
            ControlPlane::changed(&self.processor).map(str::to_owned).collect();
        let updates = snapshot.updates_from(&self.store)?;
        for update in updates.into_iter().filter(|update| !changed.contains(&update.offload)) {
            match self.update(&update, &mut |_| ()) {
                Ok(_) => {}
                Err(UpdateError::Failed(error)) => return Err(error),
                Err(UpdateError::Refused(why)) => {
                    return Err(Error::new(format!(
                        "`{}` cannot be restored: {why}",
                        update.offload
                    )));
                }
            }
        }
        let operations = ControlPlane::restore(&self.processor, &self.store, snapshot.store());
        for operation in operations.map_err(Error::new)? {
            self.execution.operate(&operation)?;
        }
        snapshot.restore(&mut self.store)?;
        self.finish(&mut |_| ()).map(|_| ())
    }

    fn has_port(&self, number: u16) -> bool {
        self.processor.geometry.has_port(number)
    }

    fn follow(&mut self, packet: u64) {
        match &mut self.held {
            Some(held) => held.follow(packet),
            None => self.execution.follow(packet),
        }
    }

    fn followed(&self) -> Option<Passage> {
        let (times, clock_mhz) = (self.execution.times(), f64::from(self.clock_mhz));
        let milestone = |(place, what): (String, String), cycle| Milestone {
            place,
            what,
            cycle,
            ns: cycle as f64 * 1e3 / clock_mhz,
        };
        let outside = |what: &str| (String::new(), what.to_owned());
        let first = times.first()?;
        let mut milestones = vec![
            milestone(outside("arrived"), first.arrived),
            milestone(outside("first beat in"), first.entered),
        ];
        let (events, omitted) = self.execution.events();
        let (followed, mut thread) = (self.processor.followed(), None);
        let inside = events.iter();
        milestones
            .extend(inside.map(|event| milestone(followed.words(event, &mut thread), event.cycle)));
        let left = times.iter().map(|output| output.left);
        milestones.extend(left.map(|cycle| milestone(outside("last beat out or drop"), cycle)));
        // Copies can leave while the packet's thread continues.
        milestones.sort_by_key(|milestone| milestone.cycle);
        Some(Passage { milestones, omitted, lines: Vec::new() })
    }

    fn record(&self, _: Duration) -> Option<Record> {
        let run = self.execution.report();
        let clock_mhz = f64::from(self.clock_mhz);
        let totals = |counts: &Counts| Totals {
            seconds: counts.cycles as f64 / (clock_mhz * 1e6),
            packets: counts.completed,
            sent: counts.sent[0],
            sent_bytes: counts.sent[1],
            lost: counts.lost,
        };
        let [from, to] = run.counts.each_ref().map(totals);
        let [mean, p50, p99, max] = run.stay.map(|cycles| cycles * 1e3 / clock_mhz);
        let values = Values {
            clock_mhz: self.clock_mhz,
            throughput: Throughput::between(&from, &to, Latency { mean, p50, p99, max }),
            mpps_middle: run.packets_per_cycle.map(|rate| rate * clock_mhz),
            usage: usage(&run.uses),
            model_seconds: self.built.as_secs_f64(),
            reasons: self.reasons.iter().filter(|count| count.packets > 0).cloned().collect(),
            run,
        };
        Some(values.record())
    }
}

/// Checks that all frames, numbered from `first`, come in on ports that the processor has.
///
/// # Errors
/// If a frame comes in on another port. The error names the first such frame.
pub fn check_ports(processor: &Processor, first: u64, frames: &[Frame<'_>]) -> Result {
    let Some(ports) = &processor.geometry.ports else { return Ok(()) };
    let foreign = |(_, frame): &(u64, &Frame<'_>)| !ports.numbers.contains(&frame.ingress);
    let Some((number, frame)) = (first..).zip(frames).find(foreign) else { return Ok(()) };
    let numbers: Vec<String> = ports.numbers.iter().map(u16::to_string).collect();
    Err(Error::new(format!(
        "packet {number} (counted from 0) came in on port {}, which machine {} does not have: its ports \
         are {}",
        frame.ingress,
        processor.plan.machine.name,
        numbers.join(", ")
    ))
    .with_help("name the ports in the machine's description: [ports] numbers; or `wireloom traffic --ports`"))
}

impl From<ControlError> for Error {
    fn from(error: ControlError) -> Self {
        Self::new(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::new(fault)
    }
}

fn note(settled: &mut Settled, resolved: &Resolved, sink: Sink<'_>) {
    let told = if resolved.left.is_none() { &mut settled.lost } else { &mut settled.taken };
    if resolved.number < TIMERS {
        told.push(resolved.number);
    }
    resolved.outputs().for_each(sink);
}

/// Translates hardware, or loads its model from the cache, and starts a simulation with these table
/// contents. The contents pass through files in `folder`, which can be deleted afterwards.
///
/// # Errors
/// If a tool is missing or fails, or a file cannot be written.
pub fn simulate(
    source: &Source,
    images: &[Image],
    folder: &Path,
    settings: Settings,
    progress: &dyn Fn(&str),
) -> Result<Simulation> {
    let settings = Settings { arguments: write_images(images, folder)?, ..settings };
    progress("translating SystemVerilog");
    let standard = BuildOptions::default();
    let effort = if settings.is_short { 0 } else { standard.optimise };
    let optimise = optimise()?.unwrap_or(effort);
    let build = BuildOptions {
        waves: settings.waves.is_some(),
        follows: settings.follows,
        assertions: settings.assertions,
        optimise,
        ..standard
    };
    let model = simulation::build(source, &build, &mut |what| progress(what)).map_err(|error| {
        let missing = matches!(error, BuildError::Tool(_));
        let error = Error::new(error);
        if missing {
            error.with_help("network processors are simulated by Verilator")
        } else {
            error
        }
    })?;
    progress("loading tables into the model");
    Simulation::start(&model, &settings).map_err(Error::new)
}

/// Returns the C++ compiler's optimisation level for models, if the environment sets it.
fn optimise() -> Result<Option<u8>> {
    match std::env::var_os(OPTIMISE) {
        None => Ok(None),
        Some(level) => match level.to_str().map(str::parse) {
            Some(Ok(level @ 0..=3)) => Ok(Some(level)),
            _ => Err(Error::new(format!("{OPTIMISE} is {level:?}: make it a number from 0 to 3"))),
        },
    }
}

/// Writes the table contents into a folder. Returns the arguments that load them.
fn write_images(images: &[Image], folder: &Path) -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    for image in images {
        let path = folder.join(format!("{}.hex", image.name));
        std::fs::write(&path, &image.text).map_err(|error| {
            Error::new(format!("{}: cannot be written: {error}", path.display()))
        })?;
        arguments.push(format!("+wl_image_{}={}", image.name, path.display()));
    }
    Ok(arguments)
}

/// The results of a simulation.
#[derive(Clone, Debug, Serialize)]
struct Values {
    /// The core clock in MHz.
    clock_mhz: u32,
    #[serde(flatten)]
    throughput: Throughput,
    /// Million packets per second at that clock, over the middle 80 % of the run.
    mpps_middle: Option<f64>,
    /// The fraction of engine slots in which a step ran, 0 to 1.
    usage: f64,
    /// Time to build the model, or to load it from the cache, in seconds.
    model_seconds: f64,
    /// The packets that the processor has counted for each reason. Empty if its state was not read.
    reasons: Vec<ReasonCount>,
    /// The results in cycles.
    #[serde(flatten)]
    run: SimulationResult,
}

impl Values {
    fn record(self) -> Record {
        let run = &self.run;
        let speed = run.cycles as f64 / run.seconds.max(1e-9);
        let middle = match (self.mpps_middle, run.packets_per_cycle) {
            (Some(mpps), Some(rate)) => {
                format!("{mpps:.1} MPPS at {} MHz ({rate:.3} packets a cycle)", self.clock_mhz)
            }
            _ => "too few packets to tell".to_owned(),
        };
        let simulated =
            format!("{} cycles, {} a second", thousands(run.cycles), thousands(speed as u64));
        let mut lines = Vec::from_iter(self.throughput.measured_from());
        lines.extend([
            self.throughput.rate(),
            Line::new("in the middle", middle),
            Line::new("latency", distribution(&run.latency)),
            Line::new("waited", distribution(&run.wait)),
            self.throughput.lost(),
            Line::new("simulated", simulated),
        ]);
        lines.extend(run.unported.map(Line::no_such_port));
        if !run.updates.is_empty() {
            let cycles = |of: fn(u64, u64) -> u64| {
                run.updates.iter().map(|update| update.done - update.begun).reduce(of).unwrap_or(0)
            };
            let between = run.updates.iter().map(|update| update.between).sum();
            let text = format!(
                "{} while packets flowed, {} to {} cycles each; {} packets were inside during one",
                thousands(run.updates.len() as u64),
                cycles(u64::min),
                cycles(u64::max),
                thousands(between)
            );
            lines.push(Line::new("updates", text));
        }
        let bars = run.latency.bins.iter();
        let bars =
            bars.map(|bin| Bar { from: bin.from, to: bin.to, packets: bin.packets }).collect();
        let parts = run.uses.iter().map(|part| Part { kind: part.kind.clone(), share: part.share });
        Record { lines, bars, parts: parts.collect(), values: Box::new(self) }
    }
}

/// Returns the mean use of engines by steps.
fn usage(uses: &[Use]) -> f64 {
    let shares: Vec<f64> =
        uses.iter().filter(|part| part.kind == RUNS).map(|part| part.share).collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

fn distribution(d: &Distribution) -> String {
    format!(
        "{} to {} cycles, mean {:.1}; 50 % within {}, 99 % within {}, 99.9 % within {}",
        d.least, d.most, d.mean, d.p50, d.p99, d.p999
    )
}
