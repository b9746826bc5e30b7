//! The common parts of `debug` and `monitor`: a program on a machine that is watched.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueHint};
use wireloom_console::load_store;
use wireloom_machine::{Options, verdict_text};
use wireloom_monitor::Session;

use crate::captures::InputArgs;
use crate::failure::{Failure, Outcome};
use crate::machine::{self, MachineName};
use crate::program::ProgramArgs;

/// A program, its tables and packets, and the machine.
#[derive(Args, Debug)]
pub struct WatchedArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[arg(long, value_name = "MACHINE", default_value = "ixp1200", help = machine::help("Run on this simulated machine"))]
    on: MachineName,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
    /// Seed the machine's random number generator
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Sample the machine after this number of cycles of its main clock
    #[arg(long, value_name = "CYCLES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    grain: u64,
}

impl WatchedArgs {
    /// Starts the machine, and stops it before its first cycle.
    ///
    /// # Errors
    /// If the program, a file or the machine prevents it.
    pub fn session(&self, interrupt: Arc<AtomicBool>) -> Outcome<Session> {
        if !self.on.0.can_be_watched() {
            let name = self.on.0.name();
            return Err(Failure::unusable(format!("{name} cannot be watched or stepped"))
                .with_help(
                    "say a machine that is simulated to the cycle: --on ixp1200, raw-3 or mpsoc",
                ));
        }
        let places = self.program.places().reads(&self.tables);
        places.reads(&self.input.input).check()?;
        let options = Options { seed: self.seed, watched: true, ..Options::default() };
        let (program, own) = self.on.program(&self.program, &options)?;
        let (store, _) = load_store(&program.optimised, &self.tables)?;
        let captures = self.input.open()?;
        let machine = match own {
            Some(machine) => self.on.running(machine, &store, &self.tables)?.machine,
            None => self.on.start(&program, store, &options)?.machine,
        };
        let source = Box::new(captures);
        let verdict = Box::new(move |verdict| verdict_text(&program.optimised, verdict));
        let mut session = Session::new(machine, source, verdict, interrupt)?;
        session.set_grain(self.grain);
        Ok(session)
    }
}
