//! The common parts of subcommands that run programs: program, tables, packets and report.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use wireloom_console::Places;

use crate::captures::InputArgs;
use crate::program::ProgramArgs;
use crate::simulation::SimulationArgs;
use wireloom_console::output::JsonTarget;

/// A program, its table files, and its input packets.
#[derive(Args, Debug)]
pub struct JobArgs {
    /// The program.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tables: Vec<PathBuf>,
    /// The captures.
    #[command(flatten)]
    pub input: InputArgs,
    /// Write the report as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<JsonTarget>,
    /// Write the report as an HTML page with plots and the step graph, to a file or to standard
    /// output (-). The page needs no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Options of simulated machines.
    #[command(flatten)]
    pub simulation: SimulationArgs,
}

impl JobArgs {
    /// Returns the files that are read and written, except files that are named inside other files.
    pub fn places(&self) -> Places {
        let places = self.program.places().reads(&self.tables);
        let places = places.reads(&self.input.input).writes("--report", self.report.as_deref());
        self.simulation.places(places).writes_json(self.json.as_ref())
    }
}
