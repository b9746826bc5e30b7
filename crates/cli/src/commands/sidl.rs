//! `wireloom mpsoc sidl`: generates wrappers for the interfaces of distributed objects.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_sidl::{generate, read};

use crate::failure::{Failure, Outcome};
use wireloom_console::Staged;

/// See `wireloom mpsoc sidl --help`.
#[derive(Args, Debug)]
pub struct Sidl {
    /// Interface file (.sidl)
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Write into this folder, creating it if necessary
    #[arg(short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

impl Sidl {
    /// Writes the wrappers.
    pub fn run(self) -> Outcome {
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::unusable(format!("{}: {error}", self.file.display()))
        };
        let text = wireloom_files::read_text(&self.file, wireloom_files::MAX_TEXT_BYTES)
            .map_err(|error| unreadable(&error))?;
        let base = self.file.file_stem().and_then(|stem| stem.to_str());
        let base = base.ok_or_else(|| {
            unreadable(&"what is written takes the name of this file, which is not in UTF-8")
        })?;
        let mut interfaces =
            read(&self.file.display().to_string(), &text).map_err(Failure::unusable)?;
        interfaces.source = format!("{base}.sidl");
        let mut files = vec![
            (format!("{base}.h"), generate::c(&interfaces)),
            (format!("{base}.rs"), generate::rust(&interfaces)),
        ];
        files.extend(generate::systemverilog(&interfaces));
        Ok(Staged::write_folder(&self.out, &files)?)
    }
}
