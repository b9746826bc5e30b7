//! The common parts of subcommands that run programs: program, tables, packets and report.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use wireloom_console::Places;

use crate::captures::InputArgs;
use crate::program::ProgramArgs;
use crate::simulation::SimulationArgs;
use wireloom_console::output::JsonTarget;
use wireloom_testkit::notation::time;

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
    /// After the last packet, let timers run until this time after the epoch (10s), or for this time
    /// after the last packet (+10s; ms, us and ns are units too)
    #[arg(long, value_name = "TIME", value_parser = Until::parse)]
    pub until: Option<Until>,
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

/// The time up to which timers run after the last packet, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After the epoch.
    Time(u64),
    /// After the last packet.
    Later(u64),
}

impl Until {
    fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('+') {
            Some(later) => time(later).map(Self::Later),
            None => time(text).map(Self::Time),
        }
    }

    /// Returns the time after the epoch, given the latest arrival.
    pub fn after(self, last_ns: u64) -> u64 {
        match self {
            Self::Time(time_ns) => time_ns,
            Self::Later(later_ns) => last_ns.saturating_add(later_ns),
        }
    }
}

impl JobArgs {
    /// Returns the files that are read and written, except files that are named inside other files.
    pub fn places(&self) -> Places {
        let places = self.program.places().reads(&self.tables);
        let places = places.reads(&self.input.input).writes("--report", self.report.as_deref());
        self.simulation.places(places).writes_json(self.json.as_ref())
    }
}
