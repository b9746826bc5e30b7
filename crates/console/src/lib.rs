//! Common parts of command-line programs: text and tables, progress, and atomic writes of files and
//! folders.

mod atomic_folder;
pub mod memory;
pub mod output;
mod places;
mod progress;
pub mod traced;
mod verdict_counts;

use std::path::PathBuf;

use wireloom_ir::Program;
use wireloom_machine::{LoadedTables, Result};
use wireloom_offloads::Store;

pub use atomic_folder::Staged;
pub use places::Places;
pub use progress::{Working, bar};
pub use verdict_counts::{Count, Reasoned, Sent, Tally, VerdictCounts};
pub use wireloom_machine::{counted, thousands};

/// Creates the offloads of a program and loads table files into them. On a terminal, the progress
/// line names the activity.
///
/// # Errors
/// As [`wireloom_machine::load_store`].
pub fn load_store(program: &Program, tables: &[PathBuf]) -> Result<(Store, LoadedTables)> {
    let working = Working::on("loading tables");
    wireloom_machine::load_store(program, tables, &|what| working.now(what))
}
