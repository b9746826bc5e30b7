//! `wireloom rig`: a network processor in its embedded test rig, simulated.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;
use tempfile::TempDir;
use wireloom_offloads::Store;
use wireloom_rtl::machine::Machine;
use wireloom_rtl::np;
use wireloom_rtl::sim::RigRun;

use crate::failure::{Failure, Outcome};
use crate::machine::{self, load_store};
use crate::output::{self, JsonTarget, thousands};
use crate::program::{Program, ProgramArgs};
use crate::simulation::{SimulationArgs, uses};

/// See `wireloom rig --help`.
#[derive(Args, Debug)]
pub struct Rig {
    #[command(flatten)]
    program: ProgramArgs,
    /// The machine: np-C-E-T (clusters, engines, threads), or a description (.toml), whose [rig] says what is sent
    #[arg(long, value_name = "MACHINE", default_value = "np-rig")]
    on: String,
    /// Load a table file (may be given several times)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Cycles for which packets are sent
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    cycles: u64,
    /// Write waves (FST); the model is slower and built anew for that
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    waves: Option<PathBuf>,
    /// Write the report as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// What a rig came to.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// Million packets a second that came back or were dropped, at the machine's clock.
    pub mpps: f64,
    /// Packets that are nowhere.
    pub missing: u64,
    /// What the rig reports.
    #[serde(flatten)]
    pub run: RigRun,
}

impl Rig {
    /// Runs the rig and shows its report.
    pub fn run(self) -> Outcome {
        let description = Machine::find(&self.on).map_err(Failure::unusable)?;
        let program = self.program.compiled()?;
        let (store, _) = load_store(&program.optimised, &self.tables)?;
        machine::warn_of_sections_for_nothing(&description, &program.optimised);
        let ran = Ran::new(&description, &program, &store, self.cycles, self.waves.clone())?;
        if output::for_people(self.json.as_ref()) {
            output::print(&ran.text());
        }
        self.json.as_ref().map_or(Ok(()), |target| output::write_json(target, &ran))?;
        if ran.run.report.is_faultless() { Ok(()) } else { Err(Failure::Negative) }
    }
}

impl Ran {
    /// Runs a program on a machine in its rig.
    ///
    /// # Errors
    /// If the rig cannot be built, or a tool is missing or fails.
    pub fn new(
        description: &Machine,
        program: &Program,
        store: &Store,
        cycles: u64,
        waves: Option<PathBuf>,
    ) -> Outcome<Self> {
        let processor = machine::processor(description, program, true)?;
        let options = SimulationArgs { waves, ..SimulationArgs::default() };
        let folder =
            TempDir::new().map_err(|error| Failure::unusable(format!("a temporary folder: {error}")))?;
        let images = np::images(&processor.plan, store).map_err(Failure::unusable)?;
        let settings = options.settings(description.clock.core_mhz);
        let mut simulation = machine::simulate(&processor.source(), &images, folder.path(), settings)?;
        let run = simulation.run_rig(cycles)?;
        let mpps = run.packets_per_cycle * f64::from(description.clock.core_mhz);
        Ok(Self { mpps, missing: run.report.missing(), run })
    }

    /// As text for people.
    fn text(&self) -> String {
        let report = &self.run.report;
        let rate = format!("{:.1} MPPS ({:.3} packets a cycle)", self.mpps, self.run.packets_per_cycle);
        let lines = [
            ("rate", rate),
            ("ran", format!("{} cycles", thousands(report.cycles))),
            ("sent", format!("{} packets", thousands(report.sent))),
            ("refused", format!("in {} cycles", thousands(report.refused))),
            ("received", format!("{} packets", thousands(report.received))),
            ("dropped", format!("{} packets", thousands(report.events))),
            ("missing", format!("{} packets; {} gaps", thousands(self.missing), thousands(report.gaps))),
            ("late, wrong", format!("{}, {}", thousands(report.late), thousands(report.wrong))),
            ("verdict", if report.is_faultless() { "no fault" } else { "FAULTY" }.to_owned()),
        ];
        let text: String = lines.iter().map(|(what, text)| format!("{what:13}  {text}\n")).collect();
        format!("{text}\n{}\n", uses(&self.run.uses))
    }
}
