//! What subcommands that run programs have in common: the program, its tables, the packets, where the report goes.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::output::JsonTarget;
use crate::program::ProgramArgs;
use crate::simulation::SimulationArgs;

/// A program, what is loaded into its tables, and the packets that it is given.
#[derive(Args, Debug)]
pub struct JobArgs {
    /// The program.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tables: Vec<PathBuf>,
    /// Read packets from a capture: pcap or pcapng, also gzipped (may be given several times)
    #[arg(long = "in", value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    pub input: Vec<PathBuf>,
    /// Stop after so many packets
    #[arg(long, value_name = "N")]
    pub packets: Option<u64>,
    /// Write the report as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<JsonTarget>,
    /// How simulated machines run.
    #[command(flatten)]
    pub simulation: SimulationArgs,
}
