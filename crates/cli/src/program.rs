//! The program that a subcommand works on, from a `.loom` file to step IR.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_compile::lower;
use wireloom_console::{Places, output};
use wireloom_ir as ir;
use wireloom_lang::{Checked, hir};
use wireloom_machine::{Program, Source};

use crate::failure::{Failure, Outcome};

/// The source file and the options to read it with.
#[derive(Args, Debug, Clone)]
pub struct ProgramArgs {
    /// Source file in Loom C
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Add a folder to the search path for included files (may be given several times)
    #[arg(short = 'I', long = "include", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub include: Vec<PathBuf>,
    /// Set a file-level constant, as NAME=VALUE (may be given several times)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    pub set: Vec<(String, String)>,
    /// Choose the engine that receives the packets; by default the last engine in the file that can
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().into(), value.trim().into()))
        }
        _ => Err("write it as NAME=VALUE".into()),
    }
}

impl ProgramArgs {
    /// Checks the program.
    ///
    /// # Errors
    /// If the file cannot be read. Errors inside the file are in the result.
    pub fn check(&self) -> Outcome<Checked> {
        Ok(self.source().check()?)
    }

    /// Returns the places of the program.
    pub fn places(&self) -> Places {
        Places::default().reads([&self.file])
    }

    /// Returns the source, for machines.
    pub fn source(&self) -> Source {
        Source {
            file: self.file.clone(),
            include: self.include.clone(),
            set: self.set.clone(),
            engine: self.engine.clone(),
        }
    }

    /// Returns the checked program and prints its diagnostics on standard error.
    ///
    /// # Errors
    /// If the file cannot be read or the program is refused.
    pub fn checked(&self) -> Outcome<hir::Program> {
        let checked = self.check()?;
        show_diagnostics(&checked);
        say_how_to_learn_more(checked.diagnostics.iter().map(|diagnostic| diagnostic.code));
        checked.program.ok_or(Failure::Negative)
    }

    /// Returns the program as step IR, before any pass.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn lowered(&self) -> Outcome<ir::Program> {
        Ok(lower(&self.checked()?))
    }

    /// Returns the program as software machines execute it.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn optimised(&self) -> Outcome<ir::Program> {
        Ok(self.compiled()?.optimised)
    }

    /// Returns the program, for any machine.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn compiled(&self) -> Outcome<Program> {
        Ok(Program::new(&self.checked()?))
    }
}

/// Prints errors and warnings on standard error, in colour on a terminal.
pub fn show_diagnostics(checked: &Checked) {
    if !checked.diagnostics.is_empty() {
        let color = output::has_colors();
        let text = wireloom_lang::render(&checked.diagnostics, &checked.sources, color);
        output::note(text.trim_end());
    }
}

/// Prints on standard error how to read about these diagnostics, if there are any.
pub fn say_how_to_learn_more(codes: impl Iterator<Item = &'static str>) {
    let codes: BTreeSet<&str> = codes.collect();
    if let Some(line) = learn_more(&codes) {
        output::note(format!("\n{line}"));
    }
}

fn learn_more(codes: &BTreeSet<&str>) -> Option<String> {
    let mut codes = codes.iter().copied();
    let line = format!("for more about it, run `wireloom docs {}`", codes.next()?);
    let others: Vec<&str> = codes.collect();
    Some(match others[..] {
        [] => line,
        _ => format!("{} (likewise {})", line.replace(" it,", " one,"), others.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_named_once() {
        let line = |codes: &[&'static str]| learn_more(&codes.iter().copied().collect());
        assert_eq!(line(&[]), None);
        let one = "for more about it, run `wireloom docs E0201`";
        assert_eq!(line(&["E0201", "E0201"]).as_deref(), Some(one));
        let several = "for more about one, run `wireloom docs E0201` (likewise E0301, W0703)";
        assert_eq!(line(&["W0703", "E0201", "E0301", "E0201"]).as_deref(), Some(several));
    }
}
