//! `wireloom completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::Outcome;
use wireloom_console::output;

/// See `wireloom completions --help`.
#[derive(Args, Debug)]
pub struct Completions {
    /// Shell to complete for
    shell: Shell,
}

impl Completions {
    /// Writes the completions to standard output.
    pub fn run(self) -> Outcome {
        let mut text = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut crate::CommandLine::command(),
            "wireloom",
            &mut text,
        );
        output::print(&String::from_utf8_lossy(&text));
        Ok(())
    }
}
