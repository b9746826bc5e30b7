//! `wireloom manual`: manual pages generated from the definition of the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueHint};

use crate::failure::{Failure, Outcome};

/// See `wireloom manual --help`.
#[derive(Args, Debug)]
pub struct Manual {
    /// Write the pages into this folder, creating it if necessary
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

impl Manual {
    /// Writes one page for the command and one for each subcommand.
    pub fn run(self) -> Outcome {
        let failed = |error| Failure::unusable(format!("{}: {error}", self.folder.display()));
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(crate::CommandLine::command(), &self.folder).map_err(failed)
    }
}
