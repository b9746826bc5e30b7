//! Errors of models and their simulations.

use std::io;
use std::path::PathBuf;

use wireloom_install::CacheError;

/// A reason why a model cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// A tool is missing or too old.
    #[error("{0}")]
    Tool(String),
    /// Models cannot be stored or loaded.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Verilator or the C++ compiler failed on the design.
    #[error(
        "Verilator, or the C++ compiler that it calls, failed on a design that working ones accept: \
         {why}; their messages are in {}. \
         `wireloom tools --fetch hardware` installs the Verilator that Wireloom is tested with",
        log.display()
    )]
    Verilator {
        /// The line of their output that states the reason.
        why: String,
        /// The file with their output.
        log: PathBuf,
    },
    /// The finished model cannot be loaded.
    #[error("{}: {message}", path.display())]
    Load { path: PathBuf, message: String },
}

/// A fault inside a model: an assertion, a malformed beat, no progress.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulated machine failed: {0}")]
pub struct Fault(pub String);
