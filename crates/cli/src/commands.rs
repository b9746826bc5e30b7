//! The subcommands, one file each.

mod completions;
mod traffic;

use clap::Subcommand;

use crate::failure::Outcome;

/// What can be done.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Generate packets
    Traffic(traffic::Traffic),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  wireloom completions bash > ~/.local/share/bash-completion/completions/wireloom")]
    Completions(completions::Completions),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// See [`crate::failure::Failure`].
    pub fn run(self) -> Outcome {
        match self {
            Self::Traffic(command) => command.run(),
            Self::Completions(command) => command.run(),
        }
    }
}
