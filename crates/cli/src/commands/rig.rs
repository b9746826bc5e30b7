//! `wireloom np rig`: simulates a network processor in its embedded test rig.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_np::description::NpSpec;

use crate::failure::{Failure, Outcome};
use wireloom_console::load_store;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_explore::rig::Ran;
use wireloom_machine::Part;

use crate::machine::warn_of_sections;
use crate::program::ProgramArgs;
use crate::simulation::uses;

/// See `wireloom np rig --help`.
#[derive(Args, Debug)]
pub struct Rig {
    #[command(flatten)]
    program: ProgramArgs,
    /// Run on this machine: np-C-E-T (clusters, engines, threads), or a description (.toml), whose
    /// [rig] section defines the packets
    #[arg(long, value_name = "MACHINE", default_value = "np-rig")]
    on: String,
    /// Load a table file (may be given several times)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Send packets for this number of cycles
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    cycles: u64,
    /// Write waveforms (FST). The model is rebuilt and runs more slowly
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    waves: Option<PathBuf>,
    /// Write the report as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

impl Rig {
    /// Runs the rig and prints its report.
    pub fn run(self) -> Outcome {
        let description = NpSpec::find(&self.on).map_err(Failure::unusable)?;
        let program = self.program.compiled()?;
        let places = self.program.places().reads(&self.tables);
        let places = places.writes("--waves", self.waves.as_deref());
        let places = places.writes_json(self.json.as_ref());
        places.check()?;
        let (store, _) = load_store(&program.optimised, &self.tables)?;
        places.check()?;
        warn_of_sections(&description, &program.optimised);
        let ran = Ran::new(&description, &program, &store, self.cycles, self.waves.clone())?;
        places.tell(&text(&ran));
        output::json(self.json.as_ref(), &ran)?;
        if ran.run.report.is_faultless() { Ok(()) } else { Err(Failure::Negative) }
    }
}

/// Formats a report for people.
fn text(ran: &Ran) -> String {
    let report = &ran.run.report;
    let parts = ran.run.uses.iter().map(|part| Part { kind: part.kind.clone(), share: part.share });
    let parts: Vec<Part> = parts.collect();
    let rate = format!("{:.1} MPPS ({:.3} packets a cycle)", ran.mpps, ran.run.packets_per_cycle);
    let lines = [
        ("rate", rate),
        ("ran", format!("{} cycles", thousands(report.cycles))),
        ("sent", format!("{} packets", thousands(report.sent))),
        ("refused", format!("in {} cycles", thousands(report.refused))),
        ("received", format!("{} packets", thousands(report.received))),
        ("dropped", format!("{} packets", thousands(report.events))),
        ("missing", format!("{} packets; {} gaps", thousands(ran.missing), thousands(report.gaps))),
        ("late, wrong", format!("{}, {}", thousands(report.late), thousands(report.wrong))),
        ("verdict", if report.is_faultless() { "no fault" } else { "FAULTY" }.to_owned()),
    ];
    let text: String = lines.iter().map(|(what, text)| format!("{what:13}  {text}\n")).collect();
    format!("{text}\n{}\n", uses(&parts))
}
