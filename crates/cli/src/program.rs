//! The program that a subcommand works on: from a `.loom` file to step IR.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir as ir;
use wireloom_lang::{Checked, Options, hir};

use crate::failure::{Failure, Outcome};

/// The source and how to read it.
#[derive(Args, Debug, Clone)]
pub struct ProgramArgs {
    /// Source in Loom C
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Also look for included files here (may be given several times)
    #[arg(short = 'I', long = "include", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub include: Vec<PathBuf>,
    /// Set a file-level constant, as NAME=VALUE (may be given several times)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    pub set: Vec<(String, String)>,
    /// The engine that takes the packets; by default the last one in the file that does
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().into(), value.trim().into())),
        _ => Err("write it as NAME=VALUE".into()),
    }
}

impl ProgramArgs {
    /// Checks the program.
    ///
    /// # Errors
    /// If the file cannot be read. What is wrong inside it stands in the answer.
    pub fn check(&self) -> Outcome<Checked> {
        if let Err(error) = std::fs::File::open(&self.file) {
            let message = format!("{}: cannot be read: {error}", self.file.display());
            return Err(Failure::unusable(message).with_help("the first argument is a Loom C source file"));
        }
        let options = Options {
            include_dirs: self.include.clone(),
            sets: self.set.clone(),
            engine: self.engine.clone(),
        };
        Ok(wireloom_lang::check(&self.file, &options))
    }

    /// The checked program; its diagnostics go to standard error.
    ///
    /// # Errors
    /// If the file cannot be read or the program is refused.
    pub fn checked(&self) -> Outcome<hir::Program> {
        let checked = self.check()?;
        show_diagnostics(&checked);
        checked.program.ok_or(Failure::Negative)
    }

    /// The program as step IR, before any pass.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn lowered(&self) -> Outcome<ir::Program> {
        Ok(lower(&self.checked()?))
    }

    /// The program as machines in software execute it.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn optimised(&self) -> Outcome<ir::Program> {
        Ok(self.compiled()?.optimised)
    }

    /// The program, for any machine.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn compiled(&self) -> Outcome<Program> {
        let lowered = self.lowered()?;
        let mut optimised = lowered.clone();
        pipeline::optimise(&mut optimised, &PassOptions::default());
        Ok(Program { lowered, optimised })
    }
}

/// A program for machines of all kinds.
pub struct Program {
    /// Before any pass: machines in hardware have passes of their own.
    pub lowered: ir::Program,
    /// As machines in software execute it. Offloads, reasons and engines are the same in both.
    pub optimised: ir::Program,
}

/// Shows errors and warnings on standard error, in colour where that is a terminal.
pub fn show_diagnostics(checked: &Checked) {
    use std::io::IsTerminal;
    if !checked.diagnostics.is_empty() {
        let color = std::io::stderr().is_terminal();
        eprint!("{}", wireloom_lang::render(&checked.diagnostics, &checked.sources, color));
    }
}
