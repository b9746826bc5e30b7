//! `wireloom manual`: manual pages generated from the definition of the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueHint};

use wireloom_console::output;
use wireloom_files::TemporaryFolder;

use crate::failure::{Failure, Outcome};

/// See `wireloom manual --help`.
#[derive(Args, Debug)]
pub struct Manual {
    /// Write the pages into this folder, creating it if necessary
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

impl Manual {
    /// Writes one page for the command and one for each subcommand. Pages are written atomically.
    pub fn run(self) -> Outcome {
        let pages = TemporaryFolder::new().map_err(Failure::unusable)?;
        clap_mangen::generate_to(crate::CommandLine::command(), pages.path())
            .map_err(Failure::unusable)?;
        let failed = |error| Failure::unusable(format!("{}: {error}", self.folder.display()));
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut names: Vec<_> = std::fs::read_dir(pages.path())
            .and_then(|pages| pages.map(|page| Ok(page?.file_name())).collect())
            .map_err(Failure::unusable)?;
        names.sort();
        for name in names {
            let page = std::fs::read(pages.path().join(&name)).map_err(Failure::unusable)?;
            output::write_file(&self.folder.join(&name), &page)?;
        }
        Ok(())
    }
}
