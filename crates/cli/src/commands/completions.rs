//! `wireloom completions`: the shell's knowledge of this command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::Outcome;
use crate::output;

/// See `wireloom completions --help`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    /// Writes the completions to standard output.
    pub fn run(self) -> Outcome {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut crate::CommandLine::command(), "wireloom", &mut text);
        output::print(&String::from_utf8_lossy(&text));
        Ok(())
    }
}
