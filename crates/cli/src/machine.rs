//! Machines by their command-line names.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use wireloom_console::output;

use wireloom_console::Working;
use wireloom_ir as ir;
use wireloom_machine::{Configured, Machine, Options, Program, Running, Snapshot};
use wireloom_machines::REGISTRY;
use wireloom_offloads::Store;

use crate::failure::Outcome;
use crate::program::ProgramArgs;

/// Returns the help of an option that names machines, with the list of their kinds.
pub fn help(what: &str) -> String {
    format!(
        "{what}: {}, another description (wireloom machines lists them), the path of one (.toml), or of a report with one (.json)",
        REGISTRY.choices()
    )
}

/// A machine for which programs can be built or on which they run.
#[derive(Clone, Debug)]
pub struct MachineName(pub Arc<dyn Configured>);

impl FromStr for MachineName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = REGISTRY.find(text).map_err(|error| match error.help {
            Some(help) => format!("{}\n\n  tip: {help}", error.message),
            None => error.message,
        });
        found.map(Self)
    }
}

impl MachineName {
    /// Returns the machine as a machine of kind `T`, if it is one.
    pub fn of_kind<T: Configured>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// Returns the program to run on the machine. For a program that is written for this kind of
    /// machine alone, it also returns the started machine.
    ///
    /// # Errors
    /// As [`ProgramArgs::compiled`], or as [`Configured::start_own`].
    pub fn program(
        &self,
        program: &ProgramArgs,
        options: &Options,
    ) -> Outcome<(Program, Option<Box<dyn Machine>>)> {
        match self.0.start_own(&program.source(), options) {
            Some(started) => Ok(started.map(|(program, machine)| (program, Some(machine)))?),
            None => Ok((program.compiled()?, None)),
        }
    }

    /// Returns a machine that was started with its own program, after loading the entries of table
    /// files.
    ///
    /// # Errors
    /// As [`Machine::restore`].
    pub fn running(
        &self,
        mut machine: Box<dyn Machine>,
        store: &Store,
        tables: &[PathBuf],
    ) -> Outcome<Running> {
        if !tables.is_empty() {
            machine.restore(&Snapshot::of(store))?;
        }
        let (build_time, work) = Default::default();
        Ok(Running { configured: Arc::clone(&self.0), machine, build_time, work })
    }

    /// Starts the machine.
    ///
    /// # Errors
    /// As [`Configured::start`].
    pub fn start(&self, program: &Program, store: Store, options: &Options) -> Outcome<Running> {
        warn_of_sections(self.0.as_ref(), &program.optimised);
        let working = Working::on(format!("starting {}", self.0.name()));
        Ok(Running::start(Arc::clone(&self.0), program, store, options, &|what| working.now(what))?)
    }
}

/// Warns on standard error of sections of a machine's description that have no effect on a program.
pub fn warn_of_sections(machine: &dyn Configured, program: &ir::Program) {
    for warning in machine.sections_without_effect(program) {
        output::note(format!("warning: {warning}"));
    }
}
